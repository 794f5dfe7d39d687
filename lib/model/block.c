/* block.c - choosing blocks. */
#include "block.h"

#include <string.h>

enum { MOST = 1 << 20, LEAST = 1 << 16 }; /* elements of a block */

/* Elements of the shape with every extent cut to s; more than MOST is as good as infinite. */
static int64_t cut_to(const tra_dims *shape, int64_t s) {
    int64_t n = 1;
    for (int d = 0; d < shape->n; d++) {
        int64_t ext = tra_max64(1, tra_min64(shape->v[d], s));
        if (ext > MOST / n) return INT64_MAX;
        n *= ext;
    }
    return n;
}

void tra_block_choose(const tra_dims *shape, tra_dims *block) {
    int64_t lo = 1, hi = MOST + 1; /* cut_to(lo) fits, cut_to(hi) need not */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (cut_to(shape, mid) <= MOST) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    block->n = shape->n;
    int64_t n = cut_to(shape, lo);
    for (int d = 0; d < shape->n; d++) block->v[d] = tra_max64(1, tra_min64(shape->v[d], lo));
    for (int d = 0; d < shape->n; d++) {
        int64_t now = block->v[d], count = tra_ceil_div(tra_max64(1, shape->v[d]), now);
        int64_t equal = tra_ceil_div(tra_max64(1, shape->v[d]), count);
        if (n / now * equal < LEAST) continue;
        n = n / now * equal;
        block->v[d] = equal;
    }
}

tra_status tra_block_fit(const tra_dims *shape, tra_dims *block, tra_err *e) {
    if (block->n != shape->n) {
        char b[TRA_DIMTEXT], s[TRA_DIMTEXT];
        return tra_fail(e, TRA_USAGE, "block %s has %d dimension%s, but the tensor %s has %d", tra_shape_text(block, b),
                        block->n, block->n == 1 ? "" : "s", tra_shape_text(shape, s), shape->n);
    }
    for (int d = 0; d < shape->n; d++) block->v[d] = tra_max64(1, tra_min64(block->v[d], shape->v[d]));
    return TRA_OK;
}

bool tra_block_halve(tra_dims *block) {
    int at = 0;
    for (int d = 1; d < block->n; d++) at = block->v[d] > block->v[at] ? d : at;
    if (block->n == 0 || block->v[at] == 1) return false;
    block->v[at] = tra_ceil_div(block->v[at], 2);
    return true;
}

void tra_block_would_fit(const tra_dims *block, tra_err *e) {
    char text[TRA_DIMTEXT];
    size_t n = strlen(e->msg);
    snprintf(e->msg + n, sizeof e->msg - n, "; smaller blocks would fit (--block %s)",
             tra_dims_text(block, "", "x", "", text, sizeof text));
}
