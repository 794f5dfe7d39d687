/* weighted.c - what weighted.h promises. */
#include "weighted.h"

#include <string.h>

#include "table_int.h"

/* Copies n values of a column to row `to` on of another. */
static void copy_column(const tra_column *c, const tra_vector *from, int64_t n, tra_vector *out, int64_t to) {
    size_t size = tra_coltype_size(c->type);
    memcpy((char *)out->values + (size_t)to * size, from->values, (size_t)n * size);
    if (out->state && from->state)
        memcpy(out->state + to, from->state, (size_t)n);
    else if (out->state)
        memset(out->state + to, TRA_STATE_VALUE, (size_t)n);
}

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
    for (int i = 0; t->out && i < t->nkept; i++) copy_column(&t->out->v[i], &columns[i], n, &x->b->v[i], x->done);
    for (int c = 0; c < t->width; c++) {
        double *to = t->out ? (double *)x->b->v[t->nkept + c].values + x->done : x->array + x->done * t->width + c;
        add_up(x, columns, n, c, to, t->out ? 1 : t->width);
    }
    x->done += n;
}

static int64_t weighted_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_weighted *t = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(tra_rowwise_in(t->r)->n + 1) + tra_vectors_bytes(t->out ? t->out->n + 1 : 1) +
           tra_rowwise_scratch(t->r);
}

static int64_t weighted_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_weighted *t = data;
    tra_dims ext = {2, {a->array.ext.v[0], t->width}};
    (void)b, (void)out, (void)scratch;
    return t->out ? tra_columns_room(t->out, ext.v[0]) : tra_counted_room(TRA_F64, &ext);
}

static void weighted_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_weighted *t = data;
    tra_err e = {0};
    char *rest = (char *)scratch + tra_vectors_bytes(tra_rowwise_in(t->r)->n + 1);
    tra_batch in = {.v = scratch}, made = {.v = (tra_vector *)(void *)rest};
    weighing x = {.t = t, .weight = b->array.data, .b = &made};
    rest += tra_vectors_bytes(t->out ? t->out->n + 1 : 1);
    if (tra_columns_of(a, tra_rowwise_in(t->r), &in, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return;
    }
    if (t->out)
        tra_columns_begin(out, t->out, in.rows, &made);
    else if (out->layout)
        tra_counted_begin(out, &(tra_dims){2, {in.rows, t->width}});
    x.array = out->array.data;
    if (tra_rowwise_each(t->r, &in, tra_max64(0, a->first), weigh_strip, &x, rest, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
}

const tra_rows_ops tra_weighted_ops = {.scratch = weighted_scratch, .bytes = weighted_bytes, .run = weighted_run};

/* ---- beside a table ---------------------------------------------------------------------------------------------- */

static int64_t beside_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_schema *s = data;
    (void)ext_a, (void)ext_b;
    return 2 * tra_vectors_bytes(s->n + 1);
}

static int64_t beside_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)b, (void)out, (void)scratch;
    return tra_columns_room(data, a->array.ext.v[0]);
}

static void beside_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_schema *s = data;
    int width = b->array.ext.n > 1 ? (int)b->array.ext.v[1] : 1, own = s->n - width;
    tra_schema left = {own, s->v};
    const double *v = b->array.data;
    tra_batch in = {.v = scratch}, made = {.v = (tra_vector *)(void *)((char *)scratch + tra_vectors_bytes(s->n + 1))};
    tra_err e = {0};
    if (tra_columns_view(a, &left, &in, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        return;
    }
    tra_columns_begin(out, s, in.rows, &made);
    if (in.rows != b->array.ext.v[0]) tra_kernel_fail("an array and the table beside it have different rows");
    for (int i = 0; i < own; i++) copy_column(&s->v[i], &in.v[i], in.rows, &made.v[i], 0);
    for (int c = 0; c < width && in.rows == b->array.ext.v[0]; c++) {
        double *to = made.v[own + c].values;
        for (int64_t r = 0; r < in.rows; r++) to[r] = v[r * width + c];
    }
}

const tra_rows_ops tra_beside_ops = {.scratch = beside_scratch, .bytes = beside_bytes, .run = beside_run};
