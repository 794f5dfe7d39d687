/* test_parallel.c - kernels that are cut in pieces: the same bits whoever computes them, and what numbers say. */
#include "../../lib/kernel/parallel_sums.h"
#include "../../lib/sparse/sparse.h"
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- who shares ---------------------------------------------------------------------------------------------------
 */

enum { THREADS = 3 };

typedef struct crowd {
    tra_parallel_workers base;
    size_t scratch; /* bytes of a thread */
    int shared;     /* pieces so far */
} crowd;

typedef struct turn {
    tra_piece_fn *fn;
    void *ctx;
    int n;
    size_t scratch;
    atomic_int taken;
} turn;

/* The last piece first. */
static void *take(void *arg) {
    turn *t = arg;
    void *scratch = aligned_alloc(64, t->scratch);
    for (int i; (i = atomic_fetch_add(&t->taken, 1)) < t->n;) t->fn(t->ctx, t->n - 1 - i, scratch);
    free(scratch);
    return NULL;
}

static void run(tra_parallel_workers *s, int n, tra_piece_fn *fn, void *ctx, void *scratch) {
    crowd *c = (crowd *)(void *)s;
    turn t = {.fn = fn, .ctx = ctx, .n = n, .scratch = c->scratch / 64 * 64 + 64};
    pthread_t tid[THREADS];
    (void)scratch;
    c->shared += n;
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&tid[i], NULL, take, &t), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(tid[i], NULL);
}

static crowd crowd_of(size_t scratch) { return (crowd){{run}, scratch, 0}; }

/* ---- cells --------------------------------------------------------------------------------------------------------
 */

static void *room(int64_t n) { return aligned_alloc(64, (size_t)(n + 63) / 64 * 64 + 64); }

/* Rows of which every fifth is empty, and some are crowded. */
static tra_cell random_rows(const tra_dims *ext, int64_t each) {
    int64_t box = tra_rows_box(ext), columns = ext->v[ext->n - 1];
    tra_cell c = {.layout = &tra_rows, .sparse = true, .array = {.dtype = TRA_F64, .ext = *ext}};
    c.head = room(tra_rows_room(TRA_F64, box, box * 3 * each));
    tra_rows_maker m = tra_rows_make(&c, box, box * 3 * each);
    for (int64_t r = 0; r < box; r++) {
        int64_t n = r % 5 == 3 ? 0 : r % 50 == 0 ? 3 * each : 1 + check_draw(each), at = check_draw(7);
        tra_rows_open(&m, r);
        for (int64_t i = 0; i < n && at < columns; i++, at += 1 + check_draw(tra_max64(1, columns / n - 1)))
            *(double *)tra_rows_next(&m, (uint32_t)at) = (double)check_draw(2000) / 7 - 140.1;
        tra_rows_close(&m);
    }
    tra_rows_made(&m);
    return c;
}

static double *dense_of(const tra_cell *c) {
    int64_t columns = c->array.ext.v[c->array.ext.n - 1];
    double *d = tra_calloc((size_t)(tra_rows_box(&c->array.ext) * columns), sizeof *d);
    tra_rows_view v = tra_rows_of(c);
    for (int64_t r = 0; r < v.nrows; r++)
        for (int64_t k = v.begin[r]; k < v.begin[r + 1]; k++)
            d[v.row[r] * columns + v.column[k]] = ((double *)(void *)v.value)[k];
    return d;
}

static tra_cell dense(const tra_dims *ext) {
    tra_cell c = {.array = {.dtype = TRA_F64, .ext = *ext}};
    int64_t n = 1;
    for (int d = 0; d < ext->n; d++) n *= ext->v[d];
    double *v = c.array.data = room(n * 8);
    for (int64_t i = 0; i < n; i++) v[i] = (double)check_draw(1000) / 3 - 160;
    return c;
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

typedef struct giver {
    tra_taker taker;
    int64_t bytes;
} giver;

static void *give(tra_taker *t, int64_t bytes) {
    ((giver *)t)->bytes = bytes;
    return room(bytes);
}

/* The join as rows or densely; by: NULL, or who shares. part: only these of the first dimension. */
static tra_cell product(const char *text, const tra_cell *a, const tra_cell *b, bool rows, const int64_t *part,
                        crowd *by) {
    tra_arena *arena = tra_arena_new();
    const tra_kernel *k;
    tra_err e = {0};
    tra_cell out = {.layout = rows ? &tra_rows : NULL, .sparse = rows, .array = {.dtype = TRA_F64}};
    tra_type ta = {.dtype = TRA_F64, .layout = a->layout, .sparse = a->sparse};
    tra_type tb = {.dtype = TRA_F64, .layout = b->layout, .sparse = b->sparse};
    CHECK_INT(tra_kernel_einsum(arena, text, &k, &e), TRA_OK);
    const tra_dims *x = &a->array.ext, *y = &b->array.ext;
    CHECK_INT(tra_kernel_shape2(k, x, y, x, y, &out.array.ext, NULL, &e), TRA_OK);
    int64_t n = tra_cell_scratch(k, TRA_USE_JOIN, &ta, x, &tb, y, out.layout);
    void *scratch = room(n);
    if (by) *by = crowd_of((size_t)n);
    if (part) out.panel[0] = part[0], out.panel[1] = part[1];
    tra_parallel_by(by ? &by->base : NULL);
    if (rows) {
        giver g = {.taker.take = give};
        out.from = &g.taker;
        tra_cell_join(k, a, b, &out, scratch);
        CHECK(tra_cell_bytes(&out) <= g.bytes);
        CHECK_INT(tra_rows_check(&out, &e), TRA_OK);
    } else {
        out.array.data = room(tra_dense_bytes(TRA_F64, &out.array.ext));
        tra_cell_join(k, a, b, &out, scratch);
    }
    tra_parallel_by(NULL);
    free(scratch);
    tra_arena_free(arena);
    return out;
}

static void same_rows(int line, const tra_cell *a, const tra_cell *b) {
    tra_rows_view x = tra_rows_of(a), y = tra_rows_of(b);
    bool same = x.nrows == y.nrows && x.n == y.n;
    same = same && memcmp(x.row, y.row, (size_t)x.nrows * 8) == 0;
    same = same && memcmp(x.begin, y.begin, (size_t)(x.nrows + 1) * 8) == 0;
    same = same && memcmp(x.column, y.column, (size_t)x.n * 4) == 0;
    same = same && memcmp(x.value, y.value, (size_t)x.n * 8) == 0;
    if (!same)
        check_report("line %d: %" PRId64 " entries in %" PRId64 " rows, not %" PRId64 " in %" PRId64, line, x.n,
                     x.nrows, y.n, y.nrows);
}

/* Elements of x (m by k) times y (k by n). */
static void is_product(int line, const tra_cell *got, const double *x, const double *y, int64_t m, int64_t k,
                       int64_t n) {
    double *d = dense_of(got), worst = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
            worst = fmax(worst, fabs(sum - d[i * n + j]) / (1 + fabs(sum)));
        }
    }
    if (!(worst < 1e-9)) check_report("line %d: off by %g", line, worst);
    free(d);
}

static tra_dims dims2(int64_t m, int64_t n) { return (tra_dims){.n = 2, .v = {m, n}}; }

TEST(rows_times_rows) {
    tra_cell a = random_rows(&(tra_dims){.n = 2, .v = {600, 700}}, 150),
             b = random_rows(&(tra_dims){.n = 2, .v = {700, 90}}, 9);
    tra_cell slow = product("ij,jk->ik", &a, &b, true, NULL, NULL);
    crowd by;
    tra_cell alone = product("ij,jk->ik", &a, &b, true, NULL, NULL),
             all = product("ij,jk->ik", &a, &b, true, NULL, &by);
    CHECK(by.shared >= 2 * 4);
    same_rows(__LINE__, &alone, &slow);
    same_rows(__LINE__, &all, &slow);
    double *x = dense_of(&a), *y = dense_of(&b);
    is_product(__LINE__, &all, x, y, 600, 700, 90);
    /* a panel of it */
    tra_cell some = product("ij,jk->ik", &a, &b, true, (int64_t[]){100, 400}, &by);
    CHECK(by.shared > 2);
    tra_rows_view v = tra_rows_of(&some), w = tra_rows_of(&all);
    CHECK(v.nrows > 0 && v.row[0] >= 100 && v.row[v.nrows - 1] < 400);
    int64_t first = 0;
    while (w.row[first] < 100) first++;
    CHECK(memcmp(v.row, w.row + first, (size_t)v.nrows * 8) == 0);
    CHECK(memcmp(v.value, w.value + (size_t)w.begin[first] * 8, (size_t)v.n * 8) == 0);
    free(a.head), free(b.head), free(slow.head), free(alone.head), free(all.head), free(some.head), free(x), free(y);
}

TEST(rows_times_dense_rows) {
    tra_dims ea = dims2(12000, 300), eb = dims2(300, 21);
    tra_cell a = random_rows(&ea, 20), b = dense(&eb);
    double *y = b.array.data;
    for (int64_t l = 0; l < 300; l++) y[l * 21 + 4] = 0; /* no entries there */
    crowd by;
    tra_cell alone = product("ij,jk->ik", &a, &b, true, NULL, NULL),
             all = product("ij,jk->ik", &a, &b, true, NULL, &by);
    CHECK(by.shared > 1);
    same_rows(__LINE__, &all, &alone);
    double *x = dense_of(&a);
    is_product(__LINE__, &all, x, y, 12000, 300, 21);
    tra_rows_view v = tra_rows_of(&all);
    for (int64_t k = 0; k < v.n; k++) CHECK(v.column[k] != 4);
    tra_cell none = product("ij,jk->ik", &a, &b, true, (int64_t[]){7, 7}, NULL);
    CHECK_INT(tra_rows_of(&none).n, 0);
    tra_cell some = product("ij,jk->ik", &a, &b, true, (int64_t[]){1000, 1001}, &by);
    CHECK_INT(tra_rows_of(&some).n, 20);
    free(a.head), free(b.array.data), free(all.head), free(alone.head), free(none.head), free(some.head), free(x);
}

/* ---- sums ---------------------------------------------------------------------------------------------------------
 */

/* A sum over labels, dense. */
static tra_cell sum(const char *text, const tra_cell *a, crowd *by) {
    tra_arena *arena = tra_arena_new();
    const tra_kernel *k;
    tra_err e = {0};
    tra_cell out = {.array = {.dtype = TRA_F64}};
    tra_type t = {.dtype = TRA_F64, .layout = a->layout, .sparse = true, .entries = NULL};
    tra_catalog cat = {.bound = a->array.ext, .n = 1, .grid = true};
    t.cat = &cat;
    CHECK_INT(tra_kernel_einsum(arena, text, &k, &e), TRA_OK);
    CHECK_INT(tra_kernel_shape1(k, &a->array.ext, &out.array.ext, NULL, &e), TRA_OK);
    int64_t n = tra_cell_scratch(k, TRA_USE_MAP, &t, &a->array.ext, NULL, NULL, NULL);
    void *scratch = room(n);
    if (by) *by = crowd_of((size_t)n);
    tra_parallel_by(by ? &by->base : NULL);
    out.array.data = room(tra_dense_bytes(TRA_F64, &out.array.ext));
    tra_cell_map(k, a, &out, scratch);
    tra_parallel_by(NULL);
    free(scratch);
    tra_arena_free(arena);
    return out;
}

TEST(sums_of_rows_and_columns) {
    static const char *const texts[] = {"abc->c", "abc->a", "abc->ab", "abc->b", "abc->ba", "abc->ac", "abc->"};
    tra_dims ext = {.n = 3, .v = {120, 300, 70}};
    tra_cell a = random_rows(&ext, 22);
    double *d = dense_of(&a);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        crowd by;
        tra_cell alone = sum(texts[i], &a, NULL), all = sum(texts[i], &a, &by);
        CHECK(by.shared > 1);
        int64_t n = tra_elements_of(&all.array.ext), at = 0;
        CHECK(memcmp(alone.array.data, all.array.data, (size_t)n * 8) == 0);
        double *right = tra_calloc((size_t)n, sizeof *right), worst = 0;
        for (int64_t x = 0; x < 120; x++)
            for (int64_t y = 0; y < 300; y++)
                for (int64_t z = 0; z < 70; z++, at++) {
                    int64_t to = 0;
                    for (const char *l = strchr(texts[i], '>') + 1; *l; l++)
                        to = *l == 'a' ? to * 120 + x : *l == 'b' ? to * 300 + y : to * 70 + z;
                    right[to] += d[at];
                }
        for (int64_t k = 0; k < n; k++)
            worst = fmax(worst, fabs(right[k] - ((double *)all.array.data)[k]) / (1 + fabs(right[k])));
        if (!(worst < 1e-9)) check_report("%s is off by %g", texts[i], worst);
        free(right), free(alone.array.data), free(all.array.data);
    }
    free(a.head), free(d);
}

TEST(dense_products_tile_by_tile) {
    tra_dims ea = dims2(1700, 40), eb = dims2(40, 1300);
    tra_cell a = dense(&ea), b = dense(&eb);
    crowd by;
    tra_cell alone = product("ij,jk->ik", &a, &b, false, NULL, NULL),
             all = product("ij,jk->ik", &a, &b, false, NULL, &by);
    CHECK(by.shared > 1);
    CHECK(memcmp(all.array.data, alone.array.data, 1700 * 1300 * 8) == 0);
    const double *x = a.array.data, *y = b.array.data, *z = all.array.data;
    double sum = 0;
    for (int64_t l = 0; l < 40; l++) sum += x[1234 * 40 + l] * y[l * 1300 + 789];
    CHECK_NEAR(z[1234 * 1300 + 789], sum, 1e-6);
    free(a.array.data), free(b.array.data), free(alone.array.data), free(all.array.data);
}

/* ---- integers -----------------------------------------------------------------------------------------------------
 */

static void over(void *ctx, int piece, void *scratch) {
    (void)scratch;
    int64_t x[1] = {INT64_MAX}, y[1] = {piece == *(int *)ctx ? 1 : 0};
    tra_strip(TRA_I64)(TRA_S_ADD, x, x, y, 0, 1);
}

TEST(what_does_not_fit_in_a_piece_is_noted_here) {
    crowd by = crowd_of(64);
    int none = -1, one = 5;
    tra_parallel_by(&by.base);
    (void)tra_kernel_overflowed();
    tra_parallel(8, over, &none, NULL);
    CHECK(!tra_kernel_overflowed());
    tra_parallel(8, over, &one, NULL);
    CHECK(tra_kernel_overflowed());
    CHECK(!tra_kernel_overflowed());
    tra_parallel_by(NULL);
}
