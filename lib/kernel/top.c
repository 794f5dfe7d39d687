/* top.c - the greatest or least elements of rows, in order: NaN first, ties by position. */
#include "kernel_int.h"

#include <stdlib.h>
#include <string.h>

enum { STRIP = 512 };

/* An element of a row: keys order as its elements do, the first in order has the least. */
typedef struct keyed {
    uint64_t key;
    int64_t place;
} keyed;

static const uint64_t SIGN = UINT64_C(1) << 63;

static uint64_t key_of_real(double v, bool least) {
    uint64_t bits;
    if (v != v) return 0;
    v += 0.0; /* -0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    bits = bits & SIGN ? ~bits : bits | SIGN;
    return least ? bits : ~bits;
}

static uint64_t key_of_whole(int64_t v, bool least) {
    uint64_t bits = (uint64_t)v ^ SIGN;
    return least ? bits : ~bits;
}

static inline bool before(const keyed *a, const keyed *b) {
    return a->key != b->key ? a->key < b->key : a->place < b->place;
}

static inline void swap(keyed *a, keyed *b) {
    keyed t = *a;
    *a = *b;
    *b = t;
}

/* v[0] comes after all others below it, of n. */
static void sink(keyed *v, int64_t n, int64_t at) {
    for (int64_t kid = 2 * at + 1; kid < n; at = kid, kid = 2 * at + 1) {
        if (kid + 1 < n && before(&v[kid], &v[kid + 1])) kid++;
        if (!before(&v[at], &v[kid])) return;
        swap(&v[at], &v[kid]);
    }
}

/* Puts a heap in order. */
static void order_heap(keyed *v, int64_t n) {
    while (--n > 0) {
        swap(&v[0], &v[n]);
        sink(v, n, 0);
    }
}

static void order_by_heap(keyed *v, int64_t n) {
    for (int64_t i = n / 2; i-- > 0;) sink(v, n, i);
    order_heap(v, n);
}

/* Puts elements that come before a pivot to the left of those that come after it; returns how many are on the left, of
 * n > 2 at least 1 and at most n - 1. */
static int64_t split(keyed *v, int64_t n) {
    keyed *a = &v[0], *b = &v[n / 2], *c = &v[n - 1];
    if (before(b, a)) swap(a, b);
    if (before(c, b)) swap(b, c);
    if (before(b, a)) swap(a, b);
    keyed pivot = *b;
    int64_t i = 0, j = n - 1;
    for (;;) {
        while (before(&v[i], &pivot)) i++;
        while (before(&pivot, &v[j])) j--;
        if (i >= j) return i;
        swap(&v[i++], &v[j--]);
    }
}

/* Brings the first k of n elements to the front, in order. After so many splits the rest is ordered by a heap. */
static void order_first(keyed *v, int64_t n, int64_t k, int splits) {
    enum { FEW = 12 };
    while (n > FEW && k > 0) {
        if (splits-- == 0) return order_by_heap(v, n);
        int64_t left = split(v, n);
        if (k > left) order_first(v + left, n - left, k - left, splits);
        n = left;
        k = tra_min64(k, left);
    }
    for (int64_t i = 1; i < n && k > 0; i++)
        for (int64_t j = i; j > 0 && before(&v[j], &v[j - 1]); j--) swap(&v[j], &v[j - 1]);
}

/* The keys of n elements from number `from` on. */
static void read_keys(const tra_array *a, int64_t from, int64_t n, int64_t place, bool least, keyed *to) {
    double buf[STRIP];
    bool real = tra_dtype_is_float(a->dtype);
    for (int64_t at = 0, m; at < n; at += m) {
        m = tra_min64(STRIP, n - at);
        const void *v = tra_load(a->data, a->dtype, from + at, 1, m, real ? TRA_F64 : TRA_I64, buf);
        for (int64_t i = 0; i < m; i++)
            to[at + i] = (keyed){real ? key_of_real(((const double *)v)[i], least)
                                      : key_of_whole(((const int64_t *)v)[i], least),
                                 place + at + i};
    }
}

/* Of m elements from number `from` on, the first k in order, in v, which has room for top_room of them. A few are kept
 * in a heap while the row goes by; of many, all are split. */
static bool are_few(int64_t m, int64_t k) { return k < m / 16; }
static int64_t top_room(int64_t m, int64_t k) { return are_few(m, k) ? k + STRIP : m; }

static void first_places(const tra_array *a, int64_t from, int64_t m, int64_t k, bool least, keyed *v) {
    if (!are_few(m, k)) {
        int splits = 2;
        for (int64_t n = m; n > 0; n /= 2) splits += 2;
        read_keys(a, from, m, 0, least, v);
        return order_first(v, m, k, splits);
    }
    read_keys(a, from, k, 0, least, v);
    for (int64_t i = k / 2; i-- > 0;) sink(v, k, i);
    for (int64_t at = k, n; at < m; at += n) {
        n = tra_min64(STRIP, m - at);
        read_keys(a, from + at, n, at, least, v + k);
        for (int64_t i = 0; i < n; i++) {
            if (!before(&v[k + i], &v[0])) continue;
            v[0] = v[k + i];
            sink(v, k, 0);
        }
    }
    order_heap(v, k);
}

static void copy_element(const tra_array *from, int64_t at, const tra_array *to, int64_t place) {
    size_t size = tra_dtype_size(to->dtype);
    memcpy((char *)to->data + (size_t)place * size, (const char *)from->data + (size_t)at * size, size);
}

void tra_top_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out) {
    int64_t m = a->ext.v[a->ext.n - 1], most = out->ext.v[out->ext.n - 1], rows = m ? tra_elements_of(&a->ext) / m : 0;
    const tra_array *of = b ? b : a;
    bool one_row = b && tra_elements_of(&b->ext) != tra_elements_of(&a->ext); /* the same for all rows of a */
    if (rows == 0 || most == 0) return;
    keyed *v = tra_malloc((size_t)top_room(m, most) * sizeof *v);
    for (int64_t r = 0; r < rows && !tra_cancelled(); r++) {
        first_places(a, r * m, m, most, k->fold == TRA_S_MIN, v);
        for (int64_t i = 0; i < most; i++) copy_element(of, (one_row ? 0 : r * m) + v[i].place, out, r * most + i);
    }
    free(v);
}
