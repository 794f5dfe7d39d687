/* catalog.c - which tuples exist and how large they are, as a grid or as a list. */
#include "relation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- grids -------------------------------------------------------------------------------------------------- */

tra_status tra_catalog_grid(const tra_dims *frontier, const tra_dims *bound, const int8_t *by, const int64_t *last,
                            tra_catalog *out, tra_err *e) {
    char buf[TRA_DIMTEXT];
    *out = (tra_catalog){.frontier = *frontier, .bound = *bound, .grid = true};
    if (!tra_dims_product(frontier, &out->n))
        return tra_fail(e, TRA_PROGRAM, "a relation of frontier %s has more than 2^63 keys",
                        tra_key_text(frontier, buf));
    for (int a = 0; a < bound->n; a++) {
        bool clips = by && by[a] >= 0 && last[a] != bound->v[a];
        assert(!clips || last[a] < bound->v[a]); /* the bound is the largest extent */
        out->by[a] = clips ? by[a] : -1;
        out->last[a] = clips ? last[a] : bound->v[a];
        if (clips && frontier->v[(int)by[a]] == 1) { /* the last value is the only value */
            out->bound.v[a] = last[a];
            out->by[a] = -1;
        }
    }
    return TRA_OK;
}

tra_status tra_catalog_blocks(const tra_dims *shape, const tra_dims *block, tra_catalog *out, tra_err *e) {
    tra_dims frontier = {.n = shape->n}, bound = {.n = shape->n};
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    if (2 * shape->n > TRA_MAXDIM)
        return tra_fail(e, TRA_INPUT, "a tensor of %d dimensions cannot be kept in blocks: at most %d", shape->n,
                        TRA_MAXDIM / 2);
    for (int d = 0; d < shape->n; d++) {
        int64_t n = shape->v[d], b = tra_max64(1, tra_min64(block->v[d], n));
        frontier.v[d] = tra_ceil_div(n, b);
        bound.v[d] = b;
        by[d] = (int8_t)d;
        last[d] = n == 0 ? b : n - (frontier.v[d] - 1) * b;
    }
    return tra_catalog_grid(&frontier, &bound, by, last, out, e);
}

/* ---- looking up --------------------------------------------------------------------------------------------- */

int64_t tra_catalog_find(const tra_catalog *c, const tra_dims *key) {
    for (int i = 0; i < c->frontier.n; i++) {
        if (key->v[i] < 0 || key->v[i] >= c->frontier.v[i]) return -1;
    }
    int64_t pos = tra_linear(&c->frontier, key);
    if (c->grid) return pos < c->n ? pos : -1;
    int64_t lo = 0;
    TRA_BISECT(lo, c->n, mid, c->pos[mid] < pos);
    return lo < c->n && c->pos[lo] == pos ? lo : -1;
}

void tra_catalog_key(const tra_catalog *c, int64_t ordinal, tra_dims *key) {
    assert(ordinal >= 0 && ordinal < c->n);
    tra_unlinear(&c->frontier, c->grid ? ordinal : c->pos[ordinal], key);
}

void tra_catalog_ext(const tra_catalog *c, int64_t ordinal, tra_dims *ext) {
    ext->n = c->bound.n;
    if (!c->grid) {
        const int64_t *v = c->ext + (c->cls ? c->cls[ordinal] : 0) * (size_t)c->bound.n;
        for (int a = 0; a < ext->n; a++) ext->v[a] = v[a];
        return;
    }
    tra_dims key;
    tra_catalog_key(c, ordinal, &key);
    for (int a = 0; a < ext->n; a++) {
        int d = c->by[a];
        ext->v[a] = d >= 0 && key.v[d] == c->frontier.v[d] - 1 ? c->last[a] : c->bound.v[a];
    }
}

/* Elements of an array of r extents; INT64_MAX where there are more. A zero anywhere makes it 0, whatever overflows
 * before it. */
static int64_t elements_of(const int64_t *ext, int r) {
    int64_t n = 1;
    for (int a = 0; a < r; a++) {
        if (ext[a] == 0) return 0;
    }
    for (int a = 0; a < r; a++) n = tra_mul_most(n, ext[a]);
    return n;
}

int64_t tra_catalog_class(const tra_catalog *c, int64_t ordinal) {
    if (!c->grid) return c->cls ? c->cls[ordinal] : 0;
    tra_dims key;
    int64_t class = 0; /* a bit for each array dimension that is cut short here */
    tra_catalog_key(c, ordinal, &key);
    for (int a = 0; a < c->bound.n; a++) {
        int d = c->by[a];
        class |= (int64_t)(d >= 0 && key.v[d] == c->frontier.v[d] - 1) << a;
    }
    return class;
}

int64_t tra_catalog_elements_of(const tra_catalog *c, int64_t ordinal) {
    tra_dims ext;
    tra_catalog_ext(c, ordinal, &ext);
    return elements_of(ext.v, ext.n);
}

/* In a grid, the product of the extents that key dimension d clips (-1: that no key clips): before its last value, and
 * at it. */
static void clipped_by(const tra_catalog *c, int d, int64_t *inner, int64_t *last) {
    int64_t before[TRA_MAXDIM], there[TRA_MAXDIM];
    int n = 0;
    for (int a = 0; a < c->bound.n; a++) {
        if (c->by[a] == d) before[n] = c->bound.v[a], there[n++] = c->last[a];
    }
    *inner = elements_of(before, n);
    *last = elements_of(there, n);
}

int64_t tra_catalog_elements(const tra_catalog *c) {
    if (c->n == 0) return 0;
    if (!c->grid) {
        int64_t sum = 0, *size = tra_calloc((size_t)c->nclasses, sizeof *size);
        for (int64_t i = 0; i < c->nclasses; i++) size[i] = elements_of(c->ext + i * c->bound.n, c->bound.n);
        for (int64_t t = 0; t < c->n; t++) sum = tra_add_most(sum, size[c->cls ? c->cls[t] : 0]);
        free(size);
        return sum;
    }
    /* The sum over keys of a product over array dimensions factors by key dimension: each contributes the sum, over
     * its values, of the product of the extents that depend on it. */
    int64_t factor[TRA_MAXDIM + 1], inner, last;
    clipped_by(c, -1, &factor[c->frontier.n], &last);
    for (int d = 0; d < c->frontier.n; d++) {
        clipped_by(c, d, &inner, &last);
        factor[d] = tra_add_most(tra_mul_most(c->frontier.v[d] - 1, inner), last);
    }
    return elements_of(factor, c->frontier.n + 1);
}

int64_t tra_catalog_elements_most(const tra_catalog *c) {
    int64_t max = 0;
    if (c->n == 0) return 0;
    if (c->grid) {
        /* the last value may make the array larger or smaller, where it clips two dimensions */
        int64_t factor[TRA_MAXDIM + 1], inner, last;
        clipped_by(c, -1, &factor[c->frontier.n], &last);
        for (int d = 0; d < c->frontier.n; d++) {
            clipped_by(c, d, &inner, &last);
            factor[d] = c->frontier.v[d] > 1 ? tra_max64(inner, last) : last;
        }
        return elements_of(factor, c->frontier.n + 1);
    }
    for (int64_t i = 0; i < c->nclasses; i++) max = tra_max64(max, elements_of(c->ext + i * c->bound.n, c->bound.n));
    return max;
}

/* ---- building ----------------------------------------------------------------------------------------------- */

struct tra_catbuilder {
    int k, r;
    int64_t n, cap;
    int64_t *key;     /* n * k */
    uint32_t *cls;    /* n */
    int64_t *payload; /* n */
    int64_t nclasses, capclasses;
    int64_t *ext;    /* nclasses * r */
    uint32_t *slots; /* hash table of extents with open addressing: a class plus 1, or 0 */
    uint64_t nslots; /* a power of two, more than twice the classes */
};

tra_catbuilder *tra_catbuilder_new(int k, int r) {
    tra_catbuilder *b = tra_calloc(1, sizeof *b);
    b->k = k;
    b->r = r;
    return b;
}

void tra_catbuilder_free(tra_catbuilder *b) {
    if (!b) return;
    free(b->key);
    free(b->cls);
    free(b->payload);
    free(b->ext);
    free(b->slots);
    free(b);
}

/* The slot of the class of these extents, or the free slot where it would be. */
static uint32_t *slot_of(const tra_catbuilder *b, const int64_t *ext) {
    size_t bytes = (size_t)b->r * sizeof *ext;
    uint64_t at = XXH64(ext, bytes, tra_hash_seed());
    for (;; at++) {
        uint32_t *slot = &b->slots[at & (b->nslots - 1)];
        if (*slot == 0 || memcmp(b->ext + (*slot - 1) * (size_t)b->r, ext, bytes) == 0) return slot;
    }
}

/* Room for one more class. */
static void grow_classes(tra_catbuilder *b) {
    b->capclasses = b->capclasses ? 2 * b->capclasses : 8;
    b->ext = tra_realloc(b->ext, (size_t)b->capclasses, (size_t)(b->r ? b->r : 1) * sizeof *b->ext);
    b->nslots = 4 * (uint64_t)b->capclasses;
    free(b->slots);
    b->slots = tra_calloc(b->nslots, sizeof *b->slots);
    for (int64_t i = 0; i < b->nclasses; i++) *slot_of(b, b->ext + i * b->r) = (uint32_t)i + 1;
}

/* The class of the extents, which is made if need be. There are mostly few, but a list may have one for each tuple. */
static uint32_t class_of(tra_catbuilder *b, const tra_dims *ext) {
    if (b->nclasses == b->capclasses) grow_classes(b);
    uint32_t *slot = slot_of(b, ext->v);
    if (*slot == 0) {
        memcpy(b->ext + b->nclasses * b->r, ext->v, (size_t)b->r * sizeof ext->v[0]);
        *slot = (uint32_t)++b->nclasses;
    }
    return *slot - 1;
}

tra_status tra_catbuilder_add(tra_catbuilder *b, const tra_dims *key, const tra_dims *ext, int64_t payload,
                              tra_err *e) {
    assert(key->n == b->k && ext->n == b->r);
    if (b->n == TRA_MAX_LIST)
        return tra_fail(e, TRA_PROGRAM,
                        "the relation is not a grid and has more than %d tuples, too many to list; "
                        "use larger blocks",
                        TRA_MAX_LIST);
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        b->key = tra_realloc(b->key, (size_t)b->cap, (size_t)(b->k ? b->k : 1) * sizeof *b->key);
        b->cls = tra_realloc(b->cls, (size_t)b->cap, sizeof *b->cls);
        b->payload = tra_realloc(b->payload, (size_t)b->cap, sizeof *b->payload);
    }
    memcpy(b->key + b->n * b->k, key->v, (size_t)b->k * sizeof key->v[0]);
    b->cls[b->n] = class_of(b, ext);
    b->payload[b->n++] = payload;
    return TRA_OK;
}

typedef struct entry {
    int64_t pos, i;
} entry;

static int by_pos(const void *x, const void *y) {
    const entry *a = x, *b = y;
    if (a->pos != b->pos) return a->pos < b->pos ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

/* Turns a list into a grid when all keys of the box exist and each extent follows the last value of one key. */
static void regularise(tra_catalog *c) {
    int64_t box;
    if (c->n == 0 || !tra_dims_product(&c->frontier, &box) || box != c->n) return;
    int r = c->bound.n, k = c->frontier.n;
    tra_catalog g = *c;
    g.grid = true;
    for (int a = 0; a < r; a++) {
        /* compare the extent at the first tuple with that at the last value of one key dimension */
        int64_t first = c->ext[(c->cls ? c->cls[0] : 0) * (size_t)r + a];
        g.bound.v[a] = g.last[a] = first;
        g.by[a] = -1;
        for (int d = 0; d < k; d++) {
            tra_dims key = {.n = k};
            if (c->frontier.v[d] < 2) continue;
            key.v[d] = c->frontier.v[d] - 1;
            int64_t t = tra_linear(&c->frontier, &key);
            int64_t v = c->ext[(c->cls ? c->cls[t] : 0) * (size_t)r + a];
            if (v == first) continue;
            if (g.by[a] >= 0 || v > first) return; /* bound is the largest extent */
            g.by[a] = (int8_t)d;
            g.last[a] = v;
        }
    }
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims ext;
        tra_catalog_ext(&g, t, &ext);
        if (memcmp(ext.v, c->ext + (c->cls ? c->cls[t] : 0) * (size_t)r, (size_t)r * sizeof ext.v[0]) != 0) return;
    }
    g.pos = NULL;
    g.cls = NULL;
    g.ext = NULL;
    g.nclasses = 0;
    *c = g;
}

tra_status tra_catbuilder_finish(tra_catbuilder *b, tra_arena *a, tra_catalog *out, int64_t dup[2], tra_err *e) {
    tra_status s = TRA_OK;
    int k = b->k, r = b->r;
    *out = (tra_catalog){.frontier = {.n = k}, .bound = {.n = r}, .n = b->n};
    for (int64_t i = 0; i < b->n; i++) {
        for (int d = 0; d < k; d++) out->frontier.v[d] = tra_max64(out->frontier.v[d], b->key[i * k + d] + 1);
    }
    for (int64_t i = 0; i < b->nclasses; i++) {
        for (int d = 0; d < r; d++) out->bound.v[d] = tra_max64(out->bound.v[d], b->ext[i * r + d]);
    }
    int64_t box;
    entry *v = NULL;
    if (!tra_dims_product(&out->frontier, &box)) {
        char buf[TRA_DIMTEXT];
        s = tra_fail(e, TRA_PROGRAM, "a relation of frontier %s has more than 2^63 keys",
                     tra_key_text(&out->frontier, buf));
        goto done;
    }
    v = tra_calloc((size_t)b->n, sizeof *v);
    bool sorted = true;
    for (int64_t i = 0; i < b->n; i++) {
        tra_dims key = {.n = k};
        memcpy(key.v, b->key + i * k, (size_t)k * sizeof key.v[0]);
        v[i] = (entry){tra_linear(&out->frontier, &key), i};
        if (i && v[i - 1].pos >= v[i].pos) sorted = false;
    }
    if (!sorted) qsort(v, (size_t)b->n, sizeof *v, by_pos);
    for (int64_t i = 1; i < b->n; i++) {
        if (v[i - 1].pos != v[i].pos) continue;
        char buf[TRA_DIMTEXT];
        tra_dims key;
        tra_unlinear(&out->frontier, v[i].pos, &key);
        if (dup) dup[0] = b->payload[v[i - 1].i], dup[1] = b->payload[v[i].i];
        s = tra_fail(e, TRA_PROGRAM, "two tuples get the key %s", tra_key_text(&key, buf));
        goto done;
    }
    int64_t *pos = tra_news(a, int64_t, b->n);
    uint32_t *cls = tra_news(a, uint32_t, b->n);
    int64_t *ext = tra_news(a, int64_t, b->nclasses * r);
    memcpy(ext, b->ext ? b->ext : ext, (size_t)(b->nclasses * r) * sizeof *ext);
    for (int64_t i = 0; i < b->n; i++) {
        pos[i] = v[i].pos;
        cls[i] = b->cls[v[i].i];
    }
    out->pos = pos;
    out->cls = b->nclasses > 1 ? cls : NULL;
    out->nclasses = b->nclasses;
    out->ext = ext;
    regularise(out);
done:
    free(v);
    tra_catbuilder_free(b);
    return s;
}
