/* text.c - explain for people, in at most 100 columns. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "../../lib/physical/needs.h"
#include "../search/cost.h"
#include "explain.h"
#include "text.h"

enum { WIDTH = TRA_TEXT_WIDTH, FEWPLANS = 10 };

/* ---- the tree ----------------------------------------------------------------------------------------------- */

typedef struct columns {
    int op, place, size, moved, flops;
} columns;

/* A number of rows that is not exact: 842, 32300, 1.2e6. */
static char *count_text(double v, char buf[32]) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.3g", v);
    return tra_text_number(strtod(digits, NULL), buf, 32);
}

static char *size_text(const tra_op *o, char *buf, size_t n) {
    char shape[TRA_DIMTEXT], a[32], b[32];
    const tra_catalog *c = o->type.cat;
    tra_dims_text(&c->bound, "", "x", "", shape, sizeof shape);
    if (o->type.columns) { /* rows that are expected, of the most that there may be */
        double all = (double)tra_catalog_elements(c);
        bool known = !o->type.bounded || !o->type.entries || o->type.entries->all.exact;
        double rows = o->type.bounded && o->type.entries ? (double)o->type.entries->all.expected : all;
        if (o->type.bounded && !known)
            snprintf(buf, n, "%s of <= %s rows", count_text(rows, a),
                     count_text((double)o->type.entries->all.bound, b));
        else
            snprintf(buf, n, "%.0f rows", rows);
        size_t length = strlen(buf);
        snprintf(buf + length, n - length, " x %" PRId64 " B", tra_schema_row_bytes(o->type.columns));
        return buf;
    }
    snprintf(buf, n, "%" PRId64 " x (%s) %s%s%s", c->n, shape, tra_dtype_name(o->type.dtype), o->type.layout ? " " : "",
             o->type.layout ? o->type.layout->name : "");
    return buf;
}

static char *moved_text(const tra_op *o, char *buf) {
    if (o->predicted.cost.network_bytes.bound == 0) return strcpy(buf, "");
    return tra_size_short_text(o->predicted.cost.network_bytes, buf);
}

static char *flops_text(const tra_op *o, char *buf, size_t n) {
    if (o->predicted.cost.flops == 0) return strcpy(buf, "");
    return tra_text_number(o->predicted.cost.flops, buf, n);
}

static void widen(int *w, const char *text) { *w = (int)tra_max64(*w, (int64_t)strlen(text)); }

static columns measure(const tra_shown_plan *p) {
    columns c = {.place = 9, .size = 14, .moved = 5, .flops = 5};
    char buf[TRA_DIMTEXT + 64];
    for (int i = 0; i < p->nlines; i++) {
        const tra_shown_op *o = &p->ops[p->lines[i].op];
        widen(&c.place, o->place);
        widen(&c.size, size_text(o->op, buf, sizeof buf));
        widen(&c.moved, moved_text(o->op, buf));
        widen(&c.flops, flops_text(o->op, buf, sizeof buf));
    }
    c.place = (int)tra_min64(c.place, 22);
    c.size = (int)tra_min64(c.size, 32);
    c.op = WIDTH - c.place - c.size - c.moved - c.flops - 8;
    return c;
}

static void tree(const tra_shown_plan *p, tra_str *out) {
    columns c = measure(p);
    char buf[TRA_DIMTEXT + 64];
    tra_text_cell(out, "operator", c.op);
    tra_str_add(out, "  ");
    tra_text_cell(out, "placement", c.place);
    tra_str_add(out, "  ");
    tra_text_cell(out, "tuples x bound", c.size);
    tra_str_add(out, "  ");
    tra_text_cell(out, "moved", -c.moved);
    tra_str_add(out, "  ");
    tra_text_cell(out, "flops", -c.flops);
    tra_text_end_line(out);
    for (int i = 0; i < p->nlines; i++) {
        const tra_shown_op *o = &p->ops[p->lines[i].op];
        tra_str what = {0};
        tra_text_operator(p, &p->lines[i], c.op, &what);
        tra_text_cell(out, tra_str_get(&what), c.op);
        tra_str_free(&what);
        if (!p->lines[i].again) {
            tra_str_add(out, "  ");
            tra_text_cell(out, o->place, c.place);
            tra_str_add(out, "  ");
            tra_text_cell(out, size_text(o->op, buf, sizeof buf), c.size);
            tra_str_add(out, "  ");
            tra_text_cell(out, moved_text(o->op, buf), -c.moved);
            tra_str_add(out, "  ");
            tra_text_cell(out, flops_text(o->op, buf, sizeof buf), -c.flops);
        }
        tra_text_end_line(out);
    }
}

void tra_explain_tree(const tra_job *job, const tra_plan *p, tra_str *out) {
    tra_arena *a = tra_arena_new();
    tree(tra_explain_plan(job, p, a), out);
    tra_arena_free(a);
}

/* ---- header --------------------------------------------------------------------------------------------------- */

static void header(const tra_job *job, const tra_shown_plan *s, tra_str *out) {
    const tra_plan *p = s->plan;
    const tra_plan_options *o = &job->options;
    char a[TRA_SIZETEXT], b[TRA_SIZETEXT], c[TRA_SIZETEXT], d[TRA_SIZETEXT];
    tra_str_printf(out, "Plan %d of %d for %d site%s of %d thread%s, ", p->rank, job->plans.n, o->sites,
                   o->sites == 1 ? "" : "s", o->threads, o->threads == 1 ? "" : "s");
    if (o->memory > 0)
        tra_str_printf(out, "%s of memory each, ", tra_human(o->memory, a));
    else
        tra_str_add(out, "no memory ceiling, ");
    tra_str_printf(out, "by cost %s\n", tra_cost_model_text(o->cost));
    if (!s->fits) {
        const char *estimated = tra_plan_memory_estimated(p);
        tra_str_printf(out, "DOES NOT FIT in that memory: it needs %s%s\n", estimated ? "" : "at least ",
                       tra_least_text(p->least_memory, tra_memory_base(p, o->threads), estimated, " of each site",
                                      (char[TRA_LEASTTEXT]){0}));
    }
    if (job->plans.bounded)
        tra_str_add(out, "the search was bounded: there may be cheaper plans that it did not look at\n");
    if (*p->strategy) {
        tra_str_add(out, "strategy ");
        tra_text_cell(out, p->strategy, WIDTH - 9);
        tra_text_end_line(out);
    }
    if (s->densify)
        tra_str_printf(out, "densify: %d operator%s dense what is sparse\n", s->densify,
                       s->densify == 1 ? " makes" : "s make");
    tra_str_printf(out, "network %s floats, %s; disk %s read, %s written\n",
                   tra_text_number(p->cost.network_floats, a, sizeof a), tra_size_text(p->cost.network_bytes, b),
                   tra_size_text(p->cost.disk_read, c), tra_size_text(p->cost.disk_write, d));
    tra_str_printf(out, "%s flops, peak memory %s (%s without blocks) of a site, %s, ",
                   tra_text_number(p->cost.flops, a, sizeof a), tra_human(p->cost.peak_memory, b),
                   tra_human(tra_memory_base(p, o->threads), c), tra_text_seconds(p->cost.seconds, d, sizeof d));
    if (p->scratch > 0 && p->scratch_expected < p->scratch / 2)
        tra_str_printf(out, "about %s of scratch, at most %s\n", tra_human(p->scratch_expected, a),
                       tra_human(p->scratch, b));
    else if (p->scratch > 0)
        tra_str_printf(out, "%s of scratch\n", tra_human(p->scratch, a));
    else
        tra_str_add(out, "no scratch\n");
}

/* Writes what --reproducible costs: this plan beside the best one without it. */
static void price(const tra_job *job, const tra_shown_plan *s, tra_str *out) {
    if (!job->options.reproducible) return;
    tra_str_add(out, "reproducible sums: ");
    if (job->free_cost > 0)
        tra_str_printf(out, "%.3g times the cost of the best plan without\n", s->cost / job->free_cost);
    else
        tra_str_add(out, s->cost > 0 ? "the best plan without costs nothing\n" : "no cost, as without\n");
}

/* ---- levels below ------------------------------------------------------------------------------------------- */

static void level_tra(const tra_graph *g, tra_str *out) {
    tra_str_add(out, "\nTRA: the typed graph\n");
    for (int i = 0; i < g->n; i++) {
        tra_str line = {0};
        tra_str_printf(&line, "#%d ", i);
        if (g->v[i]->name && g->v[i]->op != TRA_OP_INPUT) tra_str_printf(&line, "%s = ", g->v[i]->name);
        tra_node_print(g->v[i], &line);
        tra_text_wrapped(tra_str_get(&line), 0, 6, out);
        tra_str_free(&line);
        tra_node unnamed = *g->v[i];
        unnamed.name = NULL;
        tra_node_describe(&unnamed, &line);
        tra_text_wrapped(tra_str_get(&line), 3, 6, out);
        tra_str_free(&line);
    }
}

/* A join that is one operator with its aggregation is shown as the two it was. */
static void level_ia(const tra_plan *p, tra_str *out) {
    char place[256];
    tra_str_add(out, "\nIA: the operators and their placements, before fusion\n");
    for (int i = 0; i < p->nops; i++) {
        tra_op o = p->ops[i];
        tra_str line = {0};
        if (o.op == TRA_PLAN_OUTPUT) continue;
        if (o.op == TRA_PLAN_JOINAGG) {
            tra_labels x;
            const tra_op *l = &p->ops[o.in[0]], *r = &p->ops[o.in[1]];
            tra_join_labels(l->type.cat, r->type.cat, &o.what.joinl, &o.what.joinr, &x);
            tra_placement pairs = tra_join_place(&x, &l->place, &r->place);
            o.op = TRA_PLAN_JOIN;
            tra_str_printf(&line, "#%da ", i);
            tra_op_print(&o, &line);
            tra_str_printf(&line, " of #%d and #%d @ %s", o.in[0], o.in[1],
                           tra_place_text(&pairs, place, sizeof place));
            tra_text_wrapped(tra_str_get(&line), 0, 6, out);
            tra_str_free(&line);
            o.op = TRA_PLAN_AGG;
        }
        tra_str_printf(&line, "#%d ", i);
        tra_op_print(&o, &line);
        if (p->ops[i].op == TRA_PLAN_JOINAGG)
            tra_str_printf(&line, " of #%da", i);
        else if (o.in[1] >= 0)
            tra_str_printf(&line, " of #%d and #%d", o.in[0], o.in[1]);
        else if (o.in[0] >= 0)
            tra_str_printf(&line, " of #%d", o.in[0]);
        if (o.what.name) tra_str_printf(&line, " = %s", o.what.name);
        tra_str_printf(&line, " @ %s", tra_place_text(&o.place, place, sizeof place));
        tra_text_wrapped(tra_str_get(&line), 0, 6, out);
        tra_str_free(&line);
    }
}

void tra_explain_text(const tra_job *job, const tra_explain_options *o, tra_str *out) {
    tra_arena *a = tra_arena_new();
    const tra_shown_plan *s = tra_explain_plan(job, job->plan, a);
    header(job, s, out);
    price(job, s, out);
    tra_str_add(out, "\n");
    tree(s, out);
    if (o->measured) tra_text_analysis(s, o->measured, out);
    tra_text_statements(job, job->plan, out);
    if (o->optimizers) tra_text_optimizers(job, o->nmeasurements, o->measurements, out);
    if (o->composed) tra_text_composed(o->composed->n, o->composed->kernel, out);
    if (o->nstorages) tra_text_storages(o->nstorages, o->storages, out);
    if (o->tra) level_tra(job->program.graph, out);
    if (o->ia) level_ia(job->plan, out);
    if (o->kernels || o->code) tra_text_kernels(job->plan, o->code, out);
    if (o->catalog) tra_text_catalog(job->program.graph, out);
    if (o->rules) tra_text_derivation(job, out);
    if (o->alternatives) tra_explain_alternatives(job, o->alternatives == INT_MAX ? FEWPLANS : o->alternatives, out);
    tra_arena_free(a);
}

void tra_explain_cost(const tra_job *job, tra_str *out) {
    tra_str_add(out, "rank\tstrategy\tcost\tnetwork_floats\tnetwork_bytes\tdisk_read\tdisk_write\tflops\tpeak_memory\t"
                     "seconds\tscratch\n");
    for (int i = 0; i < job->plans.n; i++) {
        const tra_plan *p = job->plans.v[i];
        const tra_cost *c = &p->cost;
        char cost[32], floats[32], flops[32], seconds[32];
        tra_str_printf(out, "%d\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64 "\t%s\t%" PRId64 "\n",
                       p->rank, tra_text_strategy(p), tra_exactly(tra_cost_scalar(c, job->options.cost), cost),
                       tra_exactly(c->network_floats, floats), c->network_bytes.expected, c->disk_read.expected,
                       c->disk_write.expected, tra_exactly(c->flops, flops), c->peak_memory,
                       tra_exactly(c->seconds, seconds), p->scratch);
    }
}
