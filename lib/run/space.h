/* space.h - free extents of a range of bytes: of the pool's region of memory, of its spill file. */
#ifndef TRA_SPACE_H
#define TRA_SPACE_H

#include "../base/base.h"

typedef struct tra_extent {
    int64_t at, n;
} tra_extent;

/* Ascending and never adjacent. */
typedef struct tra_space {
    tra_extent *v;
    int n, cap;
    int64_t end; /* of the range handed out so far (files grow) */
} tra_space;

/* Takes n bytes from the smallest extent that has them; their offset, or -1: no extent has so many. */
int64_t tra_space_take(tra_space *s, int64_t n);
void tra_space_give(tra_space *s, int64_t at, int64_t n);
/* The number of the first extent that ends after `at`; s->n: there is none. */
int tra_space_find(const tra_space *s, int64_t at);
/* Takes these bytes, which are free. */
void tra_space_cut(tra_space *s, int64_t at, int64_t n);

#endif
