/* csv_int.h - tables of numbers as text: how far the reader of csv.c is, and the cells that it takes (csv_cells.c). */
#ifndef TRA_FORMATS_CSV_INT_H
#define TRA_FORMATS_CSV_INT_H

#include "formats.h"

enum { TRA_CSV_LONGEST_CELL = 4096, TRA_CSV_BLANKS = ' ' };

typedef struct tra_csv_text_file {
    char delimiter; /* TRA_CSV_BLANKS: runs of blanks and tabs */
    int64_t line;   /* of the cell read last, from 1 */
    int64_t col;    /* cells of the present row that were read */
    int64_t cols;
    int64_t rows;      /* completed */
    int64_t expected;  /* rows of the file, or -1 */
    tra_number *first; /* the first row, when it is data: from malloc */
    int64_t taken;     /* of it */
    tra_str names;     /* cells of the first row, each ended by a byte 0, as long as they may be a header's */
    bool newline;      /* the last cell ended its line */
    int64_t first_line;
} tra_csv_text_file;

typedef struct tra_csv_number_cell {
    const char *s;
    size_t n;
    bool quoted;
    enum { TRA_CSV_ENDS_DELIMITER, TRA_CSV_ENDS_LINE, TRA_CSV_ENDS_FILE } end;
} tra_csv_number_cell;

bool tra_csv_is_blank(const tra_csv_text_file *c, char x);
/* The next cell, without blanks around it. Its text is valid until the next call. */
TRA_MUSTUSE tra_status tra_csv_next_cell(tra_source *s, tra_csv_text_file *c, tra_csv_number_cell *out, tra_err *e);
/* The number in it; false: it has none. */
bool tra_csv_cell_value(tra_source *s, const tra_csv_number_cell *x, tra_number *v);
/* TRA_INPUT: says where the cell is, why it has no number, and how it could be read. */
tra_status tra_csv_bad_cell(const tra_source *s, const tra_csv_text_file *c, const tra_csv_number_cell *x, tra_err *e);
/* A single column of which empty cells are numbers has a row in each line, blank ones too. */
bool tra_csv_blank_is_row(const tra_source *s, const tra_csv_text_file *c);
/* At the beginning of a line: *yes when only blank lines are left, which are then taken. */
TRA_MUSTUSE tra_status tra_csv_at_end(tra_source *s, tra_csv_text_file *c, bool *yes, tra_err *e);

#endif
