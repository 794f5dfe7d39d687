/* table_csv_cells.c - records and cells of a CSV text, and where records end in a piece of one. */
#include "table_csv.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} faults[] = {
    [TRA_CSV_FINE] = {"", ""},
    [TRA_CSV_UNCLOSED] = {"UNCLOSED QUOTE", "a quote is not closed"},
    [TRA_CSV_BEHIND] = {"UNQUOTED VALUE", "text after the closing quote (--lenient takes it as part of the cell)"},
    [TRA_CSV_STRAY] = {"UNQUOTED VALUE", "a quote inside a cell that does not begin with one"},
    [TRA_CSV_MISSING] = {"MISSING COLUMNS", "too few cells (--pad-short reads those that are missing as NULL)"},
    [TRA_CSV_TOO_MANY] = {"TOO MANY COLUMNS", "too many cells (--drop-long leaves out those that are too many)"},
    [TRA_CSV_CAST] = {"CAST", "not a value of its column's type"},
    [TRA_CSV_ENCODING] = {"INVALID ENCODING", "not UTF-8 (--encoding latin1 reads ISO 8859-1)"},
    [TRA_CSV_ZERO] = {"INVALID ENCODING", "a zero byte (iconv -f UTF-16 -t UTF-8 makes text of UTF-16)"},
    [TRA_CSV_LONG] = {"LINE SIZE OVER MAXIMUM", "a record that does not fit the buffers: a quote is open, or allow "
                                                "more memory with --memory"},
};

const char *tra_csv_fault_name(tra_csv_fault f) { return faults[f].name; }

const char *tra_csv_fault_text(tra_csv_fault f) { return faults[f].text; }

/* ---- records --------------------------------------------------------------------------------------------------- */

/* How many bytes of a line's end are here: LF, any CRs before one, and where they end lines also a CR alone. 0: none.
 */
static inline size_t line_end(const tra_csv_dialect *d, const char *p, const char *end) {
    if (*p == '\n') return 1;
    if (*p != '\r') return 0;
    const char *q = p + 1;
    while (q < end && *q == '\r' && !d->returns) q++;
    if (q < end && *q == '\n') return (size_t)(q - p) + 1;
    return d->returns || q == end ? (size_t)(q - p) : 0;
}

static void grow(tra_csv_cells *to) {
    to->cap = tra_max64(256, 2 * to->cap);
    to->v = tra_realloc(to->v, (size_t)to->cap, sizeof *to->v);
}

/* Behind an opening quote: to its closing one, or NULL. */
static const char *closing(const tra_csv_dialect *d, const char *p, const char *end, bool *marked) {
    for (;; p++) {
        if (d->escape) {
            while (p < end && *p != d->quote && *p != d->escape) p++;
        } else {
            p = p < end ? memchr(p, d->quote, (size_t)(end - p)) : NULL;
        }
        if (!p || p >= end) return NULL;
        if (*p == d->escape && d->escape) {
            if (p + 1 == end) return NULL;
        } else if (d->escape || p + 1 == end || p[1] != d->quote) {
            return p;
        }
        *marked = true;
        p++;
    }
}

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *past_blanks(const char *p, const char *end) {
    while (p < end && is_blank(*p)) p++;
    return p;
}

/* The next cell, from p on, into x; to where its delimiter or line's end is, or the text ends. */
static const char *cell_at(const tra_csv_dialect *d, const char *text, const char *p, const char *end, tra_csv_cell *x,
                           tra_csv_fault *fault) {
    while (d->blanks && p < end && *p == ' ') p++;
    if (d->runs) p = past_blanks(p, end);
    const char *begin = p;
    bool quoted = d->quote && p < end && *p == d->quote, marked = false;
    if (quoted) {
        const char *close = closing(d, p + 1, end, &marked);
        if (!close) {
            *fault = TRA_CSV_UNCLOSED;
            *x = (tra_csv_cell){.at = (uint32_t)(begin - text), .n = (uint32_t)(end - begin) & 0x3fffffff};
            return end;
        }
        begin++;
        p = close + 1;
        while (d->blanks && p < end && *p == ' ') p++;
        if (p == end || *p == d->delimiter || (d->runs && is_blank(*p)) || line_end(d, p, end)) {
            *x = (tra_csv_cell){(uint32_t)(begin - text), (uint32_t)(close - begin) & 0x3fffffff, 1, marked};
            return p;
        }
        marked = true;
        if (d->strictness != TRA_CSV_STRICTNESS_LENIENT) *fault = TRA_CSV_BEHIND;
    }
    char delimiter = d->delimiter;
    for (; p < end && *p != delimiter && *p != '\n'; p++)
        if ((*p == '\r' && line_end(d, p, end)) || (d->runs && *p == '\t')) break;
    if (d->strictness == TRA_CSV_STRICTNESS_STRICT && !quoted && d->quote &&
        memchr(begin, d->quote, (size_t)(p - begin)))
        *fault = TRA_CSV_STRAY;
    *x = (tra_csv_cell){(uint32_t)(begin - text), (uint32_t)(p - begin) & 0x3fffffff, quoted, marked};
    return p;
}

bool tra_csv_record(const tra_csv_dialect *d, const char *text, const char **at, const char *end, tra_csv_cells *to,
                    tra_csv_fault *fault) {
    const char *p = *at;
    *fault = TRA_CSV_FINE;
    for (;; p++) { /* past blank lines and comments */
        size_t n;
        const char *text_at = past_blanks(p, end); /* a line of blanks alone is blank */
        if (d->runs ||
            (!strchr(" \t", d->delimiter) && !d->blank_is_row && (text_at == end || line_end(d, text_at, end))))
            p = text_at;
        if (p < end && d->comment && *p == d->comment) {
            while (p < end && !(n = line_end(d, p, end))) p++;
            if (p < end) p += n - 1;
        } else if (p < end && (n = line_end(d, p, end)) && !d->blank_is_row) {
            p += n - 1;
        } else {
            break;
        }
        if (p == end) break;
    }
    if (p >= end) return *at = end, false;
    for (int64_t first = to->n;; p++) {
        tra_csv_fault here = TRA_CSV_FINE;
        if (to->n == to->cap) grow(to);
        p = cell_at(d, text, p, end, &to->v[to->n++], &here);
        if (here && !*fault) *fault = here, to->bad = to->n - 1 - first;
        if (d->runs && p < end && is_blank(*p)) {
            p = past_blanks(p, end) - 1;
            if (p + 1 < end && !line_end(d, p + 1, end)) continue;
            p++;
        }
        if (p == end || *p != d->delimiter) break;
    }
    if (p < end) p += line_end(d, p, end);
    *at = p;
    return true;
}

size_t tra_csv_text(const tra_csv_dialect *d, const char *text, const tra_csv_cell *x, char *buf) {
    const char *p = text + x->at, *end = p + x->n;
    char *q = buf;
    bool inside = x->quoted, closes = p < end && end[-1] == d->quote; /* a quote inside is text if the last closes */
    while (p < end) {
        if (inside && d->escape && *p == d->escape && p + 1 < end) {
            p++;
        } else if (inside && *p == d->quote) {
            p++;
            if (d->escape || p == end || *p != d->quote) { /* the closing one, perhaps with text behind it */
                if (closes && p < end)
                    *q++ = d->quote;
                else
                    inside = false;
                continue;
            }
        }
        if (p < end) *q++ = *p++;
    }
    return (size_t)(q - buf);
}

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static const char *last_end(const tra_csv_dialect *d, const char *p, const char *end) {
    const char *a = p < end ? memrchr(p, '\n', (size_t)(end - p)) : NULL;
    if (d->returns) { /* of CR and LF together the LF counts */
        const char *b = p < end ? memrchr(p, '\r', (size_t)(end - p)) : NULL;
        if (b && (!a || b > a)) a = b;
    }
    return a ? a + 1 : NULL;
}

static const char *first_end(const tra_csv_dialect *d, const char *p, const char *end) {
    const char *a = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (d->returns) {
        const char *b = p < end ? memchr(p, '\r', (size_t)((a ? a : end) - p)) : NULL;
        if (b) a = b + 1 < end && b[1] == '\n' ? b + 1 : b;
    }
    return a ? a + 1 : NULL;
}

/* Text outside of quotes. */
static void note_ends(const tra_csv_dialect *d, tra_csv_quotes *r, const char *p, const char *end) {
    if (!r->first) r->first = first_end(d, p, end);
    if (!r->first) return;
    const char *last = last_end(d, p, end);
    if (last) r->last = last;
}

/* Is p in a comment? Of the text from `from` on, which begins a line if that is where the piece begins. */
static bool in_comment(const tra_csv_dialect *d, const char *begin, const char *from, const char *p) {
    if (!d->comment) return false;
    const char *line = last_end(d, from, p);
    return line ? *line == d->comment : from == begin && *from == d->comment;
}

tra_csv_quotes tra_csv_scan_quotes(const tra_csv_dialect *d, const char *begin, const char *end, bool inside) {
    tra_csv_quotes r = {.inside = inside};
    const char *p = begin, *from = begin; /* from: where the text outside of quotes begins */
    bool marked;
    while (p < end) {
        if (r.inside) {
            const char *close = closing(d, p, end, &marked);
            if (!close) return r;
            r.inside = false;
            from = p = close + 1;
            continue;
        }
        const char *q = d->quote ? memchr(p, d->quote, (size_t)(end - p)) : NULL;
        if (!q) break;
        const char *b = q; /* behind what stands before the cell */
        while (d->blanks && b > from && b[-1] == ' ') b--;
        bool opens = b == begin || b[-1] == d->delimiter || (d->runs && b[-1] == '\t') || b[-1] == '\n' ||
                     (d->returns && b[-1] == '\r');
        if (opens && !in_comment(d, begin, from, q)) {
            note_ends(d, &r, from, q);
            r.inside = true;
        }
        p = q + 1;
    }
    if (!r.inside) note_ends(d, &r, from, end);
    return r;
}
