/* ref_keys.c - the reference evaluator's integer expressions over keys. */
#include "reference_int.h"

static tra_status bad_key(const tra_dims *key, const char *what, tra_err *e) {
    char buf[TRA_DIMTEXT];
    return tra_fail(e, TRA_PROGRAM, "%s at key %s", what, tra_key_text(key, buf));
}

static tra_status floor_div(int64_t a, int64_t b, const tra_dims *key, int64_t *out, tra_err *e) {
    if (b == 0) return bad_key(key, "division by zero", e);
    if (a == INT64_MIN && b == -1) return bad_key(key, "overflow", e);
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return TRA_OK;
}

static tra_status logic(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e) {
    int64_t a, b;
    TRA_TRY(ref_key(x->a, key, &a, e));
    *out = a != 0;
    if ((a != 0) == (x->op == TRA_KEY_OR)) return TRA_OK;
    TRA_TRY(ref_key(x->b, key, &b, e));
    *out = b != 0;
    return TRA_OK;
}

tra_status ref_key(const tra_keyexpr *x, const tra_dims *key, int64_t *out, tra_err *e) {
    int64_t a = 0, b = 0, q;
    if (x->op == TRA_KEY_AND || x->op == TRA_KEY_OR) return logic(x, key, out, e);
    if (x->a) TRA_TRY(ref_key(x->a, key, &a, e));
    if (x->b) TRA_TRY(ref_key(x->b, key, &b, e));
    bool over = false;
    switch (x->op) {
    case TRA_KEY_INT: *out = x->value; break;
    case TRA_KEY_VAR: *out = key->v[x->var]; break;
    case TRA_KEY_ADD: over = __builtin_add_overflow(a, b, out); break;
    case TRA_KEY_SUB: over = __builtin_sub_overflow(a, b, out); break;
    case TRA_KEY_MUL: over = __builtin_mul_overflow(a, b, out); break;
    case TRA_KEY_DIV: return floor_div(a, b, key, out, e);
    case TRA_KEY_MOD:
        if (b == -1) { /* the quotient may not fit, the remainder does */
            *out = 0;
            break;
        }
        TRA_TRY(floor_div(a, b, key, &q, e));
        *out = (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)q);
        break;
    case TRA_KEY_LT: *out = a < b; break;
    case TRA_KEY_LE: *out = a <= b; break;
    case TRA_KEY_GT: *out = a > b; break;
    case TRA_KEY_GE: *out = a >= b; break;
    case TRA_KEY_EQ: *out = a == b; break;
    case TRA_KEY_NE: *out = a != b; break;
    case TRA_KEY_AND:
    case TRA_KEY_OR: break;
    case TRA_KEY_MIN: *out = a < b ? a : b; break;
    case TRA_KEY_MAX: *out = a > b ? a : b; break;
    case TRA_KEY_NEG: over = __builtin_sub_overflow((int64_t)0, a, out); break;
    case TRA_KEY_NOT: *out = !a; break;
    case TRA_KEY_ABS:
        over = __builtin_sub_overflow((int64_t)0, a, out);
        *out = a < 0 ? *out : a;
        over = over && a < 0;
        break;
    }
    return over ? bad_key(key, "overflow", e) : TRA_OK;
}

uint32_t ref_key_vars(const tra_keyexpr *x) {
    uint32_t s = x->op == TRA_KEY_VAR ? 1u << x->var : 0;
    if (x->a) s |= ref_key_vars(x->a);
    if (x->b) s |= ref_key_vars(x->b);
    return s;
}
