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

tra_status tra_reading_more(reading *x, int component) {
    feed *f = &x->feed[component];
    int64_t n = tra_min64(f->from->compressed ? PIECE - f->at % PIECE : PIECE,
                          f->left); /* so that each chunk is decoded once */
    x->component = component;
    bool straight = f->columns && f->from->each == sizeof *f->columns;
    if (f->values) f->raw = f->values;
    if (straight) f->raw = (char *)f->columns;
    if (n == 0) {
        x->why = "it has fewer elements than its ranges say";
        return TRA_INPUT;
    }
    if (tra_dataset_read(x->r, f->from, f->at, n, f->raw, &x->cause) != TRA_OK) {
        x->why = x->cause.msg;
        return TRA_INPUT;
    }
    if (x->check) XXH64_update(&f->sum, f->raw, (size_t)n * f->from->each);
    if (f->values) f->values += (size_t)n * f->from->each;
    if (f->columns) {
        if (!straight) (f->from->each == 1 ? of_u8 : of_u16)(f->raw, n, f->columns);
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
    const struct tra_stored *s = x->stored;
    int l = x->form->levels.n - 1;
    bool plain = !s->mirror && !s->unordered && !s->iso && !s->mapping && !x->items && !x->array && !x->counts;
    bool pairs = x->form->group[0] == 2 && x->form->levels.n == 2;
    if (!plain || l == 0 || l != x->last || (x->form->group[l] != 1 && !pairs)) return;
    feed *index = &x->feed[x->form->indices[l]], *value = &x->feed[x->form->values];
    bool room = index->left == x->room && value->left == x->room; /* else the tables lie, which other ways say */
    if (!room || index->from->sign || index->from->each > sizeof(uint32_t)) return;
    if (x->r->u64 || value->from->each != x->r->size) return;
    x->in_place = true;
    value->values = x->rows.v.value;
    index->columns = x->rows.v.column;
}

/* In how many of n columns after the first one is a column not above that before it? */
VECTORS static int64_t descents(const uint32_t *v, int64_t n) {
    int64_t bad = 0;
    for (int64_t i = 1; i < n; i++) bad += v[i - 1] >= v[i];
    return bad;
}

VECTORS static uint32_t greatest(const uint32_t *v, int64_t n) {
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
    return most;
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
    tra_rows_view *v = &x->rows.v;
    int64_t n = end - x->next[x->last];
    if (n == 0) return TRA_OK;
    if (v->nrows == x->room_rows) return damaged(x, x->form->values, "it has more rows than its tables say");
    tra_rows_open(&x->rows, row);
    v->n += n;
    x->n += n;
    x->next[x->last] = end;
    return TRA_OK;
}

/* What is wrong with rows that end at these positions, the first of which are inside of the array; `last` comes before
 * them, and no more rows were taken. */
static tra_status wrong_ends(reading *x, int leaf, int64_t last, const int64_t *end, int64_t n, int64_t inside) {
    int p = x->form->pointers[leaf], values = x->form->values;
    for (int64_t i = 0; i < n; i++) {
        if (end[i] == last) continue;
        if (end[i] < last) return damaged(x, p, "its ranges do not ascend");
        if (end[i] > x->end[leaf]) return damaged(x, p, "a range of it ends beyond what the tuple has");
        if (i >= inside) return damaged(x, values, "it has entries beyond the extents of its array");
        if (x->rows.v.nrows == x->room_rows) return damaged(x, values, "it has more rows than its tables say");
        last = end[i];
    }
    return TRA_OK;
}

/* Whether a row has entries nothing predicts, so no branch goes by it. */
tra_status tra_reading_dense_rows(reading *x, int l, int64_t row) {
    int leaf = l + 1, p = x->form->pointers[leaf];
    tra_rows_view *v = &x->rows.v;
    feed *f = &x->feed[p];
    int64_t n = l == 0 ? x->end[0] : x->form->ext[l], stride = x->stride[l], m;
    for (int64_t i = 0; i < n; i += m) {
        if (f->used == f->have) TRA_TRY(tra_reading_more(x, p));
        m = tra_min64(n - i, f->have - f->used);
        const int64_t *ends = f->ints + f->used;
        int64_t inside = tra_max64(0, tra_min64(m, x->limit[l] - i)), k = 0, r = v->nrows, last = x->next[leaf];
        uint64_t before = (uint64_t)v->n - (uint64_t)last;
        bool bad = false;
        for (; k < inside && r < x->room_rows; k++) {
            int64_t end = ends[k];
            v->row[r] = row + (i + k) * stride;
            v->begin[r] = (int64_t)(before + (uint64_t)last);
            bad |= end < last;
            r += end > last;
            last = end;
        }
        if (bad || last > x->end[leaf]) return wrong_ends(x, leaf, x->next[leaf], ends, m, inside);
        v->nrows = r;
        TRA_TRY(wrong_ends(x, leaf, last, ends + k, m - k, inside - k));
        v->n += last - x->next[leaf];
        x->n += last - x->next[leaf];
        x->next[leaf] = last;
        f->used += m;
    }
    return TRA_OK;
}

tra_status tra_reading_pairs(reading *x, int64_t end) {
    int number = x->form->indices[0];
    feed *f = &x->feed[number];
    int64_t last = -1, at = x->next[x->last];
    for (; at < end; at++) {
        if (f->used == f->have) TRA_TRY(tra_reading_more(x, number));
        int64_t row = f->ints[f->used++];
        if (row == last) continue;
        if (row < last) return damaged(x, number, "its indices do not ascend");
        if (row < 0 || row >= x->limit[0]) return damaged(x, number, "it has an index out of range");
        if (last >= 0) TRA_TRY(tra_reading_row(x, last, at));
        last = row;
    }
    x->next[0] = end;
    return last >= 0 ? tra_reading_row(x, last, at) : TRA_OK;
}

tra_status tra_reading_entries(reading *x) {
    int index = x->form->indices[x->last];
    const tra_rows_view *v = &x->rows.v;
    int64_t bad = 0, r = 1;
    v->begin[v->nrows] = v->n;
    for (int64_t done = 0; done < v->n;) { /* each piece is checked while it is in the cache */
        TRA_TRY(tra_reading_more(x, index));
        int64_t n = x->feed[index].used = x->feed[index].have, first = tra_max64(0, done - 1);
        if (done + n > v->n) return damaged(x, index, "it has more entries than its ranges say");
        bad += descents(v->column + first, done + n - first);
        for (; r < v->nrows && v->begin[r] < done + n; r++) bad -= v->column[v->begin[r] - 1] >= v->column[v->begin[r]];
        done += n;
        if (bad || greatest(v->column + done - n, n) >= x->limit[x->last]) {
            for (r = 0; r < v->nrows; r++) {
                int64_t from = v->begin[r], here = tra_min64(v->begin[r + 1], done) - from;
                if (here > 0) TRA_TRY(wrong_columns(x, v->column + from, here, 0, x->limit[x->last]));
            }
        }
    }
    for (int64_t left = x->feed[x->form->values].left; left > 0; left = x->feed[x->form->values].left) {
        TRA_TRY(tra_reading_more(x, x->form->values));
        x->feed[x->form->values].used = x->feed[x->form->values].have;
    }
    uint8_t most = 0;
    for (int64_t i = 0; i < v->n && x->r->type.dtype == TRA_BOOL; i++) most |= (uint8_t)v->value[i];
    return most > 1 ? damaged(x, x->form->values, "a boolean in it is neither 0 nor 1") : TRA_OK;
}
