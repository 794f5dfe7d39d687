/* stored_put.c - storing arrays by levels: counting positions, and writing slices to their places.
 *
 * Entries come in the order of the levels, so that the slice of each dataset is made in its order too: it is written
 * piece by piece, and a tuple needs room only for the pieces. Where the order of levels is not that of dimensions,
 * entries are sorted first.
 */
#include "stored_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10 }; /* bytes of a slice that are written at a time */

/* A slice that is being written. */
typedef struct slice {
    tra_writer *w;
    int64_t at; /* where the next piece goes in the file */
    size_t each, n;
    char *buf; /* of PIECE bytes */
    XXH64_state_t sum;
} slice;

/* Turns entries into levels: counts positions, and writes slices if there are any. The arrays have an element for each
 * level. */
typedef struct coder {
    const tra_form *form;
    slice *out[TRA_MAXCOMPONENTS];              /* NULL: positions are only counted */
    int64_t before[TRA_MAXDIM];                 /* positions in the tuples before, which pointers include */
    int64_t count[TRA_MAXDIM], pos[TRA_MAXDIM]; /* positions so far; the position of the last entry */
    int64_t last[TRA_MAXDIM];                   /* coordinate of the last entry */
    int64_t ended[TRA_MAXDIM];                  /* positions of the level above whose ranges have been ended */
    bool any;                                   /* there has been an entry */
    int64_t values;                             /* values that were written */
    tra_spread level[TRA_MAXDIM];
    int64_t parent[TRA_MAXDIM], children[TRA_MAXDIM], first[TRA_MAXDIM]; /* for statistics: the open parent, how many
    positions it has so far, coordinate of the first */
    tra_spread rows;
    bool finite;
    tra_dtype dtype;
    size_t size;
    tra_status status;
    tra_err *e;
} coder;

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static void flush(coder *x, slice *s) {
    if (x->status == TRA_OK && s->n > 0)
        x->status = tra_pwrite(s->w->placing->fd, s->buf, s->n, s->at, s->w->temp, x->e);
    XXH64_update(&s->sum, s->buf, s->n);
    s->at += (int64_t)s->n;
    s->n = 0;
}

static void put(coder *x, int component, const void *element) {
    slice *s = component < 0 ? NULL : x->out[component];
    if (!s) return;
    memcpy(s->buf + s->n, element, s->each);
    s->n += s->each;
    if (s->n == PIECE) flush(x, s);
}

static void put_int(coder *x, int component, int64_t v) {
    uint8_t v1 = (uint8_t)v;
    uint16_t v2 = (uint16_t)v;
    uint32_t v4 = (uint32_t)v;
    if (component < 0 || !x->out[component]) return;
    switch (x->out[component]->each) {
    case 1: put(x, component, &v1); return;
    case 2: put(x, component, &v2); return;
    case 4: put(x, component, &v4); return;
    default: put(x, component, &v); return;
    }
}

/* Puts n elements that have the bytes of the dataset. */
static void put_all(coder *x, int component, const char *elements, int64_t n) {
    slice *s = x->out[component];
    for (size_t left = (size_t)n * s->each; left > 0;) {
        size_t m = left < PIECE - s->n ? left : PIECE - s->n;
        memcpy(s->buf + s->n, elements, m);
        elements += m;
        left -= m;
        s->n += m;
        if (s->n == PIECE) flush(x, s);
    }
}

static void put_columns(coder *x, int component, const uint32_t *v, int64_t n) {
    enum { STRIP = 512 };
    union {
        uint8_t v1[STRIP];
        uint16_t v2[STRIP];
        uint64_t v8[STRIP];
    } to;
    size_t each = x->out[component]->each;
    if (each == 4) {
        put_all(x, component, (const char *)v, n);
        return;
    }
    for (int64_t from = 0; from < n; from += STRIP) {
        int64_t m = tra_min64(STRIP, n - from);
        for (int64_t i = 0; i < m && each == 1; i++) to.v1[i] = (uint8_t)v[from + i];
        for (int64_t i = 0; i < m && each == 2; i++) to.v2[i] = (uint16_t)v[from + i];
        for (int64_t i = 0; i < m && each == 8; i++) to.v8[i] = v[from + i];
        put_all(x, component, (const char *)&to, m);
    }
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

static void close_parent(coder *x, int l) {
    if (x->children[l] > 0) tra_spread_add(&x->level[l], x->children[l], x->first[l], x->last[l]);
    x->children[l] = 0;
}

static bool is_finite(tra_dtype t, const void *v) { return isfinite(tra_element_real(t, v, 0)); }

/* ---- levels ----------------------------------------------------------------------------------------------------- */

/* Puts the ends of the ranges of all positions above that come before `parent`. */
static void put_ends(coder *x, int l, int64_t parent) {
    for (; x->ended[l] < parent; x->ended[l]++) put_int(x, x->form->pointers[l], x->before[l] + x->count[l]);
}

static void open_position(coder *x, int l, int64_t parent, const int64_t *c) {
    put_ends(x, l, parent);
    if (x->children[l] > 0 && x->parent[l] != parent) close_parent(x, l);
    if (x->children[l]++ == 0) x->parent[l] = parent, x->first[l] = c[l];
    for (int i = l; i < l + x->form->group[l]; i++) {
        x->pos[i] = x->count[i]++;
        put_int(x, x->form->indices[i], c[i]);
    }
}

static void put_zeros(coder *x, int64_t before) {
    static const char zero[8];
    for (; x->values < before; x->values++) put(x, x->form->values, zero);
}

/* Takes an entry: its coordinates by level, in ascending order from entry to entry. */
static void feed(coder *x, const int64_t *c, const void *value) {
    const tra_form *f = x->form;
    int64_t parent = 0;
    bool fresh = !x->any; /* a coordinate up to this level differs from that of the last entry */
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] == 0) {
            x->pos[l] = parent * f->ext[l] + c[l];
            fresh = fresh || c[l] != x->last[l];
        } else {
            int end = l + f->group[l];
            for (int i = l; i < end; i++) fresh = fresh || c[i] != x->last[i];
            if (fresh) open_position(x, l, parent, c);
            for (; l < end; l++) x->last[l] = c[l];
            l--;
        }
        x->last[l] = c[l];
        parent = x->pos[l];
    }
    put_zeros(x, parent);
    put(x, f->values, value);
    x->values++;
    x->finite = x->finite && is_finite(x->dtype, value);
    x->any = true;
}

static void feed_end(coder *x) {
    const tra_form *f = x->form;
    int64_t parents = 1;
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] == 0) x->count[l] = parents * f->ext[l];
        if (f->group[l] > 0) {
            put_ends(x, l, parents);
            close_parent(x, l);
        }
        parents = x->count[l];
    }
    put_zeros(x, parents);
    for (int i = 0; i < f->n; i++)
        if (x->out[i]) flush(x, x->out[i]);
}

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
static bool stores_all(const coder *x, const row *r) { return r->column && x->form->group[x->form->levels.n - 1] != 0; }

static bool entry(const coder *x, const row *r, int64_t i, uint32_t *column) {
    *column = r->column ? r->column[i] : (uint32_t)i;
    return stores_all(x, r) || !tra_element_is_zero(x->dtype, r->value + (size_t)i * x->size);
}

static void count_row(coder *x, const row *r, uint32_t *columns) {
    int64_t n = 0, first = 0;
    uint32_t last = 0, j;
    if (stores_all(x, r)) {
        for (int64_t i = 0; columns && i < r->n; i++) columns[r->column[i]]++;
        if (r->n > 0) tra_spread_add(&x->rows, r->n, r->column[0], r->column[r->n - 1]);
        return;
    }
    for (int64_t i = 0; i < r->n; i++) {
        if (!entry(x, r, i, &j)) continue;
        if (n++ == 0) first = j;
        last = j;
        if (columns) columns[j]++;
    }
    if (n > 0) tra_spread_add(&x->rows, n, first, last);
}

/* Takes the entries of a row but the first one, which has been fed: columns and values as they are. */
static void feed_rest(coder *x, const row *r) {
    const tra_form *f = x->form;
    int l = f->levels.n - 1;
    int64_t n = r->n - 1;
    const char *values = r->value + x->size;
    bool finite = x->finite;
    x->children[l] += n;
    x->count[l] += n;
    x->pos[l] += n;
    x->last[l] = r->column[n];
    x->values += n;
    if (!x->out[f->values]) return;
    put_columns(x, f->indices[l], r->column + 1, n);
    put_all(x, f->values, values, n);
    for (int64_t i = 0; i < n; i++) finite &= is_finite(x->dtype, values + (size_t)i * x->size);
    x->finite = finite;
}

static void feed_rows(coder *x, const tra_cell *cell) {
    rows all = rows_of(cell);
    tra_dims lead = cell->array.ext, at;
    int r = lead.n--;
    uint32_t j;
    for (row one; next_row(&all, &one);) {
        int64_t c[TRA_MAXDIM];
        tra_unlinear(&lead, one.number, &at);
        memcpy(c, at.v, sizeof c);
        bool rest = one.n > 1 && stores_all(x, &one) && x->form->group[x->form->levels.n - 1] == 1;
        for (int64_t i = 0; i < (rest ? 1 : one.n); i++) {
            if (!entry(x, &one, i, &j)) continue;
            c[r - 1] = j;
            feed(x, c, one.value + (size_t)i * x->size);
        }
        if (rest) feed_rest(x, &one);
    }
}

/* The same where the levels are in another order than the dimensions. */
static tra_status feed_sorted(coder *x, const tra_cell *cell, tra_sort_item *items, int64_t room, tra_err *e) {
    const tra_form *f = x->form;
    rows all = rows_of(cell);
    tra_dims lead = cell->array.ext, outer = {.n = f->levels.n - 1}, at;
    int64_t n = 0, count = 0, box;
    int r = lead.n--;
    uint32_t j;
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
        feed(x, at.v, values + (size_t)v[n].i * x->size);
    }
    return TRA_OK;
}

static int64_t entries_room(const tra_cell *cell) {
    int64_t n;
    if (cell->layout) return tra_rows_of(cell).n;
    return tra_dims_product(&cell->array.ext, &n) ? n : INT64_MAX;
}

static tra_status feed_cell(coder *x, const tra_cell *cell, void *scratch, tra_err *e) {
    tra_status s = TRA_OK;
    if (tra_levels_in_order(&x->form->levels))
        feed_rows(x, cell);
    else
        s = feed_sorted(x, cell, scratch, entries_room(cell), e);
    return s;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------ */

static int64_t sorting(const tra_levels *l, int64_t entries) {
    return tra_levels_in_order(l) ? 0 : tra_mul_most(tra_max64(1, entries), 2 * (int64_t)sizeof(tra_sort_item));
}

int64_t tra_stored_scratch(const tra_levels *l, int64_t entries) {
    int64_t pieces = (2 * l->n + 2) * (int64_t)(PIECE + sizeof(slice));
    return tra_add_most(tra_add_most(sorting(l, entries), pieces), tra_mul_most(entries, sizeof(uint32_t)));
}

static coder coder_of(const tra_form *f, const tra_cell *cell, tra_err *e) {
    tra_dtype t = cell->array.dtype;
    return (coder){.form = f, .finite = true, .dtype = t, .size = tra_dtype_size(t), .e = e};
}

tra_status tra_stored_count(const tra_levels *l, const tra_dims *bound, const tra_cell *cell, int64_t *counts,
                            void *scratch, tra_err *e) {
    tra_form f;
    tra_form_of(l, bound, 1, false, tra_dtype_size(cell->array.dtype), &f);
    coder x = coder_of(&f, cell, e);
    TRA_TRY(feed_cell(&x, cell, scratch, e));
    feed_end(&x);
    memcpy(counts, x.count, (size_t)l->n * sizeof *counts);
    return TRA_OK;
}

int64_t tra_stored_put_scratch(const tra_writer *w) {
    const tra_levels *l = &w->placing->form.levels;
    int64_t most = 0;
    for (int64_t i = 0; i < w->type.cat->n; i++)
        most = tra_max64(most, w->placing->counts ? w->placing->counts[(i + 1) * l->n - 1]
                                                  : tra_catalog_elements_of(w->type.cat, i));
    if (!w->type.layout) most = tra_max64(most, tra_catalog_elements_most(w->type.cat));
    return tra_stored_scratch(l, most);
}

/* Keeps the checksums of the slices and the statistics of the tuple in w->sums. */
static void keep_facts(tra_writer *w, int64_t ordinal, const coder *x, slice *const *slices) {
    const tra_form *f = x->form;
    uint64_t *facts = w->sums + ordinal * tra_form_fact_words(f);
    for (int i = 0; i < f->n; i++) facts[i] = tra_chunk_sum_end(XXH64_digest(&slices[i]->sum));
    facts += f->n;
    tra_spread_store(facts, &x->rows, x->finite);
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] > 0) tra_spread_store(facts += TRA_SPREAD_WORDS, &x->level[l], x->finite);
    }
}

/* A tuple that is being put. */
struct tra_stored_putting {
    tra_writer *w;
    int64_t ordinal, width;
    coder x;
    uint32_t *columns; /* entries of each column; NULL: these are not kept */
};

/* Begins to put a tuple; buf has room for the pieces of all slices and the counts of columns. */
static void begin_put(tra_stored_putting *p, tra_writer *w, int64_t ordinal, char *buf) {
    const struct tra_placing *to = w->placing;
    const tra_form *f = &to->form;
    const int64_t *begin = to->begin + ordinal * f->n;
    tra_cell cell = tra_cell_new(&w->type, ordinal, NULL);
    slice *v = (slice *)(void *)buf;
    buf = (char *)(v + f->n);
    *p = (tra_stored_putting){w, ordinal, cell.array.ext.v[cell.array.ext.n - 1], coder_of(f, &cell, NULL), NULL};
    for (int i = 0; i < f->n; i++) {
        const tra_dataset *c = &f->c[i];
        v[i] = (slice){.w = w, .each = c->each, .buf = buf + (size_t)i * PIECE};
        v[i].at = to->addr[i] + begin[i] * (int64_t)c->each;
        XXH64_reset(&v[i].sum, 0);
        p->x.out[i] = &v[i];
        if (c->kind == TRA_POINTERS) p->x.before[c->level] = begin[f->indices[c->level]];
    }
    if (tra_form_length(f, f->columns, to->counts + ordinal * f->levels.n, p->width) == 0) return;
    p->columns = (uint32_t *)(void *)(buf + (size_t)f->n * PIECE);
    memset(p->columns, 0, (size_t)p->width * sizeof *p->columns);
}

/* Statistics of the rows, and how many entries each column has. */
static void count_rows(tra_stored_putting *p, const tra_cell *cell) {
    rows all = rows_of(cell);
    for (row one; next_row(&all, &one);) count_row(&p->x, &one, p->columns);
}

static tra_status end_put(tra_stored_putting *p, tra_err *e) {
    const tra_form *f = p->x.form;
    const int64_t *counts = p->w->placing->counts + p->ordinal * f->levels.n;
    for (int64_t j = 0; p->columns && j < p->width; j++) put_int(&p->x, f->columns, p->columns[j]);
    feed_end(&p->x);
    TRA_TRY(p->x.status);
    if (memcmp(p->x.count, counts, (size_t)f->levels.n * sizeof *counts) != 0)
        return tra_fail(e, TRA_INTERNAL, "tuple %" PRId64 " of %s has other entries than were counted", p->ordinal,
                        p->w->path);
    keep_facts(p->w, p->ordinal, &p->x, p->x.out);
    return TRA_OK;
}

tra_status tra_stored_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e) {
    tra_cell cell = tra_cell_new(&w->type, ordinal, (void *)(uintptr_t)data);
    tra_stored_putting p;
    begin_put(&p, w, ordinal, (char *)scratch + sorting(&w->placing->form.levels, entries_room(&cell)));
    p.x.e = e;
    count_rows(&p, &cell);
    TRA_TRY(feed_cell(&p.x, &cell, scratch, e));
    return end_put(&p, e);
}

/* ---- by panels -------------------------------------------------------------------------------------------------- */

struct tra_stored_counting {
    tra_form form;
    coder x;
};

tra_stored_counting *tra_stored_count_begin(const tra_levels *l, const tra_dims *bound, const tra_cell *cell) {
    tra_stored_counting *c = tra_calloc(1, sizeof *c);
    tra_form_of(l, bound, 1, false, tra_dtype_size(cell->array.dtype), &c->form);
    c->x = coder_of(&c->form, cell, NULL);
    return c;
}

void tra_stored_count_panel(tra_stored_counting *c, const tra_cell *panel) { feed_rows(&c->x, panel); }

void tra_stored_count_end(tra_stored_counting *c, int64_t *counts) {
    feed_end(&c->x);
    memcpy(counts, c->x.count, (size_t)c->form.levels.n * sizeof *counts);
    free(c);
}

int64_t tra_stored_panels_scratch(const tra_writer *w, int64_t ordinal) {
    const tra_form *f = &w->placing->form;
    tra_cell cell = tra_cell_new(&w->type, ordinal, NULL);
    int64_t width = cell.array.ext.v[cell.array.ext.n - 1];
    bool columns = tra_form_length(f, f->columns, w->placing->counts + ordinal * f->levels.n, width) > 0;
    return f->n * (int64_t)(PIECE + sizeof(slice)) + (columns ? width * (int64_t)sizeof(uint32_t) : 0);
}

tra_stored_putting *tra_stored_put_begin(tra_writer *w, int64_t ordinal, void *scratch) {
    tra_stored_putting *p = tra_calloc(1, sizeof *p);
    begin_put(p, w, ordinal, scratch);
    return p;
}

tra_status tra_stored_put_panel(tra_stored_putting *p, const tra_cell *panel, tra_err *e) {
    p->x.e = e;
    count_rows(p, panel);
    feed_rows(&p->x, panel);
    return p->x.status;
}

tra_status tra_stored_put_end(tra_stored_putting *p, tra_status s, tra_err *e) {
    p->x.e = e;
    if (s == TRA_OK) s = end_put(p, e);
    free(p);
    return s;
}
