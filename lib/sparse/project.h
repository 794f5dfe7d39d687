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

/* How entries get new coordinates: row and column are sums of the old coordinates times these numbers. */
typedef struct tra_route {
    int64_t row[TRA_MAXDIM], column[TRA_MAXDIM];
    int8_t label[TRA_MAXDIM]; /* dimensions of the same label: only entries on the diagonal stay */
    const int64_t *from, *to; /* by label (NULL: all): only these stay */
} tra_route;

/* How many of so many entries of an array stay at most: where labels are repeated, as many as the diagonal has places.
 * label: of each dimension. */
int64_t tra_project_stay(int64_t entries, const tra_dims *ext, const int8_t *label);
/* Bytes of scratch for so many entries that stay. */
int64_t tra_project_scratch(int64_t entries);
/* The entries that stay and are not 0, sorted by row, then by column where these order them; entries that come to the
 * same place keep their order. They are in scratch; returns how many. */
int64_t tra_project(const tra_cell *in, const tra_route *route, tra_dtype t, void *scratch, tra_entry **out);

/* Only counts, without sorting, for routes that bring no two entries to the same place: returns how many entries stay,
 * and sets *rows to the number of rows that they are in, of a box of `box` rows. -1: the box has so many more rows
 * than there are entries that it takes sorting. */
int64_t tra_project_rows(const tra_cell *in, const tra_route *route, int64_t box, void *scratch, int64_t *rows);

/* ---- operands of products (pairs.c) ---------------------------------------------------------------------------- */

/* One operand of a product of two that are rows: its entries by the values of the labels that both have. */
typedef struct tra_inner {
    int o;
    bool natural;                  /* its rows are what the shared labels lead to */
    tra_rows_view v;               /* natural */
    int64_t times[2 * TRA_MAXDIM]; /* of each label in the number of the row */
    const tra_entry *e;            /* else: row as above, column: the sum of its own labels times x->sc */
    int64_t n;
} tra_inner;
bool tra_is_natural(const tra_contraction *x, int o);
/* scratch: tra_project_scratch of its entries. */
void tra_inner_of(const tra_contraction *x, int o, tra_inner *in, void *scratch);
/* The first of the sorted entries whose row is not below. */
int64_t tra_inner_first(const tra_inner *in, int64_t row);

/* Sorts them by row, then column; stable. other: room for as many. Returns where they are: e or other. */
tra_entry *tra_sort_entries(tra_entry *e, tra_entry *other, int64_t n);

#endif
