/* eval.c - what each operator does to a strip of rows: its loops, and the states of its values.
 * eval_convert.c has those that make values of another kind.
 *
 * Where there is no value, because it is NULL or could not be computed, the array has 0, so that loops need not ask.
 * States are kept only for strips in which some value is missing.
 */
#include "../base/simd.h"
#include "../kernel/strips.h"
#include "../model/columns.h"
#include "eval_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* d = f(a, b) of each element; types of operands and result. */
#define LOOP2(T, D, expr)                                                                                              \
    do {                                                                                                               \
        const T *restrict a_ = s->kid[0]->values, *restrict b_ = s->kid[1]->values;                                    \
        D *restrict d_ = s->out->values;                                                                               \
        for (int i = 0, n = s->n; i < n; i++) {                                                                        \
            T a = a_[i], b = b_[i];                                                                                    \
            d_[i] = (D)(expr);                                                                                         \
        }                                                                                                              \
    } while (0)

VECTORS static void worsen(uint8_t *restrict to, const uint8_t *restrict from, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* The states of the result become those of the operands, the worse of each row. */
static void merge_states(tra_colstep *s) {
    bool any = false;
    for (int k = 0; k < s->x->nkids; k++) {
        const uint8_t *from = s->run->at[s->insn->kid[k]].state;
        if (!from) continue;
        if (any)
            worsen(s->states, from, s->n);
        else
            memcpy(s->states, from, (size_t)s->n);
        any = true;
    }
    s->out->state = any ? s->states : NULL;
}

/* The operator of tensors that an operator of numbers is, whose loops compute it. */
static tra_scalar_op scalar_op(tra_colop op) {
    static const tra_scalar_op ops[] = {
#define OF(X, name, ...) [TRA_C_##name] = TRA_S_##name,
        TRA_OPERATORS(OF, ) TRA_REALS(OF, ) TRA_PARTS(OF, )
#undef OF
    };
    return ops[op];
}

/* In the type of the operands. An integer that does not fit is an error of its row. */
static void compute(tra_colstep *s) {
    tra_dtype t = tra_colstep_held(s->x->kids[0]);
    tra_scalar_op op = scalar_op(s->x->op);
    const char *a = s->kid[0]->values, *b = s->x->nkids > 1 ? s->kid[1]->values : a;
    char *d = s->out->values;
    size_t size = tra_dtype_size(t);
    bool others = tra_kernel_overflowed();
    tra_strip_fn *strip = tra_strip(t);
    strip(op, d, a, b, 0, s->n);
    if (tra_kernel_overflowed())
        for (size_t i = 0; i < (size_t)s->n; i++) {
            strip(op, d + i * size, a + i * size, b + i * size, 0, 1);
            if (tra_kernel_overflowed()) tra_colstep_fail(s, (int)i);
        }
    tra_overflow = others;
}

void tra_colstep_note(tra_colstep *s, int i, unsigned cause) {
    tra_colrun *r = s->run;
    if (!r->divided) memset(r->zero, 0, sizeof r->zero);
    r->divided = true;
    r->zero[i] |= (uint8_t)cause;
}

/* What is divided by zero is NULL, unless it is so already or could not be computed. */
static void divided_by_zero(tra_colstep *s, int i, unsigned cause) {
    uint8_t *state = tra_colstep_states(s);
    if (state[i] == TRA_STATE_VALUE) state[i] = TRA_STATE_NULL, tra_colstep_note(s, i, cause);
}

static double float_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r == 0 ? copysign(0.0, b) : r;
}

static void quotient(tra_colstep *s) {
    bool whole = tra_colstep_held(s->x) == TRA_I64;
    if (s->x->op == TRA_C_MOD && !whole)
        LOOP2(double, double, float_mod(a, b));
    else
        compute(s);
    for (int i = 0; i < s->n; i++)
        if (whole ? ((const int64_t *)s->kid[1]->values)[i] == 0 : ((const double *)s->kid[1]->values)[i] == 0)
            divided_by_zero(s, i, whole ? TRA_NULL_DIVIDED : TRA_NULL_DIVIDED_FLOAT);
}

#define COMPARE(T)                                                                                                     \
    switch (s->x->op) {                                                                                                \
    case TRA_C_LT: LOOP2(T, uint8_t, a < b); break;                                                                    \
    case TRA_C_LE: LOOP2(T, uint8_t, a <= b); break;                                                                   \
    case TRA_C_GT: LOOP2(T, uint8_t, a > b); break;                                                                    \
    case TRA_C_GE: LOOP2(T, uint8_t, a >= b); break;                                                                   \
    case TRA_C_NE: LOOP2(T, uint8_t, a != b); break;                                                                   \
    case TRA_C_SAME: LOOP2(T, uint8_t, a == b || (a != a && b != b)); break;                                           \
    default: LOOP2(T, uint8_t, a == b); break;                                                                         \
    }

VECTORS static void compare(tra_colstep *s) {
#define X(name, text, T, ...)                                                                                          \
    case TRA_##name: COMPARE(T); break;
    switch (tra_colstep_held(s->x->kids[0])) { TRA_DTYPES(X) }
#undef X
}

/* same: NULL is the same as NULL. */
static void same(tra_colstep *s) {
    const uint8_t *a = s->kid[0]->state, *b = s->kid[1]->state;
    uint8_t *d = s->out->values;
    compare(s);
    s->out->state = NULL;
    for (int i = 0; (a || b) && i < s->n; i++) {
        uint8_t sa = a ? a[i] : 0, sb = b ? b[i] : 0;
        if (sa == TRA_STATE_ERROR || sb == TRA_STATE_ERROR)
            tra_colstep_fail(s, i);
        else if (sa || sb)
            d[i] = sa == sb;
    }
}

static const uint8_t all_values[TRA_COLSTRIP]; /* the states of rows none of which is NULL */
static const uint8_t *states_of(const tra_colvalue *v) { return v->state ? v->state : all_values; }

/* or: of the negated operands and is the negated result. A NULL is 0, which decides nothing. */
VECTORS static void logic_of(const uint8_t *restrict a, const uint8_t *restrict b, int n, uint8_t or,
                             const uint8_t *restrict x, const uint8_t *restrict y, uint8_t *restrict d,
                             uint8_t *restrict state) {
    for (int i = 0; i < n; i++) d[i] = or ^((a[i] ^ or) & (b[i] ^ or));
    for (int i = 0; state && i < n; i++) {
        uint8_t decided =
            (uint8_t)(((x[i] == TRA_STATE_VALUE) & (a[i] == or)) | ((y[i] == TRA_STATE_VALUE) & (b[i] == or)));
        uint8_t worse = x[i] > y[i] ? x[i] : y[i];
        state[i] = decided ? TRA_STATE_VALUE : worse;
        d[i] = decided ? or : d[i];
    }
}

static void logic(tra_colstep *s) {
    const tra_colvalue *a = s->kid[0], *b = s->kid[1];
    s->out->state = a->state || b->state ? s->states : NULL;
    logic_of(a->values, b->values, s->n, s->x->op != TRA_C_AND, states_of(a), states_of(b), s->out->values,
             s->out->state);
}

#define CHOOSE(T)                                                                                                      \
    do {                                                                                                               \
        const T *restrict a_ = yes->values, *restrict b_ = no->values;                                                 \
        T *restrict d_ = s->out->values;                                                                               \
        for (int i = 0, n = s->n; i < n; i++) d_[i] = take[i] ? a_[i] : b_[i];                                         \
    } while (0)

/* d = take ? yes : no, values and states; what `take` is 2 of is an error. */
VECTORS static void choose(tra_colstep *s, const uint8_t *restrict take, const tra_colvalue *yes,
                           const tra_colvalue *no, bool errors) {
#define X(name, text, T, ...)                                                                                          \
    case TRA_##name: CHOOSE(T); break;
    switch (tra_colstep_held(s->x)) { TRA_DTYPES(X) }
#undef X
    s->out->state = NULL;
    if (!yes->state && !no->state && !errors) return;
    const uint8_t *restrict x = states_of(yes), *restrict y = states_of(no);
    uint8_t *restrict state = s->out->state = s->states;
    for (int i = 0, n = s->n; i < n; i++) {
        uint8_t from = take[i] ? x[i] : y[i];
        state[i] = take[i] == 2 ? TRA_STATE_ERROR : from;
    }
}

VECTORS static void if_else(tra_colstep *s) {
    uint8_t take[TRA_COLSTRIP];
    const uint8_t *c = s->kid[0]->values, *state = s->kid[0]->state;
    if (!state) return choose(s, c, s->kid[1], s->kid[2], false);
    for (int i = 0; i < s->n; i++) take[i] = state[i] == TRA_STATE_ERROR ? 2 : c[i]; /* of a NULL c is 0 */
    choose(s, take, s->kid[1], s->kid[2], true);
}

VECTORS static void if_null(tra_colstep *s) {
    uint8_t take[TRA_COLSTRIP];
    const uint8_t *state = states_of(s->kid[0]);
    for (int i = 0, n = s->n; i < n; i++) take[i] = state[i] != TRA_STATE_NULL;
    choose(s, take, s->kid[0], s->kid[1], false);
}

VECTORS static void is_null(tra_colstep *s) {
    const uint8_t *state = s->kid[0]->state, *restrict x = states_of(s->kid[0]);
    uint8_t *restrict d = s->out->values;
    s->out->state = NULL;
    for (int i = 0, n = s->n; i < n; i++) d[i] = x[i] == TRA_STATE_NULL;
    for (int i = 0; state && i < s->n; i++) {
        if (state[i] == TRA_STATE_ERROR) tra_colstep_fail(s, i);
    }
}

#define EXTREME(T)                                                                                                     \
    do {                                                                                                               \
        if (s->x->op == TRA_C_MIN)                                                                                     \
            LOOP2(T, T, a != a ? a : b < a || b != b ? b : a);                                                         \
        else                                                                                                           \
            LOOP2(T, T, a != a ? a : b > a || b != b ? b : a);                                                         \
    } while (0)

VECTORS static void extreme(tra_colstep *s) {
#define X(name, text, T, ...)                                                                                          \
    case TRA_##name: EXTREME(T); break;
    switch (tra_colstep_held(s->x)) { TRA_DTYPES(X) }
#undef X
}

static void part_of_number(tra_colstep *s) { /* in the type of the operand, but that of NaN and infinity gives a bool */
    if (s->x->op == TRA_C_ISNAN)
        LOOP1(double, uint8_t, isnan(a) != 0);
    else if (s->x->op == TRA_C_ISINF)
        LOOP1(double, uint8_t, isinf(a) != 0);
    else
        compute(s);
}

static void real(tra_colstep *s) {
    if (s->x->op == TRA_C_POW)
        LOOP2(double, double, pow(a, b)); /* whole powers of whole numbers are exact */
    else
        compute(s);
}

static void number_rows(tra_colstep *s) {
    int64_t *d = s->out->values;
    s->out->state = NULL;
    for (int i = 0; i < s->n; i++) d[i] = s->first + i;
}

/* ---- a strip ----------------------------------------------------------------------------------------------------- */

static void run_named(tra_colstep *s) {
    switch (tra_colop_class(s->x->op)) {
    case TRA_COLCLASS_SUM:
    case TRA_COLCLASS_SIGN:
    case TRA_COLCLASS_PRODUCT: compute(s); break;
    case TRA_COLCLASS_QUOTIENT: quotient(s); break;
    case TRA_COLCLASS_COMPARISON: s->x->op == TRA_C_SAME ? same(s) : compare(s); break;
    case TRA_COLCLASS_LOGIC:
        if (s->x->op == TRA_C_NOT)
            LOOP1(uint8_t, uint8_t, !a);
        else
            logic(s);
        break;
    case TRA_COLCLASS_TEST: is_null(s); break;
    case TRA_COLCLASS_CHOICE:
        s->x->op == TRA_C_IF ? if_else(s) : s->x->op == TRA_C_IFNULL ? if_null(s) : extreme(s);
        break;
    case TRA_COLCLASS_ROUNDING: part_of_number(s); break;
    case TRA_COLCLASS_REAL: real(s); break;
    case TRA_COLCLASS_CALENDAR: tra_colstep_calendar(s); break;
    case TRA_COLCLASS_MOMENT: tra_colstep_moment(s); break;
    case TRA_COLCLASS_HASH: tra_colstep_hash(s); break;
    case TRA_COLCLASS_CALL: tra_colstep_call(s); break;
    case TRA_COLCLASS_ROW: number_rows(s); break;
    case TRA_COLCLASS_LIST: assert(false); /* became others when they were built */
    }
}

void tra_colstep_run(tra_colstep *s) {
    merge_states(s);
    if (s->x->op > TRA_C_ROW)
        tra_colstep_made(s);
    else
        run_named(s);
    if (s->out->state) tra_values_clear(s->out->values, tra_coltype_size(s->x->type), s->out->state, s->n);
}
