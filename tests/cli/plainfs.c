/* plainfs.c - a library to preload: the file system has neither hard links nor files without a name, as some that are
 * mounted from elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int link(const char *from, const char *to) {
    (void)from, (void)to;
    errno = EPERM;
    return -1;
}

int open(const char *path, int flags, ...) {
    va_list v;
    va_start(v, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(v, mode_t) : 0;
    va_end(v);
    if ((flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
