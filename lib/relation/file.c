/* file.c - opening a relation: which dataset, of what type, with which tuples, and how its bytes can be reached. */
#include "file_int.h"
#include "table_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 16 }; /* more files in a row are a circle */

void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name) {
    const char *colon = strrchr(spec, ':'), *two = strstr(spec, "::");
    struct stat st;
    *path = tra_arena_strndup(a, spec, strlen(spec));
    *name = NULL;
    if (two && two > spec && two[2]) colon = two; /* what follows "::" is the name, colons included */
    const char *after = colon ? colon + (colon == two ? 2 : 1) : "";
    if (!colon || colon == spec || !*after || lstat(spec, &st) == 0) return;
    const char *before = tra_arena_strndup(a, spec, (size_t)(colon - spec));
    if (stat(before, &st) == 0 && S_ISDIR(st.st_mode)) return;
    *path = before;
    *name = tra_arena_strndup(a, after, strlen(after));
}

size_t tra_relspec_raw(const char *spec) {
    static const char prefix[] = "raw:";
    struct stat st;
    size_t n = strlen(prefix);
    if (strncmp(spec, prefix, n) != 0 || !spec[n] || lstat(spec, &st) == 0 || lstat("raw", &st) == 0) return 0;
    return n;
}

/* ---- which dataset --------------------------------------------------------------------------------------------- */

static tra_status open_file(tra_rel *r, tra_err *e) {
    tra_vfd_alone = r->virtual;
    tra_status s = tra_h5_open(r->path, &r->file, e);
    tra_vfd_alone = false;
    TRA_TRY(s);
    r->vfd = tra_vfd_of(r->file);
    return r->vfd ? TRA_OK : tra_fail(e, TRA_INTERNAL, "%s was opened by another driver", r->path);
}

/* ---- putting it together --------------------------------------------------------------------------------------- */

static tra_status header_changed(const tra_rel *r, tra_err *e) {
    return TRA_REL_BAD(r, e, "%s",
                       "its attributes, type or extents are not those that it was written with: it is damaged");
}

/* Tables are used only as long as the dataset has the form for which they were made. Then their seal tells whether
 * attributes are gone or were changed. */
static tra_status find_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_HEADER];
    bool whole = true, sealed = H5Aexists(r->dset, "tra_seal") > 0;
    if (tra_h5_exists(r->file, path)) {
        hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
        const char *then = group >= 0 ? tra_h5_get_text(group, "tra_pipeline", r->arena) : NULL;
        r->has_tables = then && strcmp(then, tra_h5_pipeline(r->dset, r->arena)) == 0;
        r->has_sums = r->has_tables && r->how == TRA_BY_CHUNK && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
        whole = !r->has_tables || tra_h5_sealed(group, header, tra_h5_header(r->dset, header));
        if (group >= 0) H5Gclose(group);
        if (!r->has_tables) {
            tra_warn("%s:%s was rewritten by another program (other chunks or filters): its checksums are ignored",
                     r->path, r->name);
            return TRA_OK;
        }
    }
    if (!whole) return header_changed(r, e);
    r->info.lost = sealed && r->how == TRA_BY_CHUNK && !r->has_sums;
    if (r->info.lost) /* relations exported with gzip have no seal: they never had any */
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return TRA_OK;
}

/* Did tra write the dataset? Without tra_format and tra_seal another program did, unless something else of tra is
 * there: then these two were lost, and it must not be read as a plain dataset, without its holes and keys. */
static tra_status find_owner(tra_rel *r, tra_err *e) {
    static const char *const others[] = {"tra_rank", "tra_layout", "tra_keys", "tra_cuts", "tra_extents"};
    htri_t format = H5Aexists(r->dset, "tra_format"), seal = H5Aexists(r->dset, "tra_seal");
    if (format < 0 || seal < 0)
        return tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its attributes are damaged", r->path, r->name);
    r->ours = format > 0 || seal > 0;
    const char *left = NULL, *tables = tra_table_path(r->arena, r->name, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others && !left; i++) {
        if (H5Aexists(r->dset, others[i]) > 0) left = others[i];
    }
    if (r->ours || (!left && !tra_h5_exists(r->file, tables))) return TRA_OK;
    if (left) return TRA_REL_BAD(r, e, "it has lost its attribute tra_format but not %s: it is damaged", left);
    return TRA_REL_BAD(
        r, e,
        "there are tables of tra about it (%s), but it has none of the attributes of a relation: it is damaged, "
        "or was replaced by another program, which should remove the tables too",
        tables);
}

static tra_status read_attributes(tra_rel *r, const header *h, bool *tuple, int *rank, tra_err *e) {
    int64_t v = 1, header[TRA_STORED_HEADER];
    TRA_TRY(find_owner(r, e));
    if (!r->ours) return TRA_OK;
    const char *layout = tra_h5_get_text(r->dset, "tra_layout", r->arena);
    if (tra_h5_get_ints(r->dset, "tra_format", &v, 1) != 1 || v < 1)
        return TRA_REL_BAD(r, e, "%s", "its attribute tra_format is malformed");
    if (v > 1) return TRA_REL_BAD(r, e, "its format is %" PRId64 "; this tra reads format 1", v);
    *tuple = layout && strcmp(layout, "tuple") == 0;
    if (layout && !*tuple && strcmp(layout, "tensor") != 0)
        return TRA_REL_BAD(r, e, "its layout is \"%.60s\", which this tra does not know", layout);
    int n = r->stored ? tra_stored_header(r->dset, header) : tra_h5_header(r->dset, header);
    if (!tra_h5_sealed(r->dset, header, n)) return header_changed(r, e);
    if (tra_h5_get_ints(r->dset, "tra_rank", &v, 1) != 1 || v < 0 || v > h->shape.n)
        return TRA_REL_BAD(r, e, "its attribute tra_rank is missing or does not fit a dataset of %d dimensions",
                           h->shape.n);
    *rank = (int)v;
    if (h->layout != H5D_CHUNKED) {
        tra_warn("%s:%s was rewritten by another program without chunks: it is read as a plain tensor", r->path,
                 r->name);
        r->ours = false;
    }
    return TRA_OK;
}

/* The geometry of the type, but with the extents and chunks that the file really has. */
static tra_status geometry(tra_rel *r, const header *h, bool tuple, tra_err *e) {
    r->type.cat = &r->cat;
    TRA_TRY(tra_geom_in(&r->type, tuple, &r->geom, e));
    if (!r->stored) TRA_TRY(tra_geom_fits(&r->type, &r->geom, e));
    if (h->shape.n == 0) return TRA_OK;
    r->geom.dims = h->shape;
    if (h->layout == H5D_CHUNKED) r->geom.chunk = h->chunk;
    for (int i = 0; i < h->shape.n; i++)
        r->geom.grid.v[i] = tra_ceil_div(r->geom.dims.v[i], tra_max64(1, r->geom.chunk.v[i]));
    bool counted = tra_dims_product(&r->geom.chunk, &r->geom.chunk_elements) || r->stored;
    if (!tra_dims_product(&r->geom.grid, &r->geom.nchunks) || !counted)
        return TRA_REL_BAD(r, e, "%s", "it is too large");
    return TRA_OK;
}

/* The names that the numbers of an enumeration stand for; NULL: the dataset has none. */
static const char *enumeration(tra_rel *r) {
    enum { SHOWN = 20 };
    hid_t type = r->dset >= 0 && H5Iget_type(r->dset) == H5I_DATASET ? H5Dget_type(r->dset) : -1;
    int n = type >= 0 && H5Tget_class(type) == H5T_ENUM && r->type.dtype != TRA_BOOL ? H5Tget_nmembers(type) : 0;
    const char *text = n > 0 ? "an enumeration:" : NULL;
    for (int i = 0; i < n && i < SHOWN; i++) {
        int64_t v[4] = {0};
        char *name = H5Tget_member_name(type, (unsigned)i);
        hid_t of = H5Tget_super(type);
        if (name && H5Tget_member_value(type, (unsigned)i, v) >= 0 &&
            H5Tconvert(of, H5T_NATIVE_INT64, 1, v, NULL, H5P_DEFAULT) >= 0)
            text = tra_arena_printf(r->arena, "%s%s %s = %" PRId64, text, i ? "," : "", name, v[0]);
        H5Tclose(of);
        H5free_memory(name);
    }
    if (n > SHOWN) text = tra_arena_printf(r->arena, "%s, ... (%d names)", text, n);
    if (type >= 0) H5Tclose(type);
    return text;
}

static void set_info(tra_rel *r, const header *h, bool tuple) {
    tra_relinfo *i = &r->info;
    i->path = r->stand_in.identity ? r->stand_in.file : r->path;
    i->name = r->name;
    i->foreign = !r->ours;
    i->layout = tuple && r->ours ? "tuple" : "tensor";
    i->dims = h->shape;
    i->chunk = r->geom.chunk;
    i->file_bytes = (int64_t)r->vfd->eof;
    i->checksums = r->has_sums || i->checksums; /* a mapping has checked those of its components */
    i->digest = tra_h5_get_text(r->dset, "tra_digest", r->arena);
    i->history = tra_h5_get_text(r->dset, "tra_history", r->arena);
    i->units = tra_h5_get_text(r->dset, "units", r->arena);
    i->decoding = r->decode ? r->decode->text : enumeration(r);
}

/* ---- a group of components ------------------------------------------------------------------------------------- */

/* The seal in the tables of a group tells whether attributes are gone or were changed. */
static tra_status find_group_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_STORED_HEADER];
    if (!tra_h5_exists(r->file, path))
        return TRA_REL_BAD(r, e, "its tables (%s) are missing: where its blocks begin is not known", path);
    hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
    r->has_tables = group >= 0;
    r->has_sums = r->has_tables && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
    bool whole = r->has_tables && tra_h5_sealed(group, header, tra_stored_header(r->dset, header));
    if (group >= 0) H5Gclose(group);
    if (whole && !r->has_sums)
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return whole ? TRA_OK : header_changed(r, e);
}

static tra_status read_group_shape(tra_rel *r, header *h, tra_err *e) {
    int64_t n = tra_h5_get_ints(r->dset, "tra_shape", h->shape.v, TRA_MAXDIM);
    if (n < 1 || n != tra_h5_get_ints(r->dset, "tra_block", h->chunk.v, TRA_MAXDIM))
        return TRA_REL_BAD(r, e, "%s", "its attributes tra_shape and tra_block are missing or do not fit each other");
    h->shape.n = h->chunk.n = (int)n;
    h->layout = H5D_CHUNKED;
    for (int i = 0; i < (int)n; i++)
        if (h->shape.v[i] < 0 || h->chunk.v[i] < 1) return TRA_REL_BAD(r, e, "%s", "its extents are damaged");
    return TRA_OK;
}

static tra_status open_stored(tra_rel *r, const tra_dims *block, tra_err *e) {
    header h = {0};
    bool tuple = false;
    int rank = 0;
    int64_t n, numbers[TRA_STORED_HEADER];
    tra_catalog grid;
    r->size = 8;
    r->info.codec = "none";
    TRA_TRY(find_owner(r, e));
    bool mapping = tra_stored_is_mapping(tra_h5_get_text(r->dset, "tra_storage", r->arena)) &&
                   H5Aexists(r->dset, "tra_block") <= 0; /* one block, read by its mapping */
    if (r->ours && mapping && !tra_h5_sealed(r->dset, numbers, tra_stored_header(r->dset, numbers)))
        return TRA_REL_BAD(r, e, "%s",
                           "its attributes are not those that tra wrote: it is damaged, or another program's");
    if (!r->ours || mapping) {
        TRA_TRY(tra_stored_foreign(r, block, e));
        TRA_TRY(geometry(r, &(header){0}, false, e));
        tra_type_shape(&r->type, &h.shape);
        set_info(r, &h, false);
        return TRA_OK;
    }
    TRA_TRY(read_group_shape(r, &h, e));
    TRA_TRY(read_attributes(r, &h, &tuple, &rank, e));
    TRA_TRY(tuple ? tra_file_tuple_layout(r, &h, rank, &grid, e) : tra_file_tensor_layout(r, &h, rank, &grid, e));
    TRA_TRY(find_group_tables(r, e));
    TRA_TRY(tra_stored_tuples(r, &n, e));
    r->cat = grid;
    TRA_TRY(geometry(r, &h, tuple, e));
    TRA_TRY(tra_file_list_tuples(r, &grid, n, e));
    TRA_TRY(tra_stored_open(r, e));
    set_info(r, &h, tuple);
    return TRA_OK;
}

static tra_dims reversed(const tra_dims *d) {
    tra_dims r = {.n = d->n};
    for (int i = 0; i < d->n; i++) r.v[i] = d->v[d->n - 1 - i];
    return r;
}

static tra_status open_relation(tra_rel *r, const tra_dims *block, const char **elsewhere, tra_err *e) {
    header h = {0};
    bool tuple = false;
    int rank = 0;
    tra_catalog grid;
    TRA_TRY(open_file(r, e));
    TRA_TRY(tra_file_open_dataset(r, elsewhere, e));
    if (*elsewhere) return TRA_OK;
    if (r->table) return tra_table_open(r, e);
    if (r->stored) return open_stored(r, block, e);
    TRA_TRY(tra_file_read_type(r, &h, e));
    TRA_TRY(tra_file_read_space(r, &h, e));
    TRA_TRY(tra_file_read_layout(r, &h, e));
    TRA_TRY(read_attributes(r, &h, &tuple, &rank, e));
    if (r->ours) {
        TRA_TRY(tuple ? tra_file_tuple_layout(r, &h, rank, &grid, e) : tra_file_tensor_layout(r, &h, rank, &grid, e));
        r->cat = grid; /* needed for the geometry, with which holes are found */
        TRA_TRY(geometry(r, &h, tuple, e));
        TRA_TRY(find_tables(r, e));
        TRA_TRY(tra_file_find_tuples(r, &grid, e));
    } else {
        tra_dims of_file = block ? reversed(block) : (tra_dims){0};
        TRA_TRY(tra_file_foreign(r, &h, block && r->turned ? &of_file : block, e));
        TRA_TRY(geometry(r, &h, false, e));
        if (r->turned) {
            tra_dims shape = reversed(&h.shape), bound = reversed(&r->cat.bound);
            TRA_TRY(tra_catalog_blocks(&shape, &bound, &r->shown, e));
            r->type.cat = &r->shown;
        }
    }
    set_info(r, &h, tuple);
    return TRA_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

tra_status tra_rel_open_bare(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_rel *r = tra_new(a, tra_rel);
    *out = NULL;
    r->arena = a;
    r->file = r->dset = r->direct_fd = r->outside = -1;
    tra_status s;
    if (tra_rel_is_made(spec)) {
        s = tra_made_open(r, spec, e);
        if (s == TRA_OK)
            *out = r;
        else
            tra_rel_close(r);
        return s;
    }
    if (tra_file_hooks_set && (s = tra_file_hooks_set->input(spec, &r->stand_in, e)) != TRA_OK) {
        tra_rel_close(r);
        return s;
    }
    if (r->stand_in.path) spec = r->stand_in.path;
    r->raw = tra_relspec_raw(spec) > 0;
    tra_relspec(a, spec + tra_relspec_raw(spec), &r->path, &r->name);
    const char *elsewhere;
    int files = 0;
    do {
        elsewhere = NULL;
        s = tra_commit_settle(r->path, e);
        if (s != TRA_OK) break;
        tra_h5_enter();
        s = open_relation(r, block, &elsewhere, e);
        if (s == TRA_OK && r->virtual && !r->vfd->alone) { /* which is known only now */
            H5Oclose(r->dset);
            H5Fclose(r->file);
            r->file = r->dset = -1;
            s = open_relation(r, block, &elsewhere, e);
        }
        if (elsewhere) { /* that file may have links too */
            H5Fclose(r->file);
            r->file = -1;
            r->vfd = NULL;
            r->path = elsewhere;
            if (++files > MAX_FILES) s = TRA_REL_BAD(r, e, "%s", "its links go round in a circle of files");
        }
        tra_h5_leave();
    } while (s == TRA_OK && elsewhere);
    if (s != TRA_OK)
        tra_rel_close(r);
    else
        *out = r;
    return s;
}

tra_status tra_rel_open(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e) {
    TRA_TRY(tra_rel_open_bare(spec, block, out, e));
    tra_status s = tra_rel_read_strings(*out, e);
    if (s == TRA_OK) return s;
    tra_rel_close(*out);
    *out = NULL;
    return s;
}

void tra_rel_close(tra_rel *r) {
    if (!r) return;
    tra_h5_enter();
    tra_stored_close(r);
    tra_table_close(r);
    if (r->dset >= 0) H5Oclose(r->dset);
    if (r->file >= 0) H5Fclose(r->file);
    tra_h5_leave();
    if (r->direct_fd >= 0) close(r->direct_fd);
    if (r->outside >= 0) close(r->outside);
    free(r->chunks);
    free(r->sums);
    free(r->checked);
    tra_arena_free(r->arena);
}
