/* table_csv_types.h - which types the cells of a CSV column have, and their values. Private to formats. */
#ifndef TRA_TABLE_CSV_TYPES_H
#define TRA_TABLE_CSV_TYPES_H

#include "../lib/model/columns.h"
#include "table_csv.h"

typedef enum tra_csv_kind {
    TRA_CSV_NOTHING, /* empty, or a word for what is missing */
    TRA_CSV_NUMBER,
    TRA_CSV_BOOL,
    TRA_CSV_DAY, /* with a time, perhaps */
    TRA_CSV_OTHER,
} tra_csv_kind;
/* Is what is no number rather a slip in one, or a mark for one that is missing, than a name? (csv.c) */
bool tra_csv_is_like_data(const char *s, size_t n);

/* How cells are read, for all columns. */
typedef struct tra_csv_reading {
    char decimal, thousands; /* '.'; 0: none */
    bool latin1;
    int nnulls; /* words that are NULL in every column; -1: those that are usual, in columns that are no strings */
    const char *const *nulls;
    const char *date_format, *timestamp_format; /* or NULL */
} tra_csv_reading;

/* What a text looks like; r: NULL for what is usual. */
tra_csv_kind tra_csv_kind_of(const tra_csv_reading *r, const char *s, size_t n);

/* What is known of a column. Filled over all of its cells; such of several pieces are put together in any order. */
typedef struct tra_csv_guess {
    uint8_t kinds;       /* set of 1 << kind, of cells that are neither empty nor words */
    bool fraction, wide; /* numbers: not all of them whole; not all in i32 */
    bool huge;           /* whole numbers: some that i64 does not hold */
    bool zero, uneven;   /* numbers: some that begin with 0 and another digit; not all of `width` digits alone */
    uint8_t width;
    bool time, formatted, usual; /* dates: with a time; by a given format; by those that are usual */
    unsigned orders;             /* of dates: those that fit all */
    char separator;              /* of dates: what stands behind the first number of one */
    int64_t values, empty, words;
    int64_t by_format;               /* numbers that are dates by a given format, too */
    int64_t rounded[2], overflow[2]; /* in f64, and in f32: whole numbers, and finite ones that become infinite */
} tra_csv_guess;
tra_csv_guess tra_csv_no_guess(void);
void tra_csv_guess_add(tra_csv_guess *to, const tra_csv_guess *g);

/* The column as it is read. */
typedef struct tra_csv_column {
    const char *name;
    int64_t source; /* which cell of a record */
    bool given;     /* its type is the user's */
    tra_coltype type;
    unsigned order; /* of dates; 0: by the format */
    const char *format;
    bool nullable;
} tra_csv_column;

/* What programs write where there is no value, as "NA", "-", "#DIV/0!" in any case. In a table it is never taken as
 * such beside other texts; in a matrix it is no number, and a row that has it is no header. */
bool tra_csv_is_usual_null(const char *s, size_t n);
/* Is it NULL? words: also what is usual for it. Takes blanks off. */
bool tra_csv_is_null(const tra_csv_reading *r, const char *s, size_t n, bool quoted, bool words);
/* Takes a cell into account. */
void tra_csv_guess_cell(const tra_csv_reading *r, tra_csv_guess *g, const char *s, size_t n, bool quoted);
/* Which type they all have. TRA_INPUT when dates are ambiguous; `spec` and the name for its message. */
TRA_MUSTUSE tra_status tra_csv_decide_type(const tra_csv_reading *r, const tra_csv_guess *g, const char *spec,
                                           tra_csv_column *c, tra_err *e);
/* The value of a cell that is not NULL, of a type that is not coded, to element i. False: it has none. */
bool tra_csv_value(const tra_csv_reading *r, const tra_csv_column *c, const char *s, size_t n, void *values, int64_t i);

#endif
