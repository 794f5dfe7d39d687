/* plot_data.c - what pictures show: values counted in bins, and elements in the cells of a grid. */
#include "plot.h"

#include "common.h"
#include "tables.h"

#include "../formats/formats.h"
#include "../formats/visit.h"
#include "../lib/model/dates.h"
#include "../lib/model/rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 16, MOST_BINS = 32, TOP = 16 };
static const double DAY = 86400e6; /* microseconds */

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* What one worker has seen. First the range, then how many are in each bin. */
typedef struct seen {
    double low, high;
    int64_t numbers, nans, infinities, nulls, bin[MOST_BINS + 1];
} seen;

typedef struct counting {
    const tra_type *type; /* of a tensor */
    tra_dtype dtype;
    bool counts;        /* the range is known: count */
    double first, step; /* bin i begins at (first + i) * step */
    int bins;
    int64_t *codes; /* of a dictionary: how many have each code; else NULL */
    seen *part;     /* of each worker */
} counting;

static void see(const counting *c, seen *s, double v) {
    if (isnan(v)) {
        s->nans++;
    } else if (isinf(v)) {
        s->infinities++;
    } else if (c->counts) {
        double i = floor(v / c->step) - c->first;
        s->bin[i < 0 ? 0 : i >= c->bins ? c->bins - 1 : (int)i]++;
    } else {
        s->numbers++;
        s->low = fmin(s->low, v);
        s->high = fmax(s->high, v);
    }
}

static tra_status see_column(void *ctx, int worker, int column, int64_t first, const tra_batch *b, tra_err *e) {
    counting *c = ctx;
    seen *s = &c->part[worker];
    (void)first;
    if (!b) return e->status;
    const tra_vector *v = &b->v[column];
    for (int64_t i = 0; i < b->rows; i++) {
        if (v->state && v->state[i] != TRA_STATE_VALUE)
            s->nulls++;
        else if (c->codes)
            __atomic_add_fetch(&c->codes[((const int32_t *)v->values)[i]], 1, __ATOMIC_RELAXED);
        else
            see(c, s, tra_element_real(c->dtype, v->values, i));
    }
    return TRA_OK;
}

static tra_status see_array(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    counting *c = ctx;
    if (!data) return e->status;
    int64_t n = tra_catalog_elements_of(c->type->cat, ordinal);
    if (c->type->layout) {
        tra_cell cell = tra_cell_new(c->type, ordinal, (void *)(uintptr_t)data);
        tra_rows_view v = tra_rows_of(&cell);
        data = v.value;
        n = v.n;
    }
    for (int64_t i = 0; i < n; i++) see(c, &c->part[worker], tra_element_real(c->dtype, data, i));
    return TRA_OK;
}

static seen all_of(const counting *c) {
    seen s = {.low = INFINITY, .high = -INFINITY};
    for (int w = 0; w < TRA_MAXWORKERS; w++) {
        const seen *p = &c->part[w];
        s.low = fmin(s.low, p->low);
        s.high = fmax(s.high, p->high);
        s.numbers += p->numbers, s.nans += p->nans, s.infinities += p->infinities, s.nulls += p->nulls;
        for (int i = 0; i < MOST_BINS; i++) s.bin[i] += p->bin[i];
    }
    return s;
}

static void forget(counting *c) {
    for (int w = 0; w < TRA_MAXWORKERS; w++) c->part[w] = (seen){.low = INFINITY, .high = -INFINITY};
}

/* ---- bins ------------------------------------------------------------------------------------------------------- */

/* Of moments a bin is so many microseconds. */
static double moment_step(double least) {
    static const double seconds[] = {1,     2,     5,      10,     15,      30,      60,      120,
                                     300,   600,   900,    1800,   3600,    7200,    10800,   21600,
                                     43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (least <= seconds[i] * 1e6) return seconds[i] * 1e6;
    return ceil(least / (31536000 * 1e6)) * 31536000 * 1e6;
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double least) {
    double ten = pow(10, floor(log10(least)));
    static const double by[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (least <= by[i] * ten * (1 + 1e-9)) return by[i] * ten;
    return 10 * ten;
}

/* Chooses the bins of values from low to high. */
static void choose_bins(counting *c, double low, double high, tra_coltype type) {
    bool whole = !tra_dtype_is_float(c->dtype);
    double least = high / BINS - low / BINS;
    c->counts = true;
    if (whole && high - low < MOST_BINS / 2) {
        c->step = 1, c->first = low, c->bins = (int)(high - low) + 1;
        return;
    }
    if (!(least > fabs(high) * DBL_EPSILON)) { /* all are equal, or nearly so */
        c->step = fmax(fabs(high), DBL_MIN), c->first = low / c->step, c->bins = 1;
        return;
    }
    c->step = type == TRA_COL_TIMESTAMP && least >= 1e6 ? moment_step(least) : round_step(least);
    if (whole) c->step = fmax(c->step, 1);
    c->first = floor(low / c->step);
    c->bins = (int)fmin(MOST_BINS, floor(high / c->step) - c->first + 1);
}

static const char *edge_text(double v, double step, tra_coltype type, tra_arena *a) {
    char buf[TRA_DATETEXT] = "";
    if (type == TRA_COL_DATE) return tra_arena_printf(a, "%s", tra_date_text((int32_t)v, buf));
    if (type == TRA_COL_TIMESTAMP && fmod(step, DAY) == 0)
        return tra_arena_printf(a, "%s", tra_date_text((int32_t)floor(v / DAY), buf));
    if (type == TRA_COL_TIMESTAMP) return tra_arena_printf(a, "%s", tra_timestamp_text((int64_t)v, buf));
    if (fabs(v) < step * 1e-6) v = 0; /* what is left of rounding */
    return tra_arena_printf(a, fabs(v) < 1e15 && floor(v) == v ? "%.0f" : "%.6g", v);
}

static void name_bins(const counting *c, const seen *s, tra_coltype type, double high, tra_arena *a, tra_plot *p) {
    bool each = c->step == 1 && !tra_dtype_is_float(c->dtype);
    p->n = c->bins;
    p->label = tra_news(a, const char *, p->n + 1);
    p->count = tra_news(a, int64_t, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        double from = fmax((c->first + i) * c->step, -DBL_MAX), to = fmin((c->first + i + 1) * c->step, DBL_MAX);
        p->count[i] = s->bin[i];
        if (type == TRA_COL_BOOL)
            p->label[i] = from == 0 ? "false" : "true";
        else if (each || (p->n == 1 && high == from))
            p->label[i] = edge_text(from, c->step, type, a);
        else
            p->label[i] = tra_arena_printf(a, "%s to %s", edge_text(from, c->step, type, a),
                                           edge_text(c->bins == 1 ? high : to, c->step, type, a));
    }
}

static const char *note_of(const seen *s, tra_arena *a) {
    static const char *const names[] = {"NULL", "NaN", "infinite"};
    int64_t n[] = {s->nulls, s->nans, s->infinities};
    const char *text = "";
    for (int i = 0; i < 3; i++)
        if (n[i]) text = tra_arena_printf(a, "%s%s%" PRId64 " %s", text, *text ? ", " : "", n[i], names[i]);
    return *text ? text : NULL;
}

/* ---- histograms ------------------------------------------------------------------------------------------------- */

typedef struct bar_of_code {
    int64_t count, code;
} bar_of_code;

static int more_first(const void *a, const void *b) {
    const bar_of_code *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->code < y->code ? -1 : x->code > y->code;
}

/* The most common strings, and how many have others. */
static void name_codes(const counting *c, const tra_dictionary *d, tra_arena *a, tra_plot *p) {
    bar_of_code top[TOP + 1];
    int n = 0;
    int64_t others = 0, different = 0;
    for (int64_t i = 0; i < d->n; i++) {
        if (c->codes[i] == 0) continue;
        bar_of_code x = {c->codes[i], i};
        if (n == TOP && more_first(&x, &top[TOP - 1]) > 0) {
            others += x.count, different++;
            continue;
        }
        if (n == TOP) others += top[--n].count, different++;
        int at = n++;
        for (; at > 0 && more_first(&x, &top[at - 1]) < 0; at--) top[at] = top[at - 1];
        top[at] = x;
    }
    p->label = tra_news(a, const char *, n + 2);
    p->count = tra_news(a, int64_t, n + 2);
    for (int i = 0; i < n; i++) {
        enum { LONGEST = 32 };
        int64_t len;
        const char *s = tra_dictionary_at(d, top[i].code, &len);
        int64_t kept = tra_min64(len, LONGEST);
        while (kept > 0 && kept < len && (s[kept] & 0xc0) == 0x80) kept--;
        p->label[i] = tra_arena_printf(a, "%.*s%s", (int)kept, s, kept < len ? "..." : "");
        p->count[i] = top[i].count;
    }
    p->n = n;
    if (!different) return;
    p->label[n] = tra_arena_printf(a, "(%" PRId64 " others)", different);
    p->count[n] = others;
    p->n++;
}

static tra_status column_plot(tra_rel *rel, const char *spec, int column, int64_t memory, tra_arena *a, tra_plot *p,
                              tra_err *e) {
    const tra_column *of = &tra_rel_type(rel)->columns->v[column];
    counting c = {.dtype = tra_coltype_held(of->type), .part = tra_news(a, seen, TRA_MAXWORKERS)};
    int64_t dictionary = of->dict ? of->dict->n * (int64_t)sizeof *c.codes : 0;
    if (dictionary) TRA_TRY(tra_buffer_check(memory, dictionary, e));
    if (of->dict) c.codes = tra_calloc((size_t)of->dict->n + 1, sizeof *c.codes);
    forget(&c);
    tra_status s = tra_scan_columns(rel, spec, column, memory - dictionary, see_column, &c, e);
    seen found = all_of(&c);
    if (s == TRA_OK && !of->dict && found.numbers > 0) {
        choose_bins(&c, found.low, found.high, of->type);
        forget(&c);
        s = tra_scan_columns(rel, spec, column, memory, see_column, &c, e);
    }
    if (s == TRA_OK) {
        seen counted = all_of(&c);
        p->title = tra_arena_printf(a, "%s: %s, %" PRId64 " rows", spec, of->name, tra_rel_rows(rel));
        p->note = note_of(&counted, a);
        if (of->dict)
            name_codes(&c, of->dict, a, p);
        else if (found.numbers > 0)
            name_bins(&c, &counted, of->type, found.high, a, p);
    }
    free(c.codes);
    return s;
}

static tra_status values_plot(tra_rel *rel, const char *spec, int64_t memory, tra_arena *a, tra_plot *p, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    counting c = {.type = t, .dtype = t->dtype, .part = tra_news(a, seen, TRA_MAXWORKERS)};
    forget(&c);
    TRA_TRY(tra_scan(rel, spec, memory, see_array, &c, e));
    seen found = all_of(&c);
    if (found.numbers > 0) {
        choose_bins(&c, found.low, found.high, tra_coltype_of(t->dtype));
        forget(&c);
        TRA_TRY(tra_scan(rel, spec, memory, see_array, &c, e));
    }
    seen counted = all_of(&c);
    p->title = tra_arena_printf(a, "%s: %" PRId64 " %s", spec, found.numbers + found.nans + found.infinities,
                                t->layout ? "entries" : "values");
    p->note = note_of(&counted, a);
    if (found.numbers > 0) name_bins(&c, &counted, tra_coltype_of(t->dtype), found.high, a, p);
    return TRA_OK;
}

/* ---- heat maps -------------------------------------------------------------------------------------------------- */

typedef struct mapping {
    const tra_view *view;
    const tra_type *type;
    int rows, columns;
    double *sum[TRA_MAXWORKERS]; /* of each cell; made by the worker */
    double *number[TRA_MAXWORKERS];
} mapping;

/* Which cell the coordinates of the first two dimensions are in. */
static int64_t cell_of(const mapping *m, int64_t row, int64_t column) {
    const int64_t *shape = m->view->shape.v;
    int64_t r = (int64_t)((double)row * m->rows / (double)shape[0]);
    int64_t c = (int64_t)((double)column * m->columns / (double)shape[1]);
    return tra_min64(r, m->rows - 1) * m->columns + tra_min64(c, m->columns - 1);
}

static tra_status map_array(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    mapping *m = ctx;
    tra_dims at, ext, place;
    if (!data) return e->status;
    if (!m->sum[worker]) {
        m->sum[worker] = tra_calloc((size_t)m->rows * (size_t)m->columns, sizeof(double));
        m->number[worker] = tra_calloc((size_t)m->rows * (size_t)m->columns, sizeof(double));
    }
    double *sum = m->sum[worker], *number = m->number[worker];
    tra_view_offset(m->view, ordinal, &at);
    tra_catalog_ext(m->type->cat, ordinal, &ext);
    int lead = at.n - ext.n; /* dimensions of the tensor that the array does not have */
    if (m->type->layout) {
        tra_cell cell = tra_cell_new(m->type, ordinal, (void *)(uintptr_t)data);
        tra_visit w = tra_visit_cell(&cell, &at, NULL);
        for (;;) {
            TRA_TRY(tra_visit_next(&w, e));
            if (w.end) return TRA_OK;
            const int64_t *v = tra_visit_at(&w)->v;
            number[cell_of(m, v[0], v[1])]++;
        }
    }
    place = at;
    for (int64_t i = 0, n = tra_catalog_elements_of(m->type->cat, ordinal); i < n; i++) {
        double v = tra_element_real(m->type->dtype, data, i);
        int64_t k = cell_of(m, place.v[0], place.v[1]);
        if (isfinite(v)) sum[k] += v, number[k]++;
        for (int d = at.n - 1; d >= lead && ++place.v[d] == at.v[d] + ext.v[d - lead]; d--) place.v[d] = at.v[d];
    }
    return TRA_OK;
}

/* Elements that a range of cells stands for, along a dimension: those that cell_of puts there. */
static double extent_of(int64_t n, int cells, int i) {
    return ceil((double)(i + 1) * (double)n / cells) - ceil((double)i * (double)n / cells);
}

static tra_status map_plot(tra_rel *rel, const char *spec, bool text, int64_t memory, tra_arena *a, tra_plot *p,
                           tra_err *e) {
    tra_view view;
    const tra_type *t = tra_rel_type(rel);
    TRA_TRY(tra_view_open(&view, rel, spec, e));
    mapping m = {.view = &view, .type = t};
    char shape[TRA_DIMTEXT];
    bool entries = t->layout != NULL;
    tra_plot_grid(view.shape.v, text, &m.rows, &m.columns);
    int64_t cells = (int64_t)m.rows * m.columns, each = 2 * cells * (int64_t)sizeof(double) * tra_cores();
    tra_status s = tra_buffer_check(memory, each, e);
    if (s == TRA_OK) s = tra_scan(rel, spec, memory - each, map_array, &m, e);
    p->title =
        tra_arena_printf(a, "%s: %s of %s%s", spec, entries ? "entries" : "means", tra_shape_text(&view.shape, shape),
                         view.shape.n > 2 ? ", by the first two dimensions" : "");
    p->rows = m.rows, p->columns = m.columns;
    p->shape[0] = view.shape.v[0], p->shape[1] = view.shape.v[1];
    p->value = tra_news(a, double, cells + 1);
    p->what = entries ? "density" : "mean";
    p->logarithmic = entries;
    double deep = 1;
    for (int d = 2; d < view.shape.n; d++) deep *= (double)view.shape.v[d];
    for (int64_t k = 0; k < cells; k++) {
        double sum = 0, n = 0;
        for (int w = 0; w < TRA_MAXWORKERS; w++)
            if (m.sum[w]) sum += m.sum[w][k], n += m.number[w][k];
        double all = deep * extent_of(p->shape[0], m.rows, (int)(k / m.columns)) *
                     extent_of(p->shape[1], m.columns, (int)(k % m.columns));
        p->value[k] = n == 0 ? NAN : entries ? n / all : sum / n;
    }
    for (int w = 0; w < TRA_MAXWORKERS; w++) free(m.sum[w]), free(m.number[w]);
    tra_view_close(&view);
    return s;
}

/* ---- what a relation is shown by -------------------------------------------------------------------------------- */

static bool has_map(const tra_rel *rel) {
    const tra_type *t = tra_rel_type((tra_rel *)(uintptr_t)rel);
    tra_dims shape;
    if (!tra_type_is_tensor(t, NULL)) return false;
    tra_type_shape(t, &shape);
    return shape.n >= 2 && shape.v[0] > 0 && shape.v[1] > 0 && (t->layout || shape.n == 2);
}

tra_status tra_plot_density(tra_rel *rel, const char *spec, bool text, int64_t memory, tra_arena *a, tra_plot *out,
                            tra_err *e) {
    *out = (tra_plot){0};
    return map_plot(rel, spec, text, memory, a, out, e);
}

static tra_status table_plots(tra_rel *rel, const char *spec, const char *column, int64_t memory, tra_arena *a, int *n,
                              tra_plot *v, tra_err *e) {
    const tra_schema *all = tra_rel_type(rel)->columns;
    int only = column ? tra_schema_find(all, column) : -1;
    if (column && only < 0) {
        const char **names = tra_news(a, const char *, all->n + 1);
        for (int c = 0; c < all->n; c++) names[c] = all->v[c].name;
        const char *near = tra_nearest(column, all->n, names);
        return tra_fail(e, TRA_USAGE, "--plot=%s: %s has no such column%s%s%s", column, spec,
                        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    tra_status s = TRA_OK;
    for (int c = column ? only : 0; c < (column ? only + 1 : all->n) && s == TRA_OK; c++)
        s = column_plot(rel, spec, c, memory, a, &v[(*n)++], e);
    return s;
}

tra_status tra_plots_of(tra_rel *rel, const char *spec, const char *column, bool text, int64_t memory, tra_arena *a,
                        int *n, tra_plot **v, tra_err *e) {
    *n = 0;
    if (tra_rel_is_table(rel)) {
        *v = tra_news(a, tra_plot, tra_rel_type(rel)->columns->n + 1);
        return table_plots(rel, spec, column, memory, a, n, *v, e);
    }
    if (column)
        return tra_fail(e, TRA_USAGE, "--plot=%s: %s is no table, and has no columns: leave it out", column, spec);
    *v = tra_news(a, tra_plot, 2);
    if (has_map(rel)) TRA_TRY(map_plot(rel, spec, text, memory, a, &(*v)[(*n)++], e));
    return values_plot(rel, spec, memory, a, &(*v)[(*n)++], e);
}
