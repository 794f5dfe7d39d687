/* Predicted traffic of matrix products against a simulation that moves tuples, and the choice against brute force.
 *
 * The simulation shares no code with the costs: it reads the placements of a plan as algebra.md section 3 says them (a
 * grid of axes; along one that partitions n values, value t is at coordinate floor(t * sites / n)), gives every tuple
 * to sites, and carries each exchange out. The value of a product's block is the set of inner keys that are summed in
 * it, so a plan that forgets a pair, makes one twice, or completes a sum too early is seen as well.
 */
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

static int64_t nblocks(const held *h) {
    int64_t n = 1;
    for (int d = 0; d < h->keys; d++) n *= h->blocks[d];
    return n;
}

static void key_of(const held *h, int64_t t, int64_t *key) {
    for (int d = h->keys - 1; d >= 0; d--) key[d] = t % h->blocks[d], t /= h->blocks[d];
}

static int64_t floats_of(const held *h, int64_t t) {
    int64_t key[3], n = 1;
    key_of(h, t, key);
    for (int d = 0; d < h->keys; d++)
        n *= h->extent[d] ? tra_min64(h->block[d], h->extent[d] - key[d] * h->block[d]) : 1;
    return n;
}

/* An empty copy of what h says of keys and extents. */
static held *new_held(const held *like, bool summed) {
    held *h = tra_calloc(1, sizeof *h);
    *h = *like;
    h->at = tra_calloc((size_t)nblocks(h), sizeof *h->at);
    h->summed = summed ? tra_calloc((size_t)nblocks(h), sizeof *h->summed) : NULL;
    return h;
}

static held matrix(int64_t m, int64_t n, int64_t bm, int64_t bn) {
    return (held){2, {m, n}, {bm, bn}, {(m + bm - 1) / bm, (n + bn - 1) / bn}, NULL, NULL};
}

static void free_held(held *h) {
    free(h->summed);
    free(h->at);
    free(h);
}

/* Coordinate of a site along axis a of the grid of sites, whose numbers are row-major. */
static int coordinate(const tra_placement *p, int site, int a) {
    for (int x = p->naxes - 1; x > a; x--) site /= p->axis[x].sites;
    return site % p->axis[a].sites;
}

/* The sites where a placement has block t, as bits: axis by axis, the sites of the axes so far times those of the
 * next. */
static uint64_t sites_of(const tra_placement *p, const held *h, int64_t t) {
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
static int summand_of(const tra_placement *p, int site) {
    int n = 0;
    for (int a = 0; a < p->naxes; a++) {
        if (p->axis[a].kind == TRA_AXIS_PARTIAL) n = n * p->axis[a].sites + coordinate(p, site, a);
    }
    return n;
}

static int nsummands(const tra_placement *p) {
    int n = 1;
    for (int a = 0; a < p->naxes; a++) n *= p->axis[a].kind == TRA_AXIS_PARTIAL ? p->axis[a].sites : 1;
    return n;
}

/* ---- exchanges ---------------------------------------------------------------------------------------------- */

typedef struct traffic {
    int64_t floats; /* by the model of the TRA paper */
    int64_t bytes;  /* that change site */
} traffic;

/* Brings block t to the sites `to`. The model counts a delivery to each of them and, of summands, one from each. */
static void deliver(const held *in, const tra_placement *from, held *out, int64_t t, uint64_t to, traffic *x) {
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

static held *exchange(const held *in, const tra_placement *from, const tra_placement *to, traffic *total) {
    held *out = new_held(in, in->summed != NULL);
    traffic x = {0};
    for (int64_t t = 0; t < nblocks(in); t++) {
        if (in->at[t]) deliver(in, from, out, t, sites_of(to, in, t), &x);
    }
    if (nsummands(from) == 1 && x.bytes == 0) x.floats = 0; /* already so */
    total->floats += x.floats;
    total->bytes += x.bytes;
    return out;
}

/* ---- the product -------------------------------------------------------------------------------------------- */

/* Every site multiplies the pairs that meet there. *busy gets the sites that had some. */
static held *multiply(const held *l, const held *r, uint64_t *busy) {
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
static held *add_up(const held *pairs, const tra_placement *place) {
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

static held *same(const held *h) {
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
static bool taken_away(const variant *u, int64_t i, int64_t k) { return u->holes && (i + 2 * k) % 3 == 0; }

/* Where a sum stands that is said to be complete, it has all inner keys that A has. */
static bool complete(const held *z, int64_t inner, const variant *u) {
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
static tra_placement declared(const char *at, const held *h, int s) {
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
static held *read_input(const tra_op *o, const product *m, const variant *u) {
    bool left = strcmp(o->what.name, "A") == 0;
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

static held *take_away(const held *from, const variant *u) {
    held *h = same(from);
    for (int64_t t = 0; t < nblocks(h); t++) {
        if (taken_away(u, t / h->blocks[1], t % h->blocks[1])) h->at[t] = 0;
    }
    return h;
}

/* Carries out a plan of the product. Returns the sites that multiply. */
static uint64_t simulate(const tra_plan *p, const product *m, const variant *u, traffic *x) {
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

/* ---- the choice --------------------------------------------------------------------------------------------- */

typedef struct grid {
    int gi, gk, gj;
    int64_t floats;
} grid;

/* Grids gi x gk x gj of s sites that keep as many sites busy as can be: a relation that is partitioned along axes of g
 * sites together has tuples on min(g, tuples) of them. BMM and CMM are (s,1,1), (1,1,s) and (1,s,1). If there is none,
 * those where most sites have work. The products move as gk summands, or as they are if that is less. */
static int all_grids(const product *m, int s, grid *v) {
    int64_t ni = (m->i + m->bi - 1) / m->bi, nk = (m->k + m->bk - 1) / m->bk, nj = (m->j + m->bj - 1) / m->bj, most = 0;
    int n = 0;
    for (int relaxed = 0; relaxed < 2 && n == 0; relaxed++) {
        for (int gi = 1; gi <= s; gi++) {
            for (int gk = 1; gk <= s; gk++) {
                int gj = s / (gi * gk);
                if (gi * gk * gj != s || (gi > 1 && ni == 1) || (gk > 1 && nk == 1) || (gj > 1 && nj == 1)) continue;
                int64_t i = tra_min64(gi, ni), k = tra_min64(gk, nk), j = tra_min64(gj, nj);
                bool kept = i * k >= tra_min64(gi * gk, ni * nk) && k * j >= tra_min64(gk * gj, nk * nj);
                if (!relaxed) most = tra_max64(most, i * k * j);
                if (relaxed ? i * k * j < most : !kept) continue;
                v[n++] = (grid){gi, gk, gj,
                                (gj > 1 ? m->i * m->k * gj : 0) + (gi > 1 ? m->k * m->j * gi : 0) +
                                    (gk > 1 ? m->i * m->j * tra_min64(gk, nk) : 0)};
            }
        }
    }
    return n;
}

/* What it costs to bring an input from where it was declared to a grid, of whose axes it has the two at d. */
static int64_t to_grid(const held *like, const char *at, const int *g, int d, int s) {
    tra_placement from = {.sites = s, .naxes = 1, .axis = {{.kind = TRA_AXIS_COPY, .sites = s}}};
    tra_placement to = {.sites = s, .naxes = 3};
    traffic x = {0};
    if (strcmp(at, "all") != 0) from = declared(at, like, s);
    for (int a = 0; a < 3; a++) {
        int8_t k = (int8_t)(a - d);
        to.axis[a] = (tra_axis){.kind = TRA_AXIS_COPY, .sites = g[a]};
        if (k < 0 || k > 1) continue;
        to.axis[a] =
            (tra_axis){.kind = TRA_AXIS_PART, .sites = g[a], .n = 1, .dim = {k}, .ext = {like->blocks[(int)k]}};
    }
    held *h = new_held(like, false);
    for (int64_t t = 0; t < nblocks(h); t++) h->at[t] = sites_of(&from, h, t);
    free_held(exchange(h, &from, &to, &x));
    free_held(h);
    return x.floats;
}

/* All grids from where the inputs are: the choice is as good, or better where it computes in a placement that none of
 * them has. */
static void check_declared_choice(const tra_plans *plans, const product *m, const variant *u, int s) {
    grid v[512];
    int n = all_grids(m, s, v);
    int64_t best = INT64_MAX;
    held a = matrix(m->i, m->k, m->bi, m->bk), b = matrix(m->k, m->j, m->bk, m->bj);
    for (int x = 0; x < n; x++) {
        int g[3] = {v[x].gi, v[x].gk, v[x].gj};
        int64_t floats = g[1] > 1 ? m->i * m->j * tra_min64(g[1], a.blocks[1]) : 0;
        floats += *u->at[0] ? to_grid(&a, u->at[0], g, 0, s) : g[2] > 1 ? m->i * m->k * g[2] : 0;
        floats += *u->at[1] ? to_grid(&b, u->at[1], g, 1, s) : g[0] > 1 ? m->k * m->j * g[0] : 0;
        best = tra_min64(best, floats);
    }
    /* or one input as it is, though both its keys partition it, the other copied */
    for (int side = 0; side < 2; side++) {
        const char *other = u->at[1 - side];
        if (!strchr(u->at[side], ',')) continue;
        int64_t floats = strcmp(other, "all") == 0 ? 0 : s * (side ? m->i * m->k : m->k * m->j);
        best = tra_min64(best, floats + (a.blocks[1] > 1 ? m->i * m->j * tra_min64(s, a.blocks[1]) : 0));
    }
    if (plans->v[0]->cost.network_floats > (double)best)
        check_report("%d sites: the choice %s moves %.0f floats, the best grid %" PRId64, s, plans->v[0]->strategy,
                     plans->v[0]->cost.network_floats, best);
}

static const char *grid_name(const grid *g, char *buf, size_t n) {
    if ((g->gi > 1) + (g->gk > 1) + (g->gj > 1) > 1)
        snprintf(buf, n, "rmm(%d,%d,%d)", g->gi, g->gk, g->gj);
    else
        snprintf(buf, n, "%s", g->gi > 1 ? "bmm-right" : g->gk > 1 ? "cmm" : "bmm-left");
    return buf;
}

static const tra_plan *of_strategy(const tra_plans *plans, const char *name) {
    for (int i = 0; i < plans->n; i++) {
        if (strcmp(plans->v[i]->strategy, name) == 0) return plans->v[i];
    }
    return NULL;
}

static void check_choice(const tra_plans *plans, const product *m, int s) {
    grid v[512];
    char name[64];
    int n = all_grids(m, s, v);
    int64_t best = INT64_MAX;
    for (int x = 0; x < n; x++) {
        const tra_plan *p = of_strategy(plans, grid_name(&v[x], name, sizeof name));
        best = tra_min64(best, v[x].floats);
        if (!p)
            check_report("%d sites: no alternative is %s", s, name);
        else if (p->cost.network_floats != (double)v[x].floats)
            check_report("%d sites, %s: %.0f floats, not %" PRId64, s, name, p->cost.network_floats, v[x].floats);
    }
    if (n == 0) best = 0;                          /* one pair, on one site */
    if (strcmp(plans->v[0]->strategy, "all") == 0) /* each site does everything, where there is little to do */
        best = tra_min64(best, (m->i * m->k + m->k * m->j) * s);
    if (plans->v[0]->cost.network_floats != (double)best)
        check_report("%d sites: the choice %s moves %.0f floats, the best grid %" PRId64, s, plans->v[0]->strategy,
                     plans->v[0]->cost.network_floats, best);
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

static char *declaration(const char *name, int64_t m, int64_t n, int64_t bm, int64_t bn, const char *at) {
    bool all = strcmp(at, "all") == 0;
    return tra_asprintf("input %s : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]%s%s%s\n", name, m, n, bm,
                        bn,
                        !*at  ? ""
                        : all ? " at "
                              : " at part(",
                        at, !*at || all ? "" : ")");
}

/* All alternatives on s sites. Returns the sites that work in the first. */
static uint64_t check_variant(const product *m, int s, const variant *u) {
    tra_program program;
    tra_plans plans = {0};
    tra_err e = {0};
    static const tra_fixed as_written; /* rules would move the filter to where this simulation does not look for it */
    tra_plan_options o = {.sites = s, .cost = TRA_COST_TRA, .threads = 1, .rates = tra_rates_builtin()};
    if (u->holes) o.fixed = &as_written;
    char *a = declaration("A", m->i, m->k, m->bi, m->bk, u->at[0]);
    char *b = declaration("B", m->k, m->j, m->bk, m->bj, u->at[1]);
    char *text = tra_asprintf("%s%s%sC = agg(join(%s, %s, [1], [0], matmul), [0,2], matadd)\noutput C\n", a,
                              u->square ? "" : b, u->holes ? "L = filter(A, (i,k) -> " HOLES ")\n" : "",
                              u->holes ? "L" : "A", u->square ? "A" : "B");
    uint64_t first = 0;
    int before = check_failures;
    CHECK_OK(tra_program_from_text("test", text, strlen(text), ".", 0, NULL, false, &program, &e), e);
    CHECK_OK(tra_search(program.graph, &o, program.arena, &plans, &e), e);
    CHECK(plans.n > 0);
    for (int i = 0; i < plans.n; i++) {
        const tra_plan *p = plans.v[i];
        traffic x = {0};
        uint64_t busy = simulate(p, m, u, &x);
        if (i == 0) first = busy;
        if (p->cost.network_floats != (double)x.floats || p->cost.network_bytes.bound != x.bytes)
            check_report("%d sites, %s: %.0f floats and %" PRId64 " bytes predicted, %" PRId64 " and %" PRId64 " moved",
                         s, p->strategy, p->cost.network_floats, p->cost.network_bytes.bound, x.floats, x.bytes);
    }
    if (plans.n > 0 && !u->square && !u->holes) {
        if (*u->at[0] || *u->at[1])
            check_declared_choice(&plans, m, u, s);
        else
            check_choice(&plans, m, s);
    }
    if (check_failures > before)
        printf("#   of %" PRId64 " x %" PRId64 " x %" PRId64 " in blocks %" PRId64 ", %" PRId64 ", %" PRId64
               "%s%s, A at '%s', B at '%s'\n",
               m->i, m->k, m->j, m->bi, m->bk, m->bj, u->square ? ", A A" : "", u->holes ? ", holes" : "", u->at[0],
               u->at[1]);
    tra_program_free(&program);
    free(a);
    free(b);
    return first;
}

static uint64_t check_product(const product *m, int s) { return check_variant(m, s, &(variant){.at = {"", ""}}); }

static bool all_day(void) { return getenv("TRA_TEST_LONG") != NULL; }

static const product shapes[] = {
    {64, 64, 64, 4, 4, 4},       /* squares */
    {16, 16, 16, 4, 4, 4},       /* fewer blocks than sites */
    {1000, 10, 1000, 50, 2, 50}, /* skewed: a short, a long inner dimension, a tall and a wide operand */
    {12, 9000, 12, 3, 300, 3},   {5000, 40, 30, 200, 10, 6}, {20, 30, 7000, 5, 6, 200},
    {67, 71, 73, 6, 5, 7},                                                         /* ragged, and primes */
    {13, 17, 11, 1, 1, 1},       {97, 89, 101, 13, 97, 10},  {1, 50, 60, 1, 3, 4}, /* extents of 1 */
    {50, 1, 60, 2, 1, 3},        {50, 60, 1, 3, 2, 1},       {1, 64, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, 1},          {7, 5, 3, 7, 5, 3}, /* few blocks */
    {8, 8, 8, 4, 4, 4},          {9, 4, 6, 3, 2, 6},
};

TEST(products_move_what_was_predicted) {
    for (size_t x = 0; x < sizeof shapes / sizeof *shapes; x++) {
        for (int s = 2; s <= MAXSITES; s++) check_product(&shapes[x], s);
    }
}

/* The same relation on both sides: one partitioning of it is free, the other is not. */
TEST(squares_move_what_was_predicted) {
    static const product v[] = {{48, 48, 48, 4, 4, 4}, {17, 17, 17, 3, 3, 3}, {5, 5, 5, 1, 1, 1}, {6, 6, 6, 6, 6, 6}};
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s++) check_variant(&v[x], s, &(variant){.square = true, .at = {"", ""}});
    }
}

TEST(random_products_move_what_was_predicted) {
    for (int n = all_day() ? 5000 : 150; n > 0; n--) {
        int64_t v[6];
        for (int d = 0; d < 3; d++) {
            int64_t blocks = 1 + check_draw(n % 3 ? 9 : 40);
            v[d + 3] = 1 + check_draw(12);
            v[d] = blocks * v[d + 3] - check_draw(v[d + 3]);
        }
        check_product(&(product){v[0], v[1], v[2], v[3], v[4], v[5]}, 2 + (int)check_draw(63));
    }
}

/* Wherever every label has as many values as there are sites, the first plan leaves no site idle. */
TEST(the_choice_uses_all_sites) {
    static const product v[] = {{64, 64, 64, 1, 1, 1}, {640, 64, 64, 10, 1, 1}, {64, 6400, 64, 1, 100, 1}};
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s += all_day() ? 1 : 7) {
            uint64_t busy = check_product(&v[x], s);
            if (__builtin_popcountll(busy) != s) check_report("%d of %d sites work", __builtin_popcountll(busy), s);
        }
    }
}

/* Inputs that are somewhere already, and A with holes. */
TEST(products_of_placed_inputs_and_holes_move_what_was_predicted) {
    static const product v[] = {
        {35, 22, 27, 3, 4, 5}, {60, 6, 48, 5, 1, 4}, {1, 27, 17, 1, 3, 2}, {64, 64, 3, 2, 1, 3}};
    static const char *const at[] = {"", "all", "0", "1", "0,1"};
    enum { PLACES = sizeof at / sizeof *at };
    for (size_t x = 0; x < sizeof v / sizeof *v; x++) {
        for (int s = 2; s <= MAXSITES; s += all_day() ? 1 : 5) {
            for (int c = 0; c < 2 * PLACES * PLACES; c++)
                check_variant(&v[x], s,
                              &(variant){false, {at[c % PLACES], at[c / PLACES % PLACES]}, c >= PLACES * PLACES});
        }
    }
}
