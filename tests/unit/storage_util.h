/* storage_util.h - small tensors, and whether the mapping of a block gives their entries. */
#ifndef TRA_STORAGE_UTIL_H
#define TRA_STORAGE_UTIL_H

#include "check.h"

#include "../../lib/storage/storage.h"

enum { MOST = 4096 };

/* A small tensor, dense, and which of its coordinates are entries. */
typedef struct tensor {
    int rank;
    int64_t extent[4], n;
    double v[MOST];
    bool entry[MOST];
} tensor;

static inline tensor new_tensor(int rank, const int64_t *extent, int percent, unsigned *seed) {
    tensor t = {.rank = rank, .n = 1};
    for (int d = 0; d < rank; d++) t.n *= t.extent[d] = extent[d];
    for (int64_t i = 0; i < t.n; i++) {
        *seed = *seed * 1103515245 + 12345;
        t.entry[i] = (int)(*seed >> 16 & 1023) * 100 < percent * 1024;
        t.v[i] = (double)(i + 1);
    }
    return t;
}

static inline void coordinates(const tensor *t, int64_t i, int64_t *at) {
    for (int d = t->rank - 1; d >= 0; i /= t->extent[d--]) at[d] = i % t->extent[d];
}

/* Gathers the entries that a mapping gives; each coordinate must come once. */
typedef struct given {
    const tensor *t;
    double v[MOST];
    bool is[MOST];
} given;

static inline tra_status take(void *ctx, const tra_calc_entry *x, tra_err *e) {
    given *g = ctx;
    int64_t i = 0;
    (void)e;
    for (int d = 0; d < g->t->rank; d++) i = i * g->t->extent[d] + x->key[d];
    CHECK(i >= 0 && i < g->t->n && !g->is[i]);
    g->is[i] = true;
    g->v[i] = tra_calc_as_real(x->value);
    return TRA_OK;
}

/* Checks that the mapping of the block gives the entries of the tensor and nothing else. */
static inline void check_gives(int line, const tra_storage *s, const tra_storage_block *b, const tensor *t) {
    given *g = tra_calloc(1, sizeof *g);
    tra_err e = {0};
    g->t = t;
    tra_status status = tra_component_check(s, b, "here", &e);
    if (status == TRA_OK) status = tra_storage_run(s, b, 0, take, g, &e);
    bool same = true;
    for (int64_t i = 0; i < t->n; i++) same &= g->is[i] == t->entry[i] && (!g->is[i] || g->v[i] == t->v[i]);
    if (status != TRA_OK || !same)
        check_report("line %d: %s of %" PRId64 " x %" PRId64 ": %s", line, s->text, t->extent[0], t->extent[1],
                     status == TRA_OK ? "other entries" : e.msg);
    free(g);
}

static inline tra_storage *find(tra_arena *a, const char *name, int rank, int n, const int64_t *args) {
    tra_storage *s = NULL;
    tra_err e = {0};
    if (tra_storage_find(name, rank, n, args, false, a, &s, &e) != TRA_OK || !s)
        check_report("%s: %s", name, s ? e.msg : "not found");
    return s;
}

static inline tra_storage *made(tra_arena *a, const char *text, int rank, int n, const int64_t *args, tra_err *e) {
    tra_calc_error err;
    int end;
    tra_storage *s = NULL;
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, a, &end, &err);
    if (!d) {
        check_report("%s: %s", text, err.msg);
        return NULL;
    }
    return tra_storage_make(d, rank, n, args, false, a, &s, e) == TRA_OK ? s : NULL;
}

#endif
