/* eindecomp_int.h - the choices of vectors, shared by the algorithms of the room. Private to plans/eindecomp. */
#ifndef TRA_EINDECOMP_INT_H
#define TRA_EINDECOMP_INT_H

#include "eindecomp.h"

/* Distinct rows of `width` numbers, in the order they came. */
typedef struct rows {
    int n, width, cap;
    int *v;
    int ntable, *table; /* open addressing: number of the row, from 1 */
} rows;
int tra_rows_add(rows *r, const int *row); /* its number */
void tra_rows_free(rows *r);

/* A vertex that makes what another reads. */
typedef struct producer {
    int v;
    int nrefs, *ref; /* the reader's references to its result */
} producer;

typedef struct choices {
    tra_vectors vec;
    tra_ein_costs costs;
    double *own; /* of each vector: costs of the vertex without its edges */
    rows outs;   /* partitions of the result */
    int *out_of; /* of each vector */
    int nproducers;
    producer *from;
} choices;

/* The floats of the largest part of r when it is cut in these parts (NULL: it is whole); with `other`, the largest
 * number of floats that a part of the one partition and a part of the other have in common. */
double tra_ein_part_floats(const tra_ein_rel *r, const int *parts, const int *other);
/* What can be chosen for each vertex; in the arena but for the rows. */
choices *tra_ein_choices_new(const tra_eingraph *g, tra_ein_costs costs, int p, bool any, tra_arena *a);
void tra_ein_choices_free(const tra_eingraph *g, choices *c);
static inline const int *vector(const choices *c, int i) { return c->vec.v + (size_t)i * (size_t)c->vec.nlabels; }
/* Partitions of the producer's result that a vector needs, one reference after the other, into row. */
void tra_ein_needs(const tra_eingraph *g, int v, const producer *from, const int *d, int *row);
int tra_ein_needs_width(const tra_eingraph *g, int v, const producer *from);
/* The cost of bringing the producer's result from partition `out` (a number in its `outs`) to the partitions that
 * `row` has. */
double tra_ein_bring(const tra_eingraph *g, const choices *c, int v, const producer *from, int out, const int *row);

/* The labelling with these vectors of c, by number. */
tra_labelling *tra_ein_chosen_labelling(const tra_eingraph *g, const char *how, const choices *c, const int *chosen,
                                        int p, bool any, tra_arena *a);

/* Finds the best labelling with vectors among vec[v][0..nvec[v]) of each vertex; chosen gets their numbers. False if
 * that would take too long. */
bool tra_ein_best_among(const tra_eingraph *g, const choices *c, int *const *vec, const int *nvec, int *chosen);
/* Improves a labelling; false if it could not. */
bool tra_ein_refine(const tra_eingraph *g, const choices *c, int *chosen);

#endif
