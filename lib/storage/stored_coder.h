/* stored_coder.h - entries in the order of the levels become positions: these are counted, or written to slices. */
#ifndef TRA_STORED_CODER_H
#define TRA_STORED_CODER_H

#include "stored_int.h"

enum { TRA_SLICE_PIECE = 64 << 10 }; /* bytes of a slice that are written at a time */

/* A slice that is being written. */
typedef struct tra_slice {
    tra_writer *w;
    int64_t from, at; /* where it begins in the file, and where the next piece goes */
    size_t each, n;
    char *buf; /* of TRA_SLICE_PIECE bytes */
    XXH64_state_t sum;
} tra_slice;

/* Turns entries into levels: counts positions, and writes slices if there are any. The arrays have an element for each
 * level. */
typedef struct tra_coder {
    const tra_form *form;
    tra_slice *out[TRA_MAXCOMPONENTS];              /* NULL: positions are only counted */
    int64_t before[TRA_MAXDIM];                 /* positions in the tuples before, which pointers include */
    int64_t count[TRA_MAXDIM], pos[TRA_MAXDIM]; /* positions so far; the position of the last entry */
    int64_t last[TRA_MAXDIM];                   /* coordinate of the last entry */
    int64_t ended[TRA_MAXDIM];                  /* positions of the level above whose ranges have been ended */
    bool any;                                   /* there has been an entry */
    int64_t values;                             /* values that were written */
    tra_spread level[TRA_MAXDIM];
    int64_t parent[TRA_MAXDIM], children[TRA_MAXDIM], first[TRA_MAXDIM]; /* for statistics: the open parent, how many
    positions it has so far, coordinate of the first */
    tra_spread rows;
    bool by_rows; /* the last level has the rows, so that their statistics are the same */
    bool finite;
    tra_dtype dtype;
    size_t size;
    tra_status status;
    tra_err *e;
} tra_coder;

/* Begins to write a slice to the disk now rather than at fsync. */
void tra_code_begin_write(const tra_slice *s);

/* Puts n elements that have the bytes of the dataset; one integer; n columns, as the dataset has them. Nothing where
 * positions are only counted; component < 0: there is none. */
void tra_code_all(tra_coder *x, int component, const char *elements, int64_t n);
void tra_code_int(tra_coder *x, int component, int64_t v);
void tra_code_columns(tra_coder *x, int component, const uint32_t *v, int64_t n);
/* Takes an entry: its coordinates by level, in ascending order from entry to entry. */
void tra_code_entry(tra_coder *x, const int64_t *c, const void *value);
/* Entries of a matrix by lines, rows or columns as the outer level has it: line i has the number number[i], or i, and
 * the entries, at least one, from begin[i] to begin[i + 1] (begin[0] is 0), at ascending places `at`. */
typedef struct tra_lines {
    int64_t n;
    const int64_t *number, *begin;
    const uint32_t *at;
    const char *value;
} tra_lines;
bool tra_code_takes_lines(const tra_form *f);
/* Takes lines, each of which is whole and comes after what was taken before. */
void tra_code_lines(tra_coder *x, const tra_lines *v);
void tra_code_end(tra_coder *x);
/* Adds the lines to statistics. */
void tra_code_spread(tra_spread *s, const tra_lines *v);
/* Are all n elements finite? */
bool tra_code_finite(tra_dtype t, const char *v, int64_t n);

#endif
