/* scalar.c - scalar expressions: what they are called, how they print, what can be proven of them, and their
 * translation to a program over strips. strip.c runs it. */
#include "kernel_int.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int arity;
    const char *text;
} ops[TRA_S_COUNT] = {
#define X(name, arity, text, def) {arity, text},
    TRA_SCALARS(X)
#undef X
};

int tra_scalar_arity(tra_scalar_op op) { return ops[op].arity; }
const char *tra_scalar_text(tra_scalar_op op) { return ops[op].text; }

int tra_scalar_find(const char *name, int arity) {
    for (int i = TRA_S_ARG + 1; i < TRA_S_STEP; i++) /* neg is written as a sign */
        if (i != TRA_S_NEG && ops[i].arity == arity && isalpha((unsigned char)ops[i].text[0]) &&
            strcmp(ops[i].text, name) == 0)
            return i;
    return -1;
}

double tra_scalar_eval(const tra_scalar *s, const double *args) {
    double a = s->a ? tra_scalar_eval(s->a, args) : 0, b = s->b ? tra_scalar_eval(s->b, args) : 0;
    switch (s->op) {
    case TRA_S_CONST: return s->value;
    case TRA_S_ARG: return args[s->arg];
#define CASE_0(name, def)
#define CASE_1(name, def)                                                                                              \
    case TRA_S_##name:                                                                                                 \
        return def;
#define CASE_2                    CASE_1
#define X(name, arity, text, def) CASE_##arity(name, def)
        TRA_SCALARS(X)
#undef X
    case TRA_S_COUNT: break;
    }
    assert(!"a scalar operator");
    return 0;
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

/* How tightly an expression binds: comparison 1, sum 2, product 3, sign 4, power 5, atom 6. */
static int level(const tra_scalar *s) {
    switch (s->op) {
    case TRA_S_LT:
    case TRA_S_LE:
    case TRA_S_GT:
    case TRA_S_GE:
    case TRA_S_EQ:
    case TRA_S_NE: return 1;
    case TRA_S_ADD:
    case TRA_S_SUB: return 2;
    case TRA_S_MUL:
    case TRA_S_DIV: return 3;
    case TRA_S_NEG: return 4;
    case TRA_S_POW: return 5;
    case TRA_S_CONST: return signbit(s->value) ? 4 : 6;
    case TRA_S_ARG:
    case TRA_S_MAX:
    case TRA_S_MIN:
    case TRA_S_ABS:
    case TRA_S_EXP:
    case TRA_S_LOG:
    case TRA_S_SQRT:
    case TRA_S_TANH:
    case TRA_S_SIGMOID:
    case TRA_S_RELU:
    case TRA_S_STEP:
    case TRA_S_WIDE:
    case TRA_S_COUNT: break;
    }
    return 6;
}

static void print_number(double v, tra_str *out) {
    char buf[32];
    for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back the same */
        snprintf(buf, sizeof(buf), "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break;
    }
    tra_str_add(out, buf);
}

static void print(const tra_scalar *s, int outer, const char *const *args, tra_str *out) {
    int mine = level(s);
    const char *text = ops[s->op].text;
    if (mine < outer) tra_str_add(out, "(");
    if (s->op == TRA_S_CONST) {
        print_number(s->value, out);
    } else if (s->op == TRA_S_ARG) {
        tra_str_add(out, args[s->arg]);
    } else if (mine == 6) { /* a function */
        tra_str_printf(out, "%s(", text);
        print(s->a, 0, args, out);
        if (s->b) tra_str_add(out, ", "), print(s->b, 0, args, out);
        tra_str_add(out, ")");
    } else if (s->op == TRA_S_NEG) {
        tra_str_add(out, "-");
        print(s->a, mine + 1, args, out);
    } else { /* powers group to the right, sums and products to the left, comparisons not at all */
        bool right = s->op == TRA_S_POW, none = mine == 1;
        print(s->a, mine + (right || none), args, out);
        tra_str_printf(out, right ? "%s" : " %s ", text);
        print(s->b, mine + (!right || none), args, out);
    }
    if (mine < outer) tra_str_add(out, ")");
}

void tra_scalar_print(const tra_scalar *s, const char *const *args, tra_str *out) { print(s, 0, args, out); }

/* ---- what can be proven ------------------------------------------------------------------------------------- */

/* Degree of s in each of two arguments when it is a form homogeneous in each (as 2*x*y is, of degree 1 and 1); false
 * when that does not show. Constants must be finite: infinity times a sum is not the sum of the products. */
static bool degrees(const tra_scalar *s, int deg[2]) {
    int a[2] = {0, 0}, b[2] = {0, 0};
    if (s->a && !degrees(s->a, a)) return false;
    if (s->b && !degrees(s->b, b)) return false;
    deg[0] = a[0], deg[1] = a[1];
    switch (s->op) {
    case TRA_S_CONST: return isfinite(s->value);
    case TRA_S_ARG: return deg[s->arg] = 1, true;
    case TRA_S_NEG: return true;
    case TRA_S_ADD:
    case TRA_S_SUB: return a[0] == b[0] && a[1] == b[1];
    case TRA_S_MUL: deg[0] += b[0], deg[1] += b[1]; return deg[0] <= 1 && deg[1] <= 1;
    case TRA_S_DIV: return b[0] == 0 && b[1] == 0 && s->b->op == TRA_S_CONST && s->b->value != 0;
    default: return false;
    }
}

/* Whether s is constant (0), does not decrease as its one argument grows and hands NaN on (1), or neither (-1). Not log
 * and sqrt: they make NaN of numbers, and that would win over the larger ones. */
static int growth(const tra_scalar *s) {
    int a = s->a ? growth(s->a) : 0, b = s->b ? growth(s->b) : 0;
    if (a < 0 || b < 0) return -1;
    int either = a > 0 || b > 0;
    switch (s->op) {
    case TRA_S_CONST: return isfinite(s->value) ? 0 : -1;
    case TRA_S_ARG: return 1;
    case TRA_S_ADD:
    case TRA_S_MAX:
    case TRA_S_MIN: return either;
    case TRA_S_SUB: return b == 0 ? a : -1;
    case TRA_S_EXP:
    case TRA_S_TANH:
    case TRA_S_SIGMOID:
    case TRA_S_RELU: return a;
    case TRA_S_MUL:
        if (s->a->op == TRA_S_CONST && s->a->value > 0) return b;
        return s->b->op == TRA_S_CONST && s->b->value > 0 ? a : -1;
    case TRA_S_DIV: return s->b->op == TRA_S_CONST && s->b->value > 0 ? a : -1;
    default: return -1;
    }
}

/* Does s(x*y) = s(x)*s(y) show? */
static bool multiplicative(const tra_scalar *s) {
    switch (s->op) {
    case TRA_S_ARG: return true;
    case TRA_S_ABS: return multiplicative(s->a);
    case TRA_S_MUL: return multiplicative(s->a) && multiplicative(s->b);
    default: return false;
    }
}

unsigned tra_scalar_over(const tra_scalar *s, int nargs) {
    int deg[2];
    unsigned over = 0;
    if (degrees(s, deg) && deg[0] == 1 && (nargs == 1 || deg[1] == 1)) over |= TRA_OVER_SUM;
    if (nargs == 1 && growth(s) == 1) over |= TRA_OVER_MAX | TRA_OVER_MIN;
    if (nargs == 1 && multiplicative(s)) over |= TRA_OVER_PROD;
    /* max(a, b) in one operand: the lattice's law */
    bool lattice = (s->op == TRA_S_MAX || s->op == TRA_S_MIN) && s->a->op == TRA_S_ARG && s->b->op == TRA_S_ARG;
    if (nargs == 2 && lattice && s->a->arg != s->b->arg) over |= TRA_OVER_MAX | TRA_OVER_MIN;
    return over;
}

/* ---- compilation -------------------------------------------------------------------------------------------- */

/* Registers that s needs when the greedier operand is computed first; grows as the logarithm of the size. */
static int need(const tra_scalar *s) {
    if (s->op == TRA_S_ARG) return 0;
    int a = s->a ? need(s->a) : 0, b = s->b ? need(s->b) : 0;
    int n = a == b && a > 0 ? a + 1 : a > b ? a : b;
    return n ? n : 1;
}

static int count(const tra_scalar *s) { return 1 + (s->a ? count(s->a) : 0) + (s->b ? count(s->b) : 0); }

/* Appends code that leaves s in the returned operand: an argument, or register `base`. Uses base and above. */
static int emit(tra_code *c, const tra_scalar *s, int base) {
    if (s->op == TRA_S_ARG) return ~s->arg;
    tra_insn in = {.op = s->op, .d = base, .value = s->value};
    if (s->op == TRA_S_POW && s->b->op == TRA_S_CONST && s->b->value == 2) { /* correctly rounded, and faster */
        in.op = TRA_S_MUL;
        in.a = in.b = emit(c, s->a, base);
    } else if (s->b && need(s->b) > need(s->a)) {
        in.b = emit(c, s->b, base);
        in.a = emit(c, s->a, base + (in.b >= 0));
    } else {
        if (s->a) in.a = emit(c, s->a, base);
        in.b = s->b ? emit(c, s->b, base + (in.a >= 0)) : in.a;
    }
    if (base >= c->nregs) c->nregs = base + 1;
    c->v[c->n++] = in;
    return base;
}

tra_code *tra_scalar_compile(tra_arena *a, const tra_scalar *s) {
    tra_code *c = tra_new(a, tra_code);
    c->v = tra_news(a, tra_insn, count(s));
    int r = emit(c, s, 0);
    if (r < 0) c->v[c->n++] = (tra_insn){.op = TRA_S_ARG, .d = 0, .a = r, .b = r}, c->nregs = 1;
    return c;
}

tra_code *tra_code_then(tra_arena *a, const tra_code *first, const tra_code *next) {
    tra_code *c = tra_new(a, tra_code);
    c->v = tra_news(a, tra_insn, first->n + next->n);
    c->n = first->n + next->n;
    memcpy(c->v, first->v, (size_t)first->n * sizeof(tra_insn));
    int held = first->v[first->n - 1].d; /* stays while next runs in the registers around it */
    for (int i = 0; i < next->n; i++) {
        tra_insn in = next->v[i];
        int *operand[] = {&in.d, &in.a, &in.b};
        for (int j = 0; j < 3; j++) {
            assert(*operand[j] >= -1); /* next is a map */
            *operand[j] = *operand[j] < 0 ? held : *operand[j] + (*operand[j] >= held);
        }
        c->v[first->n + i] = in;
    }
    c->nregs = next->nregs + 1 > first->nregs ? next->nregs + 1 : first->nregs;
    return c;
}
