/* Contractions: every routine against a slow, obvious one; tiles, threads, numbers that are none. */
#include "kernel_util.h"

#include <pthread.h>

/* ---- the slow, obvious contraction -------------------------------------------------------------------------- */

/* acc += einsum: every combination of the labels, in f64. */
static void slow_einsum(const char *text, const tra_array *a, const tra_array *b, tra_array *acc) {
    char in[2][32] = {"", ""}, out[32] = "", labels[64] = "";
    int64_t n[64];
    const char *s = text;
    int o = 0, k = 0;
    for (; *s != '-'; s++) {
        if (*s == ',')
            o++, k = 0;
        else
            in[o][k++] = *s, in[o][k] = 0;
    }
    snprintf(out, sizeof(out), "%s", s + 2);
    int nl = 0;
    for (int i = 0; i <= o; i++) {
        const tra_array *x = i ? b : a;
        for (int d = 0; in[i][d]; d++) {
            if (strchr(labels, in[i][d])) continue;
            labels[nl] = in[i][d];
            n[nl++] = x->ext.v[d];
            labels[nl] = 0;
        }
    }
    tra_dims box = {.n = nl}, idx = {.n = nl};
    memcpy(box.v, n, (size_t)nl * sizeof(*n));
    int64_t total = size_of(&box);
    int64_t step[3][64] = {{0}}; /* of each label in a, b, acc; repeated ones add up */
    const char *text_of[3] = {in[0], in[1], out};
    const tra_dims *ext[3] = {&a->ext, o ? &b->ext : NULL, &acc->ext};
    for (int i = 0; i < 3; i++) {
        int64_t stride = 1;
        for (int d = (int)strlen(text_of[i]) - 1; d >= 0; d--) {
            step[i][strchr(labels, text_of[i][d]) - labels] += stride;
            stride *= ext[i]->v[d];
        }
    }
    double *sum = calloc((size_t)size_of(&acc->ext) + 1, sizeof(double));
    for (int64_t t = 0; t < total; t++, tra_next(&box, &idx)) {
        int64_t at[3] = {0};
        for (int i = 0; i < 3; i++)
            for (int l = 0; l < nl; l++) at[i] += idx.v[l] * step[i][l];
        sum[at[2]] += get(a, at[0]) * (o ? get(b, at[1]) : 1);
    }
    for (int64_t i = 0; i < size_of(&acc->ext); i++) put(acc, i, get(acc, i) + sum[i]);
    free(sum);
}

/* Random extents for the labels of one operand; ext_of is shared by all operands. */
static tra_dims operand_ext(const char *labels, int n, const int64_t *ext_of) {
    tra_dims d = {.n = n};
    for (int i = 0; i < n; i++) d.v[i] = ext_of[(unsigned char)labels[i]];
    return d;
}

static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 13, 16, 17, 31, 40};

static void try_einsum(const char *text, const int64_t *ext_of, tra_dtype ta, tra_dtype tb) {
    const tra_kernel *k = einsum(text);
    const char *arrow = strstr(text, "->"), *comma = strchr(text, ',');
    tra_dims ea = operand_ext(text, (int)((comma ? comma : arrow) - text), ext_of);
    tra_array a = small_integers(ta, ea);
    if (!comma) {
        tra_array got = map(k, &a), want = filled(ta, got.ext, 0);
        slow_einsum(text, &a, NULL, &want);
        same_and_free(got, want, 0, text);
        free(a.data);
        return;
    }
    tra_array b = small_integers(tb, operand_ext(comma + 1, (int)(arrow - comma - 1), ext_of));
    tra_array got = join(k, &a, &b), want = filled(got.dtype, got.ext, 0);
    slow_einsum(text, &a, &b, &want);
    if (ta == tb && (tra_kernel_props(k) & TRA_P_CONTRACTION)) {
        /* into a larger accumulator, tile by tile, from the last to the first */
        tra_array acc = small_integers(ta, got.ext);
        for (int d = 0; d < acc.ext.n; d++) acc.ext.v[d] += check_draw(3);
        free(acc.data);
        acc = small_integers(ta, acc.ext);
        tra_array expect = copy_of(&acc);
        tra_array begun = filled(ta, acc.ext, 7), alone = filled(ta, acc.ext, 0);
        tra_array apart = filled(ta, acc.ext, 7), both = copy_of(&acc); /* apart from zero, then added */
        for (int t = tra_kernel_tiles(k, &acc.ext) - 1; t >= 0; t--) {
            tra_kernel_fma(k, &a, &b, &acc, t, false);
            tra_kernel_fma(k, &a, &b, &begun, t, true); /* whatever it held */
            tra_kernel_tile_zero(k, &apart, t);
            tra_kernel_fma(k, &a, &b, &apart, t, false);
            tra_kernel_tile_add(k, &both, &apart, t);
        }
        tra_array sum = copy_of(&expect);
        slow_einsum(text, &a, &b, &sum);
        same_and_free(both, sum, 0, text);
        free(apart.data);
        slow_einsum(text, &a, &b, &expect);
        same_and_free(acc, expect, 0, text);
        slow_einsum(text, &a, &b, &alone);
        same_and_free(begun, alone, 0, text);
    }
    same_and_free(got, want, 0, text);
    free(a.data);
    free(b.data);
}

/* Of a product of an array with itself: one triangle, whatever the tiles, then its mirror. */
static void try_triangle(const char *text, tra_dims ext, tra_dtype t) {
    const tra_kernel *k = einsum(text);
    int p, q, own;
    CHECK(tra_kernel_mirrors(k, &p, &q, &own));
    tra_array a = small_integers(t, ext), want = join(k, &a, &a), got = copy_of(&want), twice = copy_of(&want);
    for (int64_t i = 0; i < size_of(&got.ext); i++) put(&got, i, 77), put(&twice, i, 2 * get(&want, i));
    for (int i = 0; i < tra_kernel_tiles(k, &got.ext); i++) tra_kernel_fma_triangle(k, &a, false, &got, i, true);
    tra_array sum = copy_of(&got), turned = copy_of(&want);
    tra_kernel_mirror(&got, p, q);
    for (int i = 0; i < tra_kernel_tiles(k, &sum.ext); i++) tra_kernel_fma_triangle(k, &a, false, &sum, i, false);
    tra_kernel_mirror(&sum, p, q);
    tra_kernel_turn(&want, p, q, &turned);
    same_and_free(turned, copy_of(&want), 0, text);
    same_and_free(sum, twice, 0, text);
    same_and_free(got, want, 0, text);
    free(a.data);
}

TEST(one_triangle_of_a_product_with_itself_and_its_mirror_are_the_whole) {
    static const char *const texts[] = {"ki,kj->ij",   "ik,jk->ij",    "ki,kj->ji",  "bki,bkj->bij",
                                        "kil,kjl->ij", "bki,bkj->ibj", "kli,klj->ij"};
    static const int64_t sizes[] = {0, 1, 2, 7, 33, 64, 65, 130};
    static const tra_dtype types[] = {TRA_F64, TRA_F32, TRA_I64, TRA_I32};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int rank = (int)(strchr(texts[i], ',') - texts[i]);
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (size_t t = 0; t < 4; t++) {
                tra_dims ext = {.n = rank};
                int p, q, own;
                tra_kernel_mirrors(einsum(texts[i]), &p, &q, &own);
                for (int d = 0; d < rank; d++) ext.v[d] = d == own ? sizes[n] : (int64_t)check_draw(6) + (n > 3);
                try_triangle(texts[i], ext, types[t]);
            }
    }
    static const int64_t steps[] = {1, 5, 47, 48, 49, 97};
    static const int64_t narrow[] = {1, 4, 5, 8, 12, 13, 50, 64, 95, 96, 97};
    for (size_t j = 0; j < sizeof narrow / sizeof *narrow; j++) /* vectors whole and half, rows close and far apart */
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            try_triangle("ki,kj->ij", (tra_dims){.n = 2, .v = {steps[i], narrow[j]}}, TRA_F64);
            try_triangle("kbi,kbj->bij", (tra_dims){.n = 3, .v = {steps[i], i % 2 ? 2 : 5, narrow[j]}}, TRA_F64);
        }
    try_triangle("ki,kj->ij", (tra_dims){.n = 2, .v = {3, 1900}}, TRA_F64); /* several tiles */
    try_triangle("ik,jk->ij", (tra_dims){.n = 2, .v = {1700, 2}}, TRA_I64);
    static const char *const others[] = {"ij,jk->ik", "ik,kj->ij", "ki,lj->ij", "ki,ki->i", "ii,ij->ij", "ki,kj->"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int p, q, own;
        CHECK(!tra_kernel_mirrors(einsum(others[i]), &p, &q, &own));
    }
}

static const char *const einsums[] = {
    "ij,jk->ik",   "ij,kj->ik",   "ji,jk->ik",    "ji,kj->ik",       "ij,jk->ki",    "ij,j->i",       "ji,j->i",
    "j,ij->i",     "j,ji->i",     "i,i->",        "i,j->ij",         "i,j->ji",      "ij,ij->",       "ij,ji->",
    "ij,ij->ij",   "ij,ji->ij",   "bij,bjk->bik", "bij,bkj->bik",    "ijb,jkb->ikb", "aij,bjk->abik", "ijk,kjl->il",
    "ijk,jl->ikl", "ijk,lj->kil", "ii,ij->j",     "ij,k->ik",        "ij,kl->",      "ij,->ij",       ",->",
    ",i->i",       "iij,jk->ik",  "ijij,j->i",    "bi,bi->b",        "ib,ib->b",     "ijkl,klm->ijm", "ijkl,jlm->ikm",
    "abc,cda->bd", "ij,jk->",     "ijk,ikj->ij",  "abij,jkab->kiab", "ij,jj->i",     "ij,k->i",       "k,ij->i"};
static const char *const einsums1[] = {"ij->ji",  "ii->i",      "ij->",     "ij->i",   "ij->j", "ijk->kij",
                                       "ijk->ki", "ijk->j",     "iij->j",   "iji->ij", "iii->", "i->i",
                                       "->",      "ijkl->lkji", "ijkl->il", "ijk->ik"};

TEST(einsum_agrees_with_the_definition) {
    for (size_t i = 0; i < sizeof(einsums) / sizeof(*einsums); i++) {
        for (int round = 0; round < 32; round++) {
            int64_t ext_of[128];
            int span = strlen(einsums[i]) > 11 ? 6 : 11;
            for (int c = 0; c < 128; c++) ext_of[c] = extents[check_draw(round < 8 ? 4 : span)];
            try_einsum(einsums[i], ext_of, round % 4 == 1 || round % 4 == 3, round % 4 >= 2);
        }
    }
    for (size_t i = 0; i < sizeof(einsums1) / sizeof(*einsums1); i++) {
        for (int round = 0; round < 24; round++) {
            int64_t ext_of[128];
            for (int c = 0; c < 128; c++) ext_of[c] = extents[check_draw(round < 8 ? 4 : 11)];
            try_einsum(einsums1[i], ext_of, round % 2, TRA_F64);
        }
    }
}

TEST(einsum_beyond_strips_packs_and_tiles) {
    int64_t e[128] = {0};
    for (int round = 0; round < 4; round++) {
        tra_dtype ta = round % 2 ? TRA_F32 : TRA_F64, tb = round / 2 ? TRA_F32 : TRA_F64;
        e['i'] = 140, e['j'] = 150, e['k'] = 270, e['b'] = 2;
        try_einsum("ij,jk->ik", e, ta, tb);
        try_einsum("ijb,jkb->ikb", e, ta, tb);
        try_einsum("ij,k->ik", e, ta, tb);
        e['i'] = 1, e['j'] = 3000, e['k'] = 1;
        try_einsum("ij,jk->ik", e, ta, tb);
        try_einsum("ij,ij->", e, ta, tb);
        e['i'] = 1100, e['j'] = 2, e['k'] = 600, e['b'] = 3;
        try_einsum("ij,jk->ik", e, ta, tb);
        try_einsum("ij,jk->ki", e, ta, tb);
        try_einsum("i,k->ik", e, ta, tb);
        e['i'] = 600, e['j'] = 2, e['k'] = 600;
        try_einsum("bij,bjk->bik", e, ta, tb);
        e['i'] = 2, e['j'] = 1500, e['k'] = 3;
        try_einsum("ijk->ik", e, ta, tb);
        try_einsum("ikj->ik", e, ta, tb);
        try_einsum("jik->ki", e, ta, tb);
    }
}

TEST(products_without_sums_keep_the_sign_of_zeros) { /* a divisor shows it */
    static const char *const texts[] = {"i,j->ij", "i,j->ji", "ij,j->ij", "i,->i", "i,i->i", "ji,j->ij"};
    static const double values[] = {0, -0.0, -1, 2, 0, -3, 1, -0.0};
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i / 2], *comma = strchr(text, ','), *arrow = strstr(text, "->");
        int64_t ext_of[128] = {['i'] = 8, ['j'] = 8};
        tra_array a = filled(i % 2 ? TRA_F32 : TRA_F64, operand_ext(text, (int)(comma - text), ext_of), 1);
        tra_array b = filled(a.dtype, operand_ext(comma + 1, (int)(arrow - comma - 1), ext_of), 1);
        for (int64_t n = 0; n < size_of(&a.ext); n++) put(&a, n, values[n % 8]);
        for (int64_t n = 0; n < size_of(&b.ext); n++) put(&b, n, values[(n + n / 8) % 8]);
        tra_array got = join(einsum(text), &a, &b);
        int negative = 0, want = 0;
        for (int64_t n = 0; n < size_of(&got.ext); n++) negative += get(&got, n) == 0 && signbit(get(&got, n));
        for (int64_t x = 0; x < 8; x++)
            for (int64_t y = 0; y < 8; y++) { /* both labels, or one where the other has one value */
                if (got.ext.n == 1 && y != 0) continue;
                int64_t at[2] = {0}, index[128] = {['i'] = x, ['j'] = y};
                const char *operand[2] = {text, comma + 1};
                for (int o = 0; o < 2; o++)
                    for (const char *c = operand[o]; *c >= 'i'; c++) at[o] = at[o] * 8 + index[(unsigned char)*c];
                double v = get(&a, at[0]) * get(&b, at[1]);
                want += v == 0 && signbit(v);
            }
        if (negative != want) check_report("%s: %d zeros are negative, not %d", text, negative, want);
        free(a.data), free(b.data), free(got.data);
    }
}

TEST(results_that_blas_cannot_address) { /* two sums in an accumulator that is larger than the result */
    const tra_kernel *k = einsum("ijb,jkb->ikb");
    for (int f32 = 0; f32 < 2; f32++) {
        tra_dtype t = f32 ? TRA_F32 : TRA_F64;
        tra_array a = uniform(t, DIMS(140, 270, 2), -1, 1), b = uniform(t, DIMS(270, 130, 2), -1, 1);
        tra_array once = join(k, &a, &b), acc = filled(t, DIMS(150, 131, 3), 7);
        for (int add = 0; add < 2; add++)
            for (int tile = 0; tile < tra_kernel_tiles(k, &acc.ext); tile++)
                tra_kernel_fma(k, &a, &b, &acc, tile, !add);
        double most = 0;
        for (int64_t i = 0; i < 150; i++)
            for (int64_t j = 0; j < 131; j++)
                for (int64_t l = 0; l < 3; l++) {
                    double want = i < 140 && j < 130 && l < 2 ? 2 * get(&once, (i * 130 + j) * 2 + l) : 0;
                    most = fmax(most, fabs(get(&acc, (i * 131 + j) * 3 + l) - want));
                }
        CHECK_NEAR(most, 0, f32 ? 1e-4 : 1e-12);
        free(a.data), free(b.data), free(once.data), free(acc.data);
    }
}

TEST(tiles_cut_the_accumulator_alone) {
    const tra_kernel *k = named("matmul", TRA_USE_JOIN);
    CHECK_INT(tra_kernel_tiles(k, &DIMS(512, 512)), 1);
    CHECK(tra_kernel_tiles(k, &DIMS(1000, 1000)) >= 2);
    CHECK(tra_kernel_tiles(k, &DIMS(1024, 1024)) <= 4);
    CHECK_INT(tra_kernel_tiles(k, &DIMS(0, 5)), 1);
    CHECK(tra_kernel_tiles(einsum("bij,bjk->bik"), &DIMS(64, 256, 256)) >= 2);
    CHECK_INT(tra_kernel_tiles(einsum("ij,ij->"), &scalar), 1);

    /* tiles, each by itself, give the bits of the whole; clipped operands leave the rest of acc alone */
    tra_array a = uniform(TRA_F64, DIMS(1000, 33), -1, 1), b = uniform(TRA_F64, DIMS(33, 950), -1, 1);
    tra_array whole = join(k, &a, &b), acc = filled(TRA_F64, DIMS(1000, 950), 0),
              big = filled(TRA_F64, DIMS(1100, 1000), 0);
    for (int t = 0; t < tra_kernel_tiles(k, &acc.ext); t++) tra_kernel_fma(k, &a, &b, &acc, t, false);
    for (int t = 0; t < tra_kernel_tiles(k, &big.ext); t++) tra_kernel_fma(k, &a, &b, &big, t, false);
    CHECK(memcmp(whole.data, acc.data, tra_array_bytes(&acc)) == 0);
    CHECK(get(&big, 1099 * 1000) == 0 && get(&big, 999 * 1000 + 950) == 0);
    CHECK_NEAR(get(&big, 999 * 1000 + 949), get(&whole, 999 * 950 + 949), 1e-14);
    free(a.data), free(b.data), free(whole.data), free(acc.data), free(big.data);
}

/* Labels that step as one in the result still do in each tile, so that BLAS gets long loops. */
TEST(tiles_cut_outer_labels) {
    const tra_kernel *k = einsum("abcd,cdef->abef");
    const tra_dims acc[] = {DIMS(30, 60, 60, 60), DIMS(60, 30, 60, 60), DIMS(7, 300, 9, 300), DIMS(50, 40, 4000, 2)};
    for (size_t i = 0; i < sizeof acc / sizeof *acc; i++)
        for (int t = 0; t < tra_kernel_tiles(k, &acc[i]); t++) {
            tra_nest nest;
            int64_t at;
            tra_contract_tile(k, &acc[i], t, &nest, &at);
            tra_nest_coalesce(&nest);
            CHECK(nest.n <= 2);
        }
}

typedef struct tile_job {
    const tra_kernel *k;
    tra_array *a, *b, *acc;
    int from, step;
} tile_job;
static void *run_tiles(void *p) {
    tile_job *j = p;
    for (int round = 0; round < 20; round++)
        for (int t = j->from; t < tra_kernel_tiles(j->k, &j->acc->ext); t += j->step)
            tra_kernel_fma(j->k, j->a, j->b, j->acc, t, false);
    return NULL;
}

TEST(tiles_run_on_several_threads) {
    const tra_kernel *k = named("matmul", TRA_USE_JOIN);
    tra_array a = uniform(TRA_F32, DIMS(1100, 65), -1, 1), b = uniform(TRA_F32, DIMS(65, 1100), -1, 1);
    tra_array one = filled(TRA_F32, DIMS(1100, 1100), 0), many = filled(TRA_F32, DIMS(1100, 1100), 0);
    run_tiles(&(tile_job){k, &a, &b, &one, 0, 1});
    pthread_t t[3];
    tile_job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = (tile_job){k, &a, &b, &many, i, 3};
        pthread_create(&t[i], NULL, run_tiles, &jobs[i]);
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    CHECK(memcmp(one.data, many.data, tra_array_bytes(&one)) == 0);
    free(a.data), free(b.data), free(one.data), free(many.data);
}

TEST(nan_and_infinity_pass_through_contractions) {
    const double odd[] = {NAN, INFINITY};
    const char *const text[] = {"ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ij,jk->ki", "ij,j->i",
                                "ji,j->i",   "i,i->",     "ij,ij->",   "i,j->ij",   "ijb,jkb->ikb"};
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        for (int v = 0; v < 2; v++) {
            for (int64_t n = 1; n < 200; n = n * 3 + 1) {
                for (int t = 0; t < 4; t++) {
                    int64_t ext_of[128];
                    for (int c = 0; c < 128; c++) ext_of[c] = n;
                    ext_of['b'] = 2;
                    const char *comma = strchr(text[i], ','), *arrow = strchr(text[i], '-');
                    tra_array a = filled(t % 2, operand_ext(text[i], (int)(comma - text[i]), ext_of), 0);
                    tra_array b = filled(t / 2, operand_ext(comma + 1, (int)(arrow - comma - 1), ext_of), 0);
                    put(&a, 0, odd[v]); /* times zero: NaN at the first place */
                    tra_array got = join(einsum(text[i]), &a, &b);
                    if (!isnan(get(&got, 0))) check_report("%s at %" PRId64 ": a zero hides %g", text[i], n, odd[v]);
                    free(a.data), free(b.data), free(got.data);
                }
            }
        }
    }
}

TEST(sums_of_nothing) {
    tra_array a = make(TRA_F64, DIMS(3, 0)), b = make(TRA_F64, DIMS(0, 2));
    same_and_free(join(named("matmul", TRA_USE_JOIN), &a, &b), filled(TRA_F64, DIMS(3, 2), 0), 0,
                  "matmul over nothing");
    tra_array acc = filled(TRA_F64, DIMS(4, 2), 7);
    for (int t = 0; t < tra_kernel_tiles(named("matmul", TRA_USE_JOIN), &acc.ext); t++)
        tra_kernel_fma(named("matmul", TRA_USE_JOIN), &a, &b, &acc, t, false);
    same_and_free(acc, filled(TRA_F64, DIMS(4, 2), 7), 0, "acc is left alone");
    acc = filled(TRA_F64, DIMS(4, 2), 7);
    for (int t = 0; t < tra_kernel_tiles(named("matmul", TRA_USE_JOIN), &acc.ext); t++)
        tra_kernel_fma(named("matmul", TRA_USE_JOIN), &a, &b, &acc, t, true);
    same_and_free(acc, filled(TRA_F64, DIMS(4, 2), 0), 0, "nothing, padded with zeros");
    same_and_free(map(named("rowsum", TRA_USE_MAP), &a), filled(TRA_F64, DIMS(3), 0), 0, "rowsum of nothing");
    same_and_free(map(named("rowmax", TRA_USE_MAP), &a), filled(TRA_F64, DIMS(3), -INFINITY), 0, "rowmax of nothing");
    same_and_free(map(named("rowmin", TRA_USE_MAP), &a), filled(TRA_F64, DIMS(3), INFINITY), 0, "rowmin of nothing");
    same_and_free(map(named("colsum", TRA_USE_MAP), &b), filled(TRA_F64, DIMS(2), 0), 0, "colsum of nothing");
    same_and_free(map(named("softmax", TRA_USE_MAP), &a), make(TRA_F64, DIMS(3, 0)), 0, "softmax of nothing");
    free(a.data), free(b.data);
}

TEST(f32_sums_gather_in_f64) {
    /* 2^24 + many ones: f32 would stay at 2^24 */
    tra_array a = filled(TRA_F32, DIMS(1, 4097), 1);
    put(&a, 0, 16777216);
    tra_array sum = map(named("rowsum", TRA_USE_MAP), &a);
    CHECK(get(&sum, 0) == 16777216 + 4096);
    free(sum.data);
    a.ext = DIMS(4097, 1);
    sum = map(named("colsum", TRA_USE_MAP), &a);
    CHECK(get(&sum, 0) == 16777216 + 4096);
    free(sum.data);
    a.ext = DIMS(4097);
    tra_array ones = filled(TRA_F32, DIMS(4097), 1);
    sum = join(einsum("i,i->"), &a, &ones);
    CHECK(get(&sum, 0) == 16777216 + 4096);
    free(sum.data), free(ones.data);

    const tra_kernel *add = named("matadd", TRA_USE_AGG);
    tra_array state = make(tra_agg_state_dtype(add, TRA_F32), scalar), one = filled(TRA_F32, scalar, 1),
              out = make(TRA_F32, scalar);
    CHECK_INT(state.dtype, TRA_F64);
    tra_agg_init(add, &state);
    tra_fold_sparse(add, &state, &(tra_array){TRA_F32, scalar, a.data}, false, NULL);
    for (int i = 0; i < 4; i++) tra_fold_sparse(add, &state, &one, false, NULL);
    tra_finish_sparse(add, TRA_F32, false, &state, &out, NULL);
    CHECK(get(&out, 0) == 16777220);
    free(state.data), free(one.data), free(out.data), free(a.data);
}
