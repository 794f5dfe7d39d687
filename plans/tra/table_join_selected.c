/* table_join_selected.c - selections of pairs of rows. Of all pairs, as a program in the manner of SQL has them, they
 * are a join where a predicate compares columns of both tables. Of joins that consist of several nodes, which rules do
 * not look through, what reads one table selects of that before. */
#include "cardinality.h"
#include "table_derived.h"
#include "table_parts.h"

#include <string.h>

bool tra_table_may_fail(const tra_colexpr *x) {
    bool fails = x->fails || (x->nkids == 0 && x->op != TRA_C_COLUMN && x->op != TRA_C_CONST);
    for (int i = 0; i < x->nkids && !fails; i++) fails = tra_table_may_fail(x->kids[i]);
    return fails;
}

static int parts_of(const tra_colexpr *x) {
    int n = x->op != TRA_C_AND;
    for (int i = 0; i < x->nkids && x->op == TRA_C_AND; i++) n += parts_of(x->kids[i]);
    return n;
}

static const tra_colexpr *both_of(tra_arena *a, const tra_colexpr *x, const tra_colexpr *y) {
    if (!x) return y;
    return tra_colexpr_call(a, TRA_C_AND, 2, (const tra_colexpr *const[]){x, y}, &x, NULL) == TRA_OK ? x : NULL;
}

/* Takes a predicate on pairs apart: equal columns become keys of s, the rest that reads both tables *where, and what
 * reads one of them *rest. */
static void split_predicate(tra_table_builder *w, tra_lookup_spec *s, int *lkey, int *rkey, const tra_colexpr *x,
                            const tra_colexpr **where, const tra_colexpr **rest) {
    int left = s->left->n, c[2];
    if (x->op == TRA_C_AND) {
        for (int i = 0; i < x->nkids; i++) split_predicate(w, s, lkey, rkey, x->kids[i], where, rest);
        return;
    }
    for (int i = 0; i < 2; i++) c[i] = x->op == TRA_C_EQ ? tra_join_key_column(x->kids[i]) : -1;
    int l = tra_min64(c[0], c[1]), r = (int)tra_max64(c[0], c[1]);
    if (l >= 0 && l < left && r >= left && !tra_coltype_is_float(w->op.pair->v[l].type) &&
        w->op.pair->v[l].type == w->op.pair->v[r].type && w->op.pair->v[l].dict == w->op.pair->v[r].dict) {
        lkey[s->nkeys] = l, rkey[s->nkeys++] = r - left;
        return;
    }
    const tra_colexpr **to = tra_join_is_of_both(w, x) ? where : rest;
    *to = both_of(w->b->arena, *to, x);
}

/* All columns of pairs, of which the join has one for two keys of one name. */
static tra_node *all_columns(const tra_table_builder *w, const tra_lookup *l, tra_node *n) {
    tra_arena *a = w->b->arena;
    const tra_schema *pair = w->op.pair, *out = tra_lookup_out(l);
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    tra_projection p = {.arena = a};
    if (!n || out->n == pair->n) return n;
    for (int c = 0; c < pair->n; c++) {
        int from = c;
        for (int k = 0; k < s->nkeys; k++)
            if (c == s->left->n + s->rkey[k] && tra_lookup_shares_key(s, s->rkey[k], &from)) break;
        for (int i = 0; i < out->n; i++)
            if (tra_lookup_from(l)[i] == from) tra_projection_add(&p, pair->v[c].name, tra_colexpr_column(a, out, i));
    }
    return tra_table_columns(w, n, &p);
}

tra_node *tra_table_join_selected(tra_table_builder *w, const tra_colexpr *x, const tra_colexpr **rest) {
    enum { FEW = 64 }; /* rows of a right table that all pairs may be made of */
    const tra_table_op *cross = w->in->table;
    const tra_colexpr *where = NULL;
    *rest = NULL;
    if (!cross || cross->op != TRA_TABLE_CROSS || tra_table_may_fail(x)) return NULL;
    if (tra_type_entries(&cross->in[1]->type).bound <= FEW) return NULL;
    tra_table_builder j = {
        .b = w->b, .call = w->call, .in = (tra_node *)cross->in[0], .right = (tra_node *)cross->in[1]};
    j.op.op = TRA_TABLE_JOIN;
    j.op.lookup = cross->lookup;
    j.op.pair = cross->pair;
    j.op.where = w->call->kids[1]; /* of which the text tells apart joins of the same tables */
    tra_lookup_spec *s = &j.op.lookup;
    int parts = parts_of(x), *lkey = tra_news(w->b->arena, int, parts + 1),
        *rkey = tra_news(w->b->arena, int, parts + 1);
    s->lkey = lkey, s->rkey = rkey;
    split_predicate(&j, s, lkey, rkey, x, &where, rest);
    if (s->nkeys == 0 && !where) return NULL;
    tra_lookup *l = tra_join_lookup(&j, s, w->call);
    if (!l) return NULL;
    if (where) tra_lookup_where(l, where);
    if (s->nkeys == 0 && !tra_lookup_is_banded(l)) return NULL;
    j.op.pair = tra_lookup_pair(l);
    return all_columns(&j, l, tra_join_node(&j, s, l, j.in, j.right));
}

/* ---- selections before joins ------------------------------------------------------------------------------------- */

static tra_ast *both_asts(tra_arena *a, const tra_ast *x, const tra_ast *y) {
    if (!x || !y) return (tra_ast *)(x ? x : y);
    return tra_table_ast(a, TRA_AST_BINARY, "&&", x->span, 2, (tra_ast *[]){(tra_ast *)x, (tra_ast *)y});
}

/* The operator that made n, below selections that cannot fail; *x becomes their predicates too (NULL: they are not
 * wanted). */
static const tra_table_op *below_selections(const tra_build *b, const tra_node *n, const tra_ast **x) {
    const tra_table_op *op = n->table;
    for (; op && op->op == TRA_TABLE_SELECT && !tra_table_may_fail(op->term[0].x);
         op = op->in[0]->table)
        if (x) *x = both_asts(b->arena, op->term[0].ast, *x);
    return op;
}

/* May rows of its tables be selected before this join? */
static bool passes(const tra_table_op *op) {
    const tra_lookup_spec *s = &op->lookup;
    bool pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    return op->op == TRA_TABLE_JOIN && pairs && !s->asof && !s->unique && !s->unique_left && !s->matched &&
           !s->matched_right;
}

bool tra_table_is_shared(const tra_build *b, const tra_node *n) {
    return n->name && (b->all_open || tra_names_find(&b->often, n->name) >= 0);
}

/* Is a join of which n alone is made, by selections and joins, divided? */
static bool is_divided(const tra_build *b, const tra_node *n, int *steps) {
    const tra_table_op *op = below_selections(b, n, NULL);
    if (!op || !passes(op) || tra_table_is_shared(b, n) || tra_table_is_shared(b, op->node) || --*steps < 0)
        return false;
    return op->divided || is_divided(b, op->in[0], steps) || is_divided(b, op->in[1], steps);
}

const tra_table_op *tra_join_below_group(const tra_build *b, const tra_node *n) {
    const tra_table_op *op = n->table;
    return op && passes(op) && !tra_table_is_shared(b, n) ? op : NULL;
}

/* Which tables a predicate reads: 1: the left one, 2: the right one, 3: both. */
static int sides_of(const tra_table_op *op, const tra_ast *x) {
    int side, sides = 0;
    if (x->kind == TRA_AST_NAME && x->quoted)
        return tra_join_operand_column(op, tra_schema_find(op->columns, x->text), &side) < 0 ? 3 : 1 + side;
    for (int i = 0; i < x->nkids; i++) sides |= sides_of(op, x->kids[i]);
    return sides;
}

/* A predicate on one table of the join, by the names that its columns have there. */
static tra_ast *of_operand(tra_arena *a, const tra_table_op *op, const tra_ast *x) {
    tra_ast *y = tra_table_ast_copy(a, x);
    int side;
    if (x->kind == TRA_AST_NAME && x->quoted) {
        int c = tra_join_operand_column(op, tra_schema_find(op->columns, x->text), &side);
        y->text = op->in[side]->type.columns->v[c].name;
    }
    if (x->nkids > 0) y->kids = tra_news(a, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = of_operand(a, op, x->kids[i]);
    return y;
}

/* Adds the parts of a predicate to those of the left table, of the right one, and of neither alone. */
static void part_predicate(tra_arena *a, const tra_table_op *op, const tra_ast *x, const tra_ast *v[3]) {
    if (x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0) {
        for (int i = 0; i < 2; i++) part_predicate(a, op, x->kids[i], v);
        return;
    }
    int sides = sides_of(op, x);
    bool left = sides == 1, right = sides == 2 && op->lookup.how == TRA_LOOKUP_INNER;
    int to = left ? 0 : right ? 1 : 2;
    v[to] = both_asts(a, v[to], to < 2 ? of_operand(a, op, x) : x);
}

static tra_node *selected(const tra_table_builder *w, const tra_node *n, const tra_ast *x) {
    const tra_deriving d = {.b = w->b, .call = w->call};
    return !x ? (tra_node *)n
              : tra_derive_op(&d, TRA_TABLE_SELECT, (tra_node *)n, NULL, 1, (tra_ast *[]){(tra_ast *)x});
}

tra_node *tra_table_select_below(tra_table_builder *w, const tra_table_term *t) {
    enum { MOST_STEPS = 64 };
    int steps = MOST_STEPS;
    const tra_ast *x = t->ast, *v[3] = {NULL};
    if (tra_table_may_fail(t->x) || w->nadded > 0 || !is_divided(w->b, w->in, &steps)) return NULL;
    const tra_table_op *op = below_selections(w->b, w->in, &x);
    part_predicate(w->b->arena, op, x, v);
    if (!v[0] && !v[1]) return NULL;
    tra_node *l = selected(w, op->in[0], v[0]), *r = l ? selected(w, op->in[1], v[1]) : NULL;
    tra_node *n = r ? tra_join_again(w->b, w->call, op, l, r) : NULL;
    return n ? selected(w, n, v[2]) : NULL;
}
