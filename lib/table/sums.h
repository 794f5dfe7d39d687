/* sums.h - sums over rows by whole-number keys in arrays that keys address, and of products of columns.
 *
 * What a join would be summed over can be summed before it: the rows of one table that agree in the keys of the join,
 * and in all else that the summands read together with the other table, are added up in one slot; the slots that have
 * rows become rows again, are joined, and weighed by how many rows they stand for (rule Q-10,
 * plans/rules/matrix_sums.c).
 */
#ifndef TRA_TABLE_SUMS_H
#define TRA_TABLE_SUMS_H

#include "../kernel/kernel.h"
#include "table.h"

enum { TRA_MOST_SLOTS = 1 << 22 }; /* elements of an array of slots: it is to stay in the caches, or near them */

/* A key: its values are least .. least + range - 1, of which it has n; where it may be NULL, the slot after these
 * stands for that. */
typedef struct tra_slot_key {
    int64_t least, range, n;
    bool nullable;
    const int32_t *code; /* of each value of the range its number, -1: the key does not have it; NULL: n is the range */
    const int64_t *value; /* of each number */
} tra_slot_key;

/* A column of whole numbers least .. least + span as a part of the word of its slot, which has the sum of what its
 * values are above the least in `bits` bits from `shift` on. */
typedef struct tra_slot_part {
    int64_t least, span;
    int shift, bits;
} tra_slot_part;

/* r: rows whose first nkeys columns are keys, and the others f64 that are never NULL. Slots are numbered by the keys,
 * of which the last changes fastest; of each slot there are the number of its rows, and the sum of each column: as f64,
 * or all of it in one i64, where the columns are i64 of which so much is known that each sum has a part of it. */
typedef struct tra_slots {
    const tra_rowwise *r;
    int nkeys;
    const tra_slot_key *key;
    int64_t n;                 /* slots */
    const tra_slot_part *part; /* of each sum; NULL: they are f64. What is above the parts is the number of rows. */
    int counts;                /* the first bit of that */
    const tra_schema *out;     /* the keys, then the number of rows and the sums, all f64 */
} tra_slots;
/* The parts of words for the sums of these whole numbers (as i64, in the arena) over at most so many rows, by what is
 * known of their values. NULL: they are not known to fit one word. */
const tra_slot_part *tra_slot_parts(tra_arena *a, int n, const tra_colexpr *const *x, int64_t rows, int *counts);
/* data: a tra_slots. Of rows an array [slots, 1 + sums] of f64, or of words an array [slots, 1] of i64; and back from
 * such an array, or a block of one, the slots that have rows. */
extern const tra_rows_ops tra_slot_sums_ops, tra_slot_words_ops, tra_slot_rows_ops;

/* r: rows of f64 columns that are never NULL; element i of the result, in row-major order, is the sum of column
 * at[i]. It has nx rows, and is symmetric, or not. */
typedef struct tra_row_sums {
    const tra_rowwise *r;
    int n;
    const int *at;
    int nx;
    bool symmetric;
} tra_row_sums;
extern const tra_rows_ops tra_row_sums_ops; /* data: a tra_row_sums */

/* r: rows of f64 columns that are never NULL: the first nx are those of a matrix X, the others those of Y; or X's are
 * both (same: ny is nx); or Y is the right operand, an array of f64 with as many rows (beside: r selects none). The
 * result is X'Y, of columns as they are: neither matrix is made. */
typedef struct tra_column_products {
    const tra_rowwise *r;
    int nx, ny;
    bool same, beside;
} tra_column_products;
extern const tra_rows_ops tra_column_products_ops; /* data: a tra_column_products */

#endif
