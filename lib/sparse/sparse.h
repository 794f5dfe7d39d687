/* sparse.h - kernels of arrays that are held as rows of entries (lib/relation/rows.h).
 *
 * The same kernels as those of dense arrays, on the entries alone. The one rule of values (man tra-storage.5): in a
 * product or quotient a factor or dividend of sparse type that is 0 makes the result 0 there, also against NaN and
 * infinity, whether its array is held as rows or densely (tra_cell.sparse); all else is the arithmetic of dense arrays,
 * to which elements that are no entries are 0. Results have no entries of value 0.
 *
 * This room is between the kernels and the executor, which calls it through lib/kernel/cells.c.
 */
#ifndef TRA_SPARSE_H
#define TRA_SPARSE_H

#include "../kernel/kernel.h"
#include "../relation/rows.h"

#endif
