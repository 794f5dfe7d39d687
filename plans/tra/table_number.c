/* table_number.c - what expressions read that is no column, and becomes one: number(keys), the number of the group of
 * each row, groups being in the order of keys.
 *
 * The keys become columns. The groups by these are a table, in which the number of a row is the number of the group;
 * each row of the operand finds its group there by a join.
 */
#include "table_derived.h"

#include <string.h>

/* The operand with the keys of a number(..) call as further columns, which are its last ones and have these names. */
static tra_node *with_keys(const tra_table_builder *w, const tra_ast *call, const char **key) {
    const tra_schema *s = w->in->type.columns;
    tra_table_builder one = {
        .b = w->b, .call = w->call, .in = w->in, .in_name = w->in_name, .op.op = TRA_TABLE_PROJECT};
    for (int i = 0; i < s->n; i++)
        if (!tra_table_add_term(&one, tra_table_name_ast(w->b->arena, s->v[i].name, call->span))) return NULL;
    for (int k = 0; k < call->nkids; k++) {
        tra_ast *x = tra_table_ast(w->b->arena, TRA_AST_NAMED, key[k], call->span, 1, &call->kids[k]);
        x->quoted = true;
        if (!tra_table_add_term(&one, x)) return NULL;
    }
    return tra_table_project(&one);
}

/* The groups by these columns: group(keyed, [key...]). */
static tra_node *groups_of(const tra_table_builder *w, tra_node *keyed, const tra_ast *call, const char **key) {
    const tra_deriving d = {.b = w->b, .call = call};
    tra_ast *list = tra_derive_ast(&d, TRA_AST_LIST, NULL, call->nkids, call->kids);
    for (int k = 0; k < call->nkids; k++) list->kids[k] = tra_derive_name(&d, key[k]);
    return tra_derive_op(&d, TRA_TABLE_GROUP, keyed, NULL, 1, &list);
}

/* Adds a column of that name with the numbers of a number(..) call to w->in. */
static bool add_number(tra_table_builder *w, const tra_ast *call, const char *name) {
    int nkeys = call->nkids, *lkey = tra_news(w->b->arena, int, nkeys + 1),
        *rkey = tra_news(w->b->arena, int, nkeys + 1);
    const char **key = tra_news(w->b->arena, const char *, nkeys + 1);
    if (nkeys == 0)
        return tra_table_refuse(w, call, "number has the keys of groups, number(a, b), and here it has none");
    for (int k = 0; k < nkeys; k++) {
        key[k] = tra_arena_printf(w->b->arena, "%s key %d", name, k);
        lkey[k] = w->in->type.columns->n + k;
        rkey[k] = k;
    }
    tra_node *keyed = with_keys(w, call, key);
    tra_node *groups = keyed ? groups_of(w, keyed, call, key) : NULL;
    if (!groups) return false;
    tra_table_builder both = {.b = w->b, .call = w->call, .in = keyed, .right = groups, .op.op = TRA_TABLE_JOIN};
    w->in = tra_table_join_row_number(&both, nkeys, lkey, rkey, name);
    return w->in != NULL;
}

/* A copy of the tree in which number(..) calls are replaced by the names of columns, *n of which there are so far. */
static tra_ast *replace_calls(tra_table_builder *w, const tra_ast *x, int *n) {
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "number") == 0) {
        const char *name = tra_arena_printf(w->b->arena, "number %d", (*n)++);
        return add_number(w, x, name) ? tra_table_name_ast(w->b->arena, name, x->span) : NULL;
    }
    tra_ast *y = tra_table_ast_copy(w->b->arena, x);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = replace_calls(w, x->kids[i], n))) return NULL;
    return y;
}

bool tra_table_build_numbers(tra_table_builder *w) {
    tra_ast *call = tra_table_ast_copy(w->b->arena, w->call);
    int n = 0;
    if (!w->own_columns) w->own_columns = w->in->type.columns->n;
    for (int i = 1; i < call->nkids; i++)
        if (!(call->kids[i] = replace_calls(w, call->kids[i], &n))) return false;
    if (n > 0) w->call = call;
    return true;
}

/* ---- keys of order and distinct that are computed --------------------------------------------------------------- */

/* Replaces each key that is computed by the name of a column that it adds to w->in. */
static bool build_keys(tra_table_builder *w) {
    const tra_ast *list = w->call->nkids == 2 && w->call->kids[1]->kind == TRA_AST_LIST ? w->call->kids[1] : NULL;
    tra_ast *keys = list ? tra_table_ast_copy(w->b->arena, list) : NULL,
            *call = tra_table_ast_copy(w->b->arena, w->call), *computed = tra_table_ast_copy(w->b->arena, w->call);
    const char **name = tra_news(w->b->arena, const char *, list ? list->nkids + 1 : 1);
    computed->nkids = 0;
    computed->kids = tra_news(w->b->arena, tra_ast *, list ? list->nkids + 1 : 1);
    for (int i = 0; list && i < list->nkids; i++) {
        bool desc = list->kids[i]->kind == TRA_AST_DESC;
        tra_ast *x = desc ? list->kids[i]->kids[0] : list->kids[i];
        if (x->kind != TRA_AST_CALL && x->kind != TRA_AST_UNARY && x->kind != TRA_AST_BINARY) continue;
        int k = computed->nkids++;
        name[k] = tra_arena_printf(w->b->arena, "key %d", k);
        name[k] = tra_table_free_name(w->b->arena, w->in->type.columns, name[k]);
        tra_table_note_added(w, name[k]);
        computed->kids[k] = x;
        keys->kids[i] = tra_table_name_ast(w->b->arena, name[k], x->span);
        if (!desc) continue;
        tra_ast *down = tra_table_ast_copy(w->b->arena, list->kids[i]);
        down->kids[0] = keys->kids[i];
        keys->kids[i] = down;
    }
    if (computed->nkids == 0) return true;
    call->kids[1] = keys;
    w->in = with_keys(w, computed, name);
    w->call = call;
    return w->in != NULL;
}

tra_node *tra_table_order_by(tra_table_builder *w) { return build_keys(w) ? tra_table_order(w) : NULL; }
