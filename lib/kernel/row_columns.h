/* row_columns.h - which columns a kernel on rows reads, and what it is over fewer of them (rule Q-6).
 *
 * Columns of operands are numbered together: those of the left one, then those of the right one.
 */
#ifndef TRA_ROW_COLUMNS_H
#define TRA_ROW_COLUMNS_H

#include "../model/columns.h"

typedef struct tra_rows_reads {
    int left;   /* columns of the left operand */
    bool *read; /* the kernel reads this column, whoever reads its result; all are false before */
    int *from;  /* of each column of the result the one that it repeats; -1, as before: the kernel makes it */
    bool both;  /* and the one of that number of the right operand, too */
} tra_rows_reads;
/* It reads n columns of an operand, whose columns begin at `first`; column NULL: its first n. */
void tra_rows_read(tra_rows_reads *r, int first, int n, const int *column);
/* Its first n columns are those from `first` on. */
void tra_rows_repeat(tra_rows_reads *r, int first, int n);

/* Fewer columns: all that are read are there. The result has those that the kernel makes, and those that it repeats
 * where these are there. */
typedef struct tra_rows_fewer {
    int left;                      /* columns that the left operand had */
    const tra_schema *in[2], *out; /* what the operands (NULL: no table) and the result have */
    const int *place;              /* of each former column its number in its operand; -1: it is gone */
} tra_rows_fewer;
/* What n columns of an operand, whose columns began at `first`, are now. */
const int *tra_rows_places(tra_arena *a, const tra_rows_fewer *f, int first, int n, const int *column);

#endif
