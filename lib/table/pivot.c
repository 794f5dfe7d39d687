/* pivot.c - rows of two keys and a value as the entries of a matrix. */
#include "border.h"
#include "group.h"

#include "../relation/rows.h"
#include "table_int.h"

#include <inttypes.h>
#include <string.h>

static int64_t scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    const tra_pivot *p = data;
    (void)ext_a, (void)ext_b;
    return tra_vectors_bytes(p->in->n);
}

static int64_t pivot_bytes(const void *data, const tra_cell *a, const tra_cell *b, tra_cell *out, void *buf) {
    (void)data, (void)b, (void)buf;
    int64_t rows = a->array.ext.v[0];
    return tra_rows_room(out->array.dtype, tra_min64(rows, out->array.ext.v[0]), rows);
}

/* The place of row i's key along its dimension, -1 after a failure. */
static int64_t place_of(const tra_pivot *p, int k, const tra_batch *b, int64_t i) {
    const tra_column *c = &p->in->v[k];
    const tra_pivot_key *key = &p->key[k];
    if (b->v[k].state && b->v[k].state[i] == TRA_STATE_NULL) {
        tra_kernel_fail("a key of pivot is NULL in column `%s`; select(T, !isnull(...)) leaves such rows out", c->name);
        return -1;
    }
    int64_t v = tra_value_whole(c, &b->v[k], i);
    if (!key->whole) return key->place ? key->place[v] : v;
    int64_t at = key->n > 0 ? v - key->whole[0] : 0; /* numbers without gaps are their own places */
    if (at >= 0 && at < key->n && key->whole[at] == v) return at;
    at = 0;
    TRA_BISECT(at, key->n, mid, key->whole[mid] < v);
    if (at < key->n && key->whole[at] == v) return at;
    tra_kernel_fail("column `%s` has the value %" PRId64 ", of which the statistics of its file do not know", c->name,
                    v);
    return -1;
}

static bool is_value(const tra_pivot *p, const tra_batch *b, int64_t i) {
    uint8_t state = b->v[2].state ? b->v[2].state[i] : TRA_STATE_VALUE;
    if (state == TRA_STATE_VALUE) return true;
    if (state == TRA_STATE_NULL)
        tra_kernel_fail("a value of pivot, %s, is NULL; %s", p->value, p->hint);
    else
        tra_kernel_fail("a value of pivot, %s, could not be computed", p->value);
    return false;
}

static bool is_zero(const tra_column *c, const tra_vector *v, int64_t i) {
    return tra_coltype_is_float(c->type) ? tra_value_real(c, v, i) == 0 : tra_value_whole(c, v, i) == 0;
}

/* Rows [from, to) become entries of a result whose first row is row `first` of the matrix. */
static void put_entries(const tra_pivot *p, const tra_batch *b, int64_t from, int64_t to, int64_t first,
                        tra_cell *out) {
    size_t size = tra_dtype_size(out->array.dtype);
    int64_t width = out->array.ext.v[1], last = -1;
    tra_rows_maker m = {0};
    if (out->layout)
        m = tra_rows_make(out, tra_min64(to - from, out->array.ext.v[0]), to - from);
    else
        memset(out->array.data, 0, tra_array_bytes(&out->array));
    for (int64_t i = from; i < to; i++) {
        int64_t row = place_of(p, 0, b, i), column = row < 0 ? -1 : place_of(p, 1, b, i);
        if (column < 0 || !is_value(p, b, i)) return;
        if (is_zero(&p->in->v[2], &b->v[2], i)) continue;
        row -= first;
        if (out->layout && row != last) {
            if (last >= 0) tra_rows_close(&m);
            tra_rows_open(&m, row);
            last = row;
        }
        void *at = out->layout ? tra_rows_next(&m, (uint32_t)column)
                               : (char *)out->array.data + (size_t)(row * width + column) * size;
        memcpy(at, (const char *)b->v[2].values + (size_t)i * size, size);
    }
    if (last >= 0) tra_rows_close(&m);
    if (out->layout) tra_rows_made(&m);
}

static void pivot_run(const void *data, const tra_cell *a, const tra_cell *none, tra_cell *out, void *buf) {
    const tra_pivot *p = data;
    tra_batch b;
    (void)none;
    if (tra_open_rows(a, p->in, true, buf, &b)) put_entries(p, &b, 0, b.rows, 0, out);
}

const tra_rows_ops tra_pivot_ops = {.scratch = scratch, .bytes = pivot_bytes, .run = pivot_run};

/* ---- a block of rows of the matrix ------------------------------------------------------------------------------- */

/* The rows whose first key stands among the positions of the left operand; false after a failure, which a NULL among
 * the keys is: these are last. */
static bool find_rows(const tra_pivot *p, const tra_cell *at, const tra_batch *b, int64_t *first, int64_t *from,
                      int64_t *to) {
    *first = at->array.ext.v[0] > 0 ? ((const int64_t *)at->array.data)[0] : 0;
    int64_t end = *first + at->array.ext.v[0];
    *from = *to = 0;
    if (b->rows > 0 && place_of(p, 0, b, b->rows - 1) < 0) return false;
    TRA_BISECT(*from, b->rows, mid, place_of(p, 0, b, mid) < *first);
    *to = *from;
    TRA_BISECT(*to, b->rows, mid, place_of(p, 0, b, mid) < end);
    return !tra_kernel_failure();
}

static int64_t block_scratch(const void *data, const tra_dims *ext_a, const tra_dims *ext_b) {
    return scratch(data, ext_b, ext_a);
}

static int64_t block_bytes(const void *data, const tra_cell *a, const tra_cell *rows, tra_cell *out, void *buf) {
    tra_batch b;
    int64_t first, from = 0, to = 0;
    if (!tra_open_rows(rows, ((const tra_pivot *)data)->in, true, buf, &b) ||
        !find_rows(data, a, &b, &first, &from, &to))
        from = to = 0;
    return tra_rows_room(out->array.dtype, tra_min64(to - from, out->array.ext.v[0]), to - from);
}

static void block_run(const void *data, const tra_cell *a, const tra_cell *rows, tra_cell *out, void *buf) {
    tra_batch b;
    int64_t first, from, to;
    if (tra_open_rows(rows, ((const tra_pivot *)data)->in, true, buf, &b) && find_rows(data, a, &b, &first, &from, &to))
        put_entries(data, &b, from, to, first, out);
}

const tra_rows_ops tra_pivot_block_ops = {.scratch = block_scratch, .bytes = block_bytes, .run = block_run};
