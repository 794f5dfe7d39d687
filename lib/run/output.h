/* output.h - an output file written by all ranks, and sinks: where a stage's results go. */
#ifndef TRA_OUTPUT_H
#define TRA_OUTPUT_H

#include "comm.h"
#include "engine.h"

/* Several ranks write one relation. Rank 0 makes the file and allocates; all put arrays at their places; commit makes
 * it appear. open and commit are collective and agree on the status. */
typedef struct tra_outfile tra_outfile;

/* What the threads of a rank need to write, shared by its outputs: one lane for each worker and one for the thread that
 * runs the plan. Grown by tra_outfile_open. */
typedef struct tra_lanes {
    int n;
    size_t scratch, encoded; /* bytes of each */
    void **v;                /* n pairs */
} tra_lanes;
void tra_lanes_free(tra_lanes *l);

TRA_MUSTUSE tra_status tra_outfile_open(const tra_comm *comm, const char *spec, const tra_type *type,
                                        const tra_write_options *o, tra_lanes *lanes, const char *scratch,
                                        tra_outfile **out, tra_err *e);
/* s: this rank's status so far; when any rank failed nothing appears. Frees o. *written: bytes of whole chunks that
 * this rank wrote. */
TRA_MUSTUSE tra_status tra_outfile_commit(tra_outfile *o, tra_status s, int64_t *written, tra_err *e);

/* Where the results of a stage go: a stored part, or a file. */
typedef struct tra_sink {
    tra_part *part;
    tra_outfile *file;
    /* file: of several sites with a copy, one writes (the first holder) */
    const tra_op *op;
    int site;
    tra_pool *pool;
    tra_engine *engine; /* file: what is written is written behind */
} tra_sink;
/* Takes over the pinned block that holds the array of the tuple. */
TRA_MUSTUSE tra_status tra_sink_emit(tra_sink *s, int worker, int64_t ordinal, int summand, tra_block *block,
                                     tra_err *e);

#endif
