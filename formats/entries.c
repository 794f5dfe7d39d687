/* entries.c - blocks of a tensor from its entries in any order. */
#include "entries.h"

#include "../lib/relation/rows.h"

#include <assert.h>
#include <string.h>

enum { GROUPS = 1 << 16, FEW_GROUPS = 64 };

int64_t tra_entries_need(const tra_source *s, bool fine) {
    int64_t most = s->announced >= 0 ? s->announced : s->in.seekable ? s->in.size / 2 : -1; /* 4 bytes each, mirrored */
    return tra_sorter_need(most, s->at_once, fine ? GROUPS : FEW_GROUPS);
}

tra_status tra_entries_sort(tra_source *s, const tra_places *p, const tra_entries_options *o, tra_sorter **out,
                            tra_err *e) {
    int64_t places = 0;
    if (!tra_dims_product(&p->shape, &places)) places = INT64_MAX;
    *out = tra_sorter_new(&(tra_sorter_options){.places = (uint64_t)places,
                                                .memory = o->memory,
                                                .most = s->announced,
                                                .least = s->at_once,
                                                .groups = o->fine ? GROUPS : FEW_GROUPS,
                                                .output = o->output,
                                                .workers = tra_cores(),
                                                .real = tra_dtype_is_float(s->dtype),
                                                .any = s->dtype == TRA_BOOL,
                                                .drop_zeros = o->drop_zeros,
                                                .no_duplicate = o->no_duplicate});
    for (;;) {
        tra_item *to;
        int64_t room, got;
        TRA_TRY(tra_sorter_room(*out, &to, &room, e));
        TRA_TRY(s->format->entries(s, p, to, room, &got, e));
        if (got == 0) return tra_sorter_sort(*out, e);
        tra_sorter_added(*out, got);
    }
}

enum { GOOD = 1 << 19, MOST = 1 << 22, MANY = 16, LOTS = 1 << 16 };

typedef struct choosing {
    const tra_dims *shape;
    tra_most_fn *most;
    const void *ctx;
    int64_t wanted; /* blocks, by the average */
    int64_t before; /* along the dimensions that are cut already */
    int d;
    tra_dims *block;
} choosing;

static int64_t most_of(const choosing *c, int64_t n) {
    c->block->v[c->d] = n;
    return c->most(c->ctx, c->block);
}

/* The largest number of indices, from n on down, by which no block has more entries than that. */
static int64_t within(const choosing *c, int64_t n, int64_t most) {
    while (n > 1 && most_of(c, n) > most) n /= 2;
    return n;
}

static int64_t blocks_by(const choosing *c, int64_t n) {
    return tra_mul_most(c->before, tra_ceil_div(c->shape->v[c->d], n));
}

/* Where entries crowd together, what leaves the fullest block small makes the others tiny: then it may be twice as
 * full. And one index that alone has too many is cut along the next dimension only where few are: all would be. */
static int64_t narrow(const choosing *c, int64_t n, bool crowded) {
    int64_t least = within(c, n, MOST), alone;
    if (crowded && blocks_by(c, least) / MANY > c->wanted) least = within(c, n, 2 * MOST);
    if (least == 1 && blocks_by(c, 1) > LOTS && (alone = most_of(c, 1)) > MOST) least = within(c, n, 2 * alone);
    return least;
}

void tra_block_for_entries(const tra_dims *shape, int64_t all, bool crowded, tra_most_fn *most, const void *ctx,
                           tra_dims *block) {
    int64_t blocks = tra_ceil_div(all, GOOD);
    choosing c = {.shape = shape, .most = most, .ctx = ctx, .wanted = blocks, .before = 1, .block = block};
    *block = *shape;
    for (int d = 0; d < shape->n; d++) block->v[d] = tra_max64(1, shape->v[d]);
    for (int d = c.d = 0; d < shape->n; c.d = ++d) {
        int64_t n = 1;
        while (2 * n <= shape->v[d] / tra_max64(1, blocks)) n *= 2;
        if (blocks <= 1) n = block->v[d];
        n = narrow(&c, n, crowded);
        bool small = most_of(&c, n) <= MOST && blocks <= shape->v[d];
        if (n > 1 || small) return;
        c.before = tra_mul_most(c.before, tra_max64(1, shape->v[d]));
        blocks = tra_ceil_div(blocks, tra_max64(1, shape->v[d]));
    }
}

static int64_t most_sorted(const void *ctx, const tra_dims *block) {
    int64_t n = 1;
    return tra_dims_product(block, &n) && n > 0 ? tra_sorter_most(ctx, (uint64_t)n) : 0;
}

void tra_entries_block(const tra_sorter *sorted, const tra_dims *shape, bool crowded, tra_dims *block) {
    tra_block_for_entries(shape, tra_sorter_among(sorted, 0, UINT64_MAX), crowded, most_sorted, sorted, block);
}

/* What went wrong at a place. */
static tra_status explain(const tra_source *s, const tra_sorter *sorted, const tra_places *p, tra_status status,
                          tra_err *e) {
    uint64_t place;
    tra_dims at;
    char text[TRA_DIMTEXT];
    tra_sorter_failure failure = tra_sorter_failed(sorted, &place);
    if (failure == TRA_SORTER_FINE) return status;
    tra_place_at(p, place, &at);
    for (int d = 0; d < at.n; d++) at.v[d] += s->base;
    tra_dims_text(&at, "(", ",", ")", text, sizeof text);
    if (failure == TRA_SORTER_TWICE)
        return tra_fail(e, TRA_INPUT, "%s: element %s is given twice (--duplicates sum adds them up)", s->spec, text);
    return tra_fail(e, TRA_INPUT, "%s: element %s is given more than once, and i64 does not hold the sum", s->spec,
                    text);
}

/* The sum at a place is none of the type. */
static tra_status check_sum(const tra_source *s, const tra_places *p, const tra_item *x, tra_err *e) {
    tra_dims at;
    char text[TRA_DIMTEXT];
    if (tra_dtype_is_float(s->dtype) || tra_dtype_holds(s->dtype, x->value.whole)) return TRA_OK;
    tra_place_at(p, x->place, &at);
    for (int d = 0; d < at.n; d++) at.v[d] += s->base;
    return tra_fail(e, TRA_INPUT, "%s: the sum %" PRId64 " of element %s does not fit %s", s->spec, x->value.whole,
                    tra_dims_text(&at, "(", ",", ")", text, sizeof text), tra_dtype_name(s->dtype));
}

enum { BATCH = 512 };

tra_status tra_entries_dense(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key, void *data,
                             tra_err *e) {
    tra_dims ext;
    int64_t n = 0, got = BATCH;
    uint64_t begin = tra_place_block(p, key, &ext);
    tra_dims_product(&ext, &n);
    memset(data, 0, (size_t)n * tra_dtype_size(s->dtype));
    while (got == BATCH) {
        tra_item batch[BATCH];
        tra_status status = tra_sorter_take(sorted, begin + (uint64_t)n, batch, BATCH, &got, e);
        if (status != TRA_OK) return explain(s, sorted, p, status, e);
        for (int64_t i = 0; i < got; i++) {
            TRA_TRY(check_sum(s, p, &batch[i], e));
            s->overflow += tra_put_value(s->dtype, data, (int64_t)(batch[i].place - begin), batch[i].value);
        }
    }
    return TRA_OK;
}

tra_status tra_entries_rows(tra_source *s, tra_sorter *sorted, const tra_places *p, const tra_dims *key, int64_t most,
                            tra_cell *cell, int64_t *bytes, tra_err *e) {
    tra_dims ext;
    int64_t n = 0, got = BATCH, row = -1;
    uint64_t begin = tra_place_block(p, key, &ext), end_of_row = 0;
    tra_dims_product(&ext, &n);
    uint64_t last = ext.n ? (uint64_t)ext.v[ext.n - 1] : 1;
    tra_rows_maker m = tra_rows_make(cell, tra_min64(most, tra_rows_box(&ext)), most);
    while (got == BATCH) {
        tra_item batch[BATCH];
        tra_status status = tra_sorter_take(sorted, begin + (uint64_t)n, batch, BATCH, &got, e);
        if (status != TRA_OK) return explain(s, sorted, p, status, e);
        for (int64_t i = 0; i < got; i++) {
            TRA_TRY(check_sum(s, p, &batch[i], e));
            uint64_t place = batch[i].place - begin;
            if (row < 0 || place >= end_of_row) {
                row = (int64_t)(place / last);
                end_of_row = ((uint64_t)row + 1) * last;
                tra_rows_open(&m, row);
            }
            void *to = tra_rows_next(&m, (uint32_t)(place - (end_of_row - last)));
            s->overflow += tra_put_value(s->dtype, to, 0, batch[i].value);
        }
    }
    *bytes = tra_rows_made(&m);
    return TRA_OK;
}

tra_status tra_entries_take(tra_source *s, tra_sorter *sorted, const tra_places *p, tra_item *to, int64_t want,
                            int64_t *got, tra_err *e) {
    tra_status status = tra_sorter_take(sorted, UINT64_MAX, to, want, got, e);
    if (status != TRA_OK) return explain(s, sorted, p, status, e);
    for (int64_t i = 0; i < *got; i++) TRA_TRY(check_sum(s, p, &to[i], e));
    return TRA_OK;
}
