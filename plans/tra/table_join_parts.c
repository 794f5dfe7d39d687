/* table_join_parts.c - joins of tables of which the right one does not fit beside a block of the left.
 *
 * The right table becomes parts by ranges of the keys. Of each block of the left one the keys and the number of the row
 * are sorted and cut at the same ranges; each slice is joined with its part; what is found for the rows of a block
 * comes together again and is put beside them, so that other columns of the left table stay where they are. Rows that
 * have one partner at most are found once, so what comes together is no more than the block has. */
#include "table_parts.h"

#include <string.h>

/* Keys of one side, computed, and other columns, by number. */
static tra_node *project(tra_table_builder *w, tra_node *in, int nkeys, const tra_colexpr *const *key, const int *named,
                         int n, const int *column) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = in->type.columns;
    const char **names = tra_news(a, const char *, nkeys + n);
    const tra_colexpr **x = tra_news(a, const tra_colexpr *, nkeys + n);
    tra_str text = {0};
    tra_str_add(&text, "keys ");
    for (int i = 0; i < nkeys + n; i++) {
        bool is_key = i < nkeys;
        int c = is_key ? named[i] : column[i - nkeys];
        names[i] = is_key ? s->v[c].name : tra_arena_printf(a, "%d. %s", i, s->v[c].name);
        for (int j = 0; j < i && j < nkeys; j++)
            if (strcmp(names[i], names[j]) == 0) names[i] = tra_arena_printf(a, "%d. %s", i, names[i]);
        x[i] = is_key ? key[i] : tra_colexpr_column(a, s, c);
        tra_str_add(&text, i == 0 ? "" : i == nkeys ? "; columns " : ", ");
        tra_colexpr_print(x[i], s, &text);
        tra_str_printf(&text, " %s", tra_coltype_name(x[i]->type));
        if (x[i]->dict) tra_str_printf(&text, " of %" PRId64, x[i]->dict->n);
    }
    tra_rowwise *r = tra_rowwise_new(a, s);
    tra_rowwise_project(r, nkeys + n, names, x);
    const char *copy = tra_arena_strndup(a, tra_str_get(&text), text.n);
    tra_str_free(&text);
    return tra_table_kernel(w, in, NULL, 0, 0,
                            &(tra_rows_kernel){.text = copy,
                                               .use = TRA_USE_MAP,
                                               .columns = tra_rowwise_out(r),
                                               .dtype = TRA_F64,
                                               .rows = TRA_ROWS_SAME,
                                               .share = 1,
                                               .flops = 1 + nkeys,
                                               .ops = &tra_rowwise_ops,
                                               .data = r});
}

static int *counting(tra_arena *a, int n, int last) {
    int *v = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++) v[i] = i;
    v[n] = last;
    return v;
}

static const char *keys_text(tra_arena *a, const tra_schema *s, int n) {
    tra_str t = {0};
    for (int i = 0; i < n; i++) {
        tra_str_add(&t, i ? ", " : "[");
        tra_name_print(s->v[i].name, &t);
    }
    tra_str_add(&t, "]");
    const char *text = tra_arena_strndup(a, tra_str_get(&t), t.n);
    tra_str_free(&t);
    return text;
}

/* The right table, sorted block by block: keys, its number where `number` is not NULL (the column), and what the result
 * takes. */
static tra_node *sort_right(tra_table_builder *w, const tra_lookup_spec *l, tra_node *rows, tra_arrange_keep keep,
                            const char **text) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = rows->type.columns;
    tra_column *v = tra_news(a, tra_column, s->n + 1);
    int *from = tra_news(a, int, s->n + 1);
    for (int c = 0, at = 0; c <= s->n; c++) { /* the number comes after the keys */
        from[c] = c == l->nkeys ? -1 : at++;
        if (from[c] >= 0) v[c] = s->v[from[c]];
    }
    const char *name = "row";
    while (tra_schema_find(s, name) >= 0) name = tra_arena_printf(a, "%s'", name);
    v[l->nkeys] = (tra_column){.name = name, .type = TRA_COL_I64};
    tra_schema *out = tra_new(a, tra_schema);
    *out = (tra_schema){s->n + 1, v};
    tra_arrange x = {.in = s, .out = out, .from = from, .n = l->nkeys, .column = counting(a, l->nkeys, 0)};
    x.matching = !l->nulls_match;
    x.keep = keep;
    x.number = -1;
    x.what = "a key of the join";
    x.name = l->name[1] ? l->name[1] : "right";
    *text = keys_text(a, s, l->nkeys);
    return tra_table_arrange(w, rows, &x,
                             tra_arena_printf(a, "sort(%s)%s%s, numbered%s", *text, x.matching ? ", no NULLs" : "",
                                              keep == TRA_ARRANGE_UNIQUE  ? ", each once"
                                              : keep == TRA_ARRANGE_FIRST ? ", first of each"
                                                                          : "",
                                              /* the left table's numbers come last: another order of columns */
                                              s->n > l->nkeys ? " after the keys" : ""));
}

/* The parts, each sorted. */
static tra_node *sort_parts(tra_table_builder *w, const tra_lookup_spec *l, tra_node *parts, tra_arrange_keep keep,
                            const char *text) {
    tra_arena *a = w->b->arena;
    int n = l->nkeys;
    if (!parts) return NULL;
    const tra_schema *s = parts->type.columns;
    tra_arrange x = {.in = s, .out = s, .from = counting(a, s->n, 0), .n = n, .column = counting(a, n, 0)};
    x.keep = keep;
    x.number = n;
    x.what = "a key of the join";
    x.name = l->name[1] ? l->name[1] : "right";
    return tra_table_arrange(w, parts, &x,
                             tra_arena_printf(a, "sort(%s)%s", text,
                                              keep == TRA_ARRANGE_UNIQUE  ? ", each once"
                                              : keep == TRA_ARRANGE_FIRST ? ", first of each"
                                                                          : ""));
}

/* The number of each left row, and for each of its partners the nwanted columns after the number. */
static tra_node *merge(tra_table_builder *w, tra_node *left, tra_node *right, int nkeys, int nwanted, bool one,
                       const tra_colexpr *where, const tra_meeting *meet, const char *text) {
    tra_arena *a = w->b->arena;
    if (!left || !right) return NULL;
    const tra_schema *l = left->type.columns, *r = right->type.columns;
    tra_merging *m = tra_new(a, tra_merging);
    tra_column *v = tra_news(a, tra_column, nwanted + 1);
    tra_schema *out = tra_new(a, tra_schema);
    *m = (tra_merging){.left = l, .right = r, .out = out, .n = nkeys, .from = nkeys + 1, .one = one, .where = where};
    v[0] = l->v[l->n - 1];
    for (int c = 0; c < nwanted; c++) v[1 + c] = r->v[m->from + c];
    v[0].name = "row";
    while (tra_schema_find(r, v[0].name) >= 0) v[0].name = tra_arena_printf(a, "%s'", v[0].name);
    *out = (tra_schema){1 + nwanted, v};
    return tra_table_kernel(
        w, left, right, 1, 0,
        &(tra_rows_kernel){.text = tra_arena_printf(a, "%smatches by %s", one ? "first " : "", text),
                           .use = TRA_USE_JOIN,
                           .columns = out,
                           .dtype = TRA_F64,
                           .rows = one ? TRA_ROWS_SAME : TRA_ROWS_PRODUCT,
                           .each = one || meet->each == INT64_MAX ? 0 : meet->each,
                           .all = one ? 0 : meet->all,
                           .counts = true,
                           .share = one ? 1 : tra_table_pairs_share(meet, &left->type, &right->type),
                           .divides = one && !where,
                           .flops = 20,
                           .ops = &tra_merge_join_ops,
                           .data = m});
}

static tra_node *place(tra_table_builder *w, const tra_lookup *l, const tra_lookup_spec *s, tra_node *left,
                       tra_node *found, const tra_node *right, const tra_meeting *meet, const char *text) {
    static const tra_place_how hows[] = {[TRA_LOOKUP_INNER] = TRA_PLACE_INNER,
                                         [TRA_LOOKUP_LEFT] = TRA_PLACE_LEFT,
                                         [TRA_LOOKUP_SEMI] = TRA_PLACE_SEMI,
                                         [TRA_LOOKUP_ANTI] = TRA_PLACE_ANTI,
                                         [TRA_LOOKUP_KEEP] = TRA_PLACE_KEEP};
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, keeps = s->how == TRA_LOOKUP_KEEP;
    bool one = s->unique || filters || keeps, all = keeps || (one && !filters && (s->how || s->matched));
    tra_placing *p = tra_new(w->b->arena, tra_placing);
    if (!found) return NULL;
    const tra_schema *out = tra_lookup_out(l);
    *p = (tra_placing){.left = s->left, .right = found->type.columns, .out = out, .how = hows[s->how], .join = l};
    p->rows = left->type.cat->bound.v[0];
    p->matched = s->matched;
    p->name = s->name[0] ? s->name[0] : "left";
    tra_rows_kernel f = {.text = text, .use = TRA_USE_JOIN, .columns = out, .dtype = TRA_F64, .data = p};
    int64_t rows = left->type.cat->bound.v[0], more = found->type.cat->bound.v[0];
    f.rows = one ? TRA_ROWS_SAME : TRA_ROWS_RIGHT;
    f.most = s->how == TRA_LOOKUP_LEFT ? tra_add_most(rows, more) : more;
    f.all = one ? 0 : meet->all;
    f.counts = !all;
    f.share = filters ? 0.5 : 1;
    f.divides = one;
    f.flops = 10;
    f.ops = &tra_place_ops;
    tra_node *n = tra_table_kernel(w, left, found, 0, 0, &f);
    if (n && keeps) n->rows = left->rows;
    if (n) n->partners = right;
    return n;
}

/* The keys of the left table, nmore of its columns, and the numbers of its rows, sorted block by block. */
static tra_node *sort_left(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *rows,
                           int nmore, const int *more, const char **text) {
    tra_arena *a = w->b->arena;
    tra_node *keys = project(w, rows, s->nkeys, tra_lookup_left_keys(l), s->lkey, nmore, more);
    if (!keys) return NULL;
    const tra_schema *in = keys->type.columns;
    const int *column = counting(a, s->nkeys + nmore, -1);
    tra_arrange x = {.in = in, .from = column, .n = s->nkeys, .column = column};
    x.out = tra_table_some(a, in, s->nkeys + nmore, column, true);
    x.matching = !s->nulls_match;
    x.number = -1;
    x.what = "a key of the join";
    *text = keys_text(a, in, s->nkeys);
    return tra_table_arrange(w, keys, &x,
                             tra_arena_printf(a, "sort(%s)%s, numbered", *text, x.matching ? ", no NULLs" : ""));
}

/* ---- further conditions ---------------------------------------------------------------------------------------- */

/* What a condition on the pair reads of one side, beside the keys and `nwanted` columns: numbers of columns. */
static int columns_read(tra_arena *a, const tra_colexpr *x, int from, int n, int all, const int **out) {
    bool *read = tra_news(a, bool, all + 1);
    int *v = tra_news(a, int, n + 1), found = 0;
    if (x) tra_colexpr_columns(x, read);
    for (int c = 0; c < n; c++)
        if (read[from + c]) v[found++] = c;
    *out = v;
    return found;
}

/* The condition over the columns of sorted parts: on the left keys, columns, number; on the right keys, number, wanted
 * columns, and those that only the condition reads. */
static const tra_colexpr *over_parts(tra_arena *a, const tra_lookup *l, const tra_schema *left, const tra_schema *right,
                                     int nmore, const int *more, int nright, const int *more_right) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    const tra_colexpr *x = tra_lookup_condition(l), **by;
    int n = left->n + right->n, pair = s->left->n + s->right->n;
    if (!x) return NULL;
    tra_column *v = tra_news(a, tra_column, n);
    const tra_schema both = {n, v};
    for (int c = 0; c < n; c++) v[c] = c < left->n ? left->v[c] : right->v[c - left->n];
    by = tra_news(a, const tra_colexpr *, pair + 1);
    for (int i = 0; i < nmore; i++) by[more[i]] = tra_colexpr_column(a, &both, s->nkeys + i);
    for (int i = 0; i < nright; i++) by[s->left->n + more_right[i]] = tra_colexpr_column(a, &both, n - nright + i);
    return tra_colexpr_substitute(a, x, by);
}

tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const char *text, const tra_division *d, const tra_meeting *meet) {
    tra_arena *a = w->b->arena;
    const tra_schema *out = tra_lookup_out(l);
    const tra_colexpr *where = tra_lookup_condition(l);
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI || s->how == TRA_LOOKUP_KEEP;
    bool first = filters && !where, one = s->unique || first; /* of rows of equal keys the others do not matter */
    int nwanted = out->n - s->left->n, pair = tra_lookup_pair(l)->n;
    const int *more, *more_right;
    int nmore = columns_read(a, where, 0, s->left->n, pair, &more),
        nright = columns_read(a, where, s->left->n, s->right->n, pair, &more_right);
    int *wanted = tra_news(a, int, nwanted + nright + 1);
    for (int i = 0; i < nwanted; i++) wanted[i] = tra_lookup_from(l)[s->left->n + i] - s->left->n;
    for (int i = 0; i < nright; i++) wanted[nwanted + i] = more_right[i];
    tra_arrange_keep keep = s->unique ? TRA_ARRANGE_UNIQUE : first ? TRA_ARRANGE_FIRST : TRA_ARRANGE_ALL;
    const char *rtext = NULL, *ltext = NULL;
    const tra_node *table = right;
    right = project(w, right, s->nkeys, tra_lookup_right_keys(l), s->rkey, nwanted + nright, wanted);
    right = right ? tra_table_runs(w, right, d) : NULL;
    right = right ? sort_right(w, s, right, keep, &rtext) : NULL;
    tra_part_keys by = {one ? s->nkeys : s->nkeys + 1, counting(a, s->nkeys, s->nkeys), NULL, rtext}, compared = by;
    if (right && !one) by.text = tra_arena_printf(a, "%s, numbered", rtext);
    tra_node *ranges = tra_table_ranges(w, right, &by, d);
    tra_node *parts = tra_table_together(w, tra_table_slices(w, right, ranges, &by, false, d), 0, d->most);
    parts = sort_parts(w, s, parts, keep, rtext);
    tra_node *sorted = parts ? sort_left(w, s, l, left, nmore, more, &ltext) : NULL;
    compared.n = s->nkeys;
    compared.text = ltext;
    tra_node *slices = tra_table_slices(w, sorted, ranges, &compared, !one, d);
    if (!slices) return NULL;
    const tra_colexpr *on =
        over_parts(a, l, slices->type.columns, parts->type.columns, nmore, more, nright, more_right);
    const char *how = where ? tra_arena_printf(a, "%s where %s", ltext, text) : ltext;
    tra_node *found = merge(w, slices, parts, s->nkeys, nwanted, s->unique || filters, on, meet, how);
    int64_t rows = left->type.cat->bound.v[0], each = one ? 1 : filters ? tra_min64(d->parts, meet->each) : meet->each;
    found = tra_table_together(w, found, 1, each == INT64_MAX ? 0 : tra_mul_most(rows, each));
    return place(w, l, s, left, found, table, meet, text);
}
