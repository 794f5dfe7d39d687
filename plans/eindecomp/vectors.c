/* vectors.c - the viable partition vectors of a vertex. */
#include <stdlib.h>
#include <string.h>

#include "eindecomp.h"

int tra_ein_processors(int p, bool any) {
    int q = 1;
    while (q < p) q *= 2;
    return any ? p : q;
}

typedef struct enumeration {
    const tra_vertex *x;
    int64_t left_most[TRA_MAXLABELS + 1]; /* bound of the product of the parts of labels l, l + 1, ... */
    int d[TRA_MAXLABELS];
    int cap;
    tra_vectors *out;
} enumeration;

/* Every way to give label l and those after it parts whose product is `left`; the first labels take most first. */
static void enumerate(enumeration *e, int l, int left) {
    tra_vectors *out = e->out;
    if (out->cut_off || left > e->left_most[l]) return;
    if (l == e->x->nlabels) {
        if (left != 1) return;
        out->cut_off = out->n == TRA_EIN_MAXVECTORS;
        if (out->cut_off) return;
        if (out->n == e->cap) {
            e->cap = e->cap ? 2 * e->cap : 64;
            out->v = tra_realloc(out->v, (size_t)e->cap * (size_t)tra_max64(1, l), sizeof *out->v);
        }
        if (l) memcpy(out->v + (size_t)out->n * (size_t)l, e->d, (size_t)l * sizeof *out->v);
        out->n++;
        return;
    }
    for (int take = (int)tra_min64(left, e->x->most[l]); take >= 1; take--) {
        if (left % take != 0) continue;
        e->d[l] = take;
        enumerate(e, l + 1, left / take);
    }
}

/* Factors of two by which the vector cuts across blocks. */
static int across(const tra_vertex *x, const int *d) {
    int n = 0;
    for (int l = 0; l < x->nlabels; l++)
        for (int64_t parts = d[l]; parts > x->blocks[l]; parts = (parts + 1) / 2) n++;
    return n;
}

/* Sorts vectors: those that follow the blocks best first, equal ones in the order of enumeration. */
static void by_blocks(const tra_vertex *x, tra_vectors *v) {
    size_t width = (size_t)v->nlabels;
    int *sorted = tra_malloc((size_t)v->n * width * sizeof *sorted + 1),
        *rank = tra_malloc((size_t)v->n * sizeof *rank);
    int most = 0, n = 0;
    for (int i = 0; i < v->n; i++) {
        rank[i] = across(x, v->v + (size_t)i * width);
        most = rank[i] > most ? rank[i] : most;
    }
    for (int r = 0; r <= most; r++) {
        for (int i = 0; i < v->n; i++)
            if (rank[i] == r) memcpy(sorted + (size_t)n++ * width, v->v + (size_t)i * width, width * sizeof *sorted);
    }
    for (int i = 0; i < v->n; i++) v->nwhole += rank[i] == 0;
    memcpy(v->v, sorted, (size_t)v->n * width * sizeof *sorted);
    free(sorted);
    free(rank);
}

tra_vectors tra_ein_vectors(const tra_vertex *x, int p, bool any, tra_arena *a) {
    tra_vectors out = {.nlabels = x->nlabels};
    enumeration e = {.x = x, .out = &out};
    int product = tra_ein_processors(p, any);
    e.left_most[x->nlabels] = 1;
    for (int l = x->nlabels - 1; l >= 0; l--) /* a bound, exact for powers of two where each label takes one */
        e.left_most[l] = tra_min64(e.left_most[l + 1] * tra_min64(x->most[l], product), product);
    for (;;) {
        enumerate(&e, 0, product);
        if (out.n) break;
        product = any ? product - 1 : product / 2; /* 1 can always be had */
    }
    out.product = product;
    if (x->nlabels)
        by_blocks(x, &out);
    else
        out.nwhole = out.n;
    int *kept = tra_news(a, int, (size_t)out.n *(size_t)x->nlabels);
    if (x->nlabels) memcpy(kept, out.v, (size_t)out.n * (size_t)x->nlabels * sizeof *kept);
    free(out.v);
    out.v = kept;
    return out;
}
