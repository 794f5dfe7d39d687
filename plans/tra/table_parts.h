/* table_parts.h - tables divided into parts by ranges of keys (lib/table/key_ranges.h). Private to plans/tra.
 *
 * Blocks of a table are first sorted, by themselves or several together as a run. Samples of the sorted blocks give the
 * ranges of keys, one for each part. Each sorted block is cut into slices, one for each range, and all slices of one
 * range make a part. Nodes and errors are as in table_build.h.
 */
#ifndef TRA_TABLE_PARTS_BUILD_H
#define TRA_TABLE_PARTS_BUILD_H

#include "../../lib/table/key_ranges.h"
#include "table_build.h"
#include "../../lib/table/window.h"

/* How the blocks of a table become parts. */
typedef struct tra_division {
    int64_t run_blocks, runs; /* so many blocks are sorted together; the number of runs */
    int64_t sample_every;     /* rows from one sample to the next */
    int64_t parts, part_rows; /* no part has more rows than part_rows, */
    int64_t part_samples;     /* nor more samples than this */
} tra_division;
/* What is to be divided, and what for. */
typedef struct tra_division_input {
    const tra_schema *columns;
    int64_t key_bytes;    /* of the keys of one row */
    int64_t other_blocks; /* blocks of another table, which is cut into slices at the same ranges */
    int64_t held;         /* so many parts are held at once, for each other part; 0: one, by itself */
    int64_t whole_share;  /* a table stays whole as long as it has at most 2 / whole_share blocks of rows */
    int64_t likely;       /* there is room for so many rows (tra_table_rows_likely); 0: for all that are possible */
    bool numbered;        /* the number of the row is the last key; if not, each key is in one row of a block at most */
    bool may_run;         /* blocks may be sorted together */
    const tra_lookup *index; /* each worker keeps the index of a part for this join; NULL: none */
} tra_division_input;
/* Finds the division that takes the least memory; false if the table has so few rows that it should stay whole. A
 * division follows from the blocks, their bounds of rows and what is likely, never from the memory ceiling, since parts
 * become the blocks of the result. */
bool tra_table_divide(const tra_catalog *c, const tra_division_input *x, tra_division *d);
/* Many times the rows that are expected of a table, for `likely`; 0: no fewer than are possible. */
int64_t tra_table_rows_likely(const tra_table_builder *w, const tra_node *in);
/* May the rows of `in`, which would be divided, be in one block all the same, since memory has room for that block, for
 * those it is made of, and for so many bytes of scratch for each row? Where it has none the plan is made again (J-1).
 */
bool tra_table_stays_whole(tra_table_builder *w, const tra_node *in, int64_t row_scratch);

/* The keys by which a table is divided: columns of it. */
typedef struct tra_part_keys {
    int n;
    const int *column;
    const bool *desc; /* NULL: all ascend */
} tra_part_keys;

/* The steps of a division. make_parts is all of them but the first two. */
tra_node *tra_table_make_runs(tra_table_builder *w, tra_node *in, const tra_division *d);
/* A sort of rows with the columns s by n of them (desc: which of them descend; NULL: none), to be changed as needed.
 * Its result has the same columns and, if `numbered`, the number of the row. what: what messages call the columns. */
tra_arrange tra_table_sorting(tra_arena *a, const tra_schema *s, bool numbered, int n, const int *column,
                              const bool *desc, const char *what);
/* Sorts the rows of each block as x says, which is copied. */
tra_node *tra_table_sort_blocks(tra_table_builder *w, tra_node *in, const tra_arrange *x);
/* The same of what tra_table_make_parts made of blocks in that order: their runs are merged sooner than they are
 * sorted. */
tra_node *tra_table_sort_parts(tra_table_builder *w, tra_node *parts, const tra_arrange *x);
/* The range of each part p, with key <p>, from samples of sorted blocks. */
tra_node *tra_table_part_ranges(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);
/* Which rows at the ends of a range are in its slice. By default those that equal its lower end are. */
typedef struct tra_slice_ends {
    bool closed;        /* those that equal the upper end are too; */
    bool open;          /* those that equal the lower one are not */
    bool before, after; /* the row of the block before the range is, and the one after it */
} tra_slice_ends;
/* The rows of each sorted block b that lie in the range of part p, with key <b, p>. */
tra_node *tra_table_slice_blocks(tra_table_builder *w, tra_node *sorted, tra_node *ranges, const tra_part_keys *k,
                                 tra_slice_ends ends, const tra_division *d);
tra_node *tra_table_make_parts(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);

/* For each block, an i64 array whose first element is the block's number. That times the bound of a block's rows is the
 * number of its first row: such numbers ascend, and by them a row is found again. */
tra_node *tra_table_block_numbers(tra_table_builder *w, const tra_node *in);

/* table_order.c: the table, divided, in the order of the keys. */
tra_node *tra_table_order_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d);
/* The table with the number of each row in a column of this name. Works also where only the run tells how many rows the
 * blocks have. */
tra_node *tra_table_number_rows(tra_table_builder *w, tra_node *in, const char *name);
/* The same, as rows count by weights: of x the weights and the limits are set. */
tra_node *tra_table_add_up_rows(tra_table_builder *w, tra_node *in, const char *name, const tra_row_numbering *by);
/* A table whose first column is numbers of rows (tra_table_block_numbers), in their order, as blocks: the rows for each
 * block of the table `blocks`. */
tra_node *tra_table_split_numbers(tra_table_builder *w, tra_node *sorted, const tra_node *blocks);

/* group of which some aggregate is one of several operators (table_group_composed.c): is this the name of such one? Of
 * aggregate i, NULL after the last. */
tra_node *tra_table_group_composed(tra_table_builder *w);
bool tra_is_composed_aggregate(const char *name);
const char *tra_composed_aggregate(int i);
/* table_group.c: the groups of rows whose first columns are the keys; w->op says how keys are called. states: all
 * aggregates have states, so that groups are made block by block first. */
tra_node *tra_table_group_rows(tra_table_builder *w, tra_node *rows, const tra_group_column *columns, bool states);
/* Groups that one block of rows is expected to have, as a share of its rows. Up to this share, the groups of a block
 * are found by a hash table of their keys; of more, or where keys are not looked up, rows are sorted. */
double tra_table_group_share(const tra_table_builder *w, const tra_node *rows);
#define TRA_TABLE_HASHED_SHARE 0.5
/* The groups of rows where aggregates are the first values that rows of w->in, whose columns are keys, a column and a
 * value, have beside each value of that column. */
struct tra_pivot_key;
tra_node *tra_table_group_wide(tra_table_builder *w, const struct tra_pivot_key *key, const tra_group_column *columns);
/* table_group_parts.c: the same where some aggregates have no states. divides: has the table so many rows that it
 * should be divided for these? */
bool tra_table_divides_groups(tra_table_builder *w, tra_node *rows, const tra_group_column *columns);
tra_node *tra_table_group_parts(tra_table_builder *w, tra_node *rows, const tra_group_column *columns);

/* table_join.c: the rows of w->in, each with the one row of w->right that has the same first n columns. */
tra_node *tra_table_join_by_keys(tra_table_builder *w, int n);
/* The rows of w->in, each with the one row of `right` that has its keys, NULLs included. */
tra_node *tra_table_join_by(tra_table_builder *w, tra_node *right, int nkeys, const int *lkey, const int *rkey);

/* table_cross.c: how every pair of rows is made in blocks of usual size. Each block of the left table is cut in
 * `slices` slices of `rows` rows; each slice meets the right table as a whole (right_blocks 1), or its blocks one by
 * one. */
typedef struct tra_cross_division {
    int64_t rows, slices, right_blocks;
} tra_cross_division;
/* Cuts each block b into slices of so many rows, with keys <b, s>. */
tra_node *tra_table_cut_rows(tra_table_builder *w, tra_node *in, int64_t rows, int64_t slices);
/* False if pairs of one block on the left and all rows on the right have room in one block. */
bool tra_table_divide_cross(const tra_node *left, const tra_node *right, tra_cross_division *x);
/* Keys <b, s> or <b, s, r>, of the extents n, as one number in row-major order. */
tra_node *tra_table_one_key(tra_table_builder *w, tra_node *in, int arity, const int64_t *n);
tra_node *tra_table_cross_parts(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_cross_division *x);

/* What is known of the size of a join. */
typedef struct tra_join_size {
    int64_t partners_most; /* right rows that one left row meets, at most; INT64_MAX: nothing is known */
    int64_t rows_most;     /* rows of the result, at most */
    double rows_expected;
    double matched;     /* the expected share of left rows that have a partner */
    int64_t block_most; /* rows of a block of the result, at most; 0: no more is known */
    bool met_alone;     /* of the right table those rows alone are there that are expected to have partners */
} tra_join_size;
/* The expected rows, as the share of `tra_rows_kernel`: of the rows that would come out if each left row had
 * partners_most partners, with the numbers of rows that are expected of the operands. */
double tra_table_join_share(const tra_join_size *m, const tra_type *left, const tra_type *right);
/* table_join_slices.c (parts: is the right table divided?): how left blocks are cut for a join: each in n slices, whose
 * rows make so many pairs, or one row more; a block of the result has `most` rows at most. False: it need not be cut.
 */
typedef struct tra_join_slices {
    int64_t rows, n, most, each; /* each: pairs of one row, at most */
} tra_join_slices;
bool tra_table_slice_join(const tra_table_builder *w, const tra_lookup *l, const tra_node *left, const tra_node *right,
                          const tra_join_size *size, bool parts, tra_join_slices *x);
tra_node *tra_table_join_slices(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_join_size *size, const tra_join_slices *x);
/* The same of a join by keys alone whose right table is divided: slices of all left rows together, in their order. */
bool tra_table_slice_parts(const tra_lookup *l, const tra_node *left, const tra_node *right, const tra_join_size *size,
                           tra_join_slices *x);
tra_node *tra_table_left_slices(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_join_slices *x);
/* Of a join on ranges whose right table is divided: the left table, cut so that there is room for several times the
 * pairs that are expected of a block, and that room in size->block_most. */
tra_node *tra_table_cut_for_ranges(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left, tra_join_size *size);
/* table_join_reduced.c: the right table of the join s, or of its rows those alone that left rows can meet, where these
 * are few. divided: the right table would be divided. */
tra_node *tra_join_reduced(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left, tra_node *right,
                           bool divided);
/* Divides the right table if it has so many rows that it should be. one_partner: of each key one right row at most
 * matters. */
bool tra_join_divide(const tra_table_builder *w, const tra_lookup *l, const tra_node *left, const tra_node *right,
                     bool one_partner, tra_division *d);
/* table_join_parts.c: a join by keys whose right table is divided. s: what the join is. */
tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const tra_division *d, const tra_join_size *size);

/* ---- windows (table_window.c) ----------------------------------------------------------------------------------- */

/* By what the rows of a window are arranged. */
typedef struct tra_window_by {
    int nkeys, norder;    /* the terms of the operator */
    int from;             /* arguments from this number on are functions and the frame */
    const tra_ast *frame; /* of functions that have none of their own; NULL: there is none */
} tra_window_by;

/* Operations to sort a row by these columns. */
double tra_table_sort_flops(const tra_schema *s, int n, const int *column);

/* The share of rows that a window is expected to keep, whose first rows of each group alone are wanted: of each block,
 * where groups have less of their rows, and of all. */
typedef struct tra_window_kept {
    double of_blocks, of_all;
} tra_window_kept;

/* table_window_nodes.c: the nodes of the window whose terms and functions w->op has. top: unless it is 0 only rows
 * whose `by` is at most this are wanted. */
tra_node *tra_table_window_nodes(tra_table_builder *w, int64_t top, tra_window_function by);
/* The number of the column of that expression, which is added unless a column of the table is there already. */
int tra_window_add_operand(tra_projection *o, const tra_colexpr *x);
/* Is it an aggregate of the whole group, which its rows have in common? */
bool tra_window_is_of_group(const tra_table_around *f);
/* The other functions of a window, over the rows of o, which has its terms and gets their operands. There is room for
 * more. found[i]: the name of the column that says whether a row has the row of lag or lead number i, which has a
 * default. */
tra_window tra_window_of(tra_projection *o, const tra_table_op *op, const tra_colexpr *const *operand, int room,
                         const char **found);
/* The rows of w->in, with the functions of all beside them. */
tra_node *tra_table_window_beside(tra_table_builder *w, tra_node *found);

/* table_window_chain.c: the rows of w->in, with the functions of w->op beside them, where w->in has windows by the same
 * keys and order. False: it has none, or is not divided. */
bool tra_table_window_chain(tra_table_builder *w, const char **found, tra_node **out);

/* table_window_parts.c: the functions of `fields`, over the rows of `in` (which has their columns, and the blocks of
 * w->in), by numbers of rows that ascend, for each block. */
tra_node *tra_table_window_functions(tra_table_builder *w, tra_node *in, tra_window *fields,
                                     const tra_window_kept *kept);
/* The steps of that, where the table is divided. divides: do n windows, over these columns, share parts, and which? */
bool tra_table_divides_window(tra_table_builder *w, int n, const tra_window *const *fields,
                              const tra_schema *const *columns, tra_division *d);
/* The rows of `in`, sorted by keys and order in parts; the number of the row and its place in the order come last. */
tra_node *tra_table_window_sorted(tra_table_builder *w, tra_node *in, const tra_window *fields, const tra_division *d);
/* Of each row of such parts its number, and then the functions. */
tra_node *tra_table_window_of_parts(tra_table_builder *w, tra_node *parts, tra_window *fields, const tra_division *d);
/* These in the order of the numbers of rows, in the blocks of w->in. */
tra_node *tra_table_window_by_rows(tra_table_builder *w, tra_node *n);

#endif
