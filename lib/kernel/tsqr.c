/* tsqr.c - what QR, singular values and least squares of a matrix take of its blocks of rows (plans/tra/tsqr.c brings
 * them together).
 *
 * How many rows a block has only the run may tell, but how large its result is the plan must know. So an R of w columns
 * always has w rows, of which the last ones are 0 where the block has fewer; and behind its columns stands one that is
 * 1 where there is a row and 0 where there is none. Whoever takes several of these, one below the other, leaves out the
 * rows that are not there: so it sees what it would see of shorter ones, Q has no part in rows that are not there, and
 * the last of them knows whether the matrix has as many rows as columns.
 *
 * A block in turn is decomposed some rows at a time, which stay in a cache (LAPACK's dlatsqr): of narrow matrices
 * that takes half to a third of the time of dgeqrf, which goes through all rows for each column. */
#include "kernel_int.h"

#include <math.h>
#include <string.h>

extern void dgeqrf_(const int *, const int *, double *, const int *, double *, double *, const int *, int *);
extern void dorgqr_(const int *, const int *, const int *, double *, const int *, const double *, double *, const int *,
                    int *);
extern void dlatsqr_(const int *, const int *, const int *, const int *, double *, const int *, double *, const int *,
                     double *, const int *, int *);
extern void dorgtsqr_row_(const int *, const int *, const int *, const int *, double *, const int *, const double *,
                          const int *, double *, const int *, int *);
extern void dtrcon_(const char *, const char *, const char *, const int *, const double *, const int *, double *,
                    double *, int *, int *, size_t, size_t, size_t);
extern void dtrtrs_(const char *, const char *, const char *, const int *, const int *, const double *, const int *,
                    double *, const int *, int *, size_t, size_t, size_t);

/* ---- one matrix ------------------------------------------------------------------------------------------------- */

/* FEW reflectors are applied together, and MORE from WIDE columns on. Each part of a matrix that is decomposed at a
 * time has LEAST rows, or TIMES as many rows as columns if that is more. */
enum { FEW = 16, MORE = 32, WIDE = 128, LEAST = 1024, TIMES = 4 };

/* Are some rows decomposed at a time? With many columns, dgeqrf spends its time in matrix products anyway. */
static bool in_parts(int64_t m, int64_t n) { return m >= n && n < TRA_QR_NARROW; }
static int64_t rows_taken(int64_t n) { return tra_max64(LEAST, TIMES * n); }
static int64_t together(int64_t n) { return n < WIDE ? tra_min64(FEW, n) : MORE; }

int64_t tra_qr_space(int64_t m, int64_t n) {
    int64_t taken = rows_taken(n), parts = m <= taken ? 1 : tra_ceil_div(m - n, taken - n);
    return (1 + TRA_QR_WORK) * n + (n < TRA_QR_NARROW ? together(n) * n * parts : 0);
}

void tra_qr(int m, int n, double *a, double *space) {
    double *work = space + n, *triangles = work + TRA_QR_WORK * (int64_t)n;
    int info, taken = (int)rows_taken(n), at_once = (int)together(n), nwork = TRA_QR_WORK * n;
    if (n == 0) return;
    if (in_parts(m, n))
        dlatsqr_(&m, &n, &taken, &at_once, a, &m, triangles, &at_once, work, &nwork, &info);
    else
        dgeqrf_(&m, &n, a, &m, space, work, &nwork, &info);
}

void tra_qr_make_q(int m, int n, double *a, double *space) {
    double *work = space + n, *triangles = work + TRA_QR_WORK * (int64_t)n;
    int info, k = m < n ? m : n, taken = (int)rows_taken(n), at_once = (int)together(n), nwork = TRA_QR_WORK * n;
    if (n == 0) return;
    if (in_parts(m, n))
        dorgtsqr_row_(&m, &n, &taken, &at_once, a, &m, triangles, &at_once, work, &nwork, &info);
    else
        dorgqr_(&m, &k, &k, a, &m, space, work, &nwork, &info);
}

/* ---- blocks of rows --------------------------------------------------------------------------------------------- */

/* Is the operand a block of the matrix itself? Else it is R of several, with the column that says which rows are there.
 */
static bool is_block(tra_lapack f) { return f == TRA_L_TSQR_FIRST_R || f == TRA_L_TSQR_FIRST_Q; }

/* Columns of what is decomposed: of a block, beside which right sides stand, or of an R. */
static int64_t width(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    if (!is_block(f)) return tra_max64(0, a->v[1] - 1);
    return a->v[1] + (!b ? 0 : b->n == 2 ? b->v[1] : 1);
}

const char *tra_tsqr_misfit(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    if (a->n != 2) return "it needs a matrix";
    if (b && b->n != 1 && b->n != 2) return "the right side is a vector or a matrix";
    if (b && b->v[0] != a->v[0]) return "the right side has another number of rows";
    if (a->v[0] > INT32_MAX || width(f, a, b) >= TRA_LAPACK_MOST) return "it takes less than 32000 columns";
    return NULL;
}

void tra_tsqr_shape(tra_lapack f, double arg, const tra_dims *a, const tra_dims *b, tra_dims *out) {
    int64_t w = width(f, a, b);
    *out = (tra_dims){.n = 2, .v = {w, w}};
    if (f == TRA_L_TSQR_FIRST_R || f == TRA_L_TSQR_NEXT_R) out->v[1] = w + 1;
    if (f == TRA_L_TSQR_FIRST_Q || f == TRA_L_TSQR_NEXT_Q || f == TRA_L_TSQR_LAST_Q) out->v[0] = a->v[0];
    if (f != TRA_L_TSQR_LAST_X) return;
    *out = (tra_dims){.n = arg > 0 ? 2 : 1, .v = {tra_max64(0, w - tra_max64(1, (int64_t)arg)), (int64_t)arg}};
}

size_t tra_tsqr_scratch(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    int64_t w = width(f, a, b), doubles = a->v[0] * w + tra_qr_space(a->v[0], w);
    return ((size_t)doubles * sizeof(double) + (size_t)w * sizeof(int) + 127) / 64 * 64;
}

double tra_tsqr_flops(tra_lapack f, const tra_dims *a, const tra_dims *b) {
    double m = (double)a->v[0], w = (double)width(f, a, b);
    bool q = f == TRA_L_TSQR_FIRST_Q || f == TRA_L_TSQR_NEXT_Q || f == TRA_L_TSQR_LAST_Q;
    return (q ? 4 : 2) * m * w * w;
}

typedef struct job {
    int m, width, k;   /* rows that are there, columns, the lesser of both */
    double *a, *space; /* a: column by column */
    int *ints;
    const tra_dim_labels *columns; /* of the matrix, or NULL */
} job;

static bool is_there(const tra_array *a, int64_t i) {
    return tra_element_real(a->dtype, a->data, (i + 1) * a->ext.v[1] - 1) != 0;
}

/* The rows that are there; false when an element is not finite. */
static bool load(job *w, tra_lapack f, const tra_array *a, const tra_array *b) {
    int64_t all = a->ext.v[0], n = a->ext.v[1];
    if (is_block(f)) {
        w->m = (int)all;
        bool fine = tra_lapack_load(a, all, n, w->a, all);
        return (!b || tra_lapack_load(b, all, w->width - n, w->a + n * all, all)) && fine;
    }
    bool fine = true;
    for (int64_t i = 0; i < all; i++) w->m += is_there(a, i);
    for (int64_t i = 0, to = 0; i < all; i++) {
        if (!is_there(a, i)) continue;
        for (int64_t j = 0; j < w->width; j++) {
            double v = tra_element_real(a->dtype, a->data, i * n + j);
            fine = fine && isfinite(v);
            w->a[j * w->m + to] = v;
        }
        to++;
    }
    return fine;
}

static void put_r(const job *w, const tra_array *out) {
    bool says = out->ext.v[1] > w->width;
    for (int64_t i = 0, at = 0; i < w->width; i++) {
        double sign = i < w->k && w->a[i * w->m + i] < 0 ? -1 : 1;
        for (int64_t j = 0; j < w->width; j++)
            tra_lapack_set(out, at++, i >= w->k || j < i ? 0 : sign * w->a[j * w->m + i]);
        if (says) tra_lapack_set(out, at++, i < w->k);
    }
}

/* Rows that are not there, and columns beyond the rows, are 0. */
static void put_q(job *w, tra_lapack f, const tra_array *a, const tra_array *out) {
    for (int64_t i = 0; i < w->k; i++) /* signs of the diagonal of R, which Q takes the place of */
        w->ints[i] = w->a[i * w->m + i] < 0 ? -1 : 1;
    tra_qr_make_q(w->m, w->width, w->a, w->space);
    if (is_block(f) && w->k == w->width) {
        tra_lapack_store(w->a, w->m, out, w->m, w->width, w->ints);
        return;
    }
    for (int64_t i = 0, row = 0; i < out->ext.v[0]; i++) {
        bool there = is_block(f) || is_there(a, i);
        for (int64_t j = 0; j < w->width; j++)
            tra_lapack_set(out, i * w->width + j, there && j < w->k ? w->ints[j] * w->a[j * w->m + row] : 0);
        row += there;
    }
}

static bool has_rows(const job *w, int64_t n, const char *name) {
    if (w->m >= n) return true;
    tra_kernel_fail("%s: the matrix has %d row%s, fewer than its %d columns: select more rows, or fewer columns", name,
                    w->m, w->m == 1 ? "" : "s", (int)n);
    return false;
}

/* R of a matrix and its right sides has that of the matrix, and beside it Q' times the right sides. */
static void put_x(job *w, const tra_array *out) {
    int n = (int)out->ext.v[0], right = w->width - n, info;
    double rcond = 0, *by = w->space, *work = by + w->width; /* the reflectors are needed no more */
    if (!has_rows(w, n, "solve")) return;
    for (int64_t j = 0; j < n; j++) memset(w->a + j * w->m + j + 1, 0, (size_t)(w->m - j - 1) * sizeof *w->a);
    tra_lapack_scale(w->a, n, n, w->m, by);
    dtrcon_("1", "U", "N", &n, w->a, &w->m, &rcond, work, w->ints, &info, 1, 1, 1);
    if (!tra_lapack_is_regular(rcond, n, out->dtype, "solve")) {
        tra_lapack_fail_singular("solve", w->a, n, w->m, out->dtype, w->columns, work);
        return;
    }
    double *x = w->a + (int64_t)n * w->m;
    dtrtrs_("U", "N", "N", &n, &right, w->a, &w->m, x, &w->m, &info, 1, 1, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < right; j++) tra_lapack_set(out, i * right + j, by[i] * x[j * w->m + i]);
}

void tra_tsqr_run(const tra_kernel *k, const tra_array *a, const tra_array *b, const tra_array *out, void *scratch) {
    tra_lapack f = k->row->lapack;
    job w = {.width = (int)width(f, &a->ext, b ? &b->ext : NULL), .a = scratch, .columns = k->columns};
    if (b && b->ext.v[0] != a->ext.v[0]) {
        tra_kernel_fail("solve: the matrix has %" PRId64 " rows, and its right side %" PRId64, a->ext.v[0],
                        b->ext.v[0]);
        return;
    }
    w.space = w.a + a->ext.v[0] * w.width;
    w.ints = (int *)(w.space + tra_qr_space(a->ext.v[0], w.width));
    if (w.width == 0 || tra_elements_of(&out->ext) == 0) return;
    if (!load(&w, f, a, b)) {
        tra_lapack_fill(out, NAN);
        return;
    }
    w.k = w.m < w.width ? w.m : w.width;
    if ((f == TRA_L_TSQR_LAST_R || f == TRA_L_TSQR_LAST_Q) && !has_rows(&w, w.width, "qr and svd")) return;
    if (w.m > 0) tra_qr(w.m, w.width, w.a, w.space);
    if (f == TRA_L_TSQR_LAST_X)
        put_x(&w, out);
    else if (f == TRA_L_TSQR_FIRST_R || f == TRA_L_TSQR_NEXT_R || f == TRA_L_TSQR_LAST_R)
        put_r(&w, out);
    else if (w.m > 0)
        put_q(&w, f, a, out);
    else
        tra_lapack_fill(out, 0);
}
