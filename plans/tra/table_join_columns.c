/* table_join_columns.c - the columns of a join: which table a name in its condition means, which conditions are keys,
 * and what columns of the right table are called whose names the left one has too. */
#include "table_build.h"

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

/* Which table "L.a" or "R.b" says: LEFT or RIGHT, and *x becomes the name of the column. EITHER: it is not of this
 * form, or after a diagnostic. */
static int side_of(const tra_table_builder *w, const tra_ast **x) {
    const tra_ast *q = *x;
    if (q->kind != TRA_AST_COMPOSE || q->kids[0]->kind != TRA_AST_NAME || q->kids[1]->kind != TRA_AST_NAME)
        return EITHER;
    bool is[2];
    for (int side = LEFT; side <= RIGHT; side++) {
        const char *name = operand_name(w, side);
        is[side] = name && strcmp(name, q->kids[0]->text) == 0;
    }
    if (is[LEFT] == is[RIGHT]) return EITHER;
    *x = q->kids[1];
    return is[LEFT] ? LEFT : RIGHT;
}

int tra_join_column_of(const tra_table_builder *w, int side, const tra_ast *x) {
    int said = side_of(w, &x);
    const tra_node *n = side == LEFT ? w->in : w->right;
    return x->kind == TRA_AST_NAME && (said == EITHER || said == side) ? tra_schema_find(n->type.columns, x->text) : -1;
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

/* Is column r of the right table a key with the name of its partner, so that the two are one column of the result? */
static bool is_one_key(const tra_lookup_spec *s, int r) {
    for (int k = 0; k < s->nkeys; k++)
        if (s->rkey[k] == r && strcmp(s->left->v[s->lkey[k]].name, s->right->v[r].name) == 0) return true;
    return false;
}

/* Gives columns of the right table whose names the left one has other names: with that of the table, or r_, before
 * them. The table becomes a projection of itself. */
bool tra_join_rename_clashes(tra_table_builder *w) {
    tra_build *b = w->b;
    tra_lookup_spec *s = &w->op.lookup;
    const tra_schema *r = s->right;
    const char *name = operand_name(w, RIGHT);
    tra_ast **kids = tra_news(b->arena, tra_ast *, r->n + 1);
    bool any = false;
    kids[0] = w->call->kids[RIGHT];
    for (int i = 0; i < r->n; i++) {
        tra_ast *column = tra_table_name_ast(b->arena, r->v[i].name, w->call->span);
        bool clash = tra_schema_find(s->left, r->v[i].name) >= 0 && !is_one_key(s, i);
        any = any || clash;
        if (clash) {
            const char *text = tra_arena_printf(b->arena, "%s_%s", name ? name : "r", r->v[i].name);
            column = tra_table_ast(b->arena, TRA_AST_NAMED, text, w->call->span, 1, &column);
            column->quoted = true;
        }
        kids[1 + i] = column;
    }
    if (!any) return true;
    tra_table_builder one = {.b = b, .in = w->right, .op.op = TRA_TABLE_PROJECT};
    one.call = tra_table_ast(b->arena, TRA_AST_CALL, "project", w->call->span, r->n + 1, kids);
    w->right = tra_table_built(&one);
    if (w->right) s->right = w->right->type.columns;
    return w->right != NULL;
}

/* The condition with "L.a" and "R.b" replaced by the names that these columns have in pairs. */
const tra_ast *tra_join_without_tables(const tra_table_builder *w, const tra_schema *right, const tra_ast *x) {
    const tra_ast *column = x;
    int side = side_of(w, &column);
    if (side != EITHER) {
        const tra_schema *of = side == LEFT ? w->in->type.columns : right;
        int at = tra_schema_find(of, column->text);
        if (at >= 0) {
            const char *name = w->op.pair->v[side == LEFT ? at : w->in->type.columns->n + at].name;
            return tra_table_name_ast(w->b->arena, name, x->span);
        }
        return tra_diag_error(w->b->d, x->span, NULL, "'%s' has no column '%s'", x->kids[0]->text, column->text);
    }
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
