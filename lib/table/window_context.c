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
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare(x, b, middle, b, from, n) == 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where those begin that are equal to row `last`, from row `from` on. */
static int64_t begin_of(const tra_window *x, const tra_batch *b, int64_t from, int64_t last, int n) {
    int64_t low = from, high = last;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare(x, b, middle, b, last, n) == 0)
            high = middle;
        else
            low = middle + 1;
    }
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

static int64_t summary_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_window *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(x->in->n + x->context->summary->n);
}

static int64_t summary_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    int64_t n = tra_min64(a->array.ext.v[0], TRA_WINDOW_SUMMARY_ROWS);
    return tra_columns_room(((const tra_window *)data)->context->summary, n);
}

static void summary_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_window *x = data;
    const struct tra_window_context *c = x->context;
    tra_batch in, made = {.v = (tra_vector *)scratch + x->in->n};
    piece v[TRA_WINDOW_SUMMARY_ROWS];
    int64_t from[TRA_WINDOW_SUMMARY_ROWS];
    bool ok = tra_open_rows(a, x->in, true, scratch, &in);
    int n = ok ? find_pieces(x, &in, v) : 0;
    tra_columns_begin(out, c->summary, n, &made);
    for (int k = 0; k < n; k++) from[k] = v[k].from;
    for (int k = 0; k < x->in->n && n > 0; k++) tra_gather_rows(&made.v[k], 0, &in.v[k], x->in->v[k].type, from, n);
    for (int k = 0; k < n; k++) {
        bool one = v[k].to - v[k].from == 1;
        wholes(&made, c->rows)[k] = v[k].to - v[k].from;
        wholes(&made, c->ties)[k] = one ? 0 : count_ties(x, &in, &v[k]);
        wholes(&made, c->part)[k] = tra_position(b);
        put_totals(x, &in, &v[k], &made, k);
    }
}

const tra_rows_ops tra_window_summary_ops = {.scratch = summary_scratch, .bytes = summary_bytes, .run = summary_run};

/* ---- what a part reaches
 * --------------------------------------------------------------------------------------------- */

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

static int64_t reach_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_window *x = data;
    (void)ext_b;
    return tra_add_most(tra_vectors_bytes(2 * x->context->summary->n), tra_mul_most(ext_a->v[0], 3 * 8));
}

static bool open_reaching(const tra_window *x, const tra_cell *a, const tra_cell *b, void *scratch, reaching *r) {
    *r = (reaching){.x = x};
    if (!tra_open_rows(a, x->context->summary, true, scratch, &r->all)) return false;
    r->take = (int64_t *)((char *)scratch + tra_vectors_bytes(2 * x->context->summary->n));
    r->ties = r->take + r->all.rows;
    r->place = r->ties + r->all.rows;
    find_reached(r, tra_position(b));
    return true;
}

static int64_t reach_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    reaching r;
    (void)out;
    int64_t n = open_reaching(data, a, b, scratch, &r) ? r.n : 0;
    return tra_columns_room(((const tra_window *)data)->context->summary, n);
}

static void reach_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_window *x = data;
    const struct tra_window_context *c = x->context;
    tra_batch made = {.v = (tra_vector *)scratch + c->summary->n};
    reaching r;
    bool ok = open_reaching(x, a, b, scratch, &r);
    tra_columns_begin(out, c->summary, ok ? r.n : 0, &made);
    if (!ok || r.n == 0) return;
    for (int k = 0; k < c->summary->n; k++)
        tra_gather_rows(&made.v[k], 0, &r.all.v[k], c->summary->v[k].type, r.take, r.n);
    for (int64_t k = 0; k < r.n; k++) {
        if (r.ties[k] != INT64_MIN) wholes(&made, c->ties)[k] = r.ties[k];
        wholes(&made, c->place)[k] = r.place[k];
    }
}

const tra_rows_ops tra_window_reach_ops = {.scratch = reach_scratch, .bytes = reach_bytes, .run = reach_run};

/* ---- what a part takes of another one
 * -------------------------------------------------------------------------------- */

typedef struct picking {
    tra_batch in, reached;
    bool own;
    int64_t from, to;   /* rows of the other part, */
    int64_t first, end; /* or else rows of what is reached */
    tra_vector *rest;
} picking;

static int64_t pick_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_window *x = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2 * x->in->n + x->context->summary->n) + TRA_WINDOW_SUMMARY_ROWS * 8;
}

/* The first row of what is reached whose place is not below this. */
static int64_t find_place(const tra_window *x, const tra_batch *reached, int64_t place) {
    const int64_t *v = wholes(reached, x->context->place);
    int64_t low = 0;
    TRA_BISECT(low, reached->rows, middle, v[middle] < place);
    return low;
}

static bool open_picking(const tra_window *x, const tra_cell *a, const tra_cell *b, void *scratch, picking *p) {
    const struct tra_window_context *c = x->context;
    tra_vector *v = scratch;
    *p = (picking){.rest = v + x->in->n + c->summary->n};
    if (!tra_open_rows(a, x->in, false, v, &p->in)) return false;
    if (!tra_open_rows(b, c->summary, false, v + x->in->n, &p->reached)) return false;
    if (p->in.rows == 0 || p->reached.rows == 0) return true;
    int64_t place = wholes(&p->in, c->place)[0];
    p->first = find_place(x, &p->reached, place);
    p->end = find_place(x, &p->reached, place + p->in.rows);
    if (p->first == p->end) return true;
    int64_t ties = wholes(&p->reached, c->ties)[p->first], at = wholes(&p->reached, c->place)[p->first] - place;
    if (ties == TRA_WINDOW_OWN) {
        p->own = true;
        p->to = p->in.rows;
    } else if (ties == TRA_WINDOW_FROM) {
        p->from = at;
        p->to = p->in.rows;
    } else if (ties == TRA_WINDOW_UP_TO) {
        p->to = at + 1;
    }
    return true;
}

static int64_t picked(const picking *p) { return p->to > p->from ? p->to - p->from : p->end - p->first; }

static int64_t pick_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    picking p;
    (void)out;
    return tra_columns_room(((const tra_window *)data)->in, open_picking(data, a, b, scratch, &p) ? picked(&p) : 0);
}

static void pick_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_window *x = data;
    picking p;
    bool ok = open_picking(x, a, b, scratch, &p), rows = p.to > p.from;
    tra_batch made = {.v = p.rest};
    int64_t n = ok ? picked(&p) : 0,
            *at = (int64_t *)((char *)scratch + tra_vectors_bytes(2 * x->in->n + x->context->summary->n));
    tra_columns_begin(out, x->in, n, &made);
    if (n == 0) return;
    for (int64_t k = 0; !rows && k < n; k++) at[k] = p.first + k;
    for (int c = 0; c < x->in->n; c++) {
        if (rows)
            tra_copy_rows(&made.v[c], &p.in.v[c], x->in->v[c].type, p.from, n);
        else
            tra_gather_rows(&made.v[c], 0, &p.reached.v[c], x->in->v[c].type, at, n);
    }
    int64_t *number = wholes(&made, x->number);
    for (int64_t k = 0; k < n && !p.own; k++) {
        bool bundle = !rows && wholes(&p.reached, x->context->ties)[at[k]] > 0;
        number[k] = bundle ? -2 - at[k] : -1;
    }
}

const tra_rows_ops tra_window_pick_ops = {.scratch = pick_scratch, .bytes = pick_bytes, .run = pick_run};

/* ---- bundles in a window
 * ---------------------------------------------------------------------------------------------- */

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
