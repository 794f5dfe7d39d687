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
    int64_t arrays, bytes; /* of levels: of blocks as they are held; of a mapping: of its components */
} tra_thread_tally;

enum { TRA_TUPLE_MINE = 1, TRA_TUPLE_WRITTEN = 2 }; /* of a tuple: this rank writes it; it, or an earlier run, has */

struct tra_outfile {
    tra_comm comm;
    tra_type type;                  /* of what is written: dense, or where levels are as the arrays are held */
    tra_type held;                  /* as the arrays come */
    const tra_levels *levels;       /* NULL: each is an array, or rows of a table */
    const tra_mapping_use *mapping; /* arrays are packed, and wait so, with the number of their entries behind them */
    const tra_op *op;
    int ncounts;   /* of each tuple, which are known before any is placed: of levels, of rows; 0: none */
    tra_writer *w; /* with counts all ranks but the first have it when all is counted */
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
    /* zstd, levels: where arrays are follows from the lengths, or counts, of all in key order, so that the file does
     * not depend on timing; rows of tables the same. Until they are known arrays wait, encoded or as they are: in the
     * journal's data files (by rank), or in a nameless scratch file. */
    int spool;
    pthread_mutex_t lock;
    int64_t spooled;
    int64_t *spool_at;
    int *spool_file;
    tra_encoded *enc;    /* with counts: lengths and checksums of blocks */
    int counted_dim;     /* the dimension of which only the run tells the extent (compact.c), -1: none */
    tra_catalog compact; /* then that of what is written, and where the rows of each block begin, */
    int64_t *begin;
    const char *path; /* and what the writer is made with */
    tra_write_options options;
    int64_t *counts; /* ncounts of each tuple: of positions, or rows; 0 of those that others have */
};

/* What waits of a rank is in this file; room in this rank's. */
int tra_spool_fd(const tra_outfile *o, int file);
int64_t tra_spool_reserve(tra_outfile *o, int64_t len);
/* Rank 0's file for the others. Collective. */
TRA_MUSTUSE tra_status tra_outfile_share(tra_outfile *o, tra_err *e);

/* compact.c: tensors of which only the run tells an extent, whose writer rank 0 makes when all rows are counted. */
int tra_compact_dim(const tra_type *held); /* the dimension; -1: the relation is none such */
TRA_MUSTUSE tra_status tra_compact_check(const tra_op *op, tra_err *e); /* TRA_PROGRAM: it cannot be written */
TRA_MUSTUSE tra_status tra_compact_create(tra_outfile *o, tra_err *e);
TRA_MUSTUSE tra_status tra_compact_put(tra_outfile *o, int64_t t, const tra_cell *c, tra_err *e);
/* When all ranks have put theirs: checksums and digest of some of the chunks on each. */
TRA_MUSTUSE tra_status tra_compact_seal(tra_outfile *o, tra_err *e);

int64_t tra_held_entries(const tra_cell *c); /* entries of the array in a cell; of a dense one, its elements */

/* packed.c: of storages that are no levels. Packs a tuple's array, which waits, as levels.c has it; counts one that an
 * earlier run left; is that whole by its length? */
int64_t tra_packed_bytes(const tra_outfile *o, int64_t ordinal); /* of the components of one tuple */
TRA_MUSTUSE tra_status tra_packed_wait(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e);
TRA_MUSTUSE tra_status tra_packed_recount(tra_outfile *o, const tra_saved *s, tra_err *e);
bool tra_packed_admits(const tra_outfile *o, int64_t ordinal, int64_t len);
/* Of one that waits: to its places. */
TRA_MUSTUSE tra_status tra_packed_place(tra_outfile *o, int64_t t, tra_err *e);

/* levels.c: counts a tuple's positions and lets its block wait, which stays the caller's; */
TRA_MUSTUSE tra_status tra_levels_put(tra_outfile *o, tra_worker *w, tra_saved *rec, const tra_block *b, tra_err *e);
/* the same of one that comes in panels, which it takes over; */
TRA_MUSTUSE tra_status tra_levels_put_panels(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_panels *p, tra_err *e);
bool tra_levels_take_panels(const tra_outfile *o);
/* is an array, in a block of so many bytes, put from scratch some rows at a time? Then its counterparts of what is
 * below; */
bool tra_levels_is_large(const tra_outfile *o, int64_t len);
TRA_MUSTUSE tra_status tra_levels_recount_large(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
TRA_MUSTUSE tra_status tra_levels_put_large(tra_outfile *o, tra_worker *w, int64_t t, tra_err *e);
/* counts those of one that an earlier run left, which is whole; */
TRA_MUSTUSE tra_status tra_levels_recount(tra_outfile *o, tra_worker *w, const tra_saved *s, tra_err *e);
/* and puts all to their places, when all are counted. Collective. */
TRA_MUSTUSE tra_status tra_levels_place(tra_outfile *o, tra_err *e);

/* What waits of a tuple, of so many bytes. */
void tra_spool_note(tra_outfile *o, tra_saved *rec, int64_t at, int64_t len, uint64_t sum);

#endif
