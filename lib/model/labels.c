/* labels.c - labels of the positions of a dimension. */
#include "labels.h"

#include "dates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tra_dim_labels *new_labels(tra_arena *a, const char *name, tra_coltype type, int64_t n) {
    tra_dim_labels *l = tra_new(a, tra_dim_labels);
    *l = (tra_dim_labels){.name = tra_arena_strndup(a, name, strlen(name)), .type = type, .n = n};
    return l;
}

const tra_dim_labels *tra_dim_labels_of_strings(tra_arena *a, const char *name, const tra_dictionary *d) {
    tra_dim_labels *l = new_labels(a, name, TRA_COL_STRING, d->n);
    int32_t *code = NULL;
    l->dict = d->sorted ? d : tra_dictionary_union(a, 1, &d, &code);
    l->code = code;
    return l;
}

const tra_dim_labels *tra_dim_labels_of_texts(tra_arena *a, const char *name, int64_t n, const char *const *text) {
    int64_t *len = tra_news(a, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) len[i] = (int64_t)strlen(text[i]);
    return tra_dim_labels_of_strings(a, name, tra_dictionary_new(a, n, text, len));
}

const tra_dim_labels *tra_dim_labels_of_dictionary(tra_arena *a, const char *name, const tra_dictionary *sorted) {
    tra_dim_labels *l = new_labels(a, name, TRA_COL_STRING, sorted->n);
    l->dict = sorted;
    return l;
}

const tra_dim_labels *tra_dim_labels_of_whole(tra_arena *a, const char *name, tra_coltype type, int64_t n,
                                              const int64_t *v) {
    tra_dim_labels *l = new_labels(a, name, type, n);
    int64_t *own = tra_news(a, int64_t, n + 1);
    if (n > 0) memcpy(own, v, (size_t)n * sizeof *v);
    l->whole = own;
    return l;
}

tra_status tra_dim_labels_of_column(tra_arena *a, const tra_column *c, const tra_vector *v, int64_t n,
                                    const tra_dim_labels **out, tra_err *e) {
    bool coded = tra_coltype_is_coded(c->type), real = tra_coltype_is_float(c->type);
    tra_dim_labels *l = new_labels(a, c->name, c->type == TRA_COL_I32 ? TRA_COL_I64 : c->type, n);
    int64_t *whole = coded ? NULL : tra_news(a, int64_t, n + 1);
    int32_t *code = coded ? tra_news(a, int32_t, n + 1) : NULL, *place = NULL;
    if (coded) {
        l->type = TRA_COL_STRING;
        l->dict = c->dict->sorted ? c->dict : tra_dictionary_union(a, 1, &c->dict, &place);
    }
    for (int64_t i = 0; i < n; i++) {
        if (v->state && v->state[i] != TRA_STATE_VALUE)
            return tra_fail(e, TRA_INPUT, "row %" PRId64 " has NULL in column '%s', which is no label", i, c->name);
        double x = real ? tra_element_real(tra_coltype_held(c->type), v->values, i) : 0;
        if (real)
            memcpy(&whole[i], &x, sizeof x);
        else if (coded)
            code[i] = place ? place[((const int32_t *)v->values)[i]] : ((const int32_t *)v->values)[i];
        else
            whole[i] = tra_element_whole(tra_coltype_held(c->type), v->values, i);
    }
    l->whole = whole;
    l->code = code;
    *out = l;
    return TRA_OK;
}

const char *tra_dim_labels_bytes(const tra_dim_labels *l, int64_t i, int64_t *len) {
    return tra_dictionary_at(l->dict, l->code ? l->code[i] : i, len);
}

static bool real_differs(double a, double b) { return a != b && !(a != a && b != b); }

int64_t tra_dim_labels_differ(const tra_dim_labels *x, const tra_dim_labels *y) {
    bool texts = x->type == TRA_COL_STRING, one_kind = texts == (y->type == TRA_COL_STRING);
    if (x == y || (texts && one_kind && x->dict == y->dict && !x->code && !y->code)) return -1;
    for (int64_t i = 0; i < tra_min64(x->n, y->n); i++) {
        int64_t nx = 0, ny = 0;
        if (!one_kind) return i;
        const char *a = texts ? tra_dim_labels_bytes(x, i, &nx) : NULL,
                   *b = texts ? tra_dim_labels_bytes(y, i, &ny) : NULL;
        bool reals = tra_coltype_is_float(x->type) || tra_coltype_is_float(y->type);
        if (texts   ? tra_bytes_cmp(a, nx, b, ny) != 0
            : reals ? real_differs(tra_dim_labels_real(x, i), tra_dim_labels_real(y, i))
                    : x->whole[i] != y->whole[i])
            return i;
    }
    return x->n == y->n ? -1 : tra_min64(x->n, y->n);
}

double tra_dim_labels_real(const tra_dim_labels *l, int64_t position) {
    double v;
    if (!tra_coltype_is_float(l->type)) return (double)l->whole[position];
    memcpy(&v, &l->whole[position], sizeof v);
    return v;
}

/* The fewest digits that give the same number again. */
static const char *real_text(tra_arena *a, double v, bool narrow) {
    char text[32];
    for (int digits = narrow ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (narrow ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v) break;
    }
    return tra_arena_printf(a, "%s", text);
}

const char *tra_dim_labels_text(tra_arena *a, const tra_dim_labels *l, int64_t position) {
    int64_t len;
    char text[TRA_DATETEXT];
    if (l->type == TRA_COL_STRING) {
        const char *s = tra_dim_labels_bytes(l, position, &len);
        return tra_arena_strndup(a, s, (size_t)len);
    }
    int64_t v = l->whole[position];
    switch (l->type) {
    case TRA_COL_BOOL: return v ? "true" : "false";
    case TRA_COL_DATE: return tra_arena_printf(a, "%s", tra_date_text((int32_t)v, text));
    case TRA_COL_TIMESTAMP: return tra_arena_printf(a, "%s", tra_timestamp_text(v, text));
    case TRA_COL_F64:
    case TRA_COL_F32: return real_text(a, tra_dim_labels_real(l, position), l->type == TRA_COL_F32);
    default: return tra_arena_printf(a, "%" PRId64, v);
    }
}

const tra_dim_labels *tra_dim_labels_named(tra_arena *a, const tra_dim_labels *l, const char *name, bool keys) {
    tra_dim_labels *named = tra_new(a, tra_dim_labels);
    *named = *l;
    named->keys = keys;
    named->name = tra_arena_strndup(a, name, strlen(name));
    return named;
}

const tra_dim_labels *tra_dim_labels_part(tra_arena *a, const tra_dim_labels *l, int64_t from, int64_t n) {
    tra_dim_labels *part = tra_new(a, tra_dim_labels);
    *part = *l;
    part->n = n;
    if (l->type != TRA_COL_STRING) {
        part->whole += from;
        return part;
    }
    int32_t *code = tra_news(a, int32_t, n + 1);
    for (int64_t i = 0; i < n; i++) code[i] = l->code ? l->code[from + i] : (int32_t)(from + i);
    part->code = code;
    return part;
}

const tra_dim_labels *tra_dim_labels_at(tra_arena *a, const tra_dim_labels *l, const int64_t *position, int64_t n) {
    tra_dim_labels *some = tra_new(a, tra_dim_labels);
    int64_t *whole = tra_news(a, int64_t, n + 1);
    int32_t *code = tra_news(a, int32_t, n + 1);
    *some = *l;
    some->n = n;
    for (int64_t i = 0; i < n; i++)
        if (l->type == TRA_COL_STRING)
            code[i] = l->code ? l->code[position[i]] : (int32_t)position[i];
        else
            whole[i] = l->whole[position[i]];
    some->code = l->type == TRA_COL_STRING ? code : NULL;
    some->whole = l->type == TRA_COL_STRING ? NULL : whole;
    return some;
}

const tra_dim_labels *tra_dim_labels_both(tra_arena *a, const tra_dim_labels *x, const tra_dim_labels *y) {
    const tra_dim_labels *of[2] = {x, y};
    if (x->type != y->type) return NULL;
    tra_dim_labels *l = new_labels(a, x->name, x->type, x->n + y->n);
    l->units = x->units && y->units && strcmp(x->units, y->units) == 0 ? x->units : NULL;
    l->of_file = x->of_file;
    int64_t *whole = tra_news(a, int64_t, l->n + 1), at = 0;
    int32_t *code = tra_news(a, int32_t, l->n + 1), *map[2] = {NULL, NULL};
    const tra_dictionary *d[2] = {x->dict, y->dict};
    if (x->type == TRA_COL_STRING) l->dict = tra_dictionary_union(a, 2, d, map);
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < of[o]->n; i++, at++) {
            if (l->dict)
                code[at] = map[o][of[o]->code ? of[o]->code[i] : i];
            else
                whole[at] = of[o]->whole[i];
        }
    if (l->dict)
        l->code = code;
    else
        l->whole = whole;
    return l;
}

tra_column tra_dim_labels_column(const tra_dim_labels *l, const char *name) {
    return (tra_column){.name = name, .type = l->type, .dict = l->type == TRA_COL_STRING ? l->dict : NULL};
}

void tra_dim_labels_put(const tra_dim_labels *l, int64_t position, void *values, int64_t at) {
    int64_t v = l->type != TRA_COL_STRING ? l->whole[position] : l->code ? l->code[position] : position;
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name: ((ctype *)values)[at] = (ctype)v; break;
    switch (tra_coltype_held(l->type)) {
        TRA_WHOLE_DTYPES(X)
#undef X
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name: ((ctype *)values)[at] = (ctype)tra_dim_labels_real(l, position); break;
        TRA_FLOAT_DTYPES(X)
#undef X
    }
}

/* ---- looking labels up ------------------------------------------------------------------------------------------- */

/* Labels in the order of their values. */
typedef struct sorted {
    const tra_dim_labels *l;
    int64_t at;
} sorted;

static int compare(const tra_dim_labels *x, int64_t i, const tra_dim_labels *y, int64_t k) {
    bool texts = x->type == TRA_COL_STRING;
    if (texts != (y->type == TRA_COL_STRING)) return texts ? 1 : -1;
    if (texts) {
        int64_t nx, ny;
        const char *a = tra_dim_labels_bytes(x, i, &nx), *b = tra_dim_labels_bytes(y, k, &ny);
        return tra_bytes_cmp(a, nx, b, ny);
    }
    if (tra_coltype_is_float(x->type) || tra_coltype_is_float(y->type)) {
        double a = tra_dim_labels_real(x, i), b = tra_dim_labels_real(y, k);
        return a != a || b != b ? (a != a) - (b != b) : (a > b) - (a < b);
    }
    return (x->whole[i] > y->whole[k]) - (x->whole[i] < y->whole[k]);
}

static int by_label(const void *x, const void *y) {
    const sorted *a = x, *b = y;
    int c = compare(a->l, a->at, b->l, b->at);
    return c ? c : (a->at > b->at) - (a->at < b->at);
}

static sorted *sort_labels(const tra_dim_labels *l) {
    sorted *v = tra_calloc((size_t)l->n + 1, sizeof *v);
    for (int64_t i = 0; i < l->n; i++) v[i] = (sorted){l, i};
    qsort(v, (size_t)l->n, sizeof *v, by_label);
    return v;
}

bool tra_dim_labels_twice(const tra_dim_labels *l, int64_t *first, int64_t *second) {
    sorted *v = sort_labels(l);
    bool found = false;
    for (int64_t i = 1; i < l->n; i++) {
        if (compare(l, v[i - 1].at, l, v[i].at) != 0 || (found && v[i].at >= *second)) continue;
        found = true;
        *first = v[i - 1].at;
        *second = v[i].at;
    }
    free(v);
    return found;
}

int64_t *tra_dim_labels_find(tra_arena *a, const tra_dim_labels *l, const tra_dim_labels *which) {
    sorted *v = sort_labels(l);
    int64_t *at = tra_news(a, int64_t, which->n + 1);
    for (int64_t i = 0; i < which->n; i++) {
        int64_t k = 0;
        TRA_BISECT(k, l->n, mid, compare(l, v[mid].at, which, i) < 0);
        at[i] = k < l->n && compare(l, v[k].at, which, i) == 0 ? v[k].at : -1;
    }
    free(v);
    return at;
}
