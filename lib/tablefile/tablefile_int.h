/* tablefile_int.h - shared by the files of tables. See table_file.h for the contract. */
#ifndef TRA_TABLEFILE_INT_H
#define TRA_TABLEFILE_INT_H

#include "../h5/pack.h"
#include "table_file.h"
#include "../h5/texts.h"

/* An array of a column in the file; a column has one or two. */
typedef struct tra_table_part {
    int column;
    bool mask;             /* of NULLs; else values or codes */
    bool u64;              /* of another program: its values are u64, read as i64 */
    int size;              /* bytes of an element */
    bool direct;           /* the bytes are those in memory, in chunks of a block that are stored as they are */
    bool coded;            /* the same, but chunks went through the filters of our codec, so far as their masks say */
    const char *path;      /* of the dataset in the file */
    int64_t *addr;         /* of each chunk; writer, codec zstd: in the file of uncompressed rows */
    uint32_t *len, *skips; /* reader, coded: of each chunk: bytes, and its filter mask */
    _Atomic bool *checked; /* reader: of each chunk */
    _Atomic bool found;    /* reader: addr to checked are there, and stay as they are */
} tra_table_part;

/* How a table lies in its file. */
typedef struct tra_table_form {
    const tra_schema *schema;
    int64_t rows, block, nblocks;
    int nparts;
    tra_table_part *part;
    int *values, *nulls; /* of each column: which of part; nulls -1: it has no mask */
} tra_table_form;

/* The part of a tra_writer that tables need. */
struct tra_table_placing {
    tra_table_form form;
    bool alone;      /* tra_write_options.alone */
    int64_t strings; /* tra_writer_strings_bytes */
    int64_t *begin;  /* first row of each tuple, and the number of rows */
    uint64_t *sums;  /* [parts][blocks] */
    uint64_t *masks; /* [parts], codec zstd: sums of tra_mask_sum */
    int64_t *blocks; /* [columns][blocks][4] */
    int64_t end;     /* codec zstd: bytes of w->raw, an array after the other */
    tra_column_facts *facts;
    tra_arena **kept; /* arenas of the arrays in facts */
    int nkept;
    /* The frequencies of columns that have many, in a file without a name: where they begin in it, -1 where there are
     * few, in facts. */
    int frequencies;
    int64_t *frequencies_at;
};

enum { TRA_BLOCK_SORTED = 1, TRA_BLOCK_NAN = 2, TRA_BLOCK_EMPTY = 4 };

/* The part of a tra_rel that tables need. */
struct tra_table {
    tra_table_form form;
    tra_schema schema;
    bool foreign;
    uint64_t *sums;  /* [parts][blocks], or NULL */
    uint64_t *masks; /* [parts], of a compressed table with sums; else NULL */
    int64_t *blocks; /* [columns][blocks][4], or NULL */
    int32_t **codes; /* foreign, of columns of plain strings: the code of each row; -1: NULL */
    int64_t stored_bytes, held;
    bool has_loaded; /* the following were read: tables of statistics, NULL where missing or damaged */
    bool warned;     /* that statistics are damaged */
    struct tra_table_numbers {
        int64_t *v, n;
    } statistics, frequencies, histograms, sketches;
};
/* The functions of tra_kind_table (relation_file.h). */
tra_status tra_table_prepare(tra_writer *w, const tra_write_options *o, tra_err *e);
void tra_table_free_placing(tra_writer *w);
tra_status tra_table_create_group(tra_writer *w, tra_err *e);
void tra_table_blob(const tra_writer *w, tra_str *blob);
tra_status tra_table_unblob(tra_writer *w, const char *blob, size_t n, tra_err *e);
tra_status tra_table_put(tra_writer *w, int64_t ordinal, const void *block, void *scratch, tra_err *e);
tra_status tra_table_pack(tra_writer *w, tra_packer *x, tra_err *e);
tra_status tra_table_finish(tra_writer *w, tra_err *e);
bool tra_table_describe(tra_writer *w, const char *digest);
tra_status tra_table_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
size_t tra_table_scratch(const tra_rel *r);
tra_status tra_table_check(tra_rel *r, tra_err *e);

/* Frees what finishing kept for the statistics that describing writes. */
void tra_table_drop_kept(struct tra_table_placing *t);

/* Frees the tables of statistics. The caller holds the lock of HDF5, unless no other thread uses the table. */
void tra_table_drop_facts(struct tra_table *t);

static inline int64_t tra_table_block_rows(const tra_table_form *f, int64_t b) {
    return tra_min64(f->block, f->rows - b * f->block);
}

/* Says in AnnData's encoding what an object is. */
bool tra_table_put_encoding(hid_t obj, const char *type, const char *version);
/* Writes the dictionary of a column as strings that other programs read (table_strings.c). */
bool tra_table_put_categories(tra_writer *w, int column, hid_t group);
/* All dictionaries in one block, in the order of their columns: ends of strings, and their bytes, in words of eight
 * with zeros after the last. */
bool tra_table_put_dictionaries(tra_writer *w, hid_t group);
/* A table of numbers (tra_h5_put_table) that is written in pieces: rows of `width` numbers, or one dimension where that
 * is 0. What was begun is ended, also where that failed; all bytes are added before, and zeros fill the last word. */
enum { TRA_STREAM_BYTES = 64 << 10 };
typedef struct tra_table_stream {
    hid_t dset, space;
    uint64_t seal;
    int64_t at, width; /* numbers that have been written, and those of a row */
    size_t n;          /* bytes in buf that have not been written */
    int64_t *buf;
} tra_table_stream;
bool tra_stream_begin(tra_table_stream *t, hid_t group, const char *name, hid_t filetype, int64_t rows, int width);
bool tra_stream_add(tra_table_stream *t, const void *v, int64_t bytes);
bool tra_stream_end(tra_table_stream *t, bool ok); /* ok: nothing has failed before. Returns that nothing has. */
/* The sum of the strings of a column, of the XXH64 of their ends and of their bytes. */
static inline uint64_t tra_strings_sum(uint64_t ends, uint64_t bytes) { return ends * 0x9e3779b97f4a7c15 + bytes; }
/* The numbers that the seal covers: all that reading the table depends on. */
int64_t tra_table_header(const tra_table_form *f, int64_t v[4]);

/* The names of the columns, in the relation's arena. TRA_INPUT: the attribute that lists them is missing or damaged. */
TRA_MUSTUSE tra_status tra_table_read_order(tra_rel *r, const char ***names, int *n, tra_err *e);
/* Categories: strings, or numbers as text. */
const tra_dictionary *tra_table_categories(tra_rel *r, hid_t dset);

/* Where the chunks of an array are, found once; n elements of a chunk, from `first` on, as they are in the file. room:
 * tra_table_scratch bytes, or NULL. */
TRA_MUSTUSE tra_status tra_table_find(tra_rel *r, int part, tra_err *e);
TRA_MUSTUSE tra_status tra_table_chunk(tra_rel *r, int part, int64_t b, int64_t first, int64_t n, void *to, char *room,
                                       tra_err *e);
/* The same of elements at[0] < at[1] < ... of a chunk that is stored as it is in memory, piece by piece. */
TRA_MUSTUSE tra_status tra_chunk_pick(tra_rel *r, int part, int64_t b, const int32_t *at, int64_t n, void *to,
                                      tra_err *e);
/* Brings these elements before all others. */
void tra_chunk_compact(void *v, int size, const int32_t *at, int64_t n);
void tra_table_forget(tra_table_part *p); /* frees where its chunks are */

/* ---- statistics (table_facts.c) ---------------------------------------------------------------------------------- */

/* Finds facts of a column from its values in order. For each column: begin; add all values; while begin_recount
 * says so, recount all values; end. */
typedef struct tra_facts_builder tra_facts_builder;
tra_facts_builder *tra_facts_new(void);
int64_t tra_facts_bytes(int64_t rows); /* bytes that a builder touches for a column of at most so many rows */
void tra_facts_free(tra_facts_builder *c);
void tra_facts_begin(tra_facts_builder *c, tra_coltype t, int64_t rows, int64_t codes);
/* The values of n rows that follow those before; state as in tra_vector. block: facts of the block that they are in
 * (table_file.h), which `begins` with them or continues. */
void tra_facts_add(tra_facts_builder *c, const int64_t *v, const uint8_t *state, int64_t n, int64_t block[4],
                   bool begins);
/* Are there common values among too many to count all? Then these are counted again. */
bool tra_facts_begin_recount(tra_facts_builder *c);
void tra_facts_recount(tra_facts_builder *c, const int64_t *v, const uint8_t *state, int64_t n);
/* The arrays of *out are in the arena, but the frequencies in the builder, until it begins again. */
void tra_facts_end(tra_facts_builder *c, tra_arena *a, tra_column_facts *out);

#endif
