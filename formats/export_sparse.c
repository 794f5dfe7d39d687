/* export_sparse.c - the entries of a stored relation in row-major order.
 *
 * Blocks that lie one after the other in that order (some rows by all columns) are read one by one. Of others the
 * blocks of a band (those of the same key along the first dimension that is cut) are sorted together, in bounded
 * memory. */
#include "export_int.h"

#include "../lib/model/rows.h"
#include "sorter.h"

#include <string.h>

typedef struct sparse {
    tra_sink *sink;
    tra_view *view;
    int64_t memory;
    tra_dims offset; /* of the present block in the tensor */
} sparse;

static tra_status load(sparse *x, int64_t ordinal, tra_err *e) {
    tra_view_offset(x->view, ordinal, &x->offset);
    return tra_view_load(x->view, ordinal, e);
}

typedef tra_status entry_fn(sparse *x, const tra_dims *at, const void *value, void *ctx, tra_err *e);

static tra_status each_entry(sparse *x, entry_fn *fn, void *ctx, tra_err *e) {
    tra_cell cell = tra_view_cell(x->view);
    tra_rows_view rows = tra_rows_of(&cell);
    tra_dims box = cell.array.ext, row, at = x->offset;
    int r = box.n, lead = at.n - r;
    if (box.n > 0) box.n--;
    for (int64_t i = 0; i < rows.nrows; i++) {
        tra_unlinear(&box, rows.row[i], &row);
        for (int d = 0; d < box.n; d++) at.v[lead + d] = x->offset.v[lead + d] + row.v[d];
        for (int64_t k = rows.begin[i]; k < rows.begin[i + 1]; k++) {
            if (r > 0) at.v[at.n - 1] = x->offset.v[at.n - 1] + (int64_t)rows.column[k];
            TRA_TRY(fn(x, &at, rows.value + (size_t)k * rows.size, ctx, e));
        }
    }
    return TRA_OK;
}

static tra_status put_entry(sparse *x, const tra_dims *at, const void *value, void *ctx, tra_err *e) {
    (void)ctx;
    return x->sink->format->entry(x->sink, at, value, e);
}

static tra_status count_entry(sparse *x, const tra_dims *at, const void *value, void *ctx, tra_err *e) {
    (void)at;
    (void)value;
    (void)ctx;
    (void)e;
    x->sink->count++;
    return TRA_OK;
}

/* Known of files that tra wrote; else they are counted. */
static tra_status count(sparse *x, tra_err *e) {
    const tra_type *t = tra_rel_type(x->view->rel);
    if (t->entries && t->entries->of) {
        for (int64_t i = 0; i < t->cat->n; i++) x->sink->count += t->entries->of[i];
        return TRA_OK;
    }
    for (int64_t i = 0; i < t->cat->n; i++) {
        TRA_TRY(load(x, i, e));
        TRA_TRY(each_entry(x, count_entry, NULL, e));
    }
    return TRA_OK;
}

/* ---- bands ----------------------------------------------------------------------------------------------------- */

typedef struct band {
    const tra_places *places; /* row-major */
    tra_sorter *sorter;
    tra_item *to;
    int64_t room, n; /* of what the sorter has lent, and how much of it is filled */
} band;

static tra_status lend(band *b, tra_err *e) {
    tra_sorter_added(b->sorter, b->n);
    b->n = 0;
    return tra_sorter_room(b->sorter, &b->to, &b->room, e);
}

static tra_status sort_entry(sparse *x, const tra_dims *at, const void *value, void *ctx, tra_err *e) {
    band *b = ctx;
    if (b->n == b->room) TRA_TRY(lend(b, e));
    b->to[b->n] = (tra_item){tra_place_of(b->places, at->v), {0}};
    memcpy(&b->to[b->n++].value, value, tra_dtype_size(x->sink->dtype));
    return TRA_OK;
}

static tra_status put_sorted(sparse *x, band *b, tra_err *e) {
    int64_t got = 1;
    while (got > 0) {
        tra_item batch[256];
        TRA_TRY(tra_sorter_take(b->sorter, UINT64_MAX - 1, batch, 256, &got, e));
        for (int64_t i = 0; i < got; i++) {
            tra_dims at;
            tra_place_at(b->places, batch[i].place, &at);
            TRA_TRY(x->sink->format->entry(x->sink, &at, &batch[i].value, e));
        }
    }
    return TRA_OK;
}

/* The tuples from..until-1. */
static tra_status put_band(sparse *x, const tra_places *p, int64_t from, int64_t until, tra_err *e) {
    int64_t elements;
    if (!tra_dims_product(&p->shape, &elements))
        return tra_fail(e, TRA_INPUT, "%s: it has more elements than can be counted", x->sink->to);
    band b = {.places = p};
    tra_sorter_options o = {.places = (uint64_t)elements,
                            .memory = x->memory,
                            .most = -1,
                            .least = 1,
                            .ranges = 1,
                            .output = x->sink->to,
                            .workers = 1,
                            .no_duplicate = true};
    b.sorter = tra_sorter_new(&o);
    tra_status s = lend(&b, e);
    for (int64_t i = from; i < until && s == TRA_OK; i++) {
        s = load(x, i, e);
        if (s == TRA_OK) s = each_entry(x, sort_entry, &b, e);
    }
    tra_sorter_added(b.sorter, b.n);
    if (s == TRA_OK) s = tra_sorter_sort(b.sorter, e);
    if (s == TRA_OK) s = tra_sorter_merge(b.sorter, x->memory, e);
    if (s == TRA_OK) s = put_sorted(x, &b, e);
    tra_sorter_free(b.sorter);
    return s;
}

/* Do all tuples lie one after the other in the order of their keys? */
static bool in_order(const tra_view *v) {
    const tra_type *t = tra_rel_type(v->rel);
    int k = -1; /* keys along the view's dimensions must ascend, for the order of tuples to be that of the view */
    for (int d = 0; d < v->shape.n; d++) {
        if (v->key[d] < 0) continue;
        if (v->key[d] < k) return false;
        k = v->key[d];
    }
    return t->cat->n <= 1 || tra_block_in_order(&v->shape, &v->chunk);
}

tra_status tra_export_entries(tra_sink *k, tra_view *v, int64_t memory, tra_err *e) {
    const tra_catalog *cat = tra_rel_type(v->rel)->cat;
    int64_t fixed = tra_rel_held_bytes(v->rel) + (int64_t)(v->array_bytes + v->scratch_bytes), least = 4 << 20;
    bool sorted = in_order(v);
    TRA_TRY(tra_buffer_check(memory, fixed + (sorted ? 0 : least), e));
    sparse x = {.sink = k, .view = v, .memory = tra_max64(least, tra_buffer_bytes(memory) - fixed)};
    tra_view_room(v, NULL, NULL);
    TRA_TRY(count(&x, e));
    if (k->format->begin) TRA_TRY(k->format->begin(k, e));
    tra_places places;
    tra_places_of(&places, &v->shape, &v->shape);
    for (int64_t i = 0, until; i < cat->n; i = until) {
        until = i + 1;
        if (sorted) {
            TRA_TRY(load(&x, i, e));
            TRA_TRY(each_entry(&x, put_entry, NULL, e));
            continue;
        }
        tra_dims first, key;
        tra_catalog_key(cat, i, &first);
        bool leads = v->shape.n > 0 && v->key[0] == 0; /* the first dimension is cut by the first of the key */
        for (; until < cat->n; until++) {
            tra_catalog_key(cat, until, &key);
            if (leads && key.v[0] != first.v[0]) break;
        }
        TRA_TRY(put_band(&x, &places, i, until, e));
    }
    return k->format->end ? k->format->end(k, e) : TRA_OK;
}
