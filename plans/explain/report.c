/* report.c - one page of HTML: what was planned, what was measured, and why. It needs nothing beside it, and no
 * scripts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/physical/needs.h"
#include "../search/cost.h"
#include "explain_int.h"

enum { MOST_PLANS = 20 };

static const char HEAD[] =
    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<style>\n"
    ":root{--bg:#fff;--fg:#1c2733;--dim:#5b6b7b;--line:#d5dce3;--soft:#f3f6f9;--plan:#3b74b9;--run:#d1572f}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#141b22;--fg:#e6ebf0;--dim:#9fb0c0;--line:#33414f;--soft:#1d2732;"
    "--plan:#6ea8e8;--run:#f0855f}}\n"
    "@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--soft:#f6f6f6;--plan:#3b74b9;--run:#d1572f;"
    "color-scheme:light}.site,.track,tr,li,svg{break-inside:avoid}h2,h3,.key,.cap,h2+.dim{break-after:avoid}"
    ".scroll svg{max-width:100%;height:auto}.scroll.cut>svg{display:none}.scroll .pages{display:block}"
    ".wide td.n{white-space:normal}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1240px;padding:16px;background:var(--bg);color:var(--fg);"
    "font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:22px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 8px;border-bottom:1px solid var(--line)}"
    "h3{font-size:15px;margin:16px 0 6px}p{margin:6px 0}small,.dim,.cap{color:var(--dim)}.cap{font-size:13px}\n"
    "code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:var(--soft);padding:10px;overflow-x:auto;"
    "overflow-wrap:normal}.scroll{overflow-x:auto}.scroll svg{display:block}.pages{display:none}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:4px 8px;border-bottom:1px solid "
    "var(--line);vertical-align:top;font-size:14px}th{font-weight:600;color:var(--dim);white-space:nowrap}td.n{"
    "text-align:right;"
    "white-space:nowrap}.peak{background:var(--soft)}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px}.facts div{background:"
    "var(--soft);padding:8px;border-radius:6px}.facts b{display:block;font-size:17px}\n"
    ".pair{min-width:104px}.bar{height:6px;border-radius:2px;min-width:1px;margin:1px "
    "0}.p{background:var(--plan)!important}"
    ".r{background:var(--run)!important}.pair small{display:block;line-height:1.2;white-space:nowrap}\n"
    ".track{display:grid;grid-template-columns:110px 1fr;align-items:center;margin:2px 0}.track small{grid-column:2;"
    "grid-row:2;font-size:12px}.track b{font-weight:500;font-size:13px}.row{width:100%;height:18px;background:"
    "var(--soft);display:block}.axis{display:flex;justify-content:space-between;margin-left:110px;font-size:12px;"
    "color:var(--dim)}.area{width:calc(100% - 110px);margin-left:110px;height:90px;background:var(--soft);"
    "display:block}"
    ".low{height:54px}\n"
    ".key span{white-space:nowrap;margin-right:10px;font-size:13px}.key i,.cap i{display:inline-block;width:11px;"
    "height:11px;margin-right:4px;background:var(--soft);border:1px solid var(--line)}\n"
    ".do0{fill:#0097a7;background:#0097a7!important}.do1{fill:#43a047;background:#43a047!important}"
    ".do2{fill:#a4c639;background:#a4c639!important}.do3{fill:#f5b942;background:#f5b942!important}"
    ".do4{fill:#d81b9a;background:#d81b9a!important}.do5{fill:#b0303a;background:#b0303a!important}\n"
    ".do6{fill:#e3b7b7;background:#e3b7b7!important}\n"
    ".op0{fill:#7fa6d6;background:#7fa6d6!important}.op1{fill:#8ec69f;background:#8ec69f!important}"
    ".op2{fill:#d8c7a3;background:#d8c7a3!important}.op3{fill:#d7d27a;background:#d7d27a!important}"
    ".op4{fill:#b08ea2;background:#b08ea2!important}.op5{fill:#84c5c9;background:#84c5c9!important}"
    ".op6{fill:#b7c95a;background:#b7c95a!important}.op7{fill:#d98cb3;background:#d98cb3!important}"
    ".other{fill:#b9a78f;background:#b9a78f!important}"
    ".ph0{fill:#c3cad1;background:#c3cad1!important}.ph1{fill:#77828d;background:#77828d!important}"
    ".ph2{fill:#9aa5b0;background:#9aa5b0!important}.ph3{fill:#56606b;background:#56606b!important}\n"
    ".co0{fill:#43a047;background:#43a047!important}.co1{fill:#8d6e63;background:#8d6e63!important}"
    ".co2{fill:#a4c639;background:#a4c639!important}.co3{fill:#f5b942;background:#f5b942!important}"
    ".co4{fill:#b9770e;background:#b9770e!important}\n"
    ".memory{fill:#a9a3d9}.ceiling{stroke:var(--fg);stroke-width:2;fill:none;"
    "vector-effect:non-scaling-stroke;stroke-dasharray:6 4}\n"
    "@media (max-width:600px){.wide thead{display:none}.wide tr,.wide td{display:block}.wide td{border:0;padding:2px "
    "4px}"
    ".wide tr{border-bottom:1px solid var(--line);padding:6px 0}.wide td.n{text-align:left}.wide td[data-n]:before{"
    "content:attr(data-n) \" \";color:var(--dim)}.wide td:empty{display:none}.track{grid-template-columns:78px 1fr}"
    ".axis,.area{margin-left:78px}.area{width:calc(100% - 78px)}}\n</style>\n";

typedef struct page {
    const tra_job *job;
    const tra_explain_options *o;
    const tra_shown_plan *s;
    const tra_profile *m; /* NULL: nothing was measured */
    tra_arena *a;
    tra_str *out;
} page;

static void add(page *g, const char *html) { tra_str_add(g->out, html); }
static void text(page *g, const char *what) { tra_html_text(what, 0, g->out); }

/* ---- the head ----------------------------------------------------------------------------------------------- */

static void fact(page *g, const char *name, const char *value, const char *more) {
    add(g, "<div><span class=\"dim\">");
    text(g, name);
    add(g, "</span><b>");
    text(g, value);
    add(g, "</b><small>");
    text(g, more);
    add(g, "</small></div>\n");
}

static const char *size_of(page *g, int64_t bytes) {
    char buf[32];
    return tra_arena_printf(g->a, "%s", tra_human(bytes, buf));
}

static const char *seconds_of(page *g, double s) {
    char buf[40];
    return tra_arena_printf(g->a, "%s", tra_text_seconds(s, buf, sizeof buf));
}

/* A figure: what was measured and what was predicted, or that alone. */
static void size_fact(page *g, const char *name, tra_size predicted, int64_t measured) {
    char buf[TRA_SIZETEXT];
    tra_size_text(predicted, buf);
    if (g->m)
        fact(g, name, size_of(g, measured), tra_arena_printf(g->a, "predicted %s", buf));
    else
        fact(g, name, buf, "predicted");
}

static void add_head(page *g) {
    const tra_plan *p = g->s->plan;
    const tra_plan_options *o = &g->job->options;
    tra_op_report all = g->m ? tra_profile_sum(g->m, g->m->nops) : (tra_op_report){0};
    add(g, "<h1>");
    text(g, g->job->program.src.name);
    add(g, "</h1>\n<p class=\"dim\">");
    tra_str_printf(g->out, "plan %d of %d for %d site%s of %d thread%s, by cost %s, tra %s", p->rank, g->job->plans.n,
                   o->sites, o->sites == 1 ? "" : "s", o->threads, o->threads == 1 ? "" : "s",
                   tra_cost_model_text(o->cost), TRA_VERSION);
    add(g, "</p>\n");
    if (!g->s->fits) add(g, "<p><b>The plan does not fit in the memory.</b></p>\n");
    add(g, "<div class=\"facts\">\n");
    if (g->m)
        fact(g, "seconds", seconds_of(g, g->m->seconds),
             tra_arena_printf(g->a, "operators %s, predicted %s; whole process %s",
                              seconds_of(g, tra_operators_took(g->m)), seconds_of(g, p->cost.seconds),
                              seconds_of(g, g->m->process_seconds)));
    else
        fact(g, "seconds", seconds_of(g, p->cost.seconds), "predicted");
    size_fact(g, "peak memory of a site", tra_size_upto(p->cost.peak_memory), all.peak_memory);
    fact(g, "memory ceiling", o->memory > 0 ? size_of(g, o->memory) : "none",
         tra_arena_printf(g->a, "the plan fits in %s", size_of(g, p->least_memory)));
    size_fact(g, "read", p->cost.disk_read, all.disk_read);
    size_fact(g, "written", p->cost.disk_write, all.disk_write);
    if (p->scratch > 0) size_fact(g, "scratch, at most at once", tra_size_upto(p->scratch), all.scratch);
    if (p->sites > 1) size_fact(g, "between sites", p->cost.network_bytes, all.sent);
    add(g, "</div>\n");
    if (!g->m) return;
    const char *wrong = tra_seconds_wrong(p, g->m, g->a);
    if (wrong) add(g, "<p>"), text(g, wrong), add(g, "</p>\n");
}

/* ---- pairs of bars ------------------------------------------------------------------------------------------- */

/* A cell with what was predicted and what was measured, each as a bar beside the most of its column. -1: nothing was.
 */
static void pair(page *g, const char *name, double predicted, double measured, double most, bool seconds) {
    bool only = predicted < 0, run = g->m && measured >= 0;
    char a[40], b[40];
    tra_str_printf(g->out, "<td class=\"pair\" data-n=\"%s\">", name);
    if (predicted > 0 || measured > 0) {
        bool both = run && !only;
        if (most <= 0) most = 1;
        if (!only)
            tra_str_printf(g->out, "<div class=\"bar p\" style=\"width:%.1f%%\"></div>",
                           fmin(100, 100 * predicted / most));
        if (run)
            tra_str_printf(g->out, "<div class=\"bar r\" style=\"width:%.1f%%\"></div>",
                           fmin(100, 100 * measured / most));
        add(g, "<small>");
        if (!only) text(g, seconds ? tra_text_seconds(predicted, a, sizeof a) : tra_human((int64_t)predicted, a));
        if (both) add(g, " / ");
        if (run) text(g, seconds ? tra_text_seconds(measured, b, sizeof b) : tra_human((int64_t)measured, b));
        add(g, "</small>");
    }
    add(g, "</td>");
}

static void add_pair_key(page *g) {
    add(g, g->m ? "<p class=\"key\"><span><i class=\"p\"></i>predicted</span> <span><i class=\"r\"></i>measured"
                  "</span></p>\n"
                : "<p class=\"key\"><span><i class=\"p\"></i>predicted</span></p>\n");
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

static void add_sentences(page *g, const char *heading, int n, const char *const *v) {
    if (n > 0) tra_str_printf(g->out, "<h3>%s</h3>\n<ul>\n", heading);
    for (int i = 0; i < n; i++) add(g, "<li>"), text(g, v[i]), add(g, "</li>\n");
    if (n > 0) add(g, "</ul>\n");
}

/* The figures of an input that another line reads, which has them too: memory and seconds are that line's alone. */
static void add_input(page *g, const struct tra_shown_input *x, double bytes, bool sites) {
    tra_str_printf(g->out, "<td colspan=\"2\"><small>read for line %d, whose seconds and memory count it", x->reader);
    if (x->seconds > 0) tra_str_printf(g->out, "; threads read it in %s", seconds_of(g, x->seconds));
    add(g, "</small></td>");
    pair(g, "disk", (double)x->read, -1, bytes, false);
    add(g, sites ? "<td></td></tr>\n" : "</tr>\n");
}

static void add_statements(page *g) {
    tra_shown_statements s = tra_explain_statements(g->job, g->s->plan, g->m, g->a);
    double seconds = 0, memory = 0, bytes = 0;
    bool sites = g->s->plan->sites > 1;
    for (int i = 0; i < s.n; i++) {
        const tra_shown_statement *x = &s.v[i];
        seconds = fmax(seconds, fmax(x->seconds, x->measured.seconds));
        memory = fmax(memory, fmax((double)x->memory, (double)x->measured.peak_memory));
        bytes = fmax(bytes, (double)tra_max64(x->read.expected + x->written.expected,
                                              x->measured.disk_read + x->measured.disk_write));
        bytes = fmax(bytes, (double)tra_max64(x->moved.expected, x->measured.sent));
    }
    add(g, "<section><h2>Statements</h2>\n");
    add_pair_key(g);
    add(g, "<table class=\"wide\"><thead><tr><th>line</th><th>statement</th><th>seconds</th><th>memory</th>"
           "<th>disk</th>");
    add(g, sites ? "<th>moved</th></tr></thead>\n" : "</tr></thead>\n");
    for (int i = 0; i < s.n; i++) {
        const tra_shown_statement *x = &s.v[i];
        bool input = x->input.reader > 0 && !tra_statement_is_shown(x);
        if (!input && !tra_statement_is_shown(x)) continue;
        char line[16] = "";
        if (x->line > 0) snprintf(line, sizeof line, "%d", x->line);
        tra_str_printf(g->out, "<tr%s><td data-n=\"line\">%s</td><td style=\"padding-left:%dem\"><%s>",
                       i == s.peak ? " class=\"peak\"" : "", line, 1 + x->depth, x->line > 0 ? "code" : "i");
        text(g, x->text);
        add(g, i == s.peak   ? "</code> <small>the peak of memory</small></td>"
               : x->line > 0 ? "</code></td>"
                             : "</i></td>");
        if (input) {
            add_input(g, &x->input, bytes, sites);
            continue;
        }
        pair(g, "seconds", x->line > 0 ? x->seconds : -1, x->measured.seconds, seconds, true);
        pair(g, "memory", (double)x->memory, (double)x->measured.peak_memory, memory, false);
        pair(g, "disk", (double)(x->read.expected + x->written.expected),
             (double)(x->measured.disk_read + x->measured.disk_write), bytes, false);
        if (sites) pair(g, "moved", (double)x->moved.expected, (double)x->measured.sent, bytes, false);
        add(g, "</tr>\n");
    }
    add(g, "</table>\n");
    const char *const *found = NULL;
    int nfound = g->m ? tra_explain_findings(g->job, g->s, g->m, g->a, &found) : 0;
    add_sentences(g, "Where the time went", nfound, found);
    add_sentences(g, "What would change this", g->o->nchanges, g->o->changes);
    add(g, "</section>\n");
}

/* ---- operators ----------------------------------------------------------------------------------------------- */

static void add_drawing(page *g) {
    add(g, "<section><h2>The plan</h2>\n<p class=\"dim\">Inputs are above, outputs below. ");
    if (g->s->plan->sites > 1) add(g, "What moves between sites is coloured, the stronger the more bytes it moves. ");
    add(g, "Dashed boxes are computed while they are read");
    add(g, g->s->plan->nloops > 0 ? "; those with a violet edge run in each turn of a loop.</p>\n" : ".</p>\n");
    if (g->s->plan->nops <= TRA_MOST_DRAWN) {
        tra_svg_plan(g->s, g->m, false, g->out);
    } else {
        tra_str_printf(g->out, "<p>It has %d operators, too many for a drawing.</p>\n", g->s->plan->nops);
    }
    add(g, "</section>\n");
}

static double bytes_of(const tra_op_report *r) {
    return (double)(r->disk_read + r->disk_write + r->spilled + r->unspilled + r->sent);
}

static double predicted_bytes(const tra_plan *p, const tra_op *o) {
    const tra_cost *c = &o->predicted.cost;
    return tra_op_times(p, o) * (double)(c->disk_read.expected + c->disk_write.expected + c->network_bytes.expected);
}

static void add_operators(page *g) {
    const tra_plan *p = g->s->plan;
    double seconds = 0, bytes = 0, memory = 0, least = 0;
    char size[TRA_DIMTEXT + 64];
    int shown = 0;
    for (int i = 0; i < p->nops; i++) {
        tra_op_report r = g->m ? tra_profile_sum(g->m, i) : (tra_op_report){0};
        seconds = fmax(seconds, fmax(p->ops[i].predicted.cost.seconds * tra_op_times(p, &p->ops[i]), r.seconds));
        bytes = fmax(bytes, fmax(predicted_bytes(p, &p->ops[i]), bytes_of(&r)));
        memory = fmax(memory, (double)tra_max64(p->ops[i].predicted.cost.peak_memory, r.peak_memory));
    }
    if (p->nops > TRA_MOST_DRAWN) least = seconds / 1000; /* of very many only those that matter */
    add(g, "<section><h2>Operators</h2>\n");
    add_pair_key(g);
    add(g, "<p class=\"dim\">Bytes are those of disk, scratch and network, predicted without what is spilled to "
           "scratch; memory is the most that a site has held until the operator ended.</p>\n<table "
           "class=\"wide\"><thead><tr><th>operator</th><th>result</th><th>seconds</th>"
           "<th>bytes</th><th>memory</th></tr></thead>\n");
    for (int i = 0; i < p->nops && shown < TRA_MOST_DRAWN; i++) {
        const tra_shown_op *s = &g->s->ops[i];
        tra_op_report r = g->m ? tra_profile_sum(g->m, i) : (tra_op_report){0};
        double expected = s->op->predicted.cost.seconds * tra_op_times(p, s->op);
        bool stage = tra_op_is_stage(s->op), inside = s->stage != i && s->op->op != TRA_PLAN_OUTPUT;
        if ((!stage && !(inside && (expected > 0 || r.seconds > 0))) || (expected < least && r.seconds < least))
            continue;
        shown++;
        tra_str_printf(g->out, "<tr><td>#%d <b>", i);
        text(g, tra_plan_op_text(s->op->op));
        if (s->relation) add(g, " "), text(g, s->relation);
        add(g, "</b> <code>");
        const char *rest = s->label + strlen(tra_plan_op_text(s->op->op));
        tra_html_text(rest, 160, g->out);
        add(g, "</code></td><td><small>");
        text(g, tra_text_size_of(s->op, size, sizeof size));
        if (p->sites > 1) add(g, " at "), text(g, s->place);
        double rows, error = g->m ? tra_rows_error(&s->op->type, &r, &rows) : 0;
        if (error > 0) tra_str_printf(g->out, "; %" PRId64 " rows counted", r.counted[0]);
        if (inside) tra_str_printf(g->out, "; computed in #%d", s->stage);
        add(g, "</small></td>");
        pair(g, "seconds", expected, r.seconds, seconds, true);
        pair(g, "bytes", predicted_bytes(p, s->op), bytes_of(&r), bytes, false);
        pair(g, "memory", stage ? (double)s->op->predicted.cost.peak_memory : 0, stage ? (double)r.peak_memory : 0,
             memory, false);
        add(g, "</tr>\n");
    }
    add(g, "</table></section>\n");
}

/* ---- loops, alternatives, program ---------------------------------------------------------------------------- */

static void add_loops(page *g) {
    const tra_plan *p = g->s->plan;
    tra_str lines = {0};
    if (p->nloops == 0) return;
    add(g, "<section><h2>Loops</h2>\n<pre>");
    tra_text_loops(p, true, &lines);
    for (char *line = lines.s, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end) *end++ = 0;
        text(g, line);
        add(g, "\n");
    }
    tra_str_free(&lines);
    add(g, "</pre>\n");
    for (int l = 0; g->m && l < g->m->nloops && l < p->nloops; l++) {
        const tra_loop_report *t = &g->m->loops[l];
        if (t->done == 0) continue;
        tra_str_printf(g->out,
                       "<p>Loop %d: %" PRId64 " turns ran in %s, the first in %s, the others in %s each%s.</p>\n", l,
                       t->done, seconds_of(g, t->first + t->others), seconds_of(g, t->first),
                       t->done > 1 ? seconds_of(g, t->others / (double)(t->done - 1)) : "-",
                       t->converged ? "" : "; its condition was never met");
    }
    add(g, "</section>\n");
}

static void add_alternatives(page *g) {
    const tra_plans *all = &g->job->plans;
    int shown = 0;
    add(g, "<section><h2>Alternatives</h2>\n");
    if (all->n == 1) {
        add(g, "<p>There is no other plan.</p></section>\n");
        return;
    }
    add(g, "<table class=\"wide\"><thead><tr><th>plan</th><th>strategy</th><th>seconds</th><th>network</th>"
           "<th>disk</th><th>memory</th><th>why not</th></tr></thead>\n");
    for (int i = 0; i < all->n && shown < MOST_PLANS; i++) {
        const tra_plan *p = all->v[i];
        char a[40], b[TRA_SIZETEXT];
        if (!p) continue; /* it was not made */
        const tra_shown_plan *s = tra_explain_plan(g->job, p, g->a);
        shown++;
        tra_str_printf(g->out, "<tr%s><td data-n=\"plan\">%d</td><td>", p == g->s->plan ? " class=\"peak\"" : "",
                       p->rank);
        tra_html_text(tra_text_strategy(p), 200, g->out);
        tra_str_printf(g->out,
                       "</td><td class=\"n\" data-n=\"seconds\">%s</td><td class=\"n\" data-n=\"network\">%s</td>",
                       tra_text_seconds(p->cost.seconds, a, sizeof a), tra_size_text(p->cost.network_bytes, b));
        tra_str_printf(g->out, "<td class=\"n\" data-n=\"disk\">%s</td><td class=\"n\" data-n=\"memory\">%s</td><td>",
                       tra_size_text(tra_size_add(p->cost.disk_read, p->cost.disk_write), b),
                       size_of(g, p->cost.peak_memory));
        text(g, p == g->s->plan ? "this is the plan" : s->why_not);
        add(g, "</td></tr>\n");
    }
    add(g, "</table>\n");
    if (all->n > shown) tra_str_printf(g->out, "<p>%d more are not shown.</p>\n", all->n - shown);
    add(g, "</section>\n");
}

static void add_program(page *g) {
    const tra_script *src = &g->job->program.src;
    enum { MOST_LINES = 400 };
    int n = 0;
    add(g, "<section><h2>The program</h2>\n<pre>");
    for (const char *line = src->text + src->first; *line && n < MOST_LINES; n++) {
        size_t length = strcspn(line, "\n");
        char *copy = tra_arena_strndup(g->a, line, length);
        tra_str_printf(g->out, "%4d  ", n + 1);
        tra_html_text(copy, 400, g->out);
        add(g, "\n");
        line += length + (line[length] == '\n');
    }
    add(g, "</pre></section>\n");
}

void tra_explain_html(const tra_job *job, const tra_explain_options *o, tra_str *out) {
    page g = {.job = job, .o = o, .m = o->measured, .a = tra_arena_new(), .out = out};
    g.s = tra_explain_plan(job, job->plan, g.a);
    add(&g, "<!DOCTYPE html>\n<html lang=\"en\"><head>" TRA_REPORT_MARK "\n");
    add(&g, HEAD);
    add(&g, "<title>tra: ");
    text(&g, job->program.src.name);
    add(&g, "</title></head>\n<body>\n");
    add_head(&g);
    add_statements(&g);
    add_drawing(&g);
    if (g.m) {
        add(&g, "<section><h2>What was done when</h2>\n");
        tra_html_timeline(job, g.s, g.m, out);
        add(&g, "</section>\n");
    }
    add_operators(&g);
    add_loops(&g);
    add_alternatives(&g);
    add_program(&g);
    add(&g, "</body></html>\n");
    tra_arena_free(g.a);
}
