/* label.c - the labelling of the paper: a dynamic program on trees, and path by path, the longest first, on other
 * graphs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

/* How a vertex brings the result of a producer into place. */
typedef struct link {
    int v;       /* the producer */
    int *key_of; /* of each vector of the reader: number of what it needs */
    int *out;    /* of each such: the best partition of the producer's result */
} link;

typedef struct table {
    double *best; /* of each partition of the result: the cheapest way to make it, with all below */
    int *vec;     /* and the vector that does */
    int least;    /* the cheapest vector of all */
    int nlinks;
    link *link;
} table;

typedef struct labeller {
    const tra_eingraph *g;
    tra_arena *a; /* dies with the labelling */
    choices *c;
    table *t;
    int *chosen; /* vector of each vertex, -1: none yet */
} labeller;
enum { NOTHING = INT32_MAX };

/* Adds to total what each vector of v pays for the producer, whose table is complete. */
static void add_link(labeller *w, int v, const producer *from, double *total) {
    const choices *c = &w->c[v], *pc = &w->c[from->v];
    const table *pt = &w->t[from->v];
    table *t = &w->t[v];
    link *k = &t->link[t->nlinks++];
    rows keys = {.width = tra_ein_needs_width(w->g, v, from)};
    int *row = tra_news(w->a, int, keys.width);
    k->v = from->v;
    k->key_of = tra_news(w->a, int, c->vec.n);
    for (int i = 0; i < c->vec.n; i++) {
        tra_ein_needs(w->g, v, from, vector(c, i), row);
        k->key_of[i] = tra_rows_add(&keys, row);
    }
    k->out = tra_news(w->a, int, keys.n);
    double *cost = tra_malloc((size_t)keys.n * sizeof *cost);
    for (int i = 0; i < keys.n; i++) {
        cost[i] = INFINITY;
        for (int o = 0; o < pc->outs.n; o++) {
            if (pt->best[o] >= cost[i]) continue;
            double x = pt->best[o] + tra_ein_bring(w->g, w->c, v, from, o, keys.v + (size_t)i * (size_t)keys.width);
            if (x < cost[i]) cost[i] = x, k->out[i] = o;
        }
    }
    for (int i = 0; i < c->vec.n; i++) total[i] += cost[k->key_of[i]];
    free(cost);
    tra_rows_free(&keys);
}

/* The table of v, with the costs of producer `only` alone (-1: of all; NOTHING: of none). */
static void fill(labeller *w, int v, int only) {
    const choices *c = &w->c[v];
    table *t = &w->t[v];
    double *total = tra_malloc((size_t)c->vec.n * sizeof *total);
    memcpy(total, c->own, (size_t)c->vec.n * sizeof *total);
    t->link = tra_news(w->a, link, c->nproducers);
    for (int i = 0; i < c->nproducers; i++)
        if (only < 0 || c->from[i].v == only) add_link(w, v, &c->from[i], total);
    t->best = tra_news(w->a, double, c->outs.n);
    t->vec = tra_news(w->a, int, c->outs.n);
    for (int o = 0; o < c->outs.n; o++) t->best[o] = INFINITY;
    for (int i = 0; i < c->vec.n; i++) {
        int o = c->out_of[i];
        if (total[i] < t->best[o]) t->best[o] = total[i], t->vec[o] = i;
        if (total[i] < total[t->least]) t->least = i;
    }
    free(total);
}

static void choose(labeller *w, int v, int vec) {
    const table *t = &w->t[v];
    w->chosen[v] = vec;
    for (int i = 0; i < t->nlinks; i++) {
        const link *k = &t->link[i];
        choose(w, k->v, w->t[k->v].vec[k->out[k->key_of[vec]]]);
    }
}

static bool is_tree(const tra_eingraph *g) {
    for (int v = 0; v < g->nvertices; v++)
        if (g->consumers[v] > 1) return false;
    return true;
}

/* The longest path over vertices without a vector, from its start; of several, that over the first. Its length. */
static int longest(const labeller *w, int *path) {
    const tra_eingraph *g = w->g;
    int *length = tra_calloc((size_t)g->nvertices, sizeof *length),
        *before = tra_malloc((size_t)g->nvertices * sizeof *before);
    int end = -1, n;
    for (int v = 0; v < g->nvertices; v++) {
        if (w->chosen[v] >= 0) continue;
        length[v] = 1;
        before[v] = -1;
        for (int i = 0; i < w->c[v].nproducers; i++) {
            int u = w->c[v].from[i].v;
            if (w->chosen[u] < 0 && length[u] + 1 > length[v]) length[v] = length[u] + 1, before[v] = u;
        }
        if (end < 0 || length[v] > length[end]) end = v;
    }
    n = end < 0 ? 0 : length[end];
    for (int i = n - 1, v = end; i >= 0; i--, v = before[v]) path[i] = v;
    free(length);
    free(before);
    return n;
}

static void label_tree(labeller *w) {
    for (int v = 0; v < w->g->nvertices; v++) fill(w, v, -1);
    for (int v = 0; v < w->g->nvertices; v++)
        if (w->g->consumers[v] == 0) choose(w, v, w->t[v].least);
}

static void linearise(labeller *w) {
    int *path = tra_news(w->a, int, w->g->nvertices), n;
    while ((n = longest(w, path)) > 0) {
        for (int i = 0; i < n; i++) fill(w, path[i], i ? path[i - 1] : NOTHING);
        choose(w, path[n - 1], w->t[path[n - 1]].least);
    }
}

tra_labelling *tra_ein_label(const tra_eingraph *g, tra_ein_costs costs, int p, bool any, tra_arena *a,
                             tra_labelling **refined) {
    labeller w = {.g = g, .a = tra_arena_new()};
    bool tree = is_tree(g);
    w.c = tra_ein_choices_new(g, costs, p, any, w.a);
    w.t = tra_news(w.a, table, g->nvertices);
    w.chosen = tra_news(w.a, int, g->nvertices);
    for (int v = 0; v < g->nvertices; v++) w.chosen[v] = -1;
    if (tree)
        label_tree(&w);
    else
        linearise(&w);
    tra_labelling *out = tra_ein_chosen_labelling(g, tree ? "tree" : "linearised", w.c, w.chosen, p, any, a);
    if (refined) {
        *refined = NULL;
        if (!tree && tra_ein_refine(g, w.c, w.chosen))
            *refined = tra_ein_chosen_labelling(g, "refined", w.c, w.chosen, p, any, a);
    }
    tra_ein_choices_free(g, w.c);
    tra_arena_free(w.a);
    return out;
}
