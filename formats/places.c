/* places.c - the place of an element in the order in which blocks are written.
 *
 * Before the block of key k along dimension d lie k * block elements of the dimension, each as large as the extents of
 * the block in the dimensions before it and those of the tensor in the dimensions behind it. */
#include "places.h"

bool tra_block_in_order(const tra_dims *shape, const tra_dims *block) {
    int d = 0;
    while (d < shape->n && block->v[d] == 1) d++;
    for (d++; d < shape->n; d++)
        if (block->v[d] < shape->v[d]) return false;
    return true;
}

void tra_places_of(tra_places *p, const tra_dims *shape, const tra_dims *block) {
    *p = (tra_places){.shape = *shape, .block = *block, .frontier.n = shape->n};
    int64_t after = 1;
    for (int d = shape->n - 1; d >= 0; d--) {
        p->stride[d] = after;
        after *= shape->v[d];
        p->block.v[d] = tra_max64(1, block->v[d]);
        p->frontier.v[d] = tra_ceil_div(shape->v[d], p->block.v[d]);
    }
    p->in_order = tra_block_in_order(shape, block);
}

static int64_t extent(const tra_places *p, int d, int64_t k) {
    return tra_min64(p->block.v[d], p->shape.v[d] - k * p->block.v[d]);
}

uint64_t tra_place_of(const tra_places *p, const int64_t *at) {
    int r = p->shape.n;
    int64_t place = 0;
    if (p->in_order) {
        for (int d = 0; d < r; d++) place += at[d] * p->stride[d];
        return (uint64_t)place;
    }
    int64_t before = 1, inside = 0;
    for (int d = 0; d < r; d++) {
        int64_t k = at[d] / p->block.v[d], from = k * p->block.v[d],
                ext = tra_min64(p->block.v[d], p->shape.v[d] - from);
        place += from * before * p->stride[d];
        inside = inside * ext + (at[d] - from);
        before *= ext;
    }
    return (uint64_t)(place + inside);
}

uint64_t tra_place_block(const tra_places *p, const tra_dims *key, tra_dims *ext) {
    int64_t place = 0, before = 1;
    ext->n = key->n;
    for (int d = 0; d < key->n; d++) {
        ext->v[d] = extent(p, d, key->v[d]);
        place += key->v[d] * p->block.v[d] * before * p->stride[d];
        before *= ext->v[d];
    }
    return (uint64_t)place;
}

void tra_place_at(const tra_places *p, uint64_t place, tra_dims *at) {
    int64_t left = (int64_t)place, before = 1;
    tra_dims ext = {.n = p->shape.n}, in;
    at->n = p->shape.n;
    for (int d = 0; d < at->n; d++) {
        int64_t each = before * p->stride[d], k = left / (each * p->block.v[d]);
        ext.v[d] = extent(p, d, k);
        at->v[d] = k * p->block.v[d];
        left -= at->v[d] * each;
        before *= ext.v[d];
    }
    tra_unlinear(&ext, left, &in);
    for (int d = 0; d < at->n; d++) at->v[d] += in.v[d];
}
