/* kernels.c - from cells to batches and back. */
#include "kernels.h"

#include "table_int.h"

static tra_rows_form rowwise_form(const void *data) {
    const tra_schema *out = tra_rowwise_is_matrix(data, NULL) ? NULL : tra_rowwise_out(data);
    return (tra_rows_form){.in = {tra_rowwise_in(data)}, .out = out};
}

TRA_ROWS_REST(rowwise_rest, tra_rowwise, tra_rowwise_scratch(x))

/* Are rows selected and written at once, with room for all rows of the operand, of which what is not filled is given
 * back? That takes little memory for a while, and spares counting them before. */
static bool takes_room(const tra_rowwise *r, int64_t rows) {
    enum { LITTLE = 16 << 20 };
    return tra_rowwise_selects(r) && !tra_rowwise_is_matrix(r, NULL) &&
           tra_columns_room(tra_rowwise_out(r), rows) <= LITTLE;
}

/* Lays out the result for so many rows. */
static bool begin(const tra_rowwise *r, tra_rows_io *io, int64_t rows) {
    tra_dims ext = io->out->array.ext;
    if (!tra_rowwise_is_matrix(r, NULL)) return tra_rows_result(io, rows);
    if (!io->out->layout) return true;
    ext.v[0] = rows;
    if (!tra_counted_take(io->out, &ext)) return false;
    tra_counted_begin(io->out, &ext);
    return true;
}

static void rowwise_run(const void *data, tra_rows_io *io) {
    const tra_rowwise *r = data;
    const tra_batch *in = &io->in[0];
    tra_err e = {0};
    tra_table_notes notes = {0};
    /* where the number of the first row is not known it counts from the block's */
    int64_t first = io->b ? tra_rows_position(io) : tra_max64(0, io->a->first), rows = in->rows;
    bool all = takes_room(r, rows);
    tra_status s = all || !io->out->layout ? TRA_OK : tra_rowwise_count(r, in, first, &rows, io->rest, &e);
    if (s == TRA_OK && !begin(r, io, rows)) return;
    if (s == TRA_OK)
        s = tra_rowwise_is_matrix(r, NULL)
                ? tra_rowwise_run_matrix(r, in, first, io->out->array.data, &rows, io->rest, &notes, &e)
                : tra_rowwise_run(r, in, first, &io->made, io->rest, &notes, &e);
    if (s != TRA_OK) tra_kernel_fail("%s", e.msg);
    if (all && s == TRA_OK) tra_rows_filled(io, io->made.rows);
    tra_table_notes_add(&notes);
}

static const void *rowwise_then(tra_arena *a, const void *first, const void *next) {
    if (tra_rowwise_is_matrix(first, NULL) || (tra_rowwise_uses_row(next) && tra_rowwise_selects(first))) return NULL;
    return a ? tra_rowwise_then(a, first, next) : first;
}

const tra_rows_ops tra_rowwise_ops = {
    .form = rowwise_form, .rest = rowwise_rest, .run = rowwise_run, .then = rowwise_then};

/* ---- counting ----------------------------------------------------------------------------------------------- */

static void count_run(const void *data, tra_rows_io *io) {
    int64_t rows = io->a->array.ext.v[0];
    (void)data;
    if (tra_dtype_is_float(io->out->array.dtype))
        *(float *)io->out->array.data = (float)rows;
    else
        *(int64_t *)io->out->array.data = rows;
}

static const void *count_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    (void)f;
    return data ? data : tra_new(a, char);
}

const tra_rows_ops tra_rows_count_ops = {.run = count_run, .over = count_over};
