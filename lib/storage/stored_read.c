/* stored_read.c - reading arrays stored by levels: from entries in the order of the file to rows.
 *
 * The slice of each dataset is read in its order, piece by piece, and checked as it comes: ranges must ascend and end
 * where those of the next tuple begin; coordinates must be in the array, and ascend. Where the order of levels is not
 * that of dimensions, and in files of other programs, entries are sorted before they become rows, and duplicates are
 * added.
 */
#include "stored_reading.h"
#include "../model/turn.h"

#include <stdlib.h>
#include <string.h>

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static inline tra_status next_value(reading *x, const void **v) {
    feed *f = &x->feed[x->form->values];
    if (x->stored->iso) return *v = f->raw, TRA_OK;
    if (f->used == f->have) TRA_TRY(tra_reading_more(x, x->form->values));
    *v = f->raw + (size_t)f->used++ * f->from->each;
    return TRA_OK;
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

/* What is wrong with a value: HDF5's types hold more values than those of relations. NULL: nothing. */
static const char *no_value(const reading *x, const void *value) {
    if (x->r->u64 && !x->r->keep_u64 && *(const int64_t *)value < 0)
        return "it has a number above 9223372036854775807, more than i64 holds (tra import --dtype f64 rounds it)";
    if (x->r->type.dtype == TRA_BOOL && *(const uint8_t *)value > 1) return "a boolean in it is neither 0 nor 1";
    return NULL;
}

static tra_status gather(reading *x, int64_t row, int64_t column, const void *value) {
    size_t size = x->r->size;
    if (x->n == x->room) return damaged(x, x->form->values, "it has more entries than its tables say");
    x->items[x->n] = (tra_sort_item){.hi = (uint64_t)row, .lo = (uint64_t)column, .i = (uint32_t)x->n};
    memcpy(x->values + (size_t)x->n++ * size, value, size);
    return TRA_OK;
}

/* Emits an entry of one triangle, and its mirror image, as far as they are in this block. */
static tra_status emit_both(reading *x, int64_t row, int64_t column, const void *value) {
    int outer = x->form->levels.order[0];
    char v[8];
    memcpy(v, value, x->r->size);
    for (int k = 0; k < (row == column ? 1 : 2); k++) {
        int64_t at[2] = {k ? column : row, k ? row : column};
        if (k && x->stored->mirror < 0 && !tra_element_negate(x->r->type.dtype, v))
            return damaged(x, x->form->values, "a value in it has no negative of its type");
        if (x->counts) {
            x->counts[at[outer] / x->size]++;
            continue;
        }
        at[outer] -= x->origin;
        if (at[outer] >= 0 && at[outer] < x->ext.v[outer]) TRA_TRY(gather(x, at[0], at[1], v));
    }
    return TRA_OK;
}

static tra_status emit(reading *x, int64_t row, int64_t column, const void *value) {
    const char *why = no_value(x, value);
    if (why) return damaged(x, x->form->values, why);
    if (x->stored->mirror) return emit_both(x, row, column, value);
    if (x->items) return gather(x, row, column, value);
    if (x->array && x->stored->mapping) { /* a mapping may emit a coordinate twice */
        char *to = x->array + (size_t)(row * x->ext.v[x->ext.n - 1] + column) * x->r->size;
        bool holds = tra_element_add(x->r->type.dtype, to, value);
        return holds ? TRA_OK : damaged(x, 0, "values of one element add up to more than its type holds");
    }
    if (x->array) {
        int64_t i = row * x->ext.v[x->ext.n - 1] + column;
        memcpy(x->array + (size_t)i * x->r->size, value, x->r->size);
        return TRA_OK;
    }
    if (x->n == x->room) return damaged(x, x->form->values, "it has more entries than its tables say");
    tra_rows_view *v = &x->rows.v;
    if (v->nrows == 0 || v->row[v->nrows - 1] != row) {
        if (v->nrows == x->room_rows) return damaged(x, x->form->values, "it has more rows than its tables say");
        tra_rows_open(&x->rows, row);
    }
    memcpy(tra_rows_next(&x->rows, (uint32_t)column), value, x->r->size);
    x->n++;
    return TRA_OK;
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

static tra_status visit(reading *x, int l, int64_t row, int64_t column);

static tra_status visit_value(reading *x, int64_t row, int64_t column, bool inside) {
    const void *v;
    TRA_TRY(next_value(x, &v));
    bool filled = x->form->group[x->form->levels.n - 1] == 0 && tra_element_is_zero(x->r->type.dtype, v);
    if (filled) return TRA_OK;
    return inside ? emit(x, row, column, v)
                  : damaged(x, x->form->values, "it has a value beyond the extents of its array");
}

static tra_status visit_dense(reading *x, int l, int64_t row, int64_t column) {
    const tra_form *f = x->form;
    int64_t n = l == 0 ? x->end[0] : f->ext[l], before = x->n;
    for (int d = l + 1; d < f->levels.n; d++)
        if (f->ext[d] == 0) return TRA_OK; /* no position below any of these */
    if (x->in_place && l + 2 == f->levels.n) return tra_reading_dense_rows(x, l, row);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = l == x->last ? i : column;
        TRA_TRY(visit(x, l + 1, row + i * x->stride[l], at));
        if (i >= x->limit[l] && x->n != before)
            return damaged(x, f->values, "it has entries beyond the extents of its array");
        before = x->n;
    }
    return TRA_OK;
}

/* *end: where the range of positions below the next position above ends. */
static tra_status range(reading *x, int l, int64_t *end) {
    int p = x->form->pointers[l];
    *end = x->end[l];
    if (p < 0) return TRA_OK;
    if (l == 0 && x->stored->unordered) return TRA_OK;
    TRA_TRY(next_int(x, p, end));
    if (*end < x->next[l]) return damaged(x, p, "its ranges do not ascend");
    if (*end > x->end[l]) return damaged(x, p, "a range of it ends beyond what the tuple has");
    return TRA_OK;
}

static tra_status visit_sparse(reading *x, int l, int64_t row, int64_t column) {
    const tra_form *f = x->form;
    int64_t end, last[TRA_MAXDIM];
    int g = f->group[l];
    bool leaf = l + g == f->levels.n;
    TRA_TRY(range(x, l, &end));
    if (x->in_place && leaf) return g == 2 ? tra_reading_pairs(x, end) : tra_reading_row(x, row, end);
    for (bool first = true; x->next[l] < end; first = false) {
        int64_t r = row, c = column;
        bool ascends = first;
        x->next[l]++;
        for (int i = l; i < l + g; i++) {
            int64_t at;
            TRA_TRY(next_int(x, f->indices[i], &at));
            if (i == 0 && !x->stored->mirror) at -= x->origin;
            if (at < 0 || at >= x->limit[i]) return damaged(x, f->indices[i], "it has an index out of range");
            if (!ascends && !x->stored->unordered && at < last[i])
                return damaged(x, f->indices[i], "its indices do not ascend");
            ascends = ascends || at > last[i];
            last[i] = at;
            r += at * x->stride[i];
            if (i == x->last) c = at;
        }
        if (!ascends && !x->stored->unordered) return damaged(x, f->indices[l + g - 1], "it has an index twice");
        TRA_TRY(leaf ? visit_value(x, r, c, true) : visit(x, l + g, r, c));
    }
    return TRA_OK;
}

static tra_status visit(reading *x, int l, int64_t row, int64_t column) {
    if (l == x->form->levels.n) return visit_value(x, row, column, column < x->limit[x->last]);
    return x->form->group[l] == 0 ? visit_dense(x, l, row, column) : visit_sparse(x, l, row, column);
}

/* ---- entries that were not in order ------------------------------------------------------------------------------ */

/* Sorts what was gathered and makes rows of it. The cell is laid out here, when the number of entries is known. */
static tra_status make_rows(reading *x, tra_cell *cell) {
    const tra_sort_item *v = tra_sort_items(x->items, x->items + x->room, x->n);
    size_t size = x->r->size;
    int64_t rows = 0, entries = 0;
    for (int64_t i = 0; i < x->n; i++) {
        bool same_row = i > 0 && v[i].hi == v[i - 1].hi, same = same_row && v[i].lo == v[i - 1].lo;
        rows += !same_row;
        entries += !same;
        if (same && !x->stored->unordered) return damaged(x, x->form->values, "it has an entry twice");
    }
    if (!x->stored->unordered && (entries != x->stored->of[x->ordinal] || rows != x->stored->rows[x->ordinal]))
        return damaged(x, x->form->values, "it has not as many entries as its tables say");
    x->rows = tra_rows_make(cell, rows, entries);
    void *to = NULL;
    for (int64_t i = 0; i < x->n; i++) {
        const char *value = x->values + (size_t)v[i].i * size;
        bool same_row = i > 0 && v[i].hi == v[i - 1].hi;
        if (same_row && v[i].lo == v[i - 1].lo) {
            if (!tra_element_add(x->r->type.dtype, to, value))
                return damaged(x, x->form->values, "entries of the same place add up to more than its type holds");
            continue;
        }
        if (!same_row) tra_rows_open(&x->rows, (int64_t)v[i].hi);
        memcpy(to = tra_rows_next(&x->rows, (uint32_t)v[i].lo), value, size);
    }
    return TRA_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static bool gathers(const struct tra_stored *x) {
    return !tra_levels_dense(&x->form.levels) && (x->unordered || !tra_levels_in_order(&x->form.levels));
}

static int64_t most_entries(const struct tra_stored *x) { return x->most[x->form.levels.n - 1]; }

static size_t align16(size_t n) { return (n + 15) & ~(size_t)15; }

/* Bytes that a cell of columns takes; it is room for sorting its entries later. */
static int64_t columns_room(const tra_rel *r, int64_t n) {
    return tra_round64(tra_max64(tra_rows_room(r->type.dtype, n, n), tra_turn_room(n, n)));
}

size_t tra_stored_read_scratch(const tra_rel *r) {
    const struct tra_stored *x = r->stored;
    size_t pieces = align16(sizeof(reading)) + (size_t)x->form.n * PIECE * 2 * sizeof(int64_t);
    int64_t n = gathers(x) ? tra_max64(1, most_entries(x)) : 0;
    int64_t sort = tra_mul_most(n, 2 * (int64_t)sizeof(tra_sort_item) + (int64_t)r->size);
    int64_t packed = tra_add_most(tra_mapping_scratch(r), 64);
    if (n > 0 && x->form.levels.n == 2)
        sort = tra_max64(sort, tra_add_most(columns_room(r, n), tra_turn_scratch(n, true)));
    return (size_t)tra_min64(tra_add_most(tra_add_most((int64_t)pieces, packed), sort), TRA_SIZE_MOST);
}

/* Begins with the slices of the tuple; where the file has one triangle, with all of it. */
static void begin_feeds(reading *x, char *scratch) {
    const tra_form *f = x->form;
    int64_t n = x->r->cat.n, t = x->stored->mirror ? 0 : x->ordinal, after = x->stored->mirror ? n : t + 1;
    for (int l = 0; l < f->levels.n; l++) {
        const int64_t *begin = x->stored->begin + l * (n + 1);
        x->next[l] = begin[t];
        x->end[l] = f->group[l] == 0 ? begin[after] - begin[t] : begin[after];
    }
    for (int i = 0; i < f->n; i++) {
        const tra_dataset *c = &f->c[i];
        feed *d = &x->feed[i];
        if (c->kind == TRA_COLUMNS || c->kind == TRA_PACKED) continue;
        int l = c->kind == TRA_POINTERS ? c->level - 1 : c->level;
        const int64_t *begin = l < 0 ? NULL : x->stored->begin + l * (n + 1);
        int64_t from = begin ? begin[t] : t, to = begin ? begin[after] : after;
        *d = (feed){.from = &x->stored->c[i], .at = from + (c->kind == TRA_POINTERS), .left = to - from};
        d->raw = scratch;
        scratch += PIECE * sizeof(int64_t);
        d->ints = c->kind == TRA_VALUES ? NULL : (int64_t *)(void *)scratch;
        scratch += PIECE * sizeof(int64_t);
        XXH64_reset(&d->sum, 0);
    }
}

static void begin_levels(reading *x) {
    const tra_form *f = x->form;
    tra_dims lead = x->ext;
    int64_t stride[TRA_MAXDIM];
    lead.n--;
    tra_strides(&lead, stride);
    for (int l = 0; l < f->levels.n; l++) {
        int d = f->levels.order[l];
        x->limit[l] = x->stored->mirror ? f->ext[l] : x->ext.v[d];
        x->stride[l] = d < lead.n ? stride[d] : 0;
        if (d == lead.n) x->last = l;
    }
}

/* Checks that all of the slices was used, and that they have their checksums. */
static tra_status check_sums(reading *x) {
    const tra_form *f = x->form;
    for (int i = 0; i < f->n; i++) {
        feed *d = &x->feed[i];
        if (f->c[i].kind == TRA_COLUMNS || (x->stored->iso && i == f->values)) continue;
        if (d->left > 0 || d->used < d->have) return damaged(x, i, "it has more elements than the ranges above it say");
        if (x->check && tra_chunk_sum_end(XXH64_digest(&d->sum)) != x->stored->sums[x->ordinal * f->n + i])
            return damaged(x, i, "its bytes do not have the checksum that was recorded");
    }
    if (x->check) atomic_store_explicit(&x->stored->checked[x->ordinal], true, memory_order_relaxed);
    return TRA_OK;
}

/* An error in one dataset may come from damage in another: if a slice has not its checksum, its dataset is blamed. */
static tra_status blame(reading *x, tra_status s) {
    static const char *const why = "its bytes do not have the checksum that was recorded";
    int component = x->component;
    const char *first = x->why;
    if (!x->check || !first || x->cause.status != TRA_OK) return s;
    for (int i = 0; i < x->form->n; i++) {
        feed *d = &x->feed[i];
        if (x->form->c[i].kind == TRA_COLUMNS) continue;
        while (d->left > 0)
            if (tra_reading_more(x, i) != TRA_OK) return damaged(x, i, x->cause.msg);
        if (tra_chunk_sum_end(XXH64_digest(&d->sum)) != x->stored->sums[x->ordinal * x->form->n + i])
            return damaged(x, i, why);
    }
    return damaged(x, component, first);
}

static tra_status take_entry(void *ctx, int64_t row, int64_t column, const void *value, tra_err *e) {
    reading *x = ctx;
    (void)e;
    return emit(x, row, column, value);
}

/* Visits all entries of the tuple. */
static tra_status visit_all(reading *x) {
    const tra_form *f = x->form;
    if (x->stored->mapping) {
        tra_status s = tra_mapping_run(x->r, x->ordinal, x->packed, take_entry, x, &x->cause);
        return s == TRA_OK || x->why ? s : damaged(x, 0, x->cause.msg);
    }
    if (x->stored->iso &&
        tra_dataset_read(x->r, &x->stored->c[f->values], 0, 1, x->feed[f->values].raw, &x->cause) != TRA_OK)
        return damaged(x, f->values, x->cause.msg);
    tra_status s = visit(x, 0, 0, 0);
    if (s == TRA_OK && x->in_place) s = tra_reading_entries(x);
    return s == TRA_OK ? check_sums(x) : blame(x, s);
}

static tra_status read_cell(reading *x, tra_cell *cell) {
    int64_t t = x->ordinal;
    bool exact = cell->layout && !gathers(x->stored);
    if (exact) {
        x->room = x->stored->of[t];
        x->room_rows = x->stored->rows[t];
        x->rows = tra_rows_make(cell, x->room_rows, x->room);
        tra_reading_in_place(x);
    }
    TRA_TRY(visit_all(x));
    if (x->items) TRA_TRY(make_rows(x, cell));
    if (exact && (x->rows.v.n != x->room || x->rows.v.nrows != x->room_rows))
        return damaged(x, x->form->values, "it has fewer entries than its tables say");
    if (cell->layout) tra_rows_made(&x->rows);
    return TRA_OK;
}

/* Begins to read a tuple of these extents; x is at the beginning of scratch. Returns what is left of scratch. */
static char *begin_reading(reading *x, tra_rel *r, int64_t ordinal, const tra_dims *ext) {
    const struct tra_stored *s = r->stored;
    char *room = (char *)x + align16(sizeof *x);
    *x = (reading){.r = r, .stored = s, .form = &s->form, .ordinal = ordinal, .ext = *ext};
    x->check = s->sums && !atomic_load_explicit(&s->checked[ordinal], memory_order_relaxed);
    begin_feeds(x, room);
    begin_levels(x);
    if (s->unordered && !s->mapping) { /* only the outer component of the key is not 0 */
        tra_dims key;
        tra_catalog_key(&r->cat, ordinal, &key);
        x->origin = key.v[s->form.levels.order[0]] * s->outer;
    }
    room += (size_t)s->form.n * PIECE * 2 * sizeof(int64_t);
    x->packed = room;
    return room + align16((size_t)tra_mapping_scratch(r));
}

static tra_status tell(reading *x, tra_status s, tra_err *e) {
    if (s == TRA_OK || !x->why) return s;
    char key[TRA_DIMTEXT];
    tra_dims k;
    tra_catalog_key(&x->r->cat, x->ordinal, &k);
    return tra_fail(e, TRA_INPUT, "block %s of %s:%s is damaged: %s: %s", tra_key_text(&k, key), x->r->path, x->r->name,
                    x->form->c[x->component].name, x->why);
}

/* ---- matrices whose levels are in the other order ---------------------------------------------------------------- */

/* Begins to read a matrix by columns into a cell of columns in scratch. false: another way must be taken. */
static bool begin_columns(reading *x, const tra_cell *cell, tra_cell *columns, char *scratch) {
    if (x->stored->unordered || x->stored->mapping || !cell->layout || x->form->levels.n != 2 ||
        x->ext.v[0] > UINT32_MAX)
        return false;
    int64_t n = x->stored->of[x->ordinal];
    *columns = (tra_cell){
        .layout = cell->layout, .sparse = true, .array = cell->array, .head = (tra_cell_head *)(void *)scratch};
    columns->array.ext.v[0] = x->ext.v[1], columns->array.ext.v[1] = x->ext.v[0];
    x->room = n;
    x->room_rows = tra_min64(n, x->ext.v[1]);
    x->rows = tra_rows_make(columns, x->room_rows, n);
    int last = x->last;
    x->last = 1;
    tra_reading_in_place(x);
    if (!x->in_place) x->last = last;
    if (x->in_place) x->stride[0] = 1, x->stride[1] = 0;
    return x->in_place;
}

/* Reads the columns, and puts their entries in the order of rows. */
static tra_status read_columns(reading *x, const tra_cell *columns, tra_cell *cell) {
    TRA_TRY(visit_all(x));
    if (x->rows.v.n != x->room) return damaged(x, x->form->values, "it has fewer entries than its tables say");
    tra_rows_view c = x->rows.v;
    tra_turn turn;
    char *room = (char *)columns->head, *sorting = room + columns_room(x->r, x->room);
    int64_t few = tra_turn_few(&c, x->ext.v[0], sorting), nrows = few;
    if (few < 0) {
        tra_turn_matrix(&turn, &c, x->ext.v[0], room, sorting);
        nrows = tra_turn_sort(&turn);
    }
    if (nrows != x->stored->rows[x->ordinal])
        return damaged(x, x->form->values, "it has not as many entries as its tables say");
    tra_rows_view v = tra_rows_begin(cell, nrows, c.n);
    if (few < 0)
        tra_turn_write(&turn, &v);
    else
        tra_turn_few_write(&c, x->ext.v[0], sorting, &v);
    return TRA_OK;
}

tra_status tra_stored_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e) {
    const struct tra_stored *s = r->stored;
    reading *x = scratch;
    tra_cell cell = tra_cell_new(&r->type, ordinal, buf);
    char *room = begin_reading(x, r, ordinal, &cell.array.ext);
    tra_cell columns;
    if (gathers(s) && begin_columns(x, &cell, &columns, room)) return tell(x, read_columns(x, &columns, &cell), e);
    if (gathers(s)) {
        const int64_t *last = s->before ? s->before : s->begin + (s->form.levels.n - 1) * (r->cat.n + 1);
        x->room = last[ordinal + 1] - last[ordinal];
        x->items = (tra_sort_item *)(void *)room;
        x->values = (char *)(x->items + 2 * tra_max64(1, x->room));
    } else if (!cell.layout) {
        x->array = memset(buf, 0, (size_t)tra_dense_bytes(r->type.dtype, &cell.array.ext));
    }
    return tell(x, read_cell(x, &cell), e);
}

tra_status tra_stored_count_mirrored(tra_rel *r, int64_t size, int64_t n, int64_t *before, tra_err *e) {
    reading *x = tra_malloc(tra_stored_read_scratch(r));
    tra_dims ext;
    tra_status s = TRA_OK;
    if (r->cat.n > 0) {
        tra_catalog_ext(&r->cat, 0, &ext);
        begin_reading(x, r, 0, &ext);
        x->counts = before + 1;
        x->size = size;
        s = tell(x, visit_all(x), e);
    }
    for (int64_t g = 0; g < n; g++) before[g + 1] += before[g];
    free(x);
    return s;
}
