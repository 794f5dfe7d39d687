/* ref_relations.h - relations of the reference evaluator (reference.c): collecting their tuples, and the tensor that
 * they stand for. */
#ifndef REF_RELATIONS_H
#define REF_RELATIONS_H

#include "reference_int.h"

/* Tuples while they come, in any order. */
typedef struct gather {
    tra_arena *a;
    tra_ref_tuple *v;
    int64_t n, cap;
} gather;

/* The tensor that x stands for: which key cuts each dimension (-1: none), the block extents and the shape. */
typedef struct tensor {
    int by[TRA_MAXDIM];
    tra_dims block, shape;
} tensor;

void ref_set_element(tra_dtype t, void *data, int64_t i, ref_num v); /* of a block in memory */
int ref_compare_keys(const tra_dims *a, const tra_dims *b);
void ref_add(gather *g, const tra_dims *key, ref_array x);
/* Sorts what was gathered into out, whose k, r and dtype are set, and rounds f32. bound: what the operator makes of its
 * inputs' bounds, or NULL. */
TRA_MUSTUSE tra_status ref_finish(gather *g, const tra_dims *bound, tra_ref_rel *out, tra_err *e);
ref_array ref_array_of(const tra_ref_rel *x, const tra_ref_tuple *t);
uint32_t ref_bit(int key); /* the set of this key dimension */
/* The cut sets of a kernel's result: cut[p] are the sets of operand p, in key dimensions of the result. */
void ref_cut_by_origin(const ref_origin *o, uint32_t cut[2][TRA_MAXDIM], tra_ref_rel *out);
TRA_MUSTUSE tra_status ref_as_tensor(const tra_ref_rel *x, tensor *t, tra_err *e);
tra_dims ref_tensor_offset(const tensor *t, const tra_dims *key);

#endif
