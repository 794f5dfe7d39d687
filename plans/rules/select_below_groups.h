/* select_below_groups.h - rows below groups, orders and distinct rows: what rules share. Private to
 * plans/rules. */
#ifndef TRA_Q4_H
#define TRA_Q4_H

#include "../tra/table_ops.h"
#include "pipeline.h"

/* Of the expression y, which groups, orders or chooses rows, some rows are left out before it. */
typedef struct selecting {
    tra_rewriting *w;
    tra_expr *x, *y;       /* the selection, and what it is of */
    const tra_table_op *g; /* the group; NULL: an order, or distinct rows */
    bool one;              /* of rows of equal keys one stands for all */
    int from;              /* the group of the rows */
    const int *at; /* for each column of y its number among those of the rows; -1: no predicate on it can be pushed */
    tra_rowwise *rows, *rest;
    int pushed;
    tra_expr *to; /* the rows that are selected */
    tra_expr **made;
} selecting;

static inline const tra_expr *first_of(const tra_memo *m, int group) {
    return m->v[m->group[tra_memo_find(m, group)].expr[0]];
}

/* Is it one of the operators that put blocks together? */
static inline bool gathers(const tra_expr *x) {
    return x->node.type.columns && (x->node.op == TRA_OP_REKEY || x->node.op == TRA_OP_CONCAT);
}

/* Finds which rows the operator that y ends is of: from, at, one and g; false: it is no group, order or distinct. */
bool tra_find_rows(selecting *p);
/* NULL: groups that are dropped would have been no error. */
const char *tra_groups_refused(const selecting *p);
/* The expression of a group of the memo over the rows `to` in place of `from`; NULL: there is no room. made has room
 * for all groups. */
tra_expr *tra_over_selected(selecting *p, int group);

#endif
