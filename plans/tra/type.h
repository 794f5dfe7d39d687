/* type.h - types of operators: what the files type*.c share. Private to plans/tra.
 *
 * `n` is an operator whose inputs are typed, `out` the catalog of its result, allocated in the arena. Errors are
 * TRA_PROGRAM, with a message that names no place in the program. */
#ifndef TRA_TYPE_H
#define TRA_TYPE_H

#include "../../lib/storage/stored.h"
#include "tra.h"

/* Extents of one array of the input (l), or of one pair of arrays of a join. Cut sets are found by asking the kernel
 * what it makes of these. */
typedef struct tra_sample {
    tra_dims l, r;
} tra_sample;

/* Catalogs of results whose tuples do not form a grid in closed form: the tuples are walked one by one, at most
 * TRA_MAX_LIST of them. What comes out is a grid all the same when the tuples turn out to form one. */
TRA_MUSTUSE tra_status tra_list_join(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e);
TRA_MUSTUSE tra_status tra_list_agg(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e);
TRA_MUSTUSE tra_status tra_list_transform(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample,
                                          tra_err *e);
TRA_MUSTUSE tra_status tra_list_rekey(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e);
TRA_MUSTUSE tra_status tra_list_tile(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e);
TRA_MUSTUSE tra_status tra_list_concat(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e);

/* The catalog and the cut sets of a rekey, whose new keys must differ (type_rekey.c). */
TRA_MUSTUSE tra_status tra_type_rekey(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e);

/* The error for two keys x and y that a rekey maps to one. */
TRA_MUSTUSE tra_status tra_type_collision(const tra_node *n, const tra_dims *x, const tra_dims *y, tra_err *e);

/* The keys for which the predicate of a filter holds, found without walking a grid (type_filter.c). */
TRA_MUSTUSE tra_status tra_type_filter(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e);

/* Sets whether n->type is sparse, what is known of its entries, and its layout; all other members are set before
 * (type_entries.c). */
void tra_type_entries_of(tra_arena *a, tra_node *n);
/* Notes in which relation's places the entries of a result lie, and expects at most as many (type_within.c). And for a
 * join of two operands whose entries lie in the places of one relation: their estimates are not independent. Where the
 * join is 0 wherever the first is, in[] of the second becomes its share of those places, not of all elements. */
void tra_within_set(tra_arena *a, tra_node *n);
void tra_within_shares(const tra_node *n, tra_filled *in);

/* How entries are spread over rows and columns (type_lines.c). tra_line_counts: the rows or columns of a matrix,
 * counted by the logarithm of how many entries each has: n[i] lines have about 2^i entries each, together entries[i].
 */
typedef struct tra_line_counts {
    double n[TRA_LOGS], entries[TRA_LOGS];
} tra_line_counts;
/* The node that has all entries of this one at the same places, in whatever blocks; maps that are 0 at 0 and factors
 * leave none elsewhere. turned: it has those of the transposed one. tra_tensor_of: that, if it is an input from a file,
 * else NULL. */
const tra_node *tra_pattern_of(const tra_node *n, bool *turned);
const tra_node *tra_tensor_of(const tra_node *n, bool *turned);
/* Rows (d = 0) or columns (d = 1, or the last one) of a relation by the statistics of its file; without these entries
 * are taken to be spread evenly. */
tra_line_counts tra_type_lines(const tra_node *n, int d);
/* The width of a narrow band, as of a mesh: the longest distance between two entries of a row. 0: it is none, or no
 * matrix of a file whose blocks have whole rows. */
double tra_type_band(const tra_node *n);
/* Is the operand of a join a sparse matrix with the extents of the result and its labels in their order? */
bool tra_type_is_alike(const tra_node *join, int side);
/* Does the join multiply matrices, perhaps for the largest or least products, and join the keys that cut the dimensions
 * of the sum? d: these, of the left and of the right matrix. of[i]: the operand that dimension i of the result comes
 * from. */
bool tra_type_is_product(const tra_node *n, int d[2], int of[2]);
/* Does the aggregation add up, or fold as the join does, all blocks of a join that differ in joined keys alone? */
bool tra_type_adds_product(const tra_node *n);
/* Samples lines of a product of matrices that come from files, or are computed of such by products, sums and maps.
 * Reads coordinates of files, once for each product (type_sample.c). False: nothing is known. */
bool tra_type_sample(const tra_node *join, tra_product_sample *out);
/* The same of a join of two such matrices element by element: about how many entries it has. */
bool tra_type_sample_alike(const tra_node *join, double *entries);
/* A bound of the entries of one row (d = 0) or column (1) of a whole sparse matrix. depth: 0; the function counts with
 * it how deep it calls itself. Reads counts of files as tra_rel_fullest_line does. */
int64_t tra_type_fullest_line(const tra_node *n, int d, int depth);

/* Refuses operators that cannot have tables, or rows that only the run counts, as their inputs (type_rows.c). */
TRA_MUSTUSE tra_status tra_type_rows(const tra_node *n, tra_err *e);

/* Cut sets (type_cuts.c): sets n->type.cut of a join or aggregation, whose catalog is set. */
TRA_MUSTUSE tra_status tra_type_join_cuts(tra_node *n, const tra_sample *sample, tra_err *e);
TRA_MUSTUSE tra_status tra_type_agg_cuts(tra_node *n, const tra_sample *sample, tra_err *e);
/* Takes extents and cut sets through a map, kernel by kernel: *ext and cut are those of the operand before, and those
 * of the result after. frontier: of the keys that they are cut by. */
TRA_MUSTUSE tra_status tra_type_map_cuts(const tra_kernel *k, tra_dims *ext, uint32_t *cut, const tra_dims *frontier,
                                         tra_err *e);
/* The cut set with each key dimension d moved to place[d]; empty if one of them has no place (-1). */
uint32_t tra_type_moved_cut(uint32_t cut, const int *place);

/* Sets place[d] to where key dimension d of the input stands in the key of the groups, -1 if it is aggregated. */
void tra_type_group_places(const tra_node *n, int *place);
/* Sets place[d] to where key dimension d of R stands in the key of a join's result: a joined one where L has it. */
void tra_type_join_places(const tra_node *n, int *place);
/* The error for a result that is no grid and has more than TRA_MAX_LIST tuples. */
TRA_MUSTUSE tra_status tra_type_too_many(const tra_node *n, tra_err *e);
/* The catalog of a result without tuples, with k key dimensions. */
void tra_type_empty(int k, const tra_dims *bound, tra_catalog *out);

#endif
