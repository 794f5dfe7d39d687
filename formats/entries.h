/* entries.h - blocks of a tensor from its entries in any order. */
#ifndef TRA_ENTRIES_H
#define TRA_ENTRIES_H

#include "../lib/model/cell.h"
#include "formats.h"

typedef struct tra_entries_options {
    int64_t memory;     /* bytes, at least tra_entries_need */
    const char *output; /* path in whose directory the scratch file may be */
    bool fine;          /* count entries by many ranges of places, for tra_sorter_count_in and tra_entries_block */
    bool no_duplicate;  /* an element that is given twice is an error; else its values are added up */
    bool drop_zeros;    /* leave out elements whose sum is 0 */
} tra_entries_options;

/* The least memory, in bytes, with which the entries of s can be read and sorted, or handed out. */
int64_t tra_entries_need(const tra_source *s, bool fine);
/* Reads all entries of s and sorts them by these places. *out is the caller's to free, also on failure. */
TRA_MUSTUSE tra_status tra_entries_sort(tra_source *s, const tra_places *p, const tra_entries_options *o,
                                        tra_sorter **out, tra_err *e);

/* Chooses the extents of blocks for a tensor of `all` entries: a number of indices of the first dimension that has more
 * than one index, by all indices of the dimensions after it. So products and sums over rows meet each row once, and the
 * entries need not be sorted again. On average a block has half a million entries: enough blocks to share out, and few
 * enough that each is worth its header. None has more than four million, so that a small machine can hold one with all
 * that an operator needs beside it. `crowded` allows eight million, for storages whose headers are as long as a block
 * has rows, where there would be very many blocks otherwise. most(ctx, block) is how many entries any block of these
 * extents may have. */
typedef int64_t tra_most_fn(const void *ctx, const tra_dims *block);
void tra_block_for_entries(const tra_dims *shape, int64_t all, bool crowded, tra_most_fn *most, const void *ctx,
                           tra_dims *block);
/* The same for entries that are sorted in row-major order. The result follows from where the entries are, never from
 * the memory. */
void tra_entries_block(const tra_sorter *sorted, const tra_dims *shape, bool crowded, tra_dims *block);

/* The next three are called after tra_sorter_merge, for one block after the other in the order of ordinals.
 * tra_entries_dense writes the block's elements, of the source's dtype, to data. TRA_INPUT: an element is given twice
 * that may not be, or a sum does not fit the type. */
TRA_MUSTUSE tra_status tra_entries_dense(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key,
                                         void *data, tra_err *e);
/* Writes the block's entries as rows (lib/model/rows.h) to a new cell of that layout (tra_cell_new), which has room
 * for `most` entries, no less than tra_sorter_count_in says of the block's places. *bytes: how much of the block is
 * used. */
TRA_MUSTUSE tra_status tra_entries_rows(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key,
                                        int64_t most, tra_cell *cell, int64_t *bytes, tra_err *e);
/* Hands out the entries themselves, as tra_sorter_take does, each with a value that the source's dtype holds. */
TRA_MUSTUSE tra_status tra_entries_take(tra_source *s, tra_sorter *sorted, const tra_places *p, tra_item *to,
                                        int64_t want, int64_t *got, tra_err *e);
#endif
