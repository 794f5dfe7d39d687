/* tra.h - the tensor relational algebra: a typed graph of operators over relations that have no place yet.
 *
 * Source: Tensor Relational Algebra, section 3 (operators); types as in man tra-lang.5 (which key cuts which
 * dimension).
 */
#ifndef TRA_TRA_H
#define TRA_TRA_H

#include "../../lib/kernel/kernel.h"
#include "../../lib/model/keyfn.h"
#include "../../lib/model/labels.h"
#include "../../lib/storage/mapped.h"
#include "../../lib/model/relation.h"
#include "../../lib/relation/store.h"
#include "../../lib/storage/stored.h"
#include "../lang/lang.h"
#include "rows_op.h"

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

/* What an INPUT is that reads no file: the value of a state in this turn of its loop (STATE) or after the loop (LAST),
 * the number of the turn, the table of what the turns of a loop traced, or what stands for that of a loop in this one
 * before its first turn: a table without rows (EMPTY). */
typedef enum tra_leaf {
    TRA_LEAF_FILE,
    TRA_LEAF_STATE,
    TRA_LEAF_LAST,
    TRA_LEAF_TURN,
    TRA_LEAF_TRACE,
    TRA_LEAF_EMPTY
} tra_leaf;

/* What the positions along a dimension follow: the keys of a pivot, in ascending order; the rows of a table, in its
 * order; or the positions in a file that does not label them. */
typedef struct tra_dim_order {
    enum { TRA_ORDER_FILE, TRA_ORDER_ROWS, TRA_ORDER_KEYS } by;
    const char *of; /* the file, the table, or the column of keys, for messages */
} tra_dim_order;

typedef struct tra_node tra_node;
typedef struct tra_einsum tra_einsum;
struct tra_node {
    int id; /* position in the graph; inputs come before */
    tra_opcode op;
    tra_node *in[2];
    const char *name; /* given by the program, or NULL inside an expression */
    tra_span span;
    tra_type type;
    int uses; /* consumers, outputs included */

    const tra_kernel *kernel; /* JOIN, AGG, TRANSFORM */
    tra_dims group;           /* AGG */
    const tra_keyfn *keyfn;   /* REKEY, FILTER */
    bool converts;            /* TRANSFORM: the result has the elements of the input in another layout */
    int dim, keydim;          /* TILE, CONCAT */
    int64_t most;             /* CONCAT of rows of a table: a bound of the rows of each array; 0: not known */
    int64_t size;             /* TILE: extent of a tile */
    tra_dims block;           /* REPART: block extents of the result */
    struct {                  /* JOIN */
        tra_dims l, r;        /* key dimensions */
        /* Of one that multiplies matrices: pairs of entries that meet, and about how many entries the sum of all its
         * blocks has, if they are counted; else 0. */
        double meeting_pairs, summed_entries;
        const tra_node *partners; /* of rows with what was found for them in parts of a table: that table; else NULL */
    } join;
    /* REPART: where the result begins in the input, in elements (it may be before or beyond it), and its extents;
     * outside of the input it is 0. Both have n = 0 where the result is the tensor of the input. */
    struct {
        tra_dims origin, extent;
        /* In a loop: the turn of the innermost loop on which the origin depends, with the origins of its turns, one
         * after the other, in all turns of the loops around it on which it depends too; `origin` is that of the first.
         * NULL: on none. */
        const tra_node *turn;
        const int64_t *origins;
        int64_t norigins;
        uint64_t digest; /* of the origins */
    } slice;
    struct {                        /* INPUT */
        const char *path;           /* resolved file[:name], or NULL when only declared */
        tra_rel *rel;               /* open, closed by tra_graph_close; NULL when only declared */
        const tra_node *transposed; /* its arrays are those of that input, transposed, as they lie there; or NULL */
        enum { TRA_AT_ANY, TRA_AT_ALL, TRA_AT_PART } at;
        tra_dims at_dims;
        tra_leaf leaf;
        int loop, item; /* of a leaf: its loop, and which state or trace of that it is */
    } input;
    /* For each array dimension the table whose rows it stands for, if only the run counts these, else NULL. NULL as a
     * whole: there is no such dimension. */
    const tra_node *const *rows;
    /* For each array dimension what its positions stand for (labels.h), or NULL. NULL as a whole: there are no labels.
     */
    const tra_dim_labels *const *labels;
    const char *units; /* of the elements; NULL: none are known */
    /* For each array dimension what its positions follow, or NULL. NULL as a whole: nothing is known of any. */
    const tra_dim_order *const *order;
    const int *label;         /* of a node made for an EinSum statement: the label of each key dimension; else NULL */
    const tra_einsum *einsum; /* the statement whose result it is (tra_statement_of), or NULL */
    const struct tra_table_op *table; /* the operator on tables whose result it is, or NULL */
};

/* How a relation is stored in a file. */
typedef struct tra_storage_choice {
    bool said;        /* the program says so; else it is the default */
    const char *name; /* of the storage, with its arguments: "band(5)" */
    /* At most one of these two is set; if none is, the relation is stored densely. Of a declared input mapping is never
     * set, so that nothing but its name tells a mapping. */
    const tra_levels *levels;
    const tra_mapping_use *mapping;
    bool sparse; /* a relation that is stored so is sparse by type */
} tra_storage_choice;

/* Who takes a relation: a file; or a loop, as the first or the next value of a state, as a state (its leaf, so that
 * each is in the plan), to end, as a value that a turn traces, or as one that must not be 0. */
typedef enum tra_output_sink {
    TRA_SINK_FILE,
    TRA_SINK_FIRST,
    TRA_SINK_STATE,
    TRA_SINK_NEXT,
    TRA_SINK_UNTIL,
    TRA_SINK_TRACE,
    TRA_SINK_REQUIRE /* also outside of loops; name: what is said where the number is 0 or NaN */
} tra_output_sink;

typedef struct tra_output {
    const tra_node *node;
    /* Where the file has it by columns and it is computed so: its transpose, which is what plans make, and the levels;
     * else NULL. */
    const tra_node *transpose;
    const tra_turned_levels *turned;
    const char *name, *path; /* path resolved: file[:name]; NULL where a loop takes the relation */
    const char *target;      /* what the path is exported to, where that is not HDF5; else NULL */
    tra_storage_choice stored;
    /* The labels of its dimensions as the file has them, or NULL. Dimensions have the names that entries(X) gives to
     * their columns. */
    const tra_dim_labels *const *labels;
    const char *units; /* of the elements, or NULL */
    tra_output_sink sink;
    int loop, item, column; /* of a loop: its number; of a state or trace: which; of a trace: the value's column; item
                             * of what is required: the byte of its statement */
} tra_output;

/* What plans make for the output. */
static inline const tra_node *tra_output_root(const tra_output *o) { return o->transpose ? o->transpose : o->node; }

/* A loop of the program. Its body is the nodes from `begin` on, of which the first are its leaves: the states that it
 * changes, and the turn. Those from `end` on, the last values of states and the tables of traces, stand after it. Nodes
 * of the body that depend on none of its leaves are the same in each turn. */
typedef struct tra_repeat_state {
    const char *name;
    tra_span span;                         /* of the name in its `next` */
    tra_node *first, *state, *next, *last; /* the value before the loop; the leaves; what it is in the next turn */
    const tra_stmt *trace; /* it has what a loop in this one traced, by that statement; NULL: it is a state */
} tra_repeat_state;
typedef struct tra_repeat_trace {
    const char *name;
    tra_span span;
    int n; /* columns beside `turn` */
    const tra_node **value;
    tra_node *table;
} tra_repeat_trace;
typedef struct tra_repeat {
    int outer;    /* the loop around it; -1 */
    int64_t most; /* turns */
    tra_span span, until_span;
    tra_node *turn; /* NULL: the turns are not counted by a name */
    int begin, end;
    int nstates;
    tra_repeat_state *states;
    const tra_node *until; /* of rank 0: the loop ends after the first turn in which it is not 0; NULL: none */
    int nwatched;          /* what the condition reads and no trace has */
    const tra_node **watched;
    const char **watched_name;
    int ntraces;
    tra_repeat_trace *traces;
} tra_repeat;

/* A relation by the name the program gave it; two names may stand for one node (D = C). */
typedef struct tra_named {
    const char *name;
    const tra_node *node;
    tra_storage_choice stored;
} tra_named;

/* An EinSum statement as it was written, beside the nodes up to `node` that compute it. The reference evaluator uses
 * the statement and none of these nodes. Labels are numbers below nlabels. */
enum { TRA_MAXLABELS = 64 };
typedef struct tra_einsum_ref {
    const tra_node *node;     /* a tensor in blocks */
    int n, label[TRA_MAXDIM]; /* of each dimension; a label that stands twice takes the diagonal */
    const tra_node *diagonal; /* the diagonal, with a dimension for each label in order of appearance; NULL: none */
    bool reblocked;           /* it has other blocks than its labels have in the statement, or holes */
} tra_einsum_ref;
struct tra_einsum {
    tra_node *node; /* the result: dimension d, cut by key d, is label out[d], in blocks of block[d] */
    int nlabels;
    const char *name[TRA_MAXLABELS]; /* of each label */
    int64_t extent[TRA_MAXLABELS], block[TRA_MAXLABELS];
    int nout, out[TRA_MAXDIM]; /* the labels of the result */
    bool shared;               /* quantile: at the share q of the values */
    double q;
    tra_scalar_op fold;     /* ADD, MUL, MAX, MIN, ARGMAX, ARGMIN: over the labels that are not in out, for all of */
    const tra_scalar *expr; /* this; ARG i: the element of ref[i] */
    int nrefs;
    tra_einsum_ref *ref;
    bool is_one_sum; /* a sum of products, whose factors are such sums too: rule S-1 may make it one statement */
};

/* The EinSum statement whose result the node is; NULL: it is of none, or a copy of such a node. */
static inline const tra_einsum *tra_statement_of(const tra_node *n) {
    return n && n->einsum && n->einsum->node == n ? n->einsum : NULL;
}

/* Is an expression of the statement, that all of it is or a part, a product of references, numbers, functions of one
 * reference, and those functions of dense references of floats that the calculus has? Then rule S-1 computes it where
 * references of sparse type have entries alone. */
bool tra_is_sampled(const tra_einsum *s, const tra_scalar *x);

/* A tensor statement as it was written, with the node that computes its value. The value names n params and relations
 * by number: `scope` has the values of params and the extents of relations, `relation` the nodes of those relations
 * whose elements it reads. */
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
    tra_node **v; /* in program order, also those that no output needs */
    int nnames;
    tra_named *names; /* in program order, inputs included */
    int noutputs;
    int64_t expected_room; /* tables that are brought together have room for what is expected of them, and for so many
                              bytes at least (tra_rows_together); 0: for their bounds */
    tra_output *outputs;
    double strings[2];   /* strings of rows that are made before the program is planned, if that makes any (made.h): of
                            how many rows, and how many different ones are expected */
    double tabulated[2]; /* what planning computes of strings: results of functions of the values of a column, and
                            strings of these that are put in order */
    int neinsums;
    const tra_einsum **einsums; /* in program order; of softmax and transpose too */
    int ntensors;
    tra_tensor *tensors; /* in program order; their EinSum statements are among einsums */
    int ntables;
    const tra_table_op **tables; /* in program order */
    int nstorages;
    const tra_storage_decl **storages; /* storage statements, in program order */
    int nloops;
    tra_repeat **loops; /* in program order: one that stands in another comes after it */
} tra_graph;

/* The room that tables have. The results are the same. */
typedef struct tra_tables_room {
    int64_t whole;    /* right tables of joins that take up to so many bytes, with indexes, may stay whole. 0: those
                       * that have many rows are divided, so that joins run in little memory; TRA_WHOLE_ANY: none is */
    int64_t expected; /* tables that are brought together have room for what is expected of them, by this ceiling
                       * (tra_graph.expected_room); a run that finds more ends with TRA_RESOURCE. 0: for their bounds */
} tra_tables_room;
#define TRA_WHOLE_ANY (INT64_MAX - 1)
/* How a program is built, beside its text. */
typedef struct tra_building {
    const char *dir; /* what its relative paths are relative to ("" or ".": the working directory) */
    int ndefines;
    const char *const *defines; /* NAME=VALUE of -D */
    tra_tables_room room;
    const struct tra_makes *makes; /* who makes tables before the rest is built (made.h); NULL: none is made */
} tra_building;

/* Parses and types a program. Every diagnostic goes to d; the graph is usable only when d->errors is 0. Inputs with
 * files are opened; one that cannot be is a diagnostic too, and when there are no others the status is TRA_INPUT and e
 * names file and place of the first. Unknown -D names are TRA_USAGE. Returns TRA_PROGRAM when there are other
 * diagnostics of class error; *out is then to be closed all the same (it is NULL only on TRA_USAGE). */
TRA_MUSTUSE tra_status tra_graph_build(const tra_script *src, const tra_building *how, tra_arena *a, tra_diags *d,
                                       tra_graph **out, tra_err *e);
/* Strings of tables that no output reads leave the memory: those of tables of which others were made (made.h). */
void tra_graph_leave_strings(const tra_graph *g);
/* The rows for which the one block has room in which all rows of a table of this type are brought together, as
 * tra_node.most: no more than their bound. 0: all that its blocks could hold. */
int64_t tra_rows_together(const tra_graph *g, const tra_type *t);
void tra_graph_close(tra_graph *g); /* closes the inputs; the arena is the caller's; NULL allowed */

/* Do relations of these types have the same keys, extents, bounds, cuts and elements, and are both sparse by type, or
 * neither? What is known of entries, and so how they would be held, may differ from expression to expression. */
bool tra_type_eq(const tra_type *a, const tra_type *b, const char **why);

/* Finds the values of column `column` of a table that a program computes, before it is planned, as labels in the arena.
 * Whoever runs the program's commands sets it (plans/reference). TRA_NO: a file that is only declared has them.
 * TRA_RESOURCE: the table is too large for that. NULL: nobody finds them. */
typedef tra_status tra_find_values(const tra_graph *g, const tra_node *table, int column, tra_arena *a,
                                   const tra_dim_labels **out, tra_err *e);
extern tra_find_values *tra_find_column_values;

/* Types one operator: fills n->type (its catalog in the arena) from the types of n->in and the other fields.
 * TRA_PROGRAM with a message that names no place in the program. *warn gets a warning in the arena (the joined keys
 * have unlike ranges), or NULL. The rewrite rules call this for what they build. */
TRA_MUSTUSE tra_status tra_node_type(tra_arena *a, tra_node *n, const char **warn, tra_err *e);

/* How an output of that type is stored if the program does not say: as a plain array where it is dense by type, of rank
 * 0, or an eighth or more of its elements are expected to be entries; else as csr, or, if its rank is not 2, as csf. A
 * large matrix whose blocks have more than twice as many rows as entries is dcsr.
 * That follows from the program and the statistics of its inputs alone. */
#define TRA_SPARSE_BELOW 0.125 /* share of the elements that are entries */
tra_storage_choice tra_storage_default(tra_arena *a, const tra_type *t);

/* The share of elements or rows that are expected to exist, of those that its extents have room for. */
double tra_share_expected(const tra_type *t);
/* The layout in which a relation of this type is held in memory, by what is known of its entries (type_entries.c). A
 * plan follows this rule for every operator but those that only rename, filter or move tuples: their results are held
 * as their inputs are. */
const tra_layout *tra_type_best_layout(const tra_type *t);
/* Gives the type the layout, and counts in the arena what its entries take in that. */
void tra_type_set_layout(tra_arena *a, tra_type *t, const tra_layout *layout);

/* A predicted figure as the member `key`, with KEY_kind, and with KEY_bound unless it is exact. */
void tra_json_size(tra_json *j, const char *key, tra_size s);
/* Members of a JSON object: dtype, sparse, held, entries (of tables rows) with _kind and _bound, density. */
void tra_type_json(const tra_type *t, tra_json *j);

/* "C: keys 2 <4,4>, f64 1000 x 1000, tensor 3500 x 3500" and the like, for check and explain --tra. */
void tra_node_describe(const tra_node *n, tra_str *out);
/* The operator as the language writes it: join(A, A, [1], [0], matmul). */
void tra_node_print(const tra_node *n, tra_str *out);
/* All arguments that the operator has, but its inputs. Equal texts are equal operators: names of variables do not
 * count. Whoever asks whether two operators compute the same asks this. */
char *tra_node_text(tra_arena *a, const tra_node *n);
/* Of all operators with their arguments and inputs, and of the room that tables are expected to have. Graphs of one
 * program that have the same digest are planned alike. */
uint64_t tra_graph_digest(const tra_graph *g);

#endif
