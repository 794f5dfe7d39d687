/* transposes.c - rule R1-10: transposes go down to what is turned at no cost, past repartitions and into joins by
 * labels.
 */
#include "rules_int.h"

#include <string.h>

/* The dimensions of a transpose; false: the expression is none. */
static bool is_transpose(const tra_expr *x, int *from) {
    if (!x || x->node.op != TRA_OP_TRANSFORM) return false;
    int n = x->node.in[0]->type.cat->bound.n;
    bool moves = false;
    if (!tra_kernel_permutes(x->node.kernel, n, from)) return false;
    for (int d = 0; d < n; d++) moves = moves || from[d] != d;
    return moves;
}

/* Is a transpose of the group nothing in some relation that it is computed of, since that is a transpose itself? */
static bool meets_transpose(const tra_memo *m, int group, int depth) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    int from[TRA_MAXDIM];
    for (int i = 0; i < g->n; i++)
        if (is_transpose(m->v[g->expr[i]], from)) return true;
    const tra_expr *x = m->v[g->expr[0]];
    bool passes = x->node.op == TRA_OP_REPART || x->node.op == TRA_OP_REKEY || x->node.op == TRA_OP_JOIN ||
                  (x->node.op == TRA_OP_TRANSFORM && tra_kernel_props(x->node.kernel) & TRA_P_ELEMENTWISE);
    for (int i = 0; i < 2 && passes && depth > 0 && x->in[i] >= 0; i++)
        if (meets_transpose(m, x->in[i], depth - 1)) return true;
    return false;
}

/* The relation whose key d is key of[d] of x. */
static tra_node keys_of(tra_rewriting *w, const tra_expr *x, const int *of, int n) {
    const tra_keyexpr *key[TRA_MAXDIM];
    for (int d = 0; d < n; d++) key[d] = tra_keyexpr_component(w->m->arena, of[d]);
    return tra_proto_rekey(w, node_of(x), NULL, x ? n : 0, key);
}

/* x: a transpose by `from` of the repartition y. The transposed tensor is cut into the transposed blocks. */
static void turn_below_repart(tra_rewriting *w, tra_expr *x, tra_expr *y, const int *from) {
    const tra_node *cut = &y->node;
    int back[TRA_MAXDIM], n = cut->block.n;
    if (cut->slice.turn) {
        tra_refuse(w, x, "the slice begins elsewhere in each turn of a loop");
        return;
    }
    for (int d = 0; d < n; d++) back[from[d]] = d;
    tra_expr *in = tra_make_below(w, x, tra_proto_transform(x->node.kernel, cut->in[0]));
    if (in) in = tra_make_below(w, x, keys_of(w, in, from, n));
    if (!in) return;
    tra_node to = {.op = TRA_OP_REPART, .in = {&in->node}, .block = cut->block, .slice = cut->slice};
    for (int d = 0; d < n; d++) {
        to.block.v[d] = cut->block.v[from[d]];
        to.slice.origin.v[d] = cut->slice.origin.v[from[d]];
        to.slice.extent.v[d] = cut->slice.extent.v[from[d]];
    }
    tra_expr *made = tra_make_below(w, x, to);
    if (made) tra_claim(w, x, y, keys_of(w, made, back, n), made, NULL);
}

/* x: a transpose of the join y, whose kernel goes by places: by labels it says what is transposed. */
static void turn_join(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    tra_node join = y->node;
    const tra_kernel *k =
        tra_kernel_by_labels(w->m->arena, join.kernel, &join.in[0]->type.cat->bound, &join.in[1]->type.cat->bound);
    if (!k || k == join.kernel) return;
    join.kernel = tra_kernel_then(w->m->arena, k, x->node.kernel);
    tra_claim(w, x, y, join, NULL, NULL);
}

/* x: a join by labels, of which y is an operand that a transpose makes: the labels of what is transposed. */
static void turn_operand(tra_rewriting *w, tra_expr *x, tra_expr *y, const int *from) {
    const tra_node *other = x->node.in[!w->side];
    tra_node join = x->node;
    join.kernel = tra_kernel_of_turned(w->m->arena, join.kernel, w->side, from);
    if (!join.kernel) return;
    if (other->type.sparse) {
        tra_refuse(w, x, "the other operand is sparse too");
        return;
    }
    join.in[w->side] = y->node.in[0];
    tra_claim(w, x, y, join, NULL, NULL);
}

static void turn(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    enum { DEPTH = 6 };
    int from[TRA_MAXDIM];
    if (!y || !x->node.type.sparse) return;
    if (x->node.op == TRA_OP_JOIN && is_transpose(y, from)) turn_operand(w, x, y, from);
    if (!is_transpose(x, from) || !(y->in[0] >= 0 && meets_transpose(w->m, y->group, DEPTH))) return;
    if (y->node.op == TRA_OP_REPART) turn_below_repart(w, x, y, from);
    if (y->node.op == TRA_OP_JOIN) turn_join(w, x, y);
}

const tra_rule tra_rule_r1_10 = {
    .name = "R1-10",
    .equivalence = "map(transpose, repart(R)) = repart(map(transpose, R)); map(transpose, join(K, L, R)) = "
                   "join(K', L, R); join(K, map(transpose, L), R) = join(K', L, R)",
    .condition =
        "results are of sparse type; a repartition, slice or stack begins at one place; K is a function of elements by "
        "labels that folds nothing; first forms: R or L is computed of a transpose; third form: R is dense; the "
        "same for R",
    .forth = turn,
};
