/* products.h - sums over the pairs of rows that a join would make, grouped by columns of both tables, without the
 * pairs: a product of two sparse matrices, of which the rows of the tables are the entries (rule Q-11,
 * plans/rules/sparse_products.c).
 *
 * The rows of the left table that agree in its group columns are a row of the result. Their partners on the right are
 * found by the keys of the join, and each product is added to the total of the partner's group columns. So memory is
 * for the rows of the tables and for one row of the result, and not for pairs.
 *
 * Source: Gustavson, Two fast algorithms for sparse matrices, ACM TOMS 1978 (products row by row).
 */
#ifndef TRA_TABLE_PRODUCTS_H
#define TRA_TABLE_PRODUCTS_H

#include "group.h"
#include "join.h"

/* What is added up over pairs: the product of a column of each table, both i64 or both f64. A column -1 stands for the
 * factor 1. A pair does not count if one of its factors is NULL. */
typedef struct tra_joined_sum {
    int left, right;
    bool whole;  /* the columns are i64, and sums are exact */
    bool summed; /* the products are summed; else the pairs that count are only counted */
    /* its columns in the result, the states that tra_group has for count, sum, mean: the number of pairs; the first one
     * of the sum; wide: this has two */
    int count, state;
    bool wide;
} tra_joined_sum;

typedef struct tra_joined_sums {
    const tra_lookup *l; /* inner, without further conditions */
    int nleft, nright;   /* group columns of each table: */
    const int *left, *right;
    bool right_first; /* in the result the right table's group columns come first, and it is ordered so */
    int n;
    const tra_joined_sum *v;
    /* The group columns, then states: what a PARTIAL pass of tra_group makes, each group once, in the order of groups.
     */
    const tra_schema *out;
} tra_joined_sums;

/* data: a tra_joined_sums. Of a block of the left table, and the whole right one. */
extern const tra_rows_ops tra_joined_sums_ops;

#endif
