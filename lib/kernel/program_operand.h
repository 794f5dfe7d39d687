/* program_operand.h - operands of a program while it runs. Private to program_operand.c and program_run.c. */
#ifndef TRA_PROGRAM_OPERAND_H
#define TRA_PROGRAM_OPERAND_H

#include "program_int.h"

/* An operand as the interpreter sees it: rows of a cell, of which the first is `row`. */
typedef struct tra_operand_view {
    const tra_cell *cell;
    bool packed;
    tra_dtype dtype;
    int rank;
    int64_t origin[TRA_MAXDIM], length[TRA_MAXDIM]; /* of the block in the tensor */
    int64_t row, width, stride[TRA_MAXDIM];         /* stride: of a dimension but the last, in rows */
    tra_rows_view rows;                             /* not dense */
} tra_operand_view;

/* Where operand o is, of arrays a and b; origins are set when all that tell of them are there. */
void tra_operand_view_of(const tra_kernel *k, int o, const tra_cell *a, const tra_cell *b, tra_operand_view *v);
/* The same for compiled code. */
tra_codegen_operand tra_operand_held_of(const tra_operand_view *v, const tra_calc_operand *o);
/* Where the blocks of the labels begin. */
tra_status tra_operand_origins(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int64_t *origin, tra_err *e);
/* A relation that has no elements is no operand: names that no operand has stand for such. */
tra_calc_operand tra_operand_empty(const tra_calc_operand *o, tra_codegen_operand *held);
/* The functions of a tra_calc_operand whose ctx is a view. */
tra_status tra_operand_get(void *ctx, const int64_t *at, tra_calc_number *out, tra_err *e);
bool tra_operand_next(void *ctx, int n, const int64_t *prefix, int64_t *key);

static inline bool tra_calc_number_is_zero(tra_calc_number n) { return n.real ? n.r == 0 : n.i == 0; }

#endif
