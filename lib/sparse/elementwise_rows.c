/* elementwise_rows.c - functions of elements whose result is rows, or goes to who takes it by rows: the places where
 * the result may be other than 0 are gathered with their values from several rows, until a strip is full. */
#include "elementwise_int.h"

#include <string.h>

/* Leaves out what is 0, of n values of b. */
static int64_t drop_zeros(batch *b, void *values, tra_dtype t) {
    int64_t n = 0, k = 0;
#define DROP(type)                                                                                                     \
    {                                                                                                                  \
        type *v = values;                                                                                              \
        bool zero = false;                                                                                             \
        for (int64_t i = 0; i < b->n; i++) zero |= v[i] == 0;                                                          \
        if (!zero) return b->n;                                                                                        \
        for (int i = 0; i < b->nrows; i++) {                                                                           \
            b->begin[i] = (int)n;                                                                                      \
            for (int64_t end = b->begin[i + 1]; k < end; k++) { /* without a branch that nothing predicts */           \
                type x = v[k];                                                                                         \
                b->column[n] = b->column[k];                                                                           \
                v[n] = x;                                                                                              \
                n += x != 0;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: DROP(type) break;
        TRA_DTYPES(X)
#undef X
    }
#undef DROP
    b->begin[b->nrows] = (int)n;
    return n;
}

/* Computes what the batch has, and hands it to a result that is rows or to who takes it. */
void tra_job_flush(job *j, tra_rows_maker *to) {
    batch *b = j->batch;
    double out[TRA_STRIP];
    size_t size = tra_dtype_size(j->type);
    if (b->n == 0) {
        b->nrows = 0; /* of rows that had nothing */
        return;
    }
    tra_job_compute(j, b->in, b->n, out);
    b->begin[b->nrows] = (int)b->n;
    if (!j->sink) b->n = drop_zeros(b, out, j->type);
    for (int i = 0; i < b->nrows; i++) {
        int from = b->begin[i], n = b->begin[i + 1] - from;
        if (n == 0) continue;
        if (j->sink) {
            j->sink->put(j->sink->ctx, j->piece, b->row[i], b->column + from, (char *)out + (size_t)from * size, n);
            continue;
        }
        if (to->v.nrows == 0 || to->v.row[to->v.nrows - 1] != b->row[i]) tra_rows_open(to, b->row[i]);
        to->v.n += n;
    }
    if (!j->sink) {
        int64_t first = to->v.n - b->n;
        memcpy(to->v.column + first, b->column, (size_t)b->n * sizeof *b->column);
        memcpy(to->v.value + (size_t)first * size, out, (size_t)b->n * size);
    }
    b->n = b->nrows = 0;
}

/* How many more places of the row the batch has room for: at least one. */
static int64_t room_in_batch(job *j, int64_t row, tra_rows_maker *to) {
    batch *b = j->batch;
    if (b->n == TRA_STRIP) tra_job_flush(j, to);
    if (b->nrows == 0 || b->row[b->nrows - 1] != row) {
        if (b->nrows == TRA_STRIP) tra_job_flush(j, to);
        b->row[b->nrows] = row;
        b->begin[b->nrows++] = (int)b->n;
    }
    return TRA_STRIP - b->n;
}

/* The values of operand i in the batch, from its next place on. */
static void *next_in_batch(const job *j, int i) {
    return (char *)j->batch->in[i] + (size_t)j->batch->n * tra_dtype_size(j->typed.load[i]);
}

/* ---- results that are rows ------------------------------------------------------------------------------------ */

/* The next column where the row may be other than 0, from `from` on; j->columns: none. */
static int64_t next_column(job *j, int64_t from) {
    int64_t next = j->columns;
    if (j->all) return from;
    if (j->part && j->nargs == 1 && j->beyond) next = tra_min64(next, tra_max64(from, j->arg[0].inside));
    for (int i = 0; i < j->nargs; i++) {
        operand *x = &j->arg[i];
        if (!j->candidate[i] || x->count == 0) continue;
        if ((!x->column || x->wide) && from < x->inside) return from;
        if (!x->column) continue;
        while (x->at < x->count && x->column[x->at] < from) x->at++;
        if (x->at < x->count) next = tra_min64(next, x->column[x->at]);
    }
    return next;
}

/* Is the result made of the places of two operands that are rows, and is it there that they are read? */
static bool is_merge(const job *j) {
    bool both = j->nargs == 2 && (j->both || (j->candidate[0] && j->candidate[1])) && !j->all && !j->part;
    for (int i = 0; both && i < 2; i++) both = !j->arg[i].in.dense && !j->arg[i].wide;
    return both;
}

/* Reads the next places of two rows of entries side by side: their columns, and the values of both, of which one may be
 * 0. Returns how many, at most so many. */
#define READ_BOTH(name, T)                                                                                             \
    static int64_t name(operand *x, operand *y, int64_t most, uint32_t *column, T *u, T *v) {                          \
        const uint32_t *cx = x->column, *cy = y->column;                                                               \
        const T *vx = (const T *)(const void *)x->in.v.value + x->first;                                               \
        const T *vy = (const T *)(const void *)y->in.v.value + y->first;                                               \
        int64_t n = 0, a = x->at, b = y->at, ends[2] = {x->count, y->count}, end;                                      \
        while ((end = n + tra_min64(most - n, tra_min64(ends[0] - a, ends[1] - b))) > n) /* neither ends before */     \
            for (; n < end; n++) {                                                                                     \
                uint32_t p = cx[a], q = cy[b];                                                                         \
                bool first = p <= q, second = q <= p; /* without a branch that nothing predicts */                     \
                column[n] = first ? p : q;                                                                             \
                u[n] = vx[a] & (T)(0 - (T)first);                                                                      \
                v[n] = vy[b] & (T)(0 - (T)second);                                                                     \
                a += first;                                                                                            \
                b += second;                                                                                           \
            }                                                                                                          \
        for (; n < most && b == ends[1] && a < ends[0]; n++, a++) column[n] = cx[a], u[n] = vx[a], v[n] = 0;           \
        for (; n < most && a == ends[0] && b < ends[1]; n++, b++) column[n] = cy[b], u[n] = 0, v[n] = vy[b];           \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }
READ_BOTH(read_both_8, uint64_t)
READ_BOTH(read_both_4, uint32_t)
READ_BOTH(read_both_1, uint8_t)
#undef READ_BOTH

/* Are its values read as they are? */
static bool is_plain(const job *j, int i) {
    tra_dtype t = j->arg[i].in.cell->array.dtype;
    return t == j->typed.load[i] && tra_dtype_size(t) >= 4;
}

/* The values of an operand at n ascending columns of the row at hand, as they are: of a dense row, or of entries. */
#define READ_AT(name, T)                                                                                               \
    static void name(operand *x, const uint32_t *column, int64_t n, T *v) {                                            \
        const T *value = (const T *)tra_read_values(&x->in) + x->first;                                                \
        if (!x->column) {                                                                                              \
            for (int64_t i = 0; i < n; i++) v[i] = value[x->wide ? 0 : column[i]];                                     \
            return;                                                                                                    \
        }                                                                                                              \
        int64_t at = x->at, end = x->count;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            while (at < end && x->column[at] < column[i]) at++;                                                        \
            v[i] = at < end && x->column[at] == column[i] ? value[at] : 0;                                             \
        }                                                                                                              \
        x->at = at;                                                                                                    \
    }
READ_AT(read_at_8, uint64_t)
READ_AT(read_at_4, uint32_t)
#undef READ_AT

/* Appends what two rows of entries have in common. */
#define READ_COMMON(name, T)                                                                                           \
    static int64_t name(operand *x, operand *y, int64_t most, uint32_t *column, T *u, T *v) {                          \
        const uint32_t *cx = x->column, *cy = y->column;                                                               \
        const T *vx = (const T *)(const void *)x->in.v.value + x->first;                                               \
        const T *vy = (const T *)(const void *)y->in.v.value + y->first;                                               \
        int64_t n = 0, a = x->at, b = y->at, ends[2] = {x->count, y->count};                                           \
        while (n < most && a < ends[0] && b < ends[1]) {                                                               \
            uint32_t p = cx[a], q = cy[b];                                                                             \
            column[n] = p;                                                                                             \
            u[n] = vx[a];                                                                                              \
            v[n] = vy[b];                                                                                              \
            n += p == q;                                                                                               \
            a += p <= q;                                                                                               \
            b += q <= p;                                                                                               \
        }                                                                                                              \
        x->at = a;                                                                                                     \
        y->at = b;                                                                                                     \
        return n;                                                                                                      \
    }
READ_COMMON(read_common_8, uint64_t)
READ_COMMON(read_common_4, uint32_t)
READ_COMMON(read_common_1, uint8_t)
#undef READ_COMMON

/* Are both operands' values of one size, and read by the functions above? */
static bool reads_together(const job *j) {
    size_t size = tra_dtype_size(j->arg[0].in.cell->array.dtype);
    return size == tra_dtype_size(j->arg[1].in.cell->array.dtype) && (size == 8 || size == 4 || size == 1);
}

/* Appends a row of two rows of entries: of the places that one of them has, or of those that both have. */
static int64_t merged_row(job *j, int64_t number, tra_rows_maker *to) {
    operand *x = &j->arg[0], *y = &j->arg[1];
    batch *b = j->batch;
    int64_t entries = 0, n, most;
    double own[2][TRA_STRIP];
    size_t size = tra_dtype_size(x->in.cell->array.dtype);
    do {
        most = room_in_batch(j, number, to);
        uint32_t *column = b->column + b->n;
        void *v[2];
        for (int i = 0; i < 2; i++)
            v[i] = j->arg[i].in.cell->array.dtype == j->typed.load[i] ? next_in_batch(j, i) : own[i];
        if (size == 8)
            n = (j->both ? read_common_8 : read_both_8)(x, y, most, column, v[0], v[1]);
        else if (size == 4)
            n = (j->both ? read_common_4 : read_both_4)(x, y, most, column, v[0], v[1]);
        else
            n = (j->both ? read_common_1 : read_both_1)(x, y, most, column, v[0], v[1]);
        for (int i = 0; i < 2; i++)
            if (v[i] == own[i])
                tra_convert(next_in_batch(j, i), j->typed.load[i], v[i], j->arg[i].in.cell->array.dtype, n);
        b->n += n;
        entries += n;
    } while (n == most);
    return entries;
}

static void read_at(job *j, int i, const uint32_t *column, int64_t n) {
    operand *x = &j->arg[i];
    void *to = next_in_batch(j, i);
    if (!is_plain(j, i) || (x->column && x->wide))
        for (int64_t k = 0; k < n; k++) tra_job_take(j, i, column[k], to, k);
    else if (tra_dtype_size(j->typed.load[i]) == 8)
        read_at_8(x, column, n, to);
    else
        read_at_4(x, column, n, to);
}

/* The places where the row may be other than 0 are one operand's entries: appends the row. */
static int64_t entries_row(job *j, int which, int64_t number, tra_rows_maker *to) {
    operand *x = &j->arg[which];
    batch *b = j->batch;
    tra_dtype t = j->typed.load[which];
    size_t size = tra_dtype_size(t);
    bool plain = is_plain(j, which), as_it_is = j->sink && !j->code && plain && t == j->type;
    for (int64_t k = 0, n; k < x->count; k += n) {
        const uint32_t *column = x->column + k;
        const char *value = (const char *)x->in.v.value + (size_t)(x->first + k) * size;
        if (as_it_is) {
            n = tra_min64(TRA_STRIP, x->count - k);
            j->sink->put(j->sink->ctx, j->piece, number, column, value, n);
            continue;
        }
        n = tra_min64(room_in_batch(j, number, to), x->count - k);
        memcpy(b->column + b->n, column, (size_t)n * sizeof *column);
        if (plain)
            memcpy(next_in_batch(j, which), value, (size_t)n * size);
        else
            for (int64_t i = 0; i < n; i++)
                tra_pick(next_in_batch(j, which), i, t, x->in.v.value, x->in.cell->array.dtype, x->first + k + i);
        if (j->nargs == 2) read_at(j, 1 - which, column, n);
        b->n += n;
    }
    return x->count;
}

/* How many places two rows of entries have; or of those that both have, at most. */
static int64_t count_merged(const job *j) {
    const operand *x = &j->arg[0], *y = &j->arg[1];
    int64_t a = 0, b = 0, n = x->count + y->count;
    if (j->both) return tra_min64(x->count, y->count);
    for (int64_t k; (k = tra_min64(x->count - a, y->count - b)) > 0;) /* exactly: then the result stays where it is */
        for (; k > 0; k--) {
            uint32_t p = x->column[a], q = y->column[b];
            n -= p == q;
            a += p <= q;
            b += q <= p;
        }
    return n;
}

/* Appends the row; to NULL: counts where it may be other than 0, or more than that. */
int64_t tra_job_row(job *j, int64_t number, tra_rows_maker *to) {
    int one = j->all || j->part || j->candidate[0] == (j->nargs == 2 && j->candidate[1]) ? -1 : j->candidate[0] ? 0 : 1;
    if (is_merge(j) && to && reads_together(j)) return merged_row(j, number, to);
    if (one >= 0 && !j->arg[one].in.dense && !j->arg[one].wide)
        return to ? entries_row(j, one, number, to) : j->arg[one].count;
    if (is_merge(j) && !to) return count_merged(j);
    int64_t entries = 0;
    for (int64_t c = next_column(j, 0); c < j->columns; c = next_column(j, c + 1), entries++) {
        if (!to) continue;
        (void)room_in_batch(j, number, to);
        j->batch->column[j->batch->n] = (uint32_t)c;
        for (int i = 0; i < j->nargs; i++) tra_job_take(j, i, c, next_in_batch(j, i), 0);
        j->batch->n++;
    }
    return entries;
}

/* ---- rows that one operand alone has -------------------------------------------------------------------------- */

/* Which operand alone has rows from `row` on, and before which row that ends; -1: none has. */
static int alone(const job *j, int64_t row, int64_t *end) {
    *end = j->rows;
    if (j->sink || j->all || j->part || !j->candidate[0]) return -1;
    if (j->nargs == 2 && (j->both || !is_merge(j))) return -1;
    int which = -1;
    for (int i = 0; i < j->nargs; i++) {
        const operand *x = &j->arg[i];
        const tra_rows_view *v = &x->in.v;
        if (x->in.dense || x->wide || !x->leads) return -1;
        int64_t next = x->r < v->nrows ? v->row[x->r] : j->rows;
        if (next == row && which >= 0) return -1;
        if (next == row)
            which = i;
        else
            *end = tra_min64(*end, next);
    }
    return which;
}

/* The values of n entries from `first` on, into the result from its next place on. False: one is 0. */
static bool compute_stretch(job *j, int which, int64_t first, int64_t n, tra_rows_maker *to) {
    batch *b = j->batch;
    const operand *x = &j->arg[which];
    tra_dtype from = x->in.cell->array.dtype;
    size_t size = tra_dtype_size(from), each = tra_dtype_size(j->type);
    memset(b->in[1 - which], 0, sizeof b->in[0]);
    for (int64_t k = 0, here; k < n; k += here) {
        char *value = to->v.value + (size_t)(to->v.n + k) * each;
        here = tra_min64(TRA_STRIP, n - k);
        tra_convert(b->in[which], j->typed.load[which], x->in.v.value + (size_t)(first + k) * size, from, here);
        tra_job_compute(j, b->in, here, value);
        if (tra_has_zero(value, j->type, here)) return false;
    }
    return true;
}

int64_t tra_job_stretch(job *j, int64_t row, tra_rows_maker *to, int64_t *nrows, int64_t *n) {
    enum { SEVERAL = 8 };
    int64_t end;
    int which = row < j->apart ? -1 : alone(j, row, &end);
    if (which < 0) return row;
    operand *x = &j->arg[which];
    const tra_rows_view *v = &x->in.v;
    if (x->r + SEVERAL >= v->nrows || v->row[x->r + SEVERAL] >= end) return row;
    int64_t from = x->r, last = tra_rows_from(v, end), first = v->begin[from], entries = v->begin[last] - first;
    *nrows += last - from;
    *n += entries;
    if (to) {
        tra_job_flush(j, to);
        if (!compute_stretch(j, which, first, entries, to)) {
            j->apart = end;
            return row;
        }
        memcpy(to->v.column + to->v.n, v->column + first, (size_t)entries * sizeof *v->column);
        for (int64_t r = from; r < last; r++) {
            if (v->begin[r] == v->begin[r + 1]) continue;
            to->v.row[to->v.nrows] = v->row[r];
            to->v.begin[to->v.nrows++] = to->v.n + v->begin[r] - first;
        }
        to->v.n += entries;
    }
    x->r = last;
    return end;
}
