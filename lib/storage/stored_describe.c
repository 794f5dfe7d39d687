/* stored_describe.c - what the group of a stored relation holds besides its datasets: attributes and tables. */
#include "../h5/pack.h"
#include "storage.h"
#include "../h5/scales.h"
#include "stored_int.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int tra_stored_header(hid_t group, int64_t *v) {
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
    int64_t header[TRA_GROUP_HEADER], format = 1, rank = w->type.cat->bound.n;
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
    int64_t header[TRA_GROUP_HEADER];
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
