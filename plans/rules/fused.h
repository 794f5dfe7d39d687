/* fused.h - statements of several factors as one kernel on each combination of arrays that meet (STOREL), beside their
 * contractions of two: further expressions of a memo. */
#ifndef TRA_FUSED_H
#define TRA_FUSED_H

#include "../storel/storel.h"
#include "rules.h"

/* The rule by which these expressions stand in a memo; no tensor relational algebra has it, so it is not in the table.
 */
extern const tra_rule tra_rule_fused;

/* Adds such an expression for each EinSum statement that is a sum of products with a factor of sparse type, where the
 * optimizer (plans/storel) has a plan and code for it, without these of its rules, by these costs. Deterministic.
 * threads: of a site. */
void tra_fused_apply(tra_memo *m, uint64_t without, const tra_storel_costs *costs, int threads);

#endif
