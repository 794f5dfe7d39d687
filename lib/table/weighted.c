/* weighted.c - what weighted.h promises. */
#include "weighted.h"

#include <stdlib.h>
#include <string.h>

#include "table_int.h"

/* ---- sums of weighed columns ------------------------------------------------------------------------------------- */

typedef struct weighing {
    const tra_weighted *t;
    const double *weight;
    double *array;      /* of a tensor */
    const tra_batch *b; /* of a table */
    int64_t done;       /* rows */
} weighing;

/* Sum c of the strip's rows, one every `step`. */
static void add_up(const weighing *x, const tra_vector *columns, int n, int c, double *to, int64_t step) {
    const tra_weighted *t = x->t;
    for (int r = 0; r < n; r++) to[r * step] = 0;
    for (int i = 0; i < t->n; i++) {
        const double *v = columns[t->nkept + i].values, by = x->weight[(int64_t)t->at[i] * t->width + c];
        for (int r = 0; r < n; r++) to[r * step] += by * v[r];
    }
    for (int i = c; !t->out && i < t->nkept; i += t->width) {
        const double *v = columns[i].values;
        for (int r = 0; r < n; r++) to[r * step] += v[r];
    }
}

static void weigh_strip(void *ctx, const tra_vector *columns, int n) {
    weighing *x = ctx;
    const tra_weighted *t = x->t;
    for (int i = 0; t->out && i < t->nkept; i++)
        tra_copy_rows(&x->b->v[i], x->done, &columns[i], 0, n, t->out->v[i].type);
    for (int c = 0; c < t->width; c++) {
        double *to = t->out ? (double *)x->b->v[t->nkept + c].values + x->done : x->array + x->done * t->width + c;
        add_up(x, columns, n, c, to, t->out ? 1 : t->width);
    }
    x->done += n;
}

TRA_ROWS_FORM(weighted_form, tra_weighted, .in = {tra_rowwise_in(x->r)}, .out = x->out)

TRA_ROWS_REST(weighted_rest, tra_weighted, tra_rowwise_scratch(x->r))

static void weighted_run(const void *data, tra_rows_io *io) {
    const tra_weighted *t = data;
    tra_err e = {0};
    weighing x = {.t = t, .weight = io->b->array.data, .b = &io->made};
    tra_dims ext = {2, {io->in[0].rows, t->width}};
    if (t->out ? !tra_rows_result(io, ext.v[0]) : io->out->layout && !tra_counted_take(io->out, &ext)) return;
    if (!t->out && io->out->layout) tra_counted_begin(io->out, &ext);
    x.array = io->out->array.data;
    if (tra_rowwise_each(t->r, &io->in[0], tra_max64(0, io->a->first), weigh_strip, &x, io->rest, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
}

const tra_rows_ops tra_weighted_ops = {.form = weighted_form, .rest = weighted_rest, .run = weighted_run};

/* ---- beside a table ---------------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(beside_form, tra_schema, .out = x)

static void beside_run(const void *data, tra_rows_io *io) {
    const tra_schema *s = data;
    const tra_dims *ext = &io->b->array.ext;
    int width = ext->n > 1 ? (int)ext->v[1] : 1, own = s->n - width;
    tra_schema left = {own, s->v};
    const double *v = io->b->array.data;
    tra_batch in = {.v = tra_calloc((size_t)own + 1, sizeof *in.v)};
    tra_err e = {0};
    if (tra_columns_view(io->a, &left, &in, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
    else if (in.rows != ext->v[0])
        tra_kernel_fail("an array and the table beside it have different rows");
    else if (tra_rows_result(io, in.rows)) {
        tra_append_rows(&left, &io->made, 0, &in);
        for (int c = 0; c < width; c++)
            for (int64_t r = 0; r < in.rows; r++) ((double *)io->made.v[own + c].values)[r] = v[r * width + c];
    }
    free(in.v);
}

const tra_rows_ops tra_beside_ops = {.form = beside_form, .run = beside_run};
