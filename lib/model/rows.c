/* rows.c - blocks of entries, row by row. */
#include "rows.h"
#include "../base/simd.h"

#include <assert.h>
#include <string.h>

int64_t tra_rows_box(const tra_dims *ext) {
    tra_dims lead = *ext;
    int64_t n = 1;
    if (lead.n > 0) lead.n--;
    return tra_dims_product(&lead, &n) ? n : INT64_MAX;
}

bool tra_rows_can(const tra_dims *ext) {
    return (ext->n == 0 || ext->v[ext->n - 1] <= UINT32_MAX) && tra_rows_box(ext) < INT64_MAX;
}

int64_t tra_rows_room(tra_dtype t, int64_t nrows, int64_t n) {
    int64_t count[TRA_ROWS_PARTS] = {n, n, nrows, tra_add_most(nrows, 1)};
    int64_t each[TRA_ROWS_PARTS] = {sizeof(uint32_t), (int64_t)tra_dtype_size(t), sizeof(int64_t), sizeof(int64_t)};
    return tra_cell_room(TRA_ROWS_PARTS, count, each);
}

tra_size tra_rows_bytes(const tra_type *t, const tra_dims *ext, tra_size entries, int64_t rows) {
    int64_t box = tra_rows_box(ext);
    if (rows >= 0 && entries.exact) return tra_size_exactly(tra_rows_room(t->dtype, rows, entries.bound));
    if (entries.bound == 0) return tra_size_exactly(tra_rows_room(t->dtype, 0, 0));
    int64_t bound = tra_rows_room(t->dtype, tra_min64(box, entries.bound), entries.bound);
    int64_t likely = tra_rows_room(t->dtype, tra_min64(box, entries.expected), entries.expected);
    return tra_size_about((double)likely, bound);
}

tra_rows_view tra_rows_of(const tra_cell *c) {
    assert(c->layout == &tra_rows);
    return (tra_rows_view){.nrows = tra_cell_count(c, TRA_ROWS_ROW),
                           .n = tra_cell_count(c, TRA_ROWS_COLUMN),
                           .row = tra_cell_data(c, TRA_ROWS_ROW),
                           .begin = tra_cell_data(c, TRA_ROWS_BEGIN),
                           .column = tra_cell_data(c, TRA_ROWS_COLUMN),
                           .value = tra_cell_data(c, TRA_ROWS_VALUE),
                           .size = tra_dtype_size(c->array.dtype)};
}

tra_rows_view tra_rows_begin(tra_cell *c, int64_t nrows, int64_t n) {
    int64_t size = (int64_t)tra_dtype_size(c->array.dtype);
    tra_cell_begin(c, (int64_t[]){n, n, nrows, nrows + 1}, (int64_t[]){4, size, sizeof(int64_t), sizeof(int64_t)});
    return tra_rows_of(c);
}

int64_t tra_rows_end(tra_cell *c, int64_t nrows, int64_t n) {
    return tra_cell_trim(c, (int64_t[]){n, n, nrows, nrows + 1});
}

bool tra_rows_take(tra_cell *c, int64_t nrows, int64_t n) {
    return tra_cell_take(c, tra_rows_room(c->array.dtype, nrows, n));
}

tra_rows_maker tra_rows_make(tra_cell *c, int64_t nrows, int64_t n) {
    tra_rows_maker m = {.cell = c, .v = tra_rows_begin(c, nrows, n)};
    m.v.nrows = m.v.n = 0;
    return m;
}

int64_t tra_rows_made(tra_rows_maker *m) {
    m->v.begin[m->v.nrows] = m->v.n;
    return tra_rows_end(m->cell, m->v.nrows, m->v.n);
}

/* Each piece but the last has room for a row more: for the end of its last row, which comes after where rows begin. */
int64_t tra_rows_pieces_add(tra_rows_pieces *p, const tra_cell *c, int n) {
    p->n = n;
    p->rows = n - 1;
    p->entries = 0;
    for (int i = 0; i < n; i++) {
        p->rows = tra_add_most(p->rows, p->most[i][0]);
        p->entries = tra_add_most(p->entries, p->most[i][1]);
    }
    return tra_rows_room(c->array.dtype, p->rows, p->entries);
}

bool tra_rows_pieces_begin(tra_rows_pieces *p, tra_cell *c) {
    int64_t row = 0, at = 0;
    if (!tra_rows_take(c, p->rows, p->entries)) return false;
    p->cell = c;
    p->all = tra_rows_begin(c, p->rows, p->entries);
    for (int i = 0; i < p->n; i++) {
        p->piece[i] = (tra_rows_view){.nrows = p->most[i][0],
                                      .n = p->most[i][1],
                                      .row = p->all.row + row,
                                      .begin = p->all.begin + row,
                                      .column = p->all.column + at,
                                      .value = p->all.value + (size_t)at * p->all.size,
                                      .size = p->all.size};
        row += p->most[i][0] + 1;
        at += p->most[i][1];
    }
    return true;
}

void tra_rows_pieces_end(tra_rows_pieces *p) {
    const tra_rows_view *all = &p->all;
    int64_t row = 0, at = 0;
    for (int i = 0; i < p->n; i++) {
        const tra_rows_view *v = &p->piece[i];
        int64_t goes_on = row > 0 && v->nrows > 0 && v->row[0] == all->row[row - 1];
        memmove(all->row + row, v->row + goes_on, (size_t)(v->nrows - goes_on) * sizeof *v->row);
        for (int64_t r = goes_on; r < v->nrows; r++) all->begin[row + r - goes_on] = v->begin[r] + at;
        if (all->column + at != v->column) {
            memmove(all->column + at, v->column, (size_t)v->n * sizeof *v->column);
            memmove(all->value + (size_t)at * all->size, v->value, (size_t)v->n * all->size);
        }
        row += v->nrows - goes_on;
        at += v->n;
    }
    all->begin[row] = at;
    tra_rows_end(p->cell, row, at);
}

/* What is wrong with row r; NULL: nothing. last: the extent of the last dimension. */
static const char *wrong_row(const tra_rows_view *v, int64_t r, int64_t box, int64_t last) {
    int64_t from = v->begin[r], to = v->begin[r + 1];
    if (v->row[r] < 0 || v->row[r] >= box) return "a row beyond its extents";
    if (r > 0 && v->row[r] <= v->row[r - 1]) return "rows that do not ascend";
    if (from < 0 || to <= from || to > v->n) return "rows that do not begin where the one before ends";
    for (int64_t k = from; k < to; k++) {
        if (v->column[k] >= last) return "an entry beyond its extents";
        if (k > from && v->column[k] <= v->column[k - 1]) return "entries that do not ascend";
    }
    return NULL;
}

tra_status tra_rows_check(const tra_cell *c, tra_err *e) {
    tra_rows_view v = tra_rows_of(c);
    const tra_cell_part *p = c->head->part;
    int64_t last = c->array.ext.n ? c->array.ext.v[c->array.ext.n - 1] : 1, box = tra_rows_box(&c->array.ext);
    const char *why = NULL;
    if (p[TRA_ROWS_ROW].each != 8 || p[TRA_ROWS_BEGIN].each != 8 || p[TRA_ROWS_COLUMN].each != 4 ||
        p[TRA_ROWS_VALUE].each != (int64_t)v.size || p[TRA_ROWS_BEGIN].count != v.nrows + 1 ||
        p[TRA_ROWS_VALUE].count != v.n)
        why = "parts of other sizes than its entries need";
    else if (v.begin[0] != 0 || v.begin[v.nrows] != v.n)
        why = "rows that do not cover its entries";
    for (int64_t r = 0; !why && r < v.nrows; r++) why = wrong_row(&v, r, box, last);
    return why ? tra_fail(e, TRA_INPUT, "a block of entries is damaged: it has %s", why) : TRA_OK;
}

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* How many of n columns are below this one. */
VECTORS static int64_t below(const uint32_t *v, int64_t n, uint32_t column) {
    uint32_t k = 0;
    for (int64_t i = 0; i < n; i++) k += v[i] < column;
    return k;
}

/* Most rows have few entries: what is written beyond a row the next one overwrites, so no branch goes by its length. */
TRA_ANY_TARGET int64_t tra_rows_numbers(const tra_rows_view *v, int64_t r, int64_t k, int64_t n, int64_t *to) {
    if (n == 0) return r;
    for (;; r++) {
        int64_t at = tra_max64(0, v->begin[r] - k), end = tra_min64(n, v->begin[r + 1] - k), number = v->row[r];
        for (int i = 0; i < TRA_ROWS_SPARE; i++) to[at + i] = number;
        for (at += TRA_ROWS_SPARE; at < end; at++) to[at] = number;
        if (end == n) return v->begin[r + 1] == k + n ? r + 1 : r;
    }
}

int64_t tra_rows_from(const tra_rows_view *v, int64_t row) {
    int64_t from = 0, to = v->nrows;
    if (to > 0 && v->row[to - 1] == to - 1) return row < 0 ? 0 : tra_min64(row, to); /* all are there */
    TRA_BISECT(from, to, mid, v->row[mid] < row);
    return from;
}

int64_t tra_rows_entry(const tra_rows_view *v, int64_t r, int64_t column) {
    enum { SHORT = 64 }; /* columns that are counted as fast as they are searched */
    int64_t from = v->begin[r], end = v->begin[r + 1];
    while (end - from > SHORT) {
        int64_t mid = from + (end - from) / 2;
        *(v->column[mid] < column ? &from : &end) = mid;
    }
    return column > UINT32_MAX ? end : from + below(v->column + from, end - from, (uint32_t)column);
}
