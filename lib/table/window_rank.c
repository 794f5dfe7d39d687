/* window_rank.c - medians and quantiles of frames. The values of a group have ranks; which of these are in the frame is
 * counted in a tree of sums (Fenwick 1994), to which both ends of the frame add and take away. */
#include "window_int.h"

#include <math.h>
#include <string.h>

typedef struct ranking {
    const tra_windowing *w;
    int c;           /* the column */
    int64_t *sorted; /* rows of `in` by rank; of the group */
    int64_t n;       /* ranks */
    int64_t *rank;   /* of each item: from 1; 0: it has no value */
    int64_t *count;  /* count[r]: of the values in the frame those with ranks in (r - lowest bit of r, r] */
    int64_t present; /* values in the frame */
} ranking;

static void change(ranking *r, int64_t item, int64_t by) {
    int64_t k = r->rank[item];
    if (k == 0) return;
    r->present += by;
    for (; k <= r->n; k += k & -k) r->count[k] += by;
}

/* The value in the frame below which there are `below` others. */
static double value_at(const ranking *r, int64_t below) {
    int64_t k = 0, step = 1;
    while (step * 2 <= r->n) step *= 2;
    for (; step > 0; step /= 2) {
        if (k + step > r->n || r->count[k + step] > below) continue;
        k += step;
        below -= r->count[k];
    }
    return tra_value_real(&r->w->x->in->v[r->c], &r->w->in.v[r->c], r->sorted[k]);
}

/* What lies at `share` of the way from low to high, also where their difference is infinite. */
static double between(double low, double high, double share) {
    if (low == high || share == 0) return low;
    return isfinite(high - low) ? low + (high - low) * share : low * (1 - share) + high * share;
}

static double quantile(const ranking *r, double q) {
    double place = q * (double)(r->present - 1), below = floor(place), last = value_at(r, r->present - 1);
    if (isnan(last)) return last;
    return between(value_at(r, (int64_t)below), value_at(r, tra_min64((int64_t)below + 1, r->present - 1)),
                   place - below);
}

/* Ranks of the values of items [begin, end); item: of each row of `in` its item. */
static void find_ranks(ranking *r, int64_t begin, int64_t end, const int64_t *item, int64_t *spare) {
    const tra_windowing *w = r->w;
    r->n = 0;
    for (int64_t i = begin; i < end; i++) {
        r->rank[i] = 0;
        if (tra_window_present(&w->in.v[r->c], w->at[i])) r->sorted[r->n++] = w->at[i];
    }
    tra_order_rows(&w->in, 1, &r->c, NULL, r->sorted, r->n, spare);
    for (int64_t k = 0; k < r->n; k++) r->rank[item[r->sorted[k]]] = k + 1;
    memset(r->count, 0, (size_t)(r->n + 1) * sizeof *r->count);
    r->present = 0;
}

void tra_window_rank(tra_windowing *w, int i) {
    const tra_window_column *v = &w->x->v[i];
    int64_t n = w->n, *item = w->work, *spare = item + n;
    ranking r = {.w = w, .c = v->column, .sorted = spare + 2 * n, .rank = spare + 3 * n, .count = spare + 4 * n};
    double q = v->f == TRA_WINDOW_MEDIAN ? 0.5 : v->q, last = 0;
    tra_window_find_frames(w, &v->frame);
    for (int64_t j = 0; j < n; j++) item[w->at[j]] = j;
    for (int64_t k = 0; k < w->ngroups; k++) {
        int64_t begin = w->group[k], end = w->group[k + 1], low = begin, high = begin;
        bool known = false;
        find_ranks(&r, begin, end, item, spare);
        for (int64_t j = begin; j < end; j++) {
            if (w->to[j] < 0) continue;
            known = known && w->low[j] == low && w->high[j] == high;
            while (high < w->high[j]) change(&r, high++, 1);
            while (low < w->low[j]) change(&r, low++, -1);
            if (!known) last = r.present > 0 ? quantile(&r, q) : 0;
            known = true;
            tra_window_put(&w->out->v[1 + i], w->to[j], r.present > 0, last);
        }
    }
}
