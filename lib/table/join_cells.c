/* join_cells.c - joins as kernels on rows: the cells of two blocks, and of what comes out. */
#include "join_int.h"

#include <string.h>

#include "table_int.h"

static int64_t vectors(const tra_lookup *l) {
    return tra_vectors_bytes(tra_lookup_pair(l)->n + tra_lookup_out(l)->n + 1);
}

/* At the beginning of scratch: what was found for the rows that were counted last, and which rows these were. */
typedef struct counted {
    const void *left, *right;
    int64_t rows;
    tra_found found;
} counted;

static int64_t ops_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_b;
    int64_t found = tra_mul_most(ext_a->v[0] + 16, sizeof(int32_t));
    return tra_add_most(found, tra_round64(sizeof(counted)) + vectors(data) + tra_lookup_scratch(data, ext_a->v[0]));
}

static int64_t ops_keep(const void *data, const tra_dims *ext_b, bool *own) {
    *own = tra_lookup_changes_kept(data);
    return tra_lookup_keep(data, ext_b->v[0]);
}

typedef struct operands {
    tra_batch left, right, out;
    tra_kept *kept;
    tra_found *found;
    void *rest; /* of scratch */
} operands;

/* Values of the left operand are checked before rows are counted, those of the right one until there is an index. */
static bool open_operands(const tra_lookup *l, const tra_cell *a, const tra_cell *b, const tra_cell *out, void *scratch,
                          operands *o) {
    tra_err e = {0};
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    counted *last = scratch;
    int64_t rows = a->array.ext.v[0];
    bool same = out->counted[0] && last->left == a->head && last->right == b->head && last->rows == rows;
    o->found = &last->found;
    if (!same) *last = (counted){a->head, b->head, rows, {0}};
    o->found->v = (int32_t *)((char *)scratch + tra_round64(sizeof *last));
    tra_vector *v = (tra_vector *)((char *)o->found->v + tra_round64(rows * (int64_t)sizeof(int32_t)));
    o->left.v = v;
    o->right.v = v + s->left->n;
    o->out.v = v + tra_lookup_pair(l)->n;
    o->rest = (char *)v + vectors(l);
    o->kept = b->kept;
    tra_status status =
        out->counted[0] ? tra_columns_view(a, s->left, &o->left, &e) : tra_columns_of(a, s->left, &o->left, &e);
    if (status == TRA_OK)
        status = tra_lookup_is_kept(l, b->kept) ? tra_columns_view(b, s->right, &o->right, &e)
                                                : tra_columns_of(b, s->right, &o->right, &e);
    if (status == TRA_OK) return true;
    tra_kernel_fail("%s", e.msg);
    return false;
}

/* Counts rows once: their number is kept in the result's cell. */
static int64_t count(const tra_lookup *l, operands *o, int64_t first, tra_cell *out) {
    tra_err e = {0};
    int64_t rows = 0;
    if (out->counted[0]) return out->counted[0] - 1;
    if (tra_lookup_run(l, &o->left, &o->right, first, NULL, &rows, o->found, o->kept, o->rest, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return 0;
    }
    out->counted[0] = rows + 1;
    return rows;
}

static int64_t ops_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_lookup *l = data;
    operands o;
    if (!open_operands(l, a, b, out, scratch, &o)) return tra_columns_room(tra_lookup_out(l), 0);
    return tra_columns_room(tra_lookup_out(l), count(l, &o, tra_max64(0, a->first), out));
}

static void ops_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_lookup *l = data;
    operands o;
    tra_err e = {0};
    int64_t first = tra_max64(0, a->first), rows = 0;
    if (open_operands(l, a, b, out, scratch, &o)) rows = count(l, &o, first, out);
    tra_columns_begin(out, tra_lookup_out(l), rows, &o.out);
    if (rows == 0 || tra_kernel_failure()) return;
    if (tra_lookup_run(l, &o.left, &o.right, first, &o.out, &rows, o.found, o.kept, o.rest, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
}

void tra_lookup_reads(const tra_lookup *l, tra_rows_reads *r) {
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    tra_rows_read(r, 0, tra_lookup_compared(s), s->lkey);
    tra_rows_read(r, r->left, tra_lookup_compared(s), s->rkey);
    if (tra_lookup_condition(l)) tra_colexpr_columns(tra_lookup_condition(l), r->read);
}

static void ops_reads(const void *data, tra_rows_reads *r) {
    const tra_lookup *l = data;
    tra_lookup_reads(l, r);
    memcpy(r->from, tra_lookup_from(l), (size_t)tra_lookup_out(l)->n * sizeof *r->from);
}

static const void *ops_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    return tra_lookup_over(a, data, f);
}

const tra_rows_ops tra_lookup_ops = {
    .scratch = ops_scratch, .keep = ops_keep, .bytes = ops_bytes, .run = ops_run, .reads = ops_reads, .over = ops_over};

const tra_lookup *tra_lookup_over(tra_arena *a, const tra_lookup *l, const tra_rows_fewer *f) {
    const tra_lookup_spec *old = tra_lookup_spec_of(l);
    tra_lookup_spec s = *old;
    tra_lookup *made;
    tra_err e = {0};
    int n = tra_lookup_pair(l)->n;
    s.left = f->in[0], s.right = f->in[1];
    s.lkey = tra_rows_places(a, f, 0, tra_lookup_compared(&s), old->lkey);
    s.rkey = tra_rows_places(a, f, f->left, tra_lookup_compared(&s), old->rkey);
    if (tra_lookup_new(a, &s, &made, &e) != TRA_OK) return NULL;
    if (!tra_lookup_condition(l)) return made;
    const tra_colexpr **by = tra_news(a, const tra_colexpr *, n + 1);
    for (int i = 0; i < n; i++) {
        int place = f->place[i];
        if (place >= 0) by[i] = tra_colexpr_column(a, tra_lookup_pair(made), i < f->left ? place : s.left->n + place);
    }
    tra_lookup_where(made, tra_colexpr_substitute(a, tra_lookup_condition(l), by));
    return made;
}
