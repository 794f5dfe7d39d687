/* mtx.c - MatrixMarket: arrays and coordinates of reals, integers and patterns, general, symmetric and skew-symmetric;
 * and coordinates of tensors (.ttx). */
#include "reading.h"
#include "lines.h"

#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct mtx {
    bool coordinate, pattern, integer, tensor;
    tra_symmetry symmetry;
    int64_t rows, cols;
    int64_t count, taken; /* arrays: values that the file should have, those read */
    int64_t line;         /* read last, from 1 */
    int64_t row, col;     /* symmetric arrays: of the next value */
} mtx;

static const char banner[] = "%%MatrixMarket";

static bool sniff(const unsigned char *head, size_t n) {
    return n >= sizeof banner - 1 && strncasecmp((const char *)head, banner, sizeof banner - 1) == 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

enum { WORDS = TRA_MAXRANK + 1 }; /* extents and the number of entries */

/* Splits a line at blanks into at most WORDS words; how many there are. */
static int words(const char *p, size_t n, const char **word, size_t *len) {
    const char *end = p + n;
    int count = 0;
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
        if (p == end) return count;
        const char *begin = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\r') p++;
        if (count < WORDS) {
            word[count] = begin;
            len[count] = (size_t)(p - begin);
        }
        count++;
    }
}

static bool is(const char *word, size_t len, const char *text) {
    return strlen(text) == len && strncasecmp(word, text, len) == 0;
}

static tra_status refuse(const tra_source *s, const mtx *m, const char *word, size_t len, const char *why, tra_err *e) {
    char shown[TRA_SHOWN];
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": \"%s\" %s", s->spec, m->line, tra_shown(word, len, shown),
                    why);
}

static const char complex_advice[] = "numbers have no place in a relation: write the real and imaginary parts apart";

/* The comment "%%GraphBLAS type TYPE" of LAGraph, or "%%GraphBLAS GrB_TYPE", tells the type of the values. */
static tra_status graphblas(tra_source *s, const mtx *m, const char *line, size_t n, tra_err *e) {
    static const struct {
        const char *c, *grb;
        tra_elem elem;
    } types[] = {
        {"bool", "GrB_BOOL", TRA_ELEM_BOOL},      {"int8_t", "GrB_INT8", TRA_ELEM_I8},
        {"int16_t", "GrB_INT16", TRA_ELEM_I16},   {"int32_t", "GrB_INT32", TRA_ELEM_I32},
        {"int64_t", "GrB_INT64", TRA_ELEM_I64},   {"uint8_t", "GrB_UINT8", TRA_ELEM_U8},
        {"uint16_t", "GrB_UINT16", TRA_ELEM_U16}, {"uint32_t", "GrB_UINT32", TRA_ELEM_U32},
        {"uint64_t", "GrB_UINT64", TRA_ELEM_U64}, {"float", "GrB_FP32", TRA_ELEM_F32},
        {"double", "GrB_FP64", TRA_ELEM_F64},
    };
    const char *w[WORDS];
    size_t len[WORDS];
    int count = words(line, n, w, len), at = count > 1 && is(w[1], len[1], "type") ? 2 : 1;
    if (!is(w[0], len[0], "%%GraphBLAS") || count <= at) return TRA_OK;
    if (count > at + 1 || strncasecmp(w[at], "GxB_FC", 6) == 0)
        return refuse(s, m, w[at], (size_t)(line + n - w[at]), complex_advice, e);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(w[at], len[at], types[i].c) || is(w[at], len[at], types[i].grb)) {
            if (!s->o.has_dtype) s->dtype = tra_elem_dtype(types[i].elem);
            s->type_text = types[i].c;
        }
    return TRA_OK;
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
        if (comments && size > 0 && *line == '%') {
            TRA_TRY(graphblas(s, m, line, size, e));
            continue;
        }
        if ((*n = words(line, size, word, len)) > 0) return TRA_OK;
    }
}

static tra_status read_banner(tra_source *s, mtx *m, tra_err *e) {
    const char *w[WORDS];
    size_t len[WORDS];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n != 5 || !is(w[0], len[0], banner) || m->line != 1)
        return tra_fail(e, TRA_INPUT, "%s: line 1 is not \"%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY\"", s->spec);
#define REFUSE(i, why) return refuse(s, m, w[i], len[i], why, e)
    m->tensor = is(w[1], len[1], "tensor"); /* .ttx of taco and Finch */
    if (!m->tensor && !is(w[1], len[1], "matrix")) REFUSE(1, "is not an object that tra reads: only \"matrix\"");
    m->coordinate = is(w[2], len[2], "coordinate");
    if (!m->coordinate && !is(w[2], len[2], "array")) REFUSE(2, "is neither \"array\" nor \"coordinate\"");
    m->pattern = is(w[3], len[3], "pattern");
    m->integer = is(w[3], len[3], "integer") || is(w[3], len[3], "unsigned-integer");
    if (is(w[3], len[3], "complex")) REFUSE(3, complex_advice);
    if (!m->pattern && !m->integer && !is(w[3], len[3], "real") && !is(w[3], len[3], "double"))
        REFUSE(3, "is none of real, integer, pattern");
    if (m->pattern && !m->coordinate) REFUSE(3, "is for coordinate files only");
    if (is(w[4], len[4], "symmetric"))
        m->symmetry = TRA_SYMMETRIC;
    else if (is(w[4], len[4], "skew-symmetric"))
        m->symmetry = TRA_SKEW;
    else if (is(w[4], len[4], "hermitian"))
        REFUSE(4, "matrices are complex: write the real and imaginary parts apart");
    else if (!is(w[4], len[4], "general"))
        REFUSE(4, "is none of general, symmetric, skew-symmetric");
    if (m->pattern && m->symmetry == TRA_SKEW) REFUSE(4, "makes no sense for a pattern");
    if (m->tensor && (!m->coordinate || m->symmetry != TRA_GENERAL))
        REFUSE(m->coordinate ? 4 : 2, "is for matrices only: of a tensor coordinates are read, general ones");
#undef REFUSE
    return TRA_OK;
}

/* The size line; *entries: what it announces of a coordinate file. */
static tra_status read_size(tra_source *s, mtx *m, int64_t *entries, tra_err *e) {
    const char *w[WORDS];
    size_t len[WORDS];
    int n;
    TRA_TRY(next_words(s, m, true, w, len, &n, e));
    int rank = n - m->coordinate;
    int64_t v[WORDS] = {0}, cells;
    bool ok = m->tensor ? rank >= 1 && n <= WORDS : rank == 2;
    for (int i = 0; ok && i < n; i++) ok = tra_scan_int(w[i], len[i], &v[i]) && v[i] >= 0;
    if (!ok)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " does not give the size: \"%s\" is expected", s->spec,
                        m->line,
                        m->tensor       ? "EXTENT... ENTRIES"
                        : m->coordinate ? "ROWS COLUMNS ENTRIES"
                                        : "ROWS COLUMNS");
    s->shape.n = rank;
    memcpy(s->shape.v, v, sizeof *v * (size_t)rank);
    *entries = v[rank];
    if (!tra_dims_product(&s->shape, &cells)) {
        char text[TRA_DIMTEXT];
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %s elements are too many", s->spec, m->line,
                        tra_shape_text(&s->shape, text));
    }
    m->rows = v[0];
    m->cols = v[1];
    m->count = cells;
    if (m->symmetry != TRA_GENERAL && m->rows != m->cols)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": a symmetric matrix has as many rows as columns", s->spec,
                        m->line);
    return TRA_OK;
}

static tra_status open_mtx(tra_source *s, tra_err *e) {
    mtx *m = tra_new(s->arena, mtx);
    s->state = m;
    s->dtype = s->o.has_dtype ? s->o.dtype : TRA_F64;
    int64_t entries = 0;
    TRA_TRY(read_banner(s, m, e));
    s->type_text = m->pattern ? "pattern" : m->integer ? "integer" : "real";
    TRA_TRY(read_size(s, m, &entries, e));
    s->base = s->o.base >= 0 ? s->o.base : 1;
    if (m->coordinate) {
        tra_line_form form = {.base = s->base,
                              .value = m->pattern ? TRA_LINE_NO_VALUE : TRA_LINE_VALUE,
                              .symmetry = m->symmetry,
                              .count = entries,
                              .shown = m->tensor    ? "INDEX... VALUE"
                                       : m->pattern ? "ROW COLUMN"
                                                    : "ROW COLUMN VALUE"};
        s->most_entries = m->symmetry == TRA_GENERAL ? entries : tra_mul_most(2, entries);
        tra_lines_begin(s, &form, m->line);
    } else if (m->symmetry != TRA_GENERAL) { /* the lower triangle, column by column */
        int64_t half = m->rows % 2 == 0 ? m->rows / 2 * (m->rows + 1) : (m->rows + 1) / 2 * m->rows;
        m->count = m->symmetry == TRA_SYMMETRIC ? half : half - m->rows;
        m->row = m->symmetry == TRA_SKEW;
        s->most_entries = tra_mul_most(2, m->count);
        s->least_room = 2;
        s->entries = s->mirrored = 0;
        s->access = TRA_ACCESS_ENTRIES;
    } else {
        s->fortran = true;
        s->access = TRA_ACCESS_STREAM;
    }
    return TRA_OK;
}

static tra_status value(tra_source *s, const mtx *m, const char *word, size_t len, tra_number *v, tra_err *e) {
    char shown[TRA_SHOWN];
    double any;
    if (tra_scan_value(s->dtype, word, len, v)) {
        if (tra_dtype_is_float(s->dtype)) tra_count_losses(s->dtype, word, len, v->real, &s->inexact, &s->overflow);
        return TRA_OK;
    }
    if (tra_scan_num(word, len, &any))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %s does not hold \"%s\" (--dtype f64 takes any number)",
                        s->spec, m->line, tra_dtype_name(s->dtype), tra_shown(word, len, shown));
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": \"%s\" is not a number", s->spec, m->line,
                    tra_shown(word, len, shown));
}

static tra_status expect_end(tra_source *s, mtx *m, tra_err *e) {
    const char *w[WORDS];
    size_t len[WORDS];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n == 0) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " goes on after the last of %" PRId64 " values", s->spec, m->line,
                    m->count);
}

/* One value of an array file. */
static tra_status array_value(tra_source *s, mtx *m, tra_number *v, tra_err *e) {
    const char *w[WORDS];
    size_t len[WORDS];
    int n;
    TRA_TRY(next_words(s, m, false, w, len, &n, e));
    if (n == 0)
        return tra_fail(e, TRA_INPUT, "%s: ends at line %" PRId64 " after %" PRId64 " of %" PRId64 " values", s->spec,
                        m->line, m->taken, m->count);
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

/* The triangle of a symmetric array, with what stands across the diagonal. */
static tra_status triangle(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e) {
    mtx *m = s->state;
    for (*got = 0; *got + 2 <= room && m->taken < m->count;) {
        tra_number v;
        TRA_TRY(array_value(s, m, &v, e));
        to[(*got)++] = (tra_item){tra_place_of(p, (int64_t[]){m->row, m->col}), v};
        s->entries++;
        if (m->row != m->col) {
            if (m->symmetry == TRA_SKEW) TRA_TRY(tra_negative(s, m->line, v, &v, e));
            to[(*got)++] = (tra_item){tra_place_of(p, (int64_t[]){m->col, m->row}), v};
            s->mirrored++;
        }
        if (++m->row == m->rows) {
            m->col++;
            m->row = m->col + (m->symmetry == TRA_SKEW);
        }
    }
    return *got == 0 ? expect_end(s, m, e) : TRA_OK;
}

static tra_status entries(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e) {
    return (s->lines ? tra_lines_entries : triangle)(s, p, to, room, got, e);
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static tra_status prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    k->entries = k->o.coordinate;
    k->fortran = !k->entries;
    if (k->shape.n > 2 && !k->entries)
        return tra_fail(e, TRA_INPUT,
                        "a matrix has 2 dimensions, this tensor %d: export it to npy, tns, raw or h5, or with "
                        "--coordinate",
                        k->shape.n);
    return TRA_OK;
}

static tra_status begin(tra_sink *k, tra_err *e) {
    tra_str head = {0};
    const char *field = tra_dtype_is_float(k->dtype) ? "real" : "integer";
    tra_str_printf(&head, "%%%%MatrixMarket %s %s %s general\n", k->shape.n > 2 ? "tensor" : "matrix",
                   k->entries ? "coordinate" : "array", field);
    for (int d = 0; d < k->shape.n || d < 2; d++) /* a vector is a column */
        tra_str_printf(&head, "%s%" PRId64, d ? " " : "", d < k->shape.n ? k->shape.v[d] : 1);
    if (k->entries) tra_str_printf(&head, " %" PRId64, k->count);
    tra_str_add(&head, "\n");
    tra_status s = tra_newfile_write(&k->out, head.s, head.n, e);
    tra_str_free(&head);
    return s;
}

static tra_status put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    for (int64_t i = 0; i < n; i++) {
        TRA_TRY(tra_newfile_room(&k->out, TRA_NUMTEXT + 1, e));
        char *p = k->out.buf + k->out.len, *q = p + tra_print_value(k->dtype, data, i, p);
        *q++ = '\n';
        k->out.len += (size_t)(q - p);
        k->out.bytes += q - p;
    }
    return TRA_OK;
}

static tra_status entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    tra_dims two = *at;
    while (two.n < 2) two.v[two.n++] = 0;
    return tra_put_line(&k->out, &two, 1, k->dtype, value, 0, e);
}

const tra_format tra_format_mtx = {
    .name = "mtx",
    .says = "a sparse or dense matrix, MatrixMarket",
    .suffixes = ".mtx .mm .ttx",
    .sniff = sniff,
    .reads = TRA_OPTIONS(TRA_READS_COMMON, &tra_option_base, &tra_option_duplicates, &tra_option_drop_zeros),
    .writes = TRA_OPTIONS(&tra_option_coordinate),
    .open = open_mtx,
    .next = next,
    .entries = entries,
    .prepare = prepare,
    .begin = begin,
    .put = put,
    .entry = entry,
};
