/* group.h - groups of rows, their order, and aggregates.
 *
 * Groups are made in two passes. PARTIAL takes the rows of one block to states, one row for each group of the block;
 * FINAL takes the states of all blocks, in the order of blocks, to results. Aggregates whose states would not be
 * smaller than the rows (median, quantile, distinct) take one pass over all rows, WHOLE. Every pass sorts stably by the
 * keys, so groups come in the order of keys: NULLs last, NaN greatest, -0 as 0, strings by bytes.
 */
#ifndef TRA_TABLE_GROUP_H
#define TRA_TABLE_GROUP_H

#include "../kernel/kernel.h"
#include "table.h"

/* What values an aggregate takes. */
typedef enum tra_aggregate_takes { TRA_TAKES_ANY, TRA_TAKES_NUMBERS, TRA_TAKES_BOOLS } tra_aggregate_takes;
/* What it gives: a number of values, i64 and never NULL; i64 of integers, else f64; one of its values; f64. */
typedef enum tra_aggregate_gives {
    TRA_GIVES_NUMBER,
    TRA_GIVES_TOTAL,
    TRA_GIVES_VALUE,
    TRA_GIVES_REAL
} tra_aggregate_gives;
/* How it is found: by states, which are how many values there are; that and their sum; that, mean and squares; the
 * value so far, whatever the order of rows, or by that order, or by another column; that, mean, and sums of powers of
 * what differs from it; of two columns, in rows that have both, that, means, squares and products of what differs from
 * these. Or by all values of a group: those that differ, or all in their order. */
typedef enum tra_aggregate_way {
    TRA_WAY_COUNT,
    TRA_WAY_SUM,
    TRA_WAY_MOMENTS,
    TRA_WAY_EXTREME,
    TRA_WAY_END,
    TRA_WAY_BY,
    TRA_WAY_POWERS,
    TRA_WAY_PAIR,
    TRA_WAY_DIFFERENT,
    TRA_WAY_RANKED,
} tra_aggregate_way;

/* Aggregates: name in C, name in the language, what they take and give, way. They see the values that are not NULL, in
 * the order of rows. */
#define TRA_AGGREGATES(X)                                                                                              \
    X(COUNT, "count", ANY, NUMBER, COUNT) /* of rows, or of values */                                                  \
    X(SUM, "sum", NUMBERS, TOTAL, SUM)    /* of integers exactly */                                                    \
    X(MEAN, "mean", NUMBERS, REAL, SUM)   /* of integers from the exact sum */                                         \
    X(MIN, "min", ANY, VALUE, EXTREME)    /* NaN propagates */                                                         \
    X(MAX, "max", ANY, VALUE, EXTREME)                                                                                 \
    X(VAR, "var", NUMBERS, REAL, MOMENTS) /* n - 1; NULL of one */                                                     \
    X(STD, "std", NUMBERS, REAL, MOMENTS)                                                                              \
    X(FIRST, "first", ANY, VALUE, END)                                                                                 \
    X(LAST, "last", ANY, VALUE, END)                                                                                   \
    X(ARG_MIN, "arg_min", ANY, VALUE, BY) /* of rows that have both: the first with the least, or greatest, second */  \
    X(ARG_MAX, "arg_max", ANY, VALUE, BY)                                                                              \
    X(ANY, "any", BOOLS, VALUE, EXTREME)                                                                               \
    X(ALL, "all", BOOLS, VALUE, EXTREME)                                                                               \
    X(SKEWNESS, "skewness", NUMBERS, REAL, POWERS)   /* of a sample; NULL of less than three */                        \
    X(KURTOSIS, "kurtosis", NUMBERS, REAL, POWERS)   /* of less than four */                                           \
    X(CORR, "corr", NUMBERS, REAL, PAIR)             /* NULL of one row */                                             \
    X(COVAR, "covar", NUMBERS, REAL, PAIR)           /* n - 1; NULL of one row */                                      \
    X(COVAR_POP, "covar_pop", NUMBERS, REAL, PAIR)   /* n */                                                           \
    X(REGR_SLOPE, "regr_slope", NUMBERS, REAL, PAIR) /* of the first column by the second; NULL where that is one */   \
    X(REGR_INTERCEPT, "regr_intercept", NUMBERS, REAL, PAIR)                                                           \
    X(DISTINCT, "distinct", ANY, NUMBER, DIFFERENT) /* how many values */                                              \
    X(MEDIAN, "median", NUMBERS, REAL, RANKED)                                                                         \
    X(QUANTILE, "quantile", NUMBERS, REAL, RANKED) /* q: linear interpolation */
typedef enum tra_aggregate {
#define X(name, ...) TRA_AGGREGATE_##name,
    TRA_AGGREGATES(X)
#undef X
} tra_aggregate;
const char *tra_aggregate_text(tra_aggregate f);
int tra_aggregate_find(const char *name); /* -1: none */
tra_aggregate_way tra_aggregate_way_of(tra_aggregate f);
bool tra_aggregate_has_states(tra_aggregate f);
bool tra_aggregate_has_two(tra_aggregate f); /* columns: PAIR and BY */

typedef struct tra_group_column {
    const char *name; /* of the result */
    tra_aggregate f;
    int column; /* of the table, that is aggregated; -1: count() */
    int second; /* PAIR, BY: the other one */
    double q;   /* QUANTILE */
} tra_group_column;

/* MERGE takes states, of which a group may have several, to one state for each group. */
typedef enum tra_group_pass { TRA_GROUP_PARTIAL, TRA_GROUP_FINAL, TRA_GROUP_WHOLE, TRA_GROUP_MERGE } tra_group_pass;

typedef struct tra_group tra_group;
/* Of a table whose first nkeys columns are the keys. TRA_PROGRAM when an aggregate does not take such a column. */
TRA_MUSTUSE tra_status tra_group_new(tra_arena *a, const tra_schema *in, int nkeys, int n, const tra_group_column *v,
                                     tra_group_pass pass, tra_group **out, tra_err *e);
/* Says that there are at most so many groups, by the statistics of files; results get room for no more. A run that
 * finds more fails, since the statistics are wrong then. */
void tra_group_bound(tra_group *g, int64_t most);
const tra_schema *tra_group_out(const tra_group *g); /* of PARTIAL and MERGE the states */
/* What it was made of; and the same of another pass, in the arena. */
tra_group_pass tra_group_pass_of(const tra_group *g);
const tra_schema *tra_group_in(const tra_group *g);
int tra_group_keys(const tra_group *g);
int tra_group_columns(const tra_group *g, const tra_group_column **v);
const tra_schema *tra_group_states(const tra_group *g);
/* Columns of states: the one that counts the values of aggregate i, perhaps for others too (-1: none does); the first
 * of its other states; how many these are. */
int tra_group_count_state(const tra_group *g, int i);
int tra_group_state(const tra_group *g, int i);
int tra_group_nstates(const tra_group *g, int i);
/* Row `to` of the states v of a sum of whole numbers: one column, or wide: two, of the low and the high 64 bits. A sum
 * that one column does not hold is noted as a failure (tra_kernel_fail). */
void tra_group_put_sum(const tra_vector *v, int64_t to, __int128 sum, bool wide);
const tra_group *tra_group_as(tra_arena *a, const tra_group *g, tra_group_pass pass);
/* data: a tra_group; FINAL and MERGE are over what PARTIAL makes, or MERGE. */
extern const tra_rows_ops tra_group_ops;

/* The groups of what a pass over rows makes (WHOLE or PARTIAL), whose rows lie nowhere else. */
typedef struct tra_group_of_pass {
    const tra_rowwise *r;
    const tra_group *g;
    const int *column; /* of each column of the rows the one that it is; NULL: the pass makes some */
} tra_group_of_pass;
const tra_group_of_pass *tra_group_of_pass_new(tra_arena *a, const tra_rowwise *r, const tra_group *g);
extern const tra_rows_ops tra_group_of_pass_ops; /* data: a tra_group_of_pass */

/* Value i of a column as a number: of integers, bools, dates, timestamps and codes; of any column of numbers. */
static inline int64_t tra_value_whole(const tra_column *c, const tra_vector *v, int64_t i) {
    return tra_element_whole(tra_coltype_held(c->type), v->values, i);
}
static inline double tra_value_real(const tra_column *c, const tra_vector *v, int64_t i) {
    return tra_element_real(tra_coltype_held(c->type), v->values, i);
}

#endif
