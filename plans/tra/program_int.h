/* program_int.h - what program.c (the nodes that run a tensor statement as a program) and program_walk.c (the loops and
 * relations of the statement) share. */
#ifndef TRA_PLANS_PROGRAM_INT_H
#define TRA_PLANS_PROGRAM_INT_H

#include "../../lib/kernel/program.h"
#include "lower.h"
#include "tensor_int.h"

/* In place of the number of an outer loop: WHOLE, no outer loop runs over the dimension, so that the relation must not
 * be cut along it; UNSET, nothing is known of the dimension yet. */
enum { WHOLE = -1, UNSET = -2 };

/* A loop at the outside of the program: not below a sum of something else, a condition on values, or a function. */
typedef struct outer_loop {
    int level;      /* of the name that it binds */
    int64_t extent; /* how many values it has, -1: not known */
    bool looped;    /* it loops over a relation that is cut along it, and does not only look up positions */
    int64_t block;  /* extent of the blocks in which it runs; 0: no relation is cut along it */
    double bytes;   /* of the relation that has these blocks: the largest decides */
    int number;     /* among the labels of the program, or -1 */
} outer_loop;

/* A use of a relation in the statement. */
typedef struct use {
    int relation;         /* number in the scope */
    tra_calc *x;          /* where it stands */
    int loop[TRA_MAXDIM]; /* of each dimension the outer loop that runs over it, WHOLE or UNSET */
    uint32_t looked_up;   /* dimensions that the use only looks up: so another use must loop over them in blocks */
    int same;             /* the first use that reads the relation by the same loops, or its own number */
} use;

/* What is left of a relation when its first n dimensions are given. */
typedef struct part {
    int use, n;  /* use -1: it is no relation */
    double keys; /* about how many different keys the first n dimensions have: of a sparse relation no more than it has
                    entries */
} part;

typedef enum binding_kind { IS_OTHER, IS_LOOP, IS_PART } binding_kind;

/* What a name that the value binds stands for. */
typedef struct binding {
    binding_kind kind;
    int loop;       /* LOOP: its number among the outer loops, or -1 if it is none */
    int64_t extent; /* LOOP: how many values it has, -1: not known */
    part part;      /* PART */
    bool sparse;    /* OTHER: a dictionary whose elements are all made in loops over sparse relations */
    double n;       /* OTHER: about how many elements the dictionary has */
} binding;

typedef struct analysis {
    tra_build *b;
    const tra_tensor_scope *scope;
    int nouter;
    outer_loop outer[TRA_PROGRAM_MOST];
    int nuses;
    use use[TRA_PROGRAM_MOST];
    binding *binding; /* of each name of the value, by its level */
    int nout;
    /* of each dimension of the result the outer loop that is its key in all contributions; -1: there is none */
    int key[TRA_MAXDIM];
    int64_t domain[TRA_MAXDIM]; /* how many values that key has, or -1: not known */
    const tra_calc *excess;     /* where there are more than TRA_PROGRAM_MOST loops or uses; else NULL */
} analysis;

/* What is around an expression that is walked. */
typedef struct context {
    bool outside; /* only outer loops, if, let and factors */
    bool sparse;  /* a loop over a relation of sparse type */
    double times; /* about how often the expression is evaluated */
    int nkeys;    /* so many keys of the result are around it */
    bool result;  /* it is a part of the result, not of a value that a name stands for */
} context;

/* What an expression contributes to the result. */
typedef struct contribution {
    bool sparse; /* all of it is made in loops over sparse relations, or is 0 */
    double n;    /* about how many elements */
} contribution;

/* A copy of a tree, whose names may be given other numbers. */
tra_calc *tra_program_copy_tree(tra_arena *a, const tra_calc *x);
int tra_program_levels_in(const tra_calc *x); /* how many names it binds */
/* Finds the loops, uses and keys of x, which stands in that context, and adds them to s. */
contribution tra_program_walk(analysis *s, tra_calc *x, context in);
/* The relation of a use: as the scope of the statement has it, and as a node. */
const tra_calc_operand *tra_program_operand_of(const analysis *s, int use);
const tra_node *tra_program_node_of(const analysis *s, int use);

#endif
