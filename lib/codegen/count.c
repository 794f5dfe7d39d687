/* count.c - writing the function that counts the entries of a kernel of rows: its loops without the sums, and without
 * the innermost one where its number of iterations is known. */
#include "gen_int.h"

static bool has_loop(const tra_calc *x) {
    if (x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_MERGE || x->type.real) return true;
    for (int i = 0; i < x->nkids; i++)
        if (has_loop(x->kids[i])) return true;
    return false;
}

static bool uses(const tra_calc *x, int level) {
    if (x->kind == TRA_CALC_NAME && x->level == level) return true;
    for (int i = 0; i < x->nkids; i++)
        if (uses(x->kids[i], level)) return true;
    return false;
}

static void count_some(gen *g, const gen_chain *to, const char *n) {
    const char *at = to->depth < 2 ? "0" : "";
    g->parts |= GEN_COUNTING;
    for (int d = 0; d < to->depth - 1; d++)
        at = gen_text(g, d == to->depth - 2 ? "%s%s%s" : "%s%s%s*stride%d", at, d ? " + " : "", to->key[d].text, d);
    gen_line(g, "count_(&count, %s, %s);", at, n);
}

/* Writes code that counts all entries of a view. */
static void count_view(gen *g, const gen_value *v, gen_chain *to) {
    bool array = v->kind == GEN_ARRAY || v->kind == GEN_RANGE;
    if (v->depth == 0) {
        count_some(g, to, "1");
    } else if (v->depth == 1 && (array || (v->kind != GEN_PLAIN && !v->lo && !v->hi))) {
        count_some(g, to, gen_text(g, "%s - %s", array ? v->hi : v->last, array ? v->lo : v->first));
    } else {
        gen_value key, inner = {0};
        gen_loop(g, v, "k", &key, &inner);
        to->key[to->nkeys++] = key;
        count_view(g, &inner, to);
        to->nkeys--;
        gen_close_loop(g);
    }
}

static void count_body(gen *g, const tra_calc *body, void *ctx) { gen_count(g, body, ctx); }

/* Counts the iterations of the last loop of a sum at once, if its body is one entry of a row that is known before the
 * loop. */
static void count_last(gen *g, const gen_generators *s, int n, int b) {
    gen_chain *to = s->ctx;
    const tra_calc *body = s->x->kids[s->x->nkids - 1];
    const tra_calc_binder *names = &s->x->binders[b];
    bool turns = s->x->nnames[n] == 1 && !names[0].again && !names[1].again && body->kind == TRA_CALC_DICT &&
                 body->kids[body->nkids - 1]->type.depth == 0 && to->nkeys + body->nkids - 1 == to->depth;
    for (int i = 0; turns && i < body->nkids - 2; i++)
        for (int k = 0; k < 2; k++) turns &= names[k].level < 0 || !uses(body->kids[i], names[k].level);
    gen_generators rest = *s;
    rest.last = NULL;
    if (!turns) {
        gen_generator(g, &rest, n, b);
        return;
    }
    int before = to->nkeys;
    gen_value v = gen_eval(g, s->x->kids[n]);
    for (int i = 0; i < body->nkids - 2; i++) to->key[to->nkeys++] = gen_hold(g, gen_number(g, body->kids[i]), "k");
    if (v.depth == 1 && v.kind != GEN_PLAIN && ((v.kind != GEN_KEYED && v.kind != GEN_DICT) || (!v.lo && !v.hi))) {
        count_view(g, &v, to);
        to->nkeys = before;
    } else {
        to->nkeys = before;
        gen_generator(g, &rest, n, b);
    }
}

/* Binds names as a LET does; reals do not decide where entries are, so they are not computed. */
static void bind(gen *g, const tra_calc *x) {
    for (int i = 0; i < x->nbinders; i++) {
        gen_value v = {.real = true, .text = "0.0"};
        if (x->kids[i]->type.depth || !x->kids[i]->type.real) v = gen_eval(g, x->kids[i]);
        if (x->binders[i].name) v = gen_hold(g, v, x->binders[i].name);
        gen_bind(g, &x->binders[i], &v);
    }
}

void gen_count(gen *g, const tra_calc *x, gen_chain *to) {
    if (g->status != TRA_OK) return;
    int before = to->nkeys;
    if (x->type.depth > 0 || x->kind == TRA_CALC_IF || x->kind == TRA_CALC_LET || x->kind == TRA_CALC_DICT)
        switch ((int)x->kind) {
        case TRA_CALC_IF:
            gen_open(g, "if (%s)", has_loop(x->kids[0]) ? "1" : gen_condition(g, x->kids[0]));
            gen_count(g, x->kids[1], to);
            gen_close(g);
            return;
        case TRA_CALC_LET:
            bind(g, x);
            gen_count(g, x->kids[x->nkids - 1], to);
            return;
        case TRA_CALC_DICT:
            for (int i = 0; i + 1 < x->nkids; i++) to->key[to->nkeys++] = gen_hold(g, gen_number(g, x->kids[i]), "k");
            gen_count(g, x->kids[x->nkids - 1], to);
            to->nkeys = before;
            return;
        case TRA_CALC_SUM: {
            gen_generators s = {.x = x, .body = count_body, .ctx = to, .last = count_last};
            gen_generator(g, &s, 0, 0);
            return;
        }
        case TRA_CALC_MERGE: gen_sum(g, x, count_body, to); return;
        case TRA_CALC_ADD:
        case TRA_CALC_SUB:
            gen_count(g, x->kids[0], to);
            gen_count(g, x->kids[1], to);
            return;
        case TRA_CALC_NEG: gen_count(g, x->kids[0], to); return;
        case TRA_CALC_MUL:
        case TRA_CALC_DIV: {
            const tra_calc *l = x->kids[0], *r = x->kids[1];
            bool right = l->type.depth == 0 || (r->type.depth > 0 && r->type.sparse && !l->type.sparse);
            gen_count(g, right ? r : l, to);
            return;
        }
        }
    if (x->type.depth == 0) {
        count_some(g, to, "1");
        return;
    }
    gen_value v = gen_eval(g, x);
    count_view(g, &v, to);
}
