/* table_csv_spill.h - dictionaries of an import that do not fit the memory. Private to formats.
 *
 * Of a column whose distinct texts do not fit in memory the first pass keeps nothing. Once rows are counted, a second
 * pass over the text collects them (texts.h); the last pass takes the codes of rows from there.
 */
#ifndef TRA_TABLE_CSV_SPILL_H
#define TRA_TABLE_CSV_SPILL_H

#include "../lib/tablefile/table_file.h"
#include "table_csv_import.h"

/* A worker's texts are more than its share: columns that have the most of them will be spilled. */
void tra_csv_spill_largest(tra_csv_import *m, tra_csv_worker *w);
/* Frees the texts that the worker keeps of a column that will be spilled. */
void tra_csv_drop_texts(tra_csv_worker *w, int column);

/* Columns that are to be spilled, once the rows before each piece are known: fills their dictionaries (n alone), and
 * adds them to the digests of workers. */
TRA_MUSTUSE tra_status tra_csv_spill_columns(tra_csv_import *m, tra_column *columns, tra_err *e);
/* Codes of rows from `first` on, of a column that is spilled; state may be NULL. */
TRA_MUSTUSE tra_status tra_csv_spilled_codes(const tra_csv_import *m, int column, int64_t first, int64_t rows,
                                             int32_t *to, uint8_t *state, tra_err *e);
void tra_csv_spill_free(tra_csv_import *m);

#endif
