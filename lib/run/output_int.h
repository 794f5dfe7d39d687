/* output_int.h - an output file of several ranks, shared by output.c and levels.c. */
#ifndef TRA_OUTPUT_INT_H
#define TRA_OUTPUT_INT_H

#include "../relation/codec.h"
#include "../relation/mapped.h"
#include "../relation/stored.h"
#include "../relation/table_file.h"
#include "output.h"

typedef struct tra_thread_tally { /* what one thread of a rank has written */
    tra_digest digest;
    int64_t arrays, bytes; /* bytes: of the blocks that held the arrays; with a mapping, of its components */
} tra_thread_tally;

enum {
    TRA_TUPLE_MINE = 1,
    TRA_TUPLE_WRITTEN = 2
}; /* of a tuple: this rank is to write it; it has been written, by this run or an earlier one */

struct tra_outfile {
    tra_comm comm;
    tra_type type;            /* of what is written: dense, or like `held` where arrays are counted first */
    tra_type held;            /* of the arrays in memory */
    const tra_levels *levels; /* NULL: each is an array, or rows of a table */
    const tra_mapping_use
        *mapping; /* arrays are packed by it, and wait in scratch, each followed by its number of entries */
    const tra_op *op;
    int ncounts;   /* how many counts each tuple has, which must be known before any tuple has a place: positions of
                      levels, or rows; 0: none */
    tra_writer *w; /* with counts, ranks other than 0 have it only after all tuples are counted */
    tra_engine *engine;
    tra_pool *pool;
    tra_log *log;
    uint8_t *tuple;
    int64_t reused; /* on all ranks */
    tra_digester *digester;
    bool zstd;
    int64_t chunk_bytes;
    int64_t count_room; /* levels: bytes of scratch that each worker has for counting */
    int ntallies;
    tra_thread_tally *tallies; /* of the workers */
    /* Compressed chunks, levels and rows of tables: the place of an array follows from the lengths, or counts, of all
     * arrays before it in key order, so that the file does not depend on timing. Until these are known arrays wait,
     * encoded or as they are: in the journal's data files (by rank), or in an unnamed scratch file. */
    int spool;
    pthread_mutex_t lock;
    int64_t spooled;
    int64_t *spool_at;
    int *spool_file;
    tra_encoded *enc;    /* with counts: lengths and checksums of blocks */
    int counted_dim;     /* the dimension whose extent only the run tells (compact.c); -1: none */
    tra_catalog compact; /* with counted_dim: the catalog of what is written; where the rows of each block begin; */
    int64_t *begin;
    const char *path; /* and arguments for making the writer */
    tra_write_options options;
    int64_t *counts; /* ncounts for each tuple: positions, or rows; 0 for tuples of other ranks */
};

/* The file in which arrays of rank `file` wait; reserves bytes in this rank's. */
int tra_spool_fd(const tra_outfile *o, int file);
int64_t tra_spool_reserve(tra_outfile *o, int64_t len);
/* Gives the other ranks access to the file that rank 0 made. Collective. */
TRA_MUSTUSE tra_status tra_outfile_share(tra_outfile *o, tra_err *e);

/* compact.c: tensors of which only the run tells an extent, whose writer rank 0 makes when all rows are counted. */
int tra_compact_dim(const tra_type *held); /* the dimension; -1: the relation is none such */
TRA_MUSTUSE tra_status tra_compact_check(const tra_op *op, tra_err *e); /* TRA_PROGRAM: it cannot be written */
TRA_MUSTUSE tra_status tra_compact_create(tra_outfile *o, tra_err *e);
TRA_MUSTUSE tra_status tra_compact_put(tra_outfile *o, int64_t t, const tra_cell *c, tra_err *e);
/* After all ranks have written: computes checksums and digest, of some of the chunks on each rank. */
TRA_MUSTUSE tra_status tra_compact_seal(tra_outfile *o, tra_err *e);

int64_t tra_held_entries(const tra_cell *c); /* entries of the array in a cell; of a dense one, its elements */

/* packed.c, for storages that are no levels: packs a tuple's array, which then waits in scratch; counts one that an
 * earlier run left; whether that has the right length. */
int64_t tra_packed_bytes(const tra_outfile *o, int64_t ordinal); /* of the components of one tuple */
TRA_MUSTUSE tra_status tra_packed_wait(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e);
TRA_MUSTUSE tra_status tra_packed_recount(tra_outfile *o, const tra_saved *s, tra_err *e);
bool tra_packed_admits(const tra_outfile *o, int64_t ordinal, int64_t len);
/* Writes an array that waits to its places. */
TRA_MUSTUSE tra_status tra_packed_place(tra_outfile *o, int64_t t, tra_err *e);

/* levels.c: counts a tuple's positions and copies its block to scratch, where it waits; */
TRA_MUSTUSE tra_status tra_levels_put(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e);
/* the same for an array that comes in panels, which it frees; */
TRA_MUSTUSE tra_status tra_levels_put_panels(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_panels *p, tra_err *e);
bool tra_levels_take_panels(const tra_outfile *o);
/* is an array in a block of so many bytes too large for memory, so that it is written some rows at a time? Then these
 * two replace the next two functions; */
bool tra_levels_is_large(const tra_outfile *o, int64_t len);
TRA_MUSTUSE tra_status tra_levels_recount_large(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
TRA_MUSTUSE tra_status tra_levels_put_large(tra_outfile *o, tra_worker *w, int64_t t, tra_err *e);
/* counts the positions of an undamaged array that an earlier run left; */
TRA_MUSTUSE tra_status tra_levels_recount(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
/* writes all arrays to their places, when all are counted. Collective. */
TRA_MUSTUSE tra_status tra_levels_place(tra_outfile *o, tra_err *e);

/* Notes that the array of a tuple waits at `at`, of so many bytes. */
void tra_spool_note(tra_outfile *o, tra_saved *rec, int64_t at, int64_t len, uint64_t sum);

#endif
