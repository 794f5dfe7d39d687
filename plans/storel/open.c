/* open.c - dictionaries that are looped over, or looked into: their loops become loops of the nest around. */
#include "normal.h"

#include <math.h>
#include <string.h>

st_nest *st_new_nest(st_normaliser *c) {
    st_nest *n = tra_new(c->g->arena, st_nest);
    n->unique = true;
    return n;
}

static st_nest *copy_nest(st_normaliser *c, const st_nest *from) {
    st_nest *n = tra_new(c->g->arena, st_nest);
    *n = *from;
    return n;
}

/* ---- opening dictionaries ---------------------------------------------------------------------------------------- */

void st_add_all(st_normaliser *c, st_nest *out, const st_nest *from) {
    for (int i = 0; i < from->ngens; i++) {
        const st_gen *x = &from->gen[i];
        st_add_gen(c->g, out, x->let, x->key, x->value, x->over);
    }
    if (from->ngens) out->loose = true;
    for (int i = 0; i < from->nconds; i++) st_add_cond(c->g, out, from->cond[i]);
}

/* The nest under one key. */
void st_apply_nest(st_normaliser *c, st_nest *n, int key) {
    if (n->nkeys == 0) {
        for (int i = 0; i < n->nadds; i++) {
            n->add[i] = copy_nest(c, n->add[i]);
            st_apply_nest(c, n->add[i], key);
        }
        return;
    }
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_EQ, n->key[0], key));
    n->nkeys--;
    memmove(n->key, n->key + 1, (size_t)n->nkeys * sizeof *n->key);
    memmove(n->note, n->note + 1, (size_t)n->nkeys * sizeof *n->note);
}

static void cut_nest(st_normaliser *c, st_nest *n, int lo, int hi) {
    for (int i = 0; n->nkeys == 0 && i < n->nadds; i++) {
        n->add[i] = copy_nest(c, n->add[i]);
        cut_nest(c, n->add[i], lo, hi);
    }
    if (n->nkeys == 0) return;
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_GE, n->key[0], lo));
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_LT, n->key[0], hi));
}

/* One addend of a sum as a nest, with the loops, conditions and factors around the sum. */
static st_nest *with_around(st_normaliser *c, const st_nest *around, const st_nest *addend) {
    st_nest *n = copy_nest(c, addend);
    n->nkeys = 0;
    for (int i = 0; i < around->nkeys; i++) st_add_key(c->g, n, around->key[i], around->note[i]);
    for (int i = 0; i < addend->nkeys; i++) st_add_key(c->g, n, addend->key[i], addend->note[i]);
    for (int i = 0; i < around->nfactors; i++) st_add_factor(c->g, n, around->factor[i]);
    n->unique = false;
    return n;
}

/* The value of a nest whose generators and keys are elsewhere. */
int st_value_of(st_normaliser *c, const st_nest *n) {
    st_nest v = *n;
    v.ngens = v.nconds = v.nkeys = 0;
    return st_nest_class(c->g, &v);
}

const char *st_name_of(const tra_calc_binder *b, const char *other) { return b->name ? b->name : other; }

/* Binds a name to a class, or asks for equality with what it stands for already. */
void st_bind(st_normaliser *c, const tra_calc_binder *b, int cls, st_meaning *env, st_nest *out) {
    if (b->again)
        st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_EQ, env[b->level].cls, cls));
    else if (b->level >= 0)
        env[b->level] = (st_meaning){.kind = ST_CLASS, .cls = cls};
}

/* Loops over n levels of a class as it is. */
static void loop_levels(st_normaliser *c, const tra_calc *x, int g, int b, int cls, st_meaning *env, st_nest *out) {
    const tra_calc_binder *names = &x->binders[b];
    int n = x->nnames[g];
    const tra_calc_type whole = {0};
    bool range = st_first(c->g, cls, ST_RANGE) >= 0;
    for (int i = 0; i < n; i++) {
        const st_shape *s = st_at(c->g, cls)->shape;
        int key = st_new_var(c->g, st_name_of(&names[i], "k"), whole), value = -1;
        st_var *k = &c->g->var[key];
        k->below = s && s->extent[0] >= 0 ? s->extent[0] : -1;
        k->value = s ? s->n[0] / 2 : NAN;
        k->in_order = true;
        bool wanted = i + 1 < n || names[n].level >= 0;
        if (wanted && !(range && st_on(c->g, ST_T5))) {
            tra_calc_type t = x->kids[g]->type;
            t.depth -= i + 1;
            t.sparse &= t.depth > 0;
            value = st_new_var(c->g, i + 1 < n ? "row" : st_name_of(&names[n], "v"), t);
            st_var *v = &c->g->var[value];
            v->may_be_zero = t.depth == 0 && t.real && s && s->kind[0] == TRA_STOREL_HASHED;
            if (s && t.depth == 0 && !t.real) {
                v->below = s->below;
                v->value = s->below >= 0 ? st_at(c->g, s->below)->value / 2 : NAN;
            }
            if (s && t.depth) {
                st_shape *rest = tra_new(c->g->arena, st_shape);
                *rest = *s;
                rest->depth--;
                memmove(rest->n, rest->n + 1, sizeof rest->n - sizeof *rest->n);
                memmove(rest->kind, rest->kind + 1, sizeof rest->kind - sizeof *rest->kind);
                memmove(rest->extent, rest->extent + 1, sizeof rest->extent - sizeof *rest->extent);
                v->shape = rest;
            }
        }
        if (range && wanted && st_on(c->g, ST_T5)) st_applied(c->g, ST_T5);
        st_add_gen(c->g, out, false, key, value, cls);
        st_bind(c, &names[i], st_variable(c->g, key), env, out);
        cls = value >= 0 ? st_variable(c->g, value) : st_variable(c->g, key);
    }
    out->loose = true;
    if (names[n].level >= 0) st_bind(c, &names[n], cls, env, out);
    st_generators(c, x, g + 1, b + n + 1, env, out);
}

/* A dictionary, or a number of loops, that is computed once, under a name. */
int st_let_class(st_normaliser *c, const char *name, int cls, st_nest *out) {
    cls = st_annotate(c->g, cls, st_dense_levels(c->g, cls));
    int var = st_let_var(c->g, cls, name);
    if (var < 0) {
        c->g->full = true;
        return cls;
    }
    for (int i = 0; i < out->ngens; i++)
        if (out->gen[i].let && out->gen[i].value == var) return st_variable(c->g, var);
    st_add_gen(c->g, out, true, -1, var, cls);
    return st_variable(c->g, var);
}

/* The dictionary as a class that loops can run over: a nest under the name of a let. */
int st_as_class(st_normaliser *c, const st_dictionary *d, const char *name, st_nest *out) {
    return d->nest ? st_let_class(c, name, st_nest_class(c->g, d->nest), out) : d->cls;
}

/* One key that is the key of its only loop comes once. */
static bool key_of_loop(st_normaliser *c, const st_nest *n) {
    return n->nkeys == 1 && n->ngens == 1 && !n->gen[0].let && n->nadds == 0 &&
           st_is_var(c->g, n->key[0], n->gen[0].key);
}

static int depth_of(const st_nest *n) { return n->nkeys + (n->nadds ? depth_of(n->add[0]) : 0); }

/* A sum of two as the value of a nest: T3 where both have one key. */
void st_add_addends(st_normaliser *c, int depth, st_nest *const *add, st_nest *out) {
    while (depth > 0 && st_on(c->g, ST_T3) && !add[0]->ngens && !add[1]->ngens && !add[0]->nconds && !add[1]->nconds &&
           add[0]->nkeys && add[1]->nkeys && add[0]->key[0] == add[1]->key[0]) {
        st_applied(c->g, ST_T3);
        st_add_key(c->g, out, add[0]->key[0], 0);
        for (int i = 0; i < 2; i++) {
            add[i]->nkeys--;
            memmove(add[i]->key, add[i]->key + 1, (size_t)add[i]->nkeys * sizeof *add[i]->key);
        }
        depth--;
    }
    if (depth == 0) {
        int kids[2] = {st_nest_class(c->g, add[0]), st_nest_class(c->g, add[1])};
        st_add_factor(c->g, out, st_sum(c->g, 2, kids));
        return;
    }
    out->nadds = 2;
    for (int i = 0; i < 2; i++) out->add[i] = add[i];
    out->unique = false;
}

/* F2 and F3: the loops of a dictionary that is looped over become loops of the nest around it. */
static void open_nest(st_normaliser *c, const tra_calc *x, int g, int b, st_nest *d, st_meaning *env, st_nest *out) {
    const tra_calc_binder *names = &x->binders[b];
    int n = x->nnames[g], level = names[n].level, depth = depth_of(d);
    st_use u = level < 0 || names[n].again ? ST_UNUSED : st_linear_sum(x, g + 1, level);
    bool f2 = key_of_loop(c, d), unique = (d->unique && !d->loose && d->nkeys > 0) || f2;
    st_rule rule = f2 ? ST_F2 : ST_F3;
    if (!st_on(c->g, rule) || (u != ST_LINEAR && !(unique && (n == depth || u == ST_BY_KEYS)))) {
        loop_levels(c, x, g, b, st_as_class(c, &(st_dictionary){.nest = d}, "t", out), env, out);
        return;
    }
    if (d->nadds && n > d->nkeys) {
        /* a nest for each addend, with all that comes after it */
        st_nest *add[2];
        st_add_all(c, out, d);
        for (int i = 0; i < d->nadds; i++) {
            st_meaning *inner = tra_news(c->g->arena, st_meaning, c->nlevels);
            memcpy(inner, env, (size_t)c->nlevels * sizeof *env);
            add[i] = st_new_nest(c);
            open_nest(c, x, g, b, with_around(c, d, d->add[i]), inner, add[i]);
            if (c->g->full) return;
        }
        st_add_addends(c, x->type.depth, add, out);
        return;
    }
    st_applied(c->g, rule);
    st_add_all(c, out, d);
    for (int i = 0; i < n; i++) {
        /* so that plans show the names of the statement */
        int var = st_first(c->g, d->key[i], ST_VAR);
        if (var >= 0 && names[i].name) c->g->var[c->g->node[var].data[0]].name = names[i].name;
        st_bind(c, &names[i], d->key[i], env, out);
    }
    if (n == depth) {
        int value = st_value_of(c, d);
        int64_t number;
        bool not_zero = st_number(c->g, value, &number) && number != 0;
        /* an element that is 0 is no entry; values of arrays say by their type that it annihilates */
        int var = st_first(c->g, value, ST_VAR);
        bool guarded = var >= 0 && c->g->var[c->g->node[var].data[0]].may_be_zero;
        if ((u != ST_LINEAR && !not_zero) || guarded)
            st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_NE, value, st_whole(c->g, 0)));
        if (level >= 0) st_bind(c, &names[n], value, env, out);
    } else {
        st_nest *view = copy_nest(c, d);
        view->ngens = view->nconds = 0;
        view->nkeys -= n;
        memmove(view->key, view->key + n, (size_t)view->nkeys * sizeof *view->key);
        memmove(view->note, view->note + n, (size_t)view->nkeys * sizeof *view->note);
        env[level] = (st_meaning){.kind = ST_VIEW, .view = view};
    }
    st_generators(c, x, g + 1, b + n + 1, env, out);
}

void st_generators(st_normaliser *c, const tra_calc *x, int g, int b, st_meaning *env, st_nest *out) {
    if (c->g->full) return;
    if (g == x->nkids - 1) {
        st_into(c, x->kids[g], env, out);
        return;
    }
    st_dictionary d = st_dict(c, x->kids[g], env);
    if (d.nest)
        open_nest(c, x, g, b, d.nest, env, out);
    else
        loop_levels(c, x, g, b, d.cls, env, out);
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

static st_dictionary dict_name(st_normaliser *c, const tra_calc *x, st_meaning *env) {
    if (x->level < 0) return (st_dictionary){.cls = st_make(c->g, ST_NAME, 1, (int64_t[]){x->index}, 0, NULL)};
    const st_meaning *m = &env[x->level];
    switch (m->kind) {
    case ST_TREE: {
        st_meaning *inner = tra_news(c->g->arena, st_meaning, c->nlevels);
        memcpy(inner, m->env, (size_t)c->nlevels * sizeof *inner);
        return st_dict(c, m->tree, inner);
    }
    case ST_VIEW: return (st_dictionary){.nest = copy_nest(c, m->view)};
    case ST_NOTHING:
    case ST_CLASS: break;
    }
    return (st_dictionary){.cls = m->cls};
}

st_dictionary st_dict(st_normaliser *c, const tra_calc *x, st_meaning *env) {
    st_graph *g = c->g;
    if (x->kind == TRA_CALC_NAME) return dict_name(c, x, env);
    if (x->kind == TRA_CALC_APPLY || x->kind == TRA_CALC_SLICE) {
        st_dictionary d = st_dict(c, x->kids[0], env);
        int lo = st_scalar(c, x->kids[1], env), hi = x->kind == TRA_CALC_SLICE ? st_scalar(c, x->kids[2], env) : 0;
        if (x->kind == TRA_CALC_SLICE && d.nest) {
            cut_nest(c, d.nest, lo, hi);
            return d;
        }
        if (x->kind == TRA_CALC_SLICE)
            return (st_dictionary){.cls = st_make(g, ST_SLICE, 0, NULL, 3, (int[]){d.cls, lo, hi})};
        for (int i = 1; i < x->nkids && !g->full; i++) {
            int key = i == 1 ? lo : st_scalar(c, x->kids[i], env);
            if (d.nest)
                st_apply_nest(c, d.nest, key);
            else
                d.cls = st_make(g, ST_APPLY, 0, NULL, 2, (int[]){d.cls, key});
        }
        return d;
    }
    if (x->kind == TRA_CALC_RANGE) {
        int kids[2] = {st_scalar(c, x->kids[0], env), st_scalar(c, x->kids[1], env)};
        return (st_dictionary){.cls = st_make(g, ST_RANGE, 0, NULL, 2, kids)};
    }
    st_dictionary d = {.nest = st_new_nest(c)};
    st_into(c, x, env, d.nest);
    return d;
}

/* All keys of a dictionary are keys of the nest, its elements factors: T1 from right to left. */
void st_open_all(st_normaliser *c, const st_dictionary *d, tra_calc_type t, st_nest *out) {
    st_graph *g = c->g;
    if (d->nest) {
        const st_nest *n = d->nest;
        out->unique &= n->unique && !out->loose;
        st_add_all(c, out, n);
        for (int i = 0; i < n->nkeys; i++) st_add_key(g, out, n->key[i], n->note[i]);
        for (int i = 0; i < n->nfactors; i++) st_add_factor(g, out, n->factor[i]);
        out->loose = n->loose;
        out->nadds = n->nadds;
        memcpy(out->add, n->add, sizeof out->add);
        return;
    }
    int cls = d->cls;
    if (out->loose) out->unique = false;
    for (; t.depth > 0; t.depth--) {
        const st_shape *s = st_at(g, cls)->shape;
        bool range = st_first(g, cls, ST_RANGE) >= 0;
        int key = st_new_var(g, "k", (tra_calc_type){0}), value = -1;
        g->var[key].below = s ? s->extent[0] : -1;
        g->var[key].value = s ? s->n[0] / 2 : NAN;
        g->var[key].in_order = true;
        if (!range) {
            value = st_new_var(g, t.depth > 1 ? "row" : "v", (tra_calc_type){t.real, t.depth > 1, t.depth - 1});
            if (t.depth > 1) {
                int row = st_make(g, ST_APPLY, 0, NULL, 2, (int[]){cls, st_variable(g, key)});
                g->var[value].shape = st_at(g, row)->shape;
            }
        }
        st_add_gen(g, out, false, key, value, cls);
        st_add_key(g, out, st_variable(g, key), 0);
        cls = st_variable(g, range ? key : value);
        if (g->full) return;
    }
    st_add_factor(g, out, cls);
}
