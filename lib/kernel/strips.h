/* strips.h - the machine that computes with elements of arrays, a strip at a time: vector loops of scalar operators,
 * loading and storing of any type, programs of these loops for operands of certain types, loops over strided arrays. */
#ifndef TRA_STRIPS_H
#define TRA_STRIPS_H

#include "../base/parallel.h"
#include "steps.h"

/* Registers of a program: of an expression more would take 2^38 operators, and a composition of several takes one more
 * than the greediest. */
enum { TRA_MAXREGS = 40 };
enum { TRA_STRIP = 512 }; /* elements that one instruction handles at a time: 4 KiB of f64 stay in the first cache */

enum { TRA_CODE_ARGS = 8 }; /* arguments of a program, at most */

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
void tra_add_f32(double *acc, const float *x, int64_t n);              /* acc[i] += x[i] */
void tra_fill_strip(void *d, tra_dtype t, const void *one, int64_t n); /* d[i] = *one */
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
    tra_dtype load[TRA_CODE_ARGS]; /* the type that each argument is to have */
    tra_dtype type;                /* of the result */
    bool alike;                    /* all is of one floating type: the instructions of code, in that */
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

/* dst[.s[1]] = src[.s[0]] over the nest; element types may differ. */
void tra_strided_copy(void *dst, tra_dtype dt, const void *src, tra_dtype st, const tra_nest *nest);
/* dst[.s[1]] = fold of src[.s[0]] over `reduced`, for each step of `kept`. Folded in the type of sums of src's
 * elements. sparse: a 0 of src annihilates in a product. */
void tra_strided_reduce(tra_scalar_op fold, double identity, void *dst, tra_dtype dt, const void *src, tra_dtype st,
                        const tra_nest *kept, const tra_nest *reduced, bool sparse);
/* Reductions over fewer elements than this are computed for a strip of results at a time, instead of one result after
 * the other. */
enum { TRA_SHORT = 32 };

/* ---- the rule of values ------------------------------------------------------------------------------------- */

/* What is known of a value by the form of the expression that computes it, where all arguments of sparse type are 0,
 * whatever the others are: of an argument, of a number, and of the result of an operator by its operands. */
typedef struct tra_known {
    double low, high; /* it is not outside of these; of a number that is NaN: both NaN */
    bool nan;         /* it may be NaN */
    bool reads;       /* it depends on an argument */
    bool entries;     /* it depends on an argument of sparse type */
    bool sparse;      /* it is of sparse type itself */
} tra_known;
tra_known tra_known_argument(bool sparse);
tra_known tra_known_number(double v);
tra_known tra_known_result(tra_scalar_op op, const tra_known *x);
bool tra_known_is_fixed(const tra_known *x); /* is it one number? */
/* Is the result of the code of sparse type, where sparse[i] says whether argument i is? kill (NULL, or a number for
 * each instruction; 0 where *any (or NULL) is false) has bit 0 where the result of an instruction must be 0 where its
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

#endif
