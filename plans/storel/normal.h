/* normal.h - what normal.c, open.c and linear.c share: from trees to nests. Private to plans/storel. */
#ifndef TRA_STOREL_NORMAL_H
#define TRA_STOREL_NORMAL_H

#include "storel_int.h"

/* What a bound name stands for. */
typedef struct st_meaning st_meaning;
struct st_meaning {
    enum { ST_NOTHING, ST_CLASS, ST_TREE, ST_VIEW } kind;
    int cls;
    const tra_calc *tree; /* TREE: the dictionary of a let; env: the meanings of the names in it */
    st_meaning *env;
    const st_nest *view; /* VIEW: what is left of an opened dictionary under some keys; it has no generators */
};

typedef struct st_normaliser {
    st_graph *g;
    int nlevels; /* of the whole tree */
} st_normaliser;

/* A dictionary: a nest that can be opened, or a class that is looped over as it is. */
typedef struct st_dictionary {
    st_nest *nest;
    int cls;
} st_dictionary;

/* How a tree uses the name of a level. LINEAR: each term that is added up has it as a factor, once. BY_KEYS: it is a
 * dictionary that is looped over once, but terms are not linear in its elements, so that elements under equal keys must
 * have been added up before. */
typedef enum st_use { ST_UNUSED, ST_LINEAR, ST_BY_KEYS, ST_OTHERWISE } st_use;
/* Of generators g and on of a sum, and its body. */
st_use st_linear_sum(const tra_calc *x, int g, int level);

/* normal.c. st_into multiplies the value of a nest by x. st_scalar gives the class of a number x. */
void st_into(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out);
int st_scalar(st_normaliser *c, const tra_calc *x, st_meaning *env);

/* open.c */
st_nest *st_new_nest(st_normaliser *c);
st_dictionary st_dict(st_normaliser *c, const tra_calc *x, st_meaning *env);
/* All keys of a dictionary of that type become keys of the nest, its elements factors: T1 from right to left. */
void st_open_all(st_normaliser *c, const st_dictionary *d, tra_calc_type t, st_nest *out);
/* Generators g and on of a sum, from binder b, and its body. */
void st_generators(st_normaliser *c, const tra_calc *x, int g, int b, st_meaning *env, st_nest *out);
/* The dictionary as a class that loops can run over: a nest under the name of a let. */
int st_as_class(st_normaliser *c, const st_dictionary *d, const char *name, st_nest *out);
int st_let_class(st_normaliser *c, const char *name, int cls, st_nest *out);
/* The nest under one key. */
void st_apply_nest(st_normaliser *c, st_nest *n, int key);
/* Adds the generators and conditions of one nest to another. */
void st_add_all(st_normaliser *c, st_nest *out, const st_nest *from);
/* Makes the sum of two nests the value of a nest. */
void st_add_addends(st_normaliser *c, int depth, st_nest *const *add, st_nest *out);
/* The value of a nest whose generators and keys are elsewhere. */
int st_value_of(st_normaliser *c, const st_nest *n);
void st_bind(st_normaliser *c, const tra_calc_binder *b, int cls, st_meaning *env, st_nest *out);
const char *st_name_of(const tra_calc_binder *b, const char *other);

#endif
