/* labels.c - what the positions along the dimensions of nodes stand for (lib/model/labels.h), and what dimensions
 * are called. */
#include <string.h>

#include "build.h"

/* ---- labels of nodes ---------------------------------------------------------------------------------------- */

const tra_dim_labels *tra_labels_of_dim(const tra_node *n, int d) { return n->labels ? n->labels[d] : NULL; }

/* Does a concat leave the positions along dimension d as they are? The key that it removes must cut no other dimension
 * than the one along which it puts pieces together, and be the last that cuts this one. */
static bool concat_keeps_positions(const tra_node *concat, int d) {
    uint32_t cut = concat->in[0]->type.cut[d], key = 1u << concat->keydim;
    return d == concat->dim ? (cut & key) && cut < 2 * key : !(cut & key);
}

/* Are the positions along dimension d those of the input, if the operator changes keys? */
static bool keeps_positions(const tra_node *n, int d) {
    if (n->op == TRA_OP_CONCAT) return concat_keeps_positions(n, d);
    if (n->op != TRA_OP_REKEY || !n->type.cut[d]) return true;
    for (int i = 0; i < n->keyfn->n; i++)
        if (n->keyfn->expr[i]->op != TRA_KEY_VAR) return false;
    return true;
}

/* The labels l of dimension d of the input as those of the result: of a repartition that takes a part of the dimension,
 * the labels of that part, or NULL if it goes beyond the dimension. */
static const tra_dim_labels *labels_of_part(tra_build *b, const tra_node *n, int d, const tra_dim_labels *l) {
    if (!l || n->op != TRA_OP_REPART || n->slice.origin.n == 0) return l;
    int64_t from = n->slice.origin.v[d], extent = n->slice.extent.v[d];
    if (from == 0 && extent == l->n) return l;
    return from >= 0 && extent <= l->n - from ? tra_dim_labels_part(b->arena, l, from, extent) : NULL;
}

/* Finds the dimension of an operand that each dimension of the result comes from: d of the left one, 32 + d of the
 * right one, or -1. False if none has the positions of the result. */
static bool find_sources(const tra_node *n, tra_dimsrc *src) {
    const tra_dims *x = &n->in[0]->type.cat->bound, *y = n->in[1] ? &n->in[1]->type.cat->bound : NULL;
    tra_dims out;
    bool known = true;
    for (int d = 0; d < TRA_MAXDIM; d++) src->from[d] = (int8_t)d;
    switch (n->op) {
    case TRA_OP_JOIN: known = tra_kernel_shape2(n->kernel, x, y, x, y, &out, src, NULL) == TRA_OK; break;
    case TRA_OP_AGG: known = tra_kernel_shape_agg(n->kernel, x, &out, src, NULL) == TRA_OK; break;
    case TRA_OP_TRANSFORM: known = tra_kernel_shape1(n->kernel, x, &out, src, NULL) == TRA_OK; break;
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART: break;
    }
    return known && (!n->kernel || tra_kernel_keeps_places(n->kernel));
}

void tra_carry_labels(tra_build *b, tra_node *n) {
    const tra_node *l = n->in[0], *r = n->in[1];
    const char *why;
    tra_dimsrc src;
    bool known = l && (l->labels || l->order || (r && (r->labels || r->order)));
    if (n->labels || n->order || n->type.columns || !known) return;
    /* pieces of a tensor carry the labels of the whole, which a concat then has again */
    bool pieces = n->op == TRA_OP_TILE || n->op == TRA_OP_CONCAT, tensor = tra_type_is_tensor(&n->type, &why);
    if ((!tensor && !pieces) || !find_sources(n, &src)) return;
    tra_dims shape = n->type.cat->bound;
    if (tensor) tra_type_shape(&n->type, &shape);
    for (int d = 0; d < shape.n; d++) {
        const tra_node *from = src.from[d] >= 32 ? r : src.from[d] >= 0 ? l : NULL;
        if (!from || !keeps_positions(n, d)) continue;
        const tra_dim_labels *own = labels_of_part(b, n, d, tra_labels_of_dim(from, src.from[d] % 32));
        if (own && tensor && own->n != shape.v[d] && !(n->type.bounded >> d & 1)) own = NULL;
        const tra_dim_order *order = tra_order_of_dim(from, src.from[d] % 32);
        if (own || order) tra_set_dim(b, n, d, own, order);
    }
}

/* ---- what a dimension is called ----------------------------------------------------------------------------- */

/* The name that dimension d has in the EinSum statement whose result the node is; NULL: there is none. */
static const char *statement_label(const tra_node *n, int d) {
    if (n->op == TRA_OP_TRANSFORM && n->converts) n = n->in[0]; /* the same elements, held in another layout */
    const tra_einsum *s = tra_statement_of(n);
    return s ? s->name[s->out[d]] : NULL;
}

/* Is names[d] also the name of the values, or of a dimension before d? */
static bool is_taken(int d, const char *const *names) {
    bool taken = strcmp(names[d], "value") == 0;
    for (int i = 0; i < d; i++) taken = taken || strcmp(names[i], names[d]) == 0;
    return taken;
}

void tra_name_dimensions(const tra_build *b, const tra_node *n, int rank, const char **names) {
    for (int d = 0; d < rank; d++) {
        const tra_dim_labels *l = tra_labels_of_dim(n, d);
        names[d] = statement_label(n, d);
        if (!names[d] && l) names[d] = l->name;
        for (int i = d; !names[d] || is_taken(d, names); i++) names[d] = tra_arena_printf(b->arena, "i%d", i);
    }
}

const tra_dim_labels *const *tra_labels_of_output(tra_build *b, const tra_node *n) {
    const char *names[TRA_MAXDIM];
    if (!n->labels) return NULL;
    int rank = n->type.cat->bound.n;
    const tra_dim_labels **labels = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
    tra_name_dimensions(b, n, rank, names);
    for (int d = 0; d < rank; d++) {
        const tra_dim_labels *l = n->labels[d];
        const tra_dim_order *order = tra_order_of_dim(n, d);
        bool keys = order && order->by == TRA_ORDER_KEYS;
        if (l) labels[d] = tra_dim_labels_named(b->arena, l, l->of_file ? l->name : names[d], keys);
    }
    return labels;
}
