/* compiled.c - the kernels of a plan that can be compiled. */
#include "compiled.h"

tra_generated tra_op_generated(const tra_plan *p, const tra_op *op) {
    if (op->op != TRA_PLAN_JOIN && op->op != TRA_PLAN_JOINAGG) return TRA_GENERATED_NONE;
    const tra_type *a = &p->ops[op->in[0]].type, *b = &p->ops[op->in[1]].type;
    return tra_generated_of(op->what.join, a, &a->cat->bound, b, &b->cat->bound, &op->type);
}

static tra_status make(const bool *wanted, tra_codegen *g, bool compile, tra_err *e) {
    for (int i = 0; i < TRA_GENERATED_NONE; i++)
        if (wanted[i]) TRA_TRY(tra_generated_make(g, (tra_generated)i, compile, e));
    return TRA_OK;
}

tra_status tra_compiled_begin(const tra_plan *p, const tra_comm *comm, tra_codegen_mode mode, tra_codegen **g,
                              tra_err *e) {
    bool wanted[TRA_GENERATED_NONE + 1] = {false}, any = false;
    *g = NULL;
    for (int i = 0; i < p->nops; i++) wanted[tra_op_generated(p, &p->ops[i])] = true;
    for (int i = 0; i < TRA_GENERATED_NONE; i++) any = any || wanted[i];
    if (!any || mode == TRA_CODEGEN_OFF) return TRA_OK;
    *g = tra_codegen_open(mode);
    tra_comm node = tra_comm_node(comm);
    bool first = node.rank == 0;
    tra_comm_free(&node);
    tra_status s = first ? make(wanted, *g, true, e) : TRA_OK;
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK && !first) s = make(wanted, *g, false, e);
    return tra_comm_agree(comm, s, e);
}

void tra_compiled_end(tra_codegen *g) {
    tra_generated_end();
    tra_codegen_close(g);
}
