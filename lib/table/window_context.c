/* window_context.c - rows of a part of a sorted table among what their functions need of other parts: summaries of
 * parts, what a part reaches, and the rows that it takes. */
#include "window_context.h"

#include "table_int.h"
#include "window_int.h"

#include <string.h>

static int64_t *wholes(const tra_batch *b, int column) { return b->v[column].values; }

/* Rows are compared by the keys, or by keys and order, n columns of both. */
static int compare(const tra_window *x, const tra_batch *a, int64_t i, const tra_batch *b, int64_t j, int n) {
    const tra_row_view l = {a, x->column}, r = {b, x->column};
    return tra_rows_compare(&l, i, &r, j, n, x->desc);
}

static bool same_group(const tra_window *x, const tra_batch *b, int64_t i, int64_t j) {
    return compare(x, b, i, b, j, x->nkeys) == 0;
}

/* Where the rows end that are equal to row `from` by n columns, among rows up to `end`. */
static int64_t end_of(const tra_window *x, const tra_batch *b, int64_t from, int64_t end, int n) {
    int64_t low = from + 1, high = end;
    TRA_BISECT(low, high, middle, compare(x, b, middle, b, from, n) == 0);
    return low;
}

/* Where those begin that are equal to row `last`, from row `from` on. */
static int64_t begin_of(const tra_window *x, const tra_batch *b, int64_t from, int64_t last, int n) {
    int64_t low = from, high = last;
    TRA_BISECT(low, high, middle, compare(x, b, middle, b, last, n) != 0);
    return low;
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

/* Rows [from, to) of a part, as rows of its summary. */
typedef struct piece {
    int64_t from, to;
} piece;

static int add_piece(piece *v, int n, int64_t from, int64_t to) {
    if (from >= to) return n;
    v[n] = (piece){from, to};
    return n + 1;
}

/* The rows [from, to) of one group: the ends of the group, and of its first and last ties, are rows. */
static int add_group(const tra_window *x, const tra_batch *b, int64_t from, int64_t to, piece *v, int n) {
    int nby = x->nkeys + x->norder;
    int64_t first = end_of(x, b, from, to, nby), last = begin_of(x, b, from, to - 1, nby);
    n = add_piece(v, n, from, from + 1);
    if (!x->context->bundles) return add_piece(v, n, tra_max64(from + 1, to - 1), to);
    if (first == to) {
        n = add_piece(v, n, from + 1, to - 1);
        return add_piece(v, n, tra_max64(from + 1, to - 1), to);
    }
    n = add_piece(v, n, from + 1, first - 1);
    n = add_piece(v, n, tra_max64(from + 1, first - 1), first);
    n = add_piece(v, n, first, last);
    n = add_piece(v, n, last, last + 1);
    n = add_piece(v, n, last + 1, to - 1);
    return add_piece(v, n, tra_max64(last + 1, to - 1), to);
}

static int find_pieces(const tra_window *x, const tra_batch *b, piece *v) {
    if (b->rows == 0) return 0;
    int64_t first = end_of(x, b, 0, b->rows, x->nkeys), last = begin_of(x, b, 0, b->rows - 1, x->nkeys);
    int n = add_group(x, b, 0, first, v, 0);
    return last > 0 ? add_group(x, b, last, b->rows, v, n) : n;
}

static int64_t count_ties(const tra_window *x, const tra_batch *b, const piece *p) {
    int64_t n = 1;
    for (int64_t i = p->from + 1; x->context->counts_ties && i < p->to; i++)
        n += compare(x, b, i - 1, b, i, x->nkeys + x->norder) != 0;
    return n;
}

static void put_totals(const tra_window *x, const tra_batch *b, const piece *p, const tra_batch *out, int64_t to) {
    const struct tra_window_context *c = x->context;
    tra_batch totals = {.schema = c->summary, .rows = out->rows, .v = out->v + c->totals};
    for (int i = 0; c->states && i < c->states->n; i++) {
        tra_group_total t = tra_group_none(&c->states->v[i]);
        for (int64_t row = p->from; row < p->to; row++) tra_group_add_row(&c->states->v[i], b, row, &t);
        tra_group_put(c->states, i, b, &t, NULL, &totals, to);
    }
}

TRA_ROWS_FORM(summary_form, tra_window, .in = {x->in}, .out = x->context->summary)

static void summary_run(const void *data, tra_rows_io *io) {
    const tra_window *x = data;
    const struct tra_window_context *c = x->context;
    const tra_batch *in = &io->in[0], *made = &io->made;
    piece v[TRA_WINDOW_SUMMARY_ROWS];
    int64_t from[TRA_WINDOW_SUMMARY_ROWS];
    int n = find_pieces(x, in, v);
    if (!tra_rows_result(io, n)) return;
    for (int k = 0; k < n; k++) from[k] = v[k].from;
    tra_gather_columns(io, x->in->n, NULL, from, n);
    for (int k = 0; k < n; k++) {
        bool one = v[k].to - v[k].from == 1;
        wholes(made, c->rows)[k] = v[k].to - v[k].from;
        wholes(made, c->ties)[k] = one ? 0 : count_ties(x, in, &v[k]);
        wholes(made, c->part)[k] = tra_rows_position(io);
        put_totals(x, in, &v[k], made, k);
    }
}

const tra_rows_ops tra_window_summary_ops = {.form = summary_form, .run = summary_run};

/* ---- what a part reaches ---------------------------------------------------------------------------------------- */

/* Rows [from, to) of all summaries: of one part, its first or last group. */
typedef struct segment {
    int64_t from, to;
} segment;

typedef struct reaching {
    const tra_window *x;
    tra_batch all; /* summaries */
    int64_t *take; /* rows of the result: rows of `all`, */
    int64_t *ties; /* and what stands for ties; INT64_MIN: what is there */
    int64_t *place;
    int64_t n;
    int64_t rows; /* of parts that are reached as rows */
} reaching;

static void take_row(reaching *r, int64_t row, int64_t ties, int64_t place) {
    r->take[r->n] = row;
    r->ties[r->n] = ties;
    r->place[r->n++] = place;
}

static int64_t place_of(const reaching *r, int64_t row) { return wholes(&r->all, r->x->context->place)[row]; }
static int64_t end_place(const reaching *r, int64_t row) {
    return place_of(r, row) + wholes(&r->all, r->x->context->rows)[row];
}

/* How row j of the summaries compares with end e of the span of row i. */
static int beyond(const reaching *r, const tra_window_frame *f, int e, int64_t j, int64_t i) {
    const tra_window *x = r->x;
    if (f->open[e]) return 0;
    if (!f->range) {
        int64_t to;
        if (__builtin_add_overflow(place_of(r, i), f->whole[e], &to)) to = f->whole[e] < 0 ? INT64_MIN : INT64_MAX;
        return (place_of(r, j) > to) - (place_of(r, j) < to);
    }
    const tra_vector *v = &r->all.v[x->nkeys];
    bool value[2] = {tra_window_present(v, j), tra_window_present(v, i)};
    bool ties = f->whole[e] == 0 && f->real[e] == 0;
    if (!ties && value[0] && value[1]) return tra_window_compare_moved(x, &r->all, f, e, j, i);
    if (!ties && e == 1 && !value[1]) return 0; /* the last row that has a value is not known */
    return compare(x, &r->all, j, &r->all, i, x->nkeys + x->norder);
}

/* Does a span of these rows of the part meet the segment of another one, of a group that begins at this place? */
static bool is_met(const reaching *r, const segment *own, const segment *other, int64_t group) {
    const struct tra_window_context *c = r->x->context;
    for (int k = 0; k < c->nspans; k++)
        if (beyond(r, &c->span[k], 0, other->to - 1, own->from) >= 0 &&
            beyond(r, &c->span[k], 1, other->from, own->to - 1) <= 0)
            return true;
    for (int k = 0; k < c->nnth; k++)
        if (c->nth[k] >= place_of(r, other->from) - group && c->nth[k] < end_place(r, other->to - 1) - group)
            return true;
    return false;
}

static void take_segment(reaching *r, const segment *own, const segment *other, int64_t group, bool before) {
    const struct tra_window_context *c = r->x->context;
    if (is_met(r, own, other, group)) {
        int64_t low = place_of(r, own->from), high = place_of(r, own->to - 1), first = place_of(r, other->from),
                last = end_place(r, other->to - 1) - 1;
        if (c->reach[0] > INT64_MIN) first = tra_max64(first, low + c->reach[0]);
        if (c->reach[1] < INT64_MAX) last = tra_min64(last, high + c->reach[1]);
        if (first > last) return;
        r->rows += last - first + 1;
        take_row(r, other->from, before ? TRA_WINDOW_FROM : TRA_WINDOW_UP_TO, before ? first : last);
        return;
    }
    for (int64_t row = other->from; c->bundles && row < other->to; row++) take_row(r, row, INT64_MIN, place_of(r, row));
}

/* The rows of the summaries that are of the same part as row `row` and of the same group: neighbours. */
static segment segment_of(const reaching *r, int64_t row) {
    const int64_t *part = wholes(&r->all, r->x->context->part);
    segment s = {row, row + 1};
    while (s.from > 0 && part[s.from - 1] == part[row] && same_group(r->x, &r->all, s.from - 1, row)) s.from--;
    while (s.to < r->all.rows && part[s.to] == part[row] && same_group(r->x, &r->all, s.to, row)) s.to++;
    return s;
}

static void find_reached(reaching *r, int64_t part) {
    const int64_t *of = wholes(&r->all, r->x->context->part);
    int64_t from = 0, to;
    while (from < r->all.rows && of[from] < part) from++;
    for (to = from; to < r->all.rows && of[to] == part;) to++;
    if (from == to) return;
    segment first = segment_of(r, from), last = segment_of(r, to - 1), s = first;
    /* the group of the first rows, in parts before; those furthest away come first */
    while (s.from > 0 && same_group(r->x, &r->all, s.from - 1, from)) s = segment_of(r, s.from - 1);
    int64_t group = place_of(r, s.from);
    while (s.from < from) {
        take_segment(r, &first, &s, group, true);
        s = segment_of(r, s.to);
    }
    for (int64_t row = from; row < to; row++) take_row(r, row, TRA_WINDOW_OWN, place_of(r, row));
    if (last.from > from) group = place_of(r, last.from);
    for (s = last; s.to < r->all.rows && same_group(r->x, &r->all, s.to, to - 1);) {
        s = segment_of(r, s.to);
        take_segment(r, &last, &s, group, false);
    }
    r->rows += end_place(r, to - 1) - place_of(r, from);
    if (r->rows <= r->x->context->most) return;
    tra_kernel_fail_with(TRA_RESOURCE,
                         "the ranges of %" PRId64 " rows begin or end among %" PRId64 " rows, and at most %" PRId64
                         " are held at once: make larger blocks (--block of import)",
                         end_place(r, to - 1) - place_of(r, from), r->rows, r->x->context->most);
}

TRA_ROWS_FORM(reach_form, tra_window, .in = {x->context->summary}, .out = x->context->summary)

TRA_ROWS_REST(reach_rest, tra_window, tra_mul_most(a->v[0], 3 * 8))

static void reach_run(const void *data, tra_rows_io *io) {
    const tra_window *x = data;
    const struct tra_window_context *c = x->context;
    int64_t *rest = io->rest, rows = io->in[0].rows;
    reaching r = {.x = x, .all = io->in[0], .take = rest, .ties = rest + rows, .place = rest + 2 * rows};
    find_reached(&r, tra_rows_position(io));
    if (!tra_rows_result(io, r.n)) return;
    tra_gather_columns(io, c->summary->n, NULL, r.take, r.n);
    for (int64_t k = 0; k < r.n; k++) {
        if (r.ties[k] != INT64_MIN) wholes(&io->made, c->ties)[k] = r.ties[k];
        wholes(&io->made, c->place)[k] = r.place[k];
    }
}

const tra_rows_ops tra_window_reach_ops = {.form = reach_form, .rest = reach_rest, .run = reach_run};

/* ---- what a part takes of another one --------------------------------------------------------------------------- */

TRA_ROWS_FORM(pick_form, tra_window, .in = {x->in, x->context->summary}, .out = x->in, .viewed = {true, true})

TRA_ROWS_REST(pick_rest, tra_window, TRA_WINDOW_SUMMARY_ROWS * 8)

/* The first row of what is reached whose place is not below this. */
static int64_t find_place(const tra_window *x, const tra_batch *reached, int64_t place) {
    const int64_t *v = wholes(reached, x->context->place);
    int64_t low = 0;
    TRA_BISECT(low, reached->rows, middle, v[middle] < place);
    return low;
}

/* Which rows of the other part are taken, [*from, *to); or else rows of what is reached, [*first, *end). True: the
 * other part is the part itself. */
static bool find_picked(const tra_window *x, const tra_rows_io *io, int64_t *from, int64_t *to, int64_t *first,
                        int64_t *end) {
    const struct tra_window_context *c = x->context;
    const tra_batch *in = &io->in[0], *reached = &io->in[1];
    *from = *to = *first = *end = 0;
    if (in->rows == 0 || reached->rows == 0) return false;
    int64_t place = wholes(in, c->place)[0];
    *first = find_place(x, reached, place);
    *end = find_place(x, reached, place + in->rows);
    if (*first == *end) return false;
    int64_t ties = wholes(reached, c->ties)[*first], at = wholes(reached, c->place)[*first] - place;
    if (ties == TRA_WINDOW_FROM) *from = at;
    if (ties == TRA_WINDOW_OWN || ties == TRA_WINDOW_FROM) *to = in->rows;
    if (ties == TRA_WINDOW_UP_TO) *to = at + 1;
    return ties == TRA_WINDOW_OWN;
}

static void pick_run(const void *data, tra_rows_io *io) {
    const tra_window *x = data;
    const tra_batch *reached = &io->in[1], *made = &io->made;
    int64_t from, to, first, end, *at = io->rest;
    bool own = find_picked(x, io, &from, &to, &first, &end), rows = to > from;
    int64_t n = rows ? to - from : end - first;
    if (!tra_rows_result(io, n) || n == 0) return;
    for (int64_t k = 0; !rows && k < n; k++) at[k] = first + k;
    for (int c = 0; c < x->in->n; c++) {
        if (rows)
            tra_copy_rows(&made->v[c], 0, &io->in[0].v[c], from, n, x->in->v[c].type);
        else
            tra_gather_rows(&made->v[c], 0, &reached->v[c], x->in->v[c].type, at, n);
    }
    for (int64_t k = 0; k < n && !own; k++) {
        bool bundle = !rows && wholes(reached, x->context->ties)[at[k]] > 0;
        wholes(made, x->number)[k] = bundle ? -2 - at[k] : -1;
    }
}

const tra_rows_ops tra_window_pick_ops = {.form = pick_form, .rest = pick_rest, .run = pick_run};

/* ---- bundles in a window ---------------------------------------------------------------------------------------- */

int64_t tra_window_rows(const tra_windowing *w, int64_t i) {
    int64_t bundle = tra_window_bundle(w, i);
    return bundle < 0 ? 1 : wholes(&w->reached, w->x->context->rows)[bundle];
}

int64_t tra_window_ties(const tra_windowing *w, int64_t i) {
    int64_t bundle = tra_window_bundle(w, i);
    return bundle < 0 ? 1 : wholes(&w->reached, w->x->context->ties)[bundle];
}

int tra_window_state_column(const tra_window *x, int i) {
    return x->context->totals + x->context->states->v[x->context->state[i]].state;
}

const tra_group_total *tra_window_bundled(tra_windowing *w, int i, int64_t bundle) {
    const struct tra_window_context *c = w->x->context;
    const tra_batch totals = {.schema = c->summary, .rows = w->reached.rows, .v = w->reached.v + c->totals};
    w->total = tra_group_none(&c->states->v[c->state[i]]);
    tra_group_add_state(&c->states->v[c->state[i]], &totals, bundle, &w->total);
    return &w->total;
}
