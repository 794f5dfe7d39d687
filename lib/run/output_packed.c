/* output_packed.c - outputs whose arrays the mapping of a storage that is no levels makes of components (mapped.h).
 *
 * What each tuple has of each component follows from coordinates alone. But as of levels (output_counted.c), the file
 * is made when all has been computed: an array is packed when it is made, so that an element which the mapping cannot
 * hold is found then, and what was packed waits, with the number of entries that the mapping gives behind it.
 */
#include "../physical/needs.h"
#include "output_int.h"

#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

int64_t tra_packed_bytes(const tra_outfile *o, int64_t t) {
    return tra_mapping_bytes(o->mapping->storage, &o->memory_type, t);
}

bool tra_packed_admits(const tra_outfile *o, int64_t ordinal, int64_t len) {
    return len == tra_packed_bytes(o, ordinal) + (int64_t)sizeof(int64_t);
}

tra_status tra_packed_recount(tra_outfile *o, const tra_saved *s, tra_err *e) {
    return tra_mapping_sizes(o->mapping->storage, &o->memory_type, s->ordinal, o->counts + s->ordinal * o->ncounts, e);
}

/* The error of a result that the mapping cannot hold, with the statement that computes it. */
static tra_status explain(const tra_outfile *o, tra_status s, const tra_err *own, tra_err *e) {
    char place[512];
    *e = (tra_err){0};
    return tra_fail(e, s, "%s%s: the result cannot be stored as %s", tra_op_text(o->op, place, sizeof place), own->msg,
                    o->mapping->name);
}

static tra_status wait_packed(tra_outfile *o, tra_saved *rec, const tra_cell *c, char *room, tra_err *e) {
    int64_t n = tra_packed_bytes(o, rec->ordinal), entries;
    tra_err own = {0};
    tra_status s = tra_mapping_pack(o->mapping->storage, &o->memory_type, rec->ordinal, c, room, &entries, &own);
    if (s != TRA_OK) return explain(o, s, &own, e);
    memcpy(room + n, &entries, sizeof entries); /* the room goes on behind what was packed */
    n += (int64_t)sizeof entries;
    int64_t at = tra_spool_reserve(o, n);
    TRA_TRY(tra_pwrite(tra_spool_fd(o, o->comm.rank), room, (size_t)n, at, "the scratch file", e));
    TRA_TRY(tra_packed_recount(o, rec, e));
    tra_spool_note(o, rec, at, n, XXH64(room, (size_t)n, 0));
    return TRA_OK;
}

tra_status tra_packed_wait(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e) {
    tra_cell c;
    tra_err own = {0};
    TRA_TRY(tra_cell_of(&o->memory_type, rec->ordinal, b->ptr, b->bytes, &c, e));
    tra_block *own_room = NULL;
    int64_t bytes =
        tra_mapping_room(tra_packed_bytes(o, rec->ordinal) + (int64_t)sizeof(int64_t), tra_held_entries(&c));
    if (bytes <= o->count_room) return wait_packed(o, rec, &c, w->io, e);
    tra_status s = tra_engine_take_block(w, bytes, &own_room, &own);
    if (s != TRA_OK) return explain(o, s, &own, e);
    s = wait_packed(o, rec, &c, own_room->ptr, e);
    tra_block_free(o->pool, own_room);
    return s;
}

/* ---- placing ---------------------------------------------------------------------------------------------------- */

tra_status tra_packed_place(tra_outfile *o, int64_t t, tra_err *e) {
    char buf[32 << 10];
    const tra_encoded *enc = &o->encoded[t];
    int fd = tra_spool_fd(o, o->spool_file[t]);
    int64_t end = enc->len - (int64_t)sizeof(int64_t), entries = 0;
    XXH64_state_t sum;
    TRA_TRY(tra_pread(fd, &entries, sizeof entries, o->spool_at[t] + end, "the scratch file", e));
    XXH64_reset(&sum, 0);
    tra_packing *p = tra_packing_begin(o->writer, t, entries);
    tra_status s = TRA_OK;
    for (int64_t at = 0, n; at < end && s == TRA_OK; at += n) {
        n = tra_min64((int64_t)sizeof buf, end - at);
        s = tra_pread(fd, buf, (size_t)n, o->spool_at[t] + at, "the scratch file", e);
        XXH64_update(&sum, buf, (size_t)n);
        if (s == TRA_OK) s = tra_packing_put(p, buf, n, e);
    }
    XXH64_update(&sum, &entries, sizeof entries);
    s = tra_packing_end(p, s, e);
    if (s != TRA_OK || XXH64_digest(&sum) == enc->sum) return s;
    return tra_fail(e, TRA_RESOURCE, "the scratch file of the output is damaged; check the disk");
}
