/* dot.c - the plan as a graph for graphviz. Data flow upwards; files are cylinders, exchanges are filled, operators
 * that are fused into their consumer are dashed. */
#include <string.h>

#include "../ia/ia.h"
#include "explain_int.h"

static void add_quoted(const char *text, tra_str *out) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tra_str_add(out, "\\");
        tra_str_addn(out, text, 1);
    }
}

static const char *attributes(const tra_op *o) {
    if (tra_op_is(o->op, TRA_FILE)) return ", shape=cylinder";
    if (tra_op_is(o->op, TRA_FORWARDS)) return ", style=\"rounded,filled\", fillcolor=\"#ffe9b3\"";
    return o->method.fused ? ", style=dashed" : "";
}

static void add_node(const tra_shown_op *s, tra_str *out) {
    const tra_op *o = s->op;
    const char *what = s->label + strlen(tra_plan_op_text(o->op));
    char shape[TRA_DIMTEXT], number[40];
    tra_str_printf(out, "    n%d [label=\"#%d %s", o->id, o->id, tra_plan_op_text(o->op));
    if (s->relation) tra_str_printf(out, " %s", s->relation);
    if (o->strategy) tra_str_printf(out, " %s", o->strategy);
    if (*what) {
        tra_str_add(out, "\\n");
        add_quoted(what + strspn(what, " "), out);
    }
    tra_str_printf(out, "\\n%s\\n%" PRId64 " x (%s) %s", s->place, o->type.cat->n,
                   tra_dims_text(&o->type.cat->bound, "", "x", "", shape, sizeof shape), tra_dtype_name(o->type.dtype));
    if (o->predicted.cost.flops > 0)
        tra_str_printf(out, "\\n%s flops", tra_text_number(o->predicted.cost.flops, number, sizeof number));
    tra_str_printf(out, "\"%s];\n", attributes(o));
}

void tra_explain_dot(const tra_job *job, tra_str *out) {
    if (tra_explain_labelling(job, job->plan)) {
        tra_dot_statements(job, out);
        return;
    }
    tra_arena *a = tra_arena_new();
    const tra_shown_plan *s = tra_explain_plan(job, job->plan, a);
    char human[TRA_SIZETEXT];
    tra_str_add(out, "digraph plan {\n    rankdir=BT;\n    node [shape=box, fontname=\"Helvetica\"];\n"
                     "    edge [fontname=\"Helvetica\"];\n    fontname=\"Helvetica\";\n    label=\"");
    if (*s->plan->strategy) {
        add_quoted(s->plan->strategy, out);
        tra_str_add(out, ", ");
    }
    tra_str_printf(out, "%d site%s, %s over the network\";\n", s->plan->sites, s->plan->sites == 1 ? "" : "s",
                   tra_size_text(s->plan->cost.network_bytes, human));
    for (int l = 0; l < s->plan->nloops; l++) {
        const tra_plan_loop *p = &s->plan->loops[l];
        if (p->last < p->first) continue;
        tra_str_printf(out, "    subgraph cluster_%d {\n    label=\"at most %" PRId64 " turns\"; style=dashed;\n   ", l,
                       p->most);
        for (int i = p->first; i <= p->last; i++)
            if (s->plan->ops[i].loop == l) tra_str_printf(out, " n%d;", i);
        tra_str_add(out, "\n    }\n");
    }
    for (int i = 0; i < s->plan->nops; i++) {
        const tra_op *o = s->ops[i].op;
        add_node(&s->ops[i], out);
        if (o->op == TRA_PLAN_NEXT) /* the state of the next turn */
            tra_str_printf(out, "    n%d -> n%d [style=dotted, constraint=false];\n", i,
                           s->plan->loops[o->spec.loop].state[o->spec.item]);
        for (int j = 0; j < 2 && o->in[j] >= 0; j++) {
            tra_str_printf(out, "    n%d -> n%d", o->in[j], i);
            if (o->predicted.cost.network_bytes.bound > 0)
                tra_str_printf(out, " [label=\"%s\"]", tra_size_text(o->predicted.cost.network_bytes, human));
            tra_str_add(out, ";\n");
        }
    }
    tra_str_add(out, "}\n");
    tra_arena_free(a);
}
