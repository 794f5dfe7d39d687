/* repart.c - what a repartition moves: pieces where blocks of the old and of the new cut overlap. */
#include "cost.h"

#include <stdlib.h>

typedef struct tally {
    const tra_placement *p, *q;
    const tra_catalog *in, *out;
    int *from, *to; /* sites that hold the tuple, before and after */
    int64_t *sent, *received;
    int64_t moved;
    tra_dims origin, before, after; /* extents of both */
} tally;

/* Pieces of the array at `old` that become part of the array at `new`, of so many elements in all. */
static void piece(tally *x, const tra_dims *old, const tra_dims *new, int64_t elements) {
    int64_t t = tra_catalog_find(x->in, old), made = tra_catalog_find(x->out, new);
    if (t < 0 || made < 0 || elements == 0) return;
    int nfrom = tra_place_holders(x->p, x->in, t, old, x->from);
    int nto = tra_place_holders(x->q, x->out, made, new, x->to);
    for (int j = 0; j < nto; j++) {
        bool has = false;
        for (int i = 0; i < nfrom; i++) has |= x->from[i] == x->to[j];
        if (has) continue;
        x->moved += elements;
        x->received[x->to[j]] += elements;
        x->sent[x->from[x->to[j] % nfrom]] += elements;
    }
}

/* Tuple by tuple: for lists and owned relations. */
static void each_tuple(tally *x, const tra_type *in) {
    for (int64_t t = 0; t < x->in->n; t++) {
        tra_dims key, ext, offset, n, at;
        tra_catalog_key(x->in, t, &key);
        tra_catalog_ext(x->in, t, &ext);
        tra_type_offset(in, &key, &offset);
        n.n = at.n = key.n;
        bool any = true;
        for (int d = 0; d < key.n; d++) { /* in the result: from offset on, ext of it */
            int64_t b = x->out->bound.v[d], end = tra_min64(offset.v[d] + ext.v[d] - x->origin.v[d], x->after.v[d]);
            offset.v[d] = tra_max64(0, offset.v[d] - x->origin.v[d]);
            ext.v[d] = tra_max64(0, end - offset.v[d]);
            n.v[d] = ext.v[d] == 0 ? 0 : (offset.v[d] + ext.v[d] - 1) / b - offset.v[d] / b + 1;
            at.v[d] = 0;
            any &= n.v[d] > 0;
        }
        while (any) {
            tra_dims new = {.n = key.n};
            int64_t elements = 1;
            for (int d = 0; d < key.n; d++) {
                int64_t b = x->out->bound.v[d];
                new.v[d] = offset.v[d] / b + at.v[d];
                int64_t lo = tra_max64(offset.v[d], new.v[d] * b);
                elements *= tra_min64(offset.v[d] + ext.v[d], (new.v[d] + 1) * b) - lo;
            }
            piece(x, &key, &new, elements);
            any = tra_next(&n, &at);
        }
    }
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The elements of dimension d of the result at which the site changes, if blocks placed as p begin `before` elements
 * before the result does. */
static int64_t cut_sites(const tra_placement *p, const tra_catalog *c, int d, int64_t before, int64_t shape,
                         int64_t *v) {
    int64_t n = 0, block = c->bound.v[d];
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *ax = &p->axis[i];
        bool has = false;
        for (int j = 0; j < ax->n; j++) has |= ax->dim[j] == d;
        if (ax->kind != TRA_AXIS_PART || ax->sites == 1 || !has) continue;
        if (ax->n > 1) {
            for (int64_t b = 1; b < c->frontier.v[d]; b++) {
                int64_t at = b * block - before;
                if (at > 0 && at < shape) v[n++] = at;
            }
            continue;
        }
        for (int g = 1; g < ax->sites; g++) {
            int64_t at = (int64_t)(((__int128)g * ax->ext[0] + ax->sites - 1) / ax->sites) * block - before;
            if (at > 0 && at < shape) v[n++] = at;
        }
    }
    return n;
}

/* Grids are counted by segments of each dimension within which neither side changes sites. */
static void by_segments(tally *x, const tra_dims *shape) {
    int64_t *cut[TRA_MAXDIM];
    tra_dims n = {.n = shape->n}, at = {.n = shape->n};
    bool any = true;
    for (int d = 0; d < shape->n; d++) {
        size_t cap = (size_t)(x->in->frontier.v[d] + x->out->frontier.v[d]) * TRA_MAXAXES +
                     (size_t)TRA_MAXAXES * (size_t)(x->p->sites + x->q->sites) + 4;
        cut[d] = tra_calloc(cap, sizeof *cut[d]);
        int64_t m = 1;                                                        /* 0 is the first */
        int64_t ends[2] = {-x->origin.v[d], x->before.v[d] - x->origin.v[d]}; /* of the input */
        for (int i = 0; i < 2; i++)
            if (ends[i] > 0 && ends[i] < shape->v[d]) cut[d][m++] = ends[i];
        m += cut_sites(x->p, x->in, d, x->origin.v[d], shape->v[d], cut[d] + m);
        m += cut_sites(x->q, x->out, d, 0, shape->v[d], cut[d] + m);
        qsort(cut[d], (size_t)m, sizeof *cut[d], ascending);
        cut[d][m] = shape->v[d];
        n.v[d] = m;
        any &= shape->v[d] > 0;
    }
    while (any) {
        tra_dims old = {.n = n.n}, new = old;
        int64_t elements = 1;
        for (int d = 0; d < n.n; d++) {
            const int64_t *v = cut[d] + at.v[d];
            int64_t in = v[0] + x->origin.v[d];
            bool there = in >= 0 && in < x->before.v[d];
            elements *= there ? v[1] - v[0] : 0; /* 0 where a cut is there twice */
            old.v[d] = there ? in / x->in->bound.v[d] : 0;
            new.v[d] = v[0] / x->out->bound.v[d];
        }
        if (elements > 0) piece(x, &old, &new, elements);
        any = tra_next(&n, &at);
    }
    for (int d = 0; d < shape->n; d++) free(cut[d]);
}

tra_traffic tra_traffic_repart(const tra_placement *p, const tra_type *in, const tra_placement *q, const tra_type *out,
                               const tra_dims *origin) {
    tally x = {.p = p, .q = q, .in = in->cat, .out = out->cat};
    tra_traffic t = {0};
    int s = q->sites;
    if (s == 1) return t;
    x.from = tra_calloc((size_t)s, sizeof *x.from);
    x.to = tra_calloc((size_t)s, sizeof *x.to);
    x.sent = tra_calloc((size_t)s, sizeof *x.sent);
    x.received = tra_calloc((size_t)s, sizeof *x.received);
    x.origin = (tra_dims){.n = in->cat->bound.n};
    if (origin->n > 0) x.origin = *origin;
    tra_type_shape(in, &x.before);
    tra_type_shape(out, &x.after);
    if (in->cat->grid && out->cat->grid && !p->owner)
        by_segments(&x, &x.after);
    else
        each_tuple(&x, in);
    for (int i = 0; i < s; i++) {
        t.most = tra_max64(t.most, tra_max64(x.sent[i], x.received[i]));
        t.both = tra_max64(t.both, tra_min64(x.sent[i], x.received[i]));
    }
    t.moved = x.moved;
    const tra_catalog *whole = (origin->n > 0 || !out->cat->grid ? out : in)->cat;
    if (x.moved > 0) t.floats = (double)tra_catalog_elements(whole) * tra_place_copies(q);
    free(x.from);
    free(x.to);
    free(x.sent);
    free(x.received);
    return t;
}
