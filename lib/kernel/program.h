/* program.h - kernels that are programs of the calculus: what a tensor statement computes that is no sum of products.
 *
 * A program reads the arrays of several relations that meet, one of each: its operands. A join has two, so those but
 * the last are packed into one array first, operand by operand; the last join runs the program. Loops at the outside of
 * the program run over the positions of a block: which block that is an operand tells that has the block's number
 * alone. What a program gives to a block of its result is added up there; several such results are added by matadd.
 */
#ifndef TRA_PROGRAM_H
#define TRA_PROGRAM_H

#include "../codegen/codegen.h"
#include "kernel.h"

/* A loop at the outside of the program over a dimension that operands are cut along. */
typedef struct tra_program_label {
    int64_t extent, block; /* of the tensor; of arrays that are not the last */
} tra_program_label;

typedef struct tra_program_operand {
    tra_dtype dtype;
    bool sparse;              /* by type */
    tra_dims shape, block;    /* of the tensor; of arrays that are not the last along any dimension */
    int8_t label[TRA_MAXDIM]; /* of each dimension that is cut, or -1 */
    int name;                 /* in the scope of the program; -1: not read by it, */
    int number;               /* but has the number of the block along this label; -1: nothing of use */
} tra_program_operand;

/* A key dimension that the result is cut by, or a label that has one: which dimension of which operand shows it. A
 * packed array has a dimension for each, which is 2 where the label is known to have a whole block, else 1. */
typedef struct tra_program_key {
    int label; /* or -1: a key dimension of one value */
    int operand, dim;
} tra_program_key;

enum { TRA_PROGRAM_MOST = 24 }; /* labels, operands and keys of a program */

typedef struct tra_program {
    const char *text;      /* that tells it from all others; printed */
    const tra_calc *value; /* checked */
    int nscope;
    const tra_calc_free *scope; /* params; relations by their extents */
    int nlabels, noperands, nkeys;
    tra_program_label label[TRA_PROGRAM_MOST];
    tra_program_operand operand[TRA_PROGRAM_MOST]; /* at least two */
    tra_program_key key[TRA_PROGRAM_MOST];
    tra_dtype dtype; /* of the result: f64, f32, i64 */
    bool sparse;     /* by type */
    tra_dims shape;
    int8_t out[TRA_MAXDIM]; /* of each dimension the key that cuts it */
    double expected;        /* contributions to the whole result, */
    int64_t bound;          /* at most */
} tra_program;

/* The kernels of a program: that which packs operands 0 to n-1 with operand n (1 <= n < noperands - 1); that which runs
 * it, whose left operand has all operands but the last. They pass through no other kernel. The program is the arena's.
 */
const tra_kernel *tra_kernel_pack(tra_arena *a, const tra_program *p, int n);
const tra_kernel *tra_kernel_program(tra_arena *a, const tra_program *p);
/* Is it one of these? */
bool tra_kernel_is_pack(const tra_kernel *k);
bool tra_kernel_is_program(const tra_kernel *k);

/* Does it build dictionaries? These have room for what the program is expected to make, to a limit, which kernels count
 * as scratch, and for so many bytes more in each thread (0 at first): of what a ceiling leaves. While no thread runs
 * kernels. */
bool tra_program_builds(const tra_kernel *k);
void tra_program_grant(int64_t bytes);

/* Can the program be compiled? One with @unique is interpreted, which sees whether keys come twice. */
bool tra_program_compiles(const tra_kernel *k);
/* Compiles it for operands that are held as those of these types, for as long as g: from now on it runs so, where it
 * can be compiled. compile: as in tra_codegen_make. While no thread runs kernels. */
TRA_MUSTUSE tra_status tra_program_compile(tra_codegen *g, const tra_kernel *k, const tra_type *a, const tra_type *b,
                                           bool compile, tra_err *e);
void tra_program_forget(void); /* all of them, before g is closed */
/* The program as it is run, and its C. */
TRA_MUSTUSE tra_status tra_program_source(const tra_kernel *k, const tra_type *a, const tra_type *b, tra_str *plan,
                                          tra_str *c, tra_err *e);

#endif
