/* seconds.c - how long operators and plans take, at the rates of a machine. */
#include "cost.h"

#include "../../lib/kernel/rows_cut.h"
#include "../../lib/physical/needs.h"
#include "../../lib/physical/scan.h"
#include "../lang/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The time of two things that overlap. A part of the faster one still shows: the first load, the last store, and cores
 * that both need. */
static double overlapped(double a, double b, double unhidden) { return a > b ? a + unhidden * b : b + unhidden * a; }

/* Conservative figures of one site with one thread, for a machine that was not calibrated: AVX2 at about 3.5 GHz
 * reaches 60 Gflop/s in f64 contractions on blocks of 512 or more, 10 GbE or shared memory at least 1.2 GB/s, a
 * solid-state disk 1.5 GB/s buffered and durable, cold reads 2 GB/s; work that runs meanwhile makes no exchange seem
 * shorter. */
tra_rates tra_rates_builtin(void) {
    return (tra_rates){.network = 1.2e9,
                       .disk_read = 2.0e9,
                       .disk_write = 1.5e9,
                       .flops_f64 = 5.0e10,
                       .flops_f32 = 1.0e11,
                       .memory = 6.0e9,
                       .network_unhidden = 1,
                       .disk_unhidden = 0.1};
}

tra_rates tra_rates_interpreted(tra_rates r, int threads) {
    enum { STEPS = 20000000 }; /* of whatever kind, in a second */
    r.interpreted = (double)STEPS * threads;
    return r;
}

static const size_t needed[] = {offsetof(tra_rates, disk_read), offsetof(tra_rates, disk_write),
                                offsetof(tra_rates, flops_f64), offsetof(tra_rates, flops_f32),
                                offsetof(tra_rates, memory)};
enum { NEEDED = sizeof needed / sizeof *needed };

bool tra_rate_is_needed(size_t member) {
    bool is = false;
    for (int i = 0; i < NEEDED; i++) is |= needed[i] == member;
    return is;
}

bool tra_rates_known(const tra_rates *r) {
    bool all = true;
    for (int i = 0; i < NEEDED; i++) all &= *(const double *)((const char *)r + needed[i]) > 0;
    return all;
}

tra_storel_costs tra_rates_kernels(const tra_rates *r, int threads) {
    double n = threads > 1 ? threads : 1, steps = r->interpreted / n;
    if (steps > 0) return tra_storel_costs_at(&(tra_storel_rates){steps, steps, steps, steps, steps, steps});
    return tra_storel_costs_at(&(tra_storel_rates){r->entries / n, r->gathers / n, r->inserts / n, r->merges / n,
                                                   r->hashes / n, r->operations / n});
}

double tra_network_seconds(const tra_rates *rates, double most, double both) {
    double one_way = rates->one_way > rates->network ? rates->one_way : rates->network;
    return (most - both) / one_way + both / rates->network;
}

/* How many times longer a product takes than its operations by BLAS do at their best: narrow operands are packed for a
 * few operations on each element, and those of a vector take as long as they are read. 1 where nothing is narrow.
 * flops, memory: rates; size, larger: bytes of an element of the result, and of the operand that has more. */
static double narrowness(const tra_kernel *k, const tra_dims *a, const tra_dims *b, double flops, double memory,
                         size_t size, size_t larger) {
    enum { CONVERTED = 14 }; /* bytes in whose time an element is read and becomes an f64, as a vector has its sums */
    /* operations in whose time an element gets ready for them; of blocks of SIDE rates tell; kernels of their own
     * serve where all is very narrow */
    static const double PACKED = 40, SIDE = 1000, NARROWEST = 5;
    static const double PASS = 2.7; /* elements that are read while a pass reads two and writes one */
    tra_product p;
    double m[2][2] = {{1, 1}, {1, 1}}; /* extents of the labels of the left operand alone, and of the right one, ... */
    if (!tra_kernel_is_product(k, a, b, &p)) return 1; /* ... of those that are summed; and of those of all three */
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < p.rank[o]; d++) {
            bool kept = memchr(p.out, p.in[o][d], (size_t)p.nout) != NULL;
            bool both = memchr(p.in[1 - o], p.in[o][d], (size_t)p.rank[1 - o]) != NULL;
            if (!both || !o) m[both || !kept][both ? kept : kept * o] *= (double)(o ? b : a)->v[d];
        }
    double left = m[0][0], right = m[0][1], summed = m[1][0];
    double moved = left * summed + right * summed + left * right;
    bool vector = fmin(left, fmin(right, summed)) <= 1;
    double each = vector && larger < sizeof(double) ? CONVERTED : (double)size;
    double times = moved / PASS / (2 * fmax(1, left * right * summed)) * flops * each / memory;
    if (!vector)
        times =
            fmax(times, fmin(NARROWEST, (1 + PACKED * (1 / left + 1 / right + 1 / summed)) / (1 + 3 * PACKED / SIDE)));
    return fmax(1, times);
}

double tra_expected_of(const tra_type *t) {
    return t->bounded && t->entries ? (double)t->entries->all.expected : (double)tra_catalog_elements(t->cat);
}

double tra_step_seconds(const tra_rates *r) {
    enum { BYTES = 20 }; /* of results of passes that take as long, where nothing was measured */
    return fmax(1, r->threads) * (r->merges > 0 ? 1 / r->merges : BYTES / r->memory);
}

double tra_miss_seconds(const tra_rates *r) {
    static const double MISS = 1.7e-7; /* where nothing was measured */
    return r->follows > 0 ? fmax(1, r->threads) / r->follows : MISS;
}

double tra_work_seconds(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_type *out, double busiest,
                        const tra_rates *rates) {
    static const double GATHERS = 5;   /* gathers take as long as an operation on an entry; threads share them out */
    static const double COMPUTED = 85; /* operations of a product are done while a pass computes */
    static const double ROWS = 0.37;   /* steps of a pass over rows of tables */
    tra_dtype t = out->dtype;
    size_t size = tra_dtype_size(t);
    double pace = k ? tra_kernel_pace(k) : 0;
    bool paced = rates->entries > 0 || rates->interpreted > 0; /* else by what is known of the machine */
    if (pace > 0) return busiest * pace * 1e-9 * (paced ? 1 : tra_rates_builtin().memory / rates->memory);
    bool held = tra_is_held(l) || (r && tra_is_held(r));
    double share = k ? tra_kernel_lapack_share(k, &l->cat->bound) : 0; /* in f64, whatever the operands are */
    if (share > 0) return busiest / (share * rates->flops_f64);
    if (k && !held && (tra_kernel_props(k) & TRA_P_CONTRACTION)) {
        enum { SLOWER = 2 }; /* than BLAS: integers, which run by loops or are converted for BLAS */
        bool blas = tra_dtype_rows[t].blas;
        double rate = !blas ? rates->flops_f64 / SLOWER : size == 4 ? rates->flops_f32 : rates->flops_f64;
        size_t larger = tra_dtype_size(!r || tra_expected_of(l) > tra_expected_of(r) ? l->dtype : r->dtype);
        double times = r ? narrowness(k, &l->cat->bound, &r->cat->bound, rate, rates->memory, size, larger) : 1;
        return times * busiest / rate;
    }
    const tra_type *in[2] = {l, r};
    for (int i = 0; i < 2 && !held; i++) /* what is compared is larger than what tells how it was */
        if (in[i] &&
            tra_dtype_size(in[i]->dtype) + tra_dtype_is_float(in[i]->dtype) > tra_dtype_size(t) + tra_dtype_is_float(t))
            t = in[i]->dtype;
    bool rows = k && tra_kernel_rows(k);
    double each = (double)tra_dtype_size(t) / rates->memory;
    if (rows) each = ROWS * tra_step_seconds(rates) / fmax(1, rates->threads);
    if (held && r && k && !rows && rates->gathers > 0) each = fmax(each, GATHERS / rates->gathers);
    double read = tra_expected_of(l), written = tra_expected_of(out);
    const tra_dims *a = &l->cat->bound, *b = r ? &r->cat->bound : NULL;
    tra_passes n = tra_kernel_passes(k, held, t, a, b, r ? 1 : fmin(1, written / read));
    return busiest * (each * n.moved + COMPUTED / rates->flops_f64 * n.computed);
}

/* Seconds for adding up the sums of a tree: each but one is read and added to another, which is read and written. */
static double tree_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    enum { PASSES = 3 };
    tra_tree t = tra_op_tree(p, op);
    double bytes = (double)tra_type_bytes_all(&op->type).expected;
    return PASSES * (double)(tra_max64(1, tra_min64(t.leaves, t.n)) - 1) * bytes / p->sites / rates->memory;
}

/* How many pairs of blocks meet in a join by these keys of the left operand. */
static double pairs_by(const tra_type *l, const tra_type *r, const tra_dims *met) {
    double pairs = (double)l->cat->n * (double)r->cat->n;
    for (int i = 0; i < met->n; i++) pairs /= (double)tra_max64(1, l->cat->frontier.v[met->v[i]]);
    return pairs;
}
static double pairs_of(const tra_plan *p, const tra_op *op) {
    return pairs_by(&p->ops[op->in[0]].type, &p->ops[op->in[1]].type, &op->spec.joinl);
}

/* Seconds for sums of stored arrays that are held by their entries: with each term but the first a new block is made of
 * the term and the sum as it was, which on average is half of all. Rows are merged twice, to count and to add. PASSES:
 * of eight blocks that took some fifteen times as long as folding each before they are added up densely. */
static double growth_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    enum { PASSES = 12 };
    bool join = op->op == TRA_PLAN_JOINAGG && tra_kernel_pace(op->spec.join) > 0; /* others add their terms at once */
    const tra_op *in = join || op->op == TRA_PLAN_AGG ? &p->ops[op->in[0]] : NULL;
    if (!in || !tra_op_grows(op)) return 0;
    bool composed = !op->spec.partial && tra_kernel_rest(op->spec.agg); /* a map of the sum, which is as large as all */
    double bytes = (double)tra_type_bytes_all(composed && !join ? &in->type : &op->type).expected;
    double terms = join ? pairs_of(p, op) : (double)in->type.cat->n;
    terms /= (double)tra_max64(1, op->type.cat->n) * tra_place_summands(&op->place);
    return PASSES * fmax(0, terms - 1) / 2 * bytes / p->sites / rates->memory;
}

/* Seconds for dense terms of a sum that their kernel does not add up itself: each is folded into a state, which is
 * filled before and becomes the result after. KEPT: bytes that malloc keeps; of more each term has new pages. */
static double state_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    enum { KEPT = 32 << 20 };
    const tra_kernel *k = op->spec.join;
    tra_dims ext;
    if (op->op != TRA_PLAN_JOINAGG || op->type.columns || tra_is_held(&op->type) || tra_kernel_pace(k) > 0) return 0;
    const tra_dims *a = &p->ops[op->in[0]].type.cat->bound, *b = &p->ops[op->in[1]].type.cat->bound;
    if (tra_kernel_fuses(k, op->spec.agg) || tra_kernel_shape2(k, a, b, a, b, &ext, NULL, NULL) != TRA_OK) return 0;
    double bytes = (double)tra_dtype_size(tra_op_state_dtype(p, op));
    for (int d = 0; d < ext.n; d++) bytes *= (double)ext.v[d];
    double terms = pairs_of(p, op);
    double fresh = bytes > KEPT && rates->touch > 0 ? bytes * terms / rates->touch : 0; /* of all threads together */
    return (fresh + bytes * (terms + (double)op->type.cat->n) / rates->memory) / p->sites;
}

static const double HASHES = 2.7e8; /* additions to a table in a second, where nothing was measured */

/* Each entry that a product makes is found among the places of its row, put in order and written, and so is each row of
 * each pair of blocks; in the time of ENTRY and ROW additions to a table.
 * TABLE: places that no cache holds are kept in a table, which is put in order. NEAR: each place of a row stays in a
 * near cache, as in bands. Where one operand is dense, the result has more entries than the other one only where the
 * dense one adds a label; ADDED: the bytes that memory moves in the time of each. */
double tra_entries_seconds(const tra_kernel *k, const tra_type *l, const tra_type *r, const tra_dims *met,
                           const tra_type *out, int sites, const tra_rates *rates) {
    enum { ENTRY = 8, NEAR = 2, ROW = 45, TABLE = 12, CACHE = 1 << 15, PLACES = 1 << 10, ADDED = 300 };
    if (out->columns || !tra_is_held(out)) return 0;
    double made = (double)tra_type_entries(out).expected;
    const tra_type *in[2] = {l, r};
    bool both = tra_is_held(in[0]) && tra_is_held(in[1]);
    if (both ? !tra_kernel_meets_entries(k) : tra_kernel_pace(k) > 0) return 0;
    int side = tra_is_held(in[0]) ? 0 : 1;
    /* no walk finds them in order */
    bool mixed = tra_kernel_meets_entries(k) && !tra_kernel_leads(k, side, out->cat->bound.n);
    if (!both && mixed) return made * (ENTRY + TABLE) / sites / (rates->hashes > 0 ? rates->hashes : HASHES);
    if (!both) made -= (double)tra_type_entries(in[side]).expected;
    if (!both) return ADDED / rates->memory * fmax(0, made) / sites;
    double each = (double)tra_type_entries(in[0]).expected / (double)tra_max64(1, in[0]->cat->n);
    double rows = in[0]->cat->bound.n > 1 ? fmin(each, (double)in[0]->cat->bound.v[0]) : 1;
    const tra_dims *box = &out->cat->bound;
    rows *= pairs_by(l, r, met);
    int64_t reach = tra_type_reach(in[0]) + tra_type_reach(in[1]); /* places of a row of a product of matrices */
    bool table = box->n > 0 && tra_min64(reach, box->v[box->n - 1]) > CACHE && made < PLACES * rows;
    double each_made = tra_type_rows_stay_near(in[0], in[1]) ? NEAR : ENTRY + table * TABLE;
    return (made * each_made + ROW * rows) / sites / (rates->hashes > 0 ? rates->hashes : HASHES);
}

static double entries_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    if (!op->spec.join) return 0;
    const tra_type *l = &p->ops[op->in[0]].type, *r = &p->ops[op->in[1]].type;
    return tra_entries_seconds(op->spec.join, l, r, &op->spec.joinl, &op->type, p->sites, rates);
}

/* The share of looks at so many bytes that no near cache serves. */
static double farness(double bytes) {
    static const double NEAR = 1 << 20, FAR = 1 << 24;
    return fmax(0, fmin(1, log2(fmax(1, bytes / NEAR)) / log2(FAR / NEAR)));
}

static double result_bytes(const tra_type *t) {
    double bytes = (double)tra_dtype_size(t->dtype);
    for (int d = 0; d < t->cat->bound.n; d++) bytes *= (double)t->cat->bound.v[d];
    return bytes;
}

/* Bytes of a dense vector in which each entry of the other operand, `side`, looks for a number of its own, since they
 * meet along the last dimension; 0: it is none. */
static double vector_bytes(const tra_plan *p, const tra_op *op, int side) {
    const tra_type *d = &p->ops[op->in[1 - side]].type, *t = &p->ops[op->in[side]].type;
    const tra_dims *met = side ? &op->spec.joinr : &op->spec.joinl;
    bool last = met->n == 1 && met->v[0] == t->cat->bound.n - 1;
    if (!last || d->cat->bound.n != 1) return 0;
    return (double)tra_dtype_size(d->dtype) * (double)d->cat->bound.v[0] * tra_type_places_used(t);
}

/* Rows of an array that have any of so many entries: as its file tells, else as if they were spread evenly over n. */
static double rows_there(const tra_type *t, double n, double entries) {
    double rows = 0;
    for (int64_t i = 0; t->entries && t->entries->rows && i < t->cat->n; i++) rows += (double)t->entries->rows[i];
    return rows > 0 ? rows / (double)t->cat->n : n * -expm1(-entries / n);
}

/* Seconds for rows of operands that are held as rows, besides those for their entries: each is begun and ended, also
 * where it has few; looked up, where two meet element by element. And for entries that look for a number where no near
 * cache has it; none waits for another. Products count what both have above. */
static double rows_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    enum { PRODUCT = 4, ALONE = 12, BESIDE = 28, MEET = 16 }; /* steps of a row; MEET: with another one */
    enum { FOLDED = 2, FOLDS = 16 };                          /* of an entry, and a row, of products folded to no sum */
    static const double LOOK = 0.12, ADDED = 0.12; /* misses of an entry that looks, as many do at once; of a sum; */
    static const double FOUND = 0.7; /* of an entry that finds a row of the other operand, or of the result */
    const tra_kernel *k = op->spec.join;
    bool join = op->op == TRA_PLAN_JOIN || op->op == TRA_PLAN_JOINAGG;
    if (op->in[0] < 0 || op->type.columns) return 0;
    if (!join && op->op != TRA_PLAN_AGG && op->op != TRA_PLAN_MAP) return 0;
    if (join && !k) return 0;
    const tra_type *in[2] = {&p->ops[op->in[0]].type, join ? &p->ops[op->in[1]].type : NULL};
    bool held[2] = {tra_is_held(in[0]), in[1] && tra_is_held(in[1])}, fused = join && tra_kernel_pace(k) > 0;
    bool product = join && !fused && tra_kernel_meets_entries(k);
    double steps = 0, misses = 0, threads = fmax(1, rates->threads) * p->sites;
    if (held[0] && held[1] && product && !tra_is_held(&op->type)) { /* each finds a row, and where that is added to */
        double each = (double)tra_type_entries(in[0]).expected / (double)tra_max64(1, in[0]->cat->n);
        misses = FOUND * farness(result_bytes(&op->type) * tra_type_places_used(in[1])) * each * pairs_of(p, op);
    }
    for (int i = 0; i < 2 && !(held[0] && held[1] && product); i++) {
        if (!held[i] || in[i]->columns || in[i]->cat->bound.n < 2) continue;
        double each = 1, tuples = (double)tra_max64(1, in[i]->cat->n), met = join ? pairs_of(p, op) : tuples;
        double entries = (double)tra_type_entries(in[i]).expected / tuples;
        for (int d = 0; d + 1 < in[i]->cat->bound.n; d++) each *= (double)in[i]->cat->bound.v[d];
        double step = held[0] && held[1] ? MEET : join ? BESIDE : ALONE;
        if (product || (fused && op->op == TRA_PLAN_JOINAGG)) step = PRODUCT;
        bool folded = !held[1 - i] && product && !(tra_kernel_props(k) & TRA_P_CONTRACTION);
        steps += (folded ? FOLDS : step) * rows_there(in[i], each, entries) * met;
        double bytes = join && !fused && !product && !held[1 - i] ? vector_bytes(p, op, i) : 0;
        misses += LOOK * farness(bytes) * entries * met;
        if (!folded) continue;
        steps += FOLDED * entries * met;
        bool leads = tra_kernel_leads(k, i, op->type.cat->bound.n);
        misses += leads ? 0 : ADDED * farness(result_bytes(&op->type) * tra_type_places_used(in[i])) * entries * met;
    }
    return (steps * tra_step_seconds(rates) + misses * tra_miss_seconds(rates)) / threads;
}

/* Seconds for bytes of inputs that workers copy from the page cache and check, of outputs that they check, and of
 * messages, which are copied where they are sent and where they arrive. */
static double copied_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    static const double READ = 1.4, WRITTEN = 0.6, MOVED = 2; /* passes */
    const tra_cost *c = &op->predicted.cost;
    return (READ * (double)c->disk_read.expected + WRITTEN * (double)c->disk_write.expected +
            MOVED * (double)c->network_bytes.expected) /
           p->sites / rates->memory;
}

/* Seconds for rows of tables that are put together to new blocks. */
static double concat_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    static const double PASSES = 2;
    if (op->op != TRA_PLAN_CONCAT || !op->type.columns || tra_op_is_view(op)) return 0;
    return PASSES * (double)tra_type_bytes_all(&op->type).expected / p->sites / rates->memory;
}

/* Seconds for elements that are copied to blocks of another cut, and for what these are filled with before. */
static double repart_seconds(const tra_plan *p, const tra_op *op, const tra_rates *rates) {
    static const double COPIED = 2.0 / 3, FILLED = 1.0 / 3; /* passes */
    if (op->op != TRA_PLAN_REPART || op->type.columns || tra_op_is_view(op)) return 0;
    double in = (double)tra_type_bytes_all(&p->ops[op->in[0]].type).expected;
    double out = (double)tra_type_bytes_all(&op->type).expected;
    return (COPIED * fmin(in, out) + FILLED * out) / p->sites / rates->memory;
}

/* Seconds for blocks beyond the first, however small: those of a stage are planned, queued, and found by a worker;
 * those of files are looked up, checked and noted besides. */
static double blocks_seconds(const tra_plan *p, const tra_op *op) {
    static const double READ = 4e-6, MADE = 2e-6, WRITTEN = 2.2e-5;
    double more = fmax(0, (double)op->type.cat->n / p->sites - 1);
    if (op->op == TRA_PLAN_OUTPUT) return WRITTEN * more;
    if (op->predicted.cost.disk_read.expected > 0) return READ * more;
    return tra_op_is_stage(op) && !op->method.fused ? MADE * more : 0;
}

/* Seconds for what a stage spills to scratch beyond what the stage before it had there, and reads again. */
static double spill_seconds(const tra_op *op, int64_t *before, const tra_rates *rates) {
    if (!tra_op_is_stage(op)) return 0;
    double more = (double)tra_max64(0, op->predicted.spill_likely - *before);
    *before = op->predicted.spill_likely;
    return more / rates->disk_write + more / rates->disk_read;
}

/* Seconds in which a turn of a loop reads from scratch again what was computed before the loop and does not stay in
 * memory. */
static double again_seconds(const tra_plan *p, int i, const tra_rates *rates) {
    const tra_op *op = &p->ops[i];
    double bytes = 0;
    bool many = false;
    for (int side = 0; op->loop >= 0 && side < 2 && op->in[side] >= 0; side++) {
        int from = tra_op_holder(p, op->in[side], &many);
        if (!tra_op_is_outside(p, op->in[side], i) || tra_op_is(p->ops[from].op, TRA_READS)) continue;
        if (op->method.scan.first != i && tra_scan_reads(p, op, side)) continue; /* with the first */
        bytes += (double)tra_type_bytes_all(&p->ops[from].type).expected / p->sites;
    }
    return fmin(bytes, (double)op->predicted.spill) / rates->disk_read;
}

/* Where one thread computes each array: how many times as long they take as if all threads shared them evenly. */
static double uneven(const tra_kernel *k, const tra_type *t, const tra_plan *p, const tra_rates *rates) {
    if (!k || !tra_kernel_takes_one_thread(k, &t->cat->bound)) return 1;
    double tasks = fmax(1, (double)t->cat->n / p->sites), threads = fmax(1, rates->threads);
    return ceil(tasks / threads) * threads / tasks;
}

/* Seconds of an operator's work by the rate of its kernel. */
static double kernel_seconds(const tra_plan *p, const tra_op *o, const tra_rates *rates) {
    double work = o->predicted.cost.flops_max;
    if (o->spec.turn) work *= tra_kernel_order_share(o->spec.turn, &o->type, &o->type);
    if (o->in[0] < 0) return tra_work_seconds(o->spec.turn, &o->type, NULL, &o->type, work, rates);
    const tra_type *l = &p->ops[o->in[0]].type, *r = o->in[1] >= 0 ? &p->ops[o->in[1]].type : NULL;
    const tra_kernel *k = o->spec.join ? o->spec.join : o->op == TRA_PLAN_MAP ? o->spec.map : NULL;
    if (o->op == TRA_PLAN_MAP) work *= tra_kernel_order_share(k, l, &o->type);
    work *= uneven(k, l, p, rates);
    if (o->spec.join) work *= tra_kernel_rows_share(k, l, r, tra_ceil_div(o->type.cat->n, p->sites));
    return tra_work_seconds(k, l, r, &o->type, work, rates);
}

/* The extents of the terms that an aggregation adds up; false: they are not dense, or those of a join do not fit. */
static bool terms_of(const tra_plan *p, const tra_op *o, tra_dims *ext) {
    const tra_type *l = &p->ops[o->in[0]].type, *r = o->op == TRA_PLAN_JOINAGG ? &p->ops[o->in[1]].type : NULL;
    const tra_dims *a = &l->cat->bound, *b = r ? &r->cat->bound : NULL;
    if (tra_is_held(l) || (r && tra_is_held(r))) return false;
    if (b) return tra_kernel_shape2(o->spec.join, a, b, a, b, ext, NULL, NULL) == TRA_OK;
    return *ext = *a, true;
}

/* Seconds for the map of each sum that an aggregation of dense arrays is composed with. */
static double rest_seconds(const tra_plan *p, const tra_op *o, const tra_rates *rates) {
    bool adds = (o->op == TRA_PLAN_AGG || o->op == TRA_PLAN_JOINAGG) && !o->type.columns;
    const tra_kernel *rest = adds ? tra_kernel_rest(o->spec.agg) : NULL;
    tra_catalog sums = *o->type.cat;
    tra_type state = {.cat = &sums, .dtype = o->spec.term};
    if (!rest || !terms_of(p, o, &sums.bound)) return 0;
    double work = tra_kernel_flops(rest, TRA_USE_MAP, &sums.bound, NULL) * (double)o->type.cat->n / p->sites;
    return tra_work_seconds(rest, &state, NULL, &o->type, work, rates);
}

/* Seconds to begin and end a stage of a loop, with next to nothing to do; on several sites these agree on it. */
static double turn_seconds(const tra_plan *p, const tra_op *op) {
    static const double ALONE = 1.6e-6, TOGETHER = 7e-6;
    if (p->nloops == 0 || op->loop < 0 || op->method.fused || !tra_op_is_stage(op)) return 0;
    return p->sites > 1 ? TOGETHER : ALONE;
}

/* Seconds until so many bytes have been touched for the first time. Other processes freed some a moment ago, and those
 * come faster than memory that a hypervisor took back. */
static double fresh_seconds(int64_t bytes, const tra_rates *rates) {
    static const double FREED = 2147483648.0, FASTER = 5;
    double first = fmin((double)bytes, FREED);
    return rates->touch > 0 ? (first / FASTER + ((double)bytes - first)) / rates->touch : 0;
}

/* Seconds of each stage are those of the operators that run in it, in proportion to what each would take alone. */
static void share_stages(tra_plan *p, const int *at, const double *alone) {
    double *all = tra_calloc((size_t)p->nops, sizeof *all);
    for (int i = 0; i < p->nops; i++) all[at[i]] += alone[i];
    for (int i = 0; i < p->nops; i++) {
        const tra_op *stage = &p->ops[at[i]];
        double share = all[at[i]] > 0 ? alone[i] / all[at[i]] : at[i] == i;
        p->ops[i].predicted.cost.seconds =
            share * stage->predicted.stage_seconds * tra_op_times(p, stage) / tra_op_times(p, &p->ops[i]);
    }
    free(all);
}

/* Do background threads read the stage's inputs ahead, past the page cache, while all workers compute? Products of
 * dense arrays take long enough for that. Else each worker reads what it needs, and waits, while the others go on. */
static bool is_read_ahead(const tra_op *o) {
    bool product = o->op == TRA_PLAN_JOINAGG && o->spec.join && (tra_kernel_props(o->spec.join) & TRA_P_CONTRACTION);
    return product && !tra_is_held(&o->type);
}

void tra_plan_seconds(tra_plan *p, const tra_rates *rates, double cold) {
    enum { NETWORK, DISK, READ, WORK, PARTS };
    double(*spent)[PARTS] = tra_calloc((size_t)p->nops, sizeof *spent); /* of the stage that ends here */
    double *alone = tra_calloc((size_t)p->nops, sizeof *alone);
    int *at = tra_plan_runs_in(p);
    int64_t spilled = 0, touched = 0;
    p->cost.seconds = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const tra_cost *c = &o->predicted.cost;
        double s[PARTS] = {[NETWORK] = o->predicted.network_seconds};
        s[READ] = (cold < 0 ? 1 : cold) * (double)c->disk_read.expected / rates->disk_read / p->sites;
        s[DISK] = (c->made / rates->disk_read + (double)c->disk_write.expected / rates->disk_write) / p->sites;
        s[DISK] += spill_seconds(o, &spilled, rates) + again_seconds(p, i, rates);
        s[WORK] = kernel_seconds(p, o, rates) + rest_seconds(p, o, rates) + tree_seconds(p, o, rates) +
                  growth_seconds(p, o, rates) + state_seconds(p, o, rates) + entries_seconds(p, o, rates) +
                  rows_seconds(p, o, rates) + concat_seconds(p, o, rates) + repart_seconds(p, o, rates) +
                  copied_seconds(p, o, rates) + tra_output_seconds(p, o, rates) + blocks_seconds(p, o) +
                  turn_seconds(p, o);
        /* memory is touched for the first time when more is held than ever before */
        double fresh = fresh_seconds(o->predicted.touched, rates) - fresh_seconds(touched, rates);
        s[WORK] += fresh / tra_op_times(p, o); /* also in a loop: once */
        touched = o->predicted.touched;
        int writes = o->op == TRA_PLAN_OUTPUT && at[i] != i ? o->in[0] : i; /* an output has no time of its own */
        for (int k = 0; k < PARTS; k++) spent[at[i]][k] += s[k], alone[writes] += s[k];
    }
    /* an exchange that overlaps a stage: its work is done while that stage runs, so its time is part of the stage's too
     */
    for (int i = 0; i < p->nops; i++) {
        int end = p->ops[i].method.ends;
        for (int k = 0; k < PARTS && end != i; k++) spent[end][k] += spent[i][k];
    }
    for (int i = 0; i < p->nops; i++) {
        bool waits = cold >= 0 && !is_read_ahead(&p->ops[i]);
        spent[i][waits ? WORK : DISK] += waits ? spent[i][READ] / fmax(1, rates->threads) : spent[i][READ];
        double seconds = overlapped(overlapped(spent[i][WORK], spent[i][DISK], rates->disk_unhidden), spent[i][NETWORK],
                                    rates->network_unhidden);
        if (waits) seconds = fmax(seconds, spent[i][READ]);
        p->ops[i].predicted.stage_seconds = seconds;
        if (!tra_op_overlaps(&p->ops[i])) p->cost.seconds += tra_op_times(p, &p->ops[i]) * seconds;
    }
    share_stages(p, at, alone);
    free(at);
    free(alone);
    free(spent);
}

static const char *const models[] = {"time", "tra", "eindecomp"};

const char *tra_cost_model_text(tra_cost_model m) { return models[m]; }

bool tra_cost_model_parse(const char *s, tra_cost_model *m) {
    int i = TRA_FIND_ROW(models, s);
    if (i >= 0) *m = (tra_cost_model)i;
    return i >= 0;
}

double tra_cost_scalar(const tra_cost *c, tra_cost_model model) {
    switch (model) {
    case TRA_COST_TRA: return c->network_floats;
    case TRA_COST_TIME: return c->seconds;
    case TRA_COST_EINDECOMP: return c->eindecomp;
    }
    return 0;
}
