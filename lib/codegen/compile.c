/* compile.c - the system's compiler: one process, no shell. */
#include "codegen_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Waits for the compiler, and ends it when the run is asked to stop or after minutes: without the kernel the run goes
 * on by the interpreter. Returns as waitpid. */
static int wait_for(pid_t pid, int *status) {
    enum { LONGEST = 20000000, MOST_SECONDS = 300 };
    double from = tra_now();
    int n;
    for (long ns = 500000; (n = waitpid(pid, status, WNOHANG)) == 0 || (n < 0 && errno == EINTR);) {
        if (tra_stop_asked() || tra_now() > from + MOST_SECONDS) {
            kill(-pid, SIGKILL);
            while ((n = waitpid(pid, status, 0)) < 0 && errno == EINTR) {
            }
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        ns = ns * 2 < LONGEST ? ns * 2 : LONGEST;
    }
    return n;
}

/* Runs the compiler in a process group of its own; its messages go to a file. Returns its exit status, or -1 with errno
 * set. */
static int run(char *const *argv, const char *log) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    pid_t pid;
    int status = -1, n = 0;
    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    errno = posix_spawn(&pid, argv[0], &files, &how, argv, environ);
    if (errno == 0) {
        n = wait_for(pid, &status);
        status = n < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return status;
}

static bool write_file(const char *path, const char *source, const char *key) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    FILE *f = fdopen(fd, "w");
    bool ok = f && fprintf(f, "%s\nconst char tra_kernel_key[] = \"%s\";\n", source, key) > 0;
    if (f ? fclose(f) != 0 : close(fd) != 0) ok = false;
    return ok;
}

/* The first line of the compiler's messages. */
static const char *said(tra_codegen *g, const char *log) {
    char *text = NULL;
    size_t n;
    tra_err e = {0};
    if (tra_slurp(log, 1 << 20, &text, &n, &e) != TRA_OK) return "";
    text[strcspn(text, "\n")] = 0;
    const char *kept = tra_arena_printf(g->arena, *text ? ": %.300s" : "%s", text);
    free(text);
    return kept;
}

bool gen_compile(tra_codegen *g, const gen_key *key, const char *source, const char **why) {
    static atomic_int number;
    char *base = tra_asprintf("%s/tmp-%ld-%d", g->folder, (long)getpid(), atomic_fetch_add(&number, 1));
    char *c = tra_asprintf("%s.c", base), *so = tra_asprintf("%s.so", base), *log = tra_asprintf("%s.log", base);
    char *kept = tra_asprintf("%s/%s.so", g->folder, key->text),
         *kept_c = tra_asprintf("%s/%s.c", g->folder, key->text);
    const char *argv[] = {g->compiler,
                          "-O3",
                          "-march=native",
                          "-std=c11",
                          "-ffp-contract=off",
                          "-fno-math-errno",
                          "-fno-trapping-math",
                          "-w",
                          "-fPIC",
                          "-shared",
                          "-o",
                          so,
                          c,
                          NULL};
    double began = tra_now();
    const char *files[] = {c, so, log};
    for (int i = 0; i < 3; i++) tra_cleanup_add(files[i]);
    *why = NULL;
    if (!write_file(c, source, key->text)) {
        *why = tra_arena_printf(g->arena, "a kernel cannot be written to %s: %s", g->folder, strerror(errno));
    } else {
        int status = run((char *const *)(uintptr_t)argv, log);
        if (status != 0)
            *why =
                tra_arena_printf(g->arena, "the compiler %s ended with status %d%s", g->compiler, status, said(g, log));
        else if (!gen_seal(so) || rename(so, kept) != 0)
            *why = tra_arena_printf(g->arena, "a compiled kernel cannot be kept in %s: %s", g->folder, strerror(errno));
        else if (rename(c, kept_c) != 0)
            tra_info(2, "%s was not kept", kept_c); /* the source is only kept for people to read */
    }
    for (int i = 0; i < 3; i++) {
        unlink(files[i]);
        tra_cleanup_drop(files[i]);
    }
    g->seconds += tra_now() - began;
    free(base), free(c), free(so), free(log), free(kept), free(kept_c);
    return *why == NULL;
}
