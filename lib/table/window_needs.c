/* window_needs.c - what the functions of a part need of other parts, and how that is held. */
#include "window_context.h"
#include "window_int.h"

#include <string.h>

/* ---- parts of which all rows are needed -------------------------------------------------------------------------- */

typedef struct needs {
    struct tra_window_context *c;
    tra_window_frame *span;
    int64_t *nth;
} needs;

static bool is_same(const tra_window_frame *f, const tra_window_frame *g) {
    for (int e = 0; e < 2; e++)
        if (f->open[e] != g->open[e] || f->whole[e] != g->whole[e] || f->real[e] != g->real[e]) return false;
    return f->range == g->range;
}

static void add_span(needs *s, const tra_window_frame *f) {
    for (int k = 0; k < s->c->nspans; k++)
        if (is_same(&s->span[k], f)) return;
    s->span[s->c->nspans++] = *f;
}

/* Rows that are so many away, or so much more in the order. */
static void add_end(needs *s, const tra_window_frame *f, int e, int64_t more) {
    tra_window_frame to = {.range = f->range, .real = {f->real[e], f->real[e]}};
    if (f->open[e] || (f->range && f->whole[e] == 0 && f->real[e] == 0)) return; /* bundles end there */
    if (__builtin_add_overflow(f->whole[e], more, &to.whole[0])) to.whole[0] = INT64_MAX;
    to.whole[1] = to.whole[0];
    add_span(s, &to);
}

static void add_function(needs *s, const tra_window_column *v) {
    const tra_window_frame *f = &v->frame;
    tra_window_frame moved = {.whole = {v->f == TRA_WINDOW_LAG ? -v->n : v->n, 0}};
    bool all = v->f == TRA_WINDOW_NTH && f->range && !f->open[0]; /* the place of its row is not known */
    switch (tra_window_way_of(v->f)) {
    case TRA_WINDOW_PLACE: s->c->bundles = true; return;
    case TRA_WINDOW_MOVE:
        if (v->n != 0) add_end(s, &moved, 0, 0);
        return;
    case TRA_WINDOW_RANKED: all = true; break;
    case TRA_WINDOW_END:
    case TRA_WINDOW_FOLD: break;
    }
    if (f->range || f->open[0] || f->open[1]) s->c->bundles = true;
    if (all) {
        add_span(s, f);
        return;
    }
    add_end(s, f, 0, 0);
    add_end(s, f, 1, 0);
    if (v->f != TRA_WINDOW_NTH) return;
    if (!f->open[0]) add_end(s, f, 0, v->n - 1);
    s->nth[s->c->nnth++] = v->n - 1;
}

/* Spans of rows that are all near become one, in which all rows are needed and no bundles; true if they do. */
static bool join_spans(needs *s, int64_t near) {
    int64_t low = 0, high = 0;
    if (s->c->bundles || s->c->nnth > 0) return false;
    for (int k = 0; k < s->c->nspans; k++) {
        const tra_window_frame *f = &s->span[k];
        if (f->range || f->open[0] || f->open[1] || f->whole[0] < -near || f->whole[1] > near) return false;
        low = tra_min64(low, f->whole[0]);
        high = tra_max64(high, f->whole[1]);
    }
    s->span[0] = (tra_window_frame){.whole = {low, high}};
    s->c->nspans = 1;
    s->c->reach[0] = low;
    s->c->reach[1] = high;
    s->c->most = s->c->part_rows - low + high;
    return true;
}

/* Rows of all parts that may be needed. Ends that lie in a part touch two of them besides; how many rows lie between
 * two values nobody knows. */
static int64_t count_most(const needs *s, int64_t parts, int64_t all) {
    enum { OF_ROWS = 3, OF_RANGE = 8 };
    int64_t most = tra_mul_most(s->c->part_rows, 1 + s->c->nnth);
    for (int k = 0; k < s->c->nspans; k++) {
        const tra_window_frame *f = &s->span[k];
        bool one = is_same(
            f, &(tra_window_frame){f->range, {false, false}, {f->whole[0], f->whole[0]}, {f->real[0], f->real[0]}});
        int64_t apart = one ? 0 : INT64_MAX;
        if (!one && !f->range && !f->open[0] && !f->open[1] && f->whole[0] > -all && f->whole[1] < all)
            apart = tra_max64(0, f->whole[1] - f->whole[0]);
        if (!one && f->range && !f->open[0] && !f->open[1]) apart = tra_mul_most(s->c->part_rows, OF_RANGE);
        bool near = one && !f->range && f->whole[0] > -s->c->part_rows && f->whole[0] < s->c->part_rows;
        int64_t rows = tra_mul_most(s->c->part_rows, f->range ? OF_RANGE : near ? 1 : OF_ROWS);
        if (near) rows = tra_add_most(rows, f->whole[0] < 0 ? -f->whole[0] : f->whole[0]);
        most = tra_add_most(most, rows);
        most = tra_add_most(most, apart);
    }
    return tra_add_most(tra_min64(most, all), tra_mul_most(parts, TRA_WINDOW_SUMMARY_ROWS));
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static tra_aggregate aggregate_of(tra_window_function f) {
    switch (f) {
    case TRA_WINDOW_COUNT: return TRA_AGGREGATE_COUNT;
    case TRA_WINDOW_MEAN: return TRA_AGGREGATE_MEAN;
    case TRA_WINDOW_MIN: return TRA_AGGREGATE_MIN;
    case TRA_WINDOW_MAX: return TRA_AGGREGATE_MAX;
    case TRA_WINDOW_VAR: return TRA_AGGREGATE_VAR;
    case TRA_WINDOW_STD: return TRA_AGGREGATE_STD;
    default: return TRA_AGGREGATE_SUM;
    }
}

static tra_status make_states(tra_arena *a, const tra_window *x, struct tra_window_context *c, tra_err *e) {
    tra_group_column *v = tra_news(a, tra_group_column, x->n + 1);
    int *state = tra_news(a, int, x->n + 1), n = 0;
    tra_group *g;
    for (int i = 0; i < x->n; i++) {
        state[i] = -1;
        if (tra_window_way_of(x->v[i].f) != TRA_WINDOW_FOLD || !c->bundles) continue;
        state[i] = n;
        v[n++] = (tra_group_column){.name = "", .f = aggregate_of(x->v[i].f), .column = x->v[i].column};
    }
    c->state = state;
    if (n == 0) return TRA_OK;
    TRA_TRY(tra_group_new(a, x->in, 0, n, v, TRA_GROUP_PARTIAL, &g, e));
    c->states = g;
    return TRA_OK;
}

static void make_summary(tra_arena *a, const tra_window *x, struct tra_window_context *c) {
    const tra_schema *states = c->states ? tra_group_states(c->states) : NULL;
    int n = x->in->n, nstates = states ? states->n : 0;
    tra_column *v = tra_news(a, tra_column, n + nstates + 3);
    tra_schema *s = tra_new(a, tra_schema);
    memcpy(v, x->in->v, (size_t)n * sizeof *v);
    for (int k = 0; k < nstates; k++) {
        v[n + 2 + k] = states->v[k];
        v[n + 2 + k].name = tra_arena_printf(a, "total %d", k);
    }
    c->place = n - 1;
    c->rows = n;
    c->ties = n + 1;
    c->totals = n + 2;
    c->part = n + 2 + nstates;
    v[c->rows] = (tra_column){.name = "rows", .type = TRA_COL_I64};
    v[c->ties] = (tra_column){.name = "ties", .type = TRA_COL_I64};
    v[c->part] = (tra_column){.name = "part", .type = TRA_COL_I64};
    *s = (tra_schema){n + nstates + 3, v};
    c->summary = s;
}

tra_status tra_window_context_new(tra_arena *a, const tra_window *x, int64_t part_rows, int64_t parts, int64_t all,
                                  const struct tra_window_context **out, tra_err *e) {
    enum { SPANS = 3 }; /* of a function */
    struct tra_window_context *c = tra_new(a, struct tra_window_context);
    needs s = {c, tra_news(a, tra_window_frame, SPANS * x->n + 1), tra_news(a, int64_t, x->n + 1)};
    *c = (struct tra_window_context){.part_rows = part_rows, .span = s.span, .nth = s.nth};
    c->reach[0] = INT64_MIN;
    c->reach[1] = INT64_MAX;
    for (int i = 0; i < x->n; i++) {
        add_function(&s, &x->v[i]);
        c->counts_ties = c->counts_ties || x->v[i].f == TRA_WINDOW_DENSE_RANK;
    }
    bool framed = false;
    for (int i = 0; i < x->n; i++) framed = framed || tra_window_way_of(x->v[i].f) >= TRA_WINDOW_END;
    if (!join_spans(&s, part_rows)) {
        c->bundles = c->bundles || framed;
        c->most = count_most(&s, parts, all);
    }
    TRA_TRY(make_states(a, x, c, e));
    make_summary(a, x, c);
    *out = c;
    return TRA_OK;
}
