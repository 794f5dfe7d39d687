/* planning.c - the options that compile, explain, cost and run share, and their defaults. */
#include "planning.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

tra_planning tra_planning_opts = {.sites = 1};

/* ---- memory of the machine ---------------------------------------------------------------------------------- */

/* The first number of a file; false if there is none ("max"). */
static bool number_in(const char *path, int64_t *v) {
    char *text;
    size_t n;
    if (tra_slurp(path, 4096, &text, &n, NULL) != TRA_OK) return false;
    text[strcspn(text, "\n")] = 0;
    bool ok = tra_parse_int(text, v) && *v > 0;
    free(text);
    return ok;
}

/* The folder of this process in a cgroup hierarchy: what /proc/self/cgroup says after `tag`. */
static bool cgroup_folder(const char *tag, char *path, size_t size) {
    FILE *f = fopen("/proc/self/cgroup", "r");
    char line[4096];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        char *at = strstr(line, tag);
        line[strcspn(line, "\n")] = 0;
        if (!at) continue;
        found = true;
        snprintf(path, size, "%s", at + strlen(tag));
    }
    if (f) fclose(f);
    return found;
}

/* The least limit from the process's own group up to the root of the hierarchy. */
static int64_t cgroup_limit(const char *root, const char *tag, const char *file) {
    char group[4096], path[8192];
    int64_t least = INT64_MAX, v;
    if (!cgroup_folder(tag, group, sizeof group)) group[0] = 0;
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", root, strcmp(group, "/") ? group : "", file);
        if (number_in(path, &v)) least = tra_min64(least, v);
        char *slash = strrchr(group, '/');
        if (!slash) break;
        *slash = 0;
    }
    return least;
}

static int64_t meminfo(const char *key) {
    FILE *f = fopen("/proc/meminfo", "r");
    char line[256];
    int64_t kib = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), ": %" SCNd64, &kib) == 1) break;
    }
    if (f) fclose(f);
    return kib << 10;
}

/* Memory that all processes of this job may use together on this machine: the limit of the cgroup or of the scheduler,
 * else 80 % of what is available now. */
static int64_t machine_memory(void) {
    int64_t total = meminfo("MemTotal"), v, cpus;
    int64_t limit = tra_min64(cgroup_limit("/sys/fs/cgroup", "0::", "memory.max"),
                              cgroup_limit("/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes"));
    const char *node = getenv("SLURM_MEM_PER_NODE"), *cpu = getenv("SLURM_MEM_PER_CPU"); /* MiB */
    const char *n = getenv("SLURM_CPUS_ON_NODE");
    if (node && tra_parse_int(node, &v) && v > 0 && v < INT64_MAX >> 20)
        limit = tra_min64(limit, v << 20);
    else if (cpu && n && tra_parse_int(cpu, &v) && tra_parse_int(n, &cpus) && v > 0 && cpus > 0 &&
             tra_mul(v, cpus, &v) && v < INT64_MAX >> 20)
        limit = tra_min64(limit, v << 20);
    if (limit < total) return limit;
    return meminfo("MemAvailable") / 10 * 8;
}

/* ---- the request -------------------------------------------------------------------------------------------- */

static tra_status range(const char *name, int64_t v, int64_t min, int64_t max, tra_err *e) {
    if (v >= min && v <= max) return TRA_OK;
    return tra_fail(e, TRA_USAGE, "--%s %" PRId64 ": from %" PRId64 " to %" PRId64, name, v, min, max);
}

tra_status tra_planning_request(int here, tra_request *r, tra_err *e) {
    const tra_planning *p = &tra_planning_opts;
    TRA_TRY(range("sites", p->sites, 1, TRA_MAXSITES, e));
    if (p->memory_given) TRA_TRY(range("memory", p->memory, 1, INT64_MAX, e));
    if (p->plan_given) TRA_TRY(range("plan", p->plan, 1, INT64_MAX, e));
    if (p->threads_given || p->threads) TRA_TRY(range("threads", p->threads, 1, TRA_MAXWORKERS, e));
    if (here <= 0) here = (int)p->sites;
    int threads = p->threads ? (int)p->threads : (int)tra_max64(1, tra_cores() / here);
    tra_rates rates = tra_rates_builtin();
    rates.flops_f64 *= threads;
    rates.flops_f32 *= threads;
    *r = (tra_request){
        .options = {.sites = (int)p->sites,
                    .memory = p->memory ? p->memory : machine_memory() / here,
                    .cost = (tra_cost_model)p->cost,
                    .optimizer = (tra_optimizer)p->optimizer,
                    .threads = threads,
                    .rates = rates},
        .sites_given = p->sites_given,
        .memory_given = p->memory > 0,
        .cost_given = p->cost_given,
        .optimizer_given = p->optimizer_given,
        .threads_given = p->threads > 0,
        .plan = p->plan,
        .ndefines = tra_common_opts.define.n,
        .defines = tra_common_opts.define.v,
        .colour = tra_colour(stderr),
    };
    return TRA_OK;
}
