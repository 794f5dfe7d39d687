/* exec.c - running kernels: the steps of a composition one after the other, each by the routine of its class. */
#include "program_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

_Thread_local tra_kernel_run *tra_kernel_here;

tra_kernel_run *tra_kernel_enter(tra_kernel_run *run) {
    tra_kernel_run *before = tra_kernel_here;
    tra_kernel_here = run;
    return before;
}

/* ---- maps of one step --------------------------------------------------------------------------------------- */

/* Runs a move or reduction of one array, as loops over the array (s[0]) and the result (s[1]). */
static void run_strided(const tra_kernel *k, const tra_array *in, const tra_array *out, bool sparse) {
    tra_nest kept, reduced;
    kept.n = reduced.n = 0;
    int64_t si[TRA_MAXDIM], so[TRA_MAXDIM];
    int r = in->ext.n;
    tra_strides(&in->ext, si);
    tra_strides(&out->ext, so);
    if (k->cls == TRA_K_EINSUM) {
        for (int l = 0; l < k->nlabels; l++) {
            int64_t n = 0, step_in = 0, step_out = 0;
            bool on_left = false;
            for (int d = 0; d < r; d++)
                if (k->in[0][d] == l) n = in->ext.v[d], step_in += si[d]; /* repeated: the diagonal */
            for (int d = 0; d < k->nout; d++)
                if (k->out[d] == l) on_left = true, step_out = so[d];
            tra_nest_add(on_left ? &kept : &reduced, n, step_in, step_out, 0);
        }
    } else if (k->cls == TRA_K_DIAG) {
        tra_nest_add(&kept, out->ext.v[0], si[0] + si[1], 1, 0);
    } else {
        for (int d = 0; d < r; d++) {
            bool gone = (k->cls == TRA_K_ROW && d == r - 1) || (k->cls == TRA_K_COL && d == 0);
            if (gone)
                tra_nest_add(&reduced, in->ext.v[d], si[d], 0, 0);
            else
                tra_nest_add(&kept, in->ext.v[d], si[d],
                             so[k->cls == TRA_K_TRANSPOSE ? r - 1 - d
                                : k->cls == TRA_K_COL     ? d - 1
                                                          : d],
                             0);
        }
    }
    if (reduced.n == 0)
        tra_strided_copy(out->data, out->dtype, in->data, in->dtype, &kept);
    else
        tra_strided_reduce(k->fold, k->identity, out->data, out->dtype, in->data, in->dtype, &kept, &reduced, sparse);
}

/* softmax of each row: the maximum is taken away, so that exp cannot overflow; then exp; then the quotient by the sum.
 * out may be in. */
static void run_softmax(const tra_array *in, const tra_array *out) {
    tra_dtype t = out->dtype;
    if (in->dtype != t) {
        tra_convert(out->data, t, in->data, in->dtype, tra_elements_of(&in->ext));
        in = out;
    }
    size_t size = tra_dtype_size(t);
    int64_t row = in->ext.v[in->ext.n - 1], total = tra_elements_of(&in->ext);
    tra_strip_fn *strip = tra_strip(t);
    double number[TRA_STRIP];
    tra_nest kept, along;
    kept.n = along.n = 0;
    tra_nest_add(&along, row, 1, 0, 0);
    for (int64_t at = 0; at < total; at += row) {
        const char *x = (const char *)in->data + (size_t)at * size;
        char *y = (char *)out->data + (size_t)at * size;
        double max, sum;
        tra_strided_reduce(TRA_S_MAX, -INFINITY, &max, TRA_F64, x, t, &kept, &along, false);
        strip(TRA_S_CONST, number, NULL, NULL, max, tra_min64(row, TRA_STRIP));
        for (int64_t i = 0; i < row; i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row - i);
            char *to = y + (size_t)i * size;
            strip(TRA_S_SUB, to, x + (size_t)i * size, number, 0, n);
            strip(TRA_S_EXP, to, to, NULL, 0, n);
        }
        tra_strided_reduce(TRA_S_ADD, 0, &sum, TRA_F64, y, t, &kept, &along, false);
        strip(TRA_S_CONST, number, NULL, NULL, sum, tra_min64(row, TRA_STRIP));
        for (int64_t i = 0; i < row; i += TRA_STRIP) {
            char *to = y + (size_t)i * size;
            strip(TRA_S_DIV, to, to, number, 0, tra_min64(TRA_STRIP, row - i));
        }
    }
}

/* How the routine of a step's class computes it. */
static tra_impl way_of(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out,
                      const bool *sparse) {
    switch (step->cls) {
    case TRA_K_LAPACK: return TRA_IMPL_LAPACK;
    case TRA_K_TOP: return TRA_IMPL_TOP;
    case TRA_K_SCALAR: return TRA_IMPL_STRIPS;
    case TRA_K_ALIGNED: return tra_aligned_way(step, a, b, out, sparse);
    case TRA_K_SOFTMAX: return TRA_IMPL_SOFTMAX;
    default: return b ? tra_contract_way(step, a, b, out) : TRA_IMPL_STRIDED;
    }
}

/* Runs a step: of a map, or with b the first one of a join. own: scratch for LAPACK. */
static void run_step(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out,
                     const bool *sparse, void *own) {
    switch (step->cls) {
    case TRA_K_LAPACK: tra_lapack_run(step, a, b, out, own); return;
    case TRA_K_TOP: tra_top_run(step, a, b, out); return;
    case TRA_K_SCALAR: tra_code_run(step->code, a, b, out, sparse); return;
    case TRA_K_ALIGNED: tra_aligned_run(step, a, b, out, sparse); return;
    case TRA_K_SOFTMAX: run_softmax(a, out); return;
    case TRA_K_EINSUM:
    case TRA_K_TRANSPOSE:
    case TRA_K_DIAG:
    case TRA_K_ROW:
    case TRA_K_COL:
    case TRA_K_OUTER:
        if (b)
            tra_contract(step, a, b, out, false, -1, sparse);
        else
            run_strided(step, a, out, *sparse);
        return;
    case TRA_K_ROWS: /* cells.c calls what runs them */
    case TRA_K_FOLD:
    case TRA_K_INDEX:
    case TRA_K_PACK:
    case TRA_K_PROGRAM:
    case TRA_K_THEN: break;
    }
    assert(!"a map or join");
}

/* ---- compositions ------------------------------------------------------------------------------------------- */

static size_t round64(size_t n) { return (n + 63) / 64 * 64; }

/* Extents after the first step of k. */
static void first_shape(const tra_kernel *k, const tra_kernel *step, tra_kernel_use use, const tra_dims *a,
                        const tra_dims *b, tra_dims *out) {
    if (use == TRA_USE_JOIN)
        tra_step_shape2(step, a, b, out);
    else if (use == TRA_USE_AGG)
        tra_agg_state_ext(k, a, out);
    else
        tra_step_shape1(step, a, out);
}

/* The steps of a kernel, with the type of each one's result. */
typedef struct chain {
    int n;
    const tra_kernel *const *step;
    tra_dtype *type;
} chain;

static void set_types(chain *c, tra_kernel_use use, tra_dtype a, tra_dtype b) {
    c->type[0] = tra_step_dtype(c->step[0], use, a, b);
    for (int i = 1; i < c->n; i++) c->type[i] = tra_step_dtype(c->step[i], TRA_USE_MAP, c->type[i - 1], c->type[i - 1]);
}

/* Can step i > 0 write where it reads? */
static bool in_place(const chain *c, int i) {
    bool keeps_places = c->step[i]->cls == TRA_K_SCALAR || c->step[i]->cls == TRA_K_SOFTMAX;
    return keeps_places && tra_dtype_size(c->type[i]) == tra_dtype_size(c->type[i - 1]);
}

/* Does step i write to `out`? The last step that cannot work in place does, and all after it. */
static bool goes_to_out(const chain *c, int i) {
    for (int j = i + 1; j < c->n; j++)
        if (!in_place(c, j)) return false;
    return true;
}

/* Bytes of the largest result that is stored between steps: two such buffers take turns. */
static size_t between(const tra_kernel *k, const chain *c, tra_kernel_use use, const tra_dims *a, const tra_dims *b) {
    tra_dims at, next;
    first_shape(k, c->step[0], use, a, b, &at);
    size_t most = 0;
    for (int i = 0; i < c->n && !goes_to_out(c, i); i++) {
        size_t bytes = (size_t)tra_elements_of(&at) * tra_dtype_size(c->type[i]);
        if (bytes > most) most = bytes;
        tra_step_shape1(c->step[i + 1], &at, &next);
        at = next;
    }
    return round64(most);
}

/* Bytes that the steps of LAPACK take, one after the other; they stand before the buffers. */
static size_t own_scratch(const tra_kernel *k, const chain *c, tra_kernel_use use, const tra_dims *a,
                          const tra_dims *b) {
    size_t most = 0;
    tra_dims at = *a, next;
    bool any = false;
    for (int i = 0; i < c->n; i++) any |= c->step[i]->cls == TRA_K_LAPACK;
    for (int i = 0; any && i < c->n; i++) {
        bool lapack = c->step[i]->cls == TRA_K_LAPACK;
        size_t bytes = lapack ? tra_lapack_scratch(c->step[i]->row->lapack, &at, i == 0 ? b : NULL) : 0;
        if (bytes > most) most = bytes;
        if (i == 0)
            first_shape(k, c->step[0], use, a, b, &next);
        else
            tra_step_shape1(c->step[i], &at, &next);
        at = next;
    }
    return most;
}

size_t tra_kernel_scratch(const tra_kernel *k, tra_kernel_use use, tra_dtype ta, tra_dtype tb, const tra_dims *a,
                          const tra_dims *b) {
    const tra_kernel *self = k;
    chain c;
    c.n = tra_steps(k, &c.step, &self);
    tra_dtype types[c.n];
    c.type = types;
    set_types(&c, use, ta, tb);
    bool turns = false; /* is a result stored that is made of a stored one? */
    for (int i = 1; i < c.n && !goes_to_out(&c, i); i++) turns |= !in_place(&c, i);
    return (turns ? 2 : 1) * between(k, &c, use, a, b) + own_scratch(k, &c, use, a, b);
}

/* Where step 0 writes: out itself, or the first buffer. */
static tra_array first_place(const chain *c, const tra_dims *ext, const tra_array *out, void *scratch) {
    return (tra_array){c->type[0], *ext, goes_to_out(c, 0) ? out->data : scratch};
}

/* Steps 1, 2, ... on cur, the result of step 0, of sparse type or not. own: as above. */
static void run_rest(const chain *c, tra_array cur, bool sparse, const tra_array *out, char *scratch, size_t bytes,
                     void *own) {
    for (int i = 1; i < c->n; i++) {
        tra_array next = {c->type[i], {0}, cur.data};
        tra_step_shape1(c->step[i], &cur.ext, &next.ext);
        if (goes_to_out(c, i))
            next.data = out->data;
        else if (!in_place(c, i))
            next.data = cur.data == scratch ? scratch + bytes : scratch;
        run_step(c->step[i], &cur, NULL, &next, &sparse, own);
        sparse = tra_step_sparse(c->step[i], TRA_USE_MAP, sparse, false);
        cur = next;
    }
    assert(cur.dtype == out->dtype && (cur.data == out->data || tra_elements_of(&out->ext) == 0));
}

void tra_join_sparse(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse, tra_array *out,
                     void *own) {
    tra_kernel_use use = b ? TRA_USE_JOIN : TRA_USE_MAP;
    const tra_dims *ext_b = b ? &b->ext : NULL;
    const tra_kernel *self = k;
    chain c;
    tra_dims ext;
    c.n = tra_steps(k, &c.step, &self);
    tra_dtype types[c.n];
    c.type = types;
    set_types(&c, use, a->dtype, b ? b->dtype : a->dtype);
    first_shape(k, c.step[0], use, &a->ext, ext_b, &ext);
    char *scratch = (char *)own + own_scratch(k, &c, use, &a->ext, ext_b);
    tra_array first = first_place(&c, &ext, out, scratch);
    run_step(c.step[0], a, b, &first, sparse, own);
    bool next = tra_step_sparse(c.step[0], use, sparse[0], b && sparse[1]);
    if (c.n > 1) run_rest(&c, first, next, out, scratch, between(k, &c, use, &a->ext, ext_b), own);
}

int tra_choose_dense(const tra_kernel *k, const tra_array *a, const tra_array *b, const bool *sparse,
                     tra_impl ways[TRA_MOST_IMPLS]) {
    tra_kernel_use use = b ? TRA_USE_JOIN : TRA_USE_MAP;
    const tra_kernel *self = k;
    chain c;
    c.n = tra_steps(k, &c.step, &self);
    tra_dtype types[c.n];
    c.type = types;
    set_types(&c, use, a->dtype, b ? b->dtype : a->dtype);
    tra_array in = *a, out = {types[0], {0}, NULL};
    bool is[2] = {sparse[0], b && sparse[1]};
    int n = 0;
    for (int i = 0; i < c.n && n < TRA_MOST_IMPLS; i++, b = NULL) {
        out.dtype = types[i];
        if (b)
            tra_step_shape2(c.step[i], &in.ext, &b->ext, &out.ext);
        else
            tra_step_shape1(c.step[i], &in.ext, &out.ext);
        ways[n++] = way_of(c.step[i], &in, b, &out, is);
        is[0] = tra_step_sparse(c.step[i], b ? TRA_USE_JOIN : TRA_USE_MAP, is[0], is[1]);
        in = out;
    }
    return n;
}

void tra_kernel_join(const tra_kernel *k, const tra_array *a, const tra_array *b, tra_array *out, void *scratch) {
    tra_join_sparse(k, a, b, (const bool[2]){false, false}, out, scratch);
}

int tra_kernel_tiles(const tra_kernel *join, const tra_dims *acc) { return tra_contract_tiles(join, acc); }

void tra_kernel_fma(const tra_kernel *join, const tra_array *a, const tra_array *b, tra_array *acc, int tile,
                    bool first) {
    tra_fma_sparse(join, a, b, (const bool[2]){false, false}, acc, tile, first);
}

void tra_fma_sparse(const tra_kernel *join, const tra_array *a, const tra_array *b, const bool *sparse, tra_array *acc,
                    int tile, bool first) {
    assert(join->props & TRA_P_CONTRACTION);
    tra_contract(join, a, b, acc, !first, tile, sparse);
}

void tra_kernel_fma_triangle(const tra_kernel *join, const tra_array *a, bool sparse, tra_array *acc, int tile,
                             bool first) {
    tra_contract_triangle(join, a, acc, !first, tile, sparse);
}

/* Loops over the dimensions of acc other than p and q, with its strides in s[0] and s[1]. */
static void other_loops(const tra_dims *ext, const int64_t *stride, int p, int q, tra_nest *nest) {
    nest->n = 0;
    for (int d = 0; d < ext->n; d++)
        if (d != p && d != q) tra_nest_add(nest, ext->v[d], stride[d], stride[d], 0);
}

void tra_kernel_mirror(tra_array *acc, int p, int q) {
    enum { STRIP = 64 }; /* rows that are copied together */
    int64_t stride[TRA_MAXDIM], off[3] = {0}, n = acc->ext.v[p], size = (int64_t)tra_dtype_size(acc->dtype);
    tra_nest others, copy;
    if (tra_elements_of(&acc->ext) == 0) return;
    tra_strides(&acc->ext, stride);
    other_loops(&acc->ext, stride, p, q, &others);
    do {
        for (int64_t i = 0; i < n; i += STRIP) { /* rows of the upper triangle to columns of the lower */
            int64_t rows = tra_min64(STRIP, n - i), from = off[0] + i * (stride[p] + stride[q]);
            for (int64_t r = 0; r < rows; r++) {
                copy.n = 0;
                tra_nest_add(&copy, rows - r - 1, stride[q], stride[p], 0);
                int64_t at = from + r * (stride[p] + stride[q]);
                tra_strided_copy((char *)acc->data + (at + stride[p]) * size, acc->dtype,
                                 (char *)acc->data + (at + stride[q]) * size, acc->dtype, &copy);
            }
            copy.n = 0;
            tra_nest_add(&copy, rows, stride[p], stride[q], 0);
            tra_nest_add(&copy, n - i - rows, stride[q], stride[p], 0);
            tra_strided_copy((char *)acc->data + (from + rows * stride[p]) * size, acc->dtype,
                             (char *)acc->data + (from + rows * stride[q]) * size, acc->dtype, &copy);
        }
    } while (tra_nest_next(&others, off));
}

void tra_kernel_turn(const tra_array *from, int p, int q, tra_array *to) {
    int64_t in[TRA_MAXDIM], out[TRA_MAXDIM];
    tra_nest nest;
    nest.n = 0;
    tra_strides(&from->ext, in);
    tra_strides(&to->ext, out);
    for (int d = 0; d < from->ext.n; d++)
        tra_nest_add(&nest, from->ext.v[d], in[d], out[d == p ? q : d == q ? p : d], 0);
    tra_strided_copy(to->data, to->dtype, from->data, from->dtype, &nest);
}

void tra_kernel_tile_zero(const tra_kernel *join, tra_array *acc, int tile) {
    static const double zero;
    tra_nest nest;
    int64_t at;
    tra_contract_tile(join, &acc->ext, tile, &nest, &at);
    tra_strided_copy((char *)acc->data + (size_t)at * tra_dtype_size(acc->dtype), acc->dtype, &zero, TRA_F64, &nest);
}

void tra_kernel_tile_add(const tra_kernel *join, tra_array *acc, const tra_array *other, int tile) {
    tra_nest nest;
    int64_t at, off[3] = {0};
    tra_contract_tile(join, &acc->ext, tile, &nest, &at);
    if (tra_nest_empty(&nest)) return;
    tra_nest_coalesce(&nest);
    tra_loop row = {1, {0, 1, 0}, 0};
    if (nest.n && nest.v[nest.n - 1].s[1] == 1) row = nest.v[--nest.n];
    int64_t size = (int64_t)tra_dtype_size(acc->dtype);
    do {
        char *x = (char *)acc->data + (at + off[1]) * size;
        tra_strip(acc->dtype)(TRA_S_ADD, x, x, (const char *)other->data + (at + off[1]) * size, 0, row.n);
    } while (tra_nest_next(&nest, off));
}

void tra_finish_sparse(const tra_kernel *agg, tra_dtype in, bool sparse, const tra_array *state, tra_array *out,
                       void *scratch) {
    const tra_kernel *self = agg;
    chain c;
    c.n = tra_steps(agg, &c.step, &self);
    tra_dtype types[c.n];
    c.type = types;
    set_types(&c, TRA_USE_AGG, in, in);
    void *own = scratch;
    scratch = (char *)scratch + own_scratch(agg, &c, TRA_USE_AGG, &state->ext, NULL);
    tra_array first = first_place(&c, &state->ext, out, scratch);
    int64_t elements = tra_elements_of(&state->ext), size = (int64_t)tra_dtype_size(first.dtype);
    if (first.data != state->data) {
        tra_convert(first.data, first.dtype, state->data, state->dtype, elements);
    } else if (first.dtype != state->dtype) { /* each strip goes where those before it have been */
        float buf[TRA_STRIP];
        assert(size == sizeof *buf && tra_dtype_rows[first.dtype].sum == state->dtype);
        for (int64_t i = 0; i < elements; i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, elements - i);
            tra_convert(buf, TRA_F32, (double *)state->data + i, TRA_F64, n);
            memcpy((char *)first.data + i * size, buf, (size_t)(n * size));
        }
    }
    /* between() is told the state's extents: those of the group, but for the index kernels */
    sparse = tra_step_sparse(c.step[0], TRA_USE_AGG, sparse, false);
    if (c.n > 1) run_rest(&c, first, sparse, out, scratch, between(agg, &c, TRA_USE_AGG, &state->ext, NULL), own);
}

/* ---- counting ----------------------------------------------------------------------------------------------- */

static double size_of(const tra_dims *d) {
    double n = 1;
    for (int i = 0; i < d->n; i++) n *= (double)d->v[i];
    return n;
}

double tra_code_flops(const tra_code *code) {
    double n = 0;
    for (int i = 0; i < code->n; i++) {
        tra_scalar_op op = code->v[i].op;
        if (op == TRA_S_CONST || op == TRA_S_ARG) continue;
        bool cheap = op == TRA_S_DIV || op == TRA_S_SQRT;
        tra_scalar_class class = tra_scalar_class_of(op);
        n += (class == TRA_SC_REAL && !cheap) || class == TRA_SC_POWER ? 10 : 1;
    }
    return n;
}

double tra_step_flops(const tra_kernel *k, const tra_dims *in, const tra_dims *b, const tra_dims *out) {
    switch (k->cls) {
    case TRA_K_SCALAR: return tra_code_flops(k->code) * size_of(out);
    case TRA_K_OUTER: return size_of(out);
    case TRA_K_SOFTMAX: return 14 * size_of(out);
    case TRA_K_TOP: return 2 * size_of(in);
    case TRA_K_LAPACK: return tra_lapack_flops(k->row->lapack, in, b);
    case TRA_K_ROWS: return k->rows->flops * (size_of(in) + (b ? size_of(b) : 0));
    case TRA_K_ALIGNED:
    case TRA_K_EINSUM: {
        if (!b && k->cls == TRA_K_EINSUM) return size_of(in);
        double n = size_of(in); /* of every label once */
        for (int d = 0; d < k->rank[0]; d++)
            if (memchr(k->in[0], k->in[0][d], (size_t)d) && in->v[d]) n /= (double)in->v[d];
        for (int d = 0; b && d < k->rank[1]; d++)
            if (!memchr(k->in[0], k->in[1][d], (size_t)k->rank[0]) && !memchr(k->in[1], k->in[1][d], (size_t)d))
                n *= (double)b->v[d];
        if (k->cls == TRA_K_ALIGNED) return (tra_code_flops(k->code) + (k->nlabels > k->nout)) * n;
        return k->props & TRA_P_CONTRACTION ? 2 * n : n;
    }
    case TRA_K_TRANSPOSE:
    case TRA_K_DIAG:
    case TRA_K_ROW:
    case TRA_K_COL:
    case TRA_K_FOLD:
    case TRA_K_INDEX: return size_of(in);
    case TRA_K_PACK:
    case TRA_K_PROGRAM: return tra_program_flops(k, in, b);
    case TRA_K_THEN: break;
    }
    assert(!"one step");
    return 0;
}

double tra_kernel_flops(const tra_kernel *k, tra_kernel_use use, const tra_dims *a, const tra_dims *b) {
    const tra_kernel *const *steps;
    const tra_kernel *self = k;
    int n = tra_steps(k, &steps, &self);
    tra_dims at, next;
    first_shape(k, steps[0], use, a, b, &at);
    double flops = tra_step_flops(steps[0], a, use == TRA_USE_JOIN ? b : NULL, &at);
    /* a map after an aggregation runs once for a group, not for each array of it */
    for (int i = 1; i < n && use != TRA_USE_AGG; i++) {
        tra_step_shape1(steps[i], &at, &next);
        flops += tra_step_flops(steps[i], &at, NULL, &next);
        at = next;
    }
    return flops;
}
