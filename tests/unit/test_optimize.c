/* Optimizers: plans follow their labellings, on any number of sites; and what plans cost in the model of EinDecomp. */
#include "../../plans/search/search.h"
#include "../../plans/tra/load.h"
#include "check.h"

typedef struct planned {
    tra_program program;
    tra_plans plans;
    tra_status status;
    tra_err e;
} planned;

static planned plan(const char *text, tra_optimizer by, int sites, tra_cost_model cost, int64_t memory) {
    planned p = {0};
    tra_plan_options o = {
        .sites = sites, .cost = cost, .optimizer = by, .threads = 1, .memory = memory, .rates = tra_rates_builtin()};
    p.status = tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false,
                                     &p.program, &p.e);
    if (p.status == TRA_OK) p.status = tra_optimize(p.program.graph, &o, p.program.arena, &p.plans, &p.e);
    if (p.status != TRA_OK && memory == 0) check_report("%s on %d: %s", tra_optimizer_text(by), sites, p.e.msg);
    return p;
}

static void done(planned *p) {
    if (p->program.arena) tra_program_free(&p->program);
}

static const char chain[] =
    "input A : f64 [80,8] by [10,1]\ninput B : f64 [8,80] by [1,10]\ninput C : f64 [80,8] by [10,1]\n"
    "input D : f64 [8,800] by [1,100]\ninput E : f64 [800,80] by [100,10]\nAB[i,k] = sum A[i,j] * B[j,k]\n"
    "DE[i,k] = sum D[i,j] * E[j,k]\nCDE[i,k] = sum C[i,j] * DE[j,k]\nZ[i,j] = AB[i,j] + CDE[i,j]\noutput Z\n";
static const char several[] =
    "input X : f64 [12,10] by [5,3]\ninput W : f64 [10,14] by [3,4]\nH[n,h] = sum X[n,f] * W[f,h]\nS = softmax(H)\n"
    "M[h] = max S[n,h] - 1\nT = agg(X, [1], elemmax)\nU = rekey(T, (k) -> (k / 2 + k))\nV = filter(H, (i,j) -> i != "
    "j)\n"
    "R = repart(V, [2,2])\nD = transform(R, square)\nG[f,h] = sum X[n,f] * X[n,g] * W[g,h]\nK[] = sum G[f,h]\n"
    "output M\noutput U\noutput D\noutput K\noutput G\n";
static const char labels[] = /* one block each way; a label of extent 1 */
    "input X : f64 [3,1] by [3,1]\ninput Y : f64 [1,2] by [1,2]\nZ[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n";

/* The join that makes what operator o has. */
static const tra_op *join_of(const tra_plan *p, int o) {
    while (p->ops[o].op == TRA_PLAN_MERGE || p->ops[o].op == TRA_PLAN_SHUF) o = p->ops[o].in[0];
    return p->ops[o].op == TRA_PLAN_JOIN || p->ops[o].op == TRA_PLAN_JOINAGG ? &p->ops[o] : NULL;
}

static int parts(const tra_placement *p, int dim) {
    int n = 1;
    for (int i = 0; i < p->naxes; i++)
        if (p->axis[i].kind == TRA_AXIS_PART && p->axis[i].dim[0] == dim) n *= p->axis[i].sites;
    return n;
}

TEST(plans_follow_their_vectors) {
    static const tra_optimizer by[] = {TRA_OPT_EINDECOMP, TRA_OPT_EINDECOMP_ANY, TRA_OPT_SQRT, TRA_OPT_DATA};
    for (int k = 0; k < 4; k++) {
        planned p = plan(chain, by[k], 8, TRA_COST_TIME, 0);
        const tra_labellings *l = p.plans.labellings;
        int joins = 0;
        CHECK_INT(l->graph->nvertices, 4);
        for (int i = 0; i < p.plans.n; i++) {
            const tra_plan *q = p.plans.v[i];
            for (int c = 0; c < p.plans.choices[i].n; c++) {
                const tra_op *op = join_of(q, p.plans.choices[i].v[c].op);
                const char *name = q->ops[p.plans.choices[i].v[c].op].spec.name;
                for (int v = 0; op && v < l->graph->nvertices; v++) {
                    const tra_vertex *x = &l->graph->v[v];
                    if (strcmp(x->node->name, name) != 0) continue;
                    joins++;
                    for (int r = 0; r < 2; r++) {
                        int want[TRA_MAXDIM];
                        tra_ein_parts(l->graph, &x->ref[r], l->of[i]->d[v], want);
                        for (int d = 0; d < 2; d++) CHECK_INT(parts(&q->ops[op->in[r]].place, d), want[d]);
                    }
                }
            }
        }
        CHECK_INT(joins, 4 * p.plans.n);
        done(&p);
    }
}

TEST(any_number_of_sites) {
    static const char *const texts[] = {chain, several, labels};
    static const int sites[] = {1, 2, 3, 5, 6, 7, 12, 64};
    for (int t = 0; t < 3; t++) {
        for (tra_optimizer by = TRA_OPT_SEARCH; by <= TRA_OPT_DATA; by++) {
            for (int s = 0; s < 8; s++) {
                planned p = plan(texts[t], by, sites[s], s % 2 ? TRA_COST_TIME : TRA_COST_EINDECOMP, 0);
                const char *why = NULL;
                for (int i = 0; i < p.plans.n; i++) {
                    if (!tra_plan_valid(p.plans.v[i], &why))
                        check_report("%s on %d sites: %s", tra_optimizer_text(by), sites[s], why);
                    CHECK_INT(p.plans.v[i]->rank, i + 1);
                    CHECK_INT(p.plans.v[i]->sites, sites[s]);
                    if (s % 2 == 0 && i && p.plans.v[i]->cost.eindecomp < p.plans.v[i - 1]->cost.eindecomp)
                        check_report("plan %d costs less than the one before", i + 1);
                }
                CHECK(p.plans.n >= 1);
                done(&p);
            }
        }
    }
}

/* There are more ways to copy M than placements that are kept of an input: one without copies is among them. */
TEST(inputs_that_many_grids_copy) {
    for (tra_optimizer by = TRA_OPT_SEARCH; by <= TRA_OPT_DATA; by++) {
        planned p = plan("input X : f64 [16,32,64,64] by [1,1,8,8]\ninput M : f64 [64,64] by [8,8]\n"
                         "Y[b,h,s,t] = X[b,h,s,t] + M[s,t]\noutput Y\n",
                         by, 360, TRA_COST_TIME, 0);
        const char *why = NULL;
        CHECK(p.plans.n >= 1 && tra_plan_valid(p.plans.v[0], &why));
        done(&p);
    }
}

/* Linearised and best vectors that make the same plan: the best are shown. */
TEST(one_plan_of_two_labellings_has_the_cheaper) {
    planned p = plan("input I : f64 [12,2,7] by [7,2,4]\ninput J : f64 [7,12,2] by [3,11,1]\n"
                     "V[b,c,a] = exp(I[a,c,b])\nW[c,b] = sum V[b,c,a] * J[b,a,c]\nX[c] = sum W[c,b] * W[c,b]\n"
                     "Y[b,a] = sum V[b,c,a]\noutput W\noutput X\noutput Y\n",
                     TRA_OPT_EINDECOMP, 6, TRA_COST_EINDECOMP, 0);
    CHECK_INT(p.plans.n, 1);
    CHECK_NEAR(p.plans.labellings->paper->cost, 1310, 1e-9);
    CHECK_NEAR(p.plans.labellings->of[0]->cost, 878, 1e-9);
    CHECK_NEAR(p.plans.v[0]->cost.eindecomp, 878, 1e-9);
    done(&p);
}

/* Where the result of one product lies. */
static void check_place(const char *shapes, tra_optimizer by, int sites, const char *want) {
    char text[300], place[100];
    snprintf(text, sizeof text, "%s\nZ[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n", shapes);
    planned p = plan(text, by, sites, TRA_COST_TIME, 0);
    const tra_plan *q = p.plans.v[0];
    CHECK_STR(tra_place_text(&q->ops[q->nops - 1].place, place, sizeof place), want);
    done(&p);
}

TEST(vectors_that_do_not_fit_become_the_nearest_grid) {
    const char *square = "input X : f64 [60,60] by [5,5]\ninput Y : f64 [60,60] by [5,5]";
    check_place(square, TRA_OPT_SQRT, 4, "grid(0:2,1:2)");
    check_place(square, TRA_OPT_SQRT, 8, "grid(0:4,1:2)");
    check_place(square, TRA_OPT_SQRT, 6, "grid(0:3,1:2)"); /* of 4 x 2 parts */
    check_place(square, TRA_OPT_SQRT, 5, "part(0)");       /* a prime */
    check_place(square, TRA_OPT_DATA, 4, "part(0)");
    /* one block of rows: the other label is cut instead */
    check_place("input X : f64 [60,60] by [60,5]\ninput Y : f64 [60,60] by [5,5]", TRA_OPT_SQRT, 4, "part(1)");
    check_place("input X : f64 [60,60] by [60,5]\ninput Y : f64 [60,60] by [5,5]", TRA_OPT_DATA, 4, "part(1)");
}

TEST(grids_of_many_labels_take_no_time) { /* 960 sites along 28 labels are 10^9 grids */
    double t = check_seconds();
    planned p = plan("input X : f64 [2,2,2,2,2,2,2,2,2,2,2,2,2,2] by [1,1,1,2,2,2,2,2,2,2,2,2,2,2]\n"
                     "input Y : f64 [2,2,2,2,2,2,2,2,2,2,2,2,2,2] by [1,1,1,2,2,2,2,2,2,2,2,2,2,2]\n"
                     "Z[a,b,p] = max X[a,b,c,d,e,f,g,h,i,j,k,l,m,n] * Y[p,q,r,s,t,u,v,w,x,y,z,A,B,C]\noutput Z\n",
                     TRA_OPT_DATA, 960, TRA_COST_TIME, 0);
    CHECK_INT(p.status, TRA_OK);
    CHECK(check_seconds() - t < (getenv("SAN") ? 20 : 4)); /* 0.1 s */
    done(&p);
}

TEST(plans_cost_what_their_vectors_do) {
    const char *text = "input X : f64 [64,64] by [8,8]\ninput Y : f64 [64,64] by [8,8]\nZ[i,k] = sum X[i,j] * Y[j,k]\n"
                       "W[i,k] = sum Z[i,j] * Y[j,k]\nV[i,j] = exp(W[i,j])\noutput V\n";
    static const tra_optimizer by[] = {TRA_OPT_EINDECOMP, TRA_OPT_SQRT, TRA_OPT_DATA};
    for (int k = 0; k < 3; k++) {
        planned p = plan(text, by[k], 4, TRA_COST_EINDECOMP, 0);
        CHECK_NEAR(tra_ein_plan_cost(p.plans.v[0]), p.plans.v[0]->cost.eindecomp, 1e-9);
        CHECK_NEAR(tra_ein_plan_cost(p.plans.v[0]), p.plans.labellings->of[0]->cost, 1e-9);
        done(&p);
    }
}

/* X by columns times Y by rows on 4 sites: each holds summands of all of Z, in the model as in the plan. */
TEST(searched_plans_cost_what_the_same_vectors_do) {
    planned p = plan("input X : f64 [8,800] by [2,50]\ninput Y : f64 [800,8] by [50,2]\n"
                     "Z[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n",
                     TRA_OPT_SEARCH, 4, TRA_COST_EINDECOMP, 0);
    CHECK_STR(p.plans.v[0]->strategy, "cmm");
    CHECK_NEAR(p.plans.v[0]->cost.eindecomp, 2 * 6400 + 3 * 64, 1e-9);
    done(&p);
}

TEST(ceilings_hold) {
    planned p = plan(chain, TRA_OPT_SQRT, 2, TRA_COST_TIME, 1000);
    CHECK_INT(p.status, TRA_RESOURCE);
    CHECK(strstr(p.e.msg, "no plan fits"));
    done(&p);
    p = plan(chain, TRA_OPT_EINDECOMP, 2, TRA_COST_TIME, 1000);
    CHECK_INT(p.status, TRA_RESOURCE);
    done(&p);
}

TEST(names) {
    tra_optimizer x;
    for (tra_optimizer by = TRA_OPT_SEARCH; by <= TRA_OPT_DATA; by++) {
        CHECK(tra_optimizer_parse(tra_optimizer_text(by), &x));
        CHECK_INT(x, by);
    }
    CHECK(!tra_optimizer_parse("", &x));
}
