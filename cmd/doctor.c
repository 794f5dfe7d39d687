/* doctor.c - checks the place that a job will run in, and says what to change. */
#include "cmd.h"
#include "common.h"
#include "machine.h"

#include "../lib/base/crew.h"
#include "../lib/base/limits.h"
#include "../lib/durable/durable.h"
#include "../lib/relation/store.h"
#include "../lib/run/measure.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct { const char *scratch; } opt;

typedef enum state { FINE, WARN, FAIL } state;
static const char *const state_text[] = {"ok", "warning", "problem"};

typedef struct report {
    tra_json json;
    tra_str text;
    state worst;
} report;

/* One finding; advice NULL: nothing is to be done. */
static void finding(report *r, const char *check, state s, const char *advice, const char *fmt, ...) TRA_PRINTF(5, 6);
static void finding(report *r, const char *check, state s, const char *advice, const char *fmt, ...) {
    char *what = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&what, fmt, ap) < 0) what = tra_strdup("");
    va_end(ap);
    tra_json_begin(&r->json, NULL, '{');
    tra_json_str(&r->json, "check", check);
    tra_json_str(&r->json, "state", state_text[s]);
    tra_json_str(&r->json, "found", what);
    tra_json_str(&r->json, "advice", advice);
    tra_json_end(&r->json, '}');
    tra_str_printf(&r->text, "%-8s %-8s %s\n", state_text[s], check, what);
    if (advice) tra_str_printf(&r->text, "%18s-> %s\n", "", advice);
    if (s > r->worst) r->worst = s;
    free(what);
}

/* ---- ranks, memory, cores ----------------------------------------------------------------------------------- */

static void check_ranks(report *r, const tra_comm *comm, int here, const tra_err *failed) {
    int said;
    const char *tasks = getenv("SLURM_NTASKS");
    bool launched = tra_comm_launched(&said);
    if (failed->status != TRA_OK) {
        const char *advice = strrchr(failed->msg, ';');
        finding(r, "ranks", FAIL, advice ? advice + 2 : NULL, "%.*s",
                advice ? (int)(advice - failed->msg) : (int)strlen(failed->msg), failed->msg);
    } else if (launched && comm->size > 1) {
        finding(r, "ranks", FINE, NULL, "%d ranks joined, %d on this machine", comm->size, here);
    } else if (tasks && atoi(tasks) > 1 && !launched) {
        finding(r, "ranks", WARN, "start it by mpirun or srun --mpi=pmix inside the batch script",
                "one process, though the batch job has %s tasks", tasks);
    } else {
        finding(r, "ranks", FINE, NULL, "%s",
                tra_comm_built_with() == TRA_MPI_NONE ? "one process: this tra was built without MPI"
                                                      : "one process; mpirun or tra run --sites makes more");
    }
}

static void check_memory(report *r, int here) {
    char what[TRA_LIMIT_TEXT], text[32], each[32];
    const char *set = getenv("TRA_MEMORY");
    int64_t all = tra_machine_memory(what), asked;
    tra_human(all, text);
    tra_human(all / here, each);
    if (set && tra_parse_size(set, &asked) && asked > all / here)
        finding(r, "memory", FAIL, "unset TRA_MEMORY, or ask for more memory",
                "TRA_MEMORY is %s, but a rank's share of %s (%s) is %s", set, text, what, each);
    else if (all / here < (int64_t)128 << 20)
        finding(r, "memory", WARN, "ask for more, or start fewer ranks on a machine", "%s for each rank (%s: %s)", each,
                what, text);
    else
        finding(r, "memory", FINE, NULL, "%s for each of %d rank%s here (%s: %s)", each, here, here == 1 ? "" : "s",
                what, text);
}

static void check_cores(report *r, int here, int cores) {
    int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const char *set = getenv("TRA_THREADS");
    int64_t threads = tra_max64(1, cores / here), v;
    cpu_set_t mask;
    tra_err e = {0};
    if (tra_threads_check(&e) != TRA_OK) {
        finding(r, "cores", FAIL, "unset TRA_THREADS", "%s", e.msg);
        return;
    }
    bool bound = sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1;
    if (set && tra_parse_int(set, &v) && v > 0) threads = v;
    if (threads * here > cores)
        finding(r, "cores", WARN, set ? "unset TRA_THREADS" : "start fewer ranks on a machine",
                "%d rank%s of %" PRId64 " thread%s on %d core%s", here, here == 1 ? "" : "s", threads,
                threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
    else if (bound && here < online)
        finding(r, "cores", WARN, "if they are this job's, mpirun --bind-to none lets every rank use several",
                "each of %d rank%s is bound to one core; the machine has %d", here, here == 1 ? "" : "s", online);
    else
        finding(r, "cores", FINE, NULL, "%d rank%s of %" PRId64 " thread%s on %d core%s", here, here == 1 ? "" : "s",
                threads, threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
}

/* ---- scratch and locks ---------------------------------------------------------------------------------------- */

static void check_scratch(report *r, const tra_comm *comm, int here) {
    enum { BYTES = 64 << 20, TMPFS = 0x01021994, NFS = 0x6969 };
    const char *dir = tra_scratch_dir(opt.scratch), *above;
    char *folder = tra_folder_of(dir, &above);
    if (access(dir, F_OK) != 0 && errno == ENOENT && access(folder, W_OK) == 0) {
        finding(r, "scratch", FINE, NULL, "%s is not there yet; a run makes it", dir);
        free(folder);
        return;
    }
    free(folder);
    struct statvfs v;
    struct statfs fs;
    double write = 0, read = 0;
    char room[32];
    tra_err e = {0};
    bool there = statvfs(dir, &v) == 0 && statfs(dir, &fs) == 0;
    int64_t free_bytes = there ? (int64_t)(v.f_bavail * v.f_frsize) : 0;
    tra_status s = there ? TRA_OK : tra_fail_errno(&e, TRA_RESOURCE, "%s", dir);
    if (there && free_bytes < (int64_t)here * BYTES) s = tra_fail(&e, TRA_RESOURCE, "%s is full", dir);
    s = tra_comm_agree(comm, s, &e);
    if (s == TRA_OK) s = tra_measure_disk(comm, dir, BYTES, 0, 0, &write, &read, NULL, &e);
    if (s != TRA_OK)
        finding(r, "scratch", FAIL, "choose a directory with room by --scratch or TRA_SCRATCH", "%s", e.msg);
    else if (fs.f_type == TMPFS)
        finding(r, "scratch", WARN,
                "it takes the memory that it is to spare: choose a disk by --scratch or TRA_SCRATCH",
                "%s is in memory, %s left", dir, tra_human(free_bytes, room));
    else if (fs.f_type == NFS)
        finding(r, "scratch", WARN, "a local disk is faster, unless for --transport files",
                "%s is on NFS, %s left; a rank writes %.2g GB/s and reads %.2g GB/s", dir, tra_human(free_bytes, room),
                write * 1e-9, read * 1e-9);
    else
        finding(r, "scratch", FINE, NULL, "%s has %s left; a rank writes %.2g GB/s and reads %.2g GB/s", dir,
                tra_human(free_bytes, room), write * 1e-9, read * 1e-9);
}

/* Do two descriptors of one file exclude each other? *made: a file could be made at all. */
static bool locks_work(const char *dir, bool *made, char *why, size_t n) {
    char *me = tra_process_name(), *path = tra_asprintf("%s/.tra-doctor-%s-XXXXXX", dir, me);
    free(me);
    int a = mkstemp(path), b = a < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    *made = a >= 0;
    bool ok = a >= 0 && b >= 0 && flock(a, LOCK_EX | LOCK_NB) == 0;
    if (!ok)
        snprintf(why, n, "%s", strerror(errno));
    else if (flock(b, LOCK_EX | LOCK_NB) == 0)
        snprintf(why, n, "two locks of one file are both granted"), ok = false;
    if (b >= 0) close(b);
    if (a >= 0) close(a), unlink(path);
    free(path);
    return ok;
}

static void check_locks(report *r) {
    const char *dirs[2];
    for (int i = 0, n = tra_work_dirs(opt.scratch, dirs); i < n; i++) {
        char why[256];
        bool made;
        if (i > 0 && access(dirs[i], F_OK) != 0) continue; /* told already */
        if (locks_work(dirs[i], &made, why, sizeof why)) continue;
        if (!made) {
            finding(
                r, "locks", WARN,
                i ? "choose another by --scratch or TRA_SCRATCH" : "name outputs in a directory that can be written",
                "%s cannot be written, so nothing can be locked there: %s", i ? dirs[i] : "the current directory", why);
            return;
        }
        finding(r, "locks", WARN, "see that only one run at a time writes there, or mount it with locks",
                "files in %s cannot be locked: %s", i ? dirs[i] : "the current directory", why);
        return;
    }
    finding(r, "locks", FINE, NULL, "files in the current directory and in %s can be locked",
            tra_scratch_dir(opt.scratch));
}

typedef struct left {
    tra_str names;
    int64_t n, bytes;
} left;

static void count_left(const tra_leftover *l, void *ctx) {
    enum { NAMED = 3 };
    left *k = ctx;
    if (k->n < NAMED) tra_str_printf(&k->names, "%s%s", k->n ? ", " : "", l->path);
    if (k->n == NAMED) tra_str_add(&k->names, ", ...");
    k->n++;
    k->bytes += l->bytes;
}

static void check_left(report *r) {
    const char *dirs[2];
    char size[32];
    left k = {0};
    for (int i = 0, n = tra_work_dirs(opt.scratch, dirs); i < n; i++)
        (void)tra_leftovers(dirs[i], "", false, count_left, &k);
    if (k.n == 0)
        finding(r, "left", FINE, NULL, "nothing by processes that are gone");
    else
        finding(r, "left", WARN,
                "tra clean removes it; tra clean -n lists what it is, and what --resume could go on from",
                "%s of processes that are gone, %s: %s", k.n == 1 ? "a file" : "files", tra_human(k.bytes, size),
                tra_str_get(&k.names));
    tra_str_free(&k.names);
}

/* ---- libraries ------------------------------------------------------------------------------------------------ */

/* Is it an HDF5 plugin that does zstd? */
static bool is_filter(const char *path) {
    enum { ZSTD = 32015 };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *(*info)(void) = NULL;
    if (lib) *(void **)&info = dlsym(lib, "H5PLget_plugin_info");
    const H5Z_class2_t *c = info ? info() : NULL;
    bool ok = c && c->id == ZSTD;
    if (lib) dlclose(lib);
    return ok;
}

static bool has_filter(const char *dir, char *path, size_t n) {
    DIR *d = opendir(dir);
    bool found = false;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        if (!strstr(f->d_name, "zstd") || !strstr(f->d_name, ".so")) continue;
        snprintf(path, n, "%s/%s", dir, f->d_name);
        found = is_filter(path);
    }
    if (d) closedir(d);
    return found;
}

/* Where HDF5 programs on this machine look: HDF5_PLUGIN_PATH, else what the library was built with. */
static void check_filter(report *r) {
    unsigned n = 0;
    char path[4096], dir[2048], first[2048] = "";
    bool found = false;
    tra_h5_enter();
    H5PLsize(&n);
    for (unsigned i = 0; i < n && !found; i++) {
        if (H5PLget(i, dir, sizeof dir) <= 0) continue;
        if (!*first) snprintf(first, sizeof first, "%s", dir);
        found = has_filter(dir, path, sizeof path);
    }
    tra_h5_leave();
    if (found)
        finding(r, "filter", FINE, NULL, "other HDF5 programs read zstd by %s", path);
    else
        finding(r, "filter", WARN, "make install puts libh5zzstd.so there; or point HDF5_PLUGIN_PATH to where it is",
                "other HDF5 programs find no zstd filter in %s", *first ? first : "any directory");
}

static void check_blas(report *r) {
    char advice[256];
    if (tra_blas_advice(advice, sizeof advice))
        finding(r, "blas", WARN, strchr(advice, ':') + 2, "%.*s", (int)strcspn(advice, ":"), advice);
    else
        finding(r, "blas", FINE, NULL, "kernel %s, which suits this processor", tra_blas_kernel());
}

static void check_rates(report *r) {
    tra_machine m;
    char *path;
    if (!tra_machine_load(&m, &path))
        finding(r, "rates", FINE, NULL, "built in; tra calibrate measures those of this machine");
    else if (strcmp(m.kernel, tra_blas_kernel()) != 0)
        finding(r, "rates", WARN, "tra calibrate measures again", "those of %s are of BLAS kernel %s, but it is %s now",
                path, m.kernel, tra_blas_kernel());
    else
        finding(r, "rates", FINE, NULL, "of %s, measured %s", path, m.when);
    free(path);
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static tra_status print(report *r, tra_err *e) {
    tra_str out = {0};
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_end(&r->json, ']');
        tra_json_str(&r->json, "state", state_text[r->worst]);
        tra_json_end(&r->json, '}');
        tra_str_printf(&out, "%s\n", tra_str_get(&r->json.out));
    } else {
        tra_str_add(&out, tra_str_get(&r->text));
    }
    return tra_print_str(&out, e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    (void)argv;
    tra_comm comm;
    tra_err join = {0};
    report r = {.worst = FINE};
    if (tra_comm_init(&comm, &join) != TRA_OK) comm = tra_comm_self();
    tra_log_mute = comm.rank != 0 || (tra_comm_is_unjoined() && tra_log_mute);
    int here = tra_comm_node_size(&comm), cores = tra_comm_cores(&comm);
    tra_json_begin(&r.json, NULL, '{');
    tra_json_begin(&r.json, "checks", '[');
    check_ranks(&r, &comm, here, &join);
    check_memory(&r, here);
    check_cores(&r, here, cores);
    check_scratch(&r, &comm, here);
    check_locks(&r);
    check_left(&r);
    check_filter(&r);
    check_blas(&r);
    check_rates(&r);
    /* every rank looks at its own machine; the first speaks, and fails when any did */
    int64_t worst = r.worst;
    tra_comm_max(&comm, &worst, 1);
    if (worst > (int64_t)r.worst)
        finding(&r, "others", (state)worst, "run tra doctor there",
                "another rank's machine is worse off than this one");
    tra_status s = tra_log_mute ? TRA_OK : print(&r, e);
    tra_json_free(&r.json);
    tra_str_free(&r.text);
    tra_comm_finish();
    return s != TRA_OK ? s : worst == FAIL ? TRA_NO : TRA_OK;
}

const tra_cmd tra_cmd_doctor = {
    .name = "doctor",
    .group = "The machine",
    .brief = "check the place that a job will run in, and say what to change",
    .usage = "[options]",
    .about =
        "Checks what runs fail by, or are slow by: whether the ranks have joined, the memory that the cgroup or the "
        "scheduler allows, threads and cores, scratch space and its speed, locks on files, what killed runs have "
        "left, the zstd filter for other HDF5 programs, the BLAS kernel, the rates of the cost model. Run it where "
        "and as the job will run: in the batch script, under mpirun. A line for each finding, with what to change; "
        "the status is 1 when something will fail.",
    .opts = (const tra_opt[]){{0, "scratch", TRA_OPT_STR, &opt.scratch, "DIR",
                               "the scratch directory to look at (default: TMPDIR, or /var/tmp)", NULL, "TRA_SCRATCH",
                               NULL},
                              {.name = NULL}},
    .maxargs = 0,
    .needs = TRA_NEED_MPI | TRA_NEED_BLAS | TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
