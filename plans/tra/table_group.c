/* table_group.c - group, order, distinct and limit: rows of one block are aggregated or ordered, then those of all. */
#include "table_known.h"
#include "table_parts.h"

#include <string.h>

/* ---- all rows in one ---------------------------------------------------------------------------------------- */

tra_node *tra_table_whole(tra_table_builder *w, tra_node *n, int arity) {
    if (arity == 1 && n->type.cat->frontier.v[0] == 1) return n;
    tra_node fields = {.in = {n}};
    tra_node *all = tra_build_made(w->b, TRA_OP_CONCAT, w->call->span, &fields);
    return arity == 0 ? all : tra_table_one(w, all);
}

tra_node *tra_table_one(tra_table_builder *w, tra_node *all) {
    if (!all) return NULL;
    tra_keyfn *f = tra_new(w->b->arena, tra_keyfn);
    tra_keyexpr *zero = tra_new(w->b->arena, tra_keyexpr);
    *zero = (tra_keyexpr){.op = TRA_KEY_INT, .value = 0};
    *f = (tra_keyfn){.arity = 0, .n = 1, .expr = {zero}};
    tra_node fields = {.in = {all}, .keyfn = f};
    return tra_build_made(w->b, TRA_OP_REKEY, w->call->span, &fields);
}

static tra_node *transform(tra_table_builder *w, tra_node *in, const tra_rows_kernel *k) {
    tra_node fields = {.in = {in}, .kernel = tra_kernel_of_rows(w->b->arena, k)};
    tra_node *n = in ? tra_build_made(w->b, TRA_OP_TRANSFORM, w->call->span, &fields) : NULL;
    if (n) n->rows = n->type.bounded ? tra_table_rows_of(w->b, n) : NULL;
    return n;
}

/* ---- group -------------------------------------------------------------------------------------------------- */

static bool is_taken(const tra_table_builder *w, const char *name) {
    for (int i = 0; i < w->op.nterms; i++)
        if (strcmp(w->op.term[i].name, name) == 0) return true;
    for (int i = 0; i < w->op.naggs; i++)
        if (strcmp(w->op.agg[i].name, name) == 0) return true;
    return false;
}

/* name = sum(x), name = quantile(x, q) */
static bool add_aggregate(tra_table_builder *w, const tra_ast *x, tra_table_agg *to, tra_table_term *arg) {
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_ast *call = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    int f = call->kind == TRA_AST_CALL ? tra_aggregate_find(call->text) : -1;
    if (x->kind != TRA_AST_NAMED) return tra_table_refuse(w, x, "an aggregate has a name: n = count()"), false;
    if (f < 0)
        return tra_table_refuse(w, call, "an aggregate is expected here: count, sum, mean, min, max, ..."), false;
    int nargs = f == TRA_AGGREGATE_QUANTILE ? 2 : 1;
    if (call->nkids != nargs && !(f == TRA_AGGREGATE_COUNT && call->nkids == 0)) {
        tra_diag_error(w->b->d, call->span, NULL, "%s has %d argument%s, not %d", call->text, nargs,
                       nargs == 1 ? "" : "s", call->nkids);
        return false;
    }
    if (is_taken(w, x->text)) {
        tra_diag_error(w->b->d, x->span, "give one of them another name", "there are two columns '%s'", x->text);
        return false;
    }
    *to = (tra_table_agg){.name = x->text, .f = (tra_aggregate)f};
    *arg = (tra_table_term){0};
    if (f == TRA_AGGREGATE_QUANTILE) {
        if (!tra_build_number(w->b, call->kids[1], &to->q)) return false;
        if (!(to->q >= 0 && to->q <= 1)) return tra_table_refuse(w, call->kids[1], "a quantile is from 0 to 1"), false;
    }
    if (call->nkids == 0) return true;
    if (!tra_table_term_build(&sc, x->text, call->kids[0], arg)) return false;
    to->ast = arg->ast;
    if (arg->x->untyped) return tra_diag_error(w->b->d, call->kids[0]->span, NULL, "null alone has no type"), false;
    return true;
}

static bool is_column(const tra_colexpr *x) { return x->op == TRA_C_COLUMN; }

/* Keys, then what is aggregated, as the columns of a table; the aggregates over these. */
static tra_node *project_operands(tra_table_builder *w, const tra_table_term *arg, tra_group_column *v) {
    int n = w->op.nterms;
    const char **names = tra_news(w->b->arena, const char *, n + w->op.naggs);
    const tra_colexpr **x = tra_news(w->b->arena, const tra_colexpr *, n + w->op.naggs);
    for (int i = 0; i < n; i++) names[i] = w->op.term[i].name, x[i] = w->op.term[i].x;
    for (int i = 0; i < w->op.naggs; i++) {
        const tra_table_agg *g = &w->op.agg[i];
        v[i] = (tra_group_column){.name = g->name, .f = g->f, .column = g->ast ? n : -1, .q = g->q};
        if (!g->ast) continue;
        for (int k = w->op.nterms; k < n && is_column(arg[i].x); k++) /* several aggregates of a column take it once */
            if (is_column(x[k]) && x[k]->column == arg[i].x->column) v[i].column = k;
        if (v[i].column == n) names[n] = g->name, x[n++] = arg[i].x;
    }
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    if (n == 0) { /* count() alone: any column */
        names[0] = w->in->type.columns->v[0].name;
        x[0] = tra_colexpr_column(w->b->arena, w->in->type.columns, 0);
        n = 1;
    }
    tra_rowwise_project(r, n, names, x);
    return tra_table_rowwise(w, r, tra_arena_printf(w->b->arena, "columns of %s", tra_table_text(w)), false, 1);
}

static const char *pass_text(const tra_table_builder *w, tra_group_pass pass) {
    static const char *const passes[] = {"partial ", "final ", ""};
    return tra_arena_printf(w->b->arena, "%s%s", passes[pass], tra_table_text(w));
}

/* The share of what the results of a pass have room for that are groups of so many rows. */
static double share_of_groups(const tra_table_builder *w, const tra_node *in, const tra_schema *s,
                              const tra_colexpr *const *x, int64_t most, double rows, double blocks) {
    double all = 0, known = (double)tra_max64(1, tra_catalog_elements(in->type.cat));
    double groups = blocks * tra_table_groups_about(s, w->op.nterms, x, rows / blocks);
    tra_dims ext;
    for (int64_t i = 0; i < in->type.cat->n && i < 1024; i++) {
        tra_catalog_ext(in->type.cat, i, &ext);
        all += (double)tra_min64(most, ext.v[0]);
    }
    if (in->type.cat->n > 1024) all *= (double)in->type.cat->n / 1024;
    if (most >= in->type.cat->bound.v[0]) all *= (double)tra_type_entries(&in->type).expected / known;
    return all > groups ? groups / all : 1;
}

/* rows: what the groups are of. */
static tra_node *group_pass(tra_table_builder *w, tra_node *in, const tra_node *rows, const tra_group_column *v,
                            tra_group_pass pass) {
    tra_group *g;
    tra_err e = {0};
    const tra_schema *s = rows->type.columns;
    if (!in) return NULL;
    if (tra_group_new(w->b->arena, s, w->op.nterms, w->op.naggs, v, pass, &g, &e) != TRA_OK) {
        tra_diag_error(w->b->d, w->call->span, NULL, "%s", e.msg);
        return NULL;
    }
    bool one = w->op.nterms == 0 && pass != TRA_GROUP_PARTIAL;
    const tra_colexpr **x = tra_news(w->b->arena, const tra_colexpr *, w->op.nterms + 1);
    for (int k = 0; k < w->op.nterms; k++) x[k] = w->op.term[k].x;
    int64_t most = tra_max64(1, tra_table_groups_most(s, w->op.nterms, x));
    tra_group_bound(g, most);
    double blocks = pass == TRA_GROUP_PARTIAL ? (double)tra_max64(1, in->type.cat->n) : 1;
    double expected = (double)tra_type_entries(&rows->type).expected;
    return transform(w, in,
                     &(tra_rows_kernel){.text = pass_text(w, pass),
                                        .use = TRA_USE_MAP,
                                        .columns = tra_group_out(g),
                                        .dtype = TRA_F64,
                                        .rows = one ? TRA_ROWS_ONE : TRA_ROWS_MOST,
                                        .most = most,
                                        .counts = !one,
                                        .share = share_of_groups(w, in, s, x, most, expected, blocks),
                                        .divides = true,
                                        .all = pass == TRA_GROUP_PARTIAL || most == INT64_MAX ? 0 : most,
                                        .flops = 20.0 * (1 + w->op.nterms + w->op.naggs),
                                        .ops = &tra_group_ops,
                                        .data = g});
}

static const char *terms_text(const tra_table_builder *w) {
    tra_str t = {0};
    for (int i = 0; i < w->op.nterms; i++) {
        tra_str_add(&t, i ? ", " : "[");
        tra_name_print(w->op.term[i].name, &t);
        if (w->op.term[i].desc) tra_str_add(&t, " desc");
    }
    tra_str_add(&t, w->op.nterms ? "]" : "[]");
    const char *text = tra_arena_strndup(w->b->arena, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

/* States of all blocks, in which each group has one row: all together, or, where there may be too many, in parts by
 * ranges of the keys, by which each block is sorted. */
static tra_node *states_together(tra_table_builder *w, tra_node *partial) {
    tra_division d;
    int *key = tra_news(w->b->arena, int, w->op.nterms + 1);
    for (int k = 0; k < w->op.nterms; k++) key[k] = k;
    tra_part_keys by = {w->op.nterms, key, NULL, terms_text(w)};
    if (!partial) return NULL;
    const tra_schema *s = partial->type.columns;
    tra_dividing x = {.columns = s, .share = 1, .runs = true};
    x.key_bytes = tra_schema_row_bytes(tra_table_some(w->b->arena, s, by.n, key, false));
    if (w->op.nterms == 0 || !tra_table_divide(partial->type.cat, &x, &d)) return tra_table_whole(w, partial, 1);
    if (d.blocks > 1) {
        int *all = tra_news(w->b->arena, int, s->n);
        for (int c = 0; c < s->n; c++) all[c] = c;
        tra_arrange sort = {.in = s, .out = s, .from = all, .n = by.n, .column = key, .number = -1, .what = "a key"};
        partial = tra_table_arrange(w, tra_table_runs(w, partial, &d), &sort,
                                    tra_arena_printf(w->b->arena, "sort(%s) states", by.text));
    }
    return tra_table_in_parts(w, partial, &by, &d);
}

/* Is the aggregate the same bits in whatever order its values are brought together? */
static bool is_exact(const tra_schema *s, const tra_group_column *v) {
    tra_aggregate_way way = tra_aggregate_way_of(v->f);
    if (way == TRA_WAY_MOMENTS) return false;
    return way != TRA_WAY_SUM || !tra_coltype_is_float(s->v[v->column].type);
}

/* Is nearly every row of a block expected to be a group of its own? Then states would take more memory than the rows
 * and as much time as the groups themselves: rows that are not divided into parts are grouped in one pass instead. */
static bool are_groups(const tra_table_builder *w, const tra_node *rows, const tra_group_column *v) {
    const tra_schema *s = rows->type.columns;
    tra_division d;
    tra_dividing x = {.columns = s, .key_bytes = tra_schema_row_bytes(s), .share = 1, .ties = true, .runs = true};
    const tra_colexpr **key = tra_news(w->b->arena, const tra_colexpr *, w->op.nterms + 1);
    for (int k = 0; k < w->op.nterms; k++) key[k] = w->op.term[k].x;
    for (int i = 0; i < w->op.naggs; i++)
        if (!is_exact(s, &v[i])) return false;
    double each = (double)tra_type_entries(&rows->type).expected / (double)tra_max64(1, rows->type.cat->n);
    return w->op.nterms > 0 && tra_table_groups_about(s, w->op.nterms, key, each) > 0.9 * each &&
           !tra_table_divide(rows->type.cat, &x, &d);
}

tra_node *tra_table_groups(tra_table_builder *w, tra_node *rows, const tra_group_column *v, bool states) {
    if (!states || rows->type.cat->n == 1 || are_groups(w, rows, v))
        return group_pass(w, tra_table_whole(w, rows, 1), rows, v, TRA_GROUP_WHOLE);
    tra_node *partial = group_pass(w, rows, rows, v, TRA_GROUP_PARTIAL);
    return group_pass(w, states_together(w, partial), rows, v, TRA_GROUP_FINAL);
}

tra_node *tra_table_group(tra_table_builder *w) {
    const tra_ast *list = w->call->nkids > 1 ? w->call->kids[1] : NULL;
    int n = w->call->nkids - 2;
    bool ok = true, states = true;
    if (!list || list->kind != TRA_AST_LIST) {
        tra_table_refuse(w, list ? list : w->call, "the keys of groups stand in a list, which may be empty");
        return NULL;
    }
    for (int i = 0; i < list->nkids; i++) ok = tra_table_add(w, list->kids[i]) && ok;
    tra_table_agg *agg = tra_news(w->b->arena, tra_table_agg, n + 1);
    tra_table_term *arg = tra_news(w->b->arena, tra_table_term, n + 1);
    tra_group_column *v = tra_news(w->b->arena, tra_group_column, n + 1);
    w->op.agg = agg;
    for (int i = 0; i < n; i++) {
        bool fine = add_aggregate(w, w->call->kids[i + 2], &agg[i], &arg[i]);
        w->op.naggs += fine;
        states = states && tra_aggregate_has_states(agg[i].f);
        ok = ok && fine;
    }
    if (!ok) return NULL;
    if (w->op.nterms + n == 0)
        return tra_table_refuse(w, w->call, "a table has columns, and this one would have none"), NULL;
    tra_node *rows = project_operands(w, arg, v);
    if (!rows) return NULL;
    if (!states && tra_table_group_divides(w, rows, v)) return tra_table_note(w, tra_table_group_parts(w, rows, v));
    return tra_table_note(w, tra_table_groups(w, rows, v, states));
}

/* ---- order, distinct, limit --------------------------------------------------------------------------------- */

static tra_node *sort_rows(tra_table_builder *w, const tra_sort *s, tra_rows_extent rows) {
    tra_sort *own = tra_new(w->b->arena, tra_sort);
    *own = *s;
    tra_node *all = tra_table_whole(w, w->in, 1);
    return tra_table_note(w, transform(w, all,
                                       &(tra_rows_kernel){.text = tra_table_text(w),
                                                          .use = TRA_USE_MAP,
                                                          .columns = w->in->type.columns,
                                                          .dtype = TRA_F64,
                                                          .rows = rows,
                                                          /* a block of no rows has room for one, as everywhere */
                                                          .most = tra_max64(1, tra_add_most(s->from, s->count)),
                                                          .counts = s->distinct || rows == TRA_ROWS_MOST,
                                                          .share = s->distinct ? 0.5 : 1,
                                                          .flops = 100,
                                                          .ops = &tra_sort_ops,
                                                          .data = own}));
}

tra_node *tra_table_order(tra_table_builder *w) {
    tra_table_scope sc = tra_table_scope_of(w);
    const tra_ast *list = w->call->nkids == 2 ? w->call->kids[1] : NULL;
    bool distinct = w->op.op == TRA_TABLE_DISTINCT, ok = true;
    const tra_schema *s = w->in->type.columns;
    if (!(list && list->kind == TRA_AST_LIST) && !(distinct && w->call->nkids == 1)) {
        tra_table_refuse(w, list ? list : w->call, "its columns stand in a list");
        return NULL;
    }
    int n = list ? list->nkids : s->n, *column = tra_news(w->b->arena, int, n + 1);
    bool *desc = tra_news(w->b->arena, bool, n + 1);
    tra_table_term *term = tra_news(w->b->arena, tra_table_term, n + 1);
    for (int i = 0; i < n; i++) {
        column[i] = i;
        if (list) {
            const tra_ast *x = list->kids[i];
            desc[i] = !distinct && x->kind == TRA_AST_DESC;
            column[i] = tra_table_column(&sc, desc[i] ? x->kids[0] : x);
        }
        ok = ok && column[i] >= 0;
        if (!ok) continue;
        tra_ast *name = tra_new(w->b->arena, tra_ast);
        *name = (tra_ast){.kind = TRA_AST_NAME, .text = s->v[column[i]].name, .quoted = true};
        term[i] = (tra_table_term){.name = name->text, .ast = name, .desc = desc[i]};
    }
    if (!ok) return NULL;
    w->op.term = term;
    w->op.nterms = n;
    tra_part_keys by = {n, column, desc, terms_text(w)};
    tra_division d;
    const tra_schema *keys = tra_table_some(w->b->arena, s, n, column, true);
    tra_dividing x = {.columns = s, .key_bytes = tra_schema_row_bytes(keys), .share = 1, .ties = !distinct};
    x.runs = !distinct; /* whose rows are looked for in their blocks by their numbers */
    if (tra_table_divide(w->in->type.cat, &x, &d))
        return tra_table_note(w, distinct ? tra_table_distinct_parts(w, &by, &d) : tra_table_order_parts(w, &by, &d));
    tra_sort sort = {.in = s, .n = n, .column = column, .desc = desc, .distinct = distinct, .count = INT64_MAX};
    return sort_rows(w, &sort, TRA_ROWS_SAME);
}

tra_node *tra_table_limit(tra_table_builder *w) {
    static const char *const names[] = {"from"};
    const tra_ast *from = NULL;
    if (w->call->nkids < 2) return tra_table_refuse(w, w->call, "limit has a table and a number of rows"), NULL;
    if (!tra_build_int(w->b, w->call->kids[1], "a number of rows", 0, &w->op.count)) return NULL;
    if (!tra_table_named(w, 2, 1, names, &from)) return NULL;
    if (from && !tra_build_int(w->b, from, "the number of a row", 0, &w->op.from)) return NULL;
    if (w->in->type.cat->grid && w->in->type.cat->n > 1)
        return tra_table_note(w, tra_table_limit_parts(w, w->op.from, w->op.count));
    tra_sort sort = {.in = w->in->type.columns, .from = w->op.from, .count = w->op.count};
    return sort_rows(w, &sort, TRA_ROWS_MOST);
}
