/* space.h - free extents of a range of bytes: of the pool's region of memory, of its spill file. Each call takes steps
 * in proportion to the logarithm of the number of extents. */
#ifndef TRA_SPACE_H
#define TRA_SPACE_H

#include "../base/base.h"

/* A free extent, which stands in two trees. */
typedef struct tra_extent {
    int64_t at, n;
    struct tra_extent *kid[2][2]; /* private, as the next */
    uint64_t rank;
} tra_extent;

/* Never adjacent. Zeroed in the beginning. */
typedef struct tra_space {
    tra_extent *tree[2]; /* private: by place, by size */
    int64_t end;         /* of the range handed out so far (files grow) */
    int64_t made, steps; /* private: extents so far; nodes of the trees that were looked at */
} tra_space;

/* Takes n bytes from the smallest extent that has them; their offset, or -1: no extent has so many. */
int64_t tra_space_take(tra_space *s, int64_t n);
void tra_space_give(tra_space *s, int64_t at, int64_t n);
/* Takes these bytes, which are free. */
void tra_space_cut(tra_space *s, int64_t at, int64_t n);
/* The first extent that ends after `at`; NULL: there is none. Extents live until they change. */
const tra_extent *tra_space_find(tra_space *s, int64_t at);
/* The first extent, from the smallest, that comes after this size and place; the last that comes before. */
const tra_extent *tra_space_larger(tra_space *s, int64_t n, int64_t at);
const tra_extent *tra_space_smaller(tra_space *s, int64_t n, int64_t at);
void tra_space_free(tra_space *s);

#endif
