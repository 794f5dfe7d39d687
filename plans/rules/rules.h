/* rules.h - the equivalences of the algebra: one row each, with its condition, what it does, and data to test it.
 *
 * R1-* and D-2 rewrite expressions: they fill the memo. R2-* and D-1 speak of placements: the search asks them whether
 * an operator may run where its inputs are, and derivations name their steps by them. Properties of kernels come from
 * the kernel table (kernel.h).
 *
 * Source: Tensor Relational Algebra, tables 1 and 2, as corrected in this project's manual (tra-explain.1).
 */
#ifndef TRA_RULES_H
#define TRA_RULES_H

#include "../ia/ia.h"
#include "memo.h"

typedef struct tra_rule tra_rule;
typedef struct tra_rewriting tra_rewriting; /* private to this folder */

/* An operator and where it finds its inputs; out: where its result is wanted (in[i] and out NULL where a rule does not
 * ask). */
typedef struct tra_placed {
    const tra_node *n;
    const tra_placement *in[2], *out;
} tra_placed;

/* Test data. A program over the inputs of tests/unit/test_rules.c. R1-*, D-2: it says Z before and W after, or Z alone
 * when the rule is to be refused. R2-*, D-1: Z is the operator. */
typedef struct tra_rule_case {
    const char *program;
    const char *refused;     /* part of the reason; NULL: fires */
    bool one_way;            /* from Z to W only */
    bool finite;             /* not for data with infinities: these take part in other sums afterwards */
    int sites;               /* R2-*, D-1 */
    const char *in[2], *out; /* placements as explain writes them */
    /* Of rules on tables, over the tables there: what stands in the text of an expression that the rule makes.
     * These are evaluated by tests/property/tables.c and tests/cli. */
    const char *makes;
    bool tables; /* is so also where it is refused */
} tra_rule_case;
enum { TRA_MAXCASES = 24 };

struct tra_rule {
    const char *name;        /* R1-6 */
    const char *equivalence; /* filter over join = join of filtered inputs */
    const char *condition;   /* "" when it always holds */
    /* Each is called for every expression x of the memo, with every expression y of an input group of it (side says of
     * which input), and with y NULL. forth: from left to right, what as a rule is of use; back: from right to left. */
    void (*forth)(tra_rewriting *w, tra_expr *x, tra_expr *y, int side);
    void (*back)(tra_rewriting *w, tra_expr *x, tra_expr *y, int side);
    /* R2-*, D-1: NULL when it holds, else the reason, in `why` (room for 256 bytes) or fixed. */
    const char *(*holds)(const tra_placed *x, char *why);
    tra_rule_case cases[TRA_MAXCASES]; /* up to the first without a program */
};
/* In the order of the manual; the last has no name. */
extern const tra_rule *const tra_rules[];

/* A rule that would have applied to an expression but for its condition. */
typedef struct tra_refusal {
    const tra_rule *rule;
    int expr;
    const char *reason;
} tra_refusal;
typedef struct tra_refusals {
    int n, cap;
    tra_refusal *v; /* in the memo's arena; each once, in the order they came */
} tra_refusals;

/* Adds to the memo what the rules make of it, until nothing new comes or it is full (m->bounded). Deterministic.
 * only: that rule alone (NULL: all). without: none of these, whose bits are their places in the table. refusals: NULL
 * to have none. Relations of many listed tuples are left as they are. */
void tra_rules_apply(tra_memo *m, const tra_rule *only, uint64_t without, tra_refusals *refusals);
/* The rule of that name, of n characters, as a bit of `without`; 0: there is none, or it speaks of placements. */
uint64_t tra_rule_bit(const char *name, size_t n);

#endif
