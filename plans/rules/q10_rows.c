/* q10_rows.c - rule Q-10 for X W and for sums of rows: the columns of X that are of one joined table alone are weighed
 * and added up there, once for each of its rows; the join brings these sums to the rows in place of the columns.
 *
 * With X = [S, K R], K the matrix that says which row of R each row is joined with, X W = S W1 + K (R W2). Keys may be
 * there more than once, or not at all: the joins are the same, of fewer columns.
 *
 * Source: Morpheus (Chen et al., VLDB 2017).
 */
#include <string.h>

#include "../../lib/table/weighted.h"
#include "factor.h"

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

/* ---- which products ---------------------------------------------------------------------------------------------- */

/* Is it sum X[n,a] * W[a,k], the result <n,k>; or sum X[n,a] * w[a], in any order? *side: of X. */
static bool is_weighing(const tra_expr *x, const tra_expr *y, int *side) {
    const tra_node *j = &y->node, *n = &x->node;
    tra_product p;
    if (n->op != TRA_OP_AGG || !tra_kernel_is_sum(n->kernel) || j->op != TRA_OP_JOIN || j->joinl.n != 1) return false;
    if (!tra_kernel_is_product(j->kernel, &j->in[0]->type.cat->bound, &j->in[1]->type.cat->bound, &p)) return false;
    *side = p.rank[0] == 2 && p.in[0][1] == p.in[1][0] ? 0 : 1;
    int o = *side, wide = p.rank[1 - o] - 1, first = p.in[o][0], shared = p.in[o][1];
    if (p.rank[o] != 2 || wide < 0 || wide > 1 - o || p.in[1 - o][0] != shared || p.nout != 1 + wide) return false;
    if (p.out[0] != first || first == shared || (wide && (p.out[1] != p.in[1][1] || p.out[1] == first))) return false;
    if ((o ? j->joinr : j->joinl).v[0] != 1 || (o ? j->joinl : j->joinr).v[0] != 0) return false;
    /* keys of the join: those of the left operand, then what the right one has besides */
    return n->group.n == p.nout && n->group.v[0] == o && (!wide || n->group.v[1] == 2);
}

static const char *weights_refused(const tra_type *t) {
    if (t->dtype != TRA_F64) return "the weights are not f64: their products are exact to other digits";
    if (t->sparse || t->bounded || t->columns) return "the weights are no dense array of known extents";
    if (t->cat->n != 1) return "the weights are in several blocks";
    return t->cat->bound.n == 2 && t->cat->bound.v[1] > TRA_FACTOR_COLUMNS ? "the weights have too many columns" : NULL;
}

/* ---- which columns ----------------------------------------------------------------------------------------------- */

/* The join whose right table is the only table that the expression reads; -1: there is no such join. */
static int table_of(const factoring *f, const tra_colexpr *x) {
    bool *used = tra_news(f->a, bool, f->pipe->all->n + 1);
    int found = -1;
    tra_factor_mark(x, used);
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
        if (u->table[i] < 0) tra_factor_mark(f->own->f[0][i].x, u->used);
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
    tra_str text = {0};
    *t = (tra_weighted){.r = r, .nkept = nkept, .n = n, .at = at, .width = u->width, .out = out};
    tra_str_printf(&text, "%d columns weighed", n);
    for (int i = 0; i < n; i++) tra_str_printf(&text, "%s%d", i ? ", " : " by ", at[i]);
    tra_str_printf(&text, ", %s%d: ", out ? "beside " : "added to ", nkept);
    tra_rowwise_print(r, &text);
    tra_rows_kernel k = {.text = tra_arena_strndup(f->a, tra_str_get(&text), text.n),
                         .use = TRA_USE_JOIN,
                         .columns = out,
                         .dtype = TRA_F64,
                         .width = out ? 0 : u->width,
                         .rows = TRA_ROWS_SAME,
                         .share = 1,
                         .flops = TRA_COLUMN_FLOPS * nkept + u->flops * n * u->width,
                         .ops = &tra_weighted_ops,
                         .data = t};
    tra_str_free(&text);
    return tra_factor_below(f, (tra_node){.op = TRA_OP_JOIN,
                                          .in = {(tra_node *)&rows->node, (tra_node *)u->weights},
                                          .kernel = tra_kernel_of_rows(f->a, &k),
                                          .span = f->x->node.span});
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
    tra_column *v = tra_news(f->a, tra_column, kept + u->width);
    tra_schema *out = tra_new(f->a, tra_schema);
    u->of[j] = tra_news(f->a, int, kept + u->width);
    for (int i = 0; i < kept + u->width; i++) {
        v[i] = i < kept ? tra_rowwise_out(r)->v[i]
                        : (tra_column){.name = tra_arena_printf(f->a, "sum %d", i - kept), .type = TRA_COL_F64};
        u->of[j][i] = i < kept ? of[i] : -1;
    }
    *out = (tra_schema){kept + u->width, v};
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
        const tra_colexpr *own = tra_colexpr_substitute(f->a, f->own->f[0][i].x, g->by);
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
    tra_rows_kernel k = {.use = TRA_USE_MAP,
                         .dtype = TRA_F64,
                         .width = 1,
                         .rows = TRA_ROWS_SAME,
                         .share = 1,
                         .flops = g->nadded + 2 * n};
    return tra_factor_below(f, tra_proto_transform(tra_pass_kernel(f->w, &k, r), &g->x->node));
}

/* The weights without keys. */
static bool set_weights(weighing *u, const tra_node *in) {
    tra_keyfn *to = tra_new(u->f->a, tra_keyfn);
    *to = (tra_keyfn){.arity = in->type.cat->frontier.n, .n = 0, .names = {"i", "j"}};
    u->width = in->type.cat->bound.n == 2 ? (int)in->type.cat->bound.v[1] : 1;
    tra_expr *x = tra_factor_below(
        u->f, (tra_node){.op = TRA_OP_REKEY, .in = {(tra_node *)in}, .keyfn = to, .span = u->f->x->node.span});
    u->weights = x ? &x->node : NULL;
    return x != NULL;
}

void tra_factor_weigh_columns(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    int side = 0;
    if (!is_weighing(x, y, &side)) return;
    const tra_expr *matrix = tra_factor_matrix(w->m, y->in[side]);
    const tra_pipe *pipe = matrix ? tra_pipe_of(w, matrix->in[0]) : NULL;
    const tra_node *weights = y->node.in[1 - side];
    if (!pipe || pipe->njoined > 0 || pipe->nselects > 0 || pipe->refused) return;
    const char *why = weights_refused(&weights->type);
    factoring *f = tra_new(w->m->arena, factoring);
    *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = y, .pipe = (tra_pipe *)pipe, .quiet = true};
    weighing u = {.f = f, .width = 1, .flops = TRA_COLUMN_FLOPS};
    product *own = f->own = &f->product[f->nproducts++];
    if (!why && !tra_factor_read(f, own, 0, matrix, pipe)) why = TRA_FACTOR_UNREAD;
    if (why) {
        tra_refuse(w, x, "%s", why);
        return;
    }
    const char *names[TRA_FACTOR_COLUMNS];
    const tra_colexpr *v[TRA_FACTOR_COLUMNS];
    int *at = tra_news(f->a, int, own->n[0] + 1);
    for (int i = 0; i < own->n[0]; i++) {
        names[i] = own->f[0][i].name;
        at[i] = i;
        if (tra_colexpr_convert(f->a, own->f[0][i].x, TRA_COL_F64, NULL, &v[i], NULL) != TRA_OK) return;
    }
    tra_rowwise *r = tra_rowwise_new(f->a, pipe->source->type.columns);
    tra_rowwise_project(r, own->n[0], names, v);
    tra_expr *made =
        set_weights(&u, weights) ? weigh(&u, tra_memo_expr(pipe->source), r, 0, own->n[0], at, NULL) : NULL;
    if (made) tra_factor_claim(f, made, 1);
}

void tra_factor_weigh(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    int side = 0;
    bool sums = tra_factor_is_sum(x, y, "ab->a");
    if (!sums && !is_weighing(x, y, &side)) return;
    const tra_expr *matrix = tra_factor_matrix(w->m, y->in[side]);
    tra_pipe *pipe = matrix ? tra_pipe_of(w, matrix->in[0]) : NULL;
    if (!pipe || pipe->njoined == 0) return;
    const tra_node *weights = sums ? NULL : y->node.in[1 - side];
    const char *why = pipe->refused ? pipe->refused : weights ? weights_refused(&weights->type) : NULL;
    if (why) {
        tra_refuse(w, x, "%s", why);
        return;
    }
    joining g;
    factoring *f = tra_new(w->m->arena, factoring);
    *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = y, .pipe = pipe};
    weighing u = {.f = f, .width = 1, .flops = 2, .used = tra_news(f->a, bool, pipe->all->n + 1)};
    f->own = &f->product[f->nproducts++];
    tra_factor_mark_selects(f, u.used);
    if (!tra_factor_read(f, f->own, 0, matrix, pipe) || !find_tables(&u) || !tra_factor_join_keys(f)) return;
    if (weights && !set_weights(&u, weights)) return;
    for (int j = 0; j < pipe->njoins; j++)
        if (!sum_right(&u, j)) return;
    if (!tra_factor_rows(f, &g, u.used, u.right, u.of) || !tra_factor_select(f, &g)) return;
    tra_expr *made = sum_rows(&u, &g);
    if (made) tra_factor_claim(f, made, 1);
}
