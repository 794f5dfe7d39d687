/* hdf5.c - HDF5 datasets of any chunking as a source; as a target, a relation rewritten for programs without zstd. */
#include "formats.h"

#include "../lib/relation/store_int.h" /* the gzip copy keeps the store's own tables */

#include <hdf5.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool sniff(const unsigned char *head, size_t n) { return n >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0; }

/* ---- reading ------------------------------------------------------------------------------------------------- */

static tra_status open_h5(tra_source *s, tra_err *e) {
    if (strcmp(s->spec, "-") == 0)
        return tra_fail(e, TRA_INPUT, "an HDF5 file cannot be read from a stream: give its name");
    tra_rel *rel;
    TRA_TRY(tra_rel_open(s->spec, NULL, &rel, e));
    tra_view *v = tra_new(s->arena, tra_view);
    tra_status status = tra_view_open(v, rel, s->spec, e);
    if (status != TRA_OK) {
        tra_rel_close(rel);
        return status;
    }
    s->state = v;
    s->shape = v->shape;
    s->dtype = tra_rel_type(rel)->dtype;
    s->access = TRA_ACCESS_BOX;
    s->grain = v->chunk;
    s->box_scratch = (v->array_bytes + 64) / 64 * 64 + v->scratch_bytes + 1;
    s->held = (size_t)tra_store_index_bytes(tra_rel_type(rel)->cat);
    return TRA_OK;
}

static void close_h5(tra_source *s) {
    tra_view *v = s->state;
    tra_view_close(v);
    tra_rel_close(v->rel);
}

static tra_status box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e) {
    int64_t stride[TRA_MAXDIM];
    tra_view *v = s->state;
    tra_strides(count, stride);
    tra_view_room(v, s->box_room, (char *)s->box_room + (v->array_bytes + 64) / 64 * 64);
    v->held = -1; /* others may have used the room since */
    return tra_view_box(v, start, count, buf, stride, e);
}

/* ---- rewriting ----------------------------------------------------------------------------------------------- */

static tra_status h5_fail(tra_err *e, const char *to, const char *what) {
    return tra_fail_errno(e, TRA_INPUT, "%s: HDF5 cannot %s", to, what);
}

/* Attributes are copied as bytes: they mean the same in the copy, whose values are the same. */
static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *to) {
    (void)info;
    herr_t bad = -1;
    hid_t a = H5Aopen(from, name, H5P_DEFAULT), type = H5Aget_type(a), space = H5Aget_space(a);
    hid_t b = H5Acreate2(*(hid_t *)to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    if (b >= 0 && n >= 0) {
        void *buf = tra_calloc((size_t)n + 1, H5Tget_size(type));
        if (H5Aread(a, type, buf) >= 0) bad = H5Awrite(b, type, buf);
        if (H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, buf);
        free(buf);
    }
    if (b >= 0) H5Aclose(b);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(a);
    return bad < 0 ? -1 : 0;
}

typedef struct rewriting {
    tra_rel *rel;
    const char *to;
    hid_t from, source; /* the source's file and dataset, for its attributes */
    hid_t file, dset;
    void *array;
    tra_geom geom;
} rewriting;

static tra_status copy_arrays(rewriting *w, tra_err *e) {
    const tra_type *t = tra_rel_type(w->rel);
    hid_t mem = t->dtype == TRA_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, filespace = H5Dget_space(w->dset);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        tra_dims key, ext;
        int64_t at[TRA_MAXDIM];
        hsize_t start[TRA_MAXDIM], count[TRA_MAXDIM];
        void *scratch = tra_malloc(tra_rel_scratch(w->rel) + 1); /* not kept: the library's filters take as much */
        s = tra_rel_read(w->rel, i, w->array, scratch, e);
        free(scratch);
        if (s != TRA_OK) break;
        tra_catalog_key(t->cat, i, &key);
        tra_catalog_ext(t->cat, i, &ext);
        tra_geom_offset(&w->geom, &key, at);
        for (int d = 0; d < w->geom.dims.n; d++) {
            start[d] = (hsize_t)at[d];
            count[d] = d < w->geom.lead || d - w->geom.lead >= ext.n ? 1 : (hsize_t)ext.v[d - w->geom.lead];
        }
        hid_t memspace = H5Screate_simple(w->geom.dims.n, count, NULL);
        if (H5Sselect_hyperslab(filespace, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
            H5Dwrite(w->dset, mem, memspace, filespace, H5P_DEFAULT, w->array) < 0)
            s = h5_fail(e, w->to, "write");
        H5Sclose(memspace);
    }
    H5Sclose(filespace);
    return s;
}

static tra_status create(rewriting *w, const char *temp, const char *name, int gzip, tra_err *e) {
    const tra_type *t = tra_rel_type(w->rel);
    const tra_relinfo *info = tra_rel_info(w->rel);
    int n = w->geom.dims.n;
    hsize_t dims[TRA_MAXDIM], chunk[TRA_MAXDIM];
    for (int d = 0; d < n; d++) dims[d] = (hsize_t)w->geom.dims.v[d], chunk[d] = (hsize_t)w->geom.chunk.v[d];
    w->file = H5Fcreate(temp, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (w->file < 0) return h5_fail(e, w->to, "create it");
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), lcpl = H5Pcreate(H5P_LINK_CREATE);
    hid_t space = H5Screate_simple(n, dims, NULL);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Pset_obj_track_times(dcpl, 0);
    H5Pset_chunk(dcpl, n, chunk);
    H5Pset_shuffle(dcpl);
    H5Pset_deflate(dcpl, (unsigned)gzip);
    w->dset = H5Dcreate2(w->file, name, t->dtype == TRA_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, space, lcpl, dcpl,
                         H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(lcpl);
    H5Pclose(dcpl);
    if (w->dset < 0) return h5_fail(e, w->to, "create the dataset");
    w->from = H5Fopen(info->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    w->source = w->from < 0 ? -1 : H5Dopen2(w->from, info->name, H5P_DEFAULT);
    hsize_t at = 0;
    if (w->source < 0 || H5Aiterate2(w->source, H5_INDEX_NAME, H5_ITER_INC, &at, copy_attribute, &w->dset) < 0)
        return h5_fail(e, w->to, "copy the attributes");
    return TRA_OK;
}

/* The tables that tell which keys exist and how large their arrays are; not the checksums, which are of other bytes. */
static tra_status copy_tables(const rewriting *w, const char *name, tra_arena *a, tra_err *e) {
    static const char *const tables[] = {"keys", "extents"};
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
    H5Pset_create_intermediate_group(lcpl, 1);
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        const char *from = tra_table_path(a, tra_rel_info(w->rel)->name, tables[i]),
                   *to = tra_table_path(a, name, tables[i]);
        if (tra_h5_exists(w->from, from)) ok &= H5Ocopy(w->from, from, w->file, to, H5P_DEFAULT, lcpl) >= 0;
    }
    if (tra_h5_exists(w->file, tra_table_path(a, name, NULL))) {
        group = H5Gopen2(w->file, tra_table_path(a, name, NULL), H5P_DEFAULT);
        ok &= group >= 0 && tra_h5_put_text(group, "tra_pipeline", tra_h5_pipeline(w->dset, a));
        if (group >= 0) H5Gclose(group);
    }
    H5Pclose(lcpl);
    return ok ? TRA_OK : h5_fail(e, w->to, "copy the tables of the relation");
}

/* gzip goes through the library, whose filter it is. path: the file that is replaced, under its lock. */
static tra_status rewrite_gzip_to(const char *path, const char *name, tra_rel *rel, const char *to, int gzip,
                                  tra_arena *arena, int64_t *bytes, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    rewriting w = {.rel = rel, .to = to, .from = -1, .source = -1, .file = -1, .dset = -1};
    TRA_TRY(tra_geom_of(t, &w.geom, e));
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as it is, for good: what filters free goes back to the system */
    char *temp = tra_temp_beside(path);
    tra_cleanup_add(temp);
    w.array = tra_malloc((size_t)tra_catalog_maxfloats(t->cat) * tra_dtype_size(t->dtype) + 1);
    tra_h5_enter();
    tra_status s = create(&w, temp, name, gzip, e);
    if (s == TRA_OK) s = copy_tables(&w, name, arena, e);
    if (s == TRA_OK) s = copy_arrays(&w, e);
    if (w.source >= 0) H5Dclose(w.source);
    if (w.from >= 0) H5Fclose(w.from);
    if (w.dset >= 0 && H5Dclose(w.dset) < 0 && s == TRA_OK) s = h5_fail(e, to, "write");
    if (w.file >= 0 && H5Fflush(w.file, H5F_SCOPE_GLOBAL) < 0 && s == TRA_OK) s = h5_fail(e, to, "write");
    if (w.file >= 0 && H5Fclose(w.file) < 0 && s == TRA_OK) s = h5_fail(e, to, "write");
    tra_h5_leave();
    if (s == TRA_OK)
        s = tra_newfile_adopt(temp, path, bytes, e);
    else
        unlink(temp);
    tra_cleanup_drop(temp);
    free(w.array);
    free(temp);
    return s;
}

static tra_status rewrite_gzip(tra_rel *rel, const char *to, int gzip, int64_t *bytes, tra_err *e) {
    tra_arena *arena = tra_arena_new();
    const char *path, *name;
    bool first;
    tra_relspec(arena, to, &path, &name);
    tra_status s = tra_store_target(arena, &path, e);
    if (s == TRA_OK) s = tra_lock_take(path, &first, e);
    if (s == TRA_OK) {
        if (name && access(path, F_OK) == 0) {
            s = tra_fail(e, TRA_INPUT,
                         "%s is there, and --gzip writes a file of its own: name another, or the file "
                         "alone to replace it",
                         path);
        } else {
            s = rewrite_gzip_to(path, name ? name : "data", rel, to, gzip, arena, bytes, e);
        }
        tra_lock_drop(path);
    }
    tra_arena_free(arena);
    return s;
}

static tra_status rewrite_plain(tra_rel *rel, const char *to, int64_t *bytes, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    const tra_relinfo *info = tra_rel_info(rel);
    tra_writer *w;
    TRA_TRY(tra_writer_create(to, t, &(tra_write_options){.history = info->history}, &w, e));
    char *array = tra_malloc(tra_rel_room(rel) + 1), *in = tra_malloc(tra_rel_scratch(rel) + 1),
         *out = tra_malloc(tra_writer_scratch(w) + 1);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        s = tra_rel_read(rel, i, array, in, e);
        if (s == TRA_OK) s = tra_writer_put(w, i, array, out, e);
    }
    free(array);
    free(in);
    free(out);
    *bytes = tra_writer_stored(w);
    if (s == TRA_OK) return tra_writer_commit(w, info->digest, e);
    tra_writer_abort(w);
    return s;
}

static tra_status rewrite(tra_rel *rel, const char *to, const tra_sink_options *o, int64_t memory, int64_t *bytes,
                          tra_err *e) {
    if (strcmp(to, "-") == 0) return tra_fail(e, TRA_USAGE, "an HDF5 file cannot be written to a stream: use -o FILE");
    const tra_catalog *cat = tra_rel_type(rel)->cat;
    int64_t array = (int64_t)tra_rel_room(rel);
    int64_t chunk = tra_store_chunk_bytes(tra_rel_type(rel)), scratch = (int64_t)tra_rel_scratch(rel);
    /* the library holds a chunk, and what a filter makes of it; or a chunk that is padded */
    int64_t more = o->gzip ? tra_max64(scratch, 2 * chunk + chunk / 64) : scratch + chunk;
    TRA_TRY(tra_buffer_check(memory, 2 * tra_store_index_bytes(cat) + array + more, e));
    return o->gzip ? rewrite_gzip(rel, to, o->gzip, bytes, e) : rewrite_plain(rel, to, bytes, e);
}

const tra_format tra_format_h5 = {
    .name = "h5",
    .suffixes = ".h5 .hdf5 .hdf .mat .nc",
    .binary = true,
    .opens_itself = true,
    .sniff = sniff,
    .open = open_h5,
    .box = box,
    .close = close_h5,
    .rewrite = rewrite,
};
