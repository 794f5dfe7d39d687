/* progress.c - how far a run is, by the predicted seconds of its operators. */
#include "progress.h"

#include <stdio.h>

static double weight(const tra_plan *plan, int op) { return plan->ops[op].predicted.stage_seconds + 1e-9; }

static tra_json begin_event(const char *name) {
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "event", name);
    return j;
}

static void end_event(tra_json *j) {
    tra_json_end(j, '}');
    fprintf(stderr, "%s\n", tra_str_get(&j->out));
    tra_json_free(j);
}

void tra_progress_begin(tra_progress *p, const tra_plan *plan, tra_progress_form form) {
    *p = (tra_progress){.form = form, .plan = plan, .begun = tra_now()};
    for (int i = 0; i < plan->nops; i++) p->total += weight(plan, i);
    if (form != TRA_PROGRESS_JSON) return;
    tra_json j = begin_event("begin");
    tra_json_int(&j, "sites", plan->sites);
    tra_json_int(&j, "operators", plan->nops);
    tra_json_num(&j, "predicted_seconds", plan->cost.seconds);
    tra_json_int(&j, "predicted_peak_memory_bytes", plan->cost.peak_memory);
    tra_json_int(&j, "memory_bytes", plan->memory);
    end_event(&j);
}

/* Each operator that is a stage has an event when it begins first. */
static void tell_operator(tra_progress *p, int op) {
    const tra_op *o = &p->plan->ops[op];
    if (p->form != TRA_PROGRESS_JSON || op < p->told) return;
    p->told = op + 1;
    if (!tra_op_is_stage(o)) return;
    tra_json j = begin_event("operator");
    tra_json_int(&j, "id", op);
    tra_json_str(&j, "op", tra_plan_op_text(o->op));
    tra_json_str(&j, "name", o->spec.name);
    tra_json_num(&j, "predicted_seconds", o->predicted.stage_seconds);
    tra_json_num(&j, "seconds", tra_now() - p->begun);
    end_event(&j);
}

void tra_progress_op(tra_progress *p, int op) {
    while (p->current < op) p->before += weight(p->plan, p->current++);
    tell_operator(p, op);
    tra_progress_show(p, 0, 0);
}

void tra_progress_show(tra_progress *p, int64_t done, int64_t all) {
    double now = p->form == TRA_PROGRESS_NONE ? 0 : tra_now();
    if (p->form == TRA_PROGRESS_NONE || now < p->due) return;
    const tra_op *op = &p->plan->ops[p->current];
    const char *name = op->spec.name ? op->spec.name : "", *blank = *name ? " " : "", *kind = tra_plan_op_text(op->op);
    double here = all > 0 ? (double)done / (double)all : 0;
    double share = (p->before + weight(p->plan, p->current) * (here < 1 ? here : 1)) / p->total;
    char what[256];
    if (p->form == TRA_PROGRESS_BAR)
        snprintf(what, sizeof what, "#%d %s%s%.20s", op->id, kind, blank, name);
    else
        snprintf(what, sizeof what, "operator %d of %d (%s%s%s)", op->id + 1, p->plan->nops, kind, blank, name);
    p->due = tra_progress_draw(p->form, what, share, now - p->begun);
}

void tra_progress_end(tra_progress *p) { tra_progress_erase(p->form); }
