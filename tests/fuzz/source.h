/* source.h - for the fuzzers of readers: any bytes as a file, read to its end as a file and as a stream. */
#ifndef TRA_FUZZ_SOURCE_H
#define TRA_FUZZ_SOURCE_H

#include "../../formats/entries.h"
#include "../../formats/formats.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tra_status fuzz_block(void *ctx, int64_t ordinal, const void *data, tra_err *e) {
    (void)ctx, (void)ordinal, (void)data, (void)e;
    return TRA_OK;
}

static tra_status fuzz_read(tra_source *s, tra_err *e) {
    static char buf[1 << 16];
    int64_t got = 1, n = 0;
    tra_dims all = s->fortran ? tra_reversed(&s->shape) : s->shape, zero = {.n = s->shape.n},
             block = {.n = 2, .v = {3, 3}};
    if (s->access == TRA_ACCESS_BOX) {
        if (!tra_dims_product(&all, &n)) abort(); /* opening has checked it */
        return n * 8 <= (int64_t)sizeof buf ? s->format->box(s, &zero, &all, buf, e) : TRA_OK;
    }
    if (s->access == TRA_ACCESS_STREAM) {
        while (got > 0) TRA_TRY(s->format->next(s, buf, 100, &got, e));
        return TRA_OK;
    }
    tra_catalog cat;
    int64_t spilled;
    if (!tra_dims_product(&all, &n)) abort();
    if (n > 4096 || n == 0) {
        while (got > 0) TRA_TRY(s->format->entries(s, (tra_entry *)buf, 100, &got, e));
        return TRA_OK;
    }
    TRA_TRY(tra_catalog_blocks(&s->shape, &block, &cat, e));
    return tra_entries_assemble(s, &cat, tra_entries_need(s, &cat), ".", fuzz_block, NULL, &spilled, e);
}

static void fuzz_source(const char *format, tra_source_options o, const uint8_t *data, size_t size) {
    int fd = memfd_create("fuzz", 0), pipes[2];
    if (fd < 0 || pipe(pipes) != 0 || size > 1 << 15) { /* a pipe holds 64 KiB */
        if (fd >= 0) close(fd);
        return;
    }
    if (write(fd, data, size) != (ssize_t)size || write(pipes[1], data, size) != (ssize_t)size) abort();
    close(pipes[1]);
    o.memory = 1 << 16;
    int fds[2] = {fd, pipes[0]};
    for (int i = 0; i < 2; i++) {
        char path[64];
        tra_source *s;
        tra_err e = {0};
        snprintf(path, sizeof path, "/proc/self/fd/%d", fds[i]);
        tra_status status = tra_source_open(path, tra_format_find(format), &o, &s, &e);
        if (status == TRA_OK) {
            status = fuzz_read(s, &e);
            tra_source_close(s);
        }
        if (status != e.status || (status != TRA_OK && status != TRA_INPUT && status != TRA_RESOURCE)) abort();
        close(fds[i]);
    }
}

#endif
