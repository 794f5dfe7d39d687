/* graph_valid.h - the check that a graph keeps the rules of plans/tra/tra.h. */
#ifndef TRA_GRAPH_VALID_H
#define TRA_GRAPH_VALID_H

#include "../../plans/tra/tra.h"

static const int graph_arities[] = {
#define X(name, arity, text) [TRA_OP_##name] = arity,
    TRA_OPS(X)
#undef X
};

/* Does the list hold different key dimensions below k? */
static bool list_valid(const tra_dims *l, int k) {
    uint32_t seen = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->v[i] < 0 || l->v[i] >= k || (seen >> l->v[i] & 1)) return false;
        seen |= 1u << l->v[i];
    }
    return true;
}

static bool type_valid(const tra_type *t, const char **why) {
    const tra_catalog *c = t->cat;
    if (!c) return *why = "a node has no catalog", false;
    if (c->frontier.n + c->bound.n > TRA_MAXDIM) return *why = "key arity and rank are too many dimensions", false;
    for (int a = 0; a < TRA_MAXDIM; a++)
        if (a < c->bound.n ? (t->cut[a] >> c->frontier.n) != 0 : t->cut[a] != 0)
            return *why = "a dimension is cut by a key that there is not", false;
    return true;
}

static bool node_valid(const tra_node *n, const char **why) {
    for (int i = 0; i < 2; i++) {
        if ((i < graph_arities[n->op]) != (n->in[i] != NULL))
            return *why = "an operator has the wrong number of inputs", false;
        if (n->in[i] && n->in[i]->id >= n->id) return *why = "an operator stands before its input", false;
    }
    if (!type_valid(&n->type, why)) return false;
    bool kernel = n->op == TRA_OP_JOIN || n->op == TRA_OP_AGG || n->op == TRA_OP_TRANSFORM;
    bool keyfn = n->op == TRA_OP_REKEY || n->op == TRA_OP_FILTER;
    if (kernel != (n->kernel != NULL)) return *why = "an operator lacks its kernel, or has one it does not use", false;
    if (keyfn != (n->keyfn != NULL)) return *why = "an operator lacks its key function, or has one too many", false;
    const tra_catalog *x = n->in[0] ? n->in[0]->type.cat : NULL, *y = n->in[1] ? n->in[1]->type.cat : NULL;
    bool ok = true;
    switch (n->op) {
    case TRA_OP_INPUT:
        ok =
            (n->input.path != NULL) == (n->input.rel != NULL) && list_valid(&n->input.at_dims, n->type.cat->frontier.n);
        break;
    case TRA_OP_JOIN:
        ok = n->join.l.n == n->join.r.n && list_valid(&n->join.l, x->frontier.n) &&
             list_valid(&n->join.r, y->frontier.n);
        break;
    case TRA_OP_AGG: ok = list_valid(&n->group, x->frontier.n); break;
    case TRA_OP_REKEY: ok = n->keyfn->arity == x->frontier.n && n->keyfn->n == n->type.cat->frontier.n; break;
    case TRA_OP_FILTER: ok = n->keyfn->arity == x->frontier.n && n->keyfn->n == 1; break;
    case TRA_OP_TRANSFORM: break;
    case TRA_OP_TILE: ok = n->dim >= 0 && n->dim < x->bound.n && n->size > 0; break;
    case TRA_OP_CONCAT: ok = n->dim >= 0 && n->dim < x->bound.n && n->keydim >= 0 && n->keydim < x->frontier.n; break;
    case TRA_OP_REPART: ok = n->block.n == x->bound.n; break;
    }
    if (!ok) *why = "the arguments of an operator do not fit its inputs";
    return ok;
}

/* Does the graph keep the rules of tra.h? If it does not, *why gets the first that is broken. */
static bool graph_valid(const tra_graph *g, const char **why) {
    const char *dummy;
    if (!why) why = &dummy;
    int *uses = tra_news(g->arena, int, g->n);
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (n->id != i) return *why = "a node's id is not its position", false;
        if (!node_valid(n, why)) return false;
        for (int j = 0; j < 2; j++) {
            if (!n->in[j]) continue;
            if (g->v[n->in[j]->id] != n->in[j]) return *why = "an input is a node of another graph", false;
            uses[n->in[j]->id]++;
        }
    }
    for (int i = 0; i < g->noutputs; i++) {
        const tra_node *n = g->outputs[i].node;
        if (n->id >= g->n || g->v[n->id] != n) return *why = "an output is a node of another graph", false;
        uses[n->id]++;
    }
    for (int i = 0; i < g->n; i++)
        if (uses[i] != g->v[i]->uses) return *why = "a node's uses are miscounted", false;
    return true;
}

#endif
