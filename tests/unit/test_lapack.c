/* Linear systems and decompositions: LAPACK against the definitions of the reference evaluator. */
#include "check.h"

#include "../../lib/base/parallel.h"
#include "../../lib/kernel/kernel_int.h"
#include "../../plans/reference/reference_int.h"

#include <math.h>
#include <stdlib.h>

static tra_arena *arena;
static uint64_t seed = 7;

static double draw(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(seed >> 20) / 0x1p43 - 1;
}

static tra_array matrix(tra_dtype t, int64_t m, int64_t n) {
    tra_array x = {t, {.n = 2, .v = {m, n}}, tra_arena_alloc(arena, (size_t)(m * n) * 8 + 64)};
    for (int64_t i = 0; i < m * n; i++) {
        double v = draw();
        if (t == TRA_F64) ((double *)x.data)[i] = v;
        if (t == TRA_F32) ((float *)x.data)[i] = (float)v;
        if (t == TRA_I32) ((int32_t *)x.data)[i] = (int32_t)(9 * v);
    }
    return x;
}

/* X X' + a little on the diagonal: symmetric and positive definite. */
static void make_positive(tra_array *x) {
    int64_t n = x->ext.v[0];
    double *v = x->data, *p = tra_news(arena, double, n *n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            p[i * n + j] = i == j ? 0.1 : 0;
            for (int64_t k = 0; k < n; k++) p[i * n + j] += v[i * n + k] * v[j * n + k];
        }
    memcpy(v, p, (size_t)(n * n) * sizeof *v);
}

static ref_array reference_of(const tra_array *x) {
    ref_array r = ref_array_new(arena, &x->ext);
    for (int64_t i = 0, n = ref_count(&x->ext); i < n; i++)
        r.data[i] = x->dtype == TRA_F64   ? (ref_num)((double *)x->data)[i]
                    : x->dtype == TRA_F32 ? (ref_num)((float *)x->data)[i]
                                          : (ref_num)((int32_t *)x->data)[i];
    return r;
}

/* Runs the kernel on a (and b) and compares with the definition. arg: its number in parentheses, or -1. */
static void compare_with(int line, const char *name, double arg, const tra_array *a, const tra_array *b, double tol) {
    const tra_kernel *k;
    tra_err e = {0};
    tra_kernel_use use = b ? TRA_USE_JOIN : TRA_USE_MAP;
    CHECK_OK(tra_kernel_named(arena, name, use, arg < 0 ? 0 : 1, &arg, &k, &e), e);
    tra_array out = {.dtype = tra_kernel_dtype(k, use, a->dtype, b ? b->dtype : a->dtype)};
    if (b)
        CHECK_OK(tra_kernel_shape2(k, &a->ext, &b->ext, &a->ext, &b->ext, &out.ext, NULL, &e), e);
    else
        CHECK_OK(tra_kernel_shape1(k, &a->ext, &out.ext, NULL, &e), e);
    int64_t n = ref_count(&out.ext);
    size_t need = tra_kernel_scratch(k, use, a->dtype, b ? b->dtype : a->dtype, &a->ext, b ? &b->ext : NULL);
    char *scratch = aligned_alloc(64, (need + 127) / 64 * 64);
    memset(scratch + need, 0x5A, 16);                                                      /* what is behind stays */
    out.data = memset(tra_arena_alloc(arena, (size_t)n * 8 + 8), 0x5A, (size_t)n * 8 + 8); /* numbers, and not 0 */
    if (b)
        tra_kernel_join(k, a, b, &out, scratch);
    else
        tra_map_sparse(k, a, false, &out, scratch);
    for (int i = 0; i < 16; i++) CHECK(scratch[need + (size_t)i] == 0x5A);
    free(scratch);
    ref_array x = reference_of(a), y = b ? reference_of(b) : x, want;
    ref_fit fit = {0};
    CHECK_OK(ref_lapack(name, arg, out.dtype, &x, b ? &y : NULL, arena, &want, &fit, &e), e);
    bool failed = tra_kernel_failure() != NULL;
    if (failed != (fit.failed != NULL))
        check_report("line %d: %s %s, the reference does not think so: %s", line, name, failed ? "fails" : "succeeds",
                     failed ? tra_kernel_failure() : "it fails");
    tra_kernel_failure_clear();
    ref_array got = reference_of(&out);
    if (!tra_dims_eq(&out.ext, &want.ext)) check_report("line %d: %s has other extents", line, name);
    for (int64_t i = 0; i < n && !failed; i++)
        if (isnan(want.data[i]) ? !isnan(got.data[i])
                                : !(fabsl(got.data[i] - want.data[i]) <= tol * (1 + fabsl(want.data[i])))) {
            check_report("line %d: element %d of %s of %d x %d is %.17Lg, not %.17Lg", line, (int)i, name,
                         (int)a->ext.v[0], (int)a->ext.v[1], got.data[i], want.data[i]);
            return;
        }
}
#define COMPARE(name, a, b, tol) compare_with(__LINE__, name, -1, a, b, tol)

TEST(systems) {
    arena = tra_arena_new();
    for (int64_t n = 0; n < 12; n++) {
        tra_array a = matrix(TRA_F64, n, n), b = matrix(TRA_F64, n, 3), p = matrix(TRA_F64, n, n), v = b, f;
        make_positive(&p);
        v.ext = (tra_dims){.n = 1, .v = {n}};
        COMPARE("solve", &a, &b, 1e-9);
        COMPARE("solve", &a, &v, 1e-9);
        COMPARE("solve", &p, &b, 1e-9);
        COMPARE("inverse", &a, NULL, 1e-8);
        COMPARE("det", &a, NULL, 1e-11);
        COMPARE("cholesky", &p, NULL, 1e-11);
        f = matrix(TRA_F32, n, n);
        b = matrix(TRA_I32, n, 2);
        COMPARE("solve", &f, &b, 1e-6);
        COMPARE("inverse", &f, NULL, 1e-5);
    }
    tra_arena_free(arena);
}

TEST(what_has_no_result) {
    arena = tra_arena_new();
    tra_array a = matrix(TRA_F64, 4, 4), b = matrix(TRA_F64, 4, 1), zero = matrix(TRA_F64, 4, 4);
    double *v = a.data;
    for (int i = 0; i < 4; i++) v[i * 4 + 2] = v[i * 4] + v[i * 4 + 1]; /* a column of two others */
    memset(zero.data, 0, 16 * sizeof(double));
    COMPARE("solve", &a, &b, 1e-9);
    COMPARE("inverse", &a, NULL, 1e-9);
    COMPARE("solve", &zero, &b, 1e-9);
    COMPARE("det", &zero, NULL, 1e-9);
    COMPARE("cholesky", &a, NULL, 1e-9);
    COMPARE("eigh_w", &a, NULL, 1e-9); /* not symmetric */
    make_positive(&a);
    v[0] = -1;
    COMPARE("cholesky", &a, NULL, 1e-9);
    COMPARE("solve", &a, &b, 1e-9); /* symmetric, but by LU */
    v[5] = NAN;
    COMPARE("solve", &a, &b, 1e-9);
    COMPARE("eigh_v", &a, NULL, 1e-9);
    COMPARE("svd_s", &a, NULL, 1e-9);
    tra_arena_free(arena);
}

TEST(decompositions) {
    static const int64_t shapes[][2] = {{0, 0}, {1, 1}, {5, 1}, {1, 5}, {7, 4}, {4, 7}, {9, 9}};
    arena = tra_arena_new();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        static const char *const names[] = {"qr_q", "qr_r", "svd_u", "svd_s", "svd_v"};
        tra_array x = matrix(TRA_F64, shapes[i][0], shapes[i][1]);
        for (int f = 0; f < 5; f++) COMPARE(names[f], &x, NULL, 1e-9);
    }
    for (int64_t n = 0; n < 10; n++) {
        tra_array p = matrix(TRA_F64, n, n);
        make_positive(&p);
        COMPARE("eigh_w", &p, NULL, 1e-10);
        COMPARE("eigh_v", &p, NULL, 1e-8);
    }
    tra_arena_free(arena);
}

/* R of several blocks of w columns, of which some have fewer rows, one below the other. */
static tra_array stacked(tra_dtype t, int64_t w, int nblocks, const int64_t *rows) {
    tra_array x = {
        t, {.n = 2, .v = {nblocks * w, w + 1}}, tra_arena_alloc(arena, (size_t)(nblocks * w * (w + 1)) * 8 + 8)};
    tra_array v = matrix(t, nblocks * w, w + 1);
    for (int64_t i = 0; i < nblocks * w; i++)
        for (int64_t j = 0, at = i * (w + 1); j <= w; j++, at++) {
            bool there = i % w < rows[i / w], zero = j < w && j < i % w;
            double e = !there || zero ? 0 : j == w ? 1 : t == TRA_F32 ? ((float *)v.data)[at] : ((double *)v.data)[at];
            if (t == TRA_F32)
                ((float *)x.data)[at] = (float)e;
            else
                ((double *)x.data)[at] = e;
        }
    return x;
}

TEST(blocks_of_rows) {
    static const int64_t shapes[][2] = {{0, 3}, {1, 1}, {1, 4}, {3, 4}, {4, 4}, {9, 4}, {2, 0}};
    static const int64_t rows[][3] = {{4, 4, 4}, {0, 3, 4}, {1, 0, 2}, {0, 0, 0}, {2, 1, 1}, {0, 1, 1}};
    static const char *const names[] = {"tall_more_r", "tall_more_q", "tall_end_r", "tall_end_q"};
    arena = tra_arena_new();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        tra_array x = matrix(TRA_F64, shapes[i][0], shapes[i][1]), b = matrix(TRA_F64, shapes[i][0], 2), v = b;
        tra_array single = matrix(TRA_F32, shapes[i][0], shapes[i][1]), whole = matrix(TRA_I32, shapes[i][0], 1);
        v.ext = (tra_dims){.n = 1, .v = {shapes[i][0]}};
        COMPARE("tall_r", &x, NULL, 1e-9);
        COMPARE("tall_r", &x, &b, 1e-9);
        COMPARE("tall_r", &x, &v, 1e-9);
        COMPARE("tall_r", &single, &whole, 1e-5);
        COMPARE("tall_q", &x, NULL, 1e-9);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tra_array x = stacked(TRA_F64, 4, 3, rows[i]), single = stacked(TRA_F32, 4, 3, rows[i]);
        for (int f = 0; f < 4; f++) COMPARE(names[f], &x, NULL, 1e-9);
        COMPARE("tall_more_r", &single, NULL, 1e-5);
        for (int right = 0; right < 4; right++) compare_with(__LINE__, "tall_end_x", right, &x, NULL, 1e-8);
    }
    tra_array x = stacked(TRA_F64, 4, 3, rows[0]);
    for (int i = 0; i < 12; i++) ((double *)x.data)[i * 5 + 2] = 0; /* a column of zeros */
    compare_with(__LINE__, "tall_end_x", 0, &x, NULL, 1e-8);
    ((double *)x.data)[1] = NAN;
    COMPARE("tall_more_r", &x, NULL, 1e-9);
    compare_with(__LINE__, "tall_end_x", 0, &x, NULL, 1e-8);
    tra_arena_free(arena);
}

/* The largest |x| of a x - b, of n x n matrices by columns. */
static double rest_of(int n, const double *a, const double *x, const double *b) {
    double most = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double sum = -b[j * n + i];
            for (int64_t k = 0; k < n; k++) sum += a[k * n + i] * x[j * n + k];
            most = fmax(most, fabs(sum));
        }
    return most;
}

/* Factors of n x n are those of the matrix, where rows are exchanged in every panel; the same bits by several threads.
 * A column of zeros, and a part that is not positive, are found in whatever panel they are. */
static void check_factors(int n) {
    size_t all = (size_t)n * (size_t)n;
    double *a = tra_news(arena, double, all), *b = tra_news(arena, double, all), *lu[2], *x[2];
    int *pivot[2], info;
    for (size_t i = 0; i < all; i++) a[i] = draw(), b[i] = draw();
    for (int way = 0; way < 2; way++) {
        tra_parallel_threads threads = tra_parallel_on(3);
        lu[way] = tra_news(arena, double, all), x[way] = tra_news(arena, double, all),
        pivot[way] = tra_news(arena, int, n);
        memcpy(lu[way], a, all * sizeof *a);
        memcpy(x[way], b, all * sizeof *b);
        tra_parallel_by(way ? &threads.by : NULL);
        tra_lu(n, lu[way], pivot[way], &info);
        CHECK(info == 0);
        tra_factor_solve(n, lu[way], pivot[way], n, x[way]);
        tra_parallel_by(NULL);
    }
    CHECK(memcmp(lu[0], lu[1], all * sizeof *a) == 0 && memcmp(x[0], x[1], all * sizeof *a) == 0);
    CHECK(memcmp(pivot[0], pivot[1], (size_t)n * sizeof *pivot[0]) == 0);
    CHECK(rest_of(n, a, x[0], b) < 1e-7);
    memcpy(lu[0], a, all * sizeof *a);
    memset(lu[0] + (int64_t)(n / 2) * n, 0, (size_t)n * sizeof *a);
    tra_lu(n, lu[0], pivot[0], &info);
    CHECK(info == n / 2 + 1);
    tra_array p = matrix(TRA_F64, n, n);
    make_positive(&p);
    for (int way = 0; way < 2; way++) {
        tra_parallel_threads threads = tra_parallel_on(3);
        memcpy(lu[way], p.data, all * sizeof *a);
        memcpy(x[way], b, all * sizeof *b);
        tra_parallel_by(way ? &threads.by : NULL);
        tra_cholesky(n, lu[way], &info);
        CHECK(info == 0);
        tra_factor_solve(n, lu[way], NULL, n, x[way]);
        tra_parallel_by(NULL);
    }
    CHECK(memcmp(lu[0], lu[1], all * sizeof *a) == 0 && memcmp(x[0], x[1], all * sizeof *a) == 0);
    CHECK(rest_of(n, p.data, x[0], b) < 1e-7);
    memcpy(lu[0], p.data, all * sizeof *a);
    lu[0][(int64_t)(n - 1) * n + n - 1] = -1;
    tra_cholesky(n, lu[0], &info);
    CHECK(info == n);
}

TEST(factors_in_pieces) {
    static const int extents[] = {1, 5, 127, 128, 129, 256, 401};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        arena = tra_arena_new();
        check_factors(extents[i]);
        tra_arena_free(arena);
    }
}

/* Kernels of a run that is cancelled end with whatever they have, but touch no memory elsewhere and report nothing. */
TEST(cancelled_factors) {
    enum { N = 300 };
    arena = tra_arena_new();
    tra_kernel_run run = {.stop = true}, *before = tra_kernel_enter(&run);
    tra_array a = matrix(TRA_F64, N, N), out = matrix(TRA_F64, N, N);
    int *pivot = memset(tra_news(arena, int, N), 0x7f, N * sizeof *pivot), info;
    double *lu = tra_news(arena, double, N *N);
    memcpy(lu, a.data, N * N * sizeof *lu);
    tra_lu(N, lu, pivot, &info);
    for (int i = 0; i < N; i++) CHECK(pivot[i] >= 1 && pivot[i] <= N);
    static const char *const names[] = {"inverse", "cholesky"};
    make_positive(&a);
    for (int f = 0; f < 2; f++) {
        const tra_kernel *k;
        tra_err e = {0};
        CHECK_OK(tra_kernel_named(arena, names[f], TRA_USE_MAP, 0, NULL, &k, &e), e);
        size_t need = tra_kernel_scratch(k, TRA_USE_MAP, TRA_F64, TRA_F64, &a.ext, NULL);
        char *scratch = aligned_alloc(64, (need + 63) / 64 * 64);
        tra_map_sparse(k, &a, false, &out, scratch);
        free(scratch);
        CHECK(tra_kernel_failure() == NULL);
    }
    tra_kernel_enter(before);
    tra_arena_free(arena);
}

/* Of a, m x n column by column: is what tra_qr and tra_qr_make_q give Q and R of it? */
static void check_qr(int m, int n) {
    int k = m < n ? m : n;
    size_t bytes = (size_t)m * (size_t)n * sizeof(double);
    double *a = malloc(bytes), *q = malloc(bytes), *r = calloc((size_t)k * (size_t)n, sizeof *r), worst = 0;
    double *space = malloc((size_t)tra_qr_space(m, n) * sizeof *space);
    for (int64_t i = 0; i < (int64_t)m * n; i++) q[i] = a[i] = draw();
    tra_qr(m, n, q, space);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j && i < k; i++) r[j * k + i] = q[j * m + i];
    tra_qr_make_q(m, n, q, space);
    for (int64_t x = 0; x < 300; x++) { /* some elements of Q'Q and of Q R */
        int64_t i = x % k, j = x == 0 ? k - 1 : (x * 7919) % k, row = (x * 104729) % m, column = (x * 31) % n;
        double dot = i == j ? -1 : 0, product = -a[column * m + row];
        for (int64_t l = 0; l < m; l++) dot += q[i * m + l] * q[j * m + l];
        for (int64_t l = 0; l < k; l++) product += q[l * m + row] * r[column * k + l];
        worst = fmax(worst, fmax(fabs(dot), fabs(product)));
    }
    if (!(worst < 1e-11)) check_report("qr of %d x %d: %g", m, n, worst);
    free(a), free(q), free(r), free(space);
}

/* Around the sizes at which rows are taken in parts, and more reflectors together. */
TEST(parts_of_rows) {
    static const int shapes[][2] = {{1, 1},     {1024, 1},  {1025, 1},  {2048, 3},   {1030, 15},  {2100, 16},
                                    {3071, 17}, {4097, 40}, {900, 127}, {5000, 128}, {1100, 129}, {4096, 300},
                                    {511, 511}, {700, 512}, {300, 600}, {16, 17},    {5, 40}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_qr(shapes[i][0], shapes[i][1]);
}

TEST(misfits) {
    arena = tra_arena_new();
    const tra_kernel *k;
    tra_err e = {0};
    tra_dims square = {.n = 2, .v = {3, 3}}, flat = {.n = 2, .v = {3, 4}}, vector = {.n = 1, .v = {4}}, out;
    tra_dims huge = {.n = 2, .v = {40000, 40000}};
    CHECK_OK(tra_kernel_named(arena, "solve", TRA_USE_JOIN, 0, NULL, &k, &e), e);
    CHECK_FAILS(tra_kernel_shape2(k, &square, &vector, &square, &vector, &out, NULL, &e), TRA_PROGRAM, e,
                "another number of rows");
    CHECK_FAILS(tra_kernel_shape2(k, &flat, &vector, &flat, &vector, &out, NULL, &e), TRA_PROGRAM, e,
                "it needs a square matrix");
    CHECK_OK(tra_kernel_named(arena, "inverse", TRA_USE_MAP, 0, NULL, &k, &e), e);
    CHECK_FAILS(tra_kernel_shape1(k, &vector, &out, NULL, &e), TRA_PROGRAM, e, "it needs a matrix");
    CHECK_FAILS(tra_kernel_shape1(k, &huge, &out, NULL, &e), TRA_PROGRAM, e, "at most 32000");
    tra_arena_free(arena);
}
