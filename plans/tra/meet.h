/* meet.h - dimensions that meet: their labels, and the order of their positions. Private to plans/tra. */
#ifndef TRA_MEET_H
#define TRA_MEET_H

#include "build.h"

/* What dimension d follows; NULL: nothing is known. */
const tra_dim_order *tra_order_of_dim(const tra_node *n, int d);
const tra_dim_order *tra_dim_order_new(tra_build *b, int by, const char *of);
/* Sets labels and order of dimension d of the node; NULL: it has none. */
void tra_set_dim(tra_build *b, tra_node *n, int d, const tra_dim_labels *labels, const tra_dim_order *order);

/* Dimensions that meet, of which the first so many are known. Begin with an empty one. */
typedef struct tra_meeting {
    const tra_dim_labels *labels; /* of the first that has any, `labelled` */
    const tra_node *labelled;
    const tra_dim_order *order[TRA_ORDER_KEYS + 1]; /* the first of each kind, of `by` */
    const tra_node *by[TRA_ORDER_KEYS + 1];
} tra_meeting;
/* Adds dimension d of x, which must agree with the others: labels must be equal, and what pivot has put in the order of
 * its keys meets no rows of a table that have no labels. False after a diagnostic, which calls the dimension `what`. */
bool tra_meeting_add(tra_build *b, tra_span span, tra_meeting *m, const char *what, const tra_node *x, int d);
/* What a dimension follows that is made of those that met. */
const tra_dim_order *tra_meeting_order(const tra_meeting *m);

#endif
