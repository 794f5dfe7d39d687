/* program.h - kernels that are programs of the calculus: what a tensor statement computes that is no sum of products.
 *
 * A program reads the arrays of several relations that meet, one of each: its operands. A join has two, so those but
 * the last are packed into one array first, operand by operand; the last join runs the program. The program's outermost
 * loops run over the positions of a block; an operand that holds nothing but the block's number tells which block that
 * is. What a program gives to a block of its result is added up there; several such results are added by matadd.
 */
#ifndef TRA_PROGRAM_H
#define TRA_PROGRAM_H

#include "../codegen/codegen.h"
#include "strips.h"

/* An outermost loop of the program, over a dimension that operands are cut along. */
typedef struct tra_program_label {
    int64_t extent, block; /* of the tensor; of arrays that are not the last */
    int same;              /* of fused statements: a label whose extent in each array is the same, the least */
} tra_program_label;

typedef struct tra_program_operand {
    tra_dtype dtype;
    bool sparse;              /* by type */
    tra_dims shape, block;    /* of the tensor; of arrays that are not the last along any dimension */
    int8_t label[TRA_MAXDIM]; /* of each dimension that is cut, or -1 */
    int name;                 /* in the scope of the program; -1: not read by it, */
    int number;               /* but has the number of the block along this label; -1: nothing of use */
} tra_program_operand;

/* A key dimension by which the result is cut, or a label that is cut: which dimension of which operand tells the
 * extent of its block. An array that packs operands has a dimension for each key, with extent 2 where the label is
 * known to have a whole block, else 1. */
typedef struct tra_program_key {
    int label; /* or -1: a key dimension of one value */
    int operand, dim;
} tra_program_key;

enum { TRA_PROGRAM_MOST = 24 }; /* labels, operands and keys of a program */

/* ---- sums of products in one kernel ---------------------------------------------------------------------------- */

/* A statement of several factors that is computed at once on each combination of arrays that meet (STOREL), by a
 * physical plan of the calculus. Every dimension of its operands has a label of the statement. Where there are more
 * than two operands, all but the last are packed: if these are of dense type, their elements one operand after the
 * other; else as rows, one operand below the other, as wide as the widest. Where that array is held as rows, an
 * operand of sparse type has only its entries there, any other all elements. */

/* What a name in the plan's scope stands for, for the arrays that meet. */
typedef enum tra_fused_part {
    TRA_FUSED_EXTENT,     /* number: of label `operand` */
    TRA_FUSED_ROWS,       /* number: rows with entries (numbered: all), */
    TRA_FUSED_ENTRIES,    /* number: and entries, of `operand`, which is held as rows; */
    TRA_FUSED_COORDINATE, /* array: along dimension `dim`, which is not the last, of each of these rows, */
    TRA_FUSED_BEGIN,      /* array: where the entries of each begin, and the end, */
    TRA_FUSED_COLUMN,     /* array: the last coordinate of each entry */
    TRA_FUSED_VALUE       /* array: of each entry; or all elements of a dense operand, row by row */
} tra_fused_part;

typedef struct tra_fused_name {
    tra_fused_part part;
    int operand, dim;
} tra_fused_name;

/* A statement that is a product of two matrices under a mask, all held as rows: its operands by what they are to
 * lib/kernel/masked.h, which computes it without a tree. */
typedef struct tra_fused_masked {
    int mask, outer, inner;
    bool by_place;
    double factor;
    tra_scalar_op fold; /* ADD, MAX, MIN */
    int by[2];          /* the dimension of the result that rows and places of the mask are; -1: none */
} tra_fused_masked;

/* A statement with a mask: an operand that is held as rows, with the labels of the result and no others. Any expression
 * that is 0 where the mask is, folded over the other labels, by strips of the mask's entries (fused_sampled.c). Of the
 * other operands those of sparse type, held as rows, have no labels but the mask's. */
typedef struct tra_fused_sampled {
    const tra_code *code;
    tra_scalar_op fold; /* also ARGMAX, ARGMIN */
    int mask, nargs, nfolded;
    struct {
        int operand;
        int8_t label[TRA_MAXDIM];
        bool sparse;
    } arg[TRA_CODE_ARGS];
    int8_t folded[TRA_MAXDIM]; /* labels */
} tra_fused_sampled;

typedef struct tra_fused_plan {
    const tra_calc *tree;             /* checked; NULL: there is none for operands that are held so */
    const tra_fused_masked *masked;   /* or NULL */
    const tra_fused_sampled *sampled; /* or NULL */
    int n;
    const tra_calc_name *scope;
    const tra_fused_name *source;
    unsigned numbered; /* packed operands (bits) whose rows are all those of a block, so that numbers are places */
    double nanoseconds, operations, entries; /* predicted, on average arrays; entries of a result */
    int64_t workspace;                       /* bytes, at most, of the dictionaries that it builds, */
    int64_t interpreted;                     /* and of those that the interpreter holds for them */
    bool ascends; /* it makes the rows of its result in ascending order, so that the result may be held as rows */
} tra_fused_plan;

enum { TRA_FUSED_FIRST = 1, TRA_FUSED_LAST = 2 }; /* held as rows: the first operand, or what packs all but the last */
typedef struct tra_fused {
    tra_fused_plan plan[4]; /* by how operands are held */
    int expected;           /* which of these is expected to run */
    double shared;          /* threads of a site that its calls are expected to be shared by */
    int64_t most;           /* entries of a result, at most; INT64_MAX: not known */
} tra_fused;

typedef struct tra_calc_program {
    const char *text;       /* that tells it from all others; printed */
    const tra_fused *fused; /* not NULL: it is a fused statement with these plans; value and scope are NULL */
    const tra_calc *value;  /* checked */
    int nscope;
    const tra_calc_free *scope; /* params; relations by their extents */
    int nlabels, noperands, nkeys;
    tra_program_label label[TRA_PROGRAM_MOST];
    tra_program_operand operand[TRA_PROGRAM_MOST]; /* at least two */
    tra_program_key key[TRA_PROGRAM_MOST];
    tra_dtype dtype; /* of the result: f64, f32, i64; of what is sampled any */
    bool sparse;     /* by type */
    tra_dims shape;
    int8_t out[TRA_MAXDIM]; /* of each dimension the key that cuts it */
    double expected;        /* contributions to the whole result, */
    int64_t bound;          /* at most */
} tra_calc_program;

/* The kernels of a program: that which packs operands 0 to n-1 with operand n (1 <= n < noperands - 1); that which runs
 * it, whose left operand has all operands but the last. They pass through no other kernel. The program is the arena's.
 */
const tra_kernel *tra_kernel_pack(tra_arena *a, const tra_calc_program *p, int n);
const tra_kernel *tra_kernel_program(tra_arena *a, const tra_calc_program *p);
bool tra_kernel_is_program(const tra_kernel *k);
bool tra_kernel_is_fused(const tra_kernel *k); /* the last one of a fused statement */

/* Does the program build dictionaries? Kernels count room for what these are expected to have, up to a limit, as
 * scratch; a run grants more (tra_kernel_run). */
bool tra_program_builds(const tra_kernel *k);

/* Is it one that runs a kernel of lib/codegen, compiled or interpreted? A product under a mask does not. Can that be
 * compiled? One with @unique is interpreted, which sees whether keys come twice. */
bool tra_program_calls(const tra_kernel *k);
bool tra_program_compiles(const tra_kernel *k);
/* Makes that kernel for a run, for operands that are held as those of these types, and results as `out`; it lives as
 * long as g. compile: as in tra_codegen_make. While no thread of the run runs kernels. */
TRA_MUSTUSE tra_status tra_program_make(tra_kernel_run *run, tra_codegen *g, const tra_kernel *k, const tra_type *a,
                                        const tra_type *b, const tra_layout *out, bool compile, tra_err *e);
/* How many times the operations that a fused statement is expected to do it does at most: where all elements are there,
 * each is multiplied and added in one loop over all labels. */
double tra_fused_most(const tra_kernel *k);
/* Can the program run on operands of these layouts, and give a result of layout `out`? A fused statement can where it
 * was planned for these, and give rows only if its plan makes them in ascending order. */
bool tra_program_runs(const tra_kernel *k, const tra_layout *a, const tra_layout *b, const tra_layout *out);
/* Is operand o rows where the arrays that meet are held so (TRA_FUSED_ bits)? */
bool tra_fused_has_rows(const tra_calc_program *p, int o, int held);
/* Is what packs operands an array of rows? It is but where those of a fused statement are all of dense type. */
bool tra_program_packs_rows(const tra_calc_program *p);
void tra_program_forget(tra_kernel_run *run); /* all of them, before g is closed */
/* The program as it is run, and its C. */
TRA_MUSTUSE tra_status tra_program_source(const tra_kernel *k, const tra_type *a, const tra_type *b,
                                          const tra_layout *out, tra_str *plan, tra_str *c, tra_err *e);

#endif
