/* weighed_rows.c - rules for X W and for sums of rows: the columns of X that are of one joined table
 * alone are weighed and added up there, once for each of its rows; the join brings these sums to the rows in place of
 * the columns.
 *
 * With X = [S, K R], K the matrix that says which row of R each row is joined with, X W = S W1 + K (R W2). Keys may be
 * there more than once, or not at all: the joins are the same, of fewer columns.
 *
 * Source: Morpheus (Chen et al., VLDB 2017).
 */
#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/weighted.h"
#include "matrix_sums.h"

typedef struct weighing {
    factoring *f;
    const tra_node *weights; /* W, under no key; NULL: all weights are 1 */
    int width;               /* of the result */
    double flops;            /* for each element that is weighed */
    int *table;              /* for each feature the join whose right table it is computed from; -1: none */
    bool *used;
    tra_expr *right[TRA_PIPE_JOINS];
    int *of[TRA_PIPE_JOINS];
} weighing;

/* ---- which columns ----------------------------------------------------------------------------------------------- */

/* The join whose right table is the only table that the expression reads; -1: there is no such join. */
static int table_of(const factoring *f, const tra_colexpr *x) {
    bool *used = tra_news(f->a, bool, f->pipe->all->n + 1);
    int found = -1;
    tra_colexpr_columns(x, used);
    for (int i = 0; i < f->pipe->all->n; i++) {
        int at = -1;
        for (int j = 0; j < f->pipe->njoins; j++)
            if (i >= f->pipe->join[j].first) at = j;
        if (!used[i]) continue;
        if (at < 0 || (found >= 0 && found != at)) return -1;
        found = at;
    }
    return found;
}

/* False after a refusal: there are none that are to be weighed before they are joined. */
static bool find_tables(weighing *u) {
    factoring *f = u->f;
    bool some = false, left = false;
    u->table = tra_news(f->a, int, f->own->n[0] + 1);
    for (int i = 0; i < f->own->n[0]; i++) {
        int j = u->table[i] = table_of(f, f->own->f[0][i].x);
        if (j >= 0 && f->pipe->join[j].s->how != TRA_LOOKUP_INNER) {
            left = true;
            u->table[i] = -1;
        }
        some = some || u->table[i] >= 0;
        if (u->table[i] < 0) tra_colexpr_columns(f->own->f[0][i].x, u->used);
    }
    if (some) return true;
    if (left)
        REFUSE(f, "rows may be unmatched: what they count for is of no row of the joined table");
    else
        REFUSE(f, "no column of the matrix is of one joined table alone");
    return false;
}

/* ---- sums of right tables ---------------------------------------------------------------------------------------- */

static const tra_colexpr *added(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y) {
    const tra_colexpr *both[2] = {x, y}, *sum;
    for (int i = 0; x && i < 2; i++)
        if (tra_colexpr_convert(a, both[i], TRA_COL_F64, NULL, &both[i], NULL) != TRA_OK) return NULL;
    return !x ? y : tra_colexpr_call(a, TRA_C_ADD, 2, both, &sum, NULL) == TRA_OK ? sum : NULL;
}

/* An expression over all columns that reads the right table of join j alone: returns it over the columns of that table,
 * in f64. */
static const tra_colexpr *of_right(const weighing *u, int j, const tra_colexpr *x) {
    const tra_pipe_join *join = &u->f->pipe->join[j];
    const tra_colexpr **by = tra_news(u->f->a, const tra_colexpr *, u->f->pipe->all->n + 1);
    for (int i = 0; i < join->s->right->n; i++) by[join->first + i] = tra_colexpr_column(u->f->a, join->s->right, i);
    x = tra_colexpr_substitute(u->f->a, x, by);
    return tra_colexpr_convert(u->f->a, x, TRA_COL_F64, NULL, &x, NULL) == TRA_OK ? x : NULL;
}

/* Keeps the first nkept columns of rows and weighs the others: at[i] is the number of the weight of the i-th of these.
 * out: see tra_weighted. */
static tra_expr *weigh(weighing *u, const tra_expr *rows, const tra_rowwise *r, int nkept, int n, const int *at,
                       const tra_schema *out) {
    factoring *f = u->f;
    tra_weighted *t = tra_new(f->a, tra_weighted);
    *t = (tra_weighted){.r = r, .nkept = nkept, .n = n, .at = at, .width = u->width, .out = out};
    tra_rows_kernel k = tra_rows_op(&tra_weighted_ops, t, out);
    k.use = TRA_USE_JOIN, k.width = out ? 0 : u->width;
    k.flops = TRA_COLUMN_FLOPS * nkept + u->flops * n * u->width;
    return tra_factor_beside(f, rows, u->weights, true, &k);
}

/* The right table of join j with its sums in place of the columns that are weighed. */
static bool sum_right(weighing *u, int j) {
    factoring *f = u->f;
    const char *names[TRA_FACTOR_COLUMNS];
    const tra_colexpr *x[TRA_FACTOR_COLUMNS], *sum = NULL;
    int n = 0, kept = 0, *at = tra_news(f->a, int, TRA_FACTOR_COLUMNS), *of;
    for (int i = 0; i < f->own->n[0]; i++) {
        if (u->table[i] != j) continue;
        names[n] = tra_arena_printf(f->a, "sum %d", n);
        if (!(x[n] = of_right(u, j, f->own->f[0][i].x)) || !(sum = added(f->a, sum, x[n]))) return false;
        at[n++] = i;
    }
    if (n == 0) return true;
    const tra_expr *table = tra_memo_expr(f->pipe->join[j].x->node.in[1]);
    const tra_rowwise *r = tra_factor_right(f, j, u->used, u->weights ? n : 1, names, u->weights ? x : &sum, &of);
    if (!u->weights) {
        u->of[j] = of;
        return (u->right[j] = tra_factor_project(f, table, r)) != NULL;
    }
    kept = tra_rowwise_out(r)->n - n;
    const tra_schema *out;
    tra_column *v = tra_schema_beside(f->a, NULL, kept + u->width, &out);
    u->of[j] = tra_news(f->a, int, kept + u->width);
    for (int i = 0; i < kept + u->width; i++) {
        v[i] = i < kept ? tra_rowwise_out(r)->v[i]
                        : (tra_column){.name = tra_arena_printf(f->a, "sum %d", i - kept), .type = TRA_COL_F64};
        u->of[j][i] = i < kept ? of[i] : -1;
    }
    return (u->right[j] = weigh(u, table, r, kept, n, at, out)) != NULL;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* The sums of the joined tables, and what is weighed row by row. */
static tra_expr *sum_rows(weighing *u, const joining *g) {
    factoring *f = u->f;
    int n = 0, *at = tra_news(f->a, int, f->own->n[0] + 1);
    const char **names = tra_news(f->a, const char *, g->nadded + f->own->n[0] + 1);
    const tra_colexpr **x = tra_news(f->a, const tra_colexpr *, g->nadded + f->own->n[0] + 1), *sum = NULL;
    for (int i = 0; i < g->nadded; i++) names[i] = tra_arena_printf(f->a, "sum %d", i), x[i] = g->added[i];
    for (int i = 0; i < f->own->n[0]; i++) {
        if (u->table[i] >= 0) continue;
        const tra_colexpr *own = g->by ? tra_colexpr_substitute(f->a, f->own->f[0][i].x, g->by) : f->own->f[0][i].x;
        names[g->nadded + n] = tra_arena_printf(f->a, "column %d", i);
        if (tra_colexpr_convert(f->a, own, TRA_COL_F64, NULL, &x[g->nadded + n], NULL) != TRA_OK) return NULL;
        at[n++] = i;
    }
    tra_rowwise *r = tra_rowwise_new(f->a, g->x->node.type.columns);
    if (u->weights) {
        tra_rowwise_project(r, g->nadded + n, names, x);
        return weigh(u, g->x, r, g->nadded, n, at, NULL);
    }
    for (int i = 0; i < g->nadded + n; i++)
        if (!(sum = added(f->a, sum, x[i]))) return NULL;
    if (tra_rowwise_matrix(r, 1, names, &sum, TRA_F64, NULL, NULL) != TRA_OK) return NULL;
    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, r, NULL);
    k.width = 1, k.flops = g->nadded + 2 * n;
    return tra_make_below(f->w, f->x, tra_proto_transform(tra_pass_kernel(f->w, &k, r), &g->x->node));
}

/* The weights without keys. */
static bool set_weights(weighing *u, const tra_node *in) {
    tra_expr *x = tra_make_below(u->f->w, u->f->x, tra_factor_rekeyed(u->f, tra_memo_expr(in), 0, 0));
    u->width = in->type.cat->bound.n == 2 ? (int)in->type.cat->bound.v[1] : 1;
    u->weights = x ? &x->node : NULL;
    return x != NULL;
}

void tra_weigh_rows(factoring *f, const opened *o) {
    tra_pipe *pipe = f->pipe;
    bool joined = pipe->njoined > 0;
    weighing u = {.f = f, .width = 1, .flops = joined ? 2 : TRA_COLUMN_FLOPS};
    joining g = {.x = tra_memo_expr(pipe->source)};
    u.used = tra_news(f->a, bool, pipe->all->n + 1);
    f->own = &f->product[f->nproducts++];
    f->quiet = !joined;
    tra_factor_mark_selects(f, u.used);
    if (!tra_factor_read(f, f->own, 0, o->matrix[0], pipe)) {
        if (!joined) tra_refuse(f->w, f->x, TRA_FACTOR_UNREAD);
        return;
    }
    if ((!find_tables(&u) && joined) || !tra_factor_join_keys(f)) return;
    if (o->weights && !set_weights(&u, o->weights)) return;
    for (int j = 0; j < pipe->njoins; j++)
        if (!sum_right(&u, j)) return;
    if (joined && (!tra_factor_rows(f, &g, u.used, u.right, u.of) || !tra_factor_select(f, &g))) return;
    tra_expr *made = sum_rows(&u, &g);
    if (made) tra_factor_claim(f, made, 1);
}
