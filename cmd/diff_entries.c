/* diff_entries.c - tra diff of what is stored by its entries: two streams of entries, ascending in the order of the
 * elements, are merged. Where no side has an entry both are 0.
 *
 * Where the blocks of both sides are the same, a stream is what one block has. Else, unless one side is dense and the
 * other nearly, it is what a band has: indices of the first dimension, a whole number of blocks of the side with the
 * taller ones, of which both sides are sorted in bounded memory. */
#include "diff_int.h"

#include "../formats/sorter.h"
#include "../lib/model/rows.h"

#include <string.h>

enum { BATCH = 256, LEAST = 4 << 20 }; /* bytes with which a side can be sorted */

/* Entries of one side, ascending. An array's indices are those of its elements in a tensor of this shape. */
typedef struct stream {
    tra_dtype dtype;
    bool end;
    int64_t index; /* of the present entry */
    number value;
    const char *bytes; /* an array: the same as it is there */
    /* an array: */
    const tra_dims *shape, *start;
    int64_t first; /* added to indices */
    tra_cell cell;
    tra_rows_view rows;
    int64_t row, begin, k; /* the index at which the present row begins; the next entry, or element */
    /* a band: */
    tra_sorter *sorter;
    tra_item batch[BATCH];
    int64_t at, got;
} stream;

static number zero_of(tra_dtype t) { return (number){.whole = !tra_dtype_is_float(t)}; }

static bool is_zero(number x) { return x.whole ? x.i == 0 : x.f == 0; }

/* ---- arrays ------------------------------------------------------------------------------------------------- */

/* Where row `row` of the array begins; of rank 0 that is its element. */
static int64_t row_begins(const stream *s, int64_t row) {
    tra_dims box = s->cell.array.ext, at, place = *s->start;
    int lead = place.n - box.n;
    if (box.n > 0) box.n--;
    tra_unlinear(&box, row, &at);
    for (int d = 0; d < box.n; d++) place.v[lead + d] += at.v[d];
    return s->first + tra_linear(s->shape, &place);
}

static void next_of_rows(stream *s) {
    while (s->row < s->rows.nrows && s->k == s->rows.begin[s->row + 1])
        if (++s->row < s->rows.nrows) s->begin = row_begins(s, s->rows.row[s->row]);
    s->end = s->row >= s->rows.nrows;
    if (s->end) return;
    s->index = s->begin + (int64_t)s->rows.column[s->k];
    s->bytes = s->rows.value + (size_t)s->k++ * s->rows.size;
    s->value = tra_diff_number(s->dtype, s->bytes, 0);
}

/* Moves to the next element of the array that is not 0. */
static void next_of_array(stream *s) {
    const tra_dims *ext = &s->cell.array.ext;
    int64_t n, width = ext->n > 0 ? ext->v[ext->n - 1] : 1;
    s->end = !tra_dims_product(ext, &n) || s->k >= n;
    for (; !s->end; s->end = s->k >= n) {
        int64_t column = s->k % width;
        if (column == 0) s->begin = row_begins(s, s->k / width);
        s->index = s->begin + column;
        s->bytes = (const char *)s->cell.array.data + (size_t)s->k++ * tra_dtype_size(s->dtype);
        s->value = tra_diff_number(s->dtype, s->bytes, 0);
        if (!is_zero(s->value)) return;
    }
}

static stream stream_of(const tra_type *t, const tra_cell *cell, const tra_dims *shape, const tra_dims *start,
                        int64_t first) {
    stream s = {.dtype = t->dtype, .shape = shape, .start = start, .first = first, .end = cell == NULL};
    if (!cell) return s;
    s.cell = *cell;
    if (!cell->layout) return s;
    s.rows = tra_rows_of(cell);
    if (s.rows.nrows > 0) s.begin = row_begins(&s, s.rows.row[0]);
    return s;
}

/* ---- merging ------------------------------------------------------------------------------------------------ */

static void next_of_cell(stream *s) {
    if (s->cell.layout)
        next_of_rows(s);
    else
        next_of_array(s);
}

static tra_status next_of_band(stream *s, tra_err *e) {
    if (s->at == s->got) {
        s->at = 0;
        TRA_TRY(tra_sorter_take(s->sorter, UINT64_MAX - 1, s->batch, BATCH, &s->got, e));
    }
    s->end = s->got == 0;
    if (s->end) return TRA_OK;
    s->index = (int64_t)s->batch[s->at].place;
    s->value = tra_diff_number(s->dtype, &s->batch[s->at++].value, 0);
    return TRA_OK;
}

static tra_status next(stream *s, tra_err *e) {
    if (s->end) return TRA_OK;
    if (s->sorter) return next_of_band(s, e);
    next_of_cell(s);
    return TRA_OK;
}

static tra_status merge(comparison *c, stream *a, stream *b, bool *found, tra_err *e) {
    *found = false;
    TRA_TRY(next(a, e));
    TRA_TRY(next(b, e));
    while (!a->end || !b->end) {
        bool in_a = !a->end && (b->end || a->index <= b->index), in_b = !b->end && (a->end || b->index <= a->index);
        number x = in_a ? a->value : zero_of(a->dtype), y = in_b ? b->value : zero_of(b->dtype);
        *found |= tra_diff_element(c, in_a ? a->index : b->index, x, y);
        if (in_a) TRA_TRY(next(a, e));
        if (in_b) TRA_TRY(next(b, e));
    }
    return TRA_OK;
}

tra_status tra_diff_cells(comparison *c, const tra_dims *shape, const tra_dims *start, int64_t first,
                          const tra_type *ta, const tra_cell *a, const tra_type *tb, const tra_cell *b, bool *found,
                          tra_err *e) {
    stream sa = stream_of(ta, a, shape, start, first), sb = stream_of(tb, b, shape, start, first);
    return merge(c, &sa, &sb, found, e);
}

/* ---- blocks that are the same ------------------------------------------------------------------------------- */

/* The tuple whose block begins there, -1 if there is none. */
static int64_t tuple_at(const tra_view *v, const tra_dims *offset) {
    const tra_catalog *cat = tra_rel_type(v->rel)->cat;
    tra_dims key = {.n = cat->frontier.n};
    for (int d = 0; d < v->shape.n; d++)
        if (v->key[d] >= 0) key.v[v->key[d]] = offset->v[d] / v->chunk.v[d];
    return tra_catalog_find(cat, &key);
}

static tra_status compare_blocks(tra_view *a, tra_view *b, comparison *c, tra_err *e) {
    const tra_type *ta = tra_rel_type(a->rel), *tb = tra_rel_type(b->rel);
    bool found;
    for (int64_t i = 0; i < ta->cat->n; i++) {
        tra_dims at;
        tra_view_offset(a, i, &at);
        int64_t j = tuple_at(b, &at);
        TRA_TRY(tra_view_load(a, i, e));
        if (j >= 0) TRA_TRY(tra_view_load(b, j, e));
        tra_cell x = tra_view_cell(a), y = j >= 0 ? tra_view_cell(b) : (tra_cell){0};
        TRA_TRY(tra_diff_cells(c, &a->shape, &at, 0, ta, &x, tb, j >= 0 ? &y : NULL, &found, e));
    }
    for (int64_t j = 0; j < tb->cat->n; j++) {
        tra_dims at;
        tra_view_offset(b, j, &at);
        if (tuple_at(a, &at) >= 0) continue;
        TRA_TRY(tra_view_load(b, j, e));
        tra_cell y = tra_view_cell(b);
        TRA_TRY(tra_diff_cells(c, &a->shape, &at, 0, ta, NULL, tb, &y, &found, e));
    }
    return TRA_OK;
}

/* ---- bands -------------------------------------------------------------------------------------------------- */

/* The entries of the block that was read, of those with a first coordinate in from..until-1, to a sorter. */
static tra_status sort_block(tra_view *v, const tra_dims *at, int64_t from, int64_t until, tra_sorter *sorter,
                             tra_err *e) {
    tra_cell cell = tra_view_cell(v);
    stream s = stream_of(tra_rel_type(v->rel), &cell, &v->shape, at, 0);
    int64_t each = 1, room = 0, n = 0; /* elements with one first coordinate */
    tra_item *to = NULL;
    for (int d = 1; d < v->shape.n; d++) each *= v->shape.v[d];
    for (next_of_cell(&s); !s.end; next_of_cell(&s)) {
        int64_t i = s.index / each;
        if (i < from || i >= until) continue;
        if (n == room) {
            tra_sorter_added(sorter, n);
            n = 0;
            TRA_TRY(tra_sorter_room(sorter, &to, &room, e));
        }
        to[n] = (tra_item){(uint64_t)s.index, {0}};
        memcpy(&to[n++].value, s.bytes, tra_dtype_size(s.dtype));
    }
    tra_sorter_added(sorter, n);
    return TRA_OK;
}

static tra_status sort_band(tra_view *v, int64_t from, int64_t until, tra_sorter *sorter, int64_t memory, tra_err *e) {
    for (int64_t i = 0; i < tra_rel_type(v->rel)->cat->n; i++) {
        tra_dims at;
        tra_view_offset(v, i, &at);
        if (at.v[0] >= until || at.v[0] + v->chunk.v[0] <= from) continue;
        TRA_TRY(tra_view_load(v, i, e));
        TRA_TRY(sort_block(v, &at, from, until, sorter, e));
    }
    TRA_TRY(tra_sorter_sort(sorter, e));
    return tra_sorter_merge(sorter, memory, e);
}

/* A bound of the entries of a view. */
static int64_t entries_of(const tra_view *v) {
    const tra_type *t = tra_rel_type(v->rel);
    int64_t each = (int64_t)(sizeof(uint32_t) + tra_dtype_size(t->dtype)), n = 0;
    if (!t->entries || !t->entries->of) return tra_mul_most(t->cat->n, (int64_t)v->array_bytes / each);
    for (int64_t i = 0; i < t->cat->n; i++) n = tra_add_most(n, t->entries->of[i]);
    return n;
}

/* Indices of the first dimension in a band: whole blocks of the side that has the taller ones, and so many of them that
 * a side can on average be sorted in this memory without a scratch file. */
static int64_t band_of(const tra_view *a, const tra_view *b, int64_t memory) {
    int64_t tall = tra_max64(a->chunk.v[0], b->chunk.v[0]), most = tra_max64(entries_of(a), entries_of(b));
    int64_t fit = memory / (2 * (int64_t)sizeof(tra_item)), blocks = tra_ceil_div(a->shape.v[0], tall);
    int64_t bands = tra_min64(blocks, tra_ceil_div(most, tra_max64(1, fit)));
    return tra_mul_most(tall, tra_ceil_div(blocks, tra_max64(1, bands)));
}

static tra_status compare_bands(tra_view *a, tra_view *b, int64_t memory, comparison *c, tra_err *e) {
    int64_t elements = 0, height = band_of(a, b, memory), end = a->shape.v[0];
    tra_status s = TRA_OK;
    bool found;
    tra_dims_product(&a->shape, &elements);
    for (int64_t from = 0, until; from < end && s == TRA_OK; from = until) {
        until = height < end - from ? from + height : end;
        tra_sorter_options o = {.places = (uint64_t)elements,
                                .memory = memory,
                                .most = -1,
                                .least = 1,
                                .ranges = 1,
                                .output = ".",
                                .workers = 1,
                                .no_duplicate = true};
        stream x = {.dtype = tra_rel_type(a->rel)->dtype, .sorter = tra_sorter_new(&o)};
        stream y = {.dtype = tra_rel_type(b->rel)->dtype, .sorter = tra_sorter_new(&o)};
        s = sort_band(a, from, until, x.sorter, memory, e);
        if (s == TRA_OK) s = sort_band(b, from, until, y.sorter, memory, e);
        if (s == TRA_OK) s = merge(c, &x, &y, &found, e);
        tra_sorter_free(x.sorter);
        tra_sorter_free(y.sorter);
    }
    return s;
}

/* ---- which -------------------------------------------------------------------------------------------------- */

static bool same_blocks(const tra_view *a, const tra_view *b) { return tra_dims_eq(&a->chunk, &b->chunk); }

/* Are its entries few enough that sorting those of both sides is less than going through all elements? Where the other
 * side is dense it has as many elements that are not 0, or the two differ in most. */
static bool few(const tra_view *v) {
    int64_t elements = INT64_MAX;
    return tra_view_sparse(v) && tra_dims_product(&v->shape, &elements) && entries_of(v) <= elements / 8;
}

bool tra_diff_by_entries(const tra_view *a, const tra_view *b) {
    bool both = tra_view_sparse(a) && tra_view_sparse(b);
    if (same_blocks(a, b)) return tra_view_sparse(a) || tra_view_sparse(b);
    return a->shape.n > 0 && (both || few(a) || few(b));
}

int64_t tra_diff_entries_least(const tra_view *a, const tra_view *b) { return same_blocks(a, b) ? 0 : 2 * LEAST; }

tra_status tra_diff_entries(tra_view *a, tra_view *b, int64_t memory, comparison *c, tra_err *e) {
    tra_dims_product(&a->shape, &c->elements);
    return same_blocks(a, b) ? compare_blocks(a, b, c, e) : compare_bands(a, b, memory / 2, c, e);
}
