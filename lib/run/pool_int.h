/* pool_int.h - what the files of the pool share: pool.c (budget, eviction, spilling, blocks) and pool_memory.c (where
 * the memory of blocks is). All functions here are called under the pool's lock. */
#ifndef TRA_POOL_INT_H
#define TRA_POOL_INT_H

#include "pool.h"
#include "space.h"

enum { TRA_SLOTS = TRA_PAGE / TRA_CACHE_LINE - 1 }; /* lines of a page that small blocks can have */

struct tra_pool {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    void *mapped; /* what mmap gave, */
    char *region; /* and its part that begins with a page, in which blocks are */
    int64_t mapped_bytes;
    bool large_pages;
    tra_space warm, cold; /* what is free in the region: resident, and not; cold extents are whole pages */
    tra_space file;       /* what is free in the spill file */
    int64_t resident;     /* bytes of the region that are not cold */
    int64_t outside_bytes;              /* of blocks that have mappings of their own */
    struct slab *slabs[TRA_SLOTS + 1];  /* pages of small blocks that have free slots, by the lines of a slot */
    tra_block oldest;                   /* sentinel: oldest.newer is the first to go */
    int64_t evictable, evictable_clean; /* bytes of what may be evicted, and of what need not be spilled then */
    int64_t reserved, taken;            /* bytes for what workers take, and what they have taken */
    int spilling;                       /* blocks that are being spilled */
    tra_pool_busy_fn *busy;
    tra_pool_meanwhile_fn *meanwhile;
    void *busy_ctx;
    int64_t times_freed;
    char *scratch;
    int fd; /* spill file, -1 until needed */
    tra_pool_stats stats;
};

/* Gives a block memory for so many bytes (b->ptr); false: the budget leaves none. A block that a worker takes
 * (b->taken) may use what is reserved for workers. */
bool tra_pool_take_memory(tra_pool *p, tra_block *b, int64_t bytes);
void tra_pool_give_memory(tra_pool *p, tra_block *b);
/* Gives back the pages of a block beyond so many bytes. */
void tra_pool_trim(tra_pool *p, tra_block *b, int64_t bytes);
void tra_pool_unmap(tra_pool *p); /* when the pool ends */
/* Bytes that are left alone for workers. */
int64_t tra_pool_reserved(const tra_pool *p);
/* Memory was given back, or what would have given some has ended. */
void tra_pool_tell_freed(tra_pool *p);

#endif
