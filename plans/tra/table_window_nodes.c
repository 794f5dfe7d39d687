/* table_window_nodes.c - what a window is computed of.
 *
 * Keys, order and operands become columns of a table of their own, with the numbers of the rows. Sorted, it gives
 * the functions of each row, which are brought back to the blocks of the operand by these numbers and put beside its
 * rows. So the other columns are not moved. Aggregates of whole groups need no order: they are a group, with which the
 * rows are joined.
 */
#include "cardinality.h"
#include "table_parts.h"

#include <math.h>
#include <string.h>

/* ---- the table of keys, order and operands ----------------------------------------------------------------------- */

int tra_window_add_operand(tra_projection *o, const tra_colexpr *x) {
    for (int k = 0; k < o->n && x->op == TRA_C_COLUMN; k++)
        if (o->x[k]->op == TRA_C_COLUMN && o->x[k]->column == x->column) return k;
    return tra_projection_add(o, tra_arena_printf(o->arena, "%d", o->n), x);
}

/* The operand of a function as the kernel takes it: totals of shares are of floats. */
static const tra_colexpr *as_operand(tra_arena *a, tra_window_function f, const tra_colexpr *x) {
    if (f != TRA_WINDOW_SHARE) return x;
    return tra_colexpr_convert(a, x, TRA_COL_F64, NULL, &x, NULL) == TRA_OK ? x : NULL;
}

/* The table of them: a table has a column. */
static tra_node *project_operands(tra_table_builder *w, tra_projection *o) {
    if (o->n == 0) tra_window_add_operand(o, tra_colexpr_column(o->arena, w->in->type.columns, 0));
    return tra_table_columns(w, w->in, o);
}

/* Puts the functions beside the rows. top: beside the share of them that is kept. */
static tra_node *put_beside(tra_table_builder *w, tra_node *found, bool top, double kept) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = w->in->type.columns;
    if (!found) return NULL;
    const tra_schema *f = found->type.columns;
    const tra_schema *out = tra_table_schema(a, s, s->n, NULL, f->n - 1, f->v + 1);
    tra_placing *p = tra_new(a, tra_placing);
    *p = (tra_placing){.left = s,
                       .right = f,
                       .out = out,
                       .how = top ? TRA_PLACE_INNER : TRA_PLACE_KEEP,
                       .rows = w->in->type.cat->bound.v[0]};
    tra_rows_kernel op = tra_rows_op(&tra_place_ops, p, out);
    op.label = top ? "first of window beside rows" : "window beside rows";
    op.counts = top, op.share = kept, op.divides = true, op.flops = TRA_LOOKUP_FLOPS;
    tra_node *n = tra_table_kernel(w, w->in, found, 0, 0, &op);
    if (n && !top) n->rows = w->in->rows;
    return n;
}

tra_node *tra_table_window_beside(tra_table_builder *w, tra_node *found) { return put_beside(w, found, false, 1); }

/* ---- aggregates of whole groups ---------------------------------------------------------------------------------- */

bool tra_window_is_of_group(const tra_table_around *f) {
    return tra_window_way_of(f->f) >= TRA_WINDOW_FOLD && f->frame.open[0] && f->frame.open[1];
}

static tra_aggregate aggregate_of(tra_window_function f) {
    int g = tra_aggregate_find(tra_window_text(f == TRA_WINDOW_SHARE ? TRA_WINDOW_SUM : f));
    return (tra_aggregate)g;
}

/* The groups, of which each has the aggregates of these functions, n of them. */
static tra_node *make_groups(tra_table_builder *w, int n, const int *function) {
    tra_arena *a = w->b->arena;
    int nkeys = w->op.nkeys;
    tra_projection o = {.arena = a};
    tra_table_term *term = tra_news(a, tra_table_term, nkeys + 1);
    tra_table_agg *agg = tra_news(a, tra_table_agg, n + 1);
    tra_group_column *columns = tra_news(a, tra_group_column, n + 1);
    bool states = true;
    for (int k = 0; k < nkeys; k++) {
        const char *name = tra_arena_printf(a, "key %d", k);
        tra_projection_add(&o, name, w->op.term[k].x);
        term[k] = (tra_table_term){.name = name, .ast = tra_table_name_ast(a, name, w->call->span)};
    }
    for (int i = 0; i < n; i++) {
        const tra_table_around *f = &w->op.around[function[i]];
        const tra_colexpr *x = f->x;
        columns[i] = (tra_group_column){.name = f->name, .f = aggregate_of(f->f), .column = -1, .q = f->q};
        if (x) columns[i].column = tra_window_add_operand(&o, as_operand(a, f->f, x));
        agg[i] = (tra_table_agg){.name = f->name, .f = columns[i].f, .ast = f->ast, .q = f->q};
        states = states && tra_aggregate_has_states(columns[i].f);
    }
    tra_node *rows = project_operands(w, &o);
    tra_table_builder one = {.b = w->b, .call = w->call, .in = rows, .op.op = TRA_TABLE_GROUP};
    one.op.nterms = nkeys;
    one.op.term = term;
    one.op.naggs = n;
    one.op.agg = agg;
    if (!rows) return NULL;
    if (!states && tra_table_divides_groups(&one, rows, columns)) return tra_table_group_parts(&one, rows, columns);
    return tra_table_group_rows(&one, rows, columns, states);
}

/* The rows of n, which has the columns of w->in first, with the columns of the groups of their keys. */
static tra_node *join_groups(tra_table_builder *w, tra_node *n, tra_node *groups) {
    tra_arena *a = w->b->arena;
    if (!n || !groups) return NULL;
    const tra_schema *s = n->type.columns;
    int nkeys = w->op.nkeys, *key = tra_news(a, int, nkeys + 1);
    tra_projection o = {.arena = a};
    for (int c = 0; c < s->n; c++) tra_projection_keep(&o, s, c);
    for (int k = 0; k < nkeys; k++) {
        const tra_colexpr *x = w->op.term[k].x;
        key[k] =
            x->op == TRA_C_COLUMN ? x->column : tra_projection_add(&o, tra_arena_printf(a, "computed key %d", k), x);
    }
    if (o.n > s->n) n = tra_table_columns(w, n, &o);
    tra_table_builder both = {.b = w->b, .call = w->call, .in = n, .right = groups, .op.op = TRA_TABLE_JOIN};
    return n ? tra_table_join_by(&both, groups, nkeys, key, tra_table_counting(a, nkeys, 0)) : NULL;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* How many rows of n, whose first columns are the keys, are among the first `top` of their group. */
static tra_window_kept expect_kept(const tra_table_builder *w, const tra_node *n, int64_t top) {
    const tra_schema *s = n->type.columns;
    const int nkeys = w->op.nkeys, *column = tra_table_counting(w->b->arena, s->n, -1);
    double rows = fmax(1, (double)tra_type_entries(&n->type).expected), blocks = fmax(1, (double)n->type.cat->n);
    if (top == 0) return (tra_window_kept){1, 1};
    double all = tra_table_groups_expected(s, nkeys, n, column, NULL, rows);
    double each = tra_table_groups_expected(s, nkeys, n, column, NULL, rows / blocks);
    double kept = fmin(1, all * (double)top / rows);
    return (tra_window_kept){fmax(kept, fmin(1, blocks * each * (double)top / rows)), kept};
}

tra_window tra_window_of(tra_projection *o, const tra_table_op *op, const tra_colexpr *const *operand, int room,
                         const char **found) {
    tra_arena *a = o->arena;
    tra_window_column *v = tra_news(a, tra_window_column, 2 * op->narounds + room + 1);
    bool *desc = tra_news(a, bool, op->nterms + 1);
    tra_window x = {.nkeys = op->nkeys, .norder = op->nterms - op->nkeys, .desc = desc, .v = v};
    for (int k = 0; k < x.norder; k++) desc[k] = op->term[op->nkeys + k].desc;
    for (int i = 0; i < op->narounds; i++) {
        const tra_table_around *f = &op->around[i];
        if (tra_window_is_of_group(f)) continue;
        tra_window_column *to = &v[x.n++];
        *to = (tra_window_column){.name = f->name, .f = f->f, .column = -1, .n = f->n, .q = f->q, .frame = f->frame};
        if (f->x) to->column = tra_window_add_operand(o, as_operand(a, f->f, operand[i]));
        if (!f->other) continue;
        v[x.n] = *to;
        v[x.n].column = -1;
        found[i] = v[x.n++].name = tra_arena_printf(a, "%s is there", f->name);
    }
    return x;
}

/* The functions that see the order of rows; found[i]: the name of the column that says whether a row has the row of lag
 * or lead number i, which has a default. */
static tra_node *make_ordered(tra_table_builder *w, const char **found, int64_t top, tra_window_function by) {
    tra_arena *a = w->b->arena;
    tra_projection o = {.arena = a};
    const tra_colexpr **operand = tra_news(a, const tra_colexpr *, w->op.narounds + 1);
    tra_node *n;
    bool all = top == 0;
    for (int i = 0; i < w->op.nterms; i++) tra_projection_add(&o, tra_arena_printf(a, "%d", i), w->op.term[i].x);
    for (int i = 0; i < w->op.narounds; i++) {
        operand[i] = w->op.around[i].x;
        all = all && !tra_window_is_of_group(&w->op.around[i]);
    }
    if (all && tra_table_window_chain(w, found, &n)) return n;
    tra_window x = tra_window_of(&o, &w->op, operand, 0, found);
    x.top = top, x.by = by;
    if (x.n == 0) return w->in;
    n = project_operands(w, &o);
    if (!n) return NULL;
    tra_window_kept kept = expect_kept(w, n, top);
    return put_beside(w, tra_table_window_functions(w, n, &x, &kept), top > 0, kept.of_all);
}

/* What is computed of the functions at last: shares, and the defaults of lag and lead. */
static tra_node *finish(tra_table_builder *w, tra_node *n, const char *const *found) {
    tra_arena *a = w->b->arena;
    int m = w->in->type.columns->n, k = w->op.narounds;
    tra_projection o = {.arena = a};
    tra_err e = {0};
    if (!n) return NULL;
    const tra_schema *s = n->type.columns;
    bool same = s->n == m + k;
    for (int c = 0; c < m + k; c++) {
        int i = c - m, at = i < 0 ? c : tra_schema_find(s, w->op.around[i].name);
        const tra_colexpr *x = tra_colexpr_column(a, s, at);
        tra_projection_keep(&o, s, at);
        same = same && at == c;
        if (i < 0 || (!found[i] && w->op.around[i].f != TRA_WINDOW_SHARE)) continue;
        same = false;
        const tra_colexpr *kids[] = {w->op.around[i].x, x, w->op.around[i].other};
        if (found[i]) kids[0] = tra_colexpr_column(a, s, tra_schema_find(s, found[i]));
        if (tra_colexpr_call(a, found[i] ? TRA_C_IF : TRA_C_DIV, found[i] ? 3 : 2, kids, &o.x[c], &e) == TRA_OK)
            continue;
        return tra_diag_error(w->b->d, w->op.around[i].otherwise->span,
                              "the default of lag and lead is of the type of their values", "`%s`: %s",
                              w->op.around[i].name, e.msg);
    }
    return same ? n : tra_table_columns(w, n, &o);
}

tra_node *tra_table_window_nodes(tra_table_builder *w, int64_t top, tra_window_function by) {
    tra_arena *a = w->b->arena;
    int *grouped = tra_news(a, int, w->op.narounds + 1), n = 0;
    const char **found = tra_news(a, const char *, w->op.narounds + 1);
    for (int i = 0; i < w->op.narounds; i++)
        if (tra_window_is_of_group(&w->op.around[i])) grouped[n++] = i;
    tra_node *rows = make_ordered(w, found, top, by);
    if (n > 0) rows = join_groups(w, rows, make_groups(w, n, grouped));
    return finish(w, rows, found);
}

/* ---- the first rows of each group -----------------------------------------------------------------------------------
 */

/* Does the function depend on rows up to the row and its ties alone? ties: its ties are there where it is. */
static bool looks_back(const tra_table_around *f) {
    switch (tra_window_way_of(f->f)) {
    case TRA_WINDOW_PLACE: return f->f != TRA_WINDOW_NTILE;
    case TRA_WINDOW_MOVE: return f->f == TRA_WINDOW_LAG ? f->n >= 0 : f->n <= 0;
    case TRA_WINDOW_END:
    case TRA_WINDOW_FOLD:
    case TRA_WINDOW_RANKED: break;
    }
    return tra_window_is_of_group(f) || (!f->frame.open[1] && f->frame.whole[1] <= 0 && f->frame.real[1] <= 0);
}

/* The greatest value that the predicate lets a column have, and which column, from number `from` on, that is; else 0.
 * *share: of the values up to the greatest, how many it is expected to let there be. */
static int64_t most_of(const tra_colexpr *x, int from, int *column, double *share) {
    for (int i = 0; x->op == TRA_C_AND && i < x->nkids; i++) {
        int64_t most = most_of(x->kids[i], from, column, share);
        for (int k = 0; k < x->nkids && most > 0; k++) *share *= k == i ? 1 : tra_table_selectivity(x->kids[k]);
        if (most > 0) return most;
    }
    bool turned = x->op == TRA_C_GE || x->op == TRA_C_GT;
    if (x->nkids != 2 || (x->op != TRA_C_LE && x->op != TRA_C_LT && x->op != TRA_C_EQ && !turned)) return 0;
    const tra_colexpr *r = x->kids[turned], *n = x->kids[!turned];
    if (r->op != TRA_C_COLUMN || r->column < from || n->op != TRA_C_CONST || n->null || n->type != TRA_COL_I64)
        return 0;
    *column = r->column;
    int64_t most = tra_max64(1, n->value.i - (x->op == TRA_C_LT || x->op == TRA_C_GT));
    *share = x->op == TRA_C_EQ ? 1 / (double)most : 1;
    return most;
}

tra_node *tra_table_window_top(tra_table_builder *w, const tra_colexpr *predicate, double *share) {
    const tra_graph *g = w->b->g;
    const tra_table_op *op = w->in->table;
    int column = -1;
    if (!op || op->op != TRA_TABLE_WINDOW) return NULL;
    int own = op->in[0]->type.columns->n;
    int64_t top = most_of(predicate, own, &column, share);
    if (top == 0) return NULL;
    tra_window_function by = op->around[column - own].f;
    if (by != TRA_WINDOW_ROW_NUMBER && by != TRA_WINDOW_RANK && by != TRA_WINDOW_DENSE_RANK) return NULL;
    for (int i = 0; i < op->narounds; i++)
        if (!looks_back(&op->around[i])) return NULL;
    tra_table_builder one = {.b = w->b, .call = w->call, .in = g->v[op->in[0]->id], .op = *op};
    return tra_table_window_nodes(&one, top, by);
}
