/* output_held.c - arrays of counted outputs that wait in memory for their places, as blocks of the pool, which spills
 * them where room is needed: so most results are written to disk once, and only there.
 *
 * A run that is killed loses them. So with a journal they wait in memory for the seconds of a checkpoint only: then
 * they are saved, and what comes later is saved at once. They are saved too when the run is stopped.
 */
#include "output_int.h"

#include <stdlib.h>
#include <xxhash.h>

tra_status tra_spool_block(tra_outfile *o, tra_saved *rec, const tra_block *b, tra_err *e) {
    int64_t at = tra_spool_reserve(o, b->bytes);
    TRA_TRY(tra_pwrite(tra_spool_fd(o, o->comm.rank), b->ptr, (size_t)b->bytes, at, "the scratch file", e));
    tra_spool_note(o, rec, at, b->bytes, XXH64(b->ptr, (size_t)b->bytes, 0));
    return TRA_OK;
}

/* Half of the memory stays for the computation: what it reads again should not leave memory for results. */
static bool has_room(const tra_outfile *o) {
    return tra_pool_has_room(o->pool, tra_pool_stat(o->pool).budget / 2, true);
}

bool tra_held_take(tra_outfile *o, tra_worker *w, const tra_saved *rec, tra_block *b) {
    bool due = o->log && tra_now() >= o->due;
    if (due) tra_held_save(o, w);
    if (!o->held || due || !has_room(o)) return false;
    pthread_mutex_lock(&o->lock);
    o->held[rec->ordinal] = (tra_held){b, *rec};
    o->encoded[rec->ordinal].len = b->bytes;
    o->tuple_flags[rec->ordinal] |= TRA_TUPLE_WRITTEN;
    tra_block_unpin(o->pool, b);
    pthread_mutex_unlock(&o->lock);
    return true;
}

static tra_status pin(tra_outfile *o, bool worker, tra_block *b, tra_err *e) {
    bool load;
    if (worker) return tra_block_take_back(o->pool, b, e);
    TRA_TRY(tra_block_pin(o->pool, b, &load, e));
    tra_status s = load ? tra_block_load(o->pool, b, NULL, e) : TRA_OK;
    if (s != TRA_OK) tra_block_unpin(o->pool, b);
    return s;
}

void tra_held_save(tra_outfile *o, tra_worker *w) {
    tra_err e = {0};
    if (!o->log || !o->held) return;
    pthread_mutex_lock(&o->lock);
    bool mine = !w || !o->saving; /* what is held when a worker saves is all that will be held */
    o->saving = true;
    pthread_mutex_unlock(&o->lock);
    for (int64_t t = 0; mine && t < o->memory_type.cat->n; t++) {
        pthread_mutex_lock(&o->lock);
        tra_held h = o->held[t];
        pthread_mutex_unlock(&o->lock);
        if (!h.block || h.block->copy_fd >= 0 || pin(o, w, h.block, &e) != TRA_OK) continue;
        if (tra_spool_block(o, &h.rec, h.block, &e) == TRA_OK)
            tra_block_saved(o->pool, h.block, tra_spool_fd(o, o->comm.rank), h.rec.at, h.rec.sum);
        tra_block_unpin(o->pool, h.block);
    }
}

void tra_held_free(tra_outfile *o) {
    for (int64_t t = 0; o->held && t < o->memory_type.cat->n; t++) tra_block_release(o->pool, o->held[t].block);
    free(o->held);
}
