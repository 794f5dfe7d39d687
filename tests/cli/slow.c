/* slow.c - a library to preload: each block (4 KiB or more) that is written takes TRA_SLOW_MS milliseconds and, from
 * one to the next, a tenth of that more, until there is a file named quick: as on a disk that gets ever slower. So a
 * small run is met in the middle on a machine of any speed: it comes there soon, and what is left takes long. And a
 * product of matrices takes TRA_SLOW_TASK milliseconds, as on a starved machine. */
#include <dlfcn.h>
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

/* The parameters, and the type of enumerations, as a C program passes them. */
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc) {
    const char *ms = getenv("TRA_SLOW_TASK");
    __typeof__(cblas_dgemm) *next;
    *(void **)&next = dlsym(RTLD_NEXT, "cblas_dgemm");
    usleep(ms ? (unsigned)atoi(ms) * 1000 : 0);
    next(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
