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

/* What an axis may be assigned to: one label, or several of one class that only together have enough values. */
typedef struct choice {
    tra_label_class class;
    int n;
    int8_t label[TRA_MAXAXISDIMS];
    int64_t values;
} choice;

typedef struct enumeration {
    const tra_labels *x;
    const tra_catalog *l, *r;
    int sites;
    int nchoices;
    choice v[2 * TRA_MAXDIM + 3];
    int factor[2 * TRA_MAXDIM + 3]; /* sites of each choice */
    int64_t busiest;                /* most sites that a way keeps busy */
    bool relaxed;                   /* second pass: nothing is offered */
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

/* The axes of the inputs and the output for so many sites along the labels of one class. */
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

/* Sites that hold something when tuples are placed by this input's axes alone. */
static bool keeps_busy(const enumeration *e, bool right, int64_t tuples) {
    int64_t busy = 1, sites = 1;
    for (int i = 0; i < e->nchoices; i++) {
        tra_label_class c = e->v[i].class;
        if (e->factor[i] == 1 || c == (right ? TRA_LABEL_L : TRA_LABEL_R)) continue;
        sites *= e->factor[i];
        busy *= tra_min64(e->factor[i], tra_max64(1, e->v[i].values));
    }
    return busy >= tra_min64(sites, tuples);
}

static void consider(enumeration *e) {
    int64_t busy = 1;
    int axes = 0;
    for (int i = 0; i < e->nchoices; i++) {
        if (e->factor[i] == 1) continue;
        busy *= tra_min64(e->factor[i], tra_max64(1, e->v[i].values));
        axes++;
    }
    if (axes > TRA_MAXAXES) return;
    if (e->relaxed ? busy < e->busiest : !keeps_busy(e, false, e->l->n) || !keeps_busy(e, true, e->r->n)) {
        e->busiest = tra_max64(e->busiest, busy);
        return;
    }
    tra_way w = {0};
    for (int i = 0; i < e->nchoices; i++) {
        int64_t ext[TRA_MAXAXISDIMS];
        if (e->factor[i] == 1) continue;
        for (int j = 0; j < e->v[i].n; j++) ext[j] = e->x->v[(int)e->v[i].label[j]].n;
        add_axes(e->x, &w, e->factor[i], e->v[i].class, e->v[i].n, e->v[i].label, ext);
    }
    finish_way(&w, e->sites);
    add_way(e->out, &w);
}

/* Gives choice i each divisor of the sites that are left. A class is either in one axis together or in axes apart. */
static void factorise(enumeration *e, int i, int left) {
    if (i == e->nchoices || left == 1) {
        for (; i < e->nchoices; i++) e->factor[i] = 1;
        if (left == 1) consider(e);
        return;
    }
    for (int g = 1; g <= left; g++) {
        if (left % g != 0) continue;
        if (g > 1 && e->v[i].n > 1) {
            bool apart = false;
            for (int j = 0; j < i; j++) apart |= e->factor[j] > 1 && e->v[j].class == e->v[i].class;
            if (apart) break;
        }
        e->factor[i] = g;
        factorise(e, i + 1, left / g);
    }
    e->factor[i] = 1;
}

/* The labels of a class, and all of them together where no one alone has a value for each site. */
static void add_choices(enumeration *e, tra_label_class class) {
    choice all = {.class = class, .values = 1};
    int64_t most = 0;
    for (int i = 0; i < e->x->n; i++) {
        const tra_label *b = &e->x->v[i];
        if (b->class != class || b->n <= 1) continue;
        e->v[e->nchoices++] = (choice){.class = class, .n = 1, .label = {(int8_t)i}, .values = b->n};
        most = tra_max64(most, b->n);
        if (all.n == TRA_MAXAXISDIMS || all.values >= e->sites) continue;
        all.label[all.n++] = (int8_t)i;
        all.values *= b->n; /* no overflow: both are less than the sites, or this is the last */
    }
    if (all.n > 1 && most < e->sites) e->v[e->nchoices++] = all;
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
        for (tra_label_class c = TRA_LABEL_L; c <= TRA_LABEL_R; c++) add_choices(&e, c);
        for (int pass = 0; pass < 2 && out->n == 0; pass++) {
            e.relaxed = pass == 1;
            factorise(&e, 0, sites);
        }
        if (out->n == 0) { /* one pair */
            tra_way first = tra_join_on_first(x, sites);
            add_way(out, &first);
        }
    }
    add_axes(x, &all, sites, TRA_LABEL_NONE, 0, NULL, NULL);
    finish_way(&all, sites);
    add_way(out, &all);
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
            int at = -1;
            for (int b = 0; b < x->n && at < 0; b++) {
                if ((which ? x->v[b].r : x->v[b].l) == ax->dim[j]) at = b;
            }
            if (at < 0) return;
            label[j] = (int8_t)at;
            class = j && x->v[at].class != class ? own : x->v[at].class; /* of several classes: the other is copied */
        }
        add_axes(x, &w, ax->sites, class, ax->n, label, ax->ext);
    }
    finish_way(&w, p->sites);
    add_way(out, &w);
}

/* Renames the dimensions of an input's PART axis to those of the join's output. */
static tra_axis output_axis(const tra_labels *x, tra_axis a, bool left) {
    for (int d = 0; a.kind == TRA_AXIS_PART && d < a.n; d++) {
        for (int b = 0; b < x->n; b++) {
            if ((left ? x->v[b].l : x->v[b].r) != a.dim[d]) continue;
            a.dim[d] = x->v[b].out;
            break;
        }
    }
    return a;
}

tra_placement tra_join_place(const tra_labels *x, const tra_placement *l, const tra_placement *r) {
    tra_placement out = {.sites = l->sites};
    bool lall = tra_place_is_all(l), rall = tra_place_is_all(r); /* `all` is one axis whatever the other has */
    out.naxes = lall ? r->naxes : l->naxes;
    for (int i = 0; i < out.naxes; i++) {
        bool left = rall || (!lall && l->axis[i].kind == TRA_AXIS_PART);
        out.axis[i] = output_axis(x, left ? l->axis[i] : r->axis[i], left);
    }
    return out;
}

/* The class of labels along an axis, and whether all of them are kept (none is aggregated later). */
static tra_label_class axis_class(const tra_labels *x, const tra_axis *l, const tra_axis *r, uint32_t later,
                                  bool *kept) {
    bool lpart = l->kind == TRA_AXIS_PART, rpart = r->kind == TRA_AXIS_PART;
    if (!lpart && !rpart) return TRA_LABEL_NONE;
    if (!lpart || !rpart) return lpart ? TRA_LABEL_L : TRA_LABEL_R;
    *kept = true;
    for (int i = 0; i < l->n; i++) {
        for (int b = 0; b < x->n; b++) {
            if (x->v[b].l == l->dim[i] && later >> x->v[b].out & 1) *kept = false;
        }
    }
    return TRA_LABEL_J;
}

char *tra_join_strategy(const tra_labels *x, const tra_placement *l, const tra_placement *r, uint32_t later, char *buf,
                        size_t n) {
    int g[3] = {1, 1, 1}, over = 0;
    bool allkept = true, lall = tra_place_is_all(l), rall = tra_place_is_all(r);
    const tra_placement *other = lall ? r : l; /* what is everywhere may have one axis where the other has several */
    for (int i = 0; (lall || rall) && i < other->naxes; i++)
        if (other->axis[i].kind == TRA_AXIS_PART) g[lall ? TRA_LABEL_R : TRA_LABEL_L] *= other->axis[i].sites;
    for (int i = 0, j = 0; !lall && !rall && i < l->naxes && j < r->naxes;
         i++, j++) { /* axes of one site may stand in one of them only */
        while (i < l->naxes && l->axis[i].sites == 1) i++;
        while (j < r->naxes && r->axis[j].sites == 1) j++;
        if (i == l->naxes || j == r->naxes) break;
        bool kept = true;
        tra_label_class c = axis_class(x, &l->axis[i], &r->axis[j], later, &kept);
        if (c == TRA_LABEL_NONE) continue;
        g[c] *= l->axis[i].sites;
        if (c == TRA_LABEL_J) allkept &= kept;
    }
    for (int c = 0; c < 3; c++) over += g[c] > 1;
    if (l->sites == 1)
        snprintf(buf, n, "local");
    else if (over == 0)
        snprintf(buf, n, "all");
    else if (over > 1)
        snprintf(buf, n, "rmm(%d,%d,%d)", g[TRA_LABEL_L], g[TRA_LABEL_J], g[TRA_LABEL_R]);
    else if (g[TRA_LABEL_L] > 1)
        snprintf(buf, n, "bmm-right");
    else if (g[TRA_LABEL_R] > 1)
        snprintf(buf, n, "bmm-left");
    else
        snprintf(buf, n, allkept ? "local" : "cmm");
    return buf;
}
