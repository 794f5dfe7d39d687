/* overlap.c - a library to preload: a worker of one rank fails to write a block, as on a full disk, while its main
 * thread is in the middle of an exchange that overlaps the stage. TRA_OVERLAP_RANK is the rank; TRA_OVERLAP_LOG a file
 * to which it appends a line when it has happened.
 *
 * The main thread looks for messages at each step of an exchange. It is held there, once blocks have been sent and
 * written, until a worker has written another one, which fails; and a little longer, so that all hear of the failure
 * before the exchange goes on.
 */
#include <errno.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../faults/rank.h"

enum { BLOCK = 4096 };
static atomic_int sent, written, armed, failed;

static int chosen(void) {
    const char *rank = rank_here(), *want = getenv("TRA_OVERLAP_RANK");
    return rank && want && strcmp(rank, want) == 0;
}

static int is_output(int fd) {
    char link[40], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, ".h5.tra-");
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) {
    if (n >= BLOCK && gettid() != getpid() && chosen() && is_output(fd)) {
        int one = 1;
        if (atomic_compare_exchange_strong(&armed, &one, 2)) {
            FILE *f = fopen(getenv("TRA_OVERLAP_LOG"), "a");
            if (f) fprintf(f, "failed after %d blocks\n", sent), fclose(f);
            atomic_store(&failed, 1);
            errno = ENOSPC;
            return -1;
        }
        atomic_fetch_add(&written, 1);
    }
    return syscall(SYS_pwrite64, fd, buf, n, at);
}

int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) {
    static int late;
    if (n > 64) atomic_fetch_add(&sent, 1);
    if (failed && n <= 64 && late++ == 1) usleep(500000); /* the peer computes with what was sent before */
    return PMPI_Isend(b, n, t, to, tag, c, r);
}

int MPI_Iprobe(int from, int tag, MPI_Comm c, int *found, MPI_Status *s) {
    if (chosen() && sent > 2 && !failed) {
        int zero = 0;
        (void)atomic_compare_exchange_strong(&armed, &zero, 1);
        for (int i = 0; i < 10 && !failed; i++) usleep(2000);
        if (failed) usleep(50000);
        int one = 1;
        if (!failed) (void)atomic_compare_exchange_strong(&armed, &one, 0);
    }
    return PMPI_Iprobe(from, tag, c, found, s);
}
