/* rows.h - the layout of arrays of which few elements are not zero: their entries, row by row.
 *
 * A row is what all coordinates but the last have in common, numbered row-major in the box of those dimensions; arrays
 * of rank 0 and 1 have one row. Only rows with entries are there, so that blocks with far more rows than entries cost
 * nothing. Whatever a file stores its tensor as becomes this when a tuple is read, and is made from this when one is
 * written.
 *
 * Parts of the block:
 *   row     int64  [nrows]      numbers of the rows that have entries, ascending
 *   begin   int64  [nrows + 1]  where the entries of each begin: from 0, strictly ascending, to n
 *   column  uint32 [n]          the last coordinate, strictly ascending within a row
 *   value   of the array's type [n]
 * An entry may be 0 in what comes from a file; results have none of these.
 */
#ifndef TRA_ROWS_H
#define TRA_ROWS_H

#include "cell.h"

enum { TRA_ROWS_ROW, TRA_ROWS_BEGIN, TRA_ROWS_COLUMN, TRA_ROWS_VALUE, TRA_ROWS_PARTS };

/* Defined with its kernels (lib/sparse), declared here for those that only store and move. */
extern const tra_layout tra_rows;

/* Can arrays of these extents be held so? The last is below 2^32, and the product of the others below 2^63. */
bool tra_rows_can(const tra_dims *ext);
/* Rows, with entries or without, of such an array. */
int64_t tra_rows_box(const tra_dims *ext);

/* Bytes of a block with so many rows and entries; TRA_SIZE_MOST where there are too many. */
int64_t tra_rows_room(tra_dtype t, int64_t nrows, int64_t n);
/* What the layout's `bytes` says (cell.h). */
tra_size tra_rows_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows);

/* What is in a cell; the pointers are into its block. */
typedef struct tra_rows_view {
    int64_t nrows, n;
    int64_t *row, *begin;
    uint32_t *column;
    char *value; /* of the array's type */
    size_t size; /* of an element */
} tra_rows_view;
tra_rows_view tra_rows_of(const tra_cell *c);
/* The first of the rows that are there whose number is not below `row`; nrows: there is none. */
int64_t tra_rows_find(const tra_rows_view *v, int64_t row);

/* Lays out the block of a cell for so many rows and entries, which are the caller's to fill (begin[nrows] too). */
tra_rows_view tra_rows_begin(tra_cell *c, int64_t nrows, int64_t n);
/* Has a cell that was laid out for more, whose parts are filled from their beginnings: moves them together. Returns the
 * bytes of the block that are left in use. */
int64_t tra_rows_end(tra_cell *c, int64_t nrows, int64_t n);

/* Fills a cell that was laid out for at least as much, entry by entry, in ascending order of row and column. */
typedef struct tra_rows_maker {
    tra_cell *cell;
    tra_rows_view v; /* its nrows and n: those that are there so far */
} tra_rows_maker;
tra_rows_maker tra_rows_make(tra_cell *c, int64_t nrows, int64_t n);
static inline void tra_rows_open(tra_rows_maker *m, int64_t row) {
    m->v.row[m->v.nrows] = row;
    m->v.begin[m->v.nrows++] = m->v.n;
}
/* Ends the row that is open, and takes it away again if nothing was put into it. */
static inline void tra_rows_close(tra_rows_maker *m) {
    if (m->v.begin[m->v.nrows - 1] == m->v.n) m->v.nrows--;
}
/* The place for the value of the next entry of the row that is open. */
static inline void *tra_rows_next(tra_rows_maker *m, uint32_t column) {
    m->v.column[m->v.n] = column;
    return m->v.value + (size_t)m->v.n++ * m->v.size;
}
int64_t tra_rows_made(tra_rows_maker *m); /* as tra_rows_end */

/* A cell that is made in pieces, each of rows beyond those of the piece before, by several threads at once. How many
 * rows and entries each has at most is in counted_of of the cell. */
typedef struct tra_rows_pieces {
    tra_cell *cell;
    int n;
    tra_rows_view all;
    tra_rows_view
        piece[TRA_CELL_PIECES]; /* where each is made; nrows, n: what there is room for, later what was made */
} tra_rows_pieces;
/* Rows and entries that the cell is laid out for, from counted_of; sets `counted` to them. Returns its bytes. */
int64_t tra_rows_pieces_counted(tra_cell *c, int n);
/* Lays it out. Of each piece row, begin (from 0, and with its end), column and value are the maker's to fill, who sets
 * nrows and n. */
void tra_rows_pieces_begin(tra_rows_pieces *p, tra_cell *c, int n);
/* Moves them together; as tra_rows_end. */
int64_t tra_rows_pieces_end(tra_rows_pieces *p);

/* TRA_INPUT, saying what is wrong, unless the parts are as this header says: of blocks that come from elsewhere. */
TRA_MUSTUSE tra_status tra_rows_check(const tra_cell *c, tra_err *e);

#endif
