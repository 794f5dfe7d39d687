/* output.h - an output file written by all ranks, and sinks: where a stage's results go. */
#ifndef TRA_OUTPUT_H
#define TRA_OUTPUT_H

#include "comm.h"
#include "engine.h"
#include "journal.h"
#include "panels.h"

/* Several ranks write one relation. Rank 0 makes the file and allocates; all put arrays at their places; finish does
 * what can fail for want of disk or be stopped, commit makes the files appear. open, finish and commit are collective
 * and agree on the status. Of several sites with a copy of an array the first writes it. With a journal, arrays are
 * recorded as they are written, and those that an earlier run wrote are taken over when their checksums say that they
 * are whole. */
typedef struct tra_outfile tra_outfile;

/* op: the OUTPUT, whose placement says who writes what; held: the layout in which its arrays come, whatever they are
 * stored as. journal may be NULL; scratch: for what waits, then: encoded chunks, and arrays that are stored by levels,
 * until all are counted. */
TRA_MUSTUSE tra_status tra_outfile_open(const tra_comm *comm, const tra_op *op, const tra_layout *held,
                                        const tra_write_options *o, const char *scratch, tra_journal *journal,
                                        tra_engine *engine, tra_pool *pool, tra_outfile **out, tra_err *e);
/* Of how many arrays, on all ranks, an earlier run's were taken over. */
int64_t tra_outfile_reused(const tra_outfile *o);
/* s: this rank's status so far. */
TRA_MUSTUSE tra_status tra_outfile_finish(tra_outfile *o, tra_status s, tra_err *e);
/* Bytes of whole chunks that this rank wrote; by levels, of the blocks in which its arrays were held. */
int64_t tra_outfile_written(const tra_outfile *o);
/* Makes the files appear together (tra_writers_commit). s: the ranks' status so far; unless it is TRA_OK nothing
 * appears; keep: but what was written stays for another run. Collective; frees the files. */
TRA_MUSTUSE tra_status tra_outfiles_commit(tra_outfile *const *files, int n, tra_status s, bool keep,
                                           const tra_commit_note *note, tra_err *e);

/* Where the results of a stage go: a stored part, or a file. */
typedef struct tra_checkpoint tra_checkpoint;
typedef struct tra_outlet {
    tra_part *part;
    tra_outfile *file;
    tra_pool *pool;
    tra_engine *engine;         /* file: for writes in the background */
    tra_checkpoint *checkpoint; /* part: may save results (checkpoint.h) of op; summand: that this site computes */
    const tra_op *op;
    int summand;
    int site;
    int64_t *counted; /* may be NULL: of op's results that no other site counts, rows of tables, and tuples */
} tra_outlet;
/* Need the array of the tuple not be computed, since it is there already or another site writes it? */
bool tra_outlet_has(const tra_outlet *s, int64_t ordinal);
/* Bytes that the block of an array of so many must have: a file takes whole chunks of arrays that are held densely. */
int64_t tra_outlet_bytes(const tra_outlet *s, int64_t bytes);
/* Bytes for writing that a worker needs (tra_worker.io). */
size_t tra_outlet_io(const tra_outlet *s);
/* Takes over the pinned block that holds the array of the tuple. w: the worker; NULL allowed where the sink is a
 * part. */
TRA_MUSTUSE tra_status tra_outlet_emit(tra_outlet *s, tra_worker *w, int64_t ordinal, int summand, tra_block *block,
                                       tra_err *e);
/* Can arrays be written panel by panel? Then: takes over the panels of the tuple, of which no block is shared. */
bool tra_outlet_takes_panels(const tra_outlet *s);
TRA_MUSTUSE tra_status tra_outlet_emit_panels(tra_outlet *s, tra_worker *w, int64_t ordinal, tra_panels *p, tra_err *e);

#endif
