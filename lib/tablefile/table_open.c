/* table_open.c - opening a table: which columns its group has, and where their arrays are. Reads what tra wrote, and
 * data frames of AnnData. */
#include "../h5/pack.h"
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool table_is(hid_t group) {
    tra_arena *a = tra_arena_new();
    const char *encoding = tra_h5_get_text(group, "encoding-type", a);
    bool is = encoding && strcmp(encoding, "dataframe") == 0;
    tra_arena_free(a);
    return is;
}

static void table_begin(tra_rel *r) { r->table = tra_new(r->arena, struct tra_table); }

static int64_t table_held(const tra_rel *r) {
    return r->table->held + (r->table->foreign ? 0 : tra_rel_strings_bytes(r));
}

static uint64_t table_identity(tra_rel *r) {
    const struct tra_table *t = r->table;
    return t->sums ? XXH64(t->sums, (size_t)(t->form.nparts * t->form.nblocks) * sizeof *t->sums, 0) : 0;
}

/* ---- columns --------------------------------------------------------------------------------------------------- */

static tra_status bad_column(tra_rel *r, const char *name, const char *why, tra_err *e) {
    if (r->lack) return *e = *r->lack, r->lack->status;
    return TRA_REL_BAD(r, e, "column \"%.100s\": %s", name, why);
}

/* The extent of an array of one dimension, or -1. */
static int64_t extent_of(hid_t dset) {
    hid_t space = H5Dget_space(dset);
    hsize_t dims;
    int64_t n =
        H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &dims, NULL) >= 0 && dims < INT64_MAX
            ? (int64_t)dims
            : -1;
    H5Sclose(space);
    return n;
}

static hid_t open_array(hid_t loc, const char *name) {
    if (!tra_h5_exists(loc, name)) return -1;
    hid_t obj = H5Oopen(loc, name, H5P_DEFAULT);
    if (obj >= 0 && H5Iget_type(obj) == H5I_DATASET) return obj;
    if (obj >= 0) H5Oclose(obj);
    return -1;
}

/* Adds an array to the form; its dataset is checked and closed again. *at: its number. */
static tra_status add_part(tra_rel *r, const char *path, int column, bool mask, int size, bool direct, int *at,
                           tra_err *e) {
    tra_table_form *f = &r->table->form;
    hid_t dset = open_array(r->file, path);
    if (dset < 0) return TRA_REL_BAD(r, e, "its array %s is missing or damaged", path);
    hid_t dcpl = H5Dget_create_plist(dset);
    hsize_t chunk = 0;
    bool chunked = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, 1, &chunk) == 1;
    tra_pipeline filters = TRA_PIPELINE_NONE;
    bool coded = chunked && tra_pack_known(dcpl, &filters) && filters.shuffle == 0;
    bool plain = chunked && (coded || H5Pget_nfilters(dcpl) == 0) && chunk == (hsize_t)f->block && direct;
    int64_t rows = extent_of(dset);
    r->table->stored_bytes += (int64_t)H5Dget_storage_size(dset);
    H5Pclose(dcpl);
    H5Dclose(dset);
    if (f->rows < 0) f->rows = rows;
    if (f->block == 0) f->block = chunked ? (int64_t)chunk : 1 << 18;
    if (rows != f->rows)
        return TRA_REL_BAD(r, e, "its columns have %" PRId64 " rows, but its array %s has %" PRId64 ": it is damaged",
                           f->rows, path, rows);
    if (!plain && !r->table->foreign)
        return TRA_REL_BAD(r, e, "its array %s was rewritten by another program: import it again", path);
    *at = f->nparts;
    plain = plain && !r->table->foreign;
    f->part[f->nparts++] = (tra_table_part){
        .column = column, .mask = mask, .size = size, .direct = plain, .coded = plain && coded, .path = path};
    return TRA_OK;
}

/* The type of an array of numbers. *native: it has the same bytes in memory. */
static bool number_type(hid_t dset, tra_coltype *t, bool *native, bool *u64) {
    hid_t type = H5Dget_type(dset);
    tra_dtype d;
    bool ok = tra_h5_dtype(type, &d, u64);
    if (ok) {
        *t = tra_coltype_of(d);
        *native = H5Tequal(type, tra_h5_type(d)) > 0;
    }
    H5Tclose(type);
    return ok;
}

/* Dates and timestamps are integers with units. */
static void find_units(hid_t obj, tra_coltype *t, tra_arena *a) {
    const char *units = tra_h5_get_text(obj, "units", a);
    if (!units) return;
    if (*t == TRA_COL_I32 && strcmp(units, "days since 1970-01-01") == 0) *t = TRA_COL_DATE;
    if (*t == TRA_COL_I64 && strcmp(units, "microseconds since 1970-01-01 00:00:00") == 0) *t = TRA_COL_TIMESTAMP;
}

/* Strings of rows, not as categories. null: which are NULL, or NULL. */
static tra_status strings_column(tra_rel *r, hid_t obj, int i, const uint8_t *null, tra_column *c, tra_err *e) {
    tra_table_form *f = &r->table->form;
    if (f->rows < 0) f->rows = extent_of(obj);
    if (extent_of(obj) != f->rows) return bad_column(r, c->name, "it has another number of rows", e);
    if (!r->table->codes) r->table->codes = tra_news(r->arena, int32_t *, r->table->schema.n);
    c->dict = tra_h5_codes(r, obj, null, &r->table->codes[i]);
    if (!c->dict) return bad_column(r, c->name, "its strings cannot be read", e);
    r->table->held += 4 * f->rows;
    c->type = TRA_COL_TEXT;
    c->nullable = null != NULL;
    return TRA_OK;
}

/* Groups and joins go by codes, so that each category must have one. */
static tra_status distinct(tra_rel *r, const tra_column *c, tra_err *e) {
    const char *twice = tra_dictionary_twice(r->arena, c->dict);
    if (!twice) return TRA_OK;
    return bad_column(r, c->name,
                      tra_arena_printf(r->arena,
                                       "its categories have \"%.60s\" twice, so that equal values have "
                                       "different codes: they are damaged",
                                       twice),
                      e);
}

/* Categories as files before version 0.2.0 of data frames have them: the column has the codes, and an attribute that
 * says where the categories are. */
static tra_status old_categorical(tra_rel *r, hid_t obj, const char *path, int i, tra_column *c, tra_err *e) {
    hid_t attr = H5Aopen(obj, "categories", H5P_DEFAULT), type = attr >= 0 ? H5Aget_type(attr) : -1;
    hobj_ref_t to;
    hid_t categories = -1;
    if (type >= 0 && H5Tequal(type, H5T_STD_REF_OBJ) > 0 && H5Aread(attr, H5T_STD_REF_OBJ, &to) >= 0)
        categories = H5Rdereference2(obj, H5P_DEFAULT, H5R_OBJECT, &to);
    if (categories >= 0 && H5Iget_type(categories) == H5I_DATASET) c->dict = tra_table_categories(r, categories);
    if (categories >= 0) H5Oclose(categories);
    if (type >= 0) H5Tclose(type);
    if (attr >= 0) H5Aclose(attr);
    tra_coltype t = TRA_COL_F64;
    bool native, u64 = false;
    if (!c->dict || !number_type(obj, &t, &native, &u64) || (t != TRA_COL_I32 && t != TRA_COL_I64) || u64)
        return bad_column(r, c->name, "its codes or categories are damaged", e);
    TRA_TRY(distinct(r, c, e));
    c->nullable = true;
    c->type = c->dict->sorted ? TRA_COL_STRING : TRA_COL_TEXT;
    return add_part(r, path, i, false, 4, false, &r->table->form.values[i], e);
}

static tra_status plain_column(tra_rel *r, hid_t obj, const char *path, int i, tra_column *c, tra_err *e) {
    tra_table_form *f = &r->table->form;
    hid_t type = H5Dget_type(obj);
    bool strings = H5Tget_class(type) == H5T_STRING, native = false, u64 = false;
    H5Tclose(type);
    if (strings) { /* plain strings: the string of each row becomes an entry of the dictionary */
        if (!r->table->foreign) return bad_column(r, c->name, "it is not as tra wrote it", e);
        return strings_column(r, obj, i, NULL, c, e);
    }
    if (r->table->foreign && H5Aexists(obj, "categories") > 0) return old_categorical(r, obj, path, i, c, e);
    if (!number_type(obj, &c->type, &native, &u64))
        return bad_column(r, c->name, "it is neither of numbers nor of strings", e);
    find_units(obj, &c->type, r->arena);
    TRA_TRY(add_part(r, path, i, false, (int)tra_coltype_size(c->type), native, &f->values[i], e));
    f->part[f->values[i]].u64 = u64;
    const char *nulls = tra_h5_get_text(obj, "tra_nulls", r->arena);
    if (!nulls || r->table->foreign) return TRA_OK;
    c->nullable = true;
    return add_part(r, nulls, i, true, 1, true, &f->nulls[i], e);
}

static tra_status categorical(tra_rel *r, hid_t group, const char *path, int i, tra_column *c, tra_err *e) {
    tra_table_form *f = &r->table->form;
    hid_t codes = open_array(group, "codes"), categories = open_array(group, "categories");
    tra_coltype t = TRA_COL_I32;
    bool native = false, u64 = false, ok = codes >= 0 && categories >= 0 && number_type(codes, &t, &native, &u64);
    hid_t type = ok ? H5Dget_type(codes) : -1;
    size_t size = ok ? H5Tget_size(type) : 0;
    native = ok && H5Tequal(type, size == 1 ? H5T_NATIVE_INT8 : size == 2 ? H5T_NATIVE_INT16 : H5T_NATIVE_INT32) > 0;
    if (type >= 0) H5Tclose(type);
    if (ok && t != TRA_COL_I32 && t != TRA_COL_I64) ok = false;
    if (ok && r->table->foreign) {
        c->dict = tra_table_categories(r, categories);
        c->nullable = true;
    }
    int64_t entries = ok && categories >= 0 ? extent_of(categories) : -1;
    const char *text = tra_h5_get_text(group, "tra_type", r->arena);
    if (codes >= 0) H5Dclose(codes);
    if (categories >= 0) H5Dclose(categories);
    if (!ok || entries < 0 || entries > INT32_MAX)
        return bad_column(r, c->name, "its codes or categories are damaged", e);
    if (r->table->foreign && !c->dict)
        return bad_column(r, c->name, "its categories are neither strings nor numbers", e);
    if (r->table->foreign) TRA_TRY(distinct(r, c, e));
    bool texts = text && strcmp(text, "text") == 0;
    c->type = texts || (c->dict && !c->dict->sorted) ? TRA_COL_TEXT : TRA_COL_STRING;
    if (!c->dict) { /* tra_rel_find_strings fills it; only its size is known now */
        tra_dictionary *d = tra_new(r->arena, tra_dictionary);
        d->n = entries;
        c->dict = d;
    }
    return add_part(r, tra_arena_printf(r->arena, "%s/codes", path), i, false, native ? (int)size : 4, native,
                    &f->values[i], e);
}

static tra_status nullable(tra_rel *r, hid_t group, const char *path, int i, tra_column *c, tra_err *e) {
    tra_table_form *f = &r->table->form;
    hid_t values = open_array(group, "values"), mask = open_array(group, "mask");
    bool native = false, mask_native = false, u64 = false, mask_u64 = false;
    tra_coltype m = TRA_COL_F64;
    bool ok = values >= 0 && mask >= 0 && number_type(values, &c->type, &native, &u64) &&
              !tra_coltype_is_float(c->type) && number_type(mask, &m, &mask_native, &mask_u64) && m == TRA_COL_BOOL;
    if (values >= 0) H5Dclose(values);
    if (mask >= 0) H5Dclose(mask);
    if (!ok) return bad_column(r, c->name, "its values or their mask are damaged", e);
    find_units(group, &c->type, r->arena);
    c->nullable = true;
    TRA_TRY(add_part(r, tra_arena_printf(r->arena, "%s/values", path), i, false, (int)tra_coltype_size(c->type), native,
                     &f->values[i], e));
    f->part[f->values[i]].u64 = u64;
    return add_part(r, tra_arena_printf(r->arena, "%s/mask", path), i, true, 1, mask_native, &f->nulls[i], e);
}

/* Can the dataset have n bytes? Without filters it stores them; with filters it may be that much smaller. */
static bool holds(hid_t dset, int64_t n) {
    hid_t dcpl = H5Dget_create_plist(dset);
    int64_t most = H5Pget_nfilters(dcpl) > 0 ? 1 << 16 : 1;
    H5Pclose(dcpl);
    return tra_mul_most((int64_t)H5Dget_storage_size(dset), most) >= n;
}

/* Strings, and which of them are NULL. */
static tra_status nullable_strings(tra_rel *r, hid_t group, int i, tra_column *c, tra_err *e) {
    hid_t values = open_array(group, "values"), mask = open_array(group, "mask");
    int64_t n = mask >= 0 ? extent_of(mask) : -1;
    tra_coltype t = TRA_COL_F64;
    bool native, u64,
        ok = values >= 0 && n >= 0 && extent_of(values) == n && number_type(mask, &t, &native, &u64) &&
             t == TRA_COL_BOOL && holds(mask, n);
    uint8_t *null = ok ? tra_calloc((size_t)n + 1, 1) : NULL;
    ok = ok && (n == 0 || H5Dread(mask, tra_h5_type(TRA_BOOL), H5S_ALL, H5S_ALL, H5P_DEFAULT, null) >= 0);
    tra_status s = ok ? strings_column(r, values, i, null, c, e)
                      : bad_column(r, c->name, "its values or their mask are damaged", e);
    free(null);
    if (values >= 0) H5Dclose(values);
    if (mask >= 0) H5Dclose(mask);
    return s;
}

/* Can HDF5 decode the chunks of the column's datasets? */
static tra_status check_filters(tra_rel *r, hid_t obj, const char *name, tra_err *e) {
    static const char *const parts[] = {".", "values", "mask", "codes", "categories"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool here = i == 0;
        if (here != (H5Iget_type(obj) == H5I_DATASET)) continue;
        hid_t dset = here ? obj : open_array(obj, parts[i]);
        const char *missing = dset >= 0 ? tra_h5_missing_filter(dset, r->arena) : NULL;
        if (dset >= 0 && !here) H5Dclose(dset);
        if (missing) return bad_column(r, name, tra_arena_printf(r->arena, "it " TRA_MISSING_FILTER, missing), e);
    }
    return TRA_OK;
}

static tra_status open_column(tra_rel *r, const char *name, int i, tra_column *c, tra_err *e) {
    const char *path = strcmp(r->name, "/") == 0 ? name : tra_arena_printf(r->arena, "%s/%s", r->name, name);
    *c = (tra_column){.name = name, .file = r, .number = i};
    r->table->form.values[i] = r->table->form.nulls[i] = -1;
    if (strchr(name, '/') || strcmp(name, ".") == 0 || !tra_h5_exists(r->file, path))
        return bad_column(r, name, "it is not there", e);
    hid_t obj = H5Oopen(r->file, path, H5P_DEFAULT);
    if (obj < 0) return bad_column(r, name, "it is damaged", e);
    const char *encoding = tra_h5_get_text(obj, "encoding-type", r->arena),
               *own = tra_h5_get_text(obj, "tra_name", r->arena);
    if (own && *own && !r->table->foreign) c->name = own;
    tra_status s = check_filters(r, obj, c->name, e);
    if (s != TRA_OK) {
        H5Oclose(obj);
        return s;
    }
    if (H5Iget_type(obj) == H5I_DATASET)
        s = plain_column(r, obj, path, i, c, e);
    else if (encoding && strcmp(encoding, "categorical") == 0)
        s = categorical(r, obj, path, i, c, e);
    else if (encoding && (strcmp(encoding, "nullable-integer") == 0 || strcmp(encoding, "nullable-boolean") == 0))
        s = nullable(r, obj, path, i, c, e);
    else if (encoding && strcmp(encoding, "nullable-string-array") == 0 && r->table->foreign)
        s = nullable_strings(r, obj, i, c, e);
    else
        s = bad_column(
            r, c->name,
            tra_arena_printf(r->arena, "columns of the encoding \"%.60s\" are not read", encoding ? encoding : ""), e);
    H5Oclose(obj);
    return s;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Makes the index of another program's frame the first column, unless it is one of the columns already. */
static void add_index(tra_rel *r, const char ***names, int *n) {
    const char *index = tra_h5_get_text(r->dset, "_index", r->arena);
    if (!index || !*index) return;
    for (int i = 0; i < *n; i++)
        if (strcmp((*names)[i], index) == 0) return;
    const char **more = tra_news(r->arena, const char *, *n + 2);
    more[0] = index;
    memcpy(more + 1, *names, (size_t)*n * sizeof *more);
    *names = more;
    ++*n;
}

static int by_name(const void *x, const void *y) {
    return strcmp(((const tra_column *)x)->name, ((const tra_column *)y)->name);
}

static tra_status same_names(tra_rel *r, tra_err *e) {
    const tra_schema *s = &r->table->schema;
    tra_column *sorted = tra_calloc((size_t)s->n + 1, sizeof *sorted);
    const char *twice = NULL;
    memcpy(sorted, s->v, (size_t)s->n * sizeof *sorted);
    qsort(sorted, (size_t)s->n, sizeof *sorted, by_name);
    for (int i = 1; i < s->n && !twice; i++)
        if (strcmp(sorted[i].name, sorted[i - 1].name) == 0) twice = sorted[i].name;
    free(sorted);
    return twice ? bad_column(r, twice, "it is there twice", e) : TRA_OK;
}

/* Compressed tables that have checksums have sums of masks too. So an array that has become compressed, or no longer
 * is, was not written with them. */
static tra_status own_masks(tra_rel *r, const char *tables, tra_err *e) {
    struct tra_table *t = r->table;
    const tra_table_form *f = &t->form;
    const char *path = tra_arena_printf(r->arena, "%s/xxh64", tables);
    hid_t dset = t->sums ? H5Dopen2(r->file, path, H5P_DEFAULT) : -1;
    bool masks = dset >= 0 && H5Aexists(dset, "tra_masks") > 0, ok = true;
    if (masks) {
        t->masks = tra_calloc((size_t)f->nparts + 1, sizeof *t->masks);
        ok = tra_h5_get_ints(dset, "tra_masks", (int64_t *)t->masks, f->nparts) == f->nparts;
    }
    if (dset >= 0) H5Dclose(dset);
    if (!ok) return TRA_REL_BAD(r, e, "its attribute tra_masks of %s is damaged", path);
    for (int i = 0; i < f->nparts; i++)
        if (t->sums && f->part[i].coded != masks)
            return TRA_REL_BAD(r, e, "its array %s was rewritten by another program: import it again", f->part[i].path);
    return TRA_OK;
}

static tra_status own_tables(tra_rel *r, tra_err *e) {
    struct tra_table *t = r->table;
    const tra_table_form *f = &t->form;
    const char *path = tra_table_path(r->arena, r->name, NULL);
    int64_t header[4], n;
    if (!tra_h5_exists(r->file, path)) return TRA_REL_BAD(r, e, "its tables (%s) are missing", path);
    hid_t group = H5Gopen2(r->file, path, H5P_DEFAULT);
    bool whole = group >= 0 && tra_h5_sealed(group, header, tra_table_header(f, header)) &&
                 tra_h5_sealed(r->dset, header, tra_table_header(f, header));
    if (group >= 0) H5Gclose(group);
    if (!whole)
        return TRA_REL_BAD(r, e, "%s",
                           "its attributes, types or extents are not those that it was written with: it is damaged");
    t->sums = (uint64_t *)tra_sealed_numbers(r, "xxh64", &n);
    if (t->sums && n != (int64_t)f->nparts * f->nblocks)
        return TRA_REL_BAD(r, e, "%s", "its table of checksums is damaged");
    TRA_TRY(own_masks(r, path, e));
    t->blocks = tra_sealed_numbers(r, "blocks", &n);
    if (t->blocks && n != (int64_t)t->schema.n * f->nblocks * 4) {
        free(t->blocks);
        t->blocks = NULL;
    }
    r->has_sums = t->sums != NULL;
    if (!t->sums)
        tra_warn("%s:%s has lost its checksums (%s/xxh64): what is read of it is not checked", r->path, r->name, path);
    return TRA_OK;
}

/* Makes catalog, type and info. A table without rows has one block, which is empty, so that code that works on blocks
 * finds a table there. */
static tra_status catalog(tra_rel *r, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    tra_dims shape = {.n = 1, .v = {f->rows}}, block = {.n = 1, .v = {f->block}}, some = shape;
    some.v[0] = tra_max64(1, f->rows);
    TRA_TRY(tra_catalog_blocks(&some, &block, &r->cat, e));
    r->type = (tra_type){.dtype = TRA_F64,
                         .cat = &r->cat,
                         .layout = &tra_columns,
                         .columns = &r->table->schema,
                         .bounded = f->rows == 0,
                         .cut = {1}};
    r->size = 8;
    TRA_TRY(tra_geom_in(&r->type, false, &r->geom, e));
    r->info = (tra_relinfo){.path = r->path,
                            .name = r->name,
                            .foreign = !r->ours,
                            .layout = "tensor",
                            .dims = shape,
                            .chunk = block,
                            .codec = f->nparts > 0 && f->part[0].coded ? "zstd" : "none",
                            .checksums = r->has_sums,
                            .stored_bytes = r->table->stored_bytes,
                            .file_bytes = (int64_t)r->vfd->eof};
    r->info.digest = tra_h5_get_text(r->dset, "tra_digest", r->arena);
    r->info.history = tra_h5_get_text(r->dset, "tra_history", r->arena);
    r->stored_bytes_known = true;
    return TRA_OK;
}

static tra_status own_extents(tra_rel *r, tra_err *e) {
    tra_table_form *f = &r->table->form;
    int64_t v = 1;
    if (tra_h5_get_ints(r->dset, "tra_format", &v, 1) != 1 || v < 1)
        return TRA_REL_BAD(r, e, "%s", "its attribute tra_format is malformed");
    if (v > 1) return TRA_REL_BAD(r, e, "its format is %" PRId64 "; this tra reads format 1", v);
    if (tra_h5_get_ints(r->dset, "tra_shape", &f->rows, 1) != 1 ||
        tra_h5_get_ints(r->dset, "tra_block", &f->block, 1) != 1 || f->rows < 0 || f->block < 1 ||
        f->block > INT64_C(1) << 40)
        return TRA_REL_BAD(r, e, "%s", "its attributes tra_shape and tra_block are missing or damaged");
    return TRA_OK;
}

static tra_status table_open(tra_rel *r, const tra_dims *block, tra_err *e) {
    (void)block;
    struct tra_table *t = r->table;
    tra_table_form *f = &t->form;
    const char **names = NULL;
    int n = 0;
    r->how = TRA_BY_LIBRARY;
    r->ours = H5Aexists(r->dset, "tra_format") > 0 || H5Aexists(r->dset, "tra_seal") > 0;
    t->foreign = !r->ours;
    f->rows = -1;
    TRA_TRY(tra_table_read_order(r, &names, &n, e));
    if (r->ours) TRA_TRY(own_extents(r, e));
    if (!r->ours) add_index(r, &names, &n);
    tra_column *columns = tra_news(r->arena, tra_column, n + 1);
    t->schema = (tra_schema){.n = n, .v = columns};
    f->schema = &t->schema;
    f->part = tra_news(r->arena, tra_table_part, 2 * n + 1);
    f->values = tra_news(r->arena, int, n + 1);
    f->nulls = tra_news(r->arena, int, n + 1);
    for (int i = 0; i < n; i++) TRA_TRY(open_column(r, names[i], i, &columns[i], e));
    TRA_TRY(same_names(r, e));
    if (f->rows < 0) f->rows = 0;
    if (f->block == 0) f->block = 1 << 18;
    f->nblocks = tra_ceil_div(f->rows, f->block);
    if (r->ours) {
        TRA_TRY(own_tables(r, e));
        for (int i = 0; i < n; i++) /* a code of -1 is a NULL; the facts of blocks tell whether there are any */
            for (int64_t b = 0; b < f->nblocks && columns[i].dict && !columns[i].nullable; b++)
                columns[i].nullable = !t->blocks || t->blocks[((int64_t)i * f->nblocks + b) * 4 + 2] > 0;
    }
    for (int i = 0; i < n && t->foreign; i++)
        if (columns[i].dict) t->held += columns[i].dict->begin[columns[i].dict->n] + 16 * columns[i].dict->n;
    return catalog(r, e);
}

static void table_close(tra_rel *r) {
    struct tra_table *t = r->table;
    for (int i = 0; i < t->form.nparts; i++) tra_table_forget(&t->form.part[i]);
    free(t->sums);
    free(t->masks);
    free(t->blocks);
    tra_table_drop_facts(t);
}

const tra_file_kind tra_kind_table = {.is = table_is,
                                      .begin = table_begin,
                                      .open = table_open,
                                      .close = table_close,
                                      .read = tra_table_read,
                                      .read_scratch = tra_table_scratch,
                                      .check = tra_table_check,
                                      .held = table_held,
                                      .identity = table_identity,
                                      .prepare = tra_table_prepare,
                                      .create = tra_table_create_group,
                                      .free = tra_table_free_placing,
                                      .blob = tra_table_blob,
                                      .attach = tra_table_unblob,
                                      .put = tra_table_put,
                                      .pack = tra_table_pack,
                                      .finish = tra_table_finish,
                                      .describe = tra_table_describe};

bool tra_rel_is_table(const tra_rel *r) { return r->table != NULL; }

int64_t tra_rel_rows(const tra_rel *r) { return r->table->form.rows; }
