/* scales_read.c - labels of dimensions from files: HDF5 dimension scales that tra wrote, or another program. */
#include "../model/labels.h"
#include "scales.h"
#include "decode.h"
#include "texts.h"

#include <string.h>

enum { SUFFIX = 64 }; /* bytes that are added to a name which something else has */

/* Has the dataset one dimension of n elements, which the file really can hold? */
static bool has_extent(hid_t scale, int64_t n) {
    hid_t space = H5Dget_space(scale), dcpl = H5Dget_create_plist(scale);
    hsize_t extent;
    bool ok = H5Sget_simple_extent_ndims(space) == 1 && H5Sget_simple_extent_dims(space, &extent, NULL) >= 0 &&
              (int64_t)extent == n && n <= TRA_SCALE_LABELS &&
              (H5Pget_nfilters(dcpl) > 0 || (int64_t)H5Dget_storage_size(scale) >= n);
    H5Pclose(dcpl);
    H5Sclose(space);
    return ok;
}

/* The type of labels that tra wrote, as they are in the file; of other programs the numbers themselves. */
static tra_coltype type_of(hid_t scale, tra_arena *a) {
    const char *text = tra_h5_get_text(scale, "tra_type", a);
    tra_coltype t;
    return text && tra_coltype_parse(text, &t) && t != TRA_COL_TEXT && t != TRA_COL_I32 ? t : TRA_COL_I64;
}

/* Do all values fit the element type that holds them in memory? */
static bool all_fit(tra_coltype t, int64_t n, const int64_t *v) {
    for (int64_t i = 0; i < n && !tra_coltype_is_float(t); i++)
        if (!tra_dtype_holds(tra_coltype_held(t), v[i])) return false;
    return true;
}

static const tra_dim_labels *whole_labels(tra_rel *r, hid_t scale, const char *name, int64_t n) {
    int64_t *v = tra_news(r->arena, int64_t, n + 1);
    tra_coltype t = type_of(scale, r->arena);
    bool ok = H5Dread(scale, tra_coltype_is_float(t) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                      H5P_DEFAULT, v) >= 0;
    return ok && all_fit(t, n, v) ? tra_dim_labels_of_whole(r->arena, name, t, n, v) : NULL;
}

/* The numbers of another program's coordinate, decoded as its attributes say (decode.h), as floats. False: they cannot
 * be read. */
static bool read_decoded(hid_t scale, const tra_decode *d, int64_t n, double *v) {
    char text[TRA_DIMTEXT];
    if (!d) return H5Dread(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
    if (H5Dread(scale, d->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0 || tra_decode_run(d, n, v, text) >= 0)
        return false;
    if (d->to == TRA_F64) return true;
    for (int64_t i = n - 1; i >= 0; i--) v[i] = tra_element_real(d->to, v, i);
    return true;
}

/* Labels that are moments become timestamps where each of them is one; else they stay numbers. */
static const tra_dim_labels *moments(tra_rel *r, hid_t scale, const tra_dim_labels *l) {
    const char *units = l->units, *calendar = tra_h5_get_text(scale, "calendar", r->arena);
    tra_cf_time t;
    tra_err why = {0};
    tra_status s = units ? tra_cf_time_parse(units, calendar, &t, &why) : TRA_NO;
    if (s == TRA_NO) return l;
    int64_t *v = tra_news(r->arena, int64_t, l->n + 1), i = 0;
    for (; s == TRA_OK && i < l->n; i++) {
        bool real = tra_coltype_is_float(l->type);
        if (real ? !tra_cf_time_of_real(&t, tra_dim_labels_real(l, i), &v[i])
                 : !tra_cf_time_of_whole(&t, l->whole[i], &v[i]))
            s = tra_fail(&why, TRA_INPUT, "position %" PRId64 " is no moment from the year %s to 9999", i,
                         t.mixed ? "1582" : "1");
    }
    if (s != TRA_OK) {
        tra_warn("%s:%s: the labels of its dimension %s stay the numbers that they are, in %s: %s", r->path, r->name,
                 l->name, units, why.msg);
        return l;
    }
    return tra_dim_labels_of_whole(r->arena, l->name, TRA_COL_TIMESTAMP, l->n, v);
}

static bool by_attributes(tra_rel *r, hid_t scale, const char *name, const tra_decode **d) {
    tra_err e = {0};
    const char *where = tra_arena_printf(r->arena, "%s:%s", r->path, name);
    *d = NULL;
    if (r->raw || tra_decode_find(scale, where, r->arena, d, &e) == TRA_OK) return true;
    tra_warn("%s:%s: its dimension %s stays without labels: %s", r->path, r->name, name, e.msg);
    return false;
}

/* Labels of another program: whole numbers, or floats where they are stored as such or become so. */
static const tra_dim_labels *foreign_numbers(tra_rel *r, hid_t scale, const char *name, int64_t n, bool whole,
                                             bool narrow) {
    const tra_decode *d;
    if (!by_attributes(r, scale, name, &d)) return NULL;
    int64_t *v = tra_news(r->arena, int64_t, n + 1);
    tra_coltype t = TRA_COL_I64;
    if (whole && !d) {
        if (H5Dread(scale, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0) return NULL;
    } else {
        t = (d ? d->to == TRA_F32 : narrow) ? TRA_COL_F32 : TRA_COL_F64;
        double *real = tra_news(r->arena, double, n + 1);
        if (!read_decoded(scale, d, n, real)) return NULL;
        memcpy(v, real, (size_t)n * sizeof *v);
    }
    tra_dim_labels *l = tra_new(r->arena, tra_dim_labels);
    *l = *tra_dim_labels_of_whole(r->arena, name, t, n, v);
    l->units = tra_h5_get_text(scale, "units", r->arena);
    return r->raw ? l : moments(r, scale, l);
}

/* The labels that a scale of n positions holds; NULL: it has none that can be read, or is damaged. of_file: as in
 * tra_dim_labels. */
static const tra_dim_labels *labels_of(tra_rel *r, hid_t scale, const char *name, int64_t n, bool of_file) {
    tra_arena *a = r->arena;
    const char *said = tra_h5_get_text(scale, "NAME", a);
    if (!has_extent(scale, n) ||
        (said && strncmp(said, tra_scale_without_labels, strlen(tra_scale_without_labels)) == 0))
        return NULL;
    const tra_dim_labels *l = NULL;
    hid_t type = H5Dget_type(scale);
    tra_dtype dtype;
    bool u64 = false, readable = tra_h5_dtype(type, &dtype, &u64), own = H5Aexists(scale, "tra_type") > 0;
    H5T_class_t class = H5Tget_class(type);
    H5Tclose(type);
    if (class == H5T_STRING) {
        const tra_dictionary *d = tra_h5_strings(r, scale);
        if (d && tra_h5_sorts(r, d)) l = tra_dim_labels_of_strings(a, name, d);
    } else if (!tra_h5_fits(r, 16 * n)) {
        return NULL;
    } else if (own && readable) {
        l = whole_labels(r, scale, name, n);
    } else if (readable && (class == H5T_FLOAT || (class == H5T_INTEGER && !u64))) {
        l = foreign_numbers(r, scale, name, n, class == H5T_INTEGER, dtype == TRA_F32);
    }
    if (!l) return NULL;
    r->labels_bytes += l->type == TRA_COL_STRING ? l->dict->begin[l->dict->n] + 12 * n : 8 * n;
    tra_dim_labels *named = tra_new(a, tra_dim_labels);
    *named = *l;
    named->of_file = of_file;
    if (!named->units && l->type != TRA_COL_TIMESTAMP && l->type != TRA_COL_DATE)
        named->units = tra_h5_get_text(scale, "units", a);
    return named;
}

/* The last part of an object's path, which names the dimension in files of other programs. */
static const char *last_part(hid_t obj, char buf[TRA_SCALE_NAME]) {
    buf[0] = 0;
    if (H5Iget_name(obj, buf, TRA_SCALE_NAME) <= 0) return "";
    const char *slash = strrchr(buf, '/');
    return slash ? slash + 1 : buf;
}

/* Sets *n, the positions of dimension d, to those that a scale has; of a dimension that can grow, the scale may have
 * more. False: it has others. */
static bool positions_of(tra_rel *r, hid_t scale, int d, int64_t *n) {
    hid_t space = H5Dget_space(scale), own = H5Dget_space(r->dset);
    hsize_t extent = 0, most[H5S_MAX_RANK];
    const char *said = tra_h5_get_text(scale, "NAME", r->arena);
    bool names_only = said && strncmp(said, tra_scale_without_labels, strlen(tra_scale_without_labels)) == 0;
    bool ok = names_only || H5Sget_simple_extent_ndims(space) != 1;
    if (!ok && H5Sget_simple_extent_dims(space, &extent, NULL) >= 0 &&
        H5Sget_simple_extent_dims(own, NULL, most) >= 0) {
        ok = (int64_t)extent == *n || (most[d] == H5S_UNLIMITED && (int64_t)extent > *n);
        *n = (int64_t)extent;
    }
    H5Sclose(own);
    H5Sclose(space);
    return ok;
}

/* Labels from another program's scales: those that can be read. TRA_INPUT: one has more or fewer positions. */
static tra_status read_foreign(tra_rel *r, const tra_dims *shape, const tra_dim_labels **labels, tra_err *e) {
    for (int d = 0; d < shape->n; d++) {
        char buf[TRA_SCALE_NAME];
        hid_t scale = tra_scale_attached(r->dset, d, shape->n);
        if (scale < 0 && shape->n == 1 && tra_h5_is_scale(r->dset)) /* a coordinate labels itself */
            scale = H5Oopen(r->dset, ".", H5P_DEFAULT);
        if (scale < 0) continue;
        const char *name = tra_arena_printf(r->arena, "%s", last_part(scale, buf));
        int64_t n = shape->v[d];
        bool ok = positions_of(r, scale, d, &n);
        if (ok) labels[d] = labels_of(r, scale, name, n, true);
        if (labels[d] && n > shape->v[d]) labels[d] = tra_dim_labels_part(r->arena, labels[d], 0, shape->v[d]);
        H5Oclose(scale);
        if (!ok)
            return TRA_REL_BAD(r, e,
                               "its dimension %d has %" PRId64 " positions, but its scale %s has %" PRId64
                               ": one of them is damaged",
                               d, shape->v[d], name, n);
    }
    return TRA_OK;
}

static tra_status read_own_one(tra_rel *r, int d, const char *name, const tra_dims *shape, const tra_dim_labels **out,
                               tra_err *e) {
    const char *path = tra_scale_path(r->arena, r->name, name), *plain = tra_scale_plain_path(r->arena, r->name, name),
               *owner = NULL;
    bool of_file = false;
    int64_t sum;
    hid_t scale = -1;
    if (!tra_h5_exists(r->file, path) && tra_h5_exists(r->file, plain))
        owner = tra_scale_owner(r->file, plain, r->arena);
    of_file = tra_scale_is_of(owner, r->name);
    if (of_file) path = plain;
    if (tra_h5_exists(r->file, path)) scale = H5Oopen(r->file, path, H5P_DEFAULT);
    if (scale < 0) scale = tra_scale_attached(r->dset, d, shape->n); /* another program may have renamed it */
    if (scale < 0) return TRA_REL_BAD(r, e, "the labels of its dimension %d (%s) are missing or damaged", d, path);
    tra_status s = TRA_OK;
    if (tra_h5_is_scale(scale)) *out = labels_of(r, scale, name, shape->v[d], of_file);
    const char *order = *out ? tra_h5_get_text(scale, "tra_order", r->arena) : NULL;
    if (order && strcmp(order, "keys") == 0) *out = tra_dim_labels_named(r->arena, *out, name, true);
    if (!*out)
        s = TRA_REL_BAD(r, e, "the labels of its dimension %d (%s) are damaged", d, path);
    else if (tra_h5_get_ints(scale, "tra_xxh64", &sum, 1) != 1 || (uint64_t)sum != tra_scale_sum(*out))
        s = TRA_REL_BAD(
            r, e,
            "the labels of its dimension %d (%s) are not those that were recorded: they are damaged, or another "
            "program changed them (without the attribute tra_labels of the relation its own are read)",
            d, path);
    H5Oclose(scale);
    return s;
}

/* Labels that tra wrote; names has a line for each dimension. */
static tra_status read_own(tra_rel *r, const char *names, const tra_dims *shape, const tra_dim_labels **labels,
                           tra_err *e) {
    for (int d = 0; d < shape->n; d++) {
        size_t n = strcspn(names, "\n");
        if ((names[n] != 0) != (d + 1 < shape->n) || n > TRA_SCALE_NAME + SUFFIX)
            return TRA_REL_BAD(r, e, "%s", "its attribute tra_labels is malformed");
        if (n > 0) TRA_TRY(read_own_one(r, d, tra_arena_strndup(r->arena, names, n), shape, &labels[d], e));
        names += n + (names[n] != 0);
    }
    return TRA_OK;
}

tra_status tra_rel_labels(tra_rel *r, const tra_dim_labels *const **out, tra_err *e) {
    tra_status s = TRA_OK;
    const char *why;
    *out = r->labels;
    if (r->labels || r->type.columns || r->how == TRA_BY_VALUES || !tra_type_is_tensor(&r->type, &why)) return TRA_OK;
    const tra_dim_labels **labels = tra_news(r->arena, const tra_dim_labels *, TRA_MAXDIM);
    tra_dims shape;
    tra_type_shape(&r->type, &shape);
    tra_h5_enter();
    const char *names = tra_h5_get_text(r->dset, "tra_labels", r->arena);
    if (names)
        s = read_own(r, names, &shape, labels, e);
    else if (!r->kind->is && !r->turned && shape.n > 0)
        s = read_foreign(r, &shape, labels, e);
    bool any = false;
    for (int d = 0; d < shape.n; d++) any = any || labels[d];
    if (!names && !any && s == TRA_OK) tra_labels_of_others(r, &shape, labels);
    tra_h5_leave();
    for (int d = 0; d < shape.n; d++) any = any || labels[d];
    if (r->lack) return *e = *r->lack, r->lack->status;
    if (s == TRA_OK && any) *out = r->labels = labels;
    return s;
}
