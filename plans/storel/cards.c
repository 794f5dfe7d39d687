/* cards.c - what is known of classes: cardinalities after figure 5 of the paper, from the statistics of components.
 *
 * Sum over n[c]: n times the body's; {k -> e}: one; + adds; a part of an array is as long as parts are on average; a
 * condition is true as often as its selectivity says, 0.1 where nothing is known. Keys that meet by chance are counted
 * once. */
#include "storel_int.h"

#include <math.h>
#include <string.h>

double st_size(st_graph *g, int cls) {
    double v = cls < 0 ? NAN : st_at(g, cls)->value;
    return isnan(v) ? 1000 : v < 0 ? 0 : v;
}

double st_selectivity(st_graph *g, int cond) {
    const st_node *x = &g->node[st_at(g, cond)->first];
    if (x->op == ST_AND) return st_selectivity(g, x->kids[0]) * st_selectivity(g, x->kids[1]);
    if (x->op == ST_NOT) return 1 - st_selectivity(g, x->kids[0]);
    if (x->op == ST_OR) {
        double a = st_selectivity(g, x->kids[0]), b = st_selectivity(g, x->kids[1]);
        return a + b - a * b;
    }
    double most = 0;
    for (int i = 0; i < 2; i++) {
        int below = st_at(g, x->kids[i])->below;
        if (below >= 0) most = fmax(most, st_size(g, below));
    }
    switch ((int)x->data[0]) {
    case TRA_CALC_EQ: return most > 1 ? 1 / most : 0.1;
    case TRA_CALC_NE: return most > 1 ? 1 - 1 / most : 1;
    default: return 0.5; /* a comparison: half of a range is on either side */
    }
}

double st_turns(st_graph *g, const st_nest *n) {
    double turns = 1;
    for (int i = 0; i < n->ngens; i++) {
        const st_shape *s = n->gen[i].let ? NULL : st_at(g, n->gen[i].over)->shape;
        if (s) turns *= s->n[0];
    }
    for (int i = 0; i < n->nconds; i++) turns *= st_selectivity(g, n->cond[i]);
    return turns;
}

/* ---- shapes of dictionaries -------------------------------------------------------------------------------------- */

static st_shape *new_shape(st_graph *g, int depth) {
    st_shape *s = tra_new(g->arena, st_shape);
    s->depth = depth;
    s->below = -1;
    s->squares = NAN;
    for (int i = 0; i < TRA_CALC_MAXRANK; i++) s->extent[i] = -1;
    return s;
}

static int name_class(st_graph *g, int index) {
    return index > 0 ? st_make(g, ST_NAME, 1, (int64_t[]){index - 1}, 0, NULL) : -1;
}

static const st_shape *name_shape(st_graph *g, int index) {
    const tra_storel_about *about = &g->p->about[index];
    st_shape *s = new_shape(g, g->p->scope[index].type.depth);
    for (int i = 0; i < s->depth; i++) {
        s->extent[i] = name_class(g, about->extent[i]);
        s->n[i] = about->n[i] >= 0 ? about->n[i] : s->extent[i] >= 0 ? st_size(g, s->extent[i]) : 1000;
        s->kind[i] = about->kind;
    }
    s->below = name_class(g, about->below);
    s->part = about->part;
    s->squares = about->squares;
    s->ascending = about->ascending;
    s->array = about->kind == TRA_STOREL_ARRAY;
    return s;
}

static const st_shape *under_key(st_graph *g, const st_shape *from) {
    if (!from || from->depth < 2) return NULL;
    st_shape *s = new_shape(g, from->depth - 1);
    memcpy(s->n, from->n + 1, (size_t)s->depth * sizeof *s->n);
    memcpy(s->kind, from->kind + 1, (size_t)s->depth * sizeof *s->kind);
    memcpy(s->extent, from->extent + 1, (size_t)s->depth * sizeof *s->extent);
    s->below = from->below;
    return s;
}

static const st_shape *slice_shape(st_graph *g, const st_node *x) {
    const st_shape *from = st_at(g, x->kids[0])->shape;
    st_shape *s = new_shape(g, from ? from->depth : 1);
    double lo = st_at(g, x->kids[1])->value, hi = st_at(g, x->kids[2])->value;
    if (from) *s = *from;
    if (from && from->part > 0)
        s->n[0] = from->part;
    else if (!isnan(lo) && !isnan(hi))
        s->n[0] = fmax(0, hi - lo);
    else
        s->n[0] = s->n[0] * 0.1;
    return s;
}

static const st_shape *range_shape(st_graph *g, const st_node *x) {
    st_shape *s = new_shape(g, 1);
    double lo = st_at(g, x->kids[0])->value, hi = st_at(g, x->kids[1])->value;
    int64_t zero;
    s->n[0] = isnan(hi) ? 1000 : fmax(0, hi - (isnan(lo) ? 0 : lo));
    if (st_number(g, x->kids[0], &zero) && zero >= 0) s->extent[0] = st_find(g, x->kids[1]);
    s->kind[0] = TRA_STOREL_ARRAY;
    s->below = s->extent[0];
    s->ascending = true;
    return s;
}

/* The shape of a dictionary that is materialised, as the notes at its keys say. */
static const st_shape *nest_shape(st_graph *g, int node, int depth) {
    st_nest n;
    st_load(g, node, &n);
    st_shape *s = new_shape(g, depth);
    double all = st_turns(g, &n), before = 1, places = 1;
    int loops = 0;
    for (int i = 0; i < n.ngens; i++) loops += !n.gen[i].let;
    for (int i = 0; i < depth; i++) {
        int below = i < n.nkeys ? st_at(g, n.key[i])->below : -1;
        double most = below >= 0 ? st_size(g, below) : all;
        bool dense = i < n.nkeys && (n.note[i] == TRA_CALC_DENSE || n.note[i] == ST_ROW) && below >= 0;
        places *= fmax(most, 1);
        /* no more loops than keys: none of these turns has the keys of another */
        double keys = loops <= i + 1 ? fmin(all, places) : tra_distinct_after(places, all);
        s->extent[i] = below;
        s->kind[i] = dense ? TRA_STOREL_ARRAY : TRA_STOREL_HASHED;
        s->n[i] = dense ? most : fmax(keys / before, 1e-9);
        before = fmax(keys, 1e-9);
    }
    return s;
}

/* Keys are below what all of the dictionaries have them below. */
static const st_shape *add_shape(st_graph *g, const st_node *x, int depth) {
    st_shape *s = new_shape(g, depth);
    for (int i = 0; i < depth; i++) {
        for (int k = 0; k < x->nkids; k++) {
            const st_shape *one = st_at(g, x->kids[k])->shape;
            int extent = one && one->extent[i] >= 0 ? st_find(g, one->extent[i]) : -1;
            if (k == 0 || extent != s->extent[i]) s->extent[i] = k == 0 ? extent : -1;
            if (!one) continue;
            s->kind[i] = k > 0 && one->kind[i] != s->kind[i] ? TRA_STOREL_HASHED : one->kind[i];
            s->n[i] += one->n[i];
        }
        if (s->extent[i] >= 0) s->n[i] = fmin(s->n[i], st_size(g, s->extent[i]));
    }
    return s;
}

unsigned st_dense_levels(st_graph *g, int cls) {
    const st_shape *s = st_at(g, cls)->shape;
    double places = 1, entries = 1;
    for (int i = 0; s && i < s->depth; i++) {
        places *= s->extent[i] >= 0 ? st_size(g, s->extent[i]) : INFINITY;
        entries *= s->n[i];
    }
    const tra_storel_costs *c = g->costs;
    return s && places * c->clear + entries * c->insert <= entries * (c->put + c->sort) ? ~0u : 0;
}

static const st_shape *shape_of(st_graph *g, int node, int depth) {
    st_node copy = g->node[node]; /* a copy, since the array of nodes may move */
    const st_node *x = &copy;
    st_shape *s;
    switch (x->op) {
    case ST_NAME: return name_shape(g, (int)x->data[0]);
    case ST_VAR: return g->var[x->data[0]].shape;
    case ST_APPLY: return under_key(g, st_at(g, x->kids[0])->shape);
    case ST_SLICE: return slice_shape(g, x);
    case ST_RANGE: return range_shape(g, x);
    case ST_NEST: return nest_shape(g, node, depth);
    case ST_ADD: return add_shape(g, x, depth);
    case ST_IF:
    case ST_LET: return st_at(g, x->kids[1])->shape;
    case ST_SUM:
    case ST_MERGE: return st_at(g, x->kids[x->nkids - 1])->shape;
    case ST_DICT:
        s = new_shape(g, depth);
        s->n[0] = 1;
        return s;
    case ST_NUM:
    case ST_EXTENT:
    case ST_MUL:
    case ST_NEG:
    case ST_DIV:
    case ST_MOD:
    case ST_CALL:
    case ST_CMP:
    case ST_AND:
    case ST_OR:
    case ST_NOT: return NULL;
    }
    return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static double value_of(st_graph *g, const st_node *x) {
    double v = x->op == ST_MUL, one;
    switch ((int)x->op) {
    case ST_NUM: return x->data[0] ? NAN : (double)x->data[1];
    case ST_VAR: return g->var[x->data[0]].value;
    case ST_NAME: return g->p->about[x->data[0]].value;
    case ST_EXTENT: return g->p->about[x->data[0]].n[x->data[1]];
    case ST_ADD:
    case ST_MUL:
        for (int i = 0; i < x->nkids; i++) {
            one = st_at(g, x->kids[i])->value;
            v = x->op == ST_ADD ? v + one : v * one;
        }
        return v;
    case ST_NEG: return -st_at(g, x->kids[0])->value;
    case ST_DIV: return floor(st_at(g, x->kids[0])->value / st_at(g, x->kids[1])->value);
    case ST_MOD: return st_at(g, x->kids[1])->value / 2;
    case ST_CALL:
        v = st_at(g, x->kids[0])->value;
        for (int i = 1; i < x->nkids; i++) {
            one = st_at(g, x->kids[i])->value;
            v = x->data[0] == TRA_CALC_FN_MIN ? fmin(v, one) : fmax(v, one);
        }
        return x->data[0] == TRA_CALC_FN_MIN || x->data[0] == TRA_CALC_FN_MAX ? v : NAN;
    case ST_IF: return st_at(g, x->kids[1])->value;
    }
    return NAN;
}

static int below_of(st_graph *g, const st_node *x) {
    const st_shape *s;
    switch ((int)x->op) {
    case ST_VAR: return g->var[x->data[0]].below;
    case ST_APPLY: s = st_at(g, x->kids[0])->shape; return s && s->depth == 1 ? s->below : -1;
    case ST_NAME: return name_class(g, g->p->about[x->data[0]].below);
    }
    return -1;
}

static void type_of(st_graph *g, st_class *c, const st_node *x) {
    const st_class *kid = x->nkids ? st_at(g, x->kids[x->nkids - 1]) : NULL;
    tra_calc_type t;
    switch (x->op) {
    case ST_NUM: c->real = x->data[0]; return;
    case ST_VAR: c->real = g->var[x->data[0]].real, c->depth = g->var[x->data[0]].depth; return;
    case ST_NAME:
        t = g->p->scope[x->data[0]].type;
        c->real = t.real, c->depth = t.depth;
        return;
    case ST_APPLY: c->real = st_at(g, x->kids[0])->real, c->depth = st_at(g, x->kids[0])->depth - 1; return;
    case ST_SLICE: c->real = st_at(g, x->kids[0])->real, c->depth = st_at(g, x->kids[0])->depth; return;
    case ST_RANGE: c->depth = 1; return;
    case ST_CALL:
        for (int i = 0; i < x->nkids; i++) c->real |= st_at(g, x->kids[i])->real;
        if (x->data[0] == TRA_CALC_FN_FLOOR) c->real = false;
        if (x->data[0] >= TRA_CALC_FN_REAL && x->data[0] <= TRA_CALC_FN_SQRT) c->real = true;
        return;
    case ST_ADD:
    case ST_MUL:
    case ST_DIV:
        for (int i = 0; i < x->nkids; i++) {
            c->real |= st_at(g, x->kids[i])->real;
            c->depth = (int)tra_max64(c->depth, st_at(g, x->kids[i])->depth);
        }
        return;
    case ST_NEST:
        for (int i = 0; i < x->data[2]; i++) {
            kid = st_at(g, x->kids[x->data[0] + x->data[1] + i]);
            c->real |= kid->real;
            c->depth = (int)tra_max64(c->depth, kid->depth);
        }
        c->depth += (int)x->data[3];
        return;
    case ST_DICT: c->real = kid->real, c->depth = kid->depth + 1; return;
    case ST_NEG:
    case ST_IF:
    case ST_LET:
    case ST_SUM:
    case ST_MERGE: c->real = kid->real, c->depth = kid->depth; return;
    case ST_EXTENT:
    case ST_MOD:
    case ST_CMP:
    case ST_AND:
    case ST_OR:
    case ST_NOT: return;
    }
}

void st_describe(st_graph *g, st_class *c, const st_node *x) {
    st_node copy = *x;
    type_of(g, c, x);
    for (int i = 0; i < copy.nkids; i++) c->fails |= st_at(g, copy.kids[i])->fails;
    if ((copy.op == ST_DIV || copy.op == ST_MOD) && !c->real) {
        int64_t by;
        c->fails |= !st_number(g, copy.kids[1], &by) || by == 0;
    }
    if (c->depth) c->shape = shape_of(g, c->first, c->depth);
    if (c->depth == 0 && !c->real) {
        c->value = value_of(g, &copy);
        c->below = below_of(g, &copy);
    }
}
