/* raw.c - elements and nothing else: shape, type, order and byte order come from options. */
#include "formats.h"

static tra_status open_raw(tra_source *s, tra_err *e) {
    if (!s->o.has_shape || !s->o.has_dtype)
        return tra_fail(
            e, TRA_USAGE,
            "%s: a raw file does not say what it holds: give --shape, as in 1000x2000, and --dtype f64 or f32",
            s->spec);
    tra_flat *f = tra_new(s->arena, tra_flat);
    s->shape = s->o.shape;
    s->fortran = s->o.fortran && s->shape.n > 1;
    s->dtype = s->o.dtype;
    f->elem = tra_elem_of(s->dtype);
    f->swap = s->o.big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    f->dims = s->fortran ? tra_reversed(&s->shape) : s->shape;
    int64_t n, bytes;
    char shape[TRA_DIMTEXT];
    if (!tra_dims_product(&s->shape, &n) || !tra_mul(n, (int64_t)tra_elem_size(f->elem), &bytes))
        return tra_fail(e, TRA_USAGE, "--shape %s: too many elements", tra_shape_text(&s->shape, shape));
    if (s->in.seekable && bytes != s->in.size)
        return tra_fail(e, TRA_INPUT, "%s: has %" PRId64 " bytes, but %s elements of type %s are %" PRId64, s->spec,
                        s->in.size, tra_shape_text(&s->shape, shape), tra_elem_name(f->elem), bytes);
    s->access = s->in.seekable ? TRA_ACCESS_BOX : TRA_ACCESS_STREAM;
    s->type_text = tra_elem_name(f->elem);
    for (int d = 0; d < (s->grain.n = s->shape.n); d++) s->grain.v[d] = 1;
    tra_flat_init(f, s->arena, s->o.memory);
    s->state = f;
    return TRA_OK;
}

/* Nothing can be lost: the type stored is the file's. */
static tra_status box(tra_source *s, const tra_dims *start, const tra_dims *count, void *buf, tra_err *e) {
    tra_losses none = {0};
    return tra_flat_box(s->state, s->in.fd, s->in.base, s->in.name, start, count, s->dtype, buf, &none, e);
}

static tra_status next(tra_source *s, void *buf, int64_t want, int64_t *got, tra_err *e) {
    tra_losses none = {0};
    return tra_flat_next(s->state, &s->in, s->dtype, buf, want, got, &none, e);
}

const tra_format tra_format_raw = {
    .name = "raw",
    .suffixes = ".raw .bin",
    .binary = true,
    .open = open_raw,
    .box = box,
    .next = next,
    .put = tra_flat_put,
};
