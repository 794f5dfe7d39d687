/* aligned.c - scalar expressions over elements that labels align, reduced over the labels that the result lacks, strip
 * by strip: what EinSum statements are lowered to where they are no contraction; and reductions of one array as it is.
 * Reductions are in f64, of integers in i64. */
#include "../base/parallel.h"
#include "kernel_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* A loop for each label, with its strides in A, B and the result: kept ones in the order of the result's dimensions. */
static void make_loops(const tra_kernel *k, const tra_array *const *arg, const tra_array *out, tra_nest *kept,
                       tra_nest *reduced) {
    tra_loop loop[2 * TRA_MAXDIM] = {{0}};
    bool is_kept[2 * TRA_MAXDIM] = {false};
    int64_t stride[TRA_MAXDIM];
    for (int o = 0; o < k->nin; o++) {
        tra_strides(&arg[o]->ext, stride);
        for (int d = 0; d < k->rank[o]; d++) {
            loop[k->in[o][d]].n = arg[o]->ext.v[d];
            loop[k->in[o][d]].s[o] += stride[d]; /* repeated: the diagonal */
        }
    }
    tra_strides(&out->ext, stride);
    kept->n = reduced->n = 0;
    for (int d = 0; d < k->nout; d++) {
        tra_loop *l = &loop[k->out[d]];
        is_kept[k->out[d]] = true;
        l->s[C] = stride[d];
        kept->v[kept->n++] = *l;
    }
    for (int l = 0; l < k->nlabels; l++)
        if (!is_kept[l]) reduced->v[reduced->n++] = loop[l];
}

static int64_t pace(const tra_loop *l) { return tra_max64(l->s[A], l->s[B]); }

/* Takes the loop of least pace out of the nest; one of a single step when there is none. */
static tra_loop take(tra_nest *nest) {
    int best = -1;
    for (int i = 0; i < nest->n; i++)
        if (best < 0 || pace(&nest->v[i]) < pace(&nest->v[best])) best = i;
    if (best < 0) return (tra_loop){.n = 1};
    tra_loop l = nest->v[best];
    memmove(&nest->v[best], &nest->v[best + 1], (size_t)(--nest->n - best) * sizeof(l));
    return l;
}

typedef struct runner {
    const tra_code *code_of; /* NULL: the elements of one operand as they are */
    tra_scalar_op fold;
    int nin;
    const tra_array *arg[2];
    tra_typed code;
    tra_dtype t; /* in which it is reduced; its elements take 8 bytes */
    tra_strip_fn *strip;
    double identity;
    double (*regs)[TRA_STRIP]; /* the program's, then two strips of operands, then one of results */
} runner;

/* The values at n <= TRA_STRIP steps of l from offsets off on, in type t. */
static const double *value_strip(const runner *r, const int64_t *off, const tra_loop *l, int64_t from, int64_t n) {
    int nregs = r->code_of ? r->code_of->nregs : 0;
    const void *in[2] = {NULL, NULL};
    for (int o = 0; o < r->nin; o++)
        in[o] = tra_load(r->arg[o]->data, r->arg[o]->dtype, off[o] + from * l->s[o], l->s[o], n, r->code.load[o],
                         r->regs[nregs + o]);
    if (!r->code_of) return in[0];
    double *value = r->regs[nregs + 2];
    tra_typed_strip(&r->code, r->regs, in, n, value, r->t);
    return value;
}

/* acc[i] = fold(acc[i], value at step i of l) for n <= TRA_STRIP steps from offsets off on. */
static void fold_strip(const runner *r, double *acc, const int64_t *off, const tra_loop *l, int64_t from, int64_t n) {
    r->strip(r->fold, acc, acc, value_strip(r, off, l, from, n), 0, n);
}

/* Are strips taken along the sum, rather than along results? */
static bool goes_along(const tra_loop *row, const tra_loop *run) {
    return row->n == 1 || (run->n >= TRA_SHORT && pace(run) <= pace(row));
}

/* Reduces to one element: along `run`, for all steps of `others`. Partial results are kept side by side and folded in
 * pairs at the end. */
static void reduce_along(const runner *r, double *to, const int64_t *off, const tra_loop *run, tra_nest *others) {
    double acc[TRA_STRIP];
    int64_t at[3] = {off[A], off[B], 0}, width = tra_min64(run->n, TRA_STRIP);
    r->strip(TRA_S_CONST, acc, NULL, NULL, r->identity, width);
    do {
        for (int64_t i = 0; i < run->n; i += TRA_STRIP)
            fold_strip(r, acc, at, run, i, tra_min64(TRA_STRIP, run->n - i));
    } while (!tra_cancelled() && tra_nest_next(others, at));
    for (; width > 1; width -= width / 2) r->strip(r->fold, acc, acc, acc + width - width / 2, 0, width / 2);
    memcpy(to, acc, sizeof *to);
}

static void reduce(const runner *r, tra_nest *kept, tra_nest *reduced, const tra_array *out) {
    bool none = tra_nest_empty(reduced);
    tra_nest_coalesce(kept);
    tra_nest_coalesce(reduced);
    tra_loop row = take(kept), run = take(reduced);
    bool along = !none && goes_along(&row, &run);
    if (!along) reduced->v[reduced->n++] = run;
    double acc[TRA_STRIP];
    int64_t off[3] = {0};
    do {
        for (int64_t i = 0; i < row.n && !tra_cancelled(); i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row.n - i), at[3] = {off[A], off[B], 0};
            if (along) {
                for (int64_t j = 0; j < n && !tra_cancelled(); j++) {
                    int64_t from[3] = {off[A] + (i + j) * row.s[A], off[B] + (i + j) * row.s[B], 0};
                    reduce_along(r, &acc[j], from, &run, reduced);
                }
            } else {
                r->strip(TRA_S_CONST, acc, NULL, NULL, r->identity, n);
                for (bool more = !none; more; more = !tra_cancelled() && tra_nest_next(reduced, at))
                    fold_strip(r, acc, at, &row, i, n);
            }
            tra_store(out->data, out->dtype, off[C] + i * row.s[C], row.s[C], acc, r->t, n);
        }
    } while (!tra_cancelled() && tra_nest_next(kept, off));
}

void tra_strided_reduce(tra_scalar_op fold, double identity, void *dst, tra_dtype dt, const void *src, tra_dtype st,
                        const tra_nest *kept, const tra_nest *reduced, bool sparse) {
    const tra_array in = {.dtype = st, .data = (void *)(uintptr_t)src}, out = {.dtype = dt, .data = dst};
    double regs[1][TRA_STRIP];
    runner r = {.fold = fold, .nin = 1, .arg = {&in}, .identity = tra_identity(identity, dt), .regs = regs};
    tra_nest nest[2];
    if (tra_nest_empty(kept)) return;
    r.t = r.code.load[0] = tra_dtype_rows[st].sum;
    r.strip = tra_strip_fold(r.t, fold, sparse);
    for (int i = 0; i < 2; i++) {
        const tra_nest *from = i ? reduced : kept;
        nest[i].n = 0;
        for (int d = 0; d < from->n; d++) tra_nest_add(&nest[i], from->v[d].n, from->v[d].s[0], 0, from->v[d].s[1]);
    }
    reduce(&r, &nest[0], &nest[1], &out);
}

/* ---- positions of the first extreme ------------------------------------------------------------------------------ */

/* Of all steps of `run`, for one result. */
static int64_t first_along(const runner *r, const int64_t *off, const tra_loop *run, bool least) {
    double acc[TRA_STRIP], best[TRA_STRIP];
    int64_t place[TRA_STRIP], first = INT64_MAX, width = tra_min64(run->n, TRA_STRIP);
    for (int64_t i = 0; i < run->n && !tra_cancelled(); i += TRA_STRIP) {
        int64_t n = tra_min64(TRA_STRIP, run->n - i);
        const double *value = value_strip(r, off, run, i, n);
        if (i == 0) memcpy(acc, value, (size_t)n * sizeof *acc);
        for (int64_t j = 0; i == 0 && j < n; j++) place[j] = j;
        if (i) tra_strip_first(r->t, acc, place, value, i, 1, least, n);
    }
    memcpy(best, acc, (size_t)width * sizeof *acc);
    for (int64_t m = width; m > 1; m -= m / 2)
        tra_strip(r->t)(least ? TRA_S_MIN : TRA_S_MAX, best, best, best + m - m / 2, 0, m / 2);
    for (int64_t i = 0; i < width; i++) { /* of equal ones the first */
        bool same = r->t == TRA_F64 ? acc[i] == best[0] || (best[0] != best[0] && acc[i] != acc[i])
                                    : memcmp(&acc[i], best, sizeof *best) == 0;
        if (same) first = tra_min64(first, place[i]);
    }
    return first;
}

static void reduce_places(const runner *r, tra_nest *kept, tra_loop run, const tra_array *out) {
    bool least = r->fold == TRA_S_ARGMIN;
    tra_nest_coalesce(kept);
    tra_loop row = take(kept);
    bool along = goes_along(&row, &run);
    double acc[TRA_STRIP];
    int64_t off[3] = {0}, place[TRA_STRIP];
    do {
        for (int64_t i = 0; i < row.n && !tra_cancelled(); i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row.n - i), at[3] = {off[A], off[B], 0};
            for (int64_t j = 0; j < (along ? n : run.n) && !tra_cancelled(); j++) {
                if (along) {
                    int64_t from[3] = {at[A] + (i + j) * row.s[A], at[B] + (i + j) * row.s[B], 0};
                    place[j] = first_along(r, from, &run, least);
                    continue;
                }
                const double *value = value_strip(r, at, &row, i, n);
                if (j == 0) memcpy(acc, value, (size_t)n * sizeof *acc), memset(place, 0, sizeof place);
                if (j) tra_strip_first(r->t, acc, place, value, j, 0, least, n);
                at[A] += run.s[A], at[B] += run.s[B];
            }
            tra_store(out->data, out->dtype, off[C] + i * row.s[C], row.s[C], place, TRA_I64, n);
        }
    } while (!tra_cancelled() && tra_nest_next(kept, off));
}

/* ---- planes: rows of results step in one operand alone, columns in the other ------------------------------------- */

enum {
    ROWS = 32, /* rows of results, each a strip of columns, that are added to together: 128 KiB */
    STEPS = 32 /* steps of the sum whose columns are gathered before these rows are gone through: as much again */
};

typedef struct plane {
    tra_loop row, column;
    int o; /* the operand in which columns step */
    tra_nest sum;
} plane;

/* The longest loop that steps in operand o alone; -1: none. */
static int longest_in(const tra_nest *kept, int o) {
    int best = -1;
    for (int i = 0; i < kept->n; i++)
        if (kept->v[i].s[1 - o] == 0 && kept->v[i].s[o] != 0 && (best < 0 || kept->v[i].n > kept->v[best].n)) best = i;
    return best;
}

/* Adds to acc[i] the steps of row i and a strip of columns, from these offsets in the two operands on. The elements of
 * the columns are gathered for all steps before the rows are gone through. */
static void add_steps(const runner *r, const plane *p, const int64_t *off, int64_t (*at)[2], int64_t steps,
                      int64_t rows, int64_t n, double (*acc)[TRA_STRIP]) {
    double panel[STEPS][TRA_STRIP], wide[TRA_STRIP], *value = r->regs[r->code_of->nregs + 2];
    const void *columns[STEPS], *in[2] = {wide, wide};
    int o = p->o, other = 1 - o;
    bool narrow = r->t == TRA_F32 || (r->code.type == TRA_F32 && r->fold == TRA_S_ADD);
    for (int64_t l = 0; l < steps; l++)
        columns[l] = tra_load(r->arg[o]->data, r->arg[o]->dtype, off[o] + at[l][o], p->column.s[o], n, r->code.load[o],
                              panel[l]);
    for (int64_t i = 0; i < rows && !tra_cancelled(); i++) {
        for (int64_t l = 0; l < steps; l++) {
            double buf;
            const void *one =
                tra_load(r->arg[other]->data, r->arg[other]->dtype, off[other] + i * p->row.s[other] + at[l][other], 1,
                         1, r->code.load[other], &buf);
            tra_fill_strip(wide, r->code.load[other], one, n);
            in[o] = columns[l];
            tra_typed_strip(&r->code, r->regs, in, n, value, narrow ? TRA_F32 : r->t);
            if (narrow && r->t == TRA_F64)
                tra_add_f32(acc[i], (const float *)value, n);
            else
                r->strip(r->fold, acc[i], acc[i], value, 0, n);
        }
    }
}

/* Rows x a strip of columns, each result by one step of the sum after the other. */
static void reduce_strip(const runner *r, plane *p, const int64_t *off, int64_t rows, int64_t n, const tra_array *out) {
    double acc[ROWS][TRA_STRIP];
    int64_t at[STEPS][2], step[3] = {0};
    for (int64_t i = 0; i < rows; i++) r->strip(TRA_S_CONST, acc[i], NULL, NULL, r->identity, n);
    for (bool more = true; more && !tra_cancelled();) {
        int64_t steps = 0;
        for (; more && steps < STEPS; more = tra_nest_next(&p->sum, step)) {
            at[steps][A] = step[A];
            at[steps++][B] = step[B];
        }
        add_steps(r, p, off, at, steps, rows, n, acc);
    }
    for (int64_t i = 0; i < rows; i++)
        tra_store(out->data, out->dtype, off[C] + i * p->row.s[C], p->column.s[C], acc[i], r->t, n);
}

/* The longest two loops as a plane; false: no two make one, or the sum is rather added up along itself. */
static bool plane_of(const tra_nest *kept, const tra_nest *reduced, plane *p, int *loop) {
    enum { FEWROWS = 4, FEWCOLUMNS = 16, MANYCOLUMNS = 64 };
    int64_t longest = 0;
    for (int o = 0; o < 2; o++)
        if ((loop[o] = longest_in(kept, o)) < 0) return false;
    p->o = kept->v[loop[A]].n > kept->v[loop[B]].n ? A : B;
    p->column = kept->v[loop[p->o]], p->row = kept->v[loop[1 - p->o]];
    for (int i = 0; i < reduced->n; i++) longest = tra_max64(longest, reduced->v[i].n);
    return p->row.n >= FEWROWS && p->column.n >= FEWCOLUMNS && (p->column.n >= MANYCOLUMNS || longest <= p->column.n);
}

/* Reduces plane by plane. */
static void reduce_planes(const runner *r, const tra_nest *kept, const tra_nest *reduced, const tra_array *out) {
    runner own = *r;
    plane p = {.sum = *reduced};
    int loop[2];
    if (!plane_of(kept, reduced, &p, loop)) return;
    if (r->code.type == TRA_F32 && (r->fold == TRA_S_MAX || r->fold == TRA_S_MIN)) { /* exact in these as well */
        own.t = TRA_F32;
        own.strip = tra_strip_fold(TRA_F32, r->fold, false);
    }
    tra_nest outer = {.n = 0};
    for (int i = 0; i < kept->n; i++)
        if (i != loop[A] && i != loop[B]) outer.v[outer.n++] = kept->v[i];
    int64_t off[3] = {0};
    do {
        for (int64_t j = 0; j < p.column.n; j += TRA_STRIP)
            for (int64_t i = 0; i < p.row.n && !tra_cancelled(); i += ROWS) {
                int64_t from[3];
                for (int o = 0; o < 3; o++) from[o] = off[o] + i * p.row.s[o] + j * p.column.s[o];
                reduce_strip(&own, &p, from, tra_min64(ROWS, p.row.n - i), tra_min64(TRA_STRIP, p.column.n - j), out);
            }
    } while (!tra_cancelled() && tra_nest_next(&outer, off));
}

static tra_impl way_of(const tra_kernel *k, const tra_array *const *arg, const tra_nest *kept, const tra_nest *reduced,
                       bool kills) {
    plane p;
    int loop[2];
    if (reduced->n == 0) return TRA_IMPL_STRIPS;
    if (tra_fold_places(k->fold)) return TRA_IMPL_PLACES;
    if (k->nin == 2 && !kills && tra_tiles_take(k->code, k->fold, arg, kept, reduced)) return TRA_IMPL_TILES;
    return k->nin == 2 && plane_of(kept, reduced, &p, loop) ? TRA_IMPL_PLANES : TRA_IMPL_FOLDED;
}

tra_impl tra_aligned_way(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out,
                         const bool *sparse) {
    const tra_array *arg[2] = {a, b};
    tra_nest kept, reduced;
    bool kills;
    make_loops(k, arg, out, &kept, &reduced);
    tra_code_sparse(k->code, sparse, NULL, &kills);
    return way_of(k, arg, &kept, &reduced, kills);
}

tra_strips tra_aligned_strips(const tra_kernel *k, const tra_dims *const *ext) {
    tra_array in[2] = {{.dtype = TRA_F64}, {.dtype = TRA_F64}}, out = {.dtype = TRA_F64};
    const tra_array *arg[2] = {&in[0], &in[1]};
    tra_nest kept, reduced;
    for (int o = 0; o < k->nin; o++) in[o].ext = *ext[o];
    out.ext.n = k->nout;
    for (int o = 0; o < k->nin; o++)
        for (int d = 0; d < k->rank[o]; d++) {
            const int8_t *at = memchr(k->out, k->in[o][d], (size_t)k->nout);
            if (at) out.ext.v[at - k->out] = ext[o]->v[d];
        }
    make_loops(k, arg, &out, &kept, &reduced);
    tra_strips x = {.way = way_of(k, arg, &kept, &reduced, false), .terms = 1};
    for (int i = 0; i < reduced.n; i++) x.terms *= (double)tra_max64(1, reduced.v[i].n);
    tra_nest_coalesce(&kept);
    tra_nest_coalesce(&reduced);
    tra_loop row = take(&kept), run = take(&reduced);
    x.along = goes_along(&row, &run);
    const tra_loop *l = x.along ? &run : &row;
    x.strided = pace(l) > 1;
    x.length = (double)tra_min64(TRA_STRIP, tra_max64(1, l->n));
    return x;
}

/* ---- all results, in pieces -------------------------------------------------------------------------------------- */

typedef struct folding {
    const runner *r;
    const tra_array *out;
    const tra_nest *kept, *reduced;
    tra_impl way;
    int loop, pieces; /* which of `kept` is cut, and in how many pieces: each result is computed as without them */
} folding;

/* In how many pieces the longest loop of results is cut. */
static int pieces_of(folding *x) {
    enum { LEAST = 64 };  /* results of a piece, which is then computed the same way as the whole */
    enum { AT_ONCE = 4 }; /* operations of a nanosecond, since strips are vectors */
    int64_t steps = x->r->code_of->n;
    for (int i = 0; i < x->kept->n; i++) {
        steps = tra_mul_most(steps, x->kept->v[i].n);
        if (x->kept->v[i].n > x->kept->v[x->loop].n) x->loop = i;
    }
    for (int i = 0; i < x->reduced->n; i++) steps = tra_mul_most(steps, x->reduced->v[i].n);
    int64_t most = x->kept->n > 0 ? x->kept->v[x->loop].n / LEAST : 1;
    return (int)tra_max64(1, tra_min64(most, tra_parallel_pieces(steps / AT_ONCE)));
}

static void fold_piece(void *ctx, int piece, void *scratch) {
    const folding *x = ctx;
    runner r = *x->r;
    tra_array in[2], out = *x->out;
    tra_nest kept = *x->kept, reduced = *x->reduced;
    double regs[r.code_of->nregs + 3][TRA_STRIP] __attribute__((aligned(64)));
    (void)scratch;
    r.regs = regs;
    if (x->pieces > 1) {
        tra_loop *l = &kept.v[x->loop];
        int64_t from = tra_piece_begin(l->n, x->pieces, piece);
        l->n = tra_piece_begin(l->n, x->pieces, piece + 1) - from;
        for (int o = 0; o < r.nin; o++) {
            in[o] = *r.arg[o];
            in[o].data = (char *)in[o].data + from * l->s[o] * (int64_t)tra_dtype_size(in[o].dtype);
            r.arg[o] = &in[o];
        }
        out.data = (char *)out.data + from * l->s[C] * (int64_t)tra_dtype_size(out.dtype);
    }
    switch ((int)x->way) {
    case TRA_IMPL_PLACES: reduce_places(&r, &kept, reduced.v[0], &out); break;
    case TRA_IMPL_TILES: tra_tiles_run(r.code_of, r.fold, r.arg, &out, &kept, &reduced); break;
    case TRA_IMPL_PLANES: reduce_planes(&r, &kept, &reduced, &out); break;
    default: reduce(&r, &kept, &reduced, &out);
    }
}

void tra_aligned_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out,
                     const bool *sparse) {
    const tra_array *arg[2] = {a, b};
    tra_nest kept, reduced;
    if (tra_elements_of(&out->ext) == 0) return;
    make_loops(k, arg, out, &kept, &reduced);
    if (reduced.n == 0) { /* rows run on where the operands do */
        tra_nest nest[2];
        for (int o = 0; o < k->nin; o++) {
            nest[o].n = 0;
            for (int i = 0; i < kept.n; i++) tra_nest_add(&nest[o], kept.v[i].n, kept.v[i].s[o], 0, 0);
        }
        tra_code_nests(k->code, k->nin, arg, nest, out, sparse);
        return;
    }
    for (int i = 0; i < reduced.n; i++)
        if (reduced.v[i].n == 0) { /* nothing to reduce */
            tra_fill(out, k->identity);
            return;
        }
    assert(k->code->nregs <= TRA_MAXREGS);
    tra_dtype types[2] = {a->dtype, arg[k->nin - 1]->dtype};
    tra_typed *typed = tra_code_ready(k->code, k->nin, types, tra_aligned_sums(k), sparse);
    runner r = {.code_of = k->code, .fold = k->fold, .nin = k->nin, .arg = {a, b}, .code = *typed};
    r.identity = tra_identity(k->identity, out->dtype);
    r.t = tra_dtype_rows[r.code.type].sum;
    if (!tra_fold_places(k->fold)) r.strip = tra_strip_fold(r.t, k->fold, tra_code_sparse(k->code, sparse, NULL, NULL));
    folding x = {.r = &r, .out = out, .kept = &kept, .reduced = &reduced};
    x.way = way_of(k, arg, &kept, &reduced, typed->kill);
    x.pieces = pieces_of(&x);
    tra_parallel(x.pieces, fold_piece, &x, NULL);
    free(typed);
}
