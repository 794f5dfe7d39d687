/* diff_entries.c - tra diff of what is stored by its entries: two walks over entries, ascending in the order of the
 * elements, are merged. Where no side has an entry both are 0.
 *
 * Where the blocks of both sides are the same, these are walked, pair by pair. Else, unless one side is dense and the
 * other nearly, it is the whole of both sides. */
#include "diff_int.h"

#include "../formats/visit.h"

/* One side: its entries, and the present one. */
typedef struct side {
    tra_visit walk;
    tra_dtype dtype;
    bool end;
    int64_t index;
    number value;
} side;

static number zero_of(tra_dtype t) { return (number){.whole = !tra_dtype_is_float(t)}; }

static tra_status next(side *s, tra_err *e) {
    TRA_TRY(tra_visit_next(&s->walk, e));
    s->end = s->walk.end;
    s->index = s->walk.index;
    if (!s->end) s->value = tra_diff_number(s->dtype, s->walk.value, 0);
    return TRA_OK;
}

/* first: is added to indices. */
static tra_status merge(comparison *c, int64_t first, side *a, side *b, bool *found, tra_err *e) {
    *found = false;
    TRA_TRY(next(a, e));
    TRA_TRY(next(b, e));
    while (!a->end || !b->end) {
        bool in_a = !a->end && (b->end || a->index <= b->index), in_b = !b->end && (a->end || b->index <= a->index);
        number x = in_a ? a->value : zero_of(a->dtype), y = in_b ? b->value : zero_of(b->dtype);
        *found |= tra_diff_element(c, first + (in_a ? a->index : b->index), x, y);
        if (in_a) TRA_TRY(next(a, e));
        if (in_b) TRA_TRY(next(b, e));
    }
    return TRA_OK;
}

tra_status tra_diff_cells(comparison *c, const tra_dims *shape, const tra_dims *start, int64_t first,
                          const tra_type *ta, const tra_cell *a, const tra_type *tb, const tra_cell *b, bool *found,
                          tra_err *e) {
    side sa = {.walk = tra_visit_cell(a, start, shape), .dtype = ta->dtype},
         sb = {.walk = tra_visit_cell(b, start, shape), .dtype = tb->dtype};
    return merge(c, first, &sa, &sb, found, e);
}

/* ---- blocks that are the same ------------------------------------------------------------------------------- */

/* The tuple whose block begins there, -1 if there is none. */
static int64_t tuple_at(const tra_view *v, const tra_dims *offset) {
    const tra_catalog *cat = tra_rel_type(v->rel)->cat;
    tra_dims key = {.n = cat->frontier.n};
    for (int d = 0; d < v->shape.n; d++)
        if (v->key[d] >= 0) key.v[v->key[d]] = offset->v[d] / v->chunk.v[d];
    return tra_catalog_find(cat, &key);
}

static tra_status compare_blocks(tra_view *a, tra_view *b, comparison *c, tra_err *e) {
    const tra_type *ta = tra_rel_type(a->rel), *tb = tra_rel_type(b->rel);
    bool found;
    for (int64_t i = 0; i < ta->cat->n; i++) {
        tra_dims at;
        tra_view_offset(a, i, &at);
        int64_t j = tuple_at(b, &at);
        TRA_TRY(tra_view_load(a, i, e));
        if (j >= 0) TRA_TRY(tra_view_load(b, j, e));
        tra_cell x = tra_view_cell(a), y = j >= 0 ? tra_view_cell(b) : (tra_cell){0};
        TRA_TRY(tra_diff_cells(c, &a->shape, &at, 0, ta, &x, tb, j >= 0 ? &y : NULL, &found, e));
    }
    for (int64_t j = 0; j < tb->cat->n; j++) {
        tra_dims at;
        tra_view_offset(b, j, &at);
        if (tuple_at(a, &at) >= 0) continue;
        TRA_TRY(tra_view_load(b, j, e));
        tra_cell y = tra_view_cell(b);
        TRA_TRY(tra_diff_cells(c, &a->shape, &at, 0, ta, NULL, tb, &y, &found, e));
    }
    return TRA_OK;
}

static tra_status compare_whole(tra_view *a, tra_view *b, int64_t memory, comparison *c, tra_err *e) {
    side x = {.dtype = tra_rel_type(a->rel)->dtype}, y = {.dtype = tra_rel_type(b->rel)->dtype};
    bool found;
    tra_status s = tra_visit_in_order(a, memory, ".", &x.walk, e);
    if (s == TRA_OK) s = tra_visit_in_order(b, memory, ".", &y.walk, e);
    if (s == TRA_OK) s = merge(c, 0, &x, &y, &found, e);
    tra_visit_end(&x.walk);
    tra_visit_end(&y.walk);
    return s;
}

/* ---- which -------------------------------------------------------------------------------------------------- */

static bool same_blocks(const tra_view *a, const tra_view *b) { return tra_dims_eq(&a->chunk, &b->chunk); }

/* Are its entries few enough that sorting those of both sides is less than going through all elements? Where the other
 * side is dense it has as many elements that are not 0, or the two differ in most. */
static bool few(const tra_view *v) {
    int64_t elements = INT64_MAX;
    return tra_view_sparse(v) && tra_dims_product(&v->shape, &elements) && tra_view_entries(v) <= elements / 8;
}

bool tra_diff_by_entries(const tra_view *a, const tra_view *b) {
    bool both = tra_view_sparse(a) && tra_view_sparse(b);
    if (same_blocks(a, b)) return tra_view_sparse(a) || tra_view_sparse(b);
    return a->shape.n > 0 && (both || few(a) || few(b));
}

int64_t tra_diff_entries_least(const tra_view *a, const tra_view *b) {
    return same_blocks(a, b) ? 0 : 2 * tra_max64(tra_visit_least(a), tra_visit_least(b));
}

tra_status tra_diff_entries(tra_view *a, tra_view *b, int64_t memory, comparison *c, tra_err *e) {
    tra_dims_product(&a->shape, &c->elements);
    return same_blocks(a, b) ? compare_blocks(a, b, c, e) : compare_whole(a, b, memory / 2, c, e);
}
