/* table_unpivot.c - operators that make several rows of one: unpivot and explode. */
#include "table_derived.h"
#include "../../lib/table/calls.h"

#include <string.h>

static bool is_free(const tra_deriving *d, const tra_ast *at, const char *name, const bool *gone) {
    int c = tra_schema_find(d->in->type.columns, name);
    if (c < 0 || (gone && gone[c])) return true;
    return tra_derive_refuse(d, at, tra_arena_printf(d->b->arena, "the table has a column '%s' already", name));
}

enum { MOST = 900 }; /* columns that become rows: syntax is not deeper than 1000 */

/* ---- unpivot ------------------------------------------------------------------------------------------------ */

/* Marks the columns of a list: names, or drop(a, b) for all but these, or *. */
static bool mark_columns(const tra_deriving *d, const tra_ast *list, bool *marked, int *order, int *n) {
    const tra_schema *s = d->in->type.columns;
    for (int i = 0; i < list->nkids; i++) {
        const tra_ast *x = list->kids[i];
        bool drop = x->kind == TRA_AST_CALL && strcmp(x->text, "drop") == 0, star = x->kind == TRA_AST_STAR;
        bool *left = tra_news(d->b->arena, bool, s->n + 1);
        for (int k = 0; drop && k < x->nkids; k++) {
            int c = tra_derive_column(d, x->kids[k]);
            if (c < 0) return false;
            left[c] = true;
        }
        int c = drop || star ? 0 : tra_derive_column(d, x), end = drop || star ? s->n : c + 1;
        if (c < 0) return false;
        for (; c < end; c++) {
            if (left[c] || (marked[c] && end > 1 && (drop || star))) continue;
            if (marked[c]) return tra_derive_refuse(d, x, "this column stands there twice");
            marked[c] = true;
            order[(*n)++] = c;
        }
    }
    return true;
}

/* if(i == 0, x[0], if(i == 1, x[1], ... x[n - 1])) */
static tra_ast *choice(const tra_deriving *d, const char *i, int n, tra_ast *const *x) {
    tra_ast *all = x[n - 1];
    for (int k = n - 2; k >= 0; k--) {
        tra_ast *is = tra_derive_binary(d, "==", tra_derive_name(d, i), tra_derive_int(d, k));
        all = tra_derive_call(d, "if", 3, (tra_ast *[]){is, x[k], all});
    }
    return all;
}

/* What a column may stand beside in one column. */
static int kind_of(tra_coltype t) {
    return tra_coltype_is_coded(t) ? 0 : t == TRA_COL_DATE ? 1 : t == TRA_COL_TIMESTAMP ? 2 : t == TRA_COL_BOOL ? 3 : 4;
}

/* Each row once for each of the columns: cross(T, numbers), and what the number chooses. */
tra_node *tra_derive_unpivot(tra_deriving *d) {
    enum { NAME, VALUE, OPTIONS };
    static const char *const options[] = {"name", "value"};
    const tra_schema *s = d->in->type.columns;
    tra_arena *a = d->b->arena;
    const tra_ast *v[OPTIONS] = {NULL}, *list = d->call->nkids > 1 ? d->call->kids[1] : NULL;
    bool *gone = tra_news(a, bool, s->n + 1);
    int *column = tra_news(a, int, 2 * s->n + 1), n = 0, plain, out = 0;
    if (!list || list->kind != TRA_AST_LIST)
        return tra_derive_refuse(d, list ? list : d->call, "the columns that become rows stand in a list");
    if (!tra_derive_named_args(d, 2, OPTIONS, options, v, &plain)) return NULL;
    if (plain > 2) return tra_derive_refuse(d, d->call->kids[2], "this argument is one too many");
    if (!mark_columns(d, list, gone, column, &n)) return NULL;
    if (n == 0 || n > MOST)
        return tra_derive_refuse(d, list, n ? "more than 900 columns are too many" : "no column becomes rows");
    for (int k = 1; k < n; k++) {
        const tra_column *x = &s->v[column[0]], *y = &s->v[column[k]];
        if (kind_of(x->type) == kind_of(y->type)) continue;
        return tra_derive_refuse(d, list,
                                 tra_arena_printf(a, "'%s' is a %s and '%s' a %s, which do not become one column",
                                                  x->name, tra_coltype_name(x->type), y->name,
                                                  tra_coltype_name(y->type)));
    }
    const char *name = tra_derive_word(d, v[NAME], "name"), *value = tra_derive_word(d, v[VALUE], "value");
    if (!name || !value || !is_free(d, v[NAME] ? v[NAME] : d->call, name, gone)) return NULL;
    if (!is_free(d, v[VALUE] ? v[VALUE] : d->call, value, gone)) return NULL;
    const char *i = tra_table_free_name(a, s, "i");
    tra_ast **args = tra_news(a, tra_ast *, s->n + 3), **names = tra_news(a, tra_ast *, n),
            **values = tra_news(a, tra_ast *, n);
    for (int c = 0; c < s->n; c++)
        if (!gone[c]) args[out++] = tra_derive_name(d, s->v[c].name);
    for (int k = 0; k < n; k++) {
        names[k] = tra_derive_ast(d, TRA_AST_STRING, s->v[column[k]].name, 0, NULL);
        values[k] = tra_derive_name(d, s->v[column[k]].name);
    }
    args[out++] = tra_derive_named(d, name, choice(d, i, n, names));
    args[out++] = tra_derive_named(d, value, choice(d, i, n, values));
    tra_node *all = tra_derive_op(d, TRA_TABLE_CROSS, d->in, tra_derive_numbers(d, n, i), 0, NULL);
    return tra_derive_op(d, TRA_TABLE_PROJECT, all, NULL, out, args);
}

/* ---- explode ------------------------------------------------------------------------------------------------ */

/* T joined with the numbers of the parts of its string, and the part in place of the string. */
tra_node *tra_derive_explode(tra_deriving *d) {
    const tra_ast *call = d->call;
    const tra_schema *s = d->in->type.columns;
    tra_arena *a = d->b->arena;
    if (call->nkids != 3 || call->kids[2]->kind != TRA_AST_STRING || !*call->kids[2]->text)
        return tra_derive_refuse(d, call,
                                 "explode has a table, a column of strings, and what stands between the parts");
    int c = tra_derive_column(d, call->kids[1]);
    if (c < 0) return NULL;
    if (!tra_coltype_is_coded(s->v[c].type))
        return tra_derive_refuse(d, call->kids[1], "the column is not one of strings");
    const char *i = tra_table_free_name(a, s, "i"), *sep = call->kids[2]->text;
    tra_ast *x = tra_derive_name(d, s->v[c].name), *between = call->kids[2], *at = tra_derive_name(d, i);
    tra_ast *parts = tra_derive_call(d, "count_parts", 2, (tra_ast *[]){x, between});
    /* of NULL the one row with NULL stays */
    tra_ast *stays =
        tra_derive_binary(d, "<", at, tra_derive_call(d, "ifnull", 2, (tra_ast *[]){parts, tra_derive_int(d, 1)}));
    int64_t most;
    tra_err e = {0};
    if (tra_parts_most(s->v[c].dict, sep, &most, &e) != TRA_OK)
        return tra_build_unreadable(d->b, call->kids[1]->span, NULL, &e);
    tra_ast *next = tra_derive_binary(d, "+", at, tra_derive_int(d, 1));
    tra_ast *piece = tra_derive_call(d, "split_part", 3, (tra_ast *[]){x, between, next});
    tra_node *all = tra_derive_op(d, TRA_TABLE_JOIN, d->in, tra_derive_numbers(d, most, i), 1, &stays);
    tra_ast **args = tra_news(a, tra_ast *, s->n + 1);
    for (int k = 0; k < s->n; k++)
        args[k] = k == c ? tra_derive_named(d, s->v[k].name, piece) : tra_derive_name(d, s->v[k].name);
    return tra_derive_op(d, TRA_TABLE_PROJECT, all, NULL, s->n, args);
}
