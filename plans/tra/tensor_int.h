/* tensor_int.h - what tensor.c (a tensor statement: its names, checks and nodes) and tensor_labels.c (the EinSum
 * statement that it means) share. */
#ifndef TRA_TENSOR_INT_H
#define TRA_TENSOR_INT_H

#include "build.h"

/* ---- programs on blocks (program.c) ----------------------------------------------------------------------------- */

/* The params and relations that a tensor statement may name: the scope of its value. */
typedef struct tra_tensor_scope {
    int n;
    const tra_calc_name *name;
    const tra_calc_free *free;
    const tra_node *const *node; /* of relations; NULL for params */
} tra_tensor_scope;

/* Sets *out to the integer that x is by params and extents alone; false, without a diagnostic, if it is none. Writes
 * types into the tree. */
bool tra_tensor_whole(tra_build *b, const tra_tensor_scope *scope, const tra_calc *x, int64_t *out);
/* Evaluates an extent that the statement says; false after a diagnostic. */
bool tra_tensor_extent(tra_build *b, const tra_tensor_scope *scope, const tra_calc *x, int64_t *out);
/* Does a checked tree read name i of the scope? */
bool tra_tensor_reads(const tra_calc *x, int i);

/* The node of a tensor statement whose value is checked, run by the calculus on the blocks of what it reads; NULL after
 * a diagnostic. */
tra_node *tra_build_program(tra_build *b, const tra_tensor_scope *scope, const tra_stmt *st);

/* Where an expression of the calculus stands in the text. */
tra_span tra_calc_span(const tra_calc *x);

/* ---- a statement as an EinSum statement (tensor.c, tensor_labels.c) ---- */

typedef enum meaning_kind { IS_LABEL, IS_VIEW, IS_PARAM } meaning_kind;

/* A loop over a relation or a part of one. */
typedef struct loop_over {
    bool factor;             /* the element that it binds, or one of a loop over that, is a factor of the sum */
    const tra_calc *x;       /* the relation or part */
    struct loop_over *below; /* the loop that binds the part it loops over, or NULL */
    struct loop_over *next;
} loop_over;

/* What a name stands for: a label; a view, which is a relation with labels for its first dimensions; a param. */
typedef struct meaning {
    const char *name;
    meaning_kind kind;
    int label;
    const char *relation;            /* VIEW: its name */
    int rank, n, labels[TRA_MAXDIM]; /* VIEW: dimensions of the relation; labels of the first n of these */
    loop_over *loop;                 /* VIEW: the loop that binds it, or NULL */
    struct meaning *outer;           /* what was named before */
} meaning;

typedef struct label {
    const char *name;
    int at;                /* where it is bound in the text */
    int same;              /* another label that it is equal to, or -1 */
    const tra_calc *range; /* of a loop 0:n over it, or NULL */
    bool referenced;
} label;

typedef struct converter {
    tra_build *b;
    bool is_no_einsum; /* the value is no sum of products over labels */
    meaning *names;    /* innermost first */
    int nlabels;
    label label[TRA_MAXLABELS];
    int nout, out[TRA_MAXDIM];
    int in_function; /* so many functions and sums of elements are around: what is inside of them is no factor */
    loop_over *loops;
    int nfree;
    const tra_calc_name *scope;
    tra_calc_free *free;
    const tra_node **node;        /* of relations */
    tra_tensor_scope whole_scope; /* these four */
} converter;

/* Notes that the statement is no EinSum statement. `x` and `why` are for the reader of the code alone: nothing is
 * shown. Returns NULL. */
tra_ast *tra_tensor_refuse(converter *c, const tra_calc *x, const char *why);
/* The label that stands for all that are equal to l. */
int tra_tensor_root(const converter *c, int l);
/* A new meaning of a name, which hides those before. */
meaning *tra_tensor_bind(converter *c, const char *name, meaning_kind kind);
/* A new tree node with that text, at the place of x. */
tra_ast *tra_tensor_leaf(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text);
/* The expression x as that of an EinSum statement; NULL if it is none. */
tra_ast *tra_tensor_factor(converter *c, const tra_calc *x);

#endif
