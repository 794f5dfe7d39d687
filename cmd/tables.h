/* tables.h - what commands do with relations that are tables. */
#ifndef TRA_TABLES_H
#define TRA_TABLES_H

#include "cmd.h"

#include "../lib/tablefile/table_file.h"

/* Reads column `only` (-1: all columns), each in strips of rows, on several threads. b has the values of column c
 * alone; NULL: they cannot be read, and e says why: fn returns TRA_OK to go on or the status to stop. */
typedef tra_status tra_column_fn(void *ctx, int worker, int c, int64_t first, const tra_batch *b, tra_err *e);
TRA_MUSTUSE tra_status tra_scan_columns(tra_rel *rel, const char *what, int only, int64_t memory, tra_column_fn *fn,
                                        void *ctx, tra_err *e);
TRA_MUSTUSE tra_status tra_digest_table(tra_rel *rel, const char *spec, int64_t memory, char text[33], tra_err *e);
/* What `tra info` says of it; and, as JSON, of the file of any relation. */
void tra_info_file(const tra_relinfo *i, tra_json *out);
TRA_MUSTUSE tra_status tra_info_table(tra_rel *rel, const char *spec, tra_json *out, tra_err *e);
/* `tra diff`: *same, and in out what differs. */
typedef struct tra_table_tolerance {
    double rtol, atol;
} tra_table_tolerance;
TRA_MUSTUSE tra_status tra_diff_tables(tra_rel *a, tra_rel *b, const char *const names[2], int64_t memory,
                                       const tra_table_tolerance *t, bool *same, tra_err *e);

#endif
