/* table_join_columns.c - the columns of a join: which table a name in its condition means, which conditions are keys,
 * and what columns of the right table are called whose names the left one has too. */
#include "cardinality.h"
#include "table_derived.h"

#include <string.h>

enum { EITHER = -1, LEFT, RIGHT };

/* The name of an operand of the call in the program; NULL: it has none. */
static const char *operand_name(const tra_table_builder *w, int side) {
    const tra_ast *x = w->call->kids[side];
    return x->kind == TRA_AST_NAME ? x->text : NULL;
}

static const char of_one_name[] = "both tables have one name: give one of them another before: S = T; or write a == b, "
                                  "a column of the left table and one of the right without their tables";

const char *tra_join_of_one_name(const tra_table_builder *w) {
    const char *l = operand_name(w, LEFT), *r = operand_name(w, RIGHT);
    return l && r && strcmp(l, r) == 0 ? of_one_name : NULL;
}

/* Is x of the form T.c, a column of a table? */
static bool is_qualified(const tra_ast *x) {
    return x->kind == TRA_AST_COMPOSE && x->kids[0]->kind == TRA_AST_NAME && x->kids[1]->kind == TRA_AST_NAME;
}

/* Does the column that a join has for two keys of one name have the values of the right one, in all rows? Not in those
 * that only the left table has, nor where keys of two types are equal, nor of -0.0 and 0.0. */
static bool has_values_of(const tra_table_op *op, int l, int r) {
    tra_coltype t = op->in[0]->type.columns->v[l].type;
    bool all = op->lookup.how == TRA_LOOKUP_INNER || op->lookup.how == TRA_LOOKUP_RIGHT;
    return all && t == op->in[1]->type.columns->v[r].type && !tra_coltype_is_float(t);
}

/* The column of the result of an operator that has the values of column l of its first operand or, where l is -1, of
 * column r of its second one. -1: none has. */
static int passed_on(const tra_table_op *op, int l, int r) {
    int at, side;
    if (r >= 0 && tra_lookup_shares_key(&op->lookup, r, &at)) return has_values_of(op, at, r) ? at : -1;
    for (int c = 0; c < op->columns->n; c++)
        if (at = c, tra_table_passed(op, &at, &side) && at == (side ? r : l)) return c;
    return -1;
}

/* The column of table n that has the values of T.c, where T is a table of the program that n is made of, by operators
 * that pass this column on. -1: there is none, or there are several. */
static int column_from(const tra_build *b, const tra_node *n, const tra_ast *x) {
    const tra_graph *g = b->g;
    int at = tra_names_find(&b->symbols, x->kids[0]->text);
    const tra_node *of = at >= 0 ? ((const tra_symbol *)b->symbols.value[at])->node : NULL;
    if (!of || !of->type.columns || (at = tra_schema_find(of->type.columns, x->kids[1]->text)) < 0) return -1;
    enum { NONE, SEVERAL = -1 }; /* else the number of the column, from 1 */
    int *column = tra_news(b->arena, int, g->n);
    column[of->id] = at + 1;
    for (int i = 0; i < g->ntables; i++) {
        const tra_table_op *op = g->tables[i];
        if (!op->columns || op->node == of || !op->in[0]->type.columns) continue;
        int l = column[op->in[0]->id], r = op->in[1] ? column[op->in[1]->id] : NONE;
        if (l != NONE || r != NONE)
            column[op->node->id] = l < 0 || r < 0 || (l && r) ? SEVERAL : passed_on(op, l - 1, r - 1) + 1;
    }
    return column[n->id] > 0 ? column[n->id] - 1 : -1;
}

const tra_ast *tra_table_unqualified(const tra_table_builder *w, const tra_ast *x, int from) {
    int at = is_qualified(x) ? column_from(w->b, w->in, x) : -1;
    if (at >= 0) return tra_table_name_ast(w->b->arena, w->in->type.columns->v[at].name, x->span);
    if (x->nkids <= from) return x;
    tra_ast *y = tra_new(w->b->arena, tra_ast);
    *y = *x;
    y->kids = tra_news(w->b->arena, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++)
        y->kids[i] = i < from ? x->kids[i] : (tra_ast *)tra_table_unqualified(w, x->kids[i], 0);
    return y;
}

/* Which table "L.a" or "R.b" says: LEFT or RIGHT, and *at becomes the column of it. L and R are the operands, or
 * tables that they are made of. right: the columns of R as the program has them. EITHER: it is not of this form, or
 * neither table is meant, or both. */
static int side_of(const tra_table_builder *w, const tra_schema *right, const tra_ast *x, int *at) {
    if (!is_qualified(x)) return EITHER;
    bool named_as[2], is[2];
    int found[2];
    for (int side = LEFT; side <= RIGHT; side++) {
        const char *name = operand_name(w, side);
        named_as[side] = name && strcmp(name, x->kids[0]->text) == 0;
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        const tra_schema *s = side == LEFT ? w->in->type.columns : right;
        bool named = named_as[LEFT] || named_as[RIGHT];
        found[side] = named ? tra_schema_find(s, x->kids[1]->text) : column_from(w->b, side ? w->right : w->in, x);
        is[side] = named ? named_as[side] : found[side] >= 0;
    }
    if (is[LEFT] == is[RIGHT]) return EITHER;
    *at = found[is[RIGHT]];
    return is[LEFT] ? LEFT : RIGHT;
}

int tra_join_column_of(const tra_table_builder *w, int side, const tra_ast *x) {
    const tra_node *n = side == LEFT ? w->in : w->right;
    int at = -1, said = side_of(w, w->right->type.columns, x, &at);
    if (said != EITHER) return said == side ? at : -1;
    return x->kind == TRA_AST_NAME ? tra_schema_find(n->type.columns, x->text) : -1;
}

/* How many conditions are joined by &&. */
int tra_join_count_conditions(const tra_ast *x) {
    bool both = x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0;
    return both ? tra_join_count_conditions(x->kids[0]) + tra_join_count_conditions(x->kids[1]) : 1;
}

/* Splits conditions that are joined by &&: equalities of columns become keys; *rest gets the others, joined by &&. */
void tra_join_split_conditions(tra_table_builder *w, const tra_ast *x, int *lkey, int *rkey, const tra_ast **rest) {
    if (x->kind == TRA_AST_BINARY && strcmp(x->text, "&&") == 0) {
        tra_join_split_conditions(w, x->kids[0], lkey, rkey, rest);
        tra_join_split_conditions(w, x->kids[1], lkey, rkey, rest);
        return;
    }
    bool equal = x->kind == TRA_AST_BINARY && strcmp(x->text, "==") == 0;
    int l = equal ? tra_join_column_of(w, LEFT, x->kids[0]) : -1,
        r = l >= 0 ? tra_join_column_of(w, RIGHT, x->kids[1]) : -1;
    if (equal && (l < 0 || r < 0))
        l = tra_join_column_of(w, LEFT, x->kids[1]), r = l >= 0 ? tra_join_column_of(w, RIGHT, x->kids[0]) : -1;
    if (l >= 0 && r >= 0) {
        lkey[w->op.lookup.nkeys] = l;
        rkey[w->op.lookup.nkeys++] = r;
        return;
    }
    tra_ast *kids[] = {(tra_ast *)*rest, (tra_ast *)x}, *both = NULL;
    if (*rest) both = tra_table_ast(w->b->arena, TRA_AST_BINARY, "&&", x->span, 2, kids);
    *rest = *rest ? both : x;
}

/* The name of a column with that of its table before it: with the table's number too, from 2, where that is taken. */
static const char *clear_name(tra_arena *a, const tra_lookup_spec *s, const char *table, const char *column) {
    const char *text = tra_arena_printf(a, "%s_%s", table, column);
    for (int i = 2; tra_schema_find(s->left, text) >= 0 || tra_schema_find(s->right, text) >= 0; i++)
        text = tra_arena_printf(a, "%s%d_%s", table, i, column);
    return text;
}

/* Gives columns of the right table whose names the left one has other names: with that of the table, or r_, before
 * them. The table becomes a projection of itself. */
bool tra_join_rename_clashes(tra_table_builder *w) {
    tra_build *b = w->b;
    tra_lookup_spec *s = &w->op.lookup;
    const tra_schema *r = s->right;
    const char *name = operand_name(w, RIGHT);
    int at;
    const tra_deriving d = {.b = b, .call = w->call};
    tra_ast **kids = tra_news(b->arena, tra_ast *, r->n + 1);
    bool any = false;
    for (int i = 0; i < r->n; i++) {
        kids[i] = tra_derive_name(&d, r->v[i].name);
        bool clash = tra_schema_find(s->left, r->v[i].name) >= 0 && !tra_lookup_shares_key(s, i, &at);
        any = any || clash;
        if (clash) kids[i] = tra_derive_named(&d, clear_name(b->arena, s, name ? name : "r", r->v[i].name), kids[i]);
    }
    if (!any) return true;
    w->right = tra_derive_op(&d, TRA_TABLE_PROJECT, w->right, NULL, r->n, kids);
    if (w->right) s->right = w->right->type.columns;
    return w->right != NULL;
}

/* The condition with "L.a" and "R.b" replaced by the names that these columns have in pairs. */
const tra_ast *tra_join_without_tables(const tra_table_builder *w, const tra_schema *right, const tra_ast *x) {
    int at, side = side_of(w, right, x, &at);
    if (side != EITHER && at >= 0) {
        const char *name = w->op.pair->v[side == LEFT ? at : w->in->type.columns->n + at].name;
        return tra_table_name_ast(w->b->arena, name, x->span);
    }
    if (side != EITHER)
        return tra_diag_error(w->b->d, x->span, NULL, "'%s' has no column '%s'", x->kids[0]->text, x->kids[1]->text);
    if (x->kind == TRA_AST_COMPOSE && tra_join_of_one_name(w))
        return tra_diag_error(w->b->d, x->span, of_one_name,
                              "both tables are '%s', which does not say whose column this is", operand_name(w, LEFT));
    if (x->nkids == 0) return x;
    tra_ast *y = tra_new(w->b->arena, tra_ast);
    *y = *x;
    y->kids = tra_news(w->b->arena, tra_ast *, x->nkids);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = (tra_ast *)tra_join_without_tables(w, right, x->kids[i]))) return NULL;
    return y;
}

static bool is_added(const tra_table_builder *w, const char *name) {
    int i = 0;
    while (i < w->nadded && strcmp(w->added[i], name) != 0) i++;
    return i < w->nadded;
}

/* "a, b, c" of the columns of a table. */
const char *tra_join_column_names(const tra_table_builder *w, const tra_schema *s) {
    const char *all = "";
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (!is_added(w, s->v[i].name) && n++ < 8)
            all = tra_arena_printf(w->b->arena, "%s%s%s", all, n > 1 ? ", " : "", s->v[i].name);
    return n > 8 ? tra_arena_printf(w->b->arena, "%s and %d more", all, n - 8) : all;
}
