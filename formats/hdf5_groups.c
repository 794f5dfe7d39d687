/* hdf5_groups.c - sparse matrices as groups of HDF5 datasets, for other programs: AnnData's (.h5ad) and binsparse's
 * CSR.
 *
 * Both are rows one after the other: where each row begins, and for each entry its column and value. How many entries
 * come is known, so that the datasets have their size from the beginning and are written forward. */
#include "hdf5_groups.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 << 14 };

typedef struct forward_dataset { /* a dataset that is written forward */
    hid_t set, type;
    size_t each;
    int64_t at;
    int n;
    char *buf;
} forward_dataset;

typedef struct tra_hdf5_group_writer {
    hid_t file, group;
    const tra_hdf5_group_names *names;
    forward_dataset data, indices, pointers;
    int64_t row, entries;
    bool wide; /* indices of 64 bits */
} tra_hdf5_group_writer;

static hid_t type_of(tra_dtype t) {
#define X(name, text, ctype, class, sum, blas, numpy, binsparse, h5)                                                   \
    case TRA_##name: return H5T_NATIVE_##h5;
    switch (t) { TRA_DTYPES(X) }
#undef X
    return -1;
}

static tra_status failed(const tra_sink *k, tra_err *e) {
    return tra_fail(e, TRA_RESOURCE, "%s: HDF5 cannot write it; is the disk full?", k->to);
}

/* An attribute that is a text, of variable length and UTF-8 as h5py has it. */
static bool put_text(hid_t on, const char *name, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t a = H5Acreate2(on, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = a >= 0 && H5Awrite(a, type, &text) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

static bool open_dataset(hid_t group, const char *name, hid_t type, int64_t n, forward_dataset *s) {
    hsize_t dims[1] = {(hsize_t)n};
    hid_t space = H5Screate_simple(1, dims, NULL);
    *s = (forward_dataset){.type = type, .each = H5Tget_size(type)};
    s->set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    s->buf = tra_malloc(BATCH * s->each);
    H5Sclose(space);
    return s->set >= 0;
}

static tra_status flush(const tra_sink *k, forward_dataset *s, tra_err *e) {
    if (s->n == 0) return TRA_OK;
    hsize_t from[1] = {(hsize_t)s->at}, n[1] = {(hsize_t)s->n};
    tra_h5_enter();
    hid_t space = H5Dget_space(s->set), memory = H5Screate_simple(1, n, NULL);
    bool ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, n, NULL) >= 0 &&
              H5Dwrite(s->set, s->type, memory, space, H5P_DEFAULT, s->buf) >= 0;
    H5Sclose(memory);
    H5Sclose(space);
    tra_h5_leave();
    s->at += s->n;
    s->n = 0;
    return ok ? TRA_OK : failed(k, e);
}

static tra_status put(const tra_sink *k, forward_dataset *s, const void *value, tra_err *e) {
    if (s->n == BATCH) TRA_TRY(flush(k, s, e));
    memcpy(s->buf + (size_t)s->n++ * s->each, value, s->each);
    return TRA_OK;
}

static tra_status put_index(const tra_sink *k, const tra_hdf5_group_writer *w, forward_dataset *s, int64_t v,
                            tra_err *e) {
    int32_t narrow = (int32_t)v;
    return w->wide ? put(k, s, &v, e) : put(k, s, &narrow, e);
}

/* Attributes of AnnData's matrix, and rows and columns that are named by their numbers. */
static bool put_axis_names(hid_t file, const char *name, int64_t n) {
    hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hsize_t dims[1] = {(hsize_t)n}, none[1] = {0}, one[1];
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t space = H5Screate_simple(1, dims, NULL), empty = H5Screate_simple(1, none, NULL);
    hid_t set = H5Dcreate2(group, "_index", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t order = H5Acreate2(group, "column-order", type, empty, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = set >= 0 && order >= 0 && put_text(group, "encoding-type", "dataframe") &&
              put_text(group, "encoding-version", "0.2.0") && put_text(group, "_index", "_index") &&
              put_text(set, "encoding-type", "string-array") && put_text(set, "encoding-version", "0.2.0");
    enum { NAMES = 1024 };
    char text[NAMES][24], *names[NAMES];
    for (int64_t at = 0; ok && at < n; at += (int64_t)one[0]) {
        one[0] = (hsize_t)tra_min64(NAMES, n - at);
        for (int64_t i = 0; i < (int64_t)one[0]; i++) {
            snprintf(text[i], sizeof text[i], "%" PRId64, at + i);
            names[i] = text[i];
        }
        hsize_t from[1] = {(hsize_t)at};
        hid_t memory = H5Screate_simple(1, one, NULL);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, one, NULL) >= 0 &&
             H5Dwrite(set, type, memory, space, H5P_DEFAULT, names) >= 0;
        H5Sclose(memory);
    }
    if (order >= 0) H5Aclose(order);
    if (set >= 0) H5Dclose(set);
    H5Sclose(empty);
    H5Sclose(space);
    H5Tclose(type);
    H5Gclose(group);
    return ok;
}

static bool describe_anndata(const tra_sink *k, tra_hdf5_group_writer *w) {
    hsize_t two[1] = {2};
    hid_t space = H5Screate_simple(1, two, NULL);
    hid_t a = H5Acreate2(w->group, "shape", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = a >= 0 && H5Awrite(a, H5T_NATIVE_INT64, k->shape.v) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Sclose(space);
    return ok && put_text(w->group, "encoding-type", "csr_matrix") && put_text(w->group, "encoding-version", "0.1.0") &&
           put_text(w->file, "encoding-type", "anndata") && put_text(w->file, "encoding-version", "0.1.0") &&
           put_axis_names(w->file, "obs", k->shape.v[0]) && put_axis_names(w->file, "var", k->shape.v[1]);
}

static bool describe_binsparse(const tra_sink *k, tra_hdf5_group_writer *w) {
    const char *index = w->wide ? "int64" : "int32";
    char *text =
        tra_asprintf("{\"binsparse\": {\"version\": \"0.1.0\", \"format\": \"CSR\", \"shape\": [%" PRId64 ", %" PRId64
                     "], \"number_of_stored_values\": %" PRId64
                     ", \"data_types\": {\"pointers_to_1\": \"%s\", \"indices_1\": \"%s\", \"values\": \"%s\"}}}",
                     k->shape.v[0], k->shape.v[1], k->count, index, index, tra_dtype_rows[k->dtype].binsparse);
    bool ok = put_text(w->group, "binsparse", text);
    free(text);
    return ok;
}

const tra_hdf5_group_names tra_anndata_names = {"X", "data", "indices", "indptr", describe_anndata};
const tra_hdf5_group_names tra_binsparse_names = {NULL, "values", "indices_1", "pointers_to_1", describe_binsparse};

tra_status tra_hdf5_group_prepare(tra_sink *k, const tra_hdf5_group_names *names, tra_err *e) {
    if (strcmp(k->to, "-") == 0)
        return tra_fail(e, TRA_USAGE, "an HDF5 file cannot be written to a stream: use -o FILE");
    if (k->shape.n != 2)
        return tra_fail(e, TRA_INPUT, "a %s is a matrix, and this tensor has %d dimensions: export it with --to h5",
                        names->group ? "csr_matrix" : "CSR of binsparse", k->shape.n);
    tra_hdf5_group_writer *w = tra_new(k->arena, tra_hdf5_group_writer);
    w->names = names;
    w->file = w->group = -1;
    k->state = w;
    k->entries = true;
    return TRA_OK;
}

tra_status tra_hdf5_group_begin(tra_sink *k, tra_err *e) {
    tra_hdf5_group_writer *w = k->state;
    w->wide = k->count > INT32_MAX || k->shape.v[0] >= INT32_MAX || k->shape.v[1] > INT32_MAX;
    if (!k->out.made.path) return tra_fail(e, TRA_USAGE, "%s: an HDF5 file has to be a file", k->to);
    hid_t index = w->wide ? H5T_NATIVE_INT64 : H5T_NATIVE_INT32;
    tra_h5_enter();
    w->file = H5Fcreate(k->out.made.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = w->file >= 0;
    if (ok)
        w->group = w->names->group ? H5Gcreate2(w->file, w->names->group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                                   : H5Gopen2(w->file, "/", H5P_DEFAULT);
    ok = ok && w->group >= 0 && open_dataset(w->group, w->names->data, type_of(k->dtype), k->count, &w->data) &&
         open_dataset(w->group, w->names->indices, index, k->count, &w->indices) &&
         open_dataset(w->group, w->names->pointers, index, k->shape.v[0] + 1, &w->pointers) && w->names->describe(k, w);
    tra_h5_leave();
    if (!ok) return failed(k, e);
    return put_index(k, w, &w->pointers, 0, e);
}

tra_status tra_hdf5_group_entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    tra_hdf5_group_writer *w = k->state;
    for (; w->row < at->v[0]; w->row++) TRA_TRY(put_index(k, w, &w->pointers, w->entries, e));
    TRA_TRY(put_index(k, w, &w->indices, at->v[1], e));
    w->entries++;
    return put(k, &w->data, value, e);
}

static bool close_all(tra_hdf5_group_writer *w) {
    forward_dataset *const all[] = {&w->data, &w->indices, &w->pointers};
    bool ok = true;
    tra_h5_enter();
    for (int i = 0; i < 3; i++) {
        if (all[i]->buf && all[i]->set >= 0) ok &= H5Dclose(all[i]->set) >= 0;
        free(all[i]->buf);
        all[i]->buf = NULL;
    }
    if (w->group >= 0) ok &= H5Gclose(w->group) >= 0;
    if (w->file >= 0) ok &= H5Fclose(w->file) >= 0;
    w->group = w->file = -1;
    tra_h5_leave();
    return ok;
}

tra_status tra_hdf5_group_end(tra_sink *k, tra_err *e) {
    tra_hdf5_group_writer *w = k->state;
    hsize_t bytes = 0;
    for (; w->row < k->shape.v[0]; w->row++) TRA_TRY(put_index(k, w, &w->pointers, w->entries, e));
    TRA_TRY(flush(k, &w->data, e));
    TRA_TRY(flush(k, &w->indices, e));
    TRA_TRY(flush(k, &w->pointers, e));
    tra_h5_enter();
    H5Fget_filesize(w->file, &bytes);
    tra_h5_leave();
    k->out.bytes = (int64_t)bytes;
    return close_all(w) ? TRA_OK : failed(k, e);
}

void tra_hdf5_group_discard(tra_sink *k) { close_all(k->state); }
