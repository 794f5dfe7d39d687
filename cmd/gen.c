/* gen.c - tra gen: relations of values that are made (gen_values.c), in all elements or in a pattern of them
 * (gen_sparse.c). */
#include "common.h"
#include "gen_sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../formats/settle.h"
#include "../formats/storage.h"
#include "../lib/base/radix.h"
#include "../lib/model/block.h"
#include "../lib/dense/gen_values.h"
#include "../lib/model/rows.h"

static const char dists[] = "uniform|normal|identity|range|zero";
static const char *const dist_names[] = {"uniform", "normal", "identity", "range", "zero"};

static const char *output, *shape_text, *block_text, *dtype_text = "f64", *codec_text = "none";
static const char *density_text, *pattern_text, *storage_text;
static int dist;
static int64_t seed, memory = TRA_SCAN_MEMORY;
static bool no_history, shape_given;

static tra_status too_many(int64_t most, tra_err *e) {
    return tra_fail(e, TRA_INTERNAL, "a block of %s has more than the %" PRId64 " entries that it may have", output,
                    most);
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

typedef struct dense_job {
    gen_values values;
    const tra_type *type;
    const tra_dims *shape;
    const gen_pattern *pattern; /* which elements are not 0; NULL: any may be */
    int64_t most;               /* of them in a block */
    tra_writer *writer;
    tra_digester *digester;
    tra_crew *crew;
    tra_codec codec;
    tra_item *items[TRA_MAXWORKERS];
    tra_digest part[TRA_MAXWORKERS];
    void *data[TRA_MAXWORKERS], *encoded[TRA_MAXWORKERS]; /* room for a chunk each; after this one, for scratch too */
} dense_job;

/* The array of a tuple of which the elements of a pattern alone are not 0. */
static tra_status fill_entries(const dense_job *m, int worker, int64_t ordinal, char *out, tra_err *e) {
    tra_dims key, ext, from, at;
    size_t size = tra_dtype_size(m->type->dtype);
    tra_catalog_key(m->type->cat, ordinal, &key);
    tra_catalog_ext(m->type->cat, ordinal, &ext);
    tra_type_offset(m->type, &key, &from);
    gen_items items = {.v = m->items[worker], .cap = m->most};
    gen_entries(m->pattern, &from, &ext, &items);
    if (items.full) return too_many(m->most, e);
    memset(out, 0, (size_t)tra_catalog_elements_of(m->type->cat, ordinal) * size);
    for (int64_t i = 0; i < items.n; i++) {
        tra_unlinear(&ext, (int64_t)items.v[i].place, &at);
        for (int d = 0; d < at.n; d++) at.v[d] += from.v[d];
        gen_values_entry(&m->values, m->type->dtype, out + items.v[i].place * size, tra_linear(m->shape, &at));
    }
    return TRA_OK;
}

static tra_status make_one(void *ctx, int worker, int64_t ordinal, tra_err *e) {
    dense_job *m = ctx;
    tra_meter_add(1);
    char *data = m->data[worker], *encoded = m->encoded[worker];
    tra_encoded enc;
    int64_t addr;
    if (m->pattern)
        TRA_TRY(fill_entries(m, worker, ordinal, data, e));
    else
        gen_values_fill(&m->values, m->type, m->shape, ordinal, data);
    tra_digester_add(m->digester, &m->part[worker], ordinal, data);
    if (!m->codec.zstd) {
        tra_writer_pad(m->writer, ordinal, data);
        return tra_writer_store(m->writer, ordinal, data, e);
    }
    char *scratch = encoded + tra_store_chunk_bytes(m->type);
    TRA_TRY(tra_writer_encode(m->writer, ordinal, data, scratch, tra_encoded_keep, encoded, &enc, e));
    if (!tra_crew_turn(m->crew, ordinal)) return TRA_INTERNAL;        /* another's failure is the cause */
    TRA_TRY(tra_writer_allocate(m->writer, ordinal, &enc, &addr, e)); /* in order: it decides the bytes of the file */
    tra_crew_passed(m->crew);
    return tra_writer_write_at(m->writer, addr, encoded, enc.len, e);
}

static tra_status make_all(dense_job *m, int workers, tra_err *e) {
    int64_t bytes = tra_store_chunk_bytes(m->type), room = m->codec.zstd ? bytes + tra_codec_scratch(m->type) : 0;
    tra_status s = TRA_OK;
    for (int i = 0; i < workers && s == TRA_OK; i++) {
        m->data[i] = aligned_alloc(4096, (size_t)(bytes + 4096) & ~(size_t)4095); /* as direct writes need it */
        m->encoded[i] = aligned_alloc(64, (size_t)(room + 64) & ~(size_t)63);
        if (m->pattern) m->items[i] = tra_malloc((size_t)m->most * sizeof(tra_item));
        if (!m->data[i] || !m->encoded[i]) s = tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    }
    if (s == TRA_OK) {
        tra_meter_begin(tra_progress_here(), output, m->type->cat->n);
        m->crew = tra_crew_new(workers);
        tra_crew_begin(m->crew, make_one, m, 0, m->type->cat->n);
        s = tra_crew_wait(m->crew, e);
        tra_crew_free(m->crew);
        tra_meter_end();
    }
    for (int i = 0; i < workers; i++) {
        free(m->data[i]);
        free(m->encoded[i]);
        free(m->items[i]);
    }
    return s;
}

/* Bytes of memory that a worker takes. */
static int64_t each_of(const tra_type *type, const gen_pattern *pattern, tra_codec codec) {
    int64_t chunk = tra_store_chunk_bytes(type);
    if (pattern) chunk += gen_bound(pattern, &type->cat->bound) * (int64_t)sizeof(tra_item);
    return codec.zstd ? chunk + tra_store_chunk_bytes(type) + tra_codec_scratch(type) +
                            tra_codec_context(codec.level, tra_store_chunk_bytes(type))
                      : chunk;
}

/* Says which smaller blocks the ceiling would have room for, if any. */
static void try_smaller(const tra_dims *shape, tra_dims block, const tra_type *type, const gen_pattern *pattern,
                        tra_codec codec, tra_err *e) {
    tra_catalog cat;
    tra_type t = *type;
    tra_err none = {0};
    t.cat = &cat;
    while (tra_block_halve(&block) && tra_catalog_blocks(shape, &block, &cat, &none) == TRA_OK) {
        if (tra_store_index_bytes(&cat) + each_of(&t, pattern, codec) > tra_buffer_bytes(memory)) continue;
        tra_block_would_fit(&block, e);
        return;
    }
}

static tra_status make(const tra_dims *shape, const tra_dims *block, const tra_type *type, const gen_pattern *pattern,
                       const char *history, tra_codec codec, int64_t *stored, tra_err *e) {
    dense_job m = {
        .values = gen_values_of(dist, seed), .type = type, .shape = shape, .pattern = pattern, .codec = codec};
    if (pattern) m.most = gen_bound(pattern, &type->cat->bound);
    tra_write_options o = {.codec = codec, .history = history};
    int n = 0;
    tra_status fit =
        tra_workers(memory, tra_store_index_bytes(type->cat), each_of(type, pattern, codec), type->cat->n, &n, e);
    if (fit == TRA_RESOURCE) try_smaller(shape, *block, type, pattern, codec, e);
    TRA_TRY(fit);
    TRA_TRY(tra_writer_create(output, type, &o, &m.writer, e));
    m.digester = tra_digester_new(type);
    tra_status s = make_all(&m, n, e);
    tra_digester_free(m.digester);
    if (s != TRA_OK) {
        tra_writer_abort(m.writer);
        return s;
    }
    char digest[33];
    for (int i = 1; i < n; i++) tra_digest_add(&m.part[0], &m.part[i]);
    tra_digest_text(&m.part[0], type, digest);
    *stored = tra_writer_stored(m.writer);
    return tra_writer_commit(m.writer, digest, e);
}

/* ---- entries ------------------------------------------------------------------------------------------------ */

typedef struct sparse_job {
    gen_values values;
    const gen_pattern *pattern;
    const tra_type *type;
    const tra_levels *levels;
    tra_settle *settle;
    int64_t most; /* entries of a block */
    struct {
        tra_item *items, *other;
        void *block;
    } worker[TRA_MAXWORKERS];
} sparse_job;

static tra_status make_entries(void *ctx, int worker, int64_t ordinal, tra_err *e) {
    sparse_job *m = ctx;
    tra_dims key, ext, from, at;
    int64_t n = 0, row = -1, last, bytes;
    tra_catalog_key(m->type->cat, ordinal, &key);
    tra_catalog_ext(m->type->cat, ordinal, &ext);
    tra_type_offset(m->type, &key, &from);
    tra_dims_product(&ext, &n);
    gen_items items = {.v = m->worker[worker].items, .cap = m->most};
    gen_entries(m->pattern, &from, &ext, &items);
    if (items.full) return too_many(m->most, e);
    tra_item *x = tra_radix_sort(items.v, m->worker[worker].other, items.n, sizeof *x, offsetof(tra_item, place));
    tra_cell cell = tra_cell_new(m->type, ordinal, m->worker[worker].block);
    tra_rows_maker rows = tra_rows_make(&cell, tra_min64(items.n, tra_rows_box(&ext)), items.n);
    last = ext.v[ext.n - 1];
    for (int64_t i = 0; i < items.n; i++) {
        int64_t place = (int64_t)x[i].place;
        if (i > 0 && x[i].place == x[i - 1].place) continue;
        if (place / last != row) tra_rows_open(&rows, row = place / last);
        tra_unlinear(&ext, place, &at);
        for (int d = 0; d < at.n; d++) at.v[d] += from.v[d];
        gen_values_entry(&m->values, m->type->dtype, tra_rows_next(&rows, (uint32_t)(place % last)),
                         tra_linear(&m->pattern->shape, &at));
    }
    bytes = tra_rows_made(&rows);
    return tra_settle_add(m->settle, worker, ordinal, &cell, bytes, e);
}

static tra_status make_sparse(const gen_pattern *p, const tra_type *type, const tra_levels *levels,
                              const tra_codec *codec, const char *history, tra_settled *made, tra_err *e) {
    sparse_job m = {.values = gen_values_of(dist, seed), .pattern = p, .type = type, .levels = levels};
    m.most = gen_bound(p, &type->cat->bound);
    int64_t room = tra_rows_room(type->dtype, m.most, m.most), held = tra_settle_held(type->cat->n, levels);
    const tra_dims *ext = type->layout ? &type->cat->bound : NULL;
    int64_t each = 2 * m.most * (int64_t)sizeof(tra_item) + room + tra_stored_rows_scratch(levels, m.most, ext);
    int n = 0;
    TRA_TRY(tra_workers(memory, held + tra_store_index_bytes(type->cat), each, type->cat->n, &n, e));
    TRA_TRY(tra_settle_begin(output, type, levels, codec, history, NULL, n, &m.settle, e));
    tra_status s = TRA_OK;
    for (int i = 0; i < n && s == TRA_OK; i++) {
        m.worker[i].items = tra_malloc((size_t)m.most * sizeof(tra_item));
        m.worker[i].other = tra_malloc((size_t)m.most * sizeof(tra_item));
        m.worker[i].block =
            aligned_alloc(TRA_CELL_ALIGN, ((size_t)room + TRA_CELL_ALIGN) & ~(size_t)(TRA_CELL_ALIGN - 1));
        if (!m.worker[i].block) s = tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    }
    if (s == TRA_OK) s = tra_crew_run(n, type->cat->n, make_entries, &m, e);
    for (int i = 0; i < n; i++) {
        free(m.worker[i].items);
        free(m.worker[i].other);
        free(m.worker[i].block);
    }
    if (s != TRA_OK) {
        tra_settle_abort(m.settle);
        return s;
    }
    return tra_settle_commit(m.settle, tra_buffer_bytes(memory) - held, made, e);
}

/* ---- command ------------------------------------------------------------------------------------------------ */

static tra_status blocks_of(const tra_dims *shape, tra_dims *block, tra_err *e) {
    if (!block_text) {
        tra_block_choose(shape, block);
        return TRA_OK;
    }
    if (!tra_parse_dims(block_text, 1, block)) {
        return tra_fail(e, TRA_USAGE, "--block: '%s' is not a shape such as 1000x1000", block_text);
    }
    return tra_block_fit(shape, block, e);
}

/* Reads --density and --pattern. */
static tra_status read_pattern(const tra_dims *shape, gen_pattern *p, tra_err *e) {
    *p = (gen_pattern){.density = 1, .seed = (uint64_t)seed, .shape = *shape};
    const char *text = pattern_text ? pattern_text : "uniform";
    if (strcmp(text, "rmat") == 0)
        p->kind = GEN_RMAT;
    else if (strcmp(text, "diag") == 0)
        p->kind = GEN_DIAG;
    else if (strncmp(text, "band:", 5) == 0 && tra_parse_int(text + 5, &p->width) && p->width >= 0)
        p->kind = GEN_BAND;
    else if (strcmp(text, "uniform") != 0)
        return tra_fail(e, TRA_USAGE, "--pattern: '%s' is none of uniform, rmat, band:WIDTH, diag", text);
    if (density_text && (!tra_parse_num(density_text, &p->density) || !(p->density >= 0 && p->density <= 1)))
        return tra_fail(e, TRA_USAGE, "--density: '%s' is no number from 0 to 1", density_text);
    if (p->kind == GEN_RMAT && !density_text)
        return tra_fail(e, TRA_USAGE, "--pattern rmat needs --density: edges for each element");
    if (dist == GEN_DIST_IDENTITY || dist == GEN_DIST_ZERO)
        return tra_fail(e, TRA_USAGE,
                        "--dist %s says itself which elements are not 0: leave --density and --pattern out",
                        dist_names[dist]);
    return gen_pattern_init(p, e);
}

/* All elements; those that are none of the pattern (NULL: there is none) are 0. */
static tra_status run_dense(const tra_dims *shape, tra_dtype dtype, const gen_pattern *pattern, tra_codec codec,
                            tra_err *e) {
    tra_dims block;
    tra_catalog cat;
    int64_t stored = 0;
    char s[TRA_DIMTEXT], b[TRA_DIMTEXT], size[32];
    TRA_TRY(blocks_of(shape, &block, e));
    TRA_TRY(tra_catalog_blocks(shape, &block, &cat, e));
    tra_type type = {.dtype = dtype, .cat = &cat};
    for (int d = 0; d < shape->n; d++) type.cut[d] = (uint32_t)1 << d;
    tra_dims_text(shape, "", "x", "", s, sizeof s);
    tra_dims_text(&block, "", "x", "", b, sizeof b);
    tra_str history = {0};
    tra_str_printf(&history, "tra %s: gen --shape '%s' --block '%s' --dtype %s --dist %s", TRA_VERSION, s, b,
                   dtype_text, dist_names[dist]);
    if (pattern)
        tra_str_printf(&history, " --pattern '%s' --density %.17g --storage dense",
                       pattern_text ? pattern_text : "uniform", pattern->density);
    tra_str_printf(&history, " --seed %" PRId64, seed);
    tra_status status =
        make(shape, &block, &type, pattern, no_history ? NULL : tra_str_get(&history), codec, &stored, e);
    tra_str_free(&history);
    TRA_TRY(status);
    tra_info(0, "%s: %s %s in blocks of %s%s, %" PRId64 " block%s, %s", output, dtype_text,
             shape->n ? tra_shape_text(shape, s) : "scalar", shape->n ? tra_shape_text(&block, b) : "one",
             block_text ? "" : " (chosen)", cat.n, cat.n == 1 ? "" : "s", tra_human(stored, size));
    return TRA_OK;
}

/* A tensor of entries. */
static tra_status run_sparse(const tra_dims *shape, tra_dtype dtype, tra_codec codec, tra_err *e) {
    gen_pattern p;
    tra_levels levels;
    tra_dims block;
    bool dense = false;
    char s[TRA_DIMTEXT], b[TRA_DIMTEXT], size[32], text[TRA_LEVELTEXT];
    if (storage_text && strcmp(storage_text, "auto") != 0)
        TRA_TRY(tra_storage_named(storage_text, shape->n, dtype, &levels, &dense, e));
    else
        tra_storage_chosen(shape, -1, &levels, &dense);
    bool all = dense && !density_text && !pattern_text;
    if (!all) TRA_TRY(read_pattern(shape, &p, e));
    if (dense) return run_dense(shape, dtype, all ? NULL : &p, codec, e);
    if (block_text)
        TRA_TRY(blocks_of(shape, &block, e));
    else
        gen_block(&p, tra_levels_in_order(&levels), &block);
    if (!tra_rows_can(&block))
        return tra_fail(e, TRA_USAGE, "--block: the last extent of a stored block is at most %u", UINT32_MAX);
    tra_catalog cat;
    TRA_TRY(tra_catalog_blocks(shape, &block, &cat, e));
    tra_type type = {.dtype = dtype, .cat = &cat, .sparse = true, .layout = &tra_rows};
    for (int d = 0; d < shape->n; d++) type.cut[d] = (uint32_t)1 << d;
    const char *alias = tra_levels_alias(&levels), *name = alias ? alias : tra_levels_text(&levels, text);
    tra_dims_text(shape, "", "x", "", s, sizeof s);
    tra_dims_text(&block, "", "x", "", b, sizeof b);
    char *history = no_history
                        ? NULL
                        : tra_asprintf("tra %s: gen --shape '%s' --block '%s' --dtype %s --dist %s --pattern '%s' "
                                       "--density %.17g --storage '%s' --seed %" PRId64,
                                       TRA_VERSION, s, b, dtype_text, dist_names[dist],
                                       pattern_text ? pattern_text : "uniform", p.density, name, seed);
    tra_settled made;
    tra_status status = make_sparse(&p, &type, &levels, &codec, history, &made, e);
    free(history);
    TRA_TRY(status);
    tra_info(0, "%s: %s %s in blocks of %s%s, %" PRId64 " block%s, %s, %" PRId64 " entries, %s", output, dtype_text,
             tra_shape_text(shape, s), tra_shape_text(&block, b), block_text ? "" : " (chosen)", cat.n,
             cat.n == 1 ? "" : "s", name, made.entries, tra_human(made.bytes, size));
    return TRA_OK;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    (void)argv;
    tra_dims shape;
    tra_dtype dtype;
    tra_codec codec;
    int64_t last; /* of the values of range */
    if (!output) return tra_fail(e, TRA_USAGE, "gen needs --output FILE.h5[:NAME]");
    if (strcmp(output, "-") == 0) return tra_fail(e, TRA_USAGE, "-o -: a relation cannot be written to a stream");
    if (!shape_given) return tra_fail(e, TRA_USAGE, "gen needs --shape, such as 1000x1000");
    if (!tra_parse_dims(shape_text, 0, &shape)) {
        return tra_fail(e, TRA_USAGE, "--shape: '%s' is not a shape such as 1000x1000", shape_text);
    }
    if (!tra_dtype_parse(dtype_text, &dtype))
        return tra_fail(e, TRA_USAGE, "--dtype: '%s' is none of %s", dtype_text, tra_dtype_choices());
    if (!tra_codec_parse(codec_text, &codec)) {
        return tra_fail(e, TRA_USAGE, "--codec: '%s' is none of none, zstd, zstd:LEVEL (1 to 19)", codec_text);
    }
    if (tra_dense_bytes(dtype, &shape) >= TRA_SIZE_MOST) {
        return tra_fail(e, TRA_USAGE, "--shape: %s is more than 2^61 bytes", shape_text);
    }
    if (dist == GEN_DIST_NORMAL && !tra_dtype_is_float(dtype))
        return tra_fail(e, TRA_USAGE,
                        "--dist normal makes no whole numbers: %s needs another one, or --dtype f64 or f32",
                        dtype_text);
    last = tra_max64(0, tra_dense_bytes(dtype, &shape) / (int64_t)tra_dtype_size(dtype) - 1);
    if (dist == GEN_DIST_RANGE && !tra_dtype_holds(dtype, last))
        return tra_fail(e, TRA_USAGE, "--dist range goes to %" PRId64 " here, which %s does not hold: --dtype i64 does",
                        last, dtype_text);
    if (density_text || pattern_text || storage_text) return run_sparse(&shape, dtype, codec, e);
    if (dist == GEN_DIST_IDENTITY && shape.n < 2)
        return tra_fail(e, TRA_USAGE, "--dist identity needs two dimensions or more");
    return run_dense(&shape, dtype, NULL, codec, e);
}

const tra_cmd tra_cmd_gen = {
    .name = "gen",
    .group = "Relations",
    .brief = "make a relation of random or regular values",
    .usage = "--shape SHAPE -o FILE.h5[:NAME] [options]",
    .about =
        "Makes a relation. Every element depends on the seed and its place in the tensor alone, so that the same seed "
        "gives the same values whatever the block, the memory or the number of threads.\n\n"
        "uniform: in [0, 1), of integers whole numbers from 0 to 99, of bool 0 or 1. normal: mean 0, variance 1. "
        "identity: 1 where all coordinates are equal, else 0. range: "
        "0, 1, 2, ... in row-major order. zero: zeros, stored.\n\n"
        "With --density, --pattern or --storage it has entries, stored by levels (--storage dense: all elements are "
        "stored); all other elements are 0. uniform: any "
        "element with the same probability. rmat: a graph whose edges crowd together, as Graph500 has them; edges that "
        "meet are one entry. band:W: |i - j| <= W. diag: all coordinates are equal.",
    .opts =
        (const tra_opt[]){
            TRA_ROW('o', "output", TRA_OPT_STR, &output, "FILE.h5[:NAME]", "where to (NAME: data)"),
            {'s', "shape", TRA_OPT_STR, &shape_text, "SHAPE", "extents, such as 3500x3500; '' for a scalar", NULL, NULL,
             &shape_given},
            TRA_ROW('b', "block", TRA_OPT_STR, &block_text, "SHAPE",
                    "extents of a block (default: chosen from the shape)"),
            TRA_ROW(0, "dtype", TRA_OPT_STR, &dtype_text, "f64|f32|i64|i32|bool", "element type (default: f64)"),
            {0, "dist", TRA_OPT_ENUM, &dist, NULL, "the values (default: uniform)", dists, NULL, NULL},
            TRA_ROW(0, "density", TRA_OPT_STR, &density_text, "D",
                    "the share of the elements that are entries (default: 1)"),
            TRA_ROW(0, "pattern", TRA_OPT_STR, &pattern_text, "uniform|rmat|band:WIDTH|diag",
                    "which they are (default: uniform)"),
            TRA_ROW(0, "storage", TRA_OPT_STR, &storage_text, "NAME",
                    "how entries are stored: csr, ... or FILE.tra:NAME (default: csr, or csf of other ranks)"),
            TRA_ROW(0, "seed", TRA_OPT_INT, &seed, NULL, "of the random values (default: 0)"),
            TRA_ROW(0, "codec", TRA_OPT_STR, &codec_text, "none|zstd[:LEVEL]", "compression (default: none)"),
            TRA_ROW(0, "no-history", TRA_OPT_FLAG, &no_history, NULL, "leaves the attribute tra_history out"),
            TRA_OPT_MEMORY(memory),
            TRA_OPT_PROGRESS,
            {.name = NULL}},
    .needs = TRA_NEED_HDF5,
    .run = run,
};
