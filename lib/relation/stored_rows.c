/* stored_rows.c - slices of stored relations, piece by piece; and entries that are read straight into the cell: where
 * the last level has the entries of a row one after the other, values are read into it, and columns are widened or
 * narrowed to it, so that nothing is copied. Each piece is checked while it is in the cache. */
#include "../base/simd.h"
#include "stored_reading.h"

#include <string.h>

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* ---- slices ----------------------------------------------------------------------------------------------------- */

/* Indices of types without a sign as columns. */
#define COLUMNS(name, type)                                                                                            \
    VECTORS static void name(const void *raw, int64_t n, uint32_t *to) {                                               \
        const type *v = raw;                                                                                           \
        for (int64_t i = 0; i < n; i++) to[i] = v[i];                                                                  \
    }
COLUMNS(of_u8, uint8_t)
COLUMNS(of_u16, uint16_t)
COLUMNS(of_u32, uint32_t)

tra_status tra_reading_more(reading *x, int component) {
    feed *f = &x->feed[component];
    int64_t n = tra_min64(f->from->compressed ? PIECE - f->at % PIECE : PIECE,
                          f->left); /* so that each chunk is decoded once */
    x->component = component;
    if (f->values) f->raw = f->values;
    if (n == 0) {
        x->why = "it has fewer elements than its ranges say";
        return TRA_INPUT;
    }
    if (tra_dataset_read(x->r, f->from, f->at, n, f->raw, &x->cause) != TRA_OK) {
        x->why = x->cause.msg;
        return TRA_INPUT;
    }
    if (x->x->sums) XXH64_update(&f->sum, f->raw, (size_t)n * f->from->each);
    if (f->values) f->values += (size_t)n * f->from->each;
    if (f->columns) {
        (f->from->each == 1 ? of_u8 : f->from->each == 2 ? of_u16 : of_u32)(f->raw, n, f->columns);
        f->columns += n;
    } else if (f->ints) {
        tra_dataset_widen(f->from, f->raw, n, f->ints);
    }
    f->at += n;
    f->left -= n;
    f->have = n;
    f->used = 0;
    return TRA_OK;
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

void tra_reading_in_place(reading *x) {
    const struct tra_stored *s = x->x;
    int l = x->form->levels.n - 1;
    bool plain = !s->mirror && !s->unordered && !s->iso && !s->mapping && !x->items && !x->array && !x->counts;
    if (!plain || l == 0 || l != x->last || x->form->group[l] != 1) return;
    feed *index = &x->feed[x->form->indices[l]], *value = &x->feed[x->form->values];
    bool room = index->left == x->room && value->left == x->room; /* else the tables lie, which other ways say */
    if (!room || index->from->sign || index->from->each > sizeof(uint32_t)) return;
    if (x->r->type.dtype == TRA_BOOL || x->r->u64 || value->from->each != x->r->size) return;
    x->in_place = true;
    value->values = x->rows.v.value;
    index->columns = x->rows.v.column;
}

/* Do n columns ascend strictly, beginning at `from` or more, and end below `limit`? */
static bool ascend(const uint32_t *v, int64_t n, int64_t from, int64_t limit) {
    uint32_t bad = v[0] < from || v[n - 1] >= limit;
    for (int64_t i = 1; i < n; i++) bad |= v[i - 1] >= v[i];
    return !bad;
}

/* The error for columns that do not ascend. */
static tra_status wrong_columns(reading *x, const uint32_t *v, int64_t n, int64_t from, int64_t limit) {
    int component = x->form->indices[x->last];
    for (int64_t i = 0; i < n; i++) {
        if (v[i] >= limit) return damaged(x, component, "it has an index out of range");
        if (v[i] + (int64_t)1 == from) return damaged(x, component, "it has an index twice");
        if (v[i] < from) return damaged(x, component, "its indices do not ascend");
        from = v[i] + (int64_t)1;
    }
    return TRA_OK;
}

tra_status tra_reading_row(reading *x, int64_t row, int64_t end) {
    int l = x->last, i = x->form->indices[l];
    feed *index = &x->feed[i], *value = &x->feed[x->form->values];
    tra_rows_view *v = &x->rows.v;
    if (x->next[l] == end) return TRA_OK;
    if (v->nrows == x->room_rows) return damaged(x, x->form->values, "it has more rows than its tables say");
    tra_rows_open(&x->rows, row);
    for (int64_t from = 0; x->next[l] < end;) {
        if (index->used == index->have) TRA_TRY(tra_reading_more(x, i));
        if (value->used == value->have) TRA_TRY(tra_reading_more(x, x->form->values));
        int64_t n = tra_min64(end - x->next[l], tra_min64(index->have - index->used, value->have - value->used));
        const uint32_t *at = v->column + v->n;
        if (!ascend(at, n, from, x->limit[l])) return wrong_columns(x, at, n, from, x->limit[l]);
        from = at[n - 1] + (int64_t)1;
        index->used += n;
        value->used += n;
        x->next[l] += n;
        x->n += n;
        v->n += n;
    }
    return TRA_OK;
}
