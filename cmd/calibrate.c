/* calibrate.c - measures what the cost model `time` needs to know of this machine. */
#include "cmd.h"
#include "launch.h"
#include "machine.h"

#include "../lib/base/crew.h"
#include "../lib/base/limits.h"
#include "../lib/durable/durable.h"
#include "../lib/run/measure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool show;
    const char *output, *directory;
    int64_t threads;
    bool threads_given;
    int64_t sites;
    bool sites_given;
    double seconds;
} opt = {.directory = ".", .sites = 1, .seconds = 0.5};

enum { FILE_BYTES_PER_SECOND = 512 << 20 };

static void processor(char *buf, size_t n) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(buf, n, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *at = strchr(line, ':');
        line[strcspn(line, "\n\"\\")] = 0;
        if (strncmp(line, "model name", 10) == 0 && at) {
            snprintf(buf, n, "%s", at + 1 + strspn(at + 1, " "));
            break;
        }
    }
    if (f) fclose(f);
}

/* Adds up the rates of the ranks of each machine, and takes the least of all machines, for which a plan waits. */
static void combine(const tra_comm *comm, tra_machine *m) {
    tra_comm node = tra_comm_node(comm);
    tra_rates_sum(&node, &m->rates);
    tra_comm_sum(&node, &m->threads, 1);
    m->memory = tra_machine_memory(NULL);
    tra_comm_min(comm, &m->memory, 1);
    tra_rates_least(comm, &m->rates);
    tra_comm_min(comm, &m->threads, 1);
    m->ranks = comm->size;
    tra_comm_free(&node);
}

static tra_status measure(const tra_comm *comm, tra_machine *m, tra_err *e) {
    tra_rates *r = &m->rates;
    int here = tra_comm_node_size(comm), threads = (int)opt.threads;
    tra_comm machine = tra_comm_machine(comm);
    if (machine.size > here)
        tra_info(
            0,
            "%d ranks share the cores of this machine, though their hosts have names of their own: each is measured "
            "with its part of them",
            machine.size);
    tra_comm_free(&machine);
    time_t now = time(NULL);
    struct tm tm;
    if (!threads) threads = (int)tra_max64(1, tra_comm_cores(comm) / here);
    gethostname(m->host, sizeof m->host - 1);
    processor(m->cpu, sizeof m->cpu);
    snprintf(m->kernel, sizeof m->kernel, "%s", tra_blas_kernel());
    strftime(m->when, sizeof m->when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    m->threads = threads;
    tra_info(1, "%d rank%s, %d on this machine, %d thread%s each", comm->size, comm->size == 1 ? "" : "s", here,
             threads, threads == 1 ? "" : "s");
    tra_info(1, "network");
    TRA_TRY(tra_measure_network(comm, &r->network, &r->one_way, e));
    tra_info(1, "products");
    TRA_TRY(tra_measure_flops(comm, threads, TRA_F64, &r->flops_f64, e));
    TRA_TRY(tra_measure_flops(comm, threads, TRA_F32, &r->flops_f32, e));
    TRA_TRY(tra_measure_unhidden(comm, threads, r->network, r->flops_f64, &r->network_unhidden, e));
    tra_info(1, "disk at %s", opt.directory);
    TRA_TRY(tra_measure_disk(comm, opt.directory, (int64_t)(opt.seconds * FILE_BYTES_PER_SECOND) / here, threads,
                             r->flops_f64, &r->disk_write, &r->disk_read, &r->disk_unhidden, e));
    tra_info(1, "memory");
    TRA_TRY(tra_measure_memory(comm, threads, &r->memory, e));
    TRA_TRY(tra_measure_touch(comm, threads, &r->touch, e));
    tra_info(1, "kernels");
    tra_kernel_rates k;
    TRA_TRY(tra_measure_kernels(comm, threads, &k, e));
    r->entries = k.entries, r->gathers = k.gathers, r->inserts = k.inserts;
    r->merges = k.merges, r->hashes = k.hashes, r->operations = k.operations, r->follows = k.follows;
    combine(comm, m);
    return TRA_OK;
}

static tra_status show(const tra_machine *m, const char *path, tra_err *e) {
    const tra_rates *r = &m->rates;
    tra_str out = {0};
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_machine_json(m, &out);
    } else {
        tra_str_printf(&out,
                       "%s, %s, BLAS kernel %s\nmeasured %s by %" PRId64 " rank%s, %" PRId64 " thread%s on a machine",
                       m->host, m->cpu, m->kernel, m->when, m->ranks, m->ranks == 1 ? "" : "s", m->threads,
                       m->threads == 1 ? "" : "s");
        if (path) tra_str_printf(&out, " (%s)", path);
        tra_str_add(&out, "\n");
        if (r->network > 0)
            tra_str_printf(&out, "network     %8.3g GB/s in and out, %.3g GB/s one way, %.0f %% hidden by products\n",
                           r->network * 1e-9, r->one_way * 1e-9, 100 * (1 - r->network_unhidden));
        else
            tra_str_add(&out, "network     not measured: that takes several ranks (mpirun)\n");
        tra_str_printf(&out, "disk read   %8.3g GB/s", r->disk_read * 1e-9);
        if (r->disk_unhidden >= 0) tra_str_printf(&out, ", %.0f %% hidden by products", 100 * (1 - r->disk_unhidden));
        tra_str_printf(&out, "\ndisk write  %8.3g GB/s, durable\nmemory      %8.3g GB/s of results\n",
                       r->disk_write * 1e-9, r->memory * 1e-9);
        if (r->touch > 0) tra_str_printf(&out, "new memory  %8.3g GB/s\n", r->touch * 1e-9);
        if (r->entries > 0)
            tra_str_printf(&out,
                           "entries     %8.3g G/s read, %.3g gathered, %.3g added into places, %.3g merged, %.3g "
                           "hashed; %.3g Gflop/s\n",
                           r->entries * 1e-9, r->gathers * 1e-9, r->inserts * 1e-9, r->merges * 1e-9, r->hashes * 1e-9,
                           r->operations * 1e-9);
        if (r->follows > 0) tra_str_printf(&out, "far reads   %8.3g M/s, one after the other\n", r->follows * 1e-6);
        tra_str_printf(&out, "f64         %8.3g Gflop/s\nf32         %8.3g Gflop/s\n", r->flops_f64 * 1e-9,
                       r->flops_f32 * 1e-9);
    }
    return tra_print_str(&out, e);
}

/* Makes the folders that path is in. */
static void make_folders(char *path) {
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777); /* what is not there then, opening the file tells */
        *at = '/';
    }
}

/* The file for the rates; free() it. NULL: there is no place for one. */
static char *place_of_rates(tra_err *e) {
    char *path = opt.output ? tra_strdup(opt.output) : tra_machine_file();
    if (!path) (void)tra_fail(e, TRA_USAGE, "there is no home directory to keep the rates in: use --output FILE");
    if (path && !opt.output) make_folders(path);
    return path;
}

/* Can what will be measured be written, and can there be a file to measure with? It takes long to measure. */
static tra_status check_places(const tra_comm *comm, tra_err *e) {
    int fd = tra_unnamed_file(opt.directory);
    if (fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot make a file in %s", opt.directory);
    close(fd);
    if (comm->rank != 0) return TRA_OK;
    tra_temp probe;
    char *path = place_of_rates(e), *target = path ? tra_resolve_links(path) : NULL;
    tra_status s = target ? tra_temp_create(target, NULL, false, &probe, e) : e->status;
    if (s == TRA_OK) tra_temp_abort(&probe);
    free(target);
    free(path);
    return s;
}

static tra_status store(const tra_machine *m, tra_err *e) {
    char *path = place_of_rates(e);
    if (!path) return e->status;
    tra_str text = {0};
    tra_machine_json(m, &text);
    tra_status s = tra_replace_file(path, tra_str_get(&text), text.n, true, e);
    if (s == TRA_OK) tra_info(0, "written to %s", path);
    tra_str_free(&text);
    free(path);
    return s;
}

static tra_status show_stored(tra_err *e) {
    tra_machine m;
    char *path, *file = tra_machine_file();
    tra_status s;
    if (tra_machine_load(&m, &path))
        s = show(&m, path, e);
    else
        s = tra_fail(e, TRA_INPUT, "nothing was measured yet: tra calibrate does, and writes %s",
                     file ? file : "--output FILE");
    free(path);
    free(file);
    return s;
}

static tra_status run_ranks(const tra_comm *comm, tra_err *e) {
    tra_machine m = {.ranks = 0};
    TRA_TRY(tra_comm_agree(comm, check_places(comm, e), e));
    TRA_TRY(measure(comm, &m, e));
    tra_status s = TRA_OK;
    if (comm->rank == 0) {
        s = show(&m, NULL, e);
        if (s == TRA_OK) s = store(&m, e);
    }
    return tra_comm_agree(comm, s, e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    tra_comm comm;
    (void)argc;
    (void)argv;
    if (!opt.threads_given) TRA_TRY(tra_threads_check(e));
    if (opt.threads_given && (opt.threads < 1 || opt.threads > TRA_MAXWORKERS))
        return tra_fail(e, TRA_USAGE, "--threads %" PRId64 ": from 1 to %d", opt.threads, TRA_MAXWORKERS);
    if (!(opt.seconds >= 0.01 && opt.seconds <= 60))
        return tra_fail(e, TRA_USAGE, "--seconds %g: from 0.01 to 60", opt.seconds);
    tra_measure_seconds = opt.seconds;
    if (opt.sites < 1 || opt.sites > TRA_MAXSITES)
        return tra_fail(e, TRA_USAGE, "--sites %" PRId64 ": from 1 to %d", opt.sites, TRA_MAXSITES);
    if (opt.show) return tra_log_mute ? TRA_OK : show_stored(e);
    int size, status = 0;
    if (opt.sites > 1 && !tra_comm_launched(&size) && size <= 1) {
        TRA_TRY(tra_launch((int)opt.sites, NULL, 0, &status, e));
        return status ? tra_status_of_exit(status) : TRA_OK; /* the ranks have said why */
    }
    TRA_TRY(tra_comm_init(&comm, e));
    tra_log_mute = comm.rank != 0;
    tra_status s = opt.sites_given && opt.sites != comm.size
                       ? tra_fail(e, TRA_USAGE, "--sites %" PRId64 " under an mpirun of %d ranks: leave --sites out",
                                  opt.sites, comm.size)
                       : run_ranks(&comm, e);
    if (s != TRA_OK && comm.rank == 0) tra_say_error(e);
    if (s != TRA_OK) *e->msg = 0;
    s = tra_ranks_over(&comm, s);
    tra_comm_finish();
    return s;
}

const tra_cmd tra_cmd_calibrate = {
    .name = "calibrate",
    .group = "The machine",
    .brief = "measure the rates of this machine for the cost model",
    .usage = "[options]",
    .about = "Measures how fast this machine reads and writes the disk, multiplies and passes through memory, and "
             "under mpirun "
             "how fast its ranks exchange messages, all ranks at once as they would run. The rates are kept in "
             "~/.config/tra/machine.json, where `explain`, `cost`, `compile` and `run` look for them, and after it in "
             "/etc/tra/machine.json; without either built-in rates serve. It takes some seconds and a quiet machine.",
    .opts =
        (const tra_opt[]){
            TRA_ROW('o', "output", TRA_OPT_STR, &opt.output, "FILE", "write the rates there"),
            TRA_ROW(0, "show", TRA_OPT_FLAG, &opt.show, NULL, "print the rates that are in use, measure nothing"),
            TRA_ROW(0, "directory", TRA_OPT_STR, &opt.directory, "DIR",
                    "the disk to measure (default: that of the current directory)"),
            {0, "sites", TRA_OPT_INT, &opt.sites, "N",
             "measure N ranks on this machine at once, which it starts (default: 1)", NULL, NULL, &opt.sites_given},
            TRA_ROW(0, "seconds", TRA_OPT_NUM, &opt.seconds, "S",
                    "about so long for each rate, from 0.01 to 60 (default: 0.5)"),
            {0, "threads", TRA_OPT_INT, &opt.threads, "N", "threads of each rank (default: its share of the cores)",
             NULL, "TRA_THREADS", &opt.threads_given},
            {.name = NULL}},
    .maxargs = 0,
    .needs = TRA_NEED_MPI | TRA_NEED_BLAS | TRA_TAKES_JSON,
    .run = run,
};
