/* output_held.c - arrays of outputs that wait until all are counted and have places: as blocks of the pool, which
 * spills them where room is needed, so that most results are written to disk once, and only there. Where memory is
 * short they are written to scratch at once, and leave. A large array may come in panels (grow.h), each a block of its
 * own, which always do.
 *
 * A run that is killed loses what is in memory. So with a journal arrays wait there for the seconds of a checkpoint
 * only: then they are saved, and what comes later is saved at once. They are saved too when the run is stopped.
 */
#include "../model/rows.h"
#include "output_int.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <xxhash.h>

enum { SAVED_PANELS = 1 }; /* in the mask of a record: what was saved is a list of the array's panels */

/* Where a panel is saved, and its checksum. */
typedef struct saved_panel {
    int64_t at, len;
    uint64_t sum;
} saved_panel;

/* ---- to scratch -------------------------------------------------------------------------------------------------- */

tra_status tra_held_write(tra_outfile *o, tra_saved *rec, const void *bytes, int64_t n, tra_err *e) {
    rec->at = tra_spool_reserve(o, n);
    rec->len = n;
    rec->sum = XXH64(bytes, (size_t)n, 0);
    rec->file = o->comm.rank;
    return tra_pwrite(tra_spool_fd(o, rec->file), bytes, (size_t)n, rec->at, "the scratch file", e);
}

static tra_status save_block(tra_outfile *o, tra_block *b, tra_err *e) {
    tra_saved at;
    if (b->copy_fd >= 0) return TRA_OK;
    TRA_TRY(tra_held_write(o, &at, b->ptr, b->bytes, e));
    tra_block_saved(o->pool, b, tra_spool_fd(o, at.file), at.at, at.sum);
    return TRA_OK;
}

/* Adds an array to the journal if all of its blocks have been saved. */
static tra_status note(tra_outfile *o, tra_held *x, tra_err *e) {
    saved_panel *list = tra_calloc((size_t)x->n, sizeof *list);
    tra_status s = TRA_OK;
    bool all = o->log && !x->saved;
    for (int i = 0; i < x->n; i++) {
        list[i] = (saved_panel){x->v[i]->copy_at, x->v[i]->bytes, x->v[i]->sum};
        all = all && x->v[i]->copy_fd >= 0;
    }
    x->rec.mask = x->n > 1 ? SAVED_PANELS : 0;
    x->rec.at = list[0].at, x->rec.len = list[0].len, x->rec.sum = list[0].sum;
    x->rec.file = o->comm.rank;
    if (all && x->n > 1) s = tra_held_write(o, &x->rec, list, x->n * (int64_t)sizeof *list, e);
    if (all && s == TRA_OK) tra_log_add(o->log, &x->rec);
    x->saved |= all;
    free(list);
    return s;
}

static tra_status take_back(void *ctx, tra_err *e) {
    void **x = ctx;
    return tra_block_take_back(x[0], x[1], e);
}

tra_status tra_held_pin(tra_outfile *o, tra_worker *w, tra_block *b, tra_err *e) {
    bool load;
    if (w) return tra_engine_retry(w, take_back, (void *[]){o->pool, b}, e);
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
        tra_held *x = &o->held[t], now = *x;
        pthread_mutex_unlock(&o->lock);
        tra_status s = TRA_OK;
        if (now.n == 0 || now.saved) continue;
        for (int i = 0; i < x->n && s == TRA_OK; i++) {
            if (x->v[i]->copy_fd >= 0) continue;
            /* it does not wait for memory, which other workers may not give back */
            s = w ? tra_block_take_back(o->pool, x->v[i], &e) : tra_held_pin(o, NULL, x->v[i], &e);
            if (s != TRA_OK) break;
            s = save_block(o, x->v[i], &e);
            tra_block_unpin(o->pool, x->v[i]);
        }
        if (s == TRA_OK) (void)(note(o, x, &e) == TRA_OK);
    }
}

/* ---- arrays that come -------------------------------------------------------------------------------------------- */

/* May a block wait in memory alone? The plan limits the bytes that may. Half of the memory stays for the computation,
 * so that results do not evict what it reads again. */
static bool may_stay(tra_outfile *o, tra_worker *w, const tra_block *b) {
    bool due = o->log && tra_now() >= o->due;
    if (due) tra_held_save(o, w);
    if (due || !tra_pool_has_room(o->pool, tra_pool_stat(o->pool).budget / 2, true)) return false;
    return atomic_fetch_add(&o->waiting, b->bytes) <= o->waits - b->bytes;
}

/* Takes a pinned block of an array; it is freed where that fails. A panel leaves memory at once: of an array that comes
 * so a plan has room for little more. */
static tra_status hold(tra_outfile *o, tra_worker *w, tra_held *x, tra_block *b, bool panel, tra_err *e) {
    bool stays = !panel && may_stay(o, w, b);
    tra_status s = stays ? TRA_OK : save_block(o, b, e);
    if (s != TRA_OK) {
        tra_block_free(o->pool, b);
        return s;
    }
    TRA_ROOM(x->v, x->n, x->cap);
    x->v[x->n++] = b;
    tra_block_unreserve(o->pool, b);
    tra_block_unpin_then(o->pool, b, stays ? TRA_AFTER_KEEP : TRA_AFTER_EVICT);
    return TRA_OK;
}

static void release(tra_outfile *o, tra_held *x) {
    for (int i = 0; i < x->n; i++) tra_block_release(o->pool, x->v[i]);
    free(x->v);
    *x = (tra_held){0};
}

tra_status tra_held_end(tra_outfile *o, tra_held *x, tra_status s, tra_err *e) {
    if (s == TRA_OK) s = note(o, x, e);
    if (s != TRA_OK) {
        release(o, x);
        return s;
    }
    pthread_mutex_lock(&o->lock);
    o->held[x->rec.ordinal] = *x;
    o->tuple_flags[x->rec.ordinal] |= TRA_TUPLE_WRITTEN;
    pthread_mutex_unlock(&o->lock);
    return TRA_OK;
}

tra_status tra_held_put(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e) {
    tra_held x = {.rec = *rec};
    tra_status s = o->sink->count(o, w, rec->ordinal, b, e);
    if (s != TRA_OK) {
        tra_block_free(o->pool, b);
        return s;
    }
    return tra_held_end(o, &x, hold(o, w, &x, b, false, e), e);
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

struct tra_panels_writing {
    tra_outfile *o;
    tra_worker *w;
    tra_held held;
    int64_t bytes;
    tra_stored_counting *count;
};

bool tra_outlet_takes_panels(const tra_outlet *s) {
    const tra_outfile *o = s->file;
    return o && o->levels && tra_levels_in_order(o->levels) && o->memory_type.layout == &tra_rows;
}

tra_panels_writing *tra_outlet_begin_panels(tra_outlet *s, tra_worker *w, int64_t t) {
    tra_panels_writing *x = tra_calloc(1, sizeof *x);
    tra_cell whole = tra_cell_new(&s->file->memory_type, t, NULL);
    *x = (tra_panels_writing){.o = s->file, .w = w, .held.rec.ordinal = t};
    x->count = tra_stored_count_begin(x->o->levels, &x->o->memory_type.cat->bound, &whole);
    return x;
}

tra_status tra_outlet_put_panel(tra_panels_writing *x, tra_block *b, tra_err *e) {
    tra_cell panel = tra_cell_new(&x->o->memory_type, x->held.rec.ordinal, b->ptr);
    if (x->o->digester) tra_digester_add(x->o->digester, &x->held.rec.digest, x->held.rec.ordinal, panel.head);
    tra_stored_count_panel(x->count, &panel);
    x->bytes += b->bytes;
    return hold(x->o, x->w, &x->held, b, true, e);
}

tra_status tra_outlet_end_panels(tra_panels_writing *x, tra_status s, tra_err *e) {
    tra_outfile *o = x->o;
    tra_thread_tally *tally = &o->tallies[x->w->id];
    tra_stored_count_end(x->count, o->counts + x->held.rec.ordinal * o->ncounts);
    if (s == TRA_OK) {
        tally->arrays++;
        tally->bytes += x->bytes;
        tra_digest_add(&tally->digest, &x->held.rec.digest);
    }
    s = tra_held_end(o, &x->held, s, e);
    free(x);
    return s;
}

/* ---- what an earlier run left ------------------------------------------------------------------------------------ */

static tra_status count_block(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, void *ctx, tra_err *e) {
    tra_cell c;
    if (!ctx) return o->sink->count(o, w, t, b, e);
    TRA_TRY(tra_cell_of(&o->memory_type, t, b->ptr, b->bytes, &c, e));
    tra_stored_count_panel(ctx, &c);
    return TRA_OK;
}

/* Counts an array again. */
static tra_status recount(tra_outfile *o, tra_worker *w, tra_held *x, bool panels, tra_err *e) {
    if (!panels) return tra_held_each(o, w, x, TRA_AFTER_EVICT, count_block, NULL, e);
    tra_cell whole = tra_cell_new(&o->memory_type, x->rec.ordinal, NULL);
    tra_stored_counting *count = tra_stored_count_begin(o->levels, &o->memory_type.cat->bound, &whole);
    tra_status s = tra_held_each(o, w, x, TRA_AFTER_EVICT, count_block, count, e);
    tra_stored_count_end(count, o->counts + x->rec.ordinal * o->ncounts);
    return s;
}

tra_status tra_held_take(tra_outfile *o, tra_worker *w, int fd, const tra_saved *s, bool *taken, tra_err *e) {
    bool panels = s->mask & SAVED_PANELS;
    int64_t n = panels ? s->len / (int64_t)sizeof(saved_panel) : 1, most = tra_pool_stat(o->pool).budget / 2;
    saved_panel one = {s->at, s->len, s->sum}, *list = panels ? tra_malloc((size_t)s->len + 1) : &one;
    tra_held x = {.rec = *s, .saved = true, .cap = (int)n, .v = tra_calloc((size_t)n + 1, sizeof *x.v)};
    tra_status st = panels ? tra_pread(fd, list, (size_t)s->len, s->at, "the scratch file", e) : TRA_OK;
    /* one that was made with more memory is made again */
    for (*taken = st == TRA_OK; *taken && x.n < n; x.v[x.n++] = tra_block_of_saved(fd, one.at, one.len, one.sum)) {
        one = list[x.n];
        *taken = one.len > 0 && one.len <= most && (!panels || tra_file_matches(fd, one.at, one.len, one.sum));
        if (!*taken) break;
    }
    if (*taken) st = recount(o, w, &x, panels, e);
    if (panels) free(list);
    if (*taken && st == TRA_OK) return tra_held_end(o, &x, st, e);
    release(o, &x);
    return st;
}

/* ---- from where they wait to their places ------------------------------------------------------------------------ */

tra_status tra_held_each(tra_outfile *o, tra_worker *w, tra_held *x, tra_after after, tra_held_fn *fn, void *ctx,
                         tra_err *e) {
    tra_status s = TRA_OK;
    for (int i = 0; i < x->n && s == TRA_OK; i++) {
        TRA_TRY(tra_held_pin(o, w, x->v[i], e));
        s = fn(o, w, x->rec.ordinal, x->v[i], ctx, e);
        tra_block_unpin_then(o->pool, x->v[i], after);
    }
    return s;
}

static tra_status write_one(void *ctx, int64_t t, tra_worker *w, tra_err *e) {
    tra_outfile *o = ctx;
    if (o->held[t].n == 0) return TRA_OK;
    if (o->log) TRA_TRY(tra_stop_check(e)); /* what waits is saved */
    return o->sink->write(o, w, &o->held[t], e);
}

tra_status tra_held_place(tra_outfile *o, tra_err *e) {
    tra_status s = TRA_OK;
    tra_comm_sum(&o->comm, o->counts, o->file_type.cat->n * o->ncounts);
    if (o->file_type.columns) {
        o->rows_before = tra_calloc((size_t)o->file_type.cat->n + 1, sizeof *o->rows_before);
        for (int64_t t = 0; t < o->file_type.cat->n; t++) o->rows_before[t + 1] = o->rows_before[t] + o->counts[t];
        s = tra_strings_cut(o, e);
        if (s == TRA_OK) s = tra_string_words_new(o->file_type.columns, o->scratch, &o->words, e);
        s = tra_comm_agree(&o->comm, s, e);
    }
    if (s == TRA_OK && (o->comm.rank == 0 || o->counted)) s = o->sink->place(o, e);
    s = tra_comm_agree(&o->comm, s, e);
    if (s == TRA_OK && o->comm.size > 1 && o->joined_fd < 0) s = tra_comm_agree(&o->comm, tra_outfile_share(o, e), e);
    if (s == TRA_OK) s = tra_engine_each(o->engine, o->memory_type.cat->n, 0, write_one, o, e);
    for (int64_t t = 0; t < o->memory_type.cat->n; t++) release(o, &o->held[t]);
    return tra_comm_agree(&o->comm, s, e);
}

void tra_held_free(tra_outfile *o) {
    for (int64_t t = 0; o->held && t < o->memory_type.cat->n; t++) release(o, &o->held[t]);
    free(o->held);
}
