/* comm.c - joining the ranks and agreeing among them. */
#include "comm_int.h"

#include "../base/limits.h"

#include <assert.h>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { PIECE = 1 << 26 };    /* largest message, bytes: counts never come near 2^31 */
enum { JOIN_SECONDS = 300 }; /* for ranks that the launcher started to find each other */

/* The number that a variable of the environment holds; -1: none. */
static int number_in(const char *name) {
    const char *s = getenv(name);
    int64_t v;
    return s && tra_parse_int(s, &v) && v >= 0 && v <= INT32_MAX ? (int)v : -1;
}

/* What launchers tell of a process: mpirun of Open MPI; srun with PMIx, and Open MPI's prterun; mpiexec of MPICH
 * (Hydra), and srun with PMI-1 and PMI-2; srun alone, which gives MPI no way to join. */
static const struct launcher {
    const char *rank, *size;
    bool joins;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", true},
                 {"PMI_RANK", "PMI_SIZE", true},
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false}};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

bool tra_comm_launched(int *size) {
    *size = 0;
    for (int i = 0; i < LAUNCHERS; i++) {
        int n = number_in(launchers[i].size);
        if (*size == 0 && n > 0 && getenv(launchers[i].rank)) *size = n;
        if (getenv(launchers[i].rank) && launchers[i].joins) return true;
    }
    return false;
}

int tra_comm_launched_rank(void) {
    for (int i = 0; i < LAUNCHERS; i++) {
        if (number_in(launchers[i].rank) >= 0) return number_in(launchers[i].rank);
    }
    return 0;
}

#if defined(__SANITIZE_ADDRESS__)
/* Open MPI unloads modules that still hold memory, which no list of suppressions can name any more. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    int size;
    return tra_comm_launched(&size);
}
#endif

tra_mpi tra_comm_built_with(void) {
#if defined(TRA_NO_MPI)
    return TRA_MPI_NONE;
#elif defined(OPEN_MPI)
    return TRA_MPI_OPEN;
#else
    return TRA_MPI_MPICH; /* and those that came of it */
#endif
}

char *tra_comm_library(void) {
    char *text = tra_calloc(MPI_MAX_LIBRARY_VERSION_STRING, 1);
    int n;
    MPI_Get_library_version(text, &n); /* may be called before MPI_Init */
    text[strcspn(text, ",\n")] = 0;    /* what follows is how it was built */
    for (char *tab; (tab = strchr(text, '\t'));) *tab = ' '; /* MPICH has them there */
    return text;
}

tra_comm tra_comm_self(void) { return (tra_comm){.rank = 0, .size = 1}; }

/* The ranks of an MPI communicator, which is the result's from now on. */
static tra_comm ranks_of(MPI_Comm all, MPI_Comm alarms) {
    tra_comm c = {.mpi = tra_malloc(sizeof *c.mpi)};
    *c.mpi = (struct tra_comm_mpi){.all = all, .alarms = alarms};
    MPI_Comm_rank(all, &c.rank);
    MPI_Comm_size(all, &c.size);
    return c;
}

/* What MPI does of itself is to end all ranks with a status and text of its own, which mpirun -q keeps to itself. */
static void mpi_failed(MPI_Comm *c, int *code, ...) {
    char why[MPI_MAX_ERROR_STRING] = "";
    int n;
    (void)c;
    MPI_Error_string(*code, why, &n);
    fprintf(stderr, "tra: ranks cannot reach each other any more: %s; if an output is missing, --resume goes on\n",
            why);
    tra_cleanup_all();
    tra_comm_abort(tra_status_exit(TRA_LOST));
}

/* Where srun offers PMI-1 or PMI-2 alone, an Open MPI without a module for them ends each rank with a page of text. */
static bool lacks_pmi(void) {
    bool has_some = false, has_pmi = false;
#if defined(OPEN_MPI)
    Dl_info of;
    glob_t found;
    char *file = NULL;
    if (!getenv("SLURM_STEP_ID") || !getenv("PMI_RANK") || getenv("PMIX_RANK") || getenv("OMPI_COMM_WORLD_RANK"))
        return false;
    if (dladdr((void *)(uintptr_t)MPI_Init, &of) && of.dli_fname) file = realpath(of.dli_fname, NULL);
    if (!file) return false;
    *strrchr(file, '/') = '\0';
    char *pattern = tra_asprintf("%s/{,openmpi*/lib/}openmpi*/mca_pmix_*", file);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            has_pmi = has_pmi || strstr(found.gl_pathv[i], "mca_pmix_s1") || strstr(found.gl_pathv[i], "mca_pmix_s2");
        has_some = found.gl_pathc > 0;
        globfree(&found);
    }
    free(pattern);
    free(file);
#endif
    return has_some && !has_pmi;
}

static tra_comm world;
static bool unjoined;
bool tra_comm_is_unjoined(void) { return unjoined; }

static tra_status not_joined(int want, tra_err *e) {
    char *library = tra_comm_library();
    static const char *const how[] = {
        [TRA_MPI_NONE] = "start one process, or use a tra that was built with MPI",
        [TRA_MPI_OPEN] = "start them with Open MPI's mpirun, or with srun --mpi=pmix",
        [TRA_MPI_MPICH] = "start them with MPICH's mpiexec, or with srun --mpi=pmi2"};
    unjoined = true;
    tra_fail(e, TRA_INTERNAL, "the launcher started %d ranks, which did not join: this tra has %s; %s", want, library,
             how[tra_comm_built_with()]);
    free(library);
    return TRA_INTERNAL;
}

tra_status tra_comm_init(tra_comm *c, tra_err *e) {
    int want, got = MPI_THREAD_FUNNELED;
    bool joins = tra_comm_launched(&want) && tra_comm_built_with() != TRA_MPI_NONE && !lacks_pmi();
    *c = tra_comm_self();
    if (!joins && want > 1) return not_joined(want, e);
    if (!joins || want == 1) return TRA_OK; /* there is nobody to talk to, and MPI alone takes 12 MiB */
    /* Defaults that the user's own settings beat: fast start, and copy-in/copy-out, which is faster than CMA here. */
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self,vader,tcp", 0);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); /* who waits leaves the core to the workers, and to other ranks */
    int done;
    MPI_Initialized(&done);
    alarm(JOIN_SECONDS); /* a launcher that has lost them answers never, and ends when they do */
    if (!done && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got) != MPI_SUCCESS)
        return tra_fail(e, TRA_INTERNAL, "MPI does not start");
    alarm(0);
    if (done) MPI_Query_thread(&got);
    if (got < MPI_THREAD_FUNNELED)
        return tra_fail(e, TRA_RESOURCE, "this MPI library does not allow processes that have threads; use another");
    MPI_Errhandler ours;
    MPI_Comm dup;
    MPI_Comm_create_errhandler(mpi_failed, &ours);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, ours); /* duplicates of the communicator inherit it */
    MPI_Errhandler_free(&ours);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    *c = world = ranks_of(MPI_COMM_WORLD, dup);
    return want > 1 && c->size == 1 ? not_joined(want, e) : TRA_OK;
}

tra_comm tra_comm_node(const tra_comm *c) {
    MPI_Comm node;
    if (!c->mpi) return tra_comm_self();
    MPI_Comm_split_type(c->mpi->all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    return ranks_of(node, MPI_COMM_NULL);
}

tra_comm tra_comm_split(const tra_comm *c, int color) {
    MPI_Comm part, alarms;
    if (!c->mpi) return tra_comm_self();
    MPI_Comm_split(c->mpi->all, color, 0, &part);
    MPI_Comm_dup(part, &alarms);
    return ranks_of(part, alarms);
}

/* Receives the alarms that are still on their way: libraries warn of messages that nobody has received, and a
 * communicator that begins later may have the number of this one. */
static void hear_all(const tra_comm *c) {
    struct tra_comm_mpi *m = c->mpi;
    int64_t all = m->sent;
    tra_comm_sum(c, &all, 1);
    for (; m->received < all - m->sent; m->received++)
        MPI_Recv(m->heard, TRA_ALARM, MPI_BYTE, MPI_ANY_SOURCE, 0, m->alarms, MPI_STATUS_IGNORE);
    tra_comm_barrier(c); /* what this rank said is in use until all have heard it */
}

void tra_comm_free(tra_comm *part) {
    if (!part->mpi) return;
    if (part->mpi->alarms != MPI_COMM_NULL) hear_all(part);
    MPI_Comm_free(&part->mpi->all);
    if (part->mpi->alarms != MPI_COMM_NULL) MPI_Comm_free(&part->mpi->alarms);
    free(part->mpi);
    *part = tra_comm_self();
}

int tra_comm_node_size(const tra_comm *c) {
    tra_comm node = tra_comm_node(c);
    int size = node.size;
    tra_comm_free(&node);
    return size;
}

/* The kernel's number of this boot tells machines apart, where containers and namespaces have names of their own. */
static int machine_color(void) {
    char *id = NULL;
    size_t n = 0;
    if (tra_slurp("/proc/sys/kernel/random/boot_id", 256, &id, &n, NULL) != TRA_OK) return -1;
    int color = (int)(XXH64(id, n, 0) & 0x7fffffff);
    free(id);
    return color;
}

tra_comm tra_comm_machine(const tra_comm *c) {
    int color = machine_color();
    int64_t known = color >= 0;
    tra_comm_min(c, &known, 1);
    return known ? tra_comm_split(c, color) : tra_comm_node(c);
}

int tra_comm_share(int n, const int64_t *here, const int64_t *all) {
    double share = 0;
    for (int i = 0; i < n; i++) share += here[i] > 0 ? (double)here[i] / (double)all[i] : 0;
    return (int)tra_max64(1, (int64_t)(share + 0.5));
}

/* Ranks may be bound to cores of their own, or all to the same; a core that ranks of other hosts may use too is theirs
 * in equal parts. */
int tra_comm_cores(const tra_comm *c) {
    cpu_set_t set;
    int64_t v[2][CPU_SETSIZE] = {{0}}, n = tra_machine_cores();
    if (!c->mpi) return (int)n;
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    for (int i = 0; i < CPU_SETSIZE; i++) v[0][i] = v[1][i] = CPU_ISSET(i, &set) ? 1 : 0;
    tra_comm node = tra_comm_node(c), machine = tra_comm_machine(c);
    tra_comm_sum(&node, v[0], CPU_SETSIZE);
    tra_comm_sum(&machine, v[1], CPU_SETSIZE);
    tra_comm_free(&machine);
    tra_comm_free(&node);
    int64_t mine = CPU_COUNT(&set);
    return mine == 0 || n < mine ? (int)n : tra_comm_share(CPU_SETSIZE, v[0], v[1]); /* a quota is the host's alone */
}

/* Adds the object's name to a list of names, a line each. */
static int add_name(struct dl_phdr_info *x, size_t size, void *names) {
    (void)size;
    if (*x->dlpi_name) tra_str_printf(names, "%s\n", x->dlpi_name);
    return 0;
}

/* Open MPI unloads its modules while a thread of its own may still be in one of them: they stay until the process
 * ends. */
static void keep_modules(void) {
    tra_str names = {0};
    dl_iterate_phdr(add_name, &names);
    for (char *rest = names.s, *name; rest && (name = strsep(&rest, "\n")) && *name;)
        (void)dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    tra_str_free(&names);
}

void tra_comm_finish(void) {
    int init, fin;
    MPI_Initialized(&init);
    MPI_Finalized(&fin);
    if (!init || fin) return;
    keep_modules();
    hear_all(&world);
    MPI_Finalize();
}

void tra_comm_abort(int status) {
    int init, fin;
    MPI_Initialized(&init);
    MPI_Finalized(&fin);
    if (init && !fin) MPI_Abort(MPI_COMM_WORLD, status);
}

void tra_comm_alarm(const tra_comm *c, const tra_err *why) {
    MPI_Request r;
    if (!c->mpi) return;
    char *said = c->mpi->said;
    if (!*said) {
        char host[64] = "";
        gethostname(host, sizeof host - 1);
        snprintf(said, TRA_ALARM, "rank %d on %s has failed: %.400s", c->rank, *host ? host : "its host",
                 why && *why->msg ? why->msg : "for a reason that it does not say");
    }
    c->mpi->sent++;
    for (int i = 0; i < c->size; i++) {
        if (i == c->rank) continue;
        MPI_Isend(said, TRA_ALARM, MPI_BYTE, i, 0, c->mpi->alarms, &r);
        MPI_Request_free(&r);
    }
}

tra_status tra_comm_alarmed(const tra_comm *c, tra_err *e) {
    struct tra_comm_mpi *m = c->mpi;
    int found = 0;
    if (!m) return TRA_OK;
    if (!*m->heard) MPI_Iprobe(MPI_ANY_SOURCE, 0, m->alarms, &found, MPI_STATUS_IGNORE);
    if (found) {
        MPI_Recv(m->heard, TRA_ALARM, MPI_BYTE, MPI_ANY_SOURCE, 0, m->alarms, MPI_STATUS_IGNORE);
        m->received++;
    }
    return *m->heard ? tra_fail(e, TRA_LOST, "%s", m->heard) : TRA_OK;
}

void tra_comm_calm(const tra_comm *c) {
    if (!c->mpi) return;
    hear_all(c);
    *c->mpi->heard = *c->mpi->said = 0;
}

/* Waits for a collective without using the processor, which ranks that are behind may need: MPI's own waiting spins,
 * and took up to a sixth of two cores that four ranks share. Each sleep is at most a sixteenth of the time waited so
 * far. */
static void wait_for(MPI_Request r) {
    enum { SHORTEST = 20000, LONGEST = 1000000 }; /* ns */
    int done = 0;
    double from = tra_now();
    for (int tries = 0; MPI_Test(&r, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done; tries++) {
        int64_t ns = (int64_t)((tra_now() - from) / 16 * 1e9);
        if (tries < 64)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = tra_max64(SHORTEST, tra_min64(ns, LONGEST))}, NULL);
    }
}

static void broadcast(const tra_comm *c, void *buf, int64_t n, int root) {
    MPI_Request r;
    for (int64_t at = 0; c->mpi && at < n; at += PIECE) {
        MPI_Ibcast((char *)buf + at, (int)tra_min64(PIECE, n - at), MPI_BYTE, root, c->mpi->all, &r);
        wait_for(r);
    }
}

void tra_comm_bcast(const tra_comm *c, void *buf, int64_t n) { broadcast(c, buf, n, 0); }

static void reduce(const tra_comm *c, int64_t *v, int64_t n, MPI_Op op) {
    MPI_Request r;
    for (int64_t at = 0; c->mpi && at < n; at += PIECE / 8) {
        MPI_Iallreduce(MPI_IN_PLACE, v + at, (int)tra_min64(PIECE / 8, n - at), MPI_INT64_T, op, c->mpi->all, &r);
        wait_for(r);
    }
}

void tra_comm_sum(const tra_comm *c, int64_t *v, int64_t n) { reduce(c, v, n, MPI_SUM); }
void tra_comm_max(const tra_comm *c, int64_t *v, int64_t n) { reduce(c, v, n, MPI_MAX); }
void tra_comm_min(const tra_comm *c, int64_t *v, int64_t n) { reduce(c, v, n, MPI_MIN); }

bool tra_comm_same(const tra_comm *c, uint64_t v) {
    int64_t least = (int64_t)v, most = least;
    tra_comm_min(c, &least, 1);
    tra_comm_max(c, &most, 1);
    return least == most;
}

void tra_comm_gather(const tra_comm *c, const int64_t *mine, int64_t *all, int64_t n) {
    if (!c->mpi) {
        memcpy(all, mine, (size_t)n * sizeof *all);
        return;
    }
    assert(n <= PIECE / 8);
    MPI_Request r;
    MPI_Iallgather(mine, (int)n, MPI_INT64_T, all, (int)n, MPI_INT64_T, c->mpi->all, &r);
    wait_for(r);
}

void tra_comm_barrier(const tra_comm *c) {
    MPI_Request r;
    if (!c->mpi) return;
    MPI_Ibarrier(c->mpi->all, &r);
    wait_for(r);
}

tra_status tra_comm_agree(const tra_comm *c, tra_status s, tra_err *e) {
    if (!c->mpi) return s;
    /* TRA_LOST (a peer failed) has the lowest priority: the message of the rank that failed is wanted */
    int64_t who = s == TRA_OK ? 2 * c->size : s == TRA_LOST ? c->size + c->rank : c->rank;
    tra_comm_min(c, &who, 1);
    if (who == 2 * c->size) return TRA_OK;
    who %= c->size;
    tra_err first = {0};
    if (who == c->rank && e) first = *e;
    first.status = who == c->rank ? s : first.status;
    broadcast(c, &first, (int64_t)sizeof first, (int)who);
    if (e && who == c->rank) {
        e->status = s;
    } else if (e) {
        first.file = NULL; /* an address of another process */
        *e = first;
    }
    return first.status;
}
