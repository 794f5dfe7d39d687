/* slice_products.c - rule Q-5: a slice of a product of matrices as the product of slices, and past what works element
 * by element.
 *
 * A product sums over labels that the result does not have; each dimension that it has is one of an operand's, or one
 * of both. So the part of the result from `origin` on needs of each operand the part along those dimensions that are
 * the result's, and all of it along the others. Blocks along summed labels stay as they are: the terms of a sum are
 * added in the same order.
 *
 * Source: man tra-table.5; selection and multiplication in Wen, TensorTable, TBench 2024, section 5.
 */
#include "rules_int.h"

typedef struct slicing {
    tra_rewriting *w;
    tra_expr *x; /* the slice */
} slicing;

static bool is_slice(const tra_expr *x) {
    return x->node.op == TRA_OP_REPART && x->node.slice.origin.n > 0 && !x->node.slice.turn;
}

/* Does the slice lie inside the tensor? What is beyond is 0 in a slice, but need not be 0 in a product of slices, if
 * the other factor is not finite. */
static bool lies_inside(const slicing *f, const tra_node *of) {
    tra_dims shape;
    tra_type_shape(&of->type, &shape);
    for (int d = 0; d < shape.n; d++) {
        int64_t from = f->x->node.slice.origin.v[d];
        if (from < 0 || tra_add_most(from, f->x->node.slice.extent.v[d]) > shape.v[d]) return false;
    }
    return true;
}

/* The operand's part: dimension d of it is dimension of[d] of the slice, -1: none, it is whole. An expression of the
 * memo, NULL after a refusal. */
static tra_expr *part_of(const slicing *f, const tra_expr *in, const int *of) {
    const char *why;
    tra_dims shape;
    const tra_node *x = &f->x->node;
    if (in->node.type.bounded || in->node.type.columns || !tra_type_is_blocked(&in->node.type, &why))
        return tra_refuse(f->w, f->x, "an operand is no tensor in blocks of known extents");
    tra_type_shape(&in->node.type, &shape);
    tra_node n = {
        .op = TRA_OP_REPART, .in = {(tra_node *)&in->node}, .block = in->node.type.cat->bound, .span = x->span};
    bool all = true;
    n.slice.origin.n = n.slice.extent.n = shape.n;
    for (int d = 0; d < shape.n; d++) {
        n.slice.origin.v[d] = of[d] < 0 ? 0 : x->slice.origin.v[of[d]];
        n.slice.extent.v[d] = of[d] < 0 ? shape.v[d] : x->slice.extent.v[of[d]];
        if (of[d] >= 0) n.block.v[d] = x->block.v[of[d]];
        n.block.v[d] = tra_max64(1, n.block.v[d]);
        all = all && n.slice.extent.v[d] == shape.v[d] && n.block.v[d] == in->node.type.cat->bound.v[d];
    }
    return all ? (tra_expr *)in : tra_make_below(f->w, f->x, n);
}

/* Dimensions of operand o of a product as dimensions of its result. */
static void dimensions(const tra_product *p, int o, int *of) {
    for (int d = 0; d < p->rank[o]; d++) {
        of[d] = -1;
        for (int i = 0; i < p->nout; i++)
            if (p->out[i] == p->in[o][d]) of[d] = i;
    }
}

static void slice_product(slicing *f, tra_expr *sum, const tra_expr *join) {
    const tra_node *j = &join->node;
    const tra_expr *in[2] = {tra_memo_expr(j->in[0]), tra_memo_expr(j->in[1])};
    tra_expr *part[2];
    int of[2][TRA_MAXDIM];
    tra_product p;
    if (!tra_kernel_is_product(j->kernel, &in[0]->node.type.cat->bound, &in[1]->node.type.cat->bound, &p)) return;
    if (p.nout != f->x->node.slice.origin.n) return;
    if (!lies_inside(f, &sum->node)) {
        tra_refuse(f->w, f->x, "the slice goes beyond the product, where it is 0");
        return;
    }
    for (int o = 0; o < 2; o++) {
        dimensions(&p, o, of[o]);
        if (!(part[o] = part_of(f, in[o], of[o]))) return;
    }
    if (part[0] == in[0] && part[1] == in[1]) return;
    tra_node n = *j;
    for (int o = 0; o < 2; o++) n.in[o] = &part[o]->node;
    tra_expr *product = tra_make_below(f->w, f->x, n);
    tra_claim(f->w, f->x, sum, tra_over(sum, node_of(product)), product, NULL);
}

/* Of one array: an element of the result is of the element at its place. */
static void slice_map(slicing *f, tra_expr *map) {
    const tra_expr *in = tra_memo_expr(map->node.in[0]);
    int of[TRA_MAXDIM];
    for (int d = 0; d < TRA_MAXDIM; d++) of[d] = d;
    if (!lies_inside(f, &map->node)) return;
    tra_expr *part = part_of(f, in, of);
    if (!part || part == in) return;
    tra_claim(f->w, f->x, map, tra_over(map, &part->node), part, NULL);
}

static void slice(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    slicing f = {w, x};
    const tra_memo *m = w->m;
    if (!y) return;
    tra_slice_entries(w, x, y);
    tra_select_scattered(w, x, y);
    if (!is_slice(x)) return;
    if (y->node.op == TRA_OP_TRANSFORM && !tra_kernel_rows(y->node.kernel) &&
        (tra_kernel_props(y->node.kernel) & TRA_P_ELEMENTWISE)) {
        slice_map(&f, y);
        return;
    }
    if (y->node.op != TRA_OP_AGG || !tra_kernel_is_sum(y->node.kernel)) return;
    const tra_memo_group *below = &m->group[tra_memo_find(m, y->in[0])];
    for (int i = 0; i < below->n; i++)
        if (m->v[below->expr[i]]->node.op == TRA_OP_JOIN) slice_product(&f, y, m->v[below->expr[i]]);
}

const tra_rule tra_rule_q_5 = {
    .name = "Q-5",
    .equivalence =
        "slice(A B) = slice(A) slice(B), rows of A and columns of B; slice(f(A)) = f(slice(A)) for what works "
        "element by element; select(p, entries(A)) = select(p, entries(slice(A))); rows of a product that a join, or a "
        "predicate on their labels, leaves = product of the operand's rows at these positions",
    .condition =
        "a sum of products of two tensors in blocks; the slice lies inside it; p reads one label at a time, and "
        "the first or the last positions are those that it drops; rows of entries(A) or table(A) that are left: A is "
        "such a sum, or of such sums element by element, the join is an inner or semi join by the rows' labels that "
        "does not check whether they match, or has these rows as its right table, in one block, whose keys it does not "
        "check either; predicates cannot fail",
    .forth = slice,
};
