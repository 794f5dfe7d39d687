/* store_util.h - relations to store: a directory for them, their values, writing and reading them whole. */
#ifndef TRA_STORE_UTIL_H
#define TRA_STORE_UTIL_H

#include "../../lib/relation/store.h"
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static char dir[64];

static inline void remove_dir(void) {
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    if (system(cmd) != 0) fprintf(stderr, "cannot remove %s\n", dir);
}

/* A path in a directory of this process, which is removed at its end; the same pointer for the same name. */
static inline const char *at(const char *name) {
    static char *paths[64];
    if (!dir[0]) {
        snprintf(dir, sizeof dir, "/tmp/tra-store-XXXXXX");
        if (!mkdtemp(dir)) abort();
        atexit(remove_dir);
    }
    size_t i = 0, n = strlen(dir) + 1;
    while (paths[i] && strcmp(paths[i] + n, name) != 0) i++;
    if (!paths[i]) paths[i] = tra_asprintf("%s/%s", dir, name);
    return paths[i];
}

/* The page cache forgets a file, where the file system lets it. */
static inline void leave_page_cache(const char *path) {
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    close(fd);
}

static inline int leftovers(void) { /* hidden files: temporary ones and locks */
    char cmd[128], line[256];
    int n = 0;
    snprintf(cmd, sizeof cmd, "ls -A %s | grep '^\\.'", dir);
    FILE *f = popen(cmd, "r");
    while (fgets(line, sizeof line, f)) n++;
    pclose(f);
    return n;
}

/* ---- relations to test with -------------------------------------------------------------------------------------- */

static inline tra_type blocked(tra_arena *a, const char *shape, const char *block, tra_dtype dtype) {
    tra_dims s, b;
    tra_err e = {0};
    tra_catalog *c = tra_new(a, tra_catalog);
    CHECK(tra_parse_dims(shape, 0, &s) && tra_parse_dims(block, 1, &b));
    CHECK_OK(tra_catalog_blocks(&s, &b, c, &e), e);
    tra_type t = {.dtype = dtype, .cat = c};
    for (int d = 0; d < s.n; d++) t.cut[d] = 1u << d;
    return t;
}

/* The values of a tuple's array: a function of its ordinal and the place, with zeros and special values among them. */
static inline double value(int64_t ordinal, int64_t i) {
    int64_t x = ordinal * 1000003 + i;
    if (x % 7 == 0) return 0;
    if (x % 1013 == 5) return INFINITY;
    return (double)(x % 4099) / 8 - 100;
}

/* The same for integers: any bits, and zeros among them. */
static inline int64_t whole_value(int64_t ordinal, int64_t i) {
    uint64_t x = (uint64_t)(ordinal * 1000003 + i);
    return x % 7 == 0 ? 0 : (int64_t)(x * 0x9e3779b97f4a7c15u);
}

static inline void make_array(const tra_type *t, int64_t ordinal, void *buf) {
    int64_t n = tra_catalog_elements_of(t->cat, ordinal);
    for (int64_t i = 0; i < n; i++) {
        switch (t->dtype) {
        case TRA_F64: ((double *)buf)[i] = value(ordinal, i); break;
        case TRA_F32: ((float *)buf)[i] = (float)value(ordinal, i); break;
        case TRA_I64: ((int64_t *)buf)[i] = whole_value(ordinal, i); break;
        case TRA_I32: ((int32_t *)buf)[i] = (int32_t)whole_value(ordinal, i); break;
        case TRA_BOOL: ((uint8_t *)buf)[i] = whole_value(ordinal, i) < 0; break;
        }
    }
}

static inline bool same_array(const tra_type *t, int64_t ordinal, const void *buf) {
    size_t n = (size_t)tra_catalog_elements_of(t->cat, ordinal) * tra_dtype_size(t->dtype);
    void *want = malloc(n + 1);
    make_array(t, ordinal, want);
    bool same = memcmp(want, buf, n) == 0;
    free(want);
    return same;
}

static inline void *room(const tra_type *t) { return malloc((size_t)tra_catalog_elements_most(t->cat) * 8 + 64); }

static inline tra_status write_all(const char *spec, const tra_type *t, const char *codec, tra_err *e) {
    tra_write_options o = {.history = "made by a test"};
    tra_writer *w;
    tra_digest d = {0};
    char text[33];
    CHECK(tra_codec_parse(codec, &o.codec));
    TRA_TRY(tra_writer_create(spec, t, &o, &w, e));
    tra_digester *g = tra_digester_new(t);
    void *buf = room(t), *scratch = malloc(tra_writer_scratch_bytes(w));
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        make_array(t, i, buf);
        tra_digester_add(g, &d, i, buf);
        s = tra_writer_put(w, i, buf, scratch, e);
    }
    tra_digest_text(&d, t, text);
    tra_digester_free(g);
    free(buf);
    free(scratch);
    if (s == TRA_OK) return tra_writer_commit(w, text, e);
    tra_writer_abort(w);
    return s;
}

/* Does run(of) end, in another thread, while this one is inside HDF5, which is for one thread at a time? */
static inline bool ends_beside_hdf5(void *(*run)(void *), void *of) {
    struct timespec late;
    pthread_t th;
    tra_h5_enter();
    pthread_create(&th, NULL, run, of);
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 10;
    bool ended = pthread_timedjoin_np(th, NULL, &late) == 0;
    tra_h5_leave();
    if (!ended) pthread_join(th, NULL);
    return ended;
}

static inline bool same_catalog(const tra_catalog *a, const tra_catalog *b) {
    if (a->n != b->n || !tra_dims_eq(&a->frontier, &b->frontier) || !tra_dims_eq(&a->bound, &b->bound)) return false;
    for (int64_t i = 0; i < a->n; i++) {
        tra_dims x, y;
        tra_catalog_key(a, i, &x);
        tra_catalog_key(b, i, &y);
        if (!tra_dims_eq(&x, &y)) return false;
        tra_catalog_ext(a, i, &x);
        tra_catalog_ext(b, i, &y);
        if (!tra_dims_eq(&x, &y)) return false;
    }
    return true;
}

static inline tra_status read_all(tra_rel *r, tra_err *e) {
    const tra_type *t = tra_rel_type(r);
    void *buf = malloc(tra_rel_buffer_bytes(r) + 64), *scratch = malloc(tra_rel_scratch_bytes(r) + 1);
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < t->cat->n && s == TRA_OK; i++) {
        s = tra_rel_read(r, i, buf, scratch, e);
        if (s == TRA_OK && !same_array(t, i, buf)) CHECK(!"the array read is the array written");
    }
    free(buf);
    free(scratch);
    return s;
}

static inline tra_type grid(tra_arena *a, const char *frontier, const char *bound, const int8_t *by,
                            const int64_t *last) {
    tra_dims f, b;
    tra_err e = {0};
    tra_catalog *c = tra_new(a, tra_catalog);
    CHECK(tra_parse_dims(frontier, 0, &f) && tra_parse_dims(bound, 0, &b));
    CHECK_OK(tra_catalog_grid(&f, &b, by, last, c, &e), e);
    return (tra_type){.dtype = TRA_F64, .cat = c};
}

static const char *const codecs[] = {"none", "zstd", "zstd:5"};
#define EACH_CODEC(c) for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)

static inline char *slurp(const char *path, size_t *n) {
    char *s = NULL;
    tra_err e = {0};
    CHECK_OK(tra_slurp(path, 1 << 26, &s, n, &e), e);
    return s;
}

static inline void write_bytes(const char *path, const char *s, size_t n) {
    FILE *f = fopen(path, "wb");
    CHECK(fwrite(s, 1, n, f) == n);
    fclose(f);
}

#endif
