/* anndata.c - arrays in AnnData files (.h5ad): the matrix X, layers, obsm and so on, with the names of cells and genes;
 * a file that exists keeps all else that it holds. */
#include "../lib/model/labels.h"
#include "../lib/h5/references.h"
#include "hdf5_groups.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The places of arrays in a file, with the data frame that names the positions of each dimension. */
static const struct place {
    const char *path; /* ends with '/': NAME follows */
    int rank;         /* 0: any */
    const char *frame[2];
} places[] = {{"X", 2, {"obs", "var"}},    {"layers/", 2, {"obs", "var"}}, {"obsm/", 2, {"obs", NULL}},
              {"varm/", 2, {"var", NULL}}, {"obsp/", 2, {"obs", "obs"}},   {"varp/", 2, {"var", "var"}},
              {"obs/", 1, {"obs", NULL}},  {"var/", 1, {"var", NULL}},     {"uns/", 0, {NULL, NULL}}};

typedef struct anndata {
    tra_hdf5_group_writer w; /* must be first */
    tra_hdf5_group_names names;
    const struct place *at;
    const char *name; /* of the array in the file */
    bool adds;        /* the file exists, and keeps what else it holds */
    bool has_group;   /* and has the group of the array */
    int fd;           /* dense: the new file; -1: not open */
    int64_t base, bytes;
} anndata;

static const struct place *place_of(const char *name) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t n = strlen(places[i].path);
        bool below = places[i].path[n - 1] == '/';
        if (below ? strncmp(name, places[i].path, n) == 0 && name[n] && !strchr(name + n, '/')
                  : strcmp(name, places[i].path) == 0)
            return &places[i];
    }
    return NULL;
}

/* The names that the file has must be as many as the positions, and the same where these have labels. */
static tra_status check_names(const tra_sink *k, const anndata *x, int d, tra_err *e) {
    const char *frame = x->at->frame[d];
    const tra_dim_labels *there, *own = k->labels ? k->labels[d] : NULL;
    TRA_TRY(tra_anndata_names(k->to, frame, k->arena, &there, e));
    if (!there) return TRA_OK;
    if (there->n != k->shape.v[d])
        return tra_fail(e, TRA_INPUT,
                        "%s of %s has %" PRId64 " names, but dimension %d of %s has %" PRId64 " positions", frame,
                        k->to, there->n, d, x->name, k->shape.v[d]);
    int64_t at = own && own->type == TRA_COL_STRING ? tra_dim_labels_differ(own, there) : -1;
    if (at < 0) return TRA_OK;
    return tra_fail(e, TRA_INPUT,
                    "position %" PRId64 " of dimension %d of %s is \"%s\", but \"%s\" in %s of %s: bring them into one "
                    "order",
                    at, d, x->name, tra_dim_labels_text(k->arena, own, at), tra_dim_labels_text(k->arena, there, at),
                    frame, k->to);
}

/* ---- obs and var ------------------------------------------------------------------------------------------------- */

/* A data frame without columns, of n names: the labels, or their numbers. */
static bool put_frame(hid_t file, const char *name, int64_t n, const tra_dim_labels *l, tra_arena *a) {
    enum { AT_ONCE = 1024 };
    hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hsize_t dims[1] = {(hsize_t)n}, none[1] = {0}, one[1];
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hid_t space = H5Screate_simple(1, dims, NULL), empty = H5Screate_simple(1, none, NULL);
    hid_t set = H5Dcreate2(group, "_index", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t order = H5Acreate2(group, "column-order", type, empty, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = set >= 0 && order >= 0 && tra_hdf5_put_encoding(group, "dataframe", "0.2.0") &&
              tra_hdf5_put_text(group, "_index", "_index") && tra_hdf5_put_encoding(set, "string-array", "0.2.0");
    const char *names[AT_ONCE];
    for (int64_t at = 0; ok && at < n; at += (int64_t)one[0]) {
        one[0] = (hsize_t)tra_min64(AT_ONCE, n - at);
        for (int64_t i = 0; i < (int64_t)one[0]; i++)
            names[i] = l ? tra_dim_labels_text(a, l, at + i) : tra_arena_printf(a, "%" PRId64, at + i);
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
    if (group >= 0) H5Gclose(group);
    return ok;
}

/* The parts of a new file that every AnnData file has. */
static bool put_frames(const tra_sink *k, const anndata *x) {
    static const char *const frames[] = {"obs", "var"};
    bool ok = tra_hdf5_put_encoding(x->w.file, "anndata", "0.1.0");
    for (int f = 0; f < 2 && ok; f++) {
        int d = 0;
        while (d < 2 && !(x->at->frame[d] && strcmp(x->at->frame[d], frames[f]) == 0)) d++;
        ok = put_frame(x->w.file, frames[f], d < 2 ? k->shape.v[d] : 0, d < 2 && k->labels ? k->labels[d] : NULL,
                       k->arena);
    }
    return ok;
}

/* Adds a column of obs or var to the list of these. */
static bool add_column(hid_t file, const anndata *x) {
    const char *slash = strchr(x->name, '/');
    char *frame = tra_asprintf("%.*s", (int)(slash - x->name), x->name);
    hid_t group = H5Gopen2(file, frame, H5P_DEFAULT);
    free(frame);
    if (group < 0) return false;
    bool ok = tra_hdf5_append_text(group, "column-order", slash + 1);
    H5Gclose(group);
    return ok;
}

/* ---- the array --------------------------------------------------------------------------------------------------- */

static bool describe(const tra_sink *k, tra_hdf5_group_writer *w) {
    hsize_t two[1] = {2};
    hid_t space = H5Screate_simple(1, two, NULL);
    hid_t a = H5Acreate2(w->group, "shape", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = a >= 0 && H5Awrite(a, H5T_NATIVE_INT64, k->shape.v) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Sclose(space);
    return ok && tra_hdf5_put_encoding(w->group, "csr_matrix", "0.1.0");
}

/* What else the file holds; called when the array has been written. */
static tra_status finish(tra_sink *k, tra_hdf5_group_writer *w, tra_err *e) {
    anndata *x = (anndata *)w;
    const char *slash = strchr(x->name, '/');
    bool column = x->at->rank == 1, frame = column && !x->adds, ok = true;
    tra_h5_enter();
    if (slash && !x->has_group && !frame && !column) {
        hid_t group = H5Gopen2(w->file, tra_arena_strndup(k->arena, x->name, (size_t)(slash - x->name)), H5P_DEFAULT);
        ok = group >= 0 && tra_hdf5_put_encoding(group, "dict", "0.1.0");
        if (group >= 0) H5Gclose(group);
    }
    tra_status s = ok && x->adds ? tra_h5_copy_others(w->file, k->to, 1, &x->name, e) : TRA_OK;
    if (ok && s == TRA_OK && column) ok = add_column(w->file, x);
    tra_h5_leave();
    return s != TRA_OK || ok ? s : tra_hdf5_group_failed(k, e);
}

tra_status tra_anndata_prepare(tra_sink *k, const char *to, tra_err *e) {
    const char *path, *name;
    struct stat st;
    anndata *x = tra_new(k->arena, anndata);
    tra_relspec(k->arena, to, &path, &name);
    if (strcmp(to, "-") == 0) path = to;
    k->to = path;
    x->name = name ? name : "X";
    x->at = place_of(x->name);
    x->adds = name && stat(path, &st) == 0 && st.st_size > 0;
    x->fd = -1;
    if (!x->at)
        return tra_fail(e, TRA_USAGE,
                        "%s: an AnnData file has arrays at X, layers/NAME, obsm/NAME, varm/NAME, obsp/NAME, varp/NAME, "
                        "obs/COLUMN, var/COLUMN and uns/NAME, not at %s",
                        path, x->name);
    if (x->at->rank && k->shape.n != x->at->rank && name)
        return tra_fail(e, TRA_INPUT, "%s of an AnnData file has %d dimension%s, and this tensor %d", x->name,
                        x->at->rank, x->at->rank > 1 ? "s" : "", k->shape.n);
    bool dense = name && !(k->o.coordinate && k->shape.n == 2);
    x->names = (tra_hdf5_group_names){x->name, "data", "indices", "indptr", describe, finish};
    if (!dense) TRA_TRY(tra_hdf5_group_prepare(k, &x->w, &x->names, e));
    k->state = x;
    k->entries = !dense;
    if (strcmp(to, "-") == 0) return tra_fail(e, TRA_USAGE, "an HDF5 file cannot be written to a stream: use -o FILE");
    x->w.names = &x->names;
    x->w.file = x->w.group = -1;
    for (int d = 0; d < 2 && d < k->shape.n && x->adds; d++)
        if (x->at->frame[d]) TRA_TRY(check_names(k, x, d, e));
    return TRA_OK;
}

/* Creates the array of a dense tensor, whose bytes are then written forward. */
static bool create_dense(const tra_sink *k, anndata *x) {
    hsize_t dims[TRA_MAXDIM];
    for (int d = 0; d < k->shape.n; d++) dims[d] = (hsize_t)k->shape.v[d];
    hid_t space = k->shape.n ? H5Screate_simple(k->shape.n, dims, NULL) : H5Screate(H5S_SCALAR),
          dcpl = H5Pcreate(H5P_DATASET_CREATE), lcpl = H5Pcreate(H5P_LINK_CREATE), type = tra_hdf5_type_of(k->dtype);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(dcpl, false);
    hid_t set = H5Dcreate2(x->w.file, x->name, type, space, lcpl, dcpl, H5P_DEFAULT);
    bool ok = set >= 0 && tra_hdf5_put_encoding(set, "array", "0.2.0");
    haddr_t at = set >= 0 ? H5Dget_offset(set) : HADDR_UNDEF;
    x->base = at == HADDR_UNDEF ? -1 : (int64_t)at;
    if (set >= 0 && H5Dclose(set) < 0) ok = false;
    H5Pclose(lcpl);
    H5Pclose(dcpl);
    H5Sclose(space);
    return ok && H5Fflush(x->w.file, H5F_SCOPE_LOCAL) >= 0;
}

/* Does the old file have the group of the array? */
static bool old_has_group(const tra_sink *k, const anndata *x) {
    const char *slash = strchr(x->name, '/');
    hid_t old = slash && x->adds ? H5Fopen(k->to, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    bool has =
        old >= 0 && H5Lexists(old, tra_arena_strndup(k->arena, x->name, (size_t)(slash - x->name)), H5P_DEFAULT) > 0;
    if (old >= 0) H5Fclose(old);
    return has;
}

tra_status tra_anndata_begin(tra_sink *k, tra_err *e) {
    anndata *x = k->state;
    if (!k->out.made.path) return tra_fail(e, TRA_USAGE, "%s: an HDF5 file has to be a file", k->to);
    tra_h5_enter();
    x->has_group = old_has_group(k, x);
    x->w.file = H5Fcreate(k->out.made.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = x->w.file >= 0 && (x->adds || put_frames(k, x)) && (k->entries || create_dense(k, x));
    tra_h5_leave();
    if (!ok) return tra_hdf5_group_failed(k, e);
    if (k->entries) return tra_hdf5_group_begin(k, e);
    x->fd = open(k->out.made.path, O_WRONLY | O_CLOEXEC);
    return x->fd >= 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", k->to);
}

tra_status tra_anndata_put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    anndata *x = k->state;
    size_t left = (size_t)n * tra_dtype_size(k->dtype);
    for (const char *p = data; left > 0;) {
        ssize_t put = x->base < 0 ? -1 : pwrite(x->fd, p, left, x->base + x->bytes);
        if (put <= 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", k->to);
        p += put;
        x->bytes += put;
        left -= (size_t)put;
    }
    return TRA_OK;
}

tra_status tra_anndata_end(tra_sink *k, tra_err *e) {
    anndata *x = k->state;
    if (k->entries) return tra_hdf5_group_end(k, e);
    close(x->fd);
    x->fd = -1;
    return tra_hdf5_group_finish(k, e);
}

void tra_anndata_discard(tra_sink *k) {
    anndata *x = k->state;
    if (x->fd >= 0) close(x->fd);
    x->fd = -1;
    tra_hdf5_group_discard(k);
}
