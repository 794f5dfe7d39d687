/* limit.c - some rows of a table of many blocks: the rows of each are counted, and each gives those of its own. */
#include "parts.h"

#include <string.h>

#include "table_int.h"

/* ---- rows of a block ------------------------------------------------------------------------------------------- */

static int64_t count_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(1 + ((const tra_limiting *)data)->in->n);
}

static int64_t count_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    (void)a, (void)b, (void)out, (void)scratch;
    return tra_columns_room(((const tra_limiting *)data)->count, 1);
}

static void count_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_limiting *x = data;
    tra_batch in, made = {.v = scratch};
    (void)b;
    tra_columns_begin(out, x->count, 1, &made);
    int64_t *n = made.v[0].values;
    *n = a->array.ext.v[0];
    if (x->weight < 0 || !tra_open_rows(a, x->in, false, (tra_vector *)scratch + 1, &in)) return;
    *n = 0;
    for (int64_t i = 0; i < in.rows; i++) *n = tra_add_most(*n, tra_row_weight(&in.v[x->weight], i));
}

static void count_reads(const void *data, tra_rows_reads *r) {
    if (((const tra_limiting *)data)->weight >= 0) r->read[((const tra_limiting *)data)->weight] = true;
}

static const void *limiting_over(tra_arena *a, const void *data, const tra_rows_fewer *f) {
    tra_limiting *x = tra_new(a, tra_limiting);
    *x = *(const tra_limiting *)data;
    x->in = f->in[0];
    if (x->weight >= 0) x->weight = f->place[x->weight];
    return x;
}

const tra_rows_ops tra_limit_count_ops = {
    .scratch = count_scratch, .bytes = count_bytes, .run = count_run, .reads = count_reads, .over = limiting_over};

/* ---- where a block begins -------------------------------------------------------------------------------------- */

static int64_t start_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)data, (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2);
}

static bool open_counts(const tra_limiting *x, const tra_cell *c, tra_vector *v, tra_batch *b) {
    tra_err e = {0};
    *b = (tra_batch){.v = v};
    if (tra_columns_view(c, x->count, b, &e) == TRA_OK) return true;
    tra_kernel_fail("%s", e.msg);
    return false;
}

static void start_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_limiting *x = data;
    tra_batch in, made = {.v = (tra_vector *)scratch + 1};
    int64_t block = b->array.ext.v[0] > 0 ? ((const int64_t *)b->array.data)[0] : 0, start = 0;
    bool ok = open_counts(x, a, scratch, &in);
    for (int64_t i = 0; ok && i < block && i < in.rows; i++) {
        int64_t rows = ((const int64_t *)in.v[0].values)[i];
        start = rows < 0 ? INT64_MAX : tra_add_most(start, rows);
    }
    tra_columns_begin(out, x->count, 1, &made);
    ((int64_t *)made.v[0].values)[0] = start;
}

const tra_rows_ops tra_limit_start_ops = {.scratch = start_scratch, .bytes = count_bytes, .run = start_run};

/* ---- what a block gives ---------------------------------------------------------------------------------------- */

static int64_t cut_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(2 * ((const tra_limiting *)data)->in->n + 1);
}

/* Rows [*begin, *begin + n) of the block; returns n. */
static int64_t find_cut(const tra_limiting *x, const tra_cell *b, int64_t rows, tra_vector *v, int64_t *begin) {
    tra_batch starts;
    *begin = 0;
    if (!open_counts(x, b, v, &starts) || starts.rows == 0) return 0;
    int64_t start = ((const int64_t *)starts.v[0].values)[0];
    if (start < 0) return 0;
    *begin = tra_min64(rows, tra_max64(0, x->from - start));
    int64_t end = tra_min64(rows, tra_max64(0, tra_add_most(x->from, x->most) - start));
    return tra_max64(0, end - *begin);
}

static int64_t cut_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_limiting *x = data;
    int64_t begin;
    (void)out;
    return tra_columns_room(x->in, find_cut(x, b, a->array.ext.v[0], scratch, &begin));
}

static void cut_run(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_limiting *x = data;
    tra_batch in = {.v = (tra_vector *)scratch + 1}, made = {.v = (tra_vector *)scratch + 1 + x->in->n};
    tra_err e = {0};
    int64_t begin, n = 0;
    if (tra_columns_view(a, x->in, &in, &e) != TRA_OK)
        tra_kernel_fail("%s", e.msg);
    else
        n = find_cut(x, b, in.rows, scratch, &begin);
    tra_columns_begin(out, x->in, n, &made);
    for (int c = 0; c < x->in->n && n > 0; c++) {
        size_t size = tra_coltype_size(x->in->v[c].type);
        memcpy(made.v[c].values, (const char *)in.v[c].values + (size_t)begin * size, (size_t)n * size);
        if (made.v[c].state) memcpy(made.v[c].state, in.v[c].state + begin, (size_t)n);
    }
}

static void cut_reads(const void *data, tra_rows_reads *r) {
    const tra_limiting *x = data;
    tra_rows_read(r, r->left, x->count->n, NULL);
    tra_rows_repeat(r, 0, x->in->n);
}

const tra_rows_ops tra_limit_cut_ops = {
    .scratch = cut_scratch, .bytes = cut_bytes, .run = cut_run, .reads = cut_reads, .over = limiting_over};
