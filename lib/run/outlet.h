/* outlet.h - where the results of a stage go: into a stored part, or into an output file, which all ranks write
 * together (output.c). Private to lib/run. */
#ifndef TRA_OUTLET_H
#define TRA_OUTLET_H

#include "comm.h"
#include "engine.h"
#include "journal.h"
#include "panels.h"

/* An output relation that several ranks write. Rank 0 creates the file and allocates chunks; all ranks write arrays to
 * their places. finish does all that may fail or be stopped (a full disk); commit then makes the files appear. open,
 * finish and commit are collective and agree on the status. Of several sites with a copy of an array the first writes
 * it. With a journal, arrays are recorded as they are written, and those that an earlier run wrote are taken over if
 * their checksums are right. */
typedef struct tra_outfile tra_outfile;

/* op: the OUTPUT, whose placement says which site writes which tuple; held: the layout of the arrays in memory, which
 * may differ from that in the file. journal may be NULL; then encoded chunks, and arrays that must all be counted
 * before they have a place, wait in an unnamed file of the directory `scratch`. So many seconds from now on the
 * latter may wait in memory, and would be lost if the run were killed. */
TRA_MUSTUSE tra_status tra_outfile_open(const tra_comm *comm, const tra_op *op, const tra_layout *held,
                                        const tra_write_options *o, const char *scratch, tra_journal *journal,
                                        double seconds, tra_engine *engine, tra_pool *pool, tra_outfile **out,
                                        tra_err *e);
/* How many arrays of an earlier run were taken over, on all ranks. */
int64_t tra_outfile_reused(const tra_outfile *o);
/* s: this rank's status so far. */
TRA_MUSTUSE tra_status tra_outfile_finish(tra_outfile *o, tra_status s, tra_err *e);
/* Bytes that this rank wrote: of whole chunks, or where arrays are counted first, of the blocks that held them. */
int64_t tra_outfile_written(const tra_outfile *o);
/* Those that this rank has written already, at any time. Outputs that are held come when they are put in place. */
int64_t tra_outfile_landed(const tra_outfile *o);
/* Makes the files appear together (tra_writers_commit). s: the ranks' status so far; unless it is TRA_OK nothing
 * appears. keep: what was written then stays for a run that resumes. Collective; frees the files. */
TRA_MUSTUSE tra_status tra_outfiles_commit(tra_outfile *const *files, int n, tra_status s, bool keep,
                                           const tra_commit_note *note, tra_err *e);

/* ---- outlets ----------------------------------------------------------------------------------------------------- */

typedef struct tra_checkpoint tra_checkpoint;
typedef struct tra_outlet {
    tra_part *part;    /* either a part, */
    tra_outfile *file; /* or a file */
    tra_pool *pool;
    tra_engine *engine;         /* with a file: writes in the background */
    tra_checkpoint *checkpoint; /* with a part: may save results (checkpoint.h) */
    const tra_op *op;           /* whose results these are */
    int summand;                /* the number of the summand that this site computes */
    int site;                   /* this site */
    int64_t *counted; /* two counts, or NULL: of the results that this site is to count, the rows of tables and the
                         tuples */
} tra_outlet;

/* Is the array of the tuple not wanted from this stage, since it exists already or another site writes it? */
bool tra_outlet_has(const tra_outlet *s, int64_t ordinal);
/* Bytes of the block for an array of so many bytes: dense arrays are written to files as whole chunks. */
int64_t tra_outlet_bytes(const tra_outlet *s, int64_t bytes);
/* Bytes for writing that a worker needs (tra_worker.io). */
size_t tra_outlet_io(const tra_outlet *s);
/* Hands over the array of a tuple, in a pinned block that the outlet owns from then on. w: the worker; may be NULL if
 * the outlet is a part. */
TRA_MUSTUSE tra_status tra_outlet_emit(tra_outlet *s, tra_worker *w, int64_t ordinal, int summand, tra_block *block,
                                       tra_err *e);
/* Can arrays be written panel by panel? If so, tra_outlet_emit_panels hands over the panels of a tuple, whose blocks
 * must not be shared. */
bool tra_outlet_takes_panels(const tra_outlet *s);
TRA_MUSTUSE tra_status tra_outlet_emit_panels(tra_outlet *s, tra_worker *w, int64_t ordinal, tra_panels *p, tra_err *e);
/* The same panel by panel, in their order, for a tuple that the outlet does not have: pinned blocks that the outlet
 * owns from then on. end: s is how far the caller came. */
typedef struct tra_panels_writing tra_panels_writing;
tra_panels_writing *tra_outlet_begin_panels(tra_outlet *s, tra_worker *w, int64_t ordinal);
TRA_MUSTUSE tra_status tra_outlet_put_panel(tra_panels_writing *p, tra_block *panel, tra_err *e);
TRA_MUSTUSE tra_status tra_outlet_end_panels(tra_panels_writing *p, tra_status s, tra_err *e);

#endif
