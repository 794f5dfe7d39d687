/* rule_cases.h - the cases of a rule. */
#include <string.h>

#include "rule_cases_relations.h"
#include "rule_cases_tables.h"

static const rule_case *cases_among(const char *rule, const rule_cases *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].rule, rule) == 0) return v[i].v;
    return NULL;
}

/* Those of the rule of that name, up to one without a program. */
static const rule_case *cases_of(const char *rule) {
    const rule_case *v = cases_among(rule, cases_of_relations, sizeof cases_of_relations / sizeof *cases_of_relations);
    static const rule_case none;
    if (!v) v = cases_among(rule, cases_of_tables, sizeof cases_of_tables / sizeof *cases_of_tables);
    return v ? v : &none;
}
