/* made.h - strings that only rows tell: calls whose results no dictionary has yet.
 *
 * A call of a function of calls.h that gives strings, of too many values to be computed for all of them beforehand, is
 * a node without a dictionary: it has a type, and cannot run. Who wants its strings computes them here, row by row,
 * makes a dictionary of them, and puts a column in the place of the call (plans/tra/table_strings.c).
 */
#ifndef TRA_MADE_H
#define TRA_MADE_H

#include "../relation/store.h"
#include "table.h"

/* Has every expression of strings in the tree a dictionary? */
bool tra_colexpr_is_known(const tra_colexpr *x);
/* Is it such a call, and is all known that it reads? */
bool tra_colexpr_can_be_made(const tra_colexpr *x);

/* Computes n expressions that are strings, each such a call or one that has a dictionary, of rows of one table. A call
 * makes no string of more than `most` bytes. One thread. */
typedef struct tra_made tra_made;
tra_made *tra_made_new(tra_arena *a, int n, const tra_colexpr *const *x, int64_t most);
/* Takes up to TRA_MADE_ROWS rows, from .. from + n - 1 of a batch, whose row 0 is row `first`; strip: room for its
 * columns. Columns that were not read have no values. */
enum { TRA_MADE_ROWS = 1024 };
void tra_made_batch(tra_made *m, const tra_batch *in, int64_t first, int64_t from, int n, tra_vector *strip);
/* The string of expression k in row i of these, until it is asked again; returns its state (TRA_STATE_VALUE, ..). */
int tra_made_string(tra_made *m, int k, int i, const char **s, int64_t *len);
/* The same of an expression that need not be a string. */
tra_call_value tra_made_value(tra_made *m, int k, int i);
/* Of a call of concat that no other call is an operand of: the number of its operands; 0: it is something else. */
int tra_made_pieces(const tra_made *m, int k);
/* The worst state of these in row i; and one of them as text, which is there until it is asked again. */
int tra_made_pieces_state(const tra_made *m, int k, int i);
void tra_made_piece(tra_made *m, int k, int piece, int i, const char **s, int64_t *len);
/* After TRA_STATE_ERROR: why, in words that follow the text of the expression. */
const char *tra_made_why(const tra_made *m);
bool tra_made_took_long(const tra_made *m); /* is it that a regular expression takes too many steps? */
bool tra_made_is_long(const tra_made *m);   /* has a string more than `most` bytes? */
void tra_made_free(tra_made *m);

/* Bytes that making n columns of strings of the rows of such a table takes at least, beside what the process holds; its
 * result has nkept of the columns. */
int64_t tra_made_room(const tra_schema *s, int nkept, int n);

/* A table with columns of strings that are made of the rows of another. */
typedef struct tra_made_strings {
    tra_rel *from; /* a table */
    int nkept;     /* the result has these columns of it, */
    const int *kept;
    int nmade; /* and then columns of these names: expressions over its columns that are strings (made.h) */
    const char *const *name;
    const char *const *text; /* for messages: what makes them */
    /* Without a separator: of a column of which some strings could not be computed, whose rows have NULLs there, the
     * result has one more, which is 1 in these rows and 0 in others. It is named as TRA_MADE_FAILED says. */
#define TRA_MADE_FAILED "%s failed"
    const tra_colexpr *const *x;
    /* Not NULL: neighbours that are equal in the kept columns become one row, with their strings put together, this
     * between two of them; those that are NULL are left out. Without kept columns there is one row. */
    const char *separator;
} tra_made_strings;

/* The rows of a table that come first in an order, in the order of the table. */
typedef struct tra_first_rows {
    tra_rel *from;
    int nkept; /* the result has these columns of it, by these names */
    const int *kept;
    const char *const *name;
    int nconditions; /* rows count for which these are true, which are bools; */
    const tra_colexpr *const *condition;
    int nkeys; /* the order: expressions over its columns, known or such calls; none: that of the rows */
    const tra_colexpr *const *x;
    const bool *desc;
    int64_t most; /* so many rows */
} tra_first_rows;

#endif
