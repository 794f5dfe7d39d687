/* Any bytes as a file by which one site sends another records of some lengths: as they are, and with the checksum that
 * the first piece needs. */
#include "../../lib/run/segment.h"
#include "bytes.h"

#include <fcntl.h>
#include <xxhash.h>

enum { LONGEST = 1 << 16, HEAD = 24 /* record, raw, stored, sum */ };

static void read_records(const uint8_t *data, size_t size, int64_t *length, int n) {
    static char *room, *record;
    char path[64];
    tra_segment s = {.fd = -1};
    tra_err e = {0};
    if (!room) room = tra_malloc(tra_segment_room()), record = tra_malloc(LONGEST);
    int fd = fuzz_file(data, size, path);
    tra_status st = tra_segment_open(&s, path, room, &e);
    for (int i = 0; i < n && st == TRA_OK; i++) {
        int64_t said;
        st = tra_segment_length(&s, &said, &e);
        if (st == TRA_OK && (length[i] < 0 || length[i] > LONGEST)) length[i] = 0;
        if (st == TRA_OK) st = tra_segment_next(&s, record, length[i], &e);
        if (st == TRA_OK && said != length[i]) abort();
        if (st == TRA_OK && s.at > (int64_t)size) abort();
    }
    if (st != e.status || (st != TRA_OK && (st != TRA_INPUT || !strstr(e.msg, path)))) abort();
    tra_segment_drop(&s);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    int64_t length[3];
    for (int i = 0; i < 3; i++) length[i] = fuzz_byte(&b) | fuzz_byte(&b) << 8;
    if (size < 6 || size > 1 << 20) return 0;
    data += 6, size -= 6;
    read_records(data, size, length, 3);
    if (size < HEAD) return 0;
    uint8_t *copy = tra_malloc(size);
    uint32_t stored;
    uint64_t sum;
    memcpy(copy, data, size);
    memcpy(&stored, copy + 12, 4);
    if (stored > size - HEAD) stored = (uint32_t)(size - HEAD);
    memcpy(copy + 12, &stored, 4);
    sum = XXH64(copy + HEAD, stored, XXH64(copy, 16, 0));
    memcpy(copy + 16, &sum, 8);
    memcpy(&length[0], copy, 8);
    read_records(copy, size, length, 3);
    free(copy);
    return 0;
}
