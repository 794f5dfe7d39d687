/* stored_reading.h - a tuple that is being read from its levels: what stored_read.c and stored_rows.c share. */
#ifndef TRA_STORED_READING_H
#define TRA_STORED_READING_H

#include "stored_int.h"

enum { PIECE = TRA_DATASET_CHUNK }; /* elements of a slice that are read at a time */

/* A slice that is being read. */
typedef struct feed {
    const tra_dataset_reader *from;
    int64_t at, left;   /* the next element in the file, and how many are left */
    int64_t have, used; /* elements in raw, and how many of them are used */
    char *raw;          /* PIECE elements as they are in memory */
    int64_t *ints;      /* the same as int64_t; NULL for values */
    char *values;       /* where values are read to instead, straight into the cell: the next; NULL: nowhere, */
    uint32_t *columns;  /* and columns, in place of ints */
    XXH64_state_t sum;
} feed;

typedef struct reading {
    tra_rel *r;
    const struct tra_stored *stored;
    const tra_form *form;
    int64_t ordinal;
    bool check; /* checksums of slices */
    tra_dims ext;
    feed feed[TRA_MAXCOMPONENTS];
    int component;              /* the dataset that was read last, for messages */
    int64_t origin;             /* unordered: first coordinate of the block in the outer dimension */
    int64_t stride[TRA_MAXDIM]; /* of each level's coordinate in the number of the row; 0: it is the column */
    int64_t next[TRA_MAXDIM], end[TRA_MAXDIM]; /* next and last position of each level, in the file */
    int64_t limit[TRA_MAXDIM];                 /* extent of each level in this array */
    int last;                                  /* the level of the last dimension */
    tra_rows_maker rows;                       /* where entries go that come in order, */
    bool in_place; /* and are read straight to: those of a range at the last level are those of a row */
    int64_t room_rows, room;
    tra_sort_item *items; /* where they go to be sorted, */
    char *values;         /* with their values */
    char *array;          /* where they go if the array is dense */
    char *packed;         /* room for what was packed (mapped.h) */
    int64_t *counts,
        size; /* not NULL: entries are only counted, for each granule of `size` coordinates of the outer dimension */
    int64_t n;
    const char *why; /* what is damaged; NULL: nothing yet */
    tra_err cause;
} reading;

/* ---- slices (stored_rows.c) ------------------------------------------------------------------------------------- */

/* Reads the next piece of a slice. */
TRA_MUSTUSE tra_status tra_reading_more(reading *x, int component);

static inline tra_status next_int(reading *x, int component, int64_t *v) {
    feed *f = &x->feed[component];
    if (f->used == f->have) TRA_TRY(tra_reading_more(x, component));
    *v = f->ints[f->used++];
    return TRA_OK;
}

static inline tra_status damaged(reading *x, int component, const char *why) {
    x->component = component;
    x->why = why;
    return TRA_INPUT;
}

/* ---- entries that are read straight into the cell (stored_rows.c) ------------------------------------------------ */

/* Sets x->in_place where that can be: entries lie in the file as in a cell of rows, which has been laid out. */
void tra_reading_in_place(reading *x);
/* Takes a row whose entries end at position `end` of the last level; the rows below one position of level l, which is
 * dense and the last but one. Nothing of their entries is read. */
TRA_MUSTUSE tra_status tra_reading_row(reading *x, int64_t row, int64_t end);
TRA_MUSTUSE tra_status tra_reading_dense_rows(reading *x, int l, int64_t row);
/* Takes the rows of pairs of indices up to that position. */
TRA_MUSTUSE tra_status tra_reading_pairs(reading *x, int64_t end);
/* Reads the entries of all rows that were taken. */
TRA_MUSTUSE tra_status tra_reading_entries(reading *x);

#endif
