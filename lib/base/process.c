/* process.c - whether other processes of this host live. */
#include "base.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long long tra_process_started(long pid) {
    char name[64], *text, *p;
    size_t n;
    tra_err e = {0};
    long long ticks = -1, boot = -1;
    char state = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    if (tra_slurp(name, 1 << 16, &text, &n, &e) != TRA_OK) return -1;
    if ((p = strrchr(text, ')'))) /* the name in parentheses may hold anything; field 22 is the 20th after it */
        sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &state,
               &ticks);
    free(text);
    if (state == 'Z' || state == 'X') return 0;
    if (tra_slurp("/proc/stat", 1 << 24, &text, &n, &e) != TRA_OK) return -1;
    if ((p = strstr(text, "\nbtime "))) sscanf(p, " btime %lld", &boot);
    free(text);
    return ticks < 0 || boot < 0 ? -1 : boot + ticks / sysconf(_SC_CLK_TCK);
}

bool tra_process_gone(long pid) {
    return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) || tra_process_started(pid) == 0;
}
