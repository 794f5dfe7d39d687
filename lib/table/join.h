/* join.h - joins of a block of rows with a whole table, by their keys.
 *
 * The table on the right is in one block; each row of the left block finds its partners there by an index that is made
 * of the keys: an array by the key itself where these are whole numbers or codes that lie close together, else a hash
 * table; partners of one key follow each other in it, in their order. So the rows that come out are by the left row,
 * then by the right.
 */
#ifndef TRA_TABLE_JOIN_H
#define TRA_TABLE_JOIN_H

#include "../kernel/kernel.h"
#include "table.h"

/* What becomes of rows: pairs (INNER), pairs and left rows without partner (LEFT), left rows that have one (SEMI), have
 * none (ANTI), or all of them, of which unique and matched are tested (KEEP). A right or outer join (RIGHT, OUTER; not
 * of kernels) is an inner or left one, and the ANTI join of the right table with the left. */
#define TRA_LOOKUPS(X)                                                                                                 \
    X(INNER, "inner")                                                                                                  \
    X(LEFT, "left")                                                                                                    \
    X(SEMI, "semi")                                                                                                    \
    X(ANTI, "anti")                                                                                                    \
    X(KEEP, "keep")                                                                                                    \
    X(RIGHT, "right")                                                                                                  \
    X(OUTER, "outer")
typedef enum tra_lookup_how {
#define X(name, text) TRA_LOOKUP_##name,
    TRA_LOOKUPS(X)
#undef X
} tra_lookup_how;

typedef struct tra_lookup_spec {
    const tra_schema *left, *right;
    tra_lookup_how how;
    int nkeys; /* 0: every pair */
    const int *lkey, *rkey;
    const char *prefix;  /* of the right table's columns in the result; NULL: none */
    bool nulls_match;    /* NULL is a key as others; else none that matches */
    bool unique;         /* no two rows on the right have one key: else an error that names the first */
    bool matched;        /* every left row has a partner: the same */
    bool unique_left;    /* not of kernels, which have the tables exchanged: the same of the left table, */
    bool matched_right;  /* and of the right one */
    const char *number;  /* KEEP: a column of this name, the number of the first partner's row; NULL: none */
    const char *name[2]; /* what messages call left and right; NULL: that */
} tra_lookup_spec;

typedef struct tra_lookup tra_lookup;
/* TRA_PROGRAM, in the terms of the language, for keys of types that do not compare and for names that collide (which
 * proposes a prefix). Keys of equal name stand in the result once, as the left table's. */
TRA_MUSTUSE tra_status tra_lookup_new(tra_arena *a, const tra_lookup_spec *s, tra_lookup **out, tra_err *e);
/* The columns that further conditions are over: all of the left table, then all of the right, with the prefix. */
const tra_schema *tra_lookup_pair(const tra_lookup *l);
/* A pair counts only where this is true: a bool over these columns. Before the first use. */
void tra_lookup_where(tra_lookup *l, const tra_colexpr *condition);
const tra_schema *tra_lookup_out(const tra_lookup *l);

/* What it was made of, and its further conditions. */
const tra_lookup_spec *tra_lookup_spec_of(const tra_lookup *l);
const tra_colexpr *tra_lookup_condition(const tra_lookup *l); /* NULL: none */

/* Its keys, over the columns of the left and of the right table, brought to the same types and dictionaries. */
const tra_colexpr *const *tra_lookup_left_keys(const tra_lookup *l);
const tra_colexpr *const *tra_lookup_right_keys(const tra_lookup *l);
/* Of each column of the result its number in the pair. */
const int *tra_lookup_from(const tra_lookup *l);

/* Bytes of scratch, aligned to 64, for a table of at most so many rows on the right. */
int64_t tra_lookup_scratch(const tra_lookup *l, int64_t right_rows);
/* The rows that come out, into out, whose columns have room for as many as a call with out NULL has counted. first: the
 * number of the first left row, for messages. TRA_INPUT for what breaks unique or matched, and for keys and conditions
 * that could not be computed. */
TRA_MUSTUSE tra_status tra_lookup_run(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                                      tra_batch *out, int64_t *rows, void *scratch, tra_err *e);

/* For those who go over the pairs themselves: the partners of left row i are the right rows list[from[i]] .. list[to[i]
 * - 1], in their order; from, to: room for all left rows. The list stays in scratch, which is as above. Of keys alone
 * (at least one): conditions, matched and how are not asked. */
TRA_MUSTUSE tra_status tra_lookup_partners(const tra_lookup *l, const tra_batch *left, const tra_batch *right,
                                           int64_t first, const int32_t **list, int32_t *from, int32_t *to,
                                           void *scratch, tra_err *e);

/* The executor's: data is a tra_lookup, the operands are cells of rows. */
extern const tra_rows_ops tra_lookup_ops;

#endif
