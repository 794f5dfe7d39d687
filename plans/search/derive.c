/* derive.c - the steps of a derivation: the expressions as rules rewrite them, then the place of each operator. */
#include "derive.h"

#include "../rules/fused.h"
#include "cost.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------------------------- */

static void add_rule(tra_rule_list *out, const tra_rule *r) {
    for (int i = 0; i < out->n; i++)
        if (out->v[i] == r) return;
    out->v[out->n++] = r;
}

static void add_named(tra_rule_list *out, const char *name) { add_rule(out, tra_rule_named(name, strlen(name))); }

static void add_rules(tra_rule_list *out, const tra_rule_list *more) {
    for (int i = 0; i < more->n; i++) add_rule(out, more->v[i]);
}

/* Adds the rule if its condition holds. */
static bool apply(const char *name, const tra_placed *x, tra_rule_list *out) {
    char why[256];
    bool holds = !tra_rule_named(name, strlen(name))->holds(x, why);
    if (holds) add_named(out, name);
    return holds;
}

/* Was the relation brought to p after it was made? */
static bool is_moved(const tra_placement *p, const tra_placement *made) {
    return made ? !tra_place_eq(p, made) : tra_place_copies(p) > 1;
}

/* The join of a choice, itself or the one it aggregates; NULL. */
static const tra_node *join_of(const tra_memo *m, const tra_choice *c) {
    const tra_node *n = &m->v[c->join >= 0 ? c->join : c->expr]->node;
    return n->op == TRA_OP_JOIN ? n : NULL;
}

/* Where the operator finds its tuples: its input, or the pairs of its join. */
static tra_placement pairs_of(const tra_node *join, const tra_choice *c) {
    tra_labels labels;
    if (!join) return c->in[0];
    tra_join_labels(join->in[0]->type.cat, join->in[1]->type.cat, &join->join.l, &join->join.r, &labels);
    return tra_join_place(&labels, &c->in[0], &c->in[1]);
}

static bool leaves_summands(const tra_choice *c) { return c->between.sites > 0 && tra_place_is_partial(&c->between); }

static void join_rules(const tra_node *j, const tra_choice *c, const tra_placement *const made[2], tra_rule_list *out) {
    const tra_placement *l = &c->in[0], *r = &c->in[1];
    tra_placed x = {.n = j, .in = {l, r}};
    if (tra_place_is_all(l) && !is_moved(r, made[1])) return; /* the same as in the direct translation */
    if ((l->naxes > 1 || r->naxes > 1) && apply("D-1", &x, out)) return;
    if (c->join >= 0 && c->between.sites == 0) { /* each group lies on one site, since joined keys do */
        tra_placement pairs = pairs_of(j, c);
        tra_placed below = {.n = j, .in = {l, r}, .out = &pairs};
        if (!tra_place_is_all(l) && !tra_place_is_all(r) && apply("R2-7", &below, out)) return;
    }
    apply("R2-6", &x, out);
}

/* Would the shuffle of the direct translation move anything? */
static bool shuffles(const tra_node *n, const tra_placement *p) {
    const tra_catalog *c = n->in[0]->type.cat;
    tra_dims whole = n->group;
    if (n->op == TRA_OP_CONCAT) {
        whole.n = 0;
        for (int d = 0; d < c->frontier.n; d++)
            if (d != n->keydim) whole.v[whole.n++] = d;
    }
    tra_placement to = tra_place_within(c, p->sites, &whole);
    return tra_place_moved_floats(p, &to, c, NULL, NULL) > 0;
}

static void own_rules(const tra_node *n, const tra_choice *c, bool moved, tra_rule_list *out) {
    tra_placed x = {.n = n, .in = {&c->in[0]}, .out = &c->out};
    switch (n->op) {
    case TRA_OP_AGG:
        if (leaves_summands(c))
            add_named(out, "R2-5");
        else if (c->between.sites == 0 && (c->join >= 0 || (!moved && shuffles(n, &c->in[0]))))
            add_named(out, "R2-4");
        break;
    case TRA_OP_CONCAT:
        if (!moved && shuffles(n, &c->in[0])) add_named(out, "R2-4"); /* an aggregation over one key */
        break;
    case TRA_OP_FILTER:
        if (moved) apply("R2-2", &x, out);
        break;
    case TRA_OP_TRANSFORM:
    case TRA_OP_REKEY:
    case TRA_OP_TILE:
        if (moved) apply("R2-3", &x, out);
        break;
    case TRA_OP_INPUT:
    case TRA_OP_JOIN:
    case TRA_OP_REPART: break;
    }
}

/* Where the relation of each group is made; NULL: that is open. From malloc. */
static const tra_placement **made_at(const tra_memo *m, const tra_choices *c) {
    const tra_placement **at = tra_calloc((size_t)m->ngroups + 1, sizeof *at);
    for (int i = c->n - 1; i >= 0; i--)
        if (c->v[i].out.sites > 0) at[tra_memo_find(m, m->v[c->v[i].expr]->group)] = &c->v[i].out;
    return at;
}

/* The rules by which a choice makes its group so and not as in the direct translation: names of R2-* and D-1; of the
 * join and of what aggregates it, or of the operator alone. at: where each group is made. */
static void choice_rules(const tra_memo *m, const tra_placement *const *at, const tra_choice *c, tra_rule_list *join,
                         tra_rule_list *own) {
    const tra_expr *x = m->v[c->join >= 0 ? c->join : c->expr];
    const tra_node *n = &m->v[c->expr]->node, *j = join_of(m, c);
    const tra_placement *made[2] = {NULL, NULL};
    if (c->in[0].sites <= 1) return;
    for (int k = 0; k < 2 && x->in[k] >= 0; k++) made[k] = at[tra_memo_find(m, x->in[k])];
    if (j) join_rules(j, c, made, join);
    own_rules(n, c, is_moved(&c->in[0], made[0]), own);
}

/* ---- from the program's expressions to those of a plan ---------------------------------------------------------- */

enum { DEEPEST = 6, UNPROVED = -2 };

/* How an expression follows from the first one of its group: it was made of expression `from` (-1: it is the first,
 * UNPROVED: none leads to it) by a rule (NULL: their inputs are in the same groups) that saw `below` in inputs (-1:
 * none). */
typedef struct proof {
    int from, below[2];
    const tra_rule *rule;
} proof;

static int first_of(const tra_memo *m, int x) { return m->group[tra_memo_find(m, m->v[x]->group)].expr[0]; }

/* The proofs of all expressions, by the memo's equalities; from malloc. Equalities are followed as far as they lead
 * before expressions that have become equal are. */
static proof *proofs_of(const tra_memo *m) {
    size_t n = (size_t)m->n + 1;
    proof *v = tra_malloc(n * sizeof *v);
    int *work = tra_malloc((4 * n + 2 * (size_t)m->nequal) * sizeof *work), nknown = 0, followed = 0, copied = 0;
    int *known = work, *equal = work + n, *same = work + 2 * n, *next_same = work + 3 * n, *next = work + 4 * n;
    for (int x = m->n - 1; x >= 0; x--) equal[x] = same[x] = -1;
    for (int i = 2 * m->nequal - 1; i >= 0; i--) { /* lists of the equalities of each expression, from a and from b */
        int *x = &equal[i % 2 ? m->equal[i / 2].b : m->equal[i / 2].a];
        next[i] = *x, *x = i;
    }
    for (int x = m->n - 1; x >= 0; x--) { /* lists of equal expressions, by the first of them */
        int *first = &same[tra_memo_equal(m, x)];
        next_same[x] = *first, *first = x;
    }
    for (int x = 0; x < m->n; x++) {
        bool is_first = first_of(m, x) == x;
        v[x] = (proof){is_first ? -1 : UNPROVED, {-1, -1}, NULL};
        if (is_first) known[nknown++] = x;
    }
    while (copied < nknown) {
        for (; followed < nknown; followed++) {
            for (int i = equal[known[followed]]; i >= 0; i = next[i]) {
                const tra_equality *q = &m->equal[i / 2];
                int to = i % 2 ? q->a : q->b;
                const int *below = i % 2 ? q->made : q->below;
                if (v[to].from != UNPROVED) continue;
                v[to] = (proof){known[followed], {below[0], below[1]}, q->rule};
                known[nknown++] = to;
            }
        }
        int x = known[copied++];
        for (int y = same[tra_memo_equal(m, x)]; y >= 0; y = next_same[y])
            if (v[y].from == UNPROVED) v[y].from = x, known[nknown++] = y;
    }
    free(work);
    return v;
}

static void expr_rules(const proof *v, int x, int depth, tra_rule_list *out) {
    if (v[x].from < 0 || depth == DEEPEST) return;
    expr_rules(v, v[x].from, depth, out);
    for (int i = 0; i < 2; i++)
        if (v[x].below[i] >= 0) expr_rules(v, v[x].below[i], depth + 1, out);
    if (v[x].rule) add_rule(out, v[x].rule);
}

tra_plan_rules tra_rules_of(const tra_memo *m, const tra_plan *p, const tra_choices *c, tra_arena *a) {
    tra_rule_list *op = tra_news(a, tra_rule_list, p->nops), *all = tra_new(a, tra_rule_list);
    proof *proofs = proofs_of(m);
    const tra_placement **made = made_at(m, c);
    for (int i = 0; i < c->n; i++) {
        tra_rule_list *rules = &op[c->v[i].op], join = {0}, own = {0};
        *rules = (tra_rule_list){0};
        if (c->v[i].join >= 0) expr_rules(proofs, c->v[i].join, 0, rules);
        expr_rules(proofs, c->v[i].expr, 0, rules);
        choice_rules(m, made, &c->v[i], &join, &own);
        add_rules(rules, &join);
        add_rules(rules, &own);
        add_rules(all, rules);
    }
    free(proofs);
    free(made);
    return (tra_plan_rules){op, all};
}

/* ---- expressions as text -------------------------------------------------------------------------------------- */

void tra_expr_print(const tra_memo *m, int x, const int *expr, int depth, tra_str *out) {
    tra_node n = m->v[x]->node, in[2];
    tra_str text[2] = {{0}, {0}};
    for (int i = 0; i < 2 && n.in[i]; i++) {
        int g = tra_memo_find(m, m->v[n.in[i]->id]->group), y = expr && expr[g] >= 0 ? expr[g] : m->group[g].expr[0];
        in[i] = m->v[y]->node;
        n.in[i] = &in[i];
        if (in[i].op == TRA_OP_INPUT || (in[i].name && depth <= 1)) continue;
        if (depth > 1)
            tra_expr_print(m, y, expr, depth - 1, &text[i]);
        else
            tra_str_add(&text[i], "..");
        in[i].name = tra_str_get(&text[i]);
    }
    if (n.op == TRA_OP_INPUT)
        tra_str_printf(out, "%s%s", n.name, n.input.transposed ? " by columns" : "");
    else
        tra_node_print(&n, out);
    for (int i = 0; i < 2; i++) tra_str_free(&text[i]);
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

typedef struct deriving {
    const tra_memo *m;
    const tra_plan_options *o;
    tra_arena *a;
    tra_derivation *d;
    int cap;
    int *expr; /* by canonical group */
    proof *proof;
    int nchoices;
    const tra_choice *choice;
    uint64_t digest;     /* of the last plan */
    tra_rule_list rules; /* of changes that no plan has shown yet, */
    tra_str what;        /* and what they did */
} deriving;

static void add_step(deriving *w, const tra_plan *p, const tra_choices *c) {
    tra_derivation *d = w->d;
    TRA_ARENA_ROOM(w->a, d->v, d->n, w->cap);
    d->v[d->n++] = (tra_step){w->rules, tra_arena_take(w->a, &w->what), p, *c};
    w->digest = tra_plan_digest(p);
    w->rules.n = 0;
}

/* The plan as it is now. False when it cannot run: a step that cannot be shown. */
static bool plan_now(deriving *w, int choices, tra_plan **p, tra_choices *made) {
    tra_err none = {0};
    return tra_plan_of(w->m, w->o, choices, w->choice, w->expr, w->a, p, made, &none) == TRA_OK;
}

/* Makes a step of the changes so far if the plan differs by them; else they are kept for the next step. */
static void show(deriving *w, int choices) {
    tra_plan *p;
    tra_choices made;
    if (plan_now(w, choices, &p, &made) && tra_plan_digest(p) != w->digest) add_step(w, p, &made);
}

static void add_what(deriving *w, const char *text) { tra_str_printf(&w->what, "%s%s", w->what.n ? "; " : "", text); }

/* Replaces the expression that is shown of a group by another one, step by step over those between; where a rule looked
 * at an expression of an input, that input is rewritten before. */
static void rewrite(deriving *w, int to, int depth) {
    const tra_memo *m = w->m;
    const proof *p = &w->proof[to];
    int g = tra_memo_find(m, m->v[to]->group), below[2], kept[2];
    if (p->from < 0 || depth == DEEPEST) return;
    rewrite(w, p->from, depth);
    for (int i = 0; i < 2; i++) {
        below[i] = p->below[i] < 0 ? -1 : tra_memo_find(m, m->v[p->below[i]]->group);
        kept[i] = below[i] < 0 ? -1 : w->expr[below[i]];
        if (below[i] >= 0 && kept[i] != p->below[i]) rewrite(w, p->below[i], depth + 1);
    }
    tra_str text = {0};
    tra_expr_print(m, w->expr[g] >= 0 ? w->expr[g] : first_of(m, to), w->expr, 3, &text);
    w->expr[g] = to;
    for (int i = 1; i >= 0; i--)
        if (below[i] >= 0) w->expr[below[i]] = kept[i];
    tra_str_add(&text, "  =  ");
    tra_expr_print(m, to, w->expr, 3, &text);
    if (p->rule) add_rule(&w->rules, p->rule);
    add_what(w, tra_str_get(&text));
    tra_str_free(&text);
    show(w, 0);
    tra_str_free(&w->what); /* a relation that nothing needs yet: its consumer's step shows it */
}

/* Appends a choice as text: "C: join(A, B, ..) of A at part(1) and B at part(0), result at part(0,1)". */
static void describe(deriving *w, const tra_choice *c) {
    const tra_node *n = &w->m->v[c->expr]->node, *j = c->join >= 0 ? &w->m->v[c->join]->node : n;
    char place[256];
    tra_str text = {0};
    bool stored = c->between.sites > 0 && !leaves_summands(c);
    if (n->name) tra_str_printf(&text, "%s%s: ", stored ? "the join for " : "", n->name);
    tra_expr_print(w->m, stored ? c->join : c->expr, w->expr, c->join >= 0 && !stored ? 2 : 1, &text);
    for (int i = 0; i < 2 && c->in[i].sites > 0; i++)
        tra_str_printf(&text, "%s%s at %s", i ? " and " : ", of ",
                       j->in[i]->name ? j->in[i]->name
                       : i            ? "the right input"
                                      : "its input",
                       tra_place_text(&c->in[i], place, sizeof place));
    if (leaves_summands(c)) tra_str_printf(&text, ", summands at %s", tra_place_text(&c->between, place, sizeof place));
    if (c->out.sites > 0 && !stored)
        tra_str_printf(&text, ", result at %s", tra_place_text(&c->out, place, sizeof place));
    add_what(w, tra_str_get(&text));
    tra_str_free(&text);
}

/* One operator after the other gets its place, a join before its aggregation: until then the join's result is stored.
 */
static void place_all(deriving *w) {
    const tra_memo *m = w->m;
    tra_choice *v = tra_news(w->a, tra_choice, w->nchoices);
    for (int i = 0; i < w->nchoices; i++) v[i] = w->choice[i];
    w->choice = v;
    const tra_placement **made = made_at(m, &(tra_choices){w->nchoices, v});
    for (int i = 0; i < w->nchoices; i++) {
        const tra_choice c = v[i];
        tra_rule_list join = {0}, own = {0};
        choice_rules(m, made, &c, &join, &own);
        if (join.n) {
            add_rules(&w->rules, &join);
            if (c.join >= 0) v[i].between = tra_place_all(c.in[0].sites);
            describe(w, &v[i]);
            show(w, i + 1);
            v[i] = c;
        }
        if (own.n) {
            add_rules(&w->rules, &own);
            describe(w, &c);
            show(w, i + 1);
        }
    }
    free(made);
}

/* Adds to the last step the changes that no plan has shown, and where inputs without a given place are read. */
static void finish(deriving *w, const tra_plan *p, const tra_choices *c) {
    if (w->d->n <= 1 && w->digest != tra_plan_digest(p)) {
        if (!w->what.n)
            add_what(w, "what no rule is needed for: joins are one operator with their aggregations, inputs are where "
                        "it suits the plan");
        add_step(w, p, c);
    }
    tra_step *last = &w->d->v[w->d->n - 1];
    add_rules(&last->rules, &w->rules);
    if (w->what.n) last->what = tra_arena_printf(w->a, "%s; %s", last->what, tra_str_get(&w->what));
    last->plan = p;
    last->choices = *c;
}

tra_status tra_derive(const tra_plans *plans, int which, const tra_plan_options *o, tra_arena *a, tra_derivation *out,
                      tra_err *e) {
    const tra_memo *m = plans->memo;
    tra_plan *direct;
    tra_choices made;
    deriving w = {
        .m = m, .o = o, .a = a, .d = out, .nchoices = plans->choices[which].n, .choice = plans->choices[which].v};
    (void)e;
    *out = (tra_derivation){.memo = m};
    w.expr = tra_malloc(((size_t)m->ngroups + 1) * sizeof *w.expr);
    w.proof = proofs_of(m);
    for (int g = 0; g < m->ngroups; g++) w.expr[g] = -1;
    add_what(&w, "the direct translation");
    if (plan_now(&w, 0, &direct, &made)) add_step(&w, direct, &made);
    tra_str_free(&w.what);
    for (int i = 0; i < w.nchoices; i++) {
        const tra_choice *c = &w.choice[i];
        if (c->join >= 0) rewrite(&w, c->join, 0);
        rewrite(&w, c->expr, 0);
    }
    place_all(&w);
    finish(&w, plans->v[which], &plans->choices[which]);
    tra_str_free(&w.what);
    free(w.expr);
    free(w.proof);
    if (!o->fixed && !o->reproducible) { /* the rules say what they refused when they are asked once more */
        tra_memo *again = tra_memo_new(m->g, a);
        tra_rules_apply(again, NULL, o->without_rules, &out->refused);
        tra_storel_costs costs = tra_rates_kernels(&o->rates, o->threads);
        if (!(o->without_rules & TRA_FUSED_BIT))
            tra_fused_apply(again, &(tra_fused_options){o->without, &costs, o->threads, o->from}, &out->refused);
        out->memo = again;
    }
    return TRA_OK;
}
