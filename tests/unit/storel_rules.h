/* storel_rules.h - the table of rules, for their tests. */
#ifndef TRA_STOREL_RULES_H
#define TRA_STOREL_RULES_H

#include <stdbool.h>
#include <stddef.h>

static const struct {
    const char *name, *before, *after, *refused;
    bool built_in;
} rules[] = {
#define X(id, name, built_in, law, when, before, after, refused) {name, before, after, refused, built_in},
#include "../../plans/storel/table.h"
#undef X
};
enum { RULES = sizeof rules / sizeof *rules };

#endif
