/* entries.c - blocks of a tensor from its entries in any order. */
#include "entries.h"

#include "../lib/model/rows.h"

#include <assert.h>
#include <string.h>

enum { RANGES = 1 << 16, FEW_RANGES = 64 };

int64_t tra_entries_need(const tra_source *s, bool fine) {
    int64_t most = s->most_entries;
    if (most < 0 && s->in.seekable)
        most = s->in.size / 2; /* a line has 4 bytes at least, and may stand for two entries */
    return tra_sorter_need(most, s->least_room, fine ? RANGES : FEW_RANGES);
}

tra_status tra_entries_sort(tra_source *s, const tra_places *p, const tra_entries_options *o, tra_sorter **out,
                            tra_err *e) {
    int64_t places = 0;
    if (!tra_dims_product(&p->shape, &places)) places = INT64_MAX;
    *out = tra_sorter_new(&(tra_sorter_options){.places = (uint64_t)places,
                                                .memory = o->memory,
                                                .most = s->most_entries,
                                                .least = s->least_room,
                                                .ranges = o->fine ? RANGES : FEW_RANGES,
                                                .output = o->output,
                                                .workers = tra_cores(),
                                                .real = tra_dtype_is_float(s->dtype),
                                                .or_values = s->dtype == TRA_BOOL,
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

enum {
    AVERAGE_ENTRIES = 1 << 19, /* of a block */
    MOST_ENTRIES = 1 << 22,
    CROWDED_FACTOR =
        16, /* entries are crowded when the limit makes more than so many times the blocks of the average */
    MANY_BLOCKS = 1 << 16,
};

typedef struct block_choice {
    const tra_dims *shape;
    tra_most_fn *most;
    const void *ctx;
    int64_t blocks_wanted; /* by the average */
    int64_t before;        /* blocks along the dimensions before d, which are cut to single indices */
    int d;                 /* the dimension that is being cut */
    tra_dims *block;
} block_choice;

/* The entries of the fullest block, with n indices of the dimension in a block. */
static int64_t most_entries_by(const block_choice *c, int64_t n) {
    c->block->v[c->d] = n;
    return c->most(c->ctx, c->block);
}

/* Halves n until no block has more than `most` entries; at least 1. */
static int64_t largest_within(const block_choice *c, int64_t n, int64_t most) {
    while (n > 1 && most_entries_by(c, n) > most) n /= 2;
    return n;
}

/* How many blocks there are, with n indices of the dimension in a block. */
static int64_t blocks_by(const block_choice *c, int64_t n) {
    return tra_mul_most(c->before, tra_ceil_div(c->shape->v[c->d], n));
}

/* Reduces n until the fullest block is small enough. Where entries crowd together, that makes the other blocks tiny:
 * then the fullest may have twice as many. And where a single index has too many entries, cutting it would cut all
 * indices along the next dimension: that is done only where there are few of them. */
static int64_t narrow_to_most(const block_choice *c, int64_t n, bool crowded) {
    int64_t least = largest_within(c, n, MOST_ENTRIES), alone;
    if (crowded && blocks_by(c, least) / CROWDED_FACTOR > c->blocks_wanted)
        least = largest_within(c, n, 2 * MOST_ENTRIES);
    if (least == 1 && blocks_by(c, 1) > MANY_BLOCKS && (alone = most_entries_by(c, 1)) > MOST_ENTRIES)
        least = largest_within(c, n, 2 * alone);
    return least;
}

void tra_block_for_entries(const tra_dims *shape, int64_t all, bool crowded, tra_most_fn *most, const void *ctx,
                           tra_dims *block) {
    int64_t blocks = tra_ceil_div(all, AVERAGE_ENTRIES);
    block_choice c = {.shape = shape, .most = most, .ctx = ctx, .blocks_wanted = blocks, .before = 1, .block = block};
    *block = *shape;
    for (int d = 0; d < shape->n; d++) block->v[d] = tra_max64(1, shape->v[d]);
    for (int d = c.d = 0; d < shape->n; c.d = ++d) {
        int64_t n = 1;
        while (2 * n <= shape->v[d] / tra_max64(1, blocks)) n *= 2;
        if (blocks <= 1) n = block->v[d];
        n = narrow_to_most(&c, n, crowded);
        bool small = most_entries_by(&c, n) <= MOST_ENTRIES && blocks <= shape->v[d];
        if (n > 1 || small) return;
        c.before = tra_mul_most(c.before, tra_max64(1, shape->v[d]));
        blocks = tra_ceil_div(blocks, tra_max64(1, shape->v[d]));
    }
}

static int64_t most_sorted(const void *ctx, const tra_dims *block) {
    int64_t n = 1;
    return tra_dims_product(block, &n) && n > 0 ? tra_sorter_most_in(ctx, (uint64_t)n) : 0;
}

void tra_entries_block(const tra_sorter *sorted, const tra_dims *shape, bool crowded, tra_dims *block) {
    tra_block_for_entries(shape, tra_sorter_count_in(sorted, 0, UINT64_MAX), crowded, most_sorted, sorted, block);
}

/* The error for a place at which the sorter failed, or `status` where it failed for another reason. */
static tra_status refuse_sorted(const tra_source *s, const tra_sorter *sorted, const tra_places *p, tra_status status,
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

/* Refuses a sum that the type does not hold. */
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
        if (status != TRA_OK) return refuse_sorted(s, sorted, p, status, e);
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
        if (status != TRA_OK) return refuse_sorted(s, sorted, p, status, e);
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
    if (status != TRA_OK) return refuse_sorted(s, sorted, p, status, e);
    for (int64_t i = 0; i < *got; i++) TRA_TRY(check_sum(s, p, &to[i], e));
    return TRA_OK;
}
