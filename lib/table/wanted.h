/* wanted.h - rows that a kernel on the rows of a file may be given alone. */
#ifndef TRA_WANTED_H
#define TRA_WANTED_H

#include "../kernel/kernel.h"
#include "../tablefile/table_file.h"

/* The rows that the selections pass with which the kernel begins, or that it brings first, in the arena. NULL: it does
 * neither, or they are found by nearly all columns, or it tells of the numbers of rows. */
const tra_row_filter *tra_rows_wanted(tra_arena *a, const tra_rows_kernel *k);

#endif
