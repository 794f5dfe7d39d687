/* fused.h - rule S-1: a statement of several factors as one kernel, which STOREL's optimizer plans and which runs on
 * each combination of arrays whose keys match. It adds such expressions to a memo, where they compete with sequences of
 * contractions of two operands. */
#ifndef TRA_FUSED_H
#define TRA_FUSED_H

#include "../storel/storel.h"
#include "rules.h"

/* The rule that derivations name; it is not one of the tensor relational algebra, so tra_rules does not have it. */
extern const tra_rule tra_rule_fused;
/* Its bit in a set of rules that are left out, which tra_rule_bit does not know. */
#define TRA_FUSED_BIT ((uint64_t)1 << 63)
/* The same of what is decided before: whether right tables of joins stay whole (J-1; plans/search/job.c). */
#define TRA_WHOLE_BIT ((uint64_t)1 << 62)

typedef struct tra_fused_options {
    uint64_t without;              /* rules of the optimizer (plans/storel) */
    const tra_storel_costs *costs; /* of one thread */
    int threads;                   /* of a site; combinations of arrays are shared among them */
    int from;                      /* take the optimizer's plan of this rank: 0 is the cheapest */
} tra_fused_options;

/* Adds such an expression for each EinSum statement that is a sum of products with a factor of sparse type and for
 * which the optimizer finds a plan. Deterministic. refusals: gets why the rule does not apply to other statements with
 * such a factor; NULL: nobody asks. */
void tra_fused_apply(tra_memo *m, const tra_fused_options *o, tra_refusals *refusals);

#endif
