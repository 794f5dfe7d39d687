/* output.c - writing a file that appears when it is complete, or a stream; the scratch file. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tra_status tra_newfile_open(const char *path, bool binary, size_t cap, tra_newfile *out, tra_err *e) {
    *out = (tra_newfile){.fd = -1, .made = {.fd = -1}, .name = path, .cap = cap};
    struct stat st;
    if (!*path) return tra_fail(e, TRA_INPUT, "an output has to have a name, or - for the standard output");
    if (strcmp(path, "-") == 0) {
        out->fd = STDOUT_FILENO;
        out->name = "standard output";
    } else {
        bool there = stat(path, &st) == 0;
        if (!there && errno != ENOENT) return tra_fail_errno(e, TRA_INPUT, "%s: cannot write", path);
        if (there && S_ISDIR(st.st_mode)) return tra_fail(e, TRA_INPUT, "%s: is a directory", path);
        if (there && !S_ISREG(st.st_mode)) {
            if ((out->fd = open(path, O_WRONLY | O_CLOEXEC)) < 0)
                return tra_fail_errno(e, TRA_INPUT, "%s: cannot write", path);
        } else {
            char *target = tra_resolve_links(path); /* is replaced, and not the link */
            tra_status s = tra_temp_create(target, NULL, false, &out->made, e);
            free(target);
            if (s != TRA_OK) return s;
            out->fd = out->made.fd;
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
    if (s == TRA_OK && out->made.path) {
        out->fd = -1;
        s = tra_temp_commit(&out->made, true, e);
    }
    tra_newfile_abort(out);
    return s;
}

void tra_newfile_abort(tra_newfile *out) {
    if (!out->made.path && out->fd >= 0 && out->fd != STDOUT_FILENO) close(out->fd);
    tra_temp_abort(&out->made);
    free(out->buf);
    *out = (tra_newfile){.fd = -1, .made = {.fd = -1}, .bytes = out->bytes, .closed = out->closed};
}

tra_status tra_scratch_open(const char *output, int *fd, char **where, tra_err *e) {
    const char *dir = getenv("TRA_SCRATCH"), *name;
    if (!dir || !*dir) dir = getenv("TMPDIR");
    *where = dir && *dir ? tra_strdup(dir) : tra_folder_of(output, &name);
    if (dir && *dir) tra_make_directory(dir);
    *fd = tra_unnamed_file(*where);
    if (*fd >= 0) return TRA_OK;
    tra_status s = tra_fail_errno(e, TRA_RESOURCE,
                                  "%s: no scratch file can be made there (TRA_SCRATCH names another place)", *where);
    free(*where);
    *where = NULL;
    return s;
}
