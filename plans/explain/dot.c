/* dot.c - the plan as a graph for graphviz. */
#include "../ia/ia.h"
#include "explain.h"

static void quoted(const char *text, tra_str *out) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tra_str_add(out, "\\");
        tra_str_addn(out, text, 1);
    }
}

void tra_explain_dot(const tra_job *job, tra_str *out) {
    tra_arena *a = tra_arena_new();
    const tra_shown_plan *s = tra_explain_plan(job, job->plan, a);
    char human[32];
    tra_str_add(out, "digraph plan {\n    rankdir=BT;\n    node [shape=box, fontname=\"Helvetica\"];\n    label=\"");
    quoted(s->plan->strategy, out);
    tra_str_printf(out, " on %d sites\";\n", s->plan->sites);
    for (int i = 0; i < s->plan->nops; i++) {
        const tra_shown_op *o = &s->ops[i];
        tra_str_printf(out, "    n%d [label=\"#%d ", i, i);
        if (o->op->name) tra_str_printf(out, "%s = ", o->op->name);
        quoted(o->label, out);
        tra_str_printf(out, "\\n%s\"%s];\n", o->place,
                       o->op->op == TRA_PLAN_SHUF || o->op->op == TRA_PLAN_BCAST ? ", style=rounded" : "");
        for (int j = 0; j < 2 && o->op->in[j] >= 0; j++) {
            tra_str_printf(out, "    n%d -> n%d", o->op->in[j], i);
            if (o->op->cost.network_bytes > 0)
                tra_str_printf(out, " [label=\"%s\"]", tra_human(o->op->cost.network_bytes, human));
            tra_str_add(out, ";\n");
        }
    }
    tra_str_add(out, "}\n");
    tra_arena_free(a);
}
