/* search_util.h - programs from text, and their plans. */
#ifndef TRA_SEARCH_UTIL_H
#define TRA_SEARCH_UTIL_H

#include "../../plans/search/planfile.h"

#include "../../plans/ia/ia.h"
#include "../../plans/search/cost.h"
#include "../../plans/search/derive.h"
#include "check.h"

typedef struct planned {
    tra_program program;
    tra_plans plans;
    tra_err e;
    tra_status status;
} planned;

static inline tra_plan_options options(int sites, tra_cost_model cost) {
    return (tra_plan_options){.sites = sites, .cost = cost, .threads = 1, .rates = tra_rates_builtin()};
}

static inline planned plan_with(const char *text, tra_plan_options o) {
    planned p = {0};
    p.status = tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false,
                                     &p.program, &p.e);
    if (p.status == TRA_OK) { /* the graph's script is in p, which moves when this returns */
        tra_script *kept = tra_new(p.program.arena, tra_script);
        *kept = *p.program.graph->src;
        p.program.graph->src = kept;
    }
    if (p.status == TRA_OK) p.status = tra_search(p.program.graph, &o, p.program.arena, &p.plans, &p.e);
    if (p.status != TRA_OK && o.memory == 0) check_report("%s: %s", text, p.e.msg);
    return p;
}

static inline planned plan(const char *text, int sites) { return plan_with(text, options(sites, TRA_COST_TRA)); }
static inline void done(planned *p) {
    if (p->program.arena) tra_program_free(&p->program);
}

static inline const tra_plan *strategy(const planned *p, const char *name) {
    for (int i = 0; i < p->plans.n; i++) {
        if (strcmp(p->plans.v[i]->strategy, name) == 0) return p->plans.v[i];
    }
    return NULL;
}

static inline double floats(const planned *p, const char *name) {
    const tra_plan *q = strategy(p, name);
    return q ? q->cost.network_floats : -1;
}

static inline const tra_op *find_op(const tra_plan *p, tra_plan_op op) {
    for (int i = 0; i < p->nops; i++) {
        if (p->ops[i].op == op) return &p->ops[i];
    }
    return NULL;
}

static inline char *matmul(int64_t i, int64_t k, int64_t j, int64_t parts) {
    return tra_asprintf("input A : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                        "input B : f64 [%" PRId64 ",%" PRId64 "] by [%" PRId64 ",%" PRId64 "]\n"
                        "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\noutput C\n",
                        i, k, (i + parts - 1) / parts, (k + parts - 1) / parts, k, j, (k + parts - 1) / parts,
                        (j + parts - 1) / parts);
}

/* Programs with every operator, and with every shape of plans. */
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

#endif
