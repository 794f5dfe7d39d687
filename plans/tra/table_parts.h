/* table_parts.h - tables divided into parts by ranges of keys (lib/table/parts.h). Private to plans/tra. */
#ifndef TRA_TABLE_PARTS_BUILD_H
#define TRA_TABLE_PARTS_BUILD_H

#include "../../lib/table/kernels.h"
#include "../../lib/table/parts.h"
#include "table.h"

/* How a table of blocks becomes parts. Follows from blocks and bounds of rows alone, so that results, whose blocks the
 * parts are, do not depend on the ceiling. */
typedef struct tra_division {
    int64_t every, parts, most; /* of a part: rows, at most */
} tra_division;
/* False where all rows are to be taken as one part: there is little of them. ties: the number of the row is the last
 * key; else no key is in two rows of one block. share: a part is to have no more than that share of a block's rows,
 * where the blocks are not too many for it. */
bool tra_table_divide(const tra_catalog *c, bool ties, int64_t share, tra_division *d);

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
/* The first row number of each block, that of block i being i x the bound of rows. */
tra_node *tra_table_block_numbers(tra_table_builder *w, const tra_node *in);
/* Blocks sorted; x is copied. text says all of it. */
tra_node *tra_table_arrange(tra_table_builder *w, tra_node *in, const tra_arrange *x, const char *text);
/* Of sorted blocks: range <p> of each part; rows <b, p> of each block in each range; rows <p> of each part. */
tra_node *tra_table_ranges(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);
tra_node *tra_table_slices(tra_table_builder *w, tra_node *sorted, tra_node *ranges, const tra_part_keys *k,
                           bool closed, const tra_division *d);
/* Pieces with key dimension keydim, put together: no result has more rows than that (0: not known). */
tra_node *tra_table_together(tra_table_builder *w, tra_node *pieces, int keydim, int64_t most);
tra_node *tra_table_in_parts(tra_table_builder *w, tra_node *sorted, const tra_part_keys *k, const tra_division *d);

/* The operators, where the division says so; NULL after a diagnostic. */
tra_node *tra_table_order_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d);
tra_node *tra_table_distinct_parts(tra_table_builder *w, const tra_part_keys *k, const tra_division *d);
/* A join by keys without further conditions, of which s says what it is. */
tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const char *text, const tra_division *d);

#endif
