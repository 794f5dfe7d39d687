/* slow.c - a library to preload: each block (4 KiB or more) that is written takes TRA_SLOW_MS milliseconds and, from
 * one to the next, a tenth of that more, until there is a file named quick: as on a disk that gets ever slower. So a
 * small run is met in the middle on a machine of any speed: it comes there soon, and what is left takes long. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
    static unsigned blocks;
    const char *ms = getenv("TRA_SLOW_MS");
    if (n >= 4096 && access("quick", F_OK) != 0)
        usleep((ms ? (unsigned)atoi(ms) : 0) * 100 * (10 + __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED)));
    return syscall(SYS_pwrite64, fd, buf, n, at);
}
