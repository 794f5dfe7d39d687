/* sealed_table.c - tables under .tra/NAME (store.h), each with a seal of its elements. */
#include "relation_file.h"
#include "texts.h"

#include <stdlib.h>

char *tra_table_path(tra_arena *a, const char *name, const char *table) {
    return table ? tra_arena_printf(a, ".tra/%s/%s", name, table) : tra_arena_printf(a, ".tra/%s", name);
}

hid_t tra_tables_group(tra_writer *w) {
    const char *path = tra_table_path(w->arena, w->name, NULL);
    if (tra_h5_exists(w->file, path)) return H5Gopen2(w->file, path, H5P_DEFAULT);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
    if (H5Pset_create_intermediate_group(lcpl, 1) >= 0)
        group = H5Gcreate2(w->file, path, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(lcpl);
    return group;
}

bool tra_h5_put_table(hid_t group, const char *name, hid_t filetype, hid_t memtype, int n, const hsize_t *dims,
                      const void *v) {
    hid_t space = H5Screate_simple(n, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dset = -1;
    if (H5Pset_obj_track_times(dcpl, false) >= 0)
        dset = H5Dcreate2(group, name, filetype, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool ok = dset >= 0;
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (ok && points > 0) ok = H5Dwrite(dset, memtype, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
    ok = ok && tra_h5_put_seal(dset, v, points);
    if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    H5Pclose(dcpl);
    H5Sclose(space);
    return ok;
}

/* Has the dataset ndims dimensions (0: any) of these extents? *n: all of its elements, which are no more than the file
 * can hold, since a made-up table must not take all memory. */
static bool has_extents(hid_t dset, int ndims, const int64_t *dims, int64_t *n) {
    hid_t space = H5Dget_space(dset), dcpl = H5Dget_create_plist(dset);
    hsize_t have[H5S_MAX_RANK];
    bool ok =
        ndims == 0 || (H5Sget_simple_extent_ndims(space) == ndims && H5Sget_simple_extent_dims(space, have, NULL) >= 0);
    for (int i = 0; ok && i < ndims; i++) ok = have[i] == (hsize_t)dims[i];
    *n = H5Sget_simple_extent_npoints(space);
    ok = ok && *n >= 0 && *n < INT64_C(1) << 40 &&
         (H5Pget_nfilters(dcpl) > 0 || (int64_t)H5Dget_storage_size(dset) >= *n);
    H5Pclose(dcpl);
    H5Sclose(space);
    return ok;
}

static int64_t *read_sealed(tra_rel *r, const char *table, int ndims, const int64_t *dims, int64_t *n) {
    const char *path = tra_table_path(r->arena, r->name, table);
    if (!tra_h5_exists(r->file, path)) return NULL;
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT);
    if (dset < 0) return NULL;
    hid_t type = H5Dget_type(dset);
    bool ok =
        H5Tget_class(type) == H5T_INTEGER && has_extents(dset, ndims, dims, n) && tra_h5_fits(r, tra_mul_most(*n, 8));
    bool u64 = H5Tget_sign(type) == H5T_SGN_NONE && H5Tget_size(type) == 8;
    hid_t memory = u64 ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    int64_t *v = ok ? malloc((size_t)*n * sizeof *v + 8) : NULL;
    ok = v && (*n == 0 || H5Dread(dset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0) && tra_h5_sealed(dset, v, *n);
    if (!ok) free(v), v = NULL;
    H5Tclose(type);
    H5Dclose(dset);
    return v;
}

int64_t *tra_sealed_table(tra_rel *r, const char *table, int ndims, const int64_t *dims) {
    int64_t n;
    return read_sealed(r, table, ndims, dims, &n);
}

int64_t *tra_sealed_numbers(tra_rel *r, const char *table, int64_t *n) {
    *n = 0;
    return read_sealed(r, table, 0, NULL, n);
}

/* Where the n numbers of a dataset are in its file, one after another; -1: they are not stored so. */
static int64_t place_of(hid_t dset, int64_t n) {
    hid_t type = H5Dget_type(dset), dcpl = H5Dget_create_plist(dset);
    bool plain =
        H5Tequal(type, H5T_STD_I64LE) > 0 && H5Pget_layout(dcpl) == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) == 0;
    haddr_t at = plain && n > 0 ? H5Dget_offset(dset) : HADDR_UNDEF;
    H5Pclose(dcpl);
    H5Tclose(type);
    return at == HADDR_UNDEF ? -1 : (int64_t)at;
}

bool tra_sealed_place(tra_rel *r, const char *table, bool check, int64_t *n, int64_t *at) {
    enum { PIECE = 16384 };
    const char *path = tra_table_path(r->arena, r->name, table);
    hid_t dset = tra_h5_exists(r->file, path) ? H5Dopen2(r->file, path, H5P_DEFAULT) : -1;
    bool ok = dset >= 0 && has_extents(dset, 0, NULL, n) && (*at = place_of(dset, *n)) >= 0, sealed = false;
    int64_t *v = tra_malloc(PIECE * sizeof *v), seal = 0;
    uint64_t h = ok ? (uint64_t)*n : 0;
    if (ok && check && H5Aexists(dset, "tra_seal") > 0) sealed = ok = tra_h5_get_ints(dset, "tra_seal", &seal, 1) == 1;
    for (int64_t i = 0, k; sealed && ok && i < *n; i += k) {
        k = tra_min64(PIECE, *n - i);
        ok = tra_pread(r->vfd->fd, v, (size_t)k * 8, *at + 8 * i, r->path, NULL) == TRA_OK;
        if (ok) h = tra_h5_seal_more(h, v, k);
    }
    free(v);
    if (dset >= 0) H5Dclose(dset);
    return ok && (!sealed || (int64_t)h == seal);
}
