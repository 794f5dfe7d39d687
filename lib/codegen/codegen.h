/* codegen.h - physical plans of the calculus as C: written, compiled, kept, loaded, run.
 *
 * After STOREL, section 5. A physical plan is a tree of the calculus (calculus.h) over components and numbers, which
 * says everything: loops and their order, what is looked up, merged, materialised by let, and how (@dense, @hash). It
 * is taken at its word, so that what is explained is what runs. The interpreter of lib/calculus runs the same plan to
 * the same bits, and does so wherever no compiled code can be had: without a compiler, without a folder that can be
 * written and executed from, with --codegen off. Knows lib/base and lib/calculus.
 *
 * Order of sums, the same in both: loops run over keys upwards, and what comes to one number, to one place of a result
 * or to one key of a dictionary is added in the order of the loops. So loops whose turns go to different places are
 * vectors, and those that add up one number are not. Of a NaN only that it is one is the same.
 */
#ifndef TRA_CODEGEN_H
#define TRA_CODEGEN_H

#include "../calculus/calculus.h"

#include <stdatomic.h>

/* ---- what a kernel is ----------------------------------------------------------------------------------------- */

/* What is known of a name of the plan's scope when code is written; what it is made of comes with each call. A name
 * that is neither a component nor a relation is a number: a param or an extent. */
typedef struct tra_codegen_name {
    bool relation;   /* an array of one, of elements of type `value`; of dense type it is held densely, */
    bool rows, bits; /* else perhaps as rows. bits: elements are 64 bits each, of doubles or int64_t by its type */
    bool component;
    tra_component_kind kind;
    tra_element value;                 /* type of its elements */
    tra_element key[TRA_CALC_MAXRANK]; /* HASHMAP, TRIE */
    /* Facts about arrays, which spare the code its checks. NULL: not known. */
    const tra_calc *size;  /* how many elements it has, checked against the scope: compared at each call */
    const tra_calc *below; /* its elements, integers, are not negative and below this: the caller's word */
    bool natural;          /* a number: it is not negative (extents are not): compared at each call */
} tra_codegen_name;

typedef enum tra_codegen_result {
    TRA_CODEGEN_SCALAR, /* one number */
    TRA_CODEGEN_DENSE,  /* an array, row by row, which contributions are added into */
    TRA_CODEGEN_CALLS,  /* contributions one by one, as tra_calc_run gives them */
    TRA_CODEGEN_ROWS    /* entries, row by row: those that are not 0, each once, as lib/relation/rows.h has them */
} tra_codegen_result;

typedef struct tra_codegen_spec {
    const char *name;     /* of the statement, for comments and messages; NULL: these are without it */
    const tra_calc *plan; /* checked against the scope */
    int n;
    const tra_calc_name *scope;
    const tra_codegen_name *how;
    tra_codegen_result result;
    tra_element type; /* F64, F32 or I64, of the result's elements; computed is in double or int64_t all the same */
    const tra_calc *extent[TRA_CALC_MAXRANK]; /* of DENSE and ROWS: as many as the plan is deep, checked */
    /* Numbers of the scope may be as large as 64 bits hold. Without it they are below 2^31, and arrays below 2^40
     * elements, which is compared at each call (TRA_RESOURCE); then most integers need no check for overflow. */
    bool wide;
} tra_codegen_spec;

/* The C of a kernel. TRA_PROGRAM, with the reason, for plans that it has no code for: those over relations of
 * dense type that are held as rows, and results that are no integers as integers. */
TRA_MUSTUSE tra_status tra_codegen_source(const tra_codegen_spec *s, tra_str *out, tra_err *e);

/* ---- compiling and loading ------------------------------------------------------------------------------------ */

typedef enum tra_codegen_mode { TRA_CODEGEN_AUTO, TRA_CODEGEN_REQUIRE, TRA_CODEGEN_OFF } tra_codegen_mode;

/* The compiler and the folder of a process; thread-safe. What goes wrong (no compiler, a folder that is not the user's
 * or cannot be used) is told once as a warning, and kernels are interpreted from then on; under REQUIRE it is
 * TRA_RESOURCE with the same message. Nothing is looked for before the first kernel is wanted. */
typedef struct tra_codegen tra_codegen;
tra_codegen *tra_codegen_open(tra_codegen_mode mode);
void tra_codegen_close(tra_codegen *g); /* all its kernels too; NULL is allowed */

/* A kernel, for as long as g. compile: if it is not in the folder yet it is compiled; else (a rank of a host where
 * another one compiles) it is interpreted then. Equal kernels are one. Thread-safe. TRA_PROGRAM as tra_codegen_source,
 * unless the mode is OFF. The spec and its trees must live as long as the kernel. */
typedef struct tra_codegen_kernel tra_codegen_kernel;
TRA_MUSTUSE tra_status tra_codegen_make(tra_codegen *g, const tra_codegen_spec *s, bool compile,
                                        const tra_codegen_kernel **out, tra_err *e);
bool tra_codegen_compiled(const tra_codegen_kernel *k); /* else it is interpreted */
double tra_codegen_seconds(const tra_codegen *g);       /* spent in compilers so far */

/* ---- texts in the same folder ------------------------------------------------------------------------------------ */

/* What took long to be found, and is found again by the same program alone: kept under the rules of compiled kernels
 * (the folder is the user's alone, files end with a checksum, are written under another name and renamed). Without a
 * folder, or one that cannot be written, nothing is kept and nothing is said. */
const char *tra_kept_name(const char *text, size_t n, const char *suffix, tra_arena *a); /* of what asks for it */
const char *tra_kept_read(const char *name, tra_arena *a);                               /* NULL: there is none */
void tra_kept_write(const char *name, const char *text, tra_arena *a);
void tra_kept_only_read(void); /* from now on nothing is kept, and no folder made */

/* ---- running -------------------------------------------------------------------------------------------------- */

/* Entries of a result, in the parts of lib/relation/rows.h. The room is the caller's: at least what tra_codegen_count
 * said. */
typedef struct tra_codegen_rows {
    int64_t *row, *begin; /* begin: one more than rows */
    uint32_t *column;
    void *value;             /* of the spec's type */
    int64_t room_rows, room; /* rows and entries that there is room for */
    int64_t nrows, n;        /* that were made */
} tra_codegen_rows;

/* The array of a relation: the coordinates from `origin` on, `length` of them along each dimension. All but the last
 * make a row: number `first` plus, for each, the distance from the origin times its stride. A dense row has `width`
 * elements; else `row`, `begin` and `column` (a distance from the origin) are as lib/relation/rows.h has them. */
typedef struct tra_codegen_operand {
    const void *value;
    const int64_t *row, *begin;
    const uint32_t *column;
    int64_t nrows, first, width;
    int64_t extent[TRA_CALC_MAXRANK]; /* of the tensor */
    int64_t origin[TRA_CALC_MAXRANK], length[TRA_CALC_MAXRANK], stride[TRA_CALC_MAXRANK];
} tra_codegen_operand;

typedef struct tra_codegen_call {
    const tra_calc_free *scope;         /* as for the interpreter; all contents are given, of the types of the spec */
    void *out;                          /* SCALAR, DENSE: of the spec's type, added into */
    const tra_codegen_operand *operand; /* of relations, by name of the scope, which has them as functions too */
    tra_calc_sink *sink;                /* CALLS */
    void *ctx;
    tra_codegen_rows *rows;  /* ROWS */
    void *memory;            /* for dictionaries and accumulators, `most` bytes aligned to 64; NULL: of the system */
    int64_t most;            /* bytes that these may take; 0: any, of the system */
    bool exact;              /* tra_codegen_count: see there */
    const atomic_bool *stop; /* looked at now and then: the result is of no use then. NULL: none */
} tra_codegen_call;

/* An upper bound of the rows and entries that a kernel of ROWS makes on these operands: a pass over structure alone.
 * exact: the places that are written to, by all loops of the kernel; of these only what comes to 0 is no entry.
 * Interpreted: entries. */
TRA_MUSTUSE tra_status tra_codegen_count(const tra_codegen_kernel *k, const tra_codegen_call *c, int64_t *rows,
                                         int64_t *entries, tra_err *e);
/* One call of a kernel, in any thread. Errors are the interpreter's: TRA_INPUT (division by 0, overflow, a key outside
 * of the extents, named), TRA_RESOURCE. @unique is taken at its word by compiled code. */
TRA_MUSTUSE tra_status tra_codegen_run(const tra_codegen_kernel *k, const tra_codegen_call *c, tra_err *e);
/* Bytes of memory that a call takes beside its operands and result, apart from dictionaries: accumulators of a row. */
int64_t tra_codegen_scratch(const tra_codegen_kernel *k, const tra_codegen_call *c);

#endif
