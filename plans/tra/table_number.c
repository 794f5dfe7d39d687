/* table_number.c - number(keys): the groups of a table are numbered in the order of their keys, its rows stay.
 *
 * The keys become columns; the groups of these, in order, are a table of which the number of a row is the number of the
 * group; each row finds its group by a lookup.
 */
#include "table.h"

#include <string.h>

static tra_ast *copy_of(const tra_table_builder *w, const tra_ast *x) {
    tra_ast *y = tra_new(w->b->arena, tra_ast);
    *y = *x;
    y->kids = tra_news(w->b->arena, tra_ast *, x->nkids + 1);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = x->kids[i];
    return y;
}

static tra_ast *name_of(const tra_table_builder *w, const tra_ast *at, const char *name) {
    tra_ast *x = tra_new(w->b->arena, tra_ast);
    *x = (tra_ast){.kind = TRA_AST_NAME, .span = at->span, .name_span = at->span, .text = name, .quoted = true};
    return x;
}

/* The table with the keys as further columns, which are its last ones. */
static tra_node *with_keys(const tra_table_builder *w, const tra_ast *call, const char **key) {
    const tra_schema *s = w->in->type.columns;
    tra_table_builder one = {.b = w->b, .call = w->call, .in = w->in, .of = w->of, .op.op = TRA_TABLE_PROJECT};
    for (int i = 0; i < s->n; i++)
        if (!tra_table_add(&one, name_of(w, call, s->v[i].name))) return NULL;
    for (int k = 0; k < call->nkids; k++) {
        tra_ast *x = copy_of(w, name_of(w, call, key[k]));
        x->kind = TRA_AST_NAMED;
        x->nkids = 1;
        x->kids[0] = call->kids[k];
        if (!tra_table_add(&one, x)) return NULL;
    }
    return tra_table_project(&one);
}

static tra_node *groups_of(const tra_table_builder *w, tra_node *keyed, const tra_ast *call, const char **key) {
    tra_table_builder one = {.b = w->b, .in = keyed, .op.op = TRA_TABLE_GROUP};
    tra_ast *list = copy_of(w, call), *group = tra_new(w->b->arena, tra_ast);
    list->kind = TRA_AST_LIST;
    for (int k = 0; k < call->nkids; k++) list->kids[k] = name_of(w, call, key[k]);
    *group = *call;
    group->text = "group";
    group->nkids = 2;
    group->kids = tra_news(w->b->arena, tra_ast *, 2);
    group->kids[0] = name_of(w, call, "");
    group->kids[1] = list;
    one.call = group;
    return tra_table_group(&one);
}

/* w->in gets a column of that name. */
static bool add_number(tra_table_builder *w, const tra_ast *call, const char *name) {
    int nkeys = call->nkids, *lkey = tra_news(w->b->arena, int, nkeys + 1),
        *rkey = tra_news(w->b->arena, int, nkeys + 1);
    const char **key = tra_news(w->b->arena, const char *, nkeys + 1);
    if (nkeys == 0) return tra_table_refuse(w, call, "number has the keys of the groups that it numbers"), false;
    for (int k = 0; k < nkeys; k++) {
        key[k] = tra_arena_printf(w->b->arena, "%s key %d", name, k);
        lkey[k] = w->in->type.columns->n + k;
        rkey[k] = k;
    }
    tra_node *keyed = with_keys(w, call, key);
    tra_node *groups = keyed ? groups_of(w, keyed, call, key) : NULL;
    if (!groups) return false;
    tra_table_builder both = {.b = w->b, .call = w->call, .in = keyed, .right = groups, .op.op = TRA_TABLE_JOIN};
    w->in = tra_table_numbered(&both, nkeys, lkey, rkey, name);
    return w->in != NULL;
}

static tra_ast *replace(tra_table_builder *w, const tra_ast *x, int *n) {
    if (x->kind == TRA_AST_CALL && strcmp(x->text, "number") == 0) {
        const char *name = tra_arena_printf(w->b->arena, "number %d", (*n)++);
        return add_number(w, x, name) ? name_of(w, x, name) : NULL;
    }
    tra_ast *y = copy_of(w, x);
    for (int i = 0; i < x->nkids; i++)
        if (!(y->kids[i] = replace(w, x->kids[i], n))) return NULL;
    return y;
}

bool tra_table_number(tra_table_builder *w) {
    tra_ast *call = copy_of(w, w->call);
    int n = 0;
    w->shown = w->in->type.columns->n;
    for (int i = 1; i < call->nkids; i++)
        if (!(call->kids[i] = replace(w, call->kids[i], &n))) return false;
    if (n > 0) w->call = call;
    return true;
}
