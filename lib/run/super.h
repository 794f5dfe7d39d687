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

enum { TRA_AHEAD = 32 << 10 }; /* bytes of a state whose terms are computed ahead of their turn, at most */

/* How its results are computed: found once, before the first of them. */
typedef struct tra_joinagg_how {
    bool fused;    /* join and agg in one call, */
    bool ahead;    /* of which what it adds is small, and computed before its turn comes */
    bool merges;   /* the terms are states */
    bool sparse;   /* the terms are of sparse type */
    bool grows;    /* states are held in the result's layout, and grow (grow.h), */
    bool counted;  /* or results without agg */
    bool triangle; /* of the results that mirror each other one is computed: mirror (plan.h) */
    tra_mirror mirror;
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
    int64_t budget; /* bytes for blocks */
    struct {
        tra_rect span; /* {0}: before the first */
        bool open;
        const tra_meeting **li, **rj; /* an entry of each rank of I and of J; rj NULL without R */
        int64_t ni, nj, i, j;         /* results of the span, and where in it */
        tra_block_loop loop;
        bool fits, right_fits; /* all that the span reads, what it reads of R */
        bool l_later, r_later; /* it is read again after the super-block, or the row of these, that needs it last */
        bool l_last, r_last;   /* nothing else reads it, nor later */
    } at;
    struct super *super; /* the super-block under way */
} tra_joinagg;

/* Where a super-block lies in the rectangle of its span: results [i0, i0 + ni) x [j0, j0 + nj). */
typedef struct tra_super_at {
    const tra_rect *span;
    const tra_meeting **li, **rj; /* an entry of each rank of I and of J; rj NULL without R */
    int64_t i0, ni, j0, nj;
    bool extra_pins; /* its arrays of L get another pin each, which tra_super_release_row takes away */
} tra_super_at;

/* Begins a super-block: gives its results memory, and waits where the engine does (engine.h). What `at` points to must
 * last until tra_super_end, which is called in any case. */
TRA_MUSTUSE tra_status tra_super_begin(tra_joinagg *st, const tra_super_at *at, tra_err *e);
/* The next unit of the super-block under way, NULL after the last, which emits the results. The caller drops it or
 * queues it before he asks for another. */
tra_unit *tra_super_next(tra_joinagg *st);
/* Queues it. Waits where the engine does. */
TRA_MUSTUSE tra_status tra_super_queue(tra_joinagg *st, tra_unit *u, tra_err *e);
void tra_super_end(tra_joinagg *st);
void tra_super_release_row(tra_joinagg *st, tra_after after);
/* Is the result of these own values computed as the mirror of another one on this site? */
bool tra_super_is_copy(const tra_joinagg *st, int64_t i, int64_t j);
/* Emits the identity of agg as the result `ordinal`. TRA_RESOURCE without memory for it. */
TRA_MUSTUSE tra_status tra_super_identity(tra_joinagg *st, int64_t ordinal, tra_err *e);

#endif
