/* output_int.h - an output file of several ranks: what outlets, output.c, which opens and ends it, and its sinks share.
 */
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

/* An array that waits for its place (output_held.c). */
typedef struct tra_held {
    tra_block **v; /* what it is held in: several blocks where it came in panels; from malloc */
    int n, cap;    /* n 0: it does not wait */
    bool saved;    /* the journal has a record of it */
    tra_saved rec; /* what that says, or will say */
} tra_held;

/* What this rank knows of a tuple. */
enum {
    TRA_TUPLE_MINE = 1,   /* this rank is to write it */
    TRA_TUPLE_WRITTEN = 2 /* it has been written, by this run or by the one that is resumed */
};

/* Where the arrays of an output go (sink_of in output.c): one for each way of storing. Chunks go to their places as
 * they come, or encoded when the lengths of all are known. Of the other sinks, the places of an array follow from the
 * counts of all arrays before it: so each is counted when it is made, and then waits; when all are counted they are
 * placed, and written. */
typedef struct tra_output_sink {
    /* Takes an array in a pinned block, which it owns from then on. */
    tra_status (*put)(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e);
    /* Sets the counts of a tuple, by its block. */
    tra_status (*count)(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, tra_err *e);
    /* Gives all tuples their places, by o->counts, on rank 0. */
    tra_status (*place)(tra_outfile *o, tra_err *e);
    /* Writes an array to its places. */
    tra_status (*write)(tra_outfile *o, tra_worker *w, tra_held *x, tra_err *e);
} tra_output_sink;
extern const tra_output_sink tra_sink_chunks, tra_sink_levels, tra_sink_packed, tra_sink_rows, tra_sink_compact;

struct tra_outfile {
    tra_comm comm;
    tra_engine *engine;
    tra_pool *pool;
    const tra_op *op; /* the OUTPUT */
    const tra_output_sink *sink;
    tra_type memory_type;      /* of the arrays as the run holds them */
    tra_type file_type;        /* of what is written: dense, or as in memory where arrays are counted first */
    tra_writer *writer;        /* where arrays are counted first, only rank 0 has it before all are counted */
    tra_log *log;              /* of the journal; NULL: none */
    uint8_t *tuple_flags;      /* TRA_TUPLE_ of each tuple */
    int64_t reused;            /* tuples that an earlier run has written, on all ranks */
    tra_digester *digester;    /* NULL where rows are digested when they are placed */
    _Atomic int64_t landed;    /* bytes of chunks that are in the file already; workers add to it */
    int ntallies;              /* threads, */
    tra_thread_tally *tallies; /* and what each of them has written */
    bool zstd;                 /* chunks are compressed */
    int64_t chunk_bytes;       /* of a dense chunk, before it is compressed */

    /* Outputs of which all arrays are counted before any has a place: */
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
    struct tra_kept_strings *kept;  /* of each column, where strings are left out (output_strings.c); NULL: none are */
    tra_arena *strings;             /* of what that takes */
    struct tra_string_words *words; /* of strings that are not in memory, for the digest; NULL: there are none */
    int64_t count_room;             /* bytes of scratch that each worker has for counting */
    tra_held *held;                 /* of each tuple: its array that waits; NULL: none do */
    int64_t waits;                  /* bytes of these that may stay in memory alone, */
    _Atomic int64_t waiting;        /* that asked to stay; some had no room */
    double due;                     /* until this time these may wait in memory alone, */
    bool saving;                    /* a worker saves what waits in memory, or has saved it */

    /* Encoded chunks wait, each at its place here, and arrays that are counted where memory is short: in the journal's
     * data files, one for each rank, or in an unnamed scratch file. */
    int spool;            /* the scratch file; -1: the journal's */
    int64_t spooled;      /* bytes of it that are taken */
    int64_t *spool_at;    /* of each encoded chunk: where it waits, */
    int *spool_file;      /* in the data file of which rank, */
    tra_encoded *encoded; /* of which length and checksum */
    pthread_mutex_t lock; /* guards what threads share: spooled, reused, held, and the flags while a run resumes */
};

/* output.c: the file in which arrays of rank `file` wait; reserves bytes in this rank's; opens the file that rank 0
 * made on the other ranks (collective). */
int tra_spool_fd(const tra_outfile *o, int file);
int64_t tra_spool_reserve(tra_outfile *o, int64_t len);
TRA_MUSTUSE tra_status tra_outfile_share(tra_outfile *o, tra_err *e);
void tra_outfile_free(tra_outfile *o);

/* output_chunks.c: bytes of a worker's io memory in which an array becomes a dense chunk; 0: it is one already. Takes
 * over a chunk that an earlier run left, whose checksum is right, if it is where it may be. When all are put, brings
 * those that are encoded to their places (collective). */
int64_t tra_chunks_room(const tra_outfile *o);
bool tra_chunks_take(tra_outfile *o, const tra_saved *s);
TRA_MUSTUSE tra_status tra_chunks_place(tra_outfile *o, tra_err *e);

/* output_held.c: arrays that wait for their places. put: counts the array of a tuple, as a sink's put. hold: takes a
 * pinned block of an array (NULL: it is in scratch, as its record says), or frees it after a failure. end_hold: all
 * blocks of the array have been taken; s: the status so far. */
TRA_MUSTUSE tra_status tra_held_put(tra_outfile *o, tra_worker *w, tra_saved *rec, tra_block *b, tra_err *e);
TRA_MUSTUSE tra_status tra_held_end(tra_outfile *o, tra_held *x, tra_status s, tra_err *e);
/* Writes bytes to scratch, and sets what the record says of that. */
TRA_MUSTUSE tra_status tra_held_write(tra_outfile *o, tra_saved *rec, const void *bytes, int64_t n, tra_err *e);
/* Takes over and counts an array that an earlier run left undamaged in this file; *taken: it is. */
TRA_MUSTUSE tra_status tra_held_take(tra_outfile *o, tra_worker *w, int fd, const tra_saved *s, bool *taken,
                                     tra_err *e);
/* Saves what waits in memory in the journal, if there is one. w: NULL for the main thread. */
void tra_held_save(tra_outfile *o, tra_worker *w);
/* Pins a block that waits, as a worker does, or (w NULL) the main thread. */
TRA_MUSTUSE tra_status tra_held_pin(tra_outfile *o, tra_worker *w, tra_block *b, tra_err *e);
/* Calls fn for each block of the array, pinned; it is freed then, if it is not to be kept. */
typedef tra_status tra_held_fn(tra_outfile *o, tra_worker *w, int64_t t, const tra_block *b, void *ctx, tra_err *e);
TRA_MUSTUSE tra_status tra_held_each(tra_outfile *o, tra_worker *w, tra_held *x, tra_after after, tra_held_fn *fn,
                                     void *ctx, tra_err *e);
/* Writes all arrays to their places, when all are counted. Collective. */
TRA_MUSTUSE tra_status tra_held_place(tra_outfile *o, tra_err *e);
void tra_held_free(tra_outfile *o);

/* output_sinks.c: bytes of the components of a tuple. */
int64_t tra_packed_bytes(const tra_outfile *o, int64_t ordinal);

/* output_compact.c: tensors of which only the run tells some extents, whose file is made when all blocks are counted.
 */
TRA_MUSTUSE tra_status tra_compact_check(const tra_op *op, tra_err *e); /* TRA_PROGRAM: it cannot be written */
/* After all ranks have put all: computes checksums and digest, of some of the chunks on each rank. */
TRA_MUSTUSE tra_status tra_compact_seal(tra_outfile *o, tra_err *e);
/* The same where chunks have come together in a file of their own: stores them as the program says, by an output of
 * which all is known. Then o has the writer and the digest of that. Collective. */
TRA_MUSTUSE tra_status tra_compact_rewrite(tra_outfile *o, tra_err *e);
void tra_compact_free(tra_outfile *o);

/* output_strings.c: leaves strings out of dictionaries that have many more than the counted rows, which wait.
 * Collective. Then rows that are written need other codes, which the second function makes in the arena. */
TRA_MUSTUSE tra_status tra_strings_cut(tra_outfile *o, tra_err *e);
void tra_strings_recode(const tra_outfile *o, tra_batch *b, tra_arena *a);

#endif
