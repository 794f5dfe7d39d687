/* statements.c - what EinDecomp decided: the partition vector and the costs of each statement, and the graph of
 * statements. */
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "../search/cost.h"
#include "explain_int.h"

const tra_labelling *tra_explain_labelling(const tra_job *job, const tra_plan *p) {
    return job->plans.labellings ? job->plans.labellings->of[p->rank - 1] : NULL;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

/* "i=4 k=2": the parts of each label that is cut; "-" if none is. */
static const char *vector_text(const tra_vertex *v, const int *d, tra_arena *a) {
    const char *text = "";
    for (int l = 0; l < v->nlabels; l++)
        if (d[l] > 1) text = tra_arena_printf(a, "%s%s%s=%d", text, *text ? " " : "", v->label_name[l], d[l]);
    return *text ? text : "-";
}

/* What vertex v costs in repartitions of its operands. */
static double repart_cost(const tra_eingraph *g, const tra_labelling *l, int v) {
    double cost = 0;
    for (int i = 0; i < g->v[v].nrefs; i++) cost += tra_ein_edge_cost(g, l->d, v, i);
    return cost;
}

/* Counts the statements of which a label is cut in more parts than it has blocks. Since sites hold whole blocks, these
 * vectors cannot be followed. */
static int count_across_blocks(const tra_eingraph *g, const tra_labelling *l) {
    int n = 0;
    for (int v = 0; v < g->nvertices; v++) {
        bool across = false;
        for (int i = 0; i < g->v[v].nlabels; i++) across |= l->d[v][i] > g->v[v].blocks[i];
        n += across;
    }
    return n;
}

/* Adds the row of a statement. */
static void add_row(const tra_eingraph *g, const tra_labelling *l, int v, tra_arena *a, tra_str *out) {
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
    if ((n = count_across_blocks(g, l)))
        tra_str_printf(out, "%d statement%s cut finer than %s blocks: computed on the nearest grid of sites\n", n,
                       n == 1 ? "" : "s", n == 1 ? "its" : "their");
    tra_arena *arena = tra_arena_new();
    tra_str_printf(out, "%-42s %-20s %5s %9s %9s %9s\n", "statement", "parts", "calls", "join", "agg", "repart");
    for (int v = 0; v < g->nvertices; v++) add_row(g, l, v, arena, out);
    tra_arena_free(arena);
}

/* ---- json --------------------------------------------------------------------------------------------------- */

void tra_json_statement(tra_json *j, const tra_eingraph *g, const tra_labelling *l, int v) {
    const tra_vertex *x = &g->v[v];
    tra_json_begin(j, "partition", '{');
    for (int i = 0; i < x->nlabels; i++) tra_json_int(j, x->label_name[i], l->d[v][i]);
    tra_json_end(j, '}');
    tra_json_int(j, "kernel_calls", tra_ein_kernel_calls(x, l->d[v]));
    tra_json_num(j, "join_cost", tra_ein_join_cost(g, x, l->d[v]));
    tra_json_num(j, "agg_cost", tra_ein_agg_cost(g, x, l->d[v]));
    tra_json_num(j, "repart_cost", repart_cost(g, l, v));
}

/* A reference of a vertex, or its result. */
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
    tra_json_int(j, "across_blocks", count_across_blocks(g, l));
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
        tra_json_statement(j, g, l, v);
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
