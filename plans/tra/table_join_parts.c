/* table_join_parts.c - joins whose right table does not fit into memory beside a left block.
 *
 * The right table becomes parts by ranges of the keys. Of each left block, the keys and the numbers of rows are sorted
 * and cut into slices at the same ranges. Each slice is joined with its part, which finds partners for numbers of rows.
 * These are brought together for each left block and put beside its rows, so that the other columns of the left table
 * are not moved. If each row has one partner at most, no more comes together than the block has rows. */
#include "table_parts.h"

#include <string.h>

/* The keys of one operand, computed, and n more of its columns. Key i has the name of column named[i]. */
static tra_node *keys_and_columns(tra_table_builder *w, tra_node *in, int nkeys, const tra_colexpr *const *key,
                                  const int *named, int n, const int *column) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    tra_projection p = {.arena = a};
    for (int i = 0; i < nkeys + n; i++) {
        bool is_key = i < nkeys;
        int c = is_key ? named[i] : column[i - nkeys];
        const char *name = is_key ? s->v[c].name : tra_arena_printf(a, "%d. %s", i, s->v[c].name);
        for (int j = 0; j < i && j < nkeys; j++)
            if (strcmp(name, p.names[j]) == 0) name = tra_arena_printf(a, "%d. %s", i, name);
        tra_projection_add(&p, name, is_key ? key[i] : tra_colexpr_column(a, s, c));
    }
    const tra_rowwise *r = tra_projection_pass(&p, s);
    tra_rows_kernel op = tra_rows_op(&tra_rowwise_ops, r, tra_rowwise_out(r));
    op.flops = 1 + nkeys;
    return tra_table_kernel(w, in, NULL, 0, 0, &op);
}

/* What messages call the right table. */
static const char *right_name(const tra_lookup_spec *s) { return s->name[1] ? s->name[1] : "right"; }

/* Which rows a sort leaves out: those that match nothing because a key is NULL, or a time is. */
static void drop_nulls(const tra_lookup_spec *l, tra_arrange *x) {
    x->matching = !l->nulls_match || l->asof;
    x->free = l->nulls_match ? l->nkeys : 0;
}

/* Sorts the blocks of the right table, whose columns are the keys and what the join needs besides. The result has the
 * number of the row after the keys. */
static tra_node *sort_right(tra_table_builder *w, const tra_lookup_spec *l, tra_node *rows, tra_arrange_keep keep) {
    tra_arena *a = w->b->arena;
    if (!rows) return NULL;
    const tra_schema *s = rows->type.columns;
    int n = tra_lookup_compared(l);
    tra_column *v = tra_news(a, tra_column, s->n + 1);
    int *from = tra_news(a, int, s->n + 1);
    for (int c = 0, at = 0; c <= s->n; c++) {
        from[c] = c == n ? -1 : at++;
        if (from[c] >= 0) v[c] = s->v[from[c]];
    }
    v[n] = (tra_column){.name = tra_table_free_name(a, s, "row"), .type = TRA_COL_I64};
    tra_schema *out = tra_new(a, tra_schema);
    *out = (tra_schema){s->n + 1, v};
    tra_arrange x = {.in = s, .out = out, .from = from, .n = n, .column = tra_table_counting(a, n, 0)};
    drop_nulls(l, &x);
    x.keep = keep;
    x.number = -1;
    x.what = "a key of the join";
    x.name = right_name(l);
    return tra_table_sort_blocks(w, rows, &x);
}

/* What the columns of the right operand are called beside those of the left one, none of which is called so. */
static const char *prefix_beside(tra_arena *a, const tra_schema *left) {
    const char *prefix = "r. ";
    for (int i = 0; i < left->n; i++) {
        if (strncmp(left->v[i].name, prefix, strlen(prefix)) != 0) continue;
        prefix = tra_arena_printf(a, "%sr. ", prefix);
        i = -1;
    }
    return prefix;
}

/* Joins slices with the parts of the right table: for each partner of a left row the number of the row, which is the
 * slice's last column, and the nwanted columns that follow the number in the part. one: at most one partner of each
 * row comes out; filters: the row's number alone. */
static tra_node *join_parts(tra_table_builder *w, tra_node *left, tra_node *right, const tra_lookup_spec *s,
                            int nwanted, bool filters, const tra_colexpr *where, const tra_join_size *size) {
    tra_arena *a = w->b->arena;
    if (!left || !right) return NULL;
    tra_lookup *own;
    const tra_schema *l = left->type.columns, *r = right->type.columns;
    const int *key = tra_table_counting(a, tra_lookup_compared(s), 0);
    int from = l->n + tra_lookup_compared(s) + 1;
    bool one = s->unique || s->asof || filters;
    tra_lookup_spec by = {l, r, filters ? TRA_LOOKUP_SEMI : TRA_LOOKUP_INNER, s->nkeys, key, key, .asof = s->asof};
    by.prefix = prefix_beside(a, l);
    by.nulls_match = s->nulls_match;
    by.numbered[0] = l->n;
    by.numbered[1] = tra_lookup_compared(s) + 1;
    by.unique = s->unique;
    by.name[1] = s->name[1];
    if (!(own = tra_join_lookup(w, &by, w->call))) return NULL;
    if (where) tra_lookup_where(own, where);
    bool *keep = tra_news(a, bool, tra_lookup_out(own)->n + 1);
    for (int i = 0; i < tra_lookup_out(own)->n; i++) {
        int c = tra_lookup_from(own)[i];
        keep[i] = c == l->n - 1 || (c >= from && c < from + nwanted);
    }
    const tra_lookup *kept = tra_lookup_keeping(a, own, keep);
    tra_rows_kernel op = tra_rows_op(&tra_lookup_ops, kept, tra_lookup_out(kept));
    op.extent = one ? TRA_ROWS_SAME : TRA_ROWS_PRODUCT;
    op.each = one || size->partners_most == INT64_MAX ? 0 : size->partners_most, op.all = one ? 0 : size->rows_most;
    op.most = one ? 0 : size->block_most;
    op.counts = true, op.share = one ? 1 : tra_table_join_share(size, &left->type, &right->type);
    op.divides = one && !where, op.flops = TRA_LOOKUP_FLOPS;
    return tra_table_kernel(w, left, right, 1, 0, &op);
}

/* Puts what was found for the rows of each left block beside them, as the kind of join asks. right: the right table. */
static tra_node *place_found(tra_table_builder *w, const tra_lookup *l, const tra_lookup_spec *s, tra_node *left,
                             tra_node *found, const tra_node *right, const tra_join_size *size) {
    static const tra_place_how hows[] = {[TRA_LOOKUP_INNER] = TRA_PLACE_INNER,
                                         [TRA_LOOKUP_LEFT] = TRA_PLACE_LEFT,
                                         [TRA_LOOKUP_SEMI] = TRA_PLACE_SEMI,
                                         [TRA_LOOKUP_ANTI] = TRA_PLACE_ANTI,
                                         [TRA_LOOKUP_KEEP] = TRA_PLACE_KEEP};
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, keeps = s->how == TRA_LOOKUP_KEEP;
    bool once = s->unique || s->asof || filters || keeps; /* each left row comes out once at most */
    bool has_all = keeps || (once && !filters && (s->how == TRA_LOOKUP_LEFT || s->matched));
    if (!found) return NULL;
    int64_t rows = left->type.cat->bound.v[0], more = found->type.cat->bound.v[0];
    const tra_schema *out = tra_lookup_out(l);
    tra_placing *p = tra_new(w->b->arena, tra_placing);
    *p = (tra_placing){.left = s->left, .right = found->type.columns, .out = out, .how = hows[s->how], .join = l};
    p->rows = rows;
    p->matched = s->matched;
    p->name = s->name[0] ? s->name[0] : "left";
    tra_rows_kernel op = tra_rows_op(&tra_place_ops, p, out);
    op.extent = once ? TRA_ROWS_SAME : TRA_ROWS_RIGHT;
    double share = s->how == TRA_LOOKUP_ANTI ? 1 - size->matched : once ? size->matched : 1;
    op.most = s->how == TRA_LOOKUP_LEFT ? tra_add_most(rows, more) : more, op.all = once ? 0 : size->rows_most;
    op.counts = !has_all, op.share = share, op.divides = once, op.flops = 10;
    tra_node *n = tra_table_kernel(w, left, found, 0, 0, &op);
    if (n && keeps) n->rows = left->rows;
    if (n) n->join.partners = right;
    return n;
}

/* The keys of the left table, nmore of its columns, and the numbers of its rows, sorted block by block. */
static tra_node *sort_left(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *rows,
                           int nmore, const int *more) {
    tra_arena *a = w->b->arena;
    int n = tra_lookup_compared(s);
    tra_node *keys = keys_and_columns(w, rows, n, tra_lookup_left_keys(l), s->lkey, nmore, more);
    if (!keys) return NULL;
    const int *column = tra_table_counting(a, n, 0);
    tra_arrange x = tra_table_sorting(a, keys->type.columns, true, n, column, NULL, "a key of the join");
    drop_nulls(s, &x);
    return tra_table_sort_blocks(w, keys, &x);
}

/* ---- further conditions ------------------------------------------------------------------------------------- */

/* The columns that a condition reads of one operand, whose n columns are those of the pair from `from` on. pair: how
 * many columns the pair has. Writes their numbers in the operand, and returns how many there are. */
static int columns_read(tra_arena *a, const tra_colexpr *condition, int from, int n, int pair, const int **out) {
    bool *read = tra_news(a, bool, pair + 1);
    int *v = tra_news(a, int, n + 1), found = 0;
    if (condition) tra_colexpr_columns(condition, read);
    for (int c = 0; c < n; c++)
        if (read[from + c]) v[found++] = c;
    *out = v;
    return found;
}

/* The condition over the columns of a slice and a part. The slice has keys, the columns `more` of the left table, and
 * the number of the row; the part has keys, the number, columns that the result wants, and the columns more_right. */
static const tra_colexpr *over_slice_and_part(tra_arena *a, const tra_lookup *l, const tra_schema *slice,
                                              const tra_schema *part, int nmore, const int *more, int nright,
                                              const int *more_right) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    const tra_colexpr *x = tra_lookup_condition(l), **by;
    int n = slice->n + part->n, pair = s->left->n + s->right->n;
    if (!x) return NULL;
    tra_column *v = tra_news(a, tra_column, n);
    const tra_schema both = {n, v};
    for (int c = 0; c < n; c++) v[c] = c < slice->n ? slice->v[c] : part->v[c - slice->n];
    by = tra_news(a, const tra_colexpr *, pair + 1);
    for (int i = 0; i < nmore; i++) by[more[i]] = tra_colexpr_column(a, &both, tra_lookup_compared(s) + i);
    for (int i = 0; i < nright; i++) by[s->left->n + more_right[i]] = tra_colexpr_column(a, &both, n - nright + i);
    return tra_colexpr_substitute(a, x, by);
}

/* ---- the join ----------------------------------------------------------------------------------------------- */

tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const tra_division *d, const tra_join_size *size) {
    tra_arena *a = w->b->arena;
    const tra_colexpr *where = tra_lookup_condition(l);
    bool found_or_not = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI || s->how == TRA_LOOKUP_KEEP;
    bool first = found_or_not && !where, one_partner = s->unique || first; /* of each key one right row is enough */
    tra_arrange_keep keep = s->unique ? TRA_ARRANGE_UNIQUE : first ? TRA_ARRANGE_FIRST : TRA_ARRANGE_ALL;

    /* what is needed of both tables besides the keys */
    int nwanted = tra_lookup_out(l)->n - s->left->n, pair = tra_lookup_pair(l)->n;
    const int *more, *more_right;
    int nmore = columns_read(a, where, 0, s->left->n, pair, &more);
    int nright = columns_read(a, where, s->left->n, s->right->n, pair, &more_right);
    int *wanted = tra_news(a, int, nwanted + nright + 1);
    for (int i = 0; i < nwanted; i++) wanted[i] = tra_lookup_from(l)[s->left->n + i] - s->left->n;
    for (int i = 0; i < nright; i++) wanted[nwanted + i] = more_right[i];

    /* the right table, sorted and in parts */
    int n = tra_lookup_compared(s);
    tra_node *rows = keys_and_columns(w, right, n, tra_lookup_right_keys(l), s->rkey, nwanted + nright, wanted);
    tra_node *blocks = sort_right(w, s, tra_table_make_runs(w, rows, d), keep);
    if (!blocks) return NULL;
    tra_part_keys by = {n + !one_partner, tra_table_counting(a, n, n), NULL};
    tra_node *ranges = tra_table_part_ranges(w, blocks, &by, d);
    const tra_asof *asof = s->asof;
    tra_slice_ends own = {.before = asof && asof->way != TRA_ASOF_AFTER, .after = asof && asof->way != TRA_ASOF_BEFORE};
    int64_t part_rows = tra_add_most(d->part_rows, (own.before + own.after) * d->runs);
    tra_node *parts = tra_table_concat(w, tra_table_slice_blocks(w, blocks, ranges, &by, own, d), 0, part_rows);
    if (!parts) return NULL;

    /* the left table, sorted and cut at the same ranges */
    tra_node *sorted = sort_left(w, s, l, left, nmore, more);
    if (!sorted) return NULL;
    tra_part_keys compared = {n, by.column, NULL};
    bool below = asof && (asof->way == TRA_ASOF_AFTER) != asof->strict; /* which part rows equal to its end belong to */
    tra_slice_ends ends = {.closed = asof ? below : !one_partner, .open = below};
    tra_node *slices = tra_table_slice_blocks(w, sorted, ranges, &compared, ends, d);
    if (!slices) return NULL;

    /* partners, for the left blocks */
    const tra_colexpr *on =
        over_slice_and_part(a, l, slices->type.columns, parts->type.columns, nmore, more, nright, more_right);
    tra_node *found = join_parts(w, slices, parts, s, nwanted, found_or_not, on, size);
    int64_t partners = one_partner || asof ? 1
                       : found_or_not      ? tra_min64(d->parts, size->partners_most) /* one of each part */
                                           : size->partners_most;
    int64_t most = partners == INT64_MAX ? 0 : tra_mul_most(left->type.cat->bound.v[0], partners);
    if (size->block_most) most = tra_min64(most ? most : INT64_MAX, size->block_most);
    found = tra_table_concat(w, found, 1, most);
    return place_found(w, l, s, left, found, right, size);
}
