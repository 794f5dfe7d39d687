/* derive.h - how a plan follows from the direct translation of its program, rule by rule.
 *
 * First the expressions change, from the program's to those that the plan computes (R1-*, D-2); then, from the inputs
 * up, each operator gets its place (R2-*, D-1). After every step there is a whole plan: what has not been reached yet
 * is translated directly.
 */
#ifndef TRA_DERIVE_H
#define TRA_DERIVE_H

#include "../rules/rules.h"
#include "search.h"

typedef struct tra_step {
    const char *rules;    /* names, separated by blanks; of the first step "" */
    const char *what;     /* what they did, and where */
    const tra_plan *plan; /* after it */
} tra_step;

typedef struct tra_derivation {
    int n;
    tra_step *v;          /* the last one's plan is the plan itself */
    tra_refusals refused; /* near misses; their expressions are those of `memo` */
    const tra_memo *memo;
} tra_derivation;

/* The derivation of plans->v[which], in the arena. */
TRA_MUSTUSE tra_status tra_derive(const tra_plans *plans, int which, const tra_plan_options *o, tra_arena *a,
                                  tra_derivation *out, tra_err *e);

/* The rules by which a group is made so and not as in the direct translation: names of R2-* and D-1, separated by
 * blanks; of the join and of what aggregates it, or of the operator alone. made[i]: where input i is made, NULL where
 * that is open. */
typedef struct tra_made_by {
    char join[32], own[32];
} tra_made_by;
tra_made_by tra_choice_rules(const tra_memo *m, const tra_choice *c, const tra_placement *const made[2]);
/* Why R2-4, R2-5 or R2-6 forbid a choice: its join where the inputs are, its aggregation where the tuples are. NULL:
 * they do not. why: room for 256 bytes. The search makes only what they allow; this is to check that. */
const char *tra_choice_refused(const tra_memo *m, const tra_choice *c, char *why);
/* The rules that lead from the program's expression of a group to this one; appended to `out`, each once. */
void tra_expr_rules(const tra_memo *m, int expr, tra_str *out);
/* An expression with its inputs written out a few levels deep, as the language would. expr: which one of each group;
 * NULL: the first. */
void tra_expr_print(const tra_memo *m, int x, const int *expr, int depth, tra_str *out);

#endif
