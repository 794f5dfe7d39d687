/* property.c - the driver of the property tests.
 *
 * Under one mpirun -n 5: makes the programs (each rank its share), evaluates them with the reference, then runs each on
 * communicators of 1, and half of them of 5, the others of 3 and 2 side by side (with --only and --all each on all), by
 * several plans and memory ceilings, and compares. Without mpirun it is one rank, which is enough to replay a failure
 * that does not depend on sites. See `run` for the use. */
#include "engine.h"
#include "tables.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct options {
    uint64_t seed;
    int64_t count, only, tables; /* only: one program, -1 for all; tables: programs on tables */
    const char *dir;
    bool engine, all; /* all: every plan is run */
} options;

/* The program that is under way, to be named if the process dies. */
static char at_work[256];

static void died(int sig) {
    if (write(STDOUT_FILENO, at_work, strlen(at_work)) < 0) _exit(3);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void working_on(const options *o, int64_t i, int sites) {
    snprintf(at_work, sizeof at_work,
             "# FAILED: seed %" PRIu64 ", program %" PRId64
             ", %d sites: the process died; replay: tests/property/run --seed "
             "%" PRIu64 " --only %" PRId64 "\n",
             o->seed, i, sites, o->seed, i);
}

static const char *program_dir(const options *o, int64_t i, char *buf, size_t n) {
    snprintf(buf, n, "%s/%" PRId64, o->dir, i);
    return buf;
}

enum { SHOWN = 12 }; /* failures that a rank shows in full */

void report(const char *dir, uint64_t seed, int64_t index, int sites, const char *what) {
    static int shown;
    if (shown++ >= SHOWN) {
        printf("# FAILED: seed %" PRIu64 ", program %" PRId64 ", %d sites\n", seed, index, sites);
        return;
    }
    tra_str s = {0};
    tra_err e = {0};
    char *text = NULL, *path = tra_asprintf("%s/prog.tra", dir);
    size_t n;
    tra_str_printf(&s, "# FAILED: seed %" PRIu64 ", program %" PRId64, seed, index);
    if (sites) tra_str_printf(&s, ", %d sites", sites);
    tra_str_printf(&s, "; replay: tests/property/run --seed %" PRIu64 " --only %" PRId64 "\n", seed, index);
    for (const char *l = what; *l; l += strcspn(l, "\n"), l += *l == '\n')
        tra_str_printf(&s, "#   %.*s\n", (int)strcspn(l, "\n"), l);
    if (tra_slurp(path, 1 << 20, &text, &n, &e) == TRA_OK)
        for (const char *l = text; *l; l += strcspn(l, "\n"), l += *l == '\n')
            tra_str_printf(&s, "#   | %.*s\n", (int)strcspn(l, "\n"), l);
    fputs(tra_str_get(&s), stdout);
    fflush(stdout);
    free(text);
    free(path);
    tra_str_free(&s);
}

/* Checks that results which are written to files read back the same. */
static tra_status store_and_read(const char *dir, const tra_graph *g, const expected *x, tra_arena *a, tra_err *e) {
    for (int k = 0; k < g->noutputs; k++) {
        const tra_node *n = g->outputs[k].node;
        const tra_ref_rel *r = x->v[n->id];
        const char *spec = tra_arena_printf(a, "%s/stored.h5%s", dir, k % 2 ? ":other" : "");
        tra_write_options o = {.codec = {.zstd = k % 3 == 1, .level = 1}};
        tra_writer *w;
        char digest[33];
        tra_ref_rel back;
        TRA_TRY(tra_reference_fill(r, &n->type, spec, &o, a, &w, digest, e));
        TRA_TRY(tra_writer_commit(w, digest, e));
        TRA_TRY(read_back(spec, &n->type, a, &back, e));
        for (int64_t i = 0; i < r->n; i++) {
            int64_t numbers = tra_catalog_elements_of(n->type.cat, i);
            if (!(n->type.sparse ? same_but_signs_of_zeros : same_numbers)(r->v[i].data, back.v[i].data, numbers))
                return tra_fail(e, TRA_NO, "%s: tuple %" PRId64 " is not what was written", spec, i);
        }
    }
    return TRA_OK;
}

/* How many programs there are, and which number the i-th has: those on tables come last. */
static int64_t programs(const options *o) { return o->count + o->tables; }
static int64_t number_of(const options *o, int64_t i) { return i < o->count ? i : FIRST_OF_TABLES + i - o->count; }

/* A program on tables: that it compiles, and what the reference makes of it, which is the file that says it is made. */
static tra_status prepare_tables(const options *o, int64_t i, const char *dir, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_graph *g = NULL;
    expected x;
    tra_status s = mkdir(dir, 0777) && errno != EEXIST ? tra_fail_errno(e, TRA_RESOURCE, "%s", dir) : TRA_OK;
    if (s == TRA_OK) s = draw_tables(o->seed, (uint64_t)i, dir, e);
    if (s == TRA_OK) s = load(dir, a, &g, e);
    if (s == TRA_OK) s = expect_tables(g, a, &x, e);
    char *path = tra_asprintf("%s/made", dir);
    FILE *f = s == TRA_OK ? fopen(path, "w") : NULL;
    if (s == TRA_OK && (!f || fclose(f))) s = tra_fail_errno(e, TRA_RESOURCE, "%s", path);
    free(path);
    if (g) tra_graph_close(g);
    tra_arena_free(a);
    return s;
}

/* One program: its text, inputs and expected results, and what the judge reads. */
static tra_status prepare(const options *o, int64_t i, const char *dir, counts *c, tra_err *e) {
    tra_str judge = {0};
    tra_arena *a = tra_arena_new();
    tra_graph *g = NULL;
    expected x;
    tra_status s = mkdir(dir, 0777) && errno != EEXIST ? tra_fail_errno(e, TRA_RESOURCE, "%s", dir) : TRA_OK;
    if (s == TRA_OK) s = generate(o->seed, (uint64_t)i, dir, &judge, c, e);
    if (s == TRA_OK) s = load(dir, a, &g, e);
    if (s == TRA_OK) s = expect(g, o->seed + (uint64_t)i, a, &x, e);
    if (s == TRA_OK && !x.overflow) s = store_and_read(dir, g, &x, a, e);
    c->overflows += s == TRA_OK && x.overflow;
    if (s == TRA_NO && g && !x.v)
        s = TRA_OK; /* it is not known what it gives, so it is not run */
    else if (s == TRA_OK) {
        expected_json(g, &x, &judge);
        char *path = tra_asprintf("%s/judge.json", dir);
        FILE *f = fopen(path, "w");
        if (!f || fwrite(judge.s, 1, judge.n, f) != judge.n || fclose(f))
            s = tra_fail_errno(e, TRA_RESOURCE, "%s", path);
        free(path);
    }
    if (g) tra_graph_close(g);
    tra_arena_free(a);
    tra_str_free(&judge);
    return s;
}

/* What must have occurred when there are enough programs. */
static const char all_kernels[] = "matmul matadd matsub elemmul elemdiv elemmax elemmin matvecadd matvecsub matvecmul "
                                  "matvecdiv outer minindex maxindex diag "
                                  "transpose rowsum rowmax rowmin colsum neg abs exp log sqrt square relu relu_grad "
                                  "sigmoid tanh softmax scale densify sparsify einsum fn";

static int64_t prepare_all(const options *o, const tra_comm *world, counts *c) {
    int64_t failed = 0;
    for (int64_t k = 0; k < programs(o); k++) {
        char dir[4096];
        tra_err e = {0};
        int64_t i = number_of(o, k);
        if (k % world->size != world->rank || (o->only >= 0 && i != o->only)) continue;
        program_dir(o, i, dir, sizeof dir);
        working_on(o, i, 0);
        bool tables = i >= FIRST_OF_TABLES;
        if ((tables ? prepare_tables(o, i, dir, &e) : prepare(o, i, dir, c, &e)) == TRA_OK) continue;
        report(dir, o->seed, i, 0, e.msg);
        failed++;
    }
    return failed;
}

/* Operators that were never kept and kernels that never occurred, as text; "" when all did. */
static void missing(const tra_comm *world, counts *c, tra_str *out) {
    tra_comm_sum(world, c->drawn, DRAWN);
    tra_comm_sum(world, c->kept, DRAWN);
    for (int i = 1; i < DRAWN; i++) {
        if (world->rank == 0)
            printf("# %-10s drawn %6" PRId64 ", kept %6" PRId64 "\n", drawn_names[i], c->drawn[i], c->kept[i]);
        if (!c->kept[i]) tra_str_printf(out, " %s", drawn_names[i]);
    }
    for (const char *k = all_kernels; *k; k += strcspn(k, " "), k += *k == ' ') {
        char name[64];
        snprintf(name, sizeof name, " %.*s ", (int)strcspn(k, " "), k);
        int64_t seen = strstr(c->kernels, name) != NULL;
        tra_comm_max(world, &seen, 1);
        if (!seen) tra_str_printf(out, "%.*s", (int)strlen(name) - 1, name);
    }
}

static tra_comm split(const tra_comm *world, int color) {
    tra_comm_barrier(world); /* sleeps until all ranks are ready, where MPI itself would spin */
    return tra_comm_split(world, color);
}

/* Is the program run on communicators of so many? What runs do on several takes long, so each does it on some. The
 * numbers agree with those that run_dense has. */
static bool runs_on(const options *o, const tra_comm *world, int64_t i, int sites) {
    bool most = i % 4 == 0 || i % 4 == 3;
    return world->size < 5 || sites == 1 || o->only >= 0 || o->all || (sites == 5) == most;
}

/* The programs on the communicators that split the world; stride > 1: group `color` takes every stride-th program. */
static void run_all(const options *o, const tra_comm *world, int color, int stride, tally t[6]) {
    tra_comm c = split(world, color);
    for (int64_t k = 0; k < programs(o); k++) {
        char dir[4096];
        int64_t i = number_of(o, k);
        if ((o->only >= 0 && i != o->only) || (o->only < 0 && stride > 1 && k % stride != color)) continue;
        if (o->only >= 0 && stride > 1 && color != 0) continue;
        if (!runs_on(o, world, i, c.size)) continue;
        program_dir(o, i, dir, sizeof dir);
        char *judge = tra_asprintf("%s/%s", dir, i < FIRST_OF_TABLES ? "judge.json" : "made");
        bool made = access(judge, R_OK) == 0;
        free(judge);
        if (!made) continue; /* reported */
        working_on(o, i, c.size);
        check_engine(dir, o->seed, i, o->all, &c, &t[c.size]);
    }
    tra_comm_free(&c);
}

static void usage(void) {
    fputs("usage: property_driver --dir DIR [--seed S] [--count N] [--tables N] [--only I] [--all] [--no-engine]\n",
          stderr);
}

static bool parse(int argc, char **argv, options *o) {
    *o = (options){.seed = 1, .count = 100, .only = -1, .tables = -1, .engine = true};
    for (int i = 1; i < argc; i++) {
        int64_t v = 0;
        if (!strcmp(argv[i], "--no-engine") || !strcmp(argv[i], "--all")) {
            *(argv[i][2] == 'a' ? &o->all : &o->engine) = argv[i][2] == 'a';
            continue;
        }
        if (i + 1 == argc) return false;
        if (!strcmp(argv[i], "--dir")) {
            o->dir = argv[++i];
            continue;
        }
        bool number = tra_parse_int(argv[i + 1], &v) && v >= 0;
        if (!number) return false;
        if (!strcmp(argv[i], "--seed"))
            o->seed = (uint64_t)v;
        else if (!strcmp(argv[i], "--count"))
            o->count = v;
        else if (!strcmp(argv[i], "--only"))
            o->only = v;
        else if (!strcmp(argv[i], "--tables"))
            o->tables = v;
        else
            return false;
        i++;
    }
    bool table = o->only >= FIRST_OF_TABLES;
    if (!table && o->only >= o->count) o->count = o->only + 1;
    if (o->tables < 0) o->tables = (o->count + 7) / 8;
    if (table) o->tables = tra_max64(o->tables, o->only - FIRST_OF_TABLES + 1);
    return o->dir != NULL;
}

/* Do all ranks get to know the whole error, also its kind, of the last rank, which alone fails? */
static bool tells_errors(const tra_comm *c) {
    tra_err e = {0};
    tra_status s = TRA_OK;
    if (c->rank == c->size - 1) s = tra_fail_kind(&e, TRA_RESOURCE, TRA_KIND_POOL, "the last rank");
    s = tra_comm_agree(c, s, &e);
    return s == TRA_RESOURCE && e.status == s && e.kind == TRA_KIND_POOL && strcmp(e.msg, "the last rank") == 0;
}

/* Do the others get to know that the last rank has failed, and why, and does no later communicator hear of it? */
static bool tells_alarms(const tra_comm *world) {
    tra_comm c = tra_comm_split(world, 0);
    tra_err e = {0}, later = {0};
    char who[32];
    int last = c.size - 1;
    snprintf(who, sizeof who, "rank %d on ", last);
    if (c.rank == last) (void)tra_fail(&e, TRA_RESOURCE, "the disk is full");
    if (c.rank == last) tra_comm_alarm(&c, &e);
    while (c.rank != last && tra_comm_alarmed(&c, &e) == TRA_OK) sched_yield();
    bool good = c.rank == last || (strstr(e.msg, who) && strstr(e.msg, "has failed: the disk is full"));
    if (c.rank == 0 && last > 0) tra_comm_alarm(&c, &e); /* which nobody waits for */
    tra_comm_free(&c);
    c = tra_comm_split(world, 0);
    tra_comm_barrier(&c);
    good = good && tra_comm_alarmed(&c, &later) == TRA_OK;
    tra_comm_free(&c);
    return good;
}

int main(int argc, char **argv) {
    tra_comm world;
    tra_err e = {0};
    options o;
    if (tra_comm_init(&world, &e) != TRA_OK || !parse(argc, argv, &o)) {
        if (e.msg[0])
            fprintf(stderr, "%s\n", e.msg);
        else
            usage();
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    tra_log_level = -1;
    at_work[0] = 0;
    signal(SIGABRT, died);
    struct sigaction now; /* unless a sanitizer has a handler, which says more */
    if (sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGSEGV, died);
    counts c = {0};
    int64_t bad[2] = {prepare_all(&o, &world, &c), 0};
    tra_comm_barrier(&world);
    tra_comm_sum(&world, bad, 1);
    tra_str gaps = {0};
    missing(&world, &c, &gaps);
    int n = 1;
    if (world.rank == 0) {
        printf("%sok %d - %" PRId64 " random programs parse, type and evaluate (seed %" PRIu64 ")\n",
               bad[0] ? "not " : "", n++, o.only < 0 ? programs(&o) : 1, o.seed);
        if (o.count >= 200 && o.only < 0)
            printf("%sok %d - every operator and kernel occurs%s\n", gaps.n ? "not " : "", n++, tra_str_get(&gaps));
    }
    bad[1] = gaps.n && o.count >= 200 && o.only < 0;
    tra_str_free(&gaps);
    int64_t untold = !tells_errors(&world) + !tells_alarms(&world);
    tra_comm_sum(&world, &untold, 1);
    bad[1] += untold;
    if (world.rank == 0)
        printf("%sok %d - ranks tell each other whole errors, and which of them failed\n", untold ? "not " : "", n++);

    tally t[6] = {0};
    if (o.engine) {
        run_all(&o, &world, 0, 1, t);
        if (world.size == 5) {
            run_all(&o, &world, world.rank < 3 ? 0 : 1, 1, t);
            run_all(&o, &world, world.rank, 5, t);
        }
        tra_comm_sum(&world, &t[0].programs, 6 * 5);
    }
    int64_t fused = 0;
    for (int s = 1; s < 6; s++) {
        fused += t[s].fused;
        if (!t[s].programs) continue;
        bad[1] += t[s].failed;
        if (world.rank == 0 && t[s].dense)
            printf("# %" PRId64 " programs on %d sites with dense inputs, too\n", t[s].dense, s);
        if (world.rank == 0)
            printf("%sok %d - %" PRId64 " programs in %" PRId64 " runs on %d sites agree with the reference\n",
                   t[s].failed ? "not " : "", n++, t[s].programs, t[s].runs, s);
    }
    if (world.rank == 0 && o.engine) printf("# %" PRId64 " runs are of plans with fused statements\n", fused);
    if (o.engine && o.count >= 200 && o.only < 0) {
        bad[1] += fused == 0;
        if (world.rank == 0)
            printf("%sok %d - %" PRId64 " runs are of plans with fused statements\n", fused ? "" : "not ", n++, fused);
    }
    if (world.rank == 0) printf("# %d tests by the driver\n", n - 1);
    tra_comm_finish();
    return bad[0] + bad[1] ? 1 : 0;
}
