/* table_group_joined.c - groups of the rows of a join that is several nodes, which rules do not look through (Q-9 does
 * the same with joins that are one node): the right rows are grouped by the keys of the join first, and the join has a
 * row for each of these groups in place of one for each pair. */
#include "cardinality.h"
#include "table_build.h"
#include "table_parts.h"

#include <string.h>

typedef struct joined {
    tra_table_builder *w;
    const tra_table_op *join;
    tra_ast **first, **then, **last; /* arguments: of the right table's group, of the pairs' group, of the projection */
    int nfirst, nthen, nlast, named;
} joined;

/* ---- what can be grouped so -------------------------------------------------------------------------------------- */

/* The column of the right table that an aggregate takes; -1: it takes something else. */
static int right_column(const joined *j, const tra_table_term *operand) {
    int side = 0, c = operand->x && operand->x->op == TRA_C_COLUMN ? operand->x->column : -1;
    c = c < 0 ? -1 : tra_join_operand_column(j->join, c, &side);
    return side == 1 ? c : -1;
}

/* Can the aggregate be made of those of groups? Sums of i64 may fail in groups that have no partner. */
static bool is_made_of_groups(const joined *j, const tra_table_agg *g, const tra_table_term *operand) {
    if (g->f == TRA_AGGREGATE_COUNT && !g->ast) return true;
    int c = right_column(j, operand);
    if (c < 0) return false;
    tra_coltype t = j->join->in[1]->type.columns->v[c].type;
    if (g->f == TRA_AGGREGATE_SUM) return t != TRA_COL_I64;
    if (g->f == TRA_AGGREGATE_MEAN) return tra_coltype_is_float(t);
    return g->f == TRA_AGGREGATE_COUNT || tra_aggregate_way_of(g->f) == TRA_WAY_EXTREME;
}

/* Is column c of the left table a key of the groups? */
static bool is_key(const tra_table_builder *w, int c) {
    for (int k = 0; k < w->op.nterms; k++)
        if (w->op.term[k].x->op == TRA_C_COLUMN && w->op.term[k].x->column == c) return true;
    return false;
}

static bool reads_left_alone(const tra_table_op *join, const tra_colexpr *x) {
    int side;
    if (x->op == TRA_C_COLUMN) return tra_join_operand_column(join, x->column, &side) >= 0 && side == 0;
    for (int i = 0; i < x->nkids; i++)
        if (!reads_left_alone(join, x->kids[i])) return false;
    return true;
}

/* Is the right table the larger one, and does it have several rows for each of its keys? */
static bool is_worth_it(const joined *j) {
    enum { ROWS = 2 }; /* of a group, at least */
    const tra_lookup_spec *s = &j->join->lookup;
    double left = tra_type_entries(&j->join->in[0]->type).expected,
           rows = tra_type_entries(&j->join->in[1]->type).expected;
    tra_column *key = tra_news(j->w->b->arena, tra_column, s->nkeys);
    const tra_schema keys = {s->nkeys, key};
    for (int k = 0; k < s->nkeys; k++) key[k] = s->right->v[s->rkey[k]];
    return rows >= left && ROWS * tra_table_groups_expected(&keys, s->nkeys, NULL, rows) <= rows;
}

/* Does the group have all keys of the join, each of the left table, and aggregates of right columns? */
static bool can(const joined *j, const tra_table_term *operand) {
    const tra_table_builder *w = j->w;
    const tra_table_op *join = j->join;
    const tra_lookup_spec *s = &join->lookup;
    if (!join->divided || join->where || s->nkeys == 0 || w->nadded > 0) return false;
    for (int k = 0; k < s->nkeys; k++) {
        const tra_column *l = &s->left->v[s->lkey[k]], *r = &s->right->v[s->rkey[k]];
        if (l->fails || r->fails || tra_coltype_is_float(l->type) || tra_coltype_is_float(r->type)) return false;
        if (!is_key(w, s->lkey[k])) return false;
    }
    for (int k = 0; k < w->op.nterms; k++)
        if (!reads_left_alone(join, w->op.term[k].x)) return false;
    for (int i = 0; i < w->op.naggs; i++)
        if (!is_made_of_groups(j, &w->op.agg[i], &operand[2 * i])) return false;
    return is_worth_it(j);
}

/* ---- syntax ------------------------------------------------------------------------------------------------------ */

static tra_ast *call(const joined *j, const char *f, int n, tra_ast *const *args) {
    return tra_table_ast(j->w->b->arena, TRA_AST_CALL, f, j->w->call->span, n, args);
}

static tra_ast *named(const joined *j, const char *name, const tra_ast *x) {
    return tra_table_named_ast(j->w->b->arena, name, x, x->span);
}

static tra_ast *column(const joined *j, const char *name) {
    return tra_table_name_ast(j->w->b->arena, name, j->w->call->span);
}

static tra_ast *number(const joined *j, const char *text) {
    tra_ast *x = tra_table_ast(j->w->b->arena, TRA_AST_NUMBER, text, j->w->call->span, 0, NULL);
    x->integer = true;
    return x;
}

/* A name that no column of the tables, and no key, has. */
static const char *new_name(joined *j, const char *what) {
    const tra_table_op *join = j->join;
    const char *name;
    do name = tra_arena_printf(j->w->b->arena, "%s %d", what, j->named++);
    while (tra_schema_find(join->in[0]->type.columns, name) >= 0 ||
           tra_schema_find(join->in[1]->type.columns, name) >= 0 || tra_names_find(&j->w->terms, name) >= 0);
    return name;
}

/* f(x) as a column; returns its name. */
static const char *add(joined *j, tra_ast **list, int *n, const char *f, tra_ast *x) {
    const char *name = new_name(j, f);
    list[(*n)++] = named(j, name, call(j, f, x ? 1 : 0, &x));
    return name;
}

/* The number of values, or of rows, where a row without partner counts as `alone`. */
static const char *add_count(joined *j, const char *of, const char *alone) {
    const char *n = add(j, j->first, &j->nfirst, "count", of ? column(j, of) : NULL);
    return add(j, j->then, &j->nthen, "sum", call(j, "ifnull", 2, (tra_ast *[]){column(j, n), number(j, alone)}));
}

static void add_aggregate(joined *j, const tra_table_agg *g, const tra_table_term *operand) {
    bool rows = !g->ast, mean = g->f == TRA_AGGREGATE_MEAN;
    const char *f = mean ? "sum" : tra_aggregate_text(g->f), *sum = NULL;
    const char *of = rows ? NULL : j->join->in[1]->type.columns->v[right_column(j, operand)].name;
    if (g->f != TRA_AGGREGATE_COUNT) {
        sum = add(j, j->first, &j->nfirst, f, column(j, of));
        sum = add(j, j->then, &j->nthen, f, column(j, sum));
    }
    tra_ast *x = sum ? column(j, sum) : NULL, *n = NULL;
    if (!sum || mean) n = column(j, add_count(j, of, rows && j->join->lookup.how == TRA_LOOKUP_LEFT ? "1" : "0"));
    if (mean) x = tra_table_ast(j->w->b->arena, TRA_AST_BINARY, "/", j->w->call->span, 2, (tra_ast *[]){x, n});
    if (!x) x = call(j, "ifnull", 2, (tra_ast *[]){n, number(j, "0")});
    j->last[j->nlast++] = named(j, g->name, x);
}

static tra_node *built(const joined *j, tra_table_opcode op, tra_node *in, int n, tra_ast *const *args) {
    tra_table_builder one = {.b = j->w->b, .in = in, .op.op = op};
    one.call = call(j, tra_table_op_text(op), n, args);
    return in ? tra_table_built(&one) : NULL;
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

/* The keys of the join as those of the right groups; a column that is two of them is there once. */
static tra_ast *right_keys(joined *j, int *rkey) {
    const tra_lookup_spec *s = &j->join->lookup;
    tra_ast **key = tra_news(j->w->b->arena, tra_ast *, s->nkeys + 1);
    int n = 0;
    for (int k = 0; k < s->nkeys; k++) {
        const char *name = s->right->v[s->rkey[k]].name;
        for (rkey[k] = 0; rkey[k] < n && strcmp(key[rkey[k]]->kids[0]->text, name) != 0;) rkey[k]++;
        if (rkey[k] == n) key[n++] = named(j, new_name(j, "key"), column(j, name));
    }
    return tra_table_ast(j->w->b->arena, TRA_AST_LIST, NULL, j->w->call->span, n, key);
}

tra_node *tra_table_group_joined(tra_table_builder *w, const tra_table_term *operand) {
    tra_arena *a = w->b->arena;
    joined j = {.w = w, .join = tra_join_below_group(w->b, w->in)};
    if (!j.join || !can(&j, operand)) return NULL;
    int nkeys = w->op.nterms, most = 2 + 2 * w->op.naggs;
    int *rkey = tra_news(a, int, j.join->lookup.nkeys + 1);
    tra_ast **key = tra_news(a, tra_ast *, nkeys + 1);
    j.first = tra_news(a, tra_ast *, most);
    j.then = tra_news(a, tra_ast *, most);
    j.last = tra_news(a, tra_ast *, most + nkeys);
    j.first[j.nfirst++] = j.then[j.nthen++] = j.last[j.nlast++] = w->call->kids[0];
    j.first[j.nfirst++] = right_keys(&j, rkey);
    for (int k = 0; k < nkeys; k++) {
        key[k] = named(&j, w->op.term[k].name, w->op.term[k].ast);
        j.last[j.nlast++] = column(&j, w->op.term[k].name);
    }
    j.then[j.nthen++] = tra_table_ast(a, TRA_AST_LIST, NULL, w->call->span, nkeys, key);
    for (int i = 0; i < w->op.naggs; i++) add_aggregate(&j, &w->op.agg[i], &operand[2 * i]);
    tra_node *groups = built(&j, TRA_TABLE_GROUP, (tra_node *)j.join->in[1], j.nfirst, j.first);
    if (!groups) return NULL;
    tra_table_op again = *j.join;
    again.lookup.rkey = rkey;
    again.lookup.prefix = NULL;
    again.divided = false;
    tra_node *pairs = tra_join_again(w->b, w->call, &again, (tra_node *)j.join->in[0], groups);
    tra_node *n = built(&j, TRA_TABLE_GROUP, pairs, j.nthen, j.then);
    return built(&j, TRA_TABLE_PROJECT, n, j.nlast, j.last);
}
