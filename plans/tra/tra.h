/* tra.h - the tensor relational algebra: a typed graph of operators over relations that have no place yet.
 *
 * Source: Tensor Relational Algebra, section 3 (operators); types as in man tra-lang.5 (which key cuts which
 * dimension).
 */
#ifndef TRA_TRA_H
#define TRA_TRA_H

#include "../../lib/kernel/kernel.h"
#include "../../lib/relation/keyfn.h"
#include "../../lib/relation/labels.h"
#include "../../lib/relation/mapped.h"
#include "../../lib/relation/relation.h"
#include "../../lib/relation/store.h"
#include "../../lib/relation/stored.h"
#include "../lang/lang.h"

/* Operators: name in C, inputs, name in the language. */
#define TRA_OPS(X)                                                                                                     \
    X(INPUT, 0, "input")                                                                                               \
    X(JOIN, 2, "join")                                                                                                 \
    X(AGG, 1, "agg")                                                                                                   \
    X(REKEY, 1, "rekey")                                                                                               \
    X(FILTER, 1, "filter")                                                                                             \
    X(TRANSFORM, 1, "transform")                                                                                       \
    X(TILE, 1, "tile")                                                                                                 \
    X(CONCAT, 1, "concat")                                                                                             \
    X(REPART, 1, "repart") /* reblock too: `block` holds the extents */

typedef enum tra_opcode {
#define X(name, arity, text) TRA_OP_##name,
    TRA_OPS(X)
#undef X
} tra_opcode;
const char *tra_opcode_text(tra_opcode op);

typedef struct tra_node tra_node;
struct tra_node {
    int id; /* position in the graph; inputs come before */
    tra_opcode op;
    tra_node *in[2];
    const char *name; /* given by the program, or NULL inside an expression */
    tra_span span;
    tra_type type;
    int uses; /* consumers, outputs included */

    const tra_kernel *kernel; /* JOIN, AGG, TRANSFORM */
    tra_dims joinl, joinr;    /* JOIN: key dimensions */
    double pairs;             /* JOIN: of a product, pairs of entries that meet, where these are counted; else 0, and */
    double summed;            /* elements that they come to when all blocks are added up, an estimate */
    const tra_node *partners; /* JOIN of rows with what was found for them in parts of a table: that table; else NULL */
    tra_dims group;           /* AGG */
    const tra_keyfn *keyfn;   /* REKEY, FILTER */
    bool converts;            /* TRANSFORM: it has the same elements as its input, held in another layout */
    int dim, keydim;          /* TILE, CONCAT */
    int64_t most;             /* CONCAT of rows of a table: no result has more rows; 0: nothing is known */
    int64_t size;             /* TILE */
    tra_dims block;           /* REPART: block extents of the result */
    /* REPART: where the result begins in the operand, in elements, and its extents; beyond the operand it is 0. n 0: it
     * is the same tensor. */
    tra_dims origin, extent;
    /* Of each dimension the table whose rows it has, where only the run tells how many these are; NULL: none. */
    const tra_node *const *rows;
    /* What the positions along each dimension stand for (labels.h), NULL: nothing; NULL as a whole: nothing anywhere.
     */
    const tra_dim_labels *const *labels;
    const int *label; /* made for an EinSum statement: its label of each key dimension; else NULL */

    /* INPUT */
    const char *path; /* resolved file[:name], or NULL when only declared */
    tra_rel *rel;     /* open, closed by tra_graph_close; NULL when only declared */
    enum { TRA_AT_ANY, TRA_AT_ALL, TRA_AT_PART } at;
    tra_dims at_dims;
};

/* How the program says that a relation is stored. */
typedef struct tra_stored {
    bool said;                      /* it does; else what follows is by default */
    const char *name;               /* of the storage, with its arguments */
    const tra_levels *levels;       /* NULL: densely; of a declared input also where its storage is not by levels */
    const tra_mapping_use *mapping; /* a result: the storage that is no levels; else NULL */
    bool sparse;                    /* what is stored so is sparse by type */
} tra_stored;

typedef struct tra_output {
    const tra_node *node;
    const char *name, *path; /* path resolved: file[:name] */
    tra_stored stored;
    /* What stands in the file beside it, or NULL: labels of its dimensions, which have the names that entries(X) gives
     * their columns. */
    const tra_dim_labels *const *labels;
} tra_output;

/* A relation by the name the program gave it; two names may stand for one node (D = C). */
typedef struct tra_named {
    const char *name;
    const tra_node *node;
    tra_stored stored;
} tra_named;

/* An EinSum statement, as it was written: the nodes up to `node` compute what it says, and whoever has a definition of
 * his own (the reference evaluator) needs none of them. Labels are numbers below nlabels. */
enum { TRA_MAXLABELS = 64 };
typedef struct tra_einsum_ref {
    const tra_node *node;     /* a tensor in blocks */
    int n, label[TRA_MAXDIM]; /* of each dimension; one that stands twice takes the diagonal */
    const tra_node *diagonal; /* where one does, that: of each label a dimension, as they come first; else NULL */
    bool moved; /* it has other blocks than its labels, or holes: it is cut anew, in blocks of its labels */
} tra_einsum_ref;
typedef struct tra_einsum {
    tra_node *node; /* the result: dimension d, cut by key d, is label out[d], in blocks of block[d] */
    int nlabels;
    const char *name[TRA_MAXLABELS];
    int64_t extent[TRA_MAXLABELS], block[TRA_MAXLABELS];
    int nout, out[TRA_MAXDIM];
    tra_scalar_op fold;     /* ADD, MUL, MAX, MIN: over the labels that are not in out, for the whole expression */
    const tra_scalar *expr; /* ARG i: the element of ref[i] */
    int nrefs;
    tra_einsum_ref *ref;
} tra_einsum;

/* A tensor statement, as it was written: `node` has what its value means. Relations whose elements it reads have
 * their node by the number of their name in the scope, where operands know extents alone. */
typedef struct tra_tensor {
    const tra_node *node;
    const tra_calc *value; /* checked */
    int n;
    const tra_node *const *relation;
    const tra_calc_free *scope;
} tra_tensor;

/* An operator on tables, as it was written (table_ops.h). */
typedef struct tra_table_op tra_table_op;

typedef struct tra_graph {
    tra_arena *arena; /* owns everything */
    const tra_script *src;
    int n;
    tra_node **v; /* in program order; unused ones stay (they are typed and warned of) */
    int nnames;
    tra_named *names; /* in program order, inputs included */
    int noutputs;
    tra_output *outputs;
    int neinsums;
    const tra_einsum **einsums; /* in program order; of softmax and transpose too */
    int ntensors;
    tra_tensor *tensors; /* in program order; their EinSum statements are among einsums */
    int ntables;
    const tra_table_op **tables; /* in program order */
    int nstorages;
    const tra_storage_decl **storages; /* storage statements, in program order */
} tra_graph;

/* -D NAME=VALUE of the command line. */
typedef struct tra_define {
    const char *name, *value;
} tra_define;

/* Parses and types a program. `dir` is what its relative paths are relative to ("" or ".": the working directory).
 * Every diagnostic goes to d; the graph is usable only when d->errors is 0. Inputs with files are opened; one that
 * cannot be is a diagnostic too, and when there are no others the status is TRA_INPUT and e names file and place of the
 * first. Unknown -D names are TRA_USAGE. Returns TRA_PROGRAM when there are other diagnostics of class error; *out is
 * then to be closed all the same (it is NULL only on TRA_USAGE). */
TRA_MUSTUSE tra_status tra_graph_build(const tra_script *src, const char *dir, int ndefines, const tra_define *defines,
                                       tra_arena *a, tra_diags *d, tra_graph **out, tra_err *e);
void tra_graph_close(tra_graph *g); /* closes the inputs; the arena is the caller's; NULL allowed */

/* Typing of one operator: fills n->type (its catalog in the arena) from the types of n->in and its other fields.
 * TRA_PROGRAM with a message that has no place; warnings (joined frontiers that differ) go to *warn as text or NULL.
 * Exposed for the rewrite rules, which type what they build. */
TRA_MUSTUSE tra_status tra_node_type(tra_arena *a, tra_node *n, const char **warn, tra_err *e);

/* How an output of that type is stored if the program does not say: as a plain array where it is dense by type, of rank
 * 0, or an eighth or more of its elements are expected to be entries; else as csr, or, if its rank is not 2, as csf.
 * That follows from the program and the statistics of its inputs alone. */
#define TRA_SPARSE_BELOW 0.125
tra_stored tra_stored_default(tra_arena *a, const tra_type *t);

/* The layout in which a relation of this type is held in memory, by what is known of its entries (type_entries.c). A
 * plan follows this rule for every operator but those that only rename, filter or move tuples: their results are held
 * as their inputs are. */
const tra_layout *tra_type_holding(const tra_type *t);
/* Gives the type the layout; what its entries take is counted anew, in the arena. */
void tra_type_hold(tra_arena *a, tra_type *t, const tra_layout *layout);

/* The share of elements that are expected to be entries. */
double tra_type_density(const tra_type *t);
/* Members of a JSON object: dtype, sparse, held, entries (of tables rows) with _kind and _bound, density. */
void tra_type_json(const tra_type *t, tra_json *j);

/* "C: keys 2 <4,4>, f64 1000 x 1000, tensor 3500 x 3500" and the like, for check and explain --tra. */
void tra_node_describe(const tra_node *n, tra_str *out);
/* The operator as the language writes it: join(A, A, [1], [0], matmul). */
void tra_node_print(const tra_node *n, tra_str *out);
/* Checks the graph against the rules of this header; *why gets the first breach. */
bool tra_graph_valid(const tra_graph *g, const char **why);

#endif
