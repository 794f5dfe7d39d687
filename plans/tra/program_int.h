/* program_int.h - what program.c (nodes that run a tensor statement as a program) and program_walk.c (which loops and
 * relations the statement has) share. */
#ifndef TRA_PROGRAM_INT_H
#define TRA_PROGRAM_INT_H

#include "../../lib/kernel/program.h"
#include "lower.h"
#include "program.h"

/* Stand for a loop's number where a dimension has none: WHOLE, no outer loop runs over it, so that the relation must be
 * whole along it; UNSET, nothing is known of it yet. */
enum { WHOLE = -1, UNSET = -2 };

/* A loop at the outside of the program: not below a sum of something else, a condition on values, or a function. */
typedef struct outer {
    int level; /* of its binder */
    int64_t extent;
    bool looped;   /* some generator runs it over a relation that stays cut along it */
    int64_t block; /* extent of the blocks in which it runs; 0: no relation is cut along it */
    double bytes;  /* of the relation that has these blocks: the largest decides */
    int number;    /* among the program's labels, or -1 */
} outer;

/* A use of a relation in the statement. */
typedef struct use {
    int relation;          /* number in the scope */
    tra_calc *x;           /* where it stands */
    int label[TRA_MAXDIM]; /* of each dimension the outer loop that runs over it, WHOLE or UNSET */
    uint32_t looked_up;    /* dimensions whose positions are looked up, which some loop must run over in blocks */
    int same;              /* the use that reads it by the same loops, or its own number */
} use;

/* A relation of which the first n dimensions are given: what is left of it. */
typedef struct part {
    int use, n;   /* use -1: it is no relation */
    double share; /* about how many different values the first n dimensions have: of a sparse relation no more than it
                     has entries */
} part;

typedef enum bound_kind { IS_OTHER, IS_LOOP, IS_PART } bound_kind;

typedef struct bound {
    bound_kind kind;
    int loop;       /* LOOP: its number among those at the outside, or -1 */
    int64_t extent; /* LOOP: of its domain, or -1 where that is not known */
    part part;      /* PART */
    bool sparse;    /* a dictionary whose elements are all made in loops over sparse relations */
    double n;       /* about how many elements it has */
} bound;

typedef struct analysis {
    tra_build *b;
    const tra_tensor_scope *scope;
    int nouter;
    outer outer[TRA_PROGRAM_MOST];
    int nuses;
    use use[TRA_PROGRAM_MOST];
    bound *bound; /* by level */
    int nout;
    int key[TRA_MAXDIM]; /* of each dimension of the result the outer loop that is its key in every contribution, or -1
                          */
    int64_t domain[TRA_MAXDIM]; /* how many values that key has, or -1: not known */
    bool any_key;
    const tra_calc *many; /* the place at which there are more than TRA_PROGRAM_MOST of something, or NULL */
} analysis;

/* What is around an expression. */
typedef struct around {
    bool outside; /* nothing but loops at the outside, if, let and factors */
    bool sparse;  /* a loop over a relation of sparse type */
    double times; /* how often it is evaluated, about */
    int nkeys;    /* of the result that it is below */
    bool result;  /* it is a part of the result, not of a value that a name stands for */
} around;

/* What an expression contributes. */
typedef struct given {
    bool sparse; /* all of it is made in loops over what is sparse, or is 0 */
    double n;    /* contributions */
} given;

tra_calc *tra_program_copy_tree(tra_arena *a, const tra_calc *x);
int tra_program_levels_in(const tra_calc *x);
given tra_program_walk(analysis *s, tra_calc *x, around in);
const tra_calc_operand *tra_program_operand_of(const analysis *s, int use);
const tra_node *tra_program_node_of(const analysis *s, int use);

#endif
