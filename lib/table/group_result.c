/* group_result.c - what each aggregate is of a group: which value stands for others, and what becomes of totals:
 * results, or states that are merged later. */
#include "group_total.h"
#include "order.h"

#include <string.h>

bool tra_group_replaces(const tra_group_aggregate *g, const tra_vector *v, int64_t row, int64_t i) {
    const tra_column *c = tra_group_compared(g);
    bool real = tra_coltype_is_float(c->type), nan = real && isnan(tra_value_real(c, v, i));
    switch (g->c.f) {
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_ARG_MAX: return tra_value_compare(c, v, i, row, false) > 0;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_ARG_MIN:
        if (real && isnan(tra_value_real(c, v, row))) return false;
        return nan || tra_value_compare(c, v, i, row, false) < 0;
    case TRA_AGGREGATE_LAST: return true;
    case TRA_AGGREGATE_ANY: return tra_value_whole(&g->of, v, i) != 0;
    case TRA_AGGREGATE_ALL: return tra_value_whole(&g->of, v, i) == 0;
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_COUNT:
    case TRA_AGGREGATE_SUM:
    case TRA_AGGREGATE_MEAN:
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD:
    case TRA_AGGREGATE_SKEWNESS:
    case TRA_AGGREGATE_KURTOSIS:
    case TRA_AGGREGATE_CORR:
    case TRA_AGGREGATE_COVAR:
    case TRA_AGGREGATE_COVAR_POP:
    case TRA_AGGREGATE_REGR_SLOPE:
    case TRA_AGGREGATE_REGR_INTERCEPT:
    case TRA_AGGREGATE_DISTINCT:
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: break;
    }
    return false;
}

static void put_null(tra_vector *v, const tra_column *c, int64_t to) {
    size_t size = tra_coltype_size(c->type);
    memset((char *)v->values + (size_t)to * size, 0, size);
    v->state[to] = TRA_STATE_NULL;
}

static void put_copy(tra_vector *v, const tra_column *c, int64_t to, const tra_vector *from, int64_t row) {
    size_t size = tra_coltype_size(c->type);
    if (row < 0) {
        put_null(v, c, to);
        return;
    }
    memcpy((char *)v->values + (size_t)to * size, (const char *)from->values + (size_t)row * size, size);
    if (v->state) v->state[to] = from->state ? from->state[row] : TRA_STATE_VALUE;
}

void tra_group_put_sum(const tra_vector *v, int64_t to, __int128 sum, bool wide) {
    if (!wide && (int64_t)sum != sum)
        tra_kernel_fail("sum: a total of more than 2^32 values does not fit i64; convert the values: x * 1.0");
    ((int64_t *)v[0].values)[to] = (int64_t)(uint64_t)sum;
    if (wide) ((int64_t *)v[1].values)[to] = (int64_t)(sum >> 64);
}

static void put_state(const tra_group *g, const tra_group_aggregate *x, const tra_batch *in, const tra_group_total *t,
                      tra_batch *out, int64_t to) {
    tra_vector *v = &out->v[x->state];
    if (tra_group_has_place(x)) {
        for (int k = 0; k < x->nstates; k++)
            put_copy(v + k, &g->states->v[x->state + k], to, &in->v[tra_group_place(g, x, k)], t->row);
        return;
    }
    ((int64_t *)out->v[x->count].values)[to] = t->n;
    if (tra_group_has_way(x, TRA_WAY_COUNT)) return;
    if (tra_group_has_way(x, TRA_WAY_SUM) && x->whole) {
        tra_group_put_sum(v, to, t->sum, x->wide);
    } else if (tra_group_has_way(x, TRA_WAY_SUM)) {
        ((double *)v[0].values)[to] = t->real;
    } else {
        const double m[5] = {t->mean, t->square, t->more[0], t->more[1], t->more[2]};
        for (int k = 0; k < x->nstates; k++) ((double *)v[k].values)[to] = m[k];
    }
}

static void put_real(tra_vector *v, const tra_column *c, int64_t to, bool any, double x) {
    if (!any) {
        put_null(v, c, to);
        return;
    }
    ((double *)v->values)[to] = x;
    v->state[to] = TRA_STATE_VALUE;
}

/* Values of the group in their order, NULLs left out; how many there are. */
static int64_t sort_values(const tra_group_aggregate *x, const tra_batch *in, const tra_group_members *m) {
    int64_t n = 0;
    int64_t *at = m->spare;
    for (int64_t i = 0; i < m->n; i++)
        if (tra_group_present(&in->v[x->c.column], m->row[i])) at[n++] = m->row[i];
    tra_order_rows(in, 1, &x->c.column, NULL, at, n, m->spare + m->n);
    return n;
}

/* What lies at `share` of the way from low to high, also where their difference is infinite. */
static double between(double low, double high, double share) {
    if (low == high || share == 0) return low;
    return isfinite(high - low) ? low + (high - low) * share : low * (1 - share) + high * share;
}

/* The number that tra_order_of_real or tra_order_of_whole gave the word. */
static double real_of(const tra_group_aggregate *x, uint64_t word) {
    double r;
    if (x->whole) return (double)(int64_t)(word ^ UINT64_C(1) << 63);
    if (word == UINT64_MAX) return NAN;
    word = word >> 63 ? word ^ UINT64_C(1) << 63 : ~word;
    memcpy(&r, &word, sizeof r);
    return r;
}

void tra_group_put_quantile(const tra_group *g, int i, uint64_t *word, int64_t n, tra_batch *out, int64_t to) {
    const tra_group_aggregate *x = &g->v[i];
    double place = (x->c.f == TRA_AGGREGATE_MEDIAN ? 0.5 : x->c.q) * (double)(n - 1), below = floor(place), r = 0;
    if (n > 0) {
        int64_t most = (int64_t)below + 1;
        uint64_t low = 0, high = UINT64_MAX, last = 0;
        tra_select_words(word, n, most);
        for (int64_t k = 0; k < most; k++) low = word[k] > low ? word[k] : low;
        for (int64_t k = most; k < n; k++) {
            high = word[k] < high ? word[k] : high;
            last = word[k] > last ? word[k] : last;
        }
        if (most == n) last = high = low;
        bool nan = !x->whole && last == UINT64_MAX;
        r = nan ? NAN : between(real_of(x, low), real_of(x, high), place - below);
    }
    put_real(&out->v[g->nkeys + i], &g->result->v[g->nkeys + i], to, n > 0, r);
}

/* The same of the members of a group. */
static void put_quantile(const tra_group *g, int i, const tra_batch *in, const tra_group_members *m, tra_batch *out,
                         int64_t to) {
    const tra_group_aggregate *x = &g->v[i];
    const tra_vector *v = &in->v[x->c.column];
    uint64_t *word = (uint64_t *)m->spare;
    int64_t n = 0;
    for (int64_t j = 0; j < m->n; j++) {
        int64_t row = m->row[j];
        if (!tra_group_present(v, row)) continue;
        word[n++] = x->whole ? tra_order_of_whole(tra_value_whole(&x->of, v, row))
                             : tra_order_of_real(tra_value_real(&x->of, v, row));
    }
    tra_group_put_quantile(g, i, word, n, out, to);
}

static int64_t count_distinct(const tra_group_aggregate *x, const tra_batch *in, const tra_group_members *m) {
    int64_t n = sort_values(x, in, m), distinct = n > 0;
    for (int64_t i = 1; i < n; i++) distinct += !tra_rows_equal(in, 1, &x->c.column, m->spare[i - 1], m->spare[i]);
    return distinct;
}

static void put_sum(const tra_group *g, const tra_group_aggregate *x, const tra_group_total *t, tra_vector *v,
                    const tra_column *c, int64_t to) {
    if (!x->whole || t->n == 0) {
        put_real(v, c, to, t->n > 0, t->real);
        return;
    }
    if (t->sum > INT64_MAX || t->sum < INT64_MIN)
        tra_kernel_fail("sum: the total `%s` of group %" PRId64
                        ", by key, does not fit i64; convert the values: x * 1.0",
                        g->result->v[g->nkeys + (x - g->v)].name, to);
    ((int64_t *)v->values)[to] = (int64_t)t->sum;
    v->state[to] = TRA_STATE_VALUE;
}

/* Where the second column has one value, no line goes through the points. */
static double slope(const tra_group_total *t) { return t->more[2] / t->more[1]; }

static double correlation(const tra_group_total *t) {
    double r = t->more[2] / (sqrt(t->square) * sqrt(t->more[1]));
    return r > 1 ? 1 : r < -1 ? -1 : r;
}

static double skewness(const tra_group_total *t) {
    double n = (double)t->n, square = t->square / n;
    return sqrt(n * (n - 1)) / (n - 2) * (t->more[0] / n) / (square * sqrt(square));
}

static double kurtosis(const tra_group_total *t) {
    double n = (double)t->n, square = t->square / n;
    return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (t->more[1] / n) / (square * square) - 3 * (n - 1));
}

static void put_result(const tra_group *g, int i, const tra_batch *in, const tra_group_total *t,
                       const tra_group_members *m, tra_batch *out, int64_t to) {
    const tra_group_aggregate *x = &g->v[i];
    const tra_column *c = &g->result->v[g->nkeys + i];
    tra_vector *v = &out->v[g->nkeys + i];
    double n = (double)t->n;
    switch (x->c.f) {
    case TRA_AGGREGATE_COUNT: ((int64_t *)v->values)[to] = t->n; return;
    case TRA_AGGREGATE_SUM: put_sum(g, x, t, v, c, to); return;
    case TRA_AGGREGATE_MEAN:
        put_real(v, c, to, t->n > 0, x->whole ? (double)((long double)t->sum / (long double)t->n) : t->real / n);
        return;
    case TRA_AGGREGATE_VAR: put_real(v, c, to, t->n > 1, t->square / (n - 1)); return;
    case TRA_AGGREGATE_STD: put_real(v, c, to, t->n > 1, sqrt(t->square / (n - 1))); return;
    case TRA_AGGREGATE_SKEWNESS: put_real(v, c, to, t->n > 2, skewness(t)); return;
    case TRA_AGGREGATE_KURTOSIS: put_real(v, c, to, t->n > 3, kurtosis(t)); return;
    case TRA_AGGREGATE_CORR: put_real(v, c, to, t->n > 1, correlation(t)); return;
    case TRA_AGGREGATE_COVAR: put_real(v, c, to, t->n > 1, t->more[2] / (n - 1)); return;
    case TRA_AGGREGATE_COVAR_POP: put_real(v, c, to, t->n > 0, t->more[2] / n); return;
    case TRA_AGGREGATE_REGR_SLOPE: put_real(v, c, to, t->n > 0 && t->more[1] != 0, slope(t)); return;
    case TRA_AGGREGATE_REGR_INTERCEPT:
        put_real(v, c, to, t->n > 0 && t->more[1] != 0, t->mean - slope(t) * t->more[0]);
        return;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_ARG_MIN:
    case TRA_AGGREGATE_ARG_MAX:
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL: put_copy(v, c, to, &in->v[tra_group_place(g, x, 0)], t->row); return;
    case TRA_AGGREGATE_DISTINCT: ((int64_t *)v->values)[to] = count_distinct(x, in, m); return;
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: put_quantile(g, i, in, m, out, to); return;
    }
}

void tra_group_put(const tra_group *g, int i, const tra_batch *in, const tra_group_total *t, const tra_group_members *m,
                   tra_batch *out, int64_t to) {
    if (tra_group_makes_states(g)) /* of aggregates with the same totals one has them */
        put_state(g, &g->v[i], in, t, out, to);
    else
        put_result(g, i, in, t, m, out, to);
}
