/* choice_tensors.h - random tensors for choice.c, and the arrays by which storages hold them. */
#ifndef TRA_CHOICE_TENSORS_H
#define TRA_CHOICE_TENSORS_H

#include "../../lib/storage/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 3 };

/* ---- random tensors --------------------------------------------------------------------------------------------- */

typedef enum pattern { UNIFORM, POWER, BANDED, BLOCK } pattern;
static const char *const pattern_names[] = {"uniform", "power", "banded", "block"};

static uint64_t state = 88172645463325252u;
static inline double draw(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static inline int64_t below(int64_t n) { return (int64_t)(draw() * (double)n); }

static inline void sort_keys(uint64_t *v, int64_t n, uint64_t most) {
    enum { BITS = 11, BUCKETS = 1 << BITS };
    uint64_t *to = tra_malloc((size_t)(n + 1) * sizeof *to);
    for (int shift = 0; shift < 64 && most >> shift; shift += BITS) {
        int64_t count[BUCKETS + 1] = {0};
        for (int64_t i = 0; i < n; i++) count[(v[i] >> shift & (BUCKETS - 1)) + 1]++;
        for (int b = 0; b < BUCKETS; b++) count[b + 1] += count[b];
        for (int64_t i = 0; i < n; i++) to[count[v[i] >> shift & (BUCKETS - 1)]++] = v[i];
        memcpy(v, to, (size_t)n * sizeof *v);
    }
    free(to);
}

typedef struct entries {
    int rank;
    int64_t extent[MOST_RANK], n;
    uint64_t *at; /* row-major places, ascending */
} entries;

/* A random place: uniform; by a power law along each dimension; in a band around the diagonal; in the block of 8 per
 * dimension at `corner`. */
static inline uint64_t one(const entries *t, pattern p, double density, const int64_t *corner) {
    uint64_t at = 0;
    int64_t first = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t n = t->extent[d], i = below(n), width = tra_max64(1, (int64_t)((double)n * density));
        if (p == POWER) i = (int64_t)((double)n * pow(draw(), 2.5));
        if (p == BANDED && d) i = ((int64_t)((double)first * (double)n / (double)t->extent[0]) + below(width)) % n;
        if (p == BLOCK) i = tra_min64(n - 1, corner[d] + below(8));
        if (d == 0) first = i;
        at = at * (uint64_t)n + (uint64_t)i;
    }
    return at;
}

static inline entries make_entries(int rank, const int64_t *extent, pattern p, double density) {
    entries t = {.rank = rank};
    double all = 1;
    for (int d = 0; d < rank; d++) all *= (double)(t.extent[d] = extent[d]);
    int64_t want = (int64_t)(density * all), corner[MOST_RANK] = {0};
    if (density >= 1) { /* all elements are entries */
        t.at = tra_malloc((size_t)all * sizeof *t.at + 8);
        for (t.n = 0; t.n < (int64_t)all; t.n++) t.at[t.n] = (uint64_t)t.n;
        return t;
    }
    double band = rank > 1 ? pow(density, 1.0 / (rank - 1)) : density;
    t.at = tra_malloc((size_t)(want + 1) * sizeof *t.at);
    for (int64_t i = 0, in_block = 300; i < want; i++) {
        for (int d = 0; p == BLOCK && in_block >= 64 && d < rank; d++) corner[d] = below((extent[d] + 7) / 8) * 8;
        in_block = in_block >= 64 ? 0 : in_block + 1;
        t.at[i] = one(&t, p, band, corner);
    }
    sort_keys(t.at, want, (uint64_t)all);
    for (int64_t i = 0; i < want; i++)
        if (i == 0 || t.at[i] != t.at[i - 1]) t.at[t.n++] = t.at[i];
    return t;
}

/* ---- storages ---------------------------------------------------------------------------------------------------- */

typedef struct operand {
    tra_storage *storage; /* NULL: dense */
    tra_component_data *data;
    double positions[MOST_RANK], squares[MOST_RANK]; /* by level, as the statistics in files */
    int64_t n;
} operand;

static inline double value_at(uint64_t at) { return 1 + (double)(at * 0x9e3779b97f4a7c15u >> 40) * 0x1p-24; }

static inline void put(operand *o, const char *name, int depth, int64_t n, tra_element type, void *v) {
    char full[32];
    snprintf(full, sizeof full, depth < 0 ? "%s" : "%s%d", name, depth);
    for (int k = 0; k < o->storage->ncomponents; k++)
        if (strcmp(o->storage->components[k].name, full) == 0) o->data[k].value = (tra_elements){type, n, v};
}

/* A sparse level: for each position of the level above each coordinate once (in coo, where a singleton level follows,
 * as often as there are entries). part: the entries below each position of the level above; on return, of this one. */
static inline void fill_sparse(operand *o, int d, const int32_t *column, int64_t n, int64_t **part, int64_t *nparts) {
    const tra_storage *s = o->storage;
    bool apart = d + 1 < s->rank && s->level[d + 1] == TRA_CALC_LEVEL_SINGLETON;
    int32_t *index = tra_malloc((size_t)(n + 1) * sizeof *index);
    int64_t *pointer = tra_malloc((size_t)(*nparts + 1) * sizeof *pointer);
    int64_t *next = tra_malloc((size_t)(n + 2) * sizeof *next), m = 0;
    for (int64_t q = 0; q < *nparts; q++) {
        pointer[q] = m;
        for (int64_t i = (*part)[q]; i < (*part)[q + 1]; i++) {
            if (!apart && i > (*part)[q] && column[i] == column[i - 1]) continue;
            index[m] = column[i];
            next[m++] = i;
        }
        double of = (double)(m - pointer[q]);
        o->squares[d] += of * of;
    }
    pointer[*nparts] = next[m] = m;
    next[m] = n;
    o->positions[d] = (double)m;
    put(o, "indices_", d, m, TRA_ELEMENT_I32, index);
    if (d) {
        put(o, "pointers_to_", d, *nparts + 1, TRA_ELEMENT_I64, pointer);
    } else {
        int64_t *size = tra_malloc(sizeof *size);
        *size = m;
        put(o, "size_", 0, 1, TRA_ELEMENT_I64, size);
        free(pointer);
    }
    free(*part);
    *part = next;
    *nparts = m;
}

static inline void fill_dense(const int32_t *column, int64_t extent, int64_t **part, int64_t *nparts) {
    int64_t *next = tra_malloc((size_t)(*nparts * extent + 1) * sizeof *next);
    for (int64_t q = 0; q < *nparts; q++)
        for (int64_t i = 0, at = (*part)[q]; i < extent; i++) {
            next[q * extent + i] = at;
            while (at < (*part)[q + 1] && column[at] == i) at++;
        }
    next[*nparts * extent] = (*part)[*nparts];
    free(*part);
    *part = next;
    *nparts *= extent;
}

/* The tensor in a storage by levels, or in "dense", which has all elements. */
static inline operand fill(tra_arena *a, const entries *t, const char *storage) {
    operand o = {.n = t->n};
    tra_err e = {0};
    int64_t all = 1;
    for (int d = 0; d < t->rank; d++) all *= t->extent[d];
    if (strcmp(storage, "dense") == 0) {
        double *v = tra_calloc((size_t)all + 1, sizeof *v);
        for (int64_t i = 0; i < t->n; i++) v[t->at[i]] = value_at(t->at[i]);
        o.data = tra_new(a, tra_component_data);
        o.data->value = (tra_elements){TRA_ELEMENT_F64, all, v};
        return o;
    }
    if (tra_storage_find(storage, t->rank, 0, NULL, false, a, &o.storage, &e) != TRA_OK || !o.storage) {
        fprintf(stderr, "%s: %s\n", storage, o.storage ? e.msg : "there is no such storage");
        exit(1);
    }
    const tra_storage *s = o.storage;
    o.data = tra_news(a, tra_component_data, s->ncomponents);
    uint64_t *key = tra_malloc((size_t)(t->n + 1) * sizeof *key);
    int32_t *column = tra_malloc((size_t)(t->n + 1) * sizeof *column);
    double *value = tra_malloc((size_t)(t->n + 1) * sizeof *value);
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at[MOST_RANK], left = t->at[i], k = 0;
        for (int d = t->rank - 1; d >= 0; d--) at[d] = left % (uint64_t)t->extent[d], left /= (uint64_t)t->extent[d];
        for (int d = 0; d < t->rank; d++) k = k * (uint64_t)t->extent[s->order[d]] + at[s->order[d]];
        key[i] = k;
    }
    sort_keys(key, t->n, (uint64_t)all);
    int64_t *part = tra_calloc(2, sizeof *part), nparts = 1, under = all;
    part[1] = t->n;
    for (int d = 0; d < s->rank; d++) {
        int64_t extent = t->extent[s->order[d]];
        under /= extent;
        for (int64_t i = 0; i < t->n; i++) column[i] = (int32_t)(key[i] / (uint64_t)under % (uint64_t)extent);
        switch (s->level[d]) {
        case TRA_CALC_LEVEL_DENSE: fill_dense(column, extent, &part, &nparts); break;
        case TRA_CALC_LEVEL_SPARSE: fill_sparse(&o, d, column, t->n, &part, &nparts); break;
        case TRA_CALC_LEVEL_SINGLETON: {
            int32_t *index = tra_malloc((size_t)(t->n + 1) * sizeof *index);
            memcpy(index, column, (size_t)t->n * sizeof *index);
            put(&o, "indices_", d, t->n, TRA_ELEMENT_I32, index);
            break;
        }
        case TRA_CALC_LEVEL_HASH: fprintf(stderr, "%s: hash levels are not filled here\n", storage), exit(1);
        }
    }
    for (int64_t i = 0; i < t->n; i++) value[i] = value_at(key[i]);
    put(&o, "values", -1, t->n, TRA_ELEMENT_F64, value);
    free(part);
    free(key);
    free(column);
    return o;
}

static inline void free_operand(operand *o) {
    int n = o->storage ? o->storage->ncomponents : 1;
    for (int k = 0; o->data && k < n; k++) free((void *)o->data[k].value.data);
}

#endif
