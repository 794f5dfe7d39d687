/* calls.c - the functions of calls.h on values: what they take and give, what is prepared for them, and one call. */
#include "calls_int.h"

#include <string.h>

enum { MOMENT = -1 };
#define TRA_COL_MOMENT MOMENT
static const struct row {
    const char *takes;
    int gives;
    const char *may;
    void (*run)(tra_call *c);
} rows[] = {
#define ROW(X, name, text, least, most, takes, gives, may, function)                                                   \
    [TRA_C_##name] = {takes, TRA_COL_##gives, may, tra_call_##function},
    TRA_CALLS(ROW, )
#undef ROW
};

char tra_call_takes(int op, int i) {
    const char *takes = rows[op].takes;
    for (; i > 0 && takes[1]; i--) takes++;
    return *takes;
}

const char *tra_call_may(int op) { return rows[op].may; }

tra_coltype tra_call_type(int op, const tra_call_value *v) {
    if (rows[op].gives != MOMENT) return (tra_coltype)rows[op].gives;
    for (int i = 0;; i++)
        if (tra_call_takes(op, i) == 'm') return v[i].type;
}

static tra_bytes bytes_of(const tra_call_value *v) { return (tra_bytes){v->s, v->n}; }

tra_status tra_call_prepare(tra_arena *a, int op, int n, const tra_call_value *v, const void **out, tra_err *e) {
    const char *name = tra_colop_text((tra_colop)op);
    *out = NULL;
    for (int i = 0; i < n; i++) {
        tra_bytes t = bytes_of(&v[i]);
        switch (tra_call_takes(op, i)) {
        case 'p': TRA_TRY(tra_regex_prepare(a, name, t, out, e)); break;
        case 'u': return tra_unit_prepare(a, name, t, out, e);
        case 'z': return tra_zone_prepare(a, name, t, out, e);
        case 'f': return tra_format_prepare(a, name, t, false, out, e);
        case 'g': return tra_format_prepare(a, name, t, true, out, e);
        case 'k': TRA_TRY(tra_regex_check(*out, name, v[i].i, NULL, e)); break;
        case 'c': TRA_TRY(tra_regex_check(*out, name, 0, &t, e)); break;
        }
    }
    return TRA_OK;
}

void tra_call_give(tra_call *c, tra_bytes t) {
    c->over = c->over || (c->most && (int64_t)c->text->n + t.n > c->most);
    if (!c->over) tra_str_addn(c->text, t.s, (size_t)t.n);
}

void tra_call_run(tra_call *c) {
    c->over = false;
    size_t from = c->text ? c->text->n : 0;
    c->out = (tra_call_value){.type = tra_call_type(c->op, c->v)};
    rows[c->op].run(c);
    if (!tra_coltype_is_coded(c->out.type) || !c->text) return;
    c->out.n = (int64_t)(c->text->n - from);
    tra_str_addn(c->text, "", 0);
    c->out.s = tra_str_get(c->text) + from;
}

tra_call_value tra_call_value_of(const tra_colexpr *x, const void *values, int64_t i) {
    tra_call_value v = {.type = x->type};
#define WHOLE(name, text, T, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        v.i = (int64_t)((const T *)values)[i];                                                                         \
        break;
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name: v.f = (double)((const T *)values)[i]; break;
    switch (tra_coltype_held(v.type)) { TRA_WHOLE_DTYPES(WHOLE) TRA_FLOAT_DTYPES(REAL) }
#undef WHOLE
#undef REAL
    if (tra_coltype_is_coded(v.type)) v.s = tra_dictionary_at(x->dict, v.i, &v.n);
    return v;
}

/* Puts a value that is not a string as element i. */
void tra_call_put(const tra_call_value *v, void *to, int64_t i) {
#define WHOLE(name, text, T, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        ((T *)to)[i] = (T)v->i;                                                                                        \
        break;
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name: ((T *)to)[i] = (T)v->f; break;
    switch (tra_coltype_held(v->type)) { TRA_WHOLE_DTYPES(WHOLE) TRA_FLOAT_DTYPES(REAL) }
#undef WHOLE
#undef REAL
}
