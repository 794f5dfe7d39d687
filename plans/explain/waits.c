/* waits.c - what the threads of a run did with its time, as sentences: shares of the whole, and what they waited for.
 */
#include <math.h>
#include <string.h>

#include "findings_int.h"

double tra_finding_did(const findings *f, tra_doing what) {
    const tra_timeline *t = &f->m->timeline;
    double ns = 0;
    for (int s = 0; s < t->sites; s++)
        for (int b = 0; b < t->buckets; b++)
            for (int w = 0; w < t->threads; w++) ns += (double)*tra_timeline_at(t, s, b, tra_timeline_did(w, what));
    return 1e-9 * ns;
}

/* Nanoseconds of what all workers did while operators ran, and of what the main threads did then. */
typedef struct doings {
    double workers[TRA_DOINGS_COUNT], main[TRA_DOINGS_COUNT];
    double all, all_main; /* their sums */
} doings;

static doings during_operators(const tra_timeline *t) {
    doings d = {0};
    for (int s = 0; s < t->sites; s++)
        for (int b = 0; b < t->buckets; b++) {
            if (*tra_timeline_at(t, s, b, TRA_TL_OP) <= 0) continue;
            for (int w = 0; w < t->threads; w++)
                for (int k = 0; k < TRA_DOINGS_COUNT; k++)
                    (w ? d.workers : d.main)[k] += (double)*tra_timeline_at(t, s, b, tra_timeline_did(w, (tra_doing)k));
        }
    for (int k = 0; k < TRA_DOINGS_COUNT; k++) d.all += d.workers[k], d.all_main += d.main[k];
    return d;
}

/* ---- shares --------------------------------------------------------------------------------------------------- */

typedef struct share {
    double seconds;
    const char *told;
} share;

enum { MOST_SHARES = TRA_PHASES_COUNT + TRA_DOINGS_COUNT + 3 };
typedef struct shares {
    int n;
    share v[MOST_SHARES];
} shares;

/* Adds it before those that are shorter. */
static void add_share(shares *x, double seconds, const char *told) {
    int i = x->n++;
    for (; i > 0 && x->v[i - 1].seconds < seconds; i--) x->v[i] = x->v[i - 1];
    x->v[i] = (share){seconds, told};
}

/* Did other processes have the processors while workers would have computed for so many seconds of all? */
static bool find_busy_machine(findings *f, double would, double had) {
    static const double BUSY = 0.6;
    int together = 0; /* sites on the machine of the first */
    if (would < TRA_SHORT_RUN || had > BUSY * would) return false;
    for (int i = 0; i < f->m->sites; i++) together += strcmp(f->m->host[i], f->m->host[0]) == 0;
    int threads = together * f->job->options.threads;
    const char *ready =
        tra_arena_printf(f->a, "Workers were ready to compute for %s in all, but had a processor for %s of it",
                         tra_finding_seconds(f, would), tra_finding_seconds(f, had));
    if (f->m->processors > 0 && threads > f->m->processors)
        tra_finding(f,
                    "%s: the machine has %d processor%s for %d threads of %d site%s. Fewer sites or --threads lose "
                    "nothing.",
                    ready, f->m->processors, f->m->processors == 1 ? "" : "s", threads, together,
                    together == 1 ? "" : "s");
    else
        tra_finding(f, "%s: %s of the machine had them for the rest. Else the run would have taken about %s.", ready,
                    together > 1 ? "other sites of this run, or other processes," : "other processes",
                    tra_finding_seconds(f, f->run * (1 - f->did[TRA_DO_AWAIT_PROCESSOR])));
    return true;
}

bool tra_find_shares(findings *f) {
    static const double SHOWN = 0.02; /* of the run */
    const tra_timeline *t = &f->m->timeline;
    tra_op_report all = tra_profile_sum(f->m, f->m->nops);
    doings d = during_operators(t);
    double run = f->run, left = run, told_of = 0;
    shares x = {0};
    for (int k = 0; k < TRA_PHASES_COUNT; k++) {
        add_share(&x, t->phase[k], tra_phase_text((tra_phase)k));
        left -= t->phase[k];
    }
    if (d.all <= 0 || left <= 0) return false;
    double per = left / d.all, scratch = 1e9 * all.scratch_seconds, *did = d.workers;
    /* seconds that a worker waits for scratch were counted as reading, or else as computing */
    double reads = fmin(scratch, did[TRA_DO_READ]), computes = fmin(scratch - reads, did[TRA_DO_COMPUTE]);
    double compute = did[TRA_DO_COMPUTE] - computes, had = compute;
    if (all.cpu_seconds > 0) had = fmin(1e9 * all.cpu_seconds, had);
    compute += did[TRA_DO_AWAIT_PROCESSOR];
    double exchange = t->sites > 1 && d.all_main > 0 ? d.main[TRA_DO_EXCHANGE] / d.all_main * d.all : 0;
    exchange = fmin(exchange, did[TRA_DO_AWAIT_WORK]);
    for (int k = 0; k < TRA_DOINGS_COUNT; k++) f->did[k] = per * did[k] / run;
    f->did[TRA_DO_COMPUTE] = per * had / run;
    f->did[TRA_DO_AWAIT_PROCESSOR] = per * (compute - had) / run;
    f->exchanged = left * d.main[TRA_DO_EXCHANGE] / fmax(d.all_main, 1) / run;
    f->wrote = 1e-9 * d.main[TRA_DO_WRITE] / t->sites / run;
    add_share(&x, per * had, "compute");
    add_share(&x, per * (compute - had), "wait for a processor that others had");
    add_share(&x, per * (did[TRA_DO_READ] - reads), "read");
    add_share(&x, per * (reads + computes), "wait for scratch");
    add_share(&x, per * did[TRA_DO_WRITE], "write");
    add_share(&x, per * did[TRA_DO_AWAIT_MEMORY], "wait for memory");
    add_share(&x, per * did[TRA_DO_AWAIT_TURN], "wait for another worker's term of a sum");
    add_share(&x, per * (exchange + did[TRA_DO_EXCHANGE]), "wait for other sites");
    add_share(&x, per * (did[TRA_DO_AWAIT_WORK] - exchange), "wait for work");
    tra_str told = {0};
    for (int i = 0; i < x.n && x.v[i].seconds > SHOWN * run; i++) {
        tra_str_printf(&told, "%s%s %s", i ? ", " : "", x.v[i].told, tra_finding_seconds(f, x.v[i].seconds));
        told_of += x.v[i].seconds;
    }
    if (run - told_of > SHOWN / 10 * run) tra_str_printf(&told, ", others %s", tra_finding_seconds(f, run - told_of));
    tra_finding(f, "What workers did in %s, on average: %s.", tra_finding_seconds(f, run), tra_str_get(&told));
    tra_str_free(&told);
    return find_busy_machine(f, 1e-9 * compute, 1e-9 * had);
}

/* ---- waits ---------------------------------------------------------------------------------------------------- */

void tra_find_waits(findings *f, bool busy, bool enough) {
    static const double MOSTLY = 75;
    static const struct {
        tra_doing what;
        double least;
        const char *told;
    } waits[] = {
        {TRA_DO_AWAIT_MEMORY, 0.1, "waited for memory: a higher ceiling, fewer threads or smaller blocks would help"},
        {TRA_DO_AWAIT_TURN, 0.2, "waited for another worker's term of the same sum: smaller blocks would help"},
        {TRA_DO_AWAIT_WORK, 0.5,
         "waited for work: there were too few blocks for all threads, which smaller ones (tra import --block) would "
         "mend, or one thread had to go first, as where results are brought together and outputs are put in place"},
    };
    double exchanged = 100 * f->exchanged, computed = 100 * f->did[TRA_DO_COMPUTE], waited = f->did[TRA_DO_AWAIT_WORK],
           sent = (double)tra_profile_sum(f->m, f->m->nops).sent / f->job->options.rates.network;
    bool writes = waited > 0.1 && f->wrote > 0.1;
    if (f->m->sites > 1 && exchanged > 20 && 100 * sent > exchanged / 2 * f->run)
        tra_finding(f,
                    "%.0f %% of the time sites exchanged data: the network is the limit. Fewer sites with more threads "
                    "each would move less.",
                    exchanged);
    else if (f->m->sites > 1 && exchanged > 20 && !enough)
        tra_finding(f,
                    "%.0f %% of the time sites waited for those that came later to an exchange: they have uneven work, "
                    "which more and smaller blocks would even out.",
                    exchanged);
    if (writes)
        tra_finding(f, "Workers had nothing left to do for about %s, in which outputs were still being written.",
                    tra_finding_seconds(f, fmin(waited, f->wrote) * f->run));
    if (computed > MOSTLY && !busy)
        tra_finding(f,
                    "Workers computed %.0f %% of the time: the processors are the limit, so more of them would help.",
                    computed);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (f->did[waits[i].what] > waits[i].least && !((enough || writes) && waits[i].what == TRA_DO_AWAIT_WORK))
            tra_finding(f, "Workers computed %.0f %% of the time, and for %.0f %% of it they %s.", computed,
                        100 * f->did[waits[i].what], waits[i].told);
}
