/* gen_sparse.h - tra gen of entries: which elements of a tensor are entries, block by block. */
#ifndef TRA_GEN_SPARSE_H
#define TRA_GEN_SPARSE_H

#include "../formats/sorter.h"

enum { GEN_UNIFORM, GEN_RMAT, GEN_BAND, GEN_DIAG };

typedef struct gen_pattern {
    int kind;
    double density; /* of uniform and rmat; of the others the share of their elements that are kept */
    int64_t width;  /* band */
    uint64_t seed;
    tra_dims shape;
    /* Found by gen_pattern_init. */
    tra_dims cell; /* uniform: the extents of what is drawn together */
    int64_t edges; /* rmat */
} gen_pattern;

/* TRA_USAGE where the pattern is none of such a tensor. */
TRA_MUSTUSE tra_status gen_pattern_init(gen_pattern *p, tra_err *e);
/* Blocks for them, as import chooses them (formats/entries.h). */
void gen_block(const gen_pattern *p, bool crowded, tra_dims *block);
/* At most so many entries are in a block of these extents, but for once in a great many draws. */
int64_t gen_bound(const gen_pattern *p, const tra_dims *block);

typedef struct gen_items {
    tra_item *v;
    int64_t n, cap;
    bool full; /* there were more */
} gen_items;

/* The entries of the block that begins at `from`: their places within it (row-major), in any order, perhaps more than
 * once. They depend on pattern and shape alone, not on the blocks. */
void gen_entries(const gen_pattern *p, const tra_dims *from, const tra_dims *ext, gen_items *out);

#endif
