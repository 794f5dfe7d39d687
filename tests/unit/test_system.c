/* test_system.c - what lib/base asks of the system: files, temporary ones, threads. */
#include "../../lib/base/crew.h"
#include "../../lib/durable/durable.h"
#include "check.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *scratch_file(const char *content, size_t n) {
    char *path = tra_strdup("/tmp/tra-test-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, content, n) == (ssize_t)n);
    close(fd);
    return path;
}

TEST(files) {
    char *path = scratch_file("hello\0world", 11);
    tra_err e = {0};
    char *text;
    size_t n;
    CHECK_OK(tra_slurp(path, 11, &text, &n, &e), e);
    CHECK_INT(n, 11);
    CHECK(memcmp(text, "hello\0world", 12) == 0);
    free(text);
    CHECK_FAILS(tra_slurp(path, 10, &text, &n, &e), TRA_INPUT, e, "larger than 10 bytes");
    char absent[64]; /* a folder of its own is certainly not there */
    snprintf(absent, sizeof absent, "%s.none/x", path);
    CHECK_FAILS(tra_slurp(absent, 10, &text, &n, &e), TRA_INPUT, e, ".none/x: No such file");
    CHECK_FAILS(tra_slurp("/tmp", 10, &text, &n, &e), TRA_INPUT, e, "directory");

    FILE *f = fopen(path, "r+");
    char buf[20];
    CHECK_OK(tra_pread(fileno(f), buf, 5, 6, "x", &e), e);
    CHECK(memcmp(buf, "world", 5) == 0);
    CHECK_FAILS(tra_pread(fileno(f), buf, 6, 6, "x", &e), TRA_INPUT, e, "x ends at byte 11");
    CHECK_OK(tra_pwrite(fileno(f), "XY", 2, 10, "x", &e), e);
    CHECK_OK(tra_pread(fileno(f), buf, 12, 0, "x", &e), e);
    CHECK(memcmp(buf, "hello\0worlXY", 12) == 0);
    fclose(f);
    f = fopen(path, "r");
    CHECK_FAILS(tra_pwrite(fileno(f), "X", 1, 0, "x", &e), TRA_RESOURCE, e, "cannot write x at byte 0");
    fclose(f);
    unlink(path);
    free(path);
}

TEST(cleanup_removes_what_was_not_dropped) {
    char *a = scratch_file("a", 1), *b = scratch_file("b", 1), *c = scratch_file("c", 1);
    tra_cleanup_add(a);
    tra_cleanup_add(b);
    tra_cleanup_add(c);
    tra_cleanup_drop(b);
    tra_cleanup_drop(c);
    tra_cleanup_add(c);
    tra_cleanup_all();
    CHECK(access(a, F_OK) != 0);
    CHECK(access(b, F_OK) == 0);
    CHECK(access(c, F_OK) != 0);
    tra_cleanup_all();
    CHECK(access(b, F_OK) == 0);
    unlink(b);
    free(a);
    free(b);
    free(c);
}

/* ---- files that appear when they are complete ------------------------------------------------------------------- */

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* A folder, and in it a victim to which a link at the given name leads. */
static char *plant(const char *name) {
    static char folder[64];
    snprintf(folder, sizeof folder, "/tmp/tra-base-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    char *victim = tra_asprintf("%s/victim", folder), *link = tra_asprintf("%s/%s", folder, name);
    tra_err e = {0};
    CHECK_OK(tra_replace_file(victim, "mine", 4, true, &e), e);
    CHECK(symlink(victim, link) == 0);
    free(victim);
    free(link);
    return folder;
}

/* The file of a folder has this text. */
static bool reads(const char *folder, const char *name, const char *want) {
    char *path = tra_asprintf("%s/%s", folder, name), *text = NULL;
    size_t n;
    bool ok = tra_slurp(path, 4096, &text, &n, NULL) == TRA_OK && strcmp(text, want) == 0;
    free(text);
    free(path);
    return ok;
}

static void remove_folder(const char *folder) {
    char *command = tra_asprintf("rm -r %s", folder);
    CHECK(system(command) == 0);
    free(command);
}

TEST(temporary_files_follow_no_planted_links) {
    char name[64];
    tra_err e = {0};
    snprintf(name, sizeof name, ".out.tra-%ld.tmp", (long)getpid());
    const char *folder = plant(name);
    char *out = tra_asprintf("%s/out", folder);
    tra_temp t;
    CHECK_OK(tra_replace_file(out, "new", 3, true, &e), e);
    CHECK(reads(folder, "out", "new") && reads(folder, "victim", "mine"));
    remove_folder(folder);
    free(out);
    for (int reuse = 0; reuse < 2; reuse++) { /* of the same tag as a planted link */
        folder = plant(".out.tra-r1.tmp");
        out = tra_asprintf("%s/out", folder);
        CHECK_OK(tra_temp_create(out, "r1", reuse, &t, &e), e);
        CHECK(!t.reused && write(t.fd, "new", 3) == 3);
        CHECK_OK(tra_temp_commit(&t, true, &e), e);
        CHECK(reads(folder, "out", "new") && reads(folder, "victim", "mine"));
        remove_folder(folder);
        free(out);
    }
}

TEST(temporary_files_of_a_tag_are_gone_on_with) {
    const char *folder = plant("link");
    char *out = tra_asprintf("%s/out", folder), *temp = tra_asprintf("%s/.out.tra-r1.tmp", folder);
    char *other = tra_asprintf("%s/victim", folder);
    tra_err e = {0};
    tra_temp t;
    CHECK_OK(tra_temp_create(out, "r1", true, &t, &e), e);
    CHECK(!t.reused && write(t.fd, "some", 4) == 4);
    tra_temp_keep(&t);
    CHECK(reads(folder, ".out.tra-r1.tmp", "some"));
    CHECK_OK(tra_temp_create(out, "r1", true, &t, &e), e);
    CHECK(t.reused && pwrite(t.fd, "re", 2, 4) == 2);
    tra_temp_keep(&t);
    CHECK(reads(folder, ".out.tra-r1.tmp", "somere"));
    CHECK_OK(tra_temp_create(out, "r1", false, &t, &e), e); /* but not where that is not asked for */
    CHECK(!t.reused && reads(folder, ".out.tra-r1.tmp", ""));
    tra_temp_abort(&t);
    CHECK(access(temp, F_OK) != 0);
    CHECK(link(other, temp) == 0); /* another name of somebody's file */
    CHECK_OK(tra_temp_create(out, "r1", true, &t, &e), e);
    CHECK(!t.reused && write(t.fd, "x", 1) == 1);
    CHECK(reads(folder, "victim", "mine"));
    tra_temp_abort(&t);
    if (geteuid() == 0) { /* somebody else's file */
        write_text(temp, "theirs");
        CHECK(chown(temp, 12345, 12345) == 0);
        CHECK_OK(tra_temp_create(out, "r1", true, &t, &e), e);
        CHECK(!t.reused);
        tra_temp_abort(&t);
    }
    tra_temp_abort(&t); /* once more: nothing */
    remove_folder(folder);
    free(out), free(temp), free(other);
}

TEST(replaced_files_keep_their_rights_and_links) {
    const char *folder = plant("link");
    char *through = tra_asprintf("%s/link", folder), *victim = tra_asprintf("%s/victim", folder);
    char *nowhere = tra_asprintf("%s/no/file", folder);
    tra_err e = {0};
    struct stat st;
    CHECK(chmod(victim, 0640) == 0);
    CHECK_OK(tra_replace_file(through, "new", 3, false, &e), e);
    CHECK(lstat(through, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(stat(victim, &st) == 0 && (st.st_mode & 07777) == 0640);
    CHECK(reads(folder, "victim", "new"));
    CHECK_FAILS(tra_replace_file(nowhere, "new", 3, true, &e), TRA_INPUT, e, "/no/file: there is no directory ");
    remove_folder(folder);
    free(through), free(victim), free(nowhere);
}

TEST(temporary_files_that_nobody_needs_are_removed) {
    const char *folder = plant("link");
    long gone = fork();
    if (gone == 0) _exit(0);
    CHECK(waitpid((pid_t)gone, NULL, 0) == gone);
    char name[3][64], *out = tra_asprintf("%s/out", folder);
    snprintf(name[0], 64, ".out.tra-%ld.tmp", gone);
    snprintf(name[1], 64, ".out.tra-%ld-2.tmp", gone);
    snprintf(name[2], 64, ".out.tra-%ld.tmp", (long)getpid());
    const char *const names[] = {
        name[0], name[1], "/.out.tra-r1-2.tmp", name[2], "/.out.tra-r9-1.tmp", "/.out2.tra-r1-2.tmp", "/.out.tra-lock"};
    enum { NAMES = 7, FIRST = 3 }; /* needed: from here on */
    for (int i = 0; i < NAMES; i++) {
        char *path = tra_asprintf("%s/%s", folder, names[i]);
        write_text(path, "x");
        free(path);
    }
    int level = tra_log_level;
    tra_log_level = -1;
    tra_temp_reclaim(out, "r9");
    tra_log_level = level;
    for (int i = 0; i < NAMES; i++) CHECK(reads(folder, names[i], "x") == (i >= FIRST));
    remove_folder(folder);
    free(out);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

/* The system's, but somebody sets the clock back by an hour while `set_back` is. */
static bool set_back;
int clock_gettime(clockid_t clock, struct timespec *t) {
    int r = (int)syscall(SYS_clock_gettime, clock, t);
    if (set_back && clock == CLOCK_REALTIME) t->tv_sec -= 3600;
    return r;
}

TEST(waits_do_not_depend_on_the_time_of_day) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    tra_cond_init(&never);
    pthread_mutex_lock(&lock);
    set_back = true;
    double begin = tra_now();
    for (int i = 0; i < 5; i++) tra_wait_for(&never, &lock, 20000000);
    CHECK(tra_now() - begin >= 0.05); /* 0.1, but for waits that end early for no reason */
    set_back = false;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
}

typedef struct turns {
    tra_crew *crew;
    int64_t order[100];
    int64_t n;
} turns;

static tra_status take_turn(void *ctx, int worker, int64_t item, tra_err *e) {
    turns *t = ctx;
    (void)worker;
    if (item == 77 && t->n >= 0 && t->order[99] == -2) return tra_fail(e, TRA_INPUT, "item 77");
    if (!tra_crew_turn(t->crew, item)) return TRA_INTERNAL;
    t->order[t->n++] = item;
    tra_crew_passed(t->crew);
    return TRA_OK;
}

TEST(crew_keeps_turns_and_reports) {
    tra_err err = {0};
    turns t = {.crew = tra_crew_new(4)};
    for (int round = 0; round < 20; round++) {
        t.n = 0;
        tra_crew_begin(t.crew, take_turn, &t, 0, 100);
        CHECK_OK(tra_crew_wait(t.crew, &err), err);
        CHECK_INT(t.n, 100);
        for (int i = 0; i < 100; i++) CHECK_INT(t.order[i], i);
    }
    t.n = 0;
    t.order[99] = -2;
    tra_crew_begin(t.crew, take_turn, &t, 0, 100);
    CHECK_FAILS(tra_crew_wait(t.crew, &err), TRA_INPUT, err, "item 77");
    tra_crew_free(t.crew);
}

/* The lowest piece that fails waits until the others have. */
static tra_status fail_high_first(void *ctx, int worker, int64_t item, tra_err *e) {
    int64_t *failures = ctx;
    (void)worker;
    if (item == 10) {
        while (__atomic_load_n(failures, __ATOMIC_ACQUIRE) == 0) sched_yield();
        return tra_fail(e, TRA_INPUT, "item 10");
    }
    tra_status s = item == 11 ? tra_fail(e, TRA_USAGE, "item 11") : TRA_OK;
    if (item == 11) __atomic_add_fetch(failures, 1, __ATOMIC_RELEASE);
    return s;
}

static tra_status count(void *ctx, int worker, int64_t item, tra_err *e) {
    (void)worker, (void)e;
    __atomic_add_fetch((int64_t *)ctx, item, __ATOMIC_RELAXED);
    return TRA_OK;
}

TEST(crew_runs_pieces_and_reports_the_lowest_failure) {
    tra_err err = {0};
    for (int workers = 0; workers <= 3; workers++) {
        int64_t sum = 0;
        CHECK_OK(tra_crew_run(workers, 50, count, &sum, &err), err);
        CHECK_INT(sum, 49 * 50 / 2);
        CHECK_OK(tra_crew_run(workers, 0, count, &sum, &err), err);
    }
    for (int i = 0; i < 50; i++) {
        int64_t failures = 0;
        tra_err first = {0};
        CHECK_FAILS(tra_crew_run(2, 20, fail_high_first, &failures, &first), TRA_INPUT, first, "item 10");
    }
}
