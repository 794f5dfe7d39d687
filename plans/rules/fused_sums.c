/* fused_sums.c - a factor that is itself a sum, as in A[i,j] * (sum[k](U[i,k] * V[j,k])): the statement with its
 * factors in its place. Where A is sparse the sum is wanted at its entries alone, and U V' is never made. */
#include "fused_int.h"

#include <string.h>

/* The statement whose result the node is, if it is a sum of products; else NULL. */
static const tra_einsum *sum_of(const tra_node *n) {
    const tra_einsum *s = tra_statement_of(n);
    return s && s->fold == TRA_S_ADD && fused_is_product(s->expr) ? s : NULL;
}

/* How often an argument is a factor. */
static int times(const tra_scalar *x, int arg) {
    if (!x) return 0;
    return x->op == TRA_S_ARG ? x->arg == arg : times(x->a, arg) + times(x->b, arg);
}

/* The expression with `sum` in the place of an argument. */
static const tra_scalar *with_sum(tra_arena *a, const tra_scalar *x, int arg, const tra_scalar *sum) {
    if (!x) return NULL;
    if (x->op == TRA_S_ARG && x->arg == arg) return sum;
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = *x;
    y->a = with_sum(a, x->a, arg, sum);
    y->b = with_sum(a, x->b, arg, sum);
    return y;
}

/* Gives the statement another label, that of `from`; returns its number. */
static int add_label(tra_einsum *t, const tra_einsum *from, int l, tra_arena *a) {
    int at = t->nlabels++;
    t->name[at] = tra_arena_printf(a, "%s%d", from->name[l], at);
    t->extent[at] = from->extent[l];
    t->block[at] = from->block[l];
    return at;
}

/* The statement with the factors of a sum in the place of reference r; NULL: it has too many factors or labels. */
static const tra_einsum *inlined(tra_arena *a, const tra_einsum *s, int r, const tra_einsum *sum) {
    int label[TRA_MAXLABELS], number[TRA_MAXLABELS];
    if (s->nrefs + sum->nrefs > TRA_MAXLABELS || s->nlabels + sum->nlabels > TRA_MAXLABELS) return NULL;
    tra_einsum *t = tra_new(a, tra_einsum);
    *t = *s;
    for (int l = 0; l < sum->nlabels; l++) label[l] = -1;
    for (int d = 0; d < sum->nout; d++) label[sum->out[d]] = s->ref[r].label[d];
    for (int l = 0; l < sum->nlabels; l++)
        if (label[l] < 0) label[l] = add_label(t, sum, l, a);
    t->ref = tra_news(a, tra_einsum_ref, s->nrefs + sum->nrefs);
    memcpy(t->ref, s->ref, (size_t)s->nrefs * sizeof *s->ref);
    for (int i = 0; i < sum->nrefs; i++) {
        tra_einsum_ref *x = &t->ref[number[i] = i == 0 ? r : t->nrefs++];
        *x = sum->ref[i];
        for (int d = 0; d < x->n; d++) x->label[d] = label[x->label[d]];
    }
    t->expr = with_sum(a, s->expr, r, fused_renumber(a, sum->expr, number));
    return t;
}

static uint64_t labels_of(const tra_einsum_ref *x) {
    uint64_t set = 0;
    for (int d = 0; d < x->n; d++) set |= (uint64_t)1 << x->label[d];
    return set;
}

/* Does another factor, of sparse type, mask a sum? Its labels are among the sum's, or the sum's among its labels: so it
 * has entries where the sum is wanted. A sum without a mask is computed once, as it is written: with its factors in its
 * place it would be computed again for each entry that it meets. */
static bool is_masked(const tra_einsum *s, int r) {
    uint64_t own = labels_of(&s->ref[r]);
    for (int i = 0; i < s->nrefs; i++) {
        uint64_t set = i != r && s->ref[i].node && s->ref[i].node->type.sparse ? labels_of(&s->ref[i]) : 0;
        if (set && ((set & ~own) == 0 || (own & ~set) == 0)) return true;
    }
    return false;
}

/* The first reference to a sum that is masked and is a factor just once, so that its factors can take its place; -1:
 * there is none. */
static int find_sum(const tra_einsum *s, const tra_einsum **sum) {
    for (int r = 0; r < s->nrefs; r++) {
        const tra_einsum_ref *x = &s->ref[r];
        *sum = x->node && !x->diagonal && times(s->expr, r) == 1 && is_masked(s, r) ? sum_of(x->node) : NULL;
        if (*sum) return r;
    }
    return -1;
}

const tra_einsum *fused_of_sums(tra_arena *a, const tra_einsum *s) {
    const tra_einsum *sum, *next = s;
    bool adds = s->fold == TRA_S_ADD && fused_is_product(s->expr);
    for (int r; next && adds && (r = find_sum(next, &sum)) >= 0;) {
        s = next;
        next = inlined(a, s, r, sum);
    }
    return next ? next : s;
}
