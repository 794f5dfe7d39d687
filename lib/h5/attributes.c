/* attributes.c - attributes and lists that describe a relation in its file, whatever its kind. */
#include "scales.h"
#include "relation_file.h"

#include <errno.h>
#include <fcntl.h>
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

/* ---- tables ----------------------------------------------------------------------------------------------------- */

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

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

tra_status tra_writer_reserve(const tra_writer *w, int fd, int64_t bytes, tra_err *e) {
    if (bytes <= 0 || fallocate(fd, 0, 0, (off_t)bytes) == 0) return TRA_OK;
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return TRA_OK;
    return tra_fail_errno(e, TRA_RESOURCE, "cannot reserve %" PRId64 " bytes for %s", bytes, w->path);
}

tra_status tra_writer_write_at(tra_writer *w, int64_t addr, const void *bytes, int64_t len, tra_err *e) {
    return tra_pwrite(w->fd, bytes, (size_t)len, addr, w->temp, e);
}
