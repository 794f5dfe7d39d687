/* compiled.c - the kernels of a plan that can be compiled. */
#include "compiled.h"

#include "../kernel/program.h"
#include "../model/rows.h"

/* The program of the calculus that its join runs by a kernel of lib/codegen. */
static const tra_kernel *program_of(const tra_op *op) {
    bool join = op->op == TRA_PLAN_JOIN || op->op == TRA_PLAN_JOINAGG;
    return join && tra_program_calls(op->spec.join) ? op->spec.join : NULL;
}

/* How its join's results are held: terms of a dense sum are dense. */
static const tra_layout *held_as(const tra_op *op) {
    return op->spec.agg && !tra_op_grows(op) ? NULL : op->type.layout;
}

bool tra_op_compiles(const tra_op *op) { return program_of(op) && tra_program_compiles(program_of(op)); }

tra_status tra_op_source(const tra_plan *p, const tra_op *op, tra_str *plan, tra_str *c, tra_err *e) {
    return tra_program_source(program_of(op), &p->ops[op->in[0]].type, &p->ops[op->in[1]].type, held_as(op), plan, c,
                              e);
}

/* An array of that type, of the largest extents. */
static tra_cell cell_of(const tra_type *t) {
    return (tra_cell){.layout = t->layout, .sparse = t->sparse, .array = {t->dtype, t->cat->bound, NULL}};
}

/* How the terms of an aggregation come to its state, as tra_cell_merge and tra_cell_fold have it. */
static tra_impl folded_by(const tra_type *term, const tra_op *op) {
    if (tra_kernel_rows(op->spec.agg)) return TRA_IMPL_TABLE;
    if (op->type.layout == &tra_rows) return TRA_IMPL_MERGE;
    return term->layout == &tra_rows ? TRA_IMPL_ENTRIES : TRA_IMPL_FOLDED;
}

int tra_op_choose(const tra_plan *p, const tra_op *op, tra_impl ways[TRA_MOST_IMPLS]) {
    const tra_kernel *k = op->op == TRA_PLAN_MAP ? op->spec.map : op->spec.join;
    if (op->op == TRA_PLAN_AGG) return ways[0] = folded_by(&p->ops[op->in[0]].type, op), 1;
    bool joins = op->op == TRA_PLAN_JOIN || op->op == TRA_PLAN_JOINAGG;
    if (!k || (!joins && op->op != TRA_PLAN_MAP)) return 0;
    tra_cell a = cell_of(&p->ops[op->in[0]].type), b = joins ? cell_of(&p->ops[op->in[1]].type) : a;
    tra_cell out = {.layout = joins ? held_as(op) : op->type.layout, .sparse = op->type.sparse};
    const tra_dims *x = &a.array.ext, *y = &b.array.ext;
    tra_err none = {0};
    tra_status s = joins ? tra_kernel_shape2(k, x, y, x, y, &out.array.ext, NULL, &none)
                         : tra_kernel_shape1(k, x, &out.array.ext, NULL, &none);
    if (s != TRA_OK) return 0; /* of arrays that do not meet */
    out.array.dtype = tra_kernel_dtype(k, joins ? TRA_USE_JOIN : TRA_USE_MAP, a.array.dtype, b.array.dtype);
    return tra_choose(k, &a, joins ? &b : NULL, &out, op->op == TRA_PLAN_JOINAGG && tra_op_accumulates(p, op), ways);
}

static tra_status make(const tra_plan *p, tra_kernel_run *run, tra_codegen *g, bool compile, tra_err *e) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (!program_of(op)) continue;
        TRA_TRY(tra_program_make(run, g, program_of(op), &p->ops[op->in[0]].type, &p->ops[op->in[1]].type, held_as(op),
                                 compile, e));
    }
    return TRA_OK;
}

tra_status tra_compiled_begin(const tra_plan *p, const tra_comm *comm, tra_codegen_mode mode, tra_kernel_run *run,
                              tra_codegen **g, tra_err *e) {
    bool any = false;
    *g = NULL;
    for (int i = 0; i < p->nops; i++) any = any || program_of(&p->ops[i]);
    if (!any) return TRA_OK;
    *g = tra_codegen_open(mode);
    tra_comm node = tra_comm_node(comm);
    bool first = node.rank == 0;
    tra_comm_free(&node);
    tra_status s = first ? make(p, run, *g, true, e) : TRA_OK;
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK && !first) s = make(p, run, *g, false, e);
    return tra_comm_agree(comm, s, e);
}
