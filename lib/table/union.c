/* union.c - the blocks of two tables as those of one. */
#include "union.h"

#include <string.h>

#include "table_int.h"

tra_status tra_union_columns(tra_arena *a, int n, const char *const *names, const tra_colexpr **x,
                             const tra_colexpr **y, tra_err *e) {
    for (int i = 0; i < n; i++) {
        const tra_colexpr *both[2] = {x[i], y[i]};
        tra_err why = {0};
        if (tra_colexpr_unify(a, TRA_C_IF, 2, both, false, &why) != TRA_OK)
            return tra_fail(e, TRA_PROGRAM, "column `%s` is %s in one table and %s in the other", names[i],
                            tra_coltype_name(x[i]->type), tra_coltype_name(y[i]->type));
        x[i] = both[0];
        y[i] = both[1];
    }
    return TRA_OK;
}

/* ---- one table's blocks at their keys --------------------------------------------------------------------------- */

static bool is_inside(const tra_union_part *p, const tra_cell *at) {
    int64_t k = ((const int64_t *)at->array.data)[0];
    return k >= p->from && k < p->to;
}

static int64_t part_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return 2 * tra_vectors_bytes(((const tra_union_part *)data)->in->n);
}

static int64_t part_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_union_part *p = data;
    (void)out, (void)scratch;
    return tra_columns_room(p->in, is_inside(p, a) ? b->array.ext.v[0] : 0);
}

static void part_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_union_part *p = data;
    tra_batch from = {.v = scratch}, to = {.v = (tra_vector *)((char *)scratch + tra_vectors_bytes(p->in->n))};
    bool inside = is_inside(p, a) && tra_open_rows(b, p->in, true, from.v, &from);
    tra_columns_begin(out, p->in, inside ? from.rows : 0, &to);
    if (inside) tra_append_rows(p->in, &to, 0, &from);
}

static void part_reads(const void *data, tra_rows_reads *r) {
    tra_rows_repeat(r, r->left, ((const tra_union_part *)data)->in->n);
}

static const void *part_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    const tra_union_part *old = data;
    tra_union_part *p = tra_new(a, tra_union_part);
    *p = (tra_union_part){f->in[1], old->from, old->to};
    return p;
}

const tra_rows_ops tra_union_part_ops = {
    .scratch = part_scratch, .bytes = part_bytes, .run = part_run, .reads = part_reads, .over = part_over};

/* ---- the two parts of a key ------------------------------------------------------------------------------------- */

static int64_t both_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return 2 * tra_vectors_bytes(((const tra_union_both *)data)->out->n);
}

static int64_t both_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)out, (void)scratch;
    return tra_columns_room(((const tra_union_both *)data)->out, a->array.ext.v[0] + b->array.ext.v[0]);
}

static void both_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_union_both *u = data;
    const tra_cell *const in[2] = {a, b};
    tra_batch from = {.v = scratch}, to = {.v = (tra_vector *)((char *)scratch + tra_vectors_bytes(u->out->n))};
    tra_columns_begin(out, u->out, a->array.ext.v[0] + b->array.ext.v[0], &to);
    for (int64_t i = 0, at = 0; i < 2 && tra_open_rows(in[i], u->in[i], true, from.v, &from); i++, at += from.rows)
        tra_append_rows(u->out, &to, at, &from);
}

static void both_reads(const void *data, tra_rows_reads *r) {
    tra_rows_repeat(r, 0, ((const tra_union_both *)data)->out->n);
    r->both = true;
}

/* Both tables must have lost the same columns. */
static const void *both_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_union_both *u = tra_new(a, tra_union_both);
    (void)data;
    *u = (tra_union_both){{f->in[0], f->in[1]}, f->out};
    return f->in[0]->n == f->out->n && f->in[1]->n == f->out->n ? u : NULL;
}

const tra_rows_ops tra_union_both_ops = {
    .scratch = both_scratch, .bytes = both_bytes, .run = both_run, .reads = both_reads, .over = both_over};
