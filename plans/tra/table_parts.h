/* table_parts.h - tables divided into parts by ranges of keys (lib/table/parts.h). Private to plans/tra. */
#ifndef TRA_TABLE_PARTS_BUILD_H
#define TRA_TABLE_PARTS_BUILD_H

#include "../../lib/table/kernels.h"
#include "../../lib/table/parts.h"
#include "table.h"

/* How a table of blocks becomes parts. It follows from blocks and bounds of rows alone, never from the ceiling, since
 * the parts become the blocks of the result. */
typedef struct tra_division {
    int64_t blocks, runs; /* so many blocks are sorted together as a run; the number of runs */
    int64_t every;        /* rows from one sample to the next */
    int64_t parts, most;  /* the number of parts; no part has more rows than `most` */
} tra_division;
/* What is to be divided. */
typedef struct tra_dividing {
    const tra_schema *columns;
    int64_t key_bytes; /* of the keys of a row */
    int64_t others;    /* blocks of another table that is cut at the same ranges */
    int64_t share;     /* a table with no more rows than two such shares of a block is not divided */
    bool ties;         /* the number of the row is the last key; else no key is in two rows of one block */
    bool runs;         /* blocks may be sorted together */
} tra_dividing;
/* Finds the division that takes the least memory; false where all rows should be one part, since they are few. */
bool tra_table_divide(const tra_catalog *c, const tra_dividing *x, tra_division *d);

typedef struct tra_part_keys {
    int n;
    const int *column;
    const bool *desc; /* NULL: all ascend */
    const char *text; /* "[a, b desc]" */
} tra_part_keys;

/* A schema of these columns of s, and, numbered, i64 numbers of rows, in a column that none is named as. */
const tra_schema *tra_table_some(tra_arena *a, const tra_schema *s, int n, const int *column, bool numbered);
/* An operator with a kernel on rows: a transform, or with `right` a join on these keys (-1: none). */
tra_node *tra_table_kernel(tra_table_builder *w, tra_node *left, tra_node *right, int lkey, int rkey,
                           const tra_rows_kernel *k);
/* The blocks of each run in one. */
tra_node *tra_table_runs(tra_table_builder *w, tra_node *in, const tra_division *d);
/* Blocks sorted; x is copied. text says all of it. */
tra_node *tra_table_arrange(tra_table_builder *w, tra_node *in, const tra_arrange *x, const char *text);
/* Of sorted blocks: range <p> of each part; rows <b, p> of each block in each range; rows <p> of each part. */
tra_node *tra_table_ranges(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);
tra_node *tra_table_slices(tra_table_builder *w, tra_node *sorted, tra_node *ranges, const tra_part_keys *k,
                           bool closed, const tra_division *d);
/* Pieces with key dimension keydim, put together: no result has more rows than that (0: not known). */
tra_node *tra_table_together(tra_table_builder *w, tra_node *pieces, int keydim, int64_t most);
tra_node *tra_table_in_parts(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);

/* order and distinct of a table that is divided so; NULL after a diagnostic. */
tra_node *tra_table_order_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d);
tra_node *tra_table_distinct_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d);
/* The table with a column of that name: the number of each row, also where only the run tells how many rows the blocks
 * have. */
tra_node *tra_table_row_numbers(tra_table_builder *w, tra_node *in, const char *name);
/* Rows [from, from + most) of w->in, of which the blocks are counted: in one block where they fit. */
tra_node *tra_table_limit_parts(tra_table_builder *w, int64_t from, int64_t most);
/* Groups of rows whose first columns are the keys, of which w->op says what they are called, with these aggregates:
 * states of each block first, or all rows in one (table_group.c). */
tra_node *tra_table_groups(tra_table_builder *w, tra_node *rows, const tra_group_column *v, bool states);
/* The same where some aggregates have no states (table_group_parts.c); are there so many rows that it is worth it? */
bool tra_table_group_divides(tra_table_builder *w, tra_node *rows, const tra_group_column *v);
tra_node *tra_table_group_parts(tra_table_builder *w, tra_node *rows, const tra_group_column *v);
/* The rows of w->in, each with the one row of w->right that has its keys, the first n columns of both (table_join.c).
 */
tra_node *tra_table_joined(tra_table_builder *w, int n, const int *key);
/* Every pair of rows, of slices of so many rows of the left table, with all of the right one, or with its blocks one by
 * one (table_cross.c); false where one block is not too much. */
typedef struct tra_crossing {
    int64_t rows, slices, blocks; /* slices of each block on the left; blocks of the right table that it meets */
} tra_crossing;
bool tra_table_cross_divides(const tra_node *left, const tra_node *right, tra_crossing *x);
tra_node *tra_table_cross_parts(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const char *text, const tra_crossing *x);
/* What is known of the pairs of a join: rows of the right table that one on the left meets, at most; rows of the
 * result, at most, and as many as are expected. */
typedef struct tra_meeting {
    int64_t each, all;
    double expected;
} tra_meeting;
/* These rows as the share of what the bounds of operands say, of which each array on the left meets one on the right.
 */
double tra_table_pairs_share(const tra_meeting *m, const tra_type *left, const tra_type *right);
/* A join by keys, of which s says what it is. */
tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const char *text, const tra_division *d, const tra_meeting *meet);

#endif
