/* memory.c - which results are fused or written directly, and what a plan as a whole takes of memory and scratch. */
#include "memory_int.h"

#include "../storage/mapped.h"
#include "../tablefile/table_file.h"
#include "scan.h"

#include <stdlib.h>

/* Finds from which file reading each result reads: blocks that an exchange leaves on their site are still a file's. */
static void find_files(const tra_plan *p, tra_edges *e) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (tra_op_is(op->op, TRA_READS))
            e->file[i] = i;
        else if (tra_op_shares_blocks(op) && !tra_place_is_partial(&p->ops[op->in[0]].place))
            e->file[i] = e->file[op->in[0]];
    }
}

/* Are the results written to their file as they are computed, and never held? */
static bool streams_out(const tra_plan *p, const tra_edges *e, int i) {
    const tra_op *op = &p->ops[i];
    if (tra_op_exchanges(op) || tra_op_is(op->op, TRA_FORWARDS)) return false; /* the last value of a state is there */
    return e->uses[i] == 1 && p->ops[e->first[i]].op == TRA_PLAN_OUTPUT;
}

int64_t tra_type_room(const tra_type *t) { return tra_block_footprint(tra_size_planned(tra_type_bytes_largest(t))); }

/* Bytes of scratch memory that a worker needs to write results of type `held` to this output. */
static int64_t io_of(const tra_plan *p, const tra_op *output, const tra_type *held) {
    if (output->type.bounded && !output->type.columns) return 0; /* blocks wait as they are */
    if (tra_op_counts_first(output)) return tra_stored_room(held, output);
    int64_t spread = held->layout ? tra_store_chunk_bytes(held) + 63 : 0; /* a sparse array is made a dense chunk */
    return spread + (p->compress ? tra_codec_scratch(held) : 0);
}

/* Bytes of a panel of the results, if these go to their file in panels when memory is short. */
static int64_t panel_of(const tra_plan *p, const tra_edges *e, int i) {
    return streams_out(p, e, i) ? tra_op_panel(p, &p->ops[i], &p->ops[e->first[i]]) : 0;
}

/* Sets method.direct, method.panel, and what workers need to read inputs and to write chunks of outputs. */
static void find_io(tra_plan *p, const tra_edges *e) {
    for (int i = 0; i < p->nops; i++)
        p->ops[i].method.panel = 0, p->ops[i].method.waits = p->ops[i].method.terms = INT64_MAX;
    for (int i = 0; i < p->nops; i++) {
        int64_t panel = panel_of(p, e, i);
        if (panel && !p->panels) panel = tra_op_makes_strips(p, &p->ops[i]) ? tra_max64(panel, TRA_STRIP_BYTES) : 0;
        if (panel) p->ops[i].method.panel = p->ops[e->first[i]].method.panel = panel;
    }
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        bool output = op->op == TRA_PLAN_OUTPUT, stage = tra_op_is_stage(op);
        op->method.io_bytes = 0;
        op->method.direct = output || (stage && streams_out(p, e, i));
        op->method.scratch_bytes = stage ? tra_op_derive_scratch(p, op) : 0;
        for (int side = 0; stage && side < 2 && op->in[side] >= 0; side++) {
            int f = e->file[op->in[side]];
            if (f >= 0) op->method.io_bytes = tra_max64(op->method.io_bytes, p->ops[f].spec.read_scratch);
            const tra_op *in = &p->ops[op->in[side]];
            while (tra_op_is(in->op, TRA_RENAMES)) in = &p->ops[in->in[0]];
            int64_t derive = in->method.fused ? tra_op_derive_scratch(p, in) : 0;
            op->method.scratch_bytes = tra_max64(op->method.scratch_bytes, derive);
        }
        const tra_op *held = output ? &p->ops[op->in[0]] : op;
        if (op->method.direct)
            op->method.io_bytes =
                tra_max64(op->method.io_bytes, io_of(p, output ? op : &p->ops[e->first[i]], &held->type));
        if (output && held->method.direct) op->method.io_bytes = 0;
    }
}

/* Bytes that a queued unit holds of one tuple of an input. A dense array that is computed on reading has its own block
 * besides the stored one. */
static int64_t queued_room(const tra_plan *p, const tra_op *in) {
    const tra_op *made = in;
    while (tra_op_is(made->op, TRA_RENAMES)) made = &p->ops[made->in[0]];
    return made->method.fused && !in->type.layout ? tra_op_read_room(p, in) : tra_op_stored_room(p, in);
}

/* Units of a join's or aggregation's loop that are queued at once. */
static int64_t steps_queued(const tra_plan *p, const tra_op *op, tra_block_loop l, int threads) {
    int64_t right = op->in[1] >= 0 ? l.cj * queued_room(p, &p->ops[op->in[1]]) : 0;
    const tra_op *in = &p->ops[op->in[0]];
    return tra_units_queued(l.ci * (tra_op_adds(p, op) ? tra_op_stored_room(p, in) : queued_room(p, in)) + right,
                            threads);
}

tra_op_holds tra_op_holds_of(const tra_type *t, const tra_placement *place) {
    tra_site_kind *v;
    tra_op_holds x = {.takes = tra_size_exactly(0), .room = tra_type_room(t)};
    tra_size largest = tra_type_bytes_largest(t);
    int64_t more = tra_max64(0, x.room - largest.bound); /* what a block adds to its array */
    for (int i = tra_place_kinds(place, t->cat, &v) - 1; i >= 0; i--) {
        int64_t floats = v[i].floats, tuples = v[i].tuples;
        tra_size all = tra_type_bytes_of(t, floats); /* all entries may be this site's */
        int64_t bytes = tra_min64(all.bound, tra_type_bytes_pieces(t, floats, tuples).bound);
        int64_t besides = tra_mul_most(tuples, more);
        tra_size here = {.expected = tra_min64(all.expected, bytes), .bound = bytes, .firm = largest.firm};
        here.exact = all.expected >= bytes;
        int64_t planned = tra_add_most(tra_size_planned(here), besides);
        x.arrays = tra_max64(x.arrays, tra_min64(planned, tra_mul_most(tuples, x.room)));
        x.takes.bound = tra_max64(x.takes.bound, tra_add_most(bytes, besides));
        x.takes.exact = x.takes.exact && here.exact;
        x.takes.expected = tra_max64(x.takes.expected, tra_add_most(here.expected, besides));
        x.most = tra_max64(x.most, tuples);
    }
    free(v);
    return x;
}

/* Bytes of op's result on the fullest site, as memory is planned. *takes: the expected bytes and their bound. */
static int64_t result_here(const tra_plan *p, const tra_op *op, tra_size *takes) {
    const tra_op_holds *x = op->holds;
    int64_t unpacks = op->method.fused ? 0 : tra_op_unpacks(p, op); /* perhaps of all blocks at once */
    int64_t here = tra_max64(x->arrays, tra_mul_most(x->most, unpacks));
    if (tra_op_is(op->op, TRA_FORWARDS) && tra_place_is_partial(&p->ops[op->in[0]].place))
        here = tra_mul_most(here, tra_place_summands(&p->ops[op->in[0]].place));
    *takes = x->takes;
    takes->bound = tra_max64(takes->bound, here);
    if (takes->exact) takes->expected = takes->bound;
    return here;
}

/* Bytes that a stage uses where there is room, beyond its least memory: for results that are being made or written, and
 * for inputs that are computed on reading. held: the results stay in memory; here: bytes of all results of a site. */
static int64_t under_way(const tra_plan *p, const tra_op *op, bool held, int64_t here, int threads, int64_t budget) {
    if (op->op == TRA_PLAN_OUTPUT && op->method.panel)
        return threads * op->method.panel; /* it is read back in pieces */
    if (tra_op_is(op->op, TRA_STREAMS) || op->method.gathers) {
        int64_t out = tra_op_room(op), units = tra_units_queued(tra_op_stored_room(p, &p->ops[op->in[0]]), threads);
        return tra_min64(2 * here, (units + TRA_WRITES) * 2 * out); /* computed, then copied */
    }
    if (!tra_op_is(op->op, TRA_LOOPS)) return held ? 0 : here;
    tra_block_loop l = tra_op_loop(p, op, threads, budget);
    int64_t steps = steps_queued(p, op, l, threads), n = 0;
    if (tra_op_adds(p, op)) n = (tra_op_sums(p, op, threads, budget) - 1) * tra_op_output_room(p, op, threads);
    for (int side = 0; side < 2 && op->in[side] >= 0 && !tra_op_adds(p, op); side++) {
        const tra_op *in = &p->ops[op->in[side]];
        int64_t each = tra_op_read_room(p, in) - tra_op_stored_room(p, in);
        n += each * tra_min64(steps * (side == 0 ? l.ci : l.cj), p->ops[op->in[side]].holds->most);
    }
    int64_t states = tra_mul_most(op->holds->most, tra_op_state_room(p, op));
    if (op->method.panel && !p->panels) here = tra_min64(here, tra_mul_most(op->holds->most, op->method.panel));
    here = tra_add_most(held ? 0 : here, states);
    if (!op->type.cat->grid) return tra_add_most(n, here);
    int64_t super = tra_min64(here, l.ci * l.cj * tra_op_output_room(p, op, threads)); /* outputs of a super-block */
    return n + tra_min64(here, (steps + TRA_WRITES) * super);
}

/* Bytes of copies of all operands of a sum that is made in strips, and of these in order. */
static int64_t terms_room(const tra_plan *p, const tra_op *op, int64_t budget) {
    int64_t l = p->ops[op->in[0]].holds->arrays, r = p->ops[op->in[1]].holds->arrays, both = tra_add_most(l, r);
    int64_t held = tra_min64(op->in[0] == op->in[1] ? l : both, budget / TRA_HELD_SHARE);
    return tra_add_most(held, tra_mul_most(2, tra_min64(both, tra_mul_most(2, held))));
}

/* Bytes of an input that are in memory at once, of `here` on a site, when only the stages of one scan read it: from the
 * block that the last stage reads to the block of the first stage's last queued step. */
static int64_t held_of_scan(const tra_plan *p, int i, int64_t here, int threads, int64_t budget) {
    int64_t n = 0;
    for (tra_read r = {-1, 0}; tra_next_read(p, i, tra_op_is_view, &r);) {
        const tra_op *op = &p->ops[r.op];
        if (op->method.scan.input != i || !tra_scan_reads(p, op, r.side)) continue;
        tra_block_loop loop = tra_op_loop(p, op, threads, budget);
        int64_t steps = steps_queued(p, op, loop, threads) + tra_scan_lead(threads);
        int64_t arrays = steps * (r.side == 0 ? loop.ci : loop.cj);
        n = tra_max64(n, arrays * tra_op_stored_room(p, &p->ops[op->in[r.side]]));
    }
    return tra_min64(here, n);
}

/* Bytes of an input that are in memory at once, of `here` bytes on a site: all, unless a single stage reads it once;
 * then the blocks of that stage's units in flight. */
static int64_t held_of_input(const tra_plan *p, int i, int64_t here, int threads, int64_t budget) {
    int readers = 0, at = i, side = 0;
    if (tra_scan_is_whole(p, i)) return held_of_scan(p, i, here, threads, budget);
    for (tra_read r = {-1, 0}; readers < 2 && tra_next_read(p, i, tra_op_shares_blocks, &r);)
        if (!tra_op_is_view(&p->ops[r.op])) readers++, at = r.op, side = r.side;
    const tra_op *op = &p->ops[at];
    if (readers != 1 || !p->ops[i].type.cat->grid || !tra_op_is_only_block_reader(p, op, side, false)) return here;
    int64_t unit = tra_op_stored_room(p, &p->ops[op->in[side]]), units = tra_units_queued(unit, threads);
    if (tra_op_is(op->op, TRA_LOOPS)) {
        if (tra_op_passes(p, op, side, threads, budget) > 1) return here;
        if (tra_op_meets(p, op, side) > 1) return here;
        tra_block_loop loop = tra_op_loop(p, op, threads, budget);
        unit *= side == 0 ? loop.ci : loop.cj;
        units = steps_queued(p, op, loop, threads);
    } else if (tra_op_gathers(p, op) || (tra_op_exchanges(op) && p->sites > 1)) {
        return here;
    }
    return tra_min64(here, units * unit);
}

/* Bytes on the fullest site: of an operator's result, of all results that are held at one point of the plan, or of all
 * that a stage uses. */
typedef struct held_bytes {
    int64_t all;       /* if blocks of inputs stay in memory after they were read */
    int64_t least;     /* if they leave as soon as no stage will read them again */
    int64_t spillable; /* bound of what cannot be read again from a file, and is spilled where it does not fit; */
    int64_t expected;  /* the same for results of the expected size */
    int64_t panels;    /* of a stage: bound of the panels of its results that wait in scratch (grow.h) */
    int64_t touched;   /* what is expected to be in memory if there is room */
    int64_t told;      /* of a stage: the peak that is told, which has no memory that is reserved and not used */
} held_bytes;

static void held_add(held_bytes *to, const held_bytes *x, int64_t times) {
    to->all = tra_add_most(to->all, times * x->all);
    to->least = tra_add_most(to->least, times * x->least);
    to->spillable = tra_add_most(to->spillable, times * x->spillable);
    to->expected = tra_add_most(to->expected, times * x->expected);
    to->touched = tra_add_most(to->touched, times * x->touched);
}

/* Decides which exchanges overlap stages. Returns the bytes that this adds. */
static int64_t choose_overlaps(tra_plan *p, int threads, const held_bytes *held, int64_t peak, int64_t budget) {
    int64_t *bytes = tra_calloc((size_t)p->nops + 1, sizeof *bytes);
    for (int i = 0; i < p->nops; i++) bytes[i] = held[i].all;
    int64_t need = tra_overlap_choose(p, bytes, threads, peak, budget);
    free(bytes);
    return need;
}

/* Adds to the bytes of each stage those that exchanges which overlap it send and receive. Blocks that such an exchange
 * sends stay in memory when the stage has read them. */
static void add_overlapping(const tra_plan *p, const held_bytes *held, held_bytes *during) {
    for (int j = 0; j < p->nops; j++) {
        bool many = false;
        int end = p->ops[j].method.ends, from = end > j ? tra_op_viewed(p, p->ops[j].in[0], &many) : -1;
        for (int i = j + 1; i <= end; i++) {
            held_add(&during[i], &held[from], 1);
            during[i].least = during[i].told = during[i].all;
        }
    }
    for (int i = 0; i < p->nops; i++) {
        int64_t reserved = p->ops[i].method.reserved;
        during[i].all += reserved, during[i].least += reserved, during[i].told += reserved;
    }
}

/* Bytes that a stage may reserve in addition to its least memory, which has room for one result: while several
 * super-blocks are queued, each reserves memory for its own results, and blocks of others are spilled to make room. */
static int64_t reserved_for_more(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    if (!tra_op_is(op->op, TRA_LOOPS) || !(tra_op_grows(op) || (!op->spec.agg && op->type.layout))) return 0;
    tra_block_loop loop = tra_op_loop(p, op, threads, budget);
    int64_t n = tra_min64(op->type.cat->n, (steps_queued(p, op, loop, threads) + 1) * loop.ci * loop.cj);
    return tra_op_grown_together(p, op, n) - tra_op_grown_together(p, op, 1);
}

/* Predicts what each stage spills. base: bytes of a process besides blocks, which least_memory includes. */
static void predict_spills(tra_plan *p, const held_bytes *during, int threads, int64_t base, int64_t budget) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        if (!tra_op_is_stage(op)) continue;
        int64_t more = op->predicted.least_memory - base + op->method.reserved + op->method.scan.reserved - budget;
        int64_t made = tra_add_most(during[i].spillable, during[i].panels);
        int64_t most = more + reserved_for_more(p, op, threads, budget);
        op->predicted.spill = tra_max64(0, tra_min64(made, made > TRA_SIZE_MOST ? made : made + most));
        p->scratch = tra_max64(p->scratch, op->predicted.spill);
        int64_t likely = tra_max64(0, tra_min64(during[i].expected, during[i].expected + more));
        p->scratch_expected = tra_max64(p->scratch_expected, tra_min64(likely, op->predicted.spill));
        /* scratch must have room for what bounds leave; seconds are told by what is expected to be in memory */
        int64_t over = during[i].least > budget ? tra_max64(0, during[i].touched - budget) : 0;
        op->predicted.spill_likely = tra_min64(over, tra_min64(during[i].expected, op->predicted.spill));
    }
}

/* Does a turn of a loop, or several, read what operator i, outside of the loop, has? */
static bool is_read_each_turn(const tra_plan *p, int i) {
    for (tra_read r = {-1, 0}; p->nloops > 0 && tra_next_read(p, i, tra_op_shares_blocks, &r);)
        if (tra_op_is_outside(p, p->ops[r.op].in[r.side], r.op)) return true;
    return false;
}

/* The state of the walk over a plan. */
typedef struct walk {
    int threads;
    int64_t base, budget; /* bytes that a process holds besides blocks; bytes for blocks */
    tra_edges e;
    held_bytes *held;    /* bytes of each operator's result */
    held_bytes *during;  /* bytes while each stage runs, with what it uses itself */
    held_bytes now;      /* results that are held at this point of the plan */
    int64_t least, peak; /* lowest ceiling under which the stages so far run; most bytes that one of them may use */
    tra_size spool;      /* of outputs that wait in scratch until all of their tuples have a place */
} walk;

/* The bytes that are held of the result of operator i when a site makes or reads `here` bytes of it. */
static held_bytes held_of(const tra_plan *p, const walk *w, int i, int64_t here, const tra_size *takes) {
    const tra_op *op = &p->ops[i];
    if (tra_op_is(op->op, TRA_READS)) {
        int64_t least = held_of_input(p, i, here, w->threads, w->budget);
        bool once = tra_scan_is_whole(p, i) && !is_read_each_turn(p, i);
        return (held_bytes){once ? least : here, least, 0, 0, 0, is_read_each_turn(p, i) ? here : least, 0};
    }
    if (!tra_op_is_stage(op) || op->op == TRA_PLAN_OUTPUT || tra_op_is_end_of_turn(op->op) || streams_out(p, &w->e, i))
        return (held_bytes){0};
    return (held_bytes){here, here, takes->bound, takes->expected, 0, takes->expected, 0};
}

/* If i is the first stage of a scan, the results of the other stages of the scan are held from now on, too. */
static void add_scan(const tra_plan *p, walk *w, int i) {
    const tra_op_scan *scan = &p->ops[i].method.scan;
    for (int j = scan->first == i ? scan->next : -1; j >= 0; j = p->ops[j].method.scan.next) {
        tra_size takes;
        if (streams_out(p, &w->e, j)) continue;
        int64_t here = result_here(p, &p->ops[j], &takes);
        held_add(&w->now, &(held_bytes){here, here, takes.bound, takes.expected, 0, takes.expected, 0}, 1);
    }
}

/* The peak that is told of a stage, of which `most` is what it may use. Results that wait for their places are limited
 * to what is told of them. */
static int64_t told_of(tra_plan *p, walk *w, int i, int64_t here, int64_t mine, int64_t most) {
    tra_op *op = &p->ops[i];
    bool output = op->op == TRA_PLAN_OUTPUT, streams = streams_out(p, &w->e, output ? op->in[0] : i);
    tra_op *file = output ? op : streams ? &p->ops[w->e.first[i]] : NULL;
    if (output && file->method.waits < INT64_MAX) return w->base + tra_output_use(p, op, w->threads);
    const tra_use_known known = {mine, here, w->budget};
    tra_use_limits limits;
    int64_t use = tra_op_use(p, op, file, &known, w->threads, &limits);
    if (use < 0) return most;
    op->method.terms = limits.terms;
    if (file) file->method.waits = limits.waits;
    return w->base + op->method.scan.reserved + use;
}

static void walk_stage(tra_plan *p, walk *w, int i, int64_t here, const tra_size *takes) {
    tra_op *op = &p->ops[i];
    int64_t mine = tra_op_memory(p, op, w->threads);
    op->predicted.least_memory = w->base + mine;
    w->least = tra_max64(w->least, w->base + mine);
    double share = takes->bound > 0 ? (double)takes->expected / (double)takes->bound : 1;
    bool strips = op->method.panel && !p->panels && tra_op_is(op->op, TRA_LOOPS);
    int64_t most = w->base + mine + op->method.scan.reserved + (strips ? terms_room(p, op, w->budget) : 0) +
                   under_way(p, op, w->held[i].all > 0, here, w->threads, w->budget);
    w->during[i] =
        (held_bytes){most + w->now.all,
                     most + w->now.least,
                     w->now.spillable,
                     w->now.expected,
                     streams_out(p, &w->e, i) ? tra_op_panels_bound(p, op, takes->bound, w->threads, w->budget) : 0,
                     tra_add_most(w->now.touched, (int64_t)(share * (double)mine)),
                     tra_add_most(w->now.least, told_of(p, w, i, here, mine, most))};
    w->peak = tra_max64(w->peak, w->during[i].all);
    p->checkpointed = tra_max64(p->checkpointed, w->now.spillable);
}

/* Predicts the bytes that an output writes, and the bytes of them that wait in scratch: compressed chunks, of
 * which only the uncompressed size is known, and tuples that are counted or packed before they are written. */
static void walk_output(tra_plan *p, walk *w, tra_op *op, int64_t tuples) {
    const tra_type *t = &p->ops[op->in[0]].type;
    const tra_mapping_use *m = op->type.bounded ? NULL : op->spec.mapping;
    tra_size *write = &op->predicted.cost.disk_write, waits = tra_size_exactly(0);
    *write = m ? tra_size_exactly(m->all) : tra_size_add(tra_output_bytes(op, t), tra_strings_written(t));
    p->cost.disk_write = tra_size_add(p->cost.disk_write, *write);
    if (m) /* the packed bytes, and a count of entries for each tuple */
        waits = tra_size_exactly(tra_min64(m->all, tra_mul_most(m->largest, tuples)) + 8 * tuples);
    else if (p->compress || tra_op_counts_first(op))
        waits = tra_file_bytes(t, tra_op_counts_first(op), tuples);
    w->spool.bound = tra_add_most(w->spool.bound, waits.bound);
    w->spool.expected = tra_add_most(w->spool.expected, waits.expected);
}

static void walk_op(tra_plan *p, walk *w, int i) {
    tra_op *op = &p->ops[i];
    tra_size takes;
    int64_t here = result_here(p, op, &takes);
    bool early = op->method.scan.first >= 0 && op->method.scan.first < i; /* with the first of its scan */
    op->predicted.cost.disk_read = op->predicted.cost.disk_write = tra_size_exactly(0);
    op->predicted.cost.made = 0;
    op->predicted.spill = op->predicted.spill_likely = 0;
    op->predicted.least_memory = w->base;
    w->held[i] = held_of(p, w, i, here, &takes);
    if (!early) held_add(&w->now, &w->held[i], 1);
    add_scan(p, w, i);
    if (tra_op_is_stage(op)) walk_stage(p, w, i, here, &takes);
    if (op->op == TRA_PLAN_OUTPUT) walk_output(p, w, op, op->holds->most);
    if (op->op == TRA_PLAN_OUTPUT && op->type.columns) /* when all is written, and no block is held */
        w->least = tra_max64(w->least, w->base + tra_table_finish_bytes(&op->type));
    int done[3] = {i, op->in[0], op->in[1] == op->in[0] ? -1 : op->in[1]}; /* perhaps not used after this operator */
    for (int k = 0; k < 3; k++)
        if (done[k] >= 0 && w->e.last[done[k]] <= i) held_add(&w->now, &w->held[done[k]], -1);
}

/* Peak memory of a site: at most the ceiling, unless that is less than what the plan needs. */
static void predict_peak(tra_plan *p, const walk *w) {
    int64_t in_use = w->base + TRA_LEAST_BUDGET, most = p->memory > 0 ? tra_max64(p->memory, w->least) : INT64_MAX;
    int64_t touched = 0;
    for (int i = 0; i < p->nops; i++) {
        in_use = tra_max64(in_use, w->during[i].told);
        touched = tra_max64(touched, w->during[i].touched);
        p->ops[i].predicted.touched = tra_min64(touched, most - w->base);
        p->ops[i].predicted.held = tra_min64(w->during[i].told, most);
        p->ops[i].predicted.cost.peak_memory = tra_min64(in_use, most);
    }
    p->cost.peak_memory = tra_min64(in_use, most);
}

/* On one site a repartition makes each result of the blocks that it meets, if all blocks of both have room. */
static void choose_gathers(tra_plan *p, int64_t budget) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->method.gathers = p->sites == 1 && !p->unfused && op->op == TRA_PLAN_REPART &&
                             tra_add_most(p->ops[op->in[0]].holds->arrays, op->holds->arrays) <= budget / 2;
    }
}

/* tra_plan_memory with p->unfused and p->panels as they are. Returns the least ceiling. */
static int64_t predict(tra_plan *p, int threads) {
    walk w = {.threads = threads, .base = p->base_memory};
    w.budget = p->memory > 0 ? p->memory - w.base : INT64_MAX / 4;
    choose_gathers(p, w.budget);
    w.e = tra_edges_find(p);
    w.least = w.peak = w.base + TRA_LEAST_BUDGET;
    w.held = tra_calloc(2 * (size_t)p->nops + 1, sizeof *w.held);
    w.during = w.held + p->nops;
    tra_choose_fused(p, &w.e);
    find_files(p, &w.e);
    tra_edges_extend_by_views(p, &w.e);
    find_io(p, &w.e);
    p->cost.disk_read = p->cost.disk_write = tra_size_exactly(0);
    p->scratch = p->scratch_expected = p->checkpointed = 0;
    p->rereads = false;
    tra_overlap_none(p);
    tra_scan_choose(p, threads, w.budget);
    for (int i = 0; i < p->nops; i++) walk_op(p, &w, i);
    int64_t overlap = choose_overlaps(p, threads, w.held, w.peak, w.budget);
    add_overlapping(p, w.held, w.during);
    predict_spills(p, w.during, threads, w.base, w.budget);
    p->scratch = tra_add_most(p->scratch, w.spool.bound);
    p->scratch_expected = tra_add_most(p->scratch_expected, w.spool.expected);
    p->rereads = p->memory > 0 && w.peak + overlap > p->memory;
    tra_predict_reads(p, &w.e, threads, p->rereads ? w.budget : 0);
    predict_peak(p, &w);
    tra_edges_free(&w.e);
    free(w.held);
    return w.least;
}

/* Would any operator be fused with what reads it? Can the results of any be made in panels? */
static void find_ways(tra_plan *p, bool *fused, bool *panels) {
    choose_gathers(p, p->memory > 0 ? p->memory : INT64_MAX);
    tra_edges e = tra_edges_find(p);
    tra_choose_fused(p, &e);
    for (int i = 0; i < p->nops; i++) *fused |= p->ops[i].method.fused || p->ops[i].method.gathers;
    for (int i = 0; i < p->nops; i++) *panels |= panel_of(p, &e, i) > 0;
    tra_edges_free(&e);
}

/* Predicts the plan in the first of the ways to run it, each of which takes less memory than those before and perhaps
 * more time, that the ceiling holds; else in the one that takes least. judged: as tra_plan_memory_judged says. */
static int64_t plan_memory(tra_plan *p, int threads, bool judged) {
    enum { WAYS = 4 };
    bool fused = false, panels = false;
    int64_t need[WAYS], least = INT64_MAX;
    int best = 0, last = 0;
    tra_op_holds *own = tra_calloc((size_t)p->nops + 1, sizeof *own);
    tra_plan_list_reads(p);
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        if (op->holds) continue;
        own[i] = tra_op_holds_of(&op->type, &op->place);
        op->holds = &own[i];
    }
    p->base_memory = tra_memory_base(p, threads);
    p->unfused = p->panels = false;
    find_ways(p, &fused, &panels);
    for (int w = 0; w < WAYS && !(judged && w > 0 && (p->memory == 0 || least <= p->memory)); w++) {
        need[w] = INT64_MAX;
        if ((w & 1 && !fused) || (w & 2 && !panels)) continue;
        p->unfused = w & 1, p->panels = w & 2;
        need[last = w] = predict(p, threads);
        least = tra_min64(least, need[w]);
        bool fits = need[best] <= p->memory || p->memory == 0;
        if (!fits && need[w] < need[best]) best = w;
    }
    if (best != last) {
        p->unfused = best & 1, p->panels = best & 2;
        predict(p, threads);
    }
    int64_t planning = tra_memory_start(p) + p->planning;
    least = tra_max64(planning, least);
    for (int i = 0; i < p->nops; i++) {
        p->ops[i].holds = NULL;
        p->ops[i].predicted.least_memory = tra_min64(p->ops[i].predicted.least_memory, least); /* in another way */
    }
    free(own);
    p->cost.peak_memory = tra_max64(p->cost.peak_memory, least); /* a ceiling of what is told is not refused */
    return least;
}

int64_t tra_plan_memory(tra_plan *p, int threads) { return plan_memory(p, threads, false); }
int64_t tra_plan_memory_judged(tra_plan *p, int threads) { return plan_memory(p, threads, true); }

int64_t tra_exchange_scratch(const tra_plan *p) {
    int64_t most = 0;
    for (int i = 0; i < p->nops; i++) most = tra_max64(most, p->ops[i].predicted.cost.network_bytes.bound);
    return tra_ceil_div(most, p->sites);
}
