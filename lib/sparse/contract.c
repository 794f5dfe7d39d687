/* contract.c - products summed over labels, of rows of entries with dense arrays or other rows, into dense arrays.
 *
 * Labels have strides in the dense operand and in the result. With a dense operand each row of entries meets, for each
 * step of the labels that only the dense one has, what its own labels take it to: where such a label runs on densely
 * in both (the columns of SpMM) its steps are a vector; else a row meets a few steps at a time, so that it and the rows
 * of the result stay in the cache. Two operands of rows: for each entry of one the rows of the other that the shared
 * labels lead to, which is put into that order first where it is not (project.c).
 *
 * An entry of value 0 is as absent as what is no entry. */
#include "contract.h"

#include <assert.h>
#include <string.h>

/* ---- the parts of a contraction ------------------------------------------------------------------------------ */

bool tra_rows_contracts(const tra_kernel *step, const tra_dims *a, const tra_dims *b) {
    tra_product p;
    return tra_kernel_is_product(step, a, b, &p);
}

void tra_contraction_of(tra_contraction *x, const tra_kernel *step, const tra_cell *a, const tra_cell *b,
                        tra_array *out, int tile) {
    const tra_cell *in[2] = {a, b};
    int64_t stride[TRA_MAXDIM];
    bool folds = step->cls == TRA_K_ALIGNED; /* tra_rows_folds */
    tra_kernel as = *step;
    x->fold = folds ? step->fold : TRA_S_ADD;
    if (folds) as.cls = TRA_K_EINSUM, as.fold = TRA_S_ADD;
    bool is_product = tra_kernel_is_product(&as, &a->array.ext, &b->array.ext, &x->p);
    assert(is_product);
    (void)is_product;
    x->out = out;
    x->t = tra_strip_type(out->dtype);
    x->loops = tra_row_loops_of(x->t);
    for (int l = 0; l < x->p.nlabels; l++) x->extent[l] = x->sc[l] = x->from[l] = 0, x->to[l] = INT64_MAX;
    for (int o = 0; o < 2; o++) {
        x->in[o] = in[o];
        for (int l = 0; l < x->p.nlabels; l++) x->s[o][l] = 0, x->has[o][l] = false;
        tra_strides(&in[o]->array.ext, stride);
        for (int d = 0; d < x->p.rank[o]; d++) {
            int l = x->p.in[o][d];
            x->extent[l] = in[o]->array.ext.v[d];
            x->s[o][l] += stride[d];
            x->has[o][l] = true;
        }
    }
    tra_strides(&out->ext, stride);
    for (int d = 0; d < x->p.nout; d++) x->sc[x->p.out[d]] += stride[d];
    if (tile >= 0) tra_contract_range(step, &out->ext, tile, x->from, x->to);
    for (int l = 0; l < x->p.nlabels; l++) x->to[l] = tra_min64(x->to[l], x->extent[l]);
}

bool tra_row_at(const tra_contraction *x, int o, int64_t number, int64_t *at) {
    const tra_dims *ext = &x->in[o]->array.ext;
    const int8_t *label = x->p.in[o];
    int64_t c[TRA_MAXDIM];
    for (int d = ext->n - 2; d >= 0; number /= ext->v[d], d--) {
        c[d] = number % ext->v[d];
        if (c[d] < x->from[label[d]] || c[d] >= x->to[label[d]]) return false;
    }
    for (int d = 0; d + 1 < ext->n; d++) at[label[d]] = c[d];
    for (int d = 0; d + 1 < ext->n; d++) /* a label that is there twice */
        if (at[label[d]] != c[d]) return false;
    return true;
}

void tra_entries_at(const tra_contraction *x, int o, const tra_rows_view *v, int64_t r, const int64_t *at,
                    int64_t *first, int64_t *end) {
    int rank = x->p.rank[o];
    *first = v->begin[r];
    *end = v->begin[r + 1];
    if (rank == 0) return;
    int l = x->p.in[o][rank - 1];
    int64_t from = x->from[l], to = x->to[l];
    for (int d = 0; d + 1 < rank; d++)
        if (x->p.in[o][d] == l) from = at[l], to = at[l] + 1;
    if (from > 0) *first = tra_rows_entry(v, r, from);
    if (to < x->extent[l]) *end = tra_rows_entry(v, r, to);
}

void tra_row_range(const tra_contraction *x, int o, const tra_rows_view *v, int64_t *first, int64_t *end) {
    const tra_dims *ext = &x->in[o]->array.ext;
    int64_t rest = 1;
    *first = 0;
    *end = v->nrows;
    if (ext->n < 2) return;
    for (int d = 1; d + 1 < ext->n; d++) rest *= ext->v[d];
    int l = x->p.in[o][0];
    if (x->from[l] > 0) *first = tra_rows_from(v, x->from[l] * rest);
    if (x->to[l] < x->extent[l]) *end = tra_rows_from(v, x->to[l] * rest);
}

void tra_row_values(const void *value, tra_dtype from, const uint32_t *column, int64_t first, int64_t n, tra_dtype t,
                    tra_row_part *part) {
    part->value = tra_load(value, from, first, 1, n, t, part->own);
    part->column = column + first;
    part->n = n;
    int64_t zeros = 0, m = 0;
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < n; i++) zeros += ((const type *)part->value)[i] == 0;                                  \
        break;
        TRA_DTYPES(X)
#undef X
    }
    if (zeros == 0) return;
    size_t size = tra_dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        if (!tra_not_zero(part->value, t, i)) continue;
        part->columns[m] = part->column[i];
        memmove((char *)part->own + (size_t)m++ * size, (const char *)part->value + (size_t)i * size, size);
    }
    part->value = part->own;
    part->column = part->columns;
    part->n = m;
}

/* Adds x y to c[at] for types that the loops do not have. Where y is a dense 0 of sparse type, the product is 0. */
static void add_slowly(const tra_contraction *x, int64_t at, const void *value, int64_t i, const void *data,
                       tra_dtype t, int64_t k, bool sparse) {
    double got[3];
    if (sparse && !tra_not_zero(data, t, k)) return;
    tra_pick(got, 0, x->t, value, x->t, i);
    tra_pick((char *)(got + 1), 0, x->t, data, t, k);
    tra_pick(got + 2, 0, x->t, x->out->data, x->out->dtype, at);
    tra_strip_fn *strip = tra_strip(x->t);
    strip(TRA_S_MUL, got, got, got + 1, 0, 1);
    strip(TRA_S_ADD, got, got + 2, got, 0, 1);
    tra_store(x->out->data, x->out->dtype, at, 1, got, x->t, 1);
}

/* ---- rows and a dense operand -------------------------------------------------------------------------------- */

enum { STEPS = 8, ENTRIES = 2048 }; /* ENTRIES: that are converted at once */

/* The loops of the labels that only the dense operand has: offsets in it and in the result, and the loop that is made
 * a vector. */
typedef struct steps {
    int s, o; /* which operand is rows, which dense */
    int n;
    int64_t d[STEPS], c[STEPS], width;
    bool vector, careful;    /* careful: no loop takes it */
    bool converts;           /* the dense operand has another type than what is computed in */
    uint32_t place[ENTRIES]; /* 0, 1, ...: of what is gathered; where it converts */
} steps;

static const char *element(const void *data, tra_dtype t, int64_t i) {
    return (const char *)data + i * (int64_t)tra_dtype_size(t);
}

/* Sets out[i], of type t, to data[from + column[i] * s]. */
static void gather(const tra_array *a, int64_t from, int64_t s, const uint32_t *column, int64_t n, tra_dtype t,
                   void *out) {
    switch (a->dtype) {
#define TO(to)                                                                                                         \
    for (int64_t i = 0; i < n; i++) ((to *)out)[i] = (to)data[column[i] * s];
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: {                                                                                                 \
        const type *data = (const type *)a->data + from;                                                               \
        if (t == TRA_F64) {                                                                                            \
            TO(double)                                                                                                 \
        } else if (t == TRA_F32) {                                                                                     \
            TO(float)                                                                                                  \
        } else {                                                                                                       \
            TO(int64_t)                                                                                                \
        }                                                                                                              \
        break;                                                                                                         \
    }
        TRA_DTYPES(X)
#undef X
#undef TO
    }
}

/* Adds entry k of a part of a row times dense elements of another type, from `from` on, to those of the result. */
static void add_converted(const tra_contraction *x, const steps *w, const tra_row_part *row, int64_t k, int64_t from,
                          int64_t to) {
    static const uint32_t here = 0;
    const tra_array *dense = &x->in[w->o]->array;
    double own[TRA_STRIP];
    for (int64_t j = 0; j < w->width; j += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, w->width - j);
        const void *d = tra_load(dense->data, dense->dtype, from + j, 1, n, x->t, own);
        x->loops->add_rows(element(row->value, x->t, k), &here, 1, d, 0,
                           (char *)(uintptr_t)element(x->out->data, x->t, to + j), n);
    }
}

/* Adds the products of a part of a row; the row's other labels lead to d in the dense operand and c in the result. */
static void meet(const tra_contraction *x, const steps *w, const tra_row_part *row, int64_t d, int64_t c, int last) {
    const tra_array *dense = &x->in[w->o]->array;
    int64_t sd = last < 0 ? 0 : x->s[w->o][last], sc = last < 0 ? 0 : x->sc[last];
    bool sparse = x->in[w->o]->sparse, finite = !sparse || tra_finite(row->value, x->t, row->n);
    double got[TRA_STRIP];
    for (int i = 0; i < w->n; i++) {
        int64_t from = d + w->d[i], to = c + w->c[i];
        const void *dp = element(dense->data, dense->dtype, from);
        void *cp = (char *)(uintptr_t)element(x->out->data, x->out->dtype, to);
        if (w->careful || !finite) {
            for (int64_t k = 0; k < row->n; k++)
                for (int64_t j = 0; j < w->width; j++)
                    add_slowly(x, to + row->column[k] * sc + j, row->value, k, dense->data, dense->dtype,
                               from + row->column[k] * sd + j, sparse);
        } else if (w->converts && w->vector) {
            for (int64_t k = 0; k < row->n; k++)
                add_converted(x, w, row, k, from + row->column[k] * sd, to + row->column[k] * sc);
        } else if (w->converts) {
            gather(dense, from, sd, row->column, row->n, x->t, got);
            if (sc == 0) x->loops->dot(row->value, w->place, row->n, got, 1, cp);
            for (int64_t k = 0; sc != 0 && k < row->n; k++)
                x->loops->scatter(element(row->value, x->t, k), row->column + k, 1, element(got, x->t, k), cp, sc);
        } else if (w->vector && sc == 0) {
            x->loops->add_rows(row->value, row->column, row->n, dp, sd, cp, w->width);
        } else if (w->vector || (sc != 0 && sd != 0)) {
            x->loops->spread_rows(row->value, row->column, row->n, dp, sd, cp, sc, w->width);
        } else if (sc == 0) {
            x->loops->dot(row->value, row->column, row->n, dp, sd, cp);
        } else {
            x->loops->scatter(row->value, row->column, row->n, dp, cp, sc);
        }
    }
}

/* All rows of the tile, for some steps. */
static void walk_rows(const tra_contraction *x, const steps *w) {
    const tra_cell *in = x->in[w->s];
    tra_rows_view v = tra_rows_of(in);
    int rank = x->p.rank[w->s], last = rank ? x->p.in[w->s][rank - 1] : -1;
    int64_t at[2 * TRA_MAXDIM] = {0}, from, to;
    tra_row_range(x, w->s, &v, &from, &to);
    tra_row_part part;
    for (int64_t r = from; r < to && !tra_cancelled(); r++) {
        int64_t d = 0, c = 0, k, end;
        if (!tra_row_at(x, w->s, v.row[r], at)) continue;
        tra_entries_at(x, w->s, &v, r, at, &k, &end);
        for (int i = 0; i + 1 < rank; i++) {
            int l = x->p.in[w->s][i];
            bool seen = l == last;
            for (int j = 0; j < i; j++) seen = seen || x->p.in[w->s][j] == l;
            if (!seen) d += at[l] * x->s[w->o][l], c += at[l] * x->sc[l];
        }
        for (; k < end; k += TRA_STRIP) {
            tra_row_values(v.value, in->array.dtype, v.column, k, tra_min64(TRA_STRIP, end - k), x->t, &part);
            meet(x, w, &part, d, c, last);
        }
    }
}

/* Is each row of entries, of one or two labels, to meet one row or column of the dense operand, into one number? */
static bool is_dot(const tra_contraction *x, const steps *w, const tra_nest *rest) {
    int rank = x->p.rank[w->s];
    const int8_t *label = x->p.in[w->s];
    if (rank < 1 || rank > 2 || rest->n > 0 || w->vector || w->careful) return false;
    int l = label[rank - 1];
    return (rank == 1 || label[0] != l) && x->sc[l] == 0 && x->from[l] == 0 && x->to[l] == x->extent[l];
}

enum { NEAR = 512 << 10, ROWS = 2048 }; /* bytes of what stays in a cache; rows between looks at whether to go on */

/* Rows of entries, and the numbers that these meet, of the type that is computed in. */
typedef struct converted {
    tra_rows_view v;
    int64_t begin[ROWS + 1], row[ROWS];
    double value[ENTRIES], met[ENTRIES];
} converted;

/* Converts rows from r on, up to `to`, as far as there is room; gives where they end, which is r where one has more. */
static int64_t convert_rows(const tra_contraction *x, const steps *w, const tra_rows_view *v, int64_t r, int64_t to,
                            converted *as) {
    int64_t end = r, first = v->begin[r];
    while (end < to && v->begin[end + 1] - first <= ENTRIES) end++;
    for (int64_t i = r; i <= end; i++) as->begin[i - r] = v->begin[i] - first;
    as->v = *v;
    as->v.nrows = end - r;
    as->v.begin = as->begin;
    as->v.row += r;
    as->v.column += first;
    as->v.value = (char *)(uintptr_t)tra_load(v->value, x->in[w->s]->array.dtype, first, 1, v->begin[end] - first, x->t,
                                              as->value);
    return end;
}

/* Computes dot products. A sum that is NaN is computed again with care: an entry of value 0, or a 0 of sparse type,
 * may have met NaN or infinity. */
static void walk_dots(const tra_contraction *x, const steps *w) {
    const tra_cell *in = x->in[w->s], *dense = x->in[w->o];
    tra_rows_view v = tra_rows_of(in);
    int rank = x->p.rank[w->s], last = x->p.in[w->s][rank - 1];
    int64_t sd = x->s[w->o][last], row_d = rank == 2 ? x->s[w->o][x->p.in[w->s][0]] : 0;
    int64_t sc = rank == 2 ? x->sc[x->p.in[w->s][0]] : 0, r, to;
    bool far = row_d == 0 && (int64_t)tra_array_bytes(&dense->array) > NEAR;
    const char *d = element(dense->array.data, dense->array.dtype, w->d[0]);
    char *c = (char *)(uintptr_t)element(x->out->data, x->t, w->c[0]);
    bool same = in->array.dtype == x->t && !w->converts;
    converted as;
    tra_row_range(x, w->s, &v, &r, &to);
    while (r < to && !tra_cancelled()) {
        int64_t end = tra_min64(to, r + ROWS), from = r;
        if (same) {
            r = x->loops->dots(&v, r, end, d, sd, row_d, c, sc, far);
        } else {
            end = convert_rows(x, w, &v, r, end, &as);
            for (int64_t i = 0; w->converts && i < end - r; i++)
                gather(&dense->array, w->d[0] + as.v.row[i] * row_d, sd, as.v.column + as.begin[i],
                       as.begin[i + 1] - as.begin[i], x->t,
                       (char *)as.met + (size_t)as.begin[i] * tra_dtype_size(x->t));
            if (w->converts) as.v.column = (uint32_t *)(uintptr_t)w->place;
            r += w->converts ? x->loops->dots(&as.v, 0, end - r, as.met, 1, 0, c, sc, false)
                             : x->loops->dots(&as.v, 0, end - r, d, sd, row_d, c, sc, far);
        }
        if (r == end && r > from) continue;
        tra_row_part part;
        for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k += TRA_STRIP) {
            tra_row_values(v.value, in->array.dtype, v.column, k, tra_min64(TRA_STRIP, v.begin[r + 1] - k), x->t,
                           &part);
            meet(x, w, &part, v.row[r] * row_d, v.row[r] * sc, last);
        }
        r++;
    }
}

/* Is each row of entries to meet one number of the dense operand, and to be added to a row of the result? */
static bool is_scatter(const tra_contraction *x, const steps *w, const tra_nest *rest) {
    const int8_t *label = x->p.in[w->s];
    if (x->p.rank[w->s] != 2 || label[0] == label[1] || rest->n > 0 || w->vector || w->careful) return false;
    return x->sc[label[1]] != 0 && x->s[w->o][label[1]] == 0;
}

/* Computes these. A finite number times an entry of value 0 adds nothing, so only others need care; nor does a 0 of
 * sparse type, whatever it meets. */
static void walk_scatters(const tra_contraction *x, const steps *w) {
    const tra_cell *in = x->in[w->s], *dense = x->in[w->o];
    tra_rows_view v = tra_rows_of(in);
    int l = x->p.in[w->s][0], last = x->p.in[w->s][1];
    int64_t sd = x->s[w->o][l], sc = x->sc[l], step = x->sc[last], r, to;
    bool whole = x->from[last] == 0 && x->to[last] == x->extent[last]; /* rows, not a range of their columns */
    bool same = in->array.dtype == x->t && !w->converts;
    whole = whole && (!w->converts || sc == 0); /* the numbers that are met have places of their own */
    bool far = sc == 0 && (int64_t)tra_array_bytes(x->out) > NEAR;
    const char *d = element(dense->array.data, x->t, w->d[0]);
    char *c = (char *)(uintptr_t)element(x->out->data, x->t, w->c[0]);
    double own[TRA_STRIP], number;
    converted as;
    for (int64_t i = 0; w->converts && i < ROWS; i++) as.row[i] = i;
    tra_row_range(x, w->s, &v, &r, &to);
    while (r < to && !tra_cancelled()) {
        int64_t end = whole ? tra_min64(to, r + ROWS) : r, from = r, k;
        if (whole && same) {
            r = x->loops->scatters(&v, r, end, d, sd, c, step, sc, far, dense->sparse);
        } else if (whole) {
            end = convert_rows(x, w, &v, r, end, &as);
            for (int64_t i = 0; w->converts && i < end - r; i++)
                gather(&dense->array, w->d[0] + as.v.row[i] * sd, 0, w->place, 1, x->t,
                       (char *)as.met + (size_t)i * tra_dtype_size(x->t));
            if (w->converts) as.v.row = as.row;
            r += w->converts ? x->loops->scatters(&as.v, 0, end - r, as.met, 1, c, step, 0, far, dense->sparse)
                             : x->loops->scatters(&as.v, 0, end - r, d, sd, c, step, sc, far, dense->sparse);
        }
        if (r == end && r > from) continue;
        const void *y = tra_load(dense->array.data, dense->array.dtype, w->d[0] + v.row[r] * sd, 1, 1, x->t, &number);
        tra_entries_at(x, w->s, &v, r, NULL, &k, &end); /* no label is there twice */
        if (dense->sparse && !tra_not_zero(y, x->t, 0)) k = end;
        tra_row_part part;
        bool finite = tra_finite(y, x->t, 1);
        for (int64_t n; finite && k < end; k += n) {
            n = tra_min64(TRA_STRIP, end - k);
            x->loops->scatter(tra_load(v.value, in->array.dtype, k, 1, n, x->t, own), v.column + k, n, y,
                              c + (size_t)(v.row[r] * sc) * tra_dtype_size(x->t), step);
        }
        for (; k < end; k += TRA_STRIP) {
            tra_row_values(v.value, in->array.dtype, v.column, k, tra_min64(TRA_STRIP, end - k), x->t, &part);
            meet(x, w, &part, v.row[r] * sd, v.row[r] * sc, last);
        }
        r++;
    }
}

static void with_dense(const tra_contraction *x, int s) {
    steps w = {.s = s, .o = 1 - s, .width = 1};
    tra_nest rest;
    rest.n = 0;
    int64_t off[3] = {0};
    for (int i = 0; i < x->p.nlabels; i++) {
        if (x->has[s][i]) continue;
        int64_t n = x->to[i] - x->from[i];
        if (n <= 0) return;
        off[0] += x->from[i] * x->s[w.o][i];
        off[1] += x->from[i] * x->sc[i];
        tra_nest_add(&rest, n, x->s[w.o][i], x->sc[i], 0);
    }
    tra_nest_coalesce(&rest);
    for (int i = 0; i < rest.n && !w.vector; i++) {
        if (rest.v[i].s[0] != 1 || rest.v[i].s[1] != 1) continue;
        w.vector = true;
        w.width = rest.v[i].n;
        memmove(&rest.v[i], &rest.v[i + 1], (size_t)(--rest.n - i) * sizeof *rest.v);
    }
    w.careful = x->out->dtype != x->t;
    w.converts = x->in[w.o]->array.dtype != x->t;
    for (uint32_t i = 0; w.converts && i < ENTRIES; i++) w.place[i] = i;
    for (bool more = true; more && !tra_cancelled();) {
        for (w.n = 0; w.n < STEPS && more; w.n++) {
            w.d[w.n] = off[0];
            w.c[w.n] = off[1];
            more = tra_nest_next(&rest, off);
        }
        if (is_dot(x, &w, &rest))
            walk_dots(x, &w);
        else if (is_scatter(x, &w, &rest))
            walk_scatters(x, &w);
        else
            walk_rows(x, &w);
    }
}

/* ---- the interface ------------------------------------------------------------------------------------------- */

static bool empty(const tra_contraction *x) {
    for (int l = 0; l < x->p.nlabels; l++)
        if (x->to[l] <= x->from[l]) return true;
    return false;
}

static void clear_out(const tra_kernel *step, tra_array *out, int tile) {
    if (tile < 0)
        memset(out->data, 0, tra_array_bytes(out));
    else
        tra_kernel_tile_zero(step, out, tile);
}

tra_impl tra_rows_contract_way(const tra_cell *a, const tra_cell *b) {
    return a->layout && b->layout ? TRA_IMPL_PAIRS : TRA_IMPL_SPREAD;
}

void tra_rows_contract(const tra_kernel *step, const tra_cell *a, const tra_cell *b, tra_array *out, bool add, int tile,
                       void *scratch) {
    tra_contraction x;
    tra_contraction_of(&x, step, a, b, out, tile);
    if (!add && tra_elements_of(&out->ext) > 0) clear_out(step, out, tile);
    if (empty(&x)) return;
    if (tra_rows_contract_way(a, b) == TRA_IMPL_PAIRS)
        tra_contract_pairs(&x, scratch);
    else
        with_dense(&x, a->layout ? 0 : 1);
}
