/* group_run.c - rows that become groups: straight to the totals of groups that are found by their keys
 * (group_direct.c), all rows as one group, or by sorted rows. */
#include "group_direct.h"
#include "order.h"

static const tra_schema *operand(const tra_group *g) { return tra_group_takes_states(g) ? g->states : g->in; }

/* ---- all rows as one group --------------------------------------------------------------------------------------- */

/* A NULL is 0. What is narrower than i64 is added up in an i64, which it fits: blocks have less than 2^31 rows. */
#define SUM_INTO(T, to)                                                                                                \
    do {                                                                                                               \
        for (int64_t i = 0; i < n; i++) to += ((const T *)v->values)[i];                                               \
    } while (0)
#define SUM_FLOAT(name, text, T, ...)                                                                                  \
    case TRA_##name:                                                                                                   \
        SUM_INTO(T, t->real);                                                                                          \
        break;
#define SUM_WHOLE(name, text, T, ...)                                                                                  \
    case TRA_##name:                                                                                                   \
        if (sizeof(T) < sizeof narrow)                                                                                 \
            SUM_INTO(T, narrow);                                                                                       \
        else                                                                                                           \
            SUM_INTO(T, t->sum);                                                                                       \
        break;

static void sum_all(const tra_group_aggregate *x, const tra_vector *v, int64_t n, tra_group_total *t) {
    int64_t narrow = 0;
    switch (tra_coltype_held(x->of.type)) { TRA_FLOAT_DTYPES(SUM_FLOAT) TRA_WHOLE_DTYPES(SUM_WHOLE) }
    t->sum += narrow;
}

/* The first row of the greatest or least of whole numbers, none of which is NULL. */
#define EXTREME_ALL(T, beats)                                                                                          \
    {                                                                                                                  \
        const T *a = v->values;                                                                                        \
        T best = a[0];                                                                                                 \
        for (int64_t i = 1; i < n; i++) best = a[i] beats best ? a[i] : best;                                          \
        for (t->row = 0; a[t->row] != best;) t->row++;                                                                 \
    }

static bool extreme_all(const tra_group_aggregate *x, const tra_vector *v, int64_t n, tra_group_total *t) {
    bool max = x->c.f == TRA_AGGREGATE_MAX;
    if (v->state || tra_coltype_is_coded(x->of.type) || (!max && x->c.f != TRA_AGGREGATE_MIN)) return false;
#define X(name, text, T, ...)                                                                                          \
    case TRA_##name:                                                                                                   \
        if (max) EXTREME_ALL(T, >) else EXTREME_ALL(T, <) return true;
    switch (tra_coltype_held(x->of.type)) {
        TRA_WHOLE_DTYPES(X)
    case TRA_FLOATS: break;
    }
#undef X
    return false;
}

static void total_all(const tra_group *g, const tra_group_aggregate *x, const tra_batch *in, tra_group_total *t) {
    const tra_vector *v = x->c.column >= 0 ? &in->v[x->c.column] : NULL;
    bool states = tra_group_takes_states(g), sums = tra_group_has_way(x, TRA_WAY_SUM);
    *t = tra_group_none(x);
    if (!states && (sums || tra_group_has_way(x, TRA_WAY_COUNT))) {
        t->n = in->rows;
        for (int64_t i = 0; v && v->state && i < in->rows; i++) t->n -= v->state[i] != TRA_STATE_VALUE;
        if (sums) sum_all(x, v, in->rows, t);
    } else if (!states && v && extreme_all(x, v, in->rows, t)) {
        return;
    } else {
        for (int64_t i = 0; i < in->rows; i++)
            states ? tra_group_add_state(x, in, i, t) : tra_group_add_row(x, in, i, t);
    }
}

/* False: it takes the members of the group. */
static bool run_all(const tra_group *g, const tra_batch *in, tra_batch *out) {
    for (int i = 0; i < g->n; i++)
        if (!tra_aggregate_has_states(g->v[i].c.f)) return false;
    for (int i = 0; i < g->n; i++) {
        tra_group_total t;
        total_all(g, &g->v[i], in, &t);
        tra_group_put(g, i, in, &t, NULL, out, 0);
    }
    return true;
}

/* ---- groups by sorted rows --------------------------------------------------------------------------------------- */

typedef struct sorted {
    const tra_group *g;
    const tra_batch *in;
    int64_t *at, n, *spare;
    int64_t *begin, groups; /* of each group in `at`; and n */
} sorted;

static void find_sorted(sorted *s) {
    tra_order_rows(s->in, s->g->nkeys, s->g->key, NULL, s->at, s->n, s->spare);
    s->begin = s->spare;
    s->groups = tra_order_runs(s->in, s->g->nkeys, s->g->key, s->at, s->n, s->begin);
    s->spare += s->n + 1;
}

static void total_sorted(const sorted *s, const tra_group_aggregate *x, const int64_t *row, int64_t n,
                         tra_group_total *t) {
    *t = tra_group_none(x);
    if (tra_group_takes_states(s->g))
        for (int64_t j = 0; j < n; j++) tra_group_add_state(x, s->in, row[j], t);
    else
        for (int64_t j = 0; j < n; j++) tra_group_add_row(x, s->in, row[j], t);
}

static void run_sorted(const sorted *s, tra_batch *out) {
    for (int i = 0; i < s->g->n; i++) {
        for (int64_t k = 0; k < s->groups; k++) {
            tra_group_total t;
            const tra_group_members m = {s->at + s->begin[k], s->begin[k + 1] - s->begin[k], s->spare};
            total_sorted(s, &s->g->v[i], m.row, m.n, &t);
            tra_group_put(s->g, i, s->in, &t, &m, out, k);
        }
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Half words for each row. Its place and the list of groups, with values in order and what that takes; or without such
 * aggregates what TRA_DIRECT_HALVES says, which is more than places and a list take. And a few words. */
enum { HALVES = 2 * (3 + TRA_ORDER_SPARE), MORE = TRA_DIRECT_MORE };

static int64_t half_words(const tra_group *g) {
    for (int i = 0; i < g->n; i++)
        if (!tra_aggregate_has_states(g->v[i].c.f)) return HALVES;
    return TRA_DIRECT_HALVES;
}

static int64_t head_bytes(const tra_group *g) { return tra_vectors_bytes(operand(g)->n + tra_group_out(g)->n); }

static int64_t group_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    int64_t words = tra_add_most(tra_ceil_div(tra_mul_most(ext_a->v[0], half_words(data)), 2), MORE);
    (void)ext_b;
    return tra_add_most(head_bytes(data), tra_mul_most(words, sizeof(int64_t)));
}

static int64_t groups_most(const tra_group *g, int64_t rows) { return g->nkeys ? tra_min64(rows, g->most) : 1; }

/* Is there room for so many groups of so many rows? */
static bool have_room(const tra_group *g, int64_t rows, int64_t groups) {
    if (groups <= groups_most(g, rows)) return true;
    tra_kernel_fail("%" PRId64 " groups, where there are at most %" PRId64
                    " by the statistics of the file: these are wrong, import the table again",
                    groups, g->most);
    return false;
}

static int64_t group_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(tra_group_out(data), groups_most(data, a->array.ext.v[0]));
}

/* The keys of each group, from its first row. */
static void put_keys(const tra_group *g, const tra_batch *in, const int64_t *first, int64_t groups, tra_batch *out) {
    for (int k = 0; k < g->nkeys; k++) tra_gather_rows(&out->v[k], 0, &in->v[k], in->schema->v[k].type, first, groups);
}

static int64_t make_groups(const tra_group *g, const tra_batch *in, int64_t *words, tra_batch *out) {
    if (g->nkeys == 0 && in->rows > 0 && run_all(g, in, out)) return 1;
    tra_group_direct d;
    if (tra_group_find_direct(g, in, words, &d)) {
        if (!have_room(g, in->rows, d.groups)) return 0;
        put_keys(g, in, d.first, d.groups, out);
        tra_group_run_direct(&d, out);
        return d.groups;
    }
    sorted s = {.g = g, .in = in, .at = words, .n = in->rows, .spare = words + in->rows};
    for (int64_t i = 0; i < s.n; i++) s.at[i] = i;
    find_sorted(&s);
    if (s.n == 0 && g->nkeys == 0 && !tra_group_makes_states(g)) s.groups = 1, s.begin[1] = 0; /* the one row */
    if (!have_room(g, in->rows, s.groups)) return 0;
    for (int64_t i = 0; i < s.groups && g->nkeys > 0; i++) s.spare[i] = s.at[s.begin[i]];
    put_keys(g, in, s.spare, s.groups, out);
    run_sorted(&s, out);
    return s.groups;
}

static void group_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b;
    const tra_group *g = data;
    const tra_schema *from = operand(g);
    tra_batch in = {.v = scratch}, made = {.v = (tra_vector *)scratch + from->n};
    tra_err e = {0};
    if (tra_columns_of(a, from, &in, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        tra_columns_begin(out, tra_group_out(g), 0, &made);
        return;
    }
    in.schema = from;
    if (!tra_group_takes_states(g))
        tra_refuse_errors(a, &in, from->n, NULL, "by which rows are grouped or which is aggregated");
    tra_columns_begin(out, tra_group_out(g), groups_most(g, in.rows), &made);
    int64_t groups = make_groups(g, &in, (int64_t *)((char *)scratch + head_bytes(g)), &made);
    tra_columns_end(out, tra_group_out(g), groups);
}

const tra_rows_ops tra_group_ops = {.scratch = group_scratch, .bytes = group_bytes, .run = group_run};
