/* group.c - what aggregates take and give, and their states. */
#include "group_int.h"

#include <string.h>

static const struct row {
    const char *text;
    tra_aggregate_takes takes;
    tra_aggregate_gives gives;
    tra_aggregate_way way;
} table[] = {
#define X(name, text, takes, gives, way) {text, TRA_TAKES_##takes, TRA_GIVES_##gives, TRA_WAY_##way},
    TRA_AGGREGATES(X)
#undef X
};
enum { NAGGREGATES = sizeof table / sizeof *table };

const char *tra_aggregate_text(tra_aggregate f) { return table[f].text; }
tra_aggregate_way tra_aggregate_way_of(tra_aggregate f) { return table[f].way; }
bool tra_aggregate_has_states(tra_aggregate f) { return table[f].way < TRA_WAY_DIFFERENT; }
bool tra_aggregate_has_two(tra_aggregate f) { return table[f].way == TRA_WAY_PAIR || table[f].way == TRA_WAY_BY; }
int tra_aggregate_find(const char *name) {
    for (int i = 0; i < NAGGREGATES; i++)
        if (strcmp(table[i].text, name) == 0) return i;
    return -1;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static bool takes(tra_aggregate f, tra_coltype t) {
    switch (table[f].takes) {
    case TRA_TAKES_ANY: return true;
    case TRA_TAKES_NUMBERS: return tra_coltype_is_number(t);
    case TRA_TAKES_BOOLS: return t == TRA_COL_BOOL;
    }
    return false;
}

static tra_column result_of(const tra_group_aggregate *g) {
    tra_column c = {.name = g->c.name, .type = TRA_COL_F64, .nullable = true};
    switch (table[g->c.f].gives) {
    case TRA_GIVES_NUMBER:
        c.type = TRA_COL_I64;
        c.nullable = false;
        break;
    case TRA_GIVES_TOTAL: c.type = g->whole ? TRA_COL_I64 : TRA_COL_F64; break;
    case TRA_GIVES_VALUE:
        c.type = g->of.type;
        c.dict = g->of.dict;
        break;
    case TRA_GIVES_REAL: break;
    }
    return c;
}

static const tra_column whole_state = {.name = "n", .type = TRA_COL_I64}, real_state = {.type = TRA_COL_F64};

/* Values by which the rest is found, besides their number: see struct total. */
static int states_of(const tra_group_aggregate *g, tra_column *to) {
    static const char *const names[TRA_GROUP_STATES] = {"0", "1", "2", "3", "4"};
    int count = 1;
    switch (table[g->c.f].way) {
    case TRA_WAY_COUNT: return 0;
    case TRA_WAY_SUM:
        to[0] = to[1] = g->whole ? whole_state : real_state;
        count = g->wide ? 2 : 1;
        break;
    case TRA_WAY_MOMENTS:
    case TRA_WAY_POWERS:
    case TRA_WAY_PAIR:
        for (int i = 0; i < TRA_GROUP_STATES; i++) to[i] = real_state;
        count = g->way == TRA_WAY_PAIR ? 5 : g->way == TRA_WAY_POWERS ? 4 : 2;
        break;
    case TRA_WAY_EXTREME:
    case TRA_WAY_END:
        to[0] = g->of;
        to[0].nullable = true;
        to[0].fails = false;
        break;
    case TRA_WAY_BY:
        to[0] = g->of;
        to[1] = g->by;
        for (count = 0; count < 2; count++) to[count].nullable = true, to[count].fails = false;
        break;
    case TRA_WAY_DIFFERENT:
    case TRA_WAY_RANKED: return 0;
    }
    for (int i = 0; i < count; i++) to[i].name = names[i];
    return count;
}

/* Are totals of x those of y too? */
static bool same_totals(const tra_group_aggregate *x, const tra_group_aggregate *y) {
    bool own =
        x->way == TRA_WAY_EXTREME || x->way == TRA_WAY_END || x->way == TRA_WAY_BY || !tra_aggregate_has_states(x->c.f);
    return x->way == y->way && x->c.column == y->c.column && (own ? x->c.f == y->c.f && x->c.q == y->c.q : true) &&
           (!tra_aggregate_has_two(x->c.f) || x->c.second == y->c.second);
}

static int counted(const tra_column *c, int column) { return tra_column_has_states(c) ? column : -1; }

/* Do both count the same rows? */
static bool same_counts(const tra_group_aggregate *x, const tra_group_aggregate *y) {
    bool two = tra_aggregate_has_two(x->c.f), other = tra_aggregate_has_two(y->c.f);
    int a = counted(&x->of, x->c.column), b = two ? counted(&x->by, x->c.second) : -1;
    int c = counted(&y->of, y->c.column), d = other ? counted(&y->by, y->c.second) : -1;
    return tra_group_counts(x) && tra_group_counts(y) && a == c && b == d;
}

tra_status tra_group_new(tra_arena *a, const tra_schema *in, int nkeys, int n, const tra_group_column *v,
                         tra_group_pass pass, tra_group **out, tra_err *e) {
    tra_group *g = tra_new(a, tra_group);
    tra_column *states = tra_news(a, tra_column, nkeys + (TRA_GROUP_STATES + 1) * n + 1);
    tra_column *result = tra_news(a, tra_column, nkeys + n + 1);
    *g = (tra_group){.in = in, .nkeys = nkeys, .n = n, .pass = pass, .most = INT64_MAX};
    g->v = tra_news(a, tra_group_aggregate, n + 1);
    tra_group_column *own = tra_news(a, tra_group_column, n + 1);
    g->columns = own;
    g->key = tra_news(a, int, nkeys + 1);
    for (int k = 0; k < nkeys; k++) {
        g->key[k] = k;
        states[k] = result[k] = in->v[k];
        states[k].fails = result[k].fails = false;
    }
    int at = nkeys;
    for (int i = 0; i < n; i++) {
        tra_group_aggregate *x = &g->v[i];
        *x = (tra_group_aggregate){.c = v[i], .state = at, .way = tra_aggregate_way_of(v[i].f)};
        own[i] = v[i];
        if (v[i].column >= 0) x->of = in->v[v[i].column];
        if (tra_aggregate_has_two(v[i].f)) x->by = in->v[v[i].second];
        x->whole = !tra_coltype_is_float(tra_group_compared(x)->type);
        x->wide = x->whole && x->of.type == TRA_COL_I64; /* sums of under 2^32 narrower values fit i64 */
        const tra_column *bad = v[i].column >= 0 && !takes(v[i].f, x->of.type)                ? &x->of
                                : tra_aggregate_has_two(v[i].f) && !takes(v[i].f, x->by.type) ? &x->by
                                                                                              : NULL;
        if (bad)
            return tra_fail(e, TRA_PROGRAM, "%s does not take values of type %s", table[v[i].f].text,
                            tra_coltype_name(bad->type));
        result[nkeys + i] = result_of(x);
        for (x->same = 0; !same_totals(&g->v[x->same], x);) x->same++;
        int first = 0;
        while (first < i && !same_counts(&g->v[first], x)) first++;
        x->counts = first == i && tra_group_counts(x);
        x->count = x->counts ? at : first < i ? g->v[first].count : -1;
        if (x->counts) states[at++] = whole_state;
        x->state = at;
        x->nstates = states_of(x, states + at);
        if (x->same == i)
            at += x->nstates;
        else
            x->state = g->v[x->same].state;
    }
    tra_schema *s = tra_news(a, tra_schema, 2);
    s[0] = (tra_schema){at, states};
    s[1] = (tra_schema){nkeys + n, result};
    g->states = &s[0];
    g->result = &s[1];
    *out = g;
    return TRA_OK;
}

void tra_group_bound(tra_group *g, int64_t most) { g->most = most; }

const tra_schema *tra_group_out(const tra_group *g) {
    return g->pass == TRA_GROUP_PARTIAL || g->pass == TRA_GROUP_MERGE ? g->states : g->result;
}

tra_group_pass tra_group_pass_of(const tra_group *g) { return g->pass; }
int tra_group_keys(const tra_group *g) { return g->nkeys; }
const tra_schema *tra_group_in(const tra_group *g) { return g->in; }
const tra_schema *tra_group_states(const tra_group *g) { return g->states; }
int tra_group_nstates(const tra_group *g, int i) { return g->v[i].nstates; }
int tra_group_count_state(const tra_group *g, int i) { return g->v[i].count; }
int tra_group_state(const tra_group *g, int i) { return g->v[i].state; }

int tra_group_columns(const tra_group *g, const tra_group_column **v) {
    *v = g->columns;
    return g->n;
}

const tra_group *tra_group_as(tra_arena *a, const tra_group *g, tra_group_pass pass) {
    tra_group *other = tra_new(a, tra_group);
    *other = *g;
    other->pass = pass;
    return other;
}
