/* Functions of elements, in all types, against their definitions; what broadcasts and what does not. */
#include "../../lib/base/simd.h"
#include "kernel_util.h"

static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 13, 16};

TEST(loops_are_those_of_the_processor_or_of_a_lesser_one_that_the_environment_names) {
    const char *most = getenv("TRA_SIMD");
    if (most && strcmp(most, "base") == 0) CHECK_INT(tra_simd_here(), TRA_SIMD_BASE);
    if (most && strcmp(most, "avx2") == 0) CHECK(tra_simd_here() <= TRA_SIMD_AVX2);
#ifdef __x86_64__
    if (!most) CHECK_INT(tra_simd_here() >= TRA_SIMD_AVX2, __builtin_cpu_supports("avx2") != 0);
#endif
}

TEST(every_scalar_operator_on_odd_values) {
    static const double odd[] = {0.0, -0.0, 1,   -1,    2,      0.5,      -3.25,     1e-3, 20,
                                 -20, 88,   -88, 1e300, -1e300, INFINITY, -INFINITY, NAN};
    enum { NODD = sizeof(odd) / sizeof(*odd), LEN = 1500 };
    for (int t = 0; t < 2; t++) {
        double tol = t ? 3e-7 : 5e-16;
        for (int op = TRA_S_ADD; op < TRA_S_COUNT; op++) {
            int arity = tra_scalar_arity(op);
            if (arity == 3) continue;                                /* below */
            if (op >= TRA_S_TO_BOOL && op <= TRA_S_TO_F64) continue; /* of other types: tests/cli/35-functions */
            tra_array a = make(t, DIMS(LEN)), b = make(t, DIMS(LEN)), want = make(t, DIMS(LEN));
            for (int64_t i = 0; i < LEN; i++) {
                put(&a, i, i < NODD * NODD ? odd[i % NODD] : (double)(check_draw(2000) - 1000) / 100);
                put(&b, i, i < NODD * NODD ? odd[i / NODD] : (double)(check_draw(2000) - 1000) / 100);
                double x = get(&a, i), y = get(&b, i);
                put(&want, i, slow_scalar(op, x, y, 0));
            }
            const tra_kernel *k = arity == 2 ? lambda2(op2(op, arg(0), arg(1))) : lambda1(op1(op, arg(0)));
            tra_array got = arity == 2 ? join(k, &a, &b) : map(k, &a);
            tra_dtype got_type = got.dtype;
            close_to(&got, &want, tol, tra_scalar_text(op));
            free(got.data);
            /* in place, and of every length about a vector */
            for (int64_t n = 0; n < 40 && tra_dtype_size(got_type) == tra_dtype_size(t); n++) {
                tra_array part = make(t, DIMS(n)), other = make(t, DIMS(n)), expect = make(t, DIMS(n));
                if (n)
                    memcpy(part.data, a.data, tra_array_bytes(&part)),
                        memcpy(other.data, b.data, tra_array_bytes(&part));
                if (n) memcpy(expect.data, want.data, tra_array_bytes(&part));
                if (arity == 2)
                    tra_kernel_join(k, &part, &other, &part, NULL);
                else
                    tra_map_sparse(k, &part, false, &part, NULL);
                close_to(&part, &expect, tol, tra_scalar_text(op));
                free(part.data), free(other.data), free(expect.data);
            }
            free(a.data), free(b.data), free(want.data);
        }
    }
}

static tra_scalar *random_tree(int depth) {
    static const tra_scalar_op binary[] = {TRA_S_ADD, TRA_S_SUB, TRA_S_MUL, TRA_S_MAX,
                                           TRA_S_MIN, TRA_S_LT,  TRA_S_GE,  TRA_S_NE};
    static const tra_scalar_op unary[] = {TRA_S_NEG, TRA_S_ABS, TRA_S_RELU};
    if (depth == 0 || check_draw(8) == 0)
        return check_draw(3) ? arg((int)check_draw(2)) : num((double)(check_draw(9) - 4));
    if (check_draw(4) == 0) return op1(unary[check_draw(3)], random_tree(depth - 1));
    if (check_draw(5) == 0) return op3(random_tree(depth - 1), random_tree(depth - 1), random_tree(depth - 1));
    return op2(binary[check_draw(8)], random_tree(depth - 1), random_tree(depth - 1));
}
static double slow_tree(const tra_scalar *s, double x, double y) {
    if (s->op == TRA_S_CONST) return s->value;
    if (s->op == TRA_S_ARG) return s->arg ? y : x;
    return slow_scalar(s->op, slow_tree(s->a, x, y), s->b ? slow_tree(s->b, x, y) : 0,
                       s->c ? slow_tree(s->c, x, y) : 0);
}

TEST(expressions_agree_with_the_definition) {
    for (int round = 0; round < 300; round++) {
        tra_scalar *s = random_tree((int)check_draw(7));
        tra_array a = small_integers(TRA_F64, DIMS(37)), b = small_integers(TRA_F64, DIMS(37)),
                  want = make(TRA_F64, DIMS(37));
        for (int64_t i = 0; i < 37; i++) put(&want, i, slow_tree(s, get(&a, i), get(&b, i)));
        /* and a map after it, fused into one program */
        const tra_kernel *k = lambda2(s), *square = named("square", TRA_USE_MAP), *twice = scaled(2);
        same_and_free(join(k, &a, &b), copy_of(&want), 1e-15, printed(k));
        const tra_kernel *both =
            tra_kernel_then(arena, tra_kernel_then(arena, k, square),
                            tra_kernel_then(arena, lambda1(op2(TRA_S_SUB, num(1), arg(0))), twice));
        for (int64_t i = 0; i < 37; i++) put(&want, i, 2 * (1 - get(&want, i) * get(&want, i)));
        same_and_free(join(both, &a, &b), want, 1e-15, printed(both));
        free(a.data), free(b.data);
    }
    /* right- and left-leaning, deep */
    const tra_scalar *r = arg(0), *l = arg(0);
    for (int i = 0; i < 1000; i++) r = op2(TRA_S_ADD, num(1), r), l = op2(TRA_S_ADD, l, num(1));
    tra_array x = filled(TRA_F64, DIMS(700), 0.5);
    same_and_free(map(lambda1(r), &x), filled(TRA_F64, DIMS(700), 1000.5), 0, "right-leaning");
    same_and_free(map(lambda1(l), &x), filled(TRA_F64, DIMS(700), 1000.5), 0, "left-leaning");
    same_and_free(map(lambda1(num(3)), &x), filled(TRA_F64, DIMS(700), 3), 0, "constant");
    same_and_free(map(lambda1(arg(0)), &x), copy_of(&x), 0, "identity");
    free(x.data);
}

TEST(if_takes_one_branch_whatever_the_other_is) {
    static const tra_dtype types[] = {TRA_F64, TRA_F32, TRA_I64, TRA_I32, TRA_BOOL};
    for (int t = 0; t < 5; t++) {
        bool real = tra_dtype_is_float(types[t]);
        tra_array c = make(TRA_F64, DIMS(700)), x = make(types[t], DIMS(700)), want = make(types[t], DIMS(700));
        for (int64_t i = 0; i < 700; i++) {
            double chosen = i % 3 == 0 ? 0 : i % 3 == 1 ? 1e-300 : NAN; /* what f32 and integers would round to 0 */
            put(&c, i, chosen);
            put(&x, i, real && i % 3 == 0 ? NAN : (double)(i % 2));
            put(&want, i, chosen != 0 ? (double)(i % 2) : 1);
        }
        const tra_kernel *k = lambda2(op3(arg(0), arg(1), num(1)));
        same_and_free(join(k, &c, &x), want, 0, "the number where the condition is 0");
        free(c.data), free(x.data);
    }
    /* numbers alone have the type that they have beside bools */
    tra_array x = filled(TRA_F32, DIMS(3), 2), ones = filled(TRA_I32, DIMS(3), -1),
              half = filled(TRA_F64, DIMS(3), 0.5);
    const tra_scalar *positive = op2(TRA_S_GT, arg(0), num(0));
    CHECK_INT(tra_kernel_dtype(lambda1(op3(positive, num(-1), num(2))), TRA_USE_MAP, TRA_F32, TRA_F32), TRA_I32);
    same_and_free(map(lambda1(op3(positive, num(-1), num(2))), &x), ones, 0, "whole numbers");
    same_and_free(map(lambda1(op3(positive, num(0.5), num(2))), &x), half, 0, "others");
    free(x.data);
    /* a chain of any length needs few registers */
    const tra_scalar *s = num(1000);
    for (int i = 900; i-- > 0;) s = op3(op2(TRA_S_EQ, arg(0), num(i)), num(2 * i), s);
    tra_array y = make(TRA_F64, DIMS(950)), want = make(TRA_I32, DIMS(950));
    for (int64_t i = 0; i < 950; i++) put(&y, i, (double)i), put(&want, i, i < 900 ? 2 * (double)i : 1000);
    same_and_free(map(lambda1(s), &y), want, 0, "a chain of conditions");
    free(y.data);
    CHECK_STR(printed(lambda1(op3(op2(TRA_S_AND, op1(TRA_S_NOT, arg(0)), positive), arg(0), num(3)))),
              "x -> if(!x && x > 0, x, 3)");
}

TEST(integers_have_the_functions_that_keep_them_whole) {
    tra_array a = make(TRA_I32, DIMS(40)), b = make(TRA_I32, DIMS(40)), mod = make(TRA_I32, DIMS(40)),
              sign = make(TRA_I32, DIMS(40)), no = filled(TRA_BOOL, DIMS(40), 0);
    for (int64_t i = 0; i < 40; i++) {
        double x = (double)(i % 8 - 4), y = (double)(i / 8 - 2);
        put(&a, i, x), put(&b, i, y);
        put(&mod, i, y == 0 ? 0 : x - y * floor(x / y));
        put(&sign, i, (x > 0) - (x < 0));
    }
    same_and_free(join(lambda2(op2(TRA_S_MOD, arg(0), arg(1))), &a, &b), mod, 0, "mod");
    same_and_free(map(named("sign", TRA_USE_MAP), &a), sign, 0, "sign");
    same_and_free(map(named("round", TRA_USE_MAP), &a), copy_of(&a), 0, "round");
    same_and_free(map(named("isnan", TRA_USE_MAP), &a), no, 0, "isnan");
    CHECK_INT(tra_kernel_dtype(named("erf", TRA_USE_MAP), TRA_USE_MAP, TRA_I32, TRA_I32), TRA_F64);
    free(a.data), free(b.data);
}

TEST(broadcast_matches_from_the_last_dimension) {
    const tra_kernel *sub = named("matvecsub", TRA_USE_JOIN);
    for (int round = 0; round < 400; round++) {
        int ra = (int)check_draw(5), rb = (int)check_draw(5), r = ra > rb ? ra : rb;
        tra_dims out = {.n = r}, ea = {.n = ra}, eb = {.n = rb};
        for (int d = 0; d < r; d++) {
            out.v[d] = extents[check_draw(round < 50 ? 4 : 8)];
            int da = d - (r - ra), db = d - (r - rb), who = (int)check_draw(4);
            if (da >= 0) ea.v[da] = who == 1 && db >= 0 ? 1 : out.v[d];
            if (db >= 0) eb.v[db] = who == 2 && da >= 0 ? 1 : out.v[d];
        }
        tra_array a = small_integers((tra_dtype)check_draw(4), ea), b = small_integers((tra_dtype)check_draw(4), eb);
        tra_array want = make(tra_dtype_join(a.dtype, b.dtype), out);
        tra_dims idx = {.n = r};
        for (int64_t i = 0; i < size_of(&out); i++, tra_next(&out, &idx)) {
            int64_t pa = 0, pb = 0;
            for (int d = 0; d < ra; d++) pa = pa * ea.v[d] + (ea.v[d] == 1 ? 0 : idx.v[d + r - ra]);
            for (int d = 0; d < rb; d++) pb = pb * eb.v[d] + (eb.v[d] == 1 ? 0 : idx.v[d + r - rb]);
            put(&want, i, get(&a, pa) - get(&b, pb));
        }
        same_and_free(join(sub, &a, &b), want, 0, "matvecsub");
        free(a.data), free(b.data);
    }
    /* rows shorter and longer than a strip, and strips that begin inside a row */
    const int64_t width[] = {3, 511, 700, 1300};
    for (int w = 0; w < 4; w++) {
        int64_t n = width[w], m = 2100 / n + 3;
        tra_array a = small_integers(TRA_F64, DIMS(m, n)), b = small_integers(w % 2, DIMS(n)),
                  c = small_integers(w / 2, DIMS(m, 1));
        tra_array minus_b = make(TRA_F64, a.ext), minus_c = make(TRA_F64, a.ext);
        for (int64_t i = 0; i < m * n; i++) {
            put(&minus_b, i, get(&a, i) - get(&b, i % n));
            put(&minus_c, i, get(&a, i) - get(&c, i / n));
        }
        same_and_free(join(sub, &a, &b), minus_b, 0, "matvecsub of a row");
        same_and_free(join(sub, &a, &c), minus_c, 0, "matvecsub of a column");
        free(a.data), free(b.data), free(c.data);
    }
}
