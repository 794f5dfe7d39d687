/* normal.c - from trees to nests: the rules that end by themselves.
 *
 * Lets of dictionaries are put in where they are used (beta), dictionaries that are looped over or looked into are
 * opened, so that their loops are loops of the nest around (F2, F3, T1, T4, T5), products are flattened over sums and
 * keys (A1 to A4, D2 to D4 from right to left). What cannot be opened is kept as a let. */
#include "normal.h"

#include <string.h>

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Makes a nest without keys, which is a number, part of the nest around it. */
static void add_nest(st_normaliser *c, st_nest *n, st_nest *out) {
    st_add_all(c, out, n);
    st_add_factor(c->g, out, st_value_of(c, n));
}

static void into_product(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    const tra_calc *l = x->kids[0], *r = x->kids[1];
    if (l->type.depth && r->type.depth) {
        bool right = r->type.sparse && !l->type.sparse;
        st_dictionary main = st_dict(c, right ? r : l, env), other = st_dict(c, right ? l : r, env);
        if (main.nest && main.nest->nadds) main = (st_dictionary){.cls = st_as_class(c, &main, "t", out)};
        int before = out->nkeys;
        st_open_all(c, &main, x->type, out);
        for (int i = before; i < out->nkeys && !c->g->full; i++) {
            if (other.nest)
                st_apply_nest(c, other.nest, out->key[i]);
            else
                other.cls = st_make(c->g, ST_APPLY, 0, NULL, 2, (int[]){other.cls, out->key[i]});
        }
        if (other.nest)
            add_nest(c, other.nest, out);
        else
            st_add_factor(c->g, out, other.cls);
        return;
    }
    /* numbers first: what follows may be a sum of dictionaries */
    st_into(c, l->type.depth ? r : l, env, out);
    st_into(c, l->type.depth ? l : r, env, out);
}

static void into_quotient(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    int divisor = st_scalar(c, x->kids[1], env);
    if (x->type.depth == 0) {
        st_add_factor(c->g, out, st_make(c->g, ST_DIV, 0, NULL, 2, (int[]){st_scalar(c, x->kids[0], env), divisor}));
        return;
    }
    st_dictionary d = st_dict(c, x->kids[0], env);
    /* a quotient of integers is of the whole sum at a key, so it cannot be taken inside */
    bool opened = !d.nest || (d.nest->nadds == 0 && (x->type.real || (d.nest->unique && !d.nest->loose)));
    if (!opened) d = (st_dictionary){.cls = st_as_class(c, &d, "t", out)};
    st_nest part = {.unique = true};
    st_open_all(c, &d, x->type, &part);
    int value = st_product(c->g, part.nfactors, part.factor);
    part.factor[0] = st_make(c->g, ST_DIV, 0, NULL, 2, (int[]){value, divisor});
    part.nfactors = 1;
    st_open_all(c, &(st_dictionary){.nest = &part}, x->type, out);
}

static void into_sum(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    if (x->type.depth == 0) {
        int kids[2] = {st_scalar(c, x->kids[0], env), st_scalar(c, x->kids[1], env)};
        int64_t number;
        if (x->kind == TRA_CALC_SUB)
            kids[1] = st_number(c->g, kids[1], &number) && number != INT64_MIN
                          ? st_whole(c->g, -number)
                          : st_make(c->g, ST_NEG, 0, NULL, 1, &kids[1]);
        st_add_factor(c->g, out, st_sum(c->g, 2, kids));
        return;
    }
    st_nest *add[2];
    for (int i = 0; i < 2; i++) {
        add[i] = st_new_nest(c);
        st_into(c, x->kids[i], env, add[i]);
        if (i && x->kind == TRA_CALC_SUB) st_add_factor(c->g, add[i], st_whole(c->g, -1));
    }
    st_add_addends(c, x->type.depth, add, out);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool has_sum(const tra_calc *x) {
    if (x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_MERGE) return true;
    for (int i = 0; i < x->nkids; i++)
        if (has_sum(x->kids[i])) return true;
    return false;
}

/* Does the class contain a loop once its names are replaced by what they stand for? */
static bool loops(st_normaliser *c, int cls) {
    const st_node *x = &c->g->node[st_at(c->g, cls)->first];
    if (x->op == ST_NEST) return true;
    for (int i = 0; i < x->nkids; i++)
        if (loops(c, x->kids[i])) return true;
    return false;
}

static void into_let(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    for (int i = 0; i < x->nbinders && !c->g->full; i++) {
        const tra_calc_binder *b = &x->binders[i];
        const tra_calc *value = x->kids[i];
        if (b->level < 0) continue;
        if (value->type.depth && st_on(c->g, ST_F3)) {
            st_meaning *now = tra_news(c->g->arena, st_meaning, c->nlevels);
            memcpy(now, env, (size_t)c->nlevels * sizeof *now);
            env[b->level] = (st_meaning){.kind = ST_TREE, .tree = value, .env = now};
        } else if (value->type.depth) {
            st_dictionary d = st_dict(c, value, env);
            env[b->level] = (st_meaning){.kind = ST_CLASS, .cls = st_as_class(c, &d, b->name, out)};
        } else {
            int cls = st_scalar(c, value, env);
            if (has_sum(value) || loops(c, cls)) cls = st_let_class(c, b->name, cls, out);
            env[b->level] = (st_meaning){.kind = ST_CLASS, .cls = cls};
        }
    }
    st_into(c, x->kids[x->nkids - 1], env, out);
}

/* F4 from right to left: both are loops, with equal values. */
static void into_merge(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    int value[2];
    for (int i = 0; i < 2; i++) {
        st_dictionary d = st_dict(c, x->kids[i], env);
        int cls = st_as_class(c, &d, "t", out);
        const st_shape *s = st_at(c->g, cls)->shape;
        int key = st_new_var(c->g, st_name_of(&x->binders[i], "p"), (tra_calc_type){0});
        int v = st_new_var(c->g, st_name_of(&x->binders[2], "v"), (tra_calc_type){.real = x->kids[i]->type.real});
        c->g->var[key].in_order = true;
        c->g->var[v].below = s ? s->below : -1;
        st_add_gen(c->g, out, false, key, v, cls);
        st_bind(c, &x->binders[i], st_variable(c->g, key), env, out);
        value[i] = st_variable(c->g, v);
    }
    st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_EQ, value[0], value[1]));
    st_bind(c, &x->binders[2], value[0], env, out);
    out->loose = true;
    st_into(c, x->kids[2], env, out);
}

static int condition(st_normaliser *c, const tra_calc *x, st_meaning *env) {
    st_graph *g = c->g;
    int kids[2] = {0};
    bool logic = x->kind == TRA_CALC_AND || x->kind == TRA_CALC_OR || x->kind == TRA_CALC_NOT;
    for (int i = 0; i < x->nkids; i++) kids[i] = logic ? condition(c, x->kids[i], env) : st_scalar(c, x->kids[i], env);
    if (!logic) return st_compare(g, x->kind, kids[0], kids[1]);
    st_op op = x->kind == TRA_CALC_AND ? ST_AND : x->kind == TRA_CALC_OR ? ST_OR : ST_NOT;
    return st_make(g, op, 0, NULL, x->nkids, kids);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* A part of the value of a nest: what is added up at its keys is multiplied with it. */
void st_into(st_normaliser *c, const tra_calc *x, st_meaning *env, st_nest *out) {
    if (c->g->full) return;
    switch (x->kind) {
    case TRA_CALC_MUL: into_product(c, x, env, out); return;
    case TRA_CALC_DIV: into_quotient(c, x, env, out); return;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB: into_sum(c, x, env, out); return;
    case TRA_CALC_NEG:
        st_add_factor(c->g, out, st_whole(c->g, -1));
        st_into(c, x->kids[0], env, out);
        return;
    case TRA_CALC_IF:
        st_add_cond(c->g, out, condition(c, x->kids[0], env));
        st_into(c, x->kids[1], env, out);
        return;
    case TRA_CALC_LET: into_let(c, x, env, out); return;
    case TRA_CALC_SUM: st_generators(c, x, 0, 0, env, out); return;
    case TRA_CALC_MERGE: into_merge(c, x, env, out); return;
    case TRA_CALC_DICT:
        for (int i = 0; i + 1 < x->nkids; i++) st_add_key(c->g, out, st_scalar(c, x->kids[i], env), 0);
        out->unique &= (x->notes & TRA_CALC_UNIQUE) != 0;
        out->loose = false;
        st_into(c, x->kids[x->nkids - 1], env, out);
        return;
    default: break;
    }
    if (x->type.depth) {
        st_dictionary d = st_dict(c, x, env);
        st_open_all(c, &d, x->type, out);
        return;
    }
    if (x->kind == TRA_CALC_APPLY && !(x->kids[0]->kind == TRA_CALC_RANGE && st_on(c->g, ST_T4))) {
        st_dictionary d = st_dict(c, x, env);
        if (d.nest)
            add_nest(c, d.nest, out);
        else
            st_add_factor(c->g, out, d.cls);
        return;
    }
    st_add_factor(c->g, out, st_scalar(c, x, env));
}

/* T4: (lo:hi)(k) is k where it is between. */
static int apply_range(st_normaliser *c, int range, int key) {
    st_graph *g = c->g;
    int node = st_first(g, range, ST_RANGE);
    int lo = g->node[node].kids[0], hi = g->node[node].kids[1];
    st_nest n = {.unique = true};
    st_applied(g, ST_T4);
    st_add_cond(g, &n, st_compare(g, TRA_CALC_GE, key, lo));
    st_add_cond(g, &n, st_compare(g, TRA_CALC_LT, key, hi));
    st_add_factor(g, &n, key);
    return st_nest_class(g, &n);
}

int st_scalar(st_normaliser *c, const tra_calc *x, st_meaning *env) {
    st_graph *g = c->g;
    int kids[TRA_CALC_MAXRANK];
    if (g->full) return 0;
    switch ((int)x->kind) {
    case TRA_CALC_NUMBER: {
        int64_t data[2] = {x->is_real, x->whole};
        if (x->is_real) memcpy(&data[1], &x->real, sizeof data[1]);
        return st_make(g, ST_NUM, 2, data, 0, NULL);
    }
    case TRA_CALC_NAME:
        return x->level >= 0 ? env[x->level].cls : st_make(g, ST_NAME, 1, (int64_t[]){x->index}, 0, NULL);
    case TRA_CALC_EXTENT: return st_make(g, ST_EXTENT, 2, (int64_t[]){x->index, x->whole}, 0, NULL);
    case TRA_CALC_MOD:
    case TRA_CALC_CALL:
        for (int i = 0; i < x->nkids; i++) kids[i] = st_scalar(c, x->kids[i], env);
        if (x->kind == TRA_CALC_MOD) return st_make(g, ST_MOD, 0, NULL, 2, kids);
        return st_make(g, ST_CALL, 1, (int64_t[]){x->fn}, x->nkids, kids);
    case TRA_CALC_APPLY:
        if (x->kids[0]->kind == TRA_CALC_RANGE && st_on(g, ST_T4)) {
            st_dictionary d = st_dict(c, x->kids[0], env);
            return apply_range(c, d.cls, st_scalar(c, x->kids[1], env));
        }
    }
    st_nest n = {.unique = true};
    st_into(c, x, env, &n);
    return g->full ? 0 : st_nest_class(g, &n);
}

static int most_levels(const tra_calc *x) {
    int n = 0;
    for (int i = 0; i < x->nbinders; i++) n = (int)tra_max64(n, x->binders[i].level + 1);
    for (int i = 0; i < x->nkids; i++) n = (int)tra_max64(n, most_levels(x->kids[i]));
    return n;
}

int st_normal(st_graph *g, const tra_calc *x) {
    st_normaliser c = {.g = g, .nlevels = most_levels(x)};
    st_meaning *env = tra_news(g->arena, st_meaning, c.nlevels + 1);
    if (x->type.depth == 0) {
        int cls = st_scalar(&c, x, env);
        return g->full ? -1 : cls;
    }
    st_nest n = {.unique = true};
    st_into(&c, x, env, &n);
    int cls = g->full ? -1 : st_nest_class(g, &n);
    return g->full ? -1 : cls;
}
