/* strings.c - comparisons of strings, and dates of them, computed once for each entry of a dictionary. */
#include "../base/parallel.h"
#include "../model/spooled.h"
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

static bool holds(tra_colop op, text a, text b) {
    int c = tra_bytes_cmp(a.s, a.n, b.s, b.n);
    switch (op) {
    case TRA_C_LT: return c < 0;
    case TRA_C_LE: return c <= 0;
    case TRA_C_GT: return c > 0;
    case TRA_C_GE: return c >= 0;
    case TRA_C_NE: return c != 0;
    default: return c == 0; /* EQ, IN */
    }
}

/* ---- tables by codes --------------------------------------------------------------------------------------------- */

static int64_t entries(const tra_colexpr *x) { return x->dict ? x->dict->n : 0; }

/* A comparison of strings with any of some constants. turned: the constant stands on the left. */
typedef struct comparing {
    tra_colop op;
    int n, pieces;
    const tra_colexpr *const *constants;
    bool turned;
    const tra_strings *s;
    uint8_t *table;
} comparing;

static void compare_piece(void *ctx, int p, void *scratch) {
    const comparing *x = ctx;
    int64_t to = tra_piece_begin(x->s->n, x->pieces, p + 1);
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->s->n, x->pieces, p); i < to; i++) {
        uint8_t *is = &x->table[x->s->from + i];
        text of;
        of.s = tra_strings_at(x->s, i, &of.n);
        for (int k = 0; k < x->n && !*is; k++) {
            text c = constant_of(x->constants[k]);
            *is = x->turned ? holds(x->op, c, of) : holds(x->op, of, c);
        }
    }
}

/* The table of such a comparison, made by several threads. */
static tra_status predicate(tra_arena *a, tra_colop op, const tra_colexpr *x, int n,
                            const tra_colexpr *const *constants, bool turned, const tra_colexpr **out, tra_err *e) {
    enum { STEPS = 10 };
    for (int k = 0; k < n; k++) TRA_TRY(tra_dictionary_read(constants[k]->dict, e));
    tra_strings s = {0};
    comparing by = {op, n, 1, constants, turned, &s, tra_news(a, uint8_t, entries(x))};
    tra_status status = TRA_OK;
    if (x->dict) tra_strings_begin(&s, x->dict);
    while (x->dict && (status = tra_strings_more(&s, e)) == TRA_OK && s.n > 0) {
        by.pieces = tra_parallel_pieces(tra_mul_most(STEPS * n, s.n));
        tra_parallel(by.pieces, compare_piece, &by, NULL);
    }
    tra_strings_end(&s);
    tra_colexpr *y = tra_new(a, tra_colexpr);
    *y = *tra_colexpr_lookup(a, x, TRA_COL_BOOL, by.table, NULL);
    y->tabulated[0] = entries(x);
    return *out = y, status;
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

/* The expression of whose entries all operands are lookups, but for constants; NULL: there is none. */
static const tra_colexpr *looked_up(const tra_colexpr *x) {
    const tra_colexpr *of = NULL;
    for (int i = 0; i < x->nkids; i++) {
        const tra_colexpr *kid = x->kids[i], *by = kid->nkids ? kid->kids[0] : NULL;
        if (is_constant(kid) && tra_colop_class(x->op) == TRA_COLCLASS_COMPARISON) continue;
        if (kid->op != TRA_C_LOOKUP || !tra_coltype_is_number(kid->type) || !by->dict) return NULL;
        if (of && of != by && (by->op != TRA_C_COLUMN || of->op != by->op || of->column != by->column)) return NULL;
        of = by;
    }
    return of;
}

const tra_colexpr *tra_colexpr_by_entry(tra_arena *a, const tra_colexpr *x) {
    const tra_colexpr *of = looked_up(x);
    if (!of || of->dict->n == 0 || !tra_affords_results(a, false, of->dict->n)) return x;
    int64_t n = of->dict->n;
    tra_arena *own = tra_arena_new();
    tra_colexpr *column = tra_colexpr_leaf(own, TRA_C_COLUMN, of->type), *same = tra_new(own, tra_colexpr);
    const tra_colexpr **kids = tra_news(own, const tra_colexpr *, x->nkids), *root = same;
    column->dict = of->dict;
    *same = *x;
    same->kids = kids;
    for (int i = 0; i < x->nkids; i++) {
        tra_colexpr *kid = tra_new(own, tra_colexpr);
        *kid = *x->kids[i];
        if (kid->nkids) kid->kids = memcpy(tra_new(own, const tra_colexpr *), &column, sizeof column);
        kids[i] = kid;
    }
    tra_colcode *code = tra_colcode_new(own, 1, &root);
    char *scratch = tra_arena_alloc(own, (size_t)tra_colcode_scratch(code) + 64);
    int32_t *codes = tra_news(own, int32_t, TRA_COLSTRIP);
    uint8_t *table = tra_news(a, uint8_t, n), *state = tra_news(own, uint8_t, n);
    tra_vector v = {.values = codes};
    tra_colrun run;
    bool all = true;
    tra_colrun_begin(&run, code, scratch + (64 - (uintptr_t)scratch % 64) % 64);
    for (int64_t from = 0; from < n; from += TRA_COLSTRIP) {
        int m = (int)tra_min64(TRA_COLSTRIP, n - from);
        for (int i = 0; i < m; i++) codes[i] = (int32_t)(from + i);
        tra_colrun_strip(&run, &v, 0, m);
        tra_colvalue r = tra_colrun_result(&run, 0);
        memcpy(table + from, r.values, (size_t)m);
        if (r.state) memcpy(state + from, r.state, (size_t)m);
        for (int i = 0; i < m && r.state; i++) all = all && r.state[i] == TRA_STATE_VALUE;
    }
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_LOOKUP, TRA_COL_BOOL, 1, &of);
    y->table = table;
    y->tstate = all ? NULL : memcpy(tra_news(a, uint8_t, n), state, (size_t)n);
    tra_arena_free(own);
    y->nullable = x->nullable, y->fails = x->fails;
    return y;
}

tra_status tra_colexpr_of_strings(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                  const tra_colexpr **out, tra_err *e) {
    const tra_colexpr *x = kids[0];
    const char *name = tra_colop_text(op);
    if (x->untyped) x = tra_colexpr_string(a, "", 0);
    if (!is_string(x))
        return tra_fail(e, TRA_PROGRAM, "%s takes a string, not a value of type %s", name, tra_coltype_name(x->type));
    switch (op) {
    case TRA_C_DATE:
    case TRA_C_TIMESTAMP: TRA_TRY(tra_dictionary_read(x->dict, e)); return *out = parsed(a, op, x), TRA_OK;
    case TRA_C_IN: return predicate(a, op, x, n - 1, kids + 1, false, out, e);
    default: /* a comparison */
        return is_constant(kids[1]) ? predicate(a, op, x, 1, &kids[1], false, out, e)
                                    : predicate(a, op, kids[1], 1, &kids[0], true, out, e);
    }
}

/* Code -> code of this dictionary. */
static const tra_colexpr *recode(tra_arena *a, const tra_colexpr *x, const tra_dictionary *dict, const int32_t *table,
                                 const tra_recoding *recoding) {
    tra_colexpr *y = tra_colexpr_node(a, TRA_C_RECODE, TRA_COL_STRING, 1, &x);
    y->dict = dict;
    y->table = table;
    y->recoding = recoding;
    return dict ? tra_colexpr_fold(a, y) : y;
}

tra_status tra_colexpr_unite(tra_arena *a, int n, const tra_colexpr **kids, bool ordered, tra_err *e) {
    const tra_dictionary **d = tra_news(a, const tra_dictionary *, n);
    int32_t **map = tra_news(a, int32_t *, n);
    bool same = true, away = false, sorted = true;
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        same &= kids[i]->type == kids[0]->type && tra_dictionary_eq(kids[i]->dict, kids[0]->dict);
        d[i] = kids[i]->dict;
        away = away || tra_dictionary_is_away(d[i]);
        sorted = sorted && d[i] && d[i]->sorted;
        if (d[i] && d[i]->begin) bytes += d[i]->begin[d[i]->n] + 60 * d[i]->n; /* also what sorting takes */
    }
    for (int i = 0; i < n; i++) {
        if (!d[i]) { /* of a table that is only declared */
            for (int k = 0; k < n; k++) kids[k] = recode(a, kids[k], NULL, NULL, NULL);
            return TRA_OK;
        }
    }
    if (same && (!ordered || d[0]->sorted)) return TRA_OK;
    if (away && sorted) {
        tra_recoding *recoding = tra_news(a, tra_recoding, n);
        const tra_dictionary *united;
        TRA_TRY(tra_dictionary_unite(a, n, d, &united, recoding, e));
        for (int i = 0; i < n; i++) kids[i] = recode(a, kids[i], united, NULL, &recoding[i]);
        return TRA_OK;
    }
    for (int i = 0; i < n; i++) TRA_TRY(tra_dictionary_read(d[i], e));
    TRA_TRY(tra_ceiling_check(bytes, "the strings of columns that meet", e));
    const tra_dictionary *u = tra_dictionary_union(a, n, d, map);
    for (int i = 0; i < n; i++) kids[i] = recode(a, kids[i], u, map[i], NULL);
    return TRA_OK;
}
