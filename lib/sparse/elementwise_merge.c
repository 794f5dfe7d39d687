/* elementwise_merge.c - functions of two operands that are both rows, at the places that one of them has, or that both
 * have: their rows and the entries of these are read side by side. */
#include "../base/simd.h"
#include "elementwise_int.h"

#include <string.h>

/* Is the result made of the places of two operands that are rows, and is it there that they are read? */
static bool is_merge(const job *j) {
    bool both = j->nargs == 2 && (j->both || (j->candidate[0] && j->candidate[1])) && !j->all && !j->part;
    for (int i = 0; both && i < 2; i++) both = !j->arg[i].in.dense && !j->arg[i].wide;
    return both;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* Both choose by masks, since nothing predicts a branch. They read ahead the column after the one at hand, so that a
 * comparison does not wait for memory. It may be the first bytes after all columns, which are in the block too. */

/* Reads the next places of two rows of entries side by side: their columns, and the values of both, of which one may be
 * 0. Returns how many, at most so many. */
#define READ_BOTH(name, T, U)                                                                                          \
    static int64_t name(operand *x, operand *y, int64_t most, uint32_t *column, void *to_x, void *to_y) {              \
        const uint32_t *cx = x->column, *cy = y->column;                                                               \
        const T *vx = (const T *)(const void *)x->in.v.value + x->first;                                               \
        const U *vy = (const U *)(const void *)y->in.v.value + y->first;                                               \
        int64_t n = 0, a = x->at, b = y->at, end_a = x->count, end_b = y->count;                                       \
        T *u = to_x;                                                                                                   \
        U *v = to_y;                                                                                                   \
        if (a < end_a && b < end_b) {                                                                                  \
            uint32_t p = cx[a], q = cy[b];                                                                             \
            while (n < most && a < end_a && b < end_b) {                                                               \
                uint32_t after_p = cx[a + 1], after_q = cy[b + 1];                                                     \
                uint32_t first = 0 - (uint32_t)(p <= q), second = 0 - (uint32_t)(q <= p);                              \
                column[n] = (p & first) | (q & second);                                                                \
                u[n] = vx[a] & (T)(int32_t)first;                                                                      \
                v[n++] = vy[b] & (U)(int32_t)second;                                                                   \
                a += first & 1;                                                                                        \
                b += second & 1;                                                                                       \
                p ^= (p ^ after_p) & first;                                                                            \
                q ^= (q ^ after_q) & second;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        for (; b == end_b && n < most && a < end_a; n++, a++) column[n] = cx[a], u[n] = vx[a], v[n] = 0;               \
        for (; a == end_a && n < most && b < end_b; n++, b++) column[n] = cy[b], u[n] = 0, v[n] = vy[b];               \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }

/* The same of the places that both have. */
#define READ_COMMON(name, T, U)                                                                                        \
    static int64_t name(operand *x, operand *y, int64_t most, uint32_t *column, void *to_x, void *to_y) {              \
        const uint32_t *cx = x->column, *cy = y->column;                                                               \
        const T *vx = (const T *)(const void *)x->in.v.value + x->first;                                               \
        const U *vy = (const U *)(const void *)y->in.v.value + y->first;                                               \
        int64_t n = 0, a = x->at, b = y->at, end_a = x->count, end_b = y->count;                                       \
        T *u = to_x;                                                                                                   \
        U *v = to_y;                                                                                                   \
        if (a == end_a || b == end_b) return 0;                                                                        \
        uint32_t p = cx[a], q = cy[b];                                                                                 \
        while (n < most && a < end_a && b < end_b) {                                                                   \
            uint32_t after_p = cx[a + 1], after_q = cy[b + 1];                                                         \
            uint32_t first = 0 - (uint32_t)(p <= q), second = 0 - (uint32_t)(q <= p);                                  \
            column[n] = p;                                                                                             \
            u[n] = vx[a];                                                                                              \
            v[n] = vy[b];                                                                                              \
            n += first & second & 1;                                                                                   \
            a += first & 1;                                                                                            \
            b += second & 1;                                                                                           \
            p ^= (p ^ after_p) & first;                                                                                \
            q ^= (q ^ after_q) & second;                                                                               \
        }                                                                                                              \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }

#define SIZES(X) X(8, 8) X(8, 4) X(8, 1) X(4, 8) X(4, 4) X(4, 1) X(1, 8) X(1, 4) X(1, 1)
typedef uint64_t value_8;
typedef uint32_t value_4;
typedef uint8_t value_1;
#define X(a, b)                                                                                                        \
    READ_BOTH(read_both_##a##_##b, value_##a, value_##b) READ_COMMON(read_common_##a##_##b, value_##a, value_##b)
SIZES(X)
#undef X
#undef READ_BOTH
#undef READ_COMMON

void tra_job_merges(job *j) {
    j->read = NULL;
    if (!is_merge(j)) return;
    size_t a = j->arg[0].in.v.size, b = j->arg[1].in.v.size;
#define X(m, n)                                                                                                        \
    if (a == m && b == n) j->read = j->both ? read_common_##m##_##n : read_both_##m##_##n;
    SIZES(X)
#undef X
}

/* Have both rows the same columns? */
static inline bool is_alike(const operand *x, const operand *y) {
    int64_t n = x->count;
    return n == y->count && n > 0 && x->column[0] == y->column[0] && x->column[n - 1] == y->column[n - 1] &&
           memcmp(x->column, y->column, (size_t)n * sizeof *x->column) == 0;
}

/* Appends the row to the batch. */
static int64_t merged_row(job *j, int64_t number, tra_rows_maker *to) {
    operand *x = &j->arg[0], *y = &j->arg[1];
    batch *b = j->batch;
    int64_t entries = 0, n, most;
    if (tra_min64(x->count + y->count, TRA_STRIP) > TRA_STRIP - b->n) tra_job_flush(j, to);
    do {
        most = tra_job_room(j, number, to);
        char *value[2];
        for (int i = 0; i < 2; i++) value[i] = (char *)b->raw[i] + (size_t)b->n * j->arg[i].in.v.size;
        uint32_t *column = b->column + b->n;
        if (x->at == 0 && x->count <= most && is_alike(x, y)) {
            n = x->at = y->at = x->count;
            memcpy(column, x->column, (size_t)n * sizeof *column);
            for (int i = 0; i < 2; i++) {
                const tra_rows_view *v = &j->arg[i].in.v;
                memcpy(value[i], v->value + (size_t)j->arg[i].first * v->size, (size_t)n * v->size);
            }
            b->n += n;
            return entries + n;
        }
        n = j->read(x, y, most, column, value[0], value[1]);
        b->n += n;
        entries += n;
    } while (n == most);
    return entries;
}

/* Columns that two rows have in common: several of one row are compared at once with each of the other. 0 to LANES - 1
 * of those that are read after the row's end count for nothing. */
enum { LANES = 8 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));
TRA_ANY_TARGET static int64_t common_columns(const uint32_t *x, int64_t nx, const uint32_t *y, int64_t ny) {
    const lanes number = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t n = 0;
    for (int64_t a = 0, b = 0; a < nx && b < ny;) {
        int64_t na = tra_min64(LANES, nx - a), nb = tra_min64(LANES, ny - b);
        lanes some, hit = {0};
        memcpy(&some, x + a, sizeof some);
        for (int64_t i = 0; i < nb; i++) hit |= (lanes)(some == y[b + i]);
        hit &= (lanes)(number < (uint32_t)na);
        for (int i = 0; i < LANES; i++) n += hit[i] & 1;
        uint32_t last_x = x[a + na - 1], last_y = y[b + nb - 1];
        a += last_x <= last_y ? na : 0;
        b += last_y <= last_x ? nb : 0;
    }
    return n;
}

/* How many places two rows of entries have; or of those that both have, at most. */
static int64_t count_merged(const job *j) {
    const operand *x = &j->arg[0], *y = &j->arg[1];
    int64_t a = 0, b = 0, end_a = x->count, end_b = y->count, n = end_a + end_b;
    if (j->both) return tra_min64(end_a, end_b);
    if (end_a == 0 || end_b == 0) return n;
    if (is_alike(x, y)) return end_a; /* exactly: then the result stays where it is */
    if (x->first + (end_a + LANES - 1) / LANES * LANES <= x->in.v.n)
        return n - common_columns(x->column, end_a, y->column, end_b);
    while (a < end_a && b < end_b) {
        uint32_t p = x->column[a], q = y->column[b];
        n -= p == q;
        a += p <= q;
        b += q <= p;
    }
    return n;
}

int64_t tra_job_merged(job *j, int64_t number, tra_rows_maker *to) {
    return to ? merged_row(j, number, to) : count_merged(j);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

bool tra_job_walks(const job *j) { return j->read && j->arg[0].leads && j->arg[1].leads; }

/* Puts an operand before its next row, or where it does not have the row at hand, before nothing. */
static inline void open_row(operand *x, bool there) {
    x->at = 0;
    x->first = there ? x->in.v.begin[x->r] : 0;
    x->count = there ? x->in.v.begin[x->r + 1] - x->first : 0;
    x->column = x->in.v.column + x->first;
    x->r += there;
}

void tra_job_walk(job *j, tra_rows_maker *to, int64_t *nrows, int64_t *n) {
    enum { OFTEN = 256 };
    operand *x = &j->arg[0], *y = &j->arg[1];
    const int64_t *row[2] = {x->in.v.row, y->in.v.row};
    int64_t end[2] = {tra_rows_from(&x->in.v, j->rows), tra_rows_from(&y->in.v, j->rows)};
    for (int64_t i = 0; x->r < end[0] || y->r < end[1]; i++) {
        if (i % OFTEN == 0 && tra_cancelled()) return;
        int64_t p = x->r < end[0] ? row[0][x->r] : j->rows, q = y->r < end[1] ? row[1][y->r] : j->rows;
        int64_t next = tra_min64(p, q);
        if (p != q && j->both) {
            while (x->r < end[0] && row[0][x->r] < q) x->r++;
            while (y->r < end[1] && row[1][y->r] < p) y->r++;
            continue;
        }
        if (p != q && tra_job_stretch(j, next, to, nrows, n) > next) continue;
        open_row(x, p == next);
        open_row(y, q == next);
        int64_t here = to ? merged_row(j, next, to) : count_merged(j);
        *nrows += here > 0;
        *n += here;
    }
}
