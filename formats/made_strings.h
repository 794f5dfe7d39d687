/* made_strings.h - tables with columns of strings that are made of their rows, written to a file.
 *
 * The strings of each column are collected as an import of a large CSV file does it (texts.h), so a dictionary may be
 * larger than the memory. It follows from the rows alone. What is made of one column of strings is made once of each
 * string that the column may have, not of each row.
 */
#ifndef TRA_MADE_STRINGS_H
#define TRA_MADE_STRINGS_H

#include "../lib/table/made.h"

/* Writes the table to a file, by so many threads (rows that become groups by one). TRA_INPUT names the row, or the
 * string of its column, and the column of a string that could not be computed; TRA_RESOURCE. */
TRA_MUSTUSE tra_status tra_made_strings_write(const tra_made_strings *m, const char *to, int64_t memory, int threads,
                                              const char *history, tra_err *e);

#endif
