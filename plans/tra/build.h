/* build.h - from the syntax tree to the graph. Private to plans/tra. */
#ifndef TRA_BUILD_H
#define TRA_BUILD_H

#include "../lang/names.h"
#include "tra.h"

/* What a name of the program stands for: a param or a relation. Where its definition failed `ok` is false, and whatever
 * uses it fails without a diagnostic, since the cause has one already. */
typedef struct tra_symbol {
    const tra_stmt *stmt;
    bool param, ok;
    bool seen; /* its statement has been built */
    bool used;
    tra_node *node;    /* relations */
    tra_stored stored; /* relations: how the program says that it is stored */
    double value;      /* params */
    bool exact;        /* params: computed from whole numbers alone, so that `whole` is the exact value */
    int64_t whole;
    const char *define; /* params: the value that the command line gives, as text, or NULL */
} tra_symbol;

typedef struct tra_build {
    tra_graph *g;
    tra_arena *arena;
    tra_diags *d;
    const char *dir;   /* what relative paths are relative to */
    tra_names symbols; /* all names of the program; value: tra_symbol */
    tra_names written; /* files that outputs write so far; value: tra_stmt */
    tra_names made;    /* what the typed nodes compute (tra_build_key); value: the latest node that computes it */
    tra_stored stored; /* what the last store(..) that was built says */
    int unreadable;    /* how many diagnostics say that an input cannot be opened */
    const char *first_unreadable; /* the message of the first of them */
} tra_build;

/* Everything below that can fail returns false or NULL after a diagnostic, or silently where the cause has one
 * already. */

tra_symbol *tra_build_param(tra_build *b, const tra_ast *x);
tra_symbol *tra_build_relation_symbol(tra_build *b, const char *name, tra_span span);
/* Advice "did you mean X?" for a name that is not among the params (else relations) of the program; NULL if none is
 * near. extra: n more names that would do. */
const char *tra_build_near(tra_build *b, const char *name, bool params, int n, const char *const *extra);
tra_node *tra_build_node(tra_build *b, tra_opcode op, tra_span span); /* a new node at the end of the graph */
/* What a node computes, as text: nodes of the same operator, arguments and inputs have equal texts. */
const char *tra_build_key(tra_build *b, const tra_node *n);
/* Types a node whose fields are set, notes what it computes, and counts its inputs' uses. Returns n; NULL after a
 * diagnostic. */
tra_node *tra_build_finish(tra_build *b, tra_node *n);
/* Makes a node with these fields and finishes it. */
tra_node *tra_build_made(tra_build *b, tra_opcode op, tra_span span, const tra_node *fields);

/* labels.c: gives the dimensions of a typed node the labels of the dimensions that they come from. */
void tra_carry_labels(tra_build *b, tra_node *n);
const tra_dim_labels *tra_labels_of_dim(const tra_node *n, int d); /* NULL: none */
/* Names of the first dimensions of a node: as the EinSum statement or the labels have them, else i0, i1, ... They
 * differ, and none is "value". */
void tra_name_dimensions(const tra_build *b, const tra_node *n, int rank, const char **names);
/* The labels of a node as its file has them, with names of dimensions; or NULL. */
const tra_dim_labels *const *tra_labels_of_output(tra_build *b, const tra_node *n);

/* Advice for an argument "name = x" in a place where there are no named arguments: == may be meant. NULL for any other
 * expression. */
const char *tra_build_no_name(const tra_ast *x);
/* Advice for a function that there is not, by its name in other languages; NULL: none. */
const char *tra_build_named_here(const char *function);
/* The integer that x stands for: numbers, integer params, integer arithmetic. what: "a tile size". */
bool tra_build_int(tra_build *b, const tra_ast *x, const char *what, int64_t least, int64_t *out);
/* A list [..] of such, at most TRA_MAXDIM. */
bool tra_build_ints(tra_build *b, const tra_ast *x, const char *what, int64_t least, tra_dims *out);
/* The number that x stands for: numbers, params, scalar functions. */
bool tra_build_number(tra_build *b, const tra_ast *x, double *out);
/* A lambda over keys of the given arity: new key components, or a predicate. */
const tra_keyfn *tra_build_keyfn(tra_build *b, const tra_ast *x, int arity, bool predicate);
const tra_kernel *tra_build_kernel(tra_build *b, const tra_ast *x, tra_kernel_use use);
/* The right side of an EinSum statement: numbers, params, functions, and references X[i,j], aggregations sum[k](...)
 * and index(i), which `ref` turns into numbers of arguments (-1 after a diagnostic). */
typedef int tra_build_ref(void *ctx, const tra_ast *x);
const tra_scalar *tra_build_indexed(tra_build *b, const tra_ast *x, tra_build_ref *ref, void *ctx);

/* The fold of an aggregation by its name ("mean": ADD, "argmin": MIN); false if it is none. */
bool tra_aggregation_word(const char *word);
/* EinSum statements, and the macros that stand for some (einsum.c). */
tra_node *tra_build_einsum(tra_build *b, const tra_stmt *st);
tra_node *tra_build_softmax(tra_build *b, tra_node *x, tra_span span);
tra_node *tra_build_transpose(tra_build *b, tra_node *x, tra_span span);

tra_node *tra_build_input(tra_build *b, const tra_stmt *st, tra_symbol *s);
void tra_build_output(tra_build *b, tra_stmt *st);
/* Where an OUTPUT statement of a program in dir writes to: from the arena, or as the statement has it. */
const char *tra_output_path(const tra_stmt *st, const char *dir, tra_arena *a);

#endif
