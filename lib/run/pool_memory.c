/* pool_memory.c - where the memory of blocks is: a region of address space, whose pages become resident when they are
 * touched; slots of pages for small blocks; mappings of their own where the region is in pieces.
 *
 * What is free of the region is warm, resident from the block that had it before, or cold, not resident. A block takes
 * warm memory where one piece of it is large enough; else what has the most warm memory, and as many other warm pages
 * go back to the system, the smallest pieces first, as keep the pages of blocks and the warm ones within the budget.
 * The region has more addresses than the budget has bytes, so that a large block finds its memory in one piece.
 */
#include "pool_int.h"
#include "tuning.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = TRA_PAGE, LARGE_PAGE = 2 << 20, LINE = TRA_CACHE_LINE, SLOTS = TRA_SLOTS, SMALL = TRA_SMALL_BLOCK };

/* The first line of a page of small blocks, at most SMALL bytes, that all take as many lines: several share it. */
typedef struct slab {
    struct slab *next, *prev; /* of those with free slots */
    uint64_t free;            /* slots, a bit each */
    int64_t lines;            /* of a slot */
} slab;

static int64_t lines_of(int64_t bytes) { return tra_max64(1, tra_ceil_div(bytes, LINE)); }

/* ---- pages ----------------------------------------------------------------------------------------------------- */

/* What the system gives and takes back as a whole: its own page may be larger than PAGE, by which blocks are counted.
 */
static int64_t page_of(const tra_pool *p) {
    return p->large_pages ? LARGE_PAGE : tra_max64(PAGE, sysconf(_SC_PAGESIZE));
}

/* Address space only; pages come when they are touched. */
static void *addresses(int64_t n) {
    return mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static bool make_region(tra_pool *p) {
    int64_t page = page_of(p), least = tra_ceil_div(p->stats.budget, page) * page;
    for (int64_t n = 2 * least; n >= least && !p->region; n -= least) {
        p->mapped_bytes = n + page;
        p->mapped = addresses(p->mapped_bytes);
        if (p->mapped == MAP_FAILED) continue;
        p->region = (char *)(((uintptr_t)p->mapped + (uintptr_t)page - 1) / (uintptr_t)page * (uintptr_t)page);
        tra_space_give(&p->cold, 0, n);
    }
    if (p->region && p->large_pages) madvise(p->region, (size_t)(p->mapped_bytes - page), MADV_HUGEPAGE);
    return p->region;
}

void tra_pool_unmap(tra_pool *p) {
    if (p->region) munmap(p->mapped, (size_t)p->mapped_bytes);
    tra_space_free(&p->warm);
    tra_space_free(&p->cold);
}

/* The bytes, and the beginning, of the whole pages of an extent. */
static int64_t pages_within(int64_t page, const tra_extent *x, int64_t *from) {
    *from = tra_ceil_div(x->at, page) * page;
    return tra_max64(0, (x->at + x->n) / page * page - *from);
}

/* Gives warm pages back to the system until so many bytes were given back, or none is left. */
static void cool(tra_pool *p, int64_t bytes) {
    int64_t page = page_of(p), at, n = 0;
    while (bytes > 0) {
        const tra_extent *x = tra_space_larger(&p->warm, page, -1);
        while (x && (n = pages_within(page, x, &at)) == 0) x = tra_space_larger(&p->warm, x->n, x->at);
        if (!x) return;
        n = tra_min64(n, tra_ceil_div(tra_min64(bytes, n), page) * page);
        if (madvise(p->region + at, (size_t)n, MADV_DONTNEED) != 0) return;
        tra_space_cut(&p->warm, at, n);
        tra_space_give(&p->cold, at, n);
        p->resident -= n;
        bytes -= n;
    }
}

void tra_pool_give_back(tra_pool *p) {
    pthread_mutex_lock(&p->lock);
    cool(p, INT64_MAX);
    pthread_mutex_unlock(&p->lock);
}

/* Makes room for so many bytes more to be resident. If that does not do, since large pages are only partly free, large
 * pages are given up. */
static void keep_resident_in_budget(tra_pool *p, int64_t more) {
    cool(p, p->resident + p->outside_bytes + more - p->stats.budget);
    if (!p->large_pages || p->resident + p->outside_bytes + more <= p->stats.budget) return;
    madvise(p->region, (size_t)(p->mapped_bytes - LARGE_PAGE), MADV_NOHUGEPAGE);
    p->large_pages = false;
    cool(p, p->resident + p->outside_bytes + more - p->stats.budget);
}

/* How many of n bytes are warm; -1: they are not all free. */
static int64_t warm_bytes(tra_pool *p, int64_t at, int64_t n) {
    int64_t warm = 0;
    for (int64_t left = n; left > 0;) {
        const tra_extent *x = tra_space_find(&p->warm, at);
        bool is_warm = x && x->at <= at;
        if (!is_warm) x = tra_space_find(&p->cold, at);
        if (!x || x->at > at) return -1;
        int64_t here = tra_min64(left, x->at + x->n - at);
        warm += is_warm ? here : 0;
        left -= here;
        at += here;
    }
    return warm;
}

/* The beginning of the free extent from which n bytes are free, with the most warm ones among them; -1: there is none.
 * Looks at the largest extents, warm and cold. */
static int64_t find_window(tra_pool *p, int64_t n) {
    enum { MOST_LOOKS = 32 };
    tra_space *side[2] = {&p->warm, &p->cold};
    int64_t best = -1, most = -1;
    for (int k = 0; k < 2; k++) {
        const tra_extent *x = tra_space_smaller(side[k], INT64_MAX, INT64_MAX);
        for (int i = 0; x && i < MOST_LOOKS; i++, x = tra_space_smaller(side[k], x->n, x->at)) {
            int64_t warm = warm_bytes(p, x->at, n);
            if (warm > most || (warm == most && x->at < best)) best = x->at, most = warm;
        }
    }
    return best;
}

/* Takes these free bytes. Their cold pages become resident, and as many warm ones elsewhere go back to the system. */
static void take_window(tra_pool *p, int64_t at, int64_t n) {
    int64_t end = tra_ceil_div(at + n, page_of(p)) * page_of(p), more = 0;
    for (const tra_extent *x; (x = tra_space_find(&p->cold, at)) && x->at < end;) {
        int64_t from = x->at, bytes = tra_min64(x->n, end - from);
        tra_space_cut(&p->cold, from, bytes);
        tra_space_give(&p->warm, from, bytes);
        more += bytes;
    }
    tra_space_cut(&p->warm, at, n);
    keep_resident_in_budget(p, more);
    p->resident += more;
}

/* worker: the caller may use what is reserved for workers. */
static void *take_pages(tra_pool *p, int64_t n, bool worker, bool *mapped) {
    *mapped = false;
    if (p->stats.used + n + (worker ? 0 : tra_pool_reserved(p)) > p->stats.budget || (!p->region && !make_region(p)))
        return NULL;
    int64_t at = tra_space_take(&p->warm, n);
    bool is_warm = at >= 0;
    if (!is_warm) at = find_window(p, n);
    void *ptr = p->region + at;
    if (!is_warm && at >= 0) {
        take_window(p, at, n);
    } else if (at < 0) { /* there is room, but in pieces */
        keep_resident_in_budget(p, n);
        ptr = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (ptr == MAP_FAILED) return NULL;
        *mapped = true;
        p->outside_bytes += n;
    }
    p->stats.used += n;
    p->stats.peak = tra_max64(p->stats.peak, p->stats.used);
    return ptr;
}

static void give_pages(tra_pool *p, void *ptr, int64_t n, bool mapped) {
    if (mapped)
        munmap(ptr, (size_t)n), p->outside_bytes -= n;
    else
        tra_space_give(&p->warm, (char *)ptr - p->region, n);
    p->stats.used -= n;
}

/* ---- small blocks ---------------------------------------------------------------------------------------------- */

static uint64_t all_slots(int64_t lines) { return ((uint64_t)1 << SLOTS / lines) - 1; }

static void link_slab(tra_pool *p, slab *s) {
    slab **first = &p->slabs[s->lines];
    s->prev = NULL;
    s->next = *first;
    if (*first) (*first)->prev = s;
    *first = s;
}

static void unlink_slab(tra_pool *p, slab *s) {
    if (s->prev)
        s->prev->next = s->next;
    else
        p->slabs[s->lines] = s->next;
    if (s->next) s->next->prev = s->prev;
}

static void *take_slot(tra_pool *p, int64_t lines, bool worker) {
    slab *s = p->slabs[lines];
    bool mapped;
    if (!s) {
        s = take_pages(p, PAGE, worker, &mapped);
        if (!s) return NULL;
        assert(!mapped); /* the region has whole pages alone */
        *s = (slab){.lines = lines, .free = all_slots(lines)};
        link_slab(p, s);
    }
    int i = __builtin_ctzll(s->free);
    s->free &= s->free - 1;
    if (!s->free) unlink_slab(p, s);
    return (char *)s + LINE * (1 + i * lines);
}

static void give_slot(tra_pool *p, void *ptr) {
    slab *s = (slab *)((uintptr_t)ptr / PAGE * PAGE);
    if (!s->free) link_slab(p, s);
    s->free |= (uint64_t)1 << (((char *)ptr - (char *)s) / LINE - 1) / s->lines;
    if (s->free != all_slots(s->lines)) return;
    unlink_slab(p, s);
    give_pages(p, s, PAGE, false);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

bool tra_pool_take_memory(tra_pool *p, tra_block *b, int64_t bytes) {
    if (bytes <= SMALL)
        b->ptr = take_slot(p, lines_of(bytes), b->taken);
    else
        b->ptr = take_pages(p, tra_block_footprint(bytes), b->taken, &b->outside);
    b->allocated = bytes;
    if (b->ptr && tra_tune.fill) memset(b->ptr, 0xff, (size_t)bytes);
    if (b->ptr && b->taken) p->taken += tra_block_footprint(bytes);
    return b->ptr != NULL;
}

void tra_pool_give_memory(tra_pool *p, tra_block *b) {
    if (b->ptr && b->taken) p->taken -= tra_block_footprint(b->allocated);
    if (b->ptr && b->allocated <= SMALL)
        give_slot(p, b->ptr);
    else if (b->ptr)
        give_pages(p, b->ptr, tra_block_footprint(b->allocated), b->outside);
    b->ptr = NULL;
}

void tra_pool_trim(tra_pool *p, tra_block *b, int64_t bytes) {
    int64_t left = tra_max64(bytes, SMALL + 1), keep = tra_block_footprint(left);
    int64_t more = tra_block_footprint(b->allocated) - keep;
    if (more <= 0) return;
    give_pages(p, (char *)b->ptr + keep, more, b->outside);
    if (b->taken) p->taken -= more;
    b->allocated = left;
    tra_pool_tell_freed(p);
}

bool tra_pool_reserve_now(tra_pool *p, int64_t bytes) {
    pthread_mutex_lock(&p->lock);
    bool room = p->stats.used - p->evictable + tra_pool_reserved(p) + bytes <= p->stats.budget;
    if (room) p->reserved += bytes;
    pthread_mutex_unlock(&p->lock);
    return room;
}
