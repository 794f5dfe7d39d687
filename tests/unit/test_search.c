/* Plans: the values of the papers, brute force over grids, validity of every alternative, costs against simulations
 * that look at each tuple, plan files. */
#include "../../plans/search/planfile.h"

#include "../../plans/ia/ia.h"
#include "../../plans/search/cost.h"
#include "../../plans/search/derive.h"
#include "check.h"

#include <unistd.h>

/* ---- helpers ------------------------------------------------------------------------------------------------ */

typedef struct planned {
    tra_program program;
    tra_plans plans;
    tra_err e;
    tra_status status;
} planned;

static tra_plan_options options(int sites, tra_cost_model cost) {
    return (tra_plan_options){.sites = sites, .cost = cost, .threads = 1, .rates = tra_rates_builtin()};
}

static planned plan_with(const char *text, tra_plan_options o) {
    planned p = {0};
    p.status = tra_program_from_text("test", tra_strdup(text), strlen(text), ".", 0, NULL, false, &p.program, &p.e);
    if (p.status == TRA_OK) { /* the graph's script is in p, which moves when this returns */
        tra_script *kept = tra_new(p.program.arena, tra_script);
        *kept = *p.program.graph->src;
        p.program.graph->src = kept;
    }
    if (p.status == TRA_OK) p.status = tra_search(p.program.graph, &o, p.program.arena, &p.plans, &p.e);
    if (p.status != TRA_OK && o.memory == 0) check_report("%s: %s", text, p.e.msg);
    return p;
}

static planned plan(const char *text, int sites) { return plan_with(text, options(sites, TRA_COST_TRA)); }
static void done(planned *p) {
    if (p->program.arena) tra_program_free(&p->program);
}

static const tra_plan *strategy(const planned *p, const char *name) {
    for (int i = 0; i < p->plans.n; i++) {
        if (strcmp(p->plans.v[i]->strategy, name) == 0) return p->plans.v[i];
    }
    return NULL;
}

static double floats(const planned *p, const char *name) {
    const tra_plan *q = strategy(p, name);
    return q ? q->cost.network_floats : -1;
}

static const tra_op *find_op(const tra_plan *p, tra_plan_op op) {
    for (int i = 0; i < p->nops; i++) {
        if (p->ops[i].op == op) return &p->ops[i];
    }
    return NULL;
}

static char *matmul(int64_t i, int64_t k, int64_t j, int64_t parts) {
    return tra_asprintf("input A : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                        "input B : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                        "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\noutput C\n",
                        i, k, (i + parts - 1) / parts, (k + parts - 1) / parts, k, j, (k + parts - 1) / parts,
                        (j + parts - 1) / parts);
}

/* ---- the papers' values ------------------------------------------------------------------------------------- */

static void check_matmul(int64_t i, int64_t k, int64_t j, double bmm, double cmm, double best) {
    char *text = matmul(i, k, j, 10);
    planned p = plan(text, 10);
    CHECK_NEAR(floats(&p, "bmm-left"), bmm, 0);
    CHECK_NEAR(floats(&p, "cmm"), cmm, 0);
    CHECK(p.plans.n > 0 && p.plans.v[0]->cost.network_floats == best);
    done(&p);
    free(text);
}

TEST(matmul_of_the_paper) {
    check_matmul(40000, 40000, 40000, 1.6e10, 1.6e10, 1.12e10);
    check_matmul(10000, 640000, 10000, 6.4e10, 1.0e9, 1.0e9);
    check_matmul(80000, 10000, 80000, 8.0e9, 6.4e10, 5.6e9);
}

static planned nearest(int64_t n, int64_t d, int sites) {
    char *text = tra_asprintf("input q : f64 [1,%" PRId64 "] by [1,%" PRId64 "]\n"
                              "input X : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                              "input A : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                              "diff = join(q, X, [1], [1], matvecsub)\nD = rekey(diff, (o, d, n) -> (n, d))\n"
                              "proj = agg(join(D, A, [1], [0], matmul), [0,2], matadd)\n"
                              "dist = transform(agg(join(proj, D, [0,1], [0,1], elemmul), [0], matadd), rowsum)\n"
                              "best = agg(dist, [], minindex)\noutput best\n",
                              d, d / 100, n, d, n / 100, d / 100, d, d, d / 100, d / 100);
    planned p = plan(text, sites);
    free(text);
    return p;
}

/* To the two digits of the paper, which leaves out the query, the distances and the index. */
TEST(nearest_neighbour_of_the_paper) {
    planned p = nearest(1500000, 6000, 8);
    CHECK_STR(p.plans.v[0]->strategy, "bmm-left bmm-right local");
    CHECK_NEAR(p.plans.v[0]->cost.network_floats, 2.9e8, 0.05e8);
    CHECK_NEAR(floats(&p, "bmm-left bmm-right local"), 8.0 * 6000 * 6000 + 8 * 6000 + 16, 0);
    CHECK_NEAR(floats(&p, "local cmm cmm"), 7.2e10, 0.1e10);
    done(&p);
    p = nearest(6000, 100000, 8);
    CHECK_NEAR(floats(&p, "bmm-left bmm-right local"), 8.0e10, 0.05e10);
    CHECK_NEAR(floats(&p, "local cmm cmm"), 4.8e9, 0.05e9);
    CHECK(p.plans.v[0]->cost.network_floats <= 4.85e9);
    done(&p);
}

/* Least floats over all grids of a matmul, by the formulas alone. */
static double best_grid(double i, double k, double j, int s, int parts) {
    double best = INFINITY;
    for (int gi = 1; gi <= s; gi++) {
        for (int gk = 1; gi * gk <= s; gk++) {
            int gj = s / (gi * gk);
            if (gi * gk * gj != s || gi > parts || gk > parts || gj > parts) continue;
            double f = (gj > 1 ? i * k * gj : 0) + (gi > 1 ? k * j * gi : 0) + (gk > 1 ? i * j * gk : 0);
            if (f < best) best = f;
        }
    }
    return best;
}

TEST(the_choice_is_the_best_grid) {
    static const int64_t shapes[][3] = {
        {6400, 6400, 6400}, {6400, 100000, 640}, {100000, 64, 100000}, {640, 6400, 64000}, {64000, 640, 64}};
    for (int s = 2; s <= 64; s++) {
        for (size_t x = 0; x < sizeof shapes / sizeof *shapes; x++) {
            const int64_t *v = shapes[x];
            char *text = matmul(v[0], v[1], v[2], 64);
            int parts = 64;
            planned p = plan(text, s);
            double want = best_grid((double)v[0], (double)v[1], (double)v[2], s, parts);
            if (p.plans.n == 0 || p.plans.v[0]->cost.network_floats != want)
                check_report("%d sites, %s: %s with %g, not %g", s, text, p.plans.n ? p.plans.v[0]->strategy : "none",
                             p.plans.n ? p.plans.v[0]->cost.network_floats : 0.0, want);
            done(&p);
            free(text);
        }
    }
}

/* ---- every alternative -------------------------------------------------------------------------------------- */

static const char *const programs[] = {
    "input A : f64 [10,7] by [3,2]\ninput B : f64 [7,5] by [2,4]\n"
    "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\noutput C\n",
    "input A : f64 [9,9] by [2,2]\nP = join(A, A, [1], [0], matmul)\nC = agg(P, [0,2], matadd)\n"
    "D = agg(P, [1], elemmax)\noutput C\noutput D\noutput P\n",
    "input A : f64 [9,9] by [2,2]\nL = filter(A, (i,j) -> i >= j)\nT = transform(L, transpose)\n"
    "S = rekey(T, (i,j) -> (j,i))\nC = agg(join(L, S, [1], [0], matmul), [0,2], matadd)\n"
    "t = agg(C, [], maxindex)\noutput C\noutput t\n",
    "input x : f64 [21] by [3]\ny = rekey(x, (i) -> (6-i))\nz = transform(y, exp)\nw = transform(x, neg)\n"
    "v = join(z, w, [0], [0], matvecadd)\noutput v\noutput y\noutput x\n",
    "input A : f64 [12,12] by [4,4]\nB = repart(A, [2,5])\nC = reblock(B, [12,1])\noutput B\noutput C\n",
    "input A : f64 [12,12] by [4,6]\nT = tile(A, 1, 2)\nC = concat(T, 2, 1)\noutput C\nr = agg(T, [2], matadd)\noutput "
    "r\n",
    "input A : f64 [12,6] by [4,2]\ns = agg(transform(A, colsum), [], matadd)\n"
    "N = join(A, s, [], [], (x,y) -> x/y)\noutput N\noutput s\n",
    "input A : f64 [12,6] by [4,2] at all\ninput B : f64 [6,8] by [2,2] at part(1)\ninput c : f64 [12,8] by [4,2] at "
    "part(0,1)\n"
    "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\nD = join(C, c, [0,1], [0,1], matadd)\noutput D\n",
    "input A : f64 [8,8,8] by [2,2,2]\ninput B : f64 [8,8,8] by [2,4,2]\n"
    "C = agg(join(A, B, [0,2], [0,2], outer), [0,1,3], matadd)\noutput C\n",
    "input A : f64 [0,4] by [2,2]\ninput B : f64 [4,3] by [2,2]\n"
    "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\noutput C\n",
    "input a : f64 [] by []\ninput b : f64 [] by []\nc = join(a, b, [], [], matadd)\nd = agg(c, [], matadd)\noutput "
    "d\n",
    "input A : f32 [9,9] by [2,2]\ns = agg(A, [], elemmin)\nt = agg(A, [1], matadd)\noutput s\noutput t\n",
};

/* No exchange to where its input is, and none that was done before. */
static bool needless_exchange(const tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        if (o->op != TRA_PLAN_SHUF && o->op != TRA_PLAN_BCAST) continue;
        if (tra_place_eq(&o->place, &p->ops[o->in[0]].place)) return true;
        for (int j = 0; j < i; j++) {
            const tra_op *b = &p->ops[j];
            if ((b->op == TRA_PLAN_SHUF || b->op == TRA_PLAN_BCAST) && b->in[0] == o->in[0] &&
                tra_place_eq(&o->place, &b->place))
                return true;
        }
    }
    return false;
}

TEST(every_alternative_is_valid) {
    static const int sites[] = {1, 2, 3, 4, 5, 7, 12, 61};
    for (size_t x = 0; x < sizeof programs / sizeof *programs; x++) {
        for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
            for (int model = TRA_COST_TIME; model <= TRA_COST_TRA; model++) {
                planned p = plan_with(programs[x], options(sites[i], (tra_cost_model)model));
                CHECK(p.plans.n > 0);
                for (int j = 0; j < p.plans.n; j++) {
                    const char *why = "";
                    const tra_plan *q = p.plans.v[j];
                    if (!tra_plan_valid(q, &why))
                        check_report("program %zu, %d sites, %s: %s", x, sites[i], q->strategy, why);
                    if (needless_exchange(q))
                        check_report("program %zu, %d sites, %s: an exchange is needless", x, sites[i], q->strategy);
                    if (sites[i] == 1 && (q->cost.network_bytes.bound || q->cost.network_floats > 0))
                        check_report("program %zu: traffic on one site", x);
                    if (j && tra_cost_scalar(&q->cost, (tra_cost_model)model) <
                                 tra_cost_scalar(&p.plans.v[j - 1]->cost, (tra_cost_model)model))
                        check_report("program %zu, %d sites: plans out of order", x, sites[i]);
                }
                done(&p);
            }
        }
    }
}

/* All choices of a plan give that plan; with fewer of them the rest is translated directly, and none is better than the
 * first. */
TEST(choices_make_their_plan) {
    for (size_t x = 0; x < sizeof programs / sizeof *programs; x++) {
        for (int sites = 1; sites <= 6; sites += 5) {
            tra_plan_options o = options(sites, TRA_COST_TRA);
            planned p = plan_with(programs[x], o);
            for (int i = 0; i < p.plans.n; i++) {
                const tra_choices *c = &p.plans.choices[i];
                for (int k = i ? c->n : 0; k <= c->n; k++) {
                    tra_plan *q = NULL;
                    const char *why = "";
                    CHECK_OK(tra_plan_of(p.plans.memo, &o, k, c->v, NULL, p.program.arena, &q, NULL, &p.e), p.e);
                    if (!q) continue;
                    if (!tra_plan_valid(q, &why)) check_report("program %zu, %d choices: %s", x, k, why);
                    if (k == c->n && tra_plan_digest(q) != tra_plan_digest(p.plans.v[i]))
                        check_report("program %zu, %d sites: not %s", x, sites, p.plans.v[i]->strategy);
                    CHECK(q->cost.network_floats >= p.plans.v[0]->cost.network_floats);
                }
            }
            done(&p);
        }
    }
}

TEST(the_same_plans_each_time) {
    for (size_t x = 0; x < sizeof programs / sizeof *programs; x++) {
        planned p = plan(programs[x], 6), q = plan(programs[x], 6);
        CHECK_INT(p.plans.n, q.plans.n);
        for (int i = 0; i < p.plans.n && i < q.plans.n; i++)
            CHECK(tra_plan_digest(p.plans.v[i]) == tra_plan_digest(q.plans.v[i]));
        done(&p);
        done(&q);
    }
}

/* ---- placements of inputs ----------------------------------------------------------------------------------- */

static double chosen_floats(const char *text, int sites) {
    planned p = plan(text, sites);
    double f = p.plans.n ? p.plans.v[0]->cost.network_floats : -1;
    done(&p);
    return f;
}

TEST(inputs_are_where_they_are) {
    /* a sum by rows: any partitioning by rows is free, one by columns needs the summands moved or the whole */
    const char *any = "input A : f64 [64,64] by [4,4]\nr = agg(A, [0], matadd)\noutput r\n";
    const char *rows = "input A : f64 [64,64] by [4,4] at part(0)\nr = agg(A, [0], matadd)\noutput r\n";
    const char *columns = "input A : f64 [64,64] by [4,4] at part(1)\nr = agg(A, [0], matadd)\noutput r\n";
    const char *all = "input A : f64 [64,64] by [4,4] at all\nr = agg(A, [0], matadd)\noutput r\n";
    CHECK_NEAR(chosen_floats(any, 4), 0, 0);
    CHECK_NEAR(chosen_floats(rows, 4), 0, 0);
    CHECK_NEAR(chosen_floats(columns, 4), 4 * 16 * 16, 0); /* 4 summands of 16 blocks of 4 x 4 */
    CHECK_NEAR(chosen_floats(all, 4), 0, 0);
    /* one partitioning is free, the second pays */
    const char *twice = "input A : f64 [64,64] by [4,4]\nr = agg(A, [0], matadd)\nc = agg(A, [1], matadd)\n"
                        "output r\noutput c\n";
    CHECK_NEAR(chosen_floats(twice, 4), 4 * 16 * 16, 0);
}

TEST(exchanges_are_shared) {
    /* A is broadcast once for both products */
    const char *text =
        "input A : f64 [8,8] by [2,2]\ninput B : f64 [8,8000] by [2,100]\ninput C : f64 [8,8000] by [2,100]\n"
        "X = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\n"
        "Y = agg(join(A, C, [1], [0], matmul), [0,2], matadd)\noutput X\noutput Y\n";
    planned p = plan(text, 4);
    CHECK_STR(p.plans.v[0]->strategy, "bmm-left bmm-left");
    CHECK_NEAR(p.plans.v[0]->cost.network_floats, 4 * 64, 0);
    done(&p);
}

/* A0 goes to its copies by way of others: where it is of itself counts what begins there alone. */
TEST(inputs_are_where_the_fewest_bytes_move) {
    planned p = plan("input A0 : f64 [128,128] by [32,32]\ninput A1 : f64 [192,128] by [8,32]\n"
                     "X1[i,k] = sum A1[i,j] * A0[j,k]\nX2[i,k] = sum X1[i,j] * A0[j,k]\n"
                     "X3[i,k] = sum A0[i,j] * A0[j,k]\noutput X2\noutput X3\n",
                     4);
    char place[100];
    const tra_plan *q = p.plans.v[0];
    for (int i = 0; i < q->nops; i++)
        if (q->ops[i].op == TRA_PLAN_INPUT && strcmp(q->ops[i].what.name, "A0") == 0)
            CHECK_STR(tra_place_text(&q->ops[i].place, place, sizeof place), "part(0)");
    done(&p);
}

/* Of sets that serve others alike one stays, also where they cost the same. */
TEST(ties_make_no_more_plans) {
    planned p = plan("input A0 : f64 [512,128] by [16,64]\ninput A1 : f64 [128,512] by [64,16]\n"
                     "X0[i,k] = sum A1[i,j] * A0[j,k]\nX3[i,k] = sum X0[i,j] * X0[j,k]\n"
                     "X4[i,k] = sum A0[i,j] * A1[j,k]\noutput X3\noutput X4\n",
                     4);
    CHECK_INT(p.plans.n, 61);
    done(&p);
}

TEST(two_phases_or_one) {
    planned p = plan("input A : f64 [64,64] by [4,4] at part(1)\nr = agg(A, [0], matadd)\noutput r\n", 4);
    const tra_op *agg = find_op(p.plans.v[0], TRA_PLAN_AGG), *merge = find_op(p.plans.v[0], TRA_PLAN_MERGE);
    CHECK(agg && agg->what.partial && merge);
    CHECK_NEAR(merge->predicted.cost.flops, 4 * 256, 0); /* four summands of 64 x 4 */
    CHECK_NEAR(merge->predicted.cost.flops_max, 4 * 256 / 4, 0);
    CHECK_STR(tra_rules_of(p.plans.memo, p.plans.v[0], &p.plans.choices[0], p.program.arena).all, "R2-5");
    done(&p);
    p = plan("input A : f64 [64,8] by [4,4]\nB = transform(A, exp)\nC = agg(B, [1], matadd)\nr = agg(B, [0], matadd)\n"
             "output r\noutput C\n",
             8);
    CHECK_NEAR(p.plans.v[0]->cost.network_floats, 8 * 32, 0); /* r where B is, C in two phases */
    done(&p);
    /* two blocks a group: moving them costs less than eight summands of each group */
    p = plan("input A : f64 [64,8] by [8,4] at part(1,0)\nr = agg(A, [0], matadd)\noutput r\n", 8);
    CHECK_NEAR(p.plans.v[0]->cost.network_floats, 64 * 8, 0);
    CHECK(find_op(p.plans.v[0], TRA_PLAN_MERGE) == NULL);
    done(&p);
    /* sums of f32 have f64 summands, and the function of the sum belongs to the second phase */
    p = plan("input A : f32 [64,64] by [4,4] at part(1)\nr = agg(A, [0], rowmax . matadd)\noutput r\n", 4);
    agg = find_op(p.plans.v[0], TRA_PLAN_AGG);
    merge = find_op(p.plans.v[0], TRA_PLAN_MERGE);
    CHECK(agg && agg->what.partial && agg->type.dtype == TRA_F64 && agg->type.cat->bound.n == 2);
    CHECK(merge && merge->type.dtype == TRA_F32 && merge->type.cat->bound.n == 1);
    done(&p);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

TEST(plans_over_the_ceiling_are_dropped) {
    char *text = matmul(4000, 4000, 4000, 8);
    tra_plan_options o = options(4, TRA_COST_TRA);
    planned p = plan_with(text, o);
    int64_t least = INT64_MAX;
    for (int i = 0; i < p.plans.n; i++) least = tra_min64(least, p.plans.v[i]->least_memory);
    done(&p);
    o.memory = least - 1;
    tra_log_level = 1; /* says how many bytes exactly */
    p = plan_with(text, o);
    tra_log_level = 0;
    CHECK_INT(p.status, TRA_RESOURCE);
    char number[80];
    snprintf(number, sizeof number, "(--memory %" PRId64 "M, exactly %" PRId64 ")", tra_ceil_div(least, 1 << 20),
             least);
    CHECK(strstr(p.e.msg, number) != NULL);
    done(&p);
    o.over = true;
    p = plan_with(text, o);
    CHECK_INT(p.status, TRA_OK);
    CHECK(p.plans.n > 0 && p.plans.v[0]->least_memory >= least);
    done(&p);
    o.memory = least;
    o.over = false;
    p = plan_with(text, o);
    CHECK_INT(p.status, TRA_OK);
    done(&p);
    free(text);
}

/* Products whose summands are too large to be moved under the ceiling, although they cost least: so many of them that
 * the cheapest combinations all move some. */
TEST(a_costlier_plan_that_fits_is_found) {
    tra_str text = {0};
    enum { N = 6 };
    for (int i = 0; i < N; i++)
        tra_str_printf(&text,
                       "input A%d : f64 [8000,1000000] by [4000,200]\ninput B%d : f64 [1000000,8000] by [200,4000]\n"
                       "C%d = agg(join(A%d, B%d, [1], [0], matmul), [0,2], matadd)\noutput C%d\n",
                       i, i, i, i, i, i);
    tra_plan_options o = options(4, TRA_COST_TRA);
    planned p = plan_with(text.s, o);
    CHECK_STR(p.plans.v[0]->strategy, "cmm cmm cmm cmm cmm cmm");
    int64_t wide = p.plans.v[0]->least_memory;
    done(&p);
    o.memory = wide - (64 << 20);
    p = plan_with(text.s, o);
    CHECK_INT(p.status, TRA_OK);
    if (p.status == TRA_OK) {
        const tra_plan *q = p.plans.v[0];
        CHECK(q->least_memory <= o.memory);
        CHECK(strstr(q->strategy, "cmm") == NULL);
        for (int i = 0; i < p.plans.n; i++) CHECK(p.plans.v[i]->least_memory <= o.memory);
    } else {
        check_report("%s", p.e.msg);
    }
    done(&p);
    o.memory = 16 << 20;
    tra_log_level = 1;
    p = plan_with(text.s, o);
    tra_log_level = 0;
    CHECK_INT(p.status, TRA_RESOURCE);
    int64_t least = strstr(p.e.msg, "exactly ") ? atoll(strstr(p.e.msg, "exactly ") + 8) : 0;
    done(&p);
    o.memory = least; /* what is said to do does */
    p = plan_with(text.s, o);
    CHECK_INT(p.status, TRA_OK);
    done(&p);
    tra_str_free(&text);
}

TEST(sizes_beyond_counting_are_refused) {
    tra_program p;
    tra_plans plans;
    tra_err e = {0};
    tra_plan_options o = options(3, TRA_COST_TRA);
    const char *text = "input A : f64 [3000000000,3000000000] by [1000,1000]\nr = agg(A, [0], matadd)\noutput r\n";
    CHECK_OK(tra_program_from_text("test", tra_strdup(text), strlen(text), ".", 0, NULL, false, &p, &e), e);
    CHECK_FAILS(tra_search(p.graph, &o, p.arena, &plans, &e), TRA_PROGRAM, e, "relation A is too large");
    tra_program_free(&p);
}

/* ---- costs against looking at each tuple -------------------------------------------------------------------- */

static tra_catalog grid2(int64_t m, int64_t n, int64_t bm, int64_t bn) {
    tra_catalog c;
    tra_err e = {0};
    CHECK_OK(tra_catalog_blocks(&(tra_dims){2, {m, n}}, &(tra_dims){2, {bm, bn}}, &c, &e), e);
    return c;
}

/* Placements of a matrix on six sites. */
static int some_places(const tra_catalog *c, tra_placement *p) {
    int n = 0;
    p[n++] = tra_place_part(6, c, 1, (int8_t[]){0});
    p[n++] = tra_place_part(6, c, 1, (int8_t[]){1});
    p[n++] = tra_place_part(6, c, 2, (int8_t[]){1, 0});
    p[n++] = tra_place_all(6);
    tra_axis i = {TRA_AXIS_PART, 2, 1, {0}, {c->frontier.v[0]}}, j = {TRA_AXIS_PART, 3, 1, {1}, {c->frontier.v[1]}};
    tra_axis copy = {.kind = TRA_AXIS_COPY, .sites = 3};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {i, j}};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {i, copy}};
    p[n++] = (tra_placement){.sites = 6, .naxes = 2, .axis = {copy, i}};
    return n;
}

/* Elements of a repartition that cross sites, element by element. */
static int64_t repart_by_elements(const tra_placement *p, const tra_catalog *in, const tra_placement *q,
                                  const tra_catalog *out, int64_t m, int64_t n) {
    int64_t moved = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            tra_dims a = {2, {i / in->bound.v[0], j / in->bound.v[1]}},
                     b = {2, {i / out->bound.v[0], j / out->bound.v[1]}};
            int64_t ta = tra_catalog_find(in, &a), tb = tra_catalog_find(out, &b);
            for (int s = 0; s < q->sites; s++)
                moved += tra_place_holds(q, out, tb, &b, s) && !tra_place_holds(p, in, ta, &a, s);
        }
    }
    return moved;
}

TEST(a_repartition_moves_what_its_pieces_are) {
    static const int64_t cuts[][4] = {{4, 5, 3, 5}, {5, 3, 2, 7}, {1, 13, 17, 1}, {4, 4, 4, 4}};
    enum { M = 17, N = 13 };
    for (size_t x = 0; x < 4; x++) {
        tra_catalog a = grid2(M, N, cuts[x][0], cuts[x][1]), b = grid2(M, N, cuts[x][2], cuts[x][3]);
        tra_type ta = {.cat = &a, .cut = {1, 2}}, tb = {.cat = &b, .cut = {1, 2}};
        tra_placement p[8], q[8];
        int np = some_places(&a, p), nq = some_places(&b, q);
        for (int i = 0; i < np; i++) {
            for (int j = 0; j < nq; j++) {
                tra_traffic t = tra_traffic_repart(&p[i], &ta, &q[j], &tb, &(tra_dims){.n = 0});
                int64_t want = repart_by_elements(&p[i], &a, &q[j], &b, M, N);
                CHECK_INT(t.moved, want);
                CHECK_NEAR(t.floats, want ? (double)M * N * tra_place_copies(&q[j]) : 0, 0);
            }
        }
        int32_t *owner = tra_calloc((size_t)a.n, sizeof *owner); /* and tuple by tuple */
        for (int64_t t = 0; t < a.n; t++) owner[t] = (int32_t)(t * 7 % 6);
        tra_placement own = {.sites = 6, .owner = owner};
        CHECK_INT(tra_traffic_repart(&own, &ta, &q[4], &tb, &(tra_dims){.n = 0}).moved,
                  repart_by_elements(&own, &a, &q[4], &b, M, N));
        free(owner);
    }
}

static int64_t exchange_by_tuples(const tra_placement *p, const tra_placement *q, const tra_catalog *c) {
    int64_t moved = 0;
    for (int64_t t = 0; t < c->n; t++) {
        tra_dims key;
        tra_catalog_key(c, t, &key);
        for (int s = 0; s < q->sites; s++)
            moved +=
                tra_place_holds(q, c, t, &key, s) && !tra_place_holds(p, c, t, &key, s) ? tra_catalog_floats1(c, t) : 0;
    }
    return moved;
}

TEST(an_exchange_costs_what_the_paper_says) {
    tra_catalog c = grid2(35, 22, 3, 4);
    tra_placement p[8];
    int n = some_places(&c, p);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            tra_traffic t = tra_traffic_exchange(&p[i], &p[j], &c);
            CHECK_INT(t.moved, exchange_by_tuples(&p[i], &p[j], &c));
            CHECK_NEAR(t.floats, t.moved ? 35.0 * 22 * tra_place_copies(&p[j]) : 0, 0);
            int64_t in, out;
            tra_place_moved_floats(&p[i], &p[j], &c, &in, &out);
            CHECK_INT(t.most, tra_max64(in, out));
        }
        tra_placement sum = tra_place_partial(6);
        tra_traffic t = tra_traffic_exchange(&sum, &p[i], &c);
        int copies = tra_place_copies(&p[i]);
        CHECK_NEAR(t.floats, 35.0 * 22 * (6 + (copies > 1 ? copies : 0)), 0);
        int64_t in, out;
        CHECK_INT(t.moved, tra_place_moved_floats(&sum, &p[i], &c, &in, &out));
        CHECK_INT(t.most, tra_max64(in, out));
    }
}

/* Work of a join, pair by pair. */
TEST(work_is_counted_in_closed_form) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    const tra_kernel *k;
    CHECK_OK(tra_kernel_named(a, "matmul", TRA_USE_JOIN, 0, NULL, &k, &e), e);
    tra_catalog l = grid2(35, 22, 3, 4), r = grid2(22, 29, 4, 7), out;
    int8_t none[3] = {-1, -1, -1};
    int64_t last[3] = {1, 1, 1};
    tra_dims frontier = {3, {l.frontier.v[0], l.frontier.v[1], r.frontier.v[1]}};
    CHECK_OK(tra_catalog_grid(&frontier, &(tra_dims){0, {0}}, none, last, &out, &e), e);
    tra_labels x;
    tra_join_labels(&l, &r, &(tra_dims){1, {1}}, &(tra_dims){1, {0}}, &x);
    CHECK_INT(x.n, 3);
    for (int sites = 1; sites <= 12; sites++) {
        tra_ways ways = {0};
        tra_join_ways(&x, &l, &r, sites, &ways);
        for (int w = 0; w < ways.n; w++) {
            tra_placement place = ways.v[w].out;
            if (sites == 1) place = tra_place_all(1);
            double *load = tra_calloc((size_t)sites, sizeof *load), total = 0, most = 0;
            for (int64_t t = 0; t < out.n; t++) {
                tra_dims key, ka, kb, ea, eb;
                tra_catalog_key(&out, t, &key);
                ka = (tra_dims){2, {key.v[0], key.v[1]}};
                kb = (tra_dims){2, {key.v[1], key.v[2]}};
                tra_catalog_ext(&l, tra_catalog_find(&l, &ka), &ea);
                tra_catalog_ext(&r, tra_catalog_find(&r, &kb), &eb);
                for (int s = 0; s < sites; s++) {
                    if (!tra_place_holds(&place, &out, t, &key, s)) continue;
                    load[s] += tra_kernel_flops(k, TRA_USE_JOIN, &ea, &eb);
                    total += tra_kernel_flops(k, TRA_USE_JOIN, &ea, &eb);
                }
            }
            for (int s = 0; s < sites; s++) most = load[s] > most ? load[s] : most;
            tra_work got = tra_work_join(k, &x, &(tra_type){.cat = &l}, &(tra_type){.cat = &r}, &out, &place);
            CHECK_NEAR(got.total, total, 1e-9 * total);
            CHECK(got.bound == got.total);
            CHECK_NEAR(got.busiest, most, 1e-9 * total);
            free(load);
        }
        free(ways.v);
    }
    tra_arena_free(a);
}

/* Each pair of a join meets on at least one site, on exactly one unless both inputs are everywhere. */
TEST(pairs_meet_once) {
    tra_catalog l = grid2(12, 8, 2, 2), r = grid2(8, 10, 2, 2);
    tra_labels x;
    tra_join_labels(&l, &r, &(tra_dims){1, {1}}, &(tra_dims){1, {0}}, &x);
    for (int sites = 2; sites <= 13; sites++) {
        tra_ways ways = {0};
        tra_join_ways(&x, &l, &r, sites, &ways);
        for (int w = 0; w < ways.n; w++) {
            const tra_way *v = &ways.v[w];
            for (int64_t a = 0; a < l.n; a++) {
                for (int64_t b = 0; b < r.n; b++) {
                    tra_dims ka, kb;
                    int met = 0;
                    tra_catalog_key(&l, a, &ka);
                    tra_catalog_key(&r, b, &kb);
                    if (ka.v[1] != kb.v[0]) continue;
                    for (int s = 0; s < sites; s++)
                        met += tra_place_holds(&v->l, &l, a, &ka, s) && tra_place_holds(&v->r, &r, b, &kb, s);
                    int want = tra_place_is_all(&v->out) ? sites : 1;
                    if (met != want) check_report("%d sites, way %d: a pair meets %d times", sites, w, met);
                }
            }
        }
        free(ways.v);
    }
}

TEST(strategies_have_their_names) {
    char *text = matmul(48, 48, 48, 12);
    planned p = plan(text, 12);
    static const char *const names[] = {"bmm-left", "bmm-right", "cmm", "rmm(2,1,6)", "rmm(3,2,2)", "rmm(1,4,3)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strategy(&p, names[i])) check_report("no plan is called %s", names[i]);
    }
    CHECK(strategy(&p, "local") == NULL);
    CHECK(strategy(&p, "all") == NULL);
    done(&p);
    p = plan(text, 1);
    CHECK_STR(p.plans.v[0]->strategy, "local");
    CHECK_INT(p.plans.n, 1);
    done(&p);
    free(text);
    p = plan(
        "input A : f64 [9,9] by [1,1]\ninput B : f64 [9,9] by [1,1]\nC = join(A, B, [0,1], [0,1], matadd)\noutput C\n",
        3);
    CHECK_STR(p.plans.v[0]->strategy, "local");
    done(&p);
}

/* ---- plan files --------------------------------------------------------------------------------------------- */

static void make_planfile(tra_str *text) {
    char path[] = "/tmp/tra-plan-XXXXXX";
    tra_err e = {0};
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, programs[0], strlen(programs[0])) == (ssize_t)strlen(programs[0]));
    close(fd);
    tra_request r = {.options = options(3, TRA_COST_TRA), .plan = 2};
    tra_job job;
    CHECK_OK(tra_job_load(path, &r, &job, &e), e);
    if (job.plan) {
        CHECK_INT(job.plan->rank, 2);
        CHECK_INT(job.options.memory, 0);
        tra_planfile_print(path, &job, &r, "a tree\n", text);
    }
    tra_job_free(&job);
    unlink(path);
}

TEST(a_plan_file_comes_back) {
    tra_str text = {0};
    tra_arena *a = tra_arena_new();
    tra_planfile f;
    tra_err e = {0};
    make_planfile(&text);
    CHECK(tra_planfile_sniff(text.s, text.n));
    CHECK_OK(tra_planfile_parse("x", text.s, text.n, a, &f, &e), e);
    CHECK_INT(f.options.sites, 3);
    CHECK_INT(f.options.cost, TRA_COST_TRA);
    CHECK_INT(f.rank, 2);
    CHECK_INT(f.size, strlen(programs[0]));
    CHECK_STR(f.program, programs[0]);
    CHECK_STR(f.dir, "/tmp");
    tra_arena_free(a);
    tra_str_free(&text);
}

TEST(a_garbled_plan_file_is_refused) {
    tra_str text = {0};
    make_planfile(&text);
    for (size_t i = 0; i < text.n; i++) {
        tra_planfile f;
        tra_err e = {0};
        tra_arena *a = tra_arena_new();
        char old = text.s[i];
        if (tra_planfile_parse("x", text.s, i, a, &f, &e) == TRA_OK) check_report("cut at byte %zu and read", i);
        CHECK_INT(e.status, TRA_INPUT);
        e = (tra_err){0};
        text.s[i] = (char)(old ^ 1);
        if (tra_planfile_parse("x", text.s, text.n, a, &f, &e) == TRA_OK)
            check_report("garbled at byte %zu and read", i);
        text.s[i] = old;
        tra_arena_free(a);
    }
    tra_str_free(&text);
}

/* What is everywhere is one axis, whatever axes the other input has: copies along the first say nothing of the second.
 */
TEST(strategies_say_all_of_two_inputs_that_are_everywhere) {
    tra_labels none = {0};
    char name[64];
    tra_placement all = tra_place_all(6), part = {.sites = 6, .naxes = 2};
    part.axis[0] = (tra_axis){.kind = all.axis[0].kind, .sites = 2};
    part.axis[1] = (tra_axis){.kind = TRA_AXIS_PART, .sites = 3, .n = 1, .dim = {0}, .ext = {9}};
    CHECK_STR(tra_join_strategy(&none, &all, &part, 0, name, sizeof name), "bmm-left");
    CHECK_STR(tra_join_strategy(&none, &part, &all, 0, name, sizeof name), "bmm-right");
    CHECK_STR(tra_join_strategy(&none, &all, &all, 0, name, sizeof name), "all");
}
