/* keyform.c - ranges and linear forms of key expressions. */
#include "keyform.h"

typedef __int128 wide;

static const tra_range always_fails = {1, 0, true};

/* The range from lo to hi of values that fail where they do not fit 64 bits. */
static tra_range between(wide lo, wide hi, bool may_fail) {
    if (lo > INT64_MAX || hi < INT64_MIN) return always_fails;
    if (lo < INT64_MIN) lo = INT64_MIN, may_fail = true;
    if (hi > INT64_MAX) hi = INT64_MAX, may_fail = true;
    return (tra_range){(int64_t)lo, (int64_t)hi, may_fail};
}

static wide floor_div(wide a, wide b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* The range from the least to the greatest of four values. */
static tra_range range_of_four(wide a, wide b, wide c, wide d, bool may_fail) {
    wide lo = a < b ? a : b, hi = a < b ? b : a;
    if (c < lo) lo = c;
    if (c > hi) hi = c;
    if (d < lo) lo = d;
    if (d > hi) hi = d;
    return between(lo, hi, may_fail);
}

static tra_range divide(tra_range a, tra_range b, bool may_fail) {
    if (b.lo == 0) b.lo = 1, may_fail = true;
    if (b.hi == 0) b.hi = -1, may_fail = true;
    if (b.lo > b.hi) return always_fails;
    if (b.lo < 0 && b.hi > 0) { /* dividing by 1 and -1 gives the extremes */
        may_fail = true;
        return range_of_four(a.lo, a.hi, -(wide)a.lo, -(wide)a.hi, may_fail);
    }
    return range_of_four(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo), floor_div(a.hi, b.hi),
                         may_fail);
}

static tra_range modulo(tra_range a, tra_range b, bool may_fail) {
    if (b.lo == 0) b.lo = 1, may_fail = true;
    if (b.hi == 0) b.hi = -1, may_fail = true;
    if (b.lo > b.hi) return always_fails;
    if (b.lo < 0 && b.hi > 0) return between((wide)b.lo + 1, (wide)b.hi - 1, true);
    if (b.lo == b.hi && floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo)) {
        wide off = b.lo * floor_div(a.lo, b.lo);
        return between(a.lo - off, a.hi - off, may_fail);
    }
    if (b.lo < 0) return between((wide)b.lo + 1, 0, may_fail);
    wide most = (wide)b.hi - 1;
    return between(0, a.lo >= 0 && a.hi < most ? a.hi : most, may_fail);
}

/* The range of a truth value. */
static tra_range truth(bool always, bool never, bool may_fail) {
    return (tra_range){always ? 1 : 0, never ? 0 : 1, may_fail};
}

static bool never_zero(tra_range a) { return a.lo > 0 || a.hi < 0; }
static bool is_zero(tra_range a) { return a.lo == 0 && a.hi == 0; }

/* The range of && and ||, whose right side is evaluated only where the left one, of range a, does not decide. */
static tra_range logic(const tra_keyexpr *x, tra_range a, const tra_dims *lo, const tra_dims *hi) {
    bool and = x->op == TRA_KEY_AND;
    if (and? is_zero(a) : never_zero(a)) return truth(!and, and, a.may_fail);
    tra_range b = tra_keyexpr_range(x->b, lo, hi);
    bool left_may_decide = !(and? never_zero(a) : is_zero(a));
    bool fails = a.may_fail || b.may_fail;
    if (b.lo > b.hi && !left_may_decide) return always_fails;
    bool b_true = b.lo <= b.hi && never_zero(b), b_false = b.lo <= b.hi && is_zero(b);
    if (b.lo > b.hi) return truth(!and, and, true);
    return and? truth(!left_may_decide && b_true, b_false, fails) : truth(b_true, !left_may_decide && b_false, fails);
}

/* The range of the difference of two operands of ranges a and b. Where both are linear it may be smaller than these
 * tell, since terms cancel. */
static tra_range difference(const tra_keyexpr *x, tra_range a, tra_range b, const tra_dims *lo, const tra_dims *hi) {
    tra_keylinear f, g;
    wide least = (wide)a.lo - b.hi, most = (wide)a.hi - b.lo;
    if (tra_keyexpr_linear(x->a, &f) && tra_keyexpr_linear(x->b, &g)) {
        wide lowest = (wide)f.c0 - g.c0, highest = lowest;
        for (int d = 0; d < lo->n; d++) {
            wide c = (wide)f.c[d] - g.c[d];
            lowest += c * (c > 0 ? lo->v[d] : hi->v[d]);
            highest += c * (c > 0 ? hi->v[d] : lo->v[d]);
        }
        if (lowest > least) least = lowest;
        if (highest < most) most = highest;
    }
    return (tra_range){(int64_t)(least < INT64_MIN ? INT64_MIN : least), (int64_t)(most > INT64_MAX ? INT64_MAX : most),
                       false};
}

tra_range tra_keyexpr_range(const tra_keyexpr *x, const tra_dims *lo, const tra_dims *hi) {
    if (x->op == TRA_KEY_INT) return (tra_range){x->value, x->value, false};
    if (x->op == TRA_KEY_VAR) return (tra_range){lo->v[x->var], hi->v[x->var], false};
    tra_range a = tra_keyexpr_range(x->a, lo, hi), b = {0, 0, false}, d = {0, 0, false}; /* d: a - b */
    if (a.lo > a.hi) return always_fails;
    if (x->op == TRA_KEY_AND || x->op == TRA_KEY_OR) return logic(x, a, lo, hi);
    if (x->b) b = tra_keyexpr_range(x->b, lo, hi);
    if (b.lo > b.hi) return always_fails;
    bool fails = a.may_fail || b.may_fail;
    if (x->op >= TRA_KEY_LT && x->op <= TRA_KEY_NE) d = difference(x, a, b, lo, hi);
    switch (x->op) {
    case TRA_KEY_INT:
    case TRA_KEY_VAR:
    case TRA_KEY_AND:
    case TRA_KEY_OR: break;
    case TRA_KEY_ADD: return between((wide)a.lo + b.lo, (wide)a.hi + b.hi, fails);
    case TRA_KEY_SUB: return between((wide)a.lo - b.hi, (wide)a.hi - b.lo, fails);
    case TRA_KEY_MUL:
        return range_of_four((wide)a.lo * b.lo, (wide)a.lo * b.hi, (wide)a.hi * b.lo, (wide)a.hi * b.hi, fails);
    case TRA_KEY_DIV: return divide(a, b, fails);
    case TRA_KEY_MOD: return modulo(a, b, fails);
    case TRA_KEY_LT: return truth(d.hi < 0, d.lo >= 0, fails);
    case TRA_KEY_LE: return truth(d.hi <= 0, d.lo > 0, fails);
    case TRA_KEY_GT: return truth(d.lo > 0, d.hi <= 0, fails);
    case TRA_KEY_GE: return truth(d.lo >= 0, d.hi < 0, fails);
    case TRA_KEY_EQ: return truth(is_zero(d), never_zero(d), fails);
    case TRA_KEY_NE: return truth(never_zero(d), is_zero(d), fails);
    case TRA_KEY_MIN: return (tra_range){tra_min64(a.lo, b.lo), tra_min64(a.hi, b.hi), fails};
    case TRA_KEY_MAX: return (tra_range){tra_max64(a.lo, b.lo), tra_max64(a.hi, b.hi), fails};
    case TRA_KEY_NEG: return between(-(wide)a.hi, -(wide)a.lo, fails);
    case TRA_KEY_NOT: return truth(is_zero(a), never_zero(a), fails);
    case TRA_KEY_ABS:
        if (a.lo >= 0) return a;
        if (a.hi <= 0) return between(-(wide)a.hi, -(wide)a.lo, fails);
        return between(0, a.hi > -(wide)a.lo ? a.hi : -(wide)a.lo, fails);
    }
    return always_fails;
}

enum { SMALL = 57 }; /* bits of coefficients, so that TRA_MAXDIM products with key components add up within 128 bits */

static bool is_small(int64_t v) { return v < (int64_t)1 << SMALL && v > -((int64_t)1 << SMALL); }

/* Sets *out to a + times * b; false if a coefficient gets too large. */
static bool combine(const tra_keylinear *a, const tra_keylinear *b, int64_t times, tra_keylinear *out) {
    int64_t t;
    bool ok = !__builtin_mul_overflow(b->c0, times, &t) && !__builtin_add_overflow(a->c0, t, &out->c0);
    for (int d = 0; d < TRA_MAXDIM; d++)
        ok = ok && !__builtin_mul_overflow(b->c[d], times, &t) && !__builtin_add_overflow(a->c[d], t, &out->c[d]) &&
             is_small(out->c[d]);
    return ok;
}

/* Is it the same number for all keys? */
static bool is_number(const tra_keylinear *f) {
    for (int d = 0; d < TRA_MAXDIM; d++)
        if (f->c[d]) return false;
    return true;
}

bool tra_keyexpr_linear(const tra_keyexpr *x, tra_keylinear *out) {
    tra_keylinear zero = {0}, a, b;
    *out = zero;
    switch (x->op) {
    case TRA_KEY_INT: return out->c0 = x->value, true;
    case TRA_KEY_VAR: return out->c[x->var] = 1, true;
    case TRA_KEY_NEG: return tra_keyexpr_linear(x->a, &a) && combine(&zero, &a, -1, out);
    case TRA_KEY_ADD:
    case TRA_KEY_SUB:
        return tra_keyexpr_linear(x->a, &a) && tra_keyexpr_linear(x->b, &b) &&
               combine(&a, &b, x->op == TRA_KEY_ADD ? 1 : -1, out);
    case TRA_KEY_MUL:
        if (!tra_keyexpr_linear(x->a, &a) || !tra_keyexpr_linear(x->b, &b)) return false;
        if (is_number(&a)) return combine(&zero, &b, a.c0, out);
        return is_number(&b) && combine(&zero, &a, b.c0, out);
    default: return false;
    }
}
