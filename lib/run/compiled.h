/* compiled.h - how the kernels of a plan run; those that can be compiled, made before anything runs. Private to lib/run
 * and to those who explain plans. */
#ifndef TRA_COMPILED_H
#define TRA_COMPILED_H

#include "../kernel/program.h"
#include "../physical/plan.h"
#include "comm.h"

/* How the operator's join or map computes arrays of the largest extents: tra_choose. 0: it has neither. */
int tra_op_choose(const tra_plan *p, const tra_op *op, tra_impl ways[TRA_MOST_IMPLS]);
/* Is what the operator's join computes a program of the calculus that can be compiled? */
bool tra_op_compiles(const tra_op *op);
/* Of one that is: the physical plan in the calculus, and its C. TRA_PROGRAM where it has none, and is interpreted. */
TRA_MUSTUSE tra_status tra_op_source(const tra_plan *p, const tra_op *op, tra_str *plan, tra_str *c, tra_err *e);

/* Collective: one rank of each host compiles what is not in the folder of compiled kernels yet, then all load it, for
 * the run. *g is NULL where the plan has no such kernels; tra_program_forget(run), then tra_codegen_close end it. With
 * TRA_CODEGEN_REQUIRE what cannot be compiled is TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_compiled_begin(const tra_plan *p, const tra_comm *comm, tra_codegen_mode mode,
                                          tra_kernel_run *run, tra_codegen **g, tra_err *e);

#endif
