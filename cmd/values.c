/* values.c - minimum, maximum, mean and NaN of a relation's elements. */
#include "values.h"

#include "../lib/model/rows.h"
#include "common.h"

#include <math.h>

static const tra_values nothing = {.min = NAN, .max = NAN, .least = INT64_MAX, .most = INT64_MIN};

typedef struct gathering {
    const tra_type *type;
    tra_values part[TRA_MAXWORKERS];
} gathering;

static void merge(tra_values *s, const tra_values *p) {
    s->min = fmin(s->min, p->min);
    s->max = fmax(s->max, p->max);
    s->least = tra_min64(s->least, p->least);
    s->most = tra_max64(s->most, p->most);
    s->sum += p->sum;
    s->numbers += p->numbers;
    s->nans += p->nans;
}

double tra_values_mean(const tra_values *s) {
    double mean = s->numbers ? (double)(s->sum / s->numbers) : NAN;
    return isnan(mean) ? NAN : mean;
}

#define GATHER_FLOAT(ctype)                                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        double x = (double)((const ctype *)data)[i];                                                                   \
        bool number = x == x;                                                                                          \
        count += number;                                                                                               \
        sum += number ? x : 0;                                                                                         \
        min = x < min ? x : min;                                                                                       \
        max = x > max ? x : max;                                                                                       \
    }
#define GATHER_INT(ctype)                                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        int64_t x = ((const ctype *)data)[i];                                                                          \
        sum += x;                                                                                                      \
        p.least = x < p.least ? x : p.least;                                                                           \
        p.most = x > p.most ? x : p.most;                                                                              \
    }                                                                                                                  \
    count = n;
#define GATHER_BOOL GATHER_INT

/* Adds n elements to the statistics of a worker. */
static void gather_run(gathering *g, int worker, const void *data, int64_t n) {
    int64_t count = 0;
    double min = INFINITY, max = -INFINITY;
    long double sum = 0;
    tra_values p = nothing;
    switch (g->type->dtype) {
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: GATHER_##class(ctype); break;
        TRA_DTYPES(X)
#undef X
    }
    if (count && tra_dtype_is_float(g->type->dtype)) p.min = min, p.max = max;
    p.sum = sum;
    p.numbers = count;
    p.nans = n - count;
    merge(&g->part[worker], &p);
}

/* Counts n elements that are 0 because they are not stored. */
static void gather_zeros(gathering *g, int worker, int64_t n) {
    tra_values p = nothing;
    if (n == 0) return;
    p.min = p.max = 0;
    p.least = p.most = 0;
    p.numbers = n;
    merge(&g->part[worker], &p);
}

static tra_status gather(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    gathering *g = ctx;
    int64_t n = tra_catalog_elements_of(g->type->cat, ordinal);
    if (!data) return e->status;
    if (!g->type->layout) {
        gather_run(g, worker, data, n);
        return TRA_OK;
    }
    tra_cell cell = tra_cell_new(g->type, ordinal, (void *)(uintptr_t)data);
    tra_rows_view v = tra_rows_of(&cell);
    gather_run(g, worker, v.value, v.n);
    gather_zeros(g, worker, n - v.n);
    return TRA_OK;
}

tra_status tra_values_of(tra_rel *rel, int64_t memory, tra_values *s, tra_err *e) {
    gathering g = {.type = tra_rel_type(rel)};
    for (int i = 0; i < TRA_MAXWORKERS; i++) g.part[i] = nothing;
    TRA_TRY(tra_scan(rel, tra_rel_info(rel)->path, memory, gather, &g, e));
    *s = g.part[0];
    for (int i = 1; i < TRA_MAXWORKERS; i++) merge(s, &g.part[i]);
    return TRA_OK;
}
