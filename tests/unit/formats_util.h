/* formats_util.h - files of a few bytes, and what the readers of formats make of them. */
#ifndef TRA_FORMATS_UTIL_H
#define TRA_FORMATS_UTIL_H

#include "../../formats/reading.h"
#include "check.h"

#include <unistd.h>

static char path[64];
static inline const char *file_of(const char *suffix, const void *bytes, size_t n) {
    snprintf(path, sizeof path, "/tmp/tra-test-%ld%s", (long)getpid(), suffix);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) check_report("cannot write %s", path);
    return path;
}

/* CSV files are read as matrices, whatever is in them. */
static tra_table_job numbers = {
    .kind = TRA_CSV_MATRIX, .quote = -1, .escape = -1, .comment = -1, .header = -1, .nnulls = -1};
static const tra_source_options defaults = {.text = &numbers, .base = -1, .memory = 1 << 20, .scratch = "/tmp/x"};

static inline double element(tra_dtype t, const void *data, int64_t i) {
    switch (t) {
#define X(id, text, ctype, ...)                                                                                        \
    case TRA_##id: return (double)((const ctype *)data)[i];
        TRA_DTYPES(X)
#undef X
    }
    return 0;
}

/* Opens, reads everything in storage order, at most `step` elements at a time. */
static inline tra_status read_all(const char *file, const tra_source_options *o, int64_t step, double *out, int64_t max,
                                  int64_t *n, tra_dims *shape, tra_err *e) {
    tra_source *s;
    TRA_TRY(tra_source_open(file, NULL, o, &s, e));
    tra_status status = TRA_OK;
    *n = 0;
    if (s->access == TRA_ACCESS_STREAM) {
        int64_t got = 1;
        while (status == TRA_OK && got > 0 && *n + step <= max) {
            double buf[64];
            status = s->format->next(s, buf, step, &got, e);
            for (int64_t i = 0; status == TRA_OK && i < got; i++) out[(*n)++] = element(s->dtype, buf, i);
        }
    } else if (s->access == TRA_ACCESS_BOX) {
        tra_dims zero = {.n = s->shape.n}, all = s->fortran ? tra_reversed(&s->shape) : s->shape;
        tra_dims_product(&all, n);
        char buf[1024];
        status = s->format->box(s, &zero, &all, buf, e);
        for (int64_t i = 0; status == TRA_OK && i < *n; i++) out[i] = element(s->dtype, buf, i);
    } else {
        tra_item *x = calloc((size_t)s->least_room, sizeof *x);
        tra_places whole;
        int64_t got = 1;
        tra_places_of(&whole, &s->shape, &s->shape);
        for (int64_t i = 0; i < max; i++) out[i] = 0;
        while (status == TRA_OK && got > 0) {
            status = s->format->entries(s, &whole, x, s->least_room, &got, e);
            for (int64_t i = 0; status == TRA_OK && i < got; i++, ++*n)
                if (x[i].place < (uint64_t)max)
                    out[x[i].place] = tra_dtype_is_float(s->dtype) ? x[i].value.real : (double)x[i].value.whole;
        }
        free(x);
    }
    *shape = s->shape;
    tra_source_close(s);
    return status;
}

static tra_err err;
static double got[256];
static int64_t count;
static tra_dims shape;

static inline tra_status text(const char *suffix, const char *t) {
    return read_all(file_of(suffix, t, strlen(t)), &defaults, 3, got, 256, &count, &shape, &err);
}

#define MM "%%MatrixMarket matrix " /* how MatrixMarket files begin */

static inline uint64_t random64(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

__attribute__((destructor)) static void remove_files(void) {
    static const char *const suffixes[] = {".npy", ".csv", ".mtx", ".raw", ".xyz", ".tns", ".ttx", ".edges"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "/tmp/tra-test-%ld%s", (long)getpid(), suffixes[i]);
        unlink(path);
    }
}

#endif
