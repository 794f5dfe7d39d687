/* zip.c - archives (APPNOTE.TXT 6.3): a directory at the end says where members are. */
#include "zip.h"

#include <stdlib.h>
#include <string.h>

enum { END = 22, END64 = 56, LOCATOR = 20, ENTRY = 46, LOCAL = 30, COMMENT = 65535, MEMBERS = 1 << 16 };
enum { END_MARK = 0x06054b50, END64_MARK = 0x06064b50, LOCATOR_MARK = 0x07064b50 };
enum { ENTRY_MARK = 0x02014b50, LOCAL_MARK = 0x04034b50 };

static uint64_t number(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | p[bytes];
    return v;
}

static tra_status damaged(const char *spec, const char *what, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: is a damaged zip archive: %s", spec, what);
}

/* Where the directory is, and how many members it lists. */
static tra_status find_directory(int fd, int64_t size, const char *spec, int64_t *at, int64_t *bytes, int64_t *count,
                                 tra_err *e) {
    int64_t n = tra_min64(size, END + COMMENT), from = size - n;
    unsigned char *tail = tra_malloc((size_t)n + 1), wide[END64];
    tra_status s = tra_pread(fd, tail, (size_t)n, from, spec, e);
    int64_t i = n - END;
    while (s == TRA_OK && i >= 0 && number(tail + i, 4) != END_MARK) i--;
    if (s == TRA_OK && i < 0) s = damaged(spec, "it has no directory", e);
    if (s == TRA_OK) {
        *count = (int64_t)number(tail + i + 10, 2);
        *bytes = (int64_t)number(tail + i + 12, 4);
        *at = (int64_t)number(tail + i + 16, 4);
    }
    if (s == TRA_OK && i >= LOCATOR && number(tail + i - LOCATOR, 4) == LOCATOR_MARK) {
        uint64_t end64 = number(tail + i - LOCATOR + 8, 8);
        if (end64 > (uint64_t)tra_max64(0, size - END64)) s = damaged(spec, "its directory lies behind its end", e);
        if (s == TRA_OK) s = tra_pread(fd, wide, sizeof wide, (int64_t)end64, spec, e);
        if (s == TRA_OK && number(wide, 4) != END64_MARK) s = damaged(spec, "it has no directory", e);
        if (s == TRA_OK) {
            *count = (int64_t)number(wide + 32, 8);
            *bytes = (int64_t)number(wide + 40, 8);
            *at = (int64_t)number(wide + 48, 8);
        }
    }
    free(tail);
    if (s == TRA_OK && (*at < 0 || *bytes < 0 || *at > size || *bytes > size - *at))
        s = damaged(spec, "its directory lies behind its end", e);
    if (s == TRA_OK && (*count > MEMBERS || *bytes > (int64_t)MEMBERS * 512))
        s = tra_fail(e, TRA_INPUT, "%s: has more members than an archive of arrays", spec);
    return s;
}

/* Sizes and place that do not fit 32 bits stand in the extra field 1, in this order. */
static void widen(const unsigned char *extra, size_t n, uint64_t *v[3]) {
    while (n >= 4) {
        size_t len = number(extra + 2, 2);
        if (len > n - 4) return;
        if (number(extra, 2) == 1) {
            const unsigned char *p = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*v[i] != UINT32_MAX || len < 8) continue;
                *v[i] = number(p, 8);
                p += 8;
                len -= 8;
            }
            return;
        }
        extra += 4 + len;
        n -= 4 + len;
    }
}

/* The member that the entry at p describes. */
static tra_status locate(int fd, int64_t size, const char *spec, const unsigned char *p, tra_file_part *part,
                         tra_err *e) {
    unsigned char local[LOCAL];
    size_t name = number(p + 28, 2), extra = number(p + 30, 2);
    uint64_t whole = number(p + 24, 4), packed = number(p + 20, 4), at = number(p + 42, 4);
    widen(p + ENTRY + name, extra, (uint64_t *[]){&whole, &packed, &at});
    int method = (int)number(p + 10, 2);
    if (number(p + 8, 2) & 1) return tra_fail(e, TRA_INPUT, "%s: its members are encrypted", spec);
    if (method != 0 && method != 8)
        return tra_fail(e, TRA_INPUT, "%s: its members are compressed by method %d; deflate can be read", spec, method);
    if (at > (uint64_t)tra_max64(0, size - LOCAL)) return damaged(spec, "a member lies behind its end", e);
    TRA_TRY(tra_pread(fd, local, sizeof local, (int64_t)at, spec, e));
    if (number(local, 4) != LOCAL_MARK) return damaged(spec, "a member is not where the directory says", e);
    at += LOCAL + number(local + 26, 2) + number(local + 28, 2);
    if (at > (uint64_t)size || packed > (uint64_t)size - at || whole > INT64_MAX || (method == 0 && whole != packed))
        return damaged(spec, "a member lies behind its end", e);
    *part = (tra_file_part){.at = (int64_t)at,
                            .packed = (int64_t)packed,
                            .size = (int64_t)whole,
                            .deflated = method == 8,
                            .crc = (uint32_t)number(p + 16, 4)};
    return TRA_OK;
}

/* What is done with each entry of a directory; TRA_NO: no further one is wanted. */
typedef tra_status each_entry(void *ctx, const unsigned char *p, size_t name, tra_err *e);

static tra_status go_through(int fd, int64_t size, const char *spec, each_entry *each, void *ctx, tra_err *e) {
    int64_t at, bytes, count;
    TRA_TRY(find_directory(fd, size, spec, &at, &bytes, &count, e));
    unsigned char *dir = tra_malloc((size_t)bytes + 1), *p = dir, *end = dir + bytes;
    tra_status s = tra_pread(fd, dir, (size_t)bytes, at, spec, e);
    for (int64_t i = 0; i < count && s == TRA_OK; i++) {
        size_t rest = (size_t)(end - p);
        if (rest < ENTRY || number(p, 4) != ENTRY_MARK ||
            rest < ENTRY + number(p + 28, 2) + number(p + 30, 2) + number(p + 32, 2)) {
            s = damaged(spec, "its directory ends too early", e);
            break;
        }
        size_t name = number(p + 28, 2);
        s = each(ctx, p, name, e);
        p += ENTRY + name + number(p + 30, 2) + number(p + 32, 2);
    }
    free(dir);
    return s == TRA_NO ? TRA_OK : s;
}

typedef struct finding {
    int fd;
    int64_t size;
    const char *spec, *member;
    tra_file_part *part;
    bool found;
    tra_arena *arena;
    int n;
    const char **names;
} finding;

static tra_status find_member(void *ctx, const unsigned char *p, size_t name, tra_err *e) {
    finding *f = ctx;
    f->found = name == strlen(f->member) && memcmp(p + ENTRY, f->member, name) == 0;
    if (!f->found) return TRA_OK;
    TRA_TRY(locate(f->fd, f->size, f->spec, p, f->part, e));
    return TRA_NO;
}

static tra_status note_member(void *ctx, const unsigned char *p, size_t name, tra_err *e) {
    finding *f = ctx;
    (void)e;
    TRA_ARENA_DOUBLE(f->arena, f->names, f->n);
    f->names[f->n++] = tra_arena_strndup(f->arena, (const char *)p + ENTRY, name);
    return TRA_OK;
}

tra_status tra_zip_find(int fd, int64_t size, const char *spec, const char *member, tra_file_part *part, bool *found,
                        tra_err *e) {
    finding f = {.fd = fd, .size = size, .spec = spec, .member = member, .part = part};
    tra_status s = go_through(fd, size, spec, find_member, &f, e);
    *found = f.found;
    return s;
}

tra_status tra_zip_names(int fd, int64_t size, const char *spec, tra_arena *a, int *n, const char ***names,
                         tra_err *e) {
    finding f = {.arena = a};
    tra_status s = go_through(fd, size, spec, note_member, &f, e);
    *n = f.n;
    *names = f.names;
    return s;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

struct tra_zip {
    tra_newfile *out;
    tra_str directory;
    int64_t begin; /* of the archive in the output */
    int members;
};

tra_zip *tra_zip_new(tra_newfile *out) {
    tra_zip *z = tra_calloc(1, sizeof *z);
    z->out = out;
    z->begin = out->bytes;
    return z;
}

void tra_zip_free(tra_zip *z) {
    if (!z) return;
    tra_str_free(&z->directory);
    free(z);
}

static void put(tra_str *s, uint64_t v, int bytes) {
    char b[8];
    for (int i = 0; i < bytes; i++) b[i] = (char)(v >> 8 * i);
    tra_str_addn(s, b, (size_t)bytes);
}

/* What a local header and an entry of the directory have in common, from the version that is needed to the lengths of
 * name and extra field. All sizes are in the extra field: 0xffffffff stands where they would be. */
static void put_common(tra_str *s, const char *name, uint32_t crc, int extra) {
    put(s, 45, 2);         /* ZIP64 */
    put(s, 0, 4);          /* no flags, stored */
    put(s, 0x00210000, 4); /* 1980-01-01: the same input gives the same bytes */
    put(s, crc, 4);
    put(s, UINT32_MAX, 4);
    put(s, UINT32_MAX, 4);
    put(s, strlen(name), 2);
    put(s, (uint64_t)extra, 2);
}

tra_status tra_zip_member(tra_zip *z, const char *name, int64_t size, uint32_t crc, tra_err *e) {
    uint64_t at = (uint64_t)(z->out->bytes - z->begin);
    tra_str head = {0}, *d = &z->directory;
    put(&head, LOCAL_MARK, 4);
    put_common(&head, name, crc, 20);
    tra_str_add(&head, name);
    put(&head, 1, 2);
    put(&head, 16, 2);
    put(&head, (uint64_t)size, 8);
    put(&head, (uint64_t)size, 8);
    put(d, ENTRY_MARK, 4);
    put(d, 45, 2);
    put_common(d, name, crc, 28);
    put(d, 0, 2 + 2 + 2); /* no comment, disk 0, no text */
    put(d, 0, 4);
    put(d, UINT32_MAX, 4);
    tra_str_add(d, name);
    put(d, 1, 2);
    put(d, 24, 2);
    put(d, (uint64_t)size, 8);
    put(d, (uint64_t)size, 8);
    put(d, at, 8);
    z->members++;
    tra_status s = tra_newfile_write(z->out, head.s, head.n, e);
    tra_str_free(&head);
    return s;
}

tra_status tra_zip_end(tra_zip *z, tra_err *e) {
    uint64_t at = (uint64_t)(z->out->bytes - z->begin), bytes = z->directory.n, members = (uint64_t)z->members;
    tra_str end = {0};
    put(&end, END64_MARK, 4);
    put(&end, END64 - 12, 8);
    put(&end, 45, 2);
    put(&end, 45, 2);
    put(&end, 0, 8); /* disks */
    put(&end, members, 8);
    put(&end, members, 8);
    put(&end, bytes, 8);
    put(&end, at, 8);
    put(&end, LOCATOR_MARK, 4);
    put(&end, 0, 4);
    put(&end, at + bytes, 8);
    put(&end, 1, 4);
    put(&end, END_MARK, 4);
    put(&end, 0, 4);
    put(&end, members, 2);
    put(&end, members, 2);
    put(&end, UINT32_MAX, 4);
    put(&end, UINT32_MAX, 4);
    put(&end, 0, 2);
    tra_status s = tra_newfile_write(z->out, z->directory.s, z->directory.n, e);
    if (s == TRA_OK) s = tra_newfile_write(z->out, end.s, end.n, e);
    tra_str_free(&end);
    return s;
}
