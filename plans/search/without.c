/* without.c - rules by name, those that rewrite expressions and those of the optimizer of kernels. */
#include "../rules/rules.h"
#include "search.h"

#include <string.h>

tra_status tra_plan_without(const char *names, tra_plan_options *o, tra_err *e) {
    tra_str kernels = {0};
    o->without_rules = 0;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        uint64_t bit = tra_rule_bit(at, n);
        o->without_rules |= bit;
        if (!bit) tra_str_printf(&kernels, "%s%.*s", kernels.n ? "," : "", (int)n, at);
        at += n + (at[n] == ',');
    }
    tra_status s = tra_storel_without(tra_str_get(&kernels), &o->without, e);
    tra_str_free(&kernels);
    return s;
}

const char *tra_plan_without_text(const tra_plan_options *o, tra_arena *a) {
    const char *text = tra_storel_without_text(o->without, a);
    for (int i = 0; tra_rules[i]; i++)
        if (o->without_rules >> i & 1) text = tra_arena_printf(a, "%s%s%s", text, *text ? "," : "", tra_rules[i]->name);
    return text;
}
