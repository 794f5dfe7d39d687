/* singular.c - which matrices are singular to working precision, and which of their columns depend on each other.
 *
 * How long a column is may be a matter of its unit. So columns are scaled to lengths near 1 first, by powers of two,
 * which change no bit of what follows. What is then singular is told by an estimate of the condition and one tolerance,
 * far above what the kernels of BLAS differ by: every blocking and every processor gives the same answer.
 */
#include "kernel_int.h"

#include <float.h>
#include <math.h>

double tra_lapack_tolerance(int64_t n, tra_dtype t) {
    return t == TRA_F32 ? FLT_EPSILON / 2 : (double)(n + 50) * DBL_EPSILON;
}

double tra_lapack_scale_of(const double *column, int64_t m) {
    double most = 0, sum = 0;
    int e;
    for (int64_t i = 0; i < m; i++) most = fmax(most, fabs(column[i]));
    if (most == 0) return 1;
    for (int64_t i = 0; i < m; i++) sum += column[i] / most * (column[i] / most);
    frexp(most, &e);
    e += (int)lround(log2(sqrt(sum)));
    return ldexp(1, e > 1000 ? -1000 : e < -1000 ? 1000 : -e);
}

void tra_lapack_scale(double *a, int64_t m, int64_t n, int64_t stride, double *by) {
    for (int64_t j = 0; j < n; j++) {
        by[j] = tra_lapack_scale_of(a + j * stride, m);
        for (int64_t i = 0; i < m; i++) a[j * stride + i] *= by[j];
    }
}

bool tra_lapack_is_regular(double rcond, int64_t n, tra_dtype t, const char *name) {
    if (!(rcond >= tra_lapack_tolerance(n, t))) return false;
    double digits = (t == TRA_F32 ? 7 : 16) + log10(rcond);
    if (digits < (t == TRA_F32 ? 3 : 6))
        tra_warn("%s: the condition of the matrix is about %.1e, so that about %d digits of the result are right", name,
                 1 / rcond, (int)fmax(0, floor(digits)));
    return true;
}

/* ---- the columns that depend on each other --------------------------------------------------------------------- */

/* The first column whose distance from those before it is nothing but rounding; if there is none, the nearest one. */
static int64_t dependent_column(const double *r, int64_t n, int64_t stride, double tolerance) {
    int64_t nearest = 0;
    for (int64_t j = 0; j < n; j++) {
        double distance = fabs(r[j * stride + j]);
        if (distance <= 64 * tolerance) return j;
        if (distance < fabs(r[nearest * stride + nearest])) nearest = j;
    }
    return nearest;
}

void tra_lapack_fail_singular(const char *name, const double *r, int64_t n, int64_t stride, tra_dtype t,
                              const tra_dim_labels *labels, double *c) {
    enum { SHOWN = 4 };
    int64_t at = dependent_column(r, n, stride, tra_lapack_tolerance(n, t)), others = 0;
    double most = 0;
    for (int64_t i = at - 1; i >= 0; i--) { /* column `at` is the sum of c[i] times column i */
        c[i] = r[at * stride + i];
        for (int64_t j = i + 1; j < at; j++) c[i] -= r[j * stride + i] * c[j];
        c[i] /= r[i * stride + i];
        most = fmax(most, fabs(c[i]));
    }
    tra_arena *a = tra_arena_new();
    const char *text = "";
    for (int64_t i = 0; i < at; i++) {
        if (!(fabs(c[i]) > 1e-6 * most)) continue;
        const char *column = labels ? tra_dim_labels_text(a, labels, i) : tra_arena_printf(a, "%" PRId64, i);
        if (others++ < SHOWN) text = tra_arena_printf(a, "%s%s%.40s", text, others > 1 ? ", " : "", column);
    }
    const char *column = labels ? tra_dim_labels_text(a, labels, at) : tra_arena_printf(a, "%" PRId64, at);
    const char *more = others > SHOWN ? tra_arena_printf(a, " and %" PRId64 " more", others - SHOWN) : "";
    if (others)
        tra_kernel_fail("%s: the matrix is singular to working precision: column %.40s follows from column%s %s%s",
                        name, column, others > 1 ? "s" : "", text, more);
    else
        tra_kernel_fail("%s: the matrix is singular: column %.40s is 0", name, column);
    tra_arena_free(a);
}
