/* analyze.c - explain --analyze as text: what a run measured beside what was predicted. */
#include "explain_int.h"

#include <math.h>
#include <string.h>

/* Adds a line of a name and seven figures, in three groups. */
static void add_row(tra_str *out, const char *what, const char *const cells[7]) {
    tra_text_cell(out, what, 25);
    for (int i = 0; i < 7; i++) {
        tra_str_add(out, i % 2 || i == 6 ? " " : "  ");
        tra_text_cell(out, cells[i], -9);
    }
    tra_text_end_line(out);
}

/* A size as text; "" if both it and the figure that it is compared with are 0. */
static const char *size_text(int64_t v, int64_t other, char *buf) {
    if (v == 0 && other == 0) return strcpy(buf, "");
    return tra_human(v, buf);
}

/* Adds the row of an operator (m->nops: of the whole run), whose predicted cost is c. */
static void add_measured_row(const char *what, const tra_cost *c, const tra_profile *m, int op, tra_str *out) {
    char text[7][32];
    const char *cells[7];
    tra_op_report r = tra_profile_sum(m, op);
    double first = r.seconds; /* of the site that is done first; r has those of the last */
    int64_t predicted = c->disk_read.expected + c->disk_write.expected, disk = r.disk_read + r.disk_write;
    int64_t network = c->network_bytes.expected;
    for (int s = 0; s < m->sites; s++) {
        double seconds = tra_profile_site(m, op, s)->seconds;
        if (seconds < first) first = seconds;
    }
    for (int i = 0; i < 7; i++) cells[i] = text[i];
    size_text(network, r.sent, text[0]);
    size_text(r.sent, network, text[1]);
    size_text(predicted, disk, text[2]);
    size_text(disk, predicted, text[3]);
    tra_text_seconds(c->seconds, text[4], sizeof text[4]);
    tra_text_seconds(r.seconds, text[5], sizeof text[5]);
    tra_text_seconds(first, text[6], sizeof text[6]);
    add_row(out, what, cells);
}

double tra_seconds_factor(double predicted, double measured, bool *off) {
    enum { MOST = 3 };
    static const double LEAST = 1e-6; /* what takes less is not told apart */
    double p = fmax(predicted, LEAST), m = fmax(measured, LEAST), factor = p > m ? p / m : m / p;
    *off = factor > MOST;
    return factor;
}

double tra_operators_took(const tra_profile *m) {
    const double *phase = m->timeline.phase; /* all 0 where it was not recorded */
    return tra_profile_sum(m, m->nops).seconds - phase[TRA_PHASE_COMPILE] - phase[TRA_PHASE_OPEN] -
           phase[TRA_PHASE_PLACE];
}

const char *tra_seconds_wrong(const tra_plan *p, const tra_profile *m, tra_arena *a) {
    static const double SHORT = 0.2; /* seconds that say nothing of a machine */
    double seconds = tra_operators_took(m);
    bool off;
    double factor = tra_seconds_factor(p->cost.seconds, seconds, &off);
    char text[40];
    if (m->status != 0 || !off || fmax(p->cost.seconds, seconds) < SHORT) return NULL;
    return tra_arena_printf(
        a,
        "the operators took %.3g times %s than the %s that were predicted; if what follows does not "
        "tell why, the machine may be busy, or not calibrated (tra calibrate)",
        factor, seconds > p->cost.seconds ? "longer" : "less", tra_text_seconds(p->cost.seconds, text, sizeof text));
}

double tra_rows_error(const tra_type *t, const tra_op_report *r, double *expected) {
    *expected = (double)tra_type_entries(t).expected;
    if (!t->columns || !t->bounded || r->counted[1] != t->cat->n) return 0;
    double predicted = *expected < 1 ? 1 : *expected, counted = r->counted[0] < 1 ? 1 : (double)r->counted[0];
    return predicted > counted ? predicted / counted : counted / predicted;
}

/* Adds a table of the operators whose rows were counted: the rows that were expected, their bound, and their number. */
static void add_row_counts(const tra_shown_plan *s, const tra_profile *m, tra_str *out) {
    bool any = false;
    for (int i = 0; i < s->plan->nops; i++) {
        const tra_op *o = &s->plan->ops[i];
        tra_op_report r = tra_profile_sum(m, i);
        double expected, error = tra_rows_error(&o->type, &r, &expected);
        char what[96], a[32], b[32];
        if (error == 0) continue;
        if (!any) tra_str_add(out, "\nrows                          expected     at most      counted       factor\n");
        any = true;
        snprintf(what, sizeof what, "#%d %s%s%s", i, tra_plan_op_text(o->op), s->ops[i].relation ? " " : "",
                 s->ops[i].relation ? s->ops[i].relation : "");
        tra_text_cell(out, what, 25);
        tra_str_printf(out, " %12s %12s %12" PRId64 " %12.3g\n", tra_text_number(expected, a, sizeof a),
                       tra_text_number((double)tra_type_entries(&o->type).bound, b, sizeof b), r.counted[0], error);
    }
}

void tra_text_measured(const tra_shown_plan *s, const tra_profile *m, tra_str *out) {
    const tra_plan *p = s->plan;
    char a[32], b[32], c[32];
    tra_op_report all = tra_profile_sum(m, m->nops);
    tra_str_printf(out, "Measured: %s, %s for the whole process; BLAS kernel %s; on",
                   tra_text_seconds(m->seconds, a, sizeof a), tra_text_seconds(m->process_seconds, b, sizeof b),
                   m->kernel);
    for (int i = 0; i < m->sites && i < 4; i++) {
        if (i == 0 || strcmp(m->host[i], m->host[i - 1])) tra_str_printf(out, " %s", m->host[i]);
    }
    tra_str_printf(out, "%s\npeak memory %s of a site, predicted %s; spilled %s\n", m->sites > 4 ? " .." : "",
                   tra_human(all.peak_memory, a), tra_human(p->cost.peak_memory, b), tra_human(all.spilled, c));
    tra_arena *arena = tra_arena_new();
    const char *wrong = tra_seconds_wrong(p, m, arena);
    if (wrong) tra_text_wrapped(wrong, 0, 0, out);
    tra_arena_free(arena);
}

void tra_text_analysis(const tra_shown_plan *s, const tra_profile *m, tra_str *out) {
    static const char *const groups[] = {"moved:", "", "disk:", "", "time:", "the last", "the first"};
    static const char *const names[] = {"predicted", "measured", "predicted", "measured", "predicted", "site", "site"};
    const tra_plan *p = s->plan;
    tra_str_add(out, "\n");
    add_row(out, "", groups);
    add_row(out, "operator", names);
    for (int i = 0; i < p->nops; i++) {
        tra_str what = {0};
        tra_str_printf(&what, "#%d %s%s%s", i, tra_plan_op_text(p->ops[i].op), s->ops[i].relation ? " " : "",
                       s->ops[i].relation ? s->ops[i].relation : "");
        add_measured_row(tra_str_get(&what), &p->ops[i].predicted.cost, m, i, out);
        tra_str_free(&what);
    }
    add_measured_row("all", &p->cost, m, m->nops, out);
    add_row_counts(s, m, out);
}
