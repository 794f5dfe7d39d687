/* layout.c - the layout of rows: pieces of tables are put together row by row. */
#include "../base/parallel.h"
#include "../kernel/kernel.h"
#include "table_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct appending {
    const tra_schema *s;
    const tra_cell_piece *p;
    int64_t n, rows;
    int pieces;
    tra_batch to;
    tra_status status[TRA_PIECES];
    tra_err error[TRA_PIECES];
} appending;

/* Appends those pieces of the table that begin in one range of the rows of the result. */
static void append_piece(void *ctx, int piece, void *scratch) {
    appending *x = ctx;
    int64_t low = tra_piece_begin(x->rows, x->pieces, piece);
    int64_t high = piece + 1 < x->pieces ? tra_piece_begin(x->rows, x->pieces, piece + 1) : INT64_MAX;
    tra_batch one = {.v = tra_calloc((size_t)x->s->n + 1, sizeof *one.v)};
    (void)scratch;
    for (int64_t i = 0; i < x->n && x->status[piece] == TRA_OK; i++) {
        int64_t at = x->p[i].to.v[0];
        if (at < low || at >= high) continue;
        x->status[piece] = tra_columns_of(x->p[i].src, x->s, &one, &x->error[piece]);
        if (x->status[piece] == TRA_OK) tra_append_rows(x->s, &x->to, at, &one);
    }
    free(one.v);
}

/* Appends the pieces in the order in which they follow each other. */
static void gather(tra_cell_piece *p, int64_t n, tra_cell *out, int m) {
    enum { BYTES = 4 }; /* in a step, of memory that was not touched before */
    const tra_schema *s = out->columns;
    appending x = {.s = s, .p = p, .n = n};
    (void)m; /* one: tables are not beside each other */
    for (int64_t i = 0; i < n; i++) x.rows += p[i].ext.v[0];
    int64_t room = tra_columns_room(s, x.rows);
    if (!tra_cell_take(out, room)) return;
    x.to.v = tra_calloc((size_t)s->n + 1, sizeof *x.to.v); /* a table may have millions of columns */
    x.pieces = n < 2 ? 1 : tra_parallel_pieces(room / BYTES);
    tra_columns_begin(out, s, x.rows, &x.to);
    tra_parallel(x.pieces, append_piece, &x, NULL);
    for (int i = 0; i < x.pieces; i++) {
        if (x.status[i] == TRA_OK) continue;
        tra_kernel_fail("%s", x.error[i].msg);
        break;
    }
    free(x.to.v);
}

static const tra_layout_kernels kernels = {.gather = gather};

const tra_layout tra_columns = {.name = "columns",
                                .id = 2,
                                .nparts = 2,
                                .bytes = tra_columns_bytes,
                                .adopt_extents = tra_columns_adopt_extents,
                                .kernels = &kernels};
