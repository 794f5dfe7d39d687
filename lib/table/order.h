/* order.h - the order of rows. Private to lib/table. */
#ifndef TRA_TABLE_ORDER_H
#define TRA_TABLE_ORDER_H

#include "table.h"

#include <string.h>

/* How two values of a column compare: NULL is last whatever `desc` says, NaN greatest, -0 as 0, strings by bytes. */
int tra_value_compare(const tra_column *c, const tra_vector *v, int64_t i, int64_t j, bool desc);

/* The same of values of two vectors of the column, ascending. */
int tra_values_compare(const tra_column *c, const tra_vector *v, int64_t i, const tra_vector *w, int64_t j);

/* Rows by these columns; NULL: by the first ones. */
typedef struct tra_row_view {
    const tra_batch *b;
    const int *column;
} tra_row_view;
/* How row i of x and row j of y compare by n columns each, of the same types and dictionaries. desc may be NULL. */
int tra_rows_compare(const tra_row_view *x, int64_t i, const tra_row_view *y, int64_t j, int n, const bool *desc);

/* Are strings looked up to compare rows by these columns (NULL: the first n)? Then codes must be checked before. */
bool tra_order_looks_up(const tra_schema *s, int n, const int *column);

/* Sorts the numbers at[0..n) of rows of b by these columns, stably; spare has room for TRA_ORDER_SPARE * n words. desc
 * may be NULL. */
enum { TRA_ORDER_SPARE = 2 };
void tra_order_rows(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                    int64_t *spare);
/* Brings the first `most` of them to the begin of `at`, in this order; which follow there is not said. */
void tra_order_first(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                     int64_t most, int64_t *spare);
/* The same by comparing rows, with room for n words; and where strings need not be looked up (radix.c), which compares
 * up to TRA_ORDER_FEW rows. */
enum { TRA_ORDER_FEW = 24 };
void tra_order_by_merging(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                          int64_t *spare);
void tra_order_by_digits(const tra_batch *b, int ncolumns, const int *column, const bool *desc, int64_t *at, int64_t n,
                         int64_t most, int64_t *spare);
/* Brings the least `most` of n words before the others; each time in another order. */
void tra_select_words(uint64_t *v, int64_t n, int64_t most);
/* Numbers that are ordered as values are: of reals, NaN greatest and -0 as 0; and of whole numbers. */
static inline uint64_t tra_order_of_real(double x) {
    uint64_t u;
    if (x != x) return UINT64_MAX;
    x += 0.0; /* -0 is 0 */
    memcpy(&u, &x, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}
static inline uint64_t tra_order_of_whole(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }
/* The same of n values v, or of those at these places (at NULL: the first ones). */
void tra_order_codes(tra_dtype t, const void *v, const int64_t *at, int64_t n, uint64_t *to);

/* A key of rows as bits of words, from `shift` on: its value, less the least one; and above these, where there are rows
 * without one (missing) and others, a bit for those. */
typedef struct tra_key_bits {
    uint64_t least;
    int bits, shift;
    bool missing;
} tra_key_bits;
/* Finds words for the first n rows, such that words are equal where rows are in these columns, and compare as rows do
 * unless strings must be looked up (tra_order_looks_up). Returns how many bits they have; -1: more than `most`. */
int tra_key_bits_of(const tra_batch *b, int ncolumns, const int *column, int64_t n, int most, tra_key_bits *keys);
/* The words of rows from .. from + n - 1. */
void tra_key_words(const tra_batch *b, int ncolumns, const int *column, const tra_key_bits *keys, int64_t from, int n,
                   uint64_t *word);
/* Finds the runs of equal rows among sorted rows at[0..n): sets begin[0..runs) to where each begins in `at`, and
 * begin[runs] to n; returns the number of runs. begin has room for n + 1 numbers. */
int64_t tra_order_runs(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                       int64_t *begin);
/* The same, where it is known that runs begin at known[0..nknown), ascending, whatever the columns here have: the runs
 * of more columns are found within those of the first ones. */
int64_t tra_order_runs_within(const tra_batch *b, int ncolumns, const int *column, const int64_t *at, int64_t n,
                              const int64_t *known, int64_t nknown, int64_t *begin);
/* The number of such runs of a batch of sorted rows; column NULL: of the first columns. */
int64_t tra_order_count_runs(const tra_batch *b, int ncolumns, const int *column);
/* Are rows i and j equal in these columns? */
bool tra_rows_equal(const tra_batch *b, int ncolumns, const int *column, int64_t i, int64_t j);
/* Fails (tra_kernel_fail) when a value of n columns (NULL: of the first n) could not be computed, naming the first row,
 * by its number in the table where the cell that the rows are of knows it; what: "by which rows are ordered". */
void tra_refuse_errors(const tra_cell *of, const tra_batch *b, int n, const int *column, const char *what);

#endif
