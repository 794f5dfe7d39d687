/* table_csv_rows.h - the records of a piece as rows of as many cells as there are columns. Private to formats. */
#ifndef TRA_TABLE_CSV_ROWS_H
#define TRA_TABLE_CSV_ROWS_H

#include "table_csv_read.h"
#include "table_csv_types.h"

typedef struct tra_csv_reject {
    const char *begin, *end; /* of the record */
    int64_t column;          /* of the file, or -1 */
    const char *cell;
    int64_t cell_bytes;
    tra_csv_fault fault;
    int64_t cells; /* too few, or too many: so many */
} tra_csv_reject;

typedef struct tra_csv_rejects {
    tra_csv_reject *v;
    int64_t n, cap;
} tra_csv_rejects;

/* Zero-initialise; tra_csv_rows_free at the end. Row r has cells[r * columns] and those behind it. */
typedef struct tra_csv_rows {
    tra_csv_cells cells;
    int64_t n, columns;
    uint32_t (*place)[2]; /* where its record begins in the piece, and ends */
    int64_t cap;
    char *buf; /* for the text of a cell */
    size_t buf_cap;
} tra_csv_rows;
void tra_csv_rows_free(tra_csv_rows *r);

/* What may differ from a record of as many cells as there are columns, and text that is all right. */
typedef struct tra_csv_rules {
    const char *spec;
    bool pad_short, drop_long, latin1;
    int64_t line, columns; /* of the record that says how many cells there are */
    bool keep;             /* records that are at fault are put aside; else the first of them is an error */
} tra_csv_rules;

/* Reads a piece. Records that are at fault are no rows. */
TRA_MUSTUSE tra_status tra_csv_split(const tra_csv_dialect *d, const tra_csv_rules *rules, const tra_csv_piece *p,
                                     int64_t columns, tra_csv_rows *out, tra_csv_rejects *rejects, tra_err *e);
/* The text of a cell, valid until the next call; *quoted. text[*n] is readable. */
const char *tra_csv_cell_text(const tra_csv_dialect *d, const tra_csv_piece *p, tra_csv_rows *r, int64_t row,
                              int64_t column, size_t *n, bool *quoted);
/* Puts a record aside, or says what is wrong with it. name: of the column, or NULL. */
TRA_MUSTUSE tra_status tra_csv_reject_at(const tra_csv_rules *rules, const tra_csv_piece *p, const tra_csv_reject *x,
                                         const char *name, const char *type, tra_csv_rejects *to, tra_err *e);
/* ---- plain text (table_csv_plain.c) ---------------------------------------------------------------------------- */

/* The same of a piece of ASCII without quotes, whose records all have as many cells as there are columns; else false,
 * and what is in *out is of no use. */
bool tra_csv_split_plain(const tra_csv_dialect *d, const tra_csv_piece *p, int64_t columns, tra_csv_rows *out);
/* Takes cells of a column of the file, from a row on, as long as they are numbers of few digits, perhaps with a point;
 * the row of the first that is not. Rows that are bad are left out; bad: NULL for none. The first takes them into
 * account; the second puts them from place *at on. For callers by whom no number is NULL, and a point is what separates
 * fractions. */
int64_t tra_csv_skip_numbers(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad,
                             int64_t row, tra_csv_guess *g);
int64_t tra_csv_take_numbers(const tra_csv_piece *p, const tra_csv_rows *r, int64_t column, const bool *bad,
                             int64_t row, tra_coltype t, tra_vector *to, int64_t *at);

/* ---- encodings -------------------------------------------------------------------------------------------------- */

/* ISO 8859-1 as UTF-8, into a buffer of 2 n bytes; the length. */
size_t tra_latin1(const char *s, size_t n, char *to);
bool tra_is_utf8(const char *s, size_t n);

#endif
