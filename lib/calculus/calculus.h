/* calculus.h - the calculus of stored tensors: expressions, their types, and the interpreter that is their meaning.
 * Storages are written in it (storage.h).
 *
 * After STOREL (Schleich, Shaikhha, Suciu 2023), sections 3, 4 and 5.2: SDQLite, with the corrections of
 * tra-storage(5). Values are scalars (64-bit integers or doubles) and nested dictionaries from integers to scalars or
 * dictionaries, in which a key that is missing has the value 0. Knows lib/base alone: text comes as bytes, arrays as
 * typed pointers, relations as functions. All functions are total: any text gets a tree or an error with a place, trees
 * are at most TRA_CALC_HEIGHT high, so that recursion over them is safe, and the interpreter reads no memory but what
 * its caller gave it and stops after the steps that its caller allows. Trees and declarations are in the caller's
 * arena; those that were checked may be used by several threads.
 */
#ifndef TRA_CALCULUS_H
#define TRA_CALCULUS_H

#include "../base/base.h"

enum {
    TRA_CALC_MAXRANK = 31,  /* dimensions of a tensor, names of a pattern, sizes of a component */
    TRA_CALC_NEST = 200,    /* brackets and bodies inside each other in a text */
    TRA_CALC_HEIGHT = 1000, /* of a tree */
};

/* What may be wrong with numbers that are computed: name, text, kind of the error (TRA_INPUT). The interpreter and
 * compiled kernels (lib/codegen) say the same. */
#define TRA_CALC_WRONGS(X)                                                                                             \
    X(TOO_LARGE, "an integer is larger than 64 bits hold", TRA_KIND_OVERFLOW)                                          \
    X(SUM_TOO_LARGE, "an integer is larger than 64 bits hold where values of one key are added", TRA_KIND_OVERFLOW)    \
    X(BY_ZERO, "division by zero", TRA_KIND_NONE)                                                                      \
    X(NO_INTEGER, "a number that no integer of 64 bits holds", TRA_KIND_NONE)                                          \
    X(NEGATIVE, "a negative number has no bits to take", TRA_KIND_NONE)                                                \
    X(OUTSIDE, "a key outside of the extents of the result", TRA_KIND_NONE)

typedef enum tra_calc_wrong {
    TRA_CALC_WRONG_NONE,
#define X(name, text, kind) TRA_CALC_WRONG_##name,
    TRA_CALC_WRONGS(X)
#undef X
} tra_calc_wrong;
const char *tra_calc_wrong_text(tra_calc_wrong w);
tra_err_kind tra_calc_wrong_kind(tra_calc_wrong w);

/* What is wrong with a text, and where. */
typedef struct tra_calc_error {
    int at, len; /* bytes in the text */
    char msg[480];
    char advice[240]; /* what to write instead; "" where there is nothing to advise */
} tra_calc_error;

/* ---- trees -------------------------------------------------------------------------------------------------- */

/* Kinds of nodes: name, operator as printed or NULL. Kids stand in the order of the text. */
#define TRA_CALC_KINDS(X)                                                                                              \
    X(NUMBER, NULL) /* whole or real */                                                                                \
    X(NAME, NULL)   /* a bound name (level), else one of the scope (index) */                                          \
    X(ADD, "+")                                                                                                        \
    X(SUB, "-")                                                                                                        \
    X(MUL, "*")                                                                                                        \
    X(DIV, "/")                                                                                                        \
    X(MOD, "%")                                                                                                        \
    X(NEG, "-")                                                                                                        \
    X(CALL, NULL)   /* fn(kids) */                                                                                     \
    X(EXTENT, NULL) /* extent(index, whole): the extent of a relation's dimension */                                   \
    X(DICT, NULL)   /* {notes keys -> value}: the kids but the last are the keys, of which (a, b) has two, () none */  \
    X(APPLY, NULL)  /* kid 0 applied to keys */                                                                        \
    X(SLICE, NULL)  /* e(lo:hi) */                                                                                     \
    X(RANGE, ":")                                                                                                      \
    X(IF, NULL)    /* condition, body */                                                                               \
    X(LET, NULL)   /* values of the binders, body */                                                                   \
    X(SUM, NULL)   /* dictionaries of the generators, body */                                                          \
    X(MERGE, NULL) /* two dictionaries, body; binders: both keys, the value */                                         \
    X(LT, "<")                                                                                                         \
    X(LE, "<=")                                                                                                        \
    X(GT, ">")                                                                                                         \
    X(GE, ">=")                                                                                                        \
    X(EQ, "==")                                                                                                        \
    X(NE, "!=")                                                                                                        \
    X(AND, "&&")                                                                                                       \
    X(OR, "||")                                                                                                        \
    X(NOT, "!")

typedef enum tra_calc_kind {
#define X(name, text) TRA_CALC_##name,
    TRA_CALC_KINDS(X)
#undef X
} tra_calc_kind;
/* For switches: `case TRA_CALC_CONDITIONS:`, and so on. */
#define TRA_CALC_ARITHMETIC  TRA_CALC_ADD ... TRA_CALC_MOD
#define TRA_CALC_COMPARISONS TRA_CALC_LT ... TRA_CALC_NE
#define TRA_CALC_CONDITIONS  TRA_CALC_LT ... TRA_CALC_NOT

/* Functions of scalars: name in C, least and most arguments, name in the text. abs, min and max keep the type of their
 * arguments (mixed ones are real; a NaN gives NaN), floor gives an integer, real, exp, log and sqrt a real; even_bits
 * and odd_bits take the bits 0, 2, 4.. and 1, 3, 5.. of an integer that is not negative. */
#define TRA_CALC_FUNCTIONS(X)                                                                                          \
    X(ABS, 1, 1, "abs")                                                                                                \
    X(MIN, 2, TRA_CALC_MAXRANK, "min")                                                                                 \
    X(MAX, 2, TRA_CALC_MAXRANK, "max")                                                                                 \
    X(FLOOR, 1, 1, "floor")                                                                                            \
    X(REAL, 1, 1, "real")                                                                                              \
    X(EXP, 1, 1, "exp")                                                                                                \
    X(LOG, 1, 1, "log")                                                                                                \
    X(SQRT, 1, 1, "sqrt")                                                                                              \
    X(EVEN_BITS, 1, 1, "even_bits")                                                                                    \
    X(ODD_BITS, 1, 1, "odd_bits")

typedef enum tra_calc_fn {
#define X(name, least, most, text) TRA_CALC_FN_##name,
    TRA_CALC_FUNCTIONS(X)
#undef X
} tra_calc_fn;

/* A scalar (depth 0), or dictionaries inside each other (depth of them) down to scalars. sparse: a key may be missing
 * (a constructed dictionary, a hash map, a relation of sparse type), or the scalar came from where one may be: as a
 * factor or dividend its 0 annihilates, also NaN and infinity. */
typedef struct tra_calc_type {
    bool real, sparse;
    int depth;
} tra_calc_type;

/* Annotations of DICT, as bits. @unique says that within the sums whose body it is (through if, let and +), the key
 * comes once; the interpreter checks that. The others are for those who plan, and mean nothing. */
enum { TRA_CALC_UNIQUE = 1, TRA_CALC_DENSE = 2, TRA_CALC_HASH = 4 };

/* A name bound by let, sum or merge. Bound names are numbered by how many are bound around them (level); a name that
 * stands again in its own sum asks for equality with the first, and has its level. */
typedef struct tra_calc_binder {
    const char *name; /* NULL: _ */
    int at;
    int level;  /* -1 for _ */
    bool again; /* not bound here, but compared */
    tra_calc_type type;
} tra_calc_binder;

typedef struct tra_calc tra_calc;
struct tra_calc {
    tra_calc_kind kind;
    int at, len; /* bytes in the text that it was parsed from */
    int height;
    int nkids;
    tra_calc **kids;
    const char *name;  /* NAME, CALL, EXTENT (of the relation) */
    bool is_real;      /* NUMBER */
    int64_t whole;     /* NUMBER; EXTENT: the dimension */
    double real;       /* NUMBER */
    tra_calc_fn fn;    /* CALL */
    unsigned notes;    /* DICT */
    const int *nnames; /* SUM: names in the pattern of each generator; each has one binder more, for the value */
    int nbinders;
    tra_calc_binder *binders; /* LET: one for each value; SUM, MERGE: in the order of the text */
    /* by tra_calc_check: */
    tra_calc_type type; /* of conditions: an integer */
    int level;          /* NAME: of its binder, or -1 */
    int index;          /* NAME, EXTENT: in the scope, where level is -1 */
};

/* Parses one expression that is the whole text. NULL with *err. Names are not looked up yet. */
const tra_calc *tra_calc_parse(const char *text, int n, tra_arena *a, tra_calc_error *err);
/* The text of a tree, which parses to the same tree: on one line, parentheses where they are needed. */
void tra_calc_print(const tra_calc *x, tra_str *out);
/* The same, with numbers in the place of n names that are not bound: params by their values. */
void tra_calc_print_with(const tra_calc *x, int n, const char *const *names, const int64_t *values, tra_str *out);
/* Do two trees say the same, but for places? */
bool tra_calc_equal(const tra_calc *x, const tra_calc *y);

/* ---- names that are not bound ------------------------------------------------------------------------------- */

typedef struct tra_calc_name {
    const char *name;
    tra_calc_type type;
    bool relation; /* extent(name, d) may be asked */
} tra_calc_name;

/* Looks up names, finds types and refuses what has none; fills the tree. Called once for a tree. Bound names are looked
 * up first, then the scope, then functions. */
bool tra_calc_check(const tra_calc *x, int n, const tra_calc_name *scope, tra_arena *a, tra_calc_error *err);

/* ---- what names stand for when a tree is evaluated ------------------------------------------------------------ */

typedef struct tra_calc_number {
    bool real;
    int64_t i; /* unless real */
    double r;  /* if real */
} tra_calc_number;
static inline tra_calc_number tra_calc_int(int64_t v) { return (tra_calc_number){false, v, 0}; }
static inline tra_calc_number tra_calc_real(double v) { return (tra_calc_number){true, 0, v}; }
static inline double tra_calc_as_real(tra_calc_number v) { return v.real ? v.r : (double)v.i; }

/* The types of elements of components: name, C type, what they are (a truth is a byte, 0 or not). */
#define TRA_ELEMENTS(X)                                                                                                \
    X(F64, double, REAL)                                                                                               \
    X(F32, float, REAL)                                                                                                \
    X(I64, int64_t, WHOLE)                                                                                             \
    X(I32, int32_t, WHOLE)                                                                                             \
    X(BOOL, uint8_t, TRUTH)                                                                                            \
    X(U8, uint8_t, WHOLE)                                                                                              \
    X(U16, uint16_t, WHOLE)                                                                                            \
    X(U32, uint32_t, WHOLE)
typedef enum tra_element {
#define X(name, ...) TRA_ELEMENT_##name,
    TRA_ELEMENTS(X)
#undef X
} tra_element;
size_t tra_element_size(tra_element t);

#define TRA_COMPONENTS(X) X(SCALAR, "scalar") X(ARRAY, "array") X(HASHMAP, "hashmap") X(TRIE, "trie")
typedef enum tra_component_kind {
#define X(name, text) TRA_COMPONENT_##name,
    TRA_COMPONENTS(X)
#undef X
} tra_component_kind;

/* n elements in memory, aligned to their type. data NULL: it is known only how many there are (see
 * tra_storage_trace); whoever needs one gets an error that names the component. */
typedef struct tra_elements {
    tra_element type;
    int64_t n;
    const void *data;
} tra_elements;

/* A component: a scalar (one element), an array, or the entries of a hash map or trie, sorted by keys: key[d] has the
 * d-th key of each entry, as many as there are values. Keys that are not sorted or stand twice make lookups miss, but
 * nothing worse; tra_component_check tells. */
typedef struct tra_component_data {
    tra_elements value;
    tra_elements key[TRA_CALC_MAXRANK]; /* HASHMAP, TRIE */
} tra_component_data;

/* A relation's array or a whole tensor, by functions that the caller has. */
typedef struct tra_calc_operand {
    void *ctx;
    int rank;
    bool real, sparse; /* as its type in the scope; loops visit all coordinates unless it is sparse */
    int64_t extent[TRA_CALC_MAXRANK];
    /* Of a block of a tensor of these extents: where it begins, and how long it is; NULL: all of it is there. Loops
     * visit the coordinates of the block, and elsewhere its elements are 0. */
    const int64_t *origin, *length;
    /* The element at a coordinate that is inside the extents, and the block. */
    tra_status (*get)(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e);
    /* sparse: the least key of dimension n that is not below *key (>= 0) under which, given the first n keys, is an
     * element that is not 0: true and *key. Not asked of others. */
    bool (*next)(void *ctx, int n, const int64_t *prefix, int64_t *key);
} tra_calc_operand;

/* What a name of the scope stands for: an operand, else a component, else a number. */
typedef struct tra_calc_free {
    const tra_calc_operand *operand;
    const tra_component_data *component;
    tra_component_kind kind; /* of the component */
    tra_calc_number number;
} tra_calc_free;

/* ---- the interpreter ---------------------------------------------------------------------------------------- */

/* One contribution to a dictionary: those to one key add up. */
typedef struct tra_calc_entry {
    const int64_t *key; /* as many as the dictionary is deep */
    tra_calc_number value;
    int component;   /* index in the scope of the component that the value is an element of, or -1 */
    int64_t element; /* its index in that component */
} tra_calc_entry;
typedef tra_status tra_calc_sink(void *ctx, const tra_calc_entry *x, tra_err *e);

/* Evaluates a tree that is checked against a scope of n names and gives its contributions one by one: the body of a sum
 * for each pair, without building the dictionary, so that no memory is needed but for dictionaries that the expression
 * names, and the keys of @unique. A scalar gives one entry without keys; a body that an if leaves out gives none; a
 * contribution may be 0. Each node and each turn of a loop is a step. Errors, with the part of the expression that
 * fails: TRA_INPUT (division by 0, overflow of integers, a key twice under @unique, a component that is not given),
 * TRA_RESOURCE after `steps`, and those of the sink and of operands. Loops run over keys upwards, so results do not
 * depend on how a dictionary is held. */
TRA_MUSTUSE tra_status tra_calc_run(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps,
                                    tra_calc_sink *sink, void *ctx, tra_err *e);
/* Sets how many bytes the dictionaries that this thread builds from now on may take. Evaluation stops with TRA_RESOURCE
 * after the doubling of a dictionary that passes the limit. INT64_MAX: no limit. */
void tra_calc_limit(int64_t bytes);
/* As tra_calc_run, with contributions added up: each key once, in ascending order, without those that are 0; a scalar
 * once, whatever it is. */
TRA_MUSTUSE tra_status tra_calc_run_summed(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps,
                                           tra_calc_sink *sink, void *ctx, tra_err *e);
/* The value of a tree of depth 0. */
TRA_MUSTUSE tra_status tra_calc_scalar(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps,
                                       tra_calc_number *out, tra_err *e);

#endif
