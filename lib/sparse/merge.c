/* merge.c - states of aggregations that are held as rows, and grow: with each term a new one. */
#include "sparse.h"

#include <assert.h>
#include <string.h>

/* State and term, read side by side; either may be missing. */
typedef struct merger {
    tra_scalar_op fold;
    bool has[2];
    tra_reader in[2];
    tra_dims term_ext; /* what lies beyond has the identity */
    double identity;   /* 0: nothing is there where there are no entries */
    tra_dtype t, type; /* in which is computed; of the result */
    tra_strip_fn *strip;
    int64_t first, rows, columns; /* rows from the first to before `rows` are made */
} merger;

static merger merge_of(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    const tra_kernel *k = tra_kernel_first(agg);
    assert(k->cls == TRA_K_FOLD);
    merger m = {.fold = k->fold, .has = {state != NULL, true}, .term_ext = term->array.ext, .type = out->array.dtype};
    if (state) m.in[0] = tra_read_cell(state);
    m.in[1] = tra_read_cell(term);
    m.identity = tra_identity(k->identity, m.type);
    m.t = tra_strip_type(m.type);
    m.strip = tra_strip_fold(m.t, m.fold, true);
    m.rows = tra_rows_box(&out->array.ext);
    if (out->panel[1] > 0) {
        int64_t each = m.rows / tra_max64(1, out->array.ext.v[0]);
        m.first = out->panel[0] * each;
        m.rows = out->panel[1] * each;
    }
    m.columns = tra_last_extent(&out->array.ext);
    return m;
}

/* The number of the term's row that is row `number` of the result; -1: it has none. */
static int64_t term_row(const merger *m, const tra_dims *ext, int64_t number) {
    int64_t row = 0, times = 1;
    for (int d = ext->n - 2; d >= 0; d--) {
        int64_t c = number % ext->v[d];
        if (c >= m->term_ext.v[d]) return -1;
        row += c * times;
        times *= m->term_ext.v[d];
        number /= ext->v[d];
    }
    return row;
}

/* Number of the row at place r of the term, in the result. */
static int64_t result_row(const merger *m, const tra_dims *ext, int64_t r) {
    const tra_reader *in = &m->in[1];
    int64_t number = in->dense ? r : in->v.row[r], stride[TRA_MAXDIM], row;
    tra_dims lead = *ext;
    if (lead.n < 2) return number;
    lead.n--;
    tra_strides(&lead, stride);
    tra_dims box = m->term_ext;
    row = 0;
    for (int d = box.n - 2; d >= 0; d--) {
        row += number % box.v[d] * stride[d];
        number /= box.v[d];
    }
    return row;
}

/* A row of one of them: its entries. */
typedef struct row_of {
    const uint32_t *column;
    int64_t count, first, at, inside; /* inside: columns that it has */
} row_of;

static row_of row_at(const merger *m, int side, int64_t number) {
    row_of x = {.column = NULL};
    if (number < 0 || !m->has[side]) return x;
    x.inside = m->in[side].columns;
    if (!m->in[side].dense) x.column = m->in[side].v.column; /* also of a row without entries */
    x.count = tra_read_row(&m->in[side], number, &x.column, &x.first);
    return x;
}

/* The column of its next entry below limit; limit: there is none. */
static int64_t next_column(const row_of *x, int64_t limit) {
    if (x->at >= x->count) return limit;
    return tra_min64(limit, x->column ? x->column[x->at] : x->at);
}

/* The value at the column as number i of a strip, 0 where there is no entry. */
static void take(const merger *m, int side, row_of *x, int64_t column, void *strip, int64_t i) {
    const tra_reader *in = &m->in[side];
    static const double zero;
    bool is_there = next_column(x, INT64_MAX) == column;
    if (is_there)
        tra_pick(strip, i, m->t, tra_read_values(in), in->cell->array.dtype, x->first + x->at++);
    else
        tra_pick(strip, i, m->t, &zero, TRA_F64, 0);
}

/* A strip of results of type m->t becomes entries. */
static int64_t put(const merger *m, tra_rows_maker *to, int64_t row, const uint32_t *column, const void *v, int64_t n) {
    double own[TRA_STRIP];
    if (m->t != m->type) {
        tra_convert(own, m->type, v, m->t, n);
        v = own;
    }
    return tra_rows_put_strip(to, m->type, row, column, v, n);
}

/* Appends the columns of a row beyond those of the term: where the term has the identity of the fold, which is not 0,
 * the result is the state alone. */
static int64_t beyond(const merger *m, int64_t row, row_of *s, int64_t from, tra_rows_maker *to) {
    double x[TRA_STRIP];
    uint32_t column[TRA_STRIP];
    int64_t entries = 0;
    for (int64_t c = from; c < m->columns;) {
        int64_t n = 0;
        for (; n < TRA_STRIP && c < m->columns; n++) {
            if (m->has[0]) c = next_column(s, m->columns);
            if (c == m->columns) break;
            column[n] = (uint32_t)c;
            if (m->has[0])
                take(m, 0, s, c, x, n);
            else
                tra_strip(m->t)(TRA_S_CONST, (char *)x + (size_t)n * tra_dtype_size(m->t), NULL, NULL, m->identity, 1);
            if (!m->has[0]) c++;
        }
        entries += put(m, to, row, column, x, n);
    }
    return entries;
}

/* Appends the row, or counts its entries (to NULL). */
static int64_t merge_row(const merger *m, int64_t row, row_of *s, row_of *t, tra_rows_maker *to) {
    double x[TRA_STRIP], y[TRA_STRIP];
    uint32_t column[TRA_STRIP];
    int64_t entries = 0, limit = m->identity == 0 ? m->columns : tra_min64(m->columns, t->inside);
    for (bool more = true; more;) {
        int64_t n = 0;
        for (; n < TRA_STRIP; n++) {
            int64_t c = tra_min64(next_column(s, limit), next_column(t, limit));
            more = c < limit;
            if (!more) break;
            column[n] = (uint32_t)c;
            if (m->has[0]) take(m, 0, s, c, x, n);
            take(m, 1, t, c, y, n);
        }
        if (m->has[0]) m->strip(m->fold, y, x, y, 0, n);
        entries += put(m, to, row, column, y, n);
    }
    return limit < m->columns ? entries + beyond(m, row, s, limit, to) : entries;
}

/* The rows in which there may be something, one after the other. */
static int64_t next_row(const merger *m, const tra_dims *ext, int64_t *r, int64_t last) {
    bool whole = m->identity != 0 && !tra_dims_eq(ext, &m->term_ext);
    if (whole || m->columns == 0) return m->columns == 0 ? m->rows : last + 1;
    int64_t next = m->rows;
    for (int side = 0; side < 2; side++) {
        const tra_reader *in = &m->in[side];
        int64_t end = in->dense ? in->rows : in->v.nrows, number = m->rows;
        for (; m->has[side] && r[side] < end; r[side]++) {
            number = side == 1 ? result_row(m, ext, r[1]) : in->dense ? r[0] : in->v.row[r[0]];
            if (number > last) break;
            number = m->rows;
        }
        next = tra_min64(next, number);
    }
    return next;
}

/* The place of the first row from that number on. */
static int64_t first_of(const tra_reader *in, int64_t number) {
    return !in->cell ? 0 : in->dense ? number : tra_rows_from(&in->v, number);
}

/* Calls merge_row for each; to NULL: counts rows and entries. */
static void merge(const merger *m, const tra_dims *ext, tra_rows_maker *to, int64_t *nrows, int64_t *n) {
    int64_t r[2] = {0, 0};
    if (m->first > 0) r[0] = first_of(&m->in[0], m->first);
    if (m->first > 0 && tra_dims_eq(ext, &m->term_ext)) r[1] = first_of(&m->in[1], m->first);
    *nrows = *n = 0;
    for (int64_t row = m->first - 1; (row = next_row(m, ext, r, row)) < m->rows && !tra_cancelled();) {
        row_of s = row_at(m, 0, row), t = row_at(m, 1, term_row(m, ext, row));
        int64_t here = merge_row(m, row, &s, &t, to);
        *nrows += here > 0;
        *n += here;
    }
}

void tra_rows_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    merger m = merge_of(agg, state, term, out);
    int64_t nrows, n;
    merge(&m, &out->array.ext, NULL, &nrows, &n);
    if (!tra_rows_take(out, nrows, n)) return;
    tra_rows_maker to = tra_rows_make(out, nrows, n);
    merge(&m, &out->array.ext, &to, &nrows, &n);
    tra_rows_made(&to);
}
