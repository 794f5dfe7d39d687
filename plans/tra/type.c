/* type.c - types of operators: which tuples the result has, and how large their arrays are.
 *
 * Grids are typed without looking at their tuples. The extents of an array depend only on the class of its key: the set
 * of key dimensions of which it has the last component. So the kernel's shape function is evaluated once for each
 * class, over the key dimensions that clip anything (at whose end arrays are smaller), and that decides every tuple.
 *
 * Source: Tensor Relational Algebra, section 3.
 */
#include "type.h"

#include <stdlib.h>
#include <string.h>

void tra_type_join_places(const tra_node *n, int *place) {
    int kl = n->in[0]->type.cat->frontier.n, kr = n->in[1]->type.cat->frontier.n;
    for (int d = 0; d < kr; d++) place[d] = tra_join_key(&n->join.l, &n->join.r, kl, d);
}

void tra_type_group_places(const tra_node *n, int *place) {
    for (int d = 0; d < n->in[0]->type.cat->frontier.n; d++) {
        place[d] = -1;
        for (int i = 0; i < n->group.n; i++)
            if (n->group.v[i] == d) place[d] = i;
    }
}

tra_status tra_type_too_many(const tra_node *n, tra_err *e) {
    return tra_fail(e, TRA_PROGRAM,
                    "the result of this %s is not a grid and has more than %d tuples, too many to list; use larger "
                    "blocks",
                    tra_opcode_text(n->op), TRA_MAX_LIST);
}

void tra_type_empty(int k, const tra_dims *bound, tra_catalog *out) {
    *out = (tra_catalog){.frontier = {.n = k}, .bound = *bound};
}

/* ---- grids -------------------------------------------------------------------------------------------------- */

enum { MAX_CLIPS = 12 }; /* key dimensions that clip, in one result: 2^12 shapes */

/* Sets *ext to the extents of the result's arrays at the keys of a class: bit d of `class` is set if component d is the
 * last one of its dimension. */
typedef tra_status shape_fn(void *ctx, uint32_t class, tra_dims *ext, tra_err *e);

/* Makes *out the grid of all keys below `frontier`; `clips` is the set of key dimensions that may clip. *fits is false,
 * and *out is not set, when the extents are not those of a grid (tra_catalog), or when the result has no tuples and the
 * kernel refuses the shapes that they would have. */
static tra_status fit_grid(const tra_dims *frontier, uint32_t clips, shape_fn *shape, void *ctx, bool *fits,
                           tra_catalog *out, tra_err *e) {
    uint32_t forced = 0; /* dimensions of one value, which is the last one too: they are in every class */
    bool empty = false;
    for (int d = 0; d < frontier->n; d++) {
        empty |= frontier->v[d] == 0;
        if (frontier->v[d] == 1) forced |= 1u << d;
        if (frontier->v[d] < 2) clips &= ~(1u << d);
    }
    *fits = false;
    if (__builtin_popcount(clips) > MAX_CLIPS) return TRA_OK;
    tra_dims base, ext;
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    if (empty) e = NULL;
    tra_status s = shape(ctx, forced, &base, e);
    if (s != TRA_OK) return empty ? TRA_OK : s;
    for (int a = 0; a < base.n; a++) by[a] = -1, last[a] = base.v[a];
    bool fit = true;
    for (uint32_t rest = clips; rest; rest &= rest - 1) { /* which dimension clips which extent */
        int d = __builtin_ctz(rest);
        s = shape(ctx, forced | 1u << d, &ext, e);
        if (s != TRA_OK) return empty ? TRA_OK : s;
        for (int a = 0; a < base.n; a++) {
            if (ext.v[a] == base.v[a]) continue;
            by[a] = (int8_t)d;
            last[a] = ext.v[a];
        }
    }
    for (uint32_t sub = clips; sub; sub = (sub - 1) & clips) { /* do all classes agree with that? */
        s = shape(ctx, forced | sub, &ext, e);
        if (s != TRA_OK) return empty ? TRA_OK : s;
        for (int a = 0; a < base.n; a++)
            fit = fit && ext.v[a] == (by[a] >= 0 && (sub >> by[a] & 1) ? last[a] : base.v[a]);
    }
    *fits = fit;
    return fit ? tra_catalog_grid(frontier, &base, by, last, out, e) : TRA_OK;
}

/* The extents of a grid's arrays at the keys of a class. */
static void class_ext(const tra_catalog *c, uint32_t class, tra_dims *ext) {
    ext->n = c->bound.n;
    for (int a = 0; a < ext->n; a++) ext->v[a] = c->by[a] >= 0 && (class >> c->by[a] & 1) ? c->last[a] : c->bound.v[a];
}

/* The key dimensions at whose end arrays of a grid are smaller. */
static uint32_t clipping(const tra_catalog *c) {
    uint32_t set = 0;
    for (int a = 0; a < c->bound.n; a++)
        if (c->by[a] >= 0) set |= 1u << c->by[a];
    return set;
}

/* ---- join --------------------------------------------------------------------------------------------------- */

typedef struct join_ctx {
    const tra_node *n;
    tra_dims frontier;
    int place[2][TRA_MAXDIM]; /* of each key dimension of L and R in the result's key */
    tra_dims bound[2];        /* of L and R */
    tra_sample *sample;
    bool sampled; /* *sample is set */
} join_ctx;

/* The class of the operand's key that a key of the result of this class is made of. Where the other operand has fewer
 * values of a joined dimension, this one's last value is never reached. */
static uint32_t operand_class(const join_ctx *j, int side, uint32_t class) {
    const tra_catalog *c = j->n->in[side]->type.cat;
    uint32_t set = 0;
    for (int d = 0; d < c->frontier.n; d++) {
        int p = j->place[side][d];
        if ((class >> p & 1) && c->frontier.v[d] == j->frontier.v[p]) set |= 1u << d;
    }
    return set;
}

/* A key of the operand that takes part in a key of the result of this class, for messages. */
static void example_key(const join_ctx *j, int side, uint32_t class, tra_dims *key) {
    key->n = j->n->in[side]->type.cat->frontier.n;
    for (int d = 0; d < key->n; d++) {
        int p = j->place[side][d];
        key->v[d] = (class >> p & 1) && j->frontier.v[p] > 0 ? j->frontier.v[p] - 1 : 0;
    }
}

static tra_status join_shape(void *ctx, uint32_t class, tra_dims *ext, tra_err *e) {
    join_ctx *j = ctx;
    tra_dims l, r, kl, kr;
    class_ext(j->n->in[0]->type.cat, operand_class(j, 0, class), &l);
    class_ext(j->n->in[1]->type.cat, operand_class(j, 1, class), &r);
    if (!j->sampled) *j->sample = (tra_sample){l, r};
    j->sampled = true;
    tra_err err = {0};
    tra_status s = tra_kernel_shape2(j->n->kernel, &l, &r, &j->bound[0], &j->bound[1], ext, NULL, &err);
    if (s == TRA_OK) return TRA_OK;
    char a[TRA_DIMTEXT], b[TRA_DIMTEXT];
    example_key(j, 0, class, &kl);
    example_key(j, 1, class, &kr);
    return tra_fail(e, s, "%s (arrays of the keys %s and %s)", err.msg, tra_key_text(&kl, a), tra_key_text(&kr, b));
}

static tra_status join_catalog(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *l = n->in[0]->type.cat, *r = n->in[1]->type.cat;
    if (!l->grid || !r->grid) return tra_list_join(a, n, out, sample, e);
    join_ctx j = {.n = n, .sample = sample};
    j.bound[0] = l->bound;
    j.bound[1] = r->bound;
    j.frontier = l->frontier;
    j.frontier.n = l->frontier.n + r->frontier.n - n->join.r.n;
    tra_type_join_places(n, j.place[1]);
    for (int d = l->frontier.n; d < j.frontier.n; d++) j.frontier.v[d] = INT64_MAX;
    for (int d = 0; d < r->frontier.n; d++) {
        int64_t *f = &j.frontier.v[j.place[1][d]];
        *f = tra_min64(*f, r->frontier.v[d]);
    }
    uint32_t clips = 0;
    for (int side = 0; side < 2; side++) {
        const tra_catalog *c = n->in[side]->type.cat;
        for (int d = 0; d < c->frontier.n; d++) {
            if (side == 0) j.place[0][d] = d;
            if (clipping(c) >> d & 1) clips |= 1u << j.place[side][d];
        }
    }
    bool fits;
    TRA_TRY(fit_grid(&j.frontier, clips, join_shape, &j, &fits, out, e));
    return fits ? TRA_OK : tra_list_join(a, n, out, sample, e);
}

/* ---- agg and transform -------------------------------------------------------------------------------------- */

typedef struct unary_ctx {
    const tra_node *n;
    int place[TRA_MAXDIM]; /* of each key dimension in the result's key, or -1 */
    tra_sample *sample;
    bool sampled;
} unary_ctx;

static tra_status unary_shape(void *ctx, uint32_t class, tra_dims *ext, tra_err *e) {
    unary_ctx *u = ctx;
    const tra_catalog *c = u->n->in[0]->type.cat;
    tra_dims in = c->bound;
    for (int a = 0; a < in.n; a++) {
        if (c->by[a] < 0) continue;
        int p = u->place[c->by[a]]; /* -1: it is aggregated, and arrays are padded to the largest of their group */
        if (p >= 0 && class >> p & 1) in.v[a] = c->last[a];
    }
    if (!u->sampled) u->sample->l = in;
    u->sampled = true;
    return u->n->op == TRA_OP_AGG ? tra_kernel_shape_agg(u->n->kernel, &in, ext, NULL, e)
                                  : tra_kernel_shape1(u->n->kernel, &in, ext, NULL, e);
}

static tra_status unary_catalog(tra_arena *a, const tra_node *n, tra_catalog *out, tra_sample *sample, tra_err *e) {
    const tra_catalog *c = n->in[0]->type.cat;
    bool agg = n->op == TRA_OP_AGG;
    unary_ctx u = {.n = n, .sample = sample};
    tra_dims frontier = c->frontier;
    for (int d = 0; d < frontier.n; d++) u.place[d] = d;
    if (agg) {
        tra_type_group_places(n, u.place);
        frontier.n = n->group.n;
        for (int i = 0; i < frontier.n; i++) frontier.v[i] = c->frontier.v[n->group.v[i]];
    }
    if (c->grid) {
        uint32_t clips = 0;
        for (int d = 0; d < c->frontier.n; d++)
            if (u.place[d] >= 0 && (clipping(c) >> d & 1)) clips |= 1u << u.place[d];
        bool fits;
        TRA_TRY(fit_grid(&frontier, clips, unary_shape, &u, &fits, out, e));
        if (fits && c->n == 0 && out->n != 0) { /* without tuples there are no groups */
            tra_dims bound = out->bound;
            tra_type_empty(frontier.n, &bound, out);
        }
        if (fits) return TRA_OK;
    }
    return agg ? tra_list_agg(a, n, out, sample, e) : tra_list_transform(a, n, out, sample, e);
}

/* ---- tile, concat, repart ----------------------------------------------------------------------------------- */

static tra_status type_tile(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    const tra_catalog *c = x->cat;
    int k = c->frontier.n, dim = n->dim;
    memcpy(n->type.cut, x->cut, sizeof x->cut);
    n->type.cut[dim] |= 1u << k;
    if (!c->grid || c->by[dim] >= 0) return tra_list_tile(a, n, out, e);
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    memcpy(by, c->by, sizeof by);
    memcpy(last, c->last, sizeof last);
    tra_dims frontier = c->frontier, bound = c->bound;
    int64_t extent = bound.v[dim], tiles = tra_ceil_div(extent, n->size);
    frontier.v[frontier.n++] = tiles;
    bound.v[dim] = tra_min64(n->size, extent);
    by[dim] = (int8_t)k;
    last[dim] = tiles ? extent - (tiles - 1) * n->size : 0;
    return tra_catalog_grid(&frontier, &bound, by, last, out, e);
}

static tra_status type_concat(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    const tra_catalog *c = x->cat;
    int kd = n->keydim, dim = n->dim, r = c->bound.n;
    int place[TRA_MAXDIM];
    for (int d = 0; d < c->frontier.n; d++) place[d] = d == kd ? -1 : d - (d > kd);
    for (int i = 0; i < r; i++) n->type.cut[i] = tra_type_moved_cut(x->cut[i] & ~(1u << kd), place);
    if (n->most) n->type.cut[dim] = (1u << (c->frontier.n - 1)) - 1; /* of parts of a table all keys count rows */
    if (!c->grid) return tra_list_concat(a, n, out, e);
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM], count = c->frontier.v[kd];
    tra_dims frontier = {.n = c->frontier.n - 1}, bound = c->bound;
    for (int d = 0; d < c->frontier.n; d++)
        if (d != kd) frontier.v[place[d]] = c->frontier.v[d];
    for (int i = 0; i < r; i++) {
        bool clipped = c->by[i] == kd;
        by[i] = c->by[i] < 0 || clipped ? -1 : (int8_t)place[(int)c->by[i]];
        last[i] = c->last[i];
        if (clipped && i != dim && c->n > 0)
            return tra_fail(e, TRA_PROGRAM,
                            "concat needs arrays of equal extents along the other dimensions, but along dimension %d "
                            "they are %" PRId64 ", and %" PRId64 " at the last value of key dimension %d",
                            i, c->bound.v[i], c->last[i], kd);
        if (i != dim) continue;
        bool ok = tra_mul(clipped ? count - 1 : count, bound.v[i], &bound.v[i]);
        if (clipped) ok = ok && tra_add(bound.v[i], last[i], &bound.v[i]);
        ok = ok && tra_mul(last[i], count, &last[i]);
        if (!ok) return tra_fail(e, TRA_PROGRAM, "concat along dimension %d gives an extent over 2^63", dim);
        if (n->most) bound.v[i] = tra_min64(bound.v[i], n->most), last[i] = tra_min64(last[i], n->most);
    }
    if (c->n == 0) {
        int64_t box;
        if (count == 0) bound.v[dim] = 1; /* a tensor of extent 0 has blocks of extent 1 */
        if (tra_dims_product(&frontier, &box) && box != 0) {
            tra_type_empty(frontier.n, &bound, out);
            return TRA_OK;
        }
    }
    return tra_catalog_grid(&frontier, &bound, by, last, out, e);
}

static tra_status type_repart(tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    const char *why;
    tra_dims shape;
    if (!tra_type_is_blocked(x, &why))
        return tra_fail(e, TRA_PROGRAM, "repart and reblock need a tensor in blocks; of this relation %s", why);
    tra_type_shape(x, &shape);
    if (n->slice.origin.n > 0) shape = n->slice.extent;
    TRA_TRY(tra_catalog_blocks(&shape, &n->block, out, e));
    for (int d = 0; d < shape.n; d++) n->type.cut[d] = 1u << d;
    return TRA_OK;
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

/* Warns of joined key dimensions with different numbers of values. */
static void warn_frontiers(tra_arena *a, const tra_node *n, const char **warn) {
    const tra_catalog *l = n->in[0]->type.cat, *r = n->in[1]->type.cat;
    for (int i = 0; i < n->join.l.n && !*warn; i++) {
        int64_t x = l->frontier.v[n->join.l.v[i]], y = r->frontier.v[n->join.r.v[i]];
        if (x == y) continue;
        *warn = tra_arena_printf(a,
                                 "the joined keys differ in frontier: %" PRId64 " in key dimension %" PRId64
                                 " on the left, %" PRId64 " in %" PRId64 " on the right; the lesser counts",
                                 x, n->join.l.v[i], y, n->join.r.v[i]);
    }
}

static tra_status type_agg(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    const char *why;
    tra_sample sample;
    if (tra_kernel_needs_tensor(n->kernel) && !tra_type_is_blocked(x, &why)) {
        tra_str name = {0};
        tra_kernel_print(n->kernel, &name);
        tra_status s =
            tra_fail(e, TRA_PROGRAM, "%s needs a tensor in blocks; of this relation %s", tra_str_get(&name), why);
        tra_str_free(&name);
        return s;
    }
    n->type.dtype = tra_kernel_dtype(n->kernel, TRA_USE_AGG, x->dtype, x->dtype);
    TRA_TRY(unary_catalog(a, n, out, &sample, e));
    return tra_type_agg_cuts(n, &sample, e);
}

static tra_status type_transform(tra_arena *a, tra_node *n, tra_catalog *out, tra_err *e) {
    const tra_type *x = &n->in[0]->type;
    tra_sample sample;
    n->type.dtype = tra_kernel_dtype(n->kernel, TRA_USE_MAP, x->dtype, x->dtype);
    memcpy(n->type.cut, x->cut, sizeof x->cut);
    TRA_TRY(unary_catalog(a, n, out, &sample, e));
    return tra_type_map_cuts(n->kernel, &sample.l, n->type.cut, &x->cat->frontier, e);
}

static tra_status type_join(tra_arena *a, tra_node *n, const char **warn, tra_catalog *out, tra_err *e) {
    tra_sample sample;
    n->type.dtype = tra_kernel_dtype(n->kernel, TRA_USE_JOIN, n->in[0]->type.dtype, n->in[1]->type.dtype);
    int arity = n->in[0]->type.cat->frontier.n + n->in[1]->type.cat->frontier.n - n->join.r.n;
    if (arity > TRA_MAXDIM)
        return tra_fail(e, TRA_PROGRAM, "the result would have %d key dimensions, more than %d", arity, TRA_MAXDIM);
    TRA_TRY(join_catalog(a, n, out, &sample, e));
    warn_frontiers(a, n, warn);
    return tra_type_join_cuts(n, &sample, e);
}

/* Sets the bound of a relation with holes to what the operator makes of its inputs' bounds, even if no tuple has such
 * extents: if a filter leaves only the last, clipped row of the blocks of a tensor, the holes above still have the full
 * size. */
static void widen_bound(const tra_node *n, tra_catalog *out) {
    tra_dims l = n->in[0]->type.cat->bound, r, bound = l;
    tra_status s = TRA_OK;
    switch (n->op) {
    case TRA_OP_JOIN:
        r = n->in[1]->type.cat->bound;
        s = tra_kernel_shape2(n->kernel, &l, &r, &l, &r, &bound, NULL, NULL);
        break;
    case TRA_OP_AGG: s = tra_kernel_shape_agg(n->kernel, &l, &bound, NULL, NULL); break;
    case TRA_OP_TRANSFORM: s = tra_kernel_shape1(n->kernel, &l, &bound, NULL, NULL); break;
    case TRA_OP_TILE: bound.v[n->dim] = tra_min64(n->size, l.v[n->dim]); break;
    case TRA_OP_CONCAT: bound.v[n->dim] = 0; break; /* follows from the tuples alone */
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_REPART: break;
    }
    if (s != TRA_OK || bound.n != out->bound.n) return; /* no arrays have the extents of these bounds together */
    for (int d = 0; d < bound.n; d++) out->bound.v[d] = tra_max64(out->bound.v[d], bound.v[d]);
}

tra_status tra_node_type(tra_arena *a, tra_node *n, const char **warn, tra_err *e) {
    tra_catalog *out = tra_new(a, tra_catalog);
    const char *none = NULL;
    if (!warn) warn = &none;
    *warn = NULL;
    if (n->op == TRA_OP_INPUT) return TRA_OK;
    n->type = n->in[0]->type;
    const tra_dims *frontier = &n->in[0]->type.cat->frontier, *bound = &n->in[0]->type.cat->bound;
    int arity = n->op == TRA_OP_REKEY ? n->keyfn->n : n->op == TRA_OP_TILE ? frontier->n + 1 : 0;
    if (arity + bound->n > TRA_MAXDIM)
        return tra_fail(e, TRA_PROGRAM, "the result would have %d key and %d array dimensions, together more than %d",
                        arity, bound->n, TRA_MAXDIM);
    n->type.cat = out; /* cut sets are found by its frontier */
    switch (n->op) {
    case TRA_OP_INPUT: break;
    case TRA_OP_JOIN: TRA_TRY(type_join(a, n, warn, out, e)); break;
    case TRA_OP_AGG: TRA_TRY(type_agg(a, n, out, e)); break;
    case TRA_OP_REKEY: TRA_TRY(tra_type_rekey(a, n, out, e)); break;
    case TRA_OP_FILTER: TRA_TRY(tra_type_filter(a, n, out, e)); break;
    case TRA_OP_TRANSFORM: TRA_TRY(type_transform(a, n, out, e)); break;
    case TRA_OP_TILE: TRA_TRY(type_tile(a, n, out, e)); break;
    case TRA_OP_CONCAT: TRA_TRY(type_concat(a, n, out, e)); break;
    case TRA_OP_REPART: TRA_TRY(type_repart(n, out, e)); break;
    }
    if (out->n > 0 && tra_catalog_holes(out) > 0) widen_bound(n, out);
    for (int d = out->bound.n; d < TRA_MAXDIM; d++) n->type.cut[d] = 0;
    if (out->frontier.n + out->bound.n > TRA_MAXDIM)
        return tra_fail(e, TRA_PROGRAM, "the result has %d key and %d array dimensions, together more than %d",
                        out->frontier.n, out->bound.n, TRA_MAXDIM);
    TRA_TRY(tra_type_rows(n, e));
    tra_type_entries_of(a, n);
    return TRA_OK;
}
