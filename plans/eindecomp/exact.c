/* exact.c - an optimal labelling, where the graph is small or each vertex has few vectors to choose from. Vertices are
 * eliminated one by one: each is replaced by a table that has, for every choice of vectors of its neighbours, the least
 * cost of all costs that depend on it (nonserial dynamic programming, or variable elimination). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

/* A cost that depends on the vectors of n vertices v: a table with a dimension for each of them, in row-major order. */
typedef struct factor {
    int n, *v;
    double *cost;
    bool used; /* its costs are in the table of a vertex that was eliminated */
} factor;

/* A vertex that is eliminated, with its neighbours at that time. */
typedef struct eliminated {
    int v, n, *neighbour;
    int *best; /* its best candidate for every choice of the neighbours' candidates, in row-major order */
} eliminated;

typedef struct elimination {
    const tra_eingraph *g;
    tra_arena *a; /* freed after the elimination */
    const choices *c;
    int *const *candidate; /* of each vertex: the numbers of the vectors to choose from */
    const int *ncandidates;
    int nfactors;
    factor *factor, **with_vertex; /* with_vertex: scratch for as many pointers */
    bool **adjacent;               /* adjacent[u][v]: u and v are neighbours, and neither is eliminated */
    eliminated *order;             /* all vertices in the order of elimination */
} elimination;

/* ---- the order ---------------------------------------------------------------------------------------------- */

/* The steps that eliminating v now takes: all combinations of its candidates and those of its neighbours. */
static double steps_of(const elimination *w, int v) {
    double n = w->ncandidates[v];
    for (int u = 0; u < w->g->nvertices; u++)
        if (w->adjacent[v][u]) n *= w->ncandidates[u];
    return n;
}

/* Fills w->order: next comes the vertex that takes the fewest steps. False where that would go beyond the limits. */
static bool find_order(elimination *w) {
    int n = w->g->nvertices;
    double all = 0, *steps = tra_news(w->a, double, n); /* steps[v]: -1 once v is eliminated */
    for (int v = 0; v < n; v++) steps[v] = steps_of(w, v);
    for (int i = 0; i < n; i++) {
        int v = -1;
        for (int u = 0; u < n; u++)
            if (steps[u] >= 0 && (v < 0 || steps[u] < steps[v])) v = u;
        eliminated *x = &w->order[i];
        *x = (eliminated){.v = v};
        all += steps[v];
        if (all > TRA_EIN_MAXSTEPS || steps[v] / w->ncandidates[v] > TRA_EIN_MAXTABLE) return false;
        for (int u = 0; u < n; u++) x->n += w->adjacent[v][u];
        x->neighbour = tra_news(w->a, int, x->n);
        for (int u = 0, j = 0; u < n; u++)
            if (w->adjacent[v][u]) x->neighbour[j++] = u;
        for (int j = 0; j < x->n; j++) { /* the table of v connects its neighbours */
            for (int k = 0; k < x->n; k++)
                if (j != k) w->adjacent[x->neighbour[j]][x->neighbour[k]] = true;
            w->adjacent[x->neighbour[j]][v] = false;
        }
        steps[v] = -1;
        for (int j = 0; j < x->n; j++) steps[x->neighbour[j]] = steps_of(w, x->neighbour[j]);
    }
    return true;
}

/* ---- the tables --------------------------------------------------------------------------------------------- */

/* Adds a factor over n vertices v; its table is to be filled. */
static factor *add_factor(elimination *w, int n, int *v) {
    size_t size = 1;
    for (int i = 0; i < n; i++) size *= (size_t)w->ncandidates[v[i]];
    factor *f = &w->factor[w->nfactors++];
    *f = (factor){.n = n, .v = v, .cost = tra_malloc(size * sizeof(double))};
    return f;
}

/* Adds the costs of v: its own, and for each producer those of bringing the result into place. */
static void add_costs(elimination *w, int v) {
    const choices *c = &w->c[v];
    int n = w->ncandidates[v], *alone = tra_news(w->a, int, 1);
    *alone = v;
    factor *f = add_factor(w, 1, alone);
    for (int i = 0; i < n; i++) f->cost[i] = c->own_cost[w->candidate[v][i]];
    for (int k = 0; k < c->nproducers; k++) {
        const producer *from = &c->producer[k];
        const choices *pc = &w->c[from->vertex];
        int m = w->ncandidates[from->vertex], *pair = tra_news(w->a, int, 2);
        int *needed = tra_news(w->a, int, tra_ein_needed_width(w->g, v, from));
        pair[0] = v, pair[1] = from->vertex;
        f = add_factor(w, 2, pair);
        for (int i = 0; i < n; i++) {
            tra_ein_needed_parts(w->g, v, from, vector(c, w->candidate[v][i]), needed);
            for (int j = 0; j < m; j++) {
                int made = pc->result_of[w->candidate[from->vertex][j]];
                f->cost[(size_t)i * (size_t)m + (size_t)j] = tra_ein_move_cost(w->g, w->c, v, from, made, needed);
            }
        }
    }
}

static bool depends_on(const factor *f, int v) {
    for (int i = 0; i < f->n; i++)
        if (f->v[i] == v) return true;
    return false;
}

/* How far candidates of v that follow each other are apart in the factor's table; 0 if it does not depend on v. */
static size_t stride(const elimination *w, const factor *f, int v) {
    size_t s = 1;
    for (int i = f->n - 1; i >= 0; i--) {
        if (f->v[i] == v) return s;
        s *= (size_t)w->ncandidates[f->v[i]];
    }
    return 0;
}

/* Replaces the factors that depend on the vertex by one over its neighbours, and notes its best candidates. */
static void eliminate(elimination *w, eliminated *x) {
    factor **f = w->with_vertex;
    int n = 0, *at = tra_news(w->a, int, x->n); /* at: the neighbours' candidates */
    for (int i = 0; i < w->nfactors; i++)
        if (!w->factor[i].used && depends_on(&w->factor[i], x->v)) f[n++] = &w->factor[i];
    /* Of each factor: the place of these candidates in its table, and its strides. */
    size_t *place = tra_news(w->a, size_t, n), *own = tra_news(w->a, size_t, n), *by = tra_news(w->a, size_t, n * x->n);
    for (int i = 0; i < n; i++) {
        own[i] = stride(w, f[i], x->v);
        for (int j = 0; j < x->n; j++) by[i * x->n + j] = stride(w, f[i], x->neighbour[j]);
    }
    size_t size = 1;
    for (int j = 0; j < x->n; j++) size *= (size_t)w->ncandidates[x->neighbour[j]];
    factor *out = add_factor(w, x->n, x->neighbour);
    x->best = tra_malloc(size * sizeof *x->best);
    for (size_t t = 0; t < size; t++) {
        double least = INFINITY;
        for (int i = 0; i < w->ncandidates[x->v]; i++) {
            double cost = 0;
            for (int k = 0; k < n; k++) cost += f[k]->cost[place[k] + (size_t)i * own[k]];
            if (cost < least || i == 0) least = cost, x->best[t] = i;
        }
        out->cost[t] = least;
        for (int j = x->n - 1; j >= 0; j--) { /* the next candidates, the last neighbour's first */
            bool carry = ++at[j] == w->ncandidates[x->neighbour[j]];
            for (int k = 0; k < n; k++) {
                size_t s = by[k * x->n + j];
                place[k] += carry ? s - (size_t)at[j] * s : s;
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
}

/* Chooses vectors in the reverse order of elimination, so that those of the neighbours are chosen before. */
static void choose_all(const elimination *w, int *chosen) {
    int *choice = tra_news(w->a, int, w->g->nvertices);
    for (int i = w->g->nvertices - 1; i >= 0; i--) {
        const eliminated *x = &w->order[i];
        size_t t = 0;
        for (int j = 0; j < x->n; j++)
            t = t * (size_t)w->ncandidates[x->neighbour[j]] + (size_t)choice[x->neighbour[j]];
        choice[x->v] = x->best[t];
        chosen[x->v] = w->candidate[x->v][choice[x->v]];
    }
}

bool tra_ein_best_among(const tra_eingraph *g, const choices *c, int *const *candidate, const int *ncandidates,
                        int *chosen) {
    elimination w = {.g = g, .c = c, .candidate = candidate, .ncandidates = ncandidates, .a = tra_arena_new()};
    int n = g->nvertices, nedges = 0;
    w.adjacent = tra_news(w.a, bool *, n);
    w.order = tra_news(w.a, eliminated, n);
    for (int v = 0; v < n; v++) w.adjacent[v] = tra_news(w.a, bool, n);
    for (int v = 0; v < n; v++) {
        nedges += c[v].nproducers;
        for (int i = 0; i < c[v].nproducers; i++) {
            int u = c[v].producer[i].vertex;
            w.adjacent[v][u] = w.adjacent[u][v] = true;
        }
    }
    int most = 2 * n + nedges; /* a factor for each vertex, for each edge, and for each elimination */
    w.factor = tra_news(w.a, factor, most);
    w.with_vertex = tra_news(w.a, factor *, most);
    bool ok = find_order(&w);
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

/* ---- the optimum of all vectors ----------------------------------------------------------------------------- */

/* Writes the vectors of v that can be in an optimum: of those that make the same partition of the result and need the
 * same of producers, the cheapest. Returns how many. */
static int undominated(const tra_eingraph *g, const choices *all, int v, int *vec, tra_arena *a) {
    const choices *c = &all[v];
    row_set kinds = {.width = 1};
    for (int i = 0; i < c->nproducers; i++) kinds.width += tra_ein_needed_width(g, v, &c->producer[i]);
    int *row = tra_news(a, int, kinds.width);
    for (int i = 0; i < c->vectors.n; i++) {
        int *to = row;
        *to++ = c->result_of[i];
        for (int f = 0; f < c->nproducers; f++) {
            tra_ein_needed_parts(g, v, &c->producer[f], vector(c, i), to);
            to += tra_ein_needed_width(g, v, &c->producer[f]);
        }
        int n = kinds.n, k = tra_row_set_add(&kinds, row);
        if (k == n || c->own_cost[i] < c->own_cost[vec[k]]) vec[k] = i;
    }
    int n = kinds.n;
    tra_row_set_free(&kinds);
    return n;
}

tra_labelling *tra_ein_exact(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a) {
    if (g->nvertices > TRA_EIN_MAXVERTICES) return NULL;
    tra_arena *work = tra_arena_new();
    choices *c = tra_ein_choices_new(g, costs, p, any_factors, work);
    int n = g->nvertices, **candidate = tra_news(work, int *, n), *ncandidates = tra_news(work, int, n);
    int *chosen = tra_news(work, int, n);
    for (int v = 0; v < n; v++) {
        candidate[v] = tra_news(work, int, c[v].vectors.n);
        ncandidates[v] = undominated(g, c, v, candidate[v], work);
    }
    tra_labelling *out = NULL;
    if (tra_ein_best_among(g, c, candidate, ncandidates, chosen))
        out = tra_ein_chosen_labelling(g, "exact", c, chosen, p, any_factors, a);
    tra_ein_choices_free(g, c);
    tra_arena_free(work);
    return out;
}
