/* products.c - what products.h promises. */
#include "products.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "table_int.h"

typedef struct total {
    int64_t n; /* pairs that count */
    double real;
    __int128 sum;
} total;

/* Groups of the rows of one table: rows at[begin[g]] .. at[begin[g + 1]] of group g, by its columns. */
typedef struct grouping {
    int64_t n, *at, *begin;
} grouping;

typedef struct product {
    const tra_joined_sums *s;
    tra_batch left, right, out;
    grouping rows, columns; /* of the result: the left and the right table's */
    int64_t *of;            /* the column of each right row */
    const int32_t *list;    /* partners of left row i: list[from[i]] .. list[to[i]] */
    int32_t *from, *to;
    int64_t *met, nmet;   /* columns of the row of the result under way, */
    uint8_t *seen;        /* the same as marks, */
    total *t;             /* and their totals: s->n for each column */
    int64_t *place;       /* right_first: where the next row of each column goes */
    int64_t *lrow, *rrow; /* rows that have the group columns of what is put */
    int64_t made;
} product;

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

static tra_rows_form form(const void *data) {
    const tra_joined_sums *s = data;
    const tra_lookup_spec *l = tra_lookup_spec_of(s->l);
    return (tra_rows_form){.in = {l->left, l->right}, .out = s->out};
}

static int64_t words(int64_t n) { return tra_round64(tra_mul_most(n, sizeof(int64_t))); }

static int64_t grouping_bytes(int64_t rows) { return tra_mul_most(2 + TRA_ORDER_SPARE, words(rows + 1)); }

static int64_t rest(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_joined_sums *s = data;
    int64_t left = ext_a->v[0], right = ext_b->v[0];
    int64_t of_left = tra_add_most(grouping_bytes(left), 2 * words(left));
    int64_t of_right = tra_add_most(grouping_bytes(right), 6 * words(right));
    int64_t totals = tra_mul_most(right, s->n * (int64_t)sizeof(total));
    int64_t all =
        tra_add_most(tra_add_most(of_left, of_right), tra_add_most(totals, tra_lookup_scratch(s->l, left, right)));
    return tra_add_most(all, 64);
}

static int64_t keep(const void *data, const tra_dims *ext_b) {
    return tra_lookup_keep(((const tra_joined_sums *)data)->l, ext_b->v[0]);
}

static void *take(char **p, int64_t bytes) {
    void *at = *p;
    *p += tra_round64(bytes);
    return at;
}

/* ---- groups of both tables --------------------------------------------------------------------------------------- */

static grouping group_rows(const tra_batch *b, int n, const int *column, char **p) {
    grouping g = {.at = take(p, words(b->rows)), .begin = take(p, words(b->rows + 1))};
    int64_t *spare = take(p, TRA_ORDER_SPARE * words(b->rows));
    for (int64_t i = 0; i < b->rows; i++) g.at[i] = i;
    if (n > 0) tra_order_rows(b, n, column, NULL, g.at, b->rows, spare);
    if (b->rows > 0) g.n = tra_order_runs(b, n, column, g.at, b->rows, g.begin);
    return g;
}

/* Finds groups and partners; false after a failure. */
static bool prepare(product *x, const tra_rows_io *io) {
    const tra_joined_sums *s = x->s;
    char *p = io->rest;
    tra_err e = {0};
    x->left = io->in[0];
    x->right = io->in[1];
    x->rows = group_rows(&x->left, s->nleft, s->left, &p);
    x->columns = group_rows(&x->right, s->nright, s->right, &p);
    int64_t right = x->right.rows;
    x->of = take(&p, words(right));
    for (int64_t g = 0; g < x->columns.n; g++)
        for (int64_t i = x->columns.begin[g]; i < x->columns.begin[g + 1]; i++) x->of[x->columns.at[i]] = g;
    x->from = take(&p, words(x->left.rows));
    x->to = take(&p, words(x->left.rows));
    x->met = take(&p, words(right));
    x->place = take(&p, words(right));
    x->lrow = take(&p, words(right));
    x->rrow = take(&p, words(right));
    x->seen = take(&p, words(right));
    x->t = take(&p, right * s->n * (int64_t)sizeof(total));
    memset(x->seen, 0, (size_t)right);
    if (tra_lookup_partners(s->l, &x->left, &x->right, tra_max64(0, io->a->first), &x->list, x->from, x->to,
                            io->b->kept, p, &e) == TRA_OK)
        return true;
    tra_kernel_fail("%s", e.msg);
    return false;
}

/* Rows of the result, at most: of each group of left rows as many as there are pairs, or columns. */
static int64_t most_rows(const product *x) {
    int64_t most = 0;
    for (int64_t g = 0; g < x->rows.n; g++) {
        int64_t pairs = 0;
        for (int64_t i = x->rows.begin[g]; i < x->rows.begin[g + 1]; i++)
            pairs += x->to[x->rows.at[i]] - x->from[x->rows.at[i]];
        most += tra_min64(pairs, x->columns.n);
    }
    return most;
}

/* ---- one row of the result --------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The columns that row g of the result has, in their order; all other marks are gone. */
static void find_columns(product *x, int64_t g) {
    x->nmet = 0;
    for (int64_t i = x->rows.begin[g]; i < x->rows.begin[g + 1] && x->nmet < x->columns.n; i++) {
        int64_t l = x->rows.at[i];
        for (int32_t p = x->from[l]; p < x->to[l]; p++) {
            int64_t c = x->of[x->list[p]];
            if (x->seen[c]) continue;
            x->seen[c] = 1;
            x->met[x->nmet++] = c;
        }
    }
    if (x->nmet > x->columns.n / 16) {
        x->nmet = 0;
        for (int64_t c = 0; c < x->columns.n; c++)
            if (x->seen[c]) x->met[x->nmet++] = c;
    } else {
        qsort(x->met, (size_t)x->nmet, sizeof *x->met, by_number);
    }
    for (int64_t i = 0; i < x->nmet; i++) x->seen[x->met[i]] = 0;
}

static bool is_null(const tra_vector *v, int64_t i) { return v && v->state && v->state[i] != TRA_STATE_VALUE; }

/* The pairs of left row l, in sum k: a and b are its factors, NULL: none. */
static void add_real(product *x, int k, int64_t l, const tra_vector *a, const tra_vector *b) {
    double f = a ? ((const double *)a->values)[l] : 1;
    const double *v = b ? b->values : NULL;
    for (int32_t p = x->from[l]; p < x->to[l]; p++) {
        int64_t r = x->list[p];
        total *t = x->t + x->of[r] * x->s->n + k;
        if (is_null(b, r)) continue;
        t->n++;
        t->real += v ? f * v[r] : f;
    }
}

static void add_whole(product *x, int k, int64_t l, const tra_vector *a, const tra_vector *b) {
    int64_t f = a ? ((const int64_t *)a->values)[l] : 1;
    const int64_t *v = b ? b->values : NULL;
    for (int32_t p = x->from[l]; p < x->to[l]; p++) {
        int64_t r = x->list[p], both = f;
        total *t = x->t + x->of[r] * x->s->n + k;
        if (is_null(b, r)) continue;
        if (v && __builtin_mul_overflow(f, v[r], &both))
            tra_kernel_fail("a product of whole numbers that is summed does not fit i64: %" PRId64 " * %" PRId64
                            "; convert one of them: x * 1.0",
                            f, v[r]);
        t->n++;
        t->sum += both;
    }
}

/* Sum k of the pairs of left row l. */
static void add_pairs(product *x, int k, int64_t l) {
    const tra_joined_sum *s = &x->s->v[k];
    const tra_vector *a = s->left < 0 ? NULL : &x->left.v[s->left], *b = s->right < 0 ? NULL : &x->right.v[s->right];
    if (is_null(a, l)) return;
    (s->whole ? add_whole : add_real)(x, k, l, a, b);
}

static void add_row(product *x, int64_t g) {
    int n = x->s->n;
    for (int64_t i = 0; i < x->nmet; i++) memset(x->t + x->met[i] * n, 0, (size_t)n * sizeof *x->t);
    for (int k = 0; k < n; k++)
        for (int64_t i = x->rows.begin[g]; i < x->rows.begin[g + 1]; i++) add_pairs(x, k, x->rows.at[i]);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void put_states(product *x, int64_t column, int64_t to) {
    for (int k = 0; k < x->s->n; k++) {
        const tra_joined_sum *s = &x->s->v[k];
        const total *t = x->t + column * x->s->n + k;
        const tra_vector *v = &x->out.v[s->state];
        ((int64_t *)x->out.v[s->count].values)[to] = t->n;
        if (!s->summed) continue;
        if (s->whole) {
            tra_group_put_sum(v, to, t->sum, s->wide);
        } else {
            ((double *)v[0].values)[to] = t->real;
        }
    }
}

/* n rows of the result from row `to` on, whose group columns are those of lrow and rrow. */
static void put_groups(product *x, int64_t to, int64_t from, int64_t n) {
    const tra_joined_sums *s = x->s;
    for (int k = 0; k < s->nleft; k++) {
        int at = k + (s->right_first ? s->nright : 0);
        tra_gather_rows(&x->out.v[at], to, &x->left.v[s->left[k]], s->out->v[at].type, x->lrow + from, n);
    }
    for (int k = 0; k < s->nright; k++) {
        int at = k + (s->right_first ? 0 : s->nleft);
        tra_gather_rows(&x->out.v[at], to, &x->right.v[s->right[k]], s->out->v[at].type, x->rrow + from, n);
    }
}

static void put_row(product *x, int64_t g) {
    for (int64_t i = 0; i < x->nmet; i++) {
        int64_t c = x->met[i];
        x->lrow[i] = x->rows.at[x->rows.begin[g]];
        x->rrow[i] = x->columns.at[x->columns.begin[c]];
        int64_t to = x->s->right_first ? x->place[c]++ : x->made + i;
        put_states(x, c, to);
        if (x->s->right_first) put_groups(x, to, i, 1);
    }
    if (!x->s->right_first) put_groups(x, x->made, 0, x->nmet);
    x->made += x->nmet;
}

/* Where the rows of each column begin, by how many each has. */
static void find_places(product *x) {
    int64_t all = 0;
    memset(x->place, 0, (size_t)x->columns.n * sizeof *x->place);
    for (int64_t g = 0; g < x->rows.n; g++) {
        find_columns(x, g);
        for (int64_t i = 0; i < x->nmet; i++) x->place[x->met[i]]++;
    }
    for (int64_t c = 0; c < x->columns.n; c++) {
        int64_t n = x->place[c];
        x->place[c] = all;
        all += n;
    }
}

static void run(const void *data, tra_rows_io *io) {
    product x = {.s = data};
    if (!prepare(&x, io) || !tra_rows_result(io, most_rows(&x))) return;
    x.out = io->made;
    if (x.s->right_first) find_places(&x);
    for (int64_t g = 0; g < x.rows.n; g++) {
        find_columns(&x, g);
        add_row(&x, g);
        put_row(&x, g);
    }
    tra_rows_filled(io, x.made);
}

const tra_rows_ops tra_joined_sums_ops = {.form = form, .rest = rest, .keep = keep, .run = run};
