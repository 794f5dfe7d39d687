/* gen_int.h - shared by the files that write C. Private to lib/codegen. */
#ifndef TRA_CODEGEN_GEN_INT_H
#define TRA_CODEGEN_GEN_INT_H

#include "codegen.h"

/* ---- what is known of integers (bounds.c) ---------------------------------------------------------------------- */

/* A polynomial over atoms, which are numbers that are not negative. */
enum { GEN_TERMS = 12, GEN_FACTORS = 6 };
typedef struct gen_term {
    int64_t c;
    int n, atom[GEN_FACTORS]; /* ascending */
} gen_term;
typedef struct gen_poly {
    int n;
    gen_term t[GEN_TERMS];
} gen_poly;

/* An atom: a number of the scope, a size that is not a polynomial of such numbers (a tree), or the variable of a
 * loop. */
typedef struct gen_atom {
    const tra_calc *tree;  /* over the scope alone; NULL: a variable */
    const gen_poly *below; /* a variable is less than this; NULL: not known */
    int bits;
} gen_atom;

/* ---- values ------------------------------------------------------------------------------------------------- */

typedef enum gen_kind {
    GEN_NUMBER,
    GEN_RANGE,    /* lo to hi - 1 */
    GEN_ARRAY,    /* keys lo to hi - 1 of an array component, all of which exist */
    GEN_KEYED,    /* entries first to last - 1 of a hash map or trie, below `level` keys */
    GEN_DICT,     /* the same, of a dictionary that was built */
    GEN_RELATION, /* an array of a relation, rows from number `text` on; held as entries: places first to last - 1 */
    GEN_PLAIN     /* part of a dictionary that was built as an array, from element `first` on */
} gen_kind;

/* A dictionary that the kernel builds, in one variable. */
typedef struct gen_temp {
    const char *name;
    int depth;
    bool real, plain;
    const char *extent[TRA_CALC_MAXRANK],
        *stride[TRA_CALC_MAXRANK];           /* plain (an array): C variables with extents and strides */
    const gen_poly *bound[TRA_CALC_MAXRANK]; /* the extents as polynomials */
} gen_temp;

/* A value: a number, as an expression of C without side effects, which may be evaluated twice; or a view of a
 * dictionary, whose members are such expressions. */
typedef struct gen_value {
    gen_kind kind;
    int depth;
    bool real;
    const char *text;
    const gen_poly *poly;              /* of an integer >= 0: its exact value; NULL: not known */
    int bits;                          /* of an integer: its magnitude is below 2 to the power of bits */
    const char *lo, *hi;               /* keys of a view; NULL: no limit (RANGE and ARRAY have both) */
    const gen_poly *lo_poly, *hi_poly; /* bounds: lo is no less than lo_poly, hi no more than hi_poly */
    bool lo_exact, hi_exact;           /* the bound is the value itself */
    int hi_bits;
    int component, level;
    const char *first, *last;
    bool nested; /* loops further inside skip keys without entries, so that this loop need not */
    const gen_temp *temp;
} gen_value;

/* ---- a kernel that is being written ---------------------------------------------------------------------------- */

/* Parts of the prelude that a kernel needs. */
enum { GEN_ARITHMETIC = 1, GEN_KEYS = 2, GEN_DICTS = 4, GEN_ARRAYS = 8, GEN_ENTRIES = 16, GEN_RELATIONS = 32 };

typedef struct gen {
    const tra_codegen_spec *s;
    tra_arena *arena;
    tra_str *out;             /* where statements are written */
    int indent, loops, inner; /* loops: open now; inner: the deepest since the outermost one was opened */
    size_t stop_at;           /* where in stop_in the outermost loop begins, for the check whether to stop */
    tra_str *stop_in;
    tra_str top; /* declarations of dictionaries */
    tra_str end; /* code that frees them */
    int nenv;
    gen_value *env; /* values of bound names, by level */
    gen_value *scope;
    int nnames, names_cap;
    const char **names; /* C names that are taken */
    int natoms, atoms_cap;
    gen_atom *atoms;
    int nsites, sites_cap;
    struct gen_site {
        const char *text;
        tra_calc_wrong wrong;
    } * sites;        /* errors, by number */
    unsigned parts;   /* GEN_ARITHMETIC ... that are needed */
    const char *sums; /* the array to which contributions to the current row are added directly, its columns being
                         marked already; NULL: put_ takes them */
    tra_status status;
    tra_err *e;
} gen;

/* Where contributions go, and the keys so far. */
typedef struct gen_chain {
    const gen_temp *temp; /* NULL: the result */
    bool probing;         /* nothing is written; only bounds of keys are collected */
    bool plain;           /* probing: all keys so far are @dense and bounded */
    int depth;
    bool real;
    int nkeys;
    gen_value key[TRA_CALC_MAXRANK];
    const gen_poly *bound[TRA_CALC_MAXRANK];
} gen_chain;

/* source.c */
#define gen_text(g, ...) ((const char *)tra_arena_printf((g)->arena, __VA_ARGS__))
void gen_put_line(gen *g, const char *text);
void gen_put_open(gen *g, const char *text); /* and a block after it; gen_close ends it */
void gen_put_refusal(gen *g, const char *text);
#define gen_line(g, ...)   gen_put_line(g, gen_text(g, __VA_ARGS__))
#define gen_open(g, ...)   gen_put_open(g, gen_text(g, __VA_ARGS__))
#define gen_refuse(g, ...) gen_put_refusal(g, gen_text(g, __VA_ARGS__))
/* Room for one more element of an array that grows in the arena. */
#define GEN_ROOM(g, v, n, cap)                                                                                         \
    do {                                                                                                               \
        void *gen_old_ = (v);                                                                                          \
        if ((n) < (cap)) break;                                                                                        \
        (cap) = 2 * (n) + 32;                                                                                          \
        (v) = tra_arena_array((g)->arena, (size_t)(cap), sizeof *(v));                                                 \
        if ((n) > 0) memcpy((v), gen_old_, (size_t)(n) * sizeof *(v));                                                 \
    } while (0)
const char *gen_name(gen *g, const char *like);            /* a C name like this one that is not taken */
int gen_site(gen *g, const tra_calc *x, tra_calc_wrong w); /* registers an error "W in X"; its number, from 1 */
bool gen_is_simple(const char *text);                      /* is it just a name or a number? */
gen_value gen_hold(gen *g, gen_value v, const char *like); /* puts a number into a C variable */
const char *gen_element_type(tra_element t);
const char *gen_component_name(const gen *g, int i);

/* bounds.c */
int gen_atom_of(gen *g, const tra_calc *tree, int bits);
int gen_variable(gen *g, const gen_poly *below, int bits);
const gen_poly *gen_constant(gen *g, int64_t c);
const gen_poly *gen_atom_poly(gen *g, int atom);
/* a + times * b, and a * b. NULL if one is NULL or the result is too long. */
const gen_poly *gen_poly_add(gen *g, const gen_poly *a, const gen_poly *b, int64_t times);
const gen_poly *gen_poly_mul(gen *g, const gen_poly *a, const gen_poly *b);
const gen_poly *gen_poly_of(gen *g, const tra_calc *x); /* a tree over the scope alone; never NULL */
/* A polynomial without variables that is no less than p; NULL: not known. */
const gen_poly *gen_poly_most(gen *g, const gen_poly *p);
bool gen_is_natural(gen *g, const gen_poly *p);                  /* is it certain that it is not negative? */
bool gen_is_below(gen *g, const gen_poly *p, const gen_poly *q); /* is it certain that 0 <= p < q? */
const char *gen_poly_text(gen *g, const gen_poly *p);            /* as C, of a polynomial without variables */
int gen_poly_bits(gen *g, const gen_poly *p, int bits);          /* bits of an integer of that value, at most `bits` */

/* ---- numbers.c: trees of depth 0, and conditions. An `x` given with values is the tree that error texts show. */
gen_value gen_number(gen *g, const tra_calc *x);
gen_value gen_int_literal(gen *g, int64_t v);
const char *gen_condition(gen *g, const tra_calc *x);
const char *gen_as_real(gen *g, const gen_value *v);
gen_value gen_operate(gen *g, const tra_calc *x, tra_calc_kind op, bool real, gen_value a, bool sl, gen_value b,
                      bool sr);
gen_value gen_negative(gen *g, const tra_calc *x, gen_value v);
/* For a contribution x to a result by entries, of value *v: the C test in front of it that leaves out a 0, which adds
 * nothing and is no entry. "" where few values are 0: where x has no sum, whose terms may not meet, and no condition.
 */
const char *gen_unless_zero(gen *g, const tra_calc *x, bool real, const char **v);

/* views.c: looking into dictionaries */
gen_value gen_eval(gen *g, const tra_calc *x);                           /* any tree */
gen_value gen_element(gen *g, int component, const char *at, bool real); /* element `at` of a component, which exists */
gen_value gen_get(gen *g, const gen_value *v, gen_value key);
gen_value gen_slice(gen *g, gen_value v, const gen_value *lo, const gen_value *hi);
/* Opens a loop over the keys of v; gen_close_loop ends it. *key and *inner: key and value in the loop. */
void gen_loop(gen *g, const gen_value *v, const char *key_name, gen_value *key, gen_value *inner);
void gen_close(gen *g);
void gen_close_loop(gen *g);
void gen_bind_let(gen *g, const tra_calc *x);
void gen_bind(gen *g, const tra_calc_binder *b, const gen_value *v);
gen_value gen_zero(gen *g, tra_calc_type t);

/* relations.c: arrays of relations */
gen_value gen_relation(gen *g, const tra_calc *x);
gen_value gen_get_relation(gen *g, const gen_value *v, const gen_value *key, const char *in);
void gen_loop_relation(gen *g, const gen_value *v, gen_value *key, gen_value *inner);
void gen_bring_relation(gen *g, int i);
void gen_begin_loop(gen *g); /* call it after the line that opens the loop */

/* emit.c: contributions */
typedef void gen_body(gen *g, const tra_calc *body, void *ctx);
void gen_sum(gen *g, const tra_calc *x, gen_body *body,
             void *ctx); /* writes the loops of a SUM or MERGE, and the body in them */
typedef struct gen_generators gen_generators;
struct gen_generators {
    const tra_calc *x;
    gen_body *body;
    void *ctx;
};
void gen_emit(gen *g, const tra_calc *x, gen_chain *to);
gen_value gen_build(gen *g, const tra_calc *x);

/* prefetch.c */

/* In a loop over `in`, whose current place is `at` and whose values are bound to `value`: writes prefetches of the
 * array elements at which the rest of the loop (n trees) will look in later iterations. out: an array to whose elements
 * at these values is added, and which is prefetched as well; NULL: none. */
void gen_ahead(gen *g, tra_calc *const *rest, int n, const gen_value *in, const tra_calc_binder *value, const char *at,
               const char *out);

/* prelude.c */
void gen_prelude(unsigned parts, tra_str *out);

#endif
