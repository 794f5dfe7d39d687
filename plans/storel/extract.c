/* extract.c - the cheapest ways to compute a class, after figure 6 of the paper.
 *
 * A loop costs what its dictionary costs, and what its body costs for each iteration. The class of the dictionary tells
 * how many iterations there are, so the best tree of a class is made of the best trees of the classes below. The k
 * cheapest ways of each class are kept. The cost of a nest is infinite, so that only what can be executed is extracted.
 */
#include "../lang/names.h"
#include "storel_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a node costs besides its kids, and how often each of these is computed. */
typedef struct bill {
    double cost, operations;
    double times[2 * ST_PARTS];
    int weighed; /* a kid whose cost (but not whose operations) is multiplied by `weight`; -1: none */
    double weight;
} bill;

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/* Does the index increase by one from one iteration of its loop to the next? */
static bool in_order(st_graph *g, int key) {
    const st_node *x = &g->node[st_at(g, key)->first];
    return x->op == ST_VAR && g->var[x->data[0]].in_order;
}

double tra_storel_far(const tra_storel_costs *c, double numbers) {
    return fmin(1 + c->far * fmax(0, log2(numbers / c->near)), 1 + 8 * c->far);
}

static double far(const st_graph *g, double numbers) { return tra_storel_far(g->costs, numbers); }

static double all_places(const st_shape *s) {
    double n = 1;
    for (int i = 0; s && i < s->depth; i++) n *= fmax(s->n[i], 1);
    return n;
}

static double lookup_cost(st_graph *g, const st_node *x) {
    const tra_storel_costs *c = g->costs;
    const st_shape *s = st_at(g, x->kids[0])->shape;
    switch (s ? s->kind[0] : TRA_STOREL_HASHED) {
    case TRA_STOREL_NUMBER:
    case TRA_STOREL_ARRAY: return in_order(g, x->kids[1]) ? c->element : c->lookup * (s ? far(g, all_places(s)) : 1);
    case TRA_STOREL_SORTED: return c->search * (1 + log2(fmax(s->n[0], 1)));
    case TRA_STOREL_HASHED: break;
    }
    return c->hash;
}

/* What lookups in arrays save if the variable's loop is the innermost, and it is added to their index: they are then in
 * order. */
static double strided(st_graph *g, int cls, int var) {
    const st_class *c = st_at(g, cls);
    if (!(c->free & st_bit(var))) return 0;
    const st_node *x = &g->node[c->first];
    double saved = 0;
    if (x->op == ST_NEST && x->data[0]) return 0;
    if (x->op == ST_APPLY) {
        const st_node *key = &g->node[st_at(g, x->kids[1])->first];
        for (int i = 0; key->op == ST_ADD && i < key->nkids; i++)
            if (st_is_var(g, key->kids[i], var)) saved += lookup_cost(g, x) - g->costs->element;
        return saved;
    }
    for (int i = 0; i < x->nkids; i++) saved += strided(g, x->kids[i], var);
    return saved;
}

static double step_cost(st_graph *g, const st_shape *s, bool value) {
    const tra_storel_costs *c = g->costs;
    double step = s && s->kind[0] == TRA_STOREL_HASHED ? c->hashed : c->step;
    return step + (value ? c->element : 0);
}

/* Building a dictionary: its array is cleared, or its keys are sorted. */
static double build_cost(st_graph *g, const st_shape *s) {
    double cost = 0, n = 1;
    for (int i = 0; s && i < s->depth; i++) {
        n *= s->n[i];
        bool dense = s->kind[i] == TRA_STOREL_ARRAY;
        if (!dense || i == s->depth - 1) cost += n * (dense ? g->costs->clear * far(g, n) : g->costs->sort);
    }
    return cost;
}

/* Is a number computed in vectors along the variable: by arithmetic on what does not depend on it and on lookups in
 * order? */
static bool is_plain(st_graph *g, int cls, int var) {
    const st_class *c = st_at(g, cls);
    const st_node *x = &g->node[c->first];
    if (!(c->free & st_bit(var)) || x->op == ST_VAR) return true;
    if (x->op == ST_APPLY && x->kids[0] != cls && !(st_at(g, x->kids[0])->free & st_bit(var)))
        return st_is_var(g, x->kids[1], var) || strided(g, cls, var) > 0;
    if ((x->op != ST_ADD && x->op != ST_MUL && x->op != ST_NEG && x->op != ST_NEST) || c->depth) return false;
    if (x->op == ST_NEST && x->data[0] + x->data[1] + x->data[3]) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!is_plain(g, x->kids[i], var)) return false;
    return true;
}

/* Does the body add into places of an array, one after the other, what can be computed in vectors? var: key of the
 * loop. value: that of an array that is looped over. Of a row that is gathered, places that a range counts are marked
 * at once. */
static bool is_vector(st_graph *g, int body, int var, int value) {
    int notes = 0, in = -1;
    for (int i = st_at(g, body)->first; i >= 0 && in < 0; i = g->node[i].next) {
        const st_node *x = &g->node[i];
        if (x->op != ST_DICT || !st_is_var(g, x->kids[0], var) || st_at(g, x->kids[1])->depth) continue;
        notes = (int)x->data[0];
        in = x->kids[1];
    }
    if (in < 0 || (notes != TRA_CALC_DENSE && (notes != ST_ROW || value >= 0))) return false;
    return is_plain(g, in, var) && (value < 0 || is_plain(g, in, value));
}

static void bill_sum(st_graph *g, const st_node *x, bill *b) {
    const st_shape *s = st_at(g, x->kids[0])->shape;
    const st_class *body = st_at(g, x->kids[1]);
    double n = s ? s->n[0] : 1000, add = body->depth == 0 && body->real;
    bool value = x->data[1] >= 0 && body->free & st_bit((int)x->data[1]);
    b->cost = g->costs->loop + n * (step_cost(g, s, value) + (body->depth ? 0 : g->costs->op));
    b->cost -= n * strided(g, x->kids[1], (int)x->data[0]);
    b->operations = n * add;
    b->times[1] = n;
    if (s && s->kind[0] == TRA_STOREL_ARRAY && x->data[0] >= 0 && g->var[x->data[0]].in_order &&
        is_vector(g, x->kids[1], (int)x->data[0], value ? (int)x->data[1] : -1)) {
        b->weighed = 1;
        b->weight = g->costs->vector;
        b->cost = g->costs->loop + (b->cost - g->costs->loop) * g->costs->vector;
    }
    if (x->data[2] && s && s->squares > s->n[0]) b->times[1] *= s->squares / fmax(s->n[0], 1e-9);
}

static void bill_merge(st_graph *g, const st_node *x, bill *b) {
    const st_shape *s = st_at(g, x->kids[0])->shape, *t = st_at(g, x->kids[1])->shape;
    const st_class *body = st_at(g, x->kids[2]);
    double m = s ? s->n[0] : 1000, n = t ? t->n[0] : 1000;
    double most = s && s->below >= 0 ? st_size(g, s->below) : fmax(m, n);
    double matches = fmin(fmin(m, n), m * n / fmax(most, 1));
    b->cost = g->costs->loop + (m + n) * g->costs->merge;
    b->operations = matches * (body->depth == 0 && body->real);
    b->times[2] = matches;
}

/* Is the node {k -> {l -> v}}, with nothing between the keys, and k in a hash map? */
static bool inner_key(st_graph *g, const st_node *x) {
    const st_node *in = &g->node[st_at(g, x->kids[1])->first];
    return x->data[0] == TRA_CALC_HASH && (in->op == ST_DICT || (in->op == ST_NEST && in->data[0] == 0));
}

/* The cost of finding the place of a key. In a row of a large array all places are far away, once for the row. */
static void bill_place(st_graph *g, const st_node *x, bill *b) {
    const tra_storel_costs *c = g->costs;
    int below = st_at(g, x->kids[0])->below;
    double own = below >= 0 ? fmax(st_size(g, below), 1) : 1, under = all_places(st_at(g, x->kids[1])->shape);
    switch ((unsigned)x->data[0]) {
    case ST_ROW: b->cost = in_order(g, x->kids[0]) ? c->element : c->row * far(g, own); return;
    case TRA_CALC_DENSE: break;
    default: b->cost = c->put; return;
    }
    bool ordered = in_order(g, x->kids[0]);
    b->cost = ordered ? c->element : c->insert * (under > 1 ? 1 : far(g, own));
    if (ordered || under <= 1) return;
    b->weighed = 1;
    b->weight = far(g, own * under) / far(g, under);
}

/* Fills the bill of a node; false if the node cannot be executed. */
static bool bill_of(st_graph *g, const st_node *x, bill *b) {
    const tra_storel_costs *c = g->costs;
    const st_class *self = st_at(g, x->cls);
    *b = (bill){.weighed = -1};
    for (int i = 0; i < x->nkids && i < 2 * ST_PARTS; i++) b->times[i] = 1;
    switch (x->op) {
    case ST_NEST: return false;
    case ST_NUM:
    case ST_VAR:
    case ST_NAME:
    case ST_EXTENT:
    case ST_SLICE:
    case ST_RANGE: return true;
    case ST_ADD:
    case ST_MUL:
        b->cost = self->depth ? 0 : (x->nkids - 1) * c->op;
        b->operations = self->depth || !self->real ? 0 : x->nkids - 1;
        return x->op == ST_ADD || self->depth == 0;
    case ST_NEG:
    case ST_DIV:
    case ST_MOD:
    case ST_CALL:
        b->cost = c->op * (x->op == ST_NEG ? 1 : 4);
        b->operations = self->real;
        return self->depth == 0;
    case ST_APPLY: b->cost = lookup_cost(g, x); return true;
    case ST_CMP:
    case ST_AND:
    case ST_OR:
    case ST_NOT: b->cost = c->branch; return true;
    case ST_IF: b->times[1] = st_selectivity(g, x->kids[0]); return true;
    case ST_LET: b->cost = build_cost(g, g->var[x->data[0]].shape); return true;
    case ST_SUM: bill_sum(g, x, b); return true;
    case ST_MERGE: bill_merge(g, x, b); return true;
    case ST_DICT:
        bill_place(g, x, b);
        b->operations = st_at(g, x->kids[1])->depth == 0 && self->real;
        /* each element has to find its row again, since rows are not filled one after the other */
        if (inner_key(g, x)) b->cost += c->put;
        return x->data[0] != 0;
    }
    return false;
}

/* ---- the cheapest ways ------------------------------------------------------------------------------------------- */

static int by_cost(const void *a, const void *b) {
    const st_way *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return 0;
}

/* Stable, so that plans do not depend on the library. */
static void sort_ways(st_way *v, int n) {
    for (int i = 1; i < n; i++) {
        st_way x = v[i];
        int k = i;
        for (; k > 0 && by_cost(&v[k - 1], &x) > 0; k--) v[k] = v[k - 1];
        v[k] = x;
    }
}

/* The ways to extract a node, the cheapest g->most of them. */
static int ways_of(st_graph *g, int node, st_way *out) {
    const st_node x = g->node[node];
    bill b;
    int n = 1;
    if (!bill_of(g, &x, &b)) return 0;
    for (int i = 0; i < x.nkids; i++)
        if (!st_ways(g, x.kids[i])) return 0;
    out[0] = (st_way){node, b.cost, b.operations, tra_news(g->arena, int, x.nkids)};
    st_way *all = tra_malloc((size_t)g->most * (size_t)g->most * sizeof *all);
    for (int i = 0; i < x.nkids; i++) {
        const st_class *c = st_at(g, x.kids[i]);
        int m = 0;
        for (int k = 0; k < n; k++)
            for (int w = 0; w < c->nways; w++) {
                st_way *y = &all[m++];
                *y = out[k];
                y->cost += b.times[i] * (i == b.weighed ? b.weight : 1) * c->ways[w].cost;
                y->operations += b.times[i] * c->ways[w].operations;
                if (c->nways > 1) {
                    y->kid = tra_news(g->arena, int, x.nkids);
                    memcpy(y->kid, out[k].kid, (size_t)x.nkids * sizeof *y->kid);
                }
                y->kid[i] = w;
            }
        sort_ways(all, m);
        n = m < g->most ? m : g->most;
        memcpy(out, all, (size_t)n * sizeof *out);
    }
    free(all);
    return n;
}

static bool attained(st_graph *g, const st_node *x, st_set free) {
    st_set in = 0;
    if (x->op == ST_VAR) return (free & st_bit((int)x->data[0])) != 0;
    for (int i = 0; i < x->nkids; i++) in |= st_at(g, x->kids[i])->free;
    for (int i = 0; i < (x->op == ST_LET ? 1 : x->op == ST_SUM ? 2 : x->op == ST_MERGE ? 3 : 0); i++)
        in &= ~st_bit((int)x->data[i]);
    return !(in & ~free);
}

bool st_ways(st_graph *g, int cls) {
    cls = st_find(g, cls);
    st_class *c = &g->class[cls];
    if (c->state) return c->state == 2 && c->nways > 0;
    c->state = 1;
    st_way *all = tra_malloc((size_t)g->most * 2 * sizeof *all);
    int n = 0;
    for (int i = c->first; i >= 0; i = g->node[i].next) {
        if (!attained(g, &g->node[i], c->free)) continue;
        n += ways_of(g, i, all + n);
        sort_ways(all, n);
        if (n > g->most) n = g->most;
    }
    c->ways = tra_news(g->arena, st_way, n);
    if (n) memcpy(c->ways, all, (size_t)n * sizeof *all);
    c->nways = n;
    c->state = 2;
    free(all);
    return n > 0;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

typedef struct writer {
    st_graph *g;
    tra_str out;
    const char *name[ST_MOSTVARS];
} writer;

bool st_is_word(const char *name) {
    static const char *const words[] = {"sum",
                                        "let",
                                        "in",
                                        "if",
                                        "then",
                                        "merge",
                                        "extent",
                                        "_",
#define X(id, least, most, text) text,
                                        TRA_CALC_FUNCTIONS(X)
#undef X
    };
    return TRA_FIND_ROW(words, name) >= 0;
}

static bool taken(const writer *w, const char *name) {
    if (st_is_word(name)) return true;
    for (int i = 0; i < w->g->p->n; i++)
        if (strcmp(w->g->p->scope[i].name, name) == 0) return true;
    for (int i = 0; i < w->g->nvars; i++)
        if (w->name[i] && strcmp(w->name[i], name) == 0) return true;
    return false;
}

static const char *name_of(writer *w, int var) {
    if (w->name[var]) return w->name[var];
    const char *base = w->g->var[var].name, *name = base;
    for (int i = 2; taken(w, name); i++) name = tra_arena_printf(w->g->arena, "%s_%d", base, i);
    return w->name[var] = name;
}

static void write(writer *w, int cls, int way);

/* A name, or _ where the body does not use it. */
static void write_binder(writer *w, int64_t var, int body) {
    bool used = var >= 0 && st_at(w->g, body)->free & st_bit((int)var);
    tra_str_add(&w->out, used ? name_of(w, (int)var) : "_");
}

static void write_in(writer *w, const char *before, int cls, int way, const char *after) {
    tra_str_add(&w->out, before);
    write(w, cls, way);
    tra_str_add(&w->out, after);
}

static void write_number(writer *w, const st_node *x) {
    char buf[32];
    double real;
    if (!x->data[0]) {
        tra_str_printf(&w->out, "%" PRId64, x->data[1]);
        return;
    }
    memcpy(&real, &x->data[1], sizeof real);
    tra_exactly(real, buf);
    tra_str_printf(&w->out, "%s%s", buf, strpbrk(buf, ".e") ? "" : ".0");
}

static const st_node *node_of(writer *w, int cls, int way) { return &w->g->node[st_at(w->g, cls)->ways[way].node]; }

static void write_dict(writer *w, const st_node *x, const int *kid) {
    int64_t notes = x->data[0];
    const st_node *in = x;
    const int *ways = kid;
    int n = 1;
    for (;; n++) {
        const st_node *next = node_of(w, in->kids[1], ways[1]);
        if (next->op != ST_DICT || next->data[0] != notes) break;
        ways = st_at(w->g, in->kids[1])->ways[ways[1]].kid;
        in = next;
    }
    tra_str_add(&w->out, notes == TRA_CALC_DENSE || notes == ST_ROW ? "{@dense " : "{@hash ");
    if (n > 1) tra_str_add(&w->out, "(");
    for (int i = 0; i < n; i++) {
        write_in(w, i ? ", " : "", x->kids[0], kid[0], "");
        if (i + 1 == n) break;
        const st_way *next = &st_at(w->g, x->kids[1])->ways[kid[1]];
        x = &w->g->node[next->node];
        kid = next->kid;
    }
    tra_str_add(&w->out, n > 1 ? ") -> " : " -> ");
    write_in(w, "", x->kids[1], kid[1], "}");
}

static void write_list(writer *w, const st_node *x, const int *kid, const char *between) {
    /* numbers are written last in sums, and first in products */
    int last = -1;
    for (int i = 0; i < x->nkids && x->op == ST_ADD; i++)
        if (node_of(w, x->kids[i], kid[i])->op == ST_NUM) last = i;
    bool first = true;
    for (int k = 0; k < x->nkids + (last >= 0); k++) {
        if (k == last) continue;
        int i = k == x->nkids ? last : k;
        const st_node *in = node_of(w, x->kids[i], kid[i]);
        if (!first && x->op == ST_ADD && in->op == ST_NEG) {
            const st_way *way = &st_at(w->g, x->kids[i])->ways[kid[i]];
            write_in(w, " - (", in->kids[0], way->kid[0], ")");
        } else if (!first && x->op == ST_ADD && in->op == ST_NUM && !in->data[0] && in->data[1] < 0 &&
                   in->data[1] != INT64_MIN) {
            tra_str_printf(&w->out, " - %" PRId64, -in->data[1]);
        } else {
            tra_str_add(&w->out, first ? "" : between);
            write_in(w, "(", x->kids[i], kid[i], ")");
        }
        first = false;
    }
}

static void write_binder_node(writer *w, const st_node *x, const int *kid) {
    if (x->op == ST_LET) {
        tra_str_add(&w->out, "let ");
        write_binder(w, x->data[0], x->kids[1]);
        write_in(w, " = ", x->kids[0], kid[0], " in ");
        write(w, x->kids[1], kid[1]);
        return;
    }
    bool merge = x->op == ST_MERGE;
    int body = x->nkids - 1;
    tra_str_add(&w->out, merge ? "merge(<" : "sum(<");
    for (int i = 0; i < 2 + merge; i++) {
        if (i) tra_str_add(&w->out, ", ");
        write_binder(w, x->data[i], x->kids[body]);
    }
    write_in(w, merge ? "> in <" : "> in ", x->kids[0], kid[0], "");
    if (merge) write_in(w, ", ", x->kids[1], kid[1], ">");
    tra_str_add(&w->out, ") ");
    write(w, x->kids[body], kid[body]);
}

static void write(writer *w, int cls, int way) {
    const st_way *y = &st_at(w->g, cls)->ways[way];
    const st_node *x = &w->g->node[y->node];
    static const char *const comparison[] = {"<", "<=", ">", ">=", "==", "!="};
    switch (x->op) {
    case ST_NUM: write_number(w, x); return;
    case ST_VAR: tra_str_add(&w->out, name_of(w, (int)x->data[0])); return;
    case ST_NAME: tra_str_add(&w->out, w->g->p->scope[x->data[0]].name); return;
    case ST_EXTENT:
        tra_str_printf(&w->out, "extent(%s, %" PRId64 ")", w->g->p->scope[x->data[0]].name, x->data[1]);
        return;
    case ST_ADD: write_list(w, x, y->kid, " + "); return;
    case ST_MUL: write_list(w, x, y->kid, " * "); return;
    case ST_DIV: write_list(w, x, y->kid, " / "); return;
    case ST_MOD: write_list(w, x, y->kid, " % "); return;
    case ST_AND: write_list(w, x, y->kid, " && "); return;
    case ST_OR: write_list(w, x, y->kid, " || "); return;
    case ST_RANGE: write_list(w, x, y->kid, ":"); return;
    case ST_CMP: write_list(w, x, y->kid, comparison[x->data[0] - TRA_CALC_LT]); return;
    case ST_NEG: write_in(w, "-(", x->kids[0], y->kid[0], ")"); return;
    case ST_NOT: write_in(w, "!(", x->kids[0], y->kid[0], ")"); return;
    case ST_CALL:
        tra_str_printf(&w->out, "%s(",
                       (const char *const[]){
#define X(id, least, most, text) text,
                           TRA_CALC_FUNCTIONS(X)
#undef X
                       }[x->data[0]]);
        for (int i = 0; i < x->nkids; i++) write_in(w, i ? ", " : "", x->kids[i], y->kid[i], "");
        tra_str_add(&w->out, ")");
        return;
    case ST_APPLY:
        write_in(w, "(", x->kids[0], y->kid[0], ")(");
        write_in(w, "", x->kids[1], y->kid[1], ")");
        return;
    case ST_SLICE:
        write_in(w, "(", x->kids[0], y->kid[0], ")((");
        write_in(w, "", x->kids[1], y->kid[1], "):(");
        write_in(w, "", x->kids[2], y->kid[2], "))");
        return;
    case ST_IF:
        write_in(w, "if (", x->kids[0], y->kid[0], ") ");
        write(w, x->kids[1], y->kid[1]);
        return;
    case ST_DICT: write_dict(w, x, y->kid); return;
    case ST_LET:
    case ST_SUM:
    case ST_MERGE: write_binder_node(w, x, y->kid); return;
    case ST_NEST: return;
    }
}

const tra_calc *st_extract(st_graph *g, int cls, int way, tra_err *e) {
    writer w = {.g = g};
    tra_calc_error err = {0};
    write(&w, cls, way);
    char *text = tra_arena_strndup(g->arena, tra_str_get(&w.out), w.out.n);
    tra_str_free(&w.out);
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), g->arena, &err);
    if (x && tra_calc_check(x, g->p->n, g->p->scope, g->arena, &err)) return x;
    tra_fail(e, TRA_INTERNAL, "a plan of the optimizer is no program: %s in %s", err.msg, text);
    return NULL;
}
