/* group_run.c - rows that become groups: straight to the totals of groups that are found by their keys
 * (group_direct.c), all rows as one group, or by sorted rows. */
#include "../base/simd.h"
#include "group_direct.h"
#include "order.h"
#include "table_int.h"

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

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

VECTORS static void sum_all(const tra_group_aggregate *x, const tra_vector *v, int64_t n, tra_group_total *t) {
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

VECTORS static int64_t count_values(const uint8_t *state, int64_t n) {
    int64_t values = 0;
    for (int64_t i = 0; i < n; i++) values += state[i] == TRA_STATE_VALUE;
    return values;
}

static void total_all(const tra_group *g, const tra_group_aggregate *x, const tra_batch *in, tra_group_total *t) {
    const tra_vector *v = x->c.column >= 0 ? &in->v[x->c.column] : NULL;
    bool states = tra_group_takes_states(g), sums = tra_group_has_way(x, TRA_WAY_SUM);
    *t = tra_group_none(x);
    if (!states && (sums || tra_group_has_way(x, TRA_WAY_COUNT))) {
        t->n = v && v->state ? count_values(v->state, in->rows) : in->rows;
        if (sums) sum_all(x, v, in->rows, t);
    } else if (!states && v && extreme_all(x, v, in->rows, t)) {
        return;
    } else {
        for (int64_t i = 0; i < in->rows; i++)
            states ? tra_group_add_state(x, in, i, t) : tra_group_add_row(x, in, i, t);
    }
}

/* Does no aggregate take the members of its group? */
static bool all_have_states(const tra_group *g) {
    for (int i = 0; i < g->n; i++)
        if (!tra_aggregate_has_states(g->v[i].c.f)) return false;
    return true;
}

static void run_all(const tra_group *g, const tra_batch *in, tra_batch *out) {
    for (int i = 0; i < g->n; i++) {
        tra_group_total t;
        total_all(g, &g->v[i], in, &t);
        tra_group_put(g, i, in, &t, NULL, out, 0);
    }
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

/* Bytes that so many rows need besides their vectors. */
static int64_t rows_scratch(const tra_group *g, int64_t rows) {
    int64_t halves = tra_mul_most(rows, all_have_states(g) ? TRA_DIRECT_HALVES : HALVES);
    int64_t words = tra_add_most(tra_ceil_div(halves, 2), MORE);
    return tra_mul_most(words, sizeof(int64_t));
}

TRA_ROWS_FORM(group_form, tra_group, .in = {operand(x)}, .out = tra_group_out(x))

TRA_ROWS_REST(group_rest, tra_group, rows_scratch(x, a->v[0]))

/* Lays out the result for so many groups; false: there is no memory, or there are more than there may be. */
static bool begin(const tra_group *g, tra_rows_io *io, int64_t groups) {
    if (g->nkeys == 0 || groups <= g->most) return tra_rows_result(io, groups);
    tra_kernel_fail("%" PRId64 " groups, where there are at most %" PRId64
                    " by the statistics of the file: these are wrong, import the table again",
                    groups, g->most);
    return false;
}

/* The keys of each group, from its first row. */
static void put_keys(const tra_group *g, const tra_batch *in, const int64_t *first, int64_t groups, tra_batch *out) {
    for (int k = 0; k < g->nkeys; k++) tra_gather_rows(&out->v[k], 0, &in->v[k], in->schema->v[k].type, first, groups);
}

/* Makes the groups of these rows. a: their cell. */
static void make_groups(const tra_group *g, const tra_cell *a, const tra_batch *in, int64_t *words, tra_rows_io *io) {
    if (!tra_group_takes_states(g)) {
        tra_refuse_errors(a, in, in->schema->n, NULL, "by which rows are grouped or which is aggregated");
        tra_table_note_keys(in, g->nkeys, g->key, 0, NULL, NULL);
    }
    if (g->nkeys == 0 && in->rows > 0 && all_have_states(g)) {
        if (begin(g, io, 1)) run_all(g, in, &io->made);
        return;
    }
    tra_group_direct d;
    if (tra_group_find_direct(g, in, words, &d)) {
        if (!begin(g, io, d.groups)) return;
        put_keys(g, in, d.first, d.groups, &io->made);
        tra_group_run_direct(&d, &io->made);
        return;
    }
    sorted s = {.g = g, .in = in, .at = words, .n = in->rows, .spare = words + in->rows};
    for (int64_t i = 0; i < s.n; i++) s.at[i] = i;
    find_sorted(&s);
    if (s.n == 0 && g->nkeys == 0 && !tra_group_makes_states(g)) s.groups = 1, s.begin[1] = 0; /* the one row */
    if (!begin(g, io, s.groups)) return;
    for (int64_t i = 0; i < s.groups && g->nkeys > 0; i++) s.spare[i] = s.at[s.begin[i]];
    put_keys(g, in, s.spare, s.groups, &io->made);
    run_sorted(&s, &io->made);
}

static void group_run(const void *data, tra_rows_io *io) { make_groups(data, io->a, &io->in[0], io->rest, io); }

const tra_rows_ops tra_group_ops = {.form = group_form, .rest = group_rest, .run = group_run};

/* ---- of a pass --------------------------------------------------------------------------------------------------- */

static int64_t values_bytes(const tra_column *c, int64_t rows) {
    return tra_round64(tra_mul_most(rows, (int64_t)tra_coltype_size(c->type)));
}
static int64_t states_bytes(const tra_column *c, int64_t rows) {
    return tra_column_has_states(c) ? tra_round64(rows) : 0;
}

/* Columns that are those of the operand as they are need no room. */
static int64_t pass_room(const tra_group_of_pass *p, int64_t rows) {
    int64_t bytes = 0;
    for (int i = 0; !p->column && i < p->g->in->n; i++) {
        const tra_column *c = &p->g->in->v[i];
        bytes = tra_add_most(bytes, tra_add_most(values_bytes(c, rows), states_bytes(c, rows)));
    }
    return bytes;
}

TRA_ROWS_FORM(pass_form, tra_group_of_pass, .in = {tra_rowwise_in(x->r)}, .out = tra_group_out(x->g))

static int64_t pass_rest(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_group_of_pass *p = data;
    (void)ext_b;
    int64_t rows = ext_a->v[0], bytes = tra_max64(tra_rowwise_scratch(p->r), rows_scratch(p->g, rows));
    return tra_add_most(tra_vectors_bytes(p->g->in->n), tra_add_most(pass_room(p, rows), bytes));
}

/* Makes the rows of the pass at `room`; false after a failure. */
static bool make_rows(const tra_group_of_pass *p, int64_t first, const tra_batch *in, char *room, void *scratch,
                      tra_batch *to) {
    tra_err e = {0};
    tra_table_notes notes = {0};
    to->rows = in->rows;
    for (int i = 0; i < p->g->in->n; i++) {
        if (p->column) {
            to->v[i] = in->v[p->column[i]];
            continue;
        }
        const tra_column *c = &p->g->in->v[i];
        to->v[i].values = room;
        room += values_bytes(c, in->rows);
        to->v[i].state = tra_column_has_states(c) ? (uint8_t *)room : NULL;
        room += states_bytes(c, in->rows);
    }
    bool ok = p->column || tra_rowwise_run(p->r, in, first, to, scratch, &notes, &e) == TRA_OK;
    if (!ok) tra_kernel_fail("%s", e.msg);
    tra_table_notes_add(&notes);
    return ok;
}

static void pass_run(const void *data, tra_rows_io *io) {
    const tra_group_of_pass *p = data;
    const tra_cell *a = io->a;
    tra_batch rows = {.schema = p->g->in, .v = io->rest};
    char *room = (char *)io->rest + tra_vectors_bytes(p->g->in->n), *rest = room + pass_room(p, a->array.ext.v[0]);
    tra_cell of = *a;
    if (tra_rowwise_selects(p->r)) of.first = -1;
    if (make_rows(p, tra_max64(0, a->first), &io->in[0], room, rest, &rows))
        make_groups(p->g, &of, &rows, (int64_t *)rest, io);
}

const tra_rows_ops tra_group_of_pass_ops = {.form = pass_form, .rest = pass_rest, .run = pass_run};

/* Of each column of the pass the one of its operand that it is; NULL: some are others. */
static const int *columns_as_they_are(tra_arena *a, const tra_rowwise *r) {
    const tra_rowwise_step *v;
    int n = tra_rowwise_steps(r, &v), *at = tra_news(a, int, tra_rowwise_out(r)->n + 1);
    for (int c = 0; c < tra_rowwise_out(r)->n; c++) {
        at[c] = c;
        for (int k = n - 1; k >= 0; k--) {
            if (v[k].selects || v[k].x[at[c]]->op != TRA_C_COLUMN) return NULL;
            at[c] = v[k].x[at[c]]->column;
        }
    }
    return at;
}

const tra_group_of_pass *tra_group_of_pass_new(tra_arena *a, const tra_rowwise *r, const tra_group *g) {
    tra_group_of_pass *p = tra_new(a, tra_group_of_pass);
    *p = (tra_group_of_pass){r, g, columns_as_they_are(a, r)};
    return p;
}
