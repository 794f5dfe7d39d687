/* stored.h - relations whose arrays are stored by levels: what that is, and how to write their files (man
 * tra-storage.5).
 *
 * A storage by levels says, for each dimension of an array in some order, which coordinates are kept: all of them
 * (dense), those that have entries (sparse), or one for each position of the level above (singleton, as the later
 * dimensions of coo). Each position of a level belongs to one of the level above; the values belong to the positions of
 * the last level. csr is (dense, sparse); csc is the same in the order [1, 0]. A storage is identified by its levels
 * alone; names such as csr are aliases.
 *
 * Such a relation is a group of datasets, a valid binsparse tensor (man tra-relation.5). Where the slice of a tuple
 * begins in each dataset follows from how many positions each tuple has at each level. So positions are counted before
 * anything is written:
 *
 * - tra_writer_create, with options.levels, makes only the group.
 * - tra_stored_count is called for each tuple, by whoever has its array, which must be kept until it is put.
 * - tra_writer_place is called by the creator, once, with the counts of all: it makes and allocates the datasets.
 * - tra_writer_describe and tra_writer_attach are called as for other writers, but after tra_writer_place.
 * - tra_writer_put writes the slices of a tuple, from any thread of any process.
 * - tra_writer_pack is called with codec zstd, by the creator, when all is put and the others have synced
 *   (tra_writer_sync).
 * - tra_writer_sums and tra_writer_nsums give checksums and statistics, to be added up over the processes.
 * - tra_writers_commit is called as for other writers, together with them.
 *
 * They are read by the functions of store.h. The type of such a relation is sparse with the layout tra_rows, and its
 * entries are known: exactly (`of` and `rows` for each tuple) for files that tra wrote, by bounds alone (of is NULL)
 * for those of other programs, whose duplicates are added only when they are read. tra_rel_read fills the block of a
 * tuple as a cell of the type, in at most tra_type_bytes(type, ordinal).bound bytes.
 */
#ifndef TRA_STORED_H
#define TRA_STORED_H

#include "../model/cell.h"
#include "../h5/h5.h"

typedef enum tra_level { TRA_LEVEL_DENSE, TRA_LEVEL_SPARSE, TRA_LEVEL_SINGLETON } tra_level;

/* Level i keeps the coordinates of array dimension order[i]. A singleton follows a sparse level or a singleton. */
typedef struct tra_levels {
    int n; /* the rank of the arrays, at least 1 */
    tra_level kind[TRA_MAXDIM];
    int8_t order[TRA_MAXDIM];
} tra_levels;

enum { TRA_LEVELTEXT = 512 };
/* Parses "levels(dense, sparse) order [1, 0]", as in a storage statement (lib/calculus), or an alias such as "csc".
 * TRA_PROGRAM, saying what is wrong. */
TRA_MUSTUSE tra_status tra_levels_parse(const char *text, int rank, tra_levels *out, tra_err *e);
/* The levels of a storage; false: it is no storage by levels, or has hash levels. */
struct tra_storage;
bool tra_levels_of_storage(const struct tra_storage *s, tra_levels *out);
/* Prints "levels(...)" into buf, which is returned; equal storages give equal texts. */
char *tra_levels_text(const tra_levels *l, char buf[TRA_LEVELTEXT]);
const char *tra_levels_alias(const tra_levels *l); /* its name, such as "csc"; NULL: it has none */
bool tra_levels_dense(const tra_levels *l);        /* are all levels dense? */
bool tra_levels_in_order(
    const tra_levels *l); /* is level i of dimension i for all i? Otherwise entries must be sorted */
bool tra_levels_eq(const tra_levels *a, const tra_levels *b);

/* A matrix that a file has by columns, and whose arrays come transposed, as rows that lie as the columns of the file
 * do: the same levels in the order of these arrays, and how the file has it. */
typedef struct tra_turned_levels {
    tra_levels levels;
    const tra_levels *file_levels;
    const tra_type *file_type;
} tra_turned_levels;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Bytes of scratch that counting or putting an array of so many entries takes: little where the levels are in the order
 * of the dimensions, else room to sort the entries. The second: of an array of at most these extents that is held as
 * rows, whose entries are sorted some columns at a time; NULL: of a dense one. */
int64_t tra_stored_scratch(const tra_levels *l, int64_t entries);
int64_t tra_stored_rows_scratch(const tra_levels *l, int64_t entries, const tra_dims *ext);
/* Counts the positions at each level of the array in a cell: dense, of which elements that are 0 are no entries, or
 * tra_rows. Sets l->n counts. bound: of the catalog, since dense levels of clipped arrays have all positions. */
TRA_MUSTUSE tra_status tra_stored_count(const tra_levels *l, const tra_dims *bound, const tra_cell *cell,
                                        int64_t *counts, void *scratch, tra_err *e);
/* The same for an array that comes panel by panel: cells of tra_rows with the type and extents of the whole, whose rows
 * come after those of the panel before. Only where the levels are in the order of the dimensions. begin: `cell` gives
 * type and extents and needs no block. end sets the counts and frees. */
typedef struct tra_stored_counting tra_stored_counting;
tra_stored_counting *tra_stored_count_begin(const tra_levels *l, const tra_dims *bound, const tra_cell *cell);
void tra_stored_count_panel(tra_stored_counting *c, const tra_cell *panel);
void tra_stored_count_end(tra_stored_counting *c, int64_t *counts);
/* Puts a tuple, of which so many entries are given at once, into a writer that has been placed: whole, or panel by
 * panel. turned: of a matrix by columns, of which transposed arrays are given, that are rows (tra_turned_levels).
 * scratch: of tra_stored_put_room bytes. end completes the tuple unless the status so far, s, is an error; it frees and
 * returns the status. */
typedef struct tra_stored_putting tra_stored_putting;
int64_t tra_stored_put_room(const tra_writer *w, int64_t ordinal, int64_t entries, bool turned);
int64_t tra_stored_turned_room(int64_t rows); /* of that, what a turned matrix of so many rows takes */
tra_stored_putting *tra_stored_put_begin(tra_writer *w, int64_t ordinal, int64_t entries, bool turned, void *scratch);
TRA_MUSTUSE tra_status tra_stored_put_panel(tra_stored_putting *p, const tra_cell *panel, tra_err *e);
TRA_MUSTUSE tra_status tra_stored_put_end(tra_stored_putting *p, tra_status s, tra_err *e);

/* By the creator of a writer with levels: counts[n][levels] of all tuples. Allocates all that is yet to be written, so
 * that the bytes of the file depend on the counts alone. TRA_RESOURCE when the disk is full. */
TRA_MUSTUSE tra_status tra_writer_place(tra_writer *w, const int64_t *counts, tra_err *e);

/* ---- by columns ------------------------------------------------------------------------------------------------- */

/* The transposed matrix of one that tra stored by columns (csc, dcsc): the same keys, with transposed arrays, which are
 * read as they lie in the file; r's arrays must be put in order when they are read. r owns it. NULL: r is no such
 * matrix. Not thread-safe; reading is. */
tra_rel *tra_rel_transposed(tra_rel *r);

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* How the positions of a level are spread over their parents, which are the positions of the level above, in the array
 * of one tuple. */
enum { TRA_LOGS = 32 };
typedef struct tra_spread {
    int64_t parents;        /* parents that have any */
    int64_t entries;        /* positions of all of them */
    int64_t squares;        /* sum over the parents of the square of that; INT64_MAX: or more */
    int64_t most;           /* the most of one parent */
    int64_t span;           /* the largest distance from first to last coordinate of one parent, + 1 */
    int64_t logs[TRA_LOGS]; /* parents that have 2^i or more but fewer than 2^(i+1); the last: or more */
} tra_spread;

typedef struct tra_statistics {
    tra_spread rows;              /* entries over rows (all coordinates but the last), whatever the levels are */
    tra_spread level[TRA_MAXDIM]; /* each level over the one above; all 0 for dense levels */
    bool finite;                  /* no value is NaN or infinite */
} tra_statistics;

/* The statistics of one tuple. TRA_NO: the file has none. Thread-safe. */
TRA_MUSTUSE tra_status tra_rel_statistics(tra_rel *r, int64_t ordinal, tra_statistics *out, tra_err *e);
/* Of the rows of a matrix (d 0) or the columns of a tensor (d its last dimension): lines[i] is how many have 2^i or
 * more but fewer than 2^(i+1) entries, entries[i] how many entries these have. Kept for the next call; not thread-safe.
 * TRA_NO, and nothing is set: entries are not in order, or there are too many lines (2 million) or entries of lines
 * without pointers (2^25). */
tra_status tra_rel_line_histogram(tra_rel *r, int d, double lines[TRA_LOGS], double entries[TRA_LOGS], tra_err *e);
/* The most entries that one of these lines has, by the same counts, which are kept; where there are none, by the
 * statistics of blocks that have whole rows. TRA_NO: neither tells. Not thread-safe. */
tra_status tra_rel_fullest_line(tra_rel *r, int d, int64_t *most, tra_err *e);
/* How many pairs of entries of two matrices have the same coordinate in dimension da of a and db of b, as those have
 * that a[i,k] b[k,j] multiplies (da 1, db 0). Kept for the next call; not thread-safe. TRA_NO: lines of one are not
 * counted. */
tra_status tra_rel_meeting_pairs(tra_rel *a, int da, tra_rel *b, int db, double *out, tra_err *e);

/* An entry of one of several lines: the number of the line, and its coordinate in the other dimension. */
typedef struct tra_line_entry {
    int64_t line, at;
} tra_line_entry;
typedef struct tra_line_entries {
    tra_line_entry *v;
    int64_t n, room;
} tra_line_entries;
/* Adds the entries of some lines of a matrix, in any order: of n rows (d 0) or columns (d 1) whose coordinates ascend.
 * Reads these alone where pointers lead to them, else all coordinates. out->v has room for out->room entries, both the
 * caller's. Coordinates of a damaged file may be outside the matrix. TRA_NO: it is of no such form, has too many
 * entries or blocks, or there is no room; then out may have some. */
TRA_MUSTUSE tra_status tra_rel_line_entries(const tra_rel *r, int d, const int64_t *lines, int64_t n,
                                            tra_line_entries *out, tra_err *e);

bool tra_rel_points_to(const tra_rel *r, int d); /* do pointers lead to the lines of that dimension? */

/* What some lines of a product of matrices have: of the dimension of the result that operand `side` has. */
enum { TRA_SAMPLE_LINES = 64 };
typedef struct tra_product_sample {
    int n;                          /* lines that were looked at; 0: none could be */
    int side;                       /* 0, 1 */
    double of;                      /* lines that there are */
    double pairs[TRA_SAMPLE_LINES]; /* of each: pairs of entries that are multiplied */
    double found[TRA_LOGS + 1];     /* of all of them: entries, if the summed dimension is cut into blocks of 2^i */
    double crowd[TRA_LOGS + 1];     /* of all of them: the most entries in a block of 2^i coordinates of a line */
    bool thin; /* only some places of the lines were looked at: by chance those may have more or less than others */
} tra_product_sample;
/* Samples that are kept with the file of an operand, by what they are of. Not thread-safe. NULL: none is. */
const tra_product_sample *tra_rel_kept_sample(const tra_rel *r, uint64_t key);
void tra_rel_keep_sample(tra_rel *r, uint64_t key, const tra_product_sample *x);

#endif
