/* test_store_shared.c - files of relations that several processes and threads use, that are locked, or have no room. */
#include "store_util.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

typedef struct job {
    tra_rel *r;
    int from;
    bool ok;
} job;

static void *read_in_thread(void *p) {
    job *j = p;
    const tra_type *t = tra_rel_type(j->r);
    void *buf = malloc(tra_rel_buffer_bytes(j->r) + 64), *scratch = malloc(tra_rel_scratch_bytes(j->r) + 1);
    tra_err e = {0};
    j->ok = true;
    for (int64_t k = 0; k < 2 * t->cat->n; k++) {
        int64_t i = (k * 7 + j->from) % t->cat->n;
        if (tra_rel_read(j->r, i, buf, scratch, &e) != TRA_OK || !same_array(t, i, buf)) j->ok = false;
    }
    free(buf);
    free(scratch);
    return NULL;
}

TEST(store_reading_in_threads) {
    tra_arena *a = tra_arena_new();
    EACH_CODEC(c) {
        tra_err e = {0};
        const char *path = at("threads.h5");
        tra_type t = blocked(a, "100x100", "9x11", TRA_F64);
        pthread_t th[4];
        job jobs[4];
        tra_rel *r;
        unlink(path);
        CHECK_OK(write_all(path, &t, codecs[c], &e), e);
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        for (int i = 0; i < 4; i++) {
            jobs[i] = (job){r, i * 31, false};
            pthread_create(&th[i], NULL, read_in_thread, &jobs[i]);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(th[i], NULL);
            CHECK(jobs[i].ok);
        }
        jobs[0] = (job){r, 5, false};
        CHECK(ends_beside_hdf5(read_in_thread, &jobs[0]) && jobs[0].ok);
        tra_rel_close(r);
    }
    tra_arena_free(a);
}

static int child_status(pid_t pid) {
    int s = 0;
    waitpid(pid, &s, 0);
    return WIFEXITED(s) ? WEXITSTATUS(s) : 128;
}

/* HDF5 crashes on some damaged files: that is an error of input, the file is named, and temporary files are removed.
 * Other crashes end the program by their signal; a sanitizer ends it with 1. */
TEST(store_crash_within_hdf5) {
    static const int signals[] = {SIGSEGV, SIGABRT};
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    tra_type t = blocked(a, "8x8", "8x8", TRA_F64);
    char said[300] = "";
    CHECK_OK(write_all(at("crash.h5"), &t, "none", &e), e);
    for (int i = 0; i < 4; i++) {
        int link[2], sig = signals[i / 2];
        bool within = i % 2;
        CHECK(pipe(link) == 0);
        CHECK(symlink("unfinished", at("crash.tmp")) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            dup2(link[1], STDERR_FILENO);
            tra_cleanup_add(at("crash.tmp"));
            if (tra_rel_open(at("crash.h5"), NULL, &r, &e) != TRA_OK) _exit(99);
            if (within) tra_h5_enter();
            raise(sig);
            raise(sig);
            _exit(98);
        }
        close(link[1]);
        ssize_t n = read(link[0], said, sizeof said - 1);
        said[n > 0 ? n : 0] = 0;
        close(link[0]);
        int status = child_status(pid);
        CHECK_INT(status, within ? 3 : getenv("SAN") && status == 1 ? 1 : 128);
        CHECK(!within || strstr(said, "/crash.h5: the HDF5 library crashed on it; the file is damaged"));
        CHECK_INT(unlink(at("crash.tmp")), within ? -1 : 0);
    }
    tra_arena_free(a);
}

/* The odd tuples are written by a forked process that only has the description. */
TEST(store_attached_process) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const char *path = at("attached.h5");
    tra_type t = blocked(a, "50x50", "8x9", TRA_F64);
    tra_write_options o = {.codec = {.level = 1}};
    tra_writer *w;
    tra_str blob = {0};
    tra_rel *r;
    CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
    tra_writer_describe(w, &blob);
    int link[2];
    CHECK(pipe(link) == 0);
    size_t n = (size_t)t.cat->n;
    pid_t pid = fork();
    if (pid == 0) {
        tra_writer *mine;
        void *buf = room(&t), *scratch = malloc(1 << 16);
        bool ok = tra_writer_attach(blob.s, blob.n, &t, &mine, &e) == TRA_OK;
        for (int64_t i = 1; ok && i < t.cat->n; i += 2) {
            make_array(&t, i, buf);
            ok = tra_writer_put(mine, i, buf, scratch, &e) == TRA_OK;
        }
        ok = ok && tra_writer_sync(mine, &e) == TRA_OK &&
             write(link[1], tra_writer_sums(mine), n * 8) == (ssize_t)(n * 8);
        if (ok) tra_writer_abort(mine); /* ends the attachment, keeps the file */
        _exit(ok ? 0 : 1);
    }
    void *buf = room(&t), *scratch = malloc(tra_writer_scratch_bytes(w));
    for (int64_t i = 0; i < t.cat->n; i += 2) {
        make_array(&t, i, buf);
        CHECK_OK(tra_writer_put(w, i, buf, scratch, &e), e);
    }
    uint64_t *theirs = malloc(n * 8);
    CHECK(read(link[0], theirs, n * 8) == (ssize_t)(n * 8));
    CHECK_INT(child_status(pid), 0);
    CHECK_INT(theirs[0], 0);
    for (size_t i = 0; i < n; i++) tra_writer_sums(w)[i] += theirs[i];
    CHECK_INT(tra_writer_stored(w), (int64_t)n * 8 * 9 * 8);
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    /* the bytes are those that one process writes */
    size_t len[2];
    char *one = slurp(path, &len[0]);
    CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
    for (int64_t i = t.cat->n - 1; i >= 0; i--) {
        make_array(&t, i, buf);
        CHECK_OK(tra_writer_put(w, i, buf, scratch, &e), e);
    }
    CHECK_OK(tra_writer_commit(w, NULL, &e), e);
    char *two = slurp(path, &len[1]);
    CHECK(len[0] == len[1] && memcmp(one, two, len[0]) == 0);
    CHECK_FAILS(tra_writer_attach(blob.s, blob.n - 1, &t, &w, &e), TRA_INTERNAL, e, "description");
    free(one), free(two), free(theirs), free(buf), free(scratch);
    tra_str_free(&blob);
    close(link[0]), close(link[1]);
    tra_arena_free(a);
}

TEST(store_commit_wants_every_tuple) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const char *path = at("lacking.h5");
    tra_type t = blocked(a, "4", "2", TRA_F64);
    tra_write_options o = {.codec = {.level = 1}};
    tra_writer *w;
    double buf[4] = {0}, scratch[64];
    CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
    CHECK_OK(tra_writer_put(w, 0, buf, scratch, &e), e);
    CHECK_FAILS(tra_writer_commit(w, NULL, &e), TRA_INTERNAL, e, "tuple <1>");
    CHECK(access(path, F_OK) != 0);
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}

/* A failed or abandoned writer leaves the earlier file as it was. */
TEST(store_abort_keeps_the_old_file) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const char *path = at("kept.h5");
    tra_type t = blocked(a, "30x30", "8x8", TRA_F64), u = blocked(a, "5", "5", TRA_F32);
    tra_write_options o = {.codec = {.level = 1}};
    tra_writer *w;
    tra_rel *r;
    CHECK_OK(write_all(path, &t, "none", &e), e);
    CHECK_OK(tra_writer_create(path, &u, &o, &w, &e), e);
    CHECK_INT(leftovers(), 2); /* the temporary file and the lock */
    tra_writer_abort(w);
    CHECK_INT(leftovers(), 0);
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    tra_arena_free(a);
}

/* At the name of a temporary file that could be gone on with stands a link to a file of somebody else. */
TEST(store_follows_no_planted_link) {
    tra_arena *a = tra_arena_new();
    tra_type t = blocked(a, "30x30", "8x8", TRA_F64);
    char temp[300];
    const char *victim = at("victim"), *path = at("target.h5");
    snprintf(temp, sizeof temp, "%s/.target.h5.tra-r1-1.tmp", dir);
    int level = tra_log_level;
    tra_log_level = -1; /* that it is removed where it is not wanted is told */
    for (int i = 0; i < 4; i++) {
        tra_err e = {0};
        tra_write_options o = {.tag = "r1-1", .reuse = i % 2, .codec = {.zstd = i / 2, .level = 1}};
        tra_writer *w;
        size_t n;
        write_bytes(victim, "mine", 4);
        CHECK(symlink(victim, temp) == 0);
        CHECK_OK(tra_writer_create(path, &t, &o, &w, &e), e);
        CHECK(!tra_writer_reused(w));
        void *buf = room(&t), *scratch = malloc(tra_writer_scratch_bytes(w));
        for (int64_t k = 0; k < t.cat->n; k++) {
            make_array(&t, k, buf);
            CHECK_OK(tra_writer_put(w, k, buf, scratch, &e), e);
        }
        CHECK_OK(tra_writer_commit(w, NULL, &e), e);
        char *s = slurp(victim, &n);
        CHECK(n == 4 && memcmp(s, "mine", 4) == 0);
        tra_rel *r;
        CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
        CHECK_OK(read_all(r, &e), e);
        tra_rel_close(r);
        CHECK_INT(leftovers(), 0);
        free(s), free(buf), free(scratch);
    }
    tra_log_level = level;
    tra_arena_free(a);
}

TEST(store_locks) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const char *path = at("locked.h5");
    char says[64], host[256] = "", name[300];
    tra_type t = blocked(a, "30x30", "8x8", TRA_F64);
    tra_write_options o = {.codec = {.level = 1}};
    tra_writer *w;
    int link[2], go[2];
    CHECK(pipe(link) == 0 && pipe(go) == 0);
    pid_t pid = fork();
    if (pid == 0) { /* begins to write and dies without a word */
        char ready = tra_writer_create(path, &t, &o, &w, &e) == TRA_OK ? 'y' : 'n';
        if (write(link[1], &ready, 1) != 1 || read(go[0], &ready, 1) != 1) _exit(2);
        _exit(1);
    }
    char c = 0;
    CHECK(read(link[0], &c, 1) == 1 && c == 'y');
    snprintf(says, sizeof says, "is being written by process %ld on ", (long)pid);
    CHECK_FAILS(tra_writer_create(path, &t, &o, &w, &e), TRA_RESOURCE, e, says);
    CHECK_INT(leftovers(), 2);
    siginfo_t ended;
    CHECK(write(go[1], &c, 1) == 1);
    /* nobody has asked how it ended: that is dead enough */
    CHECK(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0);
    CHECK_OK(write_all(path, &t, "none", &e), e); /* taken over, and the debris removed */
    CHECK_INT(leftovers(), 0);
    CHECK_INT(child_status(pid), 1);
    /* locks of others: of another host, container or boot, of earlier versions (i is 2 to 5 and 7); of a process of
     * this kernel that has not locked the file any more, whatever has its number now; and an unreadable one */
    CHECK(gethostname(host, sizeof host) == 0);
    snprintf(name, sizeof name, "%s/.locked.h5.tra-lock", dir);
    struct stat space;
    CHECK(stat("/proc/self/ns/pid", &space) == 0);
    size_t length;
    char *boot = slurp("/proc/sys/kernel/random/boot_id", &length), text[500];
    boot[strcspn(boot, "\n")] = 0;
    unsigned long long ns = space.st_ino;
    for (int i = 0; i < 8; i++) {
        long gone = (long)pid, lives = (long)getppid();
        if (i == 0) snprintf(text, sizeof text, "elsewhere %ld ofd another-boot %llu\n", gone, ns);
        if (i == 1) snprintf(text, sizeof text, "%s %ld 5 %s %llu\n", host, gone, boot, ns - 1);
        if (i == 2) snprintf(text, sizeof text, "%s %ld 5\n", host, gone);
        if (i == 3) snprintf(text, sizeof text, "%s %ld 5 another-boot %llu\n", host, gone, ns - 1);
        if (i == 4) snprintf(text, sizeof text, "%s %ld -1 %s %llu\n", host, lives, boot, ns);
        if (i == 5) snprintf(text, sizeof text, "elsewhere %ld ofd %s %llu\n", lives, boot, ns - 1);
        if (i == 7) snprintf(text, sizeof text, "%s %ld t1000 %s %llu\n", host, lives, boot, ns);
        if (i == 6) snprintf(text, sizeof text, "?\n");
        write_bytes(name, text, strlen(text));
        if (i == 5)
            CHECK_OK(write_all(path, &t, "none", &e), e);
        else
            CHECK_FAILS(write_all(path, &t, "none", &e), TRA_RESOURCE, e,
                        i == 0   ? "on elsewhere; if that process is gone"
                        : i == 6 ? "does not say by whom"
                                 : host);
        CHECK_INT(leftovers(), i == 5 ? 0 : 1);
        if (i == 0) { /* one of an earlier version whose process is gone */
            snprintf(text, sizeof text, "%s %ld t1000 %s %llu\n", host, gone, boot, ns);
            write_bytes(name, text, strlen(text));
            CHECK_OK(write_all(path, &t, "none", &e), e);
            CHECK_INT(leftovers(), 0);
        }
        unlink(name);
    }
    free(boot);
    close(link[0]), close(link[1]), close(go[0]), close(go[1]);
    tra_arena_free(a);
}

static int open_files(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A file size limit stands for the full disk, met at every stage of the writing; the file that was there survives. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which need more addresses than can be limited   \
                                                                     */
/* Reads a chunk without memory: a thread's first wants a context of zstd. NULL: that is told. */
static void *read_starving(void *r) {
    static char buf[16 * 16 * 8], scratch[1 << 20];
    struct rlimit none = {1, 1};
    tra_err e = {0};
    setrlimit(RLIMIT_AS, &none);
    for (size_t n = 1 << 20; n >= 16; n /= 2) {
        while (malloc(n)) continue;
    }
    tra_status s = tra_rel_read(r, 0, buf, scratch, &e);
    if (s == TRA_RESOURCE && strstr(e.msg, "out of memory") && !strstr(e.msg, "damaged")) return NULL;
    (void)!write(1, e.msg, strlen(e.msg));
    return r;
}

TEST(store_no_memory_is_no_damage) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_type t = blocked(a, "64x64", "16x16", TRA_F64);
    CHECK_OK(write_all(at("coded.h5"), &t, "zstd", &e), e);
    tra_rel *r;
    CHECK_OK(tra_rel_open(at("coded.h5"), NULL, &r, &e), e);
    CHECK(tra_rel_scratch_bytes(r) <= 1 << 20);
    CHECK_OK(read_all(r, &e), e); /* the library has no more to do then */
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t reader;
        void *wrong = r;
        if (pthread_create(&reader, NULL, read_starving, r) == 0) pthread_join(reader, &wrong);
        _exit(wrong != NULL);
    }
    CHECK_INT(child_status(pid), 0);
    tra_rel_close(r);
    tra_arena_free(a);
}
#endif

TEST(store_no_space) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    const char *path = at("full.h5");
    tra_type small = blocked(a, "8x8", "8x8", TRA_F64), t = blocked(a, "60x60", "16x16", TRA_F64);
    CHECK_OK(write_all(path, &small, "none", &e), e);
    for (rlim_t size = 100; size < 50000; size += 1100) {
        for (int i = 0; i < 2; i++) {
            pid_t pid = fork();
            if (pid == 0) {
                struct rlimit limit = {size, size};
                signal(SIGXFSZ, SIG_IGN);
                setrlimit(RLIMIT_FSIZE, &limit);
                int before = open_files();
                tra_status s = write_all(at("new.h5"), &t, i ? "zstd" : "none", &e);
                bool clean = leftovers() == 0 && open_files() == before &&
                             (s == TRA_OK ? size > 10000 : s == TRA_RESOURCE && size < 45000);
                if (!clean) printf("# limit %d: status %s, %s\n", (int)size, tra_status_text(s), e.msg);
                fflush(stdout);
                _exit(!clean);
            }
            CHECK_INT(child_status(pid), 0);
            unlink(at("new.h5"));
        }
    }
    CHECK_OK(tra_rel_open(path, NULL, &r, &e), e);
    CHECK_OK(read_all(r, &e), e);
    tra_rel_close(r);
    tra_arena_free(a);
}
