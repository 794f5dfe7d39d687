/* variants.c - the variants of a group: the operators that make its relation, and the memory that each takes. */
#include "search_int.h"
#include "../../lib/physical/needs.h"

#include <stdlib.h>
#include <string.h>

/* Relations that take as many bytes as this on all sites, or more, are not planned: so sums of such figures, with what
 * tuples take besides, fit an int64_t. */
#define COUNTABLE ((int64_t)1 << TRA_COUNTABLE_BITS)

bool tra_countable(const search *s, const tra_type *t) {
    enum { TUPLE = 256 }; /* bytes that a tuple takes besides its array */
    int64_t array, all;
    if (!tra_dims_product(&t->cat->bound, &array)) return false;
    all = tra_add_most(tra_type_bytes_of(t, tra_mul_most(array, t->cat->n)).bound, tra_mul_most(t->cat->n, TUPLE));
    return tra_mul_most(all, s->o->sites) < COUNTABLE;
}

static tra_status summand_type(search *s, variant *f, tra_err *e) {
    tra_node local = f->x->node;
    const char *warn;
    local.kernel = tra_kernel_first(local.kernel);
    TRA_TRY(tra_node_type(s->a, &local, &warn, e));
    local.type.dtype = tra_agg_state_dtype(f->x->node.kernel, f->x->node.in[0]->type.dtype);
    /* a contraction that BLAS accumulates has its sums, and so its summands, in the type of its operands */
    const tra_node *j = f->join ? &f->join->node : NULL;
    bool same = j && j->in[0]->type.dtype == j->in[1]->type.dtype;
    if (same && tra_kernel_fuses(j->kernel, local.kernel)) local.type.dtype = j->type.dtype;
    if (!local.type.bounded) local.type.layout = NULL; /* what sums are made in */
    f->summand = local.type;
    s->summands[f->x->node.id] = local.type;
    return TRA_OK;
}

/* Bytes of blocks that an operator needs over relations of these types: the least, which is for panels of a result that
 * one output (NULL: none) may write in panels. */
static int64_t bytes_of(const search *s, const tra_output *output, tra_op op, const tra_type *l, const tra_type *r) {
    tra_op v[3] = {{.op = TRA_PLAN_INPUT, .in = {-1, -1}, .type = *l}, {.op = TRA_PLAN_INPUT, .in = {-1, -1}}, op};
    if (r) v[1].type = *r;
    v[2].in[0] = 0;
    v[2].in[1] = r ? 1 : -1;
    tra_plan p = {.sites = s->o->sites, .compress = s->o->compress, .nops = 3, .ops = v, .panels = output};
    tra_op to = {.op = TRA_PLAN_OUTPUT, .in = {2, -1}, .type = op.type};
    if (output) to.spec.levels = output->turned ? &output->turned->levels : output->stored.levels;
    v[2].method.panel = output ? tra_op_panel(&p, &v[2], &to) : 0;
    return tra_op_memory(&p, &v[2], s->o->threads);
}

static int64_t move_bytes(const search *s, const tra_type *t) {
    return bytes_of(s, NULL, (tra_op){.op = TRA_PLAN_SHUF, .type = *t}, t, NULL);
}

static void set_memory(const search *s, const group *g, variant *f) {
    const tra_output *to = g->outputs.n > 0 ? &s->m->g->outputs[g->outputs.v[0]] : NULL;
    const tra_node *n = &f->x->node, *j = f->join ? &f->join->node : NULL;
    tra_op op = {.op = tra_operator_of(n->op), .type = n->type, .spec.keydim = n->keydim}, join = {.op = TRA_PLAN_JOIN};
    if (tra_op_is(op.op, TRA_FILE | TRA_RENAMES)) return; /* computed by whoever reads */
    if (j) {
        join.type = j->type;
        op.spec.join = join.spec.join = j->kernel;
        op.spec.joinl = join.spec.joinl = j->join.l;
        op.spec.joinr = join.spec.joinr = j->join.r;
    }
    if (n->op == TRA_OP_JOIN) {
        f->memory[0] = bytes_of(s, to, join, &j->in[0]->type, &j->in[1]->type);
        return;
    }
    if (n->op == TRA_OP_TRANSFORM) op.spec.map = n->kernel;
    if (n->op != TRA_OP_AGG) {
        f->memory[0] = bytes_of(s, to, op, &n->in[0]->type, NULL);
        return;
    }
    if (j) op.op = TRA_PLAN_JOINAGG;
    op.spec.agg = n->kernel;
    op.spec.group = n->group;
    op.spec.triangle = f->triangle;
    const tra_type *l = j ? &j->in[0]->type : &n->in[0]->type, *r = j ? &j->in[1]->type : NULL;
    tra_op local = op, merge = {.op = TRA_PLAN_MERGE, .type = n->type, .spec.agg = n->kernel}, agg_only = op;
    local.type = f->summand;
    local.spec.partial = true;
    if (!merge.type.bounded) merge.type.layout = NULL;
    agg_only.op = TRA_PLAN_AGG; /* of what the join made */
    agg_only.spec.join = NULL;
    agg_only.spec.triangle = false;
    f->memory[0] = bytes_of(s, to, op, l, r);
    f->memory[1] = tra_max64(bytes_of(s, NULL, local, l, r),
                             tra_max64(move_bytes(s, &f->summand), bytes_of(s, NULL, merge, &f->summand, NULL)));
    if (j)
        f->memory[2] = tra_max64(bytes_of(s, NULL, join, l, r),
                                 tra_max64(move_bytes(s, &j->type), bytes_of(s, to, agg_only, &j->type, NULL)));
}

/* Sets f->triangle: is it the aggregation of a product of a dense relation with itself, whose result is symmetric? The
 * answer follows from the program's relations and kernels alone, so that a result has the same bits wherever it is
 * computed. */
static void find_triangle(variant *f) {
    const tra_node *n = &f->x->node, *j = &f->join->node;
    const tra_type *t = &j->in[0]->type;
    if (f->in[0] != f->in[1] || t->layout || j->in[1]->type.layout || j->type.layout || n->type.layout) return;
    f->triangle =
        tra_mirror_of(j->kernel, n->kernel, t->cat->frontier.n, &j->join.l, &j->join.r, &n->group, &f->mirror);
}

static tra_status add_variant(search *s, group *g, const tra_expr *x, const tra_expr *join, tra_err *e) {
    const tra_expr *source = join ? join : x;
    variant *f = &g->f[g->nvariants];
    *f = (variant){.x = x, .join = join, .in = {-1, -1}};
    for (int i = 0; i < 2 && source->in[i] >= 0; i++) f->in[i] = s->at[source->in[i]];
    if (!tra_countable(s, &x->node.type)) return TRA_OK;
    if (x->node.op == TRA_OP_AGG) TRA_TRY(summand_type(s, f, e));
    if (join && join != x) {
        for (int d = 0; d < join->node.type.cat->frontier.n; d++) f->later |= 1u << d;
        for (int i = 0; i < x->node.group.n; i++) f->later &= ~(1u << x->node.group.v[i]);
        find_triangle(f);
    }
    if (s->o->memory > 0) set_memory(s, g, f);
    g->nvariants++;
    return TRA_OK;
}

tra_status tra_search_add_variants(search *s, int at, const bool *skip, tra_err *e) {
    group *g = &s->group[at];
    const tra_memo_group *of = &s->m->group[g->canonical];
    int most = 0;
    for (int i = 0; i < of->n; i++) {
        const tra_expr *x = s->m->v[of->expr[i]];
        most += 1 + (x->node.op == TRA_OP_AGG ? s->m->group[x->in[0]].n : 0);
    }
    g->f = tra_news(s->work, variant, most);
    g->node = &s->m->v[of->expr[0]]->node;
    if (s->o->memory > 0 && tra_countable(s, &g->node->type)) g->move_memory = move_bytes(s, &g->node->type);
    for (int i = 0; i < of->n; i++) {
        const tra_expr *x = s->m->v[of->expr[i]];
        if (skip[of->expr[i]]) continue;
        TRA_TRY(add_variant(s, g, x, x->node.op == TRA_OP_JOIN ? x : NULL, e));
        if (x->node.op != TRA_OP_AGG || tra_kernel_needs_tensor(x->node.kernel)) continue;
        const tra_memo_group *in = &s->m->group[x->in[0]];
        for (int j = 0; j < in->n; j++) {
            const tra_expr *y = s->m->v[in->expr[j]];
            if (y->node.op == TRA_OP_JOIN && !skip[in->expr[j]]) TRA_TRY(add_variant(s, g, x, y, e));
        }
    }
    return TRA_OK;
}
