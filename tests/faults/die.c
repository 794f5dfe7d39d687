/* die.c - a library to preload: kills the process (SIGKILL) before its n-th call that makes, renames or removes a file,
 * or syncs one.
 *
 *   TRA_DIE        n, from 1
 *   TRA_DIE_AFTER  "all": all calls of a process are counted (default: those from its first fsync on)
 *   TRA_DIE_RANK   which process dies: an MPI rank, or "none", one without a rank (default: rank 0, or one without)
 *   TRA_DIE_LOG    a file to which each process appends the calls that it counts, so that the largest n is known
 *
 * Calls that count: fsync, rename, unlink, unlinkat, rmdir, link, and open with O_CREAT.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

static atomic_long calls;
static atomic_bool counting;
static long at;
static bool is_chosen;

__attribute__((constructor)) static void set_up(void) {
    const char *rank = rank_here(), *want = getenv("TRA_DIE_RANK"), *n = getenv("TRA_DIE");
    const char *after = getenv("TRA_DIE_AFTER");
    bool who = !want ? !rank || strcmp(rank, "0") == 0 : strcmp(rank ? rank : "none", want) == 0;
    is_chosen = who && strcmp(program_invocation_short_name, "tra") == 0;
    at = n ? atol(n) : 0;
    counting = after && strcmp(after, "all") == 0;
}

static void count(const char *what, const char *path) {
    if (!is_chosen) return;
    if (strcmp(what, "fsync") == 0) counting = true;
    if (!counting) return;
    long n = atomic_fetch_add(&calls, 1) + 1;
    const char *log = getenv("TRA_DIE_LOG");
    if (log) {
        int fd = open64(log, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd >= 0) dprintf(fd, "%ld %s %s\n", n, what, path);
        if (fd >= 0) close(fd);
    }
    if (n == at) kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int fsync(int fd) {
    count("fsync", "");
    return REAL(fsync)(fd);
}
int rename(const char *from, const char *to) {
    count("rename", to);
    return REAL(rename)(from, to);
}
int unlink(const char *path) {
    count("unlink", path);
    return REAL(unlink)(path);
}
int unlinkat(int dir, const char *path, int flags) {
    count("unlinkat", path);
    return REAL(unlinkat)(dir, path, flags);
}
int rmdir(const char *path) {
    count("rmdir", path);
    return REAL(rmdir)(path);
}
int link(const char *from, const char *to) {
    count("link", to);
    return REAL(link)(from, to);
}
int open(const char *path, int flags, ...) {
    va_list v;
    va_start(v, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(v, mode_t) : 0;
    va_end(v);
    if (flags & O_CREAT) count("open", path);
    return REAL(open)(path, flags, mode);
}
