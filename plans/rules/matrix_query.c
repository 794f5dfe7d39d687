/* matrix_query.c - sums of products of matrices, read by their labels: what matrix_sums.h promises. */
#include "matrix_sums.h"

#include <string.h>

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static bool among(const tra_dims *d, int v) {
    bool found = false;
    for (int i = 0; i < d->n; i++) found |= d->v[i] == v;
    return found;
}

/* Reads a map of an array as the product of one operand. */
static bool product_of_map(const tra_node *y, tra_product *p) {
    if (y->op != TRA_OP_TRANSFORM || tra_kernel_rest(y->kernel)) return false;
    tra_kernel_desc d = tra_kernel_describe(y->kernel);
    const char *arrow = d.einsum ? strstr(d.einsum, "->") : NULL;
    if (!arrow || d.scalar || d.fold != TRA_S_ADD || strchr(d.einsum, ',')) return false;
    *p = (tra_product){.rank = {(int)(arrow - d.einsum), 0}, .nout = (int)strlen(arrow + 2)};
    for (int i = 0; i < p->rank[0]; i++) p->in[0][i] = (int8_t)d.einsum[i];
    for (int i = 0; i < p->nout; i++) p->out[i] = (int8_t)arrow[2 + i];
    return true;
}

/* The labels of the sum x of a product y, "ab,ac->bc", named in the order in which the operands have them; x NULL: of
 * the product alone. NULL: it is none, or its keys do not go with its labels. */
static const char *labels_of(tra_arena *a, const tra_expr *x, const tra_node *y) {
    int keys[2 * TRA_MAXDIM], nkeys = 0, shared = 0, n = 0, at = 0;
    char name[128] = {0}, *text = tra_arena_alloc(a, 4 * TRA_MAXDIM + 4);
    tra_product p;
    bool fits = true, two = y->op == TRA_OP_JOIN;
    if (two ? !tra_kernel_is_product(y->kernel, &y->in[0]->type.cat->bound, &y->in[1]->type.cat->bound, &p)
            : !product_of_map(y, &p))
        return NULL;
    for (int o = 0; o <= two; o++) {
        fits &= y->in[o]->type.cat->frontier.n == p.rank[o];
        if (o) text[at++] = ',';
        for (int d = 0; d < p.rank[o]; d++) {
            int l = p.in[o][d];
            if (!o || !among(&y->join.r, d)) keys[nkeys++] = l;
            for (int i = 0; i < p.rank[0] && o; i++) shared += p.in[0][i] == l;
            if (!name[l]) name[l] = (char)('a' + n++);
            text[at++] = name[l];
        }
    }
    for (int i = 0; i < y->join.l.n && two; i++) fits &= p.in[0][y->join.l.v[i]] == p.in[1][y->join.r.v[i]];
    fits &= !two || shared == y->join.l.n;
    at += sprintf(text + at, "->");
    if (x) fits &= x->node.op == TRA_OP_AGG && tra_kernel_is_sum(x->node.kernel) && x->node.group.n == p.nout;
    for (int d = 0; d < p.nout && fits; d++) {
        fits = !x || (x->node.group.v[d] < nkeys && keys[x->node.group.v[d]] == p.out[d]);
        text[at++] = name[(int)p.out[d]];
    }
    text[at] = '\0';
    return fits ? text : NULL;
}

static const struct {
    const char *labels;
    sum_kind kind;
    int side; /* the operand whose rows are summed, or weighed */
} kinds[] = {
    {"ab,ac->bc", SUM_PRODUCTS, 0}, {"ab,a->b", SUM_PRODUCTS, 0}, {"ab->b", SUM_COLUMNS, 0},
    {"ab->", SUM_COLUMNS, 0},       {"ab->a", SUM_ROWS, 0},       {"ab,bc->ac", SUM_WEIGHED, 0},
    {"ab,b->a", SUM_WEIGHED, 0},    {"a,ba->b", SUM_WEIGHED, 1},
};

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* The expression of a group that makes a matrix of the rows of a table, of the narrowest table if there are several; a
 * rekey may stand above it. NULL: there is none. */
static const tra_expr *matrix_of(const tra_memo *m, int group, bool rekeyed) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    const tra_expr *found = NULL;
    for (int i = 0; i < g->n; i++) {
        const tra_expr *x = m->v[g->expr[i]];
        const tra_rowwise *r = tra_rowwise_of_expr(x);
        if (!r || !tra_rowwise_is_matrix(r, NULL))
            x = !rekeyed && x->node.op == TRA_OP_REKEY ? matrix_of(m, x->in[0], true) : NULL;
        if (x && (!found || (x->rule == &tra_rule_q_6 && found->rule != &tra_rule_q_6))) found = x;
    }
    return found;
}

static bool add_feature(factoring *f, product *p, int side, const char *name, const tra_colexpr *x,
                        const double *fill) {
    const tra_colexpr *both[2] = {x, NULL};
    if (!tra_factor_is_total(f, x, "column", name)) return false;
    if (x->nullable && !fill)
        return REFUSE(f,
                      "column %s may be NULL, which is an error that names a row of the join; fill = .. "
                      "gives it a value",
                      name);
    if (fill) both[1] = tra_colexpr_float(f->a, *fill);
    if (fill && x->nullable && tra_colexpr_call(f->a, TRA_C_IFNULL, 2, both, &x, NULL) != TRA_OK) return false;
    p->f[side][p->n[side]++] = (feature){.name = name, .x = x};
    return true;
}

bool tra_factor_read(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe) {
    const tra_rowwise *r = tra_rowwise_of_expr(matrix);
    const tra_rowwise_step *v;
    tra_dtype t;
    int n = tra_rowwise_steps(r, &v);
    (void)tra_rowwise_is_matrix(r, &t);
    if (t != TRA_F64)
        return REFUSE(f, "the matrix is of %s: its products are exact to other digits", tra_dtype_name(t));
    if (n != 1 || v[0].n > TRA_FACTOR_COLUMNS) return false; /* the parts of a composition are matched by themselves */
    p->f[side] = tra_news(f->a, feature, v[0].n + 1);
    for (int i = 0; i < v[0].n; i++)
        if (!add_feature(f, p, side, v[0].names[i], tra_pipe_term(f->w, pipe, v[0].x[i]), tra_rowwise_fill(r)))
            return false;
    return true;
}

bool tra_factor_real(tra_arena *a, const tra_colexpr *x, const tra_colexpr **out) {
    return tra_colexpr_convert(a, x, TRA_COL_F64, NULL, out, NULL) == TRA_OK;
}

bool tra_factor_multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out) {
    const tra_colexpr *both[2];
    return tra_factor_real(a, x, &both[0]) && tra_factor_real(a, y, &both[1]) &&
           tra_colexpr_call(a, TRA_C_MUL, 2, both, out, NULL) == TRA_OK;
}

/* ---- rows that are weighed --------------------------------------------------------------------------------------- */

static bool reads_argument(const tra_scalar *s, int arg) {
    return s && ((s->op == TRA_S_ARG && s->arg == arg) || reads_argument(s->a, arg) || reads_argument(s->b, arg) ||
                 reads_argument(s->c, arg));
}

/* The expression with every argument as argument 0. */
static const tra_scalar *of_one(tra_arena *a, const tra_scalar *s) {
    if (!s) return NULL;
    tra_scalar *t = tra_new(a, tra_scalar);
    *t = *s;
    t->arg = 0;
    t->a = of_one(a, s->a), t->b = of_one(a, s->b), t->c = of_one(a, s->c);
    return t;
}

/* The operand of the join j whose rows the other operand divides, X[n,i] / f(q[n]); -1: it does not. *by: 1 / f. */
static int divided_operand(tra_arena *a, const tra_node *j, const tra_kernel **by) {
    static const char *const names[] = {"q"};
    if (tra_kernel_rest(j->kernel)) return -1;
    tra_kernel_desc d = tra_kernel_describe(j->kernel);
    if (!d.einsum || !d.scalar || strlen(d.einsum) != 8) return -1;
    int o = d.einsum[1] == ',' ? 1 : 0;
    const char *m = d.einsum + 2 * o, *array = d.einsum + 3 * (1 - o);
    const tra_scalar *s = d.scalar;
    if (m[0] != *array || m[0] == m[1] || m[0] != d.einsum[6] || m[1] != d.einsum[7]) return -1;
    if (s->op != TRA_S_DIV || s->a->op != TRA_S_ARG || s->a->arg != o || reads_argument(s->b, o)) return -1;
    tra_scalar *one = tra_new(a, tra_scalar), *q = tra_new(a, tra_scalar);
    *one = (tra_scalar){.op = TRA_S_CONST, .value = 1};
    *q = (tra_scalar){.op = TRA_S_DIV, .a = one, .b = of_one(a, s->b)};
    *by = tra_kernel_lambda(a, q, 1, names);
    return o;
}

/* The matrix of a group that is w[n] * X[n,a], or X[n,a] / q[n] with w = 1 / q; and w. NULL: there is none. */
static const tra_expr *weighed_matrix(tra_rewriting *w, const tra_expr *x, int group, const tra_expr **weight) {
    const tra_memo_group *g = &w->m->group[tra_memo_find(w->m, group)];
    for (int i = 0; i < g->n; i++) {
        const tra_expr *e = w->m->v[g->expr[i]];
        const tra_node *j = &e->node;
        const tra_kernel *by = NULL;
        if (j->op != TRA_OP_JOIN || j->join.l.n != 1 || j->join.l.v[0] != 0 || j->join.r.v[0] != 0) continue;
        const char *l = labels_of(w->m->arena, NULL, j);
        int o = l && strcmp(l, "ab,a->ab") == 0 ? 0 : l && strcmp(l, "a,ab->ab") == 0 ? 1 : -1;
        if (o < 0) o = divided_operand(w->m->arena, j, &by);
        const tra_expr *matrix = o < 0 ? NULL : matrix_of(w->m, e->in[o], false);
        if (!matrix) continue;
        *weight = tra_memo_expr(j->in[1 - o]);
        if (by) *weight = tra_make_below(w, x, (tra_node){.op = TRA_OP_TRANSFORM, .in = {j->in[1 - o]}, .kernel = by});
        if (*weight) return matrix;
        break; /* the memo may have been moved */
    }
    *weight = NULL;
    return NULL;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

bool tra_open_sum(tra_rewriting *w, const tra_expr *x, const tra_expr *y, bool joined, opened *o) {
    const char *labels = x->node.op == TRA_OP_AGG ? labels_of(w->m->arena, x, &y->node) : NULL;
    size_t k = 0, all = sizeof kinds / sizeof *kinds;
    while (labels && k < all && strcmp(kinds[k].labels, labels) != 0) k++;
    if (!labels || k == all) return false;
    *o = (opened){.kind = kinds[k].kind};
    int side = kinds[k].side, second = 1 - side;
    if (o->kind == SUM_WEIGHED) o->weights = y->node.in[second];
    for (int i = 0; i < (o->kind == SUM_PRODUCTS ? 2 : 1); i++) {
        int in = i ? second : side;
        o->of[i] = tra_memo_find(w->m, y->in[in]);
        o->matrix[i] = matrix_of(w->m, y->in[in], false);
        if (joined && o->kind == SUM_PRODUCTS && !o->matrix[i] && !o->weight && y->node.in[in]->type.cat->bound.n == 2)
            o->matrix[i] = weighed_matrix(w, x, y->in[in], &o->weight);
        o->p[i] = o->matrix[i] ? tra_pipe_of(w, o->matrix[i]->in[0]) : NULL;
        if (!joined && o->p[i] && (o->p[i]->njoined > 0 || o->p[i]->refused)) return false;
    }
    if (!o->p[0] || (o->p[0]->njoined > 0) != joined) return false;
    if (o->kind != SUM_PRODUCTS) return true;
    if (o->p[1] && ((o->p[1]->njoined > 0) != joined || !tra_pipe_same_rows(w, o->p[0], o->p[1]))) o->p[1] = NULL;
    o->same = o->p[1] && (o->matrix[0] == o->matrix[1] || o->of[0] == o->of[1]);
    if (!o->p[1] && o->weight) { /* neither is a matrix of the rows alone */
        return tra_refuse(
            w, x, "the rows of a matrix are weighed, and its product is with an array that is no matrix of them");
    }
    if (!o->p[1]) o->array = tra_memo_expr(y->node.in[1]);
    return true;
}

/* What speaks against an array beside the rows, or against weights of the elements of a row. */
#define WHEN(name, condition)                                                                                          \
    static bool name(const tra_type *t) { return condition; }
WHEN(is_not_f64, t->dtype != TRA_F64)
WHEN(is_sparse, t->sparse)
WHEN(is_not_known, t->sparse || t->bounded || t->columns)
WHEN(has_cut_columns, t->cat->frontier.n != t->cat->bound.n || (t->cat->bound.n == 2 && t->cat->frontier.v[1] != 1))
WHEN(has_blocks, t->cat->n != 1)
WHEN(is_wide, t->cat->bound.n == 2 && t->cat->bound.v[1] > TRA_FACTOR_COLUMNS)
static const struct {
    bool weights;
    bool (*when)(const tra_type *t);
    const char *why;
} reasons[] = {
    {false, is_not_f64, "what lies beside the rows is not f64: its products are exact to other digits"},
    {false, is_sparse, "what lies beside the rows is of sparse type"},
    {false, has_cut_columns, "the columns of what lies beside the rows are in several blocks"},
    {false, is_wide, "too many columns lie beside the rows"},
    {true, is_not_f64, "the weights are not f64: their products are exact to other digits"},
    {true, is_not_known, "the weights are no dense array of known extents"},
    {true, has_blocks, "the weights are in several blocks"},
    {true, is_wide, "the weights have too many columns"},
};

const char *tra_sum_refused(const tra_memo *m, const opened *o) {
    const tra_expr *beside = o->array ? o->array : o->weight;
    const tra_type *t = o->weights ? &o->weights->type : beside ? &beside->node.type : NULL;
    for (int i = 0; i < 2; i++)
        if (o->p[i] && o->p[i]->refused) return o->p[i]->refused;
    for (int j = 0; j < o->p[0]->njoins && beside; j++) /* all rows of a group count as one, though the array differs */
        if (!tra_lookup_once(m, o->p[0]->join[j].x->in[1], o->p[0]->join[j].s))
            return "a key may be there twice in a joined table: rows of one group differ in what lies beside them";
    for (size_t r = 0; r < sizeof reasons / sizeof *reasons && t; r++)
        if (reasons[r].weights == (o->weights != NULL) && reasons[r].when(t)) return reasons[r].why;
    if (o->array && o->p[0]->njoined == 0 && (o->p[0]->nselects > 0 || t->bounded))
        return "rows are selected beside an array";
    return NULL;
}

factoring *tra_factoring_new(tra_rewriting *w, tra_expr *x, tra_expr *y, tra_pipe *p) {
    factoring *f = tra_new(w->m->arena, factoring);
    *f = (factoring){.w = w, .a = w->m->arena, .x = x, .join = y, .pipe = p};
    return f;
}

bool tra_factor_add(factoring *f, const opened *o) {
    product *to = &f->product[f->nproducts];
    *to = (product){.same = o->same};
    if (!tra_factor_read(f, to, 0, o->matrix[0], o->p[0])) return false;
    if (o->kind == SUM_COLUMNS) {
        to->f[1] = tra_new(f->a, feature);
        to->f[1][to->n[1]++] = (feature){.name = "1", .x = tra_colexpr_float(f->a, 1)};
    } else if (o->array) {
        to->n[1] = tra_factor_array_columns(f, o->array, &to->f[1]);
    } else if (o->p[1] && !to->same && !tra_factor_read(f, to, 1, o->matrix[1], o->p[1])) {
        return false;
    }
    if (o->weight) (void)tra_factor_array_columns(f, o->weight, &to->weight);
    f->nproducts++;
    return true;
}
