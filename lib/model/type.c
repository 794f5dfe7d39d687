/* type.c - what tensor a relation stands for. */
#include "relation.h"

#include <string.h>

static int single_bit(uint32_t set) { return set ? __builtin_ctz(set) : -1; }

/* In a list the extents along dimension d must be one number, except at the last value of its cutting key. */
static bool list_regular(const tra_type *t, int d, int key, const char **why) {
    const tra_catalog *c = t->cat;
    int64_t inner = -1, last = -1;
    for (int64_t i = 0; i < c->n; i++) {
        tra_dims k, x;
        tra_catalog_ext(c, i, &x);
        tra_catalog_key(c, i, &k);
        int64_t *extent = key >= 0 && k.v[key] == c->frontier.v[key] - 1 ? &last : &inner;
        if (*extent < 0) *extent = x.v[d];
        if (*extent == x.v[d]) continue;
        *why = key >= 0 ? "arrays differ in extent along a dimension, not only at the end of the key that cuts it"
                        : "arrays differ in extent along a dimension that no key cuts";
        return false;
    }
    if (inner >= 0 && inner != c->bound.v[d]) {
        *why = "arrays that are not the last along a dimension are smaller than its bound";
        return false;
    }
    if (inner >= 0 && last > inner) {
        *why = "the last array along a dimension is larger than the others";
        return false;
    }
    return true;
}

bool tra_type_is_tensor(const tra_type *t, const char **why) {
    const tra_catalog *c = t->cat;
    const char *dummy;
    uint32_t seen = 0;
    if (!why) why = &dummy;
    for (int d = 0; d < c->bound.n; d++) {
        if (t->cut[d] & (t->cut[d] - 1)) return *why = "a dimension is cut by more than one key", false;
        if (t->cut[d] & seen) return *why = "one key cuts two dimensions", false;
        seen |= t->cut[d];
    }
    if (c->n == 0) return true;
    for (int d = 0; d < c->bound.n; d++) {
        int key = single_bit(t->cut[d]);
        if (!c->grid) {
            if (!list_regular(t, d, key, why)) return false;
        } else if (c->by[d] >= 0 && c->by[d] != key) {
            return *why = key >= 0 ? "arrays are clipped along a dimension by a key that does not cut it"
                                   : "arrays differ in extent along a dimension that no key cuts",
                   false;
        } else if (c->by[d] >= 0 && c->last[d] > c->bound.v[d]) {
            return *why = "the last array along a dimension is larger than the others", false;
        }
    }
    return true;
}

bool tra_type_is_blocked(const tra_type *t, const char **why) {
    const char *dummy;
    if (!why) why = &dummy;
    if (!tra_type_is_tensor(t, why)) return false;
    if (t->cat->frontier.n != t->cat->bound.n)
        return *why = "its key arity differs from its rank, so some key cuts no dimension or some dimension is not cut",
               false;
    for (int d = 0; d < t->cat->bound.n; d++) {
        if (t->cut[d] != 1u << d) return *why = "its dimensions are not cut by the keys in order", false;
    }
    return true;
}

/* Extent of the arrays at the last value of the key that cuts d; the bound when none is known. */
static int64_t last_extent(const tra_type *t, int d, int key) {
    const tra_catalog *c = t->cat;
    if (c->grid) return c->by[d] >= 0 ? c->last[d] : c->bound.v[d];
    for (int64_t i = c->n - 1; i >= 0; i--) {
        tra_dims k, x;
        tra_catalog_key(c, i, &k);
        if (k.v[key] != c->frontier.v[key] - 1) continue;
        tra_catalog_ext(c, i, &x);
        return x.v[d];
    }
    return c->bound.v[d];
}

void tra_type_shape(const tra_type *t, tra_dims *shape) {
    const tra_catalog *c = t->cat;
    shape->n = c->bound.n;
    for (int d = 0; d < shape->n; d++) {
        int key = single_bit(t->cut[d]);
        if (key < 0)
            shape->v[d] = c->bound.v[d];
        else if (c->frontier.v[key] == 0)
            shape->v[d] = 0;
        else
            shape->v[d] = tra_add_most(tra_mul_most(c->frontier.v[key] - 1, c->bound.v[d]), last_extent(t, d, key));
    }
}

void tra_type_offset(const tra_type *t, const tra_dims *key, tra_dims *offset) {
    offset->n = t->cat->bound.n;
    for (int d = 0; d < offset->n; d++) {
        int k = single_bit(t->cut[d]);
        offset->v[d] = k < 0 ? 0 : key->v[k] * t->cat->bound.v[d];
    }
}
