/* tree.h - reproducible sums: a tree over the aggregated key that no placement changes.
 *
 * Of the key dimensions that an aggregation leaves out one is cut in equal segments, at most TRA_TREE_LEAVES of them, a
 * power of two. Within a segment terms are added in ascending order of key; the sums of segments are added by pairs,
 * two halves at a time. So a site that has one of 2^m equal parts of that dimension has a whole branch of the tree, and
 * the summands of all sites, added by pairs, give the bits that one site alone would have given.
 *
 * The dimension is the one of most values: of those that both inputs of the join have if there are any, else of the
 * left one's, else of the right one's; the first of equals. It comes first in the order of terms.
 */
#ifndef TRA_TREE_H
#define TRA_TREE_H

#include "plan.h"

enum { TRA_TREE_LEAVES = 16 };

typedef struct tra_tree {
    int label;  /* key dimension of what is aggregated (of the join's result); -1: none */
    int64_t n;  /* its values */
    int leaves; /* a power of two; 1: nothing is cut */
} tra_tree;

/* The tree of an aggregation: of relation l (join false), or of the join of l and r on these dimensions. */
tra_tree tra_tree_of(bool join, const tra_catalog *l, const tra_catalog *r, const tra_dims *joinl,
                     const tra_dims *joinr, const tra_dims *group);
/* Does every site have a whole branch of the tree when the terms are placed so? Then summands may be added by pairs. */
bool tra_tree_fits(const tra_tree *t, const tra_placement *pairs, const tra_dims *group);
static inline int tra_tree_leaf(const tra_tree *t, int64_t value) {
    return t->n > 0 ? (int)((__int128)value * t->leaves / t->n) : 0;
}
int tra_tree_depth(int leaves); /* sums that are held at once: 1 + log2 of the leaves */

/* The sums that are held while terms come in the order of their leaves, as a stack: each will be added to the one below
 * it. */
typedef struct tra_tree_sums {
    int top; /* number of the last sum; -1: there is none yet */
    int leaf[TRA_TREE_LEAVES + 1];
} tra_tree_sums;
/* What a term does to them: from the sum `top` down, `closed` sums are each added to the one below, since their
 * branches have no more terms; then the term is added to `sum`, which is a new one if it is above the others. */
typedef struct tra_tree_step {
    int top, closed, sum;
} tra_tree_step;
tra_tree_step tra_tree_add(tra_tree_sums *s, int leaf);

#endif
