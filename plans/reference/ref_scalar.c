/* ref_scalar.c - the reference evaluator's numbers: what types expressions have, what they are worth, and folds.
 *
 * Integers are computed in 128 bits and then compared with their type. */
#include "reference_int.h"

#include <assert.h>
#include <float.h>
#include <math.h>

static_assert(LDBL_MANT_DIG >= 64, "ref_num has all integers of 64 bits");

typedef __int128 huge;

/* ---- types -------------------------------------------------------------------------------------------------- */

bool ref_is_float(tra_dtype t) {
    switch (t) {
    case TRA_FLOATS: return true;
    case TRA_WHOLES: return false;
    }
    return true;
}

/* The range of a type: of floats that of i64. */
static huge most_of(tra_dtype t) {
    if (t == TRA_BOOL) return 1;
    return ((huge)1 << (ref_is_float(t) ? 63 : 8 * (int)tra_dtype_size(t) - 1)) - 1;
}

static huge least_of(tra_dtype t) { return t == TRA_BOOL ? 0 : -most_of(t) - 1; }

tra_dtype ref_both(tra_dtype a, tra_dtype b) {
    if (a == b || b == TRA_BOOL) return a;
    if (a == TRA_BOOL) return b;
    return ref_is_float(a) || ref_is_float(b) ? TRA_F64 : TRA_I64;
}

/* Of a sum or product over labels. */
static tra_dtype summed(tra_dtype t) { return ref_is_float(t) ? t : TRA_I64; }
tra_dtype ref_real(tra_dtype t) { return ref_is_float(t) ? t : TRA_F64; }
static tra_dtype counted(tra_dtype t) { return t == TRA_BOOL ? TRA_I32 : t; }

/* The type of a number of the program in an operation with an element of type t. */
static tra_dtype literal(ref_value x, tra_dtype t) {
    ref_num v = x.v;
    if (ref_is_float(t)) return t;
    if (x.real || v != rintl(v) || v >= 0x1p63L || v < -0x1p63L) return TRA_F64;
    return t == TRA_I64 || fabsl(v) > INT32_MAX + (v < 0 ? 1.0L : 0.0L) ? TRA_I64 : TRA_I32;
}

static tra_dtype common(ref_value x, ref_value y) {
    if (x.number) x.t = literal(x, y.t);
    if (y.number) y.t = literal(y, x.t);
    return ref_both(x.t, y.t);
}

/* ---- values ------------------------------------------------------------------------------------------------- */

static ref_value real(tra_dtype t, double v) { return (ref_value){.v = v, .t = t}; }

static ref_value whole(tra_dtype t, huge v, ref_fit *fit) {
    if (v < least_of(t) || v > most_of(t)) fit->over = true, v = 0;
    return (ref_value){.v = (ref_num)(int64_t)v, .t = t};
}

/* A number becomes one of type t. */
static ref_value as(ref_value x, tra_dtype t) {
    if (x.number && ref_is_float(t) && tra_dtype_size(t) == sizeof(float)) x.v = (float)x.v;
    x.number = false;
    if (ref_is_float(t)) x.v = (double)x.v;
    x.t = t;
    return x;
}

static double greater(double a, double b) { return isnan(a) ? a : isnan(b) ? b : a > b ? a : b; }
static double lesser(double a, double b) { return isnan(a) ? a : isnan(b) ? b : a < b ? a : b; }

static huge power(huge a, int64_t n, ref_fit *fit) {
    huge r = 1;
    for (int64_t i = 0; i < n && r != 0 && (a != 1); i++) {
        if (a == -1) return n % 2 ? -1 : 1;
        r *= a;
        if (r < INT64_MIN || r > INT64_MAX) return fit->over = true, 0;
    }
    return r;
}

static bool holds(tra_scalar_op op, ref_num a, ref_num b) {
    switch (op) {
    case TRA_S_LT: return a < b;
    case TRA_S_LE: return a <= b;
    case TRA_S_GT: return a > b;
    case TRA_S_GE: return a >= b;
    case TRA_S_EQ: return a == b;
    case TRA_S_AND: return a != 0 && b != 0;
    case TRA_S_OR: return a != 0 || b != 0;
    case TRA_S_NOT: return a == 0;
    case TRA_S_ISNAN: return isnan(a);
    case TRA_S_ISINF: return isinf(a);
    case TRA_S_SOME:
    case TRA_S_TO_BOOL: return a != 0;
    default: return a != b;
    }
}

/* The remainder of a division that rounds down, as in Python. */
static double remainder_below(double a, double b) {
    double r = fmod(a, b);
    if (r != 0 && signbit(r) != signbit(b)) r += b;
    return r;
}

static huge whole_remainder(huge a, huge b) {
    if (b == 0) return 0;
    huge r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static ref_value of_reals(tra_scalar_op op, tra_dtype t, double a, double b) {
    switch (op) {
    case TRA_S_ADD: return real(t, a + b);
    case TRA_S_SUB: return real(t, a - b);
    case TRA_S_MUL: return real(t, a * b);
    case TRA_S_DIV: return real(t, a / b);
    case TRA_S_POW: return real(t, pow(a, b));
    case TRA_S_MAX: return real(t, greater(a, b));
    case TRA_S_MIN: return real(t, lesser(a, b));
    case TRA_S_NEG: return real(t, -a);
    case TRA_S_ABS: return real(t, fabs(a));
    case TRA_S_FLOOR: return real(t, floor(a));
    case TRA_S_CEIL: return real(t, ceil(a));
    case TRA_S_TRUNC: return real(t, trunc(a));
    case TRA_S_ROUND: return real(t, nearbyint(a));
    case TRA_S_TO_I32:
    case TRA_S_TO_I64: return real(t, trunc(a));
    case TRA_S_SIGN: return real(t, isnan(a) ? a : (a > 0) - (a < 0));
    case TRA_S_MOD: return real(t, remainder_below(a, b));
    case TRA_S_IDIV: return real(t, floor(a / b));
#define F(X, name, arity, text, def, loop)                                                                             \
    case TRA_S_##name: return real(t, def);
        TRA_REALS(F, )
#undef F
    case TRA_S_RELU: return real(t, isnan(a) ? a : a > 0 ? a : 0);
    case TRA_S_STEP: return real(t, a > 0);
    default: return real(t, a);
    }
}

static ref_value of_integers(tra_scalar_op op, tra_dtype t, huge a, huge b, ref_fit *fit) {
    switch (op) {
    case TRA_S_ADD: return whole(t, a + b, fit);
    case TRA_S_SUB: return whole(t, a - b, fit);
    case TRA_S_MUL: return whole(t, a * b, fit);
    case TRA_S_POW: return whole(t, power(a, (int64_t)b, fit), fit);
    case TRA_S_MAX: return whole(t, a > b ? a : b, fit);
    case TRA_S_MIN: return whole(t, a < b ? a : b, fit);
    case TRA_S_NEG: return whole(t, -a, fit);
    case TRA_S_ABS: return whole(t, a < 0 ? -a : a, fit);
    case TRA_S_RELU: return whole(t, a > 0 ? a : 0, fit);
    case TRA_S_STEP: return whole(t, a > 0, fit);
    case TRA_S_SIGN: return whole(t, (a > 0) - (a < 0), fit);
    case TRA_S_MOD: return whole(t, whole_remainder(a, b), fit);
    case TRA_S_IDIV: return whole(t, b == 0 ? 0 : (a - whole_remainder(a, b)) / b, fit);
    default: return whole(t, a, fit);
    }
}

static bool is_whole_number(ref_value x) { return !x.real && x.v == rintl(x.v) && x.v < 0x1p63L && x.v >= -0x1p63L; }

/* An operator on numbers of the program. */
static ref_value of_numbers(tra_scalar_op op, ref_value x, ref_value y) {
    ref_fit fit = {0};
    bool whole = is_whole_number(x) && is_whole_number(y) && (op != TRA_S_POW || (y.v >= 0 && y.v < 0x1p62L));
    ref_value r = of_reals(op, TRA_F64, (double)x.v, (double)y.v);
    r.number = true, r.real = !whole;
    switch (op) {
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_MUL:
    case TRA_S_NEG:
    case TRA_S_ABS:
    case TRA_S_MAX:
    case TRA_S_MIN:
    case TRA_S_POW: {
        ref_value exact = whole ? of_integers(op, TRA_I64, (huge)x.v, (huge)y.v, &fit) : r;
        if (whole && !fit.over) r.v = exact.v;
        break;
    }
    default: break;
    }
    return r;
}

/* f32(x), i64(x), ... A number of the program stays one. */
static ref_value cast(tra_scalar_op op, ref_value x, ref_fit *fit) {
    tra_dtype to = op == TRA_S_TO_I32 ? TRA_I32 : op == TRA_S_TO_I64 ? TRA_I64 : op == TRA_S_TO_F32 ? TRA_F32 : TRA_F64;
    ref_value r = x;
    if (ref_is_float(to)) {
        if (to == TRA_F32) r.v = (float)(x.number || ref_is_float(x.t) ? (double)x.v : x.v);
        return x.number ? (r.real = true, r) : real(to, (double)r.v);
    }
    ref_num v = truncl(x.v);
    if (x.number) return r.v = v, r.real = false, r;
    if (!(v >= -0x1p63L && v < 0x1p63L)) return fit->over = true, whole(to, 0, fit);
    return whole(to, (huge)v, fit);
}

static ref_value apply(tra_scalar_op op, ref_value x, ref_value y, ref_fit *fit) {
    bool numbers = x.number && y.number;
    tra_dtype t = numbers ? TRA_F64 : common(x, y);
    switch (op) {
    case TRA_S_LT:
    case TRA_S_LE:
    case TRA_S_GT:
    case TRA_S_GE:
    case TRA_S_EQ:
    case TRA_S_AND:
    case TRA_S_OR:
    case TRA_S_NOT:
    case TRA_S_ISNAN:
    case TRA_S_ISINF:
    case TRA_S_SOME:
    case TRA_S_TO_BOOL:
    case TRA_S_NE: {
        bool yes = holds(op, as(x, t).v, as(y, t).v);
        fit->none = fit->none || (op == TRA_S_SOME && !yes);
        return numbers ? (ref_value){.v = yes, .number = true} : (ref_value){.v = yes, .t = TRA_BOOL};
    }
    case TRA_S_DIV:
#define F(X, name, ...) case TRA_S_##name:
        TRA_REALS(F, )
#undef F
        t = ref_real(t);
        if (numbers) {
            ref_value r = of_numbers(op, x, y);
            r.real = true;
            return r;
        }
        break;
    case TRA_S_TO_I32:
    case TRA_S_TO_I64:
    case TRA_S_TO_F32:
    case TRA_S_TO_F64: return cast(op, x, fit);
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_NEG: t = fit->wide ? summed(t) : counted(t); break;
    case TRA_S_MUL:
    case TRA_S_ABS: t = fit->wide ? summed(t) : t; break;
    case TRA_S_POW: {
        bool exact = !x.number && y.number && !y.real && y.v >= 0 && y.v == rintl(y.v);
        t = numbers ? t : exact ? x.t : ref_real(t);
        if (exact && fit->wide) t = summed(t);
        if (exact && !ref_is_float(t)) return of_integers(op, t, (huge)x.v, (huge)fminl(y.v, 0x1p62L), fit);
        break;
    }
    default: break;
    }
    if (numbers) return of_numbers(op, x, y);
    if (!ref_is_float(t)) return of_integers(op, t, (huge)x.v, (huge)y.v, fit);
    return of_reals(op, t, (double)as(x, t).v, (double)as(y, t).v);
}

/* What is known of the result of an operator: which is a rule of types (man tra-storage.5). */
static void know(tra_scalar_op op, ref_value x, ref_value y, ref_value z, ref_value *r) {
    const ref_value *in[] = {&x, &y, &z};
    tra_known known[3];
    for (int i = 0; i < 3; i++) known[i] = in[i]->number ? tra_known_number((double)in[i]->v) : in[i]->known;
    r->known = op == TRA_S_ARG ? known[0] : tra_known_result(op, known);
    r->sparse = !r->number && r->known.sparse;
}

ref_value ref_apply(tra_scalar_op op, ref_value x, ref_value y, ref_fit *fit) {
    ref_value r = apply(op, x, y, fit);
    bool annihilates = (op == TRA_S_MUL && (x.sparse || y.sparse)) || (op == TRA_S_DIV && x.sparse);
    know(op, x, y, y, &r);
    if (annihilates && ((x.sparse && x.v == 0) || (op == TRA_S_MUL && y.sparse && y.v == 0))) r.v = 0;
    return r;
}

/* A number of the program as an element: of the type that it has in an operation with a bool. */
static ref_value as_element(ref_value x) {
    if (x.number) x.t = literal(x, TRA_BOOL), x.number = false, x.known = tra_known_number((double)x.v);
    return x;
}

/* if(c, x, y) */
static ref_value choose(ref_value c, ref_value x, ref_value y) {
    ref_value yes = x, no = y;
    bool numbers = c.number && x.number && y.number;
    if (!numbers) {
        if (x.number && y.number) x = as_element(x), y = as_element(y);
        tra_dtype t = common(x, y);
        yes = as(x, t), no = as(y, t);
    }
    ref_value r = c.v != 0 ? yes : no;
    r.real = numbers && !(is_whole_number(x) && is_whole_number(y));
    know(TRA_S_IF, c, x, y, &r);
    return r;
}

ref_value ref_element(tra_dtype t, bool sparse) {
    return (ref_value){.t = t, .sparse = sparse, .known = tra_known_argument(sparse)};
}

static ref_value eval(const tra_scalar *s, const ref_value *args, ref_fit *fit) {
    if (s->op == TRA_S_CONST)
        return (ref_value){.v = s->form == TRA_NUMBER_EXACT ? (ref_num)s->whole : s->value,
                           .number = true,
                           .real = s->form == TRA_NUMBER_REAL};
    if (s->op == TRA_S_ARG) return args[s->arg];
    ref_value a = eval(s->a, args, fit), b = s->b ? eval(s->b, args, fit) : a;
    if (s->op == TRA_S_IF) return choose(a, b, eval(s->c, args, fit));
    return ref_apply(s->op, a, b, fit);
}

ref_value ref_scalar(const tra_scalar *s, int n, const ref_value *args, ref_fit *fit) {
    tra_dtype all = args[0].t;
    for (int i = 1; i < n; i++) all = ref_both(all, args[i].t);
    bool before = fit->wide;
    fit->wide = before || s->op == TRA_S_WIDE;
    ref_value r = eval(s, args, fit);
    fit->wide = before;
    return r.number ? as(r, literal(r, all)) : r;
}

/* ---- how large ---------------------------------------------------------------------------------------------- */

static ref_num magnitude(const tra_scalar *s, const ref_value *args) {
    ref_num a = s->a ? magnitude(s->a, args) : 0, b = s->b ? magnitude(s->b, args) : 0;
    if (s->c) b += magnitude(s->c, args);
    switch (s->op) {
    case TRA_S_CONST: return fmaxl(1, fabsl((ref_num)s->value));
    case TRA_S_ARG: return fmaxl(1, fabsl(args[s->arg].v));
    case TRA_S_MUL: return a * b;
    case TRA_S_POW: return s->b->op == TRA_S_CONST && s->b->value >= 1 ? powl(a, s->b->value) : a * b;
    default: return a + b;
    }
}

ref_num ref_magnitude(const tra_scalar *s, const ref_value *args) { return magnitude(s, args); }

/* ---- folds -------------------------------------------------------------------------------------------------- */

ref_sum ref_sum_begin(tra_scalar_op fold, tra_dtype t, bool sparse) {
    ref_sum s = {.fold = fold, .sparse = sparse, .t = fold == TRA_S_MAX || fold == TRA_S_MIN ? t : summed(t)};
    bool real = ref_is_float(t);
    s.size = fold == TRA_S_MUL ? 1 : 0;
    if (tra_fold_places(fold)) s.t = TRA_I64, s.sum = INT64_MAX;
    switch (fold) {
    case TRA_S_MUL: s.real = 1, s.sum = 1; break;
    case TRA_S_MAX: s.real = -INFINITY, s.sum = real ? 0 : least_of(t); break;
    case TRA_S_MIN: s.real = INFINITY, s.sum = real ? 0 : most_of(t); break;
    default: break;
    }
    return s;
}

void ref_sum_add(ref_sum *s, ref_num v) {
    if (tra_fold_places(s->fold)) {
        bool nan = v != v, before = s->fold == TRA_S_ARGMIN ? v < s->best : v > s->best;
        if (s->n == 0 || (s->best == s->best && (nan || before))) s->best = v, s->sum = s->n;
        s->n++;
        return;
    }
    if (ref_is_float(s->t)) {
        double a = s->real, b = (double)v;
        s->zero = s->zero || (s->sparse && s->fold == TRA_S_MUL && b == 0);
        s->real = s->fold == TRA_S_ADD   ? a + b
                  : s->fold == TRA_S_MUL ? a * b
                  : s->fold == TRA_S_MAX ? greater(a, b)
                                         : lesser(a, b);
        return;
    }
    huge a = s->sum, b = (huge)v;
    switch (s->fold) {
    case TRA_S_MUL: /* a zero, whenever it comes, is the product */
        s->size *= fmaxl(1, fabsl(v));
        s->zero = s->zero || v == 0;
        if (!s->beyond && !s->zero) s->sum = a * b;
        s->beyond = s->beyond || s->sum > INT64_MAX || s->sum < INT64_MIN;
        break;
    case TRA_S_MAX: s->sum = a > b ? a : b; break;
    case TRA_S_MIN: s->sum = a < b ? a : b; break;
    default: s->sum = a + b, s->size += fabsl(v);
    }
}

ref_num ref_sum_end(const ref_sum *s, ref_fit *fit) {
    if (ref_is_float(s->t)) return s->zero ? 0 : s->real;
    fit->loose = fit->loose || s->size > INT64_MAX;
    if (s->zero) return 0;
    if (s->beyond) fit->over = true;
    return whole(s->t, s->beyond ? 0 : s->sum, fit).v;
}

tra_status ref_fits(const ref_fit *fit, tra_err *e) {
    if (fit->failed) return tra_fail(e, TRA_INPUT, "%s has no result for this matrix", fit->failed);
    if (fit->none) return tra_fail(e, TRA_INPUT, "there is no max and no min of no rows");
    if (!fit->over) return TRA_OK;
    return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW, "an integer does not fit its type");
}
