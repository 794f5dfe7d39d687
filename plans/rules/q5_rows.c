/* q5_rows.c - rule Q-5 for rows that lie scattered: of a product of matrices whose rows become rows of a table, and of
 * which a join or a predicate then leaves some, those are computed.
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

#include "../../lib/table/border.h"
#include "../tra/table_stats.h"
#include "pipeline.h"

enum { DEEP = 16 };

typedef struct gathering {
    tra_rewriting *w;
    tra_arena *a;
    const tra_expr *x, *y; /* the selection, for messages; the rows of the tensor */
    const tra_border *border;
    const tra_node *index; /* the positions of all rows, in blocks */
    int64_t block;         /* rows of one */
    tra_expr *positions;   /* of the rows that are left, as a matrix of one column */
} gathering;

static tra_expr *below(const gathering *f, tra_node n) {
    n.span = f->x->node.span;
    return tra_make_below(f->w, f->x, &n);
}

static const tra_memo_group *group_of(const gathering *f, int group) {
    return &f->w->m->group[tra_memo_find(f->w->m, group)];
}

/* ---- how operands meet ------------------------------------------------------------------------------------------- */

/* Finds the labels of a join of two arrays. *fixed: the join is no product, but works on elements that labels align, or
 * that stand at the same places, counted from the last dimension; then it cannot be written with other labels. */
static bool labels_of(const tra_node *n, tra_product *p, bool *fixed) {
    const tra_dims *bound[2] = {&n->in[0]->type.cat->bound, &n->in[1]->type.cat->bound};
    *fixed = false;
    if (tra_kernel_rest(n->kernel) || tra_kernel_rows(n->kernel)) return false;
    if (tra_kernel_is_product(n->kernel, bound[0], bound[1], p)) return true;
    *fixed = true;
    *p = (tra_product){.rank = {bound[0]->n, bound[1]->n}, .nout = n->type.cat->bound.n};
    tra_kernel_desc d = tra_kernel_describe(n->kernel);
    if (d.einsum) {
        const char *s = d.einsum;
        if ((int)strlen(s) != p->rank[0] + p->rank[1] + p->nout + 3) return false;
        for (int i = 0; i < p->rank[0]; i++) p->in[0][i] = (int8_t)*s++;
        s++;
        for (int i = 0; i < p->rank[1]; i++) p->in[1][i] = (int8_t)*s++;
        s += 2;
        for (int i = 0; i < p->nout; i++) p->out[i] = (int8_t)*s++;
        return true;
    }
    bool same = tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE,
         stretched = d.scalar || strncmp(d.name, "matvec", 6) == 0;
    if (!same && !stretched) return false;
    for (int d = 0; d < p->nout; d++) p->out[d] = (int8_t)d;
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p->rank[o]; d++) {
            int at = d + p->nout - p->rank[o];
            bool one = bound[o]->v[d] == 1 && n->type.cat->bound.v[at] != 1;
            p->in[o][d] = (int8_t)(one ? p->nout + 1 + o * TRA_MAXDIM / 2 + d : at); /* stretched: a label of its own */
        }
    return true;
}

static int place_of(const int8_t *v, int n, int8_t label) {
    for (int d = 0; d < n; d++)
        if (v[d] == label) return d;
    return -1;
}

/* Are keys joined exactly where operands share a label, and does each operand have a label once? A dimension that is
 * stretched has a single block, which is joined with all others. */
static bool keys_follow(const tra_node *n, const tra_product *p) {
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p->rank[o]; d++)
            if (place_of(p->in[o], p->rank[o], p->in[o][d]) != d) return false;
    int shared = 0;
    for (int d = 0; d < p->rank[0]; d++) shared += place_of(p->in[1], p->rank[1], p->in[0][d]) >= 0;
    for (int i = 0; i < n->joinl.n; i++) {
        bool same = p->in[0][n->joinl.v[i]] == p->in[1][n->joinr.v[i]];
        shared -= same;
        if (!same && n->in[0]->type.cat->frontier.v[n->joinl.v[i]] != 1) return false;
        if (!same && n->in[1]->type.cat->frontier.v[n->joinr.v[i]] != 1) return false;
    }
    return shared == 0;
}

static bool is_known_tensor(const tra_type *t) { return !t->columns && !t->bounded && tra_type_is_blocked(t, NULL); }

/* Does a join, or the sum of its results if `sum` is not NULL, put each element at the place that the labels of the
 * result say? */
static bool is_aligned(const tra_node *sum, const tra_node *join, tra_product *p, bool *fixed) {
    int8_t label[2 * TRA_MAXDIM]; /* of the join's keys */
    int n = 0;
    if (join->op != TRA_OP_JOIN || !is_known_tensor(&join->in[0]->type) || !is_known_tensor(&join->in[1]->type))
        return false;
    if (!labels_of(join, p, fixed) || !keys_follow(join, p)) return false;
    if (!sum) return is_known_tensor(&join->type);
    if (*fixed || !tra_kernel_is_sum(sum->kernel) || sum->group.n != p->nout) return false;
    for (int d = 0; d < p->rank[0]; d++) label[n++] = p->in[0][d];
    for (int d = 0; d < p->rank[1]; d++) {
        bool joined = false;
        for (int i = 0; i < join->joinr.n; i++) joined = joined || join->joinr.v[i] == d;
        if (!joined) label[n++] = p->in[1][d];
    }
    for (int d = 0; d < p->nout; d++)
        if (label[sum->group.v[d]] != p->out[d]) return false;
    return true;
}

/* The first join that the expression is the sum of; NULL: there is none. */
static const tra_node *joined_below(const gathering *f, const tra_expr *x, tra_product *p, bool *fixed) {
    const tra_memo_group *g = x->node.op == TRA_OP_AGG ? group_of(f, x->in[0]) : NULL;
    for (int i = 0; g && i < g->n; i++) {
        const tra_node *j = &f->w->m->v[g->expr[i]]->node;
        if (is_aligned(&x->node, j, p, fixed)) return j;
    }
    return NULL;
}

/* ---- where there is a product ------------------------------------------------------------------------------------ */

static bool passes(const tra_node *n) {
    if (n->op == TRA_OP_REPART) return n->origin.n == 0;
    return n->op == TRA_OP_TRANSFORM && !tra_kernel_rows(n->kernel) &&
           (tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE) && is_known_tensor(&n->in[0]->type);
}

/* The expression of the group that computes its rows from rows of its operands, and that is a product or has one
 * further down; NULL: there is none. */
static const tra_expr *way_down(const gathering *f, int group, int deep) {
    const tra_memo_group *g = group_of(f, group);
    tra_product p;
    bool fixed;
    for (int i = 0; i < g->n && deep < DEEP; i++) {
        const tra_expr *x = f->w->m->v[g->expr[i]];
        if (joined_below(f, x, &p, &fixed)) return x;
    }
    for (int i = 0; i < g->n && deep < DEEP; i++) {
        const tra_expr *x = f->w->m->v[g->expr[i]];
        if (passes(&x->node) && way_down(f, x->in[0], deep + 1)) return x;
        if (x->node.op != TRA_OP_JOIN || !is_aligned(NULL, &x->node, &p, &fixed) || p.nout == 0) continue;
        for (int o = 0; o < 2; o++)
            if (place_of(p.in[o], p.rank[o], p.out[0]) == 0 && way_down(f, x->in[o], deep + 1)) return x;
    }
    return NULL;
}

/* ---- rows of tensors --------------------------------------------------------------------------------------------- */

/* Under the key of dimension d alone; d < 0: under none. */
static tra_expr *rekeyed(const gathering *f, const tra_expr *in, int d) {
    tra_keyfn *k = tra_new(f->a, tra_keyfn);
    *k = (tra_keyfn){.arity = in->node.type.cat->frontier.n, .n = d >= 0};
    if (k->arity == k->n) return (tra_expr *)in;
    for (int i = 0; i < k->arity; i++) k->names[i] = tra_arena_printf(f->a, "k%d", i);
    tra_keyexpr *v = tra_new(f->a, tra_keyexpr);
    *v = (tra_keyexpr){.op = TRA_KEY_VAR, .var = d};
    k->expr[0] = v;
    return below(f, (tra_node){.op = TRA_OP_REKEY, .in = {(tra_node *)&in->node}, .keyfn = k});
}

/* Whole along all dimensions but d, along which it is in blocks of positions; d < 0: in one block. */
static tra_expr *in_blocks(const gathering *f, const tra_expr *in, int d) {
    tra_dims block;
    tra_type_shape(&in->node.type, &block);
    for (int i = 0; i < block.n; i++) block.v[i] = tra_max64(1, i == d ? tra_min64(f->block, block.v[i]) : block.v[i]);
    const tra_catalog *c = in->node.type.cat;
    if (!c->grid || !tra_dims_eq(&c->bound, &block))
        in = below(f, (tra_node){.op = TRA_OP_REPART, .in = {(tra_node *)&in->node}, .block = block});
    return in ? rekeyed(f, in, d) : NULL;
}

/* The rows along dimension d that are left, gathered; of a matrix the other dimension comes second. */
static tra_expr *gathered(const gathering *f, const tra_expr *in, int d) {
    tra_dims shape;
    tra_type_shape(&in->node.type, &shape);
    if (shape.n > 2 || !(in = in_blocks(f, in, d))) {
        tra_refuse(f->w, f->x, "rows are taken of a tensor of more than two dimensions");
        return NULL;
    }
    tra_gather *g = tra_new(f->a, tra_gather);
    *g = (tra_gather){d, f->block};
    int64_t width = shape.n == 2 ? shape.v[1 - d] : 1;
    tra_rows_kernel k = {
        .text =
            tra_arena_printf(f->a, "%s at these positions, of blocks of %" PRId64, d ? "columns" : "rows", f->block),
        .use = TRA_USE_JOIN,
        .dtype = in->node.type.dtype,
        .width = width,
        .rows = TRA_ROWS_SAME,
        .share = 1,
        .flops = 1, /* for each element that is taken, since these are the share of all that rows are */
        .ops = &tra_gather_ops,
        .data = g};
    tra_expr *made = below(f, (tra_node){.op = TRA_OP_JOIN,
                                         .in = {&f->positions->node, (tra_node *)&in->node},
                                         .joinl = {.n = 1},
                                         .joinr = {.n = 1},
                                         .kernel = tra_kernel_of_rows(f->a, &k)});
    const tra_kernel *first;
    if (!made || shape.n == 2) return made;
    if (tra_kernel_einsum(f->a, "ab->a", &first, NULL) != TRA_OK) return NULL;
    return below(f, tra_proto_transform(first, &made->node));
}

static tra_expr *rows_of(const gathering *f, int group, int deep);

/* The join j of the gathered rows of its operands. */
static tra_expr *join_rows(const gathering *f, const tra_node *j, tra_product *p, bool fixed, int deep) {
    tra_node n = {.op = TRA_OP_JOIN, .kernel = j->kernel};
    bool keyed[2];
    for (int o = 0; o < 2; o++) {
        const tra_expr *in = tra_memo_expr(j->in[o]);
        int d = place_of(p->in[o], p->rank[o], p->out[0]);
        if (d > 0 && (fixed || p->rank[o] != 2)) {
            tra_refuse(f->w, f->x, "rows of the result are no rows of an operand that is aligned with another");
            return NULL;
        }
        keyed[o] = d >= 0;
        tra_expr *part = d == 0 ? rows_of(f, in->group, deep + 1) : d < 0 ? in_blocks(f, in, -1) : gathered(f, in, d);
        if (!part) return NULL;
        if (d == 1) {
            int8_t first = p->in[o][0];
            p->in[o][0] = p->in[o][1], p->in[o][1] = first;
        }
        n.in[o] = &part->node;
    }
    if (keyed[0] && keyed[1]) n.joinl = n.joinr = (tra_dims){.n = 1};
    if (!fixed && !(n.kernel = tra_kernel_product(f->a, p))) return NULL;
    return below(f, n);
}

static tra_expr *rows_of(const gathering *f, int group, int deep) {
    const tra_expr *x = way_down(f, group, deep);
    tra_product p;
    bool fixed;
    if (!x) return gathered(f, f->w->m->v[group_of(f, group)->expr[0]], 0);
    const tra_node *j = x->node.op == TRA_OP_JOIN ? &x->node : joined_below(f, x, &p, &fixed);
    if (j && is_aligned(j == &x->node ? NULL : &x->node, j, &p, &fixed)) return join_rows(f, j, &p, fixed, deep);
    tra_expr *in = rows_of(f, x->in[0], deep + 1);
    if (!in || x->node.op == TRA_OP_REPART) return in;
    return below(f, tra_over(x, &in->node));
}

/* ---- rows of tables ---------------------------------------------------------------------------------------------- */

/* The rows of a tensor, with their positions; of a product, maybe further down. */
static bool open_rows(gathering *f, tra_rewriting *w, const tra_expr *x, const tra_expr *y) {
    const tra_rows_kernel *k = y->node.op == TRA_OP_JOIN ? tra_kernel_rows(y->node.kernel) : NULL;
    if (!k || (k->ops != &tra_entries_ops && k->ops != &tra_unmatrix_ops) || y->node.in[1]->op != TRA_OP_INPUT ||
        y->in[0] == y->in[1])
        return false;
    *f = (gathering){.w = w, .a = w->m->arena, .x = x, .y = y, .border = k->data, .index = y->node.in[1]};
    f->block = tra_max64(1, y->node.in[0]->type.cat->bound.v[0]);
    return f->border->rank > 0 && y->node.in[0]->type.cat->frontier.n == 1;
}

/* The group of the tensor before it was cut into blocks of whole rows. */
static int tensor_of(const gathering *f) {
    const tra_expr *x = f->w->m->v[group_of(f, f->y->in[0])->expr[0]];
    if (x->node.op == TRA_OP_REKEY) x = f->w->m->v[group_of(f, x->in[0])->expr[0]];
    return x->group;
}

/* The table of all positions: labels as the rows have them, and the positions. */
static tra_expr *all_positions(const gathering *f) {
    tra_border *b = tra_new(f->a, tra_border);
    tra_schema *s = tra_new(f->a, tra_schema);
    tra_column *v = tra_news(f->a, tra_column, 2);
    v[0] = f->border->out->v[0];
    v[1] = (tra_column){.name = strcmp(v[0].name, "position") == 0 ? "at" : "position", .type = TRA_COL_I64};
    *s = (tra_schema){2, v};
    *b = (tra_border){.rank = 1, .label = {f->border->label[0]}, .out = s};
    tra_rows_kernel k = *tra_kernel_rows(f->y->node.kernel);
    k.text = tra_arena_printf(f->a, "positions of rows of %s", k.text);
    k.columns = s;
    k.rows = TRA_ROWS_ELEMENTS;
    k.most = INT64_MAX;
    k.counts = false;
    k.share = 1;
    k.ops = &tra_entries_ops;
    k.data = b;
    return below(f, (tra_node){.op = TRA_OP_JOIN,
                               .in = {(tra_node *)f->index, (tra_node *)f->index},
                               .joinl = {.n = 1},
                               .joinr = {.n = 1},
                               .kernel = tra_kernel_of_rows(f->a, &k)});
}

/* The rows of the tensor that stand at positions which are left. */
static tra_expr *rows_left(gathering *f, const tra_expr *positions) {
    tra_rowwise *r = tra_rowwise_new(f->a, positions->node.type.columns);
    const tra_colexpr *at = tra_colexpr_column(f->a, positions->node.type.columns, 1);
    const char *name = "position";
    if (tra_rowwise_matrix(r, 1, &name, &at, TRA_I64, NULL, NULL) != TRA_OK) return NULL;
    tra_rows_kernel k = {
        .use = TRA_USE_MAP, .dtype = TRA_I64, .width = 1, .rows = TRA_ROWS_SAME, .share = 1, .flops = 1};
    f->positions = below(f, tra_proto_transform(tra_pass_kernel(f->w, &k, r), &positions->node));
    tra_expr *rows = f->positions ? rows_of(f, tensor_of(f), 0) : NULL;
    if (!rows) return NULL;
    return below(f, (tra_node){.op = TRA_OP_JOIN,
                               .in = {&rows->node, &f->positions->node},
                               .joinl = {.n = 1},
                               .joinr = {.n = 1},
                               .kernel = f->y->node.kernel});
}

static bool has_product(const gathering *f) {
    if (way_down(f, tensor_of(f), 0)) return true;
    tra_refuse(f->w, f->x, "no product of two tensors in blocks is below, of which some rows could be left out");
    return false;
}

/* ---- by a join --------------------------------------------------------------------------------------------------- */

/* Positions whose rows have a partner on the right. */
static tra_expr *matched_positions(const gathering *f, const tra_expr *lookup, const tra_expr *right) {
    const tra_lookup_spec *own = tra_lookup_spec_of(tra_lookup_of_expr(lookup));
    const tra_expr *all = all_positions(f);
    tra_lookup *l;
    int *lkey = tra_news(f->a, int, own->nkeys), *rkey = tra_news(f->a, int, own->nkeys);
    tra_lookup_spec s = {.right = right->node.type.columns, .how = TRA_LOOKUP_SEMI, .lkey = lkey, .rkey = rkey};
    if (!all) return NULL;
    s.left = all->node.type.columns;
    for (int k = 0; k < own->nkeys; k++)
        if (own->lkey[k] == 0) lkey[s.nkeys] = 0, rkey[s.nkeys++] = own->rkey[k];
    if (tra_lookup_new(f->a, &s, &l, NULL) != TRA_OK) return NULL;
    double rows = (double)tra_catalog_elements(right->node.type.cat),
           n = (double)tra_catalog_elements(f->index->type.cat);
    tra_rows_kernel k = {.use = TRA_USE_JOIN,
                         .columns = tra_lookup_out(l),
                         .dtype = TRA_F64,
                         .rows = TRA_ROWS_SAME,
                         .counts = true,
                         .share = fmin(1, rows / fmax(1, n)),
                         .meets = true,
                         .flops = 20,
                         .ops = &tra_lookup_ops,
                         .data = l};
    k.text = tra_lookup_text(f->a, &s, &k);
    return below(f, (tra_node){.op = TRA_OP_JOIN,
                               .in = {(tra_node *)&all->node, (tra_node *)&right->node},
                               .kernel = tra_kernel_of_rows(f->a, &k)});
}

/* Why rows without partner may not be left out; NULL: they may. */
static const char *join_refused(const tra_lookup_spec *s) {
    bool keyed = false;
    if (s->how != TRA_LOOKUP_INNER && s->how != TRA_LOOKUP_SEMI) return "the join keeps rows that have no partner";
    if (s->matched) return "the join checks that all rows are matched";
    for (int k = 0; k < s->nkeys; k++) keyed = keyed || s->lkey[k] == 0;
    return keyed ? NULL : "the labels of the rows are no key of the join";
}

/* The join over fewer rows: of those that are left there is a partner for each. */
static tra_node join_of(const gathering *f, const tra_expr *lookup, const tra_expr *rows, const tra_expr *positions) {
    tra_node n = lookup->node;
    tra_rows_kernel k = *tra_kernel_rows(n.kernel);
    double share = tra_rows_expected(&positions->node) / (double)tra_max64(1, tra_catalog_elements(f->index->type.cat));
    if (share > 0) k.share = fmin(1, k.share / share);
    n.name = NULL;
    n.in[0] = (tra_node *)&rows->node;
    n.kernel = tra_kernel_of_rows(f->a, &k);
    return n;
}

/* x: the join, of which y is the left side. */
static void gather_joined(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_lookup *l = tra_lookup_of_expr(x);
    gathering f;
    if (!l || !open_rows(&f, w, x, y)) return;
    const char *why = join_refused(tra_lookup_spec_of(l));
    if (why) tra_refuse(w, x, "%s", why);
    if (why || !has_product(&f)) return;
    tra_expr *positions = matched_positions(&f, x, tra_memo_expr(x->node.in[1]));
    tra_expr *rows = positions ? rows_left(&f, positions) : NULL;
    if (!rows) return;
    tra_node n = join_of(&f, x, rows, positions);
    tra_claim(w, x, y, 0, &n, rows, NULL);
}

/* ---- by what is selected of a join ------------------------------------------------------------------------------- */

/* Selects rows of `in` by those predicates that only read columns which have an expression in `by`. NULL: there are
 * none, or one may fail (a refusal). share: the share of rows that stay; < 0: it is estimated. */
static tra_expr *selected_by(const gathering *f, int n, const tra_colexpr *const *part, const tra_schema *all,
                             const tra_colexpr *const *by, const tra_node *in, double share) {
    tra_rowwise *r = tra_rowwise_new(f->a, in->type.columns);
    tra_rows_kernel k = {.use = TRA_USE_MAP,
                         .dtype = TRA_F64,
                         .rows = TRA_ROWS_SAME,
                         .counts = true,
                         .share = 1,
                         .flops = TRA_COLUMN_FLOPS * in->type.columns->n};
    for (int i = 0; i < n; i++) {
        bool *used = tra_news(f->a, bool, all->n + 1), some = false, own = true;
        if (tra_may_fail(part[i])) {
            tra_refuse(f->w, f->x, "a predicate may not be computed for rows that would be left out");
            return NULL;
        }
        tra_colexpr_columns(part[i], used);
        for (int c = 0; c < all->n; c++) some = some || used[c], own = own && (!used[c] || by[c]);
        if (!some || !own || tra_colexpr_uses_row(part[i])) continue;
        tra_rowwise_select(r, tra_colexpr_substitute(f->a, part[i], by));
        k.share *= tra_table_share(part[i]);
        k.flops += 2;
    }
    if (!tra_rowwise_selects(r)) return NULL;
    if (share >= 0) k.share = share;
    return below(f, tra_proto_transform(tra_pass_kernel(f->w, &k, r), in));
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
    const char *why = join_refused(s);
    if (!why && tra_lookup_condition(l) && tra_may_fail(tra_lookup_condition(l)))
        why = "a condition of the join may not be computed for rows that would be left out";
    if (why) {
        tra_refuse(w, x, "%s", why);
        return;
    }
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
    tra_node join = join_of(&f, y, rows, positions);
    tra_expr *made = tra_make_below(w, x, &join);
    if (!made) return;
    tra_node pass = tra_over(x, &made->node);
    tra_rows_kernel k = *tra_kernel_rows(x->node.kernel);
    double kept = tra_rows_expected(&right->node) / fmax(1, tra_rows_expected(y->node.in[1]));
    if (kept > 0) k.share = fmin(1, k.share / kept);
    pass.kernel = tra_kernel_of_rows(f.a, &k);
    tra_claim(w, x, y, 0, &pass, made, NULL);
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
    tra_rows_kernel k = *tra_kernel_rows(x->node.kernel);
    if (share > 0) k.share = fmin(1, k.share / share);
    tra_node pass = tra_over(x, &rows->node);
    pass.kernel = tra_kernel_of_rows(f.a, &k);
    tra_claim(w, x, y, 0, &pass, rows, NULL);
}

void tra_select_scattered(tra_rewriting *w, tra_expr *x, tra_expr *y, int side) {
    if (side != 0) return;
    gather_joined(w, x, y);
    gather_selected(w, x, y);
}
