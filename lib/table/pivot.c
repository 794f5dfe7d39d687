/* pivot.c - rows of two keys and a value as the entries of a matrix. */
#include "tensor_rows.h"
#include "order.h"

#include "../model/rows.h"
#include "table_int.h"

#include <inttypes.h>
#include <string.h>

TRA_ROWS_FORM(pivot_form, tra_pivot, .in = {x->in})

/* The place of value i of a column among those of the key, -1 after a failure. */
static int64_t place_among(const tra_pivot_key *key, const tra_column *c, const tra_vector *from, int64_t i) {
    int64_t v = tra_value_whole(c, from, i);
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

/* The same of row i's key along its dimension, which may not be NULL. */
static int64_t place_of(const tra_pivot *p, int k, const tra_batch *b, int64_t i) {
    const tra_column *c = &p->in->v[k];
    if (!b->v[k].state || b->v[k].state[i] != TRA_STATE_NULL) return place_among(&p->key[k], c, &b->v[k], i);
    tra_kernel_fail("a key of pivot is NULL in column `%s`; select(T, !isnull(...)) leaves such rows out", c->name);
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
    if (out->layout && !tra_rows_take(out, tra_min64(to - from, out->array.ext.v[0]), to - from)) return;
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

static void pivot_run(const void *data, tra_rows_io *io) {
    put_entries(data, &io->in[0], 0, io->in[0].rows, 0, io->out);
}

const tra_rows_ops tra_pivot_ops = {.form = pivot_form, .run = pivot_run};

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

TRA_ROWS_FORM(block_form, tra_pivot, .in = {NULL, x->in})

static void block_run(const void *data, tra_rows_io *io) {
    int64_t first, from, to;
    if (find_rows(data, io->a, &io->in[1], &first, &from, &to)) put_entries(data, &io->in[1], from, to, first, io->out);
}

const tra_rows_ops tra_pivot_block_ops = {.form = block_form, .run = block_run};

/* ---- a table ---------------------------------------------------------------------------------------------------- */

TRA_ROWS_FORM(wide_form, tra_pivot_wide, .in = {x->in}, .out = tra_group_states(x->g))

TRA_ROWS_REST(wide_rest, tra_pivot_wide, tra_mul_most(tra_add_most(tra_mul_most(4, a->v[0]), 1), sizeof(int64_t)))

/* The value of row i becomes that of its column in row `to`. */
static void put_wide(const tra_pivot_wide *p, const tra_batch *in, int64_t i, const tra_batch *out, int64_t to) {
    int keys = tra_group_keys(p->g);
    const tra_vector *column = &in->v[keys], *value = column + 1;
    if ((column->state && column->state[i]) || (value->state && value->state[i])) return;
    int64_t at = place_among(&p->key, &p->in->v[keys], column, i);
    size_t size = tra_coltype_size(p->in->v[keys + 1].type);
    if (at < 0) return;
    const tra_vector *v = &out->v[tra_group_state(p->g, (int)at)];
    memcpy((char *)v->values + (size_t)to * size, (const char *)value->values + (size_t)i * size, size);
    v->state[to] = TRA_STATE_VALUE;
}

static void wide_run(const void *data, tra_rows_io *io) {
    const tra_pivot_wide *p = data;
    const tra_schema *states = io->made.schema;
    const tra_batch *in = &io->in[0], *made = &io->made;
    int keys = tra_group_keys(p->g), *key = (int[TRA_PIVOT_KEYS]){0};
    int64_t n = in->rows, *at = io->rest, *begin = at + n, *first = begin + n + 1;
    for (int k = 0; k < keys; k++) key[k] = k;
    for (int64_t i = 0; i < n; i++) at[i] = i;
    tra_order_rows(in, keys, key, NULL, at, n, begin);
    int64_t groups = n ? tra_order_runs(in, keys, key, at, n, begin) : 0;
    if (groups > p->most)
        return tra_kernel_fail(
            "pivot has more rows than the statistics of the file let it have: import the table again");
    if (!tra_rows_result(io, groups)) return;
    for (int64_t g = 0; g < groups; g++) first[g] = at[begin[g]];
    tra_gather_columns(io, keys, NULL, first, groups);
    for (int c = keys; c < states->n; c++) {
        memset(made->v[c].values, 0, (size_t)groups * tra_coltype_size(states->v[c].type));
        memset(made->v[c].state, TRA_STATE_NULL, (size_t)groups);
    }
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = begin[g]; i < begin[g + 1]; i++) put_wide(p, in, at[i], made, g);
}

const tra_rows_ops tra_pivot_wide_ops = {.form = wide_form, .rest = wide_rest, .run = wide_run};
