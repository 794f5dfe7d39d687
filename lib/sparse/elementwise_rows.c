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

/* Hands the batch, whose values are these, to who takes them. */
static void hand_over(const job *j, const void *value) {
    const batch *b = j->batch;
    const tra_rows_some some = {b->nrows, b->row, b->begin, b->column, value};
    j->sink->put(j->sink->ctx, j->piece, &some);
}

/* Computes what the batch has, and hands it to a result that is rows or to who takes it. */
void tra_job_flush(job *j, tra_rows_maker *to) {
    batch *b = j->batch;
    double out[TRA_STRIP];
    if (b->n == 0) {
        b->nrows = 0; /* of rows that had nothing */
        return;
    }
    for (int i = 0; j->read && i < 2; i++)
        if (b->raw[i] != b->in[i])
            tra_convert(b->in[i], j->typed.load[i], b->raw[i], j->arg[i].in.cell->array.dtype, b->n);
    void *value = j->sink ? (void *)out : to->v.value + (size_t)to->v.n * tra_dtype_size(j->type);
    tra_job_compute(j, b->in, b->n, value);
    b->begin[b->nrows] = (int)b->n;
    if (j->sink) {
        hand_over(j, value);
    } else {
        if (tra_has_zero(value, j->type, b->n)) b->n = drop_zeros(b, value, j->type);
        for (int i = 0; i < b->nrows; i++) {
            int n = b->begin[i + 1] - b->begin[i];
            if (n == 0) continue;
            if (to->v.nrows == 0 || to->v.row[to->v.nrows - 1] != b->row[i]) tra_rows_open(to, b->row[i]);
            to->v.n += n;
        }
        b->column = to->v.column + to->v.n;
    }
    b->n = b->nrows = 0;
}

int64_t tra_job_room(job *j, int64_t row, tra_rows_maker *to) {
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
static void *next_values(const job *j, int i) {
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

static void read_at(job *j, int i, const uint32_t *column, int64_t n) {
    operand *x = &j->arg[i];
    void *to = next_values(j, i);
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
    bool plain = is_plain(j, which);
    for (int64_t k = 0, n; k < x->count; k += n) {
        const uint32_t *column = x->column + k;
        const char *value = (const char *)x->in.v.value + (size_t)(x->first + k) * size;
        n = tra_min64(tra_job_room(j, number, to), x->count - k);
        memcpy(b->column + b->n, column, (size_t)n * sizeof *column);
        if (plain)
            memcpy(next_values(j, which), value, (size_t)n * size);
        else
            for (int64_t i = 0; i < n; i++)
                tra_pick(next_values(j, which), i, t, x->in.v.value, x->in.cell->array.dtype, x->first + k + i);
        if (j->nargs == 2) read_at(j, 1 - which, column, n);
        b->n += n;
    }
    return x->count;
}

/* Appends the row; to NULL: counts where it may be other than 0, or more than that. */
int64_t tra_job_row(job *j, int64_t number, tra_rows_maker *to) {
    int one = j->all || j->part || j->candidate[0] == (j->nargs == 2 && j->candidate[1]) ? -1 : j->candidate[0] ? 0 : 1;
    if (j->read) return tra_job_merged(j, number, to);
    if (one >= 0 && !j->arg[one].in.dense && !j->arg[one].wide)
        return to ? entries_row(j, one, number, to) : j->arg[one].count;
    int64_t entries = 0;
    for (int64_t c = next_column(j, 0); c < j->columns; c = next_column(j, c + 1), entries++) {
        if (!to) continue;
        (void)tra_job_room(j, number, to);
        j->batch->column[j->batch->n] = (uint32_t)c;
        for (int i = 0; i < j->nargs; i++) tra_job_take(j, i, c, next_values(j, i), 0);
        j->batch->n++;
    }
    return entries;
}

/* ---- rows that one operand alone has -------------------------------------------------------------------------- */

/* Which operand alone has rows from `row` on, and before which row that ends; -1: none has. A dense one has none where
 * the entries of the other are the places. */
static int alone(const job *j, int64_t row, int64_t *end) {
    *end = j->rows;
    if (j->sink || j->all || j->part) return -1;
    bool beside = j->nargs == 2 && !j->read && j->candidate[0] != j->candidate[1];
    if (!beside && (!j->candidate[0] || (j->nargs == 2 && (j->both || !j->read)))) return -1;
    int which = -1;
    for (int i = 0; i < j->nargs; i++) {
        const operand *x = &j->arg[i];
        const tra_rows_view *v = &x->in.v;
        if (beside && !j->candidate[i] && x->in.dense) continue;
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

/* The row of operand y that stands beside row `number` of the result. */
static int64_t row_beside(const job *j, const operand *y, int64_t number) {
    if (y->leads) return number;
    int64_t row = 0;
    for (int d = j->ext.n - 2; d >= 0; d--, number /= j->ext.v[d + 1]) row += number % j->ext.v[d] * y->stride[d];
    return row;
}

/* The values of the dense operand beside n entries of the other from k on, the first of which is in its row r. */
static void read_beside(job *j, int which, int64_t r, int64_t k, int64_t n) {
    operand *y = &j->arg[1 - which];
    batch *b = j->batch;
    const tra_rows_view *v = &j->arg[which].in.v;
    y->column = NULL;
    y->inside = INT64_MAX;
    for (int64_t done = 0, here; done < n; done += here, r++) {
        here = y->in.rows == 1 ? n : tra_min64(n, v->begin[r + 1] - k) - done;
        y->first = row_beside(j, y, v->row[r]) * y->in.columns;
        b->n = done;
        read_at(j, 1 - which, v->column + k + done, here);
    }
    b->n = 0;
}

/* Appends the rows that have the n entries of operand x from k on, whose columns and values are there already. r is the
 * row of entry k; it may be the result's last one, which then goes on. place: how many entries before each stay; NULL:
 * all do. Returns the row of entry k + n. */
static inline int64_t append_rows(const tra_rows_view *x, int64_t r, int64_t last, int64_t k, int64_t n,
                                  const uint32_t *place, tra_rows_view *to) {
    int64_t rows = to->nrows, entries = to->n;
    bool open = rows > 0 && to->row[rows - 1] == x->row[r];
    for (; r < last && x->begin[r] < k + n; r++) { /* without a branch that nothing predicts */
        int64_t from = tra_max64(0, x->begin[r] - k), end = tra_min64(n, x->begin[r + 1] - k);
        if (place) from = place[from], end = place[end];
        if (!open) to->row[rows] = x->row[r], to->begin[rows] = entries + from;
        rows += !open && end > from;
        open = false;
    }
    to->nrows = rows;
    to->n += place ? place[n] : n;
    return x->begin[r] > k + n ? r - 1 : r;
}

/* Leaves out those of n values that are 0, with their columns. place: see append_rows. */
static void leave_zeros(void *value, tra_dtype t, uint32_t *column, int64_t n, uint32_t *place) {
    uint32_t stay = 0;
#define LEAVE(type)                                                                                                    \
    {                                                                                                                  \
        type *v = value;                                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type x = v[i];                                                                                             \
            place[i] = stay;                                                                                           \
            column[stay] = column[i];                                                                                  \
            v[stay] = x;                                                                                               \
            stay += x != 0;                                                                                            \
        }                                                                                                              \
    }
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: LEAVE(type) break;
        TRA_DTYPES(X)
#undef X
    }
#undef LEAVE
    place[n] = stay;
}

/* Appends rows `from` to last - 1 of an operand that alone has them. */
static void compute_stretch(job *j, int which, int64_t from, int64_t last, tra_rows_maker *to) {
    batch *b = j->batch;
    const operand *x = &j->arg[which];
    const tra_rows_view *v = &x->in.v;
    tra_dtype t = x->in.cell->array.dtype;
    uint32_t place[TRA_STRIP + 1];
    bool beside = j->nargs == 2 && j->arg[1 - which].in.dense;
    memset(b->in[1 - which], 0, sizeof b->in[0]);
    for (int64_t k = v->begin[from], end = v->begin[last], n, r = from; k < end && !tra_cancelled(); k += n) {
        n = tra_min64(TRA_STRIP, end - k);
        void *value = to->v.value + (size_t)to->v.n * to->v.size;
        uint32_t *column = to->v.column + to->v.n;
        tra_convert(b->in[which], j->typed.load[which], v->value + (size_t)k * v->size, t, n);
        if (beside) read_beside(j, which, r, k, n);
        tra_job_compute(j, b->in, n, value);
        memcpy(column, v->column + k, (size_t)n * sizeof *column);
        bool zeros = tra_has_zero(value, j->type, n);
        if (zeros) leave_zeros(value, j->type, column, n, place);
        r = append_rows(v, r, last, k, n, zeros ? place : NULL, &to->v);
    }
}

int64_t tra_job_stretch(job *j, int64_t row, tra_rows_maker *to, int64_t *nrows, int64_t *n) {
    enum { SEVERAL = 8 };
    int64_t end;
    int which = alone(j, row, &end);
    if (which < 0) return row;
    operand *x = &j->arg[which];
    const tra_rows_view *v = &x->in.v;
    if (x->r + SEVERAL >= v->nrows || v->row[x->r + SEVERAL] >= end) return row;
    int64_t from = x->r, last = tra_rows_from(v, end);
    *nrows += last - from;
    *n += v->begin[last] - v->begin[from];
    if (to) {
        tra_job_flush(j, to);
        compute_stretch(j, which, from, last, to);
        j->batch->column = to->v.column + to->v.n;
    }
    x->r = last;
    return end;
}

/* ---- entries of one operand, for who takes them -------------------------------------------------------------- */

bool tra_job_streams(const job *j) {
    const operand *x = &j->arg[0];
    return j->sink && j->nargs == 1 && j->candidate[0] && !j->all && !j->part && !x->in.dense && !x->wide && x->leads;
}

void tra_job_stream(job *j) {
    batch *b = j->batch;
    const operand *x = &j->arg[0];
    const tra_rows_view *v = &x->in.v;
    tra_dtype from = x->in.cell->array.dtype, load = j->typed.load[0];
    double out[TRA_STRIP];
    int64_t r = x->r, end = tra_rows_from(v, j->rows), last = v->begin[end], n;
    for (int64_t k = v->begin[r]; k < last && !tra_cancelled(); k += n) {
        const void *value = v->value + (size_t)k * v->size;
        n = tra_min64(TRA_STRIP, last - k);
        for (b->nrows = 0; r < end && v->begin[r] < k + n; r++) {
            b->row[b->nrows] = v->row[r];
            b->begin[b->nrows++] = (int)tra_max64(0, v->begin[r] - k);
            if (v->begin[r + 1] > k + n) break; /* it goes on in the next strip */
        }
        b->begin[b->nrows] = (int)n;
        b->column = v->column + k;
        if (j->code || from != j->type) {
            tra_convert(b->in[0], load, value, from, n);
            tra_job_compute(j, b->in, n, out);
            value = out;
        }
        hand_over(j, value);
    }
}
