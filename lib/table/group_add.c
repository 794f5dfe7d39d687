/* group_add.c - rows added up to the totals of groups that were found (group_direct.c): of each aggregate what it needs
 * of a group, and no more, lies close together. */
#include "group_direct.h"

#include "../base/simd.h"

#include <string.h>

enum { STRIP = 1024 };

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* How rows are added up. TOTALS: each to a tra_group_total, for what is not as follows. */
typedef enum way {
    ROWS,
    REALS,
    WHOLES,
    MOMENTS,
    POWERS,
    PAIRS,
    LEAST_REAL,
    MOST_REAL,
    LEAST_WHOLE,
    MOST_WHOLE,
    FIRST_ROW,
    LAST_ROW,
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
typedef struct extreme {
    held best;
    int64_t row; /* -1: there is none yet */
} extreme;

static const size_t sizes[] = {[ROWS] = 0,
                               [REALS] = sizeof(double),
                               [WHOLES] = sizeof(int64_t),
                               [MOMENTS] = sizeof(moments),
                               [POWERS] = sizeof(powers),
                               [PAIRS] = sizeof(pair),
                               [LEAST_REAL] = sizeof(extreme),
                               [MOST_REAL] = sizeof(extreme),
                               [LEAST_WHOLE] = sizeof(extreme),
                               [MOST_WHOLE] = sizeof(extreme),
                               [FIRST_ROW] = sizeof(extreme),
                               [LAST_ROW] = sizeof(extreme),
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
    double real[2][STRIP];
    int64_t whole[STRIP];
} adding;

/* ---- strips ------------------------------------------------------------------------------------------------------ */

#define X(name, T)                                                                                                     \
    VECTORS static void reals_of_##name(const T *restrict v, int n, double *restrict to) {                             \
        for (int i = 0; i < n; i++) to[i] = (double)v[i];                                                              \
    }                                                                                                                  \
    VECTORS static void wholes_of_##name(const T *restrict v, int n, int64_t *restrict to) {                           \
        for (int i = 0; i < n; i++) to[i] = (int64_t)v[i];                                                             \
    }
TRA_CTYPES(X)
#undef X

/* Rows from .. from + n - 1 of a column of numbers, as f64, and as i64. */
static const double *reals(const tra_column *c, const tra_vector *v, int64_t from, int n, double *room) {
    if (tra_coltype_held(c->type) == TRA_F64) return (const double *)v->values + from;
    switch (tra_coltype_held(c->type)) {
#define X(name, T)                                                                                                     \
    case TRA_##name: reals_of_##name((const T *)v->values + from, n, room); break;
        TRA_CTYPES(X)
#undef X
    }
    return room;
}

static const int64_t *wholes(const tra_column *c, const tra_vector *v, int64_t from, int n, int64_t *room) {
    if (tra_coltype_held(c->type) == TRA_I64) return (const int64_t *)v->values + from;
    switch (tra_coltype_held(c->type)) {
#define X(name, T)                                                                                                     \
    case TRA_##name: wholes_of_##name((const T *)v->values + from, n, room); break;
        TRA_CTYPES(X)
#undef X
    }
    return room;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* For each row i of a strip that has a value in one of these groups, k less the first one: what is said. */
#define EACH_ROW(...)                                                                                                  \
    for (int i = 0; i < r.n; i++) {                                                                                    \
        uint32_t k = (uint32_t)r.of[i] - r.from;                                                                       \
        if (k >= r.groups || (r.state[0] && r.state[0][i]) || (r.state[1] && r.state[1][i])) continue;                 \
        __VA_ARGS__;                                                                                                   \
    }

/* A strip of rows. */
typedef struct strip {
    int n;
    uint32_t from, groups;
    const int32_t *of;
    const uint8_t *state[2];
} strip;

static strip strip_of(const adding *a, int64_t from) {
    strip r = {(int)tra_min64(STRIP, a->d->n - from), a->from, a->n, a->d->of + from, {NULL, NULL}};
    for (int i = 0; i < 2; i++) r.state[i] = a->state[i] ? a->state[i] + from : NULL;
    return r;
}

static void count_values(adding *a) {
    memset(a->own_count, 0, a->n * sizeof *a->own_count);
    for (int64_t from = 0; from < a->d->n; from += STRIP) {
        strip r = strip_of(a, from);
        const uint8_t *x = r.state[0] ? r.state[0] : r.state[1], *y = r.state[1] ? r.state[1] : x;
        r.state[0] = r.state[1] = NULL; /* every row is added, NULLs as 0: a branch would be mispredicted */
        EACH_ROW(a->own_count[k] += !(x[i] | y[i]))
    }
    a->count = a->own_count;
}

/* The best values so far; of equal ones the first. A NaN beats all reals. */
#define BEST(v, beats)                                                                                                 \
    {                                                                                                                  \
        extreme *e = a->to;                                                                                            \
        EACH_ROW(if (e[k].row < 0 || (beats)) e[k] = (extreme){.best.v = v[i], .row = from + i})                       \
    }

#define DIFFER(mean, first, value)                                                                                     \
    do {                                                                                                               \
        first = first != first ? value : first;                                                                        \
        mean += value - first;                                                                                         \
    } while (0)

/* False: a sum of whole numbers does not fit. */
static bool add_strip(adding *a, int64_t from, bool again) {
    strip r = strip_of(a, from);
    int n = r.n;
    const tra_group_aggregate *x = a->x;
    const tra_vector *v = &a->d->in->v[x->c.column];
    const double *real = NULL, *second = NULL;
    const int64_t *whole = NULL;
    bool over = false;
    extreme *place = a->to;
    if (a->way == WHOLES || a->way == LEAST_WHOLE || a->way == MOST_WHOLE)
        whole = wholes(&x->of, v, from, n, a->whole);
    else if (a->way < FIRST_ROW)
        real = reals(&x->of, v, from, n, a->real[0]);
    if (a->way == REALS || a->way == WHOLES) r.state[0] = NULL; /* a NULL is 0 */
    if (a->way == PAIRS) second = reals(&x->by, &a->d->in->v[x->c.second], from, n, a->real[1]);
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
    case LEAST_REAL:
        BEST(real, real[i] < e[k].best.real || (real[i] != real[i] && e[k].best.real == e[k].best.real)) break;
    case MOST_REAL:
        BEST(real, real[i] > e[k].best.real || (real[i] != real[i] && e[k].best.real == e[k].best.real)) break;
    case LEAST_WHOLE: BEST(whole, whole[i] < e[k].best.whole) break;
    case MOST_WHOLE: BEST(whole, whole[i] > e[k].best.whole) break;
    case FIRST_ROW: EACH_ROW(if (place[k].row < 0) place[k].row = from + i) break;
    case LAST_ROW: EACH_ROW(place[k].row = from + i) break;
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
    for (int64_t from = 0; from < a->d->n; from += STRIP) fits &= add_strip(a, from, again);
    return fits;
}

/* The states of each row are added to those of its group. False: a sum of whole numbers takes more than 64 bits. */
static bool add_parts(adding *a) {
    const tra_vector *v = &a->d->in->v[a->x->state];
    const int64_t *count = v[0].values;
    bool over = false;
    part *p = a->to;
    moments_part *m = a->to;
    for (int64_t from = 0; from < a->d->n; from += STRIP) {
        const strip r = strip_of(a, from);
        const int64_t *n = count + from;
        const double *real = a->way == PARTS_REAL || a->way == PARTS_MOMENTS ? (double *)v[1].values + from : NULL;
        const double *square = a->way == PARTS_MOMENTS ? (double *)v[2].values + from : NULL;
        const int64_t *low = a->way == PARTS_WHOLE ? (int64_t *)v[1].values + from : NULL;
        const int64_t *high = low ? (int64_t *)v[2].values + from : NULL;
        if (low)
            EACH_ROW(p[k].n += n[i]; over |= high[i] != low[i] >> 63;
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
    bool whole = x->whole, dictionary = tra_coltype_is_coded(x->of.type);
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
        if (dictionary && !(x->of.dict && x->of.dict->sorted)) return TOTALS;
        if (x->c.f == TRA_AGGREGATE_MAX || x->c.f == TRA_AGGREGATE_ANY) return whole ? MOST_WHOLE : MOST_REAL;
        return whole ? LEAST_WHOLE : LEAST_REAL;
    case TRA_WAY_END: return x->c.f == TRA_AGGREGATE_FIRST ? FIRST_ROW : LAST_ROW;
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
    for (uint32_t k = 0; a->way >= LEAST_REAL && k < a->n; k++) ((extreme *)a->to)[k].row = -1;
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
    case LEAST_REAL:
    case MOST_REAL:
    case LEAST_WHOLE:
    case MOST_WHOLE:
    case FIRST_ROW:
    case LAST_ROW: t.row = ((const extreme *)a->to)[k].row; break;
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

/* In the order of keys, of each of these groups k: what it is. */
#define EACH_GROUP(T, column, what)                                                                                    \
    do {                                                                                                               \
        T *to = (column)->values;                                                                                      \
        for (int64_t i = 0; i < a->d->groups; i++) {                                                                   \
            uint32_t k = (uint32_t)a->d->order[i] - a->from;                                                           \
            if (k < a->n) to[i] = what;                                                                                \
        }                                                                                                              \
    } while (0)

/* States, column by column. False: each is made of a total. */
static bool put_states(const adding *a, tra_batch *out) {
    tra_vector *v = &out->v[a->x->state];
    const int64_t *whole = a->to;
    const double *real = a->to;
    const part *p = a->to;
    const moments *m = a->to;
    switch (a->way) {
    case WHOLES:
        EACH_GROUP(int64_t, &v[1], whole[k]);
        EACH_GROUP(int64_t, &v[2], whole[k] >> 63);
        break;
    case REALS: EACH_GROUP(double, &v[1], real[k]); break;
    case MOMENTS:
        EACH_GROUP(double, &v[1], m[k].mean);
        EACH_GROUP(double, &v[2], m[k].square);
        break;
    case PARTS_WHOLE:
        EACH_GROUP(int64_t, &v[0], p[k].n);
        EACH_GROUP(int64_t, &v[1], p[k].sum.whole);
        EACH_GROUP(int64_t, &v[2], p[k].sum.whole >> 63);
        return true;
    case ROWS: break;
    default: return false;
    }
    EACH_GROUP(int64_t, &v[0], a->count[k]);
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
        if (x->same != i) continue;
        bool values = !tra_group_takes_states(d->g) && x->c.column >= 0;
        a.state[0] = values ? d->in->v[x->c.column].state : NULL;
        a.state[1] = values && x->way == TRA_WAY_PAIR ? d->in->v[x->c.second].state : NULL;
        make_aggregate(&a, i, out);
    }
}
