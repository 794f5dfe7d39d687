/* union.c - the blocks of two tables as those of one. */
#include "union.h"

#include <string.h>

#include "table_int.h"

tra_status tra_union_columns(tra_arena *a, int n, const char *const *names, const tra_colexpr **x,
                             const tra_colexpr **y, tra_err *e) {
    for (int i = 0; i < n; i++) {
        const tra_colexpr *both[2] = {x[i], y[i]};
        tra_err why = {0};
        if (tra_colexpr_unify(a, TRA_C_IF, 2, both, false, &why) != TRA_OK)
            return tra_fail(e, TRA_PROGRAM, "column `%s` is %s in one table and %s in the other", names[i],
                            tra_coltype_name(x[i]->type), tra_coltype_name(y[i]->type));
        x[i] = both[0];
        y[i] = both[1];
    }
    return TRA_OK;
}

/* ---- one table's blocks at their keys --------------------------------------------------------------------------- */

TRA_ROWS_FORM(part_form, tra_union_part, .in = {NULL, x->in}, .out = x->in, .repeats = TRA_REPEATS_RIGHT)

static void part_run(const void *data, tra_rows_io *io) {
    const tra_union_part *p = data;
    int64_t k = ((const int64_t *)io->a->array.data)[0];
    bool inside = k >= p->from && k < p->to;
    if (tra_rows_result(io, inside ? io->in[1].rows : 0) && inside) tra_append_rows(p->in, &io->made, 0, &io->in[1]);
}

TRA_ROWS_OVER(part_over, tra_union_part, x->in = f->in[1])

const tra_rows_ops tra_union_part_ops = {
    .form = part_form, .run = part_run, .over = part_over};

/* ---- the two parts of a key ------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(both_form, tra_union_both, .in = {x->in[0], x->in[1]}, .out = x->out, .repeats = TRA_REPEATS_BOTH)

static void both_run(const void *data, tra_rows_io *io) {
    const tra_union_both *u = data;
    if (!tra_rows_result(io, io->in[0].rows + io->in[1].rows)) return;
    for (int i = 0; i < 2; i++) tra_append_rows(u->out, &io->made, i * io->in[0].rows, &io->in[i]);
}

/* Both tables must have lost the same columns. */
static const void *both_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_union_both *u = tra_new(a, tra_union_both);
    (void)data;
    *u = (tra_union_both){{f->in[0], f->in[1]}, f->out};
    return f->in[0]->n == f->out->n && f->in[1]->n == f->out->n ? u : NULL;
}

const tra_rows_ops tra_union_both_ops = {
    .form = both_form, .run = both_run, .over = both_over};
