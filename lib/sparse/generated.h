/* generated.h - products of rows with rows whose loops are compiled (lib/codegen), in place of those of product.c: the
 * same bits. The executor has them made before its workers begin. */
#ifndef TRA_SPARSE_GENERATED_H
#define TRA_SPARSE_GENERATED_H

#include "../codegen/codegen.h"
#include "contract.h"

/* Forms of products, by how many labels both operands have. The loops go over the rows of one operand and, for each
 * entry, over the row of the other that the shared labels lead to. */
typedef enum tra_generated { TRA_GENERATED_ONE, TRA_GENERATED_SEVERAL, TRA_GENERATED_NONE } tra_generated;

/* Which form the join of such operands has, if any. */
tra_generated tra_generated_of(const tra_kernel *join, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                               const tra_dims *ext_b, const tra_type *out);
/* Makes them for this process, for as long as g: what they stand for is computed by them from now on, if they can be
 * compiled. compile: as in tra_codegen_make. While no thread runs kernels. */
TRA_MUSTUSE tra_status tra_generated_make(tra_codegen *g, tra_generated form, bool compile, tra_err *e);
void tra_generated_end(void); /* before g is closed */
/* Their physical plan, in the calculus, and their C. */
TRA_MUSTUSE tra_status tra_generated_source(tra_generated form, tra_str *plan, tra_str *c, tra_err *e);

/* For product.c: runs tra_rows_product by compiled loops, if there are loops for it that need no more than `have`
 * bytes of scratch; else false. outer: the outer operand, of which np labels are the first of the result. */
bool tra_generated_product(const tra_contraction *x, int outer, int np, tra_cell *out, bool count, void *scratch,
                           int64_t have);

#endif
