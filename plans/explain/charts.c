/* charts.c - what the sites of a run did over time: threads, memory, disk and network, as sections of a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain_int.h"

enum { TALL = 100 }; /* units of a chart; its width has one for each bucket */
enum { MOST_SITES = 64, MOST_THREADS = 33 };

typedef struct chart {
    const tra_timeline *t;
    const tra_shown_plan *s;
    tra_str *out;
    int64_t *buckets, phases[TRA_PHASES_COUNT]; /* in which an operator, a phase, ran longest, of all sites */
    int *colour;                                /* of an operator; -1: that of the others */
} chart;

static double at(const chart *c, int site, int bucket, int field) {
    return (double)*tra_timeline_at(c->t, site, bucket, field);
}

static void begin_svg(const chart *c, const char *class, const char *label) {
    tra_str_printf(c->out,
                   "<svg class=\"%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
                   "aria-label=\"%s\">",
                   class, c->t->buckets, TALL, label);
}

/* A figure from each bucket, between `below` and `above` it, as a filled area. */
static void add_area(const chart *c, const char *class, const double *below, const double *above) {
    double last = -1;
    bool any = false;
    for (int b = 0; b < c->t->buckets; b++) any |= above[b] > below[b];
    if (!any) return;
    tra_str_printf(c->out, "<path class=\"%s\" d=\"", class);
    for (int b = 0; b < c->t->buckets; b++) {
        double v = TALL - above[b];
        if (b == 0) tra_str_printf(c->out, "M0 %.4g", v);
        if (b > 0 && v != last) tra_str_printf(c->out, "V%.4g", v);
        if (b + 1 == c->t->buckets || above[b + 1] != above[b]) tra_str_printf(c->out, "H%d", b + 1);
        last = v;
    }
    for (int b = c->t->buckets - 1; b >= 0; b--) {
        double v = TALL - below[b];
        if (v != last) tra_str_printf(c->out, "V%.4g", v);
        if (b == 0 || below[b - 1] != below[b]) tra_str_printf(c->out, "H%d", b);
        last = v;
    }
    tra_str_add(c->out, "Z\"/>");
}

static double round_to(double v) { return floor(v * 10 + 0.5) / 10; }

/* A thread: in each bucket the shares of what it did, one upon the other. */
static void add_thread(const chart *c, int site, int thread) {
    double below[TRA_TIME_BUCKETS] = {0}, above[TRA_TIME_BUCKETS];
    begin_svg(c, "row", "a thread");
    for (int k = 0; k < TRA_DO_AWAIT_WORK; k++) {
        char class[32];
        for (int b = 0; b < c->t->buckets; b++) {
            double share = at(c, site, b, tra_timeline_did(thread, (tra_doing)k)) * 1e-9 / c->t->width;
            above[b] = fmin(TALL, round_to(below[b] + TALL * share));
        }
        snprintf(class, sizeof class, "do%d", k);
        add_area(c, class, below, above);
        memcpy(below, above, sizeof below);
    }
    tra_str_add(c->out, "</svg>");
}

/* ---- operators and phases ------------------------------------------------------------------------------------- */

/* The operators that took the longest of the time of all sites have a colour, up to COLOURS of them. */
static void choose_colours(chart *c) {
    enum { COLOURS = 8 };
    for (int n = 0; n < COLOURS; n++) {
        int64_t most = 0;
        int best = -1;
        for (int i = 0; i < c->s->plan->nops; i++)
            if (c->buckets[i] > most && c->colour[i] < 0) most = c->buckets[i], best = i;
        if (best < 0) break;
        c->colour[best] = COLOURS;
    }
    for (int i = 0, n = 0; i < c->s->plan->nops; i++)
        if (c->colour[i] == COLOURS) c->colour[i] = n++;
}

static void count_buckets(chart *c) {
    c->buckets = tra_calloc((size_t)c->s->plan->nops + 1, sizeof *c->buckets);
    c->colour = tra_calloc((size_t)c->s->plan->nops + 1, sizeof *c->colour);
    for (int i = 0; i < c->s->plan->nops; i++) c->colour[i] = -1;
    for (int s = 0; s < c->t->sites; s++) {
        for (int b = 0; b < c->t->buckets; b++) {
            int op = tra_timeline_op(c->s, c->t, s, b);
            tra_phase phase;
            if (op >= 0) c->buckets[op]++;
            if (tra_op_is_phase(op, &phase)) c->phases[phase]++;
        }
    }
    choose_colours(c);
}

static const char *class_of(const chart *c, int op, char *buf, size_t n) {
    if (op < 0)
        snprintf(buf, n, "ph%d", (-2 - op) % 4);
    else if (c->colour[op] >= 0)
        snprintf(buf, n, "op%d", c->colour[op]);
    else
        snprintf(buf, n, "other");
    return buf;
}

/* The operators of a site and what comes before and after them, one after the other. */
static void add_operators(const chart *c, int site) {
    char name[128], class[16];
    begin_svg(c, "row ops", "operators");
    for (int b = 0, end; b < c->t->buckets; b = end) {
        int op = tra_timeline_op(c->s, c->t, site, b);
        for (end = b + 1; end < c->t->buckets && tra_timeline_op(c->s, c->t, site, end) == op;) end++;
        if (op == -1) continue;
        tra_str_printf(c->out, "<rect class=\"%s\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"><title>",
                       class_of(c, op, class, sizeof class), b, end - b, TALL);
        tra_html_text(tra_timeline_op_text(c->s, op, name, sizeof name), 0, c->out);
        tra_str_add(c->out, "</title></rect>");
    }
    tra_str_add(c->out, "</svg>");
}

static void add_name(const chart *c, int op) {
    char name[128], class[16];
    tra_str_printf(c->out, "<span><i class=\"%s\"></i>", class_of(c, op, class, sizeof class));
    tra_html_text(tra_timeline_op_text(c->s, op, name, sizeof name), 40, c->out);
    tra_str_add(c->out, "</span> ");
}

/* The operators that have a colour, in the order in which they ran, and the phases around them. */
static void add_names(const chart *c) {
    bool others = false;
    tra_str_add(c->out, "<p class=\"key\">operators: ");
    for (int k = 0; k < TRA_PHASE_PLACE; k++)
        if (c->phases[k] > 0) add_name(c, tra_phase_op((tra_phase)k));
    for (int i = 0; i < c->s->plan->nops; i++) {
        if (c->colour[i] >= 0) add_name(c, i);
        others |= c->buckets[i] > 0 && c->colour[i] < 0;
    }
    if (others) tra_str_add(c->out, "<span><i class=\"other\"></i>others</span> ");
    for (int k = TRA_PHASE_PLACE; k < TRA_PHASES_COUNT; k++)
        if (c->phases[k] > 0) add_name(c, tra_phase_op((tra_phase)k));
    tra_str_add(c->out, "</p>\n");
}

/* ---- a site --------------------------------------------------------------------------------------------------- */

/* What a thread did with its time, as text. */
static void add_shares(const chart *c, int site, int thread) {
    double all = c->t->width * c->t->buckets;
    const char *comma = "";
    tra_str_add(c->out, "<small>");
    for (int k = 0; k < TRA_DOINGS_COUNT; k++) {
        double ns = 0;
        char name[40];
        for (int b = 0; b < c->t->buckets; b++) ns += at(c, site, b, tra_timeline_did(thread, (tra_doing)k));
        if (ns * 1e-9 < 0.005 * all) continue;
        snprintf(name, sizeof name, "%s", tra_doing_text((tra_doing)k));
        for (char *p = name; *p; p++) *p = *p == '_' ? ' ' : *p;
        tra_str_printf(c->out, "%s%s %.0f %%", comma, name, 100 * ns * 1e-9 / all);
        comma = ", ";
    }
    tra_str_add(c->out, "</small>");
}

static void add_axis(const chart *c) {
    char a[40], b[40];
    double all = c->t->width * c->t->buckets;
    tra_str_printf(c->out, "<div class=\"axis\"><span>0</span><span>%s</span><span>%s</span></div>\n",
                   tra_text_seconds(all / 2, a, sizeof a), tra_text_seconds(all, b, sizeof b));
}

/* Memory of a site, below the line of its ceiling. */
static void add_memory(const chart *c, const tra_job *job, int site) {
    enum { FAR = 8 };
    double below[TRA_TIME_BUCKETS] = {0}, above[TRA_TIME_BUCKETS], most = 0, last = 0;
    char a[32], b[32];
    for (int i = 0; i < c->t->buckets; i++) {
        double v = at(c, site, i, TRA_TL_MEMORY);
        above[i] = last = v > 0 ? v : last; /* not looked at in that bucket */
        most = fmax(most, v);
    }
    double ceiling = (double)job->options.memory;
    bool far = ceiling > FAR * most; /* below its line there would be nothing to see */
    double top = 1.05 * fmax(most, far ? 0 : ceiling);
    if (top <= 0) return;
    for (int i = 0; i < c->t->buckets; i++) above[i] = round_to(TALL * above[i] / top);
    tra_str_printf(c->out, "<p class=\"cap\">memory: at most %s seen%s%s%s</p>", tra_human((int64_t)most, a),
                   ceiling > 0 ? ", ceiling " : "", ceiling > 0 ? tra_human((int64_t)ceiling, b) : "",
                   far ? ", far above" : "");
    begin_svg(c, "area", "memory");
    add_area(c, "memory", below, above);
    if (ceiling > 0 && !far)
        tra_str_printf(c->out, "<path class=\"ceiling\" d=\"M0 %.4gH%d\"/>", TALL - TALL * ceiling / top,
                       c->t->buckets);
    tra_str_add(c->out, "</svg>\n");
}

/* Bytes a second of some counters, one upon the other. */
static void add_rates(const chart *c, int site, const char *what, int n, const tra_counter *of,
                      const char *const *names) {
    double below[TRA_TIME_BUCKETS] = {0}, above[TRA_TIME_BUCKETS], most = 0;
    char text[32];
    for (int b = 0; b < c->t->buckets; b++) {
        double all = 0;
        for (int k = 0; k < n; k++) all += at(c, site, b, TRA_TL_COUNTER + (int)of[k]);
        most = fmax(most, all);
    }
    if (most <= 0) return;
    tra_str_printf(c->out, "<p class=\"cap\">%s: at most %s/s;", what, tra_human((int64_t)(most / c->t->width), text));
    for (int k = 0; k < n; k++) {
        double all = 0;
        for (int b = 0; b < c->t->buckets; b++) all += at(c, site, b, TRA_TL_COUNTER + (int)of[k]);
        if (all > 0)
            tra_str_printf(c->out, " <span><i class=\"co%d\"></i>%s %s</span>", (int)of[k], names[k],
                           tra_human((int64_t)all, text));
    }
    tra_str_add(c->out, "</p>");
    begin_svg(c, "area low", what);
    for (int k = 0; k < n; k++) {
        char class[32];
        for (int b = 0; b < c->t->buckets; b++)
            above[b] = round_to(below[b] + TALL * at(c, site, b, TRA_TL_COUNTER + (int)of[k]) / most);
        snprintf(class, sizeof class, "co%d", (int)of[k]);
        add_area(c, class, below, above);
        memcpy(below, above, sizeof below);
    }
    tra_str_add(c->out, "</svg>\n");
}

static void add_site(const chart *c, const tra_job *job, const char *host, int site) {
    static const tra_counter disk[] = {TRA_COUNTER_READ, TRA_COUNTER_WRITTEN, TRA_COUNTER_SPILLED},
                             network[] = {TRA_COUNTER_SENT, TRA_COUNTER_RECEIVED};
    static const char *const disk_names[] = {"read", "written", "scratch"}, *const network_names[] = {"sent",
                                                                                                      "received"};
    tra_str_printf(c->out, "<div class=\"site\"><h3>Site %d on ", site);
    tra_html_text(host, 0, c->out);
    tra_str_add(c->out, "</h3>\n<div class=\"track\"><b>operators</b>");
    add_operators(c, site);
    tra_str_add(c->out, "</div>\n");
    for (int i = 0; i < c->t->threads && i < MOST_THREADS; i++) {
        tra_str_printf(c->out, i ? "<div class=\"track\"><b>worker %d</b>" : "<div class=\"track\"><b>main thread</b>",
                       i);
        add_shares(c, site, i);
        add_thread(c, site, i);
        tra_str_add(c->out, "</div>\n");
    }
    add_axis(c);
    add_memory(c, job, site);
    add_rates(c, site, "disk", 3, disk, disk_names);
    if (c->t->sites > 1) add_rates(c, site, "network", 2, network, network_names);
    tra_str_add(c->out, "</div>\n");
}

void tra_html_timeline(const tra_job *job, const tra_shown_plan *s, const tra_profile *m, tra_str *out) {
    chart c = {.t = &m->timeline, .s = s, .out = out};
    if (c.t->buckets == 0) {
        tra_str_add(out, "<p>What was done when is not known: an older tra wrote the profile.</p>\n");
        return;
    }
    tra_str_add(out, "<p class=\"key\">threads: ");
    for (int k = 0; k < TRA_DO_AWAIT_WORK; k++) {
        char name[40];
        snprintf(name, sizeof name, "%s", tra_doing_text((tra_doing)k));
        for (char *p = name; *p; p++) *p = *p == '_' ? ' ' : *p;
        tra_str_printf(out, "<span><i class=\"do%d\"></i>%s</span> ", k, name);
    }
    tra_str_add(out, "<span><i></i>waits for work</span></p>\n");
    count_buckets(&c);
    add_names(&c);
    for (int i = 0; i < m->sites && i < MOST_SITES; i++) add_site(&c, job, m->host[i], i);
    free(c.buckets);
    free(c.colour);
    if (m->sites > MOST_SITES) tra_str_printf(out, "<p>%d sites more are not shown.</p>\n", m->sites - MOST_SITES);
}
