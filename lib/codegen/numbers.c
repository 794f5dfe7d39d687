/* numbers.c - trees of depth 0 and conditions as C expressions: the arithmetic of lib/calculus, with those checks for
 * overflow that bounds do not make unnecessary. */
#include "gen_int.h"

#include <string.h>

static int most_bits(int a, int b) { return a > b ? a : b; }

gen_value gen_int_literal(gen *g, int64_t v) {
    int bits = 0;
    for (uint64_t m = v < 0 ? (uint64_t) - (v + 1) + 1 : (uint64_t)v; m; m >>= 1) bits++;
    return (gen_value){.text = v == INT64_MIN ? "INT64_MIN" : gen_text(g, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v),
                       .poly = v >= 0 ? gen_constant(g, v) : NULL,
                       .bits = bits > 63 ? 63 : bits};
}

static gen_value real_literal(gen *g, double v) {
    char buf[64];
    snprintf(buf, sizeof buf, "%.17g", v);
    return (gen_value){.real = true, .text = gen_text(g, strpbrk(buf, ".en") ? "%s" : "%s.0", buf)};
}

const char *gen_as_real(gen *g, const gen_value *v) { return v->real ? v->text : gen_text(g, "(double)%s", v->text); }

gen_value gen_zero(gen *g, tra_calc_type t) {
    if (t.depth) return (gen_value){.kind = GEN_RANGE, .depth = t.depth, .real = t.real, .lo = "0", .hi = "0"};
    return t.real ? real_literal(g, 0) : gen_int_literal(g, 0);
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

static gen_value whole_result(gen *g, const tra_calc *x, tra_calc_kind op, const gen_value *a, const gen_value *b) {
    static const char *const names[] = {[TRA_CALC_ADD] = "add_",
                                        [TRA_CALC_SUB] = "sub_",
                                        [TRA_CALC_MUL] = "mul_",
                                        [TRA_CALC_DIV] = "div_",
                                        [TRA_CALC_MOD] = "mod_"};
    gen_value v = {.bits = 63};
    const char *sign = op == TRA_CALC_ADD ? "+" : op == TRA_CALC_SUB ? "-" : "*";
    int bits = op == TRA_CALC_MUL ? a->bits + b->bits : most_bits(a->bits, b->bits) + 1;
    if (op == TRA_CALC_MUL)
        v.poly = gen_poly_mul(g, a->poly, b->poly);
    else if (op == TRA_CALC_ADD || op == TRA_CALC_SUB)
        v.poly = gen_poly_add(g, a->poly, b->poly, op == TRA_CALC_ADD ? 1 : -1);
    if (op == TRA_CALC_SUB && !gen_is_natural(g, v.poly)) v.poly = NULL;
    if (op == TRA_CALC_DIV || op == TRA_CALC_MOD) {
        v.bits = most_bits(a->bits, op == TRA_CALC_MOD ? b->bits : 0);
        bits = 64;
    }
    if (op != TRA_CALC_DIV && op != TRA_CALC_MOD) bits = gen_poly_bits(g, v.poly, bits);
    if (bits <= 63) {
        v.bits = bits;
        v.text = gen_text(g, "(%s %s %s)", a->text, sign, b->text);
        return v;
    }
    g->parts |= GEN_ARITHMETIC;
    bool divides = op == TRA_CALC_DIV || op == TRA_CALC_MOD;
    int site = gen_site(g, x, divides ? TRA_CALC_WRONG_BY_ZERO : TRA_CALC_WRONG_TOO_LARGE);
    if (divides) gen_site(g, x, TRA_CALC_WRONG_TOO_LARGE); /* div_ uses this number + 1 */
    v.text = gen_text(g, "%s(%s, %s, &bad, %d)", names[op], a->text, b->text, site);
    return gen_hold(g, v, "n");
}

/* a op b. sl, sr: a and b are of sparse type, so that a 0 annihilates. */
gen_value gen_operate(gen *g, const tra_calc *x, tra_calc_kind op, bool real, gen_value a, bool sl, gen_value b,
                      bool sr) {
    bool left = sl && (op == TRA_CALC_MUL || op == TRA_CALC_DIV || op == TRA_CALC_MOD),
         right = sr && op == TRA_CALC_MUL;
    gen_value v = {.real = real};
    /* a product of integers is 0 anyway if one is 0, and does not overflow */
    if (op == TRA_CALC_MUL && !real) left = right = false;
    if (left) a = gen_hold(g, a, "a");
    if (right) b = gen_hold(g, b, "b");
    const char *guard = left && right ? gen_text(g, "%s == 0 || %s == 0", a.text, b.text)
                        : left        ? gen_text(g, "%s == 0", a.text)
                        : right       ? gen_text(g, "%s == 0", b.text)
                                      : NULL;
    if (!real) {
        if (guard) b = (gen_value){.text = gen_text(g, "(%s ? 1 : %s)", guard, b.text), .bits = b.bits};
        return whole_result(g, x, op, &a, &b);
    }
    const char *l = gen_as_real(g, &a), *r = gen_as_real(g, &b);
    if (op == TRA_CALC_MOD) {
        g->parts |= GEN_ARITHMETIC;
        v.text = gen_text(g, "remainder_(%s, %s)", l, r);
    } else {
        v.text = gen_text(g, "%s %s %s", l,
                          op == TRA_CALC_ADD   ? "+"
                          : op == TRA_CALC_SUB ? "-"
                          : op == TRA_CALC_MUL ? "*"
                                               : "/",
                          r);
    }
    v.text = guard ? gen_text(g, "(%s ? 0 : %s)", guard, v.text) : gen_text(g, "(%s)", v.text);
    return v;
}

gen_value gen_negative(gen *g, const tra_calc *x, gen_value v) {
    if (v.real) return (gen_value){.real = true, .text = gen_text(g, "(-%s)", v.text)};
    gen_value zero = gen_int_literal(g, 0);
    return whole_result(g, x, TRA_CALC_SUB, &zero, &v);
}

/* ---- functions ---------------------------------------------------------------------------------------------- */

static gen_value extreme(gen *g, const tra_calc *x) {
    bool real = x->type.real, max = x->fn == TRA_CALC_FN_MAX;
    gen_value all = {0};
    g->parts |= GEN_ARITHMETIC;
    for (int i = 0; i < x->nkids; i++) {
        gen_value v = gen_number(g, x->kids[i]);
        const char *text = real ? gen_as_real(g, &v) : v.text;
        int bits = i ? most_bits(all.bits, v.bits) : v.bits;
        all = (gen_value){
            .real = real,
            .bits = bits,
            .text = i == 0 ? text
                           : gen_text(g, "%s_%s_(%s, %s)", max ? "max" : "min", real ? "real" : "int", all.text, text)};
    }
    return all;
}

static gen_value call(gen *g, const tra_calc *x) {
    if (x->fn == TRA_CALC_FN_MIN || x->fn == TRA_CALC_FN_MAX) return extreme(g, x);
    gen_value v = gen_number(g, x->kids[0]), out = {.real = x->type.real, .bits = 63};
    const char *r = gen_as_real(g, &v);
    switch (x->fn) {
    case TRA_CALC_FN_MIN:
    case TRA_CALC_FN_MAX: break;
    case TRA_CALC_FN_ABS:
        if (v.real) {
            out.text = gen_text(g, "fabs(%s)", v.text);
            return out;
        }
        g->parts |= GEN_ARITHMETIC;
        out.text = gen_text(g, "abs_(%s, &bad, %d)", v.text, gen_site(g, x, TRA_CALC_WRONG_TOO_LARGE));
        return gen_hold(g, out, "n");
    case TRA_CALC_FN_FLOOR:
        if (!v.real) return v;
        g->parts |= GEN_ARITHMETIC;
        out.text = gen_text(g, "floor_(%s, &bad, %d)", v.text, gen_site(g, x, TRA_CALC_WRONG_NO_INTEGER));
        return gen_hold(g, out, "n");
    case TRA_CALC_FN_REAL: out.text = gen_text(g, "(%s)", r); return out;
    case TRA_CALC_FN_EXP: out.text = gen_text(g, "exp(%s)", r); return gen_hold(g, out, "v");
    case TRA_CALC_FN_LOG: out.text = gen_text(g, "log(%s)", r); return gen_hold(g, out, "v");
    case TRA_CALC_FN_SQRT: out.text = gen_text(g, "sqrt(%s)", r); return gen_hold(g, out, "v");
    case TRA_CALC_FN_EVEN_BITS:
    case TRA_CALC_FN_ODD_BITS:
        g->parts |= GEN_ARITHMETIC;
        out.text = gen_text(g, "bits_(%s, %d, &bad, %d)", v.text, x->fn == TRA_CALC_FN_ODD_BITS,
                            gen_site(g, x, TRA_CALC_WRONG_NEGATIVE));
        out.bits = 32;
        return gen_hold(g, out, "n");
    }
    return out;
}

/* ---- conditions --------------------------------------------------------------------------------------------- */

/* Writes the condition x; statements that it needs go to `statements`, not to the kernel. */
static const char *condition_to(gen *g, const tra_calc *x, tra_str *statements) {
    tra_str *out = g->out;
    g->out = statements;
    g->indent++;
    const char *text = gen_condition(g, x);
    g->indent--;
    g->out = out;
    return text;
}

static const char *both(gen *g, const tra_calc *x) {
    bool and = x->kind == TRA_CALC_AND;
    tra_str second = {0};
    const char *l = gen_condition(g, x->kids[0]), *r = condition_to(g, x->kids[1], &second);
    const char *text;
    if (second.n == 0) {
        text = gen_text(g, "(%s %s %s)", l, and? "&&" : "||", r);
    } else { /* the second condition is evaluated only if it matters */
        text = gen_name(g, "holds");
        gen_line(g, "_Bool %s = %s;", text, l);
        gen_line(g, "if (%s%s) {", and? "" : "!", text);
        tra_str_add(g->out, tra_str_get(&second));
        gen_line(g, "    %s = %s;", text, r);
        gen_line(g, "}");
    }
    tra_str_free(&second);
    return text;
}

const char *gen_condition(gen *g, const tra_calc *x) {
    if (x->kind == TRA_CALC_NOT) return gen_text(g, "!(%s)", gen_condition(g, x->kids[0]));
    if (x->kind == TRA_CALC_AND || x->kind == TRA_CALC_OR) return both(g, x);
    static const char *const texts[] = {
#define X(name, text) [TRA_CALC_##name] = text,
        TRA_CALC_KINDS(X)
#undef X
    };
    gen_value a = gen_number(g, x->kids[0]), b = gen_number(g, x->kids[1]);
    if (!a.real && !b.real) return gen_text(g, "%s %s %s", a.text, texts[x->kind], b.text);
    return gen_text(g, "%s %s %s", gen_as_real(g, &a), texts[x->kind], gen_as_real(g, &b));
}

/* ---- the rest ----------------------------------------------------------------------------------------------- */

typedef struct sum_to {
    const tra_calc *x;
    const char *name;
} sum_to;

static void add_turn(gen *g, const tra_calc *body, void *ctx) {
    const sum_to *to = ctx;
    gen_value v = gen_number(g, body);
    if (to->x->type.real) {
        gen_line(g, "%s += %s;", to->name, gen_as_real(g, &v));
    } else {
        g->parts |= GEN_ARITHMETIC;
        gen_line(g, "%s = add_(%s, %s, &bad, %d);", to->name, to->name, v.text,
                 gen_site(g, to->x, TRA_CALC_WRONG_TOO_LARGE));
    }
}

static bool may_vanish(const tra_calc *x) {
    bool may = x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_MERGE || x->kind == TRA_CALC_IF;
    for (int i = 0; i < x->nkids && !may; i++) may = may_vanish(x->kids[i]);
    return may;
}

const char *gen_unless_zero(gen *g, const tra_calc *x, bool real, const char **v) {
    if (!may_vanish(x)) return "";
    *v = gen_hold(g, (gen_value){.text = *v, .real = real}, "sum").text;
    return gen_text(g, "if (%s != 0) ", *v);
}

static gen_value sum(gen *g, const tra_calc *x) {
    sum_to to = {x, gen_name(g, "sum")};
    gen_line(g, "%s %s = 0;", x->type.real ? "double" : "int64_t", to.name);
    gen_sum(g, x, add_turn, &to);
    return (gen_value){.real = x->type.real, .text = to.name, .bits = 63};
}

static gen_value extent(gen *g, const tra_calc *x) {
    if (g->s->how[x->index].relation)
        return (gen_value){.text = gen_text(g, "%s_of->extent[%d]", gen_component_name(g, x->index), (int)x->whole),
                           .bits = 62};
    gen_refuse(g, "extent(%s, %" PRId64 ") of a relation that was not composed with its storage", x->name, x->whole);
    return gen_int_literal(g, 0);
}

gen_value gen_number(gen *g, const tra_calc *x) {
    switch ((int)x->kind) {
    case TRA_CALC_NUMBER: return x->is_real ? real_literal(g, x->real) : gen_int_literal(g, x->whole);
    case TRA_CALC_ARITHMETIC: {
        gen_value a = gen_number(g, x->kids[0]), b = gen_number(g, x->kids[1]);
        return gen_operate(g, x, x->kind, x->type.real, a, x->kids[0]->type.sparse, b, x->kids[1]->type.sparse);
    }
    case TRA_CALC_NEG: return gen_negative(g, x, gen_number(g, x->kids[0]));
    case TRA_CALC_CALL: return call(g, x);
    case TRA_CALC_EXTENT: return extent(g, x);
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE: return sum(g, x);
    default: return gen_eval(g, x);
    }
}
