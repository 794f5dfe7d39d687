/* pair_states.h - aggregates over the pairs of rows of a join, from groups of the rows of each table.
 *
 * Where both tables are groups (group.h), a pair of groups stands for as many pairs of rows as the product of their
 * numbers of rows. So what is known of the values of one table in such a pair is what is known of its group, each value
 * as often as the other group has rows.
 */
#ifndef TRA_PAIR_STATES_H
#define TRA_PAIR_STATES_H

#include "group.h"

/* An aggregate. */
typedef struct tra_pair_state {
    tra_aggregate_way way;
    int count, counts; /* the column of the number of values among the pairs, and in the result; -1: there is none */
    int from, to, n;   /* the same of the first one of its other states; how many these are */
    /* The column of pairs with the number of rows of the other table's group. NULL: the row has no partner, so each
     * value is there once. Of a product it has the number of values of the other table; NULL: there are none. */
    int times;
    bool product;     /* what is summed or counted is a product of one value of each table, and these follow: */
    int other;        /* the first state of the other table's sum */
    int nown, nother; /* how many states the sums of both tables have */
} tra_pair_state;     /* A state that is NULL is that of no value. */

typedef struct tra_pair_states {
    const tra_schema *in, *out;
    int nkeys; /* the first columns of both, which stay */
    int n;
    const tra_pair_state *v;
} tra_pair_states;

/* A map; data: a tra_pair_states. Fails where a number of values, or a sum, does not fit. */
extern const tra_rows_ops tra_pair_states_ops;

#endif
