/* constants.h - the constants of the memory model: what a process takes besides blocks, and how much the executor has
 * under way at once. One table for the planner, which predicts by it, and the executor, which keeps to it. Bytes unless
 * said; "measured" is what a process with small blocks held, less than what is charged for it.
 */
#ifndef TRA_CONSTANTS_H
#define TRA_CONSTANTS_H

enum {
    /* a process */
    TRA_PROCESS = (16 << 20) + (512 << 10),     /* code and libraries, two files open, before it plans: 13 to 15 MiB */
    TRA_PROCESS_MPI = (27 << 20) + (512 << 10), /* the same with MPI: 24 to 26 MiB measured */
    TRA_FILES_INCLUDED = 2,                     /* files whose HDF5 caches those two include */
    TRA_FILE_CACHE = 640 << 10,                 /* HDF5's cache of each other file: 600 KiB measured */
    TRA_COLUMN_CACHE = 34 << 10,                /* the same of a column of a table: 30 to 34 KiB measured, */
    TRA_COLUMNS_CACHED = 64,                    /* of at most so many columns of a file, beyond */
    TRA_COLUMNS_INCLUDED = 64,                  /* so many of all files, which TRA_PROCESS includes */
    TRA_PLAN_OF_RUN = 2 << 20,                  /* a plan and its bookkeeping, besides what each tuple takes */
    TRA_PLAN_OF_RUN_MPI = 5 << 20,              /* the same with the buffers of messages */
    TRA_WORKER = 2 << 20,                       /* stack, and what the library of C keeps: 0.2 to 1 MiB measured */
    TRA_PACKER = 3 << 20,        /* of one that computes products: packing buffers, with that 3 to 4.5 MiB */
    TRA_OPERATOR = 2 << 10,      /* what running an operator leaves, whether or not its tuples do */
    TRA_TUPLE = 130,             /* place and key of a tuple; the same again in a file's index */
    TRA_SMALL_PROGRAM = 2 << 20, /* of what planning takes, the part that TRA_PROCESS includes */

    /* blocks */
    TRA_PAGE = 4096,
    TRA_CACHE_LINE = 64,        /* small blocks share a page in slots of whole lines, one line being the page's own */
    TRA_LEAST_BUDGET = 1 << 16, /* for blocks, however small these are */
    TRA_LITTLE = 1 << 20, /* for a result of unknown size memory is planned for its bound, if that is at most this */

    /* in flight at once */
    TRA_LOOKAHEAD = 64,             /* units that are queued before the main thread waits; */
    TRA_LOOKAHEAD_BYTES = 16 << 20, /* the same by the bytes of their inputs, once each worker has a unit */
    TRA_STRIP_BYTES = 32 << 20,     /* of a result that is made and written in strips, if a row takes no more */
    TRA_HELD_SHARE = 8,             /* of all blocks' memory: what copies of terms that wait take, as a divisor */
    TRA_WRITES = 8,                 /* results that wait to be written in the background */
    TRA_WINDOW = 8 << 20,           /* of an exchange: enough to keep the network busy */
    TRA_PIECE_QUEUED = 448,         /* the record of a piece of a result while its unit is queued, */
    TRA_PIECE_GATHERED = 808,       /* and while a worker makes the result */
    TRA_LISTED = 120,               /* the record of an operand's tuple, while a join lists its pairs */
    TRA_PIECES_INCLUDED = 4096,     /* so many of these records are part of TRA_PLAN_OF_RUN */
    TRA_TRANSFERS = 64,             /* of an exchange that overlaps stages which lack memory, at most */
    TRA_BATCHES = 8,                /* of a repartition that overlaps the stage which reads its results */
};

#endif
