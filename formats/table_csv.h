/* table_csv.h - tables as text: what a CSV file means, and reading it by all threads into columns. Private to formats.
 *
 * A file is passed over twice. The first pass finds the type of each column, the number of rows, and all that is wrong;
 * the second makes values of cells. Both go by stretches of text, each cut into pieces that begin and end with a
 * record, also where quoted cells have line ends in them: whoever works on a piece cannot know whether it begins inside
 * quotes, so it finds out how it would end for both, and one pass over the pieces decides.
 */
#ifndef TRA_TABLE_CSV_H
#define TRA_TABLE_CSV_H

#include "io.h"

/* ---- dialects -------------------------------------------------------------------------------------------------- */

typedef enum tra_csv_strictness {
    TRA_CSV_STRICTNESS_USUAL,   /* a quote inside an unquoted cell is text; text after a closing quote is an error */
    TRA_CSV_STRICTNESS_STRICT,  /* both are errors */
    TRA_CSV_STRICTNESS_LENIENT, /* text after a closing quote belongs to the cell */
} tra_csv_strictness;

typedef struct tra_csv_dialect {
    char delimiter;
    char quote;        /* 0: none */
    char escape;       /* before a quote in quotes; 0: quotes in quotes are doubled */
    char comment;      /* lines that begin with it are left out; 0: none */
    bool blanks;       /* blanks may stand before cells, and behind quoted ones */
    bool runs;         /* any number of blanks and tabs is one delimiter, and none at the ends of a line */
    bool returns;      /* a carriage return alone ends a line */
    bool blank_is_row; /* a table of one column: a blank line is a row */
    tra_csv_strictness strictness;
} tra_csv_dialect;

/* What the user says of it; what is not said (0, and -1 of the numbers) is found out. */
typedef struct tra_csv_hints {
    char delimiter;
    int quote, escape, comment;            /* a character; 0: none */
    int header;                            /* 1: there is one */
    int64_t skip;                          /* lines before the header or the first row */
    const struct tra_csv_reading *reading; /* how numbers and dates are written; NULL: as is usual */
    int strictness;
} tra_csv_hints;

/* What the first bytes of a file say. begin: bytes before the first record, the header's: a byte order mark, lines that
 * are skipped, comments, titles. lines: line ends among these. */
typedef struct tra_csv_form {
    tra_csv_dialect dialect;
    int64_t begin, lines;
    int64_t titles;  /* of these lines, those that are titles above a table */
    int64_t columns; /* of most records */
    bool header;
    bool comments; /* # begins comments also below the first record, though nobody said so */
} tra_csv_form;

/* whole: text[0..n) is all of the file. */
void tra_csv_sniff(const char *text, int64_t n, bool whole, const tra_csv_hints *h, tra_csv_form *out);

/* ---- cells ----------------------------------------------------------------------------------------------------- */

typedef struct tra_csv_cell {
    uint32_t at; /* of its text, without quotes around it */
    uint32_t n : 30;
    uint32_t quoted : 1;
    uint32_t marked : 1; /* there are escapes in it, or text behind its closing quote: tra_csv_text */
} tra_csv_cell;

typedef enum tra_csv_fault {
    TRA_CSV_FINE,
    TRA_CSV_UNCLOSED, /* a quote that the text does not close */
    TRA_CSV_BEHIND,   /* text after a closing quote */
    TRA_CSV_STRAY,    /* a quote inside an unquoted cell */
    TRA_CSV_MISSING,  /* too few cells */
    TRA_CSV_TOO_MANY,
    TRA_CSV_CAST, /* a cell that is no value of its column's type */
    TRA_CSV_ENCODING,
    TRA_CSV_ZERO, /* a zero byte */
    TRA_CSV_LONG, /* a record that is longer than a stretch */
} tra_csv_fault;
/* The word for it in a file of rejects (DuckDB's), and what it means. */
const char *tra_csv_fault_name(tra_csv_fault f);
const char *tra_csv_fault_text(tra_csv_fault f);

typedef struct tra_csv_cells {
    tra_csv_cell *v;
    int64_t n, cap;
    int64_t bad; /* the cell that is at fault */
} tra_csv_cells;

/* Takes one record from *p, a place in text[0..n), and appends its cells; *p goes behind its end. False: there was
 * none, only blank lines and comments. Without room for all cells the array grows. */
bool tra_csv_record(const tra_csv_dialect *d, const char *text, const char **p, const char *end, tra_csv_cells *to,
                    tra_csv_fault *fault);
/* The text of a cell that is marked, into buf, which has room for x->n bytes; its length. */
size_t tra_csv_text(const tra_csv_dialect *d, const char *text, const tra_csv_cell *x, char *buf);

/* How text ends that begins at the beginning of a line, outside of quotes (inside: in them), and where in it the first
 * record ends and the last; NULL: none does. */
typedef struct tra_csv_quotes {
    bool inside;
    const char *first, *last; /* behind the line's end */
} tra_csv_quotes;
tra_csv_quotes tra_csv_scan_quotes(const tra_csv_dialect *d, const char *p, const char *end, bool inside);

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Orders in which dates are written, as bits. */
enum {
    TRA_DATE_YMD = 1,
    TRA_DATE_DMY = 2,
    TRA_DATE_MDY = 4,
    TRA_DATE_SHORT_YMD = 8,
    TRA_DATE_SHORT_DMY = 16,
    TRA_DATE_SHORT_MDY = 32,
    TRA_DATE_ANY = 63
};
/* Which of the orders the text fits, 0: it is no date. *time: a time of the day follows. */
unsigned tra_date_orders(const char *s, size_t n, bool *time);
/* Microseconds since 1970, UTC, of a text that fits that one order. */
bool tra_date_scan(const char *s, size_t n, unsigned order, int64_t *micros);
/* By a format as of strptime: %Y %y %m %d %e %j %b %B %H %I %M %S %f %p %z %T %D %F %% ; other characters stand for
 * themselves, a blank for any number of blanks. */
bool tra_date_by(const char *format, const char *s, size_t n, int64_t *micros);

#endif
