/* product.c - products of two operands, summed over labels, whose result is rows: row by row of it (Gustavson's order).
 *
 * The outer operand is the one that has more of the result's first labels; these make a group of its entries, all that
 * contributes to one part of the result: a row, or the rows that these labels have in common. For each entry of the
 * group the other operand's entries that the shared labels lead to are added up at their places in that part (sums.h),
 * which is then read in order. An operand of rows whose order does not fit is sorted first (project.c). */
#include "matmul.h"
#include "sums.h"

#include <assert.h>
#include <string.h>

typedef struct run {
    tra_contraction x;                      /* sc: of labels, the steps in a part of the result */
    int o, np;                              /* outer operand; how many of the result's first labels make the groups */
    int64_t parts, box, columns, rows_each; /* groups; places of a part, its columns and rows */
    int64_t panel[2];                       /* coordinates of the result's first dimension that are made */
    bool count, skip; /* skip: zeros of a dense outer operand, for they meet nothing but numbers */
    tra_cell *out;
    tra_rows_maker *to;
    const tra_unary *after;
    tra_sums sums;
    tra_inner inner; /* where the inner operand is rows */
    tra_nest nest;   /* else its own labels: steps in it (s[0]) and in the part (s[1]) */
    int64_t hint, nrows, n;
    int64_t at[2 * TRA_MAXDIM];
} run;

/* The parts of the result: sets sc, and the sizes. */
static void set_parts(run *w, const tra_dims *out) {
    w->parts = w->box = w->rows_each = 1;
    w->columns = tra_last_extent(out);
    for (int l = 0; l < w->x.p.nlabels; l++) w->x.sc[l] = 0;
    for (int d = w->x.p.nout - 1; d >= w->np; d--) {
        w->x.sc[w->x.p.out[d]] = w->box;
        w->box = tra_mul_most(w->box, out->v[d]);
        if (d + 1 < w->x.p.nout) w->rows_each = tra_mul_most(w->rows_each, out->v[d]);
    }
    for (int d = 0; d < w->np; d++) w->parts *= out->v[d];
}

/* How many places of a part may be touched. */
static int64_t touched_most(const run *w, int64_t outer, int64_t inner) {
    bool own = false;
    for (int d = w->np; d < w->x.p.nout; d++) own = own || w->x.has[w->o][w->x.p.out[d]];
    return tra_min64(w->box, own ? tra_mul_most(outer, inner) : inner);
}

/* ---- one entry of the outer operand --------------------------------------------------------------------------- */

static void meet_dense(run *w, const void *value, int64_t row, int64_t place) {
    const tra_cell *in = w->x.in[1 - w->o];
    bool finite = tra_finite(value, w->x.t, 1);
    int64_t off[3] = {row, place, 0};
    double y;
    const tra_loop *run = &w->nest.v[0]; /* all of it, where it is */
    if (w->nest.n == 1 && run->s[0] == 1 && run->s[1] == 1 && !w->sums.table && w->x.t == TRA_F64 &&
        in->array.dtype == TRA_F64 && finite && *(const double *)value != 0) {
        const double *from = (const double *)in->array.data + row;
        tra_sums_add_range(&w->sums, place, w->count ? NULL : from, run->n, *(const double *)value);
        return;
    }
    do {
        if (!tra_not_zero(in->array.data, in->array.dtype, off[0]) && (in->sparse || finite)) continue;
        if (w->count) {
            if (w->sums.table)
                tra_sums_slot(&w->sums, off[1]);
            else
                tra_sums_touch(&w->sums, off[1]);
            continue;
        }
        tra_pick(&y, 0, w->x.t, in->array.data, in->array.dtype, off[0]);
        tra_sums_add(&w->sums, off[1], &y, value);
    } while (tra_nest_next(&w->nest, off));
}

static void meet_sorted(run *w, const void *value, int64_t row, int64_t place) {
    const tra_inner *in = &w->inner;
    for (int64_t k = tra_inner_first(in, row); k < in->n && in->e[k].row == row; k++)
        tra_sums_add(&w->sums, place + in->e[k].column, &in->e[k].value, value);
}

static void meet_natural(run *w, const void *value, int64_t row, int64_t place) {
    const tra_inner *in = &w->inner;
    const tra_rows_view *v = &in->v;
    int64_t step = w->x.sc[w->x.p.in[in->o][w->x.p.rank[in->o] - 1]];
    if (w->hint >= v->nrows || v->row[w->hint] != row) w->hint = tra_rows_from(v, row);
    if (w->hint >= v->nrows || v->row[w->hint] != row) return;
    tra_row_part part;
    for (int64_t k = v->begin[w->hint], end = v->begin[w->hint + 1]; k < end; k += TRA_STRIP) {
        tra_row_values(v->value, w->x.t, v->column, k, tra_min64(TRA_STRIP, end - k), w->x.t, &part);
        tra_sums_add_row(&w->sums, place, step, part.column, part.value, part.n, value, w->count);
    }
    w->hint++;
}

/* Adds the products of one entry of the outer operand, whose labels have the values w->at, with all that it meets. */
static void meet(run *w, const void *value) {
    const tra_contraction *x = &w->x;
    bool dense = !x->in[1 - w->o]->layout;
    int64_t row = 0, place = 0;
    for (int l = 0; l < x->p.nlabels; l++) {
        if (!x->has[w->o][l]) continue;
        row += w->at[l] * (dense ? x->s[1 - w->o][l] : w->inner.times[l]);
        place += w->at[l] * x->sc[l];
    }
    if (dense)
        meet_dense(w, value, row, place);
    else if (w->inner.natural)
        meet_natural(w, value, row, place);
    else
        meet_sorted(w, value, row, place);
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

static void end_part(run *w, int64_t part) {
    int64_t nrows;
    w->n += tra_sums_end(&w->sums, part * w->rows_each, w->columns, w->after, w->out->array.dtype,
                         w->count ? NULL : w->to, &nrows);
    w->nrows += nrows;
}

static void walk_in_order(run *w) {
    const tra_contraction *x = &w->x;
    const tra_cell *in = x->in[w->o];
    tra_rows_view v = tra_rows_of(in);
    if (w->np > 0) v = tra_rows_within(&v, &in->array.ext, w->panel);
    int rank = x->p.rank[w->o], last = rank ? x->p.in[w->o][rank - 1] : -1;
    int64_t rest = 1, open = -1;
    size_t size = tra_dtype_size(x->t);
    tra_row_part part;
    for (int d = w->np; d + 1 < rank; d++) rest *= in->array.ext.v[d];
    for (int64_t r = 0; r < v.nrows && !tra_cancelled(); r++) {
        int64_t k, end, group = v.row[r] / rest;
        if (!tra_row_at(x, w->o, v.row[r], w->at)) continue;
        if (group != open && open >= 0) end_part(w, open);
        open = group;
        for (tra_entries_at(x, w->o, &v, r, w->at, &k, &end); k < end; k += TRA_STRIP) {
            tra_row_values(v.value, in->array.dtype, v.column, k, tra_min64(TRA_STRIP, end - k), x->t, &part);
            for (int64_t i = 0; i < part.n; i++) {
                if (last >= 0) w->at[last] = part.column[i];
                meet(w, (const char *)part.value + (size_t)i * size);
            }
        }
    }
    if (open >= 0) end_part(w, open);
}

/* The labels of the outer operand that make no groups, each once. */
static int rest_of(const run *w, int *label) {
    int n = 0;
    for (int l = 0; l < w->x.p.nlabels; l++) {
        bool groups = false;
        for (int d = 0; d < w->np; d++) groups = groups || w->x.p.out[d] == l;
        if (w->x.has[w->o][l] && !groups) label[n++] = l;
    }
    return n;
}

static void group_at(run *w, int64_t group) {
    for (int d = w->np - 1; d >= 0; d--) {
        int l = w->x.p.out[d];
        w->at[l] = group % w->x.extent[l];
        group /= w->x.extent[l];
    }
}

static void walk_sorted(run *w, void *scratch) {
    const tra_contraction *x = &w->x;
    int label[2 * TRA_MAXDIM], n = rest_of(w, label);
    int64_t times[2 * TRA_MAXDIM] = {0}, rest[2 * TRA_MAXDIM] = {0}, step = 1, open = -1;
    bool seen[2 * TRA_MAXDIM] = {false};
    for (int d = w->np - 1; d >= 0; d--) times[x->p.out[d]] = step, step *= x->extent[x->p.out[d]];
    step = 1;
    for (int i = n - 1; i >= 0; i--) rest[label[i]] = step, step *= x->extent[label[i]];
    int64_t from[2 * TRA_MAXDIM] = {0}, to[2 * TRA_MAXDIM];
    tra_route route = {.from = from, .to = to};
    memcpy(to, x->extent, sizeof to);
    if (w->np > 0) from[x->p.out[0]] = w->panel[0], to[x->p.out[0]] = w->panel[1];
    for (int d = 0; d < x->p.rank[w->o]; d++) {
        int l = x->p.in[w->o][d];
        route.label[d] = (int8_t)l;
        if (!seen[l]) route.row[d] = times[l], route.column[d] = rest[l];
        seen[l] = true;
    }
    tra_entry *e;
    int64_t entries = tra_project(x->in[w->o], &route, x->t, scratch, &e);
    for (int64_t k = 0; k < entries && !tra_cancelled(); k++) {
        if (e[k].row != open) {
            if (open >= 0) end_part(w, open);
            open = e[k].row;
            group_at(w, open);
        }
        int64_t left = e[k].column;
        for (int i = n - 1; i >= 0; i--) {
            w->at[label[i]] = left % x->extent[label[i]];
            left /= x->extent[label[i]];
        }
        meet(w, &e[k].value);
    }
    if (open >= 0) end_part(w, open);
}

static void walk_dense(run *w) {
    const tra_contraction *x = &w->x;
    const tra_cell *in = x->in[w->o];
    int label[2 * TRA_MAXDIM], n = rest_of(w, label);
    double value;
    int64_t each = w->np > 0 ? w->parts / tra_max64(1, x->out->ext.v[0]) : w->parts;
    int64_t first = w->np > 0 ? w->panel[0] * each : 0, end = w->np > 0 ? w->panel[1] * each : w->parts;
    for (int64_t part = first; part < end && !tra_cancelled(); part++) {
        group_at(w, part);
        for (int i = 0; i < n; i++) w->at[label[i]] = 0;
        for (bool more = true; more;) {
            int64_t at = 0;
            for (int l = 0; l < x->p.nlabels; l++)
                if (x->has[w->o][l]) at += w->at[l] * x->s[w->o][l];
            if (tra_not_zero(in->array.data, in->array.dtype, at) || !w->skip) {
                tra_pick(&value, 0, x->t, in->array.data, in->array.dtype, at);
                meet(w, &value);
            }
            int i = n - 1;
            for (; i >= 0 && ++w->at[label[i]] == x->extent[label[i]]; i--) w->at[label[i]] = 0;
            more = i >= 0;
        }
        end_part(w, part);
    }
}

/* The labels that only the dense inner operand has. */
static void make_nest(run *w) {
    w->nest.n = 0;
    for (int l = 0; l < w->x.p.nlabels; l++)
        if (!w->x.has[w->o][l]) tra_nest_add(&w->nest, w->x.extent[l], w->x.s[1 - w->o][l], w->x.sc[l], 0);
    tra_nest_coalesce(&w->nest);
}

/* Does each row of the outer operand meet dense rows of the inner one, and make the next elements of the result? */
static bool is_lines(run *w) {
    const tra_contraction *c = &w->x;
    const tra_cell *outer = c->in[w->o], *inner = c->in[1 - w->o];
    int rank = c->p.rank[w->o], last = rank ? c->p.in[w->o][rank - 1] : -1;
    if (!outer->layout || inner->layout || rank < 2 || c->p.nout < rank - 1 || w->after->code) return false;
    if (c->fold != TRA_S_ADD || outer->array.dtype != c->t || inner->array.dtype != c->t || w->out->array.dtype != c->t)
        return false;
    for (int d = 0; d + 1 < rank; d++) /* the first labels of the result, which the inner operand lacks */
        if (c->p.in[w->o][d] != c->p.out[d] || c->p.out[d] == last || c->has[1 - w->o][c->p.out[d]]) return false;
    if (!c->has[1 - w->o][last]) return false;
    if (c->p.nout == rank - 1) return c->p.rank[1 - w->o] == 1;
    if (w->np != rank - 1 || c->sc[last] != 0) return false;
    make_nest(w);
    const tra_loop *run = &w->nest.v[0];
    return w->nest.n == 1 && run->s[0] == 1 && run->s[1] == 1 && run->n == w->box;
}

static void make_lines(const run *w, tra_cell *out) {
    const tra_contraction *c = &w->x;
    const tra_cell *outer = c->in[w->o], *inner = c->in[1 - w->o];
    int rank = c->p.rank[w->o];
    tra_rows_view all = tra_rows_of(outer);
    bool vector = c->p.nout == rank - 1;
    tra_lines_of of = {.v = all, .t = c->t, .inner = inner->array.data, .sparse = inner->sparse};
    if (w->np > 0) of.v = tra_rows_within(&all, &outer->array.ext, w->panel);
    of.step = c->s[1 - w->o][c->p.in[w->o][rank - 1]];
    of.width = vector ? 1 : w->box;
    of.columns = tra_max64(1, tra_last_extent(&out->array.ext));
    tra_rows_lines(&of, out);
}

/* ---- the interface ------------------------------------------------------------------------------------------- */

/* Scratch: first the sums, then the outer operand sorted, then the inner one. */
static int64_t round64(int64_t n) { return n >= TRA_SIZE_MOST ? TRA_SIZE_MOST : (n + 63) / 64 * 64; }

int64_t tra_rows_product_scratch(const tra_kernel *step, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                                 const tra_dims *ext_b) {
    tra_cell in[2] = {{.layout = a->layout, .array = {a->dtype, *ext_a, NULL}},
                      {.layout = b->layout, .array = {b->dtype, *ext_b, NULL}}};
    tra_array out = {tra_strip_type(tra_kernel_dtype(step, TRA_USE_JOIN, a->dtype, b->dtype)), {0}, NULL};
    tra_err e = {0};
    run w;
    if (tra_kernel_shape2(step, ext_a, ext_b, ext_a, ext_b, &out.ext, NULL, &e) != TRA_OK) return 0;
    int64_t most[2] = {tra_most_entries(a, ext_a), tra_most_entries(b, ext_b)}, n = 0;
    tra_contraction_of(&w.x, step, &in[0], &in[1], &out, -1);
    w.o = tra_outer_of(&w.x, (const bool[2]){a->layout, b->layout});
    w.np = tra_prefix_in(&w.x, w.o);
    set_parts(&w, &out.ext);
    n = round64(tra_sums_scratch(w.box, touched_most(&w, most[w.o], most[1 - w.o])));
    for (int o = 0; o < 2; o++)
        if (in[o].layout) n = tra_add_most(n, round64(tra_project_scratch(most[o])));
    tra_matrices m;
    if (tra_matrices_of(&w.x, w.o, w.np, &out.ext, &m))
        n = tra_add_most(tra_round64(tra_matmul_scratch(m.box)),
                         tra_matrices_room(&m, m.shared, (const int64_t[2]){most[w.o], most[1 - w.o]}));
    return tra_min64(n, TRA_SIZE_MOST);
}

/* Goes through the product once. */
static void go(run *w, char *scratch) {
    const tra_cell *outer = w->x.in[w->o], *inner = w->x.in[1 - w->o];
    int64_t touched = touched_most(w, tra_entries_of(outer), tra_entries_of(inner));
    w->nrows = w->n = w->hint = 0;
    memset(w->at, 0, sizeof w->at);
    w->sums = tra_sums_begin(w->box, touched, w->x.t, scratch);
    scratch += round64(tra_sums_scratch(w->box, touched));
    if (inner->layout) {
        tra_inner_of(&w->x, 1 - w->o, &w->inner, scratch);
        scratch += round64(tra_project_scratch(tra_entries_of(inner)));
        w->skip = outer->sparse || tra_finite(tra_rows_of(inner).value, inner->array.dtype, tra_rows_of(inner).n);
    } else {
        make_nest(w);
    }
    if (!outer->layout)
        walk_dense(w);
    else if (tra_in_order(&w->x, w->o, w->np))
        walk_in_order(w);
    else
        walk_sorted(w, scratch);
}

/* Of extents that may be larger than those of the term at hand. */
static void set_panel(run *w, const tra_cell *out) {
    int64_t all = out->array.ext.n ? out->array.ext.v[0] : 1;
    bool some = out->panel[1] > 0;
    w->panel[0] = some ? tra_min64(all, out->panel[0]) : 0;
    w->panel[1] = some ? tra_min64(all, out->panel[1]) : all;
}

bool tra_rows_product_by_panels(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const tra_cell *out) {
    tra_contraction x;
    tra_array shape = {tra_strip_type(out->array.dtype), out->array.ext, NULL};
    tra_contraction_of(&x, step, a, b, &shape, -1);
    return out->array.ext.n > 1 && tra_prefix_in(&x, tra_outer_of(&x, (const bool[2]){a->layout, b->layout})) > 0;
}

static void begin(run *w, const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                  tra_array *shape) {
    tra_contraction_of(&w->x, step, a, b, shape, -1);
    w->o = tra_outer_of(&w->x, (const bool[2]){a->layout, b->layout});
    w->np = tra_prefix_in(&w->x, w->o);
    w->after = after;
    set_parts(w, &shape->ext);
}

static tra_impl way_of(run *w, const tra_dims *out, tra_matrices *m) {
    if (is_lines(w)) return TRA_IMPL_WIDE;
    return tra_matrices_of(&w->x, w->o, w->np, out, m) ? TRA_IMPL_MATMUL : TRA_IMPL_SUMS;
}

tra_impl tra_rows_product_way(const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                              const tra_cell *out) {
    run w;
    tra_matrices m;
    tra_array shape = {tra_strip_type(after->arg), out->array.ext, NULL};
    w.out = (tra_cell *)(uintptr_t)out;
    begin(&w, step, after, a, b, &shape);
    return way_of(&w, &out->array.ext, &m);
}

void tra_rows_product(const tra_kernel *step, const tra_unary *after, const tra_cell *a, const tra_cell *b,
                      tra_cell *out, void *scratch) {
    run w;
    tra_array shape = {tra_strip_type(after->arg), out->array.ext, NULL};
    w.out = out;
    begin(&w, step, after, a, b, &shape);
    set_panel(&w, out);
    bool none = w.np > 0 && w.panel[0] == w.panel[1];
    for (int l = 0; l < w.x.p.nlabels; l++) none = none || w.x.extent[l] == 0;
    w.count = true;
    tra_matrices m;
    tra_impl way = none ? TRA_IMPL_SUMS : way_of(&w, &out->array.ext, &m);
    if (way == TRA_IMPL_WIDE) return make_lines(&w, out);
    if (way == TRA_IMPL_MATMUL) {
        char *room = (char *)scratch + tra_round64(tra_matmul_scratch(m.box));
        tra_matrices_sum(&m, 1, after, NULL, out, false, room, scratch);
        return;
    }
    w.nrows = w.n = 0;
    if (!none) go(&w, scratch);
    if (!tra_rows_take(out, w.nrows, w.n)) return;
    tra_rows_maker to = tra_rows_make(out, w.nrows, w.n);
    w.count = false;
    w.to = &to;
    if (w.n > 0) go(&w, scratch);
    tra_rows_made(&to);
}
