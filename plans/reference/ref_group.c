/* ref_group.c - groups and orders by their definitions: every row is compared with every other. */
#include "ref_table.h"

#include <math.h>
#include <string.h>

int ref_key_order(tra_coltype t, const ref_cell *a, const ref_cell *b, bool desc) {
    int r;
    if (a->state != REF_VALUE || b->state != REF_VALUE) return (a->state != REF_VALUE) - (b->state != REF_VALUE);
    if (tra_coltype_is_coded(t)) {
        r = memcmp(a->s, b->s, (size_t)tra_min64(a->len, b->len));
        if (r == 0) r = (a->len > b->len) - (a->len < b->len);
    } else if (tra_coltype_is_float(t)) {
        r = isnan(a->f) || isnan(b->f) ? isnan(a->f) - isnan(b->f) : (a->f > b->f) - (a->f < b->f);
    } else {
        r = (a->i > b->i) - (a->i < b->i);
    }
    return desc ? -r : r;
}

/* ---- aggregates --------------------------------------------------------------------------------------------- */

ref_num ref_number(const ref_item *x) { return x->type <= TRA_COL_I64 ? (ref_num)x->c.i : (ref_num)x->c.f; }

static ref_cell real(bool any, ref_num v) { return (ref_cell){.state = any ? REF_VALUE : REF_NULL, .f = (double)v}; }

static ref_cell extreme(const ref_values *g, tra_aggregate f) {
    if (g->n == 0) return (ref_cell){.state = REF_NULL};
    bool two = tra_aggregate_has_two(f);
    const ref_item **v = two ? g->by : g->v, *best = v[0];
    int64_t at = 0;
    for (int64_t i = 1; i < g->n; i++) {
        const ref_item *x = v[i];
        bool floats = tra_coltype_is_float(x->type);
        if (floats && isnan(best->c.f)) break; /* it propagates */
        int c = ref_key_order(x->type, &x->c, &best->c, false);
        bool better = f == TRA_AGGREGATE_LAST                                                          ? true
                      : f == TRA_AGGREGATE_MAX || f == TRA_AGGREGATE_ANY || f == TRA_AGGREGATE_ARG_MAX ? c > 0
                      : f == TRA_AGGREGATE_FIRST                                                       ? false
                                                 : c < 0 || (floats && isnan(x->c.f));
        if (better) best = x, at = i;
    }
    return f == TRA_AGGREGATE_LAST ? g->v[g->n - 1]->c : f == TRA_AGGREGATE_FIRST ? g->v[0]->c : g->v[at]->c;
}

static ref_cell spread(const ref_values *g, bool root) {
    ref_num mean = 0, sum = 0;
    for (int64_t i = 0; i < g->n; i++) mean += ref_number(g->v[i]) / g->n;
    for (int64_t i = 0; i < g->n; i++) sum += (ref_number(g->v[i]) - mean) * (ref_number(g->v[i]) - mean);
    sum /= g->n - 1;
    return real(g->n > 1, root ? sqrtl((ref_num)(double)sum) : sum);
}

/* (of equal values exactly that) */
static ref_num mean_of(const ref_item **v, int64_t n) {
    ref_num first = n ? ref_number(v[0]) : 0, apart = 0;
    for (int64_t i = 0; i < n; i++) apart += ref_number(v[i]) - first;
    return n ? first + apart / n : 0;
}

/* The sum of powers of what differs from the means, as f64, where it may be infinite or 0. */
static ref_num moment(const ref_values *g, int px, int py) {
    ref_num x = mean_of(g->v, g->n), y = py ? mean_of(g->by, g->n) : 0, sum = 0;
    for (int64_t i = 0; i < g->n; i++)
        sum += powl(ref_number(g->v[i]) - x, px) * (py ? powl(ref_number(g->by[i]) - y, py) : 1);
    return (ref_num)(double)sum;
}

static ref_cell shape(const ref_values *g, tra_aggregate f) {
    ref_num n = g->n, square = moment(g, 2, 0) / n;
    if (f == TRA_AGGREGATE_SKEWNESS)
        return real(n > 2, sqrtl(n * (n - 1)) / (n - 2) * (moment(g, 3, 0) / n) / powl(square, 1.5L));
    return real(n > 3,
                (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (moment(g, 4, 0) / n) / (square * square) - 3 * (n - 1)));
}

static ref_cell of_pairs(const ref_values *g, tra_aggregate f) {
    ref_num n = g->n, xx = moment(g, 2, 0), yy = moment(g, 0, 2), xy = moment(g, 1, 1);
    if (f == TRA_AGGREGATE_COVAR) return real(n > 1, xy / (n - 1));
    if (f == TRA_AGGREGATE_COVAR_POP) return real(n > 0, xy / n);
    if (f == TRA_AGGREGATE_REGR_SLOPE) return real(n > 0 && yy != 0, xy / yy);
    if (f == TRA_AGGREGATE_REGR_INTERCEPT)
        return real(n > 0 && yy != 0, mean_of(g->v, g->n) - xy / yy * mean_of(g->by, g->n));
    ref_num r = xy / (sqrtl(xx) * sqrtl(yy));
    return real(n > 1, r > 1 ? 1 : r < -1 ? -1 : r);
}

static void sort_values(ref_values *g) {
    for (int64_t i = 1; i < g->n; i++)
        for (int64_t j = i; j > 0 && ref_key_order(g->v[j]->type, &g->v[j]->c, &g->v[j - 1]->c, false) < 0; j--) {
            const ref_item *t = g->v[j];
            g->v[j] = g->v[j - 1];
            g->v[j - 1] = t;
        }
}

static ref_cell quantile(ref_values *g, double q) {
    sort_values(g);
    if (g->n == 0 || isnan((double)ref_number(g->v[g->n - 1]))) return real(g->n > 0, (ref_num)NAN);
    double place = q * (double)(g->n - 1);
    int64_t below = (int64_t)floor(place);
    ref_num low = ref_number(g->v[below]), high = ref_number(g->v[tra_min64(below + 1, g->n - 1)]);
    ref_num share = place - (double)below;
    if (low == high || share == 0) return real(true, low);
    return real(true, isinf((double)(high - low)) ? low * (1 - share) + high * share : low + (high - low) * share);
}

tra_status ref_aggregate(const tra_table_agg *a, ref_values *g, int64_t rows, ref_cell *out, tra_err *e) {
    __int128 exact = 0;
    double sum = 0;
    bool whole = g->n && g->v[0]->type <= TRA_COL_I64;
    for (int64_t i = 0; i < g->n; i++) {
        if (whole) exact += g->v[i]->c.i;
        if (!whole) sum += (double)ref_number(g->v[i]);
    }
    switch (a->f) {
    case TRA_AGGREGATE_COUNT: *out = (ref_cell){.i = a->ast ? g->n : rows}; return TRA_OK;
    case TRA_AGGREGATE_SUM:
        *out = whole ? (ref_cell){.i = (int64_t)exact} : real(g->n > 0, sum);
        if (whole && (exact > INT64_MAX || exact < INT64_MIN))
            return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "a sum does not fit i64");
        return TRA_OK;
    case TRA_AGGREGATE_MEAN:
        *out = real(g->n > 0, whole ? (ref_num)exact / g->n : (ref_num)(sum / (double)g->n));
        return TRA_OK;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_ARG_MIN:
    case TRA_AGGREGATE_ARG_MAX:
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL: *out = extreme(g, a->f); return TRA_OK;
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD: *out = spread(g, a->f == TRA_AGGREGATE_STD); return TRA_OK;
    case TRA_AGGREGATE_SKEWNESS:
    case TRA_AGGREGATE_KURTOSIS: *out = shape(g, a->f); return TRA_OK;
    case TRA_AGGREGATE_CORR:
    case TRA_AGGREGATE_COVAR:
    case TRA_AGGREGATE_COVAR_POP:
    case TRA_AGGREGATE_REGR_SLOPE:
    case TRA_AGGREGATE_REGR_INTERCEPT: *out = of_pairs(g, a->f); return TRA_OK;
    case TRA_AGGREGATE_DISTINCT:
        sort_values(g);
        *out = (ref_cell){.i = g->n > 0};
        for (int64_t i = 1; i < g->n; i++)
            out->i += ref_key_order(g->v[i]->type, &g->v[i]->c, &g->v[i - 1]->c, false) != 0;
        return TRA_OK;
    case TRA_AGGREGATE_MEDIAN: *out = quantile(g, 0.5); return TRA_OK;
    case TRA_AGGREGATE_QUANTILE: *out = quantile(g, a->q); return TRA_OK;
    }
    return TRA_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------- */

static int compare_keys(int n, const ref_item *a, const ref_item *b) {
    for (int k = 0; k < n; k++) {
        int c = ref_key_order(a[k].type, &a[k].c, &b[k].c, false);
        if (c) return c;
    }
    return 0;
}

tra_status ref_table_group(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out, tra_err *e) {
    int nk = op->nterms;
    ref_item *key = tra_news(a, ref_item, x->rows * nk + 1), *value = tra_news(a, ref_item, x->rows * op->naggs + 1);
    ref_item *by = tra_news(a, ref_item, x->rows * op->naggs + 1);
    int64_t *at = tra_news(a, int64_t, x->rows + 1);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int k = 0; k < nk; k++) key[i * nk + k] = ref_column_value(op->term[k].ast, x, i, a);
        for (int g = 0; g < op->naggs; g++)
            if (op->agg[g].ast) value[i * op->naggs + g] = ref_column_value(op->agg[g].ast, x, i, a);
        for (int g = 0; g < op->naggs; g++)
            if (op->agg[g].by) by[i * op->naggs + g] = ref_column_value(op->agg[g].by, x, i, a);
        for (int k = 0; k < nk; k++)
            if (key[i * nk + k].c.state == REF_ERROR) return tra_fail(e, TRA_INPUT, "row %" PRId64 ": a key", i);
        for (int g = 0; g < op->naggs; g++)
            if (value[i * op->naggs + g].c.state == REF_ERROR || by[i * op->naggs + g].c.state == REF_ERROR)
                return tra_fail(e, TRA_INPUT, "row %" PRId64 ": a value", i);
        int64_t j = i; /* stable: after those that are not greater */
        for (; j > 0 && compare_keys(nk, &key[at[j - 1] * nk], &key[i * nk]) > 0; j--) at[j] = at[j - 1];
        at[j] = i;
    }
    for (int64_t begin = 0, end; begin < x->rows || (begin == 0 && nk == 0); begin = end) {
        for (end = begin; end < x->rows && compare_keys(nk, &key[at[begin] * nk], &key[at[end] * nk]) == 0;) end++;
        for (int k = 0; k < nk; k++) *ref_at(out, out->rows, k) = key[at[begin] * nk + k].c;
        for (int g = 0; g < op->naggs; g++) {
            ref_values v = {.v = tra_news(a, const ref_item *, end - begin + 1)};
            v.by = tra_news(a, const ref_item *, end - begin + 1);
            for (int64_t i = begin; i < end; i++) {
                const ref_item *one = &value[at[i] * op->naggs + g], *two = &by[at[i] * op->naggs + g];
                if (!op->agg[g].ast || one->c.state != REF_VALUE || (op->agg[g].by && two->c.state != REF_VALUE))
                    continue;
                v.by[v.n] = two;
                v.v[v.n++] = one;
            }
            TRA_TRY(ref_aggregate(&op->agg[g], &v, end - begin, ref_at(out, out->rows, nk + g), e));
        }
        out->rows++;
        if (end == begin) break;
    }
    return TRA_OK;
}

/* ---- orders ------------------------------------------------------------------------------------------------- */

static int compare_rows(const tra_table_op *op, const ref_table *x, int64_t i, int64_t j, tra_arena *a) {
    for (int k = 0; k < op->nterms; k++) {
        ref_item l = ref_column_value(op->term[k].ast, x, i, a), r = ref_column_value(op->term[k].ast, x, j, a);
        int c = ref_key_order(l.type, &l.c, &r.c, op->term[k].desc);
        if (c) return c;
    }
    return 0;
}

static void take(const ref_table *x, int64_t row, ref_table *out) {
    memcpy(ref_at(out, out->rows++, 0), ref_at(x, row, 0), (size_t)x->n * sizeof(ref_cell));
}

void ref_table_sort(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out) {
    int64_t *at = tra_news(a, int64_t, x->rows + 1);
    for (int64_t i = 0; i < x->rows; i++) {
        int64_t j = i;
        for (; j > 0 && compare_rows(op, x, at[j - 1], i, a) > 0; j--) at[j] = at[j - 1];
        at[j] = i;
    }
    for (int64_t i = 0; i < x->rows; i++) take(x, at[i], out);
}

void ref_table_distinct(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out) {
    for (int64_t i = 0; i < x->rows; i++) {
        bool before = false;
        for (int64_t j = 0; j < i && !before; j++) before = compare_rows(op, x, i, j, a) == 0;
        if (!before) take(x, i, out);
    }
}

void ref_table_limit(const tra_table_op *op, const ref_table *x, ref_table *out) {
    for (int64_t i = 0; i < x->rows; i++)
        if (i >= op->from && i - op->from < op->count) take(x, i, out);
}
