/* bounds.c - what is known of integers when code is written: polynomials over sizes and loop variables. So it is known
 * that a place like i*n + j is in an array of m*n elements and needs no check. */
#include "gen_int.h"

#include <string.h>

static int new_atom(gen *g, gen_atom a) {
    GEN_ROOM(g, g->atoms, g->natoms, g->atoms_cap);
    g->atoms[g->natoms] = a;
    return g->natoms++;
}

int gen_atom_of(gen *g, const tra_calc *tree, int bits) {
    for (int i = 0; i < g->natoms; i++)
        if (g->atoms[i].tree && tra_calc_equal(g->atoms[i].tree, tree)) return i;
    return new_atom(g, (gen_atom){.tree = tree, .bits = bits});
}

int gen_variable(gen *g, const gen_poly *below, int bits) {
    return new_atom(g, (gen_atom){.below = below, .bits = bits});
}

const gen_poly *gen_constant(gen *g, int64_t c) {
    gen_poly *p = tra_new(g->arena, gen_poly);
    if (c) p->t[p->n++] = (gen_term){.c = c};
    return p;
}

const gen_poly *gen_atom_poly(gen *g, int atom) {
    gen_poly *p = tra_new(g->arena, gen_poly);
    p->t[p->n++] = (gen_term){.c = 1, .n = 1, .atom = {atom}};
    return p;
}

static bool same_factors(const gen_term *a, const gen_term *b) {
    return a->n == b->n && memcmp(a->atom, b->atom, (size_t)a->n * sizeof *a->atom) == 0;
}

/* False: there is no room, or it overflows. */
static bool add_term(gen_poly *p, gen_term t) {
    for (int i = 0; i < p->n; i++) {
        if (!same_factors(&p->t[i], &t)) continue;
        if (!tra_add(p->t[i].c, t.c, &p->t[i].c)) return false;
        if (p->t[i].c == 0) p->t[i] = p->t[--p->n];
        return true;
    }
    if (t.c == 0) return true;
    if (p->n == GEN_TERMS) return false;
    p->t[p->n++] = t;
    return true;
}

const gen_poly *gen_poly_add(gen *g, const gen_poly *a, const gen_poly *b, int64_t times) {
    if (!a || !b) return NULL;
    gen_poly *p = tra_new(g->arena, gen_poly);
    *p = *a;
    for (int i = 0; i < b->n; i++) {
        gen_term t = b->t[i];
        if (!tra_mul(t.c, times, &t.c) || !add_term(p, t)) return NULL;
    }
    return p;
}

static bool term_product(const gen_term *a, const gen_term *b, gen_term *out) {
    if (a->n + b->n > GEN_FACTORS || !tra_mul(a->c, b->c, &out->c)) return false;
    out->n = 0;
    for (int i = 0, j = 0; i < a->n || j < b->n;)
        out->atom[out->n++] = j == b->n || (i < a->n && a->atom[i] <= b->atom[j]) ? a->atom[i++] : b->atom[j++];
    return true;
}

const gen_poly *gen_poly_mul(gen *g, const gen_poly *a, const gen_poly *b) {
    if (!a || !b) return NULL;
    gen_poly *p = tra_new(g->arena, gen_poly);
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            gen_term t;
            if (!term_product(&a->t[i], &b->t[j], &t) || !add_term(p, t)) return NULL;
        }
    return p;
}

static bool is_of_naturals(const gen *g, const tra_calc *x) {
    if (x->kind == TRA_CALC_NAME && x->type.depth == 0 && !g->s->how[x->index].natural) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!is_of_naturals(g, x->kids[i])) return false;
    return true;
}

/* A tree over the scope that is not made of sums, differences and products of natural numbers becomes an atom itself;
 * it must not be negative as a whole. */
const gen_poly *gen_poly_of(gen *g, const tra_calc *x) {
    const gen_poly *p = NULL;
    if (is_of_naturals(g, x)) switch ((int)x->kind) {
        case TRA_CALC_NUMBER: p = !x->is_real && x->whole >= 0 ? gen_constant(g, x->whole) : NULL; break;
        case TRA_CALC_ADD:
        case TRA_CALC_SUB:
            p = gen_poly_add(g, gen_poly_of(g, x->kids[0]), gen_poly_of(g, x->kids[1]),
                             x->kind == TRA_CALC_ADD ? 1 : -1);
            break;
        case TRA_CALC_MUL: p = gen_poly_mul(g, gen_poly_of(g, x->kids[0]), gen_poly_of(g, x->kids[1])); break;
        default: break;
        }
    return p ? p : gen_atom_poly(g, gen_atom_of(g, x, g->s->wide ? 63 : 31));
}

/* The variable with the largest number in p; -1: there is none. */
static int last_variable(const gen *g, const gen_poly *p) {
    int last = -1;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].n; k++)
            if (!g->atoms[p->t[i].atom[k]].tree && p->t[i].atom[k] > last) last = p->t[i].atom[k];
    return last;
}

static gen_term without(const gen_term *t, int atom) {
    gen_term out = {.c = t->c};
    bool gone = false;
    for (int i = 0; i < t->n; i++) {
        if (t->atom[i] == atom && !gone)
            gone = true;
        else
            out.atom[out.n++] = t->atom[i];
    }
    return out;
}

static bool has_atom(const gen_term *t, int atom) {
    for (int i = 0; i < t->n; i++)
        if (t->atom[i] == atom) return true;
    return false;
}

/* Replaces the variables, by their greatest value where that makes p greater (least: less), else by 0. */
static const gen_poly *extreme(gen *g, const gen_poly *p, bool least) {
    for (int v; p && (v = last_variable(g, p)) >= 0;) {
        const gen_poly *most = gen_poly_add(g, g->atoms[v].below, gen_constant(g, 1), -1), *next = gen_constant(g, 0);
        for (int i = 0; i < p->n && next; i++) {
            gen_poly one = {.n = 1, .t = {p->t[i]}};
            if (!has_atom(&p->t[i], v)) {
                next = gen_poly_add(g, next, &one, 1);
            } else if ((p->t[i].c > 0) != least) {
                one.t[0] = without(&p->t[i], v);
                next = gen_poly_add(g, next, gen_poly_mul(g, &one, most), 1);
            }
        }
        p = next;
    }
    return p;
}

const gen_poly *gen_poly_most(gen *g, const gen_poly *p) { return p ? extreme(g, p, false) : NULL; }

static bool no_negative_term(const gen_poly *p) {
    for (int i = 0; p && i < p->n; i++)
        if (p->t[i].c < 0) return false;
    return p != NULL;
}

bool gen_is_natural(gen *g, const gen_poly *p) { return p && no_negative_term(extreme(g, p, true)); }

bool gen_is_below(gen *g, const gen_poly *p, const gen_poly *q) {
    if (!p || !q || !gen_is_natural(g, p)) return false;
    return no_negative_term(gen_poly_add(g, gen_poly_add(g, q, gen_constant(g, 1), -1), gen_poly_most(g, p), -1));
}

const char *gen_poly_text(gen *g, const gen_poly *p) {
    const char *all = p->n ? "" : "0";
    for (int i = 0; i < p->n; i++) {
        const char *term = "";
        int64_t c = p->t[i].c;
        if (c != 1 || p->t[i].n == 0) term = gen_text(g, "%" PRId64, c);
        for (int k = 0; k < p->t[i].n; k++) {
            const gen_atom *a = &g->atoms[p->t[i].atom[k]];
            gen_value v = gen_number(g, a->tree);
            term = gen_text(g, "%s%s%s", term, *term ? "*" : "", v.text);
        }
        all = gen_text(g, "%s%s%s", all, i ? " + " : "", term);
    }
    return p->n == 1 && p->t[0].c == 1 && p->t[0].n == 1 ? all : gen_text(g, "(%s)", all);
}

/* A number that is no more than the elements of some array, or of the result, is below 2^40. */
int gen_poly_bits(gen *g, const gen_poly *p, int bits) {
    if (bits <= 40 || !p || g->s->wide || !gen_is_natural(g, p)) return bits;
    for (int i = 0; i <= g->s->n; i++) {
        const gen_poly *size = gen_constant(g, 1);
        if (i < g->s->n && (!g->s->how[i].component || !g->s->how[i].size)) continue;
        if (i < g->s->n) size = gen_poly_of(g, g->s->how[i].size);
        if (i == g->s->n && g->s->result != TRA_CODEGEN_DENSE) continue;
        for (int d = 0; i == g->s->n && d < g->s->plan->type.depth; d++)
            size = gen_poly_mul(g, size, gen_poly_of(g, g->s->extent[d]));
        if (size && gen_is_below(g, p, gen_poly_add(g, size, gen_constant(g, 1), 1))) return 40;
    }
    return bits;
}
