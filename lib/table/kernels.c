/* kernels.c - from cells to batches and back. */
#include "kernels.h"

#include "table_int.h"

#include <assert.h>

static int64_t vectors(const tra_rowwise *r) { return tra_vectors_bytes(tra_rowwise_in(r)->n + tra_rowwise_out(r)->n); }

static int64_t rowwise_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return vectors(data) + tra_rowwise_scratch(data);
}

/* Where the number of the first row is not known it counts from the block's. */
static int64_t first_row(const tra_cell *a, const tra_cell *b) {
    if (b) return b->array.ext.v[0] > 0 ? ((const int64_t *)b->array.data)[0] : 0;
    return tra_max64(0, a->first);
}

/* Opens the rows of the operand, with their vectors at the beginning of scratch; *rest is what follows these. */
static bool open_rows(const tra_rowwise *r, const tra_cell *a, void *scratch, tra_batch *in, void **rest) {
    *rest = (char *)scratch + vectors(r);
    return tra_open_rows(a, tra_rowwise_in(r), true, scratch, in);
}

/* Counts rows once: they are kept in the result's cell. */
static int64_t rows_of(const tra_rowwise *r, const tra_batch *in, int64_t first, tra_cell *out, void *scratch) {
    tra_err e = {0};
    int64_t rows = 0;
    if (out->counted[0]) return out->counted[0] - 1;
    if (tra_rowwise_count(r, in, first, &rows, scratch, &e) != TRA_OK) tra_kernel_fail("%s", e.msg);
    out->counted[0] = rows + 1;
    return rows;
}

/* Are rows selected and written at once, with room for all rows of the operand, of which what is not filled is given
 * back? That takes little memory for a while, and spares counting them before. */
static bool takes_room(const tra_rowwise *r, int64_t rows) {
    enum { LITTLE = 16 << 20 };
    return tra_rowwise_selects(r) && !tra_rowwise_is_matrix(r, NULL) &&
           tra_columns_room(tra_rowwise_out(r), rows) <= LITTLE;
}

static int64_t rowwise_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_rowwise *r = data;
    tra_batch in;
    void *rest;
    if (takes_room(r, a->array.ext.v[0])) return tra_columns_room(tra_rowwise_out(r), a->array.ext.v[0]);
    if (!open_rows(r, a, scratch, &in, &rest)) return 0;
    int64_t rows = rows_of(r, &in, first_row(a, b), out, rest);
    if (!tra_rowwise_is_matrix(r, NULL)) return tra_columns_room(tra_rowwise_out(r), rows);
    tra_dims ext = out->array.ext;
    ext.v[0] = rows;
    return tra_counted_room(out->array.dtype, &ext);
}

static void run_matrix(const tra_rowwise *r, const tra_batch *in, int64_t first, tra_cell *out, void *scratch) {
    tra_err e = {0};
    tra_table_notes notes = {0};
    int64_t rows;
    tra_dims ext = out->array.ext;
    if (out->layout) ext.v[0] = rows_of(r, in, first, out, scratch);
    if (out->layout) tra_counted_begin(out, &ext);
    if (tra_rowwise_run_matrix(r, in, first, out->array.data, &rows, scratch, &notes, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
    else
        assert(out->array.ext.v[0] == rows);
    tra_table_notes_add(&notes);
}

static void rowwise_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_rowwise *r = data;
    const tra_schema *s = tra_rowwise_out(r);
    tra_batch in, made = {.v = (tra_vector *)scratch + tra_rowwise_in(r)->n};
    tra_err e = {0};
    tra_table_notes notes = {0};
    void *rest;
    if (!open_rows(r, a, scratch, &in, &rest)) return;
    if (tra_rowwise_is_matrix(r, NULL)) {
        run_matrix(r, &in, first_row(a, b), out, rest);
        return;
    }
    bool all = takes_room(r, in.rows);
    tra_columns_begin(out, s, all ? in.rows : rows_of(r, &in, first_row(a, b), out, rest), &made);
    if (tra_rowwise_run(r, &in, first_row(a, b), &made, rest, &notes, &e) != TRA_OK) {
        tra_kernel_fail("%s", e.msg);
        made.rows = 0;
    }
    if (all) (void)tra_columns_end(out, s, made.rows);
    tra_table_notes_add(&notes);
}

static const void *rowwise_then(tra_arena *a, const void *first, const void *next) {
    if (tra_rowwise_is_matrix(first, NULL) || (tra_rowwise_uses_row(next) && tra_rowwise_selects(first))) return NULL;
    return a ? tra_rowwise_then(a, first, next) : first;
}

const tra_rows_ops tra_rowwise_ops = {
    .scratch = rowwise_scratch, .bytes = rowwise_bytes, .run = rowwise_run, .then = rowwise_then};

/* ---- counting ----------------------------------------------------------------------------------------------- */

static int64_t count_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)data, (void)ext_a, (void)ext_b;
    return 0;
}

static void count_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)data, (void)b, (void)scratch;
    if (tra_dtype_is_float(out->array.dtype))
        *(float *)out->array.data = (float)a->array.ext.v[0];
    else
        *(int64_t *)out->array.data = a->array.ext.v[0];
}

/* a dense number, i64 or f32 */
static void count_reads(const void *data, tra_rows_reads *r) { (void)data, (void)r; }

static const void *count_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    (void)f;
    return data ? data : tra_new(a, char);
}

const tra_rows_ops tra_rows_count_ops = {
    .scratch = count_scratch, .run = count_run, .reads = count_reads, .over = count_over};
