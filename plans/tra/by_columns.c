/* by_columns.c - outputs that are stored by columns (csc) and cost less when their transpose is computed: its rows are
 * what the file has one after the other, so that nothing is put in order when it is written. */
#include "build.h"

#include "../../lib/model/rows.h"

static bool is_by_columns(const tra_node *n);

/* Is a product of entries made by columns as cheaply as by rows? Operands by rows are put in order for each block of
 * the result, so that of several blocks it is not. */
static bool is_product_by_columns(const tra_node *join, const tra_type *result) {
    const tra_node *l = join->in[0], *r = join->in[1];
    if (!l->type.layout || !r->type.layout) return false;
    return result->cat->n == 1 || (is_by_columns(l) && is_by_columns(r));
}

/* A vector or a number, which is by rows what it is by columns. */
static bool is_line(const tra_node *n) { return !n->type.layout && n->type.cat->bound.n < 2; }

/* Is a product of two such operands, or what is read by columns, computed as cheaply by columns as by rows? */
static bool is_by_columns(const tra_node *n) {
    const tra_node *l = n->in[0], *r = n->in[1];
    tra_product p;
    int from[TRA_MAXDIM];
    if (n->type.layout != &tra_rows || n->type.cat->bound.n != 2) return false;
    switch (n->op) {
    case TRA_OP_INPUT: return n->input.rel && tra_rel_transposed(n->input.rel);
    case TRA_OP_TRANSFORM:
        if (tra_kernel_rest(n->kernel)) return false;
        if (tra_kernel_permutes(n->kernel, 2, from) && from[0] == 1)
            return l->op == TRA_OP_INPUT && l->input.rel && l->type.layout == &tra_rows &&
                   !tra_rel_transposed(l->input.rel);
        return tra_kernel_props(n->kernel) & TRA_P_ELEMENTWISE && is_by_columns(l);
    case TRA_OP_JOIN:
        if (tra_kernel_props(n->kernel) & TRA_P_CONTRACTION) return is_product_by_columns(n, &n->type);
        return (is_by_columns(l) || is_line(l)) && (is_by_columns(r) || is_line(r));
    case TRA_OP_AGG:
        return !tra_kernel_rest(n->kernel) && l->op == TRA_OP_JOIN && is_product_by_columns(l, &n->type) &&
               tra_kernel_multiplies(l->kernel, &l->in[0]->type.cat->bound, &l->in[1]->type.cat->bound, &p);
    case TRA_OP_REPART:
    case TRA_OP_REKEY: return is_by_columns(l);
    default: return false;
    }
}

void tra_build_turned(tra_build *b, tra_output *o, tra_span span) {
    const tra_levels *l = o->stored.levels;
    const tra_type *t = &o->node->type;
    if (!l || l->n != 2 || l->order[0] != 1 || l->kind[1] == TRA_LEVEL_DENSE || t->bounded || !t->cat->grid) return;
    if (!is_by_columns(o->node)) return;
    const tra_dims turned = {.n = 2, .v = {t->cat->bound.v[1], t->cat->bound.v[0]}};
    tra_node fields = {.in = {(tra_node *)(uintptr_t)o->node}};
    tra_err none = {0};
    if (!tra_rows_can(&turned) || tra_kernel_einsum(b->arena, "ij->ji", &fields.kernel, &none) != TRA_OK) return;
    tra_node *n = tra_build_made(b, TRA_OP_TRANSFORM, span, &fields);
    if (!n || n->type.layout != &tra_rows) return;
    tra_turned_levels *to = tra_new(b->arena, tra_turned_levels);
    *to = (tra_turned_levels){.levels = *l, .file_levels = l, .file_type = t};
    to->levels.order[0] = 0, to->levels.order[1] = 1;
    n->uses++;
    o->transpose = n;
    o->turned = to;
}
