/* turn_in_loop.c - rule R1-8: what a loop reads in each turn, in the order in which its products want it.
 *
 * Entries that are added to places all over the result are added by one thread; with the label that is kept as the
 * first of the operand each row of the result has its entries together. A copy in that order is made once, before the
 * loop.
 */
#include <string.h>

#include "rules_int.h"

/* The loops (bits) in whose turns a group is computed, by its first expression. seen: by group. */
static uint64_t loops_around(const tra_memo *m, int group, bool *seen) {
    group = tra_memo_find(m, group);
    if (seen[group]) return 0; /* counted */
    seen[group] = true;
    const tra_expr *x = m->v[m->group[group].expr[0]];
    const tra_node *n = &x->node;
    const tra_graph *g = m->g;
    uint64_t in = 0;
    int first = n->slice.turn ? n->slice.turn->input.loop : -1;
    if (n->op == TRA_OP_INPUT && n->input.leaf)
        first = n->input.leaf == TRA_LEAF_STATE || n->input.leaf == TRA_LEAF_TURN ? n->input.loop
                                                                                  : g->loops[n->input.loop]->outer;
    for (int l = first; l >= 0; l = g->loops[l]->outer) in |= (uint64_t)1 << l;
    for (int i = 0; i < 2 && x->in[i] >= 0; i++) in |= loops_around(m, x->in[i], seen);
    return in;
}

static bool is_kept(const tra_product *p, int label) { return memchr(p->out, label, (size_t)p->nout) != NULL; }

/* The dimension that is to be the first of operand o: of a label that the result has, where the first is summed. */
static int to_front(const tra_product *p, int o) {
    int d = 0;
    while (d < p->rank[o] && !is_kept(p, p->in[o][d])) d++;
    for (int i = 0; i < p->rank[o]; i++)
        for (int k = 0; k < i; k++)
            if (p->in[o][i] == p->in[o][k]) return 0;
    return d < p->rank[o] ? d : 0;
}

static void order_operand(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_memo *m = w->m;
    tra_product p;
    if (y || x->node.op != TRA_OP_JOIN || m->g->nloops == 0) return;
    const tra_node *const *in = (const tra_node *const *)x->node.in;
    if (!tra_kernel_is_product(x->node.kernel, &in[0]->type.cat->bound, &in[1]->type.cat->bound, &p)) return;
    for (int o = 0; o < 2; o++) {
        int d = to_front(&p, o);
        if (d == 0 || !in[o]->type.layout || in[!o]->type.layout) continue;
        bool *seen = tra_news(m->arena, bool, m->ngroups);
        uint64_t own = loops_around(m, x->in[o], seen);
        memset(seen, 0, (size_t)m->ngroups);
        if (!(loops_around(m, x->group, seen) & ~own)) {
            tra_refuse(w, x, "no loop computes it that does not change its operand");
            continue;
        }
        char text[2 * TRA_MAXDIM + 3];
        int n = p.rank[o];
        int8_t to[TRA_MAXDIM];
        for (int i = 0; i < n; i++) {
            int from = i == 0 ? d : i <= d ? i - 1 : i;
            text[i] = (char)('a' + i);
            text[n + 2 + i] = (char)('a' + from);
            to[i] = p.in[o][from];
        }
        memcpy(text + n, "->", 2);
        text[2 * n + 2] = 0;
        const tra_kernel *order;
        tra_err none = {0};
        if (tra_kernel_einsum(m->arena, text, &order, &none) != TRA_OK) return;
        tra_expr *made = tra_make_below(w, x, tra_proto_transform(order, in[o]));
        tra_node join = x->node;
        if (!made) return;
        memcpy(p.in[o], to, sizeof to);
        join.in[o] = &made->node;
        join.kernel = tra_kernel_product(m->arena, &p);
        if (join.kernel) tra_claim(w, x, NULL, join, o == 0 ? made : NULL, o == 1 ? made : NULL);
        return;
    }
}

/* "# sparse": the inputs are. */
const tra_rule tra_rule_r1_8 = {
    .name = "R1-8",
    .equivalence = "join(K, L, R) = join(K', map(transpose, L), R)",
    .condition = "K is a product, L is held as rows of entries the first label of which is summed, and a loop computes "
                 "the join but not L; the same for R",
    .forth = order_operand,
};
