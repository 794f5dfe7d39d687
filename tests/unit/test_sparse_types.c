/* Which relations are sparse by type, what is known of their entries, and how they are held. */
#include "check.h"

#include "../../plans/tra/tra.h"
#include "sparse_util.h"

/* S, T, U, P (2 x 2 blocks of 6 x 6), Q (as S, other blocks), s (a vector) are sparse; A, B, b, x are dense. */
static const char inputs[] =
    "input S : f64 [6,6] by [2,2]\ninput T : f64 [6,6] by [2,2]\ninput U : f64 [6,7] by [2,3]\n"
    "input Q : f64 [6,6] by [4,3]\ninput W : f64 [7] by [3]\ninput R : f64 [1,7] by [1,3]\n"
    "input A : f64 [6,6] by [2,2]\ninput B : f64 [6,7] by [2,3]\ninput b : f64 [6] by [2]\n";
static bool is_sparse_input(const char *name) { return strchr("STUQWR", name[0]) != NULL; }

typedef struct made {
    tra_arena *a;
    tra_script src;
    tra_diags d;
    tra_graph *g;
    const tra_ref_rel **v; /* of each node, by the reference evaluator */
} made;

static const tra_node *last_of(const made *x) { return x->g->names[x->g->nnames - 1].node; }

/* Builds the program with the inputs as above; `of` of 1: every element of the sparse ones is an entry. */
static bool make(made *x, const char *body, int of, bool known, bool special) {
    tra_err e = {0};
    *x = (made){.a = tra_arena_new()};
    const char *text = tra_arena_printf(x->a, "%s%s", inputs, body);
    x->src = (tra_script){.name = "types", .text = text, .n = (int)strlen(text)};
    x->d = (tra_diags){.arena = x->a, .src = &x->src};
    if (tra_graph_build(&x->src, &(tra_building){.dir = "."}, x->a, &x->d, &x->g, &e) != TRA_OK) {
        tra_str s = {0};
        tra_diags_print(&x->d, false, &s);
        check_report("does not compile: %s\n%s", body, tra_str_get(&s));
        tra_str_free(&s);
        return false;
    }
    x->v = tra_news(x->a, const tra_ref_rel *, x->g->n);
    for (int i = 0; i < x->g->n; i++) {
        tra_node *n = x->g->v[i];
        if (n->op == TRA_OP_INPUT) {
            bool sparse = is_sparse_input(n->name);
            tra_ref_rel *r = sparse_relation(n, x->a, sparse ? of : 1, special);
            if (sparse) sparse_input(n, r, x->a, known);
            x->v[i] = r;
            continue;
        }
        CHECK_OK(tra_node_type(x->a, n, NULL, &e), e);
    }
    return true;
}

static void evaluate(made *x) {
    tra_err e = {0};
    for (int i = 0; i < x->g->n; i++) {
        const tra_node *n = x->g->v[i];
        if (x->v[i]) continue;
        tra_ref_rel *r = tra_new(x->a, tra_ref_rel);
        CHECK_OK(tra_reference_apply(n, x->v[n->in[0]->id], n->in[1] ? x->v[n->in[1]->id] : NULL, x->a, r, &e), e);
        x->v[i] = r;
    }
}

static void done(made *x) { tra_arena_free(x->a); }

/* ---- which are sparse ---------------------------------------------------------------------------------------------
 */

static const struct {
    const char *program;
    bool sparse;
} rules[] = {
    /* products and quotients */
    {"Z[i,j] = S[i,j] * A[i,j]", true},
    {"Z[i,j] = A[i,j] * S[i,j]", true},
    {"Z[i,j] = A[i,j] * b[i]", false},
    {"Z[i,j] = S[i,j] / A[i,j]", true},
    {"Z[i,j] = A[i,j] / S[i,j]", false},
    {"Z[i,j] = S[i,j] * 3", true},
    {"Z[i,j] = 3 / S[i,j]", false},
    {"Z[i,k] = sum S[i,j] * A[j,k]", true},
    {"Z[i,k] = sum A[i,j] * A[j,k]", false},
    {"Z[i,j] = b[i] * W[j]", true},
    {"Z = join(A, S, [1], [0], matmul)", true},
    {"Z = join(b, W, [], [], outer)", true},
    {"Z = join(A, A, [0,1], [0,1], elemmul)", false},
    {"Z = join(A, S, [0,1], [0,1], elemdiv)", false},
    /* sums and differences */
    {"Z[i,j] = S[i,j] + T[i,j]", true},
    {"Z[i,j] = S[i,j] - T[i,j]", true},
    {"Z[i,j] = S[i,j] - A[i,j]", false},
    {"Z[i,j] = S[i,j] + 1", false},
    {"Z[i,j] = S[i,j] * A[i,j] + T[i,j] * b[i]", true},
    {"Z = join(S, T, [0,1], [0,1], (x,y) -> 2 * x - y)", true},
    /* other functions */
    {"Z[i,j] = max(S[i,j], T[i,j])", true},
    {"Z[i,j] = max(S[i,j], A[i,j])", false},
    {"Z[i,j] = max(S[i,j], 0)", true},
    {"Z[i,j] = max(S[i,j], 1)", false},
    {"Z[i,j] = exp(S[i,j])", false},
    {"Z[i,j] = exp(S[i,j]) - 1", true},
    {"Z[i,j] = sqrt(abs(S[i,j]))", true},
    {"Z[i,j] = S[i,j] ^ 2", true},
    {"Z[i,j] = S[i,j] ^ -1", false},
    {"Z[i,j] = S[i,j] != T[i,j]", true},
    {"Z[i,j] = S[i,j] == T[i,j]", false},
    {"Z = transform(S, tanh)", true},
    {"Z = transform(S, sigmoid)", false},
    {"Z = transform(S, exp . neg)", false},
    {"Z = transform(S, neg . abs)", true},
    {"Z = transform(S, scale(2))", true},
    {"Z = transform(S, densify)", false},
    {"Z = transform(A, sparsify)", true},
    {"Z = transform(A, neg . sparsify)", true},
    {"Z = transform(S, neg . densify)", false},
    {"Z = transform(S, exp . densify)", false},
    /* aggregations over labels, and of tuples */
    {"Z[i] = sum S[i,j]", true},
    {"Z[i] = max S[i,j]", true},
    {"Z[i] = prod S[i,j]", true},
    {"Z[] = min S[i,j]", true},
    {"Z[i] = sum exp(S[i,j])", false},
    {"Z = agg(S, [0], matadd)", true},
    {"Z = agg(S, [0], exp . matadd)", false},
    {"Z = agg(S, [], minindex)", false},
    {"Z = transform(S, rowmax)", true},
    /* keys and blocks */
    {"Z = rekey(S, (i,j) -> (j,i))", true},
    {"Z = filter(S, (i,j) -> i < j)", true},
    {"Z = transform(S, transpose)", true},
    {"Z = transform(S, diag)", true},
    {"Z = tile(S, 0, 1)", true},
    {"Z = concat(S, 1, 1)", true},
    {"Z = reblock(S, [3,4])", true},
    {"Z = rekey(A, (i,j) -> (j,i))", false},
    {"Z = transpose(S)", true},
    {"Z = softmax(S)", false},
};

TEST(rules_of_sparse_by_type) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        made x;
        if (!make(&x, rules[i].program, 3, true, false)) continue;
        const tra_type *t = &last_of(&x)->type;
        if (t->sparse != rules[i].sparse)
            check_report("%s is %s by type", rules[i].program, t->sparse ? "sparse" : "dense");
        if (!t->sparse) CHECK(!t->layout && !t->entries);
        if (t->sparse) CHECK(t->entries != NULL);
        evaluate(&x);
        CHECK_INT(x.v[last_of(&x)->id]->sparse, rules[i].sparse);
        done(&x);
    }
}

/* ---- entries ------------------------------------------------------------------------------------------------- */

static const char *const programs[] = {
    "P = join(S, T, [1], [0], matmul)\nZ = agg(P, [0,2], matadd)\nY = agg(Z, [1], matadd)\n"
    "V = join(S, A, [1], [0], matmul)\nO = agg(V, [0,2], neg . matadd)\nC = join(B, W, [1], [0], \"ij,j->i\")",
    "P = join(S, T, [0,1], [0,1], elemmul)\nZ = join(S, T, [0,1], [0,1], matadd)\nY = join(P, Z, [0], [1], matsub)\n"
    "V = join(S, A, [0,1], [0,1], elemmul)\nO = join(V, S, [], [], elemmul)\nN = join(S, A, [0,1], [0,1], elemdiv)",
    "P = join(U, W, [1], [0], matvecmul)\nZ = join(U, W, [1], [0], matvecadd)\nY = join(B, W, [1], [0], matvecmul)\n"
    "V = join(U, R, [1], [1], matvecmul)\nO = join(R, U, [1], [1], matvecsub)\nN = join(b, W, [], [], outer)\n"
    "M = join(U, W, [1], [0], (x,y) -> exp(x * y) - 1)\nL = join(U, U, [0,1], [0,1], (x,y) -> max(x, y) * x)",
    "P = transform(U, rowsum)\nZ = transform(U, rowmax)\nY = transform(U, colsum)\nV = transform(S, diag)\n"
    "O = transform(U, transpose)\nN = transform(U, \"ij->\")\nM = transform(U, neg . rowmin)",
    "P = agg(U, [0], matadd)\nZ = agg(U, [0], elemmax)\nY = agg(U, [1], elemmul)\nV = agg(U, [], elemmin)\n"
    "O = agg(filter(U, (i,j) -> i + j == 2), [], elemmax)",
    "P = transform(A, sparsify)\nZ = transform(P, neg)\nY = join(P, A, [1], [0], matmul)\nV = transform(Z, densify)",
    "P = rekey(U, (i,j) -> (j, i))\nZ = filter(U, (i,j) -> i < j)\nY = rekey(Z, (i,j) -> (i + 2 * j))\n"
    "V = tile(U, 1, 2)\nO = concat(U, 0, 0)\nN = reblock(U, [4,4])\nM = reblock(filter(U, (i,j) -> j != 1), [1,7])\n"
    "L = concat(V, 2, 1)\nK = transform(Z, neg)",
    "P[i,k] = sum S[i,j] * T[j,l] * A[l,k]\nZ[i] = sum S[i,j] * b[j]\nY[i,j] = S[i,j] * b[i] + T[i,j]\n"
    "V[i] = max S[i,j] - T[i,j]\nO[] = sum S[i,j] * T[j,i]\nN[i] = prod S[i,j]\nM[i,j] = S[i,j] * Q[j,i]\n"
    "L[i] = sum S[i,i] * A[i,j]",
    "P = filter(S, (i,j) -> i > 99)\nZ = transform(P, rowmax)\nY = agg(P, [0], matadd)\nV = join(P, S, [1], [0], "
    "matmul)",
};

/* Every bound holds, and what is said to be exact is. */
static void check_node(const made *x, const tra_node *n) {
    const tra_ref_rel *r = x->v[n->id];
    const tra_type *t = &n->type;
    tra_size all = tra_type_entries(t), bytes = tra_type_bytes_all(t);
    int64_t total = 0, rows, taken = 0;
    tra_err e = {0};
    CHECK_OK(tra_reference_matches(r, t, &e), e);
    for (int64_t i = 0; i < r->n; i++) {
        int64_t has = sparse_count(r, i, &rows);
        tra_size one = tra_type_entries1(t, i), room = tra_type_bytes(t, i);
        total += has;
        if (has > one.bound || (one.exact && has != one.bound) || (t->entries && has > t->entries->most))
            check_report("%s: %" PRId64 " entries in a tuple, at most %" PRId64, n->name, has, one.bound);
        int64_t need = tra_rows_room(t->dtype, rows, has);
        if (t->layout == &tra_rows && need > room.bound)
            check_report("%s: a tuple takes %" PRId64 " bytes, at most %" PRId64, n->name, need, room.bound);
        taken += need;
    }
    if (!t->sparse) return;
    if (total > all.bound || (all.exact && total != all.bound))
        check_report("%s has %" PRId64 " entries, at most %" PRId64, n->name, total, all.bound);
    if (t->layout == &tra_rows && (taken > bytes.bound || (bytes.exact && taken != bytes.bound)))
        check_report("%s takes %" PRId64 " bytes, at most %" PRId64, n->name, taken, bytes.bound);
}

TEST(bounds_are_never_below_the_truth) {
    static const int densities[] = {1, 2, 5, 20, 1000000};
    for (int i = 0; i < 400; i++) {
        made x;
        const char *program = programs[i % (int)(sizeof programs / sizeof *programs)];
        if (!make(&x, program, densities[(i / 8) % 5], i % 3 > 0, i % 4 == 0)) continue;
        evaluate(&x);
        for (int k = 0; k < x.g->n; k++) check_node(&x, x.g->v[k]);
        done(&x);
    }
}

TEST(what_is_known_tuple_by_tuple_stays_exact_where_tuples_are_shown) {
    made x;
    if (!make(&x, "Z = filter(rekey(U, (i,j) -> (j, i)), (i,j) -> i < j)", 3, true, false)) return;
    evaluate(&x);
    const tra_type *t = &last_of(&x)->type;
    CHECK(t->entries->all.exact && t->entries->of && t->entries->rows);
    CHECK(t->entries->bytes.exact && t->layout == &tra_rows);
    check_node(&x, last_of(&x));
    done(&x);
}

/* The estimate for independent places: 1 - (1 - p q)^k. */
TEST(estimates_of_products) {
    made x;
    if (!make(&x,
              "Z = agg(join(S, T, [1], [0], matmul), [0,2], matadd)\nY = join(S, T, [0,1], [0,1], elemmul)\n"
              "V = join(S, T, [0,1], [0,1], matadd)",
              3, true, false))
        return;
    double s = (double)tra_type_entries(&x.g->v[0]->type).expected / 36;
    double t = (double)tra_type_entries(&x.g->v[1]->type).expected / 36;
    const tra_named *names = x.g->names;
    double z = (double)tra_type_entries(&names[x.g->nnames - 3].node->type).expected;
    double y = (double)tra_type_entries(&names[x.g->nnames - 2].node->type).expected;
    double v = (double)tra_type_entries(&names[x.g->nnames - 1].node->type).expected;
    CHECK(fabs(z - 36 * (1 - pow(1 - s * t, 6))) <= 1.5);
    CHECK(fabs(y - 36 * s * t) <= 1);
    CHECK(fabs(v - 36 * (s + t - s * t)) <= 1);
    done(&x);
}

/* ---- how they are held --------------------------------------------------------------------------------------- */

static tra_type large(tra_arena *a, int64_t entries) {
    tra_err e = {0};
    tra_type t = {.dtype = TRA_F64, .sparse = true};
    tra_catalog *c = tra_new(a, tra_catalog);
    tra_dims shape = {2, {100000, 1000}};
    CHECK_OK(tra_catalog_blocks(&shape, &shape, c, &e), e);
    t.cat = c;
    t.entries = tra_entries_about(a, &t, (double)entries, 100000000, INT64_MAX);
    return t;
}

TEST(held_as_rows_where_that_takes_less) {
    tra_arena *a = tra_arena_new();
    tra_type few = large(a, 1000000), many = large(a, 90000000), dense = large(a, 10);
    dense.sparse = false;
    CHECK(tra_type_best_layout(&few) == &tra_rows);
    CHECK(tra_type_best_layout(&many) == NULL);
    CHECK(tra_type_best_layout(&dense) == NULL);
    tra_arena_free(a);
}
