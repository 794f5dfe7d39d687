/* table_export.c - tables to files of other programs: CSV, numpy's arrays of records, HDF5. */
#include "../lib/model/labels.h"
#include "formats.h"
#include "export_int.h"

#include "../lib/base/meter.h"
#include "../lib/tablefile/table_file.h"
#include "../lib/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows, strip by strip --------------------------------------------------------------------------------------- */

enum { STRIP = 1 << 16 };

tra_status tra_table_strips(tra_rel *rel, int64_t from, int64_t rows, int64_t memory, tra_table_strip *fn, void *ctx,
                            tra_err *e) {
    const tra_schema *s = tra_rel_type(rel)->columns;
    int64_t each = tra_schema_row_bytes(s) + 1, most = tra_min64(STRIP, tra_max64(1, rows));
    int64_t fixed = tra_rel_held_bytes(rel) + 64 * (2 * (int64_t)s->n + 1);
    fixed = tra_add_most(fixed, (int64_t)tra_rel_scratch_bytes(rel));
    TRA_TRY(tra_buffer_check(memory, tra_add_most(fixed, tra_mul_most(each, tra_min64(most, 256))), e));
    most = tra_max64(1, tra_min64(most, (tra_buffer_bytes(memory) - fixed) / each));
    /* a compressed block is decoded once when it is read whole */
    int64_t block = tra_rel_type(rel)->cat->bound.v[0];
    if (tra_rel_is_coded(rel) && from == 0 && rows > most && block > most &&
        tra_mul_most(block, each) <= tra_buffer_bytes(memory) - fixed)
        most = block;
    tra_vector *v = tra_calloc((size_t)s->n + 1, sizeof *v);
    for (int c = 0; c < s->n; c++) {
        v[c].values = tra_malloc((size_t)most * tra_coltype_size(s->v[c].type) + 64);
        v[c].state = s->v[c].nullable ? tra_malloc((size_t)most + 64) : NULL;
    }
    tra_status status = TRA_OK;
    for (int64_t n; rows > 0 && status == TRA_OK; from += n, rows -= n) {
        n = tra_min64(most, rows);
        tra_batch b = {.schema = s, .rows = n, .v = v};
        status = tra_rel_read_rows(rel, from, &b, e);
        if (status == TRA_OK) status = fn(ctx, from, &b, e);
        tra_meter_add(n);
    }
    for (int c = 0; c < s->n; c++) {
        free(v[c].values);
        free(v[c].state);
    }
    free(v);
    return status;
}

/* ---- CSV -------------------------------------------------------------------------------------------------------- */

size_t tra_column_text(const tra_column *c, const tra_vector *v, int64_t i, char buf[TRA_VALUETEXT],
                       const char **text) {
    *text = buf;
    if (v->state && v->state[i]) return 0;
    switch (c->type) {
    case TRA_COL_NUMBERS:
        if (c->type != TRA_COL_BOOL) return tra_print_value(tra_coltype_held(c->type), v->values, i, buf);
        *text = ((const uint8_t *)v->values)[i] ? "true" : "false";
        return strlen(*text);
    case TRA_COL_DATE: return strlen(tra_date_text(((const int32_t *)v->values)[i], buf));
    case TRA_COL_TIMESTAMP: return strlen(tra_timestamp_text(((const int64_t *)v->values)[i], buf));
    case TRA_COL_STRING:
    case TRA_COL_TEXT: {
        int64_t n;
        *text = tra_dictionary_at(c->dict, ((const int32_t *)v->values)[i], &n);
        return (size_t)n;
    }
    }
    return 0;
}

/* Would it be read back as something else? Then it is quoted: what has delimiters, quotes or ends of lines in it, and
 * the empty text, which is no NULL. */
static bool wants_quotes(const char *s, size_t n, char delimiter, bool text) {
    if (n == 0) return text;
    for (size_t i = 0; i < n; i++)
        if (s[i] == delimiter || s[i] == '"' || s[i] == '\n' || s[i] == '\r') return true;
    return text && (s[0] == ' ' || s[n - 1] == ' ' || s[0] == '#');
}

/* text: the cell is a string, so that an empty one gets quotes, which tell it from NULL. */
static void put_cell(tra_str *out, const char *s, size_t n, char delimiter, bool text) {
    if (!wants_quotes(s, n, delimiter, text)) {
        tra_str_addn(out, s, n);
        return;
    }
    tra_str_addn(out, "\"", 1);
    for (size_t i = 0; i < n; i++) tra_str_addn(out, s[i] == '"' ? "\"\"" : s + i, s[i] == '"' ? 2 : 1);
    tra_str_addn(out, "\"", 1);
}

static void put_name(tra_str *out, const char *name, char delimiter) {
    put_cell(out, name, strlen(name), delimiter, true);
}

void tra_csv_put_header(tra_str *out, const tra_schema *s, char delimiter) {
    for (int c = 0; c < s->n; c++) {
        if (c) tra_str_addn(out, &delimiter, 1);
        put_name(out, s->v[c].name, delimiter);
    }
    tra_str_addn(out, "\n", 1);
}

static void put_label(tra_str *out, const tra_dim_labels *l, int64_t position, char delimiter) {
    tra_arena *a = tra_arena_new();
    const char *text = tra_dim_labels_text(a, l, position);
    put_cell(out, text, strlen(text), delimiter, l->type == TRA_COL_STRING);
    tra_arena_free(a);
}

void tra_csv_put_margin(tra_str *out, const tra_dim_labels *const *labels, int64_t row, char delimiter) {
    if (!labels || !labels[0]) return;
    put_label(out, labels[0], row, delimiter);
    tra_str_addn(out, &delimiter, 1);
}

void tra_csv_put_top(tra_str *out, const tra_dim_labels *const *labels, int rank, char delimiter) {
    const tra_dim_labels *rows = labels && rank > 0 ? labels[0] : NULL,
                         *columns = labels && rank == 2 ? labels[1] : NULL;
    if (!columns && !(rows && rank == 1)) return;
    if (rows) put_cell(out, rows->name, strlen(rows->name), delimiter, true);
    if (rank == 1) tra_str_printf(out, "%cvalue", delimiter);
    for (int64_t c = 0; columns && c < columns->n; c++) {
        if (c || rows) tra_str_addn(out, &delimiter, 1);
        put_label(out, columns, c, delimiter);
    }
    tra_str_addn(out, "\n", 1);
}

void tra_csv_put_entry(tra_str *out, const tra_dim_labels *const *labels, const tra_dims *at, tra_dtype t,
                       const void *data, int64_t i, char delimiter) {
    char number[TRA_NUMTEXT];
    for (int d = 0; d < at->n; d++) {
        if (labels && labels[d])
            put_label(out, labels[d], at->v[d], delimiter);
        else
            tra_str_printf(out, "%" PRId64, at->v[d]);
        tra_str_addn(out, &delimiter, 1);
    }
    tra_str_addn(out, number, tra_print_value(t, data, i, number));
    tra_str_add(out, "\n");
}

void tra_csv_put_entries(tra_str *out, const tra_dim_labels *const *labels, int rank, const char *dim, char delimiter) {
    for (int d = 0; d < rank; d++) {
        if (labels && labels[d])
            put_name(out, labels[d]->name, delimiter);
        else
            tra_str_printf(out, "%s%d", dim, d);
        tra_str_addn(out, &delimiter, 1);
    }
    tra_str_add(out, "value\n");
}

void tra_csv_put_row(tra_str *out, const tra_batch *b, int64_t i, char delimiter) {
    char buf[TRA_VALUETEXT];
    const char *text;
    for (int c = 0; c < b->schema->n; c++) {
        const tra_column *col = &b->schema->v[c];
        bool null = b->v[c].state && b->v[c].state[i];
        size_t n = tra_column_text(col, &b->v[c], i, buf, &text);
        if (c) tra_str_addn(out, &delimiter, 1);
        put_cell(out, text, n, delimiter, tra_coltype_is_coded(col->type) && !null);
    }
    tra_str_addn(out, "\n", 1);
}

typedef struct writing {
    tra_newfile out;
    char delimiter;
    tra_str line;
    struct record *record; /* npy */
    char *row;
    int64_t row_bytes;
    int64_t inexact;    /* npy: whole numbers that were rounded */
    tra_writer *writer; /* h5 */
    tra_digest digest;
} writing;

static tra_status csv_strip(void *ctx, int64_t first, const tra_batch *b, tra_err *e) {
    writing *w = ctx;
    (void)first;
    for (int64_t i = 0; i < b->rows; i++) {
        tra_csv_put_row(&w->line, b, i, w->delimiter);
        if (w->line.n < 1 << 16 && i + 1 < b->rows) continue;
        TRA_TRY(tra_newfile_write(&w->out, w->line.s, w->line.n, e));
        w->line.n = 0;
    }
    return TRA_OK;
}

static tra_status write_csv(const tra_export_job *job, tra_rel *rel, writing *w, tra_err *e) {
    size_t n = strlen(job->to);
    w->delimiter = job->sink.delimiter                             ? job->sink.delimiter
                   : n > 4 && strcmp(job->to + n - 4, ".tsv") == 0 ? '\t'
                                                                   : ',';
    tra_csv_put_header(&w->line, tra_rel_type(rel)->columns, w->delimiter);
    TRA_TRY(tra_newfile_write(&w->out, w->line.s, w->line.n, e));
    w->line.n = 0;
    return tra_table_strips(rel, 0, tra_rel_rows(rel), job->memory, csv_strip, w, e);
}

/* ---- numpy ------------------------------------------------------------------------------------------------------ */

/* A field of a record: its type in numpy, and bytes. */
typedef struct record {
    char type[24];
    int64_t bytes, points; /* points: code points of the longest text */
    bool floats;           /* whole numbers with NULLs, which are NaN */
} record;

static int64_t points_of(const char *s, int64_t n) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) k += (s[i] & 0xc0) != 0x80;
    return k;
}

static record record_of(const tra_column *c) {
    record r = {.bytes = (int64_t)tra_coltype_size(c->type)};
    switch (c->type) {
    case TRA_COL_NUMBERS:
        r.floats = c->nullable && !tra_coltype_is_float(c->type);
        snprintf(r.type, sizeof r.type, "%s%s", c->type == TRA_COL_BOOL && !r.floats ? "|" : "<",
                 r.floats ? "f8" : tra_dtype_rows[tra_coltype_held(c->type)].numpy);
        if (r.floats) r.bytes = 8;
        return r;
    case TRA_COL_DATE:
    case TRA_COL_TIMESTAMP:
        snprintf(r.type, sizeof r.type, c->type == TRA_COL_DATE ? "<M8[D]" : "<M8[us]");
        r.bytes = 8;
        return r;
    case TRA_COL_STRING:
    case TRA_COL_TEXT: break;
    }
    r.points = 1;
    for (int64_t i = 0; i < c->dict->n; i++) {
        int64_t n;
        const char *s = tra_dictionary_at(c->dict, i, &n);
        r.points = tra_max64(r.points, points_of(s, n));
    }
    r.bytes = 4 * r.points;
    snprintf(r.type, sizeof r.type, "<U%" PRId64, r.points);
    return r;
}

/* UTF-8 as numbers of code points. What is no UTF-8 was never taken into a table by import. */
static void put_points(const char *s, int64_t n, int64_t points, char *to) {
    memset(to, 0, (size_t)points * 4);
    for (int64_t i = 0, k = 0; i < n && k < points; k++) {
        unsigned char c = (unsigned char)s[i++];
        uint32_t v = c < 0x80 ? c : c < 0xe0 ? c & 0x1f : c < 0xf0 ? c & 0xf : c & 7;
        while (i < n && ((unsigned char)s[i] & 0xc0) == 0x80) v = v << 6 | ((unsigned char)s[i++] & 0x3f);
        memcpy(to + 4 * k, &v, 4);
    }
}

/* *inexact counts whole numbers that are rounded. */
static void put_field(const tra_column *c, const record *r, const tra_vector *v, int64_t i, char *to,
                      int64_t *inexact) {
    bool null = v->state && v->state[i];
    size_t size = tra_coltype_size(c->type);
    const char *at = (const char *)v->values + (size_t)i * size;
    int64_t whole = size == 1 ? *(const uint8_t *)at : 0, n;
    int32_t word;
    if (size == 4) memcpy(&word, at, 4), whole = word;
    if (size == 8) memcpy(&whole, at, 8);
    if (tra_coltype_is_coded(c->type)) {
        const char *s = null ? "" : tra_dictionary_at(c->dict, whole, &n);
        put_points(s, null ? 0 : n, r->points, to);
    } else if (c->type == TRA_COL_DATE || c->type == TRA_COL_TIMESTAMP) {
        if (null) whole = INT64_MIN; /* not a time */
        memcpy(to, &whole, 8);
    } else if (r->floats) {
        double x = null ? (double)NAN : (double)whole;
        *inexact += !null && (long double)x != (long double)whole;
        memcpy(to, &x, 8);
    } else if (null) {
        float f = NAN;
        double x = NAN;
        memcpy(to, size == 4 ? (void *)&f : (void *)&x, size);
    } else {
        memcpy(to, at, size);
    }
}

static tra_status npy_strip(void *ctx, int64_t first, const tra_batch *b, tra_err *e) {
    writing *w = ctx;
    (void)first;
    for (int64_t i = 0; i < b->rows; i++) {
        char *at = w->row;
        for (int c = 0; c < b->schema->n; c++) {
            put_field(&b->schema->v[c], &w->record[c], &b->v[c], i, at, &w->inexact);
            at += w->record[c].bytes;
        }
        TRA_TRY(tra_newfile_write(&w->out, w->row, (size_t)w->row_bytes, e));
    }
    return TRA_OK;
}

/* A name as Python writes it in quotes. */
static void put_python(tra_str *t, const char *s) {
    tra_str_add(t, "'");
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') tra_str_add(t, "\\");
        if ((unsigned char)*s < ' ')
            tra_str_printf(t, "\\x%02x", (unsigned char)*s);
        else
            tra_str_addn(t, s, 1);
    }
    tra_str_add(t, "'");
}

static tra_status write_npy(const tra_export_job *job, tra_rel *rel, writing *w, tra_err *e) {
    const tra_schema *s = tra_rel_type(rel)->columns;
    tra_str head = {0};
    w->record = tra_calloc((size_t)s->n + 1, sizeof *w->record);
    tra_str_add(&head, "{'descr': [");
    for (int c = 0; c < s->n; c++) {
        w->record[c] = record_of(&s->v[c]);
        w->row_bytes = tra_add_most(w->row_bytes, w->record[c].bytes);
        tra_str_add(&head, "(");
        put_python(&head, s->v[c].name);
        tra_str_printf(&head, ", '%s'), ", w->record[c].type);
    }
    tra_str_printf(&head, "], 'fortran_order': False, 'shape': (%" PRId64 ",), }", tra_rel_rows(rel));
    while ((head.n + 13) % 64) tra_str_add(&head, " ");
    tra_str_add(&head, "\n");
    uint32_t n = (uint32_t)head.n;
    tra_status status = tra_buffer_check(job->memory, w->row_bytes, e);
    if (status == TRA_OK) status = tra_newfile_write(&w->out, "\x93NUMPY\3\0", 8, e); /* 3.0: names are UTF-8 */
    if (status == TRA_OK) status = tra_newfile_write(&w->out, &n, 4, e);
    if (status == TRA_OK) status = tra_newfile_write(&w->out, head.s, head.n, e);
    tra_str_free(&head);
    if (status != TRA_OK) return status;
    w->row = tra_malloc((size_t)w->row_bytes + 8);
    return tra_table_strips(rel, 0, tra_rel_rows(rel), job->memory, npy_strip, w, e);
}

/* ---- HDF5 ------------------------------------------------------------------------------------------------------- */

static tra_status h5_strip(void *ctx, int64_t first, const tra_batch *b, tra_err *e) {
    writing *w = ctx;
    tra_digest_rows(&w->digest, first, b);
    return tra_writer_put_rows(w->writer, first, b, e);
}

static tra_status write_h5(const tra_export_job *job, tra_rel *rel, writing *w, int64_t *bytes, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    tra_write_options o = {.history = tra_rel_info(rel)->history};
    char digest[33];
    if (job->sink.gzip) return tra_fail(e, TRA_USAGE, "--gzip: tables are written as they are");
    TRA_TRY(tra_writer_create(job->to, t, &o, &w->writer, e));
    TRA_TRY(tra_writer_place_rows(w->writer, NULL, e));
    TRA_TRY(tra_table_strips(rel, 0, tra_rel_rows(rel), job->memory, h5_strip, w, e));
    tra_digest_table_text(&w->digest, t->columns, tra_rel_rows(rel), digest);
    *bytes = tra_writer_stored(w->writer);
    tra_writer *writer = w->writer;
    w->writer = NULL;
    return tra_writer_commit(writer, digest, e);
}

/* ---- the export ------------------------------------------------------------------------------------------------- */

tra_status tra_export_table(const tra_export_job *job, tra_rel *rel, tra_export_receipt *r, tra_err *e) {
    writing w = {0};
    const char *to = job->format->name;
    bool csv = strcmp(to, "csv") == 0, npy = strcmp(to, "npy") == 0, h5 = job->format->rewrite != NULL;
    r->shape = (tra_dims){.n = 1, .v = {tra_rel_rows(rel)}};
    r->table = true;
    TRA_TRY(tra_export_check(job, job->from, tra_rel_type(rel), e));
    tra_status s = TRA_OK;
    if (!h5) s = tra_newfile_open(job->to, !csv, 256 << 10, &w.out, e);
    if (s != TRA_OK) return s;
    tra_meter_begin(job->progress, job->from, tra_rel_rows(rel));
    s = csv ? write_csv(job, rel, &w, e) : npy ? write_npy(job, rel, &w, e) : write_h5(job, rel, &w, &r->bytes, e);
    tra_meter_end();
    if (!h5 && s == TRA_OK)
        s = tra_newfile_commit(&w.out, e);
    else if (!h5)
        tra_newfile_abort(&w.out);
    if (!h5) r->bytes = w.out.bytes;
    r->closed = w.out.closed;
    r->inexact = w.inexact;
    tra_writer_abort(w.writer);
    tra_str_free(&w.line);
    free(w.record);
    free(w.row);
    return s;
}
