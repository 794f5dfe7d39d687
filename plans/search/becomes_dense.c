/* becomes_dense.c - which statement makes a sparse operand dense: what is said when memory is short. */
#include "search.h"

#include "../../lib/kernel/kernel.h"

/* Bytes that the operator takes to hold the elements of operand i, or of its own result, densely; 0: it does not. */
static double dense_bytes(const tra_node *n, int i) {
    const tra_type *in = &n->in[i]->type, *r = n->in[1] ? &n->in[1]->type : NULL;
    bool join = n->op == TRA_OP_JOIN;
    double whole = (double)tra_dense_bytes(in->dtype, &in->cat->bound);
    if (!in->sparse || !in->layout || !n->kernel || !(join || n->op == TRA_OP_TRANSFORM)) return 0;
    double result = n->type.layout ? 0 : (double)tra_type_bytes_all(&n->type).bound;
    const tra_type *l = &n->in[0]->type;
    double scratch = (double)tra_cell_scratch(n->kernel, join ? TRA_USE_JOIN : TRA_USE_MAP, l, &l->cat->bound,
                                              join ? r : NULL, join ? &r->cat->bound : NULL, n->type.layout);
    double held = 4 * (double)tra_type_bytes_all(in).expected;
    enum { MOST = 4 }; /* a result with a fourth of the elements, as half of each row for a median, is as dense */
    if (result > held && MOST * result >= (double)tra_dense_bytes(n->type.dtype, &in->cat->bound)) return result;
    return scratch >= whole && whole > held / (double)in->cat->n ? scratch : 0;
}

const char *tra_becomes_dense(const tra_graph *g, tra_arena *a) {
    const tra_node *found = NULL, *operand = NULL;
    double most = 1 << 20;
    char size[32];
    for (int k = 0; k < g->n; k++) {
        for (int i = 0; i < 2 && g->v[k]->in[i]; i++) {
            double bytes = dense_bytes(g->v[k], i);
            if (bytes <= most) continue;
            most = bytes;
            found = g->v[k];
            operand = found->in[i];
        }
    }
    if (!found) return "";
    while (!operand->name && operand->in[0]) operand = operand->in[0];
    const char *name = operand->name ? operand->name : "an operand", *text = tra_node_text(a, found);
    if (found->span.len > 0 && found->span.at + found->span.len <= g->src->n)
        text = tra_arena_printf(a, "'%.*s'", found->span.len, g->src->text + found->span.at);
    return tra_arena_printf(a,
                            "; %s is sparse and becomes dense, %s, in %s, which is not 0 where %s is; times (%s != 0), "
                            "or as if(%s != 0, ..., 0), it has the entries of %s alone",
                            name, tra_human((int64_t)(most < 9e18 ? most : 9e18), size), text, name, name, name, name);
}
