/* lookup.h - references whose indices are no labels. Private to plans/tra. */
#ifndef TRA_LOOKUP_H
#define TRA_LOOKUP_H

#include "build.h"

/* The tensor that the reference x to n reads, where some of its indices are numbers, strings or functions of a label,
 * and the labels of its dimensions; NULL after a diagnostic. right_side: of the statement. */
const tra_node *tra_looked_up(tra_build *b, const tra_ast *x, const tra_ast *right_side, const tra_node *n,
                              const tra_ast **label, int *nlabels);
/* Advice for a label that there is none of: "did you mean X?", or NULL. */
const char *tra_near_label(tra_build *b, const tra_dim_labels *l, const char *text);

#endif
