/* text_runs.h - sorted runs of texts in a scratch file, merged to a dictionary. Private to text_column.c
 * and text_runs.c. */
#ifndef TRA_TEXT_RUNS_H
#define TRA_TEXT_RUNS_H

#include "../lib/tablefile/table_file.h"
#include "../lib/model/string_set.h"

/* Texts of a column in ascending order, in a scratch file: of each its length (4 bytes), where it came first (8), and
 * its bytes. */
typedef struct tra_text_run {
    int64_t at, bytes, n;
    int64_t order_at; /* of a run that was collected: 4 bytes each: the number that rows have of it; */
    int32_t number;   /* and which one it is; -1: it was merged of others */
    int64_t map_at;   /* 4 bytes each: its number in the run that it was merged to, in the end its code */
    int parent;       /* that run; -1: the dictionary */
} tra_text_run;

typedef struct tra_text_runs {
    int fd;
    const char *where;
    const char *output;   /* beside which another may be */
    _Atomic int64_t *end; /* of the scratch file */
    int64_t rows;         /* of the table */
    tra_text_run *v;
    int n, cap;
    int64_t longest; /* bytes of a text */
} tra_text_runs;

/* Writes the words as a run. seen: where each came first; NULL: that does not matter. */
TRA_MUSTUSE tra_status tra_text_run_write(tra_text_runs *r, const tra_string_set *w, const int64_t *seen,
                                          tra_text_run *out, tra_err *e);
/* Merges all runs, in so much memory, to a dictionary that is sorted by bytes, or (text) in the order in which its
 * strings first came; the maps of all runs have codes then. TRA_INPUT without a message: there are too many strings. */
TRA_MUSTUSE tra_status tra_text_runs_merge(tra_text_runs *r, bool text, int64_t memory, tra_spooled *out, tra_err *e);

#endif
