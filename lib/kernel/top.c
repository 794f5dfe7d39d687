/* top.c - the greatest or least elements of rows, in order: NaN first, ties by position. */
#include "kernel_int.h"

#include <stdlib.h>
#include <string.h>

/* A row as numbers that order as its elements do: f64, or i64 of integers. */
typedef struct row {
    const double *real; /* NULL: whole */
    const int64_t *whole;
    bool least;
} row;

/* Does the element at i come before that at j? */
static bool before(const row *x, int64_t i, int64_t j) {
    if (!x->real) {
        int64_t a = x->whole[i], b = x->whole[j];
        return a == b ? i < j : (a > b) != x->least;
    }
    double a = x->real[i], b = x->real[j];
    if (a != a || b != b) return (a != a) == (b != b) ? i < j : a != a;
    return a == b ? i < j : (a > b) != x->least;
}

/* heap[0] comes after all others below it, of n. */
static void sink(const row *x, int64_t *heap, int64_t n, int64_t at) {
    for (int64_t kid = 2 * at + 1; kid < n; at = kid, kid = 2 * at + 1) {
        if (kid + 1 < n && before(x, heap[kid], heap[kid + 1])) kid++;
        if (!before(x, heap[at], heap[kid])) return;
        int64_t t = heap[at];
        heap[at] = heap[kid];
        heap[kid] = t;
    }
}

/* The first k places of m, in order. */
static void first_places(const row *x, int64_t m, int64_t k, int64_t *heap) {
    for (int64_t i = 0; i < k; i++) heap[i] = i;
    for (int64_t i = k / 2; i-- > 0;) sink(x, heap, k, i);
    for (int64_t i = k; i < m; i++) {
        if (!before(x, i, heap[0])) continue;
        heap[0] = i;
        sink(x, heap, k, 0);
    }
    for (int64_t n = k; n-- > 1;) {
        int64_t last = heap[0];
        heap[0] = heap[n];
        heap[n] = last;
        sink(x, heap, n, 0);
    }
}

static void copy_element(const tra_array *from, int64_t at, const tra_array *to, int64_t place) {
    size_t size = tra_dtype_size(to->dtype);
    memcpy((char *)to->data + (size_t)place * size, (const char *)from->data + (size_t)at * size, size);
}

void tra_top_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out) {
    int64_t m = a->ext.v[a->ext.n - 1], most = out->ext.v[out->ext.n - 1], rows = m ? tra_elements_of(&a->ext) / m : 0;
    bool real = tra_dtype_is_float(a->dtype);
    const tra_array *of = b ? b : a;
    bool one_row = b && tra_elements_of(&b->ext) != tra_elements_of(&a->ext); /* the same for all rows of a */
    if (rows == 0 || most == 0) return;
    int64_t *heap = tra_malloc((size_t)most * sizeof *heap);
    void *buf = tra_malloc((size_t)m * sizeof(double));
    for (int64_t r = 0; r < rows && !tra_cancelled(); r++) {
        const void *v = tra_load(a->data, a->dtype, r * m, 1, m, real ? TRA_F64 : TRA_I64, buf);
        row x = {real ? v : NULL, real ? NULL : v, k->fold == TRA_S_MIN};
        first_places(&x, m, most, heap);
        for (int64_t i = 0; i < most; i++) copy_element(of, (one_row ? 0 : r * m) + heap[i], out, r * most + i);
    }
    free(heap);
    free(buf);
}
