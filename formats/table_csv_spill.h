/* table_csv_spill.h - dictionaries of an import that do not fit the memory. Private to formats.
 *
 * Of a column whose distinct texts do not fit in memory the first pass keeps nothing. Once rows are counted, a second
 * pass over the text collects them by an external sort: when a worker's share of the memory is full, its texts go to a
 * scratch file as a sorted run, and with them, for each row, the number of its text in the run. Runs are merged to the
 * dictionary, which stays in the scratch file, and each run learns what its texts became; so the numbers of rows become
 * codes, which the last pass takes from there.
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
/* Of each column, for the writer; NULL: no column is spilled. */
const tra_spooled *tra_csv_spooled(const tra_csv_import *m);
/* Codes of rows from `first` on, of a column that is spilled; state may be NULL. */
TRA_MUSTUSE tra_status tra_csv_spilled_codes(const tra_csv_import *m, int column, int64_t first, int64_t rows,
                                             int32_t *to, uint8_t *state, tra_err *e);
void tra_csv_spill_free(tra_csv_import *m);

/* ---- runs (table_csv_runs.c) ------------------------------------------------------------------------------------ */

/* Texts of a column in ascending order, in a scratch file: of each its length (4 bytes), where it came first (8), and
 * its bytes. */
typedef struct tra_csv_text_run {
    int64_t at, bytes, n;
    int64_t order_at; /* of a run that was collected: 4 bytes each: the number that rows have of it; */
    int32_t number;   /* and which one it is; -1: it was merged of others */
    int64_t first, last;
    int64_t map_at; /* 4 bytes each: its number in the run that it was merged to, in the end its code */
    int parent;     /* that run; -1: the dictionary */
} tra_csv_text_run;

typedef struct tra_csv_text_runs {
    int fd;
    const char *where;
    const char *output;   /* beside which another may be */
    _Atomic int64_t *end; /* of the scratch file */
    int64_t rows;         /* of the table */
    tra_csv_text_run *v;
    int n, cap;
    int64_t longest; /* bytes of a text */
} tra_csv_text_runs;

/* Writes the words as a run; number: of it. seen: where each came first. */
TRA_MUSTUSE tra_status tra_csv_write_text_run(tra_csv_text_runs *r, const tra_string_set *w, const int64_t *seen,
                                              tra_csv_text_run *out, tra_err *e);
/* Merges all runs, in so much memory, to a dictionary that is sorted by bytes, or (text) in the order in which its
 * strings first came; the maps of all runs have codes then. TRA_INPUT without a message: there are too many strings. */
TRA_MUSTUSE tra_status tra_csv_merge_text_runs(tra_csv_text_runs *r, bool text, int64_t memory, tra_spooled *out,
                                               tra_err *e);

#endif
