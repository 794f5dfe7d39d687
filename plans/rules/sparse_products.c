/* sparse_products.c - rule Q-11: products of one factor from each side of a join, summed in groups that have no key of
 * the join, as a sparse product.
 *
 * The rows of the left table are entries (group columns, keys) of a matrix, those of the right one entries (keys, group
 * columns) of another: what is summed over pairs of rows is their product, which is added up entry by entry
 * (lib/table/products.h). The pairs are never made. In place of the pairs of a block and the states of their groups
 * there are these states at once, in the same order; so all that follows (the groups of all blocks together) is what it
 * was, and sums of f64 have the same terms in the same order.
 *
 * Source: man tra-table.5; Gustavson, ACM TOMS 1978.
 */
#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/products.h"
#include "sum_query.h"

enum { MOST_FACTORS = 16, DEEPEST = 8 };

/* What is made of one table: keys of the join, group columns, factors. */
typedef struct made_of {
    tra_projection columns;
    int ngroup, *group;
} made_of;

typedef struct multiplying {
    query *q;
    made_of of[2];
    tra_joined_sum *sum;
    tra_joined_sums *made;
} multiplying;

/* Adds a column to those that are made of a table, and returns its number. The expression is over the columns of the
 * join, and reads that table alone. */
static int add_column(multiplying *f, int side, const tra_colexpr *x) {
    tra_projection *p = &f->of[side].columns;
    return tra_projection_add(p, side_name(f->q, side, p->n), tra_colexpr_substitute(p->arena, x, f->q->of[side].by));
}

/* ---- what is summed ---------------------------------------------------------------------------------------------- */

typedef struct factors {
    int n[2];
    const tra_colexpr *v[2][MOST_FACTORS];
} factors;

/* x as factors that read one table each; conversions to the type of the product are taken off. */
static bool take_factors(const query *q, const tra_colexpr *x, factors *to) {
    int sides = tra_sides_read(q, x), side = sides == READS_RIGHT;
    if (sides != READS_BOTH) {
        to->v[side][to->n[side]++] = x;
        return to->n[side] < MOST_FACTORS;
    }
    if (x->op == TRA_C_CONVERT && tra_coltype_is_number(x->type) && !x->fails && x->type != TRA_COL_F32)
        return take_factors(q, x->kids[0], to);
    return x->op == TRA_C_MUL && take_factors(q, x->kids[0], to) && take_factors(q, x->kids[1], to);
}

/* *out becomes the product of the factors of one table as a column of it, of the sum's type; -1: there is none. */
static const char *product_of(multiplying *f, const factors *v, int side, bool whole, int *out) {
    const tra_colexpr *all = NULL;
    tra_arena *a = f->q->a;
    *out = -1;
    for (int i = 0; i < v->n[side]; i++) {
        const tra_colexpr *both[2] = {all, v->v[side][i]};
        if (tra_colexpr_convert(a, both[1], whole ? TRA_COL_I64 : TRA_COL_F64, NULL, &both[1], NULL) != TRA_OK ||
            (all && tra_colexpr_call(a, TRA_C_MUL, 2, both, &all, NULL) != TRA_OK))
            return "a factor is no number";
        if (!all) all = both[1];
    }
    if (all && tra_may_fail(all)) return "a factor may not be computed for every row";
    if (all) *out = add_column(f, side, all);
    return NULL;
}

static const char *add_sum(multiplying *f, int i) {
    const query *q = f->q;
    const tra_group_column *c = &q->aggregate[i];
    tra_joined_sum *s = &f->sum[i];
    factors v = {0};
    *s = (tra_joined_sum){.left = -1, .right = -1, .whole = true};
    s->count = tra_group_count_state(q->g, i), s->state = tra_group_state(q->g, i);
    s->wide = tra_group_nstates(q->g, i) == 2;
    if (c->column < 0) return NULL;
    const tra_colexpr *x = q->x[c->column];
    if (!take_factors(q, x, &v)) return "what is summed is no product of one factor from each table";
    if (x->fails && (v.n[0] > 1 || v.n[1] > 1)) /* whether it fits would depend on the order of the factors */
        return "a product of several whole numbers may not fit its type";
    if (!tra_coltype_is_number(x->type)) return "what is counted is no number";
    s->summed = c->f != TRA_AGGREGATE_COUNT;
    s->whole = !tra_coltype_is_float(x->type);
    const char *why = product_of(f, &v, LEFT, s->whole, &s->left);
    return why ? why : product_of(f, &v, RIGHT, s->whole, &s->right);
}

/* Finds the columns of both tables: keys of the join, columns of the groups, factors. */
static const char *set_columns(multiplying *f) {
    query *q = f->q;
    const char *why = tra_sums_refused(q, AS_PRODUCT);
    f->made = tra_new(q->a, tra_joined_sums);
    f->sum = tra_news(q->a, tra_joined_sum, q->naggregates + 1);
    for (int d = LEFT; d <= RIGHT && !why; d++) {
        made_of *m = &f->of[d];
        *m = (made_of){.columns.arena = q->a, .group = tra_news(q->a, int, q->nkeys + 1)};
        for (int k = 0; k < q->s->nkeys; k++) {
            int column = d == LEFT ? q->s->lkey[k] : q->s->rkey[k];
            tra_projection_add(&m->columns, side_name(q, d, k), tra_colexpr_column(q->a, q->of[d].in, column));
        }
    }
    for (int k = 0; k < q->nkeys && !why; k++) {
        int d = side_of_column(q, k);
        f->of[d].group[f->of[d].ngroup++] = add_column(f, d, q->x[k]);
    }
    for (int i = 0; i < q->naggregates && !why; i++) why = add_sum(f, i);
    *f->made = (tra_joined_sums){.nleft = f->of[LEFT].ngroup,
                                 .left = f->of[LEFT].group,
                                 .nright = f->of[RIGHT].ngroup,
                                 .right = f->of[RIGHT].group,
                                 .right_first = q->nkeys > 0 && q->reads[0] == READS_RIGHT,
                                 .n = q->naggregates,
                                 .v = f->sum};
    return why;
}

/* ---- expressions of the memo ------------------------------------------------------------------------------------- */

/* The keys of the join, then the other columns of one table. */
static tra_expr *side_of(const multiplying *f, int d) {
    const query *q = f->q;
    const tra_rowwise *r = tra_projection_pass(&f->of[d].columns, q->of[d].in);
    tra_expr *made = tra_make_below(q->w, q->group, tra_proto_pass(q->w, q->of[d].rows, r));
    if (!made || d == LEFT || q->right == q->join->node.in[1]) return made;
    tra_node n = (tra_node){.op = TRA_OP_CONCAT, .in = {&made->node}};
    return tra_make_below(q->w, q->group, n);
}

static const char *product_text(const multiplying *f) {
    const query *q = f->q;
    const char *between = "";
    tra_str t = {0};
    tra_str_add(&t, "sparse product [");
    for (int i = 0; i < 2; i++) {
        int d = f->made->right_first != i;
        for (int k = 0; k < f->of[d].ngroup; k++, between = ", ") {
            tra_str_add(&t, between);
            tra_colexpr_print(f->of[d].columns.x[f->of[d].group[k]], q->of[d].in, &t);
        }
    }
    tra_str_add(&t, "] over ");
    for (int k = 0; k < q->s->nkeys; k++)
        tra_str_printf(&t, "%s%s == %s", k ? " && " : "", q->s->left->v[q->s->lkey[k]].name,
                       q->s->right->v[q->s->rkey[k]].name);
    tra_str_printf(&t, "%s%s: ", q->s->nulls_match ? ", nulls = match" : "", q->s->unique ? ", expect = \"m:1\"" : "");
    for (int i = 0; i < q->naggregates; i++) {
        const tra_joined_sum *s = &f->sum[i];
        tra_str_printf(&t, "%s%s(", i ? ", " : "", s->summed ? "sum" : "count");
        if (s->left >= 0) tra_colexpr_print(f->of[LEFT].columns.x[s->left], q->s->left, &t);
        if (s->left >= 0 && s->right >= 0) tra_str_add(&t, " * ");
        if (s->right >= 0) tra_colexpr_print(f->of[RIGHT].columns.x[s->right], q->s->right, &t);
        tra_str_add(&t, ")");
    }
    return tra_arena_take(q->a, &t);
}

/* What each row of both tables takes: to be found and ordered, and its part of the pairs. A right table in one block
 * is gone through for each block of the left one. */
static double flops_of(const multiplying *f, const tra_expr *l, const tra_expr *r) {
    double times = (double)l->node.type.cat->n;
    double rows = tra_rows_expected(&l->node) + times * tra_rows_expected(&r->node),
           pairs = tra_rows_expected(&f->q->join->node);
    return 45 + (2 + 3.0 * f->made->n) * pairs / (rows > 1 ? rows : 1);
}

/* The share of the bound of rows that the groups of a block are expected to have. */
static double share_of(const query *q, const tra_expr *l, const tra_expr *r) {
    double share = tra_share_expected(&q->group->node.type), left = tra_share_expected(&l->node.type),
           right = tra_share_expected(&r->node.type), least = left < right ? left : right;
    least = least < 1 ? least : 1;
    return least > 0 && share < least ? share / least : 1;
}

static void multiply(query *q) {
    multiplying f = {.q = q};
    if (tra_refused(q->w, q->group, set_columns(&f))) return;
    tra_expr *l = side_of(&f, LEFT), *r = l ? side_of(&f, RIGHT) : NULL;
    tra_lookup_spec s = *q->s;
    tra_lookup *lookup;
    tra_err e = {0};
    int *key = tra_news(q->a, int, s.nkeys + 1);
    if (!r) return;
    for (int k = 0; k < s.nkeys; k++) key[k] = k;
    s.left = l->node.type.columns;
    s.right = r->node.type.columns;
    s.lkey = s.rkey = key;
    if (tra_lookup_new(q->a, &s, &lookup, &e) != TRA_OK) {
        tra_refuse(q->w, q->group, "%s", e.msg);
        return;
    }
    bool partial = tra_group_pass_of(q->g) == TRA_GROUP_PARTIAL, divided = q->right != q->join->node.in[1];
    f.made->l = lookup;
    f.made->out = tra_group_out(tra_group_as(q->a, q->g, TRA_GROUP_PARTIAL));
    const tra_rows_kernel *was = tra_kernel_rows(q->group->node.kernel);
    tra_rows_kernel k = tra_rows_op(&tra_joined_sums_ops, f.made, f.made->out);
    k.label = product_text(&f), k.use = TRA_USE_JOIN, k.extent = divided ? TRA_ROWS_PAIRS : TRA_ROWS_PRODUCT;
    k.most = divided ? q->group->node.type.cat->bound.v[0] : was->extent == TRA_ROWS_MOST ? was->most : 1;
    k.counts = true, k.share = share_of(q, l, r), k.flops = flops_of(&f, l, r);
    tra_node n = {.op = TRA_OP_JOIN, .in = {&l->node, &r->node}, .kernel = tra_rows_kernel_of(q->a, &k)};
    if (partial) {
        tra_claim(q->w, q->group, q->join, n, l, r);
        return;
    }
    tra_expr *sums = tra_make_below(q->w, q->group, n);
    if (!sums) return;
    k = *was;
    k.label = tra_arena_printf(q->a, "final %s", was->text);
    k.data = tra_group_as(q->a, q->g, TRA_GROUP_FINAL);
    tra_claim(q->w, q->group, q->join, tra_proto_transform(tra_rows_kernel_of(q->a, &k), &sums->node), sums, NULL);
}

/* Is there a join below the pass, and passes that select rows between them? Where these read one table alone, Q-2 and
 * Q-3 make passes without them. */
static bool selects_joined(const tra_memo *m, const tra_expr *pass, int deep) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, pass->in[0])];
    bool selects = tra_rowwise_selects(tra_rowwise_of_expr(pass));
    for (int i = 0; i < g->n; i++) {
        const tra_expr *z = m->v[g->expr[i]];
        const tra_node *right;
        if (selects && tra_join_of(m, z, &right)) return true;
        const tra_rowwise *r = tra_rowwise_of_expr(z);
        if (deep > 0 && r && tra_rowwise_selects(r) && selects_joined(m, z, deep - 1)) return true;
    }
    return false;
}

/* Groups over a pass over a join: the pass may be any that is known, the join too. */
static void sum_products(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_memo *m = w->m;
    if (!y || !tra_group_of_rows(x)) return;
    const tra_rowwise *r = tra_rowwise_of_expr(y);
    if (!r || tra_rowwise_is_matrix(r, NULL)) return;
    int group = tra_memo_find(m, y->in[0]);
    for (int i = 0; i < m->group[group].n; i++) {
        query q;
        if (tra_read_query(&q, w, x, y, m->v[m->group[group].expr[i]])) multiply(&q);
    }
    if (selects_joined(m, y, DEEPEST)) tra_refuse(w, x, "rows are selected between the join and the groups");
}

const tra_rule tra_rule_q_11 = {
    .name = "Q-11",
    .equivalence = "group(join(L, R, k == k), [l, r], sum(x * y)) = the sparse product of L's entries (l, k) and R's "
                   "entries (k, r)",
    .condition =
        "an inner join by keys alone, which checks nothing of rows; no key of it among those of the groups, each "
        "of which reads one table; sums, means and counts of products of one factor from each table, all of "
        "which can be computed for every row",
    .forth = sum_products,
};
