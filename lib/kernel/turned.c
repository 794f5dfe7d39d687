/* turned.c - joins by labels whose operands or result are transposed: the same with other labels. */
#include "kernel_int.h"

#include <string.h>

static bool by_labels(const tra_kernel *k) {
    return (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED) && k->nin == 2 && !tra_fold_places(k->fold);
}

/* The join with these letters for the dimensions of its operands and result. */
static const tra_kernel *labelled(tra_arena *a, const tra_kernel *k, const char *l, const char *r, const char *out) {
    static const tra_scalar left = {.op = TRA_S_ARG}, right = {.op = TRA_S_ARG, .arg = 1};
    static const tra_scalar product = {.op = TRA_S_MUL, .a = &left, .b = &right};
    const char *const names[2] = {k->names[0] ? k->names[0] : "x", k->names[1] ? k->names[1] : "y"};
    const char *text = tra_arena_printf(a, "%s,%s->%s", l, r, out);
    const tra_kernel *made;
    tra_err e = {0};
    tra_scalar_op fold = k->cls == TRA_K_SCALAR ? TRA_S_ADD : k->fold;
    const tra_scalar *x = k->cls == TRA_K_EINSUM ? &product : k->expr;
    return tra_kernel_aligned(a, text, x, fold, names, &made, &e) == TRA_OK ? made : NULL;
}

/* The letters of n labels, of which the i-th is that of dimension from[i]; from NULL: i. */
static char *letters(const tra_kernel *k, const int8_t *label, const int *from, int n, char *to) {
    for (int d = 0; d < n; d++) to[d] = k->letters[label[from ? from[d] : d]];
    to[n] = 0;
    return to;
}

const tra_kernel *tra_kernel_turned(tra_arena *a, const tra_kernel *first, const tra_kernel *next) {
    char l[TRA_MAXDIM + 1], r[TRA_MAXDIM + 1], out[TRA_MAXDIM + 1];
    int from[TRA_MAXDIM];
    if (!by_labels(first) || first->nout < 2) return NULL;
    if (!(next->props & TRA_P_MOVES) || !tra_kernel_permutes(next, first->nout, from)) return NULL;
    return labelled(a, first, letters(first, first->in[0], NULL, first->rank[0], l),
                    letters(first, first->in[1], NULL, first->rank[1], r),
                    letters(first, first->out, from, first->nout, out));
}

const tra_kernel *tra_kernel_of_turned(tra_arena *a, const tra_kernel *k, int side, const int *from) {
    char in[2][TRA_MAXDIM + 1], out[TRA_MAXDIM + 1];
    int back[TRA_MAXDIM];
    if (!by_labels(k) || k->nlabels > k->nout) return NULL;
    for (int d = 0; d < k->rank[side]; d++) back[from[d]] = d;
    for (int o = 0; o < 2; o++) letters(k, k->in[o], o == side ? back : NULL, k->rank[o], in[o]);
    return labelled(a, k, in[0], in[1], letters(k, k->out, NULL, k->nout, out));
}

const tra_kernel *tra_kernel_by_labels(tra_arena *a, const tra_kernel *k, const tra_dims *l, const tra_dims *r) {
    char text[TRA_MAXDIM + 1] = {0};
    int n = l->n > r->n ? l->n : r->n;
    if (by_labels(k)) return k;
    if (k->cls != TRA_K_SCALAR || k->nargs != 2 || !k->expr || (k->row && k->row->type)) return NULL;
    for (int d = 1; d <= l->n && d <= r->n; d++)
        if (l->v[l->n - d] != r->v[r->n - d]) return NULL;
    for (int d = 0; d < n; d++) text[d] = (char)('a' + d);
    return labelled(a, k, text + n - l->n, text + n - r->n, text);
}
