/* turn.h - entries of rows become entries of other rows: a sort by counting, in pieces that all threads share.
 *
 * Whoever brings entries cuts its work in at most TRA_PIECES pieces: begin; each piece counts its entries of each part
 * in at[piece]; place; each piece puts its entries to items[at[piece][part]++], in the same order; then sort and write.
 */
#ifndef TRA_TURN_H
#define TRA_TURN_H

#include "../base/parallel.h"
#include "rows.h"

#include <string.h>

enum { TRA_TURN_PARTS = 1 << 10 };

/* An entry on its way; its value is at the beginning of the eight bytes. */
typedef struct tra_turn_item {
    uint32_t row, column;
    uint64_t value;
} tra_turn_item;

typedef struct tra_turn {
    int pieces, shift;             /* the part of an entry: row >> shift */
    int64_t base;                  /* rows of items are counted from it; 0, but for tra_turn_columns */
    int64_t parts, groups;         /* groups: of parts, each of which one piece of work sorts */
    int64_t (*at)[TRA_TURN_PARTS]; /* of each piece: how many entries it has of each part, then where these go */
    int64_t *first;                /* of each part and the end: its first entry */
    int64_t *rows;                 /* of each part and the end: its first row */
    tra_turn_item *items, *other;
    const tra_rows_view *out;
} tra_turn;

/* Bytes of room for the result, in at most so many rows, for so many entries; of scratch, with room and without. */
int64_t tra_turn_room(int64_t entries, int64_t rows);
int64_t tra_turn_scratch(int64_t entries, bool room);
/* Begins with at most so many entries of rows below row_box <= 2^32. room and scratch are aligned to 64 bytes; room is
 * used until tra_turn_write, or NULL. The caller sets `pieces` then. */
void tra_turn_begin(tra_turn *x, int64_t entries, int64_t row_box, void *room, void *scratch);
/* Where each piece's entries of each part go, in the order of the pieces; returns how many entries there are. */
int64_t tra_turn_place(tra_turn *x);
/* Copies a value of at most eight bytes. */
static inline void tra_turn_value(void *to, const void *from, size_t size) {
    if (size == 8)
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else if (size == 1)
        memcpy(to, from, 1);
    else
        memcpy(to, from, size);
}
/* Sorts the items by row, then by column; those of the same place keep their order. Returns how many
 * rows they are in. */
int64_t tra_turn_sort(tra_turn *x);
/* Lays out the result, of values of type t, in the room. */
void tra_turn_lay(const tra_turn *x, tra_dtype t, void *room, tra_rows_view *v);
/* Writes all parts of v, which has been laid out for as many rows and entries. */
void tra_turn_write(tra_turn *x, const tra_rows_view *v);

/* Instead of sort and write: one of the parts alone, sorted, in the room. */
void tra_turn_part(const tra_turn *x, int64_t part, tra_dtype t, void *room, tra_rows_view *v);

/* A matrix of few columns at once, by one thread: all their ends stay in the cache. How many columns have entries; -1:
 * there are too many columns or entries for that. scratch: as above, to be kept until tra_turn_few_write. */
int64_t tra_turn_few(const tra_rows_view *in, int64_t columns, void *scratch);
/* Lays the result out in the room. */
void tra_turn_few_lay(const tra_rows_view *in, int64_t rows, void *room, tra_rows_view *v);
/* Writes it to v, which has been laid out for as many rows and entries; those that are 0 stay. */
void tra_turn_few_write(const tra_rows_view *in, int64_t columns, void *scratch, const tra_rows_view *v);

/* All that comes before tra_turn_sort for a matrix whose columns become rows; entries that are 0 stay. Rows and columns
 * are below 2^32. */
void tra_turn_matrix(tra_turn *x, const tra_rows_view *in, int64_t columns, void *room, void *scratch);
/* The same of so many entries that columns from .. to - 1 have. done: of each row, how many entries are before these
 * columns; afterwards, before column `to`. Then only tra_turn_part. */
void tra_turn_columns(tra_turn *x, const tra_rows_view *in, int64_t from, int64_t to, int64_t entries, uint32_t *done,
                      void *room, void *scratch);

#endif
