/* views.c - looking into dictionaries: of components, ranges, and those that were built; lookups, slices and loops. */
#include "gen_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers as variables ------------------------------------------------------------------------------------- */

bool gen_is_simple(const char *text) {
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.")] == 0;
}

gen_value gen_hold(gen *g, gen_value v, const char *like) {
    if (v.kind != GEN_NUMBER || gen_is_simple(v.text)) return v;
    const char *name = gen_name(g, like);
    gen_line(g, "const %s %s = %s;", v.real ? "double" : "int64_t", name, v.text);
    v.text = name;
    return v;
}

static const char *larger(gen *g, const char *a, const char *b) {
    if (!a || strcmp(a, b) == 0) return b;
    return gen_text(g, "(%s > %s ? %s : %s)", a, b, a, b);
}

static const char *lesser(gen *g, const char *a, const char *b) {
    if (!a || strcmp(a, b) == 0) return b;
    return gen_text(g, "(%s < %s ? %s : %s)", a, b, a, b);
}

/* ---- what names stand for ----------------------------------------------------------------------------------- */

/* The length of an array, by its declared size, which was verified; NULL: not known. */
static const gen_poly *length_of(gen *g, int component) {
    const tra_calc *size = g->s->how[component].size;
    return size ? gen_poly_of(g, size) : NULL;
}

static gen_value component_value(gen *g, int i, tra_calc_type t) {
    const tra_codegen_name *how = &g->s->how[i];
    const char *name = gen_component_name(g, i);
    gen_value v = {.kind = how->kind == TRA_COMPONENT_ARRAY ? GEN_ARRAY : GEN_KEYED, .depth = t.depth, .real = t.real};
    v.component = i;
    if (how->kind == TRA_COMPONENT_ARRAY) {
        v.lo = "0";
        v.hi = gen_text(g, "%s_n", name);
        v.lo_poly = gen_constant(g, 0);
        v.hi_poly = length_of(g, i);
        v.lo_exact = true;
        v.hi_exact = v.hi_poly != NULL;
        v.hi_bits = g->s->wide ? 62 : 40;
    } else {
        v.first = "0";
        v.last = gen_text(g, "%s_n", name);
    }
    return v;
}

static int element_bits(const gen *g, int i) {
    const tra_codegen_name *how = &g->s->how[i];
#define BITS_REAL(ctype)  63
#define BITS_WHOLE(ctype) (8 * (int)sizeof(ctype) - ((ctype)-1 < (ctype)1)) /* signed: less one bit */
#define BITS_TRUTH(ctype) 1
#define X(name, ctype, kind)                                                                                           \
    case TRA_ELEMENT_##name: bits = BITS_##kind(ctype); break;
    int bits = 63;
    switch (how->value) { TRA_ELEMENTS(X) }
#undef X
    if (bits < 63) return bits;
    return how->below && !g->s->wide ? 40 : 63;
}

/* Element number `at` of a component, which must exist. */
gen_value gen_element(gen *g, int i, const char *at, bool real) {
    const tra_codegen_name *how = &g->s->how[i];
    gen_value v = {.real = real, .bits = element_bits(g, i)};
    const char *raw = gen_text(g, "%s[%s]", gen_component_name(g, i), at);
    if (how->value == TRA_ELEMENT_BOOL) raw = gen_text(g, "(%s != 0)", raw);
    bool same = real ? how->value == TRA_ELEMENT_F64 : how->value == TRA_ELEMENT_I64;
    v.text = same ? raw : gen_text(g, "(%s)%s", real ? "double" : "int64_t", raw);
    if (how->below && !real) v.poly = gen_atom_poly(g, gen_variable(g, gen_poly_of(g, how->below), v.bits));
    return v;
}

static gen_value name(gen *g, const tra_calc *x) {
    if (x->level >= 0) return g->env[x->level];
    const tra_codegen_name *how = &g->s->how[x->index];
    if (how->relation) return gen_relation(g, x);
    if (!how->component) {
        const char *text = gen_component_name(g, x->index);
        gen_value v = {.real = x->type.real, .text = text, .bits = g->s->wide ? 63 : 31};
        if (how->natural) v.poly = gen_atom_poly(g, gen_atom_of(g, x, v.bits));
        return v;
    }
    if (how->kind != TRA_COMPONENT_SCALAR) return component_value(g, x->index, x->type);
    gen_value v = gen_element(g, x->index, "0", x->type.real);
    v.poly = NULL;
    v.text = gen_text(g, "(%s_n > 0 ? %s : 0)", gen_component_name(g, x->index), v.text);
    return v;
}

/* ---- lookups and parts ---------------------------------------------------------------------------------------- */

/* The C condition that the key is within lo and hi of the view; NULL: it certainly is. */
static const char *within(gen *g, const gen_value *v, const gen_value *key) {
    const char *above = NULL, *below = NULL;
    if (v->lo && !(key->poly && v->lo_exact && gen_is_natural(g, gen_poly_add(g, key->poly, v->lo_poly, -1))))
        above = gen_text(g, "%s >= %s", key->text, v->lo);
    if (v->hi && !(key->poly && v->hi_exact && gen_is_below(g, key->poly, v->hi_poly)))
        below = gen_text(g, "%s < %s", key->text, v->hi);
    return above && below ? gen_text(g, "%s && %s", above, below) : above ? above : below;
}

static const char *key_array(gen *g, const gen_value *v, int level) {
    return v->kind == GEN_KEYED ? gen_text(g, "%s_key%d", gen_component_name(g, v->component), level)
                                : gen_text(g, "%s.key[%d]", v->temp->name, level);
}

static const char *search_of(gen *g, const gen_value *v, int level) {
    g->parts |= GEN_KEYS;
    if (v->kind == GEN_DICT) return "lower_int64_t_";
    return gen_text(g, "lower_%s_", gen_element_type(g->s->how[v->component].key[level]));
}

static gen_value entry_value(gen *g, const gen_value *v, const char *at) {
    if (v->kind == GEN_KEYED) return gen_element(g, v->component, at, v->real);
    return (gen_value){
        .real = v->real, .text = gen_text(g, "%s.%s[%s]", v->temp->name, v->real ? "real" : "whole", at), .bits = 63};
}

static gen_value or_zero(gen *g, const char *condition, gen_value v) {
    if (!condition) return v;
    v.text = gen_text(g, "(%s ? %s : 0)", condition, v.text);
    return v;
}

/* The view of what v has under one key: entries `first` to `last` - 1. */
static gen_value below_key(const gen_value *v, const char *first, const char *last) {
    gen_value out = *v;
    out.depth--;
    out.level++;
    out.first = first;
    out.last = last;
    out.lo = out.hi = NULL;
    out.lo_poly = out.hi_poly = NULL;
    out.lo_exact = out.hi_exact = false;
    return out;
}

static gen_value get_entry(gen *g, const gen_value *v, const gen_value *key, const char *in) {
    const char *keys = key_array(g, v, v->level), *search = search_of(g, v, v->level);
    const char *first = gen_name(g, "e"), *found = gen_name(g, "found");
    gen_line(g, "const int64_t %s = %s(%s, %s, %s, %s);", first, search, keys, v->first, v->last, key->text);
    gen_line(g, "const _Bool %s = %s%s%s < %s && %s[%s] == %s;", found, in ? in : "", in ? " && " : "", first, v->last,
             keys, first, key->text);
    if (v->depth == 1) return or_zero(g, found, entry_value(g, v, first));
    const char *last = gen_name(g, "end");
    gen_line(g, "const int64_t %s = %s ? %s(%s, %s, %s, (int64_t)%s[%s] + 1) : %s;", last, found, search, keys, first,
             v->last, keys, first, first);
    return below_key(v, first, last);
}

static gen_value get_plain(gen *g, const gen_value *v, const gen_value *key, const char *in) {
    const gen_temp *t = v->temp;
    const char *lower = gen_text(g, "(uint64_t)%s < (uint64_t)%s", key->text, t->extent[v->level]);
    if (!gen_is_below(g, key->poly, t->bound[v->level])) in = in ? gen_text(g, "%s && %s", in, lower) : lower;
    const char *at = gen_text(g, "%s + %s*%s", v->first, key->text, t->stride[v->level]);
    if (v->depth == 1)
        return or_zero(g, in, (gen_value){.real = v->real, .text = gen_text(g, "%s[%s]", t->name, at), .bits = 63});
    /* under a key that does not exist there are no keys */
    gen_value out = below_key(v, NULL, NULL);
    const char *name = gen_name(g, "at"), *hi = gen_name(g, "hi");
    if (!in) in = "1";
    gen_line(g, "const int64_t %s = %s ? %s : 0, %s = %s ? %s : 0;", name, in, at, hi, in, t->extent[out.level]);
    out.first = name;
    out.lo = "0";
    out.hi = hi;
    return out;
}

gen_value gen_get(gen *g, const gen_value *v, gen_value key) {
    key = gen_hold(g, key, "k");
    const char *in = within(g, v, &key);
    switch (v->kind) {
    case GEN_NUMBER: break;
    case GEN_RANGE:
        if (v->depth > 1) return gen_zero(g, (tra_calc_type){.real = v->real, .depth = v->depth - 1});
        key.poly = NULL;
        return v->real ? or_zero(g, in, (gen_value){.real = true, .text = gen_as_real(g, &key)}) : or_zero(g, in, key);
    case GEN_ARRAY: return or_zero(g, in, gen_element(g, v->component, key.text, v->real));
    case GEN_KEYED:
    case GEN_DICT: return get_entry(g, v, &key, in);
    case GEN_PLAIN: return get_plain(g, v, &key, in);
    case GEN_RELATION: return gen_get_relation(g, v, &key, in);
    }
    return gen_int_literal(g, 0);
}

/* lo, hi: NULL leaves that side as it is. */
gen_value gen_slice(gen *g, gen_value v, const gen_value *lo, const gen_value *hi) {
    if (lo) {
        v.lo_exact = false;
        bool is = lo->poly && v.lo_poly && gen_is_natural(g, gen_poly_add(g, lo->poly, v.lo_poly, -1));
        gen_value held = {.text = is ? lo->text : larger(g, v.lo, lo->text)};
        v.lo = gen_hold(g, held, "lo").text;
        /* of two known bounds the larger one */
        if (!v.lo_poly || gen_is_natural(g, gen_poly_add(g, lo->poly, v.lo_poly, -1))) v.lo_poly = lo->poly;
    }
    if (hi) {
        v.hi_exact = false;
        gen_value held = {.text = lesser(g, v.hi, hi->text)};
        v.hi = gen_hold(g, held, "hi").text;
        if (!v.hi_poly || gen_is_natural(g, gen_poly_add(g, v.hi_poly, hi->poly, -1))) v.hi_poly = hi->poly;
        if (v.hi_bits > hi->bits || v.hi_bits == 0) v.hi_bits = hi->bits;
    }
    return v;
}

static gen_value slice(gen *g, const tra_calc *x) {
    gen_value v = gen_eval(g, x->kids[0]);
    gen_value lo = gen_hold(g, gen_number(g, x->kids[1]), "lo"), hi = gen_hold(g, gen_number(g, x->kids[2]), "hi");
    return gen_slice(g, v, &lo, &hi);
}

/* ---- any tree ------------------------------------------------------------------------------------------------- */

/* Declares a variable before a branch and assigns the value in it; the statements of the branch are in `in`. */
static const char *joined(gen *g, const char *type, const char *like, const char *text, tra_str *in) {
    const char *name = gen_name(g, like);
    gen_line(g, "%s %s = 0;", type, name);
    tra_str *out = g->out;
    g->out = in;
    g->indent++;
    gen_line(g, "%s = %s;", name, text);
    g->indent--;
    g->out = out;
    return name;
}

static gen_value branch(gen *g, const tra_calc *x) {
    const char *condition = gen_condition(g, x->kids[0]);
    tra_str inside = {0}, *out = g->out;
    g->out = &inside;
    g->indent++;
    gen_value v = gen_eval(g, x->kids[1]);
    g->indent--;
    g->out = out;
    v.poly = v.kind == GEN_NUMBER && inside.n == 0 ? v.poly : NULL;
    if (v.kind == GEN_NUMBER && inside.n == 0) {
        v.text = gen_text(g, "(%s ? %s : 0)", condition, v.text);
    } else if (v.kind == GEN_NUMBER) {
        v.text = joined(g, v.real ? "double" : "int64_t", "v", v.text, &inside);
    } else { /* where the condition is false the view has no keys */
        if (v.first) v.first = joined(g, "int64_t", "first", v.first, &inside);
        if (v.last) v.last = joined(g, "int64_t", "last", v.last, &inside);
        if (v.kind == GEN_RELATION) v.text = joined(g, "int64_t", "at", v.text, &inside);
        if (v.lo) v.lo = joined(g, "int64_t", "lo", v.lo, &inside);
        if (v.kind == GEN_PLAIN && !v.hi) v.hi = v.temp->extent[v.level], v.lo = "0";
        if (v.hi) v.hi = joined(g, "int64_t", "hi", v.hi, &inside);
        v.lo_poly = NULL;
        v.lo_exact = v.hi_exact = false;
    }
    if (inside.n) {
        gen_line(g, "if (%s) {", condition);
        tra_str_add(g->out, tra_str_get(&inside));
        gen_line(g, "}");
    }
    tra_str_free(&inside);
    return v;
}

void gen_bind_let(gen *g, const tra_calc *x) {
    for (int i = 0; i < x->nbinders; i++) {
        gen_value v = gen_eval(g, x->kids[i]);
        if (x->binders[i].name) v = gen_hold(g, v, x->binders[i].name);
        gen_bind(g, &x->binders[i], &v);
    }
}

gen_value gen_eval(gen *g, const tra_calc *x) {
    if (g->status != TRA_OK) return gen_zero(g, x->type);
    switch (x->kind) {
    case TRA_CALC_NAME: return name(g, x);
    case TRA_CALC_APPLY: {
        gen_value v = gen_eval(g, x->kids[0]);
        for (int i = 1; i < x->nkids; i++) v = gen_get(g, &v, gen_number(g, x->kids[i]));
        return v;
    }
    case TRA_CALC_SLICE: return slice(g, x);
    case TRA_CALC_RANGE: {
        gen_value lo = gen_hold(g, gen_number(g, x->kids[0]), "lo"), hi = gen_hold(g, gen_number(g, x->kids[1]), "hi");
        return (gen_value){.kind = GEN_RANGE,
                           .depth = 1,
                           .lo = lo.text,
                           .hi = hi.text,
                           .lo_poly = lo.poly,
                           .hi_poly = hi.poly,
                           .lo_exact = lo.poly != NULL,
                           .hi_exact = hi.poly != NULL,
                           .hi_bits = lo.bits > hi.bits ? lo.bits : hi.bits};
    }
    case TRA_CALC_IF: return branch(g, x);
    case TRA_CALC_LET: gen_bind_let(g, x); return gen_eval(g, x->kids[x->nkids - 1]);
    case TRA_CALC_DICT: return x->type.depth == 0 ? gen_eval(g, x->kids[0]) : gen_build(g, x);
    case TRA_CALC_ARITHMETIC:
    case TRA_CALC_NEG:
    case TRA_CALC_CALL:
    case TRA_CALC_EXTENT:
    case TRA_CALC_SUM:
    case TRA_CALC_MERGE:
    case TRA_CALC_NUMBER: return x->type.depth > 0 ? gen_build(g, x) : gen_number(g, x);
    case TRA_CALC_CONDITIONS: break;
    }
    gen_refuse(g, "a condition where a value is wanted");
    return gen_int_literal(g, 0);
}

/* ---- loops ------------------------------------------------------------------------------------------------------ */

void gen_close(gen *g) {
    g->indent--;
    gen_line(g, "}");
}

/* The outermost loop checks whether to stop, unless it has no loop inside: then it may be vectorised. */
void gen_begin_loop(gen *g) {
    if (g->loops++ == 0) {
        g->stop_at = g->out->n;
        g->stop_in = g->out;
        g->inner = 1;
    }
    if (g->loops > g->inner) g->inner = g->loops;
}

void gen_close_loop(gen *g) {
    gen_close(g);
    if (--g->loops > 0 || g->inner == 1 || g->stop_in != g->out) return;
    /* insert the check as the first line of its body */
    tra_str rest = {0};
    tra_str_add(&rest, g->out->s + g->stop_at);
    g->out->n = g->stop_at;
    g->out->s[g->stop_at] = 0;
    g->indent++;
    gen_line(g, "if (bad || (a->stop && *a->stop)) goto end;");
    g->indent--;
    tra_str_add(g->out, tra_str_get(&rest));
    tra_str_free(&rest);
}

static gen_value loop_key(gen *g, const gen_value *v, const char *name) {
    gen_value key = {.text = name, .bits = v->hi_bits ? v->hi_bits : 63};
    const gen_poly *end = v->lo_poly && gen_is_natural(g, v->lo_poly) ? v->hi_poly : NULL;
    if (!end && v->kind == GEN_PLAIN) end = v->temp->bound[v->level];
    if (end) key.poly = gen_atom_poly(g, gen_variable(g, end, key.bits));
    return key;
}

/* A loop over the distinct keys of sorted entries. */
static void loop_entries(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    const char *keys = key_array(g, v, v->level), *search = search_of(g, v, v->level);
    const char *e = gen_name(g, "e"), *from = v->first, *to = v->last;
    if (v->lo) from = gen_text(g, "%s(%s, %s, %s, %s)", search, keys, v->first, v->last, v->lo);
    if (v->hi) to = gen_text(g, "%s(%s, %s, %s, %s)", search, keys, v->first, v->last, v->hi);
    from = gen_hold(g, (gen_value){.text = from}, "from").text;
    to = gen_hold(g, (gen_value){.text = to}, "to").text;
    if (v->depth == 1) {
        gen_open(g, "for (int64_t %s = %s; %s < %s; %s++)", e, from, e, to, e);
        gen_begin_loop(g);
        gen_line(g, "const int64_t %s = %s[%s];", key->text, keys, e);
        *inner = entry_value(g, v, e);
        return;
    }
    const char *next = gen_name(g, "next");
    gen_open(g, "for (int64_t %s = %s, %s; %s < %s; %s = %s)", e, from, next, e, to, e, next);
    gen_begin_loop(g);
    gen_line(g, "const int64_t %s = %s[%s];", key->text, keys, e);
    gen_line(g, "for (%s = %s + 1; %s < %s && %s[%s] == %s;) %s++;", next, e, next, to, keys, next, key->text, next);
    *inner = below_key(v, e, next);
}

static void loop_plain(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    const gen_temp *t = v->temp;
    const char *lo = larger(g, v->lo, "0"), *hi = lesser(g, v->hi, t->extent[v->level]);
    lo = gen_hold(g, (gen_value){.text = lo}, "from").text;
    hi = gen_hold(g, (gen_value){.text = hi}, "to").text;
    gen_open(g, "for (int64_t %s = %s; %s < %s; %s++)", key->text, lo, key->text, hi, key->text);
    gen_begin_loop(g);
    const char *at = gen_name(g, "at");
    gen_line(g, "const int64_t %s = %s + %s*%s;", at, v->first, key->text, t->stride[v->level]);
    if (v->depth > 1) {
        gen_line(g, "if (!any_(%s + %s, %s)) continue;", t->name, at, t->stride[v->level]);
        *inner = below_key(v, at, NULL);
    } else {
        gen_line(g, "if (%s[%s] == 0) continue;", t->name, at);
        *inner = (gen_value){.real = v->real, .text = gen_text(g, "%s[%s]", t->name, at), .bits = 63};
    }
}

void gen_loop(gen *g, const gen_value *v, const char *key_name, gen_value *key, gen_value *inner) {
    *key = loop_key(g, v, gen_name(g, key_name));
    switch (v->kind) {
    case GEN_NUMBER: break;
    case GEN_RANGE:
    case GEN_ARRAY:
        gen_open(g, "for (int64_t %s = %s; %s < %s; %s++)", key->text, v->lo, key->text, v->hi, key->text);
        gen_begin_loop(g);
        if (v->kind == GEN_ARRAY)
            *inner = gen_element(g, v->component, key->text, v->real);
        else if (v->depth > 1)
            *inner = gen_zero(g, (tra_calc_type){.real = v->real, .depth = v->depth - 1});
        else
            *inner = v->real ? (gen_value){.real = true, .text = gen_as_real(g, key)} : *key;
        break;
    case GEN_KEYED:
    case GEN_DICT: loop_entries(g, v, key, inner); break;
    case GEN_PLAIN: loop_plain(g, v, key, inner); break;
    case GEN_RELATION: gen_loop_relation(g, v, key, inner); break;
    }
}

void gen_bind(gen *g, const tra_calc_binder *b, const gen_value *v) {
    if (b->level < 0) return;
    if (b->level >= g->nenv) {
        gen_value *more = tra_news(g->arena, gen_value, 2 * b->level + 16);
        if (g->nenv) memcpy(more, g->env, (size_t)g->nenv * sizeof *more);
        g->env = more;
        g->nenv = 2 * b->level + 16;
    }
    g->env[b->level] = *v;
}
