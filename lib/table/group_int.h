/* group_int.h - what an aggregation consists of. Private to the files group*.c. */
#ifndef TRA_GROUP_INT_H
#define TRA_GROUP_INT_H

#include "group.h"

enum { TRA_GROUP_STATES = 5 }; /* of an aggregate, besides the number of its values, at most */

/* An aggregate, with the columns of its states in what PARTIAL makes. */
typedef struct tra_group_aggregate {
    tra_group_column c;
    tra_column of, by; /* what is aggregated, of count() nothing; the second column of PAIR and BY */
    int count;   /* the number of its values, a state of all aggregates that count the same rows; -1: it has none */
    bool counts; /* it is the first of these */
    int state, nstates; /* the others */
    int same;           /* the first aggregate with the same totals, which has the states of both */
    tra_aggregate_way way;
    bool whole; /* of integers: sums are exact, */
    bool wide;  /* and may take 128 bits */
} tra_group_aggregate;

/* EXTREME, END, BY: the column that decides which row stands for a group. */
static inline const tra_column *tra_group_compared(const tra_group_aggregate *g) {
    return g->way == TRA_WAY_BY ? &g->by : &g->of;
}

/* Is the number of its values a state? */
static inline bool tra_group_counts(const tra_group_aggregate *g) {
    return g->way != TRA_WAY_EXTREME && g->way != TRA_WAY_END && g->way != TRA_WAY_BY && g->way < TRA_WAY_DIFFERENT;
}

struct tra_group {
    const tra_schema *in, *states, *result;
    int nkeys, n;
    tra_group_aggregate *v;
    const tra_group_column *columns; /* of all aggregates */
    int *key;                        /* 0, 1, ... nkeys - 1 */
    tra_group_pass pass;
    int64_t most; /* groups of a table; INT64_MAX: as many as it has rows */
};

#endif
