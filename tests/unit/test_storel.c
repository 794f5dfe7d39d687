/* Plans of the optimizer: each rule by its test data, the forms of the known kernels, and by the interpreter. */
#include "../../plans/storel/compose.h"
#include "storage_fill.h"
#include "storel_rules.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the scope of the rules' test data ----------------------------------------------------------------------- */

enum { N_, M_, S_, R_, X_, Y_, Z_, A_, IDX, JDX, RDX, NNAMES };

static tra_calc_name names[NNAMES] = {
    {.name = "n"},
    {.name = "m"},
    {.name = "s", .type = {.real = true}},
    {.name = "r", .type = {.real = true}},
    {.name = "x", .type = {.real = true, .depth = 1}},
    {.name = "y", .type = {.real = true, .depth = 1}},
    {.name = "z", .type = {.real = true, .depth = 1}},
    {.name = "A", .type = {.real = true, .sparse = true, .depth = 2}},
    {.name = "idx", .type = {.depth = 1}},
    {.name = "jdx", .type = {.depth = 1}},
    {.name = "rdx", .type = {.depth = 1}},
};

static void fill_about(tra_storel_about *about) {
    for (int i = 0; i < NNAMES; i++) about[i] = (tra_storel_about){.value = NAN};
    about[N_].value = 1000;
    about[M_].value = 500;
    for (int i = X_; i <= RDX; i++) {
        about[i].kind = i == A_ ? TRA_STOREL_HASHED : TRA_STOREL_ARRAY;
        about[i].n[0] = i == A_ ? 100 : i < A_ ? 1000 : 50;
        about[i].n[1] = 10;
        about[i].extent[0] = about[i].extent[1] = N_ + 1;
        about[i].part = i > A_ ? 50 : NAN;
        about[i].below = i > A_ ? N_ + 1 : 0;
        about[i].ascending = i == IDX || i == JDX;
    }
}

static const tra_calc *parse(tra_arena *a, const char *text, int n, const tra_calc_name *scope) {
    tra_calc_error err = {0};
    const tra_calc *x = tra_calc_parse(text, (int)strlen(text), a, &err);
    if (x && tra_calc_check(x, n, scope, a, &err)) return x;
    check_report("%s: %s", text, err.msg);
    return NULL;
}

static bool optimize(tra_arena *a, const char *text, uint64_t without, tra_storel_result *r) {
    static tra_storel_about about[NNAMES];
    tra_err e = {0};
    fill_about(about);
    tra_storel_problem p = {.tree = parse(a, text, NNAMES, names),
                            .n = NNAMES,
                            .scope = names,
                            .about = about,
                            .without = without,
                            .plans = 32};
    if (!p.tree) return false;
    tra_status s = tra_storel_optimize(&p, a, r, &e);
    if (s != TRA_OK) check_report("%s: %s", text, e.msg);
    return s == TRA_OK;
}

static bool among(const tra_storel_result *r, const tra_calc *x) {
    for (int i = 0; i < r->n; i++)
        if (tra_storel_same(r->plan[i].tree, x)) return true;
    return false;
}

static void print_plans(const tra_storel_result *r) {
    for (int i = 0; i < r->n; i++) {
        tra_str s = {0};
        tra_calc_print(r->plan[i].tree, &s);
        printf("#   %.4g: %s\n", r->plan[i].cost, tra_str_get(&s));
        tra_str_free(&s);
    }
}

TEST(each_rule_does_what_its_row_says) {
    for (int i = 0; i < RULES; i++) {
        if (!rules[i].before) continue;
        tra_arena *a = tra_arena_new();
        tra_storel_result r;
        const tra_calc *after = parse(a, rules[i].after, NNAMES, names);
        if (after && optimize(a, rules[i].before, 0, &r)) {
            if (!among(&r, after)) {
                check_report("%s: no plan of %s is %s, but", rules[i].name, rules[i].before, rules[i].after);
                print_plans(&r);
            }
            if (!r.applied[i]) check_report("%s did not apply to %s", rules[i].name, rules[i].before);
        }
        if (after && optimize(a, rules[i].before, (uint64_t)1 << i, &r)) {
            if (among(&r, after)) check_report("%s is left out, but %s is a plan", rules[i].name, rules[i].after);
            if (r.applied[i]) check_report("%s applied, but it is left out", rules[i].name);
        }
        if (optimize(a, rules[i].refused, 0, &r) && r.applied[i]) {
            check_report("%s applied to %s", rules[i].name, rules[i].refused);
            print_plans(&r);
        }
        tra_arena_free(a);
    }
}

/* F4 from right to left. */
TEST(a_merge_that_is_written_is_two_loops) {
    static const char *const plans[] = {"merge(<p, q, v> in <idx, jdx>) v * x(p) * y(q)",
                                        "sum(<q, v> in jdx) y(q) * sum(<p, w> in idx) if (w == v) w * x(p)"};
    tra_arena *a = tra_arena_new();
    tra_storel_result r;
    if (optimize(a, "merge(<p, q, v> in <idx, jdx>) x(p) * y(q) * v", 0, &r))
        for (int i = 0; i < 2; i++)
            if (!among(&r, parse(a, plans[i], NNAMES, names))) check_report("%s is no plan", plans[i]);
    tra_arena_free(a);
}

/* Keys of a sum of dictionaries are below what each of them has its keys below: here one is not below n. */
TEST(conditions_on_keys_of_sums_stay) {
    tra_arena *a = tra_arena_new();
    tra_storel_result r;
    if (optimize(
            a,
            "let u = sum(<i, _> in 0:n) {@unique i -> x(i)} in sum(<k, d> in (sum(<i, _> in 0:n) {i -> y}) + {n -> x}) "
            "u(k) * sum(<j, v> in d) max(v, 1.0)",
            0, &r))
        for (int i = 0; i < r.n; i++) {
            tra_str s = {0};
            tra_calc_print(r.plan[i].tree, &s);
            if (!strstr(tra_str_get(&s), "< n)")) check_report("%s: without k < n", tra_str_get(&s));
            tra_str_free(&s);
        }
    tra_arena_free(a);
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

enum { MOSTREFS = 4 };

/* A statement such as "ik=ij,jk" over operands in storages ("dense": without one), times a number unless that is 1. */
typedef struct kernel {
    tra_arena *arena;
    tra_einsum s;
    tra_storel_operand operand[MOSTREFS];
    double extent[TRA_MAXLABELS];
    tra_storel_composed c;
} kernel;

static int label_of(kernel *k, char c) {
    for (int i = 0; i < k->s.nlabels; i++)
        if (*k->s.name[i] == c) return i;
    k->s.name[k->s.nlabels] = tra_arena_strndup(k->arena, &c, 1);
    return k->s.nlabels++;
}

static const tra_scalar *scalar_of(tra_arena *a, tra_scalar x) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = x;
    return y;
}

static void read_statement(kernel *k, const char *text, double times) {
    tra_arena *a = k->arena;
    for (; *text != '='; text++) k->s.out[k->s.nout++] = label_of(k, *text);
    k->s.ref = tra_news(a, tra_einsum_ref, MOSTREFS);
    for (k->s.nrefs = 1, text++; *text; text++) {
        tra_einsum_ref *r = &k->s.ref[k->s.nrefs - 1];
        if (*text == ',')
            k->s.nrefs++;
        else
            r->label[r->n++] = label_of(k, *text);
    }
    k->s.fold = TRA_S_ADD;
    k->s.expr = times == 1 ? NULL : scalar_of(a, (tra_scalar){.op = TRA_S_CONST, .value = times});
    for (int i = 0; i < k->s.nrefs; i++) {
        const tra_scalar *arg = scalar_of(a, (tra_scalar){.op = TRA_S_ARG, .arg = i});
        k->s.expr = k->s.expr ? scalar_of(a, (tra_scalar){.op = TRA_S_MUL, .a = k->s.expr, .b = arg}) : arg;
    }
}

static bool dense_name(const char *name) { return strcmp(name, "dense") == 0; }

/* extents: of the labels in the order in which they come; density: of operands that are not dense. */
static bool make_kernel(kernel *k, const char *text, double times, const char *const *storages, const double *extents,
                        const double *density) {
    static const char *const tensor_names[] = {"A", "B", "C", "D"};
    k->arena = tra_arena_new();
    read_statement(k, text, times);
    for (int i = 0; i < k->s.nlabels; i++) k->extent[i] = extents[i];
    for (int i = 0; i < k->s.nrefs; i++) {
        tra_storel_operand *o = &k->operand[i];
        double all = 1;
        for (int d = 0; d < k->s.ref[i].n; d++) all *= k->extent[k->s.ref[i].label[d]];
        bool again = strcmp(storages[i], "again") == 0;
        *o = (tra_storel_operand){.name = tensor_names[i], .real = true, .same = again ? 0 : -1};
        if (again) *o = k->operand[0], o->same = 0;
        if (again || dense_name(storages[i])) continue;
        o->storage = find(k->arena, storages[i], k->s.ref[i].n, 0, NULL);
        o->sparse = true;
        o->entries = all * density[i];
    }
    tra_err e = {0};
    tra_status s = tra_storel_compose(&k->s, k->extent, k->operand, k->arena, &k->c, &e);
    if (s != TRA_OK) check_report("%s: %s", text, e.msg);
    return s == TRA_OK;
}

static double most_milliseconds;

/* The best plan of the kernel is this one, with that many operations. */
static void check_kernel(int line, const char *text, double times, const char *const *storages, const double *extents,
                         const double *density, bool dense, const char *want, double operations) {
    kernel k = {0};
    tra_storel_result r;
    tra_err e = {0};
    tra_calc_error err;
    if (!make_kernel(&k, text, times, storages, extents, density)) return;
    k.c.problem.dense = dense;
    k.c.problem.plans = 5;
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &r, &e), e);
    double ms = r.stage[0].milliseconds + (r.nstages > 1 ? r.stage[1].milliseconds : 0);
    const tra_calc *x = tra_calc_parse(want, (int)strlen(want), k.arena, &err);
    bool ok = x && tra_calc_check(x, k.c.problem.n, k.c.problem.scope, k.arena, &err);
    if (!ok || !tra_storel_same(x, r.plan[0].tree)) {
        check_report("line %d: %s: another plan%s%s", line, text, ok ? "" : ": ", ok ? "" : err.msg);
        print_plans(&r);
    }
    if (fabs(r.plan[0].operations - operations) > 1e-3 * operations)
        check_report("line %d: %s: %.6g operations, not %.6g", line, text, r.plan[0].operations, operations);
    printf("# %s: %d nodes, %d classes, %d iterations, %.1f ms\n", text, r.stage[r.nstages - 1].nodes,
           r.stage[r.nstages - 1].classes, r.stage[r.nstages - 1].iterations, ms);
    if (ms > most_milliseconds) most_milliseconds = ms;
    /* what bounds the time: 50 ms are 30,000 nodes and more */
    for (int i = 0; i < r.nstages; i++) CHECK(r.stage[i].nodes < 15000 && !r.stage[i].limited);
    tra_arena_free(k.arena);
}
#define KERNEL(...) check_kernel(__LINE__, __VA_ARGS__)

TEST(the_known_kernels_get_their_known_forms) {
    KERNEL("ik=ij,jk", 1, (const char *const[]){"csr", "csr"}, (const double[]){1000, 1000, 1000},
           (const double[]){0.01, 0.01}, false,
           "sum(<i, _> in 0:n_i) {@hash i -> sum(<p1, j> in "
           "A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1))) let w = A_values(p1) in sum(<p1_2, "
           "k> in B_indices_1(B_pointers_to_1(j):B_pointers_to_1(j + 1))) {@dense k -> B_values(p1_2) "
           "* w}}",
           200000.0);
    KERNEL("=ij,jk", 1, (const char *const[]){"csc", "csr"}, (const double[]){1000, 1000, 1000},
           (const double[]){0.01, 0.01}, false,
           "sum(<j, _> in 0:n_j) (sum(<p1, _> in B_indices_1(B_pointers_to_1(j):B_pointers_to_1(j + "
           "1))) B_values(p1)) * sum(<p1_2, _> in A_indices_1(A_pointers_to_1(j):A_pointers_to_1(j + "
           "1))) A_values(p1_2)",
           22000);
    KERNEL("=ij,jk", 1, (const char *const[]){"csr", "csr"}, (const double[]){1000, 1000, 1000},
           (const double[]){0.01, 0.01}, false,
           "let t = sum(<i, _> in 0:n_i) sum(<p1, j> in "
           "A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1))) {@dense j -> A_values(p1)} in "
           "sum(<j, v> in t) v * sum(<p1_2, _> in B_indices_1(B_pointers_to_1(j):B_pointers_to_1(j + "
           "1))) B_values(p1_2)",
           22000);
    KERNEL("j=ij,ik,k", 2, (const char *const[]){"csr", "again", "dense"}, (const double[]){1000, 1000, 1000},
           (const double[]){0.01, 0.01, 1}, true,
           "sum(<i, _> in 0:n_i) let w = sum(<p1, k> in "
           "A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1))) A_values(p1) * C_values(k) in let "
           "w_2 = 2.0 * w in sum(<p1_2, j> in A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1))) "
           "{@dense j -> A_values(p1_2) * w_2}",
           41000);
    KERNEL("ijk=ijl,kl", 1, (const char *const[]){"csf", "csr"}, (const double[]){100, 200, 25, 1000},
           (const double[]){0.01, 0.03125}, false,
           "let t = sum(<k, _> in 0:n_k) sum(<p1, l> in "
           "B_indices_1(B_pointers_to_1(k):B_pointers_to_1(k + 1))) {@dense l -> {@hash k -> "
           "B_values(p1)}} in sum(<p0, i> in A_indices_0) {@hash i -> sum(<p1_2, j> in "
           "A_indices_1(A_pointers_to_1(p0):A_pointers_to_1(p0 + 1))) {@hash j -> sum(<p2, l_2> in "
           "A_indices_2(A_pointers_to_2(p1_2):A_pointers_to_2(p1_2 + 1))) let w = A_values(p2) in "
           "sum(<k, v> in t(l_2)) {@dense k -> v * w}}}",
           577172);
    KERNEL("ijk=ijl,kl", 1, (const char *const[]){"csf", "csc"}, (const double[]){100, 200, 25, 1000},
           (const double[]){0.01, 0.03125}, false,
           "sum(<p0, i> in A_indices_0) {@hash i -> sum(<p1, j> in "
           "A_indices_1(A_pointers_to_1(p0):A_pointers_to_1(p0 + 1))) {@hash j -> sum(<p2, l> in "
           "A_indices_2(A_pointers_to_2(p1):A_pointers_to_2(p1 + 1))) sum(<p1_2, k> in "
           "B_indices_1(B_pointers_to_1(l):B_pointers_to_1(l + 1))) {@dense k -> A_values(p2) * "
           "B_values(p1_2)}}}",
           312500);
    KERNEL("ij=ikl,kj,lj", 1, (const char *const[]){"csf", "dense", "dense"}, (const double[]){100, 25, 200, 1000},
           (const double[]){0.02, 1, 1}, true,
           "sum(<p0, i> in A_indices_0) {@dense i -> sum(<p1, k> in "
           "A_indices_1(A_pointers_to_1(p0):A_pointers_to_1(p0 + 1))) let t = sum(<p2, l> in "
           "A_indices_2(A_pointers_to_2(p1):A_pointers_to_2(p1 + 1))) let w = A_values(p2) in sum(<j, "
           "_> in 0:n_j) {@dense j -> C_values(j + l * n_j) * w} in sum(<j, v> in t) {@dense j -> "
           "B_values(j + k * n_j) * v}}",
           2.1e+07);
    KERNEL("ij=ikl,kj,lj", 1, (const char *const[]){"csf", "csr", "csr"}, (const double[]){100, 25, 200, 1000},
           (const double[]){0.02, 0.3, 0.3}, true,
           "let t = sum(<l, _> in 0:n_l) {@dense l -> sum(<p1, j> in "
           "C_indices_1(C_pointers_to_1(l):C_pointers_to_1(l + 1))) {@dense j -> C_values(p1)}} in "
           "sum(<p0, i> in A_indices_0) {@dense i -> sum(<p1_2, k> in "
           "A_indices_1(A_pointers_to_1(p0):A_pointers_to_1(p0 + 1))) sum(<p1_3, j_2> in "
           "B_indices_1(B_pointers_to_1(k):B_pointers_to_1(k + 1))) {@dense j_2 -> B_values(p1_3) * "
           "sum(<p2, l_2> in A_indices_2(A_pointers_to_2(p1_2):A_pointers_to_2(p1_2 + 1))) "
           "A_values(p2) * t(l_2)(j_2)}}",
           6.3075e+06);
    KERNEL("ij=ij,ik,kj", 1, (const char *const[]){"csr", "dense", "dense"}, (const double[]){1000, 1000, 50},
           (const double[]){0.01, 1, 1}, false,
           "sum(<i, _> in 0:n_i) {@hash i -> sum(<p1, j> in "
           "A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1))) {@dense j -> A_values(p1) * "
           "sum(<k, _> in 0:n_k) B_values(k + i * n_k) * C_values(j + n_j * k)}}",
           1.02e+06);
    KERNEL("ij=ij,ik,kj", 1, (const char *const[]){"csr", "csr", "csr"}, (const double[]){1000, 1000, 1000},
           (const double[]){0.01, 0.01, 0.01}, false,
           "sum(<i, _> in 0:n_i) {@hash i -> sum(<p1, k> in "
           "B_indices_1(B_pointers_to_1(i):B_pointers_to_1(i + 1))) merge(<p1_2, p1_3, j> in "
           "<A_indices_1(A_pointers_to_1(i):A_pointers_to_1(i + 1)), "
           "C_indices_1(C_pointers_to_1(k):C_pointers_to_1(k + 1))>) {@dense j -> A_values(p1_2) * "
           "B_values(p1) * C_values(p1_3)}}",
           3000);
    printf("# at most %.1f ms\n", most_milliseconds);
}

/* What the best plan of A B costs, A as csr, the result by entries. */
static double product_cost(const char *storage, double density) {
    kernel k = {0};
    tra_storel_result r;
    tra_err e = {0};
    if (!make_kernel(&k, "ik=ij,jk", 1, (const char *const[]){"csr", storage}, (const double[]){1000, 1000, 1000},
                     (const double[]){density, density}))
        return NAN;
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &r, &e), e);
    double cost = r.plan[0].cost;
    tra_arena_free(k.arena);
    return cost;
}

TEST(storages_are_ranked_as_they_run) {
    CHECK(product_cost("dense", 0.25) < product_cost("csr", 0.25)); /* rows of it are added in vectors */
    CHECK(product_cost("csr", 0.25) < product_cost("csc", 0.25));
    CHECK(product_cost("csr", 0.004) < 0.1 * product_cost("dense", 0.004));
}

static bool sparse_mttkrp(kernel *k, double density) {
    bool ok = make_kernel(k, "ij=ikl,kj,lj", 1, (const char *const[]){"csf", "csr", "csr"},
                          (const double[]){100, 25, 200, 1000}, (const double[]){density, 0.3, 0.3});
    k->c.problem.dense = k->c.problem.keep = true;
    k->c.problem.plans = 4;
    return ok;
}

static void check_same_plans(int line, const tra_storel_result *x, const tra_storel_result *y) {
    bool same = x->n == y->n;
    for (int i = 0; i < x->n && same; i++)
        same = tra_storel_same(x->plan[i].tree, y->plan[i].tree) && x->plan[i].cost == y->plan[i].cost &&
               x->plan[i].operations == y->plan[i].operations && x->plan[i].entries == y->plan[i].entries;
    if (!same) check_report("line %d: other plans", line);
}

static int count_files(const char *folder) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *x; d && (x = readdir(d));) n += x->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* Flips a byte in the middle of each file. */
static void damage_files(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));) {
        char path[600], byte;
        snprintf(path, sizeof path, "%s/%s", folder, x->d_name);
        FILE *f = x->d_name[0] == '.' ? NULL : fopen(path, "r+");
        if (!f) continue;
        CHECK(fseek(f, 100, SEEK_SET) == 0 && fread(&byte, 1, 1, f) == 1);
        byte ^= 1;
        CHECK(fseek(f, 100, SEEK_SET) == 0 && fwrite(&byte, 1, 1, f) == 1);
        fclose(f);
    }
    if (d) closedir(d);
}

TEST(plans_are_kept) {
    char folder[256], path[300];
    tra_err e = {0};
    kernel k = {0}, other = {0};
    tra_storel_result found, again;
    snprintf(folder, sizeof folder, "%s/tra-plans-%ld", check_folder(), (long)getpid());
    setenv("TRA_CACHE", folder, 1);
    if (!sparse_mttkrp(&k, 0.02) || !sparse_mttkrp(&other, 0.0200001)) return;
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &found, &e), e);
    CHECK_INT(found.nstages, 1);
    CHECK_INT(count_files(folder), 1);
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &again, &e), e);
    CHECK_INT(again.nstages, 0); /* not found, but taken from there */
    check_same_plans(__LINE__, &found, &again);
    /* statistics that hardly differ have the same plans, of the folder or not */
    CHECK_OK(tra_storel_optimize(&other.c.problem, other.arena, &again, &e), e);
    CHECK_INT(again.nstages, 0);
    /* other rules, other costs: other plans */
    tra_storel_costs costs = tra_storel_default_costs;
    tra_storel_problem p = k.c.problem;
    costs.lookup *= 1.5;
    p.costs = &costs;
    CHECK_OK(tra_storel_optimize(&p, k.arena, &again, &e), e);
    CHECK_INT(again.nstages, 1);
    p = k.c.problem;
    CHECK_OK(tra_storel_without("S1", &p.without, &e), e);
    CHECK_OK(tra_storel_optimize(&p, k.arena, &again, &e), e);
    CHECK_INT(again.nstages, 1);
    /* what is damaged is found again, and kept again */
    int files = count_files(folder);
    damage_files(folder);
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &again, &e), e);
    CHECK_INT(again.nstages, 1);
    check_same_plans(__LINE__, &found, &again);
    CHECK_INT(count_files(folder), files);
    /* nothing is taken from a folder that others can enter, or cannot be written */
    CHECK(chmod(folder, 0777) == 0);
    CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &again, &e), e);
    CHECK_INT(again.nstages, 1);
    CHECK(chmod(folder, 0700) == 0);
    setenv("TRA_CACHE", "/proc/none", 1);
    CHECK_OK(tra_storel_optimize(&other.c.problem, other.arena, &again, &e), e);
    CHECK_INT(again.nstages, 1);
    check_same_plans(__LINE__, &found, &again);
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));) {
        snprintf(path, sizeof path, "%.200s/%.90s", folder, x->d_name);
        if (x->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
    tra_arena_free(k.arena);
    tra_arena_free(other.arena);
}

/* Limits count nodes, so that plans are the same each time; where nothing whole was found the naive plan stands. */
TEST(limits_count_nodes) {
    static const int most[] = {5, 60, 500, 3000};
    int before = 0;
    for (int i = 0; i < 4; i++) {
        kernel k = {0};
        tra_storel_result r, again;
        tra_err e = {0};
        if (!make_kernel(&k, "ij=ij,ik,kj", 1, (const char *const[]){"csr", "csr", "csr"},
                         (const double[]){1000, 1000, 1000}, (const double[]){0.01, 0.01, 0.01}))
            return;
        k.c.problem.most_nodes = most[i];
        k.c.problem.plans = 5;
        CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &r, &e), e);
        CHECK_OK(tra_storel_optimize(&k.c.problem, k.arena, &again, &e), e);
        const tra_storel_stage *last = &r.stage[r.nstages - 1];
        CHECK(last->limited);
        CHECK(last->nodes >= before && last->nodes <= most[i] + 500); /* a rule ends what it has begun */
        CHECK_INT(again.stage[again.nstages - 1].nodes, last->nodes);
        CHECK(r.n >= 1 && again.n == r.n);
        for (int p = 0; p < r.n; p++) CHECK(tra_storel_same(r.plan[p].tree, again.plan[p].tree));
        if (most[i] == 5) CHECK(tra_storel_same(r.plan[0].tree, k.c.problem.tree));
        before = last->nodes;
        tra_arena_free(k.arena);
    }
}

TEST(rules_are_left_out_by_name) {
    uint64_t set;
    tra_err e = {0};
    CHECK((int)RULES <= (int)TRA_STOREL_MAXRULES);
    CHECK_OK(tra_storel_without("D2,@hash", &set, &e), e);
    for (int i = 0; i < RULES; i++) {
        bool in = strcmp(rules[i].name, "D2") == 0 || strcmp(rules[i].name, "@hash") == 0;
        CHECK_INT(set >> i & 1, in);
        /* what can be left out has test data */
        CHECK(rules[i].built_in == !rules[i].before);
    }
    CHECK_FAILS(tra_storel_without("D2,X7", &set, &e), TRA_USAGE, e, "no rule 'X7'");
    CHECK_FAILS(tra_storel_without("A1", &set, &e), TRA_USAGE, e, "built into the normal form");
}
