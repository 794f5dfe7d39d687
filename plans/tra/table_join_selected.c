/* table_join_selected.c - selections of all pairs of rows, as a program in the manner of SQL has them: where a
 * predicate compares columns of both tables it is a join, which makes no pairs that cannot be selected. */
#include "cardinality.h"
#include "table_build.h"
#include "table_parts.h"

/* May computing it, or a part of it, fail, or count rows? */
static bool may_fail(const tra_colexpr *x) {
    bool fails = x->fails || (x->nkids == 0 && x->op != TRA_C_COLUMN && x->op != TRA_C_CONST);
    for (int i = 0; i < x->nkids && !fails; i++) fails = may_fail(x->kids[i]);
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
            if (c == s->left->n + s->rkey[k] && tra_join_shares_key(s, s->rkey[k], &from)) break;
        for (int i = 0; i < out->n; i++)
            if (tra_lookup_from(l)[i] == from) tra_projection_add(&p, pair->v[c].name, tra_colexpr_column(a, out, i));
    }
    return tra_table_columns(w, n, &p);
}

tra_node *tra_table_join_selected(tra_table_builder *w, const tra_colexpr *x, const tra_colexpr **rest) {
    enum { FEW = 64 }; /* rows of a right table that all pairs may be made of */
    const tra_table_op *cross = tra_table_op_of(w->b->g, w->in);
    const tra_colexpr *where = NULL;
    *rest = NULL;
    if (!cross || cross->op != TRA_TABLE_CROSS || may_fail(x)) return NULL;
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
