/* planning.h - the options that compile, explain, cost and run share, and their defaults. */
#ifndef TRA_PLANNING_H
#define TRA_PLANNING_H

#include "../plans/search/job.h"
#include "cmd.h"
#include "machine.h"

typedef struct tra_planning {
    int64_t sites, memory, threads, plan;
    int cost, optimizer, codegen;
    const char *without, *codec, *plan_digest;
    bool reproducible, codec_given, sites_given, memory_given, threads_given, cost_given, optimizer_given, plan_given;
} tra_planning;
extern tra_planning tra_planning_opts;

/* The rows of a command's table. */
/* clang-format off */
#define TRA_PLANNING_ROWS                                                                                              \
    {0, "sites", TRA_OPT_INT, &tra_planning_opts.sites, "N", "sites (ranks) that share the work (default: 1)", NULL,   \
     NULL, &tra_planning_opts.sites_given},                                                                            \
    {0, "memory", TRA_OPT_SIZE, &tra_planning_opts.memory, "SIZE",                                                     \
     "memory ceiling of each site (default: a share of what this machine has)", NULL, "TRA_MEMORY",                    \
     &tra_planning_opts.memory_given},                                                                                 \
    {0, "cost", TRA_OPT_ENUM, &tra_planning_opts.cost, NULL,                                                           \
     "what plans are compared by: seconds, or floats moved as papers count them",                                      \
     "time|tra|eindecomp", NULL, &tra_planning_opts.cost_given},                                                       \
    {0, "optimizer", TRA_OPT_ENUM, &tra_planning_opts.optimizer, NULL, "how a plan is found",                          \
     "search|eindecomp|eindecomp-any|sqrt|data", NULL, &tra_planning_opts.optimizer_given},                            \
    {0, "threads", TRA_OPT_INT, &tra_planning_opts.threads, "N",                                                       \
     "workers of each site (default: its share of the cores)", NULL, "TRA_THREADS",                                    \
     &tra_planning_opts.threads_given},                                                                                \
    TRA_ROW(0, "reproducible", TRA_OPT_FLAG, &tra_planning_opts.reproducible, NULL,                                    \
            "the same bits on any number of sites, at a cost that is said"),                                           \
    TRA_ROW(0, "without", TRA_OPT_STR, &tra_planning_opts.without, "RULE,...",                                         \
            "leave rules out, of plans or of kernels"),                                                                \
    {0, "codec", TRA_OPT_STR, &tra_planning_opts.codec, "CODEC", "of the outputs: none (default), zstd, zstd:LEVEL",   \
     NULL, NULL, &tra_planning_opts.codec_given},                                                                      \
    {0, "codegen", TRA_OPT_ENUM, &tra_planning_opts.codegen, NULL,                                                     \
     "kernels are compiled where a compiler is found (auto), must be (require), or are not", "auto|require|off", NULL, \
     NULL}
/* For commands that settle on one plan. */
#define TRA_PLANNING_ROW_PLAN                                                                                          \
    {0, "plan", TRA_OPT_INT, &tra_planning_opts.plan, "K", "the K-th alternative of `tra cost` (default: 1)", NULL,    \
     NULL, &tra_planning_opts.plan_given},                                                                             \
    {0, "plan-digest", TRA_OPT_STR, &tra_planning_opts.plan_digest, "DIGEST",                                          \
     "refuse any other plan than the one for which explain printed DIGEST", NULL, NULL, NULL}
/* clang-format on */

/* The request of the options, with defaults filled in. here: how many of the sites are processes of this machine and
 * share its memory and cores (0: all); cores: those that they may use together (0: those of this process). A caller
 * that knows the number of sites otherwise (mpirun) sets tra_planning_opts.sites before, leaving sites_given as it is
 * to have it checked against a plan file's. */
TRA_MUSTUSE tra_status tra_planning_request(int here, int cores, tra_request *r, tra_err *e);
/* The rates of one of `here` sites of a machine, with so many threads: its share of what they use together. m NULL:
 * this machine, as it was calibrated, or by built-in rates; cores: of the machine (0: those of this process). */
tra_rates tra_planning_rates(const tra_machine *m, int here, int threads, int cores);
tra_rates tra_planning_rates_here(int here, int threads); /* of this machine */
/* The ceiling that a run of so many sites needs before it plans, for inputs that it converts and strings that it makes,
 * as far as this process has met them; 0: none. */
int64_t tra_planning_before(int sites);

#endif
