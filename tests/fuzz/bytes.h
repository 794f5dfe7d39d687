/* bytes.h - for fuzzers: their bytes as a file without a name, and as random choices. */
#ifndef TRA_FUZZ_BYTES_H
#define TRA_FUZZ_BYTES_H

#include "../../lib/base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file without a name that holds the bytes, and the path by which it is opened. */
static inline int fuzz_file(const void *data, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static char *fuzz_made;

static inline void fuzz_remove_dir(void) {
    char *command = tra_asprintf("rm -rf %s", fuzz_made);
    if (system(command) != 0) fprintf(stderr, "%s fails\n", command);
    free(command);
}

/* A directory in memory, which is removed at the end. */
static inline const char *fuzz_dir(void) {
    if (fuzz_made) return fuzz_made;
    fuzz_made = tra_asprintf("%s/tra-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fuzz_made)) abort();
    atexit(fuzz_remove_dir);
    return fuzz_made;
}

typedef struct fuzz_bytes {
    const uint8_t *at, *end;
} fuzz_bytes;

/* The next byte, or 0. */
static inline int fuzz_byte(fuzz_bytes *b) { return b->at < b->end ? *b->at++ : 0; }

/* A number below n. */
static inline int fuzz_below(fuzz_bytes *b, int n) { return fuzz_byte(b) % n; }

/* A number: a small one of most bytes, some of them negative; after the byte 255 the next eight are a number of any
 * size. */
static inline int64_t fuzz_int(fuzz_bytes *b) {
    int c = fuzz_byte(b);
    uint64_t v = 0;
    if (c < 255) return c < 128 ? c : c - 255;
    for (int i = 0; i < 8; i++) v = v << 8 | (uint64_t)fuzz_byte(b);
    return (int64_t)v;
}

#endif
