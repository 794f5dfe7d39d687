/* reference_int.h - shared by the files of the reference evaluator: its arrays and its kernels. */
#ifndef TRA_REFERENCE_INT_H
#define TRA_REFERENCE_INT_H

#include "../../lib/kernel/strips.h"
#include "reference.h"

typedef struct ref_array {
    tra_dims ext;
    ref_num *data;
    bool sparse; /* of sparse type */
} ref_array;
ref_array ref_array_new(tra_arena *a, const tra_dims *ext); /* zeroed */
int64_t ref_count(const tra_dims *ext);                     /* elements; 1 for rank 0 */
/* Row-major successor of the index `at` within ext; false after the last (at is zeroed again). */
bool ref_step(const tra_dims *ext, tra_dims *at);
int64_t ref_place(const tra_dims *ext, const tra_dims *at); /* row-major position */

/* ---- numbers and types (ref_scalar.c) ------------------------------------------------------------------------ */

/* Did all integers fit? loose: might parts of sums and products not, in another order? wide: arithmetic of integers is
 * i64, as below a sum or product over labels. none: the extreme of no rows was asked for. */
typedef struct ref_fit {
    bool over, loose, wide, none;
    const char *failed; /* the function that has no result, such as solve of a singular matrix; NULL */
} ref_fit;
TRA_MUSTUSE tra_status ref_fits(const ref_fit *fit, tra_err *e); /* TRA_INPUT when something did not */

/* An element of type t, or a number that the program writes. sparse: of sparse type, as `known` says of an element. */
typedef struct ref_value {
    ref_num v;
    tra_dtype t;
    bool number, sparse;
    bool real; /* of a number: a float, also where v is whole */
    tra_known known;
} ref_value;
ref_value ref_element(tra_dtype t, bool sparse); /* a 0 */
bool ref_is_float(tra_dtype t);
tra_dtype ref_both(tra_dtype a, tra_dtype b);                                  /* the type that holds both */
tra_dtype ref_real(tra_dtype t);                                               /* of exp, / and their kin */
ref_value ref_apply(tra_scalar_op op, ref_value x, ref_value y, ref_fit *fit); /* y is x for one operand */
ref_value ref_scalar(const tra_scalar *s, int n, const ref_value *args, ref_fit *fit);
/* A bound on every sum and product in s, with every number at least 1. */
ref_num ref_magnitude(const tra_scalar *s, const ref_value *args);

/* Folds (ADD, MUL, MAX, MIN, ARGMAX, ARGMIN) of elements of type t, in their order; the result is of type .t. */
typedef struct ref_sum {
    tra_scalar_op fold;
    tra_dtype t;
    bool sparse; /* a factor that is 0 annihilates */
    double real;
    __int128 sum;
    ref_num size; /* of all magnitudes */
    bool zero, beyond;
    ref_num best; /* of ARGMAX and ARGMIN, with sum as its position, of n that came */
    int64_t n;
} ref_sum;
ref_sum ref_sum_begin(tra_scalar_op fold, tra_dtype t, bool sparse);
void ref_sum_add(ref_sum *s, ref_num v);
ref_num ref_sum_end(const ref_sum *s, ref_fit *fit);

/* ---- kernels ------------------------------------------------------------------------------------------------- */

/* Where each dimension of a kernel's result comes from: operand * 32 + dimension, or -1 (a dimension of its own).
 * `also` is the dimension that stands in where `from` is uncut (diag), or -1. */
typedef struct ref_origin {
    int n;
    int from[TRA_MAXDIM], also[TRA_MAXDIM];
} ref_origin;

/* The tensor that a relation in blocks with tuples stands for (zero where some are missing), and a relation of it. */
TRA_MUSTUSE tra_status ref_assemble(const tra_ref_rel *x, tra_arena *a, ref_array *whole, tra_err *e);
TRA_MUSTUSE tra_status ref_in_blocks(const ref_array *whole, const tra_dims *block, tra_dtype t, tra_arena *a,
                                     tra_ref_rel *out, tra_err *e);
/* The type of a relation of that shape, all of whose rows are known, in the arena: of one whose type only bounds them.
 */
TRA_MUSTUSE tra_status ref_counted_type(const tra_type *type, const tra_dims *shape, tra_arena *a, tra_type *out,
                                        tra_err *e);
/* An EinSum statement by its definition: of the results v of the nodes that it refers to, element by element. */
TRA_MUSTUSE tra_status ref_einsum(const tra_einsum *s, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out,
                                  tra_err *e);

/* A tensor statement by the interpreter of the calculus. */
TRA_MUSTUSE tra_status ref_tensor(const tra_tensor *t, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out,
                                  tra_err *e);

/* Kernels on arrays. bound_a, bound_b: bounds of the relations that the operands come from, which say what may
 * stretch. */
TRA_MUSTUSE tra_status ref_join_origin(const tra_kernel *k, const tra_dims *bound_a, const tra_dims *bound_b,
                                       ref_origin *out, tra_err *e);
/* tx, ty: element types of the operands; *t gets the result's. out->sparse follows from the operands'. */
TRA_MUSTUSE tra_status ref_join_pair(const tra_kernel *k, tra_dtype tx, tra_dtype ty, const tra_dims *bound_a,
                                     const tra_dims *bound_b, const ref_array *x, const ref_array *y, tra_arena *a,
                                     ref_array *out, tra_dtype *t, ref_fit *fit, tra_err *e);
TRA_MUSTUSE tra_status ref_map_origin(const tra_kernel *k, int rank, ref_origin *out, tra_err *e);
TRA_MUSTUSE tra_status ref_map_one(const tra_kernel *k, tra_dtype tx, const ref_array *x, tra_arena *a, ref_array *out,
                                   tra_dtype *t, ref_fit *fit, tra_err *e);
TRA_MUSTUSE tra_status ref_agg_origin(const tra_kernel *k, int rank, ref_origin *out, tra_err *e);
/* A group of n >= 1 arrays; offset[i] is where array i begins in the tensor of extents `shape` (index kernels). */
TRA_MUSTUSE tra_status ref_agg_group(const tra_kernel *k, tra_dtype tx, int64_t n, const ref_array *x,
                                     const tra_dims *offset, const tra_dims *shape, tra_arena *a, ref_array *out,
                                     tra_dtype *t, ref_fit *fit, tra_err *e);
bool ref_is_index(const tra_kernel *k); /* an aggregation by minindex or maxindex: its result is f64 */

/* What LAPACK does for the executor, by its name there. arg: its number in parentheses; y: its right side, else NULL.
 * t: of the result. */
bool ref_is_lapack(const char *name);
void ref_lapack_origin(const char *name, double arg, ref_origin *o);
TRA_MUSTUSE tra_status ref_lapack(const char *name, double arg, tra_dtype t, const ref_array *x, const ref_array *y,
                                  tra_arena *a, ref_array *out, ref_fit *fit, tra_err *e);

/* Key expressions at a key. */
TRA_MUSTUSE tra_status ref_key(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e);
uint32_t ref_key_vars(const tra_keyexpr *x); /* set of key components that it reads */

#endif
