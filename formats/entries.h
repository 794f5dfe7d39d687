/* entries.h - blocks of a tensor from its entries in any order. */
#ifndef TRA_ENTRIES_H
#define TRA_ENTRIES_H

#include "../lib/relation/cell.h"
#include "formats.h"

typedef struct tra_entries_options {
    int64_t memory;     /* at least tra_entries_need */
    const char *output; /* beside which the scratch file may be */
    bool fine;          /* it is asked how entries are spread: tra_sorter_among, tra_entries_block */
    bool no_duplicate;  /* an element that is given twice is an error; else they are added up */
    bool drop_zeros;
} tra_entries_options;

/* The least memory that does for reading, and for handing out. */
int64_t tra_entries_need(const tra_source *s, bool fine);
/* Reads all entries of s and sorts them by these places. */
TRA_MUSTUSE tra_status tra_entries_sort(tra_source *s, const tra_places *p, const tra_entries_options *o,
                                        tra_sorter **out, tra_err *e);

/* Blocks for so many entries: some indices of the first dimension that has more than one by all of the others. Blocks
 * have half a million entries on average: enough blocks to share out, few enough that each is worth its header. None
 * has more than four million, so that any fits the memory of a small machine with all that an operator holds beside it;
 * of `crowded` ones eight, where there would be very many blocks else. They are long (all of the other dimensions)
 * since products and sums over rows then meet each row once, and the entries need not be sorted again. most: entries
 * that any block of these extents has at most. */
typedef int64_t tra_most_fn(const void *ctx, const tra_dims *block);
void tra_block_for_entries(const tra_dims *shape, int64_t all, bool crowded, tra_most_fn *most, const void *ctx,
                           tra_dims *block);
/* The same of entries whose places are the row-major order. It follows from where they are, never from the memory. */
void tra_entries_block(const tra_sorter *sorted, const tra_dims *shape, bool crowded, tra_dims *block);

/* After tra_sorter_merge, the blocks in the order of ordinals. The array of the next one, of the source's dtype, to
 * data. */
TRA_MUSTUSE tra_status tra_entries_dense(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key,
                                         void *data, tra_err *e);
/* The same as rows (lib/relation/rows.h): to the block of a new cell of that layout (tra_cell_new), which has room for
 * `most` entries, no less than tra_sorter_among says of its places. *bytes of it are used. */
TRA_MUSTUSE tra_status tra_entries_rows(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key,
                                        int64_t most, tra_cell *cell, int64_t *bytes, tra_err *e);
/* The entries themselves, as tra_sorter_take gives them, each one that the source's dtype holds. */
TRA_MUSTUSE tra_status tra_entries_take(tra_source *s, tra_sorter *sorted, const tra_places *p, tra_item *to,
                                        int64_t want, int64_t *got, tra_err *e);
#endif
