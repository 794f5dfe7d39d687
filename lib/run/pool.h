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
    bool drop_unpinned;  /* its last reader has left it, while another had it pinned */
    bool evict_unpinned; /* the same of one that will not want it soon, and nobody has pinned it since */
    bool dirty;          /* the only copy of its contents is in memory */
    bool taken;          /* by a worker: its memory is of what is reserved for that */
    bool spilling;       /* without the lock held; who wants it waits */
    bool mapped;         /* apart from the region, which was too fragmented */
    int64_t held;        /* bytes of memory that it has, or had last: more than its own while it is loaded, perhaps */
    int64_t spill;       /* where in the scratch file, -1: nowhere */
    int file;            /* -1: the pool's scratch file is meant; else one that others keep open */
    uint64_t sum;        /* XXH64 of what is there */
    tra_rel *rel;        /* the file it comes from, or NULL */
    int64_t ordinal;
    int64_t chunk_bytes;             /* that reading it costs on disk */
    struct tra_block *older, *newer; /* list of what may be evicted */
} tra_block;

/* What becomes of a block that a reader has done with. */
typedef enum tra_after {
    TRA_AFTER_KEEP,
    TRA_AFTER_EVICT, /* it will not be wanted soon: what can be read again leaves memory */
    TRA_AFTER_DROP   /* nor ever by this part: unless another holds it too its contents go, and are not spilled */
} tra_after;

typedef struct tra_pool tra_pool;
typedef struct tra_pool_stats {
    int64_t budget, used, peak;
    int64_t read, past_cache;   /* bytes of whole chunks read from inputs, and of these past the page cache */
    int64_t spilled, unspilled; /* bytes written to and read from scratch */
} tra_pool_stats;

/* scratch: directory for the spill file, made when first needed. */
tra_pool *tra_pool_new(int64_t budget, const char *scratch);
/* Before the first block: in large pages, of which direct writes are half as fast again; but where a virtual machine
 * has given them back to its host they take long to be got. */
void tra_pool_large_pages(tra_pool *p);
void tra_pool_free(tra_pool *p); /* all blocks must be freed */
tra_pool_stats tra_pool_stat(tra_pool *p);
/* What is free goes back to the system: others are to have its memory. */
void tra_pool_give_back(tra_pool *p);

/* Is there something in flight whose end will give memory back? Asked before waiting, under the pool's lock. */
typedef bool tra_pool_busy_fn(void *ctx);
/* What the thread that allocates does while it waits, a few times a second, without a lock; true: something has
 * changed. *soon becomes true where it is to be called again at once. It may allocate, and so be called from within
 * itself. */
typedef bool tra_pool_meanwhile_fn(void *ctx, bool *soon);
/* Both NULL until they are set. */
void tra_pool_set_busy(tra_pool *p, tra_pool_busy_fn *busy, tra_pool_meanwhile_fn *meanwhile, void *ctx);
/* Could a block of so many bytes be had at once? clean: and nothing need be spilled for it. */
bool tra_pool_has_room(tra_pool *p, int64_t bytes, bool clean);
void tra_pool_wake(tra_pool *p); /* something in flight ended or failed */

/* Does the error say that the ceiling leaves too little for a block? Not one of the system, nor of the disk. */
bool tra_pool_lacks(tra_status s, const tra_err *e);

/* A block with contents yet to be written: pinned, HERE, dirty. */
TRA_MUSTUSE tra_status tra_block_new(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e);
/* Reserves so many bytes for what workers take: the thread that allocates waits for them as for a block, and leaves
 * them alone until they are released, whoever has how many of them meanwhile. */
TRA_MUSTUSE tra_status tra_pool_reserve(tra_pool *p, int64_t bytes, tra_err *e);
void tra_pool_release(tra_pool *p, int64_t bytes); /* by any thread */
/* For workers: as tra_block_new, but at once. Evicts, and spills, what is not pinned; TRA_RESOURCE when that does not
 * do. */
TRA_MUSTUSE tra_status tra_block_take(tra_pool *p, int64_t bytes, tra_block **out, tra_err *e);
/* For workers, and a block that nobody else pins: pins it, and reads it back if it was spilled; at once, too. */
TRA_MUSTUSE tra_status tra_block_take_back(tra_pool *p, tra_block *b, tra_err *e);
/* A block that a worker took is no more of what is reserved: a result that stays. */
void tra_block_settle(tra_pool *p, tra_block *b);

/* A block that stands for a tuple of an input: AWAY. */
tra_block *tra_block_of_file(tra_rel *rel, int64_t ordinal, int64_t bytes, int64_t chunk_bytes);
/* A block whose contents are bytes of an open file, which must outlive it: AWAY. */
tra_block *tra_block_of_saved(int fd, int64_t at, int64_t bytes, uint64_t sum);
/* The contents of the block have been written there too: when it leaves memory it need not be spilled. */
void tra_block_saved(tra_pool *p, tra_block *b, int fd, int64_t at, uint64_t sum);
/* Pins; gives it memory when it has none, that of a chunk until it is loaded if it is unpacked there. *load is set when
 * the caller must have tra_block_load called (once): the block is then LOADING. */
TRA_MUSTUSE tra_status tra_block_pin(tra_pool *p, tra_block *b, bool *load, tra_err *e);
/* Reads the contents, which makes the block HERE; scratch is tra_rel_scratch bytes of the thread's own. On failure the
 * block stays LOADING until its last pin is given back. */
TRA_MUSTUSE tra_status tra_block_load(tra_pool *p, tra_block *b, void *scratch, tra_err *e);
/* Of a block that is LOADING: can it be read past the page cache (tra_rel_direct)? Then load_direct does. */
bool tra_block_direct(const tra_block *b);
TRA_MUSTUSE tra_status tra_block_load_direct(tra_pool *p, tra_block *b, tra_err *e);
/* The pinned block's contents were changed: a spilled copy is stale. */
void tra_block_touch(tra_pool *p, tra_block *b);
void tra_block_unpin(tra_pool *p, tra_block *b);
/* The same, and says what becomes of it with the last pin. */
void tra_block_leave(tra_pool *p, tra_block *b, tra_after after);
/* The pinned block's contents are so many of its bytes; the others are given back. */
void tra_block_shrink(tra_pool *p, tra_block *b, int64_t bytes);
/* Another part holds the block too: its contents must not change any more. */
void tra_block_share(tra_pool *p, tra_block *b);
/* Lets go of a block (NULL allowed); the last holder's call frees it, which may be pinned once by the caller. While
 * others hold it they may have it pinned: an exchange that ends lets go of what another still sends. */
void tra_block_free(tra_pool *p, tra_block *b);
/* The same for a holder that has not pinned it: whoever else had has given it back. */
void tra_block_drop(tra_pool *p, tra_block *b);

#endif
