/* stand_in.c - HDF5 files that stand in for files of other formats. */
#include "stand_in.h"

#include "relation_file.h"

const tra_file_hooks *tra_file_hooks_set;

const tra_stand_in *tra_rel_stand_in(const tra_rel *r) { return r->stand_in.identity ? &r->stand_in : NULL; }

static bool write_external(const char *path, const char *file, int64_t offset, tra_dtype type, const tra_dims *shape,
                           const char *history) {
    hsize_t dims[TRA_MAXDIM];
    int64_t n = 1;
    for (int d = 0; d < shape->n; d++) dims[d] = (hsize_t)shape->v[d];
    if (!tra_dims_product(shape, &n)) return false;
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = shape->n ? H5Screate_simple(shape->n, dims, NULL) : H5Screate(H5S_SCALAR);
    bool ok = f >= 0 && H5Pset_external(dcpl, file, (off_t)offset, (hsize_t)n * tra_dtype_size(type)) >= 0;
    hid_t dset = ok ? H5Dcreate2(f, "data", tra_h5_type(type), space, H5P_DEFAULT, dcpl, H5P_DEFAULT) : -1;
    ok = dset >= 0 && tra_h5_put_text(dset, "tra_history", history);
    if (dset >= 0) H5Dclose(dset);
    H5Sclose(space);
    H5Pclose(dcpl);
    return f >= 0 && H5Fclose(f) >= 0 && ok;
}

tra_status tra_store_external(const char *path, const char *file, int64_t offset, tra_dtype type, const tra_dims *shape,
                              const char *history, tra_err *e) {
    tra_temp t;
    TRA_TRY(tra_temp_create(path, NULL, false, &t, e));
    tra_h5_enter();
    tra_status s = write_external(t.path, file, offset, type, shape, history)
                       ? TRA_OK
                       : tra_h5_fail(e, TRA_RESOURCE, NULL, "cannot write %s", t.path);
    tra_h5_leave();
    if (s == TRA_OK) return tra_temp_commit(&t, false, e);
    tra_temp_abort(&t);
    return s;
}
