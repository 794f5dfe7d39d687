/* rules.h - the equivalences of the algebra: one row each, with its condition and what it does. The cases of
 * tests/unit/rule_cases_*.h try each of them.
 *
 * R1-*, D-2, D-3 (tensor relations) and Q-* (tables) rewrite expressions: they fill the memo. R2-* and D-1 are about
 * placements: the search asks them whether an operator may run where its inputs are, and derivations name their steps
 * by them. Properties of kernels come from the kernel table (kernel.h).
 *
 * Source: Tensor Relational Algebra, tables 1 and 2, as corrected in this project's manual (tra-plans.5), which also
 * has the rules Q-*.
 */
#ifndef TRA_RULES_H
#define TRA_RULES_H

#include "../ia/ia.h"
#include "memo.h"

typedef struct tra_rule tra_rule;
typedef struct tra_rewriting tra_rewriting; /* private to this folder */

/* An operator and where it finds its inputs; out: where its result is wanted. in[i] and out are NULL where a
 * rule does not ask for them. */
typedef struct tra_placed {
    const tra_node *n;
    const tra_placement *in[2], *out;
} tra_placed;

struct tra_rule {
    const char *name;        /* R1-6 */
    const char *equivalence; /* filter over join = join of filtered inputs */
    const char *condition;   /* "" when it always holds */
    /* Each is called for every expression x of the memo: once with y NULL, and once with every expression y of each of
     * its input groups. forth applies the equivalence from left to right, which usually pays;
     * back from right to left, which may let other rules apply. NULL: not in this direction. */
    void (*forth)(tra_rewriting *w, tra_expr *x, tra_expr *y);
    void (*back)(tra_rewriting *w, tra_expr *x, tra_expr *y);
    /* R2-*, D-1: returns NULL when the rule holds, else the reason: a constant, or written to `why` (256 bytes). */
    const char *(*holds)(const tra_placed *x, char *why);
};
/* In the order of the manual; NULL ends them. */
extern const tra_rule *const tra_rules[];

/* A rule that would have applied to an expression but for its condition. */
typedef struct tra_refusal {
    const tra_rule *rule;
    int expr;
    const char *reason;
} tra_refusal;
typedef struct tra_refusals {
    int n, cap;
    tra_refusal *v; /* in the memo's arena; without duplicates, in the order in which they were found */
} tra_refusals;

/* Applies the rules to the memo until they add nothing new or the memo is full (m->bounded). Deterministic.
 * only: apply this rule alone (NULL: all). without: a set of rules that are left out, bit i for tra_rules[i]. refusals:
 * gets what did not apply, and why; NULL: nobody asks. Expressions over relations that list more tuples than 65,536 are
 * not rewritten: typing each would walk that list. */
void tra_rules_apply(tra_memo *m, const tra_rule *only, uint64_t without, tra_refusals *refusals);
/* The rule with that name, of n characters; NULL: there is none. */
const tra_rule *tra_rule_named(const char *name, size_t n);
/* The bit of `without` of the rule with that name, of n characters; 0: there is none, or it is about placements. */
uint64_t tra_rule_bit(const char *name, size_t n);

#endif
