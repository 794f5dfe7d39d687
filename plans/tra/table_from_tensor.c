/* table_from_tensor.c - entries(X) and table(X): tensors as tables. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "../../lib/table/tensor_rows.h"
#include "lower.h"
#include "table_build.h"

enum {
    MAXCOLUMNS = 1 << 16, /* of a table that is made of a matrix */
    ELEMENTS = 1 << 20    /* about so many has a block, where a tensor is cut anew */
};

/* ---- nodes -------------------------------------------------------------------------------------------------- */

/* The tensor in blocks of whole rows, whose only key counts the blocks. */
static tra_node *in_row_blocks(tra_table_builder *w, const tra_dims *shape) {
    tra_node *n = w->in;
    const tra_catalog *c = n->type.cat;
    tra_dims block = *shape;
    int64_t across = 1;
    bool fits = c->grid;
    for (int d = 1; d < shape->n; d++) {
        across = tra_mul_most(across, shape->v[d]);
        block.v[d] = tra_max64(1, shape->v[d]);
        fits = fits && c->bound.v[d] == block.v[d];
    }
    if (shape->n && fits) block.v[0] = c->bound.v[0];
    if (shape->n && !fits)
        block.v[0] =
            n->type.sparse ? c->bound.v[0] : tra_max64(1, tra_min64(c->bound.v[0], ELEMENTS / tra_max64(1, across)));
    tra_node cut = {.in = {n}, .block = block};
    if (!fits) n = tra_build_made(w->b, TRA_OP_REPART, w->call->span, &cut);
    if (!n) return NULL;
    int arity = n->type.cat->frontier.n;
    const char *names[TRA_MAXDIM];
    if (shape->n == 1) return n; /* its key does */
    for (int d = 0; d < arity; d++) names[d] = tra_arena_printf(w->b->arena, "k%d", d);
    const tra_keyexpr *key = shape->n ? tra_keyexpr_component(w->b->arena, 0) : tra_keyexpr_int(w->b->arena, 0);
    return tra_build_rekey(w->b, w->call->span, n, names, 1, &key);
}

/* The table with the columns k->out. numbered: rows have labels or positions, so the kernel must know their numbers. */
static tra_node *make_table(tra_table_builder *w, tra_border *k, const tra_dims *shape, bool numbered) {
    enum { EACH = 10 }; /* operations for each value of a row */
    bool entries = w->op.op == TRA_TABLE_ENTRIES, sparse = entries && w->in->type.sparse;
    tra_node *blocks = in_row_blocks(w, shape), *numbers = NULL;
    if (!blocks) return NULL;
    if (numbered) {
        numbers = tra_positions(w->b, w->call->span, shape->v[0], blocks->type.cat->bound.v[0]);
        if (!numbers) return NULL;
    }
    int64_t most = sparse ? 0 : INT64_MAX; /* entries of a block */
    for (int64_t i = 0; sparse && i < blocks->type.cat->n; i++)
        most = tra_max64(most, tra_type_entries1(&blocks->type, i).bound);
    tra_rows_kernel op = tra_rows_op(entries ? &tra_entries_ops : &tra_unmatrix_ops, k, k->out);
    op.extent = entries ? TRA_ROWS_ELEMENTS : TRA_ROWS_SAME, op.most = most, op.counts = sparse;
    double room =
        fmin((double)most, (double)tra_catalog_elements(blocks->type.cat) / (double)tra_max64(1, blocks->type.cat->n));
    double expected = (double)tra_type_entries(&blocks->type).expected;
    op.share = sparse ? fmin(1, expected / fmax(1, room * (double)blocks->type.cat->n)) : 1;
    op.flops = EACH * (double)k->out->n;
    tra_node *n = tra_table_kernel(w, blocks, numbers, 0, 0, &op);
    if (n && n->type.bounded && !entries) n->rows = w->in->rows;
    return tra_table_record(w, n);
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* entries(X): a row for each element, or entry, with its position. */
static tra_node *build_entries(tra_table_builder *w, tra_border *k, const tra_dims *shape) {
    const char *names[TRA_MAXDIM];
    const tra_schema *s;
    tra_column *v = tra_schema_beside(w->b->arena, NULL, k->rank + 1, &s);
    if (w->in->type.bounded)
        return tra_diag_error(w->b->d, w->call->span, "table(X) has the same rows, without their positions",
                              "entries numbers rows, and only the run tells where each block of these begins");
    tra_name_dimensions(w->b, w->in, k->rank, names);
    for (int d = 0; d < k->rank; d++)
        v[d] = k->label[d] ? tra_dim_labels_column(k->label[d], names[d]) : (tra_column){names[d], .type = TRA_COL_I64};
    v[k->rank] = (tra_column){"value", .type = tra_coltype_of(w->in->type.dtype)};
    k->out = s;
    return make_table(w, k, shape, k->rank > 0);
}

/* The name of column c of the table: that of the matrix' label, or c0, c1, ...; `value` of a vector. */
static const char *column_name(const tra_table_builder *w, const tra_border *k, int64_t c) {
    if (k->rank == 1) return "value";
    const char *label = k->label[1] ? tra_dim_labels_text(w->b->arena, k->label[1], c) : "";
    return *label ? label : tra_arena_printf(w->b->arena, "c%" PRId64, c);
}

/* table(X): a row for each row, a column for each column. */
static tra_node *build_table(tra_table_builder *w, tra_border *k, const tra_dims *shape) {
    const char *names[TRA_MAXDIM];
    int64_t width = k->rank == 2 ? shape->v[1] : 1;
    if (k->rank < 1 || k->rank > 2)
        return tra_diag_error(w->b->d, w->call->span, "entries(X) has a row for each element of a tensor of any rank",
                              "table takes a vector or a matrix, not a tensor of rank %d", k->rank);
    if (width < 1 || width > MAXCOLUMNS)
        return tra_diag_error(w->b->d, w->call->span, "entries(X) has a row for each element",
                              "a table has 1 to %d columns, and this matrix %" PRId64, MAXCOLUMNS, width);
    bool labelled = k->label[0] != NULL; /* the labels of rows are the first column */
    const tra_schema *s;
    tra_column *v = tra_schema_beside(w->b->arena, NULL, (int)width + labelled, &s);
    tra_names taken = {.arena = w->b->arena};
    for (int64_t c = 0; c < width; c++) {
        const char *name = column_name(w, k, c);
        if (tra_names_find(&taken, name) >= 0)
            return tra_diag_error(w->b->d, w->call->span, "entries(X) has them as values of one column",
                                  "two columns of the table would be called '%s', as two labels of this matrix are",
                                  name);
        tra_names_add(&taken, name, NULL);
        v[labelled + c] = (tra_column){name, .type = tra_coltype_of(w->in->type.dtype)};
    }
    if (labelled) {
        tra_name_dimensions(w->b, w->in, k->rank, names);
        v[0] = tra_dim_labels_column(k->label[0], names[0]);
    }
    for (int i = 0; labelled && tra_names_find(&taken, v[0].name) >= 0; i++)
        v[0].name = tra_arena_printf(w->b->arena, "i%d", i);
    k->out = s;
    return make_table(w, k, shape, labelled);
}

tra_node *tra_table_of_tensor(tra_table_builder *w) {
    const char *why;
    tra_dims shape;
    tra_border *k = tra_new(w->b->arena, tra_border);
    if (w->call->nkids != 1) return tra_table_refuse(w, w->call, "it has one argument, a tensor");
    if (!tra_type_is_blocked(&w->in->type, &why))
        return tra_diag_error(w->b->d, w->call->span, NULL, "%s takes tensors in blocks; of this relation %s",
                              tra_table_op_text(w->op.op), why);
    tra_type_shape(&w->in->type, &shape);
    *k = (tra_border){.rank = shape.n, .sparse = w->in->type.sparse};
    for (int d = 0; d < shape.n; d++) k->label[d] = tra_labels_of_dim(w->in, d);
    w->op.border = k;
    return w->op.op == TRA_TABLE_ENTRIES ? build_entries(w, k, &shape) : build_table(w, k, &shape);
}
