/* keyfn.h - functions of keys: the integer expressions of rekey and the predicates of filter.
 *
 * Integers are 64 bits; / floors, a % b = a - b*(a/b). Comparisons and logic give 1 or 0; && and || evaluate lazily.
 */
#ifndef TRA_KEYFN_H
#define TRA_KEYFN_H

#include "relation.h"

#define TRA_KEYOPS(X)                                                                                                  \
    X(INT, 0, "int")                                                                                                   \
    X(VAR, 0, "var")                                                                                                   \
    X(ADD, 2, "+")                                                                                                     \
    X(SUB, 2, "-")                                                                                                     \
    X(MUL, 2, "*")                                                                                                     \
    X(DIV, 2, "/")                                                                                                     \
    X(MOD, 2, "%")                                                                                                     \
    X(LT, 2, "<")                                                                                                      \
    X(LE, 2, "<=")                                                                                                     \
    X(GT, 2, ">")                                                                                                      \
    X(GE, 2, ">=")                                                                                                     \
    X(EQ, 2, "==")                                                                                                     \
    X(NE, 2, "!=")                                                                                                     \
    X(AND, 2, "&&")                                                                                                    \
    X(OR, 2, "||")                                                                                                     \
    X(MIN, 2, "min")                                                                                                   \
    X(MAX, 2, "max")                                                                                                   \
    X(NEG, 1, "-")                                                                                                     \
    X(NOT, 1, "!")                                                                                                     \
    X(ABS, 1, "abs")
typedef enum tra_keyop {
#define X(name, arity, text) TRA_KEY_##name,
    TRA_KEYOPS(X)
#undef X
} tra_keyop;

typedef struct tra_keyexpr tra_keyexpr;
struct tra_keyexpr {
    tra_keyop op;
    int64_t value; /* INT */
    int var;       /* VAR: index of the key component */
    const tra_keyexpr *a, *b;
};

/* A function of keys of arity `arity`: n expressions (filter: one, the predicate). names are the parameters. */
typedef struct tra_keyfn {
    int arity;
    const char *names[TRA_MAXDIM];
    int n;
    const tra_keyexpr *expr[TRA_MAXDIM];
} tra_keyfn;

/* Value of the expression at key. TRA_PROGRAM naming the key: division by zero, overflow. */
TRA_MUSTUSE tra_status tra_keyexpr_eval(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e);
/* The new key. As above; also a negative component. */
TRA_MUSTUSE tra_status tra_keyfn_eval(const tra_keyfn *f, const tra_dims *key, tra_dims *out, tra_err *e);
uint32_t tra_keyexpr_vars(const tra_keyexpr *x); /* set of key components it reads */
/* True when x is the plain variable, whose index goes to *var. */
bool tra_keyexpr_is_var(const tra_keyexpr *x, int *var);
/* x with variable i replaced by by[i], in the arena. */
const tra_keyexpr *tra_keyexpr_replace(tra_arena *a, const tra_keyexpr *x, const tra_keyexpr *const *by);
int tra_keyexpr_size(const tra_keyexpr *x); /* operators, literals and variables in it */
/* A total order of expressions; 0: equal. Names do not count. */
int tra_keyexpr_compare(const tra_keyexpr *x, const tra_keyexpr *y);
void tra_keyfn_print(const tra_keyfn *f, bool predicate, tra_str *out); /* "(i,j) -> (j,i)", "(i,j) -> i<j" */

#endif
