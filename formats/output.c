/* output.c - writing a file that appears when it is complete, or a stream; the scratch file. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of path, from malloc, and where the name begins. */
static char *dir_of(const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash) return tra_strdup(".");
    if (slash == path) return tra_strdup("/");
    return tra_asprintf("%.*s", (int)(slash - path), path);
}

char *tra_temp_beside(const char *path) {
    const char *name;
    char *dir = dir_of(path, &name);
    char *temp = tra_asprintf("%s/.%s.tra-%ld.tmp", dir, name, (long)getpid());
    free(dir);
    return temp;
}

static tra_status sync_dir_of(const char *path, tra_err *e) {
    const char *name;
    char *dir = dir_of(path, &name);
    tra_status s = TRA_OK;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems refuse fsync of a directory (EINVAL); then there is nothing better to do. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) s = tra_fail_errno(e, TRA_RESOURCE, "%s: cannot sync", dir);
    if (fd >= 0) close(fd);
    free(dir);
    return s;
}

tra_status tra_newfile_open(const char *path, bool binary, size_t cap, tra_newfile *out, tra_err *e) {
    *out = (tra_newfile){.fd = -1, .name = path, .cap = cap};
    struct stat st;
    if (!*path) return tra_fail(e, TRA_INPUT, "an output has to have a name, or - for the standard output");
    if (strcmp(path, "-") == 0) {
        out->fd = STDOUT_FILENO;
        out->name = "standard output";
    } else {
        bool there = stat(path, &st) == 0;
        if (!there && errno != ENOENT) return tra_fail_errno(e, TRA_INPUT, "%s: cannot write", path);
        out->target = tra_behind_links(path); /* is replaced, and not the link */
        if (there && !S_ISREG(st.st_mode)) {
            free(out->target);
            out->target = NULL;
            if (S_ISDIR(st.st_mode)) return tra_fail(e, TRA_INPUT, "%s: is a directory", path);
            out->fd = open(path, O_WRONLY | O_CLOEXEC);
        } else {
            out->temp = tra_temp_beside(out->target);
            tra_cleanup_add(out->temp);
            out->fd = open(out->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
            if (out->fd >= 0 && there) fchmod(out->fd, st.st_mode & 07777); /* as what it replaces */
        }
        if (out->fd < 0) {
            tra_status s = tra_fail_errno(e, TRA_INPUT, "%s: cannot write", path);
            tra_newfile_abort(out);
            return s;
        }
    }
    if (binary && isatty(out->fd)) {
        tra_status s = tra_fail(
            e, TRA_USAGE, "%s is a terminal, and this format is binary: use -o FILE, a pipe, or --to csv", out->name);
        tra_newfile_abort(out);
        return s;
    }
    out->buf = tra_malloc(out->cap);
    return TRA_OK;
}

static tra_status write_all(tra_newfile *out, const char *p, size_t n, tra_err *e) {
    while (n > 0) {
        ssize_t w = write(out->fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) {
            out->closed = errno == EPIPE;
            return tra_fail_errno(e, TRA_INPUT, "%s: cannot write", out->name);
        }
        p += w;
        n -= (size_t)w;
    }
    return TRA_OK;
}

static tra_status flush(tra_newfile *out, tra_err *e) {
    size_t n = out->len;
    out->len = 0;
    return write_all(out, out->buf, n, e);
}

tra_status tra_newfile_room(tra_newfile *out, size_t n, tra_err *e) {
    return out->cap - out->len >= n ? TRA_OK : flush(out, e);
}

tra_status tra_newfile_write(tra_newfile *out, const void *p, size_t n, tra_err *e) {
    out->bytes += (int64_t)n;
    if (n >= out->cap) {
        TRA_TRY(flush(out, e));
        return write_all(out, p, n, e);
    }
    if (out->cap - out->len < n) TRA_TRY(flush(out, e));
    memcpy(out->buf + out->len, p, n);
    out->len += n;
    return TRA_OK;
}

tra_status tra_newfile_commit(tra_newfile *out, tra_err *e) {
    tra_status s = flush(out, e);
    if (s == TRA_OK && out->target) {
        if (fsync(out->fd) != 0) s = tra_fail_errno(e, TRA_RESOURCE, "%s: cannot sync", out->name);
        int fd = out->fd;
        out->fd = -1;
        if (close(fd) != 0 && s == TRA_OK) s = tra_fail_errno(e, TRA_INPUT, "%s: cannot write", out->name);
        if (s == TRA_OK && rename(out->temp, out->target) != 0)
            s = tra_fail_errno(e, TRA_INPUT, "%s: cannot rename %s to it", out->name, out->temp);
        if (s == TRA_OK) {
            tra_cleanup_drop(out->temp);
            free(out->temp);
            out->temp = NULL;
            s = sync_dir_of(out->target, e);
        }
    }
    tra_newfile_abort(out);
    return s;
}

void tra_newfile_abort(tra_newfile *out) {
    if (out->fd >= 0 && out->fd != STDOUT_FILENO) close(out->fd);
    if (out->temp) {
        unlink(out->temp);
        tra_cleanup_drop(out->temp);
    }
    free(out->temp);
    free(out->target);
    free(out->buf);
    int64_t bytes = out->bytes;
    *out = (tra_newfile){.fd = -1, .bytes = bytes, .closed = out->closed};
}

tra_status tra_newfile_adopt(const char *temp, const char *path, int64_t *bytes, tra_err *e) {
    struct stat st;
    int fd = open(temp, O_RDONLY | O_CLOEXEC);
    tra_status s = TRA_OK;
    if (fd >= 0 && stat(path, &st) == 0) fchmod(fd, st.st_mode & 07777); /* as what it replaces */
    if (fd < 0 || fstat(fd, &st) != 0 || fsync(fd) != 0)
        s = tra_fail_errno(e, TRA_RESOURCE, "%s: cannot sync", path);
    else
        *bytes = st.st_size;
    if (fd >= 0) close(fd);
    if (s == TRA_OK && rename(temp, path) != 0)
        s = tra_fail_errno(e, TRA_INPUT, "%s: cannot rename %s to it", path, temp);
    if (s == TRA_OK) return sync_dir_of(path, e);
    unlink(temp);
    return s;
}

tra_status tra_scratch_open(const char *output, int *fd, char **where, tra_err *e) {
    const char *dir = getenv("TRA_SCRATCH"), *name;
    if (!dir || !*dir) dir = getenv("TMPDIR");
    *where = dir && *dir ? tra_strdup(dir) : dir_of(output, &name);
    *fd = tra_unnamed_file(*where);
    if (*fd >= 0) return TRA_OK;
    tra_status s = tra_fail_errno(e, TRA_RESOURCE,
                                  "%s: no scratch file can be made there (TRA_SCRATCH names another place)", *where);
    free(*where);
    *where = NULL;
    return s;
}
