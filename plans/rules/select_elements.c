/* select_elements.c - rule Q-5 for entries: rows of a tensor's elements that are selected by their labels are those of
 * a slice of the tensor, between the first and the last position for which the predicate may be true. Of a matrix whose
 * rows are those of a table the positions are found as well, and its rows gathered (gather_products.c).
 *
 * The slice begins with the block that has the first such row. Its blocks get the keys that they have in the whole
 * tensor, and blocks without rows fill the other keys; so whatever reads the result finds the same blocks as before.
 */
#include <math.h>
#include <stdlib.h>

#include "../../lib/table/tensor_rows.h"
#include "../../lib/table/union.h"
#include "pipeline.h"

enum { MOST_POSITIONS = 1 << 20 };

typedef struct narrowing {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *x, *y; /* the selection, and the entries */
    const tra_border *border;
    int labels;                 /* how many of its first columns are labels of which positions follow */
    const tra_expr *rows;       /* the tensor in blocks of whole rows */
    const tra_node *tensor;     /* and before it was cut so */
    tra_dims shape, from, size; /* of it, and of the slice */
    int64_t kept;               /* rows that may be selected */
} narrowing;

/* ---- which positions --------------------------------------------------------------------------------------------- */

/* The label column that the expression reads, -1: none, or others too. */
static int column_of(const narrowing *f, const tra_colexpr *x) {
    bool *used = tra_news(f->a, bool, f->border->out->n + 1);
    int found = -1, n = 0;
    tra_colexpr_columns(x, used);
    for (int i = 0; i < f->border->out->n; i++)
        if (used[i]) found = i, n++;
    return n == 1 && found < f->labels && !tra_may_fail(x) && !tra_colexpr_uses_row(x) ? found : -1;
}

/* Marks the positions of dimension d for which the predicate is not true. */
static void drop_positions(const narrowing *f, const tra_colexpr *x, int d, bool *dropped) {
    const tra_schema one = {1, &f->border->out->v[d]}, *s = &one;
    const tra_colexpr **by = tra_news(f->a, const tra_colexpr *, f->border->out->n + 1);
    int64_t n = f->shape.v[d], size = (int64_t)tra_coltype_size(one.v[0].type);
    tra_rowwise *r = tra_rowwise_new(f->a, s);
    const char *name = "passes";
    tra_table_notes notes;
    by[d] = tra_colexpr_column(f->a, s, 0);
    x = tra_colexpr_substitute(f->a, x, by);
    tra_rowwise_project(r, 1, &name, &x);
    char *all = tra_calloc((size_t)(n * (size + 2) + tra_rowwise_scratch(r) + 128), 1);
    char *room = all + (64 - (uintptr_t)all % 64), *values = room + (tra_rowwise_scratch(r) + 7) / 8 * 8;
    uint8_t *passes = (uint8_t *)values + n * size, *state = passes + n;
    for (int64_t i = 0; i < n; i++) {
        if (f->border->label[d])
            tra_dim_labels_put(f->border->label[d], i, values, i);
        else
            ((int64_t *)(void *)values)[i] = i;
    }
    tra_vector in = {values, NULL}, out = {passes, state};
    tra_batch made = {tra_rowwise_out(r), 0, &out};
    if (tra_rowwise_run(r, &(tra_batch){s, n, &in}, 0, &made, room, &notes, NULL) == TRA_OK)
        for (int64_t i = 0; i < n; i++) dropped[i] = dropped[i] || !passes[i] || state[i] != TRA_STATE_VALUE;
    free(all);
}

/* Blocks of the slice lie in those of all; and they have as many elements at least as a row of all, so that the bound
 * of the rows that are made of them is what it was (TRA_ROWS_PRODUCT). */
static void fit_blocks(narrowing *f) {
    int64_t block = tra_max64(1, f->rows->node.type.cat->bound.v[0]), all = 1, own = 1, least = f->size.v[0];
    int64_t to = f->from.v[0] + f->size.v[0];
    for (int d = 1; d < f->shape.n; d++) all = tra_mul_most(all, f->shape.v[d]), own = tra_mul_most(own, f->size.v[d]);
    if (f->from.v[0] / block != (to - 1) / block) {
        f->from.v[0] -= f->from.v[0] % block;
        if (own < all) to = tra_min64(f->shape.v[0], tra_ceil_div(to, block) * block);
        f->size.v[0] = to - f->from.v[0];
        least = to % block ? to % block : block;
    }
    for (int d = 1; d < f->shape.n && own < tra_ceil_div(all, least); d++) {
        own /= f->size.v[d];
        f->size.v[d] = tra_min64(f->shape.v[d], tra_ceil_div(tra_ceil_div(all, least), own));
        f->from.v[d] = tra_min64(f->from.v[d], f->shape.v[d] - f->size.v[d]);
        own = tra_mul_most(own, f->size.v[d]);
    }
}

/* Finds the slice. False: it would be the whole tensor. */
static bool find_slice(narrowing *f, const tra_colexpr *const *part, int n) {
    bool less = false;
    f->from.n = f->size.n = f->shape.n;
    for (int d = 0; d < f->shape.n; d++) {
        int64_t all = f->shape.v[d], from = 0, to = all;
        f->size.v[d] = all;
        if (all > MOST_POSITIONS || all < 1) continue;
        bool *dropped = tra_calloc((size_t)all, sizeof *dropped);
        for (int i = 0; i < n; i++)
            if (column_of(f, part[i]) == d) drop_positions(f, part[i], d, dropped);
        for (int64_t i = 0; d == 0 && i < all; i++) f->kept -= dropped[i];
        while (from < to && dropped[from]) from++;
        while (from < to && dropped[to - 1]) to--;
        free(dropped);
        if (from == to) from = 0, to = 1; /* none: a slice has some */
        f->from.v[d] = from;
        f->size.v[d] = to - from;
        less = less || to - from < all;
    }
    if (less) fit_blocks(f);
    return less;
}

/* ---- expressions of the memo ------------------------------------------------------------------------------------- */

/* Elements of the slice as rows, those that are selected. */
static tra_expr *selected(narrowing *f) {
    const tra_node *at = f->y->node.in[1];
    const tra_dims *bound = &f->rows->node.type.cat->bound;
    tra_node cut = {.op = TRA_OP_REPART, .in = {(tra_node *)f->tensor}, .block = f->size};
    const tra_keyexpr *first = tra_keyexpr_component(f->a, 0);
    cut.slice.origin = f->from;
    cut.slice.extent = f->size;
    cut.block.v[0] = tra_max64(1, tra_min64(bound->v[0], f->size.v[0]));
    tra_expr *slice = tra_make_below(f->w, f->x, cut);
    if (slice && slice->node.type.cat->frontier.n > 1)
        slice = tra_make_below(f->w, f->x, tra_proto_rekey(f->w, &slice->node, NULL, 1, &first));
    cut = (tra_node){.op = TRA_OP_REPART, .in = {(tra_node *)at}, .slice.origin = {1, {f->from.v[0]}}};
    cut.slice.extent = (tra_dims){1, {f->size.v[0]}};
    cut.block = (tra_dims){1, {tra_max64(1, tra_min64(bound->v[0], f->size.v[0]))}};
    tra_expr *positions = slice ? tra_make_below(f->w, f->x, cut) : NULL;
    if (!positions) return NULL;
    tra_border *border = tra_new(f->a, tra_border);
    *border = *f->border;
    for (int d = 1; d < f->shape.n; d++) border->origin[d] += f->from.v[d];
    tra_rows_kernel k = *tra_rows_op_of(&f->y->node);
    k.label = NULL;
    k.data = border;
    tra_expr *rows = tra_make_below(f->w, f->x, tra_proto_rows_by(f->w, &k, &slice->node, &positions->node));
    if (!rows) return NULL;
    double all = (double)tra_type_entries(&f->y->node.type).expected;
    k = *tra_rows_op_of(&f->x->node);
    k.share = fmin(1, k.share * all / fmax(1, (double)tra_type_entries(&rows->node.type).expected));
    return tra_make_below(f->w, f->x, tra_proto_rows(f->w, &k, &rows->node, NULL));
}

/* Those rows at the keys of the blocks of all. */
static void claim(narrowing *f, const tra_expr *rows) {
    const tra_dims *bound = &f->rows->node.type.cat->bound;
    int64_t block = tra_max64(1, bound->v[0]), first = f->from.v[0] / block, across = 1;
    int64_t own = rows->node.type.cat->frontier.v[0];
    const tra_keyexpr *key[2] = {tra_keyexpr_component(f->a, 0), NULL};
    key[1] = tra_keyexpr_of(f->a, TRA_KEY_SUB, key[0], tra_keyexpr_int(f->a, first));
    key[1] = tra_keyexpr_of(f->a, TRA_KEY_MAX, key[1], tra_keyexpr_int(f->a, 0));
    key[1] = tra_keyexpr_of(f->a, TRA_KEY_MIN, key[1], tra_keyexpr_int(f->a, own - 1));
    tra_expr *at = tra_make_below(f->w, f->x, tra_proto_rekey(f->w, f->y->node.in[1], NULL, 2, key));
    if (!at) return;
    for (int d = 1; d < f->shape.n; d++) across = tra_mul_most(across, f->shape.v[d]);
    tra_union_part *p = tra_new(f->a, tra_union_part);
    *p = (tra_union_part){rows->node.type.columns, first * block, f->from.v[0] + f->size.v[0]};
    tra_rows_kernel part = tra_rows_op(&tra_union_part_ops, p, p->in);
    part.extent = TRA_ROWS_PRODUCT, part.each = across, part.counts = true, part.flops = 1;
    part.most = tra_rows_op_of(&f->y->node)->most;
    double all = (double)tra_catalog_elements(f->x->node.type.cat);
    part.share = all > 0 ? (double)tra_type_entries(&rows->node.type).expected / all : 1;
    tra_node join = tra_proto_rows_by(f->w, &part, &at->node, &rows->node);
    join.join.l.v[0] = 1;
    tra_expr *made = tra_make_below(f->w, f->x, join);
    if (!made) return;
    tra_node back = tra_proto_rekey(f->w, &made->node, (const char *const[]){"k", "i"}, 1, key);
    tra_claim(f->w, f->x, f->y, back, made, NULL);
}

/* The tensor before it was cut in blocks of whole rows, under one key. */
static const tra_node *tensor_of(const tra_memo *m, const tra_expr *rows) {
    const tra_expr *x = rows;
    if (x->node.op == TRA_OP_REKEY) x = m->v[m->group[tra_memo_find(m, x->in[0])].expr[0]];
    if (x->node.op == TRA_OP_REPART && x->node.slice.origin.n == 0)
        x = m->v[m->group[tra_memo_find(m, x->in[0])].expr[0]];
    return &x->node;
}

void tra_slice_entries(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    const tra_rowwise *r = tra_rowwise_of_expr(x);
    const tra_rows_kernel *k = y->node.op == TRA_OP_JOIN ? tra_kernel_rows(y->node.kernel) : NULL;
    const char *why;
    int n;
    bool entries = k && k->ops == &tra_entries_ops;
    if (!r || !k || (!entries && k->ops != &tra_unmatrix_ops) || y->in[0] == y->in[1] || tra_rowwise_is_matrix(r, NULL))
        return;
    const tra_colexpr *const *part = tra_first_predicates(w->m->arena, r, &n);
    narrowing f = {.w = w, .a = w->m->arena, .x = x, .y = y, .border = k->data};
    f.rows = tra_memo_expr(y->node.in[0]);
    f.tensor = tensor_of(w->m, f.rows);
    if (n == 0 || y->node.in[1]->op != TRA_OP_INPUT || f.border->rank == 0) return; /* or of a slice already */
    if (f.tensor->type.bounded || !tra_type_is_blocked(&f.tensor->type, &why)) return;
    tra_type_shape(&f.tensor->type, &f.shape);
    if (f.shape.n != f.border->rank || f.rows->node.type.cat->frontier.n != 1) return;
    f.kept = f.shape.v[0];
    f.labels = entries ? f.shape.n : 1;
    bool sliced = find_slice(&f, part, n);
    if (!entries) { /* each row is a row of the tensor: no slice of it has fewer */
        if (f.kept < f.shape.v[0])
            tra_select_scattered_labels(w, x, y, (double)f.kept / (double)f.shape.v[0]);
        else
            tra_refuse(w, x, "no part of the predicate, which reads the labels of the rows alone, leaves out a row");
        return;
    }
    if (f.kept < f.size.v[0]) tra_select_scattered_labels(w, x, y, (double)f.kept / (double)f.shape.v[0]);
    if (!sliced) {
        tra_refuse(w, x, "the labels that are selected are neither the first nor the last ones alone left out");
        return;
    }
    tra_expr *rows = selected(&f);
    if (rows) claim(&f, rows);
}
