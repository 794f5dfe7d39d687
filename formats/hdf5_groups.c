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

static hid_t type_of(tra_dtype t) {
#define X(name, text, ctype, class, sum, blas, numpy, binsparse, h5)                                                   \
    case TRA_##name: return H5T_NATIVE_##h5;
    switch (t) { TRA_DTYPES(X) }
#undef X
    return -1;
}

hid_t tra_hdf5_type_of(tra_dtype t) {
    static hid_t truth = -1;
    int8_t no = 0, yes = 1;
    if (t != TRA_BOOL) return type_of(t);
    if (truth < 0) {
        truth = H5Tenum_create(H5T_NATIVE_INT8);
        H5Tenum_insert(truth, "FALSE", &no);
        H5Tenum_insert(truth, "TRUE", &yes);
    }
    return truth;
}

tra_status tra_hdf5_group_failed(const tra_sink *k, tra_err *e) {
    return tra_fail(e, TRA_RESOURCE, "%s: HDF5 cannot write it; is the disk full?", k->to);
}

/* An attribute that is a text, of variable length and UTF-8 as h5py has it. */
bool tra_hdf5_put_text(hid_t on, const char *name, const char *text) {
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

static bool open_dataset(hid_t group, const char *name, hid_t type, int64_t n, tra_hdf5_forward *s) {
    hsize_t dims[1] = {(hsize_t)n};
    hid_t space = H5Screate_simple(1, dims, NULL);
    *s = (tra_hdf5_forward){.type = type, .each = H5Tget_size(type)};
    s->set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    s->buf = tra_malloc(BATCH * s->each);
    H5Sclose(space);
    return s->set >= 0;
}

static tra_status flush(const tra_sink *k, tra_hdf5_forward *s, tra_err *e) {
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
    return ok ? TRA_OK : tra_hdf5_group_failed(k, e);
}

static tra_status put(const tra_sink *k, tra_hdf5_forward *s, const void *value, tra_err *e) {
    if (s->n == BATCH) TRA_TRY(flush(k, s, e));
    memcpy(s->buf + (size_t)s->n++ * s->each, value, s->each);
    return TRA_OK;
}

static tra_status put_index(const tra_sink *k, const tra_hdf5_group_writer *w, tra_hdf5_forward *s, int64_t v,
                            tra_err *e) {
    int32_t narrow = (int32_t)v;
    return w->wide ? put(k, s, &v, e) : put(k, s, &narrow, e);
}

bool tra_hdf5_put_encoding(hid_t on, const char *type, const char *version) {
    return tra_hdf5_put_text(on, "encoding-type", type) && tra_hdf5_put_text(on, "encoding-version", version);
}

bool tra_hdf5_append_text(hid_t on, const char *name, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t a = H5Aopen(on, name, H5P_DEFAULT), space = H5Aget_space(a), of_file = H5Aget_type(a);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    bool ok = a >= 0 && n >= 0 && (n == 0 || H5Tis_variable_str(of_file) > 0), there = false;
    char **all = tra_calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *all);
    if (ok && n > 0) ok = H5Aread(a, of_file, all) >= 0;
    for (hssize_t i = 0; ok && i < n; i++) there = there || (all[i] && strcmp(all[i], text) == 0);
    if (a >= 0) H5Aclose(a);
    if (ok && !there) {
        hsize_t dims[1] = {(hsize_t)n + 1};
        hid_t longer = H5Screate_simple(1, dims, NULL);
        all[n] = (char *)(uintptr_t)text;
        ok = H5Adelete(on, name) >= 0 && (a = H5Acreate2(on, name, type, longer, H5P_DEFAULT, H5P_DEFAULT)) >= 0 &&
             H5Awrite(a, type, all) >= 0 && H5Aclose(a) >= 0;
        H5Sclose(longer);
    }
    for (hssize_t i = 0; ok && i < n; i++) H5free_memory(all[i]);
    free(all);
    H5Tclose(of_file);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

static bool describe_binsparse(const tra_sink *k, tra_hdf5_group_writer *w) {
    const char *index = w->wide ? "int64" : "int32";
    char *text =
        tra_asprintf("{\"binsparse\": {\"version\": \"0.1.0\", \"format\": \"CSR\", \"shape\": [%" PRId64 ", %" PRId64
                     "], \"number_of_stored_values\": %" PRId64
                     ", \"data_types\": {\"pointers_to_1\": \"%s\", \"indices_1\": \"%s\", \"values\": \"%s\"}}}",
                     k->shape.v[0], k->shape.v[1], k->count, index, index, tra_dtype_rows[k->dtype].binsparse);
    bool ok = tra_hdf5_put_text(w->group, "binsparse", text);
    free(text);
    return ok;
}

const tra_hdf5_group_names tra_binsparse_names = {NULL, "values", "indices_1", "pointers_to_1", describe_binsparse,
                                                  NULL};

tra_status tra_hdf5_group_prepare(tra_sink *k, tra_hdf5_group_writer *w, const tra_hdf5_group_names *names,
                                  tra_err *e) {
    if (strcmp(k->to, "-") == 0)
        return tra_fail(e, TRA_USAGE, "an HDF5 file cannot be written to a stream: use -o FILE");
    if (k->shape.n != 2)
        return tra_fail(e, TRA_INPUT, "a %s is a matrix, and this tensor has %d dimensions: export it with --to h5",
                        names->group ? "csr_matrix" : "CSR of binsparse", k->shape.n);
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
    if (w->file < 0) w->file = H5Fcreate(k->out.made.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = w->file >= 0;
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1);
    if (ok)
        w->group = w->names->group ? H5Gcreate2(w->file, w->names->group, lcpl, H5P_DEFAULT, H5P_DEFAULT)
                                   : H5Gopen2(w->file, "/", H5P_DEFAULT);
    H5Pclose(lcpl);
    ok = ok && w->group >= 0 &&
         open_dataset(w->group, w->names->data, w->names->finish ? tra_hdf5_type_of(k->dtype) : type_of(k->dtype),
                      k->count, &w->data) &&
         open_dataset(w->group, w->names->indices, index, k->count, &w->indices) &&
         open_dataset(w->group, w->names->pointers, index, k->shape.v[0] + 1, &w->pointers) && w->names->describe(k, w);
    tra_h5_leave();
    if (!ok) return tra_hdf5_group_failed(k, e);
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
    tra_hdf5_forward *const all[] = {&w->data, &w->indices, &w->pointers};
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

tra_status tra_hdf5_group_finish(tra_sink *k, tra_err *e) {
    tra_hdf5_group_writer *w = k->state;
    hsize_t bytes = 0;
    if (w->names->finish) TRA_TRY(w->names->finish(k, w, e));
    tra_h5_enter();
    H5Fget_filesize(w->file, &bytes);
    tra_h5_leave();
    k->out.bytes = (int64_t)bytes;
    return close_all(w) ? TRA_OK : tra_hdf5_group_failed(k, e);
}

tra_status tra_hdf5_group_end(tra_sink *k, tra_err *e) {
    tra_hdf5_group_writer *w = k->state;
    for (; w->row < k->shape.v[0]; w->row++) TRA_TRY(put_index(k, w, &w->pointers, w->entries, e));
    TRA_TRY(flush(k, &w->data, e));
    TRA_TRY(flush(k, &w->indices, e));
    TRA_TRY(flush(k, &w->pointers, e));
    return tra_hdf5_group_finish(k, e);
}

void tra_hdf5_group_discard(tra_sink *k) { close_all(k->state); }
