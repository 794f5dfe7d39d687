/* commit.c - what a relation's file holds besides the chunks: attributes, tables, and what was there before. */
#include "scales.h"
#include "stored_int.h"
#include "table_hook.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_TEXT = 32 << 10 }; /* attributes of the earliest format end at 64 KiB */

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static bool put_keys(tra_writer *w) {
    const tra_catalog *c = w->type.cat;
    int64_t v[TRA_MAXDIM] = {0};
    hsize_t n;
    if (w->geom.tuple) { /* which keys cut an array dimension: sets, as bits */
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

/* Of a list, the extents are a table (put_list_extents), which the attribute names. */
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
           (!w->history || put_text(w->dset, "tra_history", w->history));
}

static bool put_attributes(tra_writer *w, const char *digest) {
    int64_t format = 1, rank = w->type.cat->bound.n, header[TRA_HEADER];
    return tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) &&
           tra_h5_put_ints(w->dset, "tra_rank", 0, NULL, &rank) && tra_writer_put_cuts(w) && tra_scales_put(w) &&
           tra_h5_put_seal(w->dset, header, tra_h5_header(w->dset, header)) && tra_writer_put_notes(w, digest);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

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

static bool put_mask_sum(const tra_writer *w, hid_t group) {
    if (!w->codec.zstd) return true;
    int64_t sum = (int64_t)w->masks;
    hid_t dset = H5Dopen2(group, "xxh64", H5P_DEFAULT);
    bool ok = dset >= 0 && tra_h5_put_ints(dset, "tra_masks", 0, NULL, &sum);
    return H5Dclose(dset) >= 0 && ok;
}

static bool put_sums(tra_writer *w, hid_t group) {
    const tra_catalog *c = w->type.cat;
    hsize_t dims[TRA_MAXDIM], n = (hsize_t)c->n;
    if (!tra_table_dense(w->geom.cells, c->n))
        return tra_h5_put_table(group, "xxh64", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, &n, w->sums) &&
               put_mask_sum(w, group);
    uint64_t *grid = tra_calloc((size_t)tra_max64(1, w->geom.cells), sizeof *grid);
    for (int64_t i = 0; i < c->n; i++) {
        tra_dims key;
        tra_catalog_key(c, i, &key);
        grid[tra_geom_cell(&w->geom, &key)] = w->sums[i];
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

/* ---- what was there before -------------------------------------------------------------------------------------- */

typedef struct keep {
    tra_vfd *old; /* of the file that is there */
    tra_new_file *w;
    tra_arena *arena;
    const char **ours; /* paths that the new relations replace */
    int nours;
    const char *at; /* path of the group being copied, with a '/' at the end unless it is the root */
    hid_t to;       /* the new file */
    tra_err *e;
} keep;

static tra_status copy_group(keep *k, hid_t group, const char *at);

static bool copy_soft_or_external(keep *k, hid_t from, const char *name, const H5L_info_t *info, const char *path) {
    size_t n = info->u.val_size;
    char *value = tra_calloc(n + 1, 1);
    const char *file, *object;
    bool ok = H5Lget_val(from, name, value, n, H5P_DEFAULT) >= 0;
    if (ok && info->type == H5L_TYPE_SOFT) {
        ok = H5Lcreate_soft(value, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    } else if (ok) {
        ok = H5Lunpack_elink_val(value, n, NULL, &file, &object) >= 0 &&
             H5Lcreate_external(file, object, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    }
    free(value);
    return ok;
}

/* Reads what HDF5 must know of an object besides its data. */
static herr_t touch(hid_t root, const char *name, const H5O_info_t *info, void *ctx) {
    (void)ctx;
    if (info->type != H5O_TYPE_DATASET) return 0;
    hid_t dset = H5Dopen2(root, name, H5P_DEFAULT);
    if (dset < 0) return -1;
    (void)H5Dget_storage_size(dset); /* walks the index of chunks */
    return H5Dclose(dset);
}

/* H5Ocopy crashes where it cannot read a dataset. So all but the data is read before, and stays in HDF5's cache; data
 * that cannot be read is zeros to it, and the driver tells. */
static bool copy_object(keep *k, hid_t from, const char *name, const char *path) {
    tra_vfd *old = k->old;
    if (H5Ovisit_by_name2(from, name, H5_INDEX_NAME, H5_ITER_NATIVE, touch, NULL, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
        old->err)
        return false;
    old->blind = true;
    bool ok = H5Ocopy(from, name, k->to, path, H5P_DEFAULT, H5P_DEFAULT) >= 0 && !old->err;
    old->blind = false;
    return ok;
}

static herr_t copy_link(hid_t from, const char *name, const H5L_info_t *info, void *data) {
    keep *k = data;
    const char *path = tra_arena_printf(k->arena, "%s%s", k->at, name);
    const char *owner = info->type == H5L_TYPE_HARD ? tra_scale_owner(from, name, k->arena) : NULL;
    size_t n = strlen(path);
    bool ok, above = false;
    for (int i = 0; i < k->nours; i++) {
        if (strcmp(path, k->ours[i]) == 0) return 0;
        if (owner && strcmp(owner, k->ours[i]) == 0) return 0; /* the labels that it had */
        above = above || (strncmp(path, k->ours[i], n) == 0 && k->ours[i][n] == '/');
    }
    if (above) { /* the new file has this group already; what else it held is copied into it */
        hid_t group = H5Gopen2(from, name, H5P_DEFAULT);
        if (group < 0) return -1;
        tra_status s = copy_group(k, group, tra_arena_printf(k->arena, "%s/", path));
        H5Gclose(group);
        return s == TRA_OK ? 0 : -1;
    }
    if (info->type == H5L_TYPE_HARD)
        ok = copy_object(k, from, name, path);
    else
        ok = copy_soft_or_external(k, from, name, info, path);
    if (!ok) {
        tra_h5_fail(k->e, TRA_INPUT, k->old->err ? k->old : k->w->vfd, "cannot copy %s, which %s holds already", path,
                    k->w->path);
        return -1;
    }
    return 0;
}

static bool copy_attribute(hid_t from, hid_t to, const char *name) {
    hid_t attr = H5Aopen(from, name, H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    size_t size = H5Tget_size(type);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    void *buf = tra_calloc(n > 0 ? (size_t)n : 1, size ? size : 1);
    bool ok = attr >= 0 && H5Aread(attr, type, buf) >= 0;
    if (ok) {
        hid_t copy = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        ok = copy >= 0 && H5Awrite(copy, type, buf) >= 0;
        H5Aclose(copy);
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, buf);
    }
    free(buf);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok;
}

static herr_t copy_attribute_of(hid_t from, const char *name, const H5A_info_t *info, void *to) {
    (void)info;
    return copy_attribute(from, *(hid_t *)to, name) ? 0 : -1;
}

static tra_status copy_group(keep *k, hid_t group, const char *at) {
    const char *outer = k->at;
    hid_t to = H5Gopen2(k->to, at[0] ? at : "/", H5P_DEFAULT);
    k->at = at;
    herr_t r = H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute_of, &to);
    H5Gclose(to);
    if (r < 0)
        return tra_h5_fail(k->e, TRA_INPUT, k->w->vfd, "cannot copy the attributes of /%s in %s", at, k->w->path);
    r = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_link, k);
    k->at = outer;
    return r < 0 ? tra_h5_fail(k->e, TRA_INPUT, k->w->vfd, "cannot copy what %s holds", k->w->path) : TRA_OK;
}

/* *old is -1 when there is nothing under the target's name, or an empty file. */
static tra_status open_old(const char *path, hid_t *old, tra_err *e) {
    struct stat st;
    *old = -1;
    if (stat(path, &st) != 0 || st.st_size == 0) return TRA_OK;
    if (H5Fis_hdf5(path) <= 0)
        return tra_fail(e, TRA_INPUT,
                        "%s exists and is no HDF5 file; it is not replaced: remove it or choose another "
                        "name",
                        path);
    hid_t fapl = tra_h5_fapl(false);
    *old = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    tra_status s = TRA_OK;
    if (*old < 0)
        s = tra_h5_fail(e, TRA_INPUT, NULL,
                        "%s is damaged, and its other relations cannot be kept; remove it to write it "
                        "anew",
                        path);
    H5Pclose(fapl);
    return s;
}

static bool holds_tensor(hid_t file, const char *path) {
    hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
    bool is = group >= 0 && (tra_stored_is(group) || tra_table_is(group));
    if (group >= 0) H5Gclose(group);
    return is;
}

tra_status tra_writer_check_target(tra_writer *w, tra_err *e) {
    hid_t old;
    tra_status s = open_old(w->path, &old, e);
    for (const char *p = w->name; old >= 0 && s == TRA_OK && *p;) {
        p += strcspn(p + (*p == '/'), "/") + (*p == '/');
        const char *part = tra_arena_strndup(w->arena, w->name, (size_t)(p - w->name));
        H5O_info_t info;
        if (!tra_h5_exists(old, part) || H5Oget_info_by_name2(old, part, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) break;
        bool relation = info.type == H5O_TYPE_DATASET || holds_tensor(old, part);
        const char *owner = tra_scale_owner(old, part, w->arena);
        if (owner && strcmp(owner, w->name) != 0)
            s = tra_fail(e, TRA_INPUT, "cannot write %s:%s: there %s has the labels of %s", w->path, w->name, part,
                         owner);
        else if (relation == (*p != 0))
            s = tra_fail(e, TRA_INPUT, "cannot write %s:%s: there %s is not a %s", w->path, w->name, part,
                         *p ? "group" : "relation");
    }
    if (old >= 0 && s == TRA_OK) s = tra_scales_check(w, old, e);
    if (old >= 0) H5Fclose(old);
    return s;
}

tra_status tra_new_file_copy_others(tra_new_file *f, tra_err *e) {
    hid_t old;
    TRA_TRY(open_old(f->path, &old, e));
    if (old < 0) return TRA_OK;
    tra_arena *a = tra_arena_new();
    keep k = {.w = f, .arena = a, .at = "", .to = f->file, .e = e, .nours = 2 * f->nnames};
    k.ours = tra_news(a, const char *, k.nours);
    for (int i = 0; i < f->nnames; i++) {
        k.ours[2 * i] = f->names[i];
        k.ours[2 * i + 1] = tra_table_path(a, f->names[i], NULL);
    }
    k.old = tra_vfd_of(old);
    hid_t root = H5Gopen2(old, "/", H5P_DEFAULT);
    tra_status s = copy_group(&k, root, "");
    H5Gclose(root);
    if (s == TRA_OK && !tra_scales_reattach(old, f->file, f->nnames, (const char *const *)f->names))
        s = tra_h5_fail(e, TRA_INPUT, k.old->err ? k.old : f->vfd, "cannot keep the labels in %s", f->path);
    H5Fclose(old);
    tra_arena_free(a);
    return s;
}

tra_status tra_writer_describe_dataset(tra_writer *w, const char *digest, tra_err *e) {
    if (w->table && tra_table_describe(w, digest)) return TRA_OK;
    if (w->mapped && tra_writer_put_notes(w, digest)) return TRA_OK;
    if (w->placing && tra_stored_describe(w, digest)) return TRA_OK;
    if (!w->placing && !w->mapped && !w->table && put_attributes(w, digest) && put_tables(w)) return TRA_OK;
    return tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write the attributes of %s", w->temp);
}
