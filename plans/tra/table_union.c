/* table_union.c - tables one after the other: union, and the last part of right and outer joins. */
#include "../../lib/table/union.h"

#include <string.h>

#include "lower.h"
#include "table_parts.h"

/* ---- blocks of both tables ---------------------------------------------------------------------------------- */

/* A relation with n keys, which has block k - from of the table at key k, and a block without rows where there is no
 * such block. most: rows of a block of the union. */
static tra_node *spread_blocks(tra_table_builder *w, tra_node *table, int64_t n, int64_t from, int64_t most) {
    tra_build *b = w->b;
    int64_t blocks = table->type.cat->frontier.v[0];
    const char *const names[] = {"k", "i"};
    const tra_keyexpr *key[] = {tra_keyexpr_component(b->arena, 0),
                                NULL}; /* k, and the number of the block, or the nearest one */
    key[1] = tra_keyexpr_of(b->arena, TRA_KEY_SUB, key[0], tra_keyexpr_int(b->arena, from));
    key[1] = tra_keyexpr_of(b->arena, TRA_KEY_MAX, key[1], tra_keyexpr_int(b->arena, 0));
    key[1] = tra_keyexpr_of(b->arena, TRA_KEY_MIN, key[1], tra_keyexpr_int(b->arena, blocks - 1));
    tra_node *at = tra_build_rekey(b, w->call->span, tra_positions(b, w->call->span, n, 1), names, 2, key);
    tra_union_part *p = tra_new(b->arena, tra_union_part);
    *p = (tra_union_part){table->type.columns, from, from + blocks};
    tra_rows_kernel op = tra_rows_op(&tra_union_part_ops, p, p->in);
    op.extent = TRA_ROWS_EITHER, op.most = most, op.counts = true;
    tra_node *part = tra_table_kernel(w, at, table, 1, 0, &op);
    return tra_build_rekey(b, w->call->span, part, names, 1, key);
}

/* All rows of in[0], then all of in[1], which both have the columns `out`. The result has the blocks of both. */
static tra_node *append_blocks(tra_table_builder *w, tra_node *const *in, const tra_schema *out) {
    int64_t n[2], most = 1;
    tra_node *spread[2];
    tra_union_both *u = tra_new(w->b->arena, tra_union_both);
    u->out = out;
    for (int i = 0; i < 2; i++) {
        n[i] = in[i]->type.cat->frontier.v[0];
        most = tra_max64(most, in[i]->type.cat->bound.v[0]);
        u->in[i] = in[i]->type.columns;
    }
    for (int i = 0; i < 2; i++)
        if (!(spread[i] = spread_blocks(w, in[i], n[0] + n[1], i ? n[0] : 0, most))) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_union_both_ops, u, out);
    op.extent = TRA_ROWS_EITHER, op.most = most, op.counts = true;
    return tra_table_kernel(w, spread[0], spread[1], 0, 0, &op);
}

/* ---- columns of both tables --------------------------------------------------------------------------------- */

/* Are these expressions all columns of s as they are, under their names? */
static bool is_identity(const tra_schema *s, int n, const char *const *names, const tra_colexpr *const *x) {
    bool same = n == s->n;
    for (int i = 0; i < n && same; i++)
        same = x[i]->op == TRA_C_COLUMN && x[i]->column == i && strcmp(names[i], s->v[i].name) == 0;
    return same;
}

tra_node *tra_table_append(tra_table_builder *w, tra_node *const *in, int n, const char *const *names,
                           const tra_colexpr **x, const tra_colexpr **y) {
    tra_err e = {0};
    tra_arena *a = w->b->arena;
    if (tra_union_columns(a, n, names, x, y, &e) != TRA_OK)
        return tra_diag_error(w->b->d, w->call->span, "project(T, name = ..., *) makes a column of another type", "%s",
                              e.msg);
    const tra_schema *out;
    tra_column *v = tra_schema_beside(a, NULL, n, &out);
    for (int i = 0; i < n; i++) {
        tra_column one = tra_colexpr_result(x[i], names[i]), other = tra_colexpr_result(y[i], names[i]);
        v[i] = one;
        v[i].nullable |= other.nullable;
        v[i].fails |= other.fails;
        v[i].file = NULL; /* the statistics of a file are those of one table */
    }
    const tra_colexpr **own[2] = {x, y};
    tra_node *both[2];
    for (int i = 0; i < 2; i++) {
        bool same = is_identity(in[i]->type.columns, n, names, own[i]);
        both[i] = same ? in[i] : tra_table_columns(w, in[i], &(tra_projection){a, n, (const char **)names, own[i]});
        if (!both[i]) return NULL;
    }
    return append_blocks(w, both, out);
}

/* ---- union -------------------------------------------------------------------------------------------------- */

bool tra_table_like_first(const tra_table_builder *w, const tra_node *other, const tra_ast *at) {
    const tra_schema *s[2] = {w->in->type.columns, other->type.columns};
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < s[i]->n; c++) {
            if (tra_schema_find(s[!i], s[i]->v[c].name) >= 0) continue;
            return tra_diag_error(w->b->d, at->span, "project(T, ...) gives each the same columns",
                                  "%s has no column '%s', which the other table of the union has",
                                  i ? "the first" : "this", s[i]->v[c].name);
        }
    for (int c = 0; c < s[0]->n; c++) {
        const tra_column *x = &s[0]->v[c], *y = &s[1]->v[tra_schema_find(s[1], x->name)];
        bool integers = (x->type == TRA_COL_I32 || x->type == TRA_COL_I64) &&
                        (y->type == TRA_COL_I32 || y->type == TRA_COL_I64); /* the wider one is taken */
        if (x->type == y->type || integers) continue;
        return tra_diag_error(w->b->d, at->span, "project(T, name = ..., *) makes a column of another type",
                              "column '%s' is %s here and %s in a table before", x->name, tra_coltype_name(y->type),
                              tra_coltype_name(x->type));
    }
    return true;
}

/* The table with many small blocks put together: else the blocks of unions of unions are more and more. */
static tra_node *fewer_blocks(tra_table_builder *w, tra_node *n) {
    enum { MANY = 256 };
    const tra_catalog *c = n ? n->type.cat : NULL;
    int64_t blocks = c && c->grid && c->frontier.n == 1 ? c->frontier.v[0] : 0;
    int64_t run = blocks < MANY ? 1 : TRA_TABLE_BLOCK_ROWS / tra_max64(1, c->bound.v[0]);
    if (run < 2) return n;
    tra_node *out = tra_table_make_runs(w, n, &(tra_division){.run_blocks = tra_min64(run, blocks)});
    if (out) out->rows = tra_table_own_rows(w->b, out);
    return out;
}

tra_node *tra_table_union(tra_table_builder *w) {
    const tra_schema *s = w->in->type.columns, *t = w->right->type.columns;
    tra_arena *a = w->b->arena;
    const char **names = tra_news(a, const char *, s->n);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, s->n), **y = tra_news(a, const tra_colexpr *, s->n);
    for (int c = 0; c < s->n; c++) {
        names[c] = s->v[c].name;
        x[c] = tra_colexpr_column(a, s, c);
        y[c] = tra_colexpr_column(a, t, tra_schema_find(t, names[c]));
    }
    tra_node *both = tra_table_append(w, (tra_node *const[]){w->in, w->right}, s->n, names, x, y);
    return tra_table_record(w, fewer_blocks(w, both));
}
