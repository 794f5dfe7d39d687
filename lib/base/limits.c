/* limits.c - memory and cores of this machine, as far as the cgroup and the scheduler give them to this job. */
#include "limits.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- cgroups ------------------------------------------------------------------------------------------------ */

/* The first number of a file, or the second on its first line; false if there is none ("max", -1). */
static bool number_in(const char *path, bool second, int64_t *v) {
    char *text;
    size_t n;
    if (tra_slurp(path, 4096, &text, &n, NULL) != TRA_OK) return false;
    char *at = second ? text + strcspn(text, " \n") : text;
    if (*at == ' ') at++;
    at[strcspn(at, " \n")] = 0;
    bool ok = tra_parse_int(at, v) && *v > 0;
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

/* Calls fn on the file `name` of each group of a cgroup hierarchy, from that of this process up to the root. */
typedef void found_fn(const char *path, void *ctx);
static void walk_cgroup(const char *root, const char *tag, const char *name, found_fn *fn, void *ctx) {
    char group[4096], path[8192];
    if (!cgroup_folder(tag, group, sizeof group)) group[0] = 0;
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", root, strcmp(group, "/") ? group : "", name);
        fn(path, ctx);
        char *slash = strrchr(group, '/');
        if (!slash) break;
        *slash = 0;
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

typedef struct limit {
    int64_t least;
    char *what; /* which file has it, or NULL */
} limit;

static void memory_limit(const char *path, void *ctx) {
    limit *l = ctx;
    int64_t v;
    if (!number_in(path, false, &v) || v >= l->least) return;
    l->least = v;
    if (l->what) snprintf(l->what, TRA_LIMIT_TEXT, "%s", path);
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

static void slurm_limit(const char *name, int64_t mib, limit *l) {
    if (mib <= 0 || mib >= INT64_MAX >> 20 || mib << 20 >= l->least) return;
    l->least = mib << 20;
    if (l->what) snprintf(l->what, TRA_LIMIT_TEXT, "%s", name);
}

int64_t tra_job_memory(char *what) {
    const char *node = getenv("SLURM_MEM_PER_NODE"), *cpu = getenv("SLURM_MEM_PER_CPU"); /* MiB */
    const char *n = getenv("SLURM_CPUS_ON_NODE");
    limit l = {meminfo("MemTotal"), what};
    int64_t total = l.least, v, cpus;
    if (what) *what = 0;
    walk_cgroup("/sys/fs/cgroup", "0::", "memory.max", memory_limit, &l);
    walk_cgroup("/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes", memory_limit, &l);
    if (node && tra_parse_int(node, &v))
        slurm_limit("SLURM_MEM_PER_NODE", v, &l);
    else if (cpu && n && tra_parse_int(cpu, &v) && tra_parse_int(n, &cpus) && v > 0 && cpus > 0 && tra_mul(v, cpus, &v))
        slurm_limit("SLURM_MEM_PER_CPU", v, &l);
    return l.least < total ? l.least : 0;
}

int64_t tra_machine_memory(char *what) {
    int64_t limit = tra_job_memory(what);
    if (limit) return limit;
    if (what) snprintf(what, TRA_LIMIT_TEXT, "80 %% of what is available");
    return meminfo("MemAvailable") / 10 * 8;
}

/* ---- cores -------------------------------------------------------------------------------------------------- */

/* cpu.max has "QUOTA PERIOD", older hierarchies a file for each. */
static void cpu_limit(const char *path, void *ctx) {
    int64_t quota, period, *least = ctx;
    char *other = tra_asprintf("%.*scpu.cfs_period_us", (int)(strrchr(path, '/') + 1 - path), path);
    if (number_in(path, false, &quota) && (number_in(path, true, &period) || number_in(other, false, &period)))
        *least = tra_min64(*least, tra_max64(1, (quota + period / 2) / period));
    free(other);
}

int tra_machine_cores(void) {
    cpu_set_t set;
    int64_t least = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    walk_cgroup("/sys/fs/cgroup", "0::", "cpu.max", cpu_limit, &least);
    walk_cgroup("/sys/fs/cgroup/cpu", ":cpu:", "cpu.cfs_quota_us", cpu_limit, &least);
    walk_cgroup("/sys/fs/cgroup/cpu", ":cpu,cpuacct:", "cpu.cfs_quota_us", cpu_limit, &least);
    return (int)least;
}
