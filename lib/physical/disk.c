/* disk.c - what a plan reads of its inputs, and what its outputs write. */
#include "../model/columns.h"
#include "../model/rows.h"
#include "../tablefile/table_file.h"
#include "memory_int.h"
#include "repart.h"
#include "scan.h"

#include <math.h>
#include <stdlib.h>

/* Does every tuple of input `side` of a join meet a tuple of the other input? Yes if that is a grid, and reaches at
 * least as far along each joined dimension. */
static bool all_meet(const tra_plan *p, const tra_op *op, int side) {
    const tra_catalog *mine = p->ops[op->in[side]].type.cat, *other = p->ops[op->in[!side]].type.cat;
    const tra_dims *a = side == 0 ? &op->spec.joinl : &op->spec.joinr;
    const tra_dims *b = side == 0 ? &op->spec.joinr : &op->spec.joinl;
    if (!other->grid || other->n == 0) return false;
    for (int i = 0; i < a->n; i++) {
        if (mine->frontier.v[a->v[i]] > other->frontier.v[b->v[i]]) return false;
        for (int j = 0; j < i; j++) { /* two dimensions joined with one of the other input: only their diagonal meets */
            if (b->v[i] == b->v[j] && a->v[i] != a->v[j]) return false;
        }
    }
    return true;
}

/* Along one axis of the grid of sites: does every tuple of an input (placed by `mine`; NULL: other axes) find its
 * partner of the other input (placed by `other`) on its own site? */
static bool axis_meets(const tra_op *op, int side, const tra_axis *mine, const tra_axis *other) {
    const tra_dims *a = side == 0 ? &op->spec.joinl : &op->spec.joinr;
    const tra_dims *b = side == 0 ? &op->spec.joinr : &op->spec.joinl;
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

/* Does every copy of a tuple of input `side` meet a tuple of the other input on its own site? */
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

/* Does a view or repartition use every tuple of its input? */
static bool uses_all_tuples(const tra_plan *p, const tra_op *op) {
    const tra_type *in = &p->ops[op->in[0]].type;
    tra_dims shape, part;
    if (tra_op_is(op->op, TRA_RENAMES)) return op->type.cat->n == in->cat->n;
    if (op->op == TRA_PLAN_REPART && !op->type.cat->grid) return false; /* it makes some blocks only */
    if (op->spec.origin.n == 0) return true;
    tra_type_shape(in, &shape);
    tra_type_shape(&op->type, &part);
    for (int d = 0; d < shape.n; d++)
        if (op->spec.origin.v[d] > 0 || op->spec.origin.v[d] + part.v[d] < shape.v[d]) return false;
    return true;
}

/* Are all tuples that the sites have of operator i's result read, as far as they are in a file? Of a tuple that several
 * sites received, some may not be read; but a tuple that is sent to several sites is. */
static bool all_read(const tra_plan *p, int i) {
    bool copies = tra_place_copies(&p->ops[i].place) > 1;
    if (copies && tra_op_is_stage(&p->ops[i])) return false;
    for (tra_read r = {-1, 0}; tra_next_read(p, i, NULL, &r);) {
        const tra_op *op = &p->ops[r.op];
        bool sent = !copies && tra_op_is(op->op, TRA_FORWARDS) && tra_place_copies(&op->place) > 1;
        bool whole = op->in[0] < 0 || uses_all_tuples(p, op);
        bool moves = tra_op_is(op->op, TRA_EXCHANGES), made = !moves && !tra_op_is_view(op);
        if (copies && (moves || (made && tra_place_copies(&op->place) > 1)))
            continue; /* of copies one site may read for all */
        bool meet = op->spec.join && (copies ? copies_meet(p, op, r.side) : all_meet(p, op, r.side));
        if (op->spec.join ? meet : sent || (whole && (!tra_op_shares_blocks(op) || all_read(p, r.op)))) return true;
    }
    return false;
}

/* Tuples of op's result on all sites. */
static int64_t tuples_of(const tra_op *op) {
    return tra_mul_most(op->type.cat->n, tra_place_copies(&op->place) * tra_place_summands(&op->place));
}

static bool is_made(const tra_plan *p, int file) {
    return p->ops[file].spec.path && tra_rel_is_made(p->ops[file].spec.path);
}

/* Counts bytes of input `file` that operator `op` reads, or makes: for an exchange that overlaps, at the stage with
 * which it ends; for a stage of a scan, at the first stage of the scan. */
static void add_read(tra_plan *p, int op, int file, tra_size bytes) {
    int stage = p->ops[op].method.ends, first = p->ops[stage].method.scan.first;
    tra_cost *c = &p->ops[first >= 0 ? first : stage].predicted.cost;
    if (is_made(p, file))
        c->made += (double)bytes.expected;
    else
        c->disk_read = tra_size_add(c->disk_read, bytes);
}

/* The same in the sum of the plan, and of the input. */
static void add_read_of_plan(tra_plan *p, int file, tra_size bytes) {
    if (is_made(p, file)) return;
    p->cost.disk_read = tra_size_add(p->cost.disk_read, bytes);
    p->ops[file].predicted.read = tra_add_most(p->ops[file].predicted.read, bytes.expected);
}

static bool reads_file(const tra_edges *e, const tra_op *op, int side, int file) {
    return tra_op_is_stage(op) && op->in[side] >= 0 && e->file[op->in[side]] == file;
}

/* The next stage that reads the file of input i, once for each such stage. */
static bool next_reader(const tra_plan *p, const tra_edges *e, int i, tra_read *r) {
    while (tra_next_read(p, i, tra_op_shares_blocks, r)) {
        const tra_op *op = &p->ops[r->op];
        if (reads_file(e, op, r->side, i) && (r->side == 0 || !reads_file(e, op, 0, i))) return true;
    }
    return false;
}

/* Bytes of blocks in memory that have no rows, as their blocks in the file are not read. */
static int64_t unread_bytes(const tra_type *t) {
    return t->columns ? tra_mul_most(tra_type_skipped(t), tra_columns_room(t->columns, 0)) : 0;
}

tra_size tra_file_bytes(const tra_type *t, bool levels, int64_t tuples) {
    if (!levels) return tra_size_times(tra_size_exactly(tra_store_chunk_bytes(t)), tuples);
    int64_t n = t->cat->n;
    if (n > 0 && tuples % n == 0) {
        tra_size all = tra_type_bytes_all(t);
        int64_t unread = unread_bytes(t);
        all.expected -= unread, all.bound -= unread;
        return tra_size_times(all, tuples / n);
    }
    return tra_size_about((double)tra_type_bytes_all(t).expected / (double)tra_max64(1, n) * (double)tuples,
                          tra_mul_most(tra_type_bytes_largest(t).bound, tuples));
}

tra_size tra_strings_written(const tra_type *t) {
    tra_size sum = tra_size_exactly(0), held = tra_type_bytes_all(t);
    const tra_schema *s = t->columns;
    int64_t rows = s ? held.expected / tra_max64(1, tra_schema_row_bytes(s)) : 0;
    for (int c = 0; s && c < s->n; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (!d || !tra_coltype_is_coded(s->v[c].type)) continue;
        int64_t all = tra_dictionary_file_bytes(d->n, d->begin ? d->begin[d->n] : d->bytes_most);
        bool known = held.exact && !d->nparts && !tra_dictionary_is_cut(d, rows);
        double share = tra_dictionary_is_cut(d, rows) ? (double)rows / (double)d->n : 1;
        sum = tra_size_add(sum, known ? tra_size_exactly(all) : tra_size_about(share * (double)all, all));
    }
    return sum;
}

tra_size tra_output_bytes(const tra_op *op, const tra_type *t) {
    tra_type rows = *t;
    tra_size all = tra_file_bytes(t, tra_op_counts_first(op), op->type.cat->n), entries;
    if (!op->spec.levels || !t->sparse || t->layout || !tra_rows_can(&t->cat->bound)) return all;
    rows.layout = &tra_rows;
    entries = tra_file_bytes(&rows, true, op->type.cat->n);
    return entries.expected < all.expected ? tra_size_about((double)entries.expected, all.bound) : all;
}

/* Where everything stays in memory each site reads its tuples of an input once. They are counted at the first operator
 * that reads the input; where there are several, a guess. */
static void predict_input(tra_plan *p, const tra_edges *e, int i) {
    const tra_type *t = &p->ops[i].type;
    tra_size bytes = tra_file_bytes(t, t->layout, tuples_of(&p->ops[i]));
    int readers = 0, first = i;
    if (!all_read(p, i)) bytes.exact = false;
    add_read_of_plan(p, i, bytes);
    for (tra_read r = {-1, 0}; next_reader(p, e, i, &r);) readers++, first = first == i || r.op < first ? r.op : first;
    bool whole = tra_scan_is_whole(p, i);
    if (readers > 1 && !whole) bytes.exact = false;
    add_read(p, tra_op_is_outside(p, i, first) ? i : first, i, bytes); /* not in each turn of a loop */
    bytes.expected = 0;                                                /* the other readers find it in memory */
    for (tra_read r = {-1, 0}; !whole && next_reader(p, e, i, &r);)
        if (r.op != first) add_read(p, tra_op_is_outside(p, i, r.op) ? i : r.op, i, bytes);
}

/* The operator at which bytes are counted that operator i reads of a file. The first value of a state is read in the
 * first turn alone, so its bytes count at the state, which runs once. */
static int counted_at(const tra_plan *p, int i, int side) {
    for (int in = p->ops[i].in[side]; tra_op_shares_blocks(&p->ops[in]); in = p->ops[in].in[0])
        if (p->ops[in].op == TRA_PLAN_STATE) return in;
    return i;
}

/* Where blocks are evicted, operator i reads its inputs from their files again, as often as its block loop says. A
 * bound, since some blocks may still be in memory. */
static void predict_rereads(tra_plan *p, const tra_edges *e, int i, int threads, int64_t budget) {
    const tra_op *op = &p->ops[i];
    for (int side = 0; side < 2; side++) {
        int f = op->in[side] >= 0 ? e->file[op->in[side]] : -1;
        if (f < 0 || !reads_file(e, op, side, f)) continue;
        const tra_op *src = &p->ops[op->in[side]];
        while (tra_op_is(src->op, TRA_SPLITS))
            src = &p->ops[src->in[0]]; /* an array is read once for all of its tiles */
        int64_t n = op->op == TRA_PLAN_REPART
                        ? tra_repart_reads(p, op, budget)
                        : tra_mul_most(tuples_of(src), tra_op_passes(p, op, side, threads, budget));
        tra_size bytes = tra_file_bytes(&p->ops[f].type, p->ops[f].type.layout, n);
        bytes =
            p->ops[f].type.layout ? tra_size_about((double)bytes.expected, bytes.bound) : tra_size_upto(bytes.bound);
        /* what is in memory since another stage of the scan, or in as many passes the other side, has read it */
        if (tra_scan_reads(p, op, side) && op->method.scan.first < i) bytes.expected = 0;
        if (side == 1 && op->in[0] == op->in[1] && op->op != TRA_PLAN_REPART) {
            double passes[2];
            for (int k = 0; k < 2; k++) passes[k] = (double)tra_op_passes(p, op, k, threads, budget);
            bytes.expected = (int64_t)((double)bytes.expected * fmax(0, 1 - passes[0] / fmax(1, passes[1])));
        }
        int at = counted_at(p, i, side);
        add_read(p, at, f, bytes);
        add_read_of_plan(p, f, tra_size_times(bytes, (int64_t)tra_op_times(p, &p->ops[at])));
    }
}

void tra_predict_reads(tra_plan *p, const tra_edges *e, int threads, int64_t budget) {
    for (int i = 0; i < p->nops; i++) p->ops[i].predicted.read = 0;
    for (int i = 0; i < p->nops; i++) {
        if (budget)
            predict_rereads(p, e, i, threads, budget);
        else if (tra_op_is(p->ops[i].op, TRA_READS))
            predict_input(p, e, i);
    }
}
