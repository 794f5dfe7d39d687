/* test_einsum.c - EinSum statements: what is refused, what they are lowered to, in which order they are contracted. */
#include "einsum_util.h"

#include "../../plans/tra/order.h"

/* ---- programs ----------------------------------------------------------------------------------------------- */

static const char declared[] =
    "input A : f64 [10, 9] by [4, 3]; input B : f64 [9, 6] by [3, 2]; input S : f64 [5, 5] by "
    "[2, 2]; input v : f64 [9] by [3]; input O : f64 [10, 0]; param p = 0.5\n";

/* The first line of each diagnostic, without "p.tra:". */
static void check_errors(int line, const char *text, const char *want) {
    char *all = tra_asprintf("%s%s", declared, text);
    built b = build(all);
    tra_str out = {0}, got = {0};
    compile(&b);
    tra_diags_print(&b.d, false, &out);
    for (const char *s = tra_str_get(&out); *s;) {
        size_t len = strcspn(s, "\n");
        if (strncmp(s, "p.tra:", 6) == 0) tra_str_printf(&got, "%.*s\n", (int)len - 6, s + 6);
        s += len + (s[len] == '\n');
    }
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: diagnostics are\n%snot\n%s", line, tra_str_get(&got), want);
    tra_str_free(&got);
    tra_str_free(&out);
    done(&b);
    free(all);
}
#define ERRORS(text, want) check_errors(__LINE__, text, want)

TEST(what_is_refused) {
    ERRORS("C[i,k] = sum A[i,j] * B[j,k]\nD[] = max v[j]\nE[i] = S[i,i] + p", "");
    ERRORS("C[i] = A[i,j]", "2:12: error: label 'j' is not on the left, and nothing says how it is aggregated\n");
    ERRORS("C[i,j] = sum A[i,j]", "2:10: warning: sum aggregates nothing: all labels are on the left\n");
    ERRORS("C[i,i] = S[i,i]", "2:5: error: label 'i' stands twice on the left\n");
    ERRORS("C[i,x] = sum A[i,j]", "2:5: error: label 'x' is nowhere on the right\n");
    ERRORS("C[i,x] = A[i,j]", "2:5: error: label 'x' is nowhere on the right\n");
    ERRORS("C[i] = sum A[i,i]",
           "2:16: error: label 'i' has the extent 9 here, but 10 before\n2:14: note: bound here\n");
    ERRORS("C[i] = sum A[i,j] * v[i]",
           "2:23: error: label 'i' has the extent 9 here, but 10 before\n2:14: note: bound here\n");
    ERRORS(
        "C[i] = sum A[i] + v[a,b] + W[i] + p[i]",
        "2:12: error: 1 label for 'A', a tensor of 2 dimensions\n2:19: error: 2 labels for 'v', a tensor of 1 "
        "dimension\n2:28: error: there is no relation 'W'\n2:35: error: 'p' is a param; a relation is expected here\n"
        "1:153: note: defined here\n");
    ERRORS("C[i,j] = A[i,j] + v", "2:19: error: the relation 'v' has no labels here\n");
    ERRORS("C[i,j] = A[i,j] + q + A[i,j]", "2:19: error: there is no param 'q'\n");
    ERRORS("C[j] = v[j] + sum(v[j]) + max(v[j])",
           "2:15: error: 'sum' aggregates a whole right side, not a part of it\n2:27: error: max takes two or more "
           "arguments, not 1\n");
    ERRORS("C[j] = v[j] % 2\nD[j] = if(v[j], 1)\nE[j] = \"x\"\nF[j] = cosec(v[j])\nG[j] = atan2(v[j])",
           "3:8: error: if takes three arguments, not 2\n"
           "4:8: error: this has no place here; a number or a scalar expression is expected\n"
           "5:8: error: there is no scalar function 'cosec'\n6:8: error: atan2 takes two arguments, not 1\n");
    ERRORS(
        "C[j] = v[j] + max[k](v[j])\nD[j] = v[j] * argmin[j,i](A[i,j])\nE[i] = index(i) + v[j]\nF[j] = sum (v[j]) + 1",
        "2:19: error: label 'k' is nowhere in what is aggregated\n3:15: error: argmin gives the position along one "
        "label, but 2 are aggregated here\n4:14: error: no reference of the statement has the label 'i'\n"
        "5:8: warning: sum aggregates nothing: all labels are on the left\n"
        "5:12: warning: sum covers all that follows '=', also what comes after this parenthesis\n");
    ERRORS("C[] = 3 * p", "2:7: error: an EinSum statement needs a reference such as X[i,j]\n");
    ERRORS(
        "T = tile(A, 0, 2)\nC[i,j] = T[i,j]\nU = join(v, v, [], [], elemmul)\nD[a] = U[a]",
        "3:10: error: EinSum needs tensors in blocks; of 'T' a dimension is cut by more than one key\n"
        "5:8: error: EinSum needs tensors in blocks; of 'U' its key arity differs from its rank, so some key cuts no "
        "dimension or some dimension is not cut\n");
    ERRORS("C[i] = sum O[i,j]\nD[i,j] = O[i,j] + 1", "2:16: error: label 'j' is aggregated, but has the extent 0\n");
    ERRORS("C[a,b,c,d,e,f,g,h] = S[a,b]*S[c,d]*S[e,f]*S[g,h]\nD[a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,q] = S[a,b]",
           "3:33: error: a result of 16 dimensions: with a key for each at most 15\n");
    ERRORS("C[i] = D[i]\nD[i] = v[i]", "2:8: error: 'D' is used before its definition\n3:1: note: defined here\n");
}

/* The operators that line 2 and later are lowered to, with the numbers of nodes counted from the first of them. */
static void check_lowered(int line, const char *text, const char *want) {
    char *all = tra_asprintf("%s%s", declared, text);
    built b = build(all);
    tra_str got = {0};
    compile(&b);
    CHECK_OK(b.status, b.e);
    for (int i = 5; b.status == TRA_OK && i < b.g->n; i++) {
        if (b.g->v[i]->name) tra_str_printf(&got, "%s = ", b.g->v[i]->name);
        tra_node_print(b.g->v[i], &got);
        tra_str_add(&got, "\n");
    }
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: lowered to\n%snot\n%s", line, tra_str_get(&got), want);
    tra_str_free(&got);
    done(&b);
    free(all);
}
#define LOWERED(text, want) check_lowered(__LINE__, text, want)

TEST(what_statements_become) {
    LOWERED("C[i,k] = sum A[i,j] * B[j,k]", "join(A, B, [1], [0], matmul)\nC = agg(#5, [0,2], matadd)\n");
    LOWERED("C[k,i] = sum -p * A[i,j] * B[j,k] / 2",
            "join(B, A, [0], [1], \"jk,ij->ki\")\nC = agg(#5, [1,2], scale(-0.25) . matadd)\n");
    LOWERED("C[a,b] = A[a,b]\nD = agg(C, [], matadd)", "D = agg(A, [], matadd)\n");
    LOWERED("C[b,a] = A[a,b] + 1", "transform(A, (A -> A + 1) . \"ab->ba\")\nC = rekey(#5, (a, b) -> (b, a))\n");
    /* element-wise kernels by their names, functions of two, labels that do not end alike */
    LOWERED("C[i,j] = A[i,j] * A[i,j]", "C = transform(A, A -> A * A)\n");
    LOWERED("C[i,j] = v[j] * A[i,j]", "C = join(A, v, [1], [0], matvecmul)\n");
    LOWERED("C[i,j] = 2*A[i,j] - v[j]", "C = join(A, v, [1], [0], (A, v) -> 2 * A - v)\n");
    LOWERED("C[j,k] = B[j,k] / v[j]", "C = join(B, v, [0], [0], \"jk,j->jk\" (B, v) -> B / v)\n");
    LOWERED("C[i,j] = exp(v[i]) * v[j]", "C = join(v, v, [], [], \"i,j->ij\" (x, y) -> exp(x) * y)\n");
    LOWERED("C[j,i] = v[i] - v[j]", "C = join(v, v, [], [], \"j,i->ji\" (x, y) -> y - x)\n");
    /* one pass with its reduction; labels reduced within arrays before keys */
    LOWERED("C[] = sum A[i,j]^2", "transform(A, \"ij->\" sum A -> A^2)\nC = agg(#5, [], matadd)\n");
    LOWERED("C[j] = max A[i,j]", "transform(A, \"ij->j\" max)\nC = agg(#5, [1], elemmax)\n");
    LOWERED("C[i,m] = min (A[i,j] - A[m,j])^2",
            "join(A, A, [1], [1], \"ij,mj->im\" min (x, y) -> (x - y)^2)\nC = agg(#5, [0,2], elemmin)\n");
    LOWERED("C[i] = sum (A[i,j] + v[j])^2",
            "join(A, v, [1], [0], \"ij,j->i\" sum (A, v) -> (A + v)^2)\nC = agg(#5, [0], matadd)\n");
    /* products of many: the order, labels summed early, divisors of the sum, terms apart */
    LOWERED("C[i] = sum A[i,j] * B[j,k] * S[l,m]",
            "transform(B, \"jk->j\")\nagg(#5, [0], matadd)\ntransform(S, \"lm->\")\nagg(#7, [], matadd)\n"
            "join(#6, #8, [], [], matvecmul)\njoin(A, #9, [1], [0], \"ij,j->i\")\nC = agg(#10, [0], matadd)\n");
    LOWERED("C[i,k] = sum A[i,j] * exp(B[j,k]) / v[j]",
            "join(A, v, [1], [0], matvecdiv)\ntransform(B, exp)\njoin(#5, #6, [1], [0], matmul)\n"
            "C = agg(#7, [0,2], matadd)\n");
    LOWERED("C[i,j] = sum A[i,k] * B[k,m] / v[j]",
            "transform(B, \"km->k\")\nagg(#5, [0], matadd)\njoin(A, #6, [1], [0], \"ik,k->i\")\nagg(#7, [0], matadd)\n"
            "C = join(#8, v, [], [], \"i,j->ij\" (x, y) -> x / y)\n");
    LOWERED("C[i,k] = sum (A[i,j] * B[j,k] + B[j,k] - 1)",
            "join(A, B, [1], [0], matmul)\nagg(#5, [0,2], matadd)\ntransform(B, \"jk->k\")\nagg(#7, [1], matadd)\n"
            "C = join(#6, #8, [1], [0], (x, y) -> x + y - 9)\n");
    /* diagonals, other blocks, holes, rank 0 */
    LOWERED("C[i] = S[i,i]",
            "filter(S, (k0, k1) -> k0 == k1)\nrekey(#5, (k0, k1) -> (k0))\nC = transform(#6, \"aa->a\")\n");
    LOWERED("input W : f64 [9] by [4]\nC[i,j] = A[i,j] + W[j]",
            "W = input W : f64 [9] by [4]\nreblock(W, [3])\nC = join(A, #6, [1], [0], matvecadd)\n");
    LOWERED("H = filter(A, (i,j) -> i != 1)\nC[i,j] = H[i,j] + 1",
            "H = filter(A, (i, j) -> i != 1)\nreblock(H, [4,3])\nC = transform(#6, x -> x + 1)\n");
    LOWERED("T[] = sum v[i]\nC[i] = v[i] / T[]",
            "transform(v, \"i->\")\nT = agg(#5, [], matadd)\nC = join(v, T, [], [], matvecdiv)\n");
    LOWERED("C = softmax(v)\nD = transpose(A)\nE = softmax(reblock(v, [9]))",
            "transform(v, \"i->\" max)\nagg(#5, [], elemmax)\njoin(v, #6, [], [], (x, y) -> exp(x - y))\n"
            "transform(#7, \"i->\")\nagg(#8, [], matadd)\nC = join(#7, #9, [], [], matvecdiv)\n"
            "transform(A, \"ij->ji\")\nD = rekey(#11, (i, j) -> (j, i))\nreblock(v, [9])\n"
            "E = transform(#13, softmax)\n");
}

/* Which references are cut anew: those whose bytes are the fewest; what is computed twice is computed once. */
TEST(blocks_that_move_least) {
    /* A is larger than each of the others, and smaller than both that agree */
    LOWERED("input P : f64 [10, 9] by [5, 3]\ninput Q : f64 [10, 9] by [5, 3]\nC[i,j] = A[i,j] + P[i,j] * Q[i,j]",
            "P = input P : f64 [10,9] by [5,3]\nQ = input Q : f64 [10,9] by [5,3]\nreblock(A, [5,3])\n"
            "join(P, Q, [0,1], [0,1], elemmul)\nC = join(#7, #8, [0,1], [0,1], matadd)\n");
    /* bytes, not elements; of equal ones the first stays */
    LOWERED("input P : f32 [10, 9] by [5, 3]\nC[i,j] = P[i,j] - A[i,j]",
            "P = input P : f32 [10,9] by [5,3]\nreblock(P, [4,3])\nC = join(#6, A, [0,1], [0,1], matsub)\n");
    LOWERED("input P : f64 [10, 9] by [5, 3]\nC[i,j] = P[i,j] - A[i,j]",
            "P = input P : f64 [10,9] by [5,3]\nreblock(A, [5,3])\nC = join(P, #6, [0,1], [0,1], matsub)\n");
    /* what has holes moves in any case */
    LOWERED("input P : f32 [10, 9] by [5, 3]\nH = filter(A, (i,j) -> i != 1)\nC[i,j] = H[i,j] + P[i,j]",
            "P = input P : f32 [10,9] by [5,3]\nH = filter(A, (i, j) -> i != 1)\nreblock(H, [5,3])\n"
            "C = join(#7, P, [0,1], [0,1], matadd)\n");
    LOWERED("input W : f64 [9] by [4]\nC[j] = v[j] + W[j]\nD[j] = v[j] * W[j]\nE[j] = v[j] + W[j]\noutput E",
            "W = input W : f64 [9] by [4]\nreblock(W, [3])\nC = join(v, #6, [0], [0], matadd)\n"
            "D = join(v, #6, [0], [0], elemmul)\n");
    /* a diagonal of more blocks than can be listed */
    LOWERED("input H : f64 [50000000, 50000000] by [1, 1]\nC[i] = H[i,i]",
            "H = input H : f64 [50000000,50000000] by [1,1]\nreblock(H, [4,4])\nfilter(#6, (k0, k1) -> k0 == k1)\n"
            "rekey(#7, (k0, k1) -> (k0))\nC = transform(#8, \"aa->a\")\n");
}

/* ---- the order of contraction -------------------------------------------------------------------------------- */

static double size_of(uint64_t set, const int64_t *extent) {
    double n = 1;
    for (; set; set &= set - 1) n *= (double)extent[__builtin_ctzll(set)];
    return n;
}

/* Least operations over all orders of merging n sets, by trying them all. */
static double all_orders(int n, const uint64_t *set, uint64_t out, const int64_t *extent) {
    double best = INFINITY;
    if (n == 1) return 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            uint64_t rest[16], need = out;
            int m = 0;
            for (int l = 0; l < n; l++)
                if (l != i && l != j) rest[m++] = set[l], need |= set[l];
            rest[m++] = (set[i] | set[j]) & need;
            best = fmin(best, 2 * size_of(set[i] | set[j], extent) + all_orders(m, rest, out, extent));
        }
    return best;
}

/* The operations of the steps, checked to use each operand once. */
static double cost_of(int n, const uint64_t *labels, uint64_t out, const int64_t *extent, const tra_merge *v) {
    uint64_t set[64];
    bool gone[64] = {false};
    double flops = 0;
    for (int i = 0; i < n; i++) {
        uint64_t need = out;
        for (int j = 0; j < n; j++)
            if (j != i) need |= labels[j];
        set[i] = labels[i] & need;
    }
    for (int s = 0; s < n - 1; s++) {
        uint64_t need = out;
        CHECK(v[s].a >= 0 && v[s].b >= 0 && v[s].a < n + s && v[s].b < n + s && v[s].a != v[s].b);
        CHECK(!gone[v[s].a] && !gone[v[s].b]);
        gone[v[s].a] = gone[v[s].b] = true;
        for (int j = 0; j < n + s; j++)
            if (!gone[j]) need |= set[j];
        flops += 2 * size_of(set[v[s].a] | set[v[s].b], extent);
        set[n + s] = (set[v[s].a] | set[v[s].b]) & need;
    }
    return flops;
}

TEST(order_of_contraction) {
    tra_merge v[64];
    int64_t extent[64];
    for (int round = 0; round < 300; round++) {
        int n = 1 + (int)check_draw(6), nlabels = 2 + (int)check_draw(5);
        uint64_t labels[64], reduced[64], out = 0, all = 0;
        for (int l = 0; l < nlabels; l++) extent[l] = 1 + check_draw(20);
        for (int i = 0; i < n; i++) labels[i] = (uint64_t)check_draw(1 << nlabels), all |= labels[i];
        out = all & (uint64_t)check_draw(1 << nlabels);
        for (int i = 0; i < n; i++) {
            uint64_t need = out;
            for (int j = 0; j < n; j++)
                if (j != i) need |= labels[j];
            reduced[i] = labels[i] & need;
        }
        double got = tra_order(n, labels, out, extent, NULL, v);
        CHECK_NEAR(got, all_orders(n, reduced, out, extent), 0);
        CHECK_NEAR(got, cost_of(n, labels, out, extent, v), 0);
    }
    /* a chain of matrices, best from the right; longer than what is tried exactly */
    for (int n = 2; n < 30; n += 9) {
        uint64_t labels[64];
        for (int i = 0; i < n; i++) labels[i] = 3ull << i, extent[i] = 50;
        extent[n] = 1;
        double got = tra_order(n, labels, 1 | 1ull << n, extent, NULL, v);
        CHECK_NEAR(got, 2.0 * 50 * 50 * (n - 1), 0);
        CHECK_NEAR(got, cost_of(n, labels, 1 | 1ull << n, extent, v), 0);
    }
    /* of equals the first, so that a program is always lowered alike */
    uint64_t same[30];
    for (int i = 0; i < 30; i++) same[i] = 1;
    tra_order(30, same, 1, extent, NULL, v);
    CHECK_INT(v[0].a, 0);
    CHECK_INT(v[0].b, 1);
}

/* A dense matrix of 10 rows times two large ones: from the left, unless those have few entries. */
TEST(order_goes_by_entries) {
    const int64_t extent[4] = {10, 1000, 1000, 1000};
    const uint64_t labels[3] = {3, 6, 12};
    const double few[3] = {1, 1e-5, 1e-5}, many[3] = {1, 0.9, 0.9};
    tra_merge v[2];
    CHECK_NEAR(tra_order(3, labels, 9, extent, NULL, v), 4e7, 0);
    CHECK(v[0].a == 0 && v[0].b == 1);
    double flops = tra_order(3, labels, 9, extent, few, v);
    CHECK(v[0].a + v[0].b == 3);
    CHECK_NEAR(flops, 2e9 * 1e-10 + 2e7 * 1e-7, 1e-3);
    tra_order(3, labels, 9, extent, many, v);
    CHECK(v[0].a == 0 && v[0].b == 1);
    /* beyond the exact search: a pair of few entries is multiplied first */
    uint64_t chain[20];
    double held[20];
    int64_t ends[21];
    tra_merge step[19];
    for (int i = 0; i < 21; i++) ends[i] = 100;
    for (int i = 0; i < 20; i++) chain[i] = 3ull << i, held[i] = i == 11 || i == 12 ? 1e-3 : 1;
    tra_order(20, chain, 1 | 1ull << 20, ends, held, step);
    CHECK_INT(step[0].a, 11);
    CHECK_INT(step[0].b, 12);
}

/* What a program can be made of takes time in proportion. */
TEST(long_expressions) {
    static const char *const forms[] = {"S[i,j]*", "S[%c,%c]*", "v[%c]+", "max(S[i,j],",
                                        "S[i,j]/v[k]-"}; /* of letters */
    double t = check_seconds();
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        tra_str text = {0};
        tra_str_add(&text, "input S : f64 [3,3] by [2,2]\ninput v : f64 [3] by [2]\nZ[] = sum (");
        int n = f == 3 ? 150 : 400;
        for (int i = 0; i < n; i++) {
            int x = 'a' + i % 26, y = 'a' + (i + 1) % 26;
            for (const char *c = forms[f]; *c; c++) {
                bool letter = c[0] == '%' && c[1] == 'c';
                tra_str_printf(&text, "%c", letter ? (c == strchr(forms[f], '%') ? x : y) : *c);
                c += letter;
            }
        }
        tra_str_add(&text, "S[a,b]");
        for (int i = 0; f == 3 && i < n; i++) tra_str_add(&text, ")");
        tra_str_add(&text, ")\n");
        built b = build(tra_str_get(&text));
        compile(&b);
        CHECK_OK(b.status, b.e);
        done(&b);
        tra_str_free(&text);
    }
    CHECK(check_seconds() - t < 5);
}

/* What is computed already is found without a look at every node: here each operator is one of 5000 over the same
 * inputs, or is there already. */
TEST(long_programs) {
    enum { N = 5000 };
    tra_str text = {0};
    tra_str_add(&text, "input S : f64 [3,3] by [2,2]\ninput T : f64 [3,3] by [2,2]\n");
    for (int i = 0; i < N; i++) tra_str_printf(&text, "X%d[i,j] = S[i,j] + %d * T[i,j]\n", i, i + 2);
    for (int i = 0; i < N; i++) tra_str_printf(&text, "Y%d[i,j] = S[i,j] + %d * T[i,j]\n", i, i + 2);
    built b = build(tra_str_get(&text));
    double t = check_seconds();
    compile(&b);
    CHECK(check_seconds() - t < (getenv("SAN") ? 10 : 1)); /* 0.1 s; the rest is for busy machines */
    CHECK_OK(b.status, b.e);
    CHECK_INT(b.g->n, 2 + N);
    done(&b);
    tra_str_free(&text);
}
