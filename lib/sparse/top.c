/* top.c - the first places of rows of entries: of what is no entry only the first places of a row can be among them, so
 * a row is its entries and these. */
#include "../kernel/kernel_int.h"
#include "../kernel/parallel_sums.h"
#include "sparse.h"

#include <string.h>

typedef struct job {
    const tra_kernel *step;
    const tra_array *a, *b, *out; /* b: NULL, or what is taken from, a row of it for each row of a or for all */
    tra_rows_view v;
    int64_t rows, columns, most, longest, pieces; /* longest: entries of a row, with those of value 0 */
} job;

/* Columns of row r, of which it has those from k up to `end`; returns how many. */
static int64_t find_columns(const job *x, int64_t k, int64_t end, uint32_t *column, char *value) {
    int64_t n = 0, zeros = x->most;
    size_t size = x->v.size;
    for (int64_t c = 0; k < end || (zeros > 0 && c < x->columns); c++) {
        bool entry = k < end && (zeros == 0 || x->v.column[k] == c);
        if (entry) c = x->v.column[k];
        if (entry)
            memcpy(value + (size_t)n * size, x->v.value + (size_t)k++ * size, size);
        else
            memset(value + (size_t)n * size, 0, size), zeros--;
        column[n++] = (uint32_t)c;
    }
    return n;
}

static void run_piece(void *ctx, int piece, void *scratch) {
    const job *x = ctx;
    int64_t first = (int64_t)((__int128)x->rows * piece / x->pieces);
    int64_t last = (int64_t)((__int128)x->rows * (piece + 1) / x->pieces), r = tra_rows_from(&x->v, first);
    char *value = scratch, *other = value + 8 * x->longest;
    uint32_t *column = (uint32_t *)(void *)(other + 8 * x->longest);
    size_t size = x->b ? tra_dtype_size(x->b->dtype) : 0;
    for (int64_t row = first; row < last && !tra_cancelled(); row++) {
        bool some = r < x->v.nrows && x->v.row[r] == row;
        int64_t n = find_columns(x, some ? x->v.begin[r] : 0, some ? x->v.begin[r + 1] : 0, column, value);
        int64_t from = x->b && x->b->ext.n > 1 ? row * x->columns : 0;
        for (int64_t i = 0; i < n && x->b; i++)
            memcpy(other + (size_t)i * size, (const char *)x->b->data + (size_t)(from + column[i]) * size, size);
        tra_array a = {x->a->dtype, {1, {n}}, value}, b = {x->b ? x->b->dtype : x->a->dtype, {1, {n}}, other};
        tra_array out = {x->out->dtype, {1, {x->most}}, NULL};
        out.data = (char *)x->out->data + (size_t)(row * x->most) * tra_dtype_size(x->out->dtype);
        tra_top_run(x->step, &a, x->b ? &b : NULL, &out);
        r += some;
    }
}

int64_t tra_rows_top_scratch(int64_t entries, int64_t columns, int64_t k) {
    return tra_mul_most(8 + 8 + 4, tra_min64(columns, tra_add_most(entries, k)));
}

void tra_rows_top(const tra_kernel *step, const tra_cell *a, const tra_cell *b, const tra_array *out, void *scratch) {
    job x = {.step = step, .a = &a->array, .b = b ? &b->array : NULL, .out = out, .v = tra_rows_of(a)};
    x.columns = tra_last_extent(&a->array.ext);
    x.rows = x.columns ? tra_rows_box(&a->array.ext) : 0;
    x.most = tra_last_extent(&out->ext);
    for (int64_t i = 0; i < x.v.nrows; i++) x.longest = tra_max64(x.longest, x.v.begin[i + 1] - x.v.begin[i]);
    x.longest = tra_min64(x.columns, x.longest + x.most);
    int64_t steps = tra_mul_most(8, tra_add_most(x.v.n, tra_mul_most(x.rows, x.most)));
    x.pieces = tra_max64(1, tra_min64(x.rows, tra_parallel_pieces(steps)));
    if (x.rows > 0 && x.most > 0) tra_parallel((int)x.pieces, run_piece, &x, scratch);
}
