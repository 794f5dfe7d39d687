/* common.c - what several commands share: defaults, workers, and reading a whole relation with them. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tra_progress_option;

tra_progress_form tra_progress_here(void) {
    return tra_progress_wanted(tra_progress_option, tra_common_opts.quiet, isatty(STDERR_FILENO));
}

const char *tra_scratch_dir(const char *given) {
    const char *dir = getenv("TMPDIR");
    return given ? given : dir && *dir ? dir : "/var/tmp";
}

int tra_work_dirs(const char *scratch, const char *dirs[2]) {
    struct stat a, b;
    dirs[0] = ".";
    dirs[1] = tra_scratch_dir(scratch);
    bool same = stat(dirs[0], &a) == 0 && stat(dirs[1], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return same ? 1 : 2;
}

tra_status tra_workers(int64_t memory, int64_t fixed, int64_t each, int64_t jobs, int *n, tra_err *e) {
    TRA_TRY(tra_threads_check(e));
    TRA_TRY(tra_buffer_check(memory, fixed + each, e)); /* without TRA_WORKER_BYTES: a process has one worker anyway */
    int64_t fit = 1 + (tra_buffer_bytes(memory) - fixed - each) / (each + TRA_WORKER_BYTES);
    *n = (int)tra_max64(1, tra_min64(tra_min64(fit, jobs), tra_cores()));
    return TRA_OK;
}

/* ---- scanning ----------------------------------------------------------------------------------------------- */

typedef struct scan {
    tra_rel *rel;
    tra_scan_fn *fn;
    void *ctx;
    void *data[TRA_MAXWORKERS], *scratch[TRA_MAXWORKERS];
} scan;

static tra_status scan_one(void *ctx, int worker, int64_t ordinal, tra_err *e) {
    scan *s = ctx;
    tra_status read = tra_rel_read(s->rel, ordinal, s->data[worker], s->scratch[worker], e);
    tra_status used = s->fn(s->ctx, worker, ordinal, read == TRA_OK ? s->data[worker] : NULL, e);
    tra_meter_add(1);
    return used;
}

tra_status tra_scan(tra_rel *rel, const char *what, int64_t memory, tra_scan_fn *fn, void *ctx, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    size_t bytes = tra_rel_buffer_bytes(rel), scratch = tra_rel_scratch_bytes(rel);
    int n = 0;
    TRA_TRY(tra_workers(memory, tra_rel_held_bytes(rel), (int64_t)(bytes + scratch), t->cat->n, &n, e));
    scan s = {.rel = rel, .fn = fn, .ctx = ctx};
    tra_status status = TRA_OK;
    for (int i = 0; i < n && status == TRA_OK; i++) {
        s.data[i] = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
        s.scratch[i] = aligned_alloc(64, (scratch + 64) & ~(size_t)63);
        if (!s.data[i] || !s.scratch[i]) status = tra_fail_errno(e, TRA_RESOURCE, "no memory for a block");
    }
    tra_meter_begin(tra_progress_here(), what, t->cat->n);
    if (status == TRA_OK) status = tra_crew_run(n, t->cat->n, scan_one, &s, e);
    tra_meter_end();
    for (int i = 0; i < n; i++) {
        free(s.data[i]);
        free(s.scratch[i]);
    }
    return status;
}
