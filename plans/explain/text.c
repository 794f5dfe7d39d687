/* text.c - tra explain and tra cost as text. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../ia/ia.h"
#include "../../lib/physical/needs.h"
#include "../../lib/h5/stand_in.h"
#include "../search/cost.h"
#include "explain_int.h"

enum { FEW_PLANS = 10 }; /* FEW_PLANS: how many are compared if all are asked for */

/* ---- the tree ----------------------------------------------------------------------------------------------- */

/* The columns of the tree. */
enum { OPERATOR, PLACEMENT, SIZE, MOVED, FLOPS, COLUMNS };
typedef struct widths {
    int of[COLUMNS];
} widths;

/* A number of rows that is estimated, to three digits: 842, 32300, 1.2e6. */
static char *estimate_text(double v, char buf[32]) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.3g", v);
    return tra_text_number(strtod(digits, NULL), buf, 32);
}

char *tra_text_size_of(const tra_op *o, char *buf, size_t n) {
    char shape[TRA_DIMTEXT], a[32], b[32];
    const tra_catalog *c = o->type.cat;
    tra_dims_text(&c->bound, "", "x", "", shape, sizeof shape);
    if (o->type.columns) {
        double all = (double)tra_catalog_elements(c);
        bool known = !o->type.bounded || !o->type.entries || o->type.entries->all.exact;
        double rows = o->type.bounded && o->type.entries ? (double)o->type.entries->all.expected : all;
        if (o->type.bounded && !known)
            snprintf(buf, n, "%s of <= %s rows", estimate_text(rows, a),
                     estimate_text((double)o->type.entries->all.bound, b));
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

/* The text of a column other than OPERATOR. Into buf, or of the description. */
static const char *column_text(const tra_shown_op *o, int column, char *buf, size_t n) {
    switch (column) {
    case PLACEMENT: return o->place;
    case SIZE: return tra_text_size_of(o->op, buf, n);
    case MOVED: return moved_text(o->op, buf);
    default: return flops_text(o->op, buf, n);
    }
}

/* On one site there is nothing to place, and nothing moves. */
static bool has_column(const tra_shown_plan *p, int column) {
    return p->plan->sites > 1 || (column != PLACEMENT && column != MOVED);
}

/* Each column is as wide as its texts, placement and size within limits; the operator has what is left of `width`. */
static widths find_widths(const tra_shown_plan *p, int width) {
    static const int least[] = {[PLACEMENT] = 9, [SIZE] = 14, [MOVED] = 5, [FLOPS] = 5};
    static const int most[] = {[PLACEMENT] = 22, [SIZE] = 32, [MOVED] = 30, [FLOPS] = 30};
    widths w = {{0}};
    char buf[TRA_DIMTEXT + 64];
    w.of[OPERATOR] = width;
    for (int c = PLACEMENT; c < COLUMNS; c++) {
        if (!has_column(p, c)) continue;
        w.of[c] = least[c];
        for (int i = 0; i < p->nlines; i++) {
            const char *text = column_text(&p->ops[p->lines[i].op], c, buf, sizeof buf);
            w.of[c] = (int)tra_max64(w.of[c], tra_min64((int64_t)strlen(text), most[c]));
        }
        w.of[OPERATOR] -= w.of[c] + 2;
    }
    return w;
}

/* Adds a cell of the tree; figures are aligned right. */
static void add_cell(const widths *w, int column, const char *text, tra_str *out) {
    if (column) tra_str_add(out, "  ");
    tra_text_cell(out, text, column >= MOVED ? -w->of[column] : w->of[column]);
}

static void add_tree(const tra_shown_plan *p, int width, tra_str *out) {
    static const char *const names[] = {"operator", "placement", "tuples x bound", "moved", "flops"};
    widths w = find_widths(p, width);
    char buf[TRA_DIMTEXT + 64];
    for (int c = 0; c < COLUMNS; c++)
        if (has_column(p, c)) add_cell(&w, c, names[c], out);
    tra_text_end_line(out);
    for (int i = 0; i < p->nlines; i++) {
        const tra_shown_op *o = &p->ops[p->lines[i].op];
        tra_str what = {0};
        tra_text_operator(p, &p->lines[i], w.of[OPERATOR], &what);
        add_cell(&w, OPERATOR, tra_str_get(&what), out);
        tra_str_free(&what);
        for (int c = PLACEMENT; c < COLUMNS && !p->lines[i].again; c++)
            if (has_column(p, c)) add_cell(&w, c, column_text(o, c, buf, sizeof buf), out);
        tra_text_end_line(out);
    }
}

void tra_explain_tree(const tra_job *job, const tra_plan *p, tra_str *out) {
    tra_arena *a = tra_arena_new();
    add_tree(tra_explain_plan(job, p, a), TRA_TEXT_WIDTH, out);
    tra_arena_free(a);
}

/* ---- the head ----------------------------------------------------------------------------------------------- */

/* Writes what holds for the whole plan: where it runs, its strategy, its costs. */
static void add_head(const tra_job *job, const tra_shown_plan *s, tra_str *out) {
    const tra_plan *p = s->plan;
    const tra_plan_options *o = &job->options;
    char a[TRA_SIZETEXT];
    tra_str plan = {0};
    tra_str_printf(&plan, "Plan %d of %d for %d site%s of %d thread%s, ", p->rank, job->plans.n, o->sites,
                   o->sites == 1 ? "" : "s", o->threads, o->threads == 1 ? "" : "s");
    if (o->memory > 0)
        tra_str_printf(&plan, "%s of memory each, ", tra_human(o->memory, a));
    else
        tra_str_add(&plan, "no memory ceiling, ");
    tra_str_printf(&plan, "by cost %s", tra_cost_model_text(o->cost));
    tra_text_wrapped(tra_str_get(&plan), 0, 2, out);
    tra_str_free(&plan);
    if (!s->fits) {
        const char *estimated = tra_plan_memory_estimated(p);
        tra_str_printf(out, "DOES NOT FIT in that memory: it needs %s%s\n", estimated ? "" : "at least ",
                       tra_least_text(p->least_memory, tra_memory_base(p, o->threads), estimated, " of each site",
                                      (char[TRA_LEASTTEXT]){0}));
    }
    if (job->plans.bounded)
        tra_str_add(out, "the search was bounded: there may be cheaper plans that it did not look at\n");
    if (s->densifying)
        tra_str_printf(out, "densify: %d operator%s dense what is sparse\n", s->densifying,
                       s->densifying == 1 ? " makes" : "s make");
}

/* Writes what the plan takes: seconds, disk, network, memory and scratch. */
static void add_costs(const tra_job *job, const tra_plan *p, tra_str *out) {
    char a[TRA_SIZETEXT], b[TRA_SIZETEXT], c[TRA_SIZETEXT];
    tra_str text = {0};
    bool one = p->sites == 1, less = (double)p->least_memory < 0.99 * (double)p->cost.peak_memory;
    tra_str_printf(&text, "%s; disk %s read, %s written", tra_text_seconds(p->cost.seconds, a, sizeof a),
                   tra_size_text(p->cost.disk_read, b), tra_size_text(p->cost.disk_write, c));
    if (!one) tra_str_printf(&text, "; %s between sites", tra_size_text(p->cost.network_bytes, a));
    tra_text_wrapped(tra_str_get(&text), 0, 2, out);
    tra_str_free(&text);
    const tra_graph *g = job->program.graph;
    double before = tra_job_seconds_before(job);
    bool rows = g->strings[0] > 0;
    if (rows || (g->tabulated[0] > 0 && before > 0.02 * p->cost.seconds && before > 0.01))
        tra_str_printf(out, "%s before that: %s\n", tra_text_seconds(before, a, sizeof a),
                       rows ? "files are converted, and strings are made that only the rows tell"
                            : "functions of strings are computed, of all that a column has");
    tra_str_printf(&text, "peak memory %s (%s without blocks)%s", tra_human(p->cost.peak_memory, a),
                   tra_human(tra_memory_base(p, job->options.threads), b), one ? "" : " of a site");
    if (less) tra_str_printf(&text, ", %s would do", tra_human(p->least_memory, a));
    if (p->scratch > 0 && p->scratch_expected < p->scratch / 2)
        tra_str_printf(&text, "; about %s of scratch, at most %s", tra_human(p->scratch_expected, a),
                       tra_human(p->scratch, b));
    else if (p->scratch > 0)
        tra_str_printf(&text, "; %s of scratch", tra_human(p->scratch, a));
    else
        tra_str_add(&text, "; no scratch");
    tra_text_wrapped(tra_str_get(&text), 0, 2, out);
    tra_str_free(&text);
    tra_str_printf(out, "plan digest %016" PRIx64 "\n", tra_plan_digest(p));
}

/* Writes what belongs to the operators: how joins are placed, floats that move, operations. */
static void add_algebra(const tra_plan *p, tra_str *out) {
    char a[TRA_SIZETEXT], b[TRA_SIZETEXT];
    tra_str placed = {0};
    tra_text_placed(p->strategy, p->sites, &placed);
    tra_str_add(out, "\n");
    if (placed.n) {
        tra_str_add(out, "strategy");
        tra_text_cell(out, tra_str_get(&placed), tra_text_width() - 8);
        tra_text_end_line(out);
    }
    tra_str_free(&placed);
    if (p->sites > 1)
        tra_str_printf(out, "network %s floats, %s; ", tra_text_number(p->cost.network_floats, a, sizeof a),
                       tra_size_text(p->cost.network_bytes, b));
    tra_str_printf(out, "%s flops\n\n", tra_text_number(p->cost.flops, a, sizeof a));
}

/* Writes the cost of this plan beside that of the best plan without --reproducible. */
static void add_price_of_reproducible(const tra_job *job, const tra_shown_plan *s, tra_str *out) {
    if (!job->options.reproducible) return;
    tra_str_add(out, "reproducible sums: ");
    if (job->free_cost > 0)
        tra_str_printf(out, "%.3g times the cost of the best plan without\n", s->cost / job->free_cost);
    else
        tra_str_add(out, s->cost > 0 ? "the best plan without costs nothing\n" : "no cost, as without\n");
}

/* ---- explain --tra and --ia --------------------------------------------------------------------------------- */

static void add_graph(const tra_graph *g, tra_str *out) {
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

/* Adds the line of an operator: what it does, its inputs (NULL: those that it has), its name, its placement. */
static void add_operator(const tra_op *o, const char *number, const char *inputs, const tra_placement *p,
                         tra_str *out) {
    char place[256];
    tra_str line = {0};
    tra_str_printf(&line, "#%s ", number);
    tra_op_print(o, &line);
    if (inputs)
        tra_str_printf(&line, " of #%s", inputs);
    else if (o->in[0] >= 0)
        tra_str_printf(&line, " of #%d", o->in[0]);
    if (!inputs && o->in[1] >= 0) tra_str_printf(&line, " and #%d", o->in[1]);
    if (o->spec.name) tra_str_printf(&line, " = %s", o->spec.name);
    tra_str_printf(&line, " @ %s", tra_place_text(p, place, sizeof place));
    tra_text_wrapped(tra_str_get(&line), 0, 6, out);
    tra_str_free(&line);
}

/* The operators but outputs. A join that is one operator with its aggregation is shown as two, 7a and 7. */
static void add_operators(const tra_plan *p, tra_str *out) {
    char number[16], join[16];
    tra_str_add(out, "\nIA: the operators and their placements, before fusion\n");
    for (int i = 0; i < p->nops; i++) {
        tra_op o = p->ops[i];
        bool both = o.op == TRA_PLAN_JOINAGG;
        if (o.op == TRA_PLAN_OUTPUT) continue;
        snprintf(number, sizeof number, "%d", i);
        snprintf(join, sizeof join, "%da", i);
        if (both) {
            tra_placement pairs = tra_op_pairs_place(p, &o);
            o.op = TRA_PLAN_JOIN;
            o.spec.name = NULL;
            add_operator(&o, join, NULL, &pairs, out);
            o.op = TRA_PLAN_AGG;
            o.spec.name = p->ops[i].spec.name;
        }
        add_operator(&o, number, both ? join : NULL, &o.place, out);
    }
}

/* What was done so that files of other formats can be read. */
static void add_imports(const tra_graph *g, tra_str *out) {
    char read[32], written[32];
    for (int i = 0; i < g->n; i++) {
        const tra_stand_in *s = g->v[i]->input.rel ? tra_rel_stand_in(g->v[i]->input.rel) : NULL;
        if (!s) continue;
        tra_str_printf(out, "input %s of %s (%s), %s", g->v[i]->name, s->file, s->format, s->how);
        if (s->bytes_stored)
            tra_str_printf(out, " in %.3g s: %s read, %s written to scratch", s->seconds, tra_human(s->bytes_in, read),
                           tra_human(s->bytes_stored, written));
        tra_str_add(out, "\n");
    }
}

/* A line for each of n sentences, below a heading; nothing if there are none. */
static void add_sentences(const char *heading, int n, const char *const *v, tra_str *out) {
    if (n > 0) tra_str_printf(out, "\n%s:\n", heading);
    for (int i = 0; i < n; i++) tra_text_wrapped(v[i], 2, 4, out);
}

void tra_explain_text(const tra_job *job, const tra_explain_options *o, tra_str *out) {
    tra_arena *a = tra_arena_new();
    const tra_shown_plan *s = tra_explain_plan(job, job->plan, a);
    tra_shown_statements lines = tra_explain_statements(job, job->plan, o->measured, a);
    add_head(job, s, out);
    add_costs(job, job->plan, out);
    add_price_of_reproducible(job, s, out);
    if (o->measured) tra_text_measured(s, o->measured, out);
    tra_text_loops(job->plan, o->operators, out);
    add_imports(job->program.graph, out);
    tra_str_add(out, "\n");
    tra_text_lines(&lines, job->plan->sites, o->measured != NULL, out);
    const char *const *found = NULL;
    int nfound = o->measured ? tra_explain_findings(job, s, o->measured, a, &found) : 0;
    add_sentences("Where the time went", nfound, found, out);
    add_sentences("What would change this", o->nchanges, o->changes, out);
    if (o->operators) {
        add_algebra(job->plan, out);
        add_tree(s, tra_text_width(), out);
        if (o->measured) tra_text_analysis(s, o->measured, out);
    }
    tra_text_statements(job, job->plan, out);
    if (o->optimizers) tra_text_optimizers(job, o->nmeasurements, o->measurements, out);
    if (o->composed) tra_text_composed(o->composed->n, o->composed->kernel, out);
    if (o->nstorages) tra_text_storages(o->nstorages, o->storages, out);
    if (o->tra) add_graph(job->program.graph, out);
    if (o->ia) add_operators(job->plan, out);
    if (o->kernels || o->code) tra_text_kernels(job->plan, o->code, out);
    if (o->catalog) tra_text_catalog(job->program.graph, out);
    if (o->rules) tra_text_derivation(job, out);
    if (o->alternatives) tra_text_alternatives(job, o->alternatives == INT_MAX ? FEW_PLANS : o->alternatives, out);
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
