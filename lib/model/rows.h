/* rows.h - the layout of sparse arrays: their entries, row by row.
 *
 * A row is all elements that agree in all coordinates but the last. Rows are numbered row-major in the box of those
 * dimensions; arrays of rank 0 and 1 have one row. Only rows with entries are stored, so that blocks with far more rows
 * than entries cost nothing. Whatever a file stores its tensor as becomes this layout when a tuple is read, and is made
 * from it when one is written.
 *
 * Parts of the block: column, uint32 [n]: the last coordinate, strictly ascending within a row; value [n], of the
 * array's type; row, int64 [nrows]: numbers of the rows that have entries, ascending; begin, int64 [nrows + 1]: where
 * the entries of each begin, from 0, strictly ascending, to n. Where fewer rows are made than there is room for, the
 * entries, which come first, stay where they are. An entry may be 0 in what comes from a file; results of operators
 * have none of these.
 */
#ifndef TRA_ROWS_H
#define TRA_ROWS_H

#include "cell.h"

enum { TRA_ROWS_COLUMN, TRA_ROWS_VALUE, TRA_ROWS_ROW, TRA_ROWS_BEGIN, TRA_ROWS_PARTS };

/* It is defined with its kernels (lib/sparse) and declared here for code that only stores and moves blocks. */
extern const tra_layout tra_rows;

/* Can arrays of these extents be held in it? The last extent must be below 2^32, the product of the others below
 * 2^63. */
bool tra_rows_can(const tra_dims *ext);
/* How many rows such an array has, with entries or without; INT64_MAX: more. */
int64_t tra_rows_box(const tra_dims *ext);

/* Bytes of a block with so many rows that have entries, and n entries; TRA_SIZE_MOST: too many. */
int64_t tra_rows_room(tra_dtype t, int64_t nrows, int64_t n);
/* The `bytes` function of the layout (cell.h). */
tra_size tra_rows_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);

/* What is in a cell. The pointers are into its block. */
typedef struct tra_rows_view {
    int64_t nrows, n;
    int64_t *row, *begin;
    uint32_t *column;
    char *value; /* of the array's type */
    size_t size; /* of an element */
} tra_rows_view;
tra_rows_view tra_rows_of(const tra_cell *c);

/* Lays out the block of a cell for so many rows and entries. The caller fills all parts, begin[nrows] too. */
tra_rows_view tra_rows_begin(tra_cell *c, int64_t nrows, int64_t n);
/* For a cell that was laid out for more rows and entries than it got, each part filled from its beginning: moves the
 * parts together. Returns the bytes of the block that are used. */
int64_t tra_rows_end(tra_cell *c, int64_t nrows, int64_t n);

/* Fills a cell entry by entry, in ascending order of row and column. tra_rows_make lays it out for at most so many rows
 * and entries; then for each row open, next for each entry, close; tra_rows_made at the end. */
typedef struct tra_rows_maker {
    tra_cell *cell;
    tra_rows_view v; /* v.nrows and v.n: rows and entries so far */
} tra_rows_maker;
tra_rows_maker tra_rows_make(tra_cell *c, int64_t nrows, int64_t n);
/* tra_cell_take, with room for so many. */
bool tra_rows_take(tra_cell *c, int64_t nrows, int64_t n);
static inline void tra_rows_open(tra_rows_maker *m, int64_t row) {
    m->v.row[m->v.nrows] = row;
    m->v.begin[m->v.nrows++] = m->v.n;
}
/* Ends the open row, and removes it if it got no entry. */
static inline void tra_rows_close(tra_rows_maker *m) {
    if (m->v.begin[m->v.nrows - 1] == m->v.n) m->v.nrows--;
}
/* Where to put the value of the next entry of the open row. */
static inline void *tra_rows_next(tra_rows_maker *m, uint32_t column) {
    m->v.column[m->v.n] = column;
    return m->v.value + (size_t)m->v.n++ * m->v.size;
}
int64_t tra_rows_made(tra_rows_maker *m); /* ends the cell, as tra_rows_end does */

/* A cell that threads make in pieces: rows of each come after those of the one before, whose last row may go on. */
typedef struct tra_rows_pieces {
    tra_cell *cell;
    int n;
    int64_t most[TRA_CELL_PIECES][2]; /* rows and entries of each piece, at most */
    int64_t rows, entries;            /* and of all, which the cell needs room for (tra_rows_pieces_add) */
    tra_rows_view all;
    tra_rows_view piece[TRA_CELL_PIECES]; /* where each piece is made; its maker changes nrows and n from what there is
                                             room for to what it made */
} tra_rows_pieces;
/* Adds up the room for n pieces, from `most`. Returns the bytes of the cell. */
int64_t tra_rows_pieces_add(tra_rows_pieces *p, const tra_cell *c, int n);
/* Lays out the cell; false: there is no memory (tra_cell_take). The maker of each piece fills its row, begin (from 0,
 * with its end), column and value, and sets nrows and n. */
bool tra_rows_pieces_begin(tra_rows_pieces *p, tra_cell *c);
/* Moves the pieces together. */
void tra_rows_pieces_end(tra_rows_pieces *p);

/* For blocks that come from elsewhere: TRA_INPUT, saying what is wrong, unless the parts are as described above. */
TRA_MUSTUSE tra_status tra_rows_check(const tra_cell *c, tra_err *e);

/* Is element i of an array of that type not 0? */
static inline bool tra_not_zero(const void *data, tra_dtype t, int64_t i) {
    switch (t) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: return ((const type *)data)[i] != 0;
        TRA_DTYPES(X)
#undef X
    }
    return false;
}

/* Writes to to[0 .. n - 1] the number of the row of each of n entries from k on, of which the first is in the row at
 * place r. `to` has room for TRA_ROWS_SPARE more. Returns the place of the row of entry k + n. */
enum { TRA_ROWS_SPARE = 8 };
int64_t tra_rows_numbers(const tra_rows_view *v, int64_t r, int64_t k, int64_t n, int64_t *to);

/* The place of the first row of v whose number is `row` or larger; v->nrows if there is none. */
int64_t tra_rows_from(const tra_rows_view *v, int64_t row);
/* The first entry of the row at place r whose column is `column` or larger; where the row ends if there is none. */
int64_t tra_rows_entry(const tra_rows_view *v, int64_t r, int64_t column);

#endif
