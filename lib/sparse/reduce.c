/* reduce.c - maps of rows that move entries or fold them: transposes, diagonals, Einstein strings of one operand, row
 * and column folds. Entries are sorted by where they come to; those that come together are folded, and where these are
 * fewer than the elements that they stand for the others, which are 0, take part. */
#include "order.h"
#include "reduce.h"
#include "sums.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool tra_fold_labels_of(const tra_kernel *k, int of, int rank, tra_fold_labels *l) {
    *l = (tra_fold_labels){.rank = rank};
    for (int d = 0; d < rank; d++) l->in[d] = (int8_t)d;
    switch (k->cls) {
    case TRA_K_EINSUM:
        if (k->nin != 1) return false; /* fall through */
    case TRA_K_ALIGNED:
        memcpy(l->in, k->in[of], sizeof l->in);
        memcpy(l->out, k->out, sizeof l->out);
        l->nout = k->nout;
        return k->rank[of] == rank;
    case TRA_K_TRANSPOSE:
        for (l->nout = 0; l->nout < rank; l->nout++) l->out[l->nout] = (int8_t)(rank - 1 - l->nout);
        return true;
    case TRA_K_DIAG: l->in[1] = 0, l->nout = 1; return true;
    case TRA_K_ROW:
        for (; l->nout < rank - 1; l->nout++) l->out[l->nout] = (int8_t)l->nout;
        return true;
    case TRA_K_COL:
        for (; l->nout < rank - 1; l->nout++) l->out[l->nout] = (int8_t)(l->nout + 1);
        return true;
    case TRA_K_SCALAR:
    case TRA_K_OUTER:
    case TRA_K_SOFTMAX:
    case TRA_K_TOP:
    case TRA_K_LAPACK:
    case TRA_K_ROWS:
    case TRA_K_FOLD:
    case TRA_K_INDEX:
    case TRA_K_PACK:
    case TRA_K_PROGRAM:
    case TRA_K_THEN: break;
    }
    return false;
}

bool tra_rows_moves(const tra_kernel *step) {
    return step->cls == TRA_K_TRANSPOSE || step->cls == TRA_K_DIAG || (step->props & TRA_P_MOVES) ||
           (step->cls == TRA_K_ALIGNED && step->nlabels == step->nout);
}

int64_t tra_folded(const tra_fold_labels *l, const tra_dims *in) {
    int64_t n = 1;
    for (int d = 0; d < l->rank; d++)
        if (!memchr(l->out, l->in[d], (size_t)l->nout) && !memchr(l->in, l->in[d], (size_t)d))
            n = tra_mul_most(n, in->v[d]);
    return n;
}

bool tra_rows_reduces(const tra_kernel *step, int rank) {
    tra_fold_labels l;
    return (step->cls != TRA_K_ALIGNED || step->nin == 1) && tra_fold_labels_of(step, 0, rank, &l);
}

void tra_fold_route(const tra_fold_labels *l, const tra_dims *out, tra_route *route) {
    *route = (tra_route){.from = NULL};
    int64_t step = 1;
    memcpy(route->label, l->in, sizeof route->label);
    for (int d = l->nout - 1; d >= 0; d--) {
        int first = 0;
        while (l->in[first] != l->out[d]) first++;
        if (d == l->nout - 1)
            route->column[first] = 1;
        else
            route->row[first] = step, step *= out->v[d];
    }
}

int64_t tra_fold_place(const tra_route *route, const tra_dims *ext, int64_t width, int64_t row) {
    int64_t at = 0;
    if (ext->n == 2) return row * (route->row[0] * width + route->column[0]);
    for (int d = ext->n - 2; d >= 0; row /= ext->v[d], d--)
        at += row % ext->v[d] * (route->row[d] * width + route->column[d]);
    return at;
}

int64_t tra_fold_step(const tra_route *route, const tra_dims *ext, int64_t width) {
    return route->row[ext->n - 1] * width + route->column[ext->n - 1];
}

/* Where results go: a dense array, or rows. */
typedef struct writer {
    tra_array *dense; /* or NULL */
    int64_t last;     /* columns */
    tra_rows_writer rows;
} writer;

static void write_one(writer *w, int64_t row, int64_t column, const void *value) {
    double own[1];
    if (!w->dense) {
        tra_writer_put(&w->rows, row, column, value);
        return;
    }
    tra_unary_strip(w->rows.after, value, w->rows.t, 1, own, w->rows.type);
    tra_store(w->dense->data, w->rows.type, row * w->last + column, 1, own, w->rows.type, 1);
}

/* Nothing is folded: every element is the identity, which is not 0. */
static void all_identity(const tra_kernel *step, int64_t rows, writer *w) {
    int64_t value[1];
    tra_strip(w->rows.t)(TRA_S_CONST, value, NULL, NULL, tra_identity(step->identity, w->rows.after->arg), 1);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < w->last; c++) write_one(w, row, c, value);
}

static void fold_all(const tra_kernel *step, const tra_entry *e, int64_t n, int64_t each, bool moves, int64_t box,
                     writer *w) {
    tra_strip_fn *strip = tra_strip_fold(w->rows.t, step->fold, true);
    static const int64_t zero; /* of either type */
    if (each == 0 && step->fold != TRA_S_ADD && !moves) {
        all_identity(step, w->last ? box : 0, w);
        return;
    }
    for (int64_t i = 0; i < n;) {
        int64_t j = i + 1, sum[1];
        memcpy(sum, &e[i].value, sizeof sum);
        while (!moves && step->fold == TRA_S_MUL && j < n && e[j].row == e[i].row && e[j].column == e[i].column) j++;
        if (!moves && step->fold == TRA_S_MUL && j - i < each) { /* however large the others are */
            i = j;
            continue;
        }
        if (step->fold == TRA_S_MUL) j = i + 1;
        for (; !moves && j < n && e[j].row == e[i].row && e[j].column == e[i].column; j++)
            strip(step->fold, sum, sum, &e[j].value, 0, 1);
        if (!moves && step->fold != TRA_S_ADD && j - i < each) strip(step->fold, sum, sum, &zero, 0, 1);
        write_one(w, e[i].row, e[i].column, sum);
        i = j;
    }
}

/* Fills a dense result with what an element is to which no entry comes: the function after the fold, of 0. */
static void clear_out(const tra_unary *after, tra_array *out) {
    static const double zero;
    double value[1];
    int64_t n = tra_elements_of(&out->ext);
    size_t size = tra_dtype_size(out->dtype);
    memset(out->data, 0, tra_array_bytes(out));
    if (!after->code || n == 0) return;
    tra_unary_strip(after, &zero, TRA_F64, 1, value, out->dtype);
    if (!tra_not_zero(value, out->dtype, 0)) return;
    for (int64_t i = 0; i < n; i++) memcpy((char *)out->data + (size_t)i * size, value, size);
}

/* The function before, of all entries. */
static void apply_before(const tra_unary *f, tra_dtype from, tra_dtype to, tra_entry *e, int64_t n) {
    double v[TRA_STRIP];
    size_t size = tra_dtype_size(from);
    for (int64_t i = 0; f->code && i < n; i += TRA_STRIP) {
        int64_t m = tra_min64(TRA_STRIP, n - i);
        for (int64_t k = 0; k < m; k++) memcpy((char *)v + (size_t)k * size, &e[i + k].value, size);
        tra_unary_strip(f, v, from, m, v, to);
        for (int64_t k = 0; k < m; k++) memcpy(&e[i + k].value, &v[k], sizeof *v);
    }
}

/* ---- into rows --------------------------------------------------------------------------------------------------- */

/* Can the step be added up without sorting? It must be a sum in the type of the elements (f32 is added up in f64),
 * without a function before it, over dimensions of different labels. */
static bool adds_up(const tra_kernel *step, const tra_fold_labels *l, const tra_unary *before, tra_dtype t) {
    if (before->code || step->fold != TRA_S_ADD || l->rank == 0) return false;
    for (int d = 1; d < l->rank; d++)
        if (memchr(l->in, l->in[d], (size_t)d)) return false;
    return t == TRA_F64;
}

/* A result of rows whose box is not much larger than the entries are many: these are added up at their places in it,
 * which are read in order (sums.h), where sorting would take longer. */
static bool has_small_box(const tra_array *out, int64_t entries) {
    enum { FEW = 64, TIMES = 4, LARGE = 1 << 22 }; /* the room for sorting will do; LARGE as in sums.c */
    int64_t box = tra_elements_of(&out->ext);
    return entries >= FEW && box <= LARGE && box <= TIMES * entries;
}

/* to NULL: counts rows and entries. */
static void add_to_rows(const tra_cell *in, const tra_route *route, const tra_unary *after, tra_cell *out,
                        tra_rows_maker *to, int64_t *nrows, int64_t *n, void *scratch) {
    const tra_dims *ext = &in->array.ext;
    tra_rows_view v = tra_rows_of(in);
    tra_dtype t = TRA_F64;
    int64_t width = tra_last_extent(&out->array.ext), step = tra_fold_step(route, ext, width);
    const double one = 1;
    tra_row_part part;
    tra_sums sums = tra_sums_begin(tra_elements_of(&out->array.ext), v.n, t, scratch);
    for (int64_t r = 0; r < v.nrows && !tra_cancelled(); r++) {
        int64_t at = tra_fold_place(route, ext, width, v.row[r]);
        for (int64_t k = v.begin[r], end = v.begin[r + 1]; k < end; k += TRA_STRIP) {
            tra_row_values(v.value, t, v.column, k, tra_min64(TRA_STRIP, end - k), t, &part);
            tra_sums_add_row(&sums, at, step, part.column, part.value, part.n, &one, !to);
        }
    }
    *n = tra_sums_end(&sums, 0, width, after, out->array.dtype, to, nrows);
}

/* Are there so many entries that what sorting takes in scratch has room for putting them in order in pieces? */
static bool is_quick(const tra_cell *in, int64_t box, int64_t columns) {
    int64_t have = tra_project_scratch(tra_rows_of(in).n);
    return tra_can_order(box, columns) && tra_add_most(tra_turn_scratch(tra_rows_of(in).n, false), 64) <= have &&
           tra_ceil_div(box, 8) + 128 <= have;
}

/* Entries that only move, into rows. */
static void move(const tra_cell *in, const tra_route *route, int64_t box, tra_cell *out, void *scratch) {
    tra_ordering all = {.in = in, .route = *route};
    int64_t rows, n = tra_order_count(&all, box, scratch, &rows);
    if (!tra_rows_take(out, rows, n)) return;
    tra_rows_view v = tra_rows_begin(out, rows, n);
    tra_order_entries(&all, 1, box, out->array.dtype, NULL, scratch, &v);
    tra_rows_end(out, v.nrows, v.n);
}

int64_t tra_rows_reduce_scratch(int64_t entries) { return tra_project_scratch(entries); }

int64_t tra_rows_move_scratch(int64_t entries, int64_t box, int64_t columns) {
    int64_t marks = tra_ceil_div(box, 8) + 128, each = tra_project_scratch(1 << 20) >> 20;
    int64_t fixed = tra_turn_scratch(0, false), few = 1 + marks / each; /* fewer are not quick */
    few = tra_max64(few, 1 + fixed / (each - (tra_turn_scratch(1, false) - fixed)));
    if (!tra_can_order(box, columns) || entries <= few) return tra_project_scratch(entries);
    return tra_max64(tra_project_scratch(few), tra_add_most(tra_turn_scratch(entries, false), 64));
}

/* The same as sums at their places (add_to_rows). */
static void make_sums(const tra_cell *in, const tra_route *route, const tra_unary *after, tra_cell *out,
                      void *scratch) {
    int64_t nrows, n;
    add_to_rows(in, route, after, out, NULL, &nrows, &n, scratch);
    if (!tra_rows_take(out, nrows, n)) return;
    tra_rows_maker to = tra_rows_make(out, nrows, n);
    add_to_rows(in, route, after, out, &to, &nrows, &n, scratch);
    tra_rows_made(&to);
}

void tra_rows_reduce(const tra_kernel *step, const tra_unary *before, const tra_unary *after, const tra_cell *in,
                     tra_cell *out, void *scratch) {
    tra_fold_labels l;
    tra_route route;
    bool is_one = tra_fold_labels_of(step, 0, in->array.ext.n, &l), moves = tra_rows_moves(step);
    assert(is_one && in->layout);
    (void)is_one;
    int64_t each = tra_folded(&l, &in->array.ext);
    tra_fold_route(&l, &out->array.ext, &route);
    int64_t rows, entries = -1, box = tra_rows_box(&out->array.ext);
    if (moves && out->layout && !before->code && !after->code && in->array.dtype == out->array.dtype &&
        is_quick(in, box, tra_last_extent(&out->array.ext)))
        return move(in, &route, box, out, scratch);
    if (out->layout && moves && (entries = tra_project_rows(in, &route, box, scratch, &rows)) >= 0 &&
        !tra_rows_take(out, rows, entries))
        return;
    if (adds_up(step, &l, before, in->array.dtype) && !moves && out->layout &&
        has_small_box(&out->array, tra_rows_of(in).n))
        return make_sums(in, &route, after, out, scratch);
    tra_entry *e;
    writer w; /* not initialised as a whole: it is large */
    w.dense = out->layout ? NULL : &out->array;
    w.last = tra_last_extent(&out->array.ext);
    tra_dtype t = tra_dtype_rows[before->code ? tra_unary_type(before) : in->array.dtype].sum;
    tra_dtype load = before->code ? tra_strip_type(in->array.dtype) : t;
    int64_t n = tra_project(in, &route, load, scratch, &e);
    apply_before(before, load, t, e, n);
    tra_writer_begin(&w.rows, NULL, after, t, out->array.dtype);
    if (w.dense) {
        clear_out(after, w.dense);
        fold_all(step, e, n, each, moves, box, &w);
        return;
    }
    if (entries < 0) {
        bool over = tra_overflow; /* of sums that are made again */
        fold_all(step, e, n, each, moves, box, &w);
        tra_overflow = over;
        rows = w.rows.nrows, entries = w.rows.entries;
        if (!tra_rows_take(out, rows, entries)) return;
    }
    tra_rows_maker to = tra_rows_make(out, rows, entries);
    tra_writer_begin(&w.rows, &to, after, t, out->array.dtype);
    fold_all(step, e, n, each, moves, box, &w);
    tra_writer_flush(&w.rows);
    tra_rows_made(&to);
}
