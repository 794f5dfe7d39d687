/* repart.c - what a repartition reads and how it is cut in batches. */
#include "repart.h"

#include "../model/cell.h"
#include "needs.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 1 << 20 }; /* with more pieces than this it is not found out which batch reads which tuples */

int64_t tra_repart_pieces(const tra_plan *p, const tra_op *op) {
    const tra_dims *a = &p->ops[op->in[0]].type.cat->frontier, *b = &op->type.cat->frontier;
    int64_t n = 1;
    for (int d = 0; d < a->n; d++) {
        if (!tra_mul(n, a->v[d] + b->v[d], &n)) return INT64_MAX / (2 * TRA_TUPLE);
    }
    return n;
}

bool tra_repart_box(const tra_type *in, const tra_op *op, int64_t out, tra_dims *lo, tra_dims *box) {
    const tra_type *to = &op->type;
    tra_dims key, off, ext, shape;
    tra_catalog_key(to->cat, out, &key);
    tra_type_offset(to, &key, &off);
    tra_catalog_ext(to->cat, out, &ext);
    tra_type_shape(in, &shape);
    lo->n = box->n = ext.n;
    for (int d = 0; d < ext.n; d++) {
        int64_t b = in->cat->bound.v[d], at = off.v[d] + (op->spec.origin.n > 0 ? op->spec.origin.v[d] : 0);
        int64_t from = tra_max64(at, 0), to_end = tra_min64(at + ext.v[d], shape.v[d]);
        if (from >= to_end) return false;
        lo->v[d] = from / b;
        box->v[d] = (to_end - 1) / b - lo->v[d] + 1;
    }
    return true;
}

tra_size tra_piece_bytes(const tra_type *in, const tra_type *out, const tra_dims *ext) {
    int64_t n,
        most = tra_min64(in->entries ? in->entries->most : INT64_MAX, out->entries ? out->entries->most : INT64_MAX);
    if (!out->layout) return tra_size_exactly(tra_dense_bytes(out->dtype, ext));
    if (!tra_dims_product(ext, &n)) n = INT64_MAX;
    return out->layout->bytes(out, ext, tra_size_upto(tra_min64(n, most)), -1);
}

void tra_repart_piece(const tra_type *from, const tra_op *op, int64_t in, int64_t out, int n, tra_cell_piece *p) {
    tra_dims ki, ko, oi, oo, xi, xo, more;
    tra_catalog_key(from->cat, in, &ki);
    tra_catalog_key(op->type.cat, out, &ko);
    tra_type_offset(from, &ki, &oi);
    tra_type_offset(&op->type, &ko, &oo);
    for (int d = 0; d < op->spec.origin.n; d++) oo.v[d] += op->spec.origin.v[d];
    tra_catalog_ext(from->cat, in, &xi);
    tra_catalog_ext(op->type.cat, out, &xo);
    for (int i = 1; i < n; i++) {
        tra_catalog_ext(op->type.cat, out + i, &more);
        xo.v[xo.n - 1] += more.v[xo.n - 1];
    }
    p->from.n = p->to.n = p->ext.n = xi.n;
    for (int d = 0; d < xi.n; d++) {
        int64_t lo = tra_max64(oi.v[d], oo.v[d]), hi = tra_min64(oi.v[d] + xi.v[d], oo.v[d] + xo.v[d]);
        p->from.v[d] = lo - oi.v[d];
        p->to.v[d] = lo - oo.v[d];
        p->ext.v[d] = tra_max64(0, hi - lo);
    }
}

int64_t tra_repart_batch(const tra_op *op, int64_t t, int64_t limit, int *work, int64_t *load) {
    const tra_catalog *c = op->type.cat;
    bool full = false;
    memset(load, 0, (size_t)op->place.sites * sizeof *load);
    for (; t < c->n && !full; t++) {
        tra_dims key;
        int64_t bytes = tra_size_planned(tra_type_bytes(&op->type, t));
        tra_catalog_key(c, t, &key);
        int n = tra_place_holders(&op->place, c, t, &key, work);
        for (int i = 0; i < n; i++) full |= (load[work[i]] += bytes) + bytes > limit;
    }
    return t;
}

int64_t tra_repart_limit(const tra_plan *p, const tra_op *op, int64_t budget) {
    int64_t bytes = tra_type_bytes_all(&op->type).bound;
    if (p->rereads || !tra_op_overlaps(op)) return budget / 2;
    return tra_min64(budget / 2, bytes / p->sites * tra_place_copies(&op->place) / TRA_BATCHES);
}

/* Marks the tuples that a batch reads for one tuple of the result; how many of them were not marked yet. */
static int64_t mark(const tra_type *in, const tra_op *op, int64_t out, int64_t batch, int64_t *marked) {
    tra_dims lo, box, at, key;
    int64_t n = 0;
    if (!tra_repart_box(in, op, out, &lo, &box)) return 0;
    at = (tra_dims){.n = box.n};
    key.n = box.n;
    do {
        for (int d = 0; d < box.n; d++) key.v[d] = lo.v[d] + at.v[d];
        int64_t t = tra_catalog_find(in->cat, &key);
        if (t < 0 || marked[t] == batch) continue;
        marked[t] = batch;
        n++;
    } while (tra_next(&box, &at));
    return n;
}

int64_t tra_repart_reads(const tra_plan *p, const tra_op *op, int64_t budget) {
    const tra_op *from = &p->ops[op->in[0]];
    int64_t copies = tra_place_copies(&from->place), tuples = from->type.cat->n, n = 0, batches = 0;
    bool listed = tra_repart_pieces(p, op) <= LISTED && tuples <= LISTED;
    int64_t *marked = tra_calloc(listed ? (size_t)tuples + 1 : 1, sizeof *marked);
    int64_t *load = tra_malloc((size_t)op->place.sites * sizeof *load);
    int *work = tra_malloc((size_t)op->place.sites * sizeof *work);
    int64_t limit = tra_repart_limit(p, op, budget);
    if (!listed) { /* nor is each of many tuples looked at: a batch ends when a site has its limit */
        int64_t all = tra_mul_most(tra_type_bytes_all(&op->type).expected, tra_place_copies(&op->place));
        batches = tra_min64(op->type.cat->n, 1 + all / tra_max64(1, tra_mul_most(limit, p->sites)));
    }
    for (int64_t t = 0, end; listed && t < op->type.cat->n; t = end) {
        end = tra_repart_batch(op, t, limit, work, load);
        batches++;
        for (int64_t out = t; out < end; out++) n += mark(&from->type, op, out, batches, marked);
    }
    free(marked);
    free(load);
    free(work);
    return (listed ? n : batches * tuples) * copies;
}
