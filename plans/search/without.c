/* without.c - rules by name, those that rewrite expressions and those of the optimizer of kernels. */
#include "../rules/fused.h"
#include "search.h"

#include <string.h>

/* The rule of this name, of n characters, that says where operators are placed; NULL: there is none. */
static const tra_rule *placing(const char *name, size_t n) {
    for (int i = 0; tra_rules[i]; i++)
        if (strlen(tra_rules[i]->name) == n && strncmp(tra_rules[i]->name, name, n) == 0)
            return tra_rules[i]->holds ? tra_rules[i] : NULL;
    return NULL;
}

tra_status tra_plan_without(const char *names, tra_plan_options *o, tra_err *e) {
    tra_str kernels = {0};
    o->without_rules = 0;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        uint64_t bit = n == 3 && strncmp(at, tra_rule_fused.name, n) == 0 ? TRA_FUSED_BIT : tra_rule_bit(at, n);
        if (placing(at, n)) {
            tra_str_free(&kernels);
            return tra_fail(e, TRA_USAGE, "rule %.*s says where operators are placed, and cannot be left out", (int)n,
                            at);
        }
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
    if (o->without_rules & TRA_FUSED_BIT)
        text = tra_arena_printf(a, "%s%s%s", text, *text ? "," : "", tra_rule_fused.name);
    return text;
}
