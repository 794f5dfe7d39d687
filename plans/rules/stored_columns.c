/* stored_columns.c - rule R1-9: a matrix that its file has by columns is the transposed one by rows. */
#include "../../lib/storage/stored.h"
#include "rules_int.h"

static void read_columns(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_node *in = &x->node;
    if (y || in->op != TRA_OP_INPUT || in->input.transposed || !in->input.rel || in->type.cat->bound.n != 2 ||
        !in->type.layout)
        return;
    tra_rel *rel = tra_rel_transposed(in->input.rel);
    if (!rel) {
        tra_refuse(w, x, "its file has it by rows");
        return;
    }
    tra_node n = *in;
    const tra_kernel *turn;
    tra_err none = {0};
    n.input.rel = rel;
    n.input.transposed = in;
    n.type = *tra_rel_type(rel);
    n.labels = NULL;
    n.order = NULL;
    tra_expr *made = tra_make_below(w, x, n);
    if (!made || tra_kernel_einsum(w->m->arena, "ij->ji", &turn, &none) != TRA_OK) return;
    tra_claim(w, x, NULL, tra_proto_transform(turn, &made->node), made, NULL);
}

const tra_rule tra_rule_r1_9 = {
    .name = "R1-9",
    .equivalence = "input(F) = map(transpose, input(F by columns))",
    .condition = "F is a file of tra that has a matrix by columns (csc, dcsc)",
    .forth = read_columns,
};
