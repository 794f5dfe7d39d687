/* rows_run.c - runs kernels on rows: opens their operands, and finds room for columns in scratch and for the result. */
#include "kernel.h"

static tra_rows_form form_of(const tra_rows_kernel *k) {
    return k->ops->form ? k->ops->form(k->data) : (tra_rows_form){0};
}

static int64_t columns_of(const tra_schema *s) { return s ? s->n : 0; }

static int64_t vectors(const tra_rows_form *f) {
    return tra_vectors_bytes(columns_of(f->in[0]) + columns_of(f->in[1]) + columns_of(f->out));
}

int64_t tra_rows_scratch(const tra_rows_kernel *k, const tra_dims *ext_a, const tra_dims *ext_b) {
    tra_rows_form f = form_of(k);
    return tra_add_most(vectors(&f), k->ops->rest ? k->ops->rest(k->data, ext_a, ext_b) : 0);
}

/* Shows the operands; false after a failure. */
static bool begin(const tra_rows_kernel *k, const tra_cell *a, const tra_cell *b, void *scratch, tra_rows_io *io) {
    tra_rows_form f = form_of(k);
    const tra_cell *const cell[2] = {a, b};
    tra_vector *v = scratch;
    *io = (tra_rows_io){.a = a, .b = b, .rest = (char *)scratch + vectors(&f)};
    for (int i = 0; i < 2; i++, v += columns_of(f.in[i - 1])) {
        tra_err e = {0};
        io->in[i] = (tra_batch){.schema = f.in[i], .v = v};
        if (!f.in[i] || (i == 1 && f.closed)) continue;
        if ((f.viewed[i] ? tra_columns_view : tra_columns_of)(cell[i], f.in[i], &io->in[i], &e) == TRA_OK) continue;
        tra_kernel_fail("%s", e.msg);
        return false;
    }
    io->made = (tra_batch){.schema = f.out, .v = v};
    return true;
}

void tra_rows_run(const tra_rows_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    tra_rows_io io;
    if (!begin(k, a, b, scratch, &io)) return;
    io.out = out;
    k->ops->run(k->data, &io);
}

void tra_rows_add(const tra_rows_kernel *k, const tra_cell *a, tra_array *sum, void *scratch) {
    tra_rows_io io;
    if (begin(k, a, NULL, scratch, &io)) k->ops->add(k->data, &io, sum);
}

bool tra_rows_result(tra_rows_io *io, int64_t rows) {
    if (!tra_cell_take(io->out, tra_columns_room(io->made.schema, rows))) return false;
    tra_columns_begin(io->out, io->made.schema, rows, &io->made);
    return true;
}

void tra_rows_filled(tra_rows_io *io, int64_t rows) {
    tra_columns_end(io->out, io->made.schema, rows, NULL);
}

int64_t tra_rows_position(const tra_rows_io *io) {
    return io->b->array.ext.v[0] > 0 ? ((const int64_t *)io->b->array.data)[0] : 0;
}

bool tra_rows_reads_of(const tra_rows_kernel *k, tra_rows_reads *r) {
    tra_rows_form f = form_of(k);
    if (!k->ops->over) return false;
    if (k->ops->reads) return k->ops->reads(k->data, r), true;
    tra_rows_read(r, 0, f.nkeys, f.key);
    if (f.reads_right) tra_rows_read(r, r->left, f.in[1]->n, NULL);
    if (f.repeats == TRA_REPEATS_RIGHT) tra_rows_repeat(r, r->left, f.in[1]->n);
    if (f.repeats == TRA_REPEATS_LEFT || f.repeats == TRA_REPEATS_BOTH) tra_rows_repeat(r, 0, f.in[0]->n);
    r->both = f.repeats == TRA_REPEATS_BOTH;
    return true;
}

/* ---- lists of columns that are read --------------------------------------------------------------------------- */

void tra_rows_read(tra_rows_reads *r, int first, int n, const int *column) {
    for (int i = 0; i < n; i++) r->read[first + (column ? column[i] : i)] = true;
}

void tra_rows_repeat(tra_rows_reads *r, int first, int n) {
    for (int i = 0; i < n; i++) r->from[i] = first + i;
}

const int *tra_rows_places(tra_arena *a, const tra_rows_fewer *f, int first, int n, const int *column) {
    int *to = tra_news(a, int, n + 1);
    for (int i = 0; i < n; i++) to[i] = f->place[first + column[i]];
    return to;
}
