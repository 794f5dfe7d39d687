/* band.h - joins on ranges: which right rows a left row can meet, found without looking at all pairs.
 *
 * A condition on pairs of rows is split at its &&. A part that compares what a left row has with what a right row has
 * is an end: it bounds a value of the right row from below or above by one of the left row. So a left row asks for the
 * right rows in a box, with a side for each such value. Right rows with one key stand in the order of their first
 * value, and above them is a tree whose nodes know the least and the greatest of each value among 16 nodes below: so
 * the rows that are found, and not all pairs, are what a search takes, whichever ends of intervals vary. What a box has
 * is a superset of the partners, unless `exact` says that it is these. Private to lib/table.
 */
#ifndef TRA_TABLE_BAND_H
#define TRA_TABLE_BAND_H

#include "join_int.h"

/* Sums and differences of what a row has: L.t - R.t < 5. One term that is no sum compares in its own type. */
typedef struct tra_band_term {
    int root; /* of the code of its side */
    bool minus;
} tra_band_term;
typedef struct tra_band_value {
    int n;
    const tra_band_term *v;
    bool sum;          /* computed in f64, with some slack: such a share of its terms; */
    double slack, far; /* where these come to so much, the sum may not be a whole number of its type */
} tra_band_value;
typedef struct tra_band_end {
    tra_band_value at;  /* of the left row */
    int of;             /* the value of the right row that it bounds */
    bool lower, strict; /* from below; the value is not equal to it */
} tra_band_end;
enum { TRA_BAND_ENDS = 16 }; /* of a condition, at most */
typedef struct tra_band {
    int n, nends;
    const tra_band_value *value; /* of right rows */
    const tra_band_end *end;
    tra_keys side[2]; /* the code of all terms of left rows, and of right ones */
    bool exact;       /* the condition is these ends and nothing else, */
    bool rest_fails;  /* or what it is besides may be an error */
    bool tiled;       /* two values are bounded from both sides: rows lie in tiles, not in the order of one value */
} tra_band;

/* The ends of a condition over pairs; NULL: it has none. The right value that is bounded from both sides comes first.
 */
const tra_band *tra_band_of(const tra_lookup *l, const tra_colexpr *condition);

enum { TRA_BAND_LEVELS = 10, TRA_BAND_FAN = 16 };
/* Beside the index of a right table by keys, whose lists are in the order of the first value then, without the rows
 * that no left row can meet. */
typedef struct tra_band_index {
    bool all;                           /* each left row may meet all rows of its key, whose list is as it was */
    bool ascends;                       /* the lists are in the order of the right table */
    int64_t rows;                       /* in lists */
    double *most;                       /* of sums: the most that the terms of a row come to, without their signs */
    uint64_t **word;                    /* [value][place in lists]: words that compare as the values do */
    uint64_t **box[2];                  /* [value]: the least and the greatest below each node, level by level; */
    int64_t level[TRA_BAND_LEVELS + 1]; /* where each level begins */
    int levels;
} tra_band_index;
int64_t tra_band_bytes(const tra_lookup *l, int64_t rows); /* what it takes; 0 of joins that have no band */
TRA_MUSTUSE tra_status tra_band_open(const tra_lookup *l, const tra_batch *right, tra_finder *x, tra_band_index *index,
                                     void *room, void *scratch, tra_err *e);

/* band_index.c: a strip's value of one side: words, and the sum and *most of its terms. state becomes worse where it
 * is; null: what a NULL is. */
typedef enum tra_band_state {
    TRA_BAND_THERE,
    TRA_BAND_NEVER,  /* compares with nothing */
    TRA_BAND_UNKNOWN /* the condition may be an error with any row */
} tra_band_state;
void tra_band_words(const tra_band *b, int side, const tra_colrun *run, const tra_band_value *v, int n,
                    tra_band_state null, uint64_t *word, uint8_t *state, double *sum, double *most);

/* What some left rows ask for, and what they found. They are looked up in the order of what they ask for, so that what
 * one of them brings into the cache serves the next. */
typedef enum tra_band_asks { TRA_BAND_BOX, TRA_BAND_NONE, TRA_BAND_ALL } tra_band_asks;
typedef struct tra_band_query {
    int64_t rows;         /* there is room for so many */
    uint64_t *low, *high; /* [value * rows + row] */
    uint8_t *asks;
    int32_t *begin, *end; /* the places of right rows with its keys */
    int32_t *count, *at;  /* it found so many rows, from found[at] on, in the order of the right table; or in bits */
    int32_t *found;
    int64_t room;   /* of found */
    uint64_t *word; /* the order of the rows */
    int64_t *order;
    int64_t nbits, next; /* a bit for each right row, all 0 once nbits is set; the word of bits that is taken next */
    uint64_t *bits;
} tra_band_query;
int64_t tra_band_query_bytes(const tra_lookup *l, int64_t left_rows, int64_t right_rows); /* of tables of so many */
void tra_band_query_begin(const tra_lookup *l, int64_t left_rows, void *room, tra_band_query *q);
int64_t tra_band_scratch(const tra_lookup *l); /* that computing values takes */
/* The boxes of n rows (at most a strip) from `row` on, as rows `to` .. of the query. */
void tra_band_ask(const tra_lookup *l, const tra_batch *left, int64_t row, int n, int64_t first,
                  const tra_band_index *index, tra_band_query *q, int64_t to, void *scratch);
/* Finds the right rows, of so many, in the boxes of rows from .. from + n - 1 of the query that ask for a box; none for
 * others. found: with their numbers, for which there is always room if n is 1; else they are only counted, up to `most`
 * of each row. False: there is not room for so many. */
bool tra_band_search(const tra_lookup *l, const tra_band_index *index, const tra_finder *x, int64_t right_rows,
                     tra_band_query *q, int64_t from, int64_t n, bool found, int64_t most);
/* The rows that row i has found, from the one after the first `done` on: *n of them, and others may follow. Each once,
 * in their order. */
const int32_t *tra_band_found(tra_band_query *q, int64_t i, int64_t done, int64_t *n);

#endif
