/* tables.c - info, digest and scans of tables. */
#include "tables.h"

#include "../formats/formats.h"
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scans ------------------------------------------------------------------------------------------------------ */

enum { STRIP = 1 << 16 };

typedef struct scan {
    tra_rel *rel;
    tra_column_fn *fn;
    void *ctx;
    int64_t strip, strips; /* rows at a time */
    int only;              /* column; -1: all */
    tra_vector *room;      /* of each worker */
} scan;

static tra_status scan_item(void *ctx, int worker, int64_t item, tra_err *e) {
    scan *s = ctx;
    const tra_schema *schema = tra_rel_type(s->rel)->columns;
    int c = s->only < 0 ? (int)(item / s->strips) : s->only;
    int64_t first = item % s->strips * s->strip, n = tra_min64(s->strip, tra_rel_rows(s->rel) - first);
    tra_vector *v = tra_calloc((size_t)schema->n + 1, sizeof *v);
    v[c] = s->room[worker];
    if (!tra_column_has_states(&schema->v[c])) v[c].state = NULL;
    tra_batch b = {.schema = schema, .rows = n, .v = v};
    tra_err why = {0};
    tra_status status = tra_rel_read_rows(s->rel, first, &b, &why);
    if (status != TRA_OK) {
        status = s->fn(s->ctx, worker, c, first, NULL, &why);
        if (status != TRA_OK) *e = why;
    } else {
        status = s->fn(s->ctx, worker, c, first, &b, e);
    }
    free(v);
    tra_meter_add(1);
    return status;
}

/* How many workers there are, and how many items, when each takes so many rows. */
static tra_status cut(scan *s, int64_t strip, int64_t memory, int *workers, int64_t *items, tra_err *e) {
    int64_t rows = tra_rel_rows(s->rel), block = tra_rel_type(s->rel)->cat->bound.v[0];
    int64_t chunk =
        tra_max64(block * 8, (int64_t)tra_rel_scratch_bytes(s->rel)); /* is read as a whole for its checksum */
    s->strip = strip;
    s->strips = tra_max64(1, tra_ceil_div(rows, strip));
    *items = rows ? s->strips * (s->only < 0 ? tra_rel_type(s->rel)->columns->n : 1) : 0;
    return tra_workers(memory, tra_rel_held_bytes(s->rel), strip * 9 + chunk + TRA_WORKER_BYTES, tra_max64(1, *items),
                       workers, e);
}

tra_status tra_scan_columns(tra_rel *rel, const char *what, int only, int64_t memory, tra_column_fn *fn, void *ctx,
                            tra_err *e) {
    int n;
    int64_t items, block = tra_rel_type(rel)->cat->bound.v[0];
    scan s = {.rel = rel, .fn = fn, .ctx = ctx, .only = only};
    /* a compressed block is decoded once when it is read whole */
    if (!tra_rel_is_coded(rel) || block <= STRIP || cut(&s, block, memory, &n, &items, NULL) != TRA_OK)
        TRA_TRY(cut(&s, STRIP, memory, &n, &items, e));
    s.room = tra_calloc((size_t)n, sizeof *s.room);
    for (int i = 0; i < n; i++) s.room[i] = (tra_vector){tra_malloc((size_t)s.strip * 8), tra_malloc((size_t)s.strip)};
    tra_meter_begin(tra_progress_here(), what, items);
    tra_status status = tra_crew_run(n, items, scan_item, &s, e);
    tra_meter_end();
    for (int i = 0; i < n; i++) {
        free(s.room[i].values);
        free(s.room[i].state);
    }
    free(s.room);
    return status;
}

static tra_status add_digest(void *ctx, int worker, int c, int64_t first, const tra_batch *b, tra_err *e) {
    tra_digest *part = ctx;
    (void)c;
    if (!b) return e->status;
    tra_digest_rows(&part[worker], first, b);
    return TRA_OK;
}

tra_status tra_digest_table(tra_rel *rel, const char *spec, int64_t memory, char text[33], tra_err *e) {
    tra_digest *part = tra_calloc(TRA_MAXWORKERS, sizeof *part);
    tra_status s = tra_scan_columns(rel, spec, -1, memory, add_digest, part, e);
    for (int i = 1; i < TRA_MAXWORKERS; i++) tra_digest_add(&part[0], &part[i]);
    if (s == TRA_OK) tra_digest_table_text(&part[0], tra_rel_type(rel)->columns, tra_rel_rows(rel), text);
    free(part);
    return s;
}

/* ---- info ------------------------------------------------------------------------------------------------------- */

/* A value as facts have it, as text. */
static const char *fact_text(const tra_column *c, int64_t v, tra_arena *a) {
    char buf[TRA_VALUETEXT];
    const char *text;
    int32_t word = (int32_t)v;
    uint8_t byte = (uint8_t)v;
    double x;
    memcpy(&x, &v, sizeof x);
    float f = (float)x;
    tra_vector one = {.values = &v};
    if (tra_coltype_size(c->type) == 4) one.values = c->type == TRA_COL_F32 ? (void *)&f : (void *)&word;
    if (tra_coltype_size(c->type) == 1) one.values = &byte;
    if (c->dict && !c->dict->begin) return "..."; /* not read: they do not fit below the ceiling */
    if (c->dict && (v < 0 || v >= c->dict->n)) return "?";
    size_t n = tra_column_text(c, &one, 0, buf, &text);
    return tra_arena_strndup(a, text, n);
}

static void put_fact(tra_json *j, const char *key, const tra_column *c, int64_t v, tra_arena *a) {
    double x;
    memcpy(&x, &v, sizeof x);
    if (tra_coltype_is_float(c->type))
        tra_json_num(j, key, x);
    else if (tra_coltype_is_integer(c->type))
        tra_json_int(j, key, v);
    else if (c->type == TRA_COL_BOOL)
        tra_json_bool(j, key, v != 0);
    else
        tra_json_str(j, key, fact_text(c, v, a));
}

static void column_json(tra_rel *rel, int i, tra_json *j) {
    const tra_column *c = &tra_rel_type(rel)->columns->v[i];
    tra_arena *a = tra_arena_new();
    tra_column_facts f;
    bool known = tra_rel_column_facts(rel, i, &f);
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "name", c->name);
    tra_json_str(j, "type", tra_coltype_name(c->type));
    tra_json_bool(j, "nullable", c->nullable);
    if (c->dict) tra_json_int(j, "dictionary", c->dict->n);
    if (known) {
        bool any = f.rows > f.nulls;
        tra_json_int(j, "nulls", f.nulls);
        tra_json_int(j, "distinct", f.distinct);
        tra_json_bool(j, "distinct_exact", f.exact);
        tra_json_bool(j, "sorted", f.sorted);
        if (any) put_fact(j, "min", c, f.min, a);
        if (any) put_fact(j, "max", c, f.max, a);
        if (!any) tra_json_str(j, "min", NULL), tra_json_str(j, "max", NULL);
    } else {
        static const char *const keys[] = {"nulls", "distinct", "min", "max"};
        for (int k = 0; k < 4; k++) tra_json_str(j, keys[k], NULL);
    }
    tra_json_end(j, '}');
    tra_arena_free(a);
}

static void column_text(tra_rel *rel, int i, int widest, tra_str *out) {
    const tra_column *c = &tra_rel_type(rel)->columns->v[i];
    tra_arena *a = tra_arena_new();
    tra_column_facts f;
    char name[TRA_NAMETEXT];
    tra_str_printf(out, "    %-*s  %-9s", widest, tra_printable_name(c->name, name), tra_coltype_name(c->type));
    if (tra_rel_column_facts(rel, i, &f)) {
        char shown[2][TRA_SHOWN];
        bool any = f.rows > f.nulls;
        if (any) {
            const char *min = fact_text(c, f.min, a), *max = fact_text(c, f.max, a);
            tra_str_printf(out, "  %s to %s", tra_shown(min, strlen(min), shown[0]),
                           tra_shown(max, strlen(max), shown[1]));
        }
        tra_str_printf(out, "%s%s%" PRId64 " distinct", any ? ", " : "  ", f.exact ? "" : "about ", f.distinct);
        if (f.nulls) tra_str_printf(out, ", %" PRId64 " NULL", f.nulls);
        if (f.sorted && f.rows > 1) tra_str_add(out, ", sorted");
    } else if (c->nullable) {
        tra_str_add(out, "  may have NULLs");
    }
    tra_str_add(out, "\n");
    tra_arena_free(a);
}

static void info_text(tra_rel *rel, const char *spec, tra_str *out) {
    const tra_relinfo *i = tra_rel_info(rel);
    const tra_schema *s = tra_rel_type(rel)->columns;
    char a[32], b[32];
    int widest = 0;
    for (int c = 0; c < s->n; c++) {
        int n = (int)strlen(s->v[c].name);
        widest = n > widest && n <= 40 ? n : widest;
    }
    tra_str_printf(out, "%s\n  table       %" PRId64 " rows, %d columns\n", spec, tra_rel_rows(rel), s->n);
    for (int c = 0; c < s->n; c++) column_text(rel, c, widest, out);
    int64_t block = tra_rel_type(rel)->cat->bound.v[0];
    tra_str_printf(out, "  blocks      %" PRId64 " of %" PRId64 " rows\n", tra_ceil_div(tra_rel_rows(rel), block),
                   block);
    tra_str_printf(out, "  group       %s in %s\n", i->name, i->path);
    if (tra_rel_is_coded(rel)) tra_str_printf(out, "  codec       %s\n", i->codec);
    tra_str_printf(out, "  size        %s, file %s\n", tra_human(i->stored_bytes, a), tra_human(i->file_bytes, b));
    tra_str_printf(out, "  checksums   %s\n", i->checksums ? "yes" : "none");
    if (i->digest) tra_str_printf(out, "  digest      %s\n", i->digest);
    if (i->history) tra_str_printf(out, "  history     %s\n", i->history);
    tra_str_add(out, i->foreign ? "  written by another program\n"
                     : tra_rel_is_coded(rel)
                         ? "  readable by HDF5 programs that find the zstd filter 32015 (make install "
                           "puts it there); for others: tra export --to h5\n"
                         : "  readable by any HDF5 program; a data frame to those that know "
                           "AnnData's\n");
}

void tra_info_file(const tra_relinfo *i, tra_json *out) {
    tra_json_str(out, "codec", i->codec);
    tra_json_int(out, "stored_bytes", i->stored_bytes);
    tra_json_int(out, "file_bytes", i->file_bytes);
    tra_json_bool(out, "checksums", i->checksums);
    tra_json_bool(out, "foreign", i->foreign);
    tra_json_str(out, "digest", i->digest);
    tra_json_str(out, "history", i->history);
}

tra_status tra_info_table(tra_rel *rel, const char *spec, tra_json *out, tra_err *e) {
    const tra_relinfo *i = tra_rel_info(rel);
    const tra_schema *s = tra_rel_type(rel)->columns;
    (void)e;
    if (tra_common_opts.format != TRA_FORMAT_JSON) {
        info_text(rel, spec, &out->out);
        return TRA_OK;
    }
    tra_json_begin(out, NULL, '{');
    tra_json_str(out, "name", spec);
    tra_json_str(out, "path", i->path);
    tra_json_str(out, "dataset", i->name);
    tra_json_int(out, "rows", tra_rel_rows(rel));
    tra_json_begin(out, "columns", '[');
    for (int c = 0; c < s->n; c++) column_json(rel, c, out);
    tra_json_end(out, ']');
    tra_json_int(out, "block", tra_rel_type(rel)->cat->bound.v[0]);
    tra_json_int(out, "tuples", tra_rel_type(rel)->cat->n);
    tra_info_file(i, out);
    tra_json_end(out, '}');
    return TRA_OK;
}
