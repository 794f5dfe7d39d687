/* settle.h - a stored relation made of blocks that come one by one, in any order.
 *
 * Where the entries of a block are in the file depends on how many all blocks have. So blocks are counted as they come
 * and wait in a scratch file; when all have come they go to their places.
 */
#ifndef TRA_SETTLE_H
#define TRA_SETTLE_H

#include "../lib/relation/stored.h"

typedef struct tra_settle tra_settle;

typedef struct tra_settled {
    int64_t entries, nan, inf;
    int64_t bytes;   /* that are stored */
    int64_t scratch; /* that waited */
} tra_settled;

/* to: "out.h5[:name]". codec: NULL for none. type: of layout tra_rows; it, levels, history and labels (NULL: there are
 * none) must outlive it. workers: those that add. On failure there is nothing to abort. */
TRA_MUSTUSE tra_status tra_settle_begin(const char *to, const tra_type *type, const tra_levels *levels,
                                        const tra_codec *codec, const char *history,
                                        const struct tra_dim_labels *const *labels, int workers, tra_settle **out,
                                        tra_err *e);
/* Bytes that it holds for so many blocks. */
int64_t tra_settle_held(int64_t blocks, const tra_levels *levels);
/* A block, of which so many bytes are used. Thread-safe for distinct workers; each block once. */
TRA_MUSTUSE tra_status tra_settle_add(tra_settle *s, int worker, int64_t ordinal, const tra_cell *cell, int64_t bytes,
                                      tra_err *e);
/* All have come: writes them, and the relation appears. memory: for the largest blocks at least. Frees s also on
 * failure. */
TRA_MUSTUSE tra_status tra_settle_commit(tra_settle *s, int64_t memory, tra_settled *counts, tra_err *e);
void tra_settle_abort(tra_settle *s); /* NULL allowed */

#endif
