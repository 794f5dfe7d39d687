/* The typed graph: building it from programs, typing of operators, printing. */
#include "check.h"
#include "diag_util.h"
#include "graph_valid.h"

#include "../../plans/tra/tra.h"

typedef struct built {
    tra_arena *arena;
    tra_script src;
    tra_diags d;
    tra_graph *g;
    tra_status status;
    tra_err e;
    tra_str text; /* diagnostics */
} built;

static void build_with(built *b, const char *text, const char *define) {
    *b = (built){.arena = tra_arena_new(), .src = {"p.tra", text, (int)strlen(text)}};
    b->d = (tra_diags){.arena = b->arena, .src = &b->src};
    b->status = tra_graph_build(&b->src, &(tra_building){.dir = "dir", .ndefines = define != NULL, .defines = &define},
                                b->arena, &b->d, &b->g, &b->e);
    tra_diags_print(&b->d, false, &b->text);
}

static void build(built *b, const char *text) { build_with(b, text, NULL); }

static void done(built *b) {
    tra_graph_close(b->g);
    tra_str_free(&b->text);
    tra_arena_free(b->arena);
}

static const tra_node *named(const built *b, const char *name) {
    for (int i = 0; b->g && i < b->g->nnames; i++)
        if (strcmp(b->g->names[i].name, name) == 0) return b->g->names[i].node;
    return NULL;
}

/* ---- types of programs -------------------------------------------------------------------------------------- */

static void check_line(int line, const built *b, const char *want) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(want, ":"), want);
    const tra_node *n = named(b, name);
    tra_str got = {0};
    if (n) tra_node_describe(n, &got);
    if (!n || strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: type is\n#   %s, not\n#   %s\n%s", line, tra_str_get(&got), want, tra_str_get(&b->text));
    tra_str_free(&got);
}
#define LINE(want) check_line(__LINE__, &b, want)

static uint32_t cut(const built *b, const char *name, int dim) { return named(b, name)->type.cut[dim]; }

TEST(matmul) {
    built b;
    build(&b, "input A : f64 [70, 50] by [20, 20]\ninput B : f32 [50, 11] by [20, 4]\n"
              "P = join(A, B, [1], [0], matmul)\nC = agg(P, [0,2], matadd)\noutput C\n");
    CHECK_INT(b.status, TRA_OK);
    CHECK_STR(tra_str_get(&b.text), "");
    LINE("A: keys 2 <4,3>, f64 20 x 20, tensor 70 x 50, 12 tuples, 27.3 KiB");
    LINE("B: keys 2 <3,3>, f32 20 x 4, tensor 50 x 11, 9 tuples, 2.1 KiB");
    LINE("P: keys 3 <4,3,3>, f64 20 x 4, tensor 70 x 11, 36 tuples, 18 KiB");
    LINE("C: keys 2 <4,3>, f64 20 x 4, tensor 70 x 11, 12 tuples, 6 KiB");
    CHECK_INT(cut(&b, "P", 0), 1);
    CHECK_INT(cut(&b, "P", 1), 4);
    CHECK_INT(cut(&b, "C", 1), 2);
    const char *why = "";
    CHECK(graph_valid(b.g, &why));
    CHECK_STR(why, "");
    CHECK_INT(b.g->noutputs, 1);
    CHECK_STR(b.g->outputs[0].path, "dir/C.h5");
    CHECK_INT(named(&b, "A")->uses, 1);
    CHECK_INT(named(&b, "C")->uses, 1);
    done(&b);
}

TEST(element_types) {
    built b;
    build(&b, "input L : i64 [4, 4] by [2, 2]\ninput I : i32 [4, 4] by [2, 2]\ninput B : bool [4, 4] by [2, 2]\n"
              "input F : f32 [4, 4] by [2, 2]\ninput D : f64 [4, 4] by [2, 2]\n"
              "P = join(I, B, [1], [0], matmul)\nS = agg(P, [0,2], matadd)\n"
              "M = agg(I, [0], elemmax)\nN = agg(B, [0], matadd)\nX = agg(L, [], maxindex)\n"
              "T = transform(I, x -> x * 0.5)\nU = transform(I, x -> x * 2 < 9)\n"
              "C[i,k] = sum I[i,j] * I[j,k]\nE[i,j] = I[i,j] + B[i,j]\nG[i] = sum (D[i,j] > 0)\n"
              "H[i] = max I[i,j] * L[j,i]\nK[i] = sum I[i,j] / 2\nQ[i,j] = F[i,j] * B[i,j]\n"
              "R[i] = sum 3 * I[i,j] + I[j,i]\nV = softmax(I)\nW = transpose(B)\n");
    CHECK_INT(b.status, TRA_OK);
    static const struct {
        const char *name;
        tra_dtype t;
    } want[] = {{"P", TRA_I64},  {"S", TRA_I64}, {"M", TRA_I32}, {"N", TRA_I64}, {"X", TRA_F64}, {"T", TRA_F64},
                {"U", TRA_BOOL}, {"C", TRA_I64}, {"E", TRA_I32}, {"G", TRA_I64}, {"H", TRA_I64}, {"K", TRA_F64},
                {"Q", TRA_F32},  {"R", TRA_I64}, {"V", TRA_F64}, {"W", TRA_BOOL}};
    for (size_t i = 0; b.status == TRA_OK && i < sizeof want / sizeof *want; i++) {
        const tra_node *n = named(&b, want[i].name);
        if (!n || n->type.dtype != want[i].t)
            check_report("%s is %s, not %s", want[i].name, n ? tra_dtype_name(n->type.dtype) : "nothing",
                         tra_dtype_name(want[i].t));
    }
    done(&b);
}

TEST(nearest_neighbour) {
    built b;
    build(&b, "input q : f64 [1, 60] by [1, 20]\ninput X : f64 [1000, 60] by [300, 20]\n"
              "input A : f64 [60, 60] by [20, 20]\n"
              "diff = join(q, X, [1], [1], matvecsub)\nD = rekey(diff, (o, d, n) -> (n, d))\n"
              "proj = agg(join(D, A, [1], [0], matmul), [0,2], matadd)\n"
              "dist = transform(agg(join(proj, D, [0,1], [0,1], elemmul), [0], matadd), rowsum)\n"
              "best = agg(dist, [], minindex)\noutput best\n");
    CHECK_STR(tra_str_get(&b.text), "");
    LINE("diff: keys 3 <1,3,4>, f64 300 x 20, tensor 1000 x 60, 12 tuples, 468.8 KiB");
    LINE("D: keys 2 <4,3>, f64 300 x 20, tensor 1000 x 60, 12 tuples, 468.8 KiB");
    LINE("dist: keys 1 <4>, f64 300, tensor 1000, 4 tuples, 7.8 KiB");
    LINE("best: keys 0 <>, f64 2, tensor 2, 1 tuple, 16 B");
    CHECK_INT(cut(&b, "diff", 0), 4);
    CHECK_INT(cut(&b, "diff", 1), 2);
    done(&b);
}

TEST(every_operator) {
    built b;
    build(&b, "input A : f64 [10, 9] by [4, 3]\ninput S : f64 [3, 0]\ninput one : f64 []\nparam n = 2\n"
              "tiled = tile(A, 0, n)\nwhole = concat(tiled, n, 0)\nrow = concat(A, 1, 1)\ncol = concat(A, 0, 0)\n"
              "sm = transform(row, softmax)\nparts = repart(A, [3, n-1])\nsame = reblock(A, [100, 5])\n"
              "lower = filter(A, (i,j) -> i >= j)\ntop = filter(A, (i,j) -> i < n)\nnone = filter(A, (i,j) -> 0)\n"
              "t = rekey(transform(A, transpose), (i,j) -> (j,i))\nd = transform(A, diag)\n"
              "flat = rekey(A, (i,j) -> i*3 + j)\ntotal = agg(A, [], matadd)\nsums = agg(A, [1], colsum . matadd)\n"
              "o = join(A, A, [], [], outer)\ne = agg(S, [], matadd)\nk = transform(one, x -> x + n)\n"
              "s2 = reblock(S, [2, 2])\nrev = rekey(A, (i,j) -> (2-i, j))\nsq = transform(A, \"ij->ji\")\n"
              "m = join(A, A, [0,1], [0,1], (x,y) -> (x-y)^2)\nal = m\nfewer = agg(lower, [0], elemmax)\n"
              "gone = agg(none, [1], matadd)\nuntiled = agg(tiled, [0,1], matadd)\n"
              "smw = transform(reblock(A, [4, 9]), softmax)\nback = agg(rev, [1], matadd)\n"
              "dcol = transform(col, diag)\n");
    CHECK_STR(tra_str_get(&b.text), "");
    LINE("tiled: keys 3 <3,3,2>, f64 2 x 3, tuple layout, 15 tuples, 720 B, 3 holes");
    LINE("whole: keys 2 <3,3>, f64 4 x 3, tensor 10 x 9, 9 tuples, 720 B");
    LINE("row: keys 1 <3>, f64 4 x 9, tensor 10 x 9, 3 tuples, 720 B");
    LINE("col: keys 1 <3>, f64 10 x 3, tensor 10 x 9, 3 tuples, 720 B");
    LINE("sm: keys 1 <3>, f64 4 x 9, tensor 10 x 9, 3 tuples, 720 B");
    LINE("parts: keys 2 <3,1>, f64 4 x 9, tensor 10 x 9, 3 tuples, 720 B");
    LINE("same: keys 2 <1,2>, f64 10 x 5, tensor 10 x 9, 2 tuples, 720 B");
    LINE("lower: keys 2 <3,3>, f64 4 x 3, tensor 10 x 9, 6 tuples, 432 B, 3 holes");
    LINE("top: keys 2 <2,3>, f64 4 x 3, tensor 8 x 9, 6 tuples, 576 B");
    LINE("none: keys 2 <0,0>, f64 4 x 3, tensor 0 x 0, 0 tuples, 0 B");
    LINE("t: keys 2 <3,3>, f64 3 x 4, tensor 9 x 10, 9 tuples, 720 B");
    LINE("d: keys 2 <3,3>, f64 3, tensor 8, 9 tuples, 192 B");
    LINE("flat: keys 1 <9>, f64 4 x 3, tuple layout, 9 tuples, 720 B");
    LINE("total: keys 0 <>, f64 4 x 3, tensor 4 x 3, 1 tuple, 96 B");
    LINE("sums: keys 1 <3>, f64 3, tensor 9, 3 tuples, 72 B");
    LINE("o: keys 4 <3,3,3,3>, f64 4 x 3 x 4 x 3, tensor 10 x 9 x 10 x 9, 81 tuples, 63.3 KiB");
    LINE("e: keys 0 <>, f64 3 x 1, tensor 3 x 1, 0 tuples, 0 B, 1 hole");
    LINE("k: keys 0 <>, f64 scalar, tensor scalar, 1 tuple, 8 B");
    LINE("s2: keys 2 <2,0>, f64 2 x 1, tensor 3 x 0, 0 tuples, 0 B");
    LINE("rev: keys 2 <3,3>, f64 4 x 3, tuple layout, 9 tuples, 720 B");
    LINE("sq: keys 2 <3,3>, f64 3 x 4, tensor 9 x 10, 9 tuples, 720 B");
    LINE("m: keys 2 <3,3>, f64 4 x 3, tensor 10 x 9, 9 tuples, 720 B");
    LINE("fewer: keys 1 <3>, f64 4 x 3, tensor 10 x 3, 3 tuples, 240 B");
    LINE("gone: keys 1 <0>, f64 4 x 3, tensor 4 x 0, 0 tuples, 0 B");
    LINE("smw: keys 2 <3,1>, f64 4 x 9, tensor 10 x 9, 3 tuples, 720 B");
    LINE("back: keys 1 <3>, f64 4 x 3, tensor 4 x 9, 3 tuples, 288 B");
    CHECK_INT(cut(&b, "untiled", 0), 0);
    CHECK_INT(cut(&b, "dcol", 0), 1);
    CHECK(named(&b, "al") == named(&b, "m"));
    CHECK_INT(cut(&b, "tiled", 0), 5);
    CHECK_INT(cut(&b, "whole", 0), 1);
    CHECK_INT(cut(&b, "row", 1), 0);
    CHECK_INT(cut(&b, "d", 0), 1);
    CHECK_INT(cut(&b, "flat", 0), 0);
    CHECK_INT(cut(&b, "o", 2), 4);
    CHECK_INT(cut(&b, "sums", 0), 1);
    CHECK_INT(cut(&b, "total", 0), 0);
    const char *why = "";
    CHECK(graph_valid(b.g, &why));
    CHECK_STR(why, "");
    done(&b);
}

/* Relations of which no tuple may be looked at. */
TEST(huge) {
    built b;
    double t = check_seconds();
    build(&b, "input A : f64 [10000001, 10000001] by [10, 10]\n"
              "C = agg(join(A, A, [1], [0], matmul), [0,2], matadd)\n"
              "t = rekey(transform(A, transpose), (i,j) -> (j,i))\n"
              "z = rekey(A, (i,j) -> (0, i, j, 0))\nrow = filter(A, (i,j) -> i == 3 && j < 5)\n"
              "top = filter(A, (i,j) -> i < 1000 && 1)\n"
              "r = transform(agg(A, [0], matadd), rowsum)\nr2 = repart(A, [4, 4])\n"
              "s2 = join(A, row, [0,1], [1,0], outer)\n"
              "c = concat(A, 1, 1)\nflip = rekey(r2, (i,j) -> (3-i, j))\n");
    CHECK(check_seconds() - t < 1);
    LINE("C: keys 2 <1000001,1000001>, f64 10 x 10, tensor 10000001 x 10000001, 1000002000001 tuples, 727.6 TiB");
    LINE("t: keys 2 <1000001,1000001>, f64 10 x 10, tensor 10000001 x 10000001, 1000002000001 tuples, 727.6 TiB");
    LINE("z: keys 4 <1,1000001,1000001,1>, f64 10 x 10, tensor 10000001 x 10000001, 1000002000001 tuples, 727.6 TiB");
    LINE("row: keys 2 <4,5>, f64 10 x 10, tensor 40 x 50, 5 tuples, 3.9 KiB, 15 holes");
    LINE("top: keys 2 <1000,1000001>, f64 10 x 10, tensor 10000 x 10000001, 1000001000 tuples, 745.1 GiB");
    LINE("r: keys 1 <1000001>, f64 10, tensor 10000001, 1000001 tuples, 76.3 MiB");
    LINE("r2: keys 2 <4,4>, f64 2500001 x 2500001, tensor 10000001 x 10000001, 16 tuples, 727.6 TiB");
    LINE("s2: keys 2 <5,4>, f64 10 x 10 x 10 x 10, tuple layout, 5 tuples, 390.6 KiB, 15 holes");
    LINE("c: keys 1 <1000001>, f64 10 x 10000001, tensor 10000001 x 10000001, 1000001 tuples, 727.6 TiB");
    LINE("flip: keys 2 <4,4>, f64 2500001 x 2500001, tuple layout, 16 tuples, 727.6 TiB");
    done(&b);
}

/* ---- errors ------------------------------------------------------------------------------------------------- */

/* The first lines of all diagnostics of a program that begins with a declaration of A and B. */
static void check_errors(int line, const char *text, const char *want) {
    built b;
    char *all =
        tra_asprintf("input A : f64 [10, 9] by [4, 3]; input B : f64 [9, 6] by [3, 2]; param p = 0.5\n%s", text);
    build(&b, all);
    check_diagnostics(line, tra_str_get(&b.text), want);
    if (b.status != (b.d.errors ? TRA_PROGRAM : TRA_OK)) check_report("line %d: status %d", line, b.status);
    done(&b);
    free(all);
}
#define ERRORS(text, want) check_errors(__LINE__, text, want)

TEST(errors) {
    ERRORS("C = join(A, BB, [1], [0], matmul)", "2:13: error: there is no relation 'BB'\n");
    ERRORS("C = joined(A)\nD = agg(C, [0], matadd)", "2:5: error: there is no operator 'joined'\n");
    ERRORS("C = agg(A, [0])", "2:5: error: agg has 3 arguments, not 2\n");
    ERRORS("C = agg(A, 0, matadd)", "2:12: error: a list is expected here\n");
    ERRORS("C = agg(A, B, matadd)", "2:12: error: a list is expected here\n");
    ERRORS("C = agg([0], A, matadd)",
           "2:9: error: a relation is expected here\n2:14: error: a list is expected here\n");
    ERRORS("C = agg(A, [0,0], matadd)", "2:15: error: key dimension 0 stands twice in this list\n");
    ERRORS("C = agg(A, [2], matmul)", "2:13: error: the relation has the key dimensions 0 to 1, not 2\n"
                                      "2:17: error: matmul is a kernel of join, not of agg\n");
    ERRORS("C = join(A, B, [-1], [0.5], matmul)",
           "2:17: error: a key dimension is at least 0, not -1\n"
           "2:23: error: 0.5 is no integer, but a key dimension needs integers\n");
    ERRORS("C = join(A, B, [1], [0,1], matmul)",
           "2:21: error: the lists of a join have the same length, not 1 and 2\n");
    ERRORS("C = join(A, p, [1], [0], matmul)", "2:13: error: 'p' is a param; a relation is expected here\n"
                                               "1:72: note: defined here\n");
    ERRORS("C = tile(A, A, p)", "2:13: error: 'A' is a relation; a number is expected here\n1:7: note: defined here\n"
                                "2:16: error: p is 0.5, but a tile size needs integers\n");
    ERRORS("C = tile(A, 2, 0)", "2:13: error: this relation has the array dimensions 0 to 1, not 2\n"
                                "2:16: error: a tile size is at least 1, not 0\n");
    ERRORS("C = concat(A, 2, 2)", "2:15: error: this relation has the key dimensions 0 to 1, not 2\n"
                                  "2:18: error: this relation has the array dimensions 0 to 1, not 2\n");
    ERRORS("C = concat(A, 0, 1)",
           "2:5: error: concat needs arrays of equal extents along the other dimensions, but along "
           "dimension 0 they are 4, and 2 at the last value of key dimension 0\n");
    ERRORS("C = concat(filter(A, (i,j) -> i != j), 1, 1)",
           "2:5: error: concat needs keys 0, 1, ... without a gap in key dimension 1, but <0,0> is missing\n");
    ERRORS("C = rekey(A, (i,j) -> (i-1, j))",
           "2:5: error: component 0 of the new key is -1 at key <0,0>; keys are not negative\n");
    ERRORS("C = rekey(A, (i,j) -> i)",
           "2:5: error: rekey maps the keys <0,0> and <0,1> both to <0>; the new keys must differ\n");
    ERRORS("C = rekey(A, i -> i)", "2:14: error: the function names 1 key component, but keys here have 2\n");
    ERRORS("C = rekey(A, (i,j) -> (x, j, p))", "2:24: error: 'x' is neither a component of the key nor a param\n"
                                               "2:30: error: p is 0.5, but a key expression needs integers\n");
    ERRORS("C = filter(A, (i,j) -> (i, j))", "2:24: error: a predicate is one expression\n");
    ERRORS("C = filter(A, (i,j) -> i^2 < exp(j))",
           "2:24: error: a key expression has no operator '^'\n"
           "2:30: error: a key expression has no function 'exp' of 1 argument\n");
    ERRORS("input H : f64 [100000, 1000, 4096] by [1, 1, 1]\nC = filter(H, (i,j,k) -> (i*i*k - j*j) % 100003 == 17)",
           "3:5: error: the keys that this filter leaves were not found after cutting the 409600000000 keys in 2099673 "
           "boxes; use larger blocks, or compare single key components, or sums of multiples of them, with numbers or "
           "each other\n");
    ERRORS("C = filter(A, (i,j) -> 4 / j)", "2:5: error: division by zero at key <0,0>\n");
    ERRORS("C = filter(A, (i,j) -> j > 0 && 4 / j)", "");
    ERRORS("C = transform(A, x -> y + zz(x) + max(x))",
           "2:23: error: 'y' is neither an argument of the function nor a param\n"
           "2:27: error: there is no scalar function 'zz'\n"
           "2:35: error: max takes two or more arguments, not 1\n");
    ERRORS("C = transform(A, (x,y) -> x)\nD = join(A, A, [0], [0], x -> x)\nE = agg(A, [0], x -> x)",
           "2:18: error: a kernel of transform is a function of one element, not of 2\n"
           "3:26: error: a kernel of join is a function of two elements, not of 1\n"
           "4:17: error: agg takes a kernel by its name, not a function\n");
    ERRORS("C = transform(A, softmax . exp)",
           "2:5: error: softmax needs the last array dimension whole in each array, but "
           "key dimension 1 cuts it in 3 parts; use reblock or concat before\n");
    ERRORS("C = transform(concat(A, 1, 1), softmax . exp)", "");
    ERRORS("C = transform(A, 3)\nD = transform(A, \"ij,jk->ik\")\nE = join(A, A, [], [], \"ij->ij\")",
           "2:18: error: a kernel is expected here\n3:18: error: a kernel of transform has one operand\n"
           "4:24: error: a kernel of join has two operands\n");
    ERRORS("C = transform(A, neg . matmul)", "2:24: error: matmul is a kernel of join, not of transform\n");
    ERRORS("C = agg(A, [0], minindex)\nD = agg(tile(A, 0, 2), [], minindex)\nE = agg(B, [], minindex)",
           "3:5: error: minindex needs a tensor in blocks; of this relation a dimension is cut by more than one key\n");
    ERRORS("C = repart(tile(A, 1, 3), [1,1])",
           "2:5: error: repart needs a tensor in blocks; of this relation a dimension "
           "is cut by more than one key\n");
    ERRORS("C = reblock(A, [1])\nD = repart(A, [0, 1])", "2:16: error: 1 numbers for a tensor of 2 dimensions\n"
                                                         "3:16: error: a number of parts is at least 1, not 0\n");
    ERRORS("C = D\nD = A", "2:5: error: 'D' is used before its definition\n3:1: note: defined here\n");
    ERRORS(
        "C = join(A, B, [0], [1], matadd)",
        "2:5: error: matadd does not fit arrays of 4 x 3 and 3 x 2: their extents must be equal; matvecadd and its kin "
        "and functions (x, y) -> ... broadcast (arrays of the keys <0,0> and <0,0>)\n");
    ERRORS("param x = y\nparam z = 1 / 4\nC = filter(A, (i,j) -> z)",
           "2:11: error: there is no param 'y'\n"
           "4:24: error: z is 0.25, but a key expression needs "
           "integers\n");
    ERRORS(
        "C = softmax(A, 1)\nD = transpose(tile(A, 0, 2))\nE = softmax(agg(A, [], matadd))",
        "2:5: error: softmax has 1 argument, not 2\n3:5: error: transpose needs a tensor in blocks; of this relation a "
        "dimension is cut by more than one key\n4:5: error: softmax needs a tensor in blocks; of this relation its "
        "key arity differs from its rank, so some key cuts no dimension or some dimension is not cut\n");
    ERRORS("C = A + B\nD = A[i]", "2:9: error: without labels shapes must agree: 9 x 6 here, 10 x 9 before\n"
                                  "2:5: note: the other one\n3:5: error: a relation is expected here\n");
    ERRORS("output C\noutput p\noutput A to \"x.h5\"\noutput B to \"./x.h5:data\"\noutput B to \"x.h5:b\"",
           "2:8: error: there is no relation 'C'\n3:8: error: 'p' is a param; a relation is expected here\n"
           "1:72: note: defined here\n5:13: error: ./x.h5:data is the file of another output already\n"
           "4:1: note: the other output\n6:13: error: x.h5:b is the file of another output already\n"
           "4:1: note: the other output\n");
    ERRORS("input C : f16 [2]\ninput D : f64 [-1, 3]\ninput E : f64 [2, 3] by [1]\ninput F : f64 [2] by [0]\n"
           "input G : f64 [2] at part(1)\ninput H : f64 [2] at home\ninput I : f64 [4] at part(0)",
           "2:11: error: there is no element type 'f16'\n3:16: error: an extent is at least 0, not -1\n"
           "4:25: error: the block has 1 dimensions, the tensor 2\n"
           "5:23: error: a block extent is at least 1, not 0\n"
           "6:27: error: there is no key dimension 1 in this relation\n7:22: error: this is no placement\n");
    ERRORS("C = tile(A, 0, 9223372036854775807 + 1)\nD = tile(A, 0, 9223372036854775808)",
           "2:16: error: integer overflow in +\n3:16: error: this number is larger than 2^63 - 1\n");
    ERRORS("C = 3x\nD = agg(C, [0], nosuch)", "2:5: error: '3x' is not a number\n"
                                              "3:17: error: there is no agg kernel 'nosuch'\n");
}

TEST(without_tuples) { /* extents stay known */
    built b;
    build(&b, "input A : f64 [7, 0, 7] by [2, 1, 5]\ninput S : f64 [3, 9] by [2, 4]\nD[i,j] = A[i,j,i]\n"
              "T = transpose(D)\nE[k,i,j,l] = D[i,j] * S[k,l]\nR = rekey(A, (i,j,k) -> (k,j))\n"
              "N = rekey(A, (i,j,k) -> (i,k))\n");
    CHECK(!strstr(tra_str_get(&b.text), "frontier"));
    LINE("D: keys 2 <4,0>, f64 2 x 1, tensor 7 x 0, 0 tuples, 0 B");
    LINE("T: keys 2 <0,4>, f64 1 x 2, tensor 0 x 7, 0 tuples, 0 B");
    LINE("E: keys 4 <2,4,0,3>, f64 2 x 2 x 1 x 4, tensor 3 x 7 x 0 x 9, 0 tuples, 0 B");
    LINE("R: keys 2 <2,0>, f64 2 x 1 x 5, tensor 2 x 0 x 7, 0 tuples, 0 B");
    LINE("N: keys 2 <0,0>, f64 2 x 1 x 5, tensor 0 x 1 x 0, 0 tuples, 0 B");
    done(&b);
}

TEST(warnings) {
    built b;
    build(&b, "input A : f64 [10, 9] by [4, 3]\ninput B : f64 [5, 9] by [4, 3]\nC = join(A, B, [0], [0], outer)\n"
              "D = agg(A, [0], matadd)\noutput C\n");
    CHECK_INT(b.status, TRA_OK);
    CHECK_STR(tra_str_get(&b.text),
              "p.tra:3:5: warning: the joined keys differ in frontier: 3 in key dimension 0 on the left, 2 in 0 on the "
              "right; the lesser counts\n    C = join(A, B, [0], [0], outer)\n        ^~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
              "p.tra:4:1: warning: 'D' is not used\n    D = agg(A, [0], matadd)\n    ^\n");
    LINE("C: keys 3 <2,3,3>, f64 4 x 3 x 4 x 3, tuple layout, 18 tuples, 12.7 KiB");
    done(&b);
}

TEST(defines) {
    const char *text = "param n = 2\nparam eta = 0.5\ninput A : f64 [8]\nC = tile(A, 0, n)\n";
    built b;
    build_with(&b, text, "n=4");
    LINE("C: keys 2 <1,2>, f64 4, tuple layout, 2 tuples, 64 B");
    done(&b);
    static const struct {
        const char *define, *msg;
    } wrong[] = {{"N=3", "the program has no input, param or output 'N'; did you mean n?"},
                 {"C=3", "C is computed by the program"},
                 {"eta=abc", "eta is a param, and 'abc' is no number"},
                 {"A=", "a file is expected"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        build_with(&b, text, wrong[i].define);
        CHECK_FAILS(b.status, TRA_USAGE, b.e, wrong[i].msg);
        done(&b);
    }
    build_with(&b, text, "A=/nonexistent/a.h5");
    CHECK_FAILS(b.status, TRA_INPUT, b.e, "p.tra:3:7: ");
    CHECK(strstr(tra_str_get(&b.text), "p.tra:3:7: error: ") != NULL);
    done(&b);
    build(&b, "input A from \"nonexistent.h5\"\nB = agg(A, [0], matadd)\n");
    CHECK_FAILS(b.status, TRA_INPUT, b.e, "dir/nonexistent.h5");
    CHECK_INT(b.d.errors, 1);
    done(&b);
    build(&b, "input A from \"nonexistent.h5\"\nB = agg(A, [0], nosuch)\n");
    CHECK_INT(b.status, TRA_PROGRAM);
    CHECK_INT(b.d.errors, 2);
    done(&b);
}

static void check_print(int line, const char *text) {
    built b;
    char *all = tra_asprintf("input A : f64 [4, 6] by [2, 2]\nX = %s\n", text);
    build(&b, all);
    tra_str got = {0};
    if (named(&b, "X")) tra_node_print(named(&b, "X"), &got);
    if (strcmp(tra_str_get(&got), text) != 0)
        check_report("line %d: \"%s\" prints as \"%s\"\n%s", line, text, tra_str_get(&got), tra_str_get(&b.text));
    tra_str_free(&got);
    done(&b);
    free(all);
}

TEST(printing) {
    check_print(__LINE__, "join(A, A, [1], [1], \"ij,kj->ik\")");
    check_print(__LINE__, "agg(A, [0,1], scale(0.5) . matadd)");
    check_print(__LINE__, "rekey(A, (i, j) -> (j, i))");
    check_print(__LINE__, "filter(A, (i, j) -> i < j)");
    check_print(__LINE__, "transform(A, transpose)");
    check_print(__LINE__, "tile(A, 1, 2)");
    check_print(__LINE__, "concat(A, 1, 1)");
    check_print(__LINE__, "reblock(A, [1,3])");
    built b;
    build(&b, "input A : f32 [4, 6] by [2, 3] at part(1)\nB = agg(agg(A, [0], matadd), [], matadd)\n");
    tra_str got = {0};
    tra_node_print(b.g->v[0], &got);
    tra_str_add(&got, "|");
    tra_node_print(b.g->v[2], &got);
    CHECK_STR(tra_str_get(&got), "input A : f32 [4,6] by [2,3] at part(1)|agg(#1, [], matadd)");
    tra_str_free(&got);
    const char *why;
    b.g->v[0]->uses++;
    CHECK(!graph_valid(b.g, &why));
    CHECK_STR(why, "a node's uses are miscounted");
    done(&b);
}

TEST(many_statements) {
    tra_str s = {0};
    tra_str_add(&s, "input X0 : f64 [1000, 1000] by [100, 100]\n");
    for (int i = 0; i < 100; i++)
        tra_str_printf(&s, "P%d = join(X%d, X0, [1], [0], matmul)\nX%d = agg(P%d, [0,2], matadd)\n", i, i, i + 1, i);
    tra_str_add(&s, "output X100\n");
    built b;
    double t = check_seconds();
    build(&b, s.s);
    CHECK(check_seconds() - t < 0.2); /* 4 ms; the rest is for sanitizers and busy machines */
    CHECK_INT(b.status, TRA_OK);
    CHECK_INT(b.g->n, 201);
    done(&b);
    tra_str_free(&s);
}
