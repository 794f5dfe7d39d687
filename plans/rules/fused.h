/* fused.h - statements of several factors as one kernel on each combination of arrays that meet (STOREL), beside their
 * contractions of two: further expressions of a memo. */
#ifndef TRA_FUSED_H
#define TRA_FUSED_H

#include "../storel/storel.h"
#include "rules.h"

/* The rule by which these expressions stand in a memo; no tensor relational algebra has it, so it is not in the table.
 */
extern const tra_rule tra_rule_fused;

typedef struct tra_fused_options {
    uint64_t without;              /* rules of the optimizer (plans/storel) */
    const tra_storel_costs *costs; /* of one thread */
    int threads;                   /* of a site, that combinations of arrays are shared by */
    int from;                      /* of the optimizer's plans the cheaper ones are left out, so many */
} tra_fused_options;

/* Adds such an expression for each EinSum statement that is a sum of products with a factor of sparse type, where the
 * optimizer has a plan and code for it. Deterministic. refusals: gets why others with such a factor are left as they
 * are; NULL to have none. */
void tra_fused_apply(tra_memo *m, const tra_fused_options *o, tra_refusals *refusals);

#endif
