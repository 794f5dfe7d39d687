/* described.c - what the attributes of a relation in a file say of it: who wrote it, its layout, its geometry. */
#include "described.h"

#include <string.h>

tra_status tra_described_changed(const tra_rel *r, tra_err *e) {
    return TRA_REL_BAD(r, e, "%s",
                       "its attributes, type or extents are not those that it was written with: it is damaged");
}

/* Did tra write the dataset? Without tra_format and tra_seal another program did, unless something else of tra is
 * there: then these two were lost, and it must not be read as a plain dataset, without its holes and keys. */
tra_status tra_described_owner(tra_rel *r, tra_err *e) {
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

tra_status tra_described_attributes(tra_rel *r, const tra_described *h, int (*sealed)(hid_t, int64_t *), bool *tuple,
                                    int *rank, tra_err *e) {
    int64_t v = 1, header[TRA_GROUP_HEADER];
    TRA_TRY(tra_described_owner(r, e));
    if (!r->ours) return TRA_OK;
    const char *layout = tra_h5_get_text(r->dset, "tra_layout", r->arena);
    if (tra_h5_get_ints(r->dset, "tra_format", &v, 1) != 1 || v < 1)
        return TRA_REL_BAD(r, e, "%s", "its attribute tra_format is malformed");
    if (v > 1) return TRA_REL_BAD(r, e, "its format is %" PRId64 "; this tra reads format 1", v);
    *tuple = layout && strcmp(layout, "tuple") == 0;
    if (layout && !*tuple && strcmp(layout, "tensor") != 0)
        return TRA_REL_BAD(r, e, "its layout is \"%.60s\", which this tra does not know", layout);
    if (!tra_h5_sealed(r->dset, header, sealed(r->dset, header))) return tra_described_changed(r, e);
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
tra_status tra_described_geometry(tra_rel *r, const tra_described *h, bool tuple, tra_err *e) {
    r->type.cat = &r->cat;
    TRA_TRY(tra_geom_in(&r->type, tuple, &r->geom, e));
    if (!r->kind->is) TRA_TRY(tra_geom_fits(&r->type, &r->geom, e));
    if (h->shape.n == 0) return TRA_OK;
    r->geom.dims = h->shape;
    if (h->layout == H5D_CHUNKED) r->geom.chunk = h->chunk;
    for (int i = 0; i < h->shape.n; i++)
        r->geom.grid.v[i] = tra_ceil_div(r->geom.dims.v[i], tra_max64(1, r->geom.chunk.v[i]));
    bool counted = tra_dims_product(&r->geom.chunk, &r->geom.chunk_elements) || r->kind->is;
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

void tra_described_info(tra_rel *r, const tra_described *h, bool tuple) {
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
