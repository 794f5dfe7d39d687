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
                             tra_arena_printf(a, "sort(%s)%s%s, numbered", *text, x.matching ? ", no NULLs" : "",
                                              keep == TRA_ARRANGE_UNIQUE  ? ", each once"
                                              : keep == TRA_ARRANGE_FIRST ? ", first of each"
                                                                          : ""));
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

/* The number of each left row, and for each of its partners what the result takes of that. */
static tra_node *merge(tra_table_builder *w, tra_node *left, tra_node *right, int nkeys, bool one, const char *text) {
    tra_arena *a = w->b->arena;
    if (!left || !right) return NULL;
    const tra_schema *l = left->type.columns, *r = right->type.columns;
    tra_merging *m = tra_new(a, tra_merging);
    tra_column *v = tra_news(a, tra_column, r->n + 1);
    tra_schema *out = tra_new(a, tra_schema);
    *m = (tra_merging){.left = l, .right = r, .out = out, .n = nkeys, .from = nkeys + 1, .one = one};
    v[0] = l->v[l->n - 1];
    for (int c = m->from; c < r->n; c++) v[1 + c - m->from] = r->v[c];
    v[0].name = "row";
    while (tra_schema_find(r, v[0].name) >= 0) v[0].name = tra_arena_printf(a, "%s'", v[0].name);
    *out = (tra_schema){1 + r->n - m->from, v};
    return tra_table_kernel(
        w, left, right, 1, 0,
        &(tra_rows_kernel){.text = tra_arena_printf(a, "%smatches by %s", one ? "first " : "", text),
                           .use = TRA_USE_JOIN,
                           .columns = out,
                           .dtype = TRA_F64,
                           .rows = one ? TRA_ROWS_SAME : TRA_ROWS_PRODUCT,
                           .counts = true,
                           .share = one ? 1 : 1 / (double)tra_max64(1, right->type.cat->bound.v[0]),
                           .divides = one,
                           .flops = 20,
                           .ops = &tra_merge_join_ops,
                           .data = m});
}

static tra_node *place(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left, tra_node *found,
                       const tra_schema *out, const char *text) {
    static const tra_place_how hows[] = {[TRA_LOOKUP_INNER] = TRA_PLACE_INNER,
                                         [TRA_LOOKUP_LEFT] = TRA_PLACE_LEFT,
                                         [TRA_LOOKUP_SEMI] = TRA_PLACE_SEMI,
                                         [TRA_LOOKUP_ANTI] = TRA_PLACE_ANTI,
                                         [TRA_LOOKUP_KEEP] = TRA_PLACE_KEEP};
    bool filters = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI, keeps = s->how == TRA_LOOKUP_KEEP;
    bool one = s->unique || filters || keeps, all = keeps || (one && !filters && (s->how || s->matched));
    tra_placing *p = tra_new(w->b->arena, tra_placing);
    if (!found) return NULL;
    *p = (tra_placing){.left = s->left, .right = found->type.columns, .out = out, .how = hows[s->how]};
    p->rows = left->type.cat->bound.v[0];
    p->matched = s->matched;
    p->name = s->name[0] ? s->name[0] : "left";
    tra_rows_kernel f = {.text = text, .use = TRA_USE_JOIN, .columns = out, .dtype = TRA_F64, .data = p};
    f.rows = one ? TRA_ROWS_SAME : TRA_ROWS_EITHER;
    f.most = tra_add_most(left->type.cat->bound.v[0], found->type.cat->bound.v[0]);
    f.counts = !all;
    f.share = filters ? 0.5 : 1;
    f.divides = one;
    f.flops = 10;
    f.ops = &tra_place_ops;
    tra_node *n = tra_table_kernel(w, left, found, 0, 0, &f);
    if (n && keeps) n->rows = left->rows;
    return n;
}

/* The keys of the left table and the numbers of its rows, sorted block by block. */
static tra_node *sort_left(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *rows,
                           const char **text) {
    tra_arena *a = w->b->arena;
    tra_node *keys = project(w, rows, s->nkeys, tra_lookup_left_keys(l), s->lkey, 0, NULL);
    if (!keys) return NULL;
    const tra_schema *in = keys->type.columns;
    const int *column = counting(a, s->nkeys, -1);
    tra_arrange x = {.in = in, .from = column, .n = s->nkeys, .column = column};
    x.out = tra_table_some(a, in, s->nkeys, column, true);
    x.matching = !s->nulls_match;
    x.number = -1;
    x.what = "a key of the join";
    *text = keys_text(a, in, s->nkeys);
    return tra_table_arrange(w, keys, &x,
                             tra_arena_printf(a, "sort(%s)%s, numbered", *text, x.matching ? ", no NULLs" : ""));
}

tra_node *tra_table_join_parts(tra_table_builder *w, const tra_lookup_spec *s, const tra_lookup *l, tra_node *left,
                               tra_node *right, const char *text, const tra_division *d) {
    tra_arena *a = w->b->arena;
    const tra_schema *out = tra_lookup_out(l);
    bool first = s->how == TRA_LOOKUP_SEMI || s->how == TRA_LOOKUP_ANTI || s->how == TRA_LOOKUP_KEEP;
    bool one = s->unique || first;
    int nwanted = out->n - s->left->n, *wanted = tra_news(a, int, nwanted + 1);
    for (int i = 0; i < nwanted; i++) wanted[i] = tra_lookup_from(l)[s->left->n + i] - s->left->n;
    tra_arrange_keep keep = s->unique ? TRA_ARRANGE_UNIQUE : first ? TRA_ARRANGE_FIRST : TRA_ARRANGE_ALL;
    const char *rtext = NULL, *ltext = NULL;
    right = project(w, right, s->nkeys, tra_lookup_right_keys(l), s->rkey, nwanted, wanted);
    right = right ? tra_table_runs(w, right, d) : NULL;
    right = right ? sort_right(w, s, right, keep, &rtext) : NULL;
    tra_part_keys by = {one ? s->nkeys : s->nkeys + 1, counting(a, s->nkeys, s->nkeys), NULL, rtext}, compared = by;
    if (right && !one) by.text = tra_arena_printf(a, "%s, numbered", rtext);
    tra_node *ranges = tra_table_ranges(w, right, &by, d);
    tra_node *parts = tra_table_together(w, tra_table_slices(w, right, ranges, &by, false, d), 0, d->most);
    parts = sort_parts(w, s, parts, keep, rtext);
    tra_node *sorted = parts ? sort_left(w, s, l, left, &ltext) : NULL;
    compared.n = s->nkeys;
    compared.text = ltext;
    tra_node *slices = tra_table_slices(w, sorted, ranges, &compared, !one, d);
    tra_node *found = merge(w, slices, parts, s->nkeys, one, ltext);
    found = tra_table_together(w, found, 1, one ? left->type.cat->bound.v[0] : 0);
    return place(w, s, left, found, out, text);
}
