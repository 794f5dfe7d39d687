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

/* Rules, each once, in the order in which they were added. */
typedef struct tra_rule_list {
    int n;
    const tra_rule *v[64]; /* there are fewer rules */
} tra_rule_list;

typedef struct tra_step {
    tra_rule_list rules;  /* of the first step none */
    const char *what;     /* what they did, and where */
    const tra_plan *plan; /* after it */
    tra_choices choices;  /* that give the plan */
} tra_step;

typedef struct tra_derivation {
    int n;
    tra_step *v;          /* the last one's plan is the plan itself */
    tra_refusals refused; /* rules that almost applied; their expressions are those of `memo` */
    const tra_memo *memo;
} tra_derivation;

/* The derivation of plans->v[which], in the arena. */
TRA_MUSTUSE tra_status tra_derive(const tra_plans *plans, int which, const tra_plan_options *o, tra_arena *a,
                                  tra_derivation *out, tra_err *e);

/* The rules that shaped a plan: by operator and all together. The plan is one that the choices give; in the arena. */
typedef struct tra_plan_rules {
    const tra_rule_list *op, *all;
} tra_plan_rules;
tra_plan_rules tra_rules_of(const tra_memo *m, const tra_plan *p, const tra_choices *c, tra_arena *a);
/* An expression with its inputs written out a few levels deep, as the language would. expr: which one of each group;
 * NULL: the first. */
void tra_expr_print(const tra_memo *m, int x, const int *expr, int depth, tra_str *out);

#endif
