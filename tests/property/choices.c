/* choices.c - do the rules of placement allow what the search has chosen? */
#include "engine.h"

#include "../../plans/ia/ia.h"

#include <string.h>

static const tra_rule *rule_named(const char *name) {
    int i = 0;
    while (strcmp(tra_rules[i]->name, name) != 0) i++;
    return tra_rules[i];
}

const char *choice_refused(const tra_memo *m, const tra_choice *c, char *why) {
    const tra_node *n = &m->v[c->expr]->node, *j = &m->v[c->join >= 0 ? c->join : c->expr]->node;
    bool moved = c->between.sites > 0, summands = moved && tra_place_is_partial(&c->between);
    tra_placement in = c->in[0];
    tra_labels labels;
    if (c->in[0].sites <= 1) return NULL;
    if (j->op == TRA_OP_JOIN) {
        const char *no = rule_named("R2-6")->holds(&(tra_placed){.n = j, .in = {&c->in[0], &c->in[1]}}, why);
        if (no) return no;
        tra_join_labels(j->in[0]->type.cat, j->in[1]->type.cat, &j->join.l, &j->join.r, &labels);
        in = tra_join_place(&labels, &c->in[0], &c->in[1]);
    }
    if (moved && !summands) in = c->between;
    tra_placed agg = {.n = n, .in = {&in}, .out = &c->out};
    return n->op == TRA_OP_AGG ? rule_named(summands ? "R2-5" : "R2-4")->holds(&agg, why) : NULL;
}
