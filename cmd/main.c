/* main.c - the table of commands; parses, dispatches, turns a status into an exit. */
#include "cmd.h"
#include "common.h"
#include "launch.h"

#include "../formats/stand_in.h"
#include "../lib/kernel/kernel.h"
#include "../lib/run/comm.h"
#include "../lib/run/exec.h"
#include "../plans/reference/reference.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One row each, in the order of `tra help`; groups stay together. */
#define COMMANDS(X)                                                                                                    \
    X(eval)                                                                                                            \
    X(import)                                                                                                          \
    X(export)                                                                                                          \
    X(gen)                                                                                                             \
    X(head)                                                                                                            \
    X(info)                                                                                                            \
    X(verify)                                                                                                          \
    X(digest)                                                                                                          \
    X(diff)                                                                                                            \
    X(check)                                                                                                           \
    X(compile)                                                                                                         \
    X(explain)                                                                                                         \
    X(cost)                                                                                                            \
    X(run)                                                                                                             \
    X(calibrate)                                                                                                       \
    X(doctor)                                                                                                          \
    X(clean)                                                                                                           \
    X(help)                                                                                                            \
    X(version)

#define X(name) extern const tra_cmd tra_cmd_##name;
COMMANDS(X)
#undef X

const tra_cmd *const tra_cmds[] = {
#define X(name) &tra_cmd_##name,
    COMMANDS(X)
#undef X
        NULL,
};

void (*tra_exit_now)(int status) = _exit;
atomic_bool tra_outputs_settled;

/* ---- ways to end -------------------------------------------------------------------------------------------- */

static void out_of_memory(size_t wanted) {
    char text[100];
    bool is_done = atomic_load(&tra_outputs_settled);
    int n = snprintf(text, sizeof text, "tra: out of memory (%zu bytes wanted)%s\n", wanted,
                     is_done ? ", when all outputs were in place" : "");
    if (write(STDERR_FILENO, text, (size_t)n) < 0) { /* nothing is left to be done about it */
    }
    tra_cleanup_all();
    tra_exit_now(is_done ? 0 : tra_status_exit(TRA_RESOURCE));
}

/* The temporary files go, then the signal does what it does by default. Commands that save progress have handlers of
 * their own. */
static void on_signal(int sig) {
    tra_cleanup_all();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction a = {.sa_handler = on_signal}, old;
        sigemptyset(&a.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) sigaction(signals[i], &a, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen by tra_print, after which files are cleaned up */
    signal(SIGXFSZ, SIG_IGN); /* a limit of file size is an error of the write, as a full disk is */
}

/* A file that is opened while standard error is closed would get its number, and the messages. What is put in the
 * place of a closed stream can be neither read nor written, so that a result that cannot be printed is still missed. */
static void fill_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
    }
}

void tra_say_error(const tra_err *e) {
    char msg[sizeof e->msg];
    memcpy(msg, e->msg, sizeof msg);
    if (e->status != TRA_PROGRAM) tra_printable(msg, true); /* diagnostics may have colours */
    if (strchr(msg, '\n')) {
        fprintf(stderr, "%s%s", msg, msg[strlen(msg) - 1] == '\n' ? "" : "\n");
    } else if (*e->msg) {
        fprintf(stderr, "tra: %s\n", tra_printable(msg, false));
    }
    if (*e->msg && e->file && tra_log_level >= 2) fprintf(stderr, "tra: raised at %s:%d\n", e->file, e->line);
}

static int finish(tra_status s, tra_err *e) {
    tra_err out = {0};
    if ((s == TRA_OK || s == TRA_NO) && tra_print_flush(&out) != TRA_OK) {
        s = out.status;
        *e = out;
    }
    if (tra_pipe_closed) { /* as other programs end that write to a closed pipe */
        tra_cleanup_all();
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (s != TRA_OK) tra_say_error(e);
    tra_cleanup_all(); /* also what could not be removed before */
    return tra_status_exit(s);
}

/* The value of a command's own option; NULL: it has none of that name. */
static const void *value_of(const tra_cmd *cmd, const char *name) {
    for (int i = 0; i < 2; i++)
        for (const tra_opt *o = i ? cmd->more : cmd->opts; o && o->name; o++)
            if (strcmp(o->name, name) == 0) return o->value;
    return NULL;
}

/* Files of any format are read by way of the scratch directory, below the command's ceiling. */
static void take_all_files(const tra_cmd *cmd) {
    const char *const *scratch = value_of(cmd, "scratch");
    const int64_t *memory = value_of(cmd, "memory");
    tra_stand_ins.scratch = tra_scratch_dir(scratch ? *scratch : getenv("TRA_SCRATCH"));
    if (memory) tra_ceiling = *memory;
    tra_stand_ins_begin();
}

/* ---- dispatch ----------------------------------------------------------------------------------------------- */

tra_status tra_cmd_find(const char *name, const tra_cmd **cmd, tra_err *e) {
    const char *names[64] = {NULL};
    int n = 0;
    for (; tra_cmds[n]; n++) {
        if (strcmp(tra_cmds[n]->name, name) == 0) {
            *cmd = tra_cmds[n];
            return TRA_OK;
        }
        names[n] = tra_cmds[n]->name;
    }
    const char *near = tra_nearest(name, n, names);
    if (!near && access(name, F_OK) == 0)
        return tra_fail(e, TRA_USAGE, "%s is a file: 'tra head %s' shows it, 'tra eval' answers questions of it", name,
                        name);
    return tra_fail(e, TRA_USAGE, "there is no command '%s'%s%s%s (tra help lists them)", name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static tra_status dispatch(int argc, char **argv, tra_err *e) {
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) return tra_fail(e, TRA_USAGE, "usage: tra COMMAND [options] [arguments] (tra help lists the commands)");
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    if (*name == '-') return tra_fail(e, TRA_USAGE, "the command comes first, then options: tra COMMAND %s", name);

    const tra_cmd *cmd = NULL;
    TRA_TRY(tra_cmd_find(name, &cmd, e));
    if (cmd->needs & TRA_NEED_BLAS) tra_blas_fit(argv); /* before parsing, which moves them */
    int nargs = 0;
    TRA_TRY(tra_options_parse(cmd, argc - 2, argv + 2, &nargs, e));
    if (tra_common_opts.help) {
        if (!tra_log_mute) tra_options_help(cmd, stdout);
        return TRA_OK;
    }
    tra_log_level = tra_common_opts.quiet ? -1 : tra_common_opts.verbose;
    /* Commands that take no part in MPI run on rank 0; the others leave (no rank calls MPI_Init, so none is missed). */
    if (tra_log_mute && !(cmd->needs & TRA_NEED_MPI)) return TRA_OK;
    if (cmd->needs & TRA_NEED_HDF5) take_all_files(cmd);
    tra_status s = cmd->run(nargs, argv + 2, e);
    tra_stand_ins_end();
    return s;
}

/* Does every rank carry the command out? */
static bool takes_part(int argc, char **argv) {
    const tra_cmd *cmd;
    return argc > 1 && tra_cmd_find(argv[1], &cmd, NULL) == TRA_OK && (cmd->needs & TRA_NEED_MPI);
}

enum { ANOTHER_SAYS_IT = 5 }; /* seconds */

int main(int argc, char **argv) {
    tra_process_begin();
    tra_take_streams();
    fill_closed_streams();
    tra_oom_handler(out_of_memory);
    catch_signals();
    tra_log_mute = tra_comm_launched_rank() != 0;
    tra_find_column_values = tra_reference_values;
    tra_err e = {0};
    tra_status s = dispatch(argc, argv, &e);
    /* Rank 0 has found it too and says it, but for what this rank alone was given; and mpirun would end it before it
     * does, if this rank went first. */
    bool unjoined = tra_comm_is_unjoined() && tra_log_mute;
    if (s == TRA_USAGE && tra_log_mute && !takes_part(argc, argv)) return 0; /* rank 0 is the only one that runs it */
    if ((s == TRA_USAGE && tra_log_mute && *e.msg) || unjoined) sleep(ANOTHER_SAYS_IT);
    if (unjoined) *e.msg = 0;
    return finish(s, &e);
}
