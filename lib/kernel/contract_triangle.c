/* contract_triangle.c - one tile of a product of an operand with itself, of which one triangle is wanted: squares on
 * the diagonal by syrk, what lies beside them as in any tile. */
#include "contract_int.h"

#include <cblas.h>

/* The elements of rows [m0, m1) and columns [n0, n1) of a tile, whose loops of M and N are these. */
static void run_part(const problem *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    problem x = *p;
    tra_loop *m = &x.loops[M].v[0], *n = &x.loops[N].v[0];
    if (m0 >= m1 || n0 >= n1) return;
    for (int o = 0; o < 3; o++) x.at[o] += m0 * m->s[o] + n0 * n->s[o];
    m->n = m1 - m0, n->n = n1 - n0;
    contract_run_tile(&x);
}

/* The triangle of a square whose diagonal begins at (m0, n0), by BLAS; false: BLAS cannot address it. */
static bool run_syrk(const problem *p, int64_t m0, int64_t n0, int64_t n) {
    tra_nest sum = p->loops[K];
    tra_loop m = p->loops[M].v[0], c = p->loops[N].v[0], k;
    int64_t at = p->at[C] + m0 * m.s[C] + n0 * c.s[C], from = p->at[A] + m0 * m.s[A], in[3] = {0};
    bool lower = c.s[C] != 1;
    int64_t ldc = lower ? c.s[C] : m.s[C];
    if (p->ints || (lower ? m.s[C] : c.s[C]) != 1 || ldc < n || ldc > BLAS_MOST || n > BLAS_MOST || sum.n == 0)
        return false;
    int dense = 0;
    for (int i = 1; i < sum.n; i++)
        if (sum.v[i].n > sum.v[dense].n) dense = i;
    k = contract_take(&sum, dense);
    m.n = n;
    matrix a = contract_address(p, A, m, k);
    if (a.pack || k.n > BLAS_MOST) return false;
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

void contract_run_triangle(problem *p, int64_t m0, int64_t n0) {
    bool any = true;
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < p->loops[c].n; i++) any = any && p->loops[c].v[i].n > 0;
    if (!any) {
        contract_run_tile(p);
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
