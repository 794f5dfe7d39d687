/* tensor_int.h - what tensor.c (a tensor statement: its names, checks and nodes) and tensor_labels.c (the EinSum
 * statement that it means) share. */
#ifndef TRA_TENSOR_INT_H
#define TRA_TENSOR_INT_H

#include "program.h"
#include "storage.h"

typedef enum meaning_kind { IS_LABEL, IS_VIEW, IS_PARAM } meaning_kind;

/* A loop over a relation or a part of it. factor: what the loop binds, or an element below it, is a factor of the sum.
 */
typedef struct loop_over {
    bool factor;
    const tra_calc *x;
    struct loop_over *below, *next;
} loop_over;

/* What a name stands for: a label; a relation with labels for its first dimensions; a param. */
typedef struct meaning {
    const char *name;
    meaning_kind kind;
    int label;
    const char *relation;
    int rank, n, labels[TRA_MAXDIM];
    loop_over *loop; /* VIEW: the innermost loop that it was bound by, or NULL */
    struct meaning *outer;
} meaning;

typedef struct label {
    const char *name;
    int at;                /* where it is bound */
    int same;              /* another label that it is equal to, or -1 */
    const tra_calc *range; /* of a loop 0:n over it, or NULL */
    bool referenced;
} label;

typedef struct converter {
    tra_build *b;
    bool is_none;   /* the value is no sum of products over labels */
    meaning *names; /* innermost first */
    int nlabels;
    label label[TRA_MAXLABELS];
    int nout, out[TRA_MAXDIM];
    int inside; /* functions and sums of elements around: what is there is no factor */
    loop_over *loops;
    int nfree;
    const tra_calc_name *scope;
    tra_calc_free *free;
    const tra_node **node; /* of relations */
    tra_tensor_scope all;  /* these four */
} converter;

/* Gives up: the statement is no sum of products over labels. `why` is not shown, and says so only to the reader of the
 * code. Returns NULL. */
tra_ast *tra_tensor_refuse(converter *c, const tra_calc *x, const char *why);
int tra_tensor_root(const converter *c, int l);
meaning *tra_tensor_bind(converter *c, const char *name, meaning_kind kind);
tra_ast *tra_tensor_leaf(converter *c, tra_ast_kind kind, const tra_calc *x, const char *text);
tra_ast *tra_tensor_factor(converter *c, const tra_calc *x);

#endif
