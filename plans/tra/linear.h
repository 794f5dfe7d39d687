/* linear.h - solve, inverse and the decompositions of matrices: operators of the language on matrices that fit one
 * block. Private to plans/tra. */
#ifndef TRA_LINEAR_H
#define TRA_LINEAR_H

#include "build.h"

/* Is there such an operator? */
bool tra_is_linear(const char *name);
const char *tra_linear_name(int i); /* of operator i; NULL after the last */
/* Result `part` of `nparts` (eigh has two) of the call, whose operands are nodes; NULL after a diagnostic. Operands are
 * cut anew to one block where they have several. */
tra_node *tra_build_linear(tra_build *b, const tra_ast *call, int nin, tra_node *const *in, int part, int nparts);

/* QR and singular values of a matrix that has many rows, in several blocks, or rows that only the run counts (tall.c).
 * result: "qr_q", "qr_r", "svd_u", "svd_s", "svd_v". */
typedef struct tra_tall {
    tra_build *b;
    tra_span span;
} tra_tall;
bool tra_is_tall(const tra_node *a);
tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result);
/* The X for which A X - B is least, of such a matrix or of any that has more rows than columns. */
tra_node *tra_build_least(tra_tall *t, tra_node *a, tra_node *b);

#endif
