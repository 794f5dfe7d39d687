/* wide_products.c - rule D-3: a product of sparse matrices in wider blocks.
 *
 * The rows of one operand are looked up, one for each entry of the other one (Gustavson's order, lib/sparse/matmul.h).
 * Each block of the result looks them up anew, and where matrices have many blocks these rows are of few entries. The
 * blocks along the last dimension of the result are put together before, and the result is cut after.
 */
#include "rules_int.h"

/* The operand whose rows are looked up, and which of its dimensions is the last of the result; false: it is not alone
 * in having it. */
static bool last_label(const tra_product *p, int *operand, int *dim) {
    bool has[2] = {false, false};
    if (p->nout < 2) return false;
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p->rank[o]; d++)
            if (p->in[o][d] == p->out[p->nout - 1]) has[o] = true, *operand = o, *dim = d;
    return has[0] != has[1];
}

/* Do the counts of files bound the products, or will they, as the tensors are only declared so far? Wide results take
 * more memory, which a plan must know. */
static bool is_counted(const tra_node *join) {
    bool declared = true, lines = true;
    for (int i = 0; i < 2; i++) {
        const tra_node *n = join->in[i];
        declared = declared && n->op == TRA_OP_INPUT && !n->input.rel;
        lines = lines && n->type.entries && n->type.entries->fullest > 0;
    }
    return declared || lines || join->join.meeting_pairs > 0;
}

/* The keys that cut dimensions 0, 1, ... of a tensor. False: there is not one for each, or extents are not known. */
static bool cutting_keys(const tra_type *t, int *key) {
    int n = t->cat->bound.n;
    if (t->bounded || t->columns || !tra_type_is_tensor(t, NULL) || t->cat->frontier.n != n) return false;
    for (int d = 0; d < n; d++) {
        if (__builtin_popcount(t->cut[d]) != 1) return false;
        key[d] = __builtin_ctz(t->cut[d]);
    }
    return true;
}

/* The relation whose key d is key of[d] of x. */
static tra_node with_keys(tra_rewriting *w, const tra_expr *in, const int *of, int n) {
    const tra_keyexpr *key[TRA_MAXDIM];
    for (int d = 0; d < n; d++) key[d] = tra_keyexpr_component(w->m->arena, of[d]);
    return tra_proto_rekey(w, node_of(in), NULL, in ? n : 0, key);
}

/* The tensor in blocks that are `width` long along a dimension; key: what cuts it. */
static tra_node in_blocks(tra_rewriting *w, const tra_expr *x, tra_expr *in, const int *key, int dim, int64_t width) {
    int back[TRA_MAXDIM], n = in->node.type.cat->bound.n;
    tra_node to = {.op = TRA_OP_REPART, .in = {&in->node}, .block = in->node.type.cat->bound, .span = x->node.span};
    bool in_order = true;
    to.block.v[dim] = width;
    for (int d = 0; d < n; d++) back[key[d]] = d, in_order = in_order && key[d] == d;
    if (in_order) return to;
    to.in[0] = node_of(tra_make_below(w, x, with_keys(w, in, key, n)));
    return with_keys(w, tra_make_below(w, x, to), back, n);
}

/* Adds products in whole rows of blocks, in a quarter of them, and so on. x: an aggregation of the join y. */
static void widen(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    enum { STEP = 4 }; /* from one width to the next */
    tra_product p;
    int o = 0, d = 0, key[2][TRA_MAXDIM];
    if (!y || x->node.op != TRA_OP_AGG || y->node.op != TRA_OP_JOIN) return;
    if (x->rule == &tra_rule_d_3 || y->rule == &tra_rule_d_3) return;
    const tra_type *l = &y->node.in[0]->type, *r = &y->node.in[1]->type, *t = &x->node.type;
    if (!l->sparse || !r->sparse || !t->sparse || !tra_kernel_folds_as(x->node.kernel, y->node.kernel)) return;
    if (!tra_kernel_multiplies(y->node.kernel, &l->cat->bound, &r->cat->bound, &p) || !last_label(&p, &o, &d)) return;
    tra_expr *in = tra_memo_expr(y->node.in[o]);
    if (!cutting_keys(&in->node.type, key[0]) || !cutting_keys(t, key[1])) {
        tra_refuse(w, x, "a matrix is no tensor in blocks of known extents");
        return;
    }
    if (!is_counted(&y->node)) {
        tra_refuse(w, x, "no counts of files bound how many products there are");
        return;
    }
    tra_dims shape;
    tra_type_shape(&in->node.type, &shape);
    int64_t width = tra_max64(1, in->node.type.cat->bound.v[d]);
    for (int64_t n = tra_ceil_div(shape.v[d], width); n > 1; n /= STEP) {
        tra_expr *wide = tra_make_below(w, x, in_blocks(w, x, in, key[0], d, tra_min64(shape.v[d], n * width)));
        tra_node join = y->node;
        join.in[o] = node_of(wide);
        tra_expr *product = wide ? tra_make_below(w, x, join) : NULL;
        tra_expr *sum = product ? tra_make_below(w, x, tra_over(x, &product->node)) : NULL;
        if (!sum) return;
        tra_claim(w, x, y, in_blocks(w, x, sum, key[1], p.nout - 1, t->cat->bound.v[p.nout - 1]), sum, NULL);
    }
}

const tra_rule tra_rule_d_3 = {
    .name = "D-3",
    .equivalence =
        "sum(L * R) = repart(sum(L * repart(R))), R in blocks that are wider along the last dimension of the result",
    .condition = "a product of two sparse tensors in blocks, of which one alone has the last dimension of the result; "
                 "counts of files bound them",
    .forth = widen,
};
