/* group_add.c - rows added up to the totals of groups that were found (group_direct.c): of each aggregate what it needs
 * of a group, and no more, lies close together. */
#include "group_strips.h"

#include <string.h>

/* How rows are added up. TOTALS: each to a tra_group_total, for what is not as follows. */
typedef enum way {
    ROWS,
    REALS,
    WHOLES,
    MOMENTS,
    POWERS,
    PAIRS,
    PARTS_COUNT, /* of states */
    PARTS_REAL,
    PARTS_WHOLE,
    PARTS_MOMENTS,
    TOTALS
} way;

/* What is held of a group. While means are found, they hold the sum of what differs from a first value, which the
 * squares hold: so the mean of equal values is one of them. */
typedef union held {
    double real;
    int64_t whole;
} held;
typedef struct moments {
    double mean, square;
} moments;
typedef struct powers {
    double mean, square, cube, fourth;
} powers;
typedef struct pair {
    double x, y, xx, yy, xy;
} pair;
typedef struct part {
    int64_t n;
    held sum;
} part;
typedef struct moments_part {
    int64_t n;
    double mean, square;
} moments_part;

static const size_t sizes[] = {[ROWS] = 0,
                               [REALS] = sizeof(double),
                               [WHOLES] = sizeof(int64_t),
                               [MOMENTS] = sizeof(moments),
                               [POWERS] = sizeof(powers),
                               [PAIRS] = sizeof(pair),
                               [PARTS_COUNT] = sizeof(part),
                               [PARTS_REAL] = sizeof(part),
                               [PARTS_WHOLE] = sizeof(part),
                               [PARTS_MOMENTS] = sizeof(moments_part),
                               [TOTALS] = sizeof(tra_group_total)};

/* Some groups, from .. from + n - 1, of which an aggregate is made. */
typedef struct adding {
    const tra_group_direct *d;
    const tra_group_aggregate *x;
    const uint8_t *state[2]; /* of its columns; NULL: each row has a value */
    way way;
    uint32_t from, n;
    const int32_t *count; /* of each group: its values */
    int32_t *own_count;
    void *to;
    double real[2][TRA_GROUP_STRIP];
    int64_t whole[TRA_GROUP_STRIP];
} adding;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static tra_group_strip strip_of(const adding *a, int64_t from) {
    return tra_group_strip_of(a->d, a->state, a->from, a->n, from);
}

static void count_values(adding *a) {
    memset(a->own_count, 0, a->n * sizeof *a->own_count);
    for (int64_t from = 0; from < a->d->n; from += TRA_GROUP_STRIP) {
        tra_group_strip r = strip_of(a, from);
        const uint8_t *x = r.state[0] ? r.state[0] : r.state[1], *y = r.state[1] ? r.state[1] : x;
        r.state[0] = r.state[1] = NULL; /* every row is added, NULLs as 0: a branch would be mispredicted */
        EACH_ROW(a->own_count[k] += !(x[i] | y[i]))
    }
    a->count = a->own_count;
}

#define DIFFER(mean, first, value)                                                                                     \
    do {                                                                                                               \
        first = first != first ? value : first;                                                                        \
        mean += value - first;                                                                                         \
    } while (0)

/* False: a sum of whole numbers does not fit. */
static bool add_strip(adding *a, int64_t from, bool again) {
    tra_group_strip r = strip_of(a, from);
    int n = r.n;
    const tra_group_aggregate *x = a->x;
    const tra_vector *v = &a->d->in->v[x->c.column];
    const double *real = NULL, *second = NULL;
    const int64_t *whole = NULL;
    bool over = false;
    if (a->way == WHOLES)
        whole = tra_group_wholes(&x->of, v, from, n, a->whole);
    else
        real = tra_group_reals(&x->of, v, from, n, a->real[0]);
    if (a->way == REALS || a->way == WHOLES) r.state[0] = NULL; /* a NULL is 0 */
    if (a->way == PAIRS) second = tra_group_reals(&x->by, &a->d->in->v[x->c.second], from, n, a->real[1]);
    switch (a->way) {
    case REALS: {
        double *sum = a->to;
        EACH_ROW(sum[k] += real[i])
        break;
    }
    case WHOLES: {
        int64_t *sum = a->to;
        EACH_ROW(over |= __builtin_add_overflow(sum[k], whole[i], &sum[k]))
        break;
    }
    case MOMENTS: {
        moments *m = a->to;
        if (!again)
            EACH_ROW(DIFFER(m[k].mean, m[k].square, real[i]))
        else
            EACH_ROW(double d = real[i] - m[k].mean; m[k].square += d * d)
        break;
    }
    case POWERS: {
        powers *m = a->to;
        if (!again)
            EACH_ROW(DIFFER(m[k].mean, m[k].square, real[i]))
        else
            EACH_ROW(double d = real[i] - m[k].mean, s = d * d;
                     (m[k].square += s, m[k].cube += s * d, m[k].fourth += s * s))
        break;
    }
    case PAIRS: {
        pair *m = a->to;
        if (!again)
            EACH_ROW(DIFFER(m[k].x, m[k].xx, real[i]); DIFFER(m[k].y, m[k].yy, second[i]))
        else
            EACH_ROW(double d = real[i] - m[k].x, e = second[i] - m[k].y;
                     (m[k].xx += d * d, m[k].yy += e * e, m[k].xy += d * e))
        break;
    }
    case ROWS:
    case PARTS_COUNT:
    case PARTS_REAL:
    case PARTS_WHOLE:
    case PARTS_MOMENTS:
    case TOTALS: break;
    }
    return !over;
}

static bool add_rows(adding *a, bool again) {
    bool fits = true;
    for (int64_t from = 0; from < a->d->n; from += TRA_GROUP_STRIP) fits &= add_strip(a, from, again);
    return fits;
}

/* The states of each row are added to those of its group. False: a sum of whole numbers takes more than 64 bits. */
static bool add_parts(adding *a) {
    const tra_vector *v = &a->d->in->v[a->x->state];
    const int64_t *count = a->d->in->v[a->x->count].values;
    bool over = false;
    part *p = a->to;
    moments_part *m = a->to;
    for (int64_t from = 0; from < a->d->n; from += TRA_GROUP_STRIP) {
        const tra_group_strip r = strip_of(a, from);
        const int64_t *n = count + from;
        const double *real = a->way == PARTS_REAL || a->way == PARTS_MOMENTS ? (double *)v[0].values + from : NULL;
        const double *square = a->way == PARTS_MOMENTS ? (double *)v[1].values + from : NULL;
        const int64_t *low = a->way == PARTS_WHOLE ? (int64_t *)v[0].values + from : NULL;
        const int64_t *high = low && a->x->wide ? (int64_t *)v[1].values + from : NULL;
        if (low)
            EACH_ROW(p[k].n += n[i]; over |= high && high[i] != low[i] >> 63;
                     over |= __builtin_add_overflow(p[k].sum.whole, low[i], &p[k].sum.whole))
        else if (square)
            EACH_ROW(tra_group_total t = {.n = m[k].n, .mean = m[k].mean, .square = m[k].square};
                     tra_group_combine(&t, n[i], real[i], square[i]); m[k] = (moments_part){t.n, t.mean, t.square})
        else if (real)
            EACH_ROW(p[k].n += n[i]; p[k].sum.real += real[i])
        else
            EACH_ROW(p[k].n += n[i])
    }
    return !over;
}

/* Any aggregate of rows or states. */
static void add_totals(adding *a) {
    const tra_batch *in = a->d->in;
    tra_group_total *t = a->to;
    bool states = tra_group_takes_states(a->d->g);
    for (uint32_t k = 0; k < a->n; k++) t[k] = tra_group_none(a->x);
    for (int64_t i = 0; i < a->d->n; i++) {
        uint32_t k = (uint32_t)a->d->of[i] - a->from;
        if (k < a->n) states ? tra_group_add_state(a->x, in, i, &t[k]) : tra_group_add_row(a->x, in, i, &t[k]);
    }
}

/* ---- aggregates -------------------------------------------------------------------------------------------------- */

static way way_of(const tra_group_direct *d, const tra_group_aggregate *x) {
    bool whole = x->whole;
    if (tra_group_takes_states(d->g)) {
        if (x->way == TRA_WAY_COUNT) return PARTS_COUNT;
        if (x->way == TRA_WAY_SUM) return whole ? PARTS_WHOLE : PARTS_REAL;
        return x->way == TRA_WAY_MOMENTS ? PARTS_MOMENTS : TOTALS;
    }
    if (x->c.column < 0) return ROWS;
    switch (x->way) {
    case TRA_WAY_COUNT: return ROWS;
    case TRA_WAY_SUM: return whole ? WHOLES : REALS;
    case TRA_WAY_MOMENTS: return MOMENTS;
    case TRA_WAY_POWERS: return POWERS;
    case TRA_WAY_PAIR: return PAIRS;
    case TRA_WAY_EXTREME:
    case TRA_WAY_END:
    case TRA_WAY_BY:
    case TRA_WAY_DIFFERENT:
    case TRA_WAY_RANKED: break;
    }
    return TOTALS;
}

/* Of each group the mean and the square of value v, where there is one. */
static double *mean_of(const adding *a, uint32_t k, int v) {
    if (a->way == MOMENTS) return v ? NULL : &((moments *)a->to)[k].mean;
    if (a->way == POWERS) return v ? NULL : &((powers *)a->to)[k].mean;
    return v ? &((pair *)a->to)[k].y : &((pair *)a->to)[k].x;
}
static double *square_of(const adding *a, uint32_t k, int v) {
    if (a->way == MOMENTS) return &((moments *)a->to)[k].square;
    if (a->way == POWERS) return &((powers *)a->to)[k].square;
    return v ? &((pair *)a->to)[k].yy : &((pair *)a->to)[k].xx;
}

/* There are no first values yet. */
static void clear_first(adding *a) {
    for (uint32_t k = 0; k < a->n; k++)
        for (int v = 0; v < 2 && mean_of(a, k, v); v++) *square_of(a, k, v) = NAN;
}

/* Sums become means, from which values differ. False: some are not finite, so that rows are added one at a time. */
static bool set_means(adding *a) {
    double apart = 0;
    for (uint32_t k = 0; k < a->n; k++)
        for (int v = 0; v < 2 && mean_of(a, k, v); v++) {
            double *mean = mean_of(a, k, v), *square = square_of(a, k, v);
            *mean = a->count[k] ? *square + *mean / a->count[k] : 0;
            *square = 0;
            apart += *mean - *mean;
        }
    return apart == 0;
}

/* False: it takes totals. */
static bool total(adding *a) {
    if (a->way == TOTALS) {
        add_totals(a);
        return true;
    }
    a->count = a->d->count + a->from;
    if (a->state[0] || a->state[1]) count_values(a);
    if (a->way == ROWS) return true;
    memset(a->to, 0, sizes[a->way] * a->n);
    if (a->way >= PARTS_COUNT) return add_parts(a);
    bool means = a->way >= MOMENTS && a->way <= PAIRS;
    if (means) clear_first(a);
    return add_rows(a, false) && (!means || (set_means(a) && add_rows(a, true)));
}

static tra_group_total total_of(const adding *a, uint32_t k) {
    if (a->way == TOTALS) return ((const tra_group_total *)a->to)[k];
    tra_group_total t = {.n = a->count[k]};
    switch (a->way) {
    case REALS: t.real = ((const double *)a->to)[k]; break;
    case WHOLES: t.sum = ((const int64_t *)a->to)[k]; break;
    case MOMENTS:
        t.mean = ((const moments *)a->to)[k].mean;
        t.square = ((const moments *)a->to)[k].square;
        break;
    case POWERS: {
        const powers *p = (const powers *)a->to + k;
        t.mean = p->mean, t.square = p->square, t.more[0] = p->cube, t.more[1] = p->fourth;
        break;
    }
    case PAIRS: {
        const pair *p = (const pair *)a->to + k;
        t.mean = p->x, t.square = p->xx, t.more[0] = p->y, t.more[1] = p->yy, t.more[2] = p->xy;
        break;
    }
    case PARTS_COUNT:
    case PARTS_REAL:
    case PARTS_WHOLE: {
        const part *p = (const part *)a->to + k;
        t.n = p->n;
        if (a->way == PARTS_REAL)
            t.real = p->sum.real;
        else
            t.sum = p->sum.whole;
        break;
    }
    case PARTS_MOMENTS: {
        const moments_part *p = (const moments_part *)a->to + k;
        t.n = p->n, t.mean = p->mean, t.square = p->square;
        break;
    }
    case ROWS:
    case TOTALS: break;
    }
    return t;
}

static void put_wholes(const adding *a, const int64_t *sum, size_t step, tra_vector *v) {
    EACH_GROUP(a, int64_t, v[0].values, sum[k * step]);
    if (a->x->wide) EACH_GROUP(a, int64_t, v[1].values, sum[k * step] >> 63);
}

/* States, column by column. False: each is made of a total. */
static bool put_states(const adding *a, tra_batch *out) {
    tra_vector *v = &out->v[a->x->state];
    const double *real = a->to;
    const part *p = a->to;
    const moments *m = a->to;
    switch (a->way) {
    case WHOLES: put_wholes(a, a->to, 1, v); break;
    case REALS: EACH_GROUP(a, double, v[0].values, real[k]); break;
    case MOMENTS:
        EACH_GROUP(a, double, v[0].values, m[k].mean);
        EACH_GROUP(a, double, v[1].values, m[k].square);
        break;
    case PARTS_WHOLE: put_wholes(a, &p->sum.whole, sizeof *p / sizeof(int64_t), v); break;
    case ROWS: break;
    default: return false;
    }
    if (!a->x->counts) return true;
    if (a->way == PARTS_WHOLE)
        EACH_GROUP(a, int64_t, out->v[a->x->count].values, p[k].n);
    else
        EACH_GROUP(a, int64_t, out->v[a->x->count].values, a->count[k]);
    return true;
}

/* All aggregates that have the totals of aggregate i. */
static void put_all(const adding *a, int i, tra_batch *out) {
    const tra_group *g = a->d->g;
    if (tra_group_makes_states(g) && put_states(a, out)) return;
    int last = tra_group_makes_states(g) ? i + 1 : g->n;
    for (int j = i; j < last; j++) {
        if (g->v[j].same != i) continue;
        for (int64_t to = 0; to < a->d->groups; to++) {
            uint32_t k = (uint32_t)a->d->order[to] - a->from;
            if (k >= a->n) continue;
            const tra_group_total t = total_of(a, k);
            tra_group_put(g, j, a->d->in, &t, NULL, out, to);
        }
    }
}

static void make_aggregate(adding *a, int i, tra_batch *out) {
    const tra_group_direct *d = a->d;
    way way = way_of(d, a->x);
    for (int64_t from = 0; from < d->groups; from += a->n) {
        size_t each = sizes[way] + sizeof(int32_t);
        a->way = way;
        a->from = (uint32_t)from;
        a->n = (uint32_t)tra_min64(d->bytes / (int64_t)each, d->groups - from);
        a->own_count = (int32_t *)(d->room + sizes[way] * a->n);
        if (total(a)) {
            put_all(a, i, out);
        } else {
            way = TOTALS;
            a->n = 0;
        }
    }
}

void tra_group_run_direct(const tra_group_direct *d, tra_batch *out) {
    adding a = {.d = d, .to = d->room};
    for (int i = 0; i < d->g->n; i++) {
        const tra_group_aggregate *x = a.x = &d->g->v[i];
        if (x->way == TRA_WAY_RANKED) {
            tra_group_run_values(d, i, out);
            continue;
        }
        if (x->same != i || tra_group_run_places(d, i, out)) continue;
        bool values = !tra_group_takes_states(d->g) && x->c.column >= 0;
        a.state[0] = values ? d->in->v[x->c.column].state : NULL;
        a.state[1] = values && x->way == TRA_WAY_PAIR ? d->in->v[x->c.second].state : NULL;
        make_aggregate(&a, i, out);
    }
}
