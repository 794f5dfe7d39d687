/* vectors.c - the viable partition vectors of a vertex. */
#include <stdlib.h>
#include <string.h>

#include "eindecomp.h"

int tra_ein_processors(int p, bool any_factors) {
    int q = 1;
    while (q < p) q *= 2;
    return any_factors ? p : q;
}

/* Vectors are made label by label. */
typedef struct enumeration {
    const tra_vertex *x;
    int64_t most_from[TRA_MAXLABELS + 1]; /* of label l: a bound of the product of the parts of labels l, l + 1, ... */
    int d[TRA_MAXLABELS];                 /* the vector, as far as it is made */
    int cap;                              /* vectors that out->v has room for */
    tra_vectors *out;
} enumeration;

/* Enumerates the ways to give label l and those after it parts whose product is `left`, those with most parts of the
 * first labels first. */
static void enumerate(enumeration *e, int l, int left) {
    tra_vectors *out = e->out;
    if (out->cut_off || left > e->most_from[l]) return;
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
    for (int take = (int)tra_min64(left, e->x->max_parts[l]); take >= 1; take--) {
        if (left % take != 0) continue;
        e->d[l] = take;
        enumerate(e, l + 1, left / take);
    }
}

/* How far the vector cuts across blocks: the factors of two by which labels have more parts than blocks. */
static int excess_over_blocks(const tra_vertex *x, const int *d) {
    int n = 0;
    for (int l = 0; l < x->nlabels; l++)
        for (int64_t parts = d[l]; parts > x->blocks[l]; parts = (parts + 1) / 2) n++;
    return n;
}

/* Sorts vectors by how far they cut across blocks, stably, and sets naligned. */
static void sort_by_excess(const tra_vertex *x, tra_vectors *v) {
    size_t width = (size_t)v->nlabels;
    int *sorted = tra_malloc((size_t)v->n * width * sizeof *sorted + 1),
        *rank = tra_malloc((size_t)v->n * sizeof *rank);
    int most = 0, n = 0;
    for (int i = 0; i < v->n; i++) {
        rank[i] = excess_over_blocks(x, v->v + (size_t)i * width);
        most = rank[i] > most ? rank[i] : most;
    }
    for (int r = 0; r <= most; r++) {
        for (int i = 0; i < v->n; i++)
            if (rank[i] == r) memcpy(sorted + (size_t)n++ * width, v->v + (size_t)i * width, width * sizeof *sorted);
    }
    for (int i = 0; i < v->n; i++) v->naligned += rank[i] == 0;
    memcpy(v->v, sorted, (size_t)v->n * width * sizeof *sorted);
    free(sorted);
    free(rank);
}

tra_vectors tra_ein_vectors(const tra_vertex *x, int p, bool any_factors, tra_arena *a) {
    tra_vectors out = {.nlabels = x->nlabels};
    enumeration e = {.x = x, .out = &out};
    int product = tra_ein_processors(p, any_factors);
    e.most_from[x->nlabels] = 1;
    for (int l = x->nlabels - 1; l >= 0; l--)
        e.most_from[l] = tra_min64(e.most_from[l + 1] * tra_min64(x->max_parts[l], product), product);
    enumerate(&e, 0, product);
    while (out.n == 0) { /* at the latest with a product of 1 */
        product = any_factors ? product - 1 : product / 2;
        enumerate(&e, 0, product);
    }
    out.product = product;
    if (x->nlabels)
        sort_by_excess(x, &out);
    else
        out.naligned = out.n;
    int *kept = tra_news(a, int, (size_t)out.n *(size_t)x->nlabels);
    if (x->nlabels) memcpy(kept, out.v, (size_t)out.n * (size_t)x->nlabels * sizeof *kept);
    free(out.v);
    out.v = kept;
    return out;
}
