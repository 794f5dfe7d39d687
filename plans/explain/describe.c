/* describe.c - the description of a plan that all formats render. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/physical/scan.h"
#include "../../lib/storage/mapped.h"
#include "../ia/ia.h"
#include "../search/cost.h"
#include "explain.h"

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* The name of the operator's relation; of an exchange that of the relation that it moves. */
static const char *relation_of(const tra_plan *p, const tra_op *o) {
    while (!o->spec.name && o->in[0] >= 0 && tra_op_is(o->op, TRA_FORWARDS)) o = &p->ops[o->in[0]];
    return o->spec.name;
}

/* Does the operator make a dense result that takes more memory than its inputs, all of which are sparse? */
static bool densifies(const tra_plan *p, const tra_op *o) {
    if (o->type.sparse || o->in[0] < 0 || tra_op_is(o->op, TRA_FILE | TRA_FORWARDS | TRA_RENAMES)) return false;
    int64_t before = 0;
    for (int i = 0; i < 2 && o->in[i] >= 0; i++) {
        const tra_type *t = &p->ops[o->in[i]].type;
        if (!t->sparse) return false;
        before += tra_type_bytes_all(t).expected;
    }
    return tra_type_bytes_all(&o->type).expected > before;
}

/* How an output is stored; NULL for other operators. */
static const char *storage_of(const tra_op *o, tra_arena *a) {
    char text[TRA_LEVELTEXT];
    if (o->op != TRA_PLAN_OUTPUT) return NULL;
    if (o->spec.mapping) return o->spec.mapping->name;
    const tra_levels *l = o->spec.turned ? o->spec.turned->file_levels : o->spec.levels;
    const char *alias = l ? tra_levels_alias(l) : "dense";
    return alias ? alias : tra_arena_printf(a, "%s", tra_levels_text(l, text));
}

static tra_shown_op show_op(const tra_plan *p, const tra_op *o, tra_arena *a) {
    tra_shown_op s = {
        .op = o, .relation = relation_of(p, o), .floats = tra_catalog_elements(o->type.cat), .statement = -1};
    tra_str label = {0};
    char place[256];
    tra_op_print(o, &label);
    s.storage = storage_of(o, a);
    s.densifies = densifies(p, o);
    s.label = tra_arena_take(a, &label);
    s.place = tra_arena_printf(a, "%s", tra_place_text(&o->place, place, sizeof place));
    return s;
}

/* Sets `statement` of the operators whose results are those of statements. Only plans of the job have choices, by which
 * they are found; steps of a derivation have none. */
static void find_statements(const tra_job *job, const tra_plan *p, tra_shown_op *ops, tra_arena *a) {
    const tra_graph *t = job->program.graph;
    const tra_plans *plans = &job->plans;
    if (!plans->labellings || p->rank < 1) return;
    const tra_eingraph *g = plans->labellings->graph;
    int *statement = tra_news(a, int, plans->memo->ngroups); /* of each group of the memo, from 1; 0: none */
    for (int i = t->n - 1; i >= 0; i--) {
        int v = g->vertex_of[i];
        if (v >= 0 && g->v[v].node == t->v[i])
            statement[tra_memo_find(plans->memo, plans->memo->v[plans->memo->of_node[i]]->group)] = v + 1;
    }
    const tra_choices *c = &plans->choices[p->rank - 1];
    for (int i = 0; i < c->n; i++)
        ops[c->v[i].op].statement = statement[tra_memo_find(plans->memo, plans->memo->v[c->v[i].expr]->group)] - 1;
}

/* Appends the lines of the tree below an operator. seen: the operators that were shown before. */
static void add_lines(tra_shown_plan *s, int op, int depth, bool *seen) {
    bool again = seen[op] && s->plan->ops[op].in[0] >= 0;
    s->lines[s->nlines++] = (tra_shown_line){op, depth, again};
    if (again) return;
    seen[op] = true;
    const tra_op *o = &s->plan->ops[op];
    bool ends = o->op == TRA_PLAN_LAST || o->op == TRA_PLAN_TRACED; /* below what a loop leaves stand its turns */
    const tra_plan_loop *l = ends ? &s->plan->loops[o->spec.loop] : NULL;
    for (int i = l ? l->first : 0; l && i <= l->last; i++)
        if (tra_op_is_end_of_turn(s->plan->ops[i].op) && s->plan->ops[i].spec.loop == o->spec.loop && !seen[i])
            add_lines(s, i, depth + 1, seen);
    for (int i = 0; i < 2 && o->in[i] >= 0; i++) add_lines(s, o->in[i], depth + 1, seen);
}

/* ---- why a plan is not the first choice --------------------------------------------------------------------- */

static bool moves_summands(const tra_plan *p, const tra_op *o) { return tra_place_is_partial(&p->ops[o->in[0]].place); }

/* How many bytes plan q moves of the relation that operator o of plan p moves; of its summands if o moves summands. */
static int64_t moved_alike(const tra_plan *p, const tra_op *o, const tra_plan *q) {
    const char *name = relation_of(p, o);
    int64_t moved = 0;
    for (int i = 0; i < q->nops; i++) {
        const tra_op *x = &q->ops[i];
        if (!tra_op_is(x->op, TRA_FORWARDS)) continue;
        const char *other = relation_of(q, x);
        bool same = name && other ? strcmp(name, other) == 0 : name == other;
        if (same && moves_summands(q, x) == moves_summands(p, o)) moved += x->predicted.cost.network_bytes.expected;
    }
    return moved;
}

/* The operator of p of whose relation p moves the most bytes more than q; NULL if there is none. */
static const tra_op *largest_excess(const tra_plan *p, const tra_plan *q) {
    const tra_op *most = NULL;
    int64_t excess = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        if (o->predicted.cost.network_bytes.expected <= excess || o->in[0] < 0) continue;
        int64_t more = o->predicted.cost.network_bytes.expected - moved_alike(p, o, q);
        if (more > excess) most = o, excess = more;
    }
    return most;
}

/* Why p is not the first choice, in a few words; "" if it is. */
static const char *why_not(const tra_job *job, const tra_plan *p, tra_arena *a) {
    const tra_plan *best = job->plans.v[0]; /* NULL: the job has made this plan alone */
    if (!best || p == best) return "";
    double cost = tra_cost_scalar(&p->cost, job->options.cost), least = tra_cost_scalar(&best->cost, job->options.cost);
    int64_t disk = p->cost.disk_read.expected + p->cost.disk_write.expected;
    bool more_disk = disk > best->cost.disk_read.expected + best->cost.disk_write.expected;
    if (cost == least) {
        if (p->cost.flops > best->cost.flops) return "as cheap, more flops";
        if (more_disk) return "as cheap, more disk";
        if (p->cost.peak_memory > best->cost.peak_memory) return "as cheap, more memory";
        return "as good as the first";
    }
    const char *more = least > 0 ? tra_arena_printf(a, "%.3gx", cost / least) : "more";
    const tra_op *o = largest_excess(p, best);
    if (!o)
        return tra_arena_printf(a, "%s: %s", more, p->cost.flops <= best->cost.flops && more_disk ? "disk" : "work");
    const char *name = relation_of(p, o);
    return tra_arena_printf(a, "%s: %s%s%s", more, moves_summands(p, o) ? "summands" : tra_plan_op_text(o->op),
                            name ? " " : "", name ? name : "");
}

tra_shown_plan *tra_explain_plan(const tra_job *job, const tra_plan *p, tra_arena *a) {
    tra_shown_plan *s = tra_new(a, tra_shown_plan);
    s->plan = p;
    s->ops = tra_news(a, tra_shown_op, p->nops);
    s->lines = tra_news(a, tra_shown_line, 2 * p->nops + 2); /* each operator once, and once more for each input */
    s->cost = tra_cost_scalar(&p->cost, job->options.cost);
    s->fits = job->options.memory == 0 || p->least_memory <= job->options.memory;
    s->why_not = why_not(job, p, a);
    bool *seen = tra_news(a, bool, p->nops);
    int *stage = tra_plan_runs_in(p);
    for (int i = 0; i < p->nops; i++) {
        s->ops[i] = show_op(p, &p->ops[i], a), s->densifying += s->ops[i].densifies;
        s->ops[i].stage = stage[i];
    }
    free(stage);
    find_statements(job, p, s->ops, a);
    for (int i = 0; i < p->nops; i++) {
        if (p->ops[i].op == TRA_PLAN_OUTPUT) add_lines(s, i, 0, seen);
    }
    return s;
}

void tra_explain_rules(const tra_job *job, tra_shown_plan *s, const tra_choices *c, tra_arena *a) {
    tra_plan_rules r = tra_rules_of(job->plans.memo, s->plan, c, a);
    for (int i = 0; i < s->plan->nops; i++) s->ops[i].rules = &r.op[i];
    s->rules = r.all;
}

tra_derivation tra_explain_derivation(const tra_job *job, tra_arena *a) {
    tra_derivation d = {0};
    tra_err ignored = {0};
    int plan = 0;
    while (job->plans.v[plan] != job->plan) plan++;
    if (tra_derive(&job->plans, plan, &job->options, a, &d, &ignored) != TRA_OK) return (tra_derivation){0};
    return d;
}
