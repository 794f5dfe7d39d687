/* storage.h - storages: statements that say, in the calculus, how a tensor is computed from components
 * (tra-storage(5)), and tensor statements. After STOREL, sections 4 and 5.2. Trees and declarations are in the caller's
 * arena; those that were checked may be used by several threads. */
#ifndef TRA_STORAGE_H
#define TRA_STORAGE_H

#include "../calculus/calculus.h"

/* ---- declarations of storages and tensors -------------------------------------------------------------------- */

/* The positions of a level: every coordinate at each position of the level above; one at each of these; or those of the
 * entries that differ in the coordinates so far. */
typedef enum tra_calc_positions { TRA_POSITIONS_EVERY, TRA_POSITIONS_ONE, TRA_POSITIONS_LISTED } tra_calc_positions;

/* Kinds of levels: name in C, text, positions. */
#define TRA_CALC_LEVELS(X)                                                                                             \
    X(DENSE, "dense", EVERY)                                                                                           \
    X(SPARSE, "sparse", LISTED)                                                                                        \
    X(SINGLETON, "singleton", ONE)                                                                                     \
    X(HASH, "hash", LISTED)
typedef enum tra_calc_level {
#define X(name, ...) TRA_CALC_LEVEL_##name,
    TRA_CALC_LEVELS(X)
#undef X
} tra_calc_level;
const char *tra_calc_level_text(tra_calc_level l);
tra_calc_positions tra_calc_level_positions(tra_calc_level l);

typedef struct tra_component {
    const char *name;
    int at;
    tra_component_kind kind;
    bool real;  /* it has the tensor's element type, floats or integers; else integers: positions, coordinates */
    int nsizes; /* SCALAR 0, ARRAY 1, HASHMAP and TRIE: the number of keys, each below its size */
    const tra_calc *size[TRA_CALC_MAXRANK];
} tra_component;

/* A storage statement. Its names are, in the scope of sizes and mapping: dimensions (extents of the block), params,
 * origin (of the block in its tensor), components; in this order. */
typedef struct tra_storage_decl {
    const char *name;
    int at, len; /* from the word storage to the end */
    int name_at;
    int ndims;
    const char **dims; /* one that stands twice asks for equal extents */
    bool more_dims;    /* [m, ...]: and any number more; only by levels */
    int nparams;
    const char **params;
    bool more_params;       /* (p, o...): the last one takes all arguments that are left; only as an order */
    const char **origin;    /* ndims names, or NULL: the mapping does not ask */
    int nlevels;            /* 0: by components and mapping */
    tra_calc_level *levels; /* the last one repeats up to the rank */
    int norder;             /* numbers and params; 0: ascending */
    const tra_calc **order;
    bool reversed;           /* order reversed */
    const char *order_param; /* order o, of (o...) */
    int ncomponents;
    tra_component *components;
    const tra_calc *mapping;
} tra_storage_decl;

/* A tensor statement: tensor Z[e, ...] by [b, ...] as S(args) = value. Its trees are not checked: the scope is the
 * program's. */
typedef struct tra_tensor_decl {
    const char *name;
    int at, len, name_at;
    int nextents; /* -1: taken from the domains of the keys */
    const tra_calc **extents;
    int nblock; /* -1: not said */
    const tra_calc **block;
    const char *storage; /* NULL: not said */
    int storage_at;
    int nargs;
    const tra_calc **args;
    const tra_calc *value;
} tra_tensor_decl;

/* The statement that begins at byte `at` of a text of n bytes, with the word storage (tensor). It ends where a line
 * ends and it is complete, or before a ';'; *end is the first byte after it. Sizes, order and mapping are checked here
 * too. NULL with *err; *end is then where the next statement may begin. */
const tra_storage_decl *tra_storage_parse(const char *text, int n, int at, tra_arena *a, int *end, tra_calc_error *err);
const tra_tensor_decl *tra_tensor_parse(const char *text, int n, int at, tra_arena *a, int *end, tra_calc_error *err);
/* As a statement, which parses to the same. */
void tra_storage_decl_print(const tra_storage_decl *d, tra_str *out);

/* ---- storages ----------------------------------------------------------------------------------------------- */

/* A declaration with its arguments, of one rank. What is by levels has the mapping that it stands for: components
 * size_d (how many, of a sparse level at the root), pointers_to_d, indices_d and values as in binsparse (d: the depth
 * of the level; a singleton has indices_d alone), and for hash levels positions_d, or values if they are the last. */
typedef struct tra_storage {
    const tra_storage_decl *decl;
    int rank;
    const int64_t *args; /* of the params */
    int nargs;
    bool whole; /* the tensor's elements are integers, and so are components that are declared real */
    bool by_levels;
    tra_calc_level level[TRA_CALC_MAXRANK]; /* by levels: the level at each depth, */
    int order[TRA_CALC_MAXRANK];            /* and the dimension that it has */
    const char *dim[TRA_CALC_MAXRANK];      /* names in the mapping */
    bool at_origin;                         /* the mapping asks for the block's origin */
    int ncomponents;
    const tra_component *components;
    const tra_calc *mapping;
    int first_component; /* index in the scope of the first component; the others follow */
    int nscope;
    const char *text; /* a storage statement without params that means the same for this rank */
} tra_storage;

/* TRA_PROGRAM where the declaration has no such rank or params, the order is none, or (whole) the types do not fit:
 * the message says "storage csr is of 2 dimensions, ..". Everything in the arena. */
TRA_MUSTUSE tra_status tra_storage_make(const tra_storage_decl *d, int rank, int nargs, const int64_t *args, bool whole,
                                        tra_arena *a, tra_storage **out, tra_err *e);
/* The same of one of the library by its name, of which several declarations may exist for different ranks. *out is NULL
 * with TRA_OK where the library has none of that name. */
TRA_MUSTUSE tra_status tra_storage_find(const char *name, int rank, int nargs, const int64_t *args, bool whole,
                                        tra_arena *a, tra_storage **out, tra_err *e);
/* Names of the library, in the order of the alphabet; NULL ends. */
const char *const *tra_storage_names(void);
/* Components and mapping as a storage statement with { }, whatever it was declared by. */
void tra_storage_print(const tra_storage *s, tra_str *out);
/* By levels, all of them dense, in ascending order: the values are the dense array. */
bool tra_storage_is_dense(const tra_storage *s);

/* One block: extents, origin (NULL: 0), and its components: given, or (data NULL) to be found. */
typedef struct tra_storage_block {
    const int64_t *extent, *origin;
    tra_component_data *component; /* s->ncomponents */
} tra_storage_block;

/* The sizes of component k (nsizes of them), from the block and those of the components above it that the declaration
 * asks; TRA_INPUT where they are negative or it cannot tell, and where two dimensions of one name differ. */
TRA_MUSTUSE tra_status tra_component_sizes(const tra_storage *s, const tra_storage_block *b, int k, int64_t *size,
                                           tra_err *e);
/* Sets n of each component that is not given (data NULL). TRA_PROGRAM for hash maps and tries, TRA_INPUT as above. */
TRA_MUSTUSE tra_status tra_storage_find_sizes(const tra_storage *s, tra_storage_block *b, tra_err *e);
/* Has each component as many elements as it must have, and hash maps and tries sorted keys without duplicates below
 * their sizes? `where` begins the message. TRA_INPUT. */
TRA_MUSTUSE tra_status tra_component_check(const tra_storage *s, const tra_storage_block *b, const char *where,
                                           tra_err *e);
/* The entries of a block: tra_calc_run of the mapping, with coordinates inside the block. A coordinate outside of its
 * extents is TRA_INPUT and named. entry->component counts the components of s from 0. steps <= 0:
 * tra_storage_steps. */
TRA_MUSTUSE tra_status tra_storage_run(const tra_storage *s, const tra_storage_block *b, int64_t steps,
                                       tra_calc_sink *sink, void *ctx, tra_err *e);
/* The same, of which the caller sees to it that no coordinate comes twice: @unique is taken on trust, so that this
 * needs no memory. An entry of a component that is not given (data NULL) has no value, but tells the element that holds
 * it. */
TRA_MUSTUSE tra_status tra_storage_visit(const tra_storage *s, const tra_storage_block *b, int64_t steps,
                                         tra_calc_sink *sink, void *ctx, tra_err *e);
/* Steps that a mapping may take on a block: 10000, and 100 for each element of a component and for each coordinate. */
int64_t tra_storage_steps(const tra_storage *s, const tra_storage_block *b);

/* Is every coordinate of every block an entry, so that what is stored so is dense by type? True for levels that are all
 * dense. For another mapping it is found out by running it (tra_storage_trace) on this block, where that needs no
 * contents of components and the block has at most TRA_STORAGE_TRIED elements; a larger one is taken to be sparse.
 * One block speaks for all unless the mapping asks for origins. */
enum { TRA_STORAGE_TRIED = 1 << 16 };
bool tra_storage_is_total(const tra_storage *s, const tra_storage_block *b);

/* ---- backwards ---------------------------------------------------------------------------------------------- */

/* For each coordinate that a block's mapping emits, the element of a component that holds it: the mapping is run once
 * with elements of components that are not given (data NULL) standing for themselves. Takes as long as evaluating the
 * mapping, and 24 bytes for each entry. */
typedef struct tra_storage_place {
    int64_t at; /* the coordinate's index in the block, row-major */
    int component;
    int64_t element;
} tra_storage_place;
typedef struct tra_storage_places {
    int64_t n;
    tra_storage_place *v; /* sorted by at */
} tra_storage_places;
/* Sizes of components that are not given are found too: n in b->component. TRA_PROGRAM where the mapping needs contents
 * that are not given, computes values that it emits, or emits a coordinate from two elements. steps: as of
 * tra_storage_run. */
TRA_MUSTUSE tra_status tra_storage_trace(const tra_storage *s, tra_storage_block *b, int64_t steps,
                                         tra_storage_places *out, tra_err *e);
/* The same of at most so many entries: TRA_RESOURCE when there are more. */
TRA_MUSTUSE tra_status tra_storage_trace_most(const tra_storage *s, tra_storage_block *b, int64_t steps, int64_t most,
                                              tra_storage_places *out, tra_err *e);
void tra_storage_places_free(tra_storage_places *p);

#endif
