/* place.c - from partition vectors to placements: parts become coordinates in a grid of sites.
 *
 * A part begins where a block does, so that blocks stay what they are. Where the vector has exactly as many parts as
 * there are sites, and no more of a label than it has blocks, the grid is the vector. Else it is the factorisation of
 * the number of sites nearest to it, in factors of two, of those that keep most sites busy. Which axis comes first is
 * free: the order is taken in which most of the inputs stay where they are. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "eindecomp.h"

/* ---- the grid ----------------------------------------------------------------------------------------------- */

/* The best way to give the sites that are left to a label and those after it, with so many axes at most. */
typedef struct fit_best {
    int64_t busy; /* sites that have blocks; 0: there is no way */
    double distance;
    int sites; /* along the label */
} fit_best;

enum { MAXDIVISORS = 32 }; /* of numbers up to TRA_MAXSITES */

/* The sites that are not idle count first, then the distance to what is wanted; of equals the fewest sites along the
 * first labels. A table over labels, divisors and axes, since grids of many labels are too many to try. */
static void factorise(int n, const int *want, const int64_t *blocks, int sites, int *grid) {
    int divisor[MAXDIVISORS], ndivisors = 0;
    for (int d = 1; d <= sites; d++) {
        if (sites % d != 0) continue;
        assert(ndivisors < MAXDIVISORS);
        divisor[ndivisors++] = d;
    }
    fit_best(*best)[MAXDIVISORS][TRA_MAXAXES + 1] = tra_calloc((size_t)n + 1, sizeof *best);
    for (int axes = 0; axes <= TRA_MAXAXES; axes++) best[n][0][axes] = (fit_best){.busy = 1};
    for (int i = n - 1; i >= 0; i--) {
        for (int left = 0; left < ndivisors; left++) {
            for (int axes = 0; axes <= TRA_MAXAXES; axes++) {
                fit_best *b = &best[i][left][axes];
                for (int take = 0, rest = left; take <= left; take++) {
                    if (divisor[left] % divisor[take] != 0 || (take > 0 && axes == 0)) continue;
                    while (divisor[rest] * divisor[take] != divisor[left]) rest--;
                    const fit_best *after = &best[i + 1][rest][axes - (take > 0)];
                    double off = log2(divisor[take]) - log2(want[i]), distance = after->distance + off * off;
                    int64_t busy = after->busy * tra_min64(divisor[take], tra_max64(1, blocks[i]));
                    if (busy > b->busy || (busy && busy == b->busy && distance < b->distance - 1e-9))
                        *b = (fit_best){busy, distance, divisor[take]};
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

/* Sites along each of n >= 1 labels; their product is that of the sites. */
static void fit(int n, const int *want, const int64_t *blocks, int sites, int *grid) {
    int64_t product = 1;
    int axes = 0;
    bool fits = true;
    for (int i = 0; i < n; i++) {
        product *= want[i];
        fits = fits && want[i] <= tra_max64(1, blocks[i]);
        axes += want[i] > 1;
    }
    if (fits && product == sites && axes <= TRA_MAXAXES) {
        memcpy(grid, want, (size_t)n * sizeof *grid);
        return;
    }
    factorise(n, want, blocks, sites, grid);
}

/* ---- the order of axes -------------------------------------------------------------------------------------- */

/* The part of a dimension that a site holds, in fractions of it. */
static void held(const tra_placement *p, int site, int dim, double *lo, double *hi) {
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

/* How much of a relation of n dimensions the sites that are to have it as q have as p, in fractions of it. */
static double stays(const tra_placement *p, const tra_placement *q, int n) {
    double sum = 0;
    for (int i = 0; i < p->naxes; i++)
        if (p->axis[i].n > 1) return 0;
    if (p->owner || p->sites != q->sites) return 0;
    for (int s = 0; s < p->sites; s++) {
        double share = 1;
        for (int d = 0; d < n && share > 0; d++) {
            double plo, phi, qlo, qhi;
            held(p, s, d, &plo, &phi);
            held(q, s, d, &qlo, &qhi);
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
    tra_placement *at; /* where the result of each node probably is; sites 0: not known */
} placing;

static tra_axis axis(int sites, int dim, int64_t ext) {
    if (dim < 0) return (tra_axis){.kind = TRA_AXIS_COPY, .sites = sites};
    return (tra_axis){.kind = TRA_AXIS_PART, .sites = sites, .n = 1, .dim = {(int8_t)dim}, .ext = {ext}};
}

/* The way of a join in which the labels `order` have so many sites each. */
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

static double keeps(const placing *w, const tra_node *n, const tra_placement *need) {
    const tra_placement *at = &w->at[n->id];
    if (at->sites == 0) return 0;
    return stays(at, need, n->type.cat->frontier.n) * (double)tra_catalog_elements(n->type.cat);
}

enum { MAXORDER = 4 }; /* axes of which all orders are tried */

/* Tries the orders that begin with the first i of order. */
static void permute(const placing *w, const tra_node *j, const tra_labels *x, const int *grid, int n, int *order, int i,
                    double *most, tra_way *best) {
    if (i == n || n > MAXORDER) {
        tra_way way = way_of(x, grid, n, order, w->sites);
        double kept = keeps(w, j->in[0], &way.l) + keeps(w, j->in[1], &way.r);
        if (kept <= *most) return;
        *most = kept;
        *best = way;
        return;
    }
    for (int k = i; k < n; k++) {
        int first = order[k];
        memmove(order + i + 1, order + i, (size_t)(k - i) * sizeof *order);
        order[i] = first;
        permute(w, j, x, grid, n, order, i + 1, most, best);
        memmove(order + i, order + i + 1, (size_t)(k - i) * sizeof *order);
        order[k] = first;
    }
}

/* An input of the program is where it is first needed, if that needs no copies. */
static void note_input(placing *w, const tra_node *n, const tra_placement *need) {
    if (n->op == TRA_OP_INPUT && w->at[n->id].sites == 0 && tra_place_copies(need) == 1) w->at[n->id] = *need;
}

/* The vertex's label of each key dimension of a node that helps to compute it; -1: none. */
static void labels_of(const placing *w, const tra_node *n, int *label) {
    const tra_vertex *v = &w->g->v[w->g->vertex_of[n->id]];
    for (int d = 0; d < n->type.cat->frontier.n; d++)
        label[d] = n->label ? n->label[d] : v->node == n ? v->out.label[d] : d;
}

static void place_join(placing *w, const tra_node *j) {
    int label[TRA_MAXDIM], want[TRA_MAXLABELS], grid[TRA_MAXLABELS], order[TRA_MAXLABELS], n = 0;
    int64_t blocks[TRA_MAXLABELS];
    const int *d = w->l->d[w->g->vertex_of[j->id]];
    tra_labels x;
    tra_join_labels(j->in[0]->type.cat, j->in[1]->type.cat, &j->joinl, &j->joinr, &x);
    labels_of(w, j, label);
    for (int i = 0; i < x.n; i++) want[i] = d[label[(int)x.v[i].out]], blocks[i] = x.v[i].n;
    if (x.n == 0) return;
    fit(x.n, want, blocks, w->sites, grid);
    for (int i = 0; i < x.n; i++)
        if (grid[i] > 1) order[n++] = i;
    tra_way *best = tra_new(w->a, tra_way);
    double most = -1;
    permute(w, j, &x, grid, n, order, 0, &most, best);
    w->out->way[j->id] = best;
    w->at[j->id] = best->out;
    note_input(w, j->in[0], &best->l);
    note_input(w, j->in[1], &best->r);
}

/* The result on a grid of its labels; not where one that the result lacks is cut. */
static void place_result(placing *w, const tra_node *n) {
    const tra_catalog *c = n->type.cat;
    const tra_vertex *v = &w->g->v[w->g->vertex_of[n->id]];
    const int *d = w->l->d[w->g->vertex_of[n->id]];
    int label[TRA_MAXDIM], want[TRA_MAXDIM], grid[TRA_MAXDIM];
    bool has[TRA_MAXLABELS] = {false};
    labels_of(w, n, label);
    for (int i = 0; i < c->frontier.n; i++) {
        want[i] = label[i] < 0 ? 1 : d[label[i]];
        if (label[i] >= 0) has[label[i]] = true;
    }
    for (int l = 0; l < v->nlabels; l++)
        if (d[l] > 1 && !has[l]) return;
    if (c->frontier.n == 0) return;
    fit(c->frontier.n, want, c->frontier.v, w->sites, grid);
    tra_placement *p = tra_new(w->a, tra_placement);
    p->sites = w->sites;
    const tra_placement *in = &w->at[n->in[0]->id]; /* in the order of the input's axes, as far as these go */
    bool same_keys = n->op == TRA_OP_TRANSFORM || n->op == TRA_OP_FILTER;
    for (int i = 0; same_keys && !in->owner && i < in->naxes; i++) {
        for (int k = 0; k < c->frontier.n; k++) {
            if (in->axis[i].kind != TRA_AXIS_PART || in->axis[i].dim[0] != k || grid[k] == 1) continue;
            p->axis[p->naxes++] = axis(grid[k], k, c->frontier.v[k]);
            grid[k] = 1;
        }
    }
    for (int k = 0; k < c->frontier.n; k++)
        if (grid[k] > 1) p->axis[p->naxes++] = axis(grid[k], k, c->frontier.v[k]);
    w->out->place[n->id] = p;
    w->at[n->id] = *p;
    if (same_keys) note_input(w, n->in[0], p);
}

/* The first dimension of so many values that no axis cuts; -1. */
static int uncut(const tra_placement *p, const tra_dims *frontier, int values) {
    for (int k = 0; k < frontier->n; k++) {
        bool cut = frontier->v[k] < values;
        for (int i = 0; i < p->naxes; i++)
            for (int j = 0; p->axis[i].kind == TRA_AXIS_PART && j < p->axis[i].n; j++) cut |= p->axis[i].dim[j] == k;
        if (!cut) return k;
    }
    return -1;
}

/* An aggregation follows its input. Where summands are completed the search decides; likely along a dimension that is
 * not cut yet. */
static void follow(placing *w, const tra_node *n) {
    const tra_placement *in = &w->at[n->in[0]->id];
    tra_placement q;
    if (in->sites == 0 || !tra_place_agg(in, &n->group, &q)) return;
    for (int i = 0; i < q.naxes; i++) {
        if (q.axis[i].kind != TRA_AXIS_PARTIAL) continue;
        int k = uncut(&q, &n->type.cat->frontier, q.axis[i].sites);
        if (k < 0) return;
        q.axis[i] = axis(q.axis[i].sites, k, n->type.cat->frontier.v[k]);
    }
    w->at[n->id] = q;
}

void tra_ein_place(const tra_eingraph *g, const tra_graph *t, const tra_labelling *l, int sites, tra_arena *a,
                   tra_ein_places *out) {
    placing w = {.g = g, .l = l, .sites = sites, .a = a, .out = out, .at = tra_news(a, tra_placement, t->n)};
    out->way = tra_news(a, const tra_way *, t->n);
    out->place = tra_news(a, const tra_placement *, t->n);
    for (int i = 0; i < t->n; i++) {
        const tra_node *n = t->v[i];
        if (n->op == TRA_OP_REPART && (g->rel_of[i] >= 0 || g->vertex_of[i] >= 0)) w.at[i] = w.at[n->in[0]->id];
        if (g->vertex_of[i] < 0 || n->op == TRA_OP_REPART) continue;
        if (n->op == TRA_OP_JOIN)
            place_join(&w, n);
        else if (n->op != TRA_OP_AGG || g->vertex_of[n->in[0]->id] != g->vertex_of[i])
            place_result(&w, n);
        if (n->op == TRA_OP_AGG && !out->place[i]) follow(&w, n);
    }
}
