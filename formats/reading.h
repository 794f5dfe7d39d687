/* reading.h - how files of other programs are read and written: the options of formats, and a file to a relation.
 *
 * An option is one constant, which the rows of its formats name (tra_format.reads, tra_format.writes). Command lines
 * and the statements input and output take them from there, and so do help and completion.
 */
#ifndef TRA_READING_H
#define TRA_READING_H

#include "formats.h"

/* What options said, as text that is not understood yet; NULL, false or empty: not given. */
typedef struct tra_reading {
    const char *block, *dtype, *shape, *endian, *order, *storage, *base, *duplicates;
    const char *delimiter, *quote, *escape, *comment, *skip, *null, *decimal, *thousands, *encoding;
    const char *names, *columns; /* lists with commas: names for all columns; the columns to take, by name or number */
    const char *date_format, *timestamp_format;
    const char *rejects, *rejects_limit; /* the file that gets records that are at fault; NULL: the first is an error */
    bool header, no_header, table, matrix, pad_short, drop_long, strict, lenient, drop_zeros;
    bool vector, empty_nan;        /* of a matrix: its only column becomes a tensor of rank 1; an empty cell is NaN */
    tra_strlist types, components; /* types: lists with commas of "name=type" */
    tra_strlist wanted;            /* no option: of a table only columns whose names end one of these; empty: all; */
    tra_strlist more;              /* nor this: files with the same columns, whose rows follow */
    tra_strlist must;              /* all too where one of these has no such column */
} tra_reading;

/* What a CSV file is: by the rule (a header line makes a table, numbers alone without one a matrix), or as the user
 * says.
 */
typedef enum tra_csv_kind_of_file { TRA_CSV_ANY, TRA_CSV_TABLE, TRA_CSV_MATRIX } tra_csv_kind_of_file;

/* How a CSV file is read: what was given, and what of it is more than a text. */
typedef struct tra_table_job {
    tra_reading given;
    tra_csv_kind_of_file kind;
    const char *table_option, *matrix_option; /* an option that was given and that only tables have, or only matrices */
    char delimiter;                           /* 0: it is detected */
    char decimal, thousands;                  /* 0: a point; no separator of thousands */
    int quote, escape, comment, header; /* -1: it is detected; 0: there is none; else the character, 1 for header */
    int64_t skip;                       /* lines to leave out before anything is read */
    bool latin1;
    int nnulls; /* number of words that mean NULL; -1: the usual words, in columns that are not strings */
    const char *const *nulls;
    int64_t rejects_limit; /* how many rejected records are allowed; -1: any number */
} tra_table_job;

typedef struct tra_writing {
    const char *delimiter, *gzip; /* gzip: a level, or "" */
    bool coordinate;
} tra_writing;

typedef enum tra_option_kind {
    TRA_OPTION_YES,      /* bool */
    TRA_OPTION_TEXT,     /* const char * */
    TRA_OPTION_OPTIONAL, /* const char *, "" when it is given without a value */
    TRA_OPTION_LIST,     /* tra_strlist: may be repeated */
} tra_option_kind;

struct tra_option {
    const char *name; /* as after --; in programs '_' stands for '-' */
    tra_option_kind kind;
    size_t at; /* where in tra_reading or tra_writing its value is */
    const char *arg, *help;
    const char *choices; /* "a|b": nothing else is allowed; NULL: any text */
    const char *only;    /* "tables" or "matrices" where a format has both; NULL: for both */
    const char *also;    /* what it is for besides formats, or NULL */
};

/* Common to all formats, and of some. */
extern const tra_option tra_option_block, tra_option_dtype, tra_option_storage, tra_option_component, tra_option_shape,
    tra_option_endian, tra_option_order, tra_option_base, tra_option_duplicates, tra_option_drop_zeros;
extern const tra_option *const tra_options_csv[]; /* ends with NULL; the common ones included */
extern const tra_option tra_option_to_delimiter, tra_option_coordinate, tra_option_gzip;
#define TRA_READS_COMMON &tra_option_block, &tra_option_dtype, &tra_option_storage, &tra_option_component
#define TRA_OPTIONS(...)                                                                                               \
    (const tra_option *const[]) { __VA_ARGS__, NULL }

/* Of the options of all formats (reading, else writing) the i-th, each once; NULL after the last. */
const tra_option *tra_option_at(bool reading, int i);
/* The formats that have it, as "mtx, tns"; "" where all have it. At most 127 bytes; returns to. */
const char *tra_option_formats(const tra_option *o, bool reading, char to[128]);
bool tra_option_given(const tra_option *o, const void *values);
/* Is the option of the format? Its name may be "components" and other things that options are for. */
bool tra_option_is_for(const tra_option *o, bool reading, const char *format);
/* Warns of options that were given though they do nothing for the format of this file. */
void tra_options_warn(const void *values, bool reading, const char *format, const char *file);
/* Sets an option by its text, which is "yes" or "no" for TRA_OPTION_YES. TRA_USAGE: the message names it as `as`. */
TRA_MUSTUSE tra_status tra_option_set(const tra_option *o, void *values, const char *as, const char *text, tra_err *e);
/* Copies one option's value, as far as it was given. */
void tra_option_copy(const tra_option *o, const tra_reading *from, tra_reading *to);
/* Appends all that was given, as " name=value". */
void tra_reading_text(const tra_reading *r, tra_str *out);

/* ---- a file to a relation --------------------------------------------------------------------------------------- */

typedef struct tra_file_job {
    const char *from, *to; /* as in tra_import_job */
    const tra_format *format;
    const tra_reading *reading;
    tra_progress_form progress;
    int64_t memory; /* ceiling of the process; 0: TRA_IMPORT_MEMORY */
    tra_codec codec;
    const char *history; /* or NULL */
    bool alone;          /* no other program reads a table that is written */
} tra_file_job;

typedef struct tra_file_receipt {
    bool table;
    tra_table_receipt rows;    /* of a table, */
    tra_import_receipt values; /* of a tensor */
} tra_file_receipt;

/* Imports a table or a tensor, as file and options tell which it is. Arrays of the receipt are in the arena. */
TRA_MUSTUSE tra_status tra_import_file(const tra_file_job *job, tra_arena *a, tra_file_receipt *r, tra_err *e);
/* Warns of what was lost or left out. */
void tra_import_warn(const char *source, const tra_file_receipt *r, const tra_reading *how);
/* What the options say of sources and of CSV; private to formats. */
TRA_MUSTUSE tra_status tra_source_options_of(const tra_file_job *job, tra_source_options *to, tra_err *e);
TRA_MUSTUSE tra_status tra_table_job_of(const tra_file_job *job, tra_arena *a, tra_table_job *to, tra_err *e);

/* The options of writing, understood. */
TRA_MUSTUSE tra_status tra_sink_options_of(const tra_writing *w, tra_sink_options *to, tra_err *e);

#endif
