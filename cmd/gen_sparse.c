/* gen_sparse.c - which elements of a made tensor are entries.
 *
 * Each block is made alone, and entries do not depend on the blocks: what is drawn is keyed by its place in the tensor.
 * uniform: the tensor is divided into cells, boxes of powers of two of some 32 entries, as near to cubes as can be,
 * so that blocks of any form meet few cells that they share with others; in a cell one entry follows the other at
 * geometric distances. rmat: the edges of the whole matrix are divided among its quarters, those of each quarter among
 * its quarters, by binomial draws; few edges are led down one by one. Edges that meet are one entry. */
#include "gen_sparse.h"

#include "../formats/entries.h"
#include "../lib/dense/gen_values.h"

#include <math.h>
#include <string.h>

/* A stream of draws. */
typedef struct draws {
    uint64_t key, counter;
} draws;

static draws draws_of(uint64_t seed, uint64_t place) {
    return (draws){.key = gen_mix(place * 0x9e3779b97f4a7c15u + 1) ^ gen_mix(seed + 0xbf58476d1ce4e5b9u)};
}

static uint64_t draw(draws *d) { return gen_mix(d->key + 0x9e3779b97f4a7c15u * ++d->counter); }

/* In (0, 1]. */
static double draw_real(draws *d) { return (double)((draw(d) >> 11) + 1) * 0x1p-53; }

static void add(gen_items *out, uint64_t place) {
    if (out->n == out->cap) {
        out->full = true;
        return;
    }
    out->v[out->n++] = (tra_item){.place = place};
}

/* The coordinates are inside the block: adds the entry there; else nothing. */
static void add_at(const tra_dims *from, const tra_dims *ext, const tra_dims *at, gen_items *out) {
    uint64_t place = 0;
    for (int d = 0; d < at->n; d++) {
        int64_t i = at->v[d] - from->v[d];
        if (i < 0 || i >= ext->v[d]) return;
        place = place * (uint64_t)ext->v[d] + (uint64_t)i;
    }
    add(out, place);
}

/* ---- uniform --------------------------------------------------------------------------------------------------- */

static double elements_of(const tra_dims *d) {
    double n = 1;
    for (int i = 0; i < d->n; i++) n *= (double)d->v[i];
    return n;
}

static void choose_cells(gen_pattern *p) {
    enum { GOOD = 32 };
    p->cell.n = p->shape.n;
    for (int d = 0; d < p->cell.n; d++) p->cell.v[d] = 1;
    while (elements_of(&p->cell) * p->density < GOOD && elements_of(&p->cell) < 0x1p60) {
        int least = -1;
        for (int d = p->cell.n - 1; d >= 0; d--)
            if (p->cell.v[d] < p->shape.v[d] && (least < 0 || p->cell.v[d] < p->cell.v[least])) least = d;
        if (least < 0) return;
        p->cell.v[least] *= 2;
    }
}

static void draw_cell(const gen_pattern *p, const tra_dims *cells, const tra_dims *cell, const tra_dims *from,
                      const tra_dims *ext, gen_items *out) {
    draws r = draws_of(p->seed, (uint64_t)tra_linear(cells, cell));
    double n = elements_of(&p->cell), log_none = log1p(-p->density), at = -1;
    tra_dims place;
    for (;;) {
        at += p->density < 1 ? 1 + floor(log(draw_real(&r)) / log_none) : 1;
        if (!(at < n)) return;
        tra_unlinear(&p->cell, (int64_t)at, &place);
        bool inside = true;
        for (int d = 0; d < place.n; d++) {
            place.v[d] += cell->v[d] * p->cell.v[d];
            inside &= place.v[d] < p->shape.v[d];
        }
        if (inside) add_at(from, ext, &place, out);
    }
}

static void uniform(const gen_pattern *p, const tra_dims *from, const tra_dims *ext, gen_items *out) {
    tra_dims cells = {.n = p->shape.n}, first = cells, met = cells, i = {.n = p->shape.n};
    if (p->density <= 0) return;
    for (int d = 0; d < cells.n; d++) {
        cells.v[d] = tra_ceil_div(p->shape.v[d], p->cell.v[d]);
        first.v[d] = from->v[d] / p->cell.v[d];
        met.v[d] = (from->v[d] + ext->v[d] - 1) / p->cell.v[d] - first.v[d] + 1;
    }
    do {
        tra_dims cell = first;
        for (int d = 0; d < cell.n; d++) cell.v[d] += i.v[d];
        draw_cell(p, &cells, &cell, from, ext, out);
    } while (tra_next(&met, &i));
}

/* ---- rmat ------------------------------------------------------------------------------------------------------ */

/* Of the quarters of a matrix: above left, above right, below left, below right. As Graph500 has them. */
static const double QUARTER[4] = {0.57, 0.19, 0.19, 0.05};

static double log_factorial(double n) {
    int sign;
    return lgamma_r(n + 1, &sign);
}

/* How many of n are drawn with probability p, exactly distributed: by inversion where few are, else by the transformed
 * rejection of Hoermann (1993, BTRS). */
static int64_t binomial(draws *r, int64_t n, double p) {
    if (p > 0.5) return n - binomial(r, n, 1 - p);
    double q = 1 - p, mean = (double)n * p;
    if (mean < 10) {
        int64_t k = 0;
        double log_q = log(q), at = 0; /* distances between those that are drawn are geometric */
        for (;; k++) {
            at += 1 + floor(log(draw_real(r)) / log_q);
            if (at > (double)n) return k;
        }
    }
    double s = sqrt(mean * q), b = 1.15 + 2.53 * s, a = -0.0873 + 0.0248 * b + 0.01 * p, c = mean + 0.5;
    double vr = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * s, lpq = log(p / q), m = floor((double)(n + 1) * p);
    double h = log_factorial(m) + log_factorial((double)n - m);
    for (;;) {
        double u = draw_real(r) - 0.5, v = draw_real(r), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > (double)n) continue;
        if (us >= 0.07 && v <= vr) return (int64_t)k;
        v = log(v * alpha / (a / (us * us) + b));
        if (v <= h - log_factorial(k) - log_factorial((double)n - k) + (k - m) * lpq) return (int64_t)k;
    }
}

typedef struct box {
    int64_t r0, r1, c0, c1;
} box;

typedef struct rmat {
    const gen_pattern *p;
    const tra_dims *from, *ext;
    gen_items *out;
} rmat;

/* One edge, down to its element. */
static void lead_down(const rmat *m, box b, draws *r) {
    while (b.r1 - b.r0 > 1 || b.c1 - b.c0 > 1) {
        double x = draw_real(r);
        int64_t row = b.r0 + (b.r1 - b.r0 + 1) / 2, col = b.c0 + (b.c1 - b.c0 + 1) / 2;
        int q = x <= QUARTER[0] ? 0 : x <= QUARTER[0] + QUARTER[1] ? 1 : x <= 1 - QUARTER[3] ? 2 : 3;
        if (b.r1 - b.r0 > 1) *(q < 2 ? &b.r1 : &b.r0) = row;
        if (b.c1 - b.c0 > 1) *(q % 2 == 0 ? &b.c1 : &b.c0) = col;
    }
    add_at(m->from, m->ext, &(tra_dims){.n = 2, .v = {b.r0, b.c0}}, m->out);
}

static void divide(const rmat *m, box b, int64_t n, uint64_t key) {
    enum { FEW = 16 };
    const int64_t *from = m->from->v, *ext = m->ext->v;
    if (n == 0 || b.r1 <= from[0] || b.r0 >= from[0] + ext[0] || b.c1 <= from[1] || b.c0 >= from[1] + ext[1]) return;
    draws r = draws_of(m->p->seed, key);
    bool rows = b.r1 - b.r0 > 1, cols = b.c1 - b.c0 > 1;
    if (!rows && !cols) {
        add_at(m->from, m->ext, &(tra_dims){.n = 2, .v = {b.r0, b.c0}}, m->out);
        return;
    }
    if (n <= FEW) {
        for (int64_t i = 0; i < n; i++) lead_down(m, b, &r);
        return;
    }
    double above = QUARTER[0] + QUARTER[1], left = QUARTER[0] + QUARTER[2];
    int64_t row = rows ? b.r0 + (b.r1 - b.r0 + 1) / 2 : b.r1, col = cols ? b.c0 + (b.c1 - b.c0 + 1) / 2 : b.c1;
    int64_t na = rows ? binomial(&r, n, above) : n, nb = n - na;
    int64_t nal = !cols ? na : binomial(&r, na, rows ? QUARTER[0] / above : left);
    int64_t nbl = !cols ? nb : nb > 0 ? binomial(&r, nb, QUARTER[2] / (1 - above)) : 0;
    uint64_t below = gen_mix(key + 0x632be59bd9b4e019u); /* of the quarters: another key each */
    divide(m, (box){b.r0, row, b.c0, col}, nal, below);
    divide(m, (box){b.r0, row, col, b.c1}, na - nal, below + 1);
    divide(m, (box){row, b.r1, b.c0, col}, nbl, below + 2);
    divide(m, (box){row, b.r1, col, b.c1}, nb - nbl, below + 3);
}

/* ---- band and diagonal ----------------------------------------------------------------------------------------- */

static bool kept(const gen_pattern *p, const tra_dims *at) {
    if (p->density >= 1) return true;
    draws r = draws_of(p->seed, (uint64_t)tra_linear(&p->shape, at));
    return draw_real(&r) <= p->density;
}

static void band(const gen_pattern *p, const tra_dims *from, const tra_dims *ext, gen_items *out) {
    for (int64_t i = from->v[0]; i < from->v[0] + ext->v[0]; i++) {
        int64_t j = tra_max64(from->v[1], i - tra_min64(i, p->width));
        int64_t end = tra_min64(from->v[1] + ext->v[1], tra_add_most(i, p->width + 1));
        for (; j < end; j++) {
            tra_dims at = {.n = 2, .v = {i, j}};
            if (kept(p, &at)) add_at(from, ext, &at, out);
        }
    }
}

static void diagonal(const gen_pattern *p, const tra_dims *from, const tra_dims *ext, gen_items *out) {
    for (int64_t i = from->v[0]; i < from->v[0] + ext->v[0]; i++) {
        tra_dims at = {.n = from->n};
        bool inside = true;
        for (int d = 0; d < at.n; d++) {
            at.v[d] = i;
            inside &= i >= from->v[d] && i < from->v[d] + ext->v[d];
        }
        if (inside && kept(p, &at)) add_at(from, ext, &at, out);
    }
}

/* ---- the pattern ----------------------------------------------------------------------------------------------- */

tra_status gen_pattern_init(gen_pattern *p, tra_err *e) {
    static const char *const names[] = {"uniform", "rmat", "band", "diag"};
    int r = p->shape.n;
    if (r < 1 || ((p->kind == GEN_RMAT || p->kind == GEN_BAND) && r != 2) || (p->kind == GEN_DIAG && r < 2))
        return tra_fail(e, TRA_USAGE, "--pattern %s is of %s, and --shape has %d dimension%s", names[p->kind],
                        p->kind == GEN_UNIFORM ? "one dimension or more"
                        : p->kind == GEN_DIAG  ? "two dimensions or more"
                                               : "two dimensions",
                        r, r == 1 ? "" : "s");
    if (p->kind == GEN_UNIFORM) choose_cells(p);
    p->edges = (int64_t)llround(p->density * elements_of(&p->shape));
    return TRA_OK;
}

static double expected_entries(const gen_pattern *p) {
    double n = elements_of(&p->shape), least = p->shape.n ? (double)p->shape.v[0] : 1;
    for (int d = 0; d < p->shape.n; d++) least = fmin(least, (double)p->shape.v[d]);
    switch (p->kind) {
    case GEN_BAND: return fmin(n, p->density * least * (2 * (double)p->width + 1));
    case GEN_DIAG: return p->density * least;
    default: return p->density * n;
    }
}

/* The largest share of the edges that lies in n of `all` rows (or columns): those that come first. */
static double share(int64_t n, int64_t all) {
    double s = 1;
    for (; all > 1 && n <= all / 2; all = (all + 1) / 2) s *= QUARTER[0] + QUARTER[1];
    return s;
}

int64_t gen_bound(const gen_pattern *p, const tra_dims *block) {
    double n = elements_of(block), mean = 0, rows = block->n ? (double)block->v[0] : 1;
    switch (p->kind) {
    case GEN_UNIFORM: mean = p->density * n; break;
    case GEN_RMAT:
        mean = (double)p->edges * share(block->v[0], p->shape.v[0]) * share(block->v[1], p->shape.v[1]);
        break;
    case GEN_BAND: mean = fmin(n, rows * fmin((double)block->v[1], 2 * (double)p->width + 1)); break;
    case GEN_DIAG: mean = rows; break;
    }
    double most = mean + 8 * sqrt(mean) + 64;
    if (p->kind != GEN_RMAT) most = fmin(most, n); /* of rmat, before edges that meet are one */
    return most < 0x1p62 ? (int64_t)most + 1 : INT64_MAX / 2;
}

static int64_t most_drawn(const void *ctx, const tra_dims *block) { return gen_bound(ctx, block); }

void gen_block(const gen_pattern *p, bool crowded, tra_dims *block) {
    tra_block_for_entries(&p->shape, (int64_t)ceil(expected_entries(p)), crowded, most_drawn, p, block);
}

void gen_entries(const gen_pattern *p, const tra_dims *from, const tra_dims *ext, gen_items *out) {
    rmat m = {.p = p, .from = from, .ext = ext, .out = out};
    out->n = 0;
    out->full = false;
    for (int d = 0; d < ext->n; d++)
        if (ext->v[d] == 0) return;
    switch (p->kind) {
    case GEN_UNIFORM: uniform(p, from, ext, out); break;
    case GEN_RMAT: divide(&m, (box){0, p->shape.v[0], 0, p->shape.v[1]}, p->edges, 1); break;
    case GEN_BAND: band(p, from, ext, out); break;
    case GEN_DIAG: diagonal(p, from, ext, out); break;
    }
}
