/* process.c - whether other processes of this host live, and what this one holds. */
#include "base.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Has it ended, and has nobody waited for it? */
static bool is_zombie(long pid) {
    char name[64], *text, state = 0;
    size_t n;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    if (tra_slurp(name, 1 << 16, &text, &n, NULL) != TRA_OK) return false;
    const char *p = strrchr(text, ')'); /* the name in parentheses may hold anything */
    if (p) (void)sscanf(p + 1, " %c", &state);
    free(text);
    return state == 'Z' || state == 'X';
}

unsigned long long tra_process_space(void) {
    struct stat space;
    return stat("/proc/self/ns/pid", &space) == 0 ? (unsigned long long)space.st_ino : 0;
}

bool tra_process_gone(long pid) { return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) || is_zombie(pid); }

/* The namespace that is no container's, PROC_PID_INIT_INO of the kernel: names of its processes leave it out. */
enum { INITIAL = 0xEFFFFFFC };

char *tra_process_name(void) {
    unsigned long long space = tra_process_space();
    if (space == 0 || space == (unsigned)INITIAL) return tra_asprintf("%ld", (long)getpid());
    return tra_asprintf("%ld.%llu", (long)getpid(), space);
}

tra_process_state tra_process_of_name(const char *name, const char **end) {
    char *at;
    long pid = strtol(name, &at, 10);
    unsigned long long space = (unsigned)INITIAL, here = tra_process_space();
    if (at == name || pid <= 0) return TRA_PROCESS_NONE;
    if (*at == '.' && at[1] >= '0' && at[1] <= '9') space = strtoull(at + 1, &at, 10);
    if (*at != '.' && *at != '-') return TRA_PROCESS_NONE;
    if (end) *end = at;
    if (here != 0 && space != here) return TRA_PROCESS_ELSEWHERE;
    return tra_process_gone(pid) ? TRA_PROCESS_GONE : TRA_PROCESS_LIVES;
}

enum { EMPTY = 18 << 20 }; /* bytes of a process that has done nothing yet */

int64_t tra_resident_bytes(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return EMPTY; /* sanitizers take memory of their own */
#endif
    int64_t pages = 0;
    char line[128];
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fgets(line, sizeof line, f) && strchr(line, ' ')) pages = strtoll(strchr(line, ' '), NULL, 10);
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

int64_t tra_buffer_held(void) { return tra_max64(0, tra_resident_bytes() - EMPTY); }
