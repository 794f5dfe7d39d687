/* test_base.c - statuses, arenas, strings, JSON, numbers, files. */
#include "../../lib/base/crew.h"
#include "../../lib/base/newfile.h"
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(first_cause_is_kept) {
    tra_err e = {0};
    CHECK_INT(tra_fail(&e, TRA_INPUT, "chunk %d", 7), TRA_INPUT);
    CHECK_INT(tra_fail(&e, TRA_INTERNAL, "later"), TRA_INPUT);
    CHECK_STR(e.msg, "chunk 7");
    CHECK(e.file && e.line > 0);
    CHECK_INT(tra_fail(NULL, TRA_USAGE, "dropped"), TRA_USAGE);
}

TEST(kinds_of_errors) {
    tra_err e = {0}, later = {0}, none = {0};
    CHECK_INT(tra_fail_kind(&e, TRA_INPUT, TRA_KIND_OVERFLOW, "chunk %d", 7), TRA_INPUT);
    CHECK_INT(e.kind, TRA_KIND_OVERFLOW);
    CHECK_INT(tra_fail_kind(&e, TRA_RESOURCE, TRA_KIND_POOL, "later"), TRA_INPUT);
    CHECK_INT(e.kind, TRA_KIND_OVERFLOW);
    CHECK_INT(tra_fail_as(&later, &e), TRA_INPUT);
    CHECK_INT(later.kind, TRA_KIND_OVERFLOW);
    CHECK_STR(later.msg, "chunk 7");
    CHECK_INT(later.line, e.line);
    CHECK_INT(tra_fail(&none, TRA_RESOURCE, "of no kind"), TRA_RESOURCE);
    CHECK_INT(none.kind, TRA_KIND_NONE);
    CHECK_INT(tra_fail_as(&none, &e), TRA_RESOURCE); /* the first cause is kept */
    CHECK_STR(none.msg, "of no kind");
    CHECK_INT(tra_fail_as(NULL, &e), TRA_INPUT);
    CHECK_INT(tra_fail_kind(NULL, TRA_USAGE, TRA_KIND_POOL, "dropped"), TRA_USAGE);
}

TEST(errno_decides_the_status) {
    tra_err e = {0};
    errno = ENOSPC;
    CHECK_INT(tra_fail_errno(&e, TRA_INPUT, "cannot write %s", "x"), TRA_RESOURCE);
    CHECK_STR(e.msg, "cannot write x: No space left on device");
    e = (tra_err){0};
    errno = ENOENT;
    CHECK_FAILS(tra_fail_errno(&e, TRA_INPUT, "x"), TRA_INPUT, e, "x: No such file");
}

TEST(long_message_is_cut) {
    tra_err e = {0};
    char big[4000];
    memset(big, 'a', sizeof big);
    big[sizeof big - 1] = 0;
    tra_fail(&e, TRA_INPUT, "%s", big);
    CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
    CHECK_STR(e.msg + strlen(e.msg) - 4, "a...");
    e = (tra_err){0};
    errno = ENOENT;
    tra_fail_errno(&e, TRA_INPUT, "%.*s", (int)sizeof e.msg - 5, big);
    CHECK_STR(e.msg + strlen(e.msg) - 3, "...");
}

TEST(exit_statuses) {
    CHECK_INT(tra_status_exit(TRA_OK), 0);
    CHECK_INT(tra_status_exit(TRA_NO), 1);
    CHECK_INT(tra_status_exit(TRA_PROGRAM), 2);
    CHECK_INT(tra_status_exit(TRA_LOST), 5);
    CHECK_INT(tra_status_exit(TRA_STOPPED), 75);
    CHECK_STR(tra_status_text(TRA_RESOURCE), "out of a resource");
}

TEST(arena_is_zeroed_aligned_and_disjoint) {
    tra_arena *a = tra_arena_new();
    enum { N = 2000 };
    unsigned char *p[N];
    size_t size[N];
    for (int i = 0; i < N; i++) {
        size[i] = (size_t)(i * 7919 % 5000) * (i % 97 == 0 ? 40 : 1);
        p[i] = tra_arena_alloc(a, size[i]);
        CHECK(p[i] && (uintptr_t)p[i] % 16 == 0);
        for (size_t k = 0; k < size[i]; k++) {
            if (p[i][k]) {
                CHECK(!"zeroed");
                break;
            }
        }
        memset(p[i], i & 255, size[i]);
    }
    for (int i = 0; i < N; i++) {
        size_t k = 0;
        while (k < size[i] && p[i][k] == (i & 255)) k++;
        CHECK_INT(k, size[i]);
    }
    tra_arena_free(a);
    tra_arena_free(NULL);
}

TEST(arena_text) {
    tra_arena *a = tra_arena_new();
    CHECK_STR(tra_arena_strndup(a, "abcdef", 3), "abc");
    CHECK_STR(tra_arena_strndup(a, "ab", 30), "ab");
    CHECK_STR(tra_arena_printf(a, "%s-%d", "x", 5), "x-5");
    char *big = tra_arena_printf(a, "%10000d", 1);
    CHECK_INT(strlen(big), 10000);
    tra_arena_free(a);
}

TEST(string_grows) {
    tra_str s = {0};
    CHECK_STR(tra_str_get(&s), "");
    tra_str_add(&s, "");
    CHECK(s.s && s.n == 0);
    for (int i = 0; i < 1000; i++) tra_str_printf(&s, "%d,", i);
    CHECK_INT(s.n, 10 * 2 + 90 * 3 + 900 * 4);
    CHECK_INT(strlen(s.s), s.n);
    tra_str_addn(&s, "abc", 2);
    CHECK_STR(s.s + s.n - 3, ",ab");
    tra_str_free(&s);
    CHECK_INT(s.cap, 0);
    /* lengths around the capacity */
    for (int n = 60; n < 70; n++) {
        tra_str_printf(&s, "%*s", n, "");
        CHECK_INT(s.n, n);
        tra_str_printf(&s, "%s", "x");
        CHECK_INT(strlen(s.s), n + 1);
        tra_str_free(&s);
    }
}

TEST(json_writes) {
    tra_json j = {0};
    tra_json_begin(&j, NULL, '{');
    tra_json_str(&j, "name", "a\"b\\c\n\x01\x7f\xc3\xa4\xff");
    tra_json_str(&j, "none", NULL);
    tra_json_int(&j, "big", INT64_MIN);
    tra_json_num(&j, "x", 0.1);
    tra_json_num(&j, "nan", NAN);
    tra_json_bool(&j, "yes", true);
    tra_json_ints(&j, "dims", 3, (const int64_t[]){1, 2, 3});
    tra_json_ints(&j, "empty", 0, NULL);
    tra_json_begin(&j, "list", '[');
    tra_json_begin(&j, NULL, '{');
    tra_json_end(&j, '}');
    tra_json_int(&j, NULL, 4);
    tra_json_end(&j, ']');
    tra_json_end(&j, '}');
    CHECK_STR(j.out.s, "{\"name\": \"a\\\"b\\\\c\\n\\u0001\\u007f\xc3\xa4\\ufffd\", \"none\": null, "
                       "\"big\": -9223372036854775808, \"x\": 0.1, \"nan\": null, \"yes\": true, "
                       "\"dims\": [1, 2, 3], \"empty\": [], \"list\": [{}, 4]}");
    CHECK_INT(j.depth, 0);
    tra_json_free(&j);
}

TEST(json_replaces_bytes_that_are_not_utf8) {
    static const char *const pairs[][2] = {
        {"\xc3(", "\"\\ufffd(\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
        {"\xc0\x80", "\"\\ufffd\\ufffd\""},            /* overlong */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},  /* sound */
        {"\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        tra_json j = {0};
        tra_json_str(&j, NULL, pairs[i][0]);
        CHECK_STR(j.out.s, pairs[i][1]);
        tra_json_free(&j);
    }
}

static const char *find(const char *s, const char *path) {
    static char buf[200];
    size_t n;
    const char *v = tra_json_find(s, path, &n);
    if (!v) return "(none)";
    snprintf(buf, sizeof buf, "%.*s", (int)n, v);
    return buf;
}

TEST(json_find) {
    const char *s = " {\"plans\": [ {\"cost\": 1.5e3, \"name\":\"a \\\" }\"} , {\"cost\":2}], \"cost\": {\"n\": []},\n"
                    " \"e\": {}, \"t\": true}";
    CHECK_STR(find(s, "plans.0.cost"), "1.5e3");
    CHECK_STR(find(s, "plans.0.name"), "\"a \\\" }\"");
    CHECK_STR(find(s, "plans.1"), "{\"cost\":2}");
    CHECK_STR(find(s, "cost"), "{\"n\": []}");
    CHECK_STR(find(s, "cost.n"), "[]");
    CHECK_STR(find(s, "t"), "true");
    CHECK_STR(find(s, "plans.2"), "(none)");
    CHECK_STR(find(s, "plans.-1"), "(none)");
    CHECK_STR(find(s, "plans.x"), "(none)");
    CHECK_STR(find(s, "n"), "(none)");
    CHECK_STR(find(s, "t.x"), "(none)");
    CHECK_STR(find(s, "e.x"), "(none)");
    CHECK_STR(find("[3, 4]", "1"), "4");
    CHECK_STR(find("7", ""), "7");
}

TEST(json_find_survives_junk) {
    static const char *const junk[] = {"",   "{",  "{\"a\"", "{\"a\":", "{\"a\":1",   "{\"a\":1,", "{\"a\" 1}",
                                       "[1", "[,", "\"",     "\"\\",    "{\"a\":\"x", "}",         "{a:1}"};
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        CHECK_STR(find(junk[i], "a"), "(none)");
        CHECK_STR(find(junk[i], "0"), "(none)");
    }
    char deep[2001];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    CHECK_STR(find(deep, ""), "(none)");
    memset(deep + 1000, ']', 1000); /* well formed, but deeper than what tra writes */
    CHECK_STR(find(deep, ""), "(none)");
}

static int64_t size_of(const char *s) {
    int64_t v = -7;
    return tra_parse_size(s, &v) ? v : -1;
}

TEST(sizes) {
    CHECK_INT(size_of("4096"), 4096);
    CHECK_INT(size_of("0"), 0);
    CHECK_INT(size_of("64M"), 64 << 20);
    CHECK_INT(size_of("64m"), 64 << 20);
    CHECK_INT(size_of("1.5GiB"), (int64_t)3 << 29);
    CHECK_INT(size_of("1.5K"), 1536);
    CHECK_INT(size_of("2KB"), 2048);
    CHECK_INT(size_of("10B"), 10);
    CHECK_INT(size_of("1T"), (int64_t)1 << 40);
    CHECK_INT(size_of("8191P"), (int64_t)8191 << 50);
    CHECK_INT(size_of("9223372036854775807"), INT64_MAX);
    static const char *const bad[] = {
        "",        "-1", "M", "1.2.3", "1Q", "1Mi", "1iB", "8192P", "1 M", "0x10", "1MX", "1e3", "9223372036854775808",
        "8192.5P", "."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (size_of(bad[i]) != -1) check_report("\"%s\" is accepted as %" PRId64, bad[i], size_of(bad[i]));
    }
}

TEST(integers_and_numbers) {
    int64_t v = 0;
    CHECK(tra_parse_int("-42", &v) && v == -42);
    CHECK(tra_parse_int("9223372036854775807", &v) && v == INT64_MAX);
    CHECK(!tra_parse_int("9223372036854775808", &v) && !tra_parse_int("", &v) && !tra_parse_int("1x", &v));
    CHECK(!tra_parse_int(" 1", &v) && !tra_parse_int("1.0", &v) && !tra_parse_int("-", &v));
    double x = 0;
    CHECK(tra_parse_num("1e-3", &x) && x == 1e-3);
    CHECK(tra_parse_num("-.5", &x) && x == -0.5);
    CHECK(tra_parse_num("1e-320", &x) && x > 0);
    CHECK(tra_parse_num("nan", &x) && isnan(x));
    CHECK(!tra_parse_num("1e999", &x) && !tra_parse_num("0x1", &x) && !tra_parse_num("", &x));
    CHECK(!tra_parse_num(" 1", &x) && !tra_parse_num("1,5", &x) && !tra_parse_num("1 ", &x));
}

TEST(checked_arithmetic) {
    int64_t v = 0;
    CHECK(tra_mul((int64_t)1 << 31, (int64_t)1 << 31, &v) && v == (int64_t)1 << 62);
    CHECK(!tra_mul((int64_t)1 << 32, (int64_t)1 << 31, &v));
    CHECK(tra_add(INT64_MAX - 1, 1, &v) && v == INT64_MAX);
    CHECK(!tra_add(INT64_MAX, 1, &v));
    CHECK_INT(tra_ceil_div(0, 7), 0);
    CHECK_INT(tra_ceil_div(14, 7), 2);
    CHECK_INT(tra_ceil_div(15, 7), 3);
    CHECK_INT(tra_ceil_div(INT64_MAX, 1), INT64_MAX);
}

TEST(human_sizes) {
    char b[32];
    CHECK_STR(tra_human(0, b), "0 B");
    CHECK_STR(tra_human(1023, b), "1023 B");
    CHECK_STR(tra_human(1536, b), "1.5 KiB");
    CHECK_STR(tra_human(2 << 20, b), "2 MiB");
    CHECK_STR(tra_human((1 << 20) - 1, b), "1 MiB");
    CHECK_STR(tra_human((int64_t)1023 << 30, b), "1023 GiB");
    CHECK_STR(tra_human(INT64_MAX, b), "8 EiB");
    CHECK_STR(tra_human(-1536, b), "-1.5 KiB");
}

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
    CHECK_FAILS(tra_slurp("/nonexistent/x", 10, &text, &n, &e), TRA_INPUT, e, "/nonexistent/x: No such file");
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
    tra_temp_leave(&t);
    CHECK(reads(folder, ".out.tra-r1.tmp", "some"));
    CHECK_OK(tra_temp_create(out, "r1", true, &t, &e), e);
    CHECK(t.reused && pwrite(t.fd, "re", 2, 4) == 2);
    tra_temp_leave(&t);
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
    CHECK_FAILS(tra_replace_file(nowhere, "new", 3, true, &e), TRA_INPUT, e, "/no: there is no such directory");
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

TEST(crew_runs_a_stretch_and_reports_the_lowest_failure) {
    tra_err err = {0};
    for (int workers = 0; workers <= 3; workers++) {
        int64_t sum = 0;
        CHECK_OK(tra_crew_run(workers, 5, 50, count, &sum, &err), err);
        CHECK_INT(sum, (5 + 49) * 45 / 2);
        CHECK_OK(tra_crew_run(workers, 5, 5, count, &sum, &err), err);
    }
    for (int i = 0; i < 50; i++) {
        int64_t failures = 0;
        tra_err first = {0};
        CHECK_FAILS(tra_crew_run(2, 8, 20, fail_high_first, &failures, &first), TRA_INPUT, first, "item 10");
    }
}
