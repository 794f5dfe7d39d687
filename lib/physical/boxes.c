/* boxes.c - what sites hold, in closed form. */
#include "boxes.h"

#include <stdlib.h>
#include <string.h>

bool tra_boxes_fit(const tra_placement *p, const tra_catalog *c) {
    int boxes = 1;
    if (!c->grid || p->owner || c->n == 0) return false;
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *x = &p->axis[i];
        if (x->kind == TRA_AXIS_PART && x->sites > 1) boxes *= x->n > 1 ? 2 * x->n - 1 : 1;
    }
    return boxes <= TRA_MAXBOXES;
}

/* Adds what box has in common with the positions lo <= t < hi, row-major over the dimensions of the axis from i on; a
 * value beyond the box of the axis counts as its last. */
static void cut(const tra_axis *x, int i, int64_t lo, int64_t hi, const tra_catalog *c, tra_box box, tra_boxes *out) {
    int64_t below = 1;
    if (lo >= hi) return;
    if (i == x->n) {
        out->v[out->n++] = box;
        return;
    }
    for (int j = i + 1; j < x->n; j++) below *= tra_max64(1, x->ext[j]);
    int64_t first = lo / below, end = tra_ceil_div(hi, below), ext = tra_max64(1, x->ext[i]);
    int64_t whole = lo % below == 0 ? first : first + 1, ends = hi % below == 0 ? end : end - 1;
    for (int part = 0; part < 3; part++) { /* values of which a later part, all, an earlier part is in it */
        int64_t from = part == 0 ? first : part == 1 ? whole : tra_max64(ends, whole);
        int64_t to = part == 0 ? tra_min64(whole, end) : part == 1 ? ends : end;
        if (from >= to) continue;
        tra_box sub = box;
        int d = x->dim[i];
        sub.lo[d] = tra_max64(box.lo[d], from);
        sub.hi[d] = tra_min64(box.hi[d], to == ext ? c->frontier.v[d] : to);
        if (sub.lo[d] >= sub.hi[d]) continue;
        int64_t a = part == 0 ? lo - first * below : 0;
        int64_t b = part == 1 ? below : tra_min64(below, hi - from * below);
        cut(x, i + 1, a, b, c, sub, out);
    }
}

void tra_boxes_of(const tra_placement *p, const tra_catalog *c, int site, tra_boxes *out) {
    out->n = 1;
    for (int d = 0; d < c->frontier.n; d++) out->v[0].lo[d] = 0, out->v[0].hi[d] = c->frontier.v[d];
    for (int i = p->naxes - 1; i >= 0; i--) {
        const tra_axis *x = &p->axis[i];
        int g = site % x->sites;
        int64_t n = 1;
        site /= x->sites;
        if (x->kind != TRA_AXIS_PART || x->sites == 1) continue;
        for (int j = 0; j < x->n; j++) n *= tra_max64(1, x->ext[j]);
        /* coordinate floor(t * sites / n) */
        int64_t lo, hi;
        if (n <= INT32_MAX) {
            lo = (g * n + x->sites - 1) / x->sites, hi = (g * n + n + x->sites - 1) / x->sites;
        } else {
            lo = (int64_t)(((__int128)g * n + x->sites - 1) / x->sites);
            hi = (int64_t)(((__int128)(g + 1) * n + x->sites - 1) / x->sites);
        }
        hi = tra_min64(hi, n);
        if (x->n == 1) { /* of each box a part */
            int d = x->dim[0], m = 0;
            if (hi == n) hi = tra_max64(hi, c->frontier.v[d]);
            for (int j = 0; j < out->n && lo < n; j++) {
                if (m < j) out->v[m] = out->v[j];
                out->v[m].lo[d] = tra_max64(out->v[m].lo[d], lo);
                out->v[m].hi[d] = tra_min64(out->v[m].hi[d], hi);
                m += out->v[m].lo[d] < out->v[m].hi[d];
            }
            out->n = m;
            continue;
        }
        tra_boxes old; /* its first n */
        old.n = out->n;
        memcpy(old.v, out->v, (size_t)old.n * sizeof *old.v);
        out->n = 0;
        for (int j = 0; j < old.n; j++) cut(x, 0, lo, hi, c, old.v[j], out);
    }
}

static int64_t tuples_of(const tra_catalog *c, const tra_box *b) {
    int64_t n = 1;
    for (int d = 0; d < c->frontier.n; d++) n *= tra_max64(0, b->hi[d] - b->lo[d]);
    return n;
}

static int64_t floats_of(const tra_catalog *c, const tra_box *b) {
    int64_t floats = 1;
    uint32_t changed = 0; /* array dimensions whose extent changes at the last value of a key dimension */
    for (int d = 0; d < c->frontier.n; d++) {
        int64_t each = 1, last = 1;
        if (b->hi[d] <= b->lo[d]) return 0;
        for (int a = 0; a < c->bound.n; a++) {
            if (c->by[a] != d) continue;
            changed |= 1u << a;
            each *= c->bound.v[a];
            last *= c->last[a];
        }
        bool ends = b->hi[d] == c->frontier.v[d];
        floats *= (b->hi[d] - b->lo[d] - ends) * each + (ends ? last : 0);
    }
    for (int a = 0; a < c->bound.n; a++) floats *= changed >> a & 1 ? 1 : c->bound.v[a];
    return floats;
}

int64_t tra_boxes_tuples(const tra_catalog *c, const tra_boxes *b) {
    int64_t n = 0;
    for (int i = 0; i < b->n; i++) n += tuples_of(c, &b->v[i]);
    return n;
}

int64_t tra_boxes_floats(const tra_catalog *c, const tra_boxes *b) {
    int64_t n = 0;
    for (int i = 0; i < b->n; i++) n += floats_of(c, &b->v[i]);
    return n;
}

int64_t tra_boxes_common(const tra_catalog *c, const tra_boxes *a, const tra_boxes *b) {
    int64_t n = 0;
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < b->n; j++) {
            tra_box both;
            for (int d = 0; d < c->frontier.n; d++) {
                both.lo[d] = tra_max64(a->v[i].lo[d], b->v[j].lo[d]);
                both.hi[d] = tra_min64(a->v[i].hi[d], b->v[j].hi[d]);
            }
            n += floats_of(c, &both);
        }
    }
    return n;
}

const tra_site_sample *tra_boxes_sample(const tra_placement *p, const tra_catalog *c, tra_arena *a) {
    if (p->sites <= TRA_SAMPLED || !tra_boxes_fit(p, c)) return NULL;
    tra_site_sample *x = tra_new(a, tra_site_sample);
    int k = c->frontier.n, cap = 0;
    int64_t *v = NULL;
    for (int i = 0; i < TRA_SAMPLED; i++) {
        tra_boxes b;
        tra_boxes_of(p, c, (int)((int64_t)i * (p->sites - 1) / (TRA_SAMPLED - 1)), &b);
        x->floats[i] = tra_boxes_floats(c, &b);
        x->first[i + 1] = x->first[i] + b.n;
        if (x->first[i + 1] * 2 * k > cap) v = tra_realloc(v, (size_t)(cap = x->first[i + 1] * 4 * k), sizeof *v);
        for (int j = 0; j < b.n * k; j++) {
            int64_t *at = v + 2 * (x->first[i] * k + j);
            at[0] = b.v[j / k].lo[j % k], at[1] = b.v[j / k].hi[j % k];
        }
    }
    size_t n = (size_t)(2 * x->first[TRA_SAMPLED] * k);
    x->v = tra_news(a, int64_t, n);
    if (n) memcpy(x->v, v, n * sizeof *v);
    free(v);
    return x;
}

int64_t tra_sample_common(const tra_catalog *c, const tra_site_sample *a, const tra_site_sample *b, int site) {
    int64_t n = 0;
    int k = c->frontier.n;
    for (int i = a->first[site]; i < a->first[site + 1]; i++) {
        for (int j = b->first[site]; j < b->first[site + 1]; j++) {
            const int64_t *x = a->v + 2 * i * k, *y = b->v + 2 * j * k;
            tra_box both;
            for (int d = 0; d < k; d++) {
                both.lo[d] = tra_max64(x[2 * d], y[2 * d]);
                both.hi[d] = tra_min64(x[2 * d + 1], y[2 * d + 1]);
            }
            n += floats_of(c, &both);
        }
    }
    return n;
}
