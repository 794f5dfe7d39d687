/* segment.c - files between sites. */
#include "segment.h"

#include "../h5/codec.h"
#include "tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct head {
    int64_t record;       /* bytes of the record from here on */
    uint32_t raw, stored; /* alike: not compressed */
    uint64_t sum;
} head;

tra_tuning tra_tune = {.message = 1 << 26, .sends = 128, .segment = 1 << 26, .segment_piece = 1 << 20};

enum {
    SMALL = 4096, /* pieces under this are stored as they are */
    UNTRIED = 15, /* and so many after a piece that did not shrink by a quarter */
};

static uint64_t sum_of(const head *h, const void *stored) {
    return XXH64(stored, h->stored, XXH64(h, offsetof(head, sum), 0));
}

size_t tra_segment_room(void) { return sizeof(head) + tra_frame_bound((size_t)tra_tune.segment_piece); }

static tra_status open_file(tra_segment *s, const char *path, int flags, char *buf, tra_err *e) {
    *s = (tra_segment){.fd = open(path, flags | O_CLOEXEC, 0600), .buf = buf};
    if (s->fd < 0) return tra_fail_errno(e, TRA_RESOURCE, "%s, by which sites exchange blocks", path);
    s->path = tra_strdup(path);
    return TRA_OK;
}

tra_status tra_segment_create(tra_segment *s, const char *path, char *buf, tra_err *e) {
    return open_file(s, path, O_WRONLY | O_CREAT | O_EXCL, buf, e);
}

tra_status tra_segment_open(tra_segment *s, const char *path, char *buf, tra_err *e) {
    return open_file(s, path, O_RDONLY, buf, e);
}

/* The next n of the last `record` bytes of a record. */
static tra_status add_piece(tra_segment *s, const char *data, int64_t record, uint32_t n, tra_err *e) {
    head *h = (head *)s->buf;
    char *stored = s->buf + sizeof *h;
    size_t len = n;
    if (n >= SMALL && s->untried > 0) {
        s->untried--;
    } else if (n >= SMALL) {
        len = tra_frame_encode(stored, tra_frame_bound((size_t)tra_tune.segment_piece), data, n);
        if (len == 0 || len > n / 4 * 3) len = n, s->untried = UNTRIED;
    }
    *h = (head){.record = record, .raw = n, .stored = (uint32_t)len};
    if (len == n) memcpy(stored, data, n);
    h->sum = sum_of(h, stored);
    TRA_TRY(tra_pwrite(s->fd, s->buf, sizeof *h + len, s->at, s->path, e));
    s->at += (int64_t)(sizeof *h + len);
    s->raw += n;
    return TRA_OK;
}

static uint32_t piece_of(int64_t record) { return (uint32_t)tra_min64(tra_tune.segment_piece, record); }

tra_status tra_segment_add(tra_segment *s, const void *data, int64_t bytes, tra_err *e) {
    for (int64_t at = 0; at < bytes || at == 0; at += tra_tune.segment_piece)
        TRA_TRY(add_piece(s, (const char *)data + at, bytes - at, piece_of(bytes - at), e));
    return TRA_OK;
}

tra_status tra_segment_finish(tra_segment *s, tra_err *e) {
    int fd = s->fd;
    s->fd = -1;
    if (close(fd) != 0) { /* a network file system says here that a write failed */
        tra_status st = tra_fail_errno(e, TRA_RESOURCE, "%s, by which sites exchange blocks", s->path);
        unlink(s->path);
        return st;
    }
    free(s->path);
    s->path = NULL;
    return TRA_OK;
}

static tra_status damaged(const tra_segment *s, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s, by which sites exchange blocks, is damaged at byte %" PRId64, s->path, s->at);
}

static tra_status next_piece(tra_segment *s, char *data, int64_t record, uint32_t n, tra_err *e) {
    head *h = (head *)s->buf;
    char *stored = s->buf + sizeof *h;
    TRA_TRY(tra_pread(s->fd, h, sizeof *h, s->at, s->path, e));
    if (h->record != record || h->raw != n || h->stored > n) return damaged(s, e);
    TRA_TRY(tra_pread(s->fd, stored, h->stored, s->at + (int64_t)sizeof *h, s->path, e));
    if (h->sum != sum_of(h, stored)) return damaged(s, e);
    if (h->stored == n)
        memcpy(data, stored, n);
    else if (!tra_frame_decode(data, n, stored, h->stored))
        return damaged(s, e);
    s->at += (int64_t)sizeof *h + h->stored;
    s->raw += n;
    return TRA_OK;
}

tra_status tra_segment_length(tra_segment *s, int64_t *bytes, tra_err *e) {
    head h;
    TRA_TRY(tra_pread(s->fd, &h, sizeof h, s->at, s->path, e));
    *bytes = h.record;
    return h.record >= 0 && h.raw == piece_of(h.record) ? TRA_OK : damaged(s, e);
}

tra_status tra_segment_next(tra_segment *s, void *data, int64_t bytes, tra_err *e) {
    for (int64_t at = 0; at < bytes || at == 0; at += tra_tune.segment_piece)
        TRA_TRY(next_piece(s, (char *)data + at, bytes - at, piece_of(bytes - at), e));
    return TRA_OK;
}

void tra_segment_drop(tra_segment *s) {
    if (s->path) {
        if (s->fd >= 0) close(s->fd);
        unlink(s->path);
        free(s->path);
    }
    s->fd = -1;
    s->path = NULL;
}
