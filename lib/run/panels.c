/* panels.c - cutting results in panels and putting them together; what is said when memory is short. */
#include "panels.h"

#include "../model/rows.h"

#include <stdlib.h>
#include <string.h>

void tra_panels_cut(tra_panels *p, int i, int64_t at, tra_pool *pool) {
    p->v = tra_realloc(p->v, (size_t)p->n + 1, sizeof *p->v);
    memmove(p->v + i + 1, p->v + i, (size_t)(p->n - i) * sizeof *p->v);
    p->n++;
    p->v[i].to = p->v[i + 1].from = at;
    if (p->v[i].block) tra_block_share(pool, p->v[i].block);
}

void tra_panel_free(tra_block *b, tra_pool *pool) {
    if (b && b->refs > 1) { /* only one thread works on panels that share a block */
        tra_block_unpin(pool, b);
        tra_block_release(pool, b);
    } else {
        tra_block_free(pool, b);
    }
}

void tra_panels_free(tra_panels *p, tra_pool *pool) {
    for (int i = 0; i < p->n; i++) tra_block_release(pool, p->v[i].block);
    for (int i = 0; i < p->nheld; i++)
        for (int k = 0; k < 2; k++) tra_block_release(pool, p->held[i].block[k]);
    if (p->reserved > 0) tra_pool_release(pool, p->reserved);
    free(p->held);
    free(p->v);
    *p = (tra_panels){0};
}

int64_t tra_panels_bytes(const tra_panels *p, tra_dtype t) {
    int64_t nrows = 0, n = 0;
    for (int i = 0; i < p->n; i++) nrows += p->v[i].nrows, n += p->v[i].n;
    return tra_rows_room(t, nrows, n);
}

tra_gathering tra_panels_gather(const tra_panels *p, tra_cell *to) {
    int64_t nrows = 0, n = 0;
    for (int i = 0; i < p->n; i++) nrows += p->v[i].nrows, n += p->v[i].n;
    tra_rows_view v = tra_rows_begin(to, nrows, n);
    v.begin[nrows] = n;
    return (tra_gathering){.to = to};
}

void tra_gathering_add(tra_gathering *x, const tra_cell *panel) {
    tra_rows_view v = tra_rows_of(panel), w = tra_rows_of(x->to);
    memcpy(w.row + x->nrows, v.row, (size_t)v.nrows * sizeof *w.row);
    for (int64_t i = 0; i < v.nrows; i++) w.begin[x->nrows + i] = x->n + v.begin[i];
    memcpy(w.column + x->n, v.column, (size_t)v.n * sizeof *w.column);
    memcpy(w.value + (size_t)x->n * v.size, v.value, (size_t)v.n * v.size);
    x->nrows += v.nrows;
    x->n += v.n;
}

/* ---- what is said when there is no memory ----------------------------------------------------------------------- */

/* Extents of blocks of at most `less` of the elements, in which what was wanted fits wherever its entries are: full, or
 * all in one row or one column. */
static void smaller(const tra_dims *ext, double less, tra_dtype t, int64_t room, tra_dims *out) {
    int64_t all = 1, n;
    if (!tra_dims_product(ext, &all)) all = INT64_MAX;
    for (*out = *ext;;) {
        bool fewer = tra_dims_product(out, &n) && (double)n <= less * (double)all;
        int longest = -1;
        if (fewer && tra_mul_most(3, tra_rows_room(t, n, n)) <= room) return;
        for (int d = 0; d < out->n; d++) {
            bool can = out->v[d] > 1 && (double)out->v[d] > less * (double)ext->v[d];
            if (can && (longest < 0 || out->v[d] > out->v[longest])) longest = d;
        }
        if (longest < 0) return;
        out->v[longest] = (out->v[longest] + 1) / 2;
    }
}

tra_status tra_advise_blocks(tra_status s, const char *place, const tra_type *t, int64_t ordinal, int64_t wanted,
                             tra_pool *pool, const tra_err *own, tra_err *e) {
    tra_dims key, ext, would;
    char keys[TRA_DIMTEXT], shape[TRA_DIMTEXT], less[TRA_DIMTEXT], want[32], budget[32];
    if (t->layout != &tra_rows || !tra_pool_is_exhausted(s, own)) return *e = *own, s;
    int64_t room = tra_pool_stat(pool).budget;
    tra_catalog_key(t->cat, ordinal, &key);
    tra_catalog_ext(t->cat, ordinal, &ext);
    smaller(&ext, 0.5 * (double)room / (double)tra_max64(wanted, room), t->dtype, room, &would);
    *e = (tra_err){0};
    return tra_fail_kind(e, TRA_RESOURCE, *place ? TRA_KIND_NONE : TRA_KIND_POOL,
                         "%s" TRA_POOL_OUT ": the tuple %s%s, %s, is held by its entries, and making it takes "
                         "%s at once, of %s for all blocks: raise --memory, or cut its tensor in blocks of %s",
                         place, tra_key_text(&key, keys), *place ? " of the result" : "", tra_shape_text(&ext, shape),
                         tra_human(wanted, want), tra_human(room, budget), tra_shape_text(&would, less));
}
