/* layout.c - the layout of rows: pieces of tables are put together row by row. */
#include "../kernel/kernel.h"
#include "table_int.h"

#include <stdlib.h>
#include <string.h>

/* Rows of all pieces. */
static int64_t rows_of(const tra_cell_piece *p, int64_t n) {
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) rows += p[i].ext.v[0];
    return rows;
}

bool tra_open_rows(const tra_cell *c, const tra_schema *s, bool check, tra_vector *v, tra_batch *b) {
    tra_err e = {0};
    *b = (tra_batch){.v = v};
    tra_status status = check ? tra_columns_of(c, s, b, &e) : tra_columns_view(c, s, b, &e);
    b->schema = s;
    if (status != TRA_OK) tra_kernel_fail("%s", e.msg);
    return status == TRA_OK;
}

int64_t tra_position(const tra_cell *b) { return b->array.ext.v[0] > 0 ? ((const int64_t *)b->array.data)[0] : 0; }

static int64_t gather_bytes(tra_cell_piece *p, int64_t n, tra_cell *out) {
    return tra_columns_room(out->columns, rows_of(p, n));
}

void tra_append_rows(const tra_schema *s, const tra_batch *to, int64_t at, const tra_batch *from) {
    for (int c = 0; c < s->n && from->rows > 0; c++) {
        size_t size = tra_coltype_size(s->v[c].type), n = (size_t)from->rows;
        uint8_t *state = to->v[c].state;
        memcpy((char *)to->v[c].values + (size_t)at * size, from->v[c].values, n * size);
        if (state && from->v[c].state) memcpy(state + at, from->v[c].state, n);
        if (state && !from->v[c].state) memset(state + at, TRA_STATE_VALUE, n);
    }
}

/* Appends the pieces in the order in which they follow each other. */
static void gather(tra_cell_piece *p, int64_t n, tra_cell *out) {
    const tra_schema *s = out->columns;
    tra_vector *v = tra_calloc(2 * (size_t)s->n + 1, sizeof *v); /* a table may have millions of columns */
    tra_batch all = {.v = v}, one = {.v = v + s->n};
    tra_columns_begin(out, s, rows_of(p, n), &all);
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

static const tra_layout_kernels kernels = {.gather_bytes = gather_bytes, .gather = gather};

const tra_layout tra_columns = {.name = "columns",
                                .id = 2,
                                .nparts = 2,
                                .bytes = tra_columns_bytes,
                                .adopt_extents = tra_columns_adopt_extents,
                                .kernels = &kernels};
