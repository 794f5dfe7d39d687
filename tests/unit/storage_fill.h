/* storage_fill.h - components of storages by levels, filled from a tensor by an algorithm of its own. */
#ifndef TRA_STORAGE_FILL_H
#define TRA_STORAGE_FILL_H

#include "storage_util.h"

typedef struct filled {
    const tra_storage *s;
    const tensor *t;
    int64_t at[MOST][4]; /* entries, coordinates in the order of the levels, sorted */
    double v[MOST];
    int64_t n;
    tra_component_data data[16];
} filled;

static inline int by_coordinates(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    for (int d = 0; d < 5; d++)
        if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
    return 0;
}

static inline void put_ints(filled *f, const char *name, int64_t n, const int64_t *v) {
    for (int k = 0; k < f->s->ncomponents; k++)
        if (strcmp(f->s->components[k].name, name) == 0) {
            int64_t *copy = tra_calloc((size_t)n + 1, sizeof *copy);
            if (n) memcpy(copy, v, (size_t)n * sizeof *copy);
            f->data[k].value = (tra_elements){TRA_ELEMENT_I64, n, copy};
            return;
        }
    check_report("%s has no component %s", f->s->text, name);
}

/* Fills a component that is a hash map: n keys of nkeys coordinates each, and their values v. */
static inline void put_map(filled *f, const char *name, int64_t n, int nkeys, int64_t (*keys)[5], bool real,
                           const void *v) {
    for (int k = 0; k < f->s->ncomponents; k++) {
        if (strcmp(f->s->components[k].name, name) != 0) continue;
        CHECK_INT(f->s->components[k].nsizes, nkeys);
        for (int c = 0; c < nkeys; c++) {
            int64_t *column = tra_calloc((size_t)n + 1, sizeof *column);
            for (int64_t i = 0; i < n; i++) column[i] = keys[i][c];
            f->data[k].key[c] = (tra_elements){TRA_ELEMENT_I64, n, column};
        }
        void *copy = tra_calloc((size_t)n + 1, 8);
        if (n) memcpy(copy, v, (size_t)n * 8);
        f->data[k].value = (tra_elements){real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64, n, copy};
        return;
    }
    check_report("%s has no component %s", f->s->text, name);
}

/* The positions of a level, n of them, each with the range of entries below it. */
typedef struct positions {
    int64_t n, from[4 * MOST], to[4 * MOST];
} positions;

static inline bool same_until(const filled *f, int64_t a, int64_t b, int from, int to) {
    for (int d = from; d < to; d++)
        if (f->at[a][d] != f->at[b][d]) return false;
    return true;
}

/* Groups the entries below each position by their coordinates from .. to-1; apart: each entry is a group. */
static inline void group(const filled *f, const positions *p, int from, int to, bool apart, positions *out,
                         int64_t *pointers) {
    out->n = 0;
    for (int64_t q = 0; q < p->n; q++) {
        pointers[q] = out->n;
        for (int64_t i = p->from[q]; i < p->to[q];) {
            int64_t j = i + 1;
            while (j < p->to[q] && !apart && same_until(f, i, j, from, to)) j++;
            out->from[out->n] = i;
            out->to[out->n++] = j;
            i = j;
        }
    }
    pointers[p->n] = out->n;
}

static inline void fill_sparse(filled *f, int d, const positions *p, positions *out) {
    static int64_t pointers[4 * MOST + 1], indices[MOST];
    char name[32];
    bool apart = d + 1 < f->s->rank && f->s->level[d + 1] == TRA_CALC_LEVEL_SINGLETON;
    group(f, p, d, d + 1, apart, out, pointers);
    for (int64_t i = 0; i < out->n; i++) indices[i] = f->at[out->from[i]][d];
    if (d == 0) {
        put_ints(f, "size_0", 1, &out->n);
    } else {
        snprintf(name, sizeof name, "pointers_to_%d", d);
        put_ints(f, name, p->n + 1, pointers);
    }
    snprintf(name, sizeof name, "indices_%d", d);
    put_ints(f, name, out->n, indices);
}

static inline void fill_dense(const filled *f, int d, const positions *p, positions *out) {
    int64_t extent = f->t->extent[f->s->order[d]];
    out->n = 0;
    for (int64_t q = 0; q < p->n; q++)
        for (int64_t i = 0, e = p->from[q]; i < extent; i++) {
            out->from[out->n] = e;
            while (e < p->to[q] && f->at[e][d] == i) e++;
            out->to[out->n++] = e;
        }
}

/* Returns true after the last run of levels, where the map holds the values. */
static inline bool fill_hash(filled *f, int d, int to, const positions *p, positions *out) {
    static int64_t pointers[4 * MOST + 1], keys[MOST][5], ids[MOST];
    char name[32];
    int root = d == 0;
    group(f, p, d, to, false, out, pointers);
    for (int64_t q = 0; q < p->n; q++)
        for (int64_t i = pointers[q]; i < pointers[q + 1]; i++) {
            keys[i][0] = q;
            ids[i] = i;
            for (int k = d; k < to; k++) keys[i][k - d + !root] = f->at[out->from[i]][k];
        }
    bool last = to == f->s->rank;
    snprintf(name, sizeof name, last ? "values" : "positions_%d", d);
    put_map(f, name, out->n, to - d + !root, keys, last, last ? (void *)f->v : (void *)ids);
    return last;
}

static inline void fill_levels(filled *f) {
    static positions p[2];
    static double values[4 * MOST];
    char name[32];
    positions *now = &p[0], *then = &p[1];
    *now = (positions){.n = 1, .to = {f->n}};
    for (int d = 0; d < f->s->rank; d++) {
        static int64_t indices[MOST];
        int to = d + 1;
        switch (f->s->level[d]) {
        case TRA_CALC_LEVEL_DENSE: fill_dense(f, d, now, then); break;
        case TRA_CALC_LEVEL_SPARSE: fill_sparse(f, d, now, then); break;
        case TRA_CALC_LEVEL_SINGLETON:
            for (int64_t i = 0; i < now->n; i++) indices[i] = f->at[now->from[i]][d];
            snprintf(name, sizeof name, "indices_%d", d);
            put_ints(f, name, now->n, indices);
            *then = *now;
            break;
        case TRA_CALC_LEVEL_HASH:
            while (to < f->s->rank && f->s->level[to] == TRA_CALC_LEVEL_HASH) to++;
            if (fill_hash(f, d, to, now, then)) return;
            d = to - 1;
            break;
        }
        positions *swap = now;
        now = then;
        then = swap;
    }
    for (int64_t i = 0; i < now->n; i++) values[i] = now->from[i] < now->to[i] ? f->v[now->from[i]] : 0;
    for (int k = 0; k < f->s->ncomponents; k++)
        if (strcmp(f->s->components[k].name, "values") == 0) {
            double *copy = tra_calloc((size_t)now->n + 1, sizeof *copy);
            memcpy(copy, values, (size_t)now->n * sizeof *copy);
            f->data[k].value = (tra_elements){TRA_ELEMENT_F64, now->n, copy};
        }
}

static inline void free_components(const tra_storage *s, tra_component_data *data) {
    for (int k = 0; k < s->ncomponents; k++) {
        free((void *)data[k].value.data);
        for (int c = 0; c < TRA_CALC_MAXRANK; c++) free((void *)data[k].key[c].data);
    }
}

/* Fills f->data; free them with free_components. */
static inline void fill(filled *f, const tra_storage *s, const tensor *t) {
    memset(f, 0, sizeof *f);
    f->s = s;
    f->t = t;
    struct {
        int64_t at[5];
        double v;
    } *sorted = tra_calloc(MOST, sizeof *sorted);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t at[4] = {0};
        if (!t->entry[i]) continue;
        coordinates(t, i, at);
        for (int d = 0; d < s->rank; d++) sorted[f->n].at[d] = at[s->order[d]];
        sorted[f->n++].v = t->v[i];
    }
    qsort(sorted, (size_t)f->n, sizeof *sorted, by_coordinates);
    for (int64_t i = 0; i < f->n; i++) {
        memcpy(f->at[i], sorted[i].at, sizeof f->at[i]);
        f->v[i] = sorted[i].v;
    }
    free(sorted);
    fill_levels(f);
}

#endif
