/* super.h - super-blocks: how a join or an aggregation computes on one site; private to joinagg.c and super.c.
 *
 * For each value of B (pairs.h) the output is a rectangle I x J. It is cut in super-blocks of ci x cj arrays that stay
 * in memory while, step by step in ascending (K, KL, KR), the column of L and the row of R that meet there stream past.
 * So each output receives its terms in ascending order of the aggregated key, whatever the memory, the threads or the
 * timing.
 */
#ifndef TRA_SUPER_H
#define TRA_SUPER_H

#include "pairs.h"
#include "stages.h"

/* How its results are computed: found once, before the first of them. */
typedef struct tra_joinagg_how {
    bool fused;            /* join and agg in one call */
    bool merges;           /* the terms are states */
    bool sparse;           /* the terms are of sparse type */
    bool grows;            /* states are held in the result's layout, and grow (grow.h), */
    bool counted;          /* or results without agg */
    bool composed;         /* a map after agg: states have extents of their own */
    tra_dtype state_dtype; /* of what is accumulated; without agg the result's */
    int tiles;             /* of one state, 0: as many as the fused kernel says */
    int summand;           /* that this site computes */
} tra_joinagg_how;

/* A JOIN, AGG, JOINAGG or MERGE that is under way, on the thread that runs the plan. joinagg.c fills it. */
typedef struct tra_joinagg {
    tra_site *site;
    const tra_op *op;
    tra_outlet *sink;
    const tra_kernel *join, *agg; /* NULL: none */
    tra_pairs p;
    tra_joinagg_how how;
    tra_after l_after, r_after; /* of what the super-block under way reads */
    size_t kernel_at;           /* in a worker's scratch: below the join's result, from here the kernels' scratch */
    int64_t reserved;           /* of the pool, for what workers take of results that grow or are counted */
    struct {
        tra_block **v; /* blocks of L that stay, pinned, for a row of super-blocks; from malloc */
        int64_t n, cap;
    } row;
} tra_joinagg;

/* Where a super-block lies in the rectangle of its span: results [i0, i0 + ni) x [j0, j0 + nj). */
typedef struct tra_super_at {
    const tra_rect *span;
    const tra_meeting **li, **rj; /* an entry of each rank of I and of J; rj NULL without R */
    int64_t i0, ni, j0, nj;
    bool stays; /* its arrays of L get another pin each, which tra_super_release_row takes away */
} tra_super_at;

/* Makes the results of a super-block and queues its units, which emit them. Waits where the engine does (engine.h). */
TRA_MUSTUSE tra_status tra_super_run(tra_joinagg *st, const tra_super_at *at, tra_err *e);
void tra_super_release_row(tra_joinagg *st, tra_after after);
/* Emits the identity of agg as the result `ordinal`. TRA_RESOURCE without memory for it. */
TRA_MUSTUSE tra_status tra_super_identity(tra_joinagg *st, int64_t ordinal, tra_err *e);

#endif
