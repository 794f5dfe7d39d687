/* labels.h - labels of a tensor's dimension: what its positions stand for, such as columns of a table or values of a
 * key.
 *
 * Labels follow from a program and its inputs alone. No operator computes with them, so they are kept beside the types
 * (tra_node.labels): they pass through whatever keeps a dimension, come back as columns (entries, table), and are
 * written to files with the relation (scales.h).
 */
#ifndef TRA_LABELS_H
#define TRA_LABELS_H

#include "columns.h"

typedef struct tra_dim_labels {
    const char *name;           /* of the dimension: "column", or the name of the column whose values these are */
    const char *units;          /* of the values of a coordinate, as "degrees_north"; NULL: none are known */
    bool of_file;               /* a file has given the dimension its name, which files made of it keep */
    tra_coltype type;           /* STRING; or I64, F64, F32, DATE, TIMESTAMP, BOOL */
    int64_t n;                  /* the extent of the dimension */
    bool keys;                  /* of a file: pivot made the dimension, with its keys in ascending order */
    const tra_dictionary *dict; /* STRING: a sorted dictionary, */
    const int32_t *code;        /* and the code of each position; NULL: the position is the code */
    const int64_t *whole;       /* other types: the value of each position; of floats the bits of a double */
} tra_dim_labels;

/* The labels of a dimension of n positions, in the arena. All is copied into it but a dictionary, which must live as
 * long. */
const tra_dim_labels *tra_dim_labels_of_texts(tra_arena *a, const char *name, int64_t n, const char *const *text);
const tra_dim_labels *tra_dim_labels_of_dictionary(tra_arena *a, const char *name, const tra_dictionary *sorted);
/* The same from strings in the order of their positions; d itself is kept if it is sorted. */
const tra_dim_labels *tra_dim_labels_of_strings(tra_arena *a, const char *name, const tra_dictionary *d);
const tra_dim_labels *tra_dim_labels_of_whole(tra_arena *a, const char *name, tra_coltype type, int64_t n,
                                              const int64_t *v);
/* The same of n values of a column, none of which may be NULL (TRA_INPUT). */
TRA_MUSTUSE tra_status tra_dim_labels_of_column(tra_arena *a, const tra_column *c, const tra_vector *v, int64_t n,
                                                const tra_dim_labels **out, tra_err *e);
/* The label of a position as a number; of types other than STRING. */
double tra_dim_labels_real(const tra_dim_labels *l, int64_t position);

/* The first position at which two labellings of one extent differ; -1: none. Names are not compared. */
int64_t tra_dim_labels_differ(const tra_dim_labels *x, const tra_dim_labels *y);
/* Two positions that have one label, the first such; false: there are none. */
bool tra_dim_labels_twice(const tra_dim_labels *l, int64_t *first, int64_t *second);
/* For each label of `which` the first position of l that has it, or -1; in the arena. */
int64_t *tra_dim_labels_find(tra_arena *a, const tra_dim_labels *l, const tra_dim_labels *which);
/* The label of a position as CSV files have it, for messages and as the name of a column; in the arena. */
const char *tra_dim_labels_text(tra_arena *a, const tra_dim_labels *l, int64_t position);
const char *tra_dim_labels_bytes(const tra_dim_labels *l, int64_t position,
                                 int64_t *len); /* of type STRING; no NUL at its end */
/* The same labels under another name of the dimension. keys: pivot made the dimension. */
const tra_dim_labels *tra_dim_labels_named(tra_arena *a, const tra_dim_labels *l, const char *name, bool keys);
/* The labels of positions from .. from + n - 1. */
const tra_dim_labels *tra_dim_labels_part(tra_arena *a, const tra_dim_labels *l, int64_t from, int64_t n);
/* The labels of n of the positions, in that order. */
const tra_dim_labels *tra_dim_labels_at(tra_arena *a, const tra_dim_labels *l, const int64_t *position, int64_t n);
/* The labels of x, then those of y; NULL if their types differ. */
const tra_dim_labels *tra_dim_labels_both(tra_arena *a, const tra_dim_labels *x, const tra_dim_labels *y);
/* The column of a table whose values are such labels; and writing the label of a position as value number `at` of
 * it. */
tra_column tra_dim_labels_column(const tra_dim_labels *l, const char *name);
void tra_dim_labels_put(const tra_dim_labels *l, int64_t position, void *values, int64_t at);

/* The names that a data frame of an AnnData file ("obs", "var") has for its rows, in the arena; *out is NULL where it
 * has none (labels_foreign.c). TRA_INPUT: the file cannot be read. */
TRA_MUSTUSE tra_status tra_anndata_names(const char *path, const char *frame, tra_arena *a, const tra_dim_labels **out,
                                         tra_err *e);

#endif
