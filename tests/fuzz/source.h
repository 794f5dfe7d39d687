/* source.h - for the fuzzers of readers: any bytes as a file, read to its end as a file and as a stream. */
#ifndef TRA_FUZZ_SOURCE_H
#define TRA_FUZZ_SOURCE_H

#include "../../formats/entries.h"
#include "../../formats/reading.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All entries, by blocks of three along each dimension where the tensor is small. */
static tra_status fuzz_entries(tra_source *s, tra_err *e) {
    tra_places p;
    tra_dims block = s->shape, key = {.n = s->shape.n};
    tra_sorter *sorted = NULL;
    int64_t n = 0;
    if (!tra_dims_product(&s->shape, &n)) abort();
    for (int d = 0; d < block.n; d++) block.v[d] = n > 4096 || n == 0 ? tra_max64(1, block.v[d]) : 3;
    tra_places_of(&p, &s->shape, &block);
    int64_t memory = tra_entries_need(s, false);
    if (memory > 1 << 24) return TRA_OK;
    tra_status status = tra_entries_sort(s, &p, &(tra_entries_options){.memory = memory, .output = "."}, &sorted, e);
    if (status == TRA_OK) status = tra_sorter_merge(sorted, memory, e);
    if (status == TRA_OK && n <= 4096 && n > 0) {
        double data[81];
        do status = block.n <= 4 ? tra_entries_dense(s, sorted, &p, &key, data, e) : TRA_OK;
        while (status == TRA_OK && tra_next(&p.frontier, &key));
    }
    tra_sorter_free(sorted);
    return status;
}

static tra_status fuzz_read(tra_source *s, tra_err *e) {
    static char buf[1 << 16];
    int64_t got = 1, n = 0;
    tra_dims all = s->fortran ? tra_reversed(&s->shape) : s->shape, zero = {.n = s->shape.n};
    if (s->access == TRA_ACCESS_BOX) {
        if (!tra_dims_product(&all, &n)) abort(); /* opening has checked it */
        return n * 8 <= (int64_t)sizeof buf ? s->format->box(s, &zero, &all, buf, e) : TRA_OK;
    }
    if (s->access == TRA_ACCESS_STREAM) {
        while (got > 0) TRA_TRY(s->format->next(s, buf, 100, &got, e));
        return TRA_OK;
    }
    return fuzz_entries(s, e);
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
    o.base = -1;
    o.scratch = ".";
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
        bool usage = status == TRA_USAGE && o.has_shape; /* --shape and the file do not agree */
        if (status != e.status || (status != TRA_OK && status != TRA_INPUT && status != TRA_RESOURCE && !usage))
            abort();
        close(fds[i]);
    }
}

#endif
