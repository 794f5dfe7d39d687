/* rule_case.h - what test_rules.c tries of each rule: programs over its inputs, on which the rule fires or is refused.
 */
#ifndef TRA_RULE_CASE_H
#define TRA_RULE_CASE_H

/* Of R1-*, D-2 and D-3 Z is the expression that the rule matches, and W what it becomes; there is no W when it is to
 * be refused. Of R2-* and D-1 Z is the operator. */
typedef struct rule_case {
    const char *program;
    const char *refused;     /* part of the reason; NULL: fires */
    bool one_way;            /* the rule makes W of Z, but not Z of W */
    bool finite;             /* not to be tried on infinities: the rule adds in another order, which may make NaN */
    int sites;               /* R2-*, D-1 */
    const char *in[2], *out; /* placements as explain writes them */
    /* Of rules on tables: a part of the text of the expression that the rule makes. (tests/property/tables.c and
     * tests/cli evaluate such rules.) */
    const char *makes;
} rule_case;

/* The cases of the rule of that name, up to the first without a program. */
typedef struct rule_cases {
    const char *rule;
    rule_case v[32];
} rule_cases;

#endif
