/* test_lang_errors.c - what the parser says about texts that are wrong, and where; limits of the language. */
#include "diag_util.h"
#include "lang_util.h"

static void check_errors(int line, const char *text, int n, const char *want) {
    parsed p = parse_n(text, n);
    run(&p);
    check_diagnostics(line, tra_str_get(&p.text), want);
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
    ERRORS("storage\ntensor 5\n storage, x = qr(A)\ntensor",
           "1:8: error: a name expected, but the statement ends here\n2:8: error: a name expected, not '5'\n"
           "3:9: error: a name expected, not ','\n4:7: error: a name expected, but the statement ends here\n");
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
    ADVICE("C[i] = avg A[i,j]",
           "aggregations are sum, mean, max, min, prod, argmax and argmin, and others: tra help functions");
    ADVICE("C[i,j] = A[i,j] / sum[k] A[i,k]",
           "what an aggregation inside an expression is of stands in parentheses: sum[k](X[i,k])");
    ADVICE("C[i] = min A[i,j] + sum B[j,k]", "an aggregation stands once, directly after '='");
    ADVICE("C[i] = sum sum A[i,j]", "an aggregation stands once, directly after '='");
    ADVICE("C = sum A[i,j]", "the labels of the result stand on the left: C[i,j] = sum ..., or C[] = sum ...");
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
