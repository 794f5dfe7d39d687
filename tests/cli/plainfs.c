/* plainfs.c - a library to preload: the file system has neither hard links nor files without a name, as some that are
 * mounted from elsewhere; with TRA_NO_LOCKS=1 no locks either; with 2 its locks are those of this process alone, as
 * where NFS is mounted with `nolock` on two hosts. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int link(const char *from, const char *to) {
    (void)from, (void)to;
    errno = EPERM;
    return -1;
}

int fcntl(int fd, int command, ...) {
    const char *locks = getenv("TRA_NO_LOCKS");
    va_list v;
    va_start(v, command);
    void *arg = va_arg(v, void *);
    va_end(v);
    if (locks && (command == F_OFD_SETLK || command == F_OFD_GETLK)) {
        if (*locks == '1') return errno = ENOLCK, -1;
        if (command == F_OFD_GETLK) ((struct flock *)arg)->l_type = F_UNLCK;
        return 0;
    }
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int open(const char *path, int flags, ...) {
    va_list v;
    va_start(v, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(v, mode_t) : 0;
    va_end(v);
    if ((flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
