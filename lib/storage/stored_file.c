/* stored_file.c - creating the group of a relation that is stored by levels: its datasets, attributes and tables. */
#include "../h5/pack.h"
#include "storage.h"
#include "../h5/scales.h"
#include "stored_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- making ----------------------------------------------------------------------------------------------------- */

static struct tra_placing *new_placing(tra_writer *w) {
    w->placing = tra_new(w->arena, struct tra_placing);
    return w->placing;
}

static tra_status make_facts(tra_writer *w, tra_err *e) {
    size_t n = (size_t)tra_max64(1, w->type.cat->n);
    w->sums = calloc(n, (size_t)tra_form_fact_words(&w->placing->form) * sizeof *w->sums);
    return w->sums ? TRA_OK : tra_fail(e, TRA_RESOURCE, "out of memory for the tables of %s", w->path);
}

static tra_status prepare_levels(tra_writer *w, const tra_levels *l, tra_err *e) {
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

static tra_status prepare_mapping(tra_writer *w, const tra_storage *s, tra_err *e) {
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

static tra_status levels_prepare(tra_writer *w, const tra_write_options *o, tra_err *e) {
    return o->levels ? prepare_levels(w, o->levels, e) : prepare_mapping(w, o->mapping, e);
}

static void levels_free(tra_writer *w) {
    struct tra_placing *p = w->placing;
    if (!p) return;
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
    return tra_pwrite(w->data_fd, &zero, sizeof zero, at, w->temp, e);
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
    return tra_raw_create(w, end, e);
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
    if (w->codec.zstd) TRA_TRY(place_raw(w, elements, e));
    tra_h5_enter();
    tra_status s = create_datasets(w, elements, e);
    int64_t end = (int64_t)w->vfd->eoa;
    tra_h5_leave();
    return s == TRA_OK ? tra_writer_reserve(w, w->fd, end, e) : s;
}

static tra_status levels_pack(tra_writer *w, tra_packer *x, tra_err *e) {
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
    if (s == TRA_OK) tra_temp_abort(&w->raw), w->data_fd = -1;
    return s;
}

/* ---- several processes ------------------------------------------------------------------------------------------ */

/* The blob: the levels (n = 0: packed), the addresses, the number of datasets, then the counts. */
static void levels_blob(const tra_writer *w, tra_str *blob) {
    const struct tra_placing *p = w->placing;
    int64_t parts = p->form.n;
    tra_str_addn(blob, (const char *)&p->form.levels, sizeof p->form.levels);
    tra_str_addn(blob, (const char *)p->addr, sizeof p->addr);
    tra_str_addn(blob, (const char *)&parts, sizeof parts);
    tra_str_addn(blob, (const char *)p->counts,
                 (size_t)(w->type.cat->n * tra_form_counts(&p->form)) * sizeof *p->counts);
}

static tra_status levels_attach(tra_writer *w, const char *blob, size_t n, tra_err *e) {
    tra_levels l;
    int64_t parts = 0;
    size_t fixed = sizeof l + sizeof w->placing->addr + sizeof parts, counts = 0;
    if (n >= fixed) {
        memcpy(&l, blob, sizeof l);
        memcpy(&parts, blob + fixed - sizeof parts, sizeof parts);
        counts = (size_t)w->type.cat->n * (size_t)(l.n ? l.n : parts) * sizeof(int64_t);
    }
    if (n < fixed || n != fixed + counts)
        return tra_fail(e, TRA_INTERNAL, "the description of an output does not fit its type");
    TRA_TRY(l.n ? prepare_levels(w, &l, e) : prepare_packed(w, (int)parts, e));
    struct tra_placing *p = w->placing;
    memcpy(p->addr, blob + sizeof l, sizeof p->addr);
    p->counts = tra_malloc(counts + 1);
    memcpy(p->counts, blob + fixed, counts);
    return sum_counts(w, e);
}

/* ---- the kind --------------------------------------------------------------------------------------------------- */

static int levels_facts(const tra_writer *w) { return tra_form_fact_words(&w->placing->form); }

static tra_status levels_finish(tra_writer *w, tra_err *e) {
    return w->placing->counts ? TRA_OK : tra_fail(e, TRA_INTERNAL, "%s:%s was never placed", w->path, w->name);
}

const tra_file_kind tra_kind_levels = {.is = tra_stored_is,
                                       .begin = tra_stored_begin,
                                       .open = tra_stored_open,
                                       .close = tra_stored_close,
                                       .read = tra_stored_read,
                                       .read_scratch = tra_stored_read_scratch,
                                       .check = tra_stored_check,
                                       .held = tra_stored_held,
                                       .stored_bytes = tra_stored_bytes,
                                       .identity = tra_stored_identity,
                                       .prepare = levels_prepare,
                                       .create = tra_stored_create_group,
                                       .free = levels_free,
                                       .blob = levels_blob,
                                       .attach = levels_attach,
                                       .put = tra_stored_put,
                                       .put_scratch = tra_stored_put_scratch,
                                       .facts = levels_facts,
                                       .pack = levels_pack,
                                       .finish = levels_finish,
                                       .describe = tra_stored_describe};
