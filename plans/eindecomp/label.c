/* label.c - the labelling of the paper: a dynamic program on trees, and path by path, the longest first, on other
 * graphs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eindecomp_int.h"

/* What a reader takes of one producer. */
typedef struct supply {
    int producer;
    int *need_of;     /* of each vector of the reader: the number of the partitions that it needs */
    int *best_result; /* of each such number: the best partition of the producer's result */
} supply;

/* The dynamic program at one vertex. Costs include those of the producers that it counts. */
typedef struct table {
    double *best;     /* of each partition of the result: the least cost of making it */
    int *best_vector; /* the vector that does that */
    int least;        /* the vector of the least cost of all */
    int nsupplies;
    supply *supply;
} table;

typedef struct labeller {
    const tra_eingraph *g;
    tra_arena *a; /* freed after the labelling */
    choices *c;
    table *t;
    int *chosen; /* the vector of each vertex; -1: none yet */
} labeller;
enum { ALL_PRODUCERS = -1, NO_PRODUCER = -2 };

/* Adds the cost of the producer's result, whose table is complete, to the cost of each vector of v. */
static void add_supply(labeller *w, int v, const producer *from, double *cost) {
    const choices *c = &w->c[v], *pc = &w->c[from->vertex];
    const table *pt = &w->t[from->vertex];
    table *t = &w->t[v];
    supply *s = &t->supply[t->nsupplies++];
    row_set needs = {.width = tra_ein_needed_width(w->g, v, from)};
    int *row = tra_news(w->a, int, needs.width);
    s->producer = from->vertex;
    s->need_of = tra_news(w->a, int, c->vectors.n);
    for (int i = 0; i < c->vectors.n; i++) {
        tra_ein_needed_parts(w->g, v, from, vector(c, i), row);
        s->need_of[i] = tra_row_set_add(&needs, row);
    }
    s->best_result = tra_news(w->a, int, needs.n);
    double *best = tra_malloc((size_t)needs.n * sizeof *best);
    for (int i = 0; i < needs.n; i++) {
        const int *needed = needs.v + (size_t)i * (size_t)needs.width;
        best[i] = INFINITY;
        for (int made = 0; made < pc->results.n; made++) {
            if (pt->best[made] >= best[i]) continue;
            double x = pt->best[made] + tra_ein_move_cost(w->g, w->c, v, from, made, needed);
            if (x < best[i]) best[i] = x, s->best_result[i] = made;
        }
    }
    for (int i = 0; i < c->vectors.n; i++) cost[i] += best[s->need_of[i]];
    free(best);
    tra_row_set_free(&needs);
}

/* Makes the table of v. It counts the costs of one producer, of ALL_PRODUCERS, or of NO_PRODUCER. */
static void make_table(labeller *w, int v, int which) {
    const choices *c = &w->c[v];
    table *t = &w->t[v];
    double *cost = tra_malloc((size_t)c->vectors.n * sizeof *cost);
    memcpy(cost, c->own_cost, (size_t)c->vectors.n * sizeof *cost);
    t->supply = tra_news(w->a, supply, c->nproducers);
    for (int i = 0; i < c->nproducers; i++)
        if (which == ALL_PRODUCERS || c->producer[i].vertex == which) add_supply(w, v, &c->producer[i], cost);
    t->best = tra_news(w->a, double, c->results.n);
    t->best_vector = tra_news(w->a, int, c->results.n);
    for (int r = 0; r < c->results.n; r++) t->best[r] = INFINITY;
    for (int i = 0; i < c->vectors.n; i++) {
        int r = c->result_of[i];
        if (cost[i] < t->best[r]) t->best[r] = cost[i], t->best_vector[r] = i;
        if (cost[i] < cost[t->least]) t->least = i;
    }
    free(cost);
}

/* Gives v this vector, and the producers that its table counts the vectors that go best with it. */
static void choose(labeller *w, int v, int vec) {
    const table *t = &w->t[v];
    w->chosen[v] = vec;
    for (int i = 0; i < t->nsupplies; i++) {
        const supply *s = &t->supply[i];
        choose(w, s->producer, w->t[s->producer].best_vector[s->best_result[s->need_of[vec]]]);
    }
}

/* Is the graph a tree, or several trees: has no vertex several consumers? */
static bool is_tree(const tra_eingraph *g) {
    for (int v = 0; v < g->nvertices; v++)
        if (g->consumers[v] > 1) return false;
    return true;
}

/* Writes the longest path over vertices that have no vector yet, beginning with the first producer; of several, the
 * one over the first vertices. Returns its length. */
static int longest_path(const labeller *w, int *path) {
    const tra_eingraph *g = w->g;
    int *length = tra_calloc((size_t)g->nvertices, sizeof *length),
        *before = tra_malloc((size_t)g->nvertices * sizeof *before);
    int end = -1, n;
    for (int v = 0; v < g->nvertices; v++) {
        if (w->chosen[v] >= 0) continue;
        length[v] = 1;
        before[v] = -1;
        for (int i = 0; i < w->c[v].nproducers; i++) {
            int u = w->c[v].producer[i].vertex;
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

/* The dynamic program of the whole graph, if no vertex has several consumers. */
static void label_tree(labeller *w) {
    for (int v = 0; v < w->g->nvertices; v++) make_table(w, v, ALL_PRODUCERS);
    for (int v = 0; v < w->g->nvertices; v++)
        if (w->g->consumers[v] == 0) choose(w, v, w->t[v].least);
}

/* The dynamic program path by path, the longest first. Only producers on the path count. */
static void linearise(labeller *w) {
    int *path = tra_news(w->a, int, w->g->nvertices), n;
    while ((n = longest_path(w, path)) > 0) {
        for (int i = 0; i < n; i++) make_table(w, path[i], i ? path[i - 1] : NO_PRODUCER);
        choose(w, path[n - 1], w->t[path[n - 1]].least);
    }
}

tra_labelling *tra_ein_label(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a,
                             tra_labelling **refined) {
    labeller w = {.g = g, .a = tra_arena_new()};
    bool tree = is_tree(g);
    w.c = tra_ein_choices_new(g, costs, p, any_factors, w.a);
    w.t = tra_news(w.a, table, g->nvertices);
    w.chosen = tra_news(w.a, int, g->nvertices);
    for (int v = 0; v < g->nvertices; v++) w.chosen[v] = -1;
    if (tree)
        label_tree(&w);
    else
        linearise(&w);
    tra_labelling *out = tra_ein_chosen_labelling(g, tree ? "tree" : "linearised", w.c, w.chosen, p, any_factors, a);
    if (refined) {
        *refined = NULL;
        if (!tree && tra_ein_refine(g, w.c, w.chosen))
            *refined = tra_ein_chosen_labelling(g, "refined", w.c, w.chosen, p, any_factors, a);
    }
    tra_ein_choices_free(g, w.c);
    tra_arena_free(w.a);
    return out;
}
