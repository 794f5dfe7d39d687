/* csv.c - tables of numbers as text: comma, tab, semicolon or blanks between cells, with or without a header.
 *
 * Cells are taken one by one from the input's buffer; of all rows the first alone is kept, until it is known whether it
 * is a header. A file is passed over twice: once to count its lines (fast), so that the relation can be laid out, once
 * to read the numbers. */
#include "reading.h"
#include "csv_int.h"
#include "../lib/relation/labels.h"
#include "table_csv_import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

static bool sniff(const unsigned char *head, size_t n) {
    if (n == 0 || head[0] == '%') return false;
    for (size_t i = 0; i < n; i++)
        if (head[i] < ' ' && head[i] != '\t' && head[i] != '\r' && head[i] != '\n') return false;
    return true;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* The delimiter that the line at hand has outside quotes: tab, else semicolon, else comma, else blanks. */
static tra_status find_delimiter(tra_source *s, tra_csv_text_file *c, tra_err *e) {
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
        c->delimiter = count[' '] ? TRA_CSV_BLANKS : ',';
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
static tra_status skip_comments(tra_source *s, tra_csv_text_file *c, tra_err *e) {
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

static void note(cell_seen *seen, const tra_csv_text_file *c, const tra_csv_number_cell *x) {
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

static tra_status read_first_row(tra_source *s, tra_csv_text_file *c, first_cells *f, tra_err *e) {
    int64_t most = tra_max64(1 << 12, s->o.memory / (int64_t)sizeof *c->first);
    tra_csv_number_cell x;
    do {
        TRA_TRY(tra_csv_next_cell(s, c, &x, e));
        if (!x.quoted && (memchr(x.s, '\r', x.n) || memchr(x.s, 0, x.n))) return tra_csv_bad_cell(s, c, &x, e);
        tra_number v = {0};
        bool value = tra_csv_cell_value(s, &x, &v);
        if (!value && f->as_data == TRA_OK) f->as_data = tra_csv_bad_cell(s, c, &x, &f->why);
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
    } while (x.end == TRA_CSV_ENDS_DELIMITER);
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
static tra_status judge_header(tra_source *s, tra_csv_text_file *c, first_cells *f, int64_t line, bool *header,
                               tra_err *e) {
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
static const tra_dim_labels *const *column_labels(tra_source *s, const tra_csv_text_file *c) {
    const char *at = c->names.s, *end = at + c->names.n;
    const char **name = tra_news(s->arena, const char *, c->cols + 1);
    const tra_dim_labels **labels = tra_news(s->arena, const tra_dim_labels *, TRA_MAXDIM);
    int64_t n = 0;
    for (; n < c->cols && at < end; n++, at += strlen(at) + 1) name[n] = at;
    if (n < c->cols) return NULL;
    labels[1] = tra_dim_labels_of_texts(s->arena, "column", n, name);
    return labels;
}

static tra_status first_row(tra_source *s, tra_csv_text_file *c, tra_err *e) {
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
static tra_status count_rows(tra_source *s, tra_csv_text_file *c, tra_err *e) {
    int64_t back = tra_stream_position(&s->in), lines = 0, last = 0;
    bool all = tra_csv_blank_is_row(s, c);
    bool fresh = true; /* at the beginning of a line, apart from blanks */
    for (;;) {
        size_t have;
        TRA_TRY(tra_stream_need(&s->in, 1, &have, e));
        if (have == 0) break;
        const char *p = (const char *)s->in.buf + s->in.pos, *end = p + have;
        while (p < end) {
            if (fresh) {
                while (p < end && !all && (tra_csv_is_blank(c, *p) || *p == '\r')) p++;
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
    tra_csv_text_file *c = tra_new(s->arena, tra_csv_text_file);
    s->state = c;
    *c = (tra_csv_text_file){.line = 1, .expected = -1};
    s->header_lines = 0;
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    bool empty;
    TRA_TRY(skip_comments(s, c, e));
    TRA_TRY(find_delimiter(s, c, e));
    TRA_TRY(tra_csv_at_end(s, c, &empty, e));
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
    tra_csv_text_file *c = s->state;
    free(c->first);
    tra_str_free(&c->names);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static tra_status next_value(tra_source *s, tra_csv_text_file *c, bool *end, tra_number *v, tra_err *e) {
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
        TRA_TRY(tra_csv_at_end(s, c, end, e));
        if (*end) return TRA_OK;
    }
    tra_csv_number_cell x;
    TRA_TRY(tra_csv_next_cell(s, c, &x, e));
    if (c->col < c->cols && !tra_csv_cell_value(s, &x, v)) return tra_csv_bad_cell(s, c, &x, e);
    c->col++;
    if (x.end == TRA_CSV_ENDS_DELIMITER && c->col < c->cols) return TRA_OK;
    if (x.end != TRA_CSV_ENDS_DELIMITER && c->col == c->cols) {
        c->col = 0;
        c->rows++;
        return TRA_OK;
    }
    int64_t line = c->line;
    while (x.end == TRA_CSV_ENDS_DELIMITER) { /* too long: say by how much */
        TRA_TRY(tra_csv_next_cell(s, c, &x, e));
        c->col++;
    }
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " has %" PRId64 " cells, line %" PRId64 " has %" PRId64, s->spec,
                    line, c->col, c->first_line, c->cols);
}

static tra_status next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    tra_csv_text_file *c = s->state;
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
    .reads = tra_options_csv,
    .writes = TRA_OPTIONS(&tra_option_to_delimiter),
    .open = open_csv,
    .box = tra_csv_matrix_box,
    .next = next,
    .close = close_csv,
    .prepare = prepare,
    .put = put,
};
