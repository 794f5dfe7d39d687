/* needs.c - what operators need of memory, and the block loops that follow from it. */
#include "needs.h"

#include "../kernel/program.h"
#include "../model/columns.h"
#include "../storage/mapped.h"
#include "../relation/store.h"
#include "../storage/stored.h"
#include "repart.h"
#include "scan.h"

#include <stdlib.h>

int64_t tra_block_footprint(int64_t bytes) {
    enum { SLOTS = TRA_PAGE / TRA_CACHE_LINE - 1 };
    if (bytes > TRA_SMALL_BLOCK) return tra_ceil_div(bytes, TRA_PAGE) * TRA_PAGE;
    return TRA_PAGE / (SLOTS / tra_max64(1, tra_ceil_div(bytes, TRA_CACHE_LINE)));
}

static int64_t footprint(int64_t bytes) { return bytes > 0 ? tra_block_footprint(bytes) : 0; }

int64_t tra_size_planned(tra_size s) {
    return s.exact || s.firm ? s.bound : tra_min64(s.bound, tra_max64(TRA_LITTLE, tra_mul_most(s.expected, 2)));
}

/* The name of the statement that operator i is a part of: its own, or that of what reads it. */
static const char *statement_of(const tra_plan *p, int i) {
    for (int j = i; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        if (j > i && op->in[0] != i && op->in[1] != i) continue;
        if (op->spec.name) return op->spec.name;
        i = j;
    }
    return "";
}

const char *tra_plan_memory_estimated(const tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        tra_size largest = tra_type_bytes_largest(&p->ops[i].type);
        if (tra_size_planned(largest) < largest.bound) return statement_of(p, i);
    }
    return NULL;
}

/* The bytes of a result or its state, at most those of a panel; panel 0: the result is made as a whole. */
static int64_t within(int64_t panel, int64_t bytes) { return panel ? tra_min64(bytes, panel) : bytes; }

int64_t tra_stored_room(const tra_type *held, const tra_op *output) {
    int64_t most = tra_catalog_elements_most(held->cat);
    const tra_levels *l = output->spec.levels;
    const tra_mapping_use *m = l ? NULL : output->spec.mapping;
    if (!l && !m) return 0;
    if (held->layout && held->entries) most = tra_min64(most, held->entries->most);
    if (held->layout) {
        int64_t planned = within(output->method.panel, tra_size_planned(tra_type_bytes_largest(held)));
        most = tra_min64(most, tra_type_entries_within(held, planned));
    }
    if (m) return tra_mapping_room(m->largest + (int64_t)sizeof(int64_t), most);
    int64_t turned = output->spec.turned ? tra_stored_turned_room(held->cat->bound.v[1]) : 0;
    return tra_add_most(tra_stored_rows_scratch(l, most, held->layout ? &held->cat->bound : NULL), turned);
}

/* Bytes of a block for one result of op; a result that is written directly to a file needs a whole chunk. */
static int64_t result_bytes(const tra_op *op) {
    int64_t n = tra_op_room(op);
    return op->method.direct && !op->type.layout ? tra_max64(n, tra_block_footprint(tra_store_chunk_bytes(&op->type)))
                                                 : n;
}

/* The operator whose stored results reading op's result reads. */
static const tra_op *stored_of(const tra_plan *p, const tra_op *op) {
    while (tra_op_is_view(op)) op = &p->ops[op->in[0]];
    return op;
}

int64_t tra_op_unpacks(const tra_plan *p, const tra_op *op) {
    while (tra_op_shares_blocks(op)) op = &p->ops[op->in[0]];
    return footprint(op->spec.unpack_bytes); /* 0 unless it is an input */
}

int64_t tra_op_stored_room(const tra_plan *p, const tra_op *op) {
    return tra_max64(tra_op_room(stored_of(p, op)), tra_op_unpacks(p, op));
}

/* The operator whose arrays i's result shows, under whichever keys. */
static const tra_op *unnamed(const tra_plan *p, int i) {
    while (tra_op_is(p->ops[i].op, TRA_RENAMES)) i = p->ops[i].in[0];
    return &p->ops[i];
}

int64_t tra_op_derive_scratch(const tra_plan *p, const tra_op *op) {
    while (tra_op_is(op->op, TRA_RENAMES)) op = &p->ops[op->in[0]];
    if (op->op != TRA_PLAN_MAP) return 0;
    const tra_kernel *k = op->spec.map;
    const tra_layout *layout = op->type.layout;
    tra_arena *a = NULL;
    for (;;) {
        const tra_op *below = &p->ops[op->in[0]];
        while (tra_op_is(below->op, TRA_RENAMES)) below = &p->ops[below->in[0]];
        if (below->op != TRA_PLAN_MAP || !below->method.fused) {
            int64_t n = tra_cell_scratch(k, TRA_USE_MAP, &below->type, &below->type.cat->bound, NULL, NULL, layout);
            tra_arena_free(a);
            return footprint(n);
        }
        if (!a) a = tra_arena_new();
        k = tra_kernel_then(a, below->spec.map, k);
        op = below;
    }
}

int64_t tra_op_read_room(const tra_plan *p, const tra_op *op) {
    int64_t n = tra_op_room(op);
    while (tra_op_is(op->op, TRA_RENAMES)) op = &p->ops[op->in[0]];
    return op->method.fused ? n + tra_op_stored_room(p, op) : tra_max64(n, tra_op_unpacks(p, op));
}

bool tra_op_adds(const tra_plan *p, const tra_op *op) {
    if (op->op != TRA_PLAN_AGG || op->type.cat->n != 1 || !tra_kernel_is_sum(op->spec.agg) || p->reproducible)
        return false;
    const tra_op *l = unnamed(p, op->in[0]);
    if (l->op != TRA_PLAN_MAP || !l->method.fused || l->type.layout) return false;
    const tra_rows_kernel *rows = tra_kernel_rows(l->spec.map);
    bool plain_input = !unnamed(p, l->in[0])->method.fused;
    return rows && rows->ops->add && plain_input && tra_op_state_dtype(p, op) == l->type.dtype;
}

/* Reading one tuple of an operator's left input, as far as the sums are not counted for that. */
static int64_t left_room(const tra_plan *p, const tra_op *op) {
    const tra_op *l = &p->ops[op->in[0]];
    return tra_op_adds(p, op) ? tra_op_stored_room(p, l) : tra_op_read_room(p, l);
}

typedef struct need {
    int64_t left, right, output; /* bytes of one array of L, of R, of one output (state and result) */
    int64_t panels;              /* the output, or what is planned for its panels */
    int64_t fixed;               /* workers' temporaries */
} need;

tra_tree tra_op_tree(const tra_plan *p, const tra_op *op) {
    if (!p->reproducible || !op->spec.agg) return (tra_tree){-1, 1, 1};
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    if (op->op == TRA_PLAN_MERGE) {
        int summands = tra_place_summands(&p->ops[l->in[0]].place);
        return (tra_tree){-1, summands, summands};
    }
    return tra_tree_of(op->spec.join, l->type.cat, r ? r->type.cat : NULL, &op->spec.joinl, &op->spec.joinr,
                       &op->spec.group);
}

tra_dtype tra_op_state_dtype(const tra_plan *p, const tra_op *op) {
    const tra_op *l = &p->ops[op->in[0]];
    if (!op->spec.agg || op->spec.partial) return op->type.dtype;
    /* of a tree all sums are of one type, that of the summands */
    if (op->op == TRA_PLAN_MERGE && tra_op_tree(p, op).leaves > 1) return l->type.dtype;
    return tra_op_accumulates(p, op) ? op->spec.term : tra_agg_state_dtype(op->spec.agg, op->spec.term);
}

/* tra_op_pair_need without `term` and `finish`. */
static tra_pair_need terms_of(const tra_plan *p, const tra_op *op) {
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    tra_pair_need n = {.ext = l->type.cat->bound};
    if (r) {
        tra_dims a = l->type.cat->bound, b = r->type.cat->bound;
        bool dense = op->spec.agg && !tra_op_grows(op);
        const tra_layout *layout = dense ? NULL : op->type.layout;
        n.keep = tra_cell_keep(op->spec.join, &b);
        tra_kernel_meet(op->spec.join, &a, &b);
        if (tra_kernel_shape2(op->spec.join, &a, &b, &a, &b, &n.ext, NULL, NULL) != TRA_OK)
            n.kernel = TRA_SIZE_MOST; /* none of them meet */
        else
            n.kernel = tra_cell_scratch(op->spec.join, TRA_USE_JOIN, &l->type, &a, &r->type, &b, layout);
    }
    if (op->spec.agg) tra_agg_state_ext(op->spec.agg, &n.ext, &n.state);
    return n;
}

/* Is the aggregation followed by a map in the same kernel, so that states and results have different extents? */
static bool is_composed(const tra_op *op) { return op->spec.agg && !op->spec.partial && tra_kernel_rest(op->spec.agg); }

/* tra_op_grown for panels of so many bytes. */
static tra_grown grown_of(const tra_plan *p, const tra_op *op, int64_t panel) {
    tra_grown g = {within(panel, tra_op_room(op)), 0};
    if (!tra_op_grows(op)) return g;
    tra_type sum = op->type;
    sum.dtype = tra_op_state_dtype(p, op);
    int64_t state = tra_type_room(&sum), n;
    if (is_composed(op)) {
        tra_dims ext = terms_of(p, op).state;
        if (!tra_dims_product(&ext, &n)) n = INT64_MAX;
        state = tra_block_footprint(tra_size_planned(sum.layout->bytes(&sum, &ext, tra_size_upto(n), -1)));
    }
    state = within(panel, state);
    g.step = 2 * tra_max64(state, g.result); /* a term and what becomes of the sum with it */
    g.result = tra_tree_depth(tra_op_tree(p, op).leaves) * tra_max64(state, g.result);
    return g;
}

int tra_op_grow_at_once(const tra_op *op, int threads) {
    return (int)tra_max64(1, tra_min64(threads, op->type.cat->n));
}

tra_grown tra_op_grown(const tra_plan *p, const tra_op *op) { return grown_of(p, op, op->method.panel); }

int64_t tra_op_grown_together(const tra_plan *p, const tra_op *op, int64_t n) {
    int64_t each = tra_mul_most(n, tra_op_grown(p, op).result), all = tra_type_bytes_all(&op->type).bound;
    if (op->spec.agg) return each; /* of what is summed, the sums in between may be larger than the results */
    return tra_min64(each, tra_add_most(all, tra_mul_most(n, 2 * TRA_PAGE)));
}

/* Does the result of an aggregation have a block of its own, besides that of its dense state? */
static bool has_own_block(const tra_op *op) { return is_composed(op) || op->type.layout; }

tra_pair_need tra_op_pair_need(const tra_plan *p, const tra_op *op) {
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    tra_pair_need n = terms_of(p, op);
    bool grows = tra_op_grows(op);
    if (r && op->spec.agg && !grows && !tra_op_accumulates(p, op)) {
        tra_dtype in = tra_kernel_dtype(op->spec.join, TRA_USE_JOIN, l->type.dtype, r->type.dtype);
        n.term = (tra_dense_bytes(in, &n.ext) + 63) / 64 * 64;
    }
    if (is_composed(op) || (op->spec.agg && !op->spec.partial && op->type.layout)) {
        tra_type state = {.dtype = op->spec.term, .layout = grows ? op->type.layout : NULL};
        n.finish = tra_cell_scratch(op->spec.agg, TRA_USE_AGG, &state, &n.state, NULL, NULL, op->type.layout);
    }
    return n;
}

static int64_t state_bytes(const tra_plan *p, const tra_op *op, const tra_pair_need *t) {
    tra_type sum = op->type;
    sum.dtype = tra_op_state_dtype(p, op);
    sum.layout = NULL;
    return is_composed(op) ? tra_block_footprint(tra_dense_bytes(sum.dtype, &t->state)) : tra_type_room(&sum);
}

/* Bytes of one output whose state is dense: the state, with the sums of its tree, and its result where that has a block
 * of its own. */
static int64_t dense_state(const tra_plan *p, const tra_op *op, const tra_pair_need *t) {
    int64_t state = state_bytes(p, op, t), result = result_bytes(op);
    int64_t more = (tra_tree_depth(tra_op_tree(p, op).leaves) - 1) * state;
    tra_mirror m;
    bool twice = tra_op_mirror(p, op, &m) && op->type.cat->frontier.v[m.key[0]] > 1; /* a result and its mirror image */
    return more + (twice ? 2 : 1) * (has_own_block(op) ? result + state : tra_max64(result, state));
}

int64_t tra_op_state_room(const tra_plan *p, const tra_op *op) {
    if (tra_op_grows(op)) return tra_max64(0, tra_op_grown(p, op).result - tra_op_room(op));
    if (!op->spec.agg || !has_own_block(op)) return 0;
    tra_pair_need t = terms_of(p, op);
    return tra_tree_depth(tra_op_tree(p, op).leaves) * state_bytes(p, op, &t);
}

static need join_need(const tra_plan *p, const tra_op *op, int threads) {
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    need n = {.left = left_room(p, op), .right = r ? tra_op_read_room(p, r) : 0, .output = result_bytes(op)};
    bool grows = tra_op_grows(op), counted = !op->spec.agg && op->type.layout;
    tra_pair_need t = tra_op_pair_need(p, op);
    int64_t step = 0;
    if (grows || counted) {
        tra_grown g = tra_op_grown(p, op);
        n.output = grown_of(p, op, 0).result; /* as many are under way as have room whole */
        n.panels = g.result;
        step = g.step;
    } else if (op->spec.agg) {
        n.output = dense_state(p, op, &t);
    }
    int64_t derive = tra_max64(tra_op_derive_scratch(p, l), r ? tra_op_derive_scratch(p, r) : 0);
    int64_t compute = tra_add_most(t.term, tra_max64(t.kernel, t.finish));
    int64_t shared = r && r->type.cat->n == 1 && op->method.scan.stages <= 1 ? t.keep : 0;
    int64_t scratch = footprint(tra_add_most(tra_max64(compute, derive), t.keep - shared)), all = footprint(shared);
    n.fixed = threads * (scratch + footprint(op->method.io_bytes)) + tra_op_grow_at_once(op, threads) * step + all;
    if (!grows && !counted) n.panels = n.output;
    return n;
}

int64_t tra_op_output_room(const tra_plan *p, const tra_op *op, int threads) {
    return join_need(p, op, threads).output;
}

int tra_op_sums(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    if (!tra_op_adds(p, op)) return 0;
    need n = join_need(p, op, threads);
    int64_t each = n.left + n.output, room = budget - op->method.reserved - op->method.scan.reserved - n.fixed - each;
    int64_t stages = tra_max64(1, op->method.scan.stages); /* which share it */
    return 1 + (int)tra_max64(0, tra_min64(threads - 1, room / stages / each));
}

/* ---- block loops -------------------------------------------------------------------------------------------- */

enum { NEW_PAGE_COST = 2 }; /* touching a page of memory for the first time costs as much as copying so many pages */

/* The best loop so far, and its cost in bytes. */
typedef struct choice {
    tra_block_loop loop;
    double cost; /* < 0: none yet */
} choice;

/* Considers super-blocks of ci rows, with memory for `depth` steps of input (2: the next is read ahead) and `sets` sets
 * of outputs (2: the last is written while the next is computed). */
static void try_loop(const need *n, int64_t ni, int64_t nj, int64_t nk, int64_t ci, bool keeps_left, int depth,
                     int sets, int64_t room, choice *best) {
    int64_t left = room - ci * n->left * (keeps_left ? tra_max64(nk, depth) : depth),
            each = sets * ci * n->output + depth * n->right;
    int64_t cj = each > 0 ? tra_min64(nj, left / each) : nj;
    if (left < 0 || cj < 1) return;
    int64_t columns = tra_ceil_div(nj, cj), rows = tra_ceil_div(ni, ci);
    cj = tra_ceil_div(nj, columns); /* even super-blocks */
    double a = (double)n->left, b = (double)n->right, supers = (double)rows * (double)columns;
    double cost =
        (double)ni * (double)nk * a * (keeps_left ? 1.0 : (double)columns) + (double)nj * (double)nk * b * (double)rows;
    cost += NEW_PAGE_COST *
            ((double)(room - left) + (double)(sets * ci * cj) * (double)n->output + (double)(depth * cj) * b);
    if (depth == 1) cost += supers * (double)nk * (a + b) / 2; /* each step waits for the one before */
    if (sets == 1)
        cost += supers * (a + b + 2 * (double)n->output); /* each super-block waits until the one before is written */
    if (best->cost < 0 || cost < best->cost) *best = (choice){{ci, cj, keeps_left}, cost};
}

/* A stage that would take a minute on slow cores makes its outputs in at least eight super-blocks, although fewer would
 * fit in memory: a run that is killed loses at most the two that are under way. */
static tra_block_loop in_groups(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int threads,
                                tra_block_loop l) {
    double pace = tra_op_accumulates(p, op) ? 10e9 : 0.25e9;
    if (op->predicted.cost.flops_max < 60 * pace * threads) return l;
    while (8.0 * (double)l.ci * (double)l.cj > (double)ni * (double)nj && (l.ci > 1 || l.cj > 1)) {
        if (l.ci >= l.cj)
            l.ci = tra_ceil_div(l.ci, 2);
        else
            l.cj = tra_ceil_div(l.cj, 2);
    }
    return l;
}

tra_block_loop tra_loop_of(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int64_t nk, int threads,
                           int64_t budget) {
    need n = join_need(p, op, threads);
    int64_t room = budget - n.fixed, least = tra_min64(n.left, n.output);
    /* Small blocks of one size share pages; the rest of such a page is lost to blocks of other sizes. */
    if ((op->in[1] < 0 ? least : tra_min64(least, n.right)) < TRA_PAGE) room -= TRA_LEAST_BUDGET;
    if (op->in[1] < 0) { /* an aggregation reads nothing twice, whatever the loop: one output for each worker */
        int64_t each = 2 * n.left + n.output, most = tra_min64(ni, threads);
        int64_t ci = each > 0 ? tra_max64(1, tra_min64(most, room / each)) : most;
        tra_block_loop l = {tra_ceil_div(ni, tra_ceil_div(tra_max64(1, ni), tra_max64(1, ci))), 1, false};
        return in_groups(p, op, ni, nj, threads, l);
    }
    choice best = {{1, 1, false}, -1};
    for (int64_t ci = 1; ci <= ni; ci += tra_ceil_div(ci, 64)) { /* skips numbers where there are very many rows */
        for (int keeps_left = 0; keeps_left < 2; keeps_left++) {
            for (int depth = 1; depth <= 2; depth++) {
                try_loop(&n, ni, nj, nk, ci, keeps_left, depth, 1, room, &best);
                try_loop(&n, ni, nj, nk, ci, keeps_left, depth, 2, room, &best);
            }
        }
        if (ci * n.left > room) break;
    }
    best.loop.ci = tra_ceil_div(ni, tra_ceil_div(tra_max64(1, ni), best.loop.ci));
    /* Where everything fits, overlap is worth more than large super-blocks: tuples that arrive while the join runs are
     * used row by row (step by step if both sides arrive). */
    bool l = tra_op_input_overlaps(p, op, 0), r = tra_op_input_overlaps(p, op, 1);
    if (!p->rereads && l && (!r || nk == 1)) best.loop.ci = 1;
    if (!p->rereads && r && (!l || nk == 1)) best.loop.cj = 1;
    return in_groups(p, op, ni, nj, threads, best.loop);
}

/* Key dimensions of an input of a join: OWN: grouped and not joined; SUMMED: not grouped; LONE: neither. */
typedef enum role { OWN, SUMMED, LONE } role;

/* Distinct values of the key dimensions of that role on one site, if sites have equal shares along each axis. */
static int64_t values_of(const tra_plan *p, const tra_op *op, int side, role role) {
    const tra_op *in = &p->ops[op->in[side]];
    int64_t n = 1;
    for (int d = 0; d < in->type.cat->frontier.n; d++) {
        bool joined, grouped;
        tra_op_label(p, op, side, d, &joined, &grouped);
        if (grouped != (role == OWN) || (role != SUMMED && joined)) continue;
        int64_t values = in->type.cat->frontier.v[d];
        for (int a = 0; a < in->place.naxes; a++) {
            const tra_axis *x = &in->place.axis[a];
            if (x->kind == TRA_AXIS_PART && x->n == 1 && x->dim[0] == d) values = tra_ceil_div(values, x->sites);
        }
        n *= tra_max64(1, values);
    }
    return n;
}

tra_block_loop tra_op_loop(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    int64_t rows = values_of(p, op, 0, OWN), columns = op->in[1] >= 0 ? values_of(p, op, 1, OWN) : 1;
    return tra_loop_of(p, op, rows, columns, values_of(p, op, 0, SUMMED), threads,
                       budget - op->method.reserved - op->method.scan.reserved);
}

int64_t tra_op_passes(const tra_plan *p, const tra_op *op, int side, int threads, int64_t budget) {
    if (budget <= 0) return 1;
    if (op->in[1] < 0) return 1;
    tra_block_loop loop = tra_op_loop(p, op, threads, budget);
    if (side == 0) return loop.keeps_left ? 1 : tra_ceil_div(values_of(p, op, 1, OWN), loop.cj);
    return tra_ceil_div(values_of(p, op, 0, OWN), loop.ci);
}

int64_t tra_op_terms(const tra_plan *p, const tra_op *op) { return values_of(p, op, 0, SUMMED); }

int64_t tra_op_meets(const tra_plan *p, const tra_op *op, int side) {
    return op->in[1] >= 0 ? values_of(p, op, !side, LONE) : 1;
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

int64_t tra_exchange_window(const tra_plan *p, const tra_op *op, int64_t transfers) {
    int64_t one = tra_max64(tra_op_read_room(p, &p->ops[op->in[0]]), tra_op_room(op));
    int64_t most = tra_min64(op->predicted.cost.network_bytes.bound, tra_max64(TRA_WINDOW, 2 * one));
    return tra_max64(one, most / one < transfers ? most : transfers * one);
}

tra_exchange_need tra_exchange_memory(const tra_plan *p, const tra_op *op) {
    const tra_op *from = &p->ops[op->in[0]];
    int64_t in = tra_op_read_room(p, from), out = tra_op_room(op),
            fetch = in + tra_op_derive_scratch(p, from) + footprint(op->method.io_bytes);
    if (op->op != TRA_PLAN_REPART) /* one tuple is held while it is sent, and another arrives */
        return (tra_exchange_need){.least = tra_max64(fetch, in + out), .fetch = fetch, .transient = fetch};
    int64_t piece = p->sites > 1 ? tra_min64(tra_op_room(from), out) : 0;
    fetch = tra_max64(fetch, in + tra_max64(piece, out));
    /* a piece is sent and another arrives, for a block that is being assembled */
    return (tra_exchange_need){
        .least = tra_max64(fetch, 2 * piece + out), .fetch = fetch, .transient = tra_max64(fetch, out)};
}

/* How many blocks a gathered result is made of, at most. */
static int64_t gathered_pieces(const tra_op *op, const tra_op *from) {
    const tra_catalog *c = from->type.cat;
    int64_t n = 1;
    if (op->op == TRA_PLAN_CONCAT) return c->frontier.v[op->spec.keydim];
    for (int d = 0; d < c->frontier.n; d++)
        n = tra_mul_most(n, tra_min64(c->frontier.v[d], op->type.cat->bound.v[d] / tra_max64(1, c->bound.v[d]) + 2));
    return tra_min64(n, from->type.cat->n);
}

/* Bytes of all pieces of one result, none of which takes more than `in` bytes. If the rows of the result are bounded,
 * the pieces together have no more rows than that, and each piece wastes at most a page. */
static int64_t gathered_room(const tra_op *op, const tra_op *from, int64_t in) {
    int64_t pieces = gathered_pieces(op, from), all = tra_mul_most(pieces, in);
    if (op->op == TRA_PLAN_REPART && !tra_op_is_view(from) && from->holds) return tra_min64(all, from->holds->arrays);
    if (!op->spec.most_rows || tra_op_is_view(from)) return all;
    int64_t page = tra_block_footprint(tra_columns_room(op->type.columns, 0)) + TRA_PAGE;
    return tra_min64(all, tra_add_most(tra_op_room(op), tra_mul_most(pieces, page)));
}

int tra_op_workers(const tra_plan *p, const tra_op *op, int threads) {
    bool plain = op->op == TRA_PLAN_MAP && !tra_kernel_is_program(op->spec.map);
    if (!plain || unnamed(p, op->in[0])->method.fused) return threads;
    return (int)tra_max64(1, tra_min64(threads, op->type.cat->n));
}

/* Bytes for storing a result of counted extents, when its chunks have come together: a chunk, and what that takes. */
static int64_t rewrite_room(const tra_plan *p, const tra_op *output, int threads) {
    tra_type dense = output->type;
    dense.layout = NULL;
    int64_t each = tra_stored_room(&dense, output), io = each || !p->compress ? each : tra_codec_scratch(&dense);
    return footprint(tra_store_chunk_bytes(&dense)) + threads * footprint(io) + footprint(each);
}

int64_t tra_op_memory(const tra_plan *p, const tra_op *op, int threads) {
    const tra_op *from = op->in[0] >= 0 ? &p->ops[op->in[0]] : NULL;
    if (op->op == TRA_PLAN_MAP) threads = tra_op_workers(p, op, threads);
    int64_t out = result_bytes(op), in = from ? tra_op_read_room(p, from) : 0, n = in + out;
    int64_t fixed = threads * footprint(op->method.io_bytes), chunk;
    switch (op->op) {
    case TRA_PLAN_JOIN:
    case TRA_PLAN_AGG:
    case TRA_PLAN_JOINAGG:
    case TRA_PLAN_MERGE: {
        need x = join_need(p, op, threads);
        n = x.left + x.right + x.panels + x.fixed;
        break;
    }
    case TRA_PLAN_MAP:
    case TRA_PLAN_TILE: n = tra_op_stored_room(p, from) + out + fixed + threads * tra_op_derive_scratch(p, op); break;
    case TRA_PLAN_CONCAT:
    case TRA_PLAN_REPART:
    case TRA_PLAN_SHUF:
    case TRA_PLAN_BCAST:
        in = tra_op_gathers(p, op) ? gathered_room(op, from, in) : in; /* a whole group, and its result */
        n = tra_op_exchanges(op) ? tra_exchange_memory(p, op).least
                                 : out + in + fixed + threads * tra_op_derive_scratch(p, from);
        break;
    case TRA_PLAN_OUTPUT: /* results that are computed on reading are written from their own block */
        chunk = from->type.layout ? 0 : tra_block_footprint(tra_store_chunk_bytes(&op->type));
        out = tra_max64(tra_op_room(from), chunk) + fixed;
        n = from->method.direct ? 0 : tra_op_stored_room(p, from) + out + threads * tra_op_derive_scratch(p, from);
        if (op->type.bounded && !op->type.columns) /* chunks are read back, and perhaps stored in another way */
            n = tra_max64(n, rewrite_room(p, op, threads));
        else if (tra_op_counts_first(op) && !op->spec.mapping) /* at the end each tuple is read back from scratch */
            n = tra_max64(n, within(op->method.panel, tra_op_room(from)) + footprint(tra_stored_room(&from->type, op)));
        break;
    case TRA_PLAN_INPUT:
    case TRA_PLAN_READALL:
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY:
    case TRA_PLAN_STATE ... TRA_PLAN_COUNT: break; /* operators of loops */
    }
    return n + TRA_LEAST_BUDGET;
}
