/* table_group_joined.c - groups of the rows of a join that is several nodes, which rules do not look through (Q-9 does
 * the same with joins that are one node): the right rows are grouped by the keys of the join first, and the join has a
 * row for each of these groups in place of one for each pair. */
#include "cardinality.h"
#include "table_derived.h"
#include "table_parts.h"

#include <string.h>

typedef struct joined {
    tra_table_builder *w;
    tra_deriving d;
    tra_names taken; /* names of columns of the tables, and of keys */
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
    const tra_schema *keys = tra_table_subschema(j->w->b->arena, s->right, s->nkeys, s->rkey, false);
    return rows >= left && ROWS * tra_table_groups_expected(keys, s->nkeys, NULL, NULL, NULL, rows) <= rows;
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

static const char *new_name(joined *j, const char *what) {
    return tra_names_fresh(&j->taken, tra_arena_printf(j->w->b->arena, "%s %d", what, j->named++));
}

/* The value of x, or v where that is NULL. */
static tra_ast *or_else(const joined *j, tra_ast *x, int v) {
    return tra_derive_call(&j->d, "ifnull", 2, (tra_ast *[]){x, tra_derive_int(&j->d, v)});
}

/* f(x) as a column; returns its name. */
static const char *add(joined *j, tra_ast **list, int *n, const char *f, tra_ast *x) {
    const char *name = new_name(j, f);
    list[(*n)++] = tra_derive_named(&j->d, name, tra_derive_call(&j->d, f, x ? 1 : 0, &x));
    return name;
}

/* The number of values, or of rows, where a row without partner counts as `alone`. */
static const char *add_count(joined *j, const char *of, int alone) {
    const char *n = add(j, j->first, &j->nfirst, "count", of ? tra_derive_name(&j->d, of) : NULL);
    return add(j, j->then, &j->nthen, "sum", or_else(j, tra_derive_name(&j->d, n), alone));
}

static void add_aggregate(joined *j, const tra_table_agg *g, const tra_table_term *operand) {
    bool rows = !g->ast, mean = g->f == TRA_AGGREGATE_MEAN;
    const char *f = mean ? "sum" : tra_aggregate_text(g->f), *sum = NULL;
    const char *of = rows ? NULL : j->join->in[1]->type.columns->v[right_column(j, operand)].name;
    if (g->f != TRA_AGGREGATE_COUNT) {
        sum = add(j, j->first, &j->nfirst, f, tra_derive_name(&j->d, of));
        sum = add(j, j->then, &j->nthen, f, tra_derive_name(&j->d, sum));
    }
    tra_ast *x = sum ? tra_derive_name(&j->d, sum) : NULL, *n = NULL;
    if (!sum || mean)
        n = tra_derive_name(&j->d, add_count(j, of, rows && j->join->lookup.how == TRA_LOOKUP_LEFT ? 1 : 0));
    if (mean) x = tra_derive_binary(&j->d, "/", x, n);
    if (!x) x = or_else(j, n, 0);
    j->last[j->nlast++] = tra_derive_named(&j->d, g->name, x);
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

/* The keys of the join as those of the right groups, in which *rkey are their places. */
static tra_ast *right_keys(joined *j, const int **rkey) {
    const tra_lookup_spec *s = &j->join->lookup;
    int n, *column;
    *rkey = tra_table_different(j->w->b->arena, s->nkeys, s->rkey, &n, &column);
    tra_ast **key = tra_news(j->w->b->arena, tra_ast *, n + 1);
    for (int k = 0; k < n; k++)
        key[k] = tra_derive_named(&j->d, new_name(j, "key"), tra_derive_name(&j->d, s->right->v[column[k]].name));
    return tra_derive_ast(&j->d, TRA_AST_LIST, NULL, n, key);
}

tra_node *tra_table_group_joined(tra_table_builder *w, const tra_table_term *operand) {
    tra_arena *a = w->b->arena;
    joined j = {.w = w, .d = {.b = w->b, .call = w->call}, .taken = {.arena = a}};
    j.join = tra_join_below_group(w->b, w->in);
    if (!j.join || !can(&j, operand)) return NULL;
    const int *rkey;
    int nkeys = w->op.nterms, most = 1 + 2 * w->op.naggs;
    for (int i = 0; i < 2; i++) tra_table_note_columns(&j.taken, j.join->in[i]->type.columns);
    for (int k = 0; k < nkeys; k++) tra_names_add(&j.taken, w->op.term[k].name, NULL);
    tra_ast **key = tra_news(a, tra_ast *, nkeys + 1);
    j.first = tra_news(a, tra_ast *, most);
    j.then = tra_news(a, tra_ast *, most);
    j.last = tra_news(a, tra_ast *, most + nkeys);
    j.first[j.nfirst++] = right_keys(&j, &rkey);
    for (int k = 0; k < nkeys; k++) {
        key[k] = tra_derive_named(&j.d, w->op.term[k].name, w->op.term[k].ast);
        j.last[j.nlast++] = tra_derive_name(&j.d, w->op.term[k].name);
    }
    j.then[j.nthen++] = tra_derive_ast(&j.d, TRA_AST_LIST, NULL, nkeys, key);
    for (int i = 0; i < w->op.naggs; i++) add_aggregate(&j, &w->op.agg[i], &operand[2 * i]);
    tra_node *groups = tra_derive_op(&j.d, TRA_TABLE_GROUP, (tra_node *)j.join->in[1], NULL, j.nfirst, j.first);
    if (!groups) return NULL;
    tra_table_op again = *j.join;
    again.lookup.rkey = rkey;
    again.lookup.prefix = NULL;
    again.divided = false;
    tra_node *pairs = tra_join_again(w->b, w->call, &again, (tra_node *)j.join->in[0], groups);
    tra_node *n = tra_derive_op(&j.d, TRA_TABLE_GROUP, pairs, NULL, j.nthen, j.then);
    return tra_derive_op(&j.d, TRA_TABLE_PROJECT, n, NULL, j.nlast, j.last);
}
