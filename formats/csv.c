/* csv.c - CSV files: whether one is a table or a matrix, matrices read, and matrices written.
 *
 * A header line makes a table; a file without one whose cells are all numbers is a matrix. Both are read by the same
 * reader (table_csv_read.c, table_csv_rows.c). Of a matrix the first pass counts the rows and looks whether all cells
 * are numbers; the second delivers the numbers, stretch by stretch. */
#include "reading.h"
#include "../lib/model/labels.h"
#include "table_csv_import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool sniff(const unsigned char *head, size_t n) {
    if (n == 0 || head[0] == '%') return false;
    for (size_t i = 0; i < n; i++)
        if (head[i] < ' ' && head[i] != '\t' && head[i] != '\r' && head[i] != '\n') return false;
    return true;
}

typedef struct matrix {
    tra_source *source;
    tra_csv_import *m;
    const tra_csv_column *column; /* those that are wanted; NULL: all */
    int64_t columns;
    tra_dtype dtype;
    bool any;           /* the user gave the type, and so takes what it does to numbers */
    _Atomic bool other; /* a cell is no number */
    struct count {
        int64_t rows, inexact, overflow;
    } * count; /* of each worker */
    /* The present stretch: the numbers of each piece, and how many rows; how many numbers of which piece were taken. */
    char **block;
    int64_t *cap, *rows, pieces, piece, taken;
    bool more, begun;
} matrix;

/* ---- cells that are no numbers ----------------------------------------------------------------------------------- */

bool tra_csv_is_like_data(const char *s, size_t n) {
    if (tra_csv_is_usual_null(s, n) || (n == 4 && strncasecmp(s, "true", n) == 0) ||
        (n == 5 && strncasecmp(s, "false", n) == 0))
        return true;
    size_t i = 0, letters = 0;
    for (size_t k = 0; k < n; k++)
        letters += isalpha((unsigned char)s[k]) || (unsigned char)s[k] >= 0x80 || s[k] == '_';
    if (letters == 0) return true; /* 1,234.5 and 10% and 2020-01-31 */
    while (i < n) {                /* 1.5D+03, (5), and those with a sign of money or a minus that is not ASCII's */
        unsigned char x = (unsigned char)s[i];
        if (!strchr("+-.,($'= ", x) && x != 0xe2 && x != 0xc2) break;
        i += x == 0xe2 ? 3 : x == 0xc2 ? 2 : 1;
    }
    if (i < n && isdigit((unsigned char)s[i])) return true;
    return i + 2 < n && strchr("OoIl", s[i]) && s[i + 1] == '.' && isdigit((unsigned char)s[i + 2]);
}

/* How a cell can be read that is no number; "" when nothing is known. */
static const char *advice_of(const char *s, size_t n) {
    if (tra_csv_is_usual_null(s, n)) return " (missing numbers are nan; --null WORD,... reads words as such)";
    if (memchr(s, ',', n)) return " (numbers have a decimal point, and no comma)";
    if (!isdigit((unsigned char)*s) && !strchr("+-.", *s)) return " (--table takes columns of words, too)";
    if (memchr(s, '%', n)) return " (numbers have no percent sign)";
    if (memchr(s, 'd', n) || memchr(s, 'D', n)) return " (exponents are written with e, not d)";
    return "";
}

/* The cell is no number of the matrix's type; rounded: but one that it would round. */
static tra_status bad_cell(const matrix *x, const tra_csv_piece *p, const tra_csv_rows *rows, int64_t row,
                           int64_t source, const char *s, size_t n, bool rounded, tra_err *e) {
    char shown[TRA_SHOWN], where[96];
    const tra_csv_import *m = x->m;
    const char *name = NULL, *type = tra_dtype_name(x->dtype);
    for (int c = 0; m->column && m->form->header && c < m->made; c++)
        if (m->column[c].source == source) name = m->column[c].name;
    snprintf(where, sizeof where, "line %" PRId64 ", column %" PRId64 "%s%.40s%s",
             tra_csv_line(p, p->text + rows->place[row][0]), source + 1, name ? " (" : "",
             name ? tra_shown(name, strlen(name), shown) : "", name ? ")" : "");
    if (n == 0)
        return tra_fail(e, TRA_INPUT, "%s: %s is empty%s", m->spec, where,
                        tra_dtype_is_float(x->dtype) ? " (--empty-nan reads such cells as NaN)" : "");
    tra_shown(s, n, shown);
    if (rounded)
        return tra_fail(e, TRA_INPUT,
                        "%s: %s: %s does not hold the whole number \"%s\" exactly (--dtype i64 keeps whole numbers, "
                        "--dtype f64 rounds them)",
                        m->spec, where, type, shown);
    if (tra_csv_kind_of(&m->reading, s, n) == TRA_CSV_NUMBER)
        return tra_fail(e, TRA_INPUT, "%s: %s: %s does not hold \"%s\" (--dtype f64 takes any number)", m->spec, where,
                        type, shown);
    return tra_fail(e, TRA_INPUT, "%s: %s: \"%s\" is not a number%s", m->spec, where, shown, advice_of(s, n));
}

/* ---- a table or a matrix? --------------------------------------------------------------------------------------- */

static bool is_missing(const tra_csv_import *m, const char *s, size_t n) {
    if (n == 0) return m->job->given.empty_nan || m->reading.nnulls > 0;
    for (int i = 0; i < m->reading.nnulls; i++)
        if (strlen(m->reading.nulls[i]) == n && memcmp(m->reading.nulls[i], s, n) == 0) return true;
    return false;
}

static bool is_number(const tra_csv_import *m, const char *s, size_t n) {
    return tra_csv_kind_of(&m->reading, s, n) == TRA_CSV_NUMBER || is_missing(m, s, n);
}

/* Do the first bytes tell already that not all cells are numbers? */
static bool begins_as_table(const tra_csv_import *m) {
    int64_t n;
    const char *text = tra_csv_head(m->file, &n), *p = text, *end = text + n;
    bool all = tra_csv_head_is_all(m->file), is = false;
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    while (!is && tra_csv_record(&m->form->dialect, text, &p, end, &cells, &fault) && (all || p < end)) {
        for (int64_t i = 0; i < cells.n && !is; i++) is = !is_number(m, text + cells.v[i].at, cells.v[i].n);
        cells.n = 0;
    }
    free(cells.v);
    return is;
}

/* All cells of the rows as one column of cells. */
static tra_csv_rows flat(const tra_csv_rows *r) {
    return (tra_csv_rows){.cells = r->cells, .n = r->n * r->columns, .columns = 1};
}

static bool is_wanted(const matrix *x, int64_t source) {
    if (x->m->job->kind != TRA_CSV_MATRIX || !x->column) return true;
    for (int64_t c = 0; c < x->columns; c++)
        if (x->column[c].source == source) return true;
    return false;
}

static int64_t rows_of(const matrix *x) {
    int64_t rows = 0;
    for (int k = 0; k < x->m->nworkers; k++) rows += x->count[k].rows;
    return rows;
}

static tra_status count_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    matrix *x = ctx;
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    tra_csv_guess g = tra_csv_no_guess();
    tra_err why = {0};
    /* There may be a cell that is no number before the first fault that it tells. */
    tra_status read = tra_csv_read_piece(m, w, p, item, false, &why);
    x->count[worker].rows += w->rows.n;
    tra_csv_rows cells = flat(&w->rows);
    for (int64_t i = 0; i < cells.n && !x->other; i++) {
        if (tra_csv_has_plain_numbers(&m->reading)) i = tra_csv_skip_numbers(p, &cells, 0, NULL, i, &g);
        if (i == cells.n) break;
        size_t n;
        bool quoted;
        int64_t row = i / m->width, source = i % m->width;
        const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, row, source, &n, &quoted);
        if (is_number(m, s, n) || !is_wanted(x, source)) continue;
        if (m->job->kind == TRA_CSV_MATRIX) return bad_cell(x, p, &w->rows, row, source, s, n, false, e);
        x->other = true;
    }
    return read == TRA_OK ? TRA_OK : (*e = why, read);
}

static tra_status after_counting(void *ctx, int64_t pieces, tra_err *e) {
    matrix *x = ctx;
    tra_source *s = x->source;
    x->m->base += pieces;
    if (x->other && x->m->once) return TRA_OK; /* all of it has to be copied first */
    if (x->other) return tra_fail(e, TRA_INPUT, "%s is a table", x->m->spec);
    s->shape = (tra_dims){.n = 2, .v = {rows_of(x), x->columns}};
    return x->m->once && s->o.more_rows ? s->o.more_rows(s->o.ctx, s, e) : TRA_OK;
}

/* Counts the rows; *table: not all cells are numbers, and there may be more rows. */
static tra_status count_rows(matrix *x, bool *table, tra_err *e) {
    tra_csv_import *m = x->m;
    tra_status s = tra_csv_pass(m->file, count_piece, after_counting, x, e);
    m->base = 0;
    *table = x->other;
    return *table ? TRA_OK : s;
}

/* ---- the numbers of a matrix ------------------------------------------------------------------------------------ */

/* One cell, to number i of the block; *rounded: it fails since that would round it. */
static bool put_cell(const matrix *x, struct count *count, const char *s, size_t n, char *to, int64_t i,
                     bool *rounded) {
    const tra_csv_import *m = x->m;
    tra_csv_column as = {.type = tra_coltype_of(x->dtype)};
    if (tra_dtype_is_float(x->dtype) && is_missing(m, s, n)) {
        (void)tra_put_value(x->dtype, to, i, (tra_number){.real = NAN});
        return true;
    }
    if (!tra_csv_value(&m->reading, &as, s, n, to, i)) return false;
    if (!tra_dtype_is_float(x->dtype)) return true;
    tra_csv_guess g = tra_csv_no_guess();
    tra_csv_guess_cell(&m->reading, &g, s, n, false);
    bool f32 = x->dtype == TRA_F32;
    count->inexact += g.rounded[f32];
    count->overflow += g.overflow[f32];
    *rounded = g.rounded[f32] && !x->any;
    return !*rounded;
}

static tra_status read_piece(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e) {
    matrix *x = ctx;
    tra_csv_import *m = x->m;
    tra_csv_worker *w = &m->worker[worker];
    tra_err why = {0};
    /* There may be a fault before the first that it tells. */
    tra_status read = tra_csv_read_piece(m, w, p, item, false, &why);
    int64_t n = w->rows.n * x->columns, bytes = n * (int64_t)tra_dtype_size(x->dtype), at = 0;
    if (bytes > x->cap[item]) {
        free(x->block[item]);
        x->cap[item] = bytes + bytes / 8;
        x->block[item] = tra_malloc((size_t)x->cap[item] + 8);
    }
    x->rows[item] = w->rows.n;
    tra_csv_rows cells = flat(&w->rows);
    tra_vector to = {.values = x->block[item]};
    bool plain = !x->column && tra_csv_has_plain_numbers(&m->reading);
    for (int64_t i = 0; i < n; i++, at++) {
        if (plain) i = tra_csv_take_numbers(p, &cells, 0, NULL, i, tra_coltype_of(x->dtype), &to, &at);
        if (i == n) break;
        size_t len;
        bool quoted, rounded = false;
        int64_t row = i / x->columns, source = x->column ? x->column[i % x->columns].source : i % x->columns;
        const char *s = tra_csv_cell_text(&m->form->dialect, p, &w->rows, row, source, &len, &quoted);
        while (len > 0 && (*s == ' ' || *s == '\t')) s++, len--;
        while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t')) len--;
        if (!put_cell(x, &x->count[worker], s, len, x->block[item], at, &rounded))
            return bad_cell(x, p, &w->rows, row, source, s, len, rounded, e);
    }
    return read == TRA_OK ? TRA_OK : (*e = why, read);
}

static tra_status after_reading(void *ctx, int64_t pieces, tra_err *e) {
    matrix *x = ctx;
    (void)e;
    x->m->base += pieces;
    x->pieces = pieces;
    x->piece = x->taken = 0;
    return TRA_OK;
}

static tra_status next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    matrix *x = s->state;
    int64_t size = (int64_t)tra_dtype_size(x->dtype);
    if (!x->begun) {
        x->begun = x->more = true;
        TRA_TRY(tra_csv_begin_pass(x->m->file, e));
    }
    for (*got = 0; *got < want;) {
        if (x->piece == x->pieces) {
            if (!x->more) break;
            TRA_TRY(tra_csv_next_stretch(x->m->file, read_piece, after_reading, x, &x->more, e));
            continue;
        }
        int64_t left = x->rows[x->piece] * x->columns - x->taken, n = tra_min64(left, want - *got);
        if (n > 0) memcpy((char *)buf + *got * size, x->block[x->piece] + x->taken * size, (size_t)(n * size));
        *got += n;
        x->taken += n;
        if (n == left) x->piece++, x->taken = 0;
    }
    if (*got > 0) return TRA_OK;
    s->inexact = s->overflow = 0;
    for (int k = 0; k < x->m->nworkers; k++) {
        s->inexact += x->count[k].inexact;
        s->overflow += x->count[k].overflow;
    }
    return TRA_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* The names of a header, as labels of dimension 1. */
static const tra_dim_labels *const *column_labels(const tra_csv_import *m) {
    const char **name = tra_news(m->arena, const char *, m->ncolumns);
    const tra_dim_labels **labels = tra_news(m->arena, const tra_dim_labels *, TRA_MAXDIM);
    for (int c = 0; c < m->ncolumns; c++) name[c] = m->column[c].name;
    labels[1] = tra_dim_labels_of_texts(m->arena, "column", m->ncolumns, name);
    return labels;
}

static tra_status open_matrix(matrix *x, tra_source *s, tra_err *e) {
    tra_csv_import *m = x->m;
    const tra_table_job *job = m->job;
    int64_t pieces = tra_csv_most_pieces(m->file);
    if (job->table_option)
        return tra_fail(e, TRA_USAGE,
                        "%s has no header line and numbers alone, so it is a matrix: --%s goes with --table", m->spec,
                        job->table_option);
    char d = job->delimiter;
    if (d) TRA_TRY(tra_csv_delimiter((char[]){d, 0}, &d, e));
    if (job->given.vector && x->columns != 1)
        return tra_fail(e, TRA_USAGE, "--vector: %s has %" PRId64 " columns; say which one is meant with --columns",
                        m->spec, x->columns);
    if ((m->form->header || job->given.names) && !job->given.vector) s->labels = column_labels(m);
    m->ncolumns = 0; /* for the passes: no types are given */
    x->block = tra_news(m->arena, char *, pieces);
    x->cap = tra_news(m->arena, int64_t, pieces);
    x->rows = tra_news(m->arena, int64_t, pieces);
    s->shape = (tra_dims){.n = job->given.vector ? 1 : 2, .v = {rows_of(x), x->columns}};
    s->header_lines = m->form->header;
    s->access = TRA_ACCESS_STREAM;
    s->bytes_in = tra_csv_bytes(m->file);
    return TRA_OK;
}

static tra_status open_csv(tra_source *s, tra_err *e) {
    matrix *x = tra_new(s->arena, matrix);
    s->state = x;
    x->source = s;
    TRA_TRY(tra_csv_begin(s, &x->m, e));
    tra_csv_import *m = x->m;
    const tra_table_job *job = m->job;
    bool table =
        job->kind == TRA_CSV_TABLE || (job->kind != TRA_CSV_MATRIX && (m->form->header || job->given.more.n > 0));
    m->numbers = job->given.more.n > 0 && !m->form->header && !begins_as_table(m);
    if (job->given.more.n > 0 && !table)
        return tra_fail(e, TRA_USAGE, "--matrix: several files are the union of tables; read each matrix by itself");
    x->any = s->o.has_dtype;
    x->dtype = s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    if (job->kind == TRA_CSV_ANY && !table) table = begins_as_table(m);
    if (!table) {
        if (m->form->header || job->given.columns || job->given.names) TRA_TRY(tra_csv_choose_columns(m, e));
        x->columns = m->width;
        if (job->given.columns) x->column = m->column, x->columns = m->ncolumns;
        tra_csv_make_workers(m);
        x->count = tra_news(s->arena, struct count, m->nworkers);
        TRA_TRY(count_rows(x, &table, e));
    }
    if (!table) return open_matrix(x, s, e);
    if (job->matrix_option)
        return tra_fail(e, TRA_USAGE, "%s %s, so it is a table: --%s goes with --matrix", m->spec,
                        m->form->header ? "has a header line" : "has cells that are no numbers", job->matrix_option);
    s->table = m;
    return TRA_OK;
}

static void close_csv(tra_source *s) {
    matrix *x = s->state;
    for (int64_t i = 0; x->block && i < tra_csv_most_pieces(x->m->file); i++) free(x->block[i]);
    tra_csv_end(x->m);
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

tra_status tra_csv_delimiter(const char *text, char *to, tra_err *e) {
    if (!text) return TRA_OK;
    char x = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : strcmp(text, "space") == 0 ? ' ' : text[0];
    bool one = !text[0] || !text[1] || x != text[0] || strcmp(text, "space") == 0;
    if (!one || x == '\0' || x == '"' || x == '\n' || x == '\r' || strchr("+-.0123456789", x) ||
        isalpha((unsigned char)x))
        return tra_fail(e, TRA_USAGE, "--delimiter \"%s\": one character that no number has, tab or space is expected",
                        text);
    *to = x;
    return TRA_OK;
}

typedef struct place {
    int64_t row, column;
} place;

static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)e;
    k->entries = k->shape.n > 2;         /* as entries() has them */
    k->state = tra_new(k->arena, place); /* of the next cell */
    size_t n = strlen(to);
    if (!k->o.delimiter) k->o.delimiter = n > 4 && strcmp(to + n - 4, ".tsv") == 0 ? '\t' : ',';
    return TRA_OK;
}

/* The label of a row, before its cells. */
static tra_status put_margin(tra_sink *k, int64_t row, tra_err *e) {
    tra_str label = {0};
    tra_csv_put_margin(&label, k->labels, row, k->o.delimiter);
    tra_status s = tra_newfile_write(&k->out, tra_str_get(&label), label.n, e);
    tra_str_free(&label);
    return s;
}

static tra_status put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    place *at = k->state;
    int64_t cols = k->shape.n == 2 ? k->shape.v[1] : 1; /* a vector is a column */
    bool labelled = k->labels && k->shape.n > 0 && k->labels[0];
    for (int64_t i = 0; i < n; i++) {
        if (labelled && at->column == 0) TRA_TRY(put_margin(k, at->row, e));
        TRA_TRY(tra_newfile_room(&k->out, TRA_NUMTEXT + 1, e));
        char *p = k->out.buf + k->out.len;
        size_t len = tra_print_value(k->dtype, data, i, p);
        if (++at->column == cols) at->column = 0, at->row++;
        p[len++] = at->column ? k->o.delimiter : '\n';
        k->out.len += len;
        k->out.bytes += (int64_t)len;
    }
    return TRA_OK;
}

/* The header: of entries the names of dimensions, as entries() has them; else the labels of columns. */
static tra_status begin(tra_sink *k, tra_err *e) {
    tra_str head = {0};
    if (k->entries)
        tra_csv_put_entries(&head, k->labels, k->shape.n, "i", k->o.delimiter);
    else
        tra_csv_put_top(&head, k->labels, k->shape.n, k->o.delimiter);
    tra_status s = tra_newfile_write(&k->out, tra_str_get(&head), head.n, e);
    tra_str_free(&head);
    return s;
}

static tra_status entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    tra_str line = {0};
    tra_csv_put_entry(&line, k->labels, at, k->dtype, value, 0, k->o.delimiter);
    tra_status s = tra_newfile_write(&k->out, line.s, line.n, e);
    tra_str_free(&line);
    return s;
}

const tra_format tra_format_csv = {
    .name = "csv",
    .says = "text in columns: a table below a header line, a matrix of numbers without one",
    .suffixes = ".csv .tsv .txt .dat",
    .sniff = sniff,
    .reads = tra_options_csv,
    .writes = TRA_OPTIONS(&tra_option_to_delimiter),
    .tables = true,
    .open = open_csv,
    .next = next,
    .close = close_csv,
    .prepare = prepare,
    .begin = begin,
    .put = put,
    .entry = entry,
};
