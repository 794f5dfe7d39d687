/* facts.h - what is known of the table that a group of the memo computes, whichever of its expressions does it.
 *
 * As the analyses of egg: each operator makes the facts of its result from those of its inputs, and a group has what
 * holds of any of its expressions, since all compute the same rows. Facts are made when they are first asked for, and
 * sharpened when the group has got more expressions, by a rule or by a merge. Private to plans/rules.
 */
#ifndef TRA_FACTS_H
#define TRA_FACTS_H

#include "memo.h"

#include "../../lib/table/join.h"
#include "../../lib/table/table.h"

typedef struct tra_column_known {
    double lo, hi;   /* all values but NULL and NaN lie in this range; lo > hi: there is no such range */
    double distinct; /* how many different values there are at most, without NULL */
    int by;          /* a column that determines this one: rows that agree in it do so in this one too; -1: not known */
} tra_column_known;

/* A set of columns in which no two rows agree; nulls: not even if NULL equals NULL. */
typedef struct tra_key_known {
    int n;
    const int *column;
    bool nulls;
} tra_key_known;

enum { TRA_KEYS_KNOWN = 8 };
typedef struct tra_facts {
    double rows, most; /* expected, and at most */
    int n;
    tra_column_known *column;
    int nkeys;
    tra_key_known key[TRA_KEYS_KNOWN];
} tra_facts;

/* The facts of a group, which is a table. They live as long as the memo; a later call may find more. */
const tra_facts *tra_memo_facts(const tra_memo *m, int group);
/* What is known of an expression over the columns of a table; f NULL: by the files that its columns come from. */
/* Is it certain that the expression is never infinite? It may be NaN. */
bool tra_is_finite(const tra_facts *f, const tra_colexpr *x);
/* How many values x is expected to have among so many rows: a bound where there is one. */
double tra_values_expected(const tra_facts *f, const tra_colexpr *x, double rows);
/* The share of so many rows that are groups by these expressions. */
double tra_share_of_groups(const tra_facts *f, int n, const tra_colexpr *const *x, double rows);
/* Is it certain that no left row of a join has more than one partner? It is if the join checks that, needs only one
 * partner, or if no two rows of the right table, which is this group, agree in its keys. */
bool tra_lookup_once(const tra_memo *m, int right, const tra_lookup_spec *s);
/* The join that an expression is, and its right table: a lookup, or what puts the partners that were found in parts of
 * a table beside the rows. NULL: it is none. */
const tra_lookup *tra_join_of(const tra_memo *m, const tra_expr *x, const tra_node **right);

#endif
