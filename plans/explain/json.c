/* json.c - explain and cost for programs. The names are those of man tra-explain. */
#include <limits.h>

#include "../../lib/physical/memory.h"
#include "../../lib/physical/needs.h"
#include "../../lib/h5/stand_in.h"
#include "../ia/ia.h"
#include "explain_int.h"

enum { FEW_PLANS = 20 }; /* as many as are written by default */

static void dims(tra_json *j, const char *key, const tra_dims *d) { tra_json_ints(j, key, d->n, d->v); }

/* As tra_json_size, for a figure that is no whole number. */
static void number_with_bound(tra_json *j, const char *key, double v, double bound) {
    char name[64];
    bool exact = v == bound;
    tra_json_num(j, key, v);
    snprintf(name, sizeof name, "%s_kind", key);
    tra_json_str(j, name, exact ? "exact" : "estimate");
    snprintf(name, sizeof name, "%s_bound", key);
    if (!exact) tra_json_num(j, name, bound);
}

static void rules(tra_json *j, const tra_rule_list *v) {
    tra_json_begin(j, "rules", '[');
    for (int i = 0; v && i < v->n; i++) tra_json_str(j, NULL, v->v[i]->name);
    tra_json_end(j, ']');
}

/* ---- measured ----------------------------------------------------------------------------------------------- */

/* The members of a report, which read_profile.c reads again. */
static void report_members(tra_json *j, const tra_op_report *r) {
    tra_json_int(j, "network_bytes", r->sent);
    tra_json_int(j, "received_bytes", r->received);
    tra_json_int(j, "disk_read_bytes", r->disk_read);
    tra_json_int(j, "disk_write_bytes", r->disk_write);
    tra_json_int(j, "spilled_bytes", r->spilled);
    tra_json_int(j, "unspilled_bytes", r->unspilled);
    tra_json_int(j, "scratch_bytes", r->scratch);
    tra_json_int(j, "peak_memory_bytes", r->peak_memory);
    if (r->counted[1] > 0) {
        tra_json_int(j, "rows", r->counted[0]);
        tra_json_int(j, "tuples", r->counted[1]);
    }
    if (r->by_zero > 0) tra_json_int(j, "divided_by_zero", r->by_zero);
    tra_json_num(j, "seconds", r->seconds);
    tra_json_num(j, "kernel_seconds", r->kernel_seconds);
    if (r->cpu_seconds > 0) tra_json_num(j, "cpu_seconds", r->cpu_seconds);
    if (r->scratch_seconds > 0) tra_json_num(j, "scratch_seconds", r->scratch_seconds);
    if (r->read_seconds > 0) tra_json_num(j, "read_seconds", r->read_seconds);
}

/* Of each operand the key that most of its rows have, where one stands out. */
static void heaviest_keys(tra_json *j, const tra_profile *m, int op) {
    const tra_heavy_key *v = m->heavy[op];
    if (v[0].rows == 0 && v[1].rows == 0) return;
    tra_json_begin(j, "heaviest_keys", '[');
    for (int i = 0; i < 2; i++) {
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "columns", v[i].columns);
        tra_json_str(j, "values", v[i].values);
        tra_json_int(j, "rows", v[i].rows);
        tra_json_int(j, "of_rows", v[i].all);
        tra_json_int(j, "pairs", v[i].pairs);
        tra_json_int(j, "of_pairs", v[i].all_pairs);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
}

/* What was measured of an operator (m->nops: of the whole run) on all sites together and on each. t: the type of its
 * result; NULL: of the whole run. */
static void measured(tra_json *j, const tra_profile *m, int op, const tra_type *t, double predicted) {
    bool off;
    tra_op_report all = tra_profile_sum(m, op);
    double expected, error = t ? tra_rows_error(t, &all, &expected) : 0;
    tra_json_begin(j, "measured", '{');
    report_members(j, &all);
    if (error > 0) tra_json_num(j, "q_error", error);
    if (t) heaviest_keys(j, m, op);
    tra_json_num(j, "seconds_factor", tra_seconds_factor(predicted, all.seconds, &off));
    tra_json_bool(j, "seconds_off", off);
    tra_json_begin(j, "sites", '[');
    for (int s = 0; s < m->sites; s++) {
        tra_json_begin(j, NULL, '{');
        tra_json_int(j, "site", s);
        report_members(j, tra_profile_site(m, op, s));
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_json_end(j, '}');
}

static void run(tra_json *j, const tra_profile *m) {
    tra_json_begin(j, "run", '{');
    tra_json_num(j, "seconds", m->seconds);
    tra_json_num(j, "process_seconds", m->process_seconds);
    tra_json_int(j, "status", m->status);
    tra_json_bool(j, "resumed", m->resumed);
    tra_json_str(j, "blas_kernel", m->kernel);
    tra_json_int(j, "processors", m->processors);
    tra_json_begin(j, "hosts", '[');
    for (int s = 0; s < m->sites; s++) tra_json_str(j, NULL, m->host[s]);
    tra_json_end(j, ']');
    tra_json_end(j, '}');
}

/* ---- the plan ----------------------------------------------------------------------------------------------- */

/* A predicted peak of memory. If it rests on estimates, the memory ceiling is its bound. */
static tra_size peak_of(const tra_plan *p, bool estimated, int64_t bytes) {
    if (!estimated) return tra_size_upto(bytes);
    return tra_size_about((double)bytes, tra_max64(bytes, p->memory));
}

static bool is_estimated(const tra_plan *p) { return p->memory != 0 && tra_plan_memory_estimated(p); }

/* Writes an operator of plan p, whose memory is estimated or exact. m: what was measured of p, or NULL; l: the
 * labelling that p follows, or NULL. */
static void operator(tra_json *j, const tra_job *job, const tra_plan *p, bool estimated, const tra_shown_op *s,
                     const tra_labelling *l, const tra_profile *m) {
    const tra_op *o = s->op;
    const tra_catalog *c = o->type.cat;
    int64_t in[2];
    int n = 0;
    for (int i = 0; i < 2 && o->in[i] >= 0; i++) in[n++] = o->in[i];
    tra_json_begin(j, NULL, '{');
    tra_json_int(j, "id", o->id);
    tra_json_str(j, "op", tra_plan_op_text(o->op));
    tra_json_ints(j, "inputs", n, in);
    tra_json_str(j, "name", o->spec.name);
    tra_json_str(j, "label", s->label);
    if (o->spec.path) tra_json_str(j, "path", o->spec.path);
    if (o->strategy) tra_json_str(j, "strategy", o->strategy);
    if (p->nloops > 0 && o->loop >= 0) tra_json_int(j, "loop", o->loop);
    tra_json_str(j, "placement", s->place);
    tra_json_int(j, "keys", c->frontier.n);
    dims(j, "frontier", &c->frontier);
    dims(j, "bound", &c->bound);
    tra_json_int(j, "tuples", c->n);
    tra_json_int(j, "floats", s->floats);
    tra_type_json(&o->type, j);
    if (o->op == TRA_PLAN_OUTPUT) tra_json_str(j, "storage", s->storage);
    tra_json_bool(j, "densify", s->densifies);
    tra_json_bool(j, "fused", o->method.fused);
    if (s->stage != o->id) tra_json_int(j, "runs_in", s->stage);
    tra_json_bool(j, "partial", o->spec.partial);
    if (o->method.scan.first >= 0) tra_json_int(j, "scan", o->method.scan.first);
    if (tra_op_is(o->op, TRA_EXCHANGES)) tra_json_int(j, "ends", o->method.ends);
    number_with_bound(j, "network_floats", o->predicted.cost.network_floats, o->predicted.cost.network_floats_bound);
    tra_json_size(j, "network_bytes", o->predicted.cost.network_bytes);
    tra_json_size(j, "disk_read_bytes", o->predicted.cost.disk_read);
    tra_json_size(j, "disk_write_bytes", o->predicted.cost.disk_write);
    number_with_bound(j, "flops", o->predicted.cost.flops, o->predicted.cost.flops_bound);
    tra_json_size(j, "peak_memory_bytes", peak_of(p, estimated, o->predicted.cost.peak_memory));
    tra_json_int(j, "least_memory_bytes", o->predicted.least_memory);
    tra_json_size(j, "scratch_bytes", tra_size_upto(o->predicted.spill));
    tra_json_num(j, "seconds", o->predicted.cost.seconds);
    rules(j, s->rules);
    if (l && s->statement >= 0) tra_json_statement(j, job->plans.labellings->graph, l, s->statement);
    if (m) measured(j, m, o->id, &o->type, o->predicted.cost.seconds);
    tra_json_end(j, '}');
}

/* Writes a plan, with its operators or without. m: what was measured of it, or NULL. */
static void plan(tra_json *j, const tra_job *job, const tra_shown_plan *s, bool operators, const tra_profile *m) {
    const tra_plan *p = s->plan;
    const tra_labelling *l = tra_explain_labelling(job, p);
    bool estimated = is_estimated(p);
    tra_json_begin(j, NULL, '{');
    tra_json_int(j, "rank", p->rank);
    tra_json_str(j, "strategy", p->strategy);
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, tra_plan_digest(p));
    tra_json_str(j, "digest", digest);
    tra_json_num(j, "cost", s->cost);
    number_with_bound(j, "network_floats", p->cost.network_floats, p->cost.network_floats_bound);
    tra_json_size(j, "network_bytes", p->cost.network_bytes);
    tra_json_size(j, "disk_read_bytes", p->cost.disk_read);
    tra_json_size(j, "disk_write_bytes", p->cost.disk_write);
    number_with_bound(j, "flops", p->cost.flops, p->cost.flops_bound);
    tra_json_size(j, "peak_memory_bytes", peak_of(p, estimated, p->cost.peak_memory));
    tra_json_int(j, "least_memory_bytes", p->least_memory);
    tra_json_int(j, "base_memory_bytes", tra_memory_base(p, job->options.threads));
    tra_json_size(j, "scratch_bytes", tra_size_about((double)p->scratch_expected, p->scratch));
    tra_json_size(j, "exchange_scratch_bytes", tra_size_upto(tra_exchange_scratch(p)));
    tra_json_size(j, "resume_scratch_bytes", tra_size_upto(p->checkpointed));
    tra_json_num(j, "seconds", p->cost.seconds);
    tra_json_int(j, "densify", s->densifying);
    tra_json_bool(j, "fits", s->fits);
    tra_json_str(j, "note", s->why_not);
    rules(j, s->rules);
    if (m) measured(j, m, m->nops, NULL, p->cost.seconds);
    if (operators) {
        tra_json_begin(j, "operators", '[');
        for (int i = 0; i < p->nops; i++) operator(j, job, p, estimated, &s->ops[i], l, m);
        tra_json_end(j, ']');
        if (p->nloops > 0) tra_json_loops(j, p, m);
        if (l) tra_json_statements(j, job->plans.labellings, l);
    }
    tra_json_end(j, '}');
}

void tra_explain_relation(const tra_named *r, tra_json *j) {
    const tra_catalog *c = r->node->type.cat;
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "name", r->name);
    tra_json_int(j, "keys", c->frontier.n);
    tra_json_int(j, "rank", c->bound.n);
    dims(j, "frontier", &c->frontier);
    dims(j, "bound", &c->bound);
    tra_json_int(j, "tuples", c->n);
    tra_json_int(j, "floats", tra_catalog_elements(c));
    tra_type_json(&r->node->type, j);
    tra_json_str(j, "storage", r->stored.name);
}

static void derivation(tra_json *j, const tra_job *job) {
    tra_arena *a = tra_arena_new();
    tra_derivation d = tra_explain_derivation(job, a);
    tra_json_begin(j, "derivation", '[');
    for (int i = 0; i < d.n; i++) {
        const tra_step *x = &d.v[i];
        tra_shown_plan *s = tra_explain_plan(job, x->plan, a);
        tra_explain_rules(job, s, &x->choices, a);
        tra_json_begin(j, NULL, '{');
        rules(j, &x->rules);
        tra_json_str(j, "what", x->what);
        tra_json_num(j, "cost", s->cost);
        tra_json_num(j, "network_floats", x->plan->cost.network_floats);
        tra_json_size(j, "network_bytes", x->plan->cost.network_bytes);
        tra_json_num(j, "flops", x->plan->cost.flops);
        char digest[17];
        snprintf(digest, sizeof digest, "%016" PRIx64, tra_plan_digest(x->plan));
        tra_json_str(j, "digest", digest);
        tra_json_begin(j, "operators", '[');
        bool estimated = is_estimated(x->plan);
        for (int k = 0; k < x->plan->nops; k++) operator(j, job, x->plan, estimated, &s->ops[k], NULL, NULL);
        tra_json_end(j, ']');
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_json_begin(j, "refused", '[');
    for (int i = 0; i < d.refused.n; i++) {
        tra_str text = {0};
        tra_expr_print(d.memo, d.refused.v[i].expr, NULL, 2, &text);
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "rule", d.refused.v[i].rule->name);
        tra_json_str(j, "expression", tra_str_get(&text));
        tra_json_str(j, "reason", d.refused.v[i].reason);
        tra_json_end(j, '}');
        tra_str_free(&text);
    }
    tra_json_end(j, ']');
    tra_arena_free(a);
}

/* What was done so that files of other formats can be read. */
static void imports(const tra_graph *g, tra_json *j) {
    tra_json_begin(j, "imports", '[');
    for (int i = 0; i < g->n; i++) {
        const tra_stand_in *s = g->v[i]->input.rel ? tra_rel_stand_in(g->v[i]->input.rel) : NULL;
        if (!s) continue;
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "input", g->v[i]->name);
        tra_json_str(j, "file", s->file);
        tra_json_str(j, "format", s->format);
        tra_json_str(j, "how", s->how);
        tra_json_num(j, "seconds", s->seconds);
        tra_json_int(j, "bytes_in", s->bytes_in);
        tra_json_int(j, "bytes_stored", s->bytes_stored);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
}

/* Writes the whole object, with the first k plans and the chosen one. m: what was measured of the chosen plan, or NULL;
 * o: NULL if no further sections are wanted. */
static void render(const tra_job *job, int k, bool operators, const tra_profile *m, const tra_explain_options *o,
                   tra_str *out) {
    tra_json j = {0};
    const tra_graph *g = job->program.graph;
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "program", job->program.src.name);
    tra_json_int(&j, "sites", job->options.sites);
    tra_json_str(&j, "cost_model", tra_cost_model_text(job->options.cost));
    tra_json_str(&j, "optimizer", tra_optimizer_text(job->options.optimizer));
    tra_json_int(&j, "memory_bytes", job->options.memory);
    tra_json_int(&j, "threads", job->options.threads);
    if (job->options.threads_given) tra_json_bool(&j, "threads_given", true);
    tra_json_bool(&j, "reproducible", job->options.reproducible);
    if (job->options.reproducible) tra_json_num(&j, "cost_without", job->free_cost);
    tra_json_int(&j, "chosen", job->plan->rank);
    tra_json_int(&j, "alternatives", job->plans.n);
    tra_json_bool(&j, "bounded", job->plans.bounded);
    imports(g, &j);
    tra_json_num(&j, "seconds_before", tra_job_seconds_before(job));
    if (m) run(&j, m);
    tra_json_begin(&j, "plans", '[');
    for (int i = 0; i < job->plans.n; i++) {
        if (i >= k && job->plans.v[i] != job->plan) continue;
        tra_arena *a = tra_arena_new();
        tra_shown_plan *s = tra_explain_plan(job, job->plans.v[i], a);
        tra_explain_rules(job, s, &job->plans.choices[i], a);
        plan(&j, job, s, operators, job->plans.v[i] == job->plan ? m : NULL);
        tra_arena_free(a);
    }
    tra_json_end(&j, ']');
    if (m) tra_json_timeline(&j, &m->timeline);
    if (o && o->rules) derivation(&j, job);
    if (o && (o->kernels || o->code)) tra_json_kernels(&j, job->plan, o->code, o->composed);
    tra_json_begin(&j, "relations", '[');
    for (int i = 0; i < g->nnames; i++) {
        tra_explain_relation(&g->names[i], &j);
        tra_json_end(&j, '}');
    }
    tra_json_end(&j, ']');
    if (o && o->nstorages) tra_json_storages(&j, o->nstorages, o->storages);
    if (o && o->optimizers) tra_json_optimizers(&j, job, o->nmeasurements, o->measurements);
    tra_json_end(&j, '}');
    tra_str_addn(out, tra_str_get(&j.out), j.out.n);
    tra_str_add(out, "\n");
    tra_json_free(&j);
}

void tra_explain_json(const tra_job *job, const tra_explain_options *o, tra_str *out) {
    render(job, o->alternatives ? o->alternatives : o->measured ? 0 : FEW_PLANS, true, o->measured, o, out);
}

void tra_explain_profile(const tra_job *job, const tra_profile *m, tra_str *out) { render(job, 0, true, m, NULL, out); }

void tra_explain_cost_json(const tra_job *job, tra_str *out) { render(job, INT_MAX, false, NULL, NULL, out); }
