/* straight.c - chunks that lie in the file as their arrays lie in memory: read past the page cache, or mapped. */
#include "store_int.h"

#include <sys/mman.h>
#include <sys/uio.h>

/* Has the page cache the beginning and the end of a chunk? */
static bool is_cached(const tra_rel *r, const tra_chunkref *c) {
    char byte;
    struct iovec one = {&byte, 1};
    return preadv2(r->vfd->fd, &one, 1, c->addr, RWF_NOWAIT) == 1 &&
           preadv2(r->vfd->fd, &one, 1, c->addr + (int64_t)c->len - 1, RWF_NOWAIT) == 1;
}

/* Is the chunk, which begins at a whole page, as large as the array? */
static bool is_straight(const tra_rel *r, int64_t ordinal) {
    tra_dims ext;
    int64_t n;
    if (r->turned || !r->loaded || r->chunks[ordinal].addr < 0 || r->chunks[ordinal].addr % TRA_PAGE) return false;
    tra_catalog_ext(&r->cat, ordinal, &ext);
    return tra_dims_product(&ext, &n) && n == r->geom.chunk_elements;
}

bool tra_rel_can_read_direct(const tra_rel *r, int64_t ordinal) {
    return r->direct_fd >= 0 && is_straight(r, ordinal) && !is_cached(r, &r->chunks[ordinal]);
}

void *tra_rel_map(const tra_rel *r, int64_t ordinal, size_t bytes) {
    bool as_it_is = r->how == TRA_BY_CHUNK && r->pipeline.zstd < 0 && r->pipeline.shuffle < 0 && !r->decode &&
                    !r->u64 && r->type.dtype != TRA_BOOL && !r->table && !r->stored;
    if (!as_it_is || !r->checked || !is_straight(r, ordinal)) return NULL;
    const tra_chunkref *c = &r->chunks[ordinal];
    bool checked = atomic_load_explicit(&r->checked[ordinal], memory_order_relaxed);
    if (!checked || c->len != (size_t)r->geom.chunk_elements * r->size || bytes < c->len || !is_cached(r, c))
        return NULL;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, r->vfd->fd, (off_t)c->addr);
    return p == MAP_FAILED ? NULL : p;
}
