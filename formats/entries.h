/* entries.h - blocks of a matrix from its entries in any order. */
#ifndef TRA_ENTRIES_H
#define TRA_ENTRIES_H

#include "formats.h"

/* Takes one block, of the source's dtype, in the order of ordinals. */
typedef tra_status tra_block_fn(void *ctx, int64_t ordinal, const void *data, tra_err *e);

/* The least memory that does for the blocks of the catalog. */
int64_t tra_entries_need(const tra_source *s, const tra_catalog *cat);

/* Reads all entries of s and hands on every block of the catalog (blocks of the matrix), those without entries as
 * zeros. Entries that do not fit `memory` are sorted by block into a scratch file near output; *spilled counts its
 * bytes. memory is at least tra_entries_need. TRA_INPUT naming both lines when an element is given twice. */
TRA_MUSTUSE tra_status tra_entries_assemble(tra_source *s, const tra_catalog *cat, int64_t memory, const char *output,
                                            tra_block_fn *fn, void *ctx, int64_t *spilled, tra_err *e);

#endif
