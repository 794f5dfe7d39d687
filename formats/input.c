/* input.c - reading a file or a stream forward through one buffer. */
#include "unpack.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tra_status tra_stream_open(const char *path, size_t cap, tra_stream *in, tra_err *e) {
    assert(cap >= 8192);
    *in = (tra_stream){.fd = -1, .name = path};
    if (strcmp(path, "-") == 0) {
        in->fd = STDIN_FILENO;
        in->name = "standard input";
    } else {
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (in->fd < 0) return tra_fail_errno(e, TRA_INPUT, "cannot open %s", path);
        in->owned = true;
    }
    struct stat st;
    tra_status s = TRA_OK;
    if (fstat(in->fd, &st) != 0)
        s = tra_fail_errno(e, TRA_INPUT, "cannot open %s", in->name);
    else if (S_ISDIR(st.st_mode))
        s = tra_fail(e, TRA_INPUT, "%s: is a directory", in->name);
    if (s != TRA_OK) {
        tra_stream_close(in);
        return s;
    }
    if (S_ISREG(st.st_mode)) {
        off_t at = in->owned ? 0 : lseek(in->fd, 0, SEEK_CUR);
        if (at >= 0) {
            in->seekable = true;
            in->base = at;
            in->size = tra_max64(0, (int64_t)st.st_size - at);
        }
    }
#ifdef F_SETPIPE_SZ
    enum { ROOM = 1 << 20 }; /* so that writer and reader take turns less often; who may not have it has less */
    if (S_ISFIFO(st.st_mode)) (void)fcntl(in->fd, F_SETPIPE_SZ, ROOM);
#endif
    in->cap = cap;
    in->buf = tra_malloc(cap);
    return TRA_OK;
}

void tra_stream_close(tra_stream *in) {
    if (in->owned && in->fd >= 0) close(in->fd);
    tra_unpack_free(in->unpack);
    free(in->buf);
    *in = (tra_stream){.fd = -1};
}

/* Reads up to n bytes by one call of the system, or what one call decompresses; *got is 0 only at the end. */
static tra_status read_some(tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    if (in->unpack) {
        TRA_TRY(tra_unpack_some(in->unpack, in, to, n, got, e));
        in->eof = *got == 0;
        return TRA_OK;
    }
    ssize_t r;
    do r = in->seekable ? pread(in->fd, to, n, in->base + in->offset + (int64_t)in->len) : read(in->fd, to, n);
    while (r < 0 && errno == EINTR);
    if (r < 0) return tra_fail_errno(e, TRA_INPUT, "%s: cannot read", in->name);
    if (r == 0) in->eof = true;
    *got = (size_t)r;
    return TRA_OK;
}

tra_status tra_stream_need(tra_stream *in, size_t want, size_t *have, tra_err *e) {
    assert(want <= in->cap);
    if (in->len - in->pos < want && !in->eof) {
        memmove(in->buf, in->buf + in->pos, in->len - in->pos);
        in->offset += (int64_t)in->pos;
        in->len -= in->pos;
        in->pos = 0;
        while (in->len < want && !in->eof) {
            size_t got;
            TRA_TRY(read_some(in, in->buf + in->len, in->cap - in->len, &got, e));
            in->len += got;
        }
    }
    *have = in->len - in->pos;
    return TRA_OK;
}

void tra_stream_grow(tra_stream *in, size_t cap) {
    in->buf = tra_realloc(in->buf, cap, 1);
    in->cap = cap;
}

tra_status tra_stream_take(tra_stream *in, void *to, size_t n, tra_err *e) {
    char *p = to;
    while (n > 0) {
        size_t have = in->len - in->pos;
        if (have == 0 && n >= in->cap && !in->eof) { /* large reads go past the buffer */
            in->offset += (int64_t)in->pos;
            in->pos = in->len = 0;
            TRA_TRY(read_some(in, p, n, &have, e));
            in->offset += (int64_t)have;
        } else {
            TRA_TRY(tra_stream_need(in, 1, &have, e));
            if (have > n) have = n;
            memcpy(p, in->buf + in->pos, have);
            in->pos += have;
        }
        if (have == 0)
            return tra_fail(e, TRA_INPUT, "%s: ends at byte %" PRId64 ", %zu bytes too early", in->name,
                            tra_stream_position(in), n);
        p += have;
        n -= have;
    }
    return TRA_OK;
}

tra_status tra_stream_take_some(tra_stream *in, void *to, size_t n, size_t *got, tra_err *e) {
    *got = in->len - in->pos;
    if (*got == 0 && in->eof) return TRA_OK;
    if (*got == 0) {
        in->offset += (int64_t)in->pos;
        in->pos = in->len = 0;
        TRA_TRY(read_some(in, to, n, got, e));
        in->offset += (int64_t)*got;
        return TRA_OK;
    }
    if (*got > n) *got = n;
    memcpy(to, in->buf + in->pos, *got);
    in->pos += *got;
    return TRA_OK;
}

bool tra_stream_can_rewind(const tra_stream *in) {
    return in->unpack ? tra_unpack_can_rewind(in->unpack) : in->seekable;
}

tra_status tra_stream_rewind(tra_stream *in, int64_t to, tra_err *e) {
    if (!in->unpack) {
        tra_stream_seek(in, to);
        return TRA_OK;
    }
    TRA_TRY(tra_unpack_rewind(in->unpack, in, e));
    in->pos = in->len = 0;
    in->offset = 0;
    in->eof = false;
    while (to > 0) {
        size_t have;
        TRA_TRY(tra_stream_need(in, 1, &have, e));
        if (have == 0) return tra_fail(e, TRA_INPUT, "%s: has become shorter while it was read", in->name);
        if ((int64_t)have > to) have = (size_t)to;
        in->pos += have;
        to -= (int64_t)have;
    }
    return TRA_OK;
}

void tra_stream_replace(tra_stream *in, int fd) {
    struct stat st;
    if (in->owned && in->fd >= 0) close(in->fd);
    tra_unpack_free(in->unpack);
    in->unpack = NULL;
    in->fd = fd;
    in->owned = in->seekable = true;
    in->base = in->offset = 0;
    in->size = fstat(fd, &st) == 0 ? (int64_t)st.st_size : 0;
    in->pos = in->len = 0;
    in->eof = false;
}

tra_status tra_stream_line(tra_stream *in, int64_t number, const char **line, size_t *n, tra_err *e) {
    enum { LONGEST = 4096 };
    size_t have = in->len - in->pos;
    const char *p = (const char *)in->buf + in->pos, *end = have ? memchr(p, '\n', have) : NULL;
    if (!end) {
        TRA_TRY(tra_stream_need(in, LONGEST + 2, &have, e));
        p = (const char *)in->buf + in->pos;
        end = have ? memchr(p, '\n', have) : NULL;
    }
    *n = end ? (size_t)(end - p) : have;
    *line = have ? p : NULL;
    if (*n > LONGEST)
        return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " is too long for this format", in->name, number);
    in->pos += *n + (end != NULL);
    if (*n > 0 && p[*n - 1] == '\r') --*n;
    return TRA_OK;
}

void tra_stream_seek(tra_stream *in, int64_t to) {
    assert(in->seekable);
    if (to >= in->offset && to <= in->offset + (int64_t)in->len) {
        in->pos = (size_t)(to - in->offset);
        return;
    }
    in->pos = in->len = 0;
    in->offset = to;
    in->eof = false;
}
