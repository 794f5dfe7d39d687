/* layout.c - the layout of rows: pieces of tables are put together row by row. */
#include "../kernel/kernel.h"
#include "table_int.h"

#include <stdlib.h>
#include <string.h>

void tra_copy_rows(tra_vector *to, int64_t at, const tra_vector *from, int64_t begin, int64_t n, tra_coltype t) {
    size_t size = tra_coltype_size(t), rows = (size_t)n;
    memcpy((char *)to->values + (size_t)at * size, (const char *)from->values + (size_t)begin * size, rows * size);
    if (to->state && from->state) memcpy(to->state + at, from->state + begin, rows);
    if (to->state && !from->state) memset(to->state + at, TRA_STATE_VALUE, rows);
}

void tra_append_rows(const tra_schema *s, const tra_batch *to, int64_t at, const tra_batch *from) {
    for (int c = 0; c < s->n && from->rows > 0; c++)
        tra_copy_rows(&to->v[c], at, &from->v[c], 0, from->rows, s->v[c].type);
}

/* Appends the pieces in the order in which they follow each other. */
static void gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m) {
    const tra_schema *s = out->columns;
    tra_vector *v = tra_calloc(2 * (size_t)s->n + 1, sizeof *v); /* a table may have millions of columns */
    tra_batch all = {.v = v}, one = {.v = v + s->n};
    int64_t rows = 0;
    (void)m; /* one: tables are not beside each other */
    for (int64_t i = 0; i < n; i++) rows += p[i].ext.v[0];
    if (!tra_cell_take(out, tra_columns_room(s, rows))) return free(v);
    tra_columns_begin(out, s, rows, &all);
    for (int64_t i = 0; i < n; i++) {
        tra_err e = {0};
        int64_t at = p[i].to.v[0];
        if (tra_columns_of(p[i].src, s, &one, &e) != TRA_OK) {
            tra_kernel_fail("%s", e.msg);
            break;
        }
        tra_append_rows(s, &all, at, &one);
    }
    free(v);
}

static const tra_layout_kernels kernels = {.gather = gather};

const tra_layout tra_columns = {.name = "columns",
                                .id = 2,
                                .nparts = 2,
                                .bytes = tra_columns_bytes,
                                .adopt_extents = tra_columns_adopt_extents,
                                .kernels = &kernels};
