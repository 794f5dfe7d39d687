/* import_dense_int.h - what import.c (the job: streams, storages) and import_panels.c (dense blocks, panel by panel)
 * share.
 */
#ifndef TRA_IMPORT_DENSE_INT_H
#define TRA_IMPORT_DENSE_INT_H

#include "formats.h"

#include "../lib/base/crew.h"
#include "../lib/relation/block.h"
#include "entries.h"
#include "import_int.h"
#include "nonzeros.h"

typedef struct panel {
    tra_dims start, count; /* storage coordinates */
    tra_dims first, grid;  /* first block's key; blocks along each dimension: tensor coordinates */
    char *data;
} panel;

typedef struct import_worker {
    char *room;          /* what follows is in it */
    char *block;         /* the source's type; where the relation's is another */
    char *chunk;         /* of the relation's type, padded */
    char *encoded, *tmp; /* compressed; scratch */
    tra_digest digest;
    int64_t nan, inf;
    tra_losses loss;
} import_worker;

typedef struct import {
    const tra_import_job *job;
    tra_source *source;
    tra_arena *arena;
    tra_dtype dtype;         /* of the relation; the source's may be another */
    tra_dims block, storage; /* block extents; the tensor's extents in storage coordinates */
    tra_catalog cat;
    tra_type type;
    tra_writer *writer;
    int64_t ceiling; /* of the process */
    int64_t memory;  /* for panels and workers; once they are laid out, for panels */
    panel panels[2];
    int npanels;
    void *box_room; /* the reader's, unless a worker lends its own */
    tra_dims group; /* extents of a panel, storage coordinates */
    panel *present; /* that the crew works on */
    import_worker *workers;
    int nworkers;
    tra_crew *crew;
    int spool; /* the scratch file, or -1 */
    char *where;
    tra_flat spooled;
    int64_t spilled;
    tra_sorter_counts sorted;
    bool nonzeros; /* only elements that are not 0 are wanted */
} import;

enum { TRA_IMPORT_READERS = 4 << 20 }; /* what the buffers of readers take at most, of an eighth of the memory */

/* Bytes of the least panel and one worker. */
typedef struct needs {
    int64_t least, one;                  /* elements and bytes of a panel */
    int64_t chunk, block, room, context; /* of a worker, of which the first two are parts of its room */
    int64_t held, box;                   /* of the source */
    bool lend;                           /* the worker's room to the reader: they take turns */
} needs;

/* Dense blocks of the entries of a coordinate file. */
TRA_MUSTUSE tra_status tra_import_store_entries(import *m, tra_err *e);
/* Do the panels follow each other in storage order without gaps? */
bool tra_import_panels_run_on(const import *m);
needs tra_import_needs_of(const import *m);
/* A refusal says which smaller blocks of a tensor of that shape would fit, if any. */
TRA_MUSTUSE tra_status tra_import_check_needs(const import *m, const needs *n, const tra_dims *shape, tra_err *e);
TRA_MUSTUSE tra_status tra_import_lay_out(import *m, tra_err *e);
TRA_MUSTUSE tra_status tra_import_run_panels(import *m, tra_err *e);

#endif
