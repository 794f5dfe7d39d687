/* early.c - what must be done before the libraries initialise themselves.
 *
 * A run that is told to stop ends with a status of its own (75), also when it is told in the tenth of a second in which
 * the libraries begin.
 *
 * OpenBLAS makes threads and buffers for all cores while it is loaded, and tries for ever when it gets no memory for
 * them: under a limit of the address space (ulimit -v) no command would even begin. None needs these threads. */
#include "../lib/base/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads that OpenBLAS makes: by its variables, else of all cores. The C library's getenv does not work yet. */
static long blas_threads(char **envp) {
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **e = envp; *e; e++) {
            size_t n = strlen(names[i]);
            if (strncmp(*e, names[i], n) == 0 && (*e)[n] >= '1' && (*e)[n] <= '9') return strtol(*e + n, NULL, 10);
        }
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Begins again with one thread of OpenBLAS where there is no room for more. */
static void before_libraries(int argc, char **argv, char **envp) {
    enum { MOST = 4096, EACH = 96 << 20, FIXED = 32 << 20 }; /* bytes: more than a thread takes */
    static char *with[MOST + 2];
    struct rlimit limit;
    if (argc > 1 && strcmp(argv[1], "run") == 0) tra_stop_catch();
    long threads = blas_threads(envp);
    if (threads < 2 || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    size_t bytes = (size_t)threads * EACH + FIXED;
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, bytes);
        return;
    }
    int n = 0;
    with[n++] = "OPENBLAS_NUM_THREADS=1";
    for (char **e = envp; *e && n <= MOST; e++)
        if (strncmp(*e, "OPENBLAS_NUM_THREADS=", 21) != 0) with[n++] = *e;
    execve("/proc/self/exe", argv, with);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before_libraries;
