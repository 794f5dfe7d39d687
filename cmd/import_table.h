/* import_table.h - tra import of a CSV file as a table. */
#ifndef TRA_IMPORT_TABLE_H
#define TRA_IMPORT_TABLE_H

#include "cmd.h"

/* The options of import for text, as they were given; NULL: not at all. */
typedef struct tra_text_options {
    const char *delimiter, *quote, *escape, *comment, *skip, *nulls, *names, *columns, *date_format, *timestamp_format;
    const char *decimal, *thousands, *encoding, *rejects, *rejects_limit, *block;
    tra_strlist types;
    bool header, no_header, strict, lenient, pad_short, drop_long;
    bool vector;
    int64_t memory;
} tra_text_options;

/* The job that the options ask for; what it has of its own is in the arena. */
struct tra_table_job;
TRA_MUSTUSE tra_status tra_table_job_of(const char *source, const char *output, const tra_text_options *o, tra_arena *a,
                                        struct tra_table_job *job, tra_err *e);
/* Imports the file, if it is a table or the user says that it is (`table`). *done: it was; else it is a matrix, and
 * *titled: with titles or comments, which the reader of tables skips. */
TRA_MUSTUSE tra_status tra_import_as_table(const struct tra_table_job *job, bool table, bool *done, bool *titled,
                                           tra_err *e);

#endif
