/* info.c - tra info REL...: what a relation is, and how it is stored. */
#include "common.h"

#include <math.h>
#include <string.h>

static bool want_stats;
static int64_t memory = TRA_SCAN_MEMORY;

/* ---- statistics --------------------------------------------------------------------------------------------- */

typedef struct stats {
    double min, max; /* floats: of what is not NaN; NaN when there is nothing */
    int64_t least, most;
    long double sum; /* wide, so that the order in which workers add hardly shows */
    int64_t numbers, nans;
} stats;
static const stats nothing = {.min = NAN, .max = NAN, .least = INT64_MAX, .most = INT64_MIN};

typedef struct gathering {
    const tra_type *type;
    stats part[TRA_MAXWORKERS];
} gathering;

static void merge(stats *s, const stats *p) {
    s->min = fmin(s->min, p->min);
    s->max = fmax(s->max, p->max);
    s->least = tra_min64(s->least, p->least);
    s->most = tra_max64(s->most, p->most);
    s->sum += p->sum;
    s->numbers += p->numbers;
    s->nans += p->nans;
}

/* Of +inf and -inf there is none: one NaN, whatever its sign. */
static double mean_of(const stats *s) {
    double mean = s->numbers ? (double)(s->sum / s->numbers) : NAN;
    return isnan(mean) ? NAN : mean;
}

#define GATHER_FLOAT(ctype)                                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        double x = (double)((const ctype *)data)[i];                                                                   \
        bool number = x == x;                                                                                          \
        count += number;                                                                                               \
        sum += number ? x : 0;                                                                                         \
        min = x < min ? x : min;                                                                                       \
        max = x > max ? x : max;                                                                                       \
    }
#define GATHER_INT(ctype)                                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        int64_t x = ((const ctype *)data)[i];                                                                          \
        sum += x;                                                                                                      \
        p.least = x < p.least ? x : p.least;                                                                           \
        p.most = x > p.most ? x : p.most;                                                                              \
    }                                                                                                                  \
    count = n;
#define GATHER_BOOL GATHER_INT

static tra_status gather(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    gathering *g = ctx;
    if (!data) return e->status;
    int64_t n = tra_catalog_floats1(g->type->cat, ordinal), count = 0;
    double min = INFINITY, max = -INFINITY;
    long double sum = 0;
    stats p = nothing;
    switch (g->type->dtype) {
#define X(name, text, ctype, class, ...)                                                                               \
    case TRA_##name: GATHER_##class(ctype); break;
        TRA_DTYPES(X)
#undef X
    }
    if (count && tra_dtype_is_float(g->type->dtype)) p.min = min, p.max = max;
    p.sum = sum;
    p.numbers = count;
    p.nans = n - count;
    merge(&g->part[worker], &p);
    return TRA_OK;
}

static tra_status statistics(tra_rel *rel, stats *s, tra_err *e) {
    gathering g = {.type = tra_rel_type(rel)};
    for (int i = 0; i < TRA_MAXWORKERS; i++) g.part[i] = nothing;
    TRA_TRY(tra_scan(rel, memory, gather, &g, e));
    *s = g.part[0];
    for (int i = 1; i < TRA_MAXWORKERS; i++) merge(s, &g.part[i]);
    return TRA_OK;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

static const char *readers(const tra_relinfo *i) {
    if (!strstr(i->codec, "zstd")) return "any HDF5 program";
    return "HDF5 programs that find the zstd filter 32015 (make install puts it there); for others: tra export --to h5";
}

static void text_of(tra_rel *rel, const char *spec, const stats *s, tra_str *out) {
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
    tra_str_printf(out, "  dataset     %s in %s, chunks %s, %s layout\n", i->name, i->path,
                   tra_shape_text(&i->chunk, a), i->layout);
    tra_str_printf(out, "  size        %s", tra_human(bytes, a));
    tra_str_printf(out, ", stored in %s", tra_human(i->stored_bytes, a));
    tra_str_printf(out, ", file %s\n", tra_human(i->file_bytes, a));
    tra_str_printf(out, "  codec       %s\n", i->codec);
    tra_str_printf(out, "  checksums   %s\n", i->checksums ? "yes" : "none");
    if (i->digest) tra_str_printf(out, "  digest      %s\n", i->digest);
    if (i->history) tra_str_printf(out, "  history     %s\n", i->history);
    if (i->foreign)
        tra_str_add(out, "  written by another program\n");
    else
        tra_str_printf(out, "  readable by %s\n", readers(i));
    if (s) {
        double mean = mean_of(s);
        if (!tra_dtype_is_float(t->dtype) && s->numbers)
            tra_str_printf(out, "  values      min %" PRId64 ", max %" PRId64 ", mean %.10g\n", s->least, s->most,
                           mean);
        else
            tra_str_printf(out, "  values      min %.10g, max %.10g, mean %.10g, %" PRId64 " NaN\n", s->min, s->max,
                           mean, s->nans);
    }
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void json_of(tra_rel *rel, const char *spec, const stats *s, tra_json *j) {
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
    tra_json_int(j, "floats", tra_catalog_floats(c));
    tra_json_str(j, "layout", i->layout);
    tra_json_ints(j, "dims", i->dims.n, i->dims.v);
    tra_json_ints(j, "chunk", i->chunk.n, i->chunk.v);
    tra_json_str(j, "codec", i->codec);
    tra_json_int(j, "stored_bytes", i->stored_bytes);
    tra_json_int(j, "file_bytes", i->file_bytes);
    tra_json_bool(j, "checksums", i->checksums);
    tra_json_bool(j, "foreign", i->foreign);
    tra_json_str(j, "digest", i->digest);
    tra_json_str(j, "history", i->history);
    if (s) {
        tra_json_begin(j, "stats", '{');
        if (!tra_dtype_is_float(t->dtype) && s->numbers) {
            tra_json_int(j, "min", s->least);
            tra_json_int(j, "max", s->most);
        } else {
            tra_json_num(j, "min", s->min);
            tra_json_num(j, "max", s->max);
        }
        tra_json_num(j, "mean", mean_of(s));
        tra_json_int(j, "nan", s->nans);
        tra_json_end(j, '}');
    }
    tra_json_end(j, '}');
}

/* ---- command ------------------------------------------------------------------------------------------------ */

static tra_status describe(const char *spec, tra_json *out, tra_err *e) {
    tra_rel *rel = NULL;
    TRA_TRY(tra_rel_open(spec, NULL, &rel, e));
    stats s;
    tra_status status = want_stats ? statistics(rel, &s, e) : TRA_OK;
    if (status == TRA_OK && tra_common_opts.format == TRA_FORMAT_JSON) {
        json_of(rel, spec, want_stats ? &s : NULL, out);
    } else if (status == TRA_OK) {
        text_of(rel, spec, want_stats ? &s : NULL, &out->out);
    }
    tra_rel_close(rel);
    return status;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    bool json = tra_common_opts.format == TRA_FORMAT_JSON;
    tra_json j = {0};
    tra_status s = TRA_OK;
    if (json) {
        tra_json_begin(&j, NULL, '{');
        tra_json_begin(&j, "relations", '[');
    }
    for (int i = 0; i < argc && s == TRA_OK; i++) s = describe(argv[i], &j, e);
    if (json) {
        tra_json_end(&j, ']');
        tra_json_end(&j, '}');
        tra_str_add(&j.out, "\n");
    }
    if (s == TRA_OK) s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    return s;
}

const tra_cmd tra_cmd_info = {
    .name = "info",
    .group = "Relations",
    .brief = "type, blocks, codec, size and statistics",
    .usage = "[options] REL...",
    .about =
        "Tells of each relation (FILE.h5 or FILE.h5:NAME) its type, blocks and keys, how it is stored and who can read "
        "the file. Reads no data unless --stats asks for it. Statistics are of the elements that exist: holes are "
        "not counted.",
    .opts = (const tra_opt[]){{'s', "stats", TRA_OPT_FLAG, &want_stats, NULL,
                               "reads the data: minimum, maximum, mean, number of NaN", NULL, NULL, NULL},
                              TRA_OPT_MEMORY(memory),
                              {.name = NULL}},
    .minargs = 1,
    .maxargs = -1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
