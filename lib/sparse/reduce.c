/* reduce.c - maps of rows that move entries or fold them: transposes, diagonals, Einstein strings of one operand, row
 * and column folds. Entries are sorted by where they come to; those that come together are folded, and where these are
 * fewer than the elements that they stand for the others, which are 0, take part. */
#include "../kernel/parallel_sums.h"
#include "order.h"
#include "reduce.h"

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

bool tra_is_diagonal(const tra_fold_labels *l) {
    for (int d = 1; d < l->rank; d++)
        if (memchr(l->in, l->in[d], (size_t)d)) return true;
    return false;
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

/* ---- sums for each row, in their order --------------------------------------------------------------------------- */

typedef struct lines {
    const tra_lines_of *of;
    const tra_row_loops *loops;
    int64_t at[TRA_PIECES + 1];
    tra_rows_pieces rows;
} lines;

/* The sums of a row in which something is no number. */
static void add_line(const lines *x, int64_t r, char *sum) {
    static const uint32_t here = 0;
    const tra_rows_view *v = &x->of->v;
    memset(sum, 0, (size_t)x->of->width * v->size);
    for (int64_t k = v->begin[r]; k < v->begin[r + 1]; k++)
        for (int64_t j = 0; j < x->of->width && tra_not_zero(v->value, x->of->t, k); j++) {
            int64_t at = (int64_t)v->column[k] * x->of->step + j;
            if (x->of->sparse && !tra_not_zero(x->of->inner, x->of->t, at)) continue;
            x->loops->dot(v->value + (size_t)k * v->size, &here, 1, (const char *)x->of->inner + at * (int64_t)v->size,
                          0, sum + (size_t)j * v->size);
        }
}

/* The sums of n rows, one after the other. number: 0, 1, ... */
static void sum_lines(const lines *x, int64_t r, int64_t n, int64_t *number, char *sum) {
    const tra_lines_of *of = x->of;
    tra_rows_view part = of->v;
    int64_t width = of->width;
    memset(sum, 0, (size_t)(n * width) * part.size);
    part.row = number, part.begin += r, part.nrows -= r;
    for (int64_t i = 0; i < n; i++) {
        if (width == 1) {
            i = x->loops->dots(&part, i, n, of->inner, of->step, 0, sum, 1, of->step > 0);
            if (i < n) add_line(x, r + i, sum + (size_t)i * part.size);
            continue;
        }
        char *to = sum + (size_t)(i * width) * part.size;
        int64_t k = part.begin[i];
        x->loops->add_rows(part.value + (size_t)k * part.size, part.column + k, part.begin[i + 1] - k, of->inner,
                           of->step, to, width);
        if (!tra_finite(to, of->t, width)) add_line(x, r + i, to);
    }
}

static void add_lines(void *ctx, int piece, void *scratch) {
    enum { MANY = 1024 };
    lines *x = ctx;
    const tra_lines_of *of = x->of;
    tra_rows_view *to = &x->rows.piece[piece];
    int64_t number[MANY], n = 0, nrows = 0, here, width = of->width;
    size_t size = of->v.size;
    (void)scratch;
    for (int64_t i = 0; i < MANY; i++) number[i] = i;
    for (int64_t r = x->at[piece]; r < x->at[piece + 1] && !tra_cancelled(); r += here) {
        here = tra_min64(tra_max64(1, MANY / width), x->at[piece + 1] - r);
        char *sum = to->value + (size_t)n * size; /* where they stay, but for those of value 0 */
        sum_lines(x, r, here, number, sum);
        bool all = !tra_has_zero(sum, of->t, here * width);
        for (int64_t i = 0; i < here; i++) {
            int64_t first = of->v.row[r + i] * width, row = first / of->columns, column = first - row * of->columns;
            for (int64_t j = 0; j < width; j++, column++) {
                if (column == of->columns) row++, column = 0;
                if (!all && !tra_not_zero(sum, of->t, i * width + j)) continue;
                if (nrows == 0 || to->row[nrows - 1] != row) to->row[nrows] = row, to->begin[nrows++] = n;
                to->column[n] = (uint32_t)column;
                if (!all) tra_turn_value(to->value + (size_t)n * size, sum + (size_t)(i * width + j) * size, size);
                n++;
            }
        }
    }
    to->begin[nrows] = n;
    to->nrows = nrows;
    to->n = n;
}

void tra_rows_lines(const tra_lines_of *of, tra_cell *out) {
    const tra_rows_view *v = &of->v;
    lines x; /* not initialised as a whole: it is large */
    x.of = of, x.loops = tra_row_loops_of(of->t);
    int64_t entries = v->begin[v->nrows] - v->begin[0], steps = tra_max64(8, of->width / 4);
    int n = tra_parallel_row_pieces(v, NULL, tra_parallel_pieces(tra_mul_most(steps, entries)), x.at);
    for (int i = 0; i < n; i++) {
        int64_t most = tra_mul_most(x.at[i + 1] - x.at[i], of->width), rows = 0;
        if (most)
            rows = ((v->row[x.at[i + 1] - 1] + 1) * of->width - 1) / of->columns -
                   v->row[x.at[i]] * of->width / of->columns + 1;
        x.rows.most[i][0] = tra_min64(most, rows);
        x.rows.most[i][1] = most;
    }
    tra_rows_pieces_add(&x.rows, out, n);
    if (!tra_rows_pieces_begin(&x.rows, out)) return;
    tra_parallel(n, add_lines, &x, NULL);
    tra_rows_pieces_end(&x.rows);
}

/* ---- into rows --------------------------------------------------------------------------------------------------- */

/* What entries get instead of their values, at the beginning of the scratch. */
static int64_t mapped_room(int64_t entries, bool mapped) { return mapped ? tra_round64(tra_mul_most(8, entries)) : 0; }

/* Are there so many entries that what sorting takes in scratch has room for putting them in order in pieces? */
static bool is_quick(const tra_cell *in, int64_t box, int64_t columns, bool mapped) {
    int64_t n = tra_rows_of(in).n, have = tra_project_scratch(n) - mapped_room(n, mapped);
    return tra_can_order(box, columns) && tra_add_most(tra_turn_scratch(n, false), 64) <= have &&
           tra_ceil_div(box, 8) + 128 <= have;
}

/* Two functions of the values of entries, one after the other. */
typedef struct mapping {
    const tra_unary *before, *after;
    tra_dtype load, t;  /* in which `before` is computed; of what is between both */
    tra_dtype from, to; /* of the entries and the result */
    const tra_rows_view *v;
    char *value;
    int n; /* pieces */
} mapping;

static void map_piece(void *ctx, int piece, void *scratch) {
    const mapping *x = ctx;
    size_t size = tra_dtype_size(x->to);
    int64_t from = (int64_t)((__int128)x->v->n * piece / x->n), to = (int64_t)((__int128)x->v->n * (piece + 1) / x->n);
    bool zeros = tra_has_zero(x->v->value + (size_t)from * x->v->size, x->from, to - from);
    double own[TRA_STRIP], result[TRA_STRIP];
    (void)scratch;
    for (int64_t k = from; k < to; k += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, to - k);
        char *at = x->value + (size_t)k * size;
        const void *value = tra_load(x->v->value, x->from, k, 1, n, x->load, own);
        if (x->before->code) tra_unary_strip(x->before, value, x->load, n, result, x->t), value = result;
        tra_unary_strip(x->after, value, x->t, n, at, x->to);
        for (int64_t i = 0; zeros && i < n; i++) /* is no entry */
            if (!tra_not_zero(x->v->value, x->from, k + i)) memset(at + (size_t)i * size, 0, size);
    }
}

/* A matrix, transposed, which has no zeros. */
static void turn(const tra_rows_view *in, int64_t columns, tra_cell *out, char *scratch) {
    tra_turn turn;
    int64_t few = tra_turn_few(in, columns, scratch), rows = few;
    if (few < 0) {
        tra_turn_matrix(&turn, in, columns, NULL, scratch);
        rows = tra_turn_sort(&turn);
    }
    if (!tra_rows_take(out, rows, in->n)) return;
    tra_rows_view v = tra_rows_begin(out, rows, in->n);
    if (few < 0)
        tra_turn_write(&turn, &v);
    else
        tra_turn_few_write(in, columns, scratch, &v);
}

/* Entries that only move, into rows; map: to other values. */
static void move(const tra_cell *in, mapping *map, const tra_route *route, int64_t box, tra_cell *out, char *scratch) {
    tra_ordering all = {.in = in, .route = *route};
    tra_rows_view of = tra_rows_of(in);
    if (map) {
        map->v = &of;
        map->value = scratch;
        map->n = tra_parallel_pieces(tra_mul_most(8, of.n));
        scratch += mapped_room(of.n, true);
        tra_parallel(map->n, map_piece, map, NULL);
        all.value = map->value, all.type = map->to;
    }
    tra_rows_view from = of;
    if (map) from.value = map->value, from.size = tra_dtype_size(map->to);
    bool plain = in->array.ext.n == 2 && out->array.ext.n == 2 && route->row[1] == 1 && route->column[0] == 1;
    if (plain && !tra_has_zero(from.value, out->array.dtype, of.n)) return turn(&from, box, out, scratch);
    int64_t rows, n = tra_order_count(&all, box, scratch, &rows);
    if (!tra_rows_take(out, rows, n)) return;
    tra_rows_view v = tra_rows_begin(out, rows, n);
    tra_order_entries(&all, 1, box, out->array.dtype, NULL, scratch, &v);
    tra_rows_end(out, v.nrows, v.n);
}

int64_t tra_rows_reduce_scratch(int64_t entries) { return tra_project_scratch(entries); }

int64_t tra_rows_move_scratch(int64_t entries, int64_t box, int64_t columns, bool mapped) {
    int64_t marks = tra_ceil_div(box, 8) + 256, each = (tra_project_scratch(1 << 20) >> 20) - (mapped ? 8 : 0);
    int64_t fixed = tra_turn_scratch(0, false), few = 1 + marks / each; /* fewer are not quick */
    few = tra_max64(few, 1 + fixed / (each - (tra_turn_scratch(1, false) - fixed)));
    if (!tra_can_order(box, columns) || entries <= few) return tra_project_scratch(entries);
    int64_t quick = tra_add_most(tra_turn_scratch(entries, false), 64 + mapped_room(entries, mapped));
    return tra_max64(tra_project_scratch(few), tra_min64(TRA_SIZE_MOST, quick));
}

/* Makes the result densely in scratch, and rows of it; false: its box is too much larger than entries are many. */
static bool fold_densely(const tra_kernel *step, const tra_unary *before, const tra_unary *after, const tra_cell *in,
                         tra_cell *out, char *scratch) {
    enum { FEW = 64 };
    tra_total t = {.step = step, .nargs = 1, .code = before->code, .wide = before->wide, .after = *after};
    int64_t n = tra_rows_of(in).n, have = tra_project_scratch(n), box = tra_elements_of(&out->array.ext);
    tra_array dense = {out->array.dtype, out->array.ext, (void *)tra_round64((int64_t)(uintptr_t)scratch)};
    int64_t need = tra_add_most(tra_mul_most(8, box), 128);
    if (n < FEW || need >= have) return false;
    char *rest = (char *)dense.data + tra_round64(8 * box);
    if (tra_add_most(need, tra_rows_total_scratch(&t, in->array.dtype, &in->array.ext, n)) > have) return false;
    tra_rows_total(&t, &in, NULL, &dense, rest);
    tra_rows_fill(&dense, out);
    return true;
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
    tra_dtype t = tra_dtype_rows[before->code ? tra_unary_type(before) : in->array.dtype].sum;
    tra_dtype load = before->code ? tra_strip_type(in->array.dtype) : t;
    bool mapped = before->code || after->code || in->array.dtype != out->array.dtype;
    mapping map = {before, after, load, t, in->array.dtype, out->array.dtype, NULL, NULL, 0};
    if (moves && !tra_is_diagonal(&l) && out->layout && is_quick(in, box, tra_last_extent(&out->array.ext), mapped))
        return move(in, mapped ? &map : NULL, &route, box, out, scratch);
    if (out->layout && moves && (entries = tra_project_rows(in, &route, box, scratch, &rows)) >= 0 &&
        !tra_rows_take(out, rows, entries))
        return;
    bool in_order = l.nout + 1 == l.rank && memcmp(l.in, l.out, (size_t)l.nout) == 0 &&
                    !memchr(l.in, l.in[l.rank - 1], (size_t)l.nout);
    bool plain = !before->code && !after->code && in->array.dtype == TRA_F64;
    if (in_order && plain && !moves && out->layout && step->fold == TRA_S_ADD) {
        static const double one = 1;
        tra_lines_of of = {tra_rows_of(in), TRA_F64, &one, 0, 1, tra_max64(1, tra_last_extent(&out->array.ext)), false};
        tra_rows_lines(&of, out);
        return;
    }
    if (!moves && out->layout && fold_densely(step, before, after, in, out, scratch)) return;
    tra_entry *e;
    writer w; /* not initialised as a whole: it is large */
    w.dense = out->layout ? NULL : &out->array;
    w.last = tra_last_extent(&out->array.ext);
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
