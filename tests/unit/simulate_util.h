/* simulate_util.h - a simulation of the plans of a matrix product, which moves its tuples.
 *
 * The simulation shares no code with the costs: it reads the placements of a plan as algebra.md section 3 says them (a
 * grid of axes; along one that partitions n values, value t is at coordinate floor(t * sites / n)), gives every tuple
 * to sites, and carries each exchange out. The value of a product's block is the set of inner keys that are summed in
 * it, so a plan that forgets a pair, makes one twice, or completes a sum too early is seen as well.
 */
#ifndef TRA_SIMULATE_UTIL_H
#define TRA_SIMULATE_UTIL_H

#include "../../lib/physical/plan.h"
#include "../../plans/search/search.h"
#include "../../plans/tra/load.h"
#include "check.h"

enum { MAXSITES = 64 };

/* ---- relations on sites ------------------------------------------------------------------------------------- */

/* Blocks on at most 64 sites, numbered row-major by their keys: of an input or a sum <i,j>, of all pairs <i,k,j>. Key
 * dimension d cuts extent[d] in blocks; 0: it cuts nothing, and blocks[d] counts keys. */
typedef struct held {
    int keys;
    int64_t extent[3], block[3], blocks[3];
    uint64_t *at;                 /* by block: the sites that have it, as bits */
    uint64_t (*summed)[MAXSITES]; /* of sums, by block and site: the inner keys that are in it, as bits; else NULL */
} held;

static inline int64_t nblocks(const held *h) {
    int64_t n = 1;
    for (int d = 0; d < h->keys; d++) n *= h->blocks[d];
    return n;
}

static inline void key_of(const held *h, int64_t t, int64_t *key) {
    for (int d = h->keys - 1; d >= 0; d--) key[d] = t % h->blocks[d], t /= h->blocks[d];
}

static inline int64_t floats_of(const held *h, int64_t t) {
    int64_t key[3], n = 1;
    key_of(h, t, key);
    for (int d = 0; d < h->keys; d++)
        n *= h->extent[d] ? tra_min64(h->block[d], h->extent[d] - key[d] * h->block[d]) : 1;
    return n;
}

/* An empty copy of what h says of keys and extents. */
static inline held *new_held(const held *like, bool summed) {
    held *h = tra_calloc(1, sizeof *h);
    *h = *like;
    h->at = tra_calloc((size_t)nblocks(h), sizeof *h->at);
    h->summed = summed ? tra_calloc((size_t)nblocks(h), sizeof *h->summed) : NULL;
    return h;
}

static inline held matrix(int64_t m, int64_t n, int64_t bm, int64_t bn) {
    return (held){2, {m, n}, {bm, bn}, {(m + bm - 1) / bm, (n + bn - 1) / bn}, NULL, NULL};
}

static inline void free_held(held *h) {
    free(h->summed);
    free(h->at);
    free(h);
}

/* Coordinate of a site along axis a of the grid of sites, whose numbers are row-major. */
static inline int coordinate(const tra_placement *p, int site, int a) {
    for (int x = p->naxes - 1; x > a; x--) site /= p->axis[x].sites;
    return site % p->axis[a].sites;
}

/* The sites where a placement has block t, as bits: axis by axis, the sites of the axes so far times those of the
 * next. */
static inline uint64_t sites_of(const tra_placement *p, const held *h, int64_t t) {
    int64_t key[3];
    uint64_t sites = 1; /* of a grid without axes, its one site */
    key_of(h, t, key);
    for (int a = 0; a < p->naxes; a++) {
        const tra_axis *x = &p->axis[a];
        int64_t n = 1, row = 0;
        for (int d = 0; x->kind == TRA_AXIS_PART && d < x->n; d++) {
            row = row * x->ext[d] + tra_min64(key[(int)x->dim[d]], x->ext[d] - 1);
            n *= x->ext[d];
        }
        uint64_t before = sites;
        sites = 0;
        for (int site = 0; before; site++, before >>= 1) { /* site * x->sites + any coordinate, or the one */
            if (!(before & 1)) continue;
            if (x->kind == TRA_AXIS_PART)
                sites |= (uint64_t)1 << (site * x->sites + row * x->sites / n);
            else
                for (int c = 0; c < x->sites; c++) sites |= (uint64_t)1 << (site * x->sites + c);
        }
    }
    return sites;
}

/* Which summand a site has: its coordinates along the axes of summands. */
static inline int summand_of(const tra_placement *p, int site) {
    int n = 0;
    for (int a = 0; a < p->naxes; a++) {
        if (p->axis[a].kind == TRA_AXIS_PARTIAL) n = n * p->axis[a].sites + coordinate(p, site, a);
    }
    return n;
}

static inline int nsummands(const tra_placement *p) {
    int n = 1;
    for (int a = 0; a < p->naxes; a++) n *= p->axis[a].kind == TRA_AXIS_PARTIAL ? p->axis[a].sites : 1;
    return n;
}

/* ---- exchanges ---------------------------------------------------------------------------------------------- */

typedef struct traffic {
    int64_t floats; /* by the model of the TRA paper */
    int64_t bytes;  /* of blocks that go to another site */
} traffic;

/* Brings block t to the sites `to`. The model counts a delivery to each of them and, of summands, one from each. */
static inline void deliver(const held *in, const tra_placement *from, held *out, int64_t t, uint64_t to, traffic *x) {
    int64_t f = floats_of(in, t);
    int summands = nsummands(from), copies = __builtin_popcountll(to);
    if (summands > 1)
        x->floats += summands * f + (copies > 1 ? copies * f : 0);
    else
        x->floats += copies * f;
    out->at[t] = to;
    for (int site = 0; site < from->sites; site++) {
        if (!(to >> site & 1)) continue;
        for (int s = 0; s < summands; s++) { /* from itself, else from the first site that has this summand */
            int source = in->at[t] >> site & 1 && summand_of(from, site) == s ? site : -1;
            for (int other = 0; other < from->sites && source < 0; other++) {
                if (in->at[t] >> other & 1 && summand_of(from, other) == s) source = other;
            }
            if (source < 0) {
                check_report("nobody has summand %d of block %" PRId64, s, t);
                continue;
            }
            if (source != site) x->bytes += f * 8;
            if (!in->summed) continue;
            if (out->summed[t][site] & in->summed[t][source]) check_report("block %" PRId64 ": a pair twice", t);
            out->summed[t][site] |= in->summed[t][source];
        }
    }
}

static inline held *exchange(const held *in, const tra_placement *from, const tra_placement *to, traffic *total) {
    held *out = new_held(in, in->summed != NULL);
    traffic x = {0};
    for (int64_t t = 0; t < nblocks(in); t++) {
        if (in->at[t]) deliver(in, from, out, t, sites_of(to, in, t), &x);
    }
    if (nsummands(from) == 1 && x.bytes == 0) x.floats = 0; /* nothing has moved */
    total->floats += x.floats;
    total->bytes += x.bytes;
    return out;
}

/* ---- the product -------------------------------------------------------------------------------------------- */

/* Every site multiplies the pairs that meet there. *busy gets the sites that had some. */
static inline held *multiply(const held *l, const held *r, uint64_t *busy) {
    held like = {.keys = 3,
                 .extent = {l->extent[0], 0, r->extent[1]},
                 .block = {l->block[0], 1, r->block[1]},
                 .blocks = {l->blocks[0], l->blocks[1], r->blocks[1]}};
    held *pairs = new_held(&like, false);
    for (int64_t t = 0; t < nblocks(pairs); t++) {
        int64_t key[3];
        key_of(pairs, t, key);
        pairs->at[t] = l->at[key[0] * l->blocks[1] + key[1]] & r->at[key[1] * r->blocks[1] + key[2]];
        *busy |= pairs->at[t];
    }
    return pairs;
}

/* Every site adds the blocks of pairs that it has. */
static inline held *add_up(const held *pairs, const tra_placement *place) {
    held like = {.keys = 2,
                 .extent = {pairs->extent[0], pairs->extent[2]},
                 .block = {pairs->block[0], pairs->block[2]},
                 .blocks = {pairs->blocks[0], pairs->blocks[2]}};
    held *z = new_held(&like, true);
    for (int64_t t = 0; t < nblocks(pairs); t++) {
        int64_t key[3];
        if (!pairs->at[t]) continue;
        key_of(pairs, t, key);
        int64_t sum = key[0] * z->blocks[1] + key[2];
        if (!z->at[sum]) z->at[sum] = sites_of(place, z, sum);
        if (pairs->at[t] & ~z->at[sum]) check_report("a pair of block %" PRId64 " where its sum is not", sum);
        for (uint64_t left = pairs->at[t]; left; left &= left - 1)
            z->summed[sum][__builtin_ctzll(left)] |= (uint64_t)1 << key[1];
    }
    return z;
}

static inline held *same(const held *h) {
    held *out = new_held(h, h->summed != NULL);
    memcpy(out->at, h->at, (size_t)nblocks(h) * sizeof *h->at);
    if (h->summed) memcpy(out->summed, h->summed, (size_t)nblocks(h) * sizeof *h->summed);
    return out;
}

typedef struct product {
    int64_t i, k, j, bi, bk, bj;
} product;

/* What else a program says: A times itself; where A and B are ("" anywhere, "all", or the key dimensions that partition
 * them, as "0" or "0,1"); whether blocks of A are taken away. */
typedef struct variant {
    bool square;
    const char *at[2];
    bool holes;
} variant;
#define HOLES "(i + 2 * k) % 3 != 0"
static inline bool taken_away(const variant *u, int64_t i, int64_t k) { return u->holes && (i + 2 * k) % 3 == 0; }

/* Where a sum stands that is said to be complete, it has all inner keys that A has. */
static inline bool complete(const held *z, int64_t inner, const variant *u) {
    for (int64_t t = 0; t < nblocks(z); t++) {
        uint64_t whole = 0;
        for (int64_t k = 0; k < inner; k++) whole |= (uint64_t)!taken_away(u, t / z->blocks[1], k) << k;
        if (!z->at[t] != !whole) return false;
        for (int site = 0; site < MAXSITES; site++) {
            if (z->at[t] >> site & 1 && z->summed[t][site] != whole) return false;
        }
    }
    return true;
}

/* The placement that an input declares by its key dimensions. */
static inline tra_placement declared(const char *at, const held *h, int s) {
    tra_placement p = {.sites = s, .naxes = 1, .axis = {{.kind = TRA_AXIS_PART, .sites = s}}};
    tra_axis *x = &p.axis[0];
    for (; *at; at += at[1] ? 2 : 1) {
        x->dim[x->n] = (int8_t)(*at - '0');
        x->ext[x->n++] = h->blocks[*at - '0'];
    }
    return p;
}

/* An input is where it was declared. If nowhere, each block is on one site: any partitioning is free, copies are
 * not. */
static inline held *read_input(const tra_op *o, const product *m, const variant *u) {
    bool left = strcmp(o->spec.name, "A") == 0;
    const char *at = u->at[left ? 0 : 1];
    held like = left ? matrix(m->i, m->k, m->bi, m->bk) : matrix(m->k, m->j, m->bk, m->bj);
    held *h = new_held(&like, false);
    for (int64_t t = 0; t < nblocks(h); t++) {
        bool all = strcmp(at, "all") == 0;
        h->at[t] = sites_of(&o->place, h, t);
        CHECK_INT(__builtin_popcountll(h->at[t]), all ? o->place.sites : 1);
        if (!*at || all) continue;
        tra_placement p = declared(at, h, o->place.sites);
        CHECK(h->at[t] == sites_of(&p, h, t));
    }
    return h;
}

static inline held *take_away(const held *from, const variant *u) {
    held *h = same(from);
    for (int64_t t = 0; t < nblocks(h); t++) {
        if (taken_away(u, t / h->blocks[1], t % h->blocks[1])) h->at[t] = 0;
    }
    return h;
}

/* Carries out a plan of the product. Returns the sites that multiply. */
static inline uint64_t simulate(const tra_plan *p, const product *m, const variant *u, traffic *x) {
    held **v = tra_calloc((size_t)p->nops, sizeof *v), *pairs;
    uint64_t busy = 0;
    int64_t inner = (m->k + m->bk - 1) / m->bk;
    for (int n = 0; n < p->nops; n++) {
        const tra_op *o = &p->ops[n], *in = o->in[0] >= 0 ? &p->ops[o->in[0]] : NULL;
        const held *from = in ? v[in->id] : NULL;
        switch ((int)o->op) {
        case TRA_PLAN_INPUT: v[n] = read_input(o, m, u); break;
        case TRA_PLAN_FILTER: v[n] = take_away(from, u); break;
        case TRA_PLAN_BCAST:
        case TRA_PLAN_SHUF: v[n] = exchange(from, &in->place, &o->place, x); break;
        case TRA_PLAN_JOIN: v[n] = multiply(from, v[o->in[1]], &busy); break;
        case TRA_PLAN_AGG: v[n] = add_up(from, &o->place); break;
        case TRA_PLAN_JOINAGG:
            pairs = multiply(from, v[o->in[1]], &busy);
            v[n] = add_up(pairs, &o->place);
            free_held(pairs);
            break;
        case TRA_PLAN_MERGE:
        case TRA_PLAN_OUTPUT: v[n] = same(from); break;
        default: check_report("operator %s is not for matrix products", tra_plan_op_text(o->op)); goto end;
        }
        bool sum = v[n]->summed && v[n]->keys == 2;
        if (sum && nsummands(&o->place) == 1 && !complete(v[n], inner, u)) check_report("a sum lacks pairs");
    }
end:
    for (int n = 0; n < p->nops; n++) {
        if (v[n]) free_held(v[n]);
    }
    free(v);
    return busy;
}

#endif
