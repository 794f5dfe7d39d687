/* test_segment.c - files between sites: what is written is read, what is damaged is named. */
#include "../../lib/run/segment.h"
#include "../../lib/run/tuning.h"
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[256];

static char *room(void) {
    static char *buf;
    if (!buf) buf = tra_malloc(tra_segment_room());
    return buf;
}

static void temporary(const char *name) {
    snprintf(path, sizeof path, "%s/tra-%d-%s", check_folder(), (int)getpid(), name);
    unlink(path);
}

enum { PIECE = 1 << 20 }; /* tra_tune.segment_piece */

/* Lengths around the border of a piece, and nothing. */
static const int64_t lengths[] = {0, 1, 8, PIECE - 1, PIECE, 0, PIECE + 1, 3 * (int64_t)PIECE + 17};
enum { RECORDS = sizeof lengths / sizeof *lengths };

static char *record(int i, bool random) {
    char *p = tra_malloc((size_t)lengths[i] + 1);
    uint64_t s = 88172645463325252u + (uint64_t)i;
    for (int64_t j = 0; j < lengths[i]; j++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        p[j] = random ? (char)s : (char)(j % 7 + i);
    }
    return p;
}

static int64_t write_all(bool random) {
    tra_segment s = {.fd = -1};
    tra_err e = {0};
    struct stat st;
    CHECK_OK(tra_segment_create(&s, path, room(), &e), e);
    for (int i = 0; i < RECORDS; i++) {
        char *p = record(i, random);
        CHECK_OK(tra_segment_add(&s, p, lengths[i], &e), e);
        free(p);
    }
    CHECK_OK(tra_segment_finish(&s, &e), e);
    tra_segment_drop(&s); /* what was handed over stays */
    CHECK(stat(path, &st) == 0);
    return (int64_t)st.st_size;
}

/* The status of reading it all back, and the error. */
static tra_status read_all(bool random, tra_err *e) {
    tra_segment s = {.fd = -1};
    tra_status st = tra_segment_open(&s, path, room(), e);
    for (int i = 0; i < RECORDS && st == TRA_OK; i++) {
        char *want = record(i, random), *got = tra_calloc((size_t)lengths[i] + 1, 1);
        st = tra_segment_next(&s, got, lengths[i], e);
        if (st == TRA_OK) CHECK(memcmp(want, got, (size_t)lengths[i]) == 0);
        free(want);
        free(got);
    }
    if (s.fd >= 0) close(s.fd), s.fd = -1;
    free(s.path); /* the file stays for the next reading */
    s.path = NULL;
    tra_segment_drop(&s);
    return st;
}

TEST(what_is_written_is_read) {
    temporary("round");
    int64_t all = 0;
    for (int i = 0; i < RECORDS; i++) all += lengths[i];
    for (int random = 0; random < 2; random++) {
        tra_err e = {0};
        int64_t size = write_all(random);
        CHECK_OK(read_all(random, &e), e);
        if (random)
            CHECK(size >= all && size < all + 1000);
        else
            CHECK(size < all / 4);
        unlink(path);
    }
}

static void flip(int64_t at) {
    int fd = open(path, O_RDWR);
    char c;
    CHECK(pread(fd, &c, 1, at) == 1);
    c ^= 4;
    CHECK(pwrite(fd, &c, 1, at) == 1);
    close(fd);
}

TEST(any_changed_byte_is_found_and_the_file_named) {
    temporary("damaged");
    for (int random = 0; random < 2; random++) {
        int64_t size = write_all(random);
        for (int64_t at = 0; at < size; at += at < 80 ? 1 : size / 53) {
            tra_err e = {0};
            flip(at);
            CHECK(read_all(random, &e) == TRA_INPUT);
            CHECK(strstr(e.msg, path) != NULL);
            flip(at);
        }
        tra_err e = {0};
        CHECK_OK(read_all(random, &e), e);
        CHECK(truncate(path, size - 1) == 0);
        CHECK(read_all(random, &e) == TRA_INPUT);
        unlink(path);
    }
}

TEST(a_record_of_another_length_is_damage) {
    tra_segment s = {.fd = -1};
    tra_err e = {0};
    char buf[64] = "what";
    temporary("length");
    CHECK_OK(tra_segment_create(&s, path, room(), &e), e);
    CHECK_OK(tra_segment_add(&s, buf, 40, &e), e);
    CHECK_OK(tra_segment_finish(&s, &e), e);
    CHECK_OK(tra_segment_open(&s, path, room(), &e), e);
    CHECK(tra_segment_next(&s, buf, 41, &e) == TRA_INPUT);
    tra_segment_drop(&s);
    CHECK(access(path, F_OK) != 0); /* what was read is removed */
}

TEST(segments_are_made_once_and_gone_when_dropped) {
    tra_segment s = {.fd = -1}, t = {.fd = -1};
    tra_err e = {0}, f = {0}, g = {0};
    temporary("once");
    CHECK_OK(tra_segment_create(&s, path, room(), &e), e);
    CHECK(tra_segment_create(&t, path, room(), &f) == TRA_RESOURCE);
    tra_segment_drop(&t);
    CHECK(access(path, F_OK) == 0);
    tra_segment_drop(&s);
    CHECK(access(path, F_OK) != 0);
    CHECK(tra_segment_open(&t, path, room(), &g) == TRA_RESOURCE);
    tra_segment_drop(&t);
}
