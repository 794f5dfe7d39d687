/* Scalar expressions over aligned labels with reductions: against a loop over every combination of the labels. */
#include "check.h"

#include "../../lib/kernel/kernel_int.h"

#include <string.h>

static tra_arena *arena;
static const char *const xy[] = {"x", "y"};

static tra_scalar *node(tra_scalar_op op, const tra_scalar *a, const tra_scalar *b) {
    tra_scalar *s = tra_new(arena, tra_scalar);
    *s = (tra_scalar){.op = op, .a = a, .b = b};
    return s;
}
static tra_scalar *arg(int i) {
    tra_scalar *s = node(TRA_S_ARG, NULL, NULL);
    s->arg = i;
    return s;
}
static tra_scalar *num(double v) {
    tra_scalar *s = node(TRA_S_CONST, NULL, NULL);
    s->value = v;
    return s;
}

static double value(const tra_array *a, int64_t i) { return tra_get(a->data, a->dtype, i); }

static tra_array array(tra_dtype t, tra_dims ext, bool fill) {
    int64_t n = 1;
    for (int d = 0; d < ext.n; d++) n *= ext.v[d];
    tra_array a = {t, ext, aligned_alloc(64, ((size_t)n * 8 / 64 + 1) * 64)};
    for (int64_t i = 0; i < n; i++) {
        double v = fill ? (double)(1 + check_draw(4)) / 2 : NAN;
        if (!tra_dtype_is_float(t) && isnan(v)) v = 77; /* not to be read */
        tra_store(a.data, t, i, 1, &v, TRA_F64, 1);
    }
    return a;
}

static double fold(tra_scalar_op op, double a, double b) {
    return op == TRA_S_ADD ? a + b : op == TRA_S_MUL ? a * b : op == TRA_S_MAX ? fmax(a, b) : fmin(a, b);
}

static const char *side(const char *s, char *to) { /* labels up to a comma, an arrow or the end */
    int n = 0;
    for (; *s && *s != ',' && *s != '-'; s++) to[n++] = *s;
    to[n] = 0;
    return *s == ',' ? s + 1 : *s == '-' ? s + 2 : s;
}

static void try(const char *text, const tra_scalar *expr, tra_scalar_op op, const int64_t *ext_of, tra_dtype t) {
    char in[2][16] = {"", ""}, out[16], labels[32] = "";
    const tra_kernel *k;
    tra_err e = {0};
    const char *s = side(text, in[0]);
    bool two = strchr(text, ',') != NULL;
    if (two) s = side(s, in[1]);
    side(s, out);
    tra_array a[2];
    for (int o = 0; o <= two; o++) {
        tra_dims d = {.n = (int)strlen(in[o])};
        for (int i = 0; i < d.n; i++) {
            d.v[i] = ext_of[(int)in[o][i]];
            if (!strchr(labels, in[o][i])) labels[strlen(labels)] = in[o][i];
        }
        a[o] = array(t, d, true);
    }
    CHECK_OK(tra_kernel_aligned(arena, text, expr, op, xy, &k, &e), e);
    CHECK_INT(k->uses, two ? TRA_USE_JOIN : TRA_USE_MAP);
    tra_dims ext;
    tra_status st = two ? tra_kernel_shape2(k, &a[0].ext, &a[1].ext, &a[0].ext, &a[1].ext, &ext, NULL, &e)
                        : tra_kernel_shape1(k, &a[0].ext, &ext, NULL, &e);
    CHECK_OK(st, e);
    CHECK_INT(ext.n, strlen(out));
    tra_dtype to = tra_kernel_dtype(k, two ? TRA_USE_JOIN : TRA_USE_MAP, t, t);
    tra_array got = array(to, ext, false);
    if (two)
        tra_kernel_join(k, &a[0], &a[1], &got, NULL);
    else
        tra_map_sparse(k, &a[0], false, &got, NULL);

    int64_t n = 1, total = 1, size = 1;
    double identity = op == TRA_S_ADD ? 0 : op == TRA_S_MUL ? 1 : op == TRA_S_MAX ? -INFINITY : INFINITY;
    for (int d = 0; d < ext.n; d++) n *= ext.v[d];
    double *want = calloc((size_t)n + 1, sizeof *want);
    for (int64_t i = 0; i < n; i++) want[i] = identity;
    for (size_t l = 0; labels[l]; l++) total *= ext_of[(int)labels[l]];
    for (int64_t i = 0; i < total; i++) {
        int64_t at[128] = {0}, rest = i, place[3] = {0};
        for (size_t l = strlen(labels); l-- > 0; rest /= ext_of[(int)labels[l]])
            at[(int)labels[l]] = rest % ext_of[(int)labels[l]];
        const char *texts[3] = {in[0], in[1], out};
        for (int o = 0; o < 3; o++)
            for (const char *c = texts[o]; *c; c++) place[o] = place[o] * ext_of[(int)*c] + at[(int)*c];
        double args[2] = {value(&a[0], place[0]), two ? value(&a[1], place[1]) : 0};
        want[place[2]] = fold(op, want[place[2]], tra_scalar_eval(expr, args));
    }
    for (int64_t i = 0; i < n && size; i++) {
        double g = value(&got, i), tol = (t == TRA_F64 ? 1e-12 : 1e-4) * fmax(1, fabs(want[i]));
        if (g == want[i] || fabs(g - want[i]) <= tol) continue;
        check_report("%s, element %d: %g, not %g", text, (int)i, g, want[i]);
        size = 0;
    }
    free(want);
    free(got.data);
    for (int o = 0; o <= two; o++) free(a[o].data);
}

static const char *const one[] = {"ij->ij", "ij->ji", "ij->i", "ij->j",  "ij->",  "ijk->ik", "ijk->ki",
                                  "ijk->j", "->",     "i->",   "iij->j", "ii->i", "ijk->k"};
static const char *const two[] = {"ij,ij->ij", "ij,j->ij",     "ij,i->ij",  "i,j->ij",   "i,j->ji", "ij,->ij",
                                  "id,jd->ij", "di,dj->ij",    "ij,jk->ik", "ij,jk->",   "ij,j->i", "ij,i->j",
                                  "ijk,kj->i", "bij,bjk->bik", "ii,ij->j",  "ij,ji->ji", ",->",     "i,i->"};

TEST(aligned_kernels_agree_with_the_definition) {
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MIN, TRA_S_MUL};
    static const int64_t extents[] = {0, 1, 2, 3, 5, 33, 40};
    arena = tra_arena_new();
    const tra_scalar *diff = node(TRA_S_SUB, arg(0), arg(1));
    const tra_scalar *exprs[2][4] = {
        {arg(0), node(TRA_S_EXP, arg(0), NULL), node(TRA_S_SUB, num(3), arg(0)), node(TRA_S_LT, arg(0), num(1.25))},
        {diff, node(TRA_S_POW, diff, num(2)), node(TRA_S_MUL, arg(0), arg(1)), node(TRA_S_MAX, num(1), arg(1))}};
    for (int round = 0; round < 24; round++) {
        int64_t ext_of[128];
        for (int c = 0; c < 128; c++) ext_of[c] = extents[check_draw(round < 12 ? 5 : 7)];
        for (int x = 0; x < 4; x++) {
            tra_scalar_op op = folds[(round + x) % 4];
            for (size_t i = 0; i < sizeof one / sizeof *one; i++) try(one[i], exprs[0][x], op, ext_of, round % 2);
            for (size_t i = 0; i < sizeof two / sizeof *two; i++) try(two[i], exprs[1][x], op, ext_of, round % 2);
        }
    }
    int64_t large[128] = {['i'] = 7, ['j'] = 1200, ['k'] = 600, ['d'] = 700};
    for (int i = 0; i < 4; i++) { /* beyond one strip */
        try("ij->i", exprs[0][1], folds[i], large, i % 2);
        try("ji->i", exprs[0][1], folds[i], large, i % 2);
        try("ij,j->i", exprs[1][1], folds[i], large, i % 2);
        try("ik,jk->ij", exprs[1][0], folds[i], (int64_t[128]){['i'] = 3, ['j'] = 5, ['k'] = 1100}, i % 2);
        try("ki,kj->ij", exprs[1][0], folds[i], (int64_t[128]){['i'] = 3, ['j'] = 1100, ['k'] = 4}, i % 2);
    }
    tra_arena_free(arena);
}

/* The first place of the extreme in a row of elements that step by s, NaN before all others. */
static int64_t first_place(const double *v, int64_t n, int64_t s, bool least) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++)
        if (isnan(v[i * s]) && !isnan(v[best * s])) best = i;
    for (int64_t i = 0; i < n && !isnan(v[best * s]); i++)
        if (least ? v[i * s] < v[best * s] : v[i * s] > v[best * s]) best = i;
    return best;
}

/* Rows that are short and long, along either dimension, with few values, so that most extremes are several. */
TEST(positions_of_extremes_are_the_first_ones) {
    static const tra_dtype types[] = {TRA_F64, TRA_F32, TRA_I64, TRA_I32, TRA_BOOL};
    static const int64_t extents[][2] = {{1, 1},    {1, 700},  {700, 1},  {900, 10},
                                         {40, 513}, {3, 1600}, {600, 33}, {1300, 1000}};
    arena = tra_arena_new();
    for (size_t x = 0; x < sizeof extents / sizeof *extents; x++)
        for (int t = 0; t < 5; t++)
            for (int how = 0; how < 12; how++) {
                bool least = how & 1, rows = how & 2, nans = how >= 8 && t < 2, infinite = how >= 4 && how < 8 && t < 2;
                const int64_t *ext = extents[x], n = ext[0] * ext[1], m = rows ? ext[0] : ext[1];
                tra_array a = array(types[t], (tra_dims){2, {ext[0], ext[1]}}, false);
                double *v = malloc((size_t)n * sizeof *v), add[1] = {0};
                for (int64_t i = 0; i < n; i++) {
                    v[i] = infinite ? (least ? INFINITY : -INFINITY) : (double)check_draw(t == 4 ? 2 : 5) - (t < 4);
                    if (nans && check_draw(200) == 0) v[i] = NAN;
                    tra_store(a.data, types[t], i, 1, &v[i], TRA_F64, 1);
                }
                const tra_kernel *k;
                tra_err e = {0};
                tra_array got = array(TRA_I64, (tra_dims){1, {m}}, false), b = {TRA_F64, {0}, add};
                bool two = how % 4 == 3 && types[t] == TRA_F64; /* v - 0 */
                const char *text = two ? (rows ? "ij,->i" : "ij,->j") : rows ? "ij->i" : "ij->j";
                CHECK_OK(tra_kernel_aligned(arena, text, two ? node(TRA_S_SUB, arg(0), arg(1)) : arg(0),
                                            least ? TRA_S_ARGMIN : TRA_S_ARGMAX, xy, &k, &e),
                         e);
                CHECK_INT(tra_kernel_dtype(k, two ? TRA_USE_JOIN : TRA_USE_MAP, types[t], types[t]), TRA_I64);
                if (two)
                    tra_kernel_join(k, &a, &b, &got, NULL);
                else
                    tra_map_sparse(k, &a, false, &got, NULL);
                int64_t wrong = 0;
                for (int64_t i = 0; i < m; i++) {
                    int64_t want = rows ? first_place(v + i * ext[1], ext[1], 1, least)
                                        : first_place(v + i, ext[0], ext[1], least);
                    wrong += ((int64_t *)got.data)[i] != want;
                }
                if (wrong) check_report("%d x %d, way %d: %d are wrong", (int)ext[0], (int)ext[1], how, (int)wrong);
                free(v);
                free(a.data);
                free(got.data);
            }
    tra_arena_free(arena);
}

TEST(tiles_of_simple_functions_agree_with_the_definition) {
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MIN};
    static const tra_scalar_op ops[] = {TRA_S_SUB, TRA_S_ADD, TRA_S_MUL, TRA_S_MAX, TRA_S_MIN};
    static const char *const texts[] = {"id,jd->ij",   "di,dj->ij",    "id,jd->ji",
                                        "ied,jde->ij", "bid,bjd->bij", "id,dj->ij"};
    static const int64_t extents[] = {4, 5, 16, 17, 33, 70};
    arena = tra_arena_new();
    for (int o = 0; o < 5; o++) {
        for (int swap = 0; swap < 2; swap++) {
            const tra_scalar *two_of = node(ops[o], arg(swap), arg(1 - swap));
            const tra_scalar *exprs[] = {two_of, node(TRA_S_POW, two_of, num(2)), node(TRA_S_ABS, two_of, NULL)};
            for (int x = 0; x < 3; x++)
                for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                    int64_t ext_of[128] = {['b'] = 2, ['d'] = 1 + check_draw(9), ['e'] = 3};
                    ext_of['i'] = extents[check_draw(6)], ext_of['j'] = extents[check_draw(6)];
                    try(texts[i], exprs[x], folds[(int)(i + x) % 3], ext_of, i % 2);
                }
        }
    }
    const tra_scalar *diff = node(TRA_S_SUB, arg(0), arg(1));
    try("id,jd->ij", diff, TRA_S_ADD, (int64_t[128]){['i'] = 5, ['j'] = 20, ['d'] = 2048}, TRA_F64);
    /* sums that are taken in parts, of more rows than wait for the next part, along two labels, and in planes */
    try("id,jd->ij", diff, TRA_S_ADD, (int64_t[128]){['i'] = 5, ['j'] = 20, ['d'] = 2049}, TRA_F64);
    try("id,jd->ij", diff, TRA_S_MAX, (int64_t[128]){['i'] = 259, ['j'] = 33, ['d'] = 4100}, TRA_F32);
    try("ied,jde->ij", node(TRA_S_ABS, diff, NULL), TRA_S_ADD,
        (int64_t[128]){['i'] = 9, ['j'] = 17, ['d'] = 71, ['e'] = 61}, TRA_F64);
    try("bid,bjd->bij", diff, TRA_S_MIN, (int64_t[128]){['b'] = 3, ['i'] = 6, ['j'] = 18, ['d'] = 2500}, TRA_F64);
    try("id,jd->ij", diff, TRA_S_MAX, (int64_t[128]){['i'] = 5, ['j'] = 9000, ['d'] = 7}, TRA_F32);
    tra_arena_free(arena);
}

TEST(planes_of_any_function_agree_with_the_definition) {
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MIN, TRA_S_MUL};
    static const char *const texts[] = {"id,jd->ij",    "di,dj->ij",    "id,jd->ji", "ied,jde->ij",
                                        "bid,bjd->bij", "ib,jbd->bjid", "id,dj->ij"};
    static const int64_t extents[] = {4, 5, 16, 33, 70, 600};
    static const tra_dtype types[] = {TRA_F64, TRA_F32, TRA_I64, TRA_I32};
    arena = tra_arena_new();
    const tra_scalar *less = node(TRA_S_LT, arg(0), arg(1)), *diff = node(TRA_S_SUB, arg(0), arg(1));
    const tra_scalar *exprs[] = {node(TRA_S_MUL, less, diff), less,
                                 node(TRA_S_MAX, node(TRA_S_NEG, arg(1), NULL), arg(0)), node(TRA_S_EXP, diff, NULL)};
    for (int t = 0; t < 4; t++)
        for (int x = 0; x < (t < 2 ? 4 : 3); x++)
            for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                int64_t ext_of[128] = {['b'] = 2, ['d'] = 1 + check_draw(9), ['e'] = 3};
                ext_of['i'] = extents[check_draw(5)], ext_of['j'] = extents[check_draw(6)];
                try(texts[i], exprs[x], folds[(int)(i + x) % (t < 2 ? 4 : 3)], ext_of, types[t]);
            }
    for (int f = 0; f < 4; f++) /* more steps, rows and columns than are done at once */
        try("id,jd->ij", exprs[f == 3 ? 1 : 3], folds[f], (int64_t[128]){['i'] = 35, ['j'] = 530, ['d'] = 67}, f % 2);
    try("id,jd->ij", exprs[3], TRA_S_ADD, (int64_t[128]){['i'] = 5, ['j'] = 70, ['d'] = 2100}, TRA_F32);
    /* so many terms that the results are cut in pieces, whichever way they go */
    try("id,jd->ij", exprs[0], TRA_S_MAX, (int64_t[128]){['i'] = 201, ['j'] = 130, ['d'] = 300}, TRA_I32);
    try("id,id->i", exprs[0], TRA_S_ADD, (int64_t[128]){['i'] = 1001, ['d'] = 900}, TRA_F64);
    try("id,id->d", exprs[0], TRA_S_MIN, (int64_t[128]){['i'] = 1001, ['d'] = 900}, TRA_F32);
    try("ied,id->ed", exprs[1], TRA_S_ADD, (int64_t[128]){['i'] = 300, ['d'] = 150, ['e'] = 40}, TRA_I64);
    tra_arena_free(arena);
}

/* Products of narrow matrices, transposed or not, whose rows are further apart than they are long. */
TEST(narrow_products_are_products) {
    static const int64_t narrow[] = {1, 2, 4, 5, 8, 10, 13, 20, 24, 40, 96}, many[] = {64, 65, 71, 130};
    for (int round = 0; round < 300; round++) {
        bool ta = check_draw(2), tb = !ta && check_draw(2), add = check_draw(2);
        int64_t n = narrow[check_draw(11)], other = narrow[check_draw(11)], rows = many[check_draw(4)];
        int64_t m = ta ? other : rows, k = ta ? rows : other, apart = check_draw(3);
        int64_t lda = (ta ? m : k) + apart, ldb = (tb ? k : n) + apart, ldc = n + apart;
        int64_t na = ((ta ? k : m) - 1) * lda + (ta ? m : k), nb = ((tb ? n : k) - 1) * ldb + (tb ? k : n);
        double *a = malloc((size_t)na * 8), *b = malloc((size_t)nb * 8), *c = malloc((size_t)(m * ldc) * 8);
        for (int64_t i = 0; i < na; i++) a[i] = (double)check_draw(9) - 4;
        for (int64_t i = 0; i < nb; i++) b[i] = (double)check_draw(9) - 4;
        for (int64_t i = 0; i < m * ldc; i++) c[i] = 7;
        bool done = tra_narrow_product(ta, tb, m, n, k, a, lda, b, ldb, add, c, ldc);
        int64_t wrong = 0;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < ldc; j++) {
                double sum = add || j >= n || !done ? 7 : 0;
                for (int64_t l = 0; l < k && j < n && done; l++)
                    sum += (ta ? a[l * lda + i] : a[i * lda + l]) * (tb ? b[j * ldb + l] : b[l * ldb + j]);
                wrong += c[i * ldc + j] != sum;
            }
        if (wrong) check_report("%d x %d x %d: %d are wrong", (int)m, (int)n, (int)k, (int)wrong);
        free(a), free(b), free(c);
    }
}

TEST(tiles_take_nan_as_the_functions_do) {
    arena = tra_arena_new();
    const tra_kernel *k;
    tra_err e = {0};
    static const tra_scalar_op folds[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MIN};
    for (int f = 0; f < 3; f++) {
        for (int at = 0; at < 3; at++) { /* whichever of the terms it is */
            double a[4][3] = {{1, 2, 3}, {4, 5, 6}, {0, 0, 0}, {7, 1, 1}}, b[5][3] = {{0}}, c[4][5];
            a[1][at] = b[2][at] = NAN;
            CHECK_OK(tra_kernel_aligned(arena, "id,jd->ij", node(TRA_S_MAX, arg(0), arg(1)), folds[f], xy, &k, &e), e);
            tra_array x = {TRA_F64, {2, {4, 3}}, a}, y = {TRA_F64, {2, {5, 3}}, b}, z = {TRA_F64, {2, {4, 5}}, c};
            tra_kernel_join(k, &x, &y, &z, NULL);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 5; j++) CHECK(isnan(c[i][j]) == (i == 1 || j == 2));
        }
    }
    tra_arena_free(arena);
}

/* Arrays of three dimensions in any order of these, with whole tiles and without. */
TEST(copies_in_any_order_of_dimensions) {
    static const tra_dtype types[] = {TRA_F32, TRA_I32, TRA_F64, TRA_BOOL};
    static const int64_t extents[] = {1, 7, 8, 9, 16, 21};
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int round = 0; round < 240; round++) {
        tra_dtype t = types[round % 4];
        const int *to = orders[round / 4 % 6];
        int64_t ext[3], s[3], d[3], n, wrong = 0;
        for (int i = 0; i < 3; i++) ext[i] = extents[check_draw(6)];
        s[2] = 1, s[1] = ext[2], s[0] = ext[1] * ext[2], n = ext[0] * s[0];
        d[to[2]] = 1, d[to[1]] = ext[to[2]], d[to[0]] = ext[to[1]] * ext[to[2]];
        size_t size = tra_dtype_size(t);
        char *from = malloc((size_t)n * size), *got = malloc((size_t)n * size);
        for (int64_t i = 0; i < n * (int64_t)size; i++) from[i] = (char)check_draw(t == TRA_BOOL ? 2 : 60);
        tra_nest nest;
        nest.n = 0;
        for (int i = 0; i < 3; i++) tra_nest_add(&nest, ext[i], s[i], d[i], 0);
        tra_strided_copy(got, t, from, t, &nest);
        for (int64_t at = 0; at < n; at++) {
            int64_t i = at / s[0], j = at / s[1] % ext[1], k = at % ext[2];
            wrong += memcmp(got + (size_t)(i * d[0] + j * d[1] + k * d[2]) * size, from + (size_t)at * size, size) != 0;
        }
        if (wrong) check_report("round %d: %d elements are wrong", round, (int)wrong);
        free(from), free(got);
    }
}

static const char *printed(const tra_kernel *k) {
    tra_str s = {0};
    tra_kernel_print(k, &s);
    const char *text = tra_arena_strndup(arena, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return text;
}

static const tra_kernel *aligned(const char *text, const tra_scalar *expr, tra_scalar_op op) {
    const tra_kernel *k = NULL;
    tra_err e = {0};
    CHECK_OK(tra_kernel_aligned(arena, text, expr, op, xy, &k, &e), e);
    return k;
}

TEST(aligned_kernels_print_and_have_properties) {
    arena = tra_arena_new();
    const tra_kernel *max, *sum;
    tra_err e = {0};
    CHECK_OK(tra_kernel_named(arena, "elemmax", TRA_USE_AGG, 0, NULL, &max, &e), e);
    CHECK_OK(tra_kernel_named(arena, "matadd", TRA_USE_AGG, 0, NULL, &sum, &e), e);
    const tra_scalar *product = node(TRA_S_MUL, arg(0), arg(1)), *diff = node(TRA_S_SUB, arg(0), arg(1));
    CHECK_STR(printed(aligned("ij->i", arg(0), TRA_S_MAX)), "\"ij->i\" max");
    CHECK_STR(printed(aligned("ij->ji", arg(0), TRA_S_MAX)), "\"ij->ji\"");
    CHECK_STR(printed(aligned("ij,jk->ik", product, TRA_S_ADD)), "\"ij,jk->ik\"");
    CHECK_STR(printed(aligned("ij,jk->ik", product, TRA_S_MIN)), "\"ij,jk->ik\" min (x, y) -> x * y");
    CHECK_STR(printed(aligned("ij,j->ij", diff, TRA_S_ADD)), "\"ij,j->ij\" (x, y) -> x - y");
    CHECK_STR(printed(aligned("ij->i", node(TRA_S_EXP, arg(0), NULL), TRA_S_ADD)), "\"ij->i\" sum x -> exp(x)");

    const tra_kernel *contraction = aligned("ij,jk->ik", product, TRA_S_ADD);
    CHECK(tra_kernel_fuses(contraction, sum) && tra_kernel_distributes(contraction, sum));
    CHECK(!tra_kernel_fuses(aligned("ij,jk->ik", product, TRA_S_MAX), sum));
    const tra_kernel *row = aligned("ij->i", arg(0), TRA_S_MAX);
    CHECK(tra_kernel_distributes(row, max) && !tra_kernel_distributes(row, sum));
    CHECK(!(tra_kernel_props(row) & TRA_P_ZERO)); /* of nothing it is -inf */
    const tra_kernel *grown = aligned("ij->i", node(TRA_S_EXP, arg(0), NULL), TRA_S_MAX);
    CHECK(tra_kernel_distributes(grown, max) && !tra_kernel_distributes(grown, sum));
    CHECK(tra_kernel_distributes(aligned("ij,j->i", product, TRA_S_ADD), sum));
    CHECK(!tra_kernel_distributes(aligned("ij,j->i", diff, TRA_S_ADD), sum));
    /* a subtraction, a square and a sum for each of 2 x 3 x 4 */
    const tra_kernel *square = aligned("id,jd->ij", node(TRA_S_POW, diff, num(2)), TRA_S_ADD);
    CHECK_NEAR(tra_kernel_flops(square, TRA_USE_JOIN, &(tra_dims){2, {2, 4}}, &(tra_dims){2, {3, 4}}), 3 * 24, 0);
    tra_arena_free(arena);
}
