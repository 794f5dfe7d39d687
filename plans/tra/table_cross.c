/* table_cross.c - every pair of rows, where those of one left block are too many for one block of the result.
 *
 * The left blocks are cut in slices, so that a slice with all right rows makes a block of usual size. Where the right
 * table alone has more rows than that, a slice is one row, and meets the right blocks one by one. In both cases pairs
 * are in the order of left rows, and for each of these in the order of right rows.
 */
#include "table_parts.h"

#include "lower.h"

enum { MAXBLOCKS = 1 << 20 }; /* of the result */

tra_node *tra_table_one_key(tra_table_builder *w, tra_node *in, int arity, const int64_t *n) {
    const tra_keyexpr *all = tra_keyexpr_component(w->b->arena, 0);
    for (int d = 1; d < arity; d++) {
        all = tra_keyexpr_of(w->b->arena, TRA_KEY_MUL, all, tra_keyexpr_int(w->b->arena, n[d]));
        all = tra_keyexpr_of(w->b->arena, TRA_KEY_ADD, all, tra_keyexpr_component(w->b->arena, d));
    }
    return tra_build_rekey(w->b, w->call->span, in, (const char *const[]){"b", "s", "r"}, 1, &all);
}

tra_node *tra_table_cut_rows(tra_table_builder *w, tra_node *in, int64_t rows, int64_t slices) {
    tra_row_slicing *x = tra_new(w->b->arena, tra_row_slicing);
    tra_node *at = tra_positions(w->b, w->call->span, slices, 1);
    *x = (tra_row_slicing){in->type.columns, rows};
    if (!at) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_row_slice_ops, x, x->in);
    op.extent = TRA_ROWS_MOST, op.most = rows, op.counts = true;
    op.share = (double)in->type.cat->bound.v[0] / ((double)rows * (double)slices), op.divides = true;
    op.flops = 1 / (double)slices;
    return tra_table_kernel(w, in, at, -1, -1, &op);
}

bool tra_table_divide_cross(const tra_node *left, const tra_node *right, tra_cross_division *x) {
    const tra_catalog *l = left->type.cat, *r = right->type.cat;
    int64_t all = tra_max64(1, tra_catalog_elements(r));
    if (!l->grid || !r->grid || tra_mul_most(l->bound.v[0], all) <= TRA_TABLE_BLOCK_ROWS) return false;
    x->right_blocks = all > TRA_TABLE_BLOCK_ROWS && r->n > 1 ? r->n : 1;
    x->rows = x->right_blocks > 1 ? 1 : tra_max64(1, TRA_TABLE_BLOCK_ROWS / all);
    x->slices = tra_ceil_div(l->bound.v[0], x->rows);
    return tra_mul_most(tra_mul_most(l->n, x->slices), x->right_blocks) <= MAXBLOCKS;
}

tra_node *tra_table_cross_parts(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const tra_cross_division *x) {
    tra_node *slices = tra_table_cut_rows(w, left, x->rows, x->slices);
    if (x->right_blocks == 1) right = tra_table_one_block(w, right, 0);
    if (!slices || !right) return NULL;
    tra_rows_kernel op = tra_rows_op(&tra_lookup_ops, l, tra_lookup_out(l));
    enum { EACH = 10 }; /* operations for each value of a pair */
    op.extent = TRA_ROWS_PRODUCT, op.counts = true, op.flops = EACH * (double)op.columns->n;
    op.flops *= (double)tra_type_entries(&right->type).expected / (double)x->right_blocks;
    tra_node *pairs = tra_table_kernel(w, slices, right, -1, -1, &op);
    int64_t n[] = {left->type.cat->n, x->slices, x->right_blocks};
    tra_node *out = tra_table_one_key(w, pairs, x->right_blocks == 1 ? 2 : 3, n);
    if (out) out->rows = tra_table_own_rows(w->b, out);
    return out;
}
