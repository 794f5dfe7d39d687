/* normal.c - from trees to nests: the rules that end by themselves.
 *
 * Lets of dictionaries are put in where they are used (beta), dictionaries that are looped over or looked into are
 * opened, so that their loops are loops of the nest around (F2, F3, T1, T4, T5), products are flattened over sums and
 * keys (A1 to A4, D2 to D4 from right to left). What cannot be opened is kept as a let. */
#include "storel_int.h"

#include <math.h>
#include <string.h>

/* What a bound name stands for. */
typedef struct meaning {
    enum { NOTHING, CLASS, TREE, VIEW } kind;
    int cls;
    const tra_calc *tree; /* a dictionary of a let, with the meanings around it */
    struct meaning *env;
    const st_nest *view; /* what is left of an opened dictionary under keys: no generators */
} meaning;

typedef struct normal {
    st_graph *g;
    int nlevels; /* of the whole tree */
} normal;

/* A dictionary: a nest that can be opened, or a class that is looped over as it is. */
typedef struct dictionary {
    st_nest *nest;
    int cls;
    int depth;
} dictionary;

static void into(normal *c, const tra_calc *x, meaning *env, st_nest *out);
static int scalar(normal *c, const tra_calc *x, meaning *env);
static dictionary dict(normal *c, const tra_calc *x, meaning *env);
static void generators(normal *c, const tra_calc *x, int g, int b, meaning *env, st_nest *out);

static st_nest *new_nest(normal *c) {
    st_nest *n = tra_new(c->g->arena, st_nest);
    n->unique = true;
    return n;
}

static st_nest *copy_nest(normal *c, const st_nest *from) {
    st_nest *n = tra_new(c->g->arena, st_nest);
    *n = *from;
    return n;
}

/* ---- how a name is used ------------------------------------------------------------------------------------------ */

/* Is x linear in the name of that level: a factor of all that is added up, once? BY_KEYS: it is a dictionary that is
 * looped over once, but what is added up is not linear in its elements, so that equal keys must have been added. */
typedef enum use { UNUSED, LINEAR, BY_KEYS, OTHERWISE } use;

static use linear(const tra_calc *x, int level);

static use both(use a, use b) { return a == UNUSED ? b : b == UNUSED ? a : OTHERWISE; }

static use all_kids(const tra_calc *x, int from, int level) {
    use u = UNUSED;
    for (int i = from; i < x->nkids; i++)
        if (linear(x->kids[i], level) != UNUSED) u = OTHERWISE;
    return u;
}

/* Of generators g and on and the body; the names that they bind do not hide levels below theirs. */
static use linear_sum(const tra_calc *x, int g, int level) {
    const tra_calc_binder *b = x->binders;
    for (int i = 0; i < g; i++) b += x->nnames[i] + 1;
    for (int i = g; x->kind == TRA_CALC_SUM && i + 1 < x->nkids; i++)
        for (int k = 0; k <= x->nnames[i]; k++, b++)
            if (b->again && b->level == level) return OTHERWISE;
    use u = UNUSED;
    b = x->binders;
    for (int i = 0; i < x->nkids; i++) {
        bool loop = x->kind == TRA_CALC_SUM && i + 1 < x->nkids;
        if (loop) b += x->nnames[i] + 1;
        if (i < g) continue;
        use in = linear(x->kids[i], level);
        if (loop && in == LINEAR && (b[-1].level < 0 || b[-1].again || linear_sum(x, i + 1, b[-1].level) != LINEAR))
            in = BY_KEYS;
        u = both(u, in);
    }
    return u;
}

static use linear_let(const tra_calc *x, int level) {
    use u = linear(x->kids[x->nkids - 1], level);
    for (int i = 0; i < x->nbinders; i++) {
        use in = linear(x->kids[i], level);
        if (in == UNUSED) continue;
        /* only a let of one name is followed */
        if ((in != LINEAR) || x->nbinders > 1 || u != UNUSED || x->binders[i].level < 0) return OTHERWISE;
        u = linear(x->kids[x->nkids - 1], x->binders[i].level);
        if (u == UNUSED) return UNUSED;
    }
    return u;
}

static use linear(const tra_calc *x, int level) {
    use u, v;
    switch (x->kind) {
    case TRA_CALC_NAME: return x->level == level ? LINEAR : UNUSED;
    case TRA_CALC_NUMBER:
    case TRA_CALC_EXTENT: return UNUSED;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB:
        u = linear(x->kids[0], level);
        v = linear(x->kids[1], level);
        return u == v ? u : u == UNUSED || v == UNUSED || u == OTHERWISE || v == OTHERWISE ? OTHERWISE : BY_KEYS;
    case TRA_CALC_MUL: return both(linear(x->kids[0], level), linear(x->kids[1], level));
    case TRA_CALC_DIV:
        /* of integers it rounds */
        u = linear(x->kids[0], level);
        v = linear(x->kids[1], level);
        return v != UNUSED || (u != UNUSED && !x->type.real) ? both(OTHERWISE, v) : u;
    case TRA_CALC_NEG: return linear(x->kids[0], level);
    case TRA_CALC_DICT:
    case TRA_CALC_IF:
        for (int i = 0; i + 1 < x->nkids; i++)
            if (linear(x->kids[i], level) != UNUSED) return OTHERWISE;
        return linear(x->kids[x->nkids - 1], level);
    case TRA_CALC_APPLY:
    case TRA_CALC_SLICE: u = all_kids(x, 1, level); return u == UNUSED ? linear(x->kids[0], level) : u;
    case TRA_CALC_LET: return linear_let(x, level);
    case TRA_CALC_SUM: return linear_sum(x, 0, level);
    case TRA_CALC_MOD:
    case TRA_CALC_CALL:
    case TRA_CALC_RANGE:
    case TRA_CALC_MERGE:
    case TRA_CALC_LT:
    case TRA_CALC_LE:
    case TRA_CALC_GT:
    case TRA_CALC_GE:
    case TRA_CALC_EQ:
    case TRA_CALC_NE:
    case TRA_CALC_AND:
    case TRA_CALC_OR:
    case TRA_CALC_NOT: return all_kids(x, 0, level);
    }
    return OTHERWISE;
}

/* ---- opening dictionaries ---------------------------------------------------------------------------------------- */

static void add_all(normal *c, st_nest *out, const st_nest *from) {
    for (int i = 0; i < from->ngens; i++) {
        const st_gen *x = &from->gen[i];
        st_add_gen(c->g, out, x->let, x->key, x->value, x->over);
    }
    if (from->ngens) out->loose = true;
    for (int i = 0; i < from->nconds; i++) st_add_cond(c->g, out, from->cond[i]);
}

/* The nest under one key. */
static void apply_nest(normal *c, st_nest *n, int key) {
    if (n->nkeys == 0) {
        for (int i = 0; i < n->nadds; i++) {
            n->add[i] = copy_nest(c, n->add[i]);
            apply_nest(c, n->add[i], key);
        }
        return;
    }
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_EQ, n->key[0], key));
    n->nkeys--;
    memmove(n->key, n->key + 1, (size_t)n->nkeys * sizeof *n->key);
    memmove(n->note, n->note + 1, (size_t)n->nkeys * sizeof *n->note);
}

static void cut_nest(normal *c, st_nest *n, int lo, int hi) {
    for (int i = 0; n->nkeys == 0 && i < n->nadds; i++) {
        n->add[i] = copy_nest(c, n->add[i]);
        cut_nest(c, n->add[i], lo, hi);
    }
    if (n->nkeys == 0) return;
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_GE, n->key[0], lo));
    st_add_cond(c->g, n, st_compare(c->g, TRA_CALC_LT, n->key[0], hi));
}

/* An addend with what stands around the sum. */
static st_nest *with_around(normal *c, const st_nest *around, const st_nest *addend) {
    st_nest *n = copy_nest(c, addend);
    n->nkeys = 0;
    for (int i = 0; i < around->nkeys; i++) st_add_key(c->g, n, around->key[i], around->note[i]);
    for (int i = 0; i < addend->nkeys; i++) st_add_key(c->g, n, addend->key[i], addend->note[i]);
    for (int i = 0; i < around->nfactors; i++) st_add_factor(c->g, n, around->factor[i]);
    n->unique = false;
    return n;
}

/* The value of a nest whose generators and keys are elsewhere. */
static int value_of(normal *c, const st_nest *n) {
    st_nest v = *n;
    v.ngens = v.nconds = v.nkeys = 0;
    return st_nest_class(c->g, &v);
}

static const char *name_of(const tra_calc_binder *b, const char *other) { return b->name ? b->name : other; }

/* Binds a name to a class, or asks for equality with what it stands for already. */
static void bind(normal *c, const tra_calc_binder *b, int cls, meaning *env, st_nest *out) {
    if (b->again)
        st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_EQ, env[b->level].cls, cls));
    else if (b->level >= 0)
        env[b->level] = (meaning){.kind = CLASS, .cls = cls};
}

/* Loops over n levels of a class as it is. */
static void loop_levels(normal *c, const tra_calc *x, int g, int b, int cls, meaning *env, st_nest *out) {
    const tra_calc_binder *names = &x->binders[b];
    int n = x->nnames[g];
    const tra_calc_type whole = {0};
    bool range = st_first(c->g, cls, ST_RANGE) >= 0;
    for (int i = 0; i < n; i++) {
        const st_shape *s = st_at(c->g, cls)->shape;
        int key = st_new_var(c->g, name_of(&names[i], "k"), whole), value = -1;
        st_var *k = &c->g->var[key];
        k->below = s && s->extent[0] >= 0 ? s->extent[0] : -1;
        k->value = s ? s->n[0] / 2 : NAN;
        k->in_order = true;
        bool wanted = i + 1 < n || names[n].level >= 0;
        if (wanted && !(range && st_on(c->g, ST_T5))) {
            tra_calc_type t = x->kids[g]->type;
            t.depth -= i + 1;
            t.sparse &= t.depth > 0;
            value = st_new_var(c->g, i + 1 < n ? "row" : name_of(&names[n], "v"), t);
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
        bind(c, &names[i], st_variable(c->g, key), env, out);
        cls = value >= 0 ? st_variable(c->g, value) : st_variable(c->g, key);
    }
    out->loose = true;
    if (names[n].level >= 0) bind(c, &names[n], cls, env, out);
    generators(c, x, g + 1, b + n + 1, env, out);
}

/* A dictionary, or a number of loops, that is computed once, under a name. */
static int let_class(normal *c, const char *name, int cls, st_nest *out) {
    cls = st_annotate(c->g, cls, st_dense_levels(c->g, cls));
    int var = st_let_var(c->g, cls, name);
    if (var < 0) {
        c->g->over = true;
        return cls;
    }
    for (int i = 0; i < out->ngens; i++)
        if (out->gen[i].let && out->gen[i].value == var) return st_variable(c->g, var);
    st_add_gen(c->g, out, true, -1, var, cls);
    return st_variable(c->g, var);
}

/* The dictionary as a class that loops can run over: a nest under the name of a let. */
static int as_class(normal *c, const dictionary *d, const char *name, st_nest *out) {
    return d->nest ? let_class(c, name, st_nest_class(c->g, d->nest), out) : d->cls;
}

/* One key that is the key of its only loop comes once. */
static bool key_of_loop(normal *c, const st_nest *n) {
    return n->nkeys == 1 && n->ngens == 1 && !n->gen[0].let && n->nadds == 0 &&
           st_is_var(c->g, n->key[0], n->gen[0].key);
}

static int depth_of(const st_nest *n) { return n->nkeys + (n->nadds ? depth_of(n->add[0]) : 0); }

/* A sum of two as the value of a nest: T3 where both have one key. */
static void add_addends(normal *c, int depth, st_nest *const *add, st_nest *out) {
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
static void open_nest(normal *c, const tra_calc *x, int g, int b, st_nest *d, meaning *env, st_nest *out) {
    const tra_calc_binder *names = &x->binders[b];
    int n = x->nnames[g], level = names[n].level, depth = depth_of(d);
    use u = level < 0 || names[n].again ? UNUSED : linear_sum(x, g + 1, level);
    bool f2 = key_of_loop(c, d), unique = (d->unique && !d->loose && d->nkeys > 0) || f2;
    st_rule rule = f2 ? ST_F2 : ST_F3;
    if (!st_on(c->g, rule) || (u != LINEAR && !(unique && (n == depth || u == BY_KEYS)))) {
        loop_levels(c, x, g, b, as_class(c, &(dictionary){.nest = d}, "t", out), env, out);
        return;
    }
    if (d->nadds && n > d->nkeys) {
        /* each addend with all that comes after it */
        st_nest *add[2];
        add_all(c, out, d);
        for (int i = 0; i < d->nadds; i++) {
            meaning *inner = tra_news(c->g->arena, meaning, c->nlevels);
            memcpy(inner, env, (size_t)c->nlevels * sizeof *env);
            add[i] = new_nest(c);
            open_nest(c, x, g, b, with_around(c, d, d->add[i]), inner, add[i]);
            if (c->g->over) return;
        }
        add_addends(c, x->type.depth, add, out);
        return;
    }
    st_applied(c->g, rule);
    add_all(c, out, d);
    for (int i = 0; i < n; i++) {
        /* plans are read by the names of the statement */
        int var = st_first(c->g, d->key[i], ST_VAR);
        if (var >= 0 && names[i].name) c->g->var[c->g->node[var].data[0]].name = names[i].name;
        bind(c, &names[i], d->key[i], env, out);
    }
    if (n == depth) {
        int value = value_of(c, d);
        int64_t number;
        bool not_zero = st_number(c->g, value, &number) && number != 0;
        /* an element that is 0 is no entry; values of arrays say by their type that it annihilates */
        int var = st_first(c->g, value, ST_VAR);
        bool guarded = var >= 0 && c->g->var[c->g->node[var].data[0]].may_be_zero;
        if ((u != LINEAR && !not_zero) || guarded)
            st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_NE, value, st_whole(c->g, 0)));
        if (level >= 0) bind(c, &names[n], value, env, out);
    } else {
        st_nest *view = copy_nest(c, d);
        view->ngens = view->nconds = 0;
        view->nkeys -= n;
        memmove(view->key, view->key + n, (size_t)view->nkeys * sizeof *view->key);
        memmove(view->note, view->note + n, (size_t)view->nkeys * sizeof *view->note);
        env[level] = (meaning){.kind = VIEW, .view = view};
    }
    generators(c, x, g + 1, b + n + 1, env, out);
}

static void generators(normal *c, const tra_calc *x, int g, int b, meaning *env, st_nest *out) {
    if (c->g->over) return;
    if (g == x->nkids - 1) {
        into(c, x->kids[g], env, out);
        return;
    }
    dictionary d = dict(c, x->kids[g], env);
    if (d.nest)
        open_nest(c, x, g, b, d.nest, env, out);
    else
        loop_levels(c, x, g, b, d.cls, env, out);
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

static dictionary dict_name(normal *c, const tra_calc *x, meaning *env) {
    if (x->level < 0) return (dictionary){.cls = st_make(c->g, ST_NAME, 1, (int64_t[]){x->index}, 0, NULL)};
    const meaning *m = &env[x->level];
    switch (m->kind) {
    case TREE: {
        meaning *inner = tra_news(c->g->arena, meaning, c->nlevels);
        memcpy(inner, m->env, (size_t)c->nlevels * sizeof *inner);
        return dict(c, m->tree, inner);
    }
    case VIEW: return (dictionary){.nest = copy_nest(c, m->view)};
    case NOTHING:
    case CLASS: break;
    }
    return (dictionary){.cls = m->cls};
}

static dictionary dict(normal *c, const tra_calc *x, meaning *env) {
    st_graph *g = c->g;
    if (x->kind == TRA_CALC_NAME) return dict_name(c, x, env);
    if (x->kind == TRA_CALC_APPLY || x->kind == TRA_CALC_SLICE) {
        dictionary d = dict(c, x->kids[0], env);
        int lo = scalar(c, x->kids[1], env), hi = x->kind == TRA_CALC_SLICE ? scalar(c, x->kids[2], env) : 0;
        if (x->kind == TRA_CALC_SLICE && d.nest) {
            cut_nest(c, d.nest, lo, hi);
            return d;
        }
        if (x->kind == TRA_CALC_SLICE)
            return (dictionary){.cls = st_make(g, ST_SLICE, 0, NULL, 3, (int[]){d.cls, lo, hi})};
        for (int i = 1; i < x->nkids && !g->over; i++) {
            int key = i == 1 ? lo : scalar(c, x->kids[i], env);
            if (d.nest)
                apply_nest(c, d.nest, key);
            else
                d.cls = st_make(g, ST_APPLY, 0, NULL, 2, (int[]){d.cls, key});
        }
        return d;
    }
    if (x->kind == TRA_CALC_RANGE) {
        int kids[2] = {scalar(c, x->kids[0], env), scalar(c, x->kids[1], env)};
        return (dictionary){.cls = st_make(g, ST_RANGE, 0, NULL, 2, kids)};
    }
    dictionary d = {.nest = new_nest(c)};
    into(c, x, env, d.nest);
    return d;
}

/* All keys of a dictionary are keys of the nest, its elements factors: T1 from right to left. */
static void open_all(normal *c, const dictionary *d, tra_calc_type t, st_nest *out) {
    st_graph *g = c->g;
    if (d->nest) {
        const st_nest *n = d->nest;
        out->unique &= n->unique && !out->loose;
        add_all(c, out, n);
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
        if (g->over) return;
    }
    st_add_factor(g, out, cls);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A number that comes from a nest without keys is a part of the nest around. */
static void add_nest(normal *c, st_nest *n, st_nest *out) {
    add_all(c, out, n);
    st_add_factor(c->g, out, value_of(c, n));
}

static void into_product(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    const tra_calc *l = x->kids[0], *r = x->kids[1];
    if (l->type.depth && r->type.depth) {
        bool right = r->type.sparse && !l->type.sparse;
        dictionary main = dict(c, right ? r : l, env), other = dict(c, right ? l : r, env);
        if (main.nest && main.nest->nadds) main = (dictionary){.cls = as_class(c, &main, "t", out)};
        int before = out->nkeys;
        open_all(c, &main, x->type, out);
        for (int i = before; i < out->nkeys && !c->g->over; i++) {
            if (other.nest)
                apply_nest(c, other.nest, out->key[i]);
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
    into(c, l->type.depth ? r : l, env, out);
    into(c, l->type.depth ? l : r, env, out);
}

static void into_quotient(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    int divisor = scalar(c, x->kids[1], env);
    if (x->type.depth == 0) {
        st_add_factor(c->g, out, st_make(c->g, ST_DIV, 0, NULL, 2, (int[]){scalar(c, x->kids[0], env), divisor}));
        return;
    }
    dictionary d = dict(c, x->kids[0], env);
    /* a quotient of integers is of all that comes to a key */
    bool opened = !d.nest || (d.nest->nadds == 0 && (x->type.real || (d.nest->unique && !d.nest->loose)));
    if (!opened) d = (dictionary){.cls = as_class(c, &d, "t", out)};
    st_nest part = {.unique = true};
    open_all(c, &d, x->type, &part);
    int value = st_product(c->g, part.nfactors, part.factor);
    part.factor[0] = st_make(c->g, ST_DIV, 0, NULL, 2, (int[]){value, divisor});
    part.nfactors = 1;
    open_all(c, &(dictionary){.nest = &part}, x->type, out);
}

static void into_sum(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    if (x->type.depth == 0) {
        int kids[2] = {scalar(c, x->kids[0], env), scalar(c, x->kids[1], env)};
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
        add[i] = new_nest(c);
        into(c, x->kids[i], env, add[i]);
        if (i && x->kind == TRA_CALC_SUB) st_add_factor(c->g, add[i], st_whole(c->g, -1));
    }
    add_addends(c, x->type.depth, add, out);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool has_sum(const tra_calc *x) {
    if (x->kind == TRA_CALC_SUM || x->kind == TRA_CALC_MERGE) return true;
    for (int i = 0; i < x->nkids; i++)
        if (has_sum(x->kids[i])) return true;
    return false;
}

/* Does it loop, when what its names stand for is put in? */
static bool loops(normal *c, int cls) {
    const st_node *x = &c->g->node[st_at(c->g, cls)->first];
    if (x->op == ST_NEST) return true;
    for (int i = 0; i < x->nkids; i++)
        if (loops(c, x->kids[i])) return true;
    return false;
}

static void into_let(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    for (int i = 0; i < x->nbinders && !c->g->over; i++) {
        const tra_calc_binder *b = &x->binders[i];
        const tra_calc *value = x->kids[i];
        if (b->level < 0) continue;
        if (value->type.depth && st_on(c->g, ST_F3)) {
            meaning *now = tra_news(c->g->arena, meaning, c->nlevels);
            memcpy(now, env, (size_t)c->nlevels * sizeof *now);
            env[b->level] = (meaning){.kind = TREE, .tree = value, .env = now};
        } else if (value->type.depth) {
            dictionary d = dict(c, value, env);
            env[b->level] = (meaning){.kind = CLASS, .cls = as_class(c, &d, b->name, out)};
        } else {
            int cls = scalar(c, value, env);
            if (has_sum(value) || loops(c, cls)) cls = let_class(c, b->name, cls, out);
            env[b->level] = (meaning){.kind = CLASS, .cls = cls};
        }
    }
    into(c, x->kids[x->nkids - 1], env, out);
}

/* F4 from right to left: both are loops, with equal values. */
static void into_merge(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    int value[2];
    for (int i = 0; i < 2; i++) {
        dictionary d = dict(c, x->kids[i], env);
        int cls = as_class(c, &d, "t", out);
        const st_shape *s = st_at(c->g, cls)->shape;
        int key = st_new_var(c->g, name_of(&x->binders[i], "p"), (tra_calc_type){0});
        int v = st_new_var(c->g, name_of(&x->binders[2], "v"), (tra_calc_type){.real = x->kids[i]->type.real});
        c->g->var[key].in_order = true;
        c->g->var[v].below = s ? s->below : -1;
        st_add_gen(c->g, out, false, key, v, cls);
        bind(c, &x->binders[i], st_variable(c->g, key), env, out);
        value[i] = st_variable(c->g, v);
    }
    st_add_cond(c->g, out, st_compare(c->g, TRA_CALC_EQ, value[0], value[1]));
    bind(c, &x->binders[2], value[0], env, out);
    out->loose = true;
    into(c, x->kids[2], env, out);
}

static int condition(normal *c, const tra_calc *x, meaning *env) {
    st_graph *g = c->g;
    int kids[2] = {0};
    bool logic = x->kind == TRA_CALC_AND || x->kind == TRA_CALC_OR || x->kind == TRA_CALC_NOT;
    for (int i = 0; i < x->nkids; i++) kids[i] = logic ? condition(c, x->kids[i], env) : scalar(c, x->kids[i], env);
    if (!logic) return st_compare(g, x->kind, kids[0], kids[1]);
    st_op op = x->kind == TRA_CALC_AND ? ST_AND : x->kind == TRA_CALC_OR ? ST_OR : ST_NOT;
    return st_make(g, op, 0, NULL, x->nkids, kids);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* A part of the value of a nest: what is added up at its keys is multiplied with it. */
static void into(normal *c, const tra_calc *x, meaning *env, st_nest *out) {
    if (c->g->over) return;
    switch (x->kind) {
    case TRA_CALC_MUL: into_product(c, x, env, out); return;
    case TRA_CALC_DIV: into_quotient(c, x, env, out); return;
    case TRA_CALC_ADD:
    case TRA_CALC_SUB: into_sum(c, x, env, out); return;
    case TRA_CALC_NEG:
        st_add_factor(c->g, out, st_whole(c->g, -1));
        into(c, x->kids[0], env, out);
        return;
    case TRA_CALC_IF:
        st_add_cond(c->g, out, condition(c, x->kids[0], env));
        into(c, x->kids[1], env, out);
        return;
    case TRA_CALC_LET: into_let(c, x, env, out); return;
    case TRA_CALC_SUM: generators(c, x, 0, 0, env, out); return;
    case TRA_CALC_MERGE: into_merge(c, x, env, out); return;
    case TRA_CALC_DICT:
        for (int i = 0; i + 1 < x->nkids; i++) st_add_key(c->g, out, scalar(c, x->kids[i], env), 0);
        if (x->nkids > 1) {
            out->unique &= (x->notes & TRA_CALC_UNIQUE) != 0;
            out->loose = false;
        }
        into(c, x->kids[x->nkids - 1], env, out);
        return;
    default: break;
    }
    if (x->type.depth) {
        dictionary d = dict(c, x, env);
        open_all(c, &d, x->type, out);
        return;
    }
    if (x->kind == TRA_CALC_APPLY && !(x->kids[0]->kind == TRA_CALC_RANGE && st_on(c->g, ST_T4))) {
        dictionary d = dict(c, x, env);
        if (d.nest)
            add_nest(c, d.nest, out);
        else
            st_add_factor(c->g, out, d.cls);
        return;
    }
    st_add_factor(c->g, out, scalar(c, x, env));
}

/* T4: (lo:hi)(k) is k where it is between. */
static int apply_range(normal *c, int range, int key) {
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

static int scalar(normal *c, const tra_calc *x, meaning *env) {
    st_graph *g = c->g;
    int kids[TRA_CALC_MAXRANK];
    if (g->over) return 0;
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
        for (int i = 0; i < x->nkids; i++) kids[i] = scalar(c, x->kids[i], env);
        if (x->kind == TRA_CALC_MOD) return st_make(g, ST_MOD, 0, NULL, 2, kids);
        return st_make(g, ST_CALL, 1, (int64_t[]){x->fn}, x->nkids, kids);
    case TRA_CALC_APPLY:
        if (x->kids[0]->kind == TRA_CALC_RANGE && st_on(g, ST_T4)) {
            dictionary d = dict(c, x->kids[0], env);
            return apply_range(c, d.cls, scalar(c, x->kids[1], env));
        }
    }
    st_nest n = {.unique = true};
    into(c, x, env, &n);
    return g->over ? 0 : st_nest_class(g, &n);
}

static int most_levels(const tra_calc *x) {
    int n = 0;
    for (int i = 0; i < x->nbinders; i++) n = (int)tra_max64(n, x->binders[i].level + 1);
    for (int i = 0; i < x->nkids; i++) n = (int)tra_max64(n, most_levels(x->kids[i]));
    return n;
}

int st_normal(st_graph *g, const tra_calc *x) {
    normal c = {.g = g, .nlevels = most_levels(x)};
    meaning *env = tra_news(g->arena, meaning, c.nlevels + 1);
    if (x->type.depth == 0) {
        int cls = scalar(&c, x, env);
        return g->over ? -1 : cls;
    }
    st_nest n = {.unique = true};
    into(&c, x, env, &n);
    int cls = g->over ? -1 : st_nest_class(g, &n);
    return g->over ? -1 : cls;
}
