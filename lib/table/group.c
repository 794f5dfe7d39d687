/* group.c - aggregates of groups of rows. */
#include "group.h"

#include "order.h"

#include <math.h>
#include <string.h>

static const struct row {
    const char *text;
    bool states;
} table[] = {
#define X(name, text, states) {text, states},
    TRA_AGGREGATES(X)
#undef X
};
enum { NAGGREGATES = sizeof table / sizeof *table };

const char *tra_aggregate_text(tra_aggregate f) { return table[f].text; }
bool tra_aggregate_has_states(tra_aggregate f) { return table[f].states; }
int tra_aggregate_find(const char *name) {
    for (int i = 0; i < NAGGREGATES; i++)
        if (strcmp(table[i].text, name) == 0) return i;
    return -1;
}

enum { MOST_STATES = 3 };

/* An aggregate, with the columns of its states in what PARTIAL makes. */
typedef struct aggregate {
    tra_group_column c;
    tra_column of; /* what is aggregated; of count() nothing */
    int state, nstates;
    bool whole; /* of integers: sums are exact */
} aggregate;

struct tra_group {
    const tra_schema *in, *states, *result;
    int nkeys, n;
    aggregate *v;
    int *key; /* 0, 1, ... nkeys - 1 */
    tra_group_pass pass;
};

/* ---- types ------------------------------------------------------------------------------------------------------ */

static bool takes(tra_aggregate f, tra_coltype t) {
    switch (f) {
    case TRA_AGGREGATE_COUNT:
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_DISTINCT: return true;
    case TRA_AGGREGATE_SUM:
    case TRA_AGGREGATE_MEAN:
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD:
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: return tra_coltype_is_number(t);
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL: return t == TRA_COL_BOOL;
    }
    return false;
}

static tra_column result_of(const aggregate *g) {
    tra_column c = {.name = g->c.name, .type = TRA_COL_F64, .nullable = true};
    switch (g->c.f) {
    case TRA_AGGREGATE_COUNT:
    case TRA_AGGREGATE_DISTINCT:
        c.type = TRA_COL_I64;
        c.nullable = false;
        break;
    case TRA_AGGREGATE_SUM: c.type = g->whole ? TRA_COL_I64 : TRA_COL_F64; break;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL:
        c.type = g->of.type;
        c.dict = g->of.dict;
        break;
    case TRA_AGGREGATE_MEAN:
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD:
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: break;
    }
    return c;
}

/* Counts, or values, by which the rest is found: see struct total. */
static int states_of(const aggregate *g, tra_column *to) {
    static const char *const names[MOST_STATES] = {"0", "1", "2"};
    const tra_column n = {.type = TRA_COL_I64}, real = {.type = TRA_COL_F64};
    int count = 1;
    switch (g->c.f) {
    case TRA_AGGREGATE_COUNT: to[0] = n; break;
    case TRA_AGGREGATE_SUM:
    case TRA_AGGREGATE_MEAN:
        to[0] = n;
        to[1] = g->whole ? n : real;
        to[2] = n;
        count = g->whole ? 3 : 2;
        break;
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD:
        to[0] = n;
        to[1] = to[2] = real;
        count = 3;
        break;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL:
        to[0] = g->of;
        to[0].nullable = true;
        to[0].fails = false;
        break;
    case TRA_AGGREGATE_DISTINCT:
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: return 0;
    }
    for (int i = 0; i < count; i++) to[i].name = names[i];
    return count;
}

tra_status tra_group_new(tra_arena *a, const tra_schema *in, int nkeys, int n, const tra_group_column *v,
                         tra_group_pass pass, tra_group **out, tra_err *e) {
    tra_group *g = tra_new(a, tra_group);
    tra_column *states = tra_news(a, tra_column, nkeys + MOST_STATES * n + 1);
    tra_column *result = tra_news(a, tra_column, nkeys + n + 1);
    *g = (tra_group){.in = in, .nkeys = nkeys, .n = n, .pass = pass};
    g->v = tra_news(a, aggregate, n + 1);
    g->key = tra_news(a, int, nkeys + 1);
    for (int k = 0; k < nkeys; k++) {
        g->key[k] = k;
        states[k] = result[k] = in->v[k];
        states[k].fails = result[k].fails = false;
    }
    int at = nkeys;
    for (int i = 0; i < n; i++) {
        aggregate *x = &g->v[i];
        *x = (aggregate){.c = v[i], .state = at};
        if (v[i].column >= 0) x->of = in->v[v[i].column];
        x->whole = !tra_coltype_is_float(x->of.type);
        if (v[i].column >= 0 && !takes(v[i].f, x->of.type))
            return tra_fail(e, TRA_PROGRAM, "%s does not take values of type %s", table[v[i].f].text,
                            tra_coltype_name(x->of.type));
        result[nkeys + i] = result_of(x);
        x->nstates = states_of(x, states + at);
        at += x->nstates;
    }
    tra_schema *s = tra_news(a, tra_schema, 2);
    s[0] = (tra_schema){at, states};
    s[1] = (tra_schema){nkeys + n, result};
    g->states = &s[0];
    g->result = &s[1];
    *out = g;
    return TRA_OK;
}

const tra_schema *tra_group_result(const tra_group *g) { return g->result; }
const tra_schema *tra_group_out(const tra_group *g) { return g->pass == TRA_GROUP_PARTIAL ? g->states : g->result; }

static const tra_schema *operand(const tra_group *g) { return g->pass == TRA_GROUP_FINAL ? g->states : g->in; }

/* ---- totals ------------------------------------------------------------------------------------------------------ */

/* What is known of an aggregate in a group so far. */
typedef struct total {
    int64_t n; /* values */
    __int128 sum;
    double real, mean, square; /* square: the sum of squares of what differs from the mean */
    int64_t row;               /* of min, max, first, last, any, all: where the value is; -1: none yet */
} total;

static bool present(const tra_vector *v, int64_t i) { return !v->state || v->state[i] == TRA_STATE_VALUE; }

int64_t tra_value_whole(const tra_column *c, const tra_vector *v, int64_t i) {
    switch (tra_coltype_held(c->type)) {
    case TRA_BOOL: return ((const uint8_t *)v->values)[i];
    case TRA_I32: return ((const int32_t *)v->values)[i];
    case TRA_I64: return ((const int64_t *)v->values)[i];
    case TRA_F32:
    case TRA_F64: break;
    }
    return 0;
}

double tra_value_real(const tra_column *c, const tra_vector *v, int64_t i) {
    if (c->type == TRA_COL_F64) return ((const double *)v->values)[i];
    if (c->type == TRA_COL_F32) return (double)((const float *)v->values)[i];
    return (double)tra_value_whole(c, v, i);
}

/* Is the value of row i to stand for those before it? */
static bool replaces(const aggregate *g, const tra_vector *v, int64_t row, int64_t i) {
    bool nan = tra_coltype_is_float(g->of.type) && isnan(tra_value_real(&g->of, v, i));
    switch (g->c.f) {
    case TRA_AGGREGATE_MAX: return tra_value_compare(&g->of, v, i, row, false) > 0;
    case TRA_AGGREGATE_MIN:
        if (tra_coltype_is_float(g->of.type) && isnan(tra_value_real(&g->of, v, row))) return false;
        return nan || tra_value_compare(&g->of, v, i, row, false) < 0;
    case TRA_AGGREGATE_LAST: return true;
    case TRA_AGGREGATE_ANY: return tra_value_whole(&g->of, v, i) != 0;
    case TRA_AGGREGATE_ALL: return tra_value_whole(&g->of, v, i) == 0;
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_COUNT:
    case TRA_AGGREGATE_SUM:
    case TRA_AGGREGATE_MEAN:
    case TRA_AGGREGATE_VAR:
    case TRA_AGGREGATE_STD:
    case TRA_AGGREGATE_DISTINCT:
    case TRA_AGGREGATE_MEDIAN:
    case TRA_AGGREGATE_QUANTILE: break;
    }
    return false;
}

/* The mean and the squares of both parts together. */
static void combine(total *t, int64_t n, double mean, double square) {
    if (n == 0) return;
    double all = (double)(t->n + n), difference = mean - t->mean;
    t->square += square + difference * difference * ((double)t->n * (double)n / all);
    t->mean += difference * ((double)n / all);
    t->n += n;
}

static bool has_place(tra_aggregate f) {
    return f == TRA_AGGREGATE_MIN || f == TRA_AGGREGATE_MAX || f == TRA_AGGREGATE_FIRST || f == TRA_AGGREGATE_LAST ||
           f == TRA_AGGREGATE_ANY || f == TRA_AGGREGATE_ALL;
}

static void add_row(const aggregate *g, const tra_batch *in, int64_t i, total *t) {
    const tra_vector *v = g->c.column >= 0 ? &in->v[g->c.column] : NULL;
    if (v && !present(v, i)) return;
    if (!v || g->c.f == TRA_AGGREGATE_COUNT) {
        t->n++;
    } else if (has_place(g->c.f)) {
        if (t->row < 0 || replaces(g, v, t->row, i)) t->row = i;
    } else if (g->c.f == TRA_AGGREGATE_VAR || g->c.f == TRA_AGGREGATE_STD) {
        combine(t, 1, tra_value_real(&g->of, v, i), 0);
    } else {
        t->n++;
        if (g->whole)
            t->sum += tra_value_whole(&g->of, v, i);
        else
            t->real += tra_value_real(&g->of, v, i);
    }
}

static void add_state(const aggregate *g, const tra_batch *in, int64_t i, total *t) {
    const tra_vector *v = &in->v[g->state];
    if (has_place(g->c.f)) {
        if (present(v, i) && (t->row < 0 || replaces(g, v, t->row, i))) t->row = i;
        return;
    }
    int64_t n = ((const int64_t *)v[0].values)[i];
    if (g->c.f == TRA_AGGREGATE_VAR || g->c.f == TRA_AGGREGATE_STD) {
        combine(t, n, ((const double *)v[1].values)[i], ((const double *)v[2].values)[i]);
        return;
    }
    t->n += n;
    if (g->nstates == 3)
        t->sum += (__int128)(((unsigned __int128)(uint64_t)((const int64_t *)v[2].values)[i] << 64) |
                             (uint64_t)((const int64_t *)v[1].values)[i]);
    else if (g->nstates == 2)
        t->real += ((const double *)v[1].values)[i];
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void put_null(tra_vector *v, const tra_column *c, int64_t to) {
    size_t size = tra_coltype_size(c->type);
    memset((char *)v->values + (size_t)to * size, 0, size);
    v->state[to] = TRA_STATE_NULL;
}

static void put_copy(tra_vector *v, const tra_column *c, int64_t to, const tra_vector *from, int64_t row) {
    size_t size = tra_coltype_size(c->type);
    if (row < 0) {
        put_null(v, c, to);
        return;
    }
    memcpy((char *)v->values + (size_t)to * size, (const char *)from->values + (size_t)row * size, size);
    if (v->state) v->state[to] = from->state ? from->state[row] : TRA_STATE_VALUE;
}

static void put_state(const tra_group *g, const aggregate *x, const tra_batch *in, const total *t, tra_batch *out,
                      int64_t to) {
    tra_vector *v = &out->v[x->state];
    if (has_place(x->c.f)) {
        put_copy(v, &g->states->v[x->state], to, &in->v[x->c.column], t->row);
        return;
    }
    ((int64_t *)v[0].values)[to] = t->n;
    if (x->c.f == TRA_AGGREGATE_VAR || x->c.f == TRA_AGGREGATE_STD) {
        ((double *)v[1].values)[to] = t->mean;
        ((double *)v[2].values)[to] = t->square;
    } else if (x->nstates == 3) {
        ((int64_t *)v[1].values)[to] = (int64_t)(uint64_t)t->sum;
        ((int64_t *)v[2].values)[to] = (int64_t)(t->sum >> 64);
    } else if (x->nstates == 2) {
        ((double *)v[1].values)[to] = t->real;
    }
}

static void put_real(tra_vector *v, const tra_column *c, int64_t to, bool any, double x) {
    if (!any) {
        put_null(v, c, to);
        return;
    }
    ((double *)v->values)[to] = x;
    v->state[to] = TRA_STATE_VALUE;
}

/* The rows of a group, of which `rows` are in the order of the table. */
typedef struct members {
    int64_t *row, n, *spare;
} members;

/* Values of the group in their order, NULLs left out; how many there are. */
static int64_t sort_values(const aggregate *x, const tra_batch *in, const members *m) {
    int64_t n = 0;
    int64_t *at = m->spare;
    for (int64_t i = 0; i < m->n; i++)
        if (present(&in->v[x->c.column], m->row[i])) at[n++] = m->row[i];
    tra_order_rows(in, 1, &x->c.column, NULL, at, n, m->spare + m->n);
    return n;
}

static void put_quantile(const aggregate *x, const tra_batch *in, const members *m, double q, tra_vector *v,
                         const tra_column *c, int64_t to) {
    int64_t n = sort_values(x, in, m);
    double place = q * (double)(n - 1), below = floor(place), r = 0;
    if (n > 0) {
        const tra_vector *from = &in->v[x->c.column];
        double low = tra_value_real(&x->of, from, m->spare[(int64_t)below]);
        double high = tra_value_real(&x->of, from, m->spare[tra_min64((int64_t)below + 1, n - 1)]);
        double last = tra_value_real(&x->of, from, m->spare[n - 1]);
        r = isnan(last) ? last : place == below ? low : low + (high - low) * (place - below);
    }
    put_real(v, c, to, n > 0, r);
}

static int64_t count_distinct(const aggregate *x, const tra_batch *in, const members *m) {
    int64_t n = sort_values(x, in, m), distinct = n > 0;
    for (int64_t i = 1; i < n; i++) distinct += !tra_rows_equal(in, 1, &x->c.column, m->spare[i - 1], m->spare[i]);
    return distinct;
}

static void put_sum(const tra_group *g, const aggregate *x, const total *t, tra_vector *v, const tra_column *c,
                    int64_t to) {
    if (!x->whole || t->n == 0) {
        put_real(v, c, to, t->n > 0, t->real);
        return;
    }
    if (t->sum > INT64_MAX || t->sum < INT64_MIN)
        tra_kernel_fail("sum: the total `%s` of group %" PRId64
                        ", by key, does not fit i64; convert the values: x * 1.0",
                        g->result->v[g->nkeys + (x - g->v)].name, to);
    ((int64_t *)v->values)[to] = (int64_t)t->sum;
    v->state[to] = TRA_STATE_VALUE;
}

static void put_result(const tra_group *g, int i, const tra_batch *in, const total *t, const members *m, tra_batch *out,
                       int64_t to) {
    const aggregate *x = &g->v[i];
    const tra_column *c = &g->result->v[g->nkeys + i];
    tra_vector *v = &out->v[g->nkeys + i];
    double n = (double)t->n;
    switch (x->c.f) {
    case TRA_AGGREGATE_COUNT: ((int64_t *)v->values)[to] = t->n; return;
    case TRA_AGGREGATE_SUM: put_sum(g, x, t, v, c, to); return;
    case TRA_AGGREGATE_MEAN:
        put_real(v, c, to, t->n > 0, x->whole ? (double)((long double)t->sum / (long double)t->n) : t->real / n);
        return;
    case TRA_AGGREGATE_VAR: put_real(v, c, to, t->n > 1, t->square / (n - 1)); return;
    case TRA_AGGREGATE_STD: put_real(v, c, to, t->n > 1, sqrt(t->square / (n - 1))); return;
    case TRA_AGGREGATE_MIN:
    case TRA_AGGREGATE_MAX:
    case TRA_AGGREGATE_FIRST:
    case TRA_AGGREGATE_LAST:
    case TRA_AGGREGATE_ANY:
    case TRA_AGGREGATE_ALL:
        put_copy(v, c, to, &in->v[g->pass == TRA_GROUP_FINAL ? x->state : x->c.column], t->row);
        return;
    case TRA_AGGREGATE_DISTINCT: ((int64_t *)v->values)[to] = count_distinct(x, in, m); return;
    case TRA_AGGREGATE_MEDIAN: put_quantile(x, in, m, 0.5, v, c, to); return;
    case TRA_AGGREGATE_QUANTILE: put_quantile(x, in, m, x->c.q, v, c, to); return;
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static int64_t head_bytes(const tra_group *g) {
    int64_t vectors = (operand(g)->n + tra_group_out(g)->n) * (int64_t)sizeof(tra_vector);
    return (vectors + (g->n + 1) * (int64_t)sizeof(total) + 127) / 64 * 64;
}

static int64_t group_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_b;
    return tra_add_most(head_bytes(data), tra_mul_most(ext_a->v[0], 4 * (int64_t)sizeof(int64_t)));
}

static int64_t groups_most(const tra_group *g, int64_t rows) { return g->nkeys ? rows : 1; }

static int64_t group_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(tra_group_out(data), groups_most(data, a->array.ext.v[0]));
}

static void make_group(const tra_group *g, const tra_batch *in, const members *m, total *t, tra_batch *out,
                       int64_t to) {
    for (int k = 0; k < g->nkeys; k++) put_copy(&out->v[k], &tra_group_out(g)->v[k], to, &in->v[k], m->row[0]);
    for (int i = 0; i < g->n; i++) {
        t[i] = (total){.row = -1};
        for (int64_t j = 0; j < m->n; j++) {
            if (g->pass == TRA_GROUP_FINAL)
                add_state(&g->v[i], in, m->row[j], &t[i]);
            else
                add_row(&g->v[i], in, m->row[j], &t[i]);
        }
        if (g->pass == TRA_GROUP_PARTIAL)
            put_state(g, &g->v[i], in, &t[i], out, to);
        else
            put_result(g, i, in, &t[i], m, out, to);
    }
}

static void refuse_errors(const tra_group *g, const tra_batch *in) {
    for (int c = 0; g->pass != TRA_GROUP_FINAL && c < in->schema->n; c++) {
        int64_t row = tra_find_error(in, c);
        if (row >= 0)
            tra_kernel_fail("row %" PRId64 ": `%s`, by which rows are grouped or which is aggregated, could not be "
                            "computed: an integer does not fit its type",
                            row, in->schema->v[c].name);
    }
}

static void group_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b;
    const tra_group *g = data;
    const tra_schema *from = operand(g);
    tra_batch in = {.v = scratch}, made = {.v = (tra_vector *)scratch + from->n};
    total *t = (total *)(((uintptr_t)(made.v + tra_group_out(g)->n) + 15) / 16 * 16);
    tra_err e = {0};
    if (tra_columns_of(a, from, &in, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return;
    }
    in.schema = from;
    int64_t *at = (int64_t *)((char *)scratch + head_bytes(g)), n = in.rows, groups = 0;
    refuse_errors(g, &in);
    for (int64_t i = 0; i < n; i++) at[i] = i;
    tra_order_rows(&in, g->nkeys, g->key, NULL, at, n, at + n);
    tra_columns_begin(out, tra_group_out(g), groups_most(g, n), &made);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && tra_rows_equal(&in, g->nkeys, g->key, at[i], at[end]);) end++;
        members m = {at + i, end - i, at + n};
        make_group(g, &in, &m, t, &made, groups++);
    }
    if (n == 0 && g->nkeys == 0 && g->pass != TRA_GROUP_PARTIAL) { /* the one row that there is */
        members none = {at, 0, at};
        make_group(g, &in, &none, t, &made, groups++);
    }
    tra_columns_end(out, tra_group_out(g), groups);
}

const tra_rows_ops tra_group_ops = {.scratch = group_scratch, .bytes = group_bytes, .run = group_run};
