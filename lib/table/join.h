/* join.h - joins of a block of rows with a whole table, by their keys.
 *
 * The table on the right is in one block. Each row of the left block finds its partners there (the right rows with its
 * key) by an index: an array that the key itself addresses where keys are whole numbers or codes close together, else a
 * hash table. Partners of one key follow each other in it in their order, so the rows that come out are in the order of
 * left rows, and for each of these in the order of right rows.
 */
#ifndef TRA_TABLE_JOIN_H
#define TRA_TABLE_JOIN_H

#include "../kernel/kernel.h"
#include "table.h"

/* What comes out: pairs (INNER); pairs, and left rows without partner (LEFT); left rows that have a partner (SEMI), or
 * have none (ANTI); or all left rows, so that only `unique` and `matched` are tested (KEEP). Kernels know no RIGHT and
 * OUTER: such a join is an INNER or LEFT one with, below it, the ANTI join of the right table with the left. */
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

/* Which partner an as-of join takes of the right rows with equal keys: the last one whose time is at most that of the
 * left row, the first one whose time is at least that, or the nearer of both (of two as near the earlier one). */
typedef enum tra_asof_way { TRA_ASOF_BEFORE, TRA_ASOF_AFTER, TRA_ASOF_NEAREST } tra_asof_way;
typedef struct tra_asof {
    tra_asof_way way;
    bool strict;   /* not a row of the same time */
    bool limited;  /* and none that is further away than */
    int64_t whole; /* this, of whole numbers, dates and timestamps, */
    double real;   /* or this, of floats */
} tra_asof;

typedef struct tra_lookup_spec {
    const tra_schema *left, *right;
    tra_lookup_how how;
    int nkeys; /* 0: every pair */
    const int *lkey, *rkey;
    const tra_asof *asof; /* NULL: all partners count. Else lkey[nkeys] and rkey[nkeys] are the columns of the times */
    const char *prefix;   /* of the right table's columns in the result; NULL: none */
    bool nulls_match;     /* NULL equals NULL; else a NULL key has no partner */
    bool unique;          /* it is an error, which names the first, if two right rows have one key */
    bool matched;         /* it is an error, which names the first, if a left row has no partner */
    bool unique_left;     /* the same of the left table, and of the right one; kernels do not see these two: the */
    bool matched_right;   /* compiler makes a join of the exchanged tables for them */
    const char *number;   /* KEEP: name of a column that gets the number of the first partner's row; NULL: none */
    int numbered[2];      /* 1 + the column of each table with the numbers of its rows, for messages; 0: they count */
    const char *name[2];  /* what messages call the tables; NULL: left, right */
} tra_lookup_spec;

/* How many columns of each table are compared: the keys, and after them the time of an as-of join. */
static inline int tra_lookup_compared(const tra_lookup_spec *s) { return s->nkeys + (s->asof != NULL); }

typedef struct tra_lookup tra_lookup;
/* TRA_PROGRAM, in the terms of the language, for keys of types that do not compare and for names that collide (which
 * proposes a prefix). Keys of equal name stand in the result once, as the left table's. */
TRA_MUSTUSE tra_status tra_lookup_new(tra_arena *a, const tra_lookup_spec *s, tra_lookup **out, tra_err *e);
/* Has the result column `right` of the right table only as a key, which is column *left of the left table? */
bool tra_lookup_shares_key(const tra_lookup_spec *s, int right, int *left);
/* The columns that further conditions are over: all of the left table, then all of the right, with the prefix. */
const tra_schema *tra_lookup_pair(const tra_lookup *l);
/* A pair counts only where this is true: a bool over these columns. Before the first use. */
void tra_lookup_where(tra_lookup *l, const tra_colexpr *condition);
const tra_schema *tra_lookup_out(const tra_lookup *l);

/* Which columns it compares, and reads for its condition; from is not set. */
void tra_lookup_reads(const tra_lookup *l, tra_rows_reads *r);
/* The same join over fewer columns, with the columns of those that are there; NULL: none. */
const tra_lookup *tra_lookup_over(tra_arena *a, const tra_lookup *l, const tra_rows_fewer *f);
/* The same join, whose result has of its columns those alone that are kept; at least one is. */
const tra_lookup *tra_lookup_keeping(tra_arena *a, const tra_lookup *l, const bool *keep);

/* What it was made of, and its further conditions. */
const tra_lookup_spec *tra_lookup_spec_of(const tra_lookup *l);
const tra_colexpr *tra_lookup_condition(const tra_lookup *l); /* NULL: none */

/* Its keys, and after them the time of an as-of join, which is NULL instead of NaN; over the columns of the left and of
 * the right table, brought to the same types and dictionaries. */
const tra_colexpr *const *tra_lookup_left_keys(const tra_lookup *l);
const tra_colexpr *const *tra_lookup_right_keys(const tra_lookup *l);
/* Of each column of the result its number in the pair. */
const int *tra_lookup_from(const tra_lookup *l);

/* Bytes, aligned to 64, for tables of at most so many rows: of scratch, and of the index of the right one, which is
 * kept from one call to the next that has the same right table (kept->of tells), and does not change. */
int64_t tra_lookup_scratch(const tra_lookup *l, int64_t left_rows, int64_t right_rows);
int64_t tra_lookup_keep(const tra_lookup *l, int64_t right_rows);
/* What a count has found of the first so many left rows, for the run that follows. v has room for so many numbers as
 * tra_lookup_found_room says of these tables; NULL: nothing is noted. */
typedef struct tra_found {
    int32_t *v;
    int64_t room, rows;
} tra_found;
int64_t tra_lookup_found_room(const tra_lookup *l, int64_t left_rows, int64_t right_rows);
/* The rows that come out, into out, whose columns have room for as many as a call with out NULL has counted. first: the
 * number of the first left row, for messages. What a count has found is written by the run, if it is still there.
 * TRA_INPUT for what breaks unique or matched, and for keys and conditions that could not be computed. */
TRA_MUSTUSE tra_status tra_lookup_run(const tra_lookup *l, const tra_batch *left, const tra_batch *right, int64_t first,
                                      tra_batch *out, int64_t *rows, tra_found *found, tra_kept *kept, void *scratch,
                                      tra_err *e);

/* For callers that go over the pairs themselves: the partners of left row i are the right rows list[from[i]] ..
 * list[to[i] - 1], in their order. from and to have room for all left rows; the list is in the index.
 * Only the keys count, of which there is at least one: not the condition, `matched` or `how`. */
TRA_MUSTUSE tra_status tra_lookup_partners(const tra_lookup *l, const tra_batch *left, const tra_batch *right,
                                           int64_t first, const int32_t **list, int32_t *from, int32_t *to,
                                           tra_kept *kept, void *scratch, tra_err *e);

/* Of each left row how many right rows its pairs have at most: those that have its keys and lie within what the
 * condition bounds (band.h). */
TRA_MUSTUSE tra_status tra_lookup_count(const tra_lookup *l, const tra_batch *left, const tra_batch *right,
                                        int64_t first, int64_t *pairs, tra_kept *kept, void *scratch, tra_err *e);

/* Does the condition bound what a right row has by what a left row has, so that not all pairs are looked at? */
bool tra_lookup_is_banded(const tra_lookup *l);
/* "lo, hi": what it bounds of right rows; of a join without such nothing. */
void tra_lookup_print_band(const tra_lookup *l, tra_str *out);

/* A join of a block with the right table, by which the pairs that it makes are counted (tra_lookup_count): the columns
 * of the left rows, and the number of the pairs of the rows before (join_before.c). */
typedef struct tra_pairs_before {
    const tra_lookup *join;
    const tra_schema *left, *right, *out;
    int64_t most; /* it is an error if a block makes more */
} tra_pairs_before;
extern const tra_rows_ops tra_pairs_before_ops;

/* The executor's: data is a tra_lookup, the operands are cells of rows. */
extern const tra_rows_ops tra_lookup_ops;

#endif
