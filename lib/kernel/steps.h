/* steps.h - what a kernel is, for those who run it (this folder and lib/sparse): its class, labels and code, its steps,
 * and how those of dense arrays are run. */
#ifndef TRA_STEPS_H
#define TRA_STEPS_H

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
    /* of blocks of rows (tsqr.c) */
    TRA_L_TSQR_FIRST_R,
    TRA_L_TSQR_FIRST_Q,
    TRA_L_TSQR_NEXT_R,
    TRA_L_TSQR_NEXT_Q,
    TRA_L_TSQR_LAST_R,
    TRA_L_TSQR_LAST_Q,
    TRA_L_TSQR_LAST_X,
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

struct tra_kernel {
    tra_class cls;
    unsigned uses, props, over;
    const tra_row *row;            /* NULL: not from the table */
    double args[1];                /* numbers in parentheses */
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

/* Sets from[l] and to[l] to the range of label l of an Einstein string in a tile. */
void tra_contract_range(const tra_kernel *step, const tra_dims *acc, int tile, int64_t *from, int64_t *to);
/* Does v at index i take the place of the {value, index} that `state` has, for minindex or maxindex? */
bool tra_index_before(const tra_kernel *k, double v, double i, const double *state);

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
