/* stored.h - relations whose arrays are stored by levels: what they are, and writing their files. (man tra-storage.5)
 *
 * A storage by levels says for each dimension of an array, in an order, how its coordinates are kept: all of them
 * (dense), those that have entries (sparse), or one for each of the level above (singleton: coo's later ones). What a
 * level has are its positions, each below one of the level above; the values are those of the last level. csr is
 * (dense, sparse), csc the same in the order [1, 0]. A storage is known by its levels alone; names are a table of
 * aliases.
 *
 * Such a relation is a group of datasets, a valid binsparse tensor (man tra-relation.5): where a tuple's slice of a
 * dataset begins follows from the positions that each tuple has at each level. So whoever writes counts first:
 *
 *   tra_writer_create    with options.levels; makes the group alone
 *   tra_stored_count     of each tuple, by whoever has its array, which then waits somewhere
 *   tra_writer_place     the creator, once, with the counts of all: makes the datasets and allocates them at once
 *   tra_writer_describe, tra_writer_attach   as for others, but after tra_writer_place
 *   tra_writer_put       each tuple, from any thread of any process: its slices go to their places
 *   tra_writer_pack      codec zstd: the creator, when all is put and the others have synced (tra_writer_sync)
 *   tra_writer_sums, tra_writer_nsums        added up over the processes: checksums and statistics
 *   tra_writers_commit   as for others, together with them
 *
 * Reading is store.h's: the type of such a relation is sparse, its layout tra_rows, and its entries are known: exactly
 * (of and rows for each tuple) of files that tra wrote. Of files of other programs nothing is known but bounds (of is
 * NULL): their duplicates are added while they are read. tra_rel_read fills the block of a tuple as a cell of the type,
 * of at most tra_type_bytes(type, ordinal).bound.
 */
#ifndef TRA_STORED_H
#define TRA_STORED_H

#include "cell.h"
#include "store.h"

typedef enum tra_level { TRA_LEVEL_DENSE, TRA_LEVEL_SPARSE, TRA_LEVEL_SINGLETON } tra_level;

/* Level i keeps the coordinates of array dimension order[i]. A singleton follows a sparse level or a singleton. */
typedef struct tra_levels {
    int n; /* the rank of the arrays, at least 1 */
    tra_level kind[TRA_MAXDIM];
    int8_t order[TRA_MAXDIM];
} tra_levels;

enum { TRA_LEVELTEXT = 512 };
/* "levels(dense, sparse) order [1, 0]", as a storage statement has it (lib/calculus), or a name of the library such as
 * "csc". TRA_PROGRAM with what is wrong. */
TRA_MUSTUSE tra_status tra_levels_parse(const char *text, int rank, tra_levels *out, tra_err *e);
/* The levels of a storage; false: it has none, or hash levels. */
struct tra_storage;
bool tra_levels_of_storage(const struct tra_storage *s, tra_levels *out);
/* The first of these forms, into buf, which is returned: equal for equal storages. */
char *tra_levels_text(const tra_levels *l, char buf[TRA_LEVELTEXT]);
const char *tra_levels_alias(const tra_levels *l); /* of the library; NULL: it has none */
bool tra_levels_dense(const tra_levels *l);        /* all levels are: then a relation is stored as a dataset */
bool tra_levels_in_order(const tra_levels *l);     /* level i is of dimension i: else entries are sorted for it */
bool tra_levels_eq(const tra_levels *a, const tra_levels *b);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Bytes of scratch with which an array of so many entries is counted, and put: a little where the levels are in the
 * order of the dimensions, else room to sort the entries. */
int64_t tra_stored_scratch(const tra_levels *l, int64_t entries);
/* Positions at each level of the array in a cell, dense (of which what is 0 is no entry) or tra_rows: l->n numbers.
 * bound: of the type's catalog, since dense levels of clipped arrays have all positions. scratch as above. */
TRA_MUSTUSE tra_status tra_stored_count(const tra_levels *l, const tra_dims *bound, const tra_cell *cell,
                                        int64_t *counts, void *scratch, tra_err *e);
/* The same of an array that comes panel by panel: cells of tra_rows, of its type and extents, each with rows that come
 * after those of the one before. Where the levels are in the order of the dimensions; no scratch. `cell`: of that type;
 * it needs no block. end frees. */
typedef struct tra_stored_counting tra_stored_counting;
tra_stored_counting *tra_stored_count_begin(const tra_levels *l, const tra_dims *bound, const tra_cell *cell);
void tra_stored_count_panel(tra_stored_counting *c, const tra_cell *panel);
void tra_stored_count_end(tra_stored_counting *c, int64_t *counts);
/* Of a writer that is placed: puts a tuple so, as tra_writer_put does, with so many bytes of scratch. end frees; s: the
 * status so far. */
typedef struct tra_stored_putting tra_stored_putting;
int64_t tra_stored_panels_scratch(const tra_writer *w, int64_t ordinal);
tra_stored_putting *tra_stored_put_begin(tra_writer *w, int64_t ordinal, void *scratch);
TRA_MUSTUSE tra_status tra_stored_put_panel(tra_stored_putting *p, const tra_cell *panel, tra_err *e);
TRA_MUSTUSE tra_status tra_stored_put_end(tra_stored_putting *p, tra_status s, tra_err *e);

/* Of a writer with levels, by its creator: the counts of all tuples, [n][levels]. Allocates all that is yet to be
 * written, so that the bytes of the file depend on the counts alone. TRA_RESOURCE when the disk has no room. */
TRA_MUSTUSE tra_status tra_writer_place(tra_writer *w, const int64_t *counts, tra_err *e);

/* Of a writer with levels, or of a table, and codec zstd, by its creator, when all has been put and synced
 * (tra_writer_sync by the other processes): makes the chunks, by so many threads. The bytes of the file depend neither
 * on these nor on who put what. Of other writers nothing. The commit does it where nobody has, by one thread. And the
 * bytes that it takes for a relation of that type. */
TRA_MUSTUSE tra_status tra_writer_pack(tra_writer *w, int workers, tra_err *e);
/* The same by so many threads at most, and as many as fit that memory, but one. */
TRA_MUSTUSE tra_status tra_writer_pack_within(tra_writer *w, int workers, int64_t memory, tra_err *e);
int64_t tra_pack_bytes(const tra_type *t, int level, int workers);

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* How entries are spread over what they are below, in the array of one tuple. */
enum { TRA_LOGS = 32 };
typedef struct tra_spread {
    int64_t parents;        /* that have any */
    int64_t entries;        /* positions below them */
    int64_t squares;        /* sum over the parents of the square of what they have; INT64_MAX: or more */
    int64_t most;           /* of one parent */
    int64_t span;           /* the largest distance between the first and the last coordinate below a parent, + 1 */
    int64_t logs[TRA_LOGS]; /* parents that have 2^i or more, but fewer than 2^(i+1); the last: or more */
} tra_spread;

typedef struct tra_statistics {
    tra_spread rows;              /* over the rows: all coordinates but the last, whatever the levels are */
    tra_spread level[TRA_MAXDIM]; /* over the positions of the level above; of dense levels all 0 */
    bool finite;                  /* no value is NaN or infinite */
} tra_statistics;

/* Of a stored relation that tra wrote, of one tuple; TRA_NO: the file has none. Thread-safe. */
TRA_MUSTUSE tra_status tra_rel_statistics(tra_rel *r, int64_t ordinal, tra_statistics *out, tra_err *e);
/* Entries at each last coordinate of the tuple's array, as many as its last extent. The file keeps them where the tuple
 * has as many entries as that; of fewer they are counted. TRA_NO: neither can be had. */
TRA_MUSTUSE tra_status tra_rel_columns(tra_rel *r, int64_t ordinal, uint32_t *out, tra_err *e);
/* Of all tuples together, whose last dimension is not cut: how many columns have 2^i or more entries, but fewer than
 * 2^(i+1), and their entries. Kept for the next call; not thread-safe. TRA_NO, and nothing is set: as tra_rel_columns,
 * or there are more than some millions. */
tra_status tra_rel_column_logs(tra_rel *r, double columns[TRA_LOGS], double entries[TRA_LOGS], tra_err *e);
/* Pairs of entries of two matrices that meet in a[i,k] b[k,j]: over all k those of a with the last coordinate k times
 * those of b in row k. By counts of columns and by pointers, of which b is to have those of rows. Kept for the next
 * call; not thread-safe. TRA_NO: as above, or b is stored otherwise. */
tra_status tra_rel_products(tra_rel *a, tra_rel *b, double *out, tra_err *e);

#endif
