/* fused_int.h - what the files of fused statements share. */
#ifndef TRA_FUSED_INT_H
#define TRA_FUSED_INT_H

#include "../../lib/kernel/program.h"
#include "../storel/compose.h"
#include "fused.h"

typedef struct fusing {
    tra_memo *m;
    const tra_einsum *s; /* perhaps with the dimensions of its result turned */
    tra_program *p;
    const tra_expr *operand[TRA_PROGRAM_MOST]; /* in blocks of the labels */
    int of_ref[TRA_MAXLABELS];                 /* operand of each reference */
    const tra_fused_options *o;
} fusing;

int64_t fused_block_of(const tra_einsum *s, int label);
/* Finds plans by how operands are held; packed ones are as what packs them, first, is. False: there are none. */
bool fused_plan(fusing *f, const tra_expr *first);

#endif
