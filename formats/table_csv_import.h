/* table_csv_import.h - the parts of an import of a table. Private to formats. */
#ifndef TRA_TABLE_CSV_IMPORT_H
#define TRA_TABLE_CSV_IMPORT_H

#include "reading.h"
#include "table_csv_rows.h"
#include "../lib/model/string_set.h"

typedef struct tra_csv_import {
    const tra_table_job *job;
    tra_arena *arena;
    const char *spec, *to;      /* for messages; the relation, beside which scratch files are */
    tra_progress_form progress; /* these three of the table that is written */
    tra_codec codec;
    const char *history;
    bool alone;
    tra_csv_file *file;
    const tra_csv_form *form;
    tra_csv_reading reading;
    tra_csv_rules rules;
    bool once;     /* it can be read but once, but for what is copied */
    bool numbers;  /* by itself it would be a matrix, whose columns are c0, c1, .. */
    int64_t width; /* cells of a record */
    int ncolumns;  /* those that are wanted: */
    tra_csv_column *column;
    const char *left; /* names of the others; NULL: there are none */
    struct tra_csv_worker *worker;
    int nworkers, made;    /* made: columns for which workers have room */
    bool guessing;         /* this pass finds types, */
    bool *collect;         /* and strings of these columns, */
    _Atomic bool *spilled; /* but of these, which have too many for the memory (table_csv_spill.h) */
    struct tra_csv_spill *spill;
    struct tra_csv_pack *pack; /* wanted cells in a scratch file; NULL: the file is read again */
    const char *first;         /* where there are several files: the path of the first, */
    int64_t first_width;       /* its cells, and its columns; */
    tra_csv_column *all;
    int nall;
    int64_t file_base, bytes_before; /* pieces before this one, and bytes of them */
    int64_t base;                    /* pieces before this stretch */
    int64_t *rows;                   /* of each piece: those that are not rejected */
    int64_t rows_cap, npieces;
    tra_csv_rejects *rejects; /* of each piece of a stretch */
    const tra_csv_piece **at; /* and where it was */
    tra_newfile out;          /* the file of rejects */
    bool out_open;
    int64_t rejected, memory;
    tra_string_set *words; /* of each column of strings, once they are together */
    int32_t **code;        /* and the code of each */
    tra_writer *writer;
    tra_schema schema;
    tra_digest digest;
} tra_csv_import;

typedef struct tra_csv_worker {
    tra_csv_rows rows;
    tra_csv_guess *guess;  /* of each column */
    tra_string_set *words; /* of each column */
    int64_t **seen;        /* of each column: where each of its words came first */
    int64_t *seen_cap;
    int64_t held; /* bytes that all of these take */
    bool *bad;    /* rows that are rejected */
    int64_t bad_cap;
    char *buf; /* text in UTF-8 */
    size_t buf_cap;
    char *pack; /* cells of a piece */
    size_t pack_cap;
    void *block; /* columns of the rows of a piece */
    int64_t block_cap;
    tra_vector *vectors;
    tra_digest digest;
} tra_csv_worker;

/* Takes the stream of a source over, and finds the form of the file. To be ended, also after a failure. */
TRA_MUSTUSE tra_status tra_csv_begin(tra_source *s, tra_csv_import **out, tra_err *e);
void tra_csv_end(tra_csv_import *m); /* NULL allowed */
/* Are digits with a point a number, whatever the options? */
static inline bool tra_csv_has_plain_numbers(const tra_csv_reading *r) {
    return r->nnulls <= 0 && r->decimal == '.' && r->thousands == 0;
}
/* For as many columns as there are; those that were made before are freed. */
void tra_csv_make_workers(tra_csv_import *m);
/* Names, which columns are wanted, and given types. To be called before the first pass where there is a header. */
TRA_MUSTUSE tra_status tra_csv_choose_columns(tra_csv_import *m, tra_err *e);
/* Keeps the columns of the first file; goes on to another, whose columns are looked up by name. *any: it is not empty.
 */
void tra_csv_keep_columns(tra_csv_import *m);
TRA_MUSTUSE tra_status tra_csv_next_file(tra_csv_import *m, const char *path, bool *any, tra_err *e);
/* Their names with commas, of which a message has not too many. */
const char *tra_csv_listed(tra_arena *a, const tra_csv_column *v, int n);
/* Leaves out the columns that nobody wants, but one of them, since a table has columns, and those whose type was given,
 * since that is checked. */
void tra_csv_leave_out(tra_csv_import *m);
/* Reads a piece into w->rows; marks in w->bad the rows of which a cell is no value of a type that was given. Where
 * nothing is put aside, the first fault of the piece is an error, and w->rows has what is before a record at fault. */
TRA_MUSTUSE tra_status tra_csv_read_piece(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t item,
                                          bool note, tra_err *e);
/* The text of a cell of a string column, in UTF-8. */
const char *tra_csv_string(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t row, int column,
                           size_t *n, bool *null);
/* Announces the text of a row, if there is one, to a large set. The text of the row before it is asked for after that.
 */
void tra_csv_expect(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t row, int column,
                    const tra_string_set *words);
/* ---- passes after the first (table_csv_pack.c) ----------------------------------------------------------------- */

/* The first pass, which begins now, packs the wanted cells of each piece: the room is made before a stretch. */
TRA_MUSTUSE tra_status tra_csv_pack_begin(tra_csv_import *m, tra_err *e);
void tra_csv_pack_room(tra_csv_import *m, int64_t pieces);
TRA_MUSTUSE tra_status tra_csv_pack_piece(tra_csv_import *m, tra_csv_worker *w, const tra_csv_piece *p, int64_t number,
                                          tra_err *e);
/* Sets w->rows in a later pass; false: nothing is packed, and the piece is text. */
bool tra_csv_unpack_rows(const tra_csv_import *m, tra_csv_worker *w, int64_t number);
/* tra_csv_pass over what was packed, or over the file. `after` may be called once for all pieces. */
TRA_MUSTUSE tra_status tra_csv_pass_again(tra_csv_import *m, tra_csv_work *work, tra_csv_after *after, void *ctx,
                                          tra_err *e);
int64_t tra_csv_bytes_again(const tra_csv_import *m); /* those that such a pass reads */
void tra_csv_pack_free(tra_csv_import *m);

/* Writes what was put aside in a stretch. */
TRA_MUSTUSE tra_status tra_csv_write_rejects(tra_csv_import *m, int64_t pieces, tra_err *e);
TRA_MUSTUSE tra_status tra_csv_begin_rejects(tra_csv_import *m, tra_err *e);
/* The strings that the workers found become dictionaries. */
TRA_MUSTUSE tra_status tra_csv_make_dictionaries(tra_csv_import *m, tra_column *columns, tra_err *e);

#endif
