/* window.c - functions of each row and of the rows around it: their types, and the kernel. */
#include "window_int.h"

#include "table_int.h"
#include "window_context.h"

#include <string.h>

static const struct row {
    const char *text;
    int least, most;
    tra_aggregate_takes takes;
    tra_aggregate_gives gives;
    tra_window_way way;
} table[] = {
#define X(name, text, least, most, takes, gives, way)                                                                  \
    {text, least, most, TRA_TAKES_##takes, TRA_GIVES_##gives, TRA_WINDOW_##way},
    TRA_WINDOWS(X)
#undef X
};
enum { NWINDOWS = sizeof table / sizeof *table };

const char *tra_window_text(tra_window_function f) { return table[f].text; }
const char *tra_window_name(int i) { return i < NWINDOWS ? table[i].text : NULL; }
tra_window_way tra_window_way_of(tra_window_function f) { return table[f].way; }

int tra_window_find(const char *name) {
    for (int i = 0; i < NWINDOWS; i++)
        if (strcmp(table[i].text, name) == 0) return i;
    return -1;
}

void tra_window_arguments(tra_window_function f, int *least, int *most) {
    *least = table[f].least;
    *most = table[f].most;
}

bool tra_window_takes(tra_window_function f, tra_coltype t) {
    return table[f].takes != TRA_TAKES_NUMBERS || tra_coltype_is_number(t);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static tra_column result_of(const tra_window_column *v, const tra_column *of) {
    tra_column c = {.name = v->name, .type = TRA_COL_F64, .nullable = true};
    switch (table[v->f].gives) {
    case TRA_GIVES_NUMBER:
        c.type = TRA_COL_I64;
        c.nullable = false;
        break;
    case TRA_GIVES_TOTAL: c.type = tra_coltype_is_float(of->type) ? TRA_COL_F64 : TRA_COL_I64; break;
    case TRA_GIVES_VALUE:
        if (!of) return (tra_column){.name = v->name, .type = TRA_COL_BOOL};
        c.type = of->type;
        c.dict = of->dict;
        c.nullable = of->nullable || table[v->f].way != TRA_WINDOW_MOVE || v->n != 0;
        c.fails = of->fails && table[v->f].way != TRA_WINDOW_FOLD;
        break;
    case TRA_GIVES_REAL: break;
    }
    return c;
}

const tra_window *tra_window_new(tra_arena *a, const tra_window *fields) {
    tra_window *x = tra_new(a, tra_window);
    *x = *fields;
    int nby = x->nkeys + x->norder, *column = tra_news(a, int, nby + 1);
    bool *desc = tra_news(a, bool, nby + 1);
    tra_window_column *own = tra_news(a, tra_window_column, x->n + 1);
    tra_column *c = tra_news(a, tra_column, x->n + 1);
    tra_schema *s = tra_new(a, tra_schema);
    for (int k = 0; k < nby; k++) {
        column[k] = k;
        desc[k] = k >= x->nkeys && fields->desc && fields->desc[k - x->nkeys];
    }
    c[0] = (tra_column){.name = "row", .type = TRA_COL_I64};
    for (int i = 0; i < x->n; i++) {
        const tra_column *of = fields->v[i].column >= 0 ? &x->in->v[fields->v[i].column] : NULL;
        own[i] = fields->v[i];
        c[1 + i] = result_of(&own[i], of);
    }
    *s = (tra_schema){1 + x->n, c};
    x->column = column;
    x->desc = desc;
    x->v = own;
    x->out = s;
    return x;
}

/* ---- places and other rows --------------------------------------------------------------------------------------- */

/* The part of `parts` that holds row `row` of n, from 1: the first parts have one row more than the last ones. */
static int64_t ntile(int64_t row, int64_t n, int64_t parts) {
    int64_t each = n / parts, more = n % parts;
    if (row < more * (each + 1)) return row / (each + 1) + 1;
    return more + (row - more * (each + 1)) / each + 1;
}

static void find_places(tra_windowing *w, int i) {
    const tra_window_column *v = &w->x->v[i];
    int64_t *out = w->out->v[1 + i].values;
    for (int64_t k = 0, tie = 0; k < w->ngroups; k++) {
        int64_t begin = w->group[k], end = w->group[k + 1], dense = 0;
        int64_t first = tra_window_place(w, begin);
        int64_t all = tra_window_place(w, end - 1) + tra_window_rows(w, end - 1) - first;
        for (; tie < w->nties && w->tie[tie] < end; tie++) {
            int64_t rank = tra_window_place(w, w->tie[tie]) - first;
            dense += tra_window_ties(w, w->tie[tie]);
            for (int64_t j = w->tie[tie]; j < w->tie[tie + 1]; j++) {
                int64_t row = tra_window_place(w, j) - first, to = w->to[j];
                if (to < 0) continue;
                out[to] = v->f == TRA_WINDOW_RANK         ? rank + 1
                          : v->f == TRA_WINDOW_DENSE_RANK ? dense
                          : v->f == TRA_WINDOW_NTILE      ? ntile(row, all, v->n)
                                                          : row + 1;
            }
        }
    }
}

/* The item at that place, between `from`, whose place is not above it, and `end`; -1: there is none. */
static int64_t item_at(const tra_windowing *w, int64_t from, int64_t end, int64_t place) {
    if (!w->place) return place < end ? place : -1;
    while (from < end && w->place[from] < place) from++;
    return from < end && w->place[from] == place ? from : -1;
}

static void find_moved(const tra_windowing *w, int i, int64_t *source) {
    const tra_window_column *v = &w->x->v[i];
    bool lag = v->f == TRA_WINDOW_LAG;
    int64_t by = lag ? -v->n : v->n;
    for (int64_t k = 0; k < w->ngroups; k++) {
        int64_t begin = w->group[k], end = w->group[k + 1], from = begin;
        for (int64_t j = begin; j < end; j++) {
            int64_t place, item = -1;
            if (w->to[j] < 0) continue;
            bool inside = !__builtin_add_overflow(tra_window_place(w, j), by, &place);
            if (inside && place >= tra_window_place(w, begin)) item = item_at(w, from, end, place);
            if (item >= 0) from = item;
            source[w->to[j]] = item < 0 ? -1 : w->at[item];
        }
    }
}

static void find_ends(tra_windowing *w, int i, int64_t *source) {
    const tra_window_column *v = &w->x->v[i];
    tra_window_find_frames(w, &v->frame);
    for (int64_t j = 0, from = 0; j < w->n; j++) {
        int64_t low = w->low[j], high = w->high[j], item = v->f == TRA_WINDOW_LAST ? high - 1 : low;
        if (w->to[j] < 0) continue;
        if (low == high) item = -1;
        if (item >= 0 && v->f == TRA_WINDOW_NTH) {
            int64_t place;
            bool inside = !__builtin_add_overflow(tra_window_place(w, low), v->n - 1, &place);
            from = from < low ? low : from;
            item = inside ? item_at(w, w->place && w->place[from] <= place ? from : low, high, place) : -1;
            if (item >= 0) from = item;
        }
        source[w->to[j]] = item < 0 ? -1 : w->at[item];
    }
}

/* The values of MIN and MAX that bundles have, which are -2 - row in `source`. */
static void take_of_bundles(tra_windowing *w, int i, const int64_t *source) {
    const tra_vector *from = &w->reached.v[tra_window_state_column(w->x, i)];
    for (int64_t j = 0; j < w->results; j++) {
        int64_t bundle = -2 - source[j];
        if (bundle < 0) continue;
        tra_gather_rows(&w->out->v[1 + i], j, from, w->x->out->v[1 + i].type, &bundle, 1);
    }
}

/* Words of `work` for n items: what the function that takes the most needs, and a sort. In arrays of n words, a tree of
 * n totals being one of these and a fifteenth: of sums and counts of integers 3, of floats a count and a tree, of least
 * values a tree and codes, of moments three trees, of ranks 6. */
static int64_t work_words(const tra_window *x, int64_t n) {
    int64_t arrays = x->context ? 1 : 2;
    for (int i = 0; i < x->n; i++) {
        tra_window_way way = table[x->v[i].f].way;
        if (way == TRA_WINDOW_RANKED) arrays = tra_max64(arrays, 6);
        if (way == TRA_WINDOW_FOLD) arrays = tra_max64(arrays, 3);
    }
    return tra_add_most(tra_mul_most(n, arrays), n / 4 + 256);
}

static void run_function(tra_windowing *w, int i) {
    const tra_window_column *v = &w->x->v[i];
    const tra_column *c = &w->x->out->v[1 + i];
    int64_t *source = w->work + work_words(w->x, w->n);
    tra_vector *to = &w->out->v[1 + i];
    switch (table[v->f].way) {
    case TRA_WINDOW_PLACE: find_places(w, i); return;
    case TRA_WINDOW_RANKED: tra_window_rank(w, i); return;
    case TRA_WINDOW_MOVE: find_moved(w, i, source); break;
    case TRA_WINDOW_END: find_ends(w, i, source); break;
    case TRA_WINDOW_FOLD:
        tra_window_fold(w, i, source);
        if (v->f != TRA_WINDOW_MIN && v->f != TRA_WINDOW_MAX) return;
        break;
    }
    if (v->column >= 0) {
        tra_gather_rows(to, 0, &w->in.v[v->column], c->type, source, w->results);
        if (w->place && w->x->context->states && table[v->f].way == TRA_WINDOW_FOLD) take_of_bundles(w, i, source);
        return;
    }
    for (int64_t j = 0; j < w->results; j++) ((uint8_t *)to->values)[j] = source[j] >= 0;
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(window_form, tra_window, .in = {x->in, x->context ? x->context->summary : NULL}, .out = x->out)

static int64_t words(const tra_window *x, int64_t n) { return 7 * n + 8 + work_words(x, n); }

TRA_ROWS_REST(window_rest, tra_window, a->v[0] > INT64_MAX / 256 ? INT64_MAX : 8 * words(x, a->v[0]))

bool tra_window_selects(const tra_window *x) {
    for (int i = 0; i < x->n; i++)
        if (table[x->v[i].f].way != TRA_WINDOW_PLACE || x->v[i].f == TRA_WINDOW_NTILE) return false;
    return x->top > 0 && x->norder > 0;
}

/* Where only the first rows of each group have results, the items are those that come among them by the first column of
 * the order. False: all rows are items. */
static bool choose_items(tra_windowing *w) {
    const tra_window *x = w->x;
    int first = x->nkeys;
    if (w->place || !tra_window_selects(x) || tra_order_looks_up(x->in, 1, &first)) return false;
    int64_t n = tra_window_top_rows(x, &w->in, w->at, w->group, words(x, w->n) - w->n);
    if (n >= 0) w->n = n;
    return n >= 0;
}

/* Does anything depend on which rows are ties? */
static bool asks_for_ties(const tra_window *x) {
    bool asks = x->top > 0 && x->by != TRA_WINDOW_ROW_NUMBER;
    for (int i = 0; i < x->n; i++) {
        const tra_window_column *v = &x->v[i];
        if (table[v->f].way == TRA_WINDOW_PLACE)
            asks = asks || (v->f != TRA_WINDOW_ROW_NUMBER && v->f != TRA_WINDOW_NTILE);
        else
            asks = asks || (table[v->f].way != TRA_WINDOW_MOVE && v->frame.range);
    }
    return asks;
}

/* Brings the items in their order, and finds groups and ties, where these matter; else a group counts as one. */
static void sort_items(tra_windowing *w) {
    const tra_window *x = w->x;
    int nby = x->nkeys + x->norder;
    if (!choose_items(w))
        for (int64_t i = 0; i < w->n; i++) w->at[i] = i;
    if (!w->place) tra_order_rows(&w->in, nby, x->column, x->desc, w->at, w->n, w->work);
    w->ngroups = tra_order_runs(&w->in, x->nkeys, x->column, w->at, w->n, w->group);
    if (asks_for_ties(x))
        w->nties =
            tra_order_runs_within(&w->in, x->norder, x->column + x->nkeys, w->at, w->n, w->group, w->ngroups, w->tie);
    else
        w->tie = w->group, w->nties = w->ngroups;
}

/* Of a part, its context is there: the rows of what it reaches. */
static bool find_context(tra_windowing *w, const tra_rows_io *io) {
    const tra_window *x = w->x;
    w->reached = io->in[1];
    w->place = w->in.v[x->context->place].values;
    const int64_t *number = w->in.v[x->number].values;
    for (int64_t i = 0; i < w->in.rows; i++)
        if (-2 - number[i] >= w->reached.rows) return tra_kernel_fail("a bundle of rows is not there"), false;
    return true;
}

/* Of the items of all ranks those beyond the first ones have no results: to[i] is 0 of these, else 1. */
static void choose_top(tra_windowing *w) {
    const tra_window *x = w->x;
    for (int64_t k = 0, tie = 0; k < w->ngroups; k++) {
        int64_t first = tra_window_place(w, w->group[k]), dense = 0;
        for (; tie < w->nties && w->tie[tie] < w->group[k + 1]; tie++) {
            int64_t rank = tra_window_place(w, w->tie[tie]) - first + 1;
            dense += tra_window_ties(w, w->tie[tie]);
            for (int64_t j = w->tie[tie]; j < w->tie[tie + 1]; j++) {
                int64_t row = tra_window_place(w, j) - first + 1;
                int64_t is = x->by == TRA_WINDOW_DENSE_RANK ? dense : x->by == TRA_WINDOW_RANK ? rank : row;
                w->to[j] = x->top == 0 || is <= x->top;
            }
        }
    }
}

/* The rows of the results of those items that have some, in the order of the table. A bit for each row that has one;
 * its rank is the row of the result. */
static void number_by_rows(tra_windowing *w) {
    int64_t words = w->in.rows / 64 + 1, *before = w->work + words;
    uint64_t *bit = memset(w->work, 0, (size_t)words * sizeof *bit);
    for (int64_t i = 0; i < w->n; i++) bit[w->at[i] / 64] |= (uint64_t)(w->to[i] != 0) << w->at[i] % 64;
    for (int64_t k = 0; k < words; k++) {
        before[k] = w->results;
        w->results += __builtin_popcountll(bit[k]);
    }
    for (int64_t i = 0; i < w->n; i++) {
        int64_t row = w->at[i];
        uint64_t below = bit[row / 64] & ((UINT64_C(1) << row % 64) - 1);
        w->to[i] = w->to[i] ? before[row / 64] + __builtin_popcountll(below) : -1;
    }
}

/* Which items have results, and in which rows: those of a part in their order, others in that of the table. */
static void number_results(tra_windowing *w) {
    const int64_t *number = w->place ? w->in.v[w->x->number].values : NULL;
    choose_top(w);
    if (!w->place) return number_by_rows(w);
    for (int64_t i = 0; i < w->n; i++) w->to[i] = w->to[i] && number[w->at[i]] >= 0 ? w->results++ : -1;
}

static void window_run(const void *data, tra_rows_io *io) {
    const tra_window *x = data;
    tra_windowing w = {.x = x, .in = io->in[0], .out = &io->made};
    if (x->context && !find_context(&w, io)) return;
    int64_t n = w.n = w.in.rows, *at = io->rest;
    w.at = at, w.group = at + n, w.tie = w.group + n + 1, w.to = w.tie + n + 1, w.low = w.to + n, w.high = w.low + n;
    w.work = w.high + n;
    tra_refuse_errors(io->a, &w.in, x->nkeys + x->norder, x->column, "a key or the order of a window");
    tra_table_note_keys(&w.in, x->nkeys, x->column, 0, NULL, NULL);
    for (int i = 0; i < x->n; i++)
        if (x->v[i].column >= 0 && table[x->v[i].f].way >= TRA_WINDOW_FOLD)
            tra_refuse_errors(io->a, &w.in, 1, &x->v[i].column, "which a window function takes");
    sort_items(&w);
    number_results(&w);
    if (!tra_rows_result(io, w.results)) return;
    int64_t *number = io->made.v[0].values;
    for (int64_t i = 0; i < w.n; i++)
        if (w.to[i] >= 0) number[w.to[i]] = x->number < 0 ? w.at[i] : ((int64_t *)w.in.v[x->number].values)[w.at[i]];
    for (int i = 0; i < x->n && w.results > 0; i++) run_function(&w, i);
}

const tra_rows_ops tra_window_ops = {.form = window_form, .rest = window_rest, .run = window_run};
