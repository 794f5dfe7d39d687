/* csv.c - tables of numbers as text: comma, tab, semicolon or blanks between cells, with or without a header.
 *
 * Cells are taken one by one from the input's buffer, so that a row may be longer than any memory. A file is passed
 * over twice: once to count its lines (fast), so that the relation can be laid out, once to read the numbers. */
#include "formats.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_CELL = 4096, BLANKS = ' ' };

typedef struct csv {
    char delimiter; /* BLANKS: runs of blanks and tabs */
    int64_t line;   /* of the cell read last, from 1 */
    int64_t col;    /* cells of the present row that were read */
    int64_t cols;
    int64_t rows;     /* completed */
    int64_t expected; /* rows of the file, or -1 */
    double *first;    /* the first row, when it is data: from malloc */
    int64_t taken;    /* of it */
    bool newline;     /* the last cell ended its line */
    int64_t first_line;
} csv;

typedef enum cell_end { CELL_DELIMITER, CELL_LINE, CELL_FILE } cell_end;
typedef struct cell {
    const char *s;
    size_t n;
    bool quoted;
    cell_end end;
} cell;

static bool sniff(const unsigned char *head, size_t n) {
    if (n == 0 || head[0] == '%') return false;
    for (size_t i = 0; i < n; i++)
        if (head[i] < ' ' && head[i] != '\t' && head[i] != '\r' && head[i] != '\n') return false;
    return true;
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

static bool is_blank(const csv *c, char x) { return x == ' ' || x == '\r' || (x == '\t' && c->delimiter != '\t'); }

static tra_status unclosed(const tra_source *s, const csv *c, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": the quote is not closed", s->spec, c->line,
                    c->col + 1);
}

/* The next cell, without blanks around it. Its text is valid until the next call. */
static tra_status next_cell(tra_source *s, csv *c, cell *out, tra_err *e) {
    tra_stream *in = &s->in;
    size_t have;
    if (c->newline) c->line++, c->newline = false;
    TRA_TRY(tra_stream_need(in, LONGEST_CELL + 2, &have, e));
    const char *p = (const char *)in->buf + in->pos, *begin = p, *end = p + have;
    while (p < end && is_blank(c, *p)) p++;
    *out = (cell){.s = p};
    if (p < end && *p == '"') {
        out->quoted = true;
        out->s = ++p;
        int64_t lines = 0;
        for (;; p++) {
            if (p == end) return unclosed(s, c, e);
            if (*p == '\n') lines++;
            if (*p == '"') {
                if (p + 1 < end && p[1] == '"')
                    p++;
                else
                    break;
            }
        }
        out->n = (size_t)(p++ - out->s);
        if (lines > 0 && c->rows + c->cols > 0) return unclosed(s, c, e); /* no number has a line's end in it */
        c->line += lines;
        while (p < end && is_blank(c, *p)) p++;
        if (p < end && *p != '\n' && *p != c->delimiter && c->delimiter != BLANKS)
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": text after the closing quote",
                            s->spec, c->line, c->col + 1);
    } else {
        if (c->delimiter == BLANKS)
            while (p < end && *p != '\n' && !is_blank(c, *p)) p++;
        else
            while (p < end && *p != '\n' && *p != c->delimiter) p++;
        const char *q = p;
        while (q > out->s && is_blank(c, q[-1])) q--;
        out->n = (size_t)(q - out->s);
        if (c->delimiter == BLANKS)
            while (p < end && is_blank(c, *p)) p++;
    }
    if (p - begin > LONGEST_CELL)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": a cell of more than %d bytes", s->spec,
                        c->line, c->col + 1, LONGEST_CELL);
    out->end = p == end ? CELL_FILE : *p == '\n' ? CELL_LINE : CELL_DELIMITER;
    in->pos += (size_t)(p - begin) + (out->end == CELL_LINE || (out->end == CELL_DELIMITER && c->delimiter != BLANKS));
    c->newline = out->end == CELL_LINE;
    return TRA_OK;
}

static tra_status bad_cell(const tra_source *s, const csv *c, const cell *x, tra_err *e) {
    char shown[TRA_SHOWN];
    const char *advice = memchr(x->s, ',', x->n) ? " (numbers have a decimal point, not a comma)" : "";
    if (x->n == 0)
        return tra_fail(e, TRA_INPUT,
                        "%s: line %" PRId64 ", column %" PRId64 " is empty (--empty-nan reads such cells as NaN)",
                        s->spec, c->line, c->col + 1);
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": \"%s\" is not a number%s", s->spec,
                    c->line, c->col + 1, tra_shown(x->s, x->n, shown), advice);
}

static bool cell_value(const tra_source *s, const cell *x, double *v) {
    if (x->n == 0 && s->o.empty_nan) {
        *v = NAN;
        return true;
    }
    return tra_scan_num(x->s, x->n, v);
}

/* At the beginning of a line: true when only blank lines are left, which are then taken. */
static tra_status at_end(tra_source *s, csv *c, bool *yes, tra_err *e) {
    int64_t blank = 0;
    for (;;) {
        size_t have, i = 0;
        TRA_TRY(tra_stream_need(&s->in, LONGEST_CELL, &have, e));
        const char *p = (const char *)s->in.buf + s->in.pos;
        while (i < have && is_blank(c, p[i])) i++;
        *yes = i == have && have < LONGEST_CELL;
        if (*yes) return TRA_OK;
        if (i == have) { /* blanks without end */
            s->in.pos += i;
            continue;
        }
        if (p[i] != '\n') { /* there is another row */
            if (blank == 0) return TRA_OK;
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " is blank, and more rows follow", s->spec, blank);
        }
        s->in.pos += i + 1;
        if (c->newline) c->line++;
        c->newline = true;
        if (blank == 0) blank = c->line;
    }
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* The delimiter that the line at hand has outside quotes: tab, else semicolon, else comma, else blanks. */
static tra_status find_delimiter(tra_source *s, csv *c, tra_err *e) {
    size_t have, n = strlen(s->spec), count[256] = {0};
    if ((c->delimiter = s->o.delimiter)) return TRA_OK;
    TRA_TRY(tra_stream_need(&s->in, 8192, &have, e));
    bool quote = false;
    for (size_t i = 0; i < have && (quote || s->in.buf[s->in.pos + i] != '\n'); i++) {
        unsigned char x = s->in.buf[s->in.pos + i];
        if (x == '"')
            quote = !quote;
        else if (!quote)
            count[x]++;
    }
    if (count['\t'] || (n > 4 && strcmp(s->spec + n - 4, ".tsv") == 0))
        c->delimiter = '\t';
    else if (count[';'])
        c->delimiter = ';';
    else if (count[','])
        c->delimiter = ',';
    else
        c->delimiter = count[' '] ? BLANKS : ',';
    return TRA_OK;
}

/* Lines that begin with # before the first row (numpy.savetxt writes its header so), and a byte order mark. */
static tra_status skip_comments(tra_source *s, csv *c, tra_err *e) {
    size_t have, n;
    TRA_TRY(tra_stream_need(&s->in, 3, &have, e));
    if (have >= 3 && memcmp(s->in.buf + s->in.pos, "\xef\xbb\xbf", 3) == 0) s->in.pos += 3;
    for (;;) {
        const char *line;
        TRA_TRY(tra_stream_need(&s->in, 1, &have, e));
        if (have == 0 || s->in.buf[s->in.pos] != '#') return TRA_OK;
        TRA_TRY(tra_stream_line(&s->in, c->line, &line, &n, e));
        c->line++;
        s->header_lines++;
    }
}

static tra_status first_row(tra_source *s, csv *c, tra_err *e) {
    int64_t cap = 0, numbers = 0, cells = 0;
    bool header = s->o.header == 1;
    cell x, bad = {0};
    char *bad_text = NULL;
    tra_status status = TRA_OK;
    int64_t begin = c->line;
    csv bad_at = *c;
    do {
        status = next_cell(s, c, &x, e);
        if (status != TRA_OK) break;
        double v = 0;
        if (cell_value(s, &x, &v))
            numbers++;
        else if (!bad_text) {
            bad_text = memcpy(tra_arena_alloc(s->arena, x.n), x.s, x.n);
            bad = x;
            bad_at = *c;
        }
        if (c->col == cap) c->first = tra_realloc(c->first, (size_t)(cap = cap ? 2 * cap : 64), sizeof *c->first);
        c->first[c->col++] = v;
    } while (x.end == CELL_DELIMITER);
    s->held = (size_t)cap * sizeof *c->first;
    TRA_TRY(status);
    cells = c->col;
    if (bad_text && !header) {
        bad.s = bad_text;
        if (s->o.header == 0) return bad_cell(s, &bad_at, &bad, e);
        header = true;
        if (numbers > 0)
            tra_warn("%s: line %" PRId64 " is taken as a header, though %" PRId64 " of its %" PRId64
                     " cells are numbers (--no-header reads it as data)",
                     s->spec, begin, numbers, cells);
    }
    c->cols = cells;
    c->first_line = begin;
    c->col = 0;
    if (header) {
        s->header_lines += (int)(c->line - begin + 1);
        free(c->first);
        c->first = NULL;
        s->held = 0;
    }
    return TRA_OK;
}

/* Counts the lines from here to the last one that is not blank, and comes back. */
static tra_status count_rows(tra_source *s, csv *c, tra_err *e) {
    int64_t back = tra_stream_told(&s->in), lines = 0, last = 0;
    bool fresh = true; /* at the beginning of a line, apart from blanks */
    for (;;) {
        size_t have;
        TRA_TRY(tra_stream_need(&s->in, 1, &have, e));
        if (have == 0) break;
        const char *p = (const char *)s->in.buf + s->in.pos, *end = p + have;
        while (p < end) {
            if (fresh) {
                while (p < end && is_blank(c, *p)) p++;
                if (p == end) break;
                if (*p != '\n') last = lines + 1, fresh = false;
            }
            const char *q = memchr(p, '\n', (size_t)(end - p));
            if (!q) break;
            lines++;
            fresh = true;
            p = q + 1;
        }
        s->in.pos = s->in.len;
    }
    c->expected = last + (c->first != NULL);
    tra_stream_seek(&s->in, back);
    return TRA_OK;
}

static tra_status open_csv(tra_source *s, tra_err *e) {
    csv *c = tra_new(s->arena, csv);
    s->state = c;
    *c = (csv){.line = 1, .expected = -1};
    s->header_lines = 0;
    bool empty;
    TRA_TRY(skip_comments(s, c, e));
    TRA_TRY(find_delimiter(s, c, e));
    TRA_TRY(at_end(s, c, &empty, e));
    if (empty) return tra_fail(e, TRA_INPUT, "%s: has no rows", s->spec);
    TRA_TRY(first_row(s, c, e));
    if (s->in.seekable) TRA_TRY(count_rows(s, c, e));
    s->shape = (tra_dims){.n = 2, .v = {c->expected, c->cols}};
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    s->access = TRA_ACCESS_STREAM;
    return TRA_OK;
}

static void close_csv(tra_source *s) {
    csv *c = s->state;
    free(c->first);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static tra_status next_value(tra_source *s, csv *c, bool *end, double *v, tra_err *e) {
    *end = false;
    if (c->first) {
        *v = c->first[c->taken++];
        if (c->taken == c->cols) {
            free(c->first);
            c->first = NULL;
            c->rows = 1;
        }
        return TRA_OK;
    }
    if (c->col == 0) {
        TRA_TRY(at_end(s, c, end, e));
        if (*end) return TRA_OK;
    }
    cell x;
    TRA_TRY(next_cell(s, c, &x, e));
    if (c->col < c->cols && !cell_value(s, &x, v)) return bad_cell(s, c, &x, e);
    c->col++;
    if (x.end == CELL_DELIMITER && c->col < c->cols) return TRA_OK;
    if (x.end != CELL_DELIMITER && c->col == c->cols) {
        c->col = 0;
        c->rows++;
        return TRA_OK;
    }
    int64_t line = c->line;
    while (x.end == CELL_DELIMITER) { /* too long: say by how much */
        TRA_TRY(next_cell(s, c, &x, e));
        c->col++;
    }
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " has %" PRId64 " cells, line %" PRId64 " has %" PRId64, s->spec,
                    line, c->col, c->first_line, c->cols);
}

static tra_status next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    csv *c = s->state;
    for (*got = 0; *got < want; ++*got) {
        bool end;
        double v = 0;
        TRA_TRY(next_value(s, c, &end, &v, e));
        if (end) {
            if (c->expected >= 0 && c->rows != c->expected)
                return tra_fail(e, TRA_INPUT, "%s: changed while it was read", s->spec);
            s->shape.v[0] = c->rows;
            break;
        }
        if (s->dtype == TRA_F64)
            ((double *)buf)[*got] = v;
        else {
            float y = (float)v;
            ((float *)buf)[*got] = y;
            s->overflow += isfinite(v) && !isfinite(y);
        }
    }
    return TRA_OK;
}

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

/* ---- writing ------------------------------------------------------------------------------------------------- */

static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    if (k->shape.n > 2)
        return tra_fail(e, TRA_INPUT, "a table of text has 2 dimensions, this tensor %d: export it to npy, raw or h5",
                        k->shape.n);
    k->state = tra_new(k->arena, int64_t); /* the column of the next cell */
    size_t n = strlen(to);
    if (!k->o.delimiter) k->o.delimiter = n > 4 && strcmp(to + n - 4, ".tsv") == 0 ? '\t' : ',';
    return TRA_OK;
}

static tra_status put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    int64_t *col = k->state, cols = k->shape.n == 2 ? k->shape.v[1] : 1; /* a vector is a column */
    for (int64_t i = 0; i < n; i++) {
        TRA_TRY(tra_newfile_room(&k->out, TRA_NUMTEXT + 1, e));
        char *p = k->out.buf + k->out.len;
        size_t len = k->dtype == TRA_F64 ? tra_print_f64(p, ((const double *)data)[i])
                                         : tra_print_f32(p, ((const float *)data)[i]);
        if (++*col == cols) *col = 0;
        p[len++] = *col ? k->o.delimiter : '\n';
        k->out.len += len;
        k->out.bytes += (int64_t)len;
    }
    return TRA_OK;
}

const tra_format tra_format_csv = {
    .name = "csv",
    .suffixes = ".csv .tsv .txt .dat",
    .sniff = sniff,
    .open = open_csv,
    .next = next,
    .close = close_csv,
    .prepare = prepare,
    .put = put,
};
