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
    tra_scalar_class class;
} ops[TRA_S_COUNT] = {
#define X(name, arity, text, cls, def) {arity, text, TRA_SC_##cls},
    TRA_SCALARS(X)
#undef X
};

int tra_scalar_arity(tra_scalar_op op) { return ops[op].arity; }
const char *tra_scalar_text(tra_scalar_op op) {
    return op == TRA_S_ARGMAX ? "argmax" : op == TRA_S_ARGMIN ? "argmin" : ops[op].text;
}

tra_scalar_class tra_scalar_class_of(tra_scalar_op op) { return ops[op].class; }

tra_dtype tra_scalar_cast(tra_scalar_op op) {
    switch ((int)op) {
#define F(X, name, type, ...)                                                                                          \
    case TRA_S_##name: return TRA_##type;
        TRA_CASTS(F, )
#undef F
    }
    return TRA_F64;
}

/* Is the operator called by its name in the language? Not those written as signs, nor those that no program writes. */
static bool is_function(int op) {
    return ops[op].arity > 0 && isalpha((unsigned char)ops[op].text[0]) && op < TRA_S_STEP && op != TRA_S_NEG;
}

int tra_scalar_find(const char *name, int arity) {
    if (strcmp(name, "pow") == 0 && arity == 2) return TRA_S_POW;
    if (strcmp(name, "%") == 0 && arity == 2) return TRA_S_MOD;
    for (int i = 0; i < TRA_S_COUNT; i++)
        if (is_function(i) && ops[i].arity == arity && strcmp(ops[i].text, name) == 0) return i;
    return -1;
}

const char *tra_scalar_function(int i) {
    for (int op = 0; op < TRA_S_COUNT; op++)
        if (is_function(op) && i-- == 0) return ops[op].text;
    return i == 0 ? "pow" : NULL;
}

double tra_mod(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double tra_scalar_eval(const tra_scalar *s, const double *args) {
    double a = s->a ? tra_scalar_eval(s->a, args) : 0, b = s->b ? tra_scalar_eval(s->b, args) : 0;
    double c = s->c ? tra_scalar_eval(s->c, args) : 0;
    switch (s->op) {
    case TRA_S_CONST: return s->value;
    case TRA_S_ARG: return args[s->arg];
#define CASE_0(name, def)
#define CASE_1(name, def)                                                                                              \
    case TRA_S_##name:                                                                                                 \
        return def;
#define CASE_2                         CASE_1
#define CASE_3                         CASE_1
#define X(name, arity, text, cls, def) CASE_##arity(name, def)
        TRA_SCALARS(X)
#undef X
    case TRA_S_ARGMAX:
    case TRA_S_ARGMIN:
    case TRA_S_COUNT: break;
    }
    assert(!"a scalar operator");
    return 0;
}

tra_scalar tra_scalar_of_whole(int64_t v) {
    bool plain = v > -(INT64_C(1) << 53) && v < INT64_C(1) << 53;
    return (tra_scalar){.op = TRA_S_CONST,
                        .value = (double)v,
                        .form = plain ? TRA_NUMBER_PLAIN : TRA_NUMBER_EXACT,
                        .whole = plain ? 0 : v};
}

tra_scalar tra_scalar_of_real(double v) {
    bool whole = v == rint(v) && fabs(v) < 0x1p63;
    return (tra_scalar){.op = TRA_S_CONST, .value = v, .form = whole ? TRA_NUMBER_REAL : TRA_NUMBER_PLAIN};
}

static bool whole_of(const tra_scalar *s, int64_t *v) {
    *v = s->form == TRA_NUMBER_EXACT ? s->whole : tra_int_of(s->value);
    return s->form == TRA_NUMBER_EXACT || (s->form == TRA_NUMBER_PLAIN && (double)*v == s->value);
}

/* a to the power of n; false: it does not fit. */
static bool whole_power(int64_t a, int64_t n, int64_t *v) {
    bool small = a >= -1 && a <= 1;
    if (n < 0 || (n > 63 && !small)) return false;
    if (small && n > 2) n = 2 + n % 2;
    for (*v = 1; n > 0; n--)
        if (__builtin_mul_overflow(*v, a, v)) return false;
    return true;
}

void tra_scalar_fold(const tra_scalar *s, tra_scalar *out) {
    int64_t a = 0, b = 0, v = 0;
    const tra_scalar *kid[3] = {s->a, s->b, s->c};
    bool wholes = true, exact = whole_of(s->a, &a) && (!s->b || whole_of(s->b, &b));
    for (int i = s->op == TRA_S_IF; i < ops[s->op].arity; i++) wholes = wholes && whole_of(kid[i], &v);
    switch (exact ? s->op : TRA_S_COUNT) {
    case TRA_S_NEG: exact = !__builtin_sub_overflow((int64_t)0, a, &v); break;
    case TRA_S_ADD: exact = !__builtin_add_overflow(a, b, &v); break;
    case TRA_S_SUB: exact = !__builtin_sub_overflow(a, b, &v); break;
    case TRA_S_MUL: exact = !__builtin_mul_overflow(a, b, &v); break;
    case TRA_S_MAX: v = tra_max64(a, b); break;
    case TRA_S_MIN: v = tra_min64(a, b); break;
    case TRA_S_POW: exact = whole_power(a, b, &v); break;
    default: exact = false;
    }
    double value = tra_scalar_eval(s, NULL);
    bool cast = ops[s->op].class == TRA_SC_CAST, inside = value >= -0x1p63 && value < 0x1p63;
    if (cast && !tra_dtype_is_float(tra_scalar_cast(s->op)) && inside)
        return (void)(*out = tra_scalar_of_whole(whole_of(s->a, &a) && s->op == TRA_S_TO_I64 ? a : (int64_t)value));
    bool whole = ops[s->op].class == TRA_SC_BOOL || (wholes && !cast && ops[s->op].class != TRA_SC_REAL);
    *out = exact   ? tra_scalar_of_whole(v)
           : whole ? (tra_scalar){.op = TRA_S_CONST, .value = value}
                   : tra_scalar_of_real(value);
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

/* How tightly an expression binds: or 1, and 2, comparison 3, sum 4, product 5, sign 6, power 7, all others 8. */
enum { COMPARISON = 3, SIGN = 6, ATOM = 8 };
static int level(const tra_scalar *s) {
    if (s->op == TRA_S_OR) return 1;
    if (s->op == TRA_S_AND) return 2;
    if (s->op >= TRA_S_LT && s->op <= TRA_S_NE) return COMPARISON;
    if (s->op == TRA_S_ADD || s->op == TRA_S_SUB) return 4;
    if (s->op == TRA_S_MUL || s->op == TRA_S_DIV) return 5;
    if (s->op == TRA_S_NEG || s->op == TRA_S_NOT) return SIGN;
    if (s->op == TRA_S_POW) return 7;
    return s->op == TRA_S_CONST && signbit(s->value) ? SIGN : ATOM;
}

/* As the language writes it, and so that it reads back as the same. */
static void print_number(double v, tra_number_form form, int64_t whole, tra_str *out) {
    char buf[32];
    if (form == TRA_NUMBER_EXACT) {
        tra_str_printf(out, "%" PRId64, whole);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) { /* the shortest that reads back the same */
        snprintf(buf, sizeof(buf), "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break;
    }
    tra_str_add(out, buf);
    if (form == TRA_NUMBER_REAL && !strpbrk(buf, ".en")) tra_str_add(out, ".0");
}

static void print(const tra_scalar *s, int outer, const char *const *args, tra_str *out) {
    int mine = level(s);
    const char *text = ops[s->op].text;
    if (mine < outer) tra_str_add(out, "(");
    if (s->op == TRA_S_CONST) {
        print_number(s->value, s->form, s->whole, out);
    } else if (s->op == TRA_S_ARG) {
        tra_str_add(out, args[s->arg]);
    } else if (mine == ATOM) { /* a function */
        tra_str_printf(out, "%s(", text);
        print(s->a, 0, args, out);
        if (s->b) tra_str_add(out, ", "), print(s->b, 0, args, out);
        if (s->c) tra_str_add(out, ", "), print(s->c, 0, args, out);
        tra_str_add(out, ")");
    } else if (mine == SIGN) {
        tra_str_add(out, s->op == TRA_S_NOT ? text : "-");
        print(s->a, mine + 1, args, out);
    } else { /* powers group to the right, sums and products to the left, comparisons not at all */
        bool right = s->op == TRA_S_POW, none = mine == COMPARISON;
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
    if (s->c) return false;
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
    if (s->a && !either) return -1; /* a constant that is computed may be infinite, as exp(1000) is */
    switch (s->op) {
    case TRA_S_CONST: return isfinite(s->value) ? 0 : -1;
    case TRA_S_ARG: return 1;
    case TRA_S_ADD:
    case TRA_S_MAX:
    case TRA_S_MIN: return either;
    case TRA_S_SUB: return b == 0 ? a : -1;
    case TRA_S_EXP:
    case TRA_S_EXPM1:
    case TRA_S_TANH:
    case TRA_S_ERF:
    case TRA_S_ATAN:
    case TRA_S_SIGN:
    case TRA_S_FLOOR:
    case TRA_S_CEIL:
    case TRA_S_ROUND:
    case TRA_S_TRUNC:
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

/* Does it give 1 or 0 in any type? */
static bool is_truth(const tra_scalar *s) { return ops[s->op].class == TRA_SC_BOOL; }

/* Registers that s needs when the greedier operands are computed first, and the order of these; grows as the logarithm
 * of the size. */
static int need(const tra_scalar *s, int order[3]) {
    const tra_scalar *kid[3] = {s->a, s->b, s->c};
    int n[3], of_kid[3], most = 1, held = 0;
    if (s->op == TRA_S_ARG) return 0;
    for (int i = 0; i < ops[s->op].arity; i++) {
        int at = i;
        n[i] = need(kid[i], of_kid);
        if (s->op == TRA_S_IF && i == 0 && !is_truth(s->a) && n[i] < 2) n[i] = 2; /* it is compared with 0 */
        for (; at > 0 && n[order[at - 1]] < n[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < ops[s->op].arity; i++) {
        most = n[order[i]] + held > most ? n[order[i]] + held : most;
        held += n[order[i]] > 0;
    }
    return most;
}

static int count(const tra_scalar *s) {
    return 1 + (s->a ? count(s->a) : 0) + (s->b ? count(s->b) : 0) + (s->c ? count(s->c) + 2 : 0);
}

/* Appends an instruction, whose register has its number. */
static int append(tra_code *c, tra_insn in) {
    in.d = c->n;
    c->v[c->n++] = in;
    return in.d;
}

/* Appends code that leaves s in the returned operand: an argument, or a register. */
static int emit(tra_code *c, const tra_scalar *s) {
    const tra_scalar *kid[3] = {s->a, s->b, s->c};
    bool square = s->op == TRA_S_POW && s->b->op == TRA_S_CONST && s->b->value == 2 && s->b->form != TRA_NUMBER_REAL;
    int order[3], at[3] = {0};
    if (s->op == TRA_S_ARG) return ~s->arg;
    (void)need(s, order);
    for (int i = 0; i < ops[s->op].arity; i++) {
        int o = order[i];
        if (square && o == 1) continue;
        at[o] = emit(c, kid[o]);
        if (s->op != TRA_S_IF || o != 0 || is_truth(s->a)) continue;
        /* 1 or 0 before it takes the type of the branches, in which it might be rounded to 0 */
        int zero = append(c, (tra_insn){.op = TRA_S_CONST});
        at[0] = append(c, (tra_insn){.op = TRA_S_NE, .a = at[0], .b = zero});
    }
    tra_insn in = {.op = s->op, .a = at[0], .b = at[1], .c = at[2]};
    if (s->op == TRA_S_CONST) in.value = s->value, in.form = s->form, in.whole = s->whole;
    if (square) in.op = TRA_S_MUL, in.b = at[0]; /* correctly rounded, and faster */
    return append(c, in);
}

/* How many operands an instruction reads. */
static int reads(const tra_insn *in) { return in->op == TRA_S_ARG ? 1 : ops[in->op].arity; }

/* Gives the results registers anew, each the first that holds nothing which is still to be read: so a chain of maps
 * takes as many as its greediest map, and one, however long it is. */
static void assign_registers(tra_arena *a, tra_code *c) {
    int(*from)[3] =
        tra_arena_alloc(a, (size_t)c->n * sizeof *from); /* the instructions that made the operands; -1: none */
    int *maker = tra_news(a, int, c->nregs), *last = tra_news(a, int, c->n); /* of each result, its last reader */
    bool *taken = tra_news(a, bool, c->nregs);
    for (int i = 0; i < c->n; i++) {
        const int at[3] = {c->v[i].a, c->v[i].b, c->v[i].c};
        for (int o = 0; o < 3; o++) {
            from[i][o] = o < reads(&c->v[i]) && at[o] >= 0 ? maker[at[o]] : -1;
            if (from[i][o] >= 0) last[from[i][o]] = i;
        }
        maker[c->v[i].d] = i;
    }
    c->nregs = 0;
    for (int i = 0; i < c->n; i++) {
        tra_insn *in = &c->v[i];
        int *at[3] = {&in->a, &in->b, &in->c}, n = reads(in), r = 0;
        for (int o = 0; o < 3; o++)
            if (from[i][o] >= 0) *at[o] = c->v[from[i][o]].d;
        for (int o = n; o < 3; o++) *at[o] = n ? in->a : 0;
        for (int o = 0; o < n; o++)
            if (from[i][o] >= 0 && last[from[i][o]] == i) taken[*at[o]] = false;
        while (taken[r]) r++;
        taken[in->d = r] = true;
        if (r >= c->nregs) c->nregs = r + 1;
    }
}

tra_code *tra_scalar_compile(tra_arena *a, const tra_scalar *s) {
    tra_code *c = tra_new(a, tra_code);
    c->v = tra_news(a, tra_insn, count(s));
    int r = emit(c, s);
    if (r < 0) append(c, (tra_insn){.op = TRA_S_ARG, .a = r});
    c->nregs = c->n;
    assign_registers(a, c);
    return c;
}

tra_code *tra_code_then(tra_arena *a, const tra_code *first, const tra_code *next) {
    tra_code *c = tra_new(a, tra_code);
    c->v = tra_news(a, tra_insn, first->n + next->n);
    c->n = first->n + next->n;
    memcpy(c->v, first->v, (size_t)first->n * sizeof(tra_insn));
    int held = first->v[first->n - 1].d; /* has first's result while next runs in the other registers */
    for (int i = 0; i < next->n; i++) {
        tra_insn in = next->v[i];
        int *operand[] = {&in.d, &in.a, &in.b, &in.c};
        for (int j = 0; j < 4; j++) {
            assert(*operand[j] >= -1); /* next is a map */
            *operand[j] = *operand[j] < 0 ? held : *operand[j] + (*operand[j] >= held);
        }
        c->v[first->n + i] = in;
    }
    c->nregs = next->nregs + 1 > first->nregs ? next->nregs + 1 : first->nregs;
    assign_registers(a, c);
    return c;
}
