/* elementwise_merge.c - functions of two operands that are both rows, at the places that one of them has, or that both
 * have: their rows and the entries of these are read side by side. */
#include "elementwise_int.h"

#include <string.h>

/* Is the result made of the places of two operands that are rows, and is it there that they are read? */
static bool is_merge(const job *j) {
    bool both = j->nargs == 2 && (j->both || (j->candidate[0] && j->candidate[1])) && !j->all && !j->part;
    for (int i = 0; both && i < 2; i++) both = !j->arg[i].in.dense && !j->arg[i].wide;
    return both;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* Reads the next places of two rows of entries side by side: their columns, and the values of both, of which one may be
 * 0; or (COMMON) the places that both have. Returns how many, at most so many.
 *
 * It chooses by masks, since nothing predicts a branch. It reads ahead the column after the one at hand, so that a
 * comparison does not wait for memory. That may be the first bytes after all columns, which are in the block too. */
#define READ(name, T, U, COMMON)                                                                                       \
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
                column[n] = COMMON ? p : (p & first) | (q & second);                                                   \
                u[n] = COMMON ? vx[a] : vx[a] & (T)(int32_t)first;                                                     \
                v[n] = COMMON ? vy[b] : vy[b] & (U)(int32_t)second;                                                    \
                n += COMMON ? first & second & 1 : 1;                                                                  \
                a += first & 1;                                                                                        \
                b += second & 1;                                                                                       \
                p ^= (p ^ after_p) & first;                                                                            \
                q ^= (q ^ after_q) & second;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        for (; !COMMON && b == end_b && n < most && a < end_a; n++, a++) column[n] = cx[a], u[n] = vx[a], v[n] = 0;    \
        for (; !COMMON && a == end_a && n < most && b < end_b; n++, b++) column[n] = cy[b], u[n] = 0, v[n] = vy[b];    \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }

#define SIZES(X) X(8, 8) X(8, 4) X(8, 1) X(4, 8) X(4, 4) X(4, 1) X(1, 8) X(1, 4) X(1, 1)
typedef uint64_t value_8;
typedef uint32_t value_4;
typedef uint8_t value_1;
#define X(a, b)                                                                                                        \
    READ(read_both_##a##_##b, value_##a, value_##b, false) READ(read_common_##a##_##b, value_##a, value_##b, true)
SIZES(X)
#undef X
#undef READ

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
    return x->count == y->count && tra_same_columns(x->column, y->column, x->count);
}

static inline int64_t columns_in_common(const operand *x, const operand *y) {
    if (is_alike(x, y)) return x->count;
    return tra_common_columns(x->column, x->count, x->in.v.n - x->first - x->count, y->column, y->count);
}

/* Appends the row to the batch. */
static int64_t merged_row(job *j, int64_t number, tra_rows_maker *to) {
    operand *x = &j->arg[0], *y = &j->arg[1];
    batch *b = j->batch;
    int64_t entries = 0, n, most;
    if (j->both && !j->meets && columns_in_common(x, y) == 0) return 0;
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
    j->meets = entries > 0 && number % TRA_OFTEN;
    return entries;
}

/* How many places two rows of entries have; or of those that both have, at most. */
static int64_t count_merged(const job *j) {
    const operand *x = &j->arg[0], *y = &j->arg[1];
    if (j->both) return tra_min64(x->count, y->count);
    return x->count + y->count - columns_in_common(x, y); /* exactly: then the result stays where it is */
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
