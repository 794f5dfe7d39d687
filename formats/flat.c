/* flat.c - a flat array of elements in a file or stream. */
#include "formats.h"

#include <assert.h>
#include <string.h>

void tra_flat_init(tra_flat *f, tra_arena *a, int64_t memory) {
    f->cap = (size_t)tra_max64(4096, tra_min64(1 << 20, memory / 16));
    f->staging = tra_arena_alloc(a, f->cap);
    int64_t n;
    bool ok = tra_dims_product(&f->dims, &n);
    assert(ok);
    (void)ok;
    f->left = n;
}

/* Converts n elements, of which the first is number `at` of the array. */
static tra_status convert(const tra_flat *f, const char *name, int64_t at, void *from, tra_dtype t, void *to, int64_t n,
                          tra_losses *loss, tra_err *e) {
    int64_t bad = tra_elem_convert(f->elem, f->swap, from, t, to, n, loss);
    if (bad < 0) return TRA_OK;
    tra_dims place;
    tra_unlinear(&f->dims, at + bad, &place);
    if (f->fortran) place = tra_reversed(&place);
    return tra_elem_refuse(name, &place, f->elem, (char *)from + (size_t)bad * tra_elem_size(f->elem), t, e);
}

/* n elements, of which the first is number `at` of the array; base: of this, in the file. */
static tra_status run(tra_flat *f, int fd, int64_t base, const char *name, int64_t at, tra_dtype t, char *to, int64_t n,
                      tra_losses *loss, tra_err *e) {
    int64_t size = (int64_t)tra_elem_size(f->elem), tsize = (int64_t)tra_dtype_size(t);
    if (size == tsize) { /* straight to its place, converted there */
        TRA_TRY(tra_pread(fd, to, (size_t)(n * size), base + at * size, name, e));
        return convert(f, name, at, to, t, to, n, loss, e);
    }
    for (int64_t step = (int64_t)f->cap / size; n > 0; n -= step, at += step, to += step * tsize) {
        if (step > n) step = n;
        TRA_TRY(tra_pread(fd, f->staging, (size_t)(step * size), base + at * size, name, e));
        TRA_TRY(convert(f, name, at, f->staging, t, to, step, loss, e));
    }
    return TRA_OK;
}

tra_status tra_flat_box(tra_flat *f, int fd, int64_t base, const char *name, const tra_dims *start,
                        const tra_dims *count, tra_dtype t, void *buf, tra_losses *loss, tra_err *e) {
    int64_t stride[TRA_MAXDIM], total;
    if (!tra_dims_product(count, &total) || total == 0) return TRA_OK;
    tra_strides(&f->dims, stride);
    /* Dimensions that are read whole join the next slower one in one run. */
    int d = count->n;
    int64_t len = 1;
    while (d > 0) {
        d--;
        len *= count->v[d];
        if (count->v[d] != f->dims.v[d]) break;
    }
    tra_dims outer = {.n = d}, i = {.n = d};
    memcpy(outer.v, count->v, (size_t)d * sizeof outer.v[0]);
    char *to = buf;
    int64_t first = 0;
    for (int k = 0; k < count->n; k++) first += start->v[k] * stride[k];
    do {
        int64_t at = first;
        for (int k = 0; k < d; k++) at += i.v[k] * stride[k];
        TRA_TRY(run(f, fd, base + f->offset, name, at, t, to, len, loss, e));
        to += len * (int64_t)tra_dtype_size(t);
    } while (tra_next(&outer, &i));
    return TRA_OK;
}

static tra_status flat_next(tra_flat *f, tra_stream *in, tra_dtype t, void *buf, int64_t want, int64_t *got,
                            tra_losses *loss, tra_err *e) {
    int64_t size = (int64_t)tra_elem_size(f->elem), tsize = (int64_t)tra_dtype_size(t);
    *got = want = tra_min64(want, f->left);
    int64_t at = 0;
    tra_dims_product(&f->dims, &at);
    at -= f->left;
    f->left -= want;
    char *to = buf;
    if (size == tsize) {
        TRA_TRY(tra_stream_take(in, to, (size_t)(want * size), e));
        TRA_TRY(convert(f, in->name, at, to, t, to, want, loss, e));
        want = 0;
    }
    for (int64_t step = (int64_t)f->cap / size; want > 0; want -= step, at += step, to += step * tsize) {
        if (step > want) step = want;
        TRA_TRY(tra_stream_take(in, f->staging, (size_t)(step * size), e));
        TRA_TRY(convert(f, in->name, at, f->staging, t, to, step, loss, e));
    }
    if (*got == 0) {
        size_t more;
        TRA_TRY(tra_stream_need(in, 1, &more, e));
        if (more > 0)
            return tra_fail(e, TRA_INPUT, "%s: goes on after the last element, at byte %" PRId64, in->name,
                            tra_stream_position(in));
    }
    return TRA_OK;
}

tra_status tra_flat_source_box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e) {
    tra_losses loss = {0};
    TRA_TRY(tra_flat_box(s->state, s->in.fd, s->in.base, s->in.name, start, count, s->dtype, buf, &loss, e));
    s->inexact += loss.inexact;
    s->overflow += loss.overflow;
    return TRA_OK;
}

tra_status tra_flat_source_next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    tra_losses loss = {0};
    TRA_TRY(flat_next(s->state, &s->in, s->dtype, buf, want, got, &loss, e));
    s->inexact += loss.inexact;
    s->overflow += loss.overflow;
    return TRA_OK;
}

tra_status tra_flat_put(tra_sink *k, const void *data, int64_t n, tra_err *e) {
    return tra_newfile_write(&k->out, data, (size_t)n * tra_dtype_size(k->dtype), e);
}
