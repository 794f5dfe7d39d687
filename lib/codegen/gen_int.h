/* gen_int.h - what the files that write C share. Private to lib/codegen. */
#ifndef TRA_CODEGEN_GEN_INT_H
#define TRA_CODEGEN_GEN_INT_H

#include "codegen.h"

/* ---- what is known of integers (bounds.c) ---------------------------------------------------------------------- */

/* A polynomial over atoms, none of which is negative. */
enum { GEN_TERMS = 12, GEN_FACTORS = 6 };
typedef struct gen_term {
    int64_t c;
    int n, atom[GEN_FACTORS]; /* ascending */
} gen_term;
typedef struct gen_poly {
    int n;
    gen_term t[GEN_TERMS];
} gen_poly;

/* A number of the scope, a size that is no polynomial of these (a tree), or the variable of a loop. */
typedef struct gen_atom {
    const tra_calc *tree;  /* over the scope alone, or NULL: a variable */
    const gen_poly *below; /* of a variable: it is less than this; NULL: not known */
    int bits;
} gen_atom;

/* ---- values ------------------------------------------------------------------------------------------------- */

typedef enum gen_kind {
    GEN_NUMBER,
    GEN_RANGE,    /* lo to hi - 1 */
    GEN_ARRAY,    /* of a component, keys lo to hi - 1, which it has */
    GEN_KEYED,    /* entries first to last - 1 of a hash map or trie, below `level` keys */
    GEN_DICT,     /* the same of a dictionary that was built */
    GEN_RELATION, /* rows from number `text` on; of entries places first to last - 1 */
    GEN_PLAIN     /* a part of a dictionary that was built as an array, from element `first` on */
} gen_kind;

/* A dictionary that is built: one variable of the kernel. */
typedef struct gen_temp {
    const char *name;
    int depth;
    bool real, plain;
    const char *extent[TRA_CALC_MAXRANK], *stride[TRA_CALC_MAXRANK]; /* plain: variables */
    const gen_poly *bound[TRA_CALC_MAXRANK];                         /* the extents */
} gen_temp;

/* A number as an expression of C without effects that may be evaluated twice, or a view of a dictionary whose parts are
 * such expressions. */
typedef struct gen_value {
    gen_kind kind;
    int depth;
    bool real;
    const char *text;
    const gen_poly *poly;              /* of an integer that is not negative, exactly; or NULL */
    int bits;                          /* of an integer: it is less than 2 to the bits in magnitude */
    const char *lo, *hi;               /* keys; NULL: all (not of RANGE and ARRAY) */
    const gen_poly *lo_poly, *hi_poly; /* lo is no less, hi no more; */
    bool lo_exact, hi_exact;           /* it is that */
    int hi_bits;
    int component, level;
    const char *first, *last;
    bool nested; /* a loop over it does nothing for keys under which nothing is */
    const gen_temp *temp;
} gen_value;

/* ---- a kernel that is being written ---------------------------------------------------------------------------- */

enum {
    GEN_ARITHMETIC = 1,
    GEN_KEYS = 2,
    GEN_DICTS = 4,
    GEN_ARRAYS = 8,
    GEN_ENTRIES = 16,
    GEN_COUNTING = 32,
    GEN_RELATIONS = 64
};

typedef struct gen {
    const tra_codegen_spec *s;
    tra_arena *arena;
    tra_str *out;             /* statements */
    int indent, loops, inner; /* loops that are open; the deepest that was since the outermost one was opened */
    size_t stop_at;           /* where the outermost begins, */
    tra_str *stop_in;
    tra_str top; /* declarations of dictionaries, */
    tra_str end; /* and their ends */
    int nenv;
    gen_value *env; /* of bound names, by level */
    gen_value *scope;
    int nnames, names_cap;
    const char **names; /* that are taken in C */
    int natoms, atoms_cap;
    gen_atom *atoms;
    int nsites, sites_cap;
    const char **sites; /* what goes wrong where */
    unsigned parts;     /* of the prelude */
    bool counting;
    bool plain;       /* products are written without the rule of values: what they are then is looked at afterwards */
    const char *sums; /* where contributions to the row at hand go, of which the columns are marked; NULL: by put_ */
    int ntemps;
    tra_status status;
    tra_err *e;
} gen;

/* Where contributions go, and the keys around them. */
typedef struct gen_chain {
    const gen_temp *temp; /* NULL: the result */
    bool probing;         /* nothing is written: it looks for bounds of keys */
    bool plain;           /* probing: all keys so far are of @dense and bounded */
    int depth;
    bool real;
    int nkeys;
    gen_value key[TRA_CALC_MAXRANK];
    const gen_poly *bound[TRA_CALC_MAXRANK];
} gen_chain;

/* source.c */
void gen_line(gen *g, const char *fmt, ...) TRA_PRINTF(2, 3);
const char *gen_text(gen *g, const char *fmt, ...) TRA_PRINTF(2, 3);
const char *gen_name(gen *g, const char *like);            /* a name that is not taken yet */
int gen_site(gen *g, const tra_calc *x, const char *what); /* its number, from 1 */
bool gen_is_simple(const char *text);                      /* a name or a number */
gen_value gen_hold(gen *g, gen_value v, const char *like); /* a number as a variable */
const char *gen_element_type(tra_element t);
const char *gen_component_name(const gen *g, int i);
void gen_refuse(gen *g, const char *fmt, ...) TRA_PRINTF(2, 3);

/* bounds.c */
int gen_atom_of(gen *g, const tra_calc *tree, int bits);
int gen_variable(gen *g, const gen_poly *below, int bits);
const gen_poly *gen_constant(gen *g, int64_t c);
const gen_poly *gen_atom_poly(gen *g, int atom);
/* NULL where one is NULL or the result is too long. */
const gen_poly *gen_poly_add(gen *g, const gen_poly *a, const gen_poly *b, int64_t times);
const gen_poly *gen_poly_mul(gen *g, const gen_poly *a, const gen_poly *b);
const gen_poly *gen_poly_of(gen *g, const tra_calc *x); /* of a tree over the scope alone; never NULL */
/* Without variables: no less than p. NULL where that is not known. */
const gen_poly *gen_poly_most(gen *g, const gen_poly *p);
bool gen_is_natural(gen *g, const gen_poly *p);                  /* certainly not negative */
bool gen_is_below(gen *g, const gen_poly *p, const gen_poly *q); /* certainly 0 <= p < q */
const char *gen_poly_text(gen *g, const gen_poly *p);            /* in C; of one without variables */
int gen_poly_bits(gen *g, const gen_poly *p, int bits);          /* no more than bits */

/* numbers.c: trees of depth 0, and conditions */
gen_value gen_number(gen *g, const tra_calc *x);
gen_value gen_int_literal(gen *g, int64_t v);
const char *gen_condition(gen *g, const tra_calc *x);
const char *gen_as_real(gen *g, const gen_value *v);
gen_value gen_operate(gen *g, const tra_calc *x, tra_calc_kind op, bool real, gen_value a, bool sl, gen_value b,
                      bool sr);
gen_value gen_negative(gen *g, const tra_calc *x, gen_value v);
/* The body of a sum is {keys -> a factor that varies * one that does not}: the condition under which products are what
 * the rule of values makes of them, or NULL. */
const char *gen_plain_if(gen *g, const tra_calc *x);

/* views.c: dictionaries that are looked into */
gen_value gen_eval(gen *g, const tra_calc *x);                           /* any tree */
gen_value gen_element(gen *g, int component, const char *at, bool real); /* which it has */
gen_value gen_get(gen *g, const gen_value *v, gen_value key);
gen_value gen_slice(gen *g, gen_value v, const gen_value *lo, const gen_value *hi);
/* Opens a loop over the keys of v; gen_close ends it. */
void gen_loop(gen *g, const gen_value *v, const char *key_name, gen_value *key, gen_value *inner);
void gen_open(gen *g, const char *fmt, ...) TRA_PRINTF(2, 3);
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
void gen_begin_loop(gen *g); /* after the line that opens it */

/* emit.c: contributions */
typedef void gen_body(gen *g, const tra_calc *body, void *ctx);
void gen_sum(gen *g, const tra_calc *x, gen_body *body, void *ctx); /* SUM and MERGE */
typedef struct gen_generators gen_generators;
struct gen_generators {
    const tra_calc *x;
    gen_body *body;
    void *ctx;
    void (*last)(gen *g, const gen_generators *s, int n, int b); /* in place of the last generator; or NULL */
};
/* The generators of a SUM from number n and binder b on, then the body. */
void gen_generator(gen *g, const gen_generators *s, int n, int b);
void gen_emit(gen *g, const tra_calc *x, gen_chain *to);
gen_value gen_build(gen *g, const tra_calc *x);

/* ahead.c */

/* In a loop over `in` at place `at`, whose values have that name: asks for what the rest, n trees, will look into by
 * them in later turns. out: an array that is added to at these places; NULL: none. */
void gen_ahead(gen *g, tra_calc *const *rest, int n, const gen_value *in, const tra_calc_binder *value, const char *at,
               const char *out);

/* count.c */
void gen_count(gen *g, const tra_calc *x, gen_chain *to);

/* prelude.c */
void gen_prelude(unsigned parts, tra_str *out);

#endif
