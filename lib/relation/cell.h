/* cell.h - how the array of a tuple lies in its block: layouts, and the headers of those that are not dense.
 *
 * A dense block is the array, row by row, and nothing else. A block of another layout begins with a header: which
 * layout, how many parts, and of each part how many elements of how many bytes it has and where it begins. Such blocks
 * come from files and from other sites, so whoever looks into one decodes it first (tra_cell_of), which checks the
 * header against the length; the executor itself sees bytes alone.
 */
#ifndef TRA_CELL_H
#define TRA_CELL_H

#include "relation.h"

/* A row-major contiguous array. Views own nothing. */
typedef struct tra_array {
    tra_dtype dtype;
    tra_dims ext;
    void *data;
} tra_array;

enum { TRA_MAXPARTS = 6, TRA_CELL_ALIGN = 64, TRA_CELL_PIECES = 16 };

typedef struct tra_cell_part {
    int64_t count, offset; /* elements; bytes from the beginning of the block, a multiple of TRA_CELL_ALIGN */
    int64_t each;          /* bytes of an element */
} tra_cell_part;

/* With this a block begins that is not dense; the parts follow in their order. */
typedef struct tra_cell_head {
    uint32_t magic, layout; /* tra_layout.id */
    int32_t nparts, none;
    tra_cell_part part[TRA_MAXPARTS];
} tra_cell_head;

typedef struct tra_cell tra_cell;

/* A way to arrange an array. All of a relation are in one (tra_type.layout); the dense one is NULL there. */
struct tra_layout {
    const char *name;
    uint32_t id;
    int nparts;
    /* What an array of these extents takes that has so many entries, in so many rows (-1: not known), its header
     * included. Grows with both. */
    tra_size (*bytes)(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);
    /* Of blocks that know their extents better than the catalog does: corrects those of a cell whose header was
     * checked, and shows its data where it is a dense array. What is wrong, or NULL. NULL: nothing is to be done. */
    const char *(*look)(tra_cell *c);
    const struct tra_layout_kernels *kernels; /* lib/kernel/kernel.h */
};

/* What a kernel sees of a block: views, which own nothing. */
struct tra_cell {
    const tra_layout *layout;  /* NULL: dense */
    bool sparse;               /* of sparse type, however it is held: where it is 0 it annihilates */
    const tra_schema *columns; /* of a table, else NULL */
    int64_t first;             /* where one key cuts dimension 0 the number of the first row, -1: only the run tells */
    tra_array array;           /* type and extents; data: of a dense array, else NULL (but see columns.h) */
    tra_cell_head *head;       /* not dense: the block */
    /* Not dense and yet to be made: what the kernels' `bytes` functions counted, for the kernel that makes it; 0: not
     * counted. */
    int64_t counted[2];
    /* The same of the pieces that it is made in (tra_rows_pieces), where it is made in several. */
    int64_t counted_of[TRA_CELL_PIECES][2];
    /* Of a product or a sum that is yet to be made: only what has these coordinates in the first dimension, from one to
     * before the other, is made of it; {0, 0}: all. Its extents stay those of the whole. */
    int64_t panel[2];
};

/* Bytes of a block with so many parts of these counts and sizes of elements; TRA_SIZE_MOST where there are too many. */
int64_t tra_cell_room(int nparts, const int64_t *count, const int64_t *each);
/* The array of a tuple that is yet to be made, in a block that has room for it, aligned to 64; NULL: none yet. */
tra_cell tra_cell_new(const tra_type *t, int64_t ordinal, void *block);
/* Rows of a table before a tuple; -1 where only the run tells. */
int64_t tra_rows_before(const tra_type *t, int64_t ordinal);
/* Lays out its block, of a layout that is not dense: writes the header. The parts are the caller's to fill. */
void tra_cell_begin(tra_cell *c, const int64_t *count, const int64_t *each);
/* The parts have fewer elements than was laid out for: moves them together. Returns the bytes that are left. */
int64_t tra_cell_trim(tra_cell *c, const int64_t *count);
/* The array of a tuple in a block of so many bytes. TRA_INPUT, with what is wrong, unless it can be that: of a dense
 * one the block is large enough, of another the header is of the layout and its parts lie in the block, one after the
 * other. What is in the parts is for the layout's kernels to check. */
TRA_MUSTUSE tra_status tra_cell_of(const tra_type *t, int64_t ordinal, void *block, int64_t bytes, tra_cell *out,
                                   tra_err *e);
/* Bytes that the cell takes of its block. */
int64_t tra_cell_bytes(const tra_cell *c);
/* Where they are. */
static inline void *tra_cell_block(const tra_cell *c) { return c->layout ? c->head : c->array.data; }
static inline void *tra_cell_data(const tra_cell *c, int part) { return (char *)c->head + c->head->part[part].offset; }
static inline int64_t tra_cell_count(const tra_cell *c, int part) { return c->head->part[part].count; }

#endif
