/* stored_put.c - storing arrays by levels: counting positions, and writing slices to their places.
 *
 * Entries come in the order of the levels, so that the slice of each dataset is made in its order too: it is written
 * piece by piece, and a tuple needs room only for the pieces. Where the order of levels is not that of dimensions,
 * entries are sorted first.
 */
#include "stored_coder.h"
#include "../model/turn.h"

#include <stdlib.h>
#include <string.h>

/* ---- the entries of an array ------------------------------------------------------------------------------------ */

/* The entries of a row; of a dense array all its elements, of which some may be 0. */
typedef struct row {
    int64_t number, n;
    const uint32_t *column; /* NULL: 0, 1, ... */
    const char *value;
} row;

typedef struct rows {
    const tra_cell *cell;
    tra_rows_view v;
    int64_t box, width, next;
    size_t size;
} rows;

static rows rows_of(const tra_cell *c) {
    const tra_dims *ext = &c->array.ext;
    rows r = {.cell = c, .box = tra_rows_box(ext), .width = ext->v[ext->n - 1]};
    r.size = tra_dtype_size(c->array.dtype);
    if (c->layout) r.v = tra_rows_of(c);
    return r;
}

static bool next_row(rows *r, row *out) {
    int64_t i = r->next++;
    if (!r->cell->layout) {
        if (i >= r->box) return false;
        *out = (row){.number = i, .n = r->width};
        out->value = (const char *)r->cell->array.data + (size_t)(i * r->width) * r->size;
        return true;
    }
    if (i >= r->v.nrows) return false;
    int64_t from = r->v.begin[i];
    *out = (row){.number = r->v.row[i], .n = r->v.begin[i + 1] - from, .column = r->v.column + from};
    out->value = r->v.value + (size_t)from * r->size;
    return true;
}

/* Are all elements of the row entries? Zeros of dense arrays are none; nor are zeros of sparse rows whose last level is
 * dense, since they cannot be told from those that fill it. */
static bool stores_all(const tra_coder *x, const row *r) {
    return r->column && x->form->group[x->form->levels.n - 1] != 0;
}

static bool entry(const tra_coder *x, const row *r, int64_t i, uint32_t *column) {
    *column = r->column ? r->column[i] : (uint32_t)i;
    return stores_all(x, r) || !tra_element_is_zero(x->dtype, r->value + (size_t)i * x->size);
}

static void count_row(tra_coder *x, const row *r, uint32_t *columns) {
    int64_t n = 0, first = 0;
    uint32_t last = 0, j;
    for (int64_t i = 0; i < r->n; i++) {
        if (!entry(x, r, i, &j)) continue;
        if (n++ == 0) first = j;
        last = j;
        if (columns) columns[j]++;
    }
    if (n > 0) tra_spread_add(&x->rows, n, first, last);
}

/* Takes the entries of a row but the first one, which has been fed: columns and values as they are. */
static void feed_rest(tra_coder *x, const row *r) {
    const tra_form *f = x->form;
    int l = f->levels.n - 1;
    int64_t n = r->n - 1;
    const char *values = r->value + x->size;
    x->children[l] += n;
    x->count[l] += n;
    x->pos[l] += n;
    x->last[l] = r->column[n];
    x->values += n;
    if (!x->out[f->values]) return;
    tra_code_columns(x, f->indices[l], r->column + 1, n);
    tra_code_all(x, f->values, values, n);
    x->finite = x->finite && tra_code_finite(x->dtype, values, n);
}

static void feed_rows(tra_coder *x, const tra_cell *cell) {
    rows all = rows_of(cell);
    tra_dims lead = cell->array.ext, at;
    int r = lead.n--;
    uint32_t j;
    if (cell->layout && tra_code_takes_lines(x->form) && !(x->any && all.v.n > 0 && x->last[0] == all.v.row[0])) {
        const tra_rows_view *v = &all.v;
        const tra_lines lines = {
            .n = v->nrows, .number = v->row, .begin = v->begin, .at = v->column, .value = v->value};
        tra_code_lines(x, &lines);
        return;
    }
    for (row one; next_row(&all, &one);) {
        int64_t c[TRA_MAXDIM];
        c[0] = one.number;
        if (r > 2) {
            tra_unlinear(&lead, one.number, &at);
            memcpy(c, at.v, sizeof c);
        }
        bool rest = one.n > 1 && stores_all(x, &one) && x->form->group[x->form->levels.n - 1] == 1;
        for (int64_t i = 0; i < (rest ? 1 : one.n); i++) {
            if (!entry(x, &one, i, &j)) continue;
            c[r - 1] = j;
            tra_code_entry(x, c, one.value + (size_t)i * x->size);
        }
        if (rest) feed_rest(x, &one);
    }
}

/* Entries of a matrix that are in memory once more while they are put in the order of columns: those of some columns.
 * One column has no more entries than there are rows. */
static int64_t turned_at_once(int64_t entries, int64_t rows) {
    enum { TIMES = 4, LEAST = 1 << 18 };
    return tra_min64(entries, tra_max64(LEAST, tra_max64(rows, entries / TIMES)));
}

/* The entries of a matrix on their way to an order by columns. */
typedef struct turned {
    tra_coder *x;
    tra_rows_view all;
    int64_t most; /* entries at once */
    uint32_t *done;
    char *room, *sorting;
} turned;

/* Takes so many entries of columns from .. to - 1, which come next. */
static void feed_some(turned *w, int64_t from, int64_t to, int64_t entries) {
    tra_rows_view v;
    tra_turn turn;
    if (entries == 0) return;
    tra_turn_columns(&turn, &w->all, from, to, entries, w->done, w->room, w->sorting);
    for (int64_t p = 0; p < turn.parts; p++) {
        tra_turn_part(&turn, p, w->x->dtype, w->room, &v);
        const tra_lines columns = {.n = v.nrows, .number = v.row, .begin = v.begin, .at = v.column, .value = v.value};
        tra_code_lines(w->x, &columns);
    }
}

/* The same of any number of entries: of ranges of columns, one after the other, that have few enough. */
static void feed_range(turned *w, int64_t from, int64_t to) {
    enum { RANGES = 1 << 10 };
    int64_t n[RANGES] = {0}, begin = from, have = 0;
    const tra_rows_view *v = &w->all;
    int shift = 0;
    while ((to - from - 1) >> shift >= RANGES) shift++;
    for (int64_t r = 0; r < v->nrows; r++)
        for (int64_t k = v->begin[r] + w->done[r]; k < v->begin[r + 1] && v->column[k] < to; k++)
            n[(v->column[k] - from) >> shift]++;
    for (int64_t i = 0; i < RANGES && from + (i << shift) < to; i++) {
        int64_t at = from + (i << shift), end = tra_min64(to, at + ((int64_t)1 << shift));
        if (have + n[i] > w->most) {
            feed_some(w, begin, at, have);
            begin = at, have = 0;
        }
        if (n[i] > w->most && end - at > 1) {
            feed_range(w, at, end);
            begin = end;
        } else {
            have += n[i];
        }
    }
    feed_some(w, begin, to, have);
}

/* Takes the entries of a matrix by columns, part by part; false: it is none, or not held as rows. */
static bool feed_columns(tra_coder *x, const tra_cell *cell, char *scratch) {
    if (!cell->layout || !tra_code_takes_lines(x->form) || cell->array.ext.v[0] > UINT32_MAX) return false;
    turned w = {.x = x, .all = tra_rows_of(cell), .room = scratch};
    tra_rows_view v;
    w.most = turned_at_once(w.all.n, cell->array.ext.v[0]);
    w.sorting = scratch + tra_round64(tra_turn_room(w.most, w.most));
    int64_t width = cell->array.ext.v[1], few = w.most == w.all.n ? tra_turn_few(&w.all, width, w.sorting) : -1;
    if (few >= 0) {
        tra_turn_few_lay(&w.all, few, scratch, &v);
        tra_turn_few_write(&w.all, width, w.sorting, &v);
        const tra_lines columns = {.n = v.nrows, .number = v.row, .begin = v.begin, .at = v.column, .value = v.value};
        tra_code_lines(x, &columns);
        return true;
    }
    w.done = (uint32_t *)(void *)(w.sorting + tra_round64(tra_turn_scratch(w.most, true)));
    memset(w.done, 0, (size_t)w.all.nrows * sizeof *w.done);
    if (w.most == w.all.n)
        feed_some(&w, 0, cell->array.ext.v[1], w.all.n);
    else
        feed_range(&w, 0, cell->array.ext.v[1]);
    return true;
}

/* The same where the levels are in another order than the dimensions. */
static tra_status feed_sorted(tra_coder *x, const tra_cell *cell, tra_sort_item *items, int64_t room, tra_err *e) {
    const tra_form *f = x->form;
    rows all = rows_of(cell);
    tra_dims lead = cell->array.ext, outer = {.n = f->levels.n - 1}, at;
    int64_t n = 0, count = 0, box;
    int r = lead.n--;
    uint32_t j;
    if (feed_columns(x, cell, (char *)items)) return TRA_OK;
    for (int i = 0; i < outer.n; i++) outer.v[i] = f->ext[i];
    if (!tra_dims_product(&outer, &box) || room > UINT32_MAX)
        return tra_fail(e, TRA_RESOURCE, "a block is too large to be stored in this order; use smaller blocks");
    const char *values = cell->layout ? all.v.value : cell->array.data;
    for (row one; next_row(&all, &one);) {
        int64_t place = (one.value - values) / (int64_t)x->size;
        tra_unlinear(&lead, one.number, &at);
        for (int64_t i = 0; i < one.n; i++) {
            tra_dims c = {.n = outer.n};
            if (!entry(x, &one, i, &j)) continue;
            at.v[r - 1] = j;
            for (int l = 0; l < outer.n; l++) c.v[l] = at.v[f->levels.order[l]];
            items[count++] = (tra_sort_item){.hi = (uint64_t)tra_linear(&outer, &c),
                                             .lo = (uint64_t)at.v[f->levels.order[outer.n]],
                                             .i = (uint32_t)(place + i)};
        }
    }
    const tra_sort_item *v = tra_sort_items(items, items + room, count);
    for (n = 0; n < count; n++) {
        tra_unlinear(&outer, (int64_t)v[n].hi, &at);
        at.v[outer.n] = (int64_t)v[n].lo;
        tra_code_entry(x, at.v, values + (size_t)v[n].i * x->size);
    }
    return TRA_OK;
}

static int64_t entries_room(const tra_cell *cell) {
    int64_t n;
    if (cell->layout) return tra_rows_of(cell).n;
    return tra_dims_product(&cell->array.ext, &n) ? n : INT64_MAX;
}

static tra_status feed_cell(tra_coder *x, const tra_cell *cell, void *scratch, tra_err *e) {
    if (!tra_levels_in_order(&x->form->levels)) return feed_sorted(x, cell, scratch, entries_room(cell), e);
    feed_rows(x, cell);
    return TRA_OK;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------ */

/* Is an array that is held as so many rows put in order by feed_columns? */
static bool is_turned(const tra_levels *l, int64_t rows) {
    tra_form f;
    const tra_dims none = {.n = l->n};
    tra_form_of(l, &none, 1, false, 1, &f);
    return rows <= UINT32_MAX && l->n == 2 && tra_code_takes_lines(&f);
}

static int64_t sorting(const tra_levels *l, int64_t entries, int64_t rows) {
    if (tra_levels_in_order(l)) return 0;
    int64_t items = tra_mul_most(tra_max64(1, entries), 2 * (int64_t)sizeof(tra_sort_item));
    if (rows == 0 || !is_turned(l, rows)) return items;
    int64_t most = turned_at_once(entries, rows), done = tra_mul_most(tra_min64(entries, rows), sizeof(uint32_t));
    int64_t turn = tra_add_most(tra_round64(tra_turn_room(most, most)), tra_round64(tra_turn_scratch(most, true)));
    return tra_add_most(turn, tra_round64(done));
}

int64_t tra_stored_scratch(const tra_levels *l, int64_t entries) {
    const tra_dims ext = {.n = 1, .v = {tra_min64(UINT32_MAX, tra_max64(1, entries))}};
    return tra_max64(tra_stored_rows_scratch(l, entries, NULL), tra_stored_rows_scratch(l, entries, &ext));
}

int64_t tra_stored_rows_scratch(const tra_levels *l, int64_t entries, const tra_dims *ext) {
    int64_t rows = ext && ext->n > 0 ? ext->v[0] : 0;
    int64_t pieces = (2 * l->n + 2) * (int64_t)(TRA_SLICE_PIECE + sizeof(tra_slice));
    return tra_add_most(tra_add_most(sorting(l, entries, rows), pieces), tra_mul_most(entries, sizeof(uint32_t)));
}

static tra_coder coder_of(const tra_form *f, const tra_cell *cell, tra_err *e) {
    tra_dtype t = cell->array.dtype;
    return (tra_coder){.form = f, .finite = true, .dtype = t, .size = tra_dtype_size(t), .e = e};
}

/* Of a matrix that is held as rows, how many positions each level has, where that needs no look at the entries. */
static bool count_at_once(const tra_coder *x, const tra_cell *cell, int64_t *counts) {
    const tra_form *f = x->form;
    if (!cell->layout || cell->array.ext.n != 2 || (f->group[0] < 2 && f->group[1] != 1)) return false;
    tra_rows_view v = tra_rows_of(cell);
    if (f->group[0] == 1 && !tra_levels_in_order(&f->levels)) return false;
    counts[0] = f->group[0] == 2 ? v.n : f->group[0] == 1 ? v.nrows : f->ext[0];
    counts[1] = v.n;
    return true;
}

tra_status tra_stored_count(const tra_levels *l, const tra_dims *bound, const tra_cell *cell, int64_t *counts,
                            void *scratch, tra_err *e) {
    tra_form f;
    tra_form_of(l, bound, 1, false, tra_dtype_size(cell->array.dtype), &f);
    tra_coder x = coder_of(&f, cell, e);
    if (count_at_once(&x, cell, counts)) return TRA_OK;
    TRA_TRY(feed_cell(&x, cell, scratch, e));
    tra_code_end(&x);
    memcpy(counts, x.count, (size_t)l->n * sizeof *counts);
    return TRA_OK;
}

size_t tra_stored_put_scratch(const tra_writer *w) {
    const tra_levels *l = &w->placing->form.levels;
    int64_t most = 0;
    for (int64_t i = 0; i < w->type.cat->n; i++)
        most = tra_max64(most, w->placing->counts ? w->placing->counts[(i + 1) * l->n - 1]
                                                  : tra_catalog_elements_of(w->type.cat, i));
    if (!w->type.layout) most = tra_max64(most, tra_catalog_elements_most(w->type.cat));
    return tra_stored_rows_scratch(l, most, w->type.layout ? &w->type.cat->bound : NULL);
}

/* Keeps the checksums of the slices and the statistics of the tuple in w->sums. */
static void keep_facts(tra_writer *w, int64_t ordinal, const tra_coder *x, tra_slice *const *slices) {
    const tra_form *f = x->form;
    uint64_t *facts = w->sums + ordinal * tra_form_fact_words(f);
    for (int i = 0; i < f->n; i++) facts[i] = tra_chunk_sum_end(XXH64_digest(&slices[i]->sum));
    facts += f->n;
    tra_spread_store(facts, &x->rows, x->finite);
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] > 0) tra_spread_store(facts += TRA_SPREAD_WORDS, &x->level[l], x->finite);
    }
}

/* A row of a matrix whose columns come one after the other: how many entries it has, and the column of the first. */
typedef struct turned_row {
    uint32_t n, first;
} turned_row;

/* A tuple that is being put. */
struct tra_stored_putting {
    tra_writer *w;
    int64_t ordinal, width, rows;
    tra_coder x;
    uint32_t *columns;  /* entries of each column; NULL: these are not kept */
    turned_row *turned; /* of each row, where transposed arrays are put; else NULL */
    uint32_t span;      /* columns from the first to the last of one of these, at most */
    void *scratch;      /* for sorting */
};

int64_t tra_stored_turned_room(int64_t rows) { return tra_mul_most(rows, sizeof(turned_row)); }

/* Bytes for sorting that come before all others in the scratch. */
static int64_t sorting_before(const tra_form *f, int64_t entries, const tra_cell *cell, bool turned) {
    return turned ? 0 : sorting(&f->levels, entries, cell->layout ? cell->array.ext.v[0] : 0);
}

int64_t tra_stored_put_room(const tra_writer *w, int64_t ordinal, int64_t entries, bool turned) {
    const tra_form *f = &w->placing->form;
    tra_cell cell = tra_cell_new(&w->type, ordinal, NULL);
    int64_t width = cell.array.ext.v[cell.array.ext.n - 1];
    bool columns = tra_form_length(f, f->columns, w->placing->counts + ordinal * f->levels.n, width) > 0;
    int64_t pieces = f->n * (int64_t)(TRA_SLICE_PIECE + sizeof(tra_slice));
    int64_t kept = columns ? tra_mul_most(width, sizeof(uint32_t)) : 0;
    if (turned) kept = tra_add_most(kept, tra_stored_turned_room(cell.array.ext.v[0]));
    return tra_add_most(sorting_before(f, entries, &cell, turned) + pieces, kept);
}

tra_stored_putting *tra_stored_put_begin(tra_writer *w, int64_t ordinal, int64_t entries, bool turned, void *scratch) {
    tra_stored_putting *p = tra_calloc(1, sizeof *p);
    const struct tra_placing *to = w->placing;
    const tra_form *f = &to->form;
    const int64_t *begin = to->begin + ordinal * f->n;
    tra_cell cell = tra_cell_new(&w->type, ordinal, NULL);
    char *buf = (char *)scratch + sorting_before(f, entries, &cell, turned);
    tra_slice *v = (tra_slice *)(void *)buf;
    buf = (char *)(v + f->n);
    *p = (tra_stored_putting){.w = w, .ordinal = ordinal, .x = coder_of(f, &cell, NULL), .scratch = scratch};
    p->width = cell.array.ext.v[cell.array.ext.n - 1];
    for (int i = 0; i < f->n; i++) {
        const tra_dataset *c = &f->c[i];
        v[i] = (tra_slice){.w = w, .each = c->each, .buf = buf + (size_t)i * TRA_SLICE_PIECE};
        v[i].from = v[i].at = to->addr[i] + begin[i] * (int64_t)c->each;
        XXH64_reset(&v[i].sum, 0);
        p->x.out[i] = &v[i];
        if (c->kind == TRA_POINTERS) p->x.before[c->level] = begin[f->indices[c->level]];
    }
    p->x.by_rows = cell.layout && tra_levels_in_order(&f->levels) && tra_code_takes_lines(f) && f->group[1] == 1;
    buf += (size_t)f->n * TRA_SLICE_PIECE;
    p->rows = cell.array.ext.v[0];
    if (turned) {
        p->turned = (turned_row *)(void *)buf;
        memset(p->turned, 0, (size_t)p->rows * sizeof *p->turned);
        buf = (char *)(p->turned + p->rows);
    }
    if (tra_form_length(f, f->columns, to->counts + ordinal * f->levels.n, p->width) == 0) return p;
    p->columns = (uint32_t *)(void *)buf;
    memset(p->columns, 0, (size_t)p->width * sizeof *p->columns);
    return p;
}

/* What the rows and columns of a matrix have of these columns, which are the rows of a panel. */
static void count_turned(tra_stored_putting *p, const tra_rows_view *v) {
    turned_row *turned = p->turned;
    uint32_t span = p->span;
    for (int64_t r = 0; r < v->nrows; r++) {
        uint32_t column = (uint32_t)v->row[r];
        if (p->columns) p->columns[column] += (uint32_t)(v->begin[r + 1] - v->begin[r]);
        for (int64_t k = v->begin[r]; k < v->begin[r + 1]; k++) { /* without a branch that nothing predicts */
            turned_row *row = &turned[v->column[k]];
            uint32_t first = row->n ? row->first : column;
            *row = (turned_row){row->n + 1, first};
            span = column - first >= span ? column - first + 1 : span;
        }
    }
    p->span = span;
}

/* Statistics of the rows, and how many entries each column has. */
static void count_rows(tra_stored_putting *p, const tra_cell *cell) {
    rows all = rows_of(cell);
    uint32_t *columns = p->columns;
    if (p->turned) return count_turned(p, &all.v);
    const row any = {.column = all.v.column};
    if (stores_all(&p->x, &any)) {
        const tra_lines lines = {.n = all.v.nrows, .begin = all.v.begin, .at = all.v.column};
        for (int64_t k = 0; columns && k < all.v.n; k++) columns[all.v.column[k]]++;
        tra_code_spread(&p->x.rows, &lines);
        return;
    }
    for (row one; next_row(&all, &one);) count_row(&p->x, &one, columns);
}

tra_status tra_stored_put_panel(tra_stored_putting *p, const tra_cell *panel, tra_err *e) {
    p->x.e = e;
    count_rows(p, panel);
    if (p->turned)
        feed_rows(&p->x, panel); /* the rows of these arrays are in the order of the levels */
    else
        TRA_TRY(feed_cell(&p->x, panel, p->scratch, e));
    return p->x.status;
}

static tra_status end_put(tra_stored_putting *p, tra_err *e) {
    const tra_form *f = p->x.form;
    const int64_t *counts = p->w->placing->counts + p->ordinal * f->levels.n;
    if (p->columns) tra_code_columns(&p->x, f->columns, p->columns, p->width);
    tra_spread rows = p->x.rows; /* in registers; of its places only how far they reach is kept */
    for (int64_t i = 0; p->turned && i < p->rows; i++)
        if (p->turned[i].n > 0) tra_spread_add(&rows, p->turned[i].n, 0, (int64_t)p->span - 1);
    p->x.rows = rows;
    tra_code_end(&p->x);
    TRA_TRY(p->x.status);
    if (memcmp(p->x.count, counts, (size_t)f->levels.n * sizeof *counts) != 0)
        return tra_fail(e, TRA_INTERNAL, "tuple %" PRId64 " of %s has other entries than were counted", p->ordinal,
                        p->w->path);
    keep_facts(p->w, p->ordinal, &p->x, p->x.out);
    for (int i = 0; i < f->n && !p->w->codec.zstd && !tra_is_intermediate(p->w->path); i++)
        tra_code_begin_write(p->x.out[i]);
    return TRA_OK;
}

tra_status tra_stored_put_end(tra_stored_putting *p, tra_status s, tra_err *e) {
    p->x.e = e;
    if (s == TRA_OK) s = end_put(p, e);
    free(p);
    return s;
}

tra_status tra_stored_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e) {
    tra_cell cell = tra_cell_new(&w->type, ordinal, (void *)(uintptr_t)data);
    tra_stored_putting *p = tra_stored_put_begin(w, ordinal, entries_room(&cell), false, scratch);
    return tra_stored_put_end(p, tra_stored_put_panel(p, &cell, e), e);
}

/* ---- counting by panels ------------------------------------------------------------------------------------------ */

struct tra_stored_counting {
    tra_form form;
    tra_coder x;
};

tra_stored_counting *tra_stored_count_begin(const tra_levels *l, const tra_dims *bound, const tra_cell *cell) {
    tra_stored_counting *c = tra_calloc(1, sizeof *c);
    tra_form_of(l, bound, 1, false, tra_dtype_size(cell->array.dtype), &c->form);
    c->x = coder_of(&c->form, cell, NULL);
    return c;
}

void tra_stored_count_panel(tra_stored_counting *c, const tra_cell *panel) { feed_rows(&c->x, panel); }

void tra_stored_count_end(tra_stored_counting *c, int64_t *counts) {
    tra_code_end(&c->x);
    memcpy(counts, c->x.count, (size_t)c->form.levels.n * sizeof *counts);
    free(c);
}
