/* boxes.c - what sites hold, in closed form. */
#include "boxes.h"

#include <stdlib.h>
#include <string.h>

/* The digits of an axis, of which the last has `below` sites in each of its parts. False: it is uneven. */
static bool axis_digits(const tra_axis *x, int64_t below, tra_digits *out) {
    int n = out->n;
    int64_t sites = x->sites, rest = sites * below;
    for (int i = 0; i < x->n; i++) {
        int64_t ext = tra_max64(1, x->ext[i]), inner = 1;
        for (int j = i + 1; j < x->n; j++) inner *= tra_max64(1, x->ext[j]);
        if (inner > 1 && sites % ext != 0 && ext % sites != 0) return out->n = n, false;
        int64_t own = sites % ext == 0 && sites > ext ? ext : sites; /* what is left divides the inner dimensions */
        rest /= own, sites /= own;
        out->v[out->n++] = (tra_digit){x->dim[i], ext, own, rest};
    }
    if (sites > 1) out->v[out->n++] = (tra_digit){-1, 1, sites, below};
    return true;
}

bool tra_digits_of(const tra_placement *p, const tra_catalog *c, tra_digits *out) {
    int boxes = 1;
    int64_t below = 1;
    uint32_t divided = 0;
    out->place = p, out->c = c, out->independent = true, out->n = out->nuneven = 0;
    if (!c->grid || p->owner || c->n == 0) return false;
    for (int i = p->naxes - 1; i >= 0; below *= p->axis[i--].sites) {
        const tra_axis *x = &p->axis[i];
        if (x->kind != TRA_AXIS_PART || x->sites == 1) continue;
        for (int j = 0; j < x->n; j++) {
            out->independent &= !(divided >> x->dim[j] & 1);
            divided |= 1u << x->dim[j];
        }
        if (axis_digits(x, below, out)) continue;
        out->uneven[out->nuneven++] = i;
        boxes *= 2 * x->n - 1;
    }
    for (int d = 0; d < c->frontier.n; d++)
        if (!(divided >> d & 1)) out->v[out->n++] = (tra_digit){d, c->frontier.v[d], 1, 1};
    return boxes <= TRA_MAXBOXES;
}

/* The first of n positions that one of `sites` sites has: that t with floor(t * sites / n) = g. */
static int64_t first_of(int64_t g, int64_t n, int64_t sites) {
    if (n <= INT32_MAX) return (g * n + sites - 1) / sites;
    return (int64_t)(((__int128)g * n + sites - 1) / sites);
}

void tra_digit_range(const tra_digit *x, const tra_catalog *c, int64_t digit, int64_t *lo, int64_t *hi) {
    int64_t all = x->dim < 0 ? 1 : c->frontier.v[x->dim];
    *lo = first_of(digit, x->ext, x->sites), *hi = first_of(digit + 1, x->ext, x->sites);
    if (*lo < *hi && *hi == x->ext) *hi = tra_max64(*hi, all); /* values beyond count as the last */
    *hi = tra_max64(*lo, tra_min64(*hi, all));
}

static void copy_box(tra_box *to, const tra_box *from, int n) {
    memcpy(to->lo, from->lo, (size_t)n * sizeof *to->lo);
    memcpy(to->hi, from->hi, (size_t)n * sizeof *to->hi);
}

/* Adds what box has in common with the positions lo <= t < hi, row-major over the dimensions of the axis from i on; a
 * value beyond the box of the axis counts as its last. */
static void cut(const tra_axis *x, int i, int64_t lo, int64_t hi, const tra_catalog *c, tra_box *box, tra_boxes *out) {
    int64_t below = 1;
    if (lo >= hi) return;
    if (i == x->n) {
        copy_box(&out->v[out->n++], box, c->frontier.n);
        return;
    }
    for (int j = i + 1; j < x->n; j++) below *= tra_max64(1, x->ext[j]);
    int64_t first = lo / below, end = tra_ceil_div(hi, below), ext = tra_max64(1, x->ext[i]);
    int64_t whole = lo % below == 0 ? first : first + 1, ends = hi % below == 0 ? end : end - 1;
    for (int part = 0; part < 3; part++) { /* values of which a later part, all, an earlier part is in it */
        int64_t from = part == 0 ? first : part == 1 ? whole : tra_max64(ends, whole);
        int64_t to = part == 0 ? tra_min64(whole, end) : part == 1 ? ends : end;
        if (from >= to) continue;
        int64_t *low = &box->lo[x->dim[i]], *high = &box->hi[x->dim[i]], whole_low = *low, whole_high = *high;
        *low = tra_max64(*low, from);
        *high = tra_min64(*high, to == ext ? c->frontier.v[x->dim[i]] : to);
        int64_t a = part == 0 ? lo - first * below : 0;
        int64_t b = part == 1 ? below : tra_min64(below, hi - from * below);
        if (*low < *high) cut(x, i + 1, a, b, c, box, out);
        *low = whole_low, *high = whole_high;
    }
}

void tra_boxes_of(const tra_digits *p, int site, tra_boxes *out) {
    tra_box *box = &out->v[0];
    out->n = 0;
    for (int d = 0; d < p->c->frontier.n; d++) box->lo[d] = 0, box->hi[d] = p->c->frontier.v[d];
    for (int i = 0; i < p->n; i++) {
        const tra_digit *x = &p->v[i];
        int64_t lo, hi;
        tra_digit_range(x, p->c, site / x->below % x->sites, &lo, &hi);
        if (x->dim >= 0) {
            lo = box->lo[x->dim] = tra_max64(box->lo[x->dim], lo);
            hi = box->hi[x->dim] = tra_min64(box->hi[x->dim], hi);
        }
        if (lo >= hi) return;
    }
    out->n = 1;
    for (int i = 0; i < p->nuneven; i++) {
        const tra_axis *x = &p->place->axis[p->uneven[i]];
        int64_t n = 1, below = 1;
        for (int j = 0; j < x->n; j++) n *= tra_max64(1, x->ext[j]);
        for (int j = p->uneven[i] + 1; j < p->place->naxes; j++) below *= p->place->axis[j].sites;
        int64_t g = site / below % x->sites;
        tra_boxes old;
        old.n = out->n;
        for (int j = 0; j < old.n; j++) copy_box(&old.v[j], &out->v[j], p->c->frontier.n);
        out->n = 0;
        for (int j = 0; j < old.n; j++)
            cut(x, 0, first_of(g, n, x->sites), tra_min64(n, first_of(g + 1, n, x->sites)), p->c, &old.v[j], out);
    }
}

static int64_t tuples_of(const tra_catalog *c, const tra_box *b) {
    int64_t n = 1;
    for (int d = 0; d < c->frontier.n; d++) n *= tra_max64(0, b->hi[d] - b->lo[d]);
    return n;
}

/* Elements for a value of key dimension `dim`, and for its last value, where extents change; -1: that no key divides.
 */
static void floats_at(const tra_catalog *c, int dim, int64_t *each, int64_t *last) {
    *each = *last = 1;
    for (int a = 0; a < c->bound.n; a++) {
        if (c->by[a] != dim) continue;
        *each *= c->bound.v[a];
        *last *= c->last[a];
    }
}

int64_t tra_boxes_floats_along(const tra_catalog *c, int dim, int64_t lo, int64_t hi) {
    int64_t each, last;
    if (dim < 0 || hi <= lo) return tra_max64(0, hi - lo);
    floats_at(c, dim, &each, &last);
    bool ends = hi == c->frontier.v[dim];
    return (hi - lo - ends) * each + (ends ? last : 0);
}

int64_t tra_boxes_floats_besides(const tra_catalog *c) {
    int64_t besides, last;
    floats_at(c, -1, &besides, &last);
    return besides;
}

static int64_t floats_of(const tra_catalog *c, const tra_box *b) {
    int64_t floats = tra_boxes_floats_besides(c);
    for (int d = 0; d < c->frontier.n && floats > 0; d++) floats *= tra_boxes_floats_along(c, d, b->lo[d], b->hi[d]);
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
    tra_digits parts;
    if (p->sites <= TRA_SAMPLED || !tra_digits_of(p, c, &parts)) return NULL;
    tra_site_sample *x = tra_new(a, tra_site_sample);
    int k = c->frontier.n, cap = 0;
    int64_t *v = NULL;
    for (int i = 0; i < TRA_SAMPLED; i++) {
        tra_boxes b;
        tra_boxes_of(&parts, (int)((int64_t)i * (p->sites - 1) / (TRA_SAMPLED - 1)), &b);
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

void tra_sample_common(const tra_catalog *c, const tra_site_sample *a, const tra_site_sample *b, int64_t *common) {
    int k = c->frontier.n;
    int64_t besides = tra_boxes_floats_besides(c), each[TRA_MAXDIM], last[TRA_MAXDIM];
    for (int d = 0; d < k; d++) floats_at(c, d, &each[d], &last[d]);
    for (int site = 0; site < TRA_SAMPLED; site++) {
        common[site] = 0;
        for (int i = a->first[site]; i < a->first[site + 1]; i++) {
            for (int j = b->first[site]; j < b->first[site + 1]; j++) {
                const int64_t *x = a->v + 2 * i * k, *y = b->v + 2 * j * k;
                int64_t n = besides;
                for (int d = 0; d < k && n > 0; d++) {
                    int64_t lo = tra_max64(x[2 * d], y[2 * d]), hi = tra_min64(x[2 * d + 1], y[2 * d + 1]);
                    bool ends = hi == c->frontier.v[d];
                    n *= hi > lo ? (hi - lo - ends) * each[d] + (ends ? last[d] : 0) : 0;
                }
                common[site] += n;
            }
        }
    }
}
