/* cost.c - what operators cost. */
#include "cost.h"

#include "../../lib/run/needs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- exchanges ---------------------------------------------------------------------------------------------- */

/* Everything to everywhere, each tuple from its one holder; or, the same backwards, a summand of everything from
 * everywhere to the one holder that completes it. one: the placement with one holder. Needs no look at each pair of
 * sites. */
static tra_traffic all_and_one(const tra_placement *one, const tra_catalog *c) {
    int64_t all = tra_catalog_floats(c), most = 0;
    int64_t *held = tra_calloc(2 * (size_t)one->sites, sizeof *held);
    tra_place_floats(one, c, held, held + one->sites);
    for (int s = 0; s < one->sites; s++) most = tra_max64(most, held[s]);
    free(held);
    return (tra_traffic){.moved = all * (one->sites - 1), .most = most * (one->sites - 1)};
}

static bool has_one_holder(const tra_placement *p) { return tra_place_copies(p) == 1 && !tra_place_is_partial(p); }

static tra_traffic exchange(const tra_placement *p, const tra_placement *q, const tra_catalog *c, bool exact) {
    tra_traffic t = {0};
    int64_t in, out = 0;
    double f = (double)tra_catalog_floats(c), copies = tra_place_copies(q), summands = tra_place_summands(p);
    if (tra_place_is_all(q) && has_one_holder(p)) {
        t = all_and_one(p, c);
    } else if (summands == p->sites && has_one_holder(q)) {
        t = all_and_one(q, c);
    } else if (!tra_place_is_all(p)) {
        if (exact) t.moved = tra_place_moved_floats(p, q, c, &in, &out), t.most = tra_max64(in, out);
        if (!exact) t.moved = tra_place_moved_about(p, q, c, &t.most);
    }
    if (summands > 1)
        t.floats = summands * f + (copies > 1 ? copies * f : 0);
    else if (t.moved > 0)
        t.floats = copies * f;
    return t;
}

tra_traffic tra_traffic_exchange(const tra_placement *p, const tra_placement *q, const tra_catalog *c) {
    return exchange(p, q, c, true);
}

tra_traffic tra_traffic_estimate(const tra_placement *p, const tra_placement *q, const tra_catalog *c) {
    return exchange(p, q, c, false);
}

/* ---- work --------------------------------------------------------------------------------------------------- */

static tra_work share(double *sites, int n, double total) {
    tra_work w = {.total = total};
    for (int s = 0; s < n; s++) w.busiest = sites[s] > w.busiest ? sites[s] : w.busiest;
    free(sites);
    return w;
}

/* Adds work of the tuple (or of all tuples alike) to the sites that hold it. */
static void add_work(const tra_placement *p, const tra_catalog *c, int64_t t, const tra_dims *key, double work,
                     double *sites, int *holders, double *total) {
    int n = tra_place_holders(p, c, t, key, holders);
    for (int i = 0; i < n; i++) sites[holders[i]] += work;
    *total += n * work;
}

enum { LISTED = 1 << 18 }; /* lists up to so long are placed tuple by tuple */

/* A list too long to place for each candidate: its work spread evenly, by the mean over LISTED tuples. */
static tra_work spread(const tra_placement *p, double total) {
    double copies = tra_place_copies(p);
    return (tra_work){total * copies, total * copies / p->sites};
}

tra_work tra_work_each(const tra_kernel *k, tra_kernel_use use, const tra_catalog *c, const tra_placement *p) {
    double total = 0, *sites = tra_calloc((size_t)p->sites, sizeof *sites);
    int *holders = tra_malloc((size_t)p->sites * sizeof *holders);
    tra_dims ext, key;
    tra_cells x;
    int64_t t, alike;
    if (!c->grid || p->owner) {
        bool place = p->owner || c->n <= LISTED;
        for (t = 0; t < c->n; t++) {
            tra_catalog_ext(c, t, &ext);
            double work = tra_kernel_flops(k, use, &ext, NULL);
            if (place)
                tra_catalog_key(c, t, &key), add_work(p, c, t, &key, work, sites, holders, &total);
            else
                total += work;
        }
        free(holders);
        if (place) return share(sites, p->sites, total);
        free(sites);
        return spread(p, total);
    }
    tra_cells_begin(&x, c, p, NULL);
    while (tra_cells_next(&x, &t, &key, &alike)) {
        tra_catalog_ext(c, t, &ext);
        add_work(p, c, t, &key, (double)alike * tra_kernel_flops(k, use, &ext, NULL), sites, holders, &total);
    }
    tra_cells_end(&x);
    free(holders);
    return share(sites, p->sites, total);
}

/* The keys of L and R that meet at an output key. */
static void split_key(const tra_labels *x, const tra_dims *out, tra_dims *l, tra_dims *r) {
    for (int i = 0; i < x->n; i++) {
        const tra_label *b = &x->v[i];
        if (b->l >= 0) l->v[(int)b->l] = out->v[(int)b->out];
        if (b->r >= 0) r->v[(int)b->r] = out->v[(int)b->out];
    }
}

static double pair_flops(const tra_kernel *k, const tra_catalog *l, const tra_catalog *r, const tra_dims *kl,
                         const tra_dims *kr) {
    tra_dims a, b;
    int64_t tl = tra_catalog_find(l, kl), tr = tra_catalog_find(r, kr);
    assert(tl >= 0 && tr >= 0);
    tra_catalog_ext(l, tl, &a);
    tra_catalog_ext(r, tr, &b);
    return tra_kernel_flops(k, TRA_USE_JOIN, &a, &b);
}

tra_work tra_work_join(const tra_kernel *k, const tra_labels *x, const tra_catalog *l, const tra_catalog *r,
                       const tra_catalog *out, const tra_placement *place) {
    double total = 0, *sites = tra_calloc((size_t)place->sites, sizeof *sites);
    int *holders = tra_malloc((size_t)place->sites * sizeof *holders);
    tra_dims kl = {.n = l->frontier.n}, kr = {.n = r->frontier.n}, key;
    tra_cells cells;
    int64_t t, alike;
    if (!l->grid || !r->grid || !out->grid || place->owner) {
        bool each = place->owner || out->n <= LISTED;
        for (t = 0; t < out->n; t++) {
            tra_catalog_key(out, t, &key);
            split_key(x, &key, &kl, &kr);
            double work = pair_flops(k, l, r, &kl, &kr);
            if (each)
                add_work(place, out, t, &key, work, sites, holders, &total);
            else
                total += work;
        }
        free(holders);
        if (each) return share(sites, place->sites, total);
        free(sites);
        return spread(place, total);
    }
    tra_cells_begin(&cells, out, place, NULL); /* the last value of L or of R is the last here, or not reached */
    while (tra_cells_next(&cells, &t, &key, &alike)) {
        split_key(x, &key, &kl, &kr);
        add_work(place, out, t, &key, (double)alike * pair_flops(k, l, r, &kl, &kr), sites, holders, &total);
    }
    tra_cells_end(&cells);
    free(holders);
    return share(sites, place->sites, total);
}

/* ---- time --------------------------------------------------------------------------------------------------- */

/* Of what overlaps with something slower this part still shows: the first load, the last store, cores that are
 * shared. */
static const double UNHIDDEN = 0.1;

static double overlapped(double a, double b, double unhidden) { return a > b ? a + unhidden * b : b + unhidden * a; }

/* Conservative figures of one site with one thread, for a machine that was not calibrated: AVX2 at about 3.5 GHz
 * reaches 60 Gflop/s in f64 contractions on blocks of 512 or more, 10 GbE or shared memory at least 1.2 GB/s, a
 * solid-state disk 1.5 GB/s buffered and durable, cold reads 2 GB/s; nothing of an exchange is hidden by work beside
 * it. */
tra_rates tra_rates_builtin(void) {
    return (tra_rates){.network = 1.2e9,
                       .disk_read = 2.0e9,
                       .disk_write = 1.5e9,
                       .flops_f64 = 5.0e10,
                       .flops_f32 = 1.0e11,
                       .memory = 6.0e9,
                       .unhidden = 1};
}

bool tra_rates_known(const tra_rates *r) {
    return r->disk_read > 0 && r->disk_write > 0 && r->flops_f64 > 0 && r->flops_f32 > 0 && r->memory > 0;
}

double tra_work_seconds(const tra_kernel *k, tra_dtype t, double busiest, const tra_rates *rates) {
    size_t size = tra_dtype_size(t);
    if (k && (tra_kernel_props(k) & TRA_P_CONTRACTION)) {
        enum { SLOWER = 4 }; /* integers, which BLAS gets converted where it gets them */
        bool blas = tra_dtype_rows[t].blas;
        return blas ? busiest / (size == 4 ? rates->flops_f32 : rates->flops_f64) : SLOWER * busiest / rates->flops_f64;
    }
    return busiest * (double)size / rates->memory;
}

double tra_map_passes(const tra_catalog *in, const tra_catalog *out) {
    return tra_catalog_floats(out) < tra_catalog_floats(in) / 2 ? 1.0 / 3 : 1;
}

/* Of the sums of a tree but one, which sums on one site alone would not need: read, and added to another that is read
 * and written. */
static double tree_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    enum { PASSES = 3 };
    tra_tree t = tra_op_tree(p, op);
    double bytes = (double)tra_type_bytes_all(&op->type).expected;
    return PASSES * (double)(tra_max64(1, tra_min64(t.leaves, t.n)) - 1) * bytes / p->sites / rates->memory;
}

/* The operator while which each runs: itself, or the reader of what is computed on the way, or what makes the results
 * that an output writes. */
static int *runs_in(const tra_plan *p) {
    int *at = tra_malloc(((size_t)p->nops + 1) * sizeof *at);
    for (int i = 0; i < p->nops; i++) {
        int in = p->ops[i].in[0];
        at[i] = p->ops[i].op == TRA_PLAN_OUTPUT && !tra_op_is_read(&p->ops[in]) ? in : i;
    }
    for (int j = p->nops - 1; j >= 0; j--) {
        for (int k = 0; k < 2; k++) {
            int i = p->ops[j].in[k];
            if (i >= 0 && p->ops[i].orders.fused) at[i] = at[j];
        }
    }
    return at;
}

void tra_plan_seconds(tra_plan *p, const tra_rates *rates) {
    enum { NETWORK, DISK, WORK, PARTS };
    double(*spent)[PARTS] = tra_calloc((size_t)p->nops, sizeof *spent); /* of the stage that ends here */
    int *at = runs_in(p);
    p->cost.seconds = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const tra_cost *c = &o->predicted.cost;
        double *s = spent[at[i]], work = c->flops_max;
        if (o->op == TRA_PLAN_MAP) work *= tra_map_passes(p->ops[o->in[0]].type.cat, o->type.cat);
        s[NETWORK] += c->seconds; /* so far: those of the network alone */
        s[DISK] +=
            ((double)c->disk_read.expected / rates->disk_read + (double)c->disk_write.expected / rates->disk_write) /
            p->sites;
        s[WORK] += tra_work_seconds(o->what.join, o->type.dtype, work, rates) + tree_seconds(p, o, rates);
        /* memory is touched for the first time when more is held than ever before */
        if (rates->touch > 0 && i > 0)
            s[WORK] += (double)(c->peak_memory - p->ops[i - 1].predicted.cost.peak_memory) / rates->touch;
    }
    free(at);
    /* an exchange reads and sends at once, and ends before what comes next begins, or goes on beside it: then its time,
     * which is its own, is also in that */
    for (int i = 0; i < p->nops; i++) {
        int other = tra_op_flows(&p->ops[i]) ? p->ops[i].orders.ends : p->ops[i].orders.begins;
        for (int k = 0; k < PARTS && other != i; k++) spent[other][k] += spent[i][k];
    }
    for (int i = 0; i < p->nops; i++) {
        p->ops[i].predicted.cost.seconds =
            overlapped(overlapped(spent[i][WORK], spent[i][DISK], UNHIDDEN), spent[i][NETWORK], rates->unhidden);
        if (p->ops[i].orders.begins == p->ops[i].orders.ends) p->cost.seconds += p->ops[i].predicted.cost.seconds;
    }
    free(spent);
}

static const char *const models[] = {"time", "tra", "eindecomp"};

const char *tra_cost_model_text(tra_cost_model m) { return models[m]; }

bool tra_cost_model_parse(const char *s, tra_cost_model *m) {
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++) {
        if (strcmp(s, models[i]) == 0) return *m = (tra_cost_model)i, true;
    }
    return false;
}

double tra_cost_scalar(const tra_cost *c, tra_cost_model model) {
    switch (model) {
    case TRA_COST_TRA: return c->network_floats;
    case TRA_COST_TIME: return c->seconds;
    case TRA_COST_EINDECOMP: return c->eindecomp;
    }
    return 0;
}
