/* gather_products.c - rule Q-5 for rows that lie scattered: of a product of matrices whose rows become rows of a table,
 * and of which a join or a predicate then leaves some, those are computed.
 *
 * Only the run tells which rows these are. So the rule makes a table of the positions of all rows, to which the same
 * join or predicate is applied. The operand's rows at the positions that are left are gathered, and multiplied with the
 * other operand; the result has these rows alone, beside their positions. The product may lie below operators that work
 * element by element, or on elements that labels align; the other operands of these are gathered too.
 *
 * Source: selection and multiplication in Wen, TensorTable, TBench 2024, section 5.
 */
#include <math.h>
#include <string.h>

#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"
#include "../tra/cardinality.h"
#include "slice_products.h"

/* ---- rows of tables ---------------------------------------------------------------------------------------------- */

/* The rows of a tensor, with their positions; of a product, maybe further down. */
static bool open_rows(gathering *f, tra_rewriting *w, const tra_expr *x, const tra_expr *y) {
    const tra_rows_kernel *k = y->node.op == TRA_OP_JOIN ? tra_rows_op_of(&y->node) : NULL;
    if (!k || (k->ops != &tra_entries_ops && k->ops != &tra_unmatrix_ops) || y->node.in[1]->op != TRA_OP_INPUT ||
        y->in[0] == y->in[1])
        return false;
    *f = (gathering){.w = w, .a = w->m->arena, .x = x, .y = y, .border = k->data, .index = y->node.in[1]};
    f->block = tra_max64(1, y->node.in[0]->type.cat->bound.v[0]);
    return f->border->rank > 0 && y->node.in[0]->type.cat->frontier.n == 1;
}

/* The group of the tensor before it was cut into blocks of whole rows. */
static int tensor_of(const gathering *f) {
    const tra_expr *x = f->w->m->v[tra_gather_group(f, f->y->in[0])->expr[0]];
    if (x->node.op == TRA_OP_REKEY) x = f->w->m->v[tra_gather_group(f, x->in[0])->expr[0]];
    return x->group;
}

/* The table of all positions: labels as the rows have them, and the positions. */
static tra_expr *all_positions(const gathering *f) {
    tra_border *b = tra_new(f->a, tra_border);
    const tra_schema *s;
    tra_column *v = tra_schema_beside(f->a, NULL, 2, &s);
    v[0] = f->border->out->v[0];
    v[1] = (tra_column){.name = strcmp(v[0].name, "position") == 0 ? "at" : "position", .type = TRA_COL_I64};
    *b = (tra_border){.rank = 1, .label = {f->border->label[0]}, .out = s};
    tra_rows_kernel k = tra_rows_op(&tra_entries_ops, b, s);
    k.extent = TRA_ROWS_ELEMENTS, k.most = INT64_MAX, k.flops = tra_rows_op_of(&f->y->node)->flops;
    return tra_make_below(f->w, f->x, tra_proto_rows_by(f->w, &k, f->index, f->index));
}

/* The rows of the tensor that stand at positions which are left. */
static tra_expr *rows_left(gathering *f, const tra_expr *positions) {
    tra_rowwise *r = tra_rowwise_new(f->a, positions->node.type.columns);
    const tra_colexpr *at = tra_colexpr_column(f->a, positions->node.type.columns, 1);
    const char *name = "position";
    if (tra_rowwise_matrix(r, 1, &name, &at, TRA_I64, NULL, NULL) != TRA_OK) return NULL;
    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, r, NULL);
    k.dtype = TRA_I64, k.width = 1, k.flops = 1;
    f->positions = tra_make_below(f->w, f->x, tra_proto_rows(f->w, &k, &positions->node, NULL));
    tra_expr *rows = f->positions ? tra_gather_left(f, tensor_of(f)) : NULL;
    if (!rows) return NULL;
    return tra_make_below(f->w, f->x,
                          (tra_node){.op = TRA_OP_JOIN,
                                     .in = {&rows->node, &f->positions->node},
                                     .join = {.l = {.n = 1}, .r = {.n = 1}},
                                     .kernel = f->y->node.kernel});
}

static bool has_product(const gathering *f) {
    if (tra_gather_has_product(f, tensor_of(f))) return true;
    return tra_refuse(f->w, f->x, "no product of two tensors in blocks is below, of which some rows could be left out");
}

/* ---- by a join --------------------------------------------------------------------------------------------------- */

/* Positions whose rows have a partner in the table `with`, by that many keys of all positions and of that table. */
static tra_expr *matched(const gathering *f, int nkeys, const int *lkey, const int *rkey, const tra_expr *with) {
    const tra_expr *all = all_positions(f);
    tra_lookup *l;
    tra_lookup_spec s = {
        .right = with->node.type.columns, .how = TRA_LOOKUP_SEMI, .nkeys = nkeys, .lkey = lkey, .rkey = rkey};
    if (!all) return NULL;
    s.left = all->node.type.columns;
    if (tra_lookup_new(f->a, &s, &l, NULL) != TRA_OK) return NULL;
    double rows = (double)tra_catalog_elements(with->node.type.cat),
           n = (double)tra_catalog_elements(f->index->type.cat);
    tra_rows_kernel k = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    k.counts = true, k.kept = TRA_KEPT_MET, k.share = fmin(1, rows / fmax(1, n)), k.flops = 20;
    return tra_make_below(f->w, f->x, tra_proto_rows(f->w, &k, &all->node, &with->node));
}

/* Positions whose rows have a partner on the right. */
static tra_expr *matched_positions(const gathering *f, const tra_expr *lookup, const tra_expr *right) {
    const tra_lookup_spec *own = tra_lookup_spec_of(tra_lookup_of_expr(lookup));
    int *lkey = tra_news(f->a, int, own->nkeys), *rkey = tra_news(f->a, int, own->nkeys), n = 0;
    for (int k = 0; k < own->nkeys; k++)
        if (own->lkey[k] == 0) lkey[n] = 0, rkey[n++] = own->rkey[k];
    return matched(f, n, lkey, rkey, right);
}

/* Why rows of that side (0: left) without partner may not be left out; NULL: they may. */
static const char *join_refused(const tra_lookup_spec *s, int side) {
    const int *key = side ? s->rkey : s->lkey;
    bool keyed = false;
    if (side == 0 && s->how != TRA_LOOKUP_INNER && s->how != TRA_LOOKUP_SEMI)
        return "the join keeps rows that have no partner";
    if (s->asof) return "an as-of join chooses one of several partners";
    if (s->matched) return "the join checks that all rows are matched";
    if (side == 1 && s->unique)
        return "the join checks that keys of the right table, which is a product, are there once";
    for (int k = 0; k < s->nkeys; k++) keyed = keyed || key[k] == 0;
    if (keyed) return NULL;
    return side ? "the labels of the rows of the right table, which is a product, are no key of the join"
                : "the labels of the rows are no key of the join";
}

/* The join with fewer rows on that side: of those that are left there is a partner for each. */
static tra_node join_of(const gathering *f, const tra_expr *lookup, int side, const tra_expr *rows,
                        const tra_expr *positions) {
    tra_node n = lookup->node;
    tra_rows_kernel k = *tra_rows_op_of(&lookup->node);
    double share = tra_rows_expected(&positions->node) / (double)tra_max64(1, tra_catalog_elements(f->index->type.cat));
    if (share > 0) k.share = fmin(1, k.share / share);
    n.in[side] = (tra_node *)&rows->node;
    n.kernel = tra_rows_kernel_of(f->a, &k);
    return n;
}

/* x: the join, of which y is the left side. */
static void gather_joined(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_lookup *l = tra_lookup_of_expr(x);
    gathering f;
    if (!l || !open_rows(&f, w, x, y)) return;
    if (tra_refused(w, x, join_refused(tra_lookup_spec_of(l), 0)) || !has_product(&f)) return;
    tra_expr *positions = matched_positions(&f, x, tra_memo_expr(x->node.in[1]));
    tra_expr *rows = positions ? rows_left(&f, positions) : NULL;
    if (!rows) return;
    tra_claim(w, x, y, join_of(&f, x, 0, rows, positions), rows, NULL);
}

/* Positions whose rows have a partner on the left, of which the join takes them: rows of the right table that have none
 * are of no row of the result. */
static tra_expr *wanted_positions(const gathering *f, const tra_expr *lookup) {
    const tra_lookup_spec *own = tra_lookup_spec_of(tra_lookup_of_expr(lookup));
    tra_expr *left = tra_make_below(f->w, f->x, (tra_node){.op = TRA_OP_CONCAT, .in = {lookup->node.in[0]}});
    int *lkey = tra_news(f->a, int, own->nkeys), *rkey = tra_news(f->a, int, own->nkeys), n = 0;
    for (int k = 0; k < own->nkeys; k++)
        if (own->rkey[k] == 0) lkey[n] = 0, rkey[n++] = own->lkey[k];
    return left ? matched(f, n, lkey, rkey, left) : NULL;
}

/* x: the join; y: its right side, all rows of a tensor brought together. */
static void gather_right(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_lookup *l = y->node.op == TRA_OP_CONCAT ? tra_lookup_of_expr(x) : NULL;
    gathering f;
    int of = l ? tra_memo_find(w->m, y->in[0]) : 0, i = 0;
    while (l && i < w->m->group[of].n && !open_rows(&f, w, x, w->m->v[w->m->group[of].expr[i]])) i++;
    if (!l || i == w->m->group[of].n) return;
    if (tra_refused(w, x, join_refused(tra_lookup_spec_of(l), 1)) || !has_product(&f)) return;
    tra_expr *positions = wanted_positions(&f, x);
    tra_expr *rows = positions ? rows_left(&f, positions) : NULL;
    tra_expr *whole = rows ? tra_make_below(w, x, tra_over(y, &rows->node)) : NULL;
    if (!whole) return;
    tra_claim(w, x, y, join_of(&f, x, 1, whole, positions), NULL, whole);
}

/* Of a right table in several blocks both tables are sorted, and joined by ranges of keys. Several of its blocks may be
 * brought together before. */
static void refuse_sorted(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    while (y->node.op == TRA_OP_CONCAT || y->node.op == TRA_OP_REKEY)
        y = w->m->v[w->m->group[tra_memo_find(w->m, y->in[0])].expr[0]];
    bool sorts = x->node.op == TRA_OP_JOIN && tra_rows_args(&x->node, &tra_arrange_ops) && tra_rowwise_of_expr(y);
    const tra_memo_group *g = sorts ? &w->m->group[tra_memo_find(w->m, y->in[0])] : NULL;
    gathering f;
    for (int i = 0; g && i < g->n; i++) {
        if (!open_rows(&f, w, x, w->m->v[g->expr[i]]) || !tra_gather_has_product(&f, tensor_of(&f))) continue;
        tra_refuse(w, x,
                   "rows of a product in several blocks are sorted by the keys of a join before any are left out");
        return;
    }
}

/* ---- by what is selected of a join ------------------------------------------------------------------------------- */

/* Selects rows of `in` by those predicates that only read columns which have an expression in `by`. NULL: there are
 * none, or one may fail (a refusal). share: the share of rows that stay; < 0: it is estimated. */
static tra_expr *selected_by(const gathering *f, int n, const tra_colexpr *const *part, const tra_schema *all,
                             const tra_colexpr *const *by, const tra_node *in, double share) {
    tra_rowwise *r = tra_rowwise_new(f->a, in->type.columns);
    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, r, in->type.columns);
    k.counts = true, k.flops = TRA_COLUMN_FLOPS * in->type.columns->n;
    for (int i = 0; i < n; i++) {
        bool *used = tra_news(f->a, bool, all->n + 1), some = false, own = true;
        if (tra_may_fail(part[i]))
            return tra_refuse(f->w, f->x, "a predicate may not be computed for rows that would be left out");
        tra_colexpr_columns(part[i], used);
        for (int c = 0; c < all->n; c++) some = some || used[c], own = own && (!used[c] || by[c]);
        if (!some || !own || tra_colexpr_uses_row(part[i])) continue;
        tra_rowwise_select(r, tra_colexpr_substitute(f->a, part[i], by));
        k.share *= tra_table_selectivity(part[i]);
        k.flops += 2;
    }
    if (!tra_rowwise_selects(r)) return NULL;
    if (share >= 0) k.share = share;
    return tra_make_below(f->w, f->x, tra_proto_transform(tra_pass_kernel(f->w, &k, r), in));
}

/* x: a pass that begins with selections; y: a join, whose right side's rows it selects. */
static void gather_selected(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_lookup *l = tra_lookup_of_expr(y);
    int n = 0;
    const tra_colexpr *const *part = l ? tra_first_predicates(w->m->arena, tra_rowwise_of_expr(x), &n) : NULL;
    const tra_memo_group *g = n ? &w->m->group[tra_memo_find(w->m, y->in[0])] : NULL;
    const tra_schema *out = n ? tra_lookup_out(l) : NULL;
    gathering f = {0};
    int i = 0;
    while (n && i < g->n && !open_rows(&f, w, x, w->m->v[g->expr[i]])) i++;
    if (n == 0 || i == g->n) return;
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    const char *why = join_refused(s, 0);
    if (!why && tra_lookup_condition(l) && tra_may_fail(tra_lookup_condition(l)))
        why = "a condition of the join may not be computed for rows that would be left out";
    if (tra_refused(w, x, why)) return;
    const tra_colexpr **by = tra_news(f.a, const tra_colexpr *, out->n + 1);
    for (int c = 0; c < out->n; c++) {
        int from = tra_lookup_from(l)[c] - s->left->n;
        if (from >= 0) by[c] = tra_colexpr_column(f.a, s->right, from);
    }
    if (!has_product(&f)) return;
    const tra_expr *right = selected_by(&f, n, part, out, by, y->node.in[1], -1);
    tra_expr *positions = right ? matched_positions(&f, y, right) : NULL;
    tra_expr *rows = positions ? rows_left(&f, positions) : NULL;
    if (!rows) return;
    tra_expr *made = tra_make_below(w, x, join_of(&f, y, 0, rows, positions));
    if (!made) return;
    tra_rows_kernel k = *tra_rows_op_of(&x->node);
    double kept = tra_rows_expected(&right->node) / fmax(1, tra_rows_expected(y->node.in[1]));
    if (kept > 0) k.share = fmin(1, k.share / kept);
    tra_claim(w, x, y, tra_proto_rows(w, &k, &made->node, NULL), made, NULL);
}

/* ---- by the labels of rows --------------------------------------------------------------------------------------- */

void tra_select_scattered_labels(tra_rewriting *w, tra_expr *x, tra_expr *y, double share) {
    int n;
    const tra_colexpr *const *part = tra_first_predicates(w->m->arena, tra_rowwise_of_expr(x), &n);
    gathering f;
    if (n == 0 || !open_rows(&f, w, x, y) || !has_product(&f)) return;
    tra_expr *all = all_positions(&f);
    if (!all) return;
    const tra_colexpr **by = tra_news(f.a, const tra_colexpr *, f.border->out->n + 1);
    by[0] = tra_colexpr_column(f.a, all->node.type.columns, 0);
    tra_expr *positions = selected_by(&f, n, part, f.border->out, by, &all->node, share);
    tra_expr *rows = positions ? rows_left(&f, positions) : NULL;
    if (!rows) return;
    tra_rows_kernel k = *tra_rows_op_of(&x->node);
    if (share > 0) k.share = fmin(1, k.share / share);
    tra_claim(w, x, y, tra_proto_rows(w, &k, &rows->node, NULL), rows, NULL);
}

void tra_select_scattered(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    if (w->side == 1) {
        gather_right(w, x, y);
        return;
    }
    refuse_sorted(w, x, y);
    gather_joined(w, x, y);
    gather_selected(w, x, y);
}
