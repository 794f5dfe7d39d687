/* matrix_sums.c - rules: sums of products of the columns of a matrix, without the matrix.
 *
 * Its rows are those of a join, which is not made either, or of a table.
 *
 * Let X be the matrix of select, project and joins of a table T with tables D. What a column of X takes of T, besides
 * what it takes of D, are *group columns*: so are the keys of the joins, and what predicates read of T that read D as
 * well. Columns of X that read nothing but T, and not group columns alone, are summands. Then T is summed by the group
 * columns: how many rows, the sum of each summand, and of each product of two summands. The slots that have rows are
 * joined with D in place of T, the maps are evaluated once for each of them, and with n the number of its rows, phi the
 * columns that are functions of the group, and s the sums,
 *
 *     X'X = sum of n phi phi' (functions of groups), s phi' (one of each), or the sums of products (summands).
 *
 * A column that is a product of a factor of T alone and of others is phi times a summand: both.
 *
 * Weights w of the rows, which lie beside them, come into each sum: in place of n the sum of w, of s that of w times
 * the summand.
 *
 * Keys of D may be there more than once, or not at all: the joins are the same, over fewer rows.
 *
 * Of a table alone X'X is summed of its columns as they are: as a matrix X is a copy of the rows, in which a row's
 * elements are next to each other, and BLAS copies it again, into panels. A strip of rows has its columns one after the
 * other: they are multiplied there, pair by pair, and select and project below go with them in the same pass. The sums
 * are formed by block of rows, then in the order of blocks.
 *
 * Sources: Morpheus (Chen et al., VLDB 2017) for one and several foreign keys; F (Schleich et al., SIGMOD 2016) for
 * maps of several tables' columns, which the groups bring together.
 */
#include <stdlib.h>
#include <string.h>

#include "matrix_sums.h"

/* ---- the result -------------------------------------------------------------------------------------------------- */

static const tra_colexpr *rewritten(const factoring *f, const joining *g, const tra_colexpr *x) {
    return tra_colexpr_substitute(f->a, x, g->by);
}

typedef struct summing {
    tra_projection sums;
    int *at;
} summing;

static const tra_colexpr *called(factoring *f, tra_colop op, const tra_colexpr *x, const tra_colexpr *y,
                                 const tra_colexpr *z) {
    const tra_colexpr *v[3] = {x, y, z}, *out = NULL;
    if (!x || (!y && op != TRA_C_ABS)) return NULL;
    return tra_colexpr_call(f->a, op, !y ? 1 : !z ? 2 : 3, v, &out, NULL) == TRA_OK ? out : NULL;
}

/* x times a sum. What is infinite times each of the summands adds up to NaN, unless they all have one sign: so
 * x * if(x - x == 0 || abs(signs) == rows, sum, x - x). */
static const tra_colexpr *times_sum(factoring *f, const tra_schema *s, const tra_colexpr *x, factor_sum of) {
    int sums = f->nkeys + 1;
    const tra_colexpr *product = NULL, *rows = tra_colexpr_column(f->a, s, f->nkeys),
                      *sum = tra_colexpr_column(f->a, s, sums + tra_factor_find(f, &of));
    of.sign = true;
    int sign = tra_factor_find(f, &of);
    if (!x) return sum;
    if (tra_colexpr_convert(f->a, x, TRA_COL_F64, NULL, &x, NULL) != TRA_OK) return NULL;
    if (sign >= 0) {
        const tra_colexpr *signs = tra_colexpr_column(f->a, s, sums + sign), *none = called(f, TRA_C_SUB, x, x, NULL),
                          *one_sign = called(f, TRA_C_EQ, called(f, TRA_C_ABS, signs, NULL, NULL), rows, NULL),
                          *finite = called(f, TRA_C_EQ, none, tra_colexpr_float(f->a, 0), NULL);
        sum = called(f, TRA_C_IF, called(f, TRA_C_OR, finite, one_sign, NULL), sum, none);
    }
    return sum && tra_factor_multiply(f->a, sum, x, &product) ? product : NULL;
}

/* Element (i, j) of the result, as a sum over joined groups. */
static bool add_element(factoring *f, const joining *g, summing *u, int i, int j) {
    const feature *p = &f->own->f[0][i], *q = &f->own->f[1][j];
    const tra_schema *s = g->x->node.type.columns;
    factor_sum of = tra_factor_sum_of(f->own, p, q);
    const tra_colexpr *x = p->of_group ? rewritten(f, g, p->of_group) : NULL,
                      *y = q->of_group ? rewritten(f, g, q->of_group) : NULL;
    if (x && y && !tra_factor_multiply(f->a, x, y, &x)) return false;
    if (!x) x = y;
    if (of.v[0] >= 0)
        x = times_sum(f, s, x, of);
    else if (!tra_factor_multiply(f->a, tra_colexpr_column(f->a, s, f->nkeys), x, &x))
        return false;
    tra_projection_add(&u->sums, tra_arena_printf(f->a, "%s, %s", p->name, q->name), x);
    return x != NULL;
}

static bool set_elements(factoring *f, const joining *g, summing *u) {
    int all = f->own->n[0] * f->own->n[1];
    u->at = tra_news(f->a, int, all + 1);
    for (int i = 0; i < f->own->n[0]; i++)
        for (int j = 0; j < f->own->n[1]; j++) {
            bool mirrored = f->own->same && j < i;
            u->at[i * f->own->n[1] + j] = mirrored ? u->at[j * f->own->n[1] + i] : u->sums.n;
            if (!mirrored && !add_element(f, g, u, i, j)) return false;
        }
    return true;
}

static tra_expr *make_sums(factoring *f, const joining *g) {
    summing u = {.sums.arena = f->a};
    tra_rowwise *r = tra_rowwise_new(f->a, g->x->node.type.columns);
    for (int i = 0; i < f->pipe->nselects && !f->rows; i++)
        if (tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1))
            tra_rowwise_select(r, rewritten(f, g, f->pipe->select[i].x));
    if (!set_elements(f, g, &u)) return NULL;
    tra_rowwise_project(r, u.sums.n, u.sums.names, u.sums.x);
    tra_row_sums *s = tra_new(f->a, tra_row_sums);
    *s = (tra_row_sums){r, f->own->n[0] * f->own->n[1], u.at, f->own->n[0], f->own->same};
    tra_rows_kernel k = tra_rows_op(&tra_row_sums_ops, s, NULL);
    k.width = f->own->n[1], k.flops = 4.0 * u.sums.n;
    k.extent = TRA_ROWS_FIXED, k.most = f->own->n[0];
    return tra_factor_pass(f, g->x, &k);
}

void tra_factor_claim(factoring *f, const tra_expr *made, int keys) {
    int rank = f->x->node.type.cat->bound.n, all = f->x->node.type.cat->frontier.n;
    const tra_kernel *k;
    if (rank < 2) {
        if (tra_kernel_einsum(f->a, rank ? "ab->a" : "ab->", &k, NULL) != TRA_OK) return;
        tra_node n = tra_proto_transform(k, &made->node);
        if (keys == all) {
            tra_claim(f->w, f->x, f->join, n, made, NULL);
            return;
        }
        if (!(made = tra_make_below(f->w, f->x, n))) return;
    }
    tra_claim(f->w, f->x, f->join, tra_factor_rekeyed(f, made, keys, all), made, NULL);
}

static void sum_joined_groups(factoring *f) {
    joining g = {.x = tra_factor_groups(f), .by = tra_news(f->a, const tra_colexpr *, f->pipe->all->n + 1)};
    for (int k = 0; k < f->nkeys && g.x; k++)
        if (f->key[k]->op == TRA_C_COLUMN) g.by[f->key[k]->column] = tra_colexpr_column(f->a, f->slots->out, k);
    for (int j = 0; j < f->pipe->njoins && g.x; j++)
        if (!tra_factor_join(f, &g, j, NULL, NULL)) return;
    tra_expr *sums = g.x ? make_sums(f, &g) : NULL;
    if (sums && (sums = tra_factor_total(f, sums))) tra_factor_claim(f, sums, 0);
}

/* ---- sums that one pass makes ------------------------------------------------------------------------------------ */

/* Which sums of the program one pass over the same rows is to make: those of matrices alone (PLAIN), those in which an
 * array or weights lie beside the rows (BESIDE), or both. */
typedef enum tra_factor_which { TRA_FACTOR_PLAIN, TRA_FACTOR_BESIDE, TRA_FACTOR_ALL } tra_factor_which;

/* Marks the groups that a group is computed of, by the first expression of each, and itself. */
static void mark_computed(const tra_memo *m, int group, bool *seen) {
    group = tra_memo_find(m, group);
    if (seen[group]) return;
    seen[group] = true;
    const tra_expr *x = m->v[m->group[group].expr[0]];
    for (int k = 0; k < 2; k++)
        if (x->in[k] >= 0) mark_computed(m, x->in[k], seen);
}

/* Can this sum be made in one pass with those that are there? Not if an array beside the rows is computed from any of
 * them. */
static bool goes_with(const factoring *f, int group, const opened *o) {
    const tra_memo *m = f->w->m;
    const tra_expr *own = o->array ? o->array : o->weight;
    bool *seen = tra_calloc((size_t)m->ngroups + 1, sizeof *seen), fits = true;
    for (int i = 0; i < f->narrays; i++) mark_computed(m, f->array[i].x->group, seen);
    fits = !seen[tra_memo_find(m, group)];
    if (own) mark_computed(m, own->group, seen);
    for (int k = 0; k < f->nproducts; k++) fits = fits && !seen[tra_memo_find(m, f->group[k])];
    free(seen);
    return fits;
}

/* Is x over y a sum over the rows of the pipeline that can be made in one pass with those that are there? */
static bool opens_with(const factoring *f, tra_factor_which which, const tra_expr *x, const tra_expr *y, opened *o) {
    if (!tra_open_sum(f->w, x, y, true, o) || !(o->kind & (SUM_PRODUCTS | SUM_COLUMNS))) return false;
    if (tra_sum_refused(f->w->m, o)) return false;
    bool beside = o->array || o->weight;
    if (beside ? which == TRA_FACTOR_PLAIN : which == TRA_FACTOR_BESIDE) return false;
    if (!tra_pipe_same_rows(f->w, f->pipe, o->p[0])) return false;
    return which == TRA_FACTOR_PLAIN || goes_with(f, x->group, o);
}

/* *o becomes the first way in which the group is such a sum; false: there is none. */
static bool opened_of(const factoring *f, tra_factor_which which, int group, opened *o) {
    const tra_memo *m = f->w->m; /* which may grow */
    for (int i = 0; i < m->group[group].n; i++) {
        const tra_expr *x = m->v[m->group[group].expr[i]];
        if (x->node.op != TRA_OP_AGG) continue;
        int in = tra_memo_find(m, x->in[0]);
        for (int k = 0; k < m->group[in].n; k++)
            if (opens_with(f, which, x, m->v[m->group[in].expr[k]], o)) return true;
    }
    return false;
}

/* Adds the products of all sums of the program over the same rows, in the order of the memo. Whichever of these sums
 * the rule is applied to, the list is the same, so that all use one table of groups. False: one pass cannot make them
 * all. */
static bool add_all(factoring *f, tra_factor_which which) {
    const tra_memo *m = f->w->m;
    int group = tra_memo_find(m, f->x->group);
    for (int i = 0; i < m->ngroups; i++) {
        opened o;
        if (tra_memo_find(m, i) != i || !opened_of(f, which, i, &o)) continue;
        f->group[f->nproducts] = i;
        if (f->nproducts == TRA_FACTOR_PRODUCTS || !tra_factor_add(f, &o)) return false;
        if (i == group) f->own = &f->product[f->nproducts - 1];
    }
    return f->own != NULL;
}

/* Makes the sum from sums of groups: together with the other sums of the program (o NULL), or o alone. False: it could
 * not be made so. */
static bool sum_groups(factoring *f, tra_factor_which which, const opened *o) {
    f->quiet = !o;
    if (o) f->own = &f->product[0];
    if (!(o ? tra_factor_add(f, o) : add_all(f, which)) || (which == TRA_FACTOR_ALL && f->narrays == 0)) return false;
    if (!tra_factor_slots(f)) return false;
    f->quiet = false;
    sum_joined_groups(f);
    return true;
}

/* ---- columns of a table ------------------------------------------------------------------------------------------ */

/* The rows that the pipeline leaves, with the columns of both matrices. */
static const tra_rowwise *columns_of(factoring *f) {
    const product *p = f->own;
    int n = p->n[0] + (p->same || !p->f[1] ? 0 : p->n[1]);
    tra_projection columns = {.arena = f->a};
    tra_rowwise *r = tra_rowwise_new(f->a, f->pipe->source->type.columns);
    for (int i = 0; i < f->pipe->nselects; i++) tra_rowwise_select(r, f->pipe->select[i].x);
    for (int i = 0; i < n; i++) {
        const feature *c = i < p->n[0] ? &p->f[0][i] : &p->f[1][i - p->n[0]];
        const tra_colexpr *x;
        if (!tra_factor_real(f->a, c->x, &x)) return NULL;
        tra_projection_add(&columns, c->name, x);
    }
    tra_rowwise_project(r, n, columns.names, columns.x);
    return r;
}

/* array: Y, beside the rows; NULL: it is of the same table. */
static void sum_columns(factoring *f, const tra_expr *array) {
    enum { AT_ONCE = 16 }; /* products of a row that take as long as one operation of others */
    const product *p = f->own;
    int nx = p->n[0], ny = p->same ? nx : p->n[1];
    const tra_rowwise *r = columns_of(f);
    if (!r) return;
    tra_column_products *s = tra_new(f->a, tra_column_products);
    *s = (tra_column_products){r, nx, ny, p->same, array != NULL};
    double pairs = p->same ? nx * (nx + 1) / 2.0 : (double)nx * ny;
    tra_expr *source = tra_memo_expr(f->pipe->source);
    tra_rows_kernel k = tra_rows_op(&tra_column_products_ops, s, NULL);
    k.width = ny, k.extent = TRA_ROWS_FIXED, k.most = nx;
    k.use = array ? TRA_USE_JOIN : TRA_USE_MAP;
    k.flops = TRA_COLUMN_FLOPS * tra_rowwise_out(r)->n + 2.0 * f->pipe->nselects + pairs / AT_ONCE;
    tra_expr *sums = array ? tra_factor_beside(f, source, &array->node, false, &k) : tra_factor_pass(f, source, &k);
    if (sums && (sums = tra_factor_total(f, sums))) tra_factor_claim(f, sums, 0);
}

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

static void sum_matrices(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    opened o;
    bool joined = w->rule == &tra_rule_q_10;
    if (!y || !tra_open_sum(w, x, y, joined, &o)) return;
    if (!joined && o.kind != SUM_PRODUCTS && (o.kind != SUM_WEIGHED || o.p[0]->nselects > 0 || o.p[0]->refused)) return;
    const char *why = tra_sum_refused(w->m, &o);
    factoring *f = tra_factoring_new(w, x, y, o.p[0]);
    bool beside = o.array || o.weight;
    if (why) {
        tra_refuse(w, x, "%s", why);
    } else if (o.kind & (SUM_ROWS | SUM_WEIGHED)) {
        tra_weigh_rows(f, &o);
    } else if (!joined) {
        opened matrices = o;
        matrices.array = NULL; /* it lies beside the table, and is an operand */
        f->quiet = true;
        f->own = &f->product[0];
        if (!tra_factor_add(f, &matrices)) {
            tra_refuse(w, x, TRA_FACTOR_UNREAD);
            return;
        }
        if (o.array) f->own->n[1] = tra_factor_width(o.array);
        const tra_expr *array = o.array ? tra_factor_array(f, o.array) : NULL;
        if (array || !o.array) sum_columns(f, array);
    } else {
        bool all = sum_groups(f, TRA_FACTOR_ALL, NULL),
             some = sum_groups(tra_factoring_new(w, x, y, o.p[0]), beside ? TRA_FACTOR_BESIDE : TRA_FACTOR_PLAIN, NULL);
        if (!all && !some) (void)sum_groups(tra_factoring_new(w, x, y, o.p[0]), TRA_FACTOR_PLAIN, &o);
    }
}

const tra_rule tra_rule_q_10 = {
    .name = "Q-10",
    .equivalence = "X'Y, X' diag(w) Y and sums of columns of joined rows = sums over groups of the joins' keys, "
                   "joined; X W and sums of rows = sums of the joined tables' rows, joined",
    .condition =
        "columns of X and Y are f64 and never NULL; what they, predicates and keys read of the table together with "
        "another are whole numbers or words of few values, or factors of products (of X'Y); the joins check nothing of "
        "rows; they find no key twice, where Y is no matrix of the same rows or there are weights w; W is in one "
        "block, and a joined table has no unmatched rows (of X W); what divides the rows, as in X / q * Y, is the "
        "weight 1 / q",
    .forth = sum_matrices,
};

const tra_rule tra_rule_q_13 = {
    .name = "Q-13",
    .equivalence =
        "X'Y and X W of matrices of a table's columns = sums of products of the columns, and sums of weighed ones",
    .condition =
        "columns of X and Y, of the same rows of a table that is no join, are f64 and never NULL, and not many; "
        "Y may be a dense f64 array beside the rows; W is in one block; no rows are selected (of X W and arrays)",
    .forth = sum_matrices,
};
