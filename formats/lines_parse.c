/* lines_parse.c - a line of a coordinate file: its indices and its value, or what is wrong with it. */
#include "lines_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------------------------- */

static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char *tra_lines_skip_blanks(const char *s) {
    const char *p = s;
    while (*p == ' ' || *p == '\t') p++;
    if (*p != '\r') return p;
    for (s = p; is_blank(*s);) s++;
    return *s == '\n' ? s : p;
}

const char *tra_lines_word_end(const char *s) {
    while (!is_blank(*s) && *s != '\n') s++;
    return s;
}

bool tra_lines_is_empty(const lines *l, const char *s) {
    return *s == '\n' || (*s && (*s == l->form.comment[0] || *s == l->form.comment[1]));
}

int64_t tra_lines_line_at(const piece *p, const char *s) {
    int64_t line = p->first;
    for (const char *q = p->text; (q = memchr(q, '\n', (size_t)(s - q))); q++) line++;
    return line;
}

/* Does a carriage return stand before the end of a line, and so for the end of one? */
static bool has_lone_return(const char *begin, const char *end) {
    while (end > begin && is_blank(end[-1])) end--;
    return memchr(begin, '\r', (size_t)(end - begin)) != NULL;
}

/* ---- what is wrong --------------------------------------------------------------------------------------------- */

tra_status tra_lines_refuse_form(const lines *l, const piece *p, const char *at, tra_err *e) {
    int64_t line = tra_lines_line_at(p, at);
    const char *begin = at, *end = memchr(at, '\n', (size_t)(p->text + p->bytes - at));
    while (begin > p->text && begin[-1] != '\n') begin--;
    if (end - begin > LONGEST) return tra_lines_too_long(l, line, e);
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " is not \"%s\"%s", l->source->spec, line, l->form.shown,
                    has_lone_return(begin, end) ? TRA_LONE_RETURNS : "");
}

static tra_status outside(const lines *l, const piece *p, const char *at, const int64_t *v, tra_err *e) {
    char text[TRA_DIMTEXT], shape[TRA_DIMTEXT];
    tra_dims given = {.n = l->rank};
    for (int d = 0; d < l->rank; d++) given.v[d] = v[d] + l->form.base;
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": entry %s is outside the %s %s (indices begin at %" PRId64 ")",
                    l->source->spec, tra_lines_line_at(p, at), tra_dims_text(&given, "(", ",", ")", text, sizeof text),
                    tra_shape_text(&l->source->shape, shape), l->rank == 2 ? "matrix" : "tensor", l->form.base);
}

static tra_status bad_value(const lines *l, const piece *p, const char *at, size_t n, tra_err *e) {
    char shown[TRA_SHOWN];
    double any;
    const tra_source *s = l->source;
    int64_t line = tra_lines_line_at(p, at);
    if (tra_scan_num(at, n, &any))
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": %s does not hold \"%s\" (--dtype f64 takes any number)",
                        s->spec, line, tra_dtype_name(s->dtype), tra_shown(at, n, shown));
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": \"%s\" is not a number", s->spec, line,
                    tra_shown(at, n, shown));
}

tra_status tra_lines_skip_comment(const lines *l, const piece *p, const char **s, tra_err *e) {
    const char *begin = *s, *end = *s = memchr(begin, '\n', (size_t)(p->text + p->bytes - begin));
    return has_lone_return(begin, end) ? tra_lines_refuse_form(l, p, begin, e) : TRA_OK;
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

tra_status tra_negative(const tra_source *s, int64_t line, tra_number v, tra_number *to, tra_err *e) {
    if (tra_dtype_is_float(s->dtype)) {
        to->real = -v.real;
    } else if (v.whole == INT64_MIN || !tra_dtype_holds(s->dtype, -v.whole)) {
        return tra_fail(e, TRA_INPUT,
                        "%s: line %" PRId64 ": %s does not hold the negative of %" PRId64
                        ", which the skew-symmetric matrix has across the diagonal",
                        s->spec, line, tra_dtype_name(s->dtype), v.whole);
    } else {
        to->whole = -v.whole;
    }
    return TRA_OK;
}

bool tra_lines_scan_index(const char **s, int64_t base, int64_t *v) {
    const char *p = *s;
    uint64_t x = 0;
    while ((unsigned char)(*p - '0') < 10) x = x * 10 + (uint64_t)(*p++ - '0');
    if (p == *s || p - *s > 18) { /* a sign, zeros in front; or none */
        p = tra_lines_word_end(*s);
        int64_t any;
        if (!tra_scan_int(*s, (size_t)(p - *s), &any) || !tra_add(any, -base, v)) return false;
    } else {
        if (!is_blank(*p) && *p != '\n') return false;
        *v = (int64_t)x - base;
    }
    *s = tra_lines_skip_blanks(p);
    return true;
}

/* The value at *s, which is then at the end of the line. */
static tra_status scan_value(const lines *l, piece *p, const char **s, tra_number *v, tra_err *e) {
    const tra_source *src = l->source;
    bool real = tra_dtype_is_float(src->dtype), none = **s == '\n';
    if (**s == '\r') return tra_lines_refuse_form(l, p, *s, e);
    if (l->form.value == TRA_LINE_NO_VALUE ? !none : none && l->form.value == TRA_LINE_VALUE)
        return tra_lines_refuse_form(l, p, *s, e);
    if (none) {
        if (real)
            v->real = 1;
        else
            v->whole = 1;
        return TRA_OK;
    }
    const char *end = tra_lines_word_end(*s);
    if (!tra_scan_value(src->dtype, *s, (size_t)(end - *s), v)) return bad_value(l, p, *s, (size_t)(end - *s), e);
    if (real) tra_count_losses(src->dtype, *s, (size_t)(end - *s), v->real, &p->inexact, &p->overflow);
    const char *after = tra_lines_skip_blanks(end);
    if (*after != '\n') return tra_lines_refuse_form(l, p, *s, e);
    *s = after;
    return TRA_OK;
}

/* The other half of a symmetric matrix. */
static tra_status mirror(const lines *l, piece *p, const char *at, const int64_t *v, tra_number x, tra_item **to,
                         tra_err *e) {
    const tra_source *s = l->source;
    bool real = tra_dtype_is_float(s->dtype);
    if (v[0] == v[1]) {
        if (l->form.symmetry == TRA_SKEW && (real ? x.real != 0 : x.whole != 0))
            return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": the diagonal of a skew-symmetric matrix is zero",
                            s->spec, tra_lines_line_at(p, at));
        return TRA_OK;
    }
    if (l->form.symmetry == TRA_SKEW) TRA_TRY(tra_negative(s, tra_lines_line_at(p, at), x, &x, e));
    *(*to)++ = (tra_item){tra_place_of(l->places, (int64_t[]){v[1], v[0]}), x};
    p->mirrored++;
    return TRA_OK;
}

tra_status tra_lines_parse_piece(lines *l, piece *p, int worker, tra_err *e) {
    (void)worker;
    const int64_t *extent = l->source->shape.v, base = l->form.base;
    int rank = l->rank;
    tra_item *to = p->to;
    for (const char *s = p->text, *end = s + p->bytes; s < end; s++) {
        const char *begin = s = tra_lines_skip_blanks(s);
        if (tra_lines_is_empty(l, s)) {
            TRA_TRY(tra_lines_skip_comment(l, p, &s, e));
            continue;
        }
        int64_t v[TRA_MAXRANK];
        bool inside = true;
        for (int d = 0; d < rank; d++) {
            bool found = l->place ? tra_lines_scan_name(l, &s, &v[d]) : tra_lines_scan_index(&s, base, &v[d]);
            if (!found) return tra_lines_refuse_form(l, p, begin, e);
            inside &= v[d] >= 0 && v[d] < extent[d];
        }
        if (!inside) return outside(l, p, begin, v, e);
        tra_number x = {0};
        TRA_TRY(scan_value(l, p, &s, &x, e));
        *to++ = (tra_item){tra_place_of(l->places, v), x};
        p->entries++;
        if (l->form.symmetry != TRA_GENERAL) TRA_TRY(mirror(l, p, begin, v, x, &to, e));
    }
    return TRA_OK;
}
