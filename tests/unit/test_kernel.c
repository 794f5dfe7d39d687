/* Kernels by name: what they make, compositions, aggregations, shapes, texts and errors. */
#include "kernel_util.h"

TEST(named_maps) {
    tra_array a = uniform(TRA_F64, DIMS(7, 601), -3, 3);
    put(&a, 5, NAN);
    const tra_kernel *relu_grad = named("relu_grad", TRA_USE_MAP);
    tra_array g = map(relu_grad, &a), sq = map(named("square", TRA_USE_MAP), &a), sc = map(scaled(-2), &a);
    for (int64_t i = 0; i < 7 * 601; i++) {
        double x = get(&a, i);
        if (get(&g, i) != (x > 0) || (i != 5 && (get(&sq, i) != x * x || get(&sc, i) != -2 * x))) {
            check_report("element %" PRId64, i);
            break;
        }
    }
    free(g.data), free(sq.data), free(sc.data);
    put(&a, 5, 1);

    for (int t = 0; t < 2; t++) {
        tra_array x = make(t, a.ext), t2 = make(t, DIMS(601, 7)), sum = make(t, DIMS(7)), max = make(t, DIMS(7)),
                  min = make(t, DIMS(7)), col = make(t, DIMS(601)), soft = make(t, a.ext), dg = make(t, DIMS(7));
        for (int64_t i = 0; i < 7 * 601; i++) put(&x, i, get(&a, i));
        for (int64_t j = 0; j < 601; j++) {
            double s = 0;
            for (int64_t i = 0; i < 7; i++) s += get(&x, i * 601 + j), put(&t2, j * 7 + i, get(&x, i * 601 + j));
            put(&col, j, s);
        }
        for (int64_t i = 0; i < 7; i++) {
            double s = 0, hi = -INFINITY, lo = INFINITY, z = 0;
            for (int64_t j = 0; j < 601; j++) {
                double v = get(&x, i * 601 + j);
                s += v, z += exp(v);
                if (v > hi) hi = v;
                if (v < lo) lo = v;
            }
            for (int64_t j = 0; j < 601; j++) put(&soft, i * 601 + j, exp(get(&x, i * 601 + j)) / z);
            put(&sum, i, s), put(&max, i, hi), put(&min, i, lo), put(&dg, i, get(&x, i * 602));
        }
        double tol = t ? 2e-6 : 1e-13;
        same_and_free(map(named("transpose", TRA_USE_MAP), &x), t2, 0, "transpose");
        same_and_free(map(named("rowsum", TRA_USE_MAP), &x), sum, tol, "rowsum");
        same_and_free(map(named("colsum", TRA_USE_MAP), &x), col, 100 * tol, "colsum");
        same_and_free(map(named("rowmax", TRA_USE_MAP), &x), max, 0, "rowmax");
        same_and_free(map(named("rowmin", TRA_USE_MAP), &x), min, 0, "rowmin");
        same_and_free(map(named("softmax", TRA_USE_MAP), &x), soft, tol, "softmax");
        same_and_free(map(named("diag", TRA_USE_MAP), &x), dg, 0, "diag");
        /* safe: a row far from zero */
        for (int64_t i = 0; i < 601; i++) put(&x, i, 1e4);
        tra_array s = map(named("softmax", TRA_USE_MAP), &x);
        CHECK_NEAR(get(&s, 0), 1.0 / 601, t ? 1e-9 : 1e-17);
        put(&x, 3, NAN);
        free(s.data);
        s = map(named("rowmax", TRA_USE_MAP), &x);
        CHECK(isnan(get(&s, 0)) && !isnan(get(&s, 1)));
        free(s.data), free(x.data);
    }
    free(a.data);

    tra_array tall = small_integers(TRA_F64, DIMS(5, 2)), d = map(named("diag", TRA_USE_MAP), &tall);
    CHECK_INT(d.ext.v[0], 2);
    CHECK(get(&d, 1) == get(&tall, 3));
    free(d.data), free(tall.data);
    tra_array zero = filled(TRA_F64, scalar, 4);
    same_and_free(map(named("transpose", TRA_USE_MAP), &zero), copy_of(&zero), 0, "transpose of a scalar");
    same_and_free(map(named("sqrt", TRA_USE_MAP), &zero), filled(TRA_F64, scalar, 2), 0, "sqrt of a scalar");
    free(zero.data);
}

TEST(named_joins) {
    tra_array a = small_integers(TRA_F64, DIMS(3, 4)), b = small_integers(TRA_F32, DIMS(3, 4));
    const struct {
        const char *name;
        tra_scalar_op op;
    } joins[] = {{"matadd", TRA_S_ADD},    {"matsub", TRA_S_SUB},    {"elemmul", TRA_S_MUL},
                 {"elemdiv", TRA_S_DIV},   {"elemmax", TRA_S_MAX},   {"elemmin", TRA_S_MIN},
                 {"matvecadd", TRA_S_ADD}, {"matvecmul", TRA_S_MUL}, {"matvecdiv", TRA_S_DIV}};
    for (size_t i = 0; i < sizeof(joins) / sizeof(*joins); i++) {
        tra_array want = make(TRA_F64, a.ext);
        for (int64_t j = 0; j < 12; j++) put(&want, j, slow_scalar(joins[i].op, get(&a, j), get(&b, j), 0));
        same_and_free(join(named(joins[i].name, TRA_USE_JOIN), &a, &b), want, 0, joins[i].name);
    }
    tra_array v = small_integers(TRA_F64, DIMS(600)), w = make(TRA_F64, DIMS(3, 4, 600)), c = make(TRA_F64, DIMS(3, 4));
    for (int64_t i = 0; i < 12; i++)
        for (int64_t j = 0; j < 600; j++) put(&w, i * 600 + j, get(&a, i) * get(&v, j));
    same_and_free(join(named("outer", TRA_USE_JOIN), &a, &v), w, 0, "outer");
    tra_array s = filled(TRA_F64, scalar, 3);
    for (int64_t i = 0; i < 12; i++) put(&c, i, 3 * get(&a, i));
    same_and_free(join(named("outer", TRA_USE_JOIN), &a, &s), copy_of(&c), 0, "outer with a scalar");
    same_and_free(join(named("outer", TRA_USE_JOIN), &s, &a), c, 0, "outer of a scalar");
    free(s.data), free(v.data), free(a.data), free(b.data);
}

TEST(compositions_run_in_order) {
    tra_array a = small_integers(TRA_F64, DIMS(5, 7)), b = small_integers(TRA_F64, DIMS(7, 3));
    /* transpose . neg . rowsum-free chain over a contraction, by hand */
    const tra_kernel *k = tra_kernel_then(arena, named("matmul", TRA_USE_JOIN), named("relu", TRA_USE_MAP));
    tra_array ab = join(named("matmul", TRA_USE_JOIN), &a, &b), want = copy_of(&ab);
    for (int64_t i = 0; i < 15; i++) put(&want, i, get(&ab, i) > 0 ? get(&ab, i) : 0);
    same_and_free(join(k, &a, &b), copy_of(&want), 0, "relu . matmul");
    k = tra_kernel_then(arena, k, named("transpose", TRA_USE_MAP));
    k = tra_kernel_then(arena, k, scaled(-1));
    k = tra_kernel_then(arena, k, named("rowsum", TRA_USE_MAP));
    k = tra_kernel_then(arena, k, named("abs", TRA_USE_MAP));
    CHECK_STR(printed(k), "abs . rowsum . scale(-1) . transpose . relu . matmul");
    tra_array r = make(TRA_F64, DIMS(3));
    for (int64_t j = 0; j < 3; j++) {
        double s = 0;
        for (int64_t i = 0; i < 5; i++) s += get(&want, i * 3 + j);
        put(&r, j, s);
    }
    same_and_free(join(k, &a, &b), copy_of(&r), 0, "a long composition");
    k = tra_kernel_then(arena, named("transpose", TRA_USE_MAP),
                        tra_kernel_then(arena, named("transpose", TRA_USE_MAP), named("transpose", TRA_USE_MAP)));
    same_and_free(map(k, &a), map(named("transpose", TRA_USE_MAP), &a), 0, "transposed three times");
    k = tra_kernel_then(arena, named("softmax", TRA_USE_MAP), named("transpose", TRA_USE_MAP));
    CHECK(tra_kernel_needs_whole_last(k) && !tra_kernel_needs_whole_last(named("transpose", TRA_USE_MAP)));

    const tra_kernel *agg = tra_kernel_then(arena, named("matadd", TRA_USE_AGG), named("transpose", TRA_USE_MAP));
    tra_array state = make(TRA_F64, a.ext), out = make(TRA_F64, DIMS(7, 5));
    tra_agg_init(agg, &state);
    tra_fold_sparse(agg, &state, &a, false, NULL);
    tra_fold_sparse(agg, &state, &a, false, NULL);
    void *scratch = scratch_for(agg, TRA_USE_AGG, &a, NULL);
    tra_finish_sparse(agg, TRA_F64, false, &state, &out, scratch);
    CHECK(get(&out, 5) == 2 * get(&a, 1) && get(&out, 34) == 2 * get(&a, 34));
    free(scratch), free(state.data), free(out.data), free(r.data), free(ab.data), free(want.data), free(a.data),
        free(b.data);
}

/* The bytes of scratch that the kernel writes: what comes out of two runs over different contents. */
static size_t touched(const tra_kernel *k, const tra_array *a, tra_array *out, size_t n) {
    size_t most = 0;
    unsigned char *scratch = aligned_alloc(64, n);
    for (int run = 0; run < 2; run++) {
        int with = run ? 0xa5 : 0x5a;
        memset(scratch, with, n);
        tra_map_sparse(k, a, false, out, scratch);
        for (size_t i = most; i < n; i++)
            if (scratch[i] != with) most = i + 1;
    }
    free(scratch);
    return most;
}

/* What is asked for but not used is missing elsewhere: of two buffers the second one is used too. */
TEST(compositions_use_the_scratch_they_ask_for) {
    const char *const steps[] = {"transpose", "relu", "abs", "softmax", "rowsum"};
    int asked = 0;
    for (int round = 0; round < 300; round++) {
        tra_array a = small_integers(TRA_F64, DIMS(1 + check_draw(9), 1 + check_draw(9)));
        const tra_kernel *k = named(steps[check_draw(4)], TRA_USE_MAP);
        for (int i = (int)check_draw(5); i >= 0; i--)
            k = tra_kernel_then(arena, k, named(steps[check_draw(i ? 4 : 5)], TRA_USE_MAP));
        tra_array out = map(k, &a);
        size_t n = tra_kernel_scratch(k, TRA_USE_MAP, TRA_F64, TRA_F64, &a.ext, NULL);
        size_t used = n ? (touched(k, &a, &out, n) + 63) / 64 * 64 : 0;
        if (2 * used < n + (n > 0)) check_report("%s uses %zu bytes of %zu", printed(k), used, n);
        asked += n > 0;
        free(a.data), free(out.data);
    }
    CHECK(asked > 50);
}

/* ---- aggregations ------------------------------------------------------------------------------------------- */

TEST(aggregations_pad_with_the_identity) {
    const char *const names[] = {"matadd", "elemmul", "elemmax", "elemmin"};
    const double identity[] = {0, 1, -INFINITY, INFINITY};
    const tra_scalar_op op[] = {TRA_S_ADD, TRA_S_MUL, TRA_S_MAX, TRA_S_MIN};
    for (int i = 0; i < 4; i++) {
        const tra_kernel *k = named(names[i], TRA_USE_AGG);
        for (int t = 0; t < 2; t++) {
            for (int round = 0; round < 30; round++) {
                tra_dims group = {.n = (int)check_draw(4)};
                for (int d = 0; d < group.n; d++) group.v[d] = check_draw(9);
                if (round == 29) group = DIMS(3, 1100);
                tra_array state = make(tra_agg_state_dtype(k, t), group), other = make(state.dtype, group);
                tra_array want = filled(TRA_F64, group, identity[i]);
                tra_agg_init(k, &state);
                tra_agg_init(k, &other);
                for (int member = 0; member < 4; member++) {
                    tra_dims ext = group, idx = {.n = group.n};
                    for (int d = 0; d < ext.n; d++) ext.v[d] -= check_draw(ext.v[d] < 3 ? ext.v[d] + 1 : 3);
                    tra_array x = small_integers(t, ext);
                    if (member == 0 && size_of(&ext) > 2) put(&x, 1, NAN);
                    tra_fold_sparse(k, member % 2 ? &state : &other, &x, false, NULL);
                    for (int64_t p = 0; p < size_of(&ext); p++, tra_next(&ext, &idx)) {
                        int64_t at = tra_linear(&group, &idx);
                        put(&want, at, slow_scalar(op[i], get(&want, at), get(&x, p), 0));
                    }
                    free(x.data);
                }
                tra_agg_merge(k, &state, &other, false);
                tra_array out = make(t, group);
                tra_finish_sparse(k, t, false, &state, &out, NULL);
                close_to(&out, &want, 0, names[i]);
                free(state.data), free(other.data), free(out.data), free(want.data);
            }
        }
    }
}

TEST(index_aggregations) {
    const tra_kernel *min = named("minindex", TRA_USE_AGG), *max = named("maxindex", TRA_USE_AGG);
    tra_dims ext;
    tra_dimsrc src;
    tra_err e = {0};
    CHECK_OK(tra_kernel_shape_agg(min, &DIMS(3, 4), &ext, &src, &e), e);
    CHECK(ext.n == 1 && ext.v[0] == 2 && src.from[0] == -1);
    CHECK_INT(tra_kernel_dtype(min, TRA_USE_AGG, TRA_F32, TRA_F32), TRA_F64);
    CHECK(tra_kernel_needs_tensor(min) && !tra_kernel_needs_tensor(named("matadd", TRA_USE_AGG)));

    /* a 5 x 6 tensor in blocks of 2 x 4, folded in any order */
    for (int round = 0; round < 300; round++) {
        const tra_kernel *k = round % 2 ? min : max;
        tra_dims shape = DIMS(5, 6);
        tra_array whole = small_integers(TRA_F32, shape);
        if (round % 3 == 0) put(&whole, check_draw(30), NAN), put(&whole, check_draw(30), NAN);
        if (round % 5 == 0) put(&whole, check_draw(30), INFINITY), put(&whole, check_draw(30), -INFINITY);
        int best = -1;
        for (int i = 0; i < 30; i++) {
            double v = get(&whole, i), w = best < 0 ? 0 : get(&whole, best);
            if (best < 0 || (isnan(v) && !isnan(w)) || (k == min ? v < w : v > w)) best = i;
        }
        tra_array state[2];
        for (int i = 0; i < 2; i++) state[i] = make(TRA_F64, DIMS(2)), tra_agg_init(k, &state[i]);
        int order[6] = {0, 1, 2, 3, 4, 5};
        for (int i = 5; i > 0; i--) {
            int j = (int)check_draw(i + 1), swap = order[i];
            order[i] = order[j], order[j] = swap;
        }
        for (int i = 0; i < 6; i++) {
            tra_agg_at at = {.offset = DIMS(order[i] / 2 * 2, order[i] % 2 * 4), .shape = shape};
            tra_array block = make(TRA_F32, DIMS(at.offset.v[0] == 4 ? 1 : 2, at.offset.v[1] == 4 ? 2 : 4));
            tra_array_copy(&block, &DIMS(0, 0), &whole, &at.offset, &block.ext);
            tra_fold_sparse(k, &state[round % 7 == 0 ? 0 : i % 2], &block, false, &at);
            free(block.data);
        }
        tra_agg_merge(k, &state[0], &state[1], false);
        double v = get(&state[0], 0), w = get(&whole, best);
        CHECK(v == w || (isnan(v) && isnan(w)));
        CHECK_INT(get(&state[0], 1), best);
        for (int i = 0; i < 2; i++) free(state[i].data);
        free(whole.data);
    }
    /* all equal to the identity: still the first element, not "nothing" */
    tra_array inf = filled(TRA_F64, DIMS(3), INFINITY), state = make(TRA_F64, DIMS(2));
    tra_agg_init(min, &state);
    CHECK_INT(get(&state, 1), -1);
    tra_fold_sparse(min, &state, &inf, false, NULL);
    CHECK_INT(get(&state, 1), 0);
    free(inf.data), free(state.data);
}

TEST(copies_of_boxes) {
    for (int round = 0; round < 200; round++) {
        tra_dims s = {.n = (int)check_draw(4)}, d = s, from = s, to = s, ext = s, idx = s;
        for (int i = 0; i < s.n; i++) {
            ext.v[i] = check_draw(6), from.v[i] = check_draw(4), to.v[i] = check_draw(4), idx.v[i] = 0;
            s.v[i] = from.v[i] + ext.v[i] + check_draw(3), d.v[i] = to.v[i] + ext.v[i] + check_draw(3);
        }
        tra_dtype t = check_draw(2);
        tra_array src = small_integers(t, s), dst = small_integers(t, d), want = copy_of(&dst);
        for (int64_t i = 0; i < size_of(&ext); i++, tra_next(&ext, &idx)) {
            tra_dims x = idx, y = idx;
            for (int j = 0; j < s.n; j++) x.v[j] += from.v[j], y.v[j] += to.v[j];
            put(&want, tra_linear(&d, &y), get(&src, tra_linear(&s, &x)));
        }
        tra_array_copy(&dst, &to, &src, &from, &ext);
        same_and_free(dst, want, 0, "box");
        free(src.data);
    }
}

/* ---- names, texts, errors ----------------------------------------------------------------------------------- */

TEST(names_and_nearest_spellings) {
    tra_err e = {0};
    const tra_kernel *k;
    CHECK_FAILS(tra_kernel_named(arena, "matmull", TRA_USE_JOIN, 0, NULL, &k, &e), TRA_PROGRAM, e,
                "no join kernel 'matmull'");
    CHECK_FAILS(tra_kernel_named(arena, "relu", TRA_USE_JOIN, 0, NULL, &k, &e), TRA_PROGRAM, e,
                "relu is a kernel of transform, not of join");
    CHECK_FAILS(tra_kernel_named(arena, "matmul", TRA_USE_AGG, 0, NULL, &k, &e), TRA_PROGRAM, e,
                "matmul is a kernel of join, not of agg");
    CHECK_FAILS(tra_kernel_named(arena, "elemmax", TRA_USE_MAP, 0, NULL, &k, &e), TRA_PROGRAM, e,
                "kernel of join and agg");
    CHECK_FAILS(tra_kernel_named(arena, "scale", TRA_USE_MAP, 0, NULL, &k, &e), TRA_PROGRAM, e, "scale(0.5)");
    CHECK_FAILS(tra_kernel_named(arena, "relu", TRA_USE_MAP, 1, &(double){1}, &k, &e), TRA_PROGRAM, e,
                "takes no number");
    CHECK_STR(tra_kernel_nearest("matmull", TRA_USE_JOIN), "matmul");
    CHECK_STR(tra_kernel_nearest("mutmal", TRA_USE_JOIN), "matmul");
    CHECK_STR(tra_kernel_nearest("soft_max", TRA_USE_MAP), "softmax");
    CHECK_STR(tra_kernel_nearest("ex", TRA_USE_MAP), "exp");
    CHECK(tra_kernel_nearest("convolution", TRA_USE_JOIN) == NULL);
    CHECK(tra_kernel_nearest("", TRA_USE_JOIN) == NULL);
    CHECK(tra_kernel_nearest("a_name_that_is_longer_than_any_kernel_is", TRA_USE_JOIN) == NULL);
}

TEST(einstein_strings_that_are_wrong) {
    tra_err e = {0};
    const tra_kernel *k;
    const struct {
        const char *text, *why;
    } wrong[] = {{"ij,jk", "lacks \"->\""},
                 {"", "lacks"},
                 {"ij,jk,kl->il", "more than two operands"},
                 {"ij,jk->il", "label 'l' of the result"},
                 {"ij->ii", "label 'i' is twice in the result"},
                 {"i1->i", "'1'"},
                 {"ij->i,j", "','"},
                 {"ij->j->i", "'-'"},
                 {"i\xc3\xa9->i", "'\xc3\xa9'"},
                 {"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii->", "more than 31"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK_FAILS(tra_kernel_einsum(arena, wrong[i].text, &k, &e), TRA_PROGRAM, e, wrong[i].why);
    CHECK_INT((einsum(" ij , jk -> ik "))->uses, TRA_USE_JOIN);
    CHECK_INT((einsum("ij->ji"))->uses, TRA_USE_MAP);
    CHECK_STR(printed(einsum("ij,kj->ik")), "\"ij,kj->ik\"");
}

TEST(expressions_print_as_the_language_writes_them) {
    const tra_scalar *x = arg(0), *y = arg(1);
    const struct {
        const tra_scalar *s;
        const char *text;
    } cases[] = {
        {op2(TRA_S_POW, op2(TRA_S_SUB, x, y), num(2)), "(x - y)^2"},
        {op2(TRA_S_SUB, x, op2(TRA_S_SUB, y, num(1))), "x - (y - 1)"},
        {op2(TRA_S_SUB, op2(TRA_S_SUB, x, y), num(1)), "x - y - 1"},
        {op2(TRA_S_POW, op2(TRA_S_POW, x, y), num(3)), "(x^y)^3"},
        {op2(TRA_S_POW, x, op2(TRA_S_POW, y, num(3))), "x^y^3"},
        {op1(TRA_S_NEG, op2(TRA_S_POW, x, num(2))), "-x^2"},
        {op2(TRA_S_POW, op1(TRA_S_NEG, x), num(2)), "(-x)^2"},
        {op2(TRA_S_MUL, op2(TRA_S_ADD, x, num(0.1)), y), "(x + 0.1) * y"},
        {op2(TRA_S_MUL, num(-2), x), "-2 * x"},
        {op2(TRA_S_POW, num(-2), x), "(-2)^x"},
        {op2(TRA_S_POW, x, num(-2)), "x^(-2)"},
        {op1(TRA_S_NEG, op1(TRA_S_NEG, x)), "-(-x)"},
        {op2(TRA_S_LT, op2(TRA_S_LT, x, y), num(1)), "(x < y) < 1"},
        {op2(TRA_S_ADD, num(1), op2(TRA_S_GE, x, y)), "1 + (x >= y)"},
        {op2(TRA_S_MAX, op1(TRA_S_EXP, x), op2(TRA_S_LE, x, y)), "max(exp(x), x <= y)"},
        {op2(TRA_S_DIV, x, op2(TRA_S_MUL, y, num(1.0 / 3))), "x / (y * 0.3333333333333333)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tra_str s = {0};
        tra_scalar_print(cases[i].s, xy, &s);
        CHECK_STR(tra_str_get(&s), cases[i].text);
        tra_str_free(&s);
    }
    CHECK_STR(printed(lambda1(op2(TRA_S_MAX, x, num(0)))), "x -> max(x, 0)");
    CHECK_STR(printed(lambda2(op2(TRA_S_SUB, x, y))), "(x, y) -> x - y");
    CHECK_STR(printed(tra_kernel_then(arena, lambda2(op2(TRA_S_SUB, x, y)), named("square", TRA_USE_MAP))),
              "square . ((x, y) -> x - y)");
    CHECK_STR(printed(tra_kernel_then(arena, named("exp", TRA_USE_MAP), lambda1(op1(TRA_S_NEG, x)))),
              "(x -> -x) . exp");
    CHECK_STR(printed(scaled(0.1)), "scale(0.1)");
    CHECK_INT(tra_scalar_find("max", 2), TRA_S_MAX);
    CHECK_INT(tra_scalar_find("max", 1), -1);
    CHECK_INT(tra_scalar_find("exp", 1), TRA_S_EXP);
    CHECK_INT(tra_scalar_find("neg", 1), -1);
    CHECK_INT(tra_scalar_find("+", 2), -1);
    CHECK_INT(tra_scalar_find("const", 0), -1);
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

TEST(shapes_that_do_not_fit) {
    tra_err e = {0};
    tra_dims out;
    const struct {
        const tra_kernel *k;
        tra_dims a, b;
        const char *why;
    } pairs[] = {
        {named("matmul", TRA_USE_JOIN), DIMS(3, 4), DIMS(5, 6),
         "columns of the left (4) and rows of the right (5) differ"},
        {named("matmul", TRA_USE_JOIN), DIMS(3, 4), DIMS(4), "\"ij,j->i\""},
        {named("matadd", TRA_USE_JOIN), DIMS(3, 4), DIMS(4), "must be equal"},
        {named("matvecadd", TRA_USE_JOIN), DIMS(3, 4), DIMS(3), "extents 4 and 3 meet"},
        {einsum("ij,jk->ik"), DIMS(3, 4), DIMS(5, 6), "label 'j' has extents 4 and 5"},
        {einsum("ij,j->i"), DIMS(3, 4), DIMS(4, 1), "operand 2 has 1 label and 2 dimensions"},
        {named("relu", TRA_USE_MAP), DIMS(3), DIMS(3), "not a kernel of join"},
        {tra_kernel_then(arena, named("matsub", TRA_USE_JOIN), named("square", TRA_USE_MAP)), DIMS(3), DIMS(4),
         "matsub does not fit"},
        {tra_kernel_then(arena, named("matmul", TRA_USE_JOIN), einsum("ii->i")), DIMS(3, 4), DIMS(4, 2),
         "label 'i' has extents 3 and 2"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        CHECK_FAILS(tra_kernel_shape2(pairs[i].k, &pairs[i].a, &pairs[i].b, &pairs[i].a, &pairs[i].b, &out, NULL, &e),
                    TRA_PROGRAM, e, pairs[i].why);
    /* a clipped array of extent 1 does not stretch, one of bound 1 does */
    const tra_kernel *add = named("matvecadd", TRA_USE_JOIN);
    CHECK_FAILS(tra_kernel_shape2(add, &DIMS(3, 1), &DIMS(3, 5), &DIMS(3, 4), &DIMS(3, 5), &out, NULL, &e), TRA_PROGRAM,
                e, "clipped");
    CHECK_OK(tra_kernel_shape2(add, &DIMS(3, 1), &DIMS(3, 5), &DIMS(3, 1), &DIMS(3, 5), &out, NULL, &e), e);
    CHECK_INT(out.v[1], 5);

    CHECK_FAILS(tra_kernel_shape1(named("diag", TRA_USE_MAP), &DIMS(3), &out, NULL, &e), TRA_PROGRAM, e,
                "needs matrices");
    CHECK_FAILS(tra_kernel_shape1(named("rowsum", TRA_USE_MAP), &scalar, &out, NULL, &e), TRA_PROGRAM, e, "a scalar");
    CHECK_FAILS(tra_kernel_shape1(named("softmax", TRA_USE_MAP), &scalar, &out, NULL, &e), TRA_PROGRAM, e,
                "last dimension");
    CHECK_FAILS(tra_kernel_shape1(named("matmul", TRA_USE_JOIN), &DIMS(3), &out, NULL, &e), TRA_PROGRAM, e,
                "not a kernel of transform");
    CHECK_FAILS(tra_kernel_shape_agg(named("matmul", TRA_USE_JOIN), &DIMS(3), &out, NULL, &e), TRA_PROGRAM, e,
                "not a kernel of agg");
    tra_dims many = {.n = 16};
    for (int i = 0; i < 16; i++) many.v[i] = 1;
    CHECK_FAILS(tra_kernel_shape2(named("outer", TRA_USE_JOIN), &many, &many, &many, &many, &out, NULL, &e),
                TRA_PROGRAM, e, "more than 31");
}

TEST(merge_of_a_state_that_has_seen_nothing) {
    static const char *const names[] = {"minindex", "maxindex"};
    for (int i = 0; i < 2; i++) {
        const tra_kernel *k = named(names[i], TRA_USE_AGG);
        double v[2] = {i ? -INFINITY : INFINITY, 0}; /* as extreme as the state of nothing */
        tra_array x = {TRA_F64, DIMS(1), v}, s = make(TRA_F64, DIMS(2)), none = make(TRA_F64, DIMS(2));
        tra_agg_init(k, &s);
        tra_agg_init(k, &none);
        tra_fold_sparse(k, &s, &x, false, NULL);
        CHECK(get(&s, 1) == 0);
        tra_agg_merge(k, &s, &none, false);
        CHECK(get(&s, 0) == v[0] && get(&s, 1) == 0);
        tra_agg_merge(k, &none, &s, false);
        CHECK(get(&none, 0) == v[0] && get(&none, 1) == 0);
        free(s.data), free(none.data);
    }
}
