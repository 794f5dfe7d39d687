/* table_int.h - what the files of tables share. See table_file.h for the contract. */
#ifndef TRA_TABLE_INT_H
#define TRA_TABLE_INT_H

#include "table_file.h"
#include "table_hook.h"

/* Arrays of a column in the file. */
typedef struct tra_table_part {
    int column;
    bool mask;             /* of NULLs; else values or codes */
    int size;              /* bytes of an element */
    bool direct;           /* the bytes are those in memory, in chunks of a block that are stored as they are */
    bool coded;            /* the same, but chunks went through the filters of our codec, so far as their masks say */
    const char *path;      /* of the dataset in the file */
    int64_t *addr;         /* of each chunk; writer, codec zstd: in the file where rows wait */
    uint32_t *len, *skips; /* reader, coded: of each chunk: bytes, and its filter mask */
    _Atomic bool *checked;
} tra_table_part;

typedef struct tra_table_form {
    const tra_schema *schema;
    int64_t rows, block, nblocks;
    int nparts;
    tra_table_part *part;
    int *values, *nulls; /* of each column: its arrays; nulls -1: it has none */
} tra_table_form;

/* Of a writer. */
struct tra_table_placing {
    tra_table_form form;
    int64_t *begin;  /* the first row of each tuple, and the end */
    uint64_t *sums;  /* [parts][blocks] */
    uint64_t *masks; /* [parts], codec zstd: sums of tra_mask_sum */
    int64_t *blocks; /* [columns][blocks][4] */
    /* Codec zstd: rows go to a file of their own, as they are, an array after the other; chunks are made of them when
     * all are there (pack.c). fd: that file, else -1; end: its bytes. */
    tra_temp raw;
    int fd;
    int64_t end;
    bool packed;
    tra_column_facts *facts;
    tra_arena **kept; /* in which these are */
    int nkept;
    const tra_spooled *spooled; /* of each column, or NULL */
};

enum { TRA_BLOCK_SORTED = 1, TRA_BLOCK_NAN = 2, TRA_BLOCK_EMPTY = 4 };

/* Of a reader. */
struct tra_table {
    tra_table_form form;
    tra_schema schema;
    bool foreign;
    uint64_t *sums;   /* [parts][blocks], or NULL */
    uint64_t *masks;  /* [parts], of a compressed table with sums; else NULL */
    int64_t *blocks;  /* [columns][blocks][4], or NULL */
    int64_t *strings; /* the bytes of its dictionaries, of a table that tra wrote */
    int32_t **codes;  /* of a foreign column of plain strings: of each row the number in its dictionary; -1: NULL */
    int64_t stored_bytes, held;
    bool looked; /* for these tables of statistics: numbers, NULL where they are missing or damaged */
    struct tra_table_numbers {
        int64_t *v, n;
    } statistics, frequencies, histograms, sketches;
};

static inline int64_t tra_table_block_rows(const tra_table_form *f, int64_t b) {
    return tra_min64(f->block, f->rows - b * f->block);
}

/* Arrays of the schema's columns, as they are written: form->part, values and nulls, without addresses. */
void tra_table_parts(tra_arena *a, tra_table_form *f, bool addresses);
int tra_code_size(int64_t entries);
/* In files of AnnData's encoding: what an object is. */
bool tra_table_put_encoding(hid_t obj, const char *type, const char *version);
/* The entries of a column's dictionary, as strings of any length (table_strings.c). */
bool tra_table_put_categories(tra_writer *w, int column, hid_t group);
/* All dictionaries in one block, in the order of their columns: ends of strings, and their bytes, in words of eight
 * with zeros behind. */
bool tra_table_put_dictionaries(tra_writer *w, hid_t group);
/* A number that follows from all that is needed to read the table: for seals. */
int64_t tra_table_header(const tra_table_form *f, int64_t v[4]);

/* A table of numbers under .tra/NAME: from malloc; NULL: it is missing or damaged. All strings of a dataset of one
 * dimension, in the relation's arena; NULL: it is none. Under the lock. */
int64_t *tra_table_numbers(tra_rel *r, const char *table, int64_t *n);
const tra_dictionary *tra_table_strings(tra_rel *r, hid_t dset);
/* Categories: strings, or numbers as text. */
const tra_dictionary *tra_table_categories(tra_rel *r, hid_t dset);
/* The strings of rows as a dictionary, in which each stands once, in the order in which they first appear, and codes of
 * the rows, in the relation's arena: -1 of those for which `null` is set. */
int32_t *tra_table_encode(tra_rel *r, const tra_dictionary *rows, const uint8_t *null, tra_dictionary **out);

/* Where the chunks of an array are, found once; n elements of a chunk, from `first` on, as they are in the file. room:
 * tra_table_scratch bytes, or NULL. */
TRA_MUSTUSE tra_status tra_table_find(tra_rel *r, int part, tra_err *e);
TRA_MUSTUSE tra_status tra_table_chunk(tra_rel *r, int part, int64_t b, int64_t first, int64_t n, void *to, char *room,
                                       tra_err *e);

/* ---- statistics (table_facts.c) -----------------------------------------------------------------------------------
 */

/* The order in which values of a type are: the least first. */
int64_t tra_value_rank(tra_coltype t, int64_t v);
typedef struct tra_counting tra_counting;
tra_counting *tra_counting_new(void);
int64_t tra_counting_bytes(int64_t rows); /* that it takes, of a column of at most so many rows */
void tra_counting_free(tra_counting *c);
void tra_counting_begin(tra_counting *c, tra_coltype t, int64_t rows, int64_t codes);
/* Values of rows in order; state as in tra_vector. block: facts of the block that they are of, which begins with them
 * or goes on. */
void tra_counting_add(tra_counting *c, const int64_t *v, const uint8_t *state, int64_t n, int64_t block[4],
                      bool begins);
/* Are values so many that those that are common must be counted again? */
bool tra_counting_again(tra_counting *c);
void tra_counting_recount(tra_counting *c, const int64_t *v, const uint8_t *state, int64_t n);
/* In an arena: the arrays of `out`. */
void tra_counting_end(tra_counting *c, tra_arena *a, tra_column_facts *out);

#endif
