/* cardinality.h - how many rows, groups and entries are expected: what types, rules and storel estimate by.
 *
 * Formulas of chance are in lib/base/chance.h; what predicates and joins leave is in table_estimates.h, how many
 * entries kernels make in lib/kernel/entries.c; what rules know of a group, and so expect of it, in rules/facts.h. */
#ifndef TRA_CARDINALITY_H
#define TRA_CARDINALITY_H

#include "../../lib/base/chance.h"
#include "../../lib/table/table.h"

/* How many groups so many rows are expected to have by the first nkeys columns of s. x: the expressions that compute
 * these, or NULL. */
double tra_table_groups_expected(const tra_schema *s, int nkeys, const tra_colexpr *const *x, double rows);

#endif
