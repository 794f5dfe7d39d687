/* entries.c - blocks of a matrix from its entries in any order.
 *
 * Entries are collected in memory, sorted by block when the memory is full and written to the scratch file as one run.
 * Then the blocks are made in order, each from the front of every run. */
#include "entries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct item {
    int64_t block, pos; /* ordinal; element within the block */
    tra_number value;
    int64_t line;
} item;

typedef struct cursor {   /* a run that is being read */
    int64_t offset, left; /* of what is not yet read: byte, items */
    item *buf;
    int64_t at, n;
} cursor;

typedef struct assembly {
    tra_source *source;
    const tra_catalog *cat;
    item *items, *other; /* cap each; other is for sorting */
    int64_t n, cap;
    int fd;
    char *where;
    int64_t written;
    cursor *runs;
    int nruns;
    item *buffers;
    char *block;     /* elements, of the source's dtype */
    uint64_t *given; /* a bit for each element */
} assembly;

/* Stable sort by block, least significant digit first. */
static void sort_by_block(assembly *a) {
    enum { BITS = 11, DIGITS = 1 << BITS };
    int64_t top = a->cat->n - 1;
    for (int shift = 0; shift < 63 && top >> shift > 0; shift += BITS) {
        int64_t count[DIGITS + 1] = {0};
        for (int64_t i = 0; i < a->n; i++) count[(a->items[i].block >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++) count[d + 1] += count[d];
        for (int64_t i = 0; i < a->n; i++) a->other[count[a->items[i].block >> shift & (DIGITS - 1)]++] = a->items[i];
        item *t = a->items;
        a->items = a->other;
        a->other = t;
    }
}

static tra_status spill(assembly *a, const char *output, tra_err *e) {
    if (a->fd < 0) TRA_TRY(tra_scratch_open(output, &a->fd, &a->where, e));
    sort_by_block(a);
    a->runs = tra_realloc(a->runs, (size_t)a->nruns + 1, sizeof *a->runs);
    a->runs[a->nruns++] = (cursor){.offset = a->written, .left = a->n};
    size_t bytes = (size_t)a->n * sizeof *a->items;
    TRA_TRY(tra_pwrite(a->fd, a->items, bytes, a->written, a->where, e));
    a->written += (int64_t)bytes;
    a->n = 0;
    return TRA_OK;
}

static tra_status collect(assembly *a, const char *output, tra_err *e) {
    tra_entry batch[256];
    const tra_catalog *c = a->cat;
    int64_t got;
    for (;;) {
        TRA_TRY(a->source->format->entries(a->source, batch, 256, &got, e));
        if (got == 0) return TRA_OK;
        for (int64_t i = 0; i < got; i++) {
            const tra_entry *x = &batch[i];
            tra_dims key = {.n = 2, .v = {x->row / c->bound.v[0], x->col / c->bound.v[1]}};
            int64_t width = key.v[1] == c->frontier.v[1] - 1 ? c->last[1] : c->bound.v[1];
            if (a->n == a->cap) TRA_TRY(spill(a, output, e));
            a->items[a->n++] = (item){tra_linear(&c->frontier, &key),
                                      x->row % c->bound.v[0] * width + x->col % c->bound.v[1], x->value, x->line};
        }
    }
}

static tra_status refill(assembly *a, cursor *r, int64_t cap, tra_err *e) {
    r->at = 0;
    r->n = tra_min64(cap, r->left);
    size_t bytes = (size_t)r->n * sizeof *r->buf;
    if (r->n > 0 && a->fd >= 0) TRA_TRY(tra_pread(a->fd, r->buf, bytes, r->offset, a->where, e));
    r->offset += (int64_t)bytes;
    r->left -= r->n;
    return TRA_OK;
}

/* The two first lines that give the element x, among all entries. */
static tra_status lines_of(assembly *a, const item *x, int64_t line[2], tra_err *e) {
    enum { BATCH = 128 };
    item batch[BATCH];
    cursor all = {.left = a->fd < 0 ? a->n : a->written / (int64_t)sizeof *batch, .buf = a->fd < 0 ? a->items : batch};
    line[0] = line[1] = INT64_MAX;
    for (;;) {
        TRA_TRY(refill(a, &all, a->fd < 0 ? a->n : BATCH, e));
        if (all.n == 0) return TRA_OK;
        for (const item *y = all.buf; y < all.buf + all.n; y++) {
            if (y->block != x->block || y->pos != x->pos || y->line >= line[1]) continue;
            line[1] = y->line < line[0] ? line[0] : y->line;
            line[0] = tra_min64(line[0], y->line);
        }
    }
}

static tra_status duplicate(assembly *a, const item *x, tra_err *e) {
    tra_dims key, ext;
    int64_t line[2];
    tra_catalog_key(a->cat, x->block, &key);
    tra_catalog_ext(a->cat, x->block, &ext);
    TRA_TRY(lines_of(a, x, line, e));
    return tra_fail(e, TRA_INPUT,
                    "%s: line %" PRId64 " gives element (%" PRId64 ",%" PRId64 ") again, after line %" PRId64,
                    a->source->spec, line[1], key.v[0] * a->cat->bound.v[0] + x->pos / ext.v[1] + 1,
                    key.v[1] * a->cat->bound.v[1] + x->pos % ext.v[1] + 1, line[0]);
}

static int64_t given_bytes(int64_t n) { return (n / 64 + 1) * 8; }

static tra_status deliver(assembly *a, int64_t cap, tra_block_fn *fn, void *ctx, tra_err *e) {
    size_t size = tra_dtype_size(a->source->dtype);
    bool dirty = true;
    for (int r = 0; r < a->nruns; r++) TRA_TRY(refill(a, &a->runs[r], cap, e));
    for (int64_t b = 0; b < a->cat->n; b++) {
        if (dirty) {
            int64_t n = tra_catalog_maxfloats(a->cat);
            memset(a->block, 0, (size_t)n * size);
            memset(a->given, 0, (size_t)given_bytes(n));
            dirty = false;
        }
        for (int k = 0; k < a->nruns; k++) {
            cursor *r = &a->runs[k];
            while (r->at < r->n && r->buf[r->at].block == b) {
                const item *x = &r->buf[r->at];
                uint64_t bit = (uint64_t)1 << (x->pos & 63);
                if (a->given[x->pos >> 6] & bit) return duplicate(a, x, e);
                a->given[x->pos >> 6] |= bit;
                a->source->overflow += tra_put_value(a->source->dtype, a->block, x->pos, x->value);
                dirty = true;
                if (++r->at == r->n) TRA_TRY(refill(a, r, cap, e));
            }
        }
        TRA_TRY(fn(ctx, b, a->block, e));
    }
    return TRA_OK;
}

enum { PART = 16 }; /* items of a run that are in memory at least */

/* For the entries: so many that what is in memory of all their runs takes no more. */
static int64_t items_need(const tra_source *s) {
    int64_t n = 8192, most = s->in.seekable ? s->in.size / 2 : 0; /* one takes 4 bytes of text, and may be mirrored */
    while (n / (PART * (int64_t)sizeof(item)) * (n / 2 / (int64_t)sizeof(item)) < most) n *= 2;
    return n;
}

static int64_t block_need(const tra_source *s, const tra_catalog *cat) {
    int64_t n = tra_catalog_maxfloats(cat);
    return n * (int64_t)tra_dtype_size(s->dtype) + given_bytes(n);
}

int64_t tra_entries_need(const tra_source *s, const tra_catalog *cat) { return block_need(s, cat) + items_need(s); }

tra_status tra_entries_assemble(tra_source *s, const tra_catalog *cat, int64_t memory, const char *output,
                                tra_block_fn *fn, void *ctx, int64_t *spilled, tra_err *e) {
    assert(cat->grid && cat->frontier.n == 2);
    int64_t floats = tra_catalog_maxfloats(cat), size = (int64_t)tra_dtype_size(s->dtype);
    int64_t left = memory - block_need(s, cat);
    assert(left >= items_need(s));
    assembly a = {.source = s, .cat = cat, .fd = -1};
    a.cap = left / 2 / (int64_t)sizeof(item);
    if (s->in.seekable) /* an entry takes 2 bytes of text at least, and may be mirrored */
        a.cap = tra_min64(a.cap, s->in.size + 1);
    a.items = tra_malloc((size_t)a.cap * sizeof *a.items);
    a.other = tra_malloc((size_t)a.cap * sizeof *a.other);
    tra_status status = collect(&a, output, e);
    if (status == TRA_OK && a.nruns > 0 && a.n > 0) status = spill(&a, output, e);
    int64_t cap = 0;
    if (status == TRA_OK && a.nruns > left / (PART * (int64_t)sizeof(item)))
        status = tra_fail(e, TRA_RESOURCE, "--memory is too little for so many entries: double it");
    if (status == TRA_OK && a.nruns > 0) {
        free(a.items);
        free(a.other);
        a.items = a.other = NULL;
        cap = left / a.nruns / (int64_t)sizeof(item);
        a.buffers = tra_calloc((size_t)cap * (size_t)a.nruns, sizeof *a.buffers);
        for (int r = 0; r < a.nruns; r++) a.runs[r].buf = a.buffers + (size_t)r * (size_t)cap;
    } else if (status == TRA_OK) { /* everything in memory: one run that is there already */
        sort_by_block(&a);
        a.runs = tra_calloc(1, sizeof *a.runs);
        a.runs[a.nruns++] = (cursor){.left = a.n, .buf = a.items};
        cap = a.n;
    }
    if (status == TRA_OK) {
        a.block = tra_malloc((size_t)(floats * size) + 1);
        a.given = tra_malloc((size_t)given_bytes(floats));
        status = deliver(&a, cap, fn, ctx, e);
    }
    *spilled = a.written;
    if (a.fd >= 0) close(a.fd);
    free(a.where);
    free(a.items);
    free(a.other);
    free(a.buffers);
    free(a.runs);
    free(a.block);
    free(a.given);
    return status;
}
