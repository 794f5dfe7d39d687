/* linear.h - solve, inverse and the decompositions of matrices: operators of the language on matrices that fit one
 * block. Private to plans/tra. */
#ifndef TRA_LINEAR_H
#define TRA_LINEAR_H

#include "build.h"

bool tra_is_linear(const char *name); /* is there such an operator? */
const char *tra_linear_name(int i);   /* of operator i; NULL after the last */
/* Result `part` of the nparts results (eigh has two) of the call, whose nin operands are the nodes `in`; NULL after a
 * diagnostic. Operands of several blocks are reblocked to one. */
tra_node *tra_build_linear(tra_build *b, const tra_ast *call, int nin, tra_node *const *in, int part, int nparts);

/* QR and singular values of a tall matrix: one that has many rows, in several blocks, or rows that only the run counts
 * (tall.c). result: "qr_q", "qr_r", "svd_u", "svd_s", "svd_v". */
typedef struct tra_tall {
    tra_build *b;
    tra_span span; /* of the nodes that are made */
} tra_tall;
bool tra_is_tall(const tra_node *a);
tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result);
/* The X for which the norm of A X - B is least, of a tall matrix or of any that has more rows than columns. */
tra_node *tra_build_least(tra_tall *t, tra_node *a, tra_node *b);

#endif
