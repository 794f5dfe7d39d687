/* The reference evaluator on programs whose results were computed by hand. */
#include "check.h"

#include "../../plans/reference/reference.h"

#include <dirent.h>
#include <unistd.h>

/* A folder of input files and the program that runs over them. */
typedef struct bench {
    char dir[32];
    tra_arena *a;
    tra_graph *g;
    const tra_ref_rel **v;
    tra_err e;
} bench;

static bench begin(void) {
    bench b = {.dir = "/tmp/tra-ref-XXXXXX", .a = tra_arena_new()};
    CHECK(mkdtemp(b.dir) != NULL);
    return b;
}

static void end(bench *b) {
    if (b->g) tra_graph_close(b->g);
    tra_arena_free(b->a);
    DIR *d = opendir(b->dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", b->dir, f->d_name);
        if (f->d_name[0] != '.' || f->d_name[1] == 'd') unlink(path);
    }
    if (d) closedir(d);
    rmdir(b->dir);
}

/* DIR/NAME.h5: the row-major values of a tensor, cut in blocks. */
static void input(bench *b, const char *name, tra_dtype dtype, const char *shape, const char *block, const double *v) {
    tra_dims s, k;
    tra_catalog cat;
    tra_writer *w;
    CHECK(tra_parse_dims(shape, 0, &s) && tra_parse_dims(block, 1, &k));
    CHECK_OK(tra_catalog_blocks(&s, &k, &cat, &b->e), b->e);
    tra_type t = {.dtype = dtype, .cat = &cat};
    for (int d = 0; d < s.n; d++) t.cut[d] = 1u << d;
    char spec[128];
    snprintf(spec, sizeof spec, "%s/%s.h5", b->dir, name);
    tra_status st = tra_writer_create(spec, &t, &(tra_write_options){.history = NULL}, &w, &b->e);
    CHECK_OK(st, b->e);
    if (st != TRA_OK) return;
    void *scratch = aligned_alloc(4096, (tra_writer_scratch_bytes(w) + 8191) / 4096 * 4096);
    for (int64_t i = 0; i < cat.n; i++) {
        tra_dims key, ext, at = {.n = s.n}, whole = {.n = s.n};
        double room[64];
        int64_t n = 0;
        tra_catalog_key(&cat, i, &key);
        tra_catalog_ext(&cat, i, &ext);
        do {
            for (int d = 0; d < s.n; d++) whole.v[d] = key.v[d] * k.v[d] + at.v[d];
            double x = v[tra_linear(&s, &whole)];
            switch (dtype) {
#define X(name, text, type, ...)                                                                                       \
    case TRA_##name: ((type *)(void *)room)[n] = (type)x; break;
                TRA_DTYPES(X)
#undef X
            }
            n++;
        } while (tra_next(&ext, &at));
        CHECK_OK(tra_writer_put(w, i, room, scratch, &b->e), b->e);
    }
    free(scratch);
    CHECK_OK(tra_writer_commit(w, NULL, &b->e), b->e);
}

/* Runs a program; the status of the evaluation. A program that does not compile is a failed check. */
static tra_status run(bench *b, const char *text) {
    tra_script src = {.name = "test.tra", .text = text, .n = (int)strlen(text)};
    tra_diags d = {.arena = b->a, .src = &src};
    tra_status s = tra_graph_build(&src, &(tra_building){.dir = b->dir}, b->a, &d, &b->g, &b->e);
    if (s != TRA_OK) {
        tra_str msg = {0};
        tra_diags_print(&d, false, &msg);
        check_report("does not compile: %s %s", b->e.msg, tra_str_get(&msg));
        tra_str_free(&msg);
        return s;
    }
    return tra_reference_run(b->g, true, b->a, &b->v, &b->e);
}

static const tra_ref_rel *result(bench *b, const char *name) {
    static const tra_ref_rel none;
    for (int i = 0; b->v && i < b->g->n; i++)
        if (b->g->v[i]->name && !strcmp(b->g->v[i]->name, name)) {
            CHECK_OK(tra_reference_matches(b->v[i], &b->g->v[i]->type, &b->e), b->e);
            return b->v[i];
        }
    check_report("no result %s", name);
    return &none;
}

/* Tuple number i of a relation: its key as text, its values. */
static void tuple(const tra_ref_rel *r, int64_t i, const char *key, const char *ext, int n, const double *v) {
    char buf[TRA_DIMTEXT];
    CHECK(i < r->n);
    if (i >= r->n) return;
    CHECK_STR(tra_key_text(&r->v[i].key, buf), key);
    CHECK_STR(tra_shape_text(&r->v[i].ext, buf), ext);
    for (int j = 0; j < n; j++) {
        if (isnan(v[j]))
            CHECK(isnan(r->v[i].data[j]));
        else
            CHECK_NEAR(r->v[i].data[j], v[j], 0);
    }
}
#define TUPLE(r, i, key, ext, ...)                                                                                     \
    tuple(r, i, key, ext, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static const double nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(product_of_ragged_blocks) {
    bench b = begin();
    input(&b, "a", TRA_F64, "3x3", "2x2", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\nP = join(A, A, [1], [0], matmul)\nC = agg(P, [0,2], matadd)\noutput C\n"),
             b.e);
    const tra_ref_rel *p = result(&b, "P"), *c = result(&b, "C");
    CHECK_INT(p->n, 8);
    TUPLE(p, 1, "<0,0,1>", "2 x 1", 15, 42); /* (1 2; 4 5)(3 6)' */
    TUPLE(p, 3, "<0,1,1>", "2 x 1", 27, 54); /* (3 6)'(9) */
    CHECK_INT(c->n, 4);
    TUPLE(c, 0, "<0,0>", "2 x 2", 30, 36, 66, 81);
    TUPLE(c, 1, "<0,1>", "2 x 1", 42, 96);
    TUPLE(c, 2, "<1,0>", "1 x 2", 102, 126);
    TUPLE(c, 3, "<1,1>", "1 x 1", 150);
    end(&b);
}

/* The example of the manual. The metric weighs dimension 1 twice; rows differ from q by (0 1 0 0), (1 0 0 -.5),
 * (0 0 0 -1), so that their distances are 2, 1.25 and 1. */
TEST(nearest_neighbour) {
    bench b = begin();
    input(&b, "q", TRA_F64, "1x4", "1x2", (double[]){1, 2, 3, 4});
    input(&b, "x", TRA_F64, "3x4", "2x2", (double[]){1, 1, 3, 4, 0, 2, 3, 4.5, 1, 2, 3, 5});
    input(&b, "m", TRA_F64, "4x4", "2x2", (double[]){1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    CHECK_OK(run(&b, "input q from \"q.h5\"\n"
                     "input X from \"x.h5\"\n"
                     "input A from \"m.h5\"\n"
                     "diff = join(q, X, [1], [1], matvecsub)        # q is 1 x D; keys <0, d, n>\n"
                     "D    = rekey(diff, (o, d, n) -> (n, d))\n"
                     "proj = agg(join(D, A, [1], [0], matmul), [0,2], matadd)\n"
                     "dist = transform(agg(join(proj, D, [0,1], [0,1], elemmul), [0], matadd), rowsum)\n"
                     "best = agg(dist, [], minindex)\n"
                     "output best\n"),
             b.e);
    TUPLE(result(&b, "diff"), 1, "<0,0,1>", "1 x 2", 0, 0);
    TUPLE(result(&b, "D"), 0, "<0,0>", "2 x 2", 0, 1, 1, 0);
    TUPLE(result(&b, "D"), 3, "<1,1>", "1 x 2", 0, -1);
    TUPLE(result(&b, "proj"), 0, "<0,0>", "2 x 2", 0, 2, 1, 0);
    TUPLE(result(&b, "dist"), 0, "<0>", "2", 2, 1.25);
    TUPLE(result(&b, "dist"), 1, "<1>", "1", 1);
    TUPLE(result(&b, "best"), 0, "<>", "2", 1, 2);
    end(&b);
}

/* Of the blocks of a 3 x 3 matrix those two that are clipped along one dimension: no array covers the cell (1,1). */
TEST(aggregation_pads_with_the_identity) {
    bench b = begin();
    input(&b, "a", TRA_F64, "3x3", "2x2", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\n"
                     "E = filter(A, (i,j) -> i != j)\n"
                     "S = agg(E, [], matadd)\n"
                     "P = agg(E, [], elemmul)\n"
                     "M = agg(E, [], elemmax)\n"
                     "N = agg(E, [], elemmin)\n"
                     "R = agg(A, [1], rowsum . matadd)\n"
                     "output S\noutput P\noutput M\noutput N\noutput R\n"),
             b.e);
    TUPLE(result(&b, "S"), 0, "<>", "2 x 2", 10, 8, 6, 0); /* (3; 6) and (7 8) */
    TUPLE(result(&b, "P"), 0, "<>", "2 x 2", 21, 8, 6, 1);
    TUPLE(result(&b, "M"), 0, "<>", "2 x 2", 7, 8, 6, -INFINITY);
    TUPLE(result(&b, "N"), 0, "<>", "2 x 2", 3, 8, 6, INFINITY);
    TUPLE(result(&b, "R"), 0, "<0>", "2", 18, 9); /* (8 10; 4 5) */
    TUPLE(result(&b, "R"), 1, "<1>", "2", 12, 6);
    end(&b);
}

TEST(index_kernels) {
    bench b = begin();
    input(&b, "a", TRA_F64, "3x3", "2x2", (double[]){5, 4, 1, 9, 7, 1, 1, 9, 3});
    input(&b, "n", TRA_F32, "5", "2", (double[]){3, 1, NAN, 0, NAN});
    CHECK_OK(run(&b, "input A from \"a.h5\"\ninput V from \"n.h5\"\n"
                     "L = agg(A, [], minindex)\n" /* 1 is at 2 and 5 of block <0,1>, at 6 of <1,0> */
                     "G = agg(A, [1], maxindex)\n"
                     "N = agg(V, [], minindex)\n"
                     "output L\noutput G\noutput N\n"),
             b.e);
    TUPLE(result(&b, "L"), 0, "<>", "2", 1, 2);
    TUPLE(result(&b, "G"), 0, "<0>", "2", 9, 3);
    TUPLE(result(&b, "G"), 1, "<1>", "2", 3, 8);
    TUPLE(result(&b, "N"), 0, "<>", "2", NAN, 2);
    CHECK(result(&b, "N")->dtype == TRA_F64);
    end(&b);
}

TEST(holes) {
    bench b = begin();
    input(&b, "a", TRA_F64, "3x3", "2x2", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\n"
                     "E = filter(A, (i,j) -> i == j)\n"
                     "W = repart(E, [1, 1])\n"
                     "T = reblock(E, [1, 3])\n"
                     "J = join(A, E, [0,1], [0,1], matadd)\n"
                     "Z = filter(A, (i,j) -> 0 > 1)\n"
                     "Y = agg(Z, [], matadd)\n"
                     "output W\noutput T\noutput J\noutput Y\n"),
             b.e);
    TUPLE(result(&b, "W"), 0, "<0,0>", "3 x 3", 1, 2, 0, 4, 5, 0, 0, 0, 9);
    TUPLE(result(&b, "T"), 1, "<1,0>", "1 x 3", 4, 5, 0);
    CHECK_INT(result(&b, "J")->n, 2);
    TUPLE(result(&b, "J"), 1, "<1,1>", "1 x 1", 18);
    CHECK_INT(result(&b, "Y")->n, 0);
    end(&b);
}

TEST(concat_refuses_a_gap) {
    bench b = begin();
    input(&b, "a", TRA_F64, "4", "1", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\nT = concat(A, 0, 0)\nE = filter(A, (i) -> i != 1)\noutput T\noutput E\n"),
             b.e);
    TUPLE(result(&b, "T"), 0, "<>", "4", 1, 2, 3, 4);
    tra_node n = {.op = TRA_OP_CONCAT};
    tra_ref_rel out;
    CHECK_FAILS(tra_reference_apply(&n, result(&b, "E"), NULL, b.a, &out, &b.e), TRA_PROGRAM, b.e, "gap before <2>");
    end(&b);
}

TEST(keys_floor_and_sort) {
    bench b = begin();
    input(&b, "a", TRA_F64, "4", "1", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\n"
                     "M = rekey(A, (i) -> ((i - 3) % 4))\n"        /* -3 -2 -1 0 to 1 2 3 0 */
                     "D = rekey(A, (i) -> ((i - 4) / 3 + 2, i))\n" /* -4 -3 -2 -1: floors -2 -1 -1 -1 */
                     "output M\noutput D\n"),
             b.e);
    TUPLE(result(&b, "M"), 0, "<0>", "1", 4);
    TUPLE(result(&b, "M"), 1, "<1>", "1", 1);
    TUPLE(result(&b, "D"), 0, "<0,0>", "1", 1);
    TUPLE(result(&b, "D"), 3, "<1,3>", "1", 4);
    end(&b);
}

TEST(tiles_of_clipped_arrays) {
    bench b = begin();
    input(&b, "a", TRA_F64, "5", "3", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\nT = tile(A, 0, 2)\nC = concat(T, 1, 0)\noutput C\n"), b.e);
    const tra_ref_rel *t = result(&b, "T");
    CHECK_INT(t->n, 3);
    TUPLE(t, 0, "<0,0>", "2", 1, 2);
    TUPLE(t, 1, "<0,1>", "1", 3);
    TUPLE(t, 2, "<1,0>", "2", 4, 5);
    TUPLE(result(&b, "C"), 1, "<1>", "2", 4, 5);
    end(&b);
}

TEST(integers_are_exact) {
    bench b = begin();
    const double far[4] = {0x1p62, 0x1p62, -0x1p62, 3}, ends[4] = {INT32_MAX, 1, INT32_MIN, -1};
    input(&b, "l", TRA_I64, "2x2", "1x1", far);
    input(&b, "i", TRA_I32, "2x2", "1x1", ends);
    CHECK_OK(run(&b, "input L from \"l.h5\"\ninput I from \"i.h5\"\n"
                     "S = agg(L, [], matadd)\n" /* parts of it do not fit, the whole does */
                     "M = join(I, I, [1], [0], matmul)\nD = join(L, I, [0,1], [0,1], (x,y) -> x - y > 0)\n"
                     "Z[i] = sum I[i,j]\nP[] = prod I[i,j]\nH = transform(I, x -> x / 2)\n"),
             b.e);
    CHECK(result(&b, "S")->v[0].data[0] == 0x1p62L + 3 && result(&b, "S")->loose);
    CHECK(result(&b, "M")->v[0].data[0] == (ref_num)INT32_MAX * INT32_MAX);
    CHECK_INT(result(&b, "D")->dtype, TRA_BOOL);
    TUPLE(result(&b, "Z"), 0, "<0>", "1", 0x1p31);
    CHECK(result(&b, "P")->v[0].data[0] == (ref_num)INT32_MAX * INT32_MIN * -1);
    TUPLE(result(&b, "H"), 0, "<0,0>", "1 x 1", INT32_MAX / 2.0);
    static const char *const beyond[] = {
        "Z = join(I, I, [0,1], [0,1], matadd)", "Z = transform(I, neg)",      "Z = agg(L, [0], matadd)",
        "Z = transform(L, x -> x * 2)",         "Z[i] = sum L[i,j] * L[i,j]", "Z = transform(I, x -> x + 1 - 1)"};
    for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
        tra_graph_close(b.g);
        b.g = NULL;
        b.e = (tra_err){0};
        char text[256];
        snprintf(text, sizeof text, "input L from \"l.h5\"\ninput I from \"i.h5\"\n%s\n", beyond[k]);
        tra_status s = run(&b, text);
        if (s != TRA_INPUT || !strstr(b.e.msg, "does not fit")) check_report("%s: %s", beyond[k], b.e.msg);
    }
    end(&b);
}

/* Sums accumulate in double and are rounded once: in float, 2^24 + 1 + 1 stays at 2^24. Literals are floats. */
TEST(f32_rounds_after_each_operator) {
    bench b = begin();
    input(&b, "a", TRA_F32, "3", "3", (double[]){16777216, 1, 1});
    input(&b, "d", TRA_F64, "3", "3", (double[]){1, 1, 1});
    CHECK_OK(run(&b, "input A from \"a.h5\"\ninput D from \"d.h5\"\n"
                     "S = transform(A, rowsum)\n"
                     "T = transform(A, x -> x + 1)\n"
                     "U = transform(A, scale(0.1))\n"
                     "V = join(A, D, [0], [0], matadd)\n"
                     "output S\noutput T\noutput U\noutput V\n"),
             b.e);
    TUPLE(result(&b, "S"), 0, "<0>", "", 16777218);
    TUPLE(result(&b, "T"), 0, "<0>", "3", 16777216, 2, 2);
    TUPLE(result(&b, "U"), 0, "<0>", "3", (float)(16777216.0 * (double)0.1f), 0.1f, 0.1f);
    TUPLE(result(&b, "V"), 0, "<0>", "3", 16777217, 2, 2);
    end(&b);
}

TEST(kernels) {
    bench b = begin();
    input(&b, "a", TRA_F64, "2x3", "2x3", (double[]){-1, 2, -3, 4, NAN, 0});
    input(&b, "v", TRA_F64, "3", "3", (double[]){1, 10, 100});
    CHECK_OK(run(&b, "input A from \"a.h5\"\ninput V from \"v.h5\"\n"
                     "C = transform(A, neg . relu)\n" /* relu first */
                     "X = transform(A, rowmax)\n"
                     "G = transform(A, relu_grad)\n"
                     "D = transform(A, diag)\n"
                     "T = transform(A, transpose)\n"
                     "L = transform(A, colsum)\n"
                     "P = transform(A, x -> -x^2 + 2*x - (x < 1))\n"
                     "B = join(A, V, [1], [0], matvecmul)\n"
                     "O = join(V, V, [], [], outer)\n"
                     "E = join(A, V, [1], [0], \"ij,j->i\")\n"
                     "Z = transform(V, softmax . scale(0))\n"
                     "output C\noutput X\noutput G\noutput D\noutput T\noutput L\noutput P\noutput B\noutput O\noutput "
                     "E\noutput Z\n"),
             b.e);
    TUPLE(result(&b, "C"), 0, "<0,0>", "2 x 3", 0, -2, 0, -4, NAN, 0);
    TUPLE(result(&b, "X"), 0, "<0,0>", "2", 2, NAN);
    TUPLE(result(&b, "G"), 0, "<0,0>", "2 x 3", 0, 1, 0, 1, 0, 0);
    TUPLE(result(&b, "D"), 0, "<0,0>", "2", -1, NAN);
    TUPLE(result(&b, "T"), 0, "<0,0>", "3 x 2", -1, 4, 2, NAN, -3, 0);
    TUPLE(result(&b, "L"), 0, "<0,0>", "3", 3, NAN, -3);
    TUPLE(result(&b, "P"), 0, "<0,0>", "2 x 3", -4, 0, -16, -8, NAN, -1);
    TUPLE(result(&b, "B"), 0, "<0,0>", "2 x 3", -1, 20, -300, 4, NAN, 0);
    TUPLE(result(&b, "O"), 0, "<0,0>", "3 x 3", 1, 10, 100, 10, 100, 1000, 100, 1000, 10000);
    TUPLE(result(&b, "E"), 0, "<0,0>", "2", -281, NAN);
    TUPLE(result(&b, "Z"), 0, "<0>", "3", 1.0 / 3, 1.0 / 3, 1.0 / 3);
    end(&b);
}

TEST(results_are_written_and_read_back) {
    bench b = begin();
    input(&b, "a", TRA_F32, "3x3", "2x2", nine);
    CHECK_OK(run(&b, "input A from \"a.h5\"\nE = filter(A, (i,j) -> i != 1 || j != 0)\nT = tile(E, 0, 1)\noutput T\n"),
             b.e);
    char spec[64];
    snprintf(spec, sizeof spec, "%s/t.h5", b.dir);
    const tra_ref_rel *t = result(&b, "T");
    const tra_write_options o = {.history = NULL};
    tra_writer *w;
    char digest[33];
    CHECK_OK(tra_reference_fill(t, &b.g->outputs[0].node->type, spec, &o, b.a, &w, digest, &b.e), b.e);
    CHECK_OK(tra_writer_commit(w, digest, &b.e), b.e);
    tra_rel *rel = NULL;
    CHECK_OK(tra_rel_open(spec, NULL, &rel, &b.e), b.e);
    if (rel) {
        tra_node n = {.op = TRA_OP_INPUT, .input.rel = rel, .name = "T", .input.path = spec};
        tra_ref_rel back;
        CHECK_OK(tra_reference_apply(&n, NULL, NULL, b.a, &back, &b.e), b.e);
        CHECK_INT(back.n, t->n);
        for (int64_t i = 0; i < t->n && i < back.n; i++) {
            CHECK(tra_dims_eq(&t->v[i].key, &back.v[i].key) && tra_dims_eq(&t->v[i].ext, &back.v[i].ext));
            CHECK(t->v[i].data[0] == back.v[i].data[0]);
        }
        tra_rel_close(rel);
    }
    /* of another type: the wrong element type, then one tuple too many */
    tra_type wrong = b.g->outputs[0].node->type;
    wrong.dtype = TRA_F64;
    CHECK_FAILS(tra_reference_fill(t, &wrong, spec, NULL, b.a, &w, digest, &b.e), TRA_INTERNAL, b.e,
                "its type says f64");
    end(&b);
}

/* By the interpreter of the calculus, not by the EinSum statements that they mean. */
TEST(tensor_statements) {
    bench b = begin();
    input(&b, "a", TRA_F64, "3x3", "2x2", nine);
    input(&b, "n", TRA_I64, "3", "2", (double[]){5, 0, -7});
    input(&b, "f", TRA_F32, "3", "3", (double[]){1, 2, 3});
    CHECK_OK(run(&b,
                 "param third = 1/3\n"
                 "input A from \"a.h5\"\n"
                 "input N from \"n.h5\"\n"
                 "input F from \"f.h5\"\n"
                 "B = transform(A, neg)\n"
                 "tensor P[3, extent(A, 1)] by [3, 2] = sum(<i, row> in A, <j, a> in row, <k, b> in B(j)) {(i, k) -> "
                 "-a*b}\n"
                 "tensor T = sum(<(i, i), d> in A) 2.5*d\n"
                 "tensor S[3] = sum(<i, n> in N) {i -> n*n - 2}\n"
                 "tensor G = sum(<i, x> in F) {i -> third*x}\n"
                 "output P\noutput T\noutput S\noutput G\n"),
             b.e);
    TUPLE(result(&b, "P"), 0, "<0,0>", "3 x 2", 30, 36, 66, 81, 102, 126);
    TUPLE(result(&b, "P"), 1, "<0,1>", "3 x 1", 42, 96, 150);
    TUPLE(result(&b, "T"), 0, "<>", "", 37.5);
    TUPLE(result(&b, "S"), 0, "<0>", "2", 23, -2);
    TUPLE(result(&b, "S"), 1, "<1>", "1", 47);
    TUPLE(result(&b, "G"), 0, "<0>", "3", (float)(1 / 3.0), (float)(2 / 3.0), 1);
    CHECK_INT(b.g->ntensors, 4);
    end(&b);
}
