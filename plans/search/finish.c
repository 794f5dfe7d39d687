/* finish.c - from a complete state of the search to a plan with exact costs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/run/memory.h"
#include "search_int.h"

typedef struct finish {
    search *s;
    tra_plan *plan;
    int n;
    const step **v; /* in order; v[i] makes operator i */
    int *own;       /* place of each input of the graph */
} finish;

static int id_of(const finish *f, const step *x) {
    for (int i = f->n - 1; i >= 0; i--) {
        if (f->v[i] == x) return i;
    }
    assert(!"a step's input precedes it");
    return -1;
}

/* An input that is used only in copies: of itself it is where the fewest bytes move. */
static int own_place(finish *f, const tra_node *n) {
    search *s = f->s;
    int best = -1;
    int64_t least = 0;
    places c = {0};
    c.v = tra_malloc((size_t)(s->want[n->id].n + f->n * (TRA_MAXDIM + 1)) * sizeof *c.v);
    for (int i = 0; i < f->n; i++) { /* the first of the copies, or tuples dealt out over where the copies are */
        if (f->v[i]->node != n || !f->v[i]->in[0] || f->v[i]->in[0]->op != TRA_PLAN_INPUT) continue;
        for (int d = 0; d < n->type.cat->frontier.n; d++) {
            tra_placement p = s->place[f->v[i]->place];
            bool cut = false; /* by d already: a second axis would follow the first */
            for (int x = 0; x < p.naxes; x++) {
                for (int j = 0; j < p.axis[x].n; j++) cut |= p.axis[x].dim[j] == d;
            }
            for (int x = 0; x < p.naxes; x++) {
                if (p.axis[x].kind != TRA_AXIS_COPY || cut) continue;
                p.axis[x] = (tra_axis){.kind = TRA_AXIS_PART,
                                       .sites = p.axis[x].sites,
                                       .n = 1,
                                       .dim = {(int8_t)d},
                                       .ext = {n->type.cat->frontier.v[d]}};
            }
            if (tra_place_offered(&p, n->type.cat)) c.v[c.n++] = place_intern(s, &p);
        }
        break;
    }
    for (int i = 0; i < s->want[n->id].n; i++) c.v[c.n++] = s->want[n->id].v[i];
    for (int j = 0; j < c.n; j++) {
        int64_t moved = 0;
        if (tra_place_copies(&s->place[c.v[j]]) > 1) continue;
        for (int i = 0; i < f->n; i++) {
            if (f->v[i]->node == n && f->v[i]->in[0] && f->v[i]->in[0]->op == TRA_PLAN_INPUT &&
                (f->v[i]->op == TRA_PLAN_SHUF || f->v[i]->op == TRA_PLAN_BCAST))
                moved += move_traffic(s, n, false, c.v[j], f->v[i]->place).moved;
        }
        if (best < 0 || moved < least) best = c.v[j], least = moved;
    }
    free(c.v);
    assert(best >= 0);
    return best;
}

static int place_of(const finish *f, const step *x) { return x->op == TRA_PLAN_INPUT ? f->own[x->node->id] : x->place; }

static void set_traffic(tra_op *o, tra_traffic t, const tra_rates *rates) {
    int64_t size = (int64_t)tra_dtype_size(o->type.dtype);
    o->cost.network_floats = t.floats;
    o->cost.network_bytes = t.moved * size;
    o->cost.seconds = (double)(t.most * size) / rates->network; /* of the network; tra_plan_seconds adds the rest */
}

static void set_work(tra_op *o, tra_work w) {
    o->cost.flops = w.total;
    o->cost.flops_max = w.busiest;
}

static const char *strategy_of(const state *st, const tra_node *join) {
    for (const strategy *x = st->strategies; x; x = x->prev) {
        if (x->join == join->id) return x->text;
    }
    return NULL;
}

static void set_join(finish *f, tra_op *o, const tra_node *join, const state *st) {
    search *s = f->s;
    int l = place_of(f, f->v[o->in[0]]), r = place_of(f, f->v[o->in[1]]);
    const char *name = strategy_of(st, join);
    o->join = join->kernel;
    o->joinl = join->joinl;
    o->joinr = join->joinr;
    o->strategy = tra_arena_printf(s->a, "%s", name);
    tra_placement pairs = tra_join_place(&s->labels[join->id], &s->place[l], &s->place[r]);
    set_work(o, step_work(s, TRA_PLAN_JOIN, join, place_intern(s, &pairs)));
    if (s->o->sites > 1) o->rules = strncmp(name, "rmm", 3) == 0 ? "D-1" : "R2-6";
}

static void add_op(finish *f, const step *x, int id, const state *st) {
    search *s = f->s;
    const tra_node *n = x->node;
    tra_op *o = &f->plan->ops[id];
    tra_work w;
    *o = (tra_op){.id = id, .op = x->op, .in = {-1, -1}, .type = n->type, .place = s->place[place_of(f, x)]};
    for (int i = 0; i < 2 && x->in[i]; i++) o->in[i] = id_of(f, x->in[i]);
    int p = x->in[0] ? place_of(f, x->in[0]) : -1;
    if (x->partial)
        o->type = s->partial[n->id];
    else if (x->op != TRA_PLAN_SHUF && x->op != TRA_PLAN_BCAST)
        o->name = n->name;
    o->partial = x->partial && x->op != TRA_PLAN_SHUF;
    switch (x->op) {
    case TRA_PLAN_INPUT:
        o->path = n->path;
        o->scratch = n->rel ? (int64_t)tra_rel_scratch(n->rel) : 0;
        break;
    case TRA_PLAN_OUTPUT: break; /* by the caller */
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY: o->keyfn = n->keyfn; break;
    case TRA_PLAN_MAP:
        o->map = n->kernel;
        set_work(o, step_work(s, TRA_PLAN_MAP, n, p));
        break;
    case TRA_PLAN_TILE: o->dim = n->dim, o->size = n->size; break;
    case TRA_PLAN_CONCAT: o->dim = n->dim, o->keydim = n->keydim; break;
    case TRA_PLAN_REPART: set_traffic(o, repart_traffic(s, n, p, x->place), &s->o->rates); break;
    case TRA_PLAN_JOIN: set_join(f, o, n, st); break;
    case TRA_PLAN_JOINAGG:
        set_join(f, o, n->in[0], st);
        o->agg = n->kernel;
        o->group = n->group;
        if (s->o->sites > 1) o->rules = tra_arena_printf(s->a, "%s %s", o->rules, x->partial ? "R2-5" : "R2-4");
        break;
    case TRA_PLAN_AGG:
        o->agg = n->kernel;
        o->group = n->group;
        set_work(o, step_work(s, TRA_PLAN_AGG, n, p));
        if (x->partial)
            o->rules = "R2-5";
        else if (s->o->sites > 1 && x->in[0]->op != TRA_PLAN_SHUF)
            o->rules = "R2-4";
        break;
    case TRA_PLAN_MERGE:
        o->agg = n->kernel;
        for (int d = 0; d < n->type.cat->frontier.n; d++) o->group.v[o->group.n++] = d;
        w = step_work(s, TRA_PLAN_MERGE, n, x->place);
        {
            double c = tra_place_summands(&s->place[x->in[0]->in[0]->place]);
            set_work(o, (tra_work){c * w.total, c * w.busiest});
        }
        break;
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF: set_traffic(o, move_traffic(s, n, x->partial, p, x->place), &s->o->rates); break;
    case TRA_PLAN_COUNT: break;
    }
}

static void add_rule(tra_str *rules, const char *text) {
    while (text && *text) {
        size_t n = strcspn(text, " ");
        char one[32];
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        if (!strstr(tra_str_get(rules), one)) tra_str_printf(rules, "%s%s", rules->n ? " " : "", one);
        text += n + strspn(text + n, " ");
    }
}

/* The strategies of the joins in program order. */
static const char *strategies(search *s, const state *st) {
    tra_str text = {0};
    for (int i = 0; i < s->g->n; i++) {
        const char *one = s->needed[i] && s->g->v[i]->op == TRA_OP_JOIN ? strategy_of(st, s->g->v[i]) : NULL;
        if (one) tra_str_printf(&text, "%s%s", text.n ? " " : "", one);
    }
    const char *out = tra_arena_strndup(s->a, tra_str_get(&text), text.n);
    tra_str_free(&text);
    return out;
}

static void sum_up(tra_plan *p) {
    tra_str rules = {0};
    for (int i = 0; i < p->nops; i++) {
        const tra_cost *c = &p->ops[i].cost;
        p->cost.network_floats += c->network_floats;
        p->cost.network_bytes += c->network_bytes;
        p->cost.disk_read += c->disk_read;
        p->cost.disk_write += c->disk_write;
        p->cost.flops += c->flops;
        p->cost.flops_max += c->flops_max; /* a bound: not always the same site */
        add_rule(&rules, p->ops[i].rules);
    }
    p->rules = tra_arena_strndup(p->arena, tra_str_get(&rules), rules.n);
    tra_str_free(&rules);
}

tra_plan *finish_plan(search *s, const state *st) {
    finish f = {.s = s, .plan = tra_new(s->a, tra_plan)};
    int total = 0, at;
    f.own = tra_news(s->work, int, s->g->n);
    for (int i = 0; i < s->g->n; i++) f.own[i] = -1;
    for (const step *x = st->last; x; x = x->prev) {
        if ((int)x->op == OWN)
            f.own[x->node->id] = x->place;
        else
            total++;
    }
    f.v = tra_news(s->work, const step *, total);
    f.n = at = total;
    for (const step *x = st->last; x; x = x->prev) {
        if ((int)x->op != OWN) f.v[--at] = x;
    }
    for (int i = 0; i < total; i++) {
        const tra_node *n = f.v[i]->node;
        if (f.v[i]->op == TRA_PLAN_INPUT && f.own[n->id] < 0)
            f.own[n->id] = f.v[i]->place != ANY ? f.v[i]->place : own_place(&f, n);
    }
    tra_plan *p = f.plan;
    *p = (tra_plan){
        .arena = s->a, .sites = s->o->sites, .memory = s->o->memory, .compress = s->o->compress, .nops = total};
    p->ops = tra_news(s->a, tra_op, total);
    p->strategy = strategies(s, st);
    int *written = tra_news(s->work, int, s->g->n); /* outputs of each node so far */
    for (int i = 0; i < total; i++) {
        const step *x = f.v[i];
        add_op(&f, x, i, st);
        if (x->op != TRA_PLAN_OUTPUT) continue;
        for (int j = 0, seen = 0; j < s->g->noutputs; j++) {
            if (s->g->outputs[j].node != x->node || seen++ != written[x->node->id]) continue;
            p->ops[i].name = s->g->outputs[j].name;
            p->ops[i].path = s->g->outputs[j].path;
        }
        written[x->node->id]++;
    }
    p->least_memory = tra_plan_memory(p, s->o->threads);
    int64_t peak = p->cost.peak_memory;
    p->cost = (tra_cost){0};
    sum_up(p);
    p->cost.peak_memory = peak;
    tra_plan_seconds(p, &s->o->rates);
    return p;
}
