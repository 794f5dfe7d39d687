/* parallel_sums.h - pieces of rows, and sums that pieces have of their own (base/parallel.h). */
#ifndef TRA_KERNEL_PARALLEL_SUMS_H
#define TRA_KERNEL_PARALLEL_SUMS_H

#include "../base/parallel.h"
#include "../model/rows.h"

/* In how many pieces, at most TRA_PARALLEL_SUMS, an addition of `entries` entries, of `steps` steps each, to `elements`
 * elements is cut, where each piece has a sum of its own. More entries never give fewer pieces. */
enum { TRA_PARALLEL_SUMS = 4 };
int tra_parallel_sum_pieces(int64_t entries, int64_t steps, int64_t elements);
/* Cuts rows into n pieces of about equally many entries, or fewer: sets at[] to the first row of each piece and the
 * end, and returns the number of pieces. key: NULL, or a number for each row; rows of one number are in one piece. */
int tra_parallel_row_pieces(const tra_rows_view *v, const int64_t *key, int n, int64_t *at);
/* Adds the sums of n pieces in the order of the pieces. The first is `to`, the others are at `sums`, `each` bytes
 * apart. */
void tra_parallel_add_sums(const tra_array *to, const char *sums, int64_t each, int n);

#endif
