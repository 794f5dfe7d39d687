/* rowless.c - results of a join of tables that are known to have no rows. */
#include "rowless.h"

#include "../kernel/rows_kernel.h"
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

void tra_rowless_free(tra_rowless *x) {
    free(x->v[0]);
    free(x->v[1]);
    *x = (tra_rowless){{NULL, NULL}};
}

static const tra_block *block_of(tra_part *p, int64_t i) {
    tra_part_source x = tra_part_resolve(p, i);
    return x.via ? NULL : __atomic_load_n(&x.stored->block[x.at], __ATOMIC_ACQUIRE);
}

static void set(tra_rowless *x, int side, const tra_part *p, int64_t i) {
    if (!x->v[side]) x->v[side] = tra_calloc((size_t)p->n + 1, sizeof(bool));
    x->v[side][i] = true;
}

/* Asks the kernel about tuple i of the right operand; what cannot be read now is read later. */
static bool leaves_none(tra_site *site, const tra_op *op, const tra_rows_kernel *k, tra_part *r, int64_t i) {
    tra_unit_input in = {.part = r, .i = i, .after = TRA_AFTER_KEEP};
    tra_err dropped = {0};
    if (!block_of(r, i)) return false;
    if (tra_engine_fetch(site->engine, &in, (size_t)op->method.scratch_bytes, (size_t)op->method.io_bytes, &dropped))
        return false;
    bool none = k->ops->none(k->data, &in.cell);
    tra_engine_release(site->engine, &in);
    return none;
}

static void find(tra_site *site, const tra_loop_stage *v, const tra_rows_kernel *k, tra_rowless *x) {
    for (int64_t i = 0; k->ops->idle && k->ops->idle(k->data) && i < v->l->n; i++) {
        const tra_block *b = block_of(v->l, i);
        if (b && b->rowless) set(x, 0, v->l, i);
    }
    for (int64_t i = 0; k->ops->none && i < v->r->n; i++)
        if (leaves_none(site, v->op, k, v->r, i)) set(x, 1, v->r, i);
}

static tra_status new_block(void *ctx, int64_t bytes, tra_block **out, tra_err *e) {
    return tra_block_new(ctx, bytes, out, e);
}

/* A table without rows, as tuple `ordinal` of the result; others look the same. */
static tra_status make_empty(tra_site *site, const tra_op *op, int64_t ordinal, tra_block **out, tra_err *e) {
    tra_cell c = tra_cell_new(&op->type, ordinal, NULL);
    tra_making m;
    tra_making_begin(&m, &c, new_block, site->pool);
    tra_cell_empty(&c, UINT32_MAX);
    return tra_making_end(&m, site->pool, &c, out, e);
}

/* Emits the result of a pair; all hold the same block. */
static tra_status emit(tra_site *site, tra_loop_stage *v, int64_t ordinal, tra_block **empty, tra_err *e) {
    bool load;
    if (ordinal < 0 || tra_outlet_has(&v->outlet, ordinal)) return TRA_OK;
    if (!*empty) TRA_TRY(make_empty(site, v->op, ordinal, empty, e));
    TRA_TRY(tra_block_pin(site->pool, *empty, &load, e)); /* it is pinned, and so it is there */
    tra_block_share(site->pool, *empty);
    return tra_outlet_emit(&v->outlet, NULL, ordinal, 0, *empty, e);
}

static tra_status emit_all(tra_site *site, tra_loop_stage *v, const tra_rowless *x, tra_err *e) {
    tra_pairs all;
    tra_status s = TRA_OK;
    tra_block *empty = NULL;
    tra_dims key;
    tra_pairs_list(&all, v->op, v->l, v->r, false, NULL);
    for (tra_pairs_range m = {0}; tra_pairs_next_match(&all, &m);) {
        for (int64_t n = 0; n < (m.l1 - m.l0) * (m.r1 - m.r0) && s == TRA_OK; n++) {
            const tra_pairs_entry *l = &all.l.v[m.l0 + n / (m.r1 - m.r0)], *r = &all.r.v[m.r0 + n % (m.r1 - m.r0)];
            if (!(x->v[0] && x->v[0][l->tuple]) && !(x->v[1] && x->v[1][r->tuple])) continue;
            tra_pairs_key(&all, l, r, &key);
            s = emit(site, v, tra_catalog_find(v->op->type.cat, &key), &empty, e);
        }
    }
    tra_pairs_free(&all);
    if (empty) tra_block_unpin(site->pool, empty);
    tra_block_release(site->pool, empty);
    return s;
}

tra_status tra_rowless_make(tra_site *site, tra_loop_stage *v, tra_rowless *x, tra_err *e) {
    const tra_op *op = v->op;
    const tra_rows_kernel *k = op->spec.join && !op->spec.agg && v->r ? tra_kernel_rows(op->spec.join) : NULL;
    if (!k || !v->outlet.part || !op->type.columns || !op->type.bounded) return TRA_OK;
    find(site, v, k, x);
    return x->v[0] || x->v[1] ? emit_all(site, v, x, e) : TRA_OK;
}
