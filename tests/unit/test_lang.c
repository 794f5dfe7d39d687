/* test_lang.c - lexer, parser, macros, names. */
#include "lang_util.h"

/* The tree as an S-expression. */
static void show(const tra_ast *x, tra_str *out) {
    static const char *const heads[] = {"",     "",      "",   "call", "index", "of",   "", "",     "list",
                                        "tuple", "->", ".", "= ",   "desc",  "*", "range", ""};
    if (x->quoted && x->kind == TRA_AST_NAME) {
        tra_str_printf(out, "`%s`", x->text);
        return;
    }
    if (x->kind == TRA_AST_STAR) {
        tra_str_add(out, "*");
        return;
    }
    if (x->kind == TRA_AST_NAME || x->kind == TRA_AST_NUMBER) {
        tra_str_add(out, x->text);
        return;
    }
    if (x->kind == TRA_AST_STRING) {
        tra_str_printf(out, "\"%s\"", x->text);
        return;
    }
    tra_str_printf(out, "(%s", heads[x->kind]);
    if (x->kind == TRA_AST_UNARY || x->kind == TRA_AST_BINARY || x->kind == TRA_AST_NAMED || x->kind == TRA_AST_LITERAL)
        tra_str_add(out, x->text);
    if (x->kind == TRA_AST_CALL || x->kind == TRA_AST_INDEX || x->kind == TRA_AST_AGGREGATE)
        tra_str_printf(out, " %s", x->text);
    for (int i = 0; i < x->nkids; i++) {
        tra_str_add(out, " ");
        show(x->kids[i], out);
    }
    tra_str_add(out, ")");
}

static void check_tree(int line, const char *text, const char *want) {
    char program[512];
    snprintf(program, sizeof program, "x = %s\n", text);
    parsed p = parse_n(program, (int)strlen(program));
    run(&p);
    tra_str got = {0};
    if (p.d.errors == 0 && p.ast.n == 1 && p.ast.v[0].value)
        show(p.ast.v[0].value, &got);
    else
        tra_str_add(&got, tra_str_get(&p.text));
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: \"%s\" is\n#   %s, not\n#   %s", line, text, tra_str_get(&got), want);
    tra_str_free(&got);
    done(&p);
}
#define TREE(text, want) check_tree(__LINE__, text, want)

TEST(expressions) {
    TREE("a", "a");
    TREE("join(A, A, [1], [0], matmul)", "(call join A A (list 1) (list 0) matmul)");
    TREE("agg(X, [], matadd)", "(call agg X (list) matadd)");
    TREE("a+b*c-d", "(- (+ a (* b c)) d)");
    TREE("a-b-c", "(- (- a b) c)");
    TREE("a/b*c%d", "(% (* (/ a b) c) d)");
    TREE("-x^2", "(- (^ x 2))");
    TREE("2^-3^x", "(^ 2 (- (^ 3 x)))");
    TREE("a^b^c", "(^ a (^ b c))");
    TREE("a < b && c == d || !e", "(|| (&& (< a b) (== c d)) (! e))");
    TREE("a + b < c * d", "(< (+ a b) (* c d))");
    TREE("(a)", "a");
    TREE("a[i] - max[k](b[i,k] + 1)", "(- (index a i) (of max k (+ (index b i k) 1)))");
    TREE("f((i,j) -> (j, i/2))", "(call f (-> i j (tuple j (/ i 2))))");
    TREE("x -> max(x, 0)", "(-> x (call max x 0))");
    TREE("(x) -> x", "(-> x x)");
    TREE("() -> (0)", "(-> 0)");
    TREE("i -> ()", "(-> i (tuple))");
    TREE("neg . scale(0.5) . \"ij->ji\"", "(. (. neg (call scale 0.5)) \"ij->ji\")");
    TREE("(x -> x^2) . rowsum", "(. (-> x (^ x 2)) rowsum)");
    TREE("X[i,j] / T[]", "(/ (index X i j) (index T))");
    TREE("1e-3 + .5 + 3.", "(+ (+ 1e-3 .5) 3.)");
    TREE("\"a\\\"b\\\\c\"", "\"a\"b\\c\"");
    TREE("input + output", "(+ input output)");
    TREE("a +\n  b", "(+ a b)");
    TREE("f(a,\n\n # comment ; here\n b\n)", "(call f a b)");
    TREE("f(x ->\n x)", "(call f (-> x x))");
}

TEST(arguments_by_name) {
    TREE("join(A, B, x == y, prefix = \"a_\")", "(call join A B (== x y) (= prefix \"a_\"))");
    TREE("group(T, [k, `Start ID`, m = a % 2], n = count(), *)",
         "(call group T (list k `Start ID` (= m (% a 2))) (= n (call count)) *)");
    TREE("order(T, [a desc, b, a + 1 desc])", "(call order T (list (desc a) b (desc (+ a 1))))");
    TREE("a div b * c", "(* (div a b) c)");
    TREE("`a``b` + date", "(+ `a`b` date)");
    TREE("t < date \"2017-04-15\" && u == timestamp \"x\"",
         "(&& (< t (date \"2017-04-15\")) (== u (timestamp \"x\")))");
    TREE("project(T,\n  a = 1,\n  *)", "(call project T (= a 1) *)");
}

/* The right side of the last statement of a program. */
static void check_expansion(int line, const char *text, const char *want) {
    parsed p = parse_n(text, (int)strlen(text));
    tra_str got = {0};
    run(&p);
    if (p.d.errors == 0 && p.ast.n)
        show(p.ast.v[p.ast.n - 1].value, &got);
    else
        tra_str_add(&got, tra_str_get(&p.text));
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: it is\n#   %s, not\n#   %s", line, tra_str_get(&got), want);
    tra_str_free(&got);
    done(&p);
}
#define EXPANDS(text, want) check_expansion(__LINE__, text, want)

TEST(macros) {
    EXPANDS("def sq(x) = x * x\ny = sq(a + 1)", "(* (+ a 1) (+ a 1))");
    EXPANDS("def sq(x) = x * x\ndef four(y) = sq(sq(y))\nz = four(2)", "(* (* 2 2) (* 2 2))");
    EXPANDS("def one() = 1\ny = one() + one", "(+ 1 one)");
    EXPANDS("def mean(X, i) = X[i,j] / 3\nD[k] = sum mean(A, k)", "(/ (index A k j) 3)");
    EXPANDS("def f(x, g) = h(x -> x + g)\ny = f(1, 2)", "(call h (-> x (+ x 2)))");
    EXPANDS("def f(x) = `x` + x\ny = f(1)", "(+ `x` 1)");
    EXPANDS("y = f(1)\ndef f(x) = x\nz = f(2)", "2");
    const char *most = "def f(x) = x + x\ny = f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(1))))))))))))))))))))\n";
    parsed p = parse_n(most, (int)strlen(most));
    run(&p);
    CHECK_INT(p.d.errors, 1);
    CHECK(strstr(tra_str_get(&p.text), "more than 100000 operators") != NULL);
    done(&p);
}

/* n calls of f, one inside the other. */
static void add_calls(tra_str *text, const char *f, int n, const char *inside) {
    for (int i = 0; i < n; i++) tra_str_printf(text, "%s(", f);
    tra_str_add(text, inside);
    for (int i = 0; i < n; i++) tra_str_add(text, ")");
}

/* y = -same(same(..1..)) within so many calls of a macro that makes 50 operators of one. */
static int errors_of_calls(int n, const char *want) {
    tra_str text = {0}, inside = {0};
    tra_str_add(&text, "def same(x) = x\ndef fifty(x) = x");
    for (int i = 0; i < 50; i++) tra_str_add(&text, " + 1");
    tra_str_add(&text, "\ny = ");
    tra_str_add(&inside, "-");
    add_calls(&inside, "same", 120, "1"); /* of which no operator stays */
    add_calls(&text, "fifty", n, tra_str_get(&inside));
    parsed p = parse_n(tra_str_get(&text), (int)text.n);
    run(&p);
    int errors = p.d.errors;
    CHECK(!errors || strstr(tra_str_get(&p.text), want));
    done(&p);
    tra_str_free(&text);
    tra_str_free(&inside);
    return errors;
}

TEST(macros_make_no_tree_too_high_to_walk) {
    const char *high = "macros make an expression of more than 1000 operators in a row";
    CHECK_INT(errors_of_calls(19, high), 0);
    CHECK_INT(errors_of_calls(20, high), 1);
}

TEST(tables_and_parts) {
    const char *text = "input T : table [start: i32, `end id`: string] rows 3 * n by 5\n"
                       "input U : table [a: f64] rows 10\n"
                       "w, V = eigh(A)\n";
    parsed p = parse_n("", 0);
    p.src = (tra_script){.name = "p.tra", .text = text, .n = (int)strlen(text)};
    run(&p);
    CHECK_INT(p.d.errors, 1); /* 3 * n stands in parentheses */
    done(&p);
    text = "input T : table [start: i32, `end id`: string] rows (3 * n) by 5 at all\n"
           "input U : table [a: f64] rows 10\n"
           "w, V = eigh(A)\n";
    p = parse_n(text, (int)strlen(text));
    run(&p);
    CHECK_INT(p.d.errors, 0);
    CHECK_INT(p.ast.n, 4);
    if (p.ast.n != 4) return;
    const tra_stmt *v = p.ast.v;
    CHECK_INT(v[0].ncolumns, 2);
    CHECK_STR(v[0].columns[1].name, "end id");
    CHECK_STR(v[0].columns[1].type, "string");
    CHECK(v[0].rows && v[0].rows_block && v[0].at && !v[0].shape);
    CHECK(v[1].rows && !v[1].rows_block);
    CHECK_STR(v[2].name, "w");
    CHECK_STR(v[3].name, "V");
    CHECK(v[2].part == 0 && v[3].part == 1 && v[3].nparts == 2 && v[2].value == v[3].value);
    done(&p);
}

TEST(statements) {
    const char *text = "tra 1\n"
                       "input A from \"a.h5:x\" at part(0, 1); param eta = 0.01 # a comment\r\n"
                       "input B : f32 [4, n] by [2, 2] at all\n"
                       "input D : f64 [7]\n"
                       "C[i,k] = sum A[i,j] * B[j,k]\n"
                       "T[] = max(A[i,j])\n"
                       "M[i] = max(a[i], b[i])\n"
                       "N[i] = min(a[i] + 1) * 2\n"
                       "output C\n"
                       "output T to \"o.h5\"";
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    CHECK_STR(tra_str_get(&p.text), "");
    CHECK_INT(p.ast.n, 10);
    if (p.ast.n != 10) return;
    const tra_stmt *v = p.ast.v;
    CHECK_INT(v[0].kind, TRA_STMT_INPUT);
    CHECK_STR(v[0].path, "a.h5:x");
    CHECK_INT(v[0].at->nkids, 2);
    CHECK_INT(v[1].kind, TRA_STMT_PARAM);
    CHECK_NEAR(v[1].value->value, 0.01, 0);
    CHECK(!v[1].value->integer);
    CHECK_STR(v[2].dtype, "f32");
    CHECK_INT(v[2].shape->nkids, 2);
    CHECK_INT(v[2].block->nkids, 2);
    CHECK_STR(v[2].at->text, "all");
    CHECK(v[3].block == NULL && v[3].shape->nkids == 1);
    CHECK_INT(v[4].kind, TRA_STMT_EINSUM);
    CHECK_INT(v[4].nlabels, 2);
    CHECK_STR(v[4].agg, "sum");
    CHECK_STR(v[4].value->text, "*");
    CHECK_INT(v[5].nlabels, 0);
    CHECK_STR(v[5].agg, "max");
    CHECK_INT(v[5].value->kind, TRA_AST_INDEX);
    CHECK(v[6].agg == NULL);
    CHECK_INT(v[6].value->kind, TRA_AST_CALL);
    CHECK_STR(v[7].agg, "min");
    CHECK_STR(v[7].value->text, "*");
    CHECK_INT(v[8].kind, TRA_STMT_OUTPUT);
    CHECK(v[8].path == NULL);
    CHECK_STR(v[9].path, "o.h5");
    done(&p);
}

TEST(storages_of_relations) {
    const char *text = "input B : f64 [9, n] by [3, 3] as csr nnz 2034917 at all\n"
                       "input D : f64 [9] nnz n\n"
                       "C[i,k] as bsr(8, 2*p) = sum A[i,j] * B[j,k]\n"
                       "T[] as dense = sum A[i,j]\n"
                       "D2 = store(C, band(5))\n"
                       "output C to \"c.h5\" as coo\n"
                       "output T as dense\n"
                       "output D2\n";
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    CHECK_STR(tra_str_get(&p.text), "");
    CHECK_INT(p.ast.n, 8);
    if (p.ast.n != 8) return;
    const tra_stmt *v = p.ast.v;
    CHECK_STR(v[0].as.name, "csr");
    CHECK_INT(v[0].as.nargs, 0);
    CHECK_STR(v[0].nnz->text, "2034917");
    CHECK_STR(v[0].at->text, "all");
    CHECK(v[1].as.name == NULL && v[1].nnz && v[1].nnz->kind == TRA_AST_NAME);
    CHECK_STR(v[2].as.name, "bsr");
    CHECK_INT(v[2].as.nargs, 2);
    CHECK_INT(v[2].as.args[1]->kind, TRA_AST_BINARY);
    CHECK_INT(v[2].as.span.len, (int)strlen("bsr(8, 2*p)"));
    CHECK_INT(v[2].as.name_span.len, 3);
    CHECK_STR(v[2].agg, "sum");
    CHECK_STR(v[3].as.name, "dense");
    CHECK_STR(v[4].value->kids[1]->text, "band");
    CHECK_STR(v[5].as.name, "coo");
    CHECK_STR(v[5].path, "c.h5");
    CHECK_STR(v[6].as.name, "dense");
    CHECK(v[6].path == NULL && v[7].as.name == NULL);
    done(&p);
}

TEST(storage_and_tensor_statements) {
    const char *text = "storage csr2[m, n] = levels(dense, sparse) # as the library's\n"
                       "storage low[n, n] {\n  real array v(n*(n+1)/2); int scalar q\n"
                       "  sum(<i,_> in 0:n, <j,_> in 0:i+1) { (i,j) -> v(i*(i+1)/2 + j) };\n} ; storage = 3\n"
                       "tensor Z[2*k, extent(A, 1)] by [4, 4] as band(5) = sum(<i,row> in A)\n"
                       "    sum(<j,a> in row) if (a > 0)\n  { (i,j) -> a }\n"
                       "tensor T = x +\n y\n"
                       "tensor[i] = A[i]\n"
                       "C = f(storage, tensor)\n";
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    CHECK_STR(tra_str_get(&p.text), "");
    CHECK_INT(p.ast.n, 7);
    if (p.ast.n != 7) return;
    const tra_stmt *v = p.ast.v;
    CHECK(v[0].kind == TRA_STMT_STORAGE && v[0].storage->nlevels == 2);
    CHECK_STR(v[0].name, "csr2");
    CHECK_INT(v[0].span.len, (int)strlen("storage csr2[m, n] = levels(dense, sparse)"));
    CHECK(v[1].kind == TRA_STMT_STORAGE && v[1].storage->ncomponents == 2 && v[1].storage->mapping);
    CHECK_INT(v[2].kind, TRA_STMT_ASSIGN);
    CHECK_STR(v[2].name, "storage");
    CHECK(v[3].kind == TRA_STMT_TENSOR && v[3].tensor->nextents == 2 && v[3].tensor->nblock == 2);
    CHECK_STR(v[3].tensor->storage, "band");
    CHECK_INT(v[3].tensor->nargs, 1);
    CHECK_INT(v[3].tensor->value->kind, TRA_CALC_SUM);
    CHECK(v[4].kind == TRA_STMT_TENSOR && v[4].tensor->nextents == -1);
    CHECK_INT(v[4].tensor->value->kind, TRA_CALC_ADD);
    CHECK_INT(v[5].kind, TRA_STMT_EINSUM);
    CHECK_STR(v[5].name, "tensor");
    done(&p);
}

TEST(nearest) {
    const char *names[] = {"matmul", "matadd", "A", "alpha"};
    CHECK_STR(tra_nearest("matmull", 4, names), "matmul");
    CHECK_STR(tra_nearest("amtadd", 4, names), "matadd");
    CHECK_STR(tra_nearest("a", 4, names), "A");
    CHECK_STR(tra_nearest("AA", 4, names), "A");
    CHECK(tra_nearest("B", 4, names) == NULL);
    CHECK(tra_nearest("elemmul", 4, names) == NULL);
    CHECK(tra_nearest("", 4, names) == NULL);
    tra_arena *a = tra_arena_new();
    tra_names t = {.arena = a};
    int v[100];
    CHECK_INT(tra_names_find(&t, "n0"), -1);
    for (int i = 0; i < 100; i++) CHECK_INT(tra_names_add(&t, tra_arena_printf(a, "n%d", i), &v[i]), i);
    CHECK_INT(tra_names_find(&t, "n57"), 57);
    CHECK(t.value[57] == &v[57]);
    CHECK_INT(tra_names_find(&t, "n100"), -1);
    tra_arena_free(a);
}
