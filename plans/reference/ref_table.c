/* ref_table.c - operators on tables by their definitions: row by row. */
#include "ref_table.h"

#include "../../lib/tablefile/table_file.h"

#include <string.h>

void ref_table_take(const tra_schema *s, const tra_batch *b, ref_table *t, int64_t at, tra_arena *a) {
    (void)a;
    for (int64_t i = 0; i < b->rows; i++)
        for (int c = 0; c < s->n; c++) {
            ref_cell *to = ref_at(t, at + i, c);
            const void *v = b->v[c].values;
            *to = (ref_cell){.state = b->v[c].state ? (int)b->v[c].state[i] : REF_VALUE};
            if (tra_coltype_is_coded(s->v[c].type)) {
                if (to->state == REF_VALUE) to->s = tra_dictionary_at(s->v[c].dict, ((const int32_t *)v)[i], &to->len);
                continue;
            }
#define WHOLE(name, text, T, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        to->i = ((const T *)v)[i];                                                                                     \
        break;
#define REAL(name, text, T, ...)                                                                                       \
    case TRA_##name: to->f = (double)((const T *)v)[i]; break;
            switch (tra_coltype_held(s->v[c].type)) { TRA_WHOLE_DTYPES(WHOLE) TRA_FLOAT_DTYPES(REAL) }
#undef WHOLE
#undef REAL
        }
}

static const ref_table *table_of(const tra_ref_rel *r) { return r->table; }

ref_table *ref_table_new(tra_arena *a, const tra_schema *s, int64_t room) {
    ref_table *t = tra_new(a, ref_table);
    ref_column *v = tra_news(a, ref_column, s->n);
    for (int i = 0; i < s->n; i++) v[i] = (ref_column){s->v[i].name, s->v[i].type};
    *t = (ref_table){.n = s->n, .column = v, .v = tra_news(a, ref_cell, room * s->n + 1)};
    return t;
}

tra_status ref_table_input(tra_rel *rel, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_type *t = tra_rel_type(rel);
    TRA_TRY(tra_rel_read_strings(rel, e)); /* of all columns, also those that the program does not name */
    ref_table *all = ref_table_new(a, t->columns, tra_catalog_elements(t->cat));
    size_t need = tra_rel_scratch_bytes(rel);
    void *scratch = need ? tra_arena_alloc(a, need + 4096) : NULL;
    if (scratch) scratch = (char *)scratch + (4096 - (uintptr_t)scratch % 4096) % 4096;
    for (int64_t i = 0; i < t->cat->n; i++) {
        char *buf = tra_arena_alloc(a, tra_rel_buffer_bytes(rel) + (size_t)tra_type_bytes_largest(t).bound + 64);
        buf += (64 - (uintptr_t)buf % 64) % 64;
        tra_cell cell;
        tra_batch b = {.v = tra_news(a, tra_vector, t->columns->n)};
        TRA_TRY(tra_rel_read(rel, i, buf, scratch, e));
        TRA_TRY(tra_cell_of(t, i, buf, tra_type_bytes(t, i).bound, &cell, e));
        TRA_TRY(tra_columns_of(&cell, t->columns, &b, e));
        ref_table_take(t->columns, &b, all, all->rows, a);
        all->rows += b.rows;
    }
    *out = (tra_ref_rel){.k = 1, .r = 1, .dtype = t->dtype, .table = all};
    return TRA_OK;
}

static tra_status fails(const char *what, int64_t row, tra_err *e) {
    return tra_fail_kind(e, TRA_INPUT, TRA_KIND_OVERFLOW,
                         "row %" PRId64 ": %s could not be computed: an integer does not fit", row, what);
}

static tra_status do_select(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out, tra_err *e) {
    for (int64_t i = 0; i < x->rows; i++) {
        ref_item v = ref_column_value(op->term[0].ast, x, i, a);
        if (v.c.state == REF_ERROR) return fails("the predicate", i, e);
        if (v.c.state == REF_NULL || !v.c.i) continue;
        memcpy(ref_at(out, out->rows++, 0), ref_at(x, i, 0), (size_t)x->n * sizeof(ref_cell));
    }
    return TRA_OK;
}

ref_cell ref_stored(const ref_item *v, tra_coltype type) {
    ref_cell c = v->c;
    bool whole = v->type <= TRA_COL_I64, real = type == TRA_COL_F32 || type == TRA_COL_F64;
    if (c.state != REF_VALUE) return (ref_cell){.state = c.state};
    if (real && whole) c.f = (double)c.i;
    if (type == TRA_COL_F32) c.f = (double)(float)c.f;
    return c;
}

static void do_project(const tra_table_op *op, const ref_table *x, tra_arena *a, ref_table *out) {
    for (int64_t i = 0; i < x->rows; i++, out->rows++)
        for (int c = 0; c < op->nterms; c++) {
            ref_item v = ref_column_value(op->term[c].ast, x, i, a);
            *ref_at(out, i, c) = ref_stored(&v, out->column[c].type);
        }
}

/* All of x, then all of y, whose columns are found by name. */
static void do_union(const ref_table *x, const ref_table *y, ref_table *out) {
    for (int64_t i = 0; i < x->rows + y->rows; i++, out->rows++) {
        const ref_table *t = i < x->rows ? x : y;
        for (int c = 0; c < out->n; c++)
            for (int from = 0; from < t->n; from++)
                if (strcmp(t->column[from].name, out->column[c].name) == 0)
                    *ref_at(out, i, c) = *ref_at(t, i < x->rows ? i : i - x->rows, from);
    }
}

static ref_num element(const ref_item *v, tra_dtype t) {
    ref_num x = v->type <= TRA_COL_I64 ? (ref_num)v->c.i : (ref_num)v->c.f;
    return t == TRA_F32 ? (ref_num)(float)x : t == TRA_F64 ? (ref_num)(double)x : x;
}

static tra_status do_matrix(const tra_table_op *op, const ref_table *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    tra_dims ext = {.n = 2, .v = {x->rows, op->nterms}}, block = op->node->type.cat->bound;
    ref_array all = ref_array_new(a, &ext);
    for (int64_t i = 0; i < x->rows; i++)
        for (int c = 0; c < op->nterms; c++) {
            ref_item v = ref_column_value(op->term[c].ast, x, i, a);
            if (v.c.state == REF_ERROR) return fails("a column", i, e);
            if (v.c.state == REF_NULL && !op->fill)
                return tra_fail(e, TRA_INPUT, "row %" PRId64 ": column `%s` is NULL", i, op->term[c].name);
            ref_num null = v.c.state == REF_NULL ? (ref_num)*op->fill : 0;
            all.data[i * op->nterms + c] = v.c.state == REF_NULL ? null : element(&v, op->dtype);
        }
    if (op->node->type.bounded) block.v[0] = tra_max64(1, x->rows); /* as if it were written */
    TRA_TRY(ref_in_blocks(&all, &block, op->dtype, a, out, e));
    out->counted = op->node->type.bounded != 0;
    return TRA_OK;
}

static void do_rows(const tra_table_op *op, const ref_table *x, tra_arena *a, tra_ref_rel *out) {
    *out = (tra_ref_rel){.dtype = op->dtype, .n = 1, .v = tra_new(a, tra_ref_tuple)};
    out->v[0] = (tra_ref_tuple){.data = tra_new(a, ref_num)};
    out->v[0].data[0] = x->rows;
}

tra_status ref_table_op(const tra_table_op *op, const tra_ref_rel *const *v, tra_arena *a, tra_ref_rel *out,
                        tra_err *e) {
    const ref_table *x = table_of(v[op->in[0]->id]), *y = op->in[1] ? table_of(v[op->in[1]->id]) : NULL;
    ref_table *t = op->columns && x ? ref_table_new(a, op->columns, x->rows + (y ? y->rows : 0) + 1) : NULL;
    if (op->border) TRA_TRY(ref_table_border(op, v[op->in[0]->id], a, &t, e));
    *out = (tra_ref_rel){.k = 1, .r = 1, .dtype = TRA_F64, .table = t, .counted = true};
    switch (op->op) {
    case TRA_TABLE_SELECT: return do_select(op, x, a, t, e);
    case TRA_TABLE_PROJECT: do_project(op, x, a, t); return TRA_OK;
    case TRA_TABLE_JOIN:
    case TRA_TABLE_CROSS: return ref_table_join(op, x, y, a, t, e);
    case TRA_TABLE_GROUP: return ref_table_group(op, x, a, t, e);
    case TRA_TABLE_ORDER: ref_table_sort(op, x, a, t); return TRA_OK;
    case TRA_TABLE_DISTINCT: ref_table_distinct(op, x, a, t); return TRA_OK;
    case TRA_TABLE_LIMIT: ref_table_limit(op, x, t); return TRA_OK;
    case TRA_TABLE_WINDOW: return ref_table_window(op, x, a, t, e);
    case TRA_TABLE_UNION: do_union(x, y, t); return TRA_OK;
    case TRA_TABLE_MATRIX: return do_matrix(op, x, a, out, e);
    case TRA_TABLE_ROWS: do_rows(op, x, a, out); return TRA_OK;
    case TRA_TABLE_PIVOT: return ref_table_pivot(op, x, a, out, e);
    case TRA_TABLE_ENTRIES:
    case TRA_TABLE_TABLE:
    case TRA_TABLE_LABEL:
    case TRA_TABLE_UNLABEL: return TRA_OK;
    case TRA_TABLE_ALIGN: return ref_table_align(op, v[op->in[0]->id], a, out, e);
    }
    return TRA_OK;
}
