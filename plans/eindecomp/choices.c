/* choices.c - the vectors of each vertex with their costs, and labellings made of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "eindecomp_int.h"

/* ---- row sets ----------------------------------------------------------------------------------------------- */

/* The place of a row in the hash table: where its number is, or where it is to be put. */
static int *slot(const row_set *r, const int *row) {
    size_t size = (size_t)r->width * sizeof *row;
    size_t at = (size_t)XXH3_64bits(row, size) & (size_t)(r->ntable - 1);
    while (r->table[at] && memcmp(r->v + (size_t)(r->table[at] - 1) * (size_t)r->width, row, size) != 0)
        at = (at + 1) & (size_t)(r->ntable - 1);
    return &r->table[at];
}

int tra_row_set_add(row_set *r, const int *row) {
    if (2 * r->n >= r->ntable) {
        r->ntable = r->ntable ? 2 * r->ntable : 16;
        free(r->table);
        r->table = tra_calloc((size_t)r->ntable, sizeof *r->table);
        for (int i = 0; i < r->n; i++) *slot(r, r->v + (size_t)i * (size_t)r->width) = i + 1;
    }
    int *at = slot(r, row);
    if (*at) return *at - 1;
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 16;
        r->v = tra_realloc(r->v, (size_t)r->cap * (size_t)tra_max64(1, r->width), sizeof *r->v);
    }
    memcpy(r->v + (size_t)r->n * (size_t)r->width, row, (size_t)r->width * sizeof *row);
    return (*at = ++r->n) - 1;
}

void tra_row_set_free(row_set *r) {
    free(r->v);
    free(r->table);
    *r = (row_set){0};
}

/* ---- choices ------------------------------------------------------------------------------------------------ */

/* Finds the vertices whose results v reads. */
static void find_producers(const tra_eingraph *g, int v, choices *c, tra_arena *a) {
    const tra_vertex *x = &g->v[v];
    c->producer = tra_news(a, producer, x->nrefs);
    for (int i = 0; i < x->nrefs; i++) {
        int u = g->rel[x->ref[i].rel].vertex, at = 0;
        if (u < 0) continue;
        while (at < c->nproducers && c->producer[at].vertex != u) at++;
        if (at == c->nproducers) {
            c->producer[at].vertex = u;
            c->producer[at].ref = tra_news(a, int, x->nrefs);
            c->nproducers++;
        }
        c->producer[at].ref[c->producer[at].nrefs++] = i;
    }
}

/* The floats of inputs that are needed on more sites than one, beyond one copy, and those of summands. */
static double own_cost_moved(const tra_eingraph *g, const tra_vertex *x, const int *d) {
    double cost = tra_ein_agg_cost(g, x, d) * (1 + TRA_EIN_ADDITION);
    for (int i = 0; i < x->nrefs; i++) {
        const tra_ein_rel *r = &g->rel[x->ref[i].rel];
        int parts[TRA_MAXDIM];
        if (r->vertex >= 0) continue;
        tra_ein_parts(g, &x->ref[i], d, parts);
        cost += fmax(0, (double)tra_ein_kernel_calls(x, d) * tra_ein_part_floats(r, parts, NULL) -
                            tra_ein_part_floats(r, NULL, NULL));
    }
    return cost;
}

choices *tra_ein_choices_new(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a) {
    choices *all = tra_news(a, choices, g->nvertices);
    int parts[TRA_MAXDIM];
    for (int v = 0; v < g->nvertices; v++) {
        const tra_vertex *x = &g->v[v];
        choices *c = &all[v];
        c->costs = costs;
        c->vectors = tra_ein_vectors(x, p, any_factors, a);
        if (costs == TRA_EIN_MOVED && c->vectors.naligned) c->vectors.n = c->vectors.naligned;
        c->own_cost = tra_news(a, double, c->vectors.n);
        c->result_of = tra_news(a, int, c->vectors.n);
        c->results.width = g->rel[x->out.rel].n;
        for (int i = 0; i < c->vectors.n; i++) {
            const int *d = vector(c, i);
            c->own_cost[i] = costs == TRA_EIN_MOVED ? own_cost_moved(g, x, d)
                                                    : tra_ein_join_cost(g, x, d) + tra_ein_agg_cost(g, x, d);
            tra_ein_parts(g, &x->out, d, parts);
            c->result_of[i] = tra_row_set_add(&c->results, parts);
        }
        find_producers(g, v, c, a);
    }
    return all;
}

void tra_ein_choices_free(const tra_eingraph *g, choices *c) {
    for (int v = 0; v < g->nvertices; v++) tra_row_set_free(&c[v].results);
}

int tra_ein_needed_width(const tra_eingraph *g, int v, const producer *from) {
    return from->nrefs * g->rel[g->v[v].ref[from->ref[0]].rel].n;
}

void tra_ein_needed_parts(const tra_eingraph *g, int v, const producer *from, const int *d, int *row) {
    for (int i = 0; i < from->nrefs; i++) {
        const tra_ein_ref *r = &g->v[v].ref[from->ref[i]];
        tra_ein_parts(g, r, d, row);
        row += g->rel[r->rel].n;
    }
}

/* The floats that move to `calls` sites that need a part of r each, where its producer makes the partition `made` in
 * so many calls. If it makes summands, the sums are placed as they are needed, so that one copy is in place. */
static double moved_floats(const tra_ein_rel *r, const int *made, int64_t made_calls, const int *needed,
                           int64_t calls) {
    double parts = 1, all = (double)calls * tra_ein_part_floats(r, needed, NULL);
    for (int k = 0; k < r->n; k++) parts *= made[k];
    double in_place = parts < (double)made_calls ? tra_ein_part_floats(r, NULL, NULL)
                                                 : (double)calls * tra_ein_part_floats(r, made, needed);
    return fmax(0, all - in_place);
}

double tra_ein_move_cost(const tra_eingraph *g, const choices *c, int v, const producer *from, int made,
                         const int *needed) {
    const choices *pc = &c[from->vertex];
    const int *parts = pc->results.v + (size_t)made * (size_t)pc->results.width;
    double cost = 0;
    for (int i = 0; i < from->nrefs; i++) {
        const tra_ein_rel *r = &g->rel[g->v[v].ref[from->ref[i]].rel];
        cost += pc->costs == TRA_EIN_PAPER ? tra_ein_repart_cost(r, parts, needed)
                                           : moved_floats(r, parts, pc->vectors.product, needed, c[v].vectors.product);
        needed += r->n;
    }
    return cost;
}

/* ---- labellings --------------------------------------------------------------------------------------------- */

double tra_ein_edge_cost(const tra_eingraph *g, int **d, int v, int ref) {
    const tra_ein_ref *r = &g->v[v].ref[ref];
    int u = g->rel[r->rel].vertex, from[TRA_MAXDIM], to[TRA_MAXDIM];
    if (u < 0) return 0;
    tra_ein_parts(g, &g->v[u].out, d[u], from);
    tra_ein_parts(g, r, d[v], to);
    return tra_ein_repart_cost(&g->rel[r->rel], from, to);
}

/* The labelling in which vertex v has the vector d[v], with its costs. */
static tra_labelling *labelling_of(const tra_eingraph *g, const char *how, int **d, int p, tra_arena *a) {
    tra_labelling *l = tra_new(a, tra_labelling);
    *l = (tra_labelling){.how = how, .d = d, .p = p};
    for (int v = 0; v < g->nvertices; v++) {
        const tra_vertex *x = &g->v[v];
        l->join += tra_ein_join_cost(g, x, d[v]);
        l->agg += tra_ein_agg_cost(g, x, d[v]);
        for (int i = 0; i < x->nrefs; i++) l->repart += tra_ein_edge_cost(g, d, v, i);
        l->below_p += tra_ein_kernel_calls(x, d[v]) < p;
    }
    l->cost = l->join + l->agg + l->repart;
    return l;
}

tra_labelling *tra_ein_chosen_labelling(const tra_eingraph *g, const char *how, const choices *c, const int *chosen,
                                        int p, bool any_factors, tra_arena *a) {
    int **d = tra_news(a, int *, g->nvertices);
    for (int v = 0; v < g->nvertices; v++) {
        d[v] = tra_news(a, int, g->v[v].nlabels);
        if (g->v[v].nlabels) memcpy(d[v], vector(&c[v], chosen[v]), (size_t)g->v[v].nlabels * sizeof *d[v]);
    }
    tra_labelling *l = labelling_of(g, how, d, tra_ein_processors(p, any_factors), a);
    for (int v = 0; v < g->nvertices; v++) l->cut_off |= c[v].vectors.cut_off;
    return l;
}

/* ---- labellings by rule ------------------------------------------------------------------------------------- */

/* Cuts a label in as many of `parts` parts (a power of two) as it can take; returns the factor that is left. */
static int cut_label(const tra_vertex *x, int *d, int label, int parts) {
    int take = 1;
    while (take < parts && 2LL * d[label] * take <= x->max_parts[label]) take *= 2;
    d[label] *= take;
    return parts / take;
}

/* Writes all labels of the vertex into `order`: those of `first` in the order of its dimensions, then the others. */
static void label_order(const tra_eingraph *g, const tra_vertex *x, const tra_ein_ref *first, int *order) {
    bool *seen = tra_calloc((size_t)x->nlabels + 1, sizeof *seen);
    int n = 0;
    for (int i = 0; i < g->rel[first->rel].n; i++) {
        int l = first->label[i];
        if (l >= 0 && !seen[l]) order[n++] = l, seen[l] = true;
    }
    for (int l = 0; l < x->nlabels; l++)
        if (!seen[l]) order[n++] = l;
    free(seen);
}

/* The rule `sqrt` (square) or `data`. */
static tra_labelling *by_rule(const tra_eingraph *g, const char *how, bool square, int p, tra_arena *a) {
    int **d = tra_news(a, int *, g->nvertices);
    p = tra_ein_processors(p, false);
    for (int v = 0; v < g->nvertices; v++) {
        const tra_vertex *x = &g->v[v];
        int order[TRA_MAXLABELS], left = p, side = 1;
        d[v] = tra_news(a, int, x->nlabels);
        for (int l = 0; l < x->nlabels; l++) d[v][l] = 1;
        label_order(g, x, square ? &x->out : &x->ref[0], order);
        while (side * side < p) side *= 2;
        if (square && x->nlabels > 1) {
            left = cut_label(x, d[v], order[0], side) * (p / side);
            left = cut_label(x, d[v], order[1], left);
        }
        for (int i = 0; i < x->nlabels && left > 1; i++) left = cut_label(x, d[v], order[i], left);
    }
    return labelling_of(g, how, d, p, a);
}

tra_labelling *tra_ein_sqrt(const tra_eingraph *g, int p, tra_arena *a) { return by_rule(g, "sqrt", true, p, a); }
tra_labelling *tra_ein_data(const tra_eingraph *g, int p, tra_arena *a) { return by_rule(g, "data", false, p, a); }
