/* compiled.c - the kernels of a plan that can be compiled. */
#include "compiled.h"

#include "../kernel/program.h"

/* The program of the calculus that its join runs by a kernel of lib/codegen. */
static const tra_kernel *program_of(const tra_op *op) {
    bool join = op->op == TRA_PLAN_JOIN || op->op == TRA_PLAN_JOINAGG;
    return join && tra_program_calls(op->what.join) ? op->what.join : NULL;
}

/* How its join's results are held: terms of a dense sum are dense. */
static const tra_layout *held_as(const tra_op *op) {
    return op->what.agg && !tra_op_grows(op) ? NULL : op->type.layout;
}

bool tra_op_compiles(const tra_op *op) { return program_of(op) && tra_program_compiles(program_of(op)); }

tra_status tra_op_source(const tra_plan *p, const tra_op *op, tra_str *plan, tra_str *c, tra_err *e) {
    return tra_program_source(program_of(op), &p->ops[op->in[0]].type, &p->ops[op->in[1]].type, held_as(op), plan, c,
                              e);
}

static tra_status make(const tra_plan *p, tra_kernel_run *run, tra_codegen *g, bool compile, tra_err *e) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (!program_of(op)) continue;
        TRA_TRY(tra_program_make(run, g, program_of(op), &p->ops[op->in[0]].type, &p->ops[op->in[1]].type,
                                 held_as(op), compile, e));
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
