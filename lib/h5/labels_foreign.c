/* labels_foreign.c - names of cells and genes, which AnnData, 10x and loom keep beside their matrices. */
#include "../model/labels.h"
#include "scales.h"
#include "texts.h"

#include <string.h>

/* The strings of a dataset of n elements (-1: of any number) as labels; NULL: it has none. */
static const tra_dim_labels *strings_at(tra_rel *r, const char *path, const char *name, int64_t n) {
    const tra_dim_labels *l = NULL;
    const char *values = tra_arena_printf(r->arena, "%s/values", path); /* beside which of them are missing */
    if (!tra_h5_exists(r->file, path)) return NULL;
    if (tra_h5_exists(r->file, values)) path = values;
    hid_t dset = H5Oopen(r->file, path, H5P_DEFAULT);
    if (dset >= 0 && H5Iget_type(dset) == H5I_DATASET && n <= TRA_SCALE_LABELS &&
        !tra_h5_missing_filter(dset, r->arena)) {
        const tra_dictionary *d = tra_h5_strings(r, dset);
        if (d && (n < 0 || d->n == n) && tra_h5_sorts(r, d)) l = tra_dim_labels_of_strings(r->arena, name, d);
    }
    if (dset >= 0) H5Oclose(dset);
    if (!l) return NULL;
    r->labels_bytes += l->dict->begin[l->dict->n] + 12 * l->n;
    tra_dim_labels *named = tra_new(r->arena, tra_dim_labels);
    *named = *l;
    named->of_file = true;
    return named;
}

/* The index of a data frame, which its attribute _index names. */
static const tra_dim_labels *index_of(tra_rel *r, const char *base, const char *frame, int64_t n) {
    const char *path = tra_arena_printf(r->arena, "%s%s", base, frame), *index = NULL;
    if (tra_h5_exists(r->file, path)) {
        hid_t group = H5Oopen(r->file, path, H5P_DEFAULT);
        if (group >= 0 && H5Iget_type(group) == H5I_GROUP) index = tra_h5_get_text(group, "_index", r->arena);
        if (group >= 0) H5Oclose(group);
    }
    return index ? strings_at(r, tra_arena_printf(r->arena, "%s/%s", path, index), frame, n) : NULL;
}

/* Which data frame the dimensions of AnnData's arrays belong to: those whose path ends so, or is below such a group. */
static const struct {
    const char *path, *frame[2];
} arrays[] = {{"X", {"obs", "var"}},    {"layers/", {"obs", "var"}}, {"obsm/", {"obs", NULL}},
              {"varm/", {"var", NULL}}, {"obsp/", {"obs", "obs"}},   {"varp/", {"var", "var"}}};

/* `name` is BASE and then an array of AnnData: BASE's length; -1: it is none. */
static int base_of(const char *name, const char *array) {
    size_t n = strlen(name), m = strlen(array);
    if (array[m - 1] != '/') {
        bool is = n >= m && strcmp(name + n - m, array) == 0 && (n == m || name[n - m - 1] == '/');
        return is ? (int)(n - m) : -1;
    }
    for (const char *p = strstr(name, array); p; p = strstr(p + 1, array))
        if ((p == name || p[-1] == '/') && p[m] && !strchr(p + m, '/')) return (int)(p - name);
    return -1;
}

static bool of_anndata(tra_rel *r, const tra_dims *shape, const tra_dim_labels **labels) {
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int n = base_of(r->name, arrays[i].path);
        for (int d = 0; n >= 0 && d < 2 && d < shape->n; d++) {
            char *base = tra_arena_strndup(r->arena, r->name, (size_t)n);
            size_t raw = strlen("raw/");
            const char *frame = arrays[i].frame[d];
            if (!frame) continue;
            if (strcmp(frame, "obs") == 0 && (size_t)n >= raw && strcmp(base + n - raw, "raw/") == 0)
                base[(size_t)n - raw] = 0; /* raw has genes of its own, but not cells */
            labels[d] = index_of(r, base, frame, shape->v[d]);
        }
        if (n >= 0) return true;
    }
    return false;
}

/* The first of these that has n strings; the last path is NULL. */
static const tra_dim_labels *first_of(tra_rel *r, const char *base, const char *const *paths, const char *name,
                                      int64_t n) {
    const tra_dim_labels *l = NULL;
    for (int i = 0; paths[i] && !l; i++) l = strings_at(r, tra_arena_printf(r->arena, "%s%s", base, paths[i]), name, n);
    return l;
}

void tra_labels_of_others(tra_rel *r, const tra_dims *shape, const tra_dim_labels **labels) {
    static const char *const features[] = {"/features/name", "/features/id", "/gene_names", "/genes", NULL},
                             *const barcodes[] = {"/barcodes", NULL}, *const genes[] = {"Gene",      "gene",
                                                                                        "GeneName",  "var_names",
                                                                                        "Accession", NULL},
                             *const cells[] = {"CellID", "cell_id", "obs_names", "cell_names", NULL};
    if (shape->n < 1 || r->raw) return;
    if (shape->n == 2 && r->kind->is && tra_h5_exists(r->dset, "barcodes")) {
        labels[0] = first_of(r, r->name, features, "feature", shape->v[0]);
        labels[1] = first_of(r, r->name, barcodes, "barcode", shape->v[1]);
    } else if (shape->n == 2 && tra_h5_exists(r->file, "row_attrs") && tra_h5_exists(r->file, "col_attrs") &&
               (strcmp(r->name, "matrix") == 0 || strncmp(r->name, "layers/", 7) == 0)) {
        labels[0] = first_of(r, "row_attrs/", genes, "Gene", shape->v[0]);
        labels[1] = first_of(r, "col_attrs/", cells, "CellID", shape->v[1]);
    } else {
        (void)of_anndata(r, shape, labels);
    }
}

tra_status tra_anndata_names(const char *path, const char *frame, tra_arena *a, const tra_dim_labels **out,
                             tra_err *e) {
    tra_rel r = {.arena = a, .path = path, .name = frame, .file = -1, .dset = -1};
    *out = NULL;
    tra_h5_enter();
    tra_status s = tra_h5_open(path, &r.file, e);
    if (s == TRA_OK) {
        *out = index_of(&r, "", frame, -1);
        H5Fclose(r.file);
        if (r.lack) *e = *r.lack, s = r.lack->status;
    }
    tra_h5_leave();
    return s;
}
