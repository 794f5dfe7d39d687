/* mapped_pack.c - packing arrays into the components of a storage that is no levels: its mapping, run backwards.
 *
 * The mapping is visited twice. First each element of a component stands for itself: each coordinate that the mapping
 * emits tells which element is to hold its value, which is copied from the array, and the entries that found a place
 * are marked. Then the mapping is evaluated on the elements, and each value is compared with the array. So an element
 * that two coordinates expected to have different values (a storage for symmetric matrices, and a matrix that is none)
 * is found, and what is read later is what was stored.
 */
#include "mapped.h"
#include "../model/rows.h"
#include "stored_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* What the mapping is given for a tuple. */
typedef struct tuple {
    tra_dims ext, origin;
    tra_component_data component[TRA_MAXCOMPONENTS];
    tra_storage_block block;
} tuple;

static void begin_tuple(tuple *x, const tra_storage *s, const tra_type *t, int64_t ordinal) {
    tra_dims key;
    *x = (tuple){0};
    tra_catalog_ext(t->cat, ordinal, &x->ext);
    tra_catalog_key(t->cat, ordinal, &key);
    x->origin.n = x->ext.n;
    if (tra_type_is_tensor(t, NULL)) tra_type_offset(t, &key, &x->origin);
    x->block = (tra_storage_block){x->ext.v, x->origin.v, x->component};
    for (int k = 0; k < s->ncomponents; k++) x->component[k].value.type = tra_element_of(t->dtype);
}

static tra_status refuse(const tra_storage *s, const char *why, tra_err *e) {
    return tra_fail(e, TRA_PROGRAM, "storage %s: %s", s->decl->name, why);
}

/* Runs the mapping backwards on a block of the largest extents, if that is not too large. */
static tra_status try_out(const tra_storage *s, const tra_type *t, tra_err *e) {
    tuple x = {.ext = t->cat->bound};
    tra_storage_places places;
    tra_err why = {0};
    int64_t n;
    x.origin.n = x.ext.n;
    x.block = (tra_storage_block){x.ext.v, x.origin.v, x.component};
    bool little = tra_dims_product(&x.ext, &n) && n <= TRA_STORAGE_TRIED;
    tra_status st =
        little ? tra_storage_trace(s, &x.block, 0, &places, &why) : tra_storage_find_sizes(s, &x.block, &why);
    if (little && st == TRA_OK) tra_storage_places_free(&places);
    return st == TRA_OK ? TRA_OK : tra_fail(e, TRA_PROGRAM, "%s", why.msg);
}

tra_status tra_mapping_holds(const tra_storage *s, const tra_type *t, tra_err *e) {
    if (s->ncomponents < 1 || s->ncomponents > TRA_MAXCOMPONENTS)
        return refuse(s, "it has no, or too many components", e);
    for (int k = 0; k < s->ncomponents; k++) {
        const tra_component *c = &s->components[k];
        if (c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE || !c->real)
            return tra_fail(e, TRA_PROGRAM,
                            "storage %s: where elements are depends on what its component %s holds, and not on "
                            "coordinates and sizes alone",
                            s->decl->name, c->name);
        if (strlen(c->name) >= sizeof((tra_dataset *)0)->name)
            return refuse(s, "the name of a component is too long for a result's file", e);
    }
    const tra_dims *bound = &t->cat->bound;
    if (t->columns) return refuse(s, "tables are not stored so", e);
    if (bound->n < 1 || !tra_rows_can(bound))
        return refuse(s, "arrays must have a dimension, and be shorter than 2^32 along the last", e);
    if (s->at_origin && !tra_type_is_tensor(t, NULL))
        return refuse(s, "it asks where blocks begin, and these are not the blocks of a tensor", e);
    return t->cat->n > 0 ? try_out(s, t, e) : TRA_OK;
}

bool tra_mapping_is_total(const tra_storage *s, const tra_type *t) {
    tra_dims shape = t->cat->bound;
    if (s->at_origin) tra_type_shape(t, &shape);
    return tra_storage_is_total(s, &(tra_storage_block){.extent = shape.v});
}

tra_status tra_mapping_sizes(const tra_storage *s, const tra_type *t, int64_t ordinal, int64_t *sizes, tra_err *e) {
    tuple x;
    begin_tuple(&x, s, t, ordinal);
    TRA_TRY(tra_storage_find_sizes(s, &x.block, e));
    for (int k = 0; k < s->ncomponents; k++) sizes[k] = x.component[k].value.n;
    return TRA_OK;
}

int64_t tra_mapping_bytes(const tra_storage *s, const tra_type *t, int64_t ordinal) {
    int64_t sizes[TRA_MAXCOMPONENTS], n = 0;
    if (tra_mapping_sizes(s, t, ordinal, sizes, NULL) != TRA_OK) return INT64_MAX;
    for (int k = 0; k < s->ncomponents; k++) n = tra_add_most(n, sizes[k]);
    return tra_mul_most(n, (int64_t)tra_dtype_size(t->dtype));
}

int64_t tra_mapping_room(int64_t bytes, int64_t entries) { return tra_add_most(bytes, 64 + entries / 8 + 1); }

tra_status tra_mapping_measure(const tra_type *t, tra_mapping_use *use, tra_err *e) {
    for (int64_t i = 0; i < t->cat->n; i++) {
        int64_t sizes[TRA_MAXCOMPONENTS];
        TRA_TRY(tra_mapping_sizes(use->storage, t, i, sizes, e));
        int64_t n = tra_mapping_bytes(use->storage, t, i);
        use->all = tra_add_most(use->all, n);
        use->largest = tra_max64(use->largest, n);
    }
    return use->all < TRA_SIZE_MOST / 64 ? TRA_OK
                                         : tra_fail(e, TRA_INPUT, "storage %s: it has more elements than can be stored",
                                                    use->storage->decl->name);
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

/* The array that is packed. */
typedef struct source {
    const tra_cell *cell;
    bool dense;
    tra_rows_view rows;
    int64_t count; /* of its entries; in a dense array all elements are entries */
    int64_t row;   /* the row that was looked up last: index in rows.row */
    size_t size;
    tra_dtype type;
} source;

static source source_of(const tra_cell *c) {
    source a = {.cell = c, .dense = !c->layout, .size = tra_dtype_size(c->array.dtype), .type = c->array.dtype};
    if (!a.dense) a.rows = tra_rows_of(c);
    if (!a.dense) a.count = a.rows.n;
    if (a.dense && !tra_dims_product(&c->array.ext, &a.count)) a.count = 0;
    return a;
}

static const char *value_at(const source *a, int64_t entry) {
    return (a->dense ? (const char *)a->cell->array.data : a->rows.value) + (size_t)entry * a->size;
}

static int64_t row_of(const source *a, const int64_t *key) {
    int64_t row = 0;
    for (int d = 0; d + 1 < a->cell->array.ext.n; d++) row = row * a->cell->array.ext.v[d] + key[d];
    return row;
}

/* The entry at a coordinate, or -1. */
static int64_t find(source *a, const int64_t *key) {
    int last = a->cell->array.ext.n - 1;
    int64_t row = row_of(a, key), lo = 0, hi;
    if (a->dense) return row * a->cell->array.ext.v[last] + key[last];
    if (a->row >= a->rows.nrows || a->rows.row[a->row] != row) {
        TRA_BISECT(lo, a->rows.nrows, middle, a->rows.row[middle] < row);
        a->row = lo;
    }
    if (a->row >= a->rows.nrows || a->rows.row[a->row] != row) return -1;
    lo = a->rows.begin[a->row], hi = a->rows.begin[a->row + 1];
    int64_t end = hi;
    TRA_BISECT(lo, hi, middle, a->rows.column[middle] < key[last]);
    return lo < end && a->rows.column[lo] == key[last] ? lo : -1;
}

/* The coordinates of an entry. */
static void locate(const source *a, int64_t entry, int64_t *key) {
    tra_dims lead = a->cell->array.ext, at;
    int64_t last = lead.v[lead.n - 1], row = entry / tra_max64(1, last), column = entry % tra_max64(1, last);
    if (!a->dense) {
        int64_t r = 0;
        while (a->rows.begin[r + 1] <= entry) r++;
        row = a->rows.row[r];
        column = a->rows.column[entry];
    }
    lead.n--;
    tra_unlinear(&lead, row, &at);
    memcpy(key, at.v, (size_t)lead.n * sizeof *key);
    key[lead.n] = column;
}

static bool same(tra_dtype t, const void *a, const void *b) {
    if (memcmp(a, b, tra_dtype_size(t)) == 0) return true;
    double x = tra_element_real(t, a, 0), y = tra_element_real(t, b, 0);
    return tra_dtype_is_float(t) && (x == y || (isnan(x) && isnan(y)));
}

/* ---- packing ---------------------------------------------------------------------------------------------------- */

typedef struct packing {
    const tra_storage *storage;
    const tuple *tuple;
    source from;
    char *to[TRA_MAXCOMPONENTS]; /* elements of each component */
    uint8_t *held;               /* a bit for each entry: a component holds it */
    int64_t given;               /* entries that the mapping emitted */
} packing;

/* "(3,1) is 7": an entry by its position in the tensor, for messages. */
static const char *entry_text(const packing *p, const int64_t *key, const void *value, char *text, size_t n) {
    tra_dims at = p->tuple->origin;
    char where[TRA_DIMTEXT];
    for (int d = 0; d < at.n; d++) at.v[d] += key[d];
    snprintf(text, n, "%s is %.17g", tra_dims_text(&at, "(", ",", ")", where, sizeof where),
             tra_element_real(p->from.type, value, 0));
    return text;
}

static tra_status fill(void *ctx, const tra_calc_entry *x, tra_err *e) {
    packing *p = ctx;
    char text[TRA_DIMTEXT + 64];
    int64_t entry = find(&p->from, x->key);
    p->given++;
    if (x->component < 0)
        return tra_fail(e, TRA_INPUT,
                        "storage %s computes values that no component holds, so that nothing can be stored so",
                        p->storage->decl->name);
    if (entry < 0) return TRA_OK;
    char *to = p->to[x->component] + (size_t)x->element * p->from.size;
    if (tra_element_is_zero(p->from.type,
                            value_at(&p->from, entry))) { /* a relation that is sparse by type has no -0 */
        if (!p->from.cell->sparse) memcpy(to, value_at(&p->from, entry), p->from.size);
        return TRA_OK;
    }
    if (p->held[entry / 8] >> (entry % 8) & 1)
        return tra_fail(e, TRA_INPUT, "element %s, for which storage %s has two places, whose values add up",
                        entry_text(p, x->key, value_at(&p->from, entry), text, sizeof text), p->storage->decl->name);
    p->held[entry / 8] |= (uint8_t)(1u << (entry % 8));
    memcpy(to, value_at(&p->from, entry), p->from.size);
    return TRA_OK;
}

static tra_status compare(void *ctx, const tra_calc_entry *x, tra_err *e) {
    static const char zero[8];
    packing *p = ctx;
    char text[TRA_DIMTEXT + 64], element[8];
    int64_t entry = find(&p->from, x->key);
    const void *expected = entry < 0 ? zero : value_at(&p->from, entry);
    TRA_TRY(tra_mapped_element(p->from.type, x->value, element, e));
    if (same(p->from.type, element, expected)) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "element %s, but storage %s has one place for it and another element, which is %.17g",
                    entry_text(p, x->key, expected, text, sizeof text), p->storage->decl->name,
                    tra_element_real(p->from.type, element, 0));
}

/* TRA_INPUT if an entry found no place, naming the first such. */
static tra_status check_held(const packing *p, tra_err *e) {
    char text[TRA_DIMTEXT + 64];
    for (int64_t i = 0; i < p->from.count; i++) {
        int64_t key[TRA_MAXDIM];
        if (p->held[i / 8] >> (i % 8) & 1 || tra_element_is_zero(p->from.type, value_at(&p->from, i))) continue;
        locate(&p->from, i, key);
        return tra_fail(e, TRA_INPUT, "element %s, for which storage %s has no place",
                        entry_text(p, key, value_at(&p->from, i), text, sizeof text), p->storage->decl->name);
    }
    return TRA_OK;
}

tra_status tra_mapping_pack(const tra_storage *s, const tra_type *t, int64_t ordinal, const tra_cell *cell, void *room,
                            int64_t *entries, tra_err *e) {
    tuple x;
    packing p = {.storage = s, .tuple = &x, .from = source_of(cell)};
    begin_tuple(&x, s, t, ordinal);
    TRA_TRY(tra_storage_find_sizes(s, &x.block, e));
    char *at = room;
    for (int k = 0; k < s->ncomponents; k++) {
        p.to[k] = at;
        at += (size_t)x.component[k].value.n * p.from.size;
    }
    p.held = (uint8_t *)room + align64((size_t)(at - (char *)room));
    memset(room, 0, (size_t)(at - (char *)room));
    memset(p.held, 0, (size_t)(p.from.count / 8 + 1));
    TRA_TRY(tra_storage_visit(s, &x.block, 0, fill, &p, e));
    TRA_TRY(check_held(&p, e));
    *entries = p.given;
    for (int k = 0; k < s->ncomponents; k++) x.component[k].value.data = p.to[k];
    return tra_storage_visit(s, &x.block, 0, compare, &p, e);
}

/* ---- to the file ------------------------------------------------------------------------------------------------ */

tra_status tra_mapping_put(tra_writer *w, int64_t ordinal, const void *bytes, int64_t n, int64_t entries, tra_err *e) {
    const struct tra_placing *x = w->placing;
    const int64_t *begin = x->begin + ordinal * x->form.n, size = (int64_t)w->size;
    uint64_t *facts = w->sums + ordinal * tra_form_fact_words(&x->form);
    const char *from = bytes;
    int64_t all = 0;
    for (int k = 0; k < x->form.n; k++) all += (begin[k + x->form.n] - begin[k]) * size;
    if (all != n) return tra_fail(e, TRA_INTERNAL, "what was packed of a tuple of %s is not as long as it is", w->path);
    for (int k = 0; k < x->form.n; k++) {
        int64_t bytes_of = (begin[k + x->form.n] - begin[k]) * size;
        TRA_TRY(tra_pwrite(w->data_fd, from, (size_t)bytes_of, x->addr[k] + begin[k] * size, w->temp, e));
        facts[k] = tra_chunk_sum(from, (size_t)bytes_of);
        from += bytes_of;
    }
    facts[x->form.n] = (uint64_t)entries;
    return TRA_OK;
}
