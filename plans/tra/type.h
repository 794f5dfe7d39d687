/* type.h - typing of operators, grids in type.c and lists in type_list.c. Private to plans/tra. */
#ifndef TRA_TYPE_H
#define TRA_TYPE_H

#include "tra.h"

/* Extents of the first array, or pair of arrays, that the kernel was asked about: cut sets are found by it. */
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

/* New keys, which must differ, and cut sets; closed form or by walking (type_rekey.c). */
TRA_MUSTUSE tra_status tra_type_rekey(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e);

/* The error for two keys that a rekey makes one. */
TRA_MUSTUSE tra_status tra_collision(const tra_node *n, const tra_dims *x, const tra_dims *y, tra_err *e);

/* Keys for which the predicate holds, found without walking a grid (type_filter.c). */
TRA_MUSTUSE tra_status tra_type_filter(tra_arena *a, const tra_node *n, tra_catalog *out, tra_err *e);

/* Which relations are sparse by type, what is known of their entries, how they are held (type_entries.c): fills these
 * fields of n->type, of which all others are set. */
void tra_type_entries_of(tra_arena *a, tra_node *n);

/* Refuses what cannot be done with tables, and with rows of which only the run tells how many there are
 * (type_rows.c). */
TRA_MUSTUSE tra_status tra_type_rows(const tra_node *n, tra_err *e);

/* Sets place[d] to where key dimension d of R stands in the key of a join's result: a joined one where L has it. */
void tra_join_places(const tra_node *n, int *place);
TRA_MUSTUSE tra_status tra_too_many(const tra_node *n, tra_err *e);
/* The result of an operator without tuples: a list of none. */
void tra_empty(int k, const tra_dims *bound, tra_catalog *out);

#endif
