/* pairs.h - which tuples of the parts of a join, or of one part that is aggregated, meet on a site, and in what order.
 *
 * Every key dimension of the join (those of L, then those of R that are not joined) is a label. By who has it and
 * whether it is grouped, a label is of class B (both, grouped), K (both, aggregated), I or KL (L alone), J or KR (R
 * alone). For each value of B the output is a rectangle I x J, and in ascending (K, KL, KR) a column of L and a row of
 * R meet. Without R there are I and KL alone. Private to lib/run.
 */
#ifndef TRA_PAIRS_H
#define TRA_PAIRS_H

#include "part.h"
#include "../physical/tree.h"

/* One local tuple: the values of its labels, linearised for each class of labels. */
typedef struct tra_pairs_entry {
    int64_t b, k;       /* the values of the labels of class B, of class K */
    int64_t contracted; /* on this side alone: KL (and the number of the summand), or KR */
    int64_t own;        /* grouped on this side alone: I or J */
    int64_t tuple;      /* index in the part */
    int64_t line; /* which row (L) or column (R) of the span's results it contributes to: the number of `own` among
                     its distinct values with the same b */
    int leaf;     /* in the tree of a reproducible sum; 0 if that follows from the other side */
    int shape;    /* the number of its extents (tra_pairs_shapes) */
} tra_pairs_entry;

typedef struct tra_side {
    tra_part *part; /* NULL: there is no R */
    int64_t n;
    tra_pairs_entry *v; /* ascending in (b, k, contracted, own) */
    int nshapes;        /* different extents of its arrays (tra_pairs_shapes) */
    int64_t *shape;     /* for each, a tuple that has them */
} tra_side;

typedef enum tra_pair_class {
    TRA_PAIR_B,
    TRA_PAIR_K,
    TRA_PAIR_I,
    TRA_PAIR_J,
    TRA_PAIR_KL,
    TRA_PAIR_KR,
    TRA_PAIR_CLASSES
} tra_pair_class;

typedef struct tra_pairs {
    const tra_op *op;
    tra_side l, r;
    int nlabels;
    tra_pair_class class[2 * TRA_MAXDIM]; /* of each label */
    int64_t radix[2 * TRA_MAXDIM];        /* of each label: more than any of its values */
    tra_tree tree;                        /* leaves 1: terms are added as they come */
} tra_pairs;

/* Lists and sorts the tuples of JOIN, JOINAGG, AGG or MERGE; r is NULL for the last two. reproducible: the sums are
 * those of a tree (tree.h), whose label then comes first among those of its class. without: of L and of R the tuples
 * that are left out, by their index; NULL: none. */
void tra_pairs_list(tra_pairs *x, const tra_op *op, tra_part *l, tra_part *r, bool reproducible,
                    const bool *const without[2]);
void tra_pairs_free(tra_pairs *x);
int64_t tra_pairs_count(const tra_pairs *x); /* pairs, or without R tuples */
/* Numbers the different extents of each side's arrays from 0, so that callers can look at shapes instead of tuples. */
void tra_pairs_shapes(tra_pairs *x);
/* The key of the result to which the pair of l and r (NULL without R) contributes. */
void tra_pairs_key(const tra_pairs *x, const tra_pairs_entry *l, const tra_pairs_entry *r, tra_dims *key);

/* Entries [l0, l1) of L and [r0, r1) of R. */
typedef struct tra_pairs_range {
    int64_t l0, l1, r0, r1;
} tra_pairs_range;
/* The next span, from {0} on: the entries of one value of B. Spans in which nothing meets are left out. */
bool tra_pairs_next_span(const tra_pairs *x, tra_pairs_range *b);
/* For joins: the next entries that meet, those of one value of B and K; from {0} on. */
bool tra_pairs_next_match(const tra_pairs *x, tra_pairs_range *m);
/* How many lines, distinct values of `own`, the entries from..to of one span have. */
int64_t tra_side_lines(const tra_side *s, int64_t from, int64_t to);

/* Walks the steps of a span in ascending (K, KL, KR): each is a run of L's entries with the same (k, contracted) and
 * one of R's with the same k. */
typedef struct tra_walk {
    const tra_pairs *x;
    tra_pairs_range span;
    int64_t l0, l1, r0, r1; /* the current step */
    int64_t rk;             /* where R's entries of the current k begin */
} tra_walk;
tra_walk tra_walk_begin(const tra_pairs *x, const tra_pairs_range *b);
bool tra_walk_next(tra_walk *w);

#endif
