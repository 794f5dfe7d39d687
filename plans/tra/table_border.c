/* table_border.c - entries(X) and table(X): tensors back as tables; and the labels of their dimensions. */
#include "../../lib/table/border.h"
#include "lower.h"
#include "table.h"

#include <string.h>
#include <xxhash.h>

enum {
    MOST_COLUMNS = 1 << 16, /* of a table made of a matrix */
    ELEMENTS = 1 << 20      /* of a block, about, that is cut anew to be listed */
};

/* ---- labels of nodes -------------------------------------------------------------------------------------------- */

static const tra_dim_labels *label_of(const tra_node *n, int d) { return n->labels ? n->labels[d] : NULL; }

/* Are the tiles along dimension d put together again by the key that counts them within all other parts of it? */
static bool joins_tiles(const tra_node *concat, int d) {
    uint32_t cut = concat->in[0]->type.cut[d], key = 1u << concat->keydim;
    return d == concat->dim ? (cut & key) && cut < 2 * key : !(cut & key);
}

/* Are the positions along dimension d what they were before the keys changed? */
static bool stays(const tra_node *n, int d) {
    if (n->op == TRA_OP_CONCAT) return joins_tiles(n, d);
    if (n->op != TRA_OP_REKEY || !n->type.cut[d]) return true;
    for (int i = 0; i < n->keyfn->n; i++)
        if (n->keyfn->expr[i]->op != TRA_KEY_VAR) return false;
    return true;
}

/* Those of the part of a dimension that a repartition takes; NULL where it goes beyond it. */
static const tra_dim_labels *part_of(tra_build *b, const tra_node *n, int d, const tra_dim_labels *l) {
    if (!l || n->op != TRA_OP_REPART || n->origin.n == 0) return l;
    int64_t from = n->origin.v[d], extent = n->extent.v[d];
    if (from == 0 && extent == l->n) return l;
    return from >= 0 && extent <= l->n - from ? tra_dim_labels_part(b->arena, l, from, extent) : NULL;
}

void tra_carry_labels(tra_build *b, tra_node *n) {
    const tra_node *l = n->in[0], *r = n->in[1];
    const char *why;
    tra_dims shape, out;
    tra_dimsrc src;
    if (n->labels || n->type.columns || !l || !(l->labels || (r && r->labels))) return;
    bool cuts = n->op == TRA_OP_TILE || n->op == TRA_OP_CONCAT, tensor = tra_type_is_tensor(&n->type, &why);
    if (!tensor && !cuts) return;
    const tra_dims *x = &l->type.cat->bound, *y = r ? &r->type.cat->bound : NULL;
    bool known = true;
    for (int d = 0; d < TRA_MAXDIM; d++) src.from[d] = (int8_t)d;
    switch (n->op) {
    case TRA_OP_JOIN: known = tra_kernel_shape2(n->kernel, x, y, x, y, &out, &src, NULL) == TRA_OK; break;
    case TRA_OP_AGG: known = tra_kernel_shape_agg(n->kernel, x, &out, &src, NULL) == TRA_OK; break;
    case TRA_OP_TRANSFORM: known = tra_kernel_shape1(n->kernel, x, &out, &src, NULL) == TRA_OK; break;
    case TRA_OP_INPUT:
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
    case TRA_OP_TILE:
    case TRA_OP_CONCAT:
    case TRA_OP_REPART: break;
    }
    if (!known || (n->kernel && !tra_kernel_keeps_places(n->kernel))) return;
    shape = n->type.cat->bound;
    if (tensor) tra_type_shape(&n->type, &shape);
    const tra_dim_labels **labels = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
    for (int d = 0; d < shape.n; d++) {
        const tra_node *from = src.from[d] >= 32 ? r : src.from[d] >= 0 ? l : NULL;
        const tra_dim_labels *own = from ? part_of(b, n, d, label_of(from, src.from[d] % 32)) : NULL;
        if (own && (!tensor || own->n == shape.v[d]) && stays(n, d)) labels[d] = own;
    }
    n->labels = labels;
}

/* ---- what a dimension is called --------------------------------------------------------------------------------- */

/* The labels of the EinSum statement that the node is the result of, or NULL. */
static const char *statement_label(const tra_build *b, const tra_node *n, int d) {
    if (n->op == TRA_OP_TRANSFORM && n->converts) n = n->in[0]; /* the same elements, held otherwise */
    for (int i = b->g->neinsums - 1; i >= 0; i--)
        if (b->g->einsums[i]->node == n) return b->g->einsums[i]->name[b->g->einsums[i]->out[d]];
    return NULL;
}

/* Is names[d] that of the values, or of a dimension before? */
static bool is_taken(int d, const char *const *names) {
    bool taken = strcmp(names[d], "value") == 0;
    for (int i = 0; i < d; i++) taken = taken || strcmp(names[i], names[d]) == 0;
    return taken;
}

/* Names of the dimensions as columns: as the statement has them, as their labels have them, or i0, i1, ... */
static void name_dimensions(const tra_build *b, const tra_node *n, int rank, const char **names) {
    for (int d = 0; d < rank; d++) {
        const tra_dim_labels *l = label_of(n, d);
        names[d] = statement_label(b, n, d);
        if (!names[d] && l) names[d] = l->name;
        for (int n = d; !names[d] || is_taken(d, names); n++) names[d] = tra_arena_printf(b->arena, "i%d", n);
    }
}

const tra_dim_labels *const *tra_labels_of_output(tra_build *b, const tra_node *n) {
    const char *names[TRA_MAXDIM];
    if (!n->labels) return NULL;
    int rank = n->type.cat->bound.n;
    const tra_dim_labels **labels = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
    name_dimensions(b, n, rank, names);
    for (int d = 0; d < rank; d++)
        if (n->labels[d]) labels[d] = tra_dim_labels_named(b->arena, n->labels[d], names[d]);
    return labels;
}

/* ---- the tensor as the kernel wants it -------------------------------------------------------------------------- */

/* The tensor in blocks of whole rows, by one key: that of the rows. */
static tra_node *by_rows(tra_table_builder *w, const tra_dims *shape) {
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
    tra_keyfn *f = tra_new(w->b->arena, tra_keyfn);
    tra_keyexpr *i = tra_new(w->b->arena, tra_keyexpr);
    *i = shape->n ? (tra_keyexpr){.op = TRA_KEY_VAR, .var = 0} : (tra_keyexpr){.op = TRA_KEY_INT, .value = 0};
    *f = (tra_keyfn){.arity = n->type.cat->frontier.n, .n = 1, .expr = {i}};
    for (int d = 0; d < f->arity; d++) f->names[d] = tra_arena_printf(w->b->arena, "k%d", d);
    if (f->arity == 1 && shape->n == 1) return n;
    tra_node rekey = {.in = {n}, .keyfn = f};
    return tra_build_made(w->b, TRA_OP_REKEY, w->call->span, &rekey);
}

/* "entries(a, b, value)": of labels also which ones, since the operand does not say it. */
static const char *border_text(const tra_table_builder *w, const tra_border *k) {
    tra_str s = {0};
    tra_str_printf(&s, "%s(", tra_table_op_text(w->op.op));
    for (int i = 0; i < k->out->n; i++) {
        if (i) tra_str_add(&s, ", ");
        tra_name_print(k->out->v[i].name, &s);
    }
    for (int d = 0; d < k->rank; d++) {
        if (!k->label[d]) continue;
        uint64_t sum = 0;
        for (int64_t i = 0; i < k->label[d]->n; i++) {
            const char *t = tra_dim_labels_text(w->b->arena, k->label[d], i);
            sum = XXH64(t, strlen(t) + 1, sum);
        }
        tra_str_printf(&s, "; %d: %016" PRIx64, d, sum);
    }
    tra_str_add(&s, ")");
    const char *text = tra_arena_strndup(w->b->arena, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return text;
}

static tra_node *as_rows(tra_table_builder *w, tra_border *k, const tra_dims *shape, bool numbered) {
    bool entries = w->op.op == TRA_TABLE_ENTRIES;
    const tra_type *t = &w->in->type;
    tra_node fields = {.in = {by_rows(w, shape)}};
    if (!fields.in[0]) return NULL;
    if (numbered) {
        fields.in[1] = tra_positions(w->b, w->call->span, shape->v[0], fields.in[0]->type.cat->bound.v[0]);
        fields.joinl = fields.joinr = (tra_dims){.n = 1, .v = {0}};
        if (!fields.in[1]) return NULL;
    }
    int64_t most = INT64_MAX;
    const tra_type *held = &fields.in[0]->type;
    if (entries && t->sparse)
        for (int64_t i = most = 0; i < held->cat->n; i++) most = tra_max64(most, tra_type_entries1(held, i).bound);
    fields.kernel =
        tra_kernel_of_rows(w->b->arena, &(tra_rows_kernel){.text = border_text(w, k),
                                                           .use = numbered ? TRA_USE_JOIN : TRA_USE_MAP,
                                                           .columns = k->out,
                                                           .dtype = TRA_F64,
                                                           .rows = entries ? TRA_ROWS_ELEMENTS : TRA_ROWS_SAME,
                                                           .most = most,
                                                           .counts = entries && t->sparse,
                                                           .share = entries && t->sparse ? tra_type_density(t) : 1,
                                                           .flops = 2,
                                                           .ops = entries ? &tra_entries_ops : &tra_unmatrix_ops,
                                                           .data = k});
    tra_node *n = tra_build_made(w->b, numbered ? TRA_OP_JOIN : TRA_OP_TRANSFORM, w->call->span, &fields);
    if (n) n->rows = n->type.bounded ? (entries ? tra_table_rows_of(w->b, n) : w->in->rows) : NULL;
    return tra_table_note(w, n);
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

static tra_node *build_entries(tra_table_builder *w, tra_border *k, const tra_dims *shape) {
    const char *names[TRA_MAXDIM];
    tra_column *v = tra_news(w->b->arena, tra_column, k->rank + 1);
    tra_schema *s = tra_new(w->b->arena, tra_schema);
    if (w->in->type.bounded) {
        tra_diag_error(w->b->d, w->call->span, "table(X) has the same rows, without their positions",
                       "entries numbers rows, and only the run tells where each block of these begins");
        return NULL;
    }
    name_dimensions(w->b, w->in, k->rank, names);
    for (int d = 0; d < k->rank; d++)
        v[d] = k->label[d] ? tra_dim_labels_column(k->label[d], names[d]) : (tra_column){names[d], .type = TRA_COL_I64};
    v[k->rank] = (tra_column){"value", .type = tra_coltype_of(w->in->type.dtype)};
    *s = (tra_schema){k->rank + 1, v};
    k->out = s;
    return as_rows(w, k, shape, k->rank > 0);
}

static tra_node *build_unmatrix(tra_table_builder *w, tra_border *k, const tra_dims *shape) {
    const char *names[TRA_MAXDIM];
    int64_t width = k->rank == 2 ? shape->v[1] : 1;
    if (k->rank < 1 || k->rank > 2) {
        tra_diag_error(w->b->d, w->call->span, "entries(X) has a row for each element of a tensor of any rank",
                       "table takes a vector or a matrix, not a tensor of rank %d", k->rank);
        return NULL;
    }
    if (width < 1 || width > MOST_COLUMNS) {
        tra_diag_error(w->b->d, w->call->span, "entries(X) has a row for each element",
                       "a table has 1 to %d columns, and this matrix %" PRId64, MOST_COLUMNS, width);
        return NULL;
    }
    int labels = k->label[0] ? 1 : 0;
    tra_column *v = tra_news(w->b->arena, tra_column, width + 1);
    tra_schema *s = tra_new(w->b->arena, tra_schema);
    tra_names taken = {.arena = w->b->arena};
    name_dimensions(w->b, w->in, k->rank, names);
    *s = (tra_schema){(int)width + labels, v};
    if (labels) v[0] = tra_dim_labels_column(k->label[0], names[0]);
    for (int64_t c = 0; c < width; c++) {
        const char *name = k->rank == 1 ? "value" : tra_arena_printf(w->b->arena, "c%" PRId64, c);
        if (k->rank == 2 && k->label[1]) name = tra_dim_labels_text(w->b->arena, k->label[1], c);
        if (!*name) name = tra_arena_printf(w->b->arena, "c%" PRId64, c); /* no column is called nothing */
        if (k->rank == 2 && k->label[1] && tra_names_find(&taken, name) >= 0) {
            tra_diag_error(w->b->d, w->call->span, "entries(X) has them as values of one column",
                           "two columns of the table would be called '%s', as two labels of this matrix are", name);
            return NULL;
        }
        if (k->rank == 2) tra_names_add(&taken, name, NULL);
        v[labels + c] = (tra_column){name, .type = tra_coltype_of(w->in->type.dtype)};
    }
    for (int n = 0; labels && tra_names_find(&taken, v[0].name) >= 0; n++)
        v[0].name = tra_arena_printf(w->b->arena, "i%d", n);
    k->out = s;
    return as_rows(w, k, shape, labels > 0);
}

tra_node *tra_table_of_tensor(tra_table_builder *w) {
    const char *why;
    tra_dims shape;
    tra_border *k = tra_new(w->b->arena, tra_border);
    if (w->call->nkids != 1) return tra_table_refuse(w, w->call, "there is one argument, a tensor"), NULL;
    if (!tra_type_is_blocked(&w->in->type, &why)) {
        tra_diag_error(w->b->d, w->call->span, NULL, "%s takes tensors in blocks; of this relation %s",
                       tra_table_op_text(w->op.op), why);
        return NULL;
    }
    tra_type_shape(&w->in->type, &shape);
    *k = (tra_border){.rank = shape.n, .sparse = w->in->type.sparse};
    for (int d = 0; d < shape.n; d++) k->label[d] = label_of(w->in, d);
    w->op.border = k;
    return w->op.op == TRA_TABLE_ENTRIES ? build_entries(w, k, &shape) : build_unmatrix(w, k, &shape);
}
