/* leaves.c - the leaves of expressions, which are columns and constants, and what a tree is made of. */
#include "../model/spooled.h"
#include "table_int.h"

tra_colexpr *tra_colexpr_leaf(tra_arena *a, tra_colop op, tra_coltype type) {
    tra_colexpr *x = tra_new(a, tra_colexpr);
    *x = (tra_colexpr){.op = op, .type = type};
    x->least = tra_dtype_least(tra_coltype_held(type));
    x->most = tra_dtype_most(tra_coltype_held(type));
    return x;
}

const tra_colexpr *tra_colexpr_column(tra_arena *a, const tra_schema *s, int column) {
    const tra_column *c = &s->v[column];
    tra_colexpr *x = tra_colexpr_leaf(a, TRA_C_COLUMN, c->type);
    x->column = column;
    x->nullable = c->nullable;
    x->fails = c->fails;
    x->dict = c->dict;
    x->file = c->file;
    x->number = c->number;
    return x;
}

static const tra_colexpr *whole(tra_arena *a, tra_coltype type, int64_t v) {
    tra_colexpr *x = tra_colexpr_leaf(a, TRA_C_CONST, type);
    x->value.i = x->least = x->most = v;
    return x;
}

const tra_colexpr *tra_colexpr_int(tra_arena *a, int64_t v) { return whole(a, TRA_COL_I64, v); }
const tra_colexpr *tra_colexpr_bool(tra_arena *a, bool v) { return whole(a, TRA_COL_BOOL, v); }
const tra_colexpr *tra_colexpr_days(tra_arena *a, int32_t days) { return whole(a, TRA_COL_DATE, days); }
const tra_colexpr *tra_colexpr_micros(tra_arena *a, int64_t micros) { return whole(a, TRA_COL_TIMESTAMP, micros); }

const tra_colexpr *tra_colexpr_float(tra_arena *a, double v) {
    tra_colexpr *x = tra_colexpr_leaf(a, TRA_C_CONST, TRA_COL_F64);
    x->value.f = v;
    return x;
}

const tra_colexpr *tra_colexpr_string(tra_arena *a, const char *s, int64_t len) {
    tra_colexpr *x = tra_colexpr_leaf(a, TRA_C_CONST, TRA_COL_STRING);
    x->dict = tra_dictionary_new(a, 1, &s, &len);
    return x;
}

tra_colexpr *tra_colexpr_null_of(tra_arena *a, tra_coltype type, const tra_dictionary *dict) {
    tra_colexpr *x = tra_colexpr_leaf(a, TRA_C_CONST, type);
    x->null = x->nullable = true;
    x->dict = dict;
    return x;
}

const tra_colexpr *tra_colexpr_null(tra_arena *a) {
    tra_colexpr *x = tra_colexpr_null_of(a, TRA_COL_BOOL, NULL);
    x->untyped = true;
    return x;
}

/* ---- trees ---------------------------------------------------------------------------------------------------- */

bool tra_colexpr_uses_row(const tra_colexpr *x) {
    if (x->op == TRA_C_ROW) return true;
    for (int i = 0; i < x->nkids; i++) {
        if (tra_colexpr_uses_row(x->kids[i])) return true;
    }
    return false;
}

tra_status tra_colexpr_read(const tra_colexpr *x, tra_err *e) {
    for (int i = 0; i < x->nkids; i++) TRA_TRY(tra_colexpr_read(x->kids[i], e));
    return tra_dictionary_read(x->dict, e);
}

void tra_colexpr_columns(const tra_colexpr *x, bool *used) {
    if (x->op == TRA_C_COLUMN) used[x->column] = true;
    for (int i = 0; i < x->nkids; i++) tra_colexpr_columns(x->kids[i], used);
}

tra_column tra_colexpr_result(const tra_colexpr *x, const char *name) {
    return (tra_column){.name = name,
                        .type = x->type,
                        .nullable = x->nullable,
                        .fails = x->fails,
                        .dict = x->dict,
                        .file = x->file,
                        .number = x->number};
}

const tra_colexpr *tra_colexpr_substitute(tra_arena *a, const tra_colexpr *x, const tra_colexpr *const *by) {
    if (x->op == TRA_C_COLUMN) return by[x->column];
    if (x->nkids == 0) return x;
    tra_colexpr *y = tra_new(a, tra_colexpr);
    const tra_colexpr **kids = tra_news(a, const tra_colexpr *, x->nkids);
    for (int i = 0; i < x->nkids; i++) kids[i] = tra_colexpr_substitute(a, x->kids[i], by);
    *y = *x;
    y->kids = kids;
    return y;
}

tra_colop tra_colop_mirrored(tra_colop op) {
    switch (op) {
    case TRA_C_LT: return TRA_C_GT;
    case TRA_C_LE: return TRA_C_GE;
    case TRA_C_GT: return TRA_C_LT;
    case TRA_C_GE: return TRA_C_LE;
    default: return op;
    }
}
