/* progress.c - a bar that is drawn over itself, or plain lines now and then. */
#include "progress.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 24 };

static double weight(const tra_plan *plan, int op) { return plan->ops[op].predicted.cost.seconds + 1e-9; }

void tra_progress_begin(tra_progress *p, const tra_plan *plan, tra_progress_form form) {
    *p = (tra_progress){.form = form, .plan = plan, .begun = tra_now()};
    for (int i = 0; i < plan->nops; i++) p->total += weight(plan, i);
}

void tra_progress_op(tra_progress *p, int op) {
    while (p->current < op) p->before += weight(p->plan, p->current++);
    tra_progress_show(p, 0, 0);
}

/* Is nobody reading what was written before? Then the run does not wait for them. */
static bool is_blocked(void) {
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&fd, 1, 0) == 0;
}

static const char *duration(double s, char *buf, size_t n) {
    if (s < 120)
        snprintf(buf, n, "%.0f s", s);
    else if (s < 7200)
        snprintf(buf, n, "%.0f min", s / 60);
    else
        snprintf(buf, n, "%.1f h", s / 3600);
    return buf;
}

void tra_progress_show(tra_progress *p, int64_t done, int64_t all) {
    double now = tra_now();
    if (p->form == TRA_PROGRESS_NONE || now < p->due) return;
    p->due = now + (p->form == TRA_PROGRESS_BAR ? 0.25 : 10);
    if (is_blocked()) return;
    const tra_op *op = &p->plan->ops[p->current];
    double here = all > 0 ? (double)done / (double)all : 0, spent = now - p->begun;
    double share = (p->before + weight(p->plan, p->current) * (here < 1 ? here : 1)) / p->total;
    char took[32], left[64] = "", bar[BAR + 1], text[32];
    if (share > 0.02 && spent > 1) {
        int n = snprintf(left, sizeof left, ", about ");
        snprintf(left + n, sizeof left - (size_t)n, "%s left",
                 duration(spent * (1 - share) / share, text, sizeof text));
    }
    for (int i = 0; i < BAR; i++) bar[i] = i < (int)(share * BAR) ? '#' : '.';
    bar[BAR] = 0;
    duration(spent, took, sizeof took);
    if (p->form == TRA_PROGRESS_BAR)
        fprintf(stderr, "\r\033[K[%s] %3.0f %%  #%d %s%s%.20s, %s%s", bar, 100 * share, op->id,
                tra_plan_op_text(op->op), op->what.name ? " " : "", op->what.name ? op->what.name : "", took, left);
    else
        fprintf(stderr, "tra: %.0f %%, operator %d of %d (%s%s%s), %s%s\n", 100 * share, op->id + 1, p->plan->nops,
                tra_plan_op_text(op->op), op->what.name ? " " : "", op->what.name ? op->what.name : "", took, left);
    fflush(stderr);
}

void tra_progress_end(tra_progress *p) {
    if (p->form == TRA_PROGRESS_BAR && !is_blocked()) fprintf(stderr, "\r\033[K");
}
