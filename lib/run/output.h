/* output.h - output files that all ranks write together. Private to lib/run. */
#ifndef TRA_OUTPUT_H
#define TRA_OUTPUT_H

#include "comm.h"
#include "engine.h"
#include "journal.h"

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
/* Makes the files appear together (tra_writers_commit). s: the ranks' status so far; unless it is TRA_OK nothing
 * appears. keep: what was written then stays for a run that resumes. Collective; frees the files. */
TRA_MUSTUSE tra_status tra_outfiles_commit(tra_outfile *const *files, int n, tra_status s, bool keep,
                                           const tra_commit_note *note, tra_err *e);

#endif
