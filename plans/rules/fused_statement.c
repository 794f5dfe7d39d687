/* fused_statement.c - statements as fused ones have them: products of references and numbers, where each reference has
 * a label for each dimension of its relation. */
#include "fused_int.h"

#include <string.h>

bool fused_is_product(const tra_scalar *x) {
    switch ((int)x->op) {
    case TRA_S_ARG:
    case TRA_S_CONST: return true;
    case TRA_S_NEG: return fused_is_product(x->a);
    case TRA_S_MUL: return fused_is_product(x->a) && fused_is_product(x->b);
    }
    return false;
}

/* The statement, with the diagonals of operands that have a label twice in the place of those operands. */
const tra_einsum *fused_of_diagonals(tra_memo *m, const tra_einsum *s) {
    tra_einsum *t = tra_new(m->arena, tra_einsum);
    bool any = false;
    *t = *s;
    t->ref = tra_news(m->arena, tra_einsum_ref, s->nrefs);
    for (int i = 0; i < s->nrefs; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        t->ref[i] = *r;
        if (!r->diagonal) continue;
        any = true;
        t->ref[i] = (tra_einsum_ref){.node = r->diagonal};
        for (int d = 0; d < r->n; d++) {
            bool seen = false;
            for (int k = 0; k < t->ref[i].n; k++) seen = seen || t->ref[i].label[k] == r->label[d];
            if (!seen) t->ref[i].label[t->ref[i].n++] = r->label[d];
        }
    }
    return any ? t : s;
}

/* The number of the only reference that the expression has; -1: it has several, or none; -2: none so far. */
static int only_ref(const tra_scalar *x, int found) {
    if (x->op == TRA_S_ARG) return found == -2 || found == x->arg ? x->arg : -1;
    const tra_scalar *kid[] = {x->a, x->b, x->c};
    for (int i = 0; i < 3 && found != -1; i++)
        if (kid[i]) found = only_ref(kid[i], found);
    return found;
}

static const tra_scalar *with_arg(tra_arena *a, const tra_scalar *x, int arg) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = *x;
    if (x->op == TRA_S_ARG) y->arg = arg;
    if (x->a) y->a = with_arg(a, x->a, arg);
    if (x->b) y->b = with_arg(a, x->b, arg);
    if (x->c) y->c = with_arg(a, x->c, arg);
    return y;
}

/* The product with each factor that is a function of one reference as a reference to that function; NULL: the memo is
 * full. */
static const tra_scalar *name_maps(tra_memo *m, tra_einsum *s, const tra_scalar *x) {
    static const char *const names[] = {"x"};
    tra_arena *a = m->arena;
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = *x;
    if (x->op == TRA_S_ARG || x->op == TRA_S_CONST) return x;
    if (x->op == TRA_S_NEG || x->op == TRA_S_MUL) {
        y->a = name_maps(m, s, x->a);
        y->b = x->b ? name_maps(m, s, x->b) : NULL;
        return y->a && (y->b || !x->b) ? y : NULL;
    }
    int ref = only_ref(x, -2);
    if (ref < 0 || s->nrefs == TRA_MAXLABELS || !s->ref[ref].node) return x;
    const tra_einsum_ref *r = &s->ref[ref];
    tra_node map = {.op = TRA_OP_TRANSFORM, .in = {(tra_node *)&fused_expr(m, r->node)->node}, .span = r->node->span};
    map.kernel = tra_kernel_lambda(a, with_arg(a, x, 0), 1, names);
    int i = tra_memo_add(m, &map, -1, NULL);
    if (i < 0) return NULL;
    s->ref[s->nrefs] = *r;
    s->ref[s->nrefs].node = &m->v[i]->node;
    *y = (tra_scalar){.op = TRA_S_ARG, .arg = s->nrefs++};
    return y;
}

const tra_scalar *fused_renumber(tra_arena *a, const tra_scalar *x, const int *number) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = *x;
    if (x->op == TRA_S_ARG) y->arg = number[x->arg];
    if (x->a) y->a = fused_renumber(a, x->a, number);
    if (x->b) y->b = fused_renumber(a, x->b, number);
    return y;
}

static void mark_refs(const tra_scalar *x, bool *used) {
    if (x->op == TRA_S_ARG) used[x->arg] = true;
    if (x->a) mark_refs(x->a, used);
    if (x->b) mark_refs(x->b, used);
}

/* The statement with functions of one reference, which are factors, as references; itself if it has none. */
const tra_einsum *fused_of_maps(tra_memo *m, const tra_einsum *s) {
    tra_einsum *t = tra_new(m->arena, tra_einsum);
    int number[TRA_MAXLABELS], n = 0;
    bool used[TRA_MAXLABELS] = {false};
    if (fused_is_product(s->expr) || s->nrefs > TRA_MAXLABELS) return s;
    *t = *s;
    t->ref = tra_news(m->arena, tra_einsum_ref, TRA_MAXLABELS);
    memcpy(t->ref, s->ref, (size_t)s->nrefs * sizeof *s->ref);
    t->expr = name_maps(m, t, s->expr);
    if (!t->expr || !tra_is_sampled(t, t->expr)) return s;
    mark_refs(t->expr, used);
    for (int i = 0; i < t->nrefs; i++) {
        number[i] = n;
        if (used[i]) t->ref[n++] = t->ref[i];
    }
    t->nrefs = n;
    t->expr = fused_renumber(m->arena, t->expr, number);
    return t;
}
