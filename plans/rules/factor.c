/* factor.c - which matrices, and which columns rows are grouped by: what factor.h promises of them. */
#include "factor.h"

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

const tra_expr *tra_factor_matrix(const tra_memo *m, int group) { return matrix_of(m, group, false); }

/* Can every value of the expression be computed? If not, false after a refusal: the error would have to name a row of
 * the join, which is not made. what, name: begin the reason. */
static bool is_total(factoring *f, const tra_colexpr *x, const char *what, const char *name) {
    if (x->fails) {
        REFUSE(f, "%s %s may not fit its type, which is an error that names a row of the join", what, name);
        return false;
    }
    for (int i = 0; i < x->nkids; i++)
        if (!is_total(f, x->kids[i], what, name)) return false;
    return true;
}

static bool add_feature(factoring *f, product *p, int side, const char *name, const tra_colexpr *x,
                        const double *fill) {
    const tra_colexpr *both[2] = {x, NULL};
    tra_err e = {0};
    if (!is_total(f, x, "column", name)) return false;
    if (x->nullable && !fill) {
        REFUSE(f,
               "column %s may be NULL, which is an error that names a row of the join; fill = .. "
               "gives it a value",
               name);
        return false;
    }
    if (fill) both[1] = tra_colexpr_float(f->a, *fill);
    if (fill && x->nullable && tra_colexpr_call(f->a, TRA_C_IFNULL, 2, both, &x, &e) != TRA_OK) return false;
    p->f[side][p->n[side]++] = (feature){.name = name, .x = x};
    return true;
}

bool tra_factor_read(factoring *f, product *p, int side, const tra_expr *matrix, const tra_pipe *pipe) {
    const tra_rowwise *r = tra_rowwise_of_expr(matrix);
    const tra_rowwise_step *v;
    const double *fill = tra_rowwise_fill(r);
    tra_dtype t;
    int n = tra_rowwise_steps(r, &v);
    (void)tra_rowwise_is_matrix(r, &t);
    if (t != TRA_F64) {
        REFUSE(f, "the matrix is of %s: its products are exact to other digits", tra_dtype_name(t));
        return false;
    }
    if (n != 1 || v[0].n > TRA_FACTOR_COLUMNS) return false; /* the parts of a composition are matched by themselves */
    p->f[side] = tra_news(f->a, feature, v[0].n + 1);
    for (int i = 0; i < v[0].n; i++)
        if (!add_feature(f, p, side, v[0].names[i], tra_pipe_term(f->w, pipe, v[0].x[i]), fill)) return false;
    return true;
}

/* ---- group columns ----------------------------------------------------------------------------------------------- */

static bool add_key(factoring *f, const tra_colexpr *x) {
    for (int k = 0; k < f->nkeys; k++)
        if (tra_colexpr_same(f->pipe->all, f->key[k], x)) return true;
    if (f->nkeys == TRA_FACTOR_KEYS) {
        REFUSE(f, "joins and maps read more than %d columns of the table that is summed", TRA_FACTOR_KEYS);
        return false;
    }
    f->key[f->nkeys++] = x;
    return true;
}

/* The source's columns in an expression that reads others as well. */
static bool add_columns(factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) return x->column >= f->pipe->source->type.columns->n || add_key(f, x);
    for (int i = 0; i < x->nkids; i++)
        if (!add_columns(f, x->kids[i])) return false;
    return true;
}

bool tra_factor_join_keys(factoring *f) {
    const tra_pipe *p = f->pipe;
    for (int j = 0; j < p->njoins; j++)
        for (int k = 0; k < p->join[j].s->nkeys; k++) {
            const tra_colexpr *x = p->join[j].key[k];
            bool other = tra_pipe_reads(p, x, 1);
            if (!is_total(f, x, "a key of", "a join")) return false;
            if (other && x->op != TRA_C_COLUMN) {
                REFUSE(f, "a key of a join is computed of columns of another");
                return false;
            }
            if (!other && !add_key(f, x)) return false;
        }
    for (int i = 0; i < p->nselects; i++)
        if ((p->select[i].joins || tra_pipe_reads(p, p->select[i].x, 1)) &&
            !is_total(f, p->select[i].x, "a predicate above", "a join"))
            return false;
    return true;
}

/* Divides the factors of a product of floats in two: *own becomes the product of those that read the source alone,
 * *other the product of the rest; NULL where there are none. False: a product could not be made. */
static bool take_factors(const factoring *f, const tra_colexpr *x, const tra_colexpr **own, const tra_colexpr **other) {
    if (x->op == TRA_C_MUL && x->type == TRA_COL_F64)
        return take_factors(f, x->kids[0], own, other) && take_factors(f, x->kids[1], own, other);
    const tra_colexpr **to = tra_pipe_reads(f->pipe, x, 1) || !tra_pipe_reads(f->pipe, x, 0) ? other : own;
    if (*to) return tra_factor_multiply(f->a, *to, x, to);
    *to = x;
    return true;
}

void tra_factor_split(factoring *f) {
    for (product *m = f->product; m < f->product + f->nproducts; m++)
        for (int side = 0; side < 2 - m->same; side++)
            for (feature *c = m->f[side]; c < m->f[side] + m->n[side]; c++) {
                const tra_colexpr *own = NULL, *other = NULL;
                if (c->beside || !tra_pipe_reads(f->pipe, c->x, 1) || !take_factors(f, c->x, &own, &other)) continue;
                if (own && other) c->x = own, c->of_group = other;
            }
}

bool tra_factor_map_keys(factoring *f) {
    const tra_pipe *p = f->pipe;
    for (int i = 0; i < p->nselects && !f->rows; i++)
        if (tra_pipe_reads(p, p->select[i].x, 1) && !add_columns(f, p->select[i].x)) return false;
    for (const product *m = f->product; m < f->product + f->nproducts; m++)
        for (int side = 0; side < 2 - m->same; side++)
            for (const feature *c = m->f[side]; c < m->f[side] + m->n[side]; c++) {
                const tra_colexpr *x = c->of_group ? c->of_group : c->x;
                if (tra_pipe_reads(p, x, 1) && !add_columns(f, x)) return false;
            }
    return true;
}

bool tra_factor_of_group(const factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) {
        bool found = x->column >= f->pipe->source->type.columns->n;
        for (int k = 0; k < f->nkeys; k++)
            found = found || (f->key[k]->op == TRA_C_COLUMN && f->key[k]->column == x->column);
        return found;
    }
    for (int i = 0; i < x->nkids; i++)
        if (!tra_factor_of_group(f, x->kids[i])) return false;
    return true;
}

bool tra_factor_multiply(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y, const tra_colexpr **out) {
    const tra_colexpr *both[2] = {x, y};
    for (int i = 0; i < 2; i++)
        if (tra_colexpr_convert(a, both[i], TRA_COL_F64, NULL, &both[i], NULL) != TRA_OK) return false;
    return tra_colexpr_call(a, TRA_C_MUL, 2, both, out, NULL) == TRA_OK;
}
