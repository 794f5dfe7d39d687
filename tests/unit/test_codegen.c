/* Kernels that are compiled: the interpreter's bits for every construct of the calculus and for random plans. PLANS=n:
 * so many of these. */
#include "codegen_util.h"

#include <unistd.h>

static tra_codegen *compiling(void) {
    static tra_codegen *g;
    static char folder[256];
    if (g) return g;
    snprintf(folder, sizeof folder, "%s/tra-codegen-%ld", check_folder(), (long)getpid());
    setenv("TRA_CACHE", folder, 1);
    return g = tra_codegen_open(TRA_CODEGEN_REQUIRE);
}

static void same(int line, const char *text) {
    for (int facts = 0; facts < 2; facts++) {
        operands o;
        make_operands(&o, (unsigned)line, facts);
        const tra_calc *x = checked(&o, text);
        bool skipped = x && x->type.depth == 0 && facts != line % 2; /* such are compiled once */
        if (!skipped && check_plan(line, compiling(), &o, x, !facts, false) == 0)
            check_report("%s was not compiled", text);
        tra_arena_free(o.arena);
    }
}
#define SAME(text) same(__LINE__, text)

TEST(numbers) {
    SAME("1 + 2*k - 7/2 + 7%3 - -k");
    SAME("c*2.5 - k/4.0 + 7.5%2 + k*c");
    SAME("abs(-k) + min(k, 2, 5) + max(k, n) + floor(c*10) + even_bits(27) + odd_bits(27)");
    SAME("exp(c) + log(c) + sqrt(c) + real(k) + abs(-c) + min(c, k, 0.5) + max(c, x(4))");
    SAME("if (k < n && !(k == 2) || c > 1) c*3");
    SAME("if (k > n) c");
    SAME("let a = k*k, b = a + 1 in a*b - s");
    SAME("{() -> c}");
    SAME("x(4)*0.0 + d(0)");
}
TEST(lookups) {
    SAME("x(k) + x(-1) + x(100) + val(2)*idx(3)");
    SAME("h(0, 3) + h(1)(2) + h(4, 6) + t(3, 1) + t(99, 0) + t(2, 2)");
    SAME("x(2:5)(3) + x(2:5)(5) + x(2:5)(1) + (1:4)(2) + (1:4)(4)");
    SAME("(if (k > 1) x)(2) + (if (k > 5) x)(2) + (if (k > 1) h)(1, 2) + (if (k > 9) h(1))(2)");
    SAME("({2 -> 3.5, 4 -> c, 2 -> 1.0})(2) + ({(1, 2) -> c})(1)(2)");
    SAME("(if (sum(<_, v> in x(0:3)) v > 1) h(1))(2) + (if (k > 1 && x(sum(<i, _> in 0:k) 1) > 2) c)");
}
TEST(sums) {
    SAME("sum(<_, v> in val) v");
    SAME("sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) val(p)*x(j)");
    SAME("sum(<i, row> in h, <j, v> in row) v*d(j*m + i)");
    SAME("sum(<(i, j), v> in t) v*(i + j)");
    SAME("sum(<i, _> in -3:k) i*i");
    SAME("sum(<(i, i), v> in h) v");
    SAME("sum(<i, v> in u, <v, j> in w) i*j + v");
    SAME("sum(<i, c1> in x(1:4), <i, a> in val) c1*a");
    SAME("sum(<j, v> in (if (k > 2) x)) v");
    SAME("sum(<j, v> in h(1)(2:6)) v*j");
    SAME("sum(<i, _> in 0:k) sum(<j, _> in 0:i) if ((i + j)%2 == 0) x(j)");
}
TEST(merges) {
    SAME("merge(<p, q, v> in <u, w>) p*q + v");
    SAME("merge(<p, q, v> in <idx(ptr(0):ptr(1)), idx(ptr(1):ptr(2))>) val(p)*val(q)");
    SAME("merge(<p, q, v> in <idx, w>) v");
    SAME("merge(<p, q, v> in <1:9, u>) v + p*q");
    SAME("merge(<p, q, v> in <x, val>) v");
    SAME("merge(<p, p, v> in <u, w>) v");
    SAME("merge(<p, q, v> in <u, {1 -> 2, 3 -> 1}>) v + 10*p + q");
    SAME("merge(<p, q, v> in <u, w>) {v -> real(p*q)}");
}
TEST(dictionaries) {
    SAME("sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) {@unique (i, j) -> val(p)}");
    SAME("sum(<i, _> in 0:m) {i -> sum(<p, j> in idx(ptr(i):ptr(i + 1))) {j -> 2*val(p)}}");
    SAME("sum(<p, j> in idx) {(0, j) -> val(p)}");
    SAME("sum(<p, j> in idx) {(j, p) -> if (j < 5 && p < 7) val(p)}");
    SAME("sum(<(i, j), v> in h) {(m - 1 - i, j) -> v, (i, n - 1 - j) -> v*v}");
    SAME("sum(<j, v> in x) {j -> v}");
    SAME("x*c + d(0:n)");
    SAME("x - 2*x(2:5)");
    SAME("-x/c");
    SAME("h*(sum(<i, _> in 0:m, <j, _> in 0:n) {(i, j) -> real(i + j)})");
    SAME("h + t");
    SAME("if (k == 3) h");
    SAME("let z = h*2 in z + z*c");
    SAME("sum(<i, _> in 0:m) {i -> x(0:n)}");
    SAME("sum(<i, row> in h) {i -> row}");
    SAME("sum(<(i, j), v> in h) {(i, j, i) -> v}");
    SAME("{1 -> 3, 2 -> k, 1 -> 4}");
}
TEST(materialised) {
    SAME("let z = sum(<p, j> in idx) {@dense j -> val(p)} in sum(<j, v> in z) v*x(j)");
    SAME("let z = sum(<p, j> in idx) {@hash j -> val(p)} in sum(<j, v> in z) v*x(j)");
    SAME("let z = sum(<(i, j), v> in h) {@dense (i, j) -> v} in sum(<i, r> in z) {(i, 0) -> r(1) + r(3)}");
    SAME("let z = sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) {@dense (i, j) -> val(p)} in "
         "sum(<i, r> in z, <j, v> in r) {(i, j) -> v}");
    SAME("let z = sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) {@dense j -> {@dense i -> val(p)}} in "
         "sum(<j, r> in z) {(0, j) -> sum(<_, v> in r) v}");
    SAME("sum(<i, _> in 0:m) let z = sum(<p, j> in idx(ptr(i):ptr(i + 1))) {j -> val(p)} in "
         "{i -> sum(<j, v> in z) {n - 1 - j -> v}}");
    SAME("let z = sum(<(i, j), v> in h) {(j, i) -> v - v, (j, i) -> 1.0} in sum(<j, r> in z(1:6)) sum(<i, v> in r) "
         "i*j*v");
    SAME("let z = sum(<i, v> in u) {v -> i} in sum(<a, b> in z) a*b");
}
/* The kernels of the paper, in the forms that are to be found. */
TEST(kernels) {
    SAME("sum(<i, _> in 0:m) let z = sum(<p, j> in idx(ptr(i):ptr(i + 1))) val(p)*x(j) in "
         "sum(<p, j> in idx(ptr(i):ptr(i + 1))) {j -> c*z*val(p)}");
    SAME("sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) let a = val(p) in sum(<l, _> in 0:n) "
         "{(i, l) -> a*d(j*m + l)}");
    SAME("let z = sum(<p, j> in idx) {@dense j -> val(p)} in sum(<j, _> in 0:n) z(j)*(sum(<i, _> in 0:m) d(j*m + i))");
    SAME("sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1)), <q, l> in idx(ptr(j):ptr(j + 1))) {(i, l) -> "
         "val(p)*val(q)}");
}
/* Compiles the tree as rows and compares; does its C have that text? */
static bool rows_have(unsigned seed, const char *text, const char *c) {
    operands o;
    make_operands(&o, seed, true);
    const tra_calc *x = checked(&o, text);
    CHECK(check_same(__LINE__, compiling(), &o, x, TRA_CODEGEN_ROWS, TRA_ELEMENT_F64, false));
    tra_codegen_spec s = {.plan = x,
                          .n = o.n,
                          .scope = o.names,
                          .how = o.how,
                          .result = TRA_CODEGEN_ROWS,
                          .type = TRA_ELEMENT_F64,
                          .extent = {checked(&o, "m"), checked(&o, "n")}};
    tra_str all = {0};
    tra_err e = {0};
    CHECK_INT(tra_codegen_source(&s, &all, &e), TRA_OK);
    bool has = strstr(tra_str_get(&all), c) != NULL;
    tra_str_free(&all);
    tra_arena_free(o.arena);
    return has;
}
/* Loops over columns of a row, which are marked at once. */
TEST(ranges_of_columns) {
    static const char *const texts[] = {
        "sum(<i, _> in 0:m) {i -> sum(<p, j> in idx(ptr(i):ptr(i + 1))) let a = val(p) in sum(<l, _> in 0:n) {l -> "
        "a*x(l)}}",
        "sum(<i, _> in 0:m) {i -> sum(<p, j> in idx(ptr(i):ptr(i + 1))) sum(<l, _> in 2:4) {l -> val(p)*d(l)}}"};
    for (unsigned i = 0; i < 4; i++) /* 4 may be beyond n */
        CHECK(rows_have(7 + i, texts[i % 2], "= rows_range_(&rows") == (i % 2 == 0));
}
/* Sums whose terms may not meet are no entries where they are 0; products of entries are not looked at. */
TEST(zeros_that_are_no_entries) {
    for (unsigned i = 0; i < 4; i++) {
        CHECK(rows_have(11 + i,
                        "sum(<i, _> in 0:m) {i -> sum(<p, j> in idx(ptr(i):ptr(i + 1))) {j -> val(p)*(sum(<q, l> in "
                        "idx(ptr(1):ptr(2))) if (j == l) val(q))}}",
                        "!= 0) put_(&rows"));
        CHECK(!rows_have(11 + i, "sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) {(i, j) -> val(p)*x(j)}",
                         "!= 0) put_(&rows"));
    }
}
TEST(errors) {
    SAME("1/(k - 3)");
    SAME("1%(k - 3)");
    SAME("sum(<i, _> in 0:100) k*3037000500*(i + 1)*1000000000");
    SAME("floor(exp(c*1000))");
    SAME("even_bits(-k)");
    SAME("9223372036854775807 + k");
    SAME("-9223372036854775807 - k");
    SAME("sum(<i, v> in x) {i + 1 -> v}");
    SAME("sum(<i, v> in x) {(0, i - 1) -> v}");
    SAME("sum(<i, v> in x) {2 -> 9223372036854775807}");
}

TEST(integers_of_all_sizes) {
    operands o;
    make_operands(&o, 3, false);
    int64_t large = INT64_MAX / 3;
    o.scope[2].number = tra_calc_int(large);
    const tra_calc *x = checked(&o, "k + m*2 + k%7 + (sum(<i, _> in k:k + 3) i%5)");
    CHECK(check_plan(__LINE__, compiling(), &o, x, false, true) == 1);
    /* a kernel that is not wide says that it cannot */
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_I64};
    const tra_codegen_kernel *kernel;
    tra_err e = {0};
    int64_t out = 0;
    CHECK_INT(tra_codegen_make(compiling(), &s, true, &kernel, &e), TRA_OK);
    CHECK_INT(tra_codegen_run(kernel, &(tra_codegen_call){.scope = o.scope, .out = &out}, &e), TRA_RESOURCE);
    tra_arena_free(o.arena);
}

TEST(results_of_other_types) {
    operands o;
    make_operands(&o, 5, true);
    const tra_calc *x =
        checked(&o, "sum(<i, _> in 0:m, <p, j> in idx(ptr(i):ptr(i + 1))) {(i, j) -> val(p), (i, 0) -> x(j)}");
    CHECK(check_same(__LINE__, compiling(), &o, x, TRA_CODEGEN_DENSE, TRA_ELEMENT_F32, false));
    CHECK(check_same(__LINE__, compiling(), &o, x, TRA_CODEGEN_ROWS, TRA_ELEMENT_F32, false));
    tra_codegen_spec s = {.name = "Z",
                          .plan = x,
                          .n = o.n,
                          .scope = o.names,
                          .how = o.how,
                          .result = TRA_CODEGEN_DENSE,
                          .type = TRA_ELEMENT_I64,
                          .extent = {checked(&o, "m"), checked(&o, "n")}};
    tra_str text = {0};
    tra_err e = {0};
    CHECK_INT(tra_codegen_source(&s, &text, &e), TRA_PROGRAM);
    tra_str_free(&text);
    tra_arena_free(o.arena);
}

TEST(arrays_of_other_sizes_are_refused) {
    operands o;
    make_operands(&o, 7, true);
    const tra_calc *x = checked(&o, "sum(<j, v> in x) v");
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    const tra_codegen_kernel *kernel;
    tra_err e = {0};
    double out = 0;
    CHECK_INT(tra_codegen_make(compiling(), &s, true, &kernel, &e), TRA_OK);
    o.data[7].value.n--;
    CHECK_INT(tra_codegen_run(kernel, &(tra_codegen_call){.scope = o.scope, .out = &out}, &e), TRA_INPUT);
    tra_arena_free(o.arena);
}

/* Dictionaries take no more memory than the caller allows. */
TEST(memory_is_bounded) {
    operands o;
    make_operands(&o, 7, true);
    const tra_calc *x = checked(&o, "let z = sum(<i, _> in 0:1000) {i*7 -> 1.0} in sum(<_, v> in z) v");
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    const tra_codegen_kernel *kernel;
    tra_err e = {0};
    double out = 0;
    CHECK_INT(tra_codegen_make(compiling(), &s, true, &kernel, &e), TRA_OK);
    CHECK_INT(tra_codegen_run(kernel, &(tra_codegen_call){.scope = o.scope, .out = &out, .most = 10000}, &e),
              TRA_RESOURCE);
    tra_err none = {0};
    CHECK_INT(tra_codegen_run(kernel, &(tra_codegen_call){.scope = o.scope, .out = &out, .most = 1 << 20}, &none),
              TRA_OK);
    CHECK(out == 1000);
    tra_arena_free(o.arena);
}

/* A dictionary that is built again and again, with keys in no order, takes the caller's memory once. */
TEST(memory_of_the_caller_is_used_again) {
    operands o;
    make_operands(&o, 7, true);
    const tra_calc *x = checked(&o, "sum(<i, _> in 0:1000) let z = sum(<j, _> in 0:100) {i-j*7 -> 1.0} in "
                                    "sum(<_, v> in z) v");
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    const tra_codegen_kernel *kernel;
    tra_err e = {0};
    double out = 0;
    int64_t memory[1 << 12];
    tra_codegen_call call = {.scope = o.scope, .out = &out, .memory = memory, .most = sizeof memory};
    CHECK_INT(tra_codegen_make(compiling(), &s, true, &kernel, &e), TRA_OK);
    CHECK_INT(tra_codegen_run(kernel, &call, &e), TRA_OK);
    CHECK(out == 100000);
    tra_arena_free(o.arena);
}

/* Keys of a loop over an array are below its extent, so what is made of it is an array too: planners count on it. */
TEST(arrays_are_made_of_arrays) {
    operands o;
    make_operands(&o, 7, true);
    const tra_calc *x = checked(&o, "let y = let z = sum(<i, _> in 0:m) sum(<p, j> in idx(ptr(i):ptr(i+1))) "
                                    "{@dense (j, i) -> val(p)} in sum(<j, row> in z) sum(<i, v> in row) "
                                    "{@dense (i, j) -> v} in sum(<i, row> in y) sum(<_, v> in row) v");
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    tra_str text = {0};
    tra_err e = {0};
    CHECK_INT(tra_codegen_source(&s, &text, &e), TRA_OK);
    CHECK(!strstr(tra_str_get(&text), "struct dict_"));
    tra_str_free(&text);
    CHECK_INT(check_plan(__LINE__, compiling(), &o, x, false, false), 1);
    tra_arena_free(o.arena);
}

/* Names of a program become names of C, whatever they are. */
TEST(names_of_c) {
    operands o;
    make_operands(&o, 1, true);
    static const char *const names[] = {"int", "bad", "exp", "val_n", "extent0", "a", "out", "NAN", "INT64_MAX", "end"};
    for (int i = 0; i < 6; i++) o.names[i].name = i == 2 ? "log" : names[i];
    for (int i = 0; i < 10; i++) {
        char text[256];
        snprintf(text, sizeof text, "let %s = 2.5 in sum(<%s, %s_> in 0:3) exp(real(%s))*%s_", names[i], names[i],
                 names[i], names[i], names[i]);
        if (strcmp(names[i], "exp") == 0) continue; /* hides the function */
        const tra_calc *x = checked(&o, text);
        CHECK(check_plan(__LINE__, compiling(), &o, x, false, false) == 1);
    }
    tra_arena_free(o.arena);
}

/* ---- random plans ----------------------------------------------------------------------------------------------- */

static void number(operands *o, tra_str *out, int depth, int bound);
static void whole(operands *o, tra_str *out, int depth, int bound);

static void dictionary(operands *o, tra_str *out, int depth, int bound) {
    switch (draw(o, depth > 0 ? 9 : 4)) {
    case 0: tra_str_add(out, "x"); return;
    case 1: tra_str_add(out, "val"); return;
    case 2: tra_str_add(out, "h(1)"); return;
    case 3: tra_str_add(out, "t(3)"); return;
    case 4:
        tra_str_add(out, "(");
        dictionary(o, out, depth - 1, bound);
        tra_str_add(out, draw(o, 2) ? " + " : " - ");
        dictionary(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    case 5:
        tra_str_add(out, "(");
        number(o, out, depth - 1, bound);
        tra_str_add(out, "*");
        dictionary(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    case 6:
        tra_str_printf(out, "(sum(<a%d, b%d> in ", bound, bound);
        dictionary(o, out, depth - 1, bound);
        static const char *const notes[] = {"", "@dense ", "@hash "};
        tra_str_printf(out, ") {%s", notes[draw(o, 3)]);
        whole(o, out, depth - 1, bound + 1);
        tra_str_add(out, " -> ");
        number(o, out, depth - 1, bound + 1);
        tra_str_add(out, "})");
        return;
    case 7:
        tra_str_add(out, "(if (");
        number(o, out, 0, bound);
        tra_str_add(out, " < 20) ");
        dictionary(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    default:
        dictionary(o, out, depth - 1, bound);
        tra_str_printf(out, "(%u:", draw(o, 3));
        whole(o, out, 0, bound);
        tra_str_add(out, ")");
    }
}

static void whole(operands *o, tra_str *out, int depth, int bound) {
    switch (draw(o, depth > 0 ? 8 : 3)) {
    case 0: tra_str_printf(out, "%u", draw(o, 6)); return;
    case 1: tra_str_add(out, draw(o, 2) ? "k" : "n"); return;
    case 2:
        if (bound)
            tra_str_printf(out, "a%u", draw(o, (unsigned)bound));
        else
            tra_str_add(out, "m");
        return;
    case 3:
        tra_str_add(out, "idx(");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    case 4:
        tra_str_add(out, "abs(");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, " - ");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ")%7");
        return;
    case 5:
        tra_str_add(out, "(");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, " + ");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ")/2");
        return;
    default:
        tra_str_printf(out, "(sum(<a%d, b%d> in 0:", bound, bound);
        whole(o, out, 0, bound);
        tra_str_add(out, ") ");
        whole(o, out, depth - 1, bound + 1);
        tra_str_add(out, ")%5");
    }
}

static void number(operands *o, tra_str *out, int depth, int bound) {
    switch (draw(o, depth > 0 ? 9 : 4)) {
    case 0: tra_str_add(out, "c"); return;
    case 1:
        tra_str_add(out, "x(");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    case 2:
        if (bound)
            tra_str_printf(out, "b%u", draw(o, (unsigned)bound));
        else
            tra_str_add(out, "1.5");
        return;
    case 3:
        tra_str_add(out, "h(");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ", ");
        whole(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    case 4:
    case 5: {
        static const char *const ops[] = {" + ", "*", " - ", "/"};
        tra_str_add(out, "(");
        number(o, out, depth - 1, bound);
        tra_str_add(out, ops[draw(o, 4)]);
        number(o, out, depth - 1, bound);
        tra_str_add(out, ")");
        return;
    }
    case 6:
        tra_str_printf(out, "(let b%d = ", bound);
        number(o, out, depth - 1, bound);
        tra_str_printf(out, ", a%d = ", bound);
        whole(o, out, depth - 1, bound);
        tra_str_add(out, " in ");
        number(o, out, depth - 1, bound + 1);
        tra_str_add(out, ")");
        return;
    default:
        tra_str_printf(out, "(sum(<a%d, b%d> in ", bound, bound);
        dictionary(o, out, depth - 1, bound);
        tra_str_add(out, ") ");
        number(o, out, depth - 1, bound + 1);
        tra_str_add(out, ")");
    }
}

TEST(random_plans) {
    const char *many = getenv("PLANS");
    for (unsigned seed = 1; seed <= (unsigned)(many ? atoi(many) : 24); seed++) {
        operands o;
        tra_str text = {0};
        make_operands(&o, seed * 7919, seed % 2);
        draw(&o, 2);
        if (seed % 3)
            dictionary(&o, &text, 4, 0);
        else
            number(&o, &text, 4, 0);
        const tra_calc *x = checked(&o, tra_str_get(&text));
        if (check_plan((int)seed, compiling(), &o, x, seed / 2 % 2, false) == 0)
            check_report("%s: not compiled", tra_str_get(&text));
        tra_str_free(&text);
        tra_arena_free(o.arena);
    }
}

TEST(nothing_is_left) {
    tra_codegen_close(compiling());
    char *folder = getenv("TRA_CACHE");
    CHECK(folder && tra_remove_files_of(folder));
}
