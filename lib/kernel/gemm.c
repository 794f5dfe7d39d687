/* gemm.c - products of f64 matrices on CPUs with AVX-512, of whose speed the BLAS reaches three quarters.
 *
 * The usual scheme: B is packed in panels of NR columns, A in panels of MR rows, in pieces of k that keep a panel in
 * the first cache and a stack of A's panels in the second; the inner loop keeps MR x NR sums in registers. Each element
 * of the result is the sum over pieces of k, which are cut by k alone, of fused multiply-adds in ascending order: its
 * bits depend on nothing else. */
#include "kernel_int.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    MR = 8, /* rows, by three vectors of columns: 24 sums, three of b, and one of a in 32 registers */
    NR = 3 * 8,
    KC = 256,     /* of k at a time, at most */
    MC = 96,      /* rows of A packed at a time */
    NC = 48 * NR, /* columns of B */
    LEAST = 128,  /* extents of a product that is worth packing */
    AHEAD = 8,    /* steps of k that b is fetched before it is needed */
};

#ifdef __x86_64__
#include <immintrin.h>

#define ISA __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

typedef double vec __attribute__((vector_size(64), aligned(8), may_alias));

/* c (MR x NR) = a b + (add ? c : 0), from panels packed k x MR and k x NR. */
ISA static void micro(int64_t k, const double *a, const double *b, double *c, int64_t ldc, bool add) {
    vec x[MR][3] = {0};
    for (int i = 0; i < MR; i++)
        for (int j = 0; j < 4; j++) __builtin_prefetch(c + i * ldc + tra_min64(j * 8, NR - 1));
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        const vec *v = (const vec *)b;
        vec b0 = v[0], b1 = v[1], b2 = v[2];
        for (int j = 0; j < 3; j++) __builtin_prefetch(v + AHEAD * 3 + j);
        UNROLL for (int i = 0; i < MR; i++) {
            x[i][0] = _mm512_fmadd_pd(_mm512_set1_pd(a[i]), b0, x[i][0]);
            x[i][1] = _mm512_fmadd_pd(_mm512_set1_pd(a[i]), b1, x[i][1]);
            x[i][2] = _mm512_fmadd_pd(_mm512_set1_pd(a[i]), b2, x[i][2]);
        }
    }
    UNROLL for (int i = 0; i < MR; i++) {
        vec *to = (vec *)(c + i * ldc);
        UNROLL for (int j = 0; j < 3; j++) {
            if (add)
                to[j] += x[i][j];
            else
                to[j] = x[i][j];
        }
    }
}

/* The same at an edge of the result, where it has but m rows or n columns. */
ISA static void edge(int64_t k, const double *a, const double *b, double *c, int64_t ldc, bool add, int64_t m,
                     int64_t n) {
    double t[MR * NR] __attribute__((aligned(64)));
    micro(k, a, b, t, NR, false);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = add ? c[i * ldc + j] + t[i * NR + j] : t[i * NR + j];
}

/* d[p * width + q] = s[q * ld + p] for q < 8, p < k. */
ISA static void turn(double *d, int64_t width, const double *s, int64_t ld, int64_t k) {
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) {
        vec r[8], t[8];
        for (int q = 0; q < 8; q++) r[q] = *(const vec *)(s + q * ld + p);
        UNROLL for (int q = 0; q < 4; q++) {
            t[q] = __builtin_shufflevector(r[q], r[q + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            t[q + 4] = __builtin_shufflevector(r[q], r[q + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
        UNROLL for (int h = 0; h < 8; h += 4) {
            for (int q = h; q < h + 2; q++) {
                r[q] = __builtin_shufflevector(t[q], t[q + 2], 0, 1, 8, 9, 4, 5, 12, 13);
                r[q + 2] = __builtin_shufflevector(t[q], t[q + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            }
        }
        UNROLL for (int q = 0; q < 8; q += 2) {
            t[q] = __builtin_shufflevector(r[q], r[q + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            t[q + 1] = __builtin_shufflevector(r[q], r[q + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        for (int q = 0; q < 8; q++) *(vec *)(d + (p + q) * width) = t[q];
    }
    for (; p < k; p++)
        for (int q = 0; q < 8; q++) d[p * width + q] = s[q * ld + p];
}

/* Packs n columns of k elements in panels of `width` (a multiple of 8) columns, one after the other, each row by row;
 * the last is filled up with zeros. Element p of column j is s[p * ld + j], or s[j * ld + p] when `turned`. */
ISA static void pack(double *d, int width, const double *s, int64_t ld, bool turned, int64_t k, int64_t n) {
    for (int64_t j = 0; j < n; j += width, d += k * width) {
        int64_t have = tra_min64(width, n - j);
        if (have == width && turned) {
            for (int q = 0; q < width; q += 8) turn(d + q, width, s + (j + q) * ld, ld, k);
        } else if (have == width) {
            for (int64_t p = 0; p < k; p++)
                for (int q = 0; q < width; q += 8) *(vec *)(d + p * width + q) = *(const vec *)(s + p * ld + j + q);
        } else {
            for (int64_t p = 0; p < k; p++)
                for (int q = 0; q < width; q++)
                    d[p * width + q] = q >= have ? 0 : turned ? s[(j + q) * ld + p] : s[p * ld + j + q];
        }
    }
}

static void multiply(const tra_gemm *g, double *pa, double *pb) {
    const double *a = g->a, *b = g->b;
    double *c = g->c;
    int64_t pieces = tra_ceil_div(g->k, KC);
    for (int64_t j0 = 0; j0 < g->n; j0 += NC) {
        int64_t nc = tra_min64(NC, g->n - j0);
        for (int64_t piece = 0; piece < pieces; piece++) { /* of k, by k alone */
            int64_t k0 = g->k * piece / pieces, kc = g->k * (piece + 1) / pieces - k0;
            bool add = g->add || piece > 0;
            pack(pb, NR, b + (g->tb ? j0 * g->ldb + k0 : k0 * g->ldb + j0), g->ldb, g->tb, kc, nc);
            for (int64_t i0 = 0; i0 < g->m; i0 += MC) {
                int64_t mc = tra_min64(MC, g->m - i0);
                pack(pa, MR, a + (g->ta ? k0 * g->lda + i0 : i0 * g->lda + k0), g->lda, !g->ta, kc, mc);
                for (int64_t j = 0; j < nc; j += NR) {
                    for (int64_t i = 0; i < mc; i += MR) {
                        double *to = c + (i0 + i) * g->ldc + j0 + j;
                        if (mc - i >= MR && nc - j >= NR)
                            micro(kc, pa + i * kc, pb + j * kc, to, g->ldc, add);
                        else
                            edge(kc, pa + i * kc, pb + j * kc, to, g->ldc, add, tra_min64(MR, mc - i),
                                 tra_min64(NR, nc - j));
                    }
                }
            }
        }
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t packed; /* of each thread: a piece of A, then one of B */
static bool able;

/* Whoever chooses a kernel of the BLAS gets it. */
static void look(void) {
    able = !getenv("OPENBLAS_CORETYPE") && pthread_key_create(&packed, free) == 0 &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

bool tra_gemm_able(void) {
    pthread_once(&once, look);
    return able;
}

bool tra_gemm_run(const tra_gemm *g) {
    if (g->dtype != TRA_F64 || g->m < LEAST || g->n < LEAST || g->k < LEAST || !tra_gemm_able()) return false;
    char *room = pthread_getspecific(packed);
    if (!room) {
        room = tra_malloc((size_t)(MC + NC) * KC * sizeof(double) + 64);
        pthread_setspecific(packed, room);
    }
    room += -(uintptr_t)room % 64;
    multiply(g, (double *)room, (double *)room + MC * KC);
    return true;
}
#else
bool tra_gemm_able(void) { return false; }
bool tra_gemm_run(const tra_gemm *g) { return (void)g, false; }
#endif
