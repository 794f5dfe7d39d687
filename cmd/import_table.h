/* import_table.h - tra import of a CSV file as a table. */
#ifndef TRA_IMPORT_TABLE_H
#define TRA_IMPORT_TABLE_H

#include "cmd.h"

#include "../formats/formats.h"

/* The options of import for text: those that are taken as they are, in a job; and the text of those that must be
 * understood first, NULL where they were not given. */
typedef struct tra_text_options {
    tra_table_job job;
    const char *delimiter, *quote, *escape, *comment, *skip, *nulls, *decimal, *thousands, *encoding, *rejects_limit;
    const char *block;
    tra_strlist types;
    bool header, no_header;
} tra_text_options;

/* The job that the options ask for; what it has of its own is in the arena. */
TRA_MUSTUSE tra_status tra_table_job_of(const char *source, const char *output, const tra_text_options *o, tra_arena *a,
                                        tra_table_job *job, tra_err *e);
/* Imports the file, if it is a table or the user says that it is (`table`). *done: it was; else it is a matrix, and
 * *titled: with titles or comments, which the reader of tables skips. */
TRA_MUSTUSE tra_status tra_import_as_table(const tra_table_job *job, bool table, bool *done, bool *titled, tra_err *e);

#endif
