/* Closed forms of key functions against looking at every key: ranges, the grids that rekeys become and those that
 * filters leave. On random functions over small grids, and some over huge ones. */
#include "check.h"

#include "../../plans/tra/keyform.h"
#include "../../plans/tra/type.h"

#include <string.h>

/* ---- random functions --------------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "b", "c", "d"};

static tra_keyexpr *node(tra_arena *a, tra_keyop op, const tra_keyexpr *x, const tra_keyexpr *y) {
    tra_keyexpr *n = tra_new(a, tra_keyexpr);
    *n = (tra_keyexpr){.op = op, .a = x, .b = y};
    return n;
}

static tra_keyexpr *number(tra_arena *a, int64_t v) {
    tra_keyexpr *n = node(a, TRA_KEY_INT, NULL, NULL);
    n->value = v;
    return n;
}

static tra_keyexpr *variable(tra_arena *a, int d) {
    tra_keyexpr *n = node(a, TRA_KEY_VAR, NULL, NULL);
    n->var = d;
    return n;
}

typedef enum kind { LINEAR, QUOTIENTS, ANYTHING } kind;

static tra_keyexpr *random_sum(tra_arena *a, int arity) {
    tra_keyexpr *sum = NULL;
    for (int d = 0; d < arity; d++) {
        if (check_draw(2) && (sum || d < arity - 1)) continue;
        int64_t c = check_draw(3) ? 1 : check_draw(9) - 2;
        tra_keyexpr *t = variable(a, d);
        if (c != 1) t = node(a, TRA_KEY_MUL, t, number(a, c));
        sum = sum ? node(a, check_draw(5) ? TRA_KEY_ADD : TRA_KEY_SUB, sum, t) : t;
    }
    if (!sum) sum = number(a, check_draw(3));
    return check_draw(4) ? sum : node(a, check_draw(3) ? TRA_KEY_ADD : TRA_KEY_SUB, sum, number(a, check_draw(6)));
}

static tra_keyexpr *random_component(tra_arena *a, int arity, kind k, int depth) {
    static const tra_keyop two[] = {TRA_KEY_ADD, TRA_KEY_SUB, TRA_KEY_MUL, TRA_KEY_MIN, TRA_KEY_MAX,
                                    TRA_KEY_LT,  TRA_KEY_LE,  TRA_KEY_GT,  TRA_KEY_GE,  TRA_KEY_EQ,
                                    TRA_KEY_NE,  TRA_KEY_AND, TRA_KEY_OR,  TRA_KEY_DIV, TRA_KEY_MOD};
    static const tra_keyop one[] = {TRA_KEY_NEG, TRA_KEY_NOT, TRA_KEY_ABS};
    if (k == LINEAR || depth == 0) return random_sum(a, arity);
    if (k == QUOTIENTS || check_draw(2)) {
        tra_keyexpr *x = random_component(a, arity, k, depth - 1);
        int64_t c = k == QUOTIENTS ? 1 + check_draw(7) : check_draw(10) - 2;
        switch (check_draw(4)) {
        case 0: return x;
        case 1: return node(a, TRA_KEY_DIV, x, number(a, c));
        case 2: return node(a, TRA_KEY_MOD, x, number(a, c));
        default: return node(a, TRA_KEY_ADD, x, random_component(a, arity, k, depth - 1));
        }
    }
    tra_keyexpr *x = random_component(a, arity, k, depth - 1);
    if (check_draw(4) == 0) return node(a, one[check_draw(3)], x, NULL);
    return node(a, two[check_draw(15)], x, random_component(a, arity, k, depth - 1));
}

static void random_frontier(int n, int most, tra_dims *f) {
    f->n = n;
    for (int d = 0; d < n; d++) f->v[d] = 1 + check_draw(most);
}

static const char *text_of(tra_arena *a, const tra_keyfn *f, const tra_dims *frontier) {
    tra_str s = {0};
    char buf[TRA_DIMTEXT];
    tra_keyfn_print(f, false, &s);
    tra_str_printf(&s, " on %s", tra_key_text(frontier, buf));
    const char *r = tra_arena_strndup(a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return r;
}

/* ---- ranges ------------------------------------------------------------------------------------------------- */

TEST(ranges_contain_every_value) {
    for (int round = 0; round < 20000; round++) {
        tra_arena *a = tra_arena_new();
        tra_dims size, lo = {.n = 2}, hi = {.n = 2}, at = {.n = 2}, key = {.n = 2};
        random_frontier(2, round % 5 ? 6 : 1, &size);
        for (int d = 0; d < 2; d++) lo.v[d] = check_draw(4), hi.v[d] = lo.v[d] + size.v[d] - 1;
        tra_keyfn f = {.arity = 2, .names = {"a", "b"}, .n = 1};
        f.expr[0] = random_component(a, 2, ANYTHING, 1 + (int)check_draw(4));
        tra_range r = tra_keyexpr_range(f.expr[0], &lo, &hi);
        do {
            int64_t v = 0;
            tra_err e = {0};
            for (int d = 0; d < 2; d++) key.v[d] = lo.v[d] + at.v[d];
            bool ok = tra_keyexpr_eval(f.expr[0], &key, &v, &e) == TRA_OK;
            bool good = ok ? r.lo <= v && v <= r.hi : r.may_fail;
            if (round % 5 == 0) good = good && (ok ? r.lo == r.hi && !r.may_fail : r.lo > r.hi); /* a single key */
            if (good) continue;
            check_report("%s: %s %" PRId64 " at %" PRId64 ",%" PRId64 ", range %" PRId64 "..%" PRId64 "%s",
                         text_of(a, &f, &hi), ok ? "value" : "fails,", v, key.v[0], key.v[1], r.lo, r.hi,
                         r.may_fail ? " may fail" : "");
        } while (tra_next(&size, &at));
        tra_arena_free(a);
    }
}

static void random_function(tra_arena *a, int arity, kind k, tra_keyfn *f) {
    *f = (tra_keyfn){.arity = arity, .n = 1 + (int)check_draw(3)};
    for (int d = 0; d < arity; d++) f->names[d] = names[d];
    for (int i = 0; i < f->n; i++) f->expr[i] = random_component(a, arity, k, 1 + (int)check_draw(2));
}

/* ---- rekeys and filters as they are typed -------------------------------------------------------------------- */

typedef struct typed {
    tra_node in, n;
    tra_catalog cat, closed, listed;
} typed;

static void random_input(typed *t, int arity, int most) {
    tra_err e = {0};
    tra_dims frontier, bound = {.n = (int)check_draw(3)};
    int8_t by[TRA_MAXDIM];
    int64_t last[TRA_MAXDIM];
    random_frontier(arity, most, &frontier);
    for (int d = 0; d < bound.n; d++) {
        bound.v[d] = 4;
        by[d] = (int8_t)(check_draw(2) ? check_draw(arity) : -1);
        last[d] = 1 + check_draw(4);
    }
    *t = (typed){.n = {.in = {&t->in}}};
    CHECK_OK(tra_catalog_grid(&frontier, &bound, by, last, &t->cat, &e), e);
    t->in.type.cat = &t->cat;
}

static bool same_catalog(const tra_catalog *x, const tra_catalog *y) {
    if (x->n != y->n || x->grid != y->grid || !tra_dims_eq(&x->bound, &y->bound)) return false;
    if (x->n && !tra_dims_eq(&x->frontier, &y->frontier)) return false;
    for (int64_t i = 0; i < x->n; i++) {
        tra_dims k, l, a, b;
        tra_catalog_key(x, i, &k);
        tra_catalog_key(y, i, &l);
        tra_catalog_ext(x, i, &a);
        tra_catalog_ext(y, i, &b);
        if (!tra_dims_eq(&k, &l) || !tra_dims_eq(&a, &b)) return false;
    }
    return true;
}

TEST(rekeys_are_typed_as_by_their_tuples) {
    int64_t grids = 0;
    for (int round = 0; round < 20000; round++) {
        tra_arena *a = tra_arena_new();
        typed t;
        tra_keyfn f;
        tra_err e = {0}, other = {0};
        int arity = 1 + (int)check_draw(3);
        random_input(&t, arity, 6);
        random_function(a, arity, (kind)check_draw(3), &f);
        t.n.op = TRA_OP_REKEY;
        t.n.keyfn = &f;
        t.n.type = t.in.type;
        tra_status s = tra_type_rekey(a, &t.n, &t.closed, &e), want = tra_list_rekey(a, &t.n, &t.listed, &other);
        if (s != want)
            check_report("%s: %s, by its tuples %s", text_of(a, &f, &t.cat.frontier), e.msg, other.msg);
        else if (s == TRA_OK && !same_catalog(&t.closed, &t.listed))
            check_report("%s: another type than by its tuples", text_of(a, &f, &t.cat.frontier));
        grids += s == TRA_OK && t.closed.grid;
        tra_arena_free(a);
    }
    CHECK(grids > 1000);
}

/* Of a random predicate: comparisons, remainders and anything, under && || and !. */
static tra_keyexpr *random_predicate(tra_arena *a, int arity, int depth) {
    if (depth > 0 && check_draw(5) < 3) {
        if (check_draw(6) == 0) return node(a, TRA_KEY_NOT, random_predicate(a, arity, depth - 1), NULL);
        return node(a, check_draw(2) ? TRA_KEY_AND : TRA_KEY_OR, random_predicate(a, arity, depth - 1),
                    random_predicate(a, arity, depth - 1));
    }
    switch (check_draw(4)) {
    case 0: return random_component(a, arity, ANYTHING, 2);
    case 1:
        return node(a, check_draw(2) ? TRA_KEY_EQ : TRA_KEY_NE,
                    node(a, TRA_KEY_MOD, random_sum(a, arity), number(a, check_draw(6))), number(a, check_draw(4)));
    default:
        return node(a, (tra_keyop)(TRA_KEY_LT + check_draw(6)), random_sum(a, arity),
                    check_draw(2) ? random_sum(a, arity) : number(a, check_draw(6)));
    }
}

static tra_status walk_filter(tra_arena *a, const typed *t, const tra_keyfn *f, tra_catalog *out, tra_err *e) {
    tra_catbuilder *b = tra_catbuilder_new(t->cat.frontier.n, t->cat.bound.n);
    for (int64_t i = 0; i < t->cat.n; i++) {
        tra_dims key, ext;
        int64_t v;
        tra_catalog_key(&t->cat, i, &key);
        tra_catalog_ext(&t->cat, i, &ext);
        tra_status s = tra_keyexpr_eval(f->expr[0], &key, &v, e);
        if (s == TRA_OK && v) s = tra_catbuilder_add(b, &key, &ext, 0, e);
        if (s == TRA_OK) continue;
        tra_catbuilder_free(b);
        return s;
    }
    TRA_TRY(tra_catbuilder_finish(b, a, out, NULL, e));
    if (!out->n) out->bound = t->cat.bound;
    return TRA_OK;
}

TEST(filters_leave_what_walking_leaves) {
    int64_t grids = 0, empty = 0, lists = 0, fail = 0;
    for (int round = 0; round < 40000; round++) {
        tra_arena *a = tra_arena_new();
        typed t;
        int arity = (int)check_draw(4);
        tra_keyfn f = {.arity = arity, .n = 1};
        tra_err e = {0}, other = {0};
        random_input(&t, arity ? arity : 1, round % 3 ? 6 : 12);
        if (!arity) f.arity = arity = 1;
        for (int d = 0; d < arity; d++) f.names[d] = names[d];
        f.expr[0] = random_predicate(a, arity, (int)check_draw(5));
        t.n.op = TRA_OP_FILTER;
        t.n.keyfn = &f;
        tra_status s = tra_type_filter(a, &t.n, &t.closed, &e), want = walk_filter(a, &t, &f, &t.listed, &other);
        bool same = s == want && (s != TRA_OK || same_catalog(&t.closed, &t.listed));
        if (!same)
            check_report("%s: %s, %d keys, by walking %s, %d keys", text_of(a, &f, &t.cat.frontier), e.msg,
                         (int)t.closed.n, other.msg, (int)t.listed.n);
        if (s != TRA_OK)
            fail++;
        else
            *(t.closed.n == 0 ? &empty : t.closed.grid ? &grids : &lists) += 1;
        tra_arena_free(a);
    }
    if (getenv("SHOW")) printf("# empty %d grids %d lists %d fail %d\n", (int)empty, (int)grids, (int)lists, (int)fail);
    CHECK(grids > 2000 && empty > 2000 && lists > 2000 && fail > 2000);
}

/* ---- huge grids --------------------------------------------------------------------------------------------- */

/* What becomes of A of 2^20 x 2^20 blocks, or H of 2^40, and V of 2^40 and a part: the type, or the error. */
static void check_huge(int line, const char *operator, const char * want) {
    tra_str text = {0}, got = {0};
    tra_arena *a = tra_arena_new();
    tra_str_printf(&text,
                   "input A : f64 [2097151, 2097152] by [2, 2]; input H : f64 [1099511627776] by [1]; input V : f64 "
                   "[1099511627777] by [2]; input S : f64 [50000] by [10]\nC = %s\n",
                   operator);
    tra_script src = {.name = "p", .text = tra_str_get(&text), .n = (int)text.n};
    tra_diags d = {.arena = a, .src = &src};
    tra_graph *g = NULL;
    tra_err e = {0};
    double t = check_seconds();
    tra_status s = tra_graph_build(&src, &(tra_building){.dir = "."}, a, &d, &g, &e);
    t = check_seconds() - t;
    if (s == TRA_OK) {
        tra_node_describe(g->v[g->n - 1], &got);
    } else {
        tra_str all = {0};
        tra_diags_print(&d, false, &all);
        const char *from = strstr(tra_str_get(&all), "error: ");
        if (from) tra_str_addn(&got, from, strcspn(from, "\n"));
        tra_str_free(&all);
    }
    if (!strstr(tra_str_get(&got), want))
        check_report("line %d: %s: %s, not %s", line, operator, tra_str_get(&got), want);
    if (t > (getenv("SAN") ? 200 : 20)) check_report("line %d: %s took %.1f s", line, operator, t);
    if (g) tra_graph_close(g);
    tra_str_free(&got);
    tra_str_free(&text);
    tra_arena_free(a);
}
#define HUGE_GRID(operator, want) check_huge(__LINE__, operator, want)

TEST(rekeys_of_huge_grids) {
    HUGE_GRID("rekey(A, (i,j) -> (j,i))", "keys 2 <1048576,1048576>, f64 2 x 2, tensor 2097151 x 2097152");
    HUGE_GRID("rekey(A, (i,j) -> (i, 0, 1048575-j))", "keys 3 <1048576,1,1048576>, f64 2 x 2, tensor 2097151 x");
    HUGE_GRID("rekey(H, i -> (i/1048576, i%1048576))", "keys 2 <1048576,1048576>, f64 1, tensor 1048576");
    HUGE_GRID("rekey(H, i -> (i+1)%1099511627776)", "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(rekey(H, i -> (i/1048576, i%1048576)), (i,j) -> i*1048576+j)", "keys 1 <1099511627776>");
    HUGE_GRID("rekey(rekey(H, i -> (i/1048576, i%1048576)), (i,j) -> (i, (i+j)%1048576))",
              "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(rekey(H, i -> (i/1048576, i%1048576)), (i,j) -> (i*3%1048576, j))", "keys 2 <1048576,1048576>");
    HUGE_GRID("rekey(A, (i,j) -> i*1048576+j)", "the new keys differ, but are no grid, and 1099511627776");
    HUGE_GRID("rekey(V, i -> (i/2, i%2))", "the new keys differ, but are no grid, and 549755813889");
    HUGE_GRID("rekey(A, (i,j) -> (1048575-i, j))", "the new keys differ, but are no grid, and 1099511627776");
    HUGE_GRID("rekey(A, (i,j) -> (2*i, j))", "the new keys differ, but are no grid, and 1099511627776");
    HUGE_GRID("rekey(A, (i,j) -> i*1048575+j)", "maps the keys <0,1048575> and <1,0> both to <1048575>");
    HUGE_GRID("rekey(A, (i,j) -> (i/2, j))", "maps the keys <0,0> and <1,0> both to <0,0>");
    HUGE_GRID("rekey(A, (i,j) -> i)", "maps the keys <0,0> and <0,1> both to <0>");
    HUGE_GRID("rekey(A, (i,j) -> (i+j, 2*(i+j)))", "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(A, (i,j) -> (i*j, i+j))", "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(A, (i,j) -> 3*i + 5*j)", "maps the keys <0,3> and <5,0> both to <15>");
    HUGE_GRID("rekey(A, (i,j) -> 1000003*i + 999983*j)", "maps the keys <0,1000003> and <999983,0> both to <99998");
    HUGE_GRID("rekey(H, i -> (i%1048576, i/1048576))", "keys 2 <1048576,1048576>, f64 1, tensor 1048576");
    HUGE_GRID("rekey(H, i -> (i/1048576, i%1048575))", "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(H, i -> (i/1048577, i%1048577))", "the new keys differ, but are no grid");
    HUGE_GRID("rekey(A, (i,j) -> (i, 7))", "maps the keys <0,0> and <0,1> both to <0,7>");
    HUGE_GRID("rekey(A, (i,j) -> i - 1048576*j)", "component 0 of the new key is -1099510579200 at key <0,1048575>");
    HUGE_GRID("rekey(A, (i,j) -> 1099511627775 - i - 1048576*j)", "the new keys differ, but are no grid");
    HUGE_GRID("rekey(A, (i,j) -> (j, i, i*0 + j*0))", "cannot be decided without looking at all 1099511627776 keys");
    HUGE_GRID("rekey(A, (i,j) -> (i+j, i-j))", "component 1 of the new key is -1048575 at key <0,1048575>");
    HUGE_GRID("rekey(A, (i,j) -> (i, j*9223372036854))", "integer overflow in * at key <0,1048575>");
    HUGE_GRID("rekey(A, (i,j) -> (i, j/0))", "division by zero at key <0,0>");
    HUGE_GRID("rekey(H, i -> (i % 1000) * (i % 1001))", "cannot be decided without looking at all 1099511627776 keys");
}

TEST(filters_of_huge_grids) {
    HUGE_GRID("filter(A, (i,j) -> i == j)",
              "keys 2 <1048576,1048576>, f64 2 x 2, tensor 2097151 x 2097152, 1048576 tuples");
    HUGE_GRID("filter(A, (i,j) -> i < 5 || i >= 5)", "tensor 2097151 x 2097152, 1099511627776 tuples");
    HUGE_GRID("filter(A, (i,j) -> i < 50000 && j <= 70000)",
              "<50000,70001>, f64 2 x 2, tensor 100000 x 140002, 3500050000");
    HUGE_GRID("filter(A, (i,j) -> i == 5 && j < 7)",
              "keys 2 <6,7>, f64 2 x 2, tensor 12 x 14, 7 tuples, 224 B, 35 holes");
    HUGE_GRID("filter(A, (i,j) -> 2*i == 3*j && i % 1000 == 7)", ", 349 tuples");
    HUGE_GRID("filter(A, (i,j) -> i > j + 1048570)", "<1048576,5>, f64 2 x 2, tensor 2097151 x 10, 15 tuples");
    HUGE_GRID("filter(A, (i,j) -> i*1000 == j)", ", 1049 tuples");
    HUGE_GRID("filter(A, (i,j) -> (i == 3 || j == 4) && i < 9)", ", 1048584 tuples");
    HUGE_GRID("filter(H, i -> i % 1000000007 == 5)", ", 1100 tuples");
    HUGE_GRID("filter(H, i -> i % 3 == 5)", " 0 tuples");
    HUGE_GRID("filter(H, i -> i % 3 == 0 || i % 5 == 0)",
              "more than 16777216 keys, too many to list, and no grid (<1> is mis");
    HUGE_GRID("filter(A, (i,j) -> i < j)", "more than 16777216 keys, too many to list, and no grid (<0,0> is missing)");
    HUGE_GRID("filter(A, (i,j) -> i >= 50000)",
              "more than 16777216 keys, too many to list, and no grid (<0,0> is missing)");
    HUGE_GRID("filter(H, i -> i / 1000000 != 5)", "and no grid (<5000000> is missing)");
    HUGE_GRID("filter(A, (i,j) -> 10 / (i - 7) > 2)", "division by zero at key <7,0>");
    HUGE_GRID("join(filter(S, i -> i % 7 != 3), filter(S, i -> i % 7 != 2), [], [], (x, y) -> x * y)",
              "the result of this join is not a grid and has more than 16777216 tuples, too many to list; use larger");
    HUGE_GRID("filter(H, i -> i*i % 1000003 == 5)", "were not found after cutting the 1099511627776 keys");
}
