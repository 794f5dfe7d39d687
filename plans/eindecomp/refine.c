/* refine.c - improves a labelling where the optimum is out of reach: repeatedly finds the best labelling among a few
 * vectors of each vertex, those that cost least while all other vertices stay as they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

enum { ROUNDS = 8, MOST = 16 };

/* What a vector of v pays for its i-th producer with a vector of that. */
static double pays(const tra_eingraph *g, const choices *c, int v, int vec, int i, int from_vec) {
    const producer *from = &c[v].from[i];
    int row[tra_ein_needs_width(g, v, from) + 1];
    tra_ein_needs(g, v, from, vector(&c[v], vec), row);
    return tra_ein_bring(g, c, v, from, c[from->v].out_of[from_vec], row);
}

static double total(const tra_eingraph *g, const choices *c, const int *chosen) {
    double cost = 0;
    for (int v = 0; v < g->nvertices; v++) {
        cost += c[v].own[chosen[v]];
        for (int i = 0; i < c[v].nproducers; i++) cost += pays(g, c, v, chosen[v], i, chosen[c[v].from[i].v]);
    }
    return cost;
}

/* cost[v][i]: of vector i of v, with its edges, while all other vertices keep their vectors. */
static void costs_alone(const tra_eingraph *g, const choices *c, const int *chosen, double **cost) {
    for (int v = 0; v < g->nvertices; v++) memcpy(cost[v], c[v].own, (size_t)c[v].vec.n * sizeof **cost);
    for (int v = 0; v < g->nvertices; v++) {
        for (int i = 0; i < c[v].nproducers; i++) {
            int u = c[v].from[i].v;
            for (int k = 0; k < c[v].vec.n; k++) cost[v][k] += pays(g, c, v, k, i, chosen[u]);
            for (int k = 0; k < c[u].vec.n; k++) cost[u][k] += pays(g, c, v, chosen[v], i, k);
        }
    }
}

/* Numbers of the `most` cheapest vectors, the chosen one among them. Returns how many. */
static int cheapest(const double *cost, int n, int chosen, int most, int *vec) {
    int m = 0;
    for (int i = 0; i < n; i++) {
        int at = m < most ? m++ : most;
        for (; at > 0 && cost[i] < cost[vec[at - 1]]; at--)
            if (at < most) vec[at] = vec[at - 1];
        if (at < most) vec[at] = i;
    }
    for (int i = 0; i < m; i++)
        if (vec[i] == chosen) return m;
    vec[m - 1] = chosen;
    return m;
}

bool tra_ein_refine(const tra_eingraph *g, const choices *c, int *chosen) {
    tra_arena *a = tra_arena_new();
    int n = g->nvertices, **vec = tra_news(a, int *, n), *nvec = tra_news(a, int, n), *next = tra_news(a, int, n);
    double **cost = tra_news(a, double *, n), before = total(g, c, chosen);
    bool better = false, more = n <= TRA_EIN_EXACT;
    for (int v = 0; v < n; v++) vec[v] = tra_news(a, int, MOST), cost[v] = tra_news(a, double, c[v].vec.n);
    for (int round = 0; more && round < ROUNDS; round++) {
        costs_alone(g, c, chosen, cost);
        more = false;
        for (int most = MOST; most > 1 && !more; most /= 2) {
            for (int v = 0; v < n; v++) nvec[v] = cheapest(cost[v], c[v].vec.n, chosen[v], most, vec[v]);
            more = tra_ein_best_among(g, c, vec, nvec, next);
        }
        double after = more ? total(g, c, next) : before;
        more = after < before * (1 - 1e-12);
        if (more) memcpy(chosen, next, (size_t)n * sizeof *chosen), before = after, better = true;
    }
    tra_arena_free(a);
    return better;
}
