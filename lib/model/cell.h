/* cell.h - how the array of a tuple lies in its block: layouts, and the headers of those that are not dense.
 *
 * A dense block is the array, row by row, and nothing else. A block of another layout begins with a header: which
 * layout, how many parts, and for each part how many elements of how many bytes it has and where it begins. Such blocks
 * come from files and from other sites, so whoever looks into one calls tra_cell_of first, which checks the header
 * against the length of the block. The executor itself sees only bytes.
 */
#ifndef TRA_CELL_H
#define TRA_CELL_H

#include <pthread.h>

#include "../base/parallel.h"
#include "relation.h"

/* A row-major contiguous array. It is a view: data belong to someone else. */
typedef struct tra_array {
    tra_dtype dtype;
    tra_dims ext;
    void *data;
} tra_array;

enum { TRA_MAXPARTS = 6, TRA_CELL_ALIGN = 64, TRA_CELL_PIECES = TRA_PIECES };

typedef struct tra_cell_part {
    int64_t count, offset; /* elements; bytes from the beginning of the block, a multiple of TRA_CELL_ALIGN */
    int64_t each;          /* bytes of an element */
} tra_cell_part;

/* The header with which a block that is not dense begins; the parts follow in their order. */
typedef struct tra_cell_head {
    uint32_t magic, layout; /* layout: tra_layout.id */
    int32_t nparts, none;   /* none: 0, it aligns what follows */
    tra_cell_part part[TRA_MAXPARTS];
} tra_cell_head;

typedef struct tra_cell tra_cell;

/* A layout: a way to arrange an array. All arrays of a relation have the same one (tra_type.layout); dense is NULL
 * there. */
struct tra_layout {
    const char *name;
    uint32_t id;
    int nparts;
    /* Bytes of an array of these extents with so many entries, in so many rows (-1: not known), its header included.
     * Grows with both. */
    tra_size (*bytes)(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);
    /* For layouts whose blocks hold their own extents, of which the catalog has only bounds: takes the extents of a
     * cell whose header has been checked from its block, and sets array.data where the contents are a dense array.
     * Returns what is wrong with the block, or NULL. A NULL pointer: the catalog's extents are right. */
    const char *(*adopt_extents)(tra_cell *c);
    const struct tra_layout_kernels *kernels; /* lib/kernel/kernel.h */
};

/* Room for what a join's kernel keeps of its right operand from one call to the next, as an index of its rows. The
 * kernel sets `of` to its data when that is there; NULL: it is not, as with another operand. All workers share it, or
 * each has its own. */
typedef struct tra_kept {
    const void *of;
    void *room;            /* of as many bytes as the kernel asks for (tra_cell_keep) */
    pthread_mutex_t *lock; /* of one that workers share: whoever looks at `of`, or makes what is kept, holds it */
} tra_kept;

/* Where the block of a cell comes from that is yet to be made. Its maker asks when it knows how many bytes it takes. */
typedef struct tra_taker tra_taker;
struct tra_taker {
    /* Aligned to TRA_CELL_ALIGN; NULL: there is no memory, and whoever gave the taker knows. Once, unless it failed. */
    void *(*take)(tra_taker *t, int64_t bytes);
    bool refused; /* the last time there was none */
};

/* What a kernel sees of a block. It is a view: the block belongs to someone else. */
struct tra_cell {
    const tra_layout *layout;  /* NULL: dense */
    bool sparse;               /* sparse by type (tra_type.sparse), whatever its layout */
    const tra_schema *columns; /* of a table, else NULL */
    int64_t first;       /* number of the first row in the tensor, where one key cuts dimension 0; -1: not known yet */
    tra_array array;     /* type and extents; data: of a dense array, else NULL (but see adopt_extents) */
    tra_cell_head *head; /* the block, of layouts that are not dense; NULL: yet to be made, */
    tra_taker *from;     /* in a block from here */
    tra_kept *kept;      /* of the right operand of a join; NULL: there is no room for it */
    /* Of a product or a sum that is yet to be made: only its coordinates panel[0] <= i < panel[1] of the first
     * dimension are made; {0, 0}: all. Its extents stay those of the whole. */
    int64_t panel[2];
    /* Set by whoever makes it panel by panel: bytes. Its maker ends the panel before a coordinate, but the first, with
     * which its bound would be larger, and counts more closely only where memory is short. 0: it need not. */
    int64_t enough;
};

/* A place rounded up to TRA_CELL_ALIGN; INT64_MAX where that overflows. */
int64_t tra_cell_aligned(int64_t at);
/* Bytes of a block of nparts parts with these counts of elements, of these sizes; TRA_SIZE_MOST: too many. */
int64_t tra_cell_room(int nparts, const int64_t *count, const int64_t *each);
/* A cell for an array that is yet to be made, in a block that has room for it and is aligned to 64 bytes; block may be
 * NULL, and set later. */
tra_cell tra_cell_new(const tra_type *t, int64_t ordinal, void *block);
/* Number of the first row of a tuple whose dimension 0 is cut; -1 where only the run tells. */
/* Has the cell a block? Asks for one of so many bytes if it is yet to be made; false: its maker gives up. */
bool tra_cell_take(tra_cell *c, int64_t bytes);
/* Writes the header of a block that is not dense. The caller fills the parts. */
void tra_cell_begin(tra_cell *c, const int64_t *count, const int64_t *each);
/* The parts turned out to have fewer elements than tra_cell_begin was told: moves them together. Returns the bytes of
 * the block that are used. */
int64_t tra_cell_trim(tra_cell *c, const int64_t *count);
/* The cell of a tuple whose block has so many bytes. TRA_INPUT, saying what is wrong, unless a dense block is large
 * enough for its array, or the header of another one is of the type's layout and its parts lie in the block, one after
 * the other. The layout's own checks (tra_rows_check, tra_columns_of) look at what is in the parts. */
TRA_MUSTUSE tra_status tra_cell_of(const tra_type *t, int64_t ordinal, void *block, int64_t bytes, tra_cell *out,
                                   tra_err *e);
/* Bytes of its block that the cell uses. */
int64_t tra_cell_bytes(const tra_cell *c);
/* The block; where a part begins in it; how many elements a part has. */
static inline void *tra_cell_block(const tra_cell *c) { return c->layout ? c->head : c->array.data; }
static inline void *tra_cell_data(const tra_cell *c, int part) { return (char *)c->head + c->head->part[part].offset; }
static inline int64_t tra_cell_count(const tra_cell *c, int part) { return c->head->part[part].count; }

#endif
