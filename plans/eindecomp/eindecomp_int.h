/* eindecomp_int.h - the choices of vectors, shared by the algorithms of the room. Private to plans/eindecomp. */
#ifndef TRA_EINDECOMP_INT_H
#define TRA_EINDECOMP_INT_H

#include "eindecomp.h"

/* Distinct rows of `width` numbers, by the order in which they were added. */
typedef struct row_set {
    int n, width, cap;
    int *v;
    int ntable, *table; /* hash table with open addressing: numbers of rows, from 1 */
} row_set;
int tra_row_set_add(row_set *r, const int *row); /* returns the number of the row, which may have been there */
void tra_row_set_free(row_set *r);

/* A vertex that makes what a reader reads. */
typedef struct producer {
    int vertex;
    int nrefs, *ref; /* which of the reader's references are to its result */
} producer;

/* What can be chosen for one vertex. Algorithms have an array of these, one for each vertex. */
typedef struct choices {
    tra_vectors vectors;
    tra_ein_costs costs;
    double *own_cost; /* of each vector: costs of the vertex without those of bringing results of producers */
    row_set results;  /* the partitions of the vertex's result that vectors make: parts of each dimension */
    int *result_of;   /* of each vector: the number of its partition in `results` */
    int nproducers;
    producer *producer;
} choices;

/* The floats of the largest part of r when its dimensions are cut in these parts (NULL: it is whole). Unless `other` is
 * NULL: of the largest intersection of such a part with a part of the partition `other`. */
double tra_ein_part_floats(const tra_ein_rel *r, const int *parts, const int *other);
/* The choices of all vertices, in the arena but for `results`, which tra_ein_choices_free frees. */
choices *tra_ein_choices_new(const tra_eingraph *g, tra_ein_costs costs, int p, bool any_factors, tra_arena *a);
void tra_ein_choices_free(const tra_eingraph *g, choices *c);
static inline const int *vector(const choices *c, int i) {
    return c->vectors.v + (size_t)i * (size_t)c->vectors.nlabels;
}
/* Writes the partitions of the producer's result that vector d of v needs into row, one reference after the other:
 * tra_ein_needed_width numbers. */
void tra_ein_needed_parts(const tra_eingraph *g, int v, const producer *from, const int *d, int *row);
int tra_ein_needed_width(const tra_eingraph *g, int v, const producer *from);
/* The cost of bringing the producer's result from partition `made` (a number in its `results`) to the partitions in
 * `needed`, which are as tra_ein_needed_parts writes them. */
double tra_ein_move_cost(const tra_eingraph *g, const choices *c, int v, const producer *from, int made,
                         const int *needed);

/* The labelling in which each vertex v has vector chosen[v] of c[v]. */
tra_labelling *tra_ein_chosen_labelling(const tra_eingraph *g, const char *how, const choices *c, const int *chosen,
                                        int p, bool any_factors, tra_arena *a);

/* Finds the best labelling in which each vertex v has one of the vectors candidate[v][0..ncandidates[v]), which are
 * numbers in c[v]. chosen[v] gets the number of that vector. False if that would take more than the limits of
 * tra_ein_exact. */
bool tra_ein_best_among(const tra_eingraph *g, const choices *c, int *const *candidate, const int *ncandidates,
                        int *chosen);
/* Improves the labelling `chosen`, a vector of each vertex; false if it could not. */
bool tra_ein_refine(const tra_eingraph *g, const choices *c, int *chosen);

#endif
