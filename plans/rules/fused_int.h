/* fused_int.h - what fused.c and fused_plan.c share. */
#ifndef TRA_FUSED_INT_H
#define TRA_FUSED_INT_H

#include "../../lib/kernel/program.h"
#include "../storel/compose.h"
#include "fused.h"

typedef struct fusing {
    tra_memo *m;
    const tra_einsum *s; /* the statement, perhaps with the dimensions of its result in another order */
    tra_calc_program *p;
    const tra_expr
        *operand[TRA_PROGRAM_MOST]; /* of each operand of p its relation, cut as the statement's labels are */
    int of_ref[TRA_MAXLABELS];      /* of each reference of the statement the number of its operand */
    const tra_fused_options *o;
    const tra_node
        *product; /* the statement as a join, if the pairs of entries that meet in it are counted; else NULL */
} fusing;

int64_t fused_block_of(const tra_einsum *s, int label); /* the length of its blocks, at most its extent */
/* Sets p->fused: a plan for each way in which the first and the last operand may be held (dense, or as rows). first:
 * the relation of the first operand, or what packs all operands but the last. False: a plan is missing. */
bool fused_plan(fusing *f, const tra_expr *first);

/* Of the n operands of a statement (its references, and the relations of these in blocks), in an order: leaves that one
 * to the last with which packing the others takes least, if it is much less. (fused_plan.c) */
void fused_choose_last(const tra_einsum *s, int *ref, const tra_expr **of, int n);

#endif
