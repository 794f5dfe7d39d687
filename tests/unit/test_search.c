/* test_search.c - plans: the values of the papers, brute force over grids, validity of every alternative, memory. */
#include "../../lib/kernel/program_int.h"
#include "search_util.h"

/* ---- the papers' values ---------------------------------------------------------------------------------------- */

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

/* ---- every alternative ----------------------------------------------------------------------------------------- */

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

/* ---- placements of inputs -------------------------------------------------------------------------------------- */

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

/* Where every site needs all of it, blocks are made anew on every site from the pieces that all of them send. */
TEST(repartitions_go_to_all_sites_at_once) {
    planned p = plan("input A : f64 [64,64] by [8,64] at part(0)\ninput D : f64 [64,4] by [8,4] at part(0)\n"
                     "E = reblock(D, [64,4])\nC = agg(join(A, E, [1], [0], matmul), [0,2], matadd)\noutput C\n",
                     4);
    const tra_plan *q = p.plans.v[0];
    int exchanges = 0, everywhere = 0;
    for (int i = 0; i < q->nops; i++) {
        exchanges += q->ops[i].op == TRA_PLAN_BCAST || q->ops[i].op == TRA_PLAN_SHUF;
        everywhere += q->ops[i].op == TRA_PLAN_REPART && tra_place_is_all(&q->ops[i].place);
    }
    CHECK_INT(exchanges, 0);
    CHECK_INT(everywhere, 1);
    CHECK_NEAR(q->cost.network_floats, 4 * 64 * 4, 0);
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
        if (q->ops[i].op == TRA_PLAN_INPUT && strcmp(q->ops[i].spec.name, "A0") == 0)
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
    CHECK(agg && agg->spec.partial && merge);
    CHECK_NEAR(merge->predicted.cost.flops, 4 * 256, 0); /* four summands of 64 x 4 */
    CHECK_NEAR(merge->predicted.cost.flops_max, 4 * 256 / 4, 0);
    const tra_rule_list *rules = tra_rules_of(p.plans.memo, p.plans.v[0], &p.plans.choices[0], p.program.arena).all;
    CHECK(rules->n == 1 && strcmp(rules->v[0]->name, "R2-5") == 0);
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
    CHECK(agg && agg->spec.partial && agg->type.dtype == TRA_F64 && agg->type.cat->bound.n == 2);
    CHECK(merge && merge->type.dtype == TRA_F32 && merge->type.cat->bound.n == 1);
    done(&p);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

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
    CHECK_OK(tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false, &p, &e),
             e);
    CHECK_FAILS(tra_search(p.graph, &o, p.arena, &plans, &e), TRA_PROGRAM, e, "relation A is too large");
    tra_program_free(&p);
}

/* ---- names of strategies ------------------------------------------------------------------------------------ */

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

/* What is everywhere is one axis, whatever axes the other input has: copies along the first say nothing of the second.
 */
TEST(strategies_say_all_of_two_inputs_that_are_everywhere) {
    tra_labels none = {0};
    char name[64];
    tra_placement all = tra_place_all(6), part = {.sites = 6, .naxes = 2};
    part.axis[0] = (tra_axis){.kind = all.axis[0].kind, .sites = 2};
    part.axis[1] = (tra_axis){.kind = TRA_AXIS_PART, .sites = 3, .n = 1, .dim = {0}, .ext = {9}};
    CHECK_STR(tra_join_strategy_text(tra_join_strategy(&none, &all, &part, 0), name, sizeof name), "bmm-left");
    CHECK_STR(tra_join_strategy_text(tra_join_strategy(&none, &part, &all, 0), name, sizeof name), "bmm-right");
    CHECK_STR(tra_join_strategy_text(tra_join_strategy(&none, &all, &all, 0), name, sizeof name), "all");
}

/* ---- fused statements ---------------------------------------------------------------------------------------------
 */

/* How the fused statement of the best plan is cut: "rows" of an operand, each with results of its own; "sums", which
 * are added up; "none". */
static const char *pieces_of(const char *statement) {
    char *text = tra_asprintf("input A : f64 [3000,2500] by [3000,2500] as csr nnz 200000\n"
                              "input x : f64 [2500] by [2500]\n%s\noutput Y\n",
                              statement);
    planned p = plan_with(text, options(1, TRA_COST_TIME));
    const char *how = "not fused";
    for (int i = 0; p.plans.n && i < p.plans.v[0]->nops; i++) {
        const tra_kernel *k = p.plans.v[0]->ops[i].spec.join;
        if (!k || !k->program || !k->program->fused) continue;
        const tra_fused *f = k->program->fused;
        tra_fused_loop loop;
        bool cut = tra_fused_loop_of(&f->plan[f->expected], &loop);
        how = !cut ? "none" : loop.disjoint ? "rows" : "sums";
    }
    done(&p);
    free(text);
    return how;
}

TEST(loops_over_rows_are_cut_in_pieces) {
    CHECK_STR(pieces_of("Y[i] = sum 2 * A[i,k] * A[i,l] * x[l]"), "rows");
    CHECK_STR(pieces_of("Y[j] = sum 2 * A[i,j] * A[i,k] * x[k]"), "sums");
    CHECK_STR(pieces_of("Y[j] = sum A[i,j] * A[k,j] * x[j]"), "none");
}

/* ---- large programs --------------------------------------------------------------------------------------------- */

/* What planning a program of n statements of a kind holds, in bytes, and how many expressions rules leave. */
typedef struct effort {
    int64_t bytes;
    int expressions;
} effort;

static effort effort_of(const char *statement, int n, bool outputs, int sites) {
    tra_str text = {0};
    tra_str_add(&text, "input A : f64 [400,400] by [100,100]\nB0[i,j] = A[i,j] * 2\nB1[i,j] = A[i,j] * 3\n"
                       "output B0\noutput B1\n");
    for (int i = 2; i < n; i++) {
        tra_str_printf(&text, statement, i, i - 1, i - 2);
        if (outputs) tra_str_printf(&text, "output B%d\n", i);
    }
    if (!outputs) tra_str_printf(&text, "output B%d\n", n - 1);
    planned p = plan_with(tra_str_get(&text), options(sites, TRA_COST_TIME));
    effort e = {p.plans.planned, p.status == TRA_OK ? p.plans.memo->n : 0};
    done(&p);
    tra_str_free(&text);
    return e;
}

TEST(effort_is_linear_in_statements) {
    enum { N = 80 };
    static const struct {
        const char *statement;
        bool outputs;
    } kinds[] = {{"B%d[i,j] = A[i,j] + %d * %d\n", true},          /* independent */
                 {"B%d[i,j] = B%d[i,j] + %d\n", false},            /* a chain of maps */
                 {"B%d[i,j] = B%d[i,j] + B%d[i,j]\n", false},      /* each is used twice */
                 {"B%d[i,k] = sum B%d[i,j] * B%d[j,k]\n", false}}; /* products */
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int sites = 1; sites <= 4; sites += 3) {
            effort one = effort_of(kinds[k].statement, N, kinds[k].outputs, sites);
            effort four = effort_of(kinds[k].statement, 4 * N, kinds[k].outputs, sites);
            if (four.expressions > 5 * one.expressions || four.bytes > 5 * one.bytes)
                check_report("%s%d sites: %d statements take %" PRId64 " bytes, %d expressions; %d %" PRId64 ", %d",
                             kinds[k].statement, sites, N, one.bytes, one.expressions, 4 * N, four.bytes,
                             four.expressions);
        }
    }
}
