/* exec_samples.c - what a run holds of memory, and what it has moved so far. */
#include "exec_int.h"
#include "../physical/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t tra_exec_see_peak(tra_report *r) {
    int64_t kib = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = strtoll(line + 6, NULL, 10);
    if (f) fclose(f);
    r->total.peak_memory = tra_max64(r->total.peak_memory, kib * 1024);
    return r->total.peak_memory;
}

void tra_exec_sample(tra_execution *x) {
    int64_t counters[TRA_COUNTERS_COUNT];
    tra_pool_stats pool = tra_pool_stat(x->site.pool);
    counters[TRA_COUNTER_READ] = pool.read;
    counters[TRA_COUNTER_SPILLED] = pool.spilled + pool.unspilled;
    counters[TRA_COUNTER_WRITTEN] = 0;
    for (int k = 0; k < x->plan->nops; k++)
        counters[TRA_COUNTER_WRITTEN] += x->files[k] ? tra_outfile_landed(x->files[k]) : x->report->ops[k].disk_write;
    counters[TRA_COUNTER_SENT] = x->site.sent;
    counters[TRA_COUNTER_RECEIVED] = x->site.received;
    tra_record_sample(x->report->record, tra_resident_bytes(), counters);
}

/* ---- operators that run inside of a stage ------------------------------------------------------------------------ */

/* Takes an operator's part of what was measured of a stage. worked, computed: its shares of what threads did there. */
static void share(tra_op_report *stage, const tra_op_report *all, double worked, double computed, tra_op_report *to) {
    double seconds = all->seconds * worked, kernel = fmin(all->kernel_seconds * computed, seconds);
    to->seconds += seconds, to->kernel_seconds += kernel;
    stage->seconds -= seconds, stage->kernel_seconds -= kernel;
}

void tra_exec_share_seconds(tra_execution *x) {
    int n = x->plan->nops, *at = tra_plan_runs_in(x->plan);
    tra_op_seconds *own = tra_calloc((size_t)n + 1, sizeof *own), *all = tra_calloc((size_t)n + 1, sizeof *all);
    tra_op_report *stage = tra_malloc(((size_t)n + 1) * sizeof *stage);
    memcpy(stage, x->report->ops, (size_t)n * sizeof *stage);
    for (int i = 0; i < n; i++) {
        own[i] = tra_record_seconds(x->report->record, i);
        all[at[i]].worked += own[i].worked, all[at[i]].computed += own[i].computed;
    }
    for (int i = 0; i < n; i++) {
        int s = at[i];
        if (s != i && x->plan->ops[i].op != TRA_PLAN_OUTPUT && own[i].computed > 0)
            share(&x->report->ops[s], &stage[s], own[i].worked / all[s].worked, own[i].computed / all[s].computed,
                  &x->report->ops[i]);
    }
    free(stage);
    free(all);
    free(own);
    free(at);
}

void tra_report_free(tra_report *r) {
    tra_record_free(r->record);
    free(r->ops);
    free(r->loops);
    free(r->heavy);
}
