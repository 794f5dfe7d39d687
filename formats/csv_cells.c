/* csv_cells.c - the cells of tables of numbers as text, one by one from the input's buffer. */
#include "csv_int.h"

#include "table_csv_import.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

bool tra_csv_is_blank(const tra_csv_text_file *c, char x) { return x == ' ' || (x == '\t' && c->delimiter != '\t'); }

/* Past blanks, and past carriage returns that end a line. Others are text: of a file whose lines they end alone, all
 * rows would be one. */
static const char *past_blanks(const tra_csv_text_file *c, const char *p, const char *end) {
    while (p < end && tra_csv_is_blank(c, *p)) p++;
    const char *q = p;
    while (q < end && *q == '\r') q++;
    return q > p && (q == end || *q == '\n') ? q : p;
}

static tra_status unclosed(const tra_source *s, const tra_csv_text_file *c, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": the quote is not closed", s->spec, c->line,
                    c->col + 1);
}

tra_status tra_csv_next_cell(tra_source *s, tra_csv_text_file *c, tra_csv_number_cell *out, tra_err *e) {
    tra_stream *in = &s->in;
    size_t have;
    if (c->newline) c->line++, c->newline = false;
    TRA_TRY(tra_stream_need(in, TRA_CSV_LONGEST_CELL + 2, &have, e));
    const char *p = (const char *)in->buf + in->pos, *begin = p, *end = p + have;
    p = past_blanks(c, p, end);
    *out = (tra_csv_number_cell){.s = p};
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
        if (p < end && *p != '\n' && *p != c->delimiter && c->delimiter != TRA_CSV_BLANKS)
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": text after the closing quote",
                            s->spec, c->line, c->col + 1);
    } else {
        if (c->delimiter == TRA_CSV_BLANKS)
            while (p < end && *p != '\n' && !tra_csv_is_blank(c, *p)) p++;
        else
            while (p < end && *p != '\n' && *p != c->delimiter) p++;
        const char *q = p;
        bool last = p == end || *p == '\n';
        while (q > out->s && (tra_csv_is_blank(c, q[-1]) || (last && q[-1] == '\r'))) q--;
        out->n = (size_t)(q - out->s);
        if (c->delimiter == TRA_CSV_BLANKS) p = past_blanks(c, p, end);
    }
    if (p - begin > TRA_CSV_LONGEST_CELL)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", column %" PRId64 ": a cell of more than %d bytes", s->spec,
                        c->line, c->col + 1, TRA_CSV_LONGEST_CELL);
    out->end = p == end ? TRA_CSV_ENDS_FILE : *p == '\n' ? TRA_CSV_ENDS_LINE : TRA_CSV_ENDS_DELIMITER;
    in->pos += (size_t)(p - begin) + (out->end == TRA_CSV_ENDS_LINE ||
                                      (out->end == TRA_CSV_ENDS_DELIMITER && c->delimiter != TRA_CSV_BLANKS));
    c->newline = out->end == TRA_CSV_ENDS_LINE;
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
    if (tra_csv_is_usual_null(s, n)) return " (missing numbers are nan; --null WORD,... reads words as such)";
    if (memchr(s, ',', n)) return " (numbers have a decimal point, and no comma)";
    if (!isdigit((unsigned char)*s) && !strchr("+-.", *s)) return " (--table takes columns of words, too)";
    if (memchr(s, '%', n)) return " (numbers have no percent sign)";
    if (memchr(s, 'd', n) || memchr(s, 'D', n)) return " (exponents are written with e, not d)";
    return "";
}

tra_status tra_csv_bad_cell(const tra_source *s, const tra_csv_text_file *c, const tra_csv_number_cell *x, tra_err *e) {
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

bool tra_csv_cell_value(tra_source *s, const tra_csv_number_cell *x, tra_number *v) {
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

bool tra_csv_blank_is_row(const tra_source *s, const tra_csv_text_file *c) { return c->cols == 1 && s->o.empty_nan; }

tra_status tra_csv_at_end(tra_source *s, tra_csv_text_file *c, bool *yes, tra_err *e) {
    int64_t blank = 0;
    for (;;) {
        size_t have, i = 0;
        TRA_TRY(tra_stream_need(&s->in, TRA_CSV_LONGEST_CELL, &have, e));
        const char *p = (const char *)s->in.buf + s->in.pos;
        *yes = have == 0;
        if (tra_csv_blank_is_row(s, c)) return TRA_OK;
        while (i < have && (tra_csv_is_blank(c, p[i]) || p[i] == '\r')) i++;
        *yes = i == have && have < TRA_CSV_LONGEST_CELL;
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
