/* window_fold.c - aggregates over frames that are found from those of parts of the frame: counts and sums of integers
 * by running totals; sums of floats, moments, least and greatest values by a tree in which each total is that of FAN
 * totals below it. */
#include "window_context.h"
#include "window_int.h"

#include <string.h>

enum { FAN = 16, LEVELS = 16 };

/* What is folded: sums of floats, moments, or which item has the value that stands for all. */
typedef enum fold_kind { FOLD_REAL, FOLD_MOMENTS, FOLD_BEST } fold_kind;

typedef struct total {
    double sum; /* or the mean */
    double n, square;
    int64_t best; /* an item, -1: none */
} total;

typedef struct tree {
    const tra_windowing *w;
    const tra_column *c; /* BEST: the column and its values, */
    const tra_vector *v, *bundles;
    bool most;            /* whether the greatest stands for all, */
    const uint64_t *code; /* and words that compare as values do; NULL: values are compared */
    int levels;
    int64_t length[LEVELS];
    double *sum[LEVELS], *n[LEVELS], *square[LEVELS];
    int64_t *best[LEVELS];
} tree;

static const total nothing = {.best = -1};

/* ---- two totals -------------------------------------------------------------------------------------------------- */

/* The vector that has the value of item i, in that row. */
static const tra_vector *values_of(const tree *t, int64_t i, int64_t *row) {
    int64_t bundle = tra_window_bundle(t->w, i);
    *row = bundle >= 0 ? bundle : t->w->at[i];
    return bundle >= 0 ? t->bundles : t->v;
}

static inline bool is_better(const tree *t, int64_t i, int64_t than) {
    if (than < 0) return true;
    if (t->code) return t->most ? t->code[i] > t->code[than] : t->code[i] < t->code[than];
    int64_t row[2];
    const tra_vector *v[2] = {values_of(t, i, &row[0]), values_of(t, than, &row[1])};
    int r = tra_values_compare(t->c, v[0], row[0], v[1], row[1]);
    return t->most ? r > 0 : r < 0;
}

static inline __attribute__((always_inline)) void add(const tree *t, fold_kind kind, total *to, const total *x) {
    switch (kind) {
    case FOLD_REAL: to->sum += x->sum; break;
    case FOLD_MOMENTS: {
        tra_group_total both = {.n = (int64_t)to->n, .mean = to->sum, .square = to->square};
        tra_group_combine(&both, (int64_t)x->n, x->sum, x->square);
        *to = (total){.sum = both.mean, .n = (double)both.n, .square = both.square};
        break;
    }
    case FOLD_BEST:
        if (x->best >= 0 && is_better(t, x->best, to->best)) to->best = x->best;
        break;
    }
}

static inline __attribute__((always_inline)) total node(const tree *t, fold_kind kind, int level, int64_t j) {
    switch (kind) {
    case FOLD_REAL: return (total){.sum = t->sum[level][j]};
    case FOLD_MOMENTS: return (total){.sum = t->sum[level][j], .n = t->n[level][j], .square = t->square[level][j]};
    case FOLD_BEST: return (total){.best = t->best[level][j]};
    }
    return nothing;
}

static inline __attribute__((always_inline)) void set_node(tree *t, fold_kind kind, int level, int64_t j,
                                                           const total *x) {
    if (kind == FOLD_BEST)
        t->best[level][j] = x->best;
    else
        t->sum[level][j] = x->sum;
    if (kind == FOLD_MOMENTS) t->n[level][j] = x->n, t->square[level][j] = x->square;
}

/* The total of items [low, high), added to `to`. */
static inline __attribute__((always_inline)) void fold_range(const tree *t, fold_kind kind, int64_t low, int64_t high,
                                                             total *to) {
    total right[LEVELS * FAN], x;
    int nright = 0, level = 0;
    for (; high - low > 2 * FAN && level + 1 < t->levels; level++, low /= FAN, high /= FAN) {
        for (; low % FAN; low++) x = node(t, kind, level, low), add(t, kind, to, &x);
        while (high % FAN) right[nright++] = node(t, kind, level, --high);
    }
    for (; low < high; low++) x = node(t, kind, level, low), add(t, kind, to, &x);
    while (nright > 0) add(t, kind, to, &right[--nright]);
}

static inline __attribute__((always_inline)) void grow(tree *t, fold_kind kind) {
    for (int level = 1; level < t->levels; level++)
        for (int64_t j = 0; j < t->length[level]; j++) {
            total sum = nothing, x;
            for (int64_t k = j * FAN; k < (j + 1) * FAN; k++) x = node(t, kind, level - 1, k), add(t, kind, &sum, &x);
            set_node(t, kind, level, j, &sum);
        }
}

typedef void put(const tra_windowing *w, int i, int64_t to, const total *x, const tree *t, int64_t *source);

/* Frames that begin where the last one did go on from its total. */
static inline __attribute__((always_inline)) void fold_frames(tree *t, fold_kind kind, int i, put *put,
                                                              int64_t *source) {
    const tra_windowing *w = t->w;
    total sum = nothing;
    int64_t low = 0, high = 0;
    grow(t, kind);
    for (int64_t j = 0; j < w->n; j++) {
        if (w->to[j] < 0) continue;
        if (w->low[j] != low || w->high[j] < high) sum = nothing, low = high = w->low[j];
        fold_range(t, kind, high, w->high[j], &sum);
        high = w->high[j];
        put(w, i, w->to[j], &sum, t, source);
    }
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* Words for the totals of a tree over n items, each time from *at on. */
static int64_t *take(int64_t **at, int64_t n) {
    int64_t *v = *at;
    *at += n;
    return v;
}

static void begin_levels(tree *t, int64_t n) {
    for (t->levels = 0; t->levels < LEVELS && (t->levels == 0 || n > 0); t->levels++, n /= FAN)
        t->length[t->levels] = n;
}

static double value_of(const tra_windowing *w, int c, int64_t i) {
    return tra_value_real(&w->x->in->v[c], &w->in.v[c], w->at[i]);
}

static bool has_value(const tra_windowing *w, int c, int64_t i) { return tra_window_present(&w->in.v[c], w->at[i]); }

/* ---- counts and sums of integers --------------------------------------------------------------------------------- */

/* How many values, or where there is no column rows, stand before each item. */
static int64_t *count_before(tra_windowing *w, int i, int64_t **at) {
    int c = w->x->v[i].column;
    int64_t *n = take(at, w->n + 1);
    n[0] = 0;
    for (int64_t j = 0; j < w->n; j++) {
        const tra_group_total *of = tra_window_total(w, i, j);
        n[j + 1] = n[j] + (of ? of->n : c < 0 ? 1 : has_value(w, c, j));
    }
    return n;
}

static void put_counts(tra_windowing *w, int i, const int64_t *before) {
    int64_t *v = w->out->v[1 + i].values;
    for (int64_t j = 0; j < w->n; j++)
        if (w->to[j] >= 0) v[w->to[j]] = before[w->high[j]] - before[w->low[j]];
}

static void refuse_sum(const tra_windowing *w, int i, int64_t j) {
    const tra_window *x = w->x;
    int64_t row = x->number < 0 ? w->at[j] : ((const int64_t *)w->in.v[x->number].values)[w->at[j]];
    tra_kernel_fail("sum: the total `%s` of the frame of row %" PRId64 " does not fit i64; convert the values: x * 1.0",
                    x->v[i].name, row);
}

static void put_whole_sums(tra_windowing *w, int i, const int64_t *count, int64_t *at) {
    int c = w->x->v[i].column;
    __int128 *sum = (__int128 *)(((uintptr_t)at + 15) & ~(uintptr_t)15);
    tra_vector *v = &w->out->v[1 + i];
    sum[0] = 0;
    for (int64_t j = 0; j < w->n; j++) {
        const tra_group_total *of = tra_window_total(w, i, j);
        sum[j + 1] = sum[j] + (of                   ? of->sum
                               : has_value(w, c, j) ? tra_value_whole(&w->x->in->v[c], &w->in.v[c], w->at[j])
                                                    : 0);
    }
    for (int64_t j = 0; j < w->n; j++) {
        int64_t to = w->to[j];
        if (to < 0) continue;
        int64_t n = count[w->high[j]] - count[w->low[j]];
        __int128 s = sum[w->high[j]] - sum[w->low[j]];
        if (w->x->v[i].f == TRA_WINDOW_MEAN) {
            tra_window_put(v, to, n > 0, (double)((long double)s / (long double)n));
            continue;
        }
        if (s > INT64_MAX || s < INT64_MIN) refuse_sum(w, i, j);
        ((int64_t *)v->values)[to] = n > 0 ? (int64_t)s : 0;
        v->state[to] = n > 0 ? TRA_STATE_VALUE : TRA_STATE_NULL;
    }
}

/* ---- sums of floats, and moments
 * ------------------------------------------------------------------------------------- */

static void put_real(const tra_windowing *w, int i, int64_t to, const total *x, const tree *t, int64_t *source) {
    (void)t, (void)source;
    ((double *)w->out->v[1 + i].values)[to] = x->sum;
}

static void fold_real(tra_windowing *w, int i, const int64_t *count, int64_t *at) {
    int c = w->x->v[i].column;
    tree t = {.w = w};
    tra_vector *v = &w->out->v[1 + i];
    begin_levels(&t, w->n);
    for (int k = 0; k < t.levels; k++) t.sum[k] = (double *)take(&at, t.length[k]);
    for (int64_t j = 0; j < w->n; j++) {
        const tra_group_total *of = tra_window_total(w, i, j);
        t.sum[0][j] = of ? of->real : has_value(w, c, j) ? value_of(w, c, j) : 0;
    }
    fold_frames(&t, FOLD_REAL, i, put_real, NULL);
    for (int64_t j = 0; j < w->n; j++) {
        int64_t to = w->to[j];
        if (to < 0) continue;
        int64_t n = count[w->high[j]] - count[w->low[j]];
        double sum = ((double *)v->values)[to];
        tra_window_put(v, to, n > 0, w->x->v[i].f == TRA_WINDOW_MEAN ? sum / (double)n : sum);
    }
}

static void put_spread(const tra_windowing *w, int i, int64_t to, const total *x, const tree *t, int64_t *source) {
    double var = x->square / (x->n - 1);
    (void)t, (void)source;
    tra_window_put(&w->out->v[1 + i], to, x->n > 1, w->x->v[i].f == TRA_WINDOW_STD ? sqrt(var) : var);
}

static void fold_moments(tra_windowing *w, int i) {
    int c = w->x->v[i].column;
    tree t = {.w = w};
    int64_t *at = w->work;
    begin_levels(&t, w->n);
    for (int k = 0; k < t.levels; k++) {
        t.sum[k] = (double *)take(&at, t.length[k]);
        t.n[k] = (double *)take(&at, t.length[k]);
        t.square[k] = (double *)take(&at, t.length[k]);
    }
    for (int64_t j = 0; j < w->n; j++) {
        const tra_group_total *of = tra_window_total(w, i, j);
        bool any = !of && has_value(w, c, j);
        t.sum[0][j] = of ? of->mean : any ? value_of(w, c, j) : 0;
        t.n[0][j] = of ? (double)of->n : any;
        t.square[0][j] = of ? of->square : any && !isfinite(t.sum[0][j]) ? (double)NAN : 0;
    }
    fold_frames(&t, FOLD_MOMENTS, i, put_spread, NULL);
}

/* ---- least and greatest
 * ---------------------------------------------------------------------------------------------- */

static uint64_t code_of_whole(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }

/* NaN stands for all, of the least values too. */
static uint64_t code_of_real(double x, bool most) {
    uint64_t u;
    if (x != x) return most ? UINT64_MAX : 0;
    x += 0.0; /* -0 is 0 */
    memcpy(&u, &x, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static void put_best(const tra_windowing *w, int i, int64_t to, const total *x, const tree *t, int64_t *source) {
    (void)i, (void)t;
    int64_t bundle = x->best < 0 ? -1 : tra_window_bundle(w, x->best);
    source[to] = x->best < 0 ? -1 : bundle >= 0 ? -2 - bundle : w->at[x->best];
}

static void fold_best(tra_windowing *w, int i, int64_t *source) {
    int c = w->x->v[i].column;
    int64_t *at = w->work, row;
    tree t = {.w = w, .c = &w->x->in->v[c], .v = &w->in.v[c], .most = w->x->v[i].f == TRA_WINDOW_MAX};
    bool real = tra_coltype_is_float(t.c->type), looks_up = tra_order_looks_up(w->x->in, 1, &c);
    if (w->place && w->x->context->states) t.bundles = &w->reached.v[tra_window_state_column(w->x, i)];
    begin_levels(&t, w->n);
    for (int k = 0; k < t.levels; k++) t.best[k] = take(&at, t.length[k]);
    uint64_t *code = looks_up ? NULL : (uint64_t *)take(&at, w->n);
    t.code = code;
    for (int64_t j = 0; j < w->n; j++) {
        const tra_vector *v = values_of(&t, j, &row);
        t.best[0][j] = tra_window_present(v, row) ? j : -1;
        if (code)
            code[j] =
                real ? code_of_real(tra_value_real(t.c, v, row), t.most) : code_of_whole(tra_value_whole(t.c, v, row));
    }
    fold_frames(&t, FOLD_BEST, i, put_best, source);
}

/* ---- all
 * ------------------------------------------------------------------------------------------------------------- */

void tra_window_fold(tra_windowing *w, int i, int64_t *source) {
    const tra_window_column *v = &w->x->v[i];
    int64_t *at = w->work, *count;
    bool real = v->column >= 0 && tra_coltype_is_float(w->x->in->v[v->column].type);
    tra_window_find_frames(w, &v->frame);
    switch (v->f) {
    case TRA_WINDOW_VAR:
    case TRA_WINDOW_STD: fold_moments(w, i); return;
    case TRA_WINDOW_MIN:
    case TRA_WINDOW_MAX: fold_best(w, i, source); return;
    default: break;
    }
    count = count_before(w, i, &at);
    if (v->f == TRA_WINDOW_COUNT)
        put_counts(w, i, count);
    else if (real)
        fold_real(w, i, count, at);
    else
        put_whole_sums(w, i, count, at);
}
