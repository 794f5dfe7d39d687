/* kernel_int.h - shared by the files of this folder alone. */
#ifndef TRA_KERNEL_INT_H
#define TRA_KERNEL_INT_H

#include "strips.h"

/* What a scalar expression of nargs arguments is, proven from its form: TRA_OVER_ bits. */
unsigned tra_scalar_over(const tra_scalar *s, int nargs);

/* A join by labels, and a map that only permutes dimensions after it, as one step: "ij,jk->ik" and a transpose as
 * "ij,jk->ki". NULL: they are no such steps. */
const tra_kernel *tra_kernel_turned(tra_arena *a, const tra_kernel *first, const tra_kernel *next);

/* For each row of a finds the first places (TRA_K_TOP). out gets the elements of a there, or those of b, which is one
 * row or has the extents of a. */
void tra_top_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out);

/* ---- LAPACK -------------------------------------------------------------------------------------------------- */

enum { TRA_LAPACK_MOST = 32000, TRA_LAPACK_SVD = 23000 }; /* rows and columns, since it counts in int */
/* Why the operands (b: of a join, else NULL) do not fit, or NULL. */
const char *tra_lapack_misfit(tra_lapack f, const tra_dims *a, const tra_dims *b);
/* For operands that fit: the result's extents, and for each of its dimensions where it comes from, as in tra_dimsrc.
 * arg: the kernel's number in parentheses. */
void tra_lapack_shape(tra_lapack f, double arg, const tra_dims *a, const tra_dims *b, tra_dims *out, int8_t *from);
size_t tra_lapack_scratch(tra_lapack f, const tra_dims *a, const tra_dims *b); /* a multiple of 64 */
double tra_lapack_flops(tra_lapack f, const tra_dims *a, const tra_dims *b);
/* Runs it; out is f64, or f32 where the operands are. A failure, such as of a singular matrix, is noted
 * (tra_kernel_failure). */
void tra_lapack_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out, void *scratch);

/* The same of those that take blocks of rows (tsqr.c). */
static inline bool tra_lapack_is_tsqr(tra_lapack f) { return f >= TRA_L_TSQR_FIRST_R; }
const char *tra_tsqr_misfit(tra_lapack f, const tra_dims *a, const tra_dims *b);
void tra_tsqr_shape(tra_lapack f, double arg, const tra_dims *a, const tra_dims *b, tra_dims *out);
size_t tra_tsqr_scratch(tra_lapack f, const tra_dims *a, const tra_dims *b);
double tra_tsqr_flops(tra_lapack f, const tra_dims *a, const tra_dims *b);
void tra_tsqr_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out, void *scratch);
/* What both share. Decomposes m x n elements that are stored by columns in a: R is left on and above the diagonal, and
 * what Q is made of below it. space: room for tra_qr_space(m, n) doubles. */
enum { TRA_QR_WORK = 32, TRA_QR_NARROW = 512 }; /* doubles for each column; columns from which on a matrix is wide */
int64_t tra_qr_space(int64_t m, int64_t n);
void tra_qr(int m, int n, double *a, double *space);
/* After tra_qr, with its space: replaces a by the first min(m, n) columns of Q. */
void tra_qr_make_q(int m, int n, double *a, double *space);
/* factor.c: LU with row exchanges, and the lower factor of a symmetric positive definite matrix, in place; n x n, by
 * columns. pivot: n rows, from 1, as LAPACK's dgetrf has them. *info: 0, or the first column, from 1, without a pivot;
 * there Cholesky ends. A run that is cancelled leaves the factor unfinished, and *info as it is then. */
void tra_lu(int n, double *a, int *pivot, int *info);
void tra_cholesky(int n, double *a, int *info);
/* Replaces the right sides by the solutions, after tra_lu, or with pivot NULL after tra_cholesky. */
void tra_factor_solve(int n, double *a, int *pivot, int right, double *b);
/* Copies m x n elements to columns, `stride` doubles apart. False: one is not finite. */
bool tra_lapack_load(const tra_array *x, int64_t m, int64_t n, double *to, int64_t stride);
/* Copies such columns back to m x n elements, each times the sign of its column (NULL: as they are). */
void tra_lapack_store(const double *from, int64_t stride, const tra_array *x, int64_t m, int64_t n, const int *sign);
void tra_lapack_set(const tra_array *x, int64_t at, double v);
void tra_lapack_fill(const tra_array *x, double v);
/* singular.c. A matrix of n columns whose reciprocal condition is below this, when its columns have lengths near 1, is
 * singular to working precision. t: the type of the result. */
double tra_lapack_tolerance(int64_t n, tra_dtype t);
/* The power of two that gives a column a length near 1, and scaling columns by it. */
double tra_lapack_scale_of(const double *column, int64_t m);
void tra_lapack_scale(double *a, int64_t m, int64_t n, int64_t stride, double *by);
/* Whether it is regular; warns where few digits of what `name` makes of it are right. */
bool tra_lapack_is_regular(double rcond, int64_t n, tra_dtype t, const char *name);
/* Notes the failure of a singular matrix, of whose scaled columns r is the R, and which columns depend on each other.
 * c: workspace of n numbers. */
void tra_lapack_fail_singular(const char *name, const double *r, int64_t n, int64_t stride, tra_dtype t,
                              const tra_dim_labels *columns, double *c);

/* ---- dense arrays ------------------------------------------------------------------------------------------- */

/* ALIGNED; b NULL: one operand. */
void tra_aligned_run(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out,
                     const bool *sparse);

/* Computes an aligned kernel of two operands by tiles that stay in registers (tiles.c): out = fold of code over
 * `reduced`, for each step of `kept`. tra_tiles_take: are there such tiles for this code, fold, types and loops? */
bool tra_tiles_take(const tra_code *code, tra_scalar_op fold, const tra_array *const *arg, const tra_nest *kept,
                    const tra_nest *reduced);
void tra_tiles_run(const tra_code *code, tra_scalar_op fold, const tra_array *const *arg, const tra_array *out,
                   const tra_nest *kept, const tra_nest *reduced);
/* c[i * row + j * column] (+)= sum a[l * lda + i] * a[l * lda + j] for i <= j < n <= TRA_GRAM_MOST, l < k. */
enum { TRA_GRAM_MOST = 96 };
void tra_gram(int64_t n, int64_t k, const double *a, int64_t lda, bool add, double *c, int64_t row, int64_t column);
/* C (m x n) = A B, or its sum with C, where narrow operands make that faster than BLAS does; ta, tb: what is addressed
 * is the transpose. Else false, and nothing is done. */
bool tra_narrow_fits(bool ta, bool tb, int64_t m, int64_t n, int64_t k);
bool tra_narrow_product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                        const double *b, int64_t ldb, bool add, double *c, int64_t ldc);

/* Computes an EINSUM of two operands or an OUTER: out = a.b, or, with `add`, out += a.b; on one tile of out, or all of
 * it (tile -1). */
void tra_contract(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out, bool add,
                  int tile, const bool *sparse);
/* The same for a product of `a` with itself that tra_kernel_mirrors, where only the elements of one triangle are
 * wanted; the others of the tile become anything. */
void tra_contract_triangle(const tra_kernel *step, const tra_array *a, const tra_array *out, bool add, int tile,
                           bool sparse);
int tra_contract_tiles(const tra_kernel *step, const tra_dims *acc);
/* How the first tile is computed, unless a 0 of sparse type meets NaN or infinity; how an aligned kernel is; and each
 * step of a kernel of dense arrays (tra_choose). */
tra_impl tra_contract_way(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out);
tra_impl tra_aligned_way(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out,
                         const bool *sparse);
/* The strips of a fold over operands of these extents, of f64. */
typedef struct tra_strips {
    tra_impl way;
    bool along, strided;  /* are they steps of the sum; do their elements lie apart? */
    double length, terms; /* of a strip; of each sum */
} tra_strips;
/* Operations of one step that makes `out` of `in` (and b, or NULL). */
double tra_step_flops(const tra_kernel *k, const tra_dims *in, const tra_dims *b, const tra_dims *out);
tra_strips tra_aligned_strips(const tra_kernel *step, const tra_dims *const *ext);
int tra_choose_dense(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse,
                     tra_impl ways[TRA_MOST_IMPLS]);
/* The elements of a tile: loops with their strides in s[1], and the first in *at. */
void tra_contract_tile(const tra_kernel *step, const tra_dims *acc, int tile, tra_nest *nest, int64_t *at);

#endif
