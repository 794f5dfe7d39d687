/* q13.c - rule Q-13: products of matrices of a table's columns, of the columns as they are.
 *
 * X'X of 19 columns as a matrix is a copy of the rows, in which a row's elements are next to each other; and BLAS
 * copies it again, into panels. A strip of rows has its columns one after the other: they are multiplied there, pair by
 * pair, and select and project below go with them in the same pass. The sums are formed by block of rows, then in the
 * order of blocks.
 */
#include <string.h>

#include "factor.h"

/* The rows that the pipeline leaves, with the columns of both matrices. */
static const tra_rowwise *columns_of(factoring *f) {
    const product *p = f->own;
    int n = p->n[0] + (p->same || !p->f[1] ? 0 : p->n[1]);
    const char **names = tra_news(f->a, const char *, n + 1);
    const tra_colexpr **x = tra_news(f->a, const tra_colexpr *, n + 1);
    tra_rowwise *r = tra_rowwise_new(f->a, f->pipe->source->type.columns);
    for (int i = 0; i < f->pipe->nselects; i++) tra_rowwise_select(r, f->pipe->select[i].x);
    for (int i = 0; i < n; i++) {
        const feature *c = i < p->n[0] ? &p->f[0][i] : &p->f[1][i - p->n[0]];
        names[i] = c->name;
        if (tra_colexpr_convert(f->a, c->x, TRA_COL_F64, NULL, &x[i], NULL) != TRA_OK) return NULL;
    }
    tra_rowwise_project(r, n, names, x);
    return r;
}

/* array: Y, beside the rows; NULL: it is of the same table. */
static void build(factoring *f, const tra_expr *array) {
    enum { AT_ONCE = 16 }; /* products of a row that take as long as one operation of others */
    const product *p = f->own;
    int nx = p->n[0], ny = p->same ? nx : p->n[1];
    const tra_rowwise *r = columns_of(f);
    if (!r) return;
    tra_column_products *s = tra_new(f->a, tra_column_products);
    *s = (tra_column_products){r, nx, ny, p->same, array != NULL};
    tra_str t = {0};
    tra_str_printf(&t, "%s%d x %d products of columns%s: ", p->same ? "symmetric " : "", nx, ny,
                   array ? " with what lies beside them" : "");
    tra_rowwise_print(r, &t);
    const char *text = tra_arena_strndup(f->a, tra_str_get(&t), t.n);
    tra_str_free(&t);
    double pairs = p->same ? nx * (nx + 1) / 2.0 : (double)nx * ny;
    tra_expr *source = tra_memo_expr(f->pipe->source);
    const tra_kernel *k =
        tra_kernel_of_rows(f->a, &(tra_rows_kernel){.text = text,
                                                    .use = array ? TRA_USE_JOIN : TRA_USE_MAP,
                                                    .dtype = TRA_F64,
                                                    .width = ny,
                                                    .rows = TRA_ROWS_FIXED,
                                                    .most = nx,
                                                    .share = 1,
                                                    .flops = TRA_COLUMN_FLOPS * tra_rowwise_out(r)->n +
                                                             2.0 * f->pipe->nselects + pairs / AT_ONCE,
                                                    .ops = &tra_column_products_ops,
                                                    .data = s});
    tra_node n = tra_proto_transform(k, &source->node);
    if (array)
        n = (tra_node){.op = TRA_OP_JOIN,
                       .in = {&source->node, (tra_node *)&array->node},
                       .joinl = {.n = 1},
                       .joinr = {.n = 1},
                       .kernel = k,
                       .span = f->x->node.span};
    tra_expr *sums = tra_factor_below(f, n);
    if (sums && sums->node.type.cat->frontier.n > 0)
        sums = tra_factor_below(f, tra_proto_agg(tra_kernel_sum(f->a), &(tra_dims){.n = 0}, &sums->node));
    if (sums) tra_factor_claim(f, sums, 0);
}

static factoring *begin(tra_rewriting *w, tra_expr *x, tra_expr *y, tra_pipe *p) {
    factoring *f = tra_new(w->m->arena, factoring);
    *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = y, .pipe = p, .quiet = true};
    f->own = &f->product[0];
    return f;
}

/* X'V, of which V lies beside the rows of the table. */
static void multiply_beside(tra_rewriting *w, tra_expr *x, tra_expr *y, const tra_expr *matrix, tra_pipe *p) {
    const tra_type *t = &y->node.in[1]->type;
    const char *why = tra_factor_array_refused(t);
    factoring *f = begin(w, x, y, p);
    if (!why && (p->nselects > 0 || t->bounded)) why = "rows are selected beside an array";
    if (!why && !tra_factor_read(f, f->own, 0, matrix, p)) why = TRA_FACTOR_UNREAD;
    f->own->n[1] = t->cat->bound.n == 2 ? (int)tra_min64(t->cat->bound.v[1], TRA_FACTOR_COLUMNS) : 1;
    const tra_expr *array = why ? NULL : tra_factor_array(f, tra_memo_expr(y->node.in[1]));
    if (why)
        tra_refuse(w, x, "%s", why);
    else if (array)
        build(f, array);
}

static void multiply(tra_rewriting *w, tra_expr *x, tra_expr *y, int side) {
    const tra_expr *matrix[2];
    tra_pipe *p[2] = {NULL, NULL};
    (void)side;
    if (!y) return;
    tra_factor_weigh_columns(w, x, y);
    if (!tra_factor_is_product(x, y)) return;
    for (int i = 0; i < 2; i++) {
        matrix[i] = tra_factor_matrix(w->m, y->in[i]);
        p[i] = matrix[i] ? tra_pipe_of(w, matrix[i]->in[0]) : NULL;
        if (p[i] && (p[i]->njoined > 0 || p[i]->refused)) return;
    }
    if (!p[0]) return;
    if (!p[1] || !tra_pipe_same_rows(w, p[0], p[1])) {
        multiply_beside(w, x, y, matrix[0], p[0]);
        return;
    }
    factoring *f = begin(w, x, y, p[0]);
    product *own = f->own;
    own->same = tra_memo_find(w->m, y->in[0]) == tra_memo_find(w->m, y->in[1]);
    if (tra_factor_read(f, own, 0, matrix[0], p[0]) && (own->same || tra_factor_read(f, own, 1, matrix[1], p[1])))
        build(f, NULL);
    else
        tra_refuse(w, x, TRA_FACTOR_UNREAD);
}

#define XX "Z[a,b] = sum X[n,a] * X[n,b]\n"

const tra_rule tra_rule_q_13 = {
    .name = "Q-13",
    .equivalence =
        "X'Y and X W of matrices of a table's columns = sums of products of the columns, and sums of weighed ones",
    .condition =
        "columns of X and Y, of the same rows of a table that is no join, are f64 and never NULL, and not many; "
        "Y may be a dense f64 array beside the rows; W is in one block; no rows are selected (of X W and arrays)",
    .forth = multiply,
    .cases = {
        {.program = "X = matrix(trip, [one = 1, x])\nY[n,k] = exp(X[n,k])\nZ[a,k] = sum X[n,a] * Y[n,k]\n",
         .makes = "2 x 2 products of columns with what lies beside them"},
        {.program = "X = matrix(project(trip, x, m = n * 0.5), [one = 1, m, x])\nY[n,a] = 2 * X[n,a]\n"
                    "W[a,k] = sum Y[n,a] * X[n,k]\nZ[n,k] = sum X[n,a] * W[a,k]\n",
         .makes = "3 columns weighed"},
        {.program = "X = matrix(trip, [one = 1, x, k])\n" XX, .makes = "symmetric 3 x 3 products of columns"},
        {.program = "P = project(select(trip, x > 0), x, m = n * 0.5)\nX = matrix(P, [one = 1, x])\n"
                    "Y = matrix(P, [m, k = 2])\nZ[a,c] = sum X[n,a] * Y[n,c]\n",
         .makes = "2 x 2 products of columns: select((x > 0))"},
        {.program = "X = matrix(trip, [x, q = n * n])\n" XX, .refused = "may not be computed", .tables = true},
        {.program = "X = matrix(trip, [x], type = f32)\n" XX, .refused = "are not f64", .tables = true},
    }};
