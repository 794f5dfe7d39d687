/* temp.c - temporary files beside their target, and names of others that are there. */
#include "durable_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *tra_name_beside(const char *path, const char *kind) {
    char *real = tra_resolve_folder(path);
    const char *slash = strrchr(real, '/'), *base = slash ? slash + 1 : real;
    char *name = tra_asprintf("%.*s.%s.tra-%s", (int)(base - real), real, base, kind);
    free(real);
    return name;
}

bool tra_is_intermediate(const char *path) {
    static const char *const names[] = {TRA_IMPORT_NAME, TRA_KEPT_NAME, TRA_OUTPUT_NAME};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t i = 0, n = sizeof names / sizeof *names;
    while (i < n && strncmp(name, names[i], strlen(names[i])) != 0) i++;
    return i < n;
}

/* ---- creating --------------------------------------------------------------------------------------------------- */

enum { MOST_NAMES = 1000, MODE = O_RDWR | O_NOFOLLOW | O_CLOEXEC };

/* Opens a file that an earlier process of this user left; -1 if it does not exist or is anything else. */
static int open_reused(const char *path) {
    struct stat st;
    int fd = open(path, MODE);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static int open_tagged(tra_temp *t, const char *folder, const char *name, bool reuse) {
    t->path = tra_asprintf("%s/.%s.tra-%s.tmp", folder, name, t->tag);
    if (reuse && (t->fd = open_reused(t->path)) >= 0) {
        t->reused = true;
        return t->fd;
    }
    (void)unlink(t->path);
    return open(t->path, MODE | O_CREAT | O_EXCL, 0666);
}

static int open_numbered(tra_temp *t, const char *folder, const char *name) {
    int fd = -1;
    char *me = tra_process_name();
    for (int i = 1; fd < 0 && i <= MOST_NAMES; i++) {
        char again[24] = "";
        if (i > 1) snprintf(again, sizeof again, "-%d", i);
        free(t->path);
        t->path = tra_asprintf("%s/.%s.tra-%s%s.tmp", folder, name, me, again);
        fd = open(t->path, MODE | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    free(me);
    if (fd >= 0) tra_cleanup_add(t->path);
    return fd;
}

static void temp_free(tra_temp *t) {
    if (t->path && t->fd >= 0) close(t->fd);
    free(t->path);
    free(t->target);
    *t = (tra_temp){.fd = -1};
}

tra_status tra_cannot_create(const char *target, const char *by, tra_err *e) {
    const char *name;
    char *folder = tra_folder_of(target, &name);
    tra_status s = errno == ENOENT && access(folder, F_OK) != 0
                       ? tra_fail(e, TRA_INPUT, "cannot write %s: there is no directory %s", target, folder)
                       : tra_fail_errno(e, TRA_INPUT, "cannot write %s (by way of %s)", target, by);
    free(folder);
    return s;
}

/* Keeps this file open (-1: none), in place of the one that was replaced before. */
static void hold_replaced(int fd) {
    static atomic_int last = -1;
    fd = atomic_exchange(&last, fd);
    if (fd >= 0) close(fd);
}

tra_status tra_temp_create(const char *target, const char *tag, bool reuse, tra_temp *t, tra_err *e) {
    const char *name;
    char *folder = tra_folder_of(target, &name);
    struct stat st;
    hold_replaced(-1); /* its blocks may be what the disk has room for */
    *t = (tra_temp){.fd = -1, .tag = tag, .target = tra_strdup(target)};
    t->fd = tag ? open_tagged(t, folder, name, reuse) : open_numbered(t, folder, name);
    int why = errno;
    free(folder);
    errno = why;
    if (t->fd < 0) {
        tra_status s = tra_cannot_create(target, t->path, e);
        temp_free(t);
        return s;
    }
    if (stat(target, &st) == 0) (void)fchmod(t->fd, st.st_mode & 07777);
    return TRA_OK;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static tra_status sync_folder(const char *path, tra_err *e) {
    const char *name;
    char *folder = tra_folder_of(path, &name);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL); /* some file systems cannot and need not */
    tra_status s =
        ok ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "%s is in place, but its folder cannot be written to disk", path);
    if (fd >= 0) close(fd);
    free(folder);
    return s;
}

/* Renames over the target. The file that was there stays open until the next file is made or the end of the process,
 * since freeing the blocks of a large file takes a tenth of the time that writing it took, and no result has to wait
 * for that. */
static int replace(const char *temp, const char *target) {
    int old = open(target, O_PATH | O_CLOEXEC), status = rename(temp, target), err = errno;
    hold_replaced(old);
    errno = err;
    return status;
}

tra_status tra_temp_sync(tra_temp *t, tra_err *e) {
    return fsync(t->fd) == 0 ? TRA_OK : tra_fail_errno(e, TRA_RESOURCE, "cannot write %s to disk", t->path);
}

tra_status tra_put_in_place(const char *temp, const char *target, bool durable, tra_err *e) {
    if (replace(temp, target) != 0) return tra_fail_errno(e, TRA_RESOURCE, "cannot rename %s to %s", temp, target);
    tra_cleanup_drop(temp);
    return durable ? sync_folder(target, e) : TRA_OK;
}

void tra_temp_forget(tra_temp *t) {
    if (t->path) tra_cleanup_drop(t->path);
    temp_free(t);
}

tra_status tra_temp_commit(tra_temp *t, bool durable, tra_err *e) {
    tra_status s = durable ? tra_temp_sync(t, e) : TRA_OK;
    int fd = t->fd;
    t->fd = -1;
    if (close(fd) != 0 && s == TRA_OK) s = tra_fail_errno(e, TRA_RESOURCE, "cannot write %s", t->path);
    if (s == TRA_OK) s = tra_put_in_place(t->path, t->target, durable, e);
    if (s == TRA_OK)
        tra_temp_forget(t);
    else if (access(t->path, F_OK) == 0)
        tra_temp_keep(t);
    else
        temp_free(t);
    return s;
}

void tra_temp_abort(tra_temp *t) {
    if (t->path && (unlink(t->path) == 0 || errno == ENOENT)) tra_cleanup_drop(t->path); /* else it is tried again */
    temp_free(t);
}

void tra_temp_keep(tra_temp *t) {
    if (t->tag)
        temp_free(t);
    else
        tra_temp_abort(t);
}

tra_status tra_replace_file(const char *path, const void *bytes, size_t n, bool durable, tra_err *e) {
    tra_temp t;
    char *target = tra_resolve_links(path);
    tra_status s = tra_temp_create(target, NULL, false, &t, e);
    free(target);
    if (s != TRA_OK) return s;
    s = tra_pwrite(t.fd, bytes, n, 0, path, e);
    if (s == TRA_OK) return tra_temp_commit(&t, durable, e);
    tra_temp_abort(&t);
    return s;
}

/* ---- what others left ------------------------------------------------------------------------------------------- */

/* Does nobody need the temporary file whose name goes on with `rest` after ".TARGET.tra-"? *tagged: a later process
 * could have continued it. */
static bool is_orphan(const char *rest, const char *spared, bool *tagged) {
    const char *end;
    size_t n = strlen(rest);
    if (n < 5 || strcmp(rest + n - 4, ".tmp") != 0) return false;
    *tagged = *rest < '0' || *rest > '9';
    if (*tagged) return !spared || strncmp(rest, spared, strlen(spared)) != 0;
    return tra_process_of_name(rest, &end) == TRA_PROCESS_GONE && (strcmp(end, ".tmp") == 0 || *end == '-');
}

void tra_temp_reclaim(const char *target, const char *spared) {
    const char *name;
    char *folder = tra_folder_of(target, &name), *prefix = tra_asprintf(".%s.tra-", name);
    DIR *d = opendir(folder);
    bool tagged;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strncmp(f->d_name, prefix, strlen(prefix)) != 0) continue;
        if (!is_orphan(f->d_name + strlen(prefix), spared, &tagged) || unlinkat(dirfd(d), f->d_name, 0) != 0) continue;
        if (tagged)
            tra_info(0, "removed %s/%s, which an unfinished run had written of %s and could have continued", folder,
                     f->d_name, name);
        else
            tra_info(1, "removed %s/%s, left by a process that is gone", folder, f->d_name);
    }
    if (d) closedir(d);
    free(prefix);
    free(folder);
}
