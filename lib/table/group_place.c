/* group_place.c - which row stands for each group: the first, the last, or that of the least or greatest value. Only
 * numbers of rows are held, and the values that are compared; columns are copied once, from these rows. */
#include "group_strips.h"

#include <string.h>

typedef union best {
    double real;
    int64_t whole;
} best;

/* Some groups, from .. from + n - 1, and what is known of each. */
typedef struct placing {
    const tra_group_direct *d;
    const tra_group_aggregate *x;
    const tra_vector *v;     /* what decides; its column is tra_group_compared */
    const uint8_t *state[2]; /* of all columns that must have a value */
    uint32_t from, n;
    best *best;
    int32_t *row; /* -1: there is none yet */
    union {
        double real[TRA_GROUP_STRIP];
        int64_t whole[TRA_GROUP_STRIP];
    } room;
} placing;

/* Of equal values the first stays. A NaN beats all reals. */
#define BEST(T, field, beats)                                                                                          \
    {                                                                                                                  \
        const T *v = tra_group_##field##s(c, p->v, from, r.n, p->room.field);                                          \
        EACH_ROW(const T old = p->best[k].field;                                                                       \
                 if (p->row[k] < 0 || (beats)) p->best[k].field = v[i], p->row[k] = (int32_t)from + i)                 \
    }
#define NAN_OR(beats) (beats) || (v[i] != v[i] && old == old)

static void add_strip(placing *p, int64_t from) {
    const tra_group_strip r = tra_group_strip_of(p->d, p->state, p->from, p->n, from);
    const tra_column *c = tra_group_compared(p->x);
    tra_aggregate f = p->x->c.f;
    bool most = f == TRA_AGGREGATE_MAX || f == TRA_AGGREGATE_ARG_MAX || f == TRA_AGGREGATE_ANY;
    if (f == TRA_AGGREGATE_FIRST)
        EACH_ROW(if (p->row[k] < 0) p->row[k] = (int32_t)from + i)
    else if (f == TRA_AGGREGATE_LAST)
        EACH_ROW(p->row[k] = (int32_t)from + i)
    else if (p->x->whole && most)
        BEST(int64_t, whole, v[i] > old)
    else if (p->x->whole)
        BEST(int64_t, whole, v[i] < old)
    else if (most)
        BEST(double, real, NAN_OR(v[i] > old))
    else
        BEST(double, real, NAN_OR(v[i] < old))
}

static void put_column(const placing *p, const tra_column *c, const tra_vector *from, const tra_vector *to) {
#define PUT(T) EACH_GROUP(p, T, to->values, p->row[k] < 0 ? 0 : ((const T *)from->values)[p->row[k]])
    switch (tra_coltype_size(c->type)) {
    case 1: PUT(uint8_t); break;
    case 4: PUT(uint32_t); break;
    default: PUT(uint64_t); break;
    }
#undef PUT
    EACH_GROUP(p, uint8_t, to->state, p->row[k] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE);
}

static void put_places(const placing *p, int i, tra_batch *out) {
    const tra_group *g = p->d->g;
    const tra_vector *from = p->d->in->v;
    bool states = tra_group_makes_states(g);
    for (int k = 0; states && k < p->x->nstates; k++)
        put_column(p, &g->states->v[p->x->state + k], &from[tra_group_place(g, p->x, k)], &out->v[p->x->state + k]);
    for (int j = i; !states && j < g->n; j++)
        if (g->v[j].same == i) put_column(p, &p->x->of, &from[tra_group_place(g, p->x, 0)], &out->v[g->nkeys + j]);
}

bool tra_group_run_places(const tra_group_direct *d, int i, tra_batch *out) {
    const tra_group_aggregate *x = &d->g->v[i];
    const tra_column *c = tra_group_compared(x);
    bool compares = x->way != TRA_WAY_END;
    if (!tra_group_has_place(x)) return false;
    if (compares && tra_coltype_is_coded(c->type) && !(c->dict && c->dict->sorted)) return false;
    int last = x->nstates - 1;
    placing p = {.d = d, .x = x, .v = &d->in->v[tra_group_place(d->g, x, last)], .best = (best *)d->room};
    for (int k = 0; k <= last; k++) p.state[k] = d->in->v[tra_group_place(d->g, x, k)].state;
    int64_t most = d->bytes / (int64_t)(sizeof *p.row + (compares ? sizeof *p.best : 0));
    for (int64_t from = 0; from < d->groups; from += p.n) {
        p.from = (uint32_t)from;
        p.n = (uint32_t)tra_min64(most, d->groups - from);
        p.row = compares ? (int32_t *)(p.best + p.n) : (int32_t *)p.best;
        memset(p.row, 0xff, p.n * sizeof *p.row);
        for (int64_t row = 0; row < d->n; row += TRA_GROUP_STRIP) add_strip(&p, row);
        put_places(&p, i, out);
    }
    return true;
}
