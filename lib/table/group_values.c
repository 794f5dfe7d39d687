/* group_values.c - quantiles of groups that were found (group_direct.c): the values of each group
 * are brought together as words in their order, of which those at its place are selected. Nothing is sorted. */
#include "../base/parallel.h"
#include "group_strips.h"
#include "order.h"

#include <string.h>

/* The values of group k are word[begin[k]] .. word[end[k] - 1]. */
typedef struct values {
    const tra_group_direct *d;
    const tra_group_aggregate *x; /* the first of those of this column */
    int first;
    uint64_t *word;
    uint32_t *begin, *end;
    int pieces;
    tra_batch *out;
} values;

static values values_of(const tra_group_direct *d) {
    values a = {.d = d, .word = (uint64_t *)d->room, .pieces = tra_parallel_pieces(4 * d->n)};
    a.begin = (uint32_t *)(a.word + d->n);
    a.end = a.begin + d->groups;
    return a;
}

/* Words of n rows from `from` on, in the order of their values. */
static void words_of(const tra_column *c, const tra_vector *v, int64_t from, int n, uint64_t *word) {
    union {
        double real[TRA_GROUP_STRIP];
        int64_t whole[TRA_GROUP_STRIP];
    } room;
    if (tra_coltype_is_float(c->type)) {
        const double *w = tra_group_reals(c, v, from, n, room.real);
        for (int i = 0; i < n; i++) word[i] = tra_order_of_real(w[i]);
    } else {
        const int64_t *w = tra_group_wholes(c, v, from, n, room.whole);
        for (int i = 0; i < n; i++) word[i] = tra_order_of_whole(w[i]);
    }
}

/* Brings the values of each group together, without NULLs. */
static void gather(values *a, const tra_column *c, const tra_vector *v) {
    const tra_group_direct *d = a->d;
    const uint8_t *const state[2] = {v->state, NULL};
    uint64_t word[TRA_GROUP_STRIP];
    uint32_t at = 0;
    for (int64_t k = 0; k < d->groups; at += (uint32_t)d->count[k++]) a->begin[k] = a->end[k] = at;
    for (int64_t from = 0; from < d->n; from += TRA_GROUP_STRIP) {
        const tra_group_strip r = tra_group_strip_of(d, state, 0, (uint32_t)d->groups, from);
        words_of(c, v, from, r.n, word);
        EACH_ROW(a->word[a->end[k]++] = word[i])
    }
}

/* All quantiles of the groups whose values begin in piece p of the words. */
static void select_piece(void *ctx, int p, void *scratch) {
    const values *a = ctx;
    const tra_group *g = a->d->g;
    int64_t low = tra_piece_begin(a->d->n, a->pieces, p), high = tra_piece_begin(a->d->n, a->pieces, p + 1);
    (void)scratch;
    for (int64_t to = 0; to < a->d->groups; to++) {
        int32_t k = a->d->order[to];
        if (a->begin[k] < low || a->begin[k] >= high) continue;
        for (int j = a->first; j < g->n; j++)
            if (g->v[j].way == TRA_WAY_RANKED && g->v[j].c.column == a->x->c.column)
                tra_group_put_quantile(g, j, a->word + a->begin[k], a->end[k] - a->begin[k], a->out, to);
    }
}

void tra_group_run_values(const tra_group_direct *d, int i, tra_batch *out) {
    const tra_group_aggregate *x = &d->g->v[i];
    for (int j = 0; j < i; j++)
        if (d->g->v[j].way == TRA_WAY_RANKED && d->g->v[j].c.column == x->c.column) return; /* it was made with that */
    values a = values_of(d);
    a.x = x, a.first = i, a.out = out;
    gather(&a, &x->of, &d->in->v[x->c.column]);
    tra_parallel(a.pieces, select_piece, &a, NULL);
}
