/* storel_int.h - what the files of plans/storel share. Private to the room.
 *
 * The e-graph. A node is an operator over classes; a class holds nodes that are equal. Nodes are hash-consed, and where
 * two classes become one, nodes above them that are then the same are made one too (congruence). Variables are numbers
 * of the whole problem, and each is bound by one loop or let of a plan: so terms move in and out of loops as they are,
 * which indices counted from the inside would have to be shifted for, and the free variables of a class are a mask.
 *
 * Sums live in a normal form, the *nest*: a set of generators (loops, and lets, which are loops of one turn), of
 * conditions and of factors, and the keys of what is added up:
 *
 *     sum(generators) if (conditions) {keys -> product of the factors}
 *
 * So there is nothing to do for associativity, commutativity and the order of loops that do not depend on each other:
 * a nest stands for all of them. Rules take a nest apart: each gives an operator that can be executed over smaller
 * nests.
 */
#ifndef TRA_STOREL_INT_H
#define TRA_STOREL_INT_H

#include "../tra/cardinality.h"
#include "storel.h"

/* A set of variables. */
typedef unsigned __int128 st_set;

typedef enum st_op {
    ST_NUM,    /* data: whether it is real, its bits */
    ST_VAR,    /* data: variable */
    ST_NAME,   /* data: index in the scope */
    ST_EXTENT, /* data: index in the scope, dimension */
    ST_ADD,    /* any number of kids, sorted */
    ST_MUL,
    ST_NEG,
    ST_DIV,
    ST_MOD,
    ST_CALL,  /* data: function */
    ST_APPLY, /* one key */
    ST_SLICE,
    ST_RANGE,
    ST_CMP, /* data: kind of the calculus */
    ST_AND,
    ST_OR,
    ST_NOT,
    ST_IF,
    ST_LET,   /* data: variable; kids: value, body */
    ST_SUM,   /* data: variables of key and value or -1; whether a loop inside runs over the same part, so that longer
                 parts are met more often (st_shape.squares); kids: dictionary, body */
    ST_MERGE, /* data: variables of both keys and the value; kids: two dictionaries, body */
    ST_DICT,  /* data: notes; kids: key, value */
    ST_NEST,  /* see st_nest */
} st_op;

typedef struct st_node {
    st_op op;
    int nkids, ndata;
    int *kids;     /* classes */
    int64_t *data; /* what else distinguishes it */
    int cls, next; /* next node of the class, or -1 */
    uint64_t hash;
} st_node;

/* What is known of a dictionary: cardinalities after figure 5 of the paper. */
typedef struct st_shape {
    int depth;
    double n[TRA_CALC_MAXRANK]; /* keys; under each key of the level above */
    tra_storel_kind kind[TRA_CALC_MAXRANK];
    int extent[TRA_CALC_MAXRANK]; /* classes that keys are below, or -1 */
    int below;                    /* class that elements are below, or -1 */
    double part, squares;         /* of an array of integers, see tra_storel_about */
    bool ascending;               /* elements */
    bool array;                   /* a component or a part of one: its keys are in order in memory */
} st_shape;

/* One way to extract a class: a node, and for each kid which of its ways. */
typedef struct st_way {
    int node;
    double cost, operations;
    int *kid;
} st_way;

typedef struct st_class {
    int first, last;
    int nparents, cap, *parents; /* nodes over it */
    st_set free;              /* free variables of the node that has the fewest: nodes with others are not extracted */
    bool real, sparse, fails; /* fails: a division of integers may be by 0 */
    int depth;
    double value;          /* of an integer, estimated; NAN: not known */
    int below;             /* class that an integer is below, which is not negative then; -1: not known */
    const st_shape *shape; /* of a dictionary */
    int state;             /* of extraction: 0 not begun, 1 under way, 2 done */
    int nways;
    st_way *ways; /* the cheapest first */
} st_class;

typedef struct st_var {
    const char *name; /* the name that it had in the text, or how its new name begins */
    bool real, sparse;
    int depth, below; /* of its values, as for classes */
    double value;
    const st_shape *shape;
    bool in_order;    /* its loop counts up, so that what it indexes is read in order */
    bool may_be_zero; /* an element of a hash map, which may hold zeros that are no entries of a tensor */
    bool made;        /* a dictionary that rule M2 materialised, or of a loop over it */
} st_var;

/* A note at a key besides those of the calculus: each row of a result by entries is gathered in a dense array, with
 * marks at the places that are used. */
enum { ST_ROW = 1 << 8 };

/* Limits. M2 and M1, which may make many variables, stop early enough to leave some for other rules. */
enum { ST_MOSTVARS = 126, ST_VARS_M2 = 64, ST_VARS_M1 = 110, ST_GENS = 24, ST_PARTS = 48 };

/* A nest while it is built or taken apart. */
typedef struct st_gen {
    bool let;
    int key, value; /* variables or -1 */
    int over;       /* class */
} st_gen;
typedef struct st_nest st_nest;
struct st_nest {
    int ngens, nconds, nfactors, nkeys;
    st_gen gen[ST_GENS];
    int cond[ST_PARTS], factor[ST_PARTS], key[TRA_CALC_MAXRANK];
    unsigned note[TRA_CALC_MAXRANK];
    /* while it is built: */
    bool unique, loose; /* each of its keys comes once; a sum began after the last key */
    int nadds;          /* the value is the product of the factors, times the sum of `add` if there are any */
    st_nest *add[2];
};

typedef struct st_memo {
    int cls;
    unsigned notes;
    int var, nvars, vars[2 * TRA_CALC_MAXRANK];
} st_memo;

typedef struct st_graph {
    const tra_storel_problem *p;
    const tra_storel_costs *costs;
    tra_arena *arena;
    int *applied;
    int nnodes, node_cap, nclasses, class_cap, live; /* live: classes that were not merged into another */
    st_node *node;
    st_class *class;
    int *canonical; /* of each class: itself, or the class that it was merged into (union-find) */
    int nslots, used, *slot;
    int nvars;
    st_var var[ST_MOSTVARS];
    int nmemos, memo_cap;
    st_memo *memo; /* variables that rules made, by what they stand for */
    bool full;     /* variables, loops or factors are more than there is room for: what was made last is incomplete */
    bool limited;  /* it has as many nodes as it may: rules make no more, and what there is counts */
    int ndirty, dirty_cap, *dirty; /* classes that were merged */
    int most;                      /* ways of a class that are kept */
    int iterations;
} st_graph;

/* Rules by their place in the table. */
typedef enum st_rule {
#define X(id, name, built_in, law, when, before, after, refused) ST_##id,
#include "table.h"
#undef X
    ST_NRULES
} st_rule;

/* ---- egraph.c ---- */

int st_find(st_graph *g, int cls);
/* Has the node become equal to another one, since classes were merged? Then it need not be looked at. */
bool st_is_again(st_graph *g, int node);
static inline st_class *st_at(st_graph *g, int cls) { return &g->class[st_find(g, cls)]; }
/* The class of a node, made unless it is there. Kids of ADD and MUL are sorted here. */
int st_make(st_graph *g, st_op op, int ndata, const int64_t *data, int nkids, const int *kids);
/* The same for one more way to compute class `as`: a new node is added to it. Returns the node's class, which is to be
 * merged with `as`. */
int st_make_as(st_graph *g, int as, st_op op, int ndata, const int64_t *data, int nkids, const int *kids);
void st_union(st_graph *g, int a, int b);
void st_rebuild(st_graph *g);
int st_whole(st_graph *g, int64_t v);
int st_variable(st_graph *g, int v);
/* A new variable; 0 where there are too many, and then the graph is full. */
int st_new_var(st_graph *g, const char *name, tra_calc_type type);
/* The variables that rules make for the dictionary of a class, by how it is held: the same ones each time. */
st_memo *st_memo_of(st_graph *g, int cls, unsigned notes, bool *made);
/* The number of the first node of a class, as which it was made, if that is an `op`; else -1. */
int st_first(st_graph *g, int cls, st_op op);
bool st_number(st_graph *g, int cls, int64_t *out);
bool st_is_var(st_graph *g, int cls, int var);
/* Products, sums and comparisons, simplified: numbers are added and multiplied, 0 and 1 are left out. */
int st_product(st_graph *g, int n, const int *v);
int st_sum(st_graph *g, int n, const int *v);
int st_compare(st_graph *g, tra_calc_kind k, int a, int b);
/* The class with another in the place of a variable. */
int st_replace(st_graph *g, int cls, int var, int by);

/* ---- nest.c ---- */

static inline st_set st_bit(int var) { return var < 0 ? 0 : (st_set)1 << var; }
st_set st_bound(const st_nest *n); /* variables of its generators */
void st_load(st_graph *g, int node, st_nest *out);
int st_nest_class(st_graph *g, const st_nest *n);
void st_add_gen(st_graph *g, st_nest *n, bool let, int key, int value, int over);
void st_add_cond(st_graph *g, st_nest *n, int cond);
void st_add_factor(st_graph *g, st_nest *n, int factor);
void st_add_key(st_graph *g, st_nest *n, int key, unsigned note);
void st_nest_replace(st_graph *g, st_nest *n, int var, int by);

/* ---- normal.c ---- */

/* The class of a checked tree in normal form; -1 when the graph is full. */
int st_normal(st_graph *g, const tra_calc *x);

/* ---- rules.c, loops.c ---- */

/* Merges two classes that a rule says are equal. */
void st_equal(st_graph *g, int cls, int other, st_rule r);
void st_equal_node(st_graph *g, int cls, st_rule r, st_op op, int ndata, const int64_t *data, int nkids,
                   const int *kids);
void st_equal_nest(st_graph *g, int cls, st_rule r, const st_nest *n);
bool st_on(const st_graph *g, st_rule r);
void st_applied(st_graph *g, st_rule r);
/* The dictionary with @dense at the keys of the levels that are bits of the set, @hash at the others. */
int st_annotate(st_graph *g, int cls, unsigned dense);
/* The variable of a let of this class; the same each time. -1: there are too many. */
int st_let_var(st_graph *g, int cls, const char *name);
/* Applies all rules to all nests until they make nothing new, or the graph is full. */
void st_saturate(st_graph *g);
void st_take_loops(st_graph *g, int cls, const st_nest *n);  /* S1, F4, F1 of dictionaries */
bool st_same_loop(st_graph *g, int cls, const st_nest *n);   /* F5 */
bool st_look_up(st_graph *g, int cls, const st_nest *n);     /* F1 of loops over ranges */
bool st_has_lookup(st_graph *g, const st_nest *n);           /* does it apply? */
void st_materialise(st_graph *g, int cls, const st_nest *n); /* M2 */

/* ---- cards.c ---- */

/* Shape, value and bounds of a class that was made of this node. */
void st_describe(st_graph *g, st_class *c, const st_node *x);
double st_selectivity(st_graph *g, int cond);
/* How often the body of a nest's loops runs. */
double st_turns(st_graph *g, const st_nest *n);
double st_size(st_graph *g, int cls); /* the value of an integer class, or a guess */
/* The levels of a dictionary that are cheaper as arrays, as bits. */
unsigned st_dense_levels(st_graph *g, int cls);

/* ---- keep.c ---- */

/* The statistics of a problem, rounded, so that data which hardly differ have the same plans. */
tra_storel_about *st_rounded(const tra_storel_problem *p, tra_arena *a);
const char *st_kept_name(const tra_storel_problem *p, tra_arena *a); /* of a problem with rounded statistics */
bool st_recall(const tra_storel_problem *p, const char *name, tra_arena *a, tra_storel_result *out);
void st_remember(const char *name, tra_arena *a, const tra_storel_result *r);

/* ---- extract.c ---- */

/* Finds the cheapest ways of a class; false if there is none. */
bool st_ways(st_graph *g, int cls);
/* Way number i as a tree. */
const tra_calc *st_extract(st_graph *g, int cls, int way, tra_err *e);
bool st_is_word(const char *name); /* of the calculus, so that no variable may have the name */

#endif
