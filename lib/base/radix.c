/* radix.c - see radix.h. All digits have about the same width, so that there are few passes, and are shorter where the
 * items are fewer than the values of long ones; one loop counts the values of all digits; a digit that all items share
 * is left out. */
#include "radix.h"

#include <assert.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline)) /* for each size of item */

enum { BITS = 11, SHORT = 8, DIGITS = 1 << BITS, PASSES = 64 / SHORT, FEW = 64, MANY = 512 };
enum { ROOM = (64 + BITS - 1) / BITS * DIGITS }; /* counts of all digits: more than PASSES of SHORT bits */

INLINE uint64_t key_of(const char *v, int64_t i, size_t size, size_t key) {
    uint64_t k;
    memcpy(&k, v + (size_t)i * size + key, sizeof k);
    return k;
}

INLINE void sort_few(char *v, int64_t n, size_t size, size_t key) {
    char x[24];
    for (int64_t i = 1; i < n; i++) {
        uint64_t k = key_of(v, i, size, key);
        int64_t j = i;
        while (j > 0 && key_of(v, j - 1, size, key) > k) j--;
        if (j == i) continue;
        memcpy(x, v + (size_t)i * size, size);
        memmove(v + (size_t)(j + 1) * size, v + (size_t)j * size, (size_t)(i - j) * size);
        memcpy(v + (size_t)j * size, x, size);
    }
}

INLINE void scatter(const char *from, char *to, int64_t n, size_t size, size_t key, int shift, uint64_t mask,
                    int64_t *at) {
    int64_t sum = 0;
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)at[key_of(from, i, size, key) >> shift & mask]++ * size, from + (size_t)i * size, size);
}

INLINE char *sort(char *v, char *other, int64_t n, size_t size, size_t key, uint64_t bits) {
    static _Thread_local int64_t count[ROOM]; /* room that each thread has less on its stack */
    if (bits == 0) return v;
    if (n < FEW) return sort_few(v, n, size, key), v;
    int low = __builtin_ctzll(bits), top = 64 - low - __builtin_clzll(bits), most = n < MANY ? SHORT : BITS;
    int passes = (top + most - 1) / most, width = (top + passes - 1) / passes, shift[PASSES], used = 0;
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (int k = low; k < low + top; k += width) {
        if (!(bits >> k & mask)) continue;
        memset(count + ((size_t)used << width), 0, sizeof count[0] << width);
        shift[used++] = k;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = key_of(v, i, size, key);
        for (int k = 0; k < used; k++) count[((uint64_t)k << width) + (x >> shift[k] & mask)]++;
    }
    for (int k = 0; k < used; k++) {
        scatter(v, other, n, size, key, shift[k], mask, count + ((size_t)k << width));
        char *t = v;
        v = other;
        other = t;
    }
    return v;
}

void *tra_radix_sort_bits(void *v, void *other, int64_t n, size_t size, size_t key, uint64_t bits) {
    assert(size == 8 || size == 16 || size == 24);
    return size == 8    ? sort(v, other, n, 8, key, bits)
           : size == 16 ? sort(v, other, n, 16, key, bits)
                        : sort(v, other, n, 24, key, bits);
}

void *tra_radix_sort(void *v, void *other, int64_t n, size_t size, size_t key) {
    uint64_t bits = 0, last = n > 0 ? key_of(v, 0, size, key) : 0;
    bool ascends = true;
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = key_of(v, i, size, key);
        ascends &= last <= x;
        bits |= x ^ last;
        last = x;
    }
    return ascends ? v : tra_radix_sort_bits(v, other, n, size, key, bits);
}
