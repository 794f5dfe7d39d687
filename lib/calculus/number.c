/* number.c - arithmetic of the calculus: integers that do not overflow unseen, reals. */
#include "eval.h"

#include <math.h>

static const struct {
    const char *text;
    tra_err_kind kind;
} wrongs[] = {
#define X(name, text, kind) [TRA_CALC_WRONG_##name] = {text, kind},
    TRA_CALC_WRONGS(X)
#undef X
};

const char *tra_calc_wrong_text(tra_calc_wrong w) { return wrongs[w].text; }
tra_err_kind tra_calc_wrong_kind(tra_calc_wrong w) { return wrongs[w].kind; }

static bool is_zero(tra_calc_number v) { return v.real ? v.r == 0 : v.i == 0; }

tra_calc_number calc_zero_number(bool real) { return real ? tra_calc_real(0) : tra_calc_int(0); }

tra_calc_number calc_as_type(tra_calc_number v, bool real) { return real && !v.real ? tra_calc_real((double)v.i) : v; }

bool calc_same_number(tra_calc_number a, tra_calc_number b) {
    return a.real || b.real ? tra_calc_as_real(a) == tra_calc_as_real(b) : a.i == b.i;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static tra_calc_wrong whole_arithmetic(tra_calc_kind op, int64_t a, int64_t b, int64_t *out) {
    bool ok = true;
    switch ((int)op) {
    case TRA_CALC_ADD: ok = tra_add(a, b, out); break;
    case TRA_CALC_SUB: ok = !__builtin_sub_overflow(a, b, out); break;
    case TRA_CALC_MUL: ok = tra_mul(a, b, out); break;
    default:
        if (b == 0) return TRA_CALC_WRONG_BY_ZERO;
        if (b == -1) {
            ok = op == TRA_CALC_MOD || a != INT64_MIN;
            *out = op == TRA_CALC_MOD || !ok ? 0 : -a;
        } else {
            *out = op == TRA_CALC_DIV ? floor_div(a, b) : a - b * floor_div(a, b);
        }
    }
    return ok ? TRA_CALC_WRONG_NONE : TRA_CALC_WRONG_TOO_LARGE;
}

tra_calc_wrong calc_arithmetic(tra_calc_kind op, bool real, tra_calc_number a, bool sl, tra_calc_number b, bool sr,
                               tra_calc_number *out) {
    bool product = op == TRA_CALC_MUL;
    *out = calc_zero_number(real);
    if (sl && is_zero(a) && (product || op == TRA_CALC_DIV || op == TRA_CALC_MOD)) return TRA_CALC_WRONG_NONE;
    if (sr && is_zero(b) && product) return TRA_CALC_WRONG_NONE;
    if (!real) return whole_arithmetic(op, a.i, b.i, &out->i);
    double l = tra_calc_as_real(a), r = tra_calc_as_real(b);
    switch ((int)op) {
    case TRA_CALC_ADD: out->r = l + r; break;
    case TRA_CALC_SUB: out->r = l - r; break;
    case TRA_CALC_MUL: out->r = l * r; break;
    case TRA_CALC_DIV: out->r = l / r; break;
    default: out->r = l - r * floor(l / r);
    }
    return TRA_CALC_WRONG_NONE;
}

tra_calc_wrong calc_negative(tra_calc_number *v) {
    if (v->real)
        v->r = -v->r;
    else if (v->i == INT64_MIN)
        return TRA_CALC_WRONG_TOO_LARGE;
    else
        v->i = -v->i;
    return TRA_CALC_WRONG_NONE;
}

/* The bits 0, 2, 4.. of v. */
static int64_t even_bits(int64_t v) {
    int64_t out = 0;
    for (int i = 0; i < 32; i++) out |= (v >> 2 * i & 1) << i;
    return out;
}

static tra_calc_wrong extreme(bool max, bool real, int n, const tra_calc_number *all, tra_calc_number *out) {
    *out = calc_as_type(all[0], real);
    for (int i = 1; i < n; i++) {
        tra_calc_number v = calc_as_type(all[i], real);
        bool better = real ? isnan(v.r) || (max ? v.r > out->r : v.r < out->r) : max ? v.i > out->i : v.i < out->i;
        if (better && !(real && isnan(out->r))) *out = v;
    }
    return TRA_CALC_WRONG_NONE;
}

tra_calc_wrong calc_function(tra_calc_fn fn, bool real, int n, const tra_calc_number *all, tra_calc_number *out) {
    tra_calc_number v = all[0];
    double r = tra_calc_as_real(v);
    switch (fn) {
    case TRA_CALC_FN_MIN:
    case TRA_CALC_FN_MAX: return extreme(fn == TRA_CALC_FN_MAX, real, n, all, out);
    case TRA_CALC_FN_ABS:
        *out = v;
        if (v.real)
            out->r = fabs(v.r);
        else if (v.i < 0)
            return calc_negative(out);
        break;
    case TRA_CALC_FN_FLOOR:
        if (v.real && !(r >= -0x1p63 && r < 0x1p63)) return TRA_CALC_WRONG_NO_INTEGER;
        *out = v.real ? tra_calc_int((int64_t)floor(r)) : v;
        break;
    case TRA_CALC_FN_REAL: *out = tra_calc_real(r); break;
    case TRA_CALC_FN_EXP: *out = tra_calc_real(exp(r)); break;
    case TRA_CALC_FN_LOG: *out = tra_calc_real(log(r)); break;
    case TRA_CALC_FN_SQRT: *out = tra_calc_real(sqrt(r)); break;
    case TRA_CALC_FN_EVEN_BITS:
    case TRA_CALC_FN_ODD_BITS:
        if (v.i < 0) return TRA_CALC_WRONG_NEGATIVE;
        *out = tra_calc_int(even_bits(fn == TRA_CALC_FN_EVEN_BITS ? v.i : v.i >> 1));
        break;
    }
    return TRA_CALC_WRONG_NONE;
}

static bool holds(tra_calc_kind op, int order) {
    switch ((int)op) {
    case TRA_CALC_LT: return order < 0;
    case TRA_CALC_LE: return order <= 0;
    case TRA_CALC_GT: return order > 0;
    case TRA_CALC_GE: return order >= 0;
    case TRA_CALC_EQ: return order == 0;
    default: return order != 0;
    }
}

bool calc_compare(tra_calc_kind op, tra_calc_number a, tra_calc_number b) {
    double l = tra_calc_as_real(a), r = tra_calc_as_real(b);
    if (!a.real && !b.real) return holds(op, a.i < b.i ? -1 : a.i > b.i);
    if (isnan(l) || isnan(r)) return op == TRA_CALC_NE;
    return holds(op, l < r ? -1 : l > r);
}
