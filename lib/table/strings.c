/* strings.c - functions of strings, computed once for each entry of a dictionary. */
#include "table_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct text {
    const char *s;
    int64_t n;
} text;

static text entry_of(const tra_dictionary *d, int64_t i) {
    text t;
    t.s = tra_dictionary_at(d, i, &t.n);
    return t;
}

static text constant_of(const tra_colexpr *x) { return entry_of(x->dict, x->value.i); }

static bool is_string(const tra_colexpr *x) { return !x->untyped && tra_coltype_is_coded(x->type); }

static bool is_constant(const tra_colexpr *x) { return x->op == TRA_C_CONST && !x->untyped && !x->null; }

/* ---- bytes and code points --------------------------------------------------------------------------------------- */

static bool goes_on(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Bytes of the code point at the beginning; what is no UTF-8 counts byte by byte. */
static int64_t point(text t) {
    int64_t n = 1;
    unsigned char c = (unsigned char)t.s[0];
    int64_t most = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    while (n < most && n < t.n && goes_on(t.s[n])) n++;
    return n;
}

static text after(text t, int64_t bytes) { return (text){t.s + bytes, t.n - bytes}; }

static int64_t points(text t) {
    int64_t n = 0;
    for (; t.n > 0; t = after(t, point(t))) n++;
    return n;
}

/* From code point number `from` (1 is the first), so many of them; what is before the first counts too. */
static text part_of(text t, int64_t from, int64_t count) {
    if (count < 0) count = 0;
    if (from < 1) count = tra_max64(0, from - 1 < -count ? 0 : count + from - 1), from = 1;
    while (t.n > 0 && from > 1) t = after(t, point(t)), from--;
    text end = t;
    while (end.n > 0 && count > 0) end = after(end, point(end)), count--;
    return (text){t.s, t.n - end.n};
}

/* % any code points, _ one. Goes back to the last % alone, which is enough. */
static bool like(text s, text p) {
    text star = {0}, at = {0};
    while (s.n > 0) {
        if (p.n > 0 && *p.s == '%') {
            star = p = after(p, 1);
            at = s;
        } else if (p.n > 0 && *p.s == '_') {
            p = after(p, 1);
            s = after(s, point(s));
        } else if (p.n > 0 && *p.s == *s.s) {
            p = after(p, 1);
            s = after(s, 1);
        } else if (star.s) {
            p = star;
            s = at = after(at, 1);
        } else
            return false;
    }
    while (p.n > 0 && *p.s == '%') p = after(p, 1);
    return p.n == 0;
}

static bool holds(tra_colop op, text a, text b) {
    int c = tra_bytes_cmp(a.s, a.n, b.s, b.n);
    switch (op) {
    case TRA_C_LT: return c < 0;
    case TRA_C_LE: return c <= 0;
    case TRA_C_GT: return c > 0;
    case TRA_C_GE: return c >= 0;
    case TRA_C_NE: return c != 0;
    case TRA_C_LIKE: return like(a, b);
    case TRA_C_STARTSWITH: return a.n >= b.n && tra_bytes_cmp(a.s, b.n, b.s, b.n) == 0;
    default: return c == 0; /* EQ, IN */
    }
}

/* ---- tables by codes --------------------------------------------------------------------------------------------- */

static int64_t entries(const tra_colexpr *x) { return x->dict ? x->dict->n : 0; }

/* A comparison of x with any of some constants. turned: the constant stands on the left. */
static const tra_colexpr *predicate(tra_arena *a, tra_colop op, const tra_colexpr *x, int n,
                                    const tra_colexpr *const *constants, bool turned) {
    uint8_t *table = tra_news(a, uint8_t, entries(x));
    for (int64_t i = 0; i < entries(x); i++) {
        for (int k = 0; k < n && !table[i]; k++) {
            text s = entry_of(x->dict, i), c = constant_of(constants[k]);
            table[i] = turned ? holds(op, c, s) : holds(op, s, c);
        }
    }
    return tra_colexpr_lookup(a, x, TRA_COL_BOOL, table, NULL);
}

static const tra_colexpr *length(tra_arena *a, const tra_colexpr *x) {
    int64_t *table = tra_news(a, int64_t, entries(x));
    for (int64_t i = 0; i < entries(x); i++) table[i] = points(entry_of(x->dict, i));
    return tra_colexpr_lookup(a, x, TRA_COL_I64, table, NULL);
}

static const tra_colexpr *parsed(tra_arena *a, tra_colop op, const tra_colexpr *x) {
    int32_t *days = tra_news(a, int32_t, entries(x));
    int64_t *micros = tra_news(a, int64_t, entries(x));
    uint8_t *state = tra_news(a, uint8_t, entries(x));
    for (int64_t i = 0; i < entries(x); i++) {
        text t = entry_of(x->dict, i);
        bool is = op == TRA_C_DATE ? tra_parse_date(t.s, t.n, &days[i]) : tra_parse_timestamp(t.s, t.n, &micros[i]);
        if (is) continue;
        state[i] = TRA_STATE_NULL;
        days[i] = 0;
        micros[i] = 0;
    }
    return op == TRA_C_DATE ? tra_colexpr_lookup(a, x, TRA_COL_DATE, days, state)
                            : tra_colexpr_lookup(a, x, TRA_COL_TIMESTAMP, micros, state);
}

/* Strings in any order, some of them twice, as a sorted dictionary; table: the code of each. */
static const tra_dictionary *sorted_of(tra_arena *a, int64_t n, const text *t, int32_t **table) {
    const char **s = tra_calloc((size_t)n + 1, sizeof *s);
    int64_t *len = tra_calloc((size_t)n + 1, sizeof *len);
    for (int64_t i = 0; i < n; i++) s[i] = t[i].s, len[i] = t[i].n;
    tra_arena *own = tra_arena_new();
    const tra_dictionary *raw = tra_dictionary_new(own, n, s, len);
    const tra_dictionary *made = tra_dictionary_union(a, 1, &raw, table);
    tra_arena_free(own);
    free(s);
    free(len);
    return made;
}

static void change_case(tra_colop op, char *s, int64_t n) {
    char from = op == TRA_C_LOWER ? 'A' : 'a', to = op == TRA_C_LOWER ? 'Z' : 'z';
    for (int64_t i = 0; i < n; i++) {
        if (s[i] >= from && s[i] <= to) s[i] = (char)(s[i] ^ 0x20);
    }
}

/* lower, upper, substr: strings made of strings. */
static const tra_colexpr *remade(tra_arena *a, tra_colop op, const tra_colexpr *x, int64_t from, int64_t count) {
    if (!x->dict) return tra_colexpr_recode(a, x, NULL, NULL);
    int64_t n = x->dict->n, all = x->dict->begin[n];
    text *t = tra_calloc((size_t)n + 1, sizeof *t);
    char *bytes = tra_calloc((size_t)all + 1, 1);
    if (all > 0) memcpy(bytes, x->dict->bytes, (size_t)all);
    if (op != TRA_C_SUBSTR) change_case(op, bytes, all);
    for (int64_t i = 0; i < n; i++) {
        t[i] = (text){bytes + x->dict->begin[i], x->dict->begin[i + 1] - x->dict->begin[i]};
        if (op == TRA_C_SUBSTR) t[i] = part_of(t[i], from, count);
    }
    int32_t *table;
    const tra_dictionary *d = sorted_of(a, n, t, &table);
    free(t);
    free(bytes);
    return tra_colexpr_recode(a, x, d, table);
}

static bool whole_constant(const tra_colexpr *x) { return is_constant(x) && x->type <= TRA_COL_I64; }

tra_status tra_colexpr_of_strings(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                  const tra_colexpr **out, tra_err *e) {
    const tra_colexpr *x = kids[0];
    const char *name = tra_colop_text(op);
    if (x->untyped) x = tra_colexpr_string(a, "", 0);
    if (!is_string(x))
        return tra_fail(e, TRA_PROGRAM, "%s takes a string, not a value of type %s", name, tra_coltype_name(x->type));
    switch (op) {
    case TRA_C_LIKE:
    case TRA_C_STARTSWITH:
        if (!is_string(kids[1]) || !is_constant(kids[1]))
            return tra_fail(e, TRA_PROGRAM, "the second argument of %s is a string that stands in the program", name);
        *out = predicate(a, op, x, 1, &kids[1], false);
        return TRA_OK;
    case TRA_C_LENGTH: return *out = length(a, x), TRA_OK;
    case TRA_C_DATE:
    case TRA_C_TIMESTAMP: return *out = parsed(a, op, x), TRA_OK;
    case TRA_C_LOWER:
    case TRA_C_UPPER: return *out = remade(a, op, x, 0, 0), TRA_OK;
    case TRA_C_SUBSTR:
        if (!whole_constant(kids[1]) || (n > 2 && !whole_constant(kids[2])))
            return tra_fail(e, TRA_PROGRAM, "substr takes a string and whole numbers that stand in the program");
        *out = remade(a, op, x, kids[1]->value.i, n > 2 ? kids[2]->value.i : INT64_MAX / 4);
        return TRA_OK;
    case TRA_C_IN: return *out = predicate(a, op, x, n - 1, kids + 1, false), TRA_OK;
    default: /* a comparison */
        *out = is_constant(kids[1]) ? predicate(a, op, x, 1, &kids[1], false)
                                    : predicate(a, op, kids[1], 1, &kids[0], true);
        return TRA_OK;
    }
}

void tra_colexpr_unite(tra_arena *a, int n, const tra_colexpr **kids, bool ordered) {
    const tra_dictionary **d = tra_news(a, const tra_dictionary *, n);
    int32_t **map = tra_news(a, int32_t *, n);
    bool same = true;
    for (int i = 0; i < n; i++) {
        same &= kids[i]->type == kids[0]->type && tra_dictionary_eq(kids[i]->dict, kids[0]->dict);
        d[i] = kids[i]->dict;
    }
    for (int i = 0; i < n; i++) {
        if (!d[i]) { /* of a table that is only declared */
            for (int k = 0; k < n; k++) kids[k] = tra_colexpr_recode(a, kids[k], NULL, NULL);
            return;
        }
    }
    if (same && (!ordered || d[0]->sorted)) return;
    const tra_dictionary *u = tra_dictionary_union(a, n, d, map);
    for (int i = 0; i < n; i++) kids[i] = tra_colexpr_recode(a, kids[i], u, map[i]);
}
