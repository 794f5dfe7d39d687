/* q11.c - rule Q-11: products of one factor from each side of a join, summed in groups that have no key of the join, as
 * a sparse product.
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
#include "../../lib/table/parts.h"
#include "../../lib/table/products.h"
#include "pipeline.h"

enum { MOST_FACTORS = 16, DEEPEST = 8 };

typedef struct multiplying {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *x;           /* the groups */
    const tra_expr *z;     /* the join, or the operator that puts the partners which it found beside rows, */
    const tra_lookup *l;   /* its kernel, */
    const tra_node *in[2]; /* and its tables; `divided`: the right one is in several blocks */
    bool divided;
    const tra_lookup_spec *s;
    const tra_group *g;
    int n;                        /* columns that are grouped and aggregated: */
    const tra_colexpr *const *of; /* over the columns of the join */
    int nside[2];                 /* columns that are made of each table: keys, group columns, factors */
    const char **names[2];
    const tra_colexpr **column[2];
    int ngroup[2], *group[2];
    tra_joined_sum *sum;
    tra_joined_sums *made;
} multiplying;

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* Which tables an expression over the join's columns reads: 1 the left, 2 the right. */
static int sides_of(const multiplying *f, const tra_colexpr *x) {
    int sides = 0;
    if (x->op == TRA_C_COLUMN) return tra_lookup_from(f->l)[x->column] < f->s->left->n ? 1 : 2;
    for (int i = 0; i < x->nkids; i++) sides |= sides_of(f, x->kids[i]);
    return sides;
}

/* Can every value of the expression be computed? If not, a row without partner, for which the value is not computed
 * now, would become an error. */
static bool is_total(const tra_colexpr *x) {
    if (x->fails || x->op == TRA_C_ROW) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!is_total(x->kids[i])) return false;
    return true;
}

/* Adds a column to those that are made of a table, unless it is there, and returns its number. The expression is over
 * the columns of the join, and reads that table alone. */
static int add_column(multiplying *f, int side, const tra_colexpr *x) {
    const tra_schema *out = tra_lookup_out(f->l), *own = side ? f->s->right : f->s->left;
    const tra_colexpr **by = tra_news(f->a, const tra_colexpr *, out->n + 1);
    for (int i = 0; i < out->n; i++) {
        int from = tra_lookup_from(f->l)[i] - (side ? f->s->left->n : 0);
        if (from >= 0 && from < own->n) by[i] = tra_colexpr_column(f->a, own, from);
    }
    int n = f->nside[side]++;
    f->column[side][n] = tra_colexpr_substitute(f->a, x, by);
    f->names[side][n] = tra_arena_printf(f->a, "%c%d", side ? 'r' : 'l', n);
    return n;
}

/* ---- what is grouped --------------------------------------------------------------------------------------------- */

static bool is_key(const multiplying *f, const tra_colexpr *x) {
    if (x->op != TRA_C_COLUMN) return false;
    int from = tra_lookup_from(f->l)[x->column];
    for (int k = 0; k < f->s->nkeys; k++)
        if (from == f->s->lkey[k] || from == f->s->left->n + f->s->rkey[k]) return true;
    return false;
}

static bool add_group_columns(multiplying *f) {
    int last = 0;
    for (int k = 0; k < tra_group_keys(f->g); k++) {
        const tra_colexpr *x = f->of[k];
        int sides = sides_of(f, x), side = sides == 2;
        if (!is_total(x)) return tra_refuse(f->w, f->x, "a key of the groups may not be computed for every row"), false;
        if (sides == 3) return tra_refuse(f->w, f->x, "a key of the groups reads both tables"), false;
        if (is_key(f, x)) {
            tra_refuse(f->w, f->x, "a key of the join is among those of the groups: nothing is summed over it");
            return false;
        }
        if (k > 0 && side != last && f->ngroup[side] > 0) {
            tra_refuse(f->w, f->x, "the keys of the groups go from one table to the other and back");
            return false;
        }
        if (k == 0) f->made->right_first = side;
        last = side;
        f->group[side][f->ngroup[side]++] = add_column(f, side, x);
    }
    return true;
}

/* ---- what is summed ---------------------------------------------------------------------------------------------- */

typedef struct factors {
    int n[2];
    const tra_colexpr *v[2][MOST_FACTORS];
} factors;

/* x as factors that read one table each; conversions to the type of the product are taken off. */
static bool take_factors(const multiplying *f, const tra_colexpr *x, factors *to) {
    int sides = sides_of(f, x), side = sides == 2;
    if (sides != 3) {
        to->v[side][to->n[side]++] = x;
        return to->n[side] < MOST_FACTORS;
    }
    if (x->op == TRA_C_CONVERT && tra_coltype_is_number(x->type) && !x->fails && x->type != TRA_COL_F32)
        return take_factors(f, x->kids[0], to);
    if (x->op != TRA_C_MUL) return false;
    return take_factors(f, x->kids[0], to) && take_factors(f, x->kids[1], to);
}

/* The product of the factors of one table as a column of it, of the sum's type; -1: none; -2: after a refusal. */
static int product_of(multiplying *f, const factors *v, int side, bool whole) {
    const tra_colexpr *all = NULL;
    for (int i = 0; i < v->n[side]; i++) {
        const tra_colexpr *both[2] = {all, v->v[side][i]};
        tra_coltype t = whole ? TRA_COL_I64 : TRA_COL_F64;
        if (tra_colexpr_convert(f->a, both[1], t, NULL, &both[1], NULL) != TRA_OK) return -2;
        if (!all)
            all = both[1];
        else if (tra_colexpr_call(f->a, TRA_C_MUL, 2, both, &all, NULL) != TRA_OK)
            return -2;
    }
    if (!all) return -1;
    if (is_total(all)) return add_column(f, side, all);
    tra_refuse(f->w, f->x, "a factor may not be computed for every row");
    return -2;
}

static bool add_sum(multiplying *f, int i, const tra_group_column *c) {
    tra_joined_sum *s = &f->sum[i];
    factors v = {0};
    *s = (tra_joined_sum){.left = -1, .right = -1, .whole = true, .state = tra_group_state(f->g, i)};
    if (c->f != TRA_AGGREGATE_COUNT && c->f != TRA_AGGREGATE_SUM && c->f != TRA_AGGREGATE_MEAN) {
        tra_refuse(f->w, f->x, "%s is no sum over pairs of rows", tra_aggregate_text(c->f));
        return false;
    }
    if (c->column < 0) return true;
    const tra_colexpr *x = f->of[c->column];
    if (!take_factors(f, x, &v)) {
        tra_refuse(f->w, f->x, "what is summed is no product of one factor from each table");
        return false;
    }
    if (x->fails && (v.n[0] > 1 || v.n[1] > 1)) { /* whether it fits would depend on the order of the factors */
        tra_refuse(f->w, f->x, "a product of several whole numbers may not fit its type");
        return false;
    }
    s->summed = c->f != TRA_AGGREGATE_COUNT;
    s->whole = !tra_coltype_is_float(x->type);
    if (!tra_coltype_is_number(x->type)) return tra_refuse(f->w, f->x, "what is counted is no number"), false;
    s->left = product_of(f, &v, 0, s->whole);
    s->right = s->left == -2 ? -2 : product_of(f, &v, 1, s->whole);
    return s->right != -2;
}

/* ---- expressions of the memo ------------------------------------------------------------------------------------- */

static bool may_multiply(multiplying *f) {
    const char *why = f->s->how != TRA_LOOKUP_INNER ? "the join is no inner one"
                      : f->s->nkeys == 0            ? "the join has no keys"
                                                    : tra_lookup_refused(f->l);
    if (why) tra_refuse(f->w, f->x, "%s", why);
    return !why;
}

/* The keys of the join, then the other columns of one table. */
static tra_expr *side_of(multiplying *f, int side) {
    tra_rowwise *r = tra_rowwise_new(f->a, side ? f->s->right : f->s->left);
    tra_str text = {0};
    tra_rowwise_project(r, f->nside[side], f->names[side], f->column[side]);
    tra_rowwise_print(r, &text);
    tra_rows_kernel k = {.text = tra_arena_strndup(f->a, tra_str_get(&text), text.n),
                         .use = TRA_USE_MAP,
                         .columns = tra_rowwise_out(r),
                         .dtype = TRA_F64,
                         .rows = TRA_ROWS_SAME,
                         .share = 1,
                         .flops = TRA_COLUMN_FLOPS * f->nside[side],
                         .ops = &tra_rowwise_ops,
                         .data = r};
    tra_str_free(&text);
    tra_node n = tra_proto_transform(tra_kernel_of_rows(f->a, &k), f->in[side]);
    tra_expr *made = tra_make_below(f->w, f->x, &n);
    if (!made || side == 0 || !f->divided) return made;
    n = (tra_node){.op = TRA_OP_CONCAT, .in = {&made->node}, .span = f->x->node.span};
    return tra_make_below(f->w, f->x, &n);
}

static void print_columns(const multiplying *f, tra_str *t) {
    for (int first = f->made->right_first, i = 0; i < 2; i++) {
        int side = i ? !first : first;
        for (int k = 0; k < f->ngroup[side]; k++) {
            tra_str_add(t, t->n && tra_str_get(t)[t->n - 1] != '[' ? ", " : "");
            tra_colexpr_print(f->column[side][f->group[side][k]], side ? f->s->right : f->s->left, t);
        }
    }
}

static const char *product_text(const multiplying *f) {
    tra_str t = {0};
    tra_str_add(&t, "sparse product [");
    print_columns(f, &t);
    tra_str_add(&t, "] over ");
    for (int k = 0; k < f->s->nkeys; k++)
        tra_str_printf(&t, "%s%s == %s", k ? " && " : "", f->s->left->v[f->s->lkey[k]].name,
                       f->s->right->v[f->s->rkey[k]].name);
    tra_str_printf(&t, "%s%s: ", f->s->nulls_match ? ", nulls = match" : "", f->s->unique ? ", expect = \"m:1\"" : "");
    for (int i = 0; i < f->made->n; i++) {
        const tra_joined_sum *s = &f->sum[i];
        tra_str_printf(&t, "%s%s(", i ? ", " : "", s->summed ? "sum" : "count");
        if (s->left >= 0) tra_colexpr_print(f->column[0][s->left], f->s->left, &t);
        if (s->left >= 0 && s->right >= 0) tra_str_add(&t, " * ");
        if (s->right >= 0) tra_colexpr_print(f->column[1][s->right], f->s->right, &t);
        tra_str_add(&t, ")");
    }
    const char *text = tra_arena_strndup(f->a, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

/* What each row of both tables takes: to be found and ordered, and its part of the pairs. A right table in one block
 * is gone through for each block of the left one. */
static double flops_of(const multiplying *f, const tra_expr *l, const tra_expr *r) {
    double times = (double)l->node.type.cat->n;
    double rows = tra_rows_expected(&l->node) + times * tra_rows_expected(&r->node),
           pairs = tra_rows_expected(&f->z->node);
    return 30 + (2 + 3.0 * f->made->n) * pairs / (rows > 1 ? rows : 1);
}

/* The share of the bound of rows that the groups of a block are expected to have. */
static double share_of(const multiplying *f, const tra_expr *l, const tra_expr *r) {
    double share = tra_rows_expected(&f->x->node) / (double)tra_max64(1, tra_catalog_elements(f->x->node.type.cat));
    const tra_expr *in[2] = {l, r};
    double least = 1;
    for (int i = 0; i < 2; i++) {
        double own = tra_rows_expected(&in[i]->node) / (double)tra_max64(1, tra_catalog_elements(in[i]->node.type.cat));
        least = own < least ? own : least;
    }
    return least > 0 && share < least ? share / least : 1;
}

static void build(multiplying *f) {
    tra_expr *l = side_of(f, 0), *r = l ? side_of(f, 1) : NULL;
    tra_lookup_spec s = *f->s;
    tra_lookup *lookup;
    tra_err e = {0};
    int *key = tra_news(f->a, int, s.nkeys + 1);
    if (!r) return;
    for (int k = 0; k < s.nkeys; k++) key[k] = k;
    s.left = l->node.type.columns;
    s.right = r->node.type.columns;
    s.lkey = s.rkey = key;
    if (tra_lookup_new(f->a, &s, &lookup, &e) != TRA_OK) return tra_refuse(f->w, f->x, "%s", e.msg);
    bool partial = tra_group_pass_of(f->g) == TRA_GROUP_PARTIAL;
    const tra_group *states = tra_group_as(f->a, f->g, TRA_GROUP_PARTIAL);
    f->made->l = lookup;
    f->made->out = tra_group_out(states);
    const tra_rows_kernel *was = tra_kernel_rows(f->x->node.kernel);
    tra_rows_kernel k = {.text = product_text(f),
                         .use = TRA_USE_JOIN,
                         .columns = f->made->out,
                         .dtype = TRA_F64,
                         .rows = f->divided ? TRA_ROWS_PAIRS : TRA_ROWS_PRODUCT,
                         .most = f->divided                   ? f->x->node.type.cat->bound.v[0]
                                 : was->rows == TRA_ROWS_MOST ? was->most
                                                              : 1,
                         .counts = true,
                         .share = share_of(f, l, r),
                         .flops = flops_of(f, l, r),
                         .ops = &tra_joined_sums_ops,
                         .data = f->made};
    tra_node n = {
        .op = TRA_OP_JOIN, .in = {&l->node, &r->node}, .kernel = tra_kernel_of_rows(f->a, &k), .span = f->x->node.span};
    if (partial) {
        tra_claim(f->w, f->x, f->z, 0, &n, l, r);
        return;
    }
    tra_expr *sums = tra_make_below(f->w, f->x, &n);
    if (!sums) return;
    k = *was;
    k.text = tra_arena_printf(f->a, "final %s", was->text);
    k.data = tra_group_as(f->a, f->g, TRA_GROUP_FINAL);
    n = tra_proto_transform(tra_kernel_of_rows(f->a, &k), &sums->node);
    tra_claim(f->w, f->x, f->z, 0, &n, sums, NULL);
}

/* Groups x of columns `of` over the join z. */
static void multiply(tra_rewriting *w, tra_expr *x, const tra_expr *z, int n, const tra_colexpr *const *of) {
    tra_arena *a = w->m->arena;
    const tra_group *g = tra_kernel_rows(x->node.kernel)->data;
    const tra_node *right;
    const tra_lookup *l = tra_join_of(w->m, z, &right);
    multiplying f = {.w = w, .a = a, .x = x, .z = z, .l = l, .s = tra_lookup_spec_of(l), .g = g, .n = n, .of = of};
    f.in[0] = z->node.in[0];
    f.in[1] = right;
    f.divided = right != z->node.in[1];
    const tra_group_column *v;
    int sums = tra_group_columns(g, &v);
    if (!may_multiply(&f)) return;
    f.made = tra_new(a, tra_joined_sums);
    f.sum = tra_news(a, tra_joined_sum, sums + 1);
    for (int side = 0; side < 2; side++) {
        int most = f.s->nkeys + tra_group_keys(g) + sums + 1;
        f.names[side] = tra_news(a, const char *, most);
        f.column[side] = tra_news(a, const tra_colexpr *, most);
        f.group[side] = tra_news(a, int, most);
        for (int k = 0; k < f.s->nkeys; k++) {
            int column = side ? f.s->rkey[k] : f.s->lkey[k];
            f.column[side][k] = tra_colexpr_column(a, side ? f.s->right : f.s->left, column);
            f.names[side][k] = tra_arena_printf(a, "%c%d", side ? 'r' : 'l', k);
        }
        f.nside[side] = f.s->nkeys;
    }
    if (!add_group_columns(&f)) return;
    for (int i = 0; i < sums; i++)
        if (!add_sum(&f, i, &v[i])) return;
    f.made->nleft = f.ngroup[0], f.made->left = f.group[0];
    f.made->nright = f.ngroup[1], f.made->right = f.group[1];
    f.made->n = sums;
    f.made->v = f.sum;
    build(&f);
}

/* The columns of a pass that selects no rows, over those of what it is a pass over; NULL: it selects some. */
static const tra_colexpr *const *columns_of(tra_arena *a, const tra_rowwise *r, int *n) {
    const tra_rowwise_step *v;
    int steps = tra_rowwise_steps(r, &v);
    const tra_colexpr *const *of = NULL;
    for (int i = 0; i < steps; i++) {
        if (v[i].selects) return NULL;
        const tra_colexpr **now = tra_news(a, const tra_colexpr *, v[i].n + 1);
        for (int k = 0; k < v[i].n; k++) now[k] = of ? tra_colexpr_substitute(a, v[i].x[k], of) : v[i].x[k];
        of = now;
        *n = v[i].n;
    }
    return of;
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
static void sum_products(tra_rewriting *w, tra_expr *x, tra_expr *y, int side) {
    const tra_rows_kernel *k = x->node.op == TRA_OP_TRANSFORM ? tra_kernel_rows(x->node.kernel) : NULL;
    const tra_memo *m = w->m;
    (void)side;
    if (!y || !k || k->ops != &tra_group_ops) return;
    tra_group_pass pass = tra_group_pass_of(k->data);
    if (pass != TRA_GROUP_PARTIAL && pass != TRA_GROUP_WHOLE) return; /* of states, not of the join's rows */
    const tra_rowwise *r = tra_rowwise_of_expr(y);
    if (!r || tra_rowwise_is_matrix(r, NULL)) return;
    int n = 0, group = tra_memo_find(m, y->in[0]);
    const tra_colexpr *const *of = NULL;
    for (int i = 0; i < m->group[group].n; i++) {
        const tra_expr *z = m->v[m->group[group].expr[i]];
        const tra_node *right;
        if (!tra_join_of(m, z, &right)) continue;
        if (of || (of = columns_of(m->arena, r, &n))) multiply(w, x, z, n, of);
    }
    if (selects_joined(m, y, DEEPEST)) tra_refuse(w, x, "rows are selected between the join and the groups");
}

#define JOINED "J = join(trip, shop, k == k)\n"
#define SUMMED "X = matrix(G, [s])\nZ[a,b] = sum X[n,a] * X[n,b]\n"

const tra_rule tra_rule_q_11 = {
    .name = "Q-11",
    .equivalence = "group(join(L, R, k == k), [l, r], sum(x * y)) = the sparse product of L's entries (l, k) and R's "
                   "entries (k, r)",
    .condition =
        "an inner join by keys alone, which checks nothing of rows; no key of it among those of the groups, each "
        "of which reads one table; sums, means and counts of products of one factor from each table, all of "
        "which can be computed for every row",
    .forth = sum_products,
    .cases = {
        {.program = JOINED "G = group(J, [j, b], s = sum(x * v))\n" SUMMED,
         .makes = "sparse product [j, b] over k == k: sum(x * v)"},
        {.program = JOINED "G = group(J, [b, j], s = mean(x * 2 * v), c = count())\n" SUMMED,
         .makes = "sparse product [b, j] over"},
        {.program = JOINED "G = group(J, [], s = sum(v * x))\n" SUMMED, .makes = "sparse product [] over"},
        {.program = JOINED "G = group(select(J, x > 0 && v < 1), [j], s = sum(x * v))\n" SUMMED,
         .refused = "rows are selected",
         .tables = true},
        {.program = JOINED "G = group(J, [k, j], s = sum(x * v))\n" SUMMED,
         .refused = "a key of the join is among",
         .tables = true},
        {.program = JOINED "G = group(J, [a = j * v], s = sum(x * v))\n" SUMMED,
         .refused = "reads both",
         .tables = true},
        {.program = JOINED "G = group(J, [j, b, s], t = sum(x * v))\n"
                           "X = matrix(G, [t])\nZ[a,b] = sum X[n,a] * X[n,b]\n",
         .refused = "from one table to the other and back",
         .tables = true},
        {.program = JOINED "G = group(J, [j], s = max(x * v))\nX = matrix(G, [s], fill = 0)\n"
                           "Z[a,b] = sum X[n,a] * X[n,b]\n",
         .refused = "max is no sum",
         .tables = true},
        {.program = JOINED "G = group(J, [j], s = sum(x + v))\n" SUMMED,
         .refused = "no product of one factor from each",
         .tables = true},
        {.program = "H2 = project(shop, k, h = k + 1)\nJ = join(trip, H2, k == k)\n"
                    "G = group(J, [j], s = sum(n * n * h))\n" SUMMED,
         .refused = "a factor may not be computed",
         .tables = true},
        {.program = "H2 = project(shop, k, h = k + 1)\nJ = join(trip, H2, k == k)\n"
                    "G = group(J, [j], s = sum(n * h * n))\n" SUMMED,
         .refused = "several whole numbers may not fit",
         .tables = true},
        {.program = "J = join(trip, shop, k == k, how = left)\nG = group(J, [j], s = sum(x * v))\n" SUMMED,
         .refused = "no inner one",
         .tables = true},
        {.program = "J = join(trip, shop, k == k && x < v)\nG = group(J, [j], s = sum(x * v))\n" SUMMED,
         .refused = "further conditions",
         .tables = true},
        {.program = "J = join(trip, shop, k == k, matched = left)\nG = group(J, [j], s = sum(x * v))\n" SUMMED,
         .refused = "all rows are matched",
         .tables = true},
    }};
