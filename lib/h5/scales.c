/* scales.c - writing labels of dimensions: HDF5 dimension scales (H5DS), which other programs show; and copying those
 * of others.
 *
 * The library writes what refers to each other: DIMENSION_LIST of a dataset and REFERENCE_LIST of a scale. Names of
 * dimensions are written here, since its own are no UTF-8; and the list is read here, since the library trusts what a
 * file says of its length. References are not valid in a copy of the file, so tra finds its own scales by name, and
 * attaches other programs' scales anew when it copies them.
 */
#include "scales.h"

#include "../model/labels.h"

#include <hdf5_hl.h>
#include <string.h>
#include <xxhash.h>

const char tra_scale_without_labels[] = "This is a netCDF dimension but not a netCDF variable.";
static const char of_relation[] = "tra_labels_of";

const char *tra_scale_path(tra_arena *a, const char *relation, const char *dimension) {
    return tra_arena_printf(a, "%s.%s", relation, dimension);
}

const char *tra_scale_plain_path(tra_arena *a, const char *relation, const char *dimension) {
    const char *slash = strrchr(relation, '/');
    return tra_arena_printf(a, "%.*s%s", slash ? (int)(slash + 1 - relation) : 0, relation, dimension);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Makes a name without slashes and control characters, short enough for a link, that is none of the d names before
 * it. */
static const char *dimension_name(tra_arena *a, const char *name, const char *const *before, int d) {
    char *s = tra_arena_printf(a, "%.*s", TRA_SCALE_NAME, name ? name : "");
    size_t n = strlen(s);
    while (name && n > 0 && name[n] && ((unsigned char)name[n] & 0xc0) == 0x80)
        s[n--] = 0; /* do not end within a character */
    if (name && name[n]) s[n] = 0;
    for (char *p = s; *p; p++)
        if (*p == '/' || (unsigned char)*p < 32 || *p == 127) *p = '_';
    if (!*s) s = tra_arena_printf(a, "i%d", d);
    const char *out = s;
    for (int i = 0, k = 1; i < d; i++) {
        if (!before[i] || strcmp(before[i], out) != 0) continue;
        out = tra_arena_printf(a, "%s_%d", s, k++);
        i = -1;
    }
    return out;
}

tra_status tra_scales_plan(tra_writer *w, const tra_dim_labels *const *labels, tra_err *e) {
    const tra_type *t = &w->type;
    const char *why;
    bool any = false;
    tra_dims shape;
    if (!labels || t->columns || !tra_type_is_tensor(t, &why)) return TRA_OK;
    tra_type_shape(t, &shape);
    const tra_dim_labels **own = tra_news(w->arena, const tra_dim_labels *, TRA_MAXDIM);
    const char **names = tra_news(w->arena, const char *, TRA_MAXDIM), *last = strrchr(w->name, '/');
    last = last ? last + 1 : w->name;
    for (int d = 0; d < shape.n; d++) {
        own[d] = labels[d] && labels[d]->n == shape.v[d] && shape.v[d] > 0 && shape.v[d] <= TRA_SCALE_LABELS ? labels[d]
                                                                                                             : NULL;
        any = any || own[d];
        for (int64_t i = 0; own[d] && own[d]->type == TRA_COL_STRING && i < own[d]->n; i++) {
            int64_t n;
            const char *s = tra_dim_labels_bytes(own[d], i, &n);
            if (memchr(s, 0, (size_t)n))
                return tra_fail(e, TRA_INPUT,
                                "cannot store %s:%s: the label of position %" PRId64 " of dimension %d has a byte 0, "
                                "with which texts of HDF5 end",
                                w->path, w->name, i, d);
        }
    }
    if (!any) return TRA_OK;
    bool dataset = !w->kind->is;
    for (int d = 0; d < shape.n; d++) /* programs for netCDF want a name for each dimension */
        if (own[d] || (dataset && shape.v[d] > 0))
            names[d] = dimension_name(w->arena, own[d] ? own[d]->name : NULL, names, d);
    w->labels = own;
    w->dimension = names;
    w->scale = tra_news(w->arena, const char *, TRA_MAXDIM);
    for (int d = 0; d < shape.n; d++)
        if (names[d])
            w->scale[d] = own[d] && own[d]->of_file && strcmp(names[d], last) != 0
                              ? tra_scale_plain_path(w->arena, w->name, names[d])
                              : tra_scale_path(w->arena, w->name, names[d]);
    return TRA_OK;
}

bool tra_scale_is_of(const char *owners, const char *relation) {
    size_t n = strlen(relation);
    for (const char *p = owners; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, relation, n) == 0 && (p[n] == 0 || p[n] == '\n')) return true;
    }
    return false;
}

/* Has the scale just these labels? */
static bool has_labels(hid_t file, const char *path, const tra_dim_labels *l) {
    int64_t sum = 0;
    hid_t scale = H5Oopen(file, path, H5P_DEFAULT);
    bool same = scale >= 0 && tra_h5_is_scale(scale) && tra_h5_get_ints(scale, "tra_xxh64", &sum, 1) == 1 &&
                (uint64_t)sum == tra_scale_sum(l);
    if (scale >= 0) H5Oclose(scale);
    return same;
}

/* Has something else than such labels, or labels of the writer's relation alone, this path? */
static bool has_other(const tra_writer *w, hid_t file, const char *path, const tra_dim_labels *l) {
    const char *owner = tra_h5_exists(file, path) ? tra_scale_owner(file, path, w->arena) : w->name;
    return !owner || (strcmp(owner, w->name) != 0 && !has_labels(file, path, l));
}

tra_status tra_scales_check(const tra_writer *w, hid_t old, tra_err *e) {
    for (int d = 0; w->dimension && d < w->type.cat->bound.n; d++) {
        const char *path = w->scale[d], *owner;
        bool plain = path && strcmp(path, tra_scale_path(w->arena, w->name, w->dimension[d])) != 0;
        if (plain && has_other(w, old, path, w->labels[d])) /* the scale of its own that another relation has */
            path = w->scale[d] = tra_scale_path(w->arena, w->name, w->dimension[d]);
        else if (plain)
            continue;
        if (!path || !tra_h5_exists(old, path)) continue;
        owner = tra_scale_owner(old, path, w->arena);
        if (!owner || strcmp(owner, w->name) != 0)
            return tra_fail(e, TRA_INPUT, "cannot write %s:%s with its labels: something else has their name, %s",
                            w->path, w->name, path);
    }
    return TRA_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static hid_t text_type(void) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

uint64_t tra_scale_sum(const tra_dim_labels *l) {
    uint64_t h = XXH64(tra_coltype_name(l->type), strlen(tra_coltype_name(l->type)), (uint64_t)l->n + l->keys);
    for (int64_t i = 0; i < l->n; i++) {
        int64_t n = sizeof *l->whole;
        const void *p = l->type == TRA_COL_STRING ? (const void *)tra_dim_labels_bytes(l, i, &n) : &l->whole[i];
        h = XXH64(p, (size_t)n, h + (uint64_t)n);
    }
    return h;
}

static bool put_values(hid_t dset, hid_t type, const tra_dim_labels *l, tra_arena *a) {
    if (l->type != TRA_COL_STRING)
        return H5Dwrite(dset, tra_coltype_is_float(l->type) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                        H5P_DEFAULT, l->whole) >= 0;
    const char **text = tra_news(a, const char *, l->n + 1);
    for (int64_t i = 0; i < l->n; i++) text[i] = tra_dim_labels_text(a, l, i);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER); /* whose buffer HDF5 clears: by default 1 MiB */
    bool ok = H5Pset_buffer(transfer, 1 << 16, NULL, NULL) >= 0 &&
              H5Dwrite(dset, type, H5S_ALL, H5S_ALL, transfer, text) >= 0;
    H5Pclose(transfer);
    return ok;
}

/* Units of dates and times follow the CF conventions for climate data. */
static bool put_type(hid_t dset, const tra_dim_labels *l) {
    int64_t sum = (int64_t)tra_scale_sum(l);
    const char *units = l->type == TRA_COL_DATE        ? "days since 1970-01-01"
                        : l->type == TRA_COL_TIMESTAMP ? "microseconds since 1970-01-01 00:00:00"
                                                       : NULL;
    if (units && !tra_h5_put_text(dset, "calendar", "proleptic_gregorian")) return false;
    if (!units) units = l->units;
    return (!l->keys || tra_h5_put_text(dset, "tra_order", "keys")) &&
           tra_h5_put_text(dset, "tra_type", tra_coltype_name(l->type)) &&
           (!units || tra_h5_put_text(dset, "units", units)) && tra_h5_put_ints(dset, "tra_xxh64", 0, NULL, &sum);
}

/* HDF5's type in the file. Booleans are integers there, as h5py writes coordinates. */
static hid_t file_type(const tra_dim_labels *l, hid_t text) {
    if (!l) return H5T_IEEE_F32BE; /* as netCDF has it for dimensions that are no variables */
    if (l->type == TRA_COL_STRING) return text;
    return l->type == TRA_COL_BOOL ? H5T_STD_I8LE : tra_h5_type(tra_coltype_held(l->type));
}

/* Writes the scale of dimension d; without labels it has nothing but its extent. */
static hid_t put_scale(tra_writer *w, int d, int64_t n, tra_arena *a) {
    const tra_dim_labels *l = w->labels[d];
    const char *path = w->scale[d];
    hsize_t extent = (hsize_t)n;
    hid_t space = H5Screate_simple(1, &extent, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), text = text_type(),
          dset = -1;
    if (H5Pset_obj_track_times(dcpl, false) >= 0)
        dset = H5Dcreate2(w->file, path, file_type(l, text), space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    bool ok = dset >= 0 && (!l || (put_values(dset, text, l, a) && put_type(dset, l)));
    const char *name = l ? w->dimension[d] : tra_arena_printf(a, "%s%10" PRId64, tra_scale_without_labels, n);
    ok = ok && H5DSset_scale(dset, name) >= 0 && tra_h5_put_text(dset, of_relation, w->name);
    H5Tclose(text);
    H5Pclose(dcpl);
    H5Sclose(space);
    if (ok || dset < 0) return dset;
    H5Dclose(dset);
    return -1;
}

static bool put_dimension_names(hid_t dset, int n, const char *const *name) {
    const char *text[TRA_MAXDIM + 1];
    hsize_t dims = (hsize_t)n;
    for (int d = 0; d < n; d++) text[d] = name[d] ? name[d] : "";
    hid_t type = text_type(), space = H5Screate_simple(1, &dims, NULL);
    hid_t attr = H5Acreate2(dset, "DIMENSION_LABELS", type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attr >= 0 && H5Awrite(attr, type, text) >= 0;
    if (attr >= 0 && H5Aclose(attr) < 0) ok = false;
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

/* Writes tra_labels: a line for each dimension, with its name if it has labels. */
static bool put_names(tra_writer *w, int n) {
    tra_str s = {0};
    for (int d = 0; d < n; d++) tra_str_printf(&s, "%s%s", d ? "\n" : "", w->labels[d] ? w->dimension[d] : "");
    bool ok = tra_h5_put_text(w->dset, "tra_labels", tra_str_get(&s));
    tra_str_free(&s);
    return ok;
}

bool tra_scale_own(hid_t scale, const char *owners) {
    return H5Adelete(scale, of_relation) >= 0 && tra_h5_put_text(scale, of_relation, owners);
}

bool tra_scales_put(tra_writer *w) {
    if (!w->labels) return true;
    tra_arena *a = tra_arena_new();
    bool ok = true, dataset = !w->kind->is;
    tra_dims shape;
    tra_type_shape(&w->type, &shape);
    for (int d = 0; d < shape.n && ok; d++) {
        if (!w->dimension[d]) continue;
        const char *shares = NULL;                               /* the relations that have the same labels there */
        while (tra_h5_exists(w->file, w->scale[d]) && !shares) { /* something else has that name */
            if (w->labels[d] && has_labels(w->file, w->scale[d], w->labels[d]))
                shares = tra_scale_owner(w->file, w->scale[d], a);
            if (shares) break;
            const char *own = tra_scale_path(w->arena, w->name, w->dimension[d]);
            if (strcmp(own, w->scale[d]) == 0) {
                w->dimension[d] = tra_arena_printf(w->arena, "%s_", w->dimension[d]);
                own = tra_scale_path(w->arena, w->name, w->dimension[d]);
            }
            w->scale[d] = own;
        }
        hid_t scale = shares ? H5Dopen2(w->file, w->scale[d], H5P_DEFAULT) : put_scale(w, d, shape.v[d], a);
        if (scale >= 0 && shares) ok = tra_scale_own(scale, tra_arena_printf(a, "%s\n%s", shares, w->name));
        ok = ok && scale >= 0 && (!dataset || H5DSattach_scale(w->dset, scale, (unsigned)d) >= 0);
        if (scale >= 0 && H5Dclose(scale) < 0) ok = false;
    }
    ok = ok && put_names(w, shape.n) && (!dataset || put_dimension_names(w->dset, shape.n, w->dimension));
    tra_arena_free(a);
    /* HDF5 treats texts of any length as raw data, and these must not be written while addresses are captured */
    return ok && H5Fflush(w->file, H5F_SCOPE_LOCAL) >= 0;
}

/* ---- which objects are scales ----------------------------------------------------------------------------------- */

bool tra_h5_is_scale(hid_t obj) {
    tra_arena *a = tra_arena_new();
    const char *class = H5Iget_type(obj) == H5I_DATASET ? tra_h5_get_text(obj, "CLASS", a) : NULL;
    bool is = class && strcmp(class, "DIMENSION_SCALE") == 0;
    tra_arena_free(a);
    return is;
}

const char *tra_scale_owner(hid_t loc, const char *path, tra_arena *a) {
    hid_t obj = H5Oopen(loc, path, H5P_DEFAULT);
    const char *owner = obj >= 0 && tra_h5_is_scale(obj) ? tra_h5_get_text(obj, of_relation, a) : NULL;
    if (obj >= 0) H5Oclose(obj);
    return owner;
}

/* The first scale that is attached to dimension d, open; -1: none. */
hid_t tra_scale_attached(hid_t dset, int d, int rank) {
    if (H5Iget_type(dset) != H5I_DATASET || H5Aexists(dset, "DIMENSION_LIST") <= 0) return -1;
    hid_t attr = H5Aopen(dset, "DIMENSION_LIST", H5P_DEFAULT), space = H5Aget_space(attr), type = H5Aget_type(attr);
    hid_t memory = H5Tvlen_create(H5T_STD_REF_OBJ), scale = -1;
    hvl_t list[H5S_MAX_RANK];
    hid_t base = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    bool ok = attr >= 0 && base >= 0 && H5Tequal(base, H5T_STD_REF_OBJ) > 0 &&
              H5Sget_simple_extent_npoints(space) == rank && rank <= H5S_MAX_RANK && H5Aread(attr, memory, list) >= 0;
    if (ok && list[d].len > 0) scale = H5Rdereference2(dset, H5P_DEFAULT, H5R_OBJECT, list[d].p);
    if (ok) H5Dvlen_reclaim(memory, space, H5P_DEFAULT, list);
    if (base >= 0) H5Tclose(base);
    H5Tclose(memory);
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    if (scale < 0 || tra_h5_is_scale(scale)) return scale;
    H5Oclose(scale);
    return -1;
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* Attaches anew the scales of a dataset that was copied from the file `old` to `to` under the same path. Scales that
 * were not copied are left out. */
static bool reattach(hid_t old, hid_t to, const char *name) {
    hid_t from = H5Dopen2(old, name, H5P_DEFAULT), dset = H5Dopen2(to, name, H5P_DEFAULT);
    hid_t space = from >= 0 ? H5Dget_space(from) : -1;
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : 0;
    bool ok = space >= 0 && dset >= 0 && H5Adelete(dset, "DIMENSION_LIST") >= 0;
    for (int d = 0; d < rank && ok; d++) {
        char path[4096] = "";
        hid_t scale = tra_scale_attached(from, d, rank), copy = -1;
        if (scale >= 0 && H5Iget_name(scale, path, sizeof path) > 0 && tra_h5_exists(to, path))
            copy = H5Dopen2(to, path, H5P_DEFAULT);
        if (copy >= 0) ok = H5DSattach_scale(dset, copy, (unsigned)d) >= 0 && H5Dclose(copy) >= 0;
        if (scale >= 0) H5Oclose(scale);
    }
    if (space >= 0) H5Sclose(space);
    if (from >= 0) H5Dclose(from);
    if (dset >= 0) H5Dclose(dset);
    return ok;
}

typedef struct copied {
    hid_t old;
    const char *const *ours;
    int nours;
    bool lists; /* second pass: DIMENSION_LIST; the first removes REFERENCE_LIST */
} copied;

/* Is it a new relation, or the scale of one? */
static bool is_ours(const copied *c, hid_t to, const char *name) {
    tra_arena *a = tra_arena_new();
    const char *owner = tra_scale_owner(to, name, a);
    bool ours = false;
    for (int i = 0; i < c->nours; i++)
        ours = ours || strcmp(name, c->ours[i]) == 0 || tra_scale_is_of(owner, c->ours[i]);
    tra_arena_free(a);
    return ours;
}

static herr_t reattach_one(hid_t to, const char *name, const H5O_info_t *info, void *ctx) {
    const copied *c = ctx;
    if (info->type != H5O_TYPE_DATASET || !tra_h5_exists(c->old, name) || is_ours(c, to, name)) return 0;
    if (c->lists && H5Aexists_by_name(to, name, "DIMENSION_LIST", H5P_DEFAULT) > 0)
        return reattach(c->old, to, name) ? 0 : -1;
    if (!c->lists && H5Aexists_by_name(to, name, "REFERENCE_LIST", H5P_DEFAULT) > 0)
        return H5Adelete_by_name(to, name, "REFERENCE_LIST", H5P_DEFAULT);
    return 0;
}

bool tra_scales_reattach(hid_t old, hid_t to, int n, const char *const *ours) {
    copied c = {.old = old, .ours = ours, .nours = n};
    if (H5Ovisit2(to, H5_INDEX_NAME, H5_ITER_INC, reattach_one, &c, H5O_INFO_BASIC) < 0) return false;
    c.lists = true;
    return H5Ovisit2(to, H5_INDEX_NAME, H5_ITER_INC, reattach_one, &c, H5O_INFO_BASIC) >= 0;
}
