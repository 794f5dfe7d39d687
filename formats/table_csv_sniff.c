/* table_csv_sniff.c - the dialect of a CSV file, from its first bytes.
 *
 * Each delimiter is tried with each way to quote, on the first records; the one by which most of them have the same
 * number of cells wins, then the one that gives more cells. */
#include "table_csv.h"
#include "table_csv_types.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS = 2000, COUNTS = 64, LOOK = 1 << 20 };

typedef struct score {
    int64_t records, columns, regular; /* that were looked at; cells of most of them; records that have so many */
    int64_t faults, unclosed, quoted,
        first;             /* unclosed: of the faults; first: cells of the first record, which often is a header */
    int64_t values, times; /* cells that are values; records that are a time of the day, perhaps of a day */
    int64_t empty;         /* cells without anything */
    bool rare; /* the delimiter is a character that texts have in them more often than files between cells */
} score;

static double value_of(const score *s) {
    if (s->records == 0) return 0;
    if (s->columns < 2) return s->quoted == s->records && s->faults == 0 ? 0.9 : 0; /* one column, all in quotes */
    if (s->rare && (s->values + s->quoted == 0 || 2 * s->times >= s->records)) return 0;
    double share = (double)s->regular / (double)s->records, faults = (double)s->faults / (double)s->records;
    return (share - faults) * (s->first == s->columns ? 1 : s->first == 1 ? 0.3 : 0.7) * (s->rare ? 0.8 : 1);
}

static bool better(const score *a, const score *b) {
    double x = value_of(a), y = value_of(b);
    if (x > y + 0.02 || x < y - 0.02) return x > y;
    return a->columns > b->columns;
}

/* Counts what records have, and finds what most have. */
static void count_width(int64_t (*seen)[2], int *n, int64_t cells) {
    for (int i = 0; i < *n; i++)
        if (seen[i][0] == cells) {
            seen[i][1]++;
            return;
        }
    if (*n < COUNTS) seen[*n][0] = cells, seen[(*n)++][1] = 1;
}

/* 12:30, 2017-04-15 08:15:00+02, 1:05 pm: no text that colons or blanks cut into cells. */
static bool is_time(const char *p, const char *end) {
    bool colon = false, digit = false;
    while (p < end && (end[-1] == '\n' || end[-1] == '\r')) end--;
    for (; p < end; p++) {
        if (!strchr("0123456789:.,-/+ TZtzAaPpMm", *p) || !*p) return false;
        colon |= *p == ':';
        digit |= *p >= '0' && *p <= '9';
    }
    return colon && digit;
}

static void score_dialect(const tra_csv_dialect *d, const tra_csv_reading *r, const char *text, const char *end,
                          bool whole, tra_csv_cells *cells, score *s) {
    int64_t seen[COUNTS][2];
    int n = 0;
    const char *p = text;
    *s = (score){.rare = strchr(":^~ ", d->delimiter) != NULL};
    while (s->records < RECORDS) {
        tra_csv_fault fault;
        cells->n = 0;
        if (!tra_csv_record(d, text, &p, end, cells, &fault)) break;
        if (p == end && !whole && s->records > 0) break; /* it is cut off */
        if (s->records++ == 0) s->first = cells->n;
        s->faults += fault != TRA_CSV_FINE;
        s->unclosed += fault == TRA_CSV_UNCLOSED;
        for (int64_t i = 0; i < cells->n; i++) {
            const tra_csv_cell *x = &cells->v[i];
            s->quoted += x->quoted;
            s->empty += x->n == 0 && !x->quoted;
            if (s->rare && !x->quoted) s->values += tra_csv_kind_of(r, text + x->at, x->n) != TRA_CSV_OTHER;
        }
        if (s->rare) s->times += is_time(text + cells->v[0].at, p);
        count_width(seen, &n, cells->n);
    }
    for (int i = 0; i < n; i++)
        if (seen[i][1] > s->regular || (seen[i][1] == s->regular && seen[i][0] > s->columns))
            s->columns = seen[i][0], s->regular = seen[i][1];
}

/* ---- what stands before the records ----------------------------------------------------------------------------- */

static const char *past_line(const char *p, const char *end, bool returns) {
    while (p < end && *p != '\n' && !(returns && *p == '\r')) p++;
    if (p + 1 < end && *p == '\r' && p[1] == '\n') p++;
    return p < end ? p + 1 : end;
}

/* Do carriage returns alone end lines? When there are any that no line feed follows, outside of quotes. */
static bool has_returns(const char *p, const char *end, char quote) {
    bool inside = false;
    int64_t alone = 0, feeds = 0;
    for (; p < end; p++) {
        if (quote && *p == quote) inside = !inside;
        if (inside) continue;
        feeds += *p == '\n';
        if (*p != '\r' || p + 1 == end) continue;
        const char *q = p;
        while (q + 1 < end && q[1] == '\r') q++;
        if (q + 1 < end && q[1] != '\n') alone++;
        p = q;
    }
    return alone > 0 && (feeds == 0 || alone > feeds / 100);
}

/* *last: the last line that is left out because it begins with the comment's character; NULL: none. */
static const char *skip_preamble(const char *text, const char *end, const tra_csv_hints *h, tra_csv_form *f,
                                 const char **last) {
    const char *p = text;
    *last = NULL;
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    for (int64_t i = 0; i < h->skip && p < end; i++, f->lines++) p = past_line(p, end, f->dialect.returns);
    while (p < end && f->dialect.comment && *p == f->dialect.comment) {
        *last = p;
        p = past_line(p, end, f->dialect.returns);
        f->lines++;
    }
    return p;
}

/* A line of this form says which delimiter the file has: spreadsheets write it. */
static const char *skip_sep_line(const char *p, const char *end, tra_csv_form *f, char *delimiter) {
    if (end - p < 6 || memcmp(p, "sep=", 4) != 0 || (p[5] != '\n' && p[5] != '\r')) return p;
    *delimiter = p[4];
    f->lines++;
    return past_line(p, end, f->dialect.returns);
}

/* ---- the header ------------------------------------------------------------------------------------------------- */

static bool is_name(const tra_csv_reading *r, const char *text, const tra_csv_cell *x) {
    return x->quoted || tra_csv_kind_of(r, text + x->at, x->n) == TRA_CSV_OTHER;
}

static bool is_like_data(const char *text, const tra_csv_cell *x) {
    return !x->quoted && x->n > 0 && tra_csv_is_like_data(text + x->at, x->n);
}

/* Is the first record a header? If all of its cells are names, but for columns of which all cells, the first as well,
 * are rather values of some kind than names (1.2.3); or if a column below one of them is of values of which its first
 * cell is none. */
static bool finds_header(const tra_csv_dialect *d, const tra_csv_reading *r, const char *text, const char *end,
                         bool whole) {
    tra_csv_cells first = {0}, row = {0};
    tra_csv_fault fault;
    const char *p = text;
    if (!tra_csv_record(d, text, &p, end, &first, &fault)) return false;
    int64_t names = 0, empty = 0, n = first.n;
    tra_csv_kind *kind = tra_calloc((size_t)n, sizeof *kind); /* of the column below; TRA_CSV_NOTHING: not known yet */
    bool *unlike = tra_calloc((size_t)n, sizeof *unlike);     /* a cell of the column is like a name */
    bool *bare = tra_calloc((size_t)n, sizeof *bare);         /* a cell of the column has no quotes */
    for (int64_t k = 0; k < RECORDS; k++) {
        row.n = 0;
        if (!tra_csv_record(d, text, &p, end, &row, &fault) || (p == end && !whole)) break;
        for (int64_t i = 0; i < n && i < row.n; i++) {
            const tra_csv_cell *x = &row.v[i];
            tra_csv_kind now = tra_csv_kind_of(r, text + x->at, x->n);
            if (now == TRA_CSV_NOTHING) continue;
            bare[i] |= !x->quoted;
            unlike[i] |= now == TRA_CSV_OTHER && !is_like_data(text, x);
            kind[i] = kind[i] == TRA_CSV_NOTHING || kind[i] == now ? now : TRA_CSV_OTHER;
        }
    }
    int64_t quoted = 0; /* numbers in quotes, where all numbers are in quotes: these are no names */
    for (int64_t i = 0; i < n; i++) {
        const tra_csv_cell *x = &first.v[i];
        names += is_name(r, text, x);
        empty += x->n == 0;
        quoted += x->quoted && !bare[i] && (kind[i] == TRA_CSV_NUMBER || kind[i] == TRA_CSV_NOTHING) &&
                  tra_csv_kind_of(r, text + x->at, x->n) == TRA_CSV_NUMBER;
    }
    if (quoted == n) names = 0;
    bool header = names + empty == n && names > 0;
    for (int64_t i = 0; i < n && header; i++)
        header = kind[i] != TRA_CSV_OTHER || unlike[i] || !is_like_data(text, &first.v[i]);
    for (int64_t i = 0; i < n && !header && quoted < n; i++)
        header = kind[i] != TRA_CSV_NOTHING && kind[i] != TRA_CSV_OTHER && is_name(r, text, &first.v[i]);
    free(kind);
    free(unlike);
    free(bare);
    free(first.v);
    free(row.v);
    return header;
}

/* Titles stand above a table: lines of at most half as many cells, or, as spreadsheets write them, records of as many,
 * of which one at most has text. Past them, where a header of so many names follows; else where it was. */
static const char *past_titles(const tra_csv_dialect *d, const tra_csv_reading *r, const char *text, const char *end,
                               bool whole, int64_t columns) {
    enum { TITLES = 20 };
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    const char *p = text, *begin = text;
    bool found = false;
    for (int i = 0; i < TITLES && columns > 1 && !found; i++) {
        int64_t texts = 0, names = 0;
        cells.n = 0;
        if (!tra_csv_record(d, text, &p, end, &cells, &fault) || cells.n > columns) break;
        begin = text + cells.v[0].at - cells.v[0].quoted; /* blank lines may be before it */
        for (int64_t k = 0; k < cells.n; k++) {
            texts += cells.v[k].n > 0;
            names += cells.v[k].n > 0 && is_name(r, text, &cells.v[k]);
        }
        bool narrow = 2 * cells.n <= columns, empty = columns > 2 && texts <= 1;
        found = cells.n == columns && !empty && (names == columns || finds_header(d, r, begin, end, whole));
        if (!found && !narrow && !empty) break;
    }
    free(cells.v);
    return found ? begin : text;
}

/* ---- the search ------------------------------------------------------------------------------------------------- */

/* The dialect into f->dialect, of which some is given; what it is worth. */
static double choose_dialect(const char *p, const char *end, bool whole, const tra_csv_hints *h, tra_csv_form *f) {
    static const char delimiters[] = {',', '\t', ';', '|', ':', '^', '~', ' '};
    size_t n = f->dialect.delimiter ? 1 : sizeof delimiters;
    bool right[sizeof delimiters] = {0};
    static const char quotes[][2] = {{'"', 0}, {'"', '\\'}, {'\'', 0}, {'\'', '\\'}, {0, 0}};
    tra_csv_cells cells = {0};
    tra_csv_dialect best = f->dialect;
    score most = {0};
    best.delimiter = f->dialect.delimiter ? f->dialect.delimiter : ',';
    best.quote = h->quote < 0 ? '"' : (char)h->quote;
    best.escape = h->escape < 0 ? 0 : (char)h->escape;
    for (size_t q = 0; q < sizeof quotes / sizeof *quotes; q++) {
        tra_csv_dialect d = f->dialect;
        d.strictness = TRA_CSV_STRICTNESS_USUAL; /* what is odd is to count against a choice */
        d.quote = h->quote < 0 ? quotes[q][0] : (char)h->quote;
        d.escape = h->escape < 0 ? quotes[q][1] : (char)h->escape;
        for (size_t i = 0; i < n; i++) {
            score s;
            d.delimiter = f->dialect.delimiter ? f->dialect.delimiter : delimiters[i];
            if (d.quote != '"' && h->quote < 0 && right[i]) continue;
            if (d.delimiter == d.quote || d.delimiter == d.escape) continue;
            d.blanks = d.runs = false;
            if (!f->dialect.delimiter && h->reading && d.delimiter == h->reading->decimal) continue;
            score_dialect(&d, h->reading, p, end, whole, &cells, &s);
            if (d.delimiter == ' ' && s.empty > 0) { /* several blanks may be one delimiter */
                score other;
                d.runs = true;
                score_dialect(&d, h->reading, p, end, whole, &cells, &other);
                d.runs = value_of(&other) >= value_of(&s);
                if (d.runs) s = other;
            }
            if (s.faults > 0 && d.delimiter != ' ') { /* blanks between quotes and delimiters may be why */
                score other;
                d.blanks = true;
                score_dialect(&d, h->reading, p, end, whole, &cells, &other);
                if (other.faults < s.faults)
                    s = other;
                else
                    d.blanks = false;
            }
            /* Quotes that are used without a fault are quotes; one fault, or a quote that is not closed, is a mistake.
             */
            if (q == 0) right[i] = s.faults == 0 ? s.quoted > 0 : s.faults <= tra_max64(1, s.unclosed);
            /* Quotes other than the usual ones only where they are used and explain more. */
            bool odd = q > 0 && (s.quoted == 0 || d.quote == '\'' || d.escape);
            if (odd && value_of(&s) <= value_of(&most) + (s.quoted > 0 ? 0.001 : 0.3)) continue;
            if (value_of(&s) > 0 && better(&s, &most)) most = s, best = d;
        }
    }
    score s;
    tra_csv_dialect d = best;
    d.blanks = d.delimiter != ' ';
    d.strictness = TRA_CSV_STRICTNESS_USUAL;
    score_dialect(&d, h->reading, p, end, whole, &cells, &s);
    if (s.quoted > most.quoted && value_of(&s) > value_of(&most)) most = s, best = d;
    best.strictness = f->dialect.strictness;
    f->dialect = best;
    f->columns = most.columns;
    free(cells.v);
    return value_of(&most);
}

static bool names_columns(const tra_csv_dialect *d, const char *line, const char *end, int64_t columns) {
    tra_csv_cells cells = {0};
    tra_csv_fault fault;
    bool is = columns > 1 && tra_csv_record(d, line, &line, end, &cells, &fault) && cells.n == columns &&
              cells.v[0].n > 1; /* "# made by" names none */
    free(cells.v);
    return is;
}

void tra_csv_sniff(const char *text, int64_t n, bool whole, const tra_csv_hints *h, tra_csv_form *out) {
    const char *end = text + n;
    *out = (tra_csv_form){0};
    tra_csv_dialect *d = &out->dialect;
    d->strictness = (tra_csv_strictness)h->strictness;
    d->comment = h->comment < 0 ? '#' : (char)h->comment;
    d->delimiter = h->delimiter;
    d->returns = has_returns(text, end, h->quote < 0 ? '"' : (char)h->quote);
    const char *comment, *p = skip_preamble(text, end, h, out, &comment);
    p = skip_sep_line(p, end, out, d->delimiter ? &(char){0} : &d->delimiter);
    tra_csv_form commented = *out;
    if (h->comment < 0) d->comment = 0;
    const char *most = end - p > LOOK ? p + LOOK : end;
    double plain = choose_dialect(p, most, whole && most == end, h, out);
    /* Comments begin the file: further lines of this kind are such where that explains more. */
    if (comment && h->comment < 0 && choose_dialect(p, most, whole && most == end, h, &commented) > plain)
        *out = commented, out->comments = true;
    if (comment && h->comment < 0 && !d->comment &&
        names_columns(d, comment, p, out->columns)) { /* "#id,x,y" is the header */
        p = comment;
        out->lines--;
    }
    if (out->columns < 2 ||
        most < end) { /* it may have one column; or the first record is longer than all that was seen */
        score s;
        tra_csv_cells cells = {0};
        d->blank_is_row = false;
        score_dialect(d, h->reading, p, end, whole, &cells, &s);
        free(cells.v);
        out->columns = s.columns;
        d->blank_is_row = s.columns == 1;
    }
    if (h->header < 0 && h->skip == 0) {
        const char *q = past_titles(d, h->reading, p, end, whole, out->columns);
        for (; p < q; p++) out->titles += *p == '\n' || (d->returns && *p == '\r' && p[1] != '\n');
        out->lines += out->titles;
    }
    out->begin = p - text;
    out->header = h->header >= 0 ? h->header : finds_header(d, h->reading, p, end, whole);
}
