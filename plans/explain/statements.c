/* statements.c - what EinDecomp decided: for each statement its partition vector and costs; the graph of statements;
 * and the program under each optimizer, side by side. */
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "../search/cost.h"
#include "text.h"

const tra_labelling *tra_explain_labelling(const tra_job *job, const tra_plan *p) {
    return job->plans.labellings ? job->plans.labellings->of[p->rank - 1] : NULL;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

/* "i=4 k=2": the labels that are cut. */
static const char *vector_text(const tra_vertex *v, const int *d, tra_arena *a) {
    const char *text = "";
    for (int l = 0; l < v->nlabels; l++)
        if (d[l] > 1) text = tra_arena_printf(a, "%s%s%s=%d", text, *text ? " " : "", v->label_name[l], d[l]);
    return *text ? text : "-";
}

static double repart_cost(const tra_eingraph *g, const tra_labelling *l, int v) {
    double cost = 0;
    for (int i = 0; i < g->v[v].nrefs; i++) cost += tra_ein_edge_cost(g, l->d, v, i);
    return cost;
}

/* Counts the statements of which a label is cut in more parts than it has blocks: these cannot be followed, since
 * sites hold whole blocks. */
static int across_blocks(const tra_eingraph *g, const tra_labelling *l) {
    int n = 0;
    for (int v = 0; v < g->nvertices; v++) {
        bool across = false;
        for (int i = 0; i < g->v[v].nlabels; i++) across |= l->d[v][i] > g->v[v].blocks[i];
        n += across;
    }
    return n;
}

static void statement(const tra_eingraph *g, const tra_labelling *l, int v, tra_arena *a, tra_str *out) {
    const tra_vertex *x = &g->v[v];
    const double cost[] = {tra_ein_join_cost(g, x, l->d[v]), tra_ein_agg_cost(g, x, l->d[v]), repart_cost(g, l, v)};
    tra_str what = {0};
    char b[40];
    tra_vertex_print(g, v, &what);
    tra_text_cell(out, tra_str_get(&what), 42);
    tra_str_add(out, " ");
    tra_text_cell(out, vector_text(x, l->d[v], a), 20);
    tra_str_printf(out, " %5" PRId64, tra_ein_kernel_calls(x, l->d[v]));
    for (int i = 0; i < 3; i++) tra_str_printf(out, " %9s", tra_text_number(cost[i], b, sizeof b));
    tra_text_end_line(out);
    tra_str_free(&what);
}

void tra_text_statements(const tra_job *job, const tra_plan *p, tra_str *out) {
    const tra_labelling *l = tra_explain_labelling(job, p);
    char a[40], b[40], c[40], d[40];
    if (!l) return;
    const tra_labellings *all = job->plans.labellings;
    const tra_eingraph *g = all->graph;
    int n;
    tra_str_printf(out, "\nStatements, %s for %d processor%s: %s floats, join %s, agg %s, repart %s\n", l->how, l->p,
                   l->p == 1 ? "" : "s", tra_text_number(l->cost, a, sizeof a), tra_text_number(l->join, b, sizeof b),
                   tra_text_number(l->agg, c, sizeof c), tra_text_number(l->repart, d, sizeof d));
    if (all->paper && strcmp(all->paper->how, "tree") != 0) {
        tra_str_printf(out, "linearised as in the paper %s", tra_text_number(all->paper->cost, a, sizeof a));
        if (all->best)
            tra_str_printf(out, ", %.3g times the optimum of %s\n",
                           all->best->cost > 0 ? all->paper->cost / all->best->cost : 1,
                           tra_text_number(all->best->cost, b, sizeof b));
        else
            tra_str_add(out, "; the graph is too large to find the optimum\n");
    }
    if (l->cut_off) tra_str_add(out, "of some statement there are more vectors than were tried\n");
    if (l->below_p)
        tra_str_printf(out, "%d statement%s in fewer parts: the labels' extents allow no more\n", l->below_p,
                       l->below_p == 1 ? "" : "s");
    if ((n = across_blocks(g, l)))
        tra_str_printf(out, "%d statement%s cut finer than %s blocks: computed on the nearest grid of sites\n", n,
                       n == 1 ? "" : "s", n == 1 ? "its" : "their");
    tra_arena *arena = tra_arena_new();
    tra_str_printf(out, "%-42s %-20s %5s %9s %9s %9s\n", "statement", "parts", "calls", "join", "agg", "repart");
    for (int v = 0; v < g->nvertices; v++) statement(g, l, v, arena, out);
    tra_arena_free(arena);
}

/* ---- json --------------------------------------------------------------------------------------------------- */

void tra_json_vertex(tra_json *j, const tra_eingraph *g, const tra_labelling *l, int v) {
    const tra_vertex *x = &g->v[v];
    tra_json_begin(j, "partition", '{');
    for (int i = 0; i < x->nlabels; i++) tra_json_int(j, x->label_name[i], l->d[v][i]);
    tra_json_end(j, '}');
    tra_json_int(j, "kernel_calls", tra_ein_kernel_calls(x, l->d[v]));
    tra_json_num(j, "join_cost", tra_ein_join_cost(g, x, l->d[v]));
    tra_json_num(j, "agg_cost", tra_ein_agg_cost(g, x, l->d[v]));
    tra_json_num(j, "repart_cost", repart_cost(g, l, v));
}

static void json_ref(tra_json *j, const char *key, const tra_eingraph *g, const tra_vertex *v, const tra_ein_ref *r) {
    const tra_ein_rel *x = &g->rel[r->rel];
    tra_json_begin(j, key, '{');
    tra_json_str(j, "name", x->name);
    tra_json_int(j, "statement", x->vertex);
    tra_json_begin(j, "labels", '[');
    for (int d = 0; d < x->n; d++) tra_json_str(j, NULL, r->label[d] < 0 ? NULL : v->label_name[r->label[d]]);
    tra_json_end(j, ']');
    tra_json_ints(j, "extents", x->n, x->ext);
    tra_json_end(j, '}');
}

void tra_json_statements(tra_json *j, const tra_labellings *all, const tra_labelling *l) {
    const tra_eingraph *g = all->graph;
    tra_json_begin(j, "labelling", '{');
    tra_json_str(j, "how", l->how);
    tra_json_int(j, "processors", l->p);
    tra_json_num(j, "cost", l->cost);
    tra_json_num(j, "join_cost", l->join);
    tra_json_num(j, "agg_cost", l->agg);
    tra_json_num(j, "repart_cost", l->repart);
    tra_json_int(j, "in_fewer_parts", l->below_p);
    tra_json_int(j, "across_blocks", across_blocks(g, l));
    tra_json_bool(j, "cut_off", l->cut_off);
    if (all->paper) tra_json_num(j, "paper_cost", all->paper->cost);
    if (all->best) tra_json_num(j, "optimal_cost", all->best->cost);
    tra_json_begin(j, "statements", '[');
    for (int v = 0; v < g->nvertices; v++) {
        tra_json_begin(j, NULL, '{');
        json_ref(j, "result", g, &g->v[v], &g->v[v].out);
        tra_json_begin(j, "references", '[');
        for (int i = 0; i < g->v[v].nrefs; i++) json_ref(j, NULL, g, &g->v[v], &g->v[v].ref[i]);
        tra_json_end(j, ']');
        tra_json_vertex(j, g, l, v);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_json_end(j, '}');
}

/* ---- dot ---------------------------------------------------------------------------------------------------- */

void tra_dot_statements(const tra_job *job, tra_str *out) {
    const tra_labelling *l = tra_explain_labelling(job, job->plan);
    const tra_eingraph *g = job->plans.labellings->graph;
    tra_arena *a = tra_arena_new();
    char b[40];
    tra_str_printf(out,
                   "digraph statements {\n    rankdir=BT;\n    node [shape=box, fontname=\"Helvetica\"];\n"
                   "    label=\"labelling %s for %d processors: %s floats\";\n",
                   l->how, l->p, tra_text_number(l->cost, b, sizeof b));
    for (int r = 0; r < g->nrels; r++)
        if (g->rel[r].vertex < 0) tra_str_printf(out, "    r%d [label=\"%s\", shape=plain];\n", r, g->rel[r].name);
    for (int v = 0; v < g->nvertices; v++) {
        tra_str what = {0};
        tra_vertex_print(g, v, &what);
        tra_str_printf(out, "    v%d [label=\"%s\\n%s\\njoin %s", v, tra_str_get(&what),
                       vector_text(&g->v[v], l->d[v], a),
                       tra_text_number(tra_ein_join_cost(g, &g->v[v], l->d[v]), b, sizeof b));
        tra_str_printf(out, ", agg %s\"];\n", tra_text_number(tra_ein_agg_cost(g, &g->v[v], l->d[v]), b, sizeof b));
        tra_str_free(&what);
        for (int i = 0; i < g->v[v].nrefs; i++) {
            int r = g->v[v].ref[i].rel, u = g->rel[r].vertex;
            double cost = tra_ein_edge_cost(g, l->d, v, i);
            tra_str_printf(out, "    %c%d -> v%d", u < 0 ? 'r' : 'v', u < 0 ? r : u, v);
            if (u >= 0) tra_str_printf(out, " [label=\"%s\"]", tra_text_number(cost, b, sizeof b));
            tra_str_add(out, ";\n");
        }
    }
    tra_str_add(out, "}\n");
    tra_arena_free(a);
}

/* ---- optimizers side by side -------------------------------------------------------------------------------- */

/* What one optimizer makes of the program. */
typedef struct shown {
    const char *name, *how, *failed;
    const tra_plan *plan;
    double floats; /* by the model eindecomp */
    const tra_measurement *measured;
} shown;
enum { OPTIMIZERS = TRA_OPT_DATA + 1 };

static void plan_all(const tra_job *job, int n, const tra_measurement *m, tra_arena *a, shown *v) {
    for (int i = 0; i < OPTIMIZERS; i++) {
        tra_plan_options o = job->options;
        tra_plans plans;
        tra_err e = {0};
        o.optimizer = (tra_optimizer)i;
        o.over = true;
        o.first = 1;
        v[i] = (shown){.name = tra_optimizer_text(o.optimizer), .how = "placements"};
        if (tra_optimize(job->program.graph, &o, a, &plans, &e) != TRA_OK) {
            v[i].failed = tra_arena_printf(a, "%s", e.msg);
            continue;
        }
        v[i].plan = plans.v[0];
        v[i].floats = tra_ein_plan_cost(plans.v[0]);
        if (plans.labellings) v[i].how = plans.labellings->of[0]->how, v[i].floats = plans.labellings->of[0]->cost;
        for (int k = 0; k < n; k++)
            if (m[k].of.digest == tra_plan_digest(plans.v[0]) && (!v[i].measured || m[k].of.optimizer == o.optimizer))
                v[i].measured = &m[k];
    }
}

static bool is_shown(const tra_measurement *m, const shown *v) {
    for (int i = 0; i < OPTIMIZERS; i++)
        if (v[i].plan && tra_plan_digest(v[i].plan) == m->of.digest) return true;
    return false;
}

void tra_text_optimizers(const tra_job *job, int n, const tra_measurement *m, tra_str *out) {
    tra_arena *a = tra_arena_new();
    shown v[OPTIMIZERS];
    char b[TRA_SIZETEXT];
    plan_all(job, n, m, a, v);
    if (n) tra_str_printf(out, "\n%-35s  %-30s  %s", "", "predicted", "measured");
    tra_str_printf(out, "\n%-13s %-10s %9s  %10s %9s %9s", "optimizer", "labelling", "floats", "network", "seconds",
                   "memory");
    if (n) tra_str_printf(out, "  %10s %9s", "network", "seconds");
    tra_str_add(out, "\n");
    for (int i = 0; i < OPTIMIZERS; i++) {
        const tra_plan *p = v[i].plan;
        tra_str_printf(out, "%-13s ", v[i].name);
        if (!p) {
            tra_text_cell(out, v[i].failed, TRA_TEXT_WIDTH - 14);
            tra_text_end_line(out);
            continue;
        }
        tra_str_printf(out, "%-10s %9s", v[i].how, tra_text_number(v[i].floats, b, sizeof b));
        tra_str_printf(out, "  %10s", tra_size_short_text(p->cost.network_bytes, b));
        tra_str_printf(out, " %9s", tra_text_seconds(p->cost.seconds, b, sizeof b));
        tra_str_printf(out, " %9s", tra_human(p->cost.peak_memory, b));
        if (v[i].measured) {
            const tra_profile *x = &v[i].measured->profile;
            tra_str_printf(out, "  %10s", tra_human(tra_profile_sum(x, x->nops).sent, b));
            tra_str_printf(out, " %9s", tra_text_seconds(x->seconds, b, sizeof b));
        }
        tra_str_add(out, "\n");
    }
    for (int k = 0; k < n; k++) {
        if (is_shown(&m[k], v)) continue;
        tra_str_printf(out, "%s is of another plan than these, by %s for %d site%s of %d thread%s\n", m[k].file,
                       tra_optimizer_text(m[k].of.optimizer), m[k].of.sites, m[k].of.sites == 1 ? "" : "s",
                       m[k].of.threads, m[k].of.threads == 1 ? "" : "s");
    }
    tra_arena_free(a);
}

void tra_json_optimizers(tra_json *j, const tra_job *job, int n, const tra_measurement *m) {
    tra_arena *a = tra_arena_new();
    shown v[OPTIMIZERS];
    plan_all(job, n, m, a, v);
    tra_json_begin(j, "optimizers", '[');
    for (int i = 0; i < OPTIMIZERS; i++) {
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "optimizer", v[i].name);
        if (v[i].plan) {
            tra_json_str(j, "labelling", v[i].how);
            tra_json_str(j, "strategy", v[i].plan->strategy);
            tra_json_num(j, "eindecomp_floats", v[i].floats);
            tra_json_size(j, "network_bytes", v[i].plan->cost.network_bytes);
            tra_json_int(j, "peak_memory_bytes", v[i].plan->cost.peak_memory);
            tra_json_num(j, "seconds", v[i].plan->cost.seconds);
        } else {
            tra_json_str(j, "error", v[i].failed);
        }
        if (v[i].measured) {
            const tra_profile *x = &v[i].measured->profile;
            tra_json_begin(j, "measured", '{');
            tra_json_str(j, "file", v[i].measured->file);
            tra_json_int(j, "network_bytes", tra_profile_sum(x, x->nops).sent);
            tra_json_num(j, "seconds", x->seconds);
            tra_json_end(j, '}');
        }
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_arena_free(a);
}
