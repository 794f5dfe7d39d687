/* info.c - tra info REL...: what a relation is, and how it is stored. */
#include "../lib/model/labels.h"
#include "../lib/model/rows.h"
#include "../lib/storage/stored.h"
#include "../lib/durable/durable.h"
#include "common.h"
#include "plot.h"
#include "values.h"
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool want_stats, want_mapping, want_spread, want_names;
static const char *want_plot, *picture; /* picture: the file for it */
static int64_t memory = TRA_SCAN_MEMORY;

/* ---- what is stored by levels ------------------------------------------------------------------------------- */

/* How many entries rows have: from the file's statistics, or by reading it. */
typedef struct row_counts {
    int64_t all, rows, most;    /* all rows; those that have any; entries of one */
    int64_t logs[TRA_LOGS + 1]; /* rows without entries, then by logarithms */
    double squares;
    bool known, finite;
} row_counts;

/* All rows of all arrays. */
static int64_t rows_of(const tra_type *t) {
    int64_t all = 0;
    for (int64_t i = 0; i < t->cat->n; i++) {
        tra_dims ext;
        tra_catalog_ext(t->cat, i, &ext);
        all = tra_add_most(all, tra_rows_box(&ext));
    }
    return all;
}

static tra_status count_rows(tra_rel *rel, row_counts *r, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    *r = (row_counts){.all = rows_of(t), .finite = true};
    if (!t->sparse || tra_rel_info(rel)->foreign) return TRA_OK;
    for (int64_t i = 0; i < t->cat->n; i++) {
        tra_statistics s;
        tra_status status = tra_rel_statistics(rel, i, &s, e);
        if (status == TRA_NO) return TRA_OK; /* of what a mapping makes of components nothing is counted */
        TRA_TRY(status);
        r->rows += s.rows.parents;
        r->squares += (double)s.rows.squares;
        r->most = tra_max64(r->most, s.rows.most);
        r->finite = r->finite && s.finite;
        for (int l = 0; l < TRA_LOGS; l++) r->logs[l + 1] += s.rows.logs[l];
    }
    r->logs[0] = r->all - r->rows;
    r->known = true;
    return TRA_OK;
}

/* Finds the class of the row that has `nth` rows before it: *from and *to are the least and the most entries of its
 * rows. */
static void row_class(const row_counts *r, int64_t nth, int64_t *from, int64_t *to) {
    int l = 0;
    for (int64_t seen = r->logs[0]; seen <= nth && l < TRA_LOGS; seen += r->logs[++l]) {
    }
    *from = l ? (int64_t)1 << (l - 1) : 0;
    *to = l ? tra_min64(r->most, 2 * *from - 1) : 0;
}

static double density_of(const tra_type *t) {
    double all = (double)tra_catalog_elements(t->cat);
    return all > 0 ? (double)tra_type_entries(t).expected / all : 0;
}

/* The name of a storage, where it has one: of levels that of the library, of a statement its own. */
static const char *storage_name(tra_rel *rel, char buf[64]) {
    const char *text = tra_rel_info(rel)->storage;
    tra_levels levels;
    if (tra_levels_parse(text, tra_rel_type(rel)->cat->bound.n, &levels, NULL) == TRA_OK) {
        const char *alias = tra_levels_alias(&levels);
        return alias ? alias : text;
    }
    text += strcspn(text, " \t\n");
    text += strspn(text, " \t\n");
    snprintf(buf, 64, "%.*s", (int)strcspn(text, " \t\n["), text);
    return buf;
}

static const char *range_text(int64_t from, int64_t to, char buf[48]) {
    snprintf(buf, 48, to > from ? "%" PRId64 " to %" PRId64 : "%" PRId64, from, to);
    return buf;
}

static void storage_text(tra_rel *rel, const row_counts *r, tra_str *out) {
    const tra_type *t = tra_rel_type(rel);
    tra_size n = tra_type_entries(t);
    char a[48], b[48], buf[64];
    const char *name = storage_name(rel, buf), *text = tra_rel_info(rel)->storage;
    tra_str_printf(out, "  storage     %s", name);
    if (want_mapping && name != text) tra_str_printf(out, ": %s", text);
    tra_str_printf(out, "\n  entries     %" PRId64 "%s, density %.4g\n", n.expected,
                   n.exact ? "" : " in the file, duplicates counted", density_of(t));
    if (!r->known || r->all == 0) return;
    int64_t from, to, least, ignored;
    row_class(r, 0, &least, &ignored);
    row_class(r, r->all / 2, &from, &to);
    tra_str_printf(out, "  by row      min %s, median %s, max %" PRId64 "\n", range_text(least, ignored, a),
                   range_text(from, to, b), r->most);
    if (!want_spread) return;
    tra_str_printf(out, "  rows        %" PRId64 ", %" PRId64 " have entries; sum of squares of their entries %.0f\n",
                   r->all, r->rows, r->squares);
    for (int l = 0; l <= TRA_LOGS; l++) {
        int64_t low = l ? (int64_t)1 << (l - 1) : 0, high = l ? 2 * low - 1 : 0;
        if (r->logs[l])
            tra_str_printf(out, "    %-20s %" PRId64 " row%s\n", range_text(low, high, a), r->logs[l],
                           r->logs[l] == 1 ? "" : "s");
    }
    tra_str_printf(out, "  values      %s\n", r->finite ? "all finite" : "some are NaN or infinite");
}

static void storage_json(tra_rel *rel, const row_counts *r, tra_json *j) {
    const tra_type *t = tra_rel_type(rel);
    tra_size n = tra_type_entries(t);
    int64_t from, to;
    char buf[64];
    tra_json_str(j, "storage", storage_name(rel, buf));
    if (want_mapping) tra_json_str(j, "mapping", tra_rel_info(rel)->storage);
    tra_json_bool(j, "sparse", t->sparse);
    tra_json_int(j, "entries", n.expected);
    tra_json_str(j, "entries_kind", n.exact ? "exact" : "estimate");
    if (!n.exact) tra_json_int(j, "entries_bound", n.bound);
    tra_json_num(j, "density", density_of(t));
    if (!r->known) return;
    row_class(r, r->all / 2, &from, &to);
    tra_json_begin(j, "rows", '{');
    tra_json_int(j, "all", r->all);
    tra_json_int(j, "with_entries", r->rows);
    tra_json_ints(j, "median", 2, (int64_t[]){from, to});
    tra_json_int(j, "max", r->most);
    if (want_spread) {
        tra_json_num(j, "squares", r->squares);
        tra_json_ints(j, "logs", TRA_LOGS + 1, r->logs);
        tra_json_bool(j, "finite", r->finite);
    }
    tra_json_end(j, '}');
}

/* ---- labels ------------------------------------------------------------------------------------------------- */

enum { SHOWN = 8, SHOWN_JSON = 1000 }; /* labels of a dimension */

static void labels_text(const tra_dim_labels *const *labels, int rank, tra_str *out) {
    tra_arena *a = tra_arena_new();
    for (int d = 0, n = 0; labels && d < rank; d++) {
        const tra_dim_labels *l = labels[d];
        char name[TRA_NAMETEXT];
        if (!l) continue;
        tra_str_printf(out, "  %-10s  dimension %d, %s: ", n++ ? "" : "labels", d, tra_printable_name(l->name, name));
        for (int64_t i = 0; i < tra_min64(l->n, SHOWN); i++)
            tra_str_printf(out, "%s%s", i ? ", " : "", tra_printable_name(tra_dim_labels_text(a, l, i), name));
        tra_str_printf(out, "%s%s%s\n", l->n > SHOWN ? ", ..." : "", l->units ? " in " : "", l->units ? l->units : "");
    }
    tra_arena_free(a);
}

static void labels_json(const tra_dim_labels *const *labels, int rank, tra_json *j) {
    tra_arena *a = tra_arena_new();
    if (labels) tra_json_begin(j, "labels", '[');
    for (int d = 0; labels && d < rank; d++) {
        const tra_dim_labels *l = labels[d];
        if (!l) continue;
        tra_json_begin(j, NULL, '{');
        tra_json_int(j, "dimension", d);
        tra_json_str(j, "name", l->name);
        tra_json_str(j, "type", tra_coltype_name(l->type));
        if (l->units) tra_json_str(j, "units", l->units);
        tra_json_int(j, "count", l->n);
        tra_json_begin(j, "first", '[');
        for (int64_t i = 0; i < tra_min64(l->n, SHOWN_JSON); i++) tra_json_str(j, NULL, tra_dim_labels_text(a, l, i));
        tra_json_end(j, ']');
        tra_json_end(j, '}');
    }
    if (labels) tra_json_end(j, ']');
    tra_arena_free(a);
}

/* ---- text --------------------------------------------------------------------------------------------------- */

static const char *readers(const tra_relinfo *i) {
    if (!strstr(i->codec, "zstd")) return "any HDF5 program";
    return "HDF5 programs that find the zstd filter 32015 (make install puts it there); for others: tra export --to h5";
}

static void text_of(tra_rel *rel, const char *spec, const tra_values *s, const row_counts *rows,
                    const tra_dim_labels *const *labels, tra_str *out) {
    const tra_type *t = tra_rel_type(rel);
    const tra_catalog *c = t->cat;
    const tra_relinfo *i = tra_rel_info(rel);
    char a[TRA_DIMTEXT], b[TRA_DIMTEXT];
    int64_t holes = tra_catalog_holes(c), bytes = tra_type_bytes_all(t).expected;

    tra_str_printf(out, "%s\n", spec);
    tra_dims shape;
    if (tra_type_is_tensor(t, NULL)) {
        tra_type_shape(t, &shape);
        tra_str_printf(out, "  tensor      %s %s\n", tra_dtype_name(t->dtype),
                       shape.n ? tra_shape_text(&shape, a) : "scalar");
    } else {
        tra_str_printf(out, "  tuples      %s (no single tensor)\n", tra_dtype_name(t->dtype));
    }
    tra_str_printf(out, "  blocks      %s, frontier %s, %" PRId64 " tuple%s, ",
                   c->bound.n ? tra_shape_text(&c->bound, a) : "scalar", tra_key_text(&c->frontier, b), c->n,
                   c->n == 1 ? "" : "s");
    if (holes) {
        tra_str_printf(out, "%" PRId64 " hole%s\n", holes, holes == 1 ? "" : "s");
    } else {
        tra_str_add(out, "no holes\n");
    }
    if (i->storage) {
        tra_str_printf(out, "  group       %s in %s, %s layout\n", i->name, i->path, i->layout);
        storage_text(rel, rows, out);
    } else {
        tra_str_printf(out, "  dataset     %s in %s, chunks %s, %s layout\n", i->name, i->path,
                       tra_shape_text(&i->chunk, a), i->layout);
    }
    labels_text(labels, c->bound.n, out);
    if (i->units) tra_str_printf(out, "  units       %s\n", i->units);
    if (i->decoding) tra_str_printf(out, "  decoded     %s\n", i->decoding);
    tra_str_printf(out, "  size        %s", tra_human(bytes, a));
    tra_str_printf(out, ", stored in %s", tra_human(i->stored_bytes, a));
    tra_str_printf(out, ", file %s\n", tra_human(i->file_bytes, a));
    tra_str_printf(out, "  codec       %s\n", i->codec);
    tra_str_printf(out, "  checksums   %s\n", i->checksums ? "yes" : "none");
    if (i->digest) tra_str_printf(out, "  digest      %s\n", i->digest);
    if (i->history) tra_str_printf(out, "  history     %s\n", i->history);
    if (i->foreign && !i->checksums)
        tra_str_add(out, "  written by another program\n");
    else
        tra_str_printf(out, "  readable by %s\n", readers(i));
    if (s) {
        double mean = tra_values_mean(s);
        if (!tra_dtype_is_float(t->dtype) && s->numbers)
            tra_str_printf(out, "  values      min %" PRId64 ", max %" PRId64 ", mean %.10g\n", s->least, s->most,
                           mean);
        else
            tra_str_printf(out, "  values      min %.10g, max %.10g, mean %.10g, %" PRId64 " NaN\n", s->min, s->max,
                           mean, s->nans);
    }
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void json_of(tra_rel *rel, const char *spec, const tra_values *s, const row_counts *rows,
                    const tra_dim_labels *const *labels, tra_json *j) {
    const tra_type *t = tra_rel_type(rel);
    const tra_catalog *c = t->cat;
    const tra_relinfo *i = tra_rel_info(rel);
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "name", spec);
    tra_json_str(j, "path", i->path);
    tra_json_str(j, "dataset", i->name);
    tra_json_str(j, "dtype", tra_dtype_name(t->dtype));
    tra_dims shape;
    if (tra_type_is_tensor(t, NULL)) {
        tra_type_shape(t, &shape);
        tra_json_ints(j, "shape", shape.n, shape.v);
    } else {
        tra_json_str(j, "shape", NULL);
    }
    tra_json_int(j, "keys", c->frontier.n);
    tra_json_int(j, "rank", c->bound.n);
    tra_json_ints(j, "frontier", c->frontier.n, c->frontier.v);
    tra_json_ints(j, "bound", c->bound.n, c->bound.v);
    tra_json_int(j, "tuples", c->n);
    tra_json_int(j, "holes", tra_catalog_holes(c));
    tra_json_int(j, "floats", tra_catalog_elements(c));
    tra_json_str(j, "layout", i->layout);
    tra_json_ints(j, "dims", i->dims.n, i->dims.v);
    tra_json_ints(j, "chunk", i->chunk.n, i->chunk.v);
    if (i->storage) storage_json(rel, rows, j);
    labels_json(labels, c->bound.n, j);
    if (i->decoding) tra_json_str(j, "decoding", i->decoding);
    tra_info_file(i, j);
    if (s) {
        tra_json_begin(j, "stats", '{');
        if (!tra_dtype_is_float(t->dtype) && s->numbers) {
            tra_json_int(j, "min", s->least);
            tra_json_int(j, "max", s->most);
        } else {
            tra_json_num(j, "min", s->min);
            tra_json_num(j, "max", s->max);
        }
        tra_json_num(j, "mean", tra_values_mean(s));
        tra_json_int(j, "nan", s->nans);
        tra_json_end(j, '}');
    }
    tra_json_end(j, '}');
}

/* ---- command ------------------------------------------------------------------------------------------------ */

static tra_status describe_tensor(tra_rel *rel, const char *spec, tra_json *out, tra_err *e) {
    tra_values s;
    row_counts rows;
    const tra_dim_labels *const *labels = NULL;
    if (want_stats) TRA_TRY(tra_values_of(rel, memory, &s, e));
    TRA_TRY(tra_rel_labels(rel, &labels, e));
    TRA_TRY(count_rows(rel, &rows, e));
    if (tra_common_opts.format == TRA_FORMAT_JSON)
        json_of(rel, spec, want_stats ? &s : NULL, &rows, labels, out);
    else
        text_of(rel, spec, want_stats ? &s : NULL, &rows, labels, &out->out);
    return TRA_OK;
}

/* Pictures of all relations. */
typedef struct pictures {
    tra_arena *arena;
    int n;
    tra_plot *v;
} pictures;

static tra_status describe(const char *spec, tra_json *out, pictures *all, tra_err *e) {
    tra_rel *rel = NULL;
    tra_plot *v;
    int n = 0;
    bool text = !picture && tra_common_opts.format != TRA_FORMAT_JSON;
    TRA_TRY(tra_rel_open_bare(spec, NULL, &rel, e));
    tra_status s = tra_rel_read_strings(rel, e);
    if (s == TRA_RESOURCE && !want_plot) {
        tra_warn("the least and greatest strings are not shown: %s", e->msg);
        s = TRA_OK;
    }
    if (s != TRA_OK) return tra_rel_close(rel), s;
    s = tra_rel_is_table(rel) ? tra_info_table(rel, spec, out, e) : describe_tensor(rel, spec, out, e);
    if (s == TRA_OK && want_plot)
        s = tra_plots_of(rel, spec, *want_plot ? want_plot : NULL, text, memory, all->arena, &n, &v, e);
    if (s == TRA_OK && n > 0) {
        all->v = tra_realloc(all->v, (size_t)(all->n + n), sizeof *v);
        memcpy(all->v + all->n, v, (size_t)n * sizeof *v);
        all->n += n;
    }
    for (int i = 0; s == TRA_OK && text && i < n; i++) {
        tra_str_add(&out->out, "\n");
        tra_plot_text(&v[i], &out->out);
    }
    tra_rel_close(rel);
    return s;
}

static tra_status save_pictures(const pictures *p, tra_err *e) {
    tra_str svg = {0};
    tra_plots_svg(p->n, p->v, &svg);
    tra_status s = tra_replace_file(picture, tra_str_get(&svg), svg.n, false, e);
    tra_str_free(&svg);
    return s;
}

static void json_pictures(const pictures *p, tra_json *j) {
    tra_json_begin(j, "plots", '[');
    for (int i = 0; i < p->n; i++) tra_plot_json(&p->v[i], j);
    tra_json_end(j, ']');
}

/* The relations of each file, a line each. */
static tra_status list_names(int argc, char **argv, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_str out = {0};
    tra_status s = TRA_OK;
    for (int i = 0; i < argc && s == TRA_OK; i++) {
        tra_relation_names names;
        s = tra_store_names(argv[i], a, &names, e);
        for (int k = 0; k < names.n; k++) tra_str_printf(&out, "%s\n", names.name[k]);
    }
    if (s == TRA_OK) s = tra_print_str(&out, e);
    tra_arena_free(a);
    return s;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    if (want_names) return list_names(argc, argv, e);
    size_t n = picture ? strlen(picture) : 0;
    if (picture && !want_plot) return tra_fail(e, TRA_USAGE, "-o %s is for the picture that --plot makes", picture);
    if (picture && (n < 4 || strcmp(picture + n - 4, ".svg") != 0))
        return tra_fail(e, TRA_USAGE, "-o %s: the picture is SVG; call it NAME.svg", picture);
    bool json = tra_common_opts.format == TRA_FORMAT_JSON;
    tra_json j = {0};
    pictures p = {.arena = tra_arena_new()};
    tra_status s = TRA_OK;
    if (json) {
        tra_json_begin(&j, NULL, '{');
        tra_json_begin(&j, "relations", '[');
    }
    for (int i = 0; i < argc && s == TRA_OK; i++) s = describe(argv[i], &j, &p, e);
    if (json) {
        tra_json_end(&j, ']');
        if (want_plot) json_pictures(&p, &j);
        tra_json_end(&j, '}');
        tra_str_add(&j.out, "\n");
    }
    if (s == TRA_OK && picture) s = save_pictures(&p, e);
    if (s == TRA_OK) s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    free(p.v);
    tra_arena_free(p.arena);
    return s;
}

const tra_cmd tra_cmd_info = {
    .name = "info",
    .group = "Relations",
    .brief = "tell type, blocks, codec, size and statistics of relations",
    .usage = "[options] REL...",
    .about =
        "Tells of each relation (FILE.h5 or FILE.h5:NAME) its type, blocks and keys, how it is stored and who can read "
        "the file. Reads no data unless --stats asks for it. Statistics are of the elements that exist: holes are "
        "not counted.",
    .opts = (const tra_opt[]){TRA_ROW('s', "stats", TRA_OPT_FLAG, &want_stats, NULL,
                                      "reads the data: minimum, maximum, mean, number of NaN"),
                              TRA_ROW(0, "mapping", TRA_OPT_FLAG, &want_mapping, NULL,
                                      "the levels by which a sparse relation is stored"),
                              TRA_ROW(0, "statistics", TRA_OPT_FLAG, &want_spread, NULL,
                                      "how the entries of a sparse relation are spread over rows"),
                              TRA_ROW(0, "names", TRA_OPT_FLAG, &want_names, NULL,
                                      "only the names of the relations that each file holds, a line each"),
                              TRA_ROW(0, "plot", TRA_OPT_OPTSTR, &want_plot, "COLUMN",
                                      "reads the data: histograms of values or columns, heat maps of matrices"),
                              TRA_ROW('o', "output", TRA_OPT_STR, &picture, "FILE.svg", "draw what --plot shows there"),
                              TRA_OPT_MEMORY(memory),
                              {.name = NULL}},
    .minargs = 1,
    .maxargs = -1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
