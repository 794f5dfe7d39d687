/* pool.h - block buffers under a hard byte budget.
 *
 * A block is a buffer of fixed size whose contents may leave memory: unpinned blocks are evicted, oldest first, when
 * room is needed. Blocks of input files are read again; others are spilled to a scratch file, which has no name (so
 * that nothing is left of it whatever happens). What happens when the budget is used up: the one thread that
 * allocates waits for pinned blocks to be given back; when there is nothing to wait for, it fails with
 * TRA_RESOURCE.
 *
 * Threads: one thread (the one that runs the plan) allocates and pins; any thread loads a block that was marked for it,
 * unpins and frees. What results take whose size only the data tell, the workers take themselves (tra_block_take): they
 * evict and spill as well, but they do not wait. The thread that allocates reserves memory for that beforehand.
 */
#ifndef TRA_POOL_H
#define TRA_POOL_H

#include "../physical/needs.h"
#include "../relation/store.h"

#include <pthread.h>

typedef enum tra_block_state { TRA_BLOCK_AWAY, TRA_BLOCK_LOADING, TRA_BLOCK_HERE } tra_block_state;

typedef struct tra_block {
    void *ptr; /* aligned to 64; valid while pinned */
    int64_t bytes;
    _Atomic tra_block_state state;
    int pins;
    int refs;            /* parts that hold it */
    bool drop_unpinned;  /* a reader asked for TRA_AFTER_DROP: done when the last pin is given back */
    bool evict_unpinned; /* a reader asked for TRA_AFTER_EVICT, and nobody has pinned it since: done likewise */
    bool dirty;          /* the only copy of its contents is in memory */
    bool taken;          /* a worker allocated it, from what is reserved for workers */
    bool spilling;       /* it is being written to scratch, without the pool's lock: whoever wants to pin it waits */
    bool outside;        /* its memory is a mapping of its own: the pool's region was too fragmented */
    bool verified;       /* the copy had its sum when it was first read */
    bool rowless;        /* it is known to be a table without rows */
    int64_t allocated; /* bytes of memory that it has, or had last; more than `bytes` while a chunk is unpacked in it */
    int64_t copy_at;   /* offset of its copy in the file copy_fd; -1: it has no copy */
    int copy_fd;       /* -1: the pool's scratch file; else a file of a checkpoint, which others keep open */
    uint64_t sum;      /* XXH64 of the copy */
    tra_rel *rel;      /* the file it comes from, or NULL */
    double *seconds;   /* of a block of a file: where those of reading it are added */
    int64_t ordinal;
    int64_t chunk_bytes;             /* that reading it from `rel` takes on disk */
    struct tra_block *older, *newer; /* list of what may be evicted */
} tra_block;

/* What a reader that gives its pin back asks to be done with the block. With several readers the strongest request
 * counts, when the last pin is given back. */
typedef enum tra_after {
    TRA_AFTER_KEEP,  /* it stays in memory until the room is needed */
    TRA_AFTER_EVICT, /* it will not be read soon: it leaves memory if it can be read again */
    TRA_AFTER_DROP   /* nothing reads it again: it leaves memory without being spilled, unless another part holds it */
} tra_after;

/* Messages of a pool that is used up have these words, also where another site told of it. */
#define TRA_POOL_OUT "out of block memory"

typedef struct tra_pool tra_pool;
typedef struct tra_pool_stats {
    int64_t budget, used, peak;
    int64_t read, past_cache;   /* bytes of whole chunks read from inputs, and of these past the page cache */
    int64_t spilled, unspilled; /* bytes written to and read from scratch */
    int64_t scratch;            /* the most that the scratch file has held */
    double scratch_seconds;     /* in which threads wrote to it and read from it */
} tra_pool_stats;

/* scratch: directory for the spill file, made when first needed. */
tra_pool *tra_pool_new(int64_t budget, const char *scratch);
/* Uses large pages. To be called before the first block is allocated. Direct writes from large pages are 1.5 times as
 * fast; but where a virtual machine has returned memory to its host, getting large pages back takes long. */
void tra_pool_large_pages(tra_pool *p);
void tra_pool_free(tra_pool *p); /* all blocks must be freed */
tra_pool_stats tra_pool_stat(tra_pool *p);
/* Returns free memory to the system, for others to use. */
void tra_pool_give_back(tra_pool *p);

/* Will something that is under way give memory back when it ends? Asked before waiting, under the pool's lock. */
typedef bool tra_pool_busy_fn(void *ctx);
/* What the thread that allocates does while it waits, a few times a second, without a lock; true: something has
 * changed. *soon becomes true where it is to be called again at once. It may allocate, and so be called from within
 * itself. */
typedef bool tra_pool_meanwhile_fn(void *ctx, bool *soon);
/* Both NULL until they are set. */
void tra_pool_set_busy(tra_pool *p, tra_pool_busy_fn *busy, tra_pool_meanwhile_fn *meanwhile, void *ctx);
/* Could a block of so many bytes be allocated without waiting? clean: and without spilling anything. */
bool tra_pool_has_room(tra_pool *p, int64_t bytes, bool clean);
void tra_pool_wake(tra_pool *p); /* something in flight ended or failed */

/* Is it the error of a pool whose budget is used up, as yet without a statement? False for errors of the system or of
 * the disk. */
bool tra_pool_is_exhausted(tra_status s, const tra_err *e);

/* Allocates a block whose contents the caller will write: pinned, HERE, dirty. */
TRA_MUSTUSE tra_status tra_block_new(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e);
/* Reserves so many bytes for blocks that workers allocate themselves (tra_block_take). Waits for them as tra_block_new
 * does; tra_block_new does not use them until they are released. */
TRA_MUSTUSE tra_status tra_pool_reserve(tra_pool *p, int64_t bytes, tra_err *e);
bool tra_pool_reserve_now(tra_pool *p, int64_t bytes); /* by a worker, without waiting; false: there is no room */
void tra_pool_release(tra_pool *p, int64_t bytes);     /* by any thread */
/* For workers: as tra_block_new, but without waiting. Evicts, and spills, what is not pinned; TRA_RESOURCE when that is
 * not enough. */
TRA_MUSTUSE tra_status tra_block_take(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e);
/* For workers, and a block that nobody else pins: pins it, and reads it back if it was spilled, without waiting. */
TRA_MUSTUSE tra_status tra_block_take_back(tra_pool *p, tra_block *b, tra_err *e);
/* Blocks of cells that are yet to be made (cell.h): what takes one, and what became of it. */
typedef tra_status tra_take_fn(void *ctx, int64_t bytes, tra_block **out, tra_err *e);
typedef struct tra_making {
    tra_taker taker;
    tra_take_fn *fn;
    void *ctx;
    tra_block *block;
    tra_status s;
    tra_err e;
} tra_making;
/* The cell's maker takes its block by fn. */
void tra_making_begin(tra_making *m, tra_cell *c, tra_take_fn *fn, void *ctx);
/* The block, no longer than what was made, or why there is none. */
TRA_MUSTUSE tra_status tra_making_end(tra_making *m, tra_pool *p, const tra_cell *c, tra_block **out, tra_err *e);
/* Counts a block that a worker took as an ordinary block, no longer as part of what is reserved: for results. */
void tra_block_unreserve(tra_pool *p, tra_block *b);

/* A block that stands for a tuple of an input: AWAY. Seconds in which threads read it are added to *seconds. */
tra_block *tra_block_of_file(tra_rel *rel, int64_t ordinal, int64_t bytes, int64_t chunk_bytes, double *seconds);
/* A block whose contents are bytes of an open file, which must outlive it: AWAY. */
tra_block *tra_block_of_saved(int fd, int64_t at, int64_t bytes, uint64_t sum);
/* The contents of the block have also been written to that file: it need not be spilled when it leaves memory. */
void tra_block_saved(tra_pool *p, tra_block *b, int fd, int64_t at, uint64_t sum);
/* Pins; gives it memory when it has none, that of a chunk until it is loaded if it is unpacked there. *load is set when
 * the caller must have tra_block_load called (once): the block is then LOADING. */
TRA_MUSTUSE tra_status tra_block_pin(tra_pool *p, tra_block *b, bool *load, tra_err *e);
/* Reads the contents, which makes the block HERE; scratch is tra_rel_scratch_bytes bytes of the thread's own. On
 * failure the block stays LOADING until its last pin is given back. */
TRA_MUSTUSE tra_status tra_block_load(tra_pool *p, tra_block *b, void *scratch, tra_err *e);
/* Of a block that is LOADING: can it be read past the page cache (tra_rel_can_read_direct)? Then load_direct does. */
bool tra_block_direct(const tra_block *b);
TRA_MUSTUSE tra_status tra_block_load_direct(tra_pool *p, tra_block *b, tra_err *e);
/* The contents of the pinned block were changed, so that its copy in scratch is stale: forgets the copy. */
void tra_block_mark_dirty(tra_pool *p, tra_block *b);
void tra_block_unpin(tra_pool *p, tra_block *b);
/* Unpins, and says what is to be done with the block when its last pin is given back. */
void tra_block_unpin_then(tra_pool *p, tra_block *b, tra_after after);
/* Only the first so many bytes of the pinned block are used: gives the others back. */
void tra_block_shrink(tra_pool *p, tra_block *b, int64_t bytes);
/* Another part holds the block too: its contents must not change any more. */
void tra_block_share(tra_pool *p, tra_block *b);
/* Gives up one part's hold of a block (NULL allowed), and frees it if that was the last. The caller may have it pinned
 * once. Other holders may have it pinned too: an exchange that ends frees what another exchange still sends. */
void tra_block_free(tra_pool *p, tra_block *b);
/* The same for a caller that has not pinned it; if the caller is the last holder nobody may have it pinned. */
void tra_block_release(tra_pool *p, tra_block *b);

#endif
