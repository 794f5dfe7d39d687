/* memory.c - block loops and what a plan needs of memory and disk. */
#include "memory.h"

#include "engine.h"
#include "pool.h"
#include "repart.h"
#include "tree.h"

#include <stdlib.h>

int64_t tra_memory_base(const tra_plan *p, int threads) {
    /* Measured: 17 MiB resident with tiny blocks and two files, 32 with MPI; HDF5's cache of each other file, 600 KiB;
     * packing buffers of products, 3 to 4.5 MiB a worker; 130 bytes a tuple of an operator, and as much in HDF5's index
     * of a file. */
    int64_t mib = (p->sites > 1 ? 33 : 18) + 5 * threads, tuples = 0, chunk = 0, files = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        bool file = op->op == TRA_PLAN_INPUT || op->op == TRA_PLAN_OUTPUT;
        files += file;
        tuples += op->type.cat->n * (file ? 2 : 1);
        if (op->op == TRA_PLAN_REPART) tuples += tra_repart_pieces(p, op);
        if (op->op == TRA_PLAN_OUTPUT) chunk = tra_max64(chunk, tra_store_chunk_bytes(&op->type));
    }
    int64_t codec = p->compress && chunk > 0 ? threads * tra_codec_context(p->compress, chunk) : 0;
    return (mib << 20) + (tra_max64(0, files - 2) * 640 << 10) + 130 * tra_min64(tuples, INT64_MAX / 260) + codec +
           p->planning;
}

static int64_t footprint(int64_t bytes) { return bytes > 0 ? tra_block_footprint(bytes) : 0; }

/* Footprint of the largest array. */
static int64_t type_bytes(const tra_type *t) {
    return tra_block_footprint(tra_catalog_maxfloats(t->cat) * (int64_t)tra_dtype_size(t->dtype));
}

/* The same of a result of op: what goes to a file takes a chunk. */
static int64_t result_bytes(const tra_op *op) {
    int64_t n = type_bytes(&op->type);
    return op->direct ? tra_max64(n, tra_block_footprint(tra_store_chunk_bytes(&op->type))) : n;
}

static bool renames(const tra_op *op) { return op->op == TRA_PLAN_FILTER || op->op == TRA_PLAN_REKEY; }

/* The operator whose stored results reading op's result reads. */
static const tra_op *stored_of(const tra_plan *p, const tra_op *op) {
    while (renames(op) || op->fused) op = &p->ops[op->in[0]];
    return op;
}

/* Footprint of what is stored of one array that reading op's result reads. */
static int64_t stored_bytes(const tra_plan *p, const tra_op *op) { return type_bytes(&stored_of(p, op)->type); }

/* Scratch for computing one tuple of op's result on the way; that of a MAP that is not fused, too. Maps of maps are
 * one. */
static int64_t derive_scratch(const tra_plan *p, const tra_op *op) {
    while (renames(op)) op = &p->ops[op->in[0]];
    if (op->op != TRA_PLAN_MAP) return 0;
    const tra_kernel *k = op->map;
    tra_arena *a = NULL;
    for (;;) {
        const tra_op *below = &p->ops[op->in[0]];
        while (renames(below)) below = &p->ops[below->in[0]];
        if (below->op != TRA_PLAN_MAP || !below->fused) {
            int64_t n = (int64_t)tra_kernel_scratch(k, TRA_USE_MAP, below->type.dtype, &below->type.cat->bound, NULL);
            tra_arena_free(a);
            return footprint(n);
        }
        if (!a) a = tra_arena_new();
        k = tra_kernel_then(a, below->map, k);
        op = below;
    }
}

/* Memory that reading one tuple of op's result takes: its array, and when it is computed on the way, what it is
 * computed from. */
static int64_t read_bytes(const tra_plan *p, const tra_op *op) {
    int64_t n = type_bytes(&op->type);
    while (renames(op)) op = &p->ops[op->in[0]];
    return op->fused ? n + stored_bytes(p, op) : n;
}

typedef struct need {
    int64_t a, b, c; /* one array of L, of R, one output (state and result) */
    int64_t fixed;   /* workers' temporaries */
} need;

tra_tree tra_op_tree(const tra_plan *p, const tra_op *op) {
    if (!p->reproducible || !op->agg) return (tra_tree){-1, 1, 1};
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    if (op->op == TRA_PLAN_MERGE) {
        int summands = tra_place_summands(&p->ops[l->in[0]].place);
        return (tra_tree){-1, summands, summands};
    }
    return tra_tree_of(op->join, l->type.cat, r ? r->type.cat : NULL, &op->joinl, &op->joinr, &op->group);
}

/* What a join makes of the largest arrays of its inputs: its extents, and scratch of the kernel. Where the bounds do
 * not fit together no array is larger than a result. */
static void join_term(const tra_op *op, const tra_op *l, const tra_op *r, tra_dims *ext, int64_t *scratch) {
    const tra_dims *a = &l->type.cat->bound, *b = &r->type.cat->bound;
    tra_dtype t = tra_dtype_join(l->type.dtype, r->type.dtype);
    tra_err none = {0};
    int64_t n;
    *scratch = 0;
    if (tra_kernel_shape2(op->join, a, b, a, b, ext, NULL, &none) == TRA_OK && tra_dims_product(ext, &n)) {
        *scratch = (int64_t)tra_kernel_scratch(op->join, TRA_USE_JOIN, t, a, b);
        return;
    }
    *ext = op->type.cat->bound;
    if (tra_kernel_rest(op->join)) *scratch = 2 * type_bytes(&op->type);
}

static need join_need(const tra_plan *p, const tra_op *op, int threads) {
    const tra_op *l = &p->ops[op->in[0]], *r = op->in[1] >= 0 ? &p->ops[op->in[1]] : NULL;
    need n = {.a = read_bytes(p, l), .b = r ? read_bytes(p, r) : 0, .c = result_bytes(op)};
    bool fused = tra_op_accumulates(p, op);
    tra_dtype in = r ? tra_dtype_join(l->type.dtype, r->type.dtype) : l->type.dtype;
    tra_dims ext = l->type.cat->bound; /* of the terms */
    int64_t kernel = 0, term = 0, finish = 0, floats;
    if (r) join_term(op, l, r, &ext, &kernel);
    if (!tra_dims_product(&ext, &floats)) floats = tra_catalog_maxfloats(op->type.cat);
    if (r && op->agg && !fused) term = (floats * (int64_t)tra_dtype_size(in) + 63) / 64 * 64;
    if (op->agg) {
        tra_dtype dtype = fused || op->partial ? op->type.dtype : tra_agg_state_dtype(op->agg, in);
        int64_t state = tra_block_footprint(tra_catalog_maxfloats(op->type.cat) * (int64_t)tra_dtype_size(dtype));
        if (!op->partial && tra_kernel_rest(op->agg)) { /* of other extents than the result */
            tra_dims group = ext;
            tra_agg_state_ext(op->agg, &group, &ext);
            if (!tra_dims_product(&ext, &floats)) floats = 0;
            state = tra_block_footprint(floats * 8);
            n.c += state;
            finish = (int64_t)tra_kernel_scratch(op->agg, TRA_USE_AGG, dtype, &ext, NULL);
        } else {
            n.c = tra_max64(n.c, state);
        }
        n.c += (tra_tree_depth(tra_op_tree(p, op).leaves) - 1) * state;
    }
    int64_t derive = tra_max64(derive_scratch(p, l), r ? derive_scratch(p, r) : 0);
    n.fixed = threads * (tra_max64(footprint(tra_max64(term + kernel, finish)), derive) + footprint(op->io));
    return n;
}

enum { NEW = 2 }; /* a page of memory costs as much as so many copied ones when it is first touched */

/* A loop that fits, and what it costs in bytes. */
typedef struct choice {
    tra_block_loop loop;
    double cost; /* < 0: none yet */
} choice;

/* Tries ci rows, with room for `depth` steps of input and `sets` of output at once. */
static void try_loop(const need *n, int64_t ni, int64_t nj, int64_t nk, int64_t ci, bool stays, int depth, int sets,
                     int64_t room, choice *best) {
    int64_t left = room - ci * n->a * (stays ? tra_max64(nk, depth) : depth), each = sets * ci * n->c + depth * n->b;
    int64_t cj = each > 0 ? tra_min64(nj, left / each) : nj;
    if (left < 0 || cj < 1) return;
    int64_t columns = tra_ceil_div(nj, cj), rows = tra_ceil_div(ni, ci);
    cj = tra_ceil_div(nj, columns); /* even super-blocks */
    double a = (double)n->a, b = (double)n->b, supers = (double)rows * (double)columns;
    double cost =
        (double)ni * (double)nk * a * (stays ? 1.0 : (double)columns) + (double)nj * (double)nk * b * (double)rows;
    cost += NEW * ((double)(room - left) + (double)(sets * ci * cj) * (double)n->c + (double)(depth * cj) * b);
    if (depth == 1) cost += supers * (double)nk * (a + b) / 2; /* each step waits for the one before */
    if (sets == 1)
        cost += supers * (a + b + 2 * (double)n->c); /* each super-block waits until the one before is written */
    if (best->cost < 0 || cost < best->cost) *best = (choice){{ci, cj, stays}, cost};
}

/* A stage that would take a minute at the pace of a slow core finishes its outputs in eight groups at least, though
 * more would fit: what a run has finished when it is killed need not be done again, and two are under way. */
static tra_block_loop in_groups(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int threads,
                                tra_block_loop l) {
    double pace = tra_op_accumulates(p, op) ? 10e9 : 0.25e9;
    if (op->cost.flops_max < 60 * pace * threads) return l;
    while (8.0 * (double)l.ci * (double)l.cj > (double)ni * (double)nj && (l.ci > 1 || l.cj > 1)) {
        if (l.ci >= l.cj) l.ci = tra_ceil_div(l.ci, 2);
        else l.cj = tra_ceil_div(l.cj, 2);
    }
    return l;
}

tra_block_loop tra_loop_of(const tra_plan *p, const tra_op *op, int64_t ni, int64_t nj, int64_t nk, int threads,
                           int64_t budget) {
    need n = join_need(p, op, threads);
    int64_t room = budget - n.fixed;
    if (op->in[1] < 0) { /* nothing is read twice, whatever the loop: an output for each worker */
        int64_t each = 2 * n.a + n.c, most = tra_min64(ni, threads);
        int64_t ci = each > 0 ? tra_max64(1, tra_min64(most, room / each)) : most;
        tra_block_loop l = {tra_ceil_div(ni, tra_ceil_div(tra_max64(1, ni), tra_max64(1, ci))), 1, false};
        return in_groups(p, op, ni, nj, threads, l);
    }
    choice best = {{1, 1, false}, -1};
    for (int64_t ci = 1; ci <= ni; ci += tra_ceil_div(ci, 64)) { /* of very many rows not every number */
        for (int stays = 0; stays < 2; stays++) {
            for (int depth = 1; depth <= 2; depth++) {
                try_loop(&n, ni, nj, nk, ci, stays, depth, 1, room, &best);
                try_loop(&n, ni, nj, nk, ci, stays, depth, 2, room, &best);
            }
        }
        if (ci * n.a > room) break;
    }
    best.loop.ci = tra_ceil_div(ni, tra_ceil_div(tra_max64(1, ni), best.loop.ci));
    /* Everything has room where something comes while the join runs. What comes row by row is computed with when it is
     * there; where both sides come, step by step. */
    bool l = tra_op_moves(p, op, 0), r = tra_op_moves(p, op, 1);
    if (l && (!r || nk == 1)) best.loop.ci = 1;
    if (r && (!l || nk == 1)) best.loop.cj = 1;
    return in_groups(p, op, ni, nj, threads, best.loop);
}

/* ---- the plan as a whole ---------------------------------------------------------------------------------------- */

/* What follows from the edges of the plan, by operator. */
typedef struct edges {
    int *uses, *first, *last; /* consumers: how many edges, the first and the last operator; 0, -1, -1 */
    int *file;                /* the input file that reading the result reads, or -1 */
    bool *concatenated;       /* is it, or a view of it, what a CONCAT reads? */
} edges;

static edges find_edges(const tra_plan *p) {
    size_t n = (size_t)p->nops + 1;
    edges e = {.uses = tra_calloc(4 * n, sizeof *e.uses), .concatenated = tra_calloc(n, sizeof *e.concatenated)};
    e.first = e.uses + n, e.last = e.first + n, e.file = e.last + n;
    for (int i = 0; i < p->nops; i++) e.first[i] = e.last[i] = e.file[i] = -1;
    for (int i = p->nops - 1; i >= 0; i--) {
        const tra_op *op = &p->ops[i];
        for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
            int in = op->in[side];
            e.uses[in]++;
            e.first[in] = i;
            e.last[in] = e.last[in] < 0 ? i : e.last[in];
            e.concatenated[in] |= op->op == TRA_PLAN_CONCAT;
            e.concatenated[in] |= (op->op == TRA_PLAN_FILTER || op->op == TRA_PLAN_REKEY) && e.concatenated[i];
        }
    }
    return e;
}

static void free_edges(edges *e) {
    free(e->uses);
    free(e->concatenated);
}

/* A MAP or TILE is computed by its consumer when it has but one. One such operator between a consumer and what is
 * stored, or maps alone, which are composed. CONCAT holds a whole group at once: of tiles not with the arrays they are
 * cut from. */
static void choose_fused(tra_plan *p, const edges *e) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->fused = false;
        if (op->op != TRA_PLAN_MAP && op->op != TRA_PLAN_TILE) continue;
        op->fused = !p->slim && e->uses[i] == 1 && !e->concatenated[i];
        int j = op->in[0];
        while (p->ops[j].op == TRA_PLAN_FILTER || p->ops[j].op == TRA_PLAN_REKEY) j = p->ops[j].in[0];
        if (op->op != TRA_PLAN_MAP || p->ops[j].op != TRA_PLAN_MAP) p->ops[j].fused = false;
    }
}

static bool is_view(const tra_op *op) {
    return op->op == TRA_PLAN_FILTER || op->op == TRA_PLAN_REKEY || op->op == TRA_PLAN_OUTPUT || op->fused;
}

/* What a view shows is held until the last has looked at it. */
static void views_hold(const tra_plan *p, edges *e) {
    for (int i = p->nops - 1; i >= 0; i--) {
        int in = p->ops[i].in[0];
        if (in >= 0 && is_view(&p->ops[i]) && e->last[i] > e->last[in]) e->last[in] = e->last[i];
    }
}

/* What an exchange leaves where it is stays a file's. */
static void find_files(const tra_plan *p, edges *e) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        bool exchange = (op->op == TRA_PLAN_SHUF || op->op == TRA_PLAN_BCAST) &&
                        !tra_place_is_partial(&p->ops[op->in[0]].place);
        if (op->op == TRA_PLAN_INPUT)
            e->file[i] = i;
        else if (op->in[0] >= 0 && (is_view(op) || exchange))
            e->file[i] = e->file[op->in[0]];
    }
}

/* Key dimensions of an input of a join: grouped and not joined; not grouped; neither joined nor grouped. */
typedef enum role { OWN, SUMMED, LONE } role;

/* Distinct values, on one of the sites, of those key dimensions of an input: the sites have about equal shares along
 * the axes that cut them. */
static int64_t values_of(const tra_plan *p, const tra_op *op, int side, role role) {
    const tra_op *in = &p->ops[op->in[side]];
    const tra_dims *joined = side == 0 ? &op->joinl : &op->joinr;
    int kl = p->ops[op->in[0]].type.cat->frontier.n;
    int64_t n = 1;
    for (int d = 0, others = 0; d < in->type.cat->frontier.n; d++) {
        bool is_joined = false, grouped = !op->agg;
        for (int i = 0; i < joined->n; i++) is_joined |= joined->v[i] == d;
        int label = side == 0 ? d : kl + others;
        others += !is_joined;
        for (int i = 0; op->agg && i < op->group.n; i++) grouped |= op->group.v[i] == label;
        if (grouped != (role == OWN) || (role != SUMMED && is_joined)) continue;
        int64_t values = in->type.cat->frontier.v[d];
        for (int a = 0; a < in->place.naxes; a++) {
            const tra_axis *x = &in->place.axis[a];
            if (x->kind == TRA_AXIS_PART && x->n == 1 && x->dim[0] == d) values = tra_ceil_div(values, x->sites);
        }
        n *= tra_max64(1, values);
    }
    return n;
}

/* The block loop of a site with an even share. */
static tra_block_loop loop_of(const tra_plan *p, const tra_op *op, int threads, int64_t budget) {
    int64_t rows = values_of(p, op, 0, OWN), columns = op->in[1] >= 0 ? values_of(p, op, 1, OWN) : 1;
    return tra_loop_of(p, op, rows, columns, values_of(p, op, 0, SUMMED), threads, budget);
}

/* How often a stage reads the part of one site of its left or right input. */
static int64_t passes(const tra_plan *p, const tra_op *op, int side, int threads, int64_t budget) {
    if (op->in[1] < 0 || budget <= 0) return 1;
    tra_block_loop loop = loop_of(p, op, threads, budget);
    if (side == 0) return loop.stays ? 1 : tra_ceil_div(values_of(p, op, 1, OWN), loop.cj);
    return tra_ceil_div(values_of(p, op, 0, OWN), loop.ci);
}

/* Results that go to their file as they are computed, and are never held. */
static bool streams_out(const tra_plan *p, const edges *e, int i) {
    const tra_op *op = &p->ops[i];
    bool moved = op->op == TRA_PLAN_SHUF || op->op == TRA_PLAN_BCAST || op->op == TRA_PLAN_REPART;
    return !moved && e->uses[i] == 1 && p->ops[e->first[i]].op == TRA_PLAN_OUTPUT;
}

/* What workers need to read chunks of inputs and write those of outputs, and whose results go straight to a file. */
static void find_io(tra_plan *p, const edges *e) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        bool output = op->op == TRA_PLAN_OUTPUT, stage = op->op != TRA_PLAN_INPUT && (output || !is_view(op));
        op->io = 0;
        op->direct = output || (stage && streams_out(p, e, i));
        for (int side = 0; stage && side < 2 && op->in[side] >= 0; side++) {
            int f = e->file[op->in[side]];
            if (f >= 0) op->io = tra_max64(op->io, p->ops[f].scratch);
        }
        if (op->direct && p->compress) op->io = tra_max64(op->io, tra_store_chunk_bytes(&op->type));
        if (output && p->ops[op->in[0]].direct) op->io = 0;
    }
}

/* The first operator that reads what each input has in its file, or the input when none does. */
static int *first_readers(const tra_plan *p, const edges *e) {
    int *v = tra_malloc(((size_t)p->nops + 1) * sizeof *v);
    for (int i = 0; i < p->nops; i++) v[i] = i;
    for (int j = p->nops - 1; j >= 0; j--) {
        const tra_op *op = &p->ops[j];
        bool reads = !is_view(op) || op->op == TRA_PLAN_OUTPUT;
        for (int side = 0; reads && side < 2 && op->in[side] >= 0; side++) {
            if (e->file[op->in[side]] >= 0) v[e->file[op->in[side]]] = j;
        }
    }
    return v;
}

/* Bytes of inputs that are read. budget 0: everything stays in memory, so that each site reads its tuples of an input
 * once, for the first operator that wants them. Else every operator reads its inputs anew, as often as its block loop
 * says: a bound, since some may still be there. */
static void predict_reads(tra_plan *p, const edges *e, int threads, int64_t budget) {
    int *reader = first_readers(p, e);
    int64_t *floats = tra_calloc((size_t)p->sites * 2, sizeof *floats), *tuples = floats + p->sites;
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        bool reads = budget ? op->in[0] >= 0 && (!is_view(op) || op->op == TRA_PLAN_OUTPUT) : op->op == TRA_PLAN_INPUT;
        int sides = !reads ? 0 : budget && op->in[1] >= 0 && op->in[1] != op->in[0] ? 2 : 1;
        for (int side = 0; side < sides; side++) {
            int f = budget ? e->file[op->in[side]] : i;
            if (f < 0) continue;
            const tra_op *src = budget ? &p->ops[op->in[side]] : op;
            int64_t n = 0;
            while (src->op == TRA_PLAN_TILE) src = &p->ops[src->in[0]]; /* each array is read once for its tiles */
            tra_place_floats(&src->place, src->type.cat, floats, tuples);
            for (int s = 0; s < p->sites; s++) n += tuples[s];
            n = budget && op->op == TRA_PLAN_REPART ? tra_repart_reads(p, op, budget)
                                                    : n * passes(p, op, side, threads, budget);
            int64_t bytes = n * tra_store_chunk_bytes(&p->ops[f].type);
            int at = budget ? i : reader[i];
            p->ops[p->ops[at].beside ? tra_op_beside(p, at) : at].cost.disk_read += bytes;
            p->cost.disk_read += bytes;
        }
    }
    free(reader);
    free(floats);
}

tra_exchange_need tra_exchange_memory(const tra_plan *p, const tra_op *op) {
    const tra_op *from = &p->ops[op->in[0]];
    int64_t in = read_bytes(p, from), out = type_bytes(&op->type),
            fetch = in + derive_scratch(p, from) + footprint(op->io);
    if (op->op != TRA_PLAN_REPART) /* held while it is sent; another comes */
        return (tra_exchange_need){.least = tra_max64(fetch, in + out), .fetch = fetch, .transient = fetch};
    int64_t piece = p->sites > 1 ? tra_min64(type_bytes(&from->type), out) : 0;
    fetch = tra_max64(fetch, in + tra_max64(piece, out));
    /* one is sent and another comes, for a block that has begun */
    return (tra_exchange_need){
        .least = tra_max64(fetch, 2 * piece + out), .fetch = fetch, .transient = tra_max64(fetch, out)};
}

int64_t tra_op_memory(const tra_plan *p, const tra_op *op, int threads) {
    const tra_op *from = op->in[0] >= 0 ? &p->ops[op->in[0]] : NULL;
    int64_t out = result_bytes(op), in = from ? read_bytes(p, from) : 0, fixed = threads * footprint(op->io),
            n = in + out;
    switch (op->op) {
    case TRA_PLAN_JOIN:
    case TRA_PLAN_AGG:
    case TRA_PLAN_JOINAGG:
    case TRA_PLAN_MERGE: {
        need x = join_need(p, op, threads);
        n = x.a + x.b + x.c + x.fixed;
        break;
    }
    case TRA_PLAN_MAP:
    case TRA_PLAN_TILE: n = stored_bytes(p, from) + out + fixed + threads * derive_scratch(p, op); break;
    case TRA_PLAN_CONCAT: /* a whole group and its result */
        n = out + from->type.cat->frontier.v[op->keydim] * in + fixed + threads * derive_scratch(p, from);
        break;
    case TRA_PLAN_REPART:
    case TRA_PLAN_SHUF:
    case TRA_PLAN_BCAST: n = tra_exchange_memory(p, op).least; break;
    case TRA_PLAN_OUTPUT: /* what is computed on the way is written from where it is */
        n = from->direct ? 0 : stored_bytes(p, from) + out + fixed + threads * derive_scratch(p, from);
        break;
    case TRA_PLAN_INPUT:
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY:
    case TRA_PLAN_COUNT: break;
    }
    return n + TRA_LEAST_BUDGET;
}

/* Units that the maker queues before it waits, of so many bytes of stored inputs, with those that have just ended. */
static int64_t queued(int64_t bytes, int threads) {
    return tra_min64(TRA_LOOKAHEAD, TRA_LOOKAHEAD_BYTES / tra_max64(1, bytes) + 2 * threads + 1);
}

/* Units of a join's or aggregation's loop that are queued at once. */
static int64_t steps_queued(const tra_plan *p, const tra_op *op, tra_block_loop l, int threads) {
    int64_t right = op->in[1] >= 0 ? l.cj * stored_bytes(p, &p->ops[op->in[1]]) : 0;
    return queued(l.ci * stored_bytes(p, &p->ops[op->in[0]]) + right, threads);
}

/* The most tuples of op's result on a site. */
static int64_t most_tuples(const tra_plan *p, const tra_op *op) {
    int64_t *floats = tra_malloc(2 * (size_t)p->sites * sizeof *floats), most = 0;
    tra_place_floats(&op->place, op->type.cat, floats, floats + p->sites);
    for (int s = 0; s < p->sites; s++) most = tra_max64(most, floats[p->sites + s]);
    free(floats);
    return most;
}

/* Bytes of results, and of what is computed on the way, that may be under way at once besides what a stage cannot do
 * without, where there is room: of `here` bytes of results that a site makes in all. */
static int64_t under_way(const tra_plan *p, const tra_op *op, bool held, int64_t here, int threads, int64_t budget) {
    enum { BEHIND = 8 }; /* are written behind */
    tra_plan_op is = op->op;
    if (is == TRA_PLAN_MAP || is == TRA_PLAN_TILE || is == TRA_PLAN_CONCAT || is == TRA_PLAN_OUTPUT) {
        int64_t out = type_bytes(&op->type), units = queued(stored_bytes(p, &p->ops[op->in[0]]), threads);
        return tra_min64(2 * here, (units + BEHIND) * 2 * out); /* computed, then copied */
    }
    bool loops = is == TRA_PLAN_JOIN || is == TRA_PLAN_AGG || is == TRA_PLAN_JOINAGG || is == TRA_PLAN_MERGE;
    if (!loops) return held ? 0 : here;
    tra_block_loop l = loop_of(p, op, threads, budget);
    int64_t steps = steps_queued(p, op, l, threads), n = 0;
    for (int side = 0; side < 2 && op->in[side] >= 0; side++) {
        const tra_op *in = &p->ops[op->in[side]];
        int64_t each = read_bytes(p, in) - stored_bytes(p, in);
        if (each > 0) n += each * tra_min64(steps * (side == 0 ? l.ci : l.cj), most_tuples(p, in));
    }
    if (held || !op->type.cat->grid) return n + (held ? 0 : here);
    int64_t super = tra_min64(here, l.ci * l.cj * join_need(p, op, threads).c); /* all that have a step in the queue */
    return n + tra_min64(here, (steps + BEHIND) * super);
}

/* Of `here` bytes of a file that a site reads, those that are held at once: what one stage alone reads, and once,
 * leaves when the stage has done with it. */
static int64_t held_of_input(const tra_plan *p, int i, int64_t here, int threads, int64_t budget) {
    int readers = 0, at = i, side = 0;
    bool many = false;
    for (int j = i + 1; j < p->nops; j++) {
        for (int k = 0; k < 2 && p->ops[j].in[k] >= 0 && !renames(&p->ops[j]) && !p->ops[j].fused; k++) {
            if (tra_op_holder(p, p->ops[j].in[k], &many) == i) readers++, at = j, side = k;
        }
    }
    const tra_op *op = &p->ops[at];
    if (readers != 1 || !p->ops[i].type.cat->grid || !tra_op_reads_alone(p, op, side)) return here;
    int64_t unit = stored_bytes(p, &p->ops[op->in[side]]), units = queued(unit, threads);
    if (op->op == TRA_PLAN_JOIN || op->op == TRA_PLAN_AGG || op->op == TRA_PLAN_JOINAGG) {
        if (passes(p, op, side, threads, budget) > 1) return here;
        if (op->in[1] >= 0 && values_of(p, op, !side, LONE) > 1) return here; /* it meets several of these in turn */
        tra_block_loop loop = loop_of(p, op, threads, budget);
        unit *= side == 0 ? loop.ci : loop.cj;
        units = steps_queued(p, op, loop, threads);
    } else if (op->op != TRA_PLAN_MAP && op->op != TRA_PLAN_OUTPUT && !(op->op == TRA_PLAN_REPART && p->sites == 1)) {
        return here;
    }
    return tra_min64(here, units * unit);
}

/* Exchanges of whole tuples after which nothing but the next join or aggregation wants them, and others like it
 * first. */
static bool can_run_beside(const tra_plan *p, int i) {
    const tra_op *op = &p->ops[i];
    if ((op->op != TRA_PLAN_SHUF && op->op != TRA_PLAN_BCAST) || tra_place_is_partial(&p->ops[op->in[0]].place))
        return false;
    for (int j = i + 1; j < p->nops; j++) {
        const tra_op *next = &p->ops[j];
        if (next->op == TRA_PLAN_INPUT || (is_view(next) && next->op != TRA_PLAN_OUTPUT)) continue;
        if (next->op != TRA_PLAN_SHUF && next->op != TRA_PLAN_BCAST)
            return next->op == TRA_PLAN_JOIN || next->op == TRA_PLAN_AGG || next->op == TRA_PLAN_JOINAGG;
        int from = next->in[0]; /* it must not wait for tuples of ours */
        while (from > i && p->ops[from].in[0] >= 0 && is_view(&p->ops[from])) from = p->ops[from].in[0];
        if (from == i || !can_run_beside(p, j)) return false;
    }
    return false;
}

/* Where everything has room, exchanges run beside. held: bytes of each result. Returns what they take besides, what
 * they read being held for longer. */
static int64_t choose_beside(tra_plan *p, int threads, const int64_t *held, int64_t wish) {
    int64_t need = 0;
    for (int i = 0; i < p->nops; i++) {
        p->ops[i].beside = can_run_beside(p, i);
        if (!p->ops[i].beside) continue;
        int from = p->ops[i].in[0];
        while (is_view(&p->ops[from])) from = p->ops[from].in[0];
        need += tra_op_memory(p, &p->ops[i], threads) + held[from];
    }
    if (p->memory == 0 || wish + need <= p->memory) return need;
    for (int i = 0; i < p->nops; i++) p->ops[i].beside = false;
    return 0;
}

static int64_t predict(tra_plan *p, int threads) {
    int64_t base = tra_memory_base(p, threads), least = base + TRA_LEAST_BUDGET, wish = least;
    int64_t budget = p->memory > 0 ? p->memory - base : INT64_MAX / 4;
    int64_t *floats = tra_calloc((size_t)p->sites * 2, sizeof *floats), *tuples = floats + p->sites;
    int64_t *held = tra_calloc(2 * (size_t)p->nops + 1, sizeof *held); /* bytes of each stored result on the fullest */
    int64_t *at_once = held + p->nops;                                 /* site, and of them at once */
    int64_t all = 0, spill = 0;                                   /* of what lives while an operator runs; not inputs */
    int64_t lean = least, stays = 0; /* less than wish, and all, by what is read alone and leaves */
    int64_t spool = 0; /* encoded chunks of outputs wait in scratch, none longer than the chunk */
    edges e = find_edges(p);
    choose_fused(p, &e);
    find_files(p, &e);
    views_hold(p, &e);
    find_io(p, &e);
    p->cost.disk_read = p->cost.disk_write = p->scratch = p->kept = 0;
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        int64_t here = 0;
        op->cost.disk_read = op->cost.disk_write = op->spill = 0;
        op->cost.peak_memory = base;
        tra_place_floats(&op->place, op->type.cat, floats, tuples);
        int64_t size = (int64_t)tra_dtype_size(op->type.dtype);
        int64_t more = type_bytes(&op->type) - tra_catalog_maxfloats(op->type.cat) * size; /* that a block takes */
        for (int s = 0; s < p->sites; s++) here = tra_max64(here, floats[s] * size + tuples[s] * more);
        if ((op->op == TRA_PLAN_SHUF || op->op == TRA_PLAN_BCAST) && tra_place_is_partial(&p->ops[op->in[0]].place))
            here *= tra_place_summands(&p->ops[op->in[0]].place);
        bool stage = op->op != TRA_PLAN_INPUT && (!is_view(op) || op->op == TRA_PLAN_OUTPUT);
        if (op->op == TRA_PLAN_INPUT) /* blocks that were read stay while there is room */
            held[i] = here;
        else if (stage && op->op != TRA_PLAN_OUTPUT && !streams_out(p, &e, i))
            held[i] = here;
        at_once[i] = op->op == TRA_PLAN_INPUT ? held_of_input(p, i, here, threads, budget) : held[i];
        all += held[i];
        stays += at_once[i];
        if (op->op != TRA_PLAN_INPUT) spill += held[i];
        if (stage) {
            int64_t mine = tra_op_memory(p, op, threads);
            if (op->op == TRA_PLAN_OUTPUT) op->cost.disk_write = op->type.cat->n * tra_store_chunk_bytes(&op->type);
            int64_t most = 0;
            for (int s = 0; s < p->sites; s++) most = tra_max64(most, tuples[s]);
            if (op->op == TRA_PLAN_OUTPUT && p->compress) spool += most * tra_store_chunk_bytes(&op->type);
            op->cost.peak_memory = base + mine;
            least = tra_max64(least, base + mine);
            int64_t more = base + mine + under_way(p, op, held[i] > 0, here, threads, budget);
            wish = tra_max64(wish, more + all);
            lean = tra_max64(lean, more + stays);
            op->spill = tra_max64(0, tra_min64(spill, spill + mine - budget));
            p->scratch = tra_max64(p->scratch, op->spill);
            p->kept = tra_max64(p->kept, spill);
            p->cost.disk_write += op->cost.disk_write;
        }
        int done[3] = {i, op->in[0], op->in[1] == op->in[0] ? -1 : op->in[1]}; /* what nobody uses after this */
        for (int k = 0; k < 3; k++) {
            if (done[k] < 0 || e.last[done[k]] > i) continue;
            all -= held[done[k]];
            stays -= at_once[done[k]];
            if (p->ops[done[k]].op != TRA_PLAN_INPUT) spill -= held[done[k]];
        }
    }
    p->scratch += spool;
    int64_t beside = choose_beside(p, threads, held, wish);
    wish += beside;
    predict_reads(p, &e, threads, p->memory > 0 && wish > p->memory ? budget : 0);
    if (beside == 0) wish = lean;
    p->cost.peak_memory = p->memory > 0 ? tra_min64(tra_max64(least, wish), tra_max64(p->memory, least)) : wish;
    free_edges(&e);
    free(floats);
    free(held);
    return least;
}

int64_t tra_plan_memory(tra_plan *p, int threads) {
    p->slim = false;
    int64_t roomy = predict(p, threads), slim = roomy;
    bool fused = false;
    for (int i = 0; i < p->nops; i++) fused |= p->ops[i].fused;
    if (fused) {
        p->slim = true;
        slim = predict(p, threads);
        p->slim = slim < roomy && p->memory > 0 && p->memory < roomy;
        if (!p->slim) predict(p, threads);
    }
    return tra_min64(slim, roomy);
}

int64_t tra_exchange_scratch(const tra_plan *p) {
    int64_t most = 0;
    for (int i = 0; i < p->nops; i++) most = tra_max64(most, p->ops[i].cost.network_bytes);
    return tra_ceil_div(most, p->sites);
}
