/* deadline.c - does a run fit into its time and memory? run --deadline: predicted seconds beside those that are left,
 * and a stop in time. */
#include "deadline.h"

#include "../lib/base/limits.h"
#include "../lib/physical/plan.h"
#include "launch.h"

#include <stdlib.h>
#include <time.h>

tra_deadline_options tra_deadline_opts;

static double end, stop; /* of tra_now */
static double margin,
    joined; /* seconds: that are kept free at the end at least; in which this rank has joined others */

/* Keeps so many seconds free at the end, in which progress is saved. */
static void leave(double seconds) {
    double most = (end - tra_process_begin()) / 2;
    stop = end - (seconds < most ? seconds : most);
    tra_stop_at(stop);
}

tra_status tra_deadline_begin(tra_err *e) {
    enum { SHARE = 20 };
    const char *s = tra_deadline_opts.time;
    double v, most = 120, least = 0.2;
    if (!s && tra_deadline_opts.strict) return tra_fail(e, TRA_USAGE, "--strict is about --deadline TIME: give it too");
    if (!s) return TRA_OK;
    bool clock = *s == '@';
    if (clock ? !tra_parse_num(s + 1, &v) : !tra_parse_span(s, &v))
        return tra_fail(e, TRA_USAGE, "--deadline %s: a time such as 90s, 4h, 1h30m, 4:00:00 or @1764136800", s);
    if (clock) v -= (double)time(NULL) - (tra_now() - tra_process_begin());
    if (!(v > 0)) return tra_fail(e, TRA_USAGE, "--deadline %s: %s", s, clock ? "that time is over" : "it is no time");
    end = tra_process_begin() + v;
    joined = tra_now() - tra_own_begin();
    margin = v / SHARE > most ? most : v / SHARE < least ? least : v / SHARE;
    leave(margin);
    return TRA_OK;
}

/* The longest that a result takes, before whose end nothing of it is saved: a stage makes them one after the other. */
static double longest_unit(const tra_plan *p, int threads) {
    double most = 0;
    for (int i = 0; i < p->nops; i++) {
        double each = tra_unit_seconds(p, &p->ops[i], threads);
        most = each > most ? each : most;
    }
    return most;
}

/* Seconds in which ranks agree that they stop, and MPI and its launcher end: on a machine as busy as it was when they
 * joined, which is work of the same kind. */
static double ending_of_ranks(void) {
    const double agree = 0.5, kill = 2.2; /* mpirun of Open MPI sleeps when a rank has ended with a status */
    bool kills = !getenv("TRA_LAUNCHED") && tra_comm_launched(&(int){0}) && tra_comm_built_with() == TRA_MPI_OPEN;
    return agree + joined + (kills ? kill : 0);
}

tra_status tra_deadline_check(const tra_job *job, int64_t saved, tra_err *e) {
    const tra_plan *p = job->plan;
    char need[TRA_SPANTEXT], have[TRA_SPANTEXT], kept[32];
    if (!tra_deadline_opts.time) return TRA_OK;
    const double saves = 5e8; /* bytes a second */
    double spare = (double)p->checkpointed / saves + (p->sites > 1 ? ending_of_ranks() : 0),
           unit = longest_unit(p, job->options.threads), left;
    leave(margin + spare);
    left = stop - tra_now();
    if (unit > left && !tra_deadline_opts.strict && !getenv("TRA_LAUNCHED"))
        tra_warn(
            "one step is expected to take %s, and nothing of it is saved before its end; %s are left to --deadline: no "
            "run in that time gets past it",
            tra_span_text(unit, need), tra_span_text(left > 0 ? left : 0, have));
    if (p->cost.seconds <= left || getenv("TRA_LAUNCHED")) return TRA_OK; /* the launcher has said it */
    tra_span_text(p->cost.seconds, need);
    tra_span_text(left > 0 ? left : 0, have);
    const char *most = p->nloops > 0 ? " when its loops take all their turns" : "";
    if (saved > 0) {
        tra_warn("all of it is expected to take %s%s, and %s are left to --deadline; %s of it are saved already", need,
                 most, have, tra_human(saved, kept));
        return TRA_OK;
    }
    if (tra_deadline_opts.strict)
        return tra_fail(e, TRA_RESOURCE, "expected to take %s%s, but %s are left to --deadline %s", need, most, have,
                        tra_deadline_opts.time);
    tra_warn("expected to take %s%s, but %s are left to --deadline: it will save its progress and end with 75; "
             "--resume goes on",
             need, most, have);
    return TRA_OK;
}

double tra_deadline_stop(void) { return tra_deadline_opts.time ? stop : 0; }

tra_status tra_memory_check(const tra_plan *p, int here, tra_err *e) {
    char what[TRA_LIMIT_TEXT], most[32], all[32];
    int64_t limit = tra_job_memory(what);
    if (limit == 0 || p->cost.peak_memory <= limit / here) return TRA_OK;
    return tra_fail(e, TRA_RESOURCE,
                    "the plan may take %s of memory%s, but this job has %s (%s): ask for more, or give --memory "
                    "%" PRId64 "M",
                    tra_human(p->cost.peak_memory, most), here > 1 ? " on each site here" : "", tra_human(limit, all),
                    what, limit / here >> 20);
}
