/* check.h - a tiny unit test harness. A test program includes it and defines tests:
 *
 *     TEST(keys_go_round) { CHECK_INT(tra_linear(&box, &key), 5); }
 *
 * Its main prints TAP: one line `ok N - name` or `not ok N - name` for each, with what failed before it. Arguments
 * select the tests whose names contain them. A failed check does not end its test. */
#ifndef TRA_CHECK_H
#define TRA_CHECK_H

#include "../../lib/base/base.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct check_test {
    const char *name;
    void (*run)(void);
    struct check_test *next;
} check_test;

static check_test *check_first, **check_last = &check_first;
static int check_failures;
static const char *check_skipped; /* why the test was skipped */

/* Seconds of processor time, which a busy machine does not stretch. */
static inline double check_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Numbers that look random, below n; the same in each run. */
static uint64_t check_seed = 88172645463325252u;
static inline int64_t check_draw(int64_t n) {
    check_seed ^= check_seed << 13, check_seed ^= check_seed >> 7, check_seed ^= check_seed << 17;
    return (int64_t)((check_seed >> 11) % (uint64_t)n);
}

/* Where temporary files go. */
static inline const char *check_folder(void) {
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

#define TEST(id)                                                                                                       \
    static void test_##id(void);                                                                                       \
    __attribute__((constructor)) static void register_##id(void) {                                                     \
        static check_test t = {#id, test_##id, NULL};                                                                  \
        *check_last = &t;                                                                                              \
        check_last = &t.next;                                                                                          \
    }                                                                                                                  \
    static void test_##id(void)

#define check_report(...) (check_failures++, printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"))

#define CHECK(cond) ((cond) ? (void)0 : (void)check_report("failed: %s", #cond))

#define CHECK_INT(a, b)                                                                                                \
    do {                                                                                                               \
        int64_t a_ = (int64_t)(a), b_ = (int64_t)(b);                                                                  \
        if (a_ != b_) check_report("%s is %" PRId64 ", not %" PRId64 " (%s)", #a, a_, b_, #b);                         \
    } while (0)

#define CHECK_STR(a, b)                                                                                                \
    do {                                                                                                               \
        const char *a_ = (a), *b_ = (b);                                                                               \
        if (!a_ || !b_ || strcmp(a_, b_) != 0)                                                                         \
            check_report("%s is\n#   \"%s\", not\n#   \"%s\"", #a, a_ ? a_ : "(null)", b_ ? b_ : "(null)");            \
    } while (0)

/* NaN is near nothing. */
#define CHECK_NEAR(a, b, tol)                                                                                          \
    do {                                                                                                               \
        double a_ = (a), b_ = (b), t_ = (tol);                                                                         \
        if (!(a_ == b_ || fabs(a_ - b_) <= t_))                                                                        \
            check_report("%s is %.17g, not %.17g within %g (%s)", #a, a_, b_, t_, #b);                                 \
    } while (0)

/* A call that must succeed; err is its tra_err variable (not a pointer). */
#define CHECK_OK(expr, err)                                                                                            \
    do {                                                                                                               \
        tra_status s_ = (expr);                                                                                        \
        if (s_ != TRA_OK) check_report("%s: %s (%s)", #expr, (err).msg, tra_status_text(s_));                          \
    } while (0)

/* A call that must fail with the status and a message that contains text; clears err for the next one. */
#define CHECK_FAILS(expr, want, err, text)                                                                             \
    do {                                                                                                               \
        tra_status s_ = (expr), w_ = (want);                                                                           \
        if (s_ != w_ || (err).status != w_ || !strstr((err).msg, (text)))                                              \
            check_report("%s: status %s and message \"%s\", not %s and \"%s\"", #expr, tra_status_text(s_), (err).msg, \
                         #want, (text));                                                                               \
        (err) = (tra_err){0};                                                                                          \
    } while (0)

/* Ends the test as skipped, saying why. */
#define CHECK_SKIP(reason)                                                                                             \
    do {                                                                                                               \
        check_skipped = (reason);                                                                                      \
        return;                                                                                                        \
    } while (0)

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int n = 0, bad = 0;
    for (const check_test *t = check_first; t; t = t->next) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= strstr(t->name, argv[i]) != NULL;
        if (!wanted) continue;
        check_failures = 0;
        check_skipped = NULL;
        t->run();
        printf("%s %d - %s%s%s\n", check_failures ? "not ok" : "ok", ++n, t->name, check_skipped ? " # skip " : "",
               check_skipped ? check_skipped : "");
        bad += check_failures != 0;
    }
    printf("1..%d\n", n);
    return bad != 0;
}

#endif
