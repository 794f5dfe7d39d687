/* materialise.c - M2: some loops of a nest become a dictionary that is computed before the others.
 *
 * Their variables that the rest uses are its keys; what else they bind is added up. So a factor is computed once for
 * each key, a tensor is turned into an order in which the rest can look it up, and what stands under keys is added up
 * before it is scaled (the rows of MTTKRP). */
#include "storel_int.h"

#include <math.h>
#include <string.h>

enum { MOST_KEYS = 3, MOST_SUM_KEYS = 2 };

typedef struct part {
    st_set vars; /* that its generators bind */
    st_nest in, rest;
    int nkeys, key[MOST_KEYS]; /* variables */
} part;

static st_set vars_of(const st_gen *x) { return st_bit(x->key) | st_bit(x->value); }

/* Takes the generators of the set out; false where they depend on others of the nest or may fail. */
static bool take(st_graph *g, const st_nest *from, unsigned set, part *p) {
    st_set bound = st_bound(from);
    *p = (part){.rest = *from};
    for (int i = 0; i < from->ngens; i++)
        if (set >> i & 1) p->vars |= vars_of(&from->gen[i]);
    p->rest.ngens = p->rest.nconds = p->rest.nfactors = 0;
    for (int i = 0; i < from->ngens; i++) {
        const st_gen *x = &from->gen[i];
        const st_class *c = st_at(g, x->over);
        st_nest *to = set >> i & 1 ? &p->in : &p->rest;
        if (set >> i & 1 && (c->free & bound & ~p->vars || c->fails || x->let || (x->key >= 0 && g->var[x->key].made)))
            return false;
        to->gen[to->ngens++] = *x;
    }
    for (int i = 0; i < from->nconds; i++) {
        const st_class *c = st_at(g, from->cond[i]);
        bool in = c->free & p->vars && !(c->free & bound & ~p->vars);
        if (in && c->fails) return false;
        st_add_cond(g, in ? &p->in : &p->rest, from->cond[i]);
    }
    for (int i = 0; i < from->nfactors; i++) {
        const st_class *c = st_at(g, from->factor[i]);
        bool in = c->free & p->vars && !(c->free & bound & ~p->vars) && c->depth == 0;
        if (in && c->fails) return false;
        st_add_factor(g, in ? &p->in : &p->rest, from->factor[i]);
    }
    return true;
}

static st_set used_by(st_graph *g, const st_nest *n) {
    st_set all = 0;
    for (int i = 0; i < n->ngens; i++) all |= st_at(g, n->gen[i].over)->free;
    for (int i = 0; i < n->nconds; i++) all |= st_at(g, n->cond[i])->free;
    for (int i = 0; i < n->nfactors; i++) all |= st_at(g, n->factor[i])->free;
    for (int i = 0; i < n->nkeys; i++) all |= st_at(g, n->key[i])->free;
    return all;
}

/* Is it the key of a loop over a range? Then the loop goes away, and nothing needs to be looked up. */
static bool is_counter(st_graph *g, const st_nest *n, int cls) {
    for (int i = 0; i < n->ngens; i++)
        if (st_is_var(g, cls, n->gen[i].key) && st_first(g, n->gen[i].over, ST_RANGE) >= 0) return true;
    return false;
}

/* The variable of the part that a condition of the rest asks to be equal to what is not of the part; -1: none. */
static int linked(st_graph *g, const part *p, int cond, bool *counter) {
    int node = st_first(g, cond, ST_CMP);
    if (node < 0 || g->node[node].data[0] != TRA_CALC_EQ) return -1;
    for (int side = 0; side < 2; side++) {
        int var = st_first(g, g->node[node].kids[side], ST_VAR);
        if (var < 0 || !(p->vars & st_bit((int)g->node[var].data[0]))) continue;
        if (st_at(g, g->node[node].kids[1 - side])->free & p->vars) continue;
        *counter = is_counter(g, &p->rest, g->node[node].kids[1 - side]);
        return (int)g->node[var].data[0];
    }
    return -1;
}

/* Can the variable be given already, as the key of a loop that depends on no other of the part? */
static bool can_look_up(st_graph *g, const part *p, int var) {
    for (int i = 0; i < p->in.ngens; i++)
        if (p->in.gen[i].key == var) return !(st_at(g, p->in.gen[i].over)->free & p->vars);
    return false;
}

/* Do conditions, factors and dictionaries of the part hold it together? */
static bool connected(st_graph *g, const part *p) {
    st_set in = vars_of(&p->in.gen[0]), before = 0;
    while (in != before) {
        before = in;
        for (int i = 0; i < p->in.ngens; i++) {
            st_set all = vars_of(&p->in.gen[i]) | (st_at(g, p->in.gen[i].over)->free & p->vars);
            if (all & in) in |= all;
        }
        for (int i = 0; i < p->in.nconds; i++)
            if (st_at(g, p->in.cond[i])->free & in) in |= st_at(g, p->in.cond[i])->free & p->vars;
        for (int i = 0; i < p->in.nfactors; i++)
            if (st_at(g, p->in.factor[i])->free & in) in |= st_at(g, p->in.factor[i])->free & p->vars;
        /* both variables of a generator */
        for (int i = 0; i < p->in.ngens; i++)
            if (vars_of(&p->in.gen[i]) & in) in |= vars_of(&p->in.gen[i]);
    }
    return in == p->vars;
}

/* Factors that depend on the keys alone are multiplied after the sum. */
static void scale_later(st_graph *g, part *p) {
    st_set keys = 0;
    int kept = 0;
    for (int i = 0; i < p->nkeys; i++) keys |= st_bit(p->key[i]);
    for (int i = 0; i < p->in.nfactors; i++) {
        if (st_at(g, p->in.factor[i])->free & p->vars & ~keys)
            p->in.factor[kept++] = p->in.factor[i];
        else
            st_add_factor(g, &p->rest, p->in.factor[i]);
    }
    p->in.nfactors = kept;
}

/* Chooses the keys of the dictionary: those that conditions give come first. False if it would save nothing. */
static bool find_keys(st_graph *g, part *p, bool before_f1) {
    st_set used = used_by(g, &p->rest) & p->vars, taken = 0;
    bool turns = false, range = false;
    for (int i = 0; i < p->rest.nconds; i++) {
        bool counter = false;
        int var = linked(g, p, p->rest.cond[i], &counter);
        if (var < 0 || taken & st_bit(var) || p->nkeys == MOST_KEYS) continue;
        if (g->var[var].depth || g->var[var].real) return false;
        p->key[p->nkeys++] = var;
        taken |= st_bit(var);
        range |= counter || is_counter(g, &p->in, st_variable(g, var));
        turns |= !counter && !can_look_up(g, p, var);
    }
    bool linked_any = p->nkeys > 0;
    /* rule F1 will remove a loop over a range whose key is given: what can be done after that is not done before */
    if (before_f1 && !range) return false;
    for (int v = 0; v < g->nvars; v++) {
        if (!(used & ~taken & st_bit(v))) continue;
        if (p->nkeys == MOST_KEYS || g->var[v].depth || g->var[v].real) return false;
        p->key[p->nkeys++] = v;
    }
    if (p->nkeys == 0) return false;
    bool sums = p->in.ngens - p->in.nconds > p->nkeys;
    /* a tensor that is only transposed keeps its rank, so the limit is for sums */
    if (sums && p->nkeys > MOST_SUM_KEYS) return false;
    scale_later(g, p);
    bool factors = false;
    for (int i = 0; i < p->rest.nfactors; i++) factors |= (st_at(g, p->rest.factor[i])->free & p->vars) != 0;
    if (p->rest.ngens == 0) return sums && factors;
    return linked_any && (sums || (turns && p->in.nconds == 0));
}

static void build(st_graph *g, int cls, part *p, unsigned dense) {
    bool made;
    for (int i = 0; i < p->nkeys; i++)
        st_add_key(g, &p->in, st_variable(g, p->key[i]), dense >> i & 1 ? TRA_CALC_DENSE : TRA_CALC_HASH);
    int in = st_nest_class(g, &p->in);
    st_memo *m = st_memo_of(g, in, 1, &made);
    if (made) {
        const st_class *c = st_at(g, in);
        tra_calc_type t = {c->real, true, c->depth};
        const st_shape *shape = c->shape;
        m->var = st_new_var(g, "t", t);
        g->var[m->var].shape = shape;
        g->var[m->var].made = true;
        for (int i = 0; i < p->nkeys; i++) {
            t.depth--;
            m->vars[i] = st_new_var(g, t.depth ? "row" : "v", t);
            if (g->full) return;
            st_shape *rest = tra_new(g->arena, st_shape);
            *rest = *shape;
            rest->depth = t.depth;
            memmove(rest->n, rest->n + i + 1, (size_t)t.depth * sizeof *rest->n);
            memmove(rest->kind, rest->kind + i + 1, (size_t)t.depth * sizeof *rest->kind);
            memmove(rest->extent, rest->extent + i + 1, (size_t)t.depth * sizeof *rest->extent);
            if (t.depth) g->var[m->vars[i]].shape = rest;
            g->var[m->vars[i]].made = true;
        }
    }
    st_nest n = p->rest;
    int over = st_variable(g, m->var);
    for (int i = 0; i < p->nkeys; i++) {
        st_add_gen(g, &n, false, p->key[i], m->vars[i], over);
        over = st_variable(g, m->vars[i]);
    }
    st_add_factor(g, &n, over);
    int before = g->applied[ST_M2];
    st_equal_node(g, cls, ST_M2, ST_LET, 1, (int64_t[]){m->var}, 2, (int[]){in, st_nest_class(g, &n)});
    if (g->applied[ST_M2] > before) st_applied(g, dense ? ST_DENSE : ST_HASH);
}

/* An estimate of what filling and reading a dictionary of the part's keys costs. */
static double cost_of(st_graph *g, const part *p, unsigned dense) {
    const tra_storel_costs *c = g->costs;
    double turns = st_turns(g, &p->in), places = 1, cost = 0;
    for (int i = 0; i < p->nkeys; i++) {
        places *= fmax(st_size(g, g->var[p->key[i]].below), 1);
        bool array = dense >> i & 1, last = i + 1 == p->nkeys;
        cost += turns * (array ? c->insert + c->lookup : c->put + c->hash);
        cost += array ? last * places * c->clear : tra_distinct_after(places, turns) * c->sort;
    }
    return cost;
}

/* Does this rule apply to something that it has materialised itself? Only with few variables. */
static bool over_made(st_graph *g, int cls, const st_nest *n) {
    st_set all = st_at(g, cls)->free | st_bound(n);
    for (int v = 0; v < g->nvars; v++)
        if (all & st_bit(v) && g->var[v].made) return true;
    return false;
}

/* Tries the ways to hold the dictionary that may be worth it: array, hash map, array of hash maps. */
void st_materialise(st_graph *g, int cls, const st_nest *from) {
    enum { OF_VARS = 2 * MOST_KEYS + 2 };
    part p;
    if (from->ngens > 10 || (over_made(g, cls, from) && 3 * g->nvars > ST_MOSTVARS)) return;
    bool before_f1 = st_on(g, ST_F1) && st_has_lookup(g, from);
    for (unsigned set = 1; set < 1u << from->ngens && !g->limited; set++) {
        if (!take(g, from, set, &p) || !connected(g, &p) || !find_keys(g, &p, before_f1)) continue;
        unsigned all = (1u << p.nkeys) - 1, known = 0, ways[3] = {0, all, 1};
        for (int i = 0; i < p.nkeys; i++)
            if (g->var[p.key[i]].below >= 0) known |= 1u << i;
        double least = INFINITY;
        for (int i = 0; i < 2 + (p.nkeys > 1); i++)
            if (!(ways[i] & ~known)) least = fmin(least, cost_of(g, &p, ways[i]));
        for (int i = 0; i < 2 + (p.nkeys > 1); i++) {
            if (ways[i] & ~known || cost_of(g, &p, ways[i]) > 8 * least) continue;
            if (!st_on(g, ST_HASH) && ways[i] != all) continue;
            if (!st_on(g, ST_DENSE) && ways[i]) continue;
            if (g->nvars + OF_VARS > ST_VARS_M2) return;
            part q = p;
            build(g, cls, &q, ways[i]);
        }
    }
}
