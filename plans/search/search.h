/* search.h - from a typed graph to physical plans: placements, exchanges, costs, alternatives.
 *
 * Source: Tensor Relational Algebra, sections 4 (implementation algebra, rules R2-*) and 5 (costs); placements as grids
 * of sites (placement.h) generalise its broadcast and shuffle joins.
 */
#ifndef TRA_SEARCH_H
#define TRA_SEARCH_H

#include "../../lib/run/plan.h"
#include "../tra/tra.h"

typedef enum tra_cost_model { TRA_COST_TIME, TRA_COST_TRA, TRA_COST_EINDECOMP } tra_cost_model;
const char *tra_cost_model_text(tra_cost_model m);
bool tra_cost_model_parse(const char *s, tra_cost_model *m);
typedef enum tra_optimizer { TRA_OPT_SEARCH } tra_optimizer;

/* Rates of the machine, for the model `time`. All per site; the built-in ones are those of a site with one thread. */
typedef struct tra_rates {
    double network;               /* bytes/s in or out of a site */
    double disk_read, disk_write; /* bytes/s */
    double flops_f64, flops_f32;  /* operations/s of contractions, per site with its threads */
    double memory;                /* bytes/s of element-wise passes */
} tra_rates;
tra_rates tra_rates_builtin(void);

typedef struct tra_plan_options {
    int sites;
    int64_t memory; /* per site; 0: no ceiling */
    tra_cost_model cost;
    tra_optimizer optimizer;
    int threads; /* workers per site */
    bool compress;  /* outputs will be compressed */
    bool over;   /* when no plan fits the memory: all of them instead of an error (explain) */
    tra_rates rates;
} tra_plan_options;

/* All alternatives: the cheapest plan of each strategy, cheapest first (ties: fewer flops, then disk bytes, then peak
 * memory, then the plan's text). plans[0] is the choice. Plans over the ceiling are not candidates; when none is left
 * the error (TRA_RESOURCE) says the least ceiling that would do. Deterministic. The plans live in the arena. At most
 * TRA_MAXPLANS. Their memory is 0 if they do not fit (option `over`). */
enum { TRA_MAXPLANS = 200, TRA_MAXSITES = 1024 };
typedef struct tra_plans {
    int n;
    tra_plan **v;
} tra_plans;
TRA_MUSTUSE tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out,
                                  tra_err *e);

#endif
