/* masked.c - see masked.h. Where the rows of the inner matrix are shared coordinates, products of a row of the outer
 * one are added up in the entries of the mask's row, which are found by their place. Where its rows are places, each
 * entry of the mask is the product of a row of the inner matrix and that of the outer one, whose entries are found. */
#include "masked.h"

#include "parallel_sums.h"
#include "matmul_fold.h"

#include <math.h>
#include <string.h>

enum {
    TABLE = 1 << 10,    /* entries that a table of places holds, */
    SLOTS = 16 * TABLE, /* in so many slots */
    NEARBY = 1 << 13,   /* places for which an array is as fast as a table */
    WIDE = 1 << 21,     /* places that an array has at most */
    NEAR = 8,           /* entries that a prefetch comes before its use */
    LARGE = 1 << 17     /* entries that no cache holds: they are prefetched */
};
#define EMPTY UINT32_MAX

/* How the entries of a row are found by their column. */
typedef enum way {
    RANGE, /* they are all of a range */
    TABLED,
    FLAT, /* in an array of the columns between the first and the last */
    SEARCHED
} way;

typedef struct row_set {
    way way;
    const uint32_t *column;
    int64_t n, span;
    uint32_t *key, *at, mask;
    uint32_t *flat; /* numbers of entries, from 1; all are 0 between two rows */
} row_set;

static inline uint32_t slot_of(uint32_t column, uint32_t mask) { return ((column * 0x9E3779B1u) >> 15) & mask; }

static void set_open(row_set *s, const uint32_t *column, int64_t n) {
    s->column = column;
    s->n = n;
    s->span = (int64_t)column[n - 1] - column[0] + 1;
    s->way = s->span == n                                          ? RANGE
             : s->span <= NEARBY || (n > TABLE && s->span <= WIDE) ? FLAT
             : n <= TABLE                                          ? TABLED
                                                                   : SEARCHED;
    if (s->way == FLAT)
        for (int64_t i = 0; i < n; i++) s->flat[column[i] - column[0]] = (uint32_t)i + 1;
    if (s->way != TABLED) return;
    for (s->mask = 63; s->mask < 8 * n;) s->mask = 2 * s->mask + 1;
    memset(s->key, 255, (s->mask + 1) * sizeof *s->key);
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = slot_of(column[i], s->mask);
        while (s->key[slot] != EMPTY) slot = (slot + 1) & s->mask;
        s->key[slot] = column[i];
        s->at[slot] = (uint32_t)i;
    }
}

static void set_close(row_set *s) {
    if (s->way != FLAT) return;
    for (int64_t i = 0; i < s->n; i++) s->flat[s->column[i] - s->column[0]] = 0;
}

/* The number of the entry in the column; -1: there is none. */
static inline __attribute__((always_inline)) int64_t set_find(const row_set *s, way w, uint32_t column) {
    uint32_t d = column - s->column[0];
    if (w == RANGE) return d < (uint64_t)s->n ? (int64_t)d : -1;
    if (w == FLAT) return d < (uint64_t)s->span ? (int64_t)s->flat[d] - 1 : -1;
    if (w == TABLED) {
        uint32_t slot = slot_of(column, s->mask);
        while (s->key[slot] != column) {
            if (s->key[slot] == EMPTY) return -1;
            slot = (slot + 1) & s->mask;
        }
        return s->at[slot];
    }
    int64_t i = 0, n = s->n;
    TRA_BISECT(i, n, mid, s->column[mid] < column);
    return i < s->n && s->column[i] == column ? i : -1;
}

/* ---- room ------------------------------------------------------------------------------------------------------ */

static bool has_numbers(int64_t inner_rows, int64_t entries) {
    return inner_rows <= tra_max64(1 << 16, tra_mul_most(16, entries));
}

int64_t tra_masked_room(int64_t inner_rows, int64_t entries) {
    return tra_round64(4 * tra_min64(inner_rows, tra_max64(1 << 16, tra_mul_most(16, entries))));
}

int64_t tra_masked_scratch(int64_t most, int64_t columns) {
    int64_t sums = tra_add_most(tra_round64(tra_mul_most(8, most)), tra_round64(tra_mul_most(4, most)));
    return tra_add_most(sums, 8 * SLOTS + tra_round64(4 * tra_min64(columns, WIDE)));
}

void tra_masked_begin(tra_masked *m, void *room) {
    const tra_rows_view *b = &m->inner;
    m->all_there = b->nrows == m->inner_rows;
    m->inner_number = m->all_there || !has_numbers(m->inner_rows, b->n) ? NULL : room;
    if (!m->inner_number) return;
    memset(m->inner_number, 0, (size_t)m->inner_rows * sizeof *m->inner_number);
    for (int64_t q = 0; q < b->nrows; q++) m->inner_number[b->row[q]] = (uint32_t)(q + 1);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

typedef struct piece {
    const tra_masked *m;
    tra_masked_result *out;
    row_set set;
    void *sum;       /* of each entry of the mask's row, */
    uint32_t *taken; /* and how many products were folded */
    bool far;        /* prefetch */
} piece;

static inline int64_t inner_row(const tra_masked *m, uint32_t number) {
    if (m->inner_number) return (int64_t)m->inner_number[number] - 1;
    if (m->all_there) return number;
    int64_t q = tra_rows_from(&m->inner, number);
    return q < m->inner.nrows && m->inner.row[q] == number ? q : -1;
}

/* Asks for what entries after entry k, of n, lead to in the inner matrix. */
static inline void ahead(const piece *p, const uint32_t *column, int64_t k, int64_t n) {
    const tra_masked *m = p->m;
    if (!p->far || k + 4 * NEAR >= n) return;
    if (m->inner_number) __builtin_prefetch(&m->inner_number[column[k + 4 * NEAR]]);
    __builtin_prefetch(&m->inner.begin[inner_row(m, column[k + 2 * NEAR]) + 1]);
    int64_t q = inner_row(m, column[k + NEAR]);
    if (q < 0) return;
    int64_t i = m->inner.begin[q], to = m->inner.begin[q + 1];
    __builtin_prefetch(&m->inner.column[i]);
    if (to - i > 8) __builtin_prefetch(&m->inner.column[i + 8]);
}

/* The part of a row of the inner matrix that may meet the set. */
static inline void narrow(const piece *p, int64_t q, int64_t *from, int64_t *to) {
    enum { SHORT = 32 };
    const tra_rows_view *b = &p->m->inner;
    const row_set *s = &p->set;
    *from = b->begin[q];
    *to = b->begin[q + 1];
    if (*to - *from <= SHORT) return;
    if (b->column[*from] < s->column[0]) *from = tra_rows_entry(b, q, s->column[0]);
    if (b->column[*to - 1] > s->column[s->n - 1]) *to = tra_rows_entry(b, q, (int64_t)s->column[s->n - 1] + 1);
}

/* Is a part of a row of the inner matrix so much longer than the set that each of the set is sought in it? */
static inline bool is_long(const piece *p, int64_t n) {
    enum { LONGER = 32 };
    return n > LONGER * p->set.n;
}

/* The first of these entries that is not before the column; to: there is none. */
static inline int64_t entry_from(const uint32_t *column, int64_t from, int64_t to, uint32_t c) {
    TRA_BISECT(from, to, mid, column[mid] < c);
    return from;
}

static void put(tra_masked_result *o, int64_t row, uint32_t place, const void *value, bool real) {
    double f = 0;
    int64_t i = 0;
    if (real)
        memcpy(&f, value, sizeof f);
    else
        memcpy(&i, value, sizeof i);
    if (o->dense) {
        int64_t at = row * o->by[0] + place * o->by[1];
        if (o->type == TRA_F64)
            ((double *)o->dense)[at] += f;
        else if (o->type == TRA_F32)
            ((float *)o->dense)[at] += (float)f;
        else
            tra_overflow |= __builtin_add_overflow(((int64_t *)o->dense)[at], i, &((int64_t *)o->dense)[at]);
        return;
    }
    float g = (float)f;
    if (o->type == TRA_F32 && g == 0) return;
    if (o->rows) {
        size_t size = tra_dtype_size(o->type);
        o->rows->column[o->n] = place;
        memcpy(o->rows->value + (size_t)o->n * size, o->type == TRA_F32 ? (const void *)&g : value, size);
    }
    o->n++;
}

/* A factor that is 0 annihilates: adding -0 changes nothing. */
static inline double product_f64(double x, double y) { return y != 0 ? x * y : -0.0; }
static inline int64_t product_i64(int64_t x, int64_t y) { return times_i64(x, y); }

#define T       double
#define CALL(f) f##_f64
#define NAME(f) f##_f64_add
#include "masked_body.h"
#define NAME(f)    f##_f64_max
#define FOLD(a, b) LARGER(a, b)
#include "masked_body.h"
#define NAME(f)    f##_f64_min
#define FOLD(a, b) SMALLER(a, b)
#include "masked_body.h"
#undef T
#undef CALL
#define T       int64_t
#define CALL(f) f##_i64
#define NAME(f) f##_i64_add
#include "masked_body.h"
#define NAME(f)    f##_i64_max
#define FOLD(a, b) LARGER(a, b)
#include "masked_body.h"
#define NAME(f)    f##_i64_min
#define FOLD(a, b) SMALLER(a, b)
#include "masked_body.h"

/* The row at place r of the mask, and that of the outer matrix. */
static void one_row(piece *p, int64_t r, int64_t outer) {
    switch (p->m->fold) {
    case TRA_S_MAX: (p->m->real ? one_row_f64_max : one_row_i64_max)(p, r, outer); break;
    case TRA_S_MIN: (p->m->real ? one_row_f64_min : one_row_i64_min)(p, r, outer); break;
    default: (p->m->real ? one_row_f64_add : one_row_i64_add)(p, r, outer);
    }
}

/* Columns between the first and the last entry of a row, at most. */
static int64_t widest(const tra_rows_view *v, int64_t from, int64_t to) {
    int64_t most = 0;
    for (int64_t r = from; r < to; r++)
        most = tra_max64(most, (int64_t)v->column[v->begin[r + 1] - 1] - v->column[v->begin[r]] + 1);
    return most;
}

void tra_masked_run(const tra_masked *m, int64_t from, int64_t to, tra_masked_result *out, void *scratch) {
    char *at = scratch;
    const tra_rows_view *mask = &m->mask, *a = &m->outer;
    piece p = {.m = m, .out = out, .far = m->inner.n > LARGE};
    if (out->rows) out->rows->begin[0] = 0;
    if (to == from) return;
    int64_t outer = tra_rows_from(a, mask->row[from]), end = tra_rows_from(a, mask->row[to - 1] + 1), most = 0;
    int64_t width = m->by_place ? widest(a, outer, end) : widest(mask, from, to);
    for (int64_t r = from; r < to; r++) most = tra_max64(most, mask->begin[r + 1] - mask->begin[r]);
    p.set.key = (uint32_t *)(void *)at;
    p.set.at = p.set.key + SLOTS;
    p.sum = at + 8 * SLOTS;
    p.taken = (uint32_t *)(void *)(at + 8 * SLOTS + tra_round64(8 * most));
    p.set.flat = (uint32_t *)(void *)((char *)p.taken + tra_round64(4 * most));
    memset(p.set.flat, 0, (size_t)tra_min64(width, WIDE) * sizeof *p.set.flat);
    for (int64_t r = from; r < to && !tra_cancelled(); r++) {
        int64_t row = mask->row[r], before = out->n;
        while (outer < end && a->row[outer] < row) outer++;
        if (outer == end) break;
        if (a->row[outer] != row) continue;
        one_row(&p, r, outer);
        if (out->n == before) continue;
        if (out->rows) {
            out->rows->row[out->nrows] = row;
            out->rows->begin[out->nrows + 1] = out->n;
        }
        out->nrows++;
    }
}
