/* exact.c - an optimal labelling of a small graph: vertices are eliminated one by one, each leaving a table of the least
 * cost over the vectors of its neighbours (nonserial dynamic programming). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

/* A sum of costs over the choices of some vertices, in row-major order of v. */
typedef struct factor {
    int n, *v;
    double *cost;
    bool used; /* is in another one by now */
} factor;

/* A vertex that is gone: its best choice for each choice of its neighbours. */
typedef struct gone {
    int v, n, *near;
    int *best;
} gone;

typedef struct elimination {
    const tra_eingraph *g;
    tra_arena *a; /* dies with the search */
    choices *c;
    int **vec, *nvec; /* of each vertex: the vectors worth choosing from, and how many */
    int nfactors;
    factor *factor;
    bool **near; /* neighbours while eliminating */
    gone *order;
} elimination;

/* Of vectors that agree on the result's partition and on what they need of other vertices only the cheapest counts. */
static void reduce_choices(elimination *w, int v) {
    const choices *c = &w->c[v];
    rows kinds = {.width = 1};
    for (int i = 0; i < c->nproducers; i++) kinds.width += needs_width(w->g, v, &c->from[i]);
    int *row = tra_news(w->a, int, kinds.width);
    w->vec[v] = tra_news(w->a, int, c->vec.n);
    for (int i = 0; i < c->vec.n; i++) {
        int *to = row;
        *to++ = c->out_of[i];
        for (int f = 0; f < c->nproducers; f++) {
            needs(w->g, v, &c->from[f], vector(c, i), to);
            to += needs_width(w->g, v, &c->from[f]);
        }
        int n = kinds.n, k = rows_add(&kinds, row);
        if (k == n || c->own[i] < c->own[w->vec[v][k]]) w->vec[v][k] = i;
    }
    w->nvec[v] = kinds.n;
    rows_free(&kinds);
}

/* ---- the order ---------------------------------------------------------------------------------------------- */

static double size_with_near(const elimination *w, int v) {
    double n = w->nvec[v];
    for (int u = 0; u < w->g->nvertices; u++)
        if (w->near[v][u]) n *= w->nvec[u];
    return n;
}

/* Fills w->order, the vertex of the least table first; false if all tables together are too large. */
static bool plan_order(elimination *w) {
    int n = w->g->nvertices;
    double steps = 0, *size = tra_news(w->a, double, n);
    for (int v = 0; v < n; v++) size[v] = size_with_near(w, v);
    for (int i = 0; i < n; i++) {
        int v = -1;
        for (int u = 0; u < n; u++)
            if (size[u] >= 0 && (v < 0 || size[u] < size[v])) v = u;
        gone *x = &w->order[i];
        *x = (gone){.v = v, .near = tra_news(w->a, int, n)};
        steps += size[v];
        if (steps > TRA_EIN_STEPS || size[v] / w->nvec[v] > TRA_EIN_TABLE) return false;
        for (int u = 0; u < n; u++)
            if (w->near[v][u]) x->near[x->n++] = u;
        for (int j = 0; j < x->n; j++) {
            for (int k = 0; k < x->n; k++)
                if (j != k) w->near[x->near[j]][x->near[k]] = true;
            w->near[x->near[j]][v] = false;
        }
        size[v] = -1;
        for (int j = 0; j < x->n; j++) size[x->near[j]] = size_with_near(w, x->near[j]);
    }
    return true;
}

/* ---- the tables --------------------------------------------------------------------------------------------- */

static void add_costs(elimination *w, int v) {
    const choices *c = &w->c[v];
    int n = w->nvec[v];
    factor *f = &w->factor[w->nfactors++];
    *f = (factor){.n = 1, .v = tra_news(w->a, int, 1), .cost = tra_malloc((size_t)n * sizeof(double))};
    f->v[0] = v;
    for (int i = 0; i < n; i++) f->cost[i] = c->own[w->vec[v][i]];
    for (int k = 0; k < c->nproducers; k++) {
        const producer *from = &c->from[k];
        const choices *pc = &w->c[from->v];
        int m = w->nvec[from->v], *row = tra_news(w->a, int, needs_width(w->g, v, from));
        f = &w->factor[w->nfactors++];
        *f = (factor){.n = 2, .v = tra_news(w->a, int, 2), .cost = tra_malloc((size_t)n * (size_t)m * sizeof(double))};
        f->v[0] = v, f->v[1] = from->v;
        for (int i = 0; i < n; i++) {
            needs(w->g, v, from, vector(c, w->vec[v][i]), row);
            for (int j = 0; j < m; j++) {
                int out = pc->out_of[w->vec[from->v][j]];
                f->cost[(size_t)i * (size_t)m + (size_t)j] =
                    bring(w->g, v, from, pc->outs.v + (size_t)out * (size_t)pc->outs.width, row);
            }
        }
    }
}

static bool has(const factor *f, int v) {
    for (int i = 0; i < f->n; i++)
        if (f->v[i] == v) return true;
    return false;
}

/* How far a step of vertex v takes one in the factor's table. */
static size_t stride(const elimination *w, const factor *f, int v) {
    size_t s = 1;
    for (int i = f->n - 1; i >= 0; i--) {
        if (f->v[i] == v) return s;
        s *= (size_t)w->nvec[f->v[i]];
    }
    return 0;
}

static void eliminate(elimination *w, gone *x) {
    int n = 0, dim = w->nvec[x->v], *at = tra_news(w->a, int, x->n);
    factor **f = tra_news(w->a, factor *, w->nfactors), *out = &w->factor[w->nfactors];
    size_t size = 1;
    for (int i = 0; i < w->nfactors; i++)
        if (!w->factor[i].used && has(&w->factor[i], x->v)) f[n++] = &w->factor[i];
    size_t *from = tra_news(w->a, size_t, n), *step = tra_news(w->a, size_t, n), *by = tra_news(w->a, size_t, n * x->n);
    for (int i = 0; i < n; i++) {
        step[i] = stride(w, f[i], x->v);
        for (int j = 0; j < x->n; j++) by[i * x->n + j] = stride(w, f[i], x->near[j]);
    }
    for (int j = 0; j < x->n; j++) size *= (size_t)w->nvec[x->near[j]];
    *out = (factor){.n = x->n, .v = x->near, .cost = tra_malloc(size * sizeof(double))};
    x->best = tra_malloc(size * sizeof *x->best);
    for (size_t t = 0; t < size; t++) {
        double least = INFINITY;
        for (int i = 0; i < dim; i++) {
            double cost = 0;
            for (int k = 0; k < n; k++) cost += f[k]->cost[from[k] + (size_t)i * step[k]];
            if (cost < least || i == 0) least = cost, x->best[t] = i;
        }
        out->cost[t] = least;
        for (int j = x->n - 1; j >= 0; j--) { /* the next choice of the neighbours */
            bool carry = ++at[j] == w->nvec[x->near[j]];
            for (int k = 0; k < n; k++) {
                size_t s = by[k * x->n + j];
                from[k] += carry ? s - (size_t)at[j] * s : s;
            }
            if (!carry) break;
            at[j] = 0;
        }
    }
    for (int i = 0; i < n; i++) {
        f[i]->used = true;
        free(f[i]->cost);
        f[i]->cost = NULL;
    }
    w->nfactors++;
}

/* From the last that went to the first, each has its neighbours chosen already. */
static int **chosen(elimination *w, tra_arena *a) {
    const tra_eingraph *g = w->g;
    int **d = tra_news(a, int *, g->nvertices), *choice = tra_news(w->a, int, g->nvertices);
    for (int i = g->nvertices - 1; i >= 0; i--) {
        const gone *x = &w->order[i];
        size_t t = 0, nlabels = (size_t)g->v[x->v].nlabels;
        for (int j = 0; j < x->n; j++) t = t * (size_t)w->nvec[x->near[j]] + (size_t)choice[x->near[j]];
        choice[x->v] = x->best[t];
        d[x->v] = tra_news(a, int, nlabels);
        if (nlabels) memcpy(d[x->v], vector(&w->c[x->v], w->vec[x->v][choice[x->v]]), nlabels * sizeof(int));
    }
    return d;
}

tra_labelling *tra_ein_exact(const tra_eingraph *g, int p, bool any, tra_arena *a) {
    elimination w = {.g = g, .a = tra_arena_new()};
    tra_labelling *out = NULL;
    int n = g->nvertices, nedges = 0;
    if (n > TRA_EIN_EXACT) {
        tra_arena_free(w.a);
        return NULL;
    }
    w.c = choices_new(g, p, any, w.a);
    w.vec = tra_news(w.a, int *, n);
    w.nvec = tra_news(w.a, int, n);
    w.near = tra_news(w.a, bool *, n);
    w.order = tra_news(w.a, gone, n);
    for (int v = 0; v < n; v++) w.near[v] = tra_news(w.a, bool, n);
    for (int v = 0; v < n; v++) {
        reduce_choices(&w, v);
        nedges += w.c[v].nproducers;
        for (int i = 0; i < w.c[v].nproducers; i++) w.near[v][w.c[v].from[i].v] = w.near[w.c[v].from[i].v][v] = true;
    }
    w.factor = tra_news(w.a, factor, 2 * n + nedges);
    if (plan_order(&w)) {
        for (int v = 0; v < n; v++) add_costs(&w, v);
        for (int i = 0; i < n; i++) eliminate(&w, &w.order[i]);
        out = labelled(g, "exact", chosen(&w, a), tra_ein_processors(p, any), a);
    }
    for (int i = 0; i < w.nfactors; i++) free(w.factor[i].cost);
    for (int i = 0; i < n; i++) free(w.order[i].best);
    choices_free(g, w.c);
    tra_arena_free(w.a);
    return out;
}
