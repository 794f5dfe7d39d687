/* import_dense_int.h - what import.c (the job: streams, storages) and import_panels.c (dense blocks, panel by panel)
 * share.
 */
#ifndef TRA_IMPORT_DENSE_INT_H
#define TRA_IMPORT_DENSE_INT_H

#include "formats.h"

#include "../lib/base/crew.h"
#include "../lib/model/block.h"
#include "entries.h"
#include "import_int.h"
#include "nonzeros.h"

/* A box of whole blocks that is read at once. */
typedef struct panel {
    tra_dims start, count; /* the box, in storage coordinates */
    tra_dims first, grid;  /* key of its first block, and blocks along each dimension, in tensor coordinates */
    char *data;
} panel;

typedef struct import_worker {
    char *room;          /* the memory in which the next four are */
    char *block;         /* a block in the source's type; NULL where the relation has the same type */
    char *chunk;         /* a block in the relation's type, padded to a whole chunk */
    char *encoded, *tmp; /* the compressed chunk, and scratch for compressing */
    tra_digest digest;
    int64_t nan, inf;
    tra_losses loss;
} import_worker;

typedef struct dense_import {
    const tra_import_job *job;
    tra_source *source;
    tra_arena *arena;
    tra_dtype dtype;         /* of the relation; the source may have another one */
    tra_dims block, storage; /* extents of a block; extents of the tensor in storage coordinates */
    tra_catalog cat;
    tra_type type;
    tra_writer *writer;
    int64_t ceiling; /* of the process */
    int64_t memory;  /* bytes for panels and workers; when the workers have theirs, for panels */
    panel panels[2];
    int npanels;
    void *box_room;        /* the reader's scratch, unless a worker lends its room */
    tra_dims panel_extent; /* extents of a full panel, in storage coordinates */
    panel *current;        /* the panel that the crew works on */
    import_worker *workers;
    int nworkers;
    tra_crew *crew;
    int spool;        /* the scratch file that has the elements of a stream, or -1 */
    char *where;      /* its directory, for messages */
    tra_flat spooled; /* how to read it by boxes */
    int64_t spilled;  /* bytes written to it, or to the sorter's scratch file */
    tra_sorter_counts sorted;
} dense_import;

/* Buffers of readers take an eighth of the memory, but at most so many bytes. */
enum { TRA_IMPORT_READERS = 4 << 20 };

/* What the smallest panel and one worker need, in bytes. */
typedef struct import_needs {
    int64_t panel_elements, panel_bytes;
    int64_t chunk, block, room, context; /* of the worker; its room includes chunk and block */
    int64_t held, box;                   /* of the source: what it keeps, and its scratch for boxes */
    bool lend_room; /* memory is short: the worker lends its room to the reader, and they take turns */
} import_needs;

/* Sorts the entries of a coordinate file and stores them as dense blocks. */
TRA_MUSTUSE tra_status tra_import_store_entries(dense_import *m, tra_err *e);
/* Do the panels follow each other in storage order without gaps? */
bool tra_import_panels_contiguous(const dense_import *m);
/* What the import needs with the blocks that m has. */
import_needs tra_import_needs(const dense_import *m);
/* TRA_RESOURCE when that is more than the ceiling allows; the message says which smaller blocks of a tensor of that
 * shape would fit, if any. */
TRA_MUSTUSE tra_status tra_import_check_needs(const dense_import *m, const import_needs *n, const tra_dims *shape,
                                              tra_err *e);
/* Divides the memory: sets the number of workers and panels and the extents of a panel, and allocates all of them. */
TRA_MUSTUSE tra_status tra_import_lay_out(dense_import *m, tra_err *e);
/* Reads and stores all panels. */
TRA_MUSTUSE tra_status tra_import_run_panels(dense_import *m, tra_err *e);

#endif
