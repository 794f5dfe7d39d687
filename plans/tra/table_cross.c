/* table_cross.c - every pair of rows, where there are too many of them for one block of each of the left table.
 *
 * The blocks of the left table are cut in slices, so that a slice with all rows on the right makes a block of usual
 * size. Where the right table alone has more rows than that, a slice is one row, and meets its blocks one by one: the
 * order is still by the row on the left, then on the right.
 */
#include "table_parts.h"

#include "lower.h"

/* Rows of a block, as import makes them; and so many blocks are made at most. */
enum { USUAL = 1 << 18, MOST_BLOCKS = 1 << 20 };

/* i -> (i, 0), or keys in row-major order as one number: (b, s) -> b n + s. */
static tra_node *one_key(tra_table_builder *w, tra_node *in, int arity, const int64_t *n) {
    tra_arena *a = w->b->arena;
    tra_keyfn *f = tra_new(a, tra_keyfn);
    tra_keyexpr *x = tra_news(a, tra_keyexpr, 4 * arity), *all = &x[0];
    if (!in) return NULL;
    *f = (tra_keyfn){.arity = arity, .n = 1, .names = {"b", "s", "r"}};
    x[0] = (tra_keyexpr){.op = TRA_KEY_VAR, .var = 0};
    for (int d = 1; d < arity; d++) {
        tra_keyexpr *v = &x[4 * d];
        v[0] = (tra_keyexpr){.op = TRA_KEY_INT, .value = n[d]};
        v[1] = (tra_keyexpr){.op = TRA_KEY_MUL, .a = all, .b = &v[0]};
        v[2] = (tra_keyexpr){.op = TRA_KEY_VAR, .var = d};
        v[3] = (tra_keyexpr){.op = TRA_KEY_ADD, .a = &v[1], .b = &v[2]};
        all = &v[3];
    }
    f->expr[0] = all;
    tra_node fields = {.in = {in}, .keyfn = f};
    return tra_build_made(w->b, TRA_OP_REKEY, w->call->span, &fields);
}

/* Slices <b, s> of so many rows of each block. */
static tra_node *cut(tra_table_builder *w, tra_node *in, int64_t rows, int64_t slices) {
    tra_row_slicing *x = tra_new(w->b->arena, tra_row_slicing);
    tra_node *at = tra_positions(w->b, w->call->span, slices, 1);
    *x = (tra_row_slicing){in->type.columns, rows};
    if (!at) return NULL;
    return tra_table_kernel(
        w, in, at, -1, -1,
        &(tra_rows_kernel){.text = tra_arena_printf(w->b->arena, "slices of %" PRId64 " rows", rows),
                           .use = TRA_USE_JOIN,
                           .columns = x->in,
                           .dtype = TRA_F64,
                           .rows = TRA_ROWS_MOST,
                           .most = rows,
                           .counts = true,
                           .share = (double)in->type.cat->bound.v[0] / ((double)rows * (double)slices),
                           .divides = true,
                           .flops = 1 / (double)slices,
                           .ops = &tra_row_slice_ops,
                           .data = x});
}

bool tra_table_cross_divides(const tra_node *left, const tra_node *right, tra_crossing *x) {
    const tra_catalog *l = left->type.cat, *r = right->type.cat;
    int64_t all = tra_max64(1, tra_catalog_elements(r));
    if (!l->grid || !r->grid || tra_mul_most(l->bound.v[0], all) <= USUAL) return false;
    x->blocks = all > USUAL && r->n > 1 ? r->n : 1;
    x->rows = x->blocks > 1 ? 1 : tra_max64(1, USUAL / all);
    x->slices = tra_ceil_div(l->bound.v[0], x->rows);
    return tra_mul_most(tra_mul_most(l->n, x->slices), x->blocks) <= MOST_BLOCKS;
}

tra_node *tra_table_cross_parts(tra_table_builder *w, const tra_lookup *l, tra_node *left, tra_node *right,
                                const char *text, const tra_crossing *x) {
    tra_node *slices = cut(w, left, x->rows, x->slices);
    if (x->blocks == 1) right = tra_table_whole(w, right, 0);
    if (!slices || !right) return NULL;
    tra_node *pairs = tra_table_kernel(w, slices, right, -1, -1,
                                       &(tra_rows_kernel){.text = text,
                                                          .use = TRA_USE_JOIN,
                                                          .columns = tra_lookup_out(l),
                                                          .dtype = TRA_F64,
                                                          .rows = TRA_ROWS_PRODUCT,
                                                          .counts = true,
                                                          .share = 1,
                                                          .flops = 20,
                                                          .ops = &tra_lookup_ops,
                                                          .data = l});
    int64_t n[] = {left->type.cat->n, x->slices, x->blocks};
    tra_node *out = one_key(w, pairs, x->blocks == 1 ? 2 : 3, n);
    if (out) out->rows = tra_table_rows_of(w->b, out);
    return out;
}
