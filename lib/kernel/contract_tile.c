/* contract_tile.c - one tile of a product: as BLAS calls, or as plain loops.
 *
 * One loop of each of M, N, K (after joining those that step as one) goes to BLAS, transposes folded into its flags;
 * the others are loops around it. An operand or a result that BLAS cannot address is packed piece by piece. Where no
 * two dimensions are left for BLAS the sums are plain vector loops in f64. */
#include "contract_int.h"

#include <assert.h>
#include <cblas.h>
#include <string.h>

enum {
    PACK = 128,   /* side of a packed piece; three of f64 are 384 KiB of stack */
    MANY = 16,    /* extents from which on packing a result beats plain loops */
    ENOUGH = 512, /* longer loops make a call of BLAS no faster */
};

static void gemm(const problem *p, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                 const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
    CBLAS_TRANSPOSE fa = ta ? CblasTrans : CblasNoTrans, fb = tb ? CblasTrans : CblasNoTrans;
    switch (p->t) {
    case TRA_F64:
        if (tra_narrow_product(ta, tb, m, n, k, a, lda, b, ldb, beta != 0, c, ldc)) return;
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

matrix contract_address(const problem *p, int o, tra_loop row, tra_loop col) {
    matrix x = {.row = row, .col = col, .o = o};
    int64_t sr = row.s[o], sc = col.s[o];
    bool plain = sc == 1 && sr >= col.n, turned = sr == 1 && sc >= row.n;
    x.trans = !plain && turned;
    x.ld = plain ? sr : sc;
    x.pack = (!plain && !turned) || x.ld > BLAS_MOST || p->ints || p->dtype[o] != p->dtype[C];
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
    int64_t step = a->pack || b->pack ? PACK : BLAS_MOST;
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

static double clip(int64_t n) { return n < ENOUGH ? (double)n : ENOUGH; }

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
        if (!c.pack_out && (ldc < (c.swap ? m.n : n.n) || ldc > BLAS_MOST)) return;
        if (c.pack_out && (m.n < MANY || n.n < MANY || k.n < MANY)) return;
        /* transposed, the product is B' A' */
        c.a = c.swap ? contract_address(p, B, n, k) : contract_address(p, A, m, k);
        c.b = c.swap ? contract_address(p, A, k, m) : contract_address(p, B, k, n);
        c.score = clip(m.n) * clip(n.n) * clip(k.n) / (c.a.pack || c.b.pack ? 2 : 1) / (c.pack_out ? 2 : 1);
    } else if (p->ints) {
        return;
    } else {
        c.vector = true;
        c.swap = m.n == 1;
        int o = c.swap ? B : A, x = 1 - o;
        tra_loop v = c.swap ? n : m;
        c.a = contract_address(p, o, v, k);
        if (c.a.pack || p->dtype[x] != p->dtype[C] || k.s[x] < 1 || k.s[x] > BLAS_MOST) return;
        if (v.s[C] > BLAS_MOST || v.n > BLAS_MOST || k.n > BLAS_MOST) return;
        c.score = clip(v.n) * clip(k.n);
    }
    if (c.score > best->score) *best = c;
}

/* Joins loops of the problem, and chooses those that go to BLAS. */
static choice choose(problem *p) {
    for (int c = 0; c < CLASSES; c++) tra_nest_coalesce(&p->loops[c]);
    choice best = {0};
    for (int m = -1; m < p->loops[M].n; m++)
        for (int n = -1; n < p->loops[N].n; n++)
            for (int k = 0; k < p->loops[K].n; k++) weigh(p, m, n, k, &best);
    return best;
}

tra_impl contract_way(problem *p) {
    choice c = choose(p);
    if (c.score == 0) return TRA_IMPL_DOTS;
    if (c.vector) return TRA_IMPL_VECTOR;
    if (p->ints) return TRA_IMPL_WHOLES;
    int64_t m = loop_at(&p->loops[M], c.at[M]).n, n = loop_at(&p->loops[N], c.at[N]).n;
    int64_t k = loop_at(&p->loops[K], c.at[K]).n;
    bool plain = p->t == TRA_F64 && !c.a.pack && !c.b.pack && !c.pack_out;
    bool narrow = plain && tra_narrow_fits(c.a.trans, c.b.trans, c.swap ? n : m, c.swap ? m : n, k);
    return narrow ? TRA_IMPL_NARROW : TRA_IMPL_BLAS;
}

tra_loop contract_take(tra_nest *nest, int i) {
    tra_loop l = loop_at(nest, i);
    if (i >= 0) memmove(&nest->v[i], &nest->v[i + 1], (size_t)(--nest->n - i) * sizeof(l));
    return l;
}

void contract_output_loops(const problem *p, tra_nest *to) {
    to->n = 0;
    tra_nest_append(to, &p->loops[M]);
    tra_nest_append(to, &p->loops[N]);
    tra_nest_append(to, &p->loops[BATCH]);
}

void contract_fill_zero(const problem *p, const tra_nest *loops) {
    static const double zero;
    tra_strided_copy(element(p->out, p->dtype[C], p->at[C]), p->dtype[C], &zero, TRA_F64, loops);
}

static void zero_tile(const problem *p) {
    tra_nest nest;
    contract_output_loops(p, &nest);
    for (int i = 0; i < nest.n; i++) nest.v[i] = (tra_loop){nest.v[i].n, {0, nest.v[i].s[C]}, 0};
    contract_fill_zero(p, &nest);
}

static void run_blas(problem *p, const choice *c) {
    if (c->vector && !p->add) zero_tile(p);
    tra_nest outer;
    tra_loop m = contract_take(&p->loops[M], c->at[M]), n = contract_take(&p->loops[N], c->at[N]),
             k = contract_take(&p->loops[K], c->at[K]);
    contract_output_loops(p, &outer);
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
 * both operands have dense, else a strip of results at a time. sums: it has a summed label. A product without one
 * begins at -0.0, as 0 + x y would lose the sign of a zero. */
static void run_plain(problem *p, bool sums) {
    tra_nest outer, *sum = &p->loops[K];
    contract_output_loops(p, &outer);
    int dense = -1;
    for (int i = 0; i < outer.n; i++)
        if (dense < 0 || outer.v[i].s[C] < outer.v[dense].s[C]) dense = i;
    tra_loop row = contract_take(&outer, dense);
    dense = -1;
    for (int i = 0; i < sum->n; i++)
        if (dense < 0 || pace(&sum->v[i]) < pace(&sum->v[dense])) dense = i;
    bool shorter = dense >= 0 && sum->v[dense].n >= TRA_SHORT && pace(&sum->v[dense]) < pace(&row);
    bool along = sums && (row.n == 1 || shorter);
    tra_loop run = along ? contract_take(sum, dense) : (tra_loop){.n = 1};

    double acc[TRA_STRIP], abuf[TRA_STRIP], bbuf[TRA_STRIP];
    tra_dtype t = tra_dtype_rows[p->dtype[C]].sum;
    int64_t off[3], in[3] = {0};
    memcpy(off, p->at, sizeof(off));
    do {
        for (int64_t i = 0; i < row.n && !tra_cancelled(); i += TRA_STRIP) {
            int64_t n = tra_min64(TRA_STRIP, row.n - i);
            for (int64_t j = 0; j < n; j++) acc[j] = sums || p->ints ? 0 : -0.0;
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

void contract_run_tile(problem *p) {
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
    bool sums = p->loops[K].n > 0;
    choice best = choose(p);
    if (best.score > 0)
        run_blas(p, &best);
    else
        run_plain(p, sums);
}
