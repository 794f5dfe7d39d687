/* rows_run.h - the border between cells and kernels on rows. Private to lib/kernel. */
#ifndef TRA_ROWS_RUN_H
#define TRA_ROWS_RUN_H

#include "kernel.h"

int64_t tra_rows_scratch(const tra_rows_kernel *k, const tra_dims *ext_a, const tra_dims *ext_b);
void tra_rows_run(const tra_rows_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);

#endif
