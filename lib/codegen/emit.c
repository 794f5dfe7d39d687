/* emit.c - writing contributions to the result or to a dictionary that is built: what the interpreter's emit does, as
 * statements. */
#include "abi.h"
#include "gen_int.h"

#include <string.h>

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static void run_generator(gen *g, const gen_generators *s, int n, int b);

static const char *equal_texts(gen *g, const gen_value *a, const gen_value *b) {
    if (a->real == b->real) return gen_text(g, "%s == %s", a->text, b->text);
    return gen_text(g, "%s == %s", gen_as_real(g, a), gen_as_real(g, b));
}

/* Binds a name to v; if it is bound already, continues the loop unless they are equal. */
static void bind_or_compare(gen *g, const tra_calc_binder *b, gen_value v) {
    if (b->again) {
        gen_line(g, "if (!(%s)) continue;", equal_texts(g, &g->env[b->level], &v));
        return;
    }
    if (b->name && !gen_is_simple(v.text ? v.text : "0")) v = gen_hold(g, v, b->name);
    gen_bind(g, b, &v);
}

/* Is the value what the next generator, or a sum that is the body, loops over? */
static bool goes_on_in(const gen_generators *s, int n, const tra_calc_binder *value) {
    const tra_calc *next = s->x->kids[n + 1];
    if (n + 1 == s->x->nkids - 1) next = next->kind == TRA_CALC_SUM ? next->kids[0] : NULL;
    return next && next->kind == TRA_CALC_NAME && value->level >= 0 && next->level == value->level;
}

static void emit_body(gen *g, const tra_calc *body, void *ctx) { gen_emit(g, body, ctx); }

/* The name of the result in C, if it is a dense vector and the body adds to its element at `value`; else NULL. */
static const char *added_to(const gen *g, const gen_generators *s, const tra_calc_binder *value) {
    const tra_calc *body = s->x->kids[s->x->nkids - 1];
    const gen_chain *to = s->body == emit_body ? s->ctx : NULL;
    bool is = to && !to->temp && to->depth == 1 && to->nkeys == 0 && g->s->result == TRA_CODEGEN_DENSE &&
              body->kind == TRA_CALC_DICT && body->nkids == 2 && body->kids[0]->kind == TRA_CALC_NAME;
    return is && body->kids[0]->level == value->level ? "out" : NULL;
}

static void run_keys(gen *g, const gen_generators *s, int n, int b, int names, gen_value v) {
    const tra_calc_binder *key_of = &s->x->binders[b], *value_of = &s->x->binders[b + 1];
    gen_value key, inner = {0};
    if (key_of->again && !g->env[key_of->level].real) { /* the loop is over one key */
        gen_value one = gen_hold(g, g->env[key_of->level], "k");
        gen_value after = {
            .text =
                gen_hold(g, (gen_value){.text = gen_text(g, "%s + (%s < INT64_MAX)", one.text, one.text)}, "k").text,
            .bits = 63};
        one.poly = NULL;
        v = gen_slice(g, v, &one, &after);
    }
    v.nested = names > 1 || goes_on_in(s, n, value_of);
    gen_loop(g, &v, key_of->name ? key_of->name : "k", &key, &inner);
    bind_or_compare(g, key_of, key);
    if (names > 1) {
        run_keys(g, s, n, b + 1, names - 1, inner);
    } else {
        bind_or_compare(g, value_of, inner);
        if (!value_of->again)
            gen_ahead(g, s->x->kids + n + 1, s->x->nkids - n - 1, &v, value_of, key.text, added_to(g, s, value_of));
        run_generator(g, s, n + 1, b + 2);
    }
    gen_close_loop(g);
}

static void run_generator(gen *g, const gen_generators *s, int n, int b) {
    if (n == s->x->nkids - 1) {
        s->body(g, s->x->kids[n], s->ctx);
        return;
    }
    run_keys(g, s, n, b, s->x->nnames[n], gen_eval(g, s->x->kids[n]));
}

/* The value at a place of one side of a merge, which is an array or a range. */
static gen_value side_at(gen *g, const gen_value *v, const char *at) {
    if (v->kind == GEN_ARRAY) return gen_element(g, v->component, at, v->real);
    return (gen_value){.text = at, .bits = 63};
}

static const char *less(gen *g, const gen_value *a, const gen_value *b) {
    if (!a->real && !b->real) return gen_text(g, "%s < %s", a->text, b->text);
    return gen_text(g, "%s < %s", gen_as_real(g, a), gen_as_real(g, b));
}

/* Writes a loop that clears the C variable `ascend` if a side does not ascend. */
static void look_at_order(gen *g, const gen_value *v, const char *ascend) {
    const char *p = gen_name(g, "p");
    gen_value before = side_at(g, v, gen_text(g, "%s - 1", p)), here = side_at(g, v, p);
    if (v->kind == GEN_RANGE) return;
    gen_line(g, "for (int64_t %s = %s + 1; %s < %s; %s++) %s &= %s <= %s;", p, v->lo, p, v->hi, p, ascend, before.text,
             here.text);
}

/* If both sides are arrays or ranges that ascend, they are merged: `from` is where the second one continues. Else each
 * element is compared with each. */
static void run_merge(gen *g, const gen_generators *s) {
    const tra_calc *x = s->x;
    gen_value a = gen_eval(g, x->kids[0]), b = gen_eval(g, x->kids[1]), i, j, u, v;
    bool plain = (a.kind == GEN_ARRAY || a.kind == GEN_RANGE) && (b.kind == GEN_ARRAY || b.kind == GEN_RANGE);
    const char *from = NULL, *ascend = NULL;
    if (plain) {
        from = gen_name(g, "from");
        ascend = gen_name(g, "ascend");
        gen_line(g, "int64_t %s = %s;", from, b.lo);
        gen_line(g, "_Bool %s = 1;", ascend);
        look_at_order(g, &a, ascend);
        look_at_order(g, &b, ascend);
    }
    gen_loop(g, &a, x->binders[0].name ? x->binders[0].name : "k", &i, &v);
    v = gen_hold(g, v, x->binders[2].name ? x->binders[2].name : "v");
    if (plain) {
        gen_value there = side_at(g, &b, from), rest = b;
        gen_line(g, "while (%s && %s < %s && %s) %s++;", ascend, from, b.hi, less(g, &there, &v), from);
        rest.lo = from;
        rest.lo_exact = false;
        gen_loop(g, &rest, x->binders[1].name ? x->binders[1].name : "k", &j, &u);
        gen_line(g, "if (%s && !(%s)) break;", ascend, equal_texts(g, &u, &v));
    } else {
        gen_loop(g, &b, x->binders[1].name ? x->binders[1].name : "k", &j, &u);
    }
    gen_line(g, "if (!(%s)) continue;", equal_texts(g, &u, &v));
    bind_or_compare(g, &x->binders[0], i);
    bind_or_compare(g, &x->binders[1], j);
    bind_or_compare(g, &x->binders[2], v);
    s->body(g, x->kids[2], s->ctx);
    gen_close_loop(g);
    gen_close_loop(g);
}

void gen_sum(gen *g, const tra_calc *x, gen_body *body, void *ctx) {
    gen_generators s = {.x = x, .body = body, .ctx = ctx};
    if (x->kind == TRA_CALC_MERGE)
        run_merge(g, &s);
    else
        run_generator(g, &s, 0, 0);
}

/* ---- where a contribution goes -------------------------------------------------------------------------------- */

static const char *key_list(gen *g, const gen_chain *to, int n) {
    const char *all = "";
    for (int d = 0; d < n; d++) all = gen_text(g, "%s%s%s", all, d ? ", " : "", to->key[d].text);
    return all;
}

/* Adds v to a C variable. */
static void add_at(gen *g, const tra_calc *x, bool real, bool narrow, const char *place, const char *v) {
    if (narrow) {
        gen_line(g, "%s = (float)((double)%s + %s);", place, place, v);
    } else if (real) {
        gen_line(g, "%s += %s;", place, v);
    } else {
        g->parts |= GEN_ARITHMETIC;
        gen_line(g, "%s = add_(%s, %s, &bad, %d);", place, place, v, gen_site(g, x, TRA_CALC_WRONG_SUM_TOO_LARGE));
    }
}

static void give_to_temp(gen *g, const tra_calc *x, const gen_chain *to, const char *v) {
    const gen_temp *t = to->temp;
    if (!t->plain) {
        g->parts |= GEN_DICTS;
        if (to->depth == 1) { /* a single key is passed by value */
            gen_line(g, "dict_add1_%s_(a, &%s, %s, %s, &bad, %d);", t->real ? "real" : "whole", t->name,
                     to->key[0].text, v, gen_site(g, x, TRA_CALC_WRONG_SUM_TOO_LARGE));
            return;
        }
        gen_line(g, "dict_add_%s_(a, &%s, (const int64_t[]){%s}, %s, &bad, %d);", t->real ? "real" : "whole", t->name,
                 key_list(g, to, to->depth), v, gen_site(g, x, TRA_CALC_WRONG_SUM_TOO_LARGE));
        return;
    }
    const char *at = "";
    for (int d = 0; d < to->depth; d++)
        at = gen_text(g, strcmp(t->stride[d], "1") == 0 ? "%s%s%s" : "%s%s%s*%s", at, d ? " + " : "", to->key[d].text,
                      t->stride[d]);
    add_at(g, x, t->real, false, gen_text(g, "%s[%s]", t->name, at), v);
}

/* Writes the check that the keys of a contribution to the result are within its extents. */
static void check_keys(gen *g, const tra_calc *x, const gen_chain *to) {
    const char *outside = NULL;
    for (int d = 0; d < to->depth; d++) {
        if (gen_is_below(g, to->key[d].poly, gen_poly_of(g, g->s->extent[d]))) continue;
        outside = gen_text(g, "%s%s(uint64_t)%s >= (uint64_t)extent%d", outside ? outside : "", outside ? " || " : "",
                           to->key[d].text, d);
    }
    if (!outside) return;
    gen_open(g, "if (%s)", outside);
    gen_line(g, "if (!bad) bad = %d, keys_(a, %d, (const int64_t[]){%s});", gen_site(g, x, TRA_CALC_WRONG_OUTSIDE),
             to->depth, key_list(g, to, to->depth));
    g->indent--;
    gen_line(g, "} else {");
    g->indent++;
}

static void end_check(gen *g, const gen_chain *to) {
    for (int d = 0; d < to->depth; d++)
        if (!gen_is_below(g, to->key[d].poly, gen_poly_of(g, g->s->extent[d]))) {
            gen_close(g);
            return;
        }
}

/* The C expression for the first n keys as one number, of an element or of a row. */
static const char *place_of(gen *g, const gen_chain *to, int n) {
    const char *at = n < 1 ? "0" : "";
    for (int d = 0; d < n; d++)
        at = gen_text(g, d == n - 1 ? "%s%s%s" : "%s%s%s*stride%d", at, d ? " + " : "", to->key[d].text, d);
    return at;
}

static void give_to_result(gen *g, const tra_calc *x, const gen_chain *to, const char *v) {
    if (g->s->result == TRA_CODEGEN_CALLS) {
        gen_line(g, "if (a->give(a->ctx, (const int64_t[]){%s}, %s, %s)) {",
                 to->depth ? key_list(g, to, to->depth) : "0", to->real ? "0" : v, to->real ? v : "0");
        gen_line(g, "    bad = %d;", GEN_STOPPED);
        gen_line(g, "    goto end;");
        gen_line(g, "}");
        return;
    }
    int row = to->depth - (g->s->result == TRA_CODEGEN_ROWS);
    if (g->sums) {
        gen_line(g, "%s[%s] += %s;", g->sums, to->key[row].text, v);
        return;
    }
    check_keys(g, x, to);
    const char *at = place_of(g, to, row);
    if (g->s->result == TRA_CODEGEN_ROWS) {
        const char *test = gen_unless_zero(g, x, to->real, &v);
        g->parts |= GEN_ENTRIES;
        gen_line(g, "%sput_(&rows, %s, %s, %s, &bad, %d);", test, at, to->key[row].text, v,
                 gen_site(g, x, TRA_CALC_WRONG_SUM_TOO_LARGE));
    } else {
        add_at(g, x, g->s->type != TRA_ELEMENT_I64, g->s->type == TRA_ELEMENT_F32, gen_text(g, "out[%s]", at), v);
    }
    end_check(g, to);
}

/* Collects the bounds of a dictionary's keys, with which it can be an array: all contributions must have comparable
 * ones. */
static void note_bounds(gen *g, gen_chain *to) {
    for (int d = 0; d < to->depth; d++) {
        const gen_poly *most = gen_poly_most(g, to->key[d].poly);
        if (!gen_is_natural(g, to->key[d].poly) || !most) {
            to->plain = false;
            return;
        }
        const gen_poly *n = gen_poly_add(g, most, gen_constant(g, 1), 1);
        if (!to->bound[d] || gen_is_below(g, to->bound[d], gen_poly_add(g, n, gen_constant(g, 1), 1)))
            to->bound[d] = n;
        else if (!gen_is_below(g, n, gen_poly_add(g, to->bound[d], gen_constant(g, 1), 1)))
            to->plain = false;
    }
}

static void give(gen *g, const tra_calc *x, gen_chain *to, gen_value v) {
    if (g->status != TRA_OK) return;
    if (to->probing) {
        note_bounds(g, to);
        return;
    }
    const char *text = to->real ? gen_as_real(g, &v) : v.text;
    if (to->temp)
        give_to_temp(g, x, to, text);
    else
        give_to_result(g, x, to, text);
}

/* ---- walks over dictionaries ------------------------------------------------------------------------------------ */

typedef struct walk {
    const tra_calc *x;
    bool negate, with, other_first, sparse[2];
} walk;

static void walk_all(gen *g, const walk *w, gen_value v, gen_value other, gen_chain *to) {
    if (v.depth == 0) {
        if (w->negate) v = gen_negative(g, w->x, v);
        if (w->with)
            v = gen_operate(g, w->x, w->x->kind, w->x->type.real, w->other_first ? other : v, w->sparse[0],
                            w->other_first ? v : other, w->sparse[1]);
        give(g, w->x, to, v);
        return;
    }
    gen_value key, inner = {0};
    to->plain = false;
    v.nested = true;
    gen_loop(g, &v, "k", &key, &inner);
    gen_value other_inner = w->with && other.depth ? gen_get(g, &other, key) : other;
    to->key[to->nkeys++] = key;
    walk_all(g, w, inner, other_inner, to);
    to->nkeys--;
    gen_close_loop(g);
}

static void emit_combined(gen *g, const tra_calc *x, gen_chain *to) {
    walk w = {.x = x};
    if (x->kind == TRA_CALC_SUB || x->kind == TRA_CALC_NEG) {
        if (x->kind == TRA_CALC_SUB) gen_emit(g, x->kids[0], to);
        w.negate = true;
        walk_all(g, &w, gen_eval(g, x->kids[x->nkids - 1]), (gen_value){0}, to);
        return;
    }
    const tra_calc *l = x->kids[0], *r = x->kids[1];
    w.with = true;
    w.other_first = l->type.depth == 0 || (r->type.depth > 0 && r->type.sparse && !l->type.sparse);
    w.sparse[0] = l->type.sparse;
    w.sparse[1] = r->type.sparse;
    gen_value main = gen_eval(g, w.other_first ? r : l), other = gen_eval(g, w.other_first ? l : r);
    if (other.depth == 0) other = gen_hold(g, other, "factor");
    walk_all(g, &w, main, other, to);
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static bool is_of_scope(const tra_calc *x) {
    if (x->kind != TRA_CALC_NAME && x->kind != TRA_CALC_NUMBER && x->kind != TRA_CALC_MUL) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!is_of_scope(x->kids[i])) return false;
    return !x->type.real && (x->kind != TRA_CALC_NAME || x->level < 0);
}

/* Is it sum(<column, _> in lo:hi) {column -> real}, with columns of one row of the result? */
static bool adds_to_range(gen *g, const tra_calc *x, const gen_chain *to) {
    const tra_calc *in = x->kids[0], *body = x->kids[x->nkids - 1];
    if (g->s->result != TRA_CODEGEN_ROWS || g->s->type == TRA_ELEMENT_I64 || to->temp || to->probing) return false;
    if (x->kind != TRA_CALC_SUM || x->nkids != 2 || x->nnames[0] != 1 || in->kind != TRA_CALC_RANGE) return false;
    if (body->kind != TRA_CALC_DICT || body->nkids != 2 || to->nkeys + 1 != to->depth) return false;
    if (body->kids[1]->type.depth > 0 || body->kids[0]->kind != TRA_CALC_NAME || x->binders[0].again) return false;
    if (body->kids[0]->level != x->binders[0].level || x->binders[0].level < 0 || x->binders[1].level >= 0)
        return false;
    if (!is_of_scope(in->kids[0]) || !is_of_scope(in->kids[1])) return false;
    for (int d = 0; d + 1 < to->depth; d++)
        if (!gen_is_below(g, to->key[d].poly, gen_poly_of(g, g->s->extent[d]))) return false;
    const gen_poly *end = gen_poly_add(g, gen_poly_of(g, g->s->extent[to->depth - 1]), gen_constant(g, 1), 1);
    return gen_is_natural(g, gen_poly_of(g, in->kids[0])) && gen_is_below(g, gen_poly_of(g, in->kids[1]), end);
}

/* Marks all columns of the range at once, so that the loop only adds. */
static void emit_range(gen *g, const tra_calc *x, gen_chain *to) {
    const char *how = gen_name(g, "how"), *sums = gen_name(g, "sums");
    gen_value range = gen_eval(g, x->kids[0]);
    g->parts |= GEN_ENTRIES;
    gen_line(g, "const int %s = rows_range_(&rows, %s, %s, %s, &bad);", how, place_of(g, to, to->depth - 1), range.lo,
             range.hi);
    gen_open(g, "if (%s)", how);
    gen_line(g, "double *restrict const %s = rows.sum;", sums);
    g->sums = sums;
    gen_sum(g, x, emit_body, to);
    g->sums = NULL;
    gen_close(g);
}

static void emit_sum(gen *g, const tra_calc *x, gen_chain *to) {
    if (adds_to_range(g, x, to) && !g->sums) {
        emit_range(g, x, to);
        return;
    }
    gen_sum(g, x, emit_body, to);
}

static void emit_dict(gen *g, const tra_calc *x, gen_chain *to) {
    int n = x->nkids - 1, before = to->nkeys;
    for (int i = 0; i < n; i++) to->key[to->nkeys + i] = gen_hold(g, gen_number(g, x->kids[i]), "k");
    to->nkeys += n;
    if (n && !(x->notes & TRA_CALC_DENSE)) to->plain = false;
    gen_emit(g, x->kids[n], to);
    to->nkeys = before;
}

void gen_emit(gen *g, const tra_calc *x, gen_chain *to) {
    if (g->status != TRA_OK) return;
    if (x->kind == TRA_CALC_IF) {
        gen_open(g, "if (%s)", gen_condition(g, x->kids[0]));
        gen_emit(g, x->kids[1], to);
        gen_close(g);
        return;
    }
    if (x->kind == TRA_CALC_LET) {
        gen_bind_let(g, x);
        gen_emit(g, x->kids[x->nkids - 1], to);
        return;
    }
    if (x->kind == TRA_CALC_DICT) {
        emit_dict(g, x, to);
        return;
    }
    if (x->type.depth > 0) switch ((int)x->kind) {
        case TRA_CALC_SUM:
        case TRA_CALC_MERGE: emit_sum(g, x, to); return;
        case TRA_CALC_ADD:
            gen_emit(g, x->kids[0], to);
            gen_emit(g, x->kids[1], to);
            return;
        case TRA_CALC_SUB:
        case TRA_CALC_NEG:
        case TRA_CALC_MUL:
        case TRA_CALC_DIV: emit_combined(g, x, to); return;
        }
    gen_value none = {0};
    walk_all(g, &(walk){.x = x}, gen_eval(g, x), none, to);
}

/* ---- dictionaries that are built --------------------------------------------------------------------------------- */

/* Finds the extents of a dictionary, if it can be an array, by writing the code to nowhere. */
static bool find_extents(gen *g, const tra_calc *x, gen_chain *probe) {
    gen saved = *g;
    tra_str nowhere = {0}, top = {0}, end = {0};
    *probe = (gen_chain){.probing = true, .plain = true, .depth = x->type.depth, .real = x->type.real};
    g->out = &nowhere;
    g->top = top;
    g->end = end;
    gen_emit(g, x, probe);
    tra_str_free(&nowhere);
    tra_str_free(&g->top);
    tra_str_free(&g->end);
    saved.status = g->status;
    saved.natoms = g->natoms; /* the bounds refer to these */
    saved.atoms = g->atoms;
    saved.atoms_cap = g->atoms_cap;
    saved.env = g->env;
    saved.nenv = g->nenv;
    *g = saved;
    for (int d = 0; d < x->type.depth; d++) probe->plain &= probe->bound[d] != NULL;
    return probe->plain;
}

static void begin_plain(gen *g, gen_temp *t, const gen_chain *probe) {
    g->parts |= GEN_ARRAYS;
    const char *type = t->real ? "double" : "int64_t", *all = "1";
    for (int d = 0; d < t->depth; d++) {
        t->extent[d] = gen_hold(g, (gen_value){.text = gen_poly_text(g, probe->bound[d])}, "extent").text;
        t->bound[d] = probe->bound[d];
    }
    t->stride[t->depth - 1] = "1";
    for (int d = t->depth - 1; d > 0; d--)
        t->stride[d - 1] =
            gen_hold(g, (gen_value){.text = gen_text(g, "%s*%s", t->stride[d], t->extent[d])}, "stride").text;
    all = gen_text(g, "%s*%s", t->stride[0], t->extent[0]);
    tra_str_printf(&g->top, "    struct array_ %s_ = {0};\n", t->name);
    tra_str_printf(&g->end, "    free_(a, %s_.data, %s_.bytes);\n", t->name, t->name);
    gen_line(g, "%s *const %s = zeros_(a, &%s_, %s, &bad);", type, t->name, t->name, all);
    gen_line(g, "if (bad) goto end;");
}

gen_value gen_build(gen *g, const tra_calc *x) {
    gen_chain to, probe;
    gen_temp *t = tra_new(g->arena, gen_temp);
    *t = (gen_temp){.depth = x->type.depth, .real = x->type.real};
    t->plain = find_extents(g, x, &probe);
    t->name = gen_name(g, t->plain ? "dense" : "dict");
    to = (gen_chain){.temp = t, .depth = t->depth, .real = t->real};
    gen_value v = {
        .kind = t->plain ? GEN_PLAIN : GEN_DICT, .depth = t->depth, .real = t->real, .temp = t, .first = "0"};
    if (t->plain) {
        begin_plain(g, t, &probe);
    } else {
        g->parts |= GEN_DICTS | GEN_KEYS;
        tra_str_printf(&g->top, "    struct dict_ %s = {.depth = %d};\n", t->name, t->depth);
        tra_str_printf(&g->end, "    dict_free_(a, &%s);\n", t->name);
        gen_line(g, "dict_clear_(&%s);", t->name);
    }
    gen_emit(g, x, &to);
    if (!t->plain) {
        gen_line(g, "dict_finish_(a, &%s, %d, &bad);", t->name, t->real);
        gen_line(g, "if (bad) goto end;");
        v.last = gen_name(g, "size");
        gen_line(g, "const int64_t %s = %s.n;", v.last, t->name);
    }
    return v;
}
