/* annihilate.c - the one rule of values (man tra-storage.5): in a product or quotient a factor or dividend of sparse
 * type that is 0 makes the result 0, also against NaN and infinity. And which results are of sparse type. */
#include "../base/simd.h"
#include "program_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- types -------------------------------------------------------------------------------------------------- */

static bool annihilates(tra_scalar_op op, const tra_known *x) {
    bool either = op == TRA_S_MUL || op == TRA_S_AND;
    return (either && (x[0].sparse || x[1].sparse)) || (op == TRA_S_DIV && x[0].sparse);
}

static const tra_known anything = {.low = -INFINITY, .high = INFINITY, .nan = true};
static const tra_known truth = {.low = 0, .high = 1};

tra_known tra_known_argument(bool sparse) {
    tra_known r = sparse ? (tra_known){.sparse = true, .entries = true} : anything;
    r.reads = true;
    return r;
}

tra_known tra_known_number(double v) { return (tra_known){.low = v, .high = v, .nan = isnan(v)}; }

bool tra_known_is_fixed(const tra_known *x) { return x->low == x->high ? !x->nan : isnan(x->low); }

static double value_of(tra_scalar_op op, double x, double y) {
    const tra_scalar kid[2] = {{.op = TRA_S_CONST, .value = x}, {.op = TRA_S_CONST, .value = y}};
    const tra_scalar all = {.op = op, .a = &kid[0], .b = &kid[1]};
    return tra_scalar_eval(&all, NULL);
}

static bool has_zero(const tra_known *x) { return !(x->low > 0 || x->high < 0); }
static bool is_zero(const tra_known *x) { return x->low == 0 && x->high == 0 && !x->nan; }
static bool is_finite(const tra_known *x) { return isfinite(x->low) && isfinite(x->high); }

/* The bounds of a monotone operator: its values where its operands are at their bounds. */
static tra_known by_ends(tra_scalar_op op, const tra_known *x, int n) {
    tra_known r = {.low = INFINITY, .high = -INFINITY, .nan = x[0].nan || (n > 1 && x[1].nan)};
    for (int i = 0; i < 1 << n; i++) {
        double v = value_of(op, i & 1 ? x[0].high : x[0].low, i & 2 ? x[1].high : x[1].low);
        if (isnan(v)) return anything;
        r.low = fmin(r.low, v), r.high = fmax(r.high, v);
    }
    return r;
}

/* Of x < y (strict) or x <= y. */
static tra_known less(const tra_known *x, const tra_known *y, bool strict) {
    if (strict ? x->low >= y->high : x->low > y->high) return tra_known_number(0); /* NaN is not less either */
    bool always = strict ? x->high < y->low : x->high <= y->low;
    return always && !x->nan && !y->nan ? tra_known_number(1) : truth;
}

static tra_known equal(const tra_known *x, const tra_known *y) {
    if (x->high < y->low || x->low > y->high) return tra_known_number(0);
    return tra_known_is_fixed(x) && tra_known_is_fixed(y) ? tra_known_number(x->low == y->low) : truth;
}

static tra_known opposite(tra_known x) { return (tra_known){.low = 1 - x.high, .high = 1 - x.low}; }

/* Is it not 0? */
static tra_known is_true(const tra_known *x) {
    return !has_zero(x) ? tra_known_number(1) : is_zero(x) ? tra_known_number(0) : truth;
}

static tra_known magnitude(const tra_known *x) {
    double least = has_zero(x) ? 0 : fmin(fabs(x->low), fabs(x->high));
    return (tra_known){.low = least, .high = fmax(fabs(x->low), fabs(x->high)), .nan = x->nan};
}

static tra_known power(const tra_known *x, const tra_known *y) {
    tra_known base = *x;
    if (tra_known_is_fixed(y) && y->low >= 1 && fmod(y->low, 2) == 0) base = magnitude(x);
    return base.low >= 0 && y->low > 0 ? by_ends(TRA_S_POW, (tra_known[2]){base, *y}, 2) : anything;
}

/* Widens bounds, so that they also hold for f32, which rounds, and for integers from 2^53 on, which f64 rounds. */
static tra_known of_all_types(tra_known x) {
    static const double EXACT = 0x1p53;
    x.low = fmin(x.low, (double)(float)x.low), x.high = fmax(x.high, (double)(float)x.high);
    if (fabs(x.low) >= EXACT) x.low = nextafter(x.low, -INFINITY);
    if (fabs(x.high) >= EXACT) x.high = nextafter(x.high, INFINITY);
    return x;
}

/* What an operator gives, by the bounds of its operands. */
static tra_known bounds_of(tra_scalar_op op, const tra_known *x) {
    const tra_known *y = x + 1;
    tra_known r, t[2];
    switch ((int)op) {
    case TRA_S_ADD:
    case TRA_S_SUB:
    case TRA_S_MIN:
    case TRA_S_MAX: return by_ends(op, x, 2);
    case TRA_S_MUL: /* 0 times infinity is NaN */
        return (has_zero(x) && !is_finite(y)) || (has_zero(y) && !is_finite(x)) ? anything : by_ends(op, x, 2);
    case TRA_S_DIV: return has_zero(y) ? anything : by_ends(op, x, 2);
    case TRA_S_MOD:
    case TRA_S_IDIV: return is_zero(x) && !has_zero(y) ? (tra_known){.nan = y->nan} : anything;
    case TRA_S_POW: return power(x, y);
    case TRA_S_LT: return less(x, y, true);
    case TRA_S_LE: return less(x, y, false);
    case TRA_S_GT: return less(y, x, true);
    case TRA_S_GE: return less(y, x, false);
    case TRA_S_EQ: return equal(x, y);
    case TRA_S_NE: return opposite(equal(x, y));
    case TRA_S_AND:
    case TRA_S_OR: t[0] = is_true(x), t[1] = is_true(y); return by_ends(op == TRA_S_AND ? TRA_S_MIN : TRA_S_MAX, t, 2);
    case TRA_S_NOT: return opposite(is_true(x));
    case TRA_S_TO_BOOL: return is_true(x);
    case TRA_S_IF:
        r = is_true(x);
        if (r.low == r.high) return r.low != 0 ? x[1] : x[2];
        return (tra_known){fmin(x[1].low, x[2].low), fmax(x[1].high, x[2].high), .nan = x[1].nan || x[2].nan};
    case TRA_S_ABS: return magnitude(x);
    case TRA_S_ISNAN: return x->nan ? truth : tra_known_number(0);
    case TRA_S_ISINF: return is_finite(x) && !x->nan ? tra_known_number(0) : truth;
    case TRA_S_STEP: return truth;
    case TRA_S_EXP: /* monotone functions */
    case TRA_S_EXPM1:
    case TRA_S_LOG:
    case TRA_S_LOG1P:
    case TRA_S_LOG10:
    case TRA_S_SQRT:
    case TRA_S_ATAN:
    case TRA_S_TANH:
    case TRA_S_ERF:
    case TRA_S_SINH:
    case TRA_S_SIGMOID:
    case TRA_S_RADIANS:
    case TRA_S_TO_I32:
    case TRA_S_TO_I64:
    case TRA_S_TO_F32:
    case TRA_S_TO_F64:
    case TRA_S_RELU:
    case TRA_S_SIGN:
    case TRA_S_FLOOR:
    case TRA_S_CEIL:
    case TRA_S_ROUND:
    case TRA_S_TRUNC:
    case TRA_S_WIDE:
    case TRA_S_NEG: return by_ends(op, x, 1);
    default: return anything;
    }
}

tra_known tra_known_result(tra_scalar_op op, const tra_known *x) {
    tra_scalar kid[3];
    int n = tra_scalar_arity(op);
    bool fixed = true, reads = false, entries = false;
    for (int o = 0; o < n; o++) {
        kid[o] = (tra_scalar){.op = TRA_S_CONST, .value = x[o].low};
        reads |= x[o].reads;
        entries |= x[o].entries;
        fixed &= tra_known_is_fixed(&x[o]);
    }
    const tra_scalar all = {.op = op, .a = &kid[0], .b = n > 1 ? &kid[1] : NULL, .c = n > 2 ? &kid[2] : NULL};
    tra_known of[3], r;
    for (int o = 0; o < n; o++) of[o] = of_all_types(x[o]); /* what is proven must hold for all types */
    r = fixed ? tra_known_number(tra_scalar_eval(&all, NULL)) : of_all_types(bounds_of(op, of));
    if ((op == TRA_S_MOD || op == TRA_S_IDIV) && is_zero(&x[1])) r = anything; /* NaN of floats, but 0 of integers */
    r.reads = reads, r.entries = entries;
    r.sparse = annihilates(op, x) || (entries && is_zero(&r));
    if (r.sparse) r.low = r.high = 0, r.nan = false; /* an operand of sparse type as any other */
    return r;
}

/* May the other operand, where this one is 0, be anything whose product with 0 is not 0? A finite number is not. */
static bool may_meet(const tra_known *other) { return other->reads || !isfinite(other->low); }

static tra_known known_of(const tra_code *code, const bool *sparse, uint8_t *kill, bool *any) {
    tra_known regs[TRA_MAXREGS], r = {.reads = false};
    if (any) *any = false;
    for (int i = 0; i < code->n; i++) {
        const tra_insn *c = &code->v[i];
        tra_known x[3] = {{0}};
        const int at[3] = {c->a, c->b, c->c};
        for (int o = 0; o < tra_scalar_arity(c->op) || (c->op == TRA_S_ARG && o == 0); o++)
            x[o] = at[o] < 0 ? tra_known_argument(sparse[~at[o]]) : regs[at[o]];
        r = c->op == TRA_S_CONST ? tra_known_number(c->value) : c->op == TRA_S_ARG ? x[0] : tra_known_result(c->op, x);
        uint8_t kills = 0;
        if ((c->op == TRA_S_MUL || c->op == TRA_S_DIV) && x[0].sparse && (c->op == TRA_S_DIV || may_meet(&x[1])))
            kills |= 1;
        if (c->op == TRA_S_MUL && x[1].sparse && may_meet(&x[0])) kills |= 2;
        if (kill) kill[i] = kills;
        if (any) *any = *any || kills;
        regs[c->d] = r;
    }
    return r;
}

bool tra_code_sparse(const tra_code *code, const bool *sparse, uint8_t *kill, bool *any) {
    return known_of(code, sparse, kill, any).sparse;
}

bool tra_code_fixed(const tra_code *code, const bool *sparse) {
    tra_known r = known_of(code, sparse, NULL, NULL);
    return tra_known_is_fixed(&r);
}

bool tra_step_sparse(const tra_kernel *k, tra_kernel_use use, bool a, bool b) {
    const bool arg[2] = {a, use == TRA_USE_JOIN ? b : a};
    if (k->row && k->row->type) return k->row->type > 0;
    switch (k->cls) {
    case TRA_K_SCALAR:
    case TRA_K_ALIGNED: return tra_code_sparse(k->code, arg, NULL, NULL);
    case TRA_K_EINSUM: return k->nin == 2 ? a || b : a;
    case TRA_K_OUTER: return a || b;
    case TRA_K_TRANSPOSE:
    case TRA_K_DIAG:
    case TRA_K_ROW:
    case TRA_K_COL:
    case TRA_K_FOLD: return a;
    case TRA_K_SOFTMAX:
    case TRA_K_TOP:
    case TRA_K_LAPACK:
    case TRA_K_INDEX: return false;
    case TRA_K_ROWS: return k->rows->sparse;
    case TRA_K_PACK: return !k->program->fused || (tra_program_packs_rows(k->program) && (arg[0] || arg[1]));
    case TRA_K_PROGRAM: return k->program->sparse;
    case TRA_K_THEN: break;
    }
    assert(!"one step");
    return false;
}

bool tra_kernel_keeps_places(const tra_kernel *k) {
    if (k->cls == TRA_K_THEN) return tra_kernel_keeps_places(k->first) && tra_kernel_keeps_places(k->rest);
    return k->cls != TRA_K_LAPACK && k->cls != TRA_K_TOP && k->cls != TRA_K_ROWS && !tra_kernel_is_program(k);
}

bool tra_kernel_sparse(const tra_kernel *k, tra_kernel_use use, bool a, bool b) {
    /* as it is written: what was fused for speed is a chain of functions */
    if (k->cls == TRA_K_THEN)
        return tra_kernel_sparse(k->rest, TRA_USE_MAP, tra_kernel_sparse(k->first, use, a, b), false);
    return tra_step_sparse(k, use, a, b);
}

/* ---- element by element ------------------------------------------------------------------------------------- */

/* d[i] = 0 where x[i] is. */
TRA_ANY_TARGET __attribute__((optimize("O3"))) static void clear_where_zero(tra_dtype t, void *d, const void *x,
                                                                            int64_t n) {
#define CLEAR(name, text, type, ...)                                                                                   \
    case TRA_##name:                                                                                                   \
        for (int64_t i = 0; i < n; i++) ((type *)d)[i] = ((const type *)x)[i] == 0 ? (type)0 : ((type *)d)[i];         \
        return;
    switch (t) { TRA_DTYPES(CLEAR) }
#undef CLEAR
}

void tra_strip_kill(tra_dtype t, tra_scalar_op op, void *d, const void *a, const void *b, double value, int64_t n,
                    int kill) {
    double own[2][TRA_STRIP];
    assert(n <= TRA_STRIP);
    size_t bytes = (size_t)n * tra_dtype_size(t);
    if (kill & 1) memcpy(own[0], a, bytes); /* d may be where they are */
    if (kill & 2) memcpy(own[1], b, bytes);
    tra_strip(t)(op, d, a, b, value, n);
    for (int o = 0; o < 2; o++)
        if (kill & (1 << o)) clear_where_zero(t, d, own[o], n);
}

static void fold_f64(tra_scalar_op op, void *d, const void *a, const void *b, double value, int64_t n) {
    if (op == TRA_S_MUL)
        tra_strip_kill(TRA_F64, op, d, a, b, value, n, 3);
    else
        tra_strip(TRA_F64)(op, d, a, b, value, n);
}

tra_strip_fn *tra_strip_fold(tra_dtype t, tra_scalar_op fold, bool sparse) {
    if (!sparse || fold != TRA_S_MUL || !tra_dtype_is_float(t)) return tra_strip(t);
    assert(t == TRA_F64); /* the state of a product of floats */
    return fold_f64;
}

/* ---- products ----------------------------------------------------------------------------------------------- */

bool tra_finite(const void *v, tra_dtype t, int64_t n) {
    enum { PART = 4096 };
    for (int64_t i = 0; i < n; i += PART) {
        int64_t end = tra_min64(n, i + PART);
        double sum = 0; /* x * 0 is 0, or NaN where x is not finite */
        if (t == TRA_F64) {
            const double *x = v;
            uint64_t beyond = 0;
            for (int64_t j = i; j < end; j++) beyond |= (uint64_t) !(fabs(x[j]) <= 0x1.fffffffffffffp1023);
            sum = (double)beyond;
        } else if (t == TRA_F32) {
            const float *x = v;
            uint32_t beyond = 0;
            for (int64_t j = i; j < end; j++) beyond |= (uint32_t) !(fabsf(x[j]) <= 0x1.fffffep127f);
            sum = beyond;
        }
        if (sum != 0) return false;
    }
    return true;
}

bool tra_product_careful(const tra_array *a, const tra_array *b, const bool *sparse) {
    return (sparse[0] && !tra_finite(b->data, b->dtype, tra_elements_of(&b->ext))) ||
           (sparse[1] && !tra_finite(a->data, a->dtype, tra_elements_of(&a->ext)));
}

void tra_product_slow(const tra_nest *kept, const tra_nest *summed, const tra_array *a, const tra_array *b,
                      const bool *sparse, const tra_array *out, const int64_t *at, bool add) {
    tra_nest outer, inner;
    int64_t off[3], in[3] = {0};
    if (tra_nest_empty(kept)) return;
    outer.n = inner.n = 0;
    tra_nest_append(&outer, kept);
    tra_nest_append(&inner, summed);
    memcpy(off, at, sizeof off);
    do {
        double sum = add ? tra_get(out->data, out->dtype, off[2]) : summed->n > 0 ? 0 : -0.0; /* -0.0 + x y is x y */
        bool none = tra_nest_empty(&inner);
        while (!none) {
            double x = tra_get(a->data, a->dtype, off[0] + in[0]), y = tra_get(b->data, b->dtype, off[1] + in[1]);
            bool zero = (sparse[0] && x == 0) || (sparse[1] && y == 0);
            sum += zero ? 0 : x * y;
            none = !tra_nest_next(&inner, in);
        }
        tra_store(out->data, out->dtype, off[2], 1, &sum, TRA_F64, 1);
    } while (!tra_cancelled() && tra_nest_next(&outer, off));
}
