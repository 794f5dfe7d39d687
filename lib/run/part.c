/* part.c - what one site holds of a relation. */
#include "part.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tra_part *tra_part_new(tra_part_kind kind, const tra_type *type, int64_t n) {
    tra_part *p = tra_calloc(1, sizeof *p);
    *p = (tra_part){.kind = kind, .type = type, .n = n, .refs = 1};
    p->ordinal = tra_calloc((size_t)n, sizeof *p->ordinal);
    if (kind == TRA_PART_STORED)
        p->block = tra_calloc((size_t)n, sizeof *p->block);
    else
        p->src = tra_calloc((size_t)n, sizeof *p->src);
    return p;
}

void tra_part_retain(tra_part *p) { p->refs++; }

void tra_part_release(tra_part *p, tra_pool *pool) {
    if (!p || --p->refs > 0) return;
    for (int64_t i = 0; p->block && i < p->n; i++) tra_block_release(pool, p->block[i]);
    tra_part_release(p->base, pool);
    free(p->ordinal);
    free(p->summand);
    free(p->block);
    free(p->src);
    free(p);
}

tra_part *tra_part_empty(const tra_type *type, const tra_placement *place, int site, int summands) {
    const tra_catalog *c = type->cat;
    int64_t n = 0;
    tra_dims key;
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        n += tra_place_holds(place, c, t, &key, site);
    }
    tra_part *p = tra_part_new(TRA_PART_STORED, type, n * summands);
    if (summands > 1) p->summand = tra_calloc((size_t)p->n, sizeof *p->summand);
    n = 0;
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &key);
        if (!tra_place_holds(place, c, t, &key, site)) continue;
        for (int m = 0; m < summands; m++, n++) {
            p->ordinal[n] = t;
            if (p->summand) p->summand[n] = m;
        }
    }
    return p;
}

int64_t tra_part_find(const tra_part *p, int64_t ordinal, int summand) {
    int64_t lo = 0;
    TRA_BISECT(lo, p->n, mid,
               p->ordinal[mid] < ordinal || (p->ordinal[mid] == ordinal && p->summand && p->summand[mid] < summand));
    bool found = lo < p->n && p->ordinal[lo] == ordinal && (!p->summand || p->summand[lo] == summand);
    return found ? lo : -1;
}

tra_part_source tra_part_resolve(tra_part *p, int64_t i) {
    tra_part_source from = {0};
    while (p->kind != TRA_PART_STORED) {
        if (p->kind != TRA_PART_VIEW) {
            assert(!from.via);
            from.via = p;
            from.via_at = i;
        }
        i = p->src[i];
        p = p->base;
    }
    from.stored = p;
    from.at = i;
    return from;
}

int64_t tra_part_bytes(const tra_part *p, int64_t i) {
    tra_size s = tra_type_bytes(p->type, p->ordinal[i]);
    while (!s.exact && p->kind == TRA_PART_VIEW) i = p->src[i], p = p->base;
    return !s.exact && p->kind == TRA_PART_STORED && p->block[i] ? p->block[i]->bytes : s.bound;
}

/* Of a TILE: where the array of tuple i begins in that of its base. */
static tra_dims tile_from(const tra_part *via, int64_t i) {
    tra_dims key, from = {.n = via->type->cat->bound.n};
    tra_catalog_key(via->type->cat, via->ordinal[i], &key);
    from.v[via->dim] = key.v[key.n - 1] * via->size;
    return from;
}

tra_status tra_part_derive(const tra_part *via, int64_t i, const tra_cell *base, tra_cell *out, void *scratch,
                           tra_err *e) {
    if (via->kind == TRA_PART_MAP) {
        tra_cell_map(via->map, base, out, scratch);
        return tra_op_fits(via->op, via->type, via->ordinal[i], e);
    }
    tra_cell_piece p = {.src = base, .from = tile_from(via, i), .to.n = base->array.ext.n, .ext = out->array.ext};
    if (out->layout)
        tra_cell_gather(&p, 1, out, 1);
    else
        tra_cell_copy(out, &p.to, base, &p.from, &p.ext);
    return TRA_OK;
}

tra_status tra_part_add(const tra_part *via, int64_t i, const tra_cell *base, tra_array *sum, void *scratch,
                        tra_err *e) {
    tra_rows_add(tra_kernel_rows(via->map), base, sum, scratch);
    return tra_op_fits(via->op, via->type, via->ordinal[i], e);
}
