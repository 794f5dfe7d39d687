/* stored_open.c - opening a relation that tra stored by levels: its datasets, and where the slices of tuples begin. */
#include "../h5/described.h"
#include "stored_int.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tra_stored_is(hid_t group) {
    static const char *const tenx[] = {"data", "indices", "indptr", "shape", "barcodes"};
    if (H5Aexists(group, "binsparse") > 0 || H5Aexists(group, "tra_storage") > 0 ||
        H5Aexists(group, "MATLAB_sparse") > 0)
        return true;
    tra_arena *a = tra_arena_new();
    const char *encoding = tra_h5_get_text(group, "encoding-type", a);
    bool is = encoding && (strcmp(encoding, "csr_matrix") == 0 || strcmp(encoding, "csc_matrix") == 0);
    tra_arena_free(a);
    for (size_t i = 0; i < 5 && !is; i++) {
        if (!tra_h5_exists(group, tenx[i])) return false;
    }
    return true;
}

/* ---- sources ---------------------------------------------------------------------------------------------------- */

/* Opens a dataset with a cache for chunks, since a chunk that HDF5 decodes for one piece may reach into the next. *held
 * grows by what that takes. */
static hid_t open_cached(hid_t group, const char *name, int64_t *held) {
    hid_t dset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dset < 0) return dset;
    hid_t dcpl = H5Dget_create_plist(dset), type = H5Dget_type(dset);
    hsize_t chunk[H5S_MAX_RANK] = {0};
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == 1;
    size_t size = H5Tget_size(type);
    H5Tclose(type);
    H5Pclose(dcpl);
    if (!chunked || chunk[0] > (16 << 20) / size) return dset;
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    if (H5Pset_chunk_cache(dapl, 7, chunk[0] * size, 0.75) >= 0) {
        H5Dclose(dset);
        dset = H5Dopen2(group, name, dapl);
        *held += (int64_t)(3 * chunk[0] * size);
    }
    H5Pclose(dapl);
    return dset;
}

static bool is_whole(hid_t type) { return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) <= 8; }

/* The type in memory for integers of the file: the same size and sign, in this machine's order of bytes. */
static hid_t native_whole(hid_t type) {
    bool sign = H5Tget_sign(type) == H5T_SGN_2;
    switch (H5Tget_size(type)) {
    case 1: return sign ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
    case 2: return sign ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    case 4: return sign ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
    case 8: return sign ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    }
    return H5T_NATIVE_INT64;
}

tra_status tra_dataset_open(tra_rel *r, hid_t group, const char *name, hid_t memory, tra_dataset_reader *s,
                            tra_err *e) {
    if (!tra_h5_exists(group, name)) return TRA_REL_BAD(r, e, "its dataset %s is missing", name);
    s->dset = open_cached(group, name, &r->stored->held);
    if (s->dset < 0)
        return tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its dataset %s is damaged", r->path, r->name, name);
    hid_t space = H5Dget_space(s->dset), type = H5Dget_type(s->dset);
    hsize_t n = 0;
    tra_status st = TRA_OK;
    const char *missing = tra_h5_missing_filter(s->dset, r->arena);
    if (missing)
        st = TRA_REL_BAD(r, e, "its dataset %s " TRA_MISSING_FILTER, name, missing);
    else if (H5Sget_simple_extent_ndims(space) != 1 || H5Sget_simple_extent_dims(space, &n, NULL) < 0 ||
             n > INT64_MAX / 64)
        st = TRA_REL_BAD(r, e, "its dataset %s has not one dimension", name);
    else if (memory < 0 && !is_whole(type))
        st = TRA_REL_BAD(r, e, "its dataset %s is not of whole numbers", name);
    if (st == TRA_OK) {
        s->count = (int64_t)n;
        s->memory = memory < 0 ? native_whole(type) : memory;
        s->each = H5Tget_size(s->memory);
        s->sign = H5Tget_class(s->memory) == H5T_INTEGER && H5Tget_sign(s->memory) == H5T_SGN_2;
        tra_dataset_find_access(s, type);
        r->stored->stored_bytes += (int64_t)H5Dget_storage_size(s->dset);
        if (s->compressed) r->info.codec = "zstd";
        if (s->compressed) r->stored->held += tra_ceil_div(s->count, TRA_DATASET_CHUNK) * (int64_t)sizeof(tra_chunkref);
    }
    H5Tclose(type);
    H5Sclose(space);
    return st;
}

void tra_stored_begin(tra_rel *r) { r->stored = tra_new(r->arena, struct tra_stored); }

int64_t tra_stored_held(const tra_rel *r) { return r->stored->held; }

int64_t tra_stored_bytes(const tra_rel *r) { return r->stored->stored_bytes; }

uint64_t tra_stored_identity(tra_rel *r) {
    const struct tra_stored *x = r->stored;
    return x->sums ? XXH64(x->sums, (size_t)(r->cat.n * x->form.n) * sizeof *x->sums, 0) : 0;
}

void tra_stored_close(tra_rel *r) {
    if (r->stored->transposed) tra_stored_close_transposed(r->stored->transposed);
    for (int i = 0; i < TRA_MAXCOMPONENTS; i++) tra_dataset_close(&r->stored->c[i]);
    tra_mapping_free(r->stored->mapping);
    free(r->stored->begin);
    free(r->stored->before);
    free(r->stored->sums);
    free((void *)r->stored->checked);
    free(r->stored->of);
    free(r->stored->rows);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static tra_status count_tuples(tra_rel *r, int64_t *n, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, "components");
    hsize_t dims[H5S_MAX_RANK] = {0};
    hid_t dset = tra_h5_exists(r->file, path) ? H5Dopen2(r->file, path, H5P_DEFAULT) : -1;
    bool ok = dset >= 0;
    if (ok) {
        hid_t space = H5Dget_space(dset);
        ok = H5Sget_simple_extent_ndims(space) == 3 && H5Sget_simple_extent_dims(space, dims, NULL) >= 0;
        H5Sclose(space);
        H5Dclose(dset);
    }
    *n = (int64_t)dims[0];
    return ok && dims[0] <= TRA_MAX_LIST * (hsize_t)64 ? TRA_OK
                                                       : TRA_REL_BAD(r, e, "its table %s is missing or damaged", path);
}

/* The counts of positions of a tuple, from the lengths of its slices. */
static bool counts_of(const tra_form *f, const int64_t *slices, int64_t *counts) {
    int64_t above = 1;
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] == 0 && !tra_mul(above, f->ext[l], &counts[l])) return false;
        if (f->group[l] != 0) counts[l] = slices[2 * f->indices[l] + 1];
        above = counts[l];
    }
    return tra_form_counts_fit(f, counts);
}

/* Sets `begin` from the table of slices, and checks that these follow one another. */
static bool find_begins(tra_rel *r, const int64_t *table) {
    struct tra_stored *x = r->stored;
    const tra_form *f = &x->form;
    int64_t n = r->cat.n, at[TRA_MAXCOMPONENTS] = {0}, counts[TRA_MAXDIM];
    x->begin = calloc((size_t)((n + 1) * f->levels.n), sizeof *x->begin);
    if (!x->begin) return false;
    for (int64_t t = 0; t < n; t++) {
        const int64_t *slices = table + t * f->n * 2;
        tra_dims ext;
        tra_catalog_ext(&r->cat, t, &ext);
        if (!counts_of(f, slices, counts)) return false;
        for (int i = 0; i < f->n; i++) {
            int64_t length = tra_form_length(f, i, counts, ext.v[ext.n - 1]);
            if (slices[2 * i] != at[i] || slices[2 * i + 1] != length || !tra_add(at[i], length, &at[i])) return false;
        }
        for (int l = 0; l < f->levels.n; l++) {
            int64_t *begin = x->begin + l * (n + 1) + t;
            if (!tra_add(begin[0], counts[l], &begin[1])) return false;
            x->most[l] = tra_max64(x->most[l], counts[l]);
        }
    }
    for (int i = 0; i < f->n; i++)
        if (at[i] + (f->c[i].kind == TRA_POINTERS) != x->c[i].count) return false;
    return true;
}

tra_status tra_stored_find_entries(tra_rel *r, tra_err *e) {
    struct tra_stored *x = r->stored;
    int64_t n = r->cat.n, dims[3] = {n, tra_form_spreads(&x->form), TRA_SPREAD_WORDS}, each = dims[1] * dims[2];
    int64_t *words = tra_sealed_table(r, "statistics", 3, dims);
    if (!words) return TRA_REL_BAD(r, e, "its table of statistics (.tra/%s/statistics) is missing or damaged", r->name);
    x->of = tra_malloc((size_t)(n + 1) * sizeof *x->of);
    x->rows = tra_malloc((size_t)(n + 1) * sizeof *x->rows);
    bool ok = true;
    const int64_t *spread = words + (x->is_transposed ? each - TRA_SPREAD_WORDS : 0);
    for (int64_t t = 0; t < n && ok; t++, spread += each) {
        int64_t rows = spread[0], entries = spread[1];
        const int64_t *last = x->begin + (x->form.levels.n - 1) * (n + 1) + t;
        int64_t squares = spread[2], most = spread[3];
        ok = rows >= 0 && rows <= entries && entries <= last[1] - last[0] && most >= 0 && squares >= 0;
        ok = ok && most <= entries && (double)most * (double)rows >= (double)entries;
        x->fullest = tra_max64(x->fullest, most);
        x->squares += (double)squares;
        x->span = tra_max64(x->span, spread[4]);
        x->rows[t] = rows;
        x->of[t] = entries;
    }
    free(words);
    return ok ? TRA_OK : TRA_REL_BAD(r, e, "its table of statistics (.tra/%s/statistics) is damaged", r->name);
}

/* ---- putting it together ---------------------------------------------------------------------------------------- */

tra_status tra_stored_complete(tra_rel *r, tra_err *e) {
    struct tra_stored *x = r->stored;
    const tra_form *f = &x->form;
    bool sparse = !tra_levels_dense(&f->levels);
    if (sparse && !tra_rows_can(&r->cat.bound))
        return TRA_REL_BAD(r, e, "%s",
                           "its blocks are too long: along the last dimension they must be shorter than 2^32");
    r->type.cat = &r->cat;
    r->type.sparse = sparse;
    r->type.layout = sparse ? &tra_rows : NULL;
    r->size = tra_dtype_size(r->type.dtype);
    r->info.storage = tra_levels_text(&f->levels, x->text);
    if (x->sums) x->checked = tra_calloc((size_t)r->cat.n + 1, sizeof *x->checked);
    x->held += (r->cat.n + 1) * 8 * (f->levels.n + (x->of ? 2 : 0) + (x->sums ? f->n : 0));
    if (x->of) r->type.entries = tra_entries_exactly(r->arena, &r->type, x->of, x->rows);
    r->type.entries = tra_entries_with_rows(r->arena, r->type.entries, x->fullest, x->squares, x->span);
    return TRA_OK;
}

/* The element type is in the attribute of binsparse, since a bool is stored as a plain byte. */
static tra_status find_dtype(tra_rel *r, const char *json, tra_err *e) {
    static const struct {
        const char *name;
        tra_dtype type;
    } names[] = {
#define X(id, text, ctype, class, sum, blas, numpy, binsparse, ...) {"\"" binsparse "\"", TRA_##id},
        TRA_DTYPES(X)
#undef X
    };
    size_t n = 0;
    const char *text = json ? tra_json_find(json, "binsparse.data_types.values", &n) : NULL;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != n || strncmp(text, names[i].name, n) != 0) continue;
        r->type.dtype = names[i].type;
        return TRA_OK;
    }
    return TRA_REL_BAD(r, e, "%s", "its attribute binsparse does not tell the type of its values");
}

static tra_status open_sources(tra_rel *r, tra_err *e) {
    struct tra_stored *x = r->stored;
    const tra_form *f = &x->form;
    for (int i = 0; i < f->n; i++) {
        const tra_dataset *c = &f->c[i];
        hid_t memory = c->kind != TRA_VALUES ? -1 : tra_h5_plain_type(r->type.dtype);
        const char *path = c->kind == TRA_COLUMNS
                               ? tra_arena_printf(r->arena, "/%s", tra_table_path(r->arena, r->name, c->name))
                               : c->name;
        hid_t where = c->kind == TRA_COLUMNS ? r->file : r->dset;
        TRA_TRY(tra_dataset_open(r, where, c->kind == TRA_COLUMNS ? path + 1 : path, memory, &x->c[i], e));
        bool narrow = r->cat.n == 0 && c->kind == TRA_INDICES; /* the extents of no arrays are not kept */
        if (x->c[i].each != c->each && !narrow)
            return TRA_REL_BAD(r, e, "its dataset %s has elements of %zu bytes, not of %zu", c->name, x->c[i].each,
                               c->each);
    }
    return TRA_OK;
}

/* Other programs find the number of values in the attribute of binsparse. */
static tra_status check_stored_values(tra_rel *r, tra_err *e) {
    struct tra_stored *x = r->stored;
    const char *json = tra_h5_get_text(r->dset, "binsparse", r->arena);
    size_t n = 0;
    int64_t said = -1, have = x->c[x->form.values].count;
    const char *text = json ? tra_json_find(json, "binsparse.number_of_stored_values", &n) : NULL;
    if (!text || (tra_parse_int(tra_arena_strndup(r->arena, text, n), &said) && said == have)) return TRA_OK;
    return TRA_REL_BAD(
        r, e, "its attribute binsparse says number_of_stored_values %.*s, but it has %" PRId64 ": it is damaged",
        (int)tra_min64(20, (int64_t)n), text, have);
}

static tra_status open_levels(tra_rel *r, tra_err *e) {
    struct tra_stored *x = r->stored;
    const char *text = tra_h5_get_text(r->dset, "tra_storage", r->arena);
    tra_levels levels;
    tra_err why = {0};
    if (!text) return TRA_REL_BAD(r, e, "%s", "its attribute tra_storage is missing");
    if (tra_stored_is_mapping(text)) return tra_stored_packed(r, text, e);
    if (tra_levels_parse(text, r->cat.bound.n, &levels, &why) != TRA_OK)
        return TRA_REL_BAD(r, e, "its storage cannot be read: %s", why.msg);
    TRA_TRY(find_dtype(r, tra_h5_get_text(r->dset, "binsparse", r->arena), e));
    tra_form_of(&levels, &r->cat.bound, r->cat.frontier.n, tra_catalog_is_one_block(&r->cat),
                tra_dtype_size(r->type.dtype), &x->form);
    TRA_TRY(open_sources(r, e));
    int64_t dims[3] = {r->cat.n, x->form.n, 2};
    int64_t *table = tra_sealed_table(r, "components", 3, dims);
    bool ok = table && find_begins(r, table);
    free(table);
    if (!ok) return TRA_REL_BAD(r, e, "the table of where its blocks begin (.tra/%s/components) is damaged", r->name);
    TRA_TRY(tra_stored_find_entries(r, e));
    TRA_TRY(check_stored_values(r, e));
    if (r->has_sums && !(x->sums = (uint64_t *)tra_sealed_table(r, "xxh64", 2, dims)))
        return TRA_REL_BAD(r, e, "its table of checksums (.tra/%s/xxh64) is damaged", r->name);
    return tra_stored_complete(r, e);
}

/* The seal in the tables of a group tells whether attributes are gone or were changed. */
static tra_status find_group_tables(tra_rel *r, tra_err *e) {
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[TRA_GROUP_HEADER];
    if (!tra_h5_exists(r->file, path))
        return TRA_REL_BAD(r, e, "its tables (%s) are missing: where its blocks begin is not known", path);
    hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
    r->has_tables = group >= 0;
    r->has_sums = r->has_tables && H5Lexists(group, "xxh64", H5P_DEFAULT) > 0;
    bool whole = r->has_tables && tra_h5_sealed(group, header, tra_stored_header(r->dset, header));
    if (group >= 0) H5Gclose(group);
    if (whole && !r->has_sums)
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return whole ? TRA_OK : tra_described_changed(r, e);
}

static tra_status read_group_shape(tra_rel *r, tra_described *h, tra_err *e) {
    int64_t n = tra_h5_get_ints(r->dset, "tra_shape", h->shape.v, TRA_MAXDIM);
    if (n < 1 || n != tra_h5_get_ints(r->dset, "tra_block", h->chunk.v, TRA_MAXDIM))
        return TRA_REL_BAD(r, e, "%s", "its attributes tra_shape and tra_block are missing or do not fit each other");
    h->shape.n = h->chunk.n = (int)n;
    h->layout = H5D_CHUNKED;
    for (int i = 0; i < (int)n; i++)
        if (h->shape.v[i] < 0 || h->chunk.v[i] < 1) return TRA_REL_BAD(r, e, "%s", "its extents are damaged");
    return TRA_OK;
}

tra_status tra_stored_open(tra_rel *r, const tra_dims *block, tra_err *e) {
    tra_described h = {0};
    bool tuple = false;
    int rank = 0;
    int64_t n, numbers[TRA_GROUP_HEADER];
    tra_catalog grid;
    r->size = 8;
    r->info.codec = "none";
    TRA_TRY(tra_described_owner(r, e));
    bool mapping = tra_stored_is_mapping(tra_h5_get_text(r->dset, "tra_storage", r->arena)) &&
                   H5Aexists(r->dset, "tra_block") <= 0; /* one block, read by its mapping */
    if (r->ours && mapping && !tra_h5_sealed(r->dset, numbers, tra_stored_header(r->dset, numbers)))
        return TRA_REL_BAD(r, e, "%s",
                           "its attributes are not those that tra wrote: it is damaged, or another program's");
    if (!r->ours || mapping) {
        TRA_TRY(tra_stored_foreign(r, block, e));
        TRA_TRY(tra_described_geometry(r, &(tra_described){0}, false, e));
        tra_type_shape(&r->type, &h.shape);
        tra_described_info(r, &h, false);
        return TRA_OK;
    }
    TRA_TRY(read_group_shape(r, &h, e));
    TRA_TRY(tra_described_attributes(r, &h, tra_stored_header, &tuple, &rank, e));
    TRA_TRY(tuple ? tra_described_tuple_layout(r, &h, rank, &grid, e)
                  : tra_described_tensor_layout(r, &h, rank, &grid, e));
    TRA_TRY(find_group_tables(r, e));
    TRA_TRY(count_tuples(r, &n, e));
    r->cat = grid;
    TRA_TRY(tra_described_geometry(r, &h, tuple, e));
    TRA_TRY(tra_described_list_tuples(r, &grid, n, e));
    TRA_TRY(open_levels(r, e));
    tra_described_info(r, &h, tuple);
    return TRA_OK;
}
