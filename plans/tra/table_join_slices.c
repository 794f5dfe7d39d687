/* table_join_slices.c - joins that may make more pairs of rows of a left block than a block should have: of computed
 * tables only a bound of these is known, which they hardly ever reach.
 *
 * A pass over each left block counts the pairs that its rows make, and cuts the block where a block of the result is
 * full. There is room for what the bound says, or, where that is far too much, for many times the pairs that are
 * expected, in slices of which those that no pairs reach are empty. So the memory that is planned is that of one slice,
 * whatever the bound is. */
#include "lower.h"
#include "table_derived.h"
#include "table_parts.h"

#include <math.h>

enum {
    SLICED = 4 * TRA_TABLE_BLOCK_ROWS,    /* pairs of a block that are not too many, */
    PARTED = 4 * SLICED,                  /* or where the right table is in parts: each meets all rows of the block */
    UNSLICED = 64 * TRA_TABLE_BLOCK_ROWS, /* or where so few are expected that only the bound is large */
    WHOLE = 1 << 21,                      /* rows of the right table, which a slice meets as a whole */
    LEAST = 1 << 8,                       /* slices of all left blocks together, unless the bound needs fewer; */
    MOST = 1 << 10,                       /* and no more */
    SPARE = 64,                           /* how many times the expected pairs there is room for, at least */
    PARTS_LEAST = 1 << 8,                 /* the same where slices are of all blocks and meet each part */
    PARTS_MOST = 1 << 11,
    PARTS_SPARE = 8
};

/* The pairs of a block for which it need not be cut. Where memory is wide, room for a bound that is hardly ever reached
 * costs nothing, and a pass over the left table is spared. */
static int64_t not_too_many(const tra_table_builder *w, const tra_schema *pair, double likely) {
    int64_t room = w->b->whole / 4 / tra_max64(1, tra_schema_row_bytes(pair));
    if (likely > (double)TRA_TABLE_BLOCK_ROWS || room <= SLICED || w->b->whole >= TRA_WHOLE_ANY) return SLICED;
    return tra_min64(room, UNSLICED);
}

bool tra_table_slice_join(const tra_table_builder *w, const tra_lookup *lookup, const tra_node *left,
                          const tra_node *right, const tra_join_size *size, bool parts, tra_join_slices *x) {
    const tra_lookup_spec *s = tra_lookup_spec_of(lookup);
    const tra_catalog *l = left->type.cat, *r = right->type.cat;
    int64_t partners = tra_min64(size->partners_most, tra_catalog_elements(r));
    int64_t block = tra_mul_most(l->bound.v[0], partners), pairs = tra_min64(block, size->rows_most);
    bool makes_pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    if (!l->grid || !makes_pairs || (s->matched && s->nkeys > 0)) return false;
    double expected = size->rows_expected / (double)tra_max64(1, l->n), likely = SPARE * expected; /* of a left block */
    if (block <= (parts ? PARTED : SLICED) || (parts && tra_catalog_elements(r) > WHOLE)) return false;
    if (!parts && block <= not_too_many(w, tra_lookup_out(lookup), expected)) return false;
    int64_t blocks = tra_max64(1, l->n), least = tra_max64(1, LEAST / blocks), most = tra_max64(1, MOST / blocks);
    bool all = tra_ceil_div(pairs, most) <= SLICED; /* there is room for what the bound says */
    double room = all ? (double)pairs : fmin((double)pairs, likely), slices = ceil(room / TRA_TABLE_BLOCK_ROWS);
    int64_t n = slices < (double)least ? least : slices > (double)most ? most : (int64_t)slices;
    int64_t rows = tra_max64(TRA_TABLE_BLOCK_ROWS, (int64_t)fmin(0x1p60, ceil(room / (double)n)));
    n = tra_min64(n, tra_ceil_div(pairs, rows));
    *x = (tra_join_slices){rows, n, tra_add_most(rows, partners), partners};
    return true;
}

/* The slices of each block by that number, its column `at`, with keys <b, s>. */
static tra_node *cut(tra_table_builder *w, tra_node *before, int at, const tra_join_slices *x) {
    tra_number_slicing *cut = tra_new(w->b->arena, tra_number_slicing);
    tra_node *number = tra_positions(w->b, w->call->span, x->n, 1);
    *cut = (tra_number_slicing){before->type.columns, at, x->rows};
    if (!number) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_number_slice_ops, cut, cut->in);
    op.counts = true, op.share = 1 / (double)x->n, op.divides = true, op.flops = 1 / (double)x->n;
    return tra_table_kernel(w, before, number, -1, -1, &op);
}

/* ---- where the right table is in parts ------------------------------------------------------------------------- */

bool tra_table_slice_parts(const tra_lookup *lookup, const tra_node *left, const tra_node *right,
                           const tra_join_size *size, tra_join_slices *x) {
    const tra_lookup_spec *s = tra_lookup_spec_of(lookup);
    int64_t partners = tra_min64(size->partners_most, tra_catalog_elements(right->type.cat));
    int64_t block = tra_mul_most(left->type.cat->bound.v[0], partners);
    bool makes_pairs = s->how == TRA_LOOKUP_INNER || s->how == TRA_LOOKUP_LEFT;
    if (!left->type.cat->grid || !makes_pairs || s->nkeys == 0 || tra_lookup_condition(lookup)) return false;
    if (block <= TRA_TABLE_BLOCK_ROWS) return false;
    double room = fmax(PARTS_SPARE * size->rows_expected, (double)PARTS_LEAST * TRA_TABLE_BLOCK_ROWS);
    room = fmin(room, (double)size->rows_most);
    double n = fmax(1, fmin(PARTS_MOST, ceil(room / TRA_TABLE_BLOCK_ROWS)));
    int64_t rows = tra_max64(TRA_TABLE_BLOCK_ROWS, (int64_t)fmin(0x1p60, ceil(room / n)));
    int64_t each = size->partners_most == INT64_MAX ? tra_min64(partners, SLICED) : partners;
    *x = (tra_join_slices){rows, (int64_t)n, tra_min64(size->rows_most, tra_add_most(rows, each)), each};
    return true;
}

/* The different keys of the right table, with the number of its rows that have them. *key: of each key of the join its
 * column there. */
static tra_node *count_keys(tra_table_builder *w, const tra_lookup_spec *s, tra_node *right, int **key) {
    tra_arena *a = w->b->arena;
    const tra_deriving d = {.b = w->b, .call = w->call};
    int n, *column;
    *key = tra_table_different(a, s->nkeys, s->rkey, &n, &column);
    tra_ast **name = tra_news(a, tra_ast *, n + 1);
    for (int k = 0; k < n; k++) name[k] = tra_derive_name(&d, s->right->v[column[k]].name);
    tra_ast *count = tra_derive_call(&d, "count", 0, NULL),
            *args[] = {tra_derive_ast(&d, TRA_AST_LIST, NULL, n, name),
                       tra_derive_named(&d, tra_table_free_name(a, s->right, "pairs"), count)};
    return tra_derive_op(&d, TRA_TABLE_GROUP, right, NULL, 2, args);
}

tra_node *tra_table_left_slices(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_join_slices *x) {
    tra_lookup_spec s = *tra_lookup_spec_of(l);
    const tra_schema *own = left->type.columns;
    int *key, pairs;
    tra_node *keys = count_keys(w, &s, right, &key);
    if (!keys) return NULL;
    s.right = keys->type.columns;
    s.rkey = key;
    s.prefix = "right ";
    s.unique = true;
    tra_lookup *counts = tra_join_lookup(w, &s, w->call);
    tra_node *n = counts ? tra_join_node(w, &s, counts, left, keys) : NULL;
    if (!n) return NULL;
    pairs = n->type.columns->n - 1;
    const char *name = tra_table_free_name(w->b->arena, n->type.columns, "before");
    n = tra_table_add_up_rows(w, n, name,
                              &(tra_row_numbering){NULL, NULL, NULL, pairs, tra_mul_most(x->rows, x->n), x->each});
    n = n ? cut(w, n, pairs + 1, x) : NULL;
    n = n ? tra_table_concat(w, n, 0, x->rows) : NULL;
    return n ? tra_table_pick(w, n, own->n, tra_table_counting(w->b->arena, own->n, 0)) : NULL;
}

/* ---- where it is whole ----------------------------------------------------------------------------------------- */

/* The rows of each left block, and the number of the pairs that come before those of each row. */
static tra_node *count_before(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                              const tra_join_slices *x) {
    tra_arena *a = w->b->arena;
    const tra_schema *s = left->type.columns;
    tra_pairs_before *p = tra_new(a, tra_pairs_before);
    *p = (tra_pairs_before){l, s, right->type.columns, NULL, tra_mul_most(x->rows, x->n)};
    p->out = tra_table_subschema(a, s, s->n, tra_table_counting(a, s->n, -1), true);
    tra_rows_kernel op = tra_rows_op(&tra_pairs_before_ops, p, p->out);
    op.divides = true, op.flops = TRA_LOOKUP_FLOPS;
    return tra_table_kernel(w, left, right, -1, -1, &op);
}

tra_node *tra_table_join_slices(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_join_size *size, const tra_join_slices *x) {
    const tra_schema *s = left->type.columns;
    if (!(right = tra_join_whole(w, l, right))) return NULL;
    tra_node *slices = count_before(w, l, left, right, x);
    const int64_t n_of[] = {left->type.cat->n, x->n};
    slices = slices ? cut(w, slices, s->n, x) : NULL;
    slices = slices ? tra_table_one_key(w, slices, 2, n_of) : NULL;
    slices = slices ? tra_table_pick(w, slices, s->n, tra_table_counting(w->b->arena, s->n, 0)) : NULL;
    if (!slices) return NULL;
    double all = (double)x->most * (double)slices->type.cat->n,
           of_them = fmin(tra_share_expected(&slices->type), tra_share_expected(&right->type));
    tra_rows_kernel op = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    op.extent = TRA_ROWS_PAIRS, op.most = x->most, op.all = size->rows_most, op.counts = true;
    op.share = fmin(1, size->rows_expected / all) / fmax(of_them, 1e-9), op.flops = TRA_LOOKUP_FLOPS;
    tra_node *n = tra_table_kernel(w, slices, right, -1, -1, &op);
    if (n) n->rows = tra_table_own_rows(w->b, n);
    return n;
}
