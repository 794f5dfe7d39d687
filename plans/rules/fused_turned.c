/* fused_turned.c - products of two matrices of entries in several blocks, of which one is not in the order that the
 * kernel wants, as A A': it is transposed once, where the kernel would put it in order for each block that it meets. */
#include "fused_int.h"

static bool has(const tra_einsum_ref *r, int label) { return r->label[0] == label || r->label[1] == label; }

/* Is the statement C[i,k] = sum X * Y of matrices of entries with one shared label? outer: which has label i. */
static bool is_product(const tra_einsum *s, int *outer, int *shared) {
    if (s->nrefs != 2 || s->nlabels != 3 || s->nout != 2 || s->fold != TRA_S_ADD || s->expr->op != TRA_S_MUL)
        return false;
    if (s->expr->a->op != TRA_S_ARG || s->expr->b->op != TRA_S_ARG || s->expr->a->arg == s->expr->b->arg) return false;
    *shared = 3 - s->out[0] - s->out[1];
    for (int i = 0; i < 2; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        if (r->n != 2 || r->label[0] == r->label[1] || r->diagonal || !has(r, *shared)) return false;
        if (!r->node->type.sparse || !r->node->type.layout) return false;
        if (has(r, s->out[0])) *outer = i;
    }
    return has(&s->ref[1 - *outer], s->out[1]);
}

bool fused_turned(fusing *f, int group, const tra_expr **made) {
    tra_memo *m = f->m;
    tra_einsum_ref ref[2];
    int outer = 0, shared = 0;
    if (!is_product(f->s, &outer, &shared)) return false;
    const int first[2] = {f->s->out[0], shared};
    tra_node j = {.op = TRA_OP_JOIN, .span = f->s->node->span, .join.l = {1, {1}}, .join.r = {1, {0}}};
    for (int k = 0; k < 2; k++) { /* the outer one, the inner one */
        const tra_einsum_ref *r = &f->s->ref[k ? 1 - outer : outer];
        int other = f->s->out[k ? 0 : 1]; /* the label of the blocks that each of its blocks meets */
        bool turns = r->label[0] != first[k];
        if (turns && tra_ceil_div(f->s->extent[other], fused_block_of(f->s, other)) < 2) return false;
        ref[k] = *r;
        if (turns && !fused_transpose(m, r, &ref[k])) return false;
    }
    if (ref[0].node == f->s->ref[outer].node && ref[1].node == f->s->ref[1 - outer].node) return false;
    for (int k = 0; k < 2; k++) {
        const tra_expr *x = fused_in_blocks(f, &ref[k]);
        if (!x) return false;
        j.in[k] = (tra_node *)&x->node;
    }
    if (tra_kernel_einsum(m->arena, "ij,jk->ik", &j.kernel, NULL) != TRA_OK) return false;
    int i = tra_memo_add(m, &j, -1, NULL);
    if (i < 0) return false;
    tra_node sum = {.op = TRA_OP_AGG, .in = {(tra_node *)&m->v[i]->node}, .span = j.span, .group = {2, {0, 2}}};
    sum.kernel = tra_kernel_sum(m->arena);
    sum.name = f->s->node->name;
    int all = tra_memo_add(m, &sum, group, NULL);
    if (all < 0) return false;
    *made = m->v[all];
    return true;
}
