/* contract.c - products and sums of two operands: Einstein strings, matmul, outer.
 *
 * Each label becomes a loop with a stride in A, B and C (0 where it is absent; a repeated label adds its strides, which
 * walks the diagonal; an accumulator larger than the result just has larger strides). By where they occur labels are
 *     M: A and C    N: B and C    K: summed    batch: A, B and C
 * and one loop of each of M, N, K (after joining those that step as one) goes to BLAS, transposes folded into its
 * flags; the others are loops around it. An operand or a result that BLAS cannot address is packed tile by tile. Where
 * no two dimensions are left for BLAS the sums are plain vector loops in f64.
 *
 * Products of integers are i64. They go to BLAS as f64, packed, where extents and extremes prove that no sum of
 * magnitudes reaches 2^53, so that every step is exact; else the loops are those of integers, which test for what does
 * not fit i64 unless extents and extremes prove that all does.
 *
 * Work is cut in tiles of the output by its extents alone, and each tile is a fixed sequence of one-thread BLAS calls
 * in ascending order of the summed labels: who computes a tile does not show in its bits. */
#include "kernel_int.h"
#include "share.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    AREA = 768 * 768, /* a smaller output is one tile; 1000 x 1000 makes two of 500 x 1000 */
    ROWS = 512,       /* of a tile, at least, where there are more, */
    MOST_ROWS = 2048, /* and at most: the BLAS packs what multiplies them */
    PACK = 128,       /* side of a packed tile; three of f64 are 384 KiB of stack */
    MANY = 16,        /* extents from which on packing a result beats plain loops */
    MOST = 1 << 30,   /* BLAS counts in int */
};

/* ---- BLAS --------------------------------------------------------------------------------------------------- */

/* OpenBLAS is to compute each call on the thread that makes it, since the workers are the threads. Those that the
 * library starts before main wait for work in a loop for some 25 ms: they are ended where it offers a way to. */
extern int blas_thread_shutdown_(void) __attribute__((weak));
static __attribute__((constructor)) void one_thread(void) {
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_) blas_thread_shutdown_();
}

/* ---- labels ------------------------------------------------------------------------------------------------- */

enum { A, B, C };

typedef struct label {
    tra_loop loop; /* n in the operands, strides in A, B, C */
    int64_t room;  /* n in C, which may be larger */
    bool in[3];
} label;

typedef struct labels {
    int n;
    label v[2 * TRA_MAXDIM];
} labels;

/* The labels of a step for these extents; a and b NULL: only `room` is wanted (not of OUTER). */
static void make_labels(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_dims *c, labels *ls) {
    int8_t outer[3][2 * TRA_MAXDIM];
    const int8_t *index[3] = {k->in[0], k->in[1], k->out};
    if (k->cls == TRA_K_OUTER) {
        for (int d = 0; d < a->n; d++) outer[A][d] = outer[C][d] = (int8_t)d;
        for (int d = 0; d < b->n; d++) outer[B][d] = outer[C][a->n + d] = (int8_t)(a->n + d);
        for (int i = 0; i < 3; i++) index[i] = outer[i];
        ls->n = a->n + b->n;
    } else {
        ls->n = k->nlabels;
    }
    memset(ls->v, 0, (size_t)ls->n * sizeof(label));
    const tra_dims *ext[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        int64_t stride[TRA_MAXDIM];
        if (ext[i]) tra_strides(ext[i], stride);
        int rank = ext[i] ? ext[i]->n : k->rank[i];
        for (int d = 0; d < rank; d++) {
            label *l = &ls->v[index[i][d]];
            l->in[i] = true;
            if (!ext[i]) continue;
            l->loop.s[i] += stride[d];
            *(i == C ? &l->room : &l->loop.n) = ext[i]->v[d];
        }
    }
}

enum { M, N, K, BATCH, CLASSES };

static int class_of(const label *l) {
    if (!l->in[C]) return K;
    return l->in[A] && l->in[B] ? BATCH : l->in[A] ? M : N;
}

/* ---- tiles -------------------------------------------------------------------------------------------------- */

/* How the output is cut: of each of M, N, BATCH one label in so many pieces. */
typedef struct cuts {
    int label[CLASSES];
    int64_t pieces[CLASSES];
} cuts;

static void make_cuts(const labels *ls, cuts *cut) {
    double total[CLASSES] = {1, 1, 1, 1};
    for (int c = 0; c < CLASSES; c++) cut->label[c] = -1, cut->pieces[c] = 1;
    for (int i = 0; i < ls->n; i++) {
        int c = class_of(&ls->v[i]);
        if (c == K) continue; /* never cut: the bits would depend on it */
        total[c] *= (double)ls->v[i].room;
        if (cut->label[c] < 0 || ls->v[i].room > ls->v[cut->label[c]].room) cut->label[c] = i;
    }
    /* by rows first: a row-major BLAS packs what the tiles of one row share only once that way */
    double m = total[M], n = total[N], most[CLASSES];
    most[M] = n <= 1 ? MOST : fmin(MOST_ROWS, fmax(ROWS, AREA / n));
    most[N] = 2.0 * AREA / fmax(fmin(m, most[M]), 1);
    most[BATCH] = fmax(AREA / fmax(m * n, 1), 1);
    for (int c = 0; c < CLASSES; c++) {
        if (cut->label[c] < 0) continue;
        int64_t extent = tra_max64(ls->v[cut->label[c]].room, 1);
        double want = ceil(total[c] / most[c]);
        cut->pieces[c] = want <= 1 ? 1 : want >= (double)extent ? extent : (int64_t)want;
    }
    /* a count that fits an int, for absurd shapes */
    while (cut->pieces[M] * cut->pieces[N] > MOST / cut->pieces[BATCH])
        for (int c = 0; c < CLASSES; c++) cut->pieces[c] = tra_ceil_div(cut->pieces[c], 2);
}

/* Pieces of a label that differ by one at most. */
static void piece_of(const label *l, int64_t piece, int64_t pieces, int64_t *from, int64_t *to) {
    *from = (int64_t)((__int128)l->room * piece / pieces);
    *to = (int64_t)((__int128)l->room * (piece + 1) / pieces);
}

int tra_contract_tiles(const tra_kernel *step, const tra_dims *acc) {
    labels ls;
    cuts cut;
    make_labels(step, NULL, NULL, acc, &ls);
    make_cuts(&ls, &cut);
    return (int)(cut.pieces[M] * cut.pieces[N] * cut.pieces[BATCH]);
}

void tra_contract_range(const tra_kernel *step, const tra_dims *acc, int tile, int64_t *from, int64_t *to) {
    labels ls;
    cuts cut;
    make_labels(step, NULL, NULL, acc, &ls);
    make_cuts(&ls, &cut);
    int64_t pm = cut.pieces[M], pn = cut.pieces[N];
    int64_t piece[CLASSES] = {[M] = tile / pn % pm, [N] = tile % pn, [BATCH] = tile / (pn * pm)};
    for (int i = 0; i < ls.n; i++) {
        int c = class_of(&ls.v[i]);
        from[i] = 0;
        to[i] = ls.v[i].in[C] ? ls.v[i].room : INT64_MAX;
        if (i == cut.label[c]) piece_of(&ls.v[i], piece[c], cut.pieces[c], &from[i], &to[i]);
    }
}

void tra_contract_tile(const tra_kernel *step, const tra_dims *acc, int tile, tra_nest *nest, int64_t *at) {
    labels ls;
    int64_t from[2 * TRA_MAXDIM], to[2 * TRA_MAXDIM];
    make_labels(step, NULL, NULL, acc, &ls);
    tra_contract_range(step, acc, tile, from, to);
    nest->n = 0;
    *at = 0;
    for (int i = 0; i < ls.n; i++) {
        int64_t stride = ls.v[i].loop.s[C];
        if (stride == 0) continue;
        *at += from[i] * stride;
        tra_nest_add(nest, to[i] - from[i], 0, stride, 0);
    }
}

/* ---- one tile ----------------------------------------------------------------------------------------------- */

typedef struct problem {
    tra_nest loops[CLASSES]; /* s[A], s[B], s[C] */
    const void *data[2];
    tra_dtype dtype[3];
    void *out;
    int64_t at[3]; /* element where the tile begins */
    bool add;      /* to what out holds */
    bool ints;     /* out is i64, */
    bool wide;     /* and its elements may not fit */
    tra_dtype t;   /* in which tiles are multiplied: out's, or of integers what is exact */
} problem;

static char *element(const void *data, tra_dtype t, int64_t i) {
    return (char *)(uintptr_t)data + i * (int64_t)tra_dtype_size(t);
}

static void gemm(const problem *p, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                 const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
    CBLAS_TRANSPOSE fa = ta ? CblasTrans : CblasNoTrans, fb = tb ? CblasTrans : CblasNoTrans;
    switch (p->t) {
    case TRA_F64:
        cblas_dgemm(CblasRowMajor, fa, fb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
        return;
    case TRA_F32:
        cblas_sgemm(CblasRowMajor, fa, fb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, (float)beta, c,
                    (int)ldc);
        return;
    case TRA_WHOLES: /* packed as i64, the type of a product of whole numbers */
        assert(p->t == TRA_I64);
        if (beta == 0) memset(c, 0, (size_t)(m * n) * sizeof(int64_t));
        tra_gemm_int(m, n, k, a, b, c, p->wide);
    }
}

/* A matrix of operand o: rows x cols with the strides of two loops. */
typedef struct matrix {
    tra_loop row, col;
    int o;
    bool pack, trans;
    int64_t ld;
} matrix;

/* How BLAS can address the matrix: as it is, transposed, or only packed. */
static matrix address(const problem *p, int o, tra_loop row, tra_loop col) {
    matrix x = {.row = row, .col = col, .o = o};
    int64_t sr = row.s[o], sc = col.s[o];
    bool plain = sc == 1 && sr >= col.n, turned = sr == 1 && sc >= row.n;
    x.trans = !plain && turned;
    x.ld = plain ? sr : sc;
    x.pack = (!plain && !turned) || x.ld > MOST || p->ints || p->dtype[o] != p->dtype[C];
    return x;
}

/* The tile at (r, c) of the matrix that begins at element `at`, for BLAS: in place, or packed in buf. */
static const void *tile_of(const problem *p, const matrix *x, int64_t at, int64_t r, int64_t nr, int64_t c, int64_t nc,
                           void *buf, bool *trans, int64_t *ld) {
    const void *from = element(p->data[x->o], p->dtype[x->o], at + r * x->row.s[x->o] + c * x->col.s[x->o]);
    *trans = x->trans;
    *ld = x->ld;
    if (!x->pack) return from;
    tra_nest nest;
    nest.n = 0;
    tra_nest_add(&nest, nr, x->row.s[x->o], nc, 0);
    tra_nest_add(&nest, nc, x->col.s[x->o], 1, 0);
    tra_strided_copy(buf, p->t, from, p->dtype[x->o], &nest);
    *trans = false;
    *ld = nc;
    return buf;
}

/* C (m x n, unit stride along n) = A B + beta C. */
static void gemm_tile(const problem *p, const matrix *a, const matrix *b, const int64_t *at, tra_loop m, tra_loop n,
                      int64_t k, double beta) {
    double abuf[PACK * PACK], bbuf[PACK * PACK];
    int64_t step = a->pack || b->pack ? PACK : MOST;
    for (int64_t i = 0; i < m.n; i += step) {
        for (int64_t l = 0; l < k; l += step) {
            int64_t ni = tra_min64(step, m.n - i), nl = tra_min64(step, k - l), lda, ldb;
            bool ta, tb;
            const void *pa = tile_of(p, a, at[a->o], i, ni, l, nl, abuf, &ta, &lda);
            for (int64_t j = 0; j < n.n; j += step) {
                int64_t nj = tra_min64(step, n.n - j);
                const void *pb = tile_of(p, b, at[b->o], l, nl, j, nj, bbuf, &tb, &ldb);
                void *pc = element(p->out, p->dtype[C], at[C] + i * m.s[C] + j);
                gemm(p, ta, tb, ni, nj, nl, pa, lda, pb, ldb, l ? 1 : beta, pc, m.s[C]);
            }
        }
    }
}

/* Puts n <= PACK elements of row to the result, at stride s from `at` on, or adds them. */
static void put_row(const problem *p, int64_t at, int64_t s, const void *row, int64_t n, bool add) {
    double own[PACK], sum[PACK];
    tra_dtype t = p->dtype[C];
    if (p->t != t) {
        tra_convert(own, t, row, p->t, n);
        row = own;
    }
    if (add) {
        tra_strip(t)(TRA_S_ADD, sum, tra_load(p->out, t, at, s, n, t, sum), row, 0, n);
        row = sum;
    }
    tra_store(p->out, t, at, s, row, t, n);
}

/* C (m x n, any strides) = A B + beta C, beta 0 or 1. */
static void gemm_packed(const problem *p, const matrix *a, const matrix *b, const int64_t *at, tra_loop m, tra_loop n,
                        int64_t k, double beta) {
    double abuf[PACK * PACK], bbuf[PACK * PACK], cbuf[PACK * PACK];
    for (int64_t i = 0; i < m.n; i += PACK)
        for (int64_t j = 0; j < n.n; j += PACK) {
            int64_t ni = tra_min64(PACK, m.n - i), nj = tra_min64(PACK, n.n - j);
            for (int64_t l = 0; l < k; l += PACK) {
                int64_t nl = tra_min64(PACK, k - l), lda, ldb;
                bool ta, tb;
                const void *pa = tile_of(p, a, at[a->o], i, ni, l, nl, abuf, &ta, &lda);
                const void *pb = tile_of(p, b, at[b->o], l, nl, j, nj, bbuf, &tb, &ldb);
                gemm(p, ta, tb, ni, nj, nl, pa, lda, pb, ldb, l ? 1 : 0, cbuf, nj);
            }
            for (int64_t r = 0; r < ni; r++)
                put_row(p, at[C] + (i + r) * m.s[C] + j * n.s[C], n.s[C], element(cbuf, p->t, r * nj), nj, beta != 0);
        }
}

/* c (m) += A x, A in place. */
static void gemv(const problem *p, const matrix *a, int x, const int64_t *at, tra_loop m, tra_loop k) {
    tra_dtype t = p->dtype[C];
    const void *pa = element(p->data[a->o], t, at[a->o]), *px = element(p->data[x], t, at[x]);
    void *pc = element(p->out, t, at[C]);
    CBLAS_TRANSPOSE trans = a->trans ? CblasTrans : CblasNoTrans;
    int rows = (int)(a->trans ? k.n : m.n), cols = (int)(a->trans ? m.n : k.n);
    if (tra_dtype_rows[t].blas == 'd')
        cblas_dgemv(CblasRowMajor, trans, rows, cols, 1, pa, (int)a->ld, px, (int)k.s[x], 1, pc, (int)m.s[C]);
    else
        cblas_sgemv(CblasRowMajor, trans, rows, cols, 1, pa, (int)a->ld, px, (int)k.s[x], 1, pc, (int)m.s[C]);
}

/* Which loops go to BLAS, as places in the nests of M, N and K (-1: none), and how. */
typedef struct choice {
    double score; /* 0: nothing */
    int at[3];
    bool swap; /* C is computed transposed: A and B change places */
    bool vector;
    bool pack_out; /* C is packed */
    matrix a, b;
} choice;

static tra_loop loop_at(const tra_nest *nest, int i) { return i < 0 ? (tra_loop){.n = 1} : nest->v[i]; }

static double clip(int64_t n) { return n < ROWS ? (double)n : ROWS; }

/* Estimates what it costs to give these loops to BLAS, and keeps the choice if it is the best so far. Packing costs
 * about half the speed. */
static void weigh(const problem *p, int im, int in, int ik, choice *best) {
    tra_loop m = loop_at(&p->loops[M], im), n = loop_at(&p->loops[N], in), k = loop_at(&p->loops[K], ik);
    choice c = {.at = {im, in, ik}};
    if (k.n == 1 || (m.n == 1 && n.n == 1)) return;
    if (m.n > 1 && n.n > 1) {
        c.swap = n.s[C] != 1 && m.s[C] == 1;
        c.pack_out = p->ints || (n.s[C] != 1 && m.s[C] != 1);
        int64_t ldc = c.swap ? n.s[C] : m.s[C];
        if (!c.pack_out && (ldc < (c.swap ? m.n : n.n) || ldc > MOST)) return;
        if (c.pack_out && (m.n < MANY || n.n < MANY || k.n < MANY)) return;
        /* transposed, the product is B' A' */
        c.a = c.swap ? address(p, B, n, k) : address(p, A, m, k);
        c.b = c.swap ? address(p, A, k, m) : address(p, B, k, n);
        c.score = clip(m.n) * clip(n.n) * clip(k.n) / (c.a.pack || c.b.pack ? 2 : 1) / (c.pack_out ? 2 : 1);
    } else if (p->ints) {
        return;
    } else {
        c.vector = true;
        c.swap = m.n == 1;
        int o = c.swap ? B : A, x = 1 - o;
        tra_loop v = c.swap ? n : m;
        c.a = address(p, o, v, k);
        if (c.a.pack || p->dtype[x] != p->dtype[C] || k.s[x] < 1 || k.s[x] > MOST) return;
        if (v.s[C] > MOST || v.n > MOST || k.n > MOST) return;
        c.score = clip(v.n) * clip(k.n);
    }
    if (c.score > best->score) *best = c;
}

/* Takes loop i out of the nest. */
static tra_loop take(tra_nest *nest, int i) {
    tra_loop l = loop_at(nest, i);
    if (i >= 0) memmove(&nest->v[i], &nest->v[i + 1], (size_t)(--nest->n - i) * sizeof(l));
    return l;
}

static void output_loops(const problem *p, tra_nest *to) {
    to->n = 0;
    tra_nest_append(to, &p->loops[M]);
    tra_nest_append(to, &p->loops[N]);
    tra_nest_append(to, &p->loops[BATCH]);
}

/* Writes zeros to the elements of the output that the loops go to (s[1]). */
static void fill_zero(const problem *p, const tra_nest *loops) {
    static const double zero;
    tra_strided_copy(element(p->out, p->dtype[C], p->at[C]), p->dtype[C], &zero, TRA_F64, loops);
}

static void zero_tile(const problem *p) {
    tra_nest nest;
    output_loops(p, &nest);
    for (int i = 0; i < nest.n; i++) nest.v[i] = (tra_loop){nest.v[i].n, {0, nest.v[i].s[C]}, 0};
    fill_zero(p, &nest);
}

static void run_blas(problem *p, const choice *c) {
    if (c->vector && !p->add) zero_tile(p);
    tra_nest outer;
    tra_loop m = take(&p->loops[M], c->at[M]), n = take(&p->loops[N], c->at[N]), k = take(&p->loops[K], c->at[K]);
    output_loops(p, &outer);
    if (c->swap) {
        tra_loop t = m;
        m = n;
        n = t;
    }
    int64_t off[3], in[3] = {0};
    memcpy(off, p->at, sizeof(off));
    do {
        double beta = p->add ? 1 : 0;
        do {
            int64_t at[3] = {off[A] + in[A], off[B] + in[B], off[C]};
            if (c->vector)
                gemv(p, &c->a, 1 - c->a.o, at, m, k);
            else
                (c->pack_out ? gemm_packed : gemm_tile)(p, &c->a, &c->b, at, m, n, k.n, beta);
            beta = 1;
        } while (!tra_cancelled() && tra_nest_next(&p->loops[K], in));
    } while (!tra_cancelled() && tra_nest_next(&outer, off));
}

static int64_t pace(const tra_loop *l) { return tra_max64(l->s[A], l->s[B]); }

/* acc[i] += x[i] * y[i] */
static void add_products(const problem *p, double *acc, const void *x, const void *y, int64_t n) {
    if (p->ints)
        tra_muladd_int((int64_t *)(void *)acc, x, y, n, p->wide);
    else
        tra_muladd(acc, x, y, n);
}

/* *acc += x . y */
static void add_dot(const problem *p, double *acc, const void *x, const void *y, int64_t n) {
    if (!p->ints) {
        *acc += tra_dot(x, y, n);
        return;
    }
    int64_t sum;
    memcpy(&sum, acc, sizeof sum);
    tra_overflow |= __builtin_add_overflow(sum, tra_dot_int(x, y, n, p->wide), &sum);
    memcpy(acc, &sum, sizeof sum);
}

/* Computes the product without BLAS, with sums in f64, or i64 for integers: as dot products along a summed label that
 * both operands have dense, else a strip of results at a time. */
static void run_plain(problem *p) {
    tra_nest outer, *sum = &p->loops[K];
    output_loops(p, &outer);
    int dense = -1;
    for (int i = 0; i < outer.n; i++)
        if (dense < 0 || outer.v[i].s[C] < outer.v[dense].s[C]) dense = i;
    tra_loop row = take(&outer, dense);
    dense = -1;
    for (int i = 0; i < sum->n; i++)
        if (dense < 0 || pace(&sum->v[i]) < pace(&sum->v[dense])) dense = i;
    bool along = row.n == 1 || (dense >= 0 && sum->v[dense].n >= TRA_SHORT && pace(&sum->v[dense]) < pace(&row));
    tra_loop run = along ? take(sum, dense) : (tra_loop){.n = 1};

    double acc[TRA_STRIP], abuf[TRA_STRIP], bbuf[TRA_STRIP];
    tra_dtype t = tra_dtype_rows[p->dtype[C]].sum;
    int64_t off[3], in[3] = {0};
    memcpy(off, p->at, sizeof(off));
    do {
        for (int64_t i = 0; i < row.n && !tra_cancelled(); i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row.n - i);
            memset(acc, 0, (size_t)n * sizeof(*acc));
            do {
                int64_t a = off[A] + in[A] + i * row.s[A], b = off[B] + in[B] + i * row.s[B];
                if (!along) {
                    const void *x = tra_load(p->data[A], p->dtype[A], a, row.s[A], n, t, abuf);
                    const void *y = tra_load(p->data[B], p->dtype[B], b, row.s[B], n, t, bbuf);
                    add_products(p, acc, x, y, n);
                    continue;
                }
                for (int64_t j = 0; j < n; j++, a += row.s[A], b += row.s[B]) {
                    for (int64_t l = 0; l < run.n; l += TRA_STRIP) {
                        int64_t len = tra_min64(TRA_STRIP, run.n - l);
                        const void *x = tra_load(p->data[A], p->dtype[A], a + l * run.s[A], run.s[A], len, t, abuf);
                        const void *y = tra_load(p->data[B], p->dtype[B], b + l * run.s[B], run.s[B], len, t, bbuf);
                        add_dot(p, &acc[j], x, y, len);
                    }
                }
            } while (!tra_cancelled() && tra_nest_next(sum, in));
            int64_t at = off[C] + i * row.s[C];
            if (p->add)
                tra_strip(t)(TRA_S_ADD, acc, tra_load(p->out, p->dtype[C], at, row.s[C], n, t, abuf), acc, 0, n);
            tra_store(p->out, p->dtype[C], at, row.s[C], acc, t, n);
        }
    } while (!tra_cancelled() && tra_nest_next(&outer, off));
}

static void run_tile(problem *p) {
    bool none = false;
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < p->loops[c].n; i++) {
            if (p->loops[c].v[i].n != 0) continue;
            if (c != K) return; /* no output */
            none = true;
        }
    if (none) { /* nothing to sum */
        if (!p->add) zero_tile(p);
        return;
    }
    for (int c = 0; c < CLASSES; c++) tra_nest_coalesce(&p->loops[c]);
    choice best = {0};
    for (int m = -1; m < p->loops[M].n; m++)
        for (int n = -1; n < p->loops[N].n; n++)
            for (int k = 0; k < p->loops[K].n; k++) weigh(p, m, n, k, &best);
    if (best.score > 0)
        run_blas(p, &best);
    else
        run_plain(p);
}

/* Computes a product in which an operand of sparse type meets NaN or infinity: one product at a time. */
static void run_careful(const problem *p, const tra_array *a, const tra_array *b, const tra_array *out,
                        const bool *sparse) {
    tra_nest kept;
    output_loops(p, &kept);
    tra_product_slow(&kept, &p->loops[K], a, b, sparse, out, p->at, p->add);
}

/* The largest magnitude of an element. */
static double extreme(const tra_array *x) {
    int64_t n = tra_elements_of(&x->ext), low = 0, high = 0;
    for (int64_t i = 0; i < n; i += TRA_STRIP) {
        int64_t buf[TRA_STRIP], len = tra_min64(TRA_STRIP, n - i);
        const int64_t *v = tra_load(x->data, x->dtype, i, 1, len, TRA_I64, buf);
        for (int64_t j = 0; j < len; j++) {
            low = v[j] < low ? v[j] : low;
            high = v[j] > high ? v[j] : high;
        }
    }
    return fmax(-(double)low, (double)high);
}

/* Chooses the type in which integers are multiplied, so that sums are exact, and whether each step must be tested for
 * overflow. */
static void choose_type(problem *p, const labels *ls, const tra_array *a, const tra_array *b) {
    p->ints = !tra_dtype_is_float(p->dtype[C]);
    p->wide = false;
    p->t = p->dtype[C];
    if (!p->ints) return;
    double most = extreme(a) * extreme(b);
    for (int i = 0; i < ls->n; i++)
        if (class_of(&ls->v[i]) == K) most *= (double)ls->v[i].loop.n;
    p->wide = most >= 0x1p62;
    if (most < 0x1p53) p->t = TRA_F64;
}

/* ---- triangles ---------------------------------------------------------------------------------------------- */

/* The elements of rows [m0, m1) and columns [n0, n1) of a tile, whose loops of M and N are these. */
static void run_part(const problem *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    problem x = *p;
    tra_loop *m = &x.loops[M].v[0], *n = &x.loops[N].v[0];
    if (m0 >= m1 || n0 >= n1) return;
    for (int o = 0; o < 3; o++) x.at[o] += m0 * m->s[o] + n0 * n->s[o];
    m->n = m1 - m0, n->n = n1 - n0;
    run_tile(&x);
}

/* The triangle of a square whose diagonal begins at (m0, n0), by BLAS; false: BLAS cannot address it. */
static bool run_syrk(const problem *p, int64_t m0, int64_t n0, int64_t n) {
    tra_nest sum = p->loops[K];
    tra_loop m = p->loops[M].v[0], c = p->loops[N].v[0], k;
    int64_t at = p->at[C] + m0 * m.s[C] + n0 * c.s[C], from = p->at[A] + m0 * m.s[A], in[3] = {0};
    bool lower = c.s[C] != 1;
    int64_t ldc = lower ? c.s[C] : m.s[C];
    if (p->ints || (lower ? m.s[C] : c.s[C]) != 1 || ldc < n || ldc > MOST || n > MOST || sum.n == 0) return false;
    int dense = 0;
    for (int i = 1; i < sum.n; i++)
        if (sum.v[i].n > sum.v[dense].n) dense = i;
    k = take(&sum, dense);
    m.n = n;
    matrix a = address(p, A, m, k);
    if (a.pack || k.n > MOST) return false;
    CBLAS_UPLO part = lower ? CblasLower : CblasUpper;
    CBLAS_TRANSPOSE trans = a.trans ? CblasTrans : CblasNoTrans;
    double beta = p->add ? 1 : 0;
    do {
        const void *x = element(p->data[A], p->dtype[A], from + in[A]);
        void *to = element(p->out, p->dtype[C], at);
        if (p->t == TRA_F64 && n <= TRA_GRAM_MOST && a.trans)
            tra_gram(n, k.n, x, a.ld, beta != 0, to, lower ? 1 : ldc, lower ? ldc : 1);
        else if (tra_dtype_rows[p->t].blas == 'd')
            cblas_dsyrk(CblasRowMajor, part, trans, (int)n, (int)k.n, 1, x, (int)a.ld, beta, to, (int)ldc);
        else
            cblas_ssyrk(CblasRowMajor, part, trans, (int)n, (int)k.n, 1, x, (int)a.ld, (float)beta, to, (int)ldc);
        beta = 1;
    } while (!tra_cancelled() && tra_nest_next(&sum, in));
    return true;
}

static void run_square(const problem *p, int64_t m0, int64_t n0, int64_t n) {
    enum { LEAST = 64 }; /* of which the half that nobody wants costs less than smaller products do */
    if (n <= 0 || run_syrk(p, m0, n0, n)) return;
    int64_t half = n / 2;
    if (n <= LEAST) {
        run_part(p, m0, m0 + n, n0, n0 + n);
        return;
    }
    run_square(p, m0, n0, half);
    run_part(p, m0, m0 + half, n0 + half, n0 + n);
    run_square(p, m0 + half, n0 + half, n - half);
}

/* The part of a tile that is in the triangle: m0 and n0 are the first row and column of the tile in the result. */
static void triangle_of(const problem *p, int64_t m0, int64_t n0) {
    int64_t m = p->loops[M].v[0].n, n = p->loops[N].v[0].n;
    int64_t from = tra_max64(m0, n0), to = tra_min64(m0 + m, n0 + n);
    if (n0 + n <= m0) return;
    if (from >= m0 + m) {
        run_part(p, 0, m, 0, n);
        return;
    }
    run_part(p, 0, from - m0, from - n0, n);
    run_square(p, from - m0, from - n0, to - from);
    run_part(p, from - m0, to - m0, to - n0, n);
}

static void run_triangle(problem *p, int64_t m0, int64_t n0) {
    bool any = true;
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < p->loops[c].n; i++) any = any && p->loops[c].v[i].n > 0;
    if (!any) {
        run_tile(p);
        return;
    }
    tra_nest_coalesce(&p->loops[K]);
    problem x = *p;
    int64_t off[3] = {0};
    x.loops[BATCH].n = 0;
    do {
        for (int o = 0; o < 3; o++) x.at[o] = p->at[o] + off[o];
        triangle_of(&x, m0, n0);
    } while (!tra_cancelled() && tra_nest_next(&p->loops[BATCH], off));
}

/* ---- entrances ---------------------------------------------------------------------------------------------- */

/* A product, of which tiles are computed. */
typedef struct product {
    labels ls;
    cuts cut;
    problem p;
    const tra_array *a, *b, *out;
    const bool *sparse;
    bool add, careful, triangle;
} product;

static void one_tile(const product *x, int tile) {
    const labels *ls = &x->ls;
    const cuts *cut = &x->cut;
    int64_t pm = cut->pieces[M], pn = cut->pieces[N];
    problem p; /* not initialised as a whole: it is large */
    p.data[A] = x->a->data, p.data[B] = x->b->data, p.out = x->out->data;
    memcpy(p.dtype, x->p.dtype, sizeof p.dtype);
    p.ints = x->p.ints, p.wide = x->p.wide, p.t = x->p.t;
    p.add = x->add;
    tra_nest room; /* the tile, of which the result may fill a part */
    room.n = 0;
    bool small = false;
    for (int c = 0; c < CLASSES; c++) p.loops[c].n = 0;
    p.at[A] = p.at[B] = p.at[C] = 0;
    int64_t piece[CLASSES] = {[M] = tile / pn % pm, [N] = tile % pn, [BATCH] = tile / (pn * pm)};
    int64_t first_of[CLASSES] = {0}; /* rows and columns before the tile */
    for (int i = 0; i < ls->n; i++) {
        tra_loop l = ls->v[i].loop;
        int c = class_of(&ls->v[i]);
        int64_t from = 0, to = ls->v[i].room;
        if (i == cut->label[c]) {
            piece_of(&ls->v[i], piece[c], cut->pieces[c], &from, &to);
            for (int o = 0; o < 3; o++) p.at[o] += from * l.s[o];
            l.n = tra_max64(0, tra_min64(to, l.n) - from);
            first_of[c] = from;
        }
        p.loops[c].v[p.loops[c].n++] = l;
        if (l.s[C] == 0) continue;
        tra_nest_add(&room, to - from, 0, l.s[C], 0);
        small |= l.n < to - from;
    }
    if (small && !x->add) { /* the result does not fill the tile */
        fill_zero(&p, &room);
        p.add = true;
    }
    if (x->careful)
        run_careful(&p, x->a, x->b, x->out, x->sparse);
    else if (x->triangle)
        run_triangle(&p, first_of[M], first_of[N]);
    else
        run_tile(&p);
}

static void run_piece(void *ctx, int tile, void *scratch) {
    (void)scratch;
    if (!tra_cancelled()) one_tile(ctx, tile);
}

static void contract(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out, bool add,
                     int tile, const bool *sparse, bool triangle) {
    product x; /* not initialised as a whole: it is large */
    x.a = a, x.b = b, x.out = out, x.sparse = sparse;
    x.add = add, x.triangle = triangle;
    make_labels(step, &a->ext, &b->ext, &out->ext, &x.ls);
    make_cuts(&x.ls, &x.cut);
    int64_t tiles = x.cut.pieces[M] * x.cut.pieces[N] * x.cut.pieces[BATCH];
    assert(tile < tiles);
    x.p.dtype[A] = a->dtype, x.p.dtype[B] = b->dtype, x.p.dtype[C] = out->dtype;
    choose_type(&x.p, &x.ls, a, b);
    x.careful = tra_product_careful(a, b, sparse);
    if (tile >= 0)
        one_tile(&x, tile);
    else
        tra_share((int)tiles, run_piece, &x, NULL);
}

void tra_contract(const tra_kernel *step, const tra_array *a, const tra_array *b, const tra_array *out, bool add,
                  int tile, const bool *sparse) {
    contract(step, a, b, out, add, tile, sparse, false);
}

void tra_contract_triangle(const tra_kernel *step, const tra_array *a, const tra_array *out, bool add, int tile,
                           bool sparse) {
    contract(step, a, a, out, add, tile, (const bool[2]){sparse, sparse}, true);
}
