/* exchange_dir.c - the directory of a run in which its ranks exchange files. */
#include "exchange_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "tra-exchange-", lock_name[] = "lock";

/* A directory whose lock nobody holds is left from a run that was killed. */
void tra_exchange_dir_reclaim(const char *scratch) {
    DIR *d = scratch ? opendir(scratch) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strncmp(f->d_name, prefix, sizeof prefix - 1) != 0) continue;
        char *path = tra_asprintf("%s/%s", scratch, f->d_name), *lock = tra_asprintf("%s/%s", path, lock_name);
        int fd = open(lock, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            tra_info(1, "removing %s, left by a run that was killed", path);
            (void)tra_remove_files_of(path);
        }
        if (fd >= 0) close(fd);
        free(lock);
        free(path);
    }
    if (d) closedir(d);
}

/* The lock is taken before the directory has the name that others look for. */
static tra_status make_dir(tra_exchange_dir *f, const char *scratch, tra_err *e) {
    uint64_t id;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id) return tra_fail_errno(e, TRA_INTERNAL, "random numbers");
    int length = snprintf(f->dir, sizeof f->dir, "%s/%s%016" PRIx64, scratch, prefix, id);
    if (length < 0 || (size_t)length >= sizeof f->dir)
        return tra_fail(e, TRA_RESOURCE,
                        "the path of the scratch directory is too long: choose another with --scratch");
    char *hidden = tra_asprintf("%s/.tra-%016" PRIx64, scratch, id), *lock = tra_asprintf("%s/%s", hidden, lock_name);
    bool ok = mkdir(hidden, 0700) == 0 && (f->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0 &&
              flock(f->lock, LOCK_EX | LOCK_NB) == 0 && rename(hidden, f->dir) == 0;
    tra_status s = ok ? TRA_OK
                      : tra_fail_errno(e, TRA_RESOURCE,
                                       "cannot make a directory for the exchange in %s (choose another "
                                       "with --scratch)",
                                       scratch);
    if (!ok) (void)tra_remove_files_of(hidden);
    free(lock);
    free(hidden);
    return s;
}

tra_status tra_exchange_dir_make(tra_exchange_dir *f, const tra_comm *comm, const char *scratch, tra_err *e) {
    tra_status s = TRA_OK;
    *f = (tra_exchange_dir){.lock = -1};
    if (comm->rank == 0) s = make_dir(f, scratch, e);
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK) {
        char host[64] = "";
        tra_comm_bcast(comm, f->dir, sizeof f->dir);
        gethostname(host, sizeof host - 1);
        if (access(f->dir, R_OK | W_OK | X_OK) != 0)
            s = tra_fail_errno(e, TRA_RESOURCE,
                               "site %d (%s) does not see %s: --transport files needs a --scratch that all "
                               "sites share",
                               comm->rank, host, f->dir);
        s = tra_comm_agree(comm, s, e);
    }
    if (s != TRA_OK) tra_exchange_dir_remove(f, comm);
    return s;
}

void tra_exchange_dir_remove(tra_exchange_dir *f, const tra_comm *comm) {
    if (comm->rank == 0 && f->lock >= 0) {
        (void)tra_remove_files_of(f->dir);
        close(f->lock);
    }
    *f = (tra_exchange_dir){.lock = -1};
}
