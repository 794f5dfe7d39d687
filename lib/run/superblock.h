/* superblock.h - super-blocks: how a join or an aggregation computes on one site; private to joinagg.c and
 * superblock.c.
 *
 * For each value of B (pairs.h) the output is a rectangle I x J. It is cut in super-blocks of ci x cj arrays that stay
 * in memory while, step by step in ascending (K, KL, KR), the column of L and the row of R that meet there stream past.
 * So each output receives its terms in ascending order of the aggregated key, whatever the memory, the threads or the
 * timing.
 */
#ifndef TRA_SUPERBLOCK_H
#define TRA_SUPERBLOCK_H

#include "pairs.h"
#include "stages.h"

enum { TRA_AHEAD = 32 << 10 }; /* bytes of the largest state whose terms are computed ahead of their turn */

/* How the results of a stage are computed. */
typedef struct tra_joinagg_method {
    bool fused;    /* one kernel joins two arrays and adds the result to the state */
    bool ahead;    /* fused, with small terms, which are computed before it is their turn to be added */
    bool merges;   /* the terms are themselves states of the aggregation */
    bool sparse;   /* the terms are of sparse type */
    bool grows;    /* states are held in the result's layout, which is not dense, and grow (grow.h) */
    bool counted;  /* a join without aggregation, whose results are not dense */
    bool triangle; /* of two results that mirror each other only one is computed */
    tra_mirror mirror;
    bool composed;         /* a map follows the aggregation in its kernel, so that states have extents of their own */
    tra_dtype state_dtype; /* the element type of states; without an aggregation that of the result */
    int sums;              /* to which inputs are added while they are read (worker_sums.h); 0: they are not */
    int tiles;             /* how many tiles a state is computed in; 0: as many as the fused kernel says */
    int summand;           /* the number of the summand that this site computes */
} tra_joinagg_method;

/* A JOIN, AGG, JOINAGG or MERGE that is under way: the state of the thread that runs the plan. */
typedef struct tra_joinagg {
    tra_site *site;
    const tra_op *op;
    tra_outlet *outlet;
    const tra_kernel *join, *agg; /* NULL: none */
    tra_kernel *cut;              /* join with other tiles; NULL: it is as it was */
    tra_pairs pairs;
    tra_joinagg_method how;
    tra_after l_after, r_after; /* for the blocks of L and of R that the super-block under way reads */
    size_t kernel_scratch_at;   /* where in a worker's scratch that of the kernel begins: before it is the term */
    int64_t reserved;           /* bytes of the pool for workers, where results grow or are counted */
    struct {                    /* outputs that grow or are counted, of all super-blocks that are under way */
        pthread_mutex_t lock;   /* workers end super-blocks */
        int64_t n, reserved;    /* how many there are; bytes of the pool for them, at least what they take together */
    } outputs;
    _Atomic int64_t held; /* bytes of copies of terms that are yet to be added (grow.c) */
    struct {
        tra_block **v; /* blocks of L that stay pinned for a row of super-blocks; from malloc */
        int64_t n, cap;
    } pinned_row;
    int64_t budget;                       /* bytes for blocks */
    struct {                              /* the value of B that is worked on */
        tra_pairs_range range;            /* {0}: before the first */
        bool open;                        /* a span is under way */
        const tra_pairs_entry **li, **rj; /* an entry for each line of I and of J; rj NULL without R */
        int64_t ni, nj, i, j;             /* rows and columns of results; the first ones of the super-block */
        tra_block_loop loop;
        bool fits, right_fits;             /* do all inputs of the span fit in memory; do those of R? */
        bool l_read_again, r_read_again;   /* is the input read again, by this or another stage, after this span's last
                                              row of super-blocks (L), or last super-block (R)? */
        bool l_only_reader, r_only_reader; /* is the input dropped then, since only this stage reads it, and once? */
    } span;
    struct superblock *superblock; /* the super-block under way */
} tra_joinagg;

/* Which results of a span a super-block has: [i0, i0 + ni) x [j0, j0 + nj). */
typedef struct tra_superblock_bounds {
    const tra_pairs_range *range;
    const tra_pairs_entry **li, **rj; /* an entry of each line of I and of J; rj NULL without R */
    int64_t i0, ni, j0, nj;
    bool extra_pins; /* its arrays of L are pinned once more, until tra_superblock_release_row */
} tra_superblock_bounds;

/* Begins a super-block: allocates its results, waiting for memory. What `at` points to must last until
 * tra_superblock_end, which is called in any case. */
TRA_MUSTUSE tra_status tra_superblock_begin(tra_joinagg *st, const tra_superblock_bounds *at, tra_err *e);
/* The next unit of the super-block under way; NULL after the last, whose tasks emit the results. The caller queues or
 * drops it before asking for another. */
tra_unit *tra_superblock_next(tra_joinagg *st);
/* Queues a unit. Waits as tra_engine_submit does. */
TRA_MUSTUSE tra_status tra_superblock_queue(tra_joinagg *st, tra_unit *u, tra_err *e);
void tra_superblock_end(tra_joinagg *st);
void tra_superblock_release_row(tra_joinagg *st, tra_after after);
/* Is the result of these own values of I and J made as the mirror image of another result on this site? */
bool tra_superblock_is_mirrored(const tra_joinagg *st, int64_t i, int64_t j);
/* Emits the identity of the aggregation as the result `ordinal`. TRA_RESOURCE if memory is short. */
TRA_MUSTUSE tra_status tra_superblock_identity(tra_joinagg *st, int64_t ordinal, tra_err *e);

#endif
