/* table_number.c - what expressions read that is no column, and becomes one: number(keys), the number of the group of
 * each row, groups being in the order of keys; and the counter of a loop.
 *
 * The keys become columns. The groups by these are a table, in which the number of a row is the number of the group;
 * each row of the operand finds its group there by a join.
 */
#include "table_build.h"

#include <string.h>

/* A copy of the node of the tree, whose list of children may be changed. */
static tra_ast *copy_of(const tra_table_builder *w, const tra_ast *x) {
    tra_ast *y = tra_new(w->b->arena, tra_ast);
    *y = *x;
    y->kids = tra_news(w->b->arena, tra_ast *, x->nkids + 1);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = x->kids[i];
    return y;
}

/* The operand with the keys of a number(..) call as further columns, which are its last ones and have these names. */
static tra_node *with_keys(const tra_table_builder *w, const tra_ast *call, const char **key) {
    const tra_schema *s = w->in->type.columns;
    tra_table_builder one = {
        .b = w->b, .call = w->call, .in = w->in, .in_name = w->in_name, .op.op = TRA_TABLE_PROJECT};
    for (int i = 0; i < s->n; i++)
        if (!tra_table_add_term(&one, tra_table_name_ast(w->b->arena, s->v[i].name, call->span))) return NULL;
    for (int k = 0; k < call->nkids; k++) {
        tra_ast *x = copy_of(w, tra_table_name_ast(w->b->arena, key[k], call->span));
        x->kind = TRA_AST_NAMED;
        x->nkids = 1;
        x->kids[0] = call->kids[k];
        if (!tra_table_add_term(&one, x)) return NULL;
    }
    return tra_table_project(&one);
}

/* The groups by these columns: group(keyed, [key...]). */
static tra_node *groups_of(const tra_table_builder *w, tra_node *keyed, const tra_ast *call, const char **key) {
    tra_table_builder one = {.b = w->b, .in = keyed, .op.op = TRA_TABLE_GROUP};
    tra_ast *list = copy_of(w, call), *group = tra_new(w->b->arena, tra_ast);
    list->kind = TRA_AST_LIST;
    for (int k = 0; k < call->nkids; k++) list->kids[k] = tra_table_name_ast(w->b->arena, key[k], call->span);
    *group = *call;
    group->text = "group";
    group->nkids = 2;
    group->kids = tra_news(w->b->arena, tra_ast *, 2);
    group->kids[0] = tra_table_name_ast(w->b->arena, "", call->span);
    group->kids[1] = list;
    one.call = group;
    return tra_table_group(&one);
}

/* Adds a column of that name with the numbers of a number(..) call to w->in. */
static bool add_number(tra_table_builder *w, const tra_ast *call, const char *name) {
    int nkeys = call->nkids, *lkey = tra_news(w->b->arena, int, nkeys + 1),
        *rkey = tra_news(w->b->arena, int, nkeys + 1);
    const char **key = tra_news(w->b->arena, const char *, nkeys + 1);
    if (nkeys == 0)
        return tra_table_refuse(w, call, "number has the keys of groups, number(a, b), and here it has none"), false;
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
    tra_ast *y = copy_of(w, x);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = replace_calls(w, x->kids[i], n))) return NULL;
    return y;
}

bool tra_table_build_numbers(tra_table_builder *w) {
    tra_ast *call = copy_of(w, w->call);
    int n = 0;
    if (!w->own_columns) w->own_columns = w->in->type.columns->n;
    for (int i = 1; i < call->nkids; i++)
        if (!(call->kids[i] = replace_calls(w, call->kids[i], &n))) return false;
    if (n > 0) w->call = call;
    return true;
}

/* ---- counters of loops ------------------------------------------------------------------------------------------- */

/* The counter that a name stands for where no column has it; NULL: none. */
static const tra_symbol *counter_of(const tra_table_builder *w, const tra_ast *x) {
    if (x->kind != TRA_AST_NAME || x->quoted || tra_schema_find(w->in->type.columns, x->text) >= 0) return NULL;
    int at = tra_names_find(&w->b->symbols, x->text);
    const tra_symbol *s = at >= 0 ? w->b->symbols.value[at] : NULL;
    return s && s->param && s->node && s->seen ? s : NULL;
}

/* cross(w->in, T), T being the row of the counter, in a column of that name. */
static tra_node *with_counter(const tra_table_builder *w, const tra_symbol *counter, const char *name,
                              const tra_ast *at) {
    tra_ast *call = copy_of(w, w->call), *named = copy_of(w, w->call);
    tra_table_builder one = {.b = w->b, .call = call, .in = counter->node, .op.op = TRA_TABLE_ENTRIES};
    call->text = "entries";
    call->nkids = 1;
    tra_table_builder row = {.b = w->b, .call = w->call, .in = tra_table_of_tensor(&one), .op.op = TRA_TABLE_PROJECT};
    named->kind = TRA_AST_NAMED;
    named->text = name;
    named->nkids = 1;
    named->kids = tra_new(w->b->arena, tra_ast *);
    named->kids[0] = tra_table_name_ast(w->b->arena, "value", at->span);
    if (!row.in || !tra_table_add_term(&row, named)) return NULL;
    tra_ast *cross = copy_of(w, w->call);
    cross->text = "cross";
    cross->nkids = 2;
    cross->kids = tra_news(w->b->arena, tra_ast *, 2);
    for (int i = 0; i < 2; i++) cross->kids[i] = tra_table_name_ast(w->b->arena, name, at->span);
    tra_table_builder both = {.b = w->b,
                              .call = cross,
                              .in = w->in,
                              .right = tra_table_project(&row),
                              .in_name = w->in_name,
                              .op.op = TRA_TABLE_CROSS};
    return both.right ? tra_table_join(&both) : NULL;
}

static tra_ast *replace_counters(tra_table_builder *w, const tra_ast *x) {
    const tra_symbol *counter = counter_of(w, x);
    if (counter) {
        const char *name = tra_arena_printf(w->b->arena, "turn %s", x->text);
        if (!w->own_columns) w->own_columns = w->in->type.columns->n;
        bool there = tra_schema_find(w->in->type.columns, name) >= 0;
        if (!there && !(w->in = with_counter(w, counter, name, x))) return NULL;
        ((tra_symbol *)counter)->used = true;
        return tra_table_name_ast(w->b->arena, name, x->span);
    }
    tra_ast *y = copy_of(w, x);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = replace_counters(w, x->kids[i]))) return NULL;
    return y;
}

bool tra_table_build_counters(tra_table_builder *w) {
    tra_ast *call = copy_of(w, w->call);
    for (int i = 1; i < call->nkids; i++)
        if (!(call->kids[i] = replace_counters(w, call->kids[i]))) return false;
    if (w->own_columns) w->call = call;
    return true;
}

tra_node *tra_table_without_counters(const tra_table_builder *w, tra_node *n) {
    tra_table_builder one = {.b = w->b, .call = w->call, .in = n, .op.op = TRA_TABLE_PROJECT};
    for (int i = 0; i < w->own_columns; i++) {
        const char *name = n->type.columns->v[i].name;
        if (!tra_table_add_term(&one, tra_table_name_ast(w->b->arena, name, w->call->span))) return NULL;
    }
    return tra_table_project(&one);
}

/* ---- keys of order and distinct that are computed --------------------------------------------------------------- */

/* Replaces each key that is computed by the name of a column that it adds to w->in. */
static bool build_keys(tra_table_builder *w) {
    const tra_ast *list = w->call->nkids == 2 && w->call->kids[1]->kind == TRA_AST_LIST ? w->call->kids[1] : NULL;
    tra_ast *keys = list ? copy_of(w, list) : NULL, *call = copy_of(w, w->call), *computed = copy_of(w, w->call);
    const char **name = tra_news(w->b->arena, const char *, list ? list->nkids + 1 : 1);
    int own = w->own_columns ? w->own_columns : w->in->type.columns->n;
    computed->nkids = 0;
    computed->kids = tra_news(w->b->arena, tra_ast *, list ? list->nkids + 1 : 1);
    for (int i = 0; list && i < list->nkids; i++) {
        bool desc = list->kids[i]->kind == TRA_AST_DESC;
        tra_ast *x = desc ? list->kids[i]->kids[0] : list->kids[i];
        if (x->kind != TRA_AST_CALL && x->kind != TRA_AST_UNARY && x->kind != TRA_AST_BINARY) continue;
        int k = computed->nkids++;
        name[k] = tra_arena_printf(w->b->arena, "key %d", k);
        computed->kids[k] = x;
        keys->kids[i] = tra_table_name_ast(w->b->arena, name[k], x->span);
        if (!desc) continue;
        tra_ast *down = copy_of(w, list->kids[i]);
        down->kids[0] = keys->kids[i];
        keys->kids[i] = down;
    }
    if (computed->nkids == 0) return true;
    w->own_columns = own;
    call->kids[1] = keys;
    w->in = with_keys(w, computed, name);
    w->call = call;
    return w->in != NULL;
}

tra_node *tra_table_order_by(tra_table_builder *w) {
    if (!tra_table_build_counters(w) || !build_keys(w)) return NULL;
    tra_node *n = tra_table_order(w);
    return n && w->own_columns ? tra_table_without_counters(w, n) : n;
}
