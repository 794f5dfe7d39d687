/* group_direct.c - groups that are found by their keys, without sorting rows. The keys of a row become one word. Words
 * of few bits are places of a list; others are looked up in a hash table. Only the groups are sorted, where words do
 * not compare as keys do. Rows then go, in their order, to the totals of their groups. */
#include "group_direct.h"

#include "order.h"

#include <string.h>

/* ---- finding groups --------------------------------------------------------------------------------------------- */

/* How scratch is cut, of n rows, in words from the beginning:
 *   words of keys   [0, n), and [n, 2n) is room to make them
 *   to find groups  [n, 1.5n) of, [1.5n, 2.5n) slots, [2.5n, 3n) the first rows as half words
 *   to sort groups  [3n, 3.5n) first rows, [1.5n, 2.5n) room; they are at most half as many as rows
 *   to add up       [2n, 2.5n) of, [2.5n, 3.5n) first rows, [0, 2n) totals */
typedef struct finding {
    const tra_batch *in;
    int64_t n, groups;
    uint64_t *word;
    int32_t *of, *slot, *first;
} finding;

/* Words are places: at most n of them. */
static void find_by_place(finding *f, int bits) {
    int64_t slots = INT64_C(1) << bits;
    for (int64_t i = 0; i < slots; i++) f->slot[i] = -1;
    for (int64_t i = f->n - 1; i >= 0; i--) f->slot[f->word[i]] = (int32_t)i;
    for (int64_t i = 0; i < slots; i++) {
        if (f->slot[i] < 0) continue;
        f->first[f->groups] = f->slot[i];
        f->slot[i] = (int32_t)f->groups++;
    }
    for (int64_t i = 0; i < f->n; i++) f->of[i] = f->slot[f->word[i]];
}

/* False: more than half of the rows are groups of their own. */
static bool find_by_hash(finding *f) {
    int bits = 64 - __builtin_clzll((uint64_t)f->n); /* n < 2^bits <= 2n */
    uint64_t mask = (UINT64_C(1) << bits) - 1, seed = tra_hash_seed() | 1;
    memset(f->slot, 0xff, sizeof *f->slot << bits);
    for (int64_t i = 0; i < f->n; i++) {
        uint64_t w = f->word[i], h = (w ^ w >> 32) * seed;
        uint64_t at = h >> (64 - bits);
        while (f->slot[at] >= 0 && f->word[f->first[f->slot[at]]] != w) at = (at + 1) & mask;
        if (f->slot[at] < 0) {
            if (2 * (f->groups + 1) > f->n) return false;
            f->first[f->groups] = (int32_t)i;
            f->slot[at] = (int32_t)f->groups++;
        }
        f->of[i] = f->slot[at];
    }
    return true;
}

/* Numbers groups anew, in the order of their keys. room: 2 words for each group. */
static void order_groups(const finding *f, const tra_group *g, int64_t *first, int64_t *room) {
    int32_t *number = (int32_t *)room;
    tra_order_rows(f->in, g->nkeys, g->key, NULL, first, f->groups, room);
    for (int64_t k = 0; k < f->groups; k++) number[f->of[first[k]]] = (int32_t)k;
    for (int64_t i = 0; i < f->n; i++) f->of[i] = number[f->of[i]];
}

bool tra_group_find_direct(const tra_group *g, const tra_batch *in, int64_t *words, tra_group_direct *d) {
    enum { FEW = 32 };
    int64_t n = in->rows, half = tra_ceil_div(n, 2);
    if (n < FEW || g->nkeys == 0) return false;
    for (int i = 0; i < g->n; i++)
        if (!tra_aggregate_has_states(g->v[i].c.f)) return false;
    int bits = tra_order_codes(in, g->nkeys, g->key, n, 64, (uint64_t *)words, (uint64_t *)words + n);
    if (bits < 0) return false;
    int64_t *slots = words + n + half, *last = slots + 2 * half;
    finding f = {in, n, 0, (uint64_t *)words, (int32_t *)(words + n), (int32_t *)slots, (int32_t *)last};
    bool place = bits <= 63 - __builtin_clzll((uint64_t)n),
         sorted = place && !tra_order_looks_up(in->schema, g->nkeys, g->key);
    if (place)
        find_by_place(&f, bits);
    else if (!find_by_hash(&f))
        return false;
    if (!sorted && 2 * f.groups > n) return false;
    int64_t *first = sorted ? last : last + half;
    for (int64_t k = f.groups - 1; k >= 0; k--) first[k] = f.first[k]; /* may be in place, so from the end */
    if (!sorted) order_groups(&f, g, first, slots);
    memmove(words + 2 * n, f.of, (size_t)n * sizeof *f.of);
    uintptr_t begin = ((uintptr_t)words + 15) / 16 * 16;
    *d = (tra_group_direct){g, in, n, f.groups, first, (int32_t *)(words + 2 * n), (tra_group_total *)begin, 0};
    d->at_once = (int64_t)(((uintptr_t)(words + 2 * n) - begin) / sizeof *d->t);
    return true;
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

/* Groups from .. from + n - 1, whose totals fit at a time. */
typedef struct some_groups {
    const tra_group_direct *d;
    const int32_t *of;
    tra_group_total *t;
    int64_t rows;
    uint32_t from, n;
} some_groups;

/* For each row i of these groups that has a value: `what` is done to its total t. */
#define EACH_ROW(what)                                                                                                 \
    for (int64_t i = 0; i < s->rows; i++) {                                                                            \
        uint32_t k = (uint32_t)s->of[i] - s->from;                                                                     \
        if (k >= s->n || (state && state[i])) continue;                                                                \
        tra_group_total *t = &s->t[k];                                                                                 \
        what;                                                                                                          \
    }

/* One function for each way, with a loop for each type of values. */
#define EACH_TYPE(name, CASE)                                                                                          \
    static void name(const some_groups *s, const tra_group_aggregate *x) {                                             \
        const tra_vector *v = &s->d->in->v[x->c.column];                                                               \
        const uint8_t *state = v->state;                                                                               \
        switch (tra_coltype_held(x->of.type)) { TRA_DTYPES(CASE) }                                                     \
    }

#define TOTAL_FLOAT real
#define TOTAL_INT   sum
#define TOTAL_BOOL  sum
#define SUM(name, text, T, class, ...)                                                                                 \
    case TRA_##name: {                                                                                                 \
        const T *a = v->values;                                                                                        \
        EACH_ROW((t->n++, t->TOTAL_##class += a[i]))                                                                   \
        break;                                                                                                         \
    }
EACH_TYPE(sum_rows, SUM)

#define MOMENTS(name, text, T, ...)                                                                                    \
    case TRA_##name: {                                                                                                 \
        const T *a = v->values;                                                                                        \
        EACH_ROW(tra_group_combine(t, 1, (double)a[i], 0))                                                             \
        break;                                                                                                         \
    }
EACH_TYPE(moments_of_rows, MOMENTS)

/* The greatest or least: the first of equal ones; of floats a NaN, if there is one. */
#define BEATS_INT(x, than, y)   ((x)than(y))
#define BEATS_BOOL(x, than, y)  ((x)than(y))
#define BEATS_FLOAT(x, than, y) ((x)than(y) || ((x) != (x) && (y) == (y)))
#define EXTREME(name, T, class, than)                                                                                  \
    case TRA_##name: {                                                                                                 \
        const T *a = v->values;                                                                                        \
        EACH_ROW(if (t->row < 0 || BEATS_##class(a[i], than, a[t->row])) t->row = i)                                   \
        break;                                                                                                         \
    }
#define GREATEST(name, text, T, class, ...) EXTREME(name, T, class, >)
#define LEAST(name, text, T, class, ...)    EXTREME(name, T, class, <)
EACH_TYPE(greatest_rows, GREATEST)
EACH_TYPE(least_rows, LEAST)

/* Any aggregate of rows or states. */
static void total_rows(const some_groups *s, const tra_group_aggregate *x) {
    const tra_batch *in = s->d->in;
    bool states = tra_group_takes_states(s->d->g);
    for (int64_t i = 0; i < s->rows; i++) {
        uint32_t k = (uint32_t)s->of[i] - s->from;
        if (k < s->n) states ? tra_group_add_state(x, in, i, &s->t[k]) : tra_group_add_row(x, in, i, &s->t[k]);
    }
}

static void total(const some_groups *s, const tra_group_aggregate *x) {
    bool states = tra_group_takes_states(s->d->g), values = !states && x->c.column >= 0;
    bool compares = values && !tra_coltype_is_coded(x->of.type);
    for (uint32_t k = 0; k < s->n; k++) s->t[k] = tra_group_none(x);
    if (values && x->way == TRA_WAY_SUM)
        sum_rows(s, x);
    else if (values && x->way == TRA_WAY_MOMENTS)
        moments_of_rows(s, x);
    else if (compares && x->c.f == TRA_AGGREGATE_MAX)
        greatest_rows(s, x);
    else if (compares && x->c.f == TRA_AGGREGATE_MIN)
        least_rows(s, x);
    else
        total_rows(s, x);
}

void tra_group_run_direct(const tra_group_direct *d, tra_batch *out) {
    some_groups s = {.d = d, .of = d->of, .t = d->t, .rows = d->n};
    for (int64_t from = 0; from < d->groups; from += d->at_once) {
        s.from = (uint32_t)from;
        s.n = (uint32_t)tra_min64(d->at_once, d->groups - from);
        for (int i = 0; i < d->g->n; i++) {
            total(&s, &d->g->v[i]);
            for (uint32_t k = 0; k < s.n; k++) tra_group_put(d->g, i, d->in, &s.t[k], NULL, out, from + k);
        }
    }
}
