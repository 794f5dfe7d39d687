/* npz_write.c - what scipy.sparse.load_npz reads: a csr matrix, coo where there are far more rows than entries; of
 * other ranks a coo array, as scipy 1.13 has them.
 *
 * An archive has its arrays one after the other, and entries come with an index and a value each. So the arrays are
 * kept in a scratch file, each where it will have its room, until the last entry has come. */
#include "npz_int.h"

#include "zip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PART = 64 << 10 };

/* An array on its way to the scratch file. */
typedef struct array {
    const char *name;
    tra_str header;
    int64_t begin, at; /* in the scratch file */
    uint32_t crc;
    char *buf;
    size_t n;
} array;

typedef struct writer {
    int fd;
    char *where;
    bool matrix;
    tra_dtype index; /* i32 or i64 */
    int arrays;
    array array[TRA_MAXDIM + 2];
    int64_t row, entries; /* of the matrix: the row that is open; all that have come */
    int64_t end;
    tra_zip *zip;
} writer;

static void add_array(writer *w, const char *name, tra_dtype t, const tra_dims *shape, int parts) {
    /* Of several parts the first has the header, the others follow it in the archive. */
    int64_t n = 1;
    for (int d = parts > 1; d < shape->n; d++) n *= shape->v[d];
    for (int i = 0; i < parts; i++) {
        array *a = &w->array[w->arrays++];
        *a = (array){.name = i == 0 ? name : NULL, .begin = w->end, .at = w->end, .buf = tra_malloc(PART)};
        if (i == 0) tra_npy_header(&a->header, t, shape);
        a->crc = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)a->header.s, (uInt)a->header.n);
        w->end += n * (int64_t)tra_dtype_size(t);
    }
}

static tra_status flush(writer *w, array *a, tra_err *e) {
    TRA_TRY(tra_pwrite(w->fd, a->buf, a->n, a->at, w->where, e));
    a->crc = (uint32_t)crc32(a->crc, (const Bytef *)a->buf, (uInt)a->n);
    a->at += (int64_t)a->n;
    a->n = 0;
    return TRA_OK;
}

static tra_status put(writer *w, array *a, const void *value, size_t size, tra_err *e) {
    if (PART - a->n < size) TRA_TRY(flush(w, a, e));
    memcpy(a->buf + a->n, value, size);
    a->n += size;
    return TRA_OK;
}

static tra_status put_index(writer *w, int i, int64_t v, tra_err *e) {
    int32_t small = (int32_t)v;
    return w->index == TRA_I32 ? put(w, &w->array[i], &small, sizeof small, e) : put(w, &w->array[i], &v, sizeof v, e);
}

tra_status npz_prepare(tra_sink *k, const char *to, tra_err *e) {
    (void)to;
    if (k->shape.n == 0) return tra_fail(e, TRA_INPUT, "a scalar has no coordinates: export it to npy, csv or raw");
    k->entries = true;
    k->state = tra_new(k->arena, writer);
    ((writer *)k->state)->fd = -1;
    return TRA_OK;
}

enum { DATA, INDICES, INDPTR, COORDS = INDICES };

tra_status npz_begin(tra_sink *k, tra_err *e) {
    writer *w = k->state;
    int64_t largest = k->count;
    bool coo = k->shape.n == 2 && k->shape.v[0] >> 2 > k->count + (1 << 20);
    w->matrix = k->shape.n == 2 && !coo;
    for (int d = 0; d < k->shape.n; d++) largest = tra_max64(largest, k->shape.v[d]);
    w->index = largest <= INT32_MAX ? TRA_I32 : TRA_I64;
    tra_dims n = {.n = 1, .v = {k->count}}, rows = {.n = 1, .v = {k->shape.v[0] + 1}},
             coords = {.n = 2, .v = {k->shape.n, k->count}};
    add_array(w, "data.npy", k->dtype, &n, 1);
    if (w->matrix) {
        add_array(w, "indices.npy", w->index, &n, 1);
        add_array(w, "indptr.npy", w->index, &rows, 1);
    } else if (coo) {
        add_array(w, "row.npy", w->index, &n, 1);
        add_array(w, "col.npy", w->index, &n, 1);
    } else {
        add_array(w, "coords.npy", w->index, &coords, k->shape.n);
    }
    TRA_TRY(tra_scratch_open(k->to, &w->fd, &w->where, e));
    w->zip = tra_zip_new(&k->out);
    return w->matrix ? put_index(w, INDPTR, 0, e) : TRA_OK;
}

tra_status npz_entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e) {
    writer *w = k->state;
    TRA_TRY(put(w, &w->array[DATA], value, tra_dtype_size(k->dtype), e));
    if (w->matrix) {
        for (; w->row < at->v[0]; w->row++) TRA_TRY(put_index(w, INDPTR, w->entries, e));
        TRA_TRY(put_index(w, INDICES, at->v[1], e));
    } else {
        for (int d = 0; d < at->n; d++) TRA_TRY(put_index(w, COORDS + d, at->v[d], e));
    }
    w->entries++;
    return TRA_OK;
}

/* A small array as a member of its own. */
static tra_status small(tra_sink *k, const char *name, const char *head, size_t nhead, const void *data, size_t n,
                        tra_err *e) {
    writer *w = k->state;
    uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)head, (uInt)nhead);
    crc = (uint32_t)crc32(crc, data, (uInt)n);
    TRA_TRY(tra_zip_member(w->zip, name, (int64_t)(nhead + n), crc, e));
    TRA_TRY(tra_newfile_write(&k->out, head, nhead, e));
    return tra_newfile_write(&k->out, data, n, e);
}

static tra_status copy(tra_sink *k, const array *a, tra_err *e) {
    writer *w = k->state;
    for (int64_t at = a->begin, n; at < a->at; at += n) {
        n = tra_min64(PART, a->at - at);
        TRA_TRY(tra_pread(w->fd, w->array[0].buf, (size_t)n, at, w->where, e));
        TRA_TRY(tra_newfile_write(&k->out, w->array[0].buf, (size_t)n, e));
    }
    return TRA_OK;
}

tra_status npz_end(tra_sink *k, tra_err *e) {
    static const char text[] = "\x93NUMPY\1\0\x76\0{'descr': '|S3', 'fortran_order': False, 'shape': (), }";
    writer *w = k->state;
    char head[128];
    tra_str shape = {0};
    tra_dims n = {.n = 1, .v = {k->shape.n}};
    for (; w->matrix && w->row < k->shape.v[0]; w->row++) TRA_TRY(put_index(w, INDPTR, w->entries, e));
    for (int i = 0; i < w->arrays; i++) TRA_TRY(flush(w, &w->array[i], e));
    for (int i = 0; i < w->arrays;) { /* an array with the parts that follow it */
        int next = i + 1;
        int64_t bytes = (int64_t)w->array[i].header.n + w->array[i].at - w->array[i].begin;
        uint32_t crc = w->array[i].crc;
        for (; next < w->arrays && !w->array[next].name; next++) {
            int64_t part = w->array[next].at - w->array[next].begin;
            crc = (uint32_t)crc32_combine(crc, w->array[next].crc, part);
            bytes += part;
        }
        TRA_TRY(tra_zip_member(w->zip, w->array[i].name, bytes, crc, e));
        TRA_TRY(tra_newfile_write(&k->out, w->array[i].header.s, w->array[i].header.n, e));
        for (; i < next; i++) TRA_TRY(copy(k, &w->array[i], e));
    }
    tra_npy_header(&shape, TRA_I64, &n);
    tra_status s = small(k, "shape.npy", shape.s, shape.n, k->shape.v, sizeof *k->shape.v * (size_t)k->shape.n, e);
    tra_str_free(&shape);
    TRA_TRY(s);
    memset(head, ' ', sizeof head);
    memcpy(head, text, sizeof text - 1);
    head[sizeof head - 1] = '\n';
    TRA_TRY(small(k, "format.npy", head, sizeof head, w->matrix ? "csr" : "coo", 3, e));
    if (k->shape.n != 2) { /* not a matrix but an array, which may have any rank */
        tra_str flag = {0};
        tra_dims none = {.n = 0};
        tra_npy_header(&flag, TRA_BOOL, &none);
        s = small(k, "_is_array.npy", flag.s, flag.n, "\1", 1, e);
        tra_str_free(&flag);
        TRA_TRY(s);
    }
    return tra_zip_end(w->zip, e);
}

void npz_discard(tra_sink *k) {
    writer *w = k->state;
    for (int i = 0; i < w->arrays; i++) {
        tra_str_free(&w->array[i].header);
        free(w->array[i].buf);
    }
    if (w->fd >= 0) close(w->fd);
    free(w->where);
    tra_zip_free(w->zip);
}
