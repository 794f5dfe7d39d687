/* attributes.c - what the file of a relation holds besides its chunks: attributes and tables. */
#include "scales.h"
#include "chunks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 32 << 10 }; /* attributes of the earliest file format are limited to 64 KiB */

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static bool put_keys(tra_writer *w) {
    const tra_catalog *c = w->type.cat;
    int64_t v[TRA_MAXDIM] = {0};
    hsize_t n;
    if (w->geom.tuple) { /* for each array dimension the set of keys that cut it, as bits */
        n = (hsize_t)c->bound.n;
        for (int a = 0; a < c->bound.n; a++) v[a] = w->type.cut[a];
        return tra_h5_put_ints(w->dset, "tra_cuts", 1, &n, v);
    }
    n = (hsize_t)c->frontier.n;
    for (int d = 0; d < c->frontier.n; d++) {
        v[d] = -1;
        for (int a = 0; a < c->bound.n; a++) {
            if (w->type.cut[a] >> d & 1) v[d] = a;
        }
    }
    return tra_h5_put_ints(w->dset, "tra_keys", 1, &n, v);
}

/* Tuple layout of a grid: key dimension, extent, and extent at the last value of that key. */
static bool put_grid_extents(tra_writer *w) {
    const tra_catalog *c = w->type.cat;
    hsize_t dims[2] = {(hsize_t)c->bound.n, 3};
    int64_t v[3 * TRA_MAXDIM];
    bool clipped = false;
    for (int a = 0; a < c->bound.n; a++) {
        v[3 * a] = c->by[a];
        v[3 * a + 1] = c->bound.v[a];
        v[3 * a + 2] = c->last[a];
        clipped = clipped || c->by[a] >= 0;
    }
    return !clipped || tra_h5_put_ints(w->dset, "tra_extents", 2, dims, v);
}

/* Are the extents a table (put_list_extents), which the attribute names? Only of lists. */
static bool lists_extents(const tra_writer *w) {
    const tra_catalog *c = w->type.cat;
    if (!w->geom.tuple || c->grid || c->n == 0) return false;
    if (c->nclasses > 1) return true;
    return memcmp(c->ext, c->bound.v, (size_t)c->bound.n * sizeof c->ext[0]) != 0;
}

static bool put_extents(tra_writer *w) {
    if (!w->geom.tuple) return true;
    if (w->type.cat->grid) return put_grid_extents(w);
    return !lists_extents(w) || tra_h5_put_text(w->dset, "tra_extents", tra_table_path(w->arena, w->name, "extents"));
}

static bool put_text(hid_t obj, const char *name, const char *text) {
    char *cut = tra_asprintf("%.*s", MAX_TEXT, text);
    bool ok = tra_h5_put_text(obj, name, cut);
    free(cut);
    return ok;
}

bool tra_writer_put_cuts(tra_writer *w) {
    return tra_h5_put_text(w->dset, "tra_layout", w->geom.tuple ? "tuple" : "tensor") && put_keys(w) && put_extents(w);
}

bool tra_writer_put_notes(tra_writer *w, const char *digest) {
    return (!digest || put_text(w->dset, "tra_digest", digest)) &&
           (!w->units || put_text(w->dset, "units", w->units)) &&
           (!w->history || put_text(w->dset, "tra_history", w->history));
}

static bool put_attributes(tra_writer *w, const char *digest) {
    int64_t format = 1, rank = w->type.cat->bound.n, header[TRA_HEADER];
    return tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) &&
           tra_h5_put_ints(w->dset, "tra_rank", 0, NULL, &rank) && tra_writer_put_cuts(w) && tra_scales_put(w) &&
           tra_h5_put_seal(w->dset, header, tra_h5_header(w->dset, header)) && tra_writer_put_notes(w, digest);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static bool put_mask_sum(const tra_writer *w, hid_t group) {
    if (!w->codec.zstd) return true;
    int64_t sum = (int64_t)w->mask_sum;
    hid_t dset = H5Dopen2(group, "xxh64", H5P_DEFAULT);
    bool ok = dset >= 0 && tra_h5_put_ints(dset, "tra_masks", 0, NULL, &sum);
    return H5Dclose(dset) >= 0 && ok;
}

static bool put_sums(tra_writer *w, hid_t group) {
    const tra_catalog *c = w->type.cat;
    hsize_t dims[TRA_MAXDIM], n = (hsize_t)c->n;
    if (!tra_sums_over_grid(w->geom.nchunks, c->n))
        return tra_h5_put_table(group, "xxh64", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, &n, w->sums) &&
               put_mask_sum(w, group);
    uint64_t *grid = tra_calloc((size_t)tra_max64(1, w->geom.nchunks), sizeof *grid);
    for (int64_t i = 0; i < c->n; i++) {
        tra_dims key;
        tra_catalog_key(c, i, &key);
        grid[tra_geom_chunk_number(&w->geom, &key)] = w->sums[i];
    }
    for (int i = 0; i < w->geom.grid.n; i++) dims[i] = (hsize_t)w->geom.grid.v[i];
    bool ok = tra_h5_put_table(group, "xxh64", H5T_STD_U64LE, H5T_NATIVE_UINT64, w->geom.grid.n, dims, grid);
    free(grid);
    return ok && put_mask_sum(w, group);
}

static bool put_list_extents(tra_writer *w, hid_t group) {
    const tra_catalog *c = w->type.cat;
    int r = c->bound.n;
    if (!lists_extents(w)) return true;
    hsize_t dims[2] = {(hsize_t)c->n, (hsize_t)r};
    int64_t *v = tra_malloc((size_t)(c->n * r) * sizeof *v);
    for (int64_t i = 0; i < c->n; i++) {
        tra_dims ext;
        tra_catalog_ext(c, i, &ext);
        memcpy(v + i * r, ext.v, (size_t)r * sizeof *v);
    }
    bool ok = tra_h5_put_table(group, "extents", H5T_STD_I64LE, H5T_NATIVE_INT64, 2, dims, v);
    free(v);
    return ok;
}

bool tra_writer_put_lists(tra_writer *w, hid_t group) {
    const tra_catalog *c = w->type.cat;
    hsize_t n = (hsize_t)c->n;
    return (c->grid || tra_h5_put_table(group, "keys", H5T_STD_I64LE, H5T_NATIVE_INT64, 1, &n, c->pos)) &&
           put_list_extents(w, group);
}

static bool put_tables(tra_writer *w) {
    int64_t header[TRA_HEADER];
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
    if (H5Pset_create_intermediate_group(lcpl, 1) >= 0)
        group = H5Gcreate2(w->file, tra_table_path(w->arena, w->name, NULL), lcpl, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = group >= 0 && tra_h5_put_text(group, "tra_pipeline", tra_h5_pipeline(w->dset, w->arena)) &&
              tra_h5_put_seal(group, header, tra_h5_header(w->dset, header)) && (w->gzip || put_sums(w, group)) &&
              tra_writer_put_lists(w, group);
    if (group >= 0 && H5Gclose(group) < 0) ok = false;
    H5Pclose(lcpl);
    return ok;
}

bool tra_chunks_describe(tra_writer *w, const char *digest) { return put_attributes(w, digest) && put_tables(w); }
