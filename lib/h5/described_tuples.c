/* described_tuples.c - which tuples a relation in a file has, and how large their arrays are: from its attributes, and
 * with holes from the tables of keys and extents. */

#include "described.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the relation that it is ----------------------------------------------------------------------------------- */

static tra_status grid_of(tra_rel *r, const tra_dims *frontier, const tra_dims *bound, const int8_t *by,
                          const int64_t *last, tra_catalog *out, tra_err *e) {
    char buf[TRA_DIMTEXT];
    int64_t n;
    if (!tra_dims_product(frontier, &n))
        return TRA_REL_BAD(r, e, "it has more than 2^63 chunks: %s", tra_shape_text(frontier, buf));
    return tra_catalog_grid(frontier, bound, by, last, out, e);
}

/* tra_keys: for each key dimension the array dimension that it blocks, or -1. */
static tra_status read_keys(tra_rel *r, int lead, int rank, int64_t keys[TRA_MAXDIM], int *k, tra_err *e) {
    int64_t n = tra_h5_get_ints(r->dset, "tra_keys", keys, TRA_MAXDIM);
    if (n < 0 && H5Aexists(r->dset, "tra_keys") > 0)
        return TRA_REL_BAD(r, e, "%s", "its attribute tra_keys is malformed");
    if (n < 0) {
        n = lead + rank;
        for (int d = 0; d < n && n <= TRA_MAXDIM; d++) keys[d] = d < lead ? -1 : d - lead;
    }
    int free_keys = 0;
    uint32_t seen = 0;
    for (int64_t d = 0; d < n; d++) {
        bool bad = keys[d] < -1 || keys[d] >= rank || (keys[d] >= 0 && seen >> keys[d] & 1);
        if (bad) return TRA_REL_BAD(r, e, "its attribute tra_keys is malformed (entry %" PRId64 ")", d);
        if (keys[d] < 0)
            free_keys++;
        else
            seen |= 1u << keys[d];
    }
    if (n + rank > TRA_MAXDIM)
        return TRA_REL_BAD(r, e, "it has %" PRId64 " key and %d array dimensions; at most %d together", n, rank,
                           TRA_MAXDIM);
    if (free_keys != lead)
        return TRA_REL_BAD(r, e, "its attributes tra_keys and tra_rank are of %d dimensions, the dataset has %d",
                           free_keys + rank, lead + rank);
    *k = (int)n;
    return TRA_OK;
}

static tra_status rechunked(tra_rel *r, tra_err *e) {
    return TRA_REL_BAD(r, e, "%s",
                       "its chunks are not those of its attributes: it was rewritten with other chunks; import it "
                       "again");
}

tra_status tra_described_tensor_layout(tra_rel *r, const tra_described *h, int rank, tra_catalog *grid, tra_err *e) {
    int lead = h->shape.n - rank, k = 0, next = 0;
    int64_t keys[TRA_MAXDIM], last[TRA_MAXDIM];
    int8_t by[TRA_MAXDIM];
    tra_dims frontier, bound = {.n = rank};
    if (rank == 0 && tra_h5_get_ints(r->dset, "tra_keys", keys, TRA_MAXDIM) == 0)
        lead = 0; /* with k + r = 0 the shape is [1] */
    TRA_TRY(read_keys(r, lead, rank, keys, &k, e));
    if (h->shape.n == 1 && k + rank == 0 && h->shape.v[0] != 1) return rechunked(r, e);
    for (int a = 0; a < rank; a++) {
        int64_t n = h->shape.v[lead + a], c = h->chunk.v[lead + a];
        by[a] = -1;
        bound.v[a] = last[a] = tra_max64(1, tra_min64(n, c));
        for (int d = 0; d < k; d++) {
            if (keys[d] == a) by[a] = (int8_t)d;
        }
        if (by[a] < 0 && n > c) return rechunked(r, e);
        if (by[a] < 0) bound.v[a] = last[a] = n;
        r->type.cut[a] = by[a] < 0 ? 0 : 1u << by[a];
    }
    frontier.n = k;
    for (int d = 0; d < k; d++) {
        if (keys[d] < 0) {
            if (h->chunk.v[next] != 1) return rechunked(r, e);
            frontier.v[d] = h->shape.v[next++];
            continue;
        }
        int a = (int)keys[d];
        int64_t n = h->shape.v[lead + a];
        frontier.v[d] = tra_ceil_div(n, bound.v[a]);
        if (n > 0) last[a] = n - (frontier.v[d] - 1) * bound.v[a];
    }
    return grid_of(r, &frontier, &bound, by, last, grid, e);
}

tra_status tra_described_tuple_layout(tra_rel *r, const tra_described *h, int rank, tra_catalog *grid, tra_err *e) {
    int k = h->shape.n - rank;
    int64_t v[3 * TRA_MAXDIM], cuts[TRA_MAXDIM], last[TRA_MAXDIM];
    int8_t by[TRA_MAXDIM];
    tra_dims frontier = h->shape, bound = {.n = rank};
    frontier.n = k;
    int64_t ncuts = tra_h5_get_ints(r->dset, "tra_cuts", cuts, TRA_MAXDIM);
    int64_t n = tra_h5_get_ints(r->dset, "tra_extents", v, 3 * TRA_MAXDIM);
    if (ncuts >= 0 && ncuts != rank) return TRA_REL_BAD(r, e, "%s", "its attribute tra_cuts is malformed");
    if (n >= 0 && n != 3 * rank) return TRA_REL_BAD(r, e, "%s", "its attribute tra_extents is malformed");
    for (int i = 0; i < h->shape.n; i++) {
        if (i < k ? h->chunk.v[i] != 1 : h->chunk.v[i] < h->shape.v[i]) return rechunked(r, e);
    }
    for (int a = 0; a < rank; a++) {
        int64_t max = h->shape.v[k + a], *x = v + 3 * a;
        by[a] = -1;
        bound.v[a] = last[a] = max;
        if (ncuts >= 0 && (cuts[a] < 0 || cuts[a] >> k != 0))
            return TRA_REL_BAD(r, e, "%s", "its attribute tra_cuts is malformed");
        r->type.cut[a] = ncuts >= 0 ? (uint32_t)cuts[a] : 0;
        if (n < 0) continue;
        if (x[0] < -1 || x[0] >= k || x[1] < 0 || x[1] > max || x[2] < 0 || x[2] > x[1])
            return TRA_REL_BAD(r, e, "%s", "its attribute tra_extents is malformed");
        by[a] = (int8_t)x[0];
        bound.v[a] = x[1];
        last[a] = x[2];
    }
    return grid_of(r, &frontier, &bound, by, last, grid, e);
}

/* ---- holes ----------------------------------------------------------------------------------------------------- */

/* A table of the lists of tuples; NULL: it does not exist, or is damaged, or describes the dataset no longer. */
static int64_t *read_list(tra_rel *r, const char *table, int ndims, const int64_t *dims) {
    return r->has_tables ? tra_sealed_table(r, table, ndims, dims) : NULL;
}

/* Rows of a table; -1: it does not exist. */
static int64_t rows_of(tra_rel *r, const char *table) {
    const char *path = tra_table_path(r->arena, r->name, table);
    if (!r->has_tables || !tra_h5_exists(r->file, path)) return -1;
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT), space = H5Dget_space(dset);
    hsize_t dims[H5S_MAX_RANK];
    bool ok = dset >= 0 && H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, dims, NULL) >= 0;
    H5Sclose(space);
    H5Dclose(dset);
    return ok ? (int64_t)dims[0] : -1;
}

/* For files without a table of keys: asks HDF5's index for each cell of the grid. */
static tra_status scan_keys(tra_rel *r, const tra_catalog *grid, int64_t n, int64_t **out, tra_err *e) {
    if (grid->n > TRA_MAX_LIST || n > grid->n)
        return TRA_REL_BAD(
            r, e, "it has holes among %" PRId64 " chunks and no table of keys (.tra/%s/keys); too many to search",
            grid->n, r->name);
    int64_t *pos = tra_malloc((size_t)tra_max64(1, n) * sizeof *pos), found = 0;
    for (int64_t i = 0; i < grid->n; i++) {
        tra_dims key;
        int64_t off[TRA_MAXDIM];
        hsize_t at[TRA_MAXDIM], bytes = 0;
        tra_unlinear(&grid->frontier, i, &key);
        tra_geom_offset(&r->geom, &key, off);
        for (int d = 0; d < r->geom.dims.n; d++) at[d] = (hsize_t)off[d];
        if (H5Dget_chunk_storage_size(r->dset, at, &bytes) < 0 || bytes == 0) continue;
        if (found < n) pos[found] = i;
        found++;
    }
    *out = pos;
    if (found == n) return TRA_OK;
    free(pos);
    return TRA_REL_BAD(r, e, "its chunk index is damaged: %" PRId64 " chunks, %" PRId64 " found", n, found);
}

static tra_status list_of(tra_rel *r, const tra_catalog *grid, int64_t n, const int64_t *pos, const int64_t *ext,
                          tra_err *e) {
    tra_status s = TRA_OK;
    tra_catbuilder *b = tra_catbuilder_new(grid->frontier.n, grid->bound.n);
    for (int64_t i = 0; i < n && s == TRA_OK; i++) {
        tra_dims key, x;
        if (pos[i] < 0 || pos[i] >= grid->n || (i && pos[i] <= pos[i - 1])) {
            s = TRA_REL_BAD(r, e, "%s", "its table of keys is damaged");
            break;
        }
        tra_unlinear(&grid->frontier, pos[i], &key);
        tra_catalog_ext(grid, pos[i], &x);
        for (int a = 0; ext && a < x.n; a++) {
            int64_t v = ext[i * x.n + a];
            if (v < 0 || v > x.v[a]) s = TRA_REL_BAD(r, e, "%s", "its table of extents is damaged");
            x.v[a] = v;
        }
        if (s == TRA_OK) s = tra_catbuilder_add(b, &key, &x, i, e);
    }
    if (s != TRA_OK) {
        tra_catbuilder_free(b);
        return s;
    }
    s = tra_catbuilder_finish(b, r->arena, &r->cat, NULL, e);
    if (s == TRA_OK && !r->cat.grid) r->cat.bound = grid->bound; /* it covers holes too */
    return s;
}

tra_status tra_described_list_tuples(tra_rel *r, const tra_catalog *grid, int64_t n, tra_err *e) {
    const char *unit = r->kind->is ? "block" : "chunk";
    int64_t *pos = NULL, *ext = NULL;
    bool table = H5Aexists(r->dset, "tra_extents") > 0 && tra_h5_get_text(r->dset, "tra_extents", r->arena);
    tra_status s = TRA_OK;
    int64_t keys = rows_of(r, "keys");
    if (n == grid->n && !table && keys < 0) {
        r->cat = *grid;
        return TRA_OK;
    }
    if (r->has_tables && keys < 0 && !table)
        return TRA_REL_BAD(r, e, "its %s index is damaged: %" PRId64 " %ss of %" PRId64, unit, n, unit, grid->n);
    if (keys >= 0 && keys != n)
        return TRA_REL_BAD(
            r, e, "its %s index is damaged: %" PRId64 " %ss, but its table of keys (.tra/%s/keys) has %" PRId64, unit,
            n, unit, r->name, keys);
    if (!(pos = read_list(r, "keys", 1, (int64_t[]){n}))) {
        if (r->kind->is) return TRA_REL_BAD(r, e, "its keys are damaged (.tra/%s/keys)", r->name);
        s = scan_keys(r, grid, n, &pos, e);
    }
    if (s == TRA_OK && table && !(ext = read_list(r, "extents", 2, (int64_t[]){n, grid->bound.n})))
        s = TRA_REL_BAD(r, e, "the extents of its arrays are missing or damaged (.tra/%s/extents)", r->name);
    if (s == TRA_OK) s = list_of(r, grid, n, pos, ext, e);
    free(pos);
    free(ext);
    return s;
}

tra_status tra_described_find_tuples(tra_rel *r, const tra_catalog *grid, tra_err *e) {
    hsize_t n = 0;
    tra_status s = TRA_OK;
    hid_t space = H5Dget_space(r->dset);
    if (grid->n > 0 && H5Dget_num_chunks(r->dset, space, &n) < 0)
        s = tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its chunk index is damaged", r->path, r->name);
    H5Sclose(space);
    return s == TRA_OK ? tra_described_list_tuples(r, grid, (int64_t)n, e) : s;
}
