/* Any bytes as a file by which one site hands another a tuple of some length: as they are, and with the checksum that
 * the first piece needs. */
#include "../../lib/run/exchange.h"
#include "bytes.h"

#include <fcntl.h>
#include <xxhash.h>

enum { HEAD = 16 /* stored, sum */ };

static void read_tuple(const uint8_t *data, size_t size, int64_t length) {
    static char *tuple;
    char path[64];
    tra_err e = {0};
    if (!tuple) tuple = tra_malloc(1 << 16);
    int fd = fuzz_file(data, size, path);
    tra_status s = tra_handed_read(path, tuple, length, &e);
    if (s != e.status || (s != TRA_OK && (s != TRA_INPUT || !strstr(e.msg, path)))) abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    int64_t length = fuzz_byte(&b) | fuzz_byte(&b) << 8, stored;
    if (size < 6 || size > 1 << 20) return 0;
    data += 6, size -= 6;
    read_tuple(data, size, length);
    if (size < HEAD) return 0;
    uint8_t *copy = tra_malloc(size);
    memcpy(copy, data, size);
    memcpy(&stored, copy, 8);
    if (stored < 0 || stored > (int64_t)size - HEAD) stored = (int64_t)size - HEAD;
    uint64_t sum = XXH64(copy + HEAD, (size_t)stored, (uint64_t)stored);
    memcpy(copy, &stored, 8);
    memcpy(copy + 8, &sum, 8);
    read_tuple(copy, size, length);
    free(copy);
    return 0;
}
