/* without.c - rules by name, those that rewrite expressions and those of the optimizer of kernels. */
#include "../rules/fused.h"
#include "search.h"

#include <string.h>

/* The rule of this name, of n characters, that says where operators are placed; NULL: there is none. */
static const tra_rule *placing(const char *name, size_t n) {
    const tra_rule *r = tra_rule_named(name, n);
    return r && r->holds ? r : NULL;
}

/* What is no rule of a memo, but is left out by its name, too. */
static const struct special {
    const char *name;
    uint64_t bit;
} specials[] = {{"S-1", TRA_FUSED_BIT}, {"J-1", TRA_WHOLE_BIT}};
enum { NSPECIALS = sizeof specials / sizeof *specials };

static uint64_t bit_of(const char *name, size_t n) {
    for (int i = 0; i < NSPECIALS; i++)
        if (n == strlen(specials[i].name) && strncmp(name, specials[i].name, n) == 0) return specials[i].bit;
    return tra_rule_bit(name, n);
}

tra_status tra_plan_without(const char *names, tra_plan_options *o, tra_err *e) {
    tra_str kernels = {0};
    o->without_rules = 0;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        uint64_t bit = bit_of(at, n);
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
    for (int i = 0; i < NSPECIALS; i++)
        if (o->without_rules & specials[i].bit)
            text = tra_arena_printf(a, "%s%s%s", text, *text ? "," : "", specials[i].name);
    return text;
}
