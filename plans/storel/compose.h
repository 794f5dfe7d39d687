/* compose.h - naive plans: a statement on one combination of arrays, composed with the storages of its operands
 * (STOREL, section 5.1).
 *
 *     let A = MAPPING, .. in sum(<(i, j), a> in A, .., <k, _> in 0:n_k, ..) {(i, k) -> a * x(k)}
 *
 * Operands of sparse type that are factors are looped over, all others looked up; dense arrays have no mapping. The
 * scope has a number for the extent of each label, params and origins as mappings ask for them, and the components of
 * each operand under its name: A_values, A_indices_1. */
#ifndef TRA_STOREL_COMPOSE_H
#define TRA_STOREL_COMPOSE_H

#include "../tra/tra.h"
#include "storel.h"

/* An operand of a statement: the arrays of a reference. Counts are of one array, on average. */
typedef struct tra_storel_operand {
    const char *name;           /* if it is no name of the calculus, one is made from it */
    const tra_storage *storage; /* of its arrays; NULL: the dense array, row by row */
    bool real, sparse;          /* its elements are reals; its type is sparse */
    int same;                   /* a reference before this one that has the same array in each combination; -1: none */
    double entries;             /* NAN: not known */
    double positions[TRA_CALC_MAXRANK]; /* of storages by levels: at each level; 0: estimated from the entries */
    double squares[TRA_CALC_MAXRANK];   /* the sum over the parents of the square of what they have; 0: not known */
} tra_storel_operand;

typedef enum tra_storel_source_kind {
    TRA_STOREL_EXTENT,   /* of label `which` */
    TRA_STOREL_ORIGIN,   /* of operand's array along dimension `which` */
    TRA_STOREL_COMPONENT /* `which` of operand's storage, or its elements where that is NULL */
} tra_storel_source_kind;

/* What a name of the scope stands for in a combination of arrays. */
typedef struct tra_storel_source {
    tra_storel_source_kind kind;
    int operand, which;
    tra_component_kind component;
    const tra_calc *size; /* of an array, checked against the scope: how many elements it has */
} tra_storel_source;

typedef struct tra_storel_composed {
    tra_storel_problem problem;      /* plans, costs and rules are for the caller to say */
    const tra_storel_source *source; /* of each name of the scope */
} tra_storel_composed;

/* extent: of each label, in the arrays (on average). TRA_NO, with the reason, for statements that the calculus has no
 * words for: other folds than sums, functions that it lacks. Everything in the arena. */
TRA_MUSTUSE tra_status tra_storel_compose(const tra_einsum *s, const double *extent, const tra_storel_operand *operand,
                                          tra_arena *a, tra_storel_composed *out, tra_err *e);

#endif
