/* settle.h - makes a stored relation of blocks that come one by one, in any order.
 *
 * Where the entries of a block are in the file depends on how many entries the other blocks have. So blocks are counted
 * as they come and wait in a scratch file; when all have come each is written to its place.
 */
#ifndef TRA_SETTLE_H
#define TRA_SETTLE_H

#include "../lib/storage/stored.h"

typedef struct tra_settle tra_settle;

typedef struct tra_settled {
    int64_t entries, nan, inf;
    int64_t bytes;   /* of the chunks in the file */
    int64_t scratch; /* bytes that waited in the scratch file */
} tra_settled;

/* Begins the relation `to` ("out.h5[:name]"), of a type whose layout is tra_rows. codec is NULL for no compression,
 * labels NULL where there are none; type, levels, history and labels must outlive *out. workers: how many threads will
 * add blocks. On failure there is nothing to abort. */
TRA_MUSTUSE tra_status tra_settle_begin(const char *to, const tra_type *type, const tra_levels *levels,
                                        const tra_codec *codec, const char *history,
                                        const struct tra_dim_labels *const *labels, int workers, tra_settle **out,
                                        tra_err *e);
/* Bytes of memory that it keeps for a relation of so many blocks. */
int64_t tra_settle_held(int64_t blocks, const tra_levels *levels);
/* Adds the block of an ordinal, of which `bytes` bytes are used. Each block is added once; threads may do so at the
 * same time with different worker numbers. */
TRA_MUSTUSE tra_status tra_settle_add(tra_settle *s, int worker, int64_t ordinal, const tra_cell *cell, int64_t bytes,
                                      tra_err *e);
/* To be called when all blocks have come: writes them, and the relation appears. `memory` bytes must hold the largest
 * block and its scratch; more lets several threads write. Frees s, also on failure. */
TRA_MUSTUSE tra_status tra_settle_commit(tra_settle *s, int64_t memory, tra_settled *counts, tra_err *e);
void tra_settle_abort(tra_settle *s); /* NULL allowed */

#endif
