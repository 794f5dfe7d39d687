/* codegen.h - physical plans of the calculus as C: writing, compiling, caching, loading and running kernels.
 *
 * After STOREL, section 5. A physical plan is a tree of the calculus (calculus.h) over components and numbers that says
 * everything: loops and their order, what is looked up, merged, or materialised by let, and how (@dense, @hash). It is
 * translated literally, so that what is explained is what runs. The interpreter of lib/calculus runs the same plan to
 * the same bits; it is used where there is no compiled code: without a compiler, without a folder that can be written
 * to and executed from, with --codegen off. Knows lib/base and lib/calculus.
 *
 * The order of sums is the same in both: loops run over ascending keys, and what belongs to one number, to one element
 * of a result, or to one key of a dictionary is added in the order of the loops. So loops whose iterations add to
 * different elements are vectorised, and loops that add up one number are not. NaN may differ in its bits.
 */
#ifndef TRA_CODEGEN_H
#define TRA_CODEGEN_H

#include "../calculus/calculus.h"

#include <stdatomic.h>

/* ---- what a kernel is ----------------------------------------------------------------------------------------- */

/* What is known of a name of the plan's scope when code is written; its contents come with each call. A name that is
 * neither a component nor a relation is a number: a param or an extent. */
typedef struct tra_codegen_name {
    bool relation;   /* an array of a relation, with elements of type `value`; of dense type it is held densely, */
    bool rows, bits; /* else, if `rows`, as entries. bits: elements have 64 bits, of doubles or int64_t by the type */
    bool component;
    tra_component_kind kind;
    tra_element value;                 /* type of its elements in memory */
    tra_element key[TRA_CALC_MAXRANK]; /* HASHMAP, TRIE */
    /* Facts about arrays, which make checks in the code unnecessary. NULL: not known. */
    const tra_calc *size;  /* its number of elements, a tree checked against the scope; verified at each call */
    const tra_calc *below; /* its elements are integers >= 0 and below this; the caller guarantees it */
    bool natural;          /* a number that is not negative, as extents are; verified at each call */
} tra_codegen_name;

typedef enum tra_codegen_result {
    TRA_CODEGEN_SCALAR, /* one number */
    TRA_CODEGEN_DENSE,  /* a row-major array, to which contributions are added */
    TRA_CODEGEN_CALLS,  /* contributions one by one, as from tra_calc_run */
    TRA_CODEGEN_ROWS    /* entries that are not 0, each once, row by row (lib/model/rows.h), in order */
} tra_codegen_result;

typedef struct tra_codegen_spec {
    const char *name;     /* name of the statement, for comments and messages; NULL: none */
    const tra_calc *plan; /* checked against the scope */
    int n;
    const tra_calc_name *scope;
    const tra_codegen_name *how;
    tra_codegen_result result;
    tra_element type; /* of the result's elements: F64, F32 or I64; sums are in double or int64_t all the same */
    const tra_calc *extent[TRA_CALC_MAXRANK]; /* DENSE and ROWS: one for each dimension of the plan, checked trees */
    /* Numbers of the scope may need 64 bits. Without it they must be below 2^31, and arrays below 2^40 elements, which
     * is verified at each call (TRA_RESOURCE); then most integers need no check for overflow. */
    bool wide;
    bool interpreted; /* it is never compiled */
} tra_codegen_spec;

/* Appends the C of a kernel to out. TRA_PROGRAM, with the reason, for plans that no code can be written for: over
 * relations of dense type that are held as rows, and results with reals that are to be integers. */
TRA_MUSTUSE tra_status tra_codegen_source(const tra_codegen_spec *s, tra_str *out, tra_err *e);

/* ---- compiling and loading ------------------------------------------------------------------------------------ */

typedef enum tra_codegen_mode { TRA_CODEGEN_AUTO, TRA_CODEGEN_REQUIRE, TRA_CODEGEN_OFF } tra_codegen_mode;

/* The compiler and the cache folder of a process; thread-safe. What goes wrong (no compiler, a folder that is not the
 * user's or cannot be used) is a warning, once, and kernels are interpreted from then on; under REQUIRE it is
 * TRA_RESOURCE with the same message. Nothing is looked for before the first kernel is wanted. */
typedef struct tra_codegen tra_codegen;
tra_codegen *tra_codegen_open(tra_codegen_mode mode);
void tra_codegen_close(tra_codegen *g); /* its kernels end too; NULL is allowed */

/* Is there a compiler, by its name alone? */
bool tra_codegen_has_compiler(void);

/* Makes a kernel, which lives as long as g. compile: if it is not in the cache it is compiled; without it (on a host
 * where another rank compiles) it is then interpreted, as is what has no code (tra_codegen_source). Equal
 * kernels share an object. Thread-safe. The spec and its trees must live as long as the kernel. */
typedef struct tra_codegen_kernel tra_codegen_kernel;
TRA_MUSTUSE tra_status tra_codegen_make(tra_codegen *g, const tra_codegen_spec *s, bool compile,
                                        const tra_codegen_kernel **out, tra_err *e);
/* Is it compiled, not interpreted? */
bool tra_codegen_compiled(const tra_codegen_kernel *k);

/* ---- texts in the same folder ------------------------------------------------------------------------------------ */

/* Texts that took long to compute and depend on the program alone are cached as kernels are (the folder is the user's
 * alone, files end with a checksum, and are written under another name and renamed). Without a folder, or one that
 * cannot be written to, nothing is cached and there is no message. */
const char *tra_plan_cache_name(const char *text, size_t n, const char *suffix,
                                tra_arena *a);                   /* the file name for a request */
const char *tra_plan_cache_read(const char *name, tra_arena *a); /* NULL: it is not cached */
void tra_plan_cache_write(const char *name, const char *text, tra_arena *a);
void tra_plan_cache_only_read(void); /* from now on nothing is written, and no folder created */

/* ---- running -------------------------------------------------------------------------------------------------- */

/* The entries of a result, in the parts of lib/model/rows.h. The caller gives room for at least what
 * tra_codegen_count said. */
typedef struct tra_codegen_rows {
    int64_t *row, *begin; /* begin has one more element than row */
    uint32_t *column;
    void *value;             /* of the spec's type */
    int64_t room_rows, room; /* rows and entries for which there is room */
    int64_t nrows, n;        /* rows and entries that were made */
} tra_codegen_rows;

/* The array of a relation: coordinates origin[d] .. origin[d] + length[d] - 1 of a tensor of these extents. All
 * coordinates but the last make up a row, whose number is `first` plus the sum of distance from the origin times
 * stride. A dense row has `width` elements; otherwise row, begin and column (a distance from the origin) are as in
 * lib/model/rows.h. */
typedef struct tra_codegen_operand {
    const void *value;
    const int64_t *row, *begin;
    const uint32_t *column;
    int64_t nrows, first, width;
    int64_t extent[TRA_CALC_MAXRANK]; /* of the tensor */
    int64_t origin[TRA_CALC_MAXRANK], length[TRA_CALC_MAXRANK], stride[TRA_CALC_MAXRANK];
} tra_codegen_operand;

typedef struct tra_codegen_call {
    const tra_calc_free *scope; /* as for the interpreter; everything has its contents, of the types of the spec */
    void *out;                  /* SCALAR, DENSE: elements of the spec's type, to which is added */
    const tra_codegen_operand *operand; /* of relations, by number in the scope, where they are functions too */
    tra_calc_sink *sink;                /* CALLS */
    void *ctx;
    tra_codegen_rows *rows; /* ROWS */
    void *memory;           /* for dictionaries and accumulators: `most` bytes aligned to 64; NULL: from malloc */
    int64_t most;           /* the most bytes that these may take; 0: any, where memory is NULL or it is interpreted */
    const atomic_bool
        *stop; /* looked at now and then: when true the kernel ends early and the result is useless; NULL: none */
} tra_codegen_call;

/* Counts the rows and entries that a kernel of ROWS makes on these operands, by running all loops: compiled code counts
 * the places that are written to, of which those whose sum is 0 are then no entries. */
TRA_MUSTUSE tra_status tra_codegen_count(const tra_codegen_kernel *k, const tra_codegen_call *c, int64_t *rows,
                                         int64_t *entries, tra_err *e);
/* Runs a kernel, in any thread. Errors are those of the interpreter: TRA_INPUT (division by 0, overflow, a key outside
 * of the extents, which is named), TRA_RESOURCE. Compiled code relies on @unique without checking it. */
TRA_MUSTUSE tra_status tra_codegen_run(const tra_codegen_kernel *k, const tra_codegen_call *c, tra_err *e);

#endif
