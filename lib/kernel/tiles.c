/* tiles.c - sums, maxima and minima over labels of a simple function of two elements, one of each operand, in tiles of
 * results that stay in registers: distances between the rows of two matrices, say. Each result takes its terms in f64,
 * one step after the other; also narrow products, which BLAS packs for nothing.
 *
 * What it does is what aligned.c does strip by strip, but for the order of a sum, and that values of f32 operands are
 * not rounded to f32 before they are added. Other functions, and processors without AVX2, are left to that. */
#include "kernel_int.h"

#include "../base/simd.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 16 };

/* As in strip.c; a product and a sum may be one instruction. */
#ifdef __clang__
#define VECTORISED
#pragma STDC FP_CONTRACT ON
#else
#define VECTORISED __attribute__((optimize("O3", "no-trapping-math", "no-math-errno", "fp-contract=fast")))
#endif
#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

typedef void (*tile_fn)(const double *a, int64_t sa, const double *b, int64_t sb, int64_t steps, double *tile);

#define EVERY(v)        ((v) - (lanes){0})
#define CHOOSE(m, x, y) ((lanes)(((masks)(x) & (m)) | ((masks)(y) & ~(m))))
#define PLUS(x, y)      ((x) + (y))
#define MOST(x, y)      CHOOSE(((x) > (y)) | ((x) != (x)), x, y)
#define LEAST(x, y)     CHOOSE(((x) < (y)) | ((x) != (x)), x, y)
#define MAGNITUDE(x)    ((lanes)((masks)(x)&INT64_MAX))

#define F_DIFFERENCE(x, y)         ((x) - (y))
#define F_SQUARED_DIFFERENCE(x, y) (((x) - (y)) * ((x) - (y)))
#define F_ABS_DIFFERENCE(x, y)     MAGNITUDE((x) - (y))
#define F_SUM(x, y)                ((x) + (y))
#define F_SQUARED_SUM(x, y)        (((x) + (y)) * ((x) + (y)))
#define F_ABS_SUM(x, y)            MAGNITUDE((x) + (y))
#define F_PRODUCT(x, y)            ((x) * (y))
#define F_SQUARED_PRODUCT(x, y)    (((x) * (y)) * ((x) * (y)))
#define F_ABS_PRODUCT(x, y)        MAGNITUDE((x) * (y))
#define F_MAX(x, y)                MOST(x, y)
#define F_MIN(x, y)                LEAST(x, y)

#define TILE_FORMS(X)                                                                                                  \
    X(product, F_PRODUCT)                                                                                              \
    X(product_2, F_SQUARED_PRODUCT)                                                                                    \
    X(product_abs, F_ABS_PRODUCT)                                                                                      \
    X(difference, F_DIFFERENCE)                                                                                        \
    X(difference_2, F_SQUARED_DIFFERENCE)                                                                              \
    X(difference_abs, F_ABS_DIFFERENCE)                                                                                \
    X(sum, F_SUM)                                                                                                      \
    X(sum_2, F_SQUARED_SUM)                                                                                            \
    X(sum_abs, F_ABS_SUM)                                                                                              \
    X(max, F_MAX)                                                                                                      \
    X(min, F_MIN)
enum { PRODUCT, PRODUCT_2, PRODUCT_ABS, DIFFERENCE, DIFFERENCE_2, DIFFERENCE_ABS, SUM, SUM_2, SUM_ABS, MAX, MIN };

#ifdef __x86_64__
#define ISA     TRA_TARGET_AVX512
#define NAME(f) f##_avx512
#define WIDTH   8
#include "tiles_body.h"
#undef ISA
#define ISA     TRA_TARGET_AVX2
#define NAME(f) f##_avx2
#define WIDTH   4
#include "tiles_body.h"
#undef ISA
#endif
/* Without AVX2 only the form that tra_gram needs is built: with vectors of 2 elements tiles are no faster than strips.
 */
#undef TILE_FORMS
#define TILE_FORMS(X) X(product, F_PRODUCT)
#define ISA
#define NAME(f) f##_base
#define WIDTH   2
#include "tiles_body.h"

static const tile_fn (*chosen(void))[3] {
#ifdef __x86_64__
    if (tra_simd_here() == TRA_SIMD_AVX512) return tiles_avx512;
    if (tra_simd_here() == TRA_SIMD_AVX2) return tiles_avx2;
#endif
    return tiles_base;
}

/* The tile of a program and a fold; NULL: there is none. *exchanged: the operands change places. */
static tile_fn tile_of(const tra_code *code, tra_scalar_op fold, bool *exchanged) {
    const tra_insn *v = code->v;
    int column = fold == TRA_S_ADD ? 0 : fold == TRA_S_MAX ? 1 : fold == TRA_S_MIN ? 2 : -1, form;
    if (column < 0 || code->n > 2 || v[0].a + v[0].b != ~0 + ~1 || v[0].a == v[0].b) return NULL;
    *exchanged = v[0].a == ~1;
    switch (v[0].op) {
    case TRA_S_SUB: form = DIFFERENCE; break;
    case TRA_S_ADD: form = SUM; break;
    case TRA_S_MUL: form = PRODUCT; break;
    case TRA_S_MAX: form = MAX; break;
    case TRA_S_MIN: form = MIN; break;
    default: return NULL;
    }
    if (code->n == 2) {
        int d = v[0].d;
        if (form == MAX || form == MIN || v[1].a != d) return NULL;
        if (v[1].op == TRA_S_MUL && v[1].b == d)
            form += 1;
        else if (v[1].op == TRA_S_ABS)
            form += 2;
        else
            return NULL;
    }
    return form == PRODUCT || chosen() != tiles_base ? chosen()[form][column] : NULL;
}

/* ---- loops ------------------------------------------------------------------------------------------------------ */

enum {
    STEPS = 2048, /* of a sum at a time: those of a tile's rows and of a band of columns are packed */
    BAND = 8192,  /* elements of columns that are packed together: 64 KiB, which stay in a cache */
    GROUP = 256   /* rows whose results wait for the next steps of a longer sum: 32 KiB */
};

typedef struct tiling {
    tile_fn tile;
    const tra_array *in[2], *out; /* what rows and columns of the tiles index, and the result */
    int o[2];                     /* which operands of the kernel these are, and their strides in loops */
    tra_loop row, column;
    tra_scalar_op fold;
    const tra_nest *sum;
    int64_t all;       /* steps of the sum */
    int64_t n, *at[2]; /* those that are taken now, and where each is in the two */
} tiling;

/* Takes the steps of the sum from `from` on, STEPS at most. */
static void take_steps(tiling *t, int64_t from) {
    tra_nest sum = *t->sum;
    int64_t off[3] = {0}, rest = from;
    for (int d = sum.n - 1; d >= 0; rest /= sum.v[d].n, d--) {
        sum.v[d].at = rest % sum.v[d].n;
        for (int o = 0; o < 2; o++) off[o] += sum.v[d].at * sum.v[d].s[o];
    }
    t->n = tra_min64(STEPS, t->all - from);
    for (int64_t l = 0; l < t->n; l++, tra_nest_next(&sum, off))
        for (int side = 0; side < 2; side++) t->at[side][l] = off[t->o[side]];
}

/* Folds the results of more steps into those of the steps before. */
static void fold_tile(tra_scalar_op fold, double *to, const double *more) {
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double x = to[i], y = more[i];
        bool first = x != x || (fold == TRA_S_MAX ? x > y : x < y);
        to[i] = fold == TRA_S_ADD ? x + y : first ? x : y;
    }
}

/* panel[step][place]: the elements at `width` places from `from` on, of which there are n. */
static void pack(const tiling *t, int side, int64_t off, const tra_loop *l, int64_t from, int64_t n, int width,
                 double *panel) {
    const tra_array *x = t->in[side];
    int64_t s = l->s[t->o[side]];
    memset(panel, 0, (size_t)(t->n * width) * sizeof *panel);
    for (int64_t i = 0; i < n; i++) {
        int64_t first = off + (from + i) * s;
#define X(name, text, ctype, ...)                                                                                      \
    case TRA_##name:                                                                                                   \
        for (int64_t l = 0; l < t->n; l++)                                                                             \
            panel[l * width + i] = (double)((const ctype *)x->data)[first + t->at[side][l]];                           \
        break;
        switch (x->dtype) {
            TRA_FLOAT_DTYPES(X)
        case TRA_WHOLES: break; /* not here */
        }
#undef X
    }
}

/* Rows i0 to i0 + ni of a plane of results, and a band of nj columns from j0 on. */
static void run_group(tiling *t, const int64_t *off, int64_t i0, int64_t ni, int64_t j0, int64_t nj, double *rows,
                      double *columns) {
    double part[GROUP / ROWS][ROWS * COLUMNS], tile[ROWS * COLUMNS];
    bool whole = t->all <= STEPS; /* then the band may have several tiles of columns, else one */
    for (int64_t l = 0; l < t->all && !tra_cancelled(); l += t->n) {
        if (!whole || i0 == 0) {
            take_steps(t, l);
            for (int64_t j = 0; j < nj; j += COLUMNS)
                pack(t, 1, off[t->o[1]], &t->column, j0 + j, tra_min64(COLUMNS, nj - j), COLUMNS, columns + j * t->n);
        }
        for (int64_t i = 0; i < ni && !tra_cancelled(); i += ROWS) {
            int64_t rest = tra_min64(ROWS, ni - i);
            pack(t, 0, off[t->o[0]], &t->row, i0 + i, rest, ROWS, rows);
            for (int64_t j = 0; j < nj; j += COLUMNS) {
                double *to = whole ? tile : part[i / ROWS];
                t->tile(rows, ROWS, columns + j * t->n, COLUMNS, t->n, l ? tile : to);
                if (l) fold_tile(t->fold, to, tile);
                for (int64_t x = 0; x < rest && l + t->n == t->all; x++)
                    tra_store(t->out->data, t->out->dtype,
                              off[2] + (i0 + i + x) * t->row.s[2] + (j0 + j) * t->column.s[2], t->column.s[2],
                              to + x * COLUMNS, TRA_F64, tra_min64(COLUMNS, nj - j));
            }
        }
    }
}

/* A plane of results, rows x columns, from these offsets in the operands and the result on. */
static void run_plane(tiling *t, const int64_t *off, double *rows, double *columns, int64_t band) {
    for (int64_t j = 0; j < t->column.n && !tra_cancelled(); j += band)
        for (int64_t i = 0; i < t->row.n && !tra_cancelled(); i += GROUP)
            run_group(t, off, i, tra_min64(GROUP, t->row.n - i), j, tra_min64(band, t->column.n - j), rows, columns);
}

/* The longest loop that steps in operand o alone. */
static int longest_in(const tra_nest *kept, int o) {
    int best = -1;
    for (int i = 0; i < kept->n; i++)
        if (kept->v[i].s[1 - o] == 0 && kept->v[i].s[o] != 0 && (best < 0 || kept->v[i].n > kept->v[best].n)) best = i;
    return best;
}

/* Whether tiles take the loops, and those of rows and columns: at. */
static bool plan(const tra_code *code, tra_scalar_op fold, const tra_array *const *arg, const tra_nest *kept,
                 const tra_nest *reduced, tiling *t, int *at) {
    bool exchanged = false;
    t->tile = tile_of(code, fold, &exchanged);
    if (!t->tile || !tra_dtype_is_float(arg[0]->dtype) || arg[0]->dtype != arg[1]->dtype) return false;
    for (int i = 0; i < 2; i++)
        if ((at[i] = longest_in(kept, i)) < 0 || kept->v[at[i]].n < ROWS) return false;
    t->o[0] = exchanged, t->o[1] = !exchanged;
    t->fold = fold, t->sum = reduced, t->all = 1;
    for (int i = 0; i < reduced->n; i++) t->all = tra_mul_most(t->all, reduced->v[i].n);
    return t->all > 0;
}

bool tra_tiles_take(const tra_code *code, tra_scalar_op fold, const tra_array *const *arg, const tra_nest *kept,
                    const tra_nest *reduced) {
    tiling t;
    return plan(code, fold, arg, kept, reduced, &t, (int[2]){0});
}

void tra_tiles_run(const tra_code *code, tra_scalar_op fold, const tra_array *const *arg, const tra_array *out,
                   const tra_nest *kept, const tra_nest *reduced) {
    tiling t = {.out = out};
    int at[2];
    if (!plan(code, fold, arg, kept, reduced, &t, at)) return;
    for (int side = 0; side < 2; side++) t.in[side] = arg[t.o[side]];
    t.row = kept->v[at[t.o[0]]], t.column = kept->v[at[t.o[1]]];
    tra_nest outer;
    outer.n = 0;
    for (int i = 0; i < kept->n; i++)
        if (i != at[0] && i != at[1]) outer.v[outer.n++] = kept->v[i];
    int64_t most = tra_min64(STEPS, t.all), steps[2][most], off[3] = {0};
    int64_t band = tra_max64(1, t.all > STEPS ? 1 : BAND / most / COLUMNS) * COLUMNS;
    t.at[0] = steps[0], t.at[1] = steps[1];
    double rows[most * ROWS], columns[most * band];
    do {
        run_plane(&t, off, rows, columns, band);
    } while (!tra_cancelled() && tra_nest_next(&outer, off));
}

/* ---- narrow products, which BLAS packs for a few operations on each element -------------------------------------- */

typedef void gram_fn(const double *a, int64_t sa, int64_t ra, const double *b, int64_t sb, int64_t steps, int columns,
                     double *sum, int64_t ld);

static gram_fn *grams(void) {
#ifdef __x86_64__
    if (chosen() == tiles_avx512) return gram_avx512;
    if (chosen() == tiles_avx2) return gram_avx2;
#endif
    return gram_base;
}

/* Rows that are taken together, and stay in the first cache; columns, and rows of a result, that are made at once. */
enum { AT_ONCE = 48, LANES = 8, GRAM_ROWS = 8 };

static int64_t in_vectors(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Rows l to l + steps of k rows of n elements, of which whole vectors may be read: in place, or in the panel. */
static const double *rows_of(const double *x, int64_t *stride, int64_t n, int64_t l, int64_t steps, int64_t k,
                             double *panel) {
    int64_t ld = *stride, width = in_vectors(n);
    const double *from = x + l * ld;
    if (ld <= 2 * TRA_GRAM_MOST && (l + steps - 1) * ld + width <= (k - 1) * ld + n) return from;
    for (int64_t s = 0; s < steps; s++) { /* far apart, or the end */
        memcpy(panel + s * width, from + s * ld, (size_t)n * sizeof *x);
        memset(panel + s * width + n, 0, (size_t)(width - n) * sizeof *x);
    }
    *stride = width;
    return panel;
}

/* sum (m x n, rows of TRA_GRAM_MOST) = A' B of k rows. triangle: of both the same, what is above the diagonal. */
static void add_rows(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                     bool triangle, double *sum) {
    double panel[2][AT_ONCE * TRA_GRAM_MOST] __attribute__((aligned(64)));
    gram_fn *gram = grams();
    memset(sum, 0, (size_t)(m + LANES) * TRA_GRAM_MOST * sizeof *sum);
    for (int64_t l = 0; l < k && !tra_cancelled(); l += AT_ONCE) {
        int64_t steps = tra_min64(AT_ONCE, k - l), sa = lda, sb = ldb;
        const double *x = rows_of(a, &sa, m, l, steps, k, panel[0]), *y = x;
        if (triangle)
            sb = sa;
        else
            y = rows_of(b, &sb, n, l, steps, k, panel[1]);
        for (int64_t i = 0; i < m; i += GRAM_ROWS)
            for (int64_t j = triangle ? i / LANES * LANES : 0; j < n; j += LANES)
                gram(x + i, sa, 1, y + j, sb, steps, n - j > LANES / 2 ? LANES : LANES / 2, sum + i * TRA_GRAM_MOST + j,
                     TRA_GRAM_MOST);
    }
}

void tra_gram(int64_t n, int64_t k, const double *a, int64_t lda, bool add, double *c, int64_t row, int64_t column) {
    double sum[(TRA_GRAM_MOST + LANES) * TRA_GRAM_MOST];
    add_rows(n, n, k, a, lda, a, lda, true, sum);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double *to = &c[i * row + j * column];
            *to = sum[i * TRA_GRAM_MOST + j] + (add ? *to : 0);
        }
}

enum { NARROW = 24, PANEL = 2048, LONG = 64 }; /* columns, at most; elements of what stays in a cache; rows, at least */

static void put_rows(int64_t m, int64_t n, const double *sum, int64_t ld, bool add, double *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = sum[i * ld + j] + (add ? c[i * ldc + j] : 0);
}

/* C = A B, of many rows of A; B (transposed: tb) is packed. */
static void each_row(bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, bool add, double *c, int64_t ldc) {
    double panel[PANEL] __attribute__((aligned(64))), rest[PANEL], sum[LANES * NARROW];
    int64_t width = in_vectors(n), rows;
    gram_fn *gram = grams();
    memset(panel, 0, (size_t)(k * width) * sizeof *panel);
    for (int64_t l = 0; l < k; l++)
        for (int64_t j = 0; j < n; j++) panel[l * width + j] = tb ? b[j * ldb + l] : b[l * ldb + j];
    for (int64_t i = 0; i < m && !tra_cancelled(); i += rows) {
        const double *x = a + i * lda;
        int64_t ld = lda;
        rows = tra_min64(GRAM_ROWS, m - i);
        if (rows < GRAM_ROWS) { /* the last ones, and whatever */
            memset(rest, 0, (size_t)(GRAM_ROWS * k) * sizeof *rest);
            for (int64_t r = 0; r < rows; r++) memcpy(rest + r * k, x + r * lda, (size_t)k * sizeof *rest);
            x = rest, ld = k;
        }
        memset(sum, 0, sizeof sum);
        for (int64_t j = 0; j < n; j += LANES)
            gram(x, 1, ld, panel + j, width, k, n - j > LANES / 2 ? LANES : LANES / 2, sum + j, NARROW);
        put_rows(rows, n, sum, NARROW, add, c + i * ldc, ldc);
    }
}

/* Are the rows of A and B both steps of the sum? */
static bool steps_together(bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
    return ta && !tb && m <= TRA_GRAM_MOST && tra_min64(m, n) <= NARROW && k >= LONG;
}

bool tra_narrow_fits(bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
    if (chosen() == tiles_base || n > TRA_GRAM_MOST) return false;
    return steps_together(ta, tb, m, n, k) || (!ta && n <= NARROW && m >= LONG && k * in_vectors(n) <= PANEL);
}

bool tra_narrow_product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                        const double *b, int64_t ldb, bool add, double *c, int64_t ldc) {
    if (!tra_narrow_fits(ta, tb, m, n, k)) return false;
    if (steps_together(ta, tb, m, n, k)) {
        double sum[(TRA_GRAM_MOST + LANES) * TRA_GRAM_MOST];
        add_rows(m, n, k, a, lda, b, ldb, false, sum);
        put_rows(m, n, sum, TRA_GRAM_MOST, add, c, ldc);
        return true;
    }
    each_row(tb, m, n, k, a, lda, b, ldb, add, c, ldc);
    return true;
}
