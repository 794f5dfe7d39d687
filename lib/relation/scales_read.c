/* scales_read.c - labels of dimensions from files: HDF5 dimension scales that tra wrote, or another program. */
#include "labels.h"
#include "scales.h"
#include "table_int.h"

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

static tra_coltype type_of(hid_t scale, tra_arena *a) {
    const char *text = tra_h5_get_text(scale, "tra_type", a), *units = tra_h5_get_text(scale, "units", a);
    tra_coltype t;
    if (text && tra_coltype_parse(text, &t) && (t == TRA_COL_BOOL || t == TRA_COL_DATE || t == TRA_COL_TIMESTAMP))
        return t;
    if (text || !units) return TRA_COL_I64;
    if (strcmp(units, "days since 1970-01-01") == 0) return TRA_COL_DATE;
    return strcmp(units, "microseconds since 1970-01-01 00:00:00") == 0 ? TRA_COL_TIMESTAMP : TRA_COL_I64;
}

/* Do all values fit the element type that holds them in memory? */
static bool all_fit(tra_coltype t, int64_t n, const int64_t *v) {
    for (int64_t i = 0; i < n; i++)
        if (!tra_dtype_holds(tra_coltype_held(t), v[i])) return false;
    return true;
}

/* The labels that a scale of n positions holds; NULL: it has none that can be read, or is damaged. */
static const tra_dim_labels *labels_of(tra_rel *r, hid_t scale, const char *name, int64_t n) {
    tra_arena *a = r->arena;
    const char *said = tra_h5_get_text(scale, "NAME", a);
    if (!has_extent(scale, n) ||
        (said && strncmp(said, tra_scale_without_labels, strlen(tra_scale_without_labels)) == 0))
        return NULL;
    const tra_dim_labels *l = NULL;
    hid_t type = H5Dget_type(scale);
    tra_dtype dtype;
    bool u64 = false, text = H5Tget_class(type) == H5T_STRING,
         whole = H5Tget_class(type) == H5T_INTEGER && tra_h5_dtype(type, &dtype, &u64) && !u64;
    H5Tclose(type);
    if (text) {
        const tra_dictionary *d = tra_table_strings(r, scale);
        if (d) l = tra_dim_labels_of_strings(a, name, d);
    } else if (whole) {
        int64_t *v = tra_news(a, int64_t, n + 1);
        tra_coltype t = type_of(scale, a);
        if (H5Dread(scale, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && all_fit(t, n, v))
            l = tra_dim_labels_of_whole(a, name, t, n, v);
    }
    if (l) r->labels_bytes += l->type == TRA_COL_STRING ? l->dict->begin[l->dict->n] + 12 * n : 8 * n;
    return l;
}

/* The last part of an object's path, which names the dimension in files of other programs. */
static const char *last_part(hid_t obj, char buf[TRA_SCALE_NAME]) {
    buf[0] = 0;
    if (H5Iget_name(obj, buf, TRA_SCALE_NAME) <= 0) return "";
    const char *slash = strrchr(buf, '/');
    return slash ? slash + 1 : buf;
}

/* Labels from another program's scales: those that can be read. */
static void read_foreign(tra_rel *r, const tra_dims *shape, const tra_dim_labels **labels) {
    for (int d = 0; d < shape->n; d++) {
        char buf[TRA_SCALE_NAME];
        hid_t scale = tra_scale_attached(r->dset, d, shape->n);
        if (scale < 0) continue;
        labels[d] = labels_of(r, scale, tra_arena_printf(r->arena, "%s", last_part(scale, buf)), shape->v[d]);
        H5Oclose(scale);
    }
}

static tra_status read_own_one(tra_rel *r, int d, const char *name, const tra_dims *shape, const tra_dim_labels **out,
                               tra_err *e) {
    const char *path = tra_scale_path(r->arena, r->name, name);
    int64_t sum;
    hid_t scale = -1;
    if (tra_h5_exists(r->file, path)) scale = H5Oopen(r->file, path, H5P_DEFAULT);
    if (scale < 0) scale = tra_scale_attached(r->dset, d, shape->n); /* another program may have renamed it */
    if (scale < 0) return TRA_REL_BAD(r, e, "the labels of its dimension %d (%s) are missing or damaged", d, path);
    tra_status s = TRA_OK;
    if (tra_h5_is_scale(scale)) *out = labels_of(r, scale, name, shape->v[d]);
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
    if (r->labels || r->table || r->how == TRA_BY_POSITION || !tra_type_is_tensor(&r->type, &why)) return TRA_OK;
    const tra_dim_labels **labels = tra_news(r->arena, const tra_dim_labels *, TRA_MAXDIM);
    tra_dims shape;
    tra_type_shape(&r->type, &shape);
    tra_h5_enter();
    const char *names = tra_h5_get_text(r->dset, "tra_labels", r->arena);
    if (names)
        s = read_own(r, names, &shape, labels, e);
    else if (!r->stored && shape.n > 0)
        read_foreign(r, &shape, labels);
    tra_h5_leave();
    bool any = false;
    for (int d = 0; d < shape.n; d++) any = any || labels[d];
    if (s == TRA_OK && any) *out = r->labels = labels;
    return s;
}
