/* build.h - from the syntax tree to the graph. Private to plans/tra. */
#ifndef TRA_BUILD_H
#define TRA_BUILD_H

#include "../lang/names.h"
#include "tra.h"

/* What a name of the program stands for: a relation, a param, a storage or a macro. If its definition has errors, what
 * uses the name fails without a diagnostic of its own. */
typedef struct tra_symbol {
    const tra_stmt *stmt;
    bool param; /* else a relation, a storage or a macro */
    bool ok;    /* its definition has no errors */
    bool seen;  /* its statement has been built; names may be used only after that */
    bool used;
    tra_node *node;            /* relations */
    tra_storage_choice stored; /* relations: how it is stored */
    double value;              /* params */
    bool exact;                /* params: computed from whole numbers alone, so that `whole` is the exact value */
    int64_t whole;
    const tra_ast *literal; /* params: the string, date or timestamp that it is; NULL: a number */
    const char *define;     /* params, inputs: the value or the file that -D gives, as text; NULL: none */
    bool changed;           /* states: a loop changes it */
    int depth;              /* how many loops are around the statement */
} tra_symbol;

typedef struct tra_build {
    int64_t whole; /* bytes up to which right tables of joins stay whole, and others that are divided where memory is
                      short; 0: as few rows as they must */
    const struct tra_makes *makes; /* as of tra_building */
    tra_graph *g;
    const tra_ast_program *ast; /* all of it */
    tra_arena *arena;
    tra_diags *d;
    const char *dir;           /* what relative paths are relative to */
    tra_names symbols;         /* all names of the program; value: tra_symbol */
    tra_names gone;            /* relations of the bodies of loops that have ended; value: tra_symbol */
    tra_names written;         /* files that outputs write so far; value: tra_stmt */
    tra_names holding;         /* their files and HDF5 groups; value: the first tra_stmt */
    tra_names made;            /* the typed nodes by what they compute (tra_build_key); value: the latest such node */
    tra_storage_choice stored; /* what the last store(..) that was built says */
    int unreadable;            /* how many diagnostics say that an input cannot be read */
    const char *first_unreadable; /* the message of the first of them, and its status */
    tra_status unreadable_as;
    int deferred, nmade;       /* strings that could not be made yet (table_strings.c); what has been made so far */
    tra_beforehand beforehand; /* which strings of calls are computed beforehand in the call that is being built */
    bool refused;              /* what is required does not hold: nothing below that is built */
    int loop;                  /* the loop whose body is being built; -1: none */
    int depth;                 /* loops around the statement that is being built */
    tra_names open;            /* relations of which columns may be used without their names; */
    tra_names words;           /* of others only those that have one of these names, or the end of one; */
    bool all_open;             /* any relation's may be */
    tra_names often;           /* names that are read in several places */
    int nlimits;               /* calls of limit outside of loops */
    const tra_ast **limits;
} tra_build;

/* Everything below that can fail returns false or NULL after a diagnostic, or silently where the cause has one
 * already. */

/* Reports that an input cannot be read, or that what is in it is wrong: where nothing else is, the status is TRA_INPUT.
 */
void *tra_build_unreadable(tra_build *b, tra_span span, const char *advice, const tra_err *why);
/* The error for the counter s in a place where a number is the same in all turns; what: which number. */
void *tra_build_refuse_turn(tra_build *b, const tra_ast *x, const tra_symbol *s, const char *what);
/* The param, or the relation, of that name, which must be defined above. A turn counter is no param here. */
tra_symbol *tra_build_param(tra_build *b, const tra_ast *x);     /* a number */
tra_symbol *tra_build_any_param(tra_build *b, const tra_ast *x); /* also a string, date or timestamp */
tra_symbol *tra_build_relation_symbol(tra_build *b, const char *name, tra_span span);
/* The advice "did you mean X?" for a name that no param (params) or no relation of the program has; NULL if no name is
 * near. X is one of these, or of the n names in `extra`. */
const char *tra_build_near(tra_build *b, const char *name, bool params, int n, const char *const *extra);
/* A new node at the end of the graph, without inputs, arguments and a type. */
tra_node *tra_build_node(tra_build *b, tra_opcode op, tra_span span);
/* by_columns.c: sets o->transpose and o->turned where the output had better be computed by columns. */
void tra_build_turned(tra_build *b, tra_output *o, tra_span span);
/* What a node computes, as text in the arena: nodes of the same operator, arguments and inputs have equal texts. */
const char *tra_build_key(tra_build *b, const tra_node *n);
/* A new node at the end of the graph with the inputs and arguments of `fields`: typed, noted in b->made, and counted
 * among the uses of its inputs. */
tra_node *tra_build_made(tra_build *b, tra_opcode op, tra_span span, const tra_node *fields);
/* The relation with those n expressions of its keys as keys (tra_keyfn_new). in may be NULL, and is returned then. */
tra_node *tra_build_rekey(tra_build *b, tra_span span, tra_node *in, const char *const *names, int n,
                          const tra_keyexpr *const *expr);
/* The node, or one with the same elements that is dense by type. n may be NULL, and is returned then. */
tra_node *tra_build_dense(tra_build *b, tra_node *n, tra_span span);

/* labels.c: gives the dimensions of a typed node the labels of the dimensions that they come from. */
void tra_carry_labels(tra_build *b, tra_node *n);
const tra_dim_labels *tra_labels_of_dim(const tra_node *n, int d); /* NULL: none */
/* Names of the first dimensions of a node: as the EinSum statement or the labels have them, else i0, i1, ... They
 * differ, and none is "value". */
void tra_name_dimensions(const tra_build *b, const tra_node *n, int rank, const char **names);
/* The labels of a node as its output file has them, with the names of dimensions; NULL: none. */
const tra_dim_labels *const *tra_labels_of_output(tra_build *b, const tra_node *n);

/* The relation that an expression of the program computes. */
tra_node *tra_build_relation(tra_build *b, const tra_ast *x);
/* The same of a tensor: a table of numbers stands for the matrix of its columns. */
tra_node *tra_build_operand_tensor(tra_build *b, const tra_ast *x);
/* Advice for an argument "name = x" in a place without named arguments: == may be meant. NULL for any other x. */
const char *tra_build_equals_advice(const tra_ast *x);
/* Advice for a function that is not in this place: its name here for that of another language, or the place where it
 * stands; NULL: nothing is known of the word. */
const char *tra_build_named_here(tra_arena *a, const char *function);
/* The same for an operator on relations. */
const char *tra_build_operator_here(tra_arena *a, const char *name);
/* The integer that x stands for: numbers, integer params, integer arithmetic. what: "a tile size". */
bool tra_build_int(tra_build *b, const tra_ast *x, const char *what, int64_t least, int64_t *out);
/* The same for a list [..] of at most TRA_MAXDIM such integers. */
bool tra_build_ints(tra_build *b, const tra_ast *x, const char *what, int64_t least, tra_dims *out);
/* The numbers that have names, where nothing else has them: nan, inf, pi. */
bool tra_build_named_number(const char *name, double *v);
/* Is x a number, or a minus sign and a number? The two are read together, so that -2^63 can be written. */
bool tra_is_number(const tra_ast *x);
const char *tra_number_beyond(const tra_ast *x); /* what is wrong with one that no i64 holds */
/* The exact value of an expression of whole numbers: numbers, params that have one, and their sums, differences and
 * products. False for other expressions, and if the value does not fit 64 bits. */
bool tra_build_exact(tra_build *b, const tra_ast *x, int64_t *v);
/* The counters of loops in one another that a function of keys reads, after its components. */
typedef struct tra_turns {
    int n;
    const tra_symbol *counter[TRA_MAXDIM];
} tra_turns;

/* The integer as a function of the turns of loops: *out has counter k as its component k. Counters that turns has not
 * are added. */
bool tra_build_int_of_turn(tra_build *b, const tra_ast *x, const char *what, const tra_keyexpr **out, tra_turns *turns);
/* The innermost loop of the counters (-1: there are none), and how many turns it has in all turns of those around it,
 * as far as that of the outermost counter. These turns have the numbers from 0 on, in the order in which they run. */
int tra_turns_loop(const tra_build *b, const tra_turns *t, int64_t *count);
/* Adds what the counters are in the turn of that number to the key. */
void tra_turns_key(const tra_build *b, const tra_turns *t, int64_t number, tra_dims *key);
const char *tra_turns_text(const tra_build *b, const tra_turns *t, int64_t number); /* "in turn 3" */
/* False, after a diagnostic, where they are too many to be looked at one by one. */
bool tra_turns_countable(tra_build *b, const tra_ast *x, int64_t count);
/* The number that x stands for: numbers, params, scalar functions. */
bool tra_build_number(tra_build *b, const tra_ast *x, double *out);
/* The expression over n arguments of these names: that of a function of elements. */
const tra_scalar *tra_build_function(tra_build *b, const tra_ast *x, int n, const char *const *names);
/* The function x of keys of that arity: it gives new key components, or is a predicate. A turn counter may stand in it,
 * where it is the same function of these keys in all turns. keys: NULL: they are not known. */
const tra_keyfn *tra_build_keyfn(tra_build *b, const tra_ast *x, int arity, bool predicate, const tra_catalog *keys);
/* The kernel that x names or describes, for use in a join, an aggregation or a map. */
const tra_kernel *tra_build_kernel(tra_build *b, const tra_ast *x, tra_kernel_use use);
/* The kernel of that name, with one number as its argument if nargs is 1, else without. */
const tra_kernel *tra_build_kernel_named(tra_build *b, tra_span span, const char *name, tra_kernel_use use, int nargs,
                                         double arg);
/* The right side of an EinSum statement as an expression of arguments. `ref` gets each reference X[i,j], aggregation
 * sum[k](...) and index(i) in it, and returns the number of its argument, or -1 after a diagnostic. */
typedef int tra_build_ref(void *ctx, const tra_ast *x);
const tra_scalar *tra_build_indexed(tra_build *b, const tra_ast *x, tra_build_ref *ref, void *ctx);

/* The text of a reference that gets the node of the graph whose number is its value, not a relation of the program. */
extern const char tra_of_node[];

/* New expressions in the arena: an operator with its operands (NULL where it has none), a number, argument i. */
const tra_scalar *tra_scalar_of(tra_arena *a, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y);
const tra_scalar *tra_scalar_of3(tra_arena *a, tra_scalar_op op, const tra_scalar *x, const tra_scalar *y,
                                 const tra_scalar *z);
const tra_scalar *tra_scalar_number(tra_arena *a, double v);
/* Is it a number of which the value alone says what it is beside integers? */
bool tra_scalar_is_plain(const tra_scalar *e);
const tra_scalar *tra_scalar_argument(tra_arena *a, int i);

/* Is this the name of an aggregation of the language: sum, prod, max, min, mean, argmin, argmax? */
bool tra_is_aggregation(const char *name);
const char *tra_aggregation_name(int i); /* of aggregation i; NULL after the last */
/* The result of an EinSum statement. */
tra_node *tra_build_einsum(tra_build *b, const tra_stmt *st);

/* Builds the statements of a loop's body (graph.c). Their names are symbols until `end` has run. */
void tra_build_body(tra_build *b, tra_ast_program *body, void (*end)(tra_build *b, void *ctx), void *ctx);
/* The value of an ASSIGN or EINSUM statement, whose symbol is s. */
tra_node *tra_build_value(tra_build *b, const tra_stmt *st, tra_symbol *s);
/* Adds a name to those of the graph. */
void tra_build_add_name(tra_build *b, const char *name, const tra_symbol *s);
/* A require statement (loop.c). Of numbers that are known now the condition is checked at once. */
void tra_build_require(tra_build *b, const tra_stmt *st);
/* A repeat statement (loop.c). Afterwards its states have their last values, and there are symbols of its traces. */
void tra_build_repeat(tra_build *b, const tra_stmt *st);

tra_node *tra_build_input(tra_build *b, const tra_stmt *st, tra_symbol *s);
/* The file that an input statement reads, as tra_rel_open takes it; NULL: it is only declared. */
const char *tra_input_path(tra_build *b, const tra_stmt *st, const tra_symbol *s);
/* Tells tra_file_hooks which columns of the inputs the program may use. Once, before its statements are built. */
void tra_build_demands(tra_build *b, const tra_ast_program *ast);
/* May the program use this column of the input, by its name or without? */
bool tra_build_may_use(const tra_build *b, const char *input, const char *column);
/* The table in a file that was made for the program. */
tra_node *tra_build_made_input(tra_build *b, tra_span span, const char *path);
void tra_build_output(tra_build *b, tra_stmt *st);
/* Warns of sparse operands that become dense, at the end of the program. */
void tra_build_warn_dense(tra_build *b);
/* Where an OUTPUT statement of a program in dir writes to: from the arena, or as the statement has it. */
const char *tra_output_path(const tra_stmt *st, const char *dir, tra_arena *a);

/* ---- units of elements (units.c) -------------------------------------------------------------------------------- */

/* Those that a file says; NULL: none, or the elements are moments. */
const char *tra_units_of_file(const tra_rel *r);
/* Those of the result of a statement: of sums, means and extremes of what has units, and of what has equal ones; not
 * of multiples, which may be changes of units. NULL: none are known. */
const char *tra_units_of_statement(const tra_einsum *s);
/* Gives a node whose operator keeps elements as they are the units of its input. */
void tra_carry_units(tra_node *n);

/* ---- dimensions that meet: their labels, and the order of their positions (meet.c) ------------------------------ */

/* What dimension d follows; NULL: nothing is known. */
const tra_dim_order *tra_order_of_dim(const tra_node *n, int d);
const tra_dim_order *tra_dim_order_new(tra_build *b, int by, const char *of);
/* Sets labels and order of dimension d of the node; NULL: it has none. */
void tra_set_dim(tra_build *b, tra_node *n, int d, const tra_dim_labels *labels, const tra_dim_order *order);

/* Dimensions that meet, of which the first so many are known. Begin with an empty one. */
typedef struct tra_meeting {
    const tra_dim_labels *labels; /* of the first that has any, `labelled` */
    const tra_node *labelled;
    const tra_dim_order *order[TRA_ORDER_KEYS + 1]; /* the first of each kind, of `by` */
    const tra_node *by[TRA_ORDER_KEYS + 1];
} tra_meeting;
/* Adds dimension d of x, which must agree with the others: labels must be equal, and what pivot has put in the order of
 * its keys meets no rows of a table that have no labels. False after a diagnostic, which calls the dimension `what`. */
bool tra_meeting_add(tra_build *b, tra_span span, tra_meeting *m, const char *what, const tra_node *x, int d);
/* What a dimension follows that is made of those that met. */
const tra_dim_order *tra_meeting_order(const tra_meeting *m);

/* ---- relations that a program makes, and extents as numbers (gen.c) --------------------------------------------- */

/* The node of gen(VALUES, [extents], by = .., seed = .., type = ..); NULL after a diagnostic. */
tra_node *tra_build_gen(tra_build *b, const tra_ast *call);
/* Is it computed of numbers, params and extents alone? */
bool tra_is_of_numbers(const tra_build *b, const tra_ast *x);
/* Such a number as a relation of rank 0, of f64; NULL after a diagnostic. */
tra_node *tra_build_number_relation(tra_build *b, const tra_ast *x);
/* The number extent(X, d); false after a diagnostic. */
bool tra_build_extent(tra_build *b, const tra_ast *call, int64_t *out);

/* ---- references whose indices are no labels (lookup.c) ---------------------------------------------------------- */

/* The tensor that the reference x to n reads, where some of its indices are numbers, strings or functions of a label,
 * and the labels of its dimensions; NULL after a diagnostic. right_side: of the statement. */
const tra_node *tra_looked_up(tra_build *b, const tra_ast *x, const tra_ast *right_side, const tra_node *n,
                              const tra_ast **label, int *nlabels);

/* ---- slice, stack and topk (slice.c) ---------------------------------------------------------------------------- */

/* Builds the node of an operand; NULL after a diagnostic. */
typedef tra_node *tra_build_operand(tra_build *b, const tra_ast *x);

/* slice(X, [from:to, ...]) and stack(A, B, ..., dim). The result has blocks as large as those of X, or of A. NULL after
 * a diagnostic. */
bool tra_is_slice(const char *name);
const char *tra_slice_name(int i); /* NULL after the last */
tra_node *tra_build_slice(tra_build *b, const tra_ast *call, tra_build_operand *operand);
/* Result `part` of `values, positions = topk(X, k)` or topk(X, k, least), over the last dimension; NULL after a
 * diagnostic. */
/* The k greatest (least) values of each row of x, in order, NaN first, or their positions. NULL after a diagnostic. */
tra_node *tra_top_of(tra_build *b, tra_span span, tra_node *x, bool positions, bool least, int64_t k);
tra_node *tra_build_top(tra_build *b, const tra_ast *call, tra_build_operand *operand, int part, int nparts);

/* ---- solve, inverse and decompositions of matrices (linear.c, tsqr.c) ------------------------------------------- */

bool tra_is_linear(const char *name); /* is there such an operator? */
const char *tra_linear_name(int i);   /* of operator i; NULL after the last */
/* Result `part` of the nparts results (eigh has two) of the call, whose nin operands are the nodes `in`; NULL after a
 * diagnostic. Operands of several blocks are reblocked to one. */
tra_node *tra_build_linear(tra_build *b, const tra_ast *call, int nin, tra_node *const *in, int part, int nparts);

/* QR and singular values of a tall matrix: one that has many rows, in several blocks, or rows that only the run counts
 * (tsqr.c). result: "qr_q", "qr_r", "svd_u", "svd_s", "svd_v". */
typedef struct tra_tall {
    tra_build *b;
    tra_span span; /* of the nodes that are made */
} tra_tall;
bool tra_is_tall(const tra_node *a);
tra_node *tra_build_tall(tra_tall *t, tra_node *a, const char *result);
/* The X for which the norm of A X - B is least, of a tall matrix or of any that has more rows than columns. */
tra_node *tra_build_least(tra_tall *t, tra_node *a, tra_node *b);

/* ---- functions and arithmetic of whole tensors, without labels (whole.c) ---------------------------------------- */

/* Functions of one whole tensor: softmax, transpose, diag, trace, norm. */
int tra_whole_find(const char *name); /* -1: it is none of them */
const char *tra_whole_name(int i);    /* NULL after the last */
tra_node *tra_build_whole_function(tra_build *b, int i, const tra_ast *call, tra_build_operand *operand);

/* sum(X), mean(X), ...: an aggregation over all dimensions. */
bool tra_is_whole_aggregation(const tra_ast *x);
tra_node *tra_build_whole_aggregation(tra_build *b, const tra_ast *call, tra_build_operand *operand);

/* Is it an expression of elements: arithmetic, a comparison, a call of a scalar function? */
bool tra_is_elementwise(const tra_ast *x);
/* The tensor of the values of an expression of elements of whole tensors, which have equal shapes or no dimensions.
 * `operand` makes nodes of the relations in it. NULL after a diagnostic. */
tra_node *tra_build_elementwise(tra_build *b, const tra_ast *x, tra_build_operand *operand);

/* ---- storage and tensor statements, and storages by name (storage.c) -------------------------------------------- */

/* Makes of t, the type of a declared input if it were dense, what `as` and `nnz` of the statement say; leaves it dense
 * after a diagnostic. */
void tra_build_declared(tra_build *b, const tra_stmt *st, tra_type *t, tra_storage_choice *out);
/* How a result of type t is stored by "as NAME(args)". False after a diagnostic. */
bool tra_build_stored(tra_build *b, const tra_storage_use *use, const tra_type *t, tra_storage_choice *out);
/* A node of the same elements whose type is sparse if that storage is sparse, and else dense: n itself if its type is
 * so already. */
tra_node *tra_build_as(tra_build *b, tra_node *n, const tra_storage_choice *as, tra_span span);
/* The node of store(X, NAME), and how it is stored. name: the second argument of the call, NAME or NAME(args). */
tra_node *tra_build_store(tra_build *b, tra_node *x, const tra_ast *name, tra_storage_choice *out);
/* Adds the storage that the statement declares to the graph. */
void tra_build_storage_statement(tra_build *b, const tra_stmt *st);

/* The node of a tensor statement (tensor.c), in the blocks that the statement asks for; out: how it is stored. */
tra_node *tra_build_tensor(tra_build *b, const tra_stmt *st, tra_storage_choice *out);
/* The node of an expression of the calculus that reads x alone, by this name, of the given extents. The text is one of
 * this program, and no EinSum statement. NULL after a diagnostic. */
tra_node *tra_build_of_text(tra_build *b, const tra_node *x, const char *text, const tra_dims *shape, tra_span span);

/* ---- the values of states (loop_state.c) ------------------------------------------------------------------------ */

/* The type of a state in every turn: that of its first value, but how many entries it has may change. */
tra_type tra_state_type(tra_build *b, const tra_type *first);
/* The table with columns that may be NULL, all of them, and as next value with strings by the codes of the state (NULL:
 * it is none) and room for its rows: these may change from turn to turn, but not how blocks look. NULL after a
 * diagnostic. */
tra_node *tra_state_widen(tra_build *b, tra_node *n, const tra_type *of, tra_span span);
/* The next value in the blocks of the state; NULL after a diagnostic. */
tra_node *tra_state_fit(tra_build *b, const tra_stmt *st, const tra_repeat_state *state, tra_node *n);

/* ---- calls (graph_calls.c) -------------------------------------------------------------------------------------- */

/* Result `part` of the nparts results of x, a call of solve, inverse or a decomposition (linear.h). */
tra_node *tra_build_linear_call(tra_build *b, const tra_ast *x, int part, int nparts);

#endif
