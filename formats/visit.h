/* visit.h - the entries of an array, or of all arrays of a relation, one after the other. One thread.
 *
 * In row-major order of the tensor blocks are read one by one where they lie so (some rows by all columns). Else the
 * blocks of a band, which have the same rows of the first dimension, are sorted together in bounded memory.
 */
#ifndef TRA_VISIT_H
#define TRA_VISIT_H

#include "../lib/model/rows.h"
#include "sorter.h"

typedef struct tra_visit {
    bool end;          /* there are no more entries; else, of the present one: */
    const char *value; /* of the array's type, until the next one */
    int64_t index;     /* in row-major order of the tensor, where its shape was given */
    /* private: */
    tra_dims at, start;    /* of the present entry; where the array begins */
    tra_dims rows_of;      /* extents of the array but the last */
    const tra_dims *shape; /* NULL: there are no indices */
    tra_array array;
    tra_rows_view rows;
    int64_t row, next, row_end, row_index; /* row_end: where the entries of the row end; row_index: its first index */
    int64_t n;                             /* elements of a dense array, else -1 */
    tra_view *view;                        /* NULL: of one array alone */
    int64_t tuple;
    int64_t memory, height, from; /* height: rows of a band, 0: nothing is sorted; from: where the next one begins */
    const char *output;
    tra_sorter *sorter;
    tra_item *batch;
    int64_t taken, got;
} tra_visit;

/* Of an array that begins at `start` of a tensor of this shape (NULL: no index is wanted), whose last dimensions are
 * the array's. Of a dense array those elements that are not 0 are its entries. cell NULL: there are none. */
tra_visit tra_visit_cell(const tra_cell *cell, const tra_dims *start, const tra_dims *shape);
/* Of all blocks of a view, one after the other, without indices. */
tra_visit tra_visit_blocks(tra_view *v);
/* Of a view in row-major order. memory: bytes for sorting, tra_visit_least at least. output: in messages; a scratch
 * file may be beside it. To be ended, also after a failure. */
TRA_MUSTUSE tra_status tra_visit_in_order(tra_view *v, int64_t memory, const char *output, tra_visit *w, tra_err *e);
/* 0: nothing is sorted. */
int64_t tra_visit_least(const tra_view *v);
/* The first entry, or the next one; beyond: of another row. */
TRA_MUSTUSE tra_status tra_visit_beyond(tra_visit *w, tra_err *e);
static inline tra_status tra_visit_next(tra_visit *w, tra_err *e) {
    if (w->next >= w->row_end) return tra_visit_beyond(w, e);
    w->index = w->row_index + (int64_t)w->rows.column[w->next];
    w->value = w->rows.value + (size_t)w->next++ * w->rows.size;
    return TRA_OK;
}
/* Where in the tensor the present entry is, until the next one. */
const tra_dims *tra_visit_at(tra_visit *w);
void tra_visit_end(tra_visit *w);
/* A bound of the entries of a view; of a file that tra wrote their number. */
int64_t tra_view_entries(const tra_view *v);

#endif
