/* test_base.c - statuses, arenas, strings, JSON, numbers. */
#include "../../lib/base/crew.h"
#include "../../lib/durable/durable.h"
#include "check.h"

#include <errno.h>
#include <signal.h>
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

/* Who has set no handler is told how much was wanted, and ends. */
TEST(out_of_memory_without_a_handler) {
    char said[200] = "";
    int status = 0, to[2];
    CHECK(pipe(to) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(to[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        tra_oom_handler(NULL);
        (void)tra_calloc(SIZE_MAX / 2, 4);
        _exit(0);
    }
    close(to[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(read(to[0], said, sizeof said - 1) > 0);
    CHECK_STR(said, "tra: out of memory (18446744073709551615 bytes wanted)\n");
    close(to[0]);
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
