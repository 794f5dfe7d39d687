/* memory.c - what a plan as a whole does with memory and disk. */
#include "memory.h"

#include "overlap.h"
#include "engine.h"
#include "../relation/mapped.h"
#include "repart.h"
#include "scan.h"

#include <stdlib.h>

/* What follows from the edges of the plan, by operator. */
typedef struct edges {
    int *uses, *first, *last; /* consumers: how many edges, the first and the last operator; 0, -1, -1 */
    int *file;                /* the input file that reading the result reads, or -1 */
    bool *gathered;           /* is it, or a view of it, read a whole group at once? */
} edges;

static edges find_edges(const tra_plan *p) {
    size_t n = (size_t)p->nops + 1;
    edges e = {.uses = tra_calloc(4 * n, sizeof *e.uses), .gathered = tra_calloc(n, sizeof *e.gathered)};
    e.first = e.uses + n, e.last = e.first + n, e.file = e.last + n;
    for (int i = 0; i < p->nops; i++) e.first[i] = e.last[i] = e.file[i] = -1;
    for (int i = p->nops - 1; i >= 0; i--) {
        const tra_op *op = &p->ops[i];
        for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
            int in = op->in[side];
            e.uses[in]++;
            e.first[in] = i;
            e.last[in] = e.last[in] < 0 ? i : e.last[in];
            e.gathered[in] |= tra_op_is(op->op, TRA_GATHERS) || (tra_op_is(op->op, TRA_RENAMES) && e.gathered[i]);
        }
    }
    return e;
}

static void free_edges(edges *e) {
    free(e->uses);
    free(e->gathered);
}

/* Is it too much work to be done anew for each tuple that what it makes meets in a join? */
static bool is_made_once(const tra_plan *p, const tra_op *op, int user) {
    enum { MUCH = 20 }; /* operations for a row: it is sorted, and not just read */
    const tra_rows_kernel *rows = op->op == TRA_PLAN_MAP ? tra_kernel_rows(op->what.map) : NULL;
    if (!rows || rows->flops < MUCH || user < 0 || p->ops[user].in[1] < 0) return false;
    const tra_op *join = &p->ops[user];
    int other = &p->ops[join->in[0]] == op ? 1 : 0;
    const tra_dims *frontier = &p->ops[join->in[other]].type.cat->frontier;
    const tra_dims *joined = other ? &join->what.joinr : &join->what.joinl;
    for (int d = 0; d < frontier->n; d++) {
        bool met_once = frontier->v[d] <= 1;
        for (int j = 0; j < joined->n; j++) met_once |= joined->v[j] == d;
        if (!met_once) return true;
    }
    return false;
}

/* A MAP or TILE is computed by its consumer when it has but one. One such operator between a consumer and what is
 * stored, or maps alone, which are composed. CONCAT holds a whole group at once: of tiles not with the arrays they are
 * cut from. */
static void choose_fused(tra_plan *p, const edges *e) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->orders.fused = false;
        if (!tra_op_is(op->op, TRA_FUSES)) continue;
        op->orders.fused = !p->slim && e->uses[i] == 1 && !e->gathered[i] && !is_made_once(p, op, e->first[i]);
        int j = op->in[0];
        while (tra_op_is(p->ops[j].op, TRA_RENAMES)) j = p->ops[j].in[0];
        bool one = op->op == TRA_PLAN_MAP && p->ops[j].op == TRA_PLAN_MAP &&
                   tra_kernel_composes(p->ops[j].what.map, op->what.map);
        if (!one) p->ops[j].orders.fused = false;
    }
}

/* What a view shows is held until the last has looked at it. */
static void views_hold(const tra_plan *p, edges *e) {
    for (int i = p->nops - 1; i >= 0; i--) {
        int in = p->ops[i].in[0];
        if (in >= 0 && tra_op_is_view(&p->ops[i]) && e->last[i] > e->last[in]) e->last[in] = e->last[i];
    }
}

/* What an exchange leaves where it is stays a file's. */
static void find_files(const tra_plan *p, edges *e) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (tra_op_is(op->op, TRA_READS))
            e->file[i] = i;
        else if (tra_op_shares(op) && !tra_place_is_partial(&p->ops[op->in[0]].place))
            e->file[i] = e->file[op->in[0]];
    }
}

/* Results that go to their file as they are computed, and are never held. */
static bool streams_out(const tra_plan *p, const edges *e, int i) {
    const tra_op *op = &p->ops[i];
    return !tra_op_is(op->op, TRA_EXCHANGES) && e->uses[i] == 1 && p->ops[e->first[i]].op == TRA_PLAN_OUTPUT;
}

/* Bytes that a worker needs to write results that are held so to that output. */
static int64_t io_of(const tra_plan *p, const tra_op *output, const tra_type *held) {
    if (tra_op_counts(output)) return tra_stored_room(held, output);
    int64_t spread = held->layout ? tra_store_chunk_bytes(held) + 63 : 0; /* a chunk that they are spread over */
    return spread + (p->compress ? tra_codec_scratch(held) : 0);
}

/* What workers need to read chunks of inputs and write those of outputs, and whose results go straight to a file. */
static void find_io(tra_plan *p, const edges *e) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        bool output = op->op == TRA_PLAN_OUTPUT, stage = !tra_op_is_read(op);
        op->orders.io = 0;
        op->orders.direct = output || (stage && streams_out(p, e, i));
        for (int side = 0; stage && side < 2 && op->in[side] >= 0; side++) {
            int f = e->file[op->in[side]];
            if (f >= 0) op->orders.io = tra_max64(op->orders.io, p->ops[f].what.scratch);
        }
        const tra_op *held = output ? &p->ops[op->in[0]] : op;
        if (op->orders.direct)
            op->orders.io = tra_max64(op->orders.io, io_of(p, output ? op : &p->ops[e->first[i]], &held->type));
        if (output && held->orders.direct) op->orders.io = 0;
    }
}

/* Does every tuple of one input of a join meet one of the other, wherever the first is? So it is where both are grids
 * and what is joined with a dimension reaches as far. */
static bool all_meet(const tra_plan *p, const tra_op *op, int side) {
    const tra_catalog *mine = p->ops[op->in[side]].type.cat, *other = p->ops[op->in[!side]].type.cat;
    const tra_dims *a = side == 0 ? &op->what.joinl : &op->what.joinr;
    const tra_dims *b = side == 0 ? &op->what.joinr : &op->what.joinl;
    if (!other->grid || other->n == 0) return false;
    for (int i = 0; i < a->n; i++) {
        if (mine->frontier.v[a->v[i]] > other->frontier.v[b->v[i]]) return false;
        for (int j = 0; j < i; j++) { /* one dimension of the other with two of these: their diagonal */
            if (b->v[i] == b->v[j] && a->v[i] != a->v[j]) return false;
        }
    }
    return true;
}

/* Does an axis of one input of a join leave on each of its sites something of all values that are joined, or those that
 * the other input has there? */
static bool axis_meets(const tra_op *op, int side, const tra_axis *mine, const tra_axis *other) {
    const tra_dims *a = side == 0 ? &op->what.joinl : &op->what.joinr;
    const tra_dims *b = side == 0 ? &op->what.joinr : &op->what.joinl;
    int64_t parts = 1;
    bool joined = false, alike = mine && mine->kind == TRA_AXIS_PART && mine->n == other->n;
    for (int d = 0; d < other->n; d++) {
        bool partner = false;
        parts = tra_mul_most(parts, other->ext[d]);
        for (int i = 0; i < b->n; i++) {
            if (b->v[i] != other->dim[d]) continue;
            joined = true;
            partner |= alike && a->v[i] == mine->dim[d] && mine->ext[d] == other->ext[d];
        }
        alike &= partner;
    }
    return joined ? alike : parts >= other->sites;
}

/* The same of copies, on each site that has one. */
static bool copies_meet(const tra_plan *p, const tra_op *op, int side) {
    const tra_placement *mine = &p->ops[op->in[side]].place, *other = &p->ops[op->in[!side]].place;
    if (mine->owner || other->owner || !all_meet(p, op, side)) return false;
    for (int x = 0; x < other->naxes; x++) {
        bool same = mine->naxes == other->naxes && mine->axis[x].sites == other->axis[x].sites;
        if (other->axis[x].kind == TRA_AXIS_PARTIAL) return false;
        if (other->axis[x].kind == TRA_AXIS_PART &&
            !axis_meets(op, side, same ? &mine->axis[x] : NULL, &other->axis[x]))
            return false;
    }
    return true;
}

/* Does it make something of all of its input, of which there may be tuples that are of no use to it? */
static bool takes_all(const tra_plan *p, const tra_op *op) {
    const tra_type *in = &p->ops[op->in[0]].type;
    tra_dims shape, part;
    if (tra_op_is(op->op, TRA_RENAMES)) return op->type.cat->n == in->cat->n;
    if (op->what.origin.n == 0) return true;
    tra_type_shape(in, &shape);
    tra_type_shape(&op->type, &part);
    for (int d = 0; d < shape.n; d++)
        if (op->what.origin.v[d] > 0 || op->what.origin.v[d] + part.v[d] < shape.v[d]) return false;
    return true;
}

/* Is all that the sites have of operator i's result read, of what is in a file? Where several sites were sent a tuple,
 * one may do without; but what goes to several is read to be sent. */
static bool all_read(const tra_plan *p, int i) {
    bool copies = tra_place_copies(&p->ops[i].place) > 1;
    if (copies && !tra_op_is_read(&p->ops[i])) return false;
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        bool sent = !copies && tra_op_is(op->op, TRA_FORWARDS) && tra_place_copies(&op->place) > 1;
        bool whole = op->in[0] < 0 || takes_all(p, op);
        bool moves = tra_op_is(op->op, TRA_EXCHANGES), made = !moves && !tra_op_is_view(op);
        if (copies && (moves || (made && tra_place_copies(&op->place) > 1))) continue; /* one site may do it for all */
        for (int side = 0; side < 2; side++) {
            if (op->in[side] != i) continue;
            bool meet = op->what.join && (copies ? copies_meet(p, op, side) : all_meet(p, op, side));
            if (op->what.join ? meet : sent || (whole && (!tra_op_shares(op) || all_read(p, j)))) return true;
        }
    }
    return false;
}

/* Tuples of op's result on all sites. */
static int64_t tuples_of(const tra_plan *p, const tra_op *op) {
    int64_t *floats = tra_calloc((size_t)p->sites * 2, sizeof *floats), *tuples = floats + p->sites, n = 0;
    tra_place_floats(&op->place, op->type.cat, floats, tuples);
    for (int s = 0; s < p->sites; s++) n = tra_add_most(n, tuples[s]);
    free(floats);
    return n;
}

/* An operator reads so much; what is read for an exchange that overlaps counts as the stage's that it ends with, and
 * what is read for a stage of a scan as the first's. */
static void add_read(tra_plan *p, int op, tra_size bytes) {
    int stage = p->ops[op].orders.ends, first = p->ops[stage].orders.scan.first;
    tra_size *read = &p->ops[first >= 0 ? first : stage].predicted.cost.disk_read;
    *read = tra_size_add(*read, bytes);
}

static bool reads_file(const edges *e, const tra_op *op, int side, int file) {
    return !tra_op_is_read(op) && op->in[side] >= 0 && e->file[op->in[side]] == file;
}

/* Bytes of files that reading all tuples of a relation once takes, or writing them: whole chunks, or what is held of
 * those that are stored by levels. */
static tra_size file_bytes(const tra_type *t, bool levels, int64_t tuples) {
    if (!levels) return tra_size_times(tra_size_exactly(tra_store_chunk_bytes(t)), tuples);
    int64_t n = t->cat->n;
    if (n > 0 && tuples % n == 0) return tra_size_times(tra_type_bytes_all(t), tuples / n);
    return tra_size_about((double)tra_type_bytes_all(t).expected / (double)tra_max64(1, n) * (double)tuples,
                          tra_mul_most(tra_type_bytes_largest(t).bound, tuples));
}

/* Where everything stays in memory each site reads its tuples of an input once, for the first operator that wants them.
 * Which that is of several is a guess. */
static void predict_input(tra_plan *p, const edges *e, int i) {
    const tra_type *t = &p->ops[i].type;
    tra_size bytes = file_bytes(t, t->layout, tuples_of(p, &p->ops[i]));
    int readers = 0;
    if (!all_read(p, i)) bytes.exact = false;
    p->cost.disk_read = tra_size_add(p->cost.disk_read, bytes);
    for (int j = i + 1; j < p->nops; j++) readers += reads_file(e, &p->ops[j], 0, i) || reads_file(e, &p->ops[j], 1, i);
    if (readers == 0) add_read(p, i, bytes);
    if (readers > 1 && !tra_scan_is_whole(p, i)) bytes.exact = false;
    for (int j = i + 1; j < p->nops; j++) {
        if (!reads_file(e, &p->ops[j], 0, i) && !reads_file(e, &p->ops[j], 1, i)) continue;
        add_read(p, j, bytes);
        if (tra_scan_is_whole(p, i)) break;
        bytes.expected = 0; /* of those that come after */
    }
}

/* Where blocks leave memory every operator reads its inputs anew, as often as its block loop says: a bound, since some
 * may still be there. */
static void predict_rereads(tra_plan *p, const edges *e, int i, int threads, int64_t budget) {
    const tra_op *op = &p->ops[i];
    for (int side = 0; side < 2; side++) {
        int f = op->in[side] >= 0 ? e->file[op->in[side]] : -1;
        if (f < 0 || !reads_file(e, op, side, f)) continue;
        const tra_op *src = &p->ops[op->in[side]];
        while (tra_op_is(src->op, TRA_SPLITS)) src = &p->ops[src->in[0]]; /* each array is read once for its tiles */
        int64_t n = op->op == TRA_PLAN_REPART
                        ? tra_repart_reads(p, op, budget)
                        : tra_mul_most(tuples_of(p, src), tra_op_passes(p, op, side, threads, budget));
        tra_size bytes = file_bytes(&p->ops[f].type, p->ops[f].type.layout, n);
        bytes =
            p->ops[f].type.layout ? tra_size_about((double)bytes.expected, bytes.bound) : tra_size_upto(bytes.bound);
        bool again = side == 1 && op->in[0] == op->in[1];
        again |= tra_scan_reads(p, op, side) && op->orders.scan.first < i;
        if (again) bytes.expected = 0; /* most of it is there from the other side, or for another stage of the scan */
        add_read(p, i, bytes);
        p->cost.disk_read = tra_size_add(p->cost.disk_read, bytes);
    }
}

/* Bytes of inputs that are read. budget 0: everything stays in memory. */
static void predict_reads(tra_plan *p, const edges *e, int threads, int64_t budget) {
    for (int i = 0; i < p->nops; i++) {
        if (budget)
            predict_rereads(p, e, i, threads, budget);
        else if (tra_op_is(p->ops[i].op, TRA_READS))
            predict_input(p, e, i);
    }
}

/* Units that the maker queues before it waits, of so many bytes of stored inputs, with those that have just ended. */
static int64_t queued(int64_t bytes, int threads) {
    return tra_min64(TRA_LOOKAHEAD, TRA_LOOKAHEAD_BYTES / tra_max64(1, bytes) + 2 * threads + 1);
}

/* Units of a join's or aggregation's loop that are queued at once. */
static int64_t steps_queued(const tra_plan *p, const tra_op *op, tra_block_loop l, int threads) {
    int64_t right = op->in[1] >= 0 ? l.cj * tra_op_stored_room(p, &p->ops[op->in[1]]) : 0;
    return queued(l.ci * tra_op_stored_room(p, &p->ops[op->in[0]]) + right, threads);
}

/* Bytes of op's result on the fullest site, as memory is counted (tra_size_planned), and *most, the most tuples on one;
 * *takes: the bytes that it is expected to have, and those that it has at most, whatever comes. */
static int64_t result_here(const tra_plan *p, const tra_op *op, int64_t *most, tra_size *takes) {
    int64_t *floats = tra_malloc(2 * (size_t)p->sites * sizeof *floats), *tuples = floats + p->sites, here = 0;
    int64_t more = tra_type_room(&op->type) - tra_type_bytes_largest(&op->type).bound; /* that a block takes */
    int64_t unpacks = op->orders.fused ? 0 : tra_op_unpacks(p, op);                    /* of all at once, perhaps */
    tra_place_floats(&op->place, op->type.cat, floats, tuples);
    *most = 0;
    *takes = tra_size_exactly(0);
    for (int s = 0; s < p->sites; s++) {
        tra_size all = tra_type_bytes_of(&op->type, floats[s]); /* all entries may be this site's */
        int64_t bytes = tra_min64(all.bound, tra_type_bytes_pieces(&op->type, floats[s], tuples[s]).bound);
        here = tra_max64(
            here, tra_max64(tra_add_most(bytes, tra_mul_most(tuples[s], more)), tra_mul_most(tuples[s], unpacks)));
        int64_t besides = tra_mul_most(tuples[s], tra_max64(0, more));
        takes->bound = tra_max64(takes->bound, tra_add_most(bytes, besides));
        takes->exact = takes->exact && all.expected >= bytes;
        takes->expected = tra_max64(takes->expected, tra_add_most(tra_min64(all.expected, bytes), besides));
        *most = tra_max64(*most, tuples[s]);
    }
    free(floats);
    if (tra_op_is(op->op, TRA_FORWARDS) && tra_place_is_partial(&p->ops[op->in[0]].place))
        here = tra_mul_most(here, tra_place_summands(&p->ops[op->in[0]].place));
    takes->bound = tra_max64(takes->bound, here);
    if (takes->exact) takes->expected = takes->bound;
    return here;
}

/* Bytes of results, and of what is computed on the way, that may be under way at once besides what a stage cannot do
 * without, where there is room: of `here` bytes of results that a site makes in all. */
static int64_t under_way(const tra_plan *p, const tra_op *op, bool held, int64_t here, int threads, int64_t budget) {
    enum { BACKGROUND = 8 }; /* are written in the background */
    if (tra_op_is(op->op, TRA_STREAMS)) {
        int64_t out = tra_type_room(&op->type), units = queued(tra_op_stored_room(p, &p->ops[op->in[0]]), threads);
        return tra_min64(2 * here, (units + BACKGROUND) * 2 * out); /* computed, then copied */
    }
    if (!tra_op_is(op->op, TRA_LOOPS)) return held ? 0 : here;
    tra_block_loop l = tra_op_loop(p, op, threads, budget);
    int64_t steps = steps_queued(p, op, l, threads), n = 0;
    for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
        const tra_op *in = &p->ops[op->in[side]];
        int64_t each = tra_op_read_room(p, in) - tra_op_stored_room(p, in), most;
        tra_size takes;
        result_here(p, in, &most, &takes);
        n += each * tra_min64(steps * (side == 0 ? l.ci : l.cj), most);
    }
    if (held || !op->type.cat->grid) return n + (held ? 0 : here);
    int64_t super = tra_min64(here, l.ci * l.cj * tra_op_output_room(p, op, threads)); /* all with a step queued */
    return n + tra_min64(here, (steps + BACKGROUND) * super);
}

/* The same of what the stages of a scan alone read: from the block that the last reads to that of the first, which has
 * some steps queued. */
static int64_t held_of_scan(const tra_plan *p, int i, int64_t here, int threads, int64_t budget) {
    int64_t n = 0;
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *op = &p->ops[j];
        if (op->orders.scan.input != i) continue;
        tra_block_loop loop = tra_op_loop(p, op, threads, budget);
        int64_t steps = steps_queued(p, op, loop, threads) + tra_scan_lead(threads);
        for (int side = 0; side < 2; side++) {
            int64_t arrays = steps * (side == 0 ? loop.ci : loop.cj);
            if (tra_scan_reads(p, op, side)) n = tra_max64(n, arrays * tra_op_stored_room(p, &p->ops[op->in[side]]));
        }
    }
    return tra_min64(here, n);
}

/* Of `here` bytes of a file that a site reads, those that are held at once: what one stage alone reads, and once,
 * leaves when the stage has done with it. */
static int64_t held_of_input(const tra_plan *p, int i, int64_t here, int threads, int64_t budget) {
    int readers = 0, at = i, side = 0;
    bool many = false;
    if (tra_scan_is_whole(p, i)) return held_of_scan(p, i, here, threads, budget);
    for (int j = i + 1; j < p->nops; j++) {
        for (int k = 0; k < 2 && p->ops[j].in[k] >= 0 && !tra_op_is_view(&p->ops[j]); k++) {
            if (tra_op_holder(p, p->ops[j].in[k], &many) == i) readers++, at = j, side = k;
        }
    }
    const tra_op *op = &p->ops[at];
    if (readers != 1 || !p->ops[i].type.cat->grid || !tra_op_reads_alone(p, op, side)) return here;
    int64_t unit = tra_op_stored_room(p, &p->ops[op->in[side]]), units = queued(unit, threads);
    if (tra_op_is(op->op, TRA_LOOPS)) {
        if (tra_op_passes(p, op, side, threads, budget) > 1) return here;
        if (tra_op_meets(p, op, side) > 1) return here;
        tra_block_loop loop = tra_op_loop(p, op, threads, budget);
        unit *= side == 0 ? loop.ci : loop.cj;
        units = steps_queued(p, op, loop, threads);
    } else if (tra_op_is(op->op, TRA_GATHERS) || (tra_op_is(op->op, TRA_EXCHANGES) && p->sites > 1)) {
        return here;
    }
    return tra_min64(here, units * unit);
}

/* Bytes of results that live while an operator runs, on the fullest site. */
typedef struct living {
    int64_t all;    /* as if blocks that were read stayed while there is room */
    int64_t lean;   /* less: what one stage reads alone, and once, leaves */
    int64_t made;   /* without what can be read again from files: what may be spilled; */
    int64_t likely; /* the same of results that have the bytes that are expected */
    int64_t panels; /* of a stage: of results that it has under way, and that go to a file */
} living;

static void living_add(living *to, const living *x, int64_t times) {
    to->all = tra_add_most(to->all, times * x->all);
    to->lean = tra_add_most(to->lean, times * x->lean);
    to->made = tra_add_most(to->made, times * x->made);
    to->likely = tra_add_most(to->likely, times * x->likely);
}

/* Which exchanges overlap stages: all where everything has room. wish: bytes that the plan takes otherwise.
 * Returns what they take besides. */
static int64_t choose_overlaps(tra_plan *p, int threads, const living *held, int64_t wish, int64_t budget) {
    int64_t *bytes = tra_calloc((size_t)p->nops + 1, sizeof *bytes);
    for (int i = 0; i < p->nops; i++) bytes[i] = held[i].all;
    int64_t need = tra_overlap_all(p, bytes);
    p->rereads = p->memory > 0 && wish + need > p->memory;
    if (p->rereads) need = tra_overlap_some(p, bytes, threads, budget);
    free(bytes);
    return need;
}

/* Adds to what lives while each operator runs (made: results alone) what exchanges that overlap it send and bring.
 * Blocks that one sends do not leave when the stage has read them. */
static void live_overlapping(const tra_plan *p, const living *held, living *wish) {
    for (int j = 0; j < p->nops; j++) {
        const tra_op *x = &p->ops[j];
        int from = x->in[0];
        while (from >= 0 && tra_op_is_view(&p->ops[from])) from = p->ops[from].in[0];
        for (int i = x->orders.begins; i < j; i++) living_add(&wish[i], &held[j], 1);
        for (int i = j + 1; i <= x->orders.ends; i++) {
            living_add(&wish[i], &held[from], 1);
            wish[i].lean = wish[i].all;
        }
    }
    for (int i = 0; i < p->nops; i++)
        wish[i].all += p->ops[i].orders.reserved, wish[i].lean += p->ops[i].orders.reserved;
}

/* Bytes of the results under way at once that go straight to a file and grow, if they may need more than is counted on:
 * panels of them wait in scratch then (grow.h). */
static int64_t panels_of(const tra_plan *p, const edges *e, int i, int64_t here, int threads, int64_t budget) {
    const tra_op *op = &p->ops[i];
    tra_type sum = op->type;
    bool counted = op->what.join && !op->what.agg;
    if (!op->type.layout || tra_op_is(op->op, TRA_EXCHANGES) || !(tra_op_grows(op) || counted)) return 0;
    if (!streams_out(p, e, i) || !tra_op_is(op->op, TRA_LOOPS)) return 0;
    if (op->what.agg) sum.dtype = tra_op_state_dtype(p, op);
    tra_size largest = tra_type_bytes_largest(&sum);
    if (tra_size_planned(largest) >= largest.bound) return 0;
    tra_block_loop loop = tra_op_loop(p, op, threads, budget);
    int64_t result = tra_max64(1, tra_type_bytes_largest(&op->type).bound);
    int64_t most = tra_mul_most(here, tra_ceil_div(largest.bound, result));
    return tra_min64(most, tra_mul_most(loop.ci * loop.cj, largest.bound));
}

static void predict_spills(tra_plan *p, const living *wish, int threads, int64_t budget) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        if (tra_op_is_read(op)) continue;
        int64_t more = tra_op_memory(p, op, threads) + op->orders.reserved + op->orders.scan.reserved - budget;
        int64_t made = tra_add_most(wish[i].made, wish[i].panels);
        op->predicted.spill = tra_max64(0, tra_min64(made, made > TRA_SIZE_MOST ? made : made + more));
        p->scratch = tra_max64(p->scratch, op->predicted.spill);
        int64_t likely = tra_max64(0, tra_min64(wish[i].likely, wish[i].likely + more));
        p->scratch_expected = tra_max64(p->scratch_expected, tra_min64(likely, op->predicted.spill));
    }
}

static int64_t predict(tra_plan *p, int threads) {
    int64_t base = tra_memory_base(p, threads), least = base + TRA_LEAST_BUDGET;
    int64_t budget = p->memory > 0 ? p->memory - base : INT64_MAX / 4;
    /* what waits in scratch: encoded chunks, none longer than the chunk, and what goes to levels */
    int64_t spool = 0, likely = 0;
    living *held = tra_calloc(2 * (size_t)p->nops + 1, sizeof *held); /* of each operator */
    living *wish = held + p->nops, now = {0};
    int64_t peak = least;
    edges e = find_edges(p);
    choose_fused(p, &e);
    find_files(p, &e);
    views_hold(p, &e);
    find_io(p, &e);
    p->cost.disk_read = p->cost.disk_write = tra_size_exactly(0);
    p->scratch = p->scratch_expected = p->kept = 0;
    p->rereads = false;
    tra_overlap_none(p);
    tra_scan_choose(p, threads, budget);
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        tra_size takes;
        int64_t tuples, here = result_here(p, op, &tuples, &takes);
        bool stage = !tra_op_is_read(op);
        op->predicted.cost.disk_read = op->predicted.cost.disk_write = tra_size_exactly(0);
        op->predicted.spill = 0;
        op->predicted.least_memory = base;
        bool early = op->orders.scan.first >= 0 && op->orders.scan.first < i; /* with the first of its scan */
        if (tra_op_is(op->op, TRA_READS))
            held[i] = (living){tra_scan_is_whole(p, i) ? held_of_input(p, i, here, threads, budget) : here,
                               held_of_input(p, i, here, threads, budget), 0, 0, 0};
        else if (stage && op->op != TRA_PLAN_OUTPUT && !streams_out(p, &e, i))
            held[i] = (living){here, here, takes.bound, takes.expected, 0};
        if (!early) living_add(&now, &held[i], 1);
        for (int j = i + 1; op->orders.scan.first == i && j < p->nops; j++) {
            int64_t n;
            tra_size their_size;
            if (p->ops[j].orders.scan.first != i || streams_out(p, &e, j)) continue;
            int64_t theirs = result_here(p, &p->ops[j], &n, &their_size);
            living_add(&now, &(living){theirs, theirs, their_size.bound, their_size.expected, 0}, 1);
        }
        if (stage) {
            int64_t mine = tra_op_memory(p, op, threads);
            op->predicted.least_memory = base + mine;
            least = tra_max64(least, base + mine);
            int64_t most =
                base + mine + op->orders.scan.reserved + under_way(p, op, held[i].all > 0, here, threads, budget);
            wish[i] = (living){most + now.all, most + now.lean, now.made, now.likely,
                               panels_of(p, &e, i, takes.bound, threads, budget)};
            peak = tra_max64(peak, wish[i].all);
            p->kept = tra_max64(p->kept, now.made);
        }
        if (op->op == TRA_PLAN_OUTPUT) {
            const tra_type *t = &p->ops[op->in[0]].type;
            tra_size *write = &op->predicted.cost.disk_write;
            const tra_mapping_use *m = op->what.mapping;
            *write = m ? tra_size_exactly(m->all) : file_bytes(t, tra_op_counts(op), op->type.cat->n);
            p->cost.disk_write = tra_size_add(p->cost.disk_write, *write);
            tra_size waits = tra_size_exactly(0);
            if (m) /* what is packed, and how many entries that are */
                waits = tra_size_exactly(tra_min64(m->all, tra_mul_most(m->largest, tuples)) + 8 * tuples);
            else if (p->compress || tra_op_counts(op))
                waits = file_bytes(t, tra_op_counts(op), tuples);
            spool = tra_add_most(spool, waits.bound);
            likely = tra_add_most(likely, waits.expected);
        }
        int done[3] = {i, op->in[0], op->in[1] == op->in[0] ? -1 : op->in[1]}; /* what nobody uses after this */
        for (int k = 0; k < 3; k++)
            if (done[k] >= 0 && e.last[done[k]] <= i) living_add(&now, &held[done[k]], -1);
    }
    int64_t overlap = choose_overlaps(p, threads, held, peak, budget);
    live_overlapping(p, held, wish);
    predict_spills(p, wish, threads, budget);
    p->scratch = tra_add_most(p->scratch, spool);
    p->scratch_expected = tra_add_most(p->scratch_expected, likely);
    p->rereads = p->memory > 0 && peak + overlap > p->memory;
    predict_reads(p, &e, threads, p->rereads ? budget : 0);
    int64_t in_use = base + TRA_LEAST_BUDGET, most = p->memory > 0 ? tra_max64(p->memory, least) : INT64_MAX;
    for (int i = 0; i < p->nops; i++) {
        in_use = tra_max64(in_use, wish[i].lean);
        p->ops[i].predicted.cost.peak_memory = tra_min64(in_use, most);
    }
    p->cost.peak_memory = tra_min64(in_use, most);
    free_edges(&e);
    free(held);
    return least;
}

int64_t tra_plan_memory(tra_plan *p, int threads) {
    p->slim = false;
    int64_t roomy = predict(p, threads), slim = roomy;
    bool fused = false;
    for (int i = 0; i < p->nops; i++) fused |= p->ops[i].orders.fused;
    if (fused) {
        p->slim = true;
        slim = predict(p, threads);
        p->slim = slim < roomy && p->memory > 0 && p->memory < roomy;
        if (!p->slim) predict(p, threads);
    }
    int64_t planning = tra_memory_start(p) + p->planning;
    p->cost.peak_memory = tra_max64(p->cost.peak_memory, planning);
    return tra_max64(planning, tra_min64(slim, roomy));
}

int64_t tra_exchange_scratch(const tra_plan *p) {
    int64_t most = 0;
    for (int i = 0; i < p->nops; i++) most = tra_max64(most, p->ops[i].predicted.cost.network_bytes.bound);
    return tra_ceil_div(most, p->sites);
}
