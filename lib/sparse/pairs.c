/* pairs.c - products of rows with rows, summed over labels, into dense arrays: for each entry of one operand the
 * entries of the other that the shared labels lead to. */
#include "order.h"

#include <string.h>

/* Are the labels of the operand the shared ones, and then one of its own? */
static bool leads(const tra_contraction *x, int o) {
    int rank = x->p.rank[o];
    const int8_t *label = x->p.in[o];
    if (rank == 0 || x->has[1 - o][label[rank - 1]]) return false;
    for (int d = 0; d + 1 < rank; d++) {
        if (!x->has[1 - o][label[d]] || label[d] == label[rank - 1]) return false;
        for (int i = 0; i < d; i++)
            if (label[i] == label[d]) return false;
    }
    return true;
}

bool tra_is_natural(const tra_contraction *x, int o) {
    return leads(x, o) && x->in[o]->array.dtype == x->t && x->out->dtype == x->t;
}

void tra_inner_of(const tra_contraction *x, int o, tra_inner *in, void *scratch) {
    const tra_dims *ext = &x->in[o]->array.ext;
    int64_t times = 1;
    *in = (tra_inner){.o = o, .natural = tra_is_natural(x, o)};
    if (in->natural) {
        in->v = tra_rows_of(x->in[o]);
        for (int d = ext->n - 2; d >= 0; times *= ext->v[d], d--) in->times[x->p.in[o][d]] = times;
        return;
    }
    tra_route route = {.from = x->from, .to = x->to};
    for (int l = 0; l < x->p.nlabels; l++)
        if (x->has[o][l] && x->has[1 - o][l]) in->times[l] = times, times *= x->extent[l];
    bool seen[2 * TRA_MAXDIM] = {false};
    for (int d = 0; d < ext->n; d++) {
        int l = x->p.in[o][d];
        route.label[d] = (int8_t)l;
        if (!seen[l]) route.row[d] = in->times[l];
        if (!seen[l] && !x->has[1 - o][l]) route.column[d] = x->sc[l];
        seen[l] = true;
    }
    tra_entry *e;
    in->n = tra_project(x->in[o], &route, x->t, scratch, &e);
    in->e = e;
}

/* The first of the sorted entries whose row is not below. */
int64_t tra_inner_first(const tra_inner *in, int64_t row) {
    int64_t from = 0;
    TRA_BISECT(from, in->n, mid, in->e[mid].row < row);
    return from;
}

/* c[offset] += value times each entry of that row. */
static void add_sorted(const tra_contraction *x, const tra_inner *in, const void *value, int64_t row, int64_t c) {
    for (int64_t k = tra_inner_first(in, row); k < in->n && in->e[k].row == row; k++) {
        int64_t at = c + in->e[k].column;
        double got[2];
        tra_strip_fn *strip;
        switch (x->out->dtype) {
        case TRA_F64: ((double *)x->out->data)[at] += *(const double *)value * in->e[k].value.f64; break;
        case TRA_F32: ((float *)x->out->data)[at] += *(const float *)value * in->e[k].value.f32; break;
        case TRA_WHOLES:
            strip = tra_strip(TRA_I64);
            tra_pick(got, 0, TRA_I64, x->out->data, x->out->dtype, at);
            strip(TRA_S_MUL, got + 1, value, &in->e[k].value, 0, 1);
            strip(TRA_S_ADD, got, got, got + 1, 0, 1);
            tra_store(x->out->data, x->out->dtype, at, 1, got, TRA_I64, 1);
        }
    }
}

/* The same of a row of the operand as it is. *hint: where such a row was found before. */
static void add_natural(const tra_contraction *x, const tra_inner *in, const void *value, int64_t row, int64_t c,
                        const int64_t *at, int64_t *hint) {
    const tra_rows_view *v = &in->v;
    int64_t k, end;
    if (*hint >= v->nrows || v->row[*hint] != row) *hint = tra_rows_from(v, row);
    if (*hint >= v->nrows || v->row[*hint] != row) return;
    tra_entries_at(x, in->o, v, *hint, at, &k, &end);
    size_t size = v->size;
    int64_t sc = x->sc[x->p.in[in->o][x->p.rank[in->o] - 1]];
    tra_row_part part;
    char *to = (char *)x->out->data + (size_t)c * size;
    if (tra_finite(value, x->t, 1)) { /* then entries of value 0 add nothing */
        x->loops->scatter(v->value + (size_t)k * size, v->column + k, end - k, value, to, sc);
        k = end;
    }
    for (; k < end; k += TRA_STRIP) {
        tra_row_values(v->value, x->t, v->column, k, tra_min64(TRA_STRIP, end - k), x->t, &part);
        x->loops->scatter(part.value, part.column, part.n, value, to, sc);
    }
    ++*hint;
}

/* ---- rows that meet rows ---------------------------------------------------------------------------------------- */

/* Have the operands the same labels in the same order, each once? Then an entry meets the one at its own place. */
static bool is_aligned(const tra_contraction *x) {
    const int8_t *a = x->p.in[0], *b = x->p.in[1];
    for (int d = 0; d < x->p.rank[0]; d++)
        if (memchr(a, a[d], (size_t)d)) return false;
    return x->p.rank[0] == x->p.rank[1] && memcmp(a, b, (size_t)x->p.rank[0]) == 0;
}

/* Entries of both operands that meet: where they are, and where their product is added. */
typedef struct meetings {
    int64_t n, at[2][TRA_STRIP], c[TRA_STRIP];
    double sum; /* of products of reals that are still to be added to element `place` */
    int64_t place;
} meetings;

/* A product with a stored 0 is none: it counts as no entry, and adds nothing, whatever the other factor is. */
static void leave_zeros(const tra_contraction *x, const tra_rows_view *v, const meetings *m, char *product) {
    size_t size = tra_dtype_size(x->t);
    for (int64_t i = 0; i < m->n; i++)
        if (!tra_not_zero(v[0].value, x->in[0]->array.dtype, m->at[0][i]) ||
            !tra_not_zero(v[1].value, x->in[1]->array.dtype, m->at[1][i]))
            memset(product + (size_t)i * size, 0, size);
}

/* The sum of n values, in four lanes, so that no addition waits for the one before it, and of floats as doubles: a sum
 * of many would have few digits. */
#define SUM(name, T)                                                                                                   \
    static double name(const T *v, int64_t n) {                                                                        \
        double own[4] = {0};                                                                                           \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= n; k += 4)                                                                                     \
            for (int i = 0; i < 4; i++) own[i] += (double)v[k + i];                                                    \
        for (; k < n; k++) own[0] += (double)v[k];                                                                     \
        return (own[0] + own[1]) + (own[2] + own[3]);                                                                  \
    }
SUM(sum_f64, double)
SUM(sum_f32, float)
#undef SUM

/* Adds the sum to its element. */
static void add_sum(const tra_contraction *x, meetings *m) {
    const tra_array *out = x->out;
    if (out->dtype == TRA_F64) ((double *)out->data)[m->place] += m->sum;
    if (out->dtype == TRA_F32)
        ((float *)out->data)[m->place] = (float)((double)((float *)out->data)[m->place] + m->sum);
    m->sum = 0;
}

/* Adds n products to element `at`. */
static void add_products(const tra_contraction *x, meetings *m, const char *product, int64_t n, int64_t at) {
    const tra_array *out = x->out;
    double got[2];
    if (tra_dtype_is_float(x->t)) {
        if (at != m->place) add_sum(x, m);
        m->place = at;
        m->sum += x->t == TRA_F64 ? sum_f64((const double *)product, n) : sum_f32((const float *)product, n);
        return;
    }
    tra_strip_fn *strip = tra_strip(x->t);
    tra_pick(got, 0, x->t, out->data, out->dtype, at);
    for (int64_t i = 0; i < n; i++) strip(TRA_S_ADD, got, got, product + (size_t)i * tra_dtype_size(x->t), 0, 1);
    tra_store(out->data, out->dtype, at, 1, got, x->t, 1);
}

static void add_meetings(const tra_contraction *x, const tra_rows_view *v, meetings *m) {
    double value[2][TRA_STRIP];
    char *product = (char *)value[0];
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < m->n; i++) tra_pick(value[o], i, x->t, v[o].value, x->in[o]->array.dtype, m->at[o][i]);
    tra_strip(x->t)(TRA_S_MUL, value[0], value[0], value[1], 0, m->n);
    if (!tra_finite(product, x->t, m->n)) leave_zeros(x, v, m, product);
    for (int64_t i = 0, to; i < m->n; i = to) {
        for (to = i + 1; to < m->n && m->c[to] == m->c[i];) to++;
        add_products(x, m, product + (size_t)i * tra_dtype_size(x->t), to - i, m->c[i]);
    }
    m->n = 0;
}

/* Have row r of v and row s of w columns in common? *same: all of them. */
static bool meet(const tra_rows_view *v, int64_t r, const tra_rows_view *w, int64_t s, bool *same) {
    int64_t k = v->begin[r], to = v->begin[r + 1], j = w->begin[s], n = w->begin[s + 1] - j;
    *same = to - k == n && tra_same_columns(v->column + k, w->column + j, n);
    return *same || tra_common_columns(v->column + k, to - k, v->n - to, w->column + j, n) > 0;
}

static void meet_rows(const tra_contraction *x) {
    const tra_rows_view v[2] = {tra_rows_of(x->in[0]), tra_rows_of(x->in[1])};
    int rank = x->p.rank[0], last = rank ? x->p.in[0][rank - 1] : -1;
    int64_t at[2 * TRA_MAXDIM] = {0}, sc = last < 0 ? 0 : x->sc[last], r, end, s = 0;
    meetings m;
    bool often = false, same = false;
    m.n = 0;
    m.sum = 0;
    m.place = 0;
    tra_row_range(x, 0, &v[0], &r, &end);
    for (; r < end && !tra_cancelled(); r++) {
        int64_t k, to, j, ends, c = 0;
        while (s < v[1].nrows && v[1].row[s] < v[0].row[r]) s++;
        if (s == v[1].nrows) break;
        if (v[1].row[s] > v[0].row[r]) continue;
        if (!often && !meet(&v[0], r, &v[1], s, &same)) continue;
        often = !same && r % TRA_OFTEN;
        if (!tra_row_at(x, 0, v[0].row[r], at)) continue;
        for (int d = 0; d + 1 < rank; d++) c += at[x->p.in[0][d]] * x->sc[x->p.in[0][d]];
        tra_entries_at(x, 0, &v[0], r, at, &k, &to);
        tra_entries_at(x, 1, &v[1], s, at, &j, &ends);
        for (; same && k < to; k++, j++) {
            m.at[0][m.n] = k;
            m.at[1][m.n] = j;
            m.c[m.n++] = c + v[0].column[k] * sc;
            if (m.n == TRA_STRIP) add_meetings(x, v, &m);
        }
        same = false;
        while (k < to && j < ends) { /* without branches: which side goes on cannot be predicted */
            uint32_t p = v[0].column[k], q = v[1].column[j];
            m.at[0][m.n] = k;
            m.at[1][m.n] = j;
            m.c[m.n] = c + p * sc;
            m.n += p == q;
            k += p <= q;
            j += q <= p;
            if (m.n == TRA_STRIP) add_meetings(x, v, &m);
        }
    }
    add_meetings(x, v, &m);
    add_sum(x, &m);
}

/* ---- outer products of rows -------------------------------------------------------------------------------------- */

enum { NEAR = 1 << 20 }; /* bytes of a result that stays in the second cache, wherever products are added */

/* Operands as matrices: a row for each value of the shared labels, whose columns are places of the result, at steps. */
typedef struct crossing {
    int64_t box, times[2 * TRA_MAXDIM]; /* of rows; of each shared label in the number of the row */
    int own[2];                         /* the dimension of the only label that the operand alone has; -1: several */
    tra_rows_view v[2];
    int64_t step[2];
    char *room;
    int64_t left; /* bytes of room */
} crossing;

/* Are all elements of the result to be made, none of which depends on a shared label? */
static bool may_cross(const tra_contraction *x, crossing *m) {
    for (int l = 0; l < x->p.nlabels; l++) {
        if (x->from[l] > 0 || x->to[l] < x->extent[l]) return false;
        if (x->has[0][l] && x->has[1][l] && x->sc[l] != 0) return false;
    }
    int first = leads(x, 1) || !leads(x, 0) ? 1 : 0; /* rows are numbered as it has them */
    m->box = 1;
    for (int d = x->p.rank[first] - 1; d >= 0; d--) {
        int l = x->p.in[first][d];
        if (!x->has[1 - first][l] || memchr(x->p.in[first], l, (size_t)d)) continue;
        m->times[l] = m->box;
        m->box = tra_mul_most(m->box, x->extent[l]);
    }
    for (int o = 0; o < 2; o++) {
        int n = 0;
        for (int d = 0; d < x->p.rank[o]; d++)
            if (!x->has[1 - o][x->p.in[o][d]]) n++, m->own[o] = d;
        if (n != 1) m->own[o] = -1;
    }
    return x->out->dtype == x->t && (int64_t)tra_array_bytes(x->out) <= NEAR && m->box <= (int64_t)1 << 32;
}

/* Are the rows of the operand that matrix? */
static bool is_matrix(const tra_contraction *x, int o, const crossing *m) {
    int64_t times = 1;
    if (!leads(x, o)) return false;
    for (int d = x->p.rank[o] - 2; d >= 0; times *= x->extent[x->p.in[o][d]], d--)
        if (m->times[x->p.in[o][d]] != times) return false;
    return true;
}

static bool take(crossing *m, int64_t bytes, int64_t more, char **at) {
    if (tra_add_most(tra_round64(bytes), more) > m->left) return false;
    *at = m->room;
    m->room += tra_round64(bytes);
    m->left -= tra_round64(bytes);
    return true;
}

/* Is it the same matrix as that of the first operand, but for the step? */
static bool is_same(const tra_contraction *x, const crossing *m) {
    const int8_t *a = x->p.in[0], *b = x->p.in[1];
    bool same = x->in[0]->head == x->in[1]->head && x->p.rank[0] == x->p.rank[1] && m->own[0] == m->own[1];
    for (int d = 0; same && d < x->p.rank[0]; d++) same = d == m->own[0] || a[d] == b[d];
    return same && m->own[0] >= 0;
}

/* False: there is no room. */
static bool bring(const tra_contraction *x, int o, crossing *m) {
    const tra_cell *in = x->in[o];
    tra_rows_view *v = &m->v[o];
    char *at;
    m->step[o] = m->own[o] >= 0 ? x->sc[x->p.in[o][m->own[o]]] : 1;
    if (o == 1 && is_same(x, m)) {
        *v = m->v[0];
        return true;
    }
    *v = tra_rows_of(in);
    if (is_matrix(x, o, m) && in->array.dtype == x->t) return true;
    if (is_matrix(x, o, m)) {
        v->size = tra_dtype_size(x->t);
        if (!take(m, (int64_t)v->size * v->n, 0, &at)) return false;
        tra_convert(at, x->t, v->value, in->array.dtype, v->n);
        v->value = at;
        return true;
    }
    tra_ordering all = {.in = in};
    for (int d = 0; d < x->p.rank[o]; d++) {
        int l = x->p.in[o][d];
        all.route.label[d] = (int8_t)l;
        if (memchr(x->p.in[o], l, (size_t)d)) continue;
        if (x->has[1 - o][l])
            all.route.row[d] = m->times[l];
        else
            all.route.column[d] = m->own[o] >= 0 ? 1 : x->sc[l];
    }
    int64_t n = v->n;
    if (!take(m, tra_turn_room(n, m->box), tra_turn_scratch(n, true), &at)) return false;
    tra_order_entries(&all, 1, m->box, x->t, at, m->room, v);
    return true;
}

/* Adds the outer product of each pair of rows to a result that stays in the cache. room: bytes of scratch. False:
 * nothing is done, since the result or the operands do not allow it. */
static bool cross(const tra_contraction *x, void *room, int64_t bytes) {
    crossing m = {.room = room, .left = bytes};
    if (!may_cross(x, &m) || !bring(x, 0, &m) || !bring(x, 1, &m)) return false;
    for (int o = 0; o < 2; o++) /* what is no entry meets what is no number: it adds nothing */
        if (tra_has_zero(m.v[o].value, x->t, m.v[o].n) && !tra_finite(m.v[1 - o].value, x->t, m.v[1 - o].n))
            return false;
    const tra_rows_view *a = &m.v[0], *b = &m.v[1];
    for (int64_t r = 0, s = 0; r < a->nrows && s < b->nrows;) {
        if (a->row[r] != b->row[s]) {
            bool before = a->row[r] < b->row[s];
            r += before, s += !before;
            continue;
        }
        int64_t from = b->begin[s], n = b->begin[s + 1] - from;
        for (int64_t k = a->begin[r]; k < a->begin[r + 1]; k++)
            x->loops->scatter(b->value + (size_t)from * b->size, b->column + from, n, a->value + (size_t)k * a->size,
                              (char *)x->out->data + (size_t)(a->column[k] * m.step[0]) * a->size, m.step[1]);
        r++, s++;
        if (r % TRA_STRIP == 0 && tra_cancelled()) break;
    }
    return true;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

/* Bytes of scratch that there are for these cells. */
static int64_t scratch_of(const tra_contraction *x) {
    if (x->in[0]->array.dtype == x->in[1]->array.dtype && (tra_is_natural(x, 0) || tra_is_natural(x, 1))) return 0;
    return tra_max64(tra_project_scratch(tra_rows_of(x->in[0]).n), tra_project_scratch(tra_rows_of(x->in[1]).n));
}

void tra_contract_pairs(const tra_contraction *x, void *scratch) {
    tra_inner in;
    if (is_aligned(x)) {
        meet_rows(x);
        return;
    }
    if (cross(x, scratch, scratch_of(x))) return;
    int o = tra_is_natural(x, 1) || !tra_is_natural(x, 0) ? 0 : 1, rank = x->p.rank[o];
    tra_inner_of(x, 1 - o, &in, scratch);
    const tra_cell *outer = x->in[o];
    tra_rows_view v = tra_rows_of(outer);
    int last = rank ? x->p.in[o][rank - 1] : -1;
    int64_t at[2 * TRA_MAXDIM] = {0}, first, end, hint = 0;
    size_t size = tra_dtype_size(x->t);
    tra_row_part part;
    tra_row_range(x, o, &v, &first, &end);
    for (int64_t r = first; r < end && !tra_cancelled(); r++) {
        int64_t k, to, row = 0, c = 0;
        if (!tra_row_at(x, o, v.row[r], at)) continue;
        for (int l = 0; l < x->p.nlabels; l++)
            if (x->has[o][l] && l != last) row += at[l] * in.times[l], c += at[l] * x->sc[l];
        for (tra_entries_at(x, o, &v, r, at, &k, &to); k < to; k += TRA_STRIP) {
            tra_row_values(v.value, outer->array.dtype, v.column, k, tra_min64(TRA_STRIP, to - k), x->t, &part);
            for (int64_t i = 0; i < part.n; i++) {
                const void *value = (const char *)part.value + (size_t)i * size;
                int64_t rowi = row, ci = c;
                if (last >= 0) {
                    at[last] = part.column[i];
                    rowi += at[last] * in.times[last];
                    ci += at[last] * x->sc[last];
                }
                if (in.natural)
                    add_natural(x, &in, value, rowi, ci, at, &hint);
                else
                    add_sorted(x, &in, value, rowi, ci);
            }
        }
    }
}

/* Are operands read row by row as they are, without sorting? */
static bool sorts_none(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                       const tra_dims *ext_b) {
    tra_cell in[2] = {{.layout = a->layout, .array = {a->dtype, *ext_a, NULL}},
                      {.layout = b->layout, .array = {b->dtype, *ext_b, NULL}}};
    tra_array out = {a->dtype, {0}, NULL};
    tra_contraction x;
    tra_err e = {0};
    if (tra_kernel_shape2(step, ext_a, ext_b, ext_a, ext_b, &out.ext, NULL, &e) != TRA_OK) return false;
    tra_contraction_of(&x, step, &in[0], &in[1], &out, -1);
    if (is_aligned(&x)) return true;
    if (a->dtype != b->dtype || (a->dtype != TRA_F64 && a->dtype != TRA_I64)) return false;
    return tra_is_natural(&x, 0) || tra_is_natural(&x, 1);
}

int64_t tra_rows_contract_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                  const tra_dims *ext_b) {
    if (!a->layout || !b->layout || sorts_none(step, a, ext_a, b, ext_b)) return 0;
    return tra_max64(tra_project_scratch(tra_most_entries(a, ext_a)), tra_project_scratch(tra_most_entries(b, ext_b)));
}
