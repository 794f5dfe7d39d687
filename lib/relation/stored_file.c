/* stored_file.c - creating the group of a relation that is stored by levels: its datasets, attributes and tables. */
#include "pack.h"
#include "../calculus/calculus.h"
#include "scales.h"
#include "stored_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- making ----------------------------------------------------------------------------------------------------- */

static struct tra_placing *new_placing(tra_writer *w) {
    w->placing = tra_new(w->arena, struct tra_placing);
    w->placing->raw.fd = w->placing->fd = -1;
    return w->placing;
}

static tra_status make_facts(tra_writer *w, tra_err *e) {
    size_t n = (size_t)tra_max64(1, w->type.cat->n);
    w->sums = calloc(n, (size_t)tra_form_fact_words(&w->placing->form) * sizeof *w->sums);
    return w->sums ? TRA_OK : tra_fail(e, TRA_RESOURCE, "out of memory for the tables of %s", w->path);
}

tra_status tra_stored_prepare(tra_writer *w, const tra_levels *l, tra_err *e) {
    const tra_catalog *c = w->type.cat;
    if (l->n != c->bound.n)
        return tra_fail(e, TRA_INPUT, "cannot store %s:%s: its arrays are of rank %d, the storage is for rank %d",
                        w->path, w->name, c->bound.n, l->n);
    tra_form_of(l, &c->bound, c->frontier.n, tra_catalog_is_one_block(c), w->size, &new_placing(w)->form);
    return make_facts(w, e);
}

/* Prepares n components of a mapping; only the creator sets their names. */
static tra_status prepare_packed(tra_writer *w, int n, tra_err *e) {
    tra_form *f = &new_placing(w)->form;
    *f = (tra_form){.packed = true, .alone = true, .values = -1, .columns = -1, .n = n};
    for (int i = 0; i < n; i++) f->c[i] = (tra_dataset){.kind = TRA_PACKED, .each = w->size};
    return make_facts(w, e);
}

tra_status tra_packed_prepare(tra_writer *w, const tra_storage *s, tra_err *e) {
    tra_str text = {0};
    TRA_TRY(prepare_packed(w, s->ncomponents, e));
    struct tra_placing *p = w->placing;
    for (int i = 0; i < s->ncomponents; i++)
        snprintf(p->form.c[i].name, sizeof p->form.c[i].name, "%s", s->components[i].name);
    tra_storage_print(s, &text);
    p->text = tra_arena_strndup(w->arena, tra_str_get(&text), text.n);
    bool fits = text.n <= TRA_MAPPING_TEXT;
    tra_str_free(&text);
    return fits ? TRA_OK
                : tra_fail(e, TRA_INPUT, "the text of storage %s is longer than %d bytes", s->decl->name,
                           TRA_MAPPING_TEXT);
}

void tra_stored_free_placing(tra_writer *w) {
    struct tra_placing *p = w->placing;
    if (!p) return;
    if (w->codec.zstd && !p->raw.path && p->fd >= 0) close(p->fd);
    tra_temp_abort(&p->raw);
    free(p->counts);
    free(p->begin);
}

tra_status tra_stored_create_group(tra_writer *w, tra_err *e) {
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    if (H5Pset_create_intermediate_group(lcpl, 1) >= 0)
        w->dset = H5Gcreate2(w->file, w->name, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(lcpl);
    return w->dset >= 0 ? TRA_OK
                        : tra_h5_fail(e, TRA_INPUT, w->vfd, "cannot create the group %s in %s", w->name, w->temp);
}

/* ---- placing ---------------------------------------------------------------------------------------------------- */

/* Sets where slices begin, from the counts. */
static tra_status sum_counts(tra_writer *w, tra_err *e) {
    struct tra_placing *p = w->placing;
    const tra_form *f = &p->form;
    int each = tra_form_counts(f);
    p->begin = calloc((size_t)(w->type.cat->n + 1) * (size_t)f->n, sizeof *p->begin);
    if (!p->begin) return tra_fail(e, TRA_RESOURCE, "out of memory for the tables of %s", w->path);
    for (int64_t t = 0; t < w->type.cat->n; t++) {
        const int64_t *counts = p->counts + t * each;
        tra_dims ext;
        tra_catalog_ext(w->type.cat, t, &ext);
        if (!f->packed && !tra_form_counts_fit(f, counts))
            return tra_fail(e, TRA_INTERNAL, "the counts of tuple %" PRId64 " of %s are not those of its levels", t,
                            w->path);
        for (int i = 0; i < f->n; i++) {
            int64_t n = f->packed ? counts[i] : tra_form_length(f, i, counts, ext.v[ext.n - 1]),
                    *at = &p->begin[t * f->n + i];
            if (!tra_add(*at, n, &at[f->n]) || at[f->n] > TRA_SIZE_MOST / 64)
                return tra_fail(e, TRA_RESOURCE, "%s:%s is too large", w->path, w->name);
        }
    }
    return TRA_OK;
}

static hid_t index_type(size_t size) {
    return size == 1   ? H5T_NATIVE_UINT8
           : size == 2 ? H5T_NATIVE_UINT16
           : size == 4 ? H5T_NATIVE_UINT32
                       : H5T_NATIVE_INT64;
}

static hid_t component_type(const tra_writer *w, const tra_dataset *c) {
    switch (c->kind) {
    case TRA_POINTERS: return H5T_NATIVE_INT64;
    case TRA_INDICES: return index_type(c->each);
    case TRA_VALUES: return w->type.dtype == TRA_BOOL ? H5T_NATIVE_UINT8 : tra_h5_type(w->type.dtype);
    case TRA_COLUMNS: return H5T_NATIVE_UINT32;
    case TRA_PACKED: return tra_h5_type(w->type.dtype);
    }
    return -1;
}

/* Creates a dataset whose chunks are made later (pack.c). */
static hid_t new_chunked(const tra_writer *w, hid_t group, const char *name, hid_t type, int64_t n) {
    hsize_t dims[1] = {(hsize_t)n}, chunk[1] = {(hsize_t)tra_dataset_chunk(n)};
    hid_t space = H5Screate_simple(1, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), dset = -1;
    if (H5Pset_obj_track_times(dcpl, false) >= 0 && H5Pset_chunk(dcpl, 1, chunk) >= 0 &&
        tra_pack_filters(dcpl, &w->codec))
        dset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    return dset;
}

/* Creates a contiguous dataset and allocates its room without filling it; *at: its address, 0 when it is empty. */
static hid_t new_dataset(tra_writer *w, hid_t group, const char *name, hid_t type, int64_t n, int64_t *at) {
    hsize_t dims[1] = {(hsize_t)n};
    hid_t space = H5Screate_simple(1, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), dset = -1;
    if (H5Pset_obj_track_times(dcpl, false) >= 0 && H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) >= 0)
        dset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    if (dset < 0) return -1;
    haddr_t where = n > 0 ? H5Dget_offset(dset) : 0;
    if (where == HADDR_UNDEF) {
        H5Dclose(dset);
        return -1;
    }
    *at = (int64_t)where;
    w->stored += n * (int64_t)H5Tget_size(type);
    return dset;
}

/* Writes the keys: other programs see them as the first level of one tensor made of all blocks. */
static bool put_keys(tra_writer *w) {
    const tra_catalog *c = w->type.cat;
    bool ok = true;
    int64_t *v = tra_malloc((size_t)(c->n + 1) * sizeof *v), at;
    for (int d = 0; d < c->frontier.n && ok; d++) {
        char name[24];
        snprintf(name, sizeof name, "indices_%d", d);
        for (int64_t t = 0; t < c->n; t++) {
            tra_dims key;
            tra_catalog_key(c, t, &key);
            v[t] = key.v[d];
        }
        hid_t dset = new_dataset(w, w->dset, name, index_type(tra_index_size(c->frontier.v[d])), c->n, &at);
        ok = dset >= 0 && (c->n == 0 || H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
        if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    }
    free(v);
    return ok;
}

/* Writes the 0 with which pointers begin, before the slices of tuples. */
static tra_status put_first_pointer(tra_writer *w, int64_t at, tra_err *e) {
    int64_t zero = 0;
    return tra_pwrite(w->placing->fd, &zero, sizeof zero, at, w->temp, e);
}

/* Creates dataset i with n elements, and sets where its slices begin in the file. */
static tra_status create_component(tra_writer *w, hid_t group, int i, int64_t n, tra_err *e) {
    struct tra_placing *p = w->placing;
    const tra_dataset *c = &p->form.c[i];
    bool coded = w->codec.zstd && n > 0;
    hid_t type = component_type(w, c);
    hid_t dset = coded ? new_chunked(w, group, c->name, type, n) : new_dataset(w, group, c->name, type, n, &p->addr[i]);
    if (dset < 0 || H5Dclose(dset) < 0)
        return tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot create the datasets of %s in %s", w->name, w->temp);
    if (c->kind != TRA_POINTERS) return TRA_OK;
    TRA_TRY(put_first_pointer(w, p->addr[i], e));
    p->addr[i] += (int64_t)c->each;
    return TRA_OK;
}

static tra_status create_datasets(tra_writer *w, const int64_t *elements, tra_err *e) {
    const tra_form *f = &w->placing->form;
    hid_t tables = tra_tables_group(w);
    tra_status s = TRA_OK;
    if (tables < 0 || !(f->alone || put_keys(w)))
        s = tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot create the tables of %s in %s", w->name, w->temp);
    for (int i = 0; i < f->n && s == TRA_OK; i++)
        s = create_component(w, f->c[i].kind == TRA_COLUMNS ? tables : w->dset, i, elements[i], e);
    if (tables >= 0) H5Gclose(tables);
    return s;
}

/* Places slices that are to be compressed in the file of uncompressed slices, dataset after dataset. */
static tra_status place_raw(tra_writer *w, const int64_t *elements, tra_err *e) {
    struct tra_placing *p = w->placing;
    int64_t end = 0;
    for (int i = 0; i < p->form.n; i++) {
        p->addr[i] = end;
        end += (elements[i] * (int64_t)p->form.c[i].each + 7) / 8 * 8;
    }
    TRA_TRY(tra_raw_create(w, end, &p->raw, e));
    p->fd = p->raw.fd;
    return TRA_OK;
}

tra_status tra_writer_place(tra_writer *w, const int64_t *counts, tra_err *e) {
    struct tra_placing *p = w->placing;
    int64_t elements[TRA_MAXCOMPONENTS];
    size_t n = (size_t)w->type.cat->n * (size_t)tra_form_counts(&p->form);
    p->counts = malloc((n + 1) * sizeof *counts);
    if (!p->counts) return tra_fail(e, TRA_RESOURCE, "out of memory for the tables of %s", w->path);
    memcpy(p->counts, counts, n * sizeof *counts);
    TRA_TRY(sum_counts(w, e));
    for (int i = 0; i < p->form.n; i++)
        elements[i] = p->begin[w->type.cat->n * p->form.n + i] + (p->form.c[i].kind == TRA_POINTERS);
    p->fd = w->fd;
    if (w->codec.zstd) TRA_TRY(place_raw(w, elements, e));
    tra_h5_enter();
    tra_status s = create_datasets(w, elements, e);
    int64_t end = (int64_t)w->vfd->eoa;
    tra_h5_leave();
    return s == TRA_OK ? tra_writer_reserve(w, w->fd, end, e) : s;
}

tra_temp *tra_stored_raw(tra_writer *w, bool **packed) {
    *packed = &w->placing->compressed;
    return w->placing->raw.path ? &w->placing->raw : NULL;
}

tra_status tra_stored_pack(tra_writer *w, tra_packer *x, tra_err *e) {
    const tra_form *f = &w->placing->form;
    tra_status s = TRA_OK;
    for (int i = 0; i < f->n && s == TRA_OK; i++) {
        const tra_dataset *c = &f->c[i];
        bool first = c->kind == TRA_POINTERS;
        int64_t count = w->placing->begin[w->type.cat->n * f->n + i] + first;
        tra_raw_array of = {.addr = w->placing->addr[i] - (first ? (int64_t)c->each : 0),
                            .count = count,
                            .chunk = tra_dataset_chunk(count),
                            .each = c->each};
        tra_h5_enter();
        hid_t group = c->kind == TRA_COLUMNS ? tra_tables_group(w) : w->dset;
        tra_h5_leave();
        s = tra_pack_dataset(x, group, c->name, &of, e);
        tra_h5_enter();
        if (group >= 0 && group != w->dset) H5Gclose(group);
        tra_h5_leave();
    }
    if (s == TRA_OK) tra_temp_abort(&w->placing->raw), w->placing->fd = -1;
    return s;
}

/* ---- several processes ------------------------------------------------------------------------------------------ */

/* The blob: the levels (n = 0: packed), the addresses, the number of datasets, the length of the path of the file of
 * uncompressed slices and the path (0: there is none), then the counts. */
void tra_stored_blob(const tra_writer *w, tra_str *blob) {
    const struct tra_placing *p = w->placing;
    int64_t raw = p->raw.path ? (int64_t)strlen(p->raw.path) : 0, parts = p->form.n;
    tra_str_addn(blob, (const char *)&p->form.levels, sizeof p->form.levels);
    tra_str_addn(blob, (const char *)p->addr, sizeof p->addr);
    tra_str_addn(blob, (const char *)&parts, sizeof parts);
    tra_str_addn(blob, (const char *)&raw, sizeof raw);
    if (raw) tra_str_addn(blob, p->raw.path, (size_t)raw);
    tra_str_addn(blob, (const char *)p->counts,
                 (size_t)(w->type.cat->n * tra_form_counts(&p->form)) * sizeof *p->counts);
}

tra_status tra_stored_unblob(tra_writer *w, const char *blob, size_t n, tra_err *e) {
    tra_levels l;
    int64_t raw = 0, parts = 0;
    size_t head = sizeof l + sizeof w->placing->addr + sizeof parts, fixed = head + sizeof raw, counts = 0;
    if (n >= fixed) {
        memcpy(&l, blob, sizeof l);
        memcpy(&parts, blob + head - sizeof parts, sizeof parts);
        memcpy(&raw, blob + head, sizeof raw);
        counts = (size_t)w->type.cat->n * (size_t)(l.n ? l.n : parts) * sizeof(int64_t);
    }
    if (n < fixed || n != fixed + (size_t)raw + counts)
        return tra_fail(e, TRA_INTERNAL, "the description of an output does not fit its type");
    TRA_TRY(l.n ? tra_stored_prepare(w, &l, e) : prepare_packed(w, (int)parts, e));
    struct tra_placing *p = w->placing;
    memcpy(p->addr, blob + sizeof l, sizeof p->addr);
    p->counts = tra_malloc(counts + 1);
    memcpy(p->counts, blob + fixed + raw, counts);
    TRA_TRY(sum_counts(w, e));
    return raw ? tra_raw_open(tra_arena_strndup(w->arena, blob + fixed, (size_t)raw), &p->fd, e) : TRA_OK;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static const char *type_name(const tra_writer *w, const tra_dataset *c) {
    if (c->kind == TRA_VALUES) return tra_dtype_rows[w->type.dtype].binsparse;
    if (c->kind == TRA_POINTERS) return "int64";
    return c->each == 1 ? "uint8" : c->each == 2 ? "uint16" : c->each == 4 ? "uint32" : "int64";
}

/* Binsparse's name for the levels of a tensor that is one block; NULL: it has none. */
static const char *binsparse_name(const tra_levels *l) {
    static const struct {
        const char *ours, *theirs;
    } names[] = {{"csr", "CSR"},   {"csc", "CSC"}, {"dcsr", "DCSR"},
                 {"dcsc", "DCSC"}, {"coo", "COO"}, {"levels(sparse, singleton) order [1, 0]", "COOC"}};
    if (l->n == 1 && l->kind[0] == TRA_LEVEL_SPARSE) return "CVEC";
    for (size_t i = 0; i < sizeof names / sizeof *names && l->n == 2; i++) {
        tra_levels named;
        if (tra_levels_parse(names[i].ours, 2, &named, NULL) == TRA_OK && tra_levels_eq(&named, l))
            return names[i].theirs;
    }
    return NULL;
}

static void begin_level(tra_json *j, const char *kind, int rank) {
    tra_json_begin(j, "level", '{');
    tra_json_str(j, "level_desc", kind);
    tra_json_int(j, "rank", rank);
}

static void put_levels(tra_json *j, const tra_writer *w) {
    const tra_form *f = &w->placing->form;
    int depth = 0, keys = f->depth;
    if (keys > 0) begin_level(j, "sparse", keys), depth++;
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] < 0) continue;
        begin_level(j, f->group[l] ? "sparse" : "dense", f->group[l] ? f->group[l] : 1);
        depth++;
    }
    tra_json_begin(j, "level", '{');
    tra_json_str(j, "level_desc", "element");
    for (; depth >= 0; depth--) tra_json_end(j, '}');
}

static void put_custom(tra_json *j, const tra_writer *w) {
    const tra_form *f = &w->placing->form;
    int64_t order[TRA_MAXDIM];
    bool moved = false;
    for (int d = 0; d < f->depth + f->levels.n; d++) {
        order[d] = d < f->depth ? d : f->depth + f->levels.order[d - f->depth];
        moved = moved || order[d] != d;
    }
    tra_json_begin(j, "custom", '{');
    if (moved) tra_json_ints(j, "transpose", f->depth + f->levels.n, order);
    put_levels(j, w);
    tra_json_end(j, '}');
}

static void put_types(tra_json *j, const tra_writer *w) {
    const tra_form *f = &w->placing->form;
    tra_json_begin(j, "data_types", '{');
    for (int d = 0; d < f->depth; d++) {
        char name[24];
        tra_dataset key = {.kind = TRA_INDICES, .each = tra_index_size(w->type.cat->frontier.v[d])};
        snprintf(name, sizeof name, "indices_%d", d);
        tra_json_str(j, name, type_name(w, &key));
    }
    for (int i = 0; i < f->n; i++)
        if (f->c[i].kind != TRA_COLUMNS) tra_json_str(j, f->c[i].name, type_name(w, &f->c[i]));
    tra_json_end(j, '}');
}

/* Writes the attribute from which readers of binsparse know what the group is. */
static bool put_binsparse(tra_writer *w) {
    const tra_form *f = &w->placing->form;
    const tra_catalog *c = w->type.cat;
    const char *name = f->alone ? binsparse_name(&f->levels) : NULL;
    tra_dims shape = {0};
    tra_json j = {0};
    for (int d = 0; d < f->depth; d++) shape.v[shape.n++] = c->frontier.v[d];
    for (int a = 0; a < c->bound.n; a++) shape.v[shape.n++] = c->bound.v[a];
    tra_json_begin(&j, NULL, '{');
    tra_json_begin(&j, "binsparse", '{');
    tra_json_str(&j, "version", "0.1.0");
    tra_json_str(&j, "format", name ? name : "custom");
    tra_json_ints(&j, "shape", shape.n, shape.v);
    tra_json_int(&j, "number_of_stored_values", w->placing->begin[c->n * f->n + f->values]);
    put_types(&j, w);
    if (!name) put_custom(&j, w);
    tra_json_end(&j, '}');
    tra_json_end(&j, '}');
    bool ok = tra_h5_put_text(w->dset, "binsparse", tra_str_get(&j.out));
    tra_json_free(&j);
    return ok;
}

int tra_stored_header(hid_t group, int64_t v[TRA_STORED_HEADER]) {
    static const char *const attrs[] = {"tra_format",  "tra_rank",  "tra_keys", "tra_cuts",
                                        "tra_extents", "tra_shape", "tra_block"};
    static const char *const texts[] = {"tra_layout", "tra_storage", "binsparse"};
    tra_arena *a = tra_arena_new();
    int n = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = tra_h5_get_text(group, texts[i], a);
        v[n++] = text ? (int64_t)XXH64(text, strlen(text), 0) : 0;
    }
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) {
        int64_t most = i == 4 ? 3 * TRA_MAXDIM : TRA_MAXDIM;
        int64_t count = v[n] = tra_h5_get_ints(group, attrs[i], v + n + 1, most);
        if (count < 0 && tra_h5_get_text(group, attrs[i], a)) v[n] = -2;
        n += 1 + (int)tra_max64(0, count);
    }
    const char *labels = tra_h5_get_text(group, "tra_labels", a);
    if (labels) v[n++] = (int64_t)XXH64(labels, strlen(labels), 0); /* as in tra_h5_header */
    tra_arena_free(a);
    return n;
}

static bool put_attributes(tra_writer *w, const char *digest) {
    int64_t header[TRA_STORED_HEADER], format = 1, rank = w->type.cat->bound.n;
    hsize_t dims = (hsize_t)w->geom.dims.n, chunk = (hsize_t)w->geom.chunk.n;
    char buf[TRA_LEVELTEXT];
    const char *text = w->placing->form.packed ? w->placing->text : tra_levels_text(&w->placing->form.levels, buf);
    return (w->placing->form.packed || put_binsparse(w)) && tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) &&
           tra_h5_put_ints(w->dset, "tra_rank", 0, NULL, &rank) && tra_h5_put_text(w->dset, "tra_storage", text) &&
           tra_h5_put_ints(w->dset, "tra_shape", 1, &dims, w->geom.dims.v) &&
           tra_h5_put_ints(w->dset, "tra_block", 1, &chunk, w->geom.chunk.v) && tra_writer_put_cuts(w) &&
           tra_scales_put(w) && tra_h5_put_seal(w->dset, header, tra_stored_header(w->dset, header)) &&
           tra_writer_put_notes(w, digest);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

/* Writes the table of where slices begin and how long they are. */
static bool put_components(tra_writer *w, hid_t group) {
    const struct tra_placing *p = w->placing;
    int64_t n = w->type.cat->n, each = p->form.n;
    hsize_t dims[3] = {(hsize_t)n, (hsize_t)each, 2};
    int64_t *v = tra_malloc((size_t)(n * each * 2 + 1) * sizeof *v);
    for (int64_t i = 0; i < n * each; i++) {
        v[2 * i] = p->begin[i];
        v[2 * i + 1] = p->begin[i + each] - p->begin[i];
    }
    bool ok = tra_h5_put_table(group, "components", H5T_STD_I64LE, H5T_NATIVE_INT64, 3, dims, v);
    free(v);
    return ok;
}

/* Writes a table of some of the words that are kept for each tuple (tra_form_fact_words), from word `from` on. */
static bool put_facts(tra_writer *w, hid_t group, const char *name, int from, int ndims, const hsize_t *dims) {
    int64_t n = w->type.cat->n, count = 1, all = tra_form_fact_words(&w->placing->form);
    for (int i = 1; i < ndims; i++) count *= (int64_t)dims[i];
    uint64_t *v = tra_malloc((size_t)(n * count + 1) * sizeof *v);
    for (int64_t t = 0; t < n; t++) memcpy(v + t * count, w->sums + t * all + from, (size_t)count * sizeof *v);
    bool ok = tra_h5_put_table(group, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, ndims, dims, v);
    free(v);
    return ok;
}

bool tra_stored_describe(tra_writer *w, const char *digest) {
    const tra_form *f = &w->placing->form;
    hsize_t n = (hsize_t)w->type.cat->n, sums[2] = {n, (hsize_t)f->n};
    hsize_t spreads[3] = {n, (hsize_t)tra_form_spreads(f), TRA_SPREAD_WORDS};
    int64_t header[TRA_STORED_HEADER];
    if (!put_attributes(w, digest)) return false;
    hid_t group = tra_tables_group(w);
    bool ok = group >= 0 && tra_h5_put_seal(group, header, tra_stored_header(w->dset, header)) &&
              put_components(w, group) && put_facts(w, group, "xxh64", 0, 2, sums) &&
              (f->packed ? put_facts(w, group, "entries", f->n, 1, &n)
                         : put_facts(w, group, "statistics", f->n, 3, spreads)) &&
              tra_writer_put_lists(w, group);
    if (group >= 0 && H5Gclose(group) < 0) ok = false;
    return ok;
}
