/* relations.c - looking into arrays of relations, dense or as entries by rows. Loops over arrays of sparse type visit
 * only what is not 0. */
#include "gen_int.h"

static const tra_codegen_name *how_of(const gen *g, const gen_value *v) { return &g->s->how[v->component]; }
static int rank_of(const gen *g, const gen_value *v) { return g->s->scope[v->component].type.depth; }
static bool is_sparse(const gen *g, const gen_value *v) { return g->s->scope[v->component].type.sparse; }

void gen_bring_relation(gen *g, int i) {
    const tra_codegen_name *how = &g->s->how[i];
    tra_calc_type t = g->s->scope[i].type;
    const char *name = gen_component_name(g, i), *type = how->bits ? "int64_t" : gen_element_type(how->value);
    g->parts |= GEN_RELATIONS;
    if (how->rows && !t.sparse) gen_refuse(g, "%s, of dense type and held as rows", g->s->scope[i].name);
    gen_line(g, "const struct kernel_operand *const %s_of = &a->operand[%d];", name, i);
    gen_line(g, "const %s *restrict const %s = (const %s *)%s_of->value;", type, name, type, name);
    if (how->rows) {
        g->parts |= GEN_KEYS;
        gen_line(g, "const int64_t *const %s_row = %s_of->row, *const %s_begin = %s_of->begin;", name, name, name,
                 name);
        gen_line(g, "const uint32_t *const %s_column = %s_of->column;", name, name);
    }
    for (int d = 0; d < t.depth; d++)
        gen_line(g, "const int64_t %s_lo%d = %s_of->origin[%d], %s_hi%d = %s_lo%d + %s_of->length[%d];", name, d, name,
                 d, name, d, name, d, name, d);
}

/* Element number `at` of the values. */
static gen_value element(gen *g, const gen_value *v, const char *at) {
    const tra_codegen_name *how = how_of(g, v);
    const char *name = gen_component_name(g, v->component), *raw = gen_text(g, "%s[%s]", name, at);
    gen_value out = {.real = v->real, .bits = 63};
    if (how->bits)
        out.text = v->real ? gen_text(g, "bits_real_(%s)", raw) : raw;
    else if (how->value == TRA_ELEMENT_BOOL)
        out.text = gen_text(g, "(%s)(%s != 0)", v->real ? "double" : "int64_t", raw);
    else
        out.text = gen_text(g, "(%s)%s", v->real ? "double" : "int64_t", raw);
    return out;
}

static void set_bounds(gen *g, gen_value *v) {
    const char *name = gen_component_name(g, v->component);
    v->lo = gen_text(g, "%s_lo%d", name, v->level);
    v->hi = gen_text(g, "%s_hi%d", name, v->level);
    v->lo_poly = v->hi_poly = NULL;
    v->lo_exact = v->hi_exact = false;
    v->hi_bits = 62;
}

/* Finds the rows with numbers v->text .. v->text + n - 1 among places first to last - 1. */
static void find_rows(gen *g, gen_value *v, const char *first, const char *last, const char *n) {
    const char *name = gen_component_name(g, v->component), *from = gen_name(g, "from"), *to = gen_name(g, "to");
    gen_line(g, "const int64_t %s = lower_int64_t_(%s_row, %s, %s, %s);", from, name, first, last, v->text);
    gen_line(g, "const int64_t %s = lower_int64_t_(%s_row, %s, %s, %s + %s);", to, name, from, last, v->text, n);
    v->first = from;
    v->last = to;
}

static gen_value number_of(gen *g, gen_value v) {
    const char *name = gen_component_name(g, v.component);
    if (!how_of(g, &v)->rows) return element(g, &v, gen_text(g, "%s*%s_of->width", v.text, name));
    find_rows(g, &v, "0", gen_text(g, "%s_of->nrows", name), "1");
    gen_value e = element(g, &v, gen_text(g, "%s_begin[%s]", name, v.first));
    e.text = gen_text(g, "(%s < %s ? %s : 0)", v.first, v.last, e.text);
    return gen_hold(g, e, "v");
}

gen_value gen_relation(gen *g, const tra_calc *x) {
    const char *name = gen_component_name(g, x->index);
    gen_value v = {.kind = GEN_RELATION, .depth = x->type.depth, .real = x->type.real, .component = x->index};
    v.text = gen_text(g, "%s_of->first", name);
    if (v.depth == 0) return number_of(g, v);
    if (g->s->how[x->index].rows) {
        if (v.depth == 1) {
            find_rows(g, &v, "0", gen_text(g, "%s_of->nrows", name), "1");
        } else {
            v.first = "0";
            v.last = gen_text(g, "%s_of->nrows", name);
        }
    }
    set_bounds(g, &v);
    return v;
}

/* The view of what v has under one key; its rows begin at number `row`. */
static gen_value under(gen *g, const gen_value *v, const char *row) {
    gen_value out = *v;
    out.depth--;
    out.level++;
    out.text = row;
    out.nested = false;
    set_bounds(g, &out);
    return out;
}

static const char *stride_of(gen *g, const gen_value *v) {
    if (v->level == rank_of(g, v) - 2) return "1";
    return gen_text(g, "%s_of->stride[%d]", gen_component_name(g, v->component), v->level);
}

gen_value gen_get_relation(gen *g, const gen_value *v, const gen_value *key, const char *in) {
    const char *name = gen_component_name(g, v->component);
    const char *off = gen_text(g, "(%s - %s_lo%d)", key->text, name, v->level);
    bool rows = how_of(g, v)->rows;
    if (!in) in = "1";
    if (v->depth > 1) {
        const char *at = gen_name(g, "at"), *hi = gen_name(g, "hi");
        gen_line(g, "const int64_t %s = %s ? %s + %s*%s : %s;", at, in, v->text, off, stride_of(g, v), v->text);
        gen_value out = under(g, v, at);
        gen_line(g, "const int64_t %s = %s ? %s : %s;", hi, in, out.hi, out.lo);
        out.hi = hi; /* under a key that does not exist there are no keys */
        if (rows) find_rows(g, &out, v->first, v->last, stride_of(g, v));
        return out;
    }
    if (!rows) {
        gen_value e = element(g, v, gen_text(g, "%s*%s_of->width + %s", v->text, name, off));
        e.text = gen_text(g, "(%s ? %s : 0)", in, e.text);
        return e;
    }
    const char *from = gen_name(g, "from"), *to = gen_name(g, "to"), *e = gen_name(g, "e"),
               *found = gen_name(g, "found");
    gen_line(g, "const int64_t %s = %s < %s ? %s_begin[%s] : 0, %s = %s < %s ? %s_begin[%s + 1] : 0;", from, v->first,
             v->last, name, v->first, to, v->first, v->last, name, v->first);
    gen_line(g, "const int64_t %s = lower_uint32_t_(%s_column, %s, %s, %s);", e, name, from, to, off);
    gen_line(g, "const _Bool %s = %s && %s < %s && (int64_t)%s_column[%s] == %s;", found, in, e, to, name, e, off);
    gen_value value = element(g, v, e);
    value.text = gen_text(g, "(%s ? %s : 0)", found, value.text);
    return value;
}

/* Continues with the next key if all values from `from` to `to` - 1, which are under this one, are 0. */
static void skip_empty(gen *g, const gen_value *v, const char *from, const char *to) {
    if (!is_sparse(g, v) || v->nested) return;
    const char *any = gen_name(g, "any"), *i = gen_name(g, "i");
    gen_line(g, "_Bool %s = 0;", any);
    gen_line(g, "for (int64_t %s = %s; %s < %s && !%s; %s++) %s = %s != 0;", i, from, i, to, any, i, any,
             element(g, v, i).text);
    gen_line(g, "if (!%s) continue;", any);
}

static void loop_dense(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    const char *name = gen_component_name(g, v->component);
    gen_open(g, "for (int64_t %s = %s; %s < %s; %s++)", key->text, v->lo, key->text, v->hi, key->text);
    gen_begin_loop(g);
    const char *off = gen_text(g, "(%s - %s_lo%d)", key->text, name, v->level);
    if (v->depth > 1) {
        const char *at = gen_name(g, "at"), *stride = stride_of(g, v);
        gen_line(g, "const int64_t %s = %s + %s*%s;", at, v->text, off, stride);
        skip_empty(g, v, gen_text(g, "%s*%s_of->width", at, name),
                   gen_text(g, "(%s + %s)*%s_of->width", at, stride, name));
        *inner = under(g, v, at);
        return;
    }
    *inner = element(g, v, gen_text(g, "%s*%s_of->width + %s", v->text, name, off));
    if (is_sparse(g, v)) gen_line(g, "if (%s == 0) continue;", inner->text);
}

static void loop_rows(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    const char *name = gen_component_name(g, v->component), *e = gen_name(g, "e"), *stride = stride_of(g, v);
    const char *next = gen_name(g, "next"), *end = gen_name(g, "end"), *at = gen_name(g, "at");
    gen_line(g, "const int64_t %s = %s + (%s - %s_lo%d)*%s;", end, v->text, v->hi, name, v->level, stride);
    gen_open(g,
             "for (int64_t %s = lower_int64_t_(%s_row, %s, %s, %s + (%s - %s_lo%d)*%s), %s; %s < %s && %s_row[%s] < "
             "%s; %s = %s)",
             e, name, v->first, v->last, v->text, v->lo, name, v->level, stride, next, e, v->last, name, e, end, e,
             next);
    gen_begin_loop(g);
    gen_line(g, "const int64_t %s = (%s_row[%s] - %s)/%s + %s_lo%d;", key->text, name, e, v->text, stride, name,
             v->level);
    gen_line(g, "const int64_t %s = %s + (%s - %s_lo%d)*%s;", at, v->text, key->text, name, v->level, stride);
    if (v->level == rank_of(g, v) - 2)
        gen_line(g, "%s = %s + 1;", next, e);
    else
        gen_line(g, "%s = lower_int64_t_(%s_row, %s + 1, %s, %s + %s);", next, name, e, v->last, at, stride);
    skip_empty(g, v, gen_text(g, "%s_begin[%s]", name, e), gen_text(g, "%s_begin[%s]", name, next));
    *inner = under(g, v, at);
    inner->first = e;
    inner->last = next;
}

static void loop_entries(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    const char *name = gen_component_name(g, v->component), *e = gen_name(g, "e"), *to = gen_name(g, "to");
    const char *from = gen_name(g, "from");
    gen_line(g, "const int64_t %s = %s < %s ? %s_begin[%s] : 0, %s = %s < %s ? %s_begin[%s + 1] : 0;", from, v->first,
             v->last, name, v->first, to, v->first, v->last, name, v->first);
    gen_open(g, "for (int64_t %s = %s; %s < %s; %s++)", e, from, e, to, e);
    gen_begin_loop(g);
    gen_line(g, "const int64_t %s = (int64_t)%s_column[%s] + %s_lo%d;", key->text, name, e, name, v->level);
    gen_line(g, "if (%s < %s || %s >= %s) continue;", key->text, v->lo, key->text, v->hi);
    *inner = element(g, v, e);
    gen_line(g, "if (%s == 0) continue;", inner->text);
}

void gen_loop_relation(gen *g, const gen_value *v, gen_value *key, gen_value *inner) {
    key->poly = NULL;
    if (!how_of(g, v)->rows)
        loop_dense(g, v, key, inner);
    else if (v->depth > 1)
        loop_rows(g, v, key, inner);
    else
        loop_entries(g, v, key, inner);
}
