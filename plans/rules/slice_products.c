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

static bool is_slice(const tra_expr *x) { return x->node.op == TRA_OP_REPART && x->node.origin.n > 0 && !x->node.turn; }

/* Does the slice lie inside the tensor? What is beyond is 0 in a slice, but need not be 0 in a product of slices, if
 * the other factor is not finite. */
static bool lies_inside(const slicing *f, const tra_node *of) {
    tra_dims shape;
    tra_type_shape(&of->type, &shape);
    for (int d = 0; d < shape.n; d++) {
        int64_t from = f->x->node.origin.v[d];
        if (from < 0 || tra_add_most(from, f->x->node.extent.v[d]) > shape.v[d]) return false;
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
    n.origin.n = n.extent.n = shape.n;
    for (int d = 0; d < shape.n; d++) {
        n.origin.v[d] = of[d] < 0 ? 0 : x->origin.v[of[d]];
        n.extent.v[d] = of[d] < 0 ? shape.v[d] : x->extent.v[of[d]];
        if (of[d] >= 0) n.block.v[d] = x->block.v[of[d]];
        n.block.v[d] = tra_max64(1, n.block.v[d]);
        all = all && n.extent.v[d] == shape.v[d] && n.block.v[d] == in->node.type.cat->bound.v[d];
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
    if (p.nout != f->x->node.origin.n) return;
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

#define PRODUCT "J = join(A, B, [1], [0], matmul)\nM = agg(J, [0,2], matadd)\n"

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
    .cases = {
        {PRODUCT "Z = slice(M, [1:3, :])\n"
                 "W = agg(join(slice(A, [1:3, :]), B, [1], [0], matmul), [0,2], matadd)\n",
         .one_way = true},
        {PRODUCT "Z = slice(M, [1:4, 1:2])\n"
                 "A1 = slice(A, [1:4, :])\nB1 = slice(B, [:, 1:2])\n"
                 "W = agg(join(A1, B1, [1], [0], matmul), [0,2], matadd)\n",
         .one_way = true},
        {"M[i,j] = sum A[i,k] * D[j,k]\nZ = slice(M, [0:2, 3:5])\n"
         "A1 = slice(A, [0:2, :])\nD1 = slice(D, [3:5, :])\nW[i,j] = sum A1[i,k] * D1[j,k]\n",
         .one_way = true},
        {"N = transform(A, relu)\nZ = slice(N, [1:3, 2:5])\nW = transform(slice(A, [1:3, 2:5]), relu)\n",
         .one_way = true},
        {PRODUCT "P = select(entries(M), i0 >= 2 && i1 < 3)\n" SUM_OF("value"), .makes = "rows from 2 to before 5"},
        {PRODUCT "P = select(entries(M), i0 == 4)\n" SUM_OF("value"), .makes = "from [4,0]"},
        {PRODUCT "P = select(entries(M), i0 != 2 && value > 0 && i0 + i1 > 3)\n" SUM_OF("value"),
         .refused = "neither the first nor the last"},
        {PRODUCT "P = join(entries(M), shop, i0 == k)\n" SUM_OF("value"), .makes = "rows at these positions"},
        {PRODUCT
         "P = select(join(entries(transform(M, relu)), shop, i0 == k, expect = \"m:1\"), v > 0)\n" SUM_OF("value"),
         .makes = "select((v > 0))"},
        {PRODUCT "P = select(entries(M), i0 == 0 || i0 == 4)\n" SUM_OF("value"), .makes = "rows at these positions"},
        {"M[j,k] = sum A[i,j] * D[i,k]\nP = join(entries(M), shop, j == k, how = semi)\n" SUM_OF("value"),
         .makes = "columns at these positions"},
        {PRODUCT "P = join(shop, entries(reblock(M, [64, 64])), k == i0)\n" SUM_OF("value"),
         .makes = "rows at these positions"},
        {PRODUCT "P = join(shop, entries(reblock(M, [64, 64])), k == i0, how = anti)\n" SUM_OF("k"),
         .makes = "rows at these positions"},
        {PRODUCT "P = join(shop, entries(reblock(M, [64, 64])), k == i0, expect = \"m:1\")\n" SUM_OF("value"),
         .refused = "keys of the right table, which is a product, are there once"},
        {PRODUCT "P = join(shop, entries(M), k == i0)\n" SUM_OF("value"), .refused = "sorted by the keys of a join"},
        {PRODUCT "P = join(shop, entries(reblock(M, [64, 64])), k == i1)\n" SUM_OF("value"),
         .refused = "the labels of the rows of the right table"},
        {PRODUCT "P = join(entries(M), shop, i0 == k, how = left)\n" SUM_OF("value"),
         .refused = "keeps rows that have no partner"},
        {PRODUCT "P = join(entries(M), shop, i0 == k, matched = left)\n" SUM_OF("value"),
         .refused = "checks that all rows are matched"},
        {PRODUCT "P = join(entries(M), shop, i1 == k)\n" SUM_OF("value"),
         .refused = "the labels of the rows are no key"},
        {PRODUCT "P = select(join(entries(M), zone, i0 == j && value * u > 3, expect = \"m:1\"), j * "
                 "4611686018427387904 > u)\n" SUM_OF("value"),
         .refused = "may not be computed for rows that would be left out"},
        {"P = join(entries(A), shop, i0 == k)\n" SUM_OF("value"), .refused = "no product of two tensors"},
        {PRODUCT "Y = stack(M, M, 0)\nZ = transform(Y, relu)\n", .refused = "goes beyond the product"},
    }};
