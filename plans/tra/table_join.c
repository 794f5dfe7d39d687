/* table_join.c - join and cross: the rows of each block of the left table find their partners in all of the right
 * one. */
#include "table.h"

#include <string.h>

/* The number of the column that a side of an equality names, or -1. */
static int column_of(const tra_schema *s, const tra_ast *x) {
    return x->kind == TRA_AST_NAME ? tra_schema_find(s, x->text) : -1;
}

static int conditions(const tra_ast *x) {
    bool both = x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0;
    return both ? conditions(x->kids[0]) + conditions(x->kids[1]) : 1;
}

/* The conditions joined by &&: equalities of columns are keys, the others stay. */
static bool split(tra_table_builder *w, const tra_ast *x, int *lkey, int *rkey, const tra_ast **rest) {
    if (x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0)
        return split(w, x->kids[0], lkey, rkey, rest) && split(w, x->kids[1], lkey, rkey, rest);
    bool equal = x->kind == TRA_AST_BINARY && strcmp(x->text, "==") == 0;
    int l = equal ? column_of(w->in->type.columns, x->kids[0]) : -1;
    int r = equal ? column_of(w->right->type.columns, x->kids[1]) : -1;
    if (l >= 0 && r >= 0) {
        lkey[w->op.lookup.nkeys] = l;
        rkey[w->op.lookup.nkeys++] = r;
        return true;
    }
    tra_ast *both = tra_new(w->b->arena, tra_ast);
    *both = (tra_ast){.kind = TRA_AST_BINARY, .span = x->span, .name_span = x->span, .text = "&&", .nkids = 2};
    both->kids = tra_news(w->b->arena, tra_ast *, 2);
    both->kids[0] = (tra_ast *)*rest;
    both->kids[1] = (tra_ast *)x;
    *rest = *rest ? both : x;
    return true;
}

static bool one_of(tra_table_builder *w, const tra_ast *x, int n, const char *const *words, int *at) {
    bool word = x->kind == TRA_AST_NAME || x->kind == TRA_AST_STRING;
    tra_str all = {0};
    for (*at = 0; *at < n; ++*at) {
        if (word && strcmp(words[*at], x->text) == 0) return tra_str_free(&all), true;
        tra_str_printf(&all, "%s%s", *at ? ", " : "", words[*at]);
    }
    tra_diag_error(w->b->d, x->span, NULL, "one of %s is expected here", tra_str_get(&all));
    tra_str_free(&all);
    return false;
}

static bool join_options(tra_table_builder *w, int from) {
    static const char *const names[] = {"how", "prefix", "expect", "matched", "nulls"};
    static const char *const how[] = {"inner", "left", "semi", "anti"}, *const expect[] = {"m:1"};
    static const char *const matched[] = {"left"}, *const nulls[] = {"match"};
    const tra_ast *v[5] = {NULL};
    tra_lookup_spec *s = &w->op.lookup;
    int at;
    bool cross = w->op.op == TRA_TABLE_CROSS;
    if (!tra_table_named(w, from, cross ? 2 : 5, names, v)) return false;
    if (v[0] && cross) return tra_table_refuse(w, v[0], "cross has no argument 'how'"), false;
    if (v[0]) {
        if (!one_of(w, v[0], 4, how, &at)) return false;
        s->how = (tra_lookup_how)at;
    }
    if (v[1] && v[1]->kind != TRA_AST_STRING) return tra_table_refuse(w, v[1], "a prefix is a string: \"p_\""), false;
    if (v[1]) s->prefix = v[1]->text;
    if (v[2] && !one_of(w, v[2], 1, expect, &at)) return false;
    if (v[3] && !one_of(w, v[3], 1, matched, &at)) return false;
    if (v[4] && !one_of(w, v[4], 1, nulls, &at)) return false;
    s->unique = v[2] != NULL;
    s->matched = v[3] != NULL;
    s->nulls_match = v[4] != NULL;
    return true;
}

static const char *join_text(const tra_table_builder *w) {
    const tra_lookup_spec *s = &w->op.lookup;
    tra_str t = {0};
    tra_str_printf(&t, "%s(", tra_table_op_text(w->op.op));
    for (int i = 0; i < s->nkeys; i++) {
        if (i) tra_str_add(&t, " && ");
        tra_name_print(s->left->v[s->lkey[i]].name, &t);
        tra_str_add(&t, " == ");
        tra_name_print(s->right->v[s->rkey[i]].name, &t);
    }
    if (w->op.where) {
        if (s->nkeys) tra_str_add(&t, " && ");
        tra_ast_print(w->op.where, &t);
    }
    if (s->how) tra_str_printf(&t, ", how = %s", tra_table_how_text(s->how));
    if (s->prefix) tra_str_printf(&t, ", prefix = \"%s\"", s->prefix);
    if (s->unique) tra_str_add(&t, ", expect = \"m:1\"");
    if (s->matched) tra_str_add(&t, ", matched = left");
    if (s->nulls_match) tra_str_add(&t, ", nulls = match");
    tra_str_add(&t, ")");
    const char *text = tra_arena_strndup(w->b->arena, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

const char *tra_table_how_text(tra_lookup_how how) {
    static const char *const texts[] = {
#define X(name, text) text,
        TRA_LOOKUPS(X)
#undef X
    };
    return texts[how];
}

/* So many rows at most come of one on the left. */
static tra_node *lookup_node(tra_table_builder *w, tra_lookup *l) {
    const tra_lookup_spec *s = &w->op.lookup;
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, one = s->unique || filters;
    bool all = s->how == TRA_LOOKUP_LEFT || (s->matched && !w->op.where);
    tra_node *right = tra_table_whole(w, w->right, 0);
    if (!right) return NULL;
    double rows = (double)tra_max64(1, right->type.cat->bound.v[0]);
    tra_node fields = {.in = {w->in, right}};
    fields.kernel = tra_kernel_of_rows(w->b->arena, &(tra_rows_kernel){.text = join_text(w),
                                                                       .use = TRA_USE_JOIN,
                                                                       .columns = tra_lookup_out(l),
                                                                       .dtype = TRA_F64,
                                                                       .rows = one       ? TRA_ROWS_SAME
                                                                               : !s->how ? TRA_ROWS_PRODUCT
                                                                                         : TRA_ROWS_OUTER,
                                                                       .counts = !(one && all && !filters),
                                                                       .share = one || !s->nkeys ? 1 : 1 / rows,
                                                                       .flops = 20,
                                                                       .ops = &tra_lookup_ops,
                                                                       .data = l});
    tra_node *n = tra_table_make(w->b, TRA_OP_JOIN, w->call->span, &fields);
    if (n) n->rows = n->type.bounded ? tra_table_rows_of(w->b, n) : NULL;
    return n;
}

tra_node *tra_table_join(tra_table_builder *w) {
    bool cross = w->op.op == TRA_TABLE_CROSS;
    const tra_ast *rest = NULL, *cond = !cross && w->call->nkids > 2 ? w->call->kids[2] : NULL;
    tra_lookup *l;
    tra_err e = {0};
    if (!cross && (!cond || cond->kind == TRA_AST_NAMED))
        return tra_table_refuse(w, w->call, "join has two tables and a condition"), NULL;
    int most = cond ? conditions(cond) : 0;
    int *lkey = tra_news(w->b->arena, int, most + 1), *rkey = tra_news(w->b->arena, int, most + 1);
    tra_lookup_spec *s = &w->op.lookup;
    *s = (tra_lookup_spec){.left = w->in->type.columns, .right = w->right->type.columns, .lkey = lkey, .rkey = rkey};
    if (!join_options(w, cross ? 2 : 3) || (cond && !split(w, cond, lkey, rkey, &rest))) return NULL;
    if (!cross && s->nkeys == 0) {
        tra_diag_error(w->b->d, cond->span, "write L's column == R's column, or cross(L, R) and select",
                       "no part of this condition is an equality of a column of the left table and one of the right");
        return NULL;
    }
    if (tra_lookup_new(w->b->arena, s, &l, &e) != TRA_OK) {
        tra_diag_error(w->b->d, cond ? cond->span : w->call->span, NULL, "%s", e.msg);
        return NULL;
    }
    w->op.pair = tra_lookup_pair(l);
    if (rest) {
        tra_table_scope sc = {w->b, w->op.pair, "the pair of rows", false};
        tra_table_term where;
        if (!tra_table_predicate(&sc, rest, &where)) return NULL;
        tra_lookup_where(l, where.x);
        w->op.where = where.ast;
    }
    return tra_table_note(w, lookup_node(w, l));
}
