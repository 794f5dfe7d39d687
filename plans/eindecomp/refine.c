/* refine.c - improves a labelling where the optimum is out of reach. Each round takes a few candidates for each vertex,
 * those vectors that cost least while all other vertices keep theirs, and finds the best labelling among these. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

enum { ROUNDS = 8, MAXCANDIDATES = 16 };

/* The cost of bringing the result of the i-th producer of v into place, where v has vector `vec` and the producer
 * vector `from_vec`. */
static double edge_cost(const tra_eingraph *g, const choices *c, int v, int vec, int i, int from_vec) {
    const producer *from = &c[v].producer[i];
    int row[tra_ein_needed_width(g, v, from) + 1];
    tra_ein_needed_parts(g, v, from, vector(&c[v], vec), row);
    return tra_ein_move_cost(g, c, v, from, c[from->vertex].result_of[from_vec], row);
}

static double total_cost(const tra_eingraph *g, const choices *c, const int *chosen) {
    double cost = 0;
    for (int v = 0; v < g->nvertices; v++) {
        cost += c[v].own_cost[chosen[v]];
        for (int i = 0; i < c[v].nproducers; i++)
            cost += edge_cost(g, c, v, chosen[v], i, chosen[c[v].producer[i].vertex]);
    }
    return cost;
}

/* Sets cost[v][i] to what vector i of v costs, with its edges, while all other vertices keep their vectors. */
static void costs_of_each(const tra_eingraph *g, const choices *c, const int *chosen, double **cost) {
    for (int v = 0; v < g->nvertices; v++) memcpy(cost[v], c[v].own_cost, (size_t)c[v].vectors.n * sizeof **cost);
    for (int v = 0; v < g->nvertices; v++) {
        for (int i = 0; i < c[v].nproducers; i++) {
            int u = c[v].producer[i].vertex;
            for (int k = 0; k < c[v].vectors.n; k++) cost[v][k] += edge_cost(g, c, v, k, i, chosen[u]);
            for (int k = 0; k < c[u].vectors.n; k++) cost[u][k] += edge_cost(g, c, v, chosen[v], i, k);
        }
    }
}

/* Writes the numbers of the `most` cheapest of n vectors, always the chosen one among them. Returns how many. */
static int cheapest(const double *cost, int n, int chosen, int most, int *vec) {
    int m = 0;
    for (int i = 0; i < n; i++) { /* insertion sort of the cheapest so far */
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
    int n = g->nvertices, **candidate = tra_news(a, int *, n), *ncandidates = tra_news(a, int, n);
    int *next = tra_news(a, int, n);
    double **cost = tra_news(a, double *, n), before = total_cost(g, c, chosen);
    bool improved = false, go_on = n <= TRA_EIN_MAXVERTICES;
    for (int v = 0; v < n; v++) {
        candidate[v] = tra_news(a, int, MAXCANDIDATES);
        cost[v] = tra_news(a, double, c[v].vectors.n);
    }
    for (int round = 0; go_on && round < ROUNDS; round++) {
        bool found = false;
        costs_of_each(g, c, chosen, cost);
        for (int most = MAXCANDIDATES; most > 1 && !found; most /= 2) { /* fewer where the elimination takes too long */
            for (int v = 0; v < n; v++)
                ncandidates[v] = cheapest(cost[v], c[v].vectors.n, chosen[v], most, candidate[v]);
            found = tra_ein_best_among(g, c, candidate, ncandidates, next);
        }
        double after = found ? total_cost(g, c, next) : before;
        go_on = after < before * (1 - 1e-12);
        if (go_on) memcpy(chosen, next, (size_t)n * sizeof *chosen), before = after, improved = true;
    }
    tra_arena_free(a);
    return improved;
}
