/* functions.h - the table of functions of numbers: whoever adds a row of TRA_REALS has the function in EinSum
 * statements, functions of elements, kernels of transform, expressions over columns, and the reference evaluator. Rows
 * of TRA_PARTS and TRA_OPERATORS have loops and definitions of the reference of their own (ARCHITECTURE.md, "How to
 * add").
 */
#ifndef TRA_FUNCTIONS_H
#define TRA_FUNCTIONS_H

/* The operators and functions that EinSum, functions of elements and tables share: the one table of them. F makes of a
 * row one of the table X. Rows of TRA_OPERATORS: name in C, arity, text, text in tables, class of the result's type
 * (scalar.h) and the one in tables (table.h), definition on doubles. Rows of TRA_REALS: name in C, arity,
 * text, definition, and the loop over a strip of vectors x, y (strip_body.h); they give floats.
 * Rows of TRA_PARTS, of one argument: name in C, text, class, definition; in tables whole numbers stay such. A function
 * of TRA_UNARY has the same name here, in the C library and in SLEEF (declared in strip.c). */
#define TRA_OPERATORS(F, X)                                                                                            \
    F(X, ADD, 2, "+", "+", SUM, SUM, a + b)                                                                            \
    F(X, SUB, 2, "-", "-", SUM, SUM, a - b)                                                                            \
    F(X, MUL, 2, "*", "*", PRODUCT, PRODUCT, a *b)                                                                     \
    F(X, DIV, 2, "/", "/", REAL, REAL, a / b)                                                                          \
    F(X, POW, 2, "^", "^", POWER, REAL, pow(a, b))                                                                     \
    F(X, LT, 2, "<", "<", BOOL, COMPARISON, a < b)                                                                     \
    F(X, LE, 2, "<=", "<=", BOOL, COMPARISON, a <= b)                                                                  \
    F(X, GT, 2, ">", ">", BOOL, COMPARISON, a > b)                                                                     \
    F(X, GE, 2, ">=", ">=", BOOL, COMPARISON, a >= b)                                                                  \
    F(X, EQ, 2, "==", "==", BOOL, COMPARISON, a == b)                                                                  \
    F(X, NE, 2, "!=", "!=", BOOL, COMPARISON, a != b)                                                                  \
    F(X, AND, 2, "&&", "&&", BOOL, LOGIC, a != 0 && b != 0)                                                            \
    F(X, OR, 2, "||", "||", BOOL, LOGIC, a != 0 || b != 0)                                                             \
    F(X, NOT, 1, "!", "!", BOOL, LOGIC, a == 0)                                                                        \
    F(X, IF, 3, "if", "if", IF, CHOICE, a != 0 ? b : c)                                                                \
    F(X, MAX, 2, "max", "max", SAME, CHOICE, a != a || b != b ? a + b : a > b ? a : b)                                 \
    F(X, MIN, 2, "min", "min", SAME, CHOICE, a != a || b != b ? a + b : a < b ? a : b)                                 \
    F(X, MOD, 2, "mod", "%", SAME, QUOTIENT, tra_mod(a, b))                                                            \
    F(X, IDIV, 2, "div", "div", SAME, QUOTIENT, floor(a / b))                                                          \
    F(X, NEG, 1, "neg", "-", SUM, SIGN, -a)                                                                            \
    F(X, ABS, 1, "abs", "abs", PRODUCT, SIGN, fabs(a))
#define TRA_UNARY(G, F, X)                                                                                             \
    G(F, X, EXP, exp)                                                                                                  \
    G(F, X, EXPM1, expm1)                                                                                              \
    G(F, X, LOG, log)                                                                                                  \
    G(F, X, LOG1P, log1p)                                                                                              \
    G(F, X, LOG10, log10)                                                                                              \
    G(F, X, SIN, sin)                                                                                                  \
    G(F, X, COS, cos)                                                                                                  \
    G(F, X, TAN, tan)                                                                                                  \
    G(F, X, ASIN, asin)                                                                                                \
    G(F, X, ACOS, acos)                                                                                                \
    G(F, X, ATAN, atan)                                                                                                \
    G(F, X, TANH, tanh)                                                                                                \
    G(F, X, ERF, erf)
#define TRA_UNARY_ROW(F, X, NAME, name) F(X, NAME, 1, #name, name(a), UNARY(name))
#define TRA_REALS(F, X)                                                                                                \
    F(X, HYPOT, 2, "hypot", hypot(a, b), BINARY(hypot, u05))                                                           \
    F(X, ATAN2, 2, "atan2", atan2(a, b), BINARY(atan2, u10))                                                           \
    F(X, SQRT, 1, "sqrt", sqrt(a), VECTORS(((void)y, ROOT(x))))                                                        \
    TRA_UNARY(TRA_UNARY_ROW, F, X)                                                                                     \
    F(X, SINH, 1, "sinh", sinh(a), HYPERBOLIC(sinh))                                                                   \
    F(X, COSH, 1, "cosh", cosh(a), HYPERBOLIC(cosh))                                                                   \
    F(X, SIGMOID, 1, "sigmoid", 1 / (1 + exp(-a)), VECTORS(((void)y, (T)1 / ((T)1 + ELEMENTARY(exp, u10)(-x)))))       \
    F(X, RADIANS, 1, "radians", a *(3.14159265358979323846 / 180), LOOP((double)a[i] * (3.14159265358979323846 / 180)))
#define TRA_PARTS(F, X)                                                                                                \
    F(X, ISNAN, "isnan", BOOL, isnan(a) != 0)                                                                          \
    F(X, ISINF, "isinf", BOOL, isinf(a) != 0)                                                                          \
    F(X, SIGN, "sign", SAME, a > 0 ? 1 : a < 0 ? -1 : a)                                                               \
    F(X, FLOOR, "floor", SAME, floor(a))                                                                               \
    F(X, CEIL, "ceil", SAME, ceil(a))                                                                                  \
    F(X, ROUND, "round", SAME, rint(a))                                                                                \
    F(X, TRUNC, "trunc", SAME, trunc(a))                                                                               \
    F(X, RELU, "relu", SAME, a != a ? a : a > 0 ? a : 0.0)

/* Casts, in tensors (tables have theirs in calls.h): name in C, element type, definition. To a whole number without the
 * fraction; what does not fit is an error. */
#define TRA_CASTS(F, X)                                                                                                \
    F(X, TO_BOOL, BOOL, "bool", a != 0)                                                                                \
    F(X, TO_I32, I32, "i32", trunc(a))                                                                                 \
    F(X, TO_I64, I64, "i64", trunc(a))                                                                                 \
    F(X, TO_F32, F32, "f32", (double)(float)a)                                                                         \
    F(X, TO_F64, F64, "f64", a)

#define TRA_SCALAR_OPERATOR(X, name, arity, text, in_tables, cls, class_in_tables, def) X(name, arity, text, cls, def)
#define TRA_SCALAR_CAST(X, name, type, text, def)                                       X(name, 1, text, CAST, def)
#define TRA_SCALAR_REAL(X, name, arity, text, def, loop)                                X(name, arity, text, REAL, def)
#define TRA_SCALAR_PART(X, name, text, cls, def)                                        X(name, 1, text, cls, def)

#endif
