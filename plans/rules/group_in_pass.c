/* group_in_pass.c - rule Q-14: groups of what a pass over rows makes are made of its operand, block by block, so that
 * the rows of the pass are not kept. What else reads these rows has them as before. */
#include "../../lib/table/group.h"
#include "pipeline.h"

static void group_operand(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    static const double NEAR = 0.5; /* the share of a pass whose rows a cache keeps */
    const tra_group *g = tra_rows_args(&x->node, &tra_group_ops);
    if (!y || w->side != 0 || !g) return;
    tra_group_pass stage = tra_group_pass_of(g);
    if (stage != TRA_GROUP_PARTIAL && stage != TRA_GROUP_WHOLE) return;
    const tra_rowwise *r = tra_rowwise_of_expr(y);
    if (y->node.op == TRA_OP_JOIN) tra_refuse(w, x, "the rows are a join's, or of a pass that asks for their numbers");
    if (!r || tra_rowwise_is_matrix(r, NULL)) return;
    const tra_rows_kernel *k = tra_rows_op_of(&x->node), *pass = tra_rows_op_of(&y->node);
    tra_rows_kernel made = *k;
    made.label = k->label ? tra_arena_printf(w->m->arena, "%s of %s", k->label, pass->text) : NULL;
    made.ops = &tra_group_of_pass_ops, made.data = tra_group_of_pass_new(w->m->arena, r, g);
    made.flops = NEAR * pass->flops + pass->share * k->flops;
    made.share *= k->most == INT64_MAX ? pass->share : 1;
    tra_claim(w, x, y, tra_proto_rows(w, &made, y->node.in[0], NULL), NULL, NULL);
}

const tra_rule tra_rule_q_14 = {
    .name = "Q-14",
    .equivalence =
        "group(project(select(T, p), c, ...), k, ...) = groups of T, whose rows are selected and made as it goes",
    .condition = "the pass does not ask for the numbers of rows",
    .forth = group_operand,
};
