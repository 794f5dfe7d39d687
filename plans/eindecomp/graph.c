/* graph.c - from the typed graph to vertices with labels. */
#include <string.h>

#include "../ia/ia.h"
#include "eindecomp.h"

typedef struct building {
    tra_eingraph *g;
    const tra_graph *t;
    tra_arena *a;
    bool *needed;                 /* nodes whose result is a relation of the graph that an output needs */
    const tra_einsum **statement; /* the statement whose result the node is, or NULL */
    bool *absorbed;               /* joins that are one vertex with the aggregation of their result */
} building;

/* ---- relations ---------------------------------------------------------------------------------------------- */

/* The array dimension that key dimension k alone cuts, if k cuts no other one; else -1. */
static int cut_alone_by(const tra_type *t, int k) {
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
        int d = cut_alone_by(t, k);
        r.ext[k] = d < 0 ? c->frontier.v[k] : c->frontier.v[k] * c->bound.v[d];
        bool clipped = d >= 0 && c->grid && c->by[d] == k && c->frontier.v[k] > 0; /* the last array may be smaller */
        if (clipped) r.ext[k] += c->last[d] - c->bound.v[d];
        cells *= (double)r.ext[k];
    }
    r.weight *= cells > 0 ? (double)tra_catalog_elements(c) / cells : 0;
    return r;
}

/* Adds the result of node n, which that vertex makes (-1: it is an input). Returns its number. */
static int add_rel(building *b, const tra_node *n, int vertex) {
    tra_ein_rel *r = &b->g->rel[b->g->nrels];
    *r = tra_ein_rel_of(&n->type);
    r->node = n;
    r->name = n->name;
    r->vertex = vertex;
    b->g->rel_of[n->id] = b->g->nrels;
    return b->g->nrels++;
}

/* ---- vertices ----------------------------------------------------------------------------------------------- */

/* A vertex with room for so many references, to which all labels are summed and unbounded until finish_vertex. */
static tra_vertex *add_vertex(building *b, const tra_node *n, int nlabels, int nrefs) {
    tra_vertex *v = &b->g->v[b->g->nvertices++];
    v->node = n;
    v->nlabels = nlabels;
    v->label_name = tra_news(b->a, const char *, nlabels);
    v->max_parts = tra_news(b->a, int64_t, nlabels);
    v->blocks = tra_news(b->a, int64_t, nlabels);
    v->summed = tra_news(b->a, bool, nlabels);
    for (int l = 0; l < nlabels; l++) v->max_parts[l] = v->blocks[l] = INT64_MAX, v->summed[l] = true;
    v->ref = tra_news(b->a, tra_ein_ref, nrefs);
    for (int d = 0; d < TRA_MAXDIM; d++) v->out.label[d] = -1;
    return v;
}

/* Bounds the parts of each label of a reference by the elements and by the blocks of its relation. */
static void bound_labels(building *b, tra_vertex *v, const tra_ein_ref *r) {
    const tra_ein_rel *x = &b->g->rel[r->rel];
    for (int d = 0; d < x->n; d++) {
        int l = r->label[d];
        if (l < 0) continue;
        v->max_parts[l] = tra_min64(v->max_parts[l], tra_max64(1, x->ext[d]));
        if (x->node) v->blocks[l] = tra_min64(v->blocks[l], tra_max64(1, x->node->type.cat->frontier.v[d]));
    }
}

/* Adds a reference to a relation, whose labels the caller sets. */
static tra_ein_ref *add_ref(tra_vertex *v, int rel) {
    tra_ein_ref *r = &v->ref[v->nrefs++];
    r->rel = rel;
    for (int d = 0; d < TRA_MAXDIM; d++) r->label[d] = -1;
    return r;
}

/* Sets what follows from the references and the result. */
static void finish_vertex(building *b, tra_vertex *v) {
    for (int i = 0; i < v->nrefs; i++) bound_labels(b, v, &v->ref[i]);
    bound_labels(b, v, &v->out);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++)
        if (v->out.label[d] >= 0) v->summed[v->out.label[d]] = false;
    for (int l = 0; l < v->nlabels; l++) v->blocks[l] = tra_min64(v->blocks[l], v->max_parts[l]);
}

/* How often argument i occurs in the expression. */
static int occurrences(const tra_scalar *e, int i) {
    if (e->op == TRA_S_ARG) return e->arg == i;
    return (e->a ? occurrences(e->a, i) : 0) + (e->b ? occurrences(e->b, i) : 0) + (e->c ? occurrences(e->c, i) : 0);
}

/* Adds the vertex of an EinSum statement. */
static void add_statement(building *b, const tra_einsum *s) {
    int nrefs = 0;
    for (int i = 0; i < s->nrefs; i++) nrefs += occurrences(s->expr, i);
    tra_vertex *v = add_vertex(b, s->node, s->nlabels, nrefs);
    memcpy(v->label_name, s->name, (size_t)s->nlabels * sizeof *v->label_name);
    for (int i = 0; i < s->nrefs; i++) {
        for (int times = occurrences(s->expr, i); times > 0; times--) {
            tra_ein_ref *r = add_ref(v, b->g->rel_of[s->ref[i].node->id]);
            for (int d = 0; d < s->ref[i].n; d++) r->label[d] = s->ref[i].label[d];
        }
    }
    v->out.rel = add_rel(b, s->node, b->g->nvertices - 1);
    for (int d = 0; d < s->nout; d++) v->out.label[d] = s->out[d];
    finish_vertex(b, v);
}

/* The name of the label that key dimension k is. */
static const char *key_name(building *b, int k) { return tra_arena_printf(b->a, "k%d", k); }

/* Adds a join, as one vertex with the aggregation that alone consumes it (NULL: there is none). */
static void add_join(building *b, const tra_node *j, const tra_node *agg) {
    const tra_node *n = agg ? agg : j;
    tra_labels x;
    tra_join_labels(j->in[0]->type.cat, j->in[1]->type.cat, &j->join.l, &j->join.r, &x);
    tra_vertex *v = add_vertex(b, n, x.n, 2);
    tra_ein_ref *l = add_ref(v, b->g->rel_of[j->in[0]->id]), *r = add_ref(v, b->g->rel_of[j->in[1]->id]);
    for (int i = 0; i < x.n; i++) { /* labels in the order of the join's output */
        int at = x.v[i].out;
        v->label_name[at] = key_name(b, at);
        if (x.v[i].l >= 0) l->label[(int)x.v[i].l] = at;
        if (x.v[i].r >= 0) r->label[(int)x.v[i].r] = at;
    }
    v->out.rel = add_rel(b, n, b->g->nvertices - 1);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++) v->out.label[d] = agg ? (int)agg->group.v[d] : d;
    finish_vertex(b, v);
}

/* Adds an operator of one input. Its labels are the key dimensions of the input; dimension d of the result has label
 * from[d], -1: none. Label `whole` may not be cut; -1: all may. */
static void add_unary(building *b, const tra_node *n, const int *from, int whole) {
    int in = b->g->rel_of[n->in[0]->id], k = b->g->rel[in].n;
    tra_vertex *v = add_vertex(b, n, k, 1);
    tra_ein_ref *r = add_ref(v, in);
    for (int d = 0; d < k; d++) v->label_name[d] = key_name(b, d), r->label[d] = d;
    v->out.rel = add_rel(b, n, b->g->nvertices - 1);
    for (int d = 0; d < b->g->rel[v->out.rel].n; d++) v->out.label[d] = from[d];
    finish_vertex(b, v);
    if (whole >= 0) v->max_parts[whole] = v->blocks[whole] = 1;
    if (n->op != TRA_OP_AGG) memset(v->summed, 0, (size_t)k * sizeof *v->summed);
}

/* Adds a relation inside a softmax, made by the last vertex: like x, with so many dimensions. Returns its number. */
static int add_inner_rel(tra_eingraph *g, int x, const char *name, int n) {
    g->rel[g->nrels] = g->rel[x];
    g->rel[g->nrels].node = NULL;
    g->rel[g->nrels].name = name;
    g->rel[g->nrels].vertex = g->nvertices - 1;
    g->rel[g->nrels].n = n;
    return g->nrels++;
}

/* Adds a softmax. One kernel computes it, but its four statements are vertices: M = max X, E = exp(X - M), S = sum E,
 * and the result E / S. */
static void add_softmax(building *b, const tra_node *n) {
    static const char *const names[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"};
    static const struct {
        const char *result; /* NULL: that of the softmax */
        bool reduces;       /* over the last dimension; else the second operand is what was reduced before */
    } step[] = {{"max", true}, {"exp", false}, {"sum", true}, {NULL, false}};
    tra_eingraph *g = b->g;
    int x = g->rel_of[n->in[0]->id], rank = g->rel[x].n, operand = x, reduced = -1;
    for (int i = 0; i < 4; i++) {
        tra_vertex *v = add_vertex(b, n, rank, 2);
        int nout = step[i].reduces ? rank - 1 : rank;
        for (int d = 0; d < rank; d++) v->label_name[d] = names[d % 15];
        tra_ein_ref *r = add_ref(v, operand);
        for (int d = 0; d < rank; d++) r->label[d] = d;
        if (!step[i].reduces) {
            r = add_ref(v, reduced);
            for (int d = 0; d < rank - 1; d++) r->label[d] = d;
        }
        v->out.rel = step[i].result ? add_inner_rel(g, x, step[i].result, nout) : add_rel(b, n, g->nvertices - 1);
        for (int d = 0; d < nout; d++) v->out.label[d] = d;
        finish_vertex(b, v);
        v->blocks[rank - 1] = 1; /* the kernel needs the last dimension whole */
        *(step[i].reduces ? &reduced : &operand) = v->out.rel;
    }
}

/* Is the transform a softmax of a tensor in blocks? */
static bool is_softmax(const tra_node *n) {
    return tra_kernel_needs_whole_last(n->kernel) && !tra_kernel_rest(n->kernel) &&
           n->in[0]->type.cat->frontier.n > 0 && tra_type_is_blocked(&n->in[0]->type, NULL);
}

/* Adds what a node outside of statements makes: a vertex, an input, or nothing new. */
static void add_operator(building *b, const tra_node *n) {
    int from[TRA_MAXDIM], k = n->type.cat->frontier.n;
    uint32_t taken = 0;
    for (int d = 0; d < TRA_MAXDIM; d++) from[d] = d;
    switch (n->op) {
    case TRA_OP_INPUT: add_rel(b, n, -1); return;
    case TRA_OP_REPART:
        if (n->slice.origin.n > 0) { /* a part of the tensor, which counts as an input */
            add_rel(b, n, -1);
            return;
        }
        b->g->rel_of[n->id] = b->g->rel_of[n->in[0]->id];
        return;
    case TRA_OP_JOIN: add_join(b, n, NULL); return;
    case TRA_OP_AGG:
        if (b->absorbed[n->in[0]->id]) {
            add_join(b, n->in[0], n);
            return;
        }
        for (int d = 0; d < k; d++) from[d] = (int)n->group.v[d];
        add_unary(b, n, from, -1);
        return;
    case TRA_OP_REKEY:
        for (int d = 0, var; d < k; d++) {
            from[d] = tra_keyexpr_is_var(n->keyfn->expr[d], &var) && !(taken >> var & 1) ? var : -1;
            if (from[d] >= 0) taken |= 1u << var;
        }
        add_unary(b, n, from, -1);
        return;
    case TRA_OP_TRANSFORM:
        if (is_softmax(n))
            add_softmax(b, n);
        else
            add_unary(b, n, from, -1);
        return;
    case TRA_OP_FILTER: add_unary(b, n, from, -1); return;
    case TRA_OP_TILE:
        from[k - 1] = -1;
        add_unary(b, n, from, -1);
        return;
    case TRA_OP_CONCAT:
        for (int d = n->keydim; d < k; d++) from[d] = d + 1;
        add_unary(b, n, from, n->keydim);
        return;
    }
}

/* ---- which nodes make a vertex ------------------------------------------------------------------------------ */

/* Marks the node and the relations that it is computed from: of a statement its references, not the nodes inside. */
static void mark_needed(building *b, const tra_node *n) {
    const tra_einsum *s = b->statement[n->id];
    if (b->needed[n->id]) return;
    b->needed[n->id] = true;
    for (int i = 0; s && i < s->nrefs; i++) mark_needed(b, s->ref[i].node);
    for (int i = 0; !s && i < 2 && n->in[i]; i++) mark_needed(b, n->in[i]);
}

/* Marks the joins that only an aggregation consumes, both of which the program has outside of statements. */
static void absorb_joins(building *b) {
    for (int i = 0; i < b->t->n; i++) {
        const tra_node *n = b->t->v[i], *x = n->in[0];
        if (n->op == TRA_OP_AGG && b->needed[i] && !b->statement[i] && x->op == TRA_OP_JOIN && x->uses == 1 &&
            !b->statement[x->id])
            b->absorbed[x->id] = true;
    }
}

/* Sets the vertex of each node: the vertex that makes it, or, of a node that is no relation, that of a consumer. */
static void set_vertices(tra_eingraph *g, const tra_graph *t) {
    for (int i = 0; i < t->n; i++) g->vertex_of[i] = g->rel_of[i] >= 0 ? g->rel[g->rel_of[i]].vertex : -1;
    for (int i = t->n - 1; i >= 0; i--) {
        for (int j = 0; g->vertex_of[i] >= 0 && j < 2 && t->v[i]->in[j]; j++) {
            int in = t->v[i]->in[j]->id;
            if (g->rel_of[in] < 0 && g->vertex_of[in] < 0) g->vertex_of[in] = g->vertex_of[i];
        }
    }
}

static void count_consumers(tra_eingraph *g) {
    int *counted = tra_news(g->arena, int, g->nvertices); /* for each vertex its last consumer so far, from 1 */
    for (int v = 0; v < g->nvertices; v++) {
        for (int i = 0; i < g->v[v].nrefs; i++) {
            int u = g->rel[g->v[v].ref[i].rel].vertex;
            if (u < 0 || counted[u] == v + 1) continue;
            counted[u] = v + 1;
            g->consumers[u]++;
        }
    }
}

tra_eingraph *tra_eingraph_build(const tra_graph *t, tra_arena *a) {
    tra_eingraph *g = tra_new(a, tra_eingraph);
    building b = {.g = g, .t = t, .a = a};
    *g = (tra_eingraph){.arena = a};
    g->rel = tra_news(a, tra_ein_rel, 4 * t->n + 1); /* a softmax has four of both */
    g->v = tra_news(a, tra_vertex, 4 * t->n + 1);
    g->rel_of = tra_news(a, int, t->n);
    g->vertex_of = tra_news(a, int, t->n);
    b.needed = tra_news(a, bool, t->n);
    b.absorbed = tra_news(a, bool, t->n);
    b.statement = tra_news(a, const tra_einsum *, t->n);
    for (int i = 0; i < t->neinsums; i++) b.statement[t->einsums[i]->node->id] = t->einsums[i];
    for (int i = 0; i < t->noutputs; i++) mark_needed(&b, tra_output_root(&t->outputs[i]));
    absorb_joins(&b);
    for (int i = 0; i < t->n; i++) {
        g->rel_of[i] = -1;
        if (!b.needed[i] || b.absorbed[i]) continue;
        if (b.statement[i])
            add_statement(&b, b.statement[i]);
        else
            add_operator(&b, t->v[i]);
    }
    set_vertices(g, t);
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
        tra_str_printf(out, "%s%s", d ? "," : "", r->label[d] < 0 ? "." : v->label_name[r->label[d]]);
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
