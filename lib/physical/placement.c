/* placement.c - where tuples are and what moves between two placements. */
#include "placement.h"

#include "boxes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tra_placement tra_place_all(int sites) {
    return (tra_placement){.sites = sites, .naxes = 1, .axis = {{.kind = TRA_AXIS_COPY, .sites = sites}}};
}

tra_placement tra_place_part(int sites, const tra_catalog *c, int n, const int8_t *dims) {
    tra_placement p = {.sites = sites, .naxes = 1, .axis = {{.kind = TRA_AXIS_PART, .sites = sites, .n = n}}};
    assert(n <= TRA_MAXAXISDIMS);
    for (int i = 0; i < n; i++) {
        p.axis[0].dim[i] = dims[i];
        p.axis[0].ext[i] = c->frontier.v[(int)dims[i]];
    }
    return p;
}

static bool axis_eq(const tra_axis *a, const tra_axis *b) {
    if (a->sites != b->sites) return false;
    if (a->sites == 1) return true; /* on one site all kinds are the same */
    if (a->kind != b->kind) return false;
    if (a->kind != TRA_AXIS_PART) return true;
    return a->n == b->n && memcmp(a->dim, b->dim, (size_t)a->n) == 0 &&
           memcmp(a->ext, b->ext, (size_t)a->n * sizeof a->ext[0]) == 0;
}

bool tra_place_eq(const tra_placement *a, const tra_placement *b) {
    if (a->sites != b->sites) return false;
    if (a->owner || b->owner) return a->owner == b->owner;
    int i = 0, j = 0;
    for (;;) { /* axes of one site do not count */
        while (i < a->naxes && a->axis[i].sites == 1) i++;
        while (j < b->naxes && b->axis[j].sites == 1) j++;
        if (i == a->naxes || j == b->naxes) return i == a->naxes && j == b->naxes;
        if (!axis_eq(&a->axis[i++], &b->axis[j++])) return false;
    }
}

static int product(const tra_placement *p, tra_axis_kind kind) {
    int n = 1;
    if (p->owner) return 1;
    for (int i = 0; i < p->naxes; i++) {
        if (p->axis[i].kind == kind) n *= p->axis[i].sites;
    }
    return n;
}

int tra_place_copies(const tra_placement *p) { return product(p, TRA_AXIS_COPY); }
int tra_place_summands(const tra_placement *p) { return product(p, TRA_AXIS_PARTIAL); }
bool tra_place_is_partial(const tra_placement *p) { return tra_place_summands(p) > 1; }
bool tra_place_is_all(const tra_placement *p) { return p->sites == 1 || tra_place_copies(p) == p->sites; }

/* floor(t * sites / n) along a PART axis; values beyond the box count as the last. */
static int coordinate(const tra_axis *x, const tra_dims *key) {
    int64_t t = 0, n = 1;
    for (int i = 0; i < x->n; i++) {
        int64_t ext = tra_max64(1, x->ext[i]);
        t = t * ext + tra_min64(key->v[(int)x->dim[i]], ext - 1);
        n *= ext;
    }
    return (int)((__int128)t * x->sites / n);
}

int tra_place_summand(const tra_placement *p, int site) {
    int at = 0, scale = 1;
    if (p->owner) return 0;
    for (int i = p->naxes - 1; i >= 0; i--) {
        int c = site % p->axis[i].sites;
        site /= p->axis[i].sites;
        if (p->axis[i].kind != TRA_AXIS_PARTIAL) continue;
        at += c * scale;
        scale *= p->axis[i].sites;
    }
    return at;
}

bool tra_place_holds(const tra_placement *p, const tra_catalog *c, int64_t ordinal, const tra_dims *key, int site) {
    (void)c;
    if (p->owner) return p->owner[ordinal] == site;
    for (int i = p->naxes - 1; i >= 0; i--) {
        const tra_axis *x = &p->axis[i];
        if (x->kind == TRA_AXIS_PART && x->sites > 1 && coordinate(x, key) != site % x->sites) return false;
        site /= x->sites;
    }
    return true;
}

int tra_place_holders(const tra_placement *p, const tra_catalog *c, int64_t ordinal, const tra_dims *key, int *sites) {
    (void)c;
    if (p->owner) return sites[0] = p->owner[ordinal], 1;
    int n = 1;
    sites[0] = 0;
    for (int i = 0; i < p->naxes; i++) { /* the set grows by one axis at a time and stays ascending */
        const tra_axis *x = &p->axis[i];
        if (x->kind == TRA_AXIS_PART) {
            int at = x->sites > 1 ? coordinate(x, key) : 0;
            for (int j = 0; j < n; j++) sites[j] = sites[j] * x->sites + at;
        } else {
            for (int j = n - 1; j >= 0; j--) {
                for (int g = x->sites - 1; g >= 0; g--) sites[j * x->sites + g] = sites[j] * x->sites + g;
            }
            n *= x->sites;
        }
    }
    return n;
}

/* The moves of one tuple; work has room for 3 p->sites + q->sites numbers. */
static int moves_of(const tra_placement *p, const tra_placement *q, const tra_catalog *c, int64_t ordinal,
                    const tra_dims *key, int *work, tra_move *moves) {
    int n = 0, summands = tra_place_summands(p);
    int *from = work, *to = from + p->sites, *mine = to + q->sites, *filled = mine + p->sites;
    int nfrom = tra_place_holders(p, c, ordinal, key, from), nto = tra_place_holders(q, c, ordinal, key, to);
    int held = nfrom / summands; /* holders of each summand, together in mine */
    for (int m = 0; m < summands; m++) filled[m] = 0;
    for (int i = 0; i < nfrom; i++) {
        int m = summands == 1 ? 0 : tra_place_summand(p, from[i]);
        mine[m * held + filled[m]++] = from[i];
    }
    for (int m = 0; m < summands; m++, mine += held) {
        for (int i = 0, j = 0; j < nto; j++) { /* both ascend */
            while (i < held && mine[i] < to[j]) i++;
            bool local = i < held && mine[i] == to[j];
            moves[n++] = (tra_move){.ordinal = ordinal,
                                    .summand = m,
                                    .from = local ? to[j] : mine[to[j] % held],
                                    .to = to[j],
                                    .local = local};
        }
    }
    return n;
}

int tra_place_moves(const tra_placement *p, const tra_placement *q, const tra_catalog *c, int64_t ordinal,
                    tra_move *moves) {
    tra_dims key;
    int *work = tra_malloc((size_t)(3 * p->sites + q->sites) * sizeof *work);
    tra_catalog_key(c, ordinal, &key);
    int n = moves_of(p, q, c, ordinal, &key, work, moves);
    free(work);
    return n;
}

/* ---- sums over all tuples, without looking at each ---------------------------------------------------------------
 *
 * In a grid, tuples whose key components lie in the same segments are alike. A key dimension is cut where a coordinate
 * of a one-dimensional PART axis changes and before its last value; a dimension of an axis over several is cut at every
 * value. A class is a choice of one segment per dimension, with a first key and a weight (its number of tuples). */

static void cut_dim(tra_classes *x, int d, const tra_placement *const *places) {
    int64_t f = x->c->frontier.v[d], cap = 2, n = 0;
    bool all = false;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; places[i] && j < places[i]->naxes; j++) {
            const tra_axis *ax = &places[i]->axis[j];
            bool has = false;
            for (int m = 0; ax->kind == TRA_AXIS_PART && m < ax->n; m++) has |= ax->dim[m] == d;
            if (has && ax->sites > 1) cap += ax->sites, all |= ax->n > 1;
        }
    }
    if (all) cap = f;
    int64_t *v = tra_malloc((size_t)(cap + 1) * sizeof *v);
    if (all) {
        for (; n < f; n++) v[n] = n;
    } else {
        int64_t next = 0;
        while (next < f) { /* the nearest of the borders after v[n] */
            v[n++] = next;
            int64_t border = next < f - 1 ? f - 1 : f;
            for (int i = 0; i < 2; i++) {
                for (int j = 0; places[i] && j < places[i]->naxes; j++) {
                    const tra_axis *ax = &places[i]->axis[j];
                    if (ax->kind != TRA_AXIS_PART || ax->sites == 1 || ax->dim[0] != d || ax->n != 1) continue;
                    int64_t ext = tra_max64(1, ax->ext[0]), t = tra_min64(next, ext - 1);
                    int64_t g = (int64_t)((__int128)t * ax->sites / ext) + 1; /* first value of the next coordinate */
                    int64_t to = (int64_t)(((__int128)g * ext + ax->sites - 1) / ax->sites);
                    if (g < ax->sites && to > next) border = tra_min64(border, to);
                }
            }
            next = border;
        }
    }
    v[n] = f;
    x->start[d] = v;
    x->n.v[d] = n;
}

void tra_classes_begin(tra_classes *x, const tra_catalog *c, const tra_placement *p, const tra_placement *q) {
    const tra_placement *places[2] = {p, q};
    *x = (tra_classes){.c = c, .each = !c->grid || p->owner || (q && q->owner), .done = c->n == 0};
    if (x->each || x->done) return;
    x->n.n = x->cur.n = c->frontier.n;
    for (int d = 0; d < c->frontier.n; d++) cut_dim(x, d, places);
}

bool tra_classes_next(tra_classes *x, int64_t *ordinal, tra_dims *key, int64_t *weight) {
    if (x->done) return false;
    if (x->each) {
        *ordinal = x->at;
        *weight = 1;
        tra_catalog_key(x->c, x->at, key);
        x->done = ++x->at == x->c->n;
        return true;
    }
    *weight = 1;
    key->n = x->n.n;
    for (int d = 0; d < key->n; d++) {
        const int64_t *v = x->start[d] + x->cur.v[d];
        key->v[d] = v[0];
        *weight *= v[1] - v[0];
    }
    *ordinal = tra_linear(&x->c->frontier, key);
    x->done = !tra_next(&x->n, &x->cur);
    return true;
}

int64_t tra_classes_width(const tra_classes *x, int d, int64_t value) {
    int64_t i = 0;
    if (x->each) return 1;
    while (x->start[d][i + 1] <= value) i++;
    return x->start[d][i + 1] - x->start[d][i];
}

void tra_classes_end(tra_classes *x) {
    for (int d = 0; d < TRA_MAXDIM; d++) free(x->start[d]);
}

/* Elements that a site receives, where sites have boxes of keys: all summands of what it is to have, except those that
 * it has already. *out: elements that it sends, if each summand is on one site: to all that are to have it but itself.
 */
static int64_t moved_at(const tra_digits *p, const tra_digits *q, int site, int64_t *out) {
    tra_boxes a, b;
    tra_boxes_of(p, site, &a);
    tra_boxes_of(q, site, &b);
    int64_t already = tra_boxes_common(p->c, &a, &b);
    *out = tra_place_copies(p->place) == 1 ? tra_place_copies(q->place) * tra_boxes_floats(p->c, &a) - already : 0;
    return tra_place_summands(p->place) * tra_boxes_floats(p->c, &b) - already;
}

static int64_t moved_boxes(const tra_digits *p, const tra_digits *q, int64_t *max_in, int64_t *max_out) {
    int64_t total = 0, most_in = 0, most_out = 0, out;
    for (int s = 0; s < q->place->sites; s++) {
        int64_t in = moved_at(p, q, s, &out);
        total += in;
        most_in = tra_max64(most_in, in);
        most_out = tra_max64(most_out, out);
    }
    if (max_in) *max_in = most_in;
    if (max_out) *max_out = most_out;
    return total;
}

enum { SOME_TUPLES = 2048 };

int64_t tra_place_moved_about(const tra_placement *p, const tra_placement *q, const tra_catalog *c,
                              const struct tra_site_sample *at_p, const struct tra_site_sample *at_q, int64_t *most) {
    int64_t total = 0, out = 0;
    *most = 0;
    if (at_p && at_q) {
        int from = tra_place_copies(p), to = tra_place_copies(q), summands = tra_place_summands(p);
        int64_t already[TRA_SAMPLED];
        tra_sample_common(c, at_p, at_q, already);
        for (int i = 0; i < TRA_SAMPLED; i++) {
            int64_t in = summands * at_q->floats[i] - already[i];
            total += in;
            *most = tra_max64(*most, tra_max64(in, from == 1 ? to * at_p->floats[i] - already[i] : 0));
        }
        total = (int64_t)((double)total * q->sites / TRA_SAMPLED);
    } else if (c->n > SOME_TUPLES && (!c->grid || p->owner || q->owner)) {
        tra_move *v = tra_malloc((size_t)p->sites * (size_t)q->sites * sizeof *v);
        for (int i = 0; i < SOME_TUPLES; i++) {
            int64_t t = (int64_t)((double)i * (double)c->n / SOME_TUPLES), f = tra_catalog_elements_of(c, t);
            int n = tra_place_moves(p, q, c, t, v);
            for (int j = 0; j < n; j++) total += v[j].local ? 0 : f;
        }
        free(v);
        total = (int64_t)((double)total * (double)c->n / SOME_TUPLES);
        *most = total / q->sites;
    }
    if (total > 0) return total;
    int64_t in;
    total = tra_place_moved_floats(p, q, c, &in, tra_place_copies(p) == 1 ? &out : NULL);
    *most = tra_max64(in, out);
    return total;
}

int64_t tra_place_moved_floats(const tra_placement *p, const tra_placement *q, const tra_catalog *c, int64_t *max_in,
                               int64_t *max_out) {
    int64_t total = 0, most_in = 0, most_out = 0, t, weight;
    tra_digits a, b;
    if ((!max_out || tra_place_copies(p) == 1) && tra_digits_of(p, c, &a) && tra_digits_of(q, c, &b))
        return moved_boxes(&a, &b, max_in, max_out);
    int64_t *in = tra_calloc(2 * (size_t)q->sites, sizeof *in), *out = in + q->sites;
    tra_move *v = tra_malloc((size_t)p->sites * (size_t)q->sites * sizeof *v);
    int *work = tra_malloc((size_t)(3 * p->sites + q->sites) * sizeof *work);
    tra_dims key;
    tra_classes x;
    tra_classes_begin(&x, c, p, q);
    while (tra_classes_next(&x, &t, &key, &weight)) {
        int64_t floats = weight * tra_catalog_elements_of(c, t);
        int n = moves_of(p, q, c, t, &key, work, v);
        for (int i = 0; i < n; i++) {
            if (v[i].local) continue;
            total += floats;
            in[v[i].to] += floats;
            out[v[i].from] += floats;
        }
    }
    tra_classes_end(&x);
    for (int s = 0; s < q->sites; s++) most_in = tra_max64(most_in, in[s]), most_out = tra_max64(most_out, out[s]);
    if (max_in) *max_in = most_in;
    if (max_out) *max_out = most_out;
    free(work);
    free(v);
    free(in);
    return total;
}

/* Adds sites that are alike to the kinds, of which *v has room for a power of two. */
static void add_kind(tra_site_kind **v, int *n, tra_site_kind x) {
    enum { LOOKED_AT = 64 }; /* more need not be told apart */
    for (int i = *n - 1; i >= 0 && i >= *n - LOOKED_AT; i--) {
        tra_site_kind *y = &(*v)[i];
        if (y->tuples != x.tuples || y->floats != x.floats) continue;
        y->sites += x.sites;
        return;
    }
    if ((*n & (*n - 1)) == 0) *v = tra_realloc(*v, *n ? 2 * (size_t)*n : 1, sizeof **v);
    (*v)[(*n)++] = x;
}

/* Of parts that are independent of each other every choice is a kind. */
static int kinds_of_parts(const tra_digits *parts, const tra_placement *p, const tra_catalog *c, tra_site_kind **v) {
    int n = 0;
    add_kind(v, &n, (tra_site_kind){p->sites, 1, tra_boxes_floats_besides(c)});
    for (int i = 0; i < parts->n; i++) {
        const tra_digit *x = &parts->v[i];
        tra_site_kind *of = NULL, *next = NULL;
        int m = 0, nnext = 0;
        for (int64_t g = 0; g < x->sites; g++) {
            int64_t lo, hi;
            tra_digit_range(x, c, g, &lo, &hi);
            add_kind(&of, &m, (tra_site_kind){1, hi - lo, tra_boxes_floats_along(c, x->dim, lo, hi)});
        }
        for (int j = 0; j < n; j++)
            for (int k = 0; k < m; k++)
                add_kind(&next, &nnext,
                         (tra_site_kind){(*v)[j].sites / x->sites * of[k].sites, (*v)[j].tuples * of[k].tuples,
                                         (*v)[j].floats * of[k].floats});
        free(of);
        free(*v);
        *v = next, n = nnext;
    }
    return n;
}

int tra_place_kinds(const tra_placement *p, const tra_catalog *c, tra_site_kind **v) {
    int64_t t, weight;
    int n = 0;
    tra_dims key;
    tra_classes x;
    tra_digits parts;
    *v = NULL;
    bool boxes = tra_digits_of(p, c, &parts);
    if (boxes && parts.independent && parts.nuneven == 0) return kinds_of_parts(&parts, p, c, v);
    if (boxes) {
        for (int s = 0; s < p->sites; s++) {
            tra_boxes b;
            tra_boxes_of(&parts, s, &b);
            add_kind(v, &n, (tra_site_kind){1, tra_boxes_tuples(c, &b), tra_boxes_floats(c, &b)});
        }
        return n;
    }
    int *sites = tra_malloc((size_t)p->sites * sizeof *sites);
    tra_site_kind *each = tra_calloc((size_t)p->sites, sizeof *each);
    tra_classes_begin(&x, c, p, NULL);
    while (tra_classes_next(&x, &t, &key, &weight)) {
        int holders = tra_place_holders(p, c, t, &key, sites);
        int64_t f = weight * tra_catalog_elements_of(c, t);
        for (int i = 0; i < holders; i++) each[sites[i]].floats += f, each[sites[i]].tuples += weight;
    }
    tra_classes_end(&x);
    for (int s = 0; s < p->sites; s++) each[s].sites = 1, add_kind(v, &n, each[s]);
    free(sites);
    free(each);
    return n;
}

int64_t tra_place_most_floats(const tra_placement *p, const tra_catalog *c) {
    tra_site_kind *v;
    int64_t most = 0;
    for (int i = tra_place_kinds(p, c, &v) - 1; i >= 0; i--) most = tra_max64(most, v[i].floats);
    free(v);
    return most;
}

char *tra_place_text(const tra_placement *p, char *buf, size_t n) {
    int axes = 0;
    const tra_axis *only = NULL;
    for (int i = 0; i < p->naxes; i++) {
        if (p->axis[i].sites > 1) axes++, only = &p->axis[i];
    }
    if (p->owner) return snprintf(buf, n, "owned"), buf;
    if (axes == 0) return snprintf(buf, n, "all"), buf;
    size_t at = 0;
    if (axes == 1 && only->kind != TRA_AXIS_PART)
        return snprintf(buf, n, "%s", only->kind == TRA_AXIS_COPY ? "all" : "partial"), buf;
    at = (size_t)snprintf(buf, n, axes == 1 ? "part(" : "grid(");
    bool first = true;
    for (int i = 0; i < p->naxes && at < n; i++) {
        const tra_axis *x = &p->axis[i];
        if (x->sites == 1) continue;
        if (!first) at += (size_t)snprintf(buf + at, n - at, ",");
        first = false;
        if (x->kind != TRA_AXIS_PART) {
            at += (size_t)snprintf(buf + at, n - at, "%s", x->kind == TRA_AXIS_COPY ? "*" : "+");
        } else {
            for (int d = 0; d < x->n && at < n; d++)
                at += (size_t)snprintf(buf + at, n - at, "%s%d", d ? (axes == 1 ? "," : ".") : "", x->dim[d]);
        }
        if (axes > 1 && at < n) at += (size_t)snprintf(buf + at, n - at, ":%d", x->sites);
    }
    if (at < n) snprintf(buf + at, n - at, ")");
    return buf;
}
