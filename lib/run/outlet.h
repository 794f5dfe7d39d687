/* outlet.h - where the results of a stage go: into a stored part, or into an output file. Private to lib/run. */
#ifndef TRA_OUTLET_H
#define TRA_OUTLET_H

#include "output.h"
#include "panels.h"

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
