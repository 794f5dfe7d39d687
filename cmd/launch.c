/* launch.c - runs the launcher of the MPI library as a child: passes signals on, maps its exit status. */
#include "launch.h"

#include "../lib/relation/store.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signalled;

/* What a `tra` that launches ranks tells them of itself, in TRA_LAUNCHED. */
typedef struct launcher {
    double began;
    long pid;
    char host[256];
    int over; /* descriptor of a file without a name, for the ranks' status */
} launcher;

static bool launched_by(launcher *l) {
    const char *text = getenv("TRA_LAUNCHED");
    return text && sscanf(text, "%lf %ld %255s %d", &l->began, &l->pid, l->host, &l->over) == 4;
}

double tra_own_begin(void) {
    static double began;
    if (began == 0) began = tra_now();
    return began;
}

double tra_process_begin(void) {
    double own = tra_own_begin();
    launcher l;
    return launched_by(&l) && l.began > 0 && l.began < own ? l.began : own;
}

static bool launched_here(launcher *l) {
    char host[sizeof l->host];
    return launched_by(l) && gethostname(host, sizeof host) == 0 && strcmp(host, l->host) == 0;
}

void tra_end_with_launcher(void) {
    launcher l;
    if (launched_here(&l)) tra_stop_when_gone(l.pid);
}

/* The name of the file for the status. A file with another name is of another process that has got the same number. */
static char *over_name(long pid, double began) { return tra_asprintf("tra-over-%ld-%.6f", pid, began); }

/* Writes the status where the launcher looks for it; false if it cannot be told. */
static bool tell_launcher(tra_status s) {
    launcher l;
    char path[64], found[128] = "";
    if (!launched_here(&l)) return false;
    char *name = over_name(l.pid, l.began);
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", l.pid, l.over);
    int code = tra_status_exit(s), fd = -1;
    if (readlink(path, found, sizeof found - 1) > 0 && strstr(found, name)) fd = open(path, O_WRONLY | O_CLOEXEC);
    bool told = fd >= 0 && write(fd, &code, sizeof code) == sizeof code;
    if (fd >= 0) close(fd);
    free(name);
    return told;
}

tra_status tra_ranks_over(const tra_comm *c, tra_status s) {
    bool told = c->rank == 0 && tell_launcher(s);
    tra_comm_bcast(c, &told, sizeof told);
    return told ? TRA_OK : s;
}

char **tra_own_arguments(int *argc) {
    char *text = NULL;
    size_t n = 0, count = 0;
    tra_err none = {0};
    *argc = 0;
    if (tra_slurp("/proc/self/cmdline", 1 << 24, &text, &n, &none) != TRA_OK) return NULL;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1) count++;
    char **v = tra_malloc((count + 1) * sizeof *v + n + 1); /* the pointers, then the text that they point to */
    char *copy = memcpy(v + count + 1, text, n + 1);
    for (size_t at = 0; at < n; at += strlen(copy + at) + 1) v[(*argc)++] = copy + at;
    v[*argc] = NULL;
    free(text);
    return v;
}

/* A file without a name that holds the text, open for reading; -1 on failure. */
static int as_file(const char *text, size_t n) {
    int fd = memfd_create("tra", MFD_CLOEXEC);
    tra_err none = {0};
    if (fd >= 0 && tra_pwrite(fd, text, n, 0, "standard input", &none) != TRA_OK) close(fd), fd = -1;
    return fd;
}

/* The launchers of MPI libraries. Another may have the name as well: then what it is a link to says whose it is. */
static const struct kind {
    const char *names[4], *others[4];
    const char *package;
    const char *args[6];          /* of one on this machine */
    const char *job, *on_each[2]; /* in a job script; what stands around the number of ranks on each machine */
    int above_ranks;              /* how many levels of processes: who starts the ranks, or hands signals on to them */
} kinds[] = {
    /* -q: no banners, tra's own message is enough. Binding would put each rank on one core whatever --threads says. */
    [TRA_MPI_OPEN] = {.names = {"mpirun", "mpirun.openmpi", "orterun"},
                      .others = {"hydra", "mpich"},
                      .package = "openmpi-bin",
                      .args = {"-q", "--bind-to", "none", "--oversubscribe"},
                      .job = "mpirun --bind-to none",
                      .on_each = {"--map-by ppr:", ":node"}},
    [TRA_MPI_MPICH] = {.names = {"mpiexec.hydra", "mpiexec.mpich", "mpiexec"},
                       .others = {"openmpi", "orterun", "prterun"},
                       .package = "mpich",
                       .args = {"-launcher", "fork", "-hosts", "localhost"},
                       .job = "mpiexec",
                       .on_each = {"-ppn ", ""},
                       .above_ranks = 2},
};

static void note(int sig) { signalled = sig; }

/* How many of the processes that pid started are alive? *had: it has started some. A signal is sent to those that are
 * so many levels below pid. */
static int children_of(pid_t pid, bool *had, int level, int sig) {
    glob_t threads;
    int n = 0;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "/proc/%ld/task/*/children", (long)pid);
    if (level == 0) kill(pid, sig);
    if (glob(pattern, 0, NULL, &threads) != 0) return 0;
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        FILE *f = fopen(threads.gl_pathv[i], "r");
        for (long c; f && fscanf(f, "%ld", &c) == 1; *had = true) {
            bool any;
            n += !tra_process_gone(c);
            if (sig && level > 0) children_of((pid_t)c, &any, level - 1, sig);
        }
        if (f) fclose(f);
    }
    globfree(&threads);
    return n;
}

/* Waits for the launcher, SIGCHLD being blocked. A request to stop that came before ranks could hear it is repeated.
 * The ranks stop on USR1, which mpirun of Open MPI hands on to them; TERM and INT would make it kill them. Hydra may
 * lose its ranks where a signal comes while they join, and nothing ends then: they get theirs from here. Open MPI's
 * mpirun may wait for itself for ever when ranks are killed as it ends, or when it could not start them: *stuck when it
 * was not waited for. */
static int wait_for(const struct kind *k, pid_t pid, const sigset_t *chld, bool *stuck) {
    enum { PATIENCE = 25, TO_START = 300 }; /* fifths of a second */
    int status, idle = 0;                   /* how often no child was seen, one time after another */
    bool had = false;
    *stuck = false;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        if (sigtimedwait(chld, NULL, &(struct timespec){.tv_nsec = 200000000}) >= 0) continue;
        idle = children_of(pid, &had, k->above_ranks, signalled ? SIGUSR1 : 0) ? 0 : idle + 1;
        if (idle < (had || signalled ? PATIENCE : TO_START)) continue;
        *stuck = true;
        kill(pid, SIGKILL);
    }
    return status;
}

void tra_launch_words(int n, int on_each, tra_str *out) {
    const struct kind *k = &kinds[tra_comm_built_with()];
    if (!k->job) return;
    tra_str_printf(out, " %s -n %d", k->job, n);
    if (on_each) tra_str_printf(out, " %s%d%s", k->on_each[0], on_each, k->on_each[1]);
}

/* Is the file at path, by the name of what it is a link to, of another MPI library? */
static bool of_another(const struct kind *k, const char *path) {
    char real[PATH_MAX];
    if (!realpath(path, real)) return false;
    for (int i = 0; k->others[i]; i++)
        if (strstr(strrchr(real, '/'), k->others[i])) return true;
    return false;
}

/* The path of the launcher, of the folders of PATH or what TRA_MPIRUN says. From malloc; NULL: there is none. */
static char *find_launcher(const struct kind *k) {
    const char *given = getenv("TRA_MPIRUN"), *path = getenv("PATH");
    if (given && *given) return tra_strdup(given);
    for (int i = 0; k->names[i]; i++) {
        for (const char *at = path; at && *at; at += strcspn(at, ":"), at += *at == ':') {
            char *file = tra_asprintf("%.*s/%s", (int)strcspn(at, ":"), at, k->names[i]);
            if (access(file, X_OK) == 0 && !of_another(k, file)) return file;
            free(file);
        }
    }
    return NULL;
}

/* Its command line for n ranks of this program. From malloc; the texts are the caller's. */
static const char **launcher_arguments(const struct kind *k, const char *launcher, const char *self, const char *count,
                                       int argc, char **argv) {
    size_t at = 0;
    const char **args = tra_calloc(sizeof k->args / sizeof *k->args + (size_t)argc + 6, sizeof *args);
    args[at++] = launcher;
    for (int i = 0; k->args[i]; i++) args[at++] = k->args[i];
    args[at++] = "-n";
    args[at++] = count;
    if (k == &kinds[TRA_MPI_OPEN] && geteuid() == 0) args[at++] = "--allow-run-as-root";
    args[at++] = self;
    for (int i = 1; i < argc; i++) args[at++] = argv[i];
    return args;
}

/* Hydra says what became of its ranks on standard output, where only they may speak: they get what this program has as
 * descriptors of their own, and Hydra's own words go nowhere, but with -v. */
static void keep_streams(void) {
    char text[32];
    int out = fcntl(STDOUT_FILENO, F_DUPFD, 10), err = fcntl(STDERR_FILENO, F_DUPFD, 10);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (out < 0 || err < 0 || nowhere < 0) return;
    snprintf(text, sizeof text, "%d %d", out, err);
    setenv("TRA_STREAMS", text, 1);
    dup2(tra_log_level > 0 ? err : nowhere, STDOUT_FILENO);
    dup2(tra_log_level > 0 ? err : nowhere, STDERR_FILENO);
}

void tra_take_streams(void) {
    launcher l;
    int from[2];
    const char *text = getenv("TRA_STREAMS");
    if (!text || !launched_here(&l) || sscanf(text, "%d %d", &from[0], &from[1]) != 2) return;
    for (int i = 0; i < 2; i++) {
        dup2(from[i], STDOUT_FILENO + i);
        close(from[i]);
    }
    unsetenv("TRA_STREAMS");
}

/* In the child: does not return. */
static void become_launcher(const struct kind *k, const char **args, int in, int over, pid_t parent,
                            const sigset_t *mask) {
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* who kills this program wants the ranks to end too */
    if (getppid() != parent) _exit(127);
    setpgid(0, 0); /* ^C is for this program, which hands it on */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR1, SIG_IGN); /* until mpirun listens */
    char us[400], host[256] = "";
    if (gethostname(host, sizeof host) != 0) *host = '\0';
    snprintf(us, sizeof us, "%.6f %ld %s %d", tra_process_begin(), (long)parent, host, over);
    setenv("TRA_LAUNCHED", us, 1);
    if (isatty(STDERR_FILENO)) setenv("TRA_TERMINAL", "1", 1); /* the ranks have a pipe to mpirun */
    dup2(in, STDIN_FILENO);
    if (k == &kinds[TRA_MPI_MPICH]) keep_streams();
    execvp(args[0], (char *const *)args);
    _exit(127);
}

/* As a shell tells it. Hydra's is the signal of a rank, where that is no status of tra. */
static int status_of(const struct kind *k, int status) {
    if (!WIFEXITED(status)) return 128 + WTERMSIG(status);
    int code = WEXITSTATUS(status), known = tra_status_exit(TRA_INTERNAL);
    return k == &kinds[TRA_MPI_MPICH] && code > known && code < NSIG ? 128 + code : code;
}

/* Hands signals on to the launcher until it has ended. Returns its status. */
static int pass_signals(const struct kind *k, pid_t pid, const sigset_t *chld, const sigset_t *before, bool *stuck) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    enum { N = sizeof signals / sizeof *signals };
    struct sigaction pass = {.sa_handler = note}, old[N];
    for (int i = 0; i < N; i++) { /* what was ignored stays ignored, as nohup wants it */
        sigaction(signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN || signals[i] != SIGHUP) sigaction(signals[i], &pass, NULL);
    }
    if (tra_stop_asked()) note(SIGTERM); /* before these handlers were there */
    int status = wait_for(k, pid, chld, stuck);
    sigprocmask(SIG_SETMASK, before, NULL);
    for (int i = 0; i < N; i++) sigaction(signals[i], &old[i], NULL);
    return status_of(k, status);
}

/* mpirun's own status, of a crash or of its own: no rank ends with it. */
static bool own_failure(int status) { return status == 1 || status > 128; }

static tra_status judge(const struct kind *k, int status, bool stuck, tra_err *e) {
    bool asked = status == 128 + SIGUSR1 || status == 128 + SIGTERM; /* a rank, before it could hear it */
    bool killed = signalled && own_failure(status);                  /* ranks, before they could say so */
    if (asked || killed) return tra_fail(e, TRA_STOPPED, "stopped by a signal; --resume goes on from what was saved");
    if (stuck)
        return tra_fail(e, TRA_LOST,
                        "mpirun did not start its ranks, or did not end with them; if an output is missing, --resume "
                        "goes on");
    if (status == 127) return tra_fail(e, TRA_INTERNAL, "mpirun cannot be started; install %s", k->package);
    if (own_failure(status))
        return tra_fail(e, TRA_LOST, "a rank was lost (mpirun says %d); if an output is missing, --resume goes on",
                        status);
    return TRA_OK;
}

/* mpirun has pipes and sockets for each rank, and waits for ever when it gets none. */
static tra_status check_files(int n, tra_err *e) {
    enum { OWN = 32, EACH = 8 };
    struct rlimit limit;
    rlim_t need = OWN + EACH * (rlim_t)n;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need) return TRA_OK;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (limit.rlim_cur == need && setrlimit(RLIMIT_NOFILE, &limit) == 0) return TRA_OK;
    return tra_fail(
        e, TRA_RESOURCE,
        "a process may have %llu files open at once, and mpirun needs %llu for %d sites: raise the limit (ulimit -n)",
        (unsigned long long)limit.rlim_max, (unsigned long long)need, n);
}

/* The launcher begins the file again for each rank, and would say nothing of one that is not there. */
static tra_status check_program(const char *self, tra_err *e) {
    char host[256] = "";
    if (access(self, X_OK) == 0) return TRA_OK;
    gethostname(host, sizeof host - 1);
    return tra_fail_errno(e, TRA_INTERNAL,
                          "ranks cannot be started from %s on %s; install tra there again, and start the run again",
                          self, *host ? host : "this machine");
}

tra_status tra_launch(int n, const char *input, size_t input_len, int *exit_status, tra_err *e) {
    char self[4096], count[16];
    if (tra_comm_built_with() == TRA_MPI_NONE)
        return tra_fail(e, TRA_USAGE,
                        "--sites %d: this tra was built without MPI, and has one site; leave --sites out, or use a tra "
                        "that was built with MPI",
                        n);
    const struct kind *k = &kinds[tra_comm_built_with()];
    TRA_TRY(check_files(n, e));
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0) return tra_fail_errno(e, TRA_INTERNAL, "cannot find this program's own file");
    self[len] = '\0';
    TRA_TRY(check_program(self, e));
    int argc, in = input ? as_file(input, input_len) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot start mpirun");
    char **argv = tra_own_arguments(&argc), *launcher = find_launcher(k);
    if (!argv || !launcher) {
        close(in);
        free(argv);
        free(launcher);
        return argv ? tra_fail(e, TRA_INTERNAL, "%s is not in PATH; install %s, or say in TRA_MPIRUN where it is",
                               k->names[0], k->package)
                    : tra_fail(e, TRA_INTERNAL, "cannot read this program's own command line");
    }
    snprintf(count, sizeof count, "%d", n);
    const char **args = launcher_arguments(k, launcher, self, count, argc, argv);
    fflush(NULL);
    sigset_t chld, before;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    char *name = over_name((long)getpid(), tra_process_begin());
    int over = memfd_create(name, MFD_CLOEXEC), code; /* over -1: the ranks cannot tell their status, and need not */
    free(name);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_launcher(k, args, in, over, parent, &before);
    int failed = errno;
    free(args);
    free(argv);
    free(launcher);
    close(in);
    if (pid < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        errno = failed;
        return tra_fail_errno(e, TRA_RESOURCE, "cannot start mpirun");
    }
    bool stuck;
    *exit_status = pass_signals(k, pid, &chld, &before, &stuck);
    bool told = over >= 0 && pread(over, &code, sizeof code, 0) == sizeof code;
    if (over >= 0) close(over);
    if (k == &kinds[TRA_MPI_MPICH] && *exit_status == 0 && over >= 0 && !told) /* it says so of ranks that USR1 ended */
        *exit_status = 128 + SIGKILL;
    if (!told && own_failure(*exit_status)) TRA_TRY(check_program(self, e));
    if (!told || (code == 0 && !stuck && !own_failure(*exit_status))) return judge(k, *exit_status, stuck, e);
    *exit_status = code;
    return TRA_OK;
}
