/* factor.c - LU and Cholesky of one large matrix, and systems with the factors, in pieces that several threads take
 * over (parallel.h).
 *
 * WIDTH columns at a time are factored by LAPACK, on one thread; what these change in all others is matrix products, of
 * which each piece has its own columns (Golub and Van Loan, Matrix Computations, 3.2.11 and 4.2.9). Matrices are
 * column-major, n x n, one column after the other. */
#include "../base/parallel.h"
#include "kernel_int.h"

#include <cblas.h>

extern void dpotrf_(const char *, const int *, double *, const int *, int *, size_t);
extern void dpotrs_(const char *, const int *, const int *, const double *, const int *, double *, const int *, int *,
                    size_t);
extern void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
extern void dgetrs_(const char *, const int *, const int *, const double *, const int *, const int *, double *,
                    const int *, int *, size_t);
extern void dlaswp_(const int *, double *, const int *, const int *, const int *, const int *, const int *);

enum { WIDTH = 128, LEAST = 64 }; /* of a panel; of a piece, at least */

typedef struct factoring {
    int n, from, end; /* columns from .. end - 1 are factored, and change those behind */
    int right;        /* columns of right sides */
    int pieces;
    double *a, *b;
    int *pivot;
} factoring;

/* In how many pieces columns first .. end - 1 are cut, by so many operations in all. */
static int cut(int first, int end, double flops) {
    static const double STEP = 16; /* operations of a nanosecond */
    int64_t most = (end - first) / LEAST;
    return (int)tra_max64(1, tra_min64(most, tra_parallel_pieces((int64_t)(flops / STEP))));
}

/* The columns of a piece: *n of them from *from on. */
static void part(const factoring *x, int first, int end, int piece, int *from, int *n) {
    int64_t begin = tra_piece_begin(end - first, x->pieces, piece);
    *from = first + (int)begin;
    *n = (int)(tra_piece_begin(end - first, x->pieces, piece + 1) - begin);
}

/* ---- LU --------------------------------------------------------------------------------------------------------- */

static void exchange_rows(const factoring *x, int column, int n, int from, int end) {
    int first = from + 1, one = 1;
    dlaswp_(&n, x->a + (int64_t)column * x->n, &x->n, &first, &end, x->pivot, &one);
}

/* What a panel changes in some of the columns behind it. */
static void lu_piece(void *ctx, int piece, void *scratch) {
    const factoring *x = ctx;
    int at, n, width = x->end - x->from, below = x->n - x->end;
    (void)scratch;
    part(x, x->end, x->n, piece, &at, &n);
    double *panel = x->a + (int64_t)x->from * x->n + x->from, *to = x->a + (int64_t)at * x->n + x->from;
    exchange_rows(x, at, n, x->from, x->end);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, width, n, 1, panel, x->n, to, x->n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, below, n, width, -1, panel + width, x->n, to, x->n, 1,
                to + width, x->n);
}

/* Rows of the first columns that later panels exchanged. */
static void exchange_piece(void *ctx, int piece, void *scratch) {
    const factoring *x = ctx;
    int at, n;
    (void)scratch;
    part(x, 0, x->n, piece, &at, &n);
    for (int column = at, end; column < at + n; column = end) { /* columns of one panel */
        int next = (column / WIDTH + 1) * WIDTH;
        end = next < at + n ? next : at + n;
        if (next < x->n) exchange_rows(x, column, end - column, next, x->n);
    }
}

void tra_lu(int n, double *a, int *pivot, int *info) {
    factoring x = {.n = n, .a = a, .pivot = pivot};
    *info = 0;
    for (x.from = 0; x.from < n && !tra_cancelled(); x.from = x.end) {
        int rows = n - x.from, width = rows < WIDTH ? rows : WIDTH, singular;
        dgetrf_(&rows, &width, a + (int64_t)x.from * n + x.from, &n, pivot + x.from, &singular);
        if (singular > 0 && *info == 0) *info = x.from + singular;
        x.end = x.from + width;
        for (int i = x.from; i < x.end; i++) pivot[i] += x.from;
        x.pieces = cut(x.end, n, 2.0 * width * (n - x.end) * rows);
        if (x.end < n) tra_parallel(x.pieces, lu_piece, &x, NULL);
    }
    for (int i = x.from; i < n; i++) pivot[i] = i + 1; /* cancelled: whoever reads them finds no garbage */
    x.pieces = cut(0, n, (double)n * n);
    tra_parallel(x.pieces, exchange_piece, &x, NULL);
}

/* ---- Cholesky --------------------------------------------------------------------------------------------------- */

/* Rows of a panel of L below its square. */
static void panel_piece(void *ctx, int piece, void *scratch) {
    const factoring *x = ctx;
    int at, n, width = x->end - x->from;
    (void)scratch;
    part(x, x->end, x->n, piece, &at, &n);
    double *panel = x->a + (int64_t)x->from * x->n;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, width, 1, panel + x->from, x->n,
                panel + at, x->n);
}

/* What a panel changes in some of the columns behind it, from the diagonal on: blocks of columns, which are the shorter
 * the further behind. */
static void cholesky_piece(void *ctx, int piece, void *scratch) {
    const factoring *x = ctx;
    int width = x->end - x->from;
    (void)scratch;
    for (int at = x->end + piece * LEAST; at < x->n; at += x->pieces * LEAST) {
        int n = x->n - at < LEAST ? x->n - at : LEAST, below = x->n - at - n;
        double *panel = x->a + (int64_t)x->from * x->n + at, *to = x->a + (int64_t)at * x->n + at;
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, width, -1, panel, x->n, 1, to, x->n);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, below, n, width, -1, panel + n, x->n, panel, x->n, 1,
                    to + n, x->n);
    }
}

void tra_cholesky(int n, double *a, int *info) {
    factoring x = {.n = n, .a = a};
    *info = 0;
    for (x.from = 0; x.from < n && !tra_cancelled(); x.from = x.end) {
        int rows = n - x.from, width = rows < WIDTH ? rows : WIDTH;
        dpotrf_("L", &width, a + (int64_t)x.from * n + x.from, &n, info, 1);
        if (*info > 0) {
            *info += x.from;
            return;
        }
        x.end = x.from + width;
        double below = n - x.end;
        x.pieces = cut(x.end, n, below * width * width);
        if (x.end < n) tra_parallel(x.pieces, panel_piece, &x, NULL);
        x.pieces = cut(x.end, n, below * below * width);
        if (x.end < n) tra_parallel(x.pieces, cholesky_piece, &x, NULL);
    }
}

/* ---- systems with a factor -------------------------------------------------------------------------------------- */

static void solve_piece(void *ctx, int piece, void *scratch) {
    const factoring *x = ctx;
    int at, n, info;
    (void)scratch;
    part(x, 0, x->right, piece, &at, &n);
    double *b = x->b + (int64_t)at * x->n;
    if (x->pivot)
        dgetrs_("N", &x->n, &n, x->a, &x->n, x->pivot, b, &x->n, &info, 1);
    else
        dpotrs_("L", &x->n, &n, x->a, &x->n, b, &x->n, &info, 1);
}

void tra_factor_solve(int n, double *a, int *pivot, int right, double *b) {
    factoring x = {.n = n, .right = right, .a = a, .b = b, .pivot = pivot};
    x.pieces = cut(0, right, 2.0 * n * n * right);
    tra_parallel(x.pieces, solve_piece, &x, NULL);
}
