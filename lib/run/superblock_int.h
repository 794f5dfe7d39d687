/* superblock_int.h - what superblock.c (super-blocks, their outputs and units) and superblock_tasks.c (what workers do)
 * share. */
#ifndef TRA_SUPERBLOCK_INT_H
#define TRA_SUPERBLOCK_INT_H

#include "grow.h"
#include "worker_sums.h"

#include <stdatomic.h>

/* One output array of a super-block. */
typedef struct output {
    int64_t ordinal;           /* -1: there is no such tuple */
    tra_block *block, *result; /* result: where the state cannot become the result in place, since a map changes its
                                  extents, or since the result is not dense */
    tra_array state;
    tra_panels *panels;    /* where results grow or are counted, in place of blocks: the state's, then the branches' */
    tra_array *branch;     /* sums of a tree besides the state, */
    tra_block **branches;  /* and their blocks */
    int tiles;             /* that it is computed in */
    atomic_int tiles_left; /* tiles of the last step that have not ended */
    /* If of two results that mirror each other only one is computed: */
    bool diagonal;       /* only one triangle of the array is computed */
    bool turned;         /* its operands are exchanged, so that the mirror image of the result is computed */
    bool mirror_only;    /* it is itself no result, but its twin is */
    struct output *twin; /* its mirror image: a copy of the state with two dimensions exchanged; NULL: none */
} output;

typedef struct superblock {
    tra_joinagg *st;
    atomic_int refs; /* its units, and the producer */
    tra_chain chain; /* of its units */
    struct {
        tra_superblock_bounds at;
        tra_walk walk;
        tra_tree_sums open; /* sums of the tree that are not added up yet */
        tra_unit *next;  /* the unit after the one that is being queued: made early, so that the last unit is known */
        bool any, ended; /* a unit was made; there are no more */
    } producer;
    int64_t ni, nj;
    int tiles;       /* of the output that has the most */
    output *outputs; /* ni * nj */
    bool reserves;   /* its outputs are among those for which the stage reserves memory */
    bool *begun;     /* for each sum, output and tile: was a term added? */
    tra_worker_sums
        sums; /* of the one output, where inputs are added while they are read: the state and its branches */
} superblock;

/* One step of a super-block: the context of a unit. Inputs [0, nl) are L's, the others R's. */
typedef struct step {
    superblock *s;
    bool first, last; /* of the super-block */
    int64_t nl;
    int64_t *line;     /* row or column of each input in the super-block, ascending on each side */
    tra_tree_step sum; /* the sum to which terms are added; without a tree always 0, the state */
} step;

/* superblock_tasks.c */

/* The extents of the term of tuple l of the left input, and r of the right one if there is any. */
TRA_MUSTUSE tra_status tra_superblock_term_shape(const tra_joinagg *st, int64_t l, int64_t r, tra_dims *out,
                                                 tra_err *e);
/* Are terms arrays by themselves, which are added after the join made them? Then several may be computed at a time. */
bool tra_superblock_makes_terms(const tra_joinagg *st);
/* The tasks of a step, one for each output and tile. */
TRA_MUSTUSE tra_status tra_superblock_task(tra_unit *u, int task, tra_worker *w, tra_err *e);

/* superblock.c */

void tra_superblock_free_branches(tra_joinagg *st, output *c); /* all sums of an output but its state */

#endif
