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
#include "../lib/model/columns.h"
#include "../lib/model/relation.h"
#include "../lib/storage/stored.h"
#include "io.h"
#include "sorter.h"

typedef struct tra_format tra_format;
typedef struct tra_option tra_option; /* reading.h */

/* ---- sources ------------------------------------------------------------------------------------------------- */

/* Storage coordinates name the tensor's dimensions in the order in which the file keeps them, the slowest first. That
 * is the tensor's own order, or its reverse when the first dimension is the fastest in the file (Fortran order). */

typedef enum tra_access {
    TRA_ACCESS_BOX,     /* box() delivers any box, in any order */
    TRA_ACCESS_STREAM,  /* next() delivers every element once, in storage order */
    TRA_ACCESS_ENTRIES, /* entries() delivers coordinates and values in any order; all other elements are zero */
} tra_access;

struct tra_table_job;
struct tra_source;
typedef struct tra_source_options {
    const struct tra_table_job *text; /* csv: how it is read; NULL: as is usual */
    bool has_dtype, has_elem, has_shape;
    tra_dtype dtype;     /* the type to store, if has_dtype */
    tra_elem elem;       /* raw: the type of the file's elements, if has_elem */
    tra_dims shape;      /* raw files, and coordinate files that do not tell it: the shape, if has_shape */
    int base;            /* coordinate files: the first index; -1 stands for the format's own */
    const char *scratch; /* path of the output, in whose directory scratch files may be */
    bool big_endian;     /* raw: the byte order of the file */
    bool fortran;        /* raw: the first dimension is the fastest */
    int64_t memory;      /* bytes for the buffers of the whole import, of which a reader takes a small part */
    /* Called while the rows of a stream are counted, with those that were so far in s->shape; NULL: nobody asks. */
    tra_status (*more_rows)(void *ctx, const struct tra_source *s, tra_err *e);
    void *ctx;
} tra_source_options;

typedef struct tra_source {
    const tra_format *format;
    const char *spec;   /* the path as the user gave it, for messages */
    const char *member; /* the name after it, of formats that have members; NULL: none is given */
    tra_source_options o;
    tra_stream in; /* closed for formats that open the file themselves */
    tra_arena *arena;
    void *state; /* belongs to the reader; from the arena */
    /* The reader's open sets these. */
    tra_dims shape; /* of the tensor */
    bool fortran;
    tra_dtype dtype; /* of the elements that box, next and entries deliver */
    tra_access access;
    tra_dims grain; /* box: boxes aligned to it (storage coordinates) read no byte twice; 1 where it does not matter */
    size_t box_scratch;    /* box: bytes of scratch that a call needs besides the caller's buffer */
    void *box_room;        /* box: that scratch; the caller allocates it, and may use it for itself between calls */
    size_t held;           /* bytes that the reader keeps, however little memory there is */
    const char *type_text; /* the file's element type, for the receipt; NULL: the file names none */
    /* What the positions along each dimension stand for (TRA_MAXDIM pointers, some NULL), or NULL. */
    const struct tra_dim_labels *const *labels;
    /* The reader counts these while it reads. */
    int64_t inexact;           /* integers that were rounded to a float */
    int64_t overflow;          /* finite values that became infinite in f32 */
    int64_t entries, mirrored; /* coordinate files: entries read, entries added by symmetry; -1 for other files */
    int header_lines;          /* csv: lines before the data; -1 for other files */
    /* TRA_ACCESS_ENTRIES only. */
    int64_t most_entries; /* no more entries than this will come, mirrored ones included; -1: not known */
    int64_t least_room;   /* entries() must be given room for at least so many items */
    int64_t base;         /* the first index, for messages */
    int64_t bytes_in;     /* of the file, where the reader took the stream over */
    /* The file is a table, and has no elements; for tra_csv_import_table. NULL: it is a tensor. */
    struct tra_csv_import *table;
    void *lines; /* the state of lines.h, for formats that are text; from the arena */
} tra_source;

/* ---- sinks --------------------------------------------------------------------------------------------------- */

typedef struct tra_sink_options {
    char delimiter;  /* csv; 0: by the suffix, else a comma */
    bool coordinate; /* mtx: write only the elements that are not zero, with their coordinates */
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
    const char *to; /* the path as the user gave it; prepare sets it to that of the file where it names more */
    const struct tra_dim_labels *const *labels; /* what positions stand for (TRA_MAXDIM pointers, some NULL), or NULL */
    bool entries;  /* prepare sets it where the format wants entries (entry) instead of all elements (put) */
    bool fortran;  /* prepare sets it where put wants the first dimension fastest */
    int64_t count; /* with entries: how many will come; known when begin is called */
} tra_sink;

/* ---- formats ------------------------------------------------------------------------------------------------- */

struct tra_format {
    const char *name;
    const char *says;     /* what it holds, for help */
    const char *suffixes; /* separated by blanks: ".csv .tsv" */
    bool binary;          /* it is refused on a terminal */
    bool opens_itself;    /* open() reads s->spec itself; s->in is closed */
    bool tables;          /* it can hold tables */
    bool members;         /* its files hold arrays by name: s->member */
    bool typeless;        /* its files do not tell their element type, so the user says it (option elem) */
    const tra_option *const *reads, *const *writes; /* the options that it has; they end with NULL; NULL: none */
    /* Says whether the first bytes of a file look like this format. NULL: nothing tells it. */
    bool (*sniff)(const unsigned char *head, size_t n);
    /* Reads what stands before the data, and sets the fields of s that say so. On failure the caller calls close, if
     * s->state has been set. */
    tra_status (*open)(tra_source *s, tra_err *e);
    /* A format has those of these three that its s->access names.
     * box: brings the box at `start` of extents `count` (storage coordinates) to buf, its last dimension fastest.
     * next: brings up to `want` elements; *got is 0 only after the last one, when s->shape is known and the file has
     * been found to end properly.
     * entries: brings as many entries, with their places, as there is room for; *got is 0 after the last one. */
    tra_status (*box)(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e);
    tra_status (*next)(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e);
    tra_status (*entries)(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e);
    /* Frees what s->state holds beyond arena, input and lines; NULL where that is nothing. */
    void (*close)(tra_source *s);
    /* Writing, in this order; prepare, begin and end may be NULL.
     * prepare: called before the output is opened; refuses what the format cannot hold, and sets k->entries and
     * k->fortran.
     * begin: writes what stands before the data.
     * put: writes n elements, which come in storage order.
     * entry: writes one entry; entries come in row-major order.
     * end: called after the last element or entry. */
    tra_status (*prepare)(tra_sink *k, const char *to, tra_err *e);
    tra_status (*begin)(tra_sink *k, tra_err *e);
    tra_status (*put)(tra_sink *k, const void *data, int64_t n, tra_err *e);
    tra_status (*entry)(tra_sink *k, const tra_dims *at, const void *value, tra_err *e);
    tra_status (*end)(tra_sink *k, tra_err *e);
    /* Frees what k->state holds beyond the arena, also after a failure; NULL where that is nothing. */
    void (*discard)(tra_sink *k);
    /* A format that has this one needs none of those above: it writes the relation as it is, tuple layout included. */
    tra_status (*rewrite)(tra_rel *rel, const char *to, const tra_sink_options *o, int64_t memory, int64_t *bytes,
                          tra_err *e);
};

extern const tra_format *const tra_formats[];             /* ends with NULL */
const tra_format *tra_format_find(const char *name);      /* NULL: none of this name */
const tra_format *tra_format_by_suffix(const char *path); /* NULL: none */
size_t tra_format_stem(const char *path);                 /* the length of the path without the suffix that tells it */
const tra_format *tra_format_sniff(const unsigned char *head, size_t n);
const char *tra_format_choices(void); /* "npy|csv|..." in the order of the table */

/* Opens spec: a path, "-" for standard input, or "file.h5:name" for formats that hold several tensors. Where `from` is
 * NULL the suffix tells the format, else the content. *out is to be closed; it is NULL on failure. Errors: TRA_INPUT
 * (the file is missing, damaged, of an unknown format, or its elements are no numbers), TRA_USAGE (an option that a raw
 * file needs is missing), TRA_RESOURCE (it cannot be decompressed in so little memory). */
TRA_MUSTUSE tra_status tra_source_open(const char *spec, const tra_format *from, const tra_source_options *o,
                                       tra_source **out, tra_err *e);
void tra_source_close(tra_source *s); /* NULL allowed */

/* Reads the option --delimiter: "tab", "\t", "space", or one character that cannot be part of a number. A NULL text
 * leaves *to alone; anything else is TRA_USAGE. */
TRA_MUSTUSE tra_status tra_csv_delimiter(const char *text, char *to, tra_err *e);

/* The functions box and next of formats whose state is a tra_flat, and put of those that write elements as they are in
 * memory. */
tra_status tra_flat_source_box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e);
tra_status tra_flat_source_next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e);
tra_status tra_flat_put(tra_sink *k, const void *data, int64_t n, tra_err *e);

/* ---- whole jobs ---------------------------------------------------------------------------------------------- */

enum { TRA_IMPORT_MEMORY = 256 << 20 }; /* default ceiling of import and export */

typedef struct tra_table_receipt {
    int64_t rows, rejected, bytes_in, bytes_stored, block, blocks;
    bool header;
    char delimiter;
    int columns;
    struct tra_table_column {
        const char *name, *type; /* from the arena; a constant */
        int64_t nulls;
    } * column;
    const char *left; /* names of columns of the file that are not wanted, from the arena, or NULL */
} tra_table_receipt;

typedef struct tra_import_job {
    const char *from, *to; /* a file and "out.h5[:name]"; from is NULL where everything is in components */
    tra_progress_form progress;
    const tra_format *format;      /* NULL: suffix or content tells it */
    tra_source_options source;     /* its field memory is the ceiling of the process here; 0: TRA_IMPORT_MEMORY */
    const tra_dims *block;         /* NULL: chosen from the shape */
    const char *storage;           /* NULL or "auto": chosen by the density, for coordinate files */
    int ncomponents;               /* of a storage that is not by levels: */
    const char *const *components; /* "NAME=FILE.npy", or "NAME=NUMBER" for a scalar */
    bool no_duplicate;             /* coordinate files: an element that is given twice is an error */
    bool drop_zeros;               /* coordinate files: entries of value 0 are left out */
    tra_codec codec;
    const char *history; /* or NULL */
    bool alone;          /* no other program reads the table that is written */
} tra_import_job;

typedef struct tra_import_receipt {
    const char *format;   /* a constant */
    char source_type[32]; /* the file's name for its element type; "": it has none */
    tra_dims shape, block;
    tra_dtype dtype;
    int64_t blocks, elements;
    int64_t bytes_in, bytes_stored; /* of the file that was read; of the chunks that were written */
    int64_t nan, inf;
    int64_t inexact, overflow;
    int64_t entries, mirrored;   /* -1: not a coordinate file */
    char storage[TRA_LEVELTEXT]; /* the storage that it has; "": a plain array */
    bool one_block;              /* the storage allows one block only */
    int64_t stored;              /* entries that the storage holds */
    int64_t duplicates;          /* entries that were added to another of the same place */
    int64_t zeros;               /* entries of value 0 that were left out */
    int header_lines;            /* -1: not a text table */
    int64_t spilled;             /* bytes that went through the scratch file */
    bool is_table;               /* it is a table: nothing but the format is said above, and this: */
    tra_table_receipt table;
} tra_import_receipt;

/* Reads a file into a new relation, a tensor or a table, which appears only when it is complete. Arrays of the receipt
 * are in the arena. The process stays below the job's ceiling;
 * if not even one block fits, it fails with TRA_RESOURCE as soon as the shape is known, and the message says the least
 * ceiling that would do. */
TRA_MUSTUSE tra_status tra_import(const tra_import_job *job, tra_arena *a, tra_import_receipt *r, tra_err *e);

/* ---- tables ----------------------------------------------------------------------------------------------------- */

/* The bytes of buffers that importing the table takes at least, with what each of its columns takes. */
int64_t tra_csv_table_needs(const struct tra_csv_import *m);
/* Writes the table that the source of a job is, which appears only when it is complete. The receipt's arrays are in the
 * arena. */
TRA_MUSTUSE tra_status tra_csv_import_table(struct tra_csv_import *m, const tra_import_job *job, tra_arena *a,
                                            tra_table_receipt *r, tra_err *e);
/* Checks a format for dates (date: else for timestamps) that the user gave as this option. TRA_USAGE: the message names
 * the option and what is wrong with the format. */
TRA_MUSTUSE tra_status tra_csv_check_format(const char *option, const char *format, bool date, tra_err *e);
/* Reads `rows` rows of a table from row `from` on, in strips that fit the ceiling `memory`, and calls fn on each.
 * `first` is the number of the strip's first row; the batch is valid during the call. */
typedef tra_status tra_table_strip(void *ctx, int64_t first, const tra_batch *b, tra_err *e);
TRA_MUSTUSE tra_status tra_table_strips(tra_rel *rel, int64_t from, int64_t rows, int64_t memory, tra_table_strip *fn,
                                        void *ctx, tra_err *e);
/* Sets *text to value i as text, in buf or in the column's dictionary, and returns its length: 0 for a NULL. */
enum { TRA_VALUETEXT = 64 };
size_t tra_column_text(const tra_column *c, const tra_vector *v, int64_t i, char buf[TRA_VALUETEXT], const char **text);
/* CSV, appended; cells are quoted where they have to be. The cell before a row where rows have labels, and the line
 * above a vector that has some, or a matrix whose columns have; else nothing. */
void tra_csv_put_margin(tra_str *out, const struct tra_dim_labels *const *labels, int64_t row, char delimiter);
void tra_csv_put_top(tra_str *out, const struct tra_dim_labels *const *labels, int rank, char delimiter);
/* The names of the columns; row i. */
void tra_csv_put_header(tra_str *out, const tra_schema *s, char delimiter);
void tra_csv_put_row(tra_str *out, const tra_batch *b, int64_t i, char delimiter);
/* A line for an element, data[i]: where it is, and what it is. Before these the names of the dimensions, of which those
 * without labels are called dim0, dim1. */
void tra_csv_put_entries(tra_str *out, const struct tra_dim_labels *const *labels, int rank, const char *dim,
                         char delimiter);
void tra_csv_put_entry(tra_str *out, const struct tra_dim_labels *const *labels, const tra_dims *at, tra_dtype t,
                       const void *data, int64_t i, char delimiter);

typedef struct tra_export_job {
    const char *from, *to; /* relation; file or "-" */
    tra_progress_form progress;
    const tra_format *format;
    tra_sink_options sink;
    int64_t memory; /* ceiling of the process; 0: TRA_IMPORT_MEMORY */
} tra_export_job;

typedef struct tra_export_receipt {
    tra_dims shape;
    bool table; /* it is a table, and shape has its number of rows */
    tra_dtype dtype;
    int64_t bytes;   /* written */
    int64_t inexact; /* whole numbers that were rounded: those beside a NULL, which is NaN in numpy */
    bool closed;     /* it failed because the reader of the pipe went away, which is no reason for a message */
} tra_export_receipt;

/* Can the job's format hold a relation of this type? name: of the relation, for the message. */
TRA_MUSTUSE tra_status tra_export_check(const tra_export_job *job, const char *name, const tra_type *type, tra_err *e);
/* Bytes of buffers that such an export of a relation of this type takes at least, planned as tra_size_planned does. */
int64_t tra_export_needs(const tra_export_job *job, const tra_type *type);
/* Writes a relation to a file, which appears only when it is complete, or to a stream. TRA_INPUT when the format cannot
 * hold this kind of relation. */
TRA_MUSTUSE tra_status tra_export(const tra_export_job *job, tra_export_receipt *r, tra_err *e);

#endif
