/* arena.c - allocations that die together: a list of blocks, the newest of which is cut from the front. */
#include "found.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Under AddressSanitizer every allocation is a block of its own, so that an overrun does not land in its neighbour. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { FIRST_BLOCK = 1, LAST_BLOCK = 1 };
#else
enum { FIRST_BLOCK = 4 << 10, LAST_BLOCK = 1 << 20 };
#endif
enum { ALIGN = 16 };

typedef struct block {
    struct block *next;
    size_t used, cap;
    uint64_t number; /* of all blocks so far */
    void *kept;      /* what was given to the arena, so many bytes */
    size_t bytes;
    alignas(ALIGN) unsigned char data[];
} block;

struct tra_arena {
    block *top;
    size_t grow;  /* size of the next ordinary block */
    size_t bytes; /* of all blocks */
    size_t most;  /* with what was held beside them */
    uint64_t number;
    void *found; /* tra_arena_found */
};

tra_arena *tra_arena_new(void) {
    tra_arena *a = tra_malloc(sizeof *a);
    *a = (tra_arena){.grow = FIRST_BLOCK};
    return a;
}

void tra_arena_free(tra_arena *a) {
    if (!a) return;
    for (block *b = a->top, *next; b; b = next) {
        next = b->next;
        free(b->kept);
        free(b);
    }
    free(a);
}

void *tra_arena_alloc(tra_arena *a, size_t n) {
    if (n > SIZE_MAX / 2) return tra_realloc(NULL, SIZE_MAX, 2); /* goes to the handler */
    n = n ? (n + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    block *b = a->top;
    if (!b || b->cap - b->used < n) {
        size_t cap = n > a->grow ? n : a->grow;
        b = tra_calloc(1, sizeof(block) + cap);
        b->cap = cap;
        b->number = ++a->number;
        a->bytes += sizeof(block) + cap;
        /* A large allocation gets its own block and stays behind the one that still has room. */
        if (a->top && cap == n && n > a->grow / 4) {
            b->next = a->top->next;
            a->top->next = b;
        } else {
            b->next = a->top;
            a->top = b;
        }
        if (a->grow < LAST_BLOCK) a->grow *= 2;
    }
    void *p = b->data + b->used;
    b->used += n;
    return p;
}

void tra_arena_keep(tra_arena *a, void *p, size_t n) {
    block *b = tra_calloc(1, sizeof *b), **to = a->top ? &a->top->next : &a->top; /* behind what still has room */
    *b = (block){.next = *to, .kept = p, .bytes = n, .number = ++a->number};
    *to = b;
    a->bytes += n + sizeof *b;
}

/* Frees the block that *at points to. */
static void drop(tra_arena *a, block **at) {
    block *b = *at;
    *at = b->next;
    a->bytes -= sizeof *b + b->cap + b->bytes;
    free(b->kept);
    free(b);
}

void tra_arena_drop(tra_arena *a, const void *p) {
    for (block **at = &a->top; *at && p; at = &(*at)->next) {
        if ((*at)->kept != p) continue;
        drop(a, at);
        return;
    }
}

uint64_t tra_arena_mark(const tra_arena *a) { return a->number; }

void **tra_arena_found(tra_arena *a) { return &a->found; }

void tra_arena_release(tra_arena *a, uint64_t mark) {
    a->found = NULL;
    for (block **at = &a->top; *at;) {
        if ((*at)->number > mark)
            drop(a, at);
        else
            at = &(*at)->next;
    }
}

size_t tra_arena_bytes(const tra_arena *a) { return a->bytes; }

void tra_arena_beside(tra_arena *a, size_t n) { a->most = a->bytes + n > a->most ? a->bytes + n : a->most; }

size_t tra_arena_most(const tra_arena *a) { return a->bytes > a->most ? a->bytes : a->most; }

void tra_return_free_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void tra_return_large_blocks(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* the default, which malloc raises unless it is set */
#endif
}

void tra_expect_filled(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
    enum { LARGE = 2 << 20 };
    uintptr_t from = ((uintptr_t)p + LARGE - 1) / LARGE * LARGE, to = ((uintptr_t)p + n) / LARGE * LARGE;
    if (to > from) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)p;
    (void)n;
#endif
}

void *tra_arena_array(tra_arena *a, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX;
    return tra_arena_alloc(a, bytes);
}

void *tra_arena_grown(tra_arena *a, const void *v, size_t n, size_t cap, size_t size) {
    void *w = tra_arena_array(a, cap, size);
    return n > 0 ? memcpy(w, v, n * size) : w;
}

char *tra_arena_strndup(tra_arena *a, const char *s, size_t n) {
    n = strnlen(s, n);
    return memcpy(tra_arena_alloc(a, n + 1), s, n);
}
