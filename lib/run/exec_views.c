/* exec_views.c - operators that need no stage: parts whose arrays are another part's, or are computed on reading. */
#include "exec_int.h"

#include <assert.h>
#include <stdlib.h>

typedef struct renamed {
    int64_t ordinal; /* of the tuple under its new key */
    int64_t src;     /* the tuple of the part below that it comes from */
} renamed;

static int by_ordinal(const void *a, const void *b) {
    const renamed *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static tra_part *derived_part(tra_part_kind kind, const tra_op *op, tra_part *base, renamed *v, int64_t n) {
    tra_part *p = tra_part_new(kind, &op->type, n);
    qsort(v, (size_t)n, sizeof *v, by_ordinal);
    for (int64_t i = 0; i < n; i++) {
        p->ordinal[i] = v[i].ordinal;
        p->src[i] = v[i].src;
    }
    p->op = op;
    p->base = base;
    tra_part_retain(base);
    return p;
}

tra_status tra_exec_view(const tra_op *op, tra_part *in, tra_part **out, tra_err *e) {
    renamed *v = tra_calloc((size_t)in->n, sizeof *v);
    int64_t n = 0;
    tra_status s = TRA_OK;
    for (int64_t i = 0; i < in->n && s == TRA_OK; i++) {
        tra_dims key, to;
        tra_catalog_key(in->type->cat, in->ordinal[i], &key);
        to = key;
        if (op->op == TRA_PLAN_REKEY) s = tra_keyfn_eval(op->spec.keyfn, &key, &to, e);
        int64_t t = s == TRA_OK ? tra_catalog_find(op->type.cat, &to) : -1;
        if (t >= 0)
            v[n++] = (renamed){t, i};
        else if (op->op == TRA_PLAN_REKEY && s == TRA_OK)
            s = tra_fail(e, TRA_INTERNAL, "a key that the plan does not expect");
    }
    if (s == TRA_OK) *out = derived_part(TRA_PART_VIEW, op, in, v, n);
    free(v);
    return s;
}

tra_part *tra_exec_on_demand(tra_execution *x, const tra_op *op, tra_part *in) {
    tra_part *below = in;
    int64_t n = 0, cap = in->n;
    renamed *v = tra_calloc((size_t)cap, sizeof *v);
    for (int64_t i = 0; i < in->n; i++) {
        tra_dims key;
        tra_catalog_key(in->type->cat, in->ordinal[i], &key);
        if (op->op == TRA_PLAN_TILE) key.n++;
        for (int64_t tile = 0;; tile++) {
            if (op->op == TRA_PLAN_TILE) key.v[key.n - 1] = tile;
            int64_t t = tra_catalog_find(op->type.cat, &key);
            if (t < 0) break;
            TRA_ROOM(v, n, cap);
            v[n++] = (renamed){t, i};
            if (op->op == TRA_PLAN_MAP) break;
        }
    }
    tra_part *p = derived_part(op->op == TRA_PLAN_MAP ? TRA_PART_MAP : TRA_PART_TILE, op, in, v, n);
    free(v);
    p->map = op->spec.map;
    p->dim = op->spec.dim;
    p->size = op->spec.size;
    /* a map of a map is one map (R1-2) */
    while (below->kind == TRA_PART_VIEW) below = below->base;
    if (below->kind != TRA_PART_MAP) return p;
    assert(p->kind == TRA_PART_MAP);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = p->src[i];
        for (tra_part *q = in; q != below; q = q->base) at = q->src[at];
        p->src[i] = below->src[at];
    }
    p->map = tra_kernel_then(x->arena, below->map, op->spec.map);
    p->base = below->base;
    tra_part_retain(p->base);
    tra_part_release(in, x->site.pool);
    return p;
}
