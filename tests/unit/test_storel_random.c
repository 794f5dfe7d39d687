/* Every plan that the optimizer offers gives what the naive plan gives, by the interpreter: random statements and
 * random programs of the calculus over random storages. Each program follows from its number.
 *
 * TRA_TEST_SEED: the number of the first program of each test (1; with TRA_TEST_LONG=1 of the day); TRA_TEST_COUNT: how
 * many programs each test has (else as it says; ten times as many with TRA_TEST_LONG=1). `make check-property` runs
 * tens of thousands. */
#include "storel_program.h"
#include "storel_rules.h"

enum { MOSTRESULTS = 1 << 14 };

/* ---- running ------------------------------------------------------------------------------------------------------
 */

typedef struct results {
    int n, rank;
    int64_t key[MOSTRESULTS][4];
    double v[MOSTRESULTS];
} results;

static tra_status keep(void *ctx, const tra_calc_entry *x, tra_err *e) {
    results *r = ctx;
    if (r->n == MOSTRESULTS) return tra_fail(e, TRA_RESOURCE, "too many results");
    for (int d = 0; d < r->rank; d++) r->key[r->n][d] = x->key[d];
    r->v[r->n++] = tra_calc_as_real(x->value);
    return TRA_OK;
}

static tra_status run(const tra_calc *x, int n, const tra_calc_free *scope, results *r, tra_err *e) {
    r->n = 0;
    r->rank = x->type.depth;
    return tra_calc_run_summed(x, n, scope, 5000000, keep, r, e);
}

static bool same_number(double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return true;
    return drawn == ROUNDED && fabs(a - b) <= 1e-11 * fabs(a);
}

static bool same_results(const results *a, const results *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        for (int d = 0; d < a->rank; d++)
            if (a->key[i][d] != b->key[i][d]) return false;
        if (!same_number(a->v[i], b->v[i])) return false;
    }
    return true;
}

static int64_t programs, plans, skipped;
static int64_t numbered; /* the program */
static const char *test;

static void print_tree(const char *what, const tra_calc *x) {
    tra_str s = {0};
    tra_calc_print(x, &s);
    printf("# %s %s\n", what, tra_str_get(&s));
    tra_str_free(&s);
}

static void check_plans(tra_storel_problem *p, tra_arena *arena, const tra_calc_free *scope) {
    static results want, got;
    tra_storel_result r;
    tra_err e = {0};
    p->plans = below(8) ? 6 : TRA_STOREL_MOSTPLANS;
    if (run(p->tree, p->n, scope, &want, &e) != TRA_OK) {
        skipped++;
        return;
    }
    tra_storel_result *out = &r;
    CHECK_OK(tra_storel_optimize(p, arena, out, &e), e);
    programs++;
    for (int i = 0; i < r.n; i++) {
        tra_status s = run(r.plan[i].tree, p->n, scope, &got, &e);
        plans++;
        bool types =
            r.plan[i].tree->type.depth == p->tree->type.depth && r.plan[i].tree->type.real == p->tree->type.real;
        if (s == TRA_OK && types && same_results(&want, &got)) continue;
        check_report("TRA_TEST_SEED=%" PRId64 " TRA_TEST_COUNT=1 test_storel_random %s: plan %d: %s", numbered, test, i,
                     s == TRA_OK ? types ? "other results" : "another type" : e.msg);
        print_tree("of", p->tree);
        print_tree("is", r.plan[i].tree);
        for (int k = 0; s == TRA_OK && k < want.n + got.n && k < 8; k++)
            printf("# %d: %g, %g\n", k, k < want.n ? want.v[k] : NAN, k < got.n ? got.v[k] : NAN);
        return;
    }
}
/* ---- statements and programs --------------------------------------------------------------------------------------
 */

/* One dense operand among others, where elements may be infinite. */
static bool fits(const statement *k) {
    int dense = 0;
    for (int i = 0; i < k->s.nrefs; i++) dense += !k->operand[i].storage;
    return drawn != INFINITE || (dense == 1 && k->s.nrefs > 1);
}

static void check_statement(bool mixed, uint64_t without) {
    static statement k;
    tra_err e = {0};
    for (;;) {
        memset(&k, 0, sizeof k);
        k.arena = tra_arena_new();
        random_statement(&k, mixed);
        if (fits(&k)) break;
        free_statement(&k);
    }
    CHECK_OK(tra_storel_compose(&k.s, k.extent, k.operand, k.arena, &k.c, &e), e);
    fill_scope(&k);
    k.c.problem.without = without;
    k.c.problem.dense = below(2);
    if (e.status == TRA_OK) check_plans(&k.c.problem, k.arena, k.scope);
    free_statement(&k);
}

/* The lets of the mappings, and a random program for body. */
static void check_program(uint64_t without) {
    static statement k;
    static const int labels[4][2] = {{0, 1}, {1, 2}, {0, 0}, {2, 2}};
    static const char *const label_names[] = {"i", "j", "k"}, *const tensor_names[] = {"A", "B", "C", "D"};
    tra_err e = {0};
    tra_calc_error err;
    memset(&k, 0, sizeof k);
    k.arena = tra_arena_new();
    k.s.fold = TRA_S_ADD;
    k.s.nrefs = 4;
    k.s.nlabels = 3;
    k.s.ref = tra_news(k.arena, tra_einsum_ref, MOSTREFS);
    for (int l = 0; l < 3; l++) k.s.name[l] = label_names[l], k.extent[l] = 1 + below(4);
    for (int i = 0; i < 4; i++) {
        int64_t of[4] = {0};
        k.s.ref[i].n = i < 2 ? 2 : 1;
        for (int d = 0; d < k.s.ref[i].n; d++) of[d] = (int64_t)k.extent[k.s.ref[i].label[d] = labels[i][d]];
        new_array(&k.array[i], k.arena, k.s.ref[i].n, of);
        bool dense = !k.array[i].storage;
        /* with a mapping all the same, which programs name */
        if (dense) k.array[i].storage = find(k.arena, "dense", k.s.ref[i].n, 0, NULL);
        k.operand[i] =
            (tra_storel_operand){.name = tensor_names[i], .storage = k.array[i].storage, .real = true, .same = -1};
        k.operand[i].sparse = !dense;
        draw_statistics(&k.operand[i], &k.array[i]);
        const tra_scalar *arg = node_of(k.arena, TRA_S_ARG, i, NULL, NULL);
        k.s.expr = k.s.expr ? node_of(k.arena, TRA_S_MUL, 0, k.s.expr, arg) : arg;
    }
    CHECK_OK(tra_storel_compose(&k.s, k.extent, k.operand, k.arena, &k.c, &e), e);
    fill_scope(&k);
    writer w = {0};
    for (const tra_calc *x = k.c.problem.tree; x->kind == TRA_CALC_LET; x = x->kids[1]) {
        tra_str_printf(&w.out, "let %s = ", x->binders[0].name);
        tra_calc_print(x->kids[0], &w.out);
        add(&w, " in ");
    }
    expression(&w, below(3), 4);
    char *text = tra_arena_strndup(k.arena, tra_str_get(&w.out), w.out.n);
    tra_str_free(&w.out);
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), k.arena, &err);
    if (!x || !tra_calc_check(x, k.c.problem.n, k.c.problem.scope, k.arena, &err)) {
        skipped++;
    } else {
        k.c.problem.tree = x;
        memset(k.c.problem.extent, 0, sizeof k.c.problem.extent);
        k.c.problem.without = without;
        check_plans(&k.c.problem, k.arena, k.scope);
    }
    free_statement(&k);
}

/* ---- the tests ----------------------------------------------------------------------------------------------------
 */

static int64_t setting(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static bool is_long(void) { return setting("TRA_TEST_LONG", 0) == 1; }

static int64_t first_number(void) {
    time_t now = time(NULL);
    struct tm t;
    char day[32] = "1";
    if (is_long() && gmtime_r(&now, &t)) strftime(day, sizeof day, "%Y%m%d000", &t);
    return setting("TRA_TEST_SEED", strtoll(day, NULL, 10));
}

/* Makes a program and checks its plans; what: as the test likes. */
typedef void check_one(int64_t what);

static void many(const char *name, int64_t n, elements of, check_one *one, int64_t what) {
    n = setting("TRA_TEST_COUNT", is_long() ? 10 * n : n);
    numbered = first_number();
    for (int64_t i = 0; i < n && !check_failures; i++, numbered++) {
        test = name;
        state = (uint64_t)numbered << 8;
        drawn = of;
        one(what);
        drawn = EXACT;
    }
}

static void tell(void) {
    printf("# %" PRId64 " programs, %" PRId64 " plans, %" PRId64 " refused\n", programs, plans, skipped);
    programs = plans = skipped = 0;
}

static void a_product(int64_t what) { check_statement(false, (uint64_t)what); }
static void a_function(int64_t what) { check_statement(true, (uint64_t)what); }
static void a_program(int64_t what) { check_program((uint64_t)what); }
static void any(int64_t without) {
    int k = below(4);
    if (k < 2)
        check_program((uint64_t)without);
    else
        check_statement(k == 3, (uint64_t)without);
}
static void without_some(int64_t what) {
    (void)what;
    uint64_t without = 0;
    for (int i = 0; i < 5; i++) without |= (uint64_t)1 << below(TRA_STOREL_MAXRULES);
    any((int64_t)without);
}

TEST(plans_of_random_products) {
    many("plans_of_random_products", 500, EXACT, a_product, 0);
    tell();
}

/* Entries that are 0 annihilate, also infinity: of statements with one dense operand, since what it is multiplied with
 * is of sparse type then. */
TEST(stored_zeros_annihilate) {
    many("stored_zeros_annihilate", 200, INFINITE, a_product, 0);
    tell();
}

TEST(plans_of_random_functions) {
    many("plans_of_random_functions", 300, EXACT, a_function, 0);
    tell();
}

TEST(plans_of_random_programs) {
    many("plans_of_random_programs", 1000, EXACT, a_program, 0);
    tell();
}

TEST(plans_are_right_within_rounding) {
    many("plans_are_right_within_rounding", 500, ROUNDED, any, 0);
    tell();
}

TEST(plans_without_each_rule) {
    for (int i = 0; i < RULES; i++) {
        if (rules[i].built_in) continue;
        many("plans_without_each_rule", 40, EXACT, any, (int64_t)1 << i);
        if (check_failures) check_report("without %s", rules[i].name);
    }
    tell();
}

TEST(plans_without_several_rules) {
    many("plans_without_several_rules", 120, EXACT, without_some, 0);
    tell();
}
