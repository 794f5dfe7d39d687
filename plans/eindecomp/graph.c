/* graph.c - from the typed graph to vertices with labels. */
#include <string.h>

#include "../ia/ia.h"
#include "eindecomp.h"

typedef struct building {
    tra_eingraph *g;
    const tra_graph *t;
    tra_arena *a;
    bool *needed;                 /* relations that outputs follow from; what only helps to compute one is none */
    const tra_einsum **statement; /* whose result the node is */
    bool *absorbed;               /* joins that are one vertex with the aggregation of their result */
} building;

/* ---- relations ---------------------------------------------------------------------------------------------- */

/* The array dimension that key dimension k cuts, when it cuts just that and no other key does; else -1. */
static int cut_by(const tra_type *t, int k) {
    int at = -1;
    for (int d = 0; d < t->cat->bound.n; d++) {
        if (!(t->cut[d] >> k & 1)) continue;
        if (at >= 0 || t->cut[d] != 1u << k) return -1;
        at = d;
    }
    return at;
}

tra_ein_rel tra_ein_rel_of(const tra_type *t) {
    const tra_catalog *c = t->cat;
    tra_ein_rel r = {.vertex = -1, .n = c->frontier.n, .weight = tra_type_held_share(t)};
    tra_dims shape;
    double cells = 1;
    if (tra_type_is_blocked(t, NULL)) {
        tra_type_shape(t, &shape);
        memcpy(r.ext, shape.v, (size_t)r.n * sizeof r.ext[0]);
        return r;
    }
    for (int k = 0; k < r.n; k++) {
        int d = cut_by(t, k);
        r.ext[k] = d < 0 ? c->frontier.v[k] : c->frontier.v[k] * c->bound.v[d];
        if (d >= 0 && c->grid && c->by[d] == k && c->frontier.v[k] > 0) r.ext[k] += c->last[d] - c->bound.v[d];
        cells *= (double)r.ext[k];
    }
    r.weight *= cells > 0 ? (double)tra_catalog_elements(c) / cells : 0;
    return r;
}

static int add_rel(building *b, const tra_node *n, int by) {
    tra_ein_rel *r = &b->g->rel[b->g->nrels];
    *r = tra_ein_rel_of(&n->type);
    r->node = n;
    r->name = n->name;
    r->vertex = by;
    b->g->rel_of[n->id] = b->g->nrels;
    return b->g->nrels++;
}

/* ---- vertices ----------------------------------------------------------------------------------------------- */

static tra_vertex *add_vertex(building *b, const tra_node *n, int nlabels, int nrefs) {
    tra_vertex *v = &b->g->v[b->g->nvertices++];
    v->node = n;
    v->nlabels = nlabels;
    v->name = tra_news(b->a, const char *, nlabels);
    v->most = tra_news(b->a, int64_t, nlabels);
    v->blocks = tra_news(b->a, int64_t, nlabels);
    v->summed = tra_news(b->a, bool, nlabels);
    for (int l = 0; l < nlabels; l++) v->most[l] = v->blocks[l] = INT64_MAX, v->summed[l] = true;
    v->ref = tra_news(b->a, tra_ein_ref, nrefs);
    for (int d = 0; d < TRA_MAXDIM; d++) v->out.label[d] = -1;
    return v;
}

/* A label has no more parts than each relation with it has elements, and follows blocks as far as all have some. */
static void bound_labels(building *b, tra_vertex *v, const tra_ein_ref *r) {
    const tra_ein_rel *x = &b->g->rel[r->rel];
    for (int d = 0; d < x->n; d++) {
        int l = r->label[d];
        if (l < 0) continue;
        v->most[l] = tra_min64(v->most[l], tra_max64(1, x->ext[d]));
        if (x->node) v->blocks[l] = tra_min64(v->blocks[l], tra_max64(1, x->node->type.cat->frontier.v[d]));
    }
}

static tra_ein_ref *add_ref(tra_vertex *v, int rel) {
    tra_ein_ref *r = &v->ref[v->nrefs++];
    r->rel = rel;
    for (int d = 0; d < TRA_MAXDIM; d++) r->label[d] = -1;
    return r;
}

/* References and result are there: what follows from them. */
static void finish_vertex(building *b, tra_vertex *v) {
    for (int i = 0; i < v->nrefs; i++) bound_labels(b, v, &v->ref[i]);
    bound_labels(b, v, &v->out);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++)
        if (v->out.label[d] >= 0) v->summed[v->out.label[d]] = false;
    for (int l = 0; l < v->nlabels; l++) v->blocks[l] = tra_min64(v->blocks[l], v->most[l]);
}

/* How often the expression names argument i. */
static int named(const tra_scalar *e, int i) {
    if (e->op == TRA_S_ARG) return e->arg == i;
    return (e->a ? named(e->a, i) : 0) + (e->b ? named(e->b, i) : 0) + (e->c ? named(e->c, i) : 0);
}

static void statement(building *b, const tra_einsum *s) {
    int nrefs = 0;
    for (int i = 0; i < s->nrefs; i++) nrefs += named(s->expr, i);
    tra_vertex *v = add_vertex(b, s->node, s->nlabels, nrefs);
    memcpy(v->name, s->name, (size_t)s->nlabels * sizeof *v->name);
    for (int i = 0; i < s->nrefs; i++) {
        for (int times = named(s->expr, i); times > 0; times--) {
            tra_ein_ref *r = add_ref(v, b->g->rel_of[s->ref[i].node->id]);
            for (int d = 0; d < s->ref[i].n; d++) r->label[d] = s->ref[i].label[d];
        }
    }
    v->out.rel = add_rel(b, s->node, b->g->nvertices - 1);
    for (int d = 0; d < s->nout; d++) v->out.label[d] = s->out[d];
    finish_vertex(b, v);
}

static const char *label_name(building *b, int k) { return tra_arena_printf(b->a, "k%d", k); }

/* A join, with the aggregation that alone consumes it (or NULL). */
static void join(building *b, const tra_node *j, const tra_node *agg) {
    const tra_node *n = agg ? agg : j;
    tra_labels x;
    tra_join_labels(j->in[0]->type.cat, j->in[1]->type.cat, &j->joinl, &j->joinr, &x);
    tra_vertex *v = add_vertex(b, n, x.n, 2);
    tra_ein_ref *l = add_ref(v, b->g->rel_of[j->in[0]->id]), *r = add_ref(v, b->g->rel_of[j->in[1]->id]);
    for (int i = 0; i < x.n; i++) { /* labels in the order of the join's output */
        int at = x.v[i].out;
        v->name[at] = label_name(b, at);
        if (x.v[i].l >= 0) l->label[(int)x.v[i].l] = at;
        if (x.v[i].r >= 0) r->label[(int)x.v[i].r] = at;
    }
    v->out.rel = add_rel(b, n, b->g->nvertices - 1);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++) v->out.label[d] = agg ? (int)agg->group.v[d] : d;
    finish_vertex(b, v);
}

/* An operator of one input whose labels are the input's key dimensions; from[d]: that of output dimension d, or -1.
 * whole: a dimension that may not be cut, or -1. */
static void unary(building *b, const tra_node *n, const int *from, int whole) {
    int in = b->g->rel_of[n->in[0]->id], k = b->g->rel[in].n;
    tra_vertex *v = add_vertex(b, n, k, 1);
    tra_ein_ref *r = add_ref(v, in);
    for (int d = 0; d < k; d++) v->name[d] = label_name(b, d), r->label[d] = d;
    v->out.rel = add_rel(b, n, b->g->nvertices - 1);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++) v->out.label[d] = from[d];
    finish_vertex(b, v);
    if (whole >= 0) v->most[whole] = v->blocks[whole] = 1;
    if (n->op != TRA_OP_AGG) memset(v->summed, 0, (size_t)k * sizeof *v->summed);
}

/* softmax in one kernel is the four statements all the same: M = max X, E = exp(X - M), S = sum E, E / S. */
static void softmax(building *b, const tra_node *n) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"};
    static const char *const made[] = {"max", "exp", "sum"};
    tra_eingraph *g = b->g;
    int x = g->rel_of[n->in[0]->id], k = g->rel[x].n, reads = x, less = -1;
    for (int step = 0; step < 4; step++) {
        bool reduces = step % 2 == 0;
        tra_vertex *v = add_vertex(b, n, k, 2);
        for (int d = 0; d < k; d++) v->name[d] = names[d % 15];
        tra_ein_ref *r = add_ref(v, reads);
        for (int d = 0; d < k; d++) r->label[d] = d;
        if (!reduces) {
            r = add_ref(v, less);
            for (int d = 0; d < k - 1; d++) r->label[d] = d;
        }
        if (step == 3) {
            v->out.rel = add_rel(b, n, g->nvertices - 1);
        } else {
            v->out.rel = g->nrels;
            tra_ein_rel *made_rel = &g->rel[g->nrels++];
            *made_rel = g->rel[x];
            made_rel->node = NULL;
            made_rel->name = made[step];
            made_rel->vertex = g->nvertices - 1;
            made_rel->n = reduces ? k - 1 : k;
        }
        for (int d = 0; d < (reduces ? k - 1 : k); d++) v->out.label[d] = d;
        finish_vertex(b, v);
        v->blocks[k - 1] = 1;
        if (reduces)
            less = v->out.rel;
        else
            reads = v->out.rel;
    }
}

static bool is_softmax(const tra_node *n) {
    return tra_kernel_needs_whole_last(n->kernel) && !tra_kernel_rest(n->kernel) &&
           n->in[0]->type.cat->frontier.n > 0 && tra_type_is_blocked(&n->in[0]->type, NULL);
}

static void operator(building *b, const tra_node *n) {
    int from[TRA_MAXDIM], k = n->type.cat->frontier.n;
    uint32_t taken = 0;
    for (int d = 0; d < TRA_MAXDIM; d++) from[d] = d;
    switch (n->op) {
    case TRA_OP_INPUT: add_rel(b, n, -1); return;
    case TRA_OP_REPART:
        if (n->origin.n > 0) { /* another tensor */
            add_rel(b, n, -1);
            return;
        }
        b->g->rel_of[n->id] = b->g->rel_of[n->in[0]->id];
        return;
    case TRA_OP_JOIN: join(b, n, NULL); return;
    case TRA_OP_AGG:
        if (b->absorbed[n->in[0]->id]) {
            join(b, n->in[0], n);
            return;
        }
        for (int d = 0; d < k; d++) from[d] = (int)n->group.v[d];
        unary(b, n, from, -1);
        return;
    case TRA_OP_REKEY:
        for (int d = 0, var; d < k; d++) {
            from[d] = tra_keyexpr_is_var(n->keyfn->expr[d], &var) && !(taken >> var & 1) ? var : -1;
            if (from[d] >= 0) taken |= 1u << var;
        }
        unary(b, n, from, -1);
        return;
    case TRA_OP_TRANSFORM:
        if (is_softmax(n))
            softmax(b, n);
        else
            unary(b, n, from, -1);
        return;
    case TRA_OP_FILTER: unary(b, n, from, -1); return;
    case TRA_OP_TILE:
        from[k - 1] = -1;
        unary(b, n, from, -1);
        return;
    case TRA_OP_CONCAT:
        for (int d = n->keydim; d < k; d++) from[d] = d + 1;
        unary(b, n, from, n->keydim);
        return;
    }
}

/* ---- which nodes make a vertex ------------------------------------------------------------------------------ */

/* A statement reads its references, whatever its nodes read. */
static void need(building *b, const tra_node *n) {
    const tra_einsum *s = b->statement[n->id];
    if (b->needed[n->id]) return;
    b->needed[n->id] = true;
    for (int i = 0; s && i < s->nrefs; i++) need(b, s->ref[i].node);
    for (int i = 0; !s && i < 2 && n->in[i]; i++) need(b, n->in[i]);
}

/* Joins that only an aggregation of the program itself consumes. */
static void absorb_joins(building *b) {
    for (int i = 0; i < b->t->n; i++) {
        const tra_node *n = b->t->v[i], *x = n->in[0];
        if (n->op == TRA_OP_AGG && b->needed[i] && !b->statement[i] && x->op == TRA_OP_JOIN && x->uses == 1 &&
            !b->statement[x->id])
            b->absorbed[x->id] = true;
    }
}

/* The vertex of a node that is no relation is that of one that it helps to compute. */
static void own(tra_eingraph *g, const tra_graph *t) {
    for (int i = 0; i < t->n; i++) g->vertex_of[i] = g->rel_of[i] >= 0 ? g->rel[g->rel_of[i]].vertex : -1;
    for (int i = t->n - 1; i >= 0; i--) {
        for (int j = 0; g->vertex_of[i] >= 0 && j < 2 && t->v[i]->in[j]; j++) {
            int x = t->v[i]->in[j]->id;
            if (g->rel_of[x] < 0 && g->vertex_of[x] < 0) g->vertex_of[x] = g->vertex_of[i];
        }
    }
}

static void count_consumers(tra_eingraph *g) {
    int *seen = tra_news(g->arena, int, g->nvertices); /* the last consumer counted, from 1 */
    for (int v = 0; v < g->nvertices; v++) {
        for (int i = 0; i < g->v[v].nrefs; i++) {
            int u = g->rel[g->v[v].ref[i].rel].vertex;
            if (u < 0 || seen[u] == v + 1) continue;
            seen[u] = v + 1;
            g->consumers[u]++;
        }
    }
}

tra_eingraph *tra_eingraph_build(const tra_graph *t, tra_arena *a) {
    tra_eingraph *g = tra_new(a, tra_eingraph);
    building b = {.g = g, .t = t, .a = a};
    *g = (tra_eingraph){.arena = a};
    g->rel = tra_news(a, tra_ein_rel, 4 * t->n + 1);
    g->v = tra_news(a, tra_vertex, 4 * t->n + 1);
    g->rel_of = tra_news(a, int, t->n);
    g->vertex_of = tra_news(a, int, t->n);
    b.needed = tra_news(a, bool, t->n);
    b.absorbed = tra_news(a, bool, t->n);
    b.statement = tra_news(a, const tra_einsum *, t->n);
    for (int i = 0; i < t->neinsums; i++) b.statement[t->einsums[i]->node->id] = t->einsums[i];
    for (int i = 0; i < t->noutputs; i++) need(&b, t->outputs[i].node);
    absorb_joins(&b);
    for (int i = 0; i < t->n; i++) {
        g->rel_of[i] = -1;
        if (!b.needed[i] || b.absorbed[i]) continue;
        if (b.statement[i])
            statement(&b, b.statement[i]);
        else
            operator(&b, t->v[i]);
    }
    own(g, t);
    g->consumers = tra_news(a, int, g->nvertices);
    count_consumers(g);
    return g;
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

static void print_ref(const tra_eingraph *g, const tra_vertex *v, const tra_ein_ref *r, tra_str *out) {
    const tra_ein_rel *x = &g->rel[r->rel];
    if (x->name)
        tra_str_add(out, x->name);
    else
        tra_str_printf(out, "(%d)", x->vertex);
    tra_str_add(out, "[");
    for (int d = 0; d < x->n; d++)
        tra_str_printf(out, "%s%s", d ? "," : "", r->label[d] < 0 ? "." : v->name[r->label[d]]);
    tra_str_add(out, "]");
}

void tra_vertex_print(const tra_eingraph *g, int i, tra_str *out) {
    const tra_vertex *v = &g->v[i];
    print_ref(g, v, &v->out, out);
    tra_str_add(out, " =");
    for (int r = 0; r < v->nrefs; r++) {
        tra_str_add(out, " ");
        print_ref(g, v, &v->ref[r], out);
    }
}
