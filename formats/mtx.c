/* mtx.c - MatrixMarket: arrays and coordinates of reals, integers and patterns, general, symmetric and skew-symmetric.
 */
#include "formats.h"

#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct mtx {
    bool coordinate, pattern, integer;
    enum { GENERAL, SYMMETRIC, SKEW } symmetry;
    int64_t rows, cols;
    int64_t count, taken; /* entries that the file should have, those read */
    int64_t line;         /* read last, from 1 */
    int64_t row, col;     /* symmetric arrays: of the next value */
    bool pending;         /* the mirror of the last entry is still to be delivered */
    tra_entry mirror;
} mtx;

static const char banner[] = "%%MatrixMarket";

static bool sniff(const unsigned char *head, size_t n) {
    return n >= sizeof banner - 1 && strncasecmp((const char *)head, banner, sizeof banner - 1) == 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* Splits a line at blanks into at most max words; how many there are. */
static int words(const char *p, size_t n, int max, const char **word, size_t *len) {
    const char *end = p + n;
    int count = 0;
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
        if (p == end) return count;
        const char *begin = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r') p++;
        if (count < max) {
            word[count] = begin;
            len[count] = (size_t)(p - begin);
        }
        count++;
    }
}

/* The next line that is neither blank nor, before the data, a comment. *n words, 0 at the end of the file. */
static tra_status next_words(tra_source *s, mtx *m, bool comments, const char **word, size_t *len, int *n, tra_err *e) {
    for (;;) {
        const char *line;
        size_t size;
        TRA_TRY(tra_stream_line(&s->in, m->line + 1, &line, &size, e));
        *n = 0;
        if (!line) return TRA_OK;
        m->line++;
        if (comments && size > 0 && *line == '%') continue;
        if ((*n = words(line, size, 5, word, len)) > 0) return TRA_OK;
    }
}

static bool is(const char *word, size_t len, const char *text) {
    return strlen(text) == len && strncasecmp(word, text, len) == 0;
}

static tra_status read_banner(tra_source *s, mtx *m, tra_err *e) {
    const char *w[5];
    size_t len[5];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n != 5 || !is(w[0], len[0], banner) || m->line != 1)
        return tra_fail(e, TRA_INPUT, "%s: line 1 is not \"%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY\"", s->spec);
    char shown[TRA_SHOWN];
#define REFUSE(i, why)                                                                                                 \
    return tra_fail(e, TRA_INPUT, "%s: line 1: \"%s\" %s", s->spec, tra_shown(w[i], len[i], shown), why)
    if (!is(w[1], len[1], "matrix")) REFUSE(1, "is not an object that tra reads: only \"matrix\"");
    m->coordinate = is(w[2], len[2], "coordinate");
    if (!m->coordinate && !is(w[2], len[2], "array")) REFUSE(2, "is neither \"array\" nor \"coordinate\"");
    m->pattern = is(w[3], len[3], "pattern");
    m->integer = is(w[3], len[3], "integer") || is(w[3], len[3], "unsigned-integer");
    if (is(w[3], len[3], "complex"))
        REFUSE(3, "numbers have no place in a relation: write the real and imaginary parts apart");
    if (!m->pattern && !m->integer && !is(w[3], len[3], "real") && !is(w[3], len[3], "double"))
        REFUSE(3, "is none of real, integer, pattern");
    if (m->pattern && !m->coordinate) REFUSE(3, "is for coordinate files only");
    if (is(w[4], len[4], "symmetric"))
        m->symmetry = SYMMETRIC;
    else if (is(w[4], len[4], "skew-symmetric"))
        m->symmetry = SKEW;
    else if (is(w[4], len[4], "hermitian"))
        REFUSE(4, "matrices are complex: write the real and imaginary parts apart");
    else if (!is(w[4], len[4], "general"))
        REFUSE(4, "is none of general, symmetric, skew-symmetric");
    if (m->pattern && m->symmetry == SKEW) REFUSE(4, "makes no sense for a pattern");
#undef REFUSE
    return TRA_OK;
}

static tra_status open_mtx(tra_source *s, tra_err *e) {
    mtx *m = tra_new(s->arena, mtx);
    s->state = m;
    TRA_TRY(read_banner(s, m, e));
    const char *w[5];
    size_t len[5];
    int n, want = m->coordinate ? 3 : 2;
    TRA_TRY(next_words(s, m, true, w, len, &n, e));
    int64_t v[3] = {0}, cells;
    bool ok = n == want;
    for (int i = 0; ok && i < want; i++) ok = tra_scan_int(w[i], len[i], &v[i]) && v[i] >= 0;
    if (!ok)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " does not give the size: \"%s\" is expected", s->spec,
                        m->line, m->coordinate ? "ROWS COLUMNS ENTRIES" : "ROWS COLUMNS");
    m->rows = v[0];
    m->cols = v[1];
    if (!tra_mul(m->rows, m->cols, &cells))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %" PRId64 " x %" PRId64 " elements are too many", s->spec,
                        m->line, m->rows, m->cols);
    if (m->symmetry != GENERAL && m->rows != m->cols)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": a symmetric matrix has as many rows as columns", s->spec,
                        m->line);
    s->shape = (tra_dims){.n = 2, .v = {m->rows, m->cols}};
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    s->type_text = m->pattern ? "pattern" : m->integer ? "integer" : "real";
    if (m->coordinate) {
        m->count = v[2];
        if (m->count > cells)
            return tra_fail(e, TRA_INPUT,
                            "%s: line %" PRId64 " announces %" PRId64 " entries, the matrix has %" PRId64 " elements",
                            s->spec, m->line, m->count, cells);
        s->entries = s->mirrored = 0;
        s->access = TRA_ACCESS_ENTRIES;
    } else if (m->symmetry != GENERAL) { /* the lower triangle, column by column */
        int64_t half = m->rows % 2 == 0 ? m->rows / 2 * (m->rows + 1) : (m->rows + 1) / 2 * m->rows;
        m->count = m->symmetry == SYMMETRIC ? half : half - m->rows;
        m->row = m->symmetry == SKEW;
        s->entries = s->mirrored = 0;
        s->access = TRA_ACCESS_ENTRIES;
    } else {
        m->count = cells;
        s->fortran = true;
        s->access = TRA_ACCESS_STREAM;
    }
    return TRA_OK;
}

static tra_status value(tra_source *s, const mtx *m, const char *word, size_t len, tra_number *v, tra_err *e) {
    char shown[TRA_SHOWN];
    double any;
    int64_t whole;
    if (tra_scan_value(s->dtype, word, len, v)) {
        if (m->integer && tra_dtype_is_float(s->dtype) && tra_scan_int(word, len, &whole))
            s->inexact += (long double)v->real != (long double)whole;
        return TRA_OK;
    }
    if (tra_scan_num(word, len, &any))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %s does not hold \"%s\" (--dtype f64 takes any number)",
                        s->spec, m->line, tra_dtype_name(s->dtype), tra_shown(word, len, shown));
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": \"%s\" is not a number", s->spec, m->line,
                    tra_shown(word, len, shown));
}

static tra_status too_few(const tra_source *s, const mtx *m, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: ends at line %" PRId64 " after %" PRId64 " of %" PRId64 " %s", s->spec, m->line,
                    m->taken, m->count, m->coordinate ? "entries" : "values");
}

static tra_status expect_end(tra_source *s, mtx *m, tra_err *e) {
    const char *w[5];
    size_t len[5];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n == 0) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " goes on after the last of %" PRId64 " %s", s->spec, m->line,
                    m->count, m->coordinate ? "entries" : "values");
}

/* One value of an array file. */
static tra_status array_value(tra_source *s, mtx *m, tra_number *v, tra_err *e) {
    const char *w[5];
    size_t len[5];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n == 0) return too_few(s, m, e);
    if (n != 1)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " has %d values, and one is expected", s->spec, m->line, n);
    m->taken++;
    return value(s, m, w[0], len[0], v, e);
}

static tra_status next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    mtx *m = s->state;
    *got = tra_min64(want, m->count - m->taken);
    if (*got == 0) return expect_end(s, m, e);
    for (int64_t i = 0; i < *got; i++) {
        tra_number v;
        TRA_TRY(array_value(s, m, &v, e));
        s->overflow += tra_put_value(s->dtype, buf, i, v);
    }
    return TRA_OK;
}

static bool is_zero(const tra_source *s, tra_number v) {
    return tra_dtype_is_float(s->dtype) ? v.real == 0 : v.whole == 0;
}

static tra_status coordinate_entry(tra_source *s, mtx *m, tra_entry *x, tra_err *e) {
    const char *w[5];
    size_t len[5];
    int n, want = m->pattern ? 2 : 3;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n == 0) return too_few(s, m, e);
    m->taken++;
    if (n != want || !tra_scan_int(w[0], len[0], &x->row) || !tra_scan_int(w[1], len[1], &x->col))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " is not \"%s\"", s->spec, m->line,
                        m->pattern ? "ROW COLUMN" : "ROW COLUMN VALUE");
    if (x->row < 1 || x->row > m->rows || x->col < 1 || x->col > m->cols)
        return tra_fail(e, TRA_INPUT,
                        "%s: line %" PRId64 ": entry (%" PRId64 ",%" PRId64 ") is outside the %" PRId64 " x %" PRId64
                        " matrix (indices begin at 1)",
                        s->spec, m->line, x->row, x->col, m->rows, m->cols);
    x->row--;
    x->col--;
    TRA_TRY(value(s, m, m->pattern ? "1" : w[2], m->pattern ? 1 : len[2], &x->value, e));
    if (m->symmetry == SKEW && x->row == x->col && !is_zero(s, x->value))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": the diagonal of a skew-symmetric matrix is zero", s->spec,
                        m->line);
    return TRA_OK;
}

static tra_status array_entry(tra_source *s, mtx *m, tra_entry *x, tra_err *e) {
    TRA_TRY(array_value(s, m, &x->value, e));
    x->row = m->row;
    x->col = m->col;
    if (++m->row == m->rows) {
        m->col++;
        m->row = m->col + (m->symmetry == SKEW);
    }
    return TRA_OK;
}

/* What stands across the diagonal. */
static tra_status mirror(const tra_source *s, mtx *m, const tra_entry *x, tra_err *e) {
    m->mirror = (tra_entry){x->col, x->row, x->value, x->line};
    m->pending = true;
    if (m->symmetry == SYMMETRIC) return TRA_OK;
    if (tra_dtype_is_float(s->dtype)) {
        m->mirror.value.real = -x->value.real;
    } else if (x->value.whole == INT64_MIN || !tra_dtype_holds(s->dtype, -x->value.whole)) {
        return tra_fail(e, TRA_INPUT,
                        "%s: line %" PRId64 ": %s does not hold the negative of %" PRId64
                        ", which the skew-symmetric matrix has across the diagonal",
                        s->spec, x->line, tra_dtype_name(s->dtype), x->value.whole);
    } else {
        m->mirror.value.whole = -x->value.whole;
    }
    return TRA_OK;
}

static tra_status entries(tra_source *s, tra_entry *buf, int64_t want, int64_t *got, tra_err *e) {
    mtx *m = s->state;
    for (*got = 0; *got < want; ++*got) {
        tra_entry *x = &buf[*got];
        if (m->pending) {
            *x = m->mirror;
            m->pending = false;
            s->mirrored++;
            continue;
        }
        if (m->taken == m->count) {
            if (*got == 0) TRA_TRY(expect_end(s, m, e));
            return TRA_OK;
        }
        TRA_TRY((m->coordinate ? coordinate_entry : array_entry)(s, m, x, e));
        x->line = m->line;
        s->entries++;
        if (m->symmetry != GENERAL && x->row != x->col) TRA_TRY(mirror(s, m, x, e));
    }
    return TRA_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

typedef struct writer {
    int64_t row, col, rows, cols;
    int64_t nonzero; /* counted in the first of two passes */
} writer;

static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    if (k->shape.n > 2)
        return tra_fail(e, TRA_INPUT, "a matrix has 2 dimensions, this tensor %d: export it to npy, raw or h5",
                        k->shape.n);
    writer *w = tra_new(k->arena, writer);
    k->state = w;
    w->rows = k->shape.n > 0 ? k->shape.v[0] : 1; /* a vector is a column */
    w->cols = k->shape.n > 1 ? k->shape.v[1] : 1;
    k->fortran = true;
    k->passes = k->o.coordinate ? 2 : 1;
    return TRA_OK;
}

static tra_status begin(tra_sink *k, tra_err *e) {
    writer *w = k->state;
    w->row = w->col = 0;
    if (k->pass + 1 < k->passes) return TRA_OK;
    char head[160], *p = head;
    p += sprintf(p, "%%%%MatrixMarket matrix %s %s general\n%" PRId64 " %" PRId64,
                 k->o.coordinate ? "coordinate" : "array", tra_dtype_is_float(k->dtype) ? "real" : "integer", w->rows,
                 w->cols);
    if (k->o.coordinate) p += sprintf(p, " %" PRId64, w->nonzero);
    *p++ = '\n';
    return tra_newfile_write(&k->out, head, (size_t)(p - head), e);
}

static tra_status put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    writer *w = k->state;
    bool count = k->pass + 1 < k->passes;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = ++w->row, col = w->col + 1; /* from 1 */
        if (w->row == w->rows) w->row = 0, w->col++;
        if (k->o.coordinate && tra_value_is_zero(k->dtype, data, i)) continue;
        if (count) {
            w->nonzero++;
            continue;
        }
        TRA_TRY(tra_newfile_room(&k->out, TRA_NUMTEXT + 48, e));
        char *p = k->out.buf + k->out.len, *q = p;
        if (k->o.coordinate) q += sprintf(q, "%" PRId64 " %" PRId64 " ", row, col);
        q += tra_print_value(k->dtype, data, i, q);
        *q++ = '\n';
        k->out.len += (size_t)(q - p);
        k->out.bytes += q - p;
    }
    return TRA_OK;
}

const tra_format tra_format_mtx = {
    .name = "mtx",
    .suffixes = ".mtx .mm",
    .sniff = sniff,
    .open = open_mtx,
    .next = next,
    .entries = entries,
    .prepare = prepare,
    .begin = begin,
    .put = put,
};
