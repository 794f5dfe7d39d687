/* pool.c - the block pool: its budget, the list of what may be evicted, the spill file, and blocks.
 *
 * The budget is of what is used, and of what is resident: pool_memory.c has where the memory of blocks is.
 */
#include "pool_int.h"

#include "../base/crew.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

tra_pool *tra_pool_new(int64_t budget, const char *scratch) {
    tra_pool *p = tra_calloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    tra_cond_init(&p->freed);
    p->stats.budget = budget;
    p->oldest.older = p->oldest.newer = &p->oldest;
    p->fd = -1;
    p->scratch = tra_strdup(scratch);
    return p;
}

void tra_pool_large_pages(tra_pool *p) { p->large_pages = true; }

void tra_pool_free(tra_pool *p) {
    if (!p) return;
    assert(p->stats.used == 0);
    tra_pool_unmap(p);
    if (p->fd >= 0) close(p->fd);
    tra_space_free(&p->file);
    free(p->scratch);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->freed);
    free(p);
}

tra_pool_stats tra_pool_stat(tra_pool *p) {
    pthread_mutex_lock(&p->lock);
    tra_pool_stats s = p->stats;
    pthread_mutex_unlock(&p->lock);
    return s;
}

void tra_pool_set_busy(tra_pool *p, tra_pool_busy_fn *busy, tra_pool_meanwhile_fn *meanwhile, void *ctx) {
    p->busy = busy;
    p->meanwhile = meanwhile;
    p->busy_ctx = ctx;
}

void tra_pool_tell_freed(tra_pool *p) {
    p->times_freed++;
    pthread_cond_broadcast(&p->freed);
}

int64_t tra_pool_reserved(const tra_pool *p) { return tra_max64(0, p->reserved - p->taken); }

bool tra_pool_has_room(tra_pool *p, int64_t bytes, bool clean) {
    pthread_mutex_lock(&p->lock);
    int64_t used = p->stats.used + tra_pool_reserved(p) - (clean ? p->evictable_clean : p->evictable);
    bool room = used + tra_max64(TRA_PAGE, tra_block_footprint(bytes)) <= p->stats.budget;
    pthread_mutex_unlock(&p->lock);
    return room;
}

void tra_pool_wake(tra_pool *p) {
    pthread_mutex_lock(&p->lock);
    tra_pool_tell_freed(p);
    pthread_mutex_unlock(&p->lock);
}

/* ---- evicting and waiting, under the lock ---------------------------------------------------------------------- */

/* Can the contents be read again once they have left memory? */
static bool can_be_read(const tra_block *b) { return b->copy_at >= 0 || !b->dirty; }

/* Counts a block that becomes evictable (sign 1), or is no longer (-1). */
static void count_evictable(tra_pool *p, const tra_block *b, int sign) {
    int64_t n = sign * tra_block_footprint(b->allocated);
    p->evictable += n;
    if (can_be_read(b)) p->evictable_clean += n;
}

static void link_block(tra_pool *p, tra_block *b) { /* as the newest */
    b->newer = &p->oldest;
    b->older = p->oldest.older;
    p->oldest.older->newer = b;
    p->oldest.older = b;
    count_evictable(p, b, 1);
}

static void unlink_block(tra_pool *p, tra_block *b) {
    if (!b->newer) return;
    b->newer->older = b->older;
    b->older->newer = b->newer;
    b->newer = b->older = NULL;
    count_evictable(p, b, -1);
}

/* ---- spilling, under the lock ---------------------------------------------------------------------------------- */

static tra_status open_spill(tra_pool *p, tra_err *e) { /* under the lock: several may spill */
    if (p->fd >= 0) return TRA_OK;
    p->fd = tra_unnamed_file(p->scratch);
    if (p->fd >= 0) return TRA_OK;
    return tra_fail_errno(e, TRA_RESOURCE, "cannot make a scratch file in %s (choose another with --scratch)",
                          p->scratch);
}

/* Writes the block to scratch. Releases the lock while it writes, so that others can free memory and read. The block is
 * on no list meanwhile, and whoever wants to pin or free it waits (wait_until_spilled). */
static tra_status spill(tra_pool *p, tra_block *b, tra_err *e) {
    TRA_TRY(open_spill(p, e));
    int64_t n = tra_block_footprint(b->bytes), at = tra_space_take(&p->file, n);
    if (at < 0) at = p->file.end, p->file.end += n;
    p->stats.scratch = tra_max64(p->stats.scratch, p->file.end);
    b->spilling = true;
    p->spilling++;
    pthread_mutex_unlock(&p->lock);
    double from = tra_now();
    tra_status s = tra_pwrite(p->fd, b->ptr, (size_t)b->bytes, at, "the scratch file", e);
    double took = tra_now() - from;
    if (s == TRA_OK) b->sum = XXH64(b->ptr, (size_t)b->bytes, 0);
    pthread_mutex_lock(&p->lock);
    b->spilling = false;
    p->spilling--;
    tra_pool_tell_freed(p); /* wakes those who wait for the block; they go on when the lock is free */
    if (s != TRA_OK) {
        tra_space_give(&p->file, at, n);
        return s;
    }
    b->copy_at = at;
    b->verified = false;
    p->stats.spilled += b->bytes;
    p->stats.scratch_seconds += took;
    return TRA_OK;
}

static tra_status evict(tra_pool *p, tra_block *b, tra_err *e) {
    unlink_block(p, b);
    tra_status s = can_be_read(b) ? TRA_OK : spill(p, b, e);
    if (s != TRA_OK) {
        link_block(p, b);
        return s;
    }
    tra_pool_give_memory(p, b);
    b->state = TRA_BLOCK_AWAY;
    return TRA_OK;
}

/* Waits for others to free memory; the caller must look again whether there is enough. */
static void wait_for_memory(tra_pool *p) {
    int64_t before = p->times_freed;
    bool soon = false;
    pthread_mutex_unlock(&p->lock);
    bool any = p->meanwhile && p->meanwhile(p->busy_ctx, &soon);
    pthread_mutex_lock(&p->lock);
    if (any || p->times_freed > before) return;
    if (soon)
        tra_wait_for(&p->freed, &p->lock, TRA_SHORTLY);
    else
        tra_wait_briefly(&p->freed, &p->lock);
}

/* Bytes that are free or can be made free by evicting. */
static int64_t obtainable(const tra_pool *p, bool worker) {
    return p->stats.budget - p->stats.used + p->evictable - (worker ? 0 : tra_pool_reserved(p));
}

bool tra_pool_is_exhausted(tra_status s, const tra_err *e) { return s == TRA_RESOURCE && e->kind == TRA_KIND_POOL; }

static tra_status no_memory(const tra_pool *p, int64_t bytes, tra_err *e) {
    char want[32], used[32], budget[32];
    if (p->stats.used + tra_max64(TRA_PAGE, tra_block_footprint(bytes)) <= p->stats.budget - tra_pool_reserved(p))
        return tra_fail(e, TRA_RESOURCE,
                        "the system gives no memory for blocks, though the ceiling leaves %s; a limit on address "
                        "space (ulimit -v) may be in the way: lower --memory",
                        tra_human(p->stats.budget - p->stats.used, budget));
    return tra_fail_kind(e, TRA_RESOURCE, TRA_KIND_POOL,
                         TRA_POOL_OUT ": %s wanted, %s in use of %s; raise --memory", tra_human(bytes, want),
                         tra_human(p->stats.used, used), tra_human(p->stats.budget, budget));
}

/* Allocates memory for b by evicting, without waiting for others to free theirs; only spills under way are waited for.
 * If evicting everything were not enough nothing is evicted. For workers. */
static tra_status find_memory_now(tra_pool *p, tra_block *b, int64_t bytes, tra_err *e) {
    while (!tra_pool_take_memory(p, b, bytes)) {
        tra_block *old = p->oldest.newer;
        bool would_do = obtainable(p, true) >= tra_max64(TRA_PAGE, tra_block_footprint(bytes));
        if (old != &p->oldest && would_do)
            TRA_TRY(evict(p, old, e));
        else if (p->spilling > 0)
            pthread_cond_wait(&p->freed, &p->lock);
        else
            return no_memory(p, bytes, e);
    }
    return TRA_OK;
}

/* Allocates memory for b: by evicting, and by waiting for others to free theirs. */
static tra_status find_memory(tra_pool *p, tra_block *b, int64_t bytes, tra_err *e) {
    while (!tra_pool_take_memory(p, b, bytes)) {
        tra_block *old = p->oldest.newer;
        if (old != &p->oldest) {
            TRA_TRY(evict(p, old, e));
        } else if (p->spilling > 0 || (p->busy && p->busy(p->busy_ctx))) {
            wait_for_memory(p);
        } else {
            return no_memory(p, bytes, e);
        }
    }
    return TRA_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* taken: by a worker, which does not wait. */
static tra_status new_block(tra_pool *p, int64_t bytes, bool taken, tra_block **out, tra_err *e) {
    tra_block *b = tra_calloc(1, sizeof *b);
    *b = (tra_block){.bytes = bytes,
                     .state = TRA_BLOCK_HERE,
                     .pins = 1,
                     .refs = 1,
                     .dirty = true,
                     .taken = taken,
                     .copy_at = -1,
                     .copy_fd = -1};
    pthread_mutex_lock(&p->lock);
    tra_status s = taken ? find_memory_now(p, b, bytes, e) : find_memory(p, b, bytes, e);
    pthread_mutex_unlock(&p->lock);
    if (s != TRA_OK)
        free(b);
    else
        *out = b;
    return s;
}

tra_status tra_block_new(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e) {
    return new_block(p, bytes, false, out, e);
}

tra_status tra_block_take(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e) {
    return new_block(p, bytes, true, out, e);
}

static void wait_until_spilled(tra_pool *p, const tra_block *b) { /* under the lock */
    while (b->spilling) pthread_cond_wait(&p->freed, &p->lock);
}

tra_status tra_pool_reserve(tra_pool *p, int64_t bytes, tra_err *e) {
    tra_status s = TRA_OK;
    pthread_mutex_lock(&p->lock);
    while (s == TRA_OK && p->stats.used + tra_pool_reserved(p) + bytes > p->stats.budget) {
        tra_block *old = p->oldest.newer;
        if (old != &p->oldest)
            s = evict(p, old, e);
        else if (p->spilling > 0 || (p->busy && p->busy(p->busy_ctx)))
            wait_for_memory(p);
        else
            s = no_memory(p, bytes, e);
    }
    if (s == TRA_OK) p->reserved += bytes;
    pthread_mutex_unlock(&p->lock);
    return s;
}

void tra_pool_release(tra_pool *p, int64_t bytes) {
    pthread_mutex_lock(&p->lock);
    assert(bytes <= p->reserved);
    p->reserved -= bytes;
    tra_pool_tell_freed(p);
    pthread_mutex_unlock(&p->lock);
}

void tra_block_unreserve(tra_pool *p, tra_block *b) {
    pthread_mutex_lock(&p->lock);
    if (b->ptr && b->taken) p->taken -= tra_block_footprint(b->allocated);
    b->taken = false;
    pthread_mutex_unlock(&p->lock);
}

tra_block *tra_block_of_file(tra_rel *rel, int64_t ordinal, int64_t bytes, int64_t chunk_bytes, double *seconds) {
    tra_block *b = tra_calloc(1, sizeof *b);
    *b = (tra_block){.bytes = bytes,
                     .refs = 1,
                     .copy_at = -1,
                     .copy_fd = -1,
                     .rel = rel,
                     .seconds = seconds,
                     .ordinal = ordinal,
                     .chunk_bytes = chunk_bytes};
    return b;
}

tra_status tra_block_pin(tra_pool *p, tra_block *b, bool *load, tra_err *e) {
    tra_status s = TRA_OK;
    *load = false;
    pthread_mutex_lock(&p->lock);
    wait_until_spilled(p, b);
    unlink_block(p, b);
    b->drop_unpinned = b->evict_unpinned = false;
    if (b->state == TRA_BLOCK_AWAY) {
        bool unpacks = b->rel && b->copy_at < 0;
        b->state = TRA_BLOCK_LOADING; /* find_memory may wait and run exchanges: these must not load it too */
        s = find_memory(p, b, unpacks ? tra_max64(b->bytes, (int64_t)tra_rel_unpack_bytes(b->rel)) : b->bytes, e);
        if (s == TRA_OK)
            *load = true;
        else
            b->state = TRA_BLOCK_AWAY;
    }
    if (s == TRA_OK) b->pins++;
    pthread_mutex_unlock(&p->lock);
    return s;
}

static tra_status read_back(tra_pool *p, tra_block *b, tra_err *e) {
    double from = tra_now();
    TRA_TRY(
        tra_pread(b->copy_fd >= 0 ? b->copy_fd : p->fd, b->ptr, (size_t)b->bytes, b->copy_at, "the scratch file", e));
    double took = tra_now() - from;
    pthread_mutex_lock(&p->lock);
    p->stats.scratch_seconds += took;
    pthread_mutex_unlock(&p->lock);
    b->verified = b->verified || XXH64(b->ptr, (size_t)b->bytes, 0) == b->sum;
    if (b->verified) return TRA_OK;
    return tra_fail(e, TRA_RESOURCE,
                    "the scratch file in %s is damaged: the %" PRId64 " bytes at %" PRId64 " are not those that "
                    "were written; use another --scratch",
                    p->scratch, b->bytes, b->copy_at);
}

static tra_status loaded(tra_pool *p, tra_block *b, double from, tra_status s) {
    double took = b->seconds ? tra_now() - from : 0;
    pthread_mutex_lock(&p->lock);
    if (b->seconds && b->copy_at < 0) *b->seconds += took;
    if (s == TRA_OK) {
        b->state = TRA_BLOCK_HERE;
        tra_pool_trim(p, b, b->bytes);
        if (b->copy_at >= 0)
            p->stats.unspilled += b->bytes;
        else if (!b->rel || !tra_rel_is_made(tra_rel_info(b->rel)->path))
            p->stats.read += b->chunk_bytes;
    }
    pthread_mutex_unlock(&p->lock);
    return s;
}

tra_status tra_block_load(tra_pool *p, tra_block *b, void *scratch, tra_err *e) {
    double from = tra_now();
    tra_status s =
        b->copy_at >= 0 ? read_back(p, b, e)
        : b->rel        ? tra_rel_read(b->rel, b->ordinal, b->ptr, scratch, e)
                 : tra_fail(e, TRA_INTERNAL, "a block that was to be read no more is read again, and has no copy");
    return loaded(p, b, from, s);
}

bool tra_block_direct(const tra_block *b) {
    return b->copy_at < 0 && b->rel && tra_rel_can_read_direct(b->rel, b->ordinal) && (uintptr_t)b->ptr % TRA_PAGE == 0;
}

tra_status tra_block_load_direct(tra_pool *p, tra_block *b, tra_err *e) {
    double from = tra_now();
    tra_status s = loaded(p, b, from, tra_rel_read_direct(b->rel, b->ordinal, b->ptr, e));
    pthread_mutex_lock(&p->lock);
    if (s == TRA_OK) p->stats.past_cache += b->chunk_bytes;
    pthread_mutex_unlock(&p->lock);
    return s;
}

tra_status tra_block_take_back(tra_pool *p, tra_block *b, tra_err *e) {
    pthread_mutex_lock(&p->lock);
    wait_until_spilled(p, b);
    unlink_block(p, b);
    bool load = b->state == TRA_BLOCK_AWAY;
    tra_status s = load ? find_memory_now(p, b, b->bytes, e) : TRA_OK;
    if (s == TRA_OK) b->pins++;
    if (s == TRA_OK && load) b->state = TRA_BLOCK_LOADING;
    pthread_mutex_unlock(&p->lock);
    if (s != TRA_OK || !load) return s;
    s = tra_block_load(p, b, NULL, e);
    if (s != TRA_OK) tra_block_unpin(p, b);
    return s;
}

static void forget_copy(tra_pool *p, tra_block *b) {
    if (b->copy_at >= 0 && b->copy_fd < 0) tra_space_give(&p->file, b->copy_at, tra_block_footprint(b->bytes));
    b->copy_at = b->copy_fd = -1;
}

tra_block *tra_block_of_saved(int fd, int64_t at, int64_t bytes, uint64_t sum) {
    tra_block *b = tra_calloc(1, sizeof *b);
    *b = (tra_block){.bytes = bytes, .refs = 1, .dirty = true, .copy_at = at, .copy_fd = fd, .sum = sum};
    return b;
}

void tra_block_saved(tra_pool *p, tra_block *b, int fd, int64_t at, uint64_t sum) {
    pthread_mutex_lock(&p->lock);
    assert(b->pins > 0); /* else it may be being spilled */
    forget_copy(p, b);
    b->copy_at = at;
    b->copy_fd = fd;
    b->sum = sum;
    b->verified = false;
    pthread_mutex_unlock(&p->lock);
}

void tra_block_mark_dirty(tra_pool *p, tra_block *b) {
    pthread_mutex_lock(&p->lock);
    forget_copy(p, b);
    b->dirty = true;
    pthread_mutex_unlock(&p->lock);
}

void tra_block_shrink(tra_pool *p, tra_block *b, int64_t bytes) {
    pthread_mutex_lock(&p->lock);
    assert(b->state == TRA_BLOCK_HERE && b->copy_at < 0 && bytes <= b->bytes);
    tra_pool_trim(p, b, bytes);
    b->bytes = bytes;
    pthread_mutex_unlock(&p->lock);
}

void tra_block_unpin_then(tra_pool *p, tra_block *b, tra_after after) {
    pthread_mutex_lock(&p->lock);
    assert(b->pins > 0);
    b->drop_unpinned |= after == TRA_AFTER_DROP && b->refs == 1;
    b->evict_unpinned |= after == TRA_AFTER_EVICT;
    if (--b->pins == 0) {
        bool goes = (b->evict_unpinned && can_be_read(b)) || b->drop_unpinned;
        if (b->state == TRA_BLOCK_HERE && !goes) {
            link_block(p, b);
        } else { /* also when the load failed */
            tra_pool_give_memory(p, b);
            b->state = TRA_BLOCK_AWAY;
        }
        tra_pool_tell_freed(p);
    }
    pthread_mutex_unlock(&p->lock);
}

void tra_block_unpin(tra_pool *p, tra_block *b) { tra_block_unpin_then(p, b, TRA_AFTER_KEEP); }

void tra_block_share(tra_pool *p, tra_block *b) {
    pthread_mutex_lock(&p->lock);
    b->refs++;
    b->drop_unpinned = false;
    pthread_mutex_unlock(&p->lock);
}

/* pins: the most that it may have, if this is its last holder. */
static void release(tra_pool *p, tra_block *b, int pins) {
    if (!b) return;
    pthread_mutex_lock(&p->lock);
    if (--b->refs > 0) { /* its pins are those of the other holders */
        pthread_mutex_unlock(&p->lock);
        return;
    }
    wait_until_spilled(p, b);
    assert(b->pins <= pins);
    unlink_block(p, b);
    tra_pool_give_memory(p, b);
    forget_copy(p, b);
    tra_pool_tell_freed(p);
    pthread_mutex_unlock(&p->lock);
    free(b);
}

void tra_block_free(tra_pool *p, tra_block *b) { release(p, b, 1); }

void tra_block_release(tra_pool *p, tra_block *b) { release(p, b, 0); }

/* ---- cells that are yet to be made ------------------------------------------------------------------------------ */

static void *take_for(tra_taker *t, int64_t bytes) {
    tra_making *m = (tra_making *)t;
    m->e = (tra_err){0};
    m->s = m->fn(m->ctx, bytes, &m->block, &m->e);
    return m->s == TRA_OK ? m->block->ptr : NULL;
}

void tra_making_begin(tra_making *m, tra_cell *c, tra_take_fn *fn, void *ctx) {
    *m = (tra_making){.taker.take = take_for, .fn = fn, .ctx = ctx};
    c->from = &m->taker;
}

tra_status tra_making_end(tra_making *m, tra_pool *p, const tra_cell *c, tra_block **out, tra_err *e) {
    *out = m->block;
    if (m->s != TRA_OK) return *e = m->e, m->s;
    if (!m->block) return tra_fail(e, TRA_INTERNAL, "a result was not made");
    if (tra_cell_bytes(c) > m->block->bytes) return tra_fail(e, TRA_INTERNAL, "a result is larger than was counted");
    tra_block_shrink(p, m->block, tra_cell_bytes(c));
    return TRA_OK;
}
