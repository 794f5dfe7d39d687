/* table_csv_rows.c - records as rows: how many cells they have, and whether their text can be read. */
#include "table_csv_rows.h"

#include <stdlib.h>
#include <string.h>

void tra_csv_rows_free(tra_csv_rows *r) {
    free(r->cells.v);
    free(r->place);
    free(r->buf);
}

/* ---- encodings ------------------------------------------------------------------------------------------------- */

size_t tra_latin1(const char *s, size_t n, char *to) {
    char *q = to;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x80) {
            *q++ = (char)c;
        } else {
            *q++ = (char)(0xc0 | c >> 6);
            *q++ = (char)(0x80 | (c & 0x3f));
        }
    }
    return (size_t)(q - to);
}

/* Length of the code point at p, 0 where there is none (RFC 3629). */
static size_t code_point(const unsigned char *p, size_t left) {
    unsigned char c = *p;
    if (c < 0x80) return 1;
    size_t n = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool bad = (c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
               (c == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : n;
}

bool tra_is_utf8(const char *s, size_t n) {
    for (size_t i = 0, k; i < n; i += k) {
        uint64_t x = 0;
        if (n - i >= sizeof x) memcpy(&x, s + i, sizeof x);
        bool ascii = n - i >= sizeof x && !(x & UINT64_C(0x8080808080808080));
        k = ascii ? sizeof x : code_point((const unsigned char *)s + i, n - i);
        if (k == 0) return false;
    }
    return true;
}

/* Letters of ASCII alone, and no zero bytes. */
static bool is_plain(const char *s, int64_t n) {
    enum { STEP = 64 }; /* so that the compiler makes vectors of them */
    for (; n >= STEP; s += STEP, n -= STEP) {
        uint8_t odd = 0;
        for (int i = 0; i < STEP; i++) odd |= (uint8_t)((uint8_t)s[i] | (s[i] == 0 ? 0x80 : 0));
        if (odd & 0x80) return false;
    }
    for (int64_t i = 0; i < n; i++)
        if (s[i] == 0 || s[i] & 0x80) return false;
    return true;
}

/* ---- what is put aside ------------------------------------------------------------------------------------------ */

tra_status tra_csv_reject_at(const tra_csv_rules *rules, const tra_csv_piece *p, const tra_csv_reject *x,
                             const char *name, const char *type, tra_csv_rejects *to, tra_err *e) {
    char shown[TRA_SHOWN], record[TRA_SHOWN], column[96] = "", cell[96] = "";
    if (rules->keep) {
        if (to->n == to->cap) {
            to->cap = tra_max64(16, 2 * to->cap);
            to->v = tra_realloc(to->v, (size_t)to->cap, sizeof *to->v);
        }
        to->v[to->n++] = *x;
        return TRA_OK;
    }
    if (x->column >= 0)
        snprintf(column, sizeof column, ", column %" PRId64 "%s%.40s%s", x->column + 1, name ? " (" : "",
                 name ? name : "", name ? ")" : "");
    if (x->cell)
        snprintf(cell, sizeof cell, "\"%s\": ", tra_shown(x->cell, (size_t)tra_min64(x->cell_bytes, 1000), shown));
    size_t n = (size_t)tra_min64(x->end - x->begin, 1000);
    while (n > 0 && (x->begin[n - 1] == '\n' || x->begin[n - 1] == '\r')) n--;
    char counts[128] = "";
    int64_t line = tra_csv_line(p, x->begin);
    if (x->cells > 0)
        snprintf(counts, sizeof counts, " (line %" PRId64 " has %" PRId64 " cells, line %" PRId64 " has %" PRId64 ")",
                 line, x->cells, rules->line, rules->columns);
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ", byte %" PRId64 "%s: %s%s%s, in the record %s%s", rules->spec,
                    line, tra_csv_byte(p, x->cell ? x->cell : x->begin), column, cell,
                    x->fault == TRA_CSV_CAST && type ? "it is no value of type " : tra_csv_fault_text(x->fault),
                    x->fault == TRA_CSV_CAST && type ? type : "", tra_shown(x->begin, n, record), counts);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static bool sound(const char *s, const char *end, tra_csv_fault *fault) {
    if (memchr(s, 0, (size_t)(end - s)))
        *fault = TRA_CSV_ZERO;
    else if (!tra_is_utf8(s, (size_t)(end - s)))
        *fault = TRA_CSV_ENCODING;
    return *fault == TRA_CSV_FINE;
}

static void keep_place(tra_csv_rows *out, int64_t begin, int64_t end) {
    if (out->n == out->cap) {
        out->cap = tra_max64(256, 2 * out->cap);
        out->place = tra_realloc(out->place, (size_t)out->cap, sizeof *out->place);
    }
    out->place[out->n][0] = (uint32_t)begin;
    out->place[out->n++][1] = (uint32_t)end;
}

/* Makes the cells from `first` on as many as there are columns, where that is allowed. */
static tra_csv_fault fit(const tra_csv_rules *rules, tra_csv_cells *cells, int64_t first, int64_t columns) {
    int64_t n = cells->n - first;
    if (n == columns) return TRA_CSV_FINE;
    if (n > columns) {
        bool trailing = n == columns + 1 && cells->v[cells->n - 1].n == 0 && !cells->v[cells->n - 1].quoted;
        cells->bad = columns;
        if (!trailing && !rules->drop_long) return TRA_CSV_TOO_MANY;
        cells->n = first + columns;
        return TRA_CSV_FINE;
    }
    cells->bad = n - 1;
    if (!rules->pad_short) return TRA_CSV_MISSING;
    while (cells->cap < first + columns) {
        cells->cap = 2 * tra_max64(128, cells->cap);
        cells->v = tra_realloc(cells->v, (size_t)cells->cap, sizeof *cells->v);
    }
    while (cells->n < first + columns) cells->v[cells->n++] = (tra_csv_cell){0};
    return TRA_CSV_FINE;
}

tra_status tra_csv_split(const tra_csv_dialect *d, const tra_csv_rules *rules, const tra_csv_piece *p, int64_t columns,
                         tra_csv_rows *out, tra_csv_rejects *rejects, tra_err *e) {
    const char *at = p->text, *end = p->text + p->bytes;
    bool plain = is_plain(p->text, p->bytes);
    out->cells.n = out->n = 0;
    out->columns = columns;
    if (plain && tra_csv_split_plain(d, p, columns, out)) return TRA_OK;
    out->cells.n = out->n = 0;
    while (at < end) {
        tra_csv_fault fault;
        int64_t first = out->cells.n, count = 0;
        out->cells.bad = 0;
        if (!tra_csv_record(d, p->text, &at, end, &out->cells, &fault)) break;
        const tra_csv_cell *v = &out->cells.v[first];
        const char *begin = p->text + v->at - v->quoted;
        if (fault == TRA_CSV_FINE && out->cells.n - first != columns) {
            int64_t bad = out->cells.bad;
            count = out->cells.n - first;
            fault = fit(rules, &out->cells, first, columns);
            if (fault == TRA_CSV_FINE) out->cells.bad = bad;
        }
        if (fault == TRA_CSV_FINE && !plain) {
            if (rules->latin1 && memchr(begin, 0, (size_t)(at - begin))) fault = TRA_CSV_ZERO;
            if (!rules->latin1) (void)sound(begin, at, &fault);
        }
        if (fault == TRA_CSV_FINE) {
            keep_place(out, begin - p->text, at - p->text);
            continue;
        }
        v = &out->cells.v[first];
        const tra_csv_cell *bad = &v[out->cells.bad];
        bool whole = fault == TRA_CSV_ENCODING || fault == TRA_CSV_ZERO;
        tra_csv_reject x = {.begin = begin, .end = at, .column = whole ? -1 : out->cells.bad, .fault = fault};
        if (fault == TRA_CSV_MISSING || fault == TRA_CSV_TOO_MANY) x.cells = count;
        if (!whole && fault != TRA_CSV_MISSING) x.cell = p->text + bad->at, x.cell_bytes = bad->n;
        out->cells.n = first;
        TRA_TRY(tra_csv_reject_at(rules, p, &x, NULL, NULL, rejects, e));
    }
    return TRA_OK;
}

const char *tra_csv_cell_text(const tra_csv_dialect *d, const tra_csv_piece *p, tra_csv_rows *r, int64_t row,
                              int64_t column, size_t *n, bool *quoted) {
    const tra_csv_cell *x = &r->cells.v[row * r->columns + column];
    *quoted = x->quoted;
    *n = x->n;
    if (!x->marked) return p->text + x->at;
    if (r->buf_cap < *n + 1) {
        r->buf_cap = 2 * (*n + 64);
        r->buf = tra_realloc(r->buf, r->buf_cap, 1);
    }
    *n = tra_csv_text(d, p->text, x, r->buf);
    r->buf[*n] = 0;
    return r->buf;
}
