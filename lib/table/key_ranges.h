/* key_ranges.h - the rows of many blocks, divided into parts by ranges of their keys: orders, groups, distinct rows and
 * joins of tables that do not fit into memory at once.
 *
 * Each block is sorted by the keys. Of each sorted block every so-many-th row, and the last, is a sample; the samples
 * of all blocks, sorted, give the splitters at equal distances. As blocks are sorted and samples lie evenly in them,
 * the rows between two splitters are no more than (samples between them + blocks) x the distance of samples, whatever
 * the keys are (parallel sorting by regular sampling, Shi and Schaeffer 1992): so the memory for a part is promised
 * before a row is read. That needs keys of which none is in many rows; else the number of the row is the last key.
 */
#ifndef TRA_TABLE_KEY_RANGES_H
#define TRA_TABLE_KEY_RANGES_H

#include "../kernel/kernel.h"
#include "table.h"

typedef enum tra_arrange_keep {
    TRA_ARRANGE_ALL,
    TRA_ARRANGE_FIRST,    /* of rows of equal keys the first */
    TRA_ARRANGE_UNIQUE,   /* no two have equal keys: else an error that names both */
    TRA_ARRANGE_DISTINCT, /* FIRST, in the order in which they stood */
} tra_arrange_keep;

/* Sorts the rows of one block by these columns, stably. */
typedef struct tra_arrange {
    const tra_schema *in, *out;
    const int *from; /* of each column of out its number in `in`; -1: the number of the row */
    int n;
    const int *column; /* keys, in `in` */
    const bool *desc;  /* NULL: all ascend */
    bool matching;     /* rows of which a key is NULL are left out, */
    int free;          /* but not for the first so many keys */
    tra_arrange_keep keep;
    bool cut; /* only `most` of the sorted rows are kept, from row `skip` on */
    int64_t skip, most;
    int64_t top; /* not 0: of rows that are equal in the first of_keys keys only those are kept whose rank is at most */
    int of_keys; /* this; dense: ties count as one; numbered: of ties the first ones count alone */
    bool dense, numbered;
    int number; /* the column of `in` that has the number of the row, for messages; -1: they count from the block */
    const char *what; /* for messages: "by which rows are ordered"; */
    const char *name; /* of UNIQUE: "right", what they call the table */
    int64_t block;    /* a block's first row has the number of the block times this */
    double kept;      /* FIRST: the share of the rows that is expected to be kept; 0: nothing is known */
} tra_arrange;
/* A map, or a join with an i64 array whose first element is the number of the block. */
extern const tra_rows_ops tra_arrange_ops;
/* Of the rows at[0..n), whose numbers ascend, those that it keeps, in its order, at the begin of `at`; returns how
 * many. Reads the keys alone. at: three words for each row of the block. */
int64_t tra_arrange_rows(const tra_arrange *x, const tra_batch *in, int64_t *at, int64_t n);

/* Samples, and what is made of them: tables whose first n columns are the keys. */
typedef struct tra_sampling {
    const tra_schema *in, *out; /* of the table; of samples and splitters: the keys */
    int n;
    const int *column;    /* keys, in `in` */
    const bool *desc;     /* NULL: all ascend */
    int64_t every;        /* rows between two samples */
    int64_t parts;        /* splitters are one less */
    int64_t part_samples; /* of one part, at most: where there are few, most parts have no rows */
    const tra_schema *range;
} tra_sampling;
extern const tra_rows_ops tra_sample_ops;    /* a map: the samples of a sorted block */
extern const tra_rows_ops tra_splitters_ops; /* a map: splitters of all samples; none where there are none */
/* A join of splitters with an i64 array whose first element is the number of a part: the splitters below and above it,
 * with the column `upper`, which is true of the latter. */
extern const tra_rows_ops tra_range_ops;

/* A join of a sorted block with such a range: the rows of the part. */
typedef struct tra_slicing {
    const tra_schema *in, *range;
    int n;
    const int *column; /* keys, in `in`, that are compared with the first n columns of the range */
    const bool *desc;  /* NULL: all ascend */
    bool closed;       /* rows that equal the upper splitter belong to the part too; */
    bool open;         /* those that equal the lower one do not */
    int before, after; /* so many more rows (0 or 1) of the block that come before the part, and after it */
} tra_slicing;
extern const tra_rows_ops tra_slice_ops;

/* A join of a block that is sorted by a column of row numbers with an i64 array whose first element is b: the rows with
 * numbers from b * rows on, below (b + 1) * rows. */
typedef struct tra_number_slicing {
    const tra_schema *in;
    int column;
    int64_t rows;
} tra_number_slicing;
extern const tra_rows_ops tra_number_slice_ops;

/* A join of a block with an i64 array whose first element is s: slice s of the block, in slices of `rows` rows. */
typedef struct tra_row_slicing {
    const tra_schema *in;
    int64_t rows;
} tra_row_slicing;
extern const tra_rows_ops tra_row_slice_ops;

/* Rows [from, from + most) of a table of many blocks. If there is a column of weights (i64), a row counts as
 * many times as it says, and once where it is NULL. */
typedef struct tra_limiting {
    const tra_schema *in, *count; /* count: one column, i64 */
    int weight;                   /* the column; -1: each row counts once */
    int64_t from, most;
} tra_limiting;
extern const tra_rows_ops tra_limit_count_ops; /* a map: how many rows a block has, as a row */
/* A join of these rows of all blocks, in their order, with an i64 array whose first element is the number of a block:
 * the number of its first row, as a row. */
extern const tra_rows_ops tra_limit_start_ops;
extern const tra_rows_ops tra_limit_cut_ops; /* a join of a block with that: its rows among those that are wanted */

/* A join of a block with the number of its first row (tra_limit_start_ops): its columns, and after them the number of
 * each row in the table, as rows count there. */
typedef struct tra_row_numbering {
    const tra_schema *in, *start, *out;
    int weight;
    int64_t most, each; /* it is an error if all rows, or one, count more times; without weights nothing */
} tra_row_numbering;
/* How many times row i counts by a column of weights. */
static inline int64_t tra_row_weight(const tra_vector *v, int64_t i) {
    return v->state && v->state[i] ? 1 : ((const int64_t *)v->values)[i];
}
extern const tra_rows_ops tra_row_numbers_ops;

/* A quantile of each group, for rows that are sorted by the keys and then by the value, in blocks one after the other:
 * so the rows of a group may be in several blocks. Each block that has rows of a group gives a row for it: `low` and
 * `high` are the two values between which the quantile lies, NULL where they are in another block; `part` is how far it
 * is from the first to the second, NaN if a value of the group is NaN. */
typedef struct tra_ranking {
    const tra_schema *in;    /* nkeys keys, and the value */
    const tra_schema *ends;  /* keys; block, values, nans: i64 */
    const tra_schema *carry; /* values before, values, nans: i64 */
    const tra_schema *out;   /* keys; low, high: f64 that may be NULL; part: f64 */
    int nkeys;
    double q; /* the place: 0 the first value, 1 the last */
} tra_ranking;
/* A join of a sorted block with an i64 array whose first element is its number: its first group and its last. */
extern const tra_rows_ops tra_group_ends_ops;
/* A join of these of all blocks, in their order, with the number of a block: what is known of its first group and of
 * its last, of all blocks together. */
extern const tra_rows_ops tra_group_carry_ops;
extern const tra_rows_ops tra_group_ranks_ops; /* a join of a sorted block with that: the groups */

/* What a block of rows becomes when it is known which of its rows have been found in the other table, and what with. */
typedef enum tra_place_how {
    TRA_PLACE_INNER, /* a row for each time that it was found */
    TRA_PLACE_LEFT,  /* and one with NULLs where it was not */
    TRA_PLACE_SEMI,  /* those that were found */
    TRA_PLACE_ANTI,  /* those that were not */
    TRA_PLACE_KEEP,  /* all, of which `matched` is tested */
} tra_place_how;
/* A join of a block with a table whose first column has numbers of rows, modulo `rows`, in any order. The result has
 * the columns of the left, then of the right those after the first, or if `ordered` after the second. */
typedef struct tra_placing {
    const tra_schema *left, *right, *out;
    tra_place_how how;
    int64_t rows;
    bool ordered;     /* column 1 of the right has other numbers: what was found of a row comes in their order */
    bool matched;     /* each is found: else an error that names the first that is not, */
    const char *name; /* of the table that they call "left" */
    const struct tra_lookup *join; /* the same as a lookup, for those who have the whole right table */
} tra_placing;
extern const tra_rows_ops tra_place_ops;

#endif
