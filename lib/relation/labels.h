/* labels.h - what the positions along a dimension of a tensor stand for: the columns of a table, the values of a key.
 *
 * Labels follow from a program and its inputs alone. They are beside the types (tra_node.labels), since no operator
 * computes with them: they pass through whatever keeps a dimension, come back as columns (entries, table), and stand
 * in files beside the relation.
 */
#ifndef TRA_LABELS_H
#define TRA_LABELS_H

#include "columns.h"

typedef struct tra_dim_labels {
    const char *name;           /* of the dimension: "column", or of the column whose values these are */
    tra_coltype type;           /* STRING; or I64, DATE, TIMESTAMP, BOOL */
    int64_t n;                  /* the extent of the dimension */
    const tra_dictionary *dict; /* STRING: sorted, */
    const int32_t *code;        /* and the code of each position; NULL: it is the position itself */
    const int64_t *whole;       /* else: the value of each position */
} tra_dim_labels;

/* The labels of a dimension of n positions, in the arena, into which all is copied but a dictionary that is given. */
const tra_dim_labels *tra_dim_labels_of_texts(tra_arena *a, const char *name, int64_t n, const char *const *text);
const tra_dim_labels *tra_dim_labels_of_dictionary(tra_arena *a, const char *name, const tra_dictionary *sorted);
/* The same of strings in the order of their positions, whose dictionary is kept where it is sorted. */
const tra_dim_labels *tra_dim_labels_of_strings(tra_arena *a, const char *name, const tra_dictionary *d);
const tra_dim_labels *tra_dim_labels_of_whole(tra_arena *a, const char *name, tra_coltype type, int64_t n,
                                              const int64_t *v);

/* The first position at which two labellings of one extent differ; -1: none. Names are not compared. */
int64_t tra_dim_labels_differ(const tra_dim_labels *x, const tra_dim_labels *y);
/* The label of a position as CSV files have it, for messages and as the name of a column; in the arena. */
const char *tra_dim_labels_text(tra_arena *a, const tra_dim_labels *l, int64_t position);
const char *tra_dim_labels_bytes(const tra_dim_labels *l, int64_t position, int64_t *len); /* STRING: as it is */
/* The same labels of a dimension of another name. */
const tra_dim_labels *tra_dim_labels_named(tra_arena *a, const tra_dim_labels *l, const char *name);
/* Those of n positions from `from` on. */
const tra_dim_labels *tra_dim_labels_part(tra_arena *a, const tra_dim_labels *l, int64_t from, int64_t n);
/* Those of x, then those of y; NULL where they are of two types. */
const tra_dim_labels *tra_dim_labels_both(tra_arena *a, const tra_dim_labels *x, const tra_dim_labels *y);
/* The column of a table that such labels make, and the label of a position as its value number `at`. */
tra_column tra_dim_labels_column(const tra_dim_labels *l, const char *name);
void tra_dim_labels_put(const tra_dim_labels *l, int64_t position, void *values, int64_t at);

#endif
