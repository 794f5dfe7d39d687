/* csv.c - tables of numbers as text: comma, tab, semicolon or blanks between cells, with or without a header.
 *
 * Cells are taken one by one from the input's buffer; of all rows the first alone is kept, until it is known whether it
 * is a header. A file is passed over twice: once to count its lines (fast), so that the relation can be laid out, once
 * to read the numbers. */
#include "formats.h"
#include "../lib/relation/labels.h"
#include "table_csv_import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

enum { LONGEST_CELL = 4096, BLANKS = ' ' };

typedef struct csv {
    char delimiter; /* BLANKS: runs of blanks and tabs */
    int64_t line;   /* of the cell read last, from 1 */
    int64_t col;    /* cells of the present row that were read */
    int64_t cols;
    int64_t rows;      /* completed */
    int64_t expected;  /* rows of the file, or -1 */
    tra_number *first; /* the first row, when it is data: from malloc */
    int64_t taken;     /* of it */
    tra_str names;     /* cells of the first row, each ended by a byte 0, as long as they may be a header's */
    bool newline;      /* the last cell ended its line */
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

static bool is_blank(const csv *c, char x) { return x == ' ' || (x == '\t' && c->delimiter != '\t'); }

/* Past blanks, and past carriage returns that end a line. Others are text: of a file whose lines they end alone, all
 * rows would be one. */
static const char *past_blanks(const csv *c, const char *p, const char *end) {
    while (p < end && is_blank(c, *p)) p++;
    const char *q = p;
    while (q < end && *q == '\r') q++;
    return q > p && (q == end || *q == '\n') ? q : p;
}

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
    p = past_blanks(c, p, end);
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
        p = past_blanks(c, p, end);
        if (p < end && *p != '\n' && *p != c->delimiter && c->delimiter != BLANKS)
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": text after the closing quote",
                            s->spec, c->line, c->col + 1);
    } else {
        if (c->delimiter == BLANKS)
            while (p < end && *p != '\n' && !is_blank(c, *p)) p++;
        else
            while (p < end && *p != '\n' && *p != c->delimiter) p++;
        const char *q = p;
        bool last = p == end || *p == '\n';
        while (q > out->s && (is_blank(c, q[-1]) || (last && q[-1] == '\r'))) q--;
        out->n = (size_t)(q - out->s);
        if (c->delimiter == BLANKS) p = past_blanks(c, p, end);
    }
    if (p - begin > LONGEST_CELL)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": a cell of more than %d bytes", s->spec,
                        c->line, c->col + 1, LONGEST_CELL);
    out->end = p == end ? CELL_FILE : *p == '\n' ? CELL_LINE : CELL_DELIMITER;
    in->pos += (size_t)(p - begin) + (out->end == CELL_LINE || (out->end == CELL_DELIMITER && c->delimiter != BLANKS));
    c->newline = out->end == CELL_LINE;
    return TRA_OK;
}

static bool is_bool(const char *s, size_t n) {
    return (n == 4 && strncasecmp(s, "true", n) == 0) || (n == 5 && strncasecmp(s, "false", n) == 0);
}

bool tra_csv_is_like_data(const char *s, size_t n) {
    if (tra_csv_is_usual_null(s, n) || is_bool(s, n)) return true;
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
    if (memchr(s, '\r', n)) return TRA_LONE_RETURNS;
    if (memchr(s, 0, n)) return " (it has zero bytes: iconv -f UTF-16 -t UTF-8 makes text of UTF-16)";
    if (tra_csv_is_usual_null(s, n)) return " (missing numbers are nan, or nothing with --empty-nan)";
    if (memchr(s, ',', n)) return " (numbers have a decimal point, and no comma)";
    if (!isdigit((unsigned char)*s) && !strchr("+-.", *s)) return "";
    if (memchr(s, '%', n)) return " (numbers have no percent sign)";
    if (memchr(s, 'd', n) || memchr(s, 'D', n)) return " (exponents are written with e, not d)";
    return "";
}

static tra_status bad_cell(const tra_source *s, const csv *c, const cell *x, tra_err *e) {
    char shown[TRA_SHOWN];
    double any;
    if (x->n == 0)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 " is empty%s", s->spec, c->line,
                        c->col + 1, tra_dtype_is_float(s->dtype) ? " (--empty-nan reads such cells as NaN)" : "");
    if (tra_scan_num(x->s, x->n, &any))
        return tra_fail(e, TRA_INPUT,
                        "%s: line %" PRId64 ", column %" PRId64
                        ": %s does not hold \"%s\" (--dtype f64 takes any number)",
                        s->spec, c->line, c->col + 1, tra_dtype_name(s->dtype), tra_shown(x->s, x->n, shown));
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": \"%s\" is not a number%s", s->spec,
                    c->line, c->col + 1, tra_shown(x->s, x->n, shown), advice_of(x->s, x->n));
}

static bool cell_value(tra_source *s, const cell *x, tra_number *v) {
    bool real = tra_dtype_is_float(s->dtype);
    if (x->n == 0 && s->o.empty_nan && real) {
        v->real = NAN;
        return true;
    }
    if (!tra_scan_value(s->dtype, x->s, x->n, v)) return false;
    if (real && isinf(v->real)) /* but for inf as such */
        s->overflow += !memchr(x->s, 'n', x->n) && !memchr(x->s, 'N', x->n);
    return true;
}

/* A single column of which empty cells are numbers has a row in each line, blank ones too. */
static bool blank_is_row(const tra_source *s, const csv *c) { return c->cols == 1 && s->o.empty_nan; }

/* At the beginning of a line: true when only blank lines are left, which are then taken. */
static tra_status at_end(tra_source *s, csv *c, bool *yes, tra_err *e) {
    int64_t blank = 0;
    for (;;) {
        size_t have, i = 0;
        TRA_TRY(tra_stream_need(&s->in, LONGEST_CELL, &have, e));
        const char *p = (const char *)s->in.buf + s->in.pos;
        *yes = have == 0;
        if (blank_is_row(s, c)) return TRA_OK;
        while (i < have && (is_blank(c, p[i]) || p[i] == '\r')) i++;
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

/* Is it a line to skip? #N/A,1 is a row: what a spreadsheet writes for a cell without a number. */
static bool is_comment(const tra_stream *in, size_t have) {
    const char *p = (const char *)in->buf + in->pos;
    size_t n = 0;
    if (have == 0 || *p != '#') return false;
    while (n < have && !strchr(",;\t \r\n\"", p[n])) n++;
    return !tra_csv_is_usual_null(p, n);
}

/* Lines that begin with # before the first row (numpy.savetxt writes its header so), and a byte order mark. */
static tra_status skip_comments(tra_source *s, csv *c, tra_err *e) {
    size_t have, n;
    TRA_TRY(tra_stream_need(&s->in, 3, &have, e));
    if (have >= 3 && memcmp(s->in.buf + s->in.pos, "\xef\xbb\xbf", 3) == 0) s->in.pos += 3;
    for (;;) {
        const char *line;
        TRA_TRY(tra_stream_need(&s->in, 16, &have, e));
        if (!is_comment(&s->in, have)) return TRA_OK;
        TRA_TRY(tra_stream_line(&s->in, c->line, &line, &n, e));
        if (line && memchr(line, '\r', n))
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": a comment goes on after its end%s", s->spec, c->line,
                            TRA_LONE_RETURNS);
        c->line++;
        s->header_lines++;
    }
}

typedef struct cell_seen {
    int64_t col; /* from 1; 0: none was seen */
    char text[TRA_SHOWN];
} cell_seen;

static void note(cell_seen *seen, const csv *c, const cell *x) {
    if (seen->col) return;
    seen->col = c->col + 1;
    tra_shown(x->s, x->n, seen->text);
}

/* What the cells of the first row are: of each kind the first, and how many. */
typedef struct first_cells {
    cell_seen number, like_data, empty;
    int64_t names, cap;
    tra_status as_data; /* what reading it as data fails with, and its message */
    tra_err why;
} first_cells;

static tra_status read_first_row(tra_source *s, csv *c, first_cells *f, tra_err *e) {
    int64_t most = tra_max64(1 << 12, s->o.memory / (int64_t)sizeof *c->first);
    cell x;
    do {
        TRA_TRY(next_cell(s, c, &x, e));
        if (!x.quoted && (memchr(x.s, '\r', x.n) || memchr(x.s, 0, x.n))) return bad_cell(s, c, &x, e);
        tra_number v = {0};
        bool value = cell_value(s, &x, &v);
        if (!value && f->as_data == TRA_OK) f->as_data = bad_cell(s, c, &x, &f->why);
        if (x.n == 0)
            note(&f->empty, c, &x);
        else if (value)
            note(&f->number, c, &x);
        else if (tra_csv_is_like_data(x.s, x.n))
            note(&f->like_data, c, &x);
        else
            f->names++;
        if (c->col == most)
            return tra_fail(e, TRA_RESOURCE,
                            "%s: line %" PRId64 " has more than %" PRId64
                            " cells, more than the ceiling leaves room for: allow more memory with --memory",
                            s->spec, c->line, most);
        if (c->col == f->cap) {
            f->cap = tra_min64(tra_max64(64, 2 * f->cap), most);
            c->first = tra_realloc(c->first, (size_t)f->cap, sizeof v);
        }
        bool maybe = s->o.header == 1 || (s->o.header < 0 && !f->number.col && !f->like_data.col);
        if (maybe)
            tra_str_addn(&c->names, x.s, x.n), tra_str_addn(&c->names, "", 1);
        else
            tra_str_free(&c->names);
        if (!value) v.whole = (int64_t)(XXH3_64bits(x.s, x.n) >> 1); /* to find names that are there twice */
        c->first[c->col++] = v;
    } while (x.end == CELL_DELIMITER);
    return TRA_OK;
}

static int by_value(const void *a, const void *b) {
    int64_t x = ((const tra_number *)a)->whole, y = ((const tra_number *)b)->whole;
    return (x > y) - (x < y);
}

static bool has_twice(tra_number *v, int64_t n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    for (int64_t i = 1; i < n; i++)
        if (v[i].whole == v[i - 1].whole) return true;
    return false;
}

/* Whether the first row is a header, where the user does not say so: when all of its cells are names. One that may be
 * data with a mistake in it is refused, since nobody would see that it is missing. */
static tra_status judge_header(tra_source *s, csv *c, first_cells *f, int64_t line, bool *header, tra_err *e) {
    const cell_seen *odd = f->like_data.col ? &f->like_data : &f->number;
    *header = f->as_data != TRA_OK;
    if (!*header) return TRA_OK;
    if (f->names == 0 && !odd->col) return tra_fail(e, f->as_data, "%s", f->why.msg); /* only empty cells */
    if (odd->col) {
        char why[TRA_SHOWN + 64] = "";
        if (odd == &f->number)
            snprintf(why, sizeof why, ", while column %" PRId64 ", \"%s\", is one", odd->col, odd->text);
        return tra_fail(e, TRA_INPUT, "%s%s: correct it, or say --header if the line is a header", f->why.msg, why);
    }
    if (f->empty.col)
        tra_warn_always("%s: line %" PRId64 " is taken as a header, though column %" PRId64
                        " is empty (--header says that it is one)",
                        s->spec, line, f->empty.col);
    else if (has_twice(c->first, c->col))
        tra_warn_always("%s: line %" PRId64
                        " is taken as a header, though a name is there twice (--header says that it is one)",
                        s->spec, line);
    return TRA_OK;
}

/* The names of a header, as labels of dimension 1. */
static const tra_dim_labels *const *column_labels(tra_source *s, const csv *c) {
    const char *at = c->names.s, *end = at + c->names.n;
    const char **name = tra_news(s->arena, const char *, c->cols + 1);
    const tra_dim_labels **labels = tra_news(s->arena, const tra_dim_labels *, TRA_MAXDIM);
    int64_t n = 0;
    for (; n < c->cols && at < end; n++, at += strlen(at) + 1) name[n] = at;
    if (n < c->cols) return NULL;
    labels[1] = tra_dim_labels_of_texts(s->arena, "column", n, name);
    return labels;
}

static tra_status first_row(tra_source *s, csv *c, tra_err *e) {
    first_cells f = {0};
    int64_t begin = c->line;
    bool header = s->o.header == 1;
    tra_status status = read_first_row(s, c, &f, e);
    s->held = (size_t)f.cap * sizeof *c->first;
    TRA_TRY(status);
    if (s->o.header < 0) TRA_TRY(judge_header(s, c, &f, begin, &header, e));
    if (!header && f.as_data != TRA_OK) return tra_fail(e, f.as_data, "%s", f.why.msg);
    c->cols = c->col;
    c->first_line = begin;
    c->col = 0;
    if (header) {
        s->header_lines += (int)(c->line - begin + 1);
        s->overflow = 0;
        free(c->first);
        c->first = NULL;
        s->held = c->names.n;
        s->labels = column_labels(s, c);
    }
    tra_str_free(&c->names);
    return TRA_OK;
}

static tra_status no_rows(const tra_source *s, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: has no rows%s", s->spec,
                    s->header_lines == 0 ? ""
                    : s->o.header == 1   ? " below the header that --header says there is"
                                         : " below its header (--no-header reads that as data)");
}

/* Counts the lines from here to the last one that is not blank, and comes back. */
static tra_status count_rows(tra_source *s, csv *c, tra_err *e) {
    int64_t back = tra_stream_position(&s->in), lines = 0, last = 0;
    bool all = blank_is_row(s, c);
    bool fresh = true; /* at the beginning of a line, apart from blanks */
    for (;;) {
        size_t have;
        TRA_TRY(tra_stream_need(&s->in, 1, &have, e));
        if (have == 0) break;
        const char *p = (const char *)s->in.buf + s->in.pos, *end = p + have;
        while (p < end) {
            if (fresh) {
                while (p < end && !all && (is_blank(c, *p) || *p == '\r')) p++;
                if (p == end) break;
                if (all || *p != '\n') last = lines + 1, fresh = false;
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
    return c->expected ? TRA_OK : no_rows(s, e);
}

static tra_status open_csv(tra_source *s, tra_err *e) {
    if (s->o.text) return tra_csv_matrix_open(s, e);
    csv *c = tra_new(s->arena, csv);
    s->state = c;
    *c = (csv){.line = 1, .expected = -1};
    s->header_lines = 0;
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    bool empty;
    TRA_TRY(skip_comments(s, c, e));
    TRA_TRY(find_delimiter(s, c, e));
    TRA_TRY(at_end(s, c, &empty, e));
    if (empty) return no_rows(s, e);
    TRA_TRY(first_row(s, c, e));
    if (s->in.seekable) TRA_TRY(count_rows(s, c, e));
    s->shape = (tra_dims){.n = 2, .v = {c->expected, c->cols}};
    s->access = TRA_ACCESS_STREAM;
    return TRA_OK;
}

static void close_csv(tra_source *s) {
    if (s->o.text) {
        tra_csv_matrix_close(s);
        return;
    }
    csv *c = s->state;
    free(c->first);
    tra_str_free(&c->names);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static tra_status next_value(tra_source *s, csv *c, bool *end, tra_number *v, tra_err *e) {
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
        tra_number v = {0};
        TRA_TRY(next_value(s, c, &end, &v, e));
        if (end) {
            if (c->expected >= 0 && c->rows != c->expected)
                return tra_fail(e, TRA_INPUT, "%s: changed while it was read", s->spec);
            if (c->rows == 0) return no_rows(s, e);
            s->shape.v[0] = c->rows;
            break;
        }
        s->overflow += tra_put_value(s->dtype, buf, *got, v);
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
        size_t len = tra_print_value(k->dtype, data, i, p);
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
    .box = tra_csv_matrix_box,
    .next = next,
    .close = close_csv,
    .prepare = prepare,
    .put = put,
};
