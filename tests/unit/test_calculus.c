/* The calculus: what parses, what is printed, types, and what expressions mean. */
#include "check.h"

#include "../../lib/storage/storage.h"

/* Names for all tests: a, b real dictionaries, n an integer, x a real number, A a relation of sparse type, D a dense
 * one. */
static const tra_calc_name names[] = {
    {.name = "v", .type = {true, false, 1}},
    {.name = "idx", .type = {false, false, 1}},
    {.name = "h", .type = {true, true, 2}},
    {.name = "n", .type = {0}},
    {.name = "x", .type = {.real = true}},
    {.name = "A", .type = {true, true, 2}, .relation = true},
    {.name = "D", .type = {true, false, 2}, .relation = true},
};
enum { NNAMES = sizeof names / sizeof names[0] };

/* A is 3 x 4 with A(0,1) = 2, A(0,3) = 3, A(2,0) = 4; D has the same extents and D(i,j) = i - j. */
static const double A_data[3][4] = {{0, 2, 0, 3}, {0, 0, 0, 0}, {4, 0, 0, 0}};

static tra_status get(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    (void)e;
    CHECK(at[0] >= 0 && at[0] < 3 && at[1] >= 0 && at[1] < 4);
    *v = tra_calc_real(ctx ? (double)(at[0] - at[1]) : A_data[at[0]][at[1]]);
    return TRA_OK;
}

static bool row_is_empty(int64_t i) {
    for (int j = 0; j < 4; j++)
        if (A_data[i][j] != 0) return false;
    return true;
}

static bool next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    (void)ctx;
    int64_t end = n == 0 ? 3 : 4;
    while (*key < end && (n == 0 ? row_is_empty(*key) : A_data[prefix[0]][*key] == 0)) ++*key;
    return *key < end;
}

static const double v_data[4] = {1, -2, 0.5, 8};
static const int32_t idx_data[5] = {3, 0, 2, 2, 1};
static const uint16_t h_key0[3] = {0, 2, 2};
static const int64_t h_key1[3] = {5, 1, 7};
static const float h_data[3] = {1.5f, 0, -3};

typedef struct shown {
    int depth;
    tra_str out;
} shown;

static tra_status show(void *ctx, const tra_calc_entry *x, tra_err *e) {
    shown *s = ctx;
    char buf[32];
    (void)e;
    if (s->out.n) tra_str_add(&s->out, " ");
    for (int i = 0; i < s->depth; i++) tra_str_printf(&s->out, "%s%" PRId64, i ? "," : "", x->key[i]);
    if (s->depth) tra_str_add(&s->out, ":");
    if (x->value.real)
        tra_str_add(&s->out, isnan(x->value.r) ? "nan" : tra_exactly(x->value.r, buf));
    else
        tra_str_printf(&s->out, "%" PRId64 "i", x->value.i);
    return TRA_OK;
}

/* The value of a text, or what is wrong with it, with ", an overflow" where that is the kind of the error; its
 * canonical text must parse to the same tree and mean the same. */
static void evaluate(const char *text, int64_t steps, tra_str *out) {
    tra_arena *a = tra_arena_new();
    tra_calc_error err;
    tra_err e = {0};
    tra_component_data v = {{TRA_ELEMENT_F64, 4, v_data}, {{0}}}, idx = {{TRA_ELEMENT_I32, 5, idx_data}, {{0}}};
    tra_component_data h = {{TRA_ELEMENT_F32, 3, h_data}, {{TRA_ELEMENT_U16, 3, h_key0}, {TRA_ELEMENT_I64, 3, h_key1}}};
    tra_calc_operand A = {.rank = 2, .real = true, .sparse = true, .extent = {3, 4}, .get = get, .next = next};
    tra_calc_operand D = {.ctx = &A, .rank = 2, .real = true, .extent = {3, 4}, .get = get};
    tra_calc_free scope[NNAMES] = {{.component = &v, .kind = TRA_COMPONENT_ARRAY},
                                   {.component = &idx, .kind = TRA_COMPONENT_ARRAY},
                                   {.component = &h, .kind = TRA_COMPONENT_HASHMAP},
                                   {.number = tra_calc_int(3)},
                                   {.number = tra_calc_real(0.25)},
                                   {.operand = &A},
                                   {.operand = &D}};
    shown s = {0};
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), a, &err);
    if (!x || !tra_calc_check(x, NNAMES, names, a, &err)) {
        tra_str_printf(out, "%d+%d: %s", err.at, err.len, err.msg);
    } else {
        tra_str canonical = {0}, again = {0};
        tra_calc_print(x, &canonical);
        const tra_calc *y = tra_calc_parse(tra_str_get(&canonical), (int)canonical.n, a, &err);
        CHECK(y && tra_calc_check(y, NNAMES, names, a, &err));
        if (y) {
            tra_calc_print(y, &again);
            CHECK_STR(again.s, canonical.s);
            CHECK(tra_calc_equal(x, y));
        }
        s.depth = x->type.depth;
        if (tra_calc_run_summed(x, NNAMES, scope, steps, show, &s, &e) == TRA_OK)
            tra_str_add(out, tra_str_get(&s.out));
        else
            tra_str_printf(out, "%s%s", e.msg, e.kind == TRA_KIND_OVERFLOW ? ", an overflow" : "");
        tra_str_free(&canonical);
        tra_str_free(&again);
        tra_str_free(&s.out);
    }
    tra_arena_free(a);
}

static void check_value(int line, const char *text, const char *want) {
    tra_str got = {0};
    evaluate(text, 1000000, &got);
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: %s is\n#   %s, not\n#   %s", line, text, tra_str_get(&got), want);
    tra_str_free(&got);
}
#define VALUE(text, want) check_value(__LINE__, text, want)

TEST(numbers) {
    VALUE("1 + 2*3", "7i");
    VALUE("1 + 2*3.0", "7");
    VALUE("-7/2", "-4i");
    VALUE("-7%2", "1i");
    VALUE("7/-2", "-4i");
    VALUE("7%-2", "-1i");
    VALUE("-7.0/2", "-3.5");
    VALUE("-7.5%2", "0.5");
    VALUE("10 - 4 - 3", "3i");
    VALUE("10 - (4 - 3)", "9i");
    VALUE("2*(3 + 4)", "14i");
    VALUE("--3", "3i");
    VALUE("-(2 + 3)*2", "-10i");
    VALUE("100/5/2", "10i");
    VALUE("100/(5/2)", "50i");
    VALUE("abs(-3) + abs(2)", "5i");
    VALUE("abs(-3.5)", "3.5");
    VALUE("min(3, 1, 2)", "1i");
    VALUE("max(3, 1.5)", "3");
    VALUE("max(0.0/0, 1)", "nan");
    VALUE("min(1, 0.0/0, -1)", "nan");
    VALUE("floor(-1.5) + floor(2.0)", "0i");
    VALUE("real(3)/2", "1.5");
    VALUE("exp(0) + log(1) + sqrt(16)", "5");
    VALUE("even_bits(27)", "5i"); /* 11011: bits 0, 2, 4 are 1 0 1 */
    VALUE("odd_bits(27)", "3i");
    VALUE("even_bits(9223372036854775807) - odd_bits(9223372036854775807)", "2147483648i");
    VALUE("9223372036854775807", "9223372036854775807i");
    VALUE("n + x", "3.25");
    VALUE("1/0.0", "inf");
}

TEST(number_errors) {
    VALUE("1/0", "division by zero in 1 / 0");
    VALUE("n%(n - 3)", "division by zero in n % (n - 3)");
    VALUE("9223372036854775807 + 1", "an integer is larger than 64 bits hold in 9223372036854775807 + 1, an overflow");
    VALUE("-9223372036854775807 - 2",
          "an integer is larger than 64 bits hold in -9223372036854775807 - 2, an overflow");
    VALUE("4611686018427387904*2", "an integer is larger than 64 bits hold in 4611686018427387904 * 2, an overflow");
    VALUE("(-9223372036854775807 - 1)/-1",
          "an integer is larger than 64 bits hold in (-9223372036854775807 - 1) / -1, an overflow");
    VALUE("(-9223372036854775807 - 1)%-1", "0i");
    VALUE("abs(-9223372036854775807 - 1)",
          "an integer is larger than 64 bits hold in abs(-9223372036854775807 - 1), an overflow");
    VALUE("sum(<i, _> in 0:3) 4611686018427387904",
          "an integer is larger than 64 bits hold in sum(<i, _> in 0:3) 4611686018427387904, an overflow");
    VALUE("{0 -> 4611686018427387904} + {0 -> 4611686018427387904}",
          "an integer is larger than 64 bits hold where values of one key are added, an overflow");
    VALUE("floor(1e19)", "a number that no integer of 64 bits holds in floor(1e+19)");
    VALUE("floor(0.0/0)", "a number that no integer of 64 bits holds in floor(0.0 / 0)");
    VALUE("even_bits(-1)", "a negative number has no bits to take in even_bits(-1)");
    VALUE("9223372036854775808", "0+19: this number is larger than 64 bits hold");
    VALUE("1e999", "0+5: this number is larger than a double holds");
}

TEST(dictionaries) {
    VALUE("{3 -> 1.5}", "3:1.5");
    VALUE("{3 -> 0}", "");
    VALUE("{3 -> {4 -> 0.0}}", "");
    VALUE("{0 -> 1, 2 -> 5, 0 -> 2}", "0:3i 2:5i");
    VALUE("{0 -> 1, 0 -> -1}", "");
    VALUE("{(1, 2) -> 5} + {1 -> {3 -> 6}}", "1,2:5i 1,3:6i");
    VALUE("{() -> 5}", "5i");
    VALUE("{5 -> 1, -2 -> 2.5}", "-2:2.5 5:1");
    VALUE("2:5", "2:2i 3:3i 4:4i");
    VALUE("0:n", "1:1i 2:2i");           /* 0 -> 0 is no entry of the result, */
    VALUE("sum(<i, _> in 0:n) 1", "3i"); /* but ranges have the keys that they have */
    VALUE("5:2", "");
    VALUE("(2:5)(3) + (2:5)(1)", "3i");
    VALUE("{1 -> 7}(1) + {1 -> 7}(2)", "7i");
    VALUE("({(1, 2) -> 7})(1)(2) + {(1, 2) -> 7}(1, 2)", "14i");
    VALUE("({0 -> 1, 1 -> 2} - {1 -> 2, 3 -> 4})", "0:1i 3:-4i");
    VALUE("-{0 -> 1}", "0:-1i");
    VALUE("3*{0 -> 1, 1 -> 2}", "0:3i 1:6i");
    VALUE("{0 -> 1, 1 -> 2}*0.5", "0:0.5 1:1");
    VALUE("{0 -> 1, 1 -> 2}/4.0", "0:0.25 1:0.5");
    VALUE("{0 -> 3, 1 -> 2}*{1 -> 5, 2 -> 7}", "1:10i");
    VALUE("{(0, 1) -> 3, (1, 1) -> 2}*{(1, 1) -> 5, (1, 2) -> 7}", "1,1:10i");
    VALUE("(0:4)*{1 -> 5, 9 -> 7}", "1:5i");
    VALUE("(0:10)(3:5)", "3:3i 4:4i");
    VALUE("{1 -> 5, 4 -> 6}(2:9)", "4:6i");
    VALUE("v", "0:1 1:-2 2:0.5 3:8");
    VALUE("v(1:3)", "1:-2 2:0.5");
    VALUE("v(-5:1)(0) + v(-5:1)(1)", "1");
    VALUE("v(-1) + v(4)", "0");
    VALUE("idx(0) + idx(4)", "4i");
    VALUE("v(idx(0))", "8");
    VALUE("h", "0,5:1.5 2,7:-3"); /* 2,1 is 0 */
    VALUE("h(2)", "7:-3");
    VALUE("h(2, 7) + h(1, 7)", "-3");
    VALUE("sum(<(i, j), a> in h) {i -> 1}", "0:1i 2:2i"); /* components have the keys that they have */
    VALUE("A", "0,1:2 0,3:3 2,0:4");
    VALUE("A(0) + A(2)", "0:4 1:2 3:3");
    VALUE("A(7) + A(0)", "1:2 3:3");
    VALUE("A(0, 3) + A(0, 9) + A(-1, 0)", "3");
    VALUE("extent(A, 0)*10 + extent(A, 1)", "34i");
}

TEST(loops) {
    VALUE("sum(<i, a> in v) a", "7.5");
    VALUE("sum(<i, a> in v) {i/2 -> a}", "0:-1 1:8.5");
    VALUE("sum(<i, row> in A, <j, a> in row) {(j, i) -> a}", "0,2:4 1,0:2 3,0:3");
    VALUE("sum(<(i, j), a> in A) {j -> a}", "0:4 1:2 3:3");
    VALUE("sum(<i, row> in A) 1", "2i");     /* of sparse type: rows that are not empty */
    VALUE("sum(<(i, j), _> in D) 1", "12i"); /* dense: all coordinates */
    VALUE("sum(<i, u> in v, <i, w> in {1 -> 3.0, 2 -> 4.0}) u*w", "-4");
    VALUE("sum(<i, u> in {1 -> 3.0, 7 -> 1.0}, <i, w> in v) u*w", "-6");
    VALUE("sum(<p, i> in idx, <q, i> in 0:n) {p -> 1 + q}", "1:1i 2:3i 3:3i 4:2i"); /* equal values */
    VALUE("sum(<i, i> in idx) 10 + i", "12i"); /* key and value are equal: idx(2) */
    VALUE("sum(<(i, i), d> in D) {i -> d + 1}", "0:1 1:1 2:1");
    VALUE("sum(<i, _> in 0:2, <j, _> in 0:i + 1) {(i, j) -> 1}", "0,0:1i 1,0:1i 1,1:1i");
    VALUE("sum(<i, _> in 0:2) sum(<i, _> in 5:7) i", "22i"); /* the inner i hides the outer one */
    VALUE("sum(<i, _> in 0:3) if (i != 1) {i -> i + 1}", "0:1i 2:3i");
    VALUE("sum(<i, _> in 0:3) if (i >= 1 && !(i == 2) || i < 0) then {i -> 5}", "1:5i");
    VALUE("sum(<i, _> in 0:3) if (i <= 1) {i -> 5}", "0:5i 1:5i");
    VALUE("sum(<i, _> in 0:3) if (i < 1) {i -> 5}", "0:5i");
    VALUE("sum(<i, _> in 0:3) if (i > 1) {i -> 5}", "2:5i");
    VALUE("if (1.5 <= 1.5 && 1.5 >= 1.5) 5", "5i");
    VALUE("if (1.5 < 1.5 || 1.5 > 1.5) 5", "0i");
    VALUE("if (1 > 2) 5", "0i");
    VALUE("if (1.5 > 1) {1 -> 5}", "1:5i");
    VALUE("if (0.0/0 == 0.0/0) 1", "0i");
    VALUE("if (0.0/0 != 0) 1", "1i");
    VALUE("let a = 2, b = a*3 in let a = 5 in a + b", "11i");
    VALUE("let d = {1 -> 2} in d + d", "1:4i");
    VALUE("let max = 3 in max + 1", "4i"); /* bound names are looked up first */
    VALUE("let n = {0 -> 9} in n(0)", "9i");
    VALUE("merge(<p, q, e> in <idx, 1:4>) {(p, q) -> e}", "0,3:3i 2,2:2i 3,2:2i 4,1:1i");
    VALUE("2*sum(<i, _> in 0:3) i + 1", "12i"); /* the body goes on as far as it can */
    VALUE("2*(sum(<i, _> in 0:3) i) + 1", "7i");
    VALUE("1 + if (1 < 2) 3 + 4", "8i");
    VALUE("sum(<i, _> in 0:2) sum(<j, _> in 0:2) {@dense i -> {@hash j -> v(2*i + j)}}", "0,0:1 0,1:-2 1,0:0.5 1,1:8");
    VALUE("sum(<_, d> in {0 -> {1 -> 2}, 3 -> {1 -> 5, 2 -> 1}}) d", "1:7i 2:1i");
}

TEST(zeros_that_annihilate) {
    VALUE("A(0, 0)*(1/0.0)", "0"); /* of sparse type */
    VALUE("(1/0.0)*A(0, 0)", "0");
    VALUE("A(1, 1)/0.0", "0");
    VALUE("D(1, 1)*(1/0.0)", "nan"); /* dense */
    VALUE("D(1, 1)/0.0", "nan");
    VALUE("(A(0, 0) + A(1, 1))*(1/0.0)", "0");
    VALUE("(A(0, 0) + D(1, 1))*(1/0.0)", "nan");
    VALUE("(0*(1/0.0))", "nan");
    VALUE("(if (1 > 2) 1.0)*(1/0.0)", "0");
    VALUE("{0 -> 1.0}*{0 -> 0.0/0, 1 -> 2.0}", "0:nan");
    VALUE("{1 -> 1.0}*sum(<i, _> in 0:1) {i -> 1/0.0}", "");
    VALUE("h(1, 1)*(0.0/0)", "0");
    VALUE("v(9)*(0.0/0)", "nan");
}

TEST(unique) {
    VALUE("sum(<i, _> in 0:4) {@unique i -> 1}", "0:1i 1:1i 2:1i 3:1i");
    VALUE("sum(<i, _> in 0:4) {@unique i/2 -> 1}", "key (0) twice under @unique in {@unique i / 2 -> 1}");
    VALUE("sum(<i, _> in 0:2, <j, _> in 0:2) {@unique (i, j) -> 1}", "0,0:1i 0,1:1i 1,0:1i 1,1:1i");
    VALUE("sum(<i, _> in 0:2, <j, _> in 0:2) {@unique (i, j/2) -> 1}",
          "key (0, 0) twice under @unique in {@unique (i, j / 2) -> 1}");
    /* of the pair of sum and key: the inner key may come again under another outer one */
    VALUE("sum(<i, _> in 0:2) {@unique i -> sum(<j, _> in 0:2) {@unique j -> 1}}", "0,0:1i 0,1:1i 1,0:1i 1,1:1i");
    VALUE("sum(<i, _> in 0:2) {@unique i -> sum(<j, _> in 0:2) {@unique j/2 -> 1}}",
          "key (0) twice under @unique in {@unique j / 2 -> 1}");
    VALUE("sum(<i, _> in 0:2) sum(<j, _> in 0:2) if (j >= 0) let k = j in {@unique i -> 1}",
          "key (0) twice under @unique in {@unique i -> 1}");
    VALUE("sum(<i, _> in 0:2) ({@unique i -> 1} + {@unique i -> 2})", "0:3i 1:3i");
    VALUE("sum(<i, _> in 0:1000) {@unique i*i -> 1}(0)", "1i");
}

TEST(types) {
    VALUE("1 + {0 -> 1}", "0+12: a sum of an integer and a dictionary of depth 1 of integers");
    VALUE("{0 -> 1}*{(0, 0) -> 1}",
          "0+22: a product of a dictionary of depth 1 of integers and a dictionary of depth 2 of integers");
    VALUE("1/{0 -> 1}", "0+10: a quotient of an integer and a dictionary of depth 1 of integers");
    VALUE("{0 -> 1}/{0 -> 1}", "9+8: a divisor is a number, not a dictionary of depth 1 of integers");
    VALUE("{0 -> 1}%2", "0+10: % takes numbers, not a dictionary of depth 1 of integers");
    VALUE("{x -> 1}", "1+1: a key is an integer, not a real number");
    VALUE("v(0.5)", "2+3: a key is an integer, not a real number");
    VALUE("0:x", "2+1: a bound is an integer, not a real number");
    VALUE("v(0, 1)", "0+7: 2 keys of a dictionary of depth 1 of reals");
    VALUE("n(3)", "0+1: an integer has no keys");
    VALUE("3(4)", "0+1: an integer has no keys");
    VALUE("sum(<i, _> in n) 1", "14+1: a sum loops over a dictionary, not over an integer");
    VALUE(
        "sum(<(i, j), _> in v) 1",
        "19+1: a loop with 2 keys needs as many dictionaries inside each other, not a dictionary of depth 1 of reals");
    VALUE("sum(<i, r> in A, <j, r> in A) 1", "21+1: 'r' is bound twice in one sum, which asks for equal numbers, but "
                                             "it is a dictionary of depth 1 of reals");
    VALUE("merge(<p, q, e> in <A, v>) 1",
          "20+1: merge takes dictionaries of numbers, not a dictionary of depth 2 of reals");
    VALUE("if (v > 1) 1", "4+1: what is compared is a number, not a dictionary of depth 1 of reals");
    VALUE("abs(v)", "4+1: an argument of abs is a number, not a dictionary of depth 1 of reals");
    VALUE("even_bits(x)", "10+1: an argument of even_bits is an integer, not a real number");
    VALUE("abs(1, 2)", "0+9: abs has one argument");
    VALUE("max(1)", "0+6: max has at least 2 arguments");
    VALUE("abs + 1", "0+3: abs is a function: it stands before its arguments in parentheses");
    VALUE("m + 1", "0+1: there is no 'm' here");
    VALUE("extent(v, 0)", "7+1: there is no relation 'v' here");
    VALUE("extent(A, 2)", "10+1: A has 2 dimensions, counted from 0");
    VALUE("n(1:2)", "0+1: a part e(i:j) is of a dictionary, not of an integer");
}

TEST(syntax_errors) {
    VALUE("", "0+0: an expression expected, but the text ends here");
    VALUE("1 +", "3+0: an expression expected, but the text ends here");
    VALUE("1 2", "2+1: the end of the expression expected, not '2'");
    VALUE("(1", "2+0: ')' expected, but the text ends here");
    VALUE("(1, 2)", "2+1: a tuple has no value");
    VALUE("{1}", "2+1: '->' and a value expected, not '}'");
    VALUE("{}", "1+1: an expression expected, not '}'");
    VALUE("{@sorted 1 -> 2}", "2+6: an annotation expected, not 'sorted'");
    VALUE("a > b", "2+1: the end of the expression expected, not '>'");
    VALUE("if (1) 2", "5+1: a comparison expected, not ')'");
    VALUE("if (n = 1) 2", "6+1: a comparison expected, not '='");
    VALUE("if (1 < 2 < 3) 2", "10+1: comparisons do not chain");
    VALUE("if (!1 < 2) 2", "5+1: '(' expected, not '1'");
    VALUE("sum(i in v) 1", "4+1: <key, value> in e expected, not 'i'");
    VALUE("sum(<i, v> of v) 1", "11+2: 'in' expected, not 'of'");
    VALUE("sum(<(i, _), v> in A)", "21+0: an expression expected, but the text ends here");
    VALUE("_ + 1", "0+1: _ binds nothing and has no value");
    VALUE("let in = 3 in 4", "4+2: a name expected, not 'in'");
    VALUE("let a = 3", "9+0: ',' or 'in' expected, but the text ends here");
    VALUE("2^3", "1+1: unexpected '^'");
    VALUE("3x", "0+2: '3x' is not a number");
    VALUE("a\x01", "1+1: a program has no control characters (byte 0x01)");
    VALUE("a \xC3\xA9", "2+2: unexpected '\xC3\xA9'");
    VALUE("1:2:3", "3+1: the end of the expression expected, not ':'");
}

/* text repeated n times between before and after */
static char *repeat(const char *before, const char *text, int n, const char *after) {
    tra_str s = {0};
    tra_str_add(&s, before);
    for (int i = 0; i < n; i++) tra_str_add(&s, text);
    tra_str_add(&s, after);
    return s.s;
}

static void check_deep(const char *text, const char *close, int n, const char *want) {
    char *after = repeat("1", close, n, ""), *all = repeat("", text, n, after);
    tra_str got = {0};
    evaluate(all, 100000000, &got);
    const char *from = strstr(tra_str_get(&got), want);
    if (!from || (!*want && got.n && strstr(got.s, "nested")))
        check_report("%d times %s: %.200s", n, text, tra_str_get(&got));
    tra_str_free(&got);
    free(after);
    free(all);
}

TEST(limits) {
    static const char *const deep[][2] = {
        {"(", ")"},  {"-", ""},           {"abs(", ")"},         {"{1 -> ", "}(1)"},         {"1 + (", ")"},
        {"v(", ")"}, {"if (1 < 2) ", ""}, {"let a = 2 in ", ""}, {"sum(<i, _> in 0:1) ", ""}};
    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++) {
        if (strcmp(deep[i][0], "v(")) check_deep(deep[i][0], deep[i][1], 100, "");
        check_deep(deep[i][0], deep[i][1], 100000, "nested deeper than 200");
    }
    check_deep("1 + ", "", 990, "991i");
    check_deep("1 + ", "", 100000, "an expression of more than 1000 operators in a row");
    check_deep("{0 -> 1} + {0 -> 1, 0 -> ", "}", 30, "");
    tra_str got = {0};
    char *loops = repeat("sum(<a, _> in 0:1", ", <_, _> in 0:1", 5000, ") 1");
    evaluate(loops, 100000, &got);
    CHECK(strstr(tra_str_get(&got), "too many loops inside each other"));
    free(loops);
    tra_str_free(&got);
    evaluate("sum(<i, _> in 0:9223372036854775807) 1", 10000, &got);
    CHECK_STR(tra_str_get(&got), "more steps than were allowed in 1");
    tra_str_free(&got);
    evaluate("sum(<i, _> in 9223372036854775805:9223372036854775807) i/4", 10000, &got);
    CHECK_STR(tra_str_get(&got), "4611686018427387902i");
    tra_str_free(&got);
}

/* Contributions come one by one, before they are added; those that an if leaves out are none, those of value 0 are. */
TEST(contributions) {
    tra_arena *a = tra_arena_new();
    tra_calc_error err;
    tra_err e = {0};
    const char *text = "sum(<i, _> in 0:4) {i/2 -> if (i != 1) i}";
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), a, &err);
    shown s = {.depth = 1};
    CHECK(x && tra_calc_check(x, 0, NULL, a, &err));
    CHECK_INT(tra_calc_run(x, 0, NULL, 1000, show, &s, &e), TRA_OK);
    CHECK_STR(tra_str_get(&s.out), "0:0i 1:2i 1:3i");
    tra_str_free(&s.out);
    tra_arena_free(a);
}
