/* table_file.h - tables in HDF5 files: writing rows, reading them, statistics of columns (man tra-relation.5).
 *
 * A table NAME is a group in the encoding that AnnData uses for data frames, so that readers of these get a frame:
 *
 * - NAME has the attributes encoding-type "dataframe", column-order, _index (the first column), tra_format, tra_shape
 *   (rows), tra_block (rows of a block), tra_seal, tra_digest, tra_history.
 * - NAME/COLUMN is an array in chunks of one block. Strings are a group "categorical" (codes, categories). Integers and
 *   bools with NULLs are a group "nullable-integer" or "nullable-boolean" (values, mask). Floats with NULLs are an
 *   array, NaN where NULL, whose attribute tra_nulls names its mask. Attributes: tra_type; units, of dates and
 *   timestamps; tra_name, where HDF5 cannot have the name of the column.
 * - .tra/NAME/ has the tables xxh64 [arrays][blocks], of each chunk; blocks [columns][blocks][4]: least, greatest,
 *   NULLs, flags; statistics, frequencies, histograms, sketches (tra_column_facts); strings, string_ends: copies of the
 *   dictionaries; string_sums: of each column that has one (tra_strings_sum); nulls/:
 *   masks of floats.
 *
 * The place of each row follows from the rows of all blocks before it, so these are counted before anything is written:
 *
 * - tra_writer_create, with a type of columns, makes only the group.
 * - tra_writer_place_rows is called by the creator, once: it makes and allocates the arrays.
 * - tra_writer_describe and tra_writer_attach are called as for other writers, but after that.
 * - tra_writer_put_rows is called from any thread of any process (or tra_writer_put, of a tuple in the layout
 *   tra_columns).
 * - tra_writer_commit reads all that was written, for checksums and statistics, and writes these.
 *
 * Tables are read by the functions of store.h too: tra_rel_read fills the block of a tuple, in the layout tra_columns.
 */
#ifndef TRA_TABLE_FILE_H
#define TRA_TABLE_FILE_H

#include "../model/spooled.h"
#include "../h5/h5.h"
#include "../model/digest.h"

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* rows: of each tuple; NULL: the extents of the catalog. Blocks in the file have as many rows as the catalog's bound.
 * TRA_RESOURCE when the disk is full. */
TRA_MUSTUSE tra_status tra_writer_place_rows(tra_writer *w, const int64_t *rows, tra_err *e);
/* The same columns with other dictionaries, of which rows that are put have the codes; before rows are placed. Both
 * must outlive the writer. */
void tra_writer_columns(tra_writer *w, const tra_schema *s);
/* Are strings of the dictionary left out of a table of so many rows, if no row has them? */
bool tra_dictionary_is_cut(const tra_dictionary *d, int64_t rows);
/* About the bytes of a table's file for n strings that have so many bytes: references and a heap for other programs,
 * ends and bytes for tra. */
int64_t tra_dictionary_file_bytes(int64_t n, int64_t bytes);
/* The same of all dictionaries that the writer has written since its rows were placed. */
int64_t tra_writer_strings_bytes(const tra_writer *w);
/* Bytes of memory that committing a table of this type takes: to read all that was written, to count values, and to
 * keep and write the statistics. The rows are the expected ones. */
int64_t tra_table_finish_bytes(const tra_type *t);
/* Writes rows first .. first + b->rows - 1 of the table. TRA_INPUT, naming row and column, for a value that could not
 * be computed. */
TRA_MUSTUSE tra_status tra_writer_put_rows(tra_writer *w, int64_t first, const tra_batch *b, tra_err *e);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

bool tra_rel_is_table(const tra_rel *r);
/* For a table that was opened without its strings (tra_rel_open_bare). find: of these columns (NULL: all) small
 * dictionaries are read; large ones stay in the file until tra_dictionary_read (spooled.h). read: all are read.
 * TRA_INPUT: they are damaged; TRA_RESOURCE: they do not fit below the ceiling. */
TRA_MUSTUSE tra_status tra_rel_find_strings(tra_rel *r, const bool *of, tra_err *e);
TRA_MUSTUSE tra_status tra_rel_read_strings(tra_rel *r, tra_err *e);
/* Strings that are in the file leave the memory, until they are read again. Nobody may use the table meanwhile, nor
 * what was made of its strings without a copy of them. */
void tra_rel_leave_strings(tra_rel *r);
/* Bytes of memory that those take that were read, which are among tra_rel_held_bytes. */
int64_t tra_rel_strings_bytes(const tra_rel *r);
bool tra_rel_is_coded(const tra_rel *r); /* compressed: so blocks are best read whole */
int64_t tra_rel_rows(const tra_rel *r);
/* Reads rows first .. first + b->rows - 1, of those columns whose values in b are not NULL (with states where
 * tra_column_has_states). Verifies the checksum of a chunk when it is read for the first time. Thread-safe. */
TRA_MUSTUSE tra_status tra_rel_read_rows(tra_rel *r, int64_t first, const tra_batch *b, tra_err *e);

/* From now on the type of the relation has only these columns, and tra_rel_read reads no others. TRA_INPUT unless their
 * numbers, names and types are those of columns of the file. They must live as long as the relation is open. */
TRA_MUSTUSE tra_status tra_rel_choose_columns(tra_rel *r, const tra_schema *columns, tra_err *e);
/* From now on tra_rel_read gives no rows for blocks whose number in `of` is 0, and does not read them. `of` must live
 * as long as the relation is open. */
void tra_rel_skip_blocks(tra_rel *r, const int64_t *of);
/* Which rows of a block are wanted, by some of its columns. */
typedef struct tra_row_filter {
    const bool *reads; /* of each column that tra_rel_read reads */
    /* Writes the numbers of these rows to `at`, ascending; returns how many. -1: they are more than `most`, or all are
     * wanted, for errors that are found later. Any thread calls it. */
    int64_t (*find)(const struct tra_row_filter *f, const tra_batch *b, int32_t *at, int64_t most);
} tra_row_filter;
/* From now on tra_rel_read may leave out rows that are not wanted: where they are few of a block, the other columns are
 * not brought to memory but for them. The filter must live as long as the relation is open. */
void tra_rel_filter_rows(tra_rel *r, const tra_row_filter *f);
/* Are these only some of the columns of a file? */
bool tra_schema_is_chosen(const tra_schema *s);

/* What is known of a column, in a file that tra wrote. Values are 64 bits: integers, dates, codes and bools as numbers,
 * floats as the bits of an f64. NaN counts as the greatest value. */
enum { TRA_WHOLE_FREQUENCIES = 1 << 16, TRA_TOP_FREQUENCIES = 64, TRA_BUCKETS = 256, TRA_REGISTERS = 4096 };
typedef struct tra_column_facts {
    int64_t rows, nulls;
    int64_t min, max; /* if rows > nulls */
    int64_t distinct; /* how many different values, without NULLs */
    bool exact;       /* distinct is exact, else an estimate */
    bool sorted;      /* no value is less than one before it */
    bool nan;         /* there are NaN */
    int64_t n;        /* how many frequencies there are */
    bool whole;       /* frequencies of all values, by value; else of the most common ones, the most common first */
    const int64_t (*frequency)[2]; /* value, rows */
    const int64_t *histogram;      /* TRA_BUCKETS + 1 bounds of buckets with equally many rows; NULL if whole */
    const int64_t *sketch;         /* TRA_REGISTERS registers of HyperLogLog; NULL if whole */
} tra_column_facts;
/* Its arrays are the file's, until these are freed (tra_rel_drop_facts). False: the file does not have them. */
bool tra_rel_column_facts(tra_rel *r, int column, tra_column_facts *out);
/* Statistics are read from the file when they are first asked for, and then stay in memory: the first function says how
 * many bytes they take now, the second frees them. They are read again when they are next asked for. */
int64_t tra_rel_facts_bytes(const tra_rel *r);
void tra_rel_drop_facts(tra_rel *r);

/* Reads a column of integers, dates or bools to find its different values, ascending, without NULLs; in the arena.
 * TRA_NO: there are more than `most`. */
TRA_MUSTUSE tra_status tra_rel_column_values(tra_rel *r, int column, int64_t most, tra_arena *a, const int64_t **out,
                                             int64_t *n, tra_err *e);

/* The values of a column in the order of its rows, as labels that live as long as the relation is open. TRA_INPUT: one
 * is NULL, or there are too many for labels. */
struct tra_dim_labels;
TRA_MUSTUSE tra_status tra_rel_column_labels(tra_rel *r, int column, const struct tra_dim_labels **out, tra_err *e);

/* What is known of a column in one block of rows. TRA_NO: the file does not have it. */
typedef struct tra_block_facts {
    int64_t min, max, nulls; /* min and max if not all are NULL */
    bool sorted, nan, empty; /* empty: all values are NULL */
} tra_block_facts;
TRA_MUSTUSE tra_status tra_rel_block_facts(tra_rel *r, int column, int64_t block, tra_block_facts *out, tra_err *e);

/* ---- digest ----------------------------------------------------------------------------------------------------- */

/* What a digest needs of the strings of columns whose dictionaries are not in memory: a word for each, few in memory,
 * many in a scratch file of this folder. *out is NULL where there are no such columns. */
typedef struct tra_string_words tra_string_words;
TRA_MUSTUSE tra_status tra_string_words_new(const tra_schema *s, const char *folder, tra_string_words **out,
                                            tra_err *e);
void tra_string_words_free(tra_string_words *w);
int64_t tra_string_words_bytes(const tra_schema *s, int threads); /* of memory, while threads use them */
/* Adds rows to the digest of a table: values and NULLs of rows in order, strings by their bytes; of those columns whose
 * values in b are not NULL, so that columns may be added one by one. Columns whose strings are not in memory are left
 * out, and added by the second function. */
void tra_digest_rows(tra_digest *d, int64_t first, const tra_batch *b);
TRA_MUSTUSE tra_status tra_digest_away(tra_digest *d, int64_t first, const tra_batch *b, const tra_string_words *w,
                                       tra_err *e);
/* Adds a column of strings by the tra_digest_string of each value. */
uint64_t tra_digest_string(const char *s, size_t n);
void tra_digest_strings(tra_digest *d, int column, int64_t first, int64_t rows, const uint64_t *x,
                        const uint8_t *state);
/* Mixes in names, types and the number of rows; gives 32 hexadecimal digits and NUL. */
void tra_digest_table_text(const tra_digest *d, const tra_schema *s, int64_t rows, char text[33]);

#endif
