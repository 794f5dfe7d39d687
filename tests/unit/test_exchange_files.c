/* test_exchange_files.c - files between sites: what is written is read, what is damaged is named. */
#include "../../lib/run/exchange.h"
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[256];

static void temporary(const char *name) {
    snprintf(path, sizeof path, "%s/tra-%d-%s", check_folder(), (int)getpid(), name);
    unlink(path);
}

enum { PIECE = 1 << 20 }; /* tra_tune.piece */

/* Lengths around the border of a piece, and nothing. */
static const int64_t lengths[] = {0, 1, 8, PIECE - 1, PIECE, PIECE + 1, 20 * (int64_t)PIECE + 17};
enum { FILES = sizeof lengths / sizeof *lengths };

static char *bytes_of(int i, bool random) {
    char *p = tra_malloc((size_t)lengths[i] + 1);
    uint64_t s = 88172645463325252u + (uint64_t)i;
    for (int64_t j = 0; j < lengths[i]; j++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        p[j] = random ? (char)s : (char)(j % 7 + i);
    }
    return p;
}

static int64_t write_file(int i, bool random) {
    tra_err e = {0};
    struct stat st;
    int untried = 0;
    char *p = bytes_of(i, random);
    CHECK_OK(tra_handed_write(path, p, lengths[i], &untried, &e), e);
    CHECK(stat(path, &st) == 0);
    CHECK((untried > 0) == (random && lengths[i] >= PIECE - 1));
    free(p);
    return (int64_t)st.st_size;
}

/* The status of reading it back, and the error. */
static tra_status read_file(int i, bool random, tra_err *e) {
    char *want = bytes_of(i, random), *got = tra_calloc((size_t)lengths[i] + 1, 1);
    tra_status s = tra_handed_read(path, got, lengths[i], e);
    if (s == TRA_OK) CHECK(memcmp(want, got, (size_t)lengths[i]) == 0);
    free(want);
    free(got);
    return s;
}

TEST(what_is_written_is_read) {
    temporary("round");
    for (int random = 0; random < 2; random++)
        for (int i = 0; i < FILES; i++) {
            tra_err e = {0};
            int64_t size = write_file(i, random);
            CHECK_OK(read_file(i, random, &e), e);
            if (random)
                CHECK(size >= lengths[i] && size < lengths[i] + 500);
            else if (lengths[i] >= PIECE - 1)
                CHECK(size < lengths[i] / 4);
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
        int i = 5; /* two pieces */
        int64_t size = write_file(i, random);
        for (int64_t at = 0; at < size; at += at < 80 ? 1 : size / 53 + 1) {
            tra_err e = {0};
            flip(at);
            CHECK(read_file(i, random, &e) == TRA_INPUT);
            CHECK(strstr(e.msg, path) != NULL);
            flip(at);
        }
        tra_err e = {0};
        CHECK_OK(read_file(i, random, &e), e);
        CHECK(truncate(path, size - 1) == 0);
        CHECK(read_file(i, random, &e) == TRA_INPUT);
        unlink(path);
    }
}

TEST(files_are_made_once_and_gone_when_taken) {
    tra_err e = {0}, f = {0}, g = {0};
    char data[64] = "what", got[64];
    tra_site site = {.exchange_dir = (char *)check_folder()};
    tra_payload p = {.data = data, .bytes = sizeof data};
    int64_t number;
    tra_tuning usual = tra_tune;
    CHECK_OK(tra_exchange_hand(&site, 0, &p, &number, &e), e);
    CHECK(number == -1); /* it is small */
    tra_tune.file = 1;
    CHECK_OK(tra_exchange_hand(&site, 0, &p, &number, &e), e);
    CHECK(number == 0);
    site.handed = 0;
    CHECK(tra_exchange_hand(&site, 0, &p, &number, &f) == TRA_RESOURCE);
    CHECK_OK(tra_exchange_take(&site, 0, 0, got, sizeof got, &e), e);
    CHECK(memcmp(data, got, sizeof got) == 0);
    CHECK(tra_exchange_take(&site, 0, 0, got, sizeof got, &g) == TRA_RESOURCE);
    tra_tune = usual;
}
