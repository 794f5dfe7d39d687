/* calls_strings.c - functions of strings, and casts. */
#include "../base/simd.h"
#include "calls_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes and code points --------------------------------------------------------------------------------------- */

static bool goes_on(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

int64_t tra_point(tra_bytes t) {
    int64_t n = 1;
    unsigned char c = (unsigned char)t.s[0];
    int64_t most = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    while (n < most && n < t.n && goes_on(t.s[n])) n++;
    return n;
}

static tra_bytes after(tra_bytes t, int64_t bytes) { return (tra_bytes){t.s + bytes, t.n - bytes}; }

/* Are these eight bytes ASCII, of which each is a code point? */
static bool is_plain(const char *s) {
    uint64_t eight;
    memcpy(&eight, s, sizeof eight);
    return (eight & UINT64_C(0x8080808080808080)) == 0;
}

int64_t tra_points(tra_bytes t) {
    int64_t n = 0;
    while (t.n - n >= 8 && is_plain(t.s + n)) n += 8;
    if (t.n >= 8 && t.n - n < 8 && is_plain(t.s + (t.n - 8))) return t.n;
    t = (tra_bytes){t.s + n, t.n - n};
    for (; t.n > 0; t = after(t, tra_point(t))) n++;
    return n;
}

/* What follows the first `points` code points. */
static tra_bytes without(tra_bytes t, int64_t points) {
    while (points >= 8 && t.n >= 8 && is_plain(t.s)) t = after(t, 8), points -= 8;
    while (points > 0 && t.n > 0) t = after(t, tra_point(t)), points--;
    return t;
}

/* From code point number `from` (1 is the first), so many of them; what is before the first counts too. */
static tra_bytes part_of(tra_bytes t, int64_t from, int64_t count) {
    if (count < 0) count = 0;
    if (from < 1) count = tra_max64(0, from - 1 < -count ? 0 : count + from - 1), from = 1;
    t = without(t, from - 1);
    return (tra_bytes){t.s, t.n - without(t, count).n};
}

static bool begins(tra_bytes t, tra_bytes with) { return t.n >= with.n && memcmp(t.s, with.s, (size_t)with.n) == 0; }

enum { LANES = 16 };
typedef uint8_t lanes __attribute__((vector_size(LANES)));
typedef union alike {
    lanes byte; /* 255 where it is so */
    uint64_t half[2];
} alike;

/* Where `what`, which is not empty, stands first; -1: nowhere. Places are tried whose first and last byte fit, 16 at a
 * time. */
static int64_t find(tra_bytes t, tra_bytes what) {
    int64_t places = t.n - what.n + 1, i = 0;
    if (places <= 0) return -1;
    if (what.n == 1) {
        const char *at = memchr(t.s, what.s[0], (size_t)t.n);
        return at ? at - t.s : -1;
    }
    char first = what.s[0], last = what.s[what.n - 1];
    for (; i + LANES <= places; i += LANES) {
        lanes x, y;
        memcpy(&x, t.s + i, LANES);
        memcpy(&y, t.s + i + what.n - 1, LANES);
        alike at = {.byte = (lanes)((x == (uint8_t)first) & (y == (uint8_t)last))};
        if ((at.half[0] | at.half[1]) == 0) continue;
        for (int k = 0; k < LANES; k++)
            if (at.byte[k] && memcmp(t.s + i + k, what.s, (size_t)what.n) == 0) return i + k;
    }
    for (; i < places; i++)
        if (t.s[i] == first && t.s[i + what.n - 1] == last && memcmp(t.s + i, what.s, (size_t)what.n) == 0) return i;
    return -1;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

/* The bytes of a pattern before the next % or _. */
static int64_t literal(tra_bytes p) {
    int64_t n = 0;
    while (n < p.n && p.s[n] != '%' && p.s[n] != '_') n++;
    return n;
}

/* Goes on in s to the next place of the first n bytes of p, which follow a % of the pattern. Where the pattern ends
 * with them, that place is the end of s. False: s has them nowhere. */
static bool go_on(tra_bytes *s, tra_bytes p, int64_t n) {
    if (n == p.n) {
        if (s->n < n || memcmp(s->s + (s->n - n), p.s, (size_t)n) != 0) return false;
        return *s = after(*s, s->n - n), true;
    }
    int64_t at = n > 0 ? find(*s, (tra_bytes){p.s, n}) : 0;
    if (at >= 0) *s = after(*s, at);
    return at >= 0;
}

/* % any code points, _ one. Goes back to the last % alone, which is enough. */
void tra_call_like(tra_call *c) {
    tra_bytes s = tra_call_bytes(c, 0), p = tra_call_bytes(c, 1), star = {0}, at = {0};
    int64_t n = 0; /* bytes after the last % */
    while (s.n > 0 || (p.n > 0 && *p.s != '%')) {
        if (p.n > 0 && *p.s == '%') {
            star = p = after(p, 1);
            n = literal(p);
            if (!go_on(&s, p, n)) return;
            at = s;
            s = after(s, n);
            p = after(p, n);
        } else if (p.n > 0 && s.n > 0 && *p.s == '_') {
            p = after(p, 1);
            s = after(s, tra_point(s));
        } else if (p.n > 0 && s.n > 0 && *p.s == *s.s) {
            p = after(p, 1);
            s = after(s, 1);
        } else if (star.s && at.n > 0) {
            s = after(at, tra_point(at));
            if (!go_on(&s, star, n)) return;
            at = s;
            s = after(s, n);
            p = after(star, n);
        } else
            return;
    }
    while (p.n > 0 && *p.s == '%') p = after(p, 1);
    c->out.i = p.n == 0;
}

void tra_call_startswith(tra_call *c) { c->out.i = begins(tra_call_bytes(c, 0), tra_call_bytes(c, 1)); }

void tra_call_endswith(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0), with = tra_call_bytes(c, 1);
    c->out.i = t.n >= with.n && begins(after(t, t.n - with.n), with);
}

void tra_call_contains(tra_call *c) {
    tra_bytes what = tra_call_bytes(c, 1);
    c->out.i = what.n == 0 || find(tra_call_bytes(c, 0), what) >= 0;
}

void tra_call_position(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0), what = tra_call_bytes(c, 1);
    int64_t at = what.n == 0 ? 0 : find(t, what);
    c->out.i = at < 0 ? 0 : tra_points((tra_bytes){t.s, at}) + 1;
}

void tra_call_length(tra_call *c) { c->out.i = tra_points(tra_call_bytes(c, 0)); }

/* ---- strings of strings ------------------------------------------------------------------------------------------ */

/* Letters from `a` on change their case. */
TRA_ANY_TARGET __attribute__((optimize("O3"))) static void turn_letters(unsigned char *s, size_t n, unsigned char a) {
    for (size_t i = 0; i < n; i++) s[i] ^= (unsigned char)((unsigned char)(s[i] - a) < 26 ? 0x20 : 0);
}

static void change_case(tra_call *c, char a) {
    size_t begin = c->text->n;
    tra_call_give(c, tra_call_bytes(c, 0));
    turn_letters((unsigned char *)c->text->s + begin, c->text->n - begin, (unsigned char)a);
}
void tra_call_lower(tra_call *c) { change_case(c, 'A'); }
void tra_call_upper(tra_call *c) { change_case(c, 'a'); }

void tra_call_substr(tra_call *c) {
    tra_call_give(c, part_of(tra_call_bytes(c, 0), c->v[1].i, c->n > 2 ? c->v[2].i : INT64_MAX / 4));
}

/* Any value as text. */
static void print(tra_call *c, const tra_call_value *v) {
    char text[TRA_DATETEXT];
    switch (v->type) {
    case TRA_COL_STRING:
    case TRA_COL_TEXT: tra_call_give(c, (tra_bytes){v->s, v->n}); break;
    case TRA_COL_BOOL: tra_str_add(c->text, v->i ? "true" : "false"); break;
    case TRA_COL_DATE: tra_str_add(c->text, tra_date_text((int32_t)v->i, text)); break;
    case TRA_COL_TIMESTAMP: tra_str_add(c->text, tra_timestamp_text(v->i, text)); break;
    case TRA_COL_F32: tra_str_addn(c->text, text, tra_print_f32(text, (float)v->f)); break;
    case TRA_COL_F64: tra_str_add(c->text, tra_exactly(v->f, text)); break;
    case TRA_COL_I32:
    case TRA_COL_I64: tra_str_add_whole(c->text, v->i); break;
    }
}

void tra_call_concat(tra_call *c) {
    for (int i = 0; i < c->n; i++) print(c, &c->v[i]);
}

/* The part before the first separator, and how many bytes are before what follows it; the whole, if there is none. */
static tra_bytes first_part(tra_bytes t, tra_bytes by, bool *more, tra_bytes *rest) {
    int64_t at = by.n > 0 ? find(t, by) : -1;
    *more = at >= 0;
    if (!*more) return t;
    *rest = after(t, at + by.n);
    return (tra_bytes){t.s, at};
}

TRA_ANY_TARGET __attribute__((optimize("O3"))) static int64_t count_bytes(const char *s, int64_t n, char c) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += s[i] == c;
    return count;
}

int64_t tra_parts(tra_bytes t, tra_bytes by) {
    int64_t n = 1;
    bool more;
    if (by.n == 1) return 1 + count_bytes(t.s, t.n, by.s[0]);
    for ((void)first_part(t, by, &more, &t); more; n++) (void)first_part(t, by, &more, &t);
    return n;
}

tra_bytes tra_next_part(tra_bytes *t, tra_bytes by) {
    bool more;
    return first_part(*t, by, &more, t);
}

void tra_call_count_parts(tra_call *c) { c->out.i = tra_parts(tra_call_bytes(c, 0), tra_call_bytes(c, 1)); }

void tra_call_split_part(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0), by = tra_call_bytes(c, 1), rest = t, part;
    int64_t k = c->v[2].i, n = tra_parts(t, by);
    bool more;
    if (k < 0) k = n + 1 + k;
    if (k < 1 || k > n) return;
    do part = first_part(rest, by, &more, &rest);
    while (--k > 0);
    tra_call_give(c, part);
}

void tra_call_replace(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0), what = tra_call_bytes(c, 1), by = tra_call_bytes(c, 2);
    size_t begin = c->text->n;
    for (int64_t at; what.n > 0 && (at = find(t, what)) >= 0; t = after(t, at + what.n)) {
        tra_call_give(c, (tra_bytes){t.s, at});
        tra_call_give(c, by);
        if (c->text->n - begin > TRA_MADE_MOST) return (void)(c->out.state = TRA_STATE_ERROR);
    }
    tra_call_give(c, t);
}

static bool is_among(tra_bytes point, tra_bytes set) {
    for (; set.n > 0; set = after(set, tra_point(set)))
        if (tra_point(set) == point.n && memcmp(set.s, point.s, (size_t)point.n) == 0) return true;
    return false;
}

static void strip(tra_call *c, bool left, bool right) {
    tra_bytes t = tra_call_bytes(c, 0), set = c->n > 1 ? tra_call_bytes(c, 1) : (tra_bytes){" \t\n\v\f\r", 6};
    while (left && t.n > 0 && is_among((tra_bytes){t.s, tra_point(t)}, set)) t = after(t, tra_point(t));
    while (right && t.n > 0) {
        int64_t at = t.n - 1;
        while (at > 0 && t.n - at < 4 && goes_on(t.s[at])) at--;
        tra_bytes last = after(t, at);
        if (tra_point(last) != last.n) last = after(t, t.n - 1);
        if (!is_among(last, set)) break;
        t.n -= last.n;
    }
    tra_call_give(c, t);
}
void tra_call_trim(tra_call *c) { strip(c, true, true); }
void tra_call_ltrim(tra_call *c) { strip(c, true, false); }
void tra_call_rtrim(tra_call *c) { strip(c, false, true); }

static void add_padding(tra_call *c, int64_t points, tra_bytes fill) {
    for (tra_bytes rest = fill; points > 0 && fill.n > 0 && !c->over; points--) {
        if (rest.n == 0) rest = fill;
        tra_call_give(c, (tra_bytes){rest.s, tra_point(rest)});
        rest = after(rest, tra_point(rest));
    }
}

static void pad(tra_call *c, bool left) {
    tra_bytes t = tra_call_bytes(c, 0), fill = c->n > 2 ? tra_call_bytes(c, 2) : (tra_bytes){" ", 1};
    int64_t width = tra_max64(0, c->v[1].i), n = tra_points(t);
    if (width > TRA_MADE_MOST / 4) return (void)(c->out.state = TRA_STATE_ERROR);
    if (left) add_padding(c, width - n, fill);
    tra_call_give(c, part_of(t, 1, width));
    if (!left) add_padding(c, width - n, fill);
}
void tra_call_lpad(tra_call *c) { pad(c, true); }
void tra_call_rpad(tra_call *c) { pad(c, false); }

void tra_call_reverse(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0);
    size_t begin = c->text->n;
    tra_call_give(c, t);
    for (int64_t n; t.n > 0 && !c->over; t = after(t, n)) {
        n = tra_point(t);
        memcpy(c->text->s + begin + (size_t)(t.n - n), t.s, (size_t)n);
    }
}

void tra_call_repeat(tra_call *c) {
    tra_bytes t = tra_call_bytes(c, 0);
    if (tra_mul_most(t.n, tra_max64(0, c->v[1].i)) > TRA_MADE_MOST) return (void)(c->out.state = TRA_STATE_ERROR);
    for (int64_t i = 0; i < c->v[1].i && t.n > 0 && !c->over; i++) tra_call_give(c, t);
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* What the string says, as a number: *whole, or else *real. False: it is none. */
static bool number_of(tra_bytes t, tra_coltype to, int64_t *whole, double *real) {
    char text[512];
    if (t.n >= (int64_t)sizeof text || memchr(t.s, 0, (size_t)t.n)) return false;
    memcpy(text, t.s, (size_t)t.n);
    text[t.n] = 0;
    if (to == TRA_COL_BOOL) return *whole = !strcmp(text, "true"), *whole || !strcmp(text, "false");
    return tra_coltype_is_float(to) ? tra_parse_num(text, real) : tra_parse_int(text, whole);
}

void tra_call_cast(tra_call *c) {
    const tra_call_value *v = c->v;
    tra_coltype to = c->out.type;
    bool floats = tra_coltype_is_float(to), from_float = tra_coltype_is_float(v->type), ok = true;
    int64_t whole = v->i;
    double real = from_float ? v->f : (double)v->i;
    if (tra_coltype_is_coded(v->type)) {
        ok = number_of((tra_bytes){v->s, v->n}, to, &whole, &real);
    } else if (to == TRA_COL_BOOL) {
        whole = real != 0;
        ok = real == real;
    } else if (from_float && !floats) {
        real = trunc(real);
        ok = real >= -0x1p63 && real < 0x1p63;
        whole = ok ? (int64_t)real : 0;
    }
    if (ok && to == TRA_COL_F32 && isfinite(real) && isinf((float)real)) ok = false;
    if (ok && !floats && to != TRA_COL_BOOL) ok = tra_dtype_holds(tra_coltype_held(to), whole);
    bool tries = *tra_call_may(c->op) == 'n';
    c->out.state = ok ? TRA_STATE_VALUE : tries ? TRA_STATE_NULL : TRA_STATE_ERROR;
    c->out.i = whole;
    c->out.f = to == TRA_COL_F32 ? (double)(float)real : real;
}
