/* group_total.h - what is known of the rows of a group, one aggregate at a time. Rows are added up here, inline, since
 * that is done for each; group_result.c makes results or states of the totals. Private to it and group_run.c. */
#ifndef TRA_GROUP_TOTAL_H
#define TRA_GROUP_TOTAL_H

#include "group_int.h"
#include "table_int.h"

#include <math.h>

static inline bool tra_group_takes_states(const tra_group *g) {
    return g->pass == TRA_GROUP_FINAL || g->pass == TRA_GROUP_MERGE;
}
static inline bool tra_group_makes_states(const tra_group *g) {
    return g->pass == TRA_GROUP_PARTIAL || g->pass == TRA_GROUP_MERGE;
}

/* What is known of an aggregate in a group so far; which of it, its way says. */
typedef struct tra_group_total {
    int64_t n; /* values */
    union {
        __int128 sum; /* of whole numbers */
        double real;  /* their sum */
        struct {
            double mean, square; /* square: the sum of squares of what differs from the mean */
            double more[3];      /* POWERS: of cubes and fourth powers. PAIR: mean and square of the second, products */
        };
        int64_t row; /* EXTREME, END, BY: where the value is; -1: none yet */
    };
} tra_group_total;

static inline bool tra_group_present(const tra_vector *v, int64_t i) {
    return !v->state || v->state[i] == TRA_STATE_VALUE;
}

/* Does row i replace the row that stands for its group so far? v: the column that decides (tra_group_compared). */
bool tra_group_replaces(const tra_group_aggregate *g, const tra_vector *v, int64_t row, int64_t i);

/* The mean and the squares of both parts together. What differs from an infinite mean is not a number. Of what is so
 * large that squares or a difference do not fit, the squares are infinite, and the mean is one of the values. */
static inline void tra_group_combine(tra_group_total *t, int64_t n, double mean, double square) {
    if (n == 0) return;
    double all = (double)(t->n + n), difference = mean - t->mean, share = (double)n / all;
    double apart = t->n == 0 ? 0 : difference * difference * ((double)t->n * (double)n / all);
    t->square += isfinite(mean) ? square + apart : (double)NAN;
    t->mean = isfinite(difference) ? t->mean + difference * share : t->mean * (1 - share) + mean * share;
    t->n += n;
}

/* The same of more moments: POWERS, or PAIR. What differs from an infinite mean is not a number. */
static inline void tra_group_combine_powers(tra_group_total *t, const tra_group_total *o) {
    double a = (double)t->n, b = (double)o->n, n = a + b, d = o->mean - t->mean;
    if (o->n == 0) return;
    if (t->n == 0) {
        *t = *o;
        return;
    }
    double s = d / n, s2 = s * s, squares = t->square, cubes = t->more[0];
    t->n += o->n;
    t->mean += d * (b / n);
    t->square += o->square + d * s * a * b;
    t->more[0] += o->more[0] + d * s2 * a * b * (a - b) + 3 * s * (a * o->square - b * squares);
    t->more[1] += o->more[1] + d * s2 * s * a * b * (a * a - a * b + b * b) +
                  6 * s2 * (a * a * o->square + b * b * squares) + 4 * s * (a * o->more[0] - b * cubes);
}
static inline void tra_group_combine_pair(tra_group_total *t, const tra_group_total *o) {
    double a = (double)t->n, b = (double)o->n, share = b / (a + b), dx = o->mean - t->mean,
           dy = o->more[0] - t->more[0];
    if (o->n == 0) return;
    if (t->n == 0) {
        *t = *o;
        return;
    }
    t->n += o->n;
    t->mean += dx * share;
    t->more[0] += dy * share;
    t->square += o->square + dx * dx * a * share;
    t->more[1] += o->more[1] + dy * dy * a * share;
    t->more[2] += o->more[2] + dx * dy * a * share;
}
/* What differs from an infinite mean, or from what is not a number, is not a number. */
static inline double tra_group_apart(double mean) { return mean - mean; }

static inline bool tra_group_has_way(const tra_group_aggregate *g, tra_aggregate_way way) { return g->way == way; }

static inline bool tra_group_has_place(const tra_group_aggregate *g) {
    return tra_group_has_way(g, TRA_WAY_EXTREME) || tra_group_has_way(g, TRA_WAY_END) ||
           tra_group_has_way(g, TRA_WAY_BY);
}

/* The operand's column of what is state i of such an aggregate. */
static inline int tra_group_place(const tra_group *g, const tra_group_aggregate *x, int i) {
    return tra_group_takes_states(g) ? x->state + i : i ? x->c.second : x->c.column;
}

static inline tra_group_total tra_group_none(const tra_group_aggregate *g) {
    return tra_group_has_place(g) ? (tra_group_total){.row = -1} : (tra_group_total){0};
}

static inline void tra_group_add_row(const tra_group_aggregate *g, const tra_batch *in, int64_t i, tra_group_total *t) {
    const tra_vector *v = g->c.column >= 0 ? &in->v[g->c.column] : NULL;
    if (v && !tra_group_present(v, i)) return;
    if (tra_group_has_way(g, TRA_WAY_POWERS) || tra_group_has_way(g, TRA_WAY_PAIR)) {
        bool pair = tra_group_has_way(g, TRA_WAY_PAIR);
        const tra_vector *w = pair ? &in->v[g->c.second] : NULL;
        if (w && !tra_group_present(w, i)) return;
        double x = tra_value_real(&g->of, v, i), y = w ? tra_value_real(&g->by, w, i) : 0;
        tra_group_total one = {.n = 1, .mean = x, .square = tra_group_apart(x)};
        one.more[0] = w ? y : one.square;
        one.more[1] = w ? tra_group_apart(y) : one.square;
        one.more[2] = one.square + one.more[1];
        w ? tra_group_combine_pair(t, &one) : tra_group_combine_powers(t, &one);
        return;
    }
    if (!v || tra_group_has_way(g, TRA_WAY_COUNT)) {
        t->n++;
    } else if (tra_group_has_place(g)) {
        if (tra_group_has_way(g, TRA_WAY_BY)) v = &in->v[g->c.second];
        if (!tra_group_present(v, i)) return;
        if (t->row < 0 || tra_group_replaces(g, v, t->row, i)) t->row = i;
    } else if (tra_group_has_way(g, TRA_WAY_MOMENTS)) {
        tra_group_combine(t, 1, tra_value_real(&g->of, v, i), 0);
    } else {
        t->n++;
        if (g->whole)
            t->sum += tra_value_whole(&g->of, v, i);
        else
            t->real += tra_value_real(&g->of, v, i);
    }
}

static inline void tra_group_add_state(const tra_group_aggregate *g, const tra_batch *in, int64_t i,
                                       tra_group_total *t) {
    const tra_vector *v = &in->v[g->state];
    if (tra_group_has_place(g)) {
        v += g->nstates - 1;
        if (tra_group_present(v, i) && (t->row < 0 || tra_group_replaces(g, v, t->row, i))) t->row = i;
        return;
    }
    int64_t n = ((const int64_t *)in->v[g->count].values)[i];
    if (tra_group_has_way(g, TRA_WAY_MOMENTS)) {
        tra_group_combine(t, n, ((const double *)v[0].values)[i], ((const double *)v[1].values)[i]);
        return;
    }
    if (tra_group_has_way(g, TRA_WAY_POWERS) || tra_group_has_way(g, TRA_WAY_PAIR)) {
        tra_group_total one = {.n = n};
        double *to[5] = {&one.mean, &one.square, &one.more[0], &one.more[1], &one.more[2]};
        for (int k = 0; k < g->nstates; k++) *to[k] = ((const double *)v[k].values)[i];
        tra_group_has_way(g, TRA_WAY_PAIR) ? tra_group_combine_pair(t, &one) : tra_group_combine_powers(t, &one);
        return;
    }
    t->n += n;
    if (tra_group_has_way(g, TRA_WAY_COUNT)) return;
    if (g->wide)
        t->sum += (__int128)(((unsigned __int128)(uint64_t)((const int64_t *)v[1].values)[i] << 64) |
                             (uint64_t)((const int64_t *)v[0].values)[i]);
    else if (g->whole)
        t->sum += ((const int64_t *)v[0].values)[i];
    else
        t->real += ((const double *)v[0].values)[i];
}

/* The rows of a group, in the order of the table; spare has room for them three times. */
typedef struct tra_group_members {
    const int64_t *row;
    int64_t n, *spare;
} tra_group_members;

/* Writes aggregate i of a group, of which this is known, as row `to` of out: states, or the result. m: the rows of the
 * group; NULL where no aggregate needs them. */
void tra_group_put(const tra_group *g, int i, const tra_batch *in, const tra_group_total *t, const tra_group_members *m,
                   tra_batch *out, int64_t to);

/* The same of a median or quantile, of the n values that the group has as words (order.h), which are moved. */
void tra_group_put_quantile(const tra_group *g, int i, uint64_t *word, int64_t n, tra_batch *out, int64_t to);

#endif
