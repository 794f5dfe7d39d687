/* product.c - kernels as products and sums over labels, and back: what the order of contraction is found from. */
#include "kernel_int.h"

#include <assert.h>
#include <string.h>

bool tra_kernel_permutes(const tra_kernel *map, int rank, int *from) {
    bool seen[TRA_MAXDIM] = {false};
    if (map->cls == TRA_K_TRANSPOSE) {
        for (int d = 0; d < rank; d++) from[d] = rank - 1 - d;
        return true;
    }
    if (map->cls != TRA_K_EINSUM || map->nin != 1 || map->rank[0] != rank || map->nout != rank) return false;
    for (int d = 0; d < rank; d++) { /* as many labels as dimensions: none is repeated */
        from[d] = -1;
        for (int i = 0; i < rank; i++)
            if (map->in[0][i] == map->out[d] && !seen[i]) from[d] = i;
        if (from[d] < 0) return false;
        seen[from[d]] = true;
    }
    return true;
}

/* Element by element: dimensions are matched from the last. Stretched ones are no labels. */
static bool element_wise(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_product *p) {
    const tra_scalar *s = k->expr;
    if (!s || s->op != TRA_S_MUL || s->a->op != TRA_S_ARG || s->b->op != TRA_S_ARG || s->a->arg == s->b->arg)
        return false;
    const tra_dims *ext[2] = {a, b};
    int n = a->n > b->n ? a->n : b->n;
    p->nlabels = p->nout = n;
    for (int d = 0; d < n; d++) p->out[d] = (int8_t)d;
    for (int o = 0; o < 2; o++) {
        p->rank[o] = ext[o]->n;
        for (int d = 0; d < ext[o]->n; d++) p->in[o][d] = (int8_t)(n - ext[o]->n + d);
    }
    for (int d = 1; d <= a->n && d <= b->n; d++)
        if (a->v[a->n - d] != b->v[b->n - d]) return false;
    return true;
}

bool tra_kernel_is_product(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_product *p) {
    *p = (tra_product){.nlabels = 0};
    if (k->cls == TRA_K_SCALAR && k->nargs == 2) return element_wise(k, a, b, p);
    if (k->cls == TRA_K_OUTER) {
        p->rank[0] = a->n, p->rank[1] = b->n;
        if (a->n + b->n > TRA_MAXDIM) return false;
        for (; p->nlabels < a->n + b->n; p->nlabels++) {
            int l = p->nlabels;
            p->in[l >= a->n][l < a->n ? l : l - a->n] = p->out[l] = (int8_t)l;
        }
        p->nout = p->nlabels;
        return true;
    }
    if (k->cls != TRA_K_EINSUM || k->nin != 2 || k->fold != TRA_S_ADD) return false;
    if (a->n != k->rank[0] || b->n != k->rank[1]) return false;
    memcpy(p->rank, k->rank, sizeof p->rank);
    memcpy(p->in, k->in, sizeof p->in);
    memcpy(p->out, k->out, sizeof p->out);
    p->nout = k->nout;
    p->nlabels = k->nlabels;
    return true;
}

bool tra_kernel_multiplies(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_product *p) {
    const tra_scalar *e = k->expr;
    bool extreme = k->cls == TRA_K_ALIGNED && k->nin == 2 && (k->fold == TRA_S_MAX || k->fold == TRA_S_MIN);
    if (!extreme) return tra_kernel_is_product(k, a, b, p);
    for (int d = 0; d < a->n; d++) extreme = extreme && a->v[d] > 0;
    for (int d = 0; d < b->n; d++) extreme = extreme && b->v[d] > 0;
    if (!extreme || !e || e->op != TRA_S_MUL || e->a->op != TRA_S_ARG || e->b->op != TRA_S_ARG) return false;
    tra_kernel sum = *k;
    sum.cls = TRA_K_EINSUM, sum.fold = TRA_S_ADD;
    return e->a->arg != e->b->arg && tra_kernel_is_product(&sum, a, b, p);
}

static int count(const int8_t *v, int n, int8_t label, int *at) {
    int times = 0;
    for (int d = 0; d < n; d++)
        if (v[d] == label) times++, *at = d;
    return times;
}

bool tra_kernel_mirrors(const tra_kernel *k, int *p, int *q, int *own) {
    int differ = 0, at;
    if (k->cls != TRA_K_EINSUM || k->nin != 2 || k->fold != TRA_S_ADD || k->rank[0] != k->rank[1]) return false;
    for (int d = 0; d < k->rank[0]; d++)
        if (k->in[0][d] != k->in[1][d]) differ++, *own = d;
    if (differ != 1) return false;
    int8_t i = k->in[0][*own], j = k->in[1][*own];
    if (count(k->in[0], k->rank[0], i, &at) != 1 || count(k->in[1], k->rank[1], j, &at) != 1) return false;
    return count(k->out, k->nout, i, p) == 1 && count(k->out, k->nout, j, q) == 1;
}

/* Is the product `x`, up to the numbers of its labels? */
static bool like(const tra_product *p, const char *l, const char *r, const char *out) {
    const char *text[3] = {l, r, out};
    const int8_t *v[3] = {p->in[0], p->in[1], p->out};
    int n[3] = {p->rank[0], p->rank[1], p->nout}, number[128];
    memset(number, -1, sizeof number);
    for (int i = 0; i < 3; i++) {
        if ((int)strlen(text[i]) != n[i]) return false;
        for (int d = 0; d < n[i]; d++) {
            int *x = &number[(unsigned char)text[i][d]];
            if (*x >= 0 && *x != v[i][d]) return false;
            *x = v[i][d];
        }
    }
    for (int c = 0; c < 128; c++)
        for (int d = c + 1; d < 128; d++)
            if (number[c] >= 0 && number[c] == number[d]) return false;
    return true;
}

bool tra_kernel_is_sum(const tra_kernel *agg) { return agg->cls == TRA_K_FOLD && agg->fold == TRA_S_ADD; }

bool tra_kernel_folds_as(const tra_kernel *agg, const tra_kernel *join) {
    bool extreme = join->cls == TRA_K_ALIGNED && (join->fold == TRA_S_MAX || join->fold == TRA_S_MIN);
    return extreme ? agg->cls == TRA_K_FOLD && agg->fold == join->fold : tra_kernel_is_sum(agg);
}

const tra_kernel *tra_kernel_sum(tra_arena *a) {
    const tra_kernel *k = NULL;
    tra_status s = tra_kernel_named(a, "matadd", TRA_USE_AGG, 0, NULL, &k, NULL);
    assert(s == TRA_OK);
    (void)s;
    return k;
}

const tra_kernel *tra_kernel_product(tra_arena *a, const tra_product *p) {
    const tra_kernel *k = NULL;
    const char *name = like(p, "ij", "jk", "ik") ? "matmul" : NULL;
    bool same = p->rank[0] == p->rank[1] && p->nout == p->rank[0] && !memcmp(p->in[0], p->in[1], (size_t)p->nout) &&
                !memcmp(p->in[0], p->out, (size_t)p->nout);
    for (int d = 0; d < p->nout && same; d++)
        for (int i = 0; i < d; i++) same = same && p->out[i] != p->out[d];
    if (same) name = "elemmul";
    if (name) {
        if (tra_kernel_named(a, name, TRA_USE_JOIN, 0, NULL, &k, NULL) != TRA_OK) return NULL;
        return k;
    }
    /* letters in the order in which labels occur: i, j, k, ..., then those before i */
    char letter[2 * TRA_MAXDIM] = {0}, text[3 * TRA_MAXDIM + 4], *to = text;
    int n = 0;
    const int8_t *v[3] = {p->in[0], p->in[1], p->out};
    int count[3] = {p->rank[0], p->rank[1], p->nout};
    for (int i = 0; i < 3; i++) {
        if (i == 1) *to++ = ',';
        if (i == 2) *to++ = '-', *to++ = '>';
        for (int d = 0; d < count[i]; d++) {
            char *c = &letter[v[i][d]];
            if (!*c && n == 52) return NULL;
            if (!*c) *c = "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"[n++];
            *to++ = *c;
        }
    }
    *to = 0;
    return tra_kernel_einsum(a, text, &k, NULL) == TRA_OK ? k : NULL;
}
