/* output_int.h - an output file of several ranks: what outlet.c and the output files share. output.c opens and ends it;
 * output_counted.c has outputs of which all arrays must be counted before any has a place, with what is special of
 * three kinds of them: arrays that come in panels (output_panels.c), that a mapping packs (output_packed.c), and
 * tensors of which only the run tells an extent (output_compact.c). */
#ifndef TRA_OUTPUT_INT_H
#define TRA_OUTPUT_INT_H

#include "../h5/codec.h"
#include "../storage/mapped.h"
#include "../storage/stored.h"
#include "../tablefile/table_file.h"
#include "outlet.h"

typedef struct tra_thread_tally { /* what one thread of a rank has written */
    tra_digest digest;
    int64_t arrays;
    int64_t bytes; /* of the blocks that held them; of what a mapping packs, of its components */
} tra_thread_tally;

/* An array that waits in memory for its place. */
typedef struct tra_held {
    tra_block *block; /* NULL: it does not */
    tra_saved rec;    /* what the journal's record of it will say, but where it is and its checksum */
} tra_held;

/* What this rank knows of a tuple. */
enum {
    TRA_TUPLE_MINE = 1,   /* this rank is to write it */
    TRA_TUPLE_WRITTEN = 2 /* it has been written, by this run or by the one that is resumed */
};

struct tra_outfile {
    tra_comm comm;
    tra_engine *engine;
    tra_pool *pool;
    const tra_op *op;          /* the OUTPUT */
    tra_type memory_type;      /* of the arrays as the run holds them */
    tra_type file_type;        /* of what is written: dense, or as in memory where arrays are counted first */
    tra_writer *writer;        /* where arrays are counted first, only rank 0 has it before all are counted */
    tra_log *log;              /* of the journal; NULL: none */
    uint8_t *tuple_flags;      /* TRA_TUPLE_ of each tuple */
    int64_t reused;            /* tuples that an earlier run has written, on all ranks */
    tra_digester *digester;    /* NULL where rows are digested when they are placed */
    int ntallies;              /* threads, */
    tra_thread_tally *tallies; /* and what each of them has written */
    bool zstd;                 /* chunks are compressed */
    int64_t chunk_bytes;       /* of a dense chunk, before it is compressed */

    /* Outputs of which all arrays are counted before any has a place (output_counted.c), in one of four forms: stored
     * by levels; packed by a mapping; rows of tables; tensors of which only the run tells an extent. */
    int ncounts;                    /* counts of each tuple: positions of levels, or rows; 0: arrays are not counted */
    int64_t *counts;                /* [tuples][ncounts]; 0 for tuples of other ranks */
    int64_t *rows_before;           /* of tables, when all are counted: of each tuple, the rows of those before it */
    const tra_levels *levels;       /* NULL: not stored by levels */
    const tra_mapping_use *mapping; /* NULL: not packed; what is packed is followed by its number of entries */
    uint32_t counted;            /* dimensions (bits) whose extents only the run tells (output_compact.c); 0: none; */
    tra_catalog compact;         /* then the catalog of what is written, */
    int64_t *begins[TRA_MAXDIM]; /* where in the file the blocks begin along each of these, and the extent, */
    const char *scratch;         /* and arguments for making the file; */
    tra_write_options options;
    tra_temp joined; /* and where chunks are not written as they are, the file of rank 0 in which they come together */
    int joined_fd;   /* before that, as this rank has opened it; -1: there is none */
    struct tra_kept_strings *kept; /* of each column, where strings are left out (output_strings.c); NULL: none are */
    tra_arena *strings;            /* of what that takes */
    int64_t count_room;            /* bytes of scratch that each worker has for counting */

    /* The place of a compressed chunk, or of an array that is counted, follows from the lengths or counts of all arrays
     * before it in key order, so that the file does not depend on timing. Until these are known arrays wait, encoded or
     * as they are: in the journal's data files, one for each rank, or in an unnamed scratch file. */
    int spool;            /* the scratch file; -1: the journal's */
    double due;           /* until this time arrays that are counted may wait in memory, */
    tra_held *held;       /* as blocks of the pool (output_held.c); NULL: none may */
    bool saving;          /* a worker saves what waits in memory, or has saved it */
    int64_t spooled;      /* bytes of it that are taken */
    int64_t *spool_at;    /* of each tuple: where it waits, */
    int *spool_file;      /* in the data file of which rank, */
    tra_encoded *encoded; /* of which length and checksum */
    pthread_mutex_t lock; /* guards what threads share: spooled, reused, and the flags of tuples while a run resumes */
};

/* The file in which arrays of rank `file` wait; reserves bytes in this rank's. */
int tra_spool_fd(const tra_outfile *o, int file);
int64_t tra_spool_reserve(tra_outfile *o, int64_t len);
/* Gives the other ranks access to the file that rank 0 made. Collective. */
TRA_MUSTUSE tra_status tra_outfile_share(tra_outfile *o, tra_err *e);

/* output_compact.c: tensors of which only the run tells some extents, whose file is made when all blocks are counted.
 */
TRA_MUSTUSE tra_status tra_compact_check(const tra_op *op, tra_err *e); /* TRA_PROGRAM: it cannot be written */
TRA_MUSTUSE tra_status tra_compact_create(tra_outfile *o, tra_err *e);  /* collective */
TRA_MUSTUSE tra_status tra_compact_put(tra_outfile *o, int64_t t, const tra_cell *c, tra_err *e);
/* After all ranks have put all: computes checksums and digest, of some of the chunks on each rank. */
TRA_MUSTUSE tra_status tra_compact_seal(tra_outfile *o, tra_err *e);
/* The same where chunks have come together in a file of their own: stores them as the program says, by an output of
 * which all is known. Then o has the writer and the digest of that. Collective. */
TRA_MUSTUSE tra_status tra_compact_rewrite(tra_outfile *o, tra_err *e);
void tra_compact_free(tra_outfile *o);
void tra_outfile_free(tra_outfile *o);

int64_t tra_held_entries(const tra_cell *c); /* entries of the array in a cell; of a dense one, its elements */

/* output_packed.c, for storages that are no levels: packs a tuple's array, which then waits in scratch; counts one that
 * an earlier run left; tells whether that has the right length. */
int64_t tra_packed_bytes(const tra_outfile *o, int64_t ordinal); /* of the components of one tuple */
TRA_MUSTUSE tra_status tra_packed_wait(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e);
TRA_MUSTUSE tra_status tra_packed_recount(tra_outfile *o, const tra_saved *s, tra_err *e);
bool tra_packed_admits(const tra_outfile *o, int64_t ordinal, int64_t len);
/* Writes an array that waits to its places. */
TRA_MUSTUSE tra_status tra_packed_place(tra_outfile *o, int64_t t, tra_err *e);

/* output_counted.c: counts a tuple's positions or rows. Its block waits in memory or scratch, and is freed where that
 * fails. */
TRA_MUSTUSE tra_status tra_counted_put(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e);

/* output_held.c: takes the block of a tuple, which waits in memory; false: it does not take it, and it must wait in
 * scratch. When that is due, what waits in memory is saved before. */
bool tra_held_take(tra_outfile *o, tra_worker *w, const tra_saved *rec, tra_block *b);
/* Copies a block to scratch. */
TRA_MUSTUSE tra_status tra_spool_block(tra_outfile *o, tra_saved *rec, const tra_block *b, tra_err *e);
/* Saves what waits in memory in the journal, if there is one. w: NULL for the main thread. */
void tra_held_save(tra_outfile *o, tra_worker *w);
void tra_held_free(tra_outfile *o);
/* Counts an undamaged array that an earlier run left. */
TRA_MUSTUSE tra_status tra_counted_recount(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
/* Writes all arrays to their places, when all are counted. Collective. */
TRA_MUSTUSE tra_status tra_counted_place(tra_outfile *o, tra_err *e);

/* output_strings.c: leaves strings out of dictionaries that have many more than the counted rows of p, which wait.
 * Collective. Then rows that are written need other codes, which the second function makes in the arena. */
TRA_MUSTUSE tra_status tra_strings_cut(tra_outfile *o, tra_part *p, tra_err *e);
void tra_strings_recode(const tra_outfile *o, tra_batch *b, tra_arena *a);

/* output_panels.c: can arrays come in panels? Then these count the panels of a tuple and copy them to scratch, where
 * the list of them is what was saved (tra_saved); put_panels also frees them, and end_panels what begin has made. */
enum { TRA_SAVED_PANELS = 1 }; /* in its mask */
bool tra_counted_takes_panels(const tra_outfile *o);
tra_panels_writing *tra_counted_begin_panels(tra_outfile *o, tra_worker *w, int64_t t);
TRA_MUSTUSE tra_status tra_counted_put_panel(tra_panels_writing *x, const tra_cell *panel, tra_err *e);
TRA_MUSTUSE tra_status tra_counted_end_panels(tra_panels_writing *x, tra_status s, tra_err *e);
TRA_MUSTUSE tra_status tra_counted_put_panels(tra_outfile *o, tra_worker *w, int64_t t, tra_panels *p, tra_err *e);
/* Does an array that is saved so, in a block of so many bytes, take much memory? Then it is counted again, and written
 * to its place, some rows at a time by these two. */
bool tra_counted_is_large(const tra_outfile *o, uint32_t mask, int64_t len);
TRA_MUSTUSE tra_status tra_counted_recount_large(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
TRA_MUSTUSE tra_status tra_counted_place_large(tra_outfile *o, tra_worker *w, int64_t t, tra_err *e);

/* Notes that the array of a tuple waits at `at`, of so many bytes. */
void tra_spool_note(tra_outfile *o, tra_saved *rec, int64_t at, int64_t len, uint64_t sum);

#endif
