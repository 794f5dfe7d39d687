/* lapack.c - linear systems and decompositions of one matrix, by LAPACK in f64.
 *
 * Arrays are row-major, LAPACK's are column-major: operands are copied to scratch, in f64, and results back. What is
 * not determined is fixed, so that results do not depend on the library: eigenvalues ascend, singular values descend,
 * an eigenvector, and a right singular vector, has its largest element (the first of several) positive, the diagonal of
 * R is not negative. A matrix with elements that are not finite gives NaN. */
#include "kernel_int.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The subroutines in Fortran, which get the lengths of texts as further arguments at the end. */
extern double dlange_(const char *, const int *, const int *, const double *, const int *, double *, size_t);
extern void dpocon_(const char *, const int *, const double *, const int *, const double *, double *, double *, int *,
                    int *, size_t);
extern void dgecon_(const char *, const int *, const double *, const int *, const double *, double *, double *, int *,
                    int *, size_t);
extern void dsyevd_(const char *, const char *, const int *, double *, const int *, double *, double *, const int *,
                    int *, const int *, int *, size_t, size_t);
extern void dgeqrf_(const int *, const int *, double *, const int *, double *, double *, const int *, int *);
extern void dgesdd_(const char *, const int *, const int *, double *, const int *, double *, double *, const int *,
                    double *, const int *, double *, const int *, int *, int *, size_t);

static _Thread_local char failure[256];
static _Thread_local tra_status failure_status = TRA_INPUT;

const char *tra_kernel_failure(void) { return *failure ? failure : NULL; }
void tra_kernel_failure_clear(void) {
    *failure = 0;
    failure_status = TRA_INPUT;
}

tra_status tra_kernel_failure_status(void) { return failure_status; }

void tra_kernel_fail_with(tra_status s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    if (!*failure) {
        failure_status = s;
        vsnprintf(failure, sizeof failure, fmt, args);
    }
    va_end(args);
}

void tra_kernel_fail(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    if (!*failure) vsnprintf(failure, sizeof failure, fmt, args);
    va_end(args);
}

/* Of an m x n matrix, whose lesser extent is k, and so many right sides: doubles and integers of workspace besides the
 * matrix; operations; the share of these that are matrix products, where columns are many; what computes it. */
#define LAPACKS(X)                                                                                                     \
    X(SOLVE, n *right + 5 * n, 2 * n, 2 * n * n * n / 3 + 2 * n * n * right, 0.75, run_solve(&w, a, b, out))           \
    X(INVERSE, n *right + 5 * n, 2 * n, 8 * n * n * n / 3, 0.8, run_inverse(&w, a, out))                               \
    X(DET, 0, n, 2 * n * n * n / 3, 0.8, run_det(&w, out))                                                             \
    X(CHOLESKY, 5 * n, n, n * n * n / 3, 0.42, run_cholesky(&w, out))                                                  \
    X(EIGH_W, n + 1 + 6 * n + 2 * n * n, 3 + 5 * n, 4 * n * n * n / 3, 0.27, run_eigh(&w, out, false))                 \
    X(EIGH_V, n + 1 + 6 * n + 2 * n * n, 3 + 5 * n, 9 * n * n * n, 0.9, run_eigh(&w, out, true))                       \
    X(QR_Q, tra_qr_space(m, n), k, 4 * m * n * k, 0.6, run_qr(&w, out, true))                                          \
    X(QR_R, tra_qr_space(m, n), 0, 2 * m * n * k, 0.6, run_qr(&w, out, false))                                         \
    X(SVD_U, SVD_WORK, 8 * k, 14 * m * n * k, 0.5, run_svd(&w, out, f))                                                \
    X(SVD_S, SVD_WORK, 8 * k, 14 * m * n * k, 0.5, run_svd(&w, out, f))                                                \
    X(SVD_V, SVD_WORK, 8 * k, 14 * m * n * k, 0.5, run_svd(&w, out, f))
#define SVD_WORK (m * k + k + k * n + 4 * k * k + 7 * k + 64 * (m + n))

/* ---- shapes and scratch ------------------------------------------------------------------------------------- */

const char *tra_lapack_misfit(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    if (tra_lapack_is_tsqr(f)) return tra_tsqr_misfit(f, a, b);
    bool square = f != TRA_L_QR_Q && f != TRA_L_QR_R && f != TRA_L_SVD_U && f != TRA_L_SVD_S && f != TRA_L_SVD_V;
    if (a->n != 2) return "it needs a matrix";
    if (square && a->v[0] != a->v[1]) return "it needs a square matrix";
    bool svd = f == TRA_L_SVD_U || f == TRA_L_SVD_S || f == TRA_L_SVD_V;
    if (svd && a->v[0] > TRA_LAPACK_SVD && a->v[1] > TRA_LAPACK_SVD) return "it takes at most 23000 rows or columns";
    if (square && a->v[0] > TRA_LAPACK_MOST) return "it takes at most 32000 rows and columns";
    if (a->v[0] > INT32_MAX || a->v[1] > TRA_LAPACK_MOST) return "it takes at most 32000 columns";
    if (!b) return NULL;
    if (b->n != 1 && b->n != 2) return "the right side is a vector or a matrix";
    if (b->v[0] != a->v[0]) return "the right side has another number of rows";
    if (b->n == 2 && b->v[1] > INT32_MAX / 8) return "the right side has too many columns";
    return NULL;
}

void tra_lapack_shape(tra_lapack f, double arg, const tra_dims *a, const tra_dims *b, tra_dims *out, int8_t *from) {
    int64_t least = tra_min64(a->v[0], a->v[1]);
    from[0] = 0;
    from[1] = 1;
    *out = *a;
    if (tra_lapack_is_tsqr(f)) {
        tra_tsqr_shape(f, arg, a, b, out);
        return;
    }
    switch ((int)f) {
    case TRA_L_SOLVE:
        *out = *b;
        from[1] = 32 + 1;
        break;
    case TRA_L_DET: out->n = 0; break;
    case TRA_L_EIGH_W: out->n = 1; break;
    case TRA_L_SVD_S: *out = (tra_dims){.n = 1, .v = {least}}; break;
    case TRA_L_QR_Q:
    case TRA_L_SVD_U: out->v[1] = least; break;
    case TRA_L_QR_R: out->v[0] = least; break;
    case TRA_L_SVD_V: *out = (tra_dims){.n = 2, .v = {a->v[1], least}}; break;
    }
}

static void room(tra_lapack f, int64_t m, int64_t n, int64_t right, int64_t *work, int64_t *ints) {
    int64_t k = tra_min64(m, n);
    switch ((int)f) {
#define X(name, doubles, integers, ...)                                                                                \
    case TRA_L_##name:                                                                                                 \
        *work = doubles;                                                                                               \
        *ints = integers;                                                                                              \
        return;
        LAPACKS(X)
#undef X
    }
}

size_t tra_lapack_scratch(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    if (tra_lapack_is_tsqr(f)) return tra_tsqr_scratch(f, a, b);
    int64_t work, ints, right = b && b->n == 2 ? b->v[1] : f == TRA_L_INVERSE ? a->v[1] : 1;
    room(f, a->v[0], a->v[1], right, &work, &ints);
    return ((size_t)(a->v[0] * a->v[1] + work) * sizeof(double) + (size_t)ints * sizeof(int) + 127) / 64 * 64;
}

/* ---- copies ------------------------------------------------------------------------------------------------- */

typedef struct job {
    int m, n, k; /* rows, columns, the lesser of both */
    double *a;   /* column-major */
    double *work;
    int64_t nwork;
    int *ints;
    tra_dtype type;                /* of the result */
    const tra_dim_labels *columns; /* of the matrix, or NULL */
} job;

void tra_lapack_set(const tra_array *x, int64_t at, double v) {
    if (x->dtype == TRA_F32)
        ((float *)x->data)[at] = (float)v;
    else
        ((double *)x->data)[at] = v;
}

enum { ROWS = 16, COLUMNS = 64 }; /* of a tile, whose elements are copied together */

bool tra_lapack_load(const tra_array *x, int64_t m, int64_t n, double *to, int64_t stride) {
    double own[ROWS][COLUMNS];
    const double *row[ROWS];
    bool finite = true;
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t j = 0; j < n; j += COLUMNS) {
            int64_t rows = tra_min64(ROWS, m - i), columns = tra_min64(COLUMNS, n - j);
            for (int64_t k = 0; k < rows; k++) {
                row[k] = tra_load(x->data, x->dtype, (i + k) * n + j, 1, columns, TRA_F64, own[k]);
                finite = finite && tra_finite(row[k], TRA_F64, columns);
            }
            for (int64_t l = 0; l < columns; l++)
                for (int64_t k = 0; k < rows; k++) to[(j + l) * stride + i + k] = row[k][l];
        }
    return finite;
}

void tra_lapack_store(const double *from, int64_t stride, const tra_array *x, int64_t m, int64_t n, const int *sign) {
    double row[ROWS][COLUMNS];
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t j = 0; j < n; j += COLUMNS) {
            int64_t rows = tra_min64(ROWS, m - i), columns = tra_min64(COLUMNS, n - j);
            for (int64_t l = 0; l < columns; l++)
                for (int64_t k = 0; k < rows; k++)
                    row[k][l] = (sign ? sign[j + l] : 1) * from[(j + l) * stride + i + k];
            for (int64_t k = 0; k < rows; k++)
                tra_store(x->data, x->dtype, (i + k) * n + j, 1, row[k], TRA_F64, columns);
        }
}

void tra_lapack_fill(const tra_array *x, double v) {
    for (int64_t i = 0, n = tra_elements_of(&x->ext); i < n; i++) tra_lapack_set(x, i, v);
}

/* Is the matrix symmetric, up to `slack` times the rounding error? Else *i, *j is a place where it is not. */
static bool symmetric(const job *w, double slack, int *i, int *j) {
    double most = 0;
    for (int64_t p = 0; p < (int64_t)w->n * w->n; p++) most = fmax(most, fabs(w->a[p]));
    for (*j = 0; *j < w->n; ++*j)
        for (*i = *j + 1; *i < w->n; ++*i) {
            double x = w->a[(int64_t)*j * w->n + *i], y = w->a[(int64_t)*i * w->n + *j];
            if (!(fabs(x - y) <= slack * DBL_EPSILON * most)) return false;
        }
    return true;
}

static bool refuse_unsymmetric(const job *w, const char *name) {
    int i, j;
    if (symmetric(w, 1e6, &i, &j)) return false;
    tra_kernel_fail("%s needs a symmetric matrix, but element [%d,%d] is %.6g and [%d,%d] is %.6g", name, i, j,
                    w->a[(int64_t)j * w->n + i], j, i, w->a[(int64_t)i * w->n + j]);
    return true;
}

/* Scales rows and columns of a symmetric matrix so that its diagonal is near 1, by powers of two; false when an element
 * of the diagonal is not positive, so that the matrix is not positive definite. */
static bool scale_both(job *w, double *by) {
    int64_t n = w->n;
    bool positive = true;
    for (int64_t j = 0; j < n; j++) {
        double length = sqrt(fmax(0, w->a[j * n + j]));
        positive = positive && length > 0;
        by[j] = tra_lapack_scale_of(&length, 1);
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) w->a[j * n + i] = w->a[j * n + i] * by[i] * by[j];
    return positive;
}

static void scale_rows(double *b, int64_t n, int64_t right, const double *by) {
    for (int64_t p = 0; p < n * right; p++) b[p] *= by[p % n];
}

/* ---- systems ------------------------------------------------------------------------------------------------ */

/* By QR of a matrix that is known to be singular, whose columns have the lengths `by` makes of them. */
static void fail_singular(job *w, const tra_array *a, const double *by, const char *name) {
    int n = w->n, lwork = n, info;
    tra_lapack_load(a, n, n, w->a, n);
    for (int64_t p = 0; p < (int64_t)n * n; p++) w->a[p] *= by[p / n];
    dgeqrf_(&n, &n, w->a, &n, w->work, w->work + n, &lwork, &info);
    tra_lapack_fail_singular(name, w->a, n, n, w->type, w->columns, w->work);
}

/* a x = b, columns of b in place: by Cholesky where a is symmetric and positive definite, else by LU. The factor of
 * the first try is lost with it, so the matrix is loaded again. What is factored is D a D, or a D, with D = by (see
 * singular.c). */
static void solve(job *w, const tra_array *a, double *b, int right, const char *name) {
    int n = w->n, info, i, j, *pivot = w->ints, *ints = w->ints + n;
    double rcond = 0, *by = w->work + 4 * (int64_t)n;
    if (symmetric(w, 8, &i, &j)) {
        bool positive = scale_both(w, by);
        double norm = dlange_("1", &n, &n, w->a, &n, w->work, 1);
        if (positive) tra_cholesky(n, w->a, &info);
        if (tra_cancelled()) return;
        if (positive && info == 0) {
            dpocon_("L", &n, w->a, &n, &norm, &rcond, w->work, ints, &info, 1);
            if (tra_lapack_is_regular(rcond, n, w->type, name)) {
                scale_rows(b, n, right, by);
                tra_factor_solve(n, w->a, NULL, right, b);
                scale_rows(b, n, right, by);
                return;
            }
        }
        rcond = 0;
        tra_lapack_load(a, n, n, w->a, n);
    }
    tra_lapack_scale(w->a, n, n, n, by);
    double norm = dlange_("1", &n, &n, w->a, &n, w->work, 1);
    tra_lu(n, w->a, pivot, &info);
    if (tra_cancelled()) return;
    if (info == 0) dgecon_("1", &n, w->a, &n, &norm, &rcond, w->work, ints, &info, 1);
    if (!tra_lapack_is_regular(rcond, n, w->type, name)) {
        fail_singular(w, a, by, name);
        return;
    }
    tra_factor_solve(n, w->a, pivot, right, b);
    scale_rows(b, n, right, by);
}

static void run_solve(job *w, const tra_array *a, const tra_array *b, const tra_array *out) {
    int right = b->ext.n == 2 ? (int)b->ext.v[1] : 1;
    double *x = w->work + 5 * (int64_t)w->n;
    if (!tra_lapack_load(b, w->n, right, x, w->n)) {
        tra_lapack_fill(out, NAN);
        return;
    }
    solve(w, a, x, right, "solve");
    tra_lapack_store(x, w->n, out, w->n, right, NULL);
}

static void run_inverse(job *w, const tra_array *a, const tra_array *out) {
    double *x = w->work + 5 * (int64_t)w->n;
    memset(x, 0, (size_t)w->n * (size_t)w->n * sizeof *x);
    for (int64_t i = 0; i < w->n; i++) x[i * w->n + i] = 1;
    solve(w, a, x, w->n, "inverse");
    tra_lapack_store(x, w->n, out, w->n, w->n, NULL);
}

static void run_det(job *w, const tra_array *out) {
    int n = w->n, info;
    double det = 1;
    tra_lu(n, w->a, w->ints, &info);
    for (int64_t i = 0; i < n; i++) det *= w->ints[i] == i + 1 ? w->a[i * n + i] : -w->a[i * n + i];
    tra_lapack_set(out, 0, det);
}

/* The order of the first leading part of D a D that is not positive definite to working precision, by as much of its
 * factor as there is (`info` of dpotrf: up to the order where it gave up); if each is, that of the smallest pivot. */
static int64_t indefinite_part(const job *w, int info) {
    int64_t n = info > 0 ? info - 1 : w->n, least = 0;
    for (int64_t j = 0; j < n; j++) {
        double pivot = w->a[j * w->n + j];
        if (pivot * pivot <= 64 * tra_lapack_tolerance(w->n, w->type)) return j + 1;
        if (pivot < w->a[least * w->n + least]) least = j;
    }
    return info > 0 ? info : least + 1;
}

static void run_cholesky(job *w, const tra_array *out) {
    int n = w->n, info = 0, none;
    double rcond = 0, *by = w->work + 4 * (int64_t)n;
    if (refuse_unsymmetric(w, "cholesky")) return;
    scale_both(w, by);
    double norm = dlange_("1", &n, &n, w->a, &n, w->work, 1);
    tra_cholesky(n, w->a, &info);
    if (tra_cancelled()) return;
    if (info == 0) dpocon_("L", &n, w->a, &n, &norm, &rcond, w->work, w->ints, &none, 1);
    if (info > 0 || !tra_lapack_is_regular(rcond, n, w->type, "cholesky")) {
        int64_t part = indefinite_part(w, info);
        tra_kernel_fail("cholesky: the matrix is not positive definite: its leading %" PRId64 " x %" PRId64
                        " part is not, to working precision",
                        part, part);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) w->a[j * n + i] = i < j ? 0 : w->a[j * n + i] / by[i];
    tra_lapack_store(w->a, n, out, n, n, NULL);
}

/* ---- decompositions ----------------------------------------------------------------------------------------- */

/* The sign that makes the largest of n elements positive, which are so far from each other. */
static double sign_of(const double *v, int64_t n, int64_t step) {
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(v[i * step]) > fabs(v[at * step]) * (1 + 1e-9)) at = i;
    return n && v[at * step] < 0 ? -1 : 1;
}

static void scale(double *column, int64_t n, double by) {
    for (int64_t i = 0; i < n; i++) column[i] *= by;
}

static void run_eigh(job *w, const tra_array *out, bool vectors) {
    int n = w->n, lwork = (int)tra_min64(1 + 6 * (int64_t)n + 2 * (int64_t)n * n, INT32_MAX), lints = 3 + 5 * n, info;
    if (refuse_unsymmetric(w, "eigh")) return;
    dsyevd_(vectors ? "V" : "N", "L", &n, w->a, &n, w->work, w->work + n, &lwork, w->ints, &lints, &info, 1, 1);
    if (info != 0) {
        tra_kernel_fail("eigh: %d off-diagonal elements did not converge to 0", info);
        return;
    }
    if (!vectors) {
        tra_lapack_store(w->work, n, out, n, 1, NULL);
        return;
    }
    for (int64_t j = 0; j < n; j++) scale(w->a + j * n, n, sign_of(w->a + j * n, n, 1));
    tra_lapack_store(w->a, n, out, n, n, NULL);
}

static void run_qr(job *w, const tra_array *out, bool q) {
    int m = w->m, n = w->n, k = w->k;
    tra_qr(m, n, w->a, w->work);
    if (!q) {
        for (int64_t i = 0; i < k; i++) {
            double sign = w->a[i * m + i] < 0 ? -1 : 1;
            for (int64_t j = 0; j < n; j++) tra_lapack_set(out, i * n + j, j < i ? 0 : sign * w->a[j * m + i]);
        }
        return;
    }
    for (int64_t i = 0; i < k; i++) w->ints[i] = w->a[i * m + i] < 0 ? -1 : 1; /* of R, which Q takes the place of */
    tra_qr_make_q(m, n, w->a, w->work);
    tra_lapack_store(w->a, m, out, m, k, w->ints);
}

static void run_svd(job *w, const tra_array *out, tra_lapack f) {
    int m = w->m, n = w->n, k = w->k, info;
    double *u = w->work, *s = u + (int64_t)m * k, *vt = s + k, *work = vt + (int64_t)k * n;
    int lwork = (int)tra_min64(w->nwork - (work - w->work), INT32_MAX);
    dgesdd_("S", &m, &n, w->a, &m, s, u, &m, vt, &k, work, &lwork, w->ints, &info, 1);
    if (info != 0) {
        tra_kernel_fail("svd: it did not converge");
        return;
    }
    if (f == TRA_L_SVD_S) tra_lapack_store(s, k, out, k, 1, NULL);
    for (int64_t j = 0; j < k; j++) {
        double sign = sign_of(vt + j, n, k);
        for (int64_t i = 0; f == TRA_L_SVD_U && i < m; i++) tra_lapack_set(out, i * k + j, sign * u[j * m + i]);
        for (int64_t i = 0; f == TRA_L_SVD_V && i < n; i++) tra_lapack_set(out, i * k + j, sign * vt[i * k + j]);
    }
}

void tra_lapack_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out, void *scratch) {
    tra_lapack f = k->row->lapack;
    if (tra_lapack_is_tsqr(f)) {
        tra_tsqr_run(k, a, b, out, scratch);
        return;
    }
    job w = {.m = (int)a->ext.v[0], .n = (int)a->ext.v[1], .a = scratch, .type = out->dtype, .columns = k->columns};
    int64_t ints, elements = a->ext.v[0] * a->ext.v[1];
    w.k = w.m < w.n ? w.m : w.n;
    room(f, w.m, w.n, b && b->ext.n == 2 ? b->ext.v[1] : f == TRA_L_INVERSE ? w.n : 1, &w.nwork, &ints);
    w.work = w.a + elements;
    w.ints = (int *)(w.work + w.nwork);
    if (elements == 0 || tra_elements_of(&out->ext) == 0) {
        tra_lapack_fill(out, 1); /* the determinant of no rows */
        return;
    }
    if (!tra_lapack_load(a, w.m, w.n, w.a, w.m)) {
        tra_lapack_fill(out, NAN);
        return;
    }
    switch ((int)f) {
#define X(name, doubles, integers, flops, share, run)                                                                  \
    case TRA_L_##name: run; return;
        LAPACKS(X)
#undef X
    }
}

double tra_lapack_flops(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    if (tra_lapack_is_tsqr(f)) return tra_tsqr_flops(f, a, b);
    double m = (double)a->v[0], n = (double)a->v[1], right = b && b->n == 2 ? (double)b->v[1] : 1;
    double k = m < n ? m : n;
    switch ((int)f) {
#define X(name, doubles, integers, flops, ...)                                                                         \
    case TRA_L_##name: return flops;
        LAPACKS(X)
#undef X
    }
    return 0;
}

bool tra_kernel_takes_one_thread(const tra_kernel *k, const tra_dims *a) {
    enum { LARGE = 1024 }; /* columns from which on factor.c has several pieces of each panel */
    const tra_kernel *self = k, *const * step;
    tra_steps(k, &step, &self);
    if (step[0]->cls != TRA_K_LAPACK) return false;
    tra_lapack f = step[0]->row->lapack;
    bool cut = f == TRA_L_SOLVE || f == TRA_L_INVERSE || f == TRA_L_DET || f == TRA_L_CHOLESKY;
    return !cut || a->n < 2 || a->v[1] < LARGE;
}

double tra_kernel_lapack_share(const tra_kernel *k, const tra_dims *a) {
    static const double shares[] = {
#define X(name, doubles, integers, flops, share, ...) [TRA_L_##name] = share,
        LAPACKS(X)
#undef X
    };
    static const double TALL = 0.39, SOME = 45, HALF = 200; /* of few columns most is done by vectors */
    const tra_kernel *self = k, *const * step;
    tra_steps(k, &step, &self);
    if (step[0]->cls != TRA_K_LAPACK) return 0;
    tra_lapack f = step[0]->row->lapack;
    double n = a->n > 1 ? (double)tra_max64(1, a->v[1]) : 1;
    bool qr = tra_lapack_is_tsqr(f) || f == TRA_L_QR_Q || f == TRA_L_QR_R, tall = qr && n < TRA_QR_NARROW;
    return (tall ? TALL : qr ? shares[TRA_L_QR_Q] : shares[f]) * n / (n + (tall ? SOME : HALF));
}
