/* program_int.h - what program.c (nodes that run a tensor statement as a program) and program_walk.c (which loops and
 * relations the statement has) share. */
#ifndef TRA_PROGRAM_INT_H
#define TRA_PROGRAM_INT_H

#include "../../lib/kernel/program.h"
#include "lower.h"
#include "program.h"

enum { WHOLE = -1, UNSET = -2 }; /* of a dimension that is not known to be looped over; that was not looked at */

/* A loop at the outside. */
typedef struct outer {
    int level; /* of its binder */
    int64_t extent;
    bool looped;   /* by a generator over a relation that stays cut along it */
    int64_t block; /* 0: none is cut along it */
    double bytes;  /* of the relation whose blocks it has */
    int number;    /* among the program's labels, or -1 */
} outer;

/* One use of a relation, or several that read it by the same loops. */
typedef struct use {
    int relation; /* in the scope */
    tra_calc *x;  /* where it stands */
    int label[TRA_MAXDIM];
    uint32_t looked_up; /* dimensions of which positions are given, which some loop must run over in blocks */
    int same;           /* the use that this one is the same as, or its own number */
} use;

/* A part of a relation: some of its dimensions are given. */
typedef struct part {
    int use, n;          /* use -1: none */
    double times, share; /* see count */
} part;

typedef enum bound_kind { IS_OTHER, IS_LOOP, IS_PART } bound_kind;

typedef struct bound {
    bound_kind kind;
    int loop;       /* LOOP: at the outside, or -1 */
    int64_t extent; /* LOOP: of its domain, or -1 */
    part part;
    bool sparse; /* a dictionary, all of which is made in loops over what is sparse */
    double n;    /* what it has, about */
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
    int key[TRA_MAXDIM];        /* of the result: loop at the outside, or -1 where it is none, or not everywhere that */
    int64_t domain[TRA_MAXDIM]; /* or -1: not known */
    bool any_key;
    const tra_calc *many; /* where there is more than a program can have */
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
