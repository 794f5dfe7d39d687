/* exec_samples.c - what a run holds of memory, and what it has moved so far. */
#include "exec_int.h"

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
    counters[TRA_COUNTER_WRITTEN] = x->written;
    counters[TRA_COUNTER_SENT] = x->site.sent;
    counters[TRA_COUNTER_RECEIVED] = x->site.received;
    tra_record_sample(x->report->record, tra_resident_bytes(), counters);
}

void tra_exec_sample_all(tra_execution *x) {
    x->written = 0;
    for (int k = 0; k < x->plan->nops; k++)
        x->written += x->files[k] ? tra_outfile_written(x->files[k]) : x->report->ops[k].disk_write;
    tra_exec_sample(x);
}
