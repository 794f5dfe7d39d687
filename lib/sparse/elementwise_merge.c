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

/* ---- short rows -------------------------------------------------------------------------------------------------- */

/* Rows of few entries are no loops: all entries are read as those of one row, whose columns have the number of the row
 * above them. */
enum { SHORT = 6, AT_ONCE = 1024 };
#define NONE (~(uint64_t)0) /* comes after all entries */

typedef struct stream {
    const tra_rows_view *v;
    int64_t first, r, k, end; /* number of the first row; the entry after those at hand, its row; the end of all */
    int64_t at, have;         /* of `place`: those before `at` are done with */
    uint64_t place[AT_ONCE];
} stream;

/* Has places at hand: when there are no more, NONE. */
static void go_on(stream *x) {
    int64_t number[AT_ONCE + TRA_ROWS_SPARE], n = tra_min64(AT_ONCE, x->end - x->k);
    if (x->at < x->have) return;
    x->r = tra_rows_numbers(x->v, x->r, x->k, n, number);
    for (int64_t i = 0; i < n; i++) x->place[i] = (uint64_t)(number[i] - x->first) << 32 | x->v->column[x->k + i];
    x->k += n;
    x->at = 0;
    x->have = tra_max64(1, n);
    if (n == 0) x->place[0] = NONE;
}

static bool is_done(const stream *x) { return x->at < x->have && x->place[x->at] == NONE; }

/* The values of the places at hand. After the last one it is what follows the values in the block. */
static const void *values_of(const stream *x) {
    return x->v->value + (size_t)(is_done(x) ? x->k : x->k - x->have) * x->v->size;
}

/* As READ, of streams, until one of them has no more at hand. */
#define STREAM(name, T, U, COMMON)                                                                                     \
    static int64_t name(stream *x, stream *y, int64_t most, uint64_t *place, void *to_x, void *to_y) {                 \
        const T *vx = values_of(x);                                                                                    \
        const U *vy = values_of(y);                                                                                    \
        int64_t n = 0, a = x->at, b = y->at;                                                                           \
        T *u = to_x;                                                                                                   \
        U *v = to_y;                                                                                                   \
        while (n < most && a < x->have && b < y->have) {                                                               \
            uint64_t p = x->place[a], q = y->place[b];                                                                 \
            uint64_t first = 0 - (uint64_t)(p <= q), second = 0 - (uint64_t)(q <= p);                                  \
            if ((p & q) == NONE) break;                                                                                \
            place[n] = COMMON ? p : (p & first) | (q & second);                                                        \
            u[n] = COMMON ? vx[a] : vx[a] & (T)first;                                                                  \
            v[n] = COMMON ? vy[b] : vy[b] & (U)second;                                                                 \
            n += COMMON ? (int64_t)(first & second & 1) : 1;                                                           \
            a += (int64_t)(first & 1);                                                                                 \
            b += (int64_t)(second & 1);                                                                                \
        }                                                                                                              \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }
#define X(m, n)                                                                                                        \
    STREAM(stream_both_##m##_##n, value_##m, value_##n, false)                                                         \
    STREAM(stream_common_##m##_##n, value_##m, value_##n, true)
SIZES(X)
#undef X
#undef STREAM

typedef int64_t stream_fn(stream *x, stream *y, int64_t most, uint64_t *place, void *to_x, void *to_y);
static stream_fn *stream_of(const job *j) {
    size_t a = j->arg[0].in.v.size, b = j->arg[1].in.v.size;
#define X(m, n)                                                                                                        \
    if (a == m && b == n) return j->both ? stream_common_##m##_##n : stream_both_##m##_##n;
    SIZES(X)
#undef X
    return NULL;
}

/* Hands the batch n places of streams, whose values it has. */
static void put_places(job *j, const uint64_t *place, int64_t n, int64_t first, tra_rows_maker *to) {
    batch *b = j->batch;
    int64_t rows = 0;
    uint64_t last = NONE >> 32;
    for (int64_t i = 0; i < n; i++) {
        uint64_t row = place[i] >> 32;
        b->column[i] = (uint32_t)place[i];
        rows += row != last;
        b->row[rows - 1] = first + (int64_t)row;
        b->begin[rows] = (int)i + 1;
        last = row;
    }
    b->begin[0] = 0;
    b->nrows = (int)rows;
    b->n = n;
    tra_job_flush(j, to);
}

/* What tra_job_walk does where rows have few entries; false: they have more, their numbers are far apart, or no operand
 * has rows among those of the other. end: where the operands' rows end. */
static bool walk_short(job *j, const int64_t *end, tra_rows_maker *to, int64_t *nrows, int64_t *n) {
    stream s[2];
    int64_t all[2], rows[2], first = INT64_MAX, last = 0, from = 0, until = INT64_MAX;
    for (int i = 0; i < 2; i++) {
        const operand *x = &j->arg[i];
        const tra_rows_view *v = &x->in.v;
        s[i].v = v, s[i].r = x->r, s[i].at = s[i].have = 0;
        s[i].k = v->begin[x->r], s[i].end = v->begin[end[i]];
        all[i] = s[i].end - s[i].k, rows[i] = end[i] - x->r;
        if (rows[i] == 0) return false;
        first = tra_min64(first, v->row[x->r]), last = tra_max64(last, v->row[end[i] - 1]);
        from = tra_max64(from, v->row[x->r]), until = tra_min64(until, v->row[end[i] - 1]);
    }
    if (from > until || last - first >= UINT32_MAX) return false;
    if (all[0] + all[1] >= SHORT * (rows[0] + rows[1])) return false;
    s[0].first = s[1].first = first;
    if (!to && !j->sink) { /* at most: to move what was made is less than to read all twice */
        int64_t most = tra_min64(j->both ? tra_min64(rows[0], rows[1]) : rows[0] + rows[1], last - first + 1);
        *nrows += most;
        *n += tra_min64(j->both ? tra_min64(all[0], all[1]) : all[0] + all[1], tra_mul_most(most, j->columns));
        return true;
    }
    stream_fn *read = stream_of(j);
    uint64_t place[TRA_STRIP];
    int64_t have = 0;
    for (;;) {
        for (int i = 0; i < 2; i++) go_on(&s[i]);
        bool done[2] = {is_done(&s[0]), is_done(&s[1])};
        if (tra_cancelled() || (done[0] && done[1]) || (j->both && (done[0] || done[1]))) break;
        char *value[2];
        for (int i = 0; i < 2; i++) value[i] = (char *)j->batch->raw[i] + (size_t)have * j->arg[i].in.v.size;
        have += read(&s[0], &s[1], TRA_STRIP - have, place + have, value[0], value[1]);
        if (have == TRA_STRIP) put_places(j, place, have, first, to), have = 0;
    }
    put_places(j, place, have, first, to);
    return true;
}

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
    if (walk_short(j, end, to, nrows, n)) return;
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
