/* pool_memory.c - where the memory of blocks is: a region of address space, whose pages become resident when they are
 * touched; slots of pages for small blocks; mappings of their own where the region is in pieces.
 *
 * Memory that was given back stays resident for the next block to take, as far as there is room. When region and
 * mappings together come to more than the budget, free pages of the region go back to the system.
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
static bool make_region(tra_pool *p) {
    p->region_bytes = p->stats.budget / PAGE * PAGE;
    p->mapped_bytes = p->region_bytes + page_of(p);
    p->mapped =
        mmap(NULL, (size_t)p->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->mapped == MAP_FAILED) return false;
    p->region =
        (char *)(((uintptr_t)p->mapped + (uintptr_t)page_of(p) - 1) / (uintptr_t)page_of(p) * (uintptr_t)page_of(p));
    p->touched = tra_calloc((size_t)(p->mapped_bytes / PAGE), sizeof *p->touched);
    if (p->large_pages) madvise(p->region, (size_t)p->region_bytes, MADV_HUGEPAGE);
    tra_space_give(&p->mem, 0, p->region_bytes);
    return true;
}

void tra_pool_unmap(tra_pool *p) {
    if (p->region) munmap(p->mapped, (size_t)p->mapped_bytes);
    free(p->touched);
    free(p->mem.v);
}

/* Touching any of a large page makes all of it resident. */
static void touch(tra_pool *p, int64_t at, int64_t n) {
    int64_t page = page_of(p), from = at / page * page, to = tra_ceil_div(at + n, page) * page;
    for (int64_t i = from / PAGE; i < tra_min64(to, p->region_bytes) / PAGE; i++) {
        p->resident += p->touched[i] ? 0 : PAGE;
        p->touched[i] = true;
    }
    p->touched_end = tra_max64(p->touched_end, tra_min64(to, p->region_bytes));
}

/* Gives whole pages of the region that are free back to the system. */
static void release_free(tra_pool *p) {
    int64_t page = page_of(p);
    for (int i = 0; i < p->mem.n; i++) {
        int64_t from = tra_ceil_div(p->mem.v[i].at, page) * page, end = p->mem.v[i].at + p->mem.v[i].n;
        int64_t to = tra_min64(end, p->touched_end) / page * page; /* what lies beyond was never touched */
        if (from >= to) continue;
        if (madvise(p->region + from, (size_t)(to - from), MADV_DONTNEED) != 0) continue; /* it stays resident */
        for (int64_t k = from / PAGE; k < to / PAGE; k++) {
            p->resident -= p->touched[k] ? PAGE : 0;
            p->touched[k] = false;
        }
    }
}

void tra_pool_give_back(tra_pool *p) {
    pthread_mutex_lock(&p->lock);
    release_free(p);
    pthread_mutex_unlock(&p->lock);
}

static bool too_much(const tra_pool *p) { return p->resident + p->outside_bytes > p->stats.budget; }

/* Allocated blocks are always within the budget; with freed pages that are still resident the process may exceed it,
 * and then returns these. If that is not enough, since large pages are only partly free, it gives up large pages. */
static void keep_resident_in_budget(tra_pool *p) {
    if (too_much(p)) release_free(p);
    if (too_much(p) && p->large_pages) {
        madvise(p->region, (size_t)p->region_bytes, MADV_NOHUGEPAGE);
        p->large_pages = false;
        release_free(p);
    }
}

/* worker: the caller may use what is reserved for workers. */
static void *take_pages(tra_pool *p, int64_t n, bool worker, bool *mapped) {
    *mapped = false;
    if (p->stats.used + n + (worker ? 0 : tra_pool_reserved(p)) > p->stats.budget || (!p->region && !make_region(p)))
        return NULL;
    int64_t at = tra_space_take(&p->mem, n);
    void *ptr = p->region + at;
    if (at >= 0) {
        touch(p, at, n);
    } else { /* there is room, but in pieces */
        ptr = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (ptr == MAP_FAILED) return NULL;
        *mapped = true;
        p->outside_bytes += n;
    }
    keep_resident_in_budget(p);
    p->stats.used += n;
    p->stats.peak = tra_max64(p->stats.peak, p->stats.used);
    return ptr;
}

static void give_pages(tra_pool *p, void *ptr, int64_t n, bool mapped) {
    if (mapped)
        munmap(ptr, (size_t)n), p->outside_bytes -= n;
    else
        tra_space_give(&p->mem, (char *)ptr - p->region, n);
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
