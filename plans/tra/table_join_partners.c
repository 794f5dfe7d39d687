/* table_join_partners.c - of a right table that would be divided only the rows whose keys the left table has, where
 * that has far fewer rows. Then it need not be divided, or has fewer rows to sort and to write to scratch. (Rule Q-15
 * does the same with joins that are one node.) */
#include <math.h>

#include "cardinality.h"
#include "table_build.h"
#include "table_parts.h"

/* The columns `column` of a table, as keys. */
static const tra_rowwise *keys_of(tra_arena *a, const tra_schema *s, int n, const int *column) {
    tra_projection p = {.arena = a};
    for (int k = 0; k < n; k++)
        tra_projection_add(&p, tra_arena_printf(a, "key %d", k), tra_colexpr_column(a, s, column[k]));
    return tra_projection_pass(&p, s);
}

/* The share of right rows that is expected to have a partner, each key of the left table being in one row of it. */
static double share_with_partners(const tra_table_builder *w, const tra_lookup_spec *s, double left, double right) {
    tra_column *key = tra_news(w->b->arena, tra_column, s->nkeys + 1);
    const tra_schema keys = {s->nkeys, key};
    for (int k = 0; k < s->nkeys; k++) key[k] = s->right->v[s->rkey[k]];
    return fmin(1, left / fmax(1, tra_table_groups_expected(&keys, s->nkeys, NULL, right)));
}

static bool any_fails(const tra_lookup_spec *s) {
    for (int k = 0; k < s->nkeys; k++)
        if (s->left->v[s->lkey[k]].fails || s->right->v[s->rkey[k]].fails) return true;
    return false;
}

tra_node *tra_table_right_with_partners(tra_table_builder *w, const tra_lookup_spec *s, tra_node *left,
                                        tra_node *right) {
    enum { FEWER = 8 };
    tra_arena *a = w->b->arena;
    double x = (double)tra_type_entries(&left->type).expected, y = (double)tra_type_entries(&right->type).expected;
    if (s->nkeys == 0 || s->asof || FEWER * x > y || any_fails(s)) return NULL;
    double share = share_with_partners(w, s, x, y);
    if (FEWER * share > 1) return NULL;

    const tra_rowwise *keys = keys_of(a, left->type.columns, s->nkeys, s->lkey);
    const int *rkey = tra_table_counting(a, s->nkeys, 0);
    tra_lookup_spec has = {s->right, tra_rowwise_out(keys), TRA_LOOKUP_SEMI, s->nkeys, s->rkey, rkey, .prefix = NULL};
    has.nulls_match = s->nulls_match;
    tra_lookup *l = tra_join_lookup(w, &has, w->call);
    tra_type together = left->type;
    together.columns = has.right;
    int64_t rows = tra_rows_together(w->b->g, &together);
    if (rows == 0) rows = tra_type_entries(&together).bound;
    if (!l || rows >= INT32_MAX / 8) return NULL;
    int64_t bytes = tra_mul_most(rows, tra_schema_row_bytes(has.right));
    if (tra_add_most(bytes, tra_lookup_keep(l, rows)) > w->b->whole) return NULL;

    tra_rows_kernel k = tra_rows_op(&tra_rowwise_ops, keys, has.right);
    k.flops = 1 + s->nkeys;
    tra_node *some = tra_table_one_block(w, tra_table_kernel(w, left, NULL, 0, 0, &k), 0);
    if (!some) return NULL;
    k = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    k.counts = true, k.share = share, k.flops = TRA_LOOKUP_FLOPS;
    return tra_table_kernel(w, right, some, -1, -1, &k);
}
