/* rules.c - the table of rules, and those that take a nest apart without choosing a loop. */
#include "storel_int.h"

#include <string.h>

static const struct {
    const char *name; /* as --without takes it */
    bool built_in;    /* into the normal form: it cannot be left out */
} rules[] = {
#define X(id, name, built_in, law, when, before, after, refused) {name, built_in},
#include "table.h"
#undef X
};

tra_status tra_storel_without(const char *names, uint64_t *out, tra_err *e) {
    *out = 0;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        int i = 0;
        while (i < ST_NRULES && (strlen(rules[i].name) != n || strncmp(rules[i].name, at, n) != 0)) i++;
        if (i == ST_NRULES)
            return tra_fail(e, TRA_USAGE, "there is no rule '%.*s': tra-plans(5) lists them", (int)n, at);
        if (rules[i].built_in)
            return tra_fail(e, TRA_USAGE, "rule %s is built into the normal form and cannot be left out",
                            rules[i].name);
        *out |= (uint64_t)1 << i;
        at += n + (at[n] == ',');
    }
    return TRA_OK;
}

const char *tra_storel_without_text(uint64_t set, tra_arena *a) {
    const char *text = "";
    for (int i = 0; i < ST_NRULES; i++)
        if (set >> i & 1) text = tra_arena_printf(a, "%s%s%s", text, *text ? "," : "", rules[i].name);
    return text;
}

bool st_on(const st_graph *g, st_rule r) { return !(g->p->without >> r & 1); }
void st_applied(st_graph *g, st_rule r) { g->applied[r]++; }

void st_equal(st_graph *g, int cls, int other, st_rule r) {
    if (st_find(g, cls) == st_find(g, other)) return;
    st_applied(g, r);
    st_union(g, cls, other);
}

void st_equal_node(st_graph *g, int cls, st_rule r, st_op op, int ndata, const int64_t *data, int nkids,
                   const int *kids) {
    int before = g->nnodes, other = st_make_as(g, cls, op, ndata, data, nkids, kids);
    if (g->nnodes > before)
        st_applied(g, r);
    else
        st_equal(g, cls, other, r);
}

/* ---- @dense and @hash ----------------------------------------------------------------------------------------- */

static int annotate(st_graph *g, int cls, unsigned dense, int level) {
    int node = st_first(g, cls, ST_NEST), add = st_first(g, cls, ST_ADD), kids[2 * ST_PARTS];
    if (st_at(g, cls)->depth == 0) return cls;
    if (add >= 0) {
        int n = g->node[add].nkids;
        for (int i = 0; i < n && i < 2 * ST_PARTS; i++) kids[i] = annotate(g, g->node[add].kids[i], dense, level);
        return st_sum(g, n, kids);
    }
    if (node < 0) return cls;
    st_nest n;
    st_load(g, node, &n);
    unsigned array = g->p->dense ? TRA_CALC_DENSE : ST_ROW;
    for (int i = 0; i < n.nkeys; i++) n.note[i] = dense >> (level + i) & 1 ? array : TRA_CALC_HASH;
    for (int i = 0; i < n.nfactors; i++) n.factor[i] = annotate(g, n.factor[i], dense, level + n.nkeys);
    return st_nest_class(g, &n);
}

int st_annotate(st_graph *g, int cls, unsigned dense) {
    if (!st_on(g, ST_HASH)) dense = ~0u;
    if (!st_on(g, ST_DENSE)) dense = 0;
    if (st_at(g, cls)->depth) st_applied(g, dense ? ST_DENSE : ST_HASH);
    return annotate(g, cls, dense, 0);
}

int st_let_var(st_graph *g, int cls, const char *name) {
    bool made;
    if (g->nvars == ST_MOSTVARS) return -1;
    st_memo *m = st_memo_of(g, cls, 0, &made);
    if (!made) return m->var;
    const st_class *c = st_at(g, cls);
    m->var = st_new_var(g, name, (tra_calc_type){c->real, c->sparse, c->depth});
    st_var *v = &g->var[m->var];
    v->shape = c->shape;
    v->below = c->below;
    v->value = c->value;
    return m->var;
}

/* ---- what does not depend on the loops -------------------------------------------------------------------------- */

static void drop(int *n, int *v, int i) {
    memmove(v + i, v + i + 1, (size_t)(*n - i - 1) * sizeof *v);
    (*n)--;
}

static bool is_free(st_graph *g, int cls, st_set bound) { return !(st_at(g, cls)->free & bound); }

/* Moves conditions as far outside as they can stand; one that may fail comes after all others. */
static bool pull_condition(st_graph *g, int cls, const st_nest *from, st_set bound) {
    int found = -1;
    for (int i = 0; i < from->nconds && found < 0; i++)
        if (is_free(g, from->cond[i], bound) && !st_at(g, from->cond[i])->fails) found = i;
    for (int i = 0; i < from->nconds && found < 0 && from->ngens == 0; i++) found = i;
    if (found < 0) return false;
    st_nest n = *from;
    drop(&n.nconds, n.cond, found);
    int kids[2] = {from->cond[found], st_nest_class(g, &n)};
    st_equal_node(g, cls, ST_A4, ST_IF, 0, NULL, 2, kids);
    return true;
}

static bool pull_key(st_graph *g, int cls, const st_nest *from, st_set bound) {
    if (from->nkeys == 0 || !is_free(g, from->key[0], bound)) return false;
    if (from->ngens && (!st_on(g, ST_D4) || st_at(g, from->key[0])->fails)) return false;
    st_nest n = *from;
    n.nkeys--;
    memmove(n.key, n.key + 1, (size_t)n.nkeys * sizeof *n.key);
    memmove(n.note, n.note + 1, (size_t)n.nkeys * sizeof *n.note);
    int kids[2] = {from->key[0], st_nest_class(g, &n)};
    st_equal_node(g, cls, from->ngens ? ST_D4 : ST_A2, ST_DICT, 1, (int64_t[]){from->note[0]}, 2, kids);
    return true;
}

/* Moves a let outside as soon as its value can be computed there; one that may fail comes last. */
static bool pull_let(st_graph *g, int cls, const st_nest *from, st_set bound) {
    int loops = 0, found = -1;
    for (int i = 0; i < from->ngens; i++) loops += !from->gen[i].let;
    for (int i = 0; i < from->ngens && found < 0; i++) {
        const st_gen *x = &from->gen[i];
        if (x->let && is_free(g, x->over, bound) && (!st_at(g, x->over)->fails || (loops == 0 && from->nconds == 0)))
            found = i;
    }
    if (found < 0) return false;
    st_nest n = *from;
    st_gen x = n.gen[found];
    memmove(n.gen + found, n.gen + found + 1, (size_t)(n.ngens - found - 1) * sizeof *n.gen);
    n.ngens--;
    int kids[2] = {x.over, st_nest_class(g, &n)};
    st_equal_node(g, cls, ST_B1, ST_LET, 1, (int64_t[]){x.value}, 2, kids);
    return true;
}

/* ---- factors ----------------------------------------------------------------------------------------------------- */

static bool has_dictionary(st_graph *g, const st_nest *n) {
    for (int i = 0; i < n->nfactors; i++)
        if (st_at(g, n->factor[i])->depth) return true;
    return n->nkeys > 0;
}

/* Takes the factors that do not depend on the loops out of the nest. */
static int free_factors(st_graph *g, st_nest *n, st_set bound, int *out) {
    int m = 0, kept = 0;
    for (int i = 0; i < n->nfactors; i++) {
        const st_class *c = st_at(g, n->factor[i]);
        if (!(c->free & bound) && !c->fails && c->depth == 0)
            out[m++] = n->factor[i];
        else
            n->factor[kept++] = n->factor[i];
    }
    n->nfactors = kept;
    return m;
}

/* Rule D2. True if no other rule need be tried on the nest. */
static bool pull_factors(st_graph *g, int cls, const st_nest *from, st_set bound) {
    st_nest n = *from;
    int out[ST_PARTS + 1], m = free_factors(g, &n, bound, out);
    if (m == 0) return false;
    if (!has_dictionary(g, from)) {
        int64_t one;
        if (!st_on(g, ST_D2) || (m == 1 && st_number(g, out[0], &one) && one == 1)) return false;
        out[m++] = st_nest_class(g, &n);
        st_equal(g, cls, st_product(g, m, out), ST_D2);
        return true;
    }
    const st_node *x = &g->node[st_at(g, out[0])->first];
    bool name = x->op == ST_VAR || x->op == ST_NAME || x->op == ST_NUM;
    if (!st_on(g, ST_M1) || (m == 1 && name) || g->nvars >= ST_VARS_M1) return false;
    int value = st_product(g, m, out), var = st_let_var(g, value, "w");
    if (var < 0 || st_at(g, value)->free & st_bit(var)) return false;
    st_add_factor(g, &n, st_variable(g, var));
    st_equal_node(g, cls, ST_M1, ST_LET, 1, (int64_t[]){var}, 2, (int[]){value, st_nest_class(g, &n)});
    /* with loops that run more than once, keeping the factors inside is never better */
    return st_turns(g, from) >= 1;
}

/* ---- independent sums: D3 ---------------------------------------------------------------------------------------- */

/* Joins the groups of generators that bind variables of the set. */
static void join(const st_nest *n, int *group, st_set vars) {
    int first = -1;
    for (int i = 0; i < n->ngens; i++) {
        if (!(vars & (st_bit(n->gen[i].key) | st_bit(n->gen[i].value)))) continue;
        int old = group[i];
        if (first < 0) first = old;
        for (int k = 0; k < n->ngens; k++)
            if (group[k] == old) group[k] = first;
    }
}

static st_set group_vars(const st_nest *n, const int *group, int which) {
    st_set v = 0;
    for (int i = 0; i < n->ngens; i++)
        if (group[i] == which) v |= st_bit(n->gen[i].key) | st_bit(n->gen[i].value);
    return v;
}

/* Moves what depends on the variables from one nest to another. */
static void move(st_graph *g, st_nest *from, st_set vars, st_nest *to) {
    st_nest n = *from;
    from->ngens = from->nconds = from->nfactors = 0;
    for (int i = 0; i < n.ngens; i++) {
        bool in = (st_bit(n.gen[i].key) | st_bit(n.gen[i].value)) & vars;
        st_nest *where = in ? to : from;
        where->gen[where->ngens++] = n.gen[i];
    }
    for (int i = 0; i < n.nconds; i++) st_add_cond(g, st_at(g, n.cond[i])->free & vars ? to : from, n.cond[i]);
    for (int i = 0; i < n.nfactors; i++) st_add_factor(g, st_at(g, n.factor[i])->free & vars ? to : from, n.factor[i]);
}

static void split(st_graph *g, int cls, const st_nest *from) {
    int group[ST_GENS], parts[ST_GENS + 1], m = 0;
    st_set keys = 0;
    for (int i = 0; i < from->ngens; i++) group[i] = i;
    for (int i = 0; i < from->ngens; i++)
        join(from, group, st_at(g, from->gen[i].over)->free | st_bit(from->gen[i].key) | st_bit(from->gen[i].value));
    for (int i = 0; i < from->nconds; i++) join(from, group, st_at(g, from->cond[i])->free);
    for (int i = 0; i < from->nfactors; i++) {
        join(from, group, st_at(g, from->factor[i])->free);
        if (st_at(g, from->factor[i])->depth) keys |= st_at(g, from->factor[i])->free;
    }
    for (int i = 0; i < from->nkeys; i++) keys |= st_at(g, from->key[i])->free;
    join(from, group, keys);
    st_nest rest = *from;
    for (int i = 0; i < from->ngens; i++) {
        if (group[i] != i) continue;
        st_set vars = group_vars(from, group, i);
        st_nest part = {0};
        if (vars & keys || rest.ngens == 0 || vars == st_bound(from)) continue;
        move(g, &rest, vars, &part);
        parts[m++] = st_nest_class(g, &part);
    }
    if (m == 0) return;
    if (rest.ngens == 0 && !has_dictionary(g, from)) {
        if (rest.nconds) return;
        for (int i = 0; i < rest.nfactors; i++) parts[m < ST_GENS ? m++ : 0] = rest.factor[i];
        st_equal(g, cls, st_product(g, m, parts), ST_D3);
        return;
    }
    int value = st_product(g, m, parts), var = st_let_var(g, value, "w");
    if (var < 0) return;
    st_add_factor(g, &rest, st_variable(g, var));
    int body = st_nest_class(g, &rest);
    if (!has_dictionary(g, from))
        st_equal(g, cls, st_product(g, 2, (int[]){value, body}), ST_D3);
    else
        st_equal_node(g, cls, ST_D3, ST_LET, 1, (int64_t[]){var}, 2, (int[]){value, body});
}

/* ---- D1 ---------------------------------------------------------------------------------------------------------- */

static bool has_loop(st_graph *g, int cls) { return st_first(g, cls, ST_NEST) >= 0; }

/* From right to left: multiplies out a factor that is a sum of which some part loops. */
static void distribute(st_graph *g, int cls, const st_nest *from) {
    for (int f = 0; f < from->nfactors; f++) {
        int add = st_first(g, from->factor[f], ST_ADD), kids[2 * ST_PARTS];
        if (add < 0 || st_at(g, from->factor[f])->depth) continue;
        int n = g->node[add].nkids;
        bool any = false;
        for (int i = 0; i < n; i++) any |= has_loop(g, g->node[add].kids[i]);
        if (!any || n > ST_PARTS) continue;
        for (int i = 0; i < n; i++) {
            st_nest one = *from, inner;
            int part = g->node[add].kids[i], node = st_first(g, part, ST_NEST);
            drop(&one.nfactors, one.factor, f);
            if (node < 0) {
                st_add_factor(g, &one, part);
            } else {
                st_load(g, node, &inner);
                for (int k = 0; k < inner.ngens; k++) {
                    const st_gen *x = &inner.gen[k];
                    st_add_gen(g, &one, x->let, x->key, x->value, x->over);
                }
                for (int k = 0; k < inner.nconds; k++) st_add_cond(g, &one, inner.cond[k]);
                for (int k = 0; k < inner.nfactors; k++) st_add_factor(g, &one, inner.factor[k]);
            }
            kids[i] = st_nest_class(g, &one);
        }
        st_equal(g, cls, st_sum(g, n, kids), ST_D1);
        return;
    }
}

static bool has_factor(const st_graph *g, int product, int cls) {
    for (int i = 0; i < g->node[product].nkids; i++)
        if (g->node[product].kids[i] == cls) return true;
    return false;
}

/* From left to right: takes out a factor that all parts of a sum have. */
static void take_common(st_graph *g, int node) {
    int n = g->node[node].nkids, product[ST_PARTS], kids[ST_PARTS], rest[ST_PARTS], m;
    if (st_at(g, g->node[node].cls)->depth || n > ST_PARTS) return;
    for (int i = 0; i < n; i++)
        if ((product[i] = st_first(g, g->node[node].kids[i], ST_MUL)) < 0) return;
    for (int f = 0; f < g->node[product[0]].nkids; f++) {
        int factor = g->node[product[0]].kids[f];
        bool all = true;
        for (int i = 1; i < n; i++) all &= has_factor(g, product[i], factor);
        if (!all) continue;
        for (int i = 0; i < n; i++) {
            const st_node *x = &g->node[product[i]];
            bool dropped = false;
            m = 0;
            for (int k = 0; k < x->nkids && m < ST_PARTS; k++) {
                if (x->kids[k] == factor && !dropped)
                    dropped = true;
                else
                    rest[m++] = x->kids[k];
            }
            kids[i] = st_product(g, m, rest);
        }
        int sum = st_sum(g, n, kids);
        st_equal(g, g->node[node].cls, st_product(g, 2, (int[]){factor, sum}), ST_D1);
        return;
    }
}

/* ---- saturation -------------------------------------------------------------------------------------------------- */

static void expand(st_graph *g, int node) {
    st_nest n;
    int cls = st_find(g, g->node[node].cls);
    if (g->node[node].op == ST_ADD && st_on(g, ST_D1)) take_common(g, node);
    if (g->node[node].op != ST_NEST || st_is_again(g, node)) return;
    st_load(g, node, &n);
    st_set bound = st_bound(&n);
    if (pull_condition(g, cls, &n, bound) || pull_key(g, cls, &n, bound) || pull_let(g, cls, &n, bound)) return;
    if (n.ngens == 0) return;
    if (st_on(g, ST_F5) && st_same_loop(g, cls, &n)) return;
    if (st_on(g, ST_M2)) st_materialise(g, cls, &n);
    if (st_on(g, ST_F1) && st_look_up(g, cls, &n)) return;
    if (pull_factors(g, cls, &n, bound)) return;
    if (st_on(g, ST_D3)) split(g, cls, &n);
    if (st_on(g, ST_D1)) distribute(g, cls, &n);
    st_take_loops(g, cls, &n);
}

void st_saturate(st_graph *g) {
    for (int done = 0; done < g->nnodes && !g->limited && !g->full; g->iterations++) {
        int end = g->nnodes;
        for (; done < end && !g->limited && !g->full; done++) expand(g, done);
        st_rebuild(g);
    }
}
