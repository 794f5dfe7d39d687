/* digest.c - a digest of the tensor itself: a sum over its elements that are not zero, so that blocks, holes, ranks and
 * order do not matter.
 *
 * Index and bits of an element are mixed to two independent 64-bit numbers, each of which is added up modulo 2^64.
 * Zeros of both signs add nothing, and all NaN count as one value.
 */
#include "../base/mix.h"
#include "rows.h"
#include "geometry.h"

#include "../base/simd.h"
#include "digest.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define K1 0x9e3779b97f4a7c15ULL
#define K2 0xd1b54a32d192ed03ULL

#define ROW(bits, abs, inf, nan)                                                                                       \
    uint64_t lo = 0, hi = 0;                                                                                           \
    for (size_t i = 0; i < n; i++) {                                                                                   \
        bits b = v[i];                                                                                                 \
        bits a = b & (abs);                                                                                            \
        b = a > (inf) ? (nan) : b;                                                                                     \
        uint64_t at = (each ? each[i] : index + i) + 1, w = b;                                                         \
        uint64_t keep = a != 0 ? ~(uint64_t)0 : 0;                                                                     \
        lo += tra_mix(w + at * K1) & keep;                                                                             \
        hi += tra_mix((w << 32 | w >> 32) ^ at * K2) & keep;                                                           \
    }                                                                                                                  \
    d->lo += lo;                                                                                                       \
    d->hi += hi;

/* There are no branches, so that the compiler vectorises it. The types are signed, since comparing absolute bits is
 * then one instruction everywhere. Of integers all bits count, and narrower types are widened with their sign. */
#define EACH(name, elem, loop)                                                                                         \
    case TRA_##name: {                                                                                                 \
        const elem *v = values;                                                                                        \
        loop return;                                                                                                   \
    }
#define ROW_WHOLE(name, text, ctype, ...) EACH(name, ctype, ROW(int64_t, -1, INT64_MAX, 0))
static inline __attribute__((always_inline)) void add_row(tra_digest *d, tra_dtype type, const void *values, size_t n,
                                                          uint64_t index, const uint64_t *each) {
    switch (type) {
        EACH(F64, int64_t, ROW(int64_t, 0x7fffffffffffffffLL, 0x7ff0000000000000LL, 0x7ff8000000000000LL))
        EACH(F32, int32_t, ROW(int32_t, 0x7fffffff, 0x7f800000, 0x7fc00000))
        TRA_WHOLE_DTYPES(ROW_WHOLE)
    }
}

/* The same loops for several instruction sets, which give the same values. */
#define ROW_OF(attributes, name)                                                                                       \
    attributes static void name(tra_digest *d, tra_dtype type, const void *v, size_t n, uint64_t index,                \
                                const uint64_t *each) {                                                                \
        if (each)                                                                                                      \
            add_row(d, type, v, n, 0, each);                                                                           \
        else                                                                                                           \
            add_row(d, type, v, n, index, NULL);                                                                       \
    }
#if defined(__x86_64__) && !defined(__clang__)
#define O3 __attribute__((optimize("O3")))
ROW_OF(TRA_TARGET_AVX512 O3, row_avx512)
ROW_OF(TRA_TARGET_AVX2 O3, row_avx2)
ROW_OF(O3, row_base)
#else
ROW_OF(, row_base)
#define row_avx512 row_base
#define row_avx2   row_base
#endif

/* n elements; each: their indices; NULL: index, index + 1, ... */
static void row(tra_digest *d, tra_dtype type, const char *v, size_t n, uint64_t index, const uint64_t *each) {
    switch (tra_simd_here()) {
    case TRA_SIMD_AVX512: row_avx512(d, type, v, n, index, each); return;
    case TRA_SIMD_AVX2: row_avx2(d, type, v, n, index, each); return;
    case TRA_SIMD_BASE: row_base(d, type, v, n, index, each); return;
    }
}

struct tra_digester {
    tra_type type;
    tra_geom g;
    uint64_t stride[TRA_MAXDIM + 1]; /* stride[i + 1]: of dimension i, in elements */
    bool turned;                     /* arrays are given transposed */
};

tra_digester *tra_digester_new(const tra_type *type) {
    tra_digester *w = tra_calloc(1, sizeof *w);
    w->type = *type;
    if (tra_geom_of(type, &w->g, NULL) != TRA_OK) w->type.cat = NULL; /* no such relation can be stored */
    int n = w->g.dims.n;
    w->stride[n] = 1;
    for (int i = n - 1; i >= 0; i--) w->stride[i] = w->stride[i + 1] * (uint64_t)w->g.dims.v[i];
    return w;
}

tra_digester *tra_digester_of_turned(const tra_type *type) {
    tra_digester *w = tra_digester_new(type);
    w->turned = true;
    return w;
}

void tra_digester_free(tra_digester *w) { free(w); }

/* Indices of the first elements of rows, of an array of more dimensions than two: these come instead of numbers. */
static void begin_rows(const tra_dims *lead, const uint64_t *step, int64_t *number, int64_t n) {
    uint64_t begin = 0;
    tra_dims at;
    for (int64_t i = 0, last = -1; i < n; i++) {
        if (number[i] != last) {
            tra_unlinear(lead, last = number[i], &at);
            begin = 0;
            for (int a = 0; a < lead->n; a++) begin += (uint64_t)at.v[a] * step[a];
        }
        number[i] = (int64_t)begin;
    }
}

TRA_ANY_TARGET __attribute__((optimize("O3"))) static void find_indices(const int64_t *number, const uint32_t *column,
                                                                        int64_t n, uint64_t index, uint64_t across,
                                                                        uint64_t along, uint64_t *each) {
    for (int64_t i = 0; i < n; i++) each[i] = index + (uint64_t)number[i] * across + column[i] * along;
}

/* The entries of a cell of tra_rows whose array begins at the index, a strip of them at a time. */
static void add_rows(const tra_digester *w, tra_digest *d, const tra_cell *cell, uint64_t index) {
    enum { STRIP = 1024 };
    const uint64_t *step = w->stride + w->g.lead + 1;
    int64_t number[STRIP + TRA_ROWS_SPARE];
    uint64_t each[STRIP], along = w->turned ? step[0] : 1;
    tra_rows_view v = tra_rows_of(cell);
    tra_dims lead = cell->array.ext;
    if (lead.n > 0) lead.n--;
    uint64_t across = lead.n != 1 || w->turned ? lead.n > 0 : step[0];
    for (int64_t k = 0, n, r = 0; k < v.n; k += n) {
        n = tra_min64(STRIP, v.n - k);
        r = tra_rows_numbers(&v, r, k, n, number);
        if (lead.n > 1) begin_rows(&lead, step, number, n);
        find_indices(number, v.column + k, n, index, across, along, each);
        row(d, w->type.dtype, v.value + (size_t)k * v.size, (size_t)n, 0, each);
    }
}

void tra_digester_add(const tra_digester *w, tra_digest *d, int64_t ordinal, const void *data) {
    const tra_geom *g = &w->g;
    tra_dims key, ext;
    int64_t off[TRA_MAXDIM];
    if (!w->type.cat) return;
    tra_catalog_key(w->type.cat, ordinal, &key);
    tra_catalog_ext(w->type.cat, ordinal, &ext);
    tra_geom_offset(g, &key, off);
    uint64_t index = 0;
    for (int i = 0; i < g->dims.n; i++) index += (uint64_t)off[i] * w->stride[i + 1];
    if (w->type.layout) {
        tra_cell cell = tra_cell_new(&w->type, ordinal, (void *)(uintptr_t)data);
        add_rows(w, d, &cell, index);
        return;
    }
    for (int a = 0; a < ext.n; a++) {
        if (ext.v[a] == 0) return;
    }
    /* trailing dimensions that the array spans as a whole are one run of indices */
    const uint64_t *step = w->stride + g->lead + 1;
    tra_dims outer = ext;
    size_t run = 1;
    while (outer.n > 0) {
        int a = --outer.n;
        run *= (size_t)ext.v[a];
        if (ext.v[a] != g->dims.v[g->lead + a]) break;
    }
    tra_dims at = {.n = outer.n};
    const char *v = data;
    do {
        uint64_t from = index;
        for (int a = 0; a < outer.n; a++) from += (uint64_t)at.v[a] * step[a];
        row(d, w->type.dtype, v, run, from, NULL);
        v += run * tra_dtype_size(w->type.dtype);
    } while (tra_next(&outer, &at));
}

void tra_digest_array(tra_digest *d, const tra_type *type, int64_t ordinal, const void *data) {
    tra_digester *w = tra_digester_new(type);
    tra_digester_add(w, d, ordinal, data);
    tra_digester_free(w);
}

void tra_digest_element(tra_digest *d, tra_dtype type, const void *element, uint64_t index) {
    row(d, type, element, 1, index, NULL);
}

void tra_digest_add(tra_digest *d, const tra_digest *part) {
    d->lo += part->lo;
    d->hi += part->hi;
}

void tra_digest_text(const tra_digest *d, const tra_type *type, char text[33]) {
    tra_dims dims, chunk;
    bool tuple;
    struct {
        uint64_t lo, hi;
        char type[8];
        int64_t n, dims[TRA_MAXDIM];
    } all = {.lo = d->lo, .hi = d->hi};
    tra_store_layout(type, &dims, &chunk, &tuple);
    snprintf(all.type, sizeof all.type, "%s", tra_dtype_name(type->dtype));
    all.n = dims.n;
    memcpy(all.dims, dims.v, (size_t)dims.n * sizeof dims.v[0]);
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, XXH64(&all, sizeof all, 1), XXH64(&all, sizeof all, 2));
}
