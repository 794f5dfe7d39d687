/* q9.h - what the parts of rule Q-9 share. Private to plans/rules. */
#ifndef TRA_Q9_H
#define TRA_Q9_H

#include "pipeline.h"

/* Aggregates the rows of both tables of a join before it: group(pass(join)). For a join in which a left row may have
 * several partners, and a group that q9.c has found to have nothing against it but of which table its values are. */
void tra_aggregate_both(tra_rewriting *w, const tra_expr *group, const tra_expr *pass, const tra_expr *join);

static inline const tra_node *node_or_null(const tra_expr *x) { return x ? &x->node : NULL; }

#endif
