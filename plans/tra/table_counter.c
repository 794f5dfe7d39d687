/* table_counter.c - the counter of a loop in expressions over columns: a column that a cross join adds. */
#include "table_derived.h"

#include <string.h>

void tra_table_note_added(tra_table_builder *w, const char *name) {
    TRA_ARENA_DOUBLE(w->b->arena, w->added, w->nadded);
    w->added[w->nadded++] = name;
}

static const tra_schema *columns_of(const tra_table_builder *w, int side) {
    const tra_node *n = side ? w->right : w->in;
    return n ? n->type.columns : NULL;
}

/* The counter that a name stands for where no column has it; NULL: none. */
static const tra_symbol *counter_of(const tra_table_builder *w, const tra_ast *x) {
    if (x->kind != TRA_AST_NAME || x->quoted) return NULL;
    for (int side = 0; side < 2; side++)
        if (columns_of(w, side) && tra_schema_find(columns_of(w, side), x->text) >= 0) return NULL;
    int at = tra_names_find(&w->b->symbols, x->text);
    const tra_symbol *s = at >= 0 ? w->b->symbols.value[at] : NULL;
    return s && s->param && s->node && s->seen ? s : NULL;
}

/* cross(in, T), T being the row of the counter, in a column of that name. */
static tra_node *with_counter(const tra_table_builder *w, tra_node *in, const tra_symbol *counter, const char *name) {
    const tra_deriving d = {.b = w->b, .call = w->call};
    tra_ast *value = tra_derive_named(&d, name, tra_derive_name(&d, "value"));
    tra_node *row = tra_derive_op(&d, TRA_TABLE_ENTRIES, counter->node, NULL, 0, NULL);
    row = tra_derive_op(&d, TRA_TABLE_PROJECT, row, NULL, 1, &value);
    return tra_derive_op(&d, TRA_TABLE_CROSS, in, row, 0, NULL);
}

/* The name of the column that stands for the counter in one operand; NULL after a diagnostic. */
static const char *column_of(tra_table_builder *w, const tra_symbol *counter, const char *text, int side) {
    const char *name = tra_arena_printf(w->b->arena, side ? "turn %s of the right table" : "turn %s", text);
    tra_node **in = side ? &w->right : &w->in;
    for (int i = 0; i < w->nadded; i++)
        if (strcmp(w->added[i], name) == 0) return name;
    name = tra_table_free_name(w->b->arena, columns_of(w, side), name);
    if (!side && !w->own_columns) w->own_columns = w->in->type.columns->n;
    if (!(*in = with_counter(w, *in, counter, name))) return NULL;
    tra_table_note_added(w, name);
    ((tra_symbol *)counter)->used = true;
    if (tra_names_find(&w->b->symbols, name) < 0) /* for messages about this column */
        tra_names_add(&w->b->symbols, name, (void *)counter);
    return name;
}

static bool mentions(const tra_table_builder *w, int side, const tra_ast *x) {
    bool any = tra_join_column_of(w, side, x) >= 0;
    for (int i = 0; i < x->nkids && !any; i++) any = mentions(w, side, x->kids[i]);
    return any;
}

/* A copy of the tree with names of columns for counters. These are of the operand `side`, unless columns beside them
 * are of the other one. */
static tra_ast *replace_counters(tra_table_builder *w, const tra_ast *x, int side) {
    const tra_symbol *counter = counter_of(w, x);
    if (counter) {
        const char *name = column_of(w, counter, x->text, side);
        return name ? tra_table_name_ast(w->b->arena, name, x->span) : NULL;
    }
    tra_ast *y = tra_table_ast_copy(w->b->arena, x);
    bool compares = x->kind == TRA_AST_BINARY && (strchr("<>", *x->text) || strcmp(x->text, "==") == 0);
    for (int i = 0; i < x->nkids; i++) {
        const tra_ast *kid = x->kids[i];
        bool left = w->right && mentions(w, 0, kid), right = w->right && mentions(w, 1, kid);
        int of = right ? !left : left || compares ? 0 : side;
        if (!(y->kids[i] = replace_counters(w, kid, of))) return NULL;
    }
    return y;
}

bool tra_table_build_counters(tra_table_builder *w) {
    if (!w->in->type.columns || w->b->loop < 0) return true;
    tra_ast *call = tra_table_ast_copy(w->b->arena, w->call);
    int before = w->nadded;
    for (int i = w->right ? 2 : 1; i < call->nkids; i++)
        if (!(call->kids[i] = replace_counters(w, call->kids[i], 0))) return false;
    if (w->nadded > before) w->call = call;
    return true;
}
