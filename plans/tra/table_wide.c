/* table_wide.c - pivot(T, [keys], column, value, aggregate): a row for each group, a column for each value of a column.
 */
#include "../../lib/table/tensor_rows.h"
#include "table_derived.h"
#include "table_parts.h"

#include <string.h>

enum { MAXCOLUMNS = 1 << 14 };

/* A value of the column: as syntax, and as the name of what becomes of it. */
typedef struct heading {
    const char *name;
    tra_ast *value;
} heading;

/* The text of a value in the list values = [..] as a name. */
static const char *name_of(tra_arena *a, const tra_ast *x) {
    if (x->kind == TRA_AST_LITERAL) return x->kids[0]->text;
    if (x->kind == TRA_AST_UNARY && x->nkids == 1) return tra_arena_printf(a, "-%s", x->kids[0]->text);
    return x->text;
}

/* The values that the program lists. False after a diagnostic. */
static bool listed(const tra_deriving *d, const tra_ast *list, const char *prefix, heading *v, int *n) {
    for (int i = 0; i < list->nkids; i++) {
        tra_ast *x = list->kids[i], *value = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
        bool constant = value->kind == TRA_AST_STRING || value->kind == TRA_AST_LITERAL || tra_is_number(value) ||
                        (value->kind == TRA_AST_NAME && !value->quoted);
        if (!constant)
            return tra_diag_error(d->b->d, x->span,
                                  "write values = [\"a\", \"b\"], or with names of your own: [jan = 1, feb = 2]",
                                  "the values of a column are constants");
        v[i] = (heading){x->kind == TRA_AST_NAMED ? x->text : name_of(d->b->arena, value), value};
        if (x->kind != TRA_AST_NAMED) v[i].name = tra_arena_printf(d->b->arena, "%s%s", prefix, v[i].name);
    }
    *n = list->nkids;
    return true;
}

/* The options: values = [..], prefix = "..". */
static bool read_options(tra_table_builder *w, const tra_ast **values, const char **prefix) {
    static const char *const names[] = {"values", "prefix"};
    const tra_ast *v[2] = {NULL};
    if (!tra_table_named_args(w, 5, 2, names, v)) return false;
    if (v[0] && v[0]->kind != TRA_AST_LIST)
        return tra_table_refuse(w, v[0], "values stand in a list: values = [1, 2, 3]");
    if (v[1] && v[1]->kind != TRA_AST_STRING) return tra_table_refuse(w, v[1], "a prefix is a string: prefix = \"m_\"");
    *values = v[0];
    *prefix = v[1] ? v[1]->text : "";
    return true;
}

/* The rows of groups with keys, a column and a value, as rows of the keys with n columns: aggregates that stand in a
 * list of arguments, first(if(column == value, aggregate, null)). */
static tra_node *make_wide(const tra_deriving *d, tra_node *groups, const tra_pivot_key *key, int n, tra_ast **wide) {
    tra_arena *a = d->b->arena;
    tra_table_builder one = {.b = d->b, .call = d->call, .in = groups, .op.op = TRA_TABLE_GROUP};
    tra_table_scope sc = tra_table_scope_of(&one);
    tra_table_agg *agg = tra_news(a, tra_table_agg, n);
    tra_group_column *columns = tra_news(a, tra_group_column, n);
    const tra_ast *keys = wide[0];
    for (int k = 0; k < keys->nkids; k++)
        if (!tra_table_add_term(&one, keys->kids[k])) return NULL;
    for (int i = 0; i < n; i++) {
        const tra_ast *x = wide[1 + i];
        tra_table_term t;
        if (!tra_table_build_term(&sc, x->text, x->kids[0]->kids[0], &t)) return NULL;
        agg[i] = (tra_table_agg){.name = x->text, .f = TRA_AGGREGATE_FIRST, .ast = t.ast};
        columns[i] = (tra_group_column){.name = x->text, .f = TRA_AGGREGATE_FIRST, .column = keys->nkids + i};
        for (int k = 0; k < keys->nkids + i; k++)
            if (strcmp(k < keys->nkids ? one.op.term[k].name : agg[k - keys->nkids].name, x->text) == 0) return NULL;
    }
    one.op.agg = agg;
    one.op.naggs = n;
    return tra_table_record(&one, tra_table_group_wide(&one, key, columns));
}

/* The groups by the keys and the column come first, with the aggregate as a value, so that the many columns are made of
 * few rows. */
tra_node *tra_table_wide(tra_table_builder *w) {
    enum { TABLE, KEYS, COLUMN, VALUE, AGGREGATE, ARGUMENTS };
    const tra_deriving d = {w->b, w->call, w->in, w->in_name};
    const tra_ast *call = w->call, *values = NULL;
    tra_arena *a = w->b->arena;
    const char *prefix;
    if (call->nkids < ARGUMENTS || call->kids[AGGREGATE]->kind != TRA_AST_NAME)
        return tra_table_refuse(w, call, "pivot has a table, keys, a column, what is aggregated, and an aggregate");
    tra_ast *keys = call->kids[KEYS], *column = call->kids[COLUMN];
    int f = tra_aggregate_find(call->kids[AGGREGATE]->text);
    if (f < 0 || f == TRA_AGGREGATE_QUANTILE || tra_aggregate_has_two((tra_aggregate)f))
        return tra_table_refuse(w, call->kids[AGGREGATE], "the aggregate is one of a single argument");
    if (column->kind != TRA_AST_NAME && column->kind != TRA_AST_NAMED)
        return tra_table_refuse(w, column, "a column that is computed has a name: name = expression");
    if (!read_options(w, &values, &prefix)) return NULL;
    tra_ast **by = tra_news(a, tra_ast *, keys->nkids + 1);
    for (int i = 0; i < keys->nkids; i++) by[i] = keys->kids[i];
    by[keys->nkids] = column;
    const char *value = "value";
    for (int i = 0; i <= keys->nkids; i++) /* another name than the keys have */
        if (by[i]->text && strcmp(by[i]->text, value) == 0) value = tra_arena_printf(a, "%s'", value), i = -1;
    tra_ast *aggregate = tra_derive_call(&d, call->kids[AGGREGATE]->text, 1, &call->kids[VALUE]);
    aggregate->span = call->kids[AGGREGATE]->span;
    tra_node *groups = tra_derive_op(&d, TRA_TABLE_GROUP, w->in, NULL, 2,
                                     (tra_ast *[]){tra_derive_ast(&d, TRA_AST_LIST, NULL, keys->nkids + 1, by),
                                                   tra_derive_named(&d, value, aggregate)});
    if (!groups) return NULL;
    const tra_column *of = &groups->type.columns->v[keys->nkids];
    tra_pivot_key key = {0};
    heading *v;
    int n = 0;
    if (values) {
        v = tra_news(a, heading, values->nkids + 1);
        if (!listed(&d, values, prefix, v, &n)) return NULL;
    } else {
        const tra_dim_labels *labels;
        if (!tra_table_key_values(w, of, column, &key, &labels)) return NULL;
        if (key.n > MAXCOLUMNS)
            return tra_table_refuse(w, column, "the column has more than 16384 values: write values = [..]");
        v = tra_news(a, heading, key.n + 1);
        for (; n < key.n; n++) {
            const char *text = tra_dim_labels_text(a, labels, n);
            v[n] = (heading){tra_arena_printf(a, "%s%s", prefix, text),
                             tra_table_literal_ast(a, of->type, text, w->call->span)};
        }
    }
    if (n == 0) return tra_table_refuse(w, column, "the column has no values, so that no columns would come of it");
    bool counts = f == TRA_AGGREGATE_COUNT || f == TRA_AGGREGATE_DISTINCT; /* where there are no rows it is 0 */
    tra_ast **args = tra_news(a, tra_ast *, keys->nkids + n + 1), **names = tra_news(a, tra_ast *, keys->nkids + 1);
    for (int i = 0; i < keys->nkids; i++) names[i] = args[i] = tra_derive_name(&d, groups->type.columns->v[i].name);
    tra_ast *null = tra_derive_ast(&d, TRA_AST_NAME, "null", 0, NULL), **wide = tra_news(a, tra_ast *, n + 1);
    wide[0] = tra_derive_ast(&d, TRA_AST_LIST, NULL, keys->nkids, names);
    for (int i = 0; i < n; i++) {
        tra_ast *is = tra_derive_binary(&d, "==", tra_derive_name(&d, of->name), v[i].value);
        tra_ast *x = tra_derive_call(&d, "if", 3, (tra_ast *[]){is, tra_derive_name(&d, value), null});
        wide[1 + i] = tra_derive_named(&d, v[i].name, tra_derive_call(&d, "first", 1, &x));
        x = tra_derive_name(&d, v[i].name);
        if (counts) x = tra_derive_call(&d, "ifnull", 2, (tra_ast *[]){x, tra_derive_int(&d, 0)});
        args[keys->nkids + i] = tra_derive_named(&d, v[i].name, x);
    }
    bool direct = !values && keys->nkids > 0 && keys->nkids <= TRA_PIVOT_KEYS;
    tra_node *out = direct ? make_wide(&d, groups, &key, n, wide) : NULL;
    if (!out) out = tra_derive_op(&d, TRA_TABLE_GROUP, groups, NULL, n + 1, wide);
    return counts ? tra_derive_op(&d, TRA_TABLE_PROJECT, out, NULL, keys->nkids + n, args) : out;
}
