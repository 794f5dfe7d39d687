/* formats.h - files of other programs: reading a tensor from one into a relation, writing one from a relation.
 *
 * A format is one file with one constant row (tra_format) in the table of formats.c. A reader only says what the tensor
 * is and delivers its elements in the way that its file allows; import.c chooses blocks and boxes, bounds the memory
 * and spills. A writer only turns a row of elements into bytes; export.c brings them in its order. Nothing outside a
 * format's own file asks which format it is.
 */
#ifndef TRA_FORMATS_H
#define TRA_FORMATS_H

#include "../lib/base/meter.h"
#include "../lib/relation/columns.h"
#include "../lib/relation/relation.h"
#include "../lib/relation/stored.h"
#include "io.h"
#include "sorter.h"

typedef struct tra_format tra_format;

/* ---- sources ------------------------------------------------------------------------------------------------- */

/* Storage coordinates: the tensor's dimensions as they lie in the file, slowest first: the tensor's own order, or the
 * reverse of it when the file keeps the first dimension fastest (Fortran order). */

typedef enum tra_access {
    TRA_ACCESS_BOX,     /* any box in any order: box() */
    TRA_ACCESS_STREAM,  /* every element once, in storage order: next() */
    TRA_ACCESS_ENTRIES, /* coordinates and values in any order, every other element zero: entries() */
} tra_access;

struct tra_table_job;
typedef struct tra_source_options {
    const struct tra_table_job *text; /* csv: how it is read, by the options of tables; NULL: as numbers alone */
    bool has_dtype, has_elem, has_shape;
    tra_dtype dtype;     /* what to store */
    tra_elem elem;       /* raw: what the file holds */
    tra_dims shape;      /* raw; coordinate files that do not tell it */
    int base;            /* coordinate files: the first index, -1: that of the format */
    const char *scratch; /* beside which scratch files may be: the output */
    bool big_endian;     /* raw */
    bool fortran;        /* raw: first dimension fastest */
    char delimiter;      /* csv; 0: detected */
    int header;          /* csv: 1 the first row is one, 0 it is data, -1 detected */
    bool empty_nan;      /* csv: an empty cell is NaN */
    int64_t memory;      /* for the buffers of the whole import: a reader's take a small part of it */
} tra_source_options;

typedef struct tra_source {
    const tra_format *format;
    const char *spec; /* as given, for messages */
    tra_source_options o;
    tra_stream in; /* not for formats that open the file themselves */
    tra_arena *arena;
    void *state; /* the reader's, from the arena */
    /* The reader's open sets these. */
    tra_dims shape; /* of the tensor; v[0] = -1: known when the stream has ended */
    bool fortran;
    tra_dtype dtype; /* of the elements that box, next and entries deliver */
    tra_access access;
    tra_dims grain; /* box: boxes aligned to it (storage coordinates) read no byte twice; 1 where it does not matter */
    size_t box_scratch;    /* box: bytes that it works in besides the caller's buffer */
    void *box_room;        /* of so many bytes: the caller gives it, and may use it between calls */
    size_t held;           /* bytes that it keeps, however little memory there is */
    const char *type_text; /* the file's element type, for the receipt; NULL: none of its own */
    /* What the positions along each dimension stand for (TRA_MAXDIM entries, some NULL), or NULL. */
    const struct tra_dim_labels *const *labels;
    /* The reader counts. */
    int64_t inexact;           /* integers that were rounded to a float */
    int64_t overflow;          /* finite values that became infinite in f32 */
    int64_t entries, mirrored; /* coordinate files: those read, those added by symmetry; -1: not of this kind */
    int header_lines;          /* csv: lines before the data; -1: not of this kind */
    /* entries: */
    int64_t announced; /* so many come at most, mirrored ones too; -1: not known */
    int64_t at_once;   /* room that a call of entries has to have at least */
    int64_t base;      /* the first index, for messages */
    void *lines;       /* of text: the reader's (lines.h) */
} tra_source;

/* ---- sinks --------------------------------------------------------------------------------------------------- */

typedef struct tra_sink_options {
    char delimiter;  /* csv; 0: by the suffix, else a comma */
    bool coordinate; /* mtx: the elements that are not zero */
    int gzip;        /* h5: deflate level, 0 for none */
} tra_sink_options;

typedef struct tra_sink {
    const tra_format *format;
    tra_sink_options o;
    tra_newfile out;
    tra_dims shape;
    tra_dtype dtype;
    tra_arena *arena;
    void *state;
    const char *to;
    bool entries;  /* prepare sets it: not the elements are wanted but the entries: entry() */
    bool fortran;  /* prepare sets it: elements are wanted first dimension fastest */
    int64_t count; /* entries: how many will come, from begin on */
} tra_sink;

/* ---- formats ------------------------------------------------------------------------------------------------- */

struct tra_format {
    const char *name;
    const char *suffixes; /* ".csv .tsv" */
    bool binary;          /* not for a terminal */
    bool opens_itself;    /* open() is given no input */
    bool typeless;        /* files do not tell their element type: the option elem does */
    /* Do these first bytes of a file look like it? NULL: it cannot be told. */
    bool (*sniff)(const unsigned char *head, size_t n);
    /* Reads what stands before the data. */
    tra_status (*open)(tra_source *s, tra_err *e);
    /* By access. box: the box at start of extent count (storage coordinates) to buf, its last dimension fastest. next:
     * up to want elements; *got = 0 only after the last one, when shape is known and the file is found to end properly.
     * entries: entries with their places, as many as there is room for; *got = 0 after the last. */
    tra_status (*box)(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e);
    tra_status (*next)(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e);
    tra_status (*entries)(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e);
    void (*close)(tra_source *s); /* NULL: nothing beyond arena, input and lines */
    /* prepare, before the output is opened: refuses what the format cannot hold; begin, at the start of each pass; put,
     * n elements in the order asked for. The first two may be NULL. */
    tra_status (*prepare)(tra_sink *k, const char *to, tra_err *e);
    tra_status (*begin)(tra_sink *k, tra_err *e);
    tra_status (*put)(tra_sink *k, const void *data, int64_t n, tra_err *e);
    /* entries: one, all in row-major order; end, after the last. */
    tra_status (*entry)(tra_sink *k, const tra_dims *at, const void *value, tra_err *e);
    tra_status (*end)(tra_sink *k, tra_err *e);
    void (*discard)(tra_sink *k); /* NULL: nothing beyond the arena */
    /* Instead of these three: writes the relation as it is, tuple layout included. */
    tra_status (*rewrite)(tra_rel *rel, const char *to, const tra_sink_options *o, int64_t memory, int64_t *bytes,
                          tra_err *e);
};

extern const tra_format *const tra_formats[];             /* ends with NULL */
const tra_format *tra_format_find(const char *name);      /* NULL: none of this name */
const tra_format *tra_format_by_suffix(const char *path); /* NULL: none */
const tra_format *tra_format_sniff(const unsigned char *head, size_t n);
const char *tra_format_choices(void); /* "npy|csv|..." in the order of the table */

/* Opens spec: a path, "-" for standard input, "file.h5:name" for formats that hold several. from NULL: by suffix, else
 * by content. Errors: TRA_INPUT (missing, damaged, of an unknown format or a type that has no numbers), TRA_USAGE (what
 * raw needs is not given). */
TRA_MUSTUSE tra_status tra_source_open(const char *spec, const tra_format *from, const tra_source_options *o,
                                       tra_source **out, tra_err *e);
void tra_source_close(tra_source *s); /* NULL allowed */

/* "," or "tab", "\t", "space", any one character that cannot be part of a number; NULL leaves *to alone. TRA_USAGE
 * else. */
TRA_MUSTUSE tra_status tra_csv_delimiter(const char *text, char *to, tra_err *e);

/* box and next of formats whose state is a tra_flat, and put of those whose elements stand as they are in memory. */
tra_status tra_flat_source_box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e);
tra_status tra_flat_source_next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e);
tra_status tra_flat_put(tra_sink *k, const void *data, int64_t n, tra_err *e);

/* ---- whole jobs ---------------------------------------------------------------------------------------------- */

enum { TRA_IMPORT_MEMORY = 256 << 20 }; /* default ceiling of import and export */

typedef struct tra_import_job {
    const char *from, *to; /* sources and "out.h5[:name]"; from NULL: all is in components */
    tra_progress_form progress;
    const tra_format *format;  /* NULL: found out */
    tra_source_options source; /* its memory: ceiling of the process, 0 for the default */
    const tra_dims *block;     /* NULL: chosen from the shape */
    const char *storage;       /* NULL or "auto": chosen by the density of coordinate files */
    int ncomponents;           /* of a storage that is no levels: "NAME=FILE.npy" or, of scalars, "NAME=NUMBER" */
    const char *const *components;
    bool no_duplicate; /* coordinate files: an element that is given twice is an error */
    bool drop_zeros;   /* coordinate files: entries of value 0 are left out */
    tra_codec codec;
    const char *history; /* or NULL */
} tra_import_job;

typedef struct tra_import_receipt {
    const char *format; /* static */
    char source_type[32];
    tra_dims shape, block;
    tra_dtype dtype;
    int64_t blocks, elements;
    int64_t bytes_in, bytes_stored; /* of the file read; of the chunks written */
    int64_t nan, inf;
    int64_t inexact, overflow;
    int64_t entries, mirrored;   /* -1: not a coordinate file */
    char storage[TRA_LEVELTEXT]; /* what it is stored by; "": a plain array */
    bool one_block;              /* which the storage asks for */
    int64_t stored;              /* entries that are stored so */
    int64_t duplicates;          /* entries that were added to another of the same place */
    int64_t zeros;               /* entries of value 0 that were left out */
    int header_lines;            /* -1: not a text table */
    int64_t spilled;             /* bytes that went through the scratch file */
} tra_import_receipt;

/* Reads a file into a new relation, atomically. The process stays below the job's ceiling; TRA_RESOURCE with the least
 * that would do if not even one block fits, as soon as the shape is known. */
TRA_MUSTUSE tra_status tra_import(const tra_import_job *job, tra_import_receipt *r, tra_err *e);

/* ---- tables ----------------------------------------------------------------------------------------------------- */

typedef struct tra_table_job {
    const char *from, *to; /* file or "-"; relation */
    tra_progress_form progress;
    char delimiter, decimal, thousands; /* 0: found out; a point; none */
    int quote, escape, comment, header; /* -1: found out; a character, 0: none */
    int64_t skip;
    bool strict, lenient, latin1, pad_short, drop_long;
    int nnulls; /* words for NULL; -1: the usual ones, where they are no strings */
    const char *const *nulls;
    const char *date_format, *timestamp_format;
    /* Lists of the user, split at commas: names for all columns; of columns, by name or number, those that are wanted;
     * "name=type". */
    const char *names, *columns;
    const char *const *types;
    int ntypes;
    bool vector;           /* of a matrix: its one column is a tensor of rank 1 */
    const char *rejects;   /* file for records that are at fault; NULL: the first is an error */
    int64_t rejects_limit; /* more of them are an error; -1: none */
    int64_t block, memory; /* rows of a block; 0: chosen, the default */
    tra_codec codec;
    const char *history; /* or NULL */
} tra_table_job;

typedef struct tra_table_receipt {
    int64_t rows, rejected, bytes_in, bytes_stored, block, blocks;
    bool header;
    char delimiter;
    int columns;
    struct tra_table_column {
        const char *name, *type; /* static; name from the arena */
        int64_t nulls;
    } * column;
} tra_table_receipt;

/* Reads a CSV file into a new table. The receipt's arrays are in the arena. */
TRA_MUSTUSE tra_status tra_import_table(const tra_table_job *job, tra_arena *a, tra_table_receipt *r, tra_err *e);
/* Can a date (or a timestamp) be read by that format? TRA_USAGE, naming the option, with what is wrong. */
TRA_MUSTUSE tra_status tra_csv_check_format(const char *option, const char *format, bool date, tra_err *e);
/* Is it a CSV file, by its name or else its content? */
bool tra_csv_by_name(const char *spec);
/* Is the file a table rather than a matrix: does it have a header, and below it a column that is not all numbers or
 * words for what is missing, as far as its first bytes tell? What is read but once, as standard input and pipes are,
 * never is, unless the user says so. */
TRA_MUSTUSE tra_status tra_looks_like_table(const tra_table_job *job, bool *is, bool *titled, tra_err *e);

/* Reads the rows from `from` on, some at a time, and calls fn on them. */
typedef tra_status tra_table_strip(void *ctx, int64_t first, const tra_batch *b, tra_err *e);
TRA_MUSTUSE tra_status tra_table_strips(tra_rel *rel, int64_t from, int64_t rows, int64_t memory, tra_table_strip *fn,
                                        void *ctx, tra_err *e);
/* A value as text, in buf or elsewhere; its length, 0 of a NULL. */
enum { TRA_VALUETEXT = 64 };
size_t tra_column_text(const tra_column *c, const tra_vector *v, int64_t i, char buf[TRA_VALUETEXT], const char **text);
/* Cells of CSV: quoted where they have to be; `text`: of a string, of which the empty one is no NULL. */
void tra_csv_put(tra_str *out, const char *s, size_t n, char delimiter, bool text);
void tra_csv_put_header(tra_str *out, const tra_schema *s, char delimiter);
void tra_csv_put_row(tra_str *out, const tra_batch *b, int64_t i, char delimiter);

typedef struct tra_export_job {
    const char *from, *to; /* relation; file or "-" */
    tra_progress_form progress;
    const tra_format *format;
    tra_sink_options sink;
    int64_t memory; /* ceiling of the process, 0 for the default */
} tra_export_job;

typedef struct tra_export_receipt {
    tra_dims shape;
    bool table; /* the extent of shape is its rows */
    tra_dtype dtype;
    int64_t bytes;
    bool closed; /* the reader of the pipe went away: the failure is no news to anybody */
} tra_export_receipt;

/* Writes a relation to a file (atomically) or a stream. TRA_INPUT when it is not the kind of relation that the format
 * can hold. */
TRA_MUSTUSE tra_status tra_export(const tra_export_job *job, tra_export_receipt *r, tra_err *e);

#endif
