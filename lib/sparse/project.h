/* project.h - entries of rows with other coordinates, in the order of these. */
#ifndef TRA_SPARSE_PROJECT_H
#define TRA_SPARSE_PROJECT_H

#include "contract.h"

/* An entry at new coordinates. Its value is of the type that was asked for, at the beginning of the eight bytes. */
typedef struct tra_entry {
    int64_t row, column;
    union {
        double f64;
        float f32;
        int64_t i64;
    } value;
} tra_entry;

/* What becomes of each dimension of a cell: both new coordinates are sums of the old ones times these. */
typedef struct tra_route {
    int64_t row[TRA_MAXDIM], column[TRA_MAXDIM];
    int8_t label[TRA_MAXDIM]; /* dimensions of the same label: only entries on the diagonal stay */
    const int64_t *from, *to; /* by label (NULL: all): only these stay */
} tra_route;

/* Bytes of scratch for so many entries. */
int64_t tra_project_scratch(int64_t entries);
/* The entries that stay and are not 0, sorted by row, then by column where these order them; entries that come to the
 * same place keep their order. They are in scratch; returns how many. */
int64_t tra_project(const tra_cell *in, const tra_route *route, tra_dtype t, void *scratch, tra_entry **out);

#endif
