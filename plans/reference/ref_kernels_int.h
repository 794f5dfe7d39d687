/* ref_kernels_int.h - what ref_kernels.c (elements, compositions, Einstein strings, joins, aggregations) and ref_maps.c
 * share. */
#ifndef REF_KERNELS_INT_H
#define REF_KERNELS_INT_H

#include "reference_int.h"

enum { CHAIN = 64 };

typedef struct einstein {
    char in[2][TRA_MAXDIM + 1], out[TRA_MAXDIM + 1];
    int operands;
} einstein;

/* The kernels of a composition in the order of their application; the number of them. */
int ref_chain(const tra_kernel *k, tra_kernel_desc *out, int n);
TRA_MUSTUSE tra_status ref_need_rank(const char *name, int rank, int least, int most, tra_err *e);
bool ref_is_top(const tra_kernel_desc *k);
/* topk and leastk, straight from the definition: of each row, again and again, the best that is not taken yet. */
TRA_MUSTUSE tra_status ref_top_eval(const tra_kernel_desc *k, tra_dtype tx, const ref_array *x, const ref_array *y,
                                    tra_arena *a, ref_array *out, tra_err *e);
/* *t: the type of x, then that of the result. */
TRA_MUSTUSE tra_status ref_map_rest(const tra_kernel_desc *ks, int from, int to, ref_array x, tra_arena *a,
                                    ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e);
TRA_MUSTUSE tra_status ref_rest_origin(const tra_kernel_desc *ks, int from, int to, ref_origin *o, tra_err *e);
bool ref_find1(const char *name, tra_scalar_op *op);
bool ref_is(const tra_kernel_desc *d, const char *name);
void ref_compose(ref_origin *first, const ref_origin *next);
/* n dimensions, each its own. */
void ref_set_origin(ref_origin *o, int n);
TRA_MUSTUSE tra_status ref_einstein_origin(const char *text, int operands, const int *rank, ref_origin *o, tra_err *e);
/* One loop over every label, those of the result outermost; y is NULL for one operand, of types tx and ty. expr: of one
 * element of each operand, NULL for their product. *t: the type of the result. */
TRA_MUSTUSE tra_status ref_einstein_eval(const char *text, const tra_scalar *expr, tra_scalar_op fold, tra_dtype tx,
                                         tra_dtype ty, const ref_array *x, const ref_array *y, tra_arena *a,
                                         ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e);

#endif
