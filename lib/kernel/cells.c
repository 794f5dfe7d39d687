/* cells.c - the border of this room: by the layout of what it is given or asked for, the kernels of dense arrays or
 * those of the layout; of the rows of tables, those of lib/table. */
#include "../model/columns.h"
#include "program_int.h"

#include <assert.h>
#include <string.h>

/* An array that says its extents itself is dense to whoever reads it. */
static const tra_cell *plain(const tra_cell *c, tra_cell *buf) {
    if (!c || c->layout != &tra_counted) return c;
    *buf = (tra_cell){.sparse = c->sparse, .array = c->array};
    return buf;
}

static const tra_layout *kept(const tra_layout *l) { return l == &tra_counted ? NULL : l; }

/* Who runs a kernel on cells of these layouts: lib/table, programs, the kernels of a layout, which is *l, or those of
 * dense arrays. */
typedef enum room { TABLE, PROGRAM, LAYOUT, DENSE } room;
static room room_of(const tra_kernel *k, const tra_layout *a, const tra_layout *b, const tra_layout *out,
                    const tra_layout **l) {
    *l = kept(out) ? kept(out) : kept(a) ? kept(a) : kept(b);
    if (k->rows) return TABLE;
    return tra_kernel_is_program(k) ? PROGRAM : *l ? LAYOUT : DENSE;
}

const char *tra_impl_text(tra_impl w) {
    static const char *const texts[] = {
#define X(name, text) text,
        TRA_IMPLS(X)
#undef X
    };
    return texts[w];
}

int tra_choose(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out, bool accumulates,
               tra_impl ways[TRA_MOST_IMPLS]) {
    const tra_layout *l;
    tra_cell x, y;
    const bool sparse[2] = {a->sparse, b && b->sparse};
    switch (room_of(k, a->layout, b ? b->layout : NULL, out->layout, &l)) {
    case TABLE: ways[0] = TRA_IMPL_TABLE; return 1;
    case PROGRAM: ways[0] = tra_program_way(k, a->layout, b->layout); return 1;
    case LAYOUT: ways[0] = l->kernels->choose(k, plain(a, &x), plain(b, &y), out, accumulates); return 1;
    case DENSE: break;
    }
    return tra_choose_dense(k, &a->array, b ? &b->array : NULL, sparse, ways);
}

int64_t tra_cell_scratch(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                         const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    const tra_layout *l;
    switch (room_of(k, a->layout, b ? b->layout : NULL, out, &l)) {
    case TABLE: return tra_rows_scratch(k->rows, ext_a, ext_b);
    case PROGRAM: return tra_program_scratch(k, a, ext_a, b, ext_b, kept(out));
    case LAYOUT:
        if (l->kernels->scratch) return l->kernels->scratch(k, use, a, ext_a, b, ext_b, kept(out));
        break;
    case DENSE: break;
    }
    return (int64_t)tra_kernel_scratch(k, use, a->dtype, b ? b->dtype : a->dtype, ext_a, ext_b);
}

int64_t tra_cell_keep(const tra_kernel *k, const tra_dims *ext_b) {
    return k->rows && k->rows->ops->keep ? k->rows->ops->keep(k->rows->data, ext_b) : 0;
}

/* ---- results that say their extents themselves ------------------------------------------------------------------- */

/* Lays out the block, and shows it as a dense array; without data: there is no memory. */
static tra_cell begin(tra_cell *out, const tra_dims *ext) {
    if (tra_counted_take(out, ext)) tra_counted_begin(out, ext);
    return (tra_cell){.sparse = out->sparse, .array = out->array};
}

static tra_dims map_ext(const tra_kernel *k, const tra_cell *in) {
    tra_dims ext;
    tra_status s = tra_kernel_shape1(k, &in->array.ext, &ext, NULL, NULL);
    assert(s == TRA_OK);
    (void)s;
    return ext;
}

/* The extents of the result. The compiler checked those of the operands, but where the program joins unlike tables
 * those of the run may differ. */
static tra_dims join_ext(const tra_kernel *k, const tra_cell *a, const tra_cell *b) {
    tra_dims ext = {0};
    tra_err e = {0};
    const tra_dims *x = &a->array.ext, *y = &b->array.ext;
    if (tra_kernel_shape2(k, x, y, x, y, &ext, NULL, &e) != TRA_OK) tra_kernel_fail("%s", e.msg);
    return ext;
}

/* The extents of the sum of both: along each dimension the larger one. */
static tra_dims both_ext(const tra_cell *state, const tra_cell *term) {
    tra_dims ext = term->array.ext;
    for (int d = 0; state && d < ext.n; d++) ext.v[d] = tra_max64(ext.v[d], state->array.ext.v[d]);
    return ext;
}

static void counted_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    tra_dims ext = both_ext(state, term), zero = {.n = ext.n};
    tra_cell sum = begin(out, &ext);
    if (!out->head) return;
    if (!state || !tra_dims_eq(&state->array.ext, &ext)) tra_agg_init(agg, &sum.array);
    if (state) tra_array_copy(&sum.array, &zero, &state->array, &zero, &state->array.ext);
    tra_cell_fold(agg, &sum.array, term, NULL);
}

static tra_dims finish_ext(const tra_kernel *agg, const tra_cell *state) {
    tra_dims ext = state->array.ext;
    return tra_kernel_rest(agg) ? map_ext(tra_kernel_rest(agg), state) : ext;
}

const tra_layout tra_counted = {
    .name = "counted", .id = 3, .nparts = 2, .bytes = tra_counted_bytes, .adopt_extents = tra_counted_adopt_extents};

void tra_cell_empty(tra_cell *out, uint32_t dims) {
    tra_dims ext = out->array.ext;
    if (out->layout != &tra_counted) return out->layout->kernels->gather(NULL, 0, out, 1);
    for (int d = 0; d < ext.n; d++)
        if (dims >> d & 1) ext.v[d] = 0;
    (void)begin(out, &ext);
}

/* After a failure there is an array, though not the right one. */
static void made(tra_cell *out) {
    if (out->layout && !out->head && !out->from->refused) tra_cell_empty(out, UINT32_MAX);
}

/* ---- maps and joins ---------------------------------------------------------------------------------------------- */

void tra_cell_map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    tra_cell x, dense;
    const tra_layout *l;
    room r = room_of(k, in->layout, NULL, out->layout, &l);
    if (r == TABLE) {
        tra_rows_run(k->rows, in, NULL, out, scratch);
        return made(out);
    }
    if (out->layout == &tra_counted) {
        tra_dims ext = map_ext(k, in);
        dense = begin(out, &ext);
        if (!out->head) return;
        out = &dense;
    }
    in = plain(in, &x);
    if (r == LAYOUT)
        l->kernels->map(k, in, out, scratch);
    else
        tra_map_sparse(k, &in->array, in->sparse, &out->array, scratch);
}

bool tra_cell_join_by_panels(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out) {
    tra_cell x, y;
    const tra_layout *l = kept(out->layout);
    if (k->rows || tra_kernel_is_program(k) || !l || !l->kernels->join_by_panels) return false;
    return l->kernels->join_by_panels(k, plain(a, &x), plain(b, &y), out);
}

void tra_cell_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    tra_cell x, y, dense;
    const tra_layout *l;
    room r = room_of(k, a->layout, b->layout, out->layout, &l);
    if (r == TABLE || r == PROGRAM) {
        if (r == TABLE)
            tra_rows_run(k->rows, a, b, out, scratch);
        else
            tra_program_join(k, a, b, out, scratch);
        return made(out);
    }
    if (out->layout == &tra_counted) {
        tra_dims ext = join_ext(k, a, b);
        dense = begin(out, &ext);
        if (!out->head) return;
        out = &dense;
    }
    if (tra_kernel_failure()) return;
    a = plain(a, &x), b = plain(b, &y);
    if (r == LAYOUT)
        l->kernels->join(k, a, b, out, scratch);
    else
        tra_join_sparse(k, &a->array, &b->array, (const bool[2]){a->sparse, b->sparse}, &out->array, scratch);
}

void tra_cell_fma(const tra_kernel *join, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                  void *scratch) {
    tra_cell x, y;
    if (tra_kernel_is_program(join)) {
        tra_fused_add(join, a, b, acc, first, scratch);
        return;
    }
    bool counted = a->layout == &tra_counted || b->layout == &tra_counted;
    if (counted) (void)join_ext(join, a, b);
    if (counted && tra_kernel_failure()) return;
    a = plain(a, &x), b = plain(b, &y);
    const tra_layout *l = a->layout ? a->layout : b->layout;
    if (l)
        l->kernels->fma(join, a, b, acc, tile, first, scratch);
    else
        tra_fma_sparse(join, &a->array, &b->array, (const bool[2]){a->sparse, b->sparse}, acc, tile, first);
}

/* ---- aggregations ------------------------------------------------------------------------------------------------ */

void tra_cell_fold(const tra_kernel *agg, tra_array *state, const tra_cell *in, const tra_agg_at *at) {
    tra_cell x;
    in = plain(in, &x);
    if (in->layout)
        in->layout->kernels->fold(agg, state, in, at);
    else
        tra_fold_sparse(agg, state, &in->array, in->sparse, at);
}

int64_t tra_cell_sum_room(const tra_kernel *join, const tra_kernel *agg, const tra_cell *a, const tra_cell *b, int n,
                          const tra_cell *out) {
    const tra_layout *l = kept(out->layout);
    if (join->rows || tra_kernel_is_program(join) || !l || !l->kernels->sum_room) return -1;
    if (!tra_kernel_folds_as(tra_kernel_first(agg), join)) return -1;
    for (int i = 0; i < n; i++)
        if (a[i].layout != l || b[i].layout != l) return -1;
    return l->kernels->sum_room(join, a, b, n, out);
}

int64_t tra_cell_sum_use(const tra_kernel *join, const tra_cell *a, const tra_cell *b, const int64_t entries[2],
                         int64_t n, const tra_cell *out, int64_t *scratch) {
    const tra_layout *l = kept(out->layout);
    if (join->rows || tra_kernel_is_program(join) || !l || !l->kernels->sum_use || a->layout != l || b->layout != l)
        return -1;
    return l->kernels->sum_use(join, a, b, entries, n, out, scratch);
}

void tra_cell_sum(const tra_kernel *join, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state,
                  tra_cell *out, bool again, void *room, void *scratch) {
    out->layout->kernels->sum(join, a, b, n, state, out, again, room, scratch);
}

void tra_cell_merge(const tra_kernel *agg, const tra_cell *state, const tra_cell *term, tra_cell *out) {
    tra_cell x;
    assert(out->layout);
    if (kept(out->layout))
        out->layout->kernels->merge(agg, state, plain(term, &x), out);
    else
        counted_merge(agg, state, term, out);
}

void tra_cell_finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    tra_cell x, dense;
    if (out->layout == &tra_counted) {
        tra_dims ext = finish_ext(agg, state);
        dense = begin(out, &ext);
        if (!out->head) return;
        out = &dense;
    }
    state = plain(state, &x);
    const tra_layout *l = out->layout ? out->layout : state->layout;
    if (l)
        l->kernels->finish(agg, in, state, out, scratch);
    else
        tra_finish_sparse(agg, in, state->sparse, &state->array, &out->array, scratch);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

void tra_cell_copy(tra_cell *dst, const tra_dims *to, const tra_cell *src, const tra_dims *from, const tra_dims *ext) {
    tra_cell x;
    assert(dst->layout != &tra_counted); /* such arrays are not cut anew */
    src = plain(src, &x);
    const tra_layout *l = dst->layout ? dst->layout : src->layout;
    if (l)
        l->kernels->copy(dst, to, src, from, ext);
    else
        tra_array_copy(&dst->array, to, &src->array, from, ext);
}

typedef struct copying {
    const tra_cell_piece *p;
    int64_t n;
    tra_cell *out;
    int pieces;
} copying;

static void copy_some(void *ctx, int piece, void *scratch) {
    const copying *x = ctx;
    int64_t to = tra_piece_begin(x->n, x->pieces, piece + 1);
    (void)scratch;
    for (int64_t i = tra_piece_begin(x->n, x->pieces, piece); i < to; i++)
        tra_cell_copy(x->out, &x->p[i].to, x->p[i].src, &x->p[i].from, &x->p[i].ext);
}

void tra_cell_gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m) {
    enum { BYTES = 4 }; /* in a step, of memory that was not touched before */
    if (out->layout) {
        out->layout->kernels->gather(p, n, out, m);
        return;
    }
    int64_t left = tra_elements_of(&out->array.ext), bytes = (int64_t)tra_array_bytes(&out->array);
    for (int64_t i = 0; i < n; i++) left -= tra_elements_of(&p[i].ext);
    if (left > 0) memset(out->array.data, 0, (size_t)bytes);
    copying x = {p, n, out, (int)tra_max64(1, tra_min64(n, tra_parallel_pieces(bytes / BYTES)))};
    tra_parallel(x.pieces, copy_some, &x, NULL);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Has the result the same rows however many the operand has? */
static bool takes_any_rows(const tra_kernel *k) {
    const tra_kernel *const *steps;
    const tra_kernel *self = k;
    for (int i = tra_steps(k, &steps, &self) - 1; i >= 0; i--)
        if (steps[i]->cls == TRA_K_LAPACK && steps[i]->row->lapack == TRA_L_TSQR_FIRST_R) return true;
    return false;
}

/* Where the dimensions of a result come from; false where that cannot be told. */
static bool sources(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_type *b, tra_dimsrc *src) {
    tra_dims out;
    const tra_dims *x = &a->cat->bound, *y = b ? &b->cat->bound : NULL;
    if (use == TRA_USE_JOIN) return tra_kernel_shape2(k, x, y, x, y, &out, src, NULL) == TRA_OK;
    if (use == TRA_USE_AGG) return tra_kernel_shape_agg(k, x, &out, src, NULL) == TRA_OK;
    return tra_kernel_shape1(k, x, &out, src, NULL) == TRA_OK;
}

void tra_kernel_bounded(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_type *b, tra_type *out) {
    tra_dimsrc src;
    uint32_t any = a->bounded | (b ? b->bounded : 0);
    out->columns = k->rows ? k->rows->columns : NULL;
    out->bounded = 0;
    tra_rows_extent rows = k->rows ? k->rows->extent : TRA_ROWS_NONE;
    if (rows == TRA_ROWS_SAME || rows == TRA_ROWS_MOST) /* as many as the left operand has */
        out->bounded = k->rows->counts || a->bounded ? 1 : 0;
    else if (rows == TRA_ROWS_TAKEN)
        out->bounded = a->bounded & ~(1u << k->rows->width);
    else if (rows != TRA_ROWS_ONE && rows != TRA_ROWS_NONE && rows != TRA_ROWS_FIXED)
        out->bounded = k->rows->counts || any ? 1 : 0;
    if (any && takes_any_rows(k)) any = 0;
    bool known = any && !k->rows && sources(k, use, a, b, &src);
    for (int d = 0; any && !k->rows && d < out->cat->bound.n; d++) {
        int from = known ? src.from[d] : 0;
        const tra_type *x = from >= 32 ? b : a;
        if (from >= 0 && (x->bounded >> from % 32 & 1)) out->bounded |= 1u << d;
    }
    if (out->columns)
        out->layout = &tra_columns;
    else if (out->bounded)
        out->layout = &tra_counted;
}
