/* search.c - a beam search over the ways to place each operator of a program.
 *
 * Nodes are expanded in program order. A state is what is available where after the nodes so far, and what that cost.
 * Each node is expanded by every way to place it that ia.h offers; exchanges are enforcers, inserted when a placement
 * is needed that is not there, and what they bring stays available to later consumers. Of states that agree in what is
 * available and in the strategies of the joins, the cheapest stays. The beam keeps the cheapest states and, first of
 * all, the cheapest of each availability, so that small programs are searched exactly.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "search_int.h"

static tra_status partial_types(search *s, tra_err *e) {
    for (int i = 0; i < s->g->n; i++) {
        const tra_node *n = s->g->v[i];
        const char *warn;
        if (!s->needed[i] || n->op != TRA_OP_AGG) continue;
        tra_node local = *n;
        local.kernel = tra_kernel_first(n->kernel);
        TRA_TRY(tra_node_type(s->a, &local, &warn, e));
        local.type.dtype = tra_agg_state_dtype(n->kernel, n->in[0]->type.dtype);
        /* a contraction that BLAS accumulates has its sums, and so its summands, in the type of its operands */
        const tra_node *j = n->in[0];
        if (j->op == TRA_OP_JOIN && s->fused[j->id] == n->id && j->in[0]->type.dtype == j->in[1]->type.dtype &&
            tra_kernel_fuses(j->kernel, local.kernel))
            local.type.dtype = j->type.dtype;
        s->partial[i] = local.type;
    }
    return TRA_OK;
}

static tra_status check_sizes(const search *s, tra_err *e) {
    for (int i = 0; i < s->g->n; i++) {
        const tra_node *n = s->g->v[i];
        if (!s->needed[i] || s->fused[i] >= 0 || countable(s, &n->type)) continue;
        return tra_fail(e, TRA_PROGRAM, "%s%s is too large to plan: on %d sites it may take more than 2^61 bytes",
                        n->name ? "relation " : "the result of ", n->name ? n->name : tra_opcode_text(n->op),
                        s->o->sites);
    }
    return TRA_OK;
}

static tra_status search_all(search *s, tra_err *e) {
    prepare(s);
    TRA_TRY(check_sizes(s, e));
    TRA_TRY(partial_types(s, e));
    s->beam = tra_calloc(1, sizeof *s->beam);
    s->nbeam = 1;
    for (int i = 0; i < s->g->n; i++) {
        if (!s->needed[i] || s->fused[i] >= 0) continue;
        for (int j = 0; j < s->nbeam; j++) expand_node(s, s->g->v[i], &s->beam[j]);
        beam_advance(s);
        assert(s->nbeam > 0);
    }
    return TRA_OK;
}

static int compare_plans(const void *a, const void *b, void *of) {
    const tra_plan *x = *(tra_plan *const *)a, *y = *(tra_plan *const *)b;
    tra_cost_model model = ((const search *)of)->o->cost;
    double cx = tra_cost_scalar(&x->cost, model), cy = tra_cost_scalar(&y->cost, model);
    int64_t dx = x->cost.disk_read + x->cost.disk_write, dy = y->cost.disk_read + y->cost.disk_write;
    if (cx != cy) return cx < cy ? -1 : 1;
    if (x->cost.flops != y->cost.flops) return x->cost.flops < y->cost.flops ? -1 : 1;
    if (dx != dy) return dx < dy ? -1 : 1;
    if (x->cost.peak_memory != y->cost.peak_memory) return x->cost.peak_memory < y->cost.peak_memory ? -1 : 1;
    tra_str tx = {0}, ty = {0};
    tra_plan_print(x, &tx);
    tra_plan_print(y, &ty);
    int c = strcmp(tra_str_get(&tx), tra_str_get(&ty));
    tra_str_free(&tx);
    tra_str_free(&ty);
    return c;
}

/* The plans of the beam's states, those that fit if there are any, ranked. */
static tra_status rank(search *s, tra_plans *out, tra_err *e) {
    int n = 0;
    int64_t least = INT64_MAX;
    tra_plan **v = tra_news(s->a, tra_plan *, s->nbeam);
    for (int pass = 0; pass < 2 && n == 0; pass++) {
        for (int i = 0; i < s->nbeam; i++) {
            tra_plan *p = finish_plan(s, &s->beam[i]);
            least = tra_min64(least, p->least_memory);
            if (pass == 1 || p->memory == 0 || p->least_memory <= p->memory) {
                if (pass == 1) p->memory = 0;
                v[n++] = p;
            }
        }
        if (n == 0 && !s->o->over) break;
    }
    if (n == 0) {
        char have[32], want[32];
        return tra_fail(e, TRA_RESOURCE,
                        "no plan fits in a memory ceiling of %s per site; the least that would do is %s "
                        "(--memory %" PRId64 ")",
                        tra_human(s->o->memory, have), tra_human(least, want), least);
    }
    qsort_r(v, (size_t)n, sizeof *v, compare_plans, s);
    out->n = (int)tra_min64(n, TRA_MAXPLANS);
    out->v = v;
    for (int i = 0; i < out->n; i++) v[i]->rank = i + 1;
    return TRA_OK;
}

tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out, tra_err *e) {
    if (o->cost == TRA_COST_EINDECOMP)
        return tra_fail(e, TRA_USAGE, "the cost model eindecomp is not available yet; use time or tra");
    search s = {.g = g, .o = o, .a = a, .work = tra_arena_new()};
    tra_status st = search_all(&s, e);
    if (st == TRA_OK) st = rank(&s, out, e);
    for (int i = 0; s.want && i < g->n; i++) free(s.want[i].v), free(s.ways[i].v);
    for (int64_t i = 0; i < s.nchunks; i++) free(s.chunk[i]);
    free(s.chunk);
    free(s.trial.v);
    free(s.beam);
    free(s.next);
    free(s.nexttable);
    free(s.memo);
    free(s.place);
    free(s.placetable);
    tra_arena_free(s.work);
    return st;
}
