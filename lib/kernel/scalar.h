/* scalar.h - scalar expressions: operators on the elements of arrays, and trees of these. */
#ifndef TRA_SCALAR_H
#define TRA_SCALAR_H

#include "../model/relation.h"
#include "functions.h"

/* Operators of scalar expressions: name in C, arity, text, class of the result's type, definition on doubles (a, b, c).
 * max and min give NaN if an operand is NaN; comparisons give 1 or 0 (0 with NaN, != gives 1). if gives b where a is
 * not 0, else c: what it does not give does not matter. mod has the sign of b and div is the floor of the quotient (of
 * integers both are 0 where b is), round is half to even. STEP is 1 where positive, else 0, in its operand's type.
 * WIDE changes nothing but that the arithmetic of the whole expression makes i64 of integers, as in what a sum adds up.
 *
 * Classes, for operands that were brought to one type: SAME that type; SUM the same, but i32 for bools (all integers
 * i64 where WIDE); PRODUCT the same (i64 where WIDE); POWER the type of the base where the exponent is a whole number
 * of the program, else as REAL: f64 for integers; BOOL bool; IF the type that holds both branches; CAST its own. */
#define TRA_SCALARS(X)                                                                                                 \
    X(CONST, 0, "const", SAME, 0)                                                                                      \
    X(ARG, 0, "arg", SAME, 0)                                                                                          \
    TRA_OPERATORS(TRA_SCALAR_OPERATOR, X)                                                                              \
    TRA_PARTS(TRA_SCALAR_PART, X)                                                                                      \
    TRA_REALS(TRA_SCALAR_REAL, X)                                                                                      \
    TRA_CASTS(TRA_SCALAR_CAST, X)                                                                                      \
    X(STEP, 1, "relu_grad", SAME, a > 0)                                                                               \
    X(WIDE, 1, "wide", SAME, a)                                                                                        \
    X(SOME, 1, "some", BOOL, a != 0) /* of a number of rows: 0 is an error */
typedef enum tra_scalar_op {
#define X(name, arity, text, cls, def) TRA_S_##name,
    TRA_SCALARS(X)
#undef X
        TRA_S_COUNT,
    TRA_S_ARGMAX,
    TRA_S_ARGMIN /* folds, no operators: the first place of the greatest or least; NaN is both */
} tra_scalar_op;
static inline bool tra_fold_places(tra_scalar_op fold) { return fold > TRA_S_COUNT; }

/* What a number that the program writes is, beside elements of integers. */
typedef enum tra_number_form {
    TRA_NUMBER_PLAIN, /* as its value says: whole, or a float */
    TRA_NUMBER_REAL,  /* a float whose value is whole: 1.0, 1e3 */
    TRA_NUMBER_EXACT, /* whole, of 2^53 or more: `whole` is the value, which f64 may not have */
} tra_number_form;

typedef struct tra_scalar tra_scalar;
struct tra_scalar {
    tra_scalar_op op;
    double value;         /* CONST */
    tra_number_form form; /* CONST */
    int64_t whole;        /* CONST, EXACT */
    int arg;              /* ARG: index of the argument */
    const tra_scalar *a, *b, *c;
};
typedef enum tra_scalar_class {
    TRA_SC_SAME,
    TRA_SC_SUM,
    TRA_SC_PRODUCT,
    TRA_SC_POWER,
    TRA_SC_REAL,
    TRA_SC_BOOL,
    TRA_SC_IF,
    TRA_SC_CAST
} tra_scalar_class;
int tra_scalar_arity(tra_scalar_op op);
tra_scalar_class tra_scalar_class_of(tra_scalar_op op);
tra_dtype tra_scalar_cast(tra_scalar_op op); /* what a CAST gives */
/* Is the type of the result, whatever those of the operands: of comparisons and casts? */
static inline bool tra_scalar_has_own_type(tra_scalar_op op) {
    return tra_scalar_class_of(op) == TRA_SC_BOOL || tra_scalar_class_of(op) == TRA_SC_CAST;
}
const char *tra_scalar_text(tra_scalar_op op);
double tra_mod(double a, double b); /* a - b * floor(a / b), of the sign of b; NaN where b is 0 */
/* The function of that name with so many arguments (exp, log, max, pow, ...); -1 if none. */
int tra_scalar_find(const char *name, int arity);
const char *tra_scalar_function(int i); /* the name of function i, whatever its arity; NULL after the last */
double tra_scalar_eval(const tra_scalar *s, const double *args); /* one element: the definition */
/* The CONST of a whole number, and of a float, as the program writes them. */
tra_scalar tra_scalar_of_whole(int64_t v);
tra_scalar tra_scalar_of_real(double v);
/* The number that an operator on numbers gives. */
void tra_scalar_fold(const tra_scalar *s, tra_scalar *out);
void tra_scalar_print(const tra_scalar *s, const char *const *args, tra_str *out); /* args: names of the arguments */

#endif
