/* generate.h - a program while it is drawn: shared by generate.c and the files draw*.c. */
#ifndef TRA_PROPERTY_GENERATE_H
#define TRA_PROPERTY_GENERATE_H

#include "property.h"

enum { MAXREL = 24, MAXREFS = 5, MAXTUPLES = 250, MAXFLOATS = 6000, MANYFLOATS = 40000 };

/* A relation of the program: an input (fn NULL) or an operator on earlier ones. */
typedef struct relation {
    char name[16];
    const char *fn;           /* "join" */
    int in[2];                /* indices; -1 */
    int nrefs, refs[MAXREFS]; /* of an EinSum statement, which has no in */
    const char *tail;         /* what follows the operands: ", [1], [0], matmul" */
    const char *json;         /* fields of the operator, for the judge */
    const tra_type *type;
    int uses;
    bool output, inlined, labelled; /* labelled: an EinSum statement refers to it */
    bool second;                    /* the other result of the statement of the relation before it */
    const char *input;              /* the input statement */
} relation;

typedef struct gen {
    rng g;
    tra_arena *a;
    const char *dir;
    bool integers, special, einsum; /* einsum: most statements are such */
    bool far;                       /* some integers are near the limits of their type */
    bool large;                     /* its relations take more than the least budget for blocks */
    tra_graph *graph;               /* of what there is so far */
    int n;
    relation v[MAXREL];
    int64_t extent[4], block[4]; /* a few dimensions that the inputs share, so that they fit each other */
    bool params;                 /* the program has the params below */
    bool stores;                 /* it names the storages of draw_tensor.c */
    bool twin;                   /* inputs are stored by levels, and also written densely, to compare both */
    double eta;
    int64_t most;
    counts *c;
    tra_str *judge;
} gen;

/* Draws levels for a relation of the type, one of them at least not dense. False: the type allows none. */
struct tra_levels;
bool draw_levels(rng *r, const tra_type *t, struct tra_levels *out);
/* Writes a relation by such levels, given the elements of each tuple's array, and which of them are entries. */
TRA_MUSTUSE tra_status write_stored(const char *spec, const tra_type *t, const struct tra_levels *l,
                                    const char *const *data, const bool *const *entry, tra_err *e);
/* The same for one tuple of rank 1 to 3, by a random mapping that the program itself defines. */
TRA_MUSTUSE tra_status write_mapped(rng *r, const char *spec, const tra_type *t, const char *data, const bool *entry,
                                    tra_arena *a, tra_err *e);

/* An EinSum statement: fn "einsum", and all after the name in tail. False when nothing fits. */
bool draw_einsum(gen *g, relation *r);

/* A tensor statement, as draw_einsum; a relation in another storage: fn "store". False when nothing fits. */
bool draw_tensor(gen *g, relation *r);
bool draw_store(gen *g, relation *r);
extern const char *const drawn_storages; /* statements */

/* A kernel as text and as a JSON list of the parts in the order of their application. */
typedef struct kern {
    tra_str text, json;
} kern;
void kern_named(kern *k, const char *name);
/* Kernels of transform, join and agg for arrays of such ranks. A map after `first`, if that is not NULL: `f . g` in the
 * language applies g first. */
void draw_map(gen *g, int rank, const kern *first, kern *k);
void draw_join_kernel(gen *g, int ra, int rb, kern *k);
void draw_agg_kernel(gen *g, int rank, kern *k);

/* Draws one operator into r. Returns its number in drawn_names, or -1 when nothing fits. The second result of an
 * operator that has two is in r[1]. */
int draw(gen *g, relation *r);

/* Moves a string into the arena. */
const char *keep_text(gen *g, tra_str *s);

/* One of several texts. */
const char *pick(gen *g, int n, const char *const *v);
#define PICK(g, ...) pick(g, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

/* Appends "[1, 2]". */
void append_list(tra_str *s, int n, const int64_t *v);

#endif
