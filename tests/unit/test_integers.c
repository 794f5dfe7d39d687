/* Integers: types of results, sums and products to the last digit, and what does not fit. */
#include "kernel_util.h"

/* ---- integers ----------------------------------------------------------------------------------------------- */

static tra_array ints(tra_dtype t, tra_dims ext, const int64_t *v) {
    tra_array a = make(t, ext);
    tra_store(a.data, t, 0, 1, v, TRA_I64, size_of(&ext));
    CHECK(!tra_kernel_overflowed());
    return a;
}
static int64_t int_at(const tra_array *a, int64_t i) {
    int64_t v;
    CHECK(!tra_dtype_is_float(a->dtype));
    return *(const int64_t *)tra_load(a->data, a->dtype, i, 0, 1, TRA_I64, &v);
}

TEST(types_of_results) {
    const tra_dtype d = TRA_F64, f = TRA_F32, l = TRA_I64, i = TRA_I32, b = TRA_BOOL;
    const struct {
        const char *name;
        tra_kernel_use use;
        tra_dtype x, y, result;
    } cases[] = {
        {"matadd", TRA_USE_JOIN, i, i, i},  {"matadd", TRA_USE_JOIN, i, l, l},  {"matadd", TRA_USE_JOIN, b, b, i},
        {"matadd", TRA_USE_JOIN, f, i, d},  {"matadd", TRA_USE_JOIN, f, b, f},  {"elemmul", TRA_USE_JOIN, b, b, b},
        {"elemmul", TRA_USE_JOIN, b, i, i}, {"elemdiv", TRA_USE_JOIN, i, i, d}, {"elemdiv", TRA_USE_JOIN, f, f, f},
        {"elemmax", TRA_USE_JOIN, b, b, b}, {"elemmax", TRA_USE_JOIN, i, l, l}, {"matmul", TRA_USE_JOIN, i, i, l},
        {"matmul", TRA_USE_JOIN, b, b, l},  {"matmul", TRA_USE_JOIN, b, f, f},  {"matmul", TRA_USE_JOIN, i, f, d},
        {"outer", TRA_USE_JOIN, i, i, i},   {"matadd", TRA_USE_AGG, i, i, l},   {"matadd", TRA_USE_AGG, b, b, l},
        {"matadd", TRA_USE_AGG, f, f, f},   {"elemmax", TRA_USE_AGG, i, i, i},  {"elemmul", TRA_USE_AGG, i, i, l},
        {"minindex", TRA_USE_AGG, l, l, d}, {"rowsum", TRA_USE_MAP, b, b, l},   {"rowmax", TRA_USE_MAP, b, b, b},
        {"neg", TRA_USE_MAP, b, b, i},      {"neg", TRA_USE_MAP, i, i, i},      {"abs", TRA_USE_MAP, l, l, l},
        {"square", TRA_USE_MAP, i, i, i},   {"relu", TRA_USE_MAP, i, i, i},     {"relu_grad", TRA_USE_MAP, f, f, f},
        {"exp", TRA_USE_MAP, i, i, d},      {"softmax", TRA_USE_MAP, b, b, d},  {"transpose", TRA_USE_MAP, b, b, b},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (tra_kernel_dtype(named(cases[k].name, cases[k].use), cases[k].use, cases[k].x, cases[k].y) !=
            cases[k].result)
            check_report("%s of %s and %s is not %s", cases[k].name, tra_dtype_name(cases[k].x),
                         tra_dtype_name(cases[k].y), tra_dtype_name(cases[k].result));
    const struct {
        const tra_scalar *s;
        tra_dtype x, result;
    } functions[] = {
        {op2(TRA_S_LT, arg(0), num(0.5)), f, b},
        {op2(TRA_S_MUL, arg(0), num(2)), i, i},
        {op2(TRA_S_MUL, arg(0), num(2)), l, l},
        {op2(TRA_S_MUL, arg(0), num(3e9)), i, l},
        {op2(TRA_S_MUL, arg(0), num(0.5)), i, d},
        {op2(TRA_S_MUL, arg(0), num(0.5)), f, f},
        {op2(TRA_S_DIV, arg(0), num(2)), i, d},
        {op2(TRA_S_POW, arg(0), num(3)), i, i},
        {op2(TRA_S_POW, arg(0), num(-1)), i, d},
        {op2(TRA_S_POW, num(2), arg(0)), i, d},
        {op2(TRA_S_ADD, op2(TRA_S_GT, arg(0), num(0)), op2(TRA_S_LT, arg(0), num(9))), d, i},
        {op2(TRA_S_MUL, op2(TRA_S_GT, arg(0), num(0)), arg(0)), f, f},
        {num(7), i, i},
        {num(0.25), i, d},
        {op2(TRA_S_MUL, op2(TRA_S_DIV, num(1), num(4)), arg(0)), i, d},
    };
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        tra_dtype got = tra_kernel_dtype(lambda1(functions[k].s), TRA_USE_MAP, functions[k].x, functions[k].x);
        if (got != functions[k].result)
            check_report("%s of %s is %s", printed(lambda1(functions[k].s)), tra_dtype_name(functions[k].x),
                         tra_dtype_name(got));
    }
    /* a constant takes the type of what it stands for before the next map sees it */
    const tra_kernel *half = lambda1(op2(TRA_S_DIV, arg(0), num(2)));
    CHECK_INT(tra_kernel_dtype(tra_kernel_then(arena, lambda1(num(4)), half), TRA_USE_MAP, i, i), d);
}

TEST(integers_are_exact_and_overflow_is_noted) {
    enum { N = 1500 };
    const struct {
        tra_scalar_op op;
        int64_t x, y, result;
        bool over;
    } cases[] = {
        {TRA_S_ADD, 1LL << 62, (1LL << 62) - 1, INT64_MAX, false},
        {TRA_S_ADD, 1LL << 62, 1LL << 62, 0, true},
        {TRA_S_ADD, INT64_MIN, -1, 0, true},
        {TRA_S_SUB, INT64_MIN, 1, 0, true},
        {TRA_S_SUB, -1, INT64_MIN, INT64_MAX, false},
        {TRA_S_SUB, 0, INT64_MIN, 0, true},
        {TRA_S_MUL, 3037000500, 3037000500, 0, true},
        {TRA_S_MUL, 3037000499, 3037000499, 9223372030926249001, false},
        {TRA_S_MUL, -65536, 140737488355328, INT64_MIN, false},
        {TRA_S_MUL, INT64_MIN, -1, 0, true},
        {TRA_S_MAX, (1LL << 60) + 1, 1LL << 60, (1LL << 60) + 1, false},
        {TRA_S_MIN, (1LL << 60) + 1, 1LL << 60, 1LL << 60, false},
        {TRA_S_GT, (1LL << 60) + 1, 1LL << 60, 1, false},
        {TRA_S_EQ, (1LL << 60) + 1, 1LL << 60, 0, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int64_t at = 0; at < N; at += 707) { /* at any place of a strip */
            int64_t x[N] = {0}, y[N] = {0};
            x[at] = cases[k].x, y[at] = cases[k].y;
            tra_array a = ints(TRA_I64, DIMS(N), x), b = ints(TRA_I64, DIMS(N), y);
            tra_array got = join(lambda2(op2(cases[k].op, arg(0), arg(1))), &a, &b);
            CHECK_INT(tra_kernel_overflowed(), cases[k].over);
            if (!cases[k].over) CHECK(int_at(&got, at) == cases[k].result);
            free(a.data), free(b.data), free(got.data);
        }
    int64_t one = 1, wide = 3221225472; /* in place, with a factor of more than 32 bits */
    tra_array u = ints(TRA_I64, DIMS(1, 3), (int64_t[]){one, one, one}),
              v = ints(TRA_I64, DIMS(1, 3), (int64_t[]){wide, wide, wide});
    tra_kernel_join(lambda2(op2(TRA_S_MUL, arg(0), arg(1))), &u, &v, &u, NULL);
    CHECK(!tra_kernel_overflowed() && int_at(&u, 0) == wide);
    free(u.data), free(v.data);
    int64_t least = INT64_MIN, narrow[2] = {INT32_MAX, INT32_MIN}, big = 2097151;
    tra_array a = ints(TRA_I64, scalar, &least), n = ints(TRA_I32, DIMS(2), narrow), p = ints(TRA_I64, scalar, &big);
    const char *const signs[] = {"neg", "abs"};
    for (int i = 0; i < 2; i++) {
        tra_array got = map(named(signs[i], TRA_USE_MAP), &a);
        CHECK(tra_kernel_overflowed());
        free(got.data);
        got = map(named(signs[i], TRA_USE_MAP), &n); /* i32 has limits of its own */
        CHECK(tra_kernel_overflowed());
        free(got.data);
    }
    tra_array got = map(lambda1(op2(TRA_S_POW, arg(0), num(3))), &p);
    CHECK(!tra_kernel_overflowed() && int_at(&got, 0) == 9223358842721533951);
    free(got.data);
    got = map(lambda1(op2(TRA_S_POW, arg(0), num(4))), &p);
    CHECK(tra_kernel_overflowed());
    free(got.data);
    /* an i32 in the middle of an expression */
    got = map(lambda1(op2(TRA_S_SUB, op2(TRA_S_ADD, arg(0), num(1)), num(1))), &n);
    CHECK(tra_kernel_overflowed());
    free(got.data);
    got = map(named("rowsum", TRA_USE_MAP), &n); /* sums are i64 */
    CHECK(!tra_kernel_overflowed() && int_at(&got, 0) == -1);
    free(got.data), free(a.data), free(n.data), free(p.data);
}

/* The products by BLAS, by loops without tests and by loops with them: as by the definition. */
TEST(products_of_integers) {
    static const char *const texts[] = {"ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "ij,j->i",
                                        "i,i->",     "ij,ij->",   "ij,kl->jl"};
    static const int64_t most[] = {9, 1 << 22, 1 << 28}; /* of the last products might not fit, but do */
    static const tra_dtype types[] = {TRA_I64, TRA_I32, TRA_BOOL};
    for (int round = 0; round < 120; round++) {
        const char *text = texts[round % 7];
        bool twice = round % 7 >= 5; /* two labels are summed */
        int64_t big = most[round / 7 % 3] >> (twice && round / 7 % 3 == 2), n[128],
                ext_l = 1 + check_draw(round % 5 ? 40 : 150);
        for (int c = 'i'; c <= 'l'; c++) n[c] = c == 'j' ? ext_l : 1 + check_draw(round % 4 ? 30 : 140);
        tra_array op[2];
        const char *s = text;
        for (int o = 0; o < 2; o++, s++) {
            tra_dims ext = {0};
            for (; *s != ',' && *s != '-'; s++) ext.v[ext.n++] = n[(int)*s];
            tra_dtype t = types[check_draw(3)];
            op[o] = make(t, ext);
            for (int64_t i = 0; i < size_of(&ext); i++) {
                int64_t v = t == TRA_BOOL ? check_draw(2) : check_draw(2 * big) - big;
                tra_store(op[o].data, t, i, 1, &v, TRA_I64, 1);
            }
        }
        tra_array got = join(einsum(text), &op[0], &op[1]);
        CHECK_INT(got.dtype, TRA_I64);
        int64_t *want = calloc((size_t)size_of(&got.ext) + 1, sizeof *want);
        bool over = false;
        char labels[8] = "";
        for (const char *c = text; *c; c++)
            if (*c >= 'i' && *c <= 'l' && !strchr(labels, *c)) labels[strlen(labels)] = *c;
        int64_t total = 1;
        for (const char *c = labels; *c; c++) total *= n[(int)*c];
        for (int64_t x = 0; x < total; x++) {
            int64_t at[128] = {0}, rest = x, place[3] = {0};
            for (size_t l = strlen(labels); l-- > 0; rest /= n[(int)labels[l]])
                at[(int)labels[l]] = rest % n[(int)labels[l]];
            int o = 0;
            for (const char *c = text; *c; c++) {
                if (*c == ',' || *c == '>') o++;
                if (*c >= 'i' && *c <= 'l') place[o] = place[o] * n[(int)*c] + at[(int)*c];
            }
            int64_t product;
            over |= __builtin_mul_overflow(int_at(&op[0], place[0]), int_at(&op[1], place[1]), &product);
            over |= __builtin_add_overflow(want[place[2]], product, &want[place[2]]);
        }
        CHECK(!over && !tra_kernel_overflowed());
        for (int64_t i = 0; i < size_of(&got.ext); i++)
            if (int_at(&got, i) != want[i]) {
                check_report("%s: element %" PRId64 " is %" PRId64 ", not %" PRId64, text, i, int_at(&got, i), want[i]);
                break;
            }
        free(want), free(got.data), free(op[0].data), free(op[1].data);
    }
    int64_t v[2] = {3037000500, 3037000500};
    tra_array a = ints(TRA_I64, DIMS(2), v), got = join(einsum("i,i->"), &a, &a);
    CHECK(tra_kernel_overflowed());
    free(got.data), free(a.data);
}
