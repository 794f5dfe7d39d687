/* exact.c - an optimal labelling of a small graph, or with few vectors of each vertex to choose from: vertices are
 * eliminated one by one, each leaving a table of the least cost over the vectors of its neighbours (nonserial dynamic
 * programming). */
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
    tra_arena *a; /* dies with the elimination */
    const choices *c;
    int *const *vec; /* of each vertex: the vectors to choose from */
    const int *nvec;
    int nfactors;
    factor *factor, **found; /* and room for as many */
    bool **near;             /* neighbours while eliminating */
    gone *order;
} elimination;

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
        *x = (gone){.v = v};
        steps += size[v];
        if (steps > TRA_EIN_STEPS || size[v] / w->nvec[v] > TRA_EIN_TABLE) return false;
        for (int u = 0; u < n; u++) x->n += w->near[v][u];
        x->near = tra_news(w->a, int, x->n);
        for (int u = 0, j = 0; u < n; u++)
            if (w->near[v][u]) x->near[j++] = u;
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
        int m = w->nvec[from->v], *row = tra_news(w->a, int, tra_ein_needs_width(w->g, v, from));
        f = &w->factor[w->nfactors++];
        *f = (factor){.n = 2, .v = tra_news(w->a, int, 2), .cost = tra_malloc((size_t)n * (size_t)m * sizeof(double))};
        f->v[0] = v, f->v[1] = from->v;
        for (int i = 0; i < n; i++) {
            tra_ein_needs(w->g, v, from, vector(c, w->vec[v][i]), row);
            for (int j = 0; j < m; j++) {
                int out = pc->out_of[w->vec[from->v][j]];
                f->cost[(size_t)i * (size_t)m + (size_t)j] = tra_ein_bring(w->g, w->c, v, from, out, row);
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
    factor **f = w->found, *out = &w->factor[w->nfactors];
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
static void choose_all(const elimination *w, int *chosen) {
    int *choice = tra_news(w->a, int, w->g->nvertices);
    for (int i = w->g->nvertices - 1; i >= 0; i--) {
        const gone *x = &w->order[i];
        size_t t = 0;
        for (int j = 0; j < x->n; j++) t = t * (size_t)w->nvec[x->near[j]] + (size_t)choice[x->near[j]];
        choice[x->v] = x->best[t];
        chosen[x->v] = w->vec[x->v][choice[x->v]];
    }
}

bool tra_ein_best_among(const tra_eingraph *g, const choices *c, int *const *vec, const int *nvec, int *chosen) {
    elimination w = {.g = g, .c = c, .vec = vec, .nvec = nvec, .a = tra_arena_new()};
    int n = g->nvertices, nedges = 0;
    w.near = tra_news(w.a, bool *, n);
    w.order = tra_news(w.a, gone, n);
    for (int v = 0; v < n; v++) w.near[v] = tra_news(w.a, bool, n);
    for (int v = 0; v < n; v++) {
        nedges += c[v].nproducers;
        for (int i = 0; i < c[v].nproducers; i++) w.near[v][c[v].from[i].v] = w.near[c[v].from[i].v][v] = true;
    }
    w.factor = tra_news(w.a, factor, 2 * n + nedges);
    w.found = tra_news(w.a, factor *, 2 * n + nedges);
    bool ok = plan_order(&w);
    if (ok) {
        for (int v = 0; v < n; v++) add_costs(&w, v);
        for (int i = 0; i < n; i++) eliminate(&w, &w.order[i]);
        choose_all(&w, chosen);
    }
    for (int i = 0; i < w.nfactors; i++) free(w.factor[i].cost);
    for (int i = 0; i < n; i++) free(w.order[i].best);
    tra_arena_free(w.a);
    return ok;
}

/* ---- all vectors -------------------------------------------------------------------------------------------- */

/* Of vectors that agree on the result's partition and on what they need of other vertices only the cheapest counts. */
static int reduce_choices(const tra_eingraph *g, const choices *c, int v, int *vec, tra_arena *a) {
    rows kinds = {.width = 1};
    c += v;
    for (int i = 0; i < c->nproducers; i++) kinds.width += tra_ein_needs_width(g, v, &c->from[i]);
    int *row = tra_news(a, int, kinds.width);
    for (int i = 0; i < c->vec.n; i++) {
        int *to = row;
        *to++ = c->out_of[i];
        for (int f = 0; f < c->nproducers; f++) {
            tra_ein_needs(g, v, &c->from[f], vector(c, i), to);
            to += tra_ein_needs_width(g, v, &c->from[f]);
        }
        int n = kinds.n, k = tra_rows_add(&kinds, row);
        if (k == n || c->own[i] < c->own[vec[k]]) vec[k] = i;
    }
    int n = kinds.n;
    tra_rows_free(&kinds);
    return n;
}

tra_labelling *tra_ein_exact(const tra_eingraph *g, tra_ein_costs costs, int p, bool any, tra_arena *a) {
    if (g->nvertices > TRA_EIN_EXACT) return NULL;
    tra_arena *work = tra_arena_new();
    choices *c = tra_ein_choices_new(g, costs, p, any, work);
    int n = g->nvertices, **vec = tra_news(work, int *, n), *nvec = tra_news(work, int, n),
        *chosen = tra_news(work, int, n);
    for (int v = 0; v < n; v++) {
        vec[v] = tra_news(work, int, c[v].vec.n);
        nvec[v] = reduce_choices(g, c, v, vec[v], work);
    }
    tra_labelling *out = NULL;
    if (tra_ein_best_among(g, c, vec, nvec, chosen)) out = tra_ein_chosen_labelling(g, "exact", c, chosen, p, any, a);
    tra_ein_choices_free(g, c);
    tra_arena_free(work);
    return out;
}
