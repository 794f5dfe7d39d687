/* sums.h - sums at places of a box of which few are touched, read in ascending order of these: what a row of a product
 * is added up in. */
#ifndef TRA_SPARSE_SUMS_H
#define TRA_SPARSE_SUMS_H

#include "project.h"

/* A small box has a number for each place, and a bit for each place that is touched. A larger one has also a bit for
 * each 64 of these bits. A large box of which few places are touched has a hash table of these instead. */
typedef struct tra_sums {
    tra_dtype t; /* f64, f32, i64 */
    int64_t box;
    char *value;
    uint64_t *bits, *top;
    tra_entry *table, *list; /* a place is in .column, plus one: 0 is a free slot; list: for sorting, twice as long */
    int64_t slots, used;
} tra_sums;

/* Bytes of scratch for a box of so many places, of which at most `touched` are touched at a time. */
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
/* Adds y times each of n values, of type t, to the places base + column * step. count: only notes the places. */
void tra_sums_add_row(tra_sums *s, int64_t base, int64_t step, const uint32_t *column, const void *value, int64_t n,
                      const void *y, bool count);
/* Adds y times each of n numbers (f64) to consecutive places, of sums without a table. All these places are touched,
 * also where the number is 0. value NULL: only notes the places. */
void tra_sums_add_range(tra_sums *s, int64_t place, const double *value, int64_t n, double y);
/* Ends with what was touched: appends the sums that are not 0 to `to`, as elements of type `type` (NULL: counts all
 * places that were touched), after that function of them. Place p is in row `row` + p / columns. nrows: gets how many
 * rows there were. Returns how many entries. */
int64_t tra_sums_end(tra_sums *s, int64_t row, int64_t columns, const tra_unary *after, tra_dtype type,
                     tra_rows_maker *to, int64_t *nrows);

/* Sorts n keys, of which bits `shift` and up count, by their digits; the room for them has room for as many again. */
void tra_sort_keys(uint64_t *key, int64_t n, int shift);

#endif
