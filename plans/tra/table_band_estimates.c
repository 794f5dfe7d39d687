/* table_band_estimates.c - how many pairs of rows a join on ranges is expected to have.
 *
 * Of two ends that bound from below and from above, as those of an interval, hardly any pair has neither. So the pairs
 * that have both are all but those that have not the first, and those that have not the second. How many these are
 * follows from the histograms of both sides, between whose bounds values are taken for evenly spread. */
#include "../../lib/table/band.h"
#include "cardinality.h"

#include <math.h>

/* Values at equal distances in the order of a column, and the area below the share of values that are less. */
typedef struct spread {
    double at[TRA_BUCKETS + 1], area[TRA_BUCKETS + 1];
    double values; /* share of rows that have one */
} spread;

/* Of a column of whose values all frequencies are known. */
static void spread_frequencies(const tra_column_facts *f, tra_coltype t, spread *out) {
    double rows = (double)(f->rows - f->nulls), before = 0;
    int64_t v = 0;
    for (int i = 0; i <= TRA_BUCKETS; i++) {
        double place = rows * i / TRA_BUCKETS;
        while (v + 1 < f->n && before + (double)f->frequency[v][1] < place) before += (double)f->frequency[v++][1];
        out->at[i] = tra_table_number(t, f->frequency[v][0]);
    }
}

/* Of a column, plus or minus constants. */
static bool spread_of(const tra_colexpr *x, spread *out) {
    tra_column_facts f;
    double more = 0;
    while (x->op != TRA_C_COLUMN) {
        bool sums = (x->op == TRA_C_ADD || x->op == TRA_C_SUB) && x->kids[1]->op == TRA_C_CONST && !x->kids[1]->null;
        if (x->op != TRA_C_CONVERT && !sums) return false;
        if (x->op == TRA_C_CONVERT && !tra_coltype_is_number(x->type)) return false;
        const tra_colexpr *c = sums ? x->kids[1] : NULL;
        double own = !sums ? 0 : tra_coltype_is_float(c->type) ? c->value.f : (double)c->value.i;
        more += x->op == TRA_C_SUB ? -own : own;
        x = x->kids[0];
    }
    if (tra_coltype_is_coded(x->type) || !tra_table_facts(x->file, x->number, &f) || f.rows <= f.nulls) return false;
    if (!f.histogram && (!f.whole || f.n == 0)) return false;
    if (f.histogram)
        for (int i = 0; i <= TRA_BUCKETS; i++) out->at[i] = tra_table_number(x->type, f.histogram[i]);
    else
        spread_frequencies(&f, x->type, out);
    out->area[0] = 0;
    for (int i = 0; i <= TRA_BUCKETS; i++) {
        out->at[i] += more;
        if (!isfinite(out->at[i])) return false;
        if (i > 0) out->area[i] = out->area[i - 1] + (out->at[i] - out->at[i - 1]) * (i - 0.5) / TRA_BUCKETS;
    }
    out->values = (double)(f.rows - f.nulls) / (double)f.rows;
    return true;
}

/* The bucket that has a value. */
static int bucket_of(const spread *x, double y) {
    int64_t i = 1;
    TRA_BISECT(i, TRA_BUCKETS, mid, x->at[mid] <= y);
    return (int)i - 1;
}

/* The share of values that are less than y, and the area below it up to y. */
static double share_below(const spread *x, double y) {
    int i = bucket_of(x, y);
    double low = x->at[i], high = x->at[i + 1];
    return y <= x->at[0]             ? 0
           : y >= x->at[TRA_BUCKETS] ? 1
                                     : (i + (high > low ? (y - low) / (high - low) : 0)) / TRA_BUCKETS;
}
static double area_below(const spread *x, double y) {
    if (y <= x->at[0]) return 0;
    if (y >= x->at[TRA_BUCKETS]) return x->area[TRA_BUCKETS] + (y - x->at[TRA_BUCKETS]);
    int i = bucket_of(x, y);
    double low = x->at[i];
    return x->area[i] + (y - low) * (i / (double)TRA_BUCKETS + share_below(x, y)) / 2;
}

/* The share of pairs in which the value of x is less than that of y. */
static double share_less(const spread *x, const spread *y) {
    double share = 0;
    for (int i = 0; i < TRA_BUCKETS; i++) {
        double low = y->at[i], high = y->at[i + 1];
        share += high > low ? (area_below(x, high) - area_below(x, low)) / (high - low) : share_below(x, low);
    }
    return share / TRA_BUCKETS;
}

/* The share of pairs that do not have an end; -1: it is not known. */
static double share_without(const tra_band *b, const tra_band_end *end) {
    const tra_band_value *of = &b->value[end->of];
    spread x, y;
    if (end->at.n != 1 || of->n != 1) return -1;
    if (!spread_of(b->side[0].x[end->at.v[0].root], &x) || !spread_of(b->side[1].x[of->v[0].root], &y)) return -1;
    if (end->at.v[0].minus != of->v[0].minus) return -1;
    double less = share_less(&x, &y), both = x.values * y.values; /* of the left value than the right one */
    return 1 - both * (end->lower ? less : 1 - less);
}

double tra_table_band_selectivity(const tra_lookup *l, double rows) {
    enum { FEW = 16 }; /* partners that a left row is assumed to have, if nothing is known */
    const tra_band *b = l->band;
    double share = 1, without[2] = {0, 0}, once = fmin(1, 1 / fmax(1, rows));
    bool has[2] = {false, false}, known = true;
    if (!b) return 1;
    for (int v = 0; v < b->n; v++) {
        double own[2] = {0, 0};
        bool ends[2] = {false, false};
        for (int i = 0; i < b->nends; i++) {
            const tra_band_end *end = &b->end[i];
            if (end->of != v) continue;
            double s = share_without(b, end);
            known = known && s >= 0;
            own[end->lower] = fmax(own[end->lower], s < 0 ? 0.5 : s);
            ends[end->lower] = true;
        }
        if (ends[0] && ends[1])
            share *= fmax(1 - own[0] - own[1], known ? once : fmin(1, FEW * once));
        else if (has[ends[1]])
            share *= 1 - own[ends[1]];
        else
            has[ends[1]] = true, without[ends[1]] = own[ends[1]];
    }
    if (has[0] && has[1])
        share *= fmax(1 - without[0] - without[1], known ? once : fmin(1, FEW * once));
    else
        share *= 1 - without[0] - without[1];
    return fmax(share, 0);
}
