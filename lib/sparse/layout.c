/* layout.c - the row of the layout. */
#include "sparse.h"

static const tra_layout_kernels kernels = {0};

const tra_layout tra_rows = {
    .name = "rows", .id = 1, .nparts = TRA_ROWS_PARTS, .bytes = tra_rows_bytes, .kernels = &kernels};
