/* mapped.c - the group of a relation that a storage which is no levels makes of components: the text of the storage,
 * the extents, and a dataset for each component. */
#include "../h5/pack.h"
#include "mapped.h"
#include "../h5/scales.h"
#include "stored_int.h"

#include <stdlib.h>
#include <string.h>

tra_element tra_element_of(tra_dtype t) {
    static const tra_element of[] = {
#define X(name, ...) [TRA_##name] = TRA_ELEMENT_##name,
        TRA_DTYPES(X)
#undef X
    };
    return of[t];
}

static hid_t type_of(tra_element t) {
#define X(name, ...)                                                                                                   \
    case TRA_ELEMENT_##name: return tra_h5_type(TRA_##name);
    switch ((int)t) { TRA_DTYPES(X) }
#undef X
    return -1;
}

/* Do all positions or coordinates fit 32 bits? They are then stored so. */
static bool fits_32(const tra_elements *x) {
    const int64_t *v = x->data;
    for (int64_t i = 0; i < x->n; i++)
        if (!tra_dtype_holds(TRA_I32, v[i])) return false;
    return true;
}

/* Writes a component. real: it has elements of the tensor; else positions or keys. */
static bool put(tra_writer *w, const char *name, const tra_elements *x, bool scalar, bool real) {
    hsize_t n = (hsize_t)x->n;
    hid_t memory = type_of(x->type), file = !real && fits_32(x) ? H5T_NATIVE_INT32 : memory;
    hid_t space = scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL), dset = -1;
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    int64_t sum = (int64_t)tra_chunk_sum(x->data, (size_t)x->n * tra_element_size(x->type));
    hsize_t chunk = (hsize_t)tra_dataset_chunk(x->n);
    bool coded = w->codec.zstd && !scalar && n > 0;
    if (H5Pset_obj_track_times(dcpl, false) >= 0 &&
        (!coded || (H5Pset_chunk(dcpl, 1, &chunk) >= 0 && tra_pack_filters(dcpl, &w->codec))))
        dset = H5Dcreate2(w->dset, name, file, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool ok = dset >= 0 && tra_h5_put_ints(dset, "tra_xxh64", 0, NULL, &sum);
    if (ok && n > 0) ok = H5Dwrite(dset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, x->data) >= 0;
    if (ok && coded) ok = H5Dflush(dset) >= 0;
    if (ok) w->stored += (int64_t)H5Dget_storage_size(dset);
    if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    H5Pclose(dcpl);
    H5Sclose(space);
    return ok && !w->vfd->lost;
}

static bool put_component(tra_writer *w, const tra_component *c, const tra_component_data *d) {
    bool keyed = c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE;
    if (!keyed) return put(w, c->name, &d->value, c->kind == TRA_COMPONENT_SCALAR, c->real);
    for (int k = 0; k < c->nsizes; k++)
        if (!put(w, tra_arena_printf(w->arena, "%s_key%d", c->name, k), &d->key[k], false, false)) return false;
    return put(w, tra_arena_printf(w->arena, "%s_value", c->name), &d->value, false, c->real);
}

static tra_status components_prepare(tra_writer *w, const tra_write_options *o, tra_err *e) {
    (void)o;
    w->sums = calloc(1, sizeof *w->sums);
    return w->sums ? TRA_OK : tra_fail(e, TRA_RESOURCE, "out of memory for the components of %s", w->path);
}

static int components_facts(const tra_writer *w) {
    (void)w;
    return 1;
}

static tra_status components_create(tra_writer *w, tra_err *e) {
    const tra_mapped *m = w->mapped;
    const tra_dims *shape = &w->type.cat->bound;
    hsize_t rank = (hsize_t)shape->n;
    tra_str text = {0};
    tra_storage_print(m->storage, &text);
    if (text.n > TRA_MAPPING_TEXT) {
        tra_str_free(&text);
        return tra_fail(e, TRA_INPUT, "the text of storage %s is longer than %d bytes", m->storage->decl->name,
                        TRA_MAPPING_TEXT);
    }
    tra_status s = tra_stored_create_group(w, e);
    bool ok = s == TRA_OK && tra_h5_put_text(w->dset, "tra_storage", tra_str_get(&text)) &&
              tra_h5_put_ints(w->dset, "tra_shape", 1, &rank, shape->v);
    for (int i = 0; ok && i < m->storage->ncomponents; i++)
        ok = put_component(w, &m->storage->components[i], &m->component[i]);
    int64_t header[TRA_GROUP_HEADER], format = 1;
    ok = ok && tra_h5_put_ints(w->dset, "tra_format", 0, NULL, &format) && tra_scales_put(w) &&
         tra_h5_put_seal(w->dset, header, tra_stored_header(w->dset, header));
    tra_str_free(&text);
    if (s == TRA_OK && !ok)
        return tra_h5_fail(e, TRA_RESOURCE, w->vfd, "cannot write the components of %s:%s", w->path, w->name);
    if (s == TRA_OK) w->sums[0] = 1; /* written; its checksums are attributes of the components */
    return s;
}

const tra_file_kind tra_kind_components = {.is = tra_stored_is,
                                           .prepare = components_prepare,
                                           .create = components_create,
                                           .facts = components_facts,
                                           .describe = tra_writer_put_notes};
