/* cost.c - the work of operators. */
#include "cost.h"

#include "../../lib/kernel/program.h"
#include "../../lib/kernel/rows_cut.h"
#include "../../lib/physical/boxes.h"
#include "../../lib/physical/needs.h"
#include "../../lib/table/join.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list of up to LISTED tuples is placed tuple by tuple, and what is known of up to KNOWN tuples is added up one by
 * one; what is longer is estimated. */
enum { LISTED = 1 << 18, KNOWN = 1 << 14 };

enum { MOST_HELD = 3 }; /* a result with more than one entry in so many elements is held densely */

/* ---- work --------------------------------------------------------------------------------------------------- */

/* The share of the elements of tuple t, or of all tuples (-1), that is expected to be there. */
static double share_there(const tra_type *t, int64_t ordinal) {
    if (!t->layout) return 1;
    double n = (double)(ordinal < 0 ? tra_catalog_elements(t->cat) : tra_catalog_elements_of(t->cat, ordinal));
    double has = (double)(ordinal < 0 ? tra_type_entries(t) : tra_type_entries1(t, ordinal)).expected;
    return n > 0 ? has / n : 0;
}

bool tra_is_held(const tra_type *t) { return t->layout && t->layout != &tra_counted; }

/* What is known of the entries of tuple t, or of all tuples (-1). */
static tra_filled held(const tra_type *t, int64_t ordinal) {
    if (!tra_is_held(t)) return (tra_filled){.share = 1, .bound = INT64_MAX};
    return (tra_filled){.sparse = true, .share = share_there(t, ordinal), .bound = INT64_MAX};
}

/* The share of the rows, in arrays that store their own extents, that is expected to be there. */
static double share_of_rows(const tra_type *t, int64_t ordinal) {
    return t && t->layout == &tra_counted ? share_there(t, ordinal) : 1;
}

/* A kernel whose operations are counted, with the types of its operands l and r (NULL: it has one). Operations are
 * those on dense arrays times the share that is done for the entries which arrays in a layout have. */
typedef struct step {
    const tra_kernel *k;
    tra_kernel_use use;
    const tra_type *l, *r;
    bool known; /* the entries of each tuple are known, so that the share is taken tuple by tuple */
    bool exact; /* all shares so far were exact */
} step;

static step step_of(const tra_kernel *k, tra_kernel_use use, const tra_type *l, const tra_type *r) {
    bool known = (l->layout && l->entries && l->entries->of) || (r && r->layout && r->entries && r->entries->of);
    return (step){k, use, l, r, known, true};
}

/* A join of rows whose kernel keeps an index of its right operand: one thread makes that once, of the rows that are
 * expected. All but a lookup look at them again for each left tuple. The left operand's share is taken of all later. */
static double index_work(const step *s, int64_t tl, const tra_dims *a, int64_t tr, const tra_dims *b) {
    enum { INDEX = 40 };
    const tra_rows_kernel *k = tra_kernel_rows(s->k);
    bool lookup = k->ops == &tra_lookup_ops || k->ops == &tra_pairs_before_ops;
    double there = share_there(s->l, s->known ? tl : -1); /* which done_share multiplies by */
    double tuples = (double)tra_max64(1, s->l->cat->n) * fmax(there, 1e-12);
    double each = lookup ? k->flops * (double)a->v[0] : tra_kernel_flops(s->k, s->use, a, b);
    return each + INDEX * (double)b->v[0] * share_there(s->r, tr) / tuples;
}

static double dense_work(const step *s, int64_t tl, int64_t tr) {
    tra_dims a, b;
    const tra_rows_kernel *rows = tra_kernel_rows(s->k);
    tra_catalog_ext(s->l->cat, tl, &a);
    if (s->r) tra_catalog_ext(s->r->cat, tr, &b);
    if (rows && s->r && rows->ops->keep && s->r->cat->n == 1) return index_work(s, tl, &a, tr, &b);
    return tra_kernel_flops(s->k, s->use, &a, s->r ? &b : NULL);
}

static bool exactly_held(const tra_type *t) { return !t->layout || tra_type_entries(t).exact; }

/* Do the largest extents of both operands fit together? Where not all tuples have the same extents, the largest ones
 * may be those of tuples that do not meet. */
static bool bounds_fit(const step *s) {
    const tra_dims *a = &s->l->cat->bound, *b = &s->r->cat->bound;
    tra_dims out;
    return tra_kernel_shape2(s->k, a, b, a, b, &out, NULL, NULL) == TRA_OK;
}

/* Are the entries of operands made dense, since the kernel has no way to compute by them? */
static bool is_by_dense(const step *s) {
    const tra_layout *l = tra_is_held(s->l) ? s->l->layout : s->r && tra_is_held(s->r) ? s->r->layout : NULL;
    if (!l || s->use == TRA_USE_AGG || tra_kernel_is_program(s->k)) return false;
    if (!l->kernels->by_dense || !l->kernels->by_dense(s->k, s->use, s->l, s->r, false)) return false;
    bool both = s->r && tra_is_held(s->l) && tra_is_held(s->r) && bounds_fit(s); /* then the result may be, too */
    if (!both || l->kernels->by_dense(s->k, s->use, s->l, s->r, true)) return true;
    const tra_filled in[2] = {held(s->l, -1), held(s->r, -1)};
    tra_filled f = tra_kernel_filled2(s->k, &s->l->cat->bound, &s->r->cat->bound, in);
    return !f.sparse || f.share * MOST_HELD > 1;
}

static double done_share(step *s, int64_t tl, int64_t tr) {
    if (!s->l->layout && !(s->r && s->r->layout)) return 1;
    if (tra_kernel_rows(s->k)) { /* of the rows that are expected, not of as many as there may be */
        s->exact = s->exact && exactly_held(s->l);
        return share_there(s->l, tl);
    }
    if (is_by_dense(s)) return 1;
    tra_filled in[2] = {held(s->l, tl), s->r ? held(s->r, tr) : (tra_filled){.share = 1}}, f;
    const tra_dims *a = &s->l->cat->bound, *b = s->r ? &s->r->cat->bound : NULL;
    if (s->use == TRA_USE_JOIN && !bounds_fit(s)) return s->exact = false, 1;
    if (s->use == TRA_USE_JOIN)
        f = tra_kernel_filled2(s->k, a, b, in);
    else if (s->use == TRA_USE_AGG)
        f = tra_kernel_filled_agg(s->k, a, 1, true, in);
    else
        f = tra_kernel_filled1(s->k, a, in);
    s->exact = s->exact && f.exact && exactly_held(s->l) && (!s->r || exactly_held(s->r));
    return f.work * fmin(share_of_rows(s->l, tl), share_of_rows(s->r, tr));
}

/* The largest share of tuple t that may be entries. */
static tra_filled held_at_most(const tra_type *t, int64_t ordinal) {
    tra_filled f = held(t, ordinal);
    int64_t n = tra_catalog_elements_of(t->cat, ordinal);
    if (tra_is_held(t) && n > 0) f.share = fmin(1, (double)tra_type_entries1(t, ordinal).bound / (double)n);
    return f;
}

/* No more than this share of a dense kernel's operations is done for tuples tl and tr: what is done where both have
 * entries is done where one has, and what is done where either has, not more often than both have together. */
static double most_share(const step *s, int64_t tl, int64_t tr) {
    if (tra_kernel_is_fused(s->k)) return tra_fused_most(s->k);
    if (tra_kernel_rest(s->k)) return 1;
    if (s->use != TRA_USE_JOIN || !s->l->layout || !s->r->layout || !bounds_fit(s)) {
        step one = *s;
        one.exact = true;
        double done = done_share(&one, tl, tr);
        return one.exact ? done : 1;
    }
    static const tra_filled dense = {.share = 1, .bound = INT64_MAX};
    tra_filled l = held_at_most(s->l, tl), r = held_at_most(s->r, tr);
    const tra_dims *a = &s->l->cat->bound, *b = &s->r->cat->bound;
    double most = fmin(tra_kernel_filled2(s->k, a, b, (tra_filled[2]){l, dense}).work,
                       tra_kernel_filled2(s->k, a, b, (tra_filled[2]){dense, r}).work);
    bool either = tra_kernel_filled2(s->k, a, b, (tra_filled[2]){l, r}).sparse;
    return either ? fmin(most, l.share + r.share) : most;
}

/* Makes the result of a count. total, and sites[n] for each site (which it frees): operations that are done, if the
 * entries of each tuple are known; else those on dense operands, of which the share is taken here. dense: a bound. */
static tra_work share(step *s, double *sites, int n, double total, double dense) {
    tra_work w = {.total = total, .bound = dense};
    for (int i = 0; i < n; i++) w.busiest = sites[i] > w.busiest ? sites[i] : w.busiest;
    free(sites);
    if (!s->known) {
        double done = done_share(s, -1, -1);
        s->exact = s->exact && done == 1;
        w.total *= done, w.busiest *= done;
    }
    if (s->exact) w.bound = w.total;
    return w;
}

/* The same for a list that is too long to be placed for each candidate: its work is spread evenly over the sites. */
static tra_work spread(step *s, const tra_placement *p, double total, double dense) {
    double copies = tra_place_copies(p), *none = tra_calloc(1, sizeof *none);
    tra_work w = share(s, none, 0, total * copies, dense * copies);
    w.busiest = w.total / p->sites;
    return w;
}

/* Counts over the tuples of out, each made of tuples l and r of the operands. */
typedef struct count {
    step s;
    const tra_placement *p;
    const tra_catalog *out;
    const tra_labels *x;      /* of a join, else NULL: the operand's tuples are those of out */
    const tra_mirror *mirror; /* of a triangle */
    double total, dense, *sites;
    int *holders;
} count;

/* The keys of L and R that meet at an output key. */
static void split_key(const tra_labels *x, const tra_dims *out, tra_dims *l, tra_dims *r) {
    for (int i = 0; i < x->n; i++) {
        const tra_label *b = &x->v[i];
        if (b->l >= 0) l->v[(int)b->l] = out->v[(int)b->out];
        if (b->r >= 0) r->v[(int)b->r] = out->v[(int)b->out];
    }
}

static void operands_of(const count *c, int64_t t, const tra_dims *key, int64_t *tl, int64_t *tr) {
    *tl = t, *tr = -1;
    if (!c->x) return;
    const tra_catalog *l = c->s.l->cat, *r = c->s.r->cat;
    tra_dims kl = {.n = l->frontier.n}, kr = {.n = r->frontier.n};
    split_key(c->x, key, &kl, &kr);
    *tl = tra_catalog_find(l, &kl), *tr = tra_catalog_find(r, &kr);
    assert(*tl >= 0 && *tr >= 0);
}

static void count_tuple(count *c, int64_t t, const tra_dims *key, double alike, bool place) {
    int64_t tl, tr;
    operands_of(c, t, key, &tl, &tr);
    double dense = alike * dense_work(&c->s, tl, tr), work = c->s.known ? dense * done_share(&c->s, tl, tr) : dense;
    int n = place ? tra_place_holders(c->p, c->out, t, key, c->holders) : 0;
    for (int i = 0; i < n; i++) c->sites[c->holders[i]] += work;
    c->total += (place ? n : 1) * work;
    bool bounded = c->s.known || tra_kernel_is_fused(c->s.k);
    c->dense += (place ? n : 1) * (bounded ? dense * most_share(&c->s, tl, tr) : dense);
}

/* Counts `alike` tuples like this one of a triangle. With w > 1 the tuples of w values of i and of the same w values of
 * j are alike, so w x w of them; with w = 1 only those of this i and this j. */
static void count_mirrored(count *c, int64_t t, const tra_dims *key, double alike, int64_t w) {
    const tra_mirror *m = c->mirror;
    int64_t tl, tr, i = key->v[m->label[0]], j = key->v[m->label[1]];
    operands_of(c, t, key, &tl, &tr);
    double whole = dense_work(&c->s, tl, tr), work = alike * whole;
    tra_dims ext, other = *key;
    tra_catalog_ext(c->s.l->cat, tl, &ext);
    other.v[m->label[0]] = j, other.v[m->label[1]] = i;
    if (i == j) { /* w on the diagonal, (w - 1) / 2 beyond it for each */
        double e = (double)tra_max64(1, ext.v[m->own]), one = whole / 2 / e * (e + 1);
        work = alike / (double)w * (one + (double)(w - 1) / 2 * whole);
    }
    int64_t of_other = i > j ? tra_catalog_find(c->out, &other) : -1;
    int n = tra_place_holders(c->p, c->out, t, key, c->holders);
    for (int h = 0; h < n; h++) {
        if (i > j && of_other >= 0 && tra_place_holds(c->p, c->out, of_other, &other, c->holders[h])) continue;
        c->sites[c->holders[h]] += work;
        c->total += work;
    }
}

static tra_work count_triangle(count c) {
    int64_t t, alike;
    tra_dims key;
    tra_placement turned = *c.p;
    for (int a = 0; a < turned.naxes; a++) {
        for (int d = 0; turned.axis[a].kind == TRA_AXIS_PART && d < turned.axis[a].n; d++) {
            int8_t *dim = &turned.axis[a].dim[d];
            for (int side = 0; side < 2; side++) {
                if (*dim != c.mirror->label[side]) continue;
                *dim = (int8_t)c.mirror->label[1 - side];
                break;
            }
        }
    }
    c.sites = tra_calloc((size_t)c.p->sites, sizeof *c.sites);
    c.holders = tra_malloc((size_t)c.p->sites * sizeof *c.holders);
    tra_classes cells;
    tra_classes_begin(&cells, c.out, c.p, &turned);
    while (tra_classes_next(&cells, &t, &key, &alike))
        count_mirrored(&c, t, &key, (double)alike,
                       tra_classes_width(&cells, c.mirror->label[0], key.v[c.mirror->label[0]]));
    tra_classes_end(&cells);
    free(c.holders);
    return share(&c.s, c.sites, c.p->sites, c.total, c.total);
}

tra_work tra_work_triangle(const tra_kernel *k, const tra_labels *x, const tra_type *t, const tra_catalog *out,
                           const tra_placement *place, const tra_mirror *mirror) {
    if (!out->grid && out->n > LISTED) return tra_work_join(k, x, t, t, out, place);
    return count_triangle(
        (count){.s = step_of(k, TRA_USE_JOIN, t, t), .p = place, .out = out, .x = x, .mirror = mirror});
}

/* ---- grids, in closed form -------------------------------------------------------------------------------------- */

/* Tuples of a grid differ only in which of their key dimensions have their last value, if extents change there: `n`
 * such dimensions, so 2^n kinds of tuples. A profile tells of the part of a grid that sites with one coordinate on an
 * axis have, how many values (of the axis's dimensions together) are of each kind. */
enum { MOST_CHANGING = 4, KINDS = 1 << MOST_CHANGING, MOST_PROFILES = 32 };
typedef struct kinds {
    int n, dim[MOST_CHANGING];
    double work[KINDS]; /* of one tuple of each kind */
} kinds;
static int changing(const kinds *k, int d) {
    int at = k->n - 1;
    while (at >= 0 && k->dim[at] != d) at--;
    return at;
}
typedef struct profiles {
    uint32_t of; /* the changing dimensions that it is about, as bits */
    int n;
    double v[MOST_PROFILES][KINDS]; /* by the bits of `of` that are at their last value */
} profiles;

/* Do extents of the operand change at the last value of its key dimension d? */
static bool changes(const tra_catalog *c, int d) {
    for (int a = 0; a < c->bound.n; a++)
        if (c->by[a] == d && c->last[a] != c->bound.v[a]) return true;
    return false;
}

static bool find_kinds(const count *c, kinds *k) {
    k->n = 0;
    for (int d = 0; d < c->out->frontier.n; d++) {
        bool any = !c->x && changes(c->s.l->cat, d);
        for (int i = 0; c->x && i < c->x->n; i++) {
            const tra_label *b = &c->x->v[i];
            if (b->out != d) continue;
            any |= (b->l >= 0 && changes(c->s.l->cat, b->l)) || (b->r >= 0 && changes(c->s.r->cat, b->r));
        }
        if (any && k->n == MOST_CHANGING) return false;
        if (any) k->dim[k->n++] = d;
    }
    return true;
}

/* Adds a profile of the boxes, unless it is there. False: there are too many. */
static bool add_profile(const count *c, const kinds *k, const tra_boxes *b, uint32_t dims, profiles *p) {
    double v[KINDS] = {0};
    for (int i = 0; i < b->n; i++)
        for (uint32_t kind = 0; kind < 1u << k->n; kind++) {
            double n = kind & ~p->of ? 0 : 1;
            for (int d = 0; d < c->out->frontier.n && n > 0; d++) {
                if (!(dims >> d & 1)) continue;
                int at = changing(k, d);
                bool ends = at >= 0 && b->v[i].hi[d] == c->out->frontier.v[d];
                int64_t values = b->v[i].hi[d] - b->v[i].lo[d];
                n *= (double)(at >= 0 && kind >> at & 1 ? ends : values - ends);
            }
            v[kind] += n;
        }
    for (int i = 0; i < p->n; i++)
        if (memcmp(p->v[i], v, sizeof *v << k->n) == 0) return true;
    if (p->n == MOST_PROFILES) return false;
    memcpy(p->v[p->n++], v, sizeof *v << k->n);
    return true;
}

/* The most work of any site: of each axis one profile, as bad as it gets. */
static double most_work(const kinds *k, int n, const profiles *p, const double *so_far) {
    double most = 0, next[KINDS];
    if (n == 0) {
        for (uint32_t kind = 0; kind < 1u << k->n; kind++) most += so_far[kind] * k->work[kind];
        return most;
    }
    for (int i = 0; i < p->n; i++) {
        for (uint32_t kind = 0; kind < 1u << k->n; kind++) next[kind] = so_far[kind] * p->v[i][kind & p->of];
        most = fmax(most, most_work(k, n - 1, p + 1, next));
    }
    return most;
}

/* The profiles of a part of the grid, or of an axis that is uneven. False: there are too many. */
static bool find_profiles(const count *c, const kinds *k, const tra_digit *part, const tra_axis *x, profiles *p) {
    uint32_t dims = part && part->dim >= 0 ? 1u << part->dim : 0;
    tra_placement one = x ? (tra_placement){.sites = x->sites, .naxes = 1, .axis = {*x}} : tra_place_all(1);
    tra_digits parts;
    bool fits = true;
    if (x) tra_digits_of(&one, c->out, &parts);
    for (int j = 0; x && j < x->n; j++) dims |= 1u << x->dim[j];
    for (int j = 0; j < k->n; j++) p->of |= (dims >> k->dim[j] & 1) << j;
    for (int64_t site = 0; site < (x ? x->sites : part->sites) && fits; site++) {
        tra_boxes b = {.n = 1};
        int64_t lo, hi;
        if (x)
            tra_boxes_of(&parts, (int)site, &b);
        else
            tra_digit_range(part, c->out, site, &lo, &hi);
        if (!x && part->dim >= 0) b.v[0].lo[part->dim] = lo, b.v[0].hi[part->dim] = hi;
        b.n = x ? b.n : lo < hi;
        fits = add_profile(c, k, &b, dims, p);
    }
    return fits;
}

/* Counts a grid that is placed by axes of which no two divide one dimension; false: it is not so. */
static bool count_grid(count *c, tra_work *w) {
    kinds k;
    const tra_placement *p = c->p;
    tra_digits parts;
    int n = 0, holders = tra_place_copies(p) * tra_place_summands(p);
    if (!find_kinds(c, &k) || !tra_digits_of(p, c->out, &parts) || !parts.independent) return false;
    profiles *v = tra_calloc((size_t)(parts.n + parts.nuneven), sizeof *v);
    bool fits = true;
    for (int i = 0; i < parts.n && fits; i++) fits = find_profiles(c, &k, &parts.v[i], NULL, &v[n++]);
    for (int i = 0; i < parts.nuneven && fits; i++)
        fits = find_profiles(c, &k, NULL, &p->axis[parts.uneven[i]], &v[n++]);
    bool bounded = tra_kernel_is_fused(c->s.k);
    double total = 0, dense = 0, each[KINDS];
    for (uint32_t kind = 0; kind < 1u << k.n && fits; kind++) {
        tra_dims key = {.n = c->out->frontier.n};
        int64_t tl, tr;
        double tuples = 1;
        for (int d = 0; d < key.n; d++) {
            int at = changing(&k, d);
            bool last = at >= 0 && kind >> at & 1;
            key.v[d] = last ? c->out->frontier.v[d] - 1 : 0;
            tuples *= (double)(at < 0 ? c->out->frontier.v[d] : last ? 1 : c->out->frontier.v[d] - 1);
        }
        each[kind] = 1;
        k.work[kind] = 0;
        if (tuples == 0) continue;
        operands_of(c, tra_linear(&c->out->frontier, &key), &key, &tl, &tr);
        k.work[kind] = dense_work(&c->s, tl, tr);
        total += holders * tuples * k.work[kind];
        dense += holders * tuples * k.work[kind] * (bounded ? most_share(&c->s, tl, tr) : 1);
    }
    if (fits) {
        double *busiest = tra_malloc(sizeof *busiest);
        *busiest = most_work(&k, n, v, each);
        *w = share(&c->s, busiest, 1, total, dense);
    }
    free(v);
    return fits;
}

static tra_work count_all(count c) {
    tra_dims key;
    int64_t t, alike;
    tra_work w;
    bool grids = c.out->grid && c.s.l->cat->grid && (!c.s.r || c.s.r->cat->grid);
    bool place = c.p->owner || c.out->n <= LISTED;
    if (c.out->n > KNOWN) c.s.known = false;
    bool each = !grids || c.p->owner || c.s.known;
    if (!each && c.out->n > 0 && count_grid(&c, &w)) return w;
    c.sites = tra_calloc((size_t)c.p->sites, sizeof *c.sites);
    c.holders = tra_malloc((size_t)c.p->sites * sizeof *c.holders);
    if (each) {
        for (t = 0; t < c.out->n; t++) {
            tra_catalog_key(c.out, t, &key);
            count_tuple(&c, t, &key, 1, place);
        }
    } else { /* the last value of L or of R is the last here, or not reached */
        tra_classes cells;
        place = true;
        tra_classes_begin(&cells, c.out, c.p, NULL);
        while (tra_classes_next(&cells, &t, &key, &alike)) count_tuple(&c, t, &key, (double)alike, true);
        tra_classes_end(&cells);
    }
    free(c.holders);
    if (place) return share(&c.s, c.sites, c.p->sites, c.total, c.dense);
    free(c.sites);
    return spread(&c.s, c.p, c.total, c.dense);
}

tra_work tra_work_each(const tra_kernel *k, tra_kernel_use use, const tra_type *t, const tra_placement *p) {
    return count_all((count){.s = step_of(k, use, t, NULL), .p = p, .out = t->cat});
}

double tra_work_finding(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_catalog *pairs,
                        const tra_placement *place) {
    return tra_kernel_rows_finding(k, l, r) * (double)pairs->n * tra_place_copies(place) / place->sites;
}

tra_work tra_work_join(const tra_kernel *k, const tra_labels *x, const tra_type *l, const tra_type *r,
                       const tra_catalog *out, const tra_placement *place) {
    return count_all((count){.s = step_of(k, TRA_USE_JOIN, l, r), .p = place, .out = out, .x = x});
}
