/* Lexer, parser, diagnostics, names. */
#include "check.h"

#include "../../plans/lang/lang.h"
#include "../../plans/lang/names.h"

typedef struct parsed {
    tra_arena *arena;
    tra_script src;
    tra_diags d;
    tra_ast_program ast;
    tra_str text;
} parsed;

static parsed parse_n(const char *text, int n) {
    parsed p = {.arena = tra_arena_new(), .src = {"p.tra", text, n}};
    return p;
}

/* Parses into *p, which must stay where it is. */
static void run(parsed *p) {
    p->d = (tra_diags){.arena = p->arena, .src = &p->src};
    tra_parse(&p->src, p->arena, &p->d, &p->ast);
    tra_diags_print(&p->d, false, &p->text);
}

static void done(parsed *p) {
    tra_str_free(&p->text);
    tra_arena_free(p->arena);
}

/* The tree as an S-expression. */
static void show(const tra_ast *x, tra_str *out) {
    static const char *const heads[] = {"", "", "",  "list", "tuple", "call", "index", "of", "->",
                                        "", "", ".", "= ",   "desc",  "*",    "range", ""};
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
    p.src = (tra_script){"p.tra", text, (int)strlen(text)};
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

static void check_errors(int line, const char *text, int n, const char *want) {
    parsed p = parse_n(text, n);
    run(&p);
    tra_str got = {0}; /* the first lines of the diagnostics alone */
    const char *s = tra_str_get(&p.text);
    while (*s) {
        size_t len = strcspn(s, "\n");
        if (strncmp(s, "p.tra:", 6) == 0) {
            tra_str_addn(&got, s + 6, len - 6);
            tra_str_add(&got, "\n");
        }
        s += len + (s[len] == '\n');
    }
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: diagnostics are\n%snot\n%s", line, tra_str_get(&got), want);
    tra_str_free(&got);
    done(&p);
}
#define ERRORS(text, want) check_errors(__LINE__, text, (int)strlen(text), want)

TEST(errors) {
    ERRORS("C = join(A,\n", "1:9: error: this '(' is not closed\n");
    ERRORS("C = join(A, [0\noutput C\nD = 3 +\n", "1:9: error: this '(' is not closed\n"
                                                  "3:8: error: an expression expected, but the statement ends here\n");
    ERRORS("C = f(A,\nD[i] = 4\n", "1:6: error: this '(' is not closed\n");
    ERRORS("C = f(a)) + 1\nD = ]", "1:9: error: this ')' closes nothing\n2:5: error: this ']' closes nothing\n");
    ERRORS("C = f(a]\nD = * 2", "1:8: error: this ']' closes nothing\n1:6: note: open here\n"
                                "2:5: error: an expression expected, not '*'\n");
    ERRORS("A = 1\nB = 2\nA = 3\n", "3:1: error: 'A' is defined twice\n1:1: note: defined here before\n");
    ERRORS("grad X = 3\n",
           "1:1: error: 'grad' is kept for a later version of the language and cannot begin a statement\n");
    ERRORS("storage a[m, n] {\n real array v(m\nB = 3 +\n",
           "3:1: error: ',' or ')' expected, not 'B'\n"
           "3:8: error: an expression expected, but the statement ends "
           "here\n");
    ERRORS("C = f(A,\nstorage a[m] = levels(dense) junk\n", "1:6: error: this '(' is not closed\n"
                                                            "2:30: error: the end of the statement expected, not "
                                                            "'junk'\n");
    ERRORS("tensor A = {0 -> 1}\nstorage A[m] = levels(dense)\n",
           "2:9: error: 'A' is defined twice\n1:8: note: defined here before\n");
    ERRORS("input = 3\noutput[i] = input[i]\ngrad = 1\nparam def = 2\noutput output\n", "");
    ERRORS(
        "input A : f64 [4] as 3\nC[i] as = A[i]\noutput C as csr(\ninput B : f64 [4] nnz\ninput D from \"d.h5\" as x\n",
        "1:22: error: the name of a storage expected, not '3'\n"
        "2:9: error: the name of a storage expected, not '='\n"
        "3:16: error: this '(' is not closed\n"
        "4:22: error: an expression expected, but the statement ends here\n"
        "5:21: error: the end of the statement expected, not 'as'\n");
    ERRORS("C = f(A,\nD[i, j] as band( 5 ) = 4 +\n",
           "1:6: error: this '(' is not closed\n"
           "2:27: error: an expression expected, but the statement ends here\n");
    ERRORS("tra 2\nA = 1",
           "1:5: error: this program is in version 2 of the language; tra " TRA_VERSION " reads version 1\n");
    ERRORS("A = 1\ntra 1\n", "2:5: error: '=' expected, not '1'\n");
    ERRORS("x = a < b < c", "1:11: error: comparisons do not chain\n");
    ERRORS("x = \"abc\ny = \"a\\qc\"",
           "1:5: error: this string is not closed\n2:7: error: unknown escape in a string\n");
    ERRORS("x = 3x + 0x10\n", "1:5: error: '3x' is not a number\n1:10: error: '0x10' is not a number\n");
    ERRORS("x = 1e308 + 1e309\n", "1:13: error: this number is larger than an f64 holds\n");
    ERRORS("x = a & b", "1:7: error: unexpected '&'\n");
    ERRORS("x = (i,i) -> i", "1:8: error: parameter 'i' stands twice\n");
    ERRORS("x = (i,2) -> i", "1:8: error: the parameters before '->' are names\n");
    ERRORS("x = (a = b)", "1:8: error: ',' or ')' expected, not '='\n");
    ERRORS("x = f(a = b + )", "1:15: error: an expression expected, not ')'\n");
    ERRORS("x = `a\ny = ``\nz = `b` `c`\n", "1:5: error: this backquote is not closed\n"
                                            "2:5: error: a name is not empty\n"
                                            "3:9: error: the end of the statement expected, not '`c`'\n");
    ERRORS("x = f(* 2)\ny = f(a desc desc)\n", "1:7: error: an expression expected, not '*'\n"
                                               "2:14: error: ',' or ')' expected, not 'desc'\n");
    ERRORS("w, V = eigh(A)\nV = 3\n", "2:1: error: 'V' is defined twice\n1:4: note: defined here before\n");
    ERRORS("input T : table [a: i32, b] rows 3\ninput U : table [a: i32]\n",
           "1:27: error: ':' and the type of the column expected, not ']'\n"
           "2:25: error: 'rows' and their number expected, but the statement ends here\n");
    ERRORS("def f(x, x) = x\ndef g(x) = x + 1\ny = g(1, 2)\n",
           "1:10: error: parameter 'x' stands twice\n3:5: error: the macro g has 1 parameter, not 2\n"
           "2:5: note: defined here\n");
    ERRORS("def f(X) = X[i]\ny = f(1 + 2)\n",
           "2:7: error: the macro f puts indices on this argument, so that it must be the name of a relation\n");
    /* a line of arguments is indented deeper than its statement, else it is a statement of its own */
    ERRORS("T = project(S,\n  a = 1,\n  b = a)\n", "");
    ERRORS("T = project(S,\na = 1)\n", "1:12: error: this '(' is not closed\n2:6: error: this ')' closes nothing\n");
    ERRORS("C[2] = 1", "1:3: error: a label (a name) expected, not '2'\n");
    ERRORS("input A\noutput\noutput A to 3\n",
           "1:8: error: 'from' or ':' with a type expected, but the statement ends here\n"
           "2:7: error: the name of a relation expected, but the statement ends here\n"
           "3:13: error: a file name in quotes expected, not '3'\n");
    ERRORS("A B", "1:3: error: '=' expected, not 'B'\n");
    ERRORS("output A B", "1:10: error: the end of the statement expected, not 'B'\n");
    /* columns count characters */
    ERRORS("x = \"\xC3\xA9\xC3\xA9\" ?", "1:10: error: unexpected '?'\n");
    ERRORS("x = \xC3\xA9", "1:5: error: unexpected '\xC3\xA9'\n");
    ERRORS("x = 1\ny = \xFF", "2:5: error: a program is UTF-8 text; byte 0xff is not\n");
    check_errors(__LINE__, "x\0 = 1", 6, "1:2: error: a program is UTF-8 text; byte 0x00 is not\n");
}

/* What the first diagnostic says to write instead. */
static void check_advice(int line, const char *text, const char *want) {
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    const char *got = p.d.n ? p.d.v[0].advice : NULL;
    if (!got || strcmp(got, want) != 0)
        check_report("line %d: \"%s\": advice is\n#   %s, not\n#   %s", line, text, got ? got : "none", want);
    done(&p);
}
#define ADVICE(text, want) check_advice(__LINE__, text, want)

TEST(advice) {
    ADVICE("C[i] = avg A[i,j]", "aggregations are sum, mean, max, min, prod, argmax and argmin");
    ADVICE("C[i,j] = A[i,j] / sum[k] A[i,k]",
           "what an aggregation inside an expression is of stands in parentheses: sum[k](X[i,k])");
    ADVICE("C[i] = min A[i,j] + sum B[j,k]", "an aggregation stands once, directly after '='");
    ADVICE("C[i] = sum sum A[i,j]", "an aggregation stands once, directly after '='");
    ADVICE("C = sum A[i,j]", "the labels of the result stand on the left: C[i,j] = sum ...");
    ADVICE("C[i,k] = sum A[i,j] B[j,k]", "write * between factors, and each statement on a line of its own");
    ADVICE("x = 2 y", "write * between factors, and each statement on a line of its own");
    ADVICE("C[i] = A[i] ** 2", "a power is written x^2");
    ADVICE("C[i] = 0 < A[i] < 1", "write a < b && b < c");
}

TEST(carets) {
    const char *text = "\tC = join(A, \xC3\xA9)\n";
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    CHECK_STR(tra_str_get(&p.text), "p.tra:1:14: error: unexpected '\xC3\xA9'\n"
                                    "    \tC = join(A, \xC3\xA9)\n"
                                    "    \t            ^\n");
    done(&p);
    p = parse_n("abc = 1\n", 8);
    run(&p);
    tra_diag_warn(&p.d, p.ast.v[0].name_span, "do this", "what %d", 7);
    tra_diag_also(&p.d, (tra_span){6, 1}, "there");
    tra_str_free(&p.text);
    tra_diags_print(&p.d, false, &p.text);
    CHECK_STR(tra_str_get(&p.text), "p.tra:1:1: warning: what 7\n"
                                    "    abc = 1\n"
                                    "    ^~~\n"
                                    "    do this\n"
                                    "p.tra:1:7: note: there\n"
                                    "    abc = 1\n"
                                    "          ^\n");
    CHECK_INT(p.d.errors, 0);
    done(&p);
}

/* text repeated n times between before and after */
static char *repeat(const char *before, const char *text, int n, const char *after) {
    tra_str s = {0};
    tra_str_add(&s, before);
    for (int i = 0; i < n; i++) tra_str_add(&s, text);
    tra_str_add(&s, after);
    return s.s;
}

static int errors_in(const char *text, const char *message) {
    parsed p = parse_n(text, (int)strlen(text));
    run(&p);
    int n = p.d.errors;
    if (n && !strstr(tra_str_get(&p.text), message)) n = -1;
    done(&p);
    return n;
}

TEST(limits) {
    static const struct {
        const char *before, *text, *after;
    } deep[] = {{"x = ", "(", "1"},  {"x = ", "f(", "1"},  {"x = ", "-", "1"},
                {"x = ", "1^", "1"}, {"x = ", "x->", "1"}, {"x = ", "[", "1"}};
    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++) {
        tra_str close = {0};
        for (int j = 0; j < 150 && i != 2 && i != 3 && i != 4; j++) tra_str_add(&close, i == 5 ? "]" : ")");
        char *after = tra_asprintf("%s%s", deep[i].after, tra_str_get(&close));
        char *fine = repeat(deep[i].before, deep[i].text, 150, after);
        char *much = repeat(deep[i].before, deep[i].text, 100000, "1\ny = 2\n");
        CHECK_INT(errors_in(fine, ""), 0);
        CHECK(errors_in(much, i == 0 || i == 1 || i == 5 ? "" : "nested deeper than 200") > 0);
        free(fine);
        free(much);
        free(after);
        tra_str_free(&close);
    }
    char *chain = repeat("x = 1", "+1", 999, "\n"), *longer = repeat("x = 1", "+1", 200000, "\n");
    CHECK_INT(errors_in(chain, ""), 0);
    CHECK_INT(errors_in(longer, "more than 1000 operators"), 1);
    free(chain);
    free(longer);
}

TEST(large) {
    tra_str s = {0};
    for (int i = 0; i < 50000; i++) tra_str_printf(&s, "name%d = f(a, b, [1], %d)\n", i, i);
    double t = check_seconds();
    CHECK_INT(errors_in(s.s, ""), 0);
    CHECK(check_seconds() - t < 2);
    tra_str_free(&s);
    char *junk = repeat("", "? ", 500000, "");
    t = check_seconds();
    CHECK(errors_in(junk, "") > 0);
    CHECK(check_seconds() - t < 2);
    free(junk);
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
