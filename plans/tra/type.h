/* type.h - types of operators: what the files type*.c share. Private to plans/tra.
 *
 * `n` is an operator whose inputs are typed, `out` the catalog of its result, allocated in the arena. Errors are
 * TRA_PROGRAM, with a message that names no place in the program. */
#ifndef TRA_TYPE_H
#define TRA_TYPE_H

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
