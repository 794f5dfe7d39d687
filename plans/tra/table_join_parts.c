/* table_join_parts.c - joins whose right table does not fit into memory beside a left block.
 *
 * The right table becomes parts by ranges of the keys. Of each left block, the keys and the numbers of rows are sorted
 * and cut into slices at the same ranges. Each slice is joined with its part, which finds partners for numbers of rows.
 * These are brought together for each left block and put beside its rows, so that the other columns of the left table
 * are not moved. If each row has one partner at most, no more comes together than the block has rows.
 *
 * A join on ranges without keys has parts by a column that its condition compares, and a slice for a part has the left
 * rows that may meet it (band_parts.h). So a row may be in several slices, and find its partners in any order. */
#include "table_parts.h"

#include <math.h>
#include <string.h>

#include "../../lib/table/band_parts.h"

/* The columns by which both tables are sorted: the keys, or the first that the condition of a join on ranges compares.
 */
typedef struct sorting {
    int n;
    const tra_colexpr *const *key[2];
    const int *named[2];
    bool banded;
} sorting;

static sorting sorting_of(tra_arena *a, const tra_lookup *l) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    sorting x = {
        tra_lookup_compared(s), {tra_lookup_left_keys(l), tra_lookup_right_keys(l)}, {s->lkey, s->rkey}, false};
    if (x.n > 0) return x;
    x.n = 1, x.banded = true;
    for (int side = 0; side < 2; side++) {
        int *column = tra_news(a, int, 1);
        const tra_colexpr **key = tra_news(a, const tra_colexpr *, 1);
        *column = tra_band_column(l, side);
        *key = tra_colexpr_column(a, side ? s->right : s->left, *column);
        x.named[side] = column, x.key[side] = key;
    }
    return x;
}

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

/* Which rows a sort leaves out: those that match nothing because a key is NULL, or a time is. (Of ranges the condition
 * tells.) */
static void drop_nulls(const tra_lookup_spec *l, tra_arrange *x) {
    x->matching = tra_lookup_compared(l) > 0 && (!l->nulls_match || l->asof);
    x->free = l->nulls_match ? l->nkeys : 0;
}

/* Sorts the blocks of the right table, whose columns are the keys and what the join needs besides. The result has the
 * number of the row after the keys. */
static tra_node *sort_right(tra_table_builder *w, const tra_lookup_spec *l, int n, tra_node *rows,
                            tra_arrange_keep keep) {
    tra_arena *a = w->b->arena;
    if (!rows) return NULL;
    const tra_schema *s = rows->type.columns;
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

/* The join of slices and parts of these columns, which are sorted by the first `sorted` of them. */
static tra_lookup *part_lookup(tra_table_builder *w, const tra_schema *l, const tra_schema *r, const tra_lookup_spec *s,
                               int sorted, bool filters, const tra_colexpr *where) {
    tra_arena *a = w->b->arena;
    const int *key = tra_table_counting(a, tra_lookup_compared(s), 0);
    tra_lookup_spec by = {l, r, filters ? TRA_LOOKUP_SEMI : TRA_LOOKUP_INNER, s->nkeys, key, key, .asof = s->asof};
    by.prefix = prefix_beside(a, l);
    by.nulls_match = s->nulls_match;
    by.numbered[0] = l->n;
    by.numbered[1] = sorted + 1;
    by.unique = s->unique;
    by.name[1] = s->name[1];
    tra_lookup *own = tra_join_lookup(w, &by, w->call);
    if (own && where) tra_lookup_where(own, where);
    return own;
}

/* Joins slices with the parts of the right table: for each partner of a left row the number of the row, which is the
 * slice's last column; of ranges that of the partner too; and the nwanted columns that follow the number in the part.
 * one: at most one partner of each row comes out; filters: the row's number alone. */
static tra_node *join_parts(tra_table_builder *w, tra_node *left, tra_node *right, const tra_lookup_spec *s,
                            const tra_lookup *own, const sorting *by, int nwanted, bool filters,
                            const tra_join_size *size) {
    tra_arena *a = w->b->arena;
    const tra_schema *l = left->type.columns;
    int number = l->n + by->n;
    bool one = s->unique || s->asof || filters;
    bool *keep = tra_news(a, bool, tra_lookup_out(own)->n + 1);
    for (int i = 0; i < tra_lookup_out(own)->n; i++) {
        int c = tra_lookup_from(own)[i];
        keep[i] = c == l->n - 1 || (c == number && by->banded) || (c > number && c <= number + nwanted);
    }
    const tra_lookup *kept = tra_lookup_keeping(a, own, keep);
    tra_rows_kernel op = tra_rows_op(&tra_lookup_ops, kept, tra_lookup_out(kept));
    op.extent = one ? TRA_ROWS_SAME : TRA_ROWS_PRODUCT;
    op.each = one || size->partners_most == INT64_MAX ? 0 : size->partners_most, op.all = one ? 0 : size->rows_most;
    op.most = one ? 0 : size->block_most, op.expected = op.most > 0 && by->banded;
    op.counts = true, op.share = one ? 1 : tra_table_join_share(size, &left->type, &right->type);
    op.divides = one && !tra_lookup_condition(own), op.flops = TRA_LOOKUP_FLOPS;
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
    p->ordered = !once && tra_lookup_compared(s) == 0;
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
static tra_node *sort_left(tra_table_builder *w, const tra_lookup_spec *s, const sorting *by, tra_node *rows, int nmore,
                           const int *more) {
    tra_arena *a = w->b->arena;
    tra_node *keys = keys_and_columns(w, rows, by->n, by->key[0], by->named[0], nmore, more);
    if (!keys) return NULL;
    const int *column = tra_table_counting(a, by->n, 0);
    tra_arrange x = tra_table_sorting(a, keys->type.columns, true, by->n, column, NULL, "a key of the join");
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

/* The condition over the columns of a slice and a part. The slice has n columns by which it is sorted, the columns
 * `more` of the left table, and the number of the row; the part has such columns, the number, columns that the result
 * wants, and the columns more_right. */
static const tra_colexpr *over_slice_and_part(tra_arena *a, const tra_lookup *l, int sorted, const tra_schema *slice,
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
    for (int i = 0; i < nmore; i++) by[more[i]] = tra_colexpr_column(a, &both, sorted + i);
    for (int i = 0; i < nright; i++) by[s->left->n + more_right[i]] = tra_colexpr_column(a, &both, n - nright + i);
    return tra_colexpr_substitute(a, x, by);
}

tra_node *tra_table_cut_for_ranges(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left,
                                   tra_join_size *size) {
    enum { TIMES = 3, LEAST = 1 << 18, MOST = 1 << 21, PARTS = 4 };
    const tra_catalog *c = left->type.cat;
    int64_t rows = c->bound.v[0];
    if (w->b->g->expected_room == 0) return left;
    if (s->how != TRA_LOOKUP_INNER && s->how != TRA_LOOKUP_LEFT) { /* a row comes from each part that it meets */
        size->block_most = tra_mul_most(PARTS, rows);
        return left;
    }
    double room = TIMES * size->rows_expected / (double)tra_max64(1, c->n);
    int64_t n = (int64_t)fmin(fmax(1, ceil(room / MOST)), (double)tra_max64(1, rows));
    size->block_most = (int64_t)fmax(LEAST, ceil(room / (double)n));
    if (n == 1) return left;
    left = tra_table_cut_rows(w, left, tra_ceil_div(rows, n), n);
    const int64_t n_of[] = {c->n, n};
    left = left ? tra_table_one_key(w, left, 2, n_of) : NULL;
    if (left) left->rows = tra_table_own_rows(w->b, left);
    return left;
}

/* The rows of each sorted left block that may meet a part. */
static tra_node *slices_for_boxes(tra_table_builder *w, const tra_lookup *own, tra_node *sorted, tra_node *parts,
                                  const tra_division *d, const tra_join_size *size) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = sorted->type.columns;
    const tra_band_parts *x = tra_band_parts_of(a, own, tra_table_free_name(a, s, "strips"));
    tra_rows_kernel op = tra_rows_op(&tra_band_box_ops, x, x->box);
    op.extent = TRA_ROWS_MOST, op.most = 1, op.counts = true, op.flops = 10;
    tra_node *boxes = tra_table_kernel(w, parts, NULL, 0, 0, &op);
    op = tra_rows_op(&tra_band_strips_ops, x, x->strips);
    op.flops = 10;
    tra_node *numbers = boxes ? tra_table_block_numbers(w, sorted) : NULL; /* a join, which is computed once */
    tra_node *strips = numbers ? tra_table_kernel(w, sorted, numbers, 0, 0, &op) : NULL;
    if (!strips) return NULL;
    double rows = fmax(1, (double)tra_type_entries(&sorted->type).expected), parts_met = 1;
    parts_met += size->rows_expected / rows / (double)tra_max64(1, d->part_rows);
    op = tra_rows_op(&tra_band_slice_ops, x, x->left);
    op.counts = true, op.share = fmin(1, parts_met / (double)d->parts), op.flops = 20 * op.share;
    return tra_table_kernel(w, strips, boxes, -1, -1, &op);
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
    const sorting keys = sorting_of(a, l);
    int n = keys.n;
    tra_node *rows = keys_and_columns(w, right, n, keys.key[1], keys.named[1], nwanted + nright, wanted);
    tra_node *blocks = sort_right(w, s, n, tra_table_make_runs(w, rows, d), keep);
    if (!blocks) return NULL;
    tra_part_keys by = {n + !one_partner, tra_table_counting(a, n, n), NULL};
    tra_node *ranges = tra_table_part_ranges(w, blocks, &by, d);
    const tra_asof *asof = s->asof;
    tra_slice_ends own = {.before = asof && asof->way != TRA_ASOF_AFTER, .after = asof && asof->way != TRA_ASOF_BEFORE};
    int64_t part_rows = tra_add_most(d->part_rows, (own.before + own.after) * d->runs);
    tra_node *parts = tra_table_concat(w, tra_table_slice_blocks(w, blocks, ranges, &by, own, d), 0, part_rows);
    if (!parts) return NULL;

    /* the left table, sorted and cut at the same ranges */
    tra_node *sorted = sort_left(w, s, &keys, left, nmore, more);
    if (!sorted) return NULL;
    const tra_schema *in[2] = {sorted->type.columns, parts->type.columns};
    const tra_colexpr *on = over_slice_and_part(a, l, n, in[0], in[1], nmore, more, nright, more_right);
    const tra_lookup *join = part_lookup(w, in[0], in[1], s, n, found_or_not, on);
    if (!join) return NULL;
    tra_part_keys compared = {n, by.column, NULL};
    bool below = asof && (asof->way == TRA_ASOF_AFTER) != asof->strict; /* which part rows equal to its end belong to */
    tra_slice_ends ends = {.closed = asof ? below : !one_partner, .open = below};
    tra_node *slices = keys.banded ? slices_for_boxes(w, join, sorted, parts, d, size)
                                   : tra_table_slice_blocks(w, sorted, ranges, &compared, ends, d);
    if (!slices) return NULL;

    /* partners, for the left blocks */
    tra_node *found = join_parts(w, slices, parts, s, join, &keys, nwanted, found_or_not, size);
    int64_t partners = one_partner || asof ? 1
                       : found_or_not      ? tra_min64(d->parts, size->partners_most) /* one of each part */
                                           : size->partners_most;
    int64_t most = partners == INT64_MAX ? 0 : tra_mul_most(left->type.cat->bound.v[0], partners);
    if (size->block_most) most = tra_min64(most ? most : INT64_MAX, size->block_most);
    found = tra_table_concat(w, found, 1, most);
    return place_found(w, l, s, left, found, right, size);
}
