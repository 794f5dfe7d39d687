/* kernel_int.h - the inside of a kernel, shared by the files of this folder and of lib/sparse. */
#ifndef TRA_KERNEL_INT_H
#define TRA_KERNEL_INT_H

#include "../base/share.h"
#include "../model/labels.h"
#include "kernel.h"

/* How a kernel is run. A class, not a name: many named kernels share one. */
typedef enum tra_class {
    TRA_K_SCALAR,    /* code on each element, or pair of elements */
    TRA_K_EINSUM,    /* product and sum over labels; of one operand any `fold` over labels */
    TRA_K_ALIGNED,   /* code on elements that labels align, `fold` over labels */
    TRA_K_OUTER,     /* the same, with labels made for the ranks at hand: all of L's, then all of R's */
    TRA_K_TRANSPOSE, /* dimensions reversed */
    TRA_K_DIAG,      /* diagonal of a matrix */
    TRA_K_ROW,       /* last dimension reduced by `fold` */
    TRA_K_COL,       /* first dimension reduced by `fold` */
    TRA_K_SOFTMAX,
    TRA_K_TOP,     /* of each row the first places by `fold` (MAX, MIN) in order: the elements, or of a join those of
                      its right operand at these places */
    TRA_K_LAPACK,  /* a whole matrix, and of a join its right side: `lapack` of the row */
    TRA_K_ROWS,    /* of tables: `rows` */
    TRA_K_FOLD,    /* aggregation by `fold`, element by element */
    TRA_K_INDEX,   /* aggregation to the extreme value by `fold` (MIN, MAX) and its place */
    TRA_K_PACK,    /* join: operands of a program in one array (program.h) */
    TRA_K_PROGRAM, /* join: a program of the calculus */
    TRA_K_THEN,    /* composition: its steps */
} tra_class;

/* What LAPACK does with a matrix, or one of its results (lapack.c). */
typedef enum tra_lapack {
    TRA_L_SOLVE,
    TRA_L_INVERSE,
    TRA_L_DET,
    TRA_L_CHOLESKY,
    TRA_L_EIGH_W,
    TRA_L_EIGH_V,
    TRA_L_QR_Q,
    TRA_L_QR_R,
    TRA_L_SVD_U,
    TRA_L_SVD_S,
    TRA_L_SVD_V,
    /* of blocks of rows (tall.c) */
    TRA_L_TALL_R,
    TRA_L_TALL_Q,
    TRA_L_MORE_R,
    TRA_L_MORE_Q,
    TRA_L_END_R,
    TRA_L_END_Q,
    TRA_L_END_X,
} tra_lapack;

/* Sets of aggregations over which a kernel distributes. */
enum { TRA_OVER_SUM = 1, TRA_OVER_PROD = 2, TRA_OVER_MAX = 4, TRA_OVER_MIN = 8, TRA_OVER_ALL = 15 };

/* A row of the table of named kernels. */
typedef struct tra_row {
    const char *name;
    unsigned uses;          /* tra_kernel_use bits */
    tra_class cls;          /* as a join or map; an index aggregation has TRA_K_INDEX */
    const tra_scalar *expr; /* SCALAR: the definition; as an aggregation, its operator folds */
    const char *einsum;     /* EINSUM: the definition */
    bool stretch;           /* SCALAR join: broadcasts as matvec */
    int nargs;              /* numbers in parentheses: argument 1, ... of expr */
    unsigned props;         /* commutative, associative, zero: what does not follow from the definition */
    unsigned over;          /* TRA_OVER_: what does not follow from the definition */
    tra_scalar_op fold;     /* ROW, COL, INDEX */
    double identity;        /* of the aggregation */
    tra_lapack lapack;
    int type;    /* of the result: sparse (1), dense (-1), or as it follows from the operands' */
    bool narrow; /* LAPACK: the result is f32 */
} tra_row;
const tra_row *tra_row_find(const char *name);

/* A scalar expression as a program over strips of elements: one instruction, one vector loop. Operands: a register
 * >= 0, or ~i for argument i. The last instruction has the result. */
typedef struct tra_insn {
    tra_scalar_op op; /* CONST fills d with value, ARG copies a */
    int d, a, b, c;
    double value;
    tra_number_form form; /* of value, as in tra_scalar */
    int64_t whole;
} tra_insn;
typedef struct tra_code {
    int n, nregs;
    tra_insn *v;
} tra_code;
tra_code *tra_scalar_compile(tra_arena *a, const tra_scalar *s);
double tra_code_flops(const tra_code *code); /* of one element; a function counts as ten */
tra_code *tra_code_then(tra_arena *a, const tra_code *first, const tra_code *next); /* next's argument 0 is first */

/* What a scalar expression of nargs arguments is, proven from its form: TRA_OVER_ bits. */
unsigned tra_scalar_over(const tra_scalar *s, int nargs);

struct tra_kernel {
    tra_class cls;
    unsigned uses, props, over;
    const tra_row *row; /* NULL: not from the table */
    double args[1];     /* numbers in parentheses */
    const tra_dim_labels *columns; /* LAPACK: of the matrix, for messages; NULL: it has none */

    /* SCALAR, ALIGNED */
    const tra_scalar *expr; /* NULL in a step that was fused from several */
    const tra_code *code;
    int nargs;
    const char *names[2];
    bool stretch;

    /* EINSUM, ALIGNED: labels are 0, 1, ... in order of first occurrence */
    const char *text;
    int nin, nlabels, rank[2], nout;
    char letters[52];
    int8_t in[2][TRA_MAXDIM], out[TRA_MAXDIM];
    int cut, pieces; /* of a kernel made by tra_kernel_cut_rows: tiles are so many pieces of that label; else 0 */

    const tra_rows_kernel *rows; /* ROWS */

    /* EINSUM, ALIGNED, ROW, COL, FOLD, INDEX */
    tra_scalar_op fold;
    double identity;

    /* PACK, PROGRAM; text tells one from another */
    const struct tra_calc_program *program;
    int packed; /* which operand the right one is; the left one has those before */

    /* THEN: as written, and as run (neighbouring SCALARs fused; a fused step has its first kernel in `first`) */
    const tra_kernel *first, *rest;
    int nsteps;
    const tra_kernel **steps;
};

/* The primitive kernels that k runs, in order. */
static inline int tra_steps(const tra_kernel *k, const tra_kernel *const **steps, const tra_kernel *const *self) {
    if (k->cls != TRA_K_THEN) return *steps = self, 1;
    return *steps = k->steps, k->nsteps;
}

/* Shapes of one step, for arguments that are known to fit (extent 1 stretches). */
void tra_step_shape1(const tra_kernel *step, const tra_dims *in, tra_dims *out);
void tra_step_shape2(const tra_kernel *step, const tra_dims *a, const tra_dims *b, tra_dims *out);
/* The type of one step's result; b: of a join's second operand. */
tra_dtype tra_step_dtype(const tra_kernel *step, tra_kernel_use use, tra_dtype a, tra_dtype b);
int64_t tra_elements_of(const tra_dims *d);

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

/* The same of those that take blocks of rows (tall.c). */
static inline bool tra_lapack_is_tall(tra_lapack f) { return f >= TRA_L_TALL_R; }
const char *tra_tall_misfit(tra_lapack f, const tra_dims *a, const tra_dims *b);
void tra_tall_shape(tra_lapack f, double arg, const tra_dims *a, const tra_dims *b, tra_dims *out);
size_t tra_tall_scratch(tra_lapack f, const tra_dims *a, const tra_dims *b);
double tra_tall_flops(tra_lapack f, const tra_dims *a, const tra_dims *b);
void tra_tall_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out, void *scratch);
/* What both share. m x n elements to columns of height `stride`; false when one is not finite. */
bool tra_lapack_load(const tra_array *x, int64_t m, int64_t n, double *to, int64_t stride);
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

/* ---- execution ---------------------------------------------------------------------------------------------- */

enum {
    TRA_MAXREGS = 40
};                        /* of a program: of an expression more would take 2^38 operators, and a composition of
                             several takes one more than the greediest */
enum { TRA_STRIP = 512 }; /* elements that one instruction handles at a time: 4 KiB of f64 stay in the first cache */

/* The type in which elements of type t are computed: all integers and bools in i64. */
static inline tra_dtype tra_strip_type(tra_dtype t) { return tra_dtype_is_float(t) ? t : TRA_I64; }
/* The type of a sum or product over labels of elements of type t. */
static inline tra_dtype tra_sum_type(tra_dtype t) { return tra_dtype_is_float(t) ? t : tra_dtype_rows[t].sum; }

/* The vector loops for the type in which elements of type t are computed, chosen for this CPU. d may be the same
 * memory as a or b; with one operand b is ignored. For i64: what does not fit is noted (tra_overflow); only operators
 * whose results are integers are called, POW with exponents that are not negative, and CONST takes an infinity for the
 * largest or smallest integer. */
typedef void tra_strip_fn(tra_scalar_op op, void *d, const void *a, const void *b, double value, int64_t n);
tra_strip_fn *tra_strip(tra_dtype t);
void tra_add_f32(double *acc, const float *x, int64_t n);                  /* acc[i] += x[i] */
void tra_fill_strip(void *d, tra_dtype t, const void *one, int64_t n);     /* d[i] = *one */
/* acc[i] = value[i] and place[i] = at + i * step where the value comes before what acc has, in elements of F64 or I64:
 * it is less (least) or greater, or the first NaN. */
void tra_strip_first(tra_dtype t, void *acc, int64_t *place, const void *value, int64_t at, int64_t step, bool least,
                     int64_t n);
void tra_muladd(double *acc, const double *x, const double *y, int64_t n); /* acc[i] += x[i] * y[i] */
double tra_dot(const double *x, const double *y, int64_t n);
/* The same of integers. wide: what does not fit is noted; else the caller knows that all fits. */
void tra_muladd_int(int64_t *acc, const int64_t *x, const int64_t *y, int64_t n, bool wide);
int64_t tra_dot_int(const int64_t *x, const int64_t *y, int64_t n, bool wide);
/* c (m x n) += a (m x k) b (k x n), all dense and row-major. */
void tra_gemm_int(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b, int64_t *c, bool wide);

static inline int64_t tra_int_of(double v) { return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v; }
/* The identity of a maximum or minimum as a number of type t: without infinities it is the smallest or largest number.
 */
double tra_identity(double identity, tra_dtype t);

/* Gives n elements of data, at stride s from element `at` on, as elements of type `to`: the address in data where they
 * can be read there, else buf (room for n), to which they are copied. */
const void *tra_load(const void *data, tra_dtype t, int64_t at, int64_t s, int64_t n, tra_dtype to, void *buf);
/* Converts elements. Where an integer does not fit the narrower type, that is noted (tra_overflow). */
void tra_convert(void *dst, tra_dtype to, const void *src, tra_dtype from, int64_t n);
/* Puts n elements of src to elements at, at + s, ... of dst. */
void tra_store(void *dst, tra_dtype to, int64_t at, int64_t s, const void *src, tra_dtype from, int64_t n);
/* A large integer is rounded. */
static inline double tra_get(const void *data, tra_dtype t, int64_t i) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: return (double)((const type *)data)[i];
        TRA_DTYPES(X)
#undef X
    }
    return 0;
}
void tra_fill(const tra_array *a, double v);

/* Applies code to each element of out. a and b (which may be NULL) are broadcast to out's extents; dimensions that
 * they lack are the first ones. out may be a's memory when sizes of elements and extents agree. sparse: here and
 * below, whether each argument is of sparse type. */
void tra_code_run(const tra_code *code, const tra_array *a, const tra_array *b, const tra_array *out,
                  const bool *sparse);

/* What an instruction reads: a number, or a register or argument (numbered as in tra_insn) with elements of type
 * `from`. */
typedef struct tra_insn_read {
    int at;
    bool is_number;
    double number;
    int64_t whole; /* the number as an i64, where integers read it */
    tra_dtype from;
} tra_insn_read;
/* An instruction for arguments of certain types: computed in type `in`; `type` is that of its result by the rules of
 * the language (tra-lang(5), Types), of which `in` has all values. */
typedef struct tra_typed_insn {
    tra_scalar_op op;
    int d;
    tra_dtype in, type;
    tra_insn_read a, b, c;
    int from; /* the instruction of the code */
} tra_typed_insn;
typedef struct tra_typed {
    const tra_code *code;
    tra_dtype load[2]; /* the type that each argument is to have */
    tra_dtype type;    /* of the result */
    bool alike;        /* all is of one floating type: the instructions of code, in that */
    int n;
    tra_typed_insn *v;
    const uint8_t *kill; /* of tra_code_sparse; NULL: nothing annihilates */
} tra_typed;
/* arg: types of nargs arguments. wide: integers are computed as i64, as they also are by a program that says so. v:
 * room for code->n + 1 instructions, NULL where only the type is wanted. */
void tra_code_type(const tra_code *code, int nargs, const tra_dtype *arg, bool wide, tra_typed_insn *v, tra_typed *out);
bool tra_code_is_wide(const tra_code *code);
/* Typed code that is ready to run, with what annihilates where arguments are of sparse type; from malloc, in one block.
 */
tra_typed *tra_code_ready(const tra_code *code, int nargs, const tra_dtype *arg, bool wide, const bool *sparse);
/* Runs typed code on n <= TRA_STRIP elements. Argument i is in[i], of type load[i]; the result goes to d, converted to
 * type `to`. regs: code->nregs strips. */
void tra_typed_strip(const tra_typed *code, double (*regs)[TRA_STRIP], const void *const *in, int64_t n, void *d,
                     tra_dtype to);
/* Does an aligned kernel sum or multiply over labels, and so compute integers as i64? */
bool tra_aligned_sums(const tra_kernel *step);
/* ALIGNED; b NULL: one operand. */
void tra_aligned_run(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out,
                     const bool *sparse);

/* A loop over one index of up to three arrays: n steps, with the strides in elements. */
typedef struct tra_loop {
    int64_t n, s[3], at; /* at: steps done */
} tra_loop;
typedef struct tra_nest {
    int n; /* start with 0; the rest is large, and small arrays are many */
    tra_loop v[2 * TRA_MAXDIM + 1];
} tra_nest;
/* Runs a kernel's program for the elements of out, row by row. Argument i of n is read along the loops nest[i]
 * (strides s[0]), which are coalesced here. */
void tra_code_nests(const tra_code *code, int n, const tra_array *const *arg, tra_nest *nest, const tra_array *out,
                    const bool *sparse);
void tra_nest_append(tra_nest *to, const tra_nest *from);
void tra_nest_add(tra_nest *nest, int64_t n, int64_t s0, int64_t s1, int64_t s2);
/* Makes one loop of neighbouring loops whose strides allow it, and drops loops of one step. */
void tra_nest_coalesce(tra_nest *nest);
/* Takes one step of the loops and changes the offsets off[3] with it; false after the last step, when all are back at
 * the start. */
bool tra_nest_next(tra_nest *nest, int64_t *off);
bool tra_nest_empty(const tra_nest *nest); /* is there a loop of no steps? */

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

/* dst[.s[1]] = src[.s[0]] over the nest; element types may differ. */
void tra_strided_copy(void *dst, tra_dtype dt, const void *src, tra_dtype st, const tra_nest *nest);
/* dst[.s[1]] = fold of src[.s[0]] over `reduced`, for each step of `kept`. Folded in the type of sums of src's
 * elements. sparse: a 0 of src annihilates in a product. */
void tra_strided_reduce(tra_scalar_op fold, double identity, void *dst, tra_dtype dt, const void *src, tra_dtype st,
                        const tra_nest *kept, const tra_nest *reduced, bool sparse);
/* Reductions over fewer elements than this are computed for a strip of results at a time, instead of one result after
 * the other. */
enum { TRA_SHORT = 32 };

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
    bool along, strided; /* are they steps of the sum; do their elements lie apart? */
    double length;
} tra_strips;
tra_strips tra_aligned_strips(const tra_kernel *step, const tra_dims *const *ext);
int tra_choose_dense(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse,
                     tra_impl ways[TRA_MOST_IMPLS]);
/* Sets from[l] and to[l] to the range of label l of an Einstein string in a tile. */
void tra_contract_range(const tra_kernel *step, const tra_dims *acc, int tile, int64_t *from, int64_t *to);
/* The elements of a tile: loops with their strides in s[1], and the first in *at. */
void tra_contract_tile(const tra_kernel *step, const tra_dims *acc, int tile, tra_nest *nest, int64_t *at);

/* Does v at index i take the place of the {value, index} that `state` has, for minindex or maxindex? */
bool tra_index_before(const tra_kernel *k, double v, double i, const double *state);

/* ---- the rule of values ------------------------------------------------------------------------------------- */

/* What is known of a value by the form of the expression that computes it: of an argument, and of the result of an
 * operator by its operands (a constant has all and its value as zero). */
typedef struct tra_known {
    bool reads;  /* it depends on an argument */
    bool all;    /* it depends on nothing but arguments and operands of sparse type */
    bool sparse; /* it is of sparse type itself */
    double zero; /* with `all`: its value where all that it depends on is 0 */
} tra_known;
tra_known tra_known_argument(bool sparse);
tra_known tra_known_result(tra_scalar_op op, const tra_known *x);
/* Is the result of the code of sparse type, where sparse[i] says whether argument i is? kill (NULL, or a number for
 * each instruction; all are 0 where *any, which may be NULL, is false) has bit 0 where the result of an instruction must be 0 wherever its
 * first operand is 0, and bit 1 for the second operand. */
bool tra_code_sparse(const tra_code *code, const bool *sparse, uint8_t *kill, bool *any);
/* Is the result one number wherever the arguments of sparse type are 0, whatever the others are? */
bool tra_code_fixed(const tra_code *code, const bool *sparse);
/* Runs one instruction in type t, and makes its result 0 where an operand is 0 that annihilates, as kill says. */
void tra_strip_kill(tra_dtype t, tra_scalar_op op, void *d, const void *a, const void *b, double value, int64_t n,
                    int kill);
/* The loops that fold elements. In a product of elements of sparse type a 0 makes the result 0, also against NaN and
 * infinity. */
tra_strip_fn *tra_strip_fold(tra_dtype t, tra_scalar_op fold, bool sparse);
bool tra_finite(const void *v, tra_dtype t, int64_t n);
/* May the product differ from what it would be if the operands were of dense type? It may if a 0 of sparse type meets
 * NaN or infinity. */
bool tra_product_careful(const tra_array *a, const tra_array *b, const bool *sparse);
/* Computes a product over the loops, from elements at[] on, one term at a time in f64; add: adds it to what out holds.
 */
void tra_product_slow(const tra_nest *kept, const tra_nest *summed, const tra_array *a, const tra_array *b,
                      const bool *sparse, const tra_array *out, const int64_t *at, bool add);
bool tra_step_sparse(const tra_kernel *step, tra_kernel_use use, bool a, bool b);

/* On dense arrays, of operands of which these are of sparse type: what a kernel makes of one; tra_kernel_join and
 * tra_kernel_fma; what folds an array into the state of an aggregation, and what makes its result of that
 * (tra_cell_finish). */
void tra_join_sparse(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse, tra_array *out,
                     void *scratch); /* b NULL: a map */
static inline void tra_map_sparse(const tra_kernel *k, const tra_array *in, bool sparse, tra_array *out,
                                  void *scratch) {
    tra_join_sparse(k, in, NULL, (const bool[2]){sparse, false}, out, scratch);
}
void tra_fma_sparse(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse, tra_array *acc,
                    int tile, bool first);
void tra_fold_sparse(const tra_kernel *agg, tra_array *state, const tra_array *in, bool sparse, const tra_agg_at *at);
void tra_finish_sparse(const tra_kernel *agg, tra_dtype in, bool sparse, const tra_array *state, tra_array *out,
                       void *scratch);

#endif
