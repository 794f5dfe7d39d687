/* raw.c - elements and nothing else: shape, type, order and byte order come from options. */
#include "reading.h"
#include "formats.h"

static tra_status open_raw(tra_source *s, tra_err *e) {
    if (!s->o.has_shape || !s->o.has_elem)
        return tra_fail(e, TRA_USAGE,
                        "%s: a raw file does not say what it holds: give --shape, as in 1000x2000, and --dtype, as in "
                        "f64",
                        s->spec);
    tra_flat *f = tra_new(s->arena, tra_flat);
    s->shape = s->o.shape;
    s->fortran = s->o.fortran && s->shape.n > 1;
    f->elem = s->o.elem;
    s->dtype = tra_elem_dtype(f->elem);
    f->swap = s->o.big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    f->fortran = s->fortran;
    f->dims = s->fortran ? tra_reversed(&s->shape) : s->shape;
    if (f->swap && tra_elem_size(f->elem) > sizeof(double))
        return tra_fail(e, TRA_USAGE, "%s: %s of another byte order cannot be read", s->spec, tra_elem_name(f->elem));
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

const tra_format tra_format_raw = {
    .name = "raw",
    .says = "elements as they are in memory; with raw: before an HDF5 file the numbers as they are stored",
    .suffixes = ".raw .bin",
    .binary = true,
    .typeless = true,
    .reads = TRA_OPTIONS(TRA_READS_COMMON, &tra_option_shape, &tra_option_endian, &tra_option_order),
    .open = open_raw,
    .box = tra_flat_source_box,
    .next = tra_flat_source_next,
    .put = tra_flat_put,
};
