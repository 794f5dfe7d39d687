/* layout.c - how the arrays of a relation lie in its dataset. */
#include "geometry.h"

/* The largest extent of the arrays along a dimension: in a grid that is no tensor, `last` may exceed the bound. */
static int64_t largest(const tra_catalog *c, int a) {
    return c->grid && c->by[a] >= 0 ? tra_max64(c->bound.v[a], c->last[a]) : c->bound.v[a];
}

/* Extents and chunk of the dataset in the given layout. */
static void lay_out(const tra_type *t, bool tuple, tra_dims *dims, tra_dims *chunk) {
    const tra_catalog *c = t->cat;
    int k = c->frontier.n, r = c->bound.n, n = 0;
    uint32_t cutting = 0;
    tra_dims shape;
    if (tuple) {
        shape.n = r;
        for (int a = 0; a < r; a++) shape.v[a] = largest(c, a);
    } else {
        tra_type_shape(t, &shape);
        for (int a = 0; a < r; a++) cutting |= t->cut[a];
    }
    for (int d = 0; d < k; d++) {
        if (cutting >> d & 1) continue;
        dims->v[n] = c->frontier.v[d];
        chunk->v[n++] = 1;
    }
    for (int a = 0; a < r; a++) {
        dims->v[n] = shape.v[a];
        chunk->v[n++] = tra_max64(1, tra_min64(shape.v[a], largest(c, a)));
    }
    if (n == 0) dims->v[n] = chunk->v[n] = 1, n = 1;
    dims->n = chunk->n = n;
}

void tra_store_layout(const tra_type *t, tra_dims *dims, tra_dims *chunk, bool *tuple) {
    *tuple = !tra_type_is_tensor(t, NULL);
    lay_out(t, *tuple, dims, chunk);
}

int64_t tra_store_chunk_bytes(const tra_type *t) {
    tra_dims chunk = {.n = t->cat->bound.n};
    for (int a = 0; a < chunk.n; a++) chunk.v[a] = tra_max64(1, largest(t->cat, a));
    return tra_dense_bytes(t->dtype, &chunk);
}

tra_status tra_geom_of(const tra_type *t, tra_geom *g, tra_err *e) {
    return tra_geom_in(t, !tra_type_is_tensor(t, NULL), g, e);
}

tra_status tra_geom_in(const tra_type *t, bool tuple, tra_geom *g, tra_err *e) {
    const tra_catalog *c = t->cat;
    char buf[TRA_DIMTEXT];
    g->tuple = tuple;
    lay_out(t, tuple, &g->dims, &g->chunk);
    int n = g->dims.n, r = c->bound.n, d = 0;
    uint32_t cutting = 0;
    g->lead = n - r;
    for (int a = 0; a < r; a++) {
        uint32_t cut = g->tuple ? 0 : t->cut[a];
        cutting |= cut;
        g->key[g->lead + a] = (int8_t)(cut ? __builtin_ctz(cut) : -1);
    }
    for (int i = 0; i < g->lead; i++) {
        while (d < c->frontier.n && cutting >> d & 1) d++;
        g->key[i] =
            (int8_t)(d < c->frontier.n ? d++ : -1); /* where k + r = 0, the one dimension of the dataset is no key */
    }
    g->grid.n = n;
    for (int i = 0; i < n; i++) g->grid.v[i] = tra_ceil_div(g->dims.v[i], g->chunk.v[i]);
    if (!tra_dims_product(&g->chunk, &g->chunk_elements)) g->chunk_elements = INT64_MAX;
    if (!tra_dims_product(&g->grid, &g->nchunks))
        return tra_fail(e, TRA_INPUT, "a dataset of %s chunks is too large", tra_shape_text(&g->grid, buf));
    return TRA_OK;
}

tra_status tra_geom_fits(const tra_type *t, const tra_geom *g, tra_err *e) {
    char buf[TRA_DIMTEXT];
    if (tra_dense_bytes(t->dtype, &g->chunk) < (int64_t)1 << 32) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "arrays of %s elements are too large for one chunk (4 GiB); use smaller blocks",
                    tra_shape_text(&g->chunk, buf));
}

void tra_geom_offset(const tra_geom *g, const tra_dims *key, int64_t off[TRA_MAXDIM]) {
    for (int i = 0; i < g->dims.n; i++) off[i] = g->key[i] >= 0 ? key->v[(int)g->key[i]] * g->chunk.v[i] : 0;
}

int64_t tra_geom_chunk_number(const tra_geom *g, const tra_dims *key) {
    int64_t cell = 0;
    for (int i = 0; i < g->dims.n; i++) cell = cell * g->grid.v[i] + (g->key[i] >= 0 ? key->v[(int)g->key[i]] : 0);
    return cell;
}

int64_t tra_store_index_bytes(const tra_catalog *c) {
    int64_t each = c->grid ? 48 : 64 + 8 * (int64_t)(c->frontier.n + c->bound.n), n; /* measured for grids: 28 to 40 */
    return tra_mul(c->n, each, &n) ? n : INT64_MAX / 4;
}
