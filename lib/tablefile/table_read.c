/* table_read.c - reading rows of a table, and the statistics of its columns. */
#include "../base/simd.h"
#include "../model/columns.h"
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* Reads elements first .. first + n - 1 of an array: with the bytes of the file where p->direct, else in memory's type
 * (codes: 32 bits). */
static tra_status read_part(tra_rel *r, int part, int64_t first, int64_t n, void *to, char *room, tra_err *e) {
    tra_table_form *f = &r->table->form;
    tra_table_part *p = &f->part[part];
    const tra_column *c = &f->schema->v[p->column];
    if (!p->direct) {
        tra_h5_enter();
        hid_t dset = H5Dopen2(r->file, p->path, H5P_DEFAULT), space = H5Dget_space(dset);
        hsize_t from = (hsize_t)first, count = (hsize_t)n;
        hid_t memory = H5Screate_simple(1, &count, NULL);
        hid_t type = tra_h5_type(p->mask ? TRA_BOOL : tra_coltype_held(c->type));
        bool ok = dset >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &count, NULL) >= 0 &&
                  H5Dread(dset, type, memory, space, H5P_DEFAULT, to) >= 0;
        tra_status s = ok ? TRA_OK : tra_h5_fail(e, TRA_INPUT, r->vfd, "%s: %s cannot be read", r->path, p->path);
        H5Sclose(memory);
        H5Sclose(space);
        if (dset >= 0) H5Dclose(dset);
        tra_h5_leave();
        return s;
    }
    TRA_TRY(tra_table_find(r, part, e));
    for (int64_t k; n > 0; n -= k, first += k, to = (char *)to + k * p->size) {
        int64_t b = first / f->block;
        k = tra_min64(n, f->block - first % f->block);
        TRA_TRY(tra_table_chunk(r, part, b, first % f->block, k, to, room, e));
    }
    return TRA_OK;
}

/* Strips are widened from the last one to the first, each by way of `wide`, since codes lie in the file's size where
 * those of memory go. */
enum { STRIP = 1024 };

#define WIDEN(name, T)                                                                                                 \
    VECTORS static void widen_##name(const T *restrict from, int n, int32_t *restrict wide) {                          \
        for (int i = 0; i < n; i++) wide[i] = from[i];                                                                 \
    }
WIDEN(bytes, int8_t)
WIDEN(halves, int16_t)
WIDEN(words, int32_t)

/* Puts codes, -1 as a NULL, which has the code 0. False: one is out of the range, or a NULL without room for one. */
VECTORS static bool put_codes(const int32_t *restrict wide, int n, int64_t most, int32_t *restrict v,
                              uint8_t *restrict state) {
    int least = state ? -1 : 0, bad = 0;
    for (int i = 0; i < n; i++) bad |= (wide[i] < least) | (wide[i] >= most);
    for (int i = 0; i < n; i++) v[i] = wide[i] < 0 ? 0 : wide[i];
    for (int i = 0; state && i < n; i++) state[i] = wide[i] < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
    return !bad;
}

/* Turns codes of the file into those of memory, in place. */
static tra_status widen_codes(tra_rel *r, int col, int size, int64_t n, int32_t *v, uint8_t *state, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    int32_t wide[STRIP];
    for (int64_t end = n, from; end > 0; end = from) {
        from = (end - 1) / STRIP * STRIP;
        int k = (int)(end - from);
        if (size == 1)
            widen_bytes((const int8_t *)v + from, k, wide);
        else if (size == 2)
            widen_halves((const int16_t *)(const void *)v + from, k, wide);
        else
            widen_words(v + from, k, wide);
        if (!put_codes(wide, k, c->dict->n, v + from, state ? state + from : NULL))
            return TRA_REL_BAD(r, e, "column \"%s\": a code is not one of its dictionary: it is damaged", c->name);
    }
    return TRA_OK;
}

static tra_status apply_mask(tra_rel *r, int col, int64_t n, void *values, const uint8_t *state, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    uint8_t all = tra_values_clear(values, tra_coltype_size(c->type), state, n);
    return all <= 1 ? TRA_OK : TRA_REL_BAD(r, e, "column \"%s\": its mask is damaged", c->name);
}

static tra_status check_bools(tra_rel *r, int col, int64_t n, const uint8_t *v, tra_err *e) {
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= v[i];
    return all <= 1
               ? TRA_OK
               : TRA_REL_BAD(r, e, "column \"%s\": a value is no bool: it is damaged", r->table->schema.v[col].name);
}

/* Of u64 HDF5 makes the largest i64 where a value does not fit. */
static tra_status check_wide(tra_rel *r, int col, int64_t n, const int64_t *v, const uint8_t *state, tra_err *e) {
    for (int64_t i = 0; i < n; i++)
        if (v[i] == INT64_MAX && !(state && state[i]))
            return TRA_REL_BAD(r, e, "column \"%s\": it is of u64, and a value is more than i64 holds",
                               r->table->schema.v[col].name);
    return TRA_OK;
}

/* Rows of the table: n of them from `first` on; with a list the rows of block `first` at these numbers in it, and the
 * end of room for a column of the block. */
typedef struct some_rows {
    int64_t first, n;
    const int32_t *at;
    char *end;
} some_rows;

/* The elements of these rows. */
static tra_status read_some(tra_rel *r, int part, const some_rows *x, void *to, char *room, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_table_part *p = &f->part[part];
    if (!x->at) return read_part(r, part, x->first, x->n, to, room, e);
    if (p->direct && !p->coded) return tra_chunk_pick(r, part, x->first, x->at, x->n, to, e);
    int64_t rows = tra_table_block_rows(f, x->first);
    int held = p->mask ? 1 : (int)tra_coltype_size(f->schema->v[p->column].type), size = p->direct ? p->size : held;
    char *all = x->end - rows * tra_max64(size, held);
    all -= (uintptr_t)all % sizeof(int64_t);
    TRA_TRY(read_part(r, part, x->first * f->block, rows, all, room, e));
    tra_chunk_compact(all, size, x->at, x->n);
    memcpy(to, all, (size_t)(x->n * size));
    return TRA_OK;
}

static tra_status read_column(tra_rel *r, int col, const some_rows *x, const tra_vector *v, char *room, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_column *c = &f->schema->v[col];
    int64_t n = x->n;
    if (n == 0) return TRA_OK;
    if (f->values[col] < 0) { /* plain strings, which were encoded when the table was opened */
        const int32_t *codes = r->table->codes[col] + (x->at ? x->first * f->block : x->first);
        for (int64_t i = 0; i < n; i++) ((int32_t *)v->values)[i] = codes[x->at ? x->at[i] : i];
        return widen_codes(r, col, 4, n, v->values, v->state, e);
    }
    const tra_table_part *p = &f->part[f->values[col]];
    TRA_TRY(read_some(r, f->values[col], x, v->values, room, e));
    if (p->u64 && !v->state) TRA_TRY(check_wide(r, col, n, v->values, NULL, e));
    if (tra_coltype_is_coded(c->type)) return widen_codes(r, col, p->direct ? p->size : 4, n, v->values, v->state, e);
    if (c->type == TRA_COL_BOOL) TRA_TRY(check_bools(r, col, n, v->values, e));
    if (!v->state) return TRA_OK;
    TRA_TRY(read_some(r, f->nulls[col], x, v->state, room, e));
    if (p->u64) TRA_TRY(check_wide(r, col, n, v->values, v->state, e));
    return apply_mask(r, col, n, v->values, v->state, e);
}

static tra_status read_rows(tra_rel *r, int64_t first, const tra_batch *b, char *room, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    if (first < 0 || b->rows < 0 || first > f->rows - b->rows)
        return tra_fail(e, TRA_INTERNAL, "%s has no such rows", r->path);
    for (int c = 0; c < f->schema->n; c++)
        if (b->v[c].values) TRA_TRY(read_column(r, c, &(some_rows){first, b->rows, NULL, NULL}, &b->v[c], room, e));
    return TRA_OK;
}

tra_status tra_rel_read_rows(tra_rel *r, int64_t first, const tra_batch *b, tra_err *e) {
    return read_rows(r, first, b, NULL, e);
}

tra_status tra_rel_choose_columns(tra_rel *r, const tra_schema *columns, tra_err *e) {
    const tra_schema *all = r->table ? r->table->form.schema : &(tra_schema){0};
    for (int i = 0; i < columns->n; i++) {
        const tra_column *c = &columns->v[i], *own = &all->v[c->number];
        if (c->number < 0 || c->number >= all->n || strcmp(c->name, own->name) != 0 || c->type != own->type ||
            c->nullable != own->nullable)
            return tra_fail(e, TRA_INPUT, "%s has no longer the columns that are to be read", r->path);
    }
    r->chosen_columns = r->type.columns = columns;
    return TRA_OK;
}

void tra_rel_skip_blocks(tra_rel *r, const int64_t *of) { r->wanted_rows = of; }

void tra_rel_filter_rows(tra_rel *r, const tra_row_filter *f) { r->filter = f; }

bool tra_schema_is_chosen(const tra_schema *s) {
    const tra_rel *r = s->n ? s->v[0].file : NULL;
    return r && r->table && r->table->form.schema->n != s->n;
}

/* The file's number of column i of those that are read. */
static int column_number(const tra_rel *r, int i) { return r->chosen_columns ? r->chosen_columns->v[i].number : i; }

/* Reads those columns of a block by which rows are wanted, or the others. */
static tra_status read_columns(tra_rel *r, const tra_batch *b, const bool *reads, bool which, const some_rows *x,
                               char *room, tra_err *e) {
    for (int i = 0; i < b->schema->n; i++)
        if (!reads || reads[i] == which) TRA_TRY(read_column(r, column_number(r, i), x, &b->v[i], room, e));
    return TRA_OK;
}

/* Reads a block, and of columns by which no row is left out only what the rows have that are wanted, if these are few.
 * Then the block is laid out for these before the other columns are read, so that the rest of it is never touched. */
static tra_status read_wanted(tra_rel *r, int64_t ordinal, tra_cell *c, tra_batch *b, char *room, tra_err *e) {
    enum { FEW = 16, LEAST = 1024 }; /* of fewer rows a column might not have room behind those of the wanted ones */
    const tra_row_filter *f = b->rows >= LEAST ? r->filter : NULL;
    some_rows all = {.first = ordinal * r->table->form.block, .n = b->rows}, some = {.first = ordinal, .n = -1};
    int64_t most = b->rows / FEW;
    if (!f) return read_columns(r, b, NULL, true, &all, room, e);
    TRA_TRY(read_columns(r, b, f->reads, true, &all, room, e));
    int32_t *at = tra_malloc((size_t)(most + 1) * sizeof *at);
    some.n = f->find(f, b, at, most);
    some.at = at;
    for (int i = 0; i < b->schema->n && some.n >= 0; i++) {
        int size = (int)tra_coltype_size(b->schema->v[i].type);
        some.end = (char *)(b->v[i].state ? b->v[i].state : b->v[i].values) + b->rows * (b->v[i].state ? 1 : size);
        if (!f->reads[i]) continue;
        tra_chunk_compact(b->v[i].values, size, at, some.n);
        if (b->v[i].state) tra_chunk_compact(b->v[i].state, 1, at, some.n);
    }
    if (some.n >= 0) (void)tra_columns_end(c, b->schema, some.n, b);
    tra_status s = read_columns(r, b, f->reads, false, some.n < 0 ? &all : &some, room, e);
    free(at);
    return s;
}

tra_status tra_table_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_schema *s = r->chosen_columns ? r->chosen_columns : f->schema;
    bool skipped = r->wanted_rows && r->wanted_rows[ordinal] == 0;
    int64_t rows = skipped ? 0 : tra_table_block_rows(f, ordinal);
    tra_batch b = {.schema = s, .v = tra_calloc((size_t)s->n + 1, sizeof *b.v)};
    tra_cell cell = tra_cell_new(&r->type, ordinal, buf);
    tra_columns_begin(&cell, s, rows, &b);
    tra_status st = rows > 0 ? read_wanted(r, ordinal, &cell, &b, scratch, e) : TRA_OK;
    free(b.v);
    return st;
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

static tra_status check_categories(tra_rel *r, int col, tra_err *e);

tra_status tra_table_check(tra_rel *r, tra_err *e) {
    for (int c = 0; c < r->table->schema.n; c++)
        if (r->table->schema.v[c].dict && r->ours) TRA_TRY(check_categories(r, c, e));
    for (int c = 0; c < r->table->schema.n && r->ours; c++) {
        tra_column_facts x;
        if (!tra_rel_column_facts(r, c, &x))
            return TRA_REL_BAD(r, e, "its statistics (.tra/%s) are missing or damaged", r->name);
    }
    if (r->ours && !r->table->blocks)
        return TRA_REL_BAD(r, e, "its facts of blocks (.tra/%s/blocks) are damaged", r->name);
    return TRA_OK;
}

static bool is_string(void *of, int64_t i, const char *s, size_t len) {
    const tra_dictionary *d = of;
    int64_t n = 0;
    const char *own = i < d->n ? tra_dictionary_at(d, i, &n) : NULL;
    return own && n == (int64_t)len && memcmp(own, s, len) == 0;
}

/* Checks that the dictionary is sorted, and that the categories which other programs read are the same. */
static tra_status check_categories(tra_rel *r, int col, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    const tra_table_part *p = &r->table->form.part[r->table->form.values[col]];
    const char *slash = strrchr(p->path, '/');
    TRA_TRY(tra_dictionary_check(c->dict, e));
    char *path = tra_asprintf("%.*s/categories", (int)(slash - p->path), p->path);
    tra_h5_enter();
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT);
    int64_t n = 0;
    bool alone = dset >= 0 && H5Aexists(dset, "tra_alone") > 0; /* nobody reads them, and none are there */
    bool same = alone || dset < 0 ? alone : tra_h5_each_string(dset, &n, is_string, (void *)c->dict) && n == c->dict->n;
    if (dset >= 0) H5Dclose(dset);
    tra_h5_leave();
    free(path);
    return same ? TRA_OK
                : TRA_REL_BAD(r, e,
                              "column \"%s\": its categories are not those that it was written with: it is damaged",
                              c->name);
}

/* ---- facts ------------------------------------------------------------------------------------------------------ */

/* Reads the tables of statistics, once. Under the lock. */
static void load_statistics(tra_rel *r) {
    struct tra_table *t = r->table;
    static const char *const names[] = {"statistics", "frequencies", "histograms", "sketches"};
    struct tra_table_numbers *const to[] = {&t->statistics, &t->frequencies, &t->histograms, &t->sketches};
    bool all = t->blocks != NULL;
    if (t->has_loaded) return;
    for (int i = 0; i < 4; i++) all &= (to[i]->v = tra_sealed_numbers(r, names[i], &to[i]->n)) != NULL;
    if (!all && r->ours && !t->warned)
        tra_warn("%s:%s: its statistics (.tra/%s) are missing or damaged: plans are made without them", r->path,
                 r->name, r->name);
    t->warned |= !all;
    t->has_loaded = true;
}

enum { WORDS = 10 }; /* of a column in the table of statistics */

static bool facts_of(const struct tra_table *t, int column, tra_column_facts *out) {
    if (!t->statistics.v || t->statistics.n != WORDS * (int64_t)t->schema.n) return false;
    const int64_t *row = t->statistics.v + column * WORDS;
    int64_t pairs = t->frequencies.n / 2;
    if (!t->frequencies.v || row[6] < 0 || row[7] < 0 || row[6] > pairs || row[7] > pairs - row[6]) return false;
    *out = (tra_column_facts){.rows = row[0],
                              .nulls = row[1],
                              .min = row[2],
                              .max = row[3],
                              .distinct = row[4],
                              .exact = row[5] & 1,
                              .sorted = row[5] & 2,
                              .nan = row[5] & 4,
                              .whole = row[5] & 8,
                              .n = row[7],
                              .frequency = (const int64_t(*)[2])(t->frequencies.v + 2 * row[6])};
    if (row[8] < 0) return true;
    if (!t->histograms.v || !t->sketches.v || row[8] >= t->histograms.n / (TRA_BUCKETS + 1) ||
        row[8] >= t->sketches.n / TRA_REGISTERS)
        return false;
    out->histogram = t->histograms.v + row[8] * (TRA_BUCKETS + 1);
    out->sketch = t->sketches.v + row[8] * TRA_REGISTERS;
    return true;
}

bool tra_rel_column_facts(tra_rel *r, int column, tra_column_facts *out) {
    if (!r->ours) return false;
    tra_h5_enter();
    load_statistics(r);
    tra_h5_leave();
    return facts_of(r->table, column, out);
}

int64_t tra_rel_facts_bytes(const tra_rel *r) {
    const struct tra_table *t = r->table;
    const struct tra_table_numbers *const of[] = {&t->statistics, &t->frequencies, &t->histograms, &t->sketches};
    int64_t n = 0;
    for (int i = 0; i < 4; i++) n += of[i]->v ? of[i]->n * (int64_t)sizeof *of[i]->v : 0;
    return n;
}

void tra_table_drop_facts(struct tra_table *t) {
    struct tra_table_numbers *const of[] = {&t->statistics, &t->frequencies, &t->histograms, &t->sketches};
    for (int i = 0; i < 4; i++) {
        free(of[i]->v);
        *of[i] = (struct tra_table_numbers){0};
    }
    t->has_loaded = false;
}

void tra_rel_drop_facts(tra_rel *r) {
    tra_h5_enter();
    tra_table_drop_facts(r->table);
    tra_h5_leave();
}

tra_status tra_rel_block_facts(tra_rel *r, int column, int64_t block, tra_block_facts *out, tra_err *e) {
    (void)e;
    if (!r->table->blocks) return TRA_NO;
    const int64_t *v = &r->table->blocks[((int64_t)column * r->table->form.nblocks + block) * 4];
    *out = (tra_block_facts){.min = v[0],
                             .max = v[1],
                             .nulls = v[2],
                             .sorted = v[3] & TRA_BLOCK_SORTED,
                             .nan = v[3] & TRA_BLOCK_NAN,
                             .empty = v[3] & TRA_BLOCK_EMPTY};
    return TRA_OK;
}
