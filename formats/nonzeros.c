/* nonzeros.c - the elements of a source that are not zero, as entries.
 *
 * Entries may come in any order, so boxes are read as they lie in the file, along its fast dimensions first. */
#include "nonzeros.h"

#include <string.h>

typedef struct nonzeros {
    tra_source *from;
    tra_dims storage, box, boxes, at; /* storage coordinates; at: the box that comes next, of so many */
    bool more;
    int64_t next;             /* stream: the element that comes next, of the whole */
    char *data, *unconverted; /* the elements that were read last; before they were converted */
    int64_t cap, loaded, taken;
    tra_dims start, count; /* box: of those; stream: of the whole */
    int64_t first;         /* stream: the number of the first */
} nonzeros;

/* The tensor's coordinates of element i of those that were read. */
static void place(const nonzeros *x, int64_t i, tra_dims *at) {
    bool stream = x->from->access == TRA_ACCESS_STREAM;
    tra_unlinear(stream ? &x->storage : &x->count, stream ? x->first + i : i, at);
    for (int d = 0; !stream && d < at->n; d++) at->v[d] += x->start.v[d];
    if (x->from->fortran) *at = tra_reversed(at);
}

static tra_status read_box(nonzeros *x, void *to, int64_t *n, tra_err *e) {
    tra_source *s = x->from;
    x->start.n = x->count.n = x->storage.n;
    for (int d = 0; d < x->storage.n; d++) {
        x->start.v[d] = x->at.v[d] * x->box.v[d];
        x->count.v[d] = tra_min64(x->box.v[d], x->storage.v[d] - x->start.v[d]);
    }
    tra_dims_product(&x->count, n);
    x->more = tra_next(&x->boxes, &x->at);
    return s->format->box(s, &x->start, &x->count, to, e);
}

/* The next elements; none are left: have is 0. */
static tra_status load_elements(nonzeros *x, tra_dtype want, tra_err *e) {
    tra_source *s = x->from;
    void *to = x->unconverted ? x->unconverted : x->data;
    x->loaded = x->taken = 0;
    if (s->access == TRA_ACCESS_STREAM) {
        x->first = x->next;
        TRA_TRY(s->format->next(s, to, x->cap, &x->loaded, e));
        x->next += x->loaded;
    } else if (x->more) {
        TRA_TRY(read_box(x, to, &x->loaded, e));
    }
    if (!x->unconverted || x->loaded == 0) return TRA_OK;
    tra_losses loss = {0};
    tra_elem elem = tra_elem_of(s->dtype);
    int64_t bad = tra_elem_convert(elem, false, x->unconverted, want, x->data, x->loaded, &loss);
    s->inexact += loss.inexact;
    s->overflow += loss.overflow;
    if (bad < 0) return TRA_OK;
    tra_dims at;
    place(x, bad, &at);
    return tra_elem_refuse(s->spec, &at, elem, x->unconverted + (size_t)bad * tra_dtype_size(s->dtype), want, e);
}

static tra_status entries(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e) {
    nonzeros *x = s->state;
    tra_dims at;
    *got = 0;
    while (*got < room) {
        if (x->taken == x->loaded) {
            if (*got > 0 && x->loaded == 0) break;
            TRA_TRY(load_elements(x, s->dtype, e));
            if (x->loaded == 0) break;
        }
        for (; x->taken < x->loaded && *got < room; x->taken++) {
            if (tra_value_is_zero(s->dtype, x->data, x->taken)) continue;
            place(x, x->taken, &at);
            to[*got].place = tra_place_of(p, at.v);
            to[(*got)++].value = tra_number_of(s->dtype, x->data, x->taken);
        }
    }
    return TRA_OK;
}

static const tra_format format = {.name = "elements", .entries = entries};

/* The largest box of so many elements: from the source's grain on, along the fast dimensions first. */
static void choose_box(nonzeros *x) {
    const tra_dims *shape = &x->storage;
    int64_t n = 1;
    x->box.n = x->boxes.n = x->at.n = shape->n;
    for (int d = shape->n - 1; d >= 0; d--) {
        int64_t grain = x->from->grain.n == shape->n ? x->from->grain.v[d] : 1;
        x->box.v[d] = tra_max64(1, tra_min64(tra_min64(grain, shape->v[d]), x->cap / n));
        n *= x->box.v[d];
    }
    for (int d = shape->n - 1; d >= 0; d--) {
        int64_t rest = n / x->box.v[d], most = x->cap / rest;
        x->box.v[d] = most >= shape->v[d] ? tra_max64(1, shape->v[d]) : most / x->box.v[d] * x->box.v[d];
        n = rest * x->box.v[d];
        if (x->box.v[d] < shape->v[d]) break;
    }
    x->more = true;
    for (int d = 0; d < shape->n; d++) {
        x->boxes.v[d] = tra_ceil_div(shape->v[d], x->box.v[d]);
        x->more = x->more && shape->v[d] > 0;
    }
}

void tra_nonzeros_of(tra_source *from, tra_dtype dtype, int64_t memory, tra_arena *a, tra_source *out) {
    enum { MOST = 1 << 18 };
    nonzeros *x = tra_new(a, nonzeros);
    size_t size = tra_dtype_size(dtype), source = from->dtype == dtype ? 0 : tra_dtype_size(from->dtype);
    int64_t all;
    *x = (nonzeros){.from = from};
    x->storage = from->fortran ? tra_reversed(&from->shape) : from->shape;
    if (!tra_dims_product(&from->shape, &all)) all = INT64_MAX;
    x->cap = tra_max64(1024, tra_min64(MOST, memory / 16 / (int64_t)(size + source)));
    x->cap = tra_max64(1, tra_min64(x->cap, all));
    choose_box(x);
    x->data = tra_arena_alloc(a, (size_t)x->cap * size);
    x->unconverted = source ? tra_arena_alloc(a, (size_t)x->cap * source) : NULL;
    if (from->access == TRA_ACCESS_BOX) from->box_room = tra_arena_alloc(a, from->box_scratch + 1);
    *out = *from;
    out->format = &format;
    out->state = x;
    out->access = TRA_ACCESS_ENTRIES;
    out->dtype = dtype;
    out->held += (size_t)x->cap * (size + source) + (from->access == TRA_ACCESS_BOX ? from->box_scratch : 0);
    out->most_entries = all;
    out->least_room = 1;
    out->base = 0;
}
