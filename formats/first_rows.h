/* first_rows.h - the rows of a table that come first in an order by computed keys, written to a file.
 *
 * Each worker has a heap of the first rows that it has met. Keys are computed row by row, the second of them only
 * where the first does not decide: so strings that are keys are not kept, put in order or counted.
 */
#ifndef TRA_FIRST_ROWS_H
#define TRA_FIRST_ROWS_H

#include "../lib/table/made.h"

/* Writes these rows to a file, in the order of the table, by so many threads. TRA_NO, and no file: a key could not be
 * computed, or keys or strings of so many rows do not fit in the memory. TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_first_rows_write(const tra_first_rows *m, const char *to, int64_t memory, int threads,
                                            const char *history, tra_err *e);

#endif
