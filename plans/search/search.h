/* search.h - from a typed graph to physical plans: equivalent expressions, placements, exchanges, costs, alternatives.
 *
 * Source: Tensor Relational Algebra, sections 4 (implementation algebra, rules R2-*) and 5 (costs); placements as grids
 * of sites (placement.h) generalise its broadcast and shuffle joins.
 */
#ifndef TRA_SEARCH_H
#define TRA_SEARCH_H

#include "../../lib/physical/plan.h"
#include "../eindecomp/eindecomp.h"
#include "../ia/ia.h"
#include "../rules/memo.h"
#include "../storel/storel.h"
#include "../tra/tra.h"

typedef enum tra_cost_model { TRA_COST_TIME, TRA_COST_TRA, TRA_COST_EINDECOMP } tra_cost_model;
const char *tra_cost_model_text(tra_cost_model m);
bool tra_cost_model_parse(const char *s, tra_cost_model *m);
/* How plans are found: by the search of placements; or by cutting the labels of EinSum statements as EinDecomp does,
 * each count of parts a power of two, or any divisor; or by its simple rules. */
typedef enum tra_optimizer {
    TRA_OPT_SEARCH,
    TRA_OPT_EINDECOMP,
    TRA_OPT_EINDECOMP_ANY,
    TRA_OPT_SQRT,
    TRA_OPT_DATA
} tra_optimizer;
const char *tra_optimizer_text(tra_optimizer x);
bool tra_optimizer_parse(const char *s, tra_optimizer *x);

/* Rates for the model `time`, of a site with its threads: member, name in JSON. */
#define TRA_RATES(X)                                                                                                   \
    X(network, "network_bytes_per_second")         /* into a site, and as many out of it */                            \
    X(one_way, "network_one_way_bytes_per_second") /* into a site alone; 0: not measured, as above */                  \
    X(disk_read, "disk_read_bytes_per_second")                                                                         \
    X(disk_write, "disk_write_bytes_per_second")                                                                       \
    X(flops_f64, "flops_f64_per_second") /* of contractions */                                                         \
    X(flops_f32, "flops_f32_per_second")                                                                               \
    X(memory, "memory_bytes_per_second")     /* of element-wise passes */                                              \
    X(touch, "first_touch_bytes_per_second") /* of memory that is touched for the first time; 0: does not count */     \
    /* of generated kernels (tra_measure_kernels); 0: not measured, the costs that are built in serve */               \
    X(entries, "kernel_entries_per_second")                                                                            \
    X(gathers, "kernel_gathers_per_second")                                                                            \
    X(inserts, "kernel_inserts_per_second")                                                                            \
    X(merges, "kernel_merge_steps_per_second")                                                                         \
    X(hashes, "kernel_hash_inserts_per_second")                                                                        \
    X(operations, "kernel_operations_per_second")                                                                      \
    X(follows, "far_reads_per_second") /* of memory that no near cache holds, each after the one before */
/* Of the time that something takes alone, the share, from 0 to 1, that products which overlap with it do not hide. */
#define TRA_UNHIDDEN(X)                                                                                                \
    X(network_unhidden, "network_unhidden_share")                                                                      \
    X(disk_unhidden, "disk_read_unhidden_share")
typedef struct tra_rates {
#define X(member, name) double member;
    TRA_RATES(X)
    TRA_UNHIDDEN(X)
#undef X
    double threads;     /* whose rates these are together; 0: one */
    double interpreted; /* steps that kernels of statements take in a second where they are not compiled; 0: they are */
} tra_rates;
/* Of a site with one thread. */
tra_rates tra_rates_builtin(void);
/* The same site when kernels of statements are not compiled, but interpreted by so many threads. */
tra_rates tra_rates_interpreted(tra_rates r, int threads);
/* Have all rates been measured that every machine has, that is, all but network and touch? */
bool tra_rates_known(const tra_rates *r);
bool tra_rate_is_needed(size_t member); /* is the one at this offset of tra_rates among them? */
/* What storel's plans are compared by on a site with so many threads: nanoseconds of one of them. */
tra_storel_costs tra_rates_kernels(const tra_rates *r, int threads);

/* What another optimizer has decided about a program, by id of the graph's nodes. Nothing is rewritten then, and the
 * search chooses only what is left open: exchanges, and the placements of nodes for which nothing is decided. Equal
 * nodes (the same operator over the same inputs) are computed once, as the first of them that has a decision says. */
typedef struct tra_fixed {
    const tra_way **way;         /* JOIN: where its inputs are taken (the placements l and r); NULL: any way */
    tra_memo *memo;              /* of the graph, for several searches; NULL: a search makes its own */
    const tra_placement **place; /* where the node's result is made, an aggregation's after its last phase; NULL:
                                    anywhere. Without effect where no way to run the operator makes it there */
} tra_fixed;

typedef struct tra_plan_options {
    int sites;
    int64_t memory; /* per site; 0: no ceiling */
    tra_cost_model cost;
    bool by_eindecomp; /* of tra_search: `cost` says which plan of a strategy is kept, the eindecomp model in which
                        * order they come */
    tra_optimizer optimizer;
    int threads;        /* workers per site */
    bool threads_given; /* the user says how many: the rates are of as many cores */
    int compress;       /* zstd level of the outputs, 0: none */
    bool reproducible;  /* plans whose results' bits do not depend on the number of sites (lib/physical/tree.h); not
                         * rewritten */
    bool over;          /* when no plan fits the memory: return all of them instead of an error (explain) */
    bool bounds;        /* tables may have all the rows that they could, since a run has found more than expected */
    int first, also;    /* make only the first so many plans (0: all), and the one of rank `also` */
    int64_t planned;    /* peak bytes of another search before this one, which it gave back */
    tra_rates rates;
    uint64_t without;       /* rules of the optimizer of kernels (plans/storel) that are left out, as bits, */
    uint64_t without_rules; /* and of those that rewrite expressions (plans/rules) */
    int from;               /* fused statements take this plan of that optimizer, 0 being its first */
    const tra_fixed *fixed; /* NULL: nothing is */
    tra_str *trace;         /* gets what the search considers, as text for its developers; NULL: nothing does */
} tra_plan_options;

/* "Q-10,F5": rules that are left out, of both kinds. TRA_USAGE for a name that is none, and for a rule that cannot be
 * left out. text: these names again, "" when there are none. */
TRA_MUSTUSE tra_status tra_plan_without(const char *names, tra_plan_options *o, tra_err *e);
const char *tra_plan_without_text(const tra_plan_options *o, tra_arena *a);

/* How a plan makes the relation of a group of the memo. */
typedef struct tra_choice {
    int expr;              /* of that group */
    int op;                /* the operator of the plan that makes the relation */
    int join;              /* the join that the aggregation `expr` is one operator with; -1: none */
    tra_placement in[2];   /* where the inputs are taken, of the join if there is one; sites 0: there is none */
    tra_placement between; /* if partial: of the summands between two phases; else of a join's result that is stored and
                              brought there to be aggregated. sites 0: neither */
    tra_placement out;     /* of the result; sites 0: an input without a given place */
} tra_choice;
typedef struct tra_choices {
    int n;
    const tra_choice *v; /* in the order of the plan's operators */
} tra_choices;

/* All alternatives: the cheapest plan of each strategy, cheapest first (ties: fewer flops, then disk bytes, then peak
 * memory, then the plan's text). v[0] is the choice, never worse than the direct translation. Plans over the ceiling
 * are not candidates; when none is left the error (TRA_RESOURCE) says the least ceiling that would do. Deterministic.
 * The plans live in the arena, and what it holds already counts as the program in what they take of memory: ranks that
 * are to find the same plans begin with the same in it. At most TRA_MAXPLANS. Their memory is 0 if they do not fit
 * (option `over`). Plans are large: those that the options do not want made are counted and ranked, but NULL. */
enum { TRA_MAXPLANS = 200, TRA_MAXSITES = 65536 };
typedef struct tra_labellings {
    const tra_eingraph *graph;
    const tra_labelling **of;   /* of each plan */
    const tra_labelling *paper; /* of the paper's algorithm; NULL: another rule */
    const tra_labelling *best;  /* an optimal one by the model's costs; NULL: not known */
} tra_labellings;
typedef struct tra_plans {
    int n;
    tra_plan **v;
    bool bounded;                     /* the search left out combinations that might be cheaper, to end in time */
    const tra_memo *memo;             /* of the program and what the rules made of it */
    const tra_choices *choices;       /* of each plan that is made */
    int64_t planned;                  /* bytes that the search took at once, as in the options */
    const tra_labellings *labellings; /* what the plans follow; NULL: they were searched */
} tra_plans;
/* o->cost is time or tra. */
TRA_MUSTUSE tra_status tra_search(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out,
                                  tra_err *e);

/* The plan of n choices (at most one for each group); a group without one gets the direct translation (algebra of the
 * paper, section 4.2: join of the broadcast left input with the right one where it is, aggregation of the input
 * shuffled by the group's keys) of expr[group], or of its first expression where that is -1 or expr NULL. All choices
 * of a plan that tra_search found give that plan. TRA_PROGRAM when it has an operator that cannot run: a result that is
 * too large to be stored. *made: how it makes each group; NULL: not asked. */
TRA_MUSTUSE tra_status tra_plan_of(const tra_memo *m, const tra_plan_options *o, int n, const tra_choice *v,
                                   const int *expr, tra_arena *a, tra_plan **out, tra_choices *made, tra_err *e);

/* The plan of rank `rank` among n that a search with the same options found, as it chose: no search. What the search
 * found besides is NULL. TRA_INPUT, without a message, when these are no choices of the program. */
TRA_MUSTUSE tra_status tra_plan_again(const tra_graph *g, const tra_plan_options *o, const tra_choices *c, int rank,
                                      int n, tra_arena *a, tra_plans *out, tra_err *e);

/* Plans by the optimizer of the options: tra_search, or the labellings of EinDecomp (that of the paper, and what is
 * better by its costs), each completed by the search and ranked by the cost model. Where that is `eindecomp`, the costs
 * are those of the model (of searched plans tra_ein_plan_cost), and what it knows nothing of, the exchanges, is chosen
 * by time. */
TRA_MUSTUSE tra_status tra_optimize(const tra_graph *g, const tra_plan_options *o, tra_arena *a, tra_plans *out,
                                    tra_err *e);

/* ---- what becomes dense (becomes_dense.c) ----------------------------------------------------------------------- */

/* The end of a message that memory is short: the operator that takes most to hold a sparse operand densely, with its
 * size, and what to write instead; "" where there is none. */
const char *tra_becomes_dense(const tra_graph *g, tra_arena *a);

#endif
