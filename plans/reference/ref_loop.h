/* ref_loop.h - programs of the reference evaluator: nodes in their order, and loops as their bodies written out.
 * Private to plans/reference. */
#ifndef TRA_REF_LOOP_H
#define TRA_REF_LOOP_H

#include "ref_table.h"

typedef struct ref_evaluation {
    const tra_graph *g;
    tra_arena *a;
    const tra_ref_rel **v;      /* the result of each node so far; NULL: none */
    bool *need;                 /* does an output need it? */
    const tra_einsum **defined; /* by the node that has the result: what defines it; NULL: the node itself */
    const tra_tensor **tensor;
    const tra_table_op **table;
    int64_t *turn; /* of each loop, from 0 */
} ref_evaluation;

/* The number of the loop's turn among all `count` turns that it has in those of the loops around it. */
int64_t ref_turn_number(const ref_evaluation *x, int loop, int64_t count);
/* Evaluates node i, if it is needed and no leaf of a loop (reference.c). */
TRA_MUSTUSE tra_status ref_evaluate(ref_evaluation *x, int i, tra_err *e);
/* Evaluates the nodes from..to - 1 of the body of a loop (-1: of the program), with the loops in it. */
TRA_MUSTUSE tra_status ref_evaluate_body(ref_evaluation *x, int loop, int from, int to, tra_err *e);

#endif
