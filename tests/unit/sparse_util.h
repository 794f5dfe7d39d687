/* sparse_util.h - inputs of programs that are declared only, made sparse with random entries. */
#ifndef TRA_SPARSE_UTIL_H
#define TRA_SPARSE_UTIL_H

#include "../../lib/model/rows.h"
#include "../../plans/reference/reference.h"

static uint64_t sparse_seed = 88172645463325252u;
static uint64_t sparse_random(void) {
    sparse_seed ^= sparse_seed << 13, sparse_seed ^= sparse_seed >> 7, sparse_seed ^= sparse_seed << 17;
    return sparse_seed >> 11;
}

/* Whole numbers, so that sums cancel; now and then NaN or infinity. */
static double sparse_value(bool special) {
    uint64_t r = sparse_random();
    if (special && r % 23 == 0) return r % 2 ? (double)NAN : (double)INFINITY;
    return (double)(int64_t)(sparse_random() % 9) - 4;
}

/* The relation of an input: about one element in `of` has a random value, the others are 0 (of = 1: all have one). */
static tra_ref_rel *sparse_relation(const tra_node *n, tra_arena *a, int of, bool special) {
    const tra_catalog *c = n->type.cat;
    tra_ref_rel *r = tra_new(a, tra_ref_rel);
    *r = (tra_ref_rel){.k = c->frontier.n, .r = c->bound.n, .dtype = n->type.dtype, .bound = c->bound, .n = c->n};
    memcpy(r->cut, n->type.cut, sizeof r->cut);
    r->v = tra_news(a, tra_ref_tuple, c->n);
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &r->v[t].key);
        tra_catalog_ext(c, t, &r->v[t].ext);
        int64_t size = tra_catalog_elements_of(c, t);
        r->v[t].data = tra_news(a, ref_num, size);
        for (int64_t i = 0; i < size; i++)
            if (sparse_random() % (uint64_t)of == 0) r->v[t].data[i] = sparse_value(special);
    }
    return r;
}

/* Elements of a tuple that are not 0, and the rows that have any. */
static int64_t sparse_count(const tra_ref_rel *r, int64_t t, int64_t *rows) {
    int64_t n = 0, last = -1, width = r->r ? r->v[t].ext.v[r->r - 1] : 1, size = 1;
    for (int d = 0; d < r->r; d++) size *= r->v[t].ext.v[d];
    *rows = 0;
    for (int64_t i = 0; i < size; i++) {
        if (r->v[t].data[i] == 0) continue;
        n++;
        *rows += i / width != last;
        last = i / width;
    }
    return n;
}

/* Makes the input sparse, with the entries that the relation has; known: tuple by tuple, else by estimates. */
static void sparse_input(tra_node *n, tra_ref_rel *r, tra_arena *a, bool known) {
    int64_t count = r->n, all = 0, most = 0, *of = tra_news(a, int64_t, count), *rows = tra_news(a, int64_t, count);
    for (int64_t t = 0; t < count; t++) {
        of[t] = sparse_count(r, t, &rows[t]);
        all += of[t];
        most = tra_max64(most, of[t]);
    }
    r->sparse = n->type.sparse = true;
    n->type.layout = &tra_rows;
    n->type.entries =
        known ? tra_entries_exactly(a, &n->type, of, rows) : tra_entries_about(a, &n->type, (double)all, all, most);
}

#endif
