/* chunks_describe.c - attributes and tables of a relation whose arrays are the chunks of a dataset. */
#include "chunks.h"
#include "../h5/scales.h"

#include <stdlib.h>

static bool put_attributes(tra_writer *w, const char *digest) {
    int64_t format = 1, rank = w->type.cat->bound.n, header[TRA_HEADER];
    return tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) &&
           tra_h5_put_ints(w->dset, "tra_rank", 0, NULL, &rank) && tra_writer_put_cuts(w) && tra_scales_put(w) &&
           tra_h5_put_seal(w->dset, header, tra_h5_header(w->dset, header)) && tra_writer_put_notes(w, digest);
}

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
