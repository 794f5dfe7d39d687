/* rules.c - the table of rules, and what applies them to a memo. */
#include "rules_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const tra_rule *const tra_rules[] = {
#define X(name) &tra_rule_##name,
    TRA_RULES(X)
#undef X
        NULL};

/* ---- fixpoint ----------------------------------------------------------------------------------------------- */

/* Typing an expression over a relation that lists its tuples walks that list: those over long ones are not rewritten.
 */
enum { LONG_LIST = 1 << 16 };
static bool is_long(const tra_node *n) { return !n->type.cat->grid && n->type.cat->n > LONG_LIST; }
static bool walks_long(const tra_expr *x) {
    return is_long(&x->node) || (x->node.in[0] && is_long(x->node.in[0])) || (x->node.in[1] && is_long(x->node.in[1]));
}

/* Does x compute a group from that group itself (a transpose of a vector, say)? Rules would apply to it without end. */
static bool loops(const tra_memo *m, const tra_expr *x, int group) {
    for (int i = 0; i < 2 && x->in[i] >= 0; i++)
        if (tra_memo_find(m, x->in[i]) == tra_memo_find(m, group)) return true;
    return false;
}

/* Adds x, or x over y, to w->match, unless rules met it in this direction before. */
static void add_match(tra_rewriting *w, bool back, const tra_expr *x, tra_expr *y, int side) {
    int v[4] = {back, x->node.id, y ? y->node.id : -1, side};
    if (tra_tried(w, XXH64(v, sizeof v, 0))) return;
    TRA_ROOM(w->match, w->nmatches, w->capmatches);
    w->match[w->nmatches++] = (tra_match){back, side, y};
}

static void find_matches(tra_rewriting *w, bool back, const tra_expr *x) {
    add_match(w, back, x, NULL, 0);
    for (int side = 0; side < 2 && x->in[side] >= 0; side++) {
        const tra_memo_group *g = &w->m->group[tra_memo_find(w->m, x->in[side])];
        for (int i = 0; i < g->n; i++)
            if (!walks_long(w->m->v[g->expr[i]])) add_match(w, back, x, w->m->v[g->expr[i]], side);
    }
}

static void apply_to(tra_rewriting *w, int rule, tra_expr *x) {
    tra_memo *m = w->m;
    w->rule = tra_rules[rule];
    if (loops(m, x, x->group)) return;
    for (int i = 0; i < w->nmatches; i++) {
        const tra_match *t = &w->match[i];
        void (*f)(tra_rewriting *, tra_expr *, tra_expr *) = t->back ? w->rule->back : w->rule->forth;
        if (f && !(t->y && (loops(m, t->y, t->y->group) || loops(m, t->y, x->group)))) w->side = t->side, f(w, x, t->y);
    }
}

/* Is x still in its group's list? A merge of groups removes expressions that have become equal to an earlier one. */
static bool is_live(const tra_memo *m, const tra_expr *x) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, x->group)];
    for (int i = 0; i < g->n; i++)
        if (g->expr[i] == x->node.id) return true;
    return false;
}

/* Which rules may be used. */
typedef struct choice {
    const tra_rule *only;
    uint64_t without;
} choice;
static bool wanted(choice c, int rule) { return (!c.only || tra_rules[rule] == c.only) && !(c.without >> rule & 1); }

const tra_rule *tra_rule_named(const char *name, size_t n) {
    for (int i = 0; tra_rules[i]; i++)
        if (strlen(tra_rules[i]->name) == n && strncmp(tra_rules[i]->name, name, n) == 0) return tra_rules[i];
    return NULL;
}

static int place_of(const tra_rule *rule) {
    int i = 0;
    while (tra_rules[i] != rule) i++;
    return i;
}

uint64_t tra_rule_bit(const char *name, size_t n) {
    const tra_rule *r = tra_rule_named(name, n);
    return r && !r->holds ? (uint64_t)1 << place_of(r) : 0;
}

/* What an expression and those of its input groups are: while it stays, all matches of the expression were tried. */
static uint64_t neighbourhood(const tra_memo *m, const tra_expr *x) {
    int v[7] = {tra_memo_find(m, x->group)};
    for (int side = 0; side < 2 && x->in[side] >= 0; side++) {
        int g = tra_memo_find(m, x->in[side]);
        v[1 + 3 * side] = g;
        v[2 + 3 * side] = m->group[g].n;
        v[3 + 3 * side] = m->group[g].n > 0 ? m->group[g].expr[m->group[g].n - 1] : -1;
    }
    return XXH64(v, sizeof v, 1);
}

/* Applies rules until nothing changes. D-2 looks further down than a match of two expressions, so it is applied by
 * itself when the others are done (reorder). */
static void saturate(tra_rewriting *w, choice only, bool back) {
    tra_memo *m = w->m;
    do {
        w->changed = false;
        for (int i = 0; i < m->n && m->n < w->room; i++) {
            tra_expr *x = m->v[i];
            if (walks_long(x) || !is_live(m, x)) continue;
            uint64_t now = neighbourhood(m, x), *seen = &w->seen[2 * i];
            if (seen[back] == now) continue;
            seen[0] = now;
            if (back) seen[1] = now;
            w->nmatches = 0;
            find_matches(w, false, x);
            if (back) find_matches(w, true, x);
            for (int r = 0; tra_rules[r] && w->nmatches > 0; r++)
                if (tra_rules[r] != &tra_rule_d_2 && wanted(only, r)) apply_to(w, r, x);
        }
        tra_memo_rebuild(m);
    } while (w->changed && m->n < w->room);
    if (m->n >= w->room) m->bounded = true;
}

/* Q-6 looks at the program as a whole, as it was written: which columns its operators read. */
static void narrow(tra_rewriting *w, choice only) {
    w->rule = &tra_rule_q_6;
    if (wanted(only, place_of(w->rule))) tra_narrow_tables(w);
    tra_memo_rebuild(w->m);
}

static void reorder(tra_rewriting *w, choice only) {
    tra_memo *m = w->m;
    if (!wanted(only, place_of(&tra_rule_d_2))) return;
    w->rule = &tra_rule_d_2;
    for (int i = 0, n = m->n; i < n && m->n < w->room; i++)
        if (!walks_long(m->v[i]) && is_live(m, m->v[i])) tra_rule_d_2.forth(w, m->v[i], NULL);
    tra_memo_rebuild(m);
}

void tra_rules_apply(tra_memo *m, const tra_rule *rule, uint64_t without, tra_refusals *refusals) {
    choice only = {rule, without};
    tra_rewriting w = {.m = m, .refusals = refusals, .room = m->limit};
    w.seen = tra_calloc(2 * (size_t)m->limit + 1, sizeof *w.seen);
    narrow(&w, only);
    /* First the directions that usually pay; then, in less room, the other ones, after which more of the first may
     * apply. */
    saturate(&w, only, false);
    reorder(&w, only);
    saturate(&w, only, false);
    w.room = (int)tra_min64(m->limit, m->n + 64 + m->n / 2);
    saturate(&w, only, true);
    w.room = m->limit;
    reorder(&w, only);
    saturate(&w, only, false);
    free(w.tried);
    free(w.match);
    free(w.seen);
}
