/* optimizers.c - explain --optimizers: the program under each optimizer, side by side. */
#include <string.h>

#include "../search/cost.h"
#include "explain_int.h"

/* What one optimizer makes of the program. */
typedef struct optimized {
    const char *name;
    const char *how;                 /* how its labelling was found; "placements" if it makes none */
    const char *error;               /* of an optimizer that failed, which has no plan */
    const tra_plan *plan;            /* its first choice, or NULL */
    double floats;                   /* the cost of the plan in the model eindecomp */
    const tra_measurement *measured; /* of this plan; NULL: there is none */
} optimized;
enum { OPTIMIZERS = TRA_OPT_DATA + 1 };

/* Finds the plan of each optimizer, and which of n measurements is of it. */
static void optimize_by_each(const tra_job *job, int n, const tra_measurement *m, tra_arena *a, optimized *v) {
    for (int i = 0; i < OPTIMIZERS; i++) {
        tra_plan_options o = job->options;
        tra_plans plans;
        tra_err e = {0};
        o.optimizer = (tra_optimizer)i;
        o.over = true; /* also a plan that does not fit into the memory ceiling */
        o.first = 1;
        v[i] = (optimized){.name = tra_optimizer_text(o.optimizer), .how = "placements"};
        if (tra_optimize(job->program.graph, &o, a, &plans, &e) != TRA_OK) {
            v[i].error = tra_arena_printf(a, "%s", e.msg);
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

/* Is the measurement of the plan of some optimizer? */
static bool is_of_any(const tra_measurement *m, const optimized *v) {
    for (int i = 0; i < OPTIMIZERS; i++)
        if (v[i].plan && tra_plan_digest(v[i].plan) == m->of.digest) return true;
    return false;
}

void tra_text_optimizers(const tra_job *job, int n, const tra_measurement *m, tra_str *out) {
    tra_arena *a = tra_arena_new();
    optimized v[OPTIMIZERS];
    char b[TRA_SIZETEXT];
    optimize_by_each(job, n, m, a, v);
    if (n) tra_str_printf(out, "\n%-35s  %-30s  %s", "", "predicted", "measured");
    tra_str_printf(out, "\n%-13s %-10s %9s  %10s %9s %9s", "optimizer", "labelling", "floats", "network", "seconds",
                   "memory");
    if (n) tra_str_printf(out, "  %10s %9s", "network", "seconds");
    tra_str_add(out, "\n");
    for (int i = 0; i < OPTIMIZERS; i++) {
        const tra_plan *p = v[i].plan;
        tra_str_printf(out, "%-13s ", v[i].name);
        if (!p) {
            tra_text_cell(out, v[i].error, tra_text_width() - 14);
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
        if (is_of_any(&m[k], v)) continue;
        tra_str_printf(out, "%s is of another plan than these, by %s for %d site%s of %d thread%s\n", m[k].file,
                       tra_optimizer_text(m[k].of.optimizer), m[k].of.sites, m[k].of.sites == 1 ? "" : "s",
                       m[k].of.threads, m[k].of.threads == 1 ? "" : "s");
    }
    tra_arena_free(a);
}

void tra_json_optimizers(tra_json *j, const tra_job *job, int n, const tra_measurement *m) {
    tra_arena *a = tra_arena_new();
    optimized v[OPTIMIZERS];
    optimize_by_each(job, n, m, a, v);
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
            tra_json_str(j, "error", v[i].error);
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
