/* table_values.c - finds the different values of a column of integers, which the statistics do not list when there are
 * many. */
#include "../base/radix.h"
#include "../model/labels.h"
#include "../h5/scales.h"
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>

/* A set of whole numbers: bits for those in the range that the statistics tell, where it is not wide, and a hash table
 * with open addressing. */
typedef struct values {
    uint64_t *bit, bits; /* of `bits` values from `least` on */
    int64_t least;
    int64_t *v, nslots; /* a slot has a value, or FREE */
    int64_t n, nbits;   /* values, of which so many are bits, and the others but FREE in slots */
    bool has_free;      /* FREE itself is a value too */
    bool any;           /* a value has been taken: */
    int64_t last;       /* the latest one */
} values;

static const int64_t FREE = INT64_MIN;

static int64_t slot_of(const values *x, int64_t value) {
    int64_t mask = x->nslots - 1;
    int64_t at = (int64_t)(((uint64_t)value * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
    while (x->v[at] != FREE && x->v[at] != value) at = (at + 1) & mask;
    return at;
}

static void grow(values *x) {
    values y = *x;
    y.nslots = x->nslots ? 2 * x->nslots : 1 << 10;
    y.v = tra_malloc((size_t)y.nslots * sizeof *y.v);
    for (int64_t i = 0; i < y.nslots; i++) y.v[i] = FREE;
    for (int64_t i = 0; i < x->nslots; i++)
        if (x->v[i] != FREE) y.v[slot_of(&y, x->v[i])] = x->v[i];
    free(x->v);
    *x = y;
}

/* Expects values of a range, of which there are n at most: bits take no more than slots would. */
static void expect(values *x, int64_t least, int64_t most, int64_t n) {
    enum { EACH = 128 };
    uint64_t far = (uint64_t)most - (uint64_t)least;
    if (most < least || far >= (uint64_t)tra_mul_most(EACH, n)) return;
    x->least = least;
    x->bits = far + 1;
    x->bit = tra_calloc((size_t)(far / 64 + 1), sizeof *x->bit);
}

/* Adds a value. Rows often repeat the one before, which costs no look into the table. */
static void take(values *x, int64_t value) {
    if (x->any && value == x->last) return;
    x->any = true;
    x->last = value;
    if (value == FREE) {
        x->has_free = true;
        return;
    }
    uint64_t far = (uint64_t)value - (uint64_t)x->least;
    if (far < x->bits) {
        bool fresh = !(x->bit[far / 64] >> far % 64 & 1);
        x->bit[far / 64] |= UINT64_C(1) << far % 64;
        x->n += fresh, x->nbits += fresh;
        return;
    }
    if (2 * (x->n - x->nbits + 1) > x->nslots) grow(x);
    int64_t at = slot_of(x, value);
    x->n += x->v[at] == FREE;
    x->v[at] = value;
}

/* The values, ascending. */
static const int64_t *sorted(const values *x, tra_arena *a) {
    int64_t n = x->n + x->has_free, k = 0, *out = tra_arena_array(a, (size_t)n + 1, sizeof *out);
    int64_t *both = tra_malloc((2 * (size_t)n + 1) * sizeof *both);
    for (int64_t i = 0; i < x->nslots; i++)
        if (x->v[i] != FREE) both[k++] = x->v[i] ^ INT64_MIN; /* in the order of numbers without signs */
    if (x->has_free) both[k++] = 0;
    bool ascend = k == 0;
    for (uint64_t i = 0; i < x->bits; i += 64)
        for (uint64_t w = x->bit[i / 64]; w; w &= w - 1)
            both[k++] = (int64_t)((uint64_t)x->least + i + (uint64_t)__builtin_ctzll(w)) ^ INT64_MIN;
    const int64_t *v = ascend ? both : tra_radix_sort(both, both + n, n, sizeof *both, 0);
    for (int64_t i = 0; i < n; i++) out[i] = v[i] ^ INT64_MIN;
    free(both);
    return out;
}

tra_status tra_rel_column_values(tra_rel *r, int column, int64_t most, tra_arena *a, const int64_t **out, int64_t *n,
                                 tra_err *e) {
    const tra_schema *s = &r->table->schema;
    tra_dtype t = tra_coltype_held(s->v[column].type);
    int64_t rows = tra_rel_rows(r), strip = tra_max64(1, r->table->form.block);
    tra_column_facts facts;
    bool told = tra_rel_column_facts(r, column, &facts);
    if (told && (facts.exact ? facts.distinct : facts.distinct / 2) > most)
        return TRA_NO;
    tra_vector *v = tra_calloc((size_t)s->n + 1, sizeof *v);
    values x = {0};
    if (told && facts.rows > facts.nulls) expect(&x, facts.min, facts.max, tra_min64(most, rows));
    tra_status status = TRA_OK;
    v[column].values = malloc((size_t)strip * tra_dtype_size(t) + 8);
    v[column].state = malloc((size_t)strip + 8);
    if (!v[column].values || !v[column].state)
        status = tra_fail(e, TRA_RESOURCE, "out of memory for the values of a column of %s", r->path);
    bool states = tra_column_has_states(&s->v[column]);
    if (!states) free(v[column].state), v[column].state = NULL;
    for (int64_t at = 0; at < rows && status == TRA_OK; at += strip) {
        tra_batch b = {.schema = s, .rows = tra_min64(strip, rows - at), .v = v};
        status = tra_rel_read_rows(r, at, &b, e);
        for (int64_t i = 0; i < b.rows && status == TRA_OK; i++) {
            if (states && v[column].state[i] != TRA_STATE_VALUE) continue;
            take(&x, tra_element_whole(t, v[column].values, i));
            if (x.n + x.has_free > most) status = TRA_NO;
        }
    }
    if (status == TRA_OK) *n = x.n + x.has_free, *out = sorted(&x, a);
    free(v[column].values);
    free(v[column].state);
    free(v);
    free(x.v);
    free(x.bit);
    return status;
}

/* Reads all rows of a column that has room for them. */
static tra_status read_column(tra_rel *r, int column, const tra_vector *all, tra_err *e) {
    const tra_schema *s = &r->table->schema;
    int64_t rows = tra_rel_rows(r), strip = tra_max64(1, r->table->form.block);
    size_t size = tra_coltype_size(s->v[column].type);
    tra_vector *v = tra_calloc((size_t)s->n + 1, sizeof *v);
    tra_status status = TRA_OK;
    for (int64_t at = 0; at < rows && status == TRA_OK; at += strip) {
        tra_batch b = {.schema = s, .rows = tra_min64(strip, rows - at), .v = v};
        v[column] = (tra_vector){(char *)all->values + (size_t)at * size, all->state ? all->state + at : NULL};
        status = tra_rel_read_rows(r, at, &b, e);
    }
    free(v);
    return status;
}

tra_status tra_rel_column_labels(tra_rel *r, int column, const tra_dim_labels **out, tra_err *e) {
    const tra_column *c = &r->table->schema.v[column];
    int64_t rows = tra_rel_rows(r);
    if (rows > TRA_SCALE_LABELS)
        return tra_fail(e, TRA_INPUT, "%s:%s has %" PRId64 " rows, and labels are at most %d", r->path, r->name, rows,
                        TRA_SCALE_LABELS);
    TRA_TRY(tra_dictionary_read(c->dict, e));
    tra_vector v = {tra_arena_alloc(r->arena, (size_t)(rows + 8) * sizeof(int64_t)), NULL};
    if (tra_column_has_states(c)) v.state = tra_arena_alloc(r->arena, (size_t)rows + 8);
    r->labels_bytes += 16 * rows;
    TRA_TRY(read_column(r, column, &v, e));
    return tra_dim_labels_of_column(r->arena, c, &v, rows, out, e);
}
