/* stored_mapping.c - tensors that a mapping describes: a group with components, and the program that computes the
 * tensor from them.
 *
 * The program comes from a file, so it is treated as data: it is parsed and typed, its components are checked, and its
 * steps are limited by their sizes and the extents. Where the mapping describes one block, the components are read when
 * the relation is opened, and what they take is part of tra_rel_held_bytes. Of packed relations (mapped.h) the
 * components of each tuple are read with it.
 */
#include "mapped.h"
#include "storage.h"
#include "stored_int.h"
#include "../h5/zfilter.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RATIO = 1100 }; /* HDF5's filters compress by no more than this, so that a made-up extent is found */
#define MOST_STEPS ((int64_t)10000000000)

struct tra_mapping {
    bool packed;    /* components are read with each tuple; otherwise they are all in memory: */
    int64_t *begin; /* packed: [n + 1][components]: first element of each tuple */
    int64_t room;   /* packed: the most bytes that the components of a tuple take */
    tra_storage *storage;
    tra_storage_block block;
    int64_t extent[TRA_CALC_MAXRANK];
    void **data; /* what has been read, from malloc */
    int ndata;
    bool unsummed; /* a component has no checksum */
};

bool tra_stored_is_mapping(const char *text) {
    return text && strncmp(text, "storage", 7) == 0 && (text[7] == ' ' || text[7] == '\n' || text[7] == '\t');
}

void tra_mapping_free(struct tra_mapping *p) {
    for (int i = 0; p && i < p->ndata; i++) free(p->data[i]);
    if (p) free(p->begin);
}

/* ---- components -------------------------------------------------------------------------------------------------- */

/* Reads a whole dataset of the group. real: it has elements of the tensor, of any type; else integers. */
static tra_status load(tra_rel *r, const char *name, bool real, tra_dtype *dtype, tra_elements *out, tra_err *e) {
    struct tra_mapping *p = r->stored->mapping;
    hid_t dset = tra_h5_exists(r->dset, name) ? H5Dopen2(r->dset, name, H5P_DEFAULT) : -1;
    if (dset < 0) return TRA_REL_BAD(r, e, "its component %s is missing", name);
    hid_t space = H5Dget_space(dset), type = H5Dget_type(dset);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    bool u64, known = tra_h5_dtype(type, dtype, &u64), whole = H5Tget_class(type) == H5T_INTEGER;
    int64_t stored = (int64_t)H5Dget_storage_size(dset), size = (int64_t)H5Tget_size(type), bytes;
    tra_status s = TRA_OK;
    if (!known || u64 || (!real && !whole))
        s = TRA_REL_BAD(r, e, "its component %s is not of %s", name,
                        real ? "floats, integers or booleans" : "integers");
    else if (n < 0 || !tra_mul(n, tra_max64(size, 8), &bytes) || bytes / MOST_RATIO > stored)
        s = TRA_REL_BAD(r, e, "its component %s says that it has %lld elements, which are not in the file", name,
                        (long long)n);
    if (!real) *dtype = TRA_I64;
    void *data = s == TRA_OK ? malloc((size_t)n * tra_dtype_size(*dtype) + 1) : NULL;
    if (s == TRA_OK && !data)
        s = tra_fail(e, TRA_RESOURCE, "out of memory for the components of %s:%s", r->path, r->name);
    if (data) p->data[p->ndata++] = data;
    if (s == TRA_OK && n > 0 && H5Dread(dset, tra_h5_type(*dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        s = tra_h5_fail(e, TRA_INPUT, r->vfd, "%s:%s: its component %s cannot be read", r->path, r->name, name);
    int64_t sum;
    bool summed = H5Aexists(dset, "tra_xxh64") > 0;
    if (!summed) p->unsummed = true;
    if (s == TRA_OK && summed &&
        (tra_h5_get_ints(dset, "tra_xxh64", &sum, 1) != 1 ||
         (uint64_t)sum != tra_chunk_sum(data, (size_t)n * tra_dtype_size(*dtype))))
        s = TRA_REL_BAD(r, e, "the bytes of its component %s do not have the checksum that was recorded", name);
    if (s == TRA_OK) {
        *out = (tra_elements){.type = tra_element_of(*dtype), .n = n, .data = data};
        r->stored->held += (int64_t)((size_t)n * tra_dtype_size(*dtype));
        r->stored->stored_bytes += stored;
    }
    hid_t dcpl = H5Dget_create_plist(dset);
    if (H5Pget_nfilters(dcpl) > 0 && H5Pget_filter_by_id2(dcpl, TRA_ZSTD_FILTER, NULL, NULL, NULL, 0, NULL, NULL) >= 0)
        r->info.codec = "zstd";
    H5Pclose(dcpl);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(dset);
    return s;
}

/* Reads all components: scalars and arrays under their names, hash maps and tries as NAME_key0, ..., NAME_value. The
 * tensor's element type is one that holds those of all real components. */
static tra_status load_components(tra_rel *r, const tra_storage_decl *d, tra_err *e) {
    struct tra_mapping *p = r->stored->mapping;
    tra_component_data *data = tra_news(r->arena, tra_component_data, d->ncomponents + 1);
    bool any = false;
    p->data = tra_news(r->arena, void *, (d->ncomponents + 1) * (TRA_CALC_MAXRANK + 1));
    p->block = (tra_storage_block){.extent = p->extent, .component = data};
    r->type.dtype = TRA_I64;
    for (int i = 0; i < d->ncomponents; i++) {
        const tra_component *c = &d->components[i];
        bool keyed = c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE;
        tra_dtype t, ignored;
        for (int k = 0; keyed && k < c->nsizes; k++)
            TRA_TRY(load(r, tra_arena_printf(r->arena, "%s_key%d", c->name, k), false, &ignored, &data[i].key[k], e));
        TRA_TRY(
            load(r, keyed ? tra_arena_printf(r->arena, "%s_value", c->name) : c->name, c->real, &t, &data[i].value, e));
        if (c->real) r->type.dtype = any ? tra_dtype_join(r->type.dtype, t) : t;
        any = any || c->real;
    }
    return TRA_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct running {
    tra_dtype dtype;
    int rank;
    const int64_t *stride; /* of coordinates in the number of the row, without the last dimension */
    tra_mapping_sink *sink;
    void *ctx;
} running;

tra_status tra_mapped_element(tra_dtype t, tra_calc_number v, void *to, tra_err *e) {
    if (tra_dtype_rows[t].class == TRA_CLASS_INT && !tra_dtype_holds(t, v.i))
        return tra_fail(e, TRA_INPUT, "the mapping gives %" PRId64 ", more than %s holds", v.i, tra_dtype_name(t));
#define VALUE_FLOAT (v.real ? v.r : (double)v.i)
#define VALUE_INT   v.i
#define VALUE_BOOL  (v.i != 0)
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: *(ctype *)to = (ctype)VALUE_##class; break;
    switch (t) { TRA_DTYPES(X) }
#undef X
    return TRA_OK;
}

/* Does every term of the mapping emit distinct coordinates, by @unique? summed: it is inside of a sum. once: it is
 * added to another term, where a sum of its own would not be distinct. */
static bool is_unique(const tra_calc *x, bool summed, bool once) {
    switch ((int)x->kind) {
    case TRA_CALC_SUM: return !once && is_unique(x->kids[x->nkids - 1], true, false);
    case TRA_CALC_LET: return is_unique(x->kids[x->nkids - 1], summed, once);
    case TRA_CALC_IF: return is_unique(x->kids[1], summed, once);
    case TRA_CALC_ADD: return summed && is_unique(x->kids[0], true, true) && is_unique(x->kids[1], true, true);
    case TRA_CALC_DICT: return x->notes & TRA_CALC_UNIQUE && x->kids[x->nkids - 1]->type.depth == 0;
    }
    return false;
}

bool tra_storage_says_unique(const tra_storage *s) { return is_unique(s->mapping, false, false); }

static tra_status give(void *ctx, const tra_calc_entry *x, tra_err *e) {
    running *w = ctx;
    int64_t row = 0;
    char value[8] = {0};
    for (int d = 0; d + 1 < w->rank; d++) row += x->key[d] * w->stride[d];
    TRA_TRY(tra_mapped_element(w->dtype, x->value, value, e));
    return w->sink(w->ctx, row, x->key[w->rank - 1], value, e);
}

/* Reads the components of a packed tuple and verifies their checksums. */
static tra_status load_tuple(const tra_rel *r, int64_t ordinal, char *room, tra_component_data *data, tra_err *e) {
    const struct tra_stored *x = r->stored;
    for (int i = 0; i < x->form.n; i++) {
        const int64_t *at = x->mapping->begin + ordinal * x->form.n + i;
        int64_t n = at[x->form.n] - at[0];
        size_t bytes = (size_t)n * r->size;
        TRA_TRY(n ? tra_dataset_read(r, &x->c[i], at[0], n, room, e) : TRA_OK);
        if (x->sums && tra_chunk_sum(room, bytes) != x->sums[ordinal * x->form.n + i])
            return tra_fail(e, TRA_INPUT, "the bytes of its component %s do not have the checksum that was recorded",
                            x->form.c[i].name);
        data[i].value = (tra_elements){.type = tra_element_of(r->type.dtype), .n = n, .data = room};
        room += bytes;
    }
    return TRA_OK;
}

int64_t tra_mapping_scratch(const tra_rel *r) {
    const struct tra_mapping *p = r->stored->mapping;
    return p ? p->room : 0;
}

tra_status tra_mapping_run(const tra_rel *r, int64_t ordinal, void *room, tra_mapping_sink *sink, void *ctx,
                           tra_err *e) {
    const struct tra_mapping *p = r->stored->mapping;
    int64_t stride[TRA_MAXDIM];
    tra_component_data data[TRA_MAXCOMPONENTS] = {0};
    tra_storage_block block = p->block;
    tra_dims ext = r->cat.bound, key, origin = {.n = ext.n}, lead;
    if (p->packed) {
        tra_catalog_ext(&r->cat, ordinal, &ext);
        tra_catalog_key(&r->cat, ordinal, &key);
        if (tra_type_is_tensor(&r->type, NULL)) tra_type_offset(&r->type, &key, &origin);
        block = (tra_storage_block){ext.v, origin.v, data};
        TRA_TRY(load_tuple(r, ordinal, room, data, e));
        TRA_TRY(tra_component_check(p->storage, &block, "its components", e));
    }
    lead = ext;
    lead.n--;
    tra_strides(&lead, stride);
    running w = {.dtype = r->type.dtype, .rank = ext.n, .stride = stride, .sink = sink, .ctx = ctx};
    int64_t steps = tra_min64(tra_storage_steps(p->storage, &block), MOST_STEPS);
    return p->packed ? tra_storage_visit(p->storage, &block, steps, give, &w, e)
                     : tra_storage_run(p->storage, &block, steps, give, &w, e);
}

static tra_status count(void *ctx, int64_t row, int64_t column, const void *value, tra_err *e) {
    (void)row, (void)column, (void)value, (void)e;
    ++*(int64_t *)ctx;
    return TRA_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static tra_status parse(tra_rel *r, const char *text, int rank, const tra_storage_decl **out, tra_err *e) {
    tra_calc_error why = {0};
    int n = (int)strlen(text), end = 0;
    const tra_storage_decl *d = tra_storage_parse(text, n, 0, r->arena, &end, &why);
    if (!d) return TRA_REL_BAD(r, e, "its storage cannot be read, at byte %d: %s", why.at, why.msg);
    if (text[end + (int)strspn(text + end, " \t\r\n;")])
        return TRA_REL_BAD(r, e, "%s", "something follows its storage");
    if (d->nlevels > 0) return TRA_REL_BAD(r, e, "%s", "its storage is by levels, and it has no attribute binsparse");
    if (d->ndims != rank || d->nparams > 0)
        return TRA_REL_BAD(r, e, "its storage %s is not one of %d dimensions without params", d->name, rank);
    *out = d;
    return TRA_OK;
}

/* Gives a relation without levels a form: all levels sparse with entries in any order; or dense, if the mapping is
 * total, that is, emits every element. */
static tra_status take_entries(tra_rel *r, bool total, int64_t entries, tra_err *e) {
    struct tra_stored *x = r->stored;
    tra_form *f = &x->form;
    int n = r->cat.bound.n;
    f->levels.n = n;
    for (int l = 0; l < n; l++) {
        f->levels.kind[l] = total ? TRA_LEVEL_DENSE : TRA_LEVEL_SPARSE;
        f->levels.order[l] = (int8_t)l;
        x->most[l] = entries;
    }
    snprintf(f->c[0].name, sizeof f->c[0].name, "its mapping");
    x->begin = tra_calloc((size_t)(2 * n), sizeof *x->begin);
    for (int l = 0; l < n; l++) x->begin[2 * l + 1] = entries;
    TRA_TRY(tra_stored_complete(r, e));
    if (!total) r->type.entries = tra_entries_about(r->arena, &r->type, (double)entries, entries, entries);
    return TRA_OK;
}

tra_status tra_stored_mapping(tra_rel *r, const char *text, tra_err *e) {
    struct tra_stored *x = r->stored;
    struct tra_mapping *p = x->mapping = tra_new(r->arena, struct tra_mapping);
    const tra_storage_decl *d = NULL;
    tra_dims shape;
    int64_t n = tra_h5_get_ints(r->dset, "tra_shape", shape.v, TRA_MAXDIM / 2), entries = 0, all;
    if (n < 1) return TRA_REL_BAD(r, e, "%s", "its attribute tra_shape does not tell its extents");
    shape.n = (int)n;
    for (int i = 0; i < shape.n; i++)
        if ((p->extent[i] = shape.v[i]) < 1) return TRA_REL_BAD(r, e, "%s", "its extents are not positive");
    if (!tra_dims_product(&shape, &all)) return TRA_REL_BAD(r, e, "%s", "it has more elements than can be counted");
    TRA_TRY(parse(r, text, shape.n, &d, e));
    TRA_TRY(load_components(r, d, e));
    r->size = tra_dtype_size(r->type.dtype);
    tra_err why = {0};
    if (tra_storage_make(d, shape.n, 0, NULL, !tra_dtype_is_float(r->type.dtype), r->arena, &p->storage, &why) !=
        TRA_OK)
        return TRA_REL_BAD(r, e, "%s", why.msg);
    if (tra_component_check(p->storage, &p->block, "its components", &why) != TRA_OK)
        return TRA_REL_BAD(r, e, "%s", why.msg);
    TRA_TRY(tra_catalog_blocks(&shape, &shape, &r->cat, e));
    for (int i = 0; i < shape.n; i++) r->type.cut[i] = 1u << i;
    x->unordered = true;
    x->outer = shape.v[0];
    if (tra_mapping_run(r, 0, NULL, count, &entries, &why) != TRA_OK) return TRA_REL_BAD(r, e, "%s", why.msg);
    TRA_TRY(take_entries(r, tra_storage_is_total(p->storage, &p->block), entries, e));
    r->info.storage = text;
    r->info.checksums = !p->unsummed;
    return TRA_OK;
}

/* ---- what was packed --------------------------------------------------------------------------------------------- */

/* Sets where the components of tuples begin, from the table, and checks that these follow one another to the end of
 * each dataset. */
static bool find_packed(tra_rel *r, const int64_t *table) {
    struct tra_stored *x = r->stored;
    int64_t n = r->cat.n, each = x->form.n, *begin = calloc((size_t)((n + 1) * each + 1), sizeof *begin);
    x->mapping->begin = begin;
    if (!begin) return false;
    for (int64_t i = 0, all = 0; i < n * each; i++) {
        int64_t length = table[2 * i + 1];
        if (table[2 * i] != begin[i] || length < 0 || !tra_add(begin[i], length, &begin[i + each])) return false;
        all = tra_add_most(i % each ? all : 0, tra_mul_most(length, (int64_t)r->size));
        x->mapping->room = tra_max64(x->mapping->room, all);
    }
    for (int i = 0; i < each; i++)
        if (begin[n * each + i] != x->c[i].count) return false;
    return true;
}

/* Sets the form and how many entries each tuple has. total: the mapping emits every element. */
static tra_status find_given(tra_rel *r, bool total, tra_err *e) {
    struct tra_stored *x = r->stored;
    tra_form *f = &x->form;
    int64_t n = r->cat.n, last = r->cat.bound.n - 1, *words = tra_sealed_table(r, "entries", 1, &n);
    bool ok = words != NULL;
    f->levels.n = last + 1;
    x->begin = tra_calloc((size_t)((n + 1) * f->levels.n), sizeof *x->begin);
    for (int l = 0; l <= last; l++) {
        f->levels.kind[l] = total ? TRA_LEVEL_DENSE : TRA_LEVEL_SPARSE;
        f->levels.order[l] = (int8_t)l;
        for (int64_t t = 0; t < n && ok; t++) {
            int64_t *begin = x->begin + l * (n + 1) + t, most = tra_catalog_elements_of(&r->cat, t);
            ok = words[t] >= 0 && words[t] <= tra_mul_most(most, 2) && tra_add(begin[0], words[t], &begin[1]);
            x->most[l] = tra_max64(x->most[l], words[t]);
        }
    }
    free(words);
    return ok ? TRA_OK : TRA_REL_BAD(r, e, "the table of its entries (.tra/%s/entries) is missing or damaged", r->name);
}

static tra_status open_components(tra_rel *r, const tra_storage_decl *d, tra_err *e) {
    struct tra_stored *x = r->stored;
    if (d->ncomponents < 1 || d->ncomponents > TRA_MAXCOMPONENTS)
        return TRA_REL_BAD(r, e, "its storage has %d components", d->ncomponents);
    for (int i = 0; i < d->ncomponents; i++) {
        tra_dataset *c = &x->form.c[i];
        const char *name = d->components[i].name;
        hid_t dset = tra_h5_exists(r->dset, name) ? H5Dopen2(r->dset, name, H5P_DEFAULT) : -1;
        if (dset < 0 || !d->components[i].real || strlen(name) >= sizeof c->name) {
            if (dset >= 0) H5Dclose(dset);
            return TRA_REL_BAD(r, e, "its component %s is missing, or not of elements", name);
        }
        hid_t type = H5Dget_type(dset);
        tra_dtype dtype = TRA_F64;
        bool u64 = false, known = tra_h5_dtype(type, &dtype, &u64) && !u64 && (i == 0 || dtype == r->type.dtype);
        H5Tclose(type);
        H5Dclose(dset);
        if (!known) return TRA_REL_BAD(r, e, "its component %s has not the type of the others", name);
        r->type.dtype = dtype;
        r->size = tra_dtype_size(dtype);
        *c = (tra_dataset){.kind = TRA_PACKED, .each = r->size};
        snprintf(c->name, sizeof c->name, "%s", name);
        x->form.n = i + 1;
        TRA_TRY(tra_dataset_open(r, r->dset, name, tra_h5_type(dtype), &x->c[i], e));
    }
    return TRA_OK;
}

tra_status tra_stored_packed(tra_rel *r, const char *text, tra_err *e) {
    struct tra_stored *x = r->stored;
    struct tra_mapping *p = x->mapping = tra_new(r->arena, struct tra_mapping);
    const tra_storage_decl *d = NULL;
    tra_err why = {0};
    p->packed = x->unordered = true;
    x->outer = 0;
    TRA_TRY(parse(r, text, r->cat.bound.n, &d, e));
    TRA_TRY(open_components(r, d, e));
    if (tra_storage_make(d, r->cat.bound.n, 0, NULL, !tra_dtype_is_float(r->type.dtype), r->arena, &p->storage, &why) !=
        TRA_OK)
        return TRA_REL_BAD(r, e, "%s", why.msg);
    int64_t dims[3] = {r->cat.n, x->form.n, 2}, *table = tra_sealed_table(r, "components", 3, dims);
    bool ok = table && find_packed(r, table);
    free(table);
    if (!ok) return TRA_REL_BAD(r, e, "the table of where its blocks begin (.tra/%s/components) is damaged", r->name);
    if (r->has_sums && !(x->sums = (uint64_t *)tra_sealed_table(r, "xxh64", 2, dims)))
        return TRA_REL_BAD(r, e, "its table of checksums (.tra/%s/xxh64) is damaged", r->name);
    r->type.cat = &r->cat;
    bool total = tra_mapping_is_total(p->storage, &r->type);
    TRA_TRY(find_given(r, total, e));
    TRA_TRY(tra_stored_complete(r, e));
    int64_t l = r->cat.bound.n - 1, all = x->begin[l * (r->cat.n + 1) + r->cat.n];
    if (!total) r->type.entries = tra_entries_about(r->arena, &r->type, (double)all, all, x->most[l]);
    r->info.storage = text;
    return TRA_OK;
}
