/* table_pivot.c - pivot(T, row, column, value, agg): groups by two keys as a matrix, sparse by type. */
#include "../../lib/tablefile/table_file.h"
#include "../../lib/model/spooled.h"
#include "../../lib/table/group.h"
#include "lower.h"
#include "made.h"
#include "build.h"
#include "table_build.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAXVALUES = 1 << 24,      /* of a key of whole numbers */
    MAXCOMBINATIONS = 1 << 20 /* of the values of the columns that a key is computed of */
};

/* The arguments of the call. */
enum { TABLE, ROW, COLUMN, VALUE, AGGREGATE, ARGUMENTS };

/* The name of the values in the table of groups, which no key has. */
static const char *value_name(const tra_ast *call) {
    const char *row = call->kids[ROW]->text, *column = call->kids[COLUMN]->text;
    for (int i = 0;; i++) {
        static const char *const names[] = {"value", "values", "the value"};
        if (strcmp(names[i], row) != 0 && strcmp(names[i], column) != 0) return names[i];
    }
}

/* group(T, [row, column], value = aggregate(value)) */
static tra_node *group_by_both(tra_table_builder *w) {
    tra_ast *const *arg = w->call->kids, *f = arg[AGGREGATE];
    tra_arena *a = w->b->arena;
    tra_span span = w->call->span;
    tra_ast *keys = tra_table_ast(a, TRA_AST_LIST, NULL, span, 2, &arg[ROW]);
    tra_ast *call = tra_table_ast(a, TRA_AST_CALL, f->text, f->span, 1, &arg[VALUE]);
    tra_ast *named = tra_table_ast(a, TRA_AST_NAMED, value_name(w->call), span, 1, &call);
    tra_table_builder group = *w;
    group.call = tra_table_ast(a, TRA_AST_CALL, "group", span, 3, (tra_ast *[]){arg[TABLE], keys, named});
    group.op.op = TRA_TABLE_GROUP;
    return tra_table_group(&group);
}

/* The different values of a column of integers, dates, timestamps or bools in its file, ascending. TRA_NO: it has no
 * file, or more than MAXVALUES values. */
static tra_status values_of_column(tra_arena *a, const tra_column *c, const int64_t **out, int64_t *n, tra_err *e) {
    tra_column_facts facts;
    if (tra_coltype_is_coded(c->type) || tra_coltype_is_float(c->type) || !c->file) return TRA_NO;
    if (!tra_rel_column_facts(c->file, c->number, &facts) || !facts.whole)
        return tra_rel_column_values(c->file, c->number, MAXVALUES, a, out, n, e);
    int64_t *v = tra_news(a, int64_t, facts.n + 1);
    for (int64_t i = 0; i < facts.n; i++) v[i] = facts.frequency[i][0];
    *out = v;
    *n = facts.n;
    return TRA_OK;
}

/* ---- keys that are computed --------------------------------------------------------------------------------- */

/* The columns that a key is computed of, and all combinations of their values, NULL included. */
typedef struct combinations {
    tra_schema columns;
    int of[TRA_MAXDIM];               /* the numbers of these columns in the table */
    const int64_t *value[TRA_MAXDIM]; /* the values of each; NULL: the codes 0, 1, ... */
    int64_t n[TRA_MAXDIM];            /* how many values each has, without NULL */
    int64_t rows;                     /* how many combinations there are */
} combinations;

/* Finds the combinations for an expression; false if the values of a column are not known, or there are too many. */
static bool find_combinations(tra_arena *a, const tra_schema *s, const tra_colexpr *x, combinations *c) {
    bool *used = tra_news(a, bool, s->n + 1);
    *c = (combinations){.columns = {0, tra_news(a, tra_column, TRA_MAXDIM)}, .rows = 1};
    tra_colexpr_columns(x, used);
    for (int i = 0; i < s->n; i++) {
        const tra_column *own = &s->v[i];
        int k = c->columns.n;
        if (!used[i]) continue;
        if (k == TRA_MAXDIM) return false;
        if (tra_coltype_is_coded(own->type) && own->dict)
            c->n[k] = own->dict->n;
        else if (values_of_column(a, own, &c->value[k], &c->n[k], NULL) != TRA_OK)
            return false;
        c->of[k] = i;
        ((tra_column *)c->columns.v)[c->columns.n++] = *own;
        c->rows = tra_mul_most(c->rows, c->n[k] + own->nullable);
    }
    return c->rows <= MAXCOMBINATIONS && !tra_colexpr_uses_row(x);
}

/* Sets a value of a column of integers, codes, bools, dates or timestamps. */
static void put_whole(tra_coltype t, void *values, int64_t at, int64_t v) {
    switch (tra_coltype_size(t)) {
    case 1: ((uint8_t *)values)[at] = (uint8_t)v; return;
    case 4: ((int32_t *)values)[at] = (int32_t)v; return;
    default: ((int64_t *)values)[at] = v;
    }
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* The combinations as rows. */
static tra_vector *combination_rows(tra_arena *a, const combinations *c) {
    tra_vector *v = tra_news(a, tra_vector, c->columns.n + 1);
    int64_t each = 1;
    for (int k = 0; k < c->columns.n; each *= c->n[k] + c->columns.v[k].nullable, k++) {
        const tra_column *own = &c->columns.v[k];
        v[k].values = tra_arena_alloc(a, tra_coltype_size(own->type) * (size_t)c->rows + 64);
        v[k].state = own->nullable ? tra_arena_alloc(a, (size_t)c->rows + 64) : NULL;
        for (int64_t r = 0; r < c->rows; r++) {
            int64_t i = r / each % (c->n[k] + own->nullable);
            bool null = i == c->n[k];
            put_whole(own->type, v[k].values, r, null ? 0 : c->value[k] ? c->value[k][i] : i);
            if (own->nullable) v[k].state[r] = null ? TRA_STATE_NULL : TRA_STATE_VALUE;
        }
    }
    return v;
}

/* Sets the values of the key to those that the expression has for all combinations. False if they are not known. */
static bool computed_values(tra_arena *a, const tra_schema *s, const tra_colexpr *x, tra_pivot_key *key) {
    combinations c;
    const char *name = "key";
    tra_table_notes notes = {0};
    if (!find_combinations(a, s, x, &c)) return false;
    const tra_colexpr **by = tra_news(a, const tra_colexpr *, s->n + 1);
    for (int k = 0; k < c.columns.n; k++) by[c.of[k]] = tra_colexpr_column(a, &c.columns, k);
    x = tra_colexpr_substitute(a, x, by);
    tra_rowwise *r = tra_rowwise_new(a, &c.columns);
    tra_rowwise_project(r, 1, &name, &x);
    tra_vector out = {tra_arena_alloc(a, sizeof(int64_t) * (size_t)c.rows + 64),
                      tra_arena_alloc(a, (size_t)c.rows + 64)};
    tra_batch in = {&c.columns, c.rows, combination_rows(a, &c)}, made = {tra_rowwise_out(r), 0, &out};
    char *room = tra_malloc((size_t)tra_rowwise_scratch(r) + 128);
    memset(out.state, TRA_STATE_VALUE, (size_t)c.rows);
    bool done = tra_rowwise_run(r, &in, 0, &made, room + (64 - (uintptr_t)room % 64), &notes, NULL) == TRA_OK;
    free(room);
    int64_t *v = tra_news(a, int64_t, c.rows + 1), n = 0;
    for (int64_t i = 0; i < c.rows && done; i++)
        if (out.state[i] == TRA_STATE_VALUE) v[n++] = tra_element_whole(tra_coltype_held(x->type), out.values, i);
    qsort(v, (size_t)n, sizeof *v, by_value);
    for (int64_t i = key->n = 0; i < n; i++)
        if (i == 0 || v[i] != v[i - 1]) v[key->n++] = v[i];
    key->whole = v;
    return done;
}

/* ---- which values there are --------------------------------------------------------------------------------- */

/* The column that a key is: one of w->in, or a computed one. NULL after a diagnostic. */
static const tra_column *key_column(const tra_table_builder *w, const tra_ast *at) {
    tra_table_scope sc = tra_table_scope_of(w);
    tra_table_term term;
    int c = at->kind == TRA_AST_NAME ? tra_table_find_column(&sc, at) : -1;
    if (at->kind == TRA_AST_NAME) return c >= 0 ? &w->in->type.columns->v[c] : NULL;
    if (!tra_table_build_term(&sc, at->text, at->kids[0], &term)) return NULL;
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    tra_rowwise_project(r, 1, &term.name, &term.x);
    return &tra_rowwise_out(r)->v[0];
}

/* The values of a key that only a run tells: those of the groups by it. TRA_NO: of this program it cannot be known. */
static tra_status values_of_groups(const tra_table_builder *w, const tra_ast *at, tra_pivot_key *key, tra_err *e) {
    tra_arena *a = w->b->arena;
    tra_rel *rel;
    tra_ast *list = tra_table_ast(a, TRA_AST_LIST, NULL, at->span, 1, (tra_ast *[]){(tra_ast *)at});
    tra_table_builder group = *w;
    group.call = tra_table_ast(a, TRA_AST_CALL, "group", w->call->span, 2, (tra_ast *[]){w->call->kids[0], list});
    group.op = (tra_table_op){.op = TRA_TABLE_GROUP};
    group.terms = (tra_names){0};
    group.in = tra_table_built(&group);
    if (!group.in) return TRA_NO;
    TRA_TRY(tra_table_made_column(&group, 0, &rel, e));
    return tra_rel_column_values(rel, 0, MAXVALUES, a, &key->whole, &key->n, e);
}

bool tra_table_key_values(const tra_table_builder *w, const tra_column *c, const tra_ast *at, tra_pivot_key *key,
                          const tra_dim_labels **labels) {
    tra_arena *a = w->b->arena;
    tra_err e = {0};
    if (!c && !(c = key_column(w, at))) return false;
    if (tra_coltype_is_coded(c->type) && c->dict) {
        const tra_dictionary *sorted = c->dict;
        int32_t *place;
        if (tra_dictionary_read(sorted, &e) != TRA_OK) return tra_build_unreadable(w->b, at->span, NULL, &e) != NULL;
        if (!sorted->sorted) sorted = tra_dictionary_union(a, 1, &c->dict, &place), key->place = place;
        key->n = sorted->n;
        *labels = tra_dim_labels_of_dictionary(a, c->name, sorted);
        return true;
    }
    bool whole = !tra_coltype_is_coded(c->type) && !tra_coltype_is_float(c->type), known = false;
    if (whole && at->kind == TRA_AST_NAMED) {
        tra_table_scope sc = tra_table_scope_of(w);
        tra_table_term term;
        known = tra_table_build_term(&sc, c->name, at->kids[0], &term) &&
                computed_values(a, w->in->type.columns, term.x, key);
    } else if (whole && c->file) {
        tra_status s = values_of_column(a, c, &key->whole, &key->n, &e);
        known = s == TRA_OK;
        if (s == TRA_NO)
            tra_diag_error(w->b->d, at->span, NULL, "column '%s' has more than %d different values", c->name,
                           MAXVALUES);
        else if (!known)
            tra_diag_error(w->b->d, at->span, NULL, "%s", e.msg);
        if (!known) return false;
    }
    if (whole && !known && w->b->makes) {
        int errors = w->b->d->errors;
        tra_status s = values_of_groups(w, at, key, &e);
        if (s != TRA_OK && s != TRA_NO) {
            if (w->b->d->errors == errors) tra_diag_error(w->b->d, at->span, NULL, "%s", e.msg);
            return false;
        }
        known = s == TRA_OK;
    }
    if (known) {
        *labels =
            tra_dim_labels_of_whole(a, c->name, c->type == TRA_COL_I32 ? TRA_COL_I64 : c->type, key->n, key->whole);
        return true;
    }
    return tra_diag_error(
        w->b->d, at->span,
        !whole ? "such keys are strings, integers, bools, dates and timestamps"
        : at->kind == TRA_AST_NAMED
            ? "they are known where it is computed of columns of a file that have few values, and of strings"
            : "compute it here, key = expression, of columns of a file, or write the table to a file first",
        "which values column '%s' has is not known before the program runs", c->name);
}

static tra_rows_kernel pivot_kernel(const tra_table_builder *w, const tra_pivot *p) {
    tra_rows_kernel op = tra_rows_op(&tra_pivot_ops, p, NULL);
    op.dtype = w->op.dtype, op.width = p->key[1].n, op.extent = TRA_ROWS_FIXED, op.most = p->key[0].n;
    op.sparse = true, op.flops = 4;
    return op;
}

static tra_node *pivot_whole(tra_table_builder *w, tra_node *groups, const tra_pivot *p) {
    tra_rows_kernel k = pivot_kernel(w, p);
    tra_node fields = {.in = {tra_table_one_block(w, groups, 1)}, .kernel = tra_rows_kernel_of(w->b->arena, &k)};
    return fields.in[0] ? tra_build_made(w->b, TRA_OP_TRANSFORM, w->call->span, &fields) : NULL;
}

/* The matrix of groups that come in parts, in about as many blocks of rows as there are parts. Each part makes a
 * summand of each block, and these are added up; since a pair of keys is in one part alone, other summands have 0
 * there. */
static tra_node *pivot_parts(tra_table_builder *w, tra_node *groups, const tra_pivot *p) {
    tra_err e = {0};
    tra_rows_kernel k = pivot_kernel(w, p);
    int64_t rows = tra_ceil_div(p->key[0].n, groups->type.cat->n), blocks = tra_ceil_div(p->key[0].n, rows);
    tra_node fields = {.in = {tra_positions(w->b, w->call->span, p->key[0].n, rows), groups}};
    k.ops = &tra_pivot_block_ops, k.use = TRA_USE_JOIN, k.extent = TRA_ROWS_SAME;
    k.share = 1 / (double)blocks, k.flops = 4 / (double)blocks;
    fields.kernel = tra_rows_kernel_of(w->b->arena, &k);
    if (!fields.in[0] || !(fields.in[0] = tra_build_made(w->b, TRA_OP_JOIN, w->call->span, &fields))) return NULL;
    const char *sum = w->op.dtype == TRA_BOOL ? "elemmax" : "matadd"; /* a sum of bools would be an integer */
    tra_node all = {.in = {fields.in[0]}, .group = {.n = 1, .v = {0}}};
    if (tra_kernel_named(w->b->arena, sum, TRA_USE_AGG, 0, NULL, &all.kernel, &e) != TRA_OK)
        return tra_diag_error(w->b->d, w->call->span, NULL, "%s", e.msg);
    return tra_build_made(w->b, TRA_OP_AGG, w->call->span, &all);
}

/* Checks the arguments; false after a diagnostic. */
static bool check_arguments(const tra_table_builder *w) {
    const tra_ast *call = w->call;
    if (call->nkids != ARGUMENTS || call->kids[AGGREGATE]->kind != TRA_AST_NAME)
        return tra_table_refuse(w, call, "pivot has a table, two keys, what is aggregated, and an aggregate");
    for (int k = ROW; k <= COLUMN; k++)
        if (call->kids[k]->kind != TRA_AST_NAME && call->kids[k]->kind != TRA_AST_NAMED)
            return tra_diag_error(w->b->d, call->kids[k]->span,
                                  "write pivot(T, k = substr(word, 1, 3), column, value, sum), with a name of your own",
                                  "a key of pivot that is computed has a name: name = expression");
    const char *row = call->kids[ROW]->text, *f = call->kids[AGGREGATE]->text;
    if (strcmp(row, call->kids[COLUMN]->text) == 0)
        return tra_diag_error(w->b->d, call->kids[COLUMN]->span,
                              "of one column twice one gets another name: pivot(T, k, k2 = k, ...)",
                              "both keys of the pivot are called '%s'", row);
    int found = tra_aggregate_find(f);
    if (found < 0 || found == TRA_AGGREGATE_QUANTILE || tra_aggregate_has_two((tra_aggregate)found))
        return tra_diag_error(
            w->b->d, call->kids[AGGREGATE]->span,
            found < 0 ? "count, sum, mean, min, max, var, std, first, last, any, all, distinct or median"
            : found == TRA_AGGREGATE_QUANTILE
                ? "group the table first, and pivot the groups: G = group(T, [row, column], q = "
                  "quantile(value, 0.9)), then pivot(G, row, column, q, sum)"
                : "group the table first, and pivot the groups",
            found < 0 ? "there is no aggregate '%s'" : "pivot takes aggregates of one argument, and %s has two", f);
    return true;
}

/* Sets what messages call the values, and what they advise where one is NULL. */
static void describe_value(const tra_table_builder *w, tra_pivot *p) {
    const tra_ast *f = w->call->kids[AGGREGATE];
    int found = tra_aggregate_find(f->text);
    tra_str s = {0};
    tra_ast_print(w->call->kids[VALUE], &s);
    p->value = tra_arena_printf(w->b->arena, "%s(%s)", f->text, tra_str_get(&s));
    tra_str_free(&s);
    p->hint =
        tra_aggregate_way_of((tra_aggregate)found) == TRA_WAY_MOMENTS
            ? "of fewer than two values there is none: group the table first, give it a value by ifnull, and pivot the "
              "groups"
            : "ifnull gives it another";
}

tra_node *tra_table_pivot(tra_table_builder *w) {
    const tra_ast *call = w->call;
    if (!check_arguments(w)) return NULL;
    tra_node *groups = group_by_both(w);
    if (!groups) return NULL;
    const tra_schema *s = groups->type.columns;
    tra_pivot *p = tra_new(w->b->arena, tra_pivot);
    const tra_dim_labels **labels = tra_news(w->b->arena, const tra_dim_labels *, TRA_MAXDIM);
    *p = (tra_pivot){.in = s};
    for (int k = 0; k < 2; k++) {
        if (!tra_table_key_values(w, &s->v[k], call->kids[ROW + k], &p->key[k], &labels[k])) return NULL;
        if (p->key[k].n) continue;
        return tra_diag_error(
            w->b->d, call->kids[ROW + k]->span, "group(T, [row, column], ...) makes a table, which may be empty",
            "column '%s' has no values, so the matrix would have no %s", s->v[k].name, k ? "columns" : "rows");
    }
    if (!tra_coltype_is_number(s->v[2].type))
        return tra_diag_error(w->b->d, call->kids[VALUE]->span, "count() counts them",
                              "the values of a pivot are numbers, not %s", tra_coltype_name(s->v[2].type));
    describe_value(w, p);
    w->in = groups;
    w->op.pivot = p;
    w->op.dtype = tra_coltype_held(s->v[2].type);
    tra_node *n = groups->type.cat->n > 1 ? pivot_parts(w, groups, p) : pivot_whole(w, groups, p);
    if (n) n = tra_table_add_column_key(w, n);
    for (int k = 0; n && k < 2; k++)
        tra_set_dim(w->b, n, k, labels[k], tra_dim_order_new(w->b, TRA_ORDER_KEYS, s->v[k].name));
    if (n) w->op.dtype = n->type.dtype; /* sums of the blocks of i32 are i64 */
    return tra_table_record(w, n);
}
