/* fail.c - a library to preload: makes the n-th call of one kind fail, in one process.
 *
 *   TRA_FAIL       KIND:N; KIND is one of malloc, read, write, fsync, rename, unlink, link, open, thread, send, recv,
 *                  finalize
 *   TRA_FAIL_RANK  the MPI rank whose call fails (default: any process)
 *   TRA_FAIL_LOG   a file to which each process appends, for every kind, "KIND CALLS" when it ends: the largest N
 *   TRA_FAIL_ORDER a file to which all ranks append "RANK write PATH", "RANK fsync PATH" and "RANK rename FROM TO" in
 *                  the order in which these happened, also those of libraries; calls that failed are left out
 *   TRA_FAIL_LIBRARY  the address, as nm prints it, from which on the program's code is that of a library which is
 *                  linked into it
 *
 * Only calls that tra itself makes are counted and fail, which is seen by the address that they return to: how
 * libraries behave when their own calls fail is not tested. malloc stands for malloc, calloc, realloc and
 * aligned_alloc; read for read and pread; write for pwrite and write but to standard output and error;
 * unlink for unlink, unlinkat and rmdir; link for link and mkdir; open for open of any file; thread for
 * pthread_create; send and recv for the calls of the exchange, blocking or not. A process whose MPI_Finalize is to fail
 * aborts there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rank.h"

enum { MALLOC, READ, WRITE, FSYNC, RENAME, UNLINK, LINK, OPEN, THREAD, SEND, RECV, FINALIZE, KINDS };
static const char *const names[KINDS] = {"malloc", "read", "write",  "fsync", "rename", "unlink",
                                         "link",   "open", "thread", "send",  "recv",   "finalize"};
static atomic_long calls[KINDS];
static int kind = -1;
static long at;
static uintptr_t begin, end; /* of the program's own code */
static int order_fd = -1;

static int own_code(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size, (void)ctx;
    if (info->dlpi_name && *info->dlpi_name) return 0; /* only the program itself has no name */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        begin = info->dlpi_addr + p->p_vaddr;
        end = begin + p->p_memsz;
        const char *library = getenv("TRA_FAIL_LIBRARY");
        if (library && *library) end = info->dlpi_addr + strtoull(library, NULL, 16);
    }
    return 1;
}

__attribute__((constructor)) static void set_up(void) {
    const char *s = getenv("TRA_FAIL"), *colon = s ? strchr(s, ':') : NULL;
    const char *rank = rank_here(), *want = getenv("TRA_FAIL_RANK");
    const char *self = program_invocation_short_name;
    if (strcmp(self, "tra") != 0) return;
    if (getenv("TRA_FAIL_ORDER"))
        order_fd = open(getenv("TRA_FAIL_ORDER"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (want && (!rank || strcmp(rank, want) != 0)) return;
    dl_iterate_phdr(own_code, NULL);
    for (int i = 0; colon && i < KINDS; i++) {
        if (strlen(names[i]) == (size_t)(colon - s) && strncmp(s, names[i], strlen(names[i])) == 0) kind = i;
    }
    if (colon) at = atol(colon + 1);
}

__attribute__((destructor)) static void write_counts(void) {
    const char *path = getenv("TRA_FAIL_LOG");
    if (!path || !begin) return;
    char text[512];
    int n = 0;
    for (int i = 0; i < KINDS; i++) n += snprintf(text + n, sizeof text - (size_t)n, "%s %ld\n", names[i], calls[i]);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0) return;
    ssize_t put = syscall(SYS_write, fd, text, (size_t)n); /* not the write below */
    (void)put;
    close(fd);
}

static int fails(int what, void *from) {
    if ((uintptr_t)from < begin || (uintptr_t)from >= end) return 0;
    long n = atomic_fetch_add(&calls[what], 1) + 1;
    return what == kind && n == at;
}

#define REAL(name)                                                                                                     \
    static __typeof__(&name) real;                                                                                     \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FROM __builtin_return_address(0)

/* The allocator of a program with AddressSanitizer, if it is one (then this library comes before it), or the C
 * library's. */
#define BY(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)
extern __typeof__(malloc) __interceptor_malloc __attribute__((weak)), __libc_malloc;
extern __typeof__(calloc) __interceptor_calloc __attribute__((weak)), __libc_calloc;
extern __typeof__(realloc) __interceptor_realloc __attribute__((weak)), __libc_realloc;
extern __typeof__(memalign) __interceptor_memalign __attribute__((weak)), __libc_memalign;

void *malloc(size_t n) { return fails(MALLOC, FROM) ? (errno = ENOMEM, NULL) : BY(malloc)(n); }
void *calloc(size_t n, size_t m) { return fails(MALLOC, FROM) ? (errno = ENOMEM, NULL) : BY(calloc)(n, m); }
void *realloc(void *p, size_t n) { return fails(MALLOC, FROM) ? (errno = ENOMEM, NULL) : BY(realloc)(p, n); }
void *aligned_alloc(size_t a, size_t n) { return fails(MALLOC, FROM) ? (errno = ENOMEM, NULL) : BY(memalign)(a, n); }

ssize_t read(int fd, void *buf, size_t n) {
    REAL(read);
    return fails(READ, FROM) ? (errno = EIO, -1) : real(fd, buf, n);
}
ssize_t pread(int fd, void *buf, size_t n, off_t off) {
    REAL(pread);
    return fails(READ, FROM) ? (errno = EIO, -1) : real(fd, buf, n, off);
}

/* Appends one line to TRA_FAIL_ORDER; errno stays as it is. */
static void log_call(const char *call, const char *path, const char *to) {
    const char *rank = rank_here();
    char text[2 * PATH_MAX + 64];
    int err = errno, n = snprintf(text, sizeof text, "%s %s %s %s\n", rank ? rank : "0", call, path, to);
    ssize_t put = syscall(SYS_write, order_fd, text, (size_t)n);
    (void)put;
    errno = err;
}
static void log_call_of(const char *call, int fd) {
    char link[64], path[PATH_MAX] = "";
    if (order_fd < 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0) log_call(call, path, "");
}

ssize_t write(int fd, const void *buf, size_t n) {
    REAL(write);
    if (fd > 2 && fails(WRITE, FROM)) return (errno = ENOSPC, -1);
    ssize_t put = real(fd, buf, n);
    if (put > 0) log_call_of("write", fd);
    return put;
}
ssize_t pwrite(int fd, const void *buf, size_t n, off_t off) {
    REAL(pwrite);
    if (fails(WRITE, FROM)) return (errno = ENOSPC, -1);
    ssize_t put = real(fd, buf, n, off);
    if (put > 0) log_call_of("write", fd);
    return put;
}
int fsync(int fd) {
    REAL(fsync);
    if (fails(FSYNC, FROM)) return (errno = EIO, -1);
    int status = real(fd);
    if (status == 0) log_call_of("fsync", fd);
    return status;
}
int fdatasync(int fd) {
    REAL(fdatasync);
    if (fails(FSYNC, FROM)) return (errno = EIO, -1);
    int status = real(fd);
    if (status == 0) log_call_of("fsync", fd);
    return status;
}
int rename(const char *a, const char *b) {
    REAL(rename);
    char from[PATH_MAX], to[PATH_MAX];
    if (fails(RENAME, FROM)) return (errno = EIO, -1);
    if (!realpath(a, from)) *from = 0;
    int status = real(a, b);
    if (status == 0 && order_fd >= 0 && realpath(b, to)) log_call("rename", from, to);
    return status;
}

int unlink(const char *path) {
    REAL(unlink);
    return fails(UNLINK, FROM) ? (errno = EIO, -1) : real(path);
}
int unlinkat(int dir, const char *path, int flags) {
    REAL(unlinkat);
    return fails(UNLINK, FROM) ? (errno = EIO, -1) : real(dir, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir);
    return fails(UNLINK, FROM) ? (errno = EIO, -1) : real(path);
}
int link(const char *a, const char *b) {
    REAL(link);
    return fails(LINK, FROM) ? (errno = EIO, -1) : real(a, b);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return fails(LINK, FROM) ? (errno = EIO, -1) : real(path, mode);
}
int open(const char *path, int flags, ...) {
    REAL(open);
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return fails(OPEN, FROM) ? (errno = EIO, -1) : real(path, flags, mode);
}

/* Calls the error handler of the communicator, as MPI does. */
static int broken(MPI_Comm c) {
    MPI_Comm_call_errhandler(c, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}
int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *ctx) {
    REAL(pthread_create);
    return fails(THREAD, FROM) ? EAGAIN : real(id, attr, fn, ctx);
}
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) {
    return fails(SEND, FROM) ? broken(c) : PMPI_Isend(b, n, t, to, tag, c, r);
}
int MPI_Imrecv(void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Request *r) {
    return fails(RECV, FROM) ? broken(MPI_COMM_WORLD) : PMPI_Imrecv(b, n, t, m, r);
}
int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r) {
    return fails(RECV, FROM) ? broken(c) : PMPI_Irecv(b, n, t, from, tag, c, r);
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s) {
    return fails(RECV, FROM) ? broken(c) : PMPI_Recv(b, n, t, from, tag, c, s);
}
int MPI_Finalize(void) {
    if (fails(FINALIZE, FROM)) abort();
    return PMPI_Finalize();
}
