/* ref_border.c - tensors as tables, element by element. */
#include "ref_table.h"

/* A label, or the position where there are none. */
static ref_cell label_at(const tra_dim_labels *l, int64_t position) {
    ref_cell c = {.state = REF_VALUE, .i = position};
    if (l && l->type == TRA_COL_STRING)
        c.s = tra_dictionary_at(l->dict, l->code ? l->code[position] : position, &c.len);
    else if (l && tra_coltype_is_float(l->type))
        c.i = 0, c.f = tra_dim_labels_real(l, position);
    else if (l)
        c.i = l->whole[position];
    return c;
}

static ref_cell element_at(const ref_array *x, int64_t at, tra_coltype type) {
    bool real = type == TRA_COL_F64 || type == TRA_COL_F32;
    return (ref_cell){.state = REF_VALUE, .i = real ? 0 : (int64_t)x->data[at], .f = real ? (double)x->data[at] : 0};
}

static int64_t elements(const ref_array *x) {
    int64_t n = 1;
    for (int d = 0; d < x->ext.n; d++) n *= x->ext.v[d];
    return n;
}

static void entries(const tra_border *k, const ref_array *x, bool sparse, ref_table *out) {
    for (int64_t i = 0; i < elements(x); i++) {
        int64_t place = i;
        if (sparse && x->data[i] == 0) continue;
        for (int d = k->rank - 1; d >= 0; d--) {
            *ref_at(out, out->rows, d) = label_at(k->label[d], place % x->ext.v[d]);
            place /= x->ext.v[d];
        }
        *ref_at(out, out->rows++, k->rank) = element_at(x, i, out->column[k->rank].type);
    }
}

static void rows(const tra_border *k, const ref_array *x, ref_table *out) {
    int labels = k->label[0] ? 1 : 0, width = out->n - labels;
    for (; out->rows < x->ext.v[0]; out->rows++) {
        if (labels) *ref_at(out, out->rows, 0) = label_at(k->label[0], out->rows);
        for (int c = 0; c < width; c++)
            *ref_at(out, out->rows, labels + c) = element_at(x, out->rows * width + c, out->column[labels + c].type);
    }
}

/* Where a key stands: how many of the values that it may have are less. */
static int64_t place_of(const tra_pivot_key *key, const tra_column *c, const ref_cell *v) {
    int64_t at = 0;
    for (int64_t i = 0; i < key->n; i++) {
        int64_t len = 0;
        const char *s = c->dict ? tra_dictionary_at(c->dict, i, &len) : NULL;
        at += c->dict ? tra_bytes_cmp(s, len, v->s, v->len) < 0 : key->whole[i] < v->i;
    }
    return at;
}

tra_status ref_table_pivot(const tra_table_op *op, const ref_table *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    const tra_pivot *p = op->pivot;
    tra_dims ext = {.n = 2, .v = {p->key[0].n, p->key[1].n}}, block = op->node->type.cat->bound;
    ref_array all = ref_array_new(a, &ext);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int c = 0; c < 3; c++)
            if (ref_at(x, i, c)->state != REF_VALUE)
                return c < 2 ? tra_fail(e, TRA_INPUT, "a key of pivot is NULL in column `%s`", x->column[c].name)
                             : tra_fail(e, TRA_INPUT, "a value of pivot, %s, is NULL; %s", p->value, p->hint);
        const ref_cell *v = ref_at(x, i, 2);
        int64_t row = place_of(&p->key[0], &p->in->v[0], ref_at(x, i, 0));
        int64_t column = place_of(&p->key[1], &p->in->v[1], ref_at(x, i, 1));
        all.data[row * ext.v[1] + column] = tra_coltype_is_float(x->column[2].type) ? (ref_num)v->f : (ref_num)v->i;
    }
    TRA_TRY(ref_in_blocks(&all, &block, op->dtype, a, out, e));
    out->sparse = true;
    return TRA_OK;
}

tra_status ref_table_align(const tra_table_op *op, const tra_ref_rel *x, tra_arena *a, tra_ref_rel *out, tra_err *e) {
    ref_array whole;
    TRA_TRY(ref_assemble(x, a, &whole, e));
    int64_t inner = 1, old = whole.ext.v[op->take->dim];
    tra_dims ext = whole.ext, block = op->node->type.cat->bound;
    for (int d = op->take->dim + 1; d < ext.n; d++) inner *= ext.v[d];
    ext.v[op->take->dim] = op->taken;
    ref_array made = ref_array_new(a, &ext);
    for (int64_t i = 0; i < elements(&made); i++) {
        int64_t from = op->take->from[i / inner % op->taken];
        int64_t at = (i / inner / op->taken * old + from) * inner + i % inner;
        made.data[i] = from < 0 ? (ref_num)op->take->fill : whole.data[at];
        if (op->node->type.dtype == TRA_F32) made.data[i] = (ref_num)(float)made.data[i];
    }
    if (op->node->type.bounded) block.v[0] = tra_max64(1, ext.v[0]);
    TRA_TRY(ref_in_blocks(&made, &block, op->node->type.dtype, a, out, e));
    out->sparse = op->node->type.sparse;
    out->counted = op->node->type.bounded != 0;
    return TRA_OK;
}

tra_status ref_table_border(const tra_table_op *op, const tra_ref_rel *x, tra_arena *a, ref_table **out, tra_err *e) {
    ref_array whole;
    TRA_TRY(ref_assemble(x, a, &whole, e));
    *out = ref_table_new(a, op->columns, elements(&whole) + 1);
    if (op->op == TRA_TABLE_ENTRIES)
        entries(op->border, &whole, x->sparse, *out);
    else
        rows(op->border, &whole, *out);
    return TRA_OK;
}

/* ---- columns that the compiler asks for ------------------------------------------------------------------------- */

enum { MOST_CELLS = 1 << 22 }; /* of all inputs of a table whose labels are found before the program runs */

/* Adds up the cells of the inputs that a node is made of; -1: one of these is only declared. */
static int64_t cells_below(const tra_graph *g, const tra_node *n, bool *seen) {
    int64_t cells = 0;
    if (seen[n->id]) return 0;
    seen[n->id] = true;
    if (n->op == TRA_OP_INPUT && !n->input.rel) return -1;
    if (n->op == TRA_OP_INPUT)
        return tra_mul_most(tra_catalog_elements(n->type.cat), n->type.columns ? n->type.columns->n : 1);
    for (int i = 0; i < 2 && n->in[i]; i++) {
        int64_t own = cells_below(g, n->in[i], seen);
        if (own < 0) return -1;
        cells = tra_add_most(cells, own);
    }
    return cells;
}

static tra_status labels_of(const ref_table *t, const tra_column *c, int column, tra_arena *a,
                            const tra_dim_labels **out, tra_err *e) {
    size_t size = sizeof(int64_t);
    tra_vector v = {tra_arena_alloc(a, (size_t)(t->rows + 1) * size), tra_arena_alloc(a, (size_t)t->rows + 1)};
    tra_column own = *c;
    const char **text = tra_news(a, const char *, t->rows + 1);
    int64_t *len = tra_news(a, int64_t, t->rows + 1);
    for (int64_t i = 0; i < t->rows; i++) {
        const ref_cell *x = ref_at(t, i, column);
        v.state[i] = x->state == REF_VALUE ? TRA_STATE_VALUE : TRA_STATE_NULL;
        if (x->state != REF_VALUE) continue;
        text[i] = x->s ? x->s : "", len[i] = x->len;
        if (tra_coltype_is_float(c->type))
            ((double *)v.values)[i] = x->f;
        else
            ((int64_t *)v.values)[i] = x->i;
    }
    if (tra_coltype_is_coded(c->type)) {
        own.type = TRA_COL_TEXT;
        own.dict = tra_dictionary_new(a, t->rows, text, len);
        for (int64_t i = 0; i < t->rows; i++) ((int32_t *)v.values)[i] = (int32_t)i;
    } else if (tra_coltype_is_float(c->type)) {
        own.type = TRA_COL_F64;
    } else {
        own.type = TRA_COL_I64;
    }
    TRA_TRY(tra_dim_labels_of_column(a, &own, &v, t->rows, out, e));
    if (own.type != TRA_COL_I64 || c->type == TRA_COL_I32 || c->type == TRA_COL_I64) return TRA_OK;
    *out = tra_dim_labels_of_whole(a, c->name, c->type, t->rows, (*out)->whole);
    return TRA_OK;
}

tra_status tra_reference_values(const tra_graph *g, const tra_node *table, int column, tra_arena *a,
                                const tra_dim_labels **out, tra_err *e) {
    bool *seen = tra_news(a, bool, g->n + 1);
    int64_t cells = cells_below(g, table, seen);
    if (cells < 0) return TRA_NO;
    const char *name = table->type.columns->v[column].name;
    if (cells > MOST_CELLS)
        return tra_fail(e, TRA_RESOURCE,
                        "the values of column '%s' are found before the program is planned, and its table is made of "
                        "%" PRId64 " cells, of at most %d; write the table to a file first",
                        name, cells, MOST_CELLS);
    const tra_output wanted = {.node = table, .name = "labels"};
    tra_graph part = *g;
    part.noutputs = 1;
    part.outputs = (tra_output *)&wanted;
    const tra_ref_rel **v;
    TRA_TRY(tra_reference_run(&part, false, a, &v, e));
    return labels_of(v[table->id]->table, &table->type.columns->v[column], column, a, out, e);
}
