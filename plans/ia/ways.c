/* ways.c - the ways to place a join: assignments of grid axes to its labels. */
#include "ia.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void tra_join_labels(const tra_catalog *l, const tra_catalog *r, const tra_dims *joinl, const tra_dims *joinr,
                     tra_labels *out) {
    int kl = l->frontier.n, kr = r->frontier.n;
    uint32_t ljoined = 0, rjoined = 0;
    out->n = 0;
    for (int i = 0; i < joinl->n; i++) ljoined |= 1u << joinl->v[i], rjoined |= 1u << joinr->v[i];
    for (int d = 0; d < kl; d++) {
        if (!(ljoined >> d & 1))
            out->v[out->n++] = (tra_label){TRA_LABEL_L, (int8_t)d, -1, (int8_t)d, l->frontier.v[d]};
    }
    for (int i = 0; i < joinl->n; i++) {
        int dl = (int)joinl->v[i], dr = (int)joinr->v[i];
        out->v[out->n++] = (tra_label){TRA_LABEL_J, (int8_t)dl, (int8_t)dr, (int8_t)dl,
                                       tra_min64(l->frontier.v[dl], r->frontier.v[dr])};
    }
    for (int d = 0, at = kl; d < kr; d++) {
        if (!(rjoined >> d & 1))
            out->v[out->n++] = (tra_label){TRA_LABEL_R, -1, (int8_t)d, (int8_t)at++, r->frontier.v[d]};
    }
}

/* What an axis may partition by: one label, or several of one class, where none alone has enough values. */
typedef struct candidate {
    tra_label_class class;
    int n;
    int8_t label[TRA_MAXAXISDIMS];
    int64_t values; /* combinations of values of these labels */
} candidate;

enum { MAXCANDIDATES = 2 * TRA_MAXDIM + 3 }; /* each label, and the labels of each class together */

typedef struct enumeration {
    const tra_labels *x;
    const tra_catalog *l, *r;
    int sites;
    int ncandidates;
    candidate v[MAXCANDIDATES];
    int along[MAXCANDIDATES]; /* the sites along an axis for each candidate; 1: it has no axis */
    int64_t most_busy;        /* the most sites that any way keeps busy */
    bool second_pass;         /* the first one found no way; now those that keep most sites busy are taken */
    tra_ways *out;
} enumeration;

static bool same_way(const tra_way *a, const tra_way *b) {
    return tra_place_eq(&a->l, &b->l) && tra_place_eq(&a->r, &b->r) && tra_place_eq(&a->out, &b->out);
}

static void add_way(tra_ways *ways, const tra_way *w) {
    for (int i = 0; i < ways->n; i++) {
        if (same_way(&ways->v[i], w)) return;
    }
    if (ways->n == TRA_MAXWAYS) return;
    TRA_ROOM(ways->v, ways->n, ways->cap);
    ways->v[ways->n++] = *w;
}

static void add_axis(tra_placement *p, int sites, bool part, int n, const int8_t *dim, const int64_t *ext) {
    tra_axis *x = &p->axis[p->naxes++];
    *x = (tra_axis){.kind = part ? TRA_AXIS_PART : TRA_AXIS_COPY, .sites = sites};
    for (int i = 0; part && i < n; i++) x->dim[i] = dim[i], x->ext[i] = ext[i];
    if (part) x->n = n;
}

/* Adds an axis of so many sites to the inputs and the result of a way: one that partitions by n labels of one class,
 * whose extents are ext. */
static void add_axes(const tra_labels *x, tra_way *w, int sites, tra_label_class class, int n, const int8_t *label,
                     const int64_t *ext) {
    int8_t l[TRA_MAXAXISDIMS] = {0}, r[TRA_MAXAXISDIMS] = {0}, out[TRA_MAXAXISDIMS] = {0};
    for (int i = 0; i < n; i++) {
        const tra_label *b = &x->v[(int)label[i]];
        l[i] = b->l, r[i] = b->r, out[i] = b->out;
    }
    add_axis(&w->l, sites, class == TRA_LABEL_L || class == TRA_LABEL_J, n, l, ext);
    add_axis(&w->r, sites, class == TRA_LABEL_R || class == TRA_LABEL_J, n, r, ext);
    add_axis(&w->out, sites, class != TRA_LABEL_NONE, n, out, ext);
}

static void finish_way(tra_way *w, int sites) { w->l.sites = w->r.sites = w->out.sites = sites; }

/* How many sites have pairs, where all combinations of values exist: all but axes for labels of class `without`. *sites
 * gets the number of sites along these axes. */
static int64_t busy_sites(const enumeration *e, tra_label_class without, int64_t *sites) {
    int64_t busy = *sites = 1;
    for (int i = 0; i < e->ncandidates; i++) {
        if (e->along[i] == 1 || e->v[i].class == without) continue;
        *sites *= e->along[i];
        busy *= tra_min64(e->along[i], tra_max64(1, e->v[i].values));
    }
    return busy;
}

/* Does each input keep min(sites, tuples) sites busy, when it is placed by the axes of its own labels? */
static bool inputs_keep_busy(const enumeration *e) {
    int64_t lsites, rsites, l = busy_sites(e, TRA_LABEL_R, &lsites), r = busy_sites(e, TRA_LABEL_L, &rsites);
    return l >= tra_min64(lsites, e->l->n) && r >= tra_min64(rsites, e->r->n);
}

/* Adds the way of this factorisation, unless it leaves sites idle. */
static void consider(enumeration *e) {
    int64_t sites, busy = busy_sites(e, TRA_LABEL_NONE, &sites);
    int axes = 0;
    for (int i = 0; i < e->ncandidates; i++) axes += e->along[i] > 1;
    if (axes > TRA_MAXAXES) return;
    if (e->second_pass ? busy < e->most_busy : !inputs_keep_busy(e)) {
        e->most_busy = tra_max64(e->most_busy, busy);
        return;
    }
    tra_way w = {0};
    for (int i = 0; i < e->ncandidates; i++) {
        int64_t ext[TRA_MAXAXISDIMS];
        if (e->along[i] == 1) continue;
        for (int j = 0; j < e->v[i].n; j++) ext[j] = e->x->v[(int)e->v[i].label[j]].n;
        add_axes(e->x, &w, e->along[i], e->v[i].class, e->v[i].n, e->v[i].label, ext);
    }
    finish_way(&w, e->sites);
    add_way(e->out, &w);
}

/* Gives candidate i, and those after it, axes whose sites multiply to `left`, in all ways. The labels of a class are
 * either in one axis together, or each has one by itself. */
static void factorise(enumeration *e, int i, int left) {
    if (i == e->ncandidates || left == 1) {
        for (; i < e->ncandidates; i++) e->along[i] = 1;
        if (left == 1) consider(e);
        return;
    }
    for (int g = 1; g <= left; g++) {
        if (left % g != 0) continue;
        if (g > 1 && e->v[i].n > 1) {
            bool single = false; /* has one of the labels an axis by itself? */
            for (int j = 0; j < i; j++) single |= e->along[j] > 1 && e->v[j].class == e->v[i].class;
            if (single) break;
        }
        e->along[i] = g;
        factorise(e, i + 1, left / g);
    }
    e->along[i] = 1;
}

/* Adds the labels of a class as candidates, and all of them together if none alone has a value for each site. */
static void add_candidates(enumeration *e, tra_label_class class) {
    candidate all = {.class = class, .values = 1};
    int64_t most = 0;
    for (int i = 0; i < e->x->n; i++) {
        const tra_label *b = &e->x->v[i];
        if (b->class != class || b->n <= 1) continue;
        e->v[e->ncandidates++] = (candidate){.class = class, .n = 1, .label = {(int8_t)i}, .values = b->n};
        most = tra_max64(most, b->n);
        if (all.n == TRA_MAXAXISDIMS || all.values >= e->sites) continue;
        all.label[all.n++] = (int8_t)i;
        all.values *= b->n; /* no overflow: both are less than the sites, or this is the last */
    }
    if (all.n > 1 && most < e->sites) e->v[e->ncandidates++] = all;
}

tra_way tra_join_on_first(const tra_labels *x, int sites) {
    tra_way w = {0};
    add_axes(x, &w, sites, TRA_LABEL_J, 0, NULL, NULL);
    finish_way(&w, sites);
    return w;
}

void tra_join_ways(const tra_labels *x, const tra_catalog *l, const tra_catalog *r, int sites, tra_ways *out) {
    enumeration e = {.x = x, .l = l, .r = r, .sites = sites, .out = out};
    tra_way all = {0};
    if (sites > 1) {
        for (tra_label_class c = TRA_LABEL_L; c <= TRA_LABEL_R; c++) add_candidates(&e, c);
        for (int pass = 0; pass < 2 && out->n == 0; pass++) {
            e.second_pass = pass == 1;
            factorise(&e, 0, sites);
        }
        if (out->n == 0) { /* no label has two values: there is one pair */
            tra_way first = tra_join_on_first(x, sites);
            add_way(out, &first);
        }
    }
    add_axes(x, &all, sites, TRA_LABEL_NONE, 0, NULL, NULL);
    finish_way(&all, sites);
    add_way(out, &all);
}

/* The label that key dimension d of an input (which: 0 for L, 1 for R) is, or -1. */
static int label_of(const tra_labels *x, int which, int d) {
    for (int i = 0; i < x->n; i++)
        if ((which ? x->v[i].r : x->v[i].l) == d) return i;
    return -1;
}

void tra_join_way_from(const tra_labels *x, const tra_placement *p, int which, tra_ways *out) {
    tra_way w = {0};
    if (p->owner || tra_place_copies(p) > 1 || tra_place_is_partial(p)) return;
    for (int i = 0; i < p->naxes; i++) {
        const tra_axis *ax = &p->axis[i];
        int8_t label[TRA_MAXAXISDIMS];
        tra_label_class class = TRA_LABEL_NONE, own = which ? TRA_LABEL_R : TRA_LABEL_L;
        if (ax->sites == 1) continue;
        if (ax->n == 0) return;
        for (int j = 0; j < ax->n; j++) {
            int at = label_of(x, which, ax->dim[j]);
            if (at < 0) return;
            label[j] = (int8_t)at;
            class = j && x->v[at].class != class ? own : x->v[at].class; /* of several classes: the other is copied */
        }
        add_axes(x, &w, ax->sites, class, ax->n, label, ax->ext);
    }
    finish_way(&w, p->sites);
    add_way(out, &w);
}

/* Renames the dimensions of an input's PART axis to those of the join's result. */
static tra_axis output_axis(const tra_labels *x, tra_axis a, bool left) {
    for (int d = 0; a.kind == TRA_AXIS_PART && d < a.n; d++) {
        int at = label_of(x, !left, a.dim[d]);
        if (at >= 0) a.dim[d] = x->v[at].out;
    }
    return a;
}

tra_placement tra_join_place(const tra_labels *x, const tra_placement *l, const tra_placement *r) {
    tra_placement out = {.sites = l->sites};
    bool lall = tra_place_is_all(l), rall = tra_place_is_all(r); /* `all` is one axis, whatever the other input has */
    out.naxes = lall ? r->naxes : l->naxes;
    for (int i = 0; i < out.naxes; i++) {
        bool left = rall || (!lall && l->axis[i].kind == TRA_AXIS_PART);
        out.axis[i] = output_axis(x, left ? l->axis[i] : r->axis[i], left);
    }
    return out;
}

tra_placement tra_op_pairs_place(const tra_plan *p, const tra_op *o) {
    const tra_op *l = &p->ops[o->in[0]], *r = &p->ops[o->in[1]];
    tra_labels x;
    tra_join_labels(l->type.cat, r->type.cat, &o->spec.joinl, &o->spec.joinr, &x);
    return tra_join_place(&x, &l->place, &r->place);
}

/* The class of the labels by which an axis partitions, l and r being the axes of the inputs. Clears *all_kept if one of
 * these labels is joined and aggregated later. */
static tra_label_class axis_class(const tra_labels *x, const tra_axis *l, const tra_axis *r, uint32_t aggregated,
                                  bool *all_kept) {
    bool lpart = l->kind == TRA_AXIS_PART, rpart = r->kind == TRA_AXIS_PART;
    if (!lpart && !rpart) return TRA_LABEL_NONE;
    if (!lpart || !rpart) return lpart ? TRA_LABEL_L : TRA_LABEL_R;
    for (int i = 0; i < l->n; i++) {
        int at = label_of(x, 0, l->dim[i]);
        if (at >= 0 && aggregated >> x->v[at].out & 1) *all_kept = false;
    }
    return TRA_LABEL_J;
}

/* Sets g[class] to the number of sites along the axes of labels of that class. Clears *all_kept as axis_class does. */
static void sites_by_class(const tra_labels *x, const tra_placement *l, const tra_placement *r, uint32_t aggregated,
                           int g[TRA_LABEL_NONE + 1], bool *all_kept) {
    bool lall = tra_place_is_all(l), rall = tra_place_is_all(r);
    const tra_placement *other = lall ? r : l;
    for (int c = 0; c <= TRA_LABEL_NONE; c++) g[c] = 1;
    if (lall || rall) { /* `all` is one axis, whatever the other input has */
        for (int i = 0; i < other->naxes; i++)
            if (other->axis[i].kind == TRA_AXIS_PART) g[lall ? TRA_LABEL_R : TRA_LABEL_L] *= other->axis[i].sites;
        return;
    }
    for (int i = 0, j = 0;; i++, j++) { /* either input may have axes of one site, which say nothing */
        while (i < l->naxes && l->axis[i].sites == 1) i++;
        while (j < r->naxes && r->axis[j].sites == 1) j++;
        if (i >= l->naxes || j >= r->naxes) return;
        g[axis_class(x, &l->axis[i], &r->axis[j], aggregated, all_kept)] *= l->axis[i].sites;
    }
}

enum { LOCAL = 1, ALL, BMM_RIGHT, BMM_LEFT, CMM, RMM }; /* RMM + 8 times the parts of each class, in 20 bits */

uint64_t tra_join_strategy(const tra_labels *x, const tra_placement *l, const tra_placement *r, uint32_t aggregated) {
    int g[TRA_LABEL_NONE + 1], classes = 0;
    bool all_kept = true;
    sites_by_class(x, l, r, aggregated, g, &all_kept);
    for (int c = 0; c < TRA_LABEL_NONE; c++) classes += g[c] > 1;
    if (l->sites == 1) return LOCAL;
    if (classes == 0) return ALL;
    if (classes > 1)
        return RMM | (uint64_t)g[TRA_LABEL_L] << 3 | (uint64_t)g[TRA_LABEL_J] << 23 | (uint64_t)g[TRA_LABEL_R] << 43;
    if (g[TRA_LABEL_L] > 1) return BMM_RIGHT;
    if (g[TRA_LABEL_R] > 1) return BMM_LEFT;
    return all_kept ? LOCAL : CMM;
}

char *tra_join_strategy_text(uint64_t strategy, char *buf, size_t n) {
    static const char *const text[] = {"", "local", "all", "bmm-right", "bmm-left", "cmm"};
    int kind = (int)(strategy & 7), g[3];
    for (int c = 0; c < 3; c++) g[c] = (int)(strategy >> (3 + 20 * c) & 0xfffff);
    if (kind == RMM)
        snprintf(buf, n, "rmm(%d,%d,%d)", g[0], g[1], g[2]);
    else
        snprintf(buf, n, "%s", text[kind]);
    return buf;
}
