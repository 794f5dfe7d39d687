/* table_group.c - group: the groups of each block first, where aggregates have states, then those of all blocks. */
#include "../../lib/table/tensor_rows.h"
#include "cardinality.h"
#include "table_join_order.h"
#include "table_parts.h"

#include <math.h>
#include <string.h>

/* ---- arguments ---------------------------------------------------------------------------------------------- */

/* Is there a key or an aggregate of this name? */
static bool is_taken(const tra_table_builder *w, const char *name) {
    if (tra_names_find(&w->terms, name) >= 0) return true;
    for (int i = 0; i < w->op.naggs; i++)
        if (strcmp(w->op.agg[i].name, name) == 0) return true;
    return false;
}

/* The name of an aggregate that the program gives none: count, or mean_a of a column a. NULL: it needs one. */
static const char *default_name(const tra_table_builder *w, const tra_ast *call) {
    if (call->kind != TRA_AST_CALL || tra_aggregate_find(call->text) < 0) return NULL;
    if (call->nkids == 0) return call->text;
    if (call->kids[0]->kind != TRA_AST_NAME) return NULL;
    return tra_arena_printf(w->b->arena, "%s_%s", call->text, call->kids[0]->text);
}

/* The expression of an argument. */
static bool read_operand(tra_table_builder *w, const tra_ast *x, const char *name, tra_table_term *operand) {
    tra_table_scope sc = tra_table_scope_of(w);
    if (!tra_table_build_term(&sc, name, x, operand)) return false;
    if (!operand->x->untyped) return true;
    return tra_diag_error(w->b->d, x->span, "write if(false, 0, null) for a NULL among integers",
                          "null alone has no type");
}

/* Reads one argument, name = sum(x), name = quantile(x, q) or name = corr(x, y), to *to, and its expressions to
 * operand[0] and operand[1]. */
static bool read_aggregate(tra_table_builder *w, const tra_ast *x, tra_table_agg *to, tra_table_term *operand) {
    const tra_ast *call = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
    bool called = call->kind == TRA_AST_CALL;
    int f = called ? tra_aggregate_find(call->text) : -1;
    const char *name = x->kind == TRA_AST_NAMED ? x->text : default_name(w, call);
    bool unknown = called && f < 0;
    if (!name && !unknown) return tra_table_refuse(w, x, "an aggregate has a name: n = count()");
    if (f < 0)
        return tra_diag_error(w->b->d, call->span, called ? tra_build_named_here(w->b->arena, call->text) : NULL,
                              "an aggregate is expected here: count, sum, mean, min, max, ...");
    bool pair = tra_aggregate_has_two((tra_aggregate)f);
    int nargs = f == TRA_AGGREGATE_QUANTILE || pair ? 2 : 1;
    if (f == TRA_AGGREGATE_COUNT && call->nkids == 1 && call->kids[0]->kind == TRA_AST_STAR)
        return tra_diag_error(w->b->d, call->span, NULL, "write count(), the number of rows");
    if (call->nkids != nargs && !(f == TRA_AGGREGATE_COUNT && call->nkids == 0))
        return tra_diag_error(w->b->d, call->span, NULL, "%s has %d argument%s, not %d", call->text, nargs,
                              nargs == 1 ? "" : "s", call->nkids);
    if (is_taken(w, name))
        return tra_diag_error(w->b->d, x->span, "give one of them another name", "there are two columns '%s'", name);
    *to = (tra_table_agg){.name = name, .f = (tra_aggregate)f};
    operand[0] = operand[1] = (tra_table_term){0};
    if (f == TRA_AGGREGATE_QUANTILE) {
        if (!tra_build_number(w->b, call->kids[1], &to->q)) return false;
        if (!(to->q >= 0 && to->q <= 1)) return tra_table_refuse(w, call->kids[1], "a quantile is from 0 to 1");
    }
    if (call->nkids == 0) return true;
    if (!read_operand(w, call->kids[0], name, operand)) return false;
    to->ast = operand->ast;
    if (pair && !read_operand(w, call->kids[1], tra_arena_printf(w->b->arena, "%s, 2", name), operand + 1))
        return false;
    to->by = operand[1].ast;
    return true;
}

/* A table that has the keys as its first columns, then the operands of aggregates, a column that several aggregates
 * take only once. Sets columns[i] to aggregate i over these columns. */
static tra_node *project_operands(tra_table_builder *w, const tra_table_term *operand, tra_group_column *columns) {
    tra_projection p = {.arena = w->b->arena};
    for (int i = 0; i < w->op.nterms; i++) tra_projection_add(&p, w->op.term[i].name, w->op.term[i].x);
    for (int i = 0; i < w->op.naggs; i++) {
        const tra_table_agg *g = &w->op.agg[i];
        columns[i] = (tra_group_column){.name = g->name, .f = g->f, .column = -1, .q = g->q};
        for (int j = 0; j < (g->by ? 2 : g->ast ? 1 : 0); j++) {
            const tra_colexpr *own = operand[2 * i + j].x;
            int at = -1;
            for (int k = w->op.nterms; k < p.n && own->op == TRA_C_COLUMN; k++)
                if (p.x[k]->op == TRA_C_COLUMN && p.x[k]->column == own->column) at = k;
            if (at < 0) at = tra_projection_add(&p, operand[2 * i + j].name, own);
            *(j ? &columns[i].second : &columns[i].column) = at;
        }
    }
    const tra_schema *s = w->in->type.columns;
    if (p.n == 0) tra_projection_keep(&p, s, 0); /* count() alone takes any column, since a table must have one */
    return tra_table_rowwise(w, tra_projection_pass(&p, s), NULL, false, 1);
}

/* ---- passes ------------------------------------------------------------------------------------------------- */

/* The groups that are expected as a share of the rows for which the results of a pass over `in` have room, at most
 * `most` for each block. */
static double share_of_room(const tra_node *in, int64_t most, double groups) {
    enum { MAXBLOCKS = 1024 }; /* more are estimated by the first ones */
    const tra_catalog *c = in->type.cat;
    double room = 0, possible = (double)tra_max64(1, tra_catalog_elements(c));
    tra_dims ext;
    for (int64_t i = 0; i < c->n && i < MAXBLOCKS; i++) {
        tra_catalog_ext(c, i, &ext);
        room += (double)tra_min64(most, ext.v[0]);
    }
    if (c->n > MAXBLOCKS) room *= (double)c->n / MAXBLOCKS;
    if (most >= c->bound.v[0]) room *= (double)tra_type_entries(&in->type).expected / possible;
    return room > groups ? groups / room : 1;
}

/* The expressions of the keys. */
static const tra_colexpr *const *key_expressions(const tra_table_builder *w) {
    const tra_colexpr **x = tra_news(w->b->arena, const tra_colexpr *, w->op.nterms + 1);
    for (int k = 0; k < w->op.nterms; k++) x[k] = w->op.term[k].x;
    return x;
}

/* Operations of each row of a pass with so many groups for a row: its group is found by a list of places or a hash
 * table, and its values are added there; groups are put in order, gathered and written. Where most rows are groups of
 * their own and have no places, all rows are sorted instead, and each aggregate goes through them in that order. */
static double pass_flops(const tra_group_column *v, int nkeys, int naggs, double groups, bool places) {
    static const double STEP = 5; /* operations; others in steps: */
    static const double FIND = 0.5, GROUP = 4, GATHER = 2, SUM = 1, VALUE = 3, MOMENTS = 5, POWERS = 8;
    static const double SORT = 15, KEY = 2.5, TAKE = 10;
    double direct = FIND * (1 + nkeys) + groups * (GROUP + GATHER * (nkeys + naggs));
    double sorted = SORT + KEY * nkeys + TAKE * naggs;
    bool sorts = groups > TRA_TABLE_HASHED_SHARE && !places;
    for (int i = 0; i < naggs; i++) {
        tra_aggregate_way way = tra_aggregate_way_of(v[i].f);
        bool powers = way == TRA_WAY_POWERS || way == TRA_WAY_PAIR || way == TRA_WAY_RANKED;
        direct += powers ? POWERS : way == TRA_WAY_MOMENTS ? MOMENTS : way == TRA_WAY_SUM ? SUM : VALUE;
        direct -= way == TRA_WAY_COUNT ? VALUE : 0;
        sorts |= way == TRA_WAY_DIFFERENT;
    }
    return STEP * (sorts && nkeys > 0 ? sorted : direct);
}

/* The groups that so many successive rows are expected to have. */
static double groups_expected(const tra_table_builder *w, const tra_node *rows, double each) {
    const int *key = tra_table_counting(w->b->arena, w->op.nterms, 0);
    const tra_colexpr *const *x = key_expressions(w);
    double groups = tra_table_groups_expected(rows->type.columns, w->op.nterms, rows, key, x, each);
    return x ? fmax(groups, each * tra_table_counted_share(w->in, w->op.nterms, x)) : groups;
}

/* One pass (lib/table/group.h) over `in`, which is `rows`, all rows in one block, or states of them; or with wide,
 * PARTIAL of what pivot makes of `in`. */
static tra_node *group_pass(tra_table_builder *w, tra_node *in, const tra_node *rows, const tra_group_column *columns,
                            tra_group_pass pass, const tra_pivot_key *wide) {
    static const char *const passes[] = {"partial ", "final ", ""};
    tra_group *g;
    tra_err e = {0};
    const tra_schema *s = rows->type.columns;
    if (!in) return NULL;
    if (tra_group_new(w->b->arena, s, w->op.nterms, w->op.naggs, columns, pass, &g, &e) != TRA_OK)
        return tra_diag_error(w->b->d, w->call->span, NULL, "%s", e.msg);
    bool one_group = w->op.nterms == 0 && pass != TRA_GROUP_PARTIAL;
    const tra_colexpr *const *x = key_expressions(w);
    int64_t most = tra_max64(1, tra_table_groups_most(w->in, s, w->op.nterms, x));
    int64_t combinations = tra_max64(1, tra_table_combinations_most(w->in, w->op.nterms, x));
    most = tra_min64(most, combinations);
    tra_group_bound(g, most);
    tra_pivot_wide *p = tra_new(w->b->arena, tra_pivot_wide);
    if (wide) *p = (tra_pivot_wide){.in = in->type.columns, .key = *wide, .g = g, .most = most};
    double blocks = pass == TRA_GROUP_PARTIAL ? (double)tra_max64(1, in->type.cat->n) : 1;
    double each = (double)tra_type_entries(&rows->type).expected / blocks;
    double groups = blocks * groups_expected(w, rows, each);
    tra_rows_kernel op = tra_rows_op(&tra_group_ops, g, tra_group_out(g));
    if (wide) op.ops = &tra_pivot_wide_ops, op.data = p;
    op.label = tra_arena_printf(w->b->arena, "%s%s", passes[pass], tra_table_call_text(w));
    op.extent = one_group ? TRA_ROWS_ONE : TRA_ROWS_MOST, op.most = most, op.counts = !one_group;
    op.share = share_of_room(in, most, groups), op.divides = true;
    op.all = pass == TRA_GROUP_PARTIAL || most == INT64_MAX ? 0 : most;
    double block = fmax(1, (double)tra_type_entries(&in->type).expected / (double)tra_max64(1, in->type.cat->n));
    double share = fmin(1, groups / blocks / block);
    bool places = pass == TRA_GROUP_FINAL || (double)combinations <= block; /* parts have few keys */
    op.flops = pass_flops(columns, w->op.nterms, wide ? 1 : w->op.naggs, share, places);
    return tra_table_kernel(w, in, NULL, 0, 0, &op);
}

/* Brings the states of all blocks together: in one block, or, where they may be too many for that, in parts by ranges
 * of the keys, by which the states of each block are sorted already. */
static tra_node *gather_states(tra_table_builder *w, tra_node *partial) {
    tra_division d;
    if (!partial) return NULL;
    const tra_schema *s = partial->type.columns;
    const int *key = tra_table_counting(w->b->arena, w->op.nterms, 0);
    tra_part_keys by = {w->op.nterms, key, NULL};
    tra_division_input x = {.columns = s, .whole_share = 1, .may_run = true};
    x.key_bytes = tra_schema_row_bytes(tra_table_subschema(w->b->arena, s, by.n, key, false));
    x.likely = tra_table_rows_likely(w, partial);
    if (w->op.nterms == 0 || !tra_table_divide(partial->type.cat, &x, &d)) return tra_table_one_block(w, partial, 1);
    if (d.run_blocks > 1) {
        tra_arrange sort = tra_table_sorting(w->b->arena, s, false, by.n, key, NULL, "a key");
        partial = tra_table_sort_blocks(w, tra_table_make_runs(w, partial, &d), &sort);
    }
    return tra_table_make_parts(w, partial, &by, &d);
}

/* Does the aggregate have the same bits in whatever order values are brought together? */
static bool is_exact(const tra_schema *s, const tra_group_column *v) {
    tra_aggregate_way way = tra_aggregate_way_of(v->f);
    if (way == TRA_WAY_MOMENTS || way == TRA_WAY_POWERS || way == TRA_WAY_PAIR) return false;
    return way != TRA_WAY_SUM || !tra_coltype_is_float(s->v[v->column].type);
}

double tra_table_group_share(const tra_table_builder *w, const tra_node *rows) {
    double each = (double)tra_type_entries(&rows->type).expected / (double)tra_max64(1, rows->type.cat->n);
    double groups = groups_expected(w, rows, each);
    return each > 0 ? groups / each : 0;
}

/* Is one pass over all rows better than states of each block? It is where nearly every row of a block is expected to be
 * a group of its own, since states would then take more memory than the rows and as much time as the groups, and where
 * the rows need not be divided into parts. */
static bool one_pass_is_better(const tra_table_builder *w, const tra_node *rows, const tra_group_column *columns) {
    const tra_schema *s = rows->type.columns;
    tra_division d;
    tra_division_input x = {.columns = s, .key_bytes = tra_schema_row_bytes(s), .whole_share = 1};
    x.numbered = x.may_run = true;
    for (int i = 0; i < w->op.naggs; i++)
        if (!is_exact(s, &columns[i])) return false;
    return w->op.nterms > 0 && tra_table_group_share(w, rows) > 0.9 && !tra_table_divide(rows->type.cat, &x, &d);
}

tra_node *tra_table_group_rows(tra_table_builder *w, tra_node *rows, const tra_group_column *columns, bool states) {
    if (!states || rows->type.cat->n == 1 || one_pass_is_better(w, rows, columns))
        return group_pass(w, tra_table_one_block(w, rows, 1), rows, columns, TRA_GROUP_WHOLE, NULL);
    tra_node *partial = group_pass(w, rows, rows, columns, TRA_GROUP_PARTIAL, NULL);
    return group_pass(w, gather_states(w, partial), rows, columns, TRA_GROUP_FINAL, NULL);
}

tra_node *tra_table_group_wide(tra_table_builder *w, const tra_pivot_key *key, const tra_group_column *columns) {
    tra_arena *a = w->b->arena;
    int nkeys = w->op.nterms;
    const tra_schema *s;
    tra_column *v = tra_schema_beside(a, NULL, nkeys + w->op.naggs, &s);
    tra_node *rows = tra_new(a, tra_node); /* as if each row had a column for each value */
    memcpy(v, w->in->type.columns->v, (size_t)nkeys * sizeof *v);
    for (int i = 0; i < w->op.naggs; i++) {
        v[nkeys + i] = w->in->type.columns->v[nkeys + 1];
        v[nkeys + i].name = columns[i].name;
        v[nkeys + i].nullable = true;
    }
    *rows = *w->in;
    rows->type.columns = s;
    tra_node *partial = group_pass(w, w->in, rows, columns, TRA_GROUP_PARTIAL, key);
    return group_pass(w, gather_states(w, partial), rows, columns, TRA_GROUP_FINAL, NULL);
}

/* Do the groups, or their aggregates, depend on the order of rows? Of keys -0 and 0 the first one stands for both. */
static bool goes_by_order(const tra_table_builder *w) {
    bool does = false;
    for (int k = 0; k < w->op.nterms; k++) does |= tra_coltype_is_float(w->op.term[k].x->type);
    for (int i = 0; i < w->op.naggs; i++) {
        tra_aggregate_way way = tra_aggregate_way_of(w->op.agg[i].f);
        does |= way == TRA_WAY_END || way == TRA_WAY_BY;
    }
    return does;
}

/* ---- the operator ------------------------------------------------------------------------------------------- */

tra_node *tra_table_group(tra_table_builder *w) {
    const tra_ast *list = w->call->nkids > 1 ? w->call->kids[1] : NULL;
    int n = w->call->nkids - 2;
    bool ok = true, states = true;
    if (!list || list->kind != TRA_AST_LIST)
        return tra_table_refuse(w, list ? list : w->call, "the keys of groups stand in a list, which may be empty");
    for (int i = 0; i < n; i++) {
        const tra_ast *x = w->call->kids[i + 2], *call = x->kind == TRA_AST_NAMED ? x->kids[0] : x;
        if (call->kind == TRA_AST_CALL && tra_is_composed_aggregate(call->text)) return tra_table_group_composed(w);
    }
    for (int i = 0; i < list->nkids; i++) ok = tra_table_add_term(w, list->kids[i]) && ok;
    tra_table_agg *agg = tra_news(w->b->arena, tra_table_agg, n + 1);
    tra_table_term *operand = tra_news(w->b->arena, tra_table_term, 2 * (n + 1));
    tra_group_column *columns = tra_news(w->b->arena, tra_group_column, n + 1);
    w->op.agg = agg;
    for (int i = 0; i < n; i++) {
        int at = w->op.naggs; /* those that could not be read leave no gap */
        bool read = read_aggregate(w, w->call->kids[i + 2], &agg[at], &operand[2 * at]);
        w->op.naggs += read;
        states = states && tra_aggregate_has_states(agg[at].f);
        ok = ok && read;
    }
    if (!ok) return NULL;
    if (w->op.nterms + n == 0) return tra_table_refuse(w, w->call, "a table has columns, and this one would have none");
    int errors = w->b->d->errors;
    tra_node *unordered = goes_by_order(w) ? NULL : tra_table_in_any_order(w);
    if (unordered) w->in = unordered;
    tra_node *shared = tra_table_group_shared(w, operand);
    if (shared || w->b->d->errors > errors) return shared;
    tra_node *below = tra_table_group_joined(w, operand);
    if (below) return below;
    tra_node *rows = project_operands(w, operand, columns);
    if (!rows) return NULL;
    w->op.rows = rows, w->op.aggregated = columns;
    bool parts = !states && tra_table_divides_groups(w, rows, columns);
    return tra_table_record(w, parts ? tra_table_group_parts(w, rows, columns)
                                     : tra_table_group_rows(w, rows, columns, states));
}
