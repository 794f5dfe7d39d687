/* place.c - from partition vectors to placements: parts become coordinates in a grid of sites.
 *
 * Sites hold whole blocks, so a part begins where a block does. If the vector has exactly as many parts as there are
 * sites, and no label has more parts than blocks, the grid is the vector. Otherwise it is a factorisation of the number
 * of sites over the labels: of those that leave the fewest sites idle the one that is nearest to the vector, by the
 * squares of the differences of logarithms. The order of axes is free; it is chosen so that as much as possible of the
 * inputs stays in place. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "eindecomp.h"

/* ---- the grid ----------------------------------------------------------------------------------------------- */

/* The best way to distribute a number of sites over a label and those after it, with a number of axes at most. */
typedef struct best_rest {
    int64_t busy; /* sites that have blocks; 0: there is no way */
    double distance;
    int sites; /* along the label */
} best_rest;

enum { MAXDIVISORS = 128 }; /* of numbers up to TRA_MAXSITES */

/* Writes the divisors of n, ascending. Returns how many there are. */
static int find_divisors(int n, int divisor[MAXDIVISORS]) {
    int count = 0;
    for (int d = 1; d <= n; d++) {
        if (n % d != 0) continue;
        assert(count < MAXDIVISORS);
        divisor[count++] = d;
    }
    return count;
}

/* Finds the grid that keeps most sites busy; of several the one nearest to `parts`, and of equally near ones that with
 * the fewest sites along the first labels. This is a dynamic program over labels i, the number of sites that are left
 * for them (the number of a divisor of `sites`), and the axes that are left for them. */
static void nearest_grid(int n, const int *parts, const int64_t *blocks, int sites, int *grid) {
    int divisor[MAXDIVISORS], ndivisors = find_divisors(sites, divisor);
    best_rest(*best)[MAXDIVISORS][TRA_MAXAXES + 1] = tra_calloc((size_t)n + 1, sizeof *best);
    for (int axes = 0; axes <= TRA_MAXAXES; axes++) best[n][0][axes] = (best_rest){.busy = 1};
    for (int i = n - 1; i >= 0; i--) {
        for (int left = 0; left < ndivisors; left++) {
            for (int axes = 0; axes <= TRA_MAXAXES; axes++) {
                best_rest *b = &best[i][left][axes];
                for (int take = 0, rest = left; take <= left; take++) { /* divisor[take] sites along label i */
                    if (divisor[left] % divisor[take] != 0 || (take > 0 && axes == 0)) continue;
                    while (divisor[rest] * divisor[take] != divisor[left]) rest--;
                    const best_rest *after = &best[i + 1][rest][axes - (take > 0)];
                    double off = log2(divisor[take]) - log2(parts[i]), distance = after->distance + off * off;
                    int64_t busy = after->busy * tra_min64(divisor[take], tra_max64(1, blocks[i]));
                    if (busy > b->busy || (busy && busy == b->busy && distance < b->distance - 1e-9))
                        *b = (best_rest){busy, distance, divisor[take]};
                }
            }
        }
    }
    for (int i = 0, left = ndivisors - 1, axes = TRA_MAXAXES, rest = sites; i < n; i++) {
        grid[i] = best[i][left][axes].sites;
        axes -= grid[i] > 1;
        rest /= grid[i];
        while (divisor[left] != rest) left--;
    }
    free(best);
}

/* Finds the number of sites along each of n >= 1 labels, whose product is `sites`. parts: those of each label in the
 * vector; blocks: how many blocks each label has. */
static void grid_of_vector(int n, const int *parts, const int64_t *blocks, int sites, int *grid) {
    int64_t product = 1;
    int axes = 0;
    bool fits = true;
    for (int i = 0; i < n; i++) {
        product *= parts[i];
        fits = fits && parts[i] <= tra_max64(1, blocks[i]);
        axes += parts[i] > 1;
    }
    if (fits && product == sites && axes <= TRA_MAXAXES) {
        memcpy(grid, parts, (size_t)n * sizeof *grid);
        return;
    }
    nearest_grid(n, parts, blocks, sites, grid);
}

/* ---- the order of axes -------------------------------------------------------------------------------------- */

/* The range of a dimension that a site holds, as fractions of its extent. */
static void range_held(const tra_placement *p, int site, int dim, double *lo, double *hi) {
    *lo = 0, *hi = 1;
    for (int i = p->naxes - 1; i >= 0; i--) {
        const tra_axis *x = &p->axis[i];
        int at = site % x->sites;
        site /= x->sites;
        if (x->kind != TRA_AXIS_PART || x->dim[0] != dim) continue;
        double width = *hi - *lo;
        *hi = *lo + width * (at + 1) / x->sites;
        *lo += width * at / x->sites;
    }
}

/* How much of a relation of n dimensions is in place for q when it is placed as p, as a fraction of the relation.
 * Copies count each; 0 where an axis partitions by several dimensions. */
static double share_in_place(const tra_placement *p, const tra_placement *q, int n) {
    double sum = 0;
    for (int i = 0; i < p->naxes; i++)
        if (p->axis[i].n > 1) return 0;
    if (p->owner || p->sites != q->sites) return 0;
    for (int s = 0; s < p->sites; s++) {
        double share = 1;
        for (int d = 0; d < n && share > 0; d++) {
            double plo, phi, qlo, qhi;
            range_held(p, s, d, &plo, &phi);
            range_held(q, s, d, &qlo, &qhi);
            share *= fmax(0, fmin(phi, qhi) - fmax(plo, qlo));
        }
        sum += share;
    }
    return sum;
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

typedef struct placing {
    const tra_eingraph *g;
    const tra_labelling *l;
    int sites;
    tra_arena *a;
    tra_ein_places *out;
    tra_placement *likely; /* where the result of each node probably is; sites 0: not known */
} placing;

static tra_axis axis(int sites, int dim, int64_t ext) {
    if (dim < 0) return (tra_axis){.kind = TRA_AXIS_COPY, .sites = sites};
    return (tra_axis){.kind = TRA_AXIS_PART, .sites = sites, .n = 1, .dim = {(int8_t)dim}, .ext = {ext}};
}

/* The way to place a join with an axis for each of the n labels in `order`, label i having grid[i] sites. */
static tra_way way_of(const tra_labels *x, const int *grid, int n, const int *order, int sites) {
    tra_way w = {.l.sites = sites, .r.sites = sites, .out.sites = sites};
    for (int i = 0; i < n; i++) {
        const tra_label *b = &x->v[order[i]];
        int g = grid[order[i]];
        w.l.axis[w.l.naxes++] = axis(g, b->l, b->n);
        w.r.axis[w.r.naxes++] = axis(g, b->r, b->n);
        w.out.axis[w.out.naxes++] = axis(g, b->out, b->n);
    }
    return w;
}

/* The elements of a node's result that are in place for `need`, where its placement is known. */
static double elements_in_place(const placing *w, const tra_node *n, const tra_placement *need) {
    const tra_placement *p = &w->likely[n->id];
    if (p->sites == 0) return 0;
    return share_in_place(p, need, n->type.cat->frontier.n) * (double)tra_catalog_elements(n->type.cat);
}

enum { MAXORDER = 4 }; /* so many axes are tried in all orders; more in one */

/* Tries the orders of the n labels that begin with the first i of `order`. *best gets the way in which most elements of
 * the inputs, *most, are in place. */
static void try_orders(const placing *w, const tra_node *j, const tra_labels *x, const int *grid, int n, int *order,
                       int i, double *most, tra_way *best) {
    if (i == n || n > MAXORDER) {
        tra_way way = way_of(x, grid, n, order, w->sites);
        double kept = elements_in_place(w, j->in[0], &way.l) + elements_in_place(w, j->in[1], &way.r);
        if (kept <= *most) return;
        *most = kept;
        *best = way;
        return;
    }
    for (int k = i; k < n; k++) {
        int first = order[k];
        memmove(order + i + 1, order + i, (size_t)(k - i) * sizeof *order);
        order[i] = first;
        try_orders(w, j, x, grid, n, order, i + 1, most, best);
        memmove(order + i, order + i + 1, (size_t)(k - i) * sizeof *order);
        order[k] = first;
    }
}

/* Takes an input of the program to be placed where it is first needed, if that needs no copies. */
static void note_input(placing *w, const tra_node *n, const tra_placement *need) {
    if (n->op == TRA_OP_INPUT && w->likely[n->id].sites == 0 && tra_place_copies(need) == 1) w->likely[n->id] = *need;
}

/* Sets label[d] to the label, of the node's vertex, of key dimension d of the node; -1: none. */
static void labels_of(const placing *w, const tra_node *n, int *label) {
    const tra_vertex *v = &w->g->v[w->g->vertex_of[n->id]];
    for (int d = 0; d < n->type.cat->frontier.n; d++)
        label[d] = n->label ? n->label[d] : v->node == n ? v->out.label[d] : d;
}

static void place_join(placing *w, const tra_node *j) {
    int label[TRA_MAXDIM], parts[TRA_MAXLABELS], grid[TRA_MAXLABELS], order[TRA_MAXLABELS], n = 0;
    int64_t blocks[TRA_MAXLABELS];
    const int *d = w->l->d[w->g->vertex_of[j->id]];
    tra_labels x;
    tra_join_labels(j->in[0]->type.cat, j->in[1]->type.cat, &j->join.l, &j->join.r, &x);
    labels_of(w, j, label);
    for (int i = 0; i < x.n; i++) parts[i] = d[label[(int)x.v[i].out]], blocks[i] = x.v[i].n;
    if (x.n == 0) return;
    grid_of_vector(x.n, parts, blocks, w->sites, grid);
    for (int i = 0; i < x.n; i++)
        if (grid[i] > 1) order[n++] = i;
    tra_way *best = tra_new(w->a, tra_way);
    double most = -1;
    try_orders(w, j, &x, grid, n, order, 0, &most, best);
    w->out->way[j->id] = best;
    w->likely[j->id] = best->out;
    note_input(w, j->in[0], &best->l);
    note_input(w, j->in[1], &best->r);
}

/* The placement on a grid of key dimensions. First come the dimensions by which axes of `first` (NULL: none) partition,
 * in the order of these axes, then the others. */
static tra_placement placement_on(const int *grid, const tra_dims *frontier, int sites, const tra_placement *first) {
    tra_placement p = {.sites = sites};
    bool done[TRA_MAXDIM] = {false};
    for (int i = 0; first && !first->owner && i < first->naxes; i++) {
        int k = first->axis[i].dim[0];
        if (first->axis[i].kind != TRA_AXIS_PART || k >= frontier->n || grid[k] == 1 || done[k]) continue;
        p.axis[p.naxes++] = axis(grid[k], k, frontier->v[k]);
        done[k] = true;
    }
    for (int k = 0; k < frontier->n; k++)
        if (grid[k] > 1 && !done[k]) p.axis[p.naxes++] = axis(grid[k], k, frontier->v[k]);
    return p;
}

/* Places the result of a node on a grid of its labels, unless a label is cut that the result does not have. */
static void place_result(placing *w, const tra_node *n) {
    const tra_dims *frontier = &n->type.cat->frontier;
    const tra_vertex *v = &w->g->v[w->g->vertex_of[n->id]];
    const int *d = w->l->d[w->g->vertex_of[n->id]];
    int label[TRA_MAXDIM], parts[TRA_MAXDIM], grid[TRA_MAXDIM];
    bool has[TRA_MAXLABELS] = {false};
    labels_of(w, n, label);
    for (int i = 0; i < frontier->n; i++) {
        parts[i] = label[i] < 0 ? 1 : d[label[i]];
        if (label[i] >= 0) has[label[i]] = true;
    }
    for (int l = 0; l < v->nlabels; l++)
        if (d[l] > 1 && !has[l]) return;
    if (frontier->n == 0) return;
    grid_of_vector(frontier->n, parts, frontier->v, w->sites, grid);
    bool same_keys = n->op == TRA_OP_TRANSFORM || n->op == TRA_OP_FILTER;
    tra_placement *p = tra_new(w->a, tra_placement);
    *p = placement_on(grid, frontier, w->sites, same_keys ? &w->likely[n->in[0]->id] : NULL);
    w->out->place[n->id] = p;
    w->likely[n->id] = *p;
    if (same_keys) note_input(w, n->in[0], p);
}

/* The first dimension with at least so many values by which no axis partitions; -1: there is none. */
static int first_uncut(const tra_placement *p, const tra_dims *frontier, int values) {
    for (int k = 0; k < frontier->n; k++) {
        bool cut = frontier->v[k] < values;
        for (int i = 0; i < p->naxes; i++)
            for (int j = 0; p->axis[i].kind == TRA_AXIS_PART && j < p->axis[i].n; j++) cut |= p->axis[i].dim[j] == k;
        if (!cut) return k;
    }
    return -1;
}

/* Notes where the result of an aggregation probably is: where its input is, each axis of summands being replaced by a
 * dimension that is not cut yet. Where sums are in fact completed the search decides. */
static void note_aggregation(placing *w, const tra_node *n) {
    const tra_placement *in = &w->likely[n->in[0]->id];
    tra_placement q;
    if (in->sites == 0 || !tra_place_agg(in, &n->group, &q)) return;
    for (int i = 0; i < q.naxes; i++) {
        if (q.axis[i].kind != TRA_AXIS_PARTIAL) continue;
        int k = first_uncut(&q, &n->type.cat->frontier, q.axis[i].sites);
        if (k < 0) return;
        q.axis[i] = axis(q.axis[i].sites, k, n->type.cat->frontier.v[k]);
    }
    w->likely[n->id] = q;
}

void tra_ein_place(const tra_eingraph *g, const tra_graph *t, const tra_labelling *l, int sites, tra_arena *a,
                   tra_ein_places *out) {
    placing w = {.g = g, .l = l, .sites = sites, .a = a, .out = out, .likely = tra_news(a, tra_placement, t->n)};
    out->way = tra_news(a, const tra_way *, t->n);
    out->place = tra_news(a, const tra_placement *, t->n);
    for (int i = 0; i < t->n; i++) {
        const tra_node *n = t->v[i];
        if (n->op == TRA_OP_REPART && (g->rel_of[i] >= 0 || g->vertex_of[i] >= 0)) w.likely[i] = w.likely[n->in[0]->id];
        if (g->vertex_of[i] < 0 || n->op == TRA_OP_REPART) continue;
        if (n->op == TRA_OP_JOIN)
            place_join(&w, n);
        else if (n->op != TRA_OP_AGG || g->vertex_of[n->in[0]->id] != g->vertex_of[i])
            place_result(&w, n);
        if (n->op == TRA_OP_AGG && !out->place[i]) note_aggregation(&w, n);
    }
}
