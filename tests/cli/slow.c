/* slow.c - a library to preload: each block (16 KiB or more) that is written takes TRA_SLOW_MS milliseconds, as on a
 * slow disk, until there is a file named quick. So a small run can be met in the middle, on a machine of any speed. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
    const char *ms = getenv("TRA_SLOW_MS");
    if (n >= 16384 && access("quick", F_OK) != 0) usleep((useconds_t)(ms ? atoi(ms) : 0) * 1000);
    return syscall(SYS_pwrite64, fd, buf, n, at);
}
