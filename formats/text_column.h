/* text_column.h - a column of strings that workers find row by row, whose dictionary may be larger than the memory.
 *
 * It is an external sort: when a worker's share of the memory is full, its strings go to a scratch file as a sorted
 * run, and with them, for each row, the number of its string in the run. Runs are merged to the dictionary, which stays
 * in the scratch file, and each run learns what its strings became; so the numbers of rows become codes. Private to
 * formats.
 */
#ifndef TRA_TEXT_COLUMN_H
#define TRA_TEXT_COLUMN_H

#include "../lib/tablefile/table_file.h"
#include "../lib/model/string_set.h"

typedef struct tra_text_column tra_text_column;
typedef struct tra_text_column_options {
    int fd; /* the scratch file, which others may use too */
    const char *where;
    const char *output;   /* beside which another may be */
    _Atomic int64_t *end; /* of the scratch file */
    int64_t rows;         /* of the table */
    int workers;
    int64_t memory; /* bytes that the strings of a worker take at most, beside one that is longer */
} tra_text_column_options;

tra_text_column *tra_text_column_new(const tra_text_column_options *o);
void tra_text_column_free(tra_text_column *t); /* NULL allowed */
/* Takes the string of a row; *number: what stands for it until it has a code. Any worker takes any row. */
TRA_MUSTUSE tra_status tra_text_column_add(tra_text_column *t, int worker, int64_t row, const char *s, int64_t n,
                                           uint64_t hash, int32_t *number, tra_err *e);
/* What the worker has of strings, to look ahead (tra_string_set_expect). */
const tra_string_set *tra_text_column_words(const tra_text_column *t, int worker);
/* Rows first .. first + n - 1 have these numbers; those less than 0 stay as they are. The strings of these rows are the
 * last ones that this worker was given, in their order. */
TRA_MUSTUSE tra_status tra_text_column_put(tra_text_column *t, int worker, int64_t first, int64_t n,
                                           const int32_t *numbers, tra_err *e);
/* All rows have come: makes the dictionary in so much memory, sorted by bytes, or (text) in the order in which its
 * strings first came; and numbers become codes. TRA_INPUT without a message: there are too many strings. */
TRA_MUSTUSE tra_status tra_text_column_end(tra_text_column *t, bool text, int64_t memory, tra_spooled *out, tra_err *e);
/* The codes of rows from `first` on, or what is less than 0. */
TRA_MUSTUSE tra_status tra_text_column_codes(const tra_text_column *t, int64_t first, int64_t n, int32_t *to,
                                             tra_err *e);

#endif
