/* finish.c - from a complete set of supplies to a plan with exact costs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/physical/memory.h"
#include "../../lib/physical/repart.h"
#include "../rules/fused.h"
#include "finish.h"

static const tra_node *node_of(const finish *f, int g) { return &supply_at(f, g)->m->f->x->node; }

/* The demand with the most copies; -1: none wants more than one. */
static int most_copies(const search *s, const supply *x) {
    int best = -1, most = 1;
    for (int i = 0; i < x->n; i++) {
        int c = tra_place_copies(&s->places.v[x->demand[i]]);
        if (c > most) best = i, most = c;
    }
    return best;
}

/* Is the group an input without a given place of which copies are wanted, and may each site read its own? */
static bool may_read(const finish *f, int g) {
    const supply *x = supply_at(f, g);
    return x->m->out == ANY && most_copies(f->s, x) >= 0 && tra_may_read_all(f->s, node_of(f, g));
}

/* Is demand i served from where the group's relation is made, not from another demand? */
static bool from_start(const supply *x, int i) { return supply_from(x)[i] < 0 || supply_from(x)[i] == i; }

/* The placement by which sites read an input that has no given place: that of one of its demands; or, if all demands
 * want copies and these are sent, the one from which the fewest bytes move. */
static int own_place(finish *f, int g) {
    search *s = f->s;
    const supply *x = supply_at(f, g);
    const tra_node *n = node_of(f, g);
    const numbers *demand = &s->group[g].demand;
    int best = -1;
    int64_t least = 0;
    numbers c = {0};
    bool copies = x->own >= 0 && tra_place_copies(&s->places.v[x->demand[x->own]]) > 1;
    if (f->reading == READ && may_read(f, g)) return x->demand[most_copies(s, x)];
    if (x->own >= 0 && !(copies && f->reading == SENT)) return x->demand[x->own];
    for (int i = 0; i < x->n; i++)
        if (tra_place_copies(&s->places.v[x->demand[i]]) == 1) return x->demand[i];
    for (int d = 0; x->n > 0 && d < n->type.cat->frontier.n;
         d++) { /* candidates: partitions along the axes of the first copies */
        tra_placement p = s->places.v[x->demand[0]];
        bool cut = false; /* by d already: a second axis would only repeat the first */
        for (int i = 0; i < p.naxes; i++) {
            for (int j = 0; j < p.axis[i].n; j++) cut |= p.axis[i].dim[j] == d;
        }
        for (int i = 0; i < p.naxes; i++) {
            if (p.axis[i].kind != TRA_AXIS_COPY || cut) continue;
            p.axis[i] = (tra_axis){.kind = TRA_AXIS_PART,
                                   .sites = p.axis[i].sites,
                                   .n = 1,
                                   .dim = {(int8_t)d},
                                   .ext = {n->type.cat->frontier.v[d]}};
        }
        if (tra_place_keeps_busy(&p, n->type.cat)) tra_add_number(&c, tra_place_intern(s, &p));
    }
    for (int i = 0; i < demand->n; i++) tra_add_number(&c, demand->v[i]);
    for (int j = 0; j < c.n; j++) {
        int64_t moved = 0;
        spent none = {0};
        if (tra_place_copies(&s->places.v[c.v[j]]) > 1) continue;
        for (int i = 0; i < x->n; i++) {
            if (from_start(x, i)) moved += tra_add_move(s, &none, n, c.v[j], x->demand[i]);
        }
        if (best < 0 || moved < least) best = c.v[j], least = moved;
    }
    free(c.v);
    assert(best >= 0);
    return best;
}

static void set_traffic(const tra_plan *p, tra_op *o, tra_traffic t, const tra_rates *rates) {
    tra_cost *cost = &o->predicted.cost;
    tra_size all = tra_type_entries(&o->type);
    bool dense = !o->type.layout || t.floats == 0, whole = tra_op_is(o->op, TRA_FORWARDS);
    cost->network_floats = t.floats * tra_type_held_share(&o->type);
    cost->network_floats_bound =
        dense ? t.floats : t.floats * (double)all.bound / (double)tra_catalog_elements(o->type.cat);
    if (dense)
        cost->network_bytes = tra_type_bytes_of(&o->type, t.moved);
    else if (whole)
        cost->network_bytes = tra_moved_bytes(&p->ops[o->in[0]].place, &o->place, &o->type, t);
    else /* a repartition, of which a piece may go to every site */
        cost->network_bytes =
            tra_type_bytes_pieces(&o->type, t.moved, tra_mul_most(tra_repart_pieces(p, o), o->place.sites));
    /* of the network; tra_plan_seconds adds the rest */
    cost->seconds = tra_network_seconds(rates, (double)tra_type_bytes_of(&o->type, t.most).expected,
                                        (double)tra_type_bytes_of(&o->type, t.both).expected);
}

static void set_work(tra_op *o, tra_work w) {
    o->predicted.cost.flops = w.total;
    o->predicted.cost.flops_bound = w.bound;
    o->predicted.cost.flops_max = w.busiest;
}

static void set_join(finish *f, tra_op *o, const implementation *m) {
    search *s = f->s;
    const tra_node *join = &m->f->join->node;
    const tra_placement *l = &s->places.v[m->in[0]], *r = &s->places.v[m->in[1]];
    char name[48];
    o->spec.join = join->kernel;
    o->spec.joinl = join->join.l;
    o->spec.joinr = join->join.r;
    tra_join_strategy_text(tra_join_strategy(s->labels[join->id], l, r, m->f->later), name, sizeof name);
    o->strategy = tra_arena_printf(f->plan->arena, "%s%s", tra_kernel_pace(join->kernel) > 0 ? "fused " : "", name);
    tra_placement pairs = tra_join_place(s->labels[join->id], l, r);
    int p = tra_place_intern(s, &pairs);
    o->spec.triangle = o->op == TRA_PLAN_JOINAGG && m->f->triangle;
    set_work(o, o->spec.triangle ? tra_join_work(s, m->f, p) : tra_step_work(s, TRA_PLAN_JOIN, join, p));
}

static void set_exchange(finish *f, tra_op *o, const part *x, int from) {
    search *s = f->s;
    bool fresh = true;
    agreed *y = o->holds ? tra_agreed_of(s, x->node, from, x->place, &fresh) : NULL;
    if (fresh)
        set_traffic(f->plan, o, tra_exact_traffic(s, x->node, x->partial, from, x->place), &s->o->rates);
    else
        o->predicted.cost = y->moving;
    if (y) y->moving = o->predicted.cost;
    o->predicted.network_seconds = o->predicted.cost.seconds;
}

static void add_op(finish *f, int id) {
    search *s = f->s;
    const part *x = &f->v[id];
    const implementation *m = supply_at(f, x->group)->m;
    const tra_node *n = x->node;
    tra_op *o = &f->plan->ops[id];
    *o = (tra_op){.id = id,
                  .loop = x->loop,
                  .op = x->op,
                  .in = {x->in[0], x->in[1]},
                  .type = n->type,
                  .place = s->places.v[x->place]};
    o->spec.loop = x->of_loop, o->spec.item = x->item, o->spec.column = x->column;
    int p = x->in[0] >= 0 ? f->v[x->in[0]].place : -1;
    o->spec.program = f->program->text ? f->program : NULL;
    o->spec.text_at = x->op == TRA_PLAN_REQUIRE ? x->item : n->span.at;
    if (x->partial)
        o->type = m->f->summand;
    else if (!tra_op_is(x->op, TRA_FORWARDS))
        o->spec.name = n->name;
    if (x->name) o->spec.name = x->name;
    o->spec.partial = x->partial && x->op != TRA_PLAN_SHUF;
    tra_finish_hold(f->plan, o);
    bool made = n->id < 0; /* of the plan alone (tra_finish_as_state): the search knows nothing of it */
    if (!made && !x->partial && o->type.layout == n->type.layout && o->type.entries == n->type.entries)
        o->holds = tra_holds_of(s, n, x->place);
    switch (x->op) {
    case TRA_PLAN_INPUT:
    case TRA_PLAN_READALL:
        o->spec.path = n->input.path;
        o->spec.transposed = n->input.transposed != NULL;
        o->spec.turn = tra_reading_kernel(s, n);
        set_work(o, tra_reading_work(s, n, x->place));
        o->spec.read_scratch = n->input.rel ? (int64_t)tra_rel_scratch_bytes(n->input.rel) : 0;
        o->spec.unpack_bytes = n->input.rel ? (int64_t)tra_rel_unpack_bytes(n->input.rel) : 0;
        o->spec.hdf5_bytes = n->input.rel ? tra_rel_library_bytes(n->input.rel) : 0;
        break;
    case TRA_PLAN_OUTPUT: {
        const tra_output *of = &s->m->g->outputs[x->item];
        o->spec.item = 0;
        o->spec.name = of->name;
        o->spec.path = of->path;
        o->spec.target = of->target;
        o->spec.levels = of->turned ? &of->turned->levels : of->stored.levels;
        o->spec.turned = of->turned;
        o->spec.labels = of->labels;
        o->spec.units = of->units;
        o->spec.mapping = of->stored.mapping;
        break;
    }
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY: o->spec.keyfn = n->keyfn; break;
    case TRA_PLAN_MAP:
        o->spec.map = n->kernel;
        set_work(o, made ? tra_work_each(n->kernel, TRA_USE_MAP, &n->in[0]->type, &s->places.v[p])
                         : tra_step_work(s, TRA_PLAN_MAP, n, p));
        break;
    case TRA_PLAN_TILE: o->spec.dim = n->dim, o->spec.size = n->size; break;
    case TRA_PLAN_CONCAT: o->spec.dim = n->dim, o->spec.keydim = n->keydim, o->spec.most_rows = n->most; break;
    case TRA_PLAN_REPART:
        o->spec.origin = n->slice.origin;
        o->spec.origins = n->slice.turn ? n->slice.origins : NULL;
        o->spec.norigins = n->slice.norigins;
        o->spec.origins_digest = n->slice.digest;
        o->spec.loop = n->slice.turn ? n->slice.turn->input.loop : -1;
        set_traffic(f->plan, o, tra_repart_traffic(s, n, p, x->place), &s->o->rates);
        break;
    case TRA_PLAN_JOIN: set_join(f, o, m); break;
    case TRA_PLAN_JOINAGG:
        set_join(f, o, m);
        o->spec.agg = n->kernel;
        o->spec.term = n->in[0]->type.dtype;
        o->spec.group = n->group;
        break;
    case TRA_PLAN_AGG:
        o->spec.agg = n->kernel;
        o->spec.term = n->in[0]->type.dtype;
        o->spec.group = n->group;
        set_work(o, tra_step_work(s, TRA_PLAN_AGG, n, p));
        break;
    case TRA_PLAN_MERGE: {
        tra_work w = tra_step_work(s, TRA_PLAN_MERGE, n, x->place);
        double c = tra_place_summands(&s->places.v[m->between]);
        o->spec.agg = n->kernel;
        o->spec.term = n->in[0]->type.dtype;
        for (int d = 0; d < n->type.cat->frontier.n; d++) o->spec.group.v[o->spec.group.n++] = d;
        set_work(o, (tra_work){c * w.total, c * w.busiest, c * w.bound});
        break;
    }
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF: set_exchange(f, o, x, p); break;
    case TRA_PLAN_LOOP_OPS:
    case TRA_PLAN_COUNT: break;
    }
}

/* A repartition that only a filter reads makes no other blocks than those that are kept: those on a diagonal. */
static void cut_what_is_kept(finish *f) {
    tra_plan *p = f->plan;
    int *readers = tra_news(f->work, int, p->nops);
    for (int i = 0; i < p->nops; i++)
        for (int j = 0; j < 2 && p->ops[i].in[j] >= 0; j++)
            readers[p->ops[i].in[j]] += j == 0 || p->ops[i].in[0] != p->ops[i].in[1];
    for (int i = 0; i < p->nops; i++) {
        tra_op *o = &p->ops[i], *cut = o->op == TRA_PLAN_FILTER ? &p->ops[o->in[0]] : o;
        const tra_catalog *kept = o->type.cat;
        if (cut == o || cut->op != TRA_PLAN_REPART || readers[cut->id] != 1 || cut->spec.origins ||
            !tra_dims_eq(&kept->frontier, &cut->type.cat->frontier) || !tra_place_eq(&o->place, &cut->place))
            continue;
        const tra_op *from = &p->ops[cut->in[0]];
        cut->type.cat = kept;
        cut->type.entries = o->type.entries;
        cut->holds = NULL;
        tra_traffic t = tra_traffic_repart(&from->place, &from->type, &cut->place, &cut->type, &cut->spec.origin);
        set_traffic(p, cut, t, &f->s->o->rates);
    }
}

/* The join of the program from which rules made this join; the join itself if that cannot be told. */
static const tra_expr *origin(const tra_memo *m, const tra_expr *x) {
    for (bool found = true; x->rule && x->equality >= 0 && found;) {
        const tra_equality *q = &m->equal[x->equality];
        int from[3] = {q->a, q->below[0], q->below[1]};
        found = false;
        for (int i = 0; i < 3 && !found; i++) {
            found = from[i] >= 0 && from[i] < x->node.id && m->v[from[i]]->node.op == TRA_OP_JOIN;
            if (found) x = m->v[from[i]];
        }
    }
    return x;
}

/* The strategies of the joins, in the order of the plan; with a star those of joins that the program does not have, or
 * that are done again. */
static const char *strategies(const finish *f) {
    const tra_plan *p = f->plan;
    bool *done = tra_calloc((size_t)f->s->m->n, sizeof *done);
    tra_str text = {0};
    for (int i = 0; i < p->nops; i++) {
        if (!p->ops[i].strategy) continue;
        const tra_expr *join = origin(f->s->m, supply_at(f, f->v[i].group)->m->f->join);
        bool own = (!join->rule || join->rule == &tra_rule_fused) && !done[join->node.id];
        done[join->node.id] = true;
        tra_str_printf(&text, "%s%s%s", text.n ? " " : "", p->ops[i].strategy, own ? "" : "*");
    }
    free(done);
    return tra_arena_take(p->arena, &text);
}

static void sum_up(tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        const tra_cost *c = &p->ops[i].predicted.cost;
        double times = tra_op_times(p, &p->ops[i]);
        p->cost.network_floats += times * c->network_floats;
        p->cost.network_floats_bound += times * c->network_floats_bound;
        p->cost.network_bytes = tra_size_add(p->cost.network_bytes, tra_size_times(c->network_bytes, (int64_t)times));
        p->cost.flops += times * c->flops;
        p->cost.flops_bound += times * c->flops_bound;
        p->cost.flops_max += times * c->flops_max; /* a bound: not always the same site */
    }
}

/* ---- the order of operators ------------------------------------------------------------------------------------- */

int tra_finish_push(finish *f, part x) {
    TRA_ROOM(f->v, f->n, f->cap);
    x.loop = f->loop;
    f->v[f->n] = x;
    return f->n++;
}

int tra_finish_bring(finish *f, int g, int place) {
    const supply *x = supply_at(f, g);
    int i = 0;
    if (f->v[f->at[g][0]].place == place) return f->at[g][0];
    while (i < x->n && x->demand[i] != place) i++;
    assert(i < x->n);
    if (f->at[g][i + 1] >= 0) return f->at[g][i + 1];
    int from = from_start(x, i) ? f->at[g][0] : tra_finish_bring(f, g, x->demand[supply_from(x)[i]]);
    tra_plan_op op = tra_place_is_all(&f->s->places.v[place]) ? TRA_PLAN_BCAST : TRA_PLAN_SHUF;
    return f->at[g][i + 1] = tra_finish_push(
               f, (part){.op = op, .group = g, .node = node_of(f, g), .in = {from, -1}, .place = place});
}

void tra_finish_outputs(finish *f, int g) {
    for (int i = 0; i < f->s->group[g].outputs.n; i++) {
        int at = f->at[g][0];
        tra_finish_push(f, (part){.op = TRA_PLAN_OUTPUT,
                                  .group = g,
                                  .node = f->v[at].node,
                                  .in = {at, -1},
                                  .place = f->v[at].place,
                                  .item = f->s->group[g].outputs.v[i]});
    }
}

void tra_finish_emit(finish *f, int g) {
    if (f->at[g] || tra_finish_leaf(f, g)) return;
    search *s = f->s;
    const supply *x = supply_at(f, g);
    const implementation *m = x->m;
    const tra_node *n = &m->f->x->node;
    part p = {.op = tra_operator_of(n->op), .group = g, .node = n, .in = {-1, -1}, .place = m->out};
    if (p.op == TRA_PLAN_AGG && m->f->join) p.op = TRA_PLAN_JOINAGG;
    for (int i = 0; i < 2 && m->f->in[i] >= 0; i++) {
        tra_finish_emit(f, m->f->in[i]);
    }
    for (int i = 0; i < 2 && m->f->in[i] >= 0; i++) p.in[i] = tra_finish_bring(f, m->f->in[i], m->in[i]);
    f->at[g] = tra_news(f->work, int, x->n + 1);
    for (int i = 0; i <= x->n; i++) f->at[g][i] = -1;
    f->order[f->norder++] = g;
    if (p.place == ANY) {
        p.place = own_place(f, g);
        if (tra_place_copies(&s->places.v[p.place]) > 1) p.op = TRA_PLAN_READALL;
    }
    if (m->between >= 0 && tra_place_is_partial(&s->places.v[m->between])) {
        p.place = m->between, p.partial = true;
        int local = tra_finish_push(f, p);
        p = (part){.op = TRA_PLAN_SHUF, .group = g, .node = n, .in = {local, -1}, .place = m->out, .partial = true};
        p = (part){.op = TRA_PLAN_MERGE, .group = g, .node = n, .in = {tra_finish_push(f, p), -1}, .place = m->out};
    } else if (m->between >= 0) {
        const tra_node *j = &m->f->join->node;
        tra_placement pairs = tra_join_place(s->labels[j->id], &s->places.v[m->in[0]], &s->places.v[m->in[1]]);
        p.op = TRA_PLAN_JOIN, p.node = j, p.place = tra_place_intern(s, &pairs);
        int from = tra_finish_push(f, p);
        if (p.place != m->between) {
            tra_plan_op op = tra_place_is_all(&s->places.v[m->between]) ? TRA_PLAN_BCAST : TRA_PLAN_SHUF;
            from = tra_finish_push(f, (part){.op = op, .group = g, .node = j, .in = {from, -1}, .place = m->between});
        }
        p = (part){.op = TRA_PLAN_AGG, .group = g, .node = n, .in = {from, -1}, .place = m->out};
    }
    f->at[g][0] = tra_finish_push(f, p);
    tra_finish_outputs(f, g);
}

static tra_choices choices_of(const finish *f) {
    search *s = f->s;
    tra_choice *v = tra_news(f->plan->arena, tra_choice, f->norder);
    for (int i = 0; i < f->norder; i++) {
        const implementation *m = supply_at(f, f->order[i])->m;
        v[i] = (tra_choice){.expr = m->f->x->node.id,
                            .op = f->at[f->order[i]][0],
                            .join = m->f->join && m->f->join != m->f->x ? m->f->join->node.id : -1};
        for (int j = 0; j < 2 && m->in[j] >= 0; j++) v[i].in[j] = s->places.v[m->in[j]];
        if (m->between >= 0) v[i].between = s->places.v[m->between];
        if (m->out >= 0) v[i].out = s->places.v[m->out];
    }
    return (tra_choices){f->norder, v};
}

static int by_canonical(const void *a, const void *b, void *of) {
    const search *s = of;
    int x = s->group[*(const int *)a].canonical, y = s->group[*(const int *)b].canonical;
    return (x > y) - (x < y);
}

/* All groups' operators, in the order of the program where there is a choice. */
static void emit_all(finish *f) {
    search *s = f->s;
    int n = 0, *v = tra_news(f->work, int, s->ngroups);
    f->at = tra_news(f->work, int *, s->ngroups);
    f->order = tra_news(f->work, int, s->ngroups);
    for (int g = 0; g < s->ngroups; g++) {
        if (f->x->supply[g] && !supply_at(f, g)->m->inlined) v[n++] = g;
    }
    qsort_r(v, (size_t)n, sizeof *v, by_canonical, s);
    tra_finish_find_loops(f);
    f->sorted = v, f->nsorted = n;
    tra_finish_turn(f, -1); /* what is required stands first: a run that cannot go on ends early */
    for (int i = 0; i < n; i++) {
        if (!f->inside[v[i]]) tra_finish_emit(f, v[i]);
    }
}

/* The operators of the plan. No figures yet. */
static tra_plan *make_plan(search *s, const entry *x, reading reading, tra_arena *a, tra_choices *choices) {
    finish f = {.s = s, .reading = reading, .x = x, .work = tra_arena_new(), .plan = tra_new(a, tra_plan), .loop = -1};
    tra_plan *p = f.plan;
    *p = (tra_plan){.arena = a,
                    .sites = s->o->sites,
                    .memory = s->o->memory,
                    .compress = s->o->compress,
                    .reproducible = s->o->reproducible};
    f.program = tra_new(a, tra_program_text);
    if (s->m->g->src) *f.program = (tra_program_text){s->m->g->src->name, s->m->g->src->text, s->m->g->src->first};
    emit_all(&f);
    p->nops = f.n;
    p->ops = tra_news(a, tra_op, f.n);
    tra_finish_set_loops(&f);
    for (int i = 0; i < f.n; i++) add_op(&f, i);
    cut_what_is_kept(&f);
    tra_finish_hold_rows(p);
    if (choices) *choices = choices_of(&f);
    p->strategy = strategies(&f);
    free(f.v);
    tra_arena_free(f.work);
    return p;
}

/* Bytes of tables that the program has open and the plan does not read, as those of which strings were made, and of
 * what making these leaves in the heap. */
static int64_t unread_tables(const tra_graph *g, const tra_plan *p) {
    enum { LEFT = 2 << 20 };
    int64_t bytes = 0;
    for (int i = 0; i < g->n; i++) {
        const tra_rel *rel = g->v[i]->input.rel;
        bool read = !rel || !g->v[i]->type.columns;
        for (int k = 0; k < p->nops && !read; k++) {
            const tra_schema *s = tra_op_is(p->ops[k].op, TRA_FILE) ? p->ops[k].type.columns : NULL;
            for (int c = 0; s && c < s->n; c++) read = read || s->v[c].file == rel;
        }
        if (!read) bytes = tra_add_most(bytes, tra_rel_held_bytes(rel));
    }
    return bytes ? tra_add_most(bytes, LEFT) : 0;
}

/* Makes the plan with its costs. choices NULL: the plan is only compared with others, and not run. */
static tra_plan *finish_plan(search *s, const entry *x, reading reading, tra_arena *a, tra_choices *choices) {
    tra_plan *p = make_plan(s, x, reading, a, choices);
    p->program = tra_max64(0, s->bytes.program + unread_tables(s->m->g, p) +
                                  p->nops * (int64_t)(sizeof(tra_op) + sizeof(tra_choice)) - TRA_SMALL_PROGRAM);
    p->planning = s->bytes.all;
    p->least_memory = (choices ? tra_plan_memory : tra_plan_memory_judged)(p, s->o->threads);
    sum_up(p);
    tra_plan_seconds(p, &s->o->rates, -1);
    return p;
}

/* Has the plan an input of which copies may be read? */
static bool has_copies(search *s, const entry *x) {
    finish f = {.s = s, .x = x};
    for (int g = 0; g < s->ngroups; g++)
        if (x->supply[g] && !supply_at(&f, g)->m->inlined && may_read(&f, g)) return true;
    return false;
}

static bool better(const tra_plan *p, const tra_plan *than, int64_t ceiling) {
    bool fits = ceiling <= 0 || p->least_memory <= ceiling, other = ceiling <= 0 || than->least_memory <= ceiling;
    return fits != other ? fits : p->cost.seconds < than->cost.seconds;
}

tra_plan *tra_finish_plan(search *s, entry *x, tra_arena *a, tra_choices *choices) {
    if (x->reading == UNDECIDED && !has_copies(s, x)) x->reading = AS_FOUND;
    if (x->reading != UNDECIDED) return finish_plan(s, x, x->reading, a, choices);
    tra_plan *best = NULL;
    for (reading r = AS_FOUND; r <= SENT; r++) {
        tra_choices made;
        tra_plan *p = finish_plan(s, x, r, a, choices ? &made : NULL);
        if (best && !better(p, best, s->o->memory)) continue;
        best = p;
        x->reading = r;
        if (choices) *choices = made;
    }
    return best;
}

void tra_print_plan(search *s, const entry *x, tra_str *out) {
    tra_arena *a = tra_arena_new();
    tra_plan_print(make_plan(s, x, x->reading, a, NULL), out);
    tra_arena_free(a);
}
