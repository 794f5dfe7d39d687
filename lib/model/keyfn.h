/* keyfn.h - functions of keys: the integer expressions of rekey and the predicates of filter.
 *
 * Integers have 64 bits; / rounds down, a % b = a - b*(a/b). Comparisons and logic give 1 or 0; && and || look at their
 * right side only when it matters.
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

/* A function of keys of arity `arity`: n expressions, one for each component of the new key (of a filter one, the
 * predicate). names are those of the parameters. */
typedef struct tra_keyfn {
    int arity;
    const char *names[TRA_MAXDIM];
    int n;
    const tra_keyexpr *expr[TRA_MAXDIM];
} tra_keyfn;

/* New expressions in the arena: an operator with its operands (NULL where it has none), an integer, component d. */
const tra_keyexpr *tra_keyexpr_of(tra_arena *a, tra_keyop op, const tra_keyexpr *x, const tra_keyexpr *y);
const tra_keyexpr *tra_keyexpr_int(tra_arena *a, int64_t v);
const tra_keyexpr *tra_keyexpr_component(tra_arena *a, int d);
/* A new function of those n expressions. names: of the parameters; NULL: they are k0, k1, ... */
const tra_keyfn *tra_keyfn_new(tra_arena *a, int arity, const char *const *names, int n,
                               const tra_keyexpr *const *expr);

/* The value of the expression at key. TRA_PROGRAM, naming the key if it has components: division by
 * zero, overflow. */
TRA_MUSTUSE tra_status tra_keyexpr_eval(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e);
/* The new key. Errors as above; also TRA_PROGRAM for a component that is negative. */
TRA_MUSTUSE tra_status tra_keyfn_eval(const tra_keyfn *f, const tra_dims *key, tra_dims *out, tra_err *e);
uint32_t tra_keyexpr_vars(const tra_keyexpr *x); /* the set (bits) of key components that it reads */
/* Is x nothing but a variable? Then its index goes to *var (if not NULL). */
bool tra_keyexpr_is_var(const tra_keyexpr *x, int *var);
/* x with each variable i replaced by by[i], in the arena. */
const tra_keyexpr *tra_keyexpr_replace(tra_arena *a, const tra_keyexpr *x, const tra_keyexpr *const *by);
int tra_keyexpr_size(const tra_keyexpr *x); /* how many operators, literals and variables it has */
/* A total order of expressions; 0: equal. Names of parameters do not count. */
int tra_keyexpr_compare(const tra_keyexpr *x, const tra_keyexpr *y);
void tra_keyfn_print(const tra_keyfn *f, bool predicate, tra_str *out); /* "(i,j) -> (j,i)", "(i,j) -> i<j" */

#endif
