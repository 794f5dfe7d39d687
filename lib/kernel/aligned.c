/* aligned.c - scalar expressions over elements that labels align, reduced over the labels that the result lacks, strip
 * by strip: what EinSum statements are lowered to where they are no contraction. Reductions are in f64, of integers in
 * i64. */
#include "kernel_int.h"

#include <assert.h>
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
    const tra_kernel *k;
    const tra_array *arg[2];
    tra_typed code;
    tra_dtype t; /* in which it is reduced; its elements take 8 bytes */
    tra_strip_fn *strip;
    double identity;
    double (*regs)[TRA_STRIP]; /* the program's, then two strips of operands, then one of results */
} runner;

/* acc[i] = fold(acc[i], value at step i of l) for n <= TRA_STRIP steps from offsets off on. */
static void fold_strip(const runner *r, double *acc, const int64_t *off, const tra_loop *l, int64_t from, int64_t n) {
    const tra_code *code = r->k->code;
    double *value = r->regs[code->nregs + 2];
    const void *in[2] = {NULL, NULL};
    for (int o = 0; o < r->k->nin; o++)
        in[o] = tra_load(r->arg[o]->data, r->arg[o]->dtype, off[o] + from * l->s[o], l->s[o], n, r->code.load[o],
                         r->regs[code->nregs + o]);
    tra_typed_strip(&r->code, r->regs, in, n, value, r->t);
    r->strip(r->k->fold, acc, acc, value, 0, n);
}

/* One element: along `run`, for all steps of `others`; partial results side by side, then pairwise. */
static void reduce_along(const runner *r, double *to, const int64_t *off, const tra_loop *run, tra_nest *others) {
    double acc[TRA_STRIP];
    int64_t at[3] = {off[A], off[B], 0}, width = tra_min64(run->n, TRA_STRIP);
    r->strip(TRA_S_CONST, acc, NULL, NULL, r->identity, width);
    do {
        for (int64_t i = 0; i < run->n; i += TRA_STRIP)
            fold_strip(r, acc, at, run, i, tra_min64(TRA_STRIP, run->n - i));
    } while (!tra_cancelled() && tra_nest_next(others, at));
    for (; width > 1; width -= width / 2) r->strip(r->k->fold, acc, acc, acc + width - width / 2, 0, width / 2);
    memcpy(to, acc, sizeof *to);
}

static void reduce(const runner *r, tra_nest *kept, tra_nest *reduced, const tra_array *out) {
    tra_nest_coalesce(kept);
    tra_nest_coalesce(reduced);
    tra_loop row = take(kept), run = take(reduced);
    bool along = row.n == 1 || (run.n >= TRA_SHORT && pace(&run) <= pace(&row));
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
                do {
                    fold_strip(r, acc, at, &row, i, n);
                } while (!tra_cancelled() && tra_nest_next(reduced, at));
            }
            tra_store(out->data, out->dtype, off[C] + i * row.s[C], row.s[C], acc, r->t, n);
        }
    } while (!tra_cancelled() && tra_nest_next(kept, off));
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
    double regs[k->code->nregs + 3][TRA_STRIP] __attribute__((aligned(64)));
    tra_typed_insn v[k->code->n + 1];
    tra_dtype types[2] = {a->dtype, arg[k->nin - 1]->dtype};
    runner r = {.k = k, .arg = {a, b}, .identity = tra_identity(k->identity, out->dtype), .regs = regs};
    tra_code_type(k->code, k->nin, types, tra_aligned_sums(k), v, &r.code);
    r.t = tra_dtype_rows[r.code.type].sum;
    uint8_t kill[k->code->n];
    bool kills = false, folds = tra_code_sparse(k->code, sparse, kill, &kills);
    if (kills) r.code.kill = kill;
    if (!kills && k->nin == 2 && tra_tiles_run(k->code, k->fold, arg, out, &kept, &reduced)) return;
    r.strip = tra_strip_fold(r.t, k->fold, folds);
    reduce(&r, &kept, &reduced, out);
}
