/* table_file.h - tables in HDF5 files: writing rows, reading them, and what is known of columns. (man tra-relation.5)
 *
 * A table NAME is a group in the encoding that AnnData has for data frames, so that a reader of these gives a frame:
 *   NAME            encoding-type "dataframe", column-order, _index (the first column), tra_format, tra_shape (rows),
 *                   tra_block (rows of a block), tra_seal, tra_digest, tra_history
 *   NAME/COLUMN     an array in chunks of a block; of strings a group "categorical" (codes, categories); of integers
 *                   and bools with NULLs a group "nullable-integer", "nullable-boolean" (values, mask). Of floats with
 *                   NULLs an array, NaN where NULL, whose attribute tra_nulls names its mask. Attributes tra_type, of
 *                   dates and timestamps units, and tra_name where a name is none for HDF5
 *   .tra/NAME/      xxh64 [arrays][blocks] of each chunk; blocks [columns][blocks][4]: least, greatest, NULLs, flags;
 *                   statistics, frequencies, histograms, sketches (tra_column_facts); dictionaries, once more: strings,
 *                   string_ends; nulls/
 *
 * Whoever writes counts the rows of each block first, since the place of each follows from all those before it:
 *
 *   tra_writer_create     with a type of columns: makes the group alone
 *   tra_writer_place_rows the creator, once: makes the arrays and allocates them
 *   tra_writer_describe, tra_writer_attach   as for others, but after that
 *   tra_writer_put_rows   from any thread of any process (or tra_writer_put, of a tuple in the layout tra_columns)
 *   tra_writer_commit     reads all that was written, for checksums and statistics, and writes these
 *
 * Reading is store.h's too: tra_rel_read fills the block of a tuple as a cell of the layout tra_columns.
 */
#ifndef TRA_TABLE_FILE_H
#define TRA_TABLE_FILE_H

#include "columns.h"
#include "store.h"

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The rows of each tuple; NULL: as the catalog has them. The blocks of the file have as many rows as the catalog bounds
 * them to. TRA_RESOURCE when the disk has no room. */
TRA_MUSTUSE tra_status tra_writer_place_rows(tra_writer *w, const int64_t *rows, tra_err *e);
/* A dictionary that does not fit the memory, in a scratch file: where its strings begin and the last ends, n + 1
 * numbers of 64 bits from 0 on, and their bytes. n = 0: the column has it in memory, or has none. */
typedef struct tra_spooled {
    int fd;
    const char *where; /* for messages */
    int64_t n, begin_at, bytes_at, bytes;
} tra_spooled;
/* Before rows are placed: of each column; they live as long as the writer. The dictionary of such a column in the type
 * has its n alone. */
void tra_writer_spooled(tra_writer *w, const tra_spooled *of);
/* What reading all that was written takes in the end (tra_writer_commit). */
int64_t tra_table_seal_bytes(const tra_type *t);
/* Rows from number `first` of the table on. TRA_INPUT, naming row and column, for a value that could not be
 * computed. */
TRA_MUSTUSE tra_status tra_writer_put_rows(tra_writer *w, int64_t first, const tra_batch *b, tra_err *e);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

bool tra_rel_is_table(const tra_rel *r);
bool tra_rel_is_coded(const tra_rel *r); /* compressed: so blocks are best read whole */
int64_t tra_rel_rows(const tra_rel *r);
/* Rows first .. first + b->rows, of those columns whose values in b are not NULL (states as tra_column_has_states has
 * them). Verifies the checksum of a chunk the first time that it is read as a whole. Thread-safe. */
TRA_MUSTUSE tra_status tra_rel_read_rows(tra_rel *r, int64_t first, const tra_batch *b, tra_err *e);

/* From now on tra_rel_read, and the type of the relation, have these columns of it alone. TRA_INPUT unless their
 * numbers, names and types are those of columns of the file. They live as long as the relation is open. */
TRA_MUSTUSE tra_status tra_rel_choose(tra_rel *r, const tra_schema *columns, tra_err *e);
/* From now on tra_rel_read has no rows in the blocks whose number in `of` is 0, and does not read them. It lives as
 * long as the relation is open. */
void tra_rel_skip(tra_rel *r, const int64_t *of);
/* Are these some columns of a file, but not all? */
bool tra_schema_is_chosen(const tra_schema *s);

/* What is known of a column, in a file that tra wrote. Values are as the column holds them, in 64 bits: whole numbers,
 * dates, codes and bools as such, floats as the bits of the f64. NaN counts as the greatest. */
enum { TRA_WHOLE_FREQUENCIES = 1 << 16, TRA_TOP_FREQUENCIES = 64, TRA_BUCKETS = 256, TRA_REGISTERS = 4096 };
typedef struct tra_column_facts {
    int64_t rows, nulls;
    int64_t min, max; /* when rows > nulls */
    int64_t distinct; /* without NULLs; */
    bool exact;       /* exactly */
    bool sorted;      /* no value is less than one before it */
    bool nan;         /* there are any */
    int64_t n;        /* frequencies: of all values, by value; or, where these are more than TRA_WHOLE_FREQUENCIES, */
    bool whole;       /* of the commonest ones, the commonest first */
    const int64_t (*frequency)[2]; /* value, rows */
    const int64_t *histogram;      /* TRA_BUCKETS + 1 bounds of parts of equally many rows; NULL: whole */
    const int64_t *sketch;         /* HyperLogLog: TRA_REGISTERS; NULL: whole */
} tra_column_facts;
/* In the arena. TRA_NO: the file does not have them. */
TRA_MUSTUSE tra_status tra_rel_column_facts(tra_rel *r, int column, tra_arena *a, tra_column_facts *out, tra_err *e);

/* The different values of a column of whole numbers, dates or bools, ascending, without NULLs: reads the column. In the
 * arena. TRA_NO: they are more than `most`. */
TRA_MUSTUSE tra_status tra_rel_column_values(tra_rel *r, int column, int64_t most, tra_arena *a, const int64_t **out,
                                             int64_t *n, tra_err *e);

typedef struct tra_block_facts {
    int64_t min, max, nulls; /* of a block; the first two when not all are NULL */
    bool sorted, nan, empty; /* empty: all are NULL */
} tra_block_facts;
TRA_MUSTUSE tra_status tra_rel_block_facts(tra_rel *r, int column, int64_t block, tra_block_facts *out, tra_err *e);

/* ---- digest ----------------------------------------------------------------------------------------------------- */

/* Adds rows to the digest of a table: values and NULLs of rows in order, strings by their bytes; of those columns whose
 * values in b are not NULL, so that columns may be added one by one. text: with names, types and rows. */
void tra_digest_rows(tra_digest *d, int64_t first, const tra_batch *b);
/* The same of a column of strings whose dictionary is elsewhere (tra_spooled), which that leaves out: by what stands
 * for each. */
uint64_t tra_digest_string(const char *s, size_t n);
void tra_digest_strings(tra_digest *d, int column, int64_t first, int64_t rows, const uint64_t *x,
                        const uint8_t *state);
void tra_digest_table_text(const tra_digest *d, const tra_schema *s, int64_t rows, char text[33]);

#endif
