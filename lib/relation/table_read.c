/* table_read.c - rows of a table's file, and what is known of its columns. */
#include "table_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BAD(r, e, fmt, ...) tra_fail(e, TRA_INPUT, "%s:%s: " fmt, (r)->path, (r)->name, __VA_ARGS__)

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* Elements first .. first + n of an array, as they are in the file where they are read directly, else in memory's type
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

/* Codes of the file to those in memory, from the last to the first where they become wider; -1 is a NULL. */
static tra_status widen_codes(tra_rel *r, int col, int size, int64_t n, int32_t *v, uint8_t *state, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    for (int64_t i = n; i-- > 0;) {
        int16_t half;
        int32_t x = v[size == 4 ? i : 0];
        if (size == 1) x = ((const int8_t *)v)[i];
        if (size == 2) memcpy(&half, (const char *)v + 2 * i, 2), x = half;
        if (x < -1 || x >= c->dict->n || (x < 0 && !state))
            return BAD(r, e, "column \"%s\": a code is not one of its dictionary: it is damaged", c->name);
        v[i] = x < 0 ? 0 : x;
        if (state) state[i] = x < 0 ? TRA_STATE_NULL : TRA_STATE_VALUE;
    }
    return TRA_OK;
}

static tra_status apply_mask(tra_rel *r, int col, int64_t n, void *values, const uint8_t *state, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    size_t size = tra_coltype_size(c->type);
    for (int64_t i = 0; i < n; i++) {
        if (state[i] > 1) return BAD(r, e, "column \"%s\": its mask is damaged", c->name);
        if (state[i]) memset((char *)values + (size_t)i * size, 0, size);
    }
    return TRA_OK;
}

static tra_status check_bools(tra_rel *r, int col, int64_t n, const uint8_t *v, tra_err *e) {
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= v[i];
    return all <= 1 ? TRA_OK
                    : BAD(r, e, "column \"%s\": a value is no bool: it is damaged", r->table->schema.v[col].name);
}

static tra_status read_column(tra_rel *r, int col, int64_t first, int64_t n, const tra_vector *v, char *room,
                              tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_column *c = &f->schema->v[col];
    if (n == 0) return TRA_OK;
    if (f->values[col] < 0) { /* strings that are no categories */
        memcpy(v->values, r->table->codes[col] + first, (size_t)n * sizeof(int32_t));
        return widen_codes(r, col, 4, n, v->values, v->state, e);
    }
    const tra_table_part *p = &f->part[f->values[col]];
    TRA_TRY(read_part(r, f->values[col], first, n, v->values, room, e));
    if (tra_coltype_is_coded(c->type)) return widen_codes(r, col, p->direct ? p->size : 4, n, v->values, v->state, e);
    if (c->type == TRA_COL_BOOL) TRA_TRY(check_bools(r, col, n, v->values, e));
    if (!v->state) return TRA_OK;
    TRA_TRY(read_part(r, f->nulls[col], first, n, v->state, room, e));
    return apply_mask(r, col, n, v->values, v->state, e);
}

static tra_status read_rows(tra_rel *r, int64_t first, const tra_batch *b, char *room, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    if (first < 0 || b->rows < 0 || first > f->rows - b->rows)
        return tra_fail(e, TRA_INTERNAL, "%s has no such rows", r->path);
    for (int c = 0; c < f->schema->n; c++)
        if (b->v[c].values) TRA_TRY(read_column(r, c, first, b->rows, &b->v[c], room, e));
    return TRA_OK;
}

tra_status tra_rel_read_rows(tra_rel *r, int64_t first, const tra_batch *b, tra_err *e) {
    return read_rows(r, first, b, NULL, e);
}

tra_status tra_rel_choose(tra_rel *r, const tra_schema *columns, tra_err *e) {
    const tra_schema *all = r->table ? r->table->form.schema : &(tra_schema){0};
    for (int i = 0; i < columns->n; i++) {
        const tra_column *c = &columns->v[i], *own = &all->v[c->number];
        if (c->number < 0 || c->number >= all->n || strcmp(c->name, own->name) != 0 || c->type != own->type ||
            c->nullable != own->nullable)
            return tra_fail(e, TRA_INPUT, "%s has no longer the columns that are to be read", r->path);
    }
    r->chosen = r->type.columns = columns;
    return TRA_OK;
}

void tra_rel_skip(tra_rel *r, const int64_t *of) { r->rows_of = of; }

bool tra_schema_is_chosen(const tra_schema *s) {
    const tra_rel *r = s->n ? s->v[0].file : NULL;
    return r && r->table && r->table->form.schema->n != s->n;
}

tra_status tra_table_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e) {
    const tra_table_form *f = &r->table->form;
    const tra_schema *s = r->chosen ? r->chosen : f->schema;
    tra_vector *v = tra_calloc((size_t)(f->schema->n + s->n) + 1, sizeof *v);
    tra_batch all = {.v = v}, b = {.v = v + f->schema->n};
    tra_cell cell = tra_cell_new(&r->type, ordinal, buf);
    bool skipped = r->rows_of && r->rows_of[ordinal] == 0;
    tra_columns_begin(&cell, s, skipped ? 0 : tra_table_block_rows(f, ordinal), &b);
    for (int i = 0; i < s->n; i++) v[r->chosen ? s->v[i].number : i] = b.v[i];
    all.rows = b.rows;
    tra_status st = read_rows(r, ordinal * f->block, &all, scratch, e);
    free(v);
    return st;
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

static tra_status check_categories(tra_rel *r, int col, tra_err *e);

tra_status tra_table_check(tra_rel *r, tra_err *e) {
    for (int c = 0; c < r->table->schema.n; c++)
        if (r->table->schema.v[c].dict && r->ours) TRA_TRY(check_categories(r, c, e));
    tra_arena *a = tra_arena_new();
    tra_status s = TRA_OK;
    for (int c = 0; c < r->table->schema.n && s == TRA_OK && r->ours; c++) {
        tra_column_facts x;
        s = tra_rel_column_facts(r, c, a, &x, e);
        if (s == TRA_NO) s = BAD(r, e, "its statistics (.tra/%s) are missing or damaged", r->name);
    }
    if (s == TRA_OK && r->ours && !r->table->blocks)
        s = BAD(r, e, "its facts of blocks (.tra/%s/blocks) are damaged", r->name);
    tra_arena_free(a);
    return s;
}

/* The categories that other programs read are those of the dictionary. */
static tra_status check_categories(tra_rel *r, int col, tra_err *e) {
    const tra_column *c = &r->table->schema.v[col];
    const tra_table_part *p = &r->table->form.part[r->table->form.values[col]];
    const char *slash = strrchr(p->path, '/');
    char *path = tra_asprintf("%.*s/categories", (int)(slash - p->path), p->path);
    tra_h5_enter();
    hid_t dset = H5Dopen2(r->file, path, H5P_DEFAULT);
    const tra_dictionary *d = dset >= 0 ? tra_table_strings(r, dset) : NULL;
    if (dset >= 0) H5Dclose(dset);
    tra_h5_leave();
    free(path);
    return d && tra_dictionary_eq(d, c->dict)
               ? TRA_OK
               : BAD(r, e, "column \"%s\": its categories are not those that it was written with: it is damaged",
                     c->name);
}

/* ---- facts ------------------------------------------------------------------------------------------------------ */

/* Reads the tables of statistics, once. Under the lock. */
static void look(tra_rel *r) {
    struct tra_table *t = r->table;
    static const char *const names[] = {"statistics", "frequencies", "histograms", "sketches"};
    struct tra_table_numbers *const to[] = {&t->statistics, &t->frequencies, &t->histograms, &t->sketches};
    for (int i = 0; i < 4 && !t->looked; i++) to[i]->v = tra_table_numbers(r, names[i], &to[i]->n);
    t->looked = true;
}

static bool facts_of(const struct tra_table *t, int column, tra_arena *a, tra_column_facts *out) {
    enum { WORDS = 10 };
    if (!t->statistics.v || t->statistics.n != WORDS * (int64_t)t->schema.n) return false;
    const int64_t *row = t->statistics.v + column * WORDS;
    *out = (tra_column_facts){.rows = row[0],
                              .nulls = row[1],
                              .min = row[2],
                              .max = row[3],
                              .distinct = row[4],
                              .exact = row[5] & 1,
                              .sorted = row[5] & 2,
                              .nan = row[5] & 4,
                              .whole = row[5] & 8,
                              .n = row[7]};
    int64_t pairs = t->frequencies.n / 2;
    if (!t->frequencies.v || row[6] < 0 || row[7] < 0 || row[6] > pairs || row[7] > pairs - row[6]) return false;
    int64_t(*pair)[2] = tra_arena_array(a, (size_t)row[7] + 1, sizeof *pair);
    if (row[7]) memcpy(pair, t->frequencies.v + 2 * row[6], (size_t)row[7] * sizeof *pair);
    out->frequency = (const int64_t(*)[2])pair;
    if (row[8] < 0) return true;
    if (!t->histograms.v || !t->sketches.v || row[8] >= t->histograms.n / (TRA_BUCKETS + 1) ||
        row[8] >= t->sketches.n / TRA_REGISTERS)
        return false;
    int64_t *h = tra_news(a, int64_t, TRA_BUCKETS + 1), *s = tra_news(a, int64_t, TRA_REGISTERS);
    memcpy(h, t->histograms.v + row[8] * (TRA_BUCKETS + 1), (TRA_BUCKETS + 1) * sizeof *h);
    memcpy(s, t->sketches.v + row[8] * TRA_REGISTERS, TRA_REGISTERS * sizeof *s);
    out->histogram = h;
    out->sketch = s;
    return true;
}

tra_status tra_rel_column_facts(tra_rel *r, int column, tra_arena *a, tra_column_facts *out, tra_err *e) {
    (void)e;
    if (!r->ours) return TRA_NO;
    tra_h5_enter();
    look(r);
    tra_h5_leave();
    return facts_of(r->table, column, a, out) ? TRA_OK : TRA_NO;
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

/* ---- digest ----------------------------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebULL;
    return x ^ x >> 32;
}

enum { STRIP = 512, NONE = 0x6e756c6c /* in place of a NULL */ };

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == 0 ? 0 : x != x ? UINT64_C(0x7ff8000000000000) : bits;
}

uint64_t tra_digest_string(const char *s, size_t n) { return XXH64(s, n, 1); }

/* The code of a NULL may be none of the dictionary. */
static uint64_t string_bits(const tra_dictionary *d, int32_t code) {
    int64_t len;
    if (code >= d->n) return 0;
    const char *s = tra_dictionary_at(d, code, &len);
    return tra_digest_string(s, (size_t)len);
}

#define WORDS(T, word)                                                                                                 \
    for (int i = 0; i < n; i++) {                                                                                      \
        T x = ((const T *)v->values)[from + i];                                                                        \
        to[i] = word;                                                                                                  \
    }

/* What stands for the values of some rows. */
static void words_of(const tra_column *c, const tra_vector *v, int64_t from, int n, uint64_t *to) {
    switch (tra_coltype_held(c->type)) {
    case TRA_BOOL: WORDS(uint8_t, x) break;
    case TRA_I32:
        if (c->dict)
            WORDS(int32_t, string_bits(c->dict, x))
        else
            WORDS(int32_t, (uint64_t)(int64_t)x)
        break;
    case TRA_I64: WORDS(int64_t, (uint64_t)x) break;
    case TRA_F32: WORDS(float, bits_of((double)x)) break;
    case TRA_F64: WORDS(double, bits_of(x)) break;
    }
    for (int i = 0; v->state && i < n; i++)
        if (v->state[from + i]) to[i] = NONE;
}

/* first: the number of the first row, from 1. state: NULL: no row is NULL. */
static inline __attribute__((always_inline)) void add_words(tra_digest *d, uint64_t first, uint64_t column,
                                                            const uint64_t *x, const uint8_t *state, int n) {
    uint64_t lo = 0, hi = 0;
    for (int i = 0; i < n; i++) {
        uint64_t at = (first + (uint64_t)i) * 0x9e3779b97f4a7c15ULL ^ column, w = mix(x[i] + at);
        if (state) w += state[i] != 0;
        lo += mix(w);
        hi += mix(w << 32 ^ w >> 32 ^ at * 0xd1b54a32d192ed03ULL);
    }
    d->lo += lo;
    d->hi += hi;
}

#if defined(__x86_64__) && !defined(__clang__)
/* Eight products of 64 bits at a time. */
__attribute__((target("avx512f,avx512dq"), optimize("O3"))) static void
add_vectors(tra_digest *d, uint64_t first, uint64_t column, const uint64_t *x, int n) {
    add_words(d, first, column, x, NULL, n);
}
static bool has_vectors(void) { return __builtin_cpu_supports("avx512dq"); }
#else
static void add_vectors(tra_digest *d, uint64_t first, uint64_t column, const uint64_t *x, int n) {
    add_words(d, first, column, x, NULL, n);
}
static bool has_vectors(void) { return false; }
#endif

static void digest_column(tra_digest *d, int64_t first, int64_t rows, const tra_column *c, const tra_vector *v,
                          uint64_t column) {
    uint64_t x[STRIP];
    bool vectors = !v->state && has_vectors();
    for (int64_t from = 0; from < rows; from += STRIP) {
        int n = (int)tra_min64(STRIP, rows - from);
        uint64_t number = (uint64_t)(first + from) + 1;
        words_of(c, v, from, n, x);
        if (vectors)
            add_vectors(d, number, column, x, n);
        else
            add_words(d, number, column, x, v->state ? v->state + from : NULL, n);
    }
}

static bool is_elsewhere(const tra_dictionary *d) { return d && d->n > 0 && !d->begin; }

void tra_digest_rows(tra_digest *d, int64_t first, const tra_batch *b) {
    for (int c = 0; c < b->schema->n; c++)
        if (b->v[c].values && !is_elsewhere(b->schema->v[c].dict))
            digest_column(d, first, b->rows, &b->schema->v[c], &b->v[c], mix((uint64_t)c + 1));
}

void tra_digest_strings(tra_digest *d, int column, int64_t first, int64_t rows, const uint64_t *x,
                        const uint8_t *state) {
    uint64_t v[STRIP];
    for (int64_t from = 0; from < rows; from += STRIP) {
        int n = (int)tra_min64(STRIP, rows - from);
        for (int i = 0; i < n; i++) v[i] = state && state[from + i] ? NONE : x[from + i];
        add_words(d, (uint64_t)(first + from) + 1, mix((uint64_t)column + 1), v, state ? state + from : NULL, n);
    }
}

void tra_digest_table_text(const tra_digest *d, const tra_schema *s, int64_t rows, char text[33]) {
    XXH64_state_t *h = XXH64_createState();
    XXH64_reset(h, 0);
    for (int c = 0; c < s->n; c++) {
        uint64_t type = s->v[c].type;
        XXH64_update(h, s->v[c].name, strlen(s->v[c].name) + 1);
        XXH64_update(h, &type, sizeof type);
    }
    uint64_t n = (uint64_t)rows, head = XXH64_digest(h);
    XXH64_freeState(h);
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, mix(d->lo ^ head) + mix(n + 1), mix(d->hi + head) ^ mix(n));
}
