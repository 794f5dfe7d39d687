/* sums.h - sums at places of a box of which few are touched, read in ascending order of these: what a row of a product
 * is added up in. */
#ifndef TRA_SPARSE_SUMS_H
#define TRA_SPARSE_SUMS_H

#include "project.h"

/* Small boxes have a number for each place and a bit for each that is touched, larger ones a bit for each 64 of these
 * too; large ones of which little is touched have a table of that. */
typedef struct tra_sums {
    tra_dtype t; /* f64, f32, i64 */
    int64_t box;
    char *value;
    uint64_t *bits, *top;
    tra_entry *table, *list; /* a place is in .column, plus one: 0 is a free slot; list: for sorting, twice as long */
    int64_t slots, used;
} tra_sums;

/* Bytes of scratch, for so many places of which at most so many are touched at a time. */
int64_t tra_sums_scratch(int64_t box, int64_t touched);
tra_sums tra_sums_begin(int64_t box, int64_t touched, tra_dtype t, void *scratch);

static inline void tra_sums_touch(tra_sums *s, int64_t place) {
    s->bits[place >> 6] |= (uint64_t)1 << (place & 63);
    if (s->top) s->top[place >> 12] |= (uint64_t)1 << (place >> 6 & 63);
}
/* The slot of a place in the table; a new one is 0. */
tra_entry *tra_sums_slot(tra_sums *s, int64_t place);
/* Adds x y, of type t. */
void tra_sums_add(tra_sums *s, int64_t place, const void *x, const void *y);
/* The same for n entries whose places are base + column * step: values of type t. count: they are only to be counted.
 */
void tra_sums_add_row(tra_sums *s, int64_t base, int64_t step, const uint32_t *column, const void *value, int64_t n,
                      const void *y, bool count);
/* The same for n numbers (f64) at places next to each other, of sums without a table. A place of which all is 0 is
 * touched too. value NULL: they are only to be counted. */
void tra_sums_add_range(tra_sums *s, int64_t place, const double *value, int64_t n, double y);
/* Ends with what was touched: appends the sums that are not 0 to `to`, as elements of type `type` (NULL: counts all
 * places that were touched), after that function of them. Place p is in row `row` + p / columns. nrows: gets how many
 * rows there were. Returns how many entries. */
int64_t tra_sums_end(tra_sums *s, int64_t row, int64_t columns, const tra_unary *after, tra_dtype type,
                     tra_rows_maker *to, int64_t *nrows);

#endif
