/* eindecomp_int.h - what choosing vectors works with. Private to plans/eindecomp. */
#ifndef TRA_EINDECOMP_INT_H
#define TRA_EINDECOMP_INT_H

#include "eindecomp.h"

/* Distinct rows of `width` numbers, in the order they came. */
typedef struct rows {
    int n, width, cap;
    int *v;
    int ntable, *table; /* open addressing: number of the row, from 1 */
} rows;
int rows_add(rows *r, const int *row); /* its number */
void rows_free(rows *r);

/* A vertex that makes what another reads. */
typedef struct producer {
    int v;
    int nrefs, *ref; /* of the reader: those that name it */
} producer;

typedef struct choices {
    tra_vectors vec;
    double *own;      /* of each vector: join and aggregation */
    rows outs;        /* partitions of the result */
    int *out_of;      /* of each vector */
    int nproducers;
    producer *from;
} choices;

/* What can be chosen for each vertex; in the arena but for the rows. */
choices *choices_new(const tra_eingraph *g, int p, bool any, tra_arena *a);
void choices_free(const tra_eingraph *g, choices *c);
static inline const int *vector(const choices *c, int i) { return c->vec.v + (size_t)i * (size_t)c->vec.nlabels; }
/* Partitions of the producer's result that a vector needs, one reference after the other, into row. */
void needs(const tra_eingraph *g, int v, const producer *from, const int *d, int *row);
int needs_width(const tra_eingraph *g, int v, const producer *from);
/* Repartitions from a partition of the producer's result to such a row. */
double bring(const tra_eingraph *g, int v, const producer *from, const int *out, const int *row);

/* The labelling of vectors (an array of each vertex's), with its costs. */
tra_labelling *labelled(const tra_eingraph *g, const char *how, int **d, int p, tra_arena *a);

#endif
